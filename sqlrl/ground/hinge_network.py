"""The ground network of a soft model: hinges over the truth values of its query atoms, without weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlrl import markup
from sqlrl.ground.network import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HingeNetwork:
    r"""The h hinges of m rules over n query atoms, whose truth values y are in [0, 1].

    Hinge r has the expression e_r(y) = sum of `coefficients[j] * y[columns[j]]` for j from `pointer[r]` to `pointer[r + 1]`, and
    `constants[r]`. Its distance from being satisfied is max(0, e_r), or abs(e_r) where its rule is an equality, and that to the
    power of 2 where the rule is squared. Weights w, shape (m,), stay outside; the objective is the sum of w[rule] * multiplicity * distance over
    the hinges of rules that are not hard, and w times `base`, the distances of ground rules that no query atom is in. The expressions of hard rules
    must be at most 0, or 0 where the rule is an equality.

    Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), definitions 2 and 3.

    Parameters
    ----------
    atoms : array of int64, shape (n,)
        Ids, ascending.
    pointer : array of int64, shape (h + 1,)
    columns : array of int64, shape (z,)
        Places in `atoms`, ascending in each hinge, none twice.
    coefficients : array of float64, shape (z,)
        None is 0; a hinge has at least one.
    constants : array of float64, shape (h,)
    multiplicity : array of int64, shape (h,)
        How many ground rules have this expression.
    rule : array of int64, shape (h,)
        Ascending.
    squared, hard, equal : array of bool, shape (m,)
    base : array of float64, shape (m,)
        0 for hard rules.
    """

    atoms: IntArray
    pointer: IntArray
    columns: IntArray
    coefficients: FloatArray
    constants: FloatArray
    multiplicity: IntArray
    rule: IntArray
    squared: BoolArray
    hard: BoolArray
    equal: BoolArray
    base: FloatArray
    _repr_html_ = markup.field_table

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
