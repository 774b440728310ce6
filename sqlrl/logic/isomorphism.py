"""Which conjunctions are the same up to the names of their variables and the order of their literals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlrl.logic.shapes import Shaper
from sqlrl.logic.terms import Clause, Constant, EqualityLiteral, Literal, Variable, terms_in

Part = Literal | EqualityLiteral

_Form = tuple[str | int, ...]
"""A literal without the names of its variables: predicate, sign, and for each term the constant or which variable it is."""

_ROUNDS = 10
"""So often variables are told apart by their neighbours; what is still alike then, a `Shaper` takes on."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The number of a literal's form, and its variables, each once; those of an equality have no order."""

    form: int
    variables: list[str]
    symmetric: bool
    positive: bool


class Distinct:
    """Tells conjunctions apart up to the names of variables and the order of literals."""

    def __init__(self) -> None:
        self._shaper = Shaper(lambda *_: "")
        self._forms: dict[_Form, int] = {}
        self._seen: set[object] = set()

    def add(self, variables: tuple[tuple[str, str], ...], literals: Sequence[Part]) -> bool:
        """Tell whether no conjunction before this one is the same; `variables` are its own, with their types."""
        key = self.key(variables, literals)
        known = len(self._seen)
        self._seen.add(key)
        return len(self._seen) > known

    def key(self, variables: tuple[tuple[str, str], ...], literals: Sequence[Part]) -> object:
        """Return what conjunctions share, in this object, exactly if they are the same, unless too many literals look alike."""
        rows = [self._row(literal) for literal in literals]
        colours = _colours(rows)
        # If these numbers, which do not depend on names, tell all variables apart, the literals over them are the key.
        if len(set(colours.values())) == len(colours):
            return tuple(sorted((row.form, *_coloured(row, colours)) for row in rows))
        # A shape ignores constants, and takes longer the more literals look alike: so the names of the predicates carry
        # the constants and these numbers.
        return self._shaper(Clause(variables, tuple(_marked(row, colours) for row in rows))).shape

    def _row(self, literal: Part) -> _Row:
        symmetric = isinstance(literal, EqualityLiteral)
        form: list[str | int] = ["=" if isinstance(literal, EqualityLiteral) else literal.predicate, literal.positive]
        variables: list[str] = []
        for term in terms_in(literal):
            if isinstance(term, Constant):
                form.append(term.name)
                continue
            if term.name not in variables:
                variables.append(term.name)
            form.append(variables.index(term.name))
        if symmetric:
            # From which side it is written says nothing.
            form[2:] = sorted(form[2:], key=lambda part: isinstance(part, str))
        return _Row(self._forms.setdefault(tuple(form), len(self._forms)), variables, symmetric, literal.positive)


def _colours(rows: Sequence[_Row]) -> dict[str, int]:
    """Number variables by where they stand and beside which others (colour refinement); equal numbers mean that nothing was found."""
    colours = {x: 0 for row in rows for x in row.variables}
    known = 0
    for _ in range(_ROUNDS):
        places: dict[str, list[tuple[int, ...]]] = {x: [(colour,)] for x, colour in colours.items()}
        for row in rows:
            beside = _coloured(row, colours)
            for position, x in enumerate(row.variables):
                places[x].append((row.form, 0 if row.symmetric else position, *beside))
        looks = {x: (found[0], *sorted(found[1:])) for x, found in places.items()}
        ranks = {look: rank for rank, look in enumerate(sorted(set(looks.values())))}
        colours = {x: ranks[look] for x, look in looks.items()}
        if len(ranks) in (known, len(colours)):
            break
        known = len(ranks)
    return colours


def _coloured(row: _Row, colours: Mapping[str, int]) -> list[int]:
    found = [colours[x] for x in row.variables]
    return sorted(found) if row.symmetric else found


def _marked(row: _Row, colours: Mapping[str, int]) -> Part:
    """Return a literal whose predicate says the form and the numbers of the variables."""
    found = _coloured(row, colours)
    names = sorted(row.variables, key=colours.__getitem__) if row.symmetric else row.variables
    variables = tuple(map(Variable, names))
    if row.symmetric and len(found) > len(set(found)):
        # Which of its variables is the first cannot be said.
        return EqualityLiteral(variables[0], variables[1], row.positive)
    return Literal(f"{row.form} {found}", variables)
