"""The mapping that is found rule by rule, on data in which one predicate follows from another and the rest is chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize

import sqlrl
from sqlrl.errors import NothingFoundWarning
from sqlrl.structure.diagnosis import found_mapping

THINGS = 30
SOURCE = "P(t)\nQ(t)\nR(t, u)\n"


def sets() -> dict[str, set[int]]:
    random = np.random.default_rng(3)
    a = set(range(20))
    b = {i for i in a if i % 2 == 0}
    return {"A": a, "B": b, "C": {i for i in range(THINGS) if random.random() < 0.5}}


def data() -> sqlrl.Database:
    db = sqlrl.connect()
    for name, rows in sets().items():
        db.load(name, [(f"x{i:02}",) for i in sorted(rows)], types=["thing"])
    db.load("Near", [(f"x{i:02}", f"x{i + 1:02}") for i in range(THINGS - 1)], types=["thing", "thing"])
    return db


def fit(text: str) -> sqlrl.Transfer:
    return sqlrl.Transfer(mapping="found", max_clauses=0).fit(data(), sqlrl.parse_mln(SOURCE + text))


def best_implication(strength: float) -> tuple[str, str]:
    """Which of the implications between two sets makes all atoms most probable given all others, by scipy."""

    def score(left: str, right: str) -> float:
        rows = []
        found = sets()
        for name, i in itertools.product(found, range(THINGS)):
            truth = i in found[name]
            says = [float(name == each) for each in found]
            says.append(0.0)
            if name == left and i not in found[right]:
                says[-1] = -1.0
            if name == right and i in found[left]:
                says[-1] = 1.0
            rows.append((says, 1.0 if truth else -1.0))
        x, s = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

        def loss(w: np.ndarray) -> float:
            return float(np.logaddexp(0, -s * (x @ w)).sum() / THINGS + strength / 2 * w @ w)

        return -float(optimize.minimize(loss, np.zeros(4), method="BFGS").fun)

    pairs = list(itertools.permutations(sets(), 2))
    return max(pairs, key=lambda pair: score(*pair))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.NothingFoundWarning")
def test_a_rule_is_mapped_to_the_predicates_of_which_it_says_most() -> None:
    left, right = best_implication(1e-4)
    found = fit("1 P(x) => Q(x)")
    pairs = {row["source"]: row["target"] for row in found.mapping_.to_arrow().to_pylist()}
    assert pairs == {"P": left, "Q": right}
    assert {left, right} == {"A", "B"}
    assert f"{left}(x) => {right}(x)" in {row["becomes"] for row in found.mapping_.to_arrow().to_pylist()}


@pytest.mark.filterwarnings("ignore::sqlrl.errors.NothingFoundWarning")
def test_what_has_no_mapping_and_what_is_twice_is_listed() -> None:
    """R has arguments of two types, Near of one; the same rule written twice becomes one."""
    found = fit("1 P(x) => Q(x)\n2 !P(y) v Q(y)\n1 R(x, y)")
    rows = found.dropped_.to_arrow().to_pylist()
    assert [(row["why"], row["rule"]) for row in rows] == [("equal", "!P(y) v Q(y)")]
    assert "the same clause as P(x) => Q(x)" in rows[0]["reason"]
    near = [row for row in found.mapping_.to_arrow().to_pylist() if row["source"] == "R"]
    assert [row["target"] for row in near] == ["Near"]
    wide = sqlrl.parse_mln("S(t, t, t)\n1 S(x, y, z)")
    with pytest.warns(NothingFoundWarning, match="no rule of the source"):
        none = sqlrl.Transfer(mapping="found", max_clauses=0).fit(data(), wide)
    (row,) = none.dropped_.to_arrow().to_pylist()
    assert "S cannot be mapped to predicates of the data with as many arguments" in row["reason"]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.NothingFoundWarning")
def test_too_many_mappings_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_mapping, "MOST_MAPPINGS", 5)
    found = fit("1 P(x) => Q(x)")
    (row,) = found.dropped_.to_arrow().to_pylist()
    assert row["reason"] == "it has more than 5 legal mappings: give a mapping of its predicates"
