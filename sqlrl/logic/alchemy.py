"""Alchemy's reading of a formula: its conjunctive normal form, with the weight divided over the clauses.

As in Alchemy 2 (`zzcreateClauses`), unit clauses of one normal form are taken together: two or more of them become
one negated clause (`H ^ S` is `!H v !S` with the negated weight), so that k counts them once. Universal quantifiers
become grounding variables; EXIST is the disjunction over its groundings. Hard formulas mean what they say: each
clause must hold (Alchemy 2 turns the hard `H ^ S.` into its negation, which is no reading of the language).
"""

from __future__ import annotations

from dataclasses import replace

from sqlrl.errors import UnsupportedError
from sqlrl.logic.boolean import Node, Signed, Witness, prenex
from sqlrl.logic.decisions import conjuncts
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.normal import normalise
from sqlrl.logic.printer import format_formula
from sqlrl.logic.signs import split_rule
from sqlrl.logic.terms import (
    And,
    Atom,
    ClauseLiteral,
    Equal,
    EqualityLiteral,
    Exist,
    ExistsLiteral,
    Feature,
    Formula,
    Literal,
    Not,
    Or,
)
from sqlrl.logic.witnesses import Emitter


def features(formula: Formula, hard: bool, model: Model, open_predicates: frozenset[str]) -> tuple[Feature, ...]:
    r"""Return one feature for each clause of the normal form of a formula without `*`.

    Parameters
    ----------
    formula : Formula
    hard : bool
    model : Model
    open_predicates : frozenset of str

    Returns
    -------
    tuple of Feature
        Of a soft formula, each has `factor` 1/k.

    Raises
    ------
    ModelError
        The formula does not fit the declarations.
    UnsupportedError
        EXIST over a conjunction, whose normal form Alchemy can only write once it knows the constants.

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> model = parse_mln("H(t)\nS(t)\n1 H(x) <=> S(x)\n1 H(x) ^ S(x)", semantics="alchemy")
    >>> for rule in model.rules:
    ...     for feature in features(rule.formula, rule.hard, model, frozenset({"H", "S"})):
    ...         print(feature.negated, feature.factor, *feature.clauses)
    False 0.5 H(x) v !S(x)
    False 0.5 !H(x) v S(x)
    True 1.0 !H(x) v !S(x)
    """
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
            problem = "EXIST over a conjunction has no normal form without the constants: use semantics='exact', in"
            raise UnsupportedError(f"{problem}: {format_formula(formula)}")
    return clauses


def normal_rules(rule: Rule, model: Model, open_predicates: frozenset[str]) -> tuple[Rule, ...]:
    r"""Return the rules of exact semantics that mean what a rule means under `semantics="alchemy"`.

    Parameters
    ----------
    rule : Rule
    model : Model
        With its declarations.
    open_predicates : frozenset of str

    Returns
    -------
    tuple of Rule
        One for each clause of a normal form, a soft one with its share of the weight. A learned template keeps its
        clauses, each with its share.

    Examples
    --------
    >>> from sqlrl.logic.mln import parse_mln
    >>> model = parse_mln("H(t)\nS(t)\n1 H(x) <=> S(x)", semantics="alchemy")
    >>> found = normal_rules(model.rules[0], model, frozenset({"H", "S"}))
    >>> [(format_formula(rule.formula), rule.weight) for rule in found]
    [('H(x) v !S(x)', 0.5), ('!H(x) v S(x)', 0.5)]
    """
    return tuple(
        _share(each, feature)
        for each in split_rule(rule)
        for feature in features(each.formula, each.hard, model, open_predicates)
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
