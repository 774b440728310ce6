"""The constants that a model's rules name, with the types of the arguments in which they stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlrl.logic.model import Model, Rule
from sqlrl.logic.subformulas import atoms_of, subformulas
from sqlrl.logic.terms import Constant, Equal, Predicate, Term, Variable


def used_predicates(model: Model) -> frozenset[str]:
    """Return the predicates that occur in the rules of a model.

    Examples
    --------
    >>> from sqlrl.logic.terms import Atom
    >>> used_predicates(Model({}, rules=(Rule(Atom("P", (Constant("A"),))),)))
    frozenset({'P'})
    """
    return frozenset(atom.predicate for rule in model.rules for atom in atoms_of(rule.formula))


def clause_constants(model: Model) -> dict[str, dict[str, Rule]]:
    """Return by type the constants that the rules name, each with the first rule that does."""
    found: dict[str, dict[str, Rule]] = {}
    for rule in model.rules:
        for type_name, constant in _typed_constants(rule, model.predicates):
            found.setdefault(type_name, {}).setdefault(constant, rule)
    return found


def _typed_constants(rule: Rule, predicates: Mapping[str, Predicate]) -> Iterator[tuple[str, str]]:
    """Yield (type, constant) of a rule; constants in an equality have the type of its other side."""
    variables: dict[str, str] = {}
    for atom in atoms_of(rule.formula):
        for term, type_name in zip(atom.terms, predicates[atom.predicate].types, strict=True):
            if isinstance(term, Constant):
                yield type_name, term.name
            else:
                variables.setdefault(term.name, type_name)
    for equal in (part for part in subformulas(rule.formula) if isinstance(part, Equal)):
        for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
            found = _variable_type(one, variables)
            if isinstance(other, Constant) and found is not None:
                yield found, other.name
    if rule.expansions is not None:
        types = [variables.get(v) for v in rule.expansions.variables]
        for row in rule.expansions.rows:
            yield from ((t, name) for t, name in zip(types, row, strict=True) if t is not None)


def _variable_type(term: Term, variables: Mapping[str, str]) -> str | None:
    """Return the type of a variable, None for a constant."""
    return variables.get(term.name) if isinstance(term, Variable) else None
