"""Whether clauses are chance: a search sees a part of the labels, and what it finds is tested on the rest.

A search scores thousands of clauses, and the best of them fit the labels by chance as well as by what is so: scores on these labels cannot tell which. On labels that no
clause was chosen by, a clause that says nothing covers positive atoms as a random choice of as many atoms would.

The order matters: each clause is tested within the groups of atoms that the clauses kept before it cover alike. So a clause that is true, with a condition more that says
nothing, is not kept for what the true one says; and a clause that is kept gives its place to a wider one that makes all labels likelier. In a group of N atoms, K of them positive, the m that a clause covers have a hypergeometric number of positive ones; over all groups their
sum is what the exact test of Cochran, Mantel and Haenszel looks at. P-values are multiplied by the number of clauses that are tested (Bonferroni).

Labels of one example depend on each other. Where there are many examples, each is searched or tested as a whole, and the test must also be passed by the examples: the sum of what a
clause says above chance, over its standard error among examples, against Student's t with as many degrees of freedom as there are examples of equal weight. Where there are few, atoms
are compared with others of their example.

Source: Cox, "A note on data-splitting for the evaluation of significance levels" (1975); Mantel and Haenszel (1959); Cameron and Miller, "A practitioner's guide to
cluster-robust inference" (2015), sections II and VI; Satterthwaite (1946) for the degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.structure.ilp.ranking import gains

MANY = 40
"""So many examples with labels are the units of a test."""

_SPREAD, _MORE = 12, 40
"""Standard deviations around the mean, and positive atoms more, beyond which a count has no probability that doubles could add."""


@dataclass(frozen=True, eq=False)
class LabelSplit:
    """Which of n labelled atoms a search does not see, and what they are compared by."""

    tested: BoolArray  # shape (n,)
    group: IntArray  # atoms are compared with those of their group, shape (n,)
    unit: (
        IntArray | None
    )  # the example of each, where labels of one example count together; None where each atom counts alone


def undivided(truth: BoolArray) -> LabelSplit:
    """Return the division of which a search sees all."""
    return LabelSplit(np.zeros(len(truth), dtype=np.bool_), np.zeros(len(truth), dtype=np.int64), None)


def divided(truth: BoolArray, example: IntArray, share: float, seed: int) -> LabelSplit:
    """Draw the part that is tested, with the same share of the positive atoms; `example`, shape (n,), is that of each atom."""
    draw = np.random.default_rng(seed)
    own, place, size = np.unique(example, return_inverse=True, return_counts=True)
    alone, group = np.zeros(len(truth), dtype=np.int64), place.reshape(-1)
    if len(own) < MANY:
        # Of each example the negative atoms and then the positive ones, so that each kind is cut in the same way.
        return LabelSplit(_drawn(draw, [truth, group], share), group, None)
    positives = np.bincount(group, weights=truth, minlength=len(own))
    chosen: BoolArray = _drawn(draw, [size, positives], share)[group]
    return LabelSplit(chosen, alone, group if (size > 1).any() else None)


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
    return max(found, _among_examples(cover, label, group, unit, variance))


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


def _among_examples(cover: BoolArray, label: BoolArray, group: IntArray, unit: IntArray, variance: float) -> float:
    """Return the p-value by what examples say, each as a whole; `variance` is the least that their sum has."""
    n = np.bincount(group)
    excess = (cover - (np.bincount(group, weights=cover) / np.maximum(n, 1))[group]) * (
        label - (np.bincount(group, weights=label) / np.maximum(n, 1))[group]
    )
    own = np.bincount(unit, weights=excess)
    square = float((own**2).sum())
    if square <= 0:
        return 1.0
    # As many examples as would have this variance if each had the same part of it.
    freedom = square**2 / float((own**4).sum()) - 1
    if freedom <= 0:
        return 1.0
    return float(stats.t.sf(own.sum() / np.sqrt(max(square, variance)), freedom))
