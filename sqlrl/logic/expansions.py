"""Templates and the clauses they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from sqlrl.errors import ModelError
from sqlrl.logic.rules import Rule, RuleSet
from sqlrl.logic.subformulas import atoms_of, terms_of, with_parts
from sqlrl.logic.terms import (
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Term,
    Variable,
)

AnyModel = TypeVar("AnyModel", bound=RuleSet)


def expand(model: AnyModel) -> AnyModel:
    """Return a model with each clause of a template as a weighted rule of its own, in order."""
    if all(rule.expansions is None for rule in model.rules):
        return model
    return model.with_rules(tuple(r for rule in model.rules for r in expand_rule(rule)))


def expand_rule(rule: Rule) -> tuple[Rule, ...]:
    """Return the clauses of a template as rules, or the rule itself if it has no expansions."""
    found = rule.expansions
    if found is None:
        return (rule,)
    if len(found.rows) != len(found.weights) or any(len(row) != len(found.variables) for row in found.rows):
        problem = f"{len(found.rows)} rows, {len(found.weights)} weights and {len(found.variables)} variables"
        raise ModelError(f"the expansions of a template do not fit together: {problem}")
    return tuple(
        replace(
            rule, formula=fill(rule.formula, dict(zip(found.variables, row, strict=True))), weight=w, expansions=None
        )
        for row, w in zip(found.rows, found.weights, strict=True)
    )


@dataclass(frozen=True)
class Left(Generic[AnyModel]):
    """What is left of a model: `place` has the new place of each rule by its old one, `first` the old places of rules kept for a mention."""

    model: AnyModel
    place: Mapping[int, int]
    first: frozenset[int]


def without_zeros(model: AnyModel, mentioned: Iterable[str] = ()) -> Left[AnyModel]:
    """Drop clauses of weight 0 that are neither hard nor fixed; each predicate in `mentioned` keeps one that mentions it."""
    left = {i: kept for i, rule in enumerate(model.rules) if (kept := _without_zeros(rule)) is not None}
    first = set[int]()
    # A model predicts what its rules mention, so the first clause about a predicate stays where no other one does.
    for name in sorted(mentioned):
        if any(_mentions(rule, name) for rule in left.values()):
            continue
        place = next((i for i, rule in enumerate(model.rules) if _mentions(rule, name)), None)
        if place is not None:
            first.add(place)
            left[place] = _first_clause(model.rules[place])
    order = sorted(left)
    rules = tuple(left[i] for i in order)
    return Left(model.with_rules(rules), {old: new for new, old in enumerate(order)}, frozenset(first))


def _mentions(rule: Rule, predicate: str) -> bool:
    return any(atom.predicate == predicate for atom in atoms_of(rule.formula))


def _without_zeros(rule: Rule) -> Rule | None:
    """Return a rule without its clauses of weight 0; None if nothing is left."""
    if rule.hard or rule.fixed:
        return rule
    found = rule.expansions
    if found is None:
        return None if rule.weight == 0 else rule
    kept = [i for i, weight in enumerate(found.weights) if weight != 0]
    if len(kept) == len(found.weights):
        return rule if kept else None
    rows, weights = tuple(found.rows[i] for i in kept), tuple(found.weights[i] for i in kept)
    # With clauses gone, nobody can tell which combinations training never met: the rest count as found one by one.
    return replace(rule, expansions=replace(found, rows=rows, weights=weights, found=True)) if kept else None


def _first_clause(rule: Rule) -> Rule:
    """Return a rule with the first of its clauses."""
    found = rule.expansions
    if found is None:
        return rule
    return replace(rule, expansions=replace(found, rows=found.rows[:1], weights=found.weights[:1], found=True))


def fill(formula: Formula, constants: Mapping[str, str]) -> Formula:
    """Put constants in place of `+` variables, at all free occurrences, also those written without `+`."""
    return _replace(formula, {name: Constant(constant) for name, constant in constants.items()})


def canonical_variables(formula: Formula, kept: Collection[str] = ()) -> Formula:
    """Rename free variables, all but some, in the order in which they stand, to names that no text of a rule has."""
    names = [term.name for term in terms_of(formula) if isinstance(term, Variable) and term.name not in kept]
    return rename_variables(formula, {name: f"?{i}" for i, name in enumerate(dict.fromkeys(names))})


def rename_variables(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Rename free variables, which lose their `+`; no quantifier of the formula may use a new name."""
    return _replace(formula, {name: Variable(new) for name, new in names.items()})


def _replace(formula: Formula, terms: Mapping[str, Term]) -> Formula:
    """Put terms in place of free variables."""

    def term(old: Term) -> Term:
        """Return the term in place of a variable."""
        return terms.get(old.name, old) if isinstance(old, Variable) else old

    match formula:
        case Atom(predicate, arguments):
            return Atom(predicate, tuple(map(term, arguments)))
        case BothSigns(atom):
            return BothSigns(Atom(atom.predicate, tuple(map(term, atom.terms))))
        case Equal(left, right):
            return Equal(term(left), term(right))
        case ForAll(variables, _) | Exist(variables, _):
            terms = {k: v for k, v in terms.items() if k not in variables}
    return with_parts(formula, lambda part: _replace(part, terms))
