"""Worlds that users give: as ids, as names, as predictions; counts in them and between them against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError
from tests.effort import draws

PEOPLE = ["Anna", "Bob", "Chris", "Dan"]
FRIENDS = [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris"), ("Chris", "Dan")]
TEXT = """
Friends(person, person)
Smokes(person)
Cancer(person)
-0.2 Smokes(x)
1.5 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
0.3 Smokes(x) ^ Cancer(y)
"""
MODEL = sqlrl.parse_mln(TEXT, query=("Smokes", "Cancer"))
People = frozenset[str]
people = st.frozensets(st.sampled_from(PEOPLE))


def expected(smokes: People, cancer: People) -> dict[str, int]:
    """Enumerate the groundings of each rule."""
    pairs = list(product(PEOPLE, PEOPLE))
    return {
        "Smokes(x)": len(smokes),
        "Smokes(x) => Cancer(x)": sum(x not in smokes or x in cancer for x in PEOPLE),
        "Friends(x, y) ^ Smokes(x) => Smokes(y)": sum(
            (x, y) not in FRIENDS or x not in smokes or y in smokes for x, y in pairs
        ),
        "Smokes(x) ^ Cancer(y)": sum(x in smokes and y in cancer for x, y in pairs),
    }


def named(who: People, column: str = "person") -> pa.Table:
    return pa.table({column: pa.array(sorted(who), pa.string())})


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    database = sqlrl.connect()
    database.load("Friends", FRIENDS, types=("person", "person"))
    return database


def counted(table: sqlrl.Table, column: str = "n") -> dict[Any, Any]:
    return dict(zip(table["text"], table[column], strict=True))


def by_ids(smokes: People, cancer: People) -> str:
    """A query of ids, with a row twice."""
    rows = [f"('{kind}', '{who}')" for kind, group in (("Smokes", smokes), ("Cancer", cancer)) for who in sorted(group)]
    listed = ", ".join([*rows, *rows[:1]]) or "(null, null)"
    return f"""
        with wanted as (from (values {listed}) t(kind, who)),
        atoms as (select 'Smokes' as kind, * from sqlrl."atom_Smokes" union all select 'Cancer', * from sqlrl."atom_Cancer")
        select atom from atoms join sqlrl."dictionary_person" d on d.id = a0 join wanted w on w.kind = atoms.kind and who = name
    """


@pytest.mark.slow
@given(smokes=people, cancer=people)
@settings(max_examples=draws(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_and_names_give_the_counts_of_enumeration(db: sqlrl.Database, smokes: People, cancer: People) -> None:
    want = expected(smokes, cancer)
    assert counted(db.count(MODEL, world={"Smokes": named(smokes), "Cancer": named(cancer)})) == want
    assert counted(db.count(MODEL, world=by_ids(smokes, cancer))) == want


@pytest.mark.slow
@given(first=st.tuples(people, people), second=st.tuples(people, people))
@settings(max_examples=draws(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_differences_are_those_of_enumeration(
    db: sqlrl.Database, first: tuple[People, People], second: tuple[People, People]
) -> None:
    here, there = ({"Smokes": named(smokes), "Cancer": named(cancer, "PERSON")} for smokes, cancer in (first, second))
    found = db.count(MODEL, world=here, against=there)
    a, b = expected(*first), expected(*second)
    assert counted(found, "delta_n") == {text: a[text] - b[text] for text in a}
    assert found["weight"] == db.count(MODEL, world=here)["weight"]


@pytest.mark.slow
def test_predictions_are_worlds() -> None:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    db.load("Smokes", [("Anna",)], given=True)
    prediction = db.predict(MODEL, into="predicted")
    tables = {"Smokes": "predicted_Smokes", "Cancer": 'from "predicted_Cancer"'}
    marked = {name: prediction.atoms(name, every=True) for name in tables}
    frames = {name: pl.from_arrow(table) for name, table in marked.items()}
    counts = [db.count(MODEL, world=world) for world in (prediction, tables, marked, frames)]
    assert counts[0].title == "true groundings in the predicted world"
    assert all(one["n"] == counts[0]["n"] for one in counts)
    score = sum(w * n for w, n in zip(counts[0]["weight"], counts[0]["n"], strict=True))  # type: ignore[operator]
    assert score == pytest.approx(prediction.objective)
    assert set(db.count(MODEL, world=prediction, against=tables)["delta_n"]) == {0}
    given_too = {**tables, "Smokes": "select 'Anna' as person union all select person from predicted_Smokes"}
    assert db.count(MODEL, world=given_too)["n"] == counts[0]["n"]


def test_a_prediction_must_have_the_examples_that_are_counted() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a"), ("d1", "b"), ("d2", "b")], types=("doc", "word"), example="doc")
    db.load("Class", [("d1", "x"), ("d2", "y")], types=("doc", "class"), target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nClass(doc, class)\n1 Word(d, +w) => Class(d, +c)\n-0.5 Class(d, c)")
    one, both = db.predict(model, examples=["d1"]), db.predict(model)
    for examples in (["d2"], ["d1", "d2"], "select 'd2'"):
        with pytest.raises(InputError, match=r"of the [24] query atoms .* same examples="):
            db.count(model, world=one, examples=examples)
    with pytest.raises(InputError, match="2 of the 4 query atoms"):
        db.count(model, world=both, against=one)
    predicted = counted(db.count(model, world=both, examples=["d1"]))
    assert predicted == counted(db.count(model, world=one)) == counted(db.count(model, world=one, examples=["d1"]))
    observed = counted(db.count(model, examples=["d1"]))
    delta = counted(db.count(model, world=one, against="observed"), "delta_n")
    assert delta == {text: predicted[text] - observed[text] for text in observed}
    assert any(delta.values())


def test_a_prediction_whose_atoms_were_numbered_anew_is_refused() -> None:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    prediction = db.predict(sqlrl.parse_mln(TEXT.replace("0.3", "3"), query=("Smokes", "Cancer")))
    smokers = sqlrl.parse_mln(
        "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=("Smokes",)
    )
    db.predict(smokers)
    uses: list[Callable[[], object]] = [
        lambda: prediction.atoms("Smokes"),
        prediction.evaluate,
        lambda: db.count(smokers, world=prediction),
    ]
    for use in uses:
        with pytest.raises(InputError, match="predict again"):
            use()
    assert "query atoms true" in repr(prediction)


def test_a_prediction_of_another_database_is_refused() -> None:
    """Both have as many atoms, with the same ids, of other people."""
    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=("Smokes",))
    ours, other = sqlrl.connect(), sqlrl.connect()
    ours.load("Friends", [("Anna", "Bob")])
    other.load("Friends", [("Bob", "Anna")])
    prediction = other.predict(model)
    uses: list[Callable[[], object]] = [
        lambda: ours.count(model, world=prediction),
        lambda: ours.count(model, world=prediction, against=ours.predict(model)),
        lambda: ours.count(model, world=ours.predict(model), against=prediction),
        lambda: ours.evaluate(prediction),
    ]
    for use in uses:
        with pytest.raises(InputError, match="prediction was made in another database"):
            use()
    # By the names of their constants they are the same atoms.
    assert ours.count(model, world=prediction.atoms())["n"] == [3]


@pytest.mark.slow
def test_connections_to_one_database_share_predictions(tmp_path: Path) -> None:
    import duckdb

    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=("Smokes",))
    connection = duckdb.connect()
    for target in (tmp_path / "people.duckdb", connection):
        one = sqlrl.connect(target)
        one.load("Friends", [("Anna", "Bob")])
        prediction = one.predict(model)
        assert sqlrl.connect(target).count(model, world=prediction)["n"] == one.count(model, world=prediction)["n"]


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("select 99 as atom", "99 is no query atom: a world lists ids"),
        ("select 90 + i as atom from range(7) t(i)", "90, 91, 92, 93, 94 and 2 more are no query atoms"),
        ("select null::bigint as atom", "NULL is no query atom"),
        ("select 'A' as atom", "the column atom .* has the type VARCHAR"),
        ("select 1.5::double as atom", "the type DOUBLE"),
        ("select 'Anna' as person", 'a source for each: world={"Cancer": ..., "Smokes": ...}'),
        ({"Smokes": named(frozenset())}, "by the open predicates, Cancer, Smokes, not by Smokes"),
        ({"Smokes": named(frozenset()), "Cancer": "select 'Eve' as person"}, "Eve is no query atom: .* of Cancer"),
        ({"Smokes": named(frozenset()), "Cancer": "select null as person"}, "NULL is no query atom"),
        ({"Smokes": named(frozenset()), "Cancer": "select 'Anna' as who"}, "has the columns person, as .*, not who"),
        ({"Smokes": named(frozenset()), "Cancer": "select 'Anna' as person, 1 as x"}, "not person, x"),
        ("observed", "the observed world needs labels.*: 4 of Cancer and 4 of Smokes"),
        ("no such table", "is neither a file"),
        (7, "cannot load from an object of type int"),
    ],
)
def test_worlds_that_are_none(db: sqlrl.Database, world: object, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("{", r"\{").replace("}", r"\}")):
        db.count(MODEL, world=world)
    left = "select table_name from duckdb_tables() where table_name similar to '(shown|chosen).*'"
    assert db.sql(left).fetchall() == []


def test_examples_of_a_column_are_part_of_named_atoms() -> None:
    db = sqlrl.connect()
    rows = pa.table({"page": ["p", "q"], "n": ["1", "1"]})
    db.load("Next", rows, columns=["n"], types=["number"], example="page")
    db.load("Hot", rows, columns=["n"], types=["number"], example="page", target=True)
    model = sqlrl.parse_mln("Next(number)\nHot(number)\n1 Next(x) => Hot(x)")
    assert db.count(model, world="select 'q' as example, 1 as number")["n"] == [1]
    with pytest.raises(InputError, match="has the columns number, example"):
        db.count(model, world="select 1 as number")
    with pytest.raises(InputError, match=r"\(1, r\) is no query atom"):
        db.count(model, world="select 'r' as example, 1 as number")


def test_numbers_are_named_as_they_were_loaded(tmp_path: Path) -> None:
    db = sqlrl.connect()
    db.advanced.catalog.set_numeric("size")
    db.load("Fits", [("1",), ("2",)], types=["size"])
    model = sqlrl.parse_mln("Fits(size)\nGood(size)\n1 Fits(x) => Good(x)\n1 Good(x)", query=("Good",))
    path = tmp_path / "world.csv"
    path.write_text("size\n1.0\n", encoding="utf-8")
    assert db.count(model, world=path)["n"] == [1, 1]


HELPED = sqlrl.parse_mln(
    """
    Friends(person, person)
    Smokes(person)
    Cancer(person)
    1 EXIST y (Friends(x, y) ^ Smokes(y) ^ Cancer(y))
    0.5 Smokes(x) => EXIST y (Smokes(y) ^ Cancer(y))
    """,
    query=("Smokes", "Cancer"),
)


@pytest.mark.slow
@given(smokes=people, cancer=people)
@settings(max_examples=draws(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_helper_atoms_need_not_be_listed(db: sqlrl.Database, smokes: People, cancer: People) -> None:
    both = smokes & cancer
    want = [
        sum(any((x, y) in FRIENDS and y in both for y in PEOPLE) for x in PEOPLE),
        sum(x not in smokes or bool(both) for x in PEOPLE),
    ]
    by_name = {"Smokes": named(smokes), "Cancer": named(cancer)}
    for world in (by_name, by_ids(smokes, cancer)):
        assert db.count(HELPED, world=world)["n"] == want
    nobody = dict.fromkeys(("Smokes", "Cancer"), named(frozenset()))
    assert db.count(HELPED, world=by_name, against=nobody)["delta_n"] == [want[0], want[1] - len(PEOPLE)]


@pytest.mark.slow
def test_helper_atoms_of_a_prediction_are_counted(db: sqlrl.Database) -> None:
    prediction = db.predict(HELPED)
    assert db.count(HELPED, world=prediction, against=prediction)["delta_n"] == [0, 0]
    assert sum(w * n for w, n in zip([1, 0.5], db.count(HELPED, world=prediction)["n"], strict=True)) == pytest.approx(
        prediction.objective
    )


RULES: dict[str, Callable[[set[str], set[str], bool], list[bool]]] = {
    "!(EXIST x (T(x) ^ W))": lambda t, u, w: [not (t and w)],
    "(FORALL x (T(x))) <=> T(y)": lambda t, u, w: [(len(t) == 2) == (y in t) for y in ("Ann", "Bob")],
    "W v (EXIST x (T(x) ^ U(x)))": lambda t, u, w: [w or bool(t & u)],
    "W ^ (FORALL x (T(x)))": lambda t, u, w: [w and len(t) == 2],
    "W v (FORALL x (T(x) ^ U(x)))": lambda t, u, w: [w or len(t & u) == 2],
    "T(x) => (EXIST y (U(y)))": lambda t, u, w: [y not in t or bool(u) for y in ("Ann", "Bob")],
}


def test_counts_of_hard_formulas_are_whole_exactly_where_they_hold() -> None:
    """With a weight the same formulas are counted as written."""
    db = sqlrl.connect()
    db.load("A", [("Ann",), ("Bob",)], types=["a"])
    lines = [*(f"{rule}." for rule in RULES), *(f"1 {rule}" for rule in RULES)]
    model = sqlrl.parse_mln("\n".join(["A(a)", "T(a)", "U(a)", "W()", *lines]), query=["T", "U", "W"])
    none, one, both = set[str](), {"Ann"}, {"Ann", "Bob"}
    for t, u, w in [
        (none, none, False),
        (one, none, True),
        (both, one, False),
        (both, both, False),
        (both, none, True),
    ]:
        world = {
            "T": pa.table({"a": pa.array(sorted(t), pa.string())}),
            "U": pa.table({"a": pa.array(sorted(u), pa.string())}),
        }
        world["W"] = pa.table({"example": pa.array(["all"] * w, pa.string())})
        found = db.count(model, world=world)
        written = [rule(t, u, w) for rule in RULES.values()]
        assert found["n"][len(RULES) :] == [sum(truths) for truths in written]
        assert found["groundings"][len(RULES) :] == [len(truths) for truths in written]
        whole = [n == total for n, total in zip(found["n"], found["groundings"], strict=True)]
        assert whole[: len(RULES)] == [all(truths) for truths in written]
