"""Literals of probabilistic soft logic, and conditions made of them, as PSL writes them.

A variable is any name, a constant always has quotes. `sqlrl.logic.terms` has the values; what prints them here is PSL's language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from sqlrl import markup
from sqlrl.errors import ModelError
from sqlrl.logic.limits import LARGEST_FORM
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.terms import Atom, EqualityLiteral, Literal, Term, Variable
from sqlrl.wording import shortened

_VARIABLE = re.compile(r"(?:[^\W\d]|\$)[\w$]*\Z")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class RuleError(ModelError):
    """What a rule cannot have; `culprit` is the part at which a reader of text can point."""

    def __init__(self, problem: str, culprit: object = None) -> None:
        super().__init__(problem)
        self.culprit = culprit


@dataclass(frozen=True, slots=True)
class OrderLiteral:
    """`left % right`: the left constant comes before the right one, so that of two symmetric groundings one is left."""

    left: Term
    right: Term
    positive: bool = True
    _repr_html_ = markup.field_table


Comparison = EqualityLiteral | OrderLiteral
SoftLiteral = Literal | EqualityLiteral | OrderLiteral


@dataclass(frozen=True, slots=True)
class Both:
    """A conjunction of two or more conditions."""

    parts: tuple[Condition, ...]
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Either:
    """A disjunction of two or more conditions."""

    parts: tuple[Condition, ...]
    _repr_html_ = markup.field_table


Condition = SoftLiteral | Both | Either
"""What a filter asks of the constants that a sum goes through; an atom holds if its truth is above 0."""


# ---- going through -----------------------------------------------------------------------------------


def terms_of_literal(literal: SoftLiteral) -> tuple[Term, ...]:
    """Return the terms of a literal from left to right."""
    return literal.terms if isinstance(literal, Literal) else (literal.left, literal.right)


def literals_of(condition: Condition) -> Iterator[SoftLiteral]:
    """Yield the literals of a condition from left to right."""
    if isinstance(condition, Both | Either):
        for part in condition.parts:
            yield from literals_of(part)
    else:
        yield condition


def disjuncts(condition: Condition) -> list[tuple[SoftLiteral, ...]]:
    """Return the conjunctions of which a condition is the disjunction, each literal and each conjunction once."""
    if isinstance(condition, Either):
        found = [each for part in condition.parts for each in disjuncts(part)]
    elif isinstance(condition, Both):
        found = [()]
        for part in condition.parts:
            others = disjuncts(part)
            if len(found) * len(others) > LARGEST_FORM:
                raise RuleError(
                    f"the filter is a disjunction of more than {LARGEST_FORM:,} conjunctions, each a rule of its own: write it with another closed predicate"
                )
            found = [tuple(dict.fromkeys((*x, *y))) for x, y in product(found, others)]
    else:
        found = [(condition,)]
    unique: dict[frozenset[SoftLiteral], tuple[SoftLiteral, ...]] = {}
    for each in found:
        unique.setdefault(frozenset(each), each)
    return list(unique.values())


def conjoined(literals: tuple[SoftLiteral, ...]) -> Condition:
    """Return the condition that some literals hold together."""
    return literals[0] if len(literals) == 1 else Both(literals)


def negated(literal: SoftLiteral) -> SoftLiteral:
    """Return the literal that says the opposite."""
    match literal:
        case Literal(predicate, terms, positive):
            return Literal(predicate, terms, not positive)
        case EqualityLiteral(left, right, positive):
            return EqualityLiteral(left, right, not positive)
        case OrderLiteral(left, right, positive):
            return OrderLiteral(left, right, not positive)


# ---- printing ----------------------------------------------------------------------------------------


def format_term(term: Term) -> str:
    r"""Return a term as PSL writes it."""
    if isinstance(term, Variable):
        return str(term)
    return "'" + "".join(_ESCAPES.get(c, c) for c in term.name) + "'"


def format_atom(atom: Atom) -> str:
    """Return an atom as PSL writes it."""
    return f"{atom.predicate}({', '.join(map(format_term, atom.terms))})"


def format_literal(literal: SoftLiteral) -> str:
    """Return a literal as PSL writes it."""
    match literal:
        case Literal(predicate, terms, positive):
            return f"{'' if positive else '!'}{format_atom(Atom(predicate, terms))}"
        case EqualityLiteral(left, right, positive):
            return f"{format_term(left)} {'==' if positive else '!='} {format_term(right)}"
        case OrderLiteral(left, right, positive):
            text = f"{format_term(left)} % {format_term(right)}"
            return text if positive else f"!({text})"


def format_condition(condition: Condition) -> str:
    """Return a condition; `&` binds more closely than `|`."""
    match condition:
        case Either(parts):
            return " | ".join(
                f"({format_condition(p)})" if isinstance(p, Either) else format_condition(p) for p in parts
            )
        case Both(parts):
            return " & ".join(
                f"({format_condition(p)})" if isinstance(p, Both | Either) else format_condition(p) for p in parts
            )
        case _:
            return format_literal(condition)


def format_number(value: float) -> str:
    """Return the shortest text of a number that reads back to it; PSL has no `+` in exponents."""
    value = float(value) + 0.0
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e")


# ---- what a language cannot write --------------------------------------------------------------------


def check_literal(literal: SoftLiteral, *, sums: bool = False) -> None:
    """Refuse names that the language cannot write, and `+` variables where nothing is summed."""
    given: object = literal
    if not isinstance(given, Literal | EqualityLiteral | OrderLiteral):
        raise RuleError(f"{shortened(repr(given))} is no literal: give a Literal, EqualityLiteral or OrderLiteral")
    if isinstance(literal, Literal):
        if not is_identifier(literal.predicate):
            raise RuleError(
                f"the language cannot write the predicate name {literal.predicate!r}: a name is a letter and then letters, digits and "
                "underscores; rename it",
                literal,
            )
        if not literal.terms:
            raise RuleError(f"{literal.predicate} has no arguments: a predicate of PSL has at least one", literal)
    for term in terms_of_literal(literal):
        if isinstance(term, Variable):
            check_variable(term.name)
            if term.plus and not (sums and isinstance(literal, Literal)):
                raise RuleError(
                    f"the summation variable {term} stands outside of an arithmetic rule's atoms: write {term.name}",
                    term,
                )


def check_variable(name: str) -> None:
    """Refuse a name of a variable that the language cannot write."""
    if not _VARIABLE.match(name):
        raise RuleError(
            f"the language cannot write the variable name {name!r}: expected a letter and then letters, digits, '_' and '$'"
        )


def check_bound(comparisons: Iterable[SoftLiteral], bound: set[str], what: str) -> None:
    """Refuse variables that comparisons alone have: nothing says what they range over."""
    for literal in comparisons:
        for term in terms_of_literal(literal):
            if isinstance(term, Variable) and term.name not in bound:
                raise RuleError(
                    f"the variable {term.name} is unbound: {what} with it, as it stands in '{format_literal(literal)}' alone",
                    term,
                )
