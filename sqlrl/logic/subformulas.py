"""Going through formulas: what is inside them, and the same formula with other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Equal,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Term,
    Variable,
)


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return the formulas right inside a formula, from left to right."""
    match formula:
        case Atom() | Equal():
            return ()
        case Not(body) | ForAll(_, body) | Exist(_, body):
            return (body,)
        case And(parts) | Or(parts):
            return parts
        case Implies(left, right) | Iff(left, right):
            return left, right
        case BothSigns(atom):
            return (atom,)


def with_parts(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """Return a formula with each part right inside it changed, from left to right; atoms, with `*` too, and equalities as they are."""
    match formula:
        case Atom() | Equal() | BothSigns():
            return formula
        case Not(body):
            return Not(change(body))
        case And(parts):
            return And(tuple(map(change, parts)))
        case Or(parts):
            return Or(tuple(map(change, parts)))
        case Implies(left, right):
            return Implies(change(left), change(right))
        case Iff(left, right):
            return Iff(change(left), change(right))
        case ForAll(variables, body):
            return ForAll(variables, change(body))
        case Exist(variables, body):
            return Exist(variables, change(body))


def with_terms(formula: Formula, change: Callable[[Term], Term]) -> Formula:
    """Return a formula with each of its terms changed, in the order of `terms_of`, those of quantified variables too."""
    match formula:
        case Atom(predicate, terms):
            return Atom(predicate, tuple(map(change, terms)))
        case BothSigns(Atom(predicate, terms)):
            return BothSigns(Atom(predicate, tuple(map(change, terms))))
        case Equal(left, right):
            return Equal(change(left), change(right))
        case _:
            return with_parts(formula, lambda part: with_terms(part, change))


def subformulas(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all formulas inside it, from left to right."""
    yield formula
    for part in parts_of(formula):
        yield from subformulas(part)


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms of a formula from left to right."""
    return (part for part in subformulas(formula) if isinstance(part, Atom))


def terms_of(formula: Formula) -> Iterator[Term]:
    """Yield the terms of a formula from left to right."""
    for part in subformulas(formula):
        if isinstance(part, Atom):
            yield from part.terms
        elif isinstance(part, Equal):
            yield from (part.left, part.right)


def free_variables(formula: Formula, bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of the variables of a formula that none of its quantifiers binds, from left to right."""
    match formula:
        case Atom() | Equal() | BothSigns():
            yield from (t.name for t in terms_of(formula) if isinstance(t, Variable) and t.name not in bound)
        case ForAll(variables, body) | Exist(variables, body):
            yield from free_variables(body, bound | set(variables))
        case _:
            for part in parts_of(formula):
                yield from free_variables(part, bound)


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """Yield the parts of a conjunction, those of conjunctions inside it in their place; of another formula itself."""
    if isinstance(formula, And):
        for part in formula.parts:
            yield from conjuncts(part)
    else:
        yield formula
