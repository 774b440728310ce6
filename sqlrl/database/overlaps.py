"""Which clauses of a model say the same of the same atoms, on the data of a database; `sqlrl.overlap` keeps it."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from sqlrl.ground.clauses import clause_table
from sqlrl.ground.program import Extent
from sqlrl.ground.windows import divided
from sqlrl.report import Table
from sqlrl.solve.overlaps import Overlaps, overlaps
from sqlrl.training.session import Query, Session, verb


@verb
def overlap(session: Session, asked: Query) -> Table:
    """Find the pairs of clauses that share ground clauses; `Database.diagnose` explains it."""
    asked.check()
    clock = time.perf_counter()
    with session.console.progress("comparing clauses"), session.expanded(asked) as (program, chosen):
        listed = clause_table(program)
        shown = np.zeros(program.clause_count, dtype=bool)
        shown[listed.column("clause").to_numpy()] = True
        found: Overlaps | None = None
        for _, network in divided(Extent(program, chosen, asked.limit), np.sort(session.ids(chosen))):
            part = overlaps(network, shown)
            found = part if found is None else found + part
            del network  # or else it would be there while the next is grounded
    assert found is not None, "there is at least one window"
    texts = dict(zip(listed.column("clause").to_pylist(), listed.column("text").to_pylist(), strict=True))
    data = _table(found, texts)
    if session.engine.writable:
        with session.records.together():
            run = session.records.begin_run("overlap", {}, None)
            session.records.append("overlap", run, data)
            session.records.end_run(run, "done", timings={"overlap": time.perf_counter() - clock})
    return Table(data, title="clauses that share ground clauses")


def _table(found: Overlaps, texts: dict[int, str]) -> pa.Table:
    """Return pairs as rows of `sqlrl.overlap`, without the run: those that share most of what either has come first."""
    first, second = found.pairs.T
    data = pa.table(
        {
            "first": pa.array([texts[clause] for clause in first.tolist()], pa.string()),
            "second": pa.array([texts[clause] for clause in second.tolist()], pa.string()),
            "shared": found.shared,
            "first_ground": found.size[first],
            "second_ground": found.size[second],
            "shared_atoms": found.atoms,
            "first_atoms": found.reach[first],
            "second_atoms": found.reach[second],
        }
    )
    names = data.column_names
    share = pa.array(found.shared / (found.size[first] + found.size[second] - found.shared))
    # As the view has them.
    order = [("share", "descending"), ("shared", "descending"), ("first", "ascending"), ("second", "ascending")]
    return data.append_column("share", share).sort_by(order).select(names)
