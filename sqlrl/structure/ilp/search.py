"""The search for clauses in a bottom clause: breadth first, all clauses of a length scored together.

Source: Srinivasan's Aleph, version 5, whose order is followed: short clauses come first; among those of one length, refinements
of better ones; among these, those by earlier literals. So `nodes` cuts off the same clauses. Unless `explore` is set, a clause is passed over
if no refinement of it can score more than the best clause so far, and the search ends with an acceptable clause that covers all
positive atoms, however many negative ones it covers. With `induce` that is all of them too, also those that are covered already.
A node is a clause that was scored. Each set of literals is one node, however many ways lead to it.

A clause is a row: the places of its literals in the bottom clause, ascending, and the numbers of the components into which its body
falls. So children are made and told apart by array operations, and so are their components; only ways to a component that no search
has gone before are looked at one by one (see `Forms`), and there are few of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.logic.components import Component
from sqlrl.structure.ilp.bottom import BottomClause
from sqlrl.structure.ilp.covers import (
    NOTHING,
    Bits,
    Covers,
    Forms,
    GrowingRows,
    KeyNumbers,
    Keys,
    Literals,
    Parents,
    Ways,
    counted_bits,
    row_bytes,
    row_keys,
)
from sqlrl.structure.ilp.scores import Scorer
from sqlrl.structure.ilp.settings import ILPParameters

NONE = 0
"""The number of no component."""

Result = TypeVar("Result")

Threshold = Literal["min_positive", "noise", "min_accuracy", "min_score", "above_seed"]

_WORDS = 1 << 24
"""Words of bitmaps that are looked at together."""

_FEW, _BLOCK = 16, 512
"""Clauses whose refinements are counted together."""


# ---- refinement of many clauses at once, each by one more literal ------------------------------------


@dataclass(frozen=True, eq=False)
class Nodes:
    """Clauses of one length, with k literals in their bodies; both arrays are int64 of shape (c, k)."""

    literals: IntArray  # places in the bottom clause, ascending in each row
    parts: IntArray  # the components of each body, as the refiner numbers them; `NONE` where there are fewer

    def __len__(self) -> int:
        return len(self.literals)

    def take(self, rows: IntArray | BoolArray | slice) -> Nodes:
        """Return some of them."""
        return Nodes(self.literals[rows], self.parts[rows])


class _New(NamedTuple):
    """Components that a refiner meets for the first time: their keys, literals, and parents and literal of each."""

    keys: list[bytes]
    members: IntArray
    parents: Parents
    literals: Literals
    ways: Ways


@dataclass(frozen=True, eq=False)
class Refinement:
    """Clauses with one more literal, before it is known what they cover."""

    literals: IntArray  # shape (q, k + 1)
    others: IntArray  # the components that the new literal does not join, `NONE` elsewhere, shape (q, k)
    keys: list[bytes]  # of the components with the new literal
    new: _New | None  # those of them that were never met, if any

    @property
    def forms(self) -> list[Component]:
        """The forms of components that nobody has met; what they cover must be known before clauses are made."""
        return [] if self.new is None else [form for form, _ in self.new.ways.new.values()]


class ClauseRefiner:
    """Refines clauses that are parts of one bottom clause."""

    def __init__(self, bottom: BottomClause, covers: Covers, forms: Forms) -> None:
        self.bottom, self._covers, self._forms = bottom, covers, forms
        self._needs = bottom.needs.T.astype(np.float32)
        self._starts = np.searchsorted(bottom.option, np.arange(len(bottom.literals)))
        inner = bottom.variables[:, len(bottom.head) :]
        self._inner = inner.astype(np.float32)
        self._literals = forms.literals(bottom.literals)
        # Of each component its literals, descending and counted from 1, the number of its form, the variable for each one of the
        # form, and the literals that share an existential variable with it.
        self._numbers = KeyNumbers()
        self._members, self._global = GrowingRows(1, np.int64), GrowingRows(1, np.int64, NOTHING)
        self._variables_of, self._touches = (
            GrowingRows(1, np.int64, NOTHING),
            GrowingRows(len(bottom.literals), np.bool_),
        )
        for rows in (self._members, self._global, self._variables_of, self._touches):
            rows.add(np.zeros((1, 0), dtype=np.int64))
        self._numbers.add(row_bytes(self._members.values))

    def root(self) -> Nodes:
        """Return the clause without a body."""
        return Nodes(*(np.zeros((1, 0), dtype=np.int64) for _ in range(2)))

    def components(self, nodes: Nodes) -> IntArray:
        """Return the components of clauses by their numbers in `Covers`, shape (c, k); -1 where there are fewer."""
        found: IntArray = self._global.values[nodes.parts, 0]
        return found

    def complete(self, nodes: Nodes) -> BoolArray:
        """Tell which clauses have all variables of the head's `-` places."""
        wanted = self.bottom.wanted
        if not wanted.any():
            return np.ones(len(nodes), dtype=np.bool_)
        return np.asarray(self._variables(nodes)[:, wanted].all(axis=1))

    def pairs(self, nodes: Nodes) -> tuple[IntArray, IntArray]:
        """Return the clause and the literal, each of shape (q,), ascending, of pairs where a clause lacks a literal and has its inputs."""
        if not self.bottom.literals:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        lacking = (~self._variables(nodes)).astype(np.float32) @ self._needs
        allowed = np.logical_or.reduceat(lacking == 0, self._starts, axis=1)
        allowed[np.arange(len(nodes))[:, None], nodes.literals] = False
        clause, literal = np.nonzero(allowed)
        return clause, literal

    def keys(self, nodes: Nodes, clause: IntArray, literal: IntArray) -> tuple[IntArray, Keys]:
        """Return the literals of children, ascending, and a key for each set of literals."""
        rows = np.sort(np.concatenate([nodes.literals[clause], literal[:, None]], axis=1), axis=1)
        return rows, row_keys(rows, len(self.bottom.literals))

    def refine(self, nodes: Nodes, clause: IntArray, literal: IntArray, rows: IntArray) -> Refinement:
        """Add `literal` to `clause`, both of shape (q,); `rows`, of shape (q, k + 1), are the literals of the children."""
        parts = nodes.parts[clause]
        touched = self._touches.values[parts, literal[:, None]]
        joined = np.where(touched, parts, NONE)
        apart = self._members.values[joined].reshape(len(literal), -1)
        members = -np.sort(-np.concatenate([apart, literal[:, None] + 1], axis=1), axis=1)[:, : parts.shape[1] + 1]
        keys, new = row_bytes(members), None
        if first := self._numbers.unknown(keys):
            places = np.array(list(first.values()))
            new = self._new(list(first), members[places], joined[places], literal[places])
        return Refinement(rows, np.where(touched, NONE, parts), keys, new)

    def children(self, refinement: Refinement) -> Nodes:
        """Return the clauses; what the forms of the refinement cover is known now."""
        if refinement.new is not None:
            self._learn(refinement.new)
        own = self._numbers.of(refinement.keys)
        return Nodes(refinement.literals, np.concatenate([refinement.others, own[:, None]], axis=1))

    def cover(self, nodes: Nodes, head: Bits) -> Bits:
        """Return what clauses cover; `head`, uint64 of shape (w,), is what the head alone covers."""
        covers = np.repeat(head[None], len(nodes), axis=0)
        for part in nodes.parts.T:
            some = np.flatnonzero(part != NONE)
            covers[some] &= self._covers.bits[self._global.values[part[some], 0]]
        return covers

    def added(self, children: Nodes) -> Bits:
        """Return what the component that each child got last covers."""
        found: Bits = self._covers.bits[self._global.values[children.parts[:, -1], 0]]
        return found

    def _variables(self, nodes: Nodes) -> BoolArray:
        """Return the variables that clauses have, shape (c, v)."""
        known = np.repeat(self.bottom.inputs[None], len(nodes), axis=0)
        for literal in nodes.literals.T:
            known |= self.bottom.variables[literal]
        return known

    def _new(self, keys: list[bytes], members: IntArray, parts: IntArray, literal: IntArray) -> _New:
        """Return how components that were never met are made of others and of a literal."""
        # In the order of their forms, and so that those that are none come last. Two of one form have no variable in common.
        number, own = self._global.values[parts, 0], self._variables_of.values
        order = np.lexsort((own[parts, 0], np.where(number == NOTHING, np.iinfo(np.int64).max, number)), axis=1)
        parts = np.take_along_axis(parts, order, axis=1)
        parents, literals = Parents(np.take_along_axis(number, order, axis=1), own[parts]), self._literals.take(literal)
        ways = self._forms.ways(
            parents, literals, lambda row: [self.bottom.literals[i - 1] for i in members[row].tolist() if i]
        )
        return _New(keys, members, parents, literals, ways)

    def _learn(self, new: _New) -> None:
        """Find out what new components cover, and which literals touch them."""
        found, variables = self._forms.grown(new.ways, new.parents, new.literals, self._covers.numbers)
        inside = np.zeros((len(new.members), self._inner.shape[1]), dtype=np.float32)
        row, place = np.nonzero(variables != NOTHING)
        inside[row, variables[row, place] - len(self.bottom.head)] = 1
        self._members.add(new.members)
        self._global.add(found[:, None])
        self._variables_of.add(variables)
        self._touches.add(inside @ self._inner.T > 0)
        self._numbers.add(new.keys)


# ---- searches side by side: what they wait for at the same time is asked of the database at once -----


class WantedComponents(NamedTuple):
    """Components that a search waits for; `keep` is whether larger ones may be built from them."""

    components: Sequence[Component]
    keep: bool


Waiting = Generator[WantedComponents, None, Result]
"""What goes on when the components that it yields are known to `Covers`."""


def run_together(covers: Covers, searches: Sequence[Waiting[Result]]) -> list[Result]:
    """Run searches, each until it waits, then evaluate what all of them wait for, and so on; return what each one returns."""
    found: dict[int, Result] = {}
    left = dict(enumerate(searches))
    while left:
        waiting: list[WantedComponents] = []
        for place, search in list(left.items()):
            try:
                waiting.append(next(search))
            except StopIteration as end:
                found[place] = end.value
                del left[place]
        for keep in sorted({wanted.keep for wanted in waiting}, reverse=True):
            covers.evaluate([x for wanted in waiting if wanted.keep == keep for x in wanted.components], keep=keep)
    return [found[place] for place in range(len(searches))]


# ---- the search of one bottom clause -----------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """What clauses are judged by: the atoms that count, and scores."""

    positive: Bits  # positive atoms that count, shape (w,)
    negative: Bits
    positives: int  # all positive atoms, whether they count or not
    scorer: Scorer  # by which the best clause is chosen
    estimate: Scorer  # the m-estimate, for `keep_above`
    parameters: ILPParameters


@dataclass(frozen=True, eq=False)
class Judged:
    """What clauses of one length are worth, an entry for each."""

    positives: IntArray
    negatives: IntArray
    score: FloatArray
    complete: BoolArray  # whether they have all variables of the head's `-` places
    allowed: BoolArray  # whether they also cover what they must
    acceptable: BoolArray  # whether they also score enough

    @property
    def selectable(self) -> FloatArray:
        """The scores of those that a theory may have, minus infinity for others."""
        return np.where(self.acceptable, self.score, -np.inf)

    def take(self, rows: IntArray | BoolArray | slice) -> Judged:
        """Return some of them."""
        return Judged(*(getattr(self, name)[rows] for name in Judged.__annotations__))


@dataclass(frozen=True)
class Met:
    """A clause that a search found."""

    components: tuple[int, ...]  # of its body, by their numbers in `Covers`, ascending, each once
    positives: int  # atoms that it covers, of those that count
    negatives: int
    score: float


@dataclass
class Outcome:
    """What the search in one bottom clause found."""

    nodes: int = 0  # clauses that were scored
    best: Met | None = None  # the first of the acceptable ones with the greatest score
    # In the order of the search: those whose m-estimate exceeds `keep_above`; of `Beam` all that no threshold stops.
    kept_clauses: list[Met] = field(default_factory=list)
    # For each threshold the clauses that failed it and none before it.
    missed: Counter[Threshold] = field(default_factory=Counter)


@dataclass(frozen=True, eq=False)
class _Block:
    """Children of some clauses, in order: `parent` is ascending."""

    nodes: Nodes
    parent: IntArray
    judged: Judged
    hopes: FloatArray


class BottomSearch:
    """Searches one bottom clause; `head`, uint64 of shape (w,), are the atoms that the head matches."""

    def __init__(self, refiner: ClauseRefiner, judge: Judge, head: Bits) -> None:
        self._refiner, self._judge, self._head = refiner, judge, head
        self._parameters = judge.parameters
        self._start = judge.scorer.seed() if self._parameters.above_seed else -np.inf
        self._best, self._done = self._start, False
        self.outcome = Outcome()

    def run(self) -> Waiting[Outcome]:
        """Search; what components cover is waited for. Returns what was found."""
        nodes = self._refiner.root()
        judged = self._judged(nodes, np.repeat(self._head[None], 1, axis=0))
        rows = self._look(_Block(nodes, np.zeros(1, dtype=np.int64), judged, np.array([np.inf])))
        nodes, judged = nodes.take(rows), judged.take(rows)
        for length in range(2, self._parameters.clause_length + 1):
            if self._done or not len(nodes):
                break
            nodes, judged = yield from self._layer(*self._ordered(nodes, judged, length))
        return self.outcome

    def _ordered(self, nodes: Nodes, judged: Judged, length: int) -> tuple[Nodes, FloatArray]:
        """Return the clauses to refine, the best first, with the greatest scores that their refinements may have."""
        hopes = self._judge.scorer.best(judged.positives, length)
        order = np.argsort(-judged.score, kind="stable")
        if not self._parameters.explore:
            order = order[hopes[order] > self._best]
        return nodes.take(order), hopes[order]

    def _layer(self, parents: Nodes, hopes: FloatArray) -> Waiting[tuple[Nodes, Judged]]:
        """Score the refinements of clauses, in blocks of about as many as nodes are left; return those that can be refined in turn."""
        last = parents.literals.shape[1] + 2 == self._parameters.clause_length
        empty = self._refiner.root().take(slice(0, 0))
        opened = [(empty, self._judged(empty, self._head[None][:0]))]
        seen: Keys | None = None
        first = 0
        while first < len(parents) and not self._done:
            clause, literal, taken = self._some(parents, first)
            rows, keys = self._refiner.keys(parents, clause, literal)
            own, different = np.unique(keys, return_index=True)
            seen, fresh = _added(own[:0] if seen is None else seen, own)
            different = np.sort(different[fresh])
            clause, literal = clause[different], literal[different]
            if len(clause):
                refinement = self._refiner.refine(parents, clause, literal, rows[different])
                if refinement.forms:
                    yield WantedComponents(refinement.forms, keep=not last)
                nodes = self._refiner.children(refinement)
                mine = parents.take(slice(first, first + taken))
                cover = self._refiner.cover(mine, self._head)[clause - first] & self._refiner.added(nodes)
                block = _Block(nodes, clause, self._judged(nodes, cover), hopes)
                met = self._look(block)
                if not last:
                    opened.append((nodes.take(met), block.judged.take(met)))
            first += taken
        opened = opened[1:] or opened
        nodes = Nodes(*(np.concatenate([getattr(x, name) for x, _ in opened]) for name in ("literals", "parts")))
        return nodes, Judged(
            *(np.concatenate([getattr(x, name) for _, x in opened]) for name in Judged.__annotations__)
        )

    def _some(self, parents: Nodes, first: int) -> tuple[IntArray, IntArray, int]:
        """Return refinements of the clauses from `first` on, and the number of clauses that they refine."""
        most = min(self._parameters.nodes - self.outcome.nodes, max(_WORDS // len(self._head), 1))
        clauses, literals, taken, found = [], [], 0, 0
        while first + taken < len(parents) and found < most:
            # About as many as are needed.
            size = min(max((most - found) // max(len(self._refiner.bottom.literals), 1), _FEW), _BLOCK)
            some = parents.take(slice(first + taken, first + taken + size))
            clause, literal = self._refiner.pairs(some)
            # The clause with which the number is reached is the last one.
            size = len(some)
            if found + len(clause) > most:
                size = int(clause[most - found]) + 1
                inside = clause < size
                clause, literal = clause[inside], literal[inside]
            clauses.append(clause + first + taken)
            literals.append(literal)
            found, taken = found + len(clause), taken + size
        return np.concatenate(clauses), np.concatenate(literals), taken

    def _judged(self, nodes: Nodes, cover: Bits) -> Judged:
        """Count and score clauses of one length."""
        judge, parameters = self._judge, self._parameters
        positives, negatives = (counted_bits(cover & some) for some in (judge.positive, judge.negative))
        score = judge.scorer(positives, negatives, nodes.literals.shape[1] + 1)
        complete = self._refiner.complete(nodes)
        accurate = positives >= parameters.min_accuracy * (positives + negatives)
        allowed = complete & (positives >= parameters.min_positive) & (negatives <= parameters.noise) & accurate
        return Judged(positives, negatives, score, complete, allowed, allowed & (score >= parameters.min_score))

    def _look(self, block: _Block) -> IntArray:
        """Take what is good of a block, read as if its clauses came one by one; return the rows that can be refined."""
        parameters, judged = self._parameters, block.judged
        # Each clause knows the best score before it.
        scores = np.concatenate([[self._best], judged.selectable])
        before = np.maximum.accumulate(scores)[:-1]
        counts = open_ = np.ones(len(before), dtype=np.bool_)
        if not parameters.explore:
            # Nothing below a clause was met if that was hopeless when its turn came.
            turn = np.searchsorted(block.parent, block.parent)
            counts = before[turn] < block.hopes[block.parent]
            length = block.nodes.literals.shape[1] + 1
            open_ = counts & (before < self._judge.scorer.best(judged.positives, length))
        end = int(np.searchsorted(np.cumsum(counts), parameters.nodes - self.outcome.nodes, side="left")) + 1
        if not parameters.explore:
            all_covered = (judged.selectable > before) & (judged.positives == self._judge.positives)
            if all_covered[:end].any():
                end, self._done = int(np.argmax(all_covered)) + 1, True
        self.outcome.nodes += int(counts[:end].sum())
        self._done = self._done or self.outcome.nodes >= parameters.nodes
        met = np.flatnonzero(open_[:end])
        self._take(block, met)
        return met[judged.positives[met] >= parameters.min_positive]

    def _take(self, block: _Block, met: IntArray) -> None:
        """Note the best of the clauses that were met, those to keep, and what the others lacked."""
        judged = block.judged.take(met)
        self._count_missed(judged)
        if len(met):
            top = int(np.argmax(judged.selectable))
            if judged.selectable[top] > self._best:
                self._best = float(judged.score[top])
                (self.outcome.best,) = self._as_met(block, met[top : top + 1], judged.take(slice(top, top + 1)))
        if self._parameters.keep_above is None:
            return
        estimate = self._judge.estimate(judged.positives, judged.negatives, block.nodes.literals.shape[1] + 1)
        rows = np.flatnonzero(judged.allowed & (estimate > self._parameters.keep_above))
        self.outcome.kept_clauses += self._as_met(block, met[rows], judged.take(rows))

    def _as_met(self, block: _Block, rows: IntArray, judged: Judged) -> list[Met]:
        found = self._refiner.components(block.nodes.take(rows)).tolist()
        values = zip(judged.positives.tolist(), judged.negatives.tolist(), judged.score.tolist(), strict=True)
        return [
            Met(tuple(sorted({part for part in parts if part >= 0})), *value)
            for parts, value in zip(found, values, strict=True)
        ]

    def _count_missed(self, judged: Judged) -> None:
        """Count the clauses that were not acceptable, each under the first threshold that it failed."""
        parameters, covered = self._parameters, judged.positives + judged.negatives
        left = judged.complete
        fails: dict[Threshold, BoolArray] = {
            "min_positive": judged.positives < parameters.min_positive,
            "noise": judged.negatives > parameters.noise,
            "min_accuracy": judged.positives < parameters.min_accuracy * covered,
            "min_score": judged.score < parameters.min_score,
            "above_seed": judged.score <= self._start,
        }
        for name, failed in fails.items():
            self.outcome.missed[name] += int((left & failed).sum())
            left = left & ~failed


def _added(seen: Keys, keys: Keys) -> tuple[Keys, BoolArray]:
    """Add keys to others, both ascending; return all of them, and which were not among the others."""
    place = np.searchsorted(seen, keys)
    fresh = place == len(seen)
    fresh[~fresh] = seen[place[~fresh]] != keys[~fresh]
    return np.insert(seen, place[fresh], keys[fresh]), fresh
