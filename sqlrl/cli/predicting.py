"""What `infer` and `evaluate` share: the prediction and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.options import Method

if TYPE_CHECKING:
    from sqlrl.prediction import Prediction

_SOLVER = "Solver"

How = Annotated[Method, typer.Option("--method", help="How the most probable world is found.", rich_help_panel=_SOLVER)]
DeterministicLimit = Annotated[
    float | None,
    typer.Option(
        "--deterministic-limit", min=0.0, metavar="SECONDS", help="CP-SAT's limit for each component, in its own seconds.",
        rich_help_panel=_SOLVER,
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, help="CP-SAT's seed.", rich_help_panel=_SOLVER)]


def open_predicates(prediction: Prediction) -> list[str]:
    """Return the predicates that were predicted, sorted."""
    program = prediction.program
    names = (info.name for info in program.layout.predicates.values() if info.open)
    return sorted(name for name in names if name not in program.helper_names)


