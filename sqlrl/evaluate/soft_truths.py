"""How good soft truth values are: their errors, and areas and F1 where a threshold makes true and false atoms of the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, Parameter
from sqlrl.evaluate.metrics import scores_html
from sqlrl.evaluate.probabilities import auc_roc, average_precision
from sqlrl.evaluate.rankings import Ranking, RankingScores, ranking, ranking_scores, without_rounding
from sqlrl.evaluate.seen import Seen, score_remarks
from sqlrl.report.table import Table
from sqlrl.slips import Helpful
from sqlrl.wording import counted

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SoftScores(Helpful):
    """The scores of some truth values. `str()` gives one line, `table()` a row for each predicate.

    Parameters
    ----------
    atoms : int
        Number of atoms n.
    true : int
        How many of them have a label of at least the threshold.
    mean_absolute_error, mean_squared_error : float
        Of value less label; NaN without atoms.
    auc_roc : float
        The chance that a true atom has a higher value than a false one, ties counted half; NaN unless there are both.
    average_precision : float
        The area under the curve of precision and recall, without interpolation; NaN without a true atom.
    precision, recall, f1 : float
        Of values of at least the threshold. NaN where nothing is predicted true, or is true; F1 is 0 where no true atom is found, NaN without
        either.
    threshold : float
    predicates : dict of str to SoftScores
        Of each predicate alone, sorted by name; empty if the atoms were given without predicates.
    outside : int
        True labels outside the scope: they have no value, and are not scored.
    seen : Seen or None
        Whether the model was learned from some of the atoms, as far as the runs of the database tell.
    ranking : Ranking or None
        The atoms with their examples, for `by_example`; None if they were given without examples.
    constant_error : float
        To compare `mean_absolute_error` with: the least one that the same value for all atoms has. That value is the median of the labels that are
        scored, so that no prediction could know it. NaN without atoms.

    Examples
    --------
    >>> print(score_values([1.0, 0.0, 0.75, 0.0], [0.9, 0.4, 0.4, 0.1]))
    AUC-ROC 0.875, average precision 0.833, F1 0.667 (at 0.5), MAE 0.237 (the best constant has 0.438), MSE 0.076 (4 atoms, 2 true)
    """

    atoms: int
    true: int
    mean_absolute_error: float
    mean_squared_error: float
    auc_roc: float
    average_precision: float
    precision: float
    recall: float
    f1: float
    threshold: float
    predicates: Mapping[str, SoftScores] = field(default_factory=dict)
    outside: int = 0
    seen: Seen | None = None
    ranking: Ranking | None = None
    constant_error: float = math.nan

    def table(self) -> Table:
        """Return a row for each predicate and, if there are several, a last one named `(all)`.

        Returns
        -------
        Table
            Columns predicate, auc_roc, average_precision, f1, precision, recall, mean_absolute_error, mean_squared_error, atoms, true. What
            is not defined is NULL.
        """
        rows = [*self.predicates.items()]
        if len(rows) != 1:
            rows.append(("(all)", self))
        names = (
            "auc_roc", "average_precision", "f1", "precision", "recall", "mean_absolute_error", "mean_squared_error",
        )  # fmt: skip
        numbers = {n: pa.array([getattr(s, n) for _, s in rows], pa.float64(), from_pandas=True) for n in names}
        whole = {n: pa.array([getattr(s, n) for _, s in rows], pa.int64()) for n in ("atoms", "true")}
        return Table(pa.table({"predicate": pa.array([name for name, _ in rows], pa.string()), **numbers, **whole}))

    def by_example(self) -> RankingScores:
        """Return how well the values rank the atoms within each example.

        Raises
        ------
        InputError
            The atoms were given without examples, or no example has both true and false atoms.
        """
        if self.ranking is None:
            raise InputError(
                f"the atoms were given without their examples: give score_values(..., {Parameter('example')}, {Parameter('examples')})"
            )
        return ranking_scores(self.ranking, outside=self.outside, seen=self.seen)

    def __str__(self) -> str:
        if not self.atoms:
            return f"no atoms to score{score_remarks(self.outside, self.seen)}"
        area = f"{self.auc_roc:.3f}" if 0 < self.true < self.atoms else "undefined where labels are of one kind"
        precision = f"{self.average_precision:.3f}" if self.true else "undefined where no label is true"
        f1 = "undefined" if math.isnan(self.f1) else f"{self.f1:.3f}"
        return (
            f"AUC-ROC {area}, average precision {precision}, F1 {f1} (at {self.threshold:g}), MAE {self.mean_absolute_error:.3f} (the best constant "
            f"has {self.constant_error:.3f}), MSE {self.mean_squared_error:.3f} ({counted(self.atoms, 'atom')}, {self.true:,} true){score_remarks(self.outside, self.seen)}"
        )

    def __repr__(self) -> str:
        lines = [f"SoftScores({self})", *(f"  {name}: {scores}" for name, scores in self.predicates.items())]
        return "\n".join(lines if len(self.predicates) > 1 else lines[:1])

    def _repr_html_(self) -> str:
        return scores_html(self.table(), str(self))


def score_values(
    truth: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    threshold: float = 0.5,
    predicate: npt.ArrayLike | None = None,
    names: Sequence[str] = (),
    example: npt.ArrayLike | None = None,
    examples: Sequence[str] = (),
    outside: int = 0,
    seen: Seen | None = None,
) -> SoftScores:
    """Compare soft truth values with labels, which may be soft, too.

    Parameters
    ----------
    truth, value : float array, shape (n,)
        From 0 to 1.
    threshold : float
        A label, or a value, of at least as much counts as true.
    predicate : int array, shape (n,), optional
        The index of each atom's predicate in `names`, of which each is scored by itself, too.
    names : sequence of str
        Names of predicates.
    example : int or text array, shape (n,), optional
        The example of each atom; with `examples`, its index in them.
    examples : sequence of str
        Names of the examples, each once.
    outside, seen
        Only reported.

    Returns
    -------
    SoftScores

    Raises
    ------
    InputError
        The arrays are of other shapes or types, or a number is not from 0 to 1.

    Examples
    --------
    >>> scores = score_values([1.0, 0.25, 0.0], [1.0, 0.5, 0.5])
    >>> scores.mean_absolute_error, scores.precision, scores.recall, round(scores.f1, 6)
    (0.25, 0.3333333333333333, 1.0, 0.5)
    """
    label, found = _values("truth", truth), _values("value", value)
    if label.shape != found.shape:
        raise InputError(f"truth has {len(label):,} numbers and value {len(found):,}: they are of the same atoms")
    asked: object = threshold
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= 1:
        raise InputError(f"{Parameter('threshold', threshold)} must be a number from 0 to 1.")
    score = without_rounding(found)
    atoms = None if example is None else ranking(label >= threshold, score, example, examples)
    whole = replace(_scored(label, score, threshold), outside=outside, seen=seen, ranking=atoms)
    if predicate is None:
        return whole
    kind = np.asarray(predicate)
    each = {}
    for i, name in sorted(enumerate(names), key=lambda pair: pair[1]):
        mine = kind == i
        part = (
            None
            if example is None
            else ranking(label[mine] >= threshold, score[mine], np.asarray(example)[mine], examples)
        )
        each[name] = replace(_scored(label[mine], score[mine], threshold), ranking=part)
    return replace(whole, predicates=each)


def _values(what: str, given: npt.ArrayLike) -> FloatArray:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is no array of numbers.") from None
    if values.ndim != 1:
        raise InputError(f"{what} has the shape {values.shape}: expected one number for each atom, (n,).")
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise InputError(f"{what} has {values[wrong[0]]!r} at {wrong[0]}: truth values are from 0 to 1.")
    return values


def _scored(label: FloatArray, value: FloatArray, threshold: float) -> SoftScores:
    true, predicted = label >= threshold, value >= threshold
    hits, size = int((true & predicted).sum()), len(label)
    positive, claimed = int(true.sum()), int(predicted.sum())
    off = (value - label).tolist()
    return SoftScores(
        size,
        positive,
        math.fsum(map(abs, off)) / size if size else math.nan,
        math.fsum(x * x for x in off) / size if size else math.nan,
        auc_roc(true, value),
        average_precision(true, value),
        hits / claimed if claimed else math.nan,
        hits / positive if positive else math.nan,
        2 * hits / (positive + claimed) if positive + claimed else math.nan,
        float(threshold),
        constant_error=math.fsum(np.abs(label - np.median(label)).tolist()) / size if size else math.nan,
    )
