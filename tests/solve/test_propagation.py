"""Unit propagation: what it fixes has that value in every world, and it changes no probability."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from sqlrl.solve.restriction import UnsatisfiableError, restrict
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.weighted import FREE, weigh
from tests.effort import draws
from tests.solve.networks import Problem, problems
from tests.solve.samplers import exact_marginals
from tests.solve.test_weighted import enumerate_weighted


@settings(max_examples=draws(100))
@given(problem=problems(hardness=4))
def test_fixed_atoms_have_one_value(problem: Problem) -> None:
    weighted = weigh(problem.network(), problem.weights)
    worlds = np.array(list(enumerate_weighted(weighted)), dtype=np.bool_)
    try:
        value = propagate(weighted)
        left = restrict(weighted, value)
    except UnsatisfiableError:
        assert len(worlds) == 0
        return
    if len(worlds) == 0:
        return
    fixed = value != FREE
    assert np.all(worlds[:, fixed] == (value[fixed] == 1))
    expected, found = exact_marginals(weighted), exact_marginals(left)
    assert expected is not None
    assert found == pytest.approx(expected[~fixed], abs=1e-12)
    # Nothing is left of units: no hard row of one literal, no exactly-one block of one atom.
    assert np.all(np.diff(left.indptr)[left.hard] > 1)
    assert np.all(np.bincount(left.block[left.block >= 0], minlength=len(left.block_exact))[left.block_exact] > 1)


def test_a_long_chain() -> None:
    n = 5000
    ground = [(0, [-k, k + 1], 1) for k in range(1, n)] + [(1, [1], 1)]
    assert propagate(weigh(Problem(n, ground, [0.0, 0.0], hard=[0, 1]).network(), [0.0, 0.0])).all()
    ground.append((1, [-n], 1))
    with pytest.raises(UnsatisfiableError):
        propagate(weigh(Problem(n, ground, [0.0, 0.0], hard=[0, 1]).network(), [0.0, 0.0]))
