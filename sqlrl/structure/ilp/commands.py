"""Which seeds are searched and what becomes of the clauses: Aleph's commands induce, induce_cover and induce_max, and rank.

Source: Srinivasan, "The Aleph Manual" (2001), section 3.2; Huynh (2011), section 3.2.1, for the clauses that are kept besides
(ALEPH++).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sqlrl.errors import CountOverflowError, GroundingLimitError, ModelError, Parameter, marked
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.bias import CONSTANT, Bias
from sqlrl.logic.components import BodyLiteral, Component, Components
from sqlrl.structure.ilp.beam import Beam
from sqlrl.structure.ilp.bottom import BottomClause, BottomClauses
from sqlrl.structure.ilp.chance import Trial, divided, undivided
from sqlrl.structure.ilp.covers import Bits, CoverageSource, Covers, Forms, counted_bits, packed, unpacked
from sqlrl.structure.ilp.ranking import costs, gains, rank
from sqlrl.structure.ilp.scores import Scorer, likelihood_m
from sqlrl.structure.ilp.search import (
    BottomSearch,
    ClauseRefiner,
    Judge,
    Met,
    Outcome,
    Threshold,
    Waiting,
    WantedComponents,
    run_together,
)
from sqlrl.structure.ilp.settings import ILPParameters
from sqlrl.wording import counted

_SEEDS = 64
"""Seeds whose facts are asked for together."""

_TOGETHER = 64
"""The most seeds that are searched side by side."""

MOST_RANKED = 200
"""The most seeds of `rank`, which looks for all that is typical of positive atoms and not for a clause for each."""

_ENTRIES = 1 << 26
"""The most atoms that clauses cover, added up, among which `rank` chooses."""

Head = tuple[int, ...]


@dataclass(frozen=True)
class FoundClause:
    """A clause that was found."""

    head: Head  # as in `BottomClause`
    components: tuple[int, ...]  # of its body, by their numbers in `Induction.components`
    positives: int  # atoms that it covers, of all
    negatives: int
    score: float  # as it was met: with `induce`, positive atoms that were covered before do not count
    seed: int  # the place of the atom in whose bottom clause it was met first


class SeedReport(NamedTuple):
    """What the search of a seed has brought."""

    seed: int  # its place among the target atoms
    done: int  # seeds searched so far
    positives: int
    left: int  # positive atoms that may still become seeds
    nodes: int  # clauses that were scored
    score: float | None  # of the best clause; None if none was acceptable
    theory: int  # clauses of the theory so far
    candidates: int  # all clauses found so far
    seconds: float  # since the start

    def note(self) -> str:
        """Say how far the search is, for those who watch."""
        return f"seed {self.done:,}, {counted(self.theory, 'clause')} in the theory, {self.candidates:,} in all"


class Induction:
    """Finds clauses from n target atoms; after an interruption it has what it found until the last seed."""

    def __init__(
        self,
        source: CoverageSource,
        bias: Bias,
        parameters: ILPParameters,
        components: Components | None = None,
        unit: IntArray
        | None = None,  # equal for atoms whose labels depend on each other; None for those of one example
    ) -> None:
        self._source, self._bias, self._parameters = source, bias, parameters
        arity = max((mode.arity for mode in bias.body), default=0)
        self._covers, self._forms = Covers(source), Forms(components or Components(bias.head.arity), arity)
        self._bottoms = BottomClauses(bias, source.predicates, parameters.bottom_limit)
        self._truth = source.truth
        # What the search does not see is what its clauses are tested on.
        self._division = (
            divided(self._truth, source.examples, parameters.test_share, parameters.seed, unit)
            if parameters.significance < 1
            else undivided(self._truth)
        )
        self._visible = ~self._division.tested
        self._true_seen = self._truth & self._visible
        self._positives = int(self._true_seen.sum())
        self._true = packed(self._truth[None])[0]
        self._positive, self._negative = (
            packed(some[None])[0] for some in (self._true_seen, ~self._truth & self._visible)
        )
        prior = float(self._truth[self._visible].mean())
        self._scorer = Scorer(parameters.evaluation, prior, None if parameters.m == "likelihood" else parameters.m)
        self._heads: dict[Head, Bits] = {}
        self._known: dict[tuple[object, ...], int] = {}
        self._theory: dict[int, None] = {}
        # Of rank: what a theory is chosen from, with the seed that brought it.
        self._pool: dict[tuple[Head, tuple[int, ...]], tuple[Met, int]] = {}
        # What a description of each costs from which it was chosen.
        self._costs: dict[tuple[Head, tuple[int, ...]], float] = {}
        # Of induce_max: the best clause of each positive atom, and its score.
        self._chosen = np.full(len(self._truth), -1, dtype=np.int64)
        self._scores = np.full(len(self._truth), -np.inf)
        # Positive atoms that may still become seeds.
        self._left = self._true_seen.copy()
        # The corrected p-values of clauses that were tested, by their places in `candidates`; those of a theory are, once the search has ended.
        self.p_values: dict[int, float] = {}
        # All clauses that were kept, the theory's among them, each once, in the order in which they were met.
        self.candidates: list[FoundClause] = []
        # For each threshold the number of clauses that failed it and none before it.
        self.missed: Counter[Threshold] = Counter()
        # Clauses scored, positive atoms searched, those whose search met as many clauses as it may, and literals of their bottom clauses.
        self.nodes = self.seeds = self.cut = self.facts = 0
        # Predicates of which there was no fact around any seed.
        self.unmatched = {mode.predicate for mode in bias.body}
        # Positive atoms that were no seeds because their facts or bottom clauses are too large, and what was too large.
        self.passed_over: dict[int, GroundingLimitError | CountOverflowError] = {}

    @property
    def ranks(self) -> bool:
        """Whether the theory is one that ranks atoms."""
        return self._parameters.command == "rank"

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
        return [i for i in self._found() if self.p_values.get(i, 0.0) <= self._parameters.significance]

    @property
    def positives(self) -> int:
        """How many positive atoms the search sees."""
        return self._positives

    @property
    def left(self) -> int:
        """How many positive atoms may still become seeds."""
        return int(self._left.sum())

    @property
    def planned(self) -> int:
        """How many positive atoms are searched at the most."""
        return min(self._positives, MOST_RANKED) if self.ranks else self._positives

    @property
    def seen(self) -> tuple[int, int]:
        """How many atoms, and how many positive ones, the search sees."""
        return int(self._visible.sum()), self._positives

    @property
    def unconfirmed(self) -> list[int]:
        """Clauses that would be in the theory if they had not failed the test."""
        return [i for i in self._found() if self.p_values.get(i, 0.0) > self._parameters.significance]

    @property
    def tested(self) -> tuple[int, int]:
        """How many atoms, and how many positive ones, clauses are tested on."""
        return int(self._division.tested.sum()), int(self._truth[self._division.tested].sum())

    def cover(self, clause: FoundClause) -> BoolArray:
        """Return which target atoms a clause covers, shape (n,)."""
        rows = unpacked(self._bits(clause.head, clause.components)[None], len(self._truth))
        return rows.reshape(-1)

    def covered(self) -> tuple[int, int, int]:
        """Return how many positive atoms the theory covers, how many there are, and how many atoms."""
        bits = [self._bits(self.candidates[i].head, self.candidates[i].components) for i in self.theory]
        union = np.bitwise_or.reduce(bits) if bits else np.zeros_like(self._positive)
        return int(counted_bits((union & self._true)[None])[0]), int(self._truth.sum()), len(self._truth)

    def doubtful(self, unit: IntArray) -> list[int]:
        """Return the clauses of the theory that fail the test if atoms of a unit count together, as places in `candidates`."""
        theory, division = self.theory, replace(self._division, unit=unit)
        trial = Trial(division, self._truth, len(self.p_values), self._parameters.significance)
        found = []
        for number in theory:
            cover = self.cover(self.candidates[number])
            if trial.p_value(cover) > trial.significance:
                found.append(number)
            trial.keep(cover)
        return found

    def run(self, report: Callable[[SeedReport], None] | None = None) -> None:
        """Search seed after seed and report each; if all seeds are passed over as too large, the first error is raised."""
        start, left = time.perf_counter(), self._left
        if self._parameters.m == "likelihood":
            self._scorer = Scorer("mestimate", self._scorer.prior, self._likely_m())
        try:
            for seed, bottom, outcome in self._outcomes(left):
                best = self._take(seed, bottom, outcome, left)
                if report is not None:
                    score = None if best is None else best.score
                    counts = (self.seeds, self._positives, int(left.sum()), outcome.nodes, score)
                    found = len(self.candidates) + len(self._pool)
                    report(SeedReport(seed, *counts, len(self.theory), found, time.perf_counter() - start))
        finally:
            # Also of what a search that was stopped has found.
            self._rank()
            self._test()
        if self.passed_over and not self.seeds:
            raise next(iter(self.passed_over.values()))

    def state(self) -> dict[str, Any]:
        """Return what a search goes on from after a seed, as arrays and values of JSON."""
        used = {number for found in self.candidates for number in found.components}
        used.update(number for _, components in self._pool for number in components)
        return {
            "components": [[number, self.components[number]] for number in sorted(used)],
            "candidates": [vars(found) for found in self.candidates],
            "theory": list(self._theory),
            "pool": [[head, vars(met), seed] for (head, _), (met, seed) in self._pool.items()],
            "chosen": self._chosen.copy(),
            "scores": self._scores.copy(),
            "left": self._left.astype(np.int64),
            "missed": dict(self.missed),
            "counters": [self.nodes, self.seeds, self.cut, self.facts],
            "unmatched": sorted(self.unmatched),
            "passed_over": [[seed, str(error)] for seed, error in self.passed_over.items()],
        }

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Be where a search was."""
        known = {
            number: tuple(BodyLiteral(predicate, tuple(terms)) for predicate, terms in each)
            for number, each in state["components"]
        }
        self._covers.evaluate(known.values(), keep=False)
        # Components have other numbers now, in the same order.
        place = dict(zip(known, self._covers.numbers(list(known.values())).tolist(), strict=True))

        def numbered(kept: Mapping[str, Any]) -> dict[str, Any]:
            return {**kept, "components": tuple(place[number] for number in kept["components"])}

        self.candidates = [
            FoundClause(**{**numbered(kept), "head": tuple(kept["head"])}) for kept in state["candidates"]
        ]
        self._known = {self._key(found.head, found.components): i for i, found in enumerate(self.candidates)}
        self._theory = dict.fromkeys(state["theory"])
        for head, kept, seed in state["pool"]:
            met = Met(**numbered(kept))
            self._pool[tuple(head), met.components] = met, seed
        self._chosen, self._scores = state["chosen"], state["scores"]
        self._left = state["left"].astype(np.bool_)
        self.missed = Counter(state["missed"])
        self.nodes, self.seeds, self.cut, self.facts = state["counters"]
        self.unmatched = set(state["unmatched"])
        self.passed_over = {seed: GroundingLimitError(text) for seed, text in state["passed_over"]}

    def _found(self) -> list[int]:
        """Return what the search takes for the theory, in the order in which it was found."""
        if self._parameters.command == "induce_max":
            return sorted(set(self._chosen[self._chosen >= 0].tolist()))
        return list(self._theory)

    def _test(self) -> None:
        """Test what the search takes for the theory on the atoms that it has not seen."""
        found = self._found()
        if not found or not self._division.tested.any():
            return
        if not self.ranks:
            # The clause that says most comes before others that say a part of it; `rank` finds them in this order.
            bits = np.stack([self._bits(self.candidates[i].head, self.candidates[i].components) for i in found])
            positives, negatives = (counted_bits(bits & some) for some in (self._positive, self._negative))
            gain = gains(positives, negatives, self._positives, int(counted_bits(self._negative[None])[0]))
            found = [found[i] for i in np.argsort(-gain, kind="stable").tolist()]
        trial = Trial(self._division, self._truth, len(found), self._parameters.significance)
        for number in found:
            if number in self.p_values:
                continue  # it took the place of a clause before it
            cover = self.cover(self.candidates[number])
            self.p_values[number] = trial.p_value(cover)
            if self.p_values[number] <= trial.significance:
                # In the part that was searched a condition more may have paid that says nothing.
                trial.keep(self._generalised(number, cover, trial) if self.ranks else cover)

    def _generalised(self, number: int, cover: BoolArray, trial: Trial) -> BoolArray:
        """Put in place of a clause the one that covers all that it does and gains most on all labels beyond its cost; return what that covers."""
        clause = self.candidates[number]
        bits = self._bits(clause.head, clause.components)
        wider = [key for key in self._costs if not (bits & ~self._bits(*key)).any()]
        covers = (unpacked(self._bits(*key)[None], len(self._truth))[0] for key in wider)
        worth = [trial.gain(each) - self._costs[key] for key, each in zip(wider, covers, strict=True)]
        best = wider[int(np.argmax(worth))]
        other: BoolArray = unpacked(self._bits(*best)[None], len(self._truth))[0]
        if best == (clause.head, clause.components) or (value := trial.p_value(other)) > trial.significance:
            return cover
        met, seed = self._pool[best]
        taken = self._add(replace(met, score=max(worth)), best[0], seed)
        self.p_values[taken] = value
        self._theory = dict.fromkeys(taken if each == number else each for each in self._theory)
        return other

    def _order(self) -> IntArray:
        """Return the positive atoms that the search sees, in its order."""
        order = np.flatnonzero(self._true_seen)
        if self._parameters.order == "shuffle":
            order = np.random.default_rng(self._parameters.seed).permutation(order)
        if self.ranks and len(order) > MOST_RANKED:
            order = order[np.arange(MOST_RANKED) * len(order) // MOST_RANKED]
        return order

    def _outcomes(self, left: BoolArray) -> Iterator[tuple[int, BottomClause, Outcome]]:
        """Yield the positive atoms that are left when their turn comes, with what the search of each has found."""
        # Twice as many are searched together each time, as long as none is covered before its turn, which wastes its search.
        most = 1
        for facts, seeds in self._seeds(left):
            if not self.seeds and not self.passed_over:
                self._check_bottoms(facts, seeds)
            # `induce` scores by what is left, so that nothing can be searched before its turn.
            alone = self._parameters.command == "induce"
            while seeds := [(place, seed) for place, seed in seeds if left[seed]]:
                some = seeds[:most]
                try:
                    found = self._searched(facts, some, left)
                except (GroundingLimitError, CountOverflowError) as error:
                    # Together they may be too large, or a seed is that will have been covered.
                    alone = alone or len(some) > 1
                    most = 1
                    if len(some) == 1:
                        self._pass_over(some[0][1], error, left)
                    continue
                used = 0
                for seed, bottom, outcome in found:
                    if left[seed]:
                        used += 1
                        yield seed, bottom, outcome
                if not alone:
                    most = min(2 * used, _TOGETHER) if used == len(some) else used

    def _check_bottoms(self, facts: Saturated, seeds: Sequence[tuple[int, int]]) -> None:
        """Refuse a search before it begins if most of the seeds that come first have too large bottom clauses, whose sizes are known now."""
        sizes = np.bincount(facts.seed, minlength=len(seeds))
        first: GroundingLimitError | None = None
        too_large = 0
        for place, seed in seeds:
            # Facts can be fewer literals, not more.
            if sizes[place] <= self._parameters.bottom_limit:
                continue
            try:
                self._bottoms.of(facts, place, self._source.arguments[seed])
            except GroundingLimitError as error:
                first, too_large = first or error, too_large + 1
            if first is not None and 2 * too_large > len(seeds) > 1:
                raise GroundingLimitError(
                    f"most positive atoms could be no seeds, of the first {len(seeds)} more than half: {marked(first.message)}"
                )

    def _seeds(self, left: BoolArray) -> Iterator[tuple[Saturated, list[tuple[int, int]]]]:
        """Yield facts around some of the positive atoms that are left, with the place of each one's own, and the atom."""
        order = self._order()
        while len(order := order[left[order]]):
            batch, order = order[:_SEEDS], order[_SEEDS:]
            for facts, some in self._saturated(batch, left):
                self.unmatched -= {self._bias.body[mode].predicate for mode in np.unique(facts.mode).tolist()}
                yield facts, list(enumerate(some.tolist()))

    def _saturated(self, seeds: IntArray, left: BoolArray) -> Iterator[tuple[Saturated, IntArray]]:
        """Yield facts around seeds, in two halves if they are too many together; a seed with too many alone is passed over."""
        try:
            facts = self._source.saturate(seeds, self._parameters.depth)
        except GroundingLimitError as error:
            if len(seeds) == 1:
                self._pass_over(int(seeds[0]), error, left)
                return
            for half in np.array_split(seeds, 2):
                yield from self._saturated(half, left)
            return
        yield facts, seeds

    def _pass_over(self, seed: int, error: GroundingLimitError | CountOverflowError, left: BoolArray) -> None:
        """Go on without a seed that is too large."""
        self.passed_over[seed] = error
        left[seed] = False

    @property
    def _estimate(self) -> Scorer:
        """The m-estimate of clauses that are kept besides the theory."""
        return self._scorer if self._scorer.evaluation == "mestimate" else Scorer("auto_m", self._scorer.prior)

    def _searched(
        self, facts: Saturated, seeds: Sequence[tuple[int, int]], left: BoolArray
    ) -> list[tuple[int, BottomClause, Outcome]]:
        """Search the bottom clauses of seeds, side by side."""
        positive = packed(left[None])[0] if self._parameters.command == "induce" else self._positive
        judge = Judge(positive, self._negative, self._positives, self._scorer, self._estimate, self._parameters)
        bottoms = [self._bottoms.of(facts, place, self._source.arguments[seed]) for place, seed in seeds]
        search: type[Beam | BottomSearch] = Beam if self.ranks else BottomSearch
        searches = [
            search(ClauseRefiner(bottom, self._covers, self._forms), judge, self._head(bottom.head)).run()
            for bottom in bottoms
        ]
        outcomes = run_together(self._covers, searches)
        return list(zip([seed for _, seed in seeds], bottoms, outcomes, strict=True))

    def _take(self, seed: int, bottom: BottomClause, outcome: Outcome, left: BoolArray) -> Met | None:
        """Take what the search of a seed has found, and what that covers out of `left`; return the best clause."""
        # Nothing waits for the database here: a stop finds either none or all of a seed's clauses.
        for met in outcome.kept_clauses:
            if self.ranks:
                self._pool.setdefault((bottom.head, met.components), (met, seed))
            else:
                self._add(met, bottom.head, seed)
        covered = np.zeros(len(left), dtype=np.bool_)
        if outcome.best is not None:
            number = self._add(outcome.best, bottom.head, seed)
            covered = self.cover(self.candidates[number])
            self._theory[number] = None
            better = covered & self._true_seen & (self._scores < outcome.best.score)
            self._chosen[better], self._scores[better] = number, outcome.best.score
        if self._parameters.command != "induce_max":
            left &= ~covered
        left[seed] = False
        self.missed.update(outcome.missed)
        self.nodes, self.seeds = self.nodes + outcome.nodes, self.seeds + 1
        self.cut += outcome.nodes >= self._parameters.nodes
        self.facts += len(bottom.literals)
        return outcome.best

    def _rank(self) -> None:
        """Choose a theory of `rank` from the clauses that its searches have found; of those that cover the same the shortest one."""
        bodies = {key: [self.components[i] for i in key[1]] for key in self._pool}
        shortest = sorted(self._pool, key=lambda key: sum(map(len, bodies[key])))
        distinct = list({self._bits(*key).tobytes(): key for key in reversed(shortest)}.values())[::-1]
        # The better ones, if that is too much to look at together.
        sizes = [self._pool[key][0].positives + self._pool[key][0].negatives for key in distinct]
        best = sorted(range(len(distinct)), key=lambda i: -self._pool[distinct[i]][0].score)
        most = int(np.searchsorted(np.cumsum([sizes[i] for i in best]), _ENTRIES, side="right"))
        pool = [distinct[i] for i in sorted(best[:most])]
        if not pool:
            return
        cover = sparse.vstack([self._row(*key) for key in pool], "csr")
        seen = np.flatnonzero(self._visible)
        cost = costs([bodies[key] for key in pool])
        self._costs = dict(zip(pool, cost.tolist(), strict=True))
        chosen = rank(cover[:, seen], self._truth[seen], cost, self._parameters.min_score)
        for place, score in zip(chosen.places, chosen.scores, strict=True):
            head, components = pool[place]
            met, seed = self._pool[head, components]
            self._theory[self._add(replace(met, score=score), head, seed)] = None
        if self._parameters.keep_above is not None:
            for head, components in pool:
                met, seed = self._pool[head, components]
                if self._estimate([met.positives], [met.negatives], 0)[0] > self._parameters.keep_above:
                    self._add(met, head, seed)

    def _row(self, head: Head, components: tuple[int, ...]) -> sparse.csr_matrix:
        """Return what a clause covers as a row of ones."""
        return sparse.csr_matrix(unpacked(self._bits(head, components)[None], len(self._truth)).astype(np.float64))

    def _add(self, met: Met, head: Head, seed: int) -> int:
        """Return the place of a clause in `candidates`; a new one if none is like it."""
        key = self._key(head, met.components)
        if key not in self._known:
            bits = self._bits(head, met.components)
            covered, positives = (int(counted_bits(x[None])[0]) for x in (bits, bits & self._true))
            negatives = covered - positives
            self._known[key] = len(self.candidates)
            self.candidates.append(FoundClause(head, met.components, positives, negatives, met.score, seed))
        return self._known[key]

    def _key(self, head: Head, components: tuple[int, ...]) -> tuple[object, ...]:
        """Return what is equal for clauses that are one."""
        by_form = self._parameters.distinct == "clause"
        return (head, components) if by_form else (self._bits(head, components).tobytes(),)

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
        seeds, bottoms = self._order()[:_SEEDS], []
        for facts, some in self._saturated(seeds, np.ones(len(self._truth), dtype=np.bool_)):
            for place, seed in enumerate(some.tolist()):
                # What is too large is passed over when its turn comes.
                with suppress(GroundingLimitError):
                    bottoms.append(self._bottoms.of(facts, place, self._source.arguments[seed]))
        grown = run_together(self._covers, [_shortest(ClauseRefiner(x, self._covers, self._forms)) for x in bottoms])
        forms = {
            (bottom.head, component): None for bottom, found in zip(bottoms, grown, strict=True) for component in found
        }
        if not forms:
            raise ModelError(
                f"{Parameter('m', 'likelihood')} has no clauses to choose m by: the modes reach nothing from the first "
                f"{counted(len(seeds), 'positive atom')}; give m as a number, or other modes"
            )
        covers = np.stack([self._bits(head, (component,)) for head, component in forms])
        p, n = (counted_bits(covers & some) for some in (self._positive, self._negative))
        return likelihood_m(p, n, self._scorer.prior)


def _shortest(refiner: ClauseRefiner) -> Waiting[list[int]]:
    """Return the components of the clauses with one body literal."""
    root = refiner.root()
    clause, literal = refiner.pairs(root)
    if not len(clause):
        return []
    refinement = refiner.refine(root, clause, literal, refiner.keys(root, clause, literal)[0])
    if refinement.forms:
        yield WantedComponents(refinement.forms, keep=True)
    found: list[int] = refiner.components(refiner.children(refinement))[:, 0].tolist()
    return found
