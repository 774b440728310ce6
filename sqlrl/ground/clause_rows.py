"""What one more clause says of the atoms of a partition, compiled: a search asks that of thousands of clauses for one partition.

`Partition.refined` does the same for any number of clauses, and keeps what further refinement needs; for a single clause the time goes into calls of
small array functions. Here the counts of a clause become sparse vectors over the *cells* of the arguments, once for each count, its terms a short
program over them, and one call of a kernel sorts the atoms: cells into profiles, combinations of profiles with the number of atoms that have
them, listed atoms one by one, and all of these by what the program says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.partitions import (
    MOST_COMBINATIONS,
    AtomDomain,
    ClauseTerms,
    Count,
    Partition,
    TermCounts,
    check_sum,
    encode,
    largest_sum,
    places,
    support,
    term_counts,
    too_many_combinations,
)
from sqlrl.kernels import inner, kernel


class ClauseRows(NamedTuple):
    """The atoms of a predicate by row of a partition and by effect on a clause, as arrays of shape (r,)."""

    parent: IntArray  # the row of the partition
    says: IntArray  # by how much n of the clause is greater with such an atom true than false
    atoms: IntArray  # how many there are


# ---- cells -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cells:
    # The cells of the example (place 0) and of each argument: those of place p are `start[p]` to `start[p + 1]`, each with its
    # value and the number of its example; -1 where a cell is one of all examples. `begin` says where those of an example start, shape (p, e + 1).
    start: IntArray
    value: IntArray
    owner: IntArray
    begin: IntArray


class _Vector(NamedTuple):
    # A count that is not 0 at some cells of a place, or (place -1) at some atoms: of these the codes, ascending, and the cells.
    place: int
    cells: IntArray
    codes: IntArray
    values: IntArray


class DomainCells:
    """The cells of the arguments of a predicate, and counts as vectors over them."""

    def __init__(self, domain: AtomDomain) -> None:
        self.domain = domain
        self.columns = (0, *domain.columns)
        # Places with cells of their own for each example, which they get once a count differs between examples.
        self.expanded: set[int] = set()
        self._vectors: dict[tuple[int, int], tuple[Count, _Vector]] = {}
        self._cells: _Cells | None = None

    def expand(self, wanted: set[int]) -> None:
        """Have cells of their own for each example at some places."""
        if wanted - self.expanded:
            self.expanded |= wanted
            self._vectors.clear()
            self._cells = None

    def is_plain(self, place: int) -> bool:
        """Whether the data have the same cells for all examples there."""
        return place > 0 and self.domain.cells[self.columns[place] - 1].ndim == 1

    @property
    def cells(self) -> _Cells:
        """The cells of all places."""
        if self._cells is None:
            self._cells = self._make()
        return self._cells

    def _make(self) -> _Cells:
        domain = self.domain
        examples = np.arange(len(domain.examples))
        values, owners = [domain.examples], [examples]
        for place, column in enumerate(domain.columns, start=1):
            given = domain.cells[column - 1]
            if given.ndim == 2:
                values.append(given[:, 1])
                owners.append(np.searchsorted(domain.examples, given[:, 0]))
            elif place in self.expanded:
                values.append(np.tile(given, len(examples)))
                owners.append(np.repeat(examples, len(given)))
            else:
                values.append(given)
                owners.append(np.full(len(given), -1))
        begin = [np.searchsorted(owner, np.arange(len(examples) + 1)) for owner in owners]
        return _Cells(
            np.cumsum([0, *map(len, values)]), np.concatenate(values), np.concatenate(owners), np.array(begin)
        )

    def cell(self, place: int, atoms: IntArray) -> IntArray:
        """Return the cell of each atom at a place."""
        own = slice(self.cells.start[place], self.cells.start[place + 1])
        value, owner, column = self.cells.value[own], self.cells.owner[own], self.columns[place]
        if place == 0 or (len(owner) and owner[0] < 0):
            return np.searchsorted(value, atoms[:, column])
        radices = [len(self.domain.examples), self.domain.radices[column]]
        wanted = np.column_stack([np.searchsorted(self.domain.examples, atoms[:, 0]), atoms[:, column]])
        return np.searchsorted(encode(np.column_stack([owner, value]), radices), encode(wanted, radices))

    def program(self, terms: ClauseTerms) -> ClauseProgram:
        """Return the program of a clause."""
        return _program(term_counts(self.domain, terms), self.domain)

    def vector(self, count: Count, column: int) -> _Vector:
        """Return a count as a vector; `column` is that of its values."""
        key = id(count), column
        if key not in self._vectors:
            # The count is kept with it, so that no other one has its id.
            self._vectors[key] = count, self._vector(count, column)
        return self._vectors[key][1]

    def _vector(self, count: Count, column: int) -> _Vector:
        values = np.asarray(
            count.values[:, [column]].toarray() if hasattr(count.values, "toarray") else count.values[:, [column]]
        )[:, 0]
        radices = [self.domain.radices[c] for c in count.columns]
        none = np.zeros(0, dtype=np.int64)
        if count.joint:
            atoms = support(self.domain, count)
            found = values[places(count.codes, encode(atoms[:, list(count.columns)], radices))]
            atoms, found = atoms[found != 0], found[found != 0]
            codes = encode(atoms, self.domain.radices)
            order = np.argsort(codes, kind="stable")
            cells = [self.cell(place, atoms[order]) for place in range(len(self.columns))]
            return _Vector(-1, np.column_stack(cells), codes[order], found[order])
        place = self.columns.index(count.columns[-1])
        own = slice(self.cells.start[place], self.cells.start[place + 1])
        keys = self.cells.value[own][:, None]
        if len(count.columns) > 1:
            keys = np.column_stack([self.domain.examples[self.cells.owner[own]], keys])
        found = values[places(count.codes, encode(keys, radices))]
        at = np.flatnonzero(found)
        return _Vector(place, at, none, found[at])


class ClauseProgram(NamedTuple):
    """The terms of a clause for the atoms of a predicate, as arrays.

    Term t adds `signs[t, truth]` times the product of the sums `sums[t]` to `sums[t + 1] - 1`. Sum s adds the summands m
    from `summands[s]` to `summands[s + 1] - 1`: `factors[m, 0]` times the counts `uses[factors[m, 1]:factors[m + 1, 1]]`.
    """

    counts: tuple[Count, ...]
    columns: tuple[int, ...]  # for each count the column of its values
    signs: IntArray
    sums: IntArray
    summands: IntArray
    factors: IntArray
    uses: IntArray


def _program(terms: Sequence[TermCounts], domain: AtomDomain) -> ClauseProgram:
    """Return the program of the terms of one clause."""
    number: dict[int, int] = {}
    counts, columns = list[Count](), list[int]()
    signs, sums, summands = list[tuple[int, int]](), [0], [0]
    factors, starts, uses = list[int](), [0], list[int]()

    def add(factor: int, given: Sequence[Count]) -> None:
        for count in given:
            column = 0 if count.rows is None else int(count.rows[0])
            if not count.columns:
                # The same for all atoms.
                factor *= int(count.values[0, column]) if len(count.codes) else 0
                continue
            if id(count) not in number:
                number[id(count)] = len(counts)
                counts.append(count)
                columns.append(column)
            uses.append(number[id(count)])
        factors.append(factor)
        starts.append(len(uses))

    check_sum(domain, largest_sum(terms))
    for term in terms:
        if term.mask is not None and not term.mask[0]:
            continue
        if term.restricting:
            add(1, term.restricting)
            summands.append(len(factors))
        for each in term.sums:
            for summand in each:
                add(summand.factor, summand.counts)
            summands.append(len(factors))
        sums.append(len(summands) - 1)
        signs.append((term.factor * (term.false[1] - term.false[0]), term.factor * (term.true[1] - term.true[0])))
    return ClauseProgram(
        tuple(counts),
        tuple(columns),
        np.array(signs, dtype=np.int64).reshape(-1, 2),
        np.array(sums),
        np.array(summands),
        np.column_stack([np.array([*factors, 0]), np.array(starts)]),
        np.array(uses, dtype=np.int64),
    )


# ---- partitions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Base:
    # A partition over cells: `profile` of each cell and their number at each place, cells of the listed atoms, shape (a, p).
    cells: _Cells
    profile: IntArray
    sizes: IntArray
    listed: IntArray


class PartitionRows:
    """Says of single clauses what they say of the atoms of a partition."""

    def __init__(self, partition: Partition, cells: DomainCells) -> None:
        self.partition, self.cells = partition, cells
        self._combinations = np.ascontiguousarray(partition.combinations).ravel()
        self._base: _Base | None = None
        cells.expand({p for p, own in enumerate(partition.profiles) if own.example is not None and cells.is_plain(p)})

    def of(self, program: ClauseProgram) -> ClauseRows:
        """Return what one clause says."""
        domain = self.partition.domain
        wanted = {
            place
            for count in program.counts
            if not count.joint
            and len(count.columns) > 1
            and self.cells.is_plain(place := self.cells.columns.index(count.columns[-1]))
        }
        self.cells.expand(wanted)
        base = self._with_cells()
        vectors = [
            self.cells.vector(count, column) for count, column in zip(program.counts, program.columns, strict=True)
        ]
        single = [x for x in vectors if x.place >= 0]
        joint = [x for x in vectors if x.place < 0]
        order = [i for i, x in enumerate(vectors) if x.place >= 0] + [i for i, x in enumerate(vectors) if x.place < 0]
        number = np.empty(len(vectors), dtype=np.int64)
        number[order] = np.arange(len(vectors))
        error, parent, says, count = _sorted_atoms(
            base.cells.start,
            base.cells.begin,
            base.profile,
            base.sizes,
            base.listed,
            self.partition.codes,
            self.partition.row,
            self._combinations,
            self.partition.truth,
            domain.listed is None,
            np.array([x.place for x in single], dtype=np.int64),
            *_joined([x.cells for x in single], [x.values for x in single]),
            *_joined([x.codes for x in joint], [x.values for x in joint]),
            np.concatenate([x.cells for x in joint]) if joint else base.listed[:0],
            program.signs,
            program.sums,
            program.summands,
            program.factors,
            number[program.uses],
        )
        if error:
            raise too_many_combinations(domain, int(error))
        return ClauseRows(parent, says, count)

    def _with_cells(self) -> _Base:
        """Return the partition over the cells that there are now."""
        cells = self.cells.cells
        if self._base is None or self._base.cells is not cells:
            profiles = []
            for place, own in enumerate(self.partition.profiles):
                tiled = place in self.cells.expanded and own.example is None
                profiles.append(np.tile(own.profile, len(self.partition.domain.examples)) if tiled else own.profile)
            listed = [self.cells.cell(place, self.partition.atoms) for place in range(len(self.cells.columns))]
            self._base = _Base(
                cells,
                np.concatenate(profiles),
                np.array([own.size for own in self.partition.profiles]),
                np.ascontiguousarray(np.column_stack(listed)),
            )
        return self._base


def _joined(keys: Sequence[IntArray], values: Sequence[IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    """Return where each vector starts, and all their keys and values."""
    start = np.zeros(len(keys) + 1, dtype=np.int64)
    if not keys:
        none = np.zeros(0, dtype=np.int64)
        return start, none, none
    np.cumsum([len(x) for x in keys], out=start[1:])
    return start, np.concatenate(keys), np.concatenate(values)


# ---- the kernel ------------------------------------------------------------------------------------------------------


@inner
def _hash(a: int, b: int, mask: int) -> np.int64:
    mixed = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(b) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(mask))


@inner
def _table(size: int) -> IntArray:
    width = 4
    while width < 2 * size:
        width *= 2
    return np.full(width, -1, dtype=np.int64)


@inner
def _number(table: IntArray, first: IntArray, second: IntArray, known: int, a: int, b: int) -> int:
    """Return the number of a pair among the `known` ones, which is `known` for a new one, kept then."""
    mask = len(table) - 1
    at = _hash(a, b, mask)
    while table[at] >= 0:
        i = int(table[at])
        if first[i] == a and second[i] == b:
            return i
        at = (at + 1) & mask
    table[at] = known
    first[known], second[known] = a, b
    return known


@inner
def _said(
    signs: IntArray,
    sums: IntArray,
    summands: IntArray,
    factors: IntArray,
    uses: IntArray,
    value: IntArray,
    truth: int,
) -> int:
    """Run the program for one atom; `value` has each count there."""
    total = 0
    for t in range(len(signs)):
        product = signs[t, truth]
        for s in range(sums[t], sums[t + 1]):
            if product == 0:
                break
            added = 0
            for m in range(summands[s], summands[s + 1]):
                summand = factors[m, 0]
                for u in range(factors[m, 1], factors[m + 1, 1]):
                    summand *= value[uses[u]]
                added += summand
            product *= added
        total += product
    return total


@inner
def _place(codes: IntArray, code: int) -> int:
    """Return where a code is among ascending ones, or would be."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _sorted_atoms(
    start: IntArray,
    begin: Annotated[IntArray, 2],
    base: IntArray,
    base_sizes: IntArray,
    listed: Annotated[IntArray, 2],
    codes: IntArray,
    row: IntArray,
    combinations: IntArray,
    truth: BoolArray,
    combined: bool,
    place: IntArray,
    single_start: IntArray,
    single_cell: IntArray,
    single_value: IntArray,
    joint_start: IntArray,
    joint_code: IntArray,
    joint_value: IntArray,
    joint_cells: Annotated[IntArray, 2],
    signs: Annotated[IntArray, 2],
    sums: IntArray,
    summands: IntArray,
    factors: Annotated[IntArray, 2],
    uses: IntArray,
) -> tuple[float, IntArray, IntArray, IntArray]:
    """Return 0, or how many combinations there are if these are too many, and the rows of a `ClauseRows`."""
    singles, joints, width = len(place), len(joint_start) - 1, len(start) - 1
    # Counts at all cells of their place.
    dense_start = np.zeros(singles + 1, dtype=np.int64)
    for s in range(singles):
        dense_start[s + 1] = dense_start[s] + start[place[s] + 1] - start[place[s]]
    dense = np.zeros(dense_start[singles], dtype=np.int64)
    for s in range(singles):
        for i in range(single_start[s], single_start[s + 1]):
            dense[dense_start[s] + single_cell[i]] = single_value[i]
    # Profiles, and a cell of each.
    profile, sizes = base.copy(), base_sizes.copy()
    for s in range(singles):
        p = place[s]
        cells = start[p + 1] - start[p]
        table = _table(cells)
        first, second = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
        known = 0
        for c in range(cells):
            found = _number(table, first, second, known, profile[start[p] + c], dense[dense_start[s] + c])
            known = max(known, found + 1)
            profile[start[p] + c] = found
        sizes[p] = known
    cell_start = np.zeros(width + 1, dtype=np.int64)
    for p in range(width):
        cell_start[p + 1] = cell_start[p] + sizes[p]
    cell_of = np.zeros(cell_start[width], dtype=np.int64)
    for p in range(width):
        for c in range(start[p + 1] - start[p] - 1, -1, -1):
            cell_of[cell_start[p] + profile[start[p] + c]] = c
    # Atoms that are not listed by their profiles.
    size = 1.0
    for p in range(width):
        size *= sizes[p]
    none = np.zeros(0, dtype=np.int64)
    if combined and size > MOST_COMBINATIONS:
        return size, none, none, none
    atoms = np.zeros(int(size) if combined else 0, dtype=np.int64)
    if combined:
        _add_products(atoms, start, begin, profile, sizes)
    # Listed atoms, and those of which a count of several arguments is not 0.
    more = joint_start[joints] if combined else 0
    total = len(codes) + more
    extra_table = _table(more)
    extra_code, extra_zero = np.empty(more, dtype=np.int64), np.zeros(more, dtype=np.int64)
    extra_cells = np.empty((more, width), dtype=np.int64)
    extras = 0
    joint_at = np.zeros((joints, total), dtype=np.int64)
    for j in range(joints):
        for i in range(joint_start[j], joint_start[j + 1]):
            at = _place(codes, joint_code[i])
            if at == len(codes) or codes[at] != joint_code[i]:
                if not combined:
                    continue
                found = _number(extra_table, extra_code, extra_zero, extras, joint_code[i], 0)
                if found == extras:
                    for p in range(width):
                        extra_cells[found, p] = joint_cells[i, p]
                    extras += 1
                at = len(codes) + found
            joint_at[j, at] = joint_value[i]
    # All of them by their row and what the clause says.
    most = len(codes) + extras + len(atoms)
    table = _table(min(most, 256))
    parent, says = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    count = np.zeros(most, dtype=np.int64)
    rows = 0
    value = np.zeros(singles + joints, dtype=np.int64)
    for i in range(len(codes) + extras):
        flat, flat_base = 0, 0
        for p in range(width):
            c = listed[i, p] if i < len(codes) else extra_cells[i - len(codes), p]
            flat = flat * sizes[p] + profile[start[p] + c]
            flat_base = flat_base * base_sizes[p] + base[start[p] + c]
        if combined:
            atoms[flat] -= 1
        for s in range(singles):
            c = listed[i, place[s]] if i < len(codes) else extra_cells[i - len(codes), place[s]]
            value[s] = dense[dense_start[s] + c]
        for j in range(joints):
            value[singles + j] = joint_at[j, i]
        own = row[i] if i < len(codes) else combinations[flat_base]
        said = _said(signs, sums, summands, factors, uses, value, 1 if truth[own] else 0)
        table, rows = _tallied(table, parent, says, count, rows, own, said, 1)
    for j in range(joints):
        value[singles + j] = 0
    cell = np.empty(width, dtype=np.int64)
    for flat in range(len(atoms)):
        if atoms[flat] == 0:
            continue
        left = flat
        for p in range(width - 1, -1, -1):
            cell[p] = cell_of[cell_start[p] + left % sizes[p]]
            left //= sizes[p]
        flat_base = 0
        for p in range(width):
            flat_base = flat_base * base_sizes[p] + base[start[p] + cell[p]]
        for s in range(singles):
            value[s] = dense[dense_start[s] + cell[place[s]]]
        own = combinations[flat_base]
        said = _said(signs, sums, summands, factors, uses, value, 1 if truth[own] else 0)
        table, rows = _tallied(table, parent, says, count, rows, own, said, atoms[flat])
    return 0.0, parent[:rows].copy(), says[:rows].copy(), count[:rows].copy()


@inner
def _tallied(
    table: IntArray, parent: IntArray, says: IntArray, count: IntArray, rows: int, own: int, said: int, atoms: int
) -> tuple[IntArray, int]:
    """Count some atoms of a row by what the clause says of them; return the table, larger if need be, and how many rows there are."""
    found = _number(table, parent, says, rows, own, said)
    count[found] += atoms
    if found == rows:
        rows += 1
        if 2 * rows > len(table):
            table = _grown(table, parent, says, rows)
    return table, rows


@inner
def _grown(table: IntArray, first: IntArray, second: IntArray, known: int) -> IntArray:
    """Return a larger table of the same pairs."""
    larger = np.full(4 * len(table), -1, dtype=np.int64)
    mask = len(larger) - 1
    for i in range(known):
        at = _hash(first[i], second[i], mask)
        while larger[at] >= 0:
            at = (at + 1) & mask
        larger[at] = i
    return larger


@inner
def _add_products(atoms: IntArray, start: IntArray, begin: IntArray, profile: IntArray, sizes: IntArray) -> None:
    """Count the atoms of each combination of profiles: for each example the product of how often each profile occurs."""
    width, examples = len(start) - 1, begin.shape[1] - 1
    # Of a place whose cells are one set for all examples the product is the same for each: they come last, and once.
    alone = np.zeros(width, dtype=np.bool_)
    stride = np.ones(width, dtype=np.int64)
    for p in range(width - 1, -1, -1):
        stride[p] = 1 if p == width - 1 else stride[p + 1] * sizes[p + 1]
        alone[p] = p > 0 and (begin[p, examples] == 0 or begin[p, 0] > 0)
    most = 0
    for p in range(width):
        most = max(most, sizes[p])
    number = np.zeros(most, dtype=np.int64)
    for e in range(examples):
        flat, count = np.empty(1, dtype=np.int64), np.ones(1, dtype=np.int64)
        flat[0] = profile[start[0] + e] * stride[0]
        for p in range(1, width):
            if not alone[p]:
                cells = profile[start[p] + begin[p, e] : start[p] + begin[p, e + 1]]
                flat, count = _times_profiles(flat, count, cells, stride[p], number)
        for i in range(len(flat)):
            atoms[flat[i]] += count[i]
    for p in range(1, width):
        if alone[p]:
            found = 0
            for i in range(len(atoms)):
                found += atoms[i] != 0
            flat, count, found = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64), 0
            for i in range(len(atoms)):
                if atoms[i] != 0:
                    flat[found], count[found] = i, atoms[i]
                    found += 1
                    atoms[i] = 0
            flat, count = _times_profiles(flat, count, profile[start[p] : start[p + 1]], stride[p], number)
            for i in range(len(flat)):
                atoms[flat[i]] += count[i]


@inner
def _times_profiles(
    flat: IntArray, count: IntArray, cells: IntArray, stride: int, number: IntArray
) -> tuple[IntArray, IntArray]:
    """Multiply combinations by the profiles of the cells of a place, `stride` apart; `number` is all zeros, before and after."""
    seen = np.empty(len(cells), dtype=np.int64)
    distinct = 0
    for c in range(len(cells)):
        if number[cells[c]] == 0:
            seen[distinct] = cells[c]
            distinct += 1
        number[cells[c]] += 1
    wide = np.empty(len(flat) * distinct, dtype=np.int64)
    times = np.empty(len(flat) * distinct, dtype=np.int64)
    for i in range(len(flat)):
        for k in range(distinct):
            wide[i * distinct + k] = flat[i] + seen[k] * stride
            times[i * distinct + k] = count[i] * number[seen[k]]
    for k in range(distinct):
        number[seen[k]] = 0
    return wide, times
