"""Rules that a program has twice: which of a Markov logic network are, and the warning that names both lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlrl.errors import RepeatedRuleWarning, warn
from sqlrl.logic.printer import format_formula
from sqlrl.logic.psl import SoftRule
from sqlrl.logic.rules import Rule
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Equal,
    EqualityLiteral,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Literal,
    Not,
    Or,
)
from sqlrl.wording import counted, shortened

SHOWN = 5

R = TypeVar("R", Rule, SoftRule)


def warn_of_copies(copies: Sequence[tuple[R, R]], text: Callable[[R], str], consequence: str) -> None:
    """Warn of rules, each with the first that it repeats, and say what follows."""
    told = "; ".join(
        f"{rule.place}: the rule '{shortened(text(rule), 80)}' repeats that of {_beside(first, rule)}"
        for rule, first in copies[:SHOWN]
    )
    more = f"; and {counted(len(copies) - SHOWN, 'other')}" if len(copies) > SHOWN else ""
    warn(f"{told}{more}: {consequence}", RepeatedRuleWarning)


def _beside(first: Rule | SoftRule, rule: Rule | SoftRule) -> str:
    """Return the place of a rule, and its weight if that is another one."""
    place = f"line {first.line}" if first.path == rule.path else first.place
    return place if first.weight in (None, rule.weight) else f"{place}, whose weight is {first.weight:g}"


# ---- Markov logic networks ---------------------------------------------------------------------------


def warn_of_formulas(rules: Sequence[Rule]) -> None:
    """Warn of the rules of an `.mln` file whose formulas are the same up to the order of literals and the sides of `=>`."""
    first: dict[object, Rule] = {}
    copies: list[tuple[Rule, Rule]] = []
    # What hard rules say twice counts once.
    for rule in (each for each in rules if not each.hard):
        kept = first.setdefault(_pushed(rule.formula, True), rule)
        # A file that includes another adds to the weights of its rules.
        if kept is not rule and (kept.path == rule.path or kept.weight == rule.weight):
            copies.append((rule, kept))
    if copies:
        warn_of_copies(
            copies,
            lambda rule: format_formula(rule.formula),
            "each counts, so that their weights add up; remove one if that is not meant",
        )


def _pushed(formula: Formula, positive: bool) -> object:
    """Return a formula, or its negation, with negations at its literals and what `And` and `Or` join in any order."""
    match formula:
        case Atom(predicate, terms):
            return Literal(predicate, terms, positive)
        case Equal(left, right):
            return EqualityLiteral(left, right, positive)
        case BothSigns(atom):
            return ("both", frozenset({atom}))
        case Not(body):
            return _pushed(body, not positive)
        case Implies(left, right):
            return _joined("or" if positive else "and", (_pushed(left, not positive), _pushed(right, positive)))
        case And(parts) | Or(parts):
            kind = "and" if isinstance(formula, And) is positive else "or"
            return _joined(kind, [_pushed(part, positive) for part in parts])
        case Iff(left, right):
            return ("equal" if positive else "differ", frozenset({_pushed(left, True), _pushed(right, True)}))
        case ForAll(variables, body) | Exist(variables, body):
            kind = "all" if isinstance(formula, ForAll) is positive else "some"
            return (f"{kind} {sorted(variables)}", frozenset({_pushed(body, positive)}))


def _joined(kind: str, parts: Sequence[object]) -> object:
    """Return the conjunction or disjunction of parts, without one of the same kind inside."""
    inside: Counter[object] = Counter()
    for part in parts:
        inside.update(dict(part[1]) if isinstance(part, tuple) and part[0] == kind else {part: 1})
    return (kind, frozenset(inside.items()))
