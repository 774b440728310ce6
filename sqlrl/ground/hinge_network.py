"""The ground network of a soft model: hinges over the truth values of its query atoms, without weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl import markup
from sqlrl.ground.network import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HingeNetwork:
    """The h hinges of m rules over n query atoms with truth values y in [0, 1], without the weights w of the rules.

    Hinge r has e_r(y) = constants[r] + sum of coefficients[j] * y[columns[j]] for j from pointer[r] to pointer[r + 1] - 1.
    Its distance is max(0, e_r), or abs(e_r) if its rule is an equality; a squared rule squares it. The objective sums
    w[rule] * multiplicity * distance over hinges of soft rules, plus w @ base; hard rules need e_r <= 0, equalities e_r = 0.
    Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18
    (2017), definitions 2 and 3.
    """

    atoms: IntArray  # shape (n,), ids, ascending
    pointer: IntArray  # shape (h + 1,)
    columns: IntArray  # shape (z,), places in `atoms`, ascending in each hinge, none twice
    coefficients: FloatArray  # shape (z,), none is 0; a hinge has at least one
    constants: FloatArray  # shape (h,)
    multiplicity: IntArray  # shape (h,), how many ground rules have this expression
    rule: IntArray  # shape (h,), ascending
    squared: BoolArray  # shape (m,), as are `hard`, `equal` and `base`
    hard: BoolArray
    equal: BoolArray
    base: FloatArray  # distances of ground rules without a query atom; 0 for hard rules
    _repr_html_ = markup.field_table

    @property
    def ground_rules(self) -> IntArray:
        """How many ground rules of each rule have a query atom, shape (m,)."""
        return np.bincount(self.rule, self.multiplicity, minlength=len(self.base)).astype(np.int64)

    def expressions(self, y: FloatArray) -> FloatArray:
        """Return e_r, shape (h,)."""
        if not len(self.constants):
            return np.zeros(0)
        sums: FloatArray = np.add.reduceat(self.coefficients * y[self.columns], self.pointer[:-1])
        return sums + self.constants

    def distances(self, y: FloatArray) -> FloatArray:
        """Return how far each hinge is from being satisfied, squared where its rule is, shape (h,)."""
        found = self.expressions(y)
        found = np.where(self.equal[self.rule], np.abs(found), np.maximum(found, 0.0))
        return np.where(self.squared[self.rule], found * found, found)

    def incompatibility(self, y: FloatArray) -> FloatArray:
        """Return the distances of each rule, summed over its ground rules, shape (m,); those of hard rules as if they were not."""
        each = self.multiplicity * self.distances(y)
        found: FloatArray = np.bincount(self.rule, each, minlength=len(self.base)) + self.base
        return found

    def objective(self, weights: FloatArray, y: FloatArray) -> float:
        """Return the weighted sum of the distances of rules that are not hard."""
        return float(np.where(self.hard, 0.0, weights) @ np.where(self.hard, 0.0, self.incompatibility(y)))

    def violation(self, y: FloatArray) -> float:
        """Return how much the hard hinge that is violated most is; 0 if none is."""
        found = self.expressions(y)[self.hard[self.rule]]
        equal = self.equal[self.rule][self.hard[self.rule]]
        return float(np.where(equal, np.abs(found), found).max(initial=0.0))
