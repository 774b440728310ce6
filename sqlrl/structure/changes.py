"""What the steps of a structure learner are reported as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.protocols import STEP_SCHEMA


class Changes(NamedTuple):
    """What a step changed.

    Parameters
    ----------
    step : int
        From 1.
    clause, delta_n : int64 arrays, shape (k,)
    weight : float array, shape (k,)
        After the step (log-odds).
    """

    step: int
    clause: IntArray
    delta_n: IntArray
    weight: FloatArray


def step_table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return rows of `WindowReport.steps` as a table.

    Examples
    --------
    >>> step_table([(0, 4, 1.0, 3, 2, 0.5, 0.75)]).column("correct").to_pylist()
    [2]
    """
    columns = [pa.array([row[i] for row in rows], type=kind.type) for i, kind in enumerate(STEP_SCHEMA)]
    return pa.Table.from_arrays(columns, schema=STEP_SCHEMA)


def change_table(changes: Sequence[Changes]) -> pa.Table:
    """Return changes as rows of `WindowReport.changes`: ascending by step, then clause.

    Parameters
    ----------
    changes : sequence of Changes
        In that order.

    Examples
    --------
    >>> change_table([Changes(3, np.array([7]), np.array([-1]), np.array([0.5]))]).to_pylist()
    [{'step': 2, 'clause': 7, 'delta_n': -1, 'weight': 0.5}]
    """
    none = np.zeros(0, dtype=np.int64)
    steps = [none, *(np.full(len(x.clause), x.step - 1, dtype=np.int64) for x in changes)]
    return pa.table(
        {
            "step": np.concatenate(steps),
            "clause": np.concatenate([none, *(x.clause for x in changes)]),
            "delta_n": np.concatenate([none, *(x.delta_n for x in changes)]),
            "weight": np.concatenate([np.zeros(0), *(x.weight for x in changes)]),
        }
    )
