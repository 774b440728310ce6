"""What `infer` and `evaluate` share: the solver, the prediction and its report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sqlrl.cli.inputs import Job
from sqlrl.cli.options import Limit
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    from sqlrl.database.predictions import Prediction
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
        "grounds only what it needs. walksat: local search, proves nothing. exact, gibbs, mcsat: of --marginals.",
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
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="CP-SAT's seed.", rich_help_panel=_SOLVER)]


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
                f"--method {self.method.value} finds probabilities: add --marginals, or choose another one"
            )
        with job.run.working("predicting"):
            prediction = job.db.predict(
                job.model,
                examples=job.examples,
                **job.choices,
                method=cast("WorldMethod", self.method.value),
                limit=self.limit,
                deterministic_limit=self.deterministic_limit or None,
                seed=self.seed,
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
