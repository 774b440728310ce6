"""Counts against a naive count, and scores against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import NumericError
from sqlrl.solve.counts import counts, delta_counts, score
from sqlrl.solve.sample_networks import chains, network
from tests.effort import draws
from tests.solve.networks import Problem, problems


@settings(max_examples=draws(100), deadline=None)
@given(problem=problems(), data=st.data())
def test_counts_equal_a_naive_count(problem: Problem, data: st.DataObject) -> None:
    net = problem.network()
    truth = st.lists(st.booleans(), min_size=problem.atoms, max_size=problem.atoms).map(tuple)
    a, b = data.draw(truth), data.draw(truth)
    first, second = np.array(a, dtype=np.bool_), np.array(b, dtype=np.bool_)
    assert counts(net, first).tolist() == problem.count(a)
    expected = [x - y for x, y in zip(problem.count(a), problem.count(b), strict=True)]
    assert delta_counts(net, first, second).tolist() == expected
    assert score(net, problem.weights, first) == pytest.approx(float(problem.score(a)), rel=1e-12, abs=1e-12)


def test_counts_beyond_64_bits() -> None:
    net = network(1, [(0, [1])], evidence=[(0, 10**30, 0)])
    assert counts(net, np.array([True])).tolist() == [10**30 + 1]
    assert score(net, [2.0], np.array([True])) == pytest.approx(2e30)


def test_scores_refuse_weights_that_are_not_finite() -> None:
    with pytest.raises(NumericError, match="clause 0"):
        score(network(1, [(0, [1])]), [float("nan")], np.array([True]))


def test_chains_are_what_the_list_builder_makes() -> None:
    two = chains(2, length=3, states=2, words=3)
    ground = [(int(i), two.literals[2 * j : 2 * j + 2].tolist()) for j, i in enumerate(two.row_clause)]
    units = two.units.tocoo()
    ground += [(int(i), [int(k) + 1]) for k, i in zip(units.row, units.col, strict=True)]
    blocks = [([2 * p, 2 * p + 1], False) for p in range(6)]
    same = network(12, ground, clauses=len(two.clauses), blocks=blocks)
    for name in ("indptr", "literals", "row_clause", "multiplicity", "base", "total", "open", "block", "block_exact"):
        assert np.array_equal(getattr(two, name), getattr(same, name)), name
    assert (two.units != same.units).nnz == 0
