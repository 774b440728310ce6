"""`sqlrl evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.inputs import check_inputs, open_data, read_model
from sqlrl.cli.options import (
    GROUNDING_LIMIT,
    Database,
    Db,
    Drop,
    Examples,
    Json,
    Limit,
    Method,
    ModelFile,
    Query,
    Quiet,
    ReadOnly,
    Rows,
    Verbose,
)
from sqlrl.cli.predicting import PATIENCE, DeterministicLimit, How, Seed, predict
from sqlrl.cli.session import session

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database import Database as Opened
    from sqlrl.evaluate import Scores

ByExample = Annotated[bool, typer.Option("--by-example", help="A row for each example, the worst first.")]


def evaluate(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    query: Query = None,
    drop: Drop = None,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    by_example: ByExample = False,
    method: How = Method.auto,
    deterministic_limit: DeterministicLimit = PATIENCE,
    seed: Seed = 0,
    read_only: ReadOnly = False,
    rows: Rows = 20,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Predict as `infer` does, and compare with the labels.

    sqlrl evaluate cite.duckdb --model learned.mln --examples "select bib from test"
    """
    check_inputs(model=model, examples=examples)
    with session(verbose, quiet, as_json=as_json, rows=rows) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, None, parsed, read_only=read_only) as opened:
            prediction = predict(
                run,
                opened,
                parsed,
                examples=examples,
                method=method,
                limit=limit,
                deterministic_limit=deterministic_limit,
                seed=seed,
                drop=drop,
            )
            scores = opened.evaluate(prediction)
            if by_example:
                run.show(named_examples(opened, scores), title="scores of each example, the worst first")
            else:
                run.show(scores.table(), title="scores")
            run.message(str(scores))


def named_examples(db: Opened, scores: Scores) -> pa.Table:
    """Return the scores of each example with its name, those with most wrong atoms first.

    Parameters
    ----------
    db : Database
    scores : Scores

    Returns
    -------
    pyarrow.Table
        The columns of `Scores.example_table`, and `wrong`.
    """
    import pyarrow as pa

    names = dict(db.sql("select example, name from sqlrl.example").fetchall())
    rows = scores.example_table().to_pylist()
    for row in rows:
        row["wrong"] = row["false_positives"] + row["false_negatives"]
    # Python's sort is stable: ties stay in the order of the data.
    rows.sort(key=lambda row: -row["wrong"])
    return pa.Table.from_pylist([{**row, "example": names[row["example"]]} for row in rows])
