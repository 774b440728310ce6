"""Alchemy's reading of a formula: its conjunctive normal form, with the weight divided over the clauses.

As in Alchemy 2 (`zzcreateClauses`), unit clauses of one normal form are taken together: two or more of them become
one negated clause (`H ^ S` is `!H v !S` with the negated weight), so that k counts them once. Universal quantifiers
become grounding variables; EXIST is the disjunction over its groundings. Hard formulas mean what they say: each
clause must hold (Alchemy 2 turns the hard `H ^ S.` into its negation, which is no reading of the language).

A template means what its formulas mean that are written out, constant by constant: each has a normal form of its own, and
a clause that lacks a `+` variable stands there once for each of its constants, so that the weights add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlrl.errors import ModelError, Parameter, UnsupportedError
from sqlrl.logic.boolean import Node, Signed, Witness, conjuncts, prenex
from sqlrl.logic.expansions import fill
from sqlrl.logic.limits import LARGEST_FORM
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import normalise
from sqlrl.logic.printer import format_formula, placed
from sqlrl.logic.signs import split_rule
from sqlrl.logic.subformulas import atoms_of, subformulas, terms_of
from sqlrl.logic.terms import (
    And,
    Atom,
    ClauseLiteral,
    Constant,
    Equal,
    EqualityLiteral,
    Exist,
    ExistsLiteral,
    Feature,
    Formula,
    Literal,
    Not,
    Or,
    Variable,
)
from sqlrl.logic.witnesses import Emitter


@dataclass(frozen=True, slots=True)
class NormalRule:
    """A rule of exact semantics, and how often it counts."""

    rule: Rule
    # `+` variables (name, type) that the rule lacks: it counts once for each combination of their constants.
    repeated: tuple[tuple[str, str], ...] = ()


_OWN = "constant of +{}"
"""Stands for any constant that a formula does not name."""


def features(formula: Formula, hard: bool, model: Model, open_predicates: frozenset[str]) -> tuple[Feature, ...]:
    """Return a feature for each clause of the normal form of a formula without `*`, unit clauses of a soft one together."""
    normal = normalise(formula, model)
    clauses = _clauses(normal.node, formula)
    if hard:
        groups = [(clause, False) for clause in clauses]
    else:
        units = [clause[0] for clause in clauses if len(clause) == 1]
        groups = [(clause, False) for clause in clauses if len(clause) != 1]
        if len(units) == 1:
            groups.append(((units[0],), False))
        elif units:
            groups.append((tuple(u.negated() for u in units), True))
    if len(groups) > LARGEST_FORM:
        raise ModelError(f"the formula expands to more than {LARGEST_FORM} clauses: split it into smaller ones")
    found = []
    for clause, negated in groups:
        emitter = Emitter(normal, open_predicates)
        (written,) = emitter.clauses([clause], promote=True)
        factor = 1.0 if hard else 1 / len(groups)
        found.append(Feature(written.variables, normal.plus, (written,), negated, emitter.helpers, factor))
    return tuple(found)


def _clauses(node: Node, formula: Formula) -> list[tuple[Signed, ...]]:
    """Return the clauses of the normal form, universal quantifiers in front."""
    clauses = [prenex(clause) for clause in conjuncts(node)]
    for signed in (s for clause in clauses for s in clause):
        if isinstance(signed.atom, Witness) and len(signed.atom.conjunction) > 1:
            problem = f"EXIST over a conjunction has no normal form without the constants: use {Parameter('semantics', 'exact')}, in"
            raise UnsupportedError(f"{problem}: {format_formula(formula)}")
    return clauses


def normal_rules(rule: Rule, model: Model, open_predicates: frozenset[str]) -> tuple[NormalRule, ...]:
    """Return the rules of exact semantics that mean what a rule means under `semantics="alchemy"`."""
    found: list[NormalRule] = []
    for each in split_rule(rule):
        parts = features(each.formula, each.hard, model, open_predicates)
        shares = [_share(each, feature) for feature in parts]
        if not each.hard:
            _check_alike(each, shares, model, open_predicates)
        found += [NormalRule(share, _repeated(share, feature)) for share, feature in zip(shares, parts, strict=True)]
    return tuple(found)


def _repeated(share: Rule, feature: Feature) -> tuple[tuple[str, str], ...]:
    """Return the `+` variables that a clause of a normal form lacks; a hard clause counts once, listed clauses as listed."""
    if share.hard or share.expansions is not None:
        return ()
    mentioned = {term.name for term in terms_of(share.formula) if isinstance(term, Variable)}
    return tuple((name, kind) for name, kind in feature.variables if name in feature.plus and name not in mentioned)


def _check_alike(rule: Rule, shares: list[Rule], model: Model, open_predicates: frozenset[str]) -> None:
    """Refuse a template whose formulas have different normal forms."""
    # Where two `+` variables have one constant, or one has a constant of the formula, literals can become the same and
    # equalities known. That matters only to several clauses: of one alone only constant terms change.
    atoms = list(atoms_of(rule.formula))
    equalities = any(isinstance(part, Equal) for part in subformulas(rule.formula))
    if len(shares) < 2 or (not equalities and len({atom.predicate for atom in atoms}) == len(atoms)):
        return

    def parts(rules: list[Rule], same: dict[str, str]) -> dict[tuple[bool, frozenset[str]], Fraction]:
        """Return how much of the weight each clause has, with constants in place of `+` variables."""
        found: dict[tuple[bool, frozenset[str]], Fraction] = {}
        for each in rules:
            weight = Fraction(each.weight or 0).limit_denominator()
            for feature in features(fill(each.formula, same), False, model, open_predicates):
                (clause,) = feature.clauses
                if clause.literals:
                    key = feature.negated, frozenset(map(str, clause.literals))
                    share = weight * Fraction(feature.factor).limit_denominator()
                    found[key] = found.get(key, Fraction()) + share
        return found

    plus = {name: kind for name, kind in normalise(rule.formula, model).variables if name in _plus(rule.formula)}
    named = tuple(dict.fromkeys(term.name for term in terms_of(rule.formula) if isinstance(term, Constant)))
    whole, shared = [replace(rule, weight=1.0)], [replace(each, weight=1 / len(shares)) for each in shares]
    for row in _patterns(plus, named):
        if parts(whole, row) != parts(shared, row):
            raise ModelError(
                f"{placed(rule)}: where {_in_words(row, named)} the normal form has other clauses, over which "
                f"{Parameter('semantics', 'alchemy')} divides the weight: write the formula as several rules, with constants in place of +, or use "
                f"{Parameter('semantics', 'exact')}"
            )


def _plus(formula: Formula) -> set[str]:
    """Return the names of the `+` variables of a formula."""
    return {term.name for term in terms_of(formula) if isinstance(term, Variable) and term.plus}


def _patterns(plus: Mapping[str, str], named: Sequence[str]) -> list[dict[str, str]]:
    """Return constants for `+` variables (name to type), a row for each way in which some of them can coincide."""
    rows: list[dict[str, str]] = [{}]
    for name, kind in plus.items():
        # A variable has a constant of the formula, that of an earlier variable of its type, or one of its own.
        own = {other: _OWN.format(other) for other, its in plus.items() if its == kind}
        rows = [
            {**row, name: constant}
            for row in rows
            for constant in (*named, *(own[x] for x in own if row.get(x) == own[x]), own[name])
        ]
    return rows


def _in_words(row: Mapping[str, str], named: Sequence[str]) -> str:
    """Return which `+` variables have the same constant, and which one if the formula names it."""
    groups: dict[str, list[str]] = {}
    for name, constant in row.items():
        groups.setdefault(constant, [str(Constant(constant))] if constant in named else []).append(f"+{name}")
    return (
        " and ".join(" = ".join(sorted(group)) for group in groups.values() if len(group) > 1) or "all constants differ"
    )


def _share(rule: Rule, feature: Feature) -> Rule:
    (clause,) = feature.clauses
    parts = tuple(_formula(literal) for literal in clause.literals)
    formula: Formula = parts[0] if len(parts) == 1 else Or(parts)
    if feature.negated:
        formula = And(tuple(part.body if isinstance(part, Not) else Not(part) for part in parts))
    weight = None if rule.weight is None else rule.weight * feature.factor
    found = rule.expansions
    if found is not None:
        found = replace(found, weights=tuple(w * feature.factor for w in found.weights))
    return replace(rule, formula=formula, weight=weight, expansions=found)


def _formula(literal: ClauseLiteral) -> Formula:
    """Return a literal of a clause as a formula."""
    match literal:
        case Literal(predicate, terms, positive):
            return Atom(predicate, terms) if positive else Not(Atom(predicate, terms))
        case EqualityLiteral(left, right, positive):
            return Equal(left, right) if positive else Not(Equal(left, right))
        case ExistsLiteral(variables, conjunction):
            parts = tuple(map(_formula, conjunction))
            return Exist(tuple(name for name, _ in variables), parts[0] if len(parts) == 1 else And(parts))
