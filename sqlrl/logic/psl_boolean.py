"""Programs of probabilistic soft logic read in Boolean logic: the Markov logic network with the same rules and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlrl.errors import UnsupportedError
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.psl import LogicalRule, SoftModel, SoftRule
from sqlrl.logic.psl_literals import OrderLiteral, SoftLiteral
from sqlrl.logic.terms import And, Atom, Equal, Formula, Implies, Literal, Not, Or, Term, Variable


def boolean_model(model: SoftModel) -> Model:
    """Return the Markov logic network with the rules of a soft model; arithmetic rules and `%` are an UnsupportedError."""
    return Model(dict(model.predicates), rules=tuple(map(_rule, model.rules)), query=model.query)


def _rule(rule: SoftRule) -> Rule:
    if not isinstance(rule, LogicalRule):
        raise UnsupportedError(
            f"{rule.place or rule}: an arithmetic rule holds numbers against each other, and has no Boolean reading: leave it out, or write what "
            "it says with & and ->"
        )
    for literal in rule.literals:
        if isinstance(literal, OrderLiteral):
            raise UnsupportedError(
                f"{rule.place or rule}: '%' is an order of constants that Markov logic does not have: write != in its place"
            )
    names = _lowered(rule)
    head = _joined([_formula(x, names) for x in rule.head], Or)
    body = [_formula(x, names) for x in rule.body]
    formula = Implies(_joined(body, And), head) if body else head
    # The square is left out: distances of truth values 0 and 1 are 0 or 1, so both models cost the same in every world.
    return Rule(formula, rule.weight, hard=rule.hard, line=rule.line, path=rule.path)


def _joined(parts: Sequence[Formula], kind: type[And | Or]) -> Formula:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _lowered(rule: LogicalRule) -> dict[str, str]:
    """Return a name with a small first letter for each variable of a rule, all different."""
    names: dict[str, str] = {}
    for literal in rule.literals:
        terms = literal.terms if isinstance(literal, Literal) else (literal.left, literal.right)
        for term in terms:
            if isinstance(term, Variable) and term.name not in names:
                plain = term.name.replace("$", "_").lstrip("_") or "x"
                name = plain[0].lower() + plain[1:]
                while name in names.values():
                    name += "_"
                names[term.name] = name
    return names


def _formula(literal: SoftLiteral, names: Mapping[str, str]) -> Formula:
    def term(each: Term) -> Term:
        """Return a term with the new name of a variable."""
        return Variable(names[each.name]) if isinstance(each, Variable) else each

    assert not isinstance(literal, OrderLiteral), "refused before"
    if isinstance(literal, Literal):
        found: Formula = Atom(literal.predicate, tuple(map(term, literal.terms)))
    else:
        found = Equal(term(literal.left), term(literal.right))
    return found if literal.positive else Not(found)
