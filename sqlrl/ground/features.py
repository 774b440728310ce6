"""Features of non-recursive clauses: how many groundings their bodies have at each query atom, by components.

A non-recursive clause has one literal of an open predicate, its head, and a body of closed literals that must be true. Of such
clauses there may be thousands of different shapes, each with a query of its own if they were grounded one by one; but they share
their components, and these are evaluated in a few queries.

Many such shapes are grounded together, in place of one query a shape. The rule: a program with at least `MANY_SHAPES` shapes that
can be grounded so takes this way. A shape can if

- it is non-recursive (`head_of`), and its clauses are weighted rules without `+` variables;
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.nodes import column, table
from sqlrl.errors import CountOverflowError, GroundingLimitError
from sqlrl.ground.counts import rule_place
from sqlrl.ground.coverage import MOST_BINDINGS, Coverage
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import UNKNOWN, Extent, Program
from sqlrl.ground.rows import INT64_MAX, AtomIndex, GroundRows, repeated
from sqlrl.logic.components import BodyLiteral, Components, constant
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import Constant
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import atom_arguments

NOWHERE = constant(2**31 - 1)
"""The term of a constant that the data do not have: no id is so large."""


MANY_SHAPES = 50
"""From this many shapes on, a few queries for all are cheaper than one for each."""

MOST_TUPLES = 1_000_000
"""The most tuples of a head's predicate that are looked at one by one where its scope is not full."""

logger = logging.getLogger(__name__)


# ---- heads, and bodies over their arguments ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClauseBody:
    """A non-recursive clause over the arguments of its head."""

    clause: int
    positive: bool  # whether the head is a positive literal
    body: tuple[BodyLiteral, ...]  # predicates are indices into the closed ones, sorted
    same: tuple[tuple[int, int], ...]  # arguments of the head that are one variable: the first of them, and another
    fixed: tuple[tuple[int, int], ...]  # arguments of the head that are constants, with their ids


def head_of(bound: BoundShape) -> ShapeLiteral | None:
    """Return the head of a non-recursive shape whose body components can be evaluated; None for other shapes."""
    shape = bound.shape
    if shape.equalities or shape.exists:
        return None
    heads = [x for x in shape.literals if bound.info(x).open]
    body = [x for x in shape.literals if not bound.info(x).open]
    if len(heads) != 1 or any(x.positive for x in body):
        return None
    if bound.hidden is not None and not bound.info(heads[0]).example_column:
        return None
    mentioned = {slot for x in shape.literals for slot in x.terms}
    variables = [Slot(False, i) for i in range(len(shape.variables))]
    if any(slot not in mentioned or bound.is_local(slot) for slot in variables):
        return None
    return heads[0]


def _heads_of(program: Program) -> dict[Shape, ShapeLiteral]:
    """Return the heads of the non-recursive shapes of a program of which no template has clauses."""
    templates = {x.shape for bound in program.features if bound.feature.plus for x in bound.instances}
    found = {shape: head_of(use.bound) for shape, use in program.shapes.items() if shape not in templates}
    return {shape: head for shape, head in found.items() if head is not None}


def _clause_bodies(program: Program, heads: Mapping[Shape, ShapeLiteral]) -> dict[str, list[ClauseBody]]:
    """Return the bodies of the clauses of non-recursive shapes, by the predicate of their heads."""
    closed = {name: i for i, name in enumerate(_closed_predicates(program.layout))}
    clause_of = {feature: clause for clause, feature in enumerate(program.feature_of)}
    found: dict[str, list[ClauseBody]] = {}
    for feature, bound in enumerate(program.features):
        for instance in bound.instances:
            if instance.shape in heads:
                head = heads[instance.shape]
                body = _clause_body(program, clause_of[feature], instance, head, closed)
                found.setdefault(head.predicate, []).append(body)
    return found


def _closed_predicates(layout: Layout) -> tuple[str, ...]:
    """Return the closed predicates, ascending."""
    return tuple(sorted(name for name, info in layout.predicates.items() if not info.open))


def _clause_body(
    program: Program, clause: int, instance: Instance, head: ShapeLiteral, closed: dict[str, int]
) -> ClauseBody:
    """Number the variables of a clause: the head's arguments, then the others."""
    ids = []
    for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
        assert isinstance(term, Constant), "templates are left out"
        ids.append(program.constants.of(kind)[term.name])
    terms: dict[Slot, int] = {}
    same, fixed = [], []
    for j, slot in enumerate(head.terms):
        if slot.parameter:
            fixed.append((j, ids[slot.index]))
        elif terms.setdefault(slot, j) != j:
            same.append((terms[slot], j))
    free = len(head.terms)
    for literal in instance.shape.literals:
        for slot in literal.terms:
            if slot not in terms and not slot.parameter:
                terms[slot] = free
                free += 1
    body = [
        BodyLiteral(
            closed[x.predicate],
            tuple(_constant(ids[slot.index]) if slot.parameter else terms[slot] for slot in x.terms),
        )
        for x in instance.shape.literals
        if x.predicate != head.predicate
    ]
    return ClauseBody(clause, head.positive, tuple(body), tuple(same), tuple(fixed))


def _constant(identity: int) -> int:
    return NOWHERE if identity == UNKNOWN else constant(identity)


# ---- counts of bodies --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """The non-recursive clauses of a program at its query atoms."""

    atoms: IntArray  # shape (n,), ids of the query atoms of all open predicates, ascending
    units: sparse.csr_array  # shape (n, m), as `Network.units`; of `body => head` the groundings of the body
    evaluated: BoolArray  # shape (m,), the clauses that were evaluated; the columns of the others are empty


def features(program: Program, examples: TableName | None = None, *, limit: int = MOST_BINDINGS) -> Features:
    """Count the body groundings of non-recursive clauses, without templates, at the query atoms of some or all examples."""
    clauses = _whole(program)
    ids, pieces = [np.zeros(0, np.int64)], []
    for info in (info for _, info in sorted(program.layout.predicates.items()) if info.open):
        atoms, example, arguments = _atoms_with_arguments(program, info, examples)
        ids.append(atoms)
        if info.name in clauses:
            found = clauses[info.name]
            pieces.append((atoms, found, _body_counts(program, info, found, arguments, example, limit)))
    every = np.sort(np.concatenate(ids))
    sign = program.signs()
    rows, columns, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for atoms, found, counts in pieces:
        entries = counts.tocoo()
        clause = np.array([x.clause for x in found], dtype=np.int64)
        change = sign[clause] * np.where([x.positive for x in found], 1, -1)
        rows.append(np.searchsorted(every, atoms)[entries.coords[1]])
        columns.append(clause[entries.coords[0]])
        values.append(entries.data * change[entries.coords[0]])
    places = (np.concatenate(rows), np.concatenate(columns))
    units = sparse.coo_array((np.concatenate(values), places), shape=(len(every), program.clause_count)).tocsr()
    evaluated = np.zeros(program.clause_count, np.bool_)
    evaluated[[x.clause for group in clauses.values() for x in group]] = True
    return Features(every, units, evaluated)


def _whole(program: Program) -> dict[str, list[ClauseBody]]:
    """Return the bodies of the clauses all of whose instances are non-recursive, by the predicate of their heads."""
    heads = _heads_of(program)
    partly = {
        feature
        for feature, bound in enumerate(program.features)
        if any(instance.shape not in heads for instance in bound.instances)
    }
    every = _clause_bodies(program, heads)
    kept = {name: [x for x in found if program.feature_of[x.clause] not in partly] for name, found in every.items()}
    return {name: found for name, found in kept.items() if found}


def _atoms_with_arguments(
    program: Program, info: PredicateInfo, examples: TableName | None
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the ids, examples and arguments of a predicate's query atoms, by id: shapes (n,), (n,) and (n, h)."""
    data = program.engine.fetch(atom_arguments(info, examples), step=f"read the query atoms of {info.name}")
    arguments = np.empty((data.num_rows, len(info.types)), np.int64)
    for i in range(len(info.types)):
        arguments[:, i] = data.column(f"a{i}").to_numpy()
    atom, example = (np.asarray(data.column(name).to_numpy(), dtype=np.int64) for name in ("atom", "example"))
    return atom, example, arguments


def _body_counts(
    program: Program,
    info: PredicateInfo,
    clauses: Sequence[ClauseBody],
    arguments: IntArray,
    example: IntArray,
    limit: int,
) -> sparse.csr_array:
    """Return the body groundings of clauses with one head predicate at atoms of it, shape (clauses, atoms)."""
    n, layout = len(arguments), program.layout
    components = Components(len(info.types))
    bodies = [components.split(clause.body) for clause in clauses]
    every = list(dict.fromkeys(component for body in bodies for component in body))
    with Coverage(
        program.engine, layout, components, _closed_predicates(layout), arguments, example, limit=limit
    ) as found:
        counts = found.evaluate(every, keep=False)
    factors = sparse.csr_array((counts.count, counts.atom, counts.indptr), shape=(len(every), n))
    number = {component: i for i, component in enumerate(every)}
    chosen = [[number[component] for component in body] for body in bodies]
    # What the head's own constants and repeated variables demand is one factor more.
    heads = list(dict.fromkeys((x.same, x.fixed) for x in clauses if x.same or x.fixed))
    if heads:
        fits = [sparse.csr_array(_fits(arguments, same, fixed)[None].astype(np.int64)) for same, fixed in heads]
        factors = sparse.vstack([factors, *fits], format="csr")
        for clause, factor in zip(clauses, chosen, strict=True):
            if clause.same or clause.fixed:
                factor.append(len(every) + heads.index((clause.same, clause.fixed)))
    return _products(program, clauses, chosen, factors)


def _fits(arguments: IntArray, same: Sequence[tuple[int, int]], fixed: Sequence[tuple[int, int]]) -> BoolArray:
    """Return the atoms that a head can be."""
    fits = np.ones(len(arguments), np.bool_)
    for first, other in same:
        fits &= arguments[:, first] == arguments[:, other]
    for place, identity in fixed:
        fits &= arguments[:, place] == identity
    return fits


def _products(
    program: Program, clauses: Sequence[ClauseBody], chosen: Sequence[Sequence[int]], factors: sparse.csr_array
) -> sparse.csr_array:
    """Multiply the rows of `factors` that each clause has chosen, entry by entry; without any, all entries are 1."""
    n = factors.shape[1]
    groups: dict[int, list[int]] = {}
    for i, rows in enumerate(chosen):
        groups.setdefault(len(rows), []).append(i)
    pieces, order = [sparse.csr_array((0, n), dtype=np.int64)], []
    for size, members in sorted(groups.items()):
        if not size:
            product = sparse.csr_array(np.ones((len(members), n), np.int64))
        else:
            picked = np.array([chosen[i] for i in members], dtype=np.int64)
            product = factors[picked[:, 0]]
            for j in range(1, size):
                other = factors[picked[:, j]]
                _check(program, [clauses[i].clause for i in members], product, other)
                product = product.multiply(other).tocsr()
        pieces.append(product)
        order += members
    return sparse.vstack(pieces, format="csr")[np.argsort(np.array(order, dtype=np.int64))]


def _check(program: Program, clauses: Sequence[int], left: sparse.csr_array, right: sparse.csr_array) -> None:
    """Raise if an entry of a product does not fit into 64 bits; entries are looked at only where the greatest might not."""
    for i in np.flatnonzero(_greatest(left) * _greatest(right) > INT64_MAX / 2).tolist():
        one, other = (dict(zip(x[[i]].indices.tolist(), x[[i]].data.tolist(), strict=True)) for x in (left, right))
        most = max((value * other.get(atom, 0) for atom, value in one.items()), default=0)
        if most > INT64_MAX:
            place = rule_place(program, program.feature_of[clauses[i]])
            raise CountOverflowError(f"{place} has {most:,} groundings for one atom, which do not fit into 64 bits")


def _greatest(matrix: sparse.csr_array) -> np.ndarray:
    """Return the greatest entry of each row, 0 for an empty one, as floating-point numbers."""
    found = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        found[filled] = np.maximum.reduceat(matrix.data, matrix.indptr[filled])
    return found


# ---- grounding together ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Together:
    """The ground clauses of shapes that were grounded together."""

    shapes: frozenset[Shape]
    pieces: tuple[GroundRows, ...]  # rows with one literal, and rows without any, which the evidence violates


def ground_together(extent: Extent, index: AtomIndex, *, least: int | None = None) -> Together:
    """Ground the shapes that can be grounded together; the result is empty if they are fewer than `least` or too large."""
    program, limit = extent.program, extent.limit
    none, many = Together(frozenset(), ()), MANY_SHAPES if least is None else least
    if len(program.shapes) < many:
        # Most models: nothing is looked at in every window of a stream.
        return none
    heads = _heads_of(program)
    hard = {x.shape for bound in program.features if bound.hard for x in bound.instances}
    heads = {
        shape: head for shape, head in heads.items() if shape not in hard and _heads_are_known(program, shape, head)
    }
    if len(heads) < many:
        return none
    most = MOST_BINDINGS if limit is None else min(limit, MOST_BINDINGS)
    pieces: list[GroundRows] = []
    try:
        for name, clauses in sorted(_clause_bodies(program, heads).items()):
            pieces += _ground(program, program.layout.predicates[name], clauses, index, extent.examples, most)
    except (GroundingLimitError, CountOverflowError) as error:
        logger.info("%d shapes are grounded one by one: %s", len(heads), error)
        return none
    if limit is not None and sum(len(rows.clause) for rows in pieces) > limit:
        return none
    return Together(frozenset(heads), tuple(pieces))


def _heads_are_known(program: Program, shape: Shape, head: ShapeLiteral) -> bool:
    """Return whether all that is needed of a shape's heads can be known; see the module."""
    info, layout = program.layout.predicates[head.predicate], program.layout
    if info.has_given or any(
        slot.parameter and slot.index in program.shapes[shape].bound.unknown for slot in head.terms
    ):
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
) -> list[GroundRows]:
    """Return the rows of clauses with one head predicate."""
    ids, example, arguments = _atoms_with_arguments(program, info, examples)
    local = index.local(ids) + 1
    if info.full_scope or not any(x.positive for x in clauses) or not _asked(program, examples):
        counts = _body_counts(program, info, clauses, arguments, example, most)
        return [_units(clauses, counts, local)]
    sizes = [program.layout.types[kind].size for kind in info.types]
    every = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T
    atom = np.zeros(len(every), np.int64)
    atom[np.ravel_multi_index(tuple(arguments.T), sizes) if sizes else 0] = local
    counts = _body_counts(program, info, clauses, every, np.zeros(len(every), np.int64), most)
    outside = counts.tocoo()
    there = atom[outside.coords[1]] == 0
    positive = np.array([x.positive for x in clauses])[outside.coords[0]]
    clause = np.array([x.clause for x in clauses], dtype=np.int64)[outside.coords[0]]
    lost = there & positive
    size, nothing = int(lost.sum()), np.zeros(0, np.int64)
    violated = GroundRows(clause[lost], nothing, repeated(0, size), outside.data[lost])
    return [_units(clauses, counts, atom), violated]


def _units(clauses: Sequence[ClauseBody], counts: sparse.csr_array, atom: IntArray) -> GroundRows:
    """Return the rows with one literal, by clause; `atom` is the local number of each column's atom from 1, 0 for none."""
    entries = counts.tocoo()
    clause = np.array([x.clause for x in clauses], dtype=np.int64)[entries.coords[0]]
    sign = np.array([1 if x.positive else -1 for x in clauses], dtype=np.int64)[entries.coords[0]]
    literals = sign * atom[entries.coords[1]]
    inside = literals != 0
    size = int(inside.sum())
    return GroundRows(clause[inside], literals[inside], repeated(1, size), entries.data[inside])


def _asked(program: Program, examples: TableName | None) -> bool:
    """Return whether the one example of undivided data is asked for."""
    if examples is None:
        return True
    query = exp.select(column("example")).from_(table(examples)).limit(1)
    return bool(program.engine.fetch(query, step="look at the examples").num_rows)
