"""Grounding of a program: its network in arrays, counts of ground clauses of which none is kept, and what the evidence alone decides.

One query a shape is streamed; many non-recursive shapes are grounded together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo
from sqlrl.distinct import distinct
from sqlrl.engine.nodes import column, named, star_count, subquery, table
from sqlrl.errors import CountOverflowError, InfeasibleError
from sqlrl.ground.atoms import Atoms, read_atoms, read_labels
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.counts import Counts, check_limit, groundings, rule_place, run_counts, violated_by_evidence
from sqlrl.ground.features import ground_together
from sqlrl.ground.memory import check_memory, memory_budget
from sqlrl.ground.network import BoolArray, IntArray, Network, TiedTable
from sqlrl.ground.pipeline import Pipeline, plans
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.ground.rows import (
    INT64_MAX,
    PIECE,
    AtomIndex,
    Budget,
    GroundRows,
    Values,
    by_clause,
    single,
)
from sqlrl.ground.tied import tied_rows, tied_table
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeExists, ShapeLiteral, Slot, in_given_order
from sqlrl.logic.terms import Clause, EqualityLiteral, ExistsLiteral, Literal, Variable
from sqlrl.plan.counting import count_violated
from sqlrl.plan.named_clauses import evidence_violations
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import POSSIBLE
from sqlrl.wording import counted

INT32_MAX = int(np.iinfo(np.int32).max)

# ---- the network -------------------------------------------------------------------------------------


def ground_network(extent: Extent, *, check: bool = True, budget: Budget | None = None, views: bool = False) -> Network:
    """Ground a program over the query atoms of some examples; with `views`, uniform columns are read-only views."""
    atoms = read_atoms(extent)
    index = AtomIndex(atoms.ids)
    # Without a budget the network is what memory allows, else a MemoryLimitError before it is grounded.
    if budget is None:
        extent.program.engine.leave(check_memory(extent, len(atoms.ids)))
        budget = memory_budget(extent.program, len(atoms.ids))
    budget.take(len(atoms.ids))
    evidence = violated_by_evidence(extent)
    together = ground_together(extent, index)
    pieces: list[GroundRows | TiedTable] = list(together.pieces)
    budget.take(sum(len(rows.literals) for rows in together.pieces))
    pipeline = Pipeline(extent, index, evidence, budget)
    for each in plans(extent, without=together.shapes):
        tied = tied_table(extent, atoms, pipeline, each)
        if tied is not None:
            pieces.append(tied)
            continue
        check_limit(extent, each.use)
        pieces += pipeline.rows(each)
    network = assemble(extent, atoms, pieces, evidence, views=views)
    if check:
        check_evidence(extent, network.evidence_violated)
    return network


def assemble(
    extent: Extent,
    atoms: Atoms,
    pieces: Sequence[GroundRows | TiedTable],
    evidence: npt.NDArray[np.object_],
    *,
    total: npt.NDArray[np.object_] | None = None,
    views: bool = False,
) -> Network:
    """Put the ground clauses of a program into a network; `evidence` has violated groundings without a row, `total` the groundings if they are counted."""
    program = extent.program
    number = groundings(extent) if total is None else total
    network = assembled(atoms, pieces, evidence, number, program.signs(), program.hard(), views=views)
    check_sizes(program, network.open)
    return network


def assembled(
    atoms: Atoms,
    pieces: Sequence[GroundRows | TiedTable],
    evidence: npt.NDArray[np.object_],
    total: npt.NDArray[np.object_],
    sign: IntArray,
    hard: BoolArray,
    *,
    views: bool = False,
) -> Network:
    """Put unit clauses into a matrix, longer rows in order of clauses; the other arrays are by clause, shape (m,)."""
    n, m = len(atoms.ids), len(sign)
    opened, unit_parts = np.full(m, 0, dtype=object), []
    row_parts: list[GroundRows | TiedTable] = []
    for rows in pieces:
        if isinstance(rows, TiedTable):
            opened[rows.clauses] += sum(rows.multiplicity.tolist())
            row_parts.append(rows)
            continue
        empty, unit, longer = rows.split()
        add_per_clause(evidence, empty)
        add_per_clause(opened, unit)
        add_per_clause(opened, longer)
        unit_parts.append(unit)
        row_parts.append(longer)
    units, positive_units, hard_units = _units(unit_parts, sign, hard, n)
    decided = np.flatnonzero(atoms.decided)
    forced = np.stack([np.full(len(decided), -1), -(decided + 1)], axis=1)
    signed = sign.astype(object)

    # A view of one number takes no memory, but compiled loops cannot read it; solvers of most probable worlds and
    # marginals can.
    def owned(values: npt.NDArray[Values]) -> npt.NDArray[Values]:
        """Return an array that can be written, unless views will do."""
        return values if views else np.require(values, requirements=["C", "W"])

    base = np.where(sign > 0, total, 0) - signed * (evidence + positive_units)
    return Network(
        atoms=atoms.ids,
        example=owned(atoms.example),
        clauses=np.arange(m, dtype=np.int64),
        sign=sign,
        hard=hard,
        rows=tied_rows(row_parts, atoms, m),
        units=units,
        base=base,
        total=total,
        evidence_violated=evidence,
        open=opened,
        prior=owned(atoms.prior),
        block=owned(atoms.block),
        block_exact=atoms.block_exact,
        helper=owned(atoms.helper),
        hard_units=np.concatenate([hard_units, forced]).astype(np.int64),
    )


def check_sizes(program: Program, open_counts: npt.NDArray[np.object_]) -> None:
    """Raise if the open groundings of a clause do not fit into 64 bits: then every sum over them does."""
    for clause in np.flatnonzero(open_counts > INT64_MAX).tolist():
        place = rule_place(program, program.feature_of[clause])
        raise CountOverflowError(f"{place} has {open_counts[clause]:,} open groundings, which do not fit into 64 bits")


def add_per_clause(total: npt.NDArray[np.object_], rows: GroundRows) -> None:
    """Add the multiplicities of rows to the totals of their clauses, exactly; `total` has shape (m,)."""
    size, clause, multiplicity = len(rows.clause), single(rows.clause), single(rows.multiplicity)
    if not size:
        return
    if clause is not None and multiplicity is not None:
        total[clause] += multiplicity * size
        return
    # A shape has few of the clauses: nothing here takes time for all m.
    groups = distinct([rows.clause])
    fits = int(rows.multiplicity.max()) * size <= INT64_MAX
    each = rows.multiplicity[groups.order]
    found = np.add.reduceat(each if fits else each.astype(object), groups.starts[:-1])
    total[rows.clause[groups.first]] += found.astype(object)


def _units(
    parts: list[GroundRows], sign: IntArray, hard: npt.NDArray[np.bool_], n: int
) -> tuple[sparse.csr_array, npt.NDArray[np.object_], IntArray]:
    """Return how unit clauses change n, shape (n, m), their violated groundings if all atoms are false, and the hard ones."""
    rows = by_clause(parts)
    m, clause = len(sign), single(rows.clause)
    if clause is not None and _ascending(rows.literals):
        return _units_of_one(rows, clause, sign, hard, n)
    atom, negative = np.abs(rows.literals) - 1, rows.literals < 0
    change = sign[rows.clause] * np.where(negative, -rows.multiplicity, rows.multiplicity)
    matrix = sparse.coo_array((change, (atom, rows.clause)), shape=(n, m)).tocsr()
    matrix.sum_duplicates()
    violated = np.zeros(m, np.int64)
    np.add.at(violated, rows.clause[~negative], rows.multiplicity[~negative])
    is_hard = hard[rows.clause]
    return matrix, violated.astype(object), np.stack([rows.clause[is_hard], rows.literals[is_hard]], axis=1)


def _ascending(literals: IntArray) -> bool:
    """Whether each of some literals is of an atom after that of the one before."""
    return all(
        bool((np.diff(np.abs(literals[max(start - 1, 0) : start + PIECE])) > 0).all())
        for start in range(0, len(literals), PIECE)
    )


def _units_of_one(
    rows: GroundRows, clause: int, sign: IntArray, hard: npt.NDArray[np.bool_], n: int
) -> tuple[sparse.csr_array, npt.NDArray[np.object_], IntArray]:
    """Do what `_units` does for one ground clause of one clause an atom, in ascending order, with no more memory than the matrix takes."""
    r, m = len(rows.literals), len(sign)
    kind = np.int32 if max(n, r, m) < INT32_MAX else np.int64
    data, pointer, violated = np.empty(r, np.int64), np.zeros(n + 1, kind), 0
    for start in range(0, r, PIECE):
        literals = rows.literals[start : start + PIECE]
        positive, multiplicity = literals > 0, rows.multiplicity[start : start + PIECE]
        data[start : start + PIECE] = sign[clause] * np.where(positive, multiplicity, -multiplicity)
        pointer[np.abs(literals)] = 1
        violated += int(multiplicity[positive].sum())
    np.cumsum(pointer, out=pointer)
    matrix = sparse.csr_array((data, np.full(r, clause, kind), pointer), shape=(n, m))
    counts = np.full(m, 0, dtype=object)
    counts[clause] = violated
    listed = np.stack([rows.clause, rows.literals], axis=1) if hard[clause] else np.zeros((0, 2), np.int64)
    return matrix, counts, listed


# ---- one pass over ground clauses --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Observed:
    """Exact counts of ground clauses, each of shape (m,)."""

    open: Counts  # what the evidence leaves open
    evidence_violated: Counts  # what the evidence violates
    violated: Counts  # what the observed world violates, of either kind


def observed_counts(extent: Extent) -> Observed:
    """Count the ground clauses of a program that are open, that the evidence violates, and that the labels violate."""
    program, atoms = extent.program, read_atoms(extent).ids
    truth, _ = read_labels(program.engine, program.layout, atoms, extent.examples)
    # The extent's limit holds here alone: the ground clauses of other shapes pass by, and none is kept.
    evidence = violated_by_evidence(extent)
    opened, wrong = (np.full(program.clause_count, 0, dtype=object) for _ in range(2))
    for rows in ground_clauses(extent, atoms, evidence):
        some = rows.length > 0
        add_per_clause(evidence, rows.take(~some))
        left = rows.take(some)
        add_per_clause(opened, left)
        add_per_clause(wrong, left.take(_violated_rows(left, truth)))
    return Observed(opened, evidence, evidence + wrong)


def ground_clauses(extent: Extent, atoms: IntArray, evidence: Counts) -> Iterator[GroundRows]:
    """Yield the ground clauses that evidence does not satisfy, in batches, without order or limit; `atoms` ascend."""
    pipeline = Pipeline(replace(extent, limit=None), AtomIndex(atoms), evidence)
    for each in plans(extent):
        yield from pipeline.unordered(each)


def _violated_rows(rows: GroundRows, truth: BoolArray) -> BoolArray:
    """Return which rows, all with literals, a world violates."""
    if not len(rows.length):
        return np.zeros(0, dtype=np.bool_)
    false = truth[np.abs(rows.literals) - 1] == (rows.literals < 0)
    found: BoolArray = np.logical_and.reduceat(false, rows.starts()[:-1])
    return found


# ---- hard clauses and blocks that the evidence alone makes impossible --------------------------------


def check_evidence(extent: Extent, violated: Counts) -> None:
    """Raise an InfeasibleError if evidence alone violates a hard clause (in `violated` groundings, by clause) or a block."""
    program = extent.program
    for clause in np.flatnonzero(program.hard() & (violated > 0)).tolist():
        found = violated[clause]
        for use in program.shapes.values():
            text = _violated_text(extent, use, clause)
            if text is not None:
                raise InfeasibleError(_message(text, f"violates this hard clause in {counted(found, 'grounding')}"))
    for use, problem in block_shapes(program):
        text = _violated_text(extent, use, None)
        if text is not None:
            raise InfeasibleError(_message(text, problem))


def _message(text: str, problem: str) -> str:
    return (
        f"the evidence alone {problem}, so no world is possible: {text}; correct these facts, or give the rule a weight"
    )


def _may_be_empty(program: Program, rule: BlockRule) -> bool:
    """Return True if the type of a block may have no constants: in all the data, or in an example."""
    kinds = program.layout.predicates[rule.predicate].types
    types = [program.layout.types[kinds[i]] for i in rule.positions]
    return rule.exact and any(kind.local or not kind.size for kind in types)


def block_shapes(program: Program) -> Iterator[tuple[ShapeUse, str]]:
    """Yield what blocks say, as clauses that evidence can violate, and what it does to the block then."""
    for rule in program.blocks:
        info = program.layout.predicates[rule.predicate]
        # Evidence may make two atoms of a block true, or all atoms of a block of which one must be true false.
        if info.has_given or _may_be_empty(program, rule):
            for clause, problem in block_clauses(info, rule):
                shape = in_given_order(clause, program.layout.type_of, program.layout.example_type).shape
                yield ShapeUse(bind(shape, program.layout)), problem


def block_clauses(info: PredicateInfo, rule: BlockRule) -> Iterator[tuple[Clause, str]]:
    """Yield what a block says as clauses: no two atoms are true, and, if exactly one is, one is."""
    kept = [(f"x{i}", kind) for i, kind in enumerate(info.types)]
    twins = [(f"y{i}" if i in rule.positions else name, kind) for i, (name, kind) in enumerate(kept)]
    one, other = (Literal(info.name, tuple(Variable(n) for n, _ in names), False) for names in (kept, twins))
    variables = tuple(dict.fromkeys([*kept, *twins]))
    for i in rule.positions if info.has_given else ():
        same = EqualityLiteral(Variable(f"x{i}"), Variable(f"y{i}"))
        yield Clause(variables, (one, other, same)), "makes two atoms of a block true"
    if rule.exact and info.full_scope:
        inside = tuple(v for i, v in enumerate(kept) if i in rule.positions)
        outside = tuple(v for i, v in enumerate(kept) if i not in rule.positions)
        some = ExistsLiteral(inside, (Literal(info.name, one.terms),))
        none = "makes every atom of a block false" if info.has_given else "leaves a block without atoms"
        yield Clause(outside, (some,)), f"{none} of which one must be true"


def _violated_text(extent: Extent, use: ShapeUse, clause: int | None) -> str | None:
    """Return a ground clause of a shape that the evidence violates, as text; None if there is none."""
    if clause is not None and use.parameters is None and clause not in use.clauses:
        return None
    program, shape, query = extent.program, use.shape, evidence_violations(use.bound, extent.examples)
    if use.parameters is not None:
        query = query.where(exp.EQ(this=column("clause", "p"), expression=exp.convert(clause)))
    # The first in order: which one comes first otherwise is the engine's affair.
    query = query.order_by(*(column(each.alias) for each in query.selects)).limit(1)
    rows: pa.Table = program.engine.fetch(query, step=f"look for what the evidence violates in {shape}")
    if not rows.num_rows:
        return None
    row = rows.to_pylist()[0]
    names = {slot: _name(program, kind, row[str(slot)]) for slot, kind in _slots(shape) if str(slot) in row}
    return _text(shape, names)


def _slots(shape: Shape) -> Iterator[tuple[Slot, str]]:
    yield from ((Slot(False, i), kind) for i, kind in enumerate(shape.variables))
    yield from ((Slot(True, i), kind) for i, kind in enumerate(shape.parameters))


def _name(program: Program, kind: str, identity: int) -> str:
    query = exp.select(column("name")).from_(table(program.layout.types[kind].dictionary))
    query = query.where(exp.EQ(this=column("id"), expression=exp.convert(identity)))
    found = program.engine.fetch(query, step="look up a name").column(0).to_pylist()
    return str(found[0]) if found else f"a {kind} that the data do not have"


def _text(shape: Shape, names: dict[Slot, str]) -> str:
    """Print a ground clause; quantified variables keep their canonical names."""

    def literal(x: ShapeLiteral) -> str:
        """Return a literal as text."""
        return f"{'' if x.positive else '!'}{x.predicate}({', '.join(names.get(s, str(s)) for s in x.terms)})"

    def equality(x: ShapeEquality) -> str:
        """Return an equality as text."""
        return f"{names.get(x.left, str(x.left))} {'=' if x.positive else '!='} {names.get(x.right, str(x.right))}"

    def group(x: ShapeExists) -> str:
        """Return an existential group as text."""
        inside = " ^ ".join([*map(literal, x.literals), *map(equality, x.equalities)])
        return f"EXIST {','.join(f'v{i}' for i in x.variables)} ({inside})"

    parts = [*map(literal, shape.literals), *map(equality, shape.equalities), *map(group, shape.exists)]
    return " v ".join(parts) or "FALSE"


# ---- what the evidence alone violates, counted in SQL ------------------------------------------------


def decided_false(extent: Extent) -> Counts:
    """Return `Network.evidence_violated` without grounding: groundings whose literals evidence makes false, shape (m,)."""
    program, examples = extent.program, extent.examples
    found = violated_by_evidence(extent)
    for each in plans(extent):
        use = each.use
        if loose_literal(use.bound) is not None:
            for clause, n in run_counts(program, use, count_violated(use.bound, POSSIBLE, examples)):
                found[clause] += n
            continue
        query = evidence_violations(use.bound, examples)
        number = exp.select(named(star_count(), "n")).from_(subquery(query, "q"))
        if use.parameters is not None:
            number = number.select(column("clause", "q")).group_by(column("clause", "q"))
        data = program.engine.fetch(number, step=f"count what the evidence violates of {use.shape}").to_pylist()
        for row in data:
            for clause in [row["clause"]] if use.parameters is not None else use.clauses:
                found[clause] += row["n"]
    return found
