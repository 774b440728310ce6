"""Arrow batches of a grounding query to ground clauses as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.ground.packed import PIECE, Packing, to_codes, to_literals
from sqlrl.plan.grounding import GroundingQuery

IntArray = npt.NDArray[np.int64]


def repeated(value: int, size: int) -> IntArray:
    """Return an array that holds one number again and again, as a read-only view of that number.

    Examples
    --------
    >>> repeated(3, 2).tolist()
    [3, 3]
    """
    return np.broadcast_to(np.int64(value), size)


def single(values: IntArray) -> int | None:
    """Return the number that an array from `repeated` holds; None for other arrays and for none at all.

    Examples
    --------
    >>> single(repeated(3, 2)), single(np.array([3, 3]))
    (3, None)
    """
    return int(values[0]) if len(values) and values.strides == (0,) else None


@dataclass(frozen=True, eq=False)
class Rows:
    """Ground clauses of one shape, each with distinct literals in ascending order of their codes (see `packed`).

    Columns that hold one number may come from `repeated`: they take no memory, and no time to look through.

    Parameters
    ----------
    clause : int64 array, shape (r,)
    literals : int64 array
        The literals of all rows, one after the other: +(k + 1) for local atom k, -(k + 1) for its negation.
    length : int64 array, shape (r,)
        How many literals each row has; 0 for one that the evidence violates.
    multiplicity : int64 array, shape (r,)

    Examples
    --------
    >>> rows = Rows(repeated(0, 2), np.array([-1, 2, -2, 3]), repeated(2, 2), repeated(1, 2))
    >>> rows.take(np.array([False, True])).literals.tolist()
    [-2, 3]
    """

    clause: IntArray
    literals: IntArray
    length: IntArray
    multiplicity: IntArray

    def take(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows of a mask; these very rows if it holds for all."""
        if mask.all():
            return self
        return Rows(
            self.clause[mask], self.literals[np.repeat(mask, self.length)], self.length[mask], self.multiplicity[mask]
        )

    def starts(self) -> IntArray:
        """Return where the literals of each row begin, and at last their number: shape (r + 1,).

        Examples
        --------
        >>> Rows(*(np.array(x) for x in ([0, 0], [1, 2, 3], [2, 1], [1, 1]))).starts().tolist()
        [0, 2, 3]
        """
        starts = np.zeros(len(self.length) + 1, np.int64)
        np.cumsum(self.length, out=starts[1:])
        return starts

    def split(self) -> tuple[Rows, Rows, Rows]:
        """Return the rows without literals, those with one, and those with more.

        Examples
        --------
        >>> rows = Rows(*(np.array(x) for x in ([4, 5, 6], [1, 2, 3], [0, 1, 2], [1, 1, 1])))
        >>> [part.clause.tolist() for part in rows.split()]
        [[4], [5], [6]]
        """
        width = single(self.length)
        if width is None:
            empty, unit = self.length == 0, self.length == 1
            return self.take(empty), self.take(unit), self.take(~(empty | unit))
        none = by_clause([])
        return self if width == 0 else none, self if width == 1 else none, self if width > 1 else none


class AtomIndex:
    """Maps ids of query atoms to local numbers.

    Parameters
    ----------
    atoms : int64 array
        Ids, ascending.

    Examples
    --------
    >>> index = AtomIndex(np.array([5, 7, 8]))
    >>> index.local(np.array([8, 5])).tolist(), index.codes(np.array([8, 5]), negative=True).tolist()
    ([2, 0], [5, 1])
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
    >>> rows.literals.tolist(), rows.multiplicity.tolist()
    ([1, 3], [2, 1])
    """
    plain = plan.signs and not (plan.has_absent or plan.may_repeat or plan.has_multiplicity)
    packing = Packing.of(len(plan.signs), index.size, clauses if plan.has_clause else 1) if plain else None
    if packing is not None:
        return _read_packed(batches, plan, index, clause, packing)
    parts = [read_batch(batch, plan, index, clause) for batch in batches if batch.num_rows]
    if not parts:
        return by_clause([])
    rows = Rows(*(_joined(arrays) for arrays in zip(*map(_arrays, parts), strict=True)))
    return in_order(rows, merge=plan.may_repeat)


def _read_packed(
    batches: Iterable[pa.RecordBatch], plan: GroundingQuery, index: AtomIndex, clause: int, packing: Packing
) -> Rows:
    """Read rows of one length that cannot be equal."""
    keys = [np.zeros(0, np.int64)]
    for batch in batches:
        for piece in (batch.slice(start, PIECE) for start in range(0, batch.num_rows, PIECE)):
            codes = [index.codes(_integers(piece, f"l{i}"), sign < 0) for i, sign in enumerate(plan.signs)]
            keys.append(packing.pack(_integers(piece, "clause") if plan.has_clause else 0, codes))
    key = packing.sort(np.concatenate(keys))
    size = len(key)
    found = packing.clauses(key) if plan.has_clause else repeated(clause, size)
    return Rows(found, packing.literals(key).ravel(), repeated(packing.width, size), repeated(1, size))


def _arrays(rows: Rows) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    return rows.clause, rows.literals, rows.length, rows.multiplicity


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    """Concatenate arrays, as a view of one number if they hold no other."""
    values = {single(x) for x in arrays if len(x)}
    value = values.pop() if len(values) == 1 else None
    return np.concatenate(arrays) if value is None else repeated(value, sum(map(len, arrays)))


def _integers(batch: pa.RecordBatch, name: str) -> IntArray:
    """Return an integer column as int64 without a copy where there are no NULLs."""
    values = batch.column(name).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.int64)


def read_batch(batch: pa.RecordBatch, plan: GroundingQuery, index: AtomIndex, clause: int) -> Rows:
    """Return the ground clauses of a batch in its order, tautologies dropped; parameters as for `read_rows`.

    Examples
    --------
    >>> from sqlrl.plan.grounding import ground
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> batch = pa.record_batch({"l0": pa.array([7, 5]), "multiplicity": pa.array([1, 2])})
    >>> read_batch(batch, ground(friends_smoke(), people()), AtomIndex(np.array([5, 6, 7])), 0).literals.tolist()
    [3, 1]
    """
    size = batch.num_rows
    clauses = _integers(batch, "clause") if plan.has_clause else repeated(clause, size)
    multiplicity = _integers(batch, "multiplicity") if plan.has_multiplicity else repeated(1, size)
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
        return Rows(clauses, to_literals(codes.ravel()), repeated(width, size), multiplicity)
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
    rows = Rows(clauses, to_literals(codes), length, multiplicity)
    if not opposed.any():
        return rows
    true = np.zeros(len(clauses), bool)
    true[owner[1:][opposed]] = True
    return rows.take(~true)


def in_order(rows: Rows, *, merge: bool) -> Rows:
    """Put rows in order of (clause, length, literals); add up the multiplicities of identical ones if asked.

    Examples
    --------
    >>> rows = Rows(*(np.array(x) for x in ([0, 0], [-2, -2], [1, 1], [1, 3])))
    >>> in_order(rows, merge=True).multiplicity.tolist()
    [4]
    """
    width = single(rows.length)
    if width is not None:
        return _sorted_piece(rows.clause, rows.literals.reshape(len(rows.length), width), rows.multiplicity, merge)
    pieces = []
    starts = np.cumsum(rows.length) - rows.length
    for length in np.unique(rows.length):
        here = np.flatnonzero(rows.length == length)
        matrix = rows.literals[starts[here][:, None] + np.arange(length)]
        pieces.append(_sorted_piece(_picked(rows.clause, here), matrix, _picked(rows.multiplicity, here), merge))
    return by_clause(pieces)


def _picked(values: IntArray, places: IntArray) -> IntArray:
    """Return the values at some places, as a view of one number if they hold no other."""
    value = single(values)
    return values[places] if value is None else repeated(value, len(places))


def by_clause(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows and put them in order of their clauses, keeping the order inside a clause.

    Examples
    --------
    >>> one, other = (Rows(*(np.array(x) for x in ([c], [-2], [1], [1]))) for c in (1, 0))
    >>> by_clause([one, other]).clause.tolist()
    [0, 1]
    """
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Rows(*(np.zeros(0, np.int64) for _ in range(4)))
    clause, literals, length, multiplicity = (_joined(arrays) for arrays in zip(*map(_arrays, parts), strict=True))
    if single(clause) is not None or (clause[1:] >= clause[:-1]).all():
        return Rows(clause, literals, length, multiplicity)
    order = np.argsort(clause, kind="stable")
    starts = np.cumsum(length) - length
    length = length[order]
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return Rows(clause[order], literals[np.repeat(starts[order], length) + within], length, multiplicity[order])


def _sorted_piece(clause: IntArray, matrix: IntArray, multiplicity: IntArray, merge: bool) -> Rows:
    """Sort (and merge) rows of one length."""
    order = _order(clause, matrix)
    if order is not None:
        clause, matrix, multiplicity = _picked(clause, order), matrix[order], _picked(multiplicity, order)
    if merge and len(clause) > 1:
        new = (clause[1:] != clause[:-1]) | (matrix[1:] != matrix[:-1]).any(axis=1)
        first = np.flatnonzero(np.concatenate([[True], new]))
        clause, matrix, multiplicity = _picked(clause, first), matrix[first], np.add.reduceat(multiplicity, first)
    return Rows(clause, matrix.ravel(), repeated(matrix.shape[1], len(clause)), multiplicity)


def _order(clause: IntArray, matrix: IntArray) -> npt.NDArray[np.intp] | None:
    """Return the order by clause, then literals; None if they stand in it. Packs the key into one integer where it fits."""
    if not len(clause):
        return None
    columns = [clause, *map(to_codes, matrix.T)]
    bits = [int(c.max()).bit_length() for c in columns]
    if sum(bits) > 62:
        return np.lexsort(tuple(reversed(columns)))
    key = columns[0].copy()
    for values, width in zip(columns[1:], bits[1:], strict=True):
        key <<= width
        key |= values
    return None if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")
