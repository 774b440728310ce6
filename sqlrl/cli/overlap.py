"""`sqlrl overlap`."""

from __future__ import annotations

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import Examples, Limit, Output, ReadOnly
from sqlrl.ground.limits import GROUNDING_LIMIT


@grouped
def overlap(
    inputs: ModelInputs,
    output: Output,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Find the clauses that say the same of the same atoms: pairs that share ground clauses on the data.

    The database keeps them for the view sqlrl.clause_overlap, unless it can only be read.

    sqlrl overlap cite.duckdb --model learned.mln
    """
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        job.run.show(job.db.diagnose(job.model, kind="overlap", examples=job.examples, limit=limit, roles=job.roles))
