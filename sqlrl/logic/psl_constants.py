"""Constants of the kinds that PSL declares: the one text of each value, however a program or a file writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sqlrl.logic.psl import LogicalRule, SoftRule
from sqlrl.logic.psl_arithmetic import Coefficient, Filter, LinearTerm, combine
from sqlrl.logic.psl_literals import Both, Comparison, Condition, Either, RuleError, SoftLiteral
from sqlrl.logic.terms import Constant, Literal, Term, Variable
from sqlrl.wording import shortened

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)\Z", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?\s*\Z", re.ASCII)
_EXACT = 2**53
"""Below it a whole number is one integer."""

EXPECTED = {
    "UniqueIntID": "an integer, as 7",
    "Integer": "an integer, as 7",
    "Long": "an integer, as 7",
    "Double": "a number, as 0.5",
    "Date": "a date, as 2024-01-31",
}
"""What constants of the kinds are whose texts are not just what they are."""


def constant_text(text: str, kind: str) -> str | None:
    """Return the text of a constant of a kind, as `7` for the integers `007` and `+7`; None if it is none of that kind."""
    match kind:
        case "UniqueIntID" | "Integer" | "Long":
            match = _INTEGER.match(text)
            if match is None:
                return None
            return f"{match[1].removeprefix('+')}{match[2]}" if match[2] != "0" else "0"
        case "Double":
            return _number_text(text) if _NUMBER.match(text) else None
        case "Date":
            return _date_text(text)
        case _:
            return text


def _number_text(text: str) -> str | None:
    value = float(text.strip().rstrip("fFdD"))
    if not math.isfinite(value):
        return None
    # As the catalog names numbers of columns.
    return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)


def _date_text(text: str) -> str | None:
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    if value.tzinfo is not None:
        return value.astimezone(UTC).isoformat(" ")[: -len(":00")]
    return value.isoformat(" ").removesuffix(" 00:00:00")


# ---- rules -------------------------------------------------------------------------------------------


def with_typed_constants(rule: SoftRule, declared: Mapping[str, Sequence[str]]) -> SoftRule:
    """Return a rule with the one text of each constant, by the kinds of the arguments of its predicates; RuleError if one is of another kind."""
    if EXPECTED.keys().isdisjoint(kind for each in declared.values() for kind in each):
        return rule
    kinds = {
        term.name: kind
        for literal in rule.literals
        if isinstance(literal, Literal)
        for term, kind in zip(literal.terms, declared[literal.predicate], strict=True)
        if isinstance(term, Variable)
    }

    def literal_of(x: SoftLiteral) -> SoftLiteral:
        """Return a literal with typed constants; one that is compared has the kind of the variable beside it."""
        if isinstance(x, Literal):
            return replace(x, terms=tuple(map(_typed, x.terms, declared[x.predicate])))
        return replace(x, left=_typed(x.left, _kind(x.right, kinds)), right=_typed(x.right, _kind(x.left, kinds)))

    def condition_of(x: Condition) -> Condition:
        """Return a condition with typed constants."""
        return replace(x, parts=tuple(map(condition_of, x.parts))) if isinstance(x, Both | Either) else literal_of(x)

    if isinstance(rule, LogicalRule):
        return replace(rule, body=tuple(map(literal_of, rule.body)), head=tuple(map(literal_of, rule.head)))
    terms: dict[Literal | Comparison, Coefficient] = {}
    for term in rule.terms:
        atom = literal_of(term.atom)
        # Two texts of one constant make one atom of two.
        terms[atom] = combine("+", terms[atom], term.coefficient) if atom in terms else term.coefficient
    return replace(
        rule,
        terms=tuple(LinearTerm(coefficient, atom) for atom, coefficient in terms.items()),
        filters=tuple(Filter(each.variable, condition_of(each.condition)) for each in rule.filters),
    )


def _kind(beside: Term, kinds: Mapping[str, str]) -> str:
    """Return the kind of a constant that is compared with a term."""
    return kinds.get(beside.name, "") if isinstance(beside, Variable) else ""


def _typed(term: Term, kind: str) -> Term:
    if isinstance(term, Variable):
        return term
    text = constant_text(term.name, kind)
    if text is None:
        raise RuleError(f"'{shortened(term.name)}' stands where {kind} is declared: expected {EXPECTED[kind]}", term)
    return Constant(text)
