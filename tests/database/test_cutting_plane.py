"""`predict(method="cutting-plane")` against `predict` with full grounding: worlds, statistics, explanations, errors."""

from __future__ import annotations

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.solve.result import Status

PEOPLE = [f"P{i}" for i in range(8)]
FRIENDS = [(a, b) for i, a in enumerate(PEOPLE) for j, b in enumerate(PEOPLE) if i != j and (3 * i + 5 * j) % 4 == 0]
TEXT = """
Friends(person, person)
Smokes(person)
Cancer(person)
Team(person, team!)
team = {A, B, C}
-0.6 Smokes(x)
-1.0 Cancer(x)
1.5 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
-0.2 Cancer(x) v Cancer(y)
0 Cancer(x) v Smokes(y)
0.4 Friends(x, y) ^ Team(x, t) => Team(y, t)
-0.3 Friends(x, y) ^ Team(x, +t) ^ Smokes(y)
1 Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))
Team(P0, A).
"""
MODEL = sqlrl.parse_mln(TEXT, query=["Smokes", "Cancer", "Team"])


def database() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    db.load("Smokes", [("P1", True), ("P2", False), ("P3", True)], types=("person",), truth=1, given=True)
    return db


@pytest.fixture(scope="module")
def both() -> tuple[sqlrl.Prediction, sqlrl.Prediction]:
    """What full grounding and cutting planes predict."""
    db = database()
    return db.predict(MODEL), db.predict(MODEL, method="cutting-plane")


def test_the_world_of_full_grounding(both: tuple[sqlrl.Prediction, sqlrl.Prediction]) -> None:
    whole, cut = both
    assert cut.objective == pytest.approx(whole.objective, abs=1e-9)
    assert cut.cost == pytest.approx(whole.cost, abs=1e-9)
    assert cut.constant_cost == pytest.approx(whole.constant_cost, abs=1e-9)
    assert str(cut).splitlines()[2:4] == str(whole).splitlines()[2:4]
    assert cut.status is whole.status is Status.OPTIMAL
    assert cut.network.partial
    assert not whole.network.partial
    assert len(cut.network.row_clause) < len(whole.network.row_clause)
    assert (cut.network.atoms == whole.network.atoms).all()
    assert "cutting plane: " in str(cut)
    assert set(cut.seconds) == {"grounding", "solving"}


@pytest.mark.slow
def test_kept_statistics_are_those_of_the_whole_network() -> None:
    db = database()
    cut = db.predict(MODEL, method="cutting-plane", keep=True, into="cut")
    whole = db.predict(MODEL, keep=True)
    query = "select * exclude (run) from sqlrl.clause_statistics where run = {} order by clause"
    ours, theirs = (db.sql(query.format(run)).fetchall() for run in (1, 2))
    assert ours == theirs
    assert len(ours) == len(db.count(MODEL, world=cut))
    kept = db.sql("select clause, n_predicted from sqlrl.clause_statistics where run = 1").fetchall()
    assert {clause: int(n) for clause, n in kept} == {row["clause"]: row["n"] for row in db.count(MODEL, world=cut)}
    teams = db.sql("select person, team from cut_Team").fetchall()
    assert sorted(teams) == sorted((row["person"], row["team"]) for row in whole.table("Team"))


@pytest.mark.slow
def test_reasons_weigh_all_ground_clauses(both: tuple[sqlrl.Prediction, sqlrl.Prediction]) -> None:
    whole, cut = both
    assert np.array_equal(whole.result.world, cut.result.world), "there is one best world"
    for atom in ("Smokes(P5)", "Cancer(P4)", "Team(P0, B)"):
        one, other = whole.why(atom), cut.why(atom)
        assert list(one.table) == list(other.table)
        assert one.margin == pytest.approx(other.margin)
        assert len(one.table) > 1


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown method 'cutting': choose 'auto', .*'cutting-plane'"):
        database().predict(MODEL, method="cutting")  # type: ignore[arg-type]
