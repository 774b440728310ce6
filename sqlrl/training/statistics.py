"""Exact statistics of clauses, as `sqlrl.clause_statistics` keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.records import Records
from sqlrl.ground import counts
from sqlrl.ground.clauses import clause_table
from sqlrl.ground.grounding import decided_false, observed_counts
from sqlrl.ground.network import FloatArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Window
from sqlrl.solve.counts import counts as counts_in

Counts = npt.NDArray[np.object_]
"""Exact counts of clauses."""


def add_observed(records: Records, run: int, extent: Extent) -> None:
    """Add n in the observed world, and delta n, to the statistics of a kept prediction; reads labels."""
    # The program is the same model, bound to the same data and expanded over the same examples as in the prediction, so that its clauses have
    # the same ids.
    shown = clause_table(extent.program).column("clause").to_numpy()
    observed, change = counts.true_counts(extent), np.full(extent.program.clause_count, None)
    predicted = records.column("clause_statistics", run, "n_predicted", order="clause")
    change[shown] = observed[shown] - np.array([int(n) for n in predicted], dtype=object)
    data = statistics_table(shown, {"n_observed": observed, "delta_n": change})
    records.fill("clause_statistics", run, data, key="clause")


def learned_statistics(
    extent: Extent, open_counts: Counts, support: pa.Table, shown: npt.NDArray[np.int64]
) -> pa.Table:
    """Return the statistics of the clauses in `shown` that a learner knows when it is done, with counts over the training examples."""
    program = extent.program
    # Clauses after those in `open_counts` occur in no window, and have no open groundings.
    open_ = np.full(program.clause_count, 0, dtype=object)
    open_[: len(open_counts)] = open_counts
    total, violated, observed = counts.groundings(extent), decided_false(extent), counts.true_counts(extent)
    return counted_statistics(program, ClauseCounts(total, open_, violated, observed), support, shown)


@dataclass(frozen=True, eq=False)
class ClauseCounts:
    """Exact counts of m clauses over some examples, as in `Network`: object arrays of int, shape (m,)."""

    total: Counts
    open: Counts
    evidence_violated: Counts
    observed: Counts  # n by the labels

    def __add__(self, other: ClauseCounts) -> ClauseCounts:
        """Return the counts over the examples of both, which are others; of the same clauses."""
        return ClauseCounts(
            self.total + other.total,
            self.open + other.open,
            self.evidence_violated + other.evidence_violated,
            self.observed + other.observed,
        )


def window_counts(window: Window) -> ClauseCounts:
    """Return the counts of a window."""
    network = window.network
    return ClauseCounts(network.total, network.open, network.evidence_violated, counts_in(network, window.truth))


def counted_statistics(
    program: Program, counts: ClauseCounts, support: pa.Table, shown: npt.NDArray[np.int64]
) -> pa.Table:
    """Return the statistics of the clauses in `shown` that a learner knows, from the counts of all training examples."""
    columns = by_evidence(program, counts.total, counts.open, counts.evidence_violated)
    columns["n_observed"] = counts.observed
    # Summed over the steps; a batch learner does not have it.
    if "delta_n" in support.column_names:
        columns["delta_n"] = _by_clause(support, program)
    return statistics_table(shown, columns)


def added_statistics(extent: Extent, support: pa.Table, shown: npt.NDArray[np.int64]) -> pa.Table:
    """Return the statistics of the clauses in `shown`, which no window had grounded, from one pass over their ground clauses."""
    program = extent.program
    # The limit holds for counting clauses without an open literal.
    seen, total = observed_counts(extent), counts.groundings(extent)
    observed = np.where(program.signs() > 0, total - seen.violated, seen.violated)
    return counted_statistics(program, ClauseCounts(total, seen.open, seen.evidence_violated, observed), support, shown)


def _by_clause(support: pa.Table, program: Program) -> Counts:
    """Return delta n of every clause; 0 for those without a row."""
    change = np.full(program.clause_count, 0, dtype=object)
    change[support.column("clause").to_numpy()] = support.column("delta_n").to_pylist()
    return change


def by_evidence(program: Program, total: Counts, open_counts: Counts, violated: Counts) -> dict[str, Counts]:
    """Return how the evidence decides the groundings of m clauses, by columns of `sqlrl.clause_statistics`; None where unknown."""
    satisfied = total - open_counts - violated
    # What satisfies the negation of a conjunction violates the conjunction.
    plain = program.signs() > 0
    # A grounding of a formula of several clauses is several ground clauses, of which the evidence may decide some: what it decides of the
    # formula is then not known.
    of_feature = np.array([len(bound.instances) > 1 for bound in program.features], dtype=bool)
    several = of_feature[np.array(program.feature_of, dtype=np.int64)]
    decided: dict[str, Counts] = {
        "open": open_counts.copy(),
        "satisfied_by_evidence": np.where(plain, satisfied, violated),
        "violated_by_evidence": np.where(plain, violated, satisfied),
    }
    for values in decided.values():
        values[several] = None
    return {"groundings": total, **decided}


def statistics_table(clauses: npt.NDArray[np.int64], columns: Mapping[str, Counts]) -> pa.Table:
    """Return exact counts of some clauses as rows of `sqlrl.clause_statistics`, without the run; None becomes NULL."""
    wide = {name: pa.array(list(values[clauses]), pa.decimal128(38)) for name, values in columns.items()}
    return pa.table({"clause": clauses, **wide})


def with_expected(statistics: pa.Table, expected: FloatArray | None) -> pa.Table:
    """Add E[n] of each clause to rows of `sqlrl.clause_statistics`; `expected`, by clause id, may be shorter, and NaN is unknown."""
    if expected is None:
        return statistics
    clauses = statistics.column("clause").to_numpy()
    known = np.full(max(len(expected), int(clauses.max(initial=-1)) + 1), np.nan)
    known[: len(expected)] = expected
    mine = known[clauses]
    return statistics.append_column("n_expected", pa.array(mine, mask=np.isnan(mine)))


def with_excess(statistics: pa.Table, excess: FloatArray | None) -> pa.Table:
    """Add E[n] to rows that have n of the labels; `excess` is as in `sqlrl.training.records.TrainingRecord`."""
    if excess is None:
        return statistics
    clauses = statistics.column("clause").to_numpy()
    expected = np.full(int(clauses.max(initial=-1)) + 1, np.nan)
    expected[clauses] = [np.nan if n is None else float(n) for n in statistics.column("n_observed").to_pylist()]
    known = min(len(excess), len(expected))
    expected[:known] -= excess[:known]
    return with_expected(statistics, expected)
