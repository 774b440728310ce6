"""Random small problems as plain lists, their networks, and oracles that read only the lists."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sqlrl.ground.network import Network
from sqlrl.solve.sample_networks import network

World = tuple[bool, ...]


@dataclass(frozen=True)
class Problem:
    """Ground clauses as lists; see `sqlrl.solve.sample_networks.network` for the fields."""

    atoms: int
    ground: list[tuple[int, list[int], int]]
    weights: list[float]
    hard: list[int] = field(default_factory=list)
    negated: list[int] = field(default_factory=list)
    blocks: list[tuple[list[int], bool]] = field(default_factory=list)
    prior: list[float] = field(default_factory=list)
    evidence: list[tuple[int, int, int]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)

    def network(self) -> Network:
        return network(
            self.atoms,
            self.ground,
            clauses=len(self.weights),
            hard=self.hard,
            negated=self.negated,
            blocks=self.blocks,
            prior=self.prior or None,
            evidence=self.evidence,
            given=self.given,
        )

    def hard_ground(self) -> list[tuple[int, list[int]]]:
        return [(i, lits) for i, lits, _ in self.ground if i in self.hard] + [(-1, [x]) for x in self.given]

    def count(self, world: World) -> list[int]:
        """n of every clause, one ground clause after the other."""
        n = [0] * len(self.weights)
        for i, satisfied, violated in self.evidence:
            n[i] += violated if i in self.negated else satisfied
        for i, literals, times in self.ground:
            if holds(literals, world) != (i in self.negated):
                n[i] += times
        return n

    def score(self, world: World, linear: list[float] | None = None) -> Fraction:
        """The objective of a world, exactly."""
        total = sum(
            (
                Fraction(w) * n
                for i, (w, n) in enumerate(zip(self.weights, self.count(world), strict=True))
                if i not in self.hard
            ),
            Fraction(0),
        )
        for extra in filter(None, (self.prior, linear)):
            total += sum((Fraction(p) for p, y in zip(extra, world, strict=True) if y), Fraction(0))
        return total

    def cost(self, world: World, linear: list[float] | None = None) -> Fraction:
        """The weights of what a world violates: each ground clause in turn, of conjunctions that which they negate."""
        total = Fraction(0)
        for i, literals, times in self.ground:
            earns = holds(literals, world) != (i in self.negated)
            if i not in self.hard and earns == (self.weights[i] < 0):
                total += abs(Fraction(self.weights[i])) * times
        for extra in filter(None, (self.prior, linear)):
            total += sum((abs(Fraction(p)) for p, y in zip(extra, world, strict=True) if y == (p < 0)), Fraction(0))
        return total

    def constant_cost(self) -> Fraction:
        """The same of what the evidence alone decides."""
        total = Fraction(0)
        for i, satisfied, violated in self.evidence:
            earning, other = (violated, satisfied) if i in self.negated else (satisfied, violated)
            if i not in self.hard:
                total += abs(Fraction(self.weights[i])) * (other if self.weights[i] > 0 else earning)
        return total

    def magnitude(self) -> Fraction:
        """Sum of the absolute weights of all ground clauses and priors."""
        soft = sum((abs(Fraction(self.weights[i])) * t for i, _, t in self.ground if i not in self.hard), Fraction(0))
        return soft + sum((abs(Fraction(p)) for p in self.prior), Fraction(0))


def holds(literals: list[int], world: World) -> bool:
    return any(world[abs(x) - 1] == (x > 0) for x in literals)


def worlds(problem: Problem, ground: list[tuple[int, list[int]]] | None = None) -> Iterator[World]:
    """All worlds in which blocks and the given (by default all hard) ground clauses hold."""
    kept = problem.hard_ground() if ground is None else ground
    for world in itertools.product([False, True], repeat=problem.atoms):
        true = [sum(world[a] for a in members) for members, _ in problem.blocks]
        blocks = all(t == 1 or (t == 0 and not exact) for t, (_, exact) in zip(true, problem.blocks, strict=True))
        if blocks and all(holds(literals, world) for _, literals in kept):
            yield world


ORDINARY = st.one_of(
    st.just(0.0), st.integers(-3, 3).map(float), st.floats(-3, 3).filter(lambda x: x == 0 or abs(x) > 1e-3)
)
EXTREME = st.one_of(ORDINARY, st.sampled_from([1e-9, -1e-9, 1e9, -1e9, 1e-4, 1e5, 0.1, -0.3]))


@st.composite
def problems(draw: st.DrawFn, weights: st.SearchStrategy[float] = ORDINARY, hardness: int = 1) -> Problem:
    """Problems of up to eight atoms; of `hardness` clauses or fewer each ground clause must hold."""
    n = draw(st.integers(0, 8))
    order = draw(st.permutations(range(n)))
    blocks, at = [], 0
    while at < n:
        size = draw(st.integers(1, 4))
        kind = draw(st.sampled_from(["free", "exact", "most"]))
        if kind != "free":
            blocks.append((sorted(order[at : at + size]), kind == "exact"))
        at += size
    m = draw(st.integers(1, 5))
    ground = []
    if n:
        longest = draw(st.sampled_from([1, 2, 2, 4]))
        for _ in range(draw(st.integers(0, 9))):
            size = draw(st.integers(1, min(n, longest)))
            members = draw(st.lists(st.integers(1, n), min_size=size, max_size=size, unique=True))
            literals = [a if draw(st.booleans()) else -a for a in members]
            ground.append((draw(st.integers(0, m - 1)), literals, draw(st.integers(1, 3))))
    hard = draw(st.lists(st.integers(0, m - 1), max_size=hardness, unique=True))
    negated = [i for i in range(m) if i not in hard and draw(st.booleans())]
    prior = draw(st.lists(weights, min_size=n, max_size=n)) if draw(st.booleans()) else []
    evidence = [(i, draw(st.integers(0, 3)), draw(st.integers(0, 3))) for i in range(m) if draw(st.booleans())]
    given = [-a - 1 for members, exact in blocks if not exact and draw(st.integers(0, 9)) == 0 for a in members]
    return Problem(
        n, ground, [draw(weights) for _ in range(m)], hard, negated, blocks, prior, evidence, given if hardness else []
    )


def assert_equal(left: Any, right: Any) -> None:
    """Two values of one dataclass say the same, array by array."""
    for each in fields(left):
        a, b = getattr(left, each.name), getattr(right, each.name)
        if is_dataclass(a):
            assert_equal(a, b)
        else:
            np.testing.assert_array_equal(a, b, err_msg=each.name)
