"""How much of what is evaluated the model was learned from."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.database.inferred import Inferred
from sqlrl.engine.nodes import column, named, star_count, table
from sqlrl.evaluate import Seen
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import rows_table
from sqlrl.training.provenance import TABLE, atom_rows, example_rows, targets


def seen(found: Inferred, atoms: IntArray) -> Seen | None:
    """Return how many of some query atoms a run of this database learned the model from; None if no run is known to have."""
    records = found.session.records
    run = records.learned(found.asked_model, TABLE)
    if run is None:
        return None
    known = records.predicates_of(TABLE, run)
    layout, count = found.layout, 0
    with rows_table(found.engine, layout, pa.table({"atom": atoms})) as asked:
        for info in targets(layout):
            listed = known.get(info.name)
            if listed is None or (not listed and layout.example_count == 1 and not records.same_data_of(run)):
                # Of one network without a list of its atoms only the name is known, which other data have, too.
                continue
            count += _common(found, info, asked, run, listed=listed)
    return Seen(run, count, len(atoms)) if count else None


def _common(found: Inferred, info: PredicateInfo, asked: TableName, run: int, *, listed: bool) -> int:
    """Count the query atoms of a predicate among some that a run learned from."""
    layout = found.layout
    query = atom_rows(layout, info) if listed else example_rows(layout, info)
    query = query.join(table(asked, "w"), on=column("atom", "w").eq(column("atom", "a")))
    learned = (
        exp.select(column("example_name"), column("constants")).distinct().from_(found.session.records.table(TABLE))
    )
    learned = learned.where(exp.and_(column("run").eq(run), column("predicate").eq(info.name)))
    keys = ["example_name", "constants"] if listed else ["example_name"]
    same = exp.and_(*(column(key, "l").eq(column(key, "r")) for key in keys))
    counted = exp.select(named(star_count(), "n")).from_(query.subquery("r")).join(learned.subquery("l"), on=same)
    return int(found.engine.fetch(counted, step=f"count what was learned of {info.name}").column(0)[0].as_py())
