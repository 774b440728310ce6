"""The ground network of a program: one query a shape, streamed into arrays; many non-recursive shapes are grounded together."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from sqlrl.catalog.layout import TableName
from sqlrl.errors import CountOverflowError
from sqlrl.ground.atoms import Atoms, read_atoms
from sqlrl.ground.counts import groundings, violated_by_evidence
from sqlrl.ground.feasible import check_evidence
from sqlrl.ground.limits import check_limit, limited
from sqlrl.ground.network import IntArray, Network
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.ground.room import Room
from sqlrl.ground.rows import AtomIndex, Rows, by_clause, read_rows, repeated, single
from sqlrl.ground.running import rule_place
from sqlrl.ground.together import ground_together
from sqlrl.ground.wide import narrowed
from sqlrl.logic.shapes import Shape
from sqlrl.plan.grounding import GroundingQuery, ground
from sqlrl.plan.slots import bind

ROWS_PER_BATCH = 262_144
INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class ShapePlan:
    """The grounding query of one shape of a program.

    Parameters
    ----------
    use : ShapeUse
    plan : GroundingQuery
    """

    use: ShapeUse
    plan: GroundingQuery


def plans(
    program: Program, examples: TableName | None = None, *, without: Collection[Shape] = ()
) -> Iterator[ShapePlan]:
    """Yield the grounding query of each shape that has an open literal, in the program's order; some shapes are left out.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> [str(p.use.shape) for p in plans(sample_program(PEOPLE, ["Smokes"], FRIENDS))]
    ['!Friends(v0, v1) v !Smokes(v0) v Smokes(v1)']
    """
    for shape, use in program.shapes.items():
        if shape in without:
            continue
        bound = bind(shape, program.layout)
        literals = (*shape.literals, *(x for group in shape.exists for x in group.literals))
        if any(bound.info(x).open for x in literals):
            foreign = frozenset(use.foreign)
            yield ShapePlan(
                use, ground(shape, program.layout, parameters=use.parameters, examples=examples, foreign=foreign)
            )


def stream(
    program: Program, examples: TableName | None = None, *, rows: int = ROWS_PER_BATCH
) -> Iterator[pa.RecordBatch]:
    """Yield the ground clauses of a program batch by batch, as they leave the database; nothing is kept.

    Yields
    ------
    pyarrow.RecordBatch
        The columns of `plan.grounding.GroundingQuery`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> sum(batch.num_rows for batch in stream(sample_program(PEOPLE, ["Smokes"], FRIENDS)))
    2
    """
    for shape_plan in plans(program, examples):
        yield from program.engine.stream(shape_plan.plan.query, step=f"ground {shape_plan.use.shape}", rows=rows)


def ground_network(
    program: Program,
    examples: TableName | None = None,
    *,
    limit: int | None = None,
    check: bool = True,
    room: Room | None = None,
) -> Network:
    r"""Ground a program over the query atoms of some examples.

    Many non-recursive shapes are grounded together (`sqlrl.ground.together` says when), which gives the same network.

    Parameters
    ----------
    program : Program
    examples : TableName, optional
        Table with a column `example`; all examples by default.
    limit : int, optional
        The most ground clauses allowed.
    check : bool
        Whether to refuse evidence that violates a hard clause or a block by itself.
    room : Room, optional
        Counts atoms and literals, and stops the work when they are too many.

    Returns
    -------
    Network

    Raises
    ------
    GroundingLimitError
        If a shape would enumerate more groundings than the limit; names the clause, where it stands, and the count.
    InfeasibleError
        If the evidence makes every world impossible; shows the ground clause.
    CountOverflowError
        If the open groundings of a clause do not fit into 64 bits, or its groundings into 128; names the clause.
    NoRoomError
        If there are more atoms and literals than there is room for.

    Examples
    --------
    >>> from sqlrl.catalog.catalog import Catalog
    >>> from sqlrl.engine.connecting import connect
    >>> from sqlrl.ground.binding import bind_program
    >>> from sqlrl.logic.mln import parse_mln
    >>> catalog = Catalog(connect(":memory:"))
    >>> catalog.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    >>> model = parse_mln("Friends(p, p)\nSmokes(p)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)", query=("Smokes",))
    >>> network = ground_network(bind_program(catalog.engine, catalog.bind(model, training=True), model))
    >>> network.literals.tolist(), network.total.tolist(), network.base.tolist()
    ([-1, 2, -2, 3], [9], [9])
    """
    atoms = read_atoms(program.engine, program.layout, program.blocks, examples, program.helper_names)
    index = AtomIndex(atoms.ids)
    pieces: list[Rows] = []
    if room is not None:
        room.take(len(atoms.ids))
    evidence = violated_by_evidence(program, examples, limit=limit)
    together = ground_together(program, index, examples, limit=limit)
    pieces += together.pieces
    if room is not None:
        room.take(sum(len(rows.literals) for rows in together.pieces))
    for shape_plan in plans(program, examples, without=together.shapes):
        pieces += _rows(program, shape_plan, index, evidence, examples, limit, room)
    network = assemble(program, atoms, pieces, evidence, examples)
    if check:
        check_evidence(program, network, examples)
    return network


def _rows(
    program: Program,
    shape_plan: ShapePlan,
    index: AtomIndex,
    evidence: npt.NDArray[np.object_],
    examples: TableName | None,
    limit: int | None,
    room: Room | None,
) -> list[Rows]:
    """Return the rows of one shape; parameters as for `narrowed` and `ground_network`."""
    use, plan = shape_plan.use, shape_plan.plan
    if limit is not None:
        check_limit(program, use, limit, examples)
    batches = program.engine.stream(plan.query, step=f"ground {use.shape}", rows=ROWS_PER_BATCH)
    if limit is not None:
        batches = limited(batches, program, use, limit)
    if room is not None:
        batches = room.taken(batches, plan)
    batches = narrowed(batches, plan, program, use, evidence)
    first = use.clauses[0] if use.clauses else 0
    rows = read_rows(batches, plan, index, first, program.clause_count)
    return [rows] if plan.has_clause else [with_clause(rows, clause) for clause in use.clauses]


def with_clause(rows: Rows, clause: int) -> Rows:
    """Return the rows of a shape without parameters as those of one of its clauses.

    Examples
    --------
    >>> with_clause(Rows(*(np.array(x) for x in ([0, 0], [-1, 2], [1, 1], [1, 1]))), 7).clause.tolist()
    [7, 7]
    """
    return Rows(repeated(clause, len(rows.clause)), rows.literals, rows.length, rows.multiplicity)


def assemble(
    program: Program,
    atoms: Atoms,
    pieces: list[Rows],
    evidence: npt.NDArray[np.object_],
    examples: TableName | None,
) -> Network:
    """Put the rows of all shapes together: unit clauses into a matrix, the others into rows ordered by clause.

    `evidence` has the groundings that the evidence violates, as far as they are not among the rows.

    Examples
    --------
    >>> from sqlrl.ground.counts import violated_by_evidence
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> atoms = read_atoms(program.engine, program.layout, program.blocks, None)
    >>> rows = Rows(*(np.array(x) for x in ([0], [-1, 2], [2], [1])))
    >>> assemble(program, atoms, [rows], violated_by_evidence(program), None).literals.tolist()
    [-1, 2]
    """
    n, m = len(atoms.ids), program.clause_count
    sign, hard = program.signs(), program.hard()
    opened, unit_parts, row_parts = np.full(m, 0, dtype=object), [], []
    for rows in pieces:
        empty, unit, longer = rows.split()
        add_per_clause(evidence, empty)
        add_per_clause(opened, unit)
        add_per_clause(opened, longer)
        unit_parts.append(unit)
        row_parts.append(longer)
    check_sizes(program, opened)
    units, positive_units, hard_units = _units(unit_parts, sign, hard, n)
    decided = np.flatnonzero(atoms.decided)
    forced = np.stack([np.full(len(decided), -1), -(decided + 1)], axis=1)
    multi = by_clause(row_parts)
    total = groundings(program, examples)
    signed = sign.astype(object)
    base = np.where(sign > 0, total, 0) - signed * (evidence + positive_units)
    return Network(
        atoms=atoms.ids,
        example=atoms.example,
        clauses=np.arange(m, dtype=np.int64),
        sign=sign,
        hard=hard,
        indptr=multi.starts(),
        literals=multi.literals,
        row_clause=np.require(multi.clause, requirements="W"),
        multiplicity=np.require(multi.multiplicity, requirements="W"),
        units=units,
        base=base,
        total=total,
        evidence_violated=evidence,
        open=opened,
        prior=atoms.prior,
        block=atoms.block,
        block_exact=atoms.block_exact,
        helper=atoms.helper,
        hard_units=np.concatenate([hard_units, forced]).astype(np.int64),
    )


def check_sizes(program: Program, opened: npt.NDArray[np.object_]) -> None:
    """Raise if the open groundings of a clause do not fit into 64 bits: then every sum over them does.

    Raises
    ------
    CountOverflowError

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> check_sizes(sample_program(PEOPLE, ["Smokes"], FRIENDS), np.array([2**63], dtype=object))
    Traceback (most recent call last):
    sqlrl.errors.CountOverflowError: <text>:3: Friends(x, y) ^ Smokes(x) => Smokes(y) has 9,223,372,036,854,775,808 open ...
    """
    for clause in np.flatnonzero(opened > INT64_MAX).tolist():
        place = rule_place(program, program.feature_of[clause])
        raise CountOverflowError(f"{place} has {opened[clause]:,} open groundings, which do not fit into 64 bits")


def add_per_clause(total: npt.NDArray[np.object_], rows: Rows) -> None:
    """Add the multiplicities of rows to the totals of their clauses, exactly; `total` has shape (m,).

    Examples
    --------
    >>> total = np.full(3, 0, dtype=object)
    >>> add_per_clause(total, Rows(*(np.array(x) for x in ([1, 1], [-2, -2], [1, 1], [1, 3]))))
    >>> total.tolist()
    [0, 4, 0]
    """
    size, clause, multiplicity = len(rows.clause), single(rows.clause), single(rows.multiplicity)
    if not size:
        return
    if clause is not None and multiplicity is not None:
        total[clause] += multiplicity * size
        return
    # A shape has few of the clauses: nothing here takes time for all m.
    clauses, places = np.unique(rows.clause, return_inverse=True)
    fits = int(rows.multiplicity.max()) * size <= INT64_MAX
    found = np.zeros(len(clauses), np.int64) if fits else np.full(len(clauses), 0, dtype=object)
    np.add.at(found, places, rows.multiplicity if fits else rows.multiplicity.astype(object))
    total[clauses] += found.astype(object)


def _units(
    parts: list[Rows], sign: IntArray, hard: npt.NDArray[np.bool_], n: int
) -> tuple[sparse.csr_array, npt.NDArray[np.object_], IntArray]:
    """Fold ground clauses with one literal into a matrix (atoms x clauses) of how n changes when the atom becomes true.

    Also returns, for each clause, the violated groundings when all atoms are false, and the hard unit clauses.
    """
    rows = by_clause(parts)
    m = len(sign)
    atom, negative = np.abs(rows.literals) - 1, rows.literals < 0
    change = sign[rows.clause] * np.where(negative, -rows.multiplicity, rows.multiplicity)
    matrix = sparse.coo_array((change, (atom, rows.clause)), shape=(n, m)).tocsr()
    matrix.sum_duplicates()
    violated = np.zeros(m, np.int64)
    np.add.at(violated, rows.clause[~negative], rows.multiplicity[~negative])
    is_hard = hard[rows.clause]
    return matrix, violated.astype(object), np.stack([rows.clause[is_hard], rows.literals[is_hard]], axis=1)
