"""`sqlrl explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import FLAG, Examples, Messages, ReadOnly
from sqlrl.cli.session import print_json

Hard = Annotated[
    bool,
    typer.Option(
        "--hard", metavar=FLAG, help="Print instead what each hard clause costs, and whether it is inexpensive."
    ),
]


@grouped
def explain(
    inputs: ModelInputs, output: Messages, hard: Hard = False, examples: Examples = None, read_only: ReadOnly = False
) -> None:
    """Show, before any work, the SQL of each shape, DuckDB's plan, and the estimated number of ground clauses.

    sqlrl explain cite.duckdb --model chain.mln
    """
    if examples is not None and not hard:
        raise typer.BadParameter("--examples goes with --hard: SQL and plan are those for all examples")
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        if hard:
            with job.run.working("counting"):
                costs = job.db.diagnose(job.model, kind="costs", examples=job.examples, roles=job.roles)
            if output.as_json:
                print_json(costs)
                return
            print(costs)
            return
        with job.run.working("planning"):
            found = job.model.plan(job.db, roles=job.roles)
        if output.as_json:
            from dataclasses import asdict

            print_json(asdict(each) for each in found)
            return
        print("\n\n".join(str(each).rstrip() for each in found))
