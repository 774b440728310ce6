"""Random databases with candidates: patterns, each with the constants of some clauses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from sqlrl.logic.model import Rule
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import And, Atom, Constant, Formula, Implies, Not, Or, Term, Variable
from tests.ground.cases import CLOSED, TYPES, Case, Language, Names, databases


@dataclass(frozen=True)
class Candidate:
    """Atoms of which the first is the start, as a pattern; and the constants of each of its clauses."""

    atoms: tuple[Atom, ...]
    shared: bool
    constants: tuple[tuple[str, ...], ...]

    def pattern(self, types: dict[str, tuple[str, ...]]) -> Shape:
        slots: dict[Term, Slot] = {}
        kinds: tuple[list[str], list[str]] = ([], [])

        def slot(term: Term, kind: str) -> Slot:
            if term not in slots or (isinstance(term, Constant) and not self.shared):
                parameter = isinstance(term, Constant)
                slots[term] = Slot(parameter, len(kinds[parameter]))
                kinds[parameter].append(kind)
            return slots[term]

        literals = tuple(
            ShapeLiteral(a.predicate, False, tuple(map(slot, a.terms, types[a.predicate]))) for a in self.atoms
        )
        return Shape(tuple(kinds[0]), tuple(kinds[1]), literals)

    def ids(self, pattern: Shape, names: Names) -> np.ndarray:
        """The constants by id, shape (c, k)."""
        known = {kind: {name: i for i, name in found.items()} for kind, found in names.constants.items()}
        rows = [[known[k][x] for k, x in zip(pattern.parameters, row, strict=True)] for row in self.constants]
        return np.array(rows, np.int32).reshape(len(rows), len(pattern.parameters))

    def rules(self, pattern: Shape) -> list[Rule]:
        """For each row of constants the clause with all literals negative and the Horn clause."""
        found = []
        for row in self.constants:
            start, *rest = atoms = atoms_of(pattern, row)
            body: Formula = And(tuple(rest)) if len(rest) > 1 else rest[0] if rest else start
            found.append(Rule(Or(tuple(map(Not, atoms))) if rest else Not(start), 1.0))
            found.append(Rule(Implies(body, start) if rest else start, 1.0))
        return found


def atoms_of(pattern: Shape, constants: tuple[str, ...]) -> list[Atom]:
    """The atoms of a pattern with constants in the place of its parameters."""

    def term(slot: Slot) -> Term:
        return Constant(constants[slot.index]) if slot.parameter else Variable(f"v{slot.index}")

    return [Atom(x.predicate, tuple(map(term, x.terms))) for x in pattern.literals]


@st.composite
def candidates(draw: st.DrawFn, case: Case) -> Candidate:
    bib = Constant("B1") if case.kind == "type" and draw(st.integers(0, 3)) == 0 else None
    second = draw(st.integers(0, 3)) == 0
    language = Language(case, frozenset(), ("a",), bib, second=second)
    start = draw(language.atom(case.opened))
    rest = draw(st.lists(st.one_of(language.atom([*CLOSED]), language.atom()), max_size=3))
    atoms, shared = (start, *rest), draw(st.booleans())
    terms = [(a.predicate, i, t) for a in atoms for i, t in enumerate(a.terms) if isinstance(t, Constant)]
    kinds = [case.types(name)[i] for name, i, _ in terms]
    if shared:
        kinds = list({t: k for (_, _, t), k in zip(terms, kinds, strict=True)}.values())
    # One example for all open atoms: examples are independent.
    every = st.tuples(*(st.just("B1") if k == "bib" else st.sampled_from(TYPES[k]) for k in kinds))
    rows = draw(st.lists(every, min_size=1, max_size=3))
    return Candidate(atoms, shared, tuple(rows))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, list[Candidate], int]:
    case = draw(databases())
    found = [draw(candidates(case)) for _ in range(8)]
    return case, found, draw(st.integers(0, 1000))
