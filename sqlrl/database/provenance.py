"""What runs of learners learned from, and whether what is evaluated is among it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.records import Records
from sqlrl.database.inference import Inferred, opened
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.evaluate import Seen
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program, shown_rows

TABLE = "learned_from"
COLUMNS = ["run", "example", "example_name", "predicate", "constants"]

MOST_ATOMS = 1_000_000
"""Query atoms of one network without a scope that are listed; of more it is only kept that there were all."""


def keep_learned_from(records: Records, program: Program, examples: IntArray, run: int) -> None:
    """Keep which examples a run learns from, by their names; and which query atoms, where a scope chooses them or all data are one example."""
    layout = program.public_layout
    rows_of = pa.table({"example": np.unique(examples).astype(np.int32)})
    with shown_rows(records.engine, layout, rows_of) as chosen:
        for info in _targets(layout):
            query = _atom_rows(layout, info) if _listed(layout, info) else _example_rows(layout)
            query = query.join(table(chosen, "c"), on=column("example", "c").eq(column("example", "x")))
            query = query.select(named(exp.convert(run), "run"), named(exp.convert(info.name), "predicate"))
            order = [column(name) for name in ("example", "constants")]
            rows = exp.select(*map(column, COLUMNS)).from_(query.subquery("r")).order_by(*order)
            records.insert(TABLE, rows, COLUMNS)


def seen(found: Inferred, atoms: IntArray) -> Seen | None:
    """Return how many of some query atoms a run of this database learned the model from; None if no run is known to have."""
    records = found.session.records
    run = records.learned(found.asked_model, TABLE)
    if run is None:
        return None
    known = records.predicates_of(TABLE, run)
    layout, count = found.layout, 0
    with shown_rows(found.engine, layout, pa.table({"atom": atoms})) as asked:
        for info in _targets(layout):
            listed = known.get(info.name)
            if listed is None or (not listed and layout.example_count == 1 and not records.same_data_of(run)):
                # Of one network without a list of its atoms only the name is known, which other data have, too.
                continue
            count += _common(found, info, asked, run, listed=listed)
    return Seen(run, count, len(atoms)) if count else None


def _common(found: Inferred, info: PredicateInfo, asked: TableName, run: int, *, listed: bool) -> int:
    """Count the query atoms of a predicate among some that a run learned from."""
    layout = found.layout
    query = _atom_rows(layout, info) if listed else _example_rows(layout, info)
    query = query.join(table(asked, "w"), on=column("atom", "w").eq(column("atom", "a")))
    learned = (
        exp.select(column("example_name"), column("constants")).distinct().from_(found.session.records.table(TABLE))
    )
    learned = learned.where(exp.and_(column("run").eq(run), column("predicate").eq(info.name)))
    keys = ["example_name", "constants"] if listed else ["example_name"]
    same = exp.and_(*(column(key, "l").eq(column(key, "r")) for key in keys))
    counted = exp.select(named(star_count(), "n")).from_(query.subquery("r")).join(learned.subquery("l"), on=same)
    return int(found.engine.fetch(counted, step=f"count what was learned of {info.name}").column(0)[0].as_py())


def _targets(layout: Layout) -> list[PredicateInfo]:
    return [info for info in opened(layout) if not info.hidden]


def _listed(layout: Layout, info: PredicateInfo) -> bool:
    """Return True if the atoms of a predicate are kept one by one."""
    return not info.full_scope or (layout.example_count == 1 and info.atom_count <= MOST_ATOMS)


def _atom_rows(layout: Layout, info: PredicateInfo) -> exp.Select:
    """Select the query atoms of a predicate: `example`, `example_name`, `constants`; tables `a` and `x` are the atoms and the examples."""
    assert info.atoms is not None, "the target is open"
    names = [column("name", f"d{i}") for i in range(len(info.types))]
    query = _example_rows(layout, info, exp.Array(expressions=names))
    for i, kind in enumerate(info.types):
        dictionary = table(layout.types[kind].dictionary, f"d{i}")
        query = query.join(dictionary, on=column("id", f"d{i}").eq(column(f"a{i}", "a")))
    return query


def _example_rows(layout: Layout, info: PredicateInfo | None = None, constants: exp.Expr | None = None) -> exp.Select:
    """Select the examples, or those of the query atoms of a predicate: `example`, `example_name`, `constants` (NULL)."""
    none = exp.cast(exp.null(), exp.DataType.build("VARCHAR[]", dialect="duckdb"))
    chosen = [column("example", "x"), named(column("name", "x"), "example_name")]
    query = exp.select(*chosen, named(constants or none, "constants")).from_(table(layout.examples, "x"))
    if info is None:
        return query
    assert info.atoms is not None, "the target is open"
    return query.join(table(info.atoms, "a"), on=column("example", "a").eq(column("example", "x")))
