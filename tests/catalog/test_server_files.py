"""Facts that a server encodes: the ids, rows and counts that DuckDB has of the same Parquet, and views of files in place of tables."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl import ServerFiles, Spark
from sqlrl.database.database import Database
from sqlrl.engine.spark import encoding
from sqlrl.engine.spark import server as spark_server
from sqlrl.errors import (
    CatalogError,
    InputError,
    LoadError,
    LoadWarning,
    ServerError,
    SourceWarning,
    UntrustedError,
)
from tests import spark as on_spark
from tests.effort import draws

RULES = """
Token(bib, word, position)
Next(position, position)
InField(bib, field, position)
1 Token(b, +w, p) => InField(b, f, p)
2 Token(b, w, p) ^ Next(p, q) ^ InField(b, f, p) => InField(b, f, q)
-1 InField(b, Title, p)
1 Token(b, "nowhere", p) => InField(b, f, p)
"""
TOKENS = [("B1", "deep", 1), ("B1", "nets", 2), ("B1", "é", 3), ("B2", "Deep", 1), ("B2", "nets", 2), ("B3", "", 7)]
NEXT = [(1, 2), (2, 3), (6, 7)]
LABELS = [("B1", "Title", 1), ("B1", "Title", 2), ("B2", "Author", 1), ("B3", "Author", 7)]


@pytest.fixture
def opened(spark: Spark, tmp_path: Path) -> Iterator[Callable[..., Database]]:
    """What opens databases with a storage; they are closed in the end."""
    found: list[Database] = []

    def connect(target: Any = ":memory:", *, place: str = "storage", **options: Any) -> Database:
        trusted = options.pop("trusted", True)
        server = Spark(spark.address, **{"storage": tmp_path / place, "resident": 3, **options})
        found.append(sqlrl.connect(target, engine=server, trusted=trusted))
        return found[-1]

    yield connect
    for db in found:
        db.close()


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a task number two names, and a folder hold three rows."""
    monkeypatch.setattr(encoding, "NAMES", 2)
    monkeypatch.setattr(encoding, "ROWS", 3)


def write(path: Path, rows: list[tuple[Any, ...]], *columns: str) -> str:
    """Write rows of text and integers as Parquet, or columns `a`, `b`, ..."""
    names = columns or tuple("abcdef"[: len(rows[0])])
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    return str(path)


def names(db: Database, kind: str) -> list[tuple[int, str]]:
    return db.sql(f'SELECT id, name FROM sqlrl."{db.advanced.catalog.types()[kind].dictionary}" ORDER BY id').fetchall()


def facts(db: Database, predicate: str, role: str = "fact") -> list[tuple[Any, ...]]:
    storage = db.advanced.catalog.store.sources()[predicate, role].storage
    return sorted(db.sql(f'FROM sqlrl."{storage}"').fetchall(), key=repr)


def same(one: Database, other: Database, *predicates: str) -> bool:
    """Whether two databases have the same constants with the same ids, examples and rows."""
    kinds = one.advanced.catalog.types().keys() | other.advanced.catalog.types().keys()
    rows = all(facts(one, p) == facts(other, p) for p in predicates)
    examples = [sorted(db.sql("FROM sqlrl.example").fetchall()) for db in (one, other)]
    return rows and all(names(one, k) == names(other, k) for k in kinds) and examples[0] == examples[1]


# ---- as DuckDB loads it ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("most", [1000, 4])
@pytest.mark.usefixtures("ranges")
def test_counts_and_predictions_are_those_of_duckdb(
    opened: Callable[..., Database], tmp_path: Path, most: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "sqlrl")
    token, follows = write(tmp_path / "t.parquet", TOKENS), write(tmp_path / "n.parquet", NEXT)
    model = sqlrl.parse_mln(RULES)
    found = []
    db, local = opened(dictionary=most), sqlrl.connect()
    for each, source in ((db, ServerFiles), (local, str)):
        # In the order of names, as the server has examples.
        each.load("Token", source(token), types=["bib", "word", "position"], example="bib")
        each.load("Next", source(follows), types=["position", "position"])
        each.load("InField", LABELS, types=["bib", "field", "position"], target=True)
        counts = each.count(model)
        found.append((str(counts), str(each.predict(model.with_rules([r for r in model.rules if "+" not in str(r)])).table())))  # fmt: skip
    assert same(db, local, "Token", "Next")
    assert found[0] == found[1]
    large = {k for k, t in db.advanced.catalog.types().items() if t.dictionary.startswith("stored_")}
    assert large == {1000: set(), 4: {"word", "position"}}[most]
    # The server reads what it has encoded where it is: nothing of that is copied, and no view with constants of rules beside it.
    copied = {record.args[0] for record in caplog.records if record.msg.startswith("copying")}
    assert copied >= {"atom_InField"}
    assert not any(name.startswith(("stored_", "fact_")) for name in copied)
    assert ({"dictionary_word", "bound_word"} & copied != set()) == (most == 1000)
    local.close()


NAMES = st.one_of(st.sampled_from(["", "a", "A", "ab", "'", '"', "\\", "\n", "é", "\U0001f600", "\uffff"]), st.text("ab'\\é", max_size=3))  # fmt: skip
PAIRS = st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8, unique=True)


@pytest.mark.slow  # a database on a server for each case: half a second
@settings(max_examples=draws(3))
@given(first=PAIRS, second=PAIRS, third=PAIRS, most=st.sampled_from([0, 3, 100]))
@example(first=[("b", "\\'")], second=[("a", "b"), ("c", "a")], third=[("d", "\x00"), ("b", "b")], most=2)
def test_ids_go_on_after_those_that_are_there(
    spark: Spark,
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, str]],
    second: list[tuple[str, str]],
    third: list[tuple[str, str]],
    most: int,
) -> None:
    folder = tmp_path_factory.mktemp("server_files")
    server = Spark(spark.address, storage=folder / "storage", resident=2, dictionary=most)
    with (
        pytest.MonkeyPatch.context() as patch,
        closing(sqlrl.connect(engine=server)) as db,
        closing(sqlrl.connect()) as local,
    ):
        patch.setattr(encoding, "NAMES", 2)
        for each, source in ((db, ServerFiles), (local, str)):
            each.load("P", first, types=["s", "t"])
            for name, rows in (("Q", second), ("R", third)):
                each.load(name, source(write(folder / f"{name}.parquet", rows)), types=["t", "s"])
        assert same(db, local, "P", "Q", "R")


@pytest.mark.slow
def test_values_have_the_names_that_duckdb_gives_them(opened: Callable[..., Database], tmp_path: Path) -> None:
    days = [dt.date(1, 1, 1), dt.date(999, 2, 3), dt.date(1582, 10, 10), dt.date(9999, 12, 31)]
    columns = {
        "i8": pa.array([-128, 0, 1, 127], pa.int8()),
        "i16": pa.array([-(2**15), 0, 10, 9], pa.int16()),
        "i32": pa.array([-(2**31), 0, 10, 9], pa.int32()),
        "i64": pa.array([-(2**63), 0, 10, 2**63 - 1], pa.int64()),
        "u8": pa.array([0, 10, 9, 255], pa.uint8()),
        "u16": pa.array([0, 10, 9, 2**16 - 1], pa.uint16()),
        "u32": pa.array([0, 10, 9, 2**32 - 1], pa.uint32()),
        "u64": pa.array([0, 10, 9, 2**64 - 1], pa.uint64()),
        "whole": pa.array([-(10**37), 0, 10, 10**37], pa.decimal128(38, 0)),
        "day": pa.array(days),
        "yes": pa.array([True, False, True, False]),
        "text": pa.array(["01", "1.0", "true", "\x00"], pa.large_string()),
    }
    path = tmp_path / "values.parquet"
    pq.write_table(pa.table(columns), path)
    db, local = opened(), sqlrl.connect()
    for each, source in ((db, ServerFiles), (local, str)):
        each.load("P", source(str(path)), types=list(columns))
    assert same(db, local, "P")
    local.close()


def test_examples_truths_and_rows_that_are_dropped(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    rows = [("a", "E2", True), ("b", "E1", False), ("a", "E2", True), (None, "E1", True), ("c", None, True)]
    write(path, rows, "x", "place", "holds")
    options: dict[str, Any] = {"columns": ["x"], "types": ["t"], "example": "place", "truth": "holds", "nulls": "drop", "duplicates": "drop"}  # fmt: skip
    db, local = opened(), sqlrl.connect()
    db.load("P", ServerFiles(str(path)), **options)
    local.load("P", f"SELECT * FROM '{path}' ORDER BY place", **options)
    assert same(db, local, "P")
    assert [each.advanced.catalog.store.dropped for each in (db, local)] == [1, 1]
    assert db.sql("SELECT name FROM sqlrl.example ORDER BY ordinal").fetchall() == [("E1",), ("E2",)]
    assert db.sql("FROM sqlrl.named_P").fetchall() == local.sql("FROM sqlrl.named_P").fetchall() == [("E2", "a")]
    # A later source goes on with its examples.
    more = write(tmp_path / "y.parquet", [("z", "E0"), ("a", "E1")], "x", "place")
    db.load("Q", ServerFiles(more), columns=["x"], types=["t"], example="place")
    assert db.sql("SELECT name FROM sqlrl.example ORDER BY ordinal").fetchall() == [("E1",), ("E2",), ("E0",)]
    # The true facts of a closed predicate are read where they are.
    model = sqlrl.parse_mln("P(t)\nQ(t)\nR(t)\n1 P(x) ^ Q(x) => R(x)", query=["R"])
    for each in (db, local):
        if each is local:
            each.load("Q", f"SELECT * FROM '{more}'", columns=["x"], types=["t"], example="place")
        each.advanced.bind(model)
    assert db.advanced.catalog.predicates()["P"].facts == "stored_fact_P_2"
    assert str(db.predict(model).table()) == str(local.predict(model).table())
    local.close()


@pytest.mark.slow
def test_labels_and_given_atoms(opened: Callable[..., Database], tmp_path: Path) -> None:
    friends = write(tmp_path / "f.parquet", [("Anna", "Bob"), ("Bob", "Chris")])
    smokes, given_ = write(tmp_path / "s.parquet", [("Anna",)]), write(tmp_path / "g.parquet", [("Chris",)])
    model = sqlrl.parse_mln(
        "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-1 Smokes(x)"
    )
    db, local = opened(dictionary=2), sqlrl.connect()
    found = []
    for each, source in ((db, ServerFiles), (local, str)):
        each.load("Friends", source(friends), types=["person", "person"])
        each.load("Smokes", source(smokes), types=["person"], target=True)
        each.load("Smokes", source(given_), given=True)
        fit = sqlrl.Likelihood().fit(each, model)
        found.append((str(each.count(model)), fit.weights_.tolist(), str(each.predict(fit.model_).table())))
    assert found[0] == found[1]
    local.close()


def test_no_rows(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array([], pa.string())}), path)
    db = opened()
    with pytest.raises(LoadError, match=r'P from .*x\.parquet: there are no rows, or no files; pass empty="allow"'):
        db.load("P", ServerFiles(str(path)), types=["t"])
    assert not db.advanced.catalog.predicates()
    db.load("P", ServerFiles(str(path)), types=["t"], empty="allow")
    assert facts(db, "P") == []
    assert db.refresh() == []
    write(path, [("a",)], "x")
    assert (db.refresh(), facts(db, "P")) == (["P"], [(0,)])


# ---- loaded again ------------------------------------------------------------------------------------


def test_refresh_loads_what_has_other_rows(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [("b", "x"), ("c", "y")])
    db = opened(tmp_path / "db.duckdb")
    db.load("P", ServerFiles(path), types=["t", "s"])
    before = facts(db, "P")
    write(tmp_path / "x.parquet", [("c", "y"), ("b", "x")])
    assert (db.refresh(), facts(db, "P")) == ([], before)
    write(tmp_path / "x.parquet", [("a", "y"), ("d", "y")])
    assert db.refresh() == ["P"]
    # Constants that it alone had are gone.
    assert (names(db, "t"), names(db, "s")) == ([(0, "a"), (1, "d")], [(0, "y")])
    assert facts(db, "P") == [(0, 0), (1, 0)]
    shutil.move(path, tmp_path / "elsewhere")
    with pytest.raises(LoadError, match=r"P from .*x.parquet: (there is no Parquet that|the server cannot read it)"):
        db.refresh()
    assert facts(db, "P") == [(0, 0), (1, 0)]
    db.close()
    with closing(sqlrl.connect(tmp_path / "db.duckdb")) as alone:
        with pytest.warns(
            SourceWarning, match="which only a server of Spark reads, and this database was opened without"
        ):
            assert alone.refresh() == []
        assert facts(alone, "P") == [(0, 0), (1, 0)]


def test_ids_in_files_are_fixed(opened: Callable[..., Database], tmp_path: Path) -> None:
    model = sqlrl.parse_mln("P(t)\nQ(t)\nR(t)\n1 P(x) ^ Q(x) => R(x)", query=["R"])
    db = opened()
    db.load("P", [("b",), ("c",)], types=["t"])
    db.load("Q", ServerFiles(write(tmp_path / "q.parquet", [("a",), ("c",)])), types=["t"])
    assert names(db, "t") == [(0, "b"), (1, "c"), (2, "a")]
    # What is gone from the end changes no other id.
    db.load("R", [("z",)], types=["t"], given=True)
    db.load("R", [("c",)], types=["t"], given=True)
    db.advanced.bind(model)
    assert names(db, "t") == [(0, "b"), (1, "c"), (2, "a")]
    db.load("P", [("c",)], types=["t"])
    with pytest.raises(CatalogError, match=r"no fact has 1 constant of t any more, .* of Q: load Q again"):
        db.advanced.bind(model)
    db.load("Q", ServerFiles(str(tmp_path / "q.parquet")), types=["t"])
    db.advanced.bind(model)
    assert (names(db, "t"), facts(db, "Q")) == ([(0, "c"), (1, "a")], [(0,), (1,)])


@pytest.mark.slow
def test_a_load_that_fails_changes_nothing(opened: Callable[..., Database], tmp_path: Path) -> None:
    db = opened()
    db.load("P", ServerFiles(write(tmp_path / "x.parquet", [("b",)])), types=["t"])
    with pytest.raises(LoadError, match="occurs 2 times"):
        db.load("P", ServerFiles(write(tmp_path / "y.parquet", [("a",), ("a",)])), types=["t"])
    assert (names(db, "t"), facts(db, "P")) == ([(0, "b")], [(0,)])
    assert len(list((tmp_path / "storage" / "encoded").rglob("range=*/*.parquet"))) == 1


def test_rows_from_here_replace_those_of_files(opened: Callable[..., Database], tmp_path: Path) -> None:
    db = opened(dictionary=1)
    db.load("P", ServerFiles(write(tmp_path / "x.parquet", [("b",), ("c",)])), types=["t"])
    db.load("P", [("c",), ("b",)], types=["t"])
    db.load("S", [("b",)], types=["t"], target=True)
    db.load("P", [("b",)], types=["t"])
    model = sqlrl.parse_mln("P(t)\nS(t)\n1 P(x) => S(x)")
    db.advanced.bind(model)
    # Nothing has the other constant, and no file keeps its id.
    assert (db.advanced.catalog.types()["t"].dictionary, names(db, "t")) == ("dictionary_t", [(0, "b")])
    assert db.predict(model).table()["t"] == ["b"]


# ---- dictionaries that stay there --------------------------------------------------------------------


def test_a_dictionary_in_the_storage_takes_no_new_constants_from_here(
    opened: Callable[..., Database], tmp_path: Path
) -> None:
    db = opened(dictionary=1)
    db.load("P", [("a",)], types=["t"])
    db.load("Q", ServerFiles(write(tmp_path / "q.parquet", [("c",), ("b",)])), types=["t"])
    assert (db.advanced.catalog.types()["t"].dictionary, names(db, "t")) == (
        "stored_dictionary_t",
        [(0, "a"), (1, "b"), (2, "c")],
    )
    db.load("R", [("c",), ("a",)], types=["t"])
    with pytest.raises(LoadError, match=r"'d' is a new constant of t, whose 3 constants are in the storage of Spark"):
        db.load("R", [("c",), ("d",)], types=["t"])
    assert sorted(db.sql("FROM sqlrl.named_R").fetchall()) == [("a",), ("c",)]
    # Names of results come back, and those that a rule names are looked up.
    model = sqlrl.parse_mln('Q(t)\nR(t)\nS(t)\n1 Q(x) => S(x)\n2 R("c") => S("new")', query=["S"])
    assert sorted(db.predict(model).table()["t"]) == ["b", "c", "new"]


def test_parts_are_refused(opened: Callable[..., Database], tmp_path: Path) -> None:
    db = opened()
    db.load("Q", ServerFiles(write(tmp_path / "q.parquet", [("a",)])), types=["t"])
    changes: list[tuple[Callable[[Database], Any], str]] = [
        (lambda db: db.load("Q", [("a",)], mode="append"), "cannot append to Q, whose facts are in files that Spark"),
        (lambda db: db.load("Q", [("a",)], mode="remove"), "cannot remove from Q, whose facts are in files that Spark"),
        (lambda db: db.load("Q", ServerFiles("x"), mode="append"), "Q: append= cannot be followed on a server"),
    ]
    for change, said in changes:
        with pytest.raises(LoadError, match=said):
            change(db)


# ---- what is refused ---------------------------------------------------------------------------------


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"fold_case": True, "constants": {"a": "b"}}, "fold_case= and constants= cannot be followed on a server: do with the Parquet what they say"),
    ({"probability": "n"}, "probability= cannot be followed"),
    ({"value": "n"}, "value= cannot be followed"),
    ({"bins": {"t": 2}}, "bins= cannot be followed"),
    ({"delimiter": ";"}, "delimiter= cannot be followed"),
    ({"types": None}, r"the types of its arguments are needed, .*: pass types="),
    ({"types": ["t", "number"]}, r"the type number is of numbers \(set_numeric\), which a server does not name"),
    ({"columns": ["x", "f"]}, r"column 'f' has the type double, whose text is another one in Spark than in DuckDB"),
    ({"columns": ["d", "f"]}, r"column 'd' has the type decimal\(4,2\), .*\n  column 'f' has the type double"),
    ({"columns": ["x", "when"]}, "column 'when' has the type timestamp"),
    ({"columns": ["x", "y"], "truth": "n"}, "the truth column 'n' has type BIGINT, expected BOOLEAN"),
    ({"columns": ["x", "missing"]}, "there is no column 'missing'"),
]  # fmt: skip


def test_refused_by_name(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = {"x": ["a"], "y": ["b"], "n": [1], "f": [1.5], "d": pa.array([1], pa.decimal128(4, 2)), "when": pa.array([0], pa.timestamp("us"))}  # fmt: skip
    pq.write_table(pa.table(columns), path)
    db = opened()
    db.load(numeric=["number"])
    for options, said in REFUSED:
        with pytest.raises(LoadError, match=said):
            db.load("P", ServerFiles(str(path)), **{"types": ["t", "s"], "columns": ["x", "y"], **options})
        # Before any work.
        assert not list(tmp_path.glob("storage/encoded"))
        assert not db.advanced.catalog.predicates()


def test_all_faults_of_the_rows_come_together(opened: Callable[..., Database], tmp_path: Path) -> None:
    early = dt.date(1, 1, 1)
    rows = [("a", early, True), ("a", early, False), (None, early, True), ("b", early, None), ("c", early, True), ("c", early, True)]  # fmt: skip
    path = write(tmp_path / "x.parquet", rows, "x", "day", "t")
    db = opened()
    with pytest.raises(LoadError) as raised:
        db.load("P", ServerFiles(path), types=["s", "day"], truth="t")
    assert str(raised.value).splitlines() == [
        f'P from {path}: 1 row has NULL for argument 1: fill or remove it, or pass nulls="drop".',
        "  1 row has a truth that is neither true nor false: correct it.",
        "  contradictory facts: (a, 0001-01-01) is both true and false: remove one of each.",
        '  duplicate facts: (c, 0001-01-01) occurs 2 times: remove them or pass duplicates="drop".',
    ]


def test_many_faults_are_counted(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [(f"n{i:02d}",) for i in range(12)] * 2)
    with pytest.raises(LoadError, match=r"\(n00\) occurs 2 times; .*\(n04\) occurs 2 times; and 7 others: remove them"):
        opened().load("P", ServerFiles(path), types=["t"])


def test_two_spellings_are_said(opened: Callable[..., Database], tmp_path: Path) -> None:
    db = opened()
    db.load("P", ServerFiles(write(tmp_path / "x.parquet", [(1,), (2,)])), types=["n"])
    with pytest.warns(LoadWarning, match="'1' and '1.0' are two constants of the type n|'1.0' and '1' are two"):
        db.load("Q", ServerFiles(write(tmp_path / "y.parquet", [("1.0",)])), types=["n"])


def test_where_it_cannot_be_done(opened: Callable[..., Database], spark: Spark, tmp_path: Path) -> None:
    path = ServerFiles(write(tmp_path / "x.parquet", [("a",)]))
    with pytest.raises(
        InputError, match=r"only a server of Spark reads ServerFiles: open the database with sqlrl.connect"
    ):
        sqlrl.connect().load("P", path, types=["t"])
    with closing(sqlrl.connect(engine=Spark(spark.address))) as db, pytest.raises(InputError, match="encoded rows need a place"):  # fmt: skip
        db.load("P", path, types=["t"])
    with closing(sqlrl.connect(engine=Spark(spark.address, storage="dbfs:/here"))) as db, pytest.raises(InputError, match="'dbfs:/here' is a path that DuckDB does not know"):  # fmt: skip
        db.load("P", path, types=["t"])
    db = opened()
    db.sql("SET enable_external_access = false")
    with pytest.raises(
        LoadError,
        match=r"DuckDB cannot read .*, which the server has written: (.|\n)*an object store of which DuckDB has the keys",
    ):
        db.load("P", path, types=["t"])
    with pytest.raises(InputError, match=r"pass a path, .*; db\.load takes them, which a server of Spark reads"):
        opened().scope("P", path)


def test_what_a_server_does_not_encode(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = ServerFiles(write(tmp_path / "x.parquet", [("a",)], "x"))
    with pytest.raises(InputError, match="a database opened with trusted=False reads no files"):
        opened(trusted=False).load("P", path, types=["t"])
    db = opened()
    db.load("P", [("a", 0.5)], types=["t"], value=1)
    with pytest.raises(LoadError, match=r"other facts of P have values \(value=\), which a server does not encode"):
        db.load("P", path, columns=["x"], target=True)


def test_dictionary_must_be_a_number() -> None:
    with pytest.raises(InputError, match="dictionary=-1 must be a whole number of constants"):
        Spark("sc://localhost:1", dictionary=-1)


# ---- the file of the database ------------------------------------------------------------------------


def test_a_database_without_its_server_or_storage(opened: Callable[..., Database], tmp_path: Path) -> None:
    file = tmp_path / "db.duckdb"
    db = opened(file, dictionary=0)
    db.load("P", ServerFiles(write(tmp_path / "x.parquet", [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")])), types=["t", "t"])  # fmt: skip
    model = sqlrl.parse_mln('P(t, t)\nS(t)\n1 P(x, y) ^ S(x) => S(y)\n1 S("a")', query=["S"])
    expected = str(db.predict(model).table())
    db.close()
    with closing(sqlrl.connect(file)) as alone:
        # DuckDB reads the same files.
        assert str(alone.predict(model).table()) == expected
    with pytest.raises(UntrustedError, match=r"the view sqlrl\.stored_\w+ is none of those that sqlrl makes"):
        sqlrl.connect(file, trusted=False)
    other = opened(file, place="elsewhere")
    with pytest.raises(InputError, match="open the database with the storage into which its data were encoded"):
        other.predict(model)
    other.close()
    shutil.rmtree(tmp_path / "storage")
    with closing(sqlrl.connect(file)) as left:
        assert left.tables()["facts"][:1] == [4]
        with pytest.raises(InputError, match="what Spark has encoded is not there any more: restore it, or load its"):
            left.predict(model)


@pytest.mark.parametrize("dictionary", [1, pytest.param(1000, marks=pytest.mark.slow)])
def test_what_was_encoded_and_is_lost_is_loaded_again(
    opened: Callable[..., Database], tmp_path: Path, dictionary: int
) -> None:
    db, source = opened(dictionary=dictionary), ServerFiles(write(tmp_path / "x.parquet", [("b",), ("c",)]))
    db.load("P", source, types=["t"])
    model = sqlrl.parse_mln("P(t)\nS(t)\n1 P(x) => S(x)", query=["S"])
    expected = str(db.predict(model).table())
    shutil.rmtree(tmp_path / "storage" / "encoded")
    with pytest.raises(InputError, match=r"is not there, or not complete: .*load their source again"):
        db.predict(model)
    assert db.refresh() == ["P"]
    assert str(db.predict(model).table()) == expected
    shutil.rmtree(tmp_path / "storage" / "encoded")
    db.load("P", source, types=["t"])
    assert str(db.predict(model).table()) == expected


@pytest.mark.slow
def test_views_of_a_users_own_are_left_alone(opened: Callable[..., Database], tmp_path: Path) -> None:
    db = opened(dictionary=0)
    db.sql("CREATE TABLE stored_things AS SELECT 1 AS x")
    db.sql("CREATE VIEW mine AS PIVOT stored_things ON x IN (1) USING count(*)")
    db.load("P", ServerFiles(write(tmp_path / "x.parquet", [("a",)])), types=["t"])
    db.load("Q", ServerFiles(write(tmp_path / "y.parquet", [("b",)])), types=["t"])
    model = sqlrl.parse_mln('P(t)\nQ(t)\nS(t)\n1 P(x) v Q(x) => S(x)\n1 S("stored_x")', query=["S"])
    assert sorted(db.predict(model).table()["t"]) == ["a", "b", "stored_x"]


def test_a_file_that_is_only_read_shows_true_facts(opened: Callable[..., Database], tmp_path: Path) -> None:
    file, path = tmp_path / "db.duckdb", write(tmp_path / "x.parquet", [("a", True), ("b", False)])
    db = opened(file)
    db.load("P", ServerFiles(path), types=["t"], truth="b")
    db.close()
    model = sqlrl.parse_mln("P(t)\nS(t)\n2 P(x) => S(x)\n-1 S(x)", query=["S"])
    with closing(sqlrl.connect(file, read_only=True)) as alone:
        assert alone.predict(model).atoms()["t"].to_pylist() == ["a"]


@pytest.mark.slow
def test_a_server_that_is_gone_leaves_the_database_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_server, "RETRIES", 1)
    # In a worker of xdist the client looks for the file of the main module.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    path = write(tmp_path / "x.parquet", [("b",)])
    with on_spark.server() as address:
        db = sqlrl.connect(tmp_path / "db.duckdb", engine=Spark(address, storage=tmp_path / "storage"))
        db.load("P", ServerFiles(path), types=["t"])
    write(tmp_path / "x.parquet", [("a",), ("c",)])
    for load in (lambda: db.load("P", ServerFiles(path), types=["t"]), db.refresh):
        with pytest.raises(ServerError, match="does not answer"):
            load()
    assert (names(db, "t"), facts(db, "P")) == ([(0, "b")], [(0,)])
    db.close()


@pytest.mark.slow
def test_comments_and_fingerprints(opened: Callable[..., Database], tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", [("a",), ("b",)])
    found = []
    for most in (0, 1000):
        db = opened(dictionary=most)
        db.load("P", ServerFiles(path), types=["t"])
        db.load("S", [("a",)], types=["t"], target=True)
        model = sqlrl.parse_mln("P(t)\nS(t)\n1 P(x) => S(x)")
        fit = sqlrl.Likelihood().fit(db, model)
        found.append(fit.weights_.tolist())
        # What it learned from has a fingerprint, without reading the files.
        assert db.sql("SELECT count(DISTINCT fingerprint) FROM sqlrl.run").fetchall() == [(1,)]
    assert found[0] == found[1]
