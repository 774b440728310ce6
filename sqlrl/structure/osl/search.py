"""Candidate clauses: paths from wrongly predicted atoms, and the delta n of the two clauses of each; and what stops a run that adds none.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), Algorithm 1, lines 7 to 23, and
section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

import numpy as np

from sqlrl.distinct import distinct
from sqlrl.errors import Parameter
from sqlrl.ground.atoms import WindowFacts
from sqlrl.ground.bindings import NO_EXAMPLE, AtomTable, Bindings, WindowBindings
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.modes import UNEXPLORED, Modes
from sqlrl.structure.osl.count_differences import delta_counts, violations
from sqlrl.structure.osl.hypergraph import Hypergraph
from sqlrl.structure.osl.paths import Paths, find_paths
from sqlrl.structure.osl.patterns import Candidates, Constants, PatternBook, sub_clauses
from sqlrl.structure.osl.settings import OSLParameters
from sqlrl.wording import counted


@dataclass
class Searched:
    """Counts of what path finding met."""

    missed: int = 0  # true atoms that were predicted false
    starts: int = 0  # those of them that paths may start from
    paths: int = 0
    enough: int = 0  # clauses of paths whose delta n sufficed

    def joined(self, other: Searched) -> Searched:
        """Return the sums of both."""
        return Searched(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def nothing_added(searched: Searched, parameters: OSLParameters) -> str:
    """Return what stopped a run that added no clause, and what to change."""
    atoms, least = f"{counted(searched.missed, 'true atom')} predicted false", parameters.min_count_difference
    if not searched.missed:
        why = (
            "no true atom was predicted false, and paths start from such atoms; check that there are true labels, or leave out rules "
            "that predict them all"
        )
    elif not searched.starts:
        why = f"paths may start from none of the {atoms}; give their predicates a recall above 0 in their modes"
    elif not searched.paths:
        why = (
            f"no path goes on from the {atoms}; check that other facts have their constants where modes let paths pass ('+' or '-'), and "
            "that recalls leave room for them"
        )
    elif not searched.enough:
        why = (
            f"of the clauses of {counted(searched.paths, 'path')} none has a delta n of {Parameter('min_count_difference', least)}; lower it, or raise "
            f"pool, now {parameters.pool}"
        )
    else:
        why = "those whose delta n suffices are in the model already; raise max_length or recalls to find others"
    return f"no clause was added: {why}"


class Mistakes(NamedTuple):
    """An example in which something was predicted wrongly."""

    place: int  # of the example in its window
    # True atoms of the window's network that were predicted false, delta y of Algorithm 1, line 6; none where only false ones were
    # predicted true.
    atoms: IntArray


class FoundClauses(NamedTuple):
    """Candidate clauses of one pattern whose delta n suffices."""

    pattern: int
    variant: int  # 0 for the clause with all literals negative, 1 for the Horn clause
    constants: Constants  # the pattern's, distinct rows in the order of the paths, shape (n, k)
    atoms: IntArray  # the atom from which each was found first, shape (n,)
    delta_n: IntArray


@dataclass(frozen=True, eq=False)
class WindowSearch:
    """Path finding in the examples of one window."""

    graph: Hypergraph
    edge: IntArray  # hyperedge of each atom of the window's network; -1 if false or not allowed in paths, shape (n,)
    modes: Modes
    book: PatternBook
    bindings: WindowBindings
    parameters: OSLParameters
    observed: BoolArray  # the labels, shape (n,)
    fan_out: int = 1  # the most atoms that can be added to a path at one constant (`most_neighbours`)
    searched: Searched = field(default_factory=Searched)
    _bound: dict[int, Bindings] = field(default_factory=dict)

    def candidates(self, mistakes: Sequence[Mistakes], predicted: BoolArray) -> list[FoundClauses]:
        """Return clauses that tell observed from predicted worlds, by pattern, all-negative before Horn; delta n adds up over `mistakes`."""
        starts = np.concatenate([self.edge[x.atoms] for x in mistakes]) if mistakes else np.zeros(0, np.int64)
        atoms = np.concatenate([x.atoms for x in mistakes]) if mistakes else starts
        self.searched.missed += len(atoms)
        starts, atoms = starts[starts >= 0], atoms[starts >= 0]
        self.searched.starts += len(starts)
        if not len(starts):
            return []
        places = [x.place for x in mistakes]
        paths = self._paths(starts, places, predicted)
        found, row = self.book.grouped(self.graph, paths)
        least = self.parameters.min_count_difference
        deltas = [self._delta(x, places, self.observed, predicted) for x in found]
        kept = np.concatenate(deltas) >= least if deltas else np.zeros((0, 2), dtype=np.bool_)
        self.searched.enough += int(kept.sum())
        if self.parameters.longest_only:
            for variant in (0, 1):
                kept[:, variant] &= ~sub_clauses(paths, row, kept[:, variant])
        atom_of = dict(zip(starts.tolist(), atoms.tolist(), strict=True))
        chosen: list[FoundClauses] = []
        first = 0
        for x, delta in zip(found, deltas, strict=True):
            for variant in (0, 1):
                rows = np.flatnonzero(kept[first : first + len(delta), variant])
                if len(rows):
                    origin = np.array([atom_of[edge] for edge in x.start[rows].tolist()], dtype=np.int64)
                    chosen.append(FoundClauses(x.pattern, variant, x.constants[rows], origin, delta[rows, variant]))
            first += len(delta)
        return chosen

    def _delta(self, x: Candidates, places: Sequence[int], observed: BoolArray, predicted: BoolArray) -> IntArray:
        """Delta n of the two clauses of each candidate, summed over some examples, shape (n, 2)."""
        bindings, total = self._bindings(x), np.zeros((len(x.constants), 2), dtype=np.int64)
        for place in places:
            total += delta_counts(bindings, place, x.constants, observed, predicted)
        return total

    def _bindings(self, x: Candidates) -> Bindings:
        if x.pattern not in self._bound:
            self._bound[x.pattern] = self.bindings.of(self.book.patterns[x.pattern].shape)
        return self._bound[x.pattern]

    # ---- looking ahead --------------------------------------------------------------------------------------

    def _paths(self, starts: IntArray, places: Sequence[int], predicted: BoolArray) -> Paths:
        longest = self.parameters.max_length
        if not self.parameters.look_ahead:
            paths = find_paths(self.graph, starts, self.modes, longest)
            self.searched.paths += len(paths)
            return paths
        return find_paths(
            self.graph, starts, self.modes, longest, keep=lambda rows: self._promising(rows, places, predicted)
        )

    def _promising(self, rows: IntArray, places: Sequence[int], predicted: BoolArray) -> BoolArray:
        """Return whether each path or one of its extensions may still have a clause whose delta n suffices."""
        length = rows.shape[1]
        self.searched.paths += len(rows)
        paths = Paths(np.arange(0, rows.size + 1, length, dtype=np.int64), rows.ravel())
        found, row = self.book.grouped(self.graph, paths)
        # Delta n is at most the number of bindings that violate the clause in the predicted world. Each binding of an extension is one of the
        # path, with at most `fan_out` ways to add an atom. What evidence violates counts too: an added atom may make it depend on the world.
        most = [self._violations(x, places, predicted).max(axis=1) for x in found]
        bound = np.concatenate(most) * float(self.fan_out) ** (self.parameters.max_length - length)
        promising: BoolArray = bound[row] >= self.parameters.min_count_difference
        return promising

    def _violations(self, x: Candidates, places: Sequence[int], world: BoolArray) -> IntArray:
        """Violated groundings of the two clauses of each candidate, summed over some examples, shape (n, 2)."""
        bindings, total = self._bindings(x), np.zeros((len(x.constants), 2), dtype=np.int64)
        for place in places:
            total += violations(bindings, place, x.constants, world)
        return total


class Target(NamedTuple):
    """An open predicate."""

    arity: int
    has_example: bool  # whether the example is part of its atoms besides their arguments
    example: int  # the argument that is the example, -1 for none


def edges_of_atoms(graph: Hypergraph, table: AtomTable, targets: Mapping[str, Target], size: int) -> IntArray:
    """Return the hyperedge of each of `size` query atoms; -1 for those that are false or that paths may not have."""
    edge = np.full(size, -1, dtype=np.int64)
    for number, name in enumerate(graph.predicates):
        if name not in targets:
            continue
        mine = np.flatnonzero(graph.predicate == number)
        example = graph.example[mine] if targets[name].has_example else NO_EXAMPLE
        atom = table.find(name, example, graph.arguments[mine, : targets[name].arity])
        edge[atom[atom >= 0]] = mine[atom >= 0]
    return edge


def most_neighbours(facts: WindowFacts, table: AtomTable, targets: Mapping[str, Target], modes: Modes) -> int:
    """Return the most atoms of one predicate in one example that share an input or output constant and all kept constants."""
    # So many ways there are, at most, to add a literal to a binding, in whatever world: of open predicates all query atoms count.
    most = 1
    for name in modes.in_paths():
        mode = modes.of[name]
        if name in targets:
            keys = table.arrays.keys[table.arrays.keys[:, 0] == table.numbers[name]].astype(np.int64)
            arguments = keys[:, 2 : 2 + targets[name].arity]
            example = keys[:, 1] if targets[name].example < 0 else arguments[:, targets[name].example]
        else:
            example, arguments = facts.atoms[name].example, facts.atoms[name].arguments
        kept = [arguments[:, i] for i, constant in enumerate(mode.constants) if constant]
        for i, place in enumerate(mode.places):
            if place != UNEXPLORED and len(arguments):
                most = max(most, int(distinct([example, arguments[:, i], *kept]).counts.max()))
    return most
