"""The weights of clauses that a structure learner adds while it runs: ADAGRAD_FB over arrays that grow."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.learn.adagrad import AdaGradState, Rates, new_state, update_clause, weight_after
from sqlrl.learn.arrays import Tally, new_tally
from sqlrl.learn.rules import arrays_of, grown, longer, with_arrays


class Growing(NamedTuple):
    """Weights and counters of some clauses, with room for more.

    Parameters
    ----------
    state : AdaGradState
        Its arrays have at least `size` places; `steps` is not looked at.
    tally : Tally
    size : int
        Number of clauses.
    """

    state: AdaGradState
    tally: Tally
    size: int

    @classmethod
    def empty(cls) -> Self:
        """Return no clauses.

        Examples
        --------
        >>> Growing.empty().size
        0
        """
        return cls(new_state(), new_tally(0), 0)

    def copy(self, size: int) -> Growing:
        """Return a copy for `size` clauses, at least as many as before; new ones are as if there from the first step."""
        return Growing(grown(self.state, size), Tally(*(longer(x, size) for x in self._trimmed())), size)

    def with_room(self, size: int) -> Growing:
        """Return this for `size` clauses; its arrays are copied only when they are full."""
        if size <= len(self.state.weight):
            return self._replace(size=size)
        room = max(size, 2 * len(self.state.weight), 64)
        return Growing(grown(self.state, room), Tally(*(longer(x, room) for x in self.tally)), size)

    def trimmed(self) -> Growing:
        """Return a copy without spare room."""
        arrays = {name: x[: self.size].copy() for name, x in arrays_of(self.state).items()}
        return Growing(with_arrays(self.state, arrays), Tally(*self._trimmed()), self.size)

    def _trimmed(self) -> list[IntArray]:
        return [x[: self.size].copy() for x in self.tally]


@kernel
def weights_before(state: AdaGradState, clauses: IntArray, step: int, rates: Rates) -> FloatArray:
    """Return the weights (log-odds) of some clauses just before step `step` (from 1)."""
    weights = np.empty(len(clauses))
    for k in range(len(clauses)):
        weights[k] = weight_after(state, clauses[k], step - 1, rates)
    return weights


@kernel
def update(
    state: AdaGradState, tally: Tally, clauses: IntArray, delta_n: IntArray, step: int, rates: Rates
) -> FloatArray:
    """Take step `step` (from 1) for clauses that occur in its example, in place; return their weights after it.

    Parameters
    ----------
    state, tally
        Changed.
    clauses : int64 array, shape (k,)
        Distinct.
    delta_n : int64 array, shape (k,)
        Those of clauses that are only discounted are 0.
    step : int
    rates : Rates
    """
    weights = np.empty(len(clauses))
    for k in range(len(clauses)):
        clause = clauses[k]
        tally.met[clause] += 1
        if delta_n[k] == 0:
            weights[k] = weight_after(state, clause, step, rates)
        else:
            weights[k] = update_clause(state, clause, delta_n[k], step, rates)
            tally.updates[clause] += 1
            tally.delta_n[clause] += delta_n[k]
    return weights
