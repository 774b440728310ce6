"""What update rules ask of a step, compiled: the label loss of a world, and the margin of the labels over it."""

from __future__ import annotations

from sqlrl.ground.network import BoolArray
from sqlrl.kernels import kernel
from sqlrl.learn.arrays import Scratch, WindowArrays


@kernel
def label_loss(window: WindowArrays, k: int, world: BoolArray, f1: bool) -> float:
    """How wrong a world of the k-th example is: the number of wrong atoms, or 1 - F1 of its true atoms.

    Parameters
    ----------
    window : WindowArrays
    k : int
        Place of the example in the sequence.
    world : bool array, shape (n,)
    f1 : bool
        1 - F1, from 0 to 1, in place of Hamming loss. Without true atoms in labels and world there is no error: 0.

    Notes
    -----
    Source: Huynh (2011), sections 4.3.2 and 5.3.2. Helper atoms do not count.
    """
    wrong, hits = 0, 0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if window.helper[atom]:
            continue
        wrong += window.truth[atom] != world[atom]
        hits += window.truth[atom] and world[atom]
    if not f1:
        return float(wrong)
    return 0.0 if wrong == 0 else wrong / (2.0 * hits + wrong)


@kernel
def fixed_margin(window: WindowArrays, k: int, work: Scratch) -> float:
    """What soft evidence adds to the score of the labels of the k-th example over that of `work.target`."""
    margin = 0.0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if window.truth[atom] != work.target[atom]:
            margin += window.prior[atom] if window.truth[atom] else -window.prior[atom]
    return margin


@kernel
def products(work: Scratch, count: int) -> tuple[float, float]:
    """The current weights times delta n, and the sum of the squares of delta n, over the first `count` changed clauses."""
    product, square = 0.0, 0.0
    for j in range(count):
        clause = work.changed[j]
        delta = float(work.delta[clause])
        product += work.now[clause] * delta
        square += delta * delta
    return product, square
