"""What the database says of components of clause bodies: where they hold, how often, and the facts around atoms."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl.ground.network import IntArray


@dataclass(frozen=True, eq=False)
class ComponentCounts:
    """How often components hold at target atoms, as sparse rows; component i has `atom[indptr[i]:indptr[i + 1]]`.

    Parameters
    ----------
    indptr : int64 array, shape (c + 1,)
    atom : int64 array, shape (r,)
        Places of the target atoms (from 0, in the order of the source) at which the component holds; ascending in each component.
    count : int64 array, shape (r,)
        The number of its bindings there: assignments of its existential variables that make all of its literals true; at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> counts = ComponentCounts(*(np.array(x) for x in ([0, 2, 2], [0, 3], [1, 5])))
    >>> len(counts), [x.tolist() for x in counts.of(0)], counts.of(1)[0].tolist()
    (2, [[0, 3], [1, 5]], [])
    """

    indptr: IntArray
    atom: IntArray
    count: IntArray

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def of(self, i: int) -> tuple[IntArray, IntArray]:
        """Return the atoms and counts of one component."""
        inside = slice(self.indptr[i], self.indptr[i + 1])
        return self.atom[inside], self.count[inside]


@dataclass(frozen=True, eq=False)
class Saturated:
    """Facts around seed atoms, each once for each mode that reaches it; ordered by seed, depth, mode, arguments.

    Parameters
    ----------
    seed : int64 array, shape (r,)
        The place of the seed among those that were asked for.
    mode : int64 array, shape (r,)
        Index into the bias' body modes.
    depth : int64 array, shape (r,)
        1 for facts whose `+` arguments are all of the seed; else one more than the greatest depth at which one of them became known.
    arguments : int64 array, shape (r, w)
        Ids of the constants, of their own arguments' types; -1 where the predicate has fewer than w arguments.

    Examples
    --------
    >>> import numpy as np
    >>> Saturated(*(np.array(x) for x in ([0], [2], [1], [[4, -1]]))).arguments.tolist()
    [[4, -1]]
    """

    seed: IntArray
    mode: IntArray
    depth: IntArray
    arguments: IntArray
