"""Expected counts of a model's clauses given the evidence, exactly, beside those that labels say."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.database.counting import decimals
from sqlrl.errors import InputError, Parameter, Phrase, Written
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.clauses import clause_table, describer, shape_table, stated_model
from sqlrl.ground.counts import true_counts
from sqlrl.ground.network import FloatArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import divided
from sqlrl.report import Table
from sqlrl.training.session import Query, Session, verb
from sqlrl.training.statistics import Counts, by_evidence, statistics_table, with_expected
from sqlrl.wording import shortened

LEARNER = "expected_counts"
"""What `sqlrl.run` calls a run that keeps them."""


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Counts of m clauses over some examples, as in `Network`: but for `change`, object arrays of int, shape (m,)."""

    base: Counts
    change: FloatArray  # E[n] minus `base`, shape (m,)
    observed: Counts | None  # n by the labels; None if an atom has none
    total: Counts
    open: Counts
    evidence_violated: Counts

    def __add__(self, other: ExpectedCounts) -> ExpectedCounts:
        """Return the counts over the examples of both."""
        observed = None if self.observed is None or other.observed is None else self.observed + other.observed
        return ExpectedCounts(
            self.base + other.base,
            self.change + other.change,
            observed,
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
        )

    @property
    def expected(self) -> FloatArray:
        """E[n] of each clause."""
        return np.asarray(self.base.astype(np.float64) + self.change, dtype=np.float64)

    @property
    def difference(self) -> FloatArray | None:
        """How much n by the labels is above E[n]; of counts beyond 2^53 it has more digits than they have."""
        if self.observed is None:
            return None
        return np.asarray((self.observed - self.base).astype(np.float64) - self.change, dtype=np.float64)


@verb
def expected_counts(session: Session, asked: Query, *, keep: bool) -> Table:
    """Find the expected count of every clause beside the observed one; `Database.count` explains it."""
    given: object = keep
    if not isinstance(given, bool):
        raise InputError(
            f"{Parameter('keep', Written(shortened(repr(given))))} must be {Phrase('True')} or {Phrase('False')}."
        )
    asked.check(weighted=True)
    if keep:
        session.catalog.store.check_writable()
    clock = time.perf_counter()
    with session.console.progress("finding expected counts") as task, session.expanded(asked) as (program, chosen):
        ids = np.sort(session.ids(chosen))
        extent, done = Extent(program, chosen, asked.limit, len(ids)), 0
        found: ExpectedCounts | None = None
        labelled = True
        for window, network in divided(extent, ids):
            part = _of_network(program, network)
            if labelled:
                with extent.restricted_to(window) as some:
                    labelled = _labelled(program, network, some.examples)
            found = part if found is None else found + part
            del network  # or else it would be there while the next is grounded
            done += len(window)
            if done < len(ids):
                task.advance(0, note=f"{done:,} of {len(ids):,} examples")
        assert found is not None, "there is at least one window"
        if labelled:
            # By the formulas as written, as `count` has them, also where labels violate blocks.
            found = replace(found, observed=true_counts(extent))
        if keep:
            _keep(session, program, found, time.perf_counter() - clock)
        return _table(program, found)


def _of_network(program: Program, network: Network) -> ExpectedCounts:
    """Find the expected counts of a ground network; labels are not looked at."""
    from sqlrl.solve.expected import (
        expected_counts as of_network,
    )  # with numba, which a database that only loads does not need

    found = of_network(network, program.weights(), describe=describer(program, network))
    return ExpectedCounts(network.base, found.change, None, network.total, network.open, network.evidence_violated)


def _labelled(program: Program, network: Network, examples: TableName | None) -> bool:
    """Return whether each query atom of a network has a label."""
    _, labelled = read_labels(program.engine, program.layout, network.atoms, examples)
    return bool((labelled | network.helper).all())


def _table(program: Program, found: ExpectedCounts) -> Table:
    """Return the counts of the clauses that users see, with their texts and weights."""
    listed = clause_table(program)
    ids, difference = listed.column("clause").to_numpy(), found.difference
    unknown = pa.nulls(len(ids), pa.int64())
    data = {
        "clause": listed.column("clause"),
        "text": listed.column("text"),
        "n_observed": unknown if found.observed is None else decimals(found.observed[ids]),
        "n_expected": pa.array(found.expected[ids]),
        "difference": pa.nulls(len(ids), pa.float64()) if difference is None else pa.array(difference[ids]),
        "groundings": decimals(found.total[ids]),
        "weight": listed.column("weight"),
    }
    return Table(pa.table(data), title="observed and expected true groundings")


def _keep(session: Session, program: Program, found: ExpectedCounts, seconds: float) -> int:
    """Keep the model and the counts of its clauses; return the number of the run."""
    records = session.records
    run = records.begin_run(LEARNER, {}, None)
    with records.ending(run):
        listed = clause_table(program, keys=True)
        shown = listed.column("clause").to_numpy()
        model = records.save_model(LEARNER, stated_model(program), listed, shape_table(program), origin="given")
        columns = by_evidence(program, found.total, found.open, found.evidence_violated)
        if found.observed is not None:
            columns["n_observed"] = found.observed
        records.append("clause_statistics", run, with_expected(statistics_table(shown, columns), found.expected))
        records.end_run(run, "done", model=model, timings={LEARNER: seconds})
    return run
