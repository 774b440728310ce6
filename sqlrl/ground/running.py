"""Running counting queries of a program's shapes, and what messages call its clauses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from sqlrl.errors import CountOverflowError, EngineError
from sqlrl.ground.program import Program, ShapeUse
from sqlrl.logic.compile import clause_text
from sqlrl.logic.printer import format_formula, placed
from sqlrl.logic.terms import Literal


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
    return f"{prefix}{placed(rule)}"


def run_counts(program: Program, use: ShapeUse, query: exp.Select) -> list[tuple[int, int]]:
    """Run a counting query of a shape and return (clause, n), clause by clause.

    Raises
    ------
    CountOverflowError
        If a count does not fit into 128 bits; names the first clause of the shape.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.plan.counting import count_violated
    >>> from sqlrl.plan.worlds import OBSERVED
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
        if not is_overflow(error):
            raise
        raise overflow(program, use) from error


def overflow(program: Program, use: ShapeUse) -> CountOverflowError:
    """Return the error that a count of a shape's clauses does not fit into 128 bits; it names the first of them."""
    feature = next(i for i, f in enumerate(program.features) if any(x.shape == use.shape for x in f.instances))
    return CountOverflowError(f"a count of {rule_place(program, feature)} does not fit into 128 bits")


def is_overflow(error: EngineError) -> bool:
    """Tell whether the database failed because a count does not fit into the type that it has.

    Examples
    --------
    >>> is_overflow(EngineError("count", "Overflow in multiplication", "SELECT"))
    True
    """
    reason = error.reason.lower()
    return "overflow" in reason or "out of range" in reason
