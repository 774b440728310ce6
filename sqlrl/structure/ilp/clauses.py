"""Found clauses in the user's words: with the names of predicates, types and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from sqlrl.errors import ModelError
from sqlrl.logic.components import BodyLiteral, Component, constant
from sqlrl.logic.horn import HornAtom, HornRule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import And, Atom, Constant, Exist, Formula, Implies, Term, Variable
from sqlrl.structure.osl.patterns import variable_names


def body_of(components: Sequence[Component], heads: int) -> list[BodyLiteral]:
    """Return the literals of some components, each with existential variables of its own, numbered on from the head's."""
    body: list[BodyLiteral] = []
    first = heads
    for component in components:
        own = [
            BodyLiteral(x.predicate, tuple(t + first - heads if t >= heads else t for t in x.terms)) for x in component
        ]
        body += own
        first = max([first, *(term + 1 for literal in own for term in literal.terms)])
    return body


def as_rules(clauses: Iterable[Formula], predicate: str) -> str:
    """Return clauses as Horn rules of another predicate, a line for each; all variables of a head must be in its body."""
    rules = []
    for clause in clauses:
        body, head = (clause.left, clause.right) if isinstance(clause, Implies) else (And(()), clause)
        assert isinstance(head, Atom)
        atoms = [HornAtom(x.predicate, x.terms) for x in _atoms(body)]
        known = {term for atom in atoms for term in atom.terms}
        loose = [term.name for term in head.terms if isinstance(term, Variable) and term not in known]
        if loose:
            raise ModelError(
                f"the clause {format_formula(clause)} says nothing of {', '.join(loose)}, so that it defines no set of atoms: leave it "
                "out, or learn weights for the clauses and predict"
            )
        rules.append(HornRule(HornAtom(predicate, head.terms), tuple(atoms)))
    return "".join(f"{rule}\n" for rule in rules)


def _atoms(body: Formula) -> Iterator[Atom]:
    """Yield the literals of a body. A variable under a quantifier is its own, so that without it the body holds of the same atoms."""
    match body:
        case Atom():
            yield body
        case And():
            for part in body.parts:
                yield from _atoms(part)
        case Exist():
            yield from _atoms(body.body)


class ClauseWriter:
    """Writes clauses as implications of the target; `predicates` are those of bodies by index, `names` gives a type's constants by id."""

    def __init__(
        self,
        target: str,
        predicates: Sequence[str],
        types: Mapping[str, tuple[str, ...]],
        names: Callable[[str], Sequence[str]],
    ) -> None:
        self._target, self._predicates, self._types, self._names = target, predicates, types, names
        # Thousands of clauses have a few hundred atoms between them.
        self._atoms: dict[Atom, Atom] = {}

    def formula(self, head: Sequence[int], components: Sequence[Component], *, once: bool = False) -> Formula:
        """Return a clause that implies a head with these terms, or the head alone; with `once` variables of the body alone are quantified."""
        body = body_of(components, len(head))
        atoms = [(self._predicates[x.predicate], x.terms) for x in body]
        kinds: dict[int, str] = {}
        for name, terms in [(self._target, head), *atoms]:
            for kind, term in zip(self._types[name], terms, strict=True):
                if term >= 0:
                    kinds.setdefault(term, kind)
        names = dict(zip(kinds, variable_names(list(kinds.values())), strict=True))
        start, *rest = (self._atom(name, terms, names) for name, terms in [(self._target, head), *atoms])
        if not rest:
            return start
        # Quantified, a clause has one grounding for each atom, however many the facts are that make its body true.
        parts = self._quantified(head, components, rest, names) if once else rest
        return Implies(And(tuple(parts)) if len(parts) > 1 else parts[0], start)

    @staticmethod
    def _quantified(
        head: Sequence[int], components: Sequence[Component], atoms: Sequence[Formula], names: Mapping[int, str]
    ) -> list[Formula]:
        """Return each component of a body under a quantifier for its variables; `atoms` are the literals of all, in order."""
        found: list[Formula] = []
        literals, left = iter(body_of(components, len(head))), iter(atoms)
        for component in components:
            own = [next(literals) for _ in component]
            parts = [next(left) for _ in component]
            variables = dict.fromkeys(names[t] for literal in own for t in literal.terms if t >= len(head))
            body = And(tuple(parts)) if len(parts) > 1 else parts[0]
            found += [Exist(tuple(variables), body)] if variables else parts
        return found

    def _atom(self, name: str, terms: Sequence[int], names: Mapping[int, str]) -> Atom:
        def term(term: int, kind: str) -> Term:
            """Return a variable or a constant by its name."""
            return Variable(names[term]) if term >= 0 else Constant(self._names(kind)[constant(term)])

        atom = Atom(name, tuple(term(t, kind) for t, kind in zip(terms, self._types[name], strict=True)))
        return self._atoms.setdefault(atom, atom)
