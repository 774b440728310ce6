"""`sqlrl ground`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import Examples, Limit, Output, ReadOnly
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    from sqlrl.ground.network import Network
    from sqlrl.ground.program import Program
    from sqlrl.report import Table


@grouped
def ground(
    inputs: ModelInputs,
    output: Output,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Ground a model, and print how many ground clauses each shape has and what the evidence decides.

    sqlrl ground cite.duckdb --model chain.mln
    """
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        from sqlrl.ground.grounding import ground_network
        from sqlrl.ground.program import Extent
        from sqlrl.training.session import Query

        asked = Query(job.model, job.examples, job.roles, limit)
        with job.run.working("grounding"), job.db.advanced.session.expanded(asked) as (program, chosen):
            network = ground_network(Extent(program, chosen, limit))
            summary = summarise(program, network)
        job.run.show(summary)
        atoms = int((~network.helper).sum())
        size = len(network.row_clause) + network.units.nnz
        job.run.message(
            f"{atoms:,} query atoms, {len(network.clauses):,} clauses, {size:,} distinct ground clauses left open"
        )


def summarise(program: Program, network: Network) -> Table:
    """Return the counts of groundings, trivially true ones included, with a row for each shape, or for all shapes of one formula."""
    import pyarrow as pa

    from sqlrl.report import Table

    rows: dict[str, dict[str, int]] = {}
    for clause, feature in enumerate(program.feature_of):
        bound = program.features[feature]
        if bound.rule is None:
            continue
        shape = " and ".join(str(instance.shape) for instance in bound.instances)
        row = rows.setdefault(shape, dict.fromkeys(("clauses", "groundings", "satisfied", "violated", "open"), 0))
        total, violated, left = network.total[clause], network.evidence_violated[clause], network.open[clause]
        for name, value in zip(row, (1, total, total - violated - left, violated, left), strict=True):
            row[name] += int(value)
    names = ("shape", "clauses", "groundings", "satisfied", "violated", "open")
    small = all(value < 2**63 for row in rows.values() for value in row.values())
    kind = pa.int64() if small else pa.decimal128(38)
    columns = {"shape": pa.array(list(rows), pa.string())}
    columns |= {name: pa.array([row[name] for row in rows.values()], kind) for name in names[1:]}
    return Table(pa.table(columns), title="groundings; satisfied and violated by the evidence, or left open")
