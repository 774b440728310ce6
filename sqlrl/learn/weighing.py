"""What atoms and rows of a window are worth under the current weights, compiled."""

from __future__ import annotations

from sqlrl.ground.network import FloatArray
from sqlrl.kernels import kernel
from sqlrl.learn.arrays import WindowArrays


@kernel
def unit_worth(window: WindowArrays, atom: int, now: FloatArray) -> float:
    """What the unit clauses of an atom add when it is true."""
    value = 0.0
    for u in range(window.units.indptr[atom], window.units.indptr[atom + 1]):
        value += window.units.data[u] * now[window.units.indices[u]]
    return value


@kernel
def row_cost(window: WindowArrays, row: int, now: FloatArray) -> float:
    """What violating a row costs; it may be negative, and is 0 for hard rows, whose weights in `now` are 0."""
    clause = window.row_clause[row]
    return float(window.sign[clause] * window.multiplicity[row] * now[clause])
