"""What components and clauses cover, as bitmaps: a clause covers what all components of its body cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.components import Component
from sqlrl.structure.ilp.protocols import CoverageSource
from sqlrl.structure.ilp.rows import Rows

Bits = npt.NDArray[np.uint64]
"""Rows of bits, 64 in a word; bit i is target atom i."""

_CELLS = 1 << 26
"""Booleans that are packed at once."""


def packed(rows: BoolArray) -> Bits:
    """Return rows of Booleans as rows of bits.

    Parameters
    ----------
    rows : bool array, shape (r, n)

    Returns
    -------
    uint64 array, shape (r, ceil(n / 64))

    Examples
    --------
    >>> [int(word) for word in packed(np.array([[True, False, True], [False, False, True]]))[:, 0]]
    [5, 4]
    """
    count, size = rows.shape
    wide = np.zeros((count, -(-size // 64) * 64), dtype=np.bool_)
    wide[:, :size] = rows
    words: Bits = np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)
    return words


def unpacked(bits: Bits, size: int) -> BoolArray:
    """Return rows of bits as rows of Booleans, of which there are `size` in each.

    Examples
    --------
    >>> unpacked(packed(np.array([[True, False, True]])), 3).tolist()
    [[True, False, True]]
    """
    little = np.ascontiguousarray(bits.astype("<u8", copy=False))
    rows: BoolArray = np.unpackbits(little.view(np.uint8), axis=1, count=size, bitorder="little").astype(np.bool_)
    return rows


def counted_bits(bits: Bits) -> IntArray:
    """Return the number of bits in each row.

    Examples
    --------
    >>> counted_bits(packed(np.array([[True, False, True]]))).tolist()
    [2]
    """
    counts: IntArray = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
    return counts


class Covers:
    """Knows what components cover; new ones are evaluated by the source, all of a call at once.

    Parameters
    ----------
    source : CoverageSource
        n target atoms.

    Attributes
    ----------
    components : list of Component
        Those that are known; numbers are places in it.
    """

    def __init__(self, source: CoverageSource) -> None:
        self._source, self.size = source, len(source.truth)
        self.components: list[Component] = []
        self._numbers: dict[Component, int] = {}
        self._bits = Rows(-(-self.size // 64), np.uint64)

    @property
    def bits(self) -> Bits:
        """What they cover, shape (c, w)."""
        return self._bits.values

    def numbers(self, components: Sequence[Component]) -> IntArray:
        """Return the numbers of known components."""
        return np.array([self._numbers[x] for x in components], dtype=np.int64)

    def evaluate(self, components: Iterable[Component], *, keep: bool) -> None:
        """Get to know components.

        Parameters
        ----------
        components : iterable of Component
        keep : bool
            Whether larger ones may be built from them; see `CoverageSource.evaluate`.
        """
        new = [x for x in dict.fromkeys(components) if x not in self._numbers]
        if not new:
            return
        found = self._source.evaluate(new, keep=keep)
        known = len(self.components)
        step = max(1, _CELLS // max(self.size, 1))
        bits = []
        for first in range(0, len(new), step):
            last = min(first + step, len(new))
            rows = np.zeros((last - first, self.size), dtype=np.bool_)
            inside = slice(found.indptr[first], found.indptr[last])
            rows[np.repeat(np.arange(last - first), np.diff(found.indptr[first : last + 1])), found.atom[inside]] = True
            bits.append(packed(rows))
        self._bits.add(np.concatenate(bits), known)
        self.components += new
        self._numbers |= {component: known + i for i, component in enumerate(new)}
