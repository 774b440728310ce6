"""Worlds with the values of their helper atoms, which are functions of other atoms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, named, subquery, table, union_all
from sqlrl.ground.helpers import bind_definition, witness_definition
from sqlrl.ground.program import Program
from sqlrl.logic.terms import ExistsLiteral
from sqlrl.plan.sources import World
from sqlrl.plan.tuples import Conjunction, holding


@contextmanager
def completed_world(program: Program, world: World) -> Iterator[World]:
    """Show a world with the values of its helper atoms while the context is open; those that it lists are ignored."""
    # The helper atoms of the observed world have labels.
    if world.atoms is None or not program.helper_names:
        yield world
        return
    with program.rows_table(_visible(program, world.atoms)) as name:
        for helper, variables, definition in definitions(program):
            query = _true_atoms(program, helper, variables, definition, World(name))
            program.engine.append(name, query, step="complete a world")
        yield World(name)


def _visible(program: Program, atoms: TableName) -> exp.Select:
    """Select the atoms of a world that are no helper atoms, each once."""
    helpers = [program.layout.predicates[name] for name in sorted(program.helper_names)]
    hidden = union_all(exp.select(column("atom")).from_(table(info.atoms)) for info in helpers if info.atoms)
    chosen = exp.select(named(cast(column("atom"), "BIGINT"), "atom")).from_(table(atoms))
    visible = exp.Except(this=chosen, expression=exp.select(column("atom")).from_(subquery(hidden, "h")), distinct=True)
    return exp.select(column("atom")).from_(subquery(visible, "v"))


Definition = tuple[str, tuple[tuple[str, str], ...], ExistsLiteral]


def definitions(program: Program) -> Iterator[Definition]:
    """Yield name, variables and definition of each helper predicate that has atoms, definitions before uses."""
    seen = set[str]()
    for bound in program.features:
        for helper in bound.feature.helpers:
            if helper.name in seen:
                continue
            seen.add(helper.name)
            witness = witness_definition(helper)
            if witness[0] in program.helper_names:
                yield witness
            if helper.name in program.helper_names:
                yield helper.name, helper.variables, helper.definition


def _true_atoms(
    program: Program,
    name: str,
    variables: tuple[tuple[str, str], ...],
    definition: ExistsLiteral,
    world: World,
) -> exp.Select:
    """Select the atoms of a helper that are true in a world, by its definition."""
    info = program.layout.predicates[name]
    assert info.atoms is not None
    instance, bound, slots, names = bind_definition(program.layout, variables, definition)
    (group,) = instance.shape.exists
    parameters = program.constants.single_row(instance)
    truth = holding(bound, Conjunction.of(group, slots), world, parameters=parameters)
    # A constant example is no argument: it stands in the example's column.
    columns = [*names, "example"][: len(slots)]
    on = conjunction(exp.EQ(this=column(f"x{i}", "t"), expression=column(c, "a")) for i, c in enumerate(columns))
    query = exp.select(column("atom", "a")).from_(table(info.atoms, "a"))
    return query.join(subquery(truth, "t"), on=on or exp.true())
