"""What commands that predict share: the solver, the prediction and its report, and how results and reasons are printed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sqlrl.cli.inputs import Job
from sqlrl.cli.options import Limit
from sqlrl.cli.session import CommandSession, print_json
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from sqlrl.database.inferred import AtomReasons
    from sqlrl.database.predictions import Prediction
    from sqlrl.database.results import InferenceResult
    from sqlrl.solve.methods import WorldMethod

_SOLVER = "Solver"

PATIENCE = 10.0
"""Deterministic seconds that CP-SAT may spend on a component, a fraction of a minute: a command should end, and it says
when the world is not proved optimal."""


class Method(StrEnum):
    """Solvers of the most probable world, and of probabilities."""

    auto = "auto"
    full = "full"
    cutting_plane = "cutting-plane"
    elimination = "elimination"
    cut = "cut"
    lp = "lp"
    cpsat = "cpsat"
    walksat = "walksat"
    exact = "exact"
    gibbs = "gibbs"
    mcsat = "mcsat"


How = Annotated[
    Method,
    typer.Option(
        "--method",
        help="auto: full or cutting-plane, by what would be grounded. full: grounds everything, then for each component the "
        "cheapest that is exact: elimination, cut (a minimum cut), lp (where it proves its rounded world), cpsat. cutting-plane: "
        "grounds only what it needs. walksat: local search, proves nothing. exact, gibbs, mcsat: of --probabilities.",
        rich_help_panel=_SOLVER,
    ),
]
DeterministicLimit = Annotated[
    float,
    typer.Option(
        "--deterministic-limit",
        metavar="SECONDS",
        min=0.0,
        help="CP-SAT's limit for each component, in its own seconds; 0: none.",
        rich_help_panel=_SOLVER,
    ),
]
Seed = Annotated[
    int, typer.Option("--random-state", metavar="N", min=0, help="CP-SAT's seed.", rich_help_panel=_SOLVER)
]


@dataclass(frozen=True)
class Solver:
    """How the most probable world is found."""

    limit: Limit = GROUNDING_LIMIT  # the most ground clauses of one shape
    method: How = Method.auto
    # CP-SAT's limit for each connected component, in its deterministic seconds; 0 for none
    deterministic_limit: DeterministicLimit = PATIENCE
    seed: Seed = 0

    def predict(self, job: Job, *, into: str | None = None, replace: bool = False, keep: bool = False) -> Prediction:
        """Predict, and say how well the world is proved."""
        from sqlrl.solve.result import Status

        if self.method in (Method.exact, Method.gibbs, Method.mcsat):
            raise typer.BadParameter(
                f"--method {self.method.value} finds probabilities: add --probabilities, or choose another one"
            )
        with job.run.working("predicting"):
            prediction = job.db.predict(
                job.model,
                examples=job.examples,
                roles=job.roles,
                method=cast("WorldMethod", self.method.value),
                limit=self.limit,
                deterministic_limit=self.deterministic_limit or None,
                random_state=self.seed,
                into=into,
                replace=replace,
                keep=keep,
            )
        job.run.message(repr(prediction))
        if prediction.status is not Status.OPTIMAL:
            report = prediction.result.report
            job.run.console.warning(doubt(report.gap, report.precision, report.magnitude))
        return prediction


def doubt(gap: float, precision: float, magnitude: float) -> str:
    """Return why a world is not proved optimal, and what helps, from the numbers of its `sqlrl.solve.result.SolverReport`."""
    better = f"the world is not proved optimal: one that is better by at most {gap:.3g} may exist"
    if gap > precision:
        return f"{better}, and a greater --deterministic-limit may find it"
    return (
        f"{better}, since rounding loses as much and what is left of weights that cancel each other is {magnitude:.3g}: "
        "scale the weights down, or make the huge ones hard"
    )


# ---- results and reasons -------------------------------------------------------------------------------

_WRITTEN = {"truth": "atoms predicted true", "probability": "probabilities", "value": "values"}
"""What `--into` writes, by the column of the values."""


def show(
    run: CommandSession,
    found: InferenceResult[Any, Any],
    *,
    every: bool = False,
    rows: Callable[[str, pa.Table], pa.Table] = lambda _, data: data,  # chooses among those of a predicate
) -> None:
    """Print what was found, a table for each predicate."""
    from sqlrl.report import Table

    names = found.open_predicates
    if run.as_json:
        # Programs read JSON: it has what was computed, all digits of it.
        raw = [(name, Table(rows(name, found.atoms(name, every=every)))) for name in names]
        print_json({"predicate": name, **row} for name, table in raw for row in table)
        return
    tables = [(name, found.table(name, every=every)) for name in names]
    run.show(*(Table(rows(name, table.to_arrow()), title=table.title) for name, table in tables))


def tell(run: CommandSession, found: InferenceResult[Any, Any], into: str) -> None:
    """Name the tables that hold what was found."""
    tables = found.tables(into)
    if run.as_json:
        print_json({"predicate": name, "table": table} for name, table in tables.items())
    run.message(f"the {_WRITTEN[found.value_column]} are in {', '.join(tables.values())}")


def show_reasons(run: CommandSession, found: Sequence[AtomReasons]) -> None:
    """Print why atoms have their values; JSON says on each row what holds of the atom as a whole."""
    if run.as_json:
        print_json({**each.head, **row} for each in found for row in each.table)
        return
    run.show(*(each.shown() for each in found))
