"""Alchemy's `*P(x)`: one formula for each combination of signs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from sqlrl.errors import ModelError
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.terms import (
    And,
    BothSigns,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
)

MOST_SIGNS = 10


def split_signs(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas that a formula with `*` stands for.

    Parameters
    ----------
    formula : Formula

    Returns
    -------
    tuple of Formula
        One for each combination of signs, in the order of Alchemy's manual (section 4.2): all positive first, the
        leftmost sign changing fastest. The formula itself if it has no `*`.

    Raises
    ------
    ModelError
        It has more than `MOST_SIGNS` of them.

    Examples
    --------
    >>> from sqlrl.logic.formula import parse_formula
    >>> from sqlrl.logic.printer import format_formula
    >>> [format_formula(f) for f in split_signs(parse_formula("*P(x) ^ *Q(x)"))]
    ['P(x) ^ Q(x)', '!P(x) ^ Q(x)', 'P(x) ^ !Q(x)', '!P(x) ^ !Q(x)']
    """
    count = _count(formula)
    if not count:
        return (formula,)
    if count > MOST_SIGNS:
        raise ModelError(f"{count} '*' stand for 2^{count} formulas: expected at most {MOST_SIGNS} in one formula")
    return tuple(_choose(formula, list(signs)) for signs in product((True, False), repeat=count))


def split_rule(rule: Rule) -> tuple[Rule, ...]:
    """Return the rules that a rule with `*` stands for, all with its weight.

    Parameters
    ----------
    rule : Rule

    Returns
    -------
    tuple of Rule

    Examples
    --------
    >>> from sqlrl.logic.terms import Atom
    >>> len(split_rule(Rule(BothSigns(Atom("P", ())), weight=1.0)))
    2
    """
    return tuple(replace(rule, formula=formula) for formula in split_signs(rule.formula))


def split_model(model: Model) -> Model:
    r"""Return a model whose rules with `*` are split, so that each formula can have a weight of its own.

    Parameters
    ----------
    model : Model

    Returns
    -------
    Model

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> len(split_model(parse_mln("P(t)\n*P(x)")).rules)
    2
    """
    return model.with_rules(tuple(r for rule in model.rules for r in split_rule(rule)))


def _count(formula: Formula) -> int:
    match formula:
        case BothSigns():
            return 1
        case Not(body) | ForAll(_, body) | Exist(_, body):
            return _count(body)
        case And(parts) | Or(parts):
            return sum(map(_count, parts))
        case Implies(left, right) | Iff(left, right):
            return _count(left) + _count(right)
        case _:
            return 0


def _choose(formula: Formula, signs: list[bool]) -> Formula:
    """Take the signs off the end of a list, the last one for the leftmost `*`."""
    match formula:
        case BothSigns(atom):
            return atom if signs.pop() else Not(atom)
        case Not(body):
            return Not(_choose(body, signs))
        case And(parts):
            return And(tuple(_choose(p, signs) for p in parts))
        case Or(parts):
            return Or(tuple(_choose(p, signs) for p in parts))
        case Implies(left, right):
            return Implies(_choose(left, signs), _choose(right, signs))
        case Iff(left, right):
            return Iff(_choose(left, signs), _choose(right, signs))
        case ForAll(variables, body):
            return ForAll(variables, _choose(body, signs))
        case Exist(variables, body):
            return Exist(variables, _choose(body, signs))
        case _:
            return formula
