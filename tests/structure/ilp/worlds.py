"""Small databases as Python sets, with a source of coverage that asks them by nested loops: the oracle of the clause finder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sqlrl.ground.coverage import ComponentCounts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.saturation import Saturated
from sqlrl.logic.bias import Bias
from sqlrl.logic.components import BodyLiteral, Component

Facts = Mapping[str, frozenset[tuple[int, ...]]]


def bindings(
    facts: Facts, literals: Sequence[tuple[str, tuple[int, ...]]], known: dict[int, int]
) -> Iterator[dict[int, int]]:
    """Yield the assignments of variables (terms from 0) that make literals true; negative terms are constants -1 - id."""
    if not literals:
        yield known
        return
    (name, terms), *rest = literals
    for fact in facts[name]:
        new = dict(known)
        if all((-1 - t == c) if t < 0 else new.setdefault(t, c) == c for t, c in zip(terms, fact, strict=True)):
            yield from bindings(facts, rest, new)


@dataclass
class PythonSource:
    """A `CoverageSource` over Python sets; counts its calls."""

    facts: Facts
    bias: Bias
    targets: Sequence[tuple[int, ...]]
    labels: Sequence[bool]
    evaluated: list[int] = field(default_factory=list)
    saturated: list[int] = field(default_factory=list)

    @property
    def truth(self) -> BoolArray:
        return np.array(self.labels, dtype=np.bool_)

    @property
    def atoms(self) -> IntArray:
        return np.arange(1, len(self.targets) + 1)

    @property
    def examples(self) -> IntArray:
        return np.zeros(len(self.targets), dtype=np.int64)

    @property
    def arguments(self) -> IntArray:
        return np.array(self.targets, dtype=np.int64).reshape(len(self.targets), self.bias.head.arity)

    @property
    def predicates(self) -> tuple[str, ...]:
        return self.bias.predicates()

    def saturate(self, seeds: IntArray, depth: int) -> Saturated:
        self.saturated.append(len(seeds))
        width = max(mode.arity for mode in self.bias.body)
        rows = [
            (place, at, mode, (*fact, *[-1] * (width - len(fact))))
            for place, seed in enumerate(seeds.tolist())
            for (mode, fact), at in self._around(self.targets[seed], depth).items()
        ]
        rows.sort()
        columns = [np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 2, 1)]
        return Saturated(*columns, np.array([row[3] for row in rows], dtype=np.int64).reshape(-1, width))

    def _around(self, seed: tuple[int, ...], depth: int) -> dict[tuple[int, tuple[int, ...]], int]:
        known = {(p.type, c): 0 for p, c in zip(self.bias.head.places, seed, strict=True) if p.kind == "+"}
        found: dict[tuple[int, tuple[int, ...]], int] = {}
        for at in range(1, depth + 1):
            new: dict[tuple[str, int], int] = {}
            for number, mode in enumerate(self.bias.body):
                for fact in self.facts[mode.predicate]:
                    pairs = [(p, (p.type, c)) for p, c in zip(mode.places, fact, strict=True)]
                    if (number, fact) in found or not all(key in known for p, key in pairs if p.kind == "+"):
                        continue
                    found[number, fact] = at
                    new |= {key: at for p, key in pairs if p.kind == "-" and key not in known}
            known |= new
        return found

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        self.evaluated.append(len(layer))
        indptr, atoms, counts = [0], [], []
        for component in layer:
            literals = [(self.predicates[x.predicate], x.terms) for x in component]
            for atom, target in enumerate(self.targets):
                count = sum(1 for _ in bindings(self.facts, literals, dict(enumerate(target))))
                if count:
                    atoms.append(atom)
                    counts.append(count)
            indptr.append(len(atoms))
        return ComponentCounts(*(np.array(x, dtype=np.int64) for x in (indptr, atoms, counts)))


def covers(source: PythonSource, head: Sequence[int], body: Sequence[BodyLiteral]) -> list[bool]:
    """Return which targets a clause covers, the whole body at once."""
    literals = [(source.predicates[x.predicate], x.terms) for x in body]
    found = []
    for target in source.targets:
        known: dict[int, int] = {}
        fits = all((-1 - t == c) if t < 0 else known.setdefault(t, c) == c for t, c in zip(head, target, strict=True))
        # The body may name any argument of the head.
        known = {**dict(enumerate(target)), **known}
        found.append(fits and next(bindings(source.facts, literals, known), None) is not None)
    return found
