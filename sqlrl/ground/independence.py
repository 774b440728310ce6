"""Examples are independent: which formulas would tie them together, or read differently from clause to clause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.errors import ModelError, UnsupportedError
from sqlrl.logic.model import Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import Slot, in_given_order
from sqlrl.logic.subformulas import parts_of
from sqlrl.logic.terms import (
    Atom,
    Clause,
    Exist,
    ExistsLiteral,
    Feature,
    ForAll,
    Formula,
    Helper,
    Literal,
    Term,
    Variable,
)
from sqlrl.plan.slots import bind


def check_independence(layout: Layout, rule: Rule, feature: Feature) -> None:
    """Refuse a formula whose open literals belong to several examples, or whose local variables have no one domain.

    Literals with closed predicates may be about other examples: they are evidence.

    Parameters
    ----------
    layout : Layout
    rule : Rule
    feature : Feature
        The rule's.

    Raises
    ------
    ModelError
        Names the rule and the example terms.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> check_independence(program.layout, program.model.rules[0], program.features[0].feature)  # all is one example
    """
    if layout.example_type is None:
        return
    terms = dict.fromkeys(_example_terms(layout, rule.formula, frozenset()))
    if len(terms) > 1 or any(quantified for _, quantified in terms):
        names = ", ".join(str(term) for term, _ in terms)
        raise ModelError(
            f"{placed(rule)}: its open literals belong to several examples ({names}), but examples are independent: make all "
            "data one example, or load what ties them together as evidence"
        )
    several = feature.clauses if len(feature.clauses) > 1 else ()
    known = _with_helpers(layout, feature)
    readings: dict[str, frozenset[str]] = {}
    if any(
        readings.setdefault(name, owners) != owners
        for clause in several
        for name, owners in _reading(known, clause, feature.plus).items()
    ):
        raise ModelError(
            f"{placed(rule)}: a variable of a local type stands beside different examples in the clauses of this formula, which leaves its "
            "domain unclear: write the clauses as rules of their own"
        )


def check_templates(layout: Layout, rule: Rule, feature: Feature) -> None:
    """Refuse a `+` variable of a local type under a quantifier that needs helper atoms, unless evidence keeps it in its domain.

    Helper atoms exist for constants inside the domain of each example; the clauses of a template are about all constants.

    Parameters
    ----------
    layout : Layout
    rule : Rule
    feature : Feature
        The rule's.

    Raises
    ------
    UnsupportedError

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> check_templates(program.layout, program.model.rules[0], program.features[0].feature)  # no type is local
    """
    helpers = {helper.name: helper for helper in feature.helpers}
    calls = (x for clause in feature.clauses for x in clause.literals if isinstance(x, Literal))
    for literal in (x for x in calls if x.predicate in helpers):
        helper = helpers[literal.predicate]
        for (name, kind), term in zip(helper.variables, literal.terms, strict=True):
            plus = isinstance(term, Variable) and term.plus
            if plus and layout.types[kind].local and not _kept_inside(layout, helper, name):
                raise UnsupportedError(
                    f"{placed(rule)}: {term} is of the local type {kind!r} and stands under a quantifier over several literals with open "
                    f"predicates or under a negation, beside no positive evidence: make {kind!r} global, or write the clauses out"
                )


def _kept_inside(layout: Layout, helper: Helper, name: str) -> bool:
    """True if the definition of a helper holds only for constants of the examples' domains."""
    return any(
        part.positive
        and Variable(name) in part.terms
        and part.predicate in layout.predicates
        # Facts of an open predicate may be outside of every domain.
        and not (layout.predicates[part.predicate].open and layout.predicates[part.predicate].has_given)
        and layout.predicates[part.predicate].name in _beside_example(layout)
        for part in helper.definition.conjunction
        if isinstance(part, Literal)
    )


def _beside_example(layout: Layout) -> set[str]:
    """Return the predicates that are not global."""
    return {p.name for p in layout.predicates.values() if p.example_column or layout.example_type in p.types}


def _example_terms(layout: Layout, formula: Formula, inside: frozenset[str]) -> Iterator[tuple[Term, bool]]:
    """Yield the example terms of open atoms, each with whether it is quantified inside the formula."""
    match formula:
        case Atom(predicate, terms):
            info = layout.predicates.get(predicate)
            for term, kind in zip(terms, info.types if info is not None and info.open else (), strict=False):
                if kind == layout.example_type:
                    bare = Variable(term.name) if isinstance(term, Variable) else term
                    yield bare, isinstance(term, Variable) and term.name in inside
        case ForAll(variables, body) if not inside:
            yield from _example_terms(layout, body, frozenset())
        case ForAll(variables, body) | Exist(variables, body):
            yield from _example_terms(layout, body, inside | frozenset(variables))
        case _:
            # Below a negation or a connective a FORALL is no outermost one.
            for part in parts_of(formula):
                yield from _example_terms(layout, part, inside or frozenset({""}))


def _with_helpers(layout: Layout, feature: Feature) -> Layout:
    """Add the helpers of a feature, which have no tables yet; one over closed literals alone is closed."""
    nowhere, known = TableName(*layout.scratch, ""), dict(layout.predicates)
    for helper in feature.helpers:
        opened = any(known[x.predicate].open for x in helper.definition.conjunction if isinstance(x, Literal))
        types = tuple(kind for _, kind in helper.variables)
        known[helper.name] = PredicateInfo(helper.name, types, opened, nowhere, nowhere if opened else None)
    return replace(layout, predicates=known)


def _reading(layout: Layout, clause: Clause, plus: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return by name over which examples each variable of a clause ranges, and under '' those to which queries are restricted.

    Clauses of a hard formula may have variables that were quantified beside those of the formula.
    """
    instance = in_given_order(clause, lambda predicate, i: layout.predicates[predicate].types[i])
    bound = bind(instance.shape, layout)
    inside = [v for x in clause.literals if isinstance(x, ExistsLiteral) for v in x.variables]
    names = [name for name, _ in (*clause.variables, *inside)]

    def name(slot: Slot) -> str:
        """Return the name of a variable, or the constant of a parameter."""
        return str(instance.arguments[slot.index]) if slot.parameter else names[slot.index]

    found = {"": frozenset(map(name, bound.restricted))}
    for i, (variable, _) in enumerate(clause.variables):
        if variable not in plus and bound.is_local(Slot(False, i)):
            found[variable] = frozenset(map(name, bound.owners[Slot(False, i)]))
    return found
