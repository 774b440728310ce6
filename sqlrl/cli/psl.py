"""`sqlrl psl`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.completion import predicates
from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import (
    FLAG,
    DataFile,
    Db,
    Limit,
    Output,
    ReadOnly,
    split_names,
)
from sqlrl.cli.predicting import show, show_reasons, tell
from sqlrl.cli.session import session
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    from sqlrl.cli.session import CommandSession
    from sqlrl.database.database import Database
    from sqlrl.database.soft_predictions import SoftPrediction
    from sqlrl.logic.psl import SoftModel


class Task(StrEnum):
    """Of which task the data of a program are."""

    infer = "infer"
    learn = "learn"


Program = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="PSL's JSON or YAML, a rule file, or a model that sqlrl saved.")
]
Database_ = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATABASE", help="The DuckDB file; without one the data that PROGRAM names.", show_default=False
    ),
]
Query = Annotated[
    list[str] | None,
    typer.Option(
        "--query",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates to infer, with commas or repeated.",
        show_default=False,
    ),
]
InSplit = Annotated[Task, typer.Option("--split", help="Of which task the data are that PROGRAM names.")]
Evaluate = Annotated[
    bool, typer.Option("--evaluate", metavar=FLAG, help="Print scores against the truths, not the values.")
]
ObservedBodies = Annotated[
    bool,
    typer.Option(
        "--observed-bodies",
        metavar=FLAG,
        help="Bodies read what is observed of open predicates alone, as where `sqlrl learn --learner soft-structure` learned the rules.",
    ),
]
Threshold = Annotated[
    float, typer.Option("--threshold", metavar="T", min=0.0, max=1.0, help="What counts as true in scores.")
]
Atoms = Annotated[
    list[str] | None,
    typer.Option(
        "--atom", "-a", metavar="ATOM", help="Say what pushes an atom up and down; may be repeated.", show_default=False
    ),
]
Into = Annotated[
    str | None, typer.Option("--into", metavar="TABLE", help="A table to create with the values.", show_default=False)
]
Replace = Annotated[bool, typer.Option("--replace", metavar=FLAG, help="Replace that table if it exists.")]
Keep = Annotated[
    bool, typer.Option("--keep", metavar=FLAG, help="Keep the values and the distances of each rule in the database.")
]


@grouped
def psl(
    program: Program,
    output: Output,
    opening: DatabaseOptions,
    database: Database_ = None,
    db: Db = None,
    data: DataFile = None,
    query: Query = None,
    split: InSplit = Task.infer,
    evaluate: Evaluate = False,
    threshold: Threshold = 0.5,
    observed_bodies: ObservedBodies = False,
    atom: Atoms = None,
    into: Into = None,
    replace: Replace = False,
    keep: Keep = False,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Infer the truth values of a program of probabilistic soft logic, and compare them with the truths.

    sqlrl psl smokers.json --evaluate

    sqlrl psl model.psl people.duckdb --query Knows --into knows
    """
    path = database or db
    if into is not None and path is None:
        raise typer.BadParameter("--into needs a DATABASE in which the table is made")
    if keep and (path is None or read_only):
        raise typer.BadParameter("--keep needs a DATABASE that can be written")
    if evaluate and (into is not None or atom):
        raise typer.BadParameter("--evaluate prints scores: leave out --into and --atom")
    with session(output) as run:
        model = _model(program, data, query, split, trusted=not opening.untrusted)
        opened = run.database(
            path,
            opening,
            read_only=read_only,
            reads=into is None and not keep,
        )
        with opened as held:
            if path is None:
                from sqlrl.database.soft_data import SoftData

                held.load(SoftData(model, split.value, program.parent if opening.untrusted else None))
            with run.working("predicting"):
                prediction = held.predict(
                    model, limit=limit, into=into, replace=replace, keep=keep, observed_bodies=observed_bodies
                )
            run.message(repr(prediction))
            _show(run, held, prediction, evaluate=evaluate, threshold=threshold, atoms=atom or [], into=into)


def _model(program: Path, data: Path | None, query: list[str] | None, split: Task, *, trusted: bool) -> SoftModel:
    from sqlrl.logic.psl_files import read_psl

    return read_psl(program, data=data, query=split_names(query), task=split.value, trusted=trusted)


def _show(
    run: CommandSession,
    db: Database,
    prediction: SoftPrediction,
    *,
    evaluate: bool,
    threshold: float,
    atoms: list[str],
    into: str | None,
) -> None:
    """Print scores, what pushes atoms, or the values of all."""
    if evaluate:
        scores = db.evaluate(prediction, threshold=threshold)
        run.show(scores.table().to_arrow(), title="scores")
        run.message(str(scores))
    elif atoms:
        show_reasons(run, [prediction.why(each) for each in atoms])
    elif into is not None:
        tell(run, prediction, into)
    else:
        show(run, prediction)
