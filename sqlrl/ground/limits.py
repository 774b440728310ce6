"""The limit on the number of ground clauses: what a shape would enumerate, and the clause that is to blame."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.counts import rule_place, run_counts
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.plan.bounds import domain_bound, enumerated

ADVICE = "join it, narrow a scope, pass fewer examples=, or raise limit="


def check_limit(program: Program, use: ShapeUse, limit: int, examples: TableName | None = None) -> None:
    r"""Refuse a shape whose joins would enumerate more groundings than a limit, which is counted without enumerating them.

    Parameters
    ----------
    program : Program
    use : ShapeUse
    limit : int
    examples : TableName, optional

    Raises
    ------
    GroundingLimitError
        Names the clause with the most groundings, where it stands, how many clauses share its shape, and the count.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE + "\n1 Smokes(x) v Smokes(y)", ["Smokes"], FRIENDS)
    >>> for use in program.shapes.values():
    ...     check_limit(program, use, 5)
    Traceback (most recent call last):
    sqlrl.errors.GroundingLimitError: <text>:4: Smokes(x) v Smokes(y) leaves 9 groundings to enumerate, more than the limit of 5 ...
    """
    if domain_bound(use.shape, program.layout) * max(program.clauses_of(use), 1) <= limit:
        return
    foreign = frozenset(use.foreign)
    for query in enumerated(use.shape, program.layout, parameters=use.parameters, examples=examples, foreign=foreign):
        found = run_counts(program, use, query)
        size = sum(n for _, n in found)
        if size > limit:
            most, _ = max(found, key=lambda pair: pair[1])
            witnesses = " and witnesses" if use.shape.exists else ""
            raise GroundingLimitError(
                f"{_place(program, most)} leaves {size:,} groundings{witnesses} to enumerate, more than the limit of {limit:,} "
                f"({_shape(program, use)}): a variable that no closed literal joins ranges over its whole domain; {ADVICE}"
            )


def limited(batches: Iterator[pa.RecordBatch], program: Program, use: ShapeUse, limit: int) -> Iterator[pa.RecordBatch]:
    """Pass batches on until they hold more rows than a limit.

    Raises
    ------
    GroundingLimitError
    """
    seen = 0
    for batch in batches:
        seen += batch.num_rows
        if seen > limit:
            clause = batch.column("clause")[0].as_py() if use.parameters is not None else use.clauses[0]
            raise GroundingLimitError(
                f"{_place(program, clause)} has more than {limit:,} ground clauses ({_shape(program, use)}), "
                f"which its count did not show; {ADVICE}"
            )
        yield batch


def _place(program: Program, clause: int) -> str:
    return rule_place(program, program.feature_of[clause])


def _shape(program: Program, use: ShapeUse) -> str:
    count = program.clauses_of(use)
    return f"all together of {count:,} clauses of the shape {use.shape}" if count != 1 else f"its shape is {use.shape}"
