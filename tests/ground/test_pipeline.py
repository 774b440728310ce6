"""One pipeline from the query of a shape to its ground clauses, whatever the query is and whatever reads its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, named, subquery
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.pipeline import Pipeline, plans
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import AtomIndex, Budget, BudgetError, by_clause, in_order
from sqlrl.ground.sample_programs import FRIENDS, PEOPLE, sample_program
from sqlrl.plan.grounding import GroundingQuery, ground
from sqlrl.plan.slots import BoundShape


@pytest.fixture
def program() -> Program:
    return sample_program(PEOPLE + "\n2 Friends(x, y) => Smokes(y)\n1 Smokes(x) v Smokes(y)", ["Smokes"], FRIENDS)


def pipeline(extent: Extent, budget: Budget | None = None) -> Pipeline:
    network = ground_network(replace(extent, limit=None))
    return Pipeline(extent, AtomIndex(network.atoms), np.zeros(len(network.clauses), dtype=object), budget)


def test_rows_are_those_of_the_network_in_order_or_batch_by_batch(program: Program) -> None:
    extent = Extent(program)
    network, run = ground_network(extent), pipeline(extent)
    rows = by_clause([rows.split()[2] for each in plans(extent) for rows in run.rows(each)])
    assert rows.literals.tolist() == network.literals.tolist()
    assert rows.clause.tolist() == network.row_clause.tolist()
    assert rows.multiplicity.tolist() == network.multiplicity.tolist()
    loose = by_clause([rows.split()[2] for each in plans(extent) for rows in run.unordered(each)])
    assert in_order(loose, merge=True).literals.tolist() == network.literals.tolist()


def with_value(bound: BoundShape, examples: TableName | None) -> GroundingQuery:
    """The grounding query with a real number beside each ground clause."""
    plan = ground(bound, examples)
    half = exp.Mul(this=exp.convert(0.5), expression=column("l0", "g"))
    names = [column(name, "g") for name in plan.query.named_selects]
    query = exp.select(*names, named(half, "value")).from_(subquery(plan.query, "g"))
    return replace(plan, query=query)


def test_another_grounder_may_have_columns_that_its_own_reader_reads(program: Program) -> None:
    extent = Extent(program)
    run = pipeline(extent)
    # The stages before the reader pass the column on, and the reader of networks does not mind it.
    for plain, valued in zip(plans(extent), plans(extent, with_value), strict=True):
        batches = list(run.batches(valued))
        assert all("value" in batch.schema.names for batch in batches)
        for batch in batches:
            assert batch.column("value").to_pylist() == [0.5 * atom for atom in batch.column("l0").to_pylist()]
        expected = [rows.literals.tolist() for rows in run.rows(plain)]
        assert [rows.literals.tolist() for rows in run.rows(valued)] == expected


def test_a_grounder_may_leave_a_shape_out(program: Program) -> None:
    extent = Extent(program)

    def of_two(bound: BoundShape, examples: TableName | None) -> GroundingQuery | None:
        opened = [x for x in bound.every_literal if bound.info(x).open]
        return ground(bound, examples) if len(opened) == 2 else None

    assert len(list(plans(extent))) == 3
    assert len(list(plans(extent, of_two))) == 2
    first = next(plans(extent)).use.shape
    assert first not in {each.use.shape for each in plans(extent, without=[first])}


def test_limit_and_budget_hold_for_every_grounder(program: Program) -> None:
    for grounder in (ground, with_value):
        each = next(plans(Extent(program), grounder))  # has two ground clauses of two literals
        limited, short = pipeline(Extent(program, limit=1)), pipeline(Extent(program), Budget(3))
        with pytest.raises(GroundingLimitError, match="more than 1 ground clause "):
            limited.rows(each)
        with pytest.raises(BudgetError, match="budget of 3"):
            list(short.unordered(each))
