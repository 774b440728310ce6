"""Writing the clauses of a feature: existential literals where they will do, helper predicates where they will not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from sqlrl.logic.boolean import Signed, Witness, map_terms, variables_of
from sqlrl.logic.normal import Normal
from sqlrl.logic.terms import (
    Clause,
    ClauseLiteral,
    Constant,
    EqualityLiteral,
    ExistsLiteral,
    Helper,
    Literal,
    Variable,
)

HELPER_PREFIX = "$exist_"
"""Names of helper predicates start so; no predicate of the language can."""


def needs_helper(witness: Witness, open_predicates: frozenset[str]) -> bool:
    """Tell whether even a positive witness needs a helper: it has several open literals, or its example is a constant."""
    # Such an example is an argument of the helper: the clause need not name it.
    return isinstance(witness.example, Constant) or _open_literals(witness, open_predicates) > 1


def _open_literals(witness: Witness, open_predicates: frozenset[str]) -> int:
    return sum(
        isinstance(s.atom, Witness) or (isinstance(s.atom, Literal) and s.atom.predicate in open_predicates)
        for s in witness.conjunction
    )


class Emitter:
    """Writes the clauses of a formula over unique variable names, and collects the helpers that they mention."""

    def __init__(self, normal: Normal, open_predicates: frozenset[str]) -> None:
        self._normal, self._open = normal, open_predicates
        self._helpers: dict[str, Helper] = {}
        self._named: dict[Witness, Witness] = {}
        self._taken = {name for name, _ in normal.variables}
        self._types = dict(normal.types)

    @property
    def helpers(self) -> tuple[Helper, ...]:
        """The helpers that the clauses so far mention, definitions before uses."""
        return tuple(self._helpers.values())

    def clauses(self, disjunctions: Iterable[Sequence[Signed]], promote: bool = False) -> tuple[Clause, ...]:
        """Write disjunctions as clauses; with `promote`, further variables become grounding variables of the clause."""
        disjunctions = list(disjunctions)
        helped = {
            s.atom
            for literals in disjunctions
            for s in literals
            if isinstance(s.atom, Witness) and (not s.positive or needs_helper(s.atom, self._open))
        }
        if promote:
            self._taken.update(n for literals in disjunctions for s in literals for n in variables_of(s))
        known = {name for name, _ in self._normal.variables}
        return tuple(self._clause(literals, helped, known if promote else None) for literals in disjunctions)

    def _clause(self, literals: Sequence[Signed], helped: set[Witness], known: set[str] | None) -> Clause:
        """Write one clause; `known` are the grounding variables of the formula if others become such of the clause."""
        variables = self._normal.variables
        if known is not None:
            more = dict.fromkeys(n for s in literals for n in variables_of(s) if n not in known)
            variables = (*variables, *((n, self._types[n]) for n in more))
        return Clause(variables, tuple(self._literal(s, helped) for s in literals))

    def _literal(self, signed: Signed, helped: set[Witness]) -> ClauseLiteral:
        if isinstance(signed.atom, Witness) and signed.atom not in helped:
            return self._exists(self._unique(signed.atom), self._types)
        return self._plain(signed, self._types)

    def _plain(self, signed: Signed, types: Mapping[str, str]) -> Literal | EqualityLiteral:
        match signed.atom:
            case Literal(predicate, terms):
                return Literal(predicate, terms, signed.positive)
            case EqualityLiteral(left, right):
                return EqualityLiteral(left, right, signed.positive)
            case Witness():
                return self._call(signed.atom, signed.positive, types)

    def _unique(self, witness: Witness) -> Witness:
        """Give the quantified variables of a witness names that nothing else in the feature has."""
        if witness not in self._named:
            names: dict[str, str] = {}
            for name in witness.variables:
                fresh, number = name, 2
                while fresh in self._taken or (fresh != name and fresh in self._types):
                    fresh, number = f"{name}_{number}", number + 1
                self._taken.add(fresh)
                self._types[fresh] = self._types[name]
                names[name] = fresh
            self._named[witness] = _rename(witness, names)
        return self._named[witness]

    def _exists(self, witness: Witness, types: Mapping[str, str]) -> ExistsLiteral:
        parts = tuple(self._plain(signed, types) for signed in witness.conjunction)
        return ExistsLiteral(tuple((n, types[n]) for n in witness.variables), parts)

    def _call(self, witness: Witness, positive: bool, types: Mapping[str, str]) -> Literal:
        """Write a witness as a helper literal; helpers of equal definitions are one, also across rules."""
        free = tuple(dict.fromkeys(variables_of(Signed(witness))))
        plus = set(self._normal.plus) if types is self._types else set()
        # '$' keeps these names apart from those of the formula that witnesses further inside still have.
        outer = {name: f"x${i}" for i, name in enumerate(free)}
        inner = {name: f"y${i}" for i, name in enumerate(witness.variables)}
        inside = {**self._types, **{new: types[old] for old, new in (*outer.items(), *inner.items())}}
        definition = self._exists(_rename(witness, inner, outer), inside)
        variables = tuple((new, inside[new]) for new in outer.values())
        arguments: list[Variable | Constant] = [Variable(n, plus=n in plus) for n in free]
        if isinstance(witness.example, Constant):
            assert self._normal.division is not None, "without examples a witness has none"
            variables = (*variables, (f"x${len(free)}", self._normal.division.example))
            arguments.append(witness.example)
        text = f"{variables} {definition.variables} {definition}"
        name = HELPER_PREFIX + hashlib.sha256(text.encode()).hexdigest()[:12]
        called = (*(term.name for term in arguments), *witness.variables)
        self._helpers.setdefault(name, Helper(name, variables, definition, called))
        return Literal(name, tuple(arguments), positive)


def _rename(witness: Witness, inner: dict[str, str], outer: dict[str, str] | None = None) -> Witness:
    """Rename the quantified variables of a witness, and its free ones, which then carry no `+`."""

    def term(old: Variable) -> Variable:
        """Return a variable with its canonical name."""
        if old.name in inner:
            return Variable(inner[old.name])
        return Variable(outer[old.name]) if outer is not None else old

    variables = tuple(inner[n] for n in witness.variables)
    example = term(witness.example) if isinstance(witness.example, Variable) else witness.example
    return Witness(variables, tuple(map_terms(s, term) for s in witness.conjunction), example)
