"""The limit on the number of ground clauses: what a shape would enumerate, and the clause that is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.ground.running import rule_place, run_counts
from sqlrl.plan.bounds import Enumerated, domain_bound, enumerated
from sqlrl.plan.counting import enumerated_by_count
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.parts import domain_size
from sqlrl.plan.slots import bind
from sqlrl.plan.worlds import POSSIBLE, World
from sqlrl.wording import counted

GROUNDING_LIMIT = 200_000_000
"""The most ground clauses of one shape that a network may have, unless the caller says otherwise (about 8 GB)."""

ADVICE = "pass fewer examples=, or raise limit="


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
        Names the clause with the most groundings, where it stands, how many clauses share its shape, the count, and the
        variables that nothing joins.

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
    for bound in enumerated(use.shape, program.layout, parameters=use.parameters, examples=examples, foreign=foreign):
        found = run_counts(program, use, bound.query)
        size = sum(n for _, n in found)
        if size > limit:
            most, largest = max(found, key=lambda pair: pair[1])
            witnesses = " and witnesses" if use.shape.exists else ""
            raise GroundingLimitError(
                f"{_place(program, most)} leaves {counted(size, 'grounding')}{witnesses} to enumerate, more than the limit of {limit:,} "
                f"({_shape(program, use)}): {_why(program, use, most, largest, bound)}"
            )
    if loose_literal(bind(use.shape, program.layout, foreign, use.parameters)) is not None:
        check_count(program, use, limit, POSSIBLE, examples)


def check_count(program: Program, use: ShapeUse, limit: int, world: World, examples: TableName | None = None) -> None:
    r"""Refuse to count a shape in a world if that would enumerate more groundings than a limit.

    Parameters
    ----------
    program : Program
    use : ShapeUse
    limit : int
    world : World
    examples : TableName, optional

    Raises
    ------
    GroundingLimitError
        Names the clause that would enumerate the most, where it stands, and how many groundings it would enumerate.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.plan.worlds import OBSERVED
    >>> text = PEOPLE + "\n1 " + " v ".join(f"Friends(x, y{i})" for i in range(9))
    >>> for use in sample_program(text, ["Smokes"], FRIENDS).shapes.values():
    ...     check_count(sample_program(text, ["Smokes"], FRIENDS), use, 5, OBSERVED)
    Traceback (most recent call last):
    sqlrl.errors.GroundingLimitError: <text>:4: Friends(x, y0) v ... is counted by enumerating 59,049 groundings, more than the limit of 5 ...
    """
    for query in enumerated_by_count(use.shape, program.layout, world, parameters=use.parameters, examples=examples):
        found = run_counts(program, use, query)
        size = sum(n for _, n in found)
        if size > limit:
            most, _ = max(found, key=lambda pair: pair[1])
            raise GroundingLimitError(
                f"{_place(program, most)} is counted by enumerating {counted(size, 'grounding')}, more than the limit of {limit:,} "
                f"({_shape(program, use)}): too many of its positive literals share variables; write it with fewer, "
                f"join their variables by closed literals, {ADVICE}"
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
                f"{_place(program, clause)} has more than {counted(limit, 'ground clause')} ({_shape(program, use)}), "
                f"which its count did not show; join its variables, narrow a scope, {ADVICE}"
            )
        yield batch


def _place(program: Program, clause: int) -> str:
    return rule_place(program, program.feature_of[clause])


def _shape(program: Program, use: ShapeUse) -> str:
    count = program.clauses_of(use)
    return f"all together of {count:,} clauses of the shape {use.shape}" if count != 1 else f"its shape is {use.shape}"


def _why(program: Program, use: ShapeUse, clause: int, size: int, limited: Enumerated) -> str:
    """Say which variables are to blame for the size of a clause, those that nothing joins or the others, and what to do."""
    bound, remedy = bind(use.shape, program.layout), f"narrow a scope, {ADVICE}"
    instances = program.features[program.feature_of[clause]].instances
    called = next(x.variables for x in instances if x.shape == use.shape)
    names = [called[slot.index].replace("$", "") for slot in limited.free if domain_size(bound, slot) > 1]
    if names and limited.joined is not None:
        alone = dict(run_counts(program, use, limited.joined().query)).get(clause, 0)
        # Each of these is there once for every choice of the others.
        if alone * alone > size:
            return (
                f"{counted(alone, 'match', 'matches')} of facts are the larger factor, the smaller one is what no closed literal joins "
                f"({', '.join(names)}); {remedy}"
            )
    return unjoined(names, remedy)


def unjoined(names: Sequence[str], remedy: str) -> str:
    """Say that nothing joins some variables, and what to do.

    Examples
    --------
    >>> unjoined(["x", "y"], "or narrow a scope")
    'no closed literal joins x and y, which range over their whole domains; join them, or narrow a scope'
    """
    if not names:
        return f"its variables are joined, but that many facts match; {remedy}"
    if len(names) == 1:
        return f"no closed literal joins {names[0]}, which ranges over its whole domain; join it, {remedy}"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"no closed literal joins {listed}, which range over their whole domains; join them, {remedy}"
