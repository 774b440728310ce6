"""What `infer` and `evaluate` share: the prediction and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.inputs import chosen_examples
from sqlrl.cli.options import Method, split_names
from sqlrl.cli.session import Session

if TYPE_CHECKING:
    from sqlrl.database import Database
    from sqlrl.logic import Model
    from sqlrl.prediction import Prediction

_SOLVER = "Solver"

PATIENCE = 10.0
"""Deterministic seconds that CP-SAT may spend on a component, a fraction of a minute: a command should end, and it says
when the world is not proved optimal."""

How = Annotated[Method, typer.Option("--method", help="How the most probable world is found.", rich_help_panel=_SOLVER)]
DeterministicLimit = Annotated[
    float,
    typer.Option(
        "--deterministic-limit", min=0.0, help="CP-SAT's limit for each component, in its own seconds; 0: none.",
        rich_help_panel=_SOLVER,
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", min=0, help="CP-SAT's seed.", rich_help_panel=_SOLVER)]


def predict(
    run: Session,
    db: Database,
    model: Model,
    *,
    examples: str | None,
    method: Method,
    limit: int,
    deterministic_limit: float,
    seed: int,
    keep: bool = False,
    drop: list[str] | None,
) -> Prediction:
    """Predict, and say how well the world is proved."""
    from sqlrl.solve.result import Status

    with run.working("predicting"):
        prediction = db.predict(
            model,
            examples=chosen_examples(examples),
            method=method.value,
            limit=limit,
            deterministic_limit=deterministic_limit or None,
            seed=seed,
            keep=keep,
            drop=split_names(drop),
        )
    run.message(repr(prediction))
    if prediction.status is not Status.OPTIMAL:
        run.console.warning(
            f"the world is not proved optimal: one that is better by at most {prediction.gap:.3g} may exist, and a greater "
            "--deterministic-limit may find it"
        )
    return prediction


def open_predicates(prediction: Prediction) -> list[str]:
    """Return the predicates that were predicted, sorted."""
    return sorted(info.name for info in prediction.layout.predicates.values() if info.open)
