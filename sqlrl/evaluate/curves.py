"""Curves of precision and recall, and of rates: what each threshold of a score would have predicted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError
from sqlrl.evaluate.rankings import labels_and_scores, tied
from sqlrl.report.table import Table


def precision_recall_curve(truth: npt.ArrayLike, score: npt.ArrayLike) -> Table:
    """Return precision and recall with each distinct score as threshold, the highest first; atoms that reach it count as predicted true."""
    threshold, above, found = _at_thresholds(truth, score)
    if not len(found) or found[-1] == 0:
        raise InputError("precision and recall need a true atom, and no label is true")
    columns = {"threshold": threshold, "recall": found / found[-1], "precision": found / above}
    return Table(pa.table({**columns, "predicted_true": above, "true_positives": found}))


def roc_curve(truth: npt.ArrayLike, score: npt.ArrayLike) -> Table:
    """Return the rates of false and true positives at each threshold, the highest first, after a row of threshold infinity and rates 0."""
    threshold, above, found = _at_thresholds(truth, score)
    if not len(found) or found[-1] in (0, above[-1]):
        raise InputError("a ROC curve needs true and false atoms, and all labels are of one kind")
    false = above - found
    rates = {"false_positive_rate": false / false[-1], "true_positive_rate": found / found[-1]}
    start = {"threshold": np.concatenate([[np.inf], threshold])}
    return Table(pa.table(start | {name: np.concatenate([[0.0], rate]) for name, rate in rates.items()}))


def _at_thresholds(
    truth: npt.ArrayLike, score: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the distinct scores, descending, and how many atoms, and how many true ones, score as much or more."""
    label, value = labels_and_scores(truth, score)
    ties = tied(label, value, np.zeros(len(label), np.int64), 1)
    return np.unique(value)[::-1], np.cumsum(ties.size), np.cumsum(ties.hits)
