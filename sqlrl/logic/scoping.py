"""Tuffy's scoping rules, `[prior] head := body.`, as weighted and hard rules of the same meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sqlrl.logic.expansions import rename_variables
from sqlrl.logic.model import Rule
from sqlrl.logic.terms import And, Atom, Equal, Exist, Formula, Implies, Not, Or, Term, Variable


@dataclass(slots=True)
class ScopingRules:
    """Collects the scoping rules of a program, by the predicate of their heads."""

    _heads: dict[str, Atom] = field(default_factory=dict)
    _bodies: dict[str, list[Formula]] = field(default_factory=dict)
    _priors: list[Rule] = field(default_factory=list)
    _places: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, head: Atom, parts: tuple[Formula, ...], prior: float | None, line: int, path: str) -> str | None:
        """Add a rule; return what is wrong with it, if anything."""
        names = [t.name for t in head.terms if isinstance(t, Variable) and not t.plus]
        if len(set(names)) != len(head.terms):
            return "a scoping rule needs distinct variables in its head"
        if any(_literal_terms(part) is None for part in parts):
            return "the body of a scoping rule is a list of literals without '+'"
        first = self._heads.setdefault(head.predicate, head)
        if len(first.terms) != len(names):
            return f"{head.predicate} has another number of arguments in another scoping rule"
        renamed = dict(zip(names, (t.name for t in first.terms), strict=True))
        bound = []
        for term in (t for part in parts for t in _literal_terms(part) or ()):
            if isinstance(term, Variable) and term.name not in renamed:
                fresh = term.name
                while fresh in renamed.values():
                    fresh += "_"
                renamed[term.name] = fresh
                bound.append(fresh)
        body = rename_variables(parts[0] if len(parts) == 1 else And(parts), renamed)
        if bound:
            body = Exist(tuple(bound), body)
        self._places.setdefault(head.predicate, (line, path))
        self._bodies.setdefault(head.predicate, []).append(body)
        if prior is not None:
            weight = math.log(prior / (1 - prior))
            self._priors.append(Rule(Implies(body, first), weight, line=line, path=path))
        return None

    def rules(self) -> tuple[Rule, ...]:
        """Return the priors, then one hard rule for each scoped predicate."""
        scopes = []
        for name, bodies in self._bodies.items():
            body = bodies[0] if len(bodies) == 1 else Or(tuple(bodies))
            line, path = self._places[name]
            scopes.append(Rule(Implies(self._heads[name], body), None, hard=True, line=line, path=path))
        return (*self._priors, *scopes)


def _literal_terms(formula: Formula) -> tuple[Term, ...] | None:
    """Return the terms of a literal; None for any other formula, and if a variable has a `+`."""
    match formula:
        case Atom(_, terms) | Not(Atom(_, terms)):
            found: tuple[Term, ...] = terms
        case Equal(left, right) | Not(Equal(left, right)):
            found = (left, right)
        case _:
            return None
    return None if any(isinstance(t, Variable) and t.plus for t in found) else found
