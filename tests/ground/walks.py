"""Graphs as Python sets, with paths found by walking: the oracle of the search for relational paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.ground.paths import ANCHORS, LabelledPairs, PathSupports

Entity = tuple[str, int]
"""A type, and a constant of it."""

Step = tuple[str, int, int | None]
"""A predicate, and between which of its arguments the step goes."""

Path = tuple[str, tuple[Step, ...], Entity | None]
"""Which ends it has, its steps, and the constant at which it stops."""

Fact = tuple[int, ...]
"""The example first (0 if there are none), then the constants."""


@dataclass(frozen=True)
class World:
    """Facts, and labelled pairs of a target: (example, first, last) with a label.

    `observed` are the facts of the target; predicates in `everywhere` belong to all examples.
    """

    kinds: Mapping[str, tuple[str, ...]]
    sizes: Mapping[str, int]
    facts: Mapping[str, frozenset[Fact]]
    target: tuple[str, str]
    labels: Mapping[Fact, bool]
    observed: frozenset[Fact] = frozenset()
    examples: int = 0
    everywhere: frozenset[str] = field(default=frozenset())
    name: str = "Target"

    # ---- walking -----------------------------------------------------------------------------------------

    def rows(self, example: int, own: Sequence[Fact]) -> Iterator[tuple[str, tuple[str, ...], tuple[int, ...]]]:
        """Yield the facts of an example but for a target's own ones."""
        for name, kinds in self.kinds.items():
            for each, *row in self.facts[name]:
                if name in self.everywhere or each == example:
                    yield name, kinds, tuple(row)
        for fact in self.observed:
            if fact[0] == example and fact not in own:
                yield self.name, self.target, fact[1:]

    def edges(self, example: int, own: Sequence[Fact]) -> dict[Entity, set[tuple[Step, Entity | None]]]:
        """Return the steps from each entity, and where they end; None after a fact of one argument."""
        found: dict[Entity, set[tuple[Step, Entity | None]]] = defaultdict(set)
        for name, kinds, row in self.rows(example, own):
            nodes = list(zip(kinds, row, strict=True))
            if len(nodes) == 1:
                found[nodes[0]].add(((name, 0, None), None))
            for i, one in enumerate(nodes):
                for j, other in enumerate(nodes):
                    if i != j:
                        found[one].add(((name, i, j), other))
        return found

    def supports(
        self, length: int, *, simple: bool, symmetric: bool = False, constant_length: int = 0
    ) -> dict[Path, tuple[int, int]]:
        """Return how many positive and negative targets each path connects."""
        found: dict[Path, list[set[Fact]]] = defaultdict(lambda: [set(), set()])
        for fact, positive in self.labels.items():
            example, first, last = fact
            ways = [(first, last), (last, first)] if symmetric else [(first, last)]
            own = [(example, *way) for way in ways]
            edges = self.edges(example, own)
            for a, b in ways:
                start, stop = (self.target[0], a), (self.target[1], b)
                for steps, end in walks(edges, start, max(length, constant_length), simple):
                    if end == stop and len(steps) <= length:
                        found["both", steps, None][not positive].add(fact)
                    if len(steps) <= constant_length:
                        found["start", steps, end][not positive].add(fact)
                if symmetric:
                    continue
                for steps, end in walks(edges, stop, constant_length, simple):
                    backwards = tuple(inverse(step) for step in reversed(steps))
                    found["stop", backwards, end][not positive].add(fact)
        return {path: (len(positive), len(negative)) for path, (positive, negative) in found.items()}

    # ---- as tables -----------------------------------------------------------------------------------------

    def load(self, engine: DuckDBEngine, atoms: bool) -> Layout:
        """Make the tables of a layout; without `atoms` the target has facts alone."""
        catalog, schema = "memory", "main"

        def made(name: str, columns: Mapping[str, pa.Array]) -> TableName:
            table = TableName(catalog, schema, name)
            engine.create_table(table, pa.table(dict(columns)), step="make")
            return table

        def of_facts(rows: Sequence[Fact], width: int, example: bool) -> dict[str, pa.Array]:
            columns = {f"a{i}": pa.array([row[i + 1] for row in rows], pa.int32()) for i in range(width)}
            return {**({"example": pa.array([row[0] for row in rows], pa.int32())} if example else {}), **columns}

        predicates = {}
        for name, kinds in self.kinds.items():
            rows = sorted(self.facts[name] if self.examples else {(0, *x[1:]) for x in self.facts[name]})
            inside = bool(self.examples) and name not in self.everywhere
            table = made(f"f_{name}", of_facts(rows, len(kinds), inside))
            predicates[name] = PredicateInfo(name, kinds, False, table, example_column=inside, rows=len(rows))
        observed, inside = sorted(self.observed), bool(self.examples)
        facts = of_facts(observed, 2, inside)
        if atoms:
            # What is given false, and labels, are facts of the table that say nothing.
            hidden = [fact for fact in self.labels if fact not in self.observed]
            facts = of_facts([*observed, *hidden, *hidden], 2, inside)
            yes, no = [True] * len(observed), [False] * len(hidden)
            facts |= {
                "truth": pa.array([*yes, *no, *([True] * len(hidden))], pa.bool_()),
                "given": pa.array([*yes, *([True] * len(hidden)), *no], pa.bool_()),
            }
        info = PredicateInfo(
            self.name, self.target, atoms, made("f_target", facts), example_column=inside, has_given=atoms
        )
        if atoms:
            known = sorted(self.labels)
            # One more atom, of which nothing is known.
            columns = {
                "atom": pa.array(range(7, 8 + len(known)), pa.int64()),
                **of_facts([*known, (0, 0, 0)], 2, inside),
            }
            columns["truth"] = pa.array([*(self.labels[x] for x in known), None], pa.bool_())
            info = PredicateInfo(
                self.name, self.target, True, info.facts, made("atoms", columns), example_column=inside, has_given=True
            )
        predicates[self.name] = info
        types = {}
        for kind, size in self.sizes.items():
            names = {"id": pa.array(range(size), pa.int32()), "name": pa.array([f"{kind}{i}" for i in range(size)])}
            types[kind] = TypeInfo(kind, made(f"d_{kind}", names), size)
        examples = {"example": pa.array(range(max(self.examples, 1)), pa.int32())}
        return Layout(predicates, types, None, made("examples", examples), max(self.examples, 1), (catalog, schema))

    def pairs(self) -> LabelledPairs:
        """Return the targets as arrays."""
        rows = np.array(sorted(self.labels), dtype=np.int64).reshape(-1, 3)
        positive = np.array([self.labels[x] for x in sorted(self.labels)], dtype=bool)
        return LabelledPairs(rows[:, 1:], positive, rows[:, 0] if self.examples else None)

    def read(self, found: PathSupports) -> dict[Path, tuple[int, int]]:
        """Return what a search has found as `supports` has it."""
        offsets, total = {}, 0
        used = {kind for kinds in (*self.kinds.values(), self.target) for kind in kinds}
        for kind in sorted(used):
            offsets[kind], total = total, total + self.sizes[kind]
        entity = {offset + i: (kind, i) for kind, offset in offsets.items() for i in range(self.sizes[kind])}
        read: dict[Path, tuple[int, int]] = {}
        for i in range(len(found)):
            steps = tuple((x.predicate, x.start, x.end) for x in found.path(i))
            path = (ANCHORS[found.anchor[i]], steps, entity.get(int(found.constant[i])))
            assert path not in read, "each path once"
            read[path] = (int(found.positive[i]), int(found.negative[i]))
        return read


def inverse(step: Step) -> Step:
    name, start, end = step
    return step if end is None else (name, end, start)


def walks(
    edges: Mapping[Entity, set[tuple[Step, Entity | None]]], start: Entity, length: int, simple: bool
) -> Iterator[tuple[tuple[Step, ...], Entity | None]]:
    """Yield all walks of up to so many steps, and where they end."""
    open_: list[tuple[tuple[Step, ...], tuple[Entity, ...]]] = [((), (start,))]
    for _ in range(length):
        longer = []
        for steps, visited in open_:
            for step, end in edges.get(visited[-1], ()):
                if simple and end in visited:
                    continue
                yield (*steps, step), end
                if end is not None:
                    longer.append(((*steps, step), (*visited, end)))
        open_ = longer
