"""Forests to which ground clauses of one literal are added, against `mpe` on the networks that have them all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import InfeasibleError
from sqlrl.solve.mpe import mpe
from sqlrl.solve.unit_forest import UnitClauses, UnitForest
from tests.solve.networks import Problem, problems

WEIGHTS = st.sampled_from([-1.0, -0.3, 0.0, 0.1, 0.2, 0.3, 1.0])
"""Of which many worlds are best together, and some only but for rounding."""


@given(problems(weights=WEIGHTS), st.data())
def test_worlds_are_those_of_mpe(problem: Problem, data: st.DataObject) -> None:
    weights = np.array(problem.weights)
    forest = UnitForest(problem.network(), weights)
    soft = [i for i in range(len(weights)) if i not in problem.hard]
    some = st.tuples(
        st.integers(1, max(problem.atoms, 1)), st.booleans(), st.sampled_from(soft or [0]), st.integers(1, 3)
    )
    listed = [data.draw(st.lists(some, max_size=6 if problem.atoms and soft else 0)) for _ in range(3)]
    rows = [
        (e, atom - 1, clause, (times if positive else -times) * (-1 if clause in problem.negated else 1))
        for e, units in enumerate(listed)
        for atom, positive, clause, times in units
    ]
    columns = np.array(rows, np.int64).reshape(len(rows), 4).T.copy()
    found = forest.worlds(UnitClauses(*columns), len(listed)) if forest.fits else None
    for e, units in enumerate(listed):
        more = [(clause, [atom if positive else -atom], times) for atom, positive, clause, times in units]
        whole = replace(problem, ground=[*problem.ground, *more]).network()
        try:
            expected = mpe(whole, weights)
        except InfeasibleError:
            assert found is None
            continue
        assert (found is not None) == forest.fits
        assert found is None or (found[e] == expected.world).all()
