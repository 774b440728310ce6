"""Which seeds are searched and what becomes of the clauses: Aleph's commands induce, induce_cover and induce_max.

Source: Srinivasan, "The Aleph Manual" (2001), section 3.2; Huynh (2011), section 3.2.1, for the clauses that are kept besides
(ALEPH++).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sqlrl.errors import ModelError
from sqlrl.ground.evaluated import Saturated
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.bias import CONSTANT, Bias
from sqlrl.logic.components import Component, Components
from sqlrl.structure.ilp.bottom import BottomClause, BottomClauses
from sqlrl.structure.ilp.covers import Bits, Covers, counted_bits, packed, unpacked
from sqlrl.structure.ilp.forms import Forms
from sqlrl.structure.ilp.protocols import CoverageSource
from sqlrl.structure.ilp.refining import Refiner
from sqlrl.structure.ilp.scores import Scorer, likelihood_m
from sqlrl.structure.ilp.search import Judge, Met, Search, Threshold
from sqlrl.structure.ilp.settings import ILPParameters
from sqlrl.wording import counted

_SEEDS = 64
"""Seeds whose facts are asked for together."""

Head = tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """A clause that was found.

    Parameters
    ----------
    head : tuple of int
        The terms of the head's arguments; see `BottomClause`.
    components : tuple of int
        Those of its body, by their numbers in `Induction.components`.
    positives, negatives : int
        Atoms that it covers, of all.
    score : float
        When it was met; with `induce`, positive atoms that were covered before do not count in it.
    seed : int
        The place of the atom in whose bottom clause it was met first.
    """

    head: Head
    components: tuple[int, ...]
    positives: int
    negatives: int
    score: float
    seed: int


class SeedReport(NamedTuple):
    """What a seed has brought.

    Parameters
    ----------
    seed : int
        Its place among the target atoms.
    done : int
        Seeds searched so far.
    positives, left : int
        Positive atoms, and those of them that may still become seeds.
    nodes : int
        Clauses that were scored.
    score : float or None
        That of the best clause; None if none was acceptable.
    theory, candidates : int
        Clauses so far.
    seconds : float
        Since the start.
    """

    seed: int
    done: int
    positives: int
    left: int
    nodes: int
    score: float | None
    theory: int
    candidates: int
    seconds: float


class Induction:
    """Finds clauses; stopped at any time, it has what it found by the last seed.

    Parameters
    ----------
    source : CoverageSource
        n target atoms.
    bias : Bias
    parameters : ILPParameters
    components : Components, optional
        Knows canonical forms.

    Attributes
    ----------
    candidates : list of Found
        All clauses that were kept, the theory's among them, each once, in the order in which they were met.
    missed : Counter
        For each threshold the number of clauses that failed it and none before it.
    nodes : int
        Clauses that were scored.
    seeds : int
        Positive atoms that were searched.
    facts : int
        Literals of all their bottom clauses.
    """

    def __init__(
        self, source: CoverageSource, bias: Bias, parameters: ILPParameters, components: Components | None = None
    ) -> None:
        self._source, self._bias, self._parameters = source, bias, parameters
        arity = max((mode.arity for mode in bias.body), default=0)
        self._covers, self._forms = Covers(source), Forms(components or Components(bias.head.arity), arity)
        self._bottoms = BottomClauses(bias, source.predicates, parameters.bottom_limit)
        self._truth = source.truth
        self._positive, self._negative = packed(self._truth[None])[0], packed(~self._truth[None])[0]
        prior = float(self._truth.mean())
        self._scorer = Scorer(parameters.evaluation, prior, None if parameters.m == "likelihood" else parameters.m)
        self._heads: dict[Head, Bits] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._theory: dict[int, None] = {}
        # Of induce_max: the best clause of each positive atom, and its score.
        self._chosen = np.full(len(self._truth), -1, dtype=np.int64)
        self._scores = np.full(len(self._truth), -np.inf)
        self.candidates: list[Found] = []
        self.missed: Counter[Threshold] = Counter()
        self.nodes = self.seeds = self.facts = 0

    @property
    def predicates(self) -> tuple[str, ...]:
        """Those that bodies may have."""
        return self._bias.predicates()

    @property
    def components(self) -> list[Component]:
        """Those that were met; clauses name them by their places."""
        return self._covers.components

    @property
    def theory(self) -> list[int]:
        """The clauses of the theory, as places in `candidates`, in the order in which they were found."""
        if self._parameters.command == "induce_max":
            return sorted(set(self._chosen[self._chosen >= 0].tolist()))
        return list(self._theory)

    def cover(self, found: Found) -> BoolArray:
        """Return which target atoms a clause covers, shape (n,)."""
        rows = unpacked(self._bits(found.head, found.components)[None], len(self._truth))
        return rows.reshape(-1)

    def run(self, on_seed: Callable[[SeedReport], None] | None = None) -> None:
        """Search seed after seed.

        Parameters
        ----------
        on_seed : callable, optional
            Called after each seed.

        Raises
        ------
        GroundingLimitError
            A bottom clause, or what a component binds, is larger than its limit.
        ModelError
            The modes reach nothing from any positive atom, so that m has nothing to be chosen by.
        """
        start = time.perf_counter()
        left = self._truth.copy()
        if self._parameters.m == "likelihood":
            self._scorer = Scorer("mestimate", self._scorer.prior, self._likely_m())
        for seed, facts, place in self._seeds(left):
            bottom = self._bottoms.of(facts, place, self._source.arguments[seed])
            self.facts += len(bottom.literals)
            best, nodes = self._search(seed, bottom, left)
            if on_seed is not None:
                score = None if best is None else best.score
                counts = (self.seeds, int(self._truth.sum()), int(left.sum()), nodes, score)
                on_seed(SeedReport(seed, *counts, len(self.theory), len(self.candidates), time.perf_counter() - start))

    def _order(self) -> IntArray:
        """Return the positive atoms in the order of the search."""
        order = np.flatnonzero(self._truth)
        if self._parameters.order == "shuffle":
            order = np.random.default_rng(self._parameters.seed).permutation(order)
        return order

    def _seeds(self, left: BoolArray) -> Iterator[tuple[int, Saturated, int]]:
        """Yield the positive atoms that are left when their turn comes, with facts and the place of their own among these."""
        order = self._order()
        while len(order := order[left[order]]):
            batch, order = order[:_SEEDS], order[_SEEDS:]
            facts = self._source.saturate(batch, self._parameters.depth)
            for place, seed in enumerate(batch.tolist()):
                if left[seed]:
                    yield seed, facts, place

    def _search(self, seed: int, bottom: BottomClause, left: BoolArray) -> tuple[Met | None, int]:
        """Search a seed's bottom clause; take what was found, and what it covers out of `left`."""
        greedy = self._parameters.command == "induce"
        positive = packed(left[None])[0] if greedy else self._positive
        estimate = self._scorer if self._scorer.evaluation == "mestimate" else Scorer("auto_m", self._scorer.prior)
        judge = Judge(positive, self._negative, self._scorer, estimate, self._parameters)
        refiner = Refiner(bottom, self._covers, self._forms)
        outcome = Search(refiner, judge, self._head(bottom.head)).run()
        # From here on nothing waits for the database: a stop finds either none or all of a seed's clauses.
        for met in outcome.kept:
            self._add(met, bottom.head, seed)
        covered = np.zeros(len(left), dtype=np.bool_)
        if outcome.best is not None:
            number = self._add(outcome.best, bottom.head, seed)
            covered = self.cover(self.candidates[number])
            self._theory[number] = None
            better = covered & self._truth & (self._scores < outcome.best.score)
            self._chosen[better], self._scores[better] = number, outcome.best.score
        if self._parameters.command != "induce_max":
            left &= ~covered
        left[seed] = False
        self.missed.update(outcome.missed)
        self.nodes, self.seeds = self.nodes + outcome.nodes, self.seeds + 1
        return outcome.best, outcome.nodes

    def _add(self, met: Met, head: Head, seed: int) -> int:
        """Return the place of a clause in `candidates`; a new one if none is like it."""
        by_form = self._parameters.distinct == "clause"
        key = (head, met.components) if by_form else (self._bits(head, met.components).tobytes(),)
        if key not in self._known:
            bits = self._bits(head, met.components)
            positives, negatives = (
                int(counted_bits((bits & some)[None])[0]) for some in (self._positive, self._negative)
            )
            self._known[key] = len(self.candidates)
            self.candidates.append(Found(head, met.components, positives, negatives, met.score, seed))
        return self._known[key]

    def _bits(self, head: Head, components: tuple[int, ...]) -> Bits:
        """Return what a clause covers."""
        found = self._head(head)
        if components:
            found = found & np.bitwise_and.reduce(self._covers.bits[list(components)], axis=0)
        return found

    def _head(self, head: Head) -> Bits:
        """Return the atoms that a head matches: equal constants where it repeats a variable, its own where it has one."""
        if head not in self._heads:
            arguments, fits = self._source.arguments, np.ones(len(self._truth), dtype=np.bool_)
            for place, (mode, term) in enumerate(zip(self._bias.head.places, head, strict=True)):
                same: IntArray | int = -1 - term if mode.kind == CONSTANT else arguments[:, term]
                fits &= arguments[:, place] == same
            self._heads[head] = packed(fits[None])[0]
        return self._heads[head]

    def _likely_m(self) -> float:
        """Return m by maximum likelihood over the clauses with one body literal that the first seeds have."""
        seeds = self._order()[:_SEEDS]
        facts = self._source.saturate(seeds, self._parameters.depth)
        forms: dict[tuple[Head, int], None] = {}
        for place, seed in enumerate(seeds.tolist()):
            bottom = self._bottoms.of(facts, place, self._source.arguments[seed])
            refiner = Refiner(bottom, self._covers, self._forms)
            root = refiner.root()
            clause, literal = refiner.pairs(root)
            if len(clause):
                rows, _ = refiner.keys(root, clause, literal)
                nodes = refiner.children(root, clause, literal, rows, keep=True)
                forms |= {(bottom.head, component): None for component in refiner.components(nodes)[:, 0].tolist()}
        if not forms:
            raise ModelError(
                "m='likelihood' has no clauses to choose m by: the modes reach nothing from the first "
                f"{counted(len(seeds), 'positive atom')}; give m as a number, or other modes"
            )
        covers = np.stack([self._bits(head, (component,)) for head, component in forms])
        p, n = (counted_bits(covers & some) for some in (self._positive, self._negative))
        return likelihood_m(p, n, self._scorer.prior)
