"""What the rules of a model come to: rules with one sign each, which mean what they say."""

from __future__ import annotations

from dataclasses import replace

from sqlrl.logic.alchemy import NormalRule, normal_rules
from sqlrl.logic.model import Model
from sqlrl.logic.signs import split_rule


def plain_model(
    model: Model, open_predicates: frozenset[str]
) -> tuple[Model, tuple[int, ...], tuple[tuple[tuple[str, str], ...], ...]]:
    """Return an equivalent exact model without `*`, and for each of its rules the index in `model` and the `repeated` variables."""
    if model.semantics == "alchemy":
        parts = [normal_rules(rule, model, open_predicates) for rule in model.rules]
    else:
        parts = [tuple(NormalRule(each) for each in split_rule(rule)) for rule in model.rules]
    rules = tuple(each.rule for part in parts for each in part)
    owners = tuple(place for place, part in enumerate(parts) for _ in part)
    repeated = tuple(each.repeated for part in parts for each in part)
    return replace(model, rules=rules, semantics="exact"), owners, repeated
