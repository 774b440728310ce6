"""Repair of a model with faults: each clause in question comes back as it is, or as the one that is made of it and raises the score most, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlrl.logic.model import Rule
from sqlrl.logic.shapes import Instance
from sqlrl.structure.beam.clauses import SearchClause
from sqlrl.structure.beam.scores import Scored
from sqlrl.structure.beam.search import ClauseSearcher, ScoredClause, SearchResult


class RepairSearch(ClauseSearcher):
    """Searches for replacements of clauses in question: at most one of each, with a weight of the sign that its origin speaks for."""

    def _best(self, model: Scored, starts: Sequence[SearchClause], known: set[Instance]) -> ScoredClause | None:
        # In a noisy domain several clauses raise the score beside the right one, and together they could do what it does and drive it out.
        # What was added is a start as well: a clause in question that has an answer is there twice.
        asked = Counter(each.origin for each in starts)
        return super()._best(model, [each for each in starts if asked[each.origin] == 1], known)

    def _is_good(self, found: ScoredClause) -> bool:
        # With a negative weight a clause says what its negation does: `!Old(x) v !Slow(x)` with -3 would stand for `!Old(x) v Slow(x)`. Where
        # `sign` is -1 the clause is the negation of what its origin says, and its weight is to be negative.
        return found.weight * found.clause.sign > 0 and super()._is_good(found)


def in_place(
    found: SearchResult, rules: Sequence[Rule], held: Sequence[int], given: Sequence[Rule]
) -> tuple[SearchResult, list[Rule], list[Rule]]:
    """Put unchanged rules back in their places; return what was found without these, all rules, and rules in question without an answer."""
    # The rules of the search: what is left of those at the places `held` of the given ones and of unit clauses, then what was added.
    kept, added = rules[: len(found.remaining)], rules[len(found.remaining) :]
    origins = [each.clause.origin for each in found.added]
    back = {
        origin: i
        for i, (each, origin) in enumerate(zip(found.added, origins, strict=True))
        if origin is not None and each.clause.distance == 0
    }
    placed = {held[i]: rule for i, rule in zip(found.remaining, kept, strict=True) if i < len(held)}
    placed |= {origin: given[origin] for origin in back}
    units = [rule for i, rule in zip(found.remaining, kept, strict=True) if i >= len(held)]
    new = [i for i in range(len(added)) if i not in back.values()]
    without = [rule for i, rule in enumerate(given) if i not in held and i not in origins]
    return (
        replace(found, added=[found.added[i] for i in new]),
        [*(placed[i] for i in sorted(placed)), *units, *(added[i] for i in new)],
        without,
    )
