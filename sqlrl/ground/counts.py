"""Exact counts of a program's clauses, by SQL for whole shapes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.ground.limits import check_count
from sqlrl.ground.program import BoundFeature, Program, ShapeUse
from sqlrl.ground.running import overflow, overflow_named, run_counts
from sqlrl.logic.shapes import Shape, in_given_order
from sqlrl.logic.terms import Clause
from sqlrl.plan.counting import alike_groundings, count_difference, count_groundings, count_violated
from sqlrl.plan.worlds import OBSERVED, World

Counts = npt.NDArray[np.object_]
Plan = Callable[[ShapeUse], exp.Select]


def groundings(program: Program, examples: TableName | None = None) -> Counts:
    """Return the number of groundings of each clause: the product of its variables' domain sizes, over the examples.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> groundings(sample_program(PEOPLE, ["Smokes"], FRIENDS)).tolist()
    [9]
    """
    total = _zeros(program)
    known: dict[int | tuple[object, ...], int] = {}
    of_feature: dict[int, int] = {}
    for use, features in _first_of(program):
        alike = alike_groundings(use.shape, program.layout)
        if alike is None:
            for clause, n in _by_constants(program, use, examples):
                if program.feature_of[clause] in features:
                    total[clause] = n
            continue
        if isinstance(alike, int):
            if alike >= 2**127:
                raise overflow(program, use)
            known[alike] = alike
        if alike not in known:
            query = count_groundings(use.shape, program.layout, examples=examples)
            with overflow_named(program, use):
                found = program.engine.fetch(query, step=f"count {use.shape}").column("n").to_pylist()
            known[alike] = int(found[0] or 0) if found else 0
        of_feature.update(dict.fromkeys(features, known[alike]))
    for feature, bound in enumerate(program.features):
        if not bound.instances:
            of_feature[feature] = _without_clauses(program, feature, examples)
    for clause, feature in enumerate(program.feature_of):
        if feature in of_feature:
            total[clause] = of_feature[feature]
    return total


def _first_of(program: Program) -> Iterator[tuple[ShapeUse, set[int]]]:
    """Yield shapes with the features that have a clause of it and of none before: all shapes of one have as many groundings."""
    of_shape: dict[Shape, list[int]] = {}
    for feature, bound in enumerate(program.features):
        for instance in bound.instances:
            of_shape.setdefault(instance.shape, []).append(feature)
    seen = set[int]()
    for use in program.shapes.values():
        new = set(of_shape[use.shape]) - seen
        if new:
            yield use, new
        seen |= new


def _by_constants(program: Program, use: ShapeUse, examples: TableName | None) -> list[tuple[int, int]]:
    """Count the groundings of each clause of a shape on whose constants their number depends."""
    plan = count_groundings(use.shape, program.layout, parameters=use.parameters, examples=examples)
    # Clauses of one formula that share a shape (`P(A) <=> P(B)`) have a parameter row each.
    rows = [sum(x.shape == use.shape for x in bound.instances) for bound in program.features]
    return [(clause, n // rows[program.feature_of[clause]]) for clause, n in run_counts(program, use, plan)]


def _without_clauses(program: Program, feature: int, examples: TableName | None) -> int:
    """Return the groundings of a formula that is true (or false) whatever its atoms are, and so has no clause."""
    query = count_groundings(shape_of(program.features[feature]), program.layout, examples=examples)
    data = program.engine.fetch(query, step="count groundings")
    return int(data.column("n").to_pylist()[0] or 0) if data.num_rows else 0


def shape_of(bound: BoundFeature) -> Shape:
    """Return the shape, without literals, of a formula that is true (or false) whatever its atoms are."""
    variables = tuple(v for v in bound.feature.variables if v[0] not in bound.feature.plus)
    return in_given_order(Clause(variables), lambda *_: "").shape


def violated(
    program: Program, world: World = OBSERVED, examples: TableName | None = None, *, limit: int | None = None
) -> Counts:
    """Return the number of violated groundings of each clause in a world.

    Parameters
    ----------
    program : Program
    world : World
    examples : TableName, optional
    limit : int, optional
        The most groundings that counting may enumerate, which it does where many positive literals share variables.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> violated(sample_program(PEOPLE, ["Smokes"], FRIENDS)).tolist()
    [1]
    """
    check_counts(program, (world,), examples, limit=limit)
    return _sum(
        program,
        lambda use: count_violated(use.shape, program.layout, world, parameters=use.parameters, examples=examples),
    )


def true_counts(
    program: Program, world: World = OBSERVED, examples: TableName | None = None, *, limit: int | None = None
) -> Counts:
    """Return n of each clause in a world: the groundings in which its formula as written is true.

    Parameters
    ----------
    program, world, examples, limit
        As for `violated`.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> true_counts(sample_program(PEOPLE, ["Smokes"], FRIENDS)).tolist()
    [8]
    """
    wrong = violated(program, world, examples, limit=limit)
    sign = program.signs()
    counts: Counts = np.where(sign > 0, groundings(program, examples) - wrong, wrong)
    return counts


def count_differences(
    program: Program,
    first: World,
    second: World = OBSERVED,
    examples: TableName | None = None,
    *,
    limit: int | None = None,
) -> Counts:
    """Return n of each clause in the first world minus n in the second, touching only groundings of changed atoms.

    Parameters
    ----------
    program : Program
    first, second : World
    examples, limit
        As for `violated`.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> with program.shown(pa.table({"atom": [1, 2, 3]})) as everyone:
    ...     count_differences(program, World(everyone)).tolist()
    [1]
    """
    check_counts(program, (first, second), examples, limit=limit)
    change = _sum(
        program,
        lambda use: count_difference(
            use.shape, program.layout, first, second, parameters=use.parameters, examples=examples
        ),
    )
    difference: Counts = -program.signs().astype(object) * change
    return difference


def check_counts(
    program: Program, worlds: Iterable[World], examples: TableName | None = None, *, limit: int | None
) -> None:
    """Refuse to count the clauses in some worlds if that would enumerate more groundings than a limit.

    Parameters
    ----------
    program : Program
    worlds : iterable of World
    examples : TableName, optional
    limit : int or None

    Raises
    ------
    GroundingLimitError
        As `sqlrl.ground.limits.check_count`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> check_counts(sample_program(PEOPLE, ["Smokes"], FRIENDS), [OBSERVED], limit=0)
    """
    if limit is None:
        return
    for use in program.shapes.values():
        for world in worlds:
            check_count(program, use, limit, world, examples)


def check_any_world(program: Program, examples: TableName | None = None, *, limit: int | None) -> None:
    r"""Refuse, before there is a world, to count what in every world would enumerate more groundings than a limit.

    The fewer query atoms are true, the less is enumerated: so this looks at the world in which none is, and reads no label.

    Parameters
    ----------
    program, examples, limit
        As for `check_counts`.

    Raises
    ------
    GroundingLimitError
        As `sqlrl.ground.limits.check_count`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 " + " v ".join(f"Friends(x, y{i})" for i in range(9))
    >>> check_any_world(sample_program(text, ["Smokes"], FRIENDS), limit=5)
    Traceback (most recent call last):
    sqlrl.errors.GroundingLimitError: <text>:4: Friends(x, y0) v ... is counted by enumerating 59,049 groundings, more than the limit of 5 ...
    """
    if limit is None:
        return
    with program.shown(pa.table({"atom": pa.array([], pa.int64())})) as none:
        check_counts(program, [World(none)], examples, limit=limit)


def violated_by_evidence(program: Program, examples: TableName | None = None, *, limit: int | None = None) -> Counts:
    r"""Return the violated groundings of shapes that have no open literal; those of others come with their grounding.

    Parameters
    ----------
    program, examples, limit
        As for `violated`.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Friends(x, y) => Friends(y, x)"
    >>> violated_by_evidence(sample_program(text, ["Smokes"], FRIENDS)).tolist()
    [0, 2]
    """
    counts = _zeros(program)
    for use in program.shapes.values():
        literals = (*use.shape.literals, *(x for group in use.shape.exists for x in group.literals))
        if not any(program.layout.predicates[x.predicate].open for x in literals):
            if limit is not None:
                check_count(program, use, limit, OBSERVED, examples)
            query = count_violated(use.shape, program.layout, OBSERVED, parameters=use.parameters, examples=examples)
            for clause, n in run_counts(program, use, query):
                counts[clause] += n
    return counts


def _zeros(program: Program) -> Counts:
    counts = np.empty(program.clause_count, dtype=object)
    counts[:] = 0
    return counts


def _sum(program: Program, plan: Plan) -> Counts:
    counts = _zeros(program)
    for use in program.shapes.values():
        for clause, n in run_counts(program, use, plan(use)):
            counts[clause] += n
    return counts
