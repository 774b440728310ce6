"""A model of a source domain under a mapping to a target domain: clauses of the target, and what it has none for."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlrl.errors import UnsupportedError
from sqlrl.logic.boolean import FALSE, TRUE, Any, Node, Signed, Witness, conjuncts, negate, prenex
from sqlrl.logic.candidates import clause_formula, concluded, implication
from sqlrl.logic.expansions import expand_rule
from sqlrl.logic.isomorphism import Distinct
from sqlrl.logic.mapping import Declarations, PredicateMapping, format_constant
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import Normal, normalise
from sqlrl.logic.printer import LONGEST_SHOWN, format_formula, placed
from sqlrl.logic.signs import split_rule
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import (
    Constant,
    EqualityLiteral,
    Formula,
    Literal,
    Term,
    Variable,
    terms_in,
)
from sqlrl.wording import shortened

Plain = Literal | EqualityLiteral
Why = typing.Literal["predicate", "constant", "quantifier", "tautology", "equal"]

_NEVER_TRUE = "the rule is never true, whatever the data: leave it out of the source model"
_NO_CLAUSE = (
    "the rule is no clause, and only disjunctions of literals are transferred: write in its place the clauses that it stands for, or leave "
    "it out of the source model"
)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A source rule, or one clause of it, that a mapped model has no rule for."""

    rule: Rule  # with the line and the weight that it has in the source
    # No counterpart of a predicate or constant; quantifiers, so that the rule is no clause; always true; or equal to
    # another clause of the mapped model.
    why: Why
    reason: str

    def __str__(self) -> str:
        return f"{placed(self.rule)}: {self.reason}"


@dataclass(frozen=True, slots=True)
class MappedModel:
    """A model of the target domain, made from a model of the source domain by a mapping."""

    # Each rule is a disjunction of literals and equalities, with the line of its source rule. No two are the same up to
    # the names of variables and the order of literals.
    model: Model
    dropped: tuple[Dropped, ...]  # in the order of the source


def transferred(model: Model, mapping: PredicateMapping, target: Declarations) -> MappedModel:
    """Return the clauses of a source model translated to a target domain, and the rules and clauses that are dropped.

    A rule is dropped as a whole if *any* of its predicates has no counterpart. Mihalkova and Mooney leave that open for
    a clause; without the literal it would claim more than the source (`InPhase(x, y) => Student(x)` as `Actor(x)`).
    """
    types = mapping.types(model.predicates, target)
    targets = mapping.targets
    translation = _Translation(model, mapping, types)
    outcomes: list[_MappedClause | Dropped] = []
    refused: list[str] = []
    for rule in (part for whole in model.rules for part in _plain_rules(whole)):
        missing = [name for name in _predicates_of(rule.formula) if targets.get(name) is None]
        if missing:
            reason = f"the mapping has no counterpart for {', '.join(missing)}"
            outcomes.append(Dropped(rule, "predicate", reason))
            continue
        normal = normalise(rule.formula, model)
        clauses = _clauses(rule, normal, model.semantics)
        if clauses is None and _quantified(normal.node):
            reason = "only disjunctions of literals are transferred, and it has quantifiers"
            outcomes.append(Dropped(rule, "quantifier", reason))
        elif clauses is None:
            refused.append(f"{placed(rule)}: {_NEVER_TRUE if normal.node == FALSE else _NO_CLAUSE}")
        elif not clauses:
            outcomes.append(Dropped(rule, "tautology", "it is always true"))
        else:
            outcomes += [translation(clause, literals, normal) for clause, literals in clauses]
    # All are named: who wrote them can say by which clauses, each with a weight of its own, they are to be replaced.
    if refused:
        raise UnsupportedError("\n".join(refused))
    rules, dropped = _merged(outcomes)
    mapped = replace(
        model,
        predicates=dict(target),
        types={},
        rules=rules,
        query=frozenset(name for name in map(targets.get, model.query) if name is not None),
        bins={},
    )
    return MappedModel(mapped, dropped)


def _predicates_of(formula: Formula) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atom.predicate for atom in atoms_of(formula)))


def _plain_rules(rule: Rule) -> Iterator[Rule]:
    """Yield the rules that a rule stands for: of each combination of signs, and of each clause that was found for a template."""
    for each in split_rule(rule):
        # Clauses learned for a template name the source's constants; those that a structure learner found stay clauses.
        if each.expansions is not None and each.expansions.found:
            yield from expand_rule(each)
        else:
            yield replace(each, expansions=None)


def _clauses(rule: Rule, normal: Normal, semantics: str) -> list[tuple[Rule, tuple[Plain, ...]]] | None:
    """Return the clauses of a rule, each as a rule with the rest of it; none if it is always true; None if it is no clauses."""
    node = normal.node
    if node == TRUE:
        return []
    if node == FALSE:
        return None
    # A variable that no literal of the clause has, which `P(x) v (Q(y) ^ !Q(y))` leaves, is no longer counted.
    literals = _disjunction(node)
    if literals is not None:
        return [(rule, literals)]
    if rule.hard:
        parts = [_literals(prenex(clause)) for clause in conjuncts(node)]
        if None not in parts:
            return [(replace(rule, formula=clause_formula(part)), part) for part in parts if part is not None]
    elif semantics == "exact" and (negated := _disjunction(negate(node))) is not None:
        weight = None if rule.weight is None else -rule.weight
        return [(replace(rule, formula=clause_formula(negated), weight=weight), negated)]
    return None


def _disjunction(node: Node) -> tuple[Plain, ...] | None:
    """Return the literals of a disjunction; None for any other function."""
    return _literals(node.parts if isinstance(node, Any) else (node,))


def _literals(parts: Iterable[Node]) -> tuple[Plain, ...] | None:
    """Return the literals of a clause; None if a part is none, or a variable has its type from other clauses of the rule alone."""
    found: list[Plain] = []
    for part in parts:
        if not isinstance(part, Signed) or isinstance(part.atom, Witness):
            return None
        found.append(replace(part.atom, positive=part.positive))
    typed = {x for literal in found if isinstance(literal, Literal) for x in _variables(literal)}
    waiting = [set(_variables(literal)) for literal in found if isinstance(literal, EqualityLiteral)]
    while reached := [names for names in waiting if names & typed]:
        typed.update(*reached)
        waiting = [names for names in waiting if not names & typed]
    return None if waiting else tuple(found)


def _variables(literal: Plain) -> Iterator[str]:
    return (term.name for term in terms_in(literal) if isinstance(term, Variable))


def _quantified(node: Node) -> bool:
    return isinstance(node.atom, Witness) if isinstance(node, Signed) else any(map(_quantified, node.parts))


class _Translation:
    """Puts predicates and constants of the target in place of those of the source."""

    def __init__(self, model: Model, mapping: PredicateMapping, types: Mapping[str, str]) -> None:
        self._model, self._types = model, types
        self._targets, self._constants = mapping.targets, mapping.constant_targets
        self._distinct = Distinct()

    def __call__(self, rule: Rule, literals: Sequence[Plain], normal: Normal) -> _MappedClause | Dropped:
        """Return what a rule with the given literals becomes in the target, or why it becomes nothing."""
        missing = dict.fromkeys(
            (kind, term.name)
            for literal in literals
            for term, kind in self._typed(literal, normal)
            if isinstance(term, Constant) and self._constants.get((kind, term.name)) is None
        )
        if missing:
            named = " and ".join(f"{format_constant(name)} of the type {kind}" for kind, name in missing)
            return Dropped(rule, "constant", f"the mapping has no counterpart for the constant {named}")
        mapped = tuple(dict.fromkeys(self._literal(literal, normal) for literal in literals))
        # What the source concludes the target does, too, so that a rule reads as it did.
        heads = {self._literal(literal, normal) for literal in concluded(rule.formula) if literal in literals}
        formula = implication(mapped, [literal in heads for literal in mapped])
        # A clause can become always true where two constants are mapped to one.
        if any(replace(literal, positive=not literal.positive) in mapped for literal in mapped):
            text = shortened(format_formula(formula), LONGEST_SHOWN)
            return Dropped(rule, "tautology", f"as {text} it is always true")
        return _MappedClause(rule, formula, self._key(mapped, normal))

    def _typed(self, literal: Plain, normal: Normal) -> Iterator[tuple[Term, str]]:
        """Yield the terms of a literal with their source types."""
        if isinstance(literal, Literal):
            yield from zip(literal.terms, self._model.predicates[literal.predicate].types, strict=True)
            return
        # One of its sides is a variable, since of two constants it is known whether they are equal.
        kind = next(normal.types[t.name] for t in (literal.left, literal.right) if isinstance(t, Variable))
        yield from ((term, kind) for term in (literal.left, literal.right))

    def _literal(self, literal: Plain, normal: Normal) -> Plain:
        terms = [
            term if isinstance(term, Variable) else Constant(str(self._constants[kind, term.name]))
            for term, kind in self._typed(literal, normal)
        ]
        if isinstance(literal, EqualityLiteral):
            return EqualityLiteral(terms[0], terms[1], literal.positive)
        return Literal(str(self._targets[literal.predicate]), tuple(terms), literal.positive)

    def _key(self, literals: Sequence[Plain], normal: Normal) -> object:
        """Return what clauses share that are the same; `+` variables are told from others by a mark."""
        variables = dict.fromkeys(t for x in literals for t in terms_in(x) if isinstance(t, Variable))
        kinds = tuple((t.name, self._types[normal.types[t.name]]) for t in variables)
        marks = [Literal("+", (Variable(t.name),)) for t in variables if t.plus]
        return self._distinct.key(kinds, [*literals, *marks])


@dataclass(frozen=True, slots=True)
class _MappedClause:
    """A clause of the target, with the source rule that it is of, and its canonical form."""

    source: Rule
    formula: Formula
    key: object


def _merged(mapped: Sequence[_MappedClause | Dropped]) -> tuple[tuple[Rule, ...], tuple[Dropped, ...]]:
    """Return each clause once as a rule, and what is dropped: those that are the same as another one are, too."""
    groups: dict[object, list[_MappedClause]] = {}
    for each in mapped:
        if isinstance(each, _MappedClause):
            groups.setdefault(each.key, []).append(each)
    # A hard clause makes the same one with a weight superfluous.
    stays = {key: next((x for x in group if x.source.hard), group[0]) for key, group in groups.items()}
    rules: list[Rule] = []
    dropped: list[Dropped] = []
    for each in mapped:
        if isinstance(each, Dropped):
            dropped.append(each)
        elif each is stays[each.key]:
            rules.append(_rule(each, groups[each.key]))
        else:
            dropped.append(Dropped(each.source, "equal", _same_as(stays[each.key], each.formula)))
    return tuple(rules), tuple(dropped)


def _rule(stays: _MappedClause, group: Sequence[_MappedClause]) -> Rule:
    """Return a clause as a rule with the weights of all that are the same."""
    rule = replace(stays.source, formula=stays.formula)
    if rule.hard or len(group) == 1:
        return rule
    # The sum says what all of them said together; if one of the weights is to be learned, that of the sum is.
    weights = [each.source.weight for each in group if each.source.weight is not None]
    weight = sum(weights) if len(weights) == len(group) else None
    return replace(rule, weight=weight, fixed=weight is not None and all(each.source.fixed for each in group))


def _same_as(stays: _MappedClause, formula: Formula) -> str:
    """Say that a clause is the same as one that stays."""
    here, there = (shortened(format_formula(each), LONGEST_SHOWN) for each in (formula, stays.formula))
    place = f"that of {stays.source.place}, {there}" if stays.source.place else there
    end = "which is hard" if stays.source.hard else "to which its weight is added"
    return f"as {here} it is the same clause as {place}, {end}"
