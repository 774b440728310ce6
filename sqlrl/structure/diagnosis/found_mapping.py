"""The mapping of a model's predicates to those of other data that is found in the data, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlrl.logic.compile import compile_rule
from sqlrl.logic.mapping import PredicateMapping, count_legal_mappings, legal_mappings
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.transfer import transferred
from sqlrl.progress import staged
from sqlrl.structure.beam.clauses import Language
from sqlrl.structure.beam.scores import Member, Objective, Scored

if TYPE_CHECKING:
    from sqlrl.logic.shapes import Instance, Shaper
    from sqlrl.logic.terms import Predicate
    from sqlrl.training.clause_search import ClauseSearch

MOST_MAPPINGS = 1000
"""A rule with more legal mappings is left out."""


@dataclass(frozen=True)
class MappedRule:
    """A rule of the source, the rule that it became, under which mapping, and by how much that raises the score of a model of unit clauses."""

    source: Rule
    rule: Rule
    mapping: PredicateMapping
    gain: float


@dataclass
class FoundMapping:
    """What was found: a mapping for each rule; `dropped` are rules that have none, with the reason and why."""

    model: Model
    rules: list[MappedRule] = field(default_factory=list)
    dropped: list[tuple[Rule, str, str]] = field(default_factory=list)


def find_mapping(source: Model, search: ClauseSearch, language: Language, strength: float) -> FoundMapping:
    """Choose for each rule the legal mapping under which it raises the weighted pseudo-log-likelihood of unit clauses most.

    Mihalkova and Mooney (2006) take the mapping as given; a later work of theirs finds it clause by clause, by WPLL as here.
    """
    target: Mapping[str, Predicate] = search.model.predicates
    objective, shaper = Objective(search.source, strength), language.shaper()
    units = objective.model([Member((shaper(language.unit(name).clause),)) for name in search.predicates])
    found = FoundMapping(search.model)
    seen: dict[Instance, Rule] = {}
    for rule in staged("finding the mapping", source.rules):
        names = list(dict.fromkeys(atom.predicate for atom in atoms_of(rule.formula)))
        number = count_legal_mappings(names, source.predicates, target, MOST_MAPPINGS + 1)
        if number > MOST_MAPPINGS:
            reason = f"it has more than {MOST_MAPPINGS:,} legal mappings: give a mapping of its predicates"
            found.dropped.append((rule, "predicate", reason))
            continue
        candidates = list(_candidates(rule, names, source, target, shaper))
        if not candidates:
            reason = f"{' and '.join(names)} cannot be mapped to predicates of the data with as many arguments, of types that agree"
            found.dropped.append((rule, "predicate", reason))
            continue
        search.source.learn((instance, None) for _, _, instance in candidates)
        best = _best(rule, candidates, objective, units)
        instance = next(each for mapped, _, each in candidates if mapped is best.rule)
        if instance in seen:
            reason = f"it becomes the same clause as {format_formula(seen[instance].formula)}"
            found.dropped.append((rule, "equal", reason))
            continue
        seen[instance] = rule
        found.rules.append(best)
    found.model = search.model.with_rules(tuple(each.rule for each in found.rules))
    return found


def _best(
    rule: Rule,
    candidates: list[tuple[Rule, PredicateMapping, Instance]],
    objective: Objective,
    units: Scored,
) -> MappedRule:
    best: MappedRule | None = None
    for mapped, mapping, instance in candidates:
        # Where two mappings are as good the first one in the order of the data's declarations is taken.
        gain = objective.gain(units, instance).gain
        if best is None or gain > best.gain:
            best = MappedRule(rule, mapped, mapping, gain)
    assert best is not None, "there are candidates"
    return best


def _candidates(
    rule: Rule, names: list[str], source: Model, target: Mapping[str, Predicate], shaper: Shaper
) -> Iterator[tuple[Rule, PredicateMapping, Instance]]:
    """Yield what a rule becomes under each legal mapping of its predicates, where that is one clause that is not always true."""
    alone = source.with_rules((rule,))
    opened = frozenset(target)
    for mapping in legal_mappings(names, source.predicates, target):
        model = transferred(alone, mapping, target).model
        if len(model.rules) != 1:
            continue
        (mapped,) = model.rules
        (feature,) = compile_rule(mapped, replace(model, query=opened), opened)
        if len(feature.clauses) == 1 and not feature.negated:
            yield mapped, mapping, shaper(feature.clauses[0])
