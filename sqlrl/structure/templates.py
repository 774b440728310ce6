"""Added clauses as rules: one template for each pattern and sign of its start, which lists the clauses with their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlrl.ground.network import FloatArray
from sqlrl.logic.rules import Expansions, Rule
from sqlrl.logic.shapes import Shape, Slot
from sqlrl.logic.terms import Atom, Formula, Term, Variable
from sqlrl.structure.additions import Addition, kinds_of
from sqlrl.structure.pathfinding.clauses import formula_of, variable_names
from sqlrl.structure.pathfinding.patterns import PatternBook


def template_of(shape: Shape, *, horn: bool) -> tuple[Formula, tuple[str, ...]]:
    """Return a clause of a pattern with a `+` variable for each parameter, and these variables in order.

    Parameters
    ----------
    shape : Shape
        That of the pattern.
    horn : bool
        True for the clause in which the first literal, the start, is positive: an implication of the start.

    Examples
    --------
    >>> from sqlrl.logic.printer import format_formula
    >>> from sqlrl.structure.pathfinding.sample import field_pattern
    >>> formula, plus = template_of(field_pattern(), horn=True)
    >>> print(format_formula(formula), *plus)
    InField(b, +f2, p2) ^ Next(p1, p2) => InField(b, +f1, p1) f1 f2
    """
    names = variable_names((*shape.variables, *shape.parameters))
    variables, plus = names[: len(shape.variables)], names[len(shape.variables) :]

    def term(slot: Slot) -> Term:
        """Return the variable of a slot."""
        return Variable(plus[slot.index], plus=True) if slot.parameter else Variable(variables[slot.index])

    return formula_of([Atom(x.predicate, tuple(map(term, x.terms))) for x in shape.literals], horn=horn), plus


def rules_of(
    book: PatternBook, additions: Sequence[Addition], weights: FloatArray, names: Callable[[str], Sequence[str]]
) -> tuple[tuple[Rule, ...], list[int]]:
    """Return added clauses as rules.

    Parameters
    ----------
    book : PatternBook
    additions : sequence of Addition
    weights : float array
        Log-odds of each.
    names : callable
        The names of a type's constants, by id.

    Returns
    -------
    rules : tuple of Rule
        Templates that list their clauses; a pattern without parameters is a plain rule.
    order : list of int
        The additions in the order in which the rules list them.
    """
    rules: list[Rule] = []
    order: list[int] = []
    for kind, members in kinds_of(additions):
        shape = book.patterns[kind // 2].shape
        formula, plus = template_of(shape, horn=bool(kind % 2))
        order += members.tolist()
        if not plus:
            rules.append(Rule(formula, float(weights[members[0]])))
            continue
        words = [names(kind) for kind in shape.parameters]
        rows = tuple(
            tuple(word[i] for word, i in zip(words, additions[m].constants, strict=True)) for m in members.tolist()
        )
        listed = Expansions(plus, rows, tuple(float(weights[m]) for m in members.tolist()), found=True)
        rules.append(Rule(formula, None, expansions=listed))
    return tuple(rules), order
