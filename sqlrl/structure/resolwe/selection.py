"""Which formulations of which candidates are kept, from the counts of their labels.

Source: "Structure Selection from Streaming Relational Data" (resolwe), sections 3.1 and 3.2, Algorithm 1. A candidate is a conjunction
of a *selector* E, its evidence literals, and an *enforcer* Q of n query literals. Over the distinct groundings of Q that E selects, probabilities
are shares.

- n = 1: the conjunction E ^ Q is kept where P(q) of the literal as written, negated or not, is high.
- n >= 2: the conjunction where P(t1 ^ ... ^ tn) is high; and for each i the implication E ^ (others) => ti where P(ti | others) is, written as the
  conjunction E ^ (others) ^ !ti, whose weight comes out negative.

What the source leaves open:

- "High" is a threshold here, for implications another one if it is given: by chance n literals hold together with the n-th power of the
  probability with which one is implied, so that where labels are not sparse, one threshold keeps all implications or no conjunction. It must be
  reached by the lower end of Wilson's interval of the share, one-sided, so that a few groundings do not decide (Wilson 1927); and the share must be
  over a least number of groundings, the *support*: another one for several query literals if it is given, since there are many more tuples of
  atoms than atoms.
- The paper assumes that the default distribution of Q, over all groundings, is skewed towards false ("sparse"). With "estimated" it is counted, and
  a formulation is kept where the distribution of the selected ones differs from it significantly by the likelihood ratio G² (Dunning 1993), and its
  probability is high, or as low as high ones are high: then its weight may be negative.
- Literals of an enforcer of several are taken as positive, whatever their sign.
- Where structure follows a stream (`sqlrl.structure.resolwe.drift`), a formulation that is in the model is judged by the other end of the interval:
  it stays until even that end is beyond the threshold, or less than one grounding is left of its support, and under an estimated default until its
  distribution differs so little that half of all samples would differ more. So one whose probability is near the threshold does not come and go
  with every window. Among the top it ranks by its probability, one that would come by the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import rel_entr

from sqlrl.ground.network import BoolArray, FloatArray, IntArray

Default = Literal["sparse", "estimated"]
CONJUNCTION = -1
"""The formulation that is no implication."""

_GONE = 0.5
"""A count below is none, of those that decay."""

_NO_DIFFERENCE = 0.5
"""How likely a difference from the default is by chance that says nothing any more."""


@dataclass(frozen=True)
class Criteria:
    """What a formulation must meet."""

    threshold: float = 0.5  # the least probability
    min_support: int = 10  # the least number of groundings that it is a share of
    confidence: float = 0.95  # of the bound that must reach the threshold; 0.5 for the share itself
    top: int | None = None  # the most formulations, None for all
    default: Default = "sparse"  # the distribution of query literals where nothing selects
    significance: float = 0.01  # p-values must be below this if the default is estimated
    implication_threshold: float | None = None  # `threshold` of implications, None for the same
    joint_support: int | None = None  # `min_support` of several query literals, None for the same

    def least(self, literal: IntArray) -> FloatArray:
        """Return the least probability of formulations, by the literal that is implied."""
        implied = self.threshold if self.implication_threshold is None else self.implication_threshold
        return np.where(literal == CONJUNCTION, self.threshold, implied)

    def supported(self, literals: IntArray) -> IntArray:
        """Return the least support of formulations, by the number of their query literals."""
        joint = self.min_support if self.joint_support is None else self.joint_support
        return np.where(literals == 1, self.min_support, joint)


@dataclass(frozen=True, eq=False)
class Formulations:
    """The k formulations of m candidates with what was found of each, by candidate and then by literal; arrays have shape (k,)."""

    candidate: IntArray  # its place
    literal: IntArray  # the query literal that the others imply, -1 for the conjunction
    support: IntArray | FloatArray  # selected groundings that count; floats where counts decay
    matched: IntArray | FloatArray  # those of them that agree
    bound: FloatArray  # of the probability, compared with the threshold; NaN where nothing is selected
    g2: FloatArray  # of the likelihood ratio test; NaN unless the default is estimated
    p_value: FloatArray
    in_model: BoolArray
    reason: list[str]  # why it is not kept; empty where it is

    @property
    def probability(self) -> FloatArray:
        """The share of groundings that agree; NaN where nothing is selected."""
        return _shares(self.matched, self.support)


def formulations(
    n: IntArray | FloatArray,
    positive: Sequence[Sequence[bool]],  # the signs of each candidate's query literals
    criteria: Criteria,
    defaults: IntArray | FloatArray | None = None,  # `n` without selectors; needed where the default is estimated
    before: BoolArray | None = None,  # which formulations are in the model, shape (k,); none by default
) -> Formulations:
    """Choose among formulations by counts of patterns, shape (m, 2 to the power of the most literals), as in `JointCounts` or decayed."""
    candidate, literal, support, matched = tallies(n, positive)
    size, literals = len(candidate), np.array(list(map(len, positive)), dtype=np.int64)
    stays = np.zeros(size, dtype=np.bool_) if before is None else before
    shares = _shares(matched, support)
    low, high = wilson(matched, support, criteria.confidence)
    g2, p_value = np.full(size, np.nan), np.full(size, np.nan)
    least, needed = criteria.least(literal), criteria.supported(literals[candidate])
    needed = np.where(stays, np.minimum(needed, 1), needed)
    bound, below = np.where(stays, high, low), np.zeros(size, dtype=np.bool_)
    reaches, enough = bound >= least, support >= needed
    different = np.ones(size, dtype=np.bool_)
    if criteria.default == "estimated":
        assert defaults is not None, "they were counted"
        tests = [
            likelihood_ratio(n[i][: 1 << len(signs)], defaults[i][: 1 << len(signs)])
            for i, signs in enumerate(positive)
        ]
        g2, p_value = (np.array([tests[i][j] for i in candidate], dtype=np.float64) for j in range(2))
        below = shares < 0.5
        bound = np.where(below ^ stays, high, low)
        reaches = np.where(below, bound <= 1 - least, bound >= least)
        different = p_value < np.where(stays, _NO_DIFFERENCE, criteria.significance)
    kept = enough & reaches & different
    beyond = np.zeros(size, dtype=np.bool_)
    if criteria.top is not None:
        # The other end of an interval would say the more for a formulation, the less is left of its support.
        rank = np.where(stays, shares, bound)
        strength = np.where(below, 1 - rank, rank)
        order = np.lexsort((np.arange(size), -support, -np.where(kept, strength, -np.inf)))
        beyond[order[criteria.top :]] = True
        beyond &= kept
        kept &= ~beyond
    reason = [
        _reason(criteria, t, m, s, b, p, low=lo, enough=e, different=d, kept=k, beyond=x)
        for t, m, s, b, p, lo, e, d, k, x in zip(
            *(x.tolist() for x in (least, needed, support, bound, p_value, below, enough, different, kept, beyond)),
            strict=True,
        )
    ]
    return Formulations(candidate, literal, support, matched, bound, g2, p_value, kept, reason)


def tallies(
    n: IntArray | FloatArray, positive: Sequence[Sequence[bool]]
) -> tuple[IntArray, IntArray, IntArray | FloatArray, IntArray | FloatArray]:
    """Return the formulations of candidates: places, implied literals, how many groundings count, how many agree; as `Formulations` has them."""
    rows = [row for i, signs in enumerate(positive) for row in _of_candidate(i, n[i], signs)]
    candidate, literal = (np.array([row[j] for row in rows], dtype=np.int64) for j in range(2))
    support, matched = (_numbers(n, [row[j] for row in rows]) for j in (2, 3))
    return candidate, literal, support, matched


def _numbers(like: IntArray | FloatArray, values: Sequence[float]) -> IntArray | FloatArray:
    return np.array(values, np.float64) if like.dtype.kind == "f" else np.array(values, np.int64)


def _of_candidate(
    place: int, n: IntArray | FloatArray, positive: Sequence[bool]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield the formulations of a candidate: its place, the implied literal, how many groundings count, how many agree."""
    size = len(positive)
    total = n[: 1 << size].sum()
    if size == 1:
        yield place, CONJUNCTION, total, n[1] if positive[0] else n[0]
        return
    every = (1 << size) - 1
    yield place, CONJUNCTION, total, n[every]
    for i in range(size):
        yield place, i, n[every] + n[every ^ (1 << i)], n[every]


def _reason(
    criteria: Criteria,
    least: float,
    needed: int,
    support: float,
    bound: float,
    p_value: float,
    *,
    low: bool,
    enough: bool,
    different: bool,
    kept: bool,
    beyond: bool,
) -> str:
    """Say why a formulation is not kept: the first criterion that it does not meet; of a `low` probability the upper bound counts."""
    if kept:
        return ""
    if beyond:
        return f"beyond the top {criteria.top:,}"
    if not enough:
        few = f"{support:,}" if isinstance(support, int) else f"{support:,.1f}"
        return f"support {few} < {needed:,}"
    if not support:
        return "nothing is selected"
    if not different:
        return f"no different from the default, p = {p_value:.3g}"
    what = "probability" if criteria.confidence == 0.5 else "bound of the probability"
    if low:
        return f"{what} {bound:.3g} > {1 - least:.3g}"
    return f"{what} {bound:.3g} < {least:.3g}"


# ---- statistics --------------------------------------------------------------------------------------


def wilson(
    matched: IntArray | FloatArray, support: IntArray | FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return the one-sided lower and upper bound of shares at a confidence, at one half the shares themselves; NaN without support.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference" (1927).
    """
    share = _shares(matched, support)
    z = float(stats.norm.ppf(confidence))
    with np.errstate(invalid="ignore", divide="ignore"):
        size = support.astype(np.float64)
        middle = share + z * z / (2 * size)
        spread = z * np.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
        whole = 1 + z * z / size
        # Rounding takes the bound of none, or of all, a little beyond.
        return np.clip((middle - spread) / whole, 0, 1), np.clip((middle + spread) / whole, 0, 1)


def likelihood_ratio(observed: IntArray | FloatArray, default: IntArray | FloatArray) -> tuple[float, float]:
    """Return G² of counts against a default distribution, and its p-value by chi-squared; NaN where nothing was observed.

    Source: Dunning, "Accurate methods for the statistics of surprise and coincidence" (1993).
    """
    # Patterns that occur at all: of counts that decay, those of which half a grounding is left.
    possible = default >= _GONE
    counts = observed[possible].astype(np.float64)
    if not counts.sum():
        return np.nan, np.nan
    expected = default[possible] / default[possible].sum() * counts.sum()
    g2 = 2.0 * float(rel_entr(counts, expected).sum())
    degrees = int(possible.sum()) - 1
    return g2, float(stats.chi2.sf(g2, degrees)) if degrees else 1.0


def _shares(matched: IntArray | FloatArray, support: IntArray | FloatArray) -> FloatArray:
    found: npt.NDArray[np.float64] = np.full(len(support), np.nan)
    return np.divide(matched, support, out=found, where=support > 0)
