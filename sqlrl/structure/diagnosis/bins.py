"""Self-diagnosis: which clauses of a model are too general or too specific for the data, by the bins of their groundings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sqlrl.errors import InputError, Parameter
from sqlrl.ground.partitions import ClauseTerms, Matrix, Partition
from sqlrl.logic.shapes import Instance
from sqlrl.progress import staged
from sqlrl.solve.bins import applied_bins, unit_bins
from sqlrl.solve.sampling.chains import Effort
from sqlrl.structure.beam.scores import Member
from sqlrl.training.clause_search import SearchBlankets

THRESHOLD = 0.1
"""The share of a bin above which a clause is marked."""

NAMES = ("applies_good", "applies_bad", "idle_good", "idle_bad")


def check_threshold(threshold: object) -> None:
    """Refuse what is no share that a bin can exceed."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < 1:
        raise InputError(
            f"{Parameter('threshold', threshold)} must be above 0 and below 1: it is a share of the groundings of a clause"
        )


@dataclass(frozen=True)
class ClauseBins:
    """How many pairs of a ground clause of a rule and an atom X of one target in it fall into each bin."""

    rule: int  # its place, from 0
    target: str
    # The other literals are false, so that X decides: its literal is true in the data (good), or false (bad).
    applies_good: float
    applies_bad: float
    # Another literal is true, so that the clause holds whatever X is: its literal is false in the data (good), or true (bad).
    idle_good: float
    idle_bad: float
    error: float = 0.0  # the standard error of the shares; 0 if nothing was sampled

    @property
    def total(self) -> float:
        """All pairs of a ground clause and an atom of the target in it."""
        return self.applies_good + self.applies_bad + self.idle_good + self.idle_bad

    def share(self, name: str) -> float:
        """Return the share of a bin, 0 where there are no groundings."""
        return float(getattr(self, name)) / self.total if self.total else 0.0

    def opposite(self) -> ClauseBins:
        """Return the bins of the negation of the rule: where the rule is good it is bad."""
        return replace(
            self,
            applies_good=self.applies_bad,
            applies_bad=self.applies_good,
            idle_good=self.idle_bad,
            idle_bad=self.idle_good,
        )

    def too_general(self, threshold: float = THRESHOLD) -> bool:
        """Whether the clause speaks against the truth more often than the threshold: literals should be added."""
        return self.share("applies_bad") > threshold

    def too_specific(self, threshold: float = THRESHOLD) -> bool:
        """Whether the clause would speak for the truth, but holds anyway, more often than the threshold: literals should be removed."""
        return self.share("idle_bad") > threshold


def diagnose(rules: Sequence[Member], source: SearchBlankets, effort: Effort) -> list[ClauseBins]:
    """Return the bins of each rule for each predicate in it as target, whose atoms are unknown and all others evidence; ordered by rule.

    Source: Mihalkova and Mooney, "Transfer learning with Markov logic networks" (2006), section 3.1. Left open there: pairs in ground clauses
    that evidence satisfies count as idle, and shares are of all four bins.
    """
    source.learn((instance, None) for rule in rules for instance in rule.instances)
    found: list[ClauseBins] = []
    for target in staged("diagnosing", source.names):
        # Where a clause has one literal of the target, the data tell whether the others are false, and its bins are exact; where it has
        # several, a chain samples the target's atoms.
        several = [i for i, rule in enumerate(rules) if _literals(rule, target) > 1]
        sampled = _sampled(target, several, source, effort) if several else {}
        for i, rule in enumerate(rules):
            if not _literals(rule, target):
                continue
            same, opposite = _containing(rule, target, source)
            if i in sampled:
                good, bad, error = sampled[i]
            else:
                good, bad = _exact(rule, target, source)
                error = 0.0
            total = same + opposite
            found.append(ClauseBins(i, target, good, bad, opposite - bad, same - good, error / total if total else 0.0))
    return sorted(found, key=lambda bins: bins.rule)


def _literals(rule: Member, target: str) -> int:
    """Return the most literals of a target that a clause of a rule has."""
    return max((sum(x.predicate == target for x in each.shape.literals) for each in rule.instances), default=0)


def _exact(rule: Member, target: str, source: SearchBlankets) -> tuple[int, int]:
    """Return in how many groundings an atom decides for its truth, and against it."""
    good, bad = _split(rule, _each(rule, target, source.partition(target)[0], source.terms))
    return good, bad


def _containing(rule: Member, target: str, source: SearchBlankets) -> tuple[int, int]:
    """Return in how many groundings an atom is as it is in the data, and the other way round."""
    return _split(rule, _each(rule, target, source.partition(target)[0], source.containing))


class _Asked(Protocol):
    def __call__(self, instance: Instance, /) -> Mapping[str, ClauseTerms]: ...


def _each(rule: Member, target: str, partition: Partition, ask: _Asked) -> Iterator[Partition]:
    """Refine a partition by each clause of a rule."""
    for instance in rule.instances:
        terms = ask(instance).get(target)
        if terms is not None:
            yield partition.refined([terms], 1)


def _split(rule: Member, partitions: Iterable[Partition]) -> tuple[int, int]:
    """Add up what agrees with the truth of atoms, and what does not: a positive literal with a true atom does."""
    agree = disagree = 0
    for found in partitions:
        negative, positive = (_column(x) for x in (found.negative, found.positive))
        for truth, count, minus, plus in zip(
            found.truth.tolist(), found.count.tolist(), negative, positive, strict=True
        ):
            agree += count * (plus if truth else minus)
            disagree += count * (minus if truth else plus)
    # In a conjunction, whose negation the clause is, literals have the other sign.
    return (agree, disagree) if rule.sign > 0 else (disagree, agree)


def _column(matrix: Matrix) -> list[int]:
    found: list[int] = np.asarray(matrix)[:, 0].tolist()
    return found


def _sampled(
    target: str, rules: Sequence[int], source: SearchBlankets, effort: Effort
) -> dict[int, tuple[float, float, float]]:
    """Sample the atoms of a target; return for each rule how often they decide for and against their truth, and an error."""
    with source.ground_target(target, rules) as opened:
        drawn = applied_bins(opened.network, opened.weights, opened.truth, effort=effort)
        alone = unit_bins(opened.network, opened.truth)
        found: dict[int, tuple[float, float, float]] = {}
        for i, rule in enumerate(opened.rules.tolist()):
            good, bad, error = found.get(rule, (0.0, 0.0, 0.0))
            found[rule] = (
                good + float(drawn.good[i]) + float(alone.good[i] + alone.cancelled[i]),
                bad + float(drawn.bad[i]) + float(alone.bad[i] + alone.cancelled[i]),
                float(np.hypot(error, max(drawn.good_error[i], drawn.bad_error[i]))),
            )
    return {rule: found.get(rule, (0.0, 0.0, 0.0)) for rule in rules}
