"""Tied tables: a shape whose clauses differ in the constants of two blocks is grounded once for each pair of blocks, not once for each clause.

`Next(p, q) ^ Field(b, +f, p) => Field(b, +g, q)` has a clause for each pair of fields, and each of them has the same ground clauses but for the
fields. One of them is grounded, which says which positions are joined; what the others say of these is the table of their clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, table
from sqlrl.ground.atoms import Atoms
from sqlrl.ground.counts import check_limit
from sqlrl.ground.network import IntArray, NetworkRows, TiedRows, TiedTable
from sqlrl.ground.pipeline import Pipeline, ShapePlan
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import MANY, GroundRows, Packing, by_clause, in_order, repeated, to_codes
from sqlrl.plan.grounding import ground, open_literals
from sqlrl.plan.slots import BoundShape

CELLS = 2**12
"""The most cells of a table, which whoever sums over it goes through for each pair of blocks."""

DENSE = 0.5
"""At least so much of a table has clauses; of one with fewer the ground clauses are listed."""

FEWEST = 4
"""Fewer clauses are as well listed."""


# ---- which shapes ------------------------------------------------------------------------------------


def sides(program: Program, bound: BoundShape) -> tuple[int, int] | None:
    """Return which parameter the block of each of the two open literals of a shape stands for; None if its clauses cannot be tied."""
    shape, layout = bound.shape, bound.layout
    opened = open_literals(bound)
    if len(opened) != 2 or len(shape.parameters) < 2 or shape.exists or shape.orders or bound.unknown:
        return None
    if layout.example_type in shape.parameters:
        return None
    rules = {rule.predicate: rule for rule in reversed(program.blocks)}
    found = []
    for literal in opened:
        info, rule = bound.info(literal), rules.get(literal.predicate)
        slots = [slot for slot in literal.terms if slot.parameter]
        # Every block has an atom for each constant, and none is given.
        if rule is None or len(rule.positions) != 1 or len(slots) != 1 or not info.full_scope or info.has_given:
            return None
        (slot,) = slots
        if literal.terms[rule.positions[0]] != slot or bound.is_local(slot):
            return None
        found.append(slot.index)
    elsewhere = [slot for x in shape.literals if x not in opened for slot in x.terms]
    elsewhere += [slot for x in shape.equalities for slot in (x.left, x.right)]
    if found[0] == found[1] or any(slot.parameter and slot.index in found for slot in elsewhere):
        return None
    return found[0], found[1]


@dataclass(frozen=True, eq=False)
class TiedClauses:
    """The clauses of a shape as a table over two constants, and the one of them that is grounded for all."""

    each: ShapePlan
    table: IntArray  # shape (k, l), -1 for no clause
    chosen: tuple[int, int]  # the constants of the clause that stands for all: two that differ
    row: pa.Table  # the parameters of that clause

    def plan(self, parameters: TableName, examples: TableName | None) -> ShapePlan:
        """Plan the grounding of the one clause, whose row is in a table."""
        bound = self.each.use.bound.with_parameters(parameters)
        # Literals that look alike stand in any order in merged rows.
        return ShapePlan(self.each.use, ground(bound, examples, raw=self.each.plan.may_repeat), self.each.clauses)


def tied_clauses(program: Program, each: ShapePlan) -> TiedClauses | None:
    """Return the clauses of a shape as a table; None if they cannot be tied, are not dense, differ in more, or two of them are the same."""
    use, types, plan = each.use, program.layout.types, each.plan
    if len(plan.signs) != 2 or plan.has_absent or plan.list_signs:
        return None
    order = sides(program, use.bound)
    if order is None:
        return None
    many, others = (types[use.shape.parameters[i]].size for i in order)
    cells = many * others
    if use.parameters is None or use.rows < FEWEST or cells > CELLS or not cells * DENSE <= use.rows <= cells:
        return None
    names = ["clause", *(f"k{i}" for i in range(len(use.shape.parameters)))]
    query = exp.select(*map(column, names)).from_(table(use.parameters))
    data = program.engine.fetch(query, step=f"read the clauses of {use.shape}")
    columns = {name: np.asarray(data.column(name).to_numpy(), dtype=np.int64) for name in names}
    clause, left, right = columns.pop("clause"), columns.pop(f"k{order[0]}"), columns.pop(f"k{order[1]}")
    inside = (left >= 0) & (left < many) & (right >= 0) & (right < others)
    if not inside.all() or program.hard()[clause].any() or any((x != x[0]).any() for x in columns.values()):
        return None
    found = np.full((many, others), -1, dtype=np.int64)
    found[left, right] = clause
    # Of two clauses in one place, one would be lost.
    if int((found >= 0).sum()) < len(clause):
        return None
    # One clause stands for all: one between different constants, since a ground clause with an atom and its negation is left out.
    some = np.argwhere(found >= 0)
    one, other = some[np.argmax(some[:, 0] != some[:, 1])].tolist()
    if one == other:
        return None
    row = {name: int(x[0]) for name, x in columns.items()} | {f"k{order[0]}": one, f"k{order[1]}": other}
    kept = {name: pa.array([row[name]], pa.int32()) for name in sorted(row, key=lambda name: int(name[1:]))}
    return TiedClauses(each, found, (one, other), pa.table({"clause": found[one : one + 1, other], **kept}))


# ---- grounding ---------------------------------------------------------------------------------------


def tied_table(extent: Extent, atoms: Atoms, pipeline: Pipeline, each: ShapePlan) -> TiedTable | None:
    """Ground the clauses of a shape as a table over pairs of blocks; None if they must be listed."""
    clauses = tied_clauses(extent.program, each)
    if clauses is None:
        return None
    with extent.program.rows_table(clauses.row) as one:
        return ground_tied(extent, atoms, pipeline, clauses, clauses.plan(one, extent.examples))


def ground_tied(
    extent: Extent, atoms: Atoms, pipeline: Pipeline, clauses: TiedClauses, single: ShapePlan
) -> TiedTable | None:
    """Ground the one clause that stands for all, and lay out its pairs of blocks; None if blocks lack members."""
    clause, plan = clauses.table, clauses.each.plan
    found, multiplicity = pipeline.literals(single)
    if plan.may_repeat:
        found, multiplicity = _merged(found, pipeline.index.size)
    if extent.limit is not None and len(found) * int((clause >= 0).sum()) > extent.limit:
        check_limit(extent, clauses.each.use)
    blocks = atoms.block[found]
    rank, size = block_ranks(atoms.block, len(atoms.block_exact))
    if (blocks < 0).any() or (blocks[:, 0] == blocks[:, 1]).any():
        return None
    for i, (constant, count) in enumerate(zip(clauses.chosen, clause.shape, strict=True)):
        # Members stand in the order of constants, all of them.
        if (size[blocks[:, i]] != count).any() or (rank[found[:, i]] != constant).any():
            return None
    positive = plan.signs[0] > 0, plan.signs[1] > 0
    left_blocks, right_blocks = (np.ascontiguousarray(blocks[:, i]) for i in range(2))
    return TiedTable(clause, positive, left_blocks, right_blocks, multiplicity)


def _merged(atoms: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return the distinct pairs of `count` atoms, and how often each is there."""
    key, multiplicity = np.unique(atoms[:, 0] * count + atoms[:, 1], return_counts=True)
    return np.stack([key // count, key % count], axis=1), multiplicity.astype(np.int64)


def block_ranks(block: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return how many earlier atoms of its block each atom has, shape (n,), and the size of each of `count` blocks."""
    inside = np.flatnonzero(block >= 0)
    size = np.bincount(block[inside], minlength=count).astype(np.int64)
    if len(block) >= MANY:
        from sqlrl.ground.radix import ranks

        return ranks(np.require(block, requirements="C"), count), size
    order = inside[np.argsort(block[inside], kind="stable")]
    start = np.cumsum(size) - size
    rank = np.zeros(len(block), dtype=np.int64)
    rank[order] = np.arange(len(order)) - start[block[order]]
    return rank, size


# ---- row by row --------------------------------------------------------------------------------------


def tied_rows(pieces: Sequence[GroundRows | TiedTable], atoms: Atoms, clauses: int) -> NetworkRows | TiedRows:
    """Return ground clauses of two literals or more, in order of clauses; tables are listed when somebody asks for their rows."""
    tied = tuple(piece for piece in pieces if isinstance(piece, TiedTable))
    rest = _network_rows([piece for piece in pieces if isinstance(piece, GroundRows)])
    if not tied:
        return rest
    return TiedRows(rest, tied, partial(_listed, pieces, atoms.block, len(atoms.block_exact), clauses))


def with_tables(
    rest: NetworkRows, tied: Sequence[TiedTable], block: IntArray, blocks: int, clauses: int
) -> NetworkRows | TiedRows:
    """Return listed ground clauses and tables over atoms of some blocks as the rows of a network."""
    if not tied:
        return rest
    listed = GroundRows(rest.clause, rest.literals, np.diff(rest.indptr), rest.multiplicity)
    return TiedRows(rest, tuple(tied), partial(_listed, (listed, *tied), block, blocks, clauses))


def _network_rows(pieces: Sequence[GroundRows]) -> NetworkRows:
    rows = by_clause(pieces)
    clause, multiplicity = (np.require(x, requirements="W") for x in (rows.clause, rows.multiplicity))
    return NetworkRows(rows.starts(), rows.literals, clause, multiplicity)


def _listed(pieces: Iterable[GroundRows | TiedTable], block: IntArray, blocks: int, clauses: int) -> NetworkRows:
    inside = np.flatnonzero(block >= 0)
    member = inside[np.argsort(block[inside], kind="stable")]
    size = np.bincount(block[inside], minlength=blocks)
    start = np.cumsum(size) - size
    return _network_rows(
        [
            piece if isinstance(piece, GroundRows) else listed_table(piece, member, start, len(block), clauses)
            for piece in pieces
        ]
    )


def listed_table(piece: TiedTable, member: IntArray, start: IntArray, atoms: int, clauses: int) -> GroundRows:
    """Return the ground clauses of a table in canonical order; block b has the atoms from `member[start[b]]` on."""
    i, j = np.nonzero(piece.clause >= 0)
    e = len(piece.left)
    clause = np.repeat(piece.clause[i, j], e)
    left = member[(start[piece.left] + i[:, None]).ravel()] + 1
    right = member[(start[piece.right] + j[:, None]).ravel()] + 1
    codes = [to_codes(x if positive else -x) for x, positive in zip((left, right), piece.positive, strict=True)]
    multiplicity = np.tile(piece.multiplicity, len(i))
    packing = Packing.of(2, atoms, clauses)
    if packing is None or (piece.multiplicity != 1).any() or piece.positive[0] == piece.positive[1]:
        signed = [x if positive else -x for x, positive in zip((left, right), piece.positive, strict=True)]
        first = codes[0] <= codes[1]
        literals = np.stack([np.where(first, *signed), np.where(first, *signed[::-1])], axis=1).ravel()
        return in_order(GroundRows(clause, literals, repeated(2, len(clause)), multiplicity), merge=True)
    key = packing.sort(packing.pack(clause, codes))
    return GroundRows(packing.clauses(key), packing.literals(key).ravel(), repeated(2, len(key)), repeated(1, len(key)))
