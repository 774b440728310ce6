"""Whether clauses are chance: a search sees a part of the labels, and what it finds is tested on the rest.

A search scores thousands of clauses, and the best of them fit the labels by chance as well as by what is so: scores on these labels cannot tell which. On labels that no
clause was chosen by, a clause that says nothing covers positive atoms as a random choice of as many atoms would.

The order matters: each clause is tested within the groups of atoms that the clauses kept before it cover alike. So a clause that is true, with a condition more that says
nothing, is not kept for what the true one says; and a clause that is kept gives its place to a wider one that makes all labels likelier. In a group of N atoms, K of them positive, the m that a clause covers have a hypergeometric number of positive ones; over all groups their
sum is what the exact test of Cochran, Mantel and Haenszel looks at. P-values are multiplied by the number of clauses that are tested (Bonferroni).

Labels of one unit, such as an example or all orders of a customer, depend on each other. Where there are many units, each is searched or tested as a whole, and the test must also be
passed by the units, in one of two ways: the sum of what they say above chance, over its standard error among units, against Student's t with as many degrees of freedom as there are units
of equal weight; or the labels that units have, permuted among them. The first is for clauses that tell atoms of one unit apart: where a clause covers whole units few of them have all the
weight, and it hardly ever passes. Where there are few units, atoms are compared with others of theirs.

Source: Cox, "A note on data-splitting for the evaluation of significance levels" (1975); Mantel and Haenszel (1959); Cameron and Miller, "A practitioner's guide to
cluster-robust inference" (2015), sections II and VI; Satterthwaite (1946) for the degrees of freedom; Mielke and Berry, "Permutation Methods" (2001), for three moments.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.structure.ilp.ranking import gains

MANY = 40
"""So many examples, or other units, with labels count as wholes in a test."""

_SPREAD, _MORE = 12, 40
"""Standard deviations around the mean, and positive atoms more, beyond which a count has no probability that doubles could add."""

_ROUNDING = 1e-24
"""The square of differences of shares that are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class LabelSplit:
    """Which of n labelled atoms a search does not see, and what they are compared by."""

    tested: BoolArray  # shape (n,)
    group: IntArray  # atoms are compared with those of their group, shape (n,)
    unit: IntArray | None  # equal for atoms whose labels count together; None where each counts alone


def undivided(truth: BoolArray) -> LabelSplit:
    """Return the division of which a search sees all."""
    return LabelSplit(np.zeros(len(truth), dtype=np.bool_), np.zeros(len(truth), dtype=np.int64), None)


def divided(truth: BoolArray, example: IntArray, share: float, seed: int, unit: IntArray | None = None) -> LabelSplit:
    """Draw the part that is tested, with the same share of the positive atoms.

    `example`, shape (n,), is that of each atom; `unit` is equal for atoms whose labels depend on each other, by default for those of one example.
    """
    draw = np.random.default_rng(seed)
    own, block = np.unique(example, return_inverse=True)
    block = block.reshape(-1)
    within = np.zeros(len(truth), dtype=np.int64) if len(own) >= MANY else block
    units, place, size = np.unique(block if unit is None else unit, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    if len(units) < MANY:
        group = np.unique(within * len(units) + place, return_inverse=True)[1].reshape(-1)
        # Of each unit the negative atoms and then the positive ones, so that each kind is cut in the same way.
        return LabelSplit(_drawn(draw, [truth, group], share), group, None)
    positives = np.bincount(place, weights=truth, minlength=len(units))
    chosen: BoolArray = _drawn(draw, [size, positives], share)[place]
    return LabelSplit(chosen, within, place if (size > 1).any() else None)


def _drawn(draw: np.random.Generator, keys: list[IntArray | FloatArray | BoolArray], share: float) -> BoolArray:
    """Choose a share of some things, as evenly over their sorted keys as can be, at random among equal ones."""
    count = len(keys[0])
    order = np.lexsort([draw.permutation(count), *keys])
    steps = np.floor(np.arange(count + 1) * share + draw.random())
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order] = np.diff(steps) > 0
    return chosen


class Trial:
    """Tests clauses one after the other, each beyond those that were kept before it; `count` is how many a search has brought."""

    def __init__(self, division: LabelSplit, truth: BoolArray, count: int, significance: float) -> None:
        self.significance = significance
        self._division, self._truth, self._count, self._group = division, truth, count, division.group

    def p_value(self, cover: BoolArray) -> float:
        """Return the chance that a clause says as much on the tested part, times the number of clauses; `cover`, shape (n,), is of all atoms."""
        some = self._division.tested
        unit = None if self._division.unit is None else self._division.unit[some]
        return min(1.0, self._count * _p_value(cover[some], self._truth[some], self._group[some], unit))

    def gain(self, cover: BoolArray) -> float:
        """Return by how many nats a clause makes all labels likelier."""
        n, k, m, both = _counts(cover, self._truth, self._group)
        return float(gains(both, m - both, k, n - k).sum())

    def keep(self, cover: BoolArray) -> None:
        """Keep a clause: others are tested within what it covers, and within the rest."""
        self._group = np.unique(2 * self._group + cover, return_inverse=True)[1].reshape(-1)


def _counts(cover: BoolArray, label: BoolArray, group: IntArray) -> IntArray:
    """Return of each group the atoms, the positive ones, those that a clause covers, and both, shape (4, g)."""
    found = [np.bincount(group, weights=some) for some in (np.ones(len(label)), label, cover, cover & label)]
    return np.array(found).astype(np.int64)


def _p_value(cover: BoolArray, label: BoolArray, group: IntArray, unit: IntArray | None) -> float:
    """Return the p-value of one clause, one-sided: that it covers too many positive atoms."""
    counts = _counts(cover, label, group)
    counts = counts[:, (counts[1] > 0) & (counts[1] < counts[0]) & (counts[2] > 0) & (counts[2] < counts[0])]
    found = _exact(*counts)
    if unit is None or found == 1.0:
        return found
    n, k, m, _ = counts.astype(np.float64)
    variance = float((m * (n - m) * k * (n - k) / (n**2 * np.maximum(n - 1, 1))).sum())
    unit = np.unique(unit, return_inverse=True)[1].reshape(-1)
    cover_excess, label_excess = (each - _means(each, group)[group] for each in (cover, label))
    among = _among_units(_sums(cover_excess * label_excess, unit), variance)
    return max(found, min(1.0, 2 * min(among, _between_units(cover_excess, label_excess, group, unit))))


def _exact(n: IntArray, k: IntArray, m: IntArray, both: IntArray) -> float:
    """Return the chance of at least so many covered positive atoms, given the counts of each group, arrays of shape (g,)."""
    if not len(n):
        return 1.0
    if len(n) == 1:
        return float(stats.hypergeom.sf(both[0] - 1, n[0], k[0], m[0]))
    first, chance = 0, np.ones(1)
    for size, positive, covered in zip(n.tolist(), k.tolist(), m.tolist(), strict=True):
        mean = covered * positive / size
        wide = _SPREAD * np.sqrt(mean * (1 - positive / size)) + _MORE
        low = max(0, covered + positive - size, int(mean - wide))
        high = min(covered, positive, int(mean + wide) + 1)
        chance = np.convolve(chance, stats.hypergeom.pmf(np.arange(low, high + 1), size, positive, covered))
        first += low
    return float(min(1.0, chance[max(int(both.sum()) - first, 0) :].sum()))


def _sums(values: BoolArray | FloatArray, group: IntArray) -> FloatArray:
    """Return the sum of the values of each group, an entry for each number up to the greatest."""
    return np.bincount(group, weights=values).astype(np.float64)


def _means(values: BoolArray | FloatArray, group: IntArray) -> FloatArray:
    """Return the mean of the values of each group, likewise."""
    return _sums(values, group) / np.maximum(np.bincount(group), 1)


def _among_units(own: FloatArray, variance: float) -> float:
    """Return the p-value of the sum of what units say, each as a whole; `variance` is the least that the sum has."""
    square = float((own**2).sum())
    if square <= 0:
        return 1.0
    # As many units as would have this variance if each had the same part of it.
    freedom = square**2 / float((own**4).sum()) - 1
    if freedom <= 0:
        return 1.0
    return float(stats.t.sf(own.sum() / np.sqrt(max(square, variance)), freedom))


def _between_units(cover: FloatArray, label: FloatArray, group: IntArray, unit: IntArray) -> float:
    """Return the p-value of a permutation of what labels units have among those of a kind; `cover` and `label` are excesses over their groups' means.

    The distribution over all permutations is taken for a gamma distribution with the same mean, variance and skewness.
    """
    much, rate = _sums(cover, unit), _means(label, unit)
    # Units are of a kind if most of their atoms are of one group: labels of other groups have another spread.
    pairs, size = np.unique(unit * (int(group.max()) + 1) + group, return_counts=True)
    owner, common = np.divmod(pairs, int(group.max()) + 1)
    order = np.lexsort([size, owner])
    most = order[np.flatnonzero(np.diff(owner[order], append=-1))]
    kind = np.unique(common[most], return_inverse=True)[1].reshape(-1)
    much, rate = much - _means(much, kind)[kind], rate - _means(rate, kind)[kind]
    n = np.bincount(kind).astype(np.float64)
    second, third = (_sums(much**i, kind) * _sums(rate**i, kind) for i in (2, 3))
    variance = float((second / np.maximum(n - 1, 1)).sum())
    if variance <= _ROUNDING * float((much**2).sum()):
        return 1.0
    skewness = float((third * n / np.maximum((n - 1) * (n - 2), 1)).sum()) / variance**1.5
    return float(stats.pearson3.sf(float((much * rate).sum()) / variance**0.5, skewness))
