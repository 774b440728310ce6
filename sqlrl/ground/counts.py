"""Exact counts of a program's clauses, by SQL for whole shapes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.errors import CountOverflowError, EngineError
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.logic.compile import clause_text
from sqlrl.logic.printer import format_formula
from sqlrl.logic.shapes import in_given_order
from sqlrl.logic.terms import Clause, Literal
from sqlrl.plan.counting import count_difference, count_groundings, count_violated
from sqlrl.plan.slots import bind
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
    seen = np.zeros(program.clause_count, bool)
    for use in program.shapes.values():
        plan = count_groundings(use.shape, program.layout, parameters=use.parameters, examples=examples)
        found = run_counts(program, use, plan)
        # Clauses of one formula that share a shape (`P(A) <=> P(B)`) have a parameter row each.
        rows = {
            feature: sum(instance.shape == use.shape for instance in program.features[feature].instances)
            for feature in {program.feature_of[clause] for clause, _ in found}
        }
        for clause, n in found:
            if not seen[clause]:
                seen[clause] = True
                total[clause] = n if use.parameters is None else n // rows[program.feature_of[clause]]
    for clause, feature in enumerate(program.feature_of):
        if not program.features[feature].instances:
            total[clause] = _without_clauses(program, feature, examples)
    return total


def _without_clauses(program: Program, feature: int, examples: TableName | None) -> int:
    """Return the groundings of a formula that is true (or false) whatever its atoms are, and so has no clause."""
    bound = program.features[feature].feature
    variables = tuple(v for v in bound.variables if v[0] not in bound.plus)
    shape = in_given_order(Clause(variables), lambda *_: "").shape
    data = program.engine.fetch(count_groundings(shape, program.layout, examples=examples), step="count groundings")
    return int(data.column("n").to_pylist()[0] or 0) if data.num_rows else 0


def violated(program: Program, world: World = OBSERVED, examples: TableName | None = None) -> Counts:
    """Return the number of violated groundings of each clause in a world.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> violated(sample_program(PEOPLE, ["Smokes"], FRIENDS)).tolist()
    [1]
    """
    return _sum(
        program,
        lambda use: count_violated(use.shape, program.layout, world, parameters=use.parameters, examples=examples),
    )


def true_counts(program: Program, world: World = OBSERVED, examples: TableName | None = None) -> Counts:
    """Return n of each clause in a world: the groundings in which its formula as written is true.

    Returns
    -------
    object array of int, shape (m,)

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> true_counts(sample_program(PEOPLE, ["Smokes"], FRIENDS)).tolist()
    [8]
    """
    wrong = violated(program, world, examples)
    sign = program.signs()
    counts: Counts = np.where(sign > 0, groundings(program, examples) - wrong, wrong)
    return counts


def count_differences(
    program: Program, first: World, second: World = OBSERVED, examples: TableName | None = None
) -> Counts:
    """Return n of each clause in the first world minus n in the second, touching only groundings of changed atoms.

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
    change = _sum(
        program,
        lambda use: count_difference(
            use.shape, program.layout, first, second, parameters=use.parameters, examples=examples
        ),
    )
    difference: Counts = -program.signs().astype(object) * change
    return difference


def violated_by_evidence(program: Program, examples: TableName | None = None) -> Counts:
    r"""Return the violated groundings of shapes that have no open literal; those of others come with their grounding.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Friends(x, y) => Friends(y, x)"
    >>> violated_by_evidence(sample_program(text, ["Smokes"], FRIENDS)).tolist()
    [0, 2]
    """
    counts = _zeros(program)
    for use in program.shapes.values():
        bound = bind(use.shape, program.layout)
        literals = (*use.shape.literals, *(x for group in use.shape.exists for x in group.literals))
        if not any(bound.info(x).open for x in literals):
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


def rule_text(program: Program, feature: int) -> str:
    """Return the formula of a feature as text.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> rule_text(sample_program(PEOPLE, ["Smokes"], FRIENDS), 0)
    'Friends(x, y) ^ Smokes(x) => Smokes(y)'
    """
    bound = program.features[feature]
    rule = bound.rule
    return clause_text(bound.feature.clauses, bound.feature.negated) if rule is None else format_formula(rule.formula)


def rule_place(program: Program, feature: int) -> str:
    """Return where a feature's rule stands and the rule; for the definition of a helper, the first rule that needs it.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> rule_place(sample_program(PEOPLE, ["Smokes"], FRIENDS), 0)
    '<text>:3: Friends(x, y) ^ Smokes(x) => Smokes(y)'
    """
    bound = program.features[feature]
    rule, prefix = bound.rule, ""
    if rule is None:
        names = {x.predicate for c in bound.feature.clauses for x in c.literals if isinstance(x, Literal)}
        users = (
            f.rule for f in program.features if any(n.startswith(h.name) for h in f.feature.helpers for n in names)
        )
        rule, prefix = next(users, None), "the quantifier of "
    if rule is None:
        return rule_text(program, feature)
    return f"{prefix}{f'{rule.path}:{rule.line}: ' if rule.line else ''}{format_formula(rule.formula)}"


def run_counts(program: Program, use: ShapeUse, query: exp.Select) -> list[tuple[int, int]]:
    """Run a counting query of a shape and return (clause, n), clause by clause.

    Raises
    ------
    CountOverflowError
        If a count does not fit into 128 bits; names the first clause of the shape.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> (use,) = program.shapes.values()
    >>> run_counts(program, use, count_violated(use.shape, program.layout, OBSERVED))
    [(0, 1)]
    """
    with overflow_named(program, use):
        data = program.engine.fetch(query, step=f"count {use.shape}")
    counts = [int(n or 0) for n in data.column("n").to_pylist()]
    if use.parameters is None:
        return [(clause, counts[0] if counts else 0) for clause in use.clauses]
    return list(zip(data.column("clause").to_pylist(), counts, strict=True))


@contextmanager
def overflow_named(program: Program, use: ShapeUse) -> Iterator[None]:
    """Turn an overflow in the database into an error that names the first clause of a shape.

    Raises
    ------
    CountOverflowError

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> (use,) = program.shapes.values()
    >>> with overflow_named(program, use):
    ...     raise EngineError("count", "Overflow in multiplication", "SELECT")
    Traceback (most recent call last):
    sqlrl.errors.CountOverflowError: a count of <text>:3: Friends(x, y) ^ Smokes(x) => Smokes(y) does not fit into 128 bits
    """
    try:
        yield
    except EngineError as error:
        if "overflow" not in error.reason.lower() and "out of range" not in error.reason.lower():
            raise
        feature = next(i for i, f in enumerate(program.features) if any(x.shape == use.shape for x in f.instances))
        raise CountOverflowError(f"a count of {rule_place(program, feature)} does not fit into 128 bits") from error
