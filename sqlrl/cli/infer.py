"""`sqlrl infer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.inputs import check_inputs, open_data, read_model
from sqlrl.cli.options import (
    GROUNDING_LIMIT,
    Database,
    Db,
    Drop,
    Evidence,
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
from sqlrl.cli.predicting import PATIENCE, DeterministicLimit, How, Seed, open_predicates, predict
from sqlrl.cli.session import Session, print_json, session
from sqlrl.errors import InputError

if TYPE_CHECKING:
    from sqlrl.database import Database as Opened
    from sqlrl.logic import Model
    from sqlrl.prediction import Prediction

Into = Annotated[
    str | None,
    typer.Option(
        "--into", metavar="TABLE", help="A table to create with the atoms predicted true.", show_default=False
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace that table if it exists.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the world and exact counts of every clause in the database.")]
Every = Annotated[bool, typer.Option("--all", help="Also the atoms predicted false.")]


def infer(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    evidence: Evidence = None,
    query: Query = None,
    drop: Drop = None,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    into: Into = None,
    replace: Replace = False,
    keep: Keep = False,
    every: Every = False,
    method: How = Method.auto,
    deterministic_limit: DeterministicLimit = PATIENCE,
    seed: Seed = 0,
    read_only: ReadOnly = False,
    rows: Rows = 20,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Predict the most probable world. Labels are never read.

    sqlrl infer cite.duckdb --model learned.mln --examples "select bib from test" --into predictions

    sqlrl infer --model prog.mln --evidence evidence.db --query Smokes,Cancer
    """
    check_inputs(model=model, evidence=evidence, examples=examples)
    if (into is not None or keep) and (evidence is not None or read_only):
        raise typer.BadParameter(f"{'--keep' if into is None else '--into'} needs a database that can be written")
    with session(verbose, quiet, as_json=as_json, rows=rows) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, evidence, parsed, read_only=read_only) as opened:
            if into is not None and not replace:
                check_free(opened, parsed, into)
            prediction = predict(
                run,
                opened,
                parsed,
                examples=examples,
                method=method,
                limit=limit,
                deterministic_limit=deterministic_limit,
                seed=seed,
                keep=keep,
                drop=drop,
            )
            if into is None:
                show(run, prediction, every=every)
            else:
                write(run, prediction, into, replace=replace)


def write(run: Session, prediction: Prediction, into: str, *, replace: bool) -> None:
    """Create the table of the atoms predicted true, of several predicates one for each."""
    prediction.write(into, replace=replace)
    names = open_predicates(prediction)
    tables = [into] if len(names) == 1 else [f"{into}_{name}" for name in names]
    run.message(f"the atoms predicted true are in {', '.join(tables)}")


def check_free(db: Opened, model: Model, into: str) -> None:
    """Refuse a table that exists before anything is predicted.

    Raises
    ------
    InputError
    """
    from sqlrl.catalog.sources import find_table

    for name in (into, *(f"{into}_{predicate}" for predicate in sorted(model.predicates))):
        if find_table(db.engine, name) is not None:
            raise InputError(f"there is a table {name} already: choose another name, or add --replace")


def show(run: Session, prediction: Prediction, *, every: bool) -> None:
    """Print the predicted atoms, a table for each predicate."""
    names = open_predicates(prediction)
    if run.as_json:
        rows = ({"predicate": name, **row} for name in names for row in prediction.table(name, every=every))
        print_json(rows)
        return
    run.show(*(prediction.table(name, every=every) for name in names))
