"""Joint truth of the open literals of a clause: for each pattern of truth values how many tuples of atoms have it, where the evidence selects them.

The clause is the negation of a conjunction of evidence and query literals. Its closed literals are false for the groundings that the evidence
*selects*; the atoms of its open literals there are what is looked at. Only whether some grounding of the other variables is selected counts,
and how many there are is summed beside it, aggregated before anything is joined (`plan.multiplicity`).
"""

from __future__ import annotations

from itertools import combinations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery
from sqlrl.logic.shapes import Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.counted_variables import counted_parts, without_parts
from sqlrl.plan.disjuncts import disjunct_slots
from sqlrl.plan.grounding import clause_body, open_literals
from sqlrl.plan.multiplicity import Multiplicity
from sqlrl.plan.semiring import BIGINT_LIMIT
from sqlrl.plan.slots import BoundShape


def joint_counts(whole: BoundShape, examples: TableName | None = None, *, alone: bool = True) -> exp.Select:
    """Plan the joint counts of a shape: rows `clause` (if it has parameters), `pattern`, `n`, `groundings`; none for a pattern without tuples."""
    parameters = whole.parameters
    body = QueryBody(whole)
    parts = counted_parts(whole, whole.variables, distinct_rows=True)
    # Without the constants of the shape's own clauses (not `alone`) shapes with a part in common have a step in common.
    counted = Multiplicity(whole if alone else whole.with_parameters(None), body, parts, examples)
    bound = without_parts(whole, parts)
    open_ = open_literals(bound)
    aliases, _ = clause_body(bound, body, examples, undecided=True, counted=counted)
    for alias in aliases:
        body.where(exp.Not(this=exp.Is(this=column("truth", alias), expression=exp.null())))
    # What is counted are distinct tuples of labelled query atoms, all different, and the selected groundings that they have.
    for (one, left), (other, right) in combinations(list(zip(open_, aliases, strict=True)), 2):
        if one.predicate == other.predicate:
            body.where(exp.NEQ(this=column("atom", left), expression=column("atom", right)))
    shown = [named(column("clause", "p"), "clause")] if parameters is not None else []
    # Bit i is the label of the atom of the i-th open literal, in the shape's order, whatever its sign.
    pattern = named(_pattern(aliases), "pattern")
    groundings = exp.Sum(this=counted.value(counted.most > BIGINT_LIMIT))
    of_atoms = frozenset[Slot]().union(*(disjunct_slots(bound, x) for x in open_))
    if {slot for slot in whole.variables if slot not in counted.slots} <= of_atoms:
        # All other variables were aggregated before the join, so that a tuple has one row.
        query = body.select([*shown, pattern, named(star_count(), "n"), named(groundings, "groundings")])
        return query.group_by(*(x.this.copy() for x in (*shown, pattern)))
    keys = [*shown, *(named(column("atom", alias), f"l{i}") for i, alias in enumerate(aliases)), pattern]
    tuples = body.select([*keys, named(groundings, "groundings")]).group_by(*(key.this.copy() for key in keys))
    found = [column(key.alias, "t") for key in (*shown, pattern)]
    count = exp.select(*found, named(star_count(), "n"), named(exp.Sum(this=column("groundings", "t")), "groundings"))
    return count.from_(subquery(tuples, "t")).group_by(*(key.copy() for key in found))


def _pattern(aliases: list[str]) -> exp.Expression:
    """Return the number whose bits are the labels of atoms."""
    bits: list[exp.Expression] = [
        exp.Mul(this=cast(column("truth", alias), "BIGINT"), expression=integer(1 << i))
        for i, alias in enumerate(aliases)
    ]
    total = bits[0] if bits else integer(0)
    for bit in bits[1:]:
        total = exp.Add(this=total, expression=bit)
    return total
