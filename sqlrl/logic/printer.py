"""Printing formulas, models and evidence in Alchemy's language, so that they parse again to equal values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sqlrl.errors import ModelError
from sqlrl.logic.expansions import expand
from sqlrl.logic.limits import LARGEST_RANGE, LONGEST_INTEGER
from sqlrl.logic.rules import Rule, RuleSet
from sqlrl.logic.subformulas import subformulas
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Variable,
)
from sqlrl.wording import shortened

LONGEST_SHOWN = 300
"""How many letters of a formula a message shows."""

_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")
_LOOSEST, _IFF, _IMPLIES, _OR, _AND, _NOT = range(6)


def format_formula(formula: Formula) -> str:
    """Return a formula in Alchemy's language; names are printed as they are, `check_names` tells whether it can be read again."""
    return _format(formula, _LOOSEST)


def _format(formula: Formula, least: int) -> str:
    """Print a formula that stands where operators weaker than `least` need parentheses."""
    match formula:
        case Atom() | BothSigns() | Equal():
            return str(formula)
        case Not(Equal(left, right)):
            return f"{left} != {right}"
        case Not(body):
            return f"!{_format(body, _NOT)}"
        case And(parts):
            return _join(" ^ ", parts, _AND, least)
        case Or(parts):
            return _join(" v ", parts, _OR, least)
        case Implies(left, right):
            return _join(" => ", (left, right), _IMPLIES, least)
        case Iff(left, right):
            return _join(" <=> ", (left, right), _IFF, least)
        case ForAll(variables, body) | Exist(variables, body):
            word = "FORALL" if isinstance(formula, ForAll) else "EXIST"
            text = f"{word} {','.join(variables)} {_format(body, _LOOSEST)}"
            return text if least == _LOOSEST else f"({text})"


def _join(operator: str, parts: Iterable[Formula], own: int, least: int) -> str:
    text = operator.join(_format(part, own + 1) for part in parts)
    return text if own >= least else f"({text})"


def is_identifier(name: str) -> bool:
    """Return True if the language can write a name of a predicate or type."""
    return _IDENTIFIER.match(name) is not None


def check_names(formula: Formula) -> None:
    """Check that the language can write the names of predicates and variables in a formula; ModelError if it cannot."""
    for part in subformulas(formula):
        match part:
            case Atom(predicate, terms):
                if not _IDENTIFIER.match(predicate):
                    raise ModelError(f"the language cannot write the predicate name {predicate!r}: rename it")
                _check_variables(t.name for t in terms if isinstance(t, Variable))
            case Equal(left, right):
                _check_variables(t.name for t in (left, right) if isinstance(t, Variable))
            case ForAll(variables, _) | Exist(variables, _):
                _check_variables(variables)


def _check_variables(names: Iterable[str]) -> None:
    for name in names:
        if not _IDENTIFIER.match(name.rstrip("'")) or name[0].isupper():
            problem = "expected letters, digits and '_', starting with a lower-case letter"
            raise ModelError(f"the language cannot write the variable name {name!r}: {problem}")


def format_predicate(predicate: Predicate) -> str:
    """Return a declaration; ModelError if the language cannot write the name of the predicate or of a type."""
    for name in (predicate.name, *predicate.types):
        if not _IDENTIFIER.match(name):
            raise ModelError(f"the language cannot write the name {name!r} in {predicate}: rename it")
    if predicate.closed or not predicate.name[0].isupper() or not any(kind[0].isupper() for kind in predicate.types):
        return str(predicate)
    # With capitals alone it would be an atom of constants; with a name beside a type it cannot be one.
    first, *others = predicate.arguments
    named = f"{first.type} x{'!' if first.block else ''}"
    return f"{predicate.name}({', '.join([named, *map(str, others)])})"


def format_type(name: str, constants: tuple[str, ...]) -> str:
    """Return the declaration of a type's constants; consecutive integers as a range."""
    if not _IDENTIFIER.match(name):
        raise ModelError(f"the language cannot write the type name {name!r}: rename it")
    if (
        3 < len(constants) < LARGEST_RANGE
        and re.match(r"(0|-?[1-9][0-9]*)\Z", constants[0])
        and len(constants[0]) < LONGEST_INTEGER
    ):
        first = int(constants[0])
        if constants == tuple(map(str, range(first, first + len(constants)))):
            return f"{name} = {{{first}, ..., {first + len(constants) - 1}}}"
    return f"{name} = {{{', '.join(str(Constant(c)) for c in constants)}}}"


def format_rule(rule: Rule, predicates: Mapping[str, Predicate] | None = None, types: Iterable[str] = ()) -> str:
    """Return a rule without expansions as text: weight, formula, and a final '.' if it is hard."""
    check_names(rule.formula)
    text = format_formula(rule.formula)
    if rule.hard:
        return f"{text}."
    if rule.weight is not None:
        return f"{'@' if rule.fixed else ''}{rule.weight!r} {text}"
    atom = rule.formula.atom if isinstance(rule.formula, BothSigns) else rule.formula
    if isinstance(atom, Atom) and all(isinstance(t, Variable) and not t.plus for t in atom.terms):
        known = {t for p in (predicates or {}).values() for t in p.types} | set(types)
        # Without parentheses a lone atom over names of types would read like a declaration.
        if known.issuperset(t.name for t in atom.terms):
            return f"({text})"
    return text


def placed(rule: Rule) -> str:
    r"""Return where a rule stands and its formula, cut where it is long."""
    return ": ".join(filter(None, [rule.place, shortened(format_formula(rule.formula), LONGEST_SHOWN)]))


def format_model(model: RuleSet) -> str:
    """Return a model as the text of an `.mln` file, each clause of a template as a rule of its own."""
    model = expand(model)
    types = [format_type(name, constants) for name, constants in model.types.items()]
    predicates = [format_predicate(p) for p in model.predicates.values()]
    rules = [format_rule(rule, model.predicates, model.types) for rule in model.rules]
    return "\n\n".join("\n".join(part) for part in (types, predicates, rules) if part) + "\n"
