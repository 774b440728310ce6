"""What a learner reports of a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.learn.protocols import STEP_SCHEMA
from sqlrl.learn.stepping import Learned


@dataclass(frozen=True, eq=False)
class WindowReport:
    """What learning from one window did.

    Parameters
    ----------
    steps : pyarrow.Table
        Progressive validation, one row for each step: `step` (from 0), `example`, `loss` (Hamming: wrong atoms),
        `atoms`, `correct`, `score_truth`, `score_prediction` (weighted counts of the open ground clauses of the example
        before the update; the part that is the same in every world is left out).
    predicted : bool array, shape (n,)
        The world predicted for each example before it was learned; false for atoms of skipped examples.
    changes : pyarrow.Table
        With `record_history` one row for each clause whose count differed in a step: `step`, `clause`, `delta_n`, `weight`
        (after the step). Between its rows a weight of AdaGrad moves towards 0 by lambda * eta / H at each step, one of CDA
        or the subgradient method shrinks by (t - 1) / t, and others rest.
    seconds : float
        Wall time.
    """

    steps: pa.Table
    predicted: BoolArray
    changes: pa.Table
    seconds: float


def step_table(learned: Learned, done: int, examples: IntArray) -> pa.Table:
    """Return the steps of a window as rows of `WindowReport.steps`; `done` steps came before."""
    rows = learned.rows
    steps = np.arange(done, done + len(examples), dtype=np.int64)
    columns = (steps, examples, rows.loss.astype(np.float64), rows.atoms, rows.atoms - rows.loss)
    return pa.Table.from_arrays(
        [pa.array(x) for x in (*columns, rows.score_truth, rows.score_prediction)], schema=STEP_SCHEMA
    )


def change_table(learned: Learned, ids: IntArray) -> pa.Table:
    """Return the changes of a window as rows of `WindowReport.changes`; `ids` are those of the local clauses."""
    changes = learned.changes
    return pa.table(
        {
            "step": changes.step - 1,
            "clause": ids[changes.clause],
            "delta_n": changes.delta_n,
            "weight": changes.weight,
        }
    )
