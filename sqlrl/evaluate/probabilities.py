"""How good probabilities of atoms are: area under the ROC curve, accuracy, log-likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.wording import counted

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class ProbabilityScores:
    """The scores of some probabilities. `str()` gives one line.

    Parameters
    ----------
    atoms : int
        Number of atoms n.
    true : int
        How many of them are true.
    accuracy : float
        Share of the atoms whose label is the more probable one; an atom above the threshold counts as predicted true. NaN
        without atoms.
    auc_roc : float
        The chance that a true atom is more probable than a false one, ties counted half; NaN unless there are both.
    log_likelihood : float
        The sum of the logarithms of the labels' probabilities, minus infinity if one of them is 0.

    Examples
    --------
    >>> print(score_probabilities([True, False, True, False], [0.9, 0.4, 0.4, 0.1]))
    accuracy 75.00, AUC-ROC 0.875, log-likelihood -0.409 per atom (4 atoms, 2 true)
    """

    atoms: int
    true: int
    accuracy: float
    auc_roc: float
    log_likelihood: float

    @property
    def mean_log_likelihood(self) -> float:
        """Log-likelihood per atom; NaN without atoms."""
        return self.log_likelihood / self.atoms if self.atoms else math.nan

    def __str__(self) -> str:
        if not self.atoms:
            return "no atoms to score"
        area = f"{self.auc_roc:.3f}" if 0 < self.true < self.atoms else "undefined where labels are of one kind"
        return (
            f"accuracy {100 * self.accuracy:.2f}, AUC-ROC {area}, log-likelihood {self.mean_log_likelihood:.3f} per atom "
            f"({counted(self.atoms, 'atom')}, {self.true:,} true)"
        )

    def __repr__(self) -> str:
        return f"ProbabilityScores({self})"


def auc_roc(truth: npt.ArrayLike, score: npt.ArrayLike) -> float:
    """Return the area under the ROC curve: the chance that a true atom scores higher than a false one, ties counted half.

    `truth` (bool) and `score` (float) have shape (n,); scores are probabilities, or any other numbers that are higher for atoms
    more likely true; infinite ones too, but not NaN. The area is NaN unless there are true and false atoms.

    Notes
    -----
    The area is the statistic of Mann and Whitney over the number of pairs (Hanley & McNeil 1982). Ranks are kept doubled, as
    integers, so that the area is exact up to one division.

    Examples
    --------
    >>> auc_roc([True, False, True, False], [0.9, 0.4, 0.4, 0.1])
    0.875
    """
    label, value = _checked(truth, score)
    true = int(label.sum())
    false = len(label) - true
    if true == 0 or false == 0:
        return math.nan
    _, group, size = np.unique(value, return_inverse=True, return_counts=True)
    end = np.cumsum(size)
    doubled_rank = (2 * end - size + 1)[group.reshape(-1)]
    doubled = int(doubled_rank[label].sum()) - true * (true + 1)
    return doubled / (2 * true * false)


def score_probabilities(
    truth: npt.ArrayLike, probability: npt.ArrayLike, *, threshold: float = 0.5
) -> ProbabilityScores:
    """Compare probabilities with labels; an atom whose probability exceeds the threshold counts as predicted true.

    `truth` (bool) and `probability` (float, from 0 to 1) have shape (n,): such as the column `probability` of
    `Marginals.probabilities()`.

    Examples
    --------
    >>> scores = score_probabilities([True, False], [0.5, 0.25])
    >>> scores.accuracy, scores.auc_roc, round(scores.log_likelihood, 6)
    (0.5, 1.0, -0.980829)
    """
    label, chance = _checked(truth, probability)
    outside = np.flatnonzero((chance < 0) | (chance > 1))
    if len(outside):
        raise InputError(
            f"{counted(len(outside), 'probability', 'probabilities')} of {len(chance):,} outside 0 to 1, the first "
            f"{chance[outside[0]]:g} at position {outside[0]}: give probabilities, or use auc_roc, which takes any score"
        )
    with np.errstate(divide="ignore"):
        logarithm = np.log(np.where(label, chance, 1.0 - chance))
    return ProbabilityScores(
        atoms=len(label),
        true=int(label.sum()),
        accuracy=float(((chance > threshold) == label).mean()) if len(label) else math.nan,
        auc_roc=auc_roc(label, chance),
        log_likelihood=math.fsum(logarithm.tolist()),
    )


def _checked(truth: npt.ArrayLike, score: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
    label, value = np.asarray(truth), np.asarray(score, dtype=np.float64)
    if label.ndim != 1 or value.shape != label.shape:
        raise InputError(
            f"labels and scores must be lists of one length, not of shapes {label.shape} and {value.shape}"
        )
    if label.dtype != np.bool_ and label.size:
        raise InputError(f"labels must be booleans, not {label.dtype}")
    unknown = np.flatnonzero(np.isnan(value))
    if len(unknown):
        raise InputError(f"{counted(len(unknown), 'score')} of {len(value):,} NaN, the first at position {unknown[0]}")
    return label.astype(np.bool_), value
