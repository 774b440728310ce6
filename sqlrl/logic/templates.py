"""Templates of conjunctions, and the symbols in them that stand for alternatives of evidence.

Source: Mihalkova and Moustafa, "Structure Selection from Streaming Relational Data" (2011), section 4.1: a *symbol*, in capitals,
is replaced by one of its expansions; a *compounder* by a conjunction of up to k different ones; an *extender* by a chain of up to
k, from its first variable to its second one.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sqlrl import markup
from sqlrl.errors import ModelError
from sqlrl.logic.conjunctions import Part, TextPlace, fault, format_part, parse_conjunction
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.printer import check_names, is_identifier
from sqlrl.logic.terms import Atom, BothSigns, Constant, Equal, EqualityLiteral, Literal, Variable, terms_in
from sqlrl.wording import check_characters, counted, shortened

ONE: Final = "one"
COMPOUNDER: Final = "compounder"
EXTENDER: Final = "extender"
KINDS = (ONE, COMPOUNDER, EXTENDER)

Kind = typing.Literal["one", "compounder", "extender"]

_Value = TypeVar("_Value")

_WIDEST = 100
"""Characters of a definition on one line; a longer one has a line for each expansion."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A conjunction of evidence that a symbol may stand for; variables other than the symbol's are fresh for each use."""

    literals: tuple[Literal | EqualityLiteral, ...]
    # Where each literal stands; empty if it was not read.
    places: tuple[TextPlace, ...] = field(default=(), compare=False, repr=False)
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return " ^ ".join(map(str, self.literals))

    def place(self, number: int = 0) -> TextPlace:
        """Where a literal stands; of one that was not read, in its text."""
        places = self.places or parse_conjunction(str(self), "an expansion", "<expansion>")[1]
        return places[number]

    def variables(self) -> tuple[str, ...]:
        """The variables, in the order in which they are written."""
        return tuple(dict.fromkeys(_variables(self.literals)))


@dataclass(frozen=True, slots=True, init=False)
class Symbol:
    """A name in capitals that stands for one of several conjunctions of evidence.

    Parameters
    ----------
    name : str
        In capitals (letters, digits and `_`).
    variables : iterable of str
    expansions : iterable of str or Expansion
        The conjunctions, as text or as values. A predicate without parentheses has the variables of the symbol.
    kind : {"one", "compounder", "extender"}
        What a use stands for: exactly one expansion; a conjunction of up to `most` different ones, without order; or a chain of
        up to `most`, from the first to the second variable through fresh ones, in which an expansion may come again.
    most : int
        The k of a compounder or extender; 1 for a symbol of kind "one".
    place : Place, optional
        Where the definition stands. Not part of equality.

    Raises
    ------
    ModelError
        A name that is not in capitals, no expansion or one that stands twice, an extender that has not two variables, or a
        variable that no expansion has. ParseError if the text of an expansion does not parse.

    Examples
    --------
    >>> print(Symbol("USERS", ("v", "w"), ["friends", "likes(v, a) ^ likes(w, a)"], "extender", 2))
    USERS(v, w) = {friends(v, w), likes(v, a) ^ likes(w, a)} extender 2
    """

    name: str
    variables: tuple[str, ...]
    expansions: tuple[Expansion, ...]
    kind: Kind
    most: int
    place: TextPlace | None = field(compare=False, repr=False)
    _repr_html_ = markup.field_table

    def __init__(
        self,
        name: str,
        variables: Iterable[str],
        expansions: Iterable[str | Expansion],
        kind: Kind = ONE,
        most: int = 1,
        place: TextPlace | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "most", most)
        object.__setattr__(self, "place", place)
        object.__setattr__(self, "variables", self._distinct_variables(name, variables))
        object.__setattr__(self, "expansions", self._read(expansions))
        self._check_kind()
        self._check_expansions()

    def _distinct_variables(self, name: object, variables: Iterable[str]) -> tuple[str, ...]:
        if not isinstance(name, str) or not is_symbol(name):
            shown = name if isinstance(name, str) else shortened(repr(name))
            raise fault(f"{shown!r} is no name of a symbol: expected one in capitals, as CENTRE or USERS_2", self.place)
        given: object = variables
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise fault(
                f"the variables of {name} are {shortened(repr(given))}: give a tuple, as ('x', 'y')", self.place
            )
        found: tuple[object, ...] = tuple(given)
        for k, variable in enumerate(found):
            if not isinstance(variable, str) or not _is_variable(variable):
                problem = f"{name} has {shortened(repr(variable))} as a variable: expected a name that starts with a small letter"
                raise fault(problem, self.place)
            if variable in found[:k]:
                raise fault(f"{name} has the variable {variable} twice: expected different names", self.place)
        return tuple(map(str, found))

    def _read(self, expansions: Iterable[str | Expansion]) -> tuple[Expansion, ...]:
        given: object = expansions
        if isinstance(given, str) or not isinstance(given, Iterable):
            shown = shortened(repr(given))
            raise fault(
                f"the expansions of {self.name} are {shown}: give a list, as ['p(x)', 'q(x) ^ r(x)']", self.place
            )
        found: list[Expansion] = []
        for expansion in given:
            if isinstance(expansion, str):
                text, path = _text(expansion), f"<expansion of {self.name}>"
                parts, places = parse_conjunction(text, "an expansion", path, self.variables)
                found.append(Expansion(plain(parts), places))
            elif isinstance(expansion, Expansion):
                found.append(expansion)
            else:
                problem = f"{shortened(repr(expansion))} is no expansion of {self.name}: give its text or an Expansion"
                raise fault(problem, self.place)
        return tuple(found)

    def _check_kind(self) -> None:
        kind: object = self.kind
        if kind not in KINDS:
            raise fault(f"{self.name} is a {kind!r}: expected one of {', '.join(KINDS)}", self.place)
        most: object = self.most
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= LONGEST_CLAUSE:
            problem = (
                f"{self.name} is a {kind} of up to {most!r} expansions: expected an integer from 1 to {LONGEST_CLAUSE}"
            )
            raise fault(problem, self.place)
        if kind == ONE and self.most != 1:
            problem = f"{self.name} stands for up to {self.most} expansions: say whether as a compounder or an extender"
            raise fault(problem, self.place)
        if kind == EXTENDER and len(self.variables) != 2:
            problem = (
                f"the extender {self.name} has {counted(len(self.variables), 'variable')}: expected two, from which and to which "
                "its chains lead"
            )
            raise fault(problem, self.place)

    def _check_expansions(self) -> None:
        if not self.expansions:
            raise fault(f"{self.name} has no expansions: expected some, as {{p(x), q(x)}}", self.place)
        first: dict[Expansion, Expansion] = {}
        for expansion in self.expansions:
            _check_parts(expansion.literals, expansion.places, f"an expansion of {self.name}")
            if first.setdefault(expansion, expansion) is not expansion:
                raise fault(f"{self.name} has the expansion '{expansion}' twice: leave one out", expansion.place())
            if self.kind == EXTENDER:
                atoms = {v for x in expansion.literals if isinstance(x, Literal) for v in _variables((x,))}
                for variable in set(self.variables) - atoms:
                    problem = (
                        f"the expansion '{expansion}' of the extender {self.name} has no atom with {variable}: expected both of "
                        f"{' and '.join(self.variables)}, or a chain breaks off"
                    )
                    raise fault(problem, expansion.place())
        known = {variable for expansion in self.expansions for variable in expansion.variables()}
        for variable in self.variables:
            if variable not in known:
                problem = f"no expansion of {self.name} has its variable {variable}: leave it out of {self.call}"
                raise fault(problem, self.place)

    @property
    def line(self) -> int:
        """The line of its definition, from 1; 0 if it was not read."""
        return self.place.line if self.place else 0

    @property
    def call(self) -> str:
        """The name with the variables."""
        return f"{self.name}({', '.join(self.variables)})"

    def __str__(self) -> str:
        texts = list(map(str, self.expansions))
        end = "}" if self.kind == ONE else f"}} {self.kind} {self.most}"
        line = f"{self.call} = {{{', '.join(texts)}{end}"
        if len(line) <= _WIDEST:
            return line
        inside = ",\n".join(f"    {text}" for text in texts)
        return f"{self.call} = {{\n{inside}\n{end}"


@dataclass(frozen=True, slots=True, init=False)
class Template:
    """A conjunction of symbols and literals, of which at least one is of a target."""

    # A symbol is a literal with its name; `BothSigns` (`[!]`) stands for a literal of a target and for its negation.
    parts: tuple[Part, ...]
    places: tuple[TextPlace, ...] = field(compare=False, repr=False)  # where each part stands; empty if it was not read
    _repr_html_ = markup.field_table

    def __init__(self, parts: str | Iterable[Part], places: Iterable[TextPlace] = ()) -> None:
        if isinstance(parts, str):
            parts, places = parse_conjunction(_text(parts), "a template", "<template>")
        object.__setattr__(self, "parts", tuple(parts))
        object.__setattr__(self, "places", tuple(places))
        _check_parts(self.parts, self.places, "a template")

    def __str__(self) -> str:
        return " ^ ".join(map(format_part, self.parts))

    @property
    def line(self) -> int:
        """The line in which it begins, from 1; 0 if it was not read."""
        return self.places[0].line if self.places else 0

    def place(self, number: int = 0) -> TextPlace:
        """Where a part stands; of one that was not read, in its text."""
        places = self.places or parse_conjunction(str(self), "a template", "<template>")[1]
        return places[number]


def is_symbol(name: str) -> bool:
    """Tell whether a name may be a symbol's: in capitals, with digits and `_`."""
    return is_identifier(name) and name.isupper()


def plain(parts: Iterable[Part]) -> tuple[Literal | EqualityLiteral, ...]:
    """Return parts as the literals of an expansion, in which there is no `[!]`."""
    return tuple(part for part in parts if not isinstance(part, BothSigns))


def _is_variable(name: str) -> bool:
    return is_identifier(name.rstrip("'")) and not name[0].isupper()


def _text(text: str) -> str:
    check_characters(text, "the text of a conjunction")
    return text


def _variables(literals: Iterable[Literal | EqualityLiteral]) -> Iterable[str]:
    return (term.name for literal in literals for term in terms_in(literal) if isinstance(term, Variable))


def _check_parts(parts: tuple[object, ...], places: tuple[TextPlace, ...], what: str) -> None:
    """Check what was made by hand: literals, whose names the language can write, without `+`."""
    if not parts:
        raise ModelError(f"{what} has no literals: expected some, as p(x) ^ q(x, y)")
    if places and len(places) != len(parts):
        raise ModelError(f"{what} has {counted(len(parts), 'part')} and {counted(len(places), 'place')}")
    for number, part in enumerate(parts):
        place = places[number] if places else None
        match part:
            case Literal(predicate, terms):
                check_names(Atom(predicate, terms))
            case BothSigns(atom) if not what.startswith("an expansion"):
                check_names(atom)
                terms = atom.terms
            case EqualityLiteral(left, right):
                check_names(Equal(left, right))
                terms = (left, right)
                if isinstance(left, Constant) and isinstance(right, Constant):
                    raise fault(f"'{part}' compares two constants: expected a variable on one side", place)
            case _:
                raise fault(f"{shortened(repr(part))} is no literal of {what}: give its text, or values", place)
        for term in terms:
            if isinstance(term, Variable) and term.plus:
                raise fault(f"'{term}' is a '+' variable, which {what} cannot have: write a constant", place)
