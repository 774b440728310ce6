"""`sqlrl evaluate`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import FLAG, Examples, Output, ReadOnly
from sqlrl.cli.predicting import Solver
from sqlrl.cli.sampling import Probabilities
from sqlrl.cli.words import in_options

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database.database import Database
    from sqlrl.evaluate import RankingScores, Scores


class OutsideLabels(StrEnum):
    """What true labels outside the scope count as."""

    missed = "missed"
    ignore = "ignore"


ByExample = Annotated[bool, typer.Option("--by-example", metavar=FLAG, help="A row for each example, the worst first.")]
ByBin = Annotated[
    bool,
    typer.Option(
        "--calibration",
        metavar=FLAG,
        help="With --probabilities: a row for each bin of probabilities, with the share of true atoms in it.",
    ),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        metavar=FLAG,
        help="Keep what is predicted and its labels in the database, for the views confusion, calibration, clause_support, worst_predicted_examples.",
    ),
]
InOutside = Annotated[OutsideLabels, typer.Option("--outside", help="True labels outside the scope.")]


@grouped
def evaluate(
    inputs: ModelInputs,
    solver: Solver,
    sampler: Probabilities,
    output: Output,
    examples: Examples = None,
    by_example: ByExample = False,
    calibration: ByBin = False,
    outside: InOutside = OutsideLabels.missed,
    keep: Keep = False,
    read_only: ReadOnly = False,
) -> None:
    """Predict as `infer` does, and compare with the labels.

    In --evidence, facts of what is predicted are the labels. With --probabilities probabilities are compared: AUC-ROC, average precision,
    log-likelihood, calibration; and with --by-example how they rank the atoms of each example.

    sqlrl evaluate cite.duckdb --model learned.mln --examples "select bib from test"

    sqlrl evaluate cite.duckdb --model learned.mln --examples "select bib from test" --probabilities
    """
    sampler.check(solver)
    if calibration and by_example:
        raise typer.BadParameter("--calibration and --by-example are two tables: leave one of them out")
    if calibration and not sampler.probabilities:
        raise typer.BadParameter("--calibration is about probabilities: add --probabilities")
    if keep and (inputs.evidence or read_only):
        raise typer.BadParameter("--keep needs a database that can be written")
    with inputs.open(output, examples=examples, labels=True, read_only=read_only, reads=not keep, rules=False) as job:
        if sampler.probabilities:
            chances = job.db.evaluate(sampler.infer(job, solver, keep=keep), outside=outside.value)
            if by_example:
                rankings = chances.by_example()
                job.run.show(worst_ranked(rankings), title="rankings of each example, the worst first")
                job.run.message(str(rankings))
                return
            if calibration:
                job.run.show(chances.calibration.table().to_arrow(), title="calibration")
            else:
                job.run.show(chances.table().to_arrow(), title="scores")
            job.run.message(str(chances))
            return
        prediction = solver.predict(job, keep=keep)
        scores = job.db.evaluate(prediction, outside=outside.value)
        if by_example:
            job.run.show(named_examples(job.db, scores), title="scores of each example, the worst first")
        else:
            job.run.show(scores.table().to_arrow(), title="scores")
        job.run.message(in_options(scores.message))


def worst_ranked(scores: RankingScores) -> pa.Table:
    """Return the table of rankings with the lowest average precision first, and examples that are left out last."""
    table = scores.table().to_arrow()
    order = sorted(
        range(len(table)),
        key=lambda k: (not scores.ranked[k], scores.average_precision[k] if scores.ranked[k] else 0.0),
    )
    return table.take(order)


def named_examples(db: Database, scores: Scores) -> pa.Table:
    """Return the rows of `Scores.example_table` with names of examples and `wrong`, the number of wrong atoms; most wrong ones first."""
    import pyarrow as pa

    names = dict(db.sql("select example, name from sqlrl.example").fetchall())
    rows = scores.example_table().to_pylist()
    for row in rows:
        row["wrong"] = row["false_positives"] + row["false_negatives"]
    # Python's sort is stable: ties stay in the order of the data.
    rows.sort(key=lambda row: -row["wrong"])
    return pa.Table.from_pylist([{**row, "example": names[row["example"]]} for row in rows])
