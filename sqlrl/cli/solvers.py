"""How what is predicted is found: by a solver, by sampling, or by a solver outside."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sqlrl.cli.inputs import Job
from sqlrl.cli.options import Limit, flag, option
from sqlrl.cli.words import in_options
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.predictions import Prediction
    from sqlrl.solve.marginal import Method as MarginalMethod
    from sqlrl.solve.methods import WorldMethod


# ---- where what is predicted goes ---------------------------------------------------------------------

Into = Annotated[
    str | None, option("--into", "TABLE", "A table to create with the atoms predicted true, or with probabilities.")
]
Replace = Annotated[bool, flag("--replace", "Replace that table if it exists.")]
KeepWorld = Annotated[bool, flag("--keep", "Keep the world and exact counts of every clause in the database.")]


@dataclass(frozen=True)
class Saving:
    """Where what is predicted goes in the database."""

    into: Into = None
    replace: Replace = False
    keep: KeepWorld = False


# ---- a most probable world ----------------------------------------------------------------------------

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

    def predict(self, job: Job, saving: Saving) -> Prediction:
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
                **vars(saving),
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


# ---- probabilities ------------------------------------------------------------------------------------

_PROBABILITIES = "Marginal probabilities"
_OF_MARGINALS = (Method.auto, Method.exact, Method.gibbs, Method.mcsat)

Wanted = Annotated[
    bool,
    flag(
        "--probabilities", "Find the probability of each atom in place of a most probable world.", panel=_PROBABILITIES
    ),
]
Samples = Annotated[
    int | None, option("--samples", "N", "Samples of each chain (1000).", least=1, panel=_PROBABILITIES)
]
BurnIn = Annotated[
    int | None,
    option("--burn-in", "N", "Samples that each chain draws first and forgets (100).", least=0, panel=_PROBABILITIES),
]
Chains = Annotated[int | None, option("--chains", "N", "Independent chains (4).", least=1, panel=_PROBABILITIES)]
TimeLimit = Annotated[
    float | None,
    option(
        "--time-limit",
        "SECONDS",
        "Seconds after which the answer should be there, from fewer samples if need be.",
        least=0.001,
        panel=_PROBABILITIES,
    ),
]
SamplesInto = Annotated[
    str | None,
    option(
        "--samples-into",
        "TABLE",
        "A table to create with the sampled worlds: chain, sample, true atom.",
        panel=_PROBABILITIES,
    ),
]
MeansInto = Annotated[
    str | None,
    option("--means-into", "TABLE", "A table to create with the running means of each chain.", panel=_PROBABILITIES),
]


@dataclass(frozen=True)
class Probabilities:
    """How probabilities are found; None for the library's own choice. `probabilities` says whether they are wanted."""

    probabilities: Wanted = False
    samples: Samples = None
    burn_in: BurnIn = None
    chains: Chains = None
    time_limit: TimeLimit = None

    @property
    def streamed(self) -> dict[str, Any]:
        """The tables for what is drawn, by the option of the library."""
        return {}

    @property
    def tables(self) -> list[str]:
        """The tables for what is drawn that were asked for."""
        return [name for name in self.streamed.values() if name is not None]

    def check(self, solver: Solver) -> None:
        """Refuse options that do not go together."""
        given = [f"--{f.name.replace('_', '-')}" for f in fields(self) if getattr(self, f.name) not in (None, False)]
        if not self.probabilities:
            if given:
                verb = "is" if len(given) == 1 else "are"
                raise typer.BadParameter(f"{', '.join(given)} {verb} about probabilities: add --probabilities")
            return
        if any(not name.strip() for name in self.tables):
            raise typer.BadParameter("--samples-into and --means-into need the name of a table, not nothing")
        if solver.method not in _OF_MARGINALS:
            raise typer.BadParameter(
                f"--method {solver.method.value} finds a most probable world: with --probabilities choose "
                f"{', '.join(m.value for m in _OF_MARGINALS)}"
            )
        if solver.deterministic_limit != PATIENCE:
            raise typer.BadParameter(
                "--deterministic-limit is about a most probable world: with --probabilities choose --samples"
            )

    def infer(self, job: Job, solver: Solver, saving: Saving) -> Marginals:
        """Find the probabilities, and say how well they are known."""
        given: dict[str, Any] = {name: getattr(self, name) for name in ("samples", "burn_in", "chains", "time_limit")}
        with job.run.working("finding probabilities"):
            found = job.db.probabilities(
                job.model,
                examples=job.examples,
                roles=job.roles,
                method=cast("MarginalMethod", solver.method.value),
                random_state=solver.seed,
                limit=solver.limit,
                **vars(saving),
                **self.streamed,
                **{name: value for name, value in given.items() if value is not None},
            )
        # Warnings come once, as such.
        job.run.message("\n".join(line for line in repr(found).splitlines() if not line.startswith("  warning ")))
        for text in found.warnings:
            job.run.console.warning(in_options(text))
        return found


@dataclass(frozen=True)
class Sampler(Probabilities):
    """How probabilities are found, and tables for what is drawn."""

    samples_into: SamplesInto = None
    means_into: MeansInto = None

    @property
    def streamed(self) -> dict[str, Any]:
        """The tables for what is drawn, by the option of the library."""
        return {"samples_into": self.samples_into, "means_into": self.means_into}


# ---- a world of another solver ------------------------------------------------------------------------

_OUTSIDE = "World of another solver"


class Format(StrEnum):
    """How a ground network was written for a solver."""

    wcnf = "wcnf"
    lp = "lp"
    uai = "uai"


File = Annotated[
    Path | None,
    option(
        "--solution",
        "FILE",
        "Take the world from what a solver answered about a file of `sqlrl export`, and check it.",
        panel=_OUTSIDE,
    ),
]
ExportedFile = Annotated[
    Path | None,
    option(
        "--exported",
        "FILE",
        "The file that was exported: refuse the answer if its atoms are not those of the data now.",
        panel=_OUTSIDE,
    ),
]
SolutionFormat = Annotated[
    Format | None,
    option(
        "--solution-format",
        None,
        "How the model was exported; by default the words of the answer tell.",
        panel=_OUTSIDE,
    ),
]
Bound = Annotated[bool, flag("--bound", "Bound its gap by the linear relaxation.", panel=_OUTSIDE)]


@dataclass(frozen=True)
class ExternalSolution:
    """The world that an external solver found."""

    solution: File = None  # its answer; None to solve here
    exported: ExportedFile = None  # the file that it solved
    file_format: SolutionFormat = None  # how the network was written; None if the answer tells
    bound: Bound = False  # whether to bound the gap

    def check(self) -> None:
        """Refuse options that say nothing without `--solution`."""
        given = {"--exported": self.exported, "--solution-format": self.file_format, "--bound": self.bound or None}
        name = next((name for name, value in given.items() if value is not None), None)
        if self.solution is None and name is not None:
            raise typer.BadParameter(f"{name} is about the world that --solution names: name one")

    def predict(self, job: Job, limit: int, saving: Saving) -> Prediction:
        """Read the world, and say how well it is proved."""
        from sqlrl.solve.exchange.solutions import OutsideSolution
        from sqlrl.solve.result import Status

        assert self.solution is not None
        with job.run.working("reading the solution"):
            prediction = job.db.predict(
                job.model,
                solution=OutsideSolution(
                    self.solution,
                    format=None if self.file_format is None else self.file_format.value,
                    exported=self.exported,
                    bound=self.bound,
                ),
                examples=job.examples,
                roles=job.roles,
                limit=limit,
                **vars(saving),
            )
        job.run.message(repr(prediction))
        if prediction.status is not Status.OPTIMAL:
            job.run.console.warning(unproved(prediction.gap))
        return prediction


def unproved(gap: float) -> str:
    """Return what is not proved about a world that was read."""
    if math.isinf(gap):
        return "nothing is proved about how good the world is: --bound bounds its gap"
    return f"the world is not proved optimal: one that is better by at most {gap:.3g} may exist"
