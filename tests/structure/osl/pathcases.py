"""Small worlds with modes, and Algorithms 2 and 3 of Huynh & Mooney (2011) written out as they are printed.

Atoms are (predicate, arguments); a node is (type, constant).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from random import Random

import numpy as np

from sqlrl.ground.atoms import TrueAtoms, WindowFacts
from sqlrl.logic.modes import Modes, PathMode
from sqlrl.logic.terms import Clause, Constant, Literal, Variable

Atom = tuple[str, tuple[int, ...]]
Node = tuple[str, int]
Path = tuple[Atom, frozenset[Atom]]


@dataclass(frozen=True)
class Case:
    """Modes and the true atoms of some examples; example None for atoms of global predicates."""

    modes: Modes
    types: dict[str, tuple[str, ...]]
    atoms: dict[str, dict[int | None, set[tuple[int, ...]]]]
    domains: dict[str, dict[int, set[int]]]
    examples: tuple[int, ...]
    max_length: int

    def facts(self) -> WindowFacts:
        atoms = {}
        for name, found in self.atoms.items():
            rows = [
                (-1 if e is None else e, x)
                for e in sorted(found, key=lambda e: -1 if e is None else e)
                for x in found[e]
            ]
            arguments = np.array([x for _, x in rows], dtype=np.int64).reshape(len(rows), len(self.types[name]))
            atoms[name] = TrueAtoms(name, self.types[name], np.array([e for e, _ in rows], dtype=np.int64), arguments)
        domains = {}
        for kind, found in self.domains.items():
            pairs = sorted((e, x) for e, members in found.items() for x in members)
            columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            domains[kind] = (columns[0], columns[1])
        return WindowFacts(np.array(self.examples), atoms, domains)

    def world(self, example: int) -> set[Atom]:
        """The true atoms of an example."""
        world: set[Atom] = set()
        for name, found in self.atoms.items():
            world |= {(name, x) for x in found.get(example, ())}
            for x in found.get(None, ()):
                local = [(k, c) for k, c in zip(self.types[name], x, strict=True) if k in self.domains]
                if all(c in self.domains[k].get(example, ()) for k, c in local):
                    world.add((name, x))
        return world

    def nodes(self, atom: Atom, places: str = "+-") -> set[Node]:
        name, arguments = atom
        both = zip(self.types[name], arguments, self.modes.of[name].places, strict=True)
        return {(kind, x) for kind, x, place in both if place in places}


def random_case(random: Random) -> Case:
    """A few predicates over the local type `p` and the global type `w`."""
    types, modes = {}, {}
    for name in "QRSTU"[: random.randint(2, 5)]:
        arity = random.choice([0, 1, 2, 2, 2, 2, 3, 3])
        types[name] = tuple(random.choice(["p", "p", "w"]) for _ in range(arity))
        places = tuple(random.choice("+---.") for _ in range(arity))
        modes[name] = PathMode(
            random.choice([0, 1, 2, 2, 3, 3]), places, tuple(random.random() < 0.4 for _ in range(arity))
        )
    examples = tuple(random.sample(range(9), random.randint(1, 3)))
    domains = {"p": {e: set(random.sample(range(4), random.randint(2, 4))) for e in examples}}
    atoms: dict[str, dict[int | None, set[tuple[int, ...]]]] = {}
    for name, kinds in types.items():
        owners: list[int | None] = [None] if random.random() < 0.4 else list(examples)
        many = 8 if len(owners) == 1 else 4
        atoms[name] = {
            e: {tuple(random.randrange(4) for _ in kinds) for _ in range(random.randint(1, many))} for e in owners
        }
    return Case(Modes(modes), types, atoms, domains, examples, random.choice([1, 2, 3, 4, 4, 4]))


# ---- the algorithms as printed --------------------------------------------------------------------------------


def create_hypergraph(case: Case, world: set[Atom]) -> dict[Node, set[Atom]]:
    """Algorithm 2."""
    h: dict[Node, set[Atom]] = {
        (kind, c): set() for name, x in world for kind, c in zip(case.types[name], x, strict=True)
    }
    for atom in world:
        for node in case.nodes(atom):
            h[node] |= {atom}
    return h


def can_be_added(case: Case, atom: Atom, path: set[Atom], start: Atom) -> bool:
    outputs = case.nodes(start).union(*(case.nodes(other, "-") for other in path))
    alike = sum(other[0] == atom[0] for other in path)
    return atom not in path and alike < case.modes.of[atom[0]].recall and case.nodes(atom, "+") <= outputs


def paths_from(case: Case, world: set[Atom], start: Atom) -> set[Path]:
    """Algorithm 3, from one start."""
    h, found = create_hypergraph(case, world), set[Path]()
    tried: list[frozenset[Atom]] = []

    def mode_guided_find_paths(current: set[Atom], v: set[Node]) -> None:
        if len(current) >= case.max_length:
            return
        for c in list(v):
            for atom in h[c]:
                if not can_be_added(case, atom, current, start):
                    continue
                current = current | {atom}
                if (start, frozenset(current)) not in found:
                    found.add((start, frozenset(current)))
                    tried.append(frozenset(current))
                    added = case.nodes(atom) - v
                    mode_guided_find_paths(current, v | added)
                current = current - {atom}

    if case.modes.of[start[0]].recall:
        mode_guided_find_paths({start}, case.nodes(start))
    assert len(tried) == len(set(tried))
    return found


# ---- clauses of paths, one at a time --------------------------------------------------------------------------


def direct_clause(case: Case, path: Path, *, horn: bool) -> Clause:
    """Turn the constants of a path into variables, except those that a mode keeps somewhere in it."""
    start, members = path
    kept: set[Node] = set()
    for name, arguments in members:
        both = zip(case.types[name], arguments, case.modes.of[name].constants, strict=True)
        kept |= {(kind, x) for kind, x, constant in both if constant}
    variables: dict[Node, str] = {}

    def term(node: Node) -> Constant | Variable:
        if node in kept:
            return Constant(f"{node[1]}")
        return Variable(variables.setdefault(node, f"x{len(variables)}"))

    literals = [
        Literal(name, tuple(map(term, zip(case.types[name], x, strict=True))), horn and (name, x) == start)
        for name, x in (start, *sorted(members - {start}))
    ]
    return Clause(tuple((name, kind) for (kind, _), name in variables.items()), tuple(literals))


def same_clause(one: Clause, other: Clause) -> bool:
    """Whether two clauses are the same up to the order of literals and the names of variables."""

    def kinds(clause: Clause) -> list[tuple[str, bool]]:
        return sorted((x.predicate, x.positive) for x in clause.literals if isinstance(x, Literal))

    if kinds(one) != kinds(other) or sorted(k for _, k in one.variables) != sorted(k for _, k in other.variables):
        return False
    return any(_renames(one, order) for order in permutations(other.literals))


def _renames(one: Clause, literals: tuple[object, ...]) -> bool:
    names: dict[str, str] = {}
    for a, b in zip(one.literals, literals, strict=True):
        assert isinstance(a, Literal)
        assert isinstance(b, Literal)
        if (a.predicate, a.positive) != (b.predicate, b.positive):
            return False
        for s, t in zip(a.terms, b.terms, strict=True):
            if isinstance(s, Constant) or isinstance(t, Constant):
                if s != t:
                    return False
            elif names.setdefault(s.name, t.name) != t.name:
                return False
    return len(set(names.values())) == len(names)
