"""Beam search and shortest-first search for the clauses of a generative model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from sqlrl.garbage import seldom_sought
from sqlrl.ground.network import FloatArray
from sqlrl.logic.shapes import Instance
from sqlrl.progress import staged
from sqlrl.structure.beam.clauses import Language, SearchClause
from sqlrl.structure.beam.scores import TIGHT, Gain, Member, Objective, Scored
from sqlrl.training.clause_search import SearchBlankets

Strategy = Literal["beam", "shortest-first"]


@dataclass(frozen=True)
class SearchParameters:
    """How clauses are searched."""

    strategy: Strategy = "beam"
    beam: int = 5  # candidates of a step that the next one goes on from
    penalty: float = 0.01  # cost of each literal by which a clause differs from its origin, in units of the score
    least_weight: float = 0.01  # candidates with a smaller absolute weight are not taken
    unchanged: int = 2  # steps without a better clause that end a beam search
    reexamined: int = 10  # how many of the best candidates are scored again with precise weights
    max_clauses: int | None = None  # the most clauses that are added


@dataclass(frozen=True, eq=False)
class ScoredClause:
    """A candidate with what it adds to the score, less what its literals cost."""

    clause: SearchClause
    instance: Instance
    gain: float
    weight: float


@dataclass(frozen=True)
class SearchStep:
    """How far a search is: candidates scored so far, statements that counted, clauses added, and the score less costs."""

    candidates: int
    statements: int
    clauses: int
    score: float

    def note(self) -> str:
        """Say it, for those who watch."""
        return f"{self.candidates:,} candidates, {self.clauses:,} clauses, score {self.score:.5f}"


@dataclass(frozen=True, eq=False)
class SearchSnapshot:
    """What a search has come to when it has added a clause: what was found, and what it goes on from."""

    result: Callable[[], SearchResult]
    state: Callable[[], dict[str, Any]]


Report = Callable[[SearchStep, SearchSnapshot | None], None]
"""What a search calls after each step, with what it has come to where a clause was added."""


@dataclass
class Added:
    """A clause that was added to the model, with the score less costs after it."""

    clause: SearchClause
    instance: Instance
    gain: float
    candidates: int


@dataclass
class SearchResult:
    """What a search found."""

    model: Scored  # the members that the search began with and are left, then what it added
    remaining: list[int]  # places of those that it began with and are left
    added: list[Added] = field(default_factory=list)  # what was added and is left, in order
    candidates: int = 0  # how many were scored


class ClauseSearcher:
    """Adds clauses to a model as long as one raises its score by more than its literals cost, then takes out those that do not raise it.

    Source: Kok and Domingos, "Learning the structure of Markov logic networks" (2005), section 4.2 and Tables 2 to 4. Left open there: the best
    candidates are scored again with precise weights; a clause is revised by adding the revised one, and pruning may take out the old one.
    """

    def __init__(
        self,
        source: SearchBlankets,
        language: Language,
        parameters: SearchParameters,
        strength: float,
        report: Report | None = None,
    ) -> None:
        self.source, self.language, self.parameters = source, language, parameters
        self.objective = Objective(source, strength)
        self._shaper = language.shaper()
        self._report = report
        self._candidates = self._added = 0
        self._costs = 0.0

    def run(
        self,
        members: Sequence[Member],  # the model that there is
        starts: Sequence[SearchClause],
        removable: Sequence[bool],  # which members may go in the end
        after: Mapping[str, Any] | None = None,  # what was saved of a search that goes on
    ) -> SearchResult:
        """Search from some clauses."""
        with seldom_sought():
            return self._run(members, starts, removable, after)

    def _run(
        self,
        members: Sequence[Member],
        starts: Sequence[SearchClause],
        removable: Sequence[bool],
        after: Mapping[str, Any] | None,
    ) -> SearchResult:
        added: list[Added] = []
        given, begun = len(members), None
        if after is not None:
            for clause, gain, candidates in after["added"]:
                known_before = SearchClause.of_saved(clause)
                instance = self._shaper(known_before.clause)
                added.append(Added(known_before, instance, gain, candidates))
            members = (*members, *(Member((each.instance,)) for each in added))
            self._candidates, self._added = int(after["candidates"]), len(added)
            self._costs, begun = float(after["costs"]), after["weight"]
        model = self.objective.model(members, begun)
        known = {instance for member in members for instance in member.instances}
        while self.parameters.max_clauses is None or len(added) < self.parameters.max_clauses:
            best = self._best(model, [*starts, *(each.clause for each in added)], known)
            if best is None:
                break
            members = (*model.members, Member((best.instance,)))
            gain = self.objective.gain(model, best.instance, tolerance=TIGHT)
            model = self.objective.model(members, gain.weights)
            known.add(best.instance)
            self._costs += self.parameters.penalty * best.clause.distance
            added.append(Added(best.clause, best.instance, best.gain, self._candidates))
            self._added = len(added)
            self._say(model, self._so_far(model, given, added))
        return self._pruned(model, given, added, removable)

    def _so_far(self, model: Scored, given: int, added: Sequence[Added]) -> SearchSnapshot:
        clauses, candidates, costs = list(added), self._candidates, self._costs

        def state() -> dict[str, Any]:
            return {
                "weight": model.weights,
                "added": [[each.clause.saved(), each.gain, each.candidates] for each in clauses],
                "candidates": np.array(candidates),
                "costs": np.array(costs),
            }

        return SearchSnapshot(lambda: SearchResult(model, list(range(given)), clauses, candidates), state)

    # ---- one search ------------------------------------------------------------------------------------------

    def _best(self, model: Scored, starts: Sequence[SearchClause], known: set[Instance]) -> ScoredClause | None:
        """Return the clause to add next; None if none raises the score."""
        search = self._beam if self.parameters.strategy == "beam" else self._shortest
        found = search(model, starts, known)
        again = sorted(found, key=_order)[: self.parameters.reexamined]
        precise = [
            self._found(each.clause, each.instance, self.objective.gain(model, each.instance, tolerance=TIGHT))
            for each in again
        ]
        good = [each for each in precise if self._is_good(each)]
        return min(good, key=_order, default=None)

    def _beam(self, model: Scored, starts: Sequence[SearchClause], known: set[Instance]) -> list[ScoredClause]:
        """Return the good candidates of a beam search."""
        seen, found = set(known), list[ScoredClause]()
        beam: Iterable[SearchClause] = starts
        best, unchanged = 0.0, 0
        while unchanged < self.parameters.unchanged:
            scored = self._scored(model, beam, seen)
            if not scored:
                break
            found += scored
            beam = [each.clause for each in sorted(scored, key=_order)[: self.parameters.beam]]
            top = max(each.gain for each in scored)
            best, unchanged = (top, 0) if top > best else (best, unchanged + 1)
        return found

    def _shortest(self, model: Scored, starts: Sequence[SearchClause], known: set[Instance]) -> list[ScoredClause]:
        """Return the good candidates of the least length that has any."""
        seen, layer = set(known), list(starts)
        for _ in range(self.language.max_literals):
            scored = self._scored(model, layer, seen, good=False)
            good = [each for each in scored if self._is_good(each)]
            if good:
                return good
            layer = [each.clause for each in sorted(scored, key=_order)[: self.parameters.beam]]
            if not layer:
                break
        return []

    def _scored(
        self, model: Scored, clauses: Iterable[SearchClause], seen: set[Instance], *, good: bool = True
    ) -> list[ScoredClause]:
        """Score the candidates that differ by a literal from some clauses and were not seen; return the good ones, or all."""
        fresh: dict[Instance, SearchClause] = {}
        for clause in clauses:
            for candidate in self.language.neighbours(clause):
                # Candidates that are equal up to names of variables and the order of literals are one.
                instance = self._shaper(candidate.clause)
                before = fresh.get(instance)
                if instance in seen or (before is not None and before.distance <= candidate.distance):
                    continue
                fresh[instance] = candidate
        # A candidate is scored once in a search; the source keeps its counts for the searches after it.
        seen.update(fresh)
        self.source.learn((instance, clause.added) for instance, clause in fresh.items())
        found = []
        for instance, clause in staged("scoring candidates", fresh.items(), even=True):
            self._candidates += 1
            each = self._found(clause, instance, self.objective.gain(model, instance))
            if not good or self._is_good(each):
                found.append(each)
        self._say(model)
        return found

    def _found(self, clause: SearchClause, instance: Instance, gain: Gain) -> ScoredClause:
        return ScoredClause(clause, instance, gain.gain - self.parameters.penalty * clause.distance, gain.weight)

    def _is_good(self, found: ScoredClause) -> bool:
        return found.gain > 0 and abs(found.weight) >= self.parameters.least_weight

    def _say(self, model: Scored, so_far: SearchSnapshot | None = None) -> None:
        if self._report is not None:
            score = model.value - self._costs
            self._report(SearchStep(self._candidates, self.source.statements, self._added, score), so_far)

    # ---- what says nothing -----------------------------------------------------------------------------------

    def _pruned(self, model: Scored, given: int, added: list[Added], removable: Sequence[bool]) -> SearchResult:
        """Take out clauses one by one, those with the least weights first, as long as the score is no lower without one."""
        kept, left = list(range(given)), list(added)
        for place, is_added in self._by_weight(model, given, removable):
            position = kept.index(place) if not is_added else len(kept) + left.index(added[place])
            members = [member for i, member in enumerate(model.members) if i != position]
            learned = [i for i, member in enumerate(model.members) if member.learned]
            start = [w for i, w in zip(learned, model.weights, strict=True) if i != position]
            without = self.objective.model(members, _array(start))
            saved = self.parameters.penalty * added[place].clause.distance if is_added else 0.0
            if without.value + saved < model.value:
                continue
            model = without
            if is_added:
                left.remove(added[place])
            else:
                kept.remove(place)
        return SearchResult(model, kept, left, self._candidates)

    def _by_weight(self, model: Scored, given: int, removable: Sequence[bool]) -> Iterator[tuple[int, bool]]:
        """Return which clauses may go: their place among those that were given or added, and whether they were added."""
        weights = iter(model.weights.tolist())
        of = [next(weights) if member.learned else None for member in model.members]
        places = [(abs(w), i) for i, w in enumerate(of) if w is not None and (i >= given or removable[i])]
        for _, i in sorted(places):
            yield (i - given, True) if i >= given else (i, False)


def _order(scored: ScoredClause) -> tuple[float, int, str]:
    """The best first; of those that are as good the shortest."""
    return -scored.gain, len(scored.clause.literals), str(scored.instance.shape)


def _array(values: Sequence[float]) -> FloatArray:

    return np.array(values, dtype=np.float64)
