"""Arrow batches of a grounding query to ground clauses as arrays.

A literal is coded as 2 * (local atom) for an atom and 2 * (local atom) + 1 for its negation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.packed import Packing
from sqlrl.plan.grounding import GroundingQuery

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """Ground clauses of one shape, each with distinct literals in ascending order.

    Parameters
    ----------
    clause : int64 array, shape (r,)
    codes : int64 array
        The literals of all rows, one after the other.
    length : int64 array, shape (r,)
        How many literals each row has; 0 for one that the evidence violates.
    multiplicity : int64 array, shape (r,)
    """

    clause: IntArray
    codes: IntArray
    length: IntArray
    multiplicity: IntArray

    def take(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows of a mask; these very rows if it holds for all."""
        if mask.all():
            return self
        return Rows(
            self.clause[mask], self.codes[np.repeat(mask, self.length)], self.length[mask], self.multiplicity[mask]
        )


class AtomIndex:
    """Maps ids of query atoms to local numbers.

    Parameters
    ----------
    atoms : int64 array
        Ids, ascending.
    """

    def __init__(self, atoms: IntArray) -> None:
        self._atoms = atoms
        self._first = int(atoms[0]) if len(atoms) else 0
        self._dense = len(atoms) == 0 or int(atoms[-1]) - self._first + 1 == len(atoms)

    @property
    def size(self) -> int:
        """Number of atoms."""
        return len(self._atoms)

    def codes(self, ids: IntArray, negative: bool) -> IntArray:
        """Return the code of each literal, given the ids of the atoms and the sign."""
        local = self.local(ids)
        local <<= 1
        if negative:
            local |= 1
        return local

    def local(self, ids: IntArray) -> IntArray:
        """Return the local number of each id; all ids must be known."""
        if self._dense:
            return ids - self._first
        return np.searchsorted(self._atoms, ids).astype(np.int64)


def read_rows(
    batches: Iterable[pa.RecordBatch], plan: GroundingQuery, index: AtomIndex, clause: int, clauses: int
) -> Rows:
    """Collect the batches of a grounding query.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    plan : GroundingQuery
    index : AtomIndex
    clause : int
        The clause of the rows of a shape without parameters.
    clauses : int
        Number of clauses of the program.

    Returns
    -------
    Rows
        In canonical order (clause, length, literals), identical rows merged, tautologies dropped.

    Examples
    --------
    >>> from sqlrl.plan.grounding import ground
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> batch = pa.record_batch({"l0": pa.array([7, 5]), "multiplicity": pa.array([1, 2])})
    >>> rows = read_rows([batch], ground(friends_smoke(), people()), AtomIndex(np.array([5, 6, 7])), 0, 1)
    >>> rows.codes.tolist(), rows.multiplicity.tolist()
    ([0, 4], [2, 1])
    """
    plain = plan.signs and not (plan.has_absent or plan.may_repeat or plan.has_multiplicity)
    packing = Packing.of(len(plan.signs), index.size, clauses) if plain else None
    if packing is not None:
        return _read_packed(batches, plan, index, clause, packing)
    parts = [_read_batch(batch, plan, index, clause) for batch in batches if batch.num_rows]
    if not parts:
        return by_clause([])
    rows = Rows(*(np.concatenate(arrays) for arrays in zip(*map(_arrays, parts), strict=True)))
    return in_order(rows, merge=plan.may_repeat)


def _read_packed(
    batches: Iterable[pa.RecordBatch], plan: GroundingQuery, index: AtomIndex, clause: int, packing: Packing
) -> Rows:
    """Read rows of one length that cannot be equal."""
    keys = [np.zeros(0, np.int64)]
    for batch in batches:
        codes = [index.codes(_integers(batch, f"l{i}"), sign < 0) for i, sign in enumerate(plan.signs)]
        keys.append(packing.pack(_integers(batch, "clause") if plan.has_clause else clause, codes))
    key = np.concatenate(keys)
    key.sort()
    found, matrix = packing.unpack(key)
    return Rows(found, matrix.ravel(), np.full(len(key), packing.width, np.int64), np.ones(len(key), np.int64))


def _arrays(rows: Rows) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    return rows.clause, rows.codes, rows.length, rows.multiplicity


def _integers(batch: pa.RecordBatch, name: str) -> IntArray:
    """Return an integer column as int64 without a copy where there are no NULLs."""
    values = batch.column(name).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.int64)


def _read_batch(batch: pa.RecordBatch, plan: GroundingQuery, index: AtomIndex, clause: int) -> Rows:
    size = batch.num_rows
    clauses = _integers(batch, "clause") if plan.has_clause else np.full(size, clause, np.int64)
    multiplicity = _integers(batch, "multiplicity") if plan.has_multiplicity else np.ones(size, np.int64)
    width = len(plan.signs)
    if not plan.has_absent and not plan.may_repeat:
        codes = np.empty((size, width), np.int64)
        for i, sign in enumerate(plan.signs):
            codes[:, i] = index.codes(_integers(batch, f"l{i}"), sign < 0)
        if width == 2:
            low, high = np.minimum(codes[:, 0], codes[:, 1]), np.maximum(codes[:, 0], codes[:, 1])
            codes[:, 0], codes[:, 1] = low, high
        elif width > 2:
            codes.sort(axis=1)
        return Rows(clauses, codes.ravel(), np.full(size, width, np.int64), multiplicity)
    owner, codes = _ragged(batch, plan, index)
    return _distinct(clauses, multiplicity, owner, codes)


def _ragged(batch: pa.RecordBatch, plan: GroundingQuery, index: AtomIndex) -> tuple[IntArray, IntArray]:
    """Return the literals of a batch whose rows differ in length: the row of each, and its code."""
    owners, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for i, sign in enumerate(plan.signs):
        ids = _integers(batch, f"l{i}")
        here = np.flatnonzero(ids > 0)
        owners.append(here)
        codes.append(index.codes(ids[here], sign < 0))
    for i, sign in enumerate(plan.list_signs):
        lists = batch.column(f"e{i}")
        lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False), dtype=np.int64)
        owners.append(np.repeat(np.arange(batch.num_rows, dtype=np.int64), lengths))
        codes.append(index.codes(values, sign < 0))
    return np.concatenate(owners), np.concatenate(codes)


def _distinct(clauses: IntArray, multiplicity: IntArray, owner: IntArray, codes: IntArray) -> Rows:
    """Sort the literals of each row, drop repeated ones, and drop rows that hold an atom and its negation."""
    order = np.lexsort((codes, owner))
    owner, codes = owner[order], codes[order]
    same = (owner[1:] == owner[:-1]) & (codes[1:] == codes[:-1])
    keep = np.concatenate([[True], ~same]) if len(codes) else np.zeros(0, bool)
    owner, codes = owner[keep], codes[keep]
    opposed = (owner[1:] == owner[:-1]) & (codes[1:] >> 1 == codes[:-1] >> 1)
    length = np.bincount(owner, minlength=len(clauses)).astype(np.int64)
    rows = Rows(clauses, codes, length, multiplicity)
    if not opposed.any():
        return rows
    true = np.zeros(len(clauses), bool)
    true[owner[1:][opposed]] = True
    return rows.take(~true)


def in_order(rows: Rows, *, merge: bool) -> Rows:
    """Put rows in order of (clause, length, literals); add up the multiplicities of identical ones if asked.

    Examples
    --------
    >>> rows = Rows(*(np.array(x) for x in ([0, 0], [2, 2], [1, 1], [1, 3])))
    >>> in_order(rows, merge=True).multiplicity.tolist()
    [4]
    """
    pieces = []
    starts = np.concatenate([[0], np.cumsum(rows.length)])[:-1]
    lengths = np.unique(rows.length)
    for length in lengths:
        here = np.flatnonzero(rows.length == length) if len(lengths) > 1 else np.arange(len(rows.length))
        matrix = (
            rows.codes[starts[here][:, None] + np.arange(length)]
            if len(lengths) > 1
            else rows.codes.reshape(len(here), length)
        )
        pieces.append(_sorted_piece(rows.clause[here], matrix, rows.multiplicity[here], merge))
    return by_clause(pieces)


def by_clause(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows and put them in order of their clauses, keeping the order inside a clause.

    Examples
    --------
    >>> one, other = (Rows(*(np.array(x) for x in ([c], [2], [1], [1]))) for c in (1, 0))
    >>> by_clause([one, other]).clause.tolist()
    [0, 1]
    """
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Rows(*(np.zeros(0, np.int64) for _ in range(4)))
    clause, codes, length, multiplicity = (np.concatenate(arrays) for arrays in zip(*map(_arrays, parts), strict=True))
    if (clause[1:] >= clause[:-1]).all():
        return Rows(clause, codes, length, multiplicity)
    order = np.argsort(clause, kind="stable")
    starts = np.cumsum(length) - length
    length = length[order]
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return Rows(clause[order], codes[np.repeat(starts[order], length) + within], length, multiplicity[order])


def _sorted_piece(clause: IntArray, matrix: IntArray, multiplicity: IntArray, merge: bool) -> Rows:
    """Sort (and merge) rows of one length."""
    order = _order(clause, matrix)
    if order is not None:
        clause, matrix, multiplicity = clause[order], matrix[order], multiplicity[order]
    if merge and len(clause) > 1:
        new = (clause[1:] != clause[:-1]) | (matrix[1:] != matrix[:-1]).any(axis=1)
        first = np.flatnonzero(np.concatenate([[True], new]))
        clause, matrix, multiplicity = clause[first], matrix[first], np.add.reduceat(multiplicity, first)
    return Rows(clause, matrix.ravel(), np.full(len(clause), matrix.shape[1], np.int64), multiplicity)


def _order(clause: IntArray, matrix: IntArray) -> npt.NDArray[np.intp] | None:
    """Return the order by clause, then literals; None if they stand in it. Packs the key into one integer where it fits."""
    if not len(clause):
        return None
    columns = [clause, *matrix.T]
    bits = [int(c.max()).bit_length() for c in columns]
    if sum(bits) > 62:
        return np.lexsort(tuple(reversed(columns)))
    key = columns[0].copy()
    for values, width in zip(columns[1:], bits[1:], strict=True):
        key <<= width
        key |= values
    return None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
