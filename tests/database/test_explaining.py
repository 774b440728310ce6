"""What `explain` says of the number of ground clauses, before any work."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import sqlrl
from sqlrl.database.explanations import Explanations

PEOPLE = 40


@cache
def network() -> sqlrl.Database:
    db = sqlrl.connect()
    friends = [(f"p{i}", f"p{(i * k) % PEOPLE}") for i in range(PEOPLE) for k in (3, 7)]
    db.load("Friends", sorted(set(friends)), types=["person", "person"])
    return db


def people(rule: str) -> tuple[sqlrl.Database, sqlrl.Model]:
    declared = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
    return network(), sqlrl.parse_mln(declared + rule, query=["Smokes", "Cancer"])


@pytest.mark.parametrize(
    ("rule", "exact"),
    [
        ("1 Friends(x, y) ^ Smokes(x) => Cancer(y)", True),
        ("1 Smokes(x) => Cancer(x)", True),
        ("1 Smokes(x) v Cancer(y)", True),
        ("1 EXIST x Smokes(x)", True),
        ("1 Friends(x, y) ^ Friends(y, z) ^ Smokes(x) => Cancer(z)", False),
        ("1 Friends(x, y) ^ Friends(y, z) ^ Friends(x, z) ^ Smokes(x) ^ Smokes(y) => Cancer(z)", True),
        ("1 Smokes(p1) => Cancer(x)\n1 Smokes(p2) => Cancer(x)", True),
        ("Friends(+x, y) => Cancer(y)", True),
    ],
)
def test_the_number_of_ground_clauses_is_a_bound(rule: str, exact: bool) -> None:
    db, model = people(rule)
    network = db.advanced.ground(model)
    clauses = len(network.row_clause) + int(np.abs(network.units).sum())
    (found,) = model.plan(db)
    assert found.at_most
    assert found.estimate == clauses if exact else found.estimate >= clauses
    assert f"at most {found.estimate:,} ground clause" in str(found)
    assert found.bound == "at most"


def test_what_is_not_counted_is_what_the_database_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    triangle = "1 Friends(x, y) ^ Friends(y, z) ^ Friends(x, z) ^ Smokes(x) => Cancer(z)"
    monkeypatch.setattr("sqlrl.database.explanations.SMALL", 1000)
    db, model = people(triangle)
    (found,) = model.plan(db)
    assert not found.at_most
    assert "1 clause, about " in repr(found)
    assert model.plan(db).table()["bound"] == ["about"]


@pytest.mark.slow
def test_a_number_past_128_bits_is_not_counted() -> None:
    db, model = people("1 " + " v ".join(f"Smokes(x{i})" for i in range(30)))
    found = model.plan(db)
    assert [each.at_most for each in found] == [False]
    wide, other = people("1 " + " v ".join(f"Smokes(x{i})" for i in range(15)))
    assert other.plan(wide)[0].estimate == PEOPLE**15
    assert other.plan(wide).table()["estimate"] == [PEOPLE**15]
    assert isinstance(found, Explanations)


def test_a_template_with_a_variable_that_one_of_its_clauses_lacks() -> None:
    db, model = people("Smokes(+x) ^ Cancer(+y) v Smokes(z) ^ Cancer(z)")
    network = db.advanced.ground(model)
    found = model.plan(db)
    assert all(each.at_most for each in found)
    assert sum(each.estimate for each in found) >= len(network.row_clause)
