"""Alchemy's `*P(x)`: one formula for each combination of signs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from sqlrl.errors import ModelError
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.subformulas import subformulas, with_parts
from sqlrl.logic.terms import BothSigns, Formula, Not

MOST_SIGNS = 10


def split_signs(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas that a formula with `*` stands for, in the order of Alchemy's manual (section 4.2)."""
    count = sum(isinstance(part, BothSigns) for part in subformulas(formula))
    if not count:
        return (formula,)
    if count > MOST_SIGNS:
        raise ModelError(f"{count} '*' stand for 2^{count} formulas: expected at most {MOST_SIGNS} in one formula")
    # All positive first, the leftmost sign changing fastest.
    return tuple(_choose(formula, list(signs)) for signs in product((True, False), repeat=count))


def split_rule(rule: Rule) -> tuple[Rule, ...]:
    """Return the rules that a rule with `*` stands for, all with its weight."""
    return tuple(replace(rule, formula=formula) for formula in split_signs(rule.formula))


def split_model(model: Model) -> Model:
    r"""Return a model whose rules with `*` are split, so that each formula can have a weight of its own."""
    return model.with_rules(tuple(r for rule in model.rules for r in split_rule(rule)))


def _choose(formula: Formula, signs: list[bool]) -> Formula:
    """Take the signs off the end of a list, the last one for the leftmost `*`."""
    if isinstance(formula, BothSigns):
        return formula.atom if signs.pop() else Not(formula.atom)
    return with_parts(formula, lambda part: _choose(part, signs))
