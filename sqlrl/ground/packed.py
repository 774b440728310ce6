"""Ground clauses of one length, each packed into one integer: sorting them is sorting integers.

Most shapes give rows of a fixed number of literals, none merged. A row then fits into 63 bits for any network of practical
size (two literals over 100 million atoms under 100 clauses, say), and numpy sorts 100 million such keys a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """How many bits the clause and each literal of a row take.

    Parameters
    ----------
    width : int
        Literals in a row.
    code_bits : int
    """

    width: int
    code_bits: int

    @classmethod
    def of(cls, width: int, atoms: int, clauses: int) -> Packing | None:
        """Return the packing for rows over so many atoms and clauses; None if a row does not fit into 63 bits.

        Examples
        --------
        >>> Packing.of(2, 100_000, 1)
        Packing(width=2, code_bits=18)
        >>> Packing.of(4, 10**9, 1) is None
        True
        """
        code_bits = max(2 * atoms - 1, 1).bit_length()
        fits = width * code_bits + max(clauses - 1, 0).bit_length() <= 63
        return cls(width, code_bits) if fits else None

    def pack(self, clause: IntArray | int, codes: Sequence[IntArray]) -> IntArray:
        """Return one key a row; the literals are put in ascending order first."""
        ordered: Sequence[IntArray] | IntArray = codes
        if self.width == 2:
            ordered = (np.minimum(codes[0], codes[1]), np.maximum(codes[0], codes[1]))
        elif self.width > 2:
            ordered = np.sort(np.stack(codes), axis=0)
        key = ordered[0].copy()
        for code in ordered[1:]:
            key <<= self.code_bits
            key |= code
        key |= clause << (self.width * self.code_bits)
        return key

    def unpack(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the clauses, shape (r,), and the codes, shape (r, width)."""
        codes = np.empty((len(keys), self.width), np.int64)
        mask = (1 << self.code_bits) - 1
        for i in range(self.width):
            np.bitwise_and(keys >> ((self.width - 1 - i) * self.code_bits), mask, out=codes[:, i])
        return keys >> (self.width * self.code_bits), codes
