"""How many atoms a helper predicate can have, counted before any is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlrl.catalog.atoms import ATOM_LIMIT
from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import Engine
from sqlrl.errors import EngineError
from sqlrl.ground.limits import unjoined
from sqlrl.ground.running import is_overflow
from sqlrl.logic.shapes import Instance, in_given_order
from sqlrl.logic.terms import Clause, EqualityLiteral, Helper, Literal, Variable
from sqlrl.plan.bounds import domain_bound, enumerated
from sqlrl.wording import counted

JOINED = 10_000_000
"""As many tuples are joined to bound the atoms that are only planned, where that takes a join."""

Constants = Callable[[Instance], TableName | None]


@dataclass(frozen=True)
class HelperSize:
    """A bound on the atoms of a helper predicate.

    Parameters
    ----------
    atoms : int
    names : tuple of str
        What the rule calls the variables of the predicate.
    free : tuple of str
        Those of the rule's variables that no closed literal of the definition joins.
    """

    atoms: int
    names: tuple[str, ...]
    free: tuple[str, ...]


def most_atoms(
    engine: Engine,
    layout: Layout,
    name: str,
    variables: tuple[tuple[str, str], ...],
    helper: Helper,
    constants: Constants,
    enough: int,
    joined: int | None = None,
) -> HelperSize:
    r"""Bound the atoms of a helper predicate: by the domains of its variables, and by what its definition joins.

    Parameters
    ----------
    engine : Engine
    layout : Layout
        Knows the predicates of the definition.
    name, variables
        Of the predicate: the helper, or that of its witnesses.
    helper : Helper
    constants : callable
        Makes the one-row parameter table of an instance's constants.
    enough : int
        Nothing is counted that could only improve a bound which is not above this.
    joined : int, optional
        Nothing is counted that joins more tuples, as far as domain sizes tell.

    Returns
    -------
    HelperSize

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Smokes(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y)))"
    >>> program = sample_program(text, ["Smokes"], FRIENDS)
    >>> (helper,) = (h for f in program.features for h in f.feature.helpers)
    >>> layout, rows = program.public_layout, program.constants.single_row
    >>> most_atoms(program.engine, layout, "h", helper.variables, helper, rows, 0)
    HelperSize(atoms=2, names=('x',), free=())
    """
    hidden = any(info.example_column for info in layout.predicates.values())
    nowhere = TableName(*layout.scratch, "")
    types = tuple(kind for _, kind in variables)
    # Every tuple has an atom here, so that no query reads its table.
    stand_in = PredicateInfo(name, types, True, nowhere, nowhere, example_column=hidden)
    known = replace(layout, predicates={**layout.predicates, name: stand_in})
    head = Literal(name, tuple(Variable(n) for n, _ in variables))
    below = dict((*helper.variables, *helper.definition.variables))
    called = dict(zip(below, (n.replace("$", "") for n in helper.called), strict=True))
    size: int | None = None
    free: tuple[str, ...] = ()
    for clause in (
        Clause(variables, (head,)),
        Clause(tuple(below.items()), (head, *map(negated, helper.definition.conjunction))),
    ):
        instance = in_given_order(clause, lambda predicate, i: known.predicates[predicate].types[i])
        if size is None:
            size = domain_bound(instance.shape, known)
        if size <= enough:
            break
        bound = enumerated(instance.shape, known, parameters=constants(instance))[0]
        if joined is not None and not bound.cheap and domain_bound(instance.shape, known) > joined:
            continue
        free = tuple(called[list(below)[slot.index]] for slot in bound.free)
        try:
            rows = engine.fetch(bound.query, step=f"count the atoms of {name}").column("n").to_pylist()
        except EngineError as error:
            if not is_overflow(error):
                raise
            continue
        size = min(size, sum(int(n or 0) for n in rows))
    assert size is not None, "there is a first clause"
    return HelperSize(size, tuple(called[n] for n, _ in variables), free)


def too_many(size: HelperSize, limit: int, subject: str) -> str:
    """Return the message about more helper atoms than a limit.

    Examples
    --------
    >>> too_many(
    ...     HelperSize(40_000, ("x", "y"), ("x", "y")), 1000, "rules.mln:4: P(x, y) => EXIST z Q(z): its quantifier"
    ... )[:99]
    'rules.mln:4: P(x, y) => EXIST z Q(z): its quantifier needs up to 40,000 helper atoms, one for each '
    """
    remedy = "narrow a scope, or raise limit=" if limit < ATOM_LIMIT else "or narrow a scope"
    each = f"one for each ({', '.join(size.names)})" if size.names else "one for each example"
    return (
        f"{subject} needs up to {counted(size.atoms, 'helper atom')}, {each}, more than the limit of {limit:,}: "
        f"inside it, {unjoined(size.free, remedy)}"
    )


def negated(part: Literal | EqualityLiteral) -> Literal | EqualityLiteral:
    """Return a literal with the other sign.

    Examples
    --------
    >>> print(negated(Literal("Smokes", (Variable("x"),))))
    !Smokes(x)
    """
    return replace(part, positive=not part.positive)
