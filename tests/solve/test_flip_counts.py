"""What clauses say of single atoms, against counting each world with one atom flipped; and overlaps, against sets of ground clauses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.solve import overlaps as module
from sqlrl.solve.flip_counts import flip_counts
from sqlrl.solve.overlaps import Overlaps, overlaps
from tests.effort import draws
from tests.solve.networks import Problem, problems


@settings(max_examples=draws(100), deadline=None)
@given(problem=problems(), data=st.data())
def test_each_clause_changes_as_counting_both_worlds_says(problem: Problem, data: st.DataObject) -> None:
    world = data.draw(st.lists(st.booleans(), min_size=problem.atoms, max_size=problem.atoms))
    net, truth = problem.network(), np.array(world, dtype=np.bool_)
    found = flip_counts(net, truth)
    log_odds = found.log_odds(net, problem.weights, truth)
    here, best = problem.count(tuple(world)), problem.score(tuple(world))
    for atom in range(problem.atoms):
        other = tuple(value != (k == atom) for k, value in enumerate(world))
        expected = [a - b for a, b in zip(here, problem.count(other), strict=True)]
        assert found.change.toarray()[atom].tolist() == expected
        assert log_odds[atom] == pytest.approx(float(best - problem.score(other)), rel=1e-9, abs=1e-9)
    assert not found.helped.any()
    assert not found.unsure.any()


def by_sets(problem: Problem, chosen: list[int]) -> dict[tuple[int, int], tuple[int, int]]:
    """Shared ground clauses and atoms of each pair that shares a ground clause."""
    ground: dict[int, set[frozenset[int]]] = {i: set() for i in chosen}
    net: dict[tuple[int, int], int] = {}
    for clause, literals, times in problem.ground:
        if len(literals) == 1:
            key = (clause, abs(literals[0]))
            net[key] = net.get(key, 0) + (times if literals[0] > 0 else -times)
        elif clause in ground:
            ground[clause].add(frozenset(literals))
    for (clause, atom), times in net.items():
        if times and clause in ground:
            ground[clause].add(frozenset([atom]))
    atoms = {i: {abs(x) for each in ground[i] for x in each} for i in chosen}
    return {
        (a, b): (len(ground[a] & ground[b]), len(atoms[a] & atoms[b]))
        for a, b in combinations(chosen, 2)
        if ground[a] & ground[b]
    }


@settings(max_examples=draws(100), deadline=None)
@given(problem=problems(), data=st.data())
def test_overlaps_are_those_of_sets(problem: Problem, data: st.DataObject) -> None:
    m = len(problem.weights)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=m, max_size=m)))
    found = overlaps(problem.network(), chosen)
    pairs = zip(found.pairs.tolist(), found.shared.tolist(), found.atoms.tolist(), strict=True)
    expected = by_sets(problem, np.flatnonzero(chosen).tolist())
    assert {(a, b): (shared, atoms) for (a, b), shared, atoms in pairs} == expected
    both = found + found
    assert both.pairs.tolist() == found.pairs.tolist()
    assert both.shared.tolist() == (2 * found.shared).tolist()
    assert both.reach.tolist() == (2 * found.reach).tolist()


def test_pairs_of_several_windows_come_together() -> None:
    def pairs(*rows: tuple[int, int, int]) -> Overlaps:
        table = np.array(rows)
        return Overlaps(table[:, :2], table[:, 2], table[:, 2] + 1, np.array([5, 6, 7]), np.array([1, 2, 3]))

    found = pairs((0, 1, 4), (0, 2, 1)) + pairs((0, 2, 3), (1, 2, 2))
    assert found.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found.shared.tolist() == [4, 4, 2]
    assert found.atoms.tolist() == [5, 6, 3]


def test_too_many_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    same = Problem(2, [(i, [1, 2], 1) for i in range(4)], [0.0] * 4).network()
    monkeypatch.setattr(module, "MOST_PAIRS", 6)
    assert len(overlaps(same, np.ones(4, bool)).pairs) == 6
    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    with pytest.raises(InputError, match="share ground clauses 6 times, in pairs, of which at most 5"):
        overlaps(same, np.ones(4, bool))
