"""What the rules of a model come to: rules with one sign each, which mean what they say."""

from __future__ import annotations

from dataclasses import replace

from sqlrl.logic.alchemy import NormalRule, normal_rules
from sqlrl.logic.model import Model
from sqlrl.logic.signs import split_rule


def plain_model(
    model: Model, open_predicates: frozenset[str]
) -> tuple[Model, tuple[int, ...], tuple[tuple[tuple[str, str], ...], ...]]:
    r"""Return a model of exact semantics without `*` that means what a model means, and the rule that each of its rules is of.

    For a rule with `*` it has one rule for each combination of signs, and under `semantics="alchemy"` one for each clause of
    the normal form; then come the next rule's. The tuples have for each of its rules the place in `model`, and the `+`
    variables, with their types, that it does not mention and for each combination of whose constants it stands once more; see
    `normal_rules`.
    """
    if model.semantics == "alchemy":
        parts = [normal_rules(rule, model, open_predicates) for rule in model.rules]
    else:
        parts = [tuple(NormalRule(each) for each in split_rule(rule)) for rule in model.rules]
    rules = tuple(each.rule for part in parts for each in part)
    owners = tuple(place for place, part in enumerate(parts) for _ in part)
    repeated = tuple(each.repeated for part in parts for each in part)
    return replace(model, rules=rules, semantics="exact"), owners, repeated
