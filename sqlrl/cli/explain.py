"""`sqlrl explain`."""

from __future__ import annotations

from sqlrl.cli.inputs import check_inputs, open_data, read_model
from sqlrl.cli.options import (
    Database,
    Db,
    Drop,
    Evidence,
    Json,
    ModelFile,
    Query,
    Quiet,
    ReadOnly,
    Verbose,
    split_names,
)
from sqlrl.cli.session import print_json, session


def explain(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    evidence: Evidence = None,
    query: Query = None,
    drop: Drop = None,
    read_only: ReadOnly = False,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Show, before any work, the SQL of each shape, DuckDB's plan, and the estimated number of ground clauses."""
    check_inputs(model=model, evidence=evidence)
    with session(verbose, quiet, as_json=as_json) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, evidence, parsed, read_only=read_only) as opened:
            with run.working("planning"):
                found = opened.explain(parsed, drop=split_names(drop))
            if as_json:
                from dataclasses import asdict

                print_json(asdict(each) for each in found)
                return
            print("\n\n".join(str(each).rstrip() for each in found))
