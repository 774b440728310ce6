"""Tuffy's scoping rules, `[prior] head := body.`, as weighted and hard rules of the same meaning."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sqlrl.logic.model import Rule
from sqlrl.logic.terms import And, Atom, Constant, Equal, Exist, Formula, Implies, Not, Or, Variable


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
        if len(names) != len(set(names)) or len(names) != len(head.terms):
            return "a scoping rule needs distinct variables in its head"
        first = self._heads.setdefault(head.predicate, head)
        renamed = dict(zip(names, (t.name for t in first.terms), strict=True)) if len(first.terms) == len(names) else {}
        used = set(renamed.values())
        bound: list[str] = []
        for name in dict.fromkeys(v for part in parts for v in _variables(part)):
            if name not in renamed:
                fresh = name
                while fresh in used:
                    fresh += "_"
                renamed[name] = fresh
                used.add(fresh)
                bound.append(fresh)
        body: Formula = _substitute(parts[0] if len(parts) == 1 else And(parts), renamed)
        if bound:
            body = Exist(tuple(bound), body)
        if head.predicate not in self._bodies:
            self._places[head.predicate] = (line, path)
        self._bodies.setdefault(head.predicate, []).append(body)
        if prior is not None:
            weight = math.log(prior) - math.log1p(-prior)
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


def _variables(formula: Formula) -> list[str]:
    """The variables of a conjunction of literals, in order."""
    match formula:
        case Atom(_, terms):
            return [t.name for t in terms if isinstance(t, Variable)]
        case Equal(left, right):
            return [t.name for t in (left, right) if isinstance(t, Variable)]
        case Not(body):
            return _variables(body)
        case And(parts) | Or(parts):
            return [v for part in parts for v in _variables(part)]
        case Implies(left, right):
            return _variables(left) + _variables(right)
        case _:
            return []


def _substitute(formula: Formula, names: dict[str, str]) -> Formula:
    def term(old: Variable | Constant) -> Variable | Constant:
        return Variable(names[old.name], old.plus) if isinstance(old, Variable) else old

    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(map(term, terms)))
        case Equal(left, right):
            return Equal(term(left), term(right))
        case Not(body):
            return Not(_substitute(body, names))
        case And(parts):
            return And(tuple(_substitute(p, names) for p in parts))
        case Or(parts):
            return Or(tuple(_substitute(p, names) for p in parts))
        case Implies(left, right):
            return Implies(_substitute(left, names), _substitute(right, names))
        case _:
            return formula
