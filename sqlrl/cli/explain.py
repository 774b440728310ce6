"""`sqlrl explain`."""

from __future__ import annotations

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Inputs
from sqlrl.cli.options import Messages, ReadOnly
from sqlrl.cli.session import print_json


@grouped
def explain(inputs: Inputs, output: Messages, read_only: ReadOnly = False) -> None:
    """Show, before any work, the SQL of each shape, DuckDB's plan, and the estimated number of ground clauses.

    sqlrl explain cite.duckdb --model chain.mln
    """
    with inputs.open(output, read_only=read_only) as job:
        with job.run.working("planning"):
            found = job.db.explain(job.model)
        if output.as_json:
            from dataclasses import asdict

            print_json(asdict(each) for each in found)
            return
        print("\n\n".join(str(each).rstrip() for each in found))
