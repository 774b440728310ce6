"""What is kept of runs in the database: worlds, and exact statistics of clauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.catalog.records import Records
from sqlrl.database.marginals import Marginals, method_names
from sqlrl.database.prediction import Prediction
from sqlrl.database.solved import Counts, WorldCounts
from sqlrl.ground import counts
from sqlrl.ground.assemble import decided_false, observed_counts
from sqlrl.ground.clauses import clause_table, shape_table, stated_model
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.plan.touching import AtomKey
from sqlrl.solve.counts import counts as counts_in

if TYPE_CHECKING:
    from sqlrl.database.why import Reasons


def keep_prediction(
    prediction: Prediction, counted: WorldCounts, program: Program, parameters: Mapping[str, object]
) -> int:
    """Keep the model, the true atoms and exact statistics of a prediction; return the number of the run.

    Groundings that hold an atom and its negation count as satisfied by the evidence. No label is read: what labels say is
    added by `add_observed`.
    """
    atoms, records = prediction.network_atoms, prediction.records
    run = records.begin_run("predict", parameters, None)
    with records.ending(run):
        listed = clause_table(program)
        shown = listed.column("clause").to_numpy()
        model = records.save_model("predict", stated_model(program), listed, shape_table(program), origin="given")
        for name in prediction.open_predicates:
            mine = prediction.result.world & prediction.of_predicate(name)
            true = {"atom": atoms.ids[mine], "example": atoms.example[mine], "truth": np.ones(mine.sum(), bool)}
            names = pa.array([name] * int(mine.sum()), pa.string())
            records.append("prediction", run, pa.table({"predicate": names, **true}))
        found = by_evidence(program, counted.total, counted.open, counted.evidence_violated)
        found["n_predicted"] = counted.predicted
        records.append("clause_statistics", run, statistics_table(shown, found))
        records.end_run(run, "done", model=model, timings=prediction.seconds)
    return run


def keep_marginals(found: Marginals, program: Program, parameters: Mapping[str, object], seed: int) -> int:
    """Keep the model and the probabilities of query atoms; return the number of the run."""
    atoms, records = found.network_atoms, found.records
    run = records.begin_run("marginals", parameters, seed)
    with records.ending(run):
        model = records.save_model(
            "marginals", stated_model(program), clause_table(program), shape_table(program), origin="given"
        )
        for name in found.open_predicates:
            mine = found.of_predicate(name)
            rows = {"atom": atoms.ids[mine], "example": atoms.example[mine]}
            rows |= {key: getattr(found.result, key)[mine] for key in ("probability", "error", "rhat", "ess")}
            method = method_names(found.result).filter(pa.array(mine))
            names = pa.array([name] * int(mine.sum()), pa.string())
            records.append("marginal", run, pa.table({"predicate": names, **rows, "method": method}))
        records.end_run(run, "done", model=model, timings=found.seconds)
    return run


def keep_reasons(records: Records, run: int, key: AtomKey, reasons: Reasons) -> None:
    """Keep why an atom is predicted as it is, in place of what an earlier call kept of it: rows of `explained` and `reason`."""
    head = {
        "atom": pa.array([key.atom], pa.int64()),
        "example": pa.array([key.columns["example"]], pa.int32()),
        "name": pa.array([reasons.atom], pa.string()),
        "truth": pa.array([reasons.truth], pa.bool_()),
        "margin": pa.array([reasons.margin], pa.float64()),
        "gap": pa.array([reasons.gap], pa.float64()),
    }
    rows = reasons.table.to_arrow()
    times = rows.column("times").cast(pa.decimal128(38))
    rows = rows.set_column(rows.column_names.index("times"), "times", times)
    rows = rows.append_column("atom", pa.array([key.atom] * len(rows), pa.int64()))
    records.replace("explained", run, pa.table(head), key="atom", value=key.atom)
    records.replace("reason", run, rows, key="atom", value=key.atom)


def add_observed(
    records: Records, run: int, program: Program, examples: TableName | None, *, limit: int | None
) -> None:
    """Add n in the observed world, and delta n, to the statistics of a kept prediction; reads labels.

    Parameters
    ----------
    records : Records
    run : int
    program : Program
        The same model, held against the same data and expanded over the same examples, so that its clauses have the same ids.
    examples : TableName or None
        The examples of the prediction.
    limit : int or None
        The most groundings that counting may enumerate.

    Raises
    ------
    GroundingLimitError
        Counting would enumerate more.
    """
    shown = clause_table(program).column("clause").to_numpy()
    observed, change = counts.true_counts(program, examples=examples, limit=limit), np.full(program.clause_count, None)
    predicted = records.column("clause_statistics", run, "n_predicted", order="clause")
    change[shown] = observed[shown] - np.array([int(n) for n in predicted], dtype=object)
    data = statistics_table(shown, {"n_observed": observed, "delta_n": change})
    records.fill("clause_statistics", run, data, key="clause")


def learned_statistics(
    program: Program,
    examples: TableName,
    opened: Counts,
    support: pa.Table,
    shown: npt.NDArray[np.int64],
    *,
    limit: int | None,
) -> pa.Table:
    """Return the statistics that a learner knows when it is done.

    Parameters
    ----------
    program : Program
        m clauses.
    examples : TableName
        The training examples.
    opened : object array of int, shape (k,), k <= m
        Open groundings over the training examples; clauses that occur in no window have none.
    support : pyarrow.Table
        Columns `clause` and `delta_n` (summed over the steps), which a batch learner does not have.
    shown : int64 array
        The clauses that users see.
    limit : int or None
        The most groundings that counting may enumerate.

    Raises
    ------
    GroundingLimitError
        Counting would enumerate more.
    """
    open_ = np.full(program.clause_count, 0, dtype=object)
    open_[: len(opened)] = opened
    total, violated = counts.groundings(program, examples), decided_false(program, examples, limit=limit)
    found = by_evidence(program, total, open_, violated)
    observed = counts.true_counts(program, examples=examples, limit=limit)
    found["n_observed"] = observed
    if "delta_n" in support.column_names:
        found["delta_n"] = _by_clause(support, program)
    return statistics_table(shown, found)


def window_statistics(
    program: Program, network: Network, truth: npt.NDArray[np.bool_], support: pa.Table, shown: npt.NDArray[np.int64]
) -> pa.Table:
    """Return the statistics that a learner knows when it is done, where one network holds all training examples.

    The same as `learned_statistics`, without counting in the database again.

    Parameters
    ----------
    program : Program
        m clauses.
    network : Network
        Of the training examples; n atoms, m clauses.
    truth : bool array, shape (n,)
        The labels.
    support, shown
        As for `learned_statistics`.
    """
    found = by_evidence(program, network.total, network.open, network.evidence_violated)
    found["n_observed"] = counts_in(network, truth)
    if "delta_n" in support.column_names:
        found["delta_n"] = _by_clause(support, program)
    return statistics_table(shown, found)


def added_statistics(
    program: Program,
    examples: TableName,
    support: pa.Table,
    shown: npt.NDArray[np.int64],
    *,
    limit: int | None,
) -> pa.Table:
    """Return the statistics of clauses that no window had grounded, from one pass over their ground clauses.

    Parameters
    ----------
    program, examples, support, shown, limit
        As for `learned_statistics`.

    Raises
    ------
    GroundingLimitError
        Counting clauses without an open literal would enumerate more.
    """
    seen, total = observed_counts(program, examples, limit=limit), counts.groundings(program, examples)
    found = by_evidence(program, total, seen.open, seen.evidence_violated)
    found["n_observed"] = np.where(program.signs() > 0, total - seen.violated, seen.violated)
    found["delta_n"] = _by_clause(support, program)
    return statistics_table(shown, found)


def _by_clause(support: pa.Table, program: Program) -> Counts:
    """Return delta n of every clause; 0 for those without a row."""
    change = np.full(program.clause_count, 0, dtype=object)
    change[support.column("clause").to_numpy()] = support.column("delta_n").to_pylist()
    return change


def by_evidence(program: Program, total: Counts, opened: Counts, violated: Counts) -> dict[str, Counts]:
    """Return how the evidence decides the groundings of formulas, by the columns of `sqlrl.clause_statistics`.

    A grounding of a formula of several clauses is several ground clauses, of which the evidence may decide some: what it decides
    of the formula is then not known, None.

    Parameters
    ----------
    program : Program
        m clauses.
    total, opened, violated : object arrays of int, shape (m,)
        Groundings; ground clauses that the evidence leaves open, and that it violates.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> total, opened, violated = (np.array([n], dtype=object) for n in (9, 4, 2))
    >>> by_evidence(sample_program(PEOPLE, ["Smokes"], FRIENDS), total, opened, violated)[
    ...     "satisfied_by_evidence"
    ... ].tolist()
    [3]
    """
    satisfied = total - opened - violated
    # What satisfies the negation of a conjunction violates the conjunction.
    plain = program.signs() > 0
    several = np.array([len(program.features[f].instances) > 1 for f in program.feature_of], dtype=bool)
    decided: dict[str, Counts] = {
        "open": opened.copy(),
        "satisfied_by_evidence": np.where(plain, satisfied, violated),
        "violated_by_evidence": np.where(plain, violated, satisfied),
    }
    for values in decided.values():
        values[several] = None
    return {"groundings": total, **decided}


def statistics_table(clauses: npt.NDArray[np.int64], found: Mapping[str, Counts]) -> pa.Table:
    """Return exact counts of some clauses as rows of `sqlrl.clause_statistics`, without the run; None becomes NULL.

    Examples
    --------
    >>> statistics_table(np.array([1]), {"n_observed": np.array([0, 2**70], dtype=object)}).to_pylist()
    [{'clause': 1, 'n_observed': Decimal('1180591620717411303424')}]
    """
    wide = {name: pa.array(list(values[clauses]), pa.decimal128(38)) for name, values in found.items()}
    return pa.table({"clause": clauses, **wide})
