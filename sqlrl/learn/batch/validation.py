"""Choosing the strength of a penalty by the log-likelihood of labels that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.errors import InputError, ValidationWarning, warn
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.batch.choices import Choices
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design
from sqlrl.learn.protocols import TUNING_SCHEMA
from sqlrl.wording import counted

TOLERANCE = 1e-4
"""Of the fits that are only compared: their held-out log-likelihoods differ by far more."""

STRENGTH_SCHEMA = pa.schema(
    [
        ("strength", pa.float64()),
        ("log_likelihood", pa.float64()),
        ("per_choice", pa.float64()),
        ("deviation", pa.float64()),
        ("nonzero", pa.float64()),
        ("chosen", pa.bool_()),
    ]
)
"""See `Validation.table`."""


@dataclass(frozen=True, eq=False)
class Validation:
    """How strengths did on parts that were held out.

    Parameters
    ----------
    strengths : float array, shape (s,)
        Descending.
    scores : float array, shape (s, folds)
        The log-likelihood of each part under weights learned from the others.
    nonzero : int64 array, shape (s, folds)
        How many weights are not 0.
    choices : int
        Atoms and blocks in all parts.
    """

    strengths: FloatArray
    scores: FloatArray
    nonzero: IntArray
    choices: int

    @property
    def best(self) -> float:
        """The strength with the greatest total; of several the strongest."""
        return float(self.strengths[int(np.argmax(self.scores.sum(axis=1)))])

    def table(self) -> pa.Table:
        """Return a row for each strength, ascending.

        Returns
        -------
        pyarrow.Table
            `strength`; `log_likelihood` (of all parts, each held out once); `per_choice` (its mean over atoms and blocks);
            `deviation` (of that mean among the parts); `nonzero` (mean number of weights that are not 0); `chosen`.
        """
        back = slice(None, None, -1)
        total = self.scores.sum(axis=1)
        folds = self.scores.shape[1]
        return pa.table(
            {
                "strength": self.strengths[back],
                "log_likelihood": total[back],
                "per_choice": total[back] / self.choices,
                "deviation": (self.scores.std(axis=1, ddof=1) * folds / self.choices)[back],
                "nonzero": self.nonzero.mean(axis=1)[back],
                "chosen": (self.strengths == self.best)[back],
            }
        )

    def tuning(self) -> pa.Table:
        """Return a row for each strength and part, of `TUNING_SCHEMA`."""
        s, folds = self.scores.shape
        value = np.repeat(self.strengths, folds)
        columns = {
            "parameter": pa.array(["strength"] * (s * folds), pa.string()),
            "value": value,
            "fold": np.tile(np.arange(1, folds + 1), s),
            "score": self.scores.ravel(),
            "chosen": value == self.best,
        }
        return pa.table(columns).cast(TUNING_SCHEMA)


def validate(choices: Choices, penalty: Penalty, strengths: Sequence[float], parts: IntArray) -> Validation:
    """Hold out each part in turn, and learn from the others with each strength.

    Parameters
    ----------
    choices : Choices
        c choices.
    penalty : {"l1", "l2"}
    strengths : sequence of float
        Above 0.
    parts : int64 array, shape (c,)
        The part of each choice, from 0.

    Returns
    -------
    Validation
    """
    ordered, folds = sorted(set(map(float, strengths)), reverse=True), int(parts.max()) + 1
    scores, nonzero = np.zeros((len(ordered), folds)), np.zeros((len(ordered), folds), dtype=np.int64)
    for fold in range(folds):
        held = parts == fold
        design, test = make_design(choices.chosen(~held)), choices.chosen(held)
        weights: FloatArray | None = None
        for i, strength in enumerate(ordered):
            fit = fit_weights(design, penalty, strength, start=weights, tolerance=TOLERANCE, max_iterations=1000)
            weights = fit.weights
            scores[i, fold] = test.log_likelihood(weights).sum()
            nonzero[i, fold] = np.count_nonzero(weights)
    return Validation(np.array(ordered), scores, nonzero, len(choices))


def make_parts(choices: Choices, folds: int, *, seed: int) -> IntArray:
    """Deal choices to parts at random: whole examples if there are several, else atoms and blocks, each label evenly.

    Parameters
    ----------
    choices : Choices
        c choices.
    folds : int
        2 or more. Never more parts than examples, if there are several.
    seed : int

    Returns
    -------
    int64 array, shape (c,)
        From 0.

    Raises
    ------
    InputError
        There are fewer choices than folds.

    Warns
    -----
    ValidationWarning
        A part has labels of one kind only.

    Examples
    --------
    >>> from scipy import sparse
    >>> place = np.zeros(4, dtype=np.int64)
    >>> label = np.array([0, 1, 0, 1])
    >>> four = Choices(
    ...     sparse.csr_array((8, 1)), np.zeros(8), np.arange(0, 9, 2), 2 * np.arange(4) + label, place, label
    ... )
    >>> parts = make_parts(four, 2, seed=0)
    >>> sorted(zip(parts.tolist(), label.tolist()))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    random = np.random.default_rng(seed)
    examples, example = np.unique(choices.example, return_inverse=True)
    if len(examples) > 1:
        folds = min(folds, len(examples))
        parts = (random.permutation(len(examples)) % folds)[example]
    else:
        if folds > len(choices):
            raise InputError(
                f"folds={folds}, but there {'is' if len(choices) == 1 else 'are'} only "
                f"{counted(len(choices), 'query atom or block', 'query atoms and blocks')} to learn from: use fewer folds, or one strength"
            )
        order = random.permutation(len(choices))
        order = order[np.argsort(choices.label[order], kind="stable")]
        parts = np.empty(len(choices), dtype=np.int64)
        parts[order] = np.arange(len(order)) % folds
    parts = parts.astype(np.int64)
    _check_parts(choices, parts, whole=len(examples) > 1)
    return parts


def _check_parts(choices: Choices, parts: IntArray, *, whole: bool) -> None:
    """Warn if a part that is held out, or all others together, has labels of one kind only."""
    folds = int(parts.max()) + 1
    alone = [f + 1 for f in range(folds) if len(np.unique(choices.label[parts == f])) == 1]
    rest = [f + 1 for f in range(folds) if len(np.unique(choices.label[parts != f])) == 1]
    if not alone and not rest:
        return
    if alone:
        what = counted(len(alone), "of the parts that are held out has", "of the parts that are held out have")
        what += f" labels of one kind only, the first of them part {alone[0]}"
    else:
        what = f"without part {rest[0]} all labels are of one kind"
    if len(np.unique(choices.label)) == 1:
        remedy = "so have all: give the target predicate a scope with atoms of the other kind"
    elif whole:
        remedy = "use fewer folds, or more examples"
    else:
        remedy = f"use fewer than {folds} folds, or one strength"
    warn(f"a strength is chosen by held-out labels, but {what}; {remedy}", ValidationWarning)
