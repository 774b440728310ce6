"""What grounding a model would do: SQL, plans and estimates, before any work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.engine.base import Engine
from sqlrl.ground.assemble import plans
from sqlrl.ground.program import Program
from sqlrl.plan.expansion import expand


@dataclass(frozen=True)
class Explanation:
    """How the clauses of one shape are grounded.

    Parameters
    ----------
    shape : str
    clauses : int
        Clauses of the shape; 0 for a template before its expansion.
    estimate : int
        DuckDB's estimate of the number of ground clauses.
    sql : str
    plan : str
        DuckDB's plan.
    """

    shape: str
    clauses: int
    estimate: int
    sql: str
    plan: str

    def __str__(self) -> str:
        head = f"{self.shape}\n  {self.clauses:,} clauses, about {self.estimate:,} ground clauses"
        return f"{head}\n{self.sql}\n{self.plan}"


def explain(program: Program) -> Iterator[Explanation]:
    """Yield an explanation for each shape of a program that has an open literal.

    A template that has no clauses yet is shown as it will be expanded: the join in which its `+` variables are free has a row
    for each ground clause.
    """
    engine = program.engine
    for shape_plan in plans(program):
        yield _explain(engine, str(shape_plan.use.shape), program.clauses_of(shape_plan.use), shape_plan.plan.query)
    for i, bound in enumerate(program.features):
        if not bound.feature.plus or i in program.feature_of:
            continue
        for instance in bound.instances:
            query = expand(
                instance,
                program.layout,
                plus=bound.feature.plus,
                constants=program.constants.single_row(instance),
            )
            query.set("distinct", None)
            yield _explain(engine, f"{instance.shape} (template)", 0, query)


def _explain(engine: Engine, shape: str, clauses: int, query: exp.Select) -> Explanation:
    estimate, plan = engine.estimate(query, step=f"explain {shape}")
    return Explanation(shape, clauses, estimate, query.sql(dialect=engine.dialect, pretty=True), plan)
