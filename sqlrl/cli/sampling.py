"""What `--probabilities` adds to `infer` and `evaluate`: how probabilities are found, and where samples go."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sqlrl.cli.inputs import Job
from sqlrl.cli.options import FLAG
from sqlrl.cli.predicting import PATIENCE, Method, Solver
from sqlrl.cli.words import in_options

if TYPE_CHECKING:
    from sqlrl.database.marginals import Marginals
    from sqlrl.solve.marginal import Method as MarginalMethod

_PANEL = "Marginal probabilities"
_OF_MARGINALS = (Method.auto, Method.exact, Method.gibbs, Method.mcsat)

Wanted = Annotated[
    bool,
    typer.Option(
        "--probabilities",
        metavar=FLAG,
        help="Find the probability of each atom in place of a most probable world.",
        rich_help_panel=_PANEL,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        min=1,
        help="Samples of each chain (1000).",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
BurnIn = Annotated[
    int | None,
    typer.Option(
        "--burn-in",
        metavar="N",
        min=0,
        help="Samples that each chain draws first and forgets (100).",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Chains = Annotated[
    int | None,
    typer.Option(
        "--chains", metavar="N", min=1, help="Independent chains (4).", rich_help_panel=_PANEL, show_default=False
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.001,
        help="Seconds after which the answer should be there, from fewer samples if need be.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SamplesInto = Annotated[
    str | None,
    typer.Option(
        "--samples-into",
        metavar="TABLE",
        help="A table to create with the sampled worlds: chain, sample, true atom.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
MeansInto = Annotated[
    str | None,
    typer.Option(
        "--means-into",
        metavar="TABLE",
        help="A table to create with the running means of each chain.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
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

    def infer(
        self, job: Job, solver: Solver, *, into: str | None = None, replace: bool = False, keep: bool = False
    ) -> Marginals:
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
                into=into,
                **self.streamed,
                replace=replace,
                keep=keep,
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
