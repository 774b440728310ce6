"""What all ground clauses of a program say, taken from one pass over them in which none is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sqlrl.catalog.layout import TableName
from sqlrl.ground.assemble import ROWS_PER_BATCH, add_per_clause, plans, with_clause
from sqlrl.ground.atoms import read_atoms, read_labels
from sqlrl.ground.counts import Counts, violated_by_evidence
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import Program
from sqlrl.ground.rows import AtomIndex, Rows, read_batch
from sqlrl.ground.wide import narrowed


@dataclass(frozen=True, eq=False)
class Observed:
    """Exact counts of ground clauses.

    Parameters
    ----------
    open : object array of int, shape (m,)
        Those that the evidence leaves open.
    evidence_violated : object array of int, shape (m,)
        Those that it violates.
    violated : object array of int, shape (m,)
        Those that the observed world violates, of either kind.
    """

    open: Counts
    evidence_violated: Counts
    violated: Counts


def observed_counts(program: Program, examples: TableName | None = None, *, limit: int | None = None) -> Observed:
    r"""Count the ground clauses of a program that are open, that the evidence violates, and that the labels violate.

    Parameters
    ----------
    program : Program
        m clauses.
    examples : TableName, optional
    limit : int, optional
        The most groundings that counting clauses without an open literal may enumerate.

    Raises
    ------
    GroundingLimitError, CountOverflowError
        As `sqlrl.ground.counts.violated_by_evidence` and `sqlrl.ground.wide.narrowed`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> found = observed_counts(sample_program(PEOPLE + "\n1 Friends(x, y) => Friends(y, x)", ["Smokes"], FRIENDS))
    >>> found.open.tolist(), found.evidence_violated.tolist(), found.violated.tolist()
    ([2, 0], [0, 2], [1, 2])
    """
    atoms = read_atoms(program.engine, program.layout, program.blocks, examples, program.helper_names).ids
    truth, _ = read_labels(program.engine, program.layout, atoms, examples)
    evidence = violated_by_evidence(program, examples, limit=limit)
    opened, wrong = (np.full(program.clause_count, 0, dtype=object) for _ in range(2))
    for rows in passing(program, atoms, examples, evidence):
        some = rows.length > 0
        add_per_clause(evidence, rows.take(~some))
        left = rows.take(some)
        add_per_clause(opened, left)
        add_per_clause(wrong, left.take(_violated(left, truth)))
    return Observed(opened, evidence, evidence + wrong)


def passing(program: Program, atoms: IntArray, examples: TableName | None, evidence: Counts) -> Iterator[Rows]:
    """Yield the ground clauses of a program that the evidence does not satisfy, batch by batch, in no order; equal ones may recur.

    Parameters
    ----------
    program : Program
        m clauses.
    atoms : int64 array
        The ids of the query atoms, ascending.
    examples : TableName or None
    evidence : object array of int, shape (m,)
        As for `sqlrl.ground.wide.narrowed`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> [rows.literals.tolist() for rows in passing(program, np.array([1, 2, 3]), None, np.zeros(1, object))]
    [[-1, 2, -2, 3]]
    """
    index = AtomIndex(atoms)
    for shape_plan in plans(program, examples):
        use, plan = shape_plan.use, shape_plan.plan
        batches = program.engine.stream(plan.query, step=f"ground {use.shape}", rows=ROWS_PER_BATCH)
        for batch in narrowed(batches, plan, program, use, evidence):
            if batch.num_rows:
                rows = read_batch(batch, plan, index, 0)
                yield from [rows] if plan.has_clause else [with_clause(rows, clause) for clause in use.clauses]


def _violated(rows: Rows, truth: BoolArray) -> BoolArray:
    """Return which rows, all with literals, a world violates."""
    if not len(rows.length):
        return np.zeros(0, dtype=np.bool_)
    false = truth[np.abs(rows.literals) - 1] == (rows.literals < 0)
    found: BoolArray = np.logical_and.reduceat(false, rows.starts()[:-1])
    return found
