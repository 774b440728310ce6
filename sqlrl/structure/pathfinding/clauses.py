"""Learned clauses in the user's words: patterns with the names of their constants put back."""

from __future__ import annotations

from collections.abc import Sequence

from sqlrl.logic.shapes import Shape, Slot
from sqlrl.logic.terms import And, Atom, Clause, Constant, Formula, Implies, Literal, Not, Or, Term, Variable

_OPERATOR = "v"


def clause_of(shape: Shape, names: Sequence[str], *, horn: bool = False) -> Clause:
    """Return a clause of a pattern.

    Parameters
    ----------
    shape : Shape
        That of the pattern, or any other of plain literals.
    names : sequence of str
        The constant of each parameter.
    horn : bool
        True for the clause in which the first literal, the start, is positive.

    Returns
    -------
    Clause
        Its variables are named by the initials of their types, numbered where several share one.

    Examples
    --------
    >>> from sqlrl.structure.pathfinding.sample import field_pattern
    >>> print(clause_of(field_pattern(), ["ftitle", "ftitle"]))
    !InField(b, "ftitle", p1) v !InField(b, "ftitle", p2) v !Next(p1, p2)
    """
    variables = variable_names(shape.variables)

    def term(slot: Slot) -> Term:
        """Return the variable or constant of a slot."""
        return Constant(names[slot.index]) if slot.parameter else Variable(variables[slot.index])

    literals = tuple(
        Literal(x.predicate, tuple(map(term, x.terms)), x.positive or (horn and i == 0))
        for i, x in enumerate(shape.literals)
    )
    return Clause(tuple(zip(variables, shape.variables, strict=True)), literals)


def formula_of(atoms: Sequence[Atom], *, horn: bool) -> Formula:
    """Return the clause of a path's atoms, the start first: an implication of the start if it is positive, else a disjunction.

    Examples
    --------
    >>> from sqlrl.logic.printer import format_formula
    >>> format_formula(formula_of([Atom("Smokes", (Variable("x"),))], horn=False))
    '!Smokes(x)'
    """
    start, *rest = atoms
    if not horn:
        return Or(tuple(map(Not, atoms))) if rest else Not(start)
    if not rest:
        return start
    return Implies(And(tuple(rest)) if len(rest) > 1 else rest[0], start)


def variable_names(types: Sequence[str]) -> tuple[str, ...]:
    """Return names for variables of some types: their initials, numbered where several share one.

    Examples
    --------
    >>> variable_names(["bib", "position", "position", "venue"])
    ('b', 'p1', 'p2', 'v1')
    """
    initials = [kind[0].lower() for kind in types]
    count: dict[str, int] = {}
    names = []
    for initial in initials:
        count[initial] = count.get(initial, 0) + 1
        alone = initials.count(initial) == 1 and initial != _OPERATOR
        names.append(initial if alone else f"{initial}{count[initial]}")
    return tuple(names)
