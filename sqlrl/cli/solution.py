"""Worlds that outside solvers found, as `infer` takes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.export import Format
from sqlrl.cli.inputs import Job
from sqlrl.cli.options import FLAG

if TYPE_CHECKING:
    from sqlrl.database.predictions import Prediction

_PANEL = "World of another solver"

File = Annotated[
    Path | None,
    typer.Option(
        "--solution",
        metavar="FILE",
        help="Take the world from what a solver answered about a file of `sqlrl export`, and check it.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
ExportedFile = Annotated[
    Path | None,
    typer.Option(
        "--exported",
        metavar="FILE",
        help="The file that was exported: refuse the answer if its atoms are not those of the data now.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SolutionFormat = Annotated[
    Format | None,
    typer.Option(
        "--solution-format",
        help="How the model was exported; by default the words of the answer tell.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Bound = Annotated[
    bool,
    typer.Option("--bound", metavar=FLAG, help="Bound its gap by the linear relaxation.", rich_help_panel=_PANEL),
]


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

    def predict(self, job: Job, *, limit: int, into: str | None, replace: bool, keep: bool) -> Prediction:
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
                into=into,
                replace=replace,
                keep=keep,
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
