"""The atoms of a predicate, sorted by in how many groundings of some clauses they decide, without a row for each of them.

Most atoms of a relation are false, and nearly all of these are alike: a domain of 10,000 people has 100 million atoms of `Friends(x, y)`, of which
each clause sees nothing but "x smokes, y does not". What a term of a clause says of an atom is a product of counts (`sqlrl.plan.blankets`),
most of which look at one argument. So each argument has a *profile*, what all counts of it alone say; the atoms are the *combinations* of profiles
of their arguments, as many as the product of how often each profile occurs, less those that are *listed*: the true ones, and the pairs of which some count
that looks at several arguments at once is not 0. Combinations and listed atoms that come to the same are one row.

A partition can be refined by further clauses, each of its rows into one or several: a candidate clause costs no more than what it says itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from sqlrl.distinct import distinct
from sqlrl.errors import CountOverflowError, GroundingLimitError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.shapes import Slot
from sqlrl.plan.blankets import FlipTerm
from sqlrl.wording import counted

MOST_COMBINATIONS = 50_000_000
"""The most combinations of profiles of one predicate."""

DENSE = 64
"""Up to so many clauses counts are a dense matrix."""

Matrix: TypeAlias = Any
"""An int64 array, or a sparse one of scipy, which has no types."""


# ---- domains ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AtomDomain:
    """The atoms of a predicate as rows of integers: example (0 where examples do not matter), then ids of arguments."""

    predicate: str
    examples: IntArray  # shape (e,), ids, ascending; [0] if the predicate has none
    example_places: tuple[int, ...]  # the arguments that are the example
    sizes: tuple[int, ...]  # for each argument more than the greatest id
    # For each argument the ids, shape (c,), or, of a local type, pairs (example, id), shape (c, 2); ascending.
    cells: tuple[IntArray, ...]
    true: IntArray  # shape (t, 1 + k), ascending
    listed: IntArray | None = None  # shape (s, 1 + k), all atoms, if it has a scope; None for all that arguments allow

    @property
    def radices(self) -> tuple[int, ...]:
        """For each column of an atom more than the greatest value."""
        return (int(self.examples.max(initial=0)) + 1, *self.sizes)

    @cached_property
    def count(self) -> int:
        """The number of atoms."""
        if self.listed is not None:
            return len(self.listed)
        return _total(self)

    def column(self, place: int) -> int:
        """Return the column of an atom that an argument is: that of the example for the example itself."""
        return 0 if place in self.example_places else place + 1

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of arguments that are not the example."""
        return tuple(i + 1 for i in range(len(self.sizes)) if i not in self.example_places)


def _total(domain: AtomDomain) -> int:
    """Count atoms: for each example the product of the sizes of its domains."""
    per_example = np.ones(len(domain.examples), dtype=object)
    for column in domain.columns:
        cells = domain.cells[column - 1]
        if cells.ndim == 1:
            per_example = per_example * len(cells)
        else:
            at = np.searchsorted(domain.examples, cells[:, 0])
            per_example = per_example * np.bincount(at, minlength=len(domain.examples)).astype(object)
    return int(sum(per_example.tolist()))


# ---- counts of parts, as a term has them -----------------------------------------------------------------------


class PartCounts(NamedTuple):
    """The counts of a part that are not 0: its keys, shape (r, width), and n, shape (r,)."""

    keys: IntArray
    n: IntArray


@dataclass(frozen=True, eq=False)
class ClauseTerms:
    """The terms of the clauses of one shape, for the atoms of a predicate."""

    clauses: IntArray  # shape (r,), the column of each clause among those that a partition counts; two may be one
    parameters: IntArray  # shape (r, p), ids of its constants
    terms: Sequence[tuple[FlipTerm, Sequence[PartCounts]]]  # each with the counts of its parts
    # Keeps counts of clauses without parameters, as a partition needs them, for further clauses and the same atoms; the
    # counts of parts, which it knows by their ids, live as long as it does.
    known_counts: Counts | None = None


@dataclass(frozen=True, eq=False)
class Count:
    """Counts that depend on some columns of an atom."""

    columns: tuple[int, ...]  # ascending
    codes: IntArray  # ascending; each has a row of `values`
    values: Matrix  # with a last row of zeros for all other codes
    rows: IntArray | None  # the column of `values` of each clause; None if there is one for all
    keys: IntArray  # what the codes encode, shape (codes, columns)
    peak: int  # the greatest absolute value

    @property
    def joint(self) -> bool:
        """Whether it depends on several arguments, the example not among them."""
        return len([c for c in self.columns if c]) > 1

    @cached_property
    def levels(self) -> IntArray:
        """A number for each row of `values`, equal for equal rows; 0 for the last row, which is all zeros."""
        return _levels(self.values)


Counts: TypeAlias = dict[object, Count]
"""Counts of parts by the columns of an atom that they depend on."""


def encode(values: IntArray, radices: Sequence[int]) -> IntArray:
    """Return one integer for each row."""
    assert prod(radices) < 2**63, "the partition of a domain that is larger is refused"
    code = np.zeros(len(values), dtype=np.int64)
    for j, radix in enumerate(radices):
        code = code * radix + values[:, j]
    return code


def places(codes: IntArray, wanted: IntArray) -> IntArray:
    """Return where each wanted code stands among ascending ones; their number for those that are not there."""
    if not len(codes):
        return np.zeros(len(wanted), dtype=np.int64)
    at = np.searchsorted(codes, wanted)
    at[at == len(codes)] = 0
    return np.where(codes[at] == wanted, at, len(codes))


def _with_zeros(values: Matrix) -> Matrix:
    if isinstance(values, np.ndarray):
        return np.vstack([values, np.zeros((1, values.shape[1]), dtype=np.int64)])
    return sparse.csr_array(sparse.vstack([values, sparse.csr_array((1, values.shape[1]), dtype=np.int64)]))


def _levels(values: Matrix) -> IntArray:
    """Return a number for each row, equal for equal rows; 0 for the last row, which is all zeros."""
    if isinstance(values, np.ndarray):
        level = distinct(values.T).inverse
    else:
        known: dict[bytes, int] = {}
        start = values.indptr
        level = np.empty(values.shape[0], dtype=np.int64)
        for i, (a, b) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
            row = values.indices[a:b].tobytes() + values.data[a:b].tobytes()
            level[i] = known.setdefault(row, len(known))
    swap = level[-1]
    found: IntArray = np.where(level == swap, 0, np.where(level == 0, swap, level))
    return found


class _Summand(NamedTuple):
    factor: int
    counts: tuple[Count, ...]


class TermCounts(NamedTuple):
    """A product: of a number, of counts that restrict the atoms, and of sums. `mask` says for which clauses it is not 0."""

    factor: int
    restricting: tuple[Count, ...]
    sums: tuple[tuple[_Summand, ...], ...]
    mask: BoolArray | None
    true: tuple[int, int]
    false: tuple[int, int]

    @property
    def counts(self) -> Iterator[Count]:
        """All counts."""
        yield from self.restricting
        for each in self.sums:
            for summand in each:
                yield from summand.counts


def term_counts(domain: AtomDomain, given: ClauseTerms) -> list[TermCounts]:
    """Return the terms of some clauses that are not 0 for all of them, with their counts by the columns of an atom; equal ones are one object."""
    known: Counts = {} if given.known_counts is None else given.known_counts
    found = [_counts_of(domain, given, term, parts, known) for term, parts in given.terms]
    return [term for term in found if term is not None]


def _counts_of(
    domain: AtomDomain,
    given: ClauseTerms,
    term: FlipTerm,
    parts: Sequence[PartCounts],
    known: Counts,
) -> TermCounts | None:
    found: list[Count] = []
    places = term.places[: len(domain.sizes)]
    first: dict[Slot, int] = {}
    for i, slot in enumerate(places):
        column = domain.column(i)
        if slot.parameter:
            key: object = (column, slot)
            if key not in known:
                known[key] = _constant(domain, given, column, slot.index)
            found.append(known[key])
        elif slot not in first:
            first[slot] = column
        elif first[slot] != column:
            key = (first[slot], column)
            if key not in known:
                known[key] = _diagonal(domain, first[slot], column)
            found.append(known[key])
    if len(term.places) > len(domain.sizes):
        # The hidden example.
        first[term.places[-1]] = 0
    mask = None
    for a, b in term.equal:
        same = given.parameters[:, a] == given.parameters[:, b]
        mask = same if mask is None else mask & same
    if mask is not None and not mask.any():
        return None
    left = iter(parts)
    sums = []
    for each in term.sums:
        summands = []
        for summand in each:
            counts: list[Count] | None = []
            for use in summand.conjunctions:
                part = next(left)
                if not len(part.n):
                    counts = None
                if counts is None:
                    continue
                slots = tuple(first.get(slot, slot) for slot in use.slots)
                # Parts that differ in the order of their keys may share their numbers.
                key = (id(part.keys), slots)
                if key not in known:
                    known[key] = _part_count(domain, given, slots, part)
                counts.append(known[key])
            if counts is not None:
                counts += [_equal(domain, given, first.get(a, a), first.get(b, b), known) for a, b in summand.equal]
                summands.append(_Summand(summand.factor, tuple(counts)))
        if not summands:
            return None
        sums.append(tuple(summands))
    return TermCounts(term.factor, tuple(found), tuple(sums), mask, term.true, term.false)


def _equal(
    domain: AtomDomain, given: ClauseTerms, left: int | Slot, right: int | Slot, known: dict[object, Count]
) -> Count:
    """Return 1 where two arguments, or constants of the clause, are equal; arguments are columns of the atom."""
    key = ("=", left, right)
    if key not in known:
        if isinstance(left, int) and isinstance(right, int):
            known[key] = _diagonal(domain, min(left, right), max(left, right))
        elif isinstance(left, Slot) and isinstance(right, Slot):
            same = given.parameters[:, left.index] == given.parameters[:, right.index]
            values = np.vstack([same, np.zeros_like(same)]).astype(np.int64)
            none = np.zeros((1, 0), dtype=np.int64)
            known[key] = Count((), np.zeros(1, np.int64), values, np.arange(len(same)), none, 1)
        else:
            column, slot = (left, right) if isinstance(left, int) else (right, left)
            assert isinstance(column, int)
            assert isinstance(slot, Slot)
            known[key] = _constant(domain, given, column, slot.index)
    return known[key]


def _columned(
    domain: AtomDomain,
    columns: Sequence[int],
    keys: IntArray,
    n: IntArray,
    *,
    rows: IntArray | None,
    group: IntArray,
    width: int,
) -> Count:
    """Return a count with its columns ascending; `group` is the column of `values` of each key."""
    order = sorted(range(len(columns)), key=columns.__getitem__)
    columns = tuple(columns[i] for i in order)
    keys = keys[:, order]
    code = encode(keys, [domain.radices[c] for c in columns])
    codes, first, at = np.unique(code, return_index=True, return_inverse=True)
    at = at.reshape(-1)
    if width <= DENSE:
        values: Matrix = np.zeros((len(codes), width), dtype=np.int64)
        np.add.at(values, (at, group), n)
    else:
        values = sparse.csr_array(sparse.coo_array((n, (at, group)), shape=(len(codes), width)))
    return Count(
        columns, codes, _with_zeros(values), rows, keys[first], int(abs(values).max()) if values.shape[0] else 0
    )


def _constant(domain: AtomDomain, given: ClauseTerms, column: int, parameter: int) -> Count:
    """Return 1 where an argument is the constant of the clause."""
    ids, rows = np.unique(given.parameters[:, parameter], return_inverse=True)
    here = np.flatnonzero((ids >= 0) & (ids < domain.radices[column]))
    keys = ids[here][:, None]
    ones = np.ones(len(here), dtype=np.int64)
    return _columned(domain, (column,), keys, ones, rows=rows.reshape(-1), group=here, width=len(ids))


def _diagonal(domain: AtomDomain, first: int, second: int) -> Count:
    """Return 1 where two arguments are equal."""
    if 0 in (first, second):
        ids = domain.examples
    else:
        one, two = (
            np.unique(domain.cells[c - 1] if domain.cells[c - 1].ndim == 1 else domain.cells[c - 1][:, 1])
            for c in (first, second)
        )
        ids = np.intersect1d(one, two)
    none = np.zeros(len(ids), dtype=np.int64)
    return _columned(domain, (first, second), np.column_stack([ids, ids]), none + 1, rows=None, group=none, width=1)


def _part_count(domain: AtomDomain, given: ClauseTerms, slots: Sequence[int | Slot], counts: PartCounts) -> Count:
    """Return the counts of a part: `slots` are the columns of the atom that its keys are, or the parameters."""
    at = [i for i, slot in enumerate(slots) if isinstance(slot, int)]
    constants = [i for i, slot in enumerate(slots) if isinstance(slot, Slot)]
    columns = [slot for slot in slots if isinstance(slot, int)]
    numbers = [slot.index for slot in slots if isinstance(slot, Slot)]
    keys, n = counts
    inside = np.ones(len(n), dtype=bool)
    for i, column in zip(at, columns, strict=True):
        inside &= (keys[:, i] >= 0) & (keys[:, i] < domain.radices[column])
    keys, n = keys[inside], n[inside]
    if not constants:
        none = np.zeros(len(n), dtype=np.int64)
        return _columned(domain, columns, keys[:, at], n, rows=None, group=none, width=1)
    own = given.parameters[:, numbers]
    number = distinct(np.concatenate([own, keys[:, constants]]).T).inverse
    rows, group = number[: len(own)], number[len(own) :]
    return _columned(domain, columns, keys[:, at], n, rows=rows, group=group, width=int(number.max(initial=-1)) + 1)


# ---- partitions -------------------------------------------------------------------------------------------------


class _Profiles(NamedTuple):
    # The profile of each cell of a column. `example` and `value` are the cells; `example` is None where cells do not depend on it.
    example: IntArray | None
    value: IntArray
    profile: IntArray
    size: int

    def first(self) -> IntArray:
        """Return a cell of each profile."""
        found = np.empty(self.size, dtype=np.int64)
        found[self.profile[::-1]] = np.arange(len(self.profile) - 1, -1, -1)
        return found


@dataclass(frozen=True, eq=False)
class Partition:
    """The atoms of a predicate by the counts of some clauses; start with `Partition.of(domain)`, then `refined`."""

    domain: AtomDomain
    truth: BoolArray  # shape (r,), of the atoms of each row
    count: IntArray  # shape (r,), how many atoms it has
    parent: IntArray  # shape (r,), the row of the partition that was refined
    # Shape (r, m): in how many groundings of each clause such an atom decides; see `sqlrl.plan.blankets`.
    negative: Matrix
    positive: Matrix
    profiles: tuple[_Profiles, ...] = field(repr=False)
    atoms: IntArray = field(repr=False)
    codes: IntArray = field(repr=False)
    row: IntArray = field(repr=False)
    combinations: IntArray = field(repr=False)

    @staticmethod
    def of(domain: AtomDomain) -> Partition:
        """Return the true and the false atoms."""
        if prod(domain.radices) >= 2**63:
            raise CountOverflowError(
                f"{domain.predicate} has too many arguments with too many constants each for its atoms to be numbered in 64 bits: leave out the rules "
                "that mention it, or give its arguments types with fewer constants"
            )
        none = np.zeros(0, dtype=np.int64)
        columns = [_Profiles(None, domain.examples, np.zeros(len(domain.examples), np.int64), 1)]
        for column in domain.columns:
            cells = domain.cells[column - 1]
            zeros = np.zeros(len(cells), dtype=np.int64)
            columns.append(
                _Profiles(None, cells, zeros, 1) if cells.ndim == 1 else _Profiles(cells[:, 0], cells[:, 1], zeros, 1)
            )
        atoms = domain.true if domain.listed is None else domain.listed
        codes = encode(atoms, domain.radices)
        order = np.argsort(codes, kind="stable")
        atoms, codes = atoms[order], codes[order]
        true = np.isin(codes, encode(domain.true, domain.radices))
        count = np.array([domain.count - int(true.sum()), int(true.sum())], dtype=np.int64)
        empty = np.zeros((2, 0), dtype=np.int64)
        combinations = np.full([1] * len(columns), 0 if domain.listed is None else -1, dtype=np.int64)
        return Partition(
            domain,
            np.array([False, True]),
            count,
            none,
            empty,
            empty,
            tuple(columns),
            atoms,
            codes,
            true.astype(np.int64),
            combinations,
        )

    def refined(self, clauses: Sequence[ClauseTerms], width: int) -> Partition:
        """Return the partition by what it is a partition of, and by the counts of further clauses, `width` in all."""
        terms = [term_counts(self.domain, given) for given in clauses]
        counts = list({id(count): count for own in terms for term in own for count in term.counts}.values())
        profiles, before = self._profiles(counts)
        atoms, codes, row = self._listed([count for count in counts if count.joint])
        cells = [self._cell(profiles, place, atoms) for place in range(len(profiles))]
        at = [own.profile[cell] for own, cell in zip(profiles, cells, strict=True)]
        combined, number = self._combined(profiles, at)
        # Atoms that are listed, of which those that are alike are one class; and then the combinations.
        listed = _Classes(atoms, [none := np.zeros(0, dtype=np.int64)] * len(profiles), [none] * len(profiles))
        levels = [count.levels[listed.find(self.domain, count)] for count in counts if count.joint]
        class_of = _classes([row, *at, *levels], len(atoms))
        first, size = first_places(class_of)
        chosen = np.unravel_index(combined, number.shape)
        old = self.combinations[tuple(b[p] for b, p in zip(before, chosen, strict=True))]
        parent = np.concatenate([row[first], old])
        cells = [own.first()[p] for own, p in zip(profiles, chosen, strict=True)]
        classes = _Classes(
            atoms[first],
            [own.value[cell] for own, cell in zip(profiles, cells, strict=True)],
            [None if own.example is None else own.example[cell] for own, cell in zip(profiles, cells, strict=True)],
        )
        negative, positive = _evaluated(self.domain, clauses, terms, classes, self.truth[parent], width)
        final = row_classes(parent, negative, positive)
        first_of, _ = first_places(final)
        total = np.zeros(len(first_of), dtype=np.int64)
        np.add.at(total, final, np.concatenate([size, number.ravel()[combined]]))
        table = np.full(number.shape, -1, dtype=np.int64)
        table.ravel()[combined] = final[len(first) :]
        return Partition(
            self.domain, self.truth[parent][first_of], total, parent[first_of], negative[first_of], positive[first_of],
            profiles, atoms, codes, final[: len(first)][class_of], table,
        )  # fmt: skip

    # ---- profiles ----------------------------------------------------------------------------------------------

    def _profiles(self, counts: Sequence[Count]) -> tuple[tuple[_Profiles, ...], list[IntArray]]:
        """Return the profiles of each column, and for each of them what it was before."""
        found, before = [], []
        for place, column in enumerate((0, *self.domain.columns)):
            old = self.profiles[place]
            own = [c for c in counts if not c.joint and c.columns and c.columns[-1] == column]
            if column and old.example is None and any(len(c.columns) > 1 for c in own):
                n, examples = len(old.value), self.domain.examples
                old = _Profiles(
                    np.repeat(examples, n),
                    np.tile(old.value, len(examples)),
                    np.tile(old.profile, len(examples)),
                    old.size,
                )
            if not own:
                found.append(old)
                before.append(np.arange(old.size))
                continue
            keys = [old.profile]
            for count in own:
                cells = old.value[:, None]
                if len(count.columns) > 1:
                    assert old.example is not None
                    cells = np.column_stack([old.example, old.value])
                code = encode(cells, [self.domain.radices[c] for c in count.columns])
                keys.append(count.levels[places(count.codes, code)])
            profile = _classes(keys, len(old.value))
            first, _ = first_places(profile)
            found.append(_Profiles(old.example, old.value, profile, len(first)))
            before.append(old.profile[first])
        return tuple(found), before

    def _cell(self, profiles: Sequence[_Profiles], place: int, atoms: IntArray) -> IntArray:
        """Return the cell of each atom in a column."""
        own = profiles[place]
        column = (0, *self.domain.columns)[place]
        if own.example is None:
            return np.searchsorted(own.value, atoms[:, column])
        radices = [self.domain.radices[0], self.domain.radices[column]]
        known = encode(np.column_stack([own.example, own.value]), radices)
        return np.searchsorted(known, encode(atoms[:, [0, column]], radices))

    def _listed(self, joint: Sequence[Count]) -> tuple[IntArray, IntArray, IntArray]:
        """Return the listed atoms with those for which a count of several arguments may not be 0, their codes, and the row of each."""
        if not joint or self.domain.listed is not None:
            return self.atoms, self.codes, self.row
        domain = self.domain
        extra = [support(domain, count) for count in joint]
        atoms = np.concatenate(extra)
        codes, first = np.unique(encode(atoms, domain.radices), return_index=True)
        new = ~np.isin(codes, self.codes)
        atoms, codes = atoms[first[new]], codes[new]
        cells = [own.profile[self._cell(self.profiles, c, atoms)] for c, own in enumerate(self.profiles)]
        row = self.combinations[tuple(cells)]
        atoms, codes, row = (
            np.concatenate(pair) for pair in ((self.atoms, atoms), (self.codes, codes), (self.row, row))
        )
        order = np.argsort(codes, kind="stable")
        return atoms[order], codes[order], row[order]

    def _combined(self, profiles: Sequence[_Profiles], at: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
        """Return the combinations of profiles that have atoms which are not listed, and how many of each combination there are."""
        shape = [own.size for own in profiles]
        if self.domain.listed is not None:
            return np.zeros(0, np.int64), np.zeros(shape, np.int64)
        if prod(shape) > MOST_COMBINATIONS:
            raise too_many_combinations(self.domain, prod(shape))
        number = _products(self.domain, profiles)
        np.subtract.at(number, tuple(at), 1)
        return np.flatnonzero(number), number


def _products(domain: AtomDomain, profiles: Sequence[_Profiles]) -> IntArray:
    """Return how many atoms have each combination of profiles."""
    sizes = [own.size for own in profiles]
    # One row for each example, then one axis for each column whose cells depend on it.
    letters = "bcdefghijklmnop"
    dependent, names, alone = [], "", []
    for i, own in enumerate(profiles[1:], start=1):
        if own.example is None:
            alone.append(i)
            continue
        ex = np.searchsorted(domain.examples, own.example)
        table = np.bincount(ex * own.size + own.profile, minlength=len(domain.examples) * own.size)
        dependent.append(table.reshape(len(domain.examples), own.size))
        names += letters[i - 1]
    head = np.zeros((len(domain.examples), sizes[0]), dtype=np.int64)
    head[np.arange(len(domain.examples)), profiles[0].profile] = 1
    spec = ",".join(["za", *(f"z{letter}" for letter in names)]) + f"->a{names}"
    number = np.einsum(spec, head, *dependent, optimize=True)
    order = [0, *(i for i in range(1, len(profiles)) if i not in alone)]
    for i in alone:
        number = np.multiply.outer(number, np.bincount(profiles[i].profile, minlength=sizes[i]))
        order.append(i)
    found: IntArray = np.ascontiguousarray(np.transpose(number, np.argsort(order)))
    return found


def support(domain: AtomDomain, count: Count) -> IntArray:
    """Return the atoms of which a count of several arguments may not be 0."""
    columns, rows = list(count.columns), count.keys
    if 0 not in columns:
        if len(domain.examples) * len(rows) > MOST_COMBINATIONS:
            raise _too_many(domain, len(domain.examples) * len(rows))
        rows = np.column_stack([np.repeat(domain.examples, len(rows)), np.tile(rows, (len(domain.examples), 1))])
        columns = [0, *columns]
    for column in domain.columns:
        if column not in columns:
            cells = domain.cells[column - 1]
            if cells.ndim == 1:
                if len(rows) * len(cells) > MOST_COMBINATIONS:
                    raise _too_many(domain, len(rows) * len(cells))
                rows = np.column_stack([np.repeat(rows, len(cells), axis=0), np.tile(cells, len(rows))])
            else:
                start = np.searchsorted(cells[:, 0], rows[:, 0], "left")
                size = np.searchsorted(cells[:, 0], rows[:, 0], "right") - start
                if size.sum() > MOST_COMBINATIONS:
                    raise _too_many(domain, int(size.sum()))
                at = np.repeat(start - np.cumsum(size) + size, size) + np.arange(size.sum())
                rows = np.column_stack([np.repeat(rows, size, axis=0), cells[at, 1]])
            columns.append(column)
    atoms = np.zeros((len(rows), 1 + len(domain.sizes)), dtype=np.int64)
    for j, column in enumerate(columns):
        atoms[:, column] = rows[:, j]
    for place in domain.example_places:
        atoms[:, place + 1] = atoms[:, 0]
    return atoms[_inside(domain, atoms)]


def too_many_combinations(domain: AtomDomain, number: int) -> GroundingLimitError:
    """Return the error that atoms differ in more ways than can be told apart."""
    return GroundingLimitError(
        f"the atoms of {domain.predicate} differ in {counted(number, 'combination')} of what the rules say of their arguments, more than "
        f"the limit of {MOST_COMBINATIONS:,}: give it a scope, or leave out rules that name single constants of it"
    )


def _too_many(domain: AtomDomain, number: int) -> GroundingLimitError:
    return GroundingLimitError(
        f"rules look at {counted(number, 'atom')} of {domain.predicate} one by one, more than the limit of {MOST_COMBINATIONS:,}: give it a scope"
    )


def _inside(domain: AtomDomain, atoms: IntArray) -> BoolArray:
    """Return which atoms there are."""
    inside = np.isin(atoms[:, 0], domain.examples)
    for column in domain.columns:
        cells = domain.cells[column - 1]
        if cells.ndim == 1:
            inside &= np.isin(atoms[:, column], cells)
        else:
            radices = [domain.radices[0], domain.radices[column]]
            inside &= np.isin(encode(atoms[:, [0, column]], radices), encode(cells, radices))
    return inside


# ---- what terms say of classes of atoms --------------------------------------------------------------------------


class _Classes(NamedTuple):
    # Atoms, shape (a, 1 + k), and after them combinations of cells: the value and the example of a cell of each column of the domain.
    atoms: IntArray
    values: Sequence[IntArray]
    examples: Sequence[IntArray | None]

    def find(self, domain: AtomDomain, count: Count) -> IntArray:
        """Return the row of a count's values for each class."""
        radices = [domain.radices[c] for c in count.columns]
        listed = places(count.codes, encode(self.atoms[:, list(count.columns)], radices))
        if count.joint:
            # Else the combination would be listed.
            combined = np.full(len(self.values[0]), len(count.codes), dtype=np.int64)
        elif not count.columns:
            combined = places(count.codes, np.zeros(len(self.values[0]), dtype=np.int64))
        else:
            place = (0, *domain.columns).index(count.columns[-1])
            cells = self.values[place][:, None]
            if len(count.columns) > 1:
                example = self.examples[place]
                assert example is not None
                cells = np.column_stack([example, cells])
            combined = places(count.codes, encode(cells, radices))
        return np.concatenate([listed, combined])


def _evaluated(
    domain: AtomDomain,
    clauses: Sequence[ClauseTerms],
    terms: Sequence[Sequence[TermCounts]],
    classes: _Classes,
    truth: BoolArray,
    width: int,
) -> tuple[Matrix, Matrix]:
    """Return in how many groundings of each clause the atoms of each class decide, as `negative` and `positive`."""
    dense = width <= DENSE
    shape = (len(truth), width)
    totals: list[Matrix] = [
        np.zeros(shape, np.int64) if dense else sparse.csr_array(shape, dtype=np.int64) for _ in range(2)
    ]
    index: dict[int, IntArray] = {}
    bounds = np.zeros(width)
    for given, own in zip(clauses, terms, strict=True):
        # Several shapes, and several clauses of one, may add to a column.
        bounds += np.bincount(given.clauses, minlength=width) * float(min(largest_sum(own), 2**62))
    check_sum(domain, bounds.max(initial=0))
    for given, own in zip(clauses, terms, strict=True):
        spread = None
        if len(given.clauses) > 1 or width > 1:
            ones = np.ones(len(given.clauses), dtype=np.int64)
            spread = sparse.csr_array((ones, (np.arange(len(ones)), given.clauses)), shape=(len(ones), width))
        for term in own:
            for count in term.counts:
                if id(count) not in index:
                    index[id(count)] = classes.find(domain, count)
            value = _product(term, index, len(truth), len(given.clauses), dense=dense)
            if spread is not None:
                value = value @ spread
            for k in range(2):
                if term.true[k] or term.false[k]:
                    sign = np.where(truth, term.true[k], term.false[k])[:, None]
                    totals[k] = totals[k] + (
                        value * sign if isinstance(value, np.ndarray) else sparse.csr_array(value.multiply(sign))
                    )
    return totals[0], totals[1]


def largest_sum(terms: Sequence[TermCounts]) -> int:
    """Return what the sum of some terms is at most, and of any products and sums inside of them."""
    found = 0
    for term in terms:
        bound = abs(term.factor) * prod(max(count.peak, 1) for count in term.restricting)
        for each in term.sums:
            bound *= sum(abs(x.factor) * prod(max(count.peak, 1) for count in x.counts) for x in each)
        found += bound
    return found


def check_sum(domain: AtomDomain, bound: float) -> None:
    """Raise a CountOverflowError if what is at most `bound` could be too large for 64 bits."""
    if bound >= 2**62:
        raise CountOverflowError(
            f"in how many groundings an atom of {domain.predicate} decides does not fit into 64 bits"
        )


def _product(term: TermCounts, index: Mapping[int, IntArray], size: int, clauses: int, *, dense: bool) -> Matrix:
    """Return a term for each class and clause of a shape."""

    def value_of(count: Count) -> Matrix:
        found = count.values[index[id(count)]]
        if count.rows is None:
            return found
        if isinstance(found, np.ndarray) and not dense:
            found = sparse.csr_array(found)
        return found[:, count.rows]

    value: Matrix = np.full((size, 1), term.factor, dtype=np.int64)
    for count in term.restricting:
        value = _times(value, value_of(count))
    # What is 0 nearly everywhere comes first: so a sparse product stays one.
    for each in sorted(term.sums, key=lambda found: any(not x.counts for x in found)):
        total: Matrix = None
        for summand in each:
            product = _times(value, np.full((1, 1), summand.factor, dtype=np.int64))
            for count in summand.counts:
                product = _times(product, value_of(count))
            total = product if total is None else _plus(total, product, clauses)
        value = total
    if value.shape[1] < clauses:
        value = _repeated(value, clauses, dense=dense)
    if term.mask is not None:
        value = _times(value, np.where(term.mask, 1, 0)[None, :].astype(np.int64))
    return value


def _repeated(value: Matrix, clauses: int, *, dense: bool) -> Matrix:
    if dense:
        return np.repeat(value, clauses, axis=1)
    return sparse.csr_array(value) @ sparse.csr_array(np.ones((1, clauses), np.int64))


def _plus(a: Matrix, b: Matrix, clauses: int) -> Matrix:
    """Add; one column stands for all."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a + b
    wide = [_repeated(x, clauses, dense=False) if x.shape[1] < clauses else sparse.csr_array(x) for x in (a, b)]
    return wide[0] + wide[1]


def _times(a: Matrix, b: Matrix) -> Matrix:
    """Multiply entry by entry; one column stands for all."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a * b
    one, two = (b, a) if isinstance(a, np.ndarray) else (a, b)
    return sparse.csr_array(one.multiply(two))


# ---- classes -----------------------------------------------------------------------------------------------------


def _classes(keys: Sequence[IntArray], size: int) -> IntArray:
    """Return a number for each place, equal where all keys are, ascending with the keys."""
    return distinct(keys).inverse if keys else np.zeros(size, dtype=np.int64)


def first_places(number: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first place of each number from 0 on, and how often it occurs."""
    size = np.bincount(number)
    first = np.empty(len(size), dtype=np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first, size


def row_classes(parent: IntArray, negative: Matrix, positive: Matrix) -> IntArray:
    """Return a number for each row, equal where parent and counts are."""
    if isinstance(negative, np.ndarray) and isinstance(positive, np.ndarray):
        return _classes([parent, *negative.T, *positive.T], len(parent))
    levels = [_levels(_with_zeros(matrix))[:-1] for matrix in (negative, positive)]
    return _classes([parent, *levels], len(parent))
