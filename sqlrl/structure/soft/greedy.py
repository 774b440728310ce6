"""Greedy local search: the rules that raise the pseudo-likelihood most, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from sqlrl import markup
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.parameters import AtLeast, Option, Whole, check_parameters
from sqlrl.learn.soft.atom_hinges import AtomHinges
from sqlrl.learn.soft.pseudo_likelihood import SoftPseudoLikelihood
from sqlrl.progress import Stage

Most = Annotated[int, Whole(1), Option("the most rules of a greedy search (l)")]
Least = Annotated[
    float,
    AtLeast(0.0, "the least gain, as a share of the score; 0.001 is the default"),
    Option("the least gain of a rule in a greedy search, as a share of the score (epsilon)"),
]


@dataclass(frozen=True, kw_only=True)
class GreedySearch:
    """When a greedy search ends.

    Parameters
    ----------
    most : int
        The most rules (l in the source).
    least : float
        The least by which a rule must raise the score, as a share of its absolute value (epsilon).
    """

    most: Most = 20
    least: Least = 1e-3

    def __post_init__(self) -> None:
        check_parameters(self)


@dataclass(frozen=True, eq=False)
class GreedyRules:
    """What a greedy search found."""

    rules: IntArray  # in the order in which they came, shape (k,)
    weights: FloatArray  # those of all of them together, shape (k,)
    scores: FloatArray  # the penalised pseudo-log-likelihood after each, shape (k,)
    start: float  # the score without a rule
    evaluated: int  # how many models were learned
    last: FloatArray  # the weight that each rule had when it was tried last, shape (m,)
    _repr_html_ = markup.field_table

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> GreedyRules:
        """Return what `arrays` has made arrays of."""
        return cls(
            arrays["rules"], arrays["weights"], arrays["scores"], float(arrays["start"]), int(arrays["evaluated"]), arrays["last"]
        )  # fmt: skip

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return it as arrays by name, as a run is saved."""
        return {each.name: np.array(getattr(self, each.name)) for each in fields(self)}


def greedy_rules(
    hinges: AtomHinges,
    learner: SoftPseudoLikelihood,
    search: GreedySearch | None = None,
    *,
    report: Callable[[GreedyRules], None] | None = None,
    after: GreedyRules | None = None,
    trial: Callable[[float], None] | None = None,
) -> GreedyRules:
    """Add the rule that raises the score most, again and again, with all weights learned anew; `report` gets what was found after each.

    `trial` is told after each trial of a candidate which share of the work is done, if no round is left out.

    A search goes on `after` what was reported, with the results of one that was never stopped.

    Source: Embar, Sridhar, Farnadi, Getoor, "Scalable Structure Learning for Probabilistic Soft Logic" (2018), algorithm 1. As printed its loop
    goes on while one of two criteria holds and takes the score of the round before for that of the last one; here the first of both ends it.
    """
    limits = search or GreedySearch()
    # Rules without a hinge raise nothing.
    left = [int(i) for i in np.flatnonzero(hinges.support > 0)]
    if after is None:
        start = learner.learn_hinges(hinges.of_rules(np.zeros(0, np.int64))).objective
        after = GreedyRules(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), start, 0, np.zeros(len(hinges.squared)))
    chosen, weights, scores = after.rules.tolist(), after.weights, after.scores.tolist()
    start, evaluated, last = after.start, after.evaluated, after.last.copy()
    score = scores[-1] if scores else start
    left = [rule for rule in left if rule not in chosen]

    def so_far() -> GreedyRules:
        return GreedyRules(np.array(chosen, np.int64), weights, np.array(scores), start, evaluated, last.copy())

    # A trial with more rules learns more weights.
    rounds = range(len(chosen), min(limits.most, len(chosen) + len(left)))
    planned, tried = sum((len(left) - i) * (size + 1) for i, size in enumerate(rounds)), 0
    with Stage("rules of a greedy search") as stage:
        while left and len(chosen) < limits.most:
            best: tuple[float, int, FloatArray] | None = None
            for candidate in left:
                # The candidate begins with the weight that it had when it was tried last, the others with theirs.
                rules = np.array([*chosen, candidate])
                found = learner.learn_hinges(hinges.of_rules(rules), start=np.append(weights, last[candidate]))
                evaluated, tried = evaluated + 1, tried + len(rules)
                stage.advance(0, note=f"{len(chosen)} rules, score {score:.6g}", share=tried / planned)
                last[candidate] = found.weights[-1]
                if trial is not None:
                    trial(tried / planned)
                if best is None or found.objective > best[0]:
                    best = found.objective, candidate, found.weights
            assert best is not None, "some candidate was tried"
            gain = best[0] - score
            if not gain > limits.least * abs(score) or not best[2][-1] > 0:
                break
            score, weights = best[0], best[2]
            chosen.append(best[1])
            left.remove(best[1])
            scores.append(score)
            stage.advance(1, note=f"{len(chosen)} rules, score {score:.6g}", share=tried / planned)
            if report is not None:
                report(so_far())
    return so_far()
