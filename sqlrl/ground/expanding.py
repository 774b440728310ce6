"""Template constants that a learned model has never seen."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery, union_all
from sqlrl.ground.program import Program
from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Constant, Variable
from sqlrl.plan.expansion import expand
from sqlrl.plan.grounding import ground
from sqlrl.plan.sql import table


@dataclass(frozen=True)
class Unseen:
    """How much of some examples the templates of a learned model know nothing of.

    Parameters
    ----------
    combinations : int
        Combinations of template constants that the examples leave open and that have no clause.
    atoms : int
        Query atoms in a ground clause of such a combination.
    """

    combinations: int
    atoms: int


def unseen(program: Program, examples: TableName | None = None) -> Unseen:
    """Count the combinations of template constants that have no clause, and the query atoms that they touch.

    Parameters
    ----------
    program : Program
        Templates whose clauses the model lists are looked at; others grow by themselves, and those of a structure learner are
        no templates that examples grow.
    examples : TableName, optional

    Returns
    -------
    Unseen

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> unseen(sample_program(PEOPLE, ["Smokes"], FRIENDS))
    Unseen(combinations=0, atoms=0)
    """
    combinations, touched = 0, []
    for i, bound in enumerate(program.features):
        if bound.expansions is None or bound.expansions.found:
            continue
        for instance in bound.instances:
            if not any(isinstance(term, Variable) for term in instance.arguments):
                continue  # without constants of the template nothing in it is new
            new = _new_combinations(program, i, instance, examples)
            with program.shown(new) as parameters:
                size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(table(parameters))
                count = int(program.engine.fetch(size, step="count unseen combinations").column(0)[0].as_py())
                if count:
                    combinations += count
                    touched.append(_atoms(program, instance, parameters, examples))
    if not touched:
        return Unseen(0, 0)
    return Unseen(combinations, len(pa.chunked_array(touched).unique()))


def _new_combinations(program: Program, i: int, instance: Instance, examples: TableName | None) -> exp.Select:
    """Select the parameter rows of a template's clause that its expansion table lacks."""
    bound = program.features[i]
    names = [f"plus{j}" for j, name in enumerate(bound.feature.plus) if Variable(name, plus=True) in instance.arguments]
    query = expand(
        instance,
        program.layout,
        plus=bound.feature.plus,
        constants=program.constants.single_row(instance),
        examples=examples,
    )
    known = exp.select(*(column(n) for n in names)).from_(table(program.expansions[i]))
    new = exp.Except(this=query, expression=known, distinct=True)
    selected: list[exp.Expression] = [named(exp.cast(exp.Literal.number(0), exp.DataType.build("BIGINT")), "clause")]
    for k, (kind, term) in enumerate(zip(instance.shape.parameters, instance.arguments, strict=True)):
        if isinstance(term, Constant):
            value: exp.Expression = integer(program.constants.of(kind)[term.name])
        else:
            value = column(f"plus{bound.feature.plus.index(term.name)}")
        selected.append(named(value, f"k{k}"))
    return exp.select(*selected).from_(subquery(new, "new"))


def _atoms(program: Program, instance: Instance, parameters: TableName, examples: TableName | None) -> pa.ChunkedArray:
    """Return the distinct query atoms in the ground clauses of some parameter rows."""
    plan = ground(instance.shape, program.layout, parameters=parameters, examples=examples)
    steps = [
        exp.select(named(column(f"l{i}"), "atom")).from_(subquery(plan.query.copy(), "g"))
        for i in range(len(plan.signs))
    ]
    query = exp.select(column("atom")).distinct().from_(subquery(union_all(steps), "u"))
    query = query.where(exp.GT(this=column("atom"), expression=exp.Literal.number(0)))
    atoms: pa.ChunkedArray = program.engine.fetch(query, step="read atoms of unseen combinations").column(0)
    return atoms.combine_chunks() if isinstance(atoms, pa.ChunkedArray) else atoms
