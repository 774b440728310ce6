"""`sqlrl count`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.inputs import check_inputs, chosen_examples, open_data, read_model
from sqlrl.cli.options import (
    Database,
    Db,
    Drop,
    Evidence,
    Examples,
    Json,
    ModelFile,
    Query,
    Quiet,
    ReadOnly,
    Rows,
    Verbose,
    split_names,
)
from sqlrl.cli.session import session

WorldName = Annotated[
    str,
    typer.Option(
        "--world", metavar="WORLD", help="observed (the labels), or a table or query with the ids of the true atoms."
    ),
]


def count(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    evidence: Evidence = None,
    world: WorldName = "observed",
    query: Query = None,
    drop: Drop = None,
    examples: Examples = None,
    read_only: ReadOnly = False,
    rows: Rows = 20,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Count the true groundings of every clause, exactly."""
    check_inputs(model=model, evidence=evidence, examples=examples)
    with session(verbose, quiet, as_json=as_json, rows=rows) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, evidence, parsed, labels=True, read_only=read_only) as opened:
            with run.working("counting"):
                table = opened.count(parsed, world=world, examples=chosen_examples(examples), drop=split_names(drop))
            run.show(table)
