"""Arithmetic rules of probabilistic soft logic: a linear expression of atoms, held against a constant.

Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 4.3.

All atoms stand on the left side and all numbers on the right one; an atom stands once. A coefficient may depend on `|X|`, which is how
many constants the summation variable `+X` goes through in a grounding; numbers alone are computed at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from numbers import Real
from typing import Literal as OneOf
from typing import get_args

from sqlrl import markup
from sqlrl.logic.limits import LARGEST_FORM, LONGEST_CLAUSE
from sqlrl.logic.psl_literals import (
    Comparison,
    Condition,
    RuleError,
    SoftLiteral,
    check_bound,
    check_literal,
    check_variable,
    conjoined,
    disjuncts,
    format_condition,
    format_literal,
    format_number,
    literals_of,
    negated,
    terms_of_literal,
)
from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Variable
from sqlrl.wording import shortened

Operator = OneOf["+", "-", "*", "/", "@Max", "@Min"]
Comparator = OneOf["=", "<=", ">="]
COMPARATORS: tuple[str, ...] = get_args(Comparator)
_SUM, _PRODUCT = ("+", "-"), ("*", "/")
_NEGATIVE = re.compile(r"\A-[0-9.]+(?:e-?[0-9]+)?")


# ---- coefficients ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cardinality:
    """`|X|`: how many constants the summation variable `+X` goes through."""

    variable: str
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on two coefficients of which one at least is no number."""

    operator: Operator
    left: Coefficient
    right: Coefficient
    _repr_html_ = markup.field_table


Coefficient = float | Cardinality | Operation


def combine(operator: Operator, left: Coefficient, right: Coefficient) -> Coefficient:
    """Return the coefficient that an operation gives, as a number where it is one; division by zero is a RuleError."""
    if operator == "/" and right == 0.0:
        raise RuleError(
            f"division by zero in '{format_coefficient(Operation(operator, left, right))}': expected another divisor",
            right,
        )
    if isinstance(left, int | float) and isinstance(right, int | float):
        return _finite(_compute(operator, float(left), float(right)), Operation(operator, left, right))
    if left == right and operator in ("-", "@Max", "@Min"):
        return 0.0 if operator == "-" else left
    if (operator in _SUM and right == 0.0) or (operator in _PRODUCT and right == 1.0):
        return left
    if (operator == "+" and left == 0.0) or (operator == "*" and left == 1.0):
        return right
    if operator == "*" and 0.0 in (left, right):
        return 0.0
    return Operation(operator, left, right)


def _compute(operator: Operator, left: float, right: float) -> float:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "@Max":
            return max(left, right)
        case "@Min":
            return min(left, right)


def _is_number(value: object) -> bool:
    """Tell whether a value is a number; Python's truths are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _finite(value: float, coefficient: Coefficient) -> float:
    if not math.isfinite(value):
        raise RuleError(f"'{format_coefficient(coefficient)}' is not finite: write smaller numbers", coefficient)
    # There is one zero.
    return value + 0.0


def simplified(coefficient: Coefficient) -> Coefficient:
    """Return a coefficient with its numbers computed, as a reader of its text has it."""
    match coefficient:
        case Operation(operator, left, right):
            return combine(operator, simplified(left), simplified(right))
        case Cardinality():
            return coefficient
        case _:
            given: object = coefficient
            if not _is_number(given):
                raise RuleError(
                    f"{shortened(repr(given))} is no coefficient: give a number, a Cardinality or an Operation"
                )
            return _finite(float(coefficient), coefficient)


def coefficient_value(coefficient: Coefficient, counts: Mapping[str, int]) -> float:
    """Return the value of a coefficient, given how many constants each summation variable goes through."""
    match coefficient:
        case Operation(operator, left, right):
            first, second = coefficient_value(left, counts), coefficient_value(right, counts)
            if operator == "/" and second == 0.0:
                where = ", ".join(f"|{name}| = {count}" for name, count in sorted(counts.items()))
                raise RuleError(f"division by zero in '{format_coefficient(coefficient)}', where {where}", coefficient)
            return _finite(_compute(operator, first, second), coefficient)
        case Cardinality(variable):
            return float(counts[variable])
        case _:
            return float(coefficient)


def cardinalities(coefficient: Coefficient) -> Iterator[str]:
    """Yield the summation variables whose cardinality a coefficient has."""
    match coefficient:
        case Operation(_, left, right):
            yield from cardinalities(left)
            yield from cardinalities(right)
        case Cardinality(variable):
            yield variable


def format_coefficient(coefficient: Coefficient) -> str:
    """Return a coefficient as PSL writes it."""
    match coefficient:
        case Operation("@Max" | "@Min" as name, left, right):
            return f"{name}[{format_coefficient(left)}, {format_coefficient(right)}]"
        case Operation(operator, left, right):
            before, behind = ((), _SUM) if operator in _SUM else (_SUM, _SUM + _PRODUCT)
            return f"{_inside(left, before)} {operator} {_inside(right, behind)}"
        case Cardinality(variable):
            return f"|{variable}|"
        case _:
            return format_number(coefficient)


def _inside(coefficient: Coefficient, loose: tuple[str, ...]) -> str:
    """Print a part of an operation, in parentheses if it is one of the operations that bind too loosely there."""
    text = format_coefficient(coefficient)
    return f"({text})" if isinstance(coefficient, Operation) and coefficient.operator in loose else text


# ---- rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """A coefficient with its atom, or with a comparison: 1 where it holds, and no grounding where it does not."""

    coefficient: Coefficient
    atom: Literal | Comparison
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return _format_product(self.coefficient, self.atom)


def _format_product(coefficient: Coefficient, atom: Literal | Comparison) -> str:
    text = format_literal(atom) if isinstance(atom, Literal) else f"({format_literal(atom)})"
    return text if coefficient == 1.0 else f"{_inside(coefficient, _SUM)} * {text}"


@dataclass(frozen=True, slots=True)
class Filter:
    """What must hold of the constants that the summation variable `+variable` goes through."""

    variable: str
    # An atom holds if its truth is above 0. A disjunction is one condition here; a program has a rule of each part (`as_rules`).
    condition: Condition
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        return f"{{{self.variable}: {format_condition(self.condition)}}}"


@dataclass(frozen=True, slots=True)
class ArithmeticRule:
    r"""A rule that holds a linear expression of atoms against a constant.

    With a weight, it costs how far it is from holding: hinges of `expression - constant` for `<=`, of `constant - expression` for
    `>=`, and both for `=`. Without one it is hard.

    Parameters
    ----------
    terms : tuple of LinearTerm
        The left side; `Variable("X", plus=True)` at an argument sums over its constants.
    comparator : {"=", "<=", ">="}
    constant : float, Cardinality or Operation
        The right side.
    weight : float or None
        At least 0; None if the rule is hard.
    squared : bool
        Whether its cost is squared; False if it is hard.
    filters : tuple of Filter
        At most one for each summation variable.
    line : int
        Line in the source, from 1; 0 if it has none. Not part of equality.
    path : str
        The source file. Not part of equality.

    Raises
    ------
    ModelError
        No atoms; an atom twice; a coefficient that is 0 or not finite; a division by zero; `|X|` or a filter of a variable that is not
        summed; a variable that is summed and stands elsewhere, too; a weight below 0 or not finite.

    Examples
    --------
    >>> from sqlrl import parse_psl
    >>> (rule,) = parse_psl("5: 1 = 2 * Knows(A, +B) / |B| ^2 {B: !Rival(A, B)}").rules
    >>> print(rule)
    5: -1 * (2 / |B|) * Knows(A, +B) = -1 ^2 {B: !Rival(A, B)}
    >>> rule.summed, rule.hard
    (('B',), False)
    """

    terms: tuple[LinearTerm, ...]
    comparator: Comparator
    constant: Coefficient = 0.0
    weight: float | None = None
    squared: bool = False
    filters: tuple[Filter, ...] = ()
    line: int = field(default=0, compare=False)
    path: str = field(default="", compare=False)
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        given: tuple[object, ...] = tuple(self.terms)
        for each in given:
            if not isinstance(each, LinearTerm):
                raise RuleError(f"{shortened(repr(each))} is no term: give a LinearTerm")
        terms = tuple(LinearTerm(simplified(term.coefficient), term.atom) for term in self.terms)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "constant", simplified(self.constant))
        object.__setattr__(self, "filters", tuple(self.filters))
        self._check_terms()
        self._check_variables()
        object.__setattr__(self, "weight", checked_weight(self.weight, squared=self.squared))

    @property
    def hard(self) -> bool:
        """Whether it must hold in every grounding."""
        return self.weight is None

    @property
    def place(self) -> str:
        """Where it stands, as `path:line`; empty if it was not read."""
        return f"{self.path}:{self.line}" if self.line else ""

    @property
    def summed(self) -> tuple[str, ...]:
        """The summation variables, in order."""
        return tuple(
            t.name for term in self.terms for t in terms_of_literal(term.atom) if isinstance(t, Variable) and t.plus
        )

    @property
    def literals(self) -> tuple[SoftLiteral, ...]:
        """The atoms of its terms, and the literals of its filters."""
        return (*(term.atom for term in self.terms), *(x for f in self.filters for x in literals_of(f.condition)))

    @property
    def formula(self) -> str:
        """The rule without weight, square and final '.'."""
        return " ".join([self._relation(), *map(str, self.filters)])

    @property
    def form(self) -> object:
        """What rules share that PSL takes for one: all but the weight. It compares sums term by term, so that their order counts."""
        filters = frozenset((f.variable, frozenset(map(frozenset, disjuncts(f.condition)))) for f in self.filters)
        return (self.hard, self.squared, self.comparator, self.constant, self.terms, filters)

    def as_rules(self) -> tuple[ArithmeticRule, ...]:
        """Return the rules that this one is to PSL: one for each conjunction of which its filters are disjunctions."""
        if not self.filters:
            return (self,)
        ways = [[Filter(f.variable, conjoined(each)) for each in disjuncts(f.condition)] for f in self.filters]
        if prod(map(len, ways)) > LARGEST_FORM:
            raise RuleError(
                f"the filters have more than {LARGEST_FORM:,} combinations, each a rule of its own: write them with another closed predicate"
            )
        return tuple(replace(self, filters=chosen) for chosen in product(*ways))

    def __str__(self) -> str:
        # A sign at the start of a line would go on with the rule before.
        relation = _NEGATIVE.sub(r"(\g<0>)", self._relation()) if self.hard else self._relation()
        return format_rule(relation, self.weight, self.squared, tuple(map(str, self.filters)))

    def _relation(self) -> str:
        first, *others = self.terms
        text = str(first)
        for term in others:
            if isinstance(term.coefficient, float) and term.coefficient < 0:
                text += f" - {_format_product(-term.coefficient, term.atom)}"
            else:
                text += f" + {term}"
        return f"{text} {self.comparator} {format_coefficient(self.constant)}"

    def _check_terms(self) -> None:
        if self.comparator not in COMPARATORS:
            raise RuleError(f"{self.comparator!r} compares nothing: expected one of {', '.join(COMPARATORS)}")
        if not any(isinstance(term.atom, Literal) for term in self.terms):
            raise RuleError("an arithmetic rule has no atoms: expected one, as in P(X) + Q(X) <= 1")
        if len(self.terms) > LONGEST_CLAUSE:
            raise RuleError(f"the rule has {len(self.terms):,} terms: expected at most {LONGEST_CLAUSE}")
        known: set[Literal | Comparison] = set()
        for term in self.terms:
            check_literal(term.atom, sums=True)
            if not term.atom.positive and not isinstance(term.atom, EqualityLiteral):
                raise RuleError(
                    f"'{format_literal(term.atom)}' is negated in an arithmetic rule, whose atoms are numbers: expected "
                    f"1 - {format_literal(negated(term.atom))}",
                    term.atom,
                )
            if term.atom in known:
                raise RuleError(f"{format_literal(term.atom)} stands in two terms: add their coefficients", term.atom)
            known.add(term.atom)
            if term.coefficient == 0.0 and isinstance(term.atom, Literal):
                raise RuleError(
                    f"the coefficients of {format_literal(term.atom)} cancel to 0, so that the rule does not depend on it: leave it out",
                    term.atom,
                )

    def _check_variables(self) -> None:
        """Check that sums are bound: each has its own variable, and cardinalities and filters are of such variables."""
        plain: set[str] = set()
        summed: set[str] = set()
        for term in self.terms:
            for each in terms_of_literal(term.atom):
                if isinstance(each, Constant):
                    continue
                if each.plus and each.name in summed:
                    raise RuleError(
                        f"the summation variable {each} stands twice: each sum needs a variable of its own, as +{each.name}2",
                        each,
                    )
                if isinstance(term.atom, Literal):
                    (summed if each.plus else plain).add(each.name)
        used = {
            t.name for term in self.terms for t in terms_of_literal(term.atom) if isinstance(t, Variable) and not t.plus
        }
        for name in sorted(used & summed):
            raise RuleError(
                f"the variable {name} is summed (+{name}) and stands without '+', too: give one of the two another name",
                Variable(name),
            )
        check_bound((t.atom for t in self.terms if not isinstance(t.atom, Literal)), plain, "expected an atom")
        for coefficient in (*(term.coefficient for term in self.terms), self.constant):
            for name in cardinalities(coefficient):
                if name not in summed:
                    raise RuleError(
                        f"|{name}| counts an unbound sum: no atom has the summation variable +{name}", Cardinality(name)
                    )
        filtered: set[str] = set()
        for each_filter in self.filters:
            name = each_filter.variable
            check_variable(name)
            if name not in summed:
                raise RuleError(
                    f"the filter {{{name}: ...}} is of an unbound sum: no atom has the summation variable +{name}",
                    each_filter,
                )
            if name in filtered:
                raise RuleError(f"+{name} has two filters: write one, with '&' between the conditions", each_filter)
            filtered.add(name)
            for literal in literals_of(each_filter.condition):
                check_literal(literal)
                for each in terms_of_literal(literal):
                    if isinstance(each, Variable) and each.name not in plain | {name}:
                        raise RuleError(
                            f"the variable {each.name} of the filter {{{name}: ...}} is unbound: expected {name}, or a variable that an atom "
                            "of the rule has without '+'",
                            (each_filter.variable, each),
                        )


def checked_weight(weight: float | None, *, squared: bool) -> float | None:
    """Return a weight as a float; refuse one that no rule of PSL can have."""
    if weight is None:
        if squared:
            raise RuleError(
                "a hard rule has no exponent: it must hold exactly; leave the square out, or give the rule a weight"
            )
        return None
    given: object = weight
    if not _is_number(given):
        raise RuleError(
            f"the weight {shortened(repr(given))} is no number: give one of at least 0, or None for a hard rule"
        )
    try:
        value = float(weight)
    except OverflowError:  # an integer or fraction beyond all doubles
        value = math.inf if given > 0 else -math.inf  # type: ignore[operator]
    if math.isnan(value) or value < 0 or math.isinf(value):
        what = "is negative" if value < 0 and not math.isinf(value) else "is not finite"
        raise RuleError(
            f"the weight {format_weight(value)} {what}: expected a number of at least 0, or a hard rule without a weight"
        )
    return value + 0.0


def format_weight(weight: float) -> str:
    """Return a weight, also one that is not finite."""
    return format_number(weight) if math.isfinite(weight) else repr(weight)


def format_rule(formula: str, weight: float | None, squared: bool, filters: tuple[str, ...] = ()) -> str:
    """Return a rule of its parts."""
    front = "" if weight is None else f"{format_number(weight)}: "
    end = " ." if weight is None else " ^2" if squared else ""
    return " ".join([f"{front}{formula}{end}", *filters])
