"""Non-recursive clauses of a program: their heads, and their bodies over the arguments of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlrl.catalog.layout import Layout
from sqlrl.ground.constants import FOREIGN
from sqlrl.ground.program import Program
from sqlrl.logic.components import BodyLiteral, constant
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import Constant
from sqlrl.plan.slots import bind

NOWHERE = constant(2**31 - 1)
"""The term of a constant that the data do not have: no id is so large."""


@dataclass(frozen=True, slots=True)
class ClauseBody:
    """A non-recursive clause over the arguments of its head.

    Parameters
    ----------
    clause : int
    positive : bool
        Whether the head is a positive literal.
    body : tuple of BodyLiteral
        `predicate` is an index into the closed predicates, sorted.
    same : tuple of (int, int)
        Arguments of the head that are one variable, the first of them first.
    fixed : tuple of (int, int)
        Arguments of the head that are constants, with their ids.
    """

    clause: int
    positive: bool
    body: tuple[BodyLiteral, ...]
    same: tuple[tuple[int, int], ...]
    fixed: tuple[tuple[int, int], ...]


def head_of(shape: Shape, layout: Layout) -> ShapeLiteral | None:
    """Return the head of a non-recursive shape whose body components can be evaluated; None for other shapes.

    These have one open literal, only negative closed literals besides (a body that is a conjunction of atoms), no equality, no
    EXIST, and variables that all stand in a literal and range over whole types.

    Examples
    --------
    >>> from sqlrl.plan.sample import friends_smoke, people
    >>> str(head_of(friends_smoke(), people()))
    'Smokes(v1)'
    """
    if shape.equalities or shape.exists:
        return None
    heads = [x for x in shape.literals if layout.predicates[x.predicate].open]
    body = [x for x in shape.literals if not layout.predicates[x.predicate].open]
    if len(heads) != 1 or any(x.positive for x in body):
        return None
    bound = bind(shape, layout)
    if bound.hidden is not None and not layout.predicates[heads[0].predicate].example_column:
        return None
    mentioned = {slot for x in shape.literals for slot in x.terms}
    variables = [Slot(False, i) for i in range(len(shape.variables))]
    if any(slot not in mentioned or bound.is_local(slot) for slot in variables):
        return None
    return heads[0]


def heads_of(program: Program) -> dict[Shape, ShapeLiteral]:
    r"""Return the heads of the non-recursive shapes of a program of which no template has clauses.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE + "\n1 Friends(x, y) => Smokes(y)", ["Smokes"], FRIENDS)
    >>> [str(shape) for shape in heads_of(program)]
    ['!Friends(v0, v1) v Smokes(v1)']
    """
    templates = {x.shape for bound in program.features if bound.feature.plus for x in bound.instances}
    found = {shape: head_of(shape, program.layout) for shape in program.shapes if shape not in templates}
    return {shape: head for shape, head in found.items() if head is not None}


def clause_bodies(program: Program, heads: Mapping[Shape, ShapeLiteral]) -> dict[str, list[ClauseBody]]:
    r"""Return the bodies of the clauses of non-recursive shapes, by the predicate of their heads.

    Parameters
    ----------
    program : Program
    heads : mapping of Shape to ShapeLiteral
        Some of `heads_of(program)`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE + "\n1 Friends(x, y) => Smokes(y)", ["Smokes"], FRIENDS)
    >>> [(x.clause, x.body[0].terms) for x in clause_bodies(program, heads_of(program))["Smokes"]]
    [(1, (1, 0))]
    """
    closed = {name: i for i, name in enumerate(closed_predicates(program.layout))}
    clause_of = {feature: clause for clause, feature in enumerate(program.feature_of)}
    found: dict[str, list[ClauseBody]] = {}
    for feature, bound in enumerate(program.features):
        for instance in bound.instances:
            if instance.shape in heads:
                head = heads[instance.shape]
                body = _clause_body(program, clause_of[feature], instance, head, closed)
                found.setdefault(head.predicate, []).append(body)
    return found


def closed_predicates(layout: Layout) -> tuple[str, ...]:
    """Return the closed predicates, ascending.

    Examples
    --------
    >>> from sqlrl.plan.sample import people
    >>> closed_predicates(people())
    ('Friends',)
    """
    return tuple(sorted(name for name, info in layout.predicates.items() if not info.open))


def _clause_body(
    program: Program, clause: int, instance: Instance, head: ShapeLiteral, closed: dict[str, int]
) -> ClauseBody:
    """Number the variables of a clause: the head's arguments, then the others."""
    ids = []
    for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
        assert isinstance(term, Constant), "templates are left out"
        ids.append(program.constants.of(kind)[term.name])
    terms: dict[Slot, int] = {}
    same, fixed = [], []
    for j, slot in enumerate(head.terms):
        if slot.parameter:
            fixed.append((j, ids[slot.index]))
        elif terms.setdefault(slot, j) != j:
            same.append((terms[slot], j))
    free = len(head.terms)
    for literal in instance.shape.literals:
        for slot in literal.terms:
            if slot not in terms and not slot.parameter:
                terms[slot] = free
                free += 1
    body = [
        BodyLiteral(
            closed[x.predicate],
            tuple(_constant(ids[slot.index]) if slot.parameter else terms[slot] for slot in x.terms),
        )
        for x in instance.shape.literals
        if x.predicate != head.predicate
    ]
    return ClauseBody(clause, head.positive, tuple(body), tuple(same), tuple(fixed))


def _constant(identity: int) -> int:
    return NOWHERE if identity == FOREIGN else constant(identity)
