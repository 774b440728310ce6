"""What runs of learners learned from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.records import Records
from sqlrl.engine.nodes import column, named, table
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program, rows_table

RANKING = (
    "AdaGrad", "CDA", "MIRA", "MaxMargin", "OSL", "Perceptron", "Subgradient", "VotedPerceptron",
)  # fmt: skip
"""Learners by which the labels' world outscores others: multiples of their weights rank worlds alike, and none says how probable one is."""

TABLE = "learned_from"
COLUMNS = ["run", "example", "example_name", "predicate", "constants"]

MOST_ATOMS = 1_000_000
"""Query atoms of one network without a scope that are listed; of more it is only kept that there were all."""


def keep_learned_from(records: Records, program: Program, examples: IntArray, run: int) -> None:
    """Keep which examples a run learns from, by their names; and which query atoms, where a scope chooses them or all data are one example."""
    layout = program.public_layout
    rows_of = pa.table({"example": np.unique(examples).astype(np.int32)})
    with rows_table(records.engine, layout, rows_of) as chosen:
        for info in targets(layout):
            query = atom_rows(layout, info) if is_listed(layout, info) else example_rows(layout)
            query = query.join(table(chosen, "c"), on=column("example", "c").eq(column("example", "x")))
            query = query.select(named(exp.convert(run), "run"), named(exp.convert(info.name), "predicate"))
            order = [column(name) for name in ("example", "constants")]
            rows = exp.select(*map(column, COLUMNS)).from_(query.subquery("r")).order_by(*order)
            records.insert(TABLE, rows, COLUMNS)


def targets(layout: Layout) -> list[PredicateInfo]:
    """Return the open predicates that are not hidden, sorted."""
    return [info for info in layout.open_predicates() if not info.hidden]


def is_listed(layout: Layout, info: PredicateInfo) -> bool:
    """Return True if the atoms of a predicate are kept one by one."""
    return not info.full_scope or (layout.example_count == 1 and info.atom_count <= MOST_ATOMS)


def atom_rows(layout: Layout, info: PredicateInfo) -> exp.Select:
    """Select the query atoms of a predicate: `example`, `example_name`, `constants`; tables `a` and `x` are the atoms and the examples."""
    assert info.atoms is not None, "the target is open"
    names = [column("name", f"d{i}") for i in range(len(info.types))]
    query = example_rows(layout, info, exp.Array(expressions=names))
    for i, kind in enumerate(info.types):
        dictionary = table(layout.types[kind].dictionary, f"d{i}")
        query = query.join(dictionary, on=column("id", f"d{i}").eq(column(f"a{i}", "a")))
    return query


def example_rows(layout: Layout, info: PredicateInfo | None = None, constants: exp.Expr | None = None) -> exp.Select:
    """Select the examples, or those of the query atoms of a predicate: `example`, `example_name`, `constants` (NULL)."""
    none = exp.cast(exp.null(), exp.DataType.build("VARCHAR[]", dialect="duckdb"))
    chosen = [column("example", "x"), named(column("name", "x"), "example_name")]
    query = exp.select(*chosen, named(constants or none, "constants")).from_(table(layout.examples, "x"))
    if info is None:
        return query
    assert info.atoms is not None, "the target is open"
    return query.join(table(info.atoms, "a"), on=column("example", "a").eq(column("example", "x")))
