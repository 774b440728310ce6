"""Groundings that the evidence alone violates, counted in SQL."""

from __future__ import annotations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, named, star_count, subquery
from sqlrl.ground.assemble import plans
from sqlrl.ground.counts import Counts, violated_by_evidence
from sqlrl.ground.program import Program
from sqlrl.ground.running import run_counts
from sqlrl.plan import violations
from sqlrl.plan.counting import count_violated
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.slots import bind
from sqlrl.plan.worlds import POSSIBLE


def decided_false(program: Program, examples: TableName | None = None, *, limit: int | None = None) -> Counts:
    r"""Return the groundings of each clause in which evidence makes every literal false, also those of shapes with open literals.

    It is `Network.evidence_violated` without grounding.

    Parameters
    ----------
    program, examples, limit
        As for `sqlrl.ground.counts.violated_by_evidence`.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Friends(x, y) => Friends(y, x)"
    >>> decided_false(sample_program(text, ["Smokes"], FRIENDS)).tolist()
    [0, 2]
    """
    found = violated_by_evidence(program, examples, limit=limit)
    for shape_plan in plans(program, examples):
        use, foreign = shape_plan.use, frozenset(shape_plan.use.foreign)
        if loose_literal(bind(use.shape, program.layout, foreign, use.parameters)) is not None:
            counted = count_violated(use.shape, program.layout, POSSIBLE, parameters=use.parameters, examples=examples)
            for clause, n in run_counts(program, use, counted):
                found[clause] += n
            continue
        query = violations.violated_by_evidence(
            use.shape, program.layout, parameters=use.parameters, examples=examples, foreign=foreign
        )
        number = exp.select(named(star_count(), "n")).from_(subquery(query, "q"))
        if use.parameters is not None:
            number = number.select(column("clause", "q")).group_by(column("clause", "q"))
        data = program.engine.fetch(number, step=f"count what the evidence violates of {use.shape}").to_pylist()
        for row in data:
            for clause in [row["clause"]] if use.parameters is not None else use.clauses:
                found[clause] += row["n"]
    return found
