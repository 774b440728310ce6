"""Arrow batches of a grounding query to ground clauses as arrays, and the budget of a network.

Most shapes give rows of a fixed number of literals, none merged. A row then fits into 63 bits for any network of practical
size (two literals over 100 million atoms under 100 clauses, say), so that sorting rows is sorting integers. A literal is packed
as its code, 2 k for local atom k and 2 k + 1 for its negation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.distinct import ascending_order
from sqlrl.errors import CountOverflowError, SqlrlError
from sqlrl.ground.counts import overflow_named, rule_place
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.plan.grounding import GroundingQuery

ROWS_PER_BATCH = 262_144
"""Rows of the Arrow batches in which ground clauses and bindings leave the database."""


# ---- budget: how many atoms and literals a network may hold --------------------------------------------


MOST_ENTRIES = 2**20
"""Atoms, literals and pairs of blocks that a network of one window of examples may have: with what solvers make of it, an eighth of a GB.
Predictions of ten thousand citations take a sixth less time with windows of four times that, and as much memory more as they hold."""

FEWER = 4
"""A window beyond the budget is tried again with so many times fewer examples; what was grounded of it is lost, at most `MOST_ENTRIES`."""


class BudgetError(SqlrlError):
    """A network would hold more than the budget allows: whoever divides examples into windows takes fewer of them."""


class Budget:
    """Counts the atoms and literals of a network while it is grounded; more than `entries` are an error."""

    def __init__(self, entries: int | None, beyond: Callable[[], SqlrlError] | None = None) -> None:
        # Without `entries` they are only counted; the error is what `beyond` makes, else a BudgetError.
        self.entries, self.used, self._beyond = entries, 0, beyond

    def take(self, entries: int) -> None:
        """Count atoms or literals; too many are an error."""
        self.used += entries
        if self.entries is not None and self.used > self.entries:
            if self._beyond is not None:
                raise self._beyond()
            raise BudgetError(
                f"a network of {self.used:,} atoms and literals so far does not fit into a budget of {self.entries:,}"
            )

    def taken(self, batches: Iterator[pa.RecordBatch], plan: GroundingQuery) -> Iterator[pa.RecordBatch]:
        """Pass the batches of a grounding query on, and count their literals."""
        for batch in batches:
            witnesses = sum(len(batch.column(f"e{i}").flatten()) for i in range(len(plan.list_signs)))
            self.take(batch.num_rows * len(plan.signs) + witnesses)
            yield batch


# ---- multiplicities that may not fit into 64 bits ----------------------------------------------------


INT64_MAX = int(np.iinfo(np.int64).max)


def narrowed(
    batches: Iterator[pa.RecordBatch],
    plan: GroundingQuery,
    program: Program,
    use: ShapeUse,
    evidence: npt.NDArray[np.object_],
) -> Iterator[pa.RecordBatch]:
    """Pass batches on with multiplicities as int64; `evidence` (m,) receives violated groundings too many for 64 bits."""
    with overflow_named(program, use):
        for batch in batches:
            place = batch.schema.get_field_index("multiplicity")
            wide = place >= 0 and pa.types.is_decimal(batch.schema.field(place).type)
            yield _narrow(batch, plan, program, use, evidence) if wide else batch


def _narrow(
    batch: pa.RecordBatch,
    plan: GroundingQuery,
    program: Program,
    use: ShapeUse,
    evidence: npt.NDArray[np.object_],
) -> pa.RecordBatch:
    counts = batch.column("multiplicity")
    large = pc.greater(counts, pa.scalar(Decimal(INT64_MAX), counts.type)).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(large).tolist():
        clauses = [batch.column("clause")[row].as_py()] if plan.has_clause else use.clauses
        n = int(counts[row].as_py())
        if any(batch.column(f"l{i}")[row].as_py() for i in range(len(plan.signs))) or any(
            batch.column(f"e{i}")[row].as_py() for i in range(len(plan.list_signs))
        ):
            place = rule_place(program, program.feature_of[clauses[0]])
            raise CountOverflowError(f"{place} has {n:,} open groundings, which do not fit into 64 bits")
        for clause in clauses:
            evidence[clause] += n
    rest = batch.filter(pa.array(~large)) if large.any() else batch
    place = rest.schema.get_field_index("multiplicity")
    return rest.set_column(place, "multiplicity", rest.column("multiplicity").cast(pa.int64()))


# ---- rows of one length, each packed into one integer ------------------------------------------------


MANY = 50_000
"""From this many rows on, loops are compiled: loading numba takes half a second, which small programs should not pay."""

PIECE = 1 << 16
"""Rows packed at a time: what is between stays in the processor's caches."""


@dataclass(frozen=True)
class Packing:
    """How many bits the clause and each literal of a row take."""

    width: int  # literals in a row
    code_bits: int
    clause_bits: int

    @classmethod
    def of(cls, width: int, atoms: int, clauses: int) -> Packing | None:
        """Return the packing for rows over so many atoms and clauses; None if a row does not fit into 63 bits."""
        packing = cls(width, max(2 * atoms - 1, 1).bit_length(), max(clauses - 1, 0).bit_length())
        return packing if packing.bits <= 63 else None

    @property
    def bits(self) -> int:
        """How many bits a row takes."""
        return self.width * self.code_bits + self.clause_bits

    def pack(self, clause: IntArray | int, codes: Sequence[IntArray]) -> IntArray:
        """Return one key a row, shape (r,), its literals in ascending order; `codes` has an array for each literal."""
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
        """Return keys in ascending order; the array given may be overwritten."""
        if len(keys) < MANY:
            keys.sort()
            return keys
        from sqlrl.ground.radix import radix_sort

        return radix_sort(keys, self.bits)

    def clauses(self, keys: IntArray) -> IntArray:
        """Return the clauses of keys, shape (r,)."""
        return keys >> (self.width * self.code_bits)

    def literals(self, keys: IntArray) -> IntArray:
        """Return the literals of keys, shape (r, width)."""
        if len(keys) >= MANY:
            from sqlrl.ground.radix import unpack

            unpacked: IntArray = unpack(keys, self.width, self.code_bits)
            return unpacked
        shifts = np.arange(self.width)[::-1] * self.code_bits
        return to_literals(keys[:, None] >> shifts & (1 << self.code_bits) - 1)


def to_literals(codes: IntArray) -> IntArray:
    """Return the literals, +(k + 1) or -(k + 1), of codes 2 k and 2 k + 1."""
    # In two's complement -x is ~x + 1, and ~x is x ^ -1: half the time of `where`.
    negative = -(codes & 1)
    literals = codes >> 1
    literals += 1
    literals ^= negative
    literals -= negative
    return literals


def to_codes(literals: IntArray) -> IntArray:
    """Return the codes of literals."""
    codes = np.abs(literals) - 1
    codes <<= 1
    codes |= literals < 0
    return codes


# ---- rows --------------------------------------------------------------------------------------------


def repeated(value: int, size: int) -> IntArray:
    """Return an array that holds one number again and again, as a read-only view of that number."""
    return np.broadcast_to(np.int64(value), size)


Values = TypeVar("Values", bound=np.generic)


def compact(values: npt.NDArray[Values]) -> npt.NDArray[Values]:
    """Return an array as a read-only view of one number if it holds no other: of millions of atoms it then takes no memory."""
    same = len(values) > 0 and (values == values[0]).all()
    return np.broadcast_to(values[0], len(values)) if same else values


def single(values: IntArray) -> int | None:
    """Return the number that an array from `repeated` holds; None for other arrays and for none at all."""
    return int(values[0]) if len(values) and values.strides == (0,) else None


@dataclass(frozen=True, eq=False)
class GroundRows:
    """Ground clauses of one shape, each with distinct literals in ascending order of their codes (see `Packing`)."""

    # Columns of one number may come from `repeated`: they take no memory, and no time to look through.
    clause: IntArray
    literals: IntArray  # of all rows, one after the other: +(k + 1) for local atom k, -(k + 1) for its negation
    length: IntArray  # literals of each row, shape (r,) as `clause`; 0 for one that the evidence violates
    multiplicity: IntArray

    def take(self, mask: npt.NDArray[np.bool_]) -> GroundRows:
        """Return the rows of a mask; these very rows if it holds for all."""
        if mask.all():
            return self
        return GroundRows(
            self.clause[mask], self.literals[np.repeat(mask, self.length)], self.length[mask], self.multiplicity[mask]
        )

    def starts(self) -> IntArray:
        """Return where the literals of each row begin, and at last their number: shape (r + 1,)."""
        starts = np.zeros(len(self.length) + 1, np.int64)
        np.cumsum(self.length, out=starts[1:])
        return starts

    def split(self) -> tuple[GroundRows, GroundRows, GroundRows]:
        """Return the rows without literals, those with one, and those with more."""
        width = single(self.length)
        if width is None:
            empty, unit = self.length == 0, self.length == 1
            return self.take(empty), self.take(unit), self.take(~(empty | unit))
        none = by_clause([])
        return self if width == 0 else none, self if width == 1 else none, self if width > 1 else none


class AtomIndex:
    """Maps ids of query atoms, which are ascending, to local numbers."""

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
    batches: Iterable[pa.RecordBatch],
    plan: GroundingQuery,
    index: AtomIndex,
    clause: int,  # that of the rows of a shape without parameters
    clauses: int,  # how many the program has
) -> GroundRows:
    """Collect batches as rows in order of (clause, length, literals), identical ones merged, tautologies dropped."""
    plain = plan.signs and not (plan.has_absent or plan.may_repeat or plan.has_multiplicity)
    packing = Packing.of(len(plan.signs), index.size, clauses if plan.has_clause else 1) if plain else None
    if packing is not None:
        return _read_packed(batches, plan, index, clause, packing)
    parts = [read_batch(batch, plan, index, clause) for batch in batches if batch.num_rows]
    if not parts:
        return by_clause([])
    rows = GroundRows(*(joined(arrays) for arrays in zip(*map(_arrays, parts), strict=True)))
    return in_order(rows, merge=plan.may_repeat)


def _read_packed(
    batches: Iterable[pa.RecordBatch], plan: GroundingQuery, index: AtomIndex, clause: int, packing: Packing
) -> GroundRows:
    """Read rows of one length that cannot be equal."""
    keys = [np.zeros(0, np.int64)]
    for batch in batches:
        for piece in (batch.slice(start, PIECE) for start in range(0, batch.num_rows, PIECE)):
            codes = [index.codes(integers(piece, f"l{i}"), sign < 0) for i, sign in enumerate(plan.signs)]
            keys.append(packing.pack(integers(piece, "clause") if plan.has_clause else 0, codes))
    key = np.concatenate(keys)
    keys.clear()
    # The rows of one scan often come in order, and a sort takes as much memory again.
    if (key[1:] < key[:-1]).any():
        key = packing.sort(key)
    size = len(key)
    found = packing.clauses(key) if plan.has_clause else repeated(clause, size)
    return GroundRows(found, packing.literals(key).ravel(), repeated(packing.width, size), repeated(1, size))


def _arrays(rows: GroundRows) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    return rows.clause, rows.literals, rows.length, rows.multiplicity


def joined(arrays: Sequence[npt.NDArray[Values]]) -> npt.NDArray[Values]:
    """Concatenate arrays, as a view of one number if they are views of no other."""
    some = [x for x in arrays if len(x)] or [arrays[0]]
    if any(x.strides != (0,) or x[0] != some[0][0] for x in some if len(x)):
        return some[0] if len(some) == 1 else np.concatenate(some)
    return np.broadcast_to(some[0][0], sum(map(len, some))) if len(some[0]) else some[0]


def integers(batch: pa.RecordBatch, name: str) -> IntArray:
    """Return an integer column as int64 without a copy where there are no NULLs."""
    values = batch.column(name).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.int64)


def read_batch(batch: pa.RecordBatch, plan: GroundingQuery, index: AtomIndex, clause: int) -> GroundRows:
    """Return the ground clauses of a batch in its order, tautologies dropped; parameters as for `read_rows`."""
    size = batch.num_rows
    clauses = integers(batch, "clause") if plan.has_clause else repeated(clause, size)
    multiplicity = integers(batch, "multiplicity") if plan.has_multiplicity else repeated(1, size)
    width = len(plan.signs)
    if not plan.has_absent and not plan.may_repeat:
        codes = np.empty((size, width), np.int64)
        for i, sign in enumerate(plan.signs):
            codes[:, i] = index.codes(integers(batch, f"l{i}"), sign < 0)
        if width == 2:
            low, high = np.minimum(codes[:, 0], codes[:, 1]), np.maximum(codes[:, 0], codes[:, 1])
            codes[:, 0], codes[:, 1] = low, high
        elif width > 2:
            codes.sort(axis=1)
        return GroundRows(clauses, to_literals(codes.ravel()), repeated(width, size), multiplicity)
    owner, codes = _ragged(batch, plan, index)
    return distinct_literals(clauses, multiplicity, owner, codes)


def _ragged(batch: pa.RecordBatch, plan: GroundingQuery, index: AtomIndex) -> tuple[IntArray, IntArray]:
    """Return the literals of a batch whose rows differ in length: the row of each, and its code."""
    owners, codes = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for i, sign in enumerate(plan.signs):
        ids = integers(batch, f"l{i}")
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


def distinct_literals(clauses: IntArray, multiplicity: IntArray, owner: IntArray, codes: IntArray) -> GroundRows:
    """Sort the literals of each row, drop repeated ones, and drop rows that hold an atom and its negation."""
    order = np.lexsort((codes, owner))
    owner, codes = owner[order], codes[order]
    same = (owner[1:] == owner[:-1]) & (codes[1:] == codes[:-1])
    keep = np.concatenate([[True], ~same]) if len(codes) else np.zeros(0, bool)
    owner, codes = owner[keep], codes[keep]
    opposed = (owner[1:] == owner[:-1]) & (codes[1:] >> 1 == codes[:-1] >> 1)
    length = np.bincount(owner, minlength=len(clauses)).astype(np.int64)
    rows = GroundRows(clauses, to_literals(codes), length, multiplicity)
    if not opposed.any():
        return rows
    true = np.zeros(len(clauses), bool)
    true[owner[1:][opposed]] = True
    return rows.take(~true)


def with_clause(rows: GroundRows, clause: int) -> GroundRows:
    """Return the rows of a shape without parameters as those of one of its clauses."""
    return GroundRows(repeated(clause, len(rows.clause)), rows.literals, rows.length, rows.multiplicity)


def in_order(rows: GroundRows, *, merge: bool) -> GroundRows:
    """Put rows in order of (clause, length, literals); add up the multiplicities of identical ones if asked."""
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


def by_clause(parts: Sequence[GroundRows]) -> GroundRows:
    """Concatenate rows and put them in order of their clauses, keeping the order inside a clause."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return GroundRows(*(np.zeros(0, np.int64) for _ in range(4)))
    clause, literals, length, multiplicity = (joined(arrays) for arrays in zip(*map(_arrays, parts), strict=True))
    if single(clause) is not None or (clause[1:] >= clause[:-1]).all():
        return GroundRows(clause, literals, length, multiplicity)
    order = np.argsort(clause, kind="stable")
    starts = np.cumsum(length) - length
    length = length[order]
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return GroundRows(clause[order], literals[np.repeat(starts[order], length) + within], length, multiplicity[order])


def _sorted_piece(clause: IntArray, matrix: IntArray, multiplicity: IntArray, merge: bool) -> GroundRows:
    """Sort (and merge) rows of one length."""
    order = ascending_order([clause, *map(to_codes, matrix.T)])
    if order is not None:
        clause, matrix, multiplicity = _picked(clause, order), matrix[order], _picked(multiplicity, order)
    if merge and len(clause) > 1:
        new = (clause[1:] != clause[:-1]) | (matrix[1:] != matrix[:-1]).any(axis=1)
        first = np.flatnonzero(np.concatenate([[True], new]))
        clause, matrix, multiplicity = _picked(clause, first), matrix[first], np.add.reduceat(multiplicity, first)
    return GroundRows(clause, matrix.ravel(), repeated(matrix.shape[1], len(clause)), multiplicity)
