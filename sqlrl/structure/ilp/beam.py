"""The search of a bottom clause for what tells positive atoms from negative ones, however little: a beam, one clause of each form.

Where few atoms are positive, hardly a clause is right more often than not, and none that scores by its accuracy is a good start for
longer ones. Here clauses are worth what they say about the labels (`ranking.gains`). A bottom clause has many literals that are alike, such as
all titles of an author, so that clauses that differ in the names of variables alone are one: its coverage is looked up once, and
a few *instances* of it are refined, first those whose variables more literals of the bottom clause have, since these connect the arguments
of the head with each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlrl.distinct import distinct
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.structure.ilp.covers import Bits, counted_bits
from sqlrl.structure.ilp.ranking import LITERAL, gains
from sqlrl.structure.ilp.search import ClauseRefiner, Judge, Met, Nodes, Outcome, Threshold, Waiting, WantedComponents

WIDTH = 30
"""Forms of each length that are refined."""

INSTANCES = 4
"""Clauses of each of these forms."""


class _Forms(NamedTuple):
    """The f forms of q clauses: clauses with the same components, each as often, have one form."""

    components: list[tuple[int, ...]]  # of each form, ascending, each once
    first: IntArray  # a clause of each form, shape (f,)
    of: IntArray  # the form of each clause, shape (q,)
    again: BoolArray  # which forms have a component several times, shape (f,)


class Beam:
    """Searches one bottom clause; `head`, uint64 of shape (w,), are the atoms that the head matches."""

    def __init__(self, refiner: ClauseRefiner, judge: Judge, head: Bits) -> None:
        self._refiner, self._judge, self._head, self._parameters = refiner, judge, head, judge.parameters
        self._all = tuple(int(counted_bits(bits[None])[0]) for bits in (judge.positive, judge.negative))
        self._seen: set[tuple[int, ...]] = set()
        inner = refiner.bottom.variables[:, len(refiner.bottom.head) :].astype(np.float32)
        self._touching: IntArray = (inner @ inner.T > 0).sum(axis=1)
        self.outcome = Outcome()

    def run(self) -> Waiting[Outcome]:
        """Search; what components cover is waited for. Returns what was found."""
        nodes = self._refiner.root()
        for length in range(2, self._parameters.clause_length + 1):
            last = length == self._parameters.clause_length
            children = yield from self._children(nodes, keep=not last)
            nodes = self._look(children, length)
            if not len(nodes) or self.outcome.nodes >= self._parameters.nodes:
                break
        return self.outcome

    def _children(self, nodes: Nodes, *, keep: bool) -> Waiting[Nodes]:
        """Return the refinements of clauses, each set of literals once."""
        clause, literal = self._refiner.pairs(nodes)
        if not len(clause):
            return nodes.take(slice(0, 0))
        rows, keys = self._refiner.keys(nodes, clause, literal)
        place = np.unique(keys, return_index=True)[1]
        refinement = self._refiner.refine(nodes, clause[place], literal[place], rows[place])
        if refinement.forms:
            yield WantedComponents(refinement.forms, keep=keep)
        return self._refiner.children(refinement)

    def _look(self, nodes: Nodes, length: int) -> Nodes:
        """Note what is good of clauses of one length; return those to refine."""
        if not len(nodes):
            return nodes
        parameters, forms = self._parameters, self._forms(nodes)
        fresh = np.zeros(len(forms.first), dtype=np.bool_)
        for i, components in enumerate(forms.components):
            # What is left over when nodes are used up is not looked at.
            fresh[i] = components not in self._seen and self.outcome.nodes < parameters.nodes
            self.outcome.nodes += int(fresh[i])
            self._seen.add(components)
        some = nodes.take(forms.first)
        cover = self._refiner.cover(some, self._head)
        positives, negatives = (counted_bits(cover & bits) for bits in (self._judge.positive, self._judge.negative))
        gain = gains(positives, negatives, *self._all)
        enough = positives >= parameters.min_positive
        fails: dict[Threshold, BoolArray] = {
            "min_positive": positives < parameters.min_positive,
            "noise": negatives > parameters.noise,
            "min_accuracy": positives < parameters.min_accuracy * (positives + negatives),
            "min_score": gain < parameters.min_score + LITERAL * (length - 1),
        }
        left = fresh & self._refiner.complete(some)
        for name, failed in fails.items():
            self.outcome.missed[name] += int((left & failed).sum())
            left = left & ~failed
        self.outcome.kept_clauses += [
            Met(forms.components[i], int(positives[i]), int(negatives[i]), float(gain[i]))
            for i in np.flatnonzero(left).tolist()
        ]
        # What says the same again can lead to something else, but seldom does.
        chosen = np.lexsort((-gain, forms.again, ~enough))[:WIDTH]
        return nodes.take(self._instances(nodes, forms, chosen[enough[chosen]]))

    def _forms(self, nodes: Nodes) -> _Forms:
        """Return the forms of clauses. What a body covers does not depend on how often it has a component."""
        numbers = np.sort(self._refiner.components(nodes), axis=1)
        found = distinct(numbers.T)
        forms = found.rows
        again = ((forms[:, 1:] == forms[:, :-1]) & (forms[:, 1:] >= 0)).any(axis=1)
        return _Forms(
            [tuple(sorted({x for x in row if x >= 0})) for row in forms.tolist()], found.first, found.inverse, again
        )

    def _instances(self, nodes: Nodes, forms: _Forms, chosen: IntArray) -> IntArray:
        """Return some clauses of each of the chosen forms, in the order of these."""
        rank = np.full(len(forms.components), -1, dtype=np.int64)
        rank[chosen] = np.arange(len(chosen))
        rows = np.flatnonzero(rank[forms.of] >= 0)
        touching = self._touching[nodes.literals[rows]].sum(axis=1)
        rows = rows[np.lexsort((rows, -touching, rank[forms.of[rows]]))]
        of = rank[forms.of[rows]]
        found: IntArray = rows[np.arange(len(rows)) - np.searchsorted(of, of) < INSTANCES]
        return found
