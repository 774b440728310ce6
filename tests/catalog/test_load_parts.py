"""Facts that are appended and removed: held against sets in Python, against one load of all, and against a refresh."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import CatalogError, LoadError, LoadWarning, SqlrlError
from tests.effort import draws

Fact = tuple[str, str]
TYPES = ["person", "person"]
MODEL = sqlrl.parse_mln(
    "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.2 Smokes(x)"
)


def connect(**options: Any) -> sqlrl.Database:
    return sqlrl.connect(progress=False, **options)


def facts(db: sqlrl.Database, predicate: str = "Friends") -> set[tuple[Any, ...]]:
    rows = db.sql(f"from sqlrl.named_{predicate}").fetchall()
    assert len(rows) == len(set(rows))
    ((number,),) = db.sql(f"select rows from sqlrl.predicate where predicate = '{predicate}'").fetchall()
    assert number == len(rows)
    return set(rows)


def dump(db: sqlrl.Database) -> dict[str, list[Any]]:
    names = db.sql("select table_name from duckdb_tables() where schema_name = 'sqlrl' order by 1").fetchall()
    return {name: sorted(map(repr, db.sql(f'from sqlrl."{name}"').fetchall())) for (name,) in names}


# ---- against sets ------------------------------------------------------------------------------------

FACTS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=6, unique=True)
STEPS = st.lists(st.tuples(st.sampled_from(["append", "append table", "remove"]), FACTS), max_size=5)


def replay(first: list[Fact], steps: list[tuple[str, list[Fact]]]) -> set[Fact]:
    found = set(first)
    for what, rows in steps:
        found = found - set(rows) if what == "remove" else found | set(rows)
    return found


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LoadWarning")
@settings(max_examples=draws(10), deadline=None, phases=(Phase.explicit, Phase.generate))
@given(FACTS, STEPS, st.booleans(), st.booleans(), FACTS, FACTS)
def test_steps_are_those_of_sets_and_refresh_does_them_again(
    first: list[Fact],
    steps: list[tuple[str, list[Fact]]],
    from_table: bool,
    bound: bool,
    anew: list[Fact],
    other: list[Fact],
) -> None:
    db = connect()
    db.load("Smokes", [("a",)], types=["person"], target=True)

    def table(number: int, rows: list[Fact]) -> str:
        db.sql(f"create or replace table t{number} (x text, y text)")
        db.sql(f"insert into t{number} values {', '.join(f'''('{x}', '{y}')''' for x, y in rows)}")
        return f"t{number}"

    db.load("Friends", table(0, first) if from_table else first, types=TYPES)
    for number, (what, rows) in enumerate(steps, 1):
        if bound:
            db.predict(MODEL)
        if what == "remove":
            before = facts(db)
            assert db.load("Friends", rows, mode="remove") == len(before & set(rows))
        else:
            source: Any = table(number, rows) if what == "append table" else rows
            db.load("Friends", source, duplicates="drop", mode="append")
        assert facts(db) == replay(first, steps[:number])
    expected = replay(first, steps)
    other_db = connect()
    other_db.load("Smokes", [("a",)], types=["person"], target=True)
    other_db.load("Friends", sorted(expected), types=TYPES, empty="allow")
    assert (
        db.advanced.bind(MODEL).predicates["Smokes"].atom_count
        == other_db.advanced.bind(MODEL).predicates["Smokes"].atom_count
    )
    assert db.predict(MODEL).atoms("Smokes").sort_by("person") == other_db.predict(MODEL).atoms("Smokes").sort_by(
        "person"
    )
    assert facts(db) == expected
    # What changed at its source is read again; the rest keeps its rows.
    changed = [(what, rows) for what, rows in steps]
    if from_table:
        table(0, anew)
    for number, (what, _) in enumerate(steps, 1):
        if what == "append table":
            table(number, other)
            changed[number - 1] = (what, other)
    db.refresh()
    # Of tuples that were duplicates there is no copy: they went with the source that had them first.
    owned, seen = [], set(first)
    for what, rows in steps:
        there = set(rows) & set(seen)
        owned.append(sorted(there if what == "remove" else set(rows) - there))
        seen = replay(list(seen), [(what, rows)])
    again = [(w, rows if w == "append table" else own) for (w, rows), own in zip(changed, owned, strict=True)]
    if any(
        before != after
        for before, after in zip([("", first), *steps], [("", anew if from_table else first), *changed], strict=True)
    ):
        assert facts(db) == replay(anew if from_table else first, again)
    else:
        assert facts(db) == expected
    db.predict(MODEL)


@pytest.mark.slow
def test_refresh_reads_both_and_keeps_away_what_was_removed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("x,y\na,b\nb,c\n")
    two.write_text("x,y\nc,d\n")
    db = connect(target=tmp_path / "d.duckdb")
    db.load("Friends", one, types=TYPES)
    db.load("Friends", two, mode="append")
    db.load("Friends", [("d", "e")], mode="append")
    assert db.load("Friends", [("a", "b"), ("d", "e")], mode="remove") == 2
    db.load("Friends", [("a", "b")], mode="append")
    assert db.load("Friends", "select 'b', 'c'", mode="remove") == 1
    assert facts(db) == {("a", "b"), ("c", "d")}
    assert db.refresh() == []
    kinds = db.sql("select part, kind, rows from sqlrl.part order by part").fetchall()
    assert kinds == [(1, "file", 1), (2, "object", 1), (3, "removal", 2), (4, "object", 1), (5, "removal", 1)]
    db.close()
    two.write_text("x,y\nc,d\nb,c\nf,g\n")
    db = connect(target=tmp_path / "d.duckdb")
    db.load("Smokes", [("a",)], types=["person"], target=True)
    with pytest.raises(CatalogError, match=r"Friends was loaded from .*two\.csv"):
        db.advanced.bind(MODEL)
    with pytest.raises(LoadError, match=r"duplicate facts: Friends\(b, c\), which are there already"):
        db.refresh()
    two.write_text("x,y\nc,d\nf,g\n")
    # Of what comes back at the source, (b, c) and (d, e) were removed.
    one.write_text("x,y\nd,e\nb,c\nq,r\n")
    assert db.refresh() == ["Friends"]
    assert facts(db) == {("a", "b"), ("c", "d"), ("f", "g"), ("q", "r")}
    assert db.refresh() == []
    assert db.advanced.bind(MODEL).types["person"].size == 7 - 1 + 1 + 1
    db.load("Friends", one, types=TYPES)
    assert facts(db) == {("d", "e"), ("b", "c"), ("q", "r")}
    assert db.sql("from sqlrl.part").fetchall() == []
    left = [
        n for n in db.advanced.catalog.store.table_names() if n.startswith(("again", "removed", "removing", "staged"))
    ]
    assert left == []
    db.close()


# ---- roles, examples, arities ------------------------------------------------------------------------


def test_rows_join_the_role_that_the_facts_have() -> None:
    db = connect()
    db.load("Friends", [("a", "b"), ("b", "c")], types=TYPES)
    db.load("Smokes", [("a", True), ("b", False)], types=["person"], truth=1, target=True)
    db.load("Smokes", [("c",)], mode="append")
    db.load("Smokes", [("d", "false")], truth=1, mode="append")
    assert db.sql("select role, rows, signed from sqlrl.source where predicate = 'Smokes'").fetchall() == [
        ("label", 4, True)
    ]
    with pytest.raises(
        LoadError, match=r"contradictory facts: Smokes\(b\), which are there already with another truth"
    ):
        db.load("Smokes", [("b",)], duplicates="drop", mode="append")
    db.load("Smokes", [("b", False), ("e", True)], truth=1, duplicates="drop", mode="append")
    assert db.sql("select person, truth from sqlrl.named_Smokes order by 1").fetchall() == [
        ("a", True), ("b", False), ("c", True), ("d", False), ("e", True),
    ]  # fmt: skip
    assert db.load("Smokes", [("b",), ("e",)], mode="remove") == 2
    db.load("Smokes", [("b", 0.5)], probability=1, mode="append")
    assert {row[0] for row in db.sql("select role from sqlrl.source where predicate = 'Smokes'").fetchall()} == {
        "label",
        "soft",
    }
    db.load("Smokes", [("e", 0.25)], probability=1, mode="append")
    with pytest.raises(LoadError, match=r"contradictory facts: Smokes\(e\)"):
        db.load("Smokes", [("e", 0.75)], probability=1, mode="append")
    assert db.load("Smokes", [("a",), ("b",)], mode="remove") == 2
    assert db.sql("select role, rows from sqlrl.source where predicate = 'Smokes' order by 1").fetchall() == [
        ("label", 2),
        ("soft", 1),
    ]


def test_examples_in_an_argument_and_in_a_column_grow() -> None:
    model = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\nWord(d, +w) => Good(d)")
    db = connect()
    db.load("Word", [("d1", "x")], types=["doc", "word"], example="doc")
    db.load("Good", [("d1",)], types=["doc"], target=True)
    assert db.advanced.bind(model).example_count == 1
    db.load("Word", [("d2", "x"), ("d2", "y")], mode="append")
    assert db.advanced.bind(model).example_count == 2
    assert db.load("Word", [("d2", "x"), ("d2", "y")], mode="remove") == 2
    assert db.advanced.bind(model).example_count == 1
    column = connect()
    rows = [{"word": "x", "page": "p1"}, {"word": "y", "page": "p2"}]
    column.load("Has", rows, types=["word"], example="page", columns=["word"])
    column.load("Bold", [{"word": "x", "page": "p1"}], types=["word"], example="page", columns=["word"], target=True)
    column.load("Has", [{"word": "x", "page": "p3"}, {"word": "x", "page": "p2"}], columns=["word"], mode="append")
    with pytest.raises(LoadError, match=r"duplicate facts: Has\(x\)"):
        column.load("Has", [{"word": "x", "page": "p2"}], columns=["word"], mode="append")
    with pytest.raises(LoadError, match="facts to remove from Has have the columns example, word"):
        column.load("Has", [("x",)], mode="remove")
    assert column.load("Has", [{"word": "x", "example": "p2"}], mode="remove") == 1
    assert facts(column, "Has") == {("p1", "x"), ("p2", "y"), ("p3", "x")}
    layout = column.advanced.bind(sqlrl.parse_mln("Has(word)\nBold(word)\n1 Has(w) => Bold(w)"))
    assert (layout.example_count, layout.predicates["Bold"].atom_count) == (3, 3)


def test_predicates_without_arguments_and_cut_types_change_as_well() -> None:
    db = connect()
    db.load("Rain", [()], types=[])
    with pytest.raises(LoadError, match=r"duplicate facts: Rain\(\)"):
        db.load("Rain", [()], mode="append")
    assert db.load("Rain", [()], mode="remove") == 1
    db.load("Rain", [()], mode="append")
    assert db.sql("select rows from sqlrl.source").fetchall() == [(1,)]
    db.load("Size", [("a", 1), ("b", 9)], types=["item", "size"], bins={"size": [5]})
    db.load("Size", [("c", 100)], mode="append")
    for bins, fault in (
        ({"size": 2}, "is cut at 5"),
        ({"size": [6]}, "is cut at 5"),
        ({"item": [1]}, "item is not cut"),
    ):
        with pytest.raises(LoadError, match=f"{fault}, and rows that are appended are cut as the others"):
            db.load("Size", [("d", 100)], bins=bins, mode="append")
    db.load("Size", [("d", 4)], bins={"size": [5]}, mode="append")
    assert db.load("Size", [("a", 2), ("b", 77)], mode="remove") == 2
    assert facts(db, "Size") == {("c", "size[5,inf)"), ("d", "size(-inf,5)")}


def test_what_is_defined_follows() -> None:
    db = connect()
    db.load("Parent", [("a", "b")], types=TYPES)
    db.define("Old(x) :- Parent(x, y).")
    db.load("Parent", [("c", "d")], mode="append")
    assert db.sql("from sqlrl.named_Old order by 1").fetchall() == [("a",), ("c",)]
    db.load("Parent", [("a", "b")], mode="remove")
    assert db.sql("from sqlrl.named_Old").fetchall() == [("c",)]
    for change in (lambda: db.load("Old", [("c",)], mode="remove"), lambda: db.load("Old", [("e",)], mode="append")):
        with pytest.raises(LoadError, match="Old, which rules define"):
            change()


def test_appending_to_nothing_is_a_load_and_batches_add_up() -> None:
    db = connect()
    for batch in ([("a", "b")], [("b", "c")], [("c", "d")]):
        db.load("Friends", batch, types=TYPES, mode="append")
    assert facts(db) == {("a", "b"), ("b", "c"), ("c", "d")}


# ---- what is refused, with nothing changed -------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[sqlrl.Database], Any], str]] = {
    "NULL": (lambda db: db.load("Friends", [("x", None)], mode="append"), "1 row has NULL for argument 2"),
    "types": (lambda db: db.load("Friends", [("x", "y")], types=["dog", "dog"], mode="append"), "has the types"),
    "arity": (lambda db: db.load("Friends", [("x",)], mode="append"), "2 arguments"),
    "twice": (lambda db: db.load("Friends", [("x", "y")] * 2, mode="append"), "occurs 2 times"),
    "there": (
        lambda db: db.load("Friends", [("x", "y"), ("a", "b")], mode="append"),
        r"Friends\(a, b\), which are there",
    ),
    "empty": (lambda db: db.load("Friends", "select 'a', 'b' where false", mode="append"), "there are no rows"),
    "truth": (lambda db: db.load("Friends", [("x", "y", True)], truth=2, mode="append"), "say nothing of truth="),
    "bins_from": (lambda db: db.load("Friends", [("x", "y")], bins_from=["x"], mode="append"), "leave it out"),
    "staged": (lambda db: db.load("Waits", [("x",)], mode="append"), "wait for their types"),
    "unknown": (lambda db: db.load("Friend", [("x", "y")], mode="remove"), "nothing is loaded of Friend"),
    "columns": (lambda db: db.load("Friends", [("x",)], mode="remove"), "have the columns person, person"),
    "waits": (lambda db: db.load("Waits", [("x",)], mode="remove"), "wait for their types"),
    "query": (lambda db: db.load("Friends", "select nothing", mode="remove"), "DuckDB accepts"),
}


def test_a_failure_changes_nothing() -> None:
    db = connect()
    db.load("Friends", [("a", "b"), ("b", "c")], types=TYPES)
    db.load("Friends", [("c", "d")], mode="append")
    db.load("Waits", [("a",)])
    before = dump(db)
    for name, (call, message) in REFUSED.items():
        with pytest.raises(SqlrlError, match=message):
            call(db)
        assert dump(db) == before, name


@pytest.mark.parametrize("step", ["append to Friends", "write records of the catalog", "show Friends"])
def test_an_append_that_is_broken_off_loses_nothing(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db = connect()
    db.load("Friends", [("a", "b")], types=TYPES)
    before = dump(db)

    def broken(execute: Callable[..., Any]) -> Callable[..., Any]:
        def one(*arguments: Any, **named: Any) -> Any:
            if named.get("step") == step:
                raise KeyboardInterrupt
            return execute(*arguments, **named)

        return one

    with monkeypatch.context() as patch:
        for method in ("execute", "execute_sql"):
            patch.setattr(db.advanced.engine, method, broken(getattr(db.advanced.engine, method)))
        with pytest.raises(KeyboardInterrupt):
            db.load("Friends", [("b", "c")], mode="append")
    assert dump(db) == before
    db.load("Friends", [("b", "c")], mode="append")
    assert facts(db) == {("a", "b"), ("b", "c")}


def test_rows_that_are_no_facts_are_said() -> None:
    db = connect()
    db.load("Friends", [("a", "b")], types=TYPES)
    with pytest.warns(LoadWarning, match=r"2 rows of the tuples are no facts of Friends"):
        assert db.load("Friends", [("a", "b"), ("b", "a"), ("x", "y")], mode="remove") == 1
    assert facts(db) == set()


def test_an_append_reads_no_old_row_as_text(caplog: pytest.LogCaptureFixture) -> None:
    numbers = []
    for size in (10, 1000):
        db = connect()
        db.load("Friends", [(f"a{k}", f"b{k}") for k in range(size)], types=TYPES)
        # Databases of other tests that are still garbage run statements when they are collected.
        gc.collect()
        with caplog.at_level(logging.DEBUG, logger="sqlrl.engine.duckdb"):
            caplog.clear()
            db.load("Friends", [("x", "y")], mode="append")
        statements = [record.getMessage() for record in caplog.records]
        assert not [s for s in statements if s.startswith("encode fact_Friends:")]
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


def test_the_command_line_appends_and_removes(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sqlrl.cli.app import app

    database, runner = str(tmp_path / "d.duckdb"), CliRunner()
    for arguments in (
        ["load", database, "Friends", "select 'a', 'b'", "--types", "person,person"],
        ["load", database, "Friends", "select 'b', 'c'", "--append"],
        ["remove", database, "Friends", "select 'a', 'b'"],
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert "removed 1 fact of Friends" in result.stderr
    with duckdb.connect(database) as connection:
        assert connection.sql("from sqlrl.named_Friends").fetchall() == [("b", "c")]
    result = runner.invoke(app, ["load", database, "--folder", str(tmp_path), "--append"])
    assert result.exit_code == 2
