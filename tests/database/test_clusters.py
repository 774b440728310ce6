"""Clusters of a predicted equivalence, against a union of sets, and what is no equivalence."""

from __future__ import annotations

import re
from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError
from tests.effort import draws

TEXT = "Alike(name, name)\nSame(name, name)\n5 Alike(x, y) => Same(x, y)\n-1 Same(x, y)"
MODEL = sqlrl.parse_mln(TEXT, query=["Same"])
NAMES = [f"n{i}" for i in range(7)]


def predicted(pairs: list[tuple[str, str]], others: list[tuple[str, str]] | None = None) -> sqlrl.Prediction:
    """A prediction that joins just these pairs; the scope has further ones."""
    db = sqlrl.connect()
    db.load("Alike", pairs, types=("name", "name"))
    db.scope("Same", [*pairs, *(others or [])])
    return db.predict(MODEL)


def united(pairs: list[tuple[str, str]]) -> set[frozenset[str]]:
    """The sets that pairs join."""
    sets = {name: {name} for pair in pairs for name in pair}
    for x, y in pairs:
        both = sets[x] | sets[y]
        for name in both:
            sets[name] = both
    return {frozenset(each) for each in sets.values()}


def found(table: sqlrl.report.Table) -> set[frozenset[str]]:
    sets: dict[int, set[str]] = {}
    for row in table:
        sets.setdefault(row["cluster"], set()).add(row["name"])
    assert list(sets) == list(range(len(sets))), "clusters are numbered and follow each other"
    return {frozenset(each) for each in sets.values()}


@settings(max_examples=draws(12))
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=8, unique=True))
def test_clusters_are_what_is_connected(pairs: list[tuple[str, str]]) -> None:
    prediction, expected = predicted(pairs), united(pairs)
    assert found(prediction.clusters(closure=True)) == expected
    joined = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    missing = [
        set(pair) for each in expected for pair in combinations(sorted(each), 2) if frozenset(pair) not in joined
    ]
    if not missing:
        assert found(prediction.clusters()) == expected
        return
    with pytest.raises(InputError, match="is predicted to join") as error:
        prediction.clusters("Same")
    a, b, b2, c, a2, c2 = re.findall(r"n\d", str(error.value))[:6]
    assert (a, b, c) == (a2, b2, c2)
    assert {frozenset((a, b)), frozenset((b, c))} <= joined
    assert {a, c} in missing


def test_records_without_a_candidate_are_alone() -> None:
    db = sqlrl.connect()
    db.load("Alike", [("a", "b")], types=("name", "name"))
    db.load("Known", [("a",), ("b",), ("c",)], types=("name",))
    db.scope("Same", [("a", "b")])
    assert found(db.predict(MODEL).clusters()) == {frozenset("ab"), frozenset("c")}


def test_given_pairs_count() -> None:
    db = sqlrl.connect()
    db.load("Alike", [("a", "b")], types=("name", "name"))
    db.load("Same", [("c", "d", True), ("c", "a", False)], types=("name", "name"), truth=2, given=True)
    db.scope("Same", [("a", "b"), ("c", "d"), ("c", "a")])
    assert found(db.predict(MODEL).clusters()) == {frozenset("ab"), frozenset("cd")}


def test_examples_have_clusters_of_their_own() -> None:
    db = sqlrl.connect()
    rows = [("t1", "a", "b"), ("t1", "c", "c"), ("t2", "a", "a"), ("t2", "b", "c")]
    table = pa.table(dict(zip(("topic", "x", "y"), map(list, zip(*rows, strict=True)), strict=True)))
    db.load("Alike", table, types=("name", "name"), columns=["x", "y"], example="topic")
    model = sqlrl.parse_mln(TEXT, query=["Same"])
    rows = db.predict(model).clusters().to_arrow().to_pylist()
    sets: dict[tuple[str, int], set[str]] = {}
    for row in rows:
        sets.setdefault((row["example"], row["cluster"]), set()).add(row["name"])
    assert sorted((example, "".join(sorted(names))) for (example, _), names in sets.items()) == [
        ("t1", "ab"), ("t1", "c"), ("t2", "a"), ("t2", "bc"),
    ]  # fmt: skip


def test_other_relations_are_refused() -> None:
    db = sqlrl.connect()
    db.load("Likes", [("a", "x")], types=("name", "thing"))
    model = sqlrl.parse_mln("Likes(name, thing)\nHas(name, thing)\n1 Likes(x, y) => Has(x, y)", query=["Has"])
    with pytest.raises(InputError, match=r"Has\(name, thing\) is no relation between two constants of one type"):
        db.predict(model).clusters()
