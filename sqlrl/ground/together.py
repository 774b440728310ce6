"""Grounding of many non-recursive shapes together, by the components of their bodies, in place of one query a shape.

The rule: a program with at least `MANY_SHAPES` shapes that can be grounded so takes this way. A shape can if

- it is non-recursive (`sqlrl.ground.clause_bodies.head_of`), and its clauses are weighted rules without `+` variables;
- no atom of its head's predicate is given;
- every tuple of its head's predicate has an atom (its scope is full), or its head is negative, or all data are one example and the
  tuples are few enough to be looked at one by one (`MOST_TUPLES`): a head outside the scope is false, and the evidence violates
  the clause wherever its body is true.

The network is the same, whichever way is taken. If the components have too many bindings to keep them (`MOST_BINDINGS`, or the
limit on ground clauses where that is less), the rows are more than that limit, or a product of counts does not fit into 64 bits, each
shape is grounded by its own query, which may count without enumerating, and says which clause fails.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column
from sqlrl.errors import CountOverflowError, GroundingLimitError
from sqlrl.ground.clause_bodies import ClauseBody, clause_bodies, heads_of
from sqlrl.ground.coverage import MOST_BINDINGS
from sqlrl.ground.features import atoms_with_arguments, body_counts
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.rows import AtomIndex, Rows, repeated
from sqlrl.logic.shapes import Shape, ShapeLiteral
from sqlrl.plan.sql import table

MANY_SHAPES = 50
"""From this many shapes on, a few queries for all are cheaper than one for each."""

MOST_TUPLES = 1_000_000
"""The most tuples of a head's predicate that are looked at one by one where its scope is not full."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Together:
    """The ground clauses of shapes that were grounded together.

    Parameters
    ----------
    shapes : frozenset of Shape
    pieces : tuple of Rows
        Rows with one literal, and rows without any, which the evidence violates.
    """

    shapes: frozenset[Shape]
    pieces: tuple[Rows, ...]


def ground_together(
    program: Program,
    index: AtomIndex,
    examples: TableName | None = None,
    *,
    limit: int | None = None,
    least: int | None = None,
) -> Together:
    r"""Ground the shapes of a program that can be grounded together, if they are many.

    Parameters
    ----------
    program : Program
    index : AtomIndex
        Of the query atoms in the examples.
    examples : TableName, optional
        Table with a column `example`; all examples by default.
    limit : int, optional
        The most ground clauses allowed.
    least : int, optional
        How many shapes are many; `MANY_SHAPES` by default.

    Returns
    -------
    Together
        Without shapes if they are few, or have too many bindings.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE + "\n1 Friends(x, y) => Smokes(y)", ["Smokes"], FRIENDS)
    >>> found = ground_together(program, AtomIndex(np.array([1, 2, 3])), least=1)
    >>> [str(shape) for shape in found.shapes], found.pieces[0].literals.tolist()
    (['!Friends(v0, v1) v Smokes(v1)'], [2, 3])
    """
    none, many = Together(frozenset(), ()), MANY_SHAPES if least is None else least
    if len(program.shapes) < many:
        # Most models: nothing is looked at in every window of a stream.
        return none
    heads = heads_of(program)
    hard = {x.shape for bound in program.features if bound.hard for x in bound.instances}
    heads = {shape: head for shape, head in heads.items() if shape not in hard and _fits(program, shape, head)}
    if len(heads) < many:
        return none
    most = MOST_BINDINGS if limit is None else min(limit, MOST_BINDINGS)
    pieces: list[Rows] = []
    try:
        for name, clauses in sorted(clause_bodies(program, heads).items()):
            pieces += _ground(program, program.layout.predicates[name], clauses, index, examples, most)
    except (GroundingLimitError, CountOverflowError) as error:
        logger.info("%d shapes are grounded one by one: %s", len(heads), error)
        return none
    if limit is not None and sum(len(rows.clause) for rows in pieces) > limit:
        return none
    return Together(frozenset(heads), tuple(pieces))


def _fits(program: Program, shape: Shape, head: ShapeLiteral) -> bool:
    """Return whether all that is needed of a shape's heads can be known; see the module."""
    info, layout = program.layout.predicates[head.predicate], program.layout
    if info.has_given or any(slot.parameter and slot.index in program.shapes[shape].foreign for slot in head.terms):
        return False
    if info.full_scope or not head.positive:
        return True
    divided = layout.example_type is not None or any(x.example_column for x in layout.predicates.values())
    return not divided and _tuples(program, info) <= MOST_TUPLES


def _tuples(program: Program, info: PredicateInfo) -> int:
    return prod(program.layout.types[kind].size for kind in info.types)


def _ground(
    program: Program,
    info: PredicateInfo,
    clauses: Sequence[ClauseBody],
    index: AtomIndex,
    examples: TableName | None,
    most: int,
) -> list[Rows]:
    """Return the rows of clauses with one head predicate."""
    ids, example, arguments = atoms_with_arguments(program, info, examples)
    local = index.local(ids) + 1
    if info.full_scope or not any(x.positive for x in clauses) or not _asked(program, examples):
        counts = body_counts(program, info, clauses, arguments, example, most)
        return [_units(clauses, counts, local)]
    sizes = [program.layout.types[kind].size for kind in info.types]
    every = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T
    atom = np.zeros(len(every), np.int64)
    atom[np.ravel_multi_index(tuple(arguments.T), sizes) if sizes else 0] = local
    counts = body_counts(program, info, clauses, every, np.zeros(len(every), np.int64), most)
    outside = counts.tocoo()
    there = atom[outside.coords[1]] == 0
    positive = np.array([x.positive for x in clauses])[outside.coords[0]]
    clause = np.array([x.clause for x in clauses], dtype=np.int64)[outside.coords[0]]
    lost = there & positive
    size, nothing = int(lost.sum()), np.zeros(0, np.int64)
    violated = Rows(clause[lost], nothing, repeated(0, size), outside.data[lost])
    return [_units(clauses, counts, atom), violated]


def _units(clauses: Sequence[ClauseBody], counts: sparse.csr_array, atom: IntArray) -> Rows:
    """Return the rows with one literal, by clause; `atom` is the local number of each column's atom from 1, 0 for none."""
    entries = counts.tocoo()
    clause = np.array([x.clause for x in clauses], dtype=np.int64)[entries.coords[0]]
    sign = np.array([1 if x.positive else -1 for x in clauses], dtype=np.int64)[entries.coords[0]]
    literals = sign * atom[entries.coords[1]]
    inside = literals != 0
    size = int(inside.sum())
    return Rows(clause[inside], literals[inside], repeated(1, size), entries.data[inside])


def _asked(program: Program, examples: TableName | None) -> bool:
    """Return whether the one example of undivided data is asked for."""
    if examples is None:
        return True
    query = exp.select(column("example")).from_(table(examples)).limit(1)
    return bool(program.engine.fetch(query, step="look at the examples").num_rows)
