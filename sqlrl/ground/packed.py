"""Ground clauses of one length, each packed into one integer: sorting them is sorting integers.

Most shapes give rows of a fixed number of literals, none merged. A row then fits into 63 bits for any network of practical
size (two literals over 100 million atoms under 100 clauses, say). A literal is packed as its code, 2 k for local atom k and
2 k + 1 for its negation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

MANY = 50_000
"""From this many rows on, loops are compiled: loading numba takes half a second, which small programs should not pay."""

PIECE = 1 << 16
"""Rows packed at a time: what is between stays in the processor's caches."""


@dataclass(frozen=True)
class Packing:
    """How many bits the clause and each literal of a row take.

    Parameters
    ----------
    width : int
        Literals in a row.
    code_bits, clause_bits : int

    Examples
    --------
    >>> packing = Packing(width=2, code_bits=3, clause_bits=0)
    >>> keys = packing.sort(packing.pack(0, [np.array([5, 2]), np.array([0, 1])]))
    >>> packing.literals(keys).tolist()
    [[1, -3], [-1, 2]]
    """

    width: int
    code_bits: int
    clause_bits: int

    @classmethod
    def of(cls, width: int, atoms: int, clauses: int) -> Packing | None:
        """Return the packing for rows over so many atoms and clauses; None if a row does not fit into 63 bits.

        Examples
        --------
        >>> Packing.of(2, 100_000, 1)
        Packing(width=2, code_bits=18, clause_bits=0)
        >>> Packing.of(4, 10**9, 1) is None
        True
        """
        packing = cls(width, max(2 * atoms - 1, 1).bit_length(), max(clauses - 1, 0).bit_length())
        return packing if packing.bits <= 63 else None

    @property
    def bits(self) -> int:
        """How many bits a row takes."""
        return self.width * self.code_bits + self.clause_bits

    def pack(self, clause: IntArray | int, codes: Sequence[IntArray]) -> IntArray:
        """Return one key a row; the literals are put in ascending order first.

        Parameters
        ----------
        clause : int64 array, shape (r,), or int
        codes : sequence of int64 arrays, shape (r,)
            One for each literal.

        Returns
        -------
        int64 array, shape (r,)

        Examples
        --------
        >>> packing = Packing.of(2, 4, 2)
        >>> packing.pack(np.array([0, 1]), [np.array([7, 2]), np.array([1, 3])]).tolist()
        [15, 83]
        """
        ordered: Sequence[IntArray] | IntArray = codes
        if self.width == 2:
            ordered = (np.minimum(codes[0], codes[1]), np.maximum(codes[0], codes[1]))
        elif self.width > 2:
            ordered = np.sort(np.stack(codes), axis=0)
        key = ordered[0].copy()
        for code in ordered[1:]:
            key <<= self.code_bits
            key |= code
        if not isinstance(clause, int) or clause:
            key |= clause << (self.width * self.code_bits)
        return key

    def sort(self, keys: IntArray) -> IntArray:
        """Return keys in ascending order; the array given may be overwritten.

        Examples
        --------
        >>> Packing.of(2, 4, 2).sort(np.array([83, 15])).tolist()
        [15, 83]
        """
        if len(keys) < MANY:
            keys.sort()
            return keys
        from sqlrl.ground.radix import radix_sort

        return radix_sort(keys, self.bits)

    def clauses(self, keys: IntArray) -> IntArray:
        """Return the clauses of keys, shape (r,).

        Examples
        --------
        >>> Packing.of(2, 4, 2).clauses(np.array([15, 83])).tolist()
        [0, 1]
        """
        return keys >> (self.width * self.code_bits)

    def literals(self, keys: IntArray) -> IntArray:
        """Return the literals of keys, shape (r, width).

        Examples
        --------
        >>> Packing.of(2, 4, 2).literals(np.array([15, 83])).tolist()
        [[-1, -4], [2, -2]]
        """
        if len(keys) >= MANY:
            from sqlrl.ground.radix import unpack

            unpacked: IntArray = unpack(keys, self.width, self.code_bits)
            return unpacked
        shifts = np.arange(self.width)[::-1] * self.code_bits
        return to_literals(keys[:, None] >> shifts & (1 << self.code_bits) - 1)


def to_literals(codes: IntArray) -> IntArray:
    """Return the literals, +(k + 1) or -(k + 1), of codes 2 k and 2 k + 1.

    Examples
    --------
    >>> to_literals(np.array([0, 1, 6, 7])).tolist()
    [1, -1, 4, -4]
    """
    # In two's complement -x is ~x + 1, and ~x is x ^ -1: half the time of `where`.
    negative = -(codes & 1)
    literals = codes >> 1
    literals += 1
    literals ^= negative
    literals -= negative
    return literals


def to_codes(literals: IntArray) -> IntArray:
    """Return the codes of literals.

    Examples
    --------
    >>> to_codes(np.array([1, -1, 4, -4])).tolist()
    [0, 1, 6, 7]
    """
    codes = np.abs(literals) - 1
    codes <<= 1
    codes |= literals < 0
    return codes
