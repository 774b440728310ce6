"""`sqlrl ground`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlrl.cli.inputs import check_inputs, chosen_examples, open_data, read_model
from sqlrl.cli.options import (
    GROUNDING_LIMIT,
    Database,
    Db,
    Drop,
    Evidence,
    Examples,
    Json,
    Limit,
    ModelFile,
    Query,
    Quiet,
    ReadOnly,
    Rows,
    Verbose,
    split_names,
)
from sqlrl.cli.session import session

if TYPE_CHECKING:
    from sqlrl.ground.network import Network
    from sqlrl.ground.program import Program
    from sqlrl.report import Table


def ground(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    evidence: Evidence = None,
    query: Query = None,
    drop: Drop = None,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
    rows: Rows = 20,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Ground a model, and print how many ground clauses each shape has and what the evidence decides."""
    check_inputs(model=model, evidence=evidence, examples=examples)
    with session(verbose, quiet, as_json=as_json, rows=rows) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, evidence, parsed, read_only=read_only) as opened:
            from sqlrl.ground.assemble import ground_network

            with (
                run.working("grounding"),
                opened.program(parsed, drop=split_names(drop)) as program,
                opened.only(chosen_examples(examples)) as chosen,
            ):
                program.expand(chosen)
                network = ground_network(program, chosen, limit=limit)
                summary = summarise(program, network)
            run.show(summary)
            visible = int((~network.helper).sum())
            size = len(network.row_clause) + network.units.nnz
            run.message(
                f"{visible:,} query atoms, {len(network.clauses):,} clauses, {size:,} distinct ground clauses left open"
            )


def summarise(program: Program, network: Network) -> Table:
    """Return a row for each shape (of a formula with several clauses, for all of them together).

    Parameters
    ----------
    program : Program
    network : Network

    Returns
    -------
    Table
        Columns `shape`, `clauses`, `groundings` (trivially true ones included), `satisfied` and `violated` by the
        evidence, `open`.
    """
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
