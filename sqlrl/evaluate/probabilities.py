"""How good probabilities of atoms are: areas under curves, log-likelihood, Brier score, calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, Parameter
from sqlrl.evaluate.metrics import scores_html
from sqlrl.evaluate.rankings import (
    Ranking,
    RankingScores,
    areas,
    labels_and_scores,
    ranking,
    ranking_scores,
    tied,
    without_rounding,
)
from sqlrl.evaluate.seen import Seen, score_remarks
from sqlrl.report.table import Table
from sqlrl.slips import Helpful
from sqlrl.wording import counted

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BINS = 10
"""Bins of equal width in which probabilities are compared with what is true."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Calibration:
    """How far probabilities are from shares of true atoms, in bins of equal width.

    Bin k of n has the atoms with a probability above k / n and up to (k + 1) / n; the first one also those with probability 0. What is
    empty counts as nothing.

    Parameters
    ----------
    atoms : int64 array, shape (n,)
        Atoms of each bin.
    true : int64 array, shape (n,)
        How many of them are true.
    probability : float64 array, shape (n,)
        The mean of their probabilities; NaN where there is no atom.

    Examples
    --------
    >>> found = calibration([True, False, True, True], [0.9, 0.4, 0.4, 1.0], bins=2)
    >>> round(found.error, 6), found.table()["share"]
    (0.075, [0.5, 1.0])
    """

    atoms: IntArray
    true: IntArray
    probability: FloatArray

    @property
    def share(self) -> FloatArray:
        """The share of true atoms in each bin; NaN where there is no atom."""
        none = np.full(len(self.atoms), np.nan)
        share: FloatArray = np.divide(self.true, self.atoms, out=none, where=self.atoms > 0)
        return share

    @property
    def error(self) -> float:
        """The expected calibration error: the mean of |share - probability| over the bins, each as heavy as its atoms; NaN without atoms."""
        some = self.atoms > 0
        total = int(self.atoms.sum())
        off = np.abs(self.share - self.probability)[some] * self.atoms[some]
        return math.fsum(off.tolist()) / total if total else math.nan

    def table(self) -> Table:
        """Return a row for each bin.

        Returns
        -------
        Table
            Columns `above`, `up_to` (the ends of the bin), `atoms`, `true`, `probability` (mean), `share` (of true atoms); the last
            two are NULL where there is no atom.
        """
        size = len(self.atoms)
        none = self.atoms == 0
        return Table(
            pa.table(
                {
                    "above": np.arange(size) / size,
                    "up_to": np.arange(1, size + 1) / size,
                    "atoms": self.atoms,
                    "true": self.true,
                    "probability": pa.array(self.probability, mask=none),
                    "share": pa.array(self.share, mask=none),
                }
            )
        )

    def __repr__(self) -> str:
        return f"Calibration(expected error {self.error:.3f}, {counted(int(self.atoms.sum()), 'atom')} in {counted(len(self.atoms), 'bin')})"

    def _repr_html_(self) -> str:
        return scores_html(self.table(), repr(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProbabilityScores(Helpful):
    """The scores of some probabilities. `str()` gives one line, `table()` a row for each predicate.

    Nothing is clipped: a label whose probability is 0 makes the log-likelihood minus infinity, and is counted in `impossible`. Probabilities
    that differ by rounding alone (relatively by 1e-12) are ties.

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
    average_precision : float
        The precision at each true atom's probability, on the average over the true atoms: the area under the curve of precision
        and recall, without interpolation. NaN without a true atom.
    log_likelihood : float
        The sum of the logarithms of the labels' probabilities, minus infinity if one of them is 0.
    possible_log_likelihood : float
        The sum over the labels whose probability is not 0.
    impossible : int
        Labels whose probability is 0: true atoms with probability 0, and false ones with probability 1.
    brier : float
        The mean of the squared differences of label and probability; NaN without atoms.
    calibration : Calibration
    predicates : dict of str to ProbabilityScores
        Of each predicate alone, sorted by name; empty if the atoms were given without predicates.
    outside : int
        True labels outside the scope: they have no probability, and are not scored.
    seen : Seen or None
        Whether the model was learned from some of the atoms, as far as the runs of the database tell.
    ranking : Ranking or None
        The atoms with their examples, for `by_example`; None if they were given without examples.

    Examples
    --------
    >>> print(score_probabilities([True, False, True, False], [0.9, 0.4, 0.4, 0.1]))
    AUC-ROC 0.875, average precision 0.833, log-likelihood -0.409 per atom, calibration error 0.100, accuracy 75.00 (4 atoms, 2 true)
    """

    atoms: int
    true: int
    accuracy: float
    auc_roc: float
    average_precision: float
    log_likelihood: float
    possible_log_likelihood: float
    impossible: int
    brier: float
    calibration: Calibration
    predicates: Mapping[str, ProbabilityScores] = field(default_factory=dict)
    outside: int = 0
    seen: Seen | None = None
    ranking: Ranking | None = None

    @property
    def mean_log_likelihood(self) -> float:
        """Log-likelihood per atom; NaN without atoms."""
        return self.log_likelihood / self.atoms if self.atoms else math.nan

    @property
    def calibration_error(self) -> float:
        """The expected calibration error; NaN without atoms."""
        return self.calibration.error

    def table(self) -> Table:
        """Return a row for each predicate and, if there are several, a last one named `(all)`.

        Returns
        -------
        Table
            Columns predicate, auc_roc, average_precision, log_likelihood (per atom), calibration_error, brier, accuracy, atoms,
            true, impossible. What is not defined is NULL.
        """
        rows = [*self.predicates.items()]
        if len(rows) != 1:
            rows.append(("(all)", self))
        numbers = {
            "auc_roc": [s.auc_roc for _, s in rows],
            "average_precision": [s.average_precision for _, s in rows],
            "log_likelihood": [s.mean_log_likelihood for _, s in rows],
            "calibration_error": [s.calibration_error for _, s in rows],
            "brier": [s.brier for _, s in rows],
            "accuracy": [s.accuracy for _, s in rows],
        }
        whole = {"atoms": [s.atoms for _, s in rows], "true": [s.true for _, s in rows]}
        whole["impossible"] = [s.impossible for _, s in rows]
        return Table(
            pa.table(
                {
                    "predicate": pa.array([name for name, _ in rows], pa.string()),
                    **{name: pa.array(values, pa.float64(), from_pandas=True) for name, values in numbers.items()},
                    **{name: pa.array(values, pa.int64()) for name, values in whole.items()},
                }
            )
        )

    def by_example(self) -> RankingScores:
        """Return how well the probabilities rank the atoms within each example.

        Where there are several predicates all atoms of an example are ranked together; `predicates[name].by_example()` ranks those of one.

        Returns
        -------
        RankingScores
            Average precision and area under the ROC curve of each example, and their means.

        Raises
        ------
        InputError
            The atoms were given without examples, or no example has both true and false atoms.

        Examples
        --------
        >>> chances = [0.9, 0.4, 0.4, 0.1]
        >>> scores = score_probabilities([True, False, False, True], chances, example=[0, 0, 1, 1], examples=["x", "y"])
        >>> print(scores.by_example())
        MAP 0.750 ± 0.250, mean AUC-ROC 0.500 ± 0.500 (over 2 examples)
        """
        if self.ranking is None:
            raise InputError(
                f"the atoms were given without their examples: give score_probabilities(..., {Parameter('example')}, {Parameter('examples')})"
            )
        return ranking_scores(self.ranking, outside=self.outside, seen=self.seen)

    def __str__(self) -> str:
        if not self.atoms:
            return f"no atoms to score{score_remarks(self.outside, self.seen)}"
        one_kind = "undefined where labels are of one kind"
        area = f"{self.auc_roc:.3f}" if 0 < self.true < self.atoms else one_kind
        precision = f"{self.average_precision:.3f}" if self.true else "undefined where no label is true"
        return (
            f"AUC-ROC {area}, average precision {precision}, log-likelihood {self._likelihood()}, calibration error "
            f"{self.calibration_error:.3f}, accuracy {100 * self.accuracy:.2f} ({counted(self.atoms, 'atom')}, {self.true:,} true)"
            f"{score_remarks(self.outside, self.seen)}"
        )

    def _likelihood(self) -> str:
        """What `str` says of the log-likelihood."""
        if not self.impossible:
            return f"{self.mean_log_likelihood:.3f} per atom"
        rest = self.atoms - self.impossible
        others = f"; {self.possible_log_likelihood / rest:.3f} per atom over the other {rest:,}" if rest else ""
        has = "label has" if self.impossible == 1 else "labels have"
        return f"-inf ({self.impossible:,} {has} probability 0{others})"

    def __repr__(self) -> str:
        lines = [f"ProbabilityScores({self})", *(f"  {name}: {scores}" for name, scores in self.predicates.items())]
        return "\n".join(lines if len(self.predicates) > 1 else lines[:1])

    def _repr_html_(self) -> str:
        return scores_html(self.table(), str(self))


def auc_roc(truth: npt.ArrayLike, score: npt.ArrayLike) -> float:
    """Return the area under the ROC curve: the chance that a true atom scores higher than a false one, ties counted half.

    Parameters
    ----------
    truth : bool array, shape (n,)
        Labels.
    score : float array, shape (n,)
        Probabilities, or any other numbers that are higher for atoms more likely true; infinite ones too, but not NaN.

    Returns
    -------
    float
        NaN unless there are true and false atoms.

    Raises
    ------
    InputError
        The arrays are of other shapes or types, or a score is NaN.

    Notes
    -----
    The area is the statistic of Mann and Whitney over the number of pairs (Hanley & McNeil 1982).

    Examples
    --------
    >>> auc_roc([True, False, True, False], [0.9, 0.4, 0.4, 0.1])
    0.875
    """
    label, value = labels_and_scores(truth, score)
    return float(areas(tied(label, value, np.zeros(len(label), np.int64), 1))[0])


def average_precision(truth: npt.ArrayLike, score: npt.ArrayLike) -> float:
    """Return the precision at the score of each true atom, on the average over the true atoms.

    Precision at a score is the share of true atoms among those that score as high or higher, so that atoms with one score count together.

    Parameters
    ----------
    truth, score : array
        As in `auc_roc`.

    Returns
    -------
    float
        NaN without a true atom.

    Raises
    ------
    InputError
        The arrays are of other shapes or types, or a score is NaN.

    Notes
    -----
    The sum over scores s of (recall(s) - recall(s')) precision(s), where s' is the next higher score: no interpolation, as in
    `sklearn.metrics.average_precision_score`.

    Examples
    --------
    >>> round(average_precision([True, False, True, False], [0.9, 0.4, 0.4, 0.1]), 6)
    0.833333
    """
    label, value = labels_and_scores(truth, score)
    true = int(label.sum())
    if true == 0:
        return math.nan
    _, group, size = np.unique(value, return_inverse=True, return_counts=True)
    hits = np.bincount(group.reshape(-1)[label], minlength=len(size))
    above, found = np.cumsum(size[::-1]), np.cumsum(hits[::-1])
    return math.fsum((hits[::-1] * (found / above)).tolist()) / true


def calibration(truth: npt.ArrayLike, probability: npt.ArrayLike, *, bins: int = BINS) -> Calibration:
    """Compare probabilities with shares of true atoms in bins of equal width.

    `truth` and `probability` are as in `score_probabilities`; `bins` is 1 or more.

    Examples
    --------
    >>> calibration([True, False], [0.75, 0.25])
    Calibration(expected error 0.250, 2 atoms in 10 bins)
    """
    label, chance = _chances(truth, probability)
    asked: object = bins
    if isinstance(asked, bool) or not isinstance(asked, int | np.integer) or asked < 1:
        raise InputError(f"{Parameter('bins', bins)} must be a whole number of bins, 1 or more.")
    place = np.searchsorted(np.arange(1, bins) / bins, chance, side="left")
    atoms = np.bincount(place, minlength=bins).astype(np.int64)
    true = np.bincount(place[label], minlength=bins).astype(np.int64)
    sums = np.array([math.fsum(chance[place == k].tolist()) if atoms[k] else math.nan for k in range(bins)])
    return Calibration(atoms, true, sums / np.maximum(atoms, 1))


def score_probabilities(
    truth: npt.ArrayLike,
    probability: npt.ArrayLike,
    *,
    threshold: float = 0.5,
    bins: int = BINS,
    predicate: npt.ArrayLike | None = None,
    names: Sequence[str] = (),
    example: npt.ArrayLike | None = None,
    examples: Sequence[str] = (),
    outside: int = 0,
    seen: Seen | None = None,
) -> ProbabilityScores:
    """Compare probabilities with labels; an atom whose probability exceeds the threshold counts as predicted true.

    Parameters
    ----------
    truth : bool array, shape (n,)
        Labels.
    probability : float array, shape (n,)
        From 0 to 1: such as the column `probability` of `Marginals.probabilities()`.
    threshold : float
        Of the accuracy.
    bins : int
        Of the calibration.
    predicate : int array, shape (n,), optional
        The index of each atom's predicate in `names`, of which each is scored by itself, too.
    names : sequence of str
        Names of predicates.
    example : int or text array, shape (n,), optional
        The example of each atom; with `examples`, its index in them. `by_example` of the scores ranks the atoms of each.
    examples : sequence of str
        Names of the examples, each once.
    outside, seen
        Only reported.

    Returns
    -------
    ProbabilityScores

    Raises
    ------
    InputError
        The arrays are of other shapes or types, or a number is no probability.

    Examples
    --------
    >>> scores = score_probabilities([True, False], [0.5, 0.25])
    >>> scores.accuracy, scores.auc_roc, round(scores.log_likelihood, 6)
    (0.5, 1.0, -0.980829)
    >>> scores = score_probabilities([True, True], [0.5, 0.0])
    >>> scores.log_likelihood, scores.impossible, round(scores.possible_log_likelihood, 6)
    (-inf, 1, -0.693147)
    """
    label, chance = _chances(truth, probability)
    right = np.where(label, chance, 1.0 - chance)
    possible = math.fsum(np.log(right[right > 0]).tolist())
    impossible = int((right == 0).sum())
    score = without_rounding(chance)
    atoms = None if example is None else ranking(label, score, example, examples)
    whole = ProbabilityScores(
        atoms=len(label),
        true=int(label.sum()),
        accuracy=float(((chance > threshold) == label).mean()) if len(label) else math.nan,
        auc_roc=auc_roc(label, score),
        average_precision=average_precision(label, score),
        log_likelihood=-math.inf if impossible else possible,
        possible_log_likelihood=possible,
        impossible=impossible,
        brier=math.fsum(((chance - label) ** 2).tolist()) / len(label) if len(label) else math.nan,
        calibration=calibration(label, chance, bins=bins),
        ranking=atoms,
    )
    parts: dict[str, ProbabilityScores] = {}
    if predicate is not None:
        kind = np.asarray(predicate)
        if kind.shape != label.shape:
            raise InputError(f"`predicate` must have the shape of the labels, {label.shape}, not {kind.shape}")
        for k in sorted(range(len(names)), key=lambda k: names[k]):
            mine, part = kind == k, whole
            if not mine.all():
                part = score_probabilities(label[mine], chance[mine], threshold=threshold, bins=bins)
                part = replace(part, ranking=None if atoms is None else atoms.part(mine))
            parts[names[k]] = part
    return replace(whole, predicates=parts, outside=outside, seen=seen)


def _chances(truth: npt.ArrayLike, probability: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return labels and probabilities, which lie between 0 and 1."""
    label, chance = labels_and_scores(truth, probability)
    outside = np.flatnonzero((chance < 0) | (chance > 1))
    if len(outside):
        raise InputError(
            f"{counted(len(outside), 'probability', 'probabilities')} of {len(chance):,} outside 0 to 1, the first "
            f"{chance[outside[0]]:g} at position {outside[0]}: give probabilities, or use auc_roc, which takes any score"
        )
    return label, chance
