"""How well scores rank the atoms of each example: average precision and area under the ROC curve, and their means over examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError
from sqlrl.evaluate.metrics import scores_html
from sqlrl.evaluate.seen import Seen, score_remarks
from sqlrl.evaluate.validation import CONFIDENCE, PairedDifference, mean_and_error, paired_difference
from sqlrl.report.table import Table
from sqlrl.slips import Helpful
from sqlrl.wording import counted

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class LeftOut(NamedTuple):
    """How many examples are left out of the means, since no atom could be ranked above another: all are true, all are false, or none is there."""

    only_true: int
    only_false: int
    without_atoms: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)

    def __str__(self) -> str:
        named = zip(("only true atoms", "only false atoms", "no labelled atom"), self, strict=True)
        return ", ".join(f"{number:,} with {what}" for what, number in named if number)

    def _repr_html_(self) -> str:
        return markup.field_table(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankingScores(Helpful):
    """How well the atoms of each example are ranked. `str()` gives one line, `table()` a row for each example.

    Parameters
    ----------
    example : array, shape (k,)
        Names of the examples, or their ids if there are no names.
    atoms : int64 array, shape (k,)
        Labelled atoms of each.
    true : int64 array, shape (k,)
        How many of them are true.
    average_precision : float64 array, shape (k,)
        The precision at the rank of each true atom, on the average over the true atoms and over the orders of ties; NaN unless the
        example has both true and false atoms.
    auc : float64 array, shape (k,)
        The chance that a true atom of the example scores higher than a false one, ties counted half; NaN unless there are both.
    outside : int
        True labels outside the scope: they have no score, and are not ranked.
    seen : Seen or None
        Whether the model was learned from some of the atoms, as far as the runs of the database tell.

    Examples
    --------
    >>> scores = score_rankings([True, False, True, False, True], [3, 1, 2, 2, 7], ["a", "a", "b", "b", "c"])
    >>> scores.mean_average_precision, scores.mean_auc, scores.left_out
    (0.875, 0.75, LeftOut(only_true=1, only_false=0, without_atoms=0))
    """

    example: npt.NDArray[Any]
    atoms: IntArray
    true: IntArray
    average_precision: FloatArray
    auc: FloatArray
    outside: int = 0
    seen: Seen | None = None

    @property
    def ranked(self) -> BoolArray:
        """Which examples have both true and false atoms, and count in the means; shape (k,)."""
        both: BoolArray = (self.true > 0) & (self.true < self.atoms)
        return both

    @property
    def left_out(self) -> LeftOut:
        """How many examples do not count in the means, and why."""
        some, all_true = self.atoms > 0, self.true == self.atoms
        parts = (some & all_true, some & (self.true == 0), ~some)
        return LeftOut(*(int(np.count_nonzero(part)) for part in parts))

    @property
    def mean_average_precision(self) -> float:
        """The mean of the average precision over the examples that are ranked (MAP)."""
        return mean_and_error(self.average_precision[self.ranked])[0]

    @property
    def average_precision_error(self) -> float:
        """The standard error of that mean; NaN for a single example."""
        return mean_and_error(self.average_precision[self.ranked])[1]

    @property
    def mean_auc(self) -> float:
        """The mean of the area over the examples that are ranked."""
        return mean_and_error(self.auc[self.ranked])[0]

    @property
    def auc_error(self) -> float:
        """The standard error of that mean; NaN for a single example."""
        return mean_and_error(self.auc[self.ranked])[1]

    def table(self) -> Table:
        """Return a row for each example, in the order in which they are.

        Returns
        -------
        Table
            Columns example, average_precision, auc (both NULL where the example is left out), atoms, true.
        """
        return Table(
            pa.table(
                {
                    "example": self.example,
                    "average_precision": pa.array(self.average_precision, pa.float64(), from_pandas=True),
                    "auc": pa.array(self.auc, pa.float64(), from_pandas=True),
                    "atoms": self.atoms,
                    "true": self.true,
                }
            )
        )

    def means(self) -> Table:
        """Return a row for each of the two measures.

        Returns
        -------
        Table
            Columns measure, mean, error (standard error of the mean; NULL for a single example), examples (those that are ranked).
        """
        rows = [mean_and_error(values[self.ranked]) for values in (self.average_precision, self.auc)]
        return Table(
            pa.table(
                {
                    "measure": ["average precision", "AUC-ROC"],
                    "mean": pa.array([mean for mean, _ in rows], pa.float64()),
                    "error": pa.array([error for _, error in rows], pa.float64(), from_pandas=True),
                    "examples": [int(np.count_nonzero(self.ranked))] * 2,
                }
            )
        )

    def compare(self, other: RankingScores, *, confidence: float = CONFIDENCE) -> RankingComparison:
        """Compare with other scores of the same atoms, example by example.

        Parameters
        ----------
        other : RankingScores
            Of the same examples, in any order, with as many atoms and true ones each.
        confidence : float
            Of the intervals, between 0 and 1.

        Returns
        -------
        RankingComparison
            Differences of this one minus the other.

        Raises
        ------
        InputError
            The examples or their atoms are others, or fewer than two examples are ranked.

        Examples
        --------
        >>> truth, example = [True, False, False] * 3, [7, 7, 7, 8, 8, 8, 9, 9, 9]
        >>> good, bad = (
        ...     score_rankings(truth, score, example) for score in ([3, 1, 2] * 3, [3, 1, 2, 1, 2, 3, 2, 1, 3])
        ... )
        >>> print(good.compare(bad))
        MAP difference +0.3889 (95 % interval -0.4730 to +1.2507), AUC difference +0.5000 (-0.7421 to +1.7421), over 3 examples
        """
        place = _places(self, other)
        other_atoms = np.flatnonzero((self.atoms != other.atoms[place]) | (self.true != other.true[place]))
        if len(other_atoms):
            k, j = other_atoms[0], place[other_atoms[0]]
            raise InputError(
                f"example {self.example[k]} has {_atoms(self.atoms[k], self.true[k])} in one and {_atoms(other.atoms[j], other.true[j])} in the "
                "other: compare rankings of the same atoms"
            )
        ranked = self.ranked
        differ = partial(paired_difference, confidence=confidence)
        return RankingComparison(
            differ(self.average_precision[ranked], other.average_precision[place][ranked]),
            differ(self.auc[ranked], other.auc[place][ranked]),
        )

    def __str__(self) -> str:
        ranked = int(np.count_nonzero(self.ranked))
        left = f"; left out: {self.left_out}" if self.left_out.total else ""
        precision, area = (
            f"{mean:.3f}" + ("" if math.isnan(error) else f" ± {error:.3f}")
            for mean, error in (mean_and_error(values[self.ranked]) for values in (self.average_precision, self.auc))
        )
        return f"MAP {precision}, mean AUC-ROC {area} (over {counted(ranked, 'example')}{left}){score_remarks(self.outside, self.seen)}"

    def __repr__(self) -> str:
        return f"RankingScores({self})"

    def _repr_html_(self) -> str:
        return scores_html(self.means(), str(self))


@dataclass(frozen=True, slots=True, repr=False)
class RankingComparison:
    """Two rankings of the same atoms, compared example by example; `RankingScores.compare` makes it.

    Parameters
    ----------
    average_precision, auc : PairedDifference
        Over the examples that have both true and false atoms.
    """

    average_precision: PairedDifference
    auc: PairedDifference

    def table(self) -> Table:
        """Return a row for each of the two measures.

        Returns
        -------
        Table
            Columns measure, difference (mean), error (standard error), low and high (ends of the interval), examples.
        """
        parts = (self.average_precision, self.auc)
        return Table(
            pa.table(
                {
                    "measure": ["average precision", "AUC-ROC"],
                    "difference": [part.mean for part in parts],
                    "error": [part.error for part in parts],
                    "low": [part.low for part in parts],
                    "high": [part.high for part in parts],
                    "examples": [part.pairs for part in parts],
                }
            )
        )

    def __str__(self) -> str:
        precision, area = self.average_precision, self.auc
        return (
            f"MAP difference {precision.mean:+.4f} ({100 * precision.confidence:g} % interval {precision.low:+.4f} to {precision.high:+.4f}), "
            f"AUC difference {area.mean:+.4f} ({area.low:+.4f} to {area.high:+.4f}), over {counted(precision.pairs, 'example')}"
        )

    def __repr__(self) -> str:
        return f"RankingComparison({self})"

    def _repr_html_(self) -> str:
        return scores_html(self.table(), str(self))


def score_rankings(
    truth: npt.ArrayLike,
    score: npt.ArrayLike,
    example: npt.ArrayLike,
    *,
    names: Sequence[str] = (),
    outside: int = 0,
    seen: Seen | None = None,
) -> RankingScores:
    """Score how well the atoms of each example are ranked.

    Parameters
    ----------
    truth : bool array, shape (n,)
        Labels.
    score : float array, shape (n,)
        Probabilities, or any other numbers that are higher for atoms more likely true; infinite ones too, but not NaN.
    example : int or text array, shape (n,)
        The example of each atom; with `names`, its index in them.
    names : sequence of str
        Names of the examples, each once; also of those without an atom.
    outside, seen
        Only reported.

    Returns
    -------
    RankingScores
        In the order of `names`, without them in that of the sorted values of `example`.

    Raises
    ------
    InputError
        The arrays are of other shapes or types, a score is NaN, or no example has both true and false atoms.

    Notes
    -----
    Atoms with one score are tied, and the average precision is its expectation over their random orders. Let a tie of n atoms, t of them
    true, come after a atoms, h of them true. Its place i (1 to n) has a true atom with probability t / n, and then (i - 1) (t - 1) / (n - 1) true
    ones before it within the tie are expected, so that the tie adds the sum over i of t / n (h + 1 + (i - 1) (t - 1) / (n - 1)) / (a + i), which is
    summed term by term (McSherry & Najork, Computing information retrieval performance measures efficiently in the presence of tied scores,
    ECIR 2008). The area is the statistic of Mann and Whitney over the number of pairs.

    Examples
    --------
    >>> scores = score_rankings([True, False, False, True], [0.5, 0.5, 0.1, 0.9], [0, 0, 1, 1], names=["x", "y"])
    >>> scores.table()
    example  average_precision  auc  atoms  true
    -------  -----------------  ---  -----  ----
    x                     0.75  0.5      2     1
    y                        1    1      2     1
    """
    return ranking_scores(ranking(truth, score, example, names), outside=outside, seen=seen)


class Ranking(NamedTuple):
    """Atoms to be ranked within their examples: n labels, scores, and the indices of their examples in `names` (shape (k,))."""

    truth: BoolArray
    score: FloatArray
    example: IntArray
    names: npt.NDArray[Any]

    def part(self, which: BoolArray) -> Ranking:
        """Return some of the atoms, with all names."""
        return Ranking(self.truth[which], self.score[which], self.example[which], self.names)

    def _repr_html_(self) -> str:
        return markup.field_table(self)


def ranking(truth: npt.ArrayLike, score: npt.ArrayLike, example: npt.ArrayLike, names: Sequence[str] = ()) -> Ranking:
    """Check atoms that are to be ranked; `score_rankings` says what is given."""
    label, value = labels_and_scores(truth, score)
    name, index = _examples(example, names, len(label))
    return Ranking(label, value, index, name)


def ranking_scores(atoms: Ranking, *, outside: int = 0, seen: Seen | None = None) -> RankingScores:
    """Score a ranking; `score_rankings` explains it."""
    ties = tied(atoms.truth, atoms.score, atoms.example, len(atoms.names))
    found = RankingScores(
        example=atoms.names,
        atoms=ties.atoms,
        true=ties.true,
        average_precision=expected_precisions(ties),
        auc=areas(ties),
        outside=outside,
        seen=seen,
    )
    if not found.ranked.any():
        left = f": {found.left_out}" if found.left_out.total else ""
        raise InputError(
            f"none of {counted(len(atoms.names), 'example')} has both true and false atoms, so that nothing is ranked{left}. Score "
            "examples with atoms of both kinds, or all atoms together (auc_roc, average_precision)."
        )
    return found


# ---- ties ------------------------------------------------------------------------------------------


class Ties(NamedTuple):
    """The b ties of k examples, each the atoms of one example that have one score; by example, then the highest score first."""

    size: IntArray  # atoms of each tie, shape (b,)
    hits: IntArray  # true ones among them
    above: IntArray  # atoms of the example that score higher, shape (b,)
    hits_above: IntArray  # true ones among them
    example: IntArray  # shape (b,)
    atoms: IntArray  # atoms of each example, shape (k,)
    true: IntArray  # true ones among them


def tied(label: BoolArray, value: FloatArray, example: IntArray, examples: int) -> Ties:
    """Sort n atoms into ties, by `example` (0 to `examples` - 1) and score."""
    # What is counted does not depend on the order within a tie, so that the first sort need not be stable.
    order = np.argsort(-value)
    if examples > 1:
        order = order[np.argsort(example[order], kind="stable")]
    label, value, example = label[order], value[order], example[order]
    fresh = np.ones(len(label), np.bool_)
    fresh[1:] = (example[1:] != example[:-1]) | (value[1:] != value[:-1])
    start = np.flatnonzero(fresh)
    size = np.diff(start, append=len(label))
    so_far = np.concatenate([[0], np.cumsum(label)])
    hits = so_far[start + size] - so_far[start]
    own = example[start]
    atoms = np.bincount(example, minlength=examples)
    true = np.bincount(example[label], minlength=examples)
    above = start - (np.cumsum(atoms) - atoms)[own]
    hits_above = so_far[start] - (np.cumsum(true) - true)[own]
    return Ties(size, hits, above, hits_above, own, atoms, true)


ROUNDING = 1e-12
"""Relative differences of probabilities up to this are those of sums in another order: atoms alike in all that a model sees are tied."""


def without_rounding(probability: FloatArray) -> FloatArray:
    """Return probabilities, shape (n,), of which those that differ by rounding alone are equal: each is the highest of its neighbours."""
    order = np.argsort(-probability)
    value = probability[order]
    fresh = np.ones(len(value), np.bool_)
    fresh[1:] = value[:-1] - value[1:] > ROUNDING * value[:-1]
    found = np.empty_like(value)
    found[order] = value[fresh][np.cumsum(fresh) - 1]
    return found


def areas(ties: Ties) -> FloatArray:
    """Return the area under the ROC curve of each example, NaN unless it has both true and false atoms."""
    false = ties.atoms - ties.true
    beaten = false[ties.example] - (ties.above - ties.hits_above) - (ties.size - ties.hits)
    # Pairs of a true and a false atom are counted doubled, as integers, so that the area is exact up to one division.
    doubled = np.concatenate([[0], np.cumsum(ties.hits * (2 * beaten + ties.size - ties.hits))])
    end = np.cumsum(np.bincount(ties.example, minlength=len(false)))
    won = np.diff(doubled[end], prepend=0)
    pairs = 2 * ties.true * false
    area: FloatArray = np.divide(won, pairs, out=np.full(len(false), np.nan), where=pairs > 0)
    return area


def expected_precisions(ties: Ties) -> FloatArray:
    """Return the average precision of each example, NaN unless it has both true and false atoms; `score_rankings` says what of ties."""
    tie = np.repeat(np.arange(len(ties.size)), ties.size)
    start = np.cumsum(ties.size) - ties.size
    before = np.arange(len(tie)) - start[tie]
    chance = ties.hits / ties.size
    # In a tie of one atom nothing comes before it.
    others = (ties.hits - 1) / np.maximum(ties.size - 1, 1)
    precision = (ties.hits_above[tie] + 1 + before * others[tie]) / (ties.above[tie] + before + 1)
    found = np.bincount(ties.example[tie], weights=chance[tie] * precision, minlength=len(ties.atoms))
    both = (ties.true > 0) & (ties.true < ties.atoms)
    average: FloatArray = np.divide(found, ties.true, out=np.full(len(found), np.nan), where=both)
    return average


# ---- what is given ---------------------------------------------------------------------------------


def labels_and_scores(truth: npt.ArrayLike, score: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return labels and scores as arrays of one length; an error if they are none, or a score is NaN."""
    try:
        label, value = np.asarray(truth), np.asarray(score, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers, one for each label: {error}") from error
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


def _examples(example: npt.ArrayLike, names: Sequence[str], atoms: int) -> tuple[npt.NDArray[Any], IntArray]:
    """Return the examples, and of each atom the index of its own."""
    given = np.asarray(example)
    if given.shape != (atoms,):
        raise InputError(f"`example` must have the shape of the labels, {(atoms,)}, not {given.shape}")
    texts = given.dtype.kind == "U" or (given.dtype.kind == "O" and all(isinstance(x, str) for x in given))
    if given.size and given.dtype.kind not in "iu" and not (texts and not len(names)):
        indices = "indices in `names`" if len(names) else "integers or names"
        raise InputError(f"`example` must be an array of {indices}, not of {given.dtype}")
    if not len(names):
        return np.unique(given, return_inverse=True)
    index = given.astype(np.int64)
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < len(names):
        raise InputError(f"`example` has indices from {index.min()} to {index.max()}, but there are {len(names)} names")
    twice, often = Counter(names).most_common(1)[0]
    if often > 1:
        raise InputError(f"the example {twice!r} occurs twice in `names`")
    return np.array(list(names), dtype=object), index


def _places(one: RankingScores, other: RankingScores) -> IntArray:
    """Return where each example of one is in the other; an error if the examples are others."""
    place = {name: k for k, name in enumerate(other.example.tolist())}
    mine = one.example.tolist()
    alone = [name for name in mine if name not in place] or list(place.keys() - set(mine))
    if alone:
        raise InputError(
            f"{counted(len(alone), 'example')} only in one of the rankings, such as {min(alone, key=str)!r}: compare rankings of the same examples"
        )
    return np.array([place[name] for name in mine], np.int64)


def _atoms(atoms: int, true: int) -> str:
    """Say how many atoms there are."""
    return f"{counted(int(atoms), 'atom')} ({int(true):,} true)"
