"""Exact counts of a program's clauses, by SQL for whole shapes at once, and the limit on what is enumerated, with the clause to blame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.nodes import integer, named, star_count, subquery
from sqlrl.errors import CountOverflowError, GroundingLimitError, OverflowEngineError, Parameter
from sqlrl.ground.program import BoundFeature, Extent, Program, ShapeUse
from sqlrl.logic.compile import clause_text
from sqlrl.logic.printer import format_formula, placed
from sqlrl.logic.shapes import Shape, in_given_order
from sqlrl.logic.terms import Clause, Literal
from sqlrl.plan.bounds import Enumerated, enumerated
from sqlrl.plan.counting import (
    alike_groundings,
    count_groundings,
    count_violated,
    enumerated_by_count,
)
from sqlrl.plan.differences import count_difference
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import OBSERVED, POSSIBLE, World
from sqlrl.progress import staged
from sqlrl.wording import counted

ADVICE = f"pass fewer {Parameter('examples')}, or raise {Parameter('limit')}"

Counts = npt.NDArray[np.object_]
Plan = Callable[[ShapeUse], exp.Select]


# ---- counting queries, and what messages call a program's clauses ------------------------------------


def rule_text(program: Program, feature: int) -> str:
    """Return the formula of a feature as text."""
    bound = program.features[feature]
    rule = bound.rule
    return clause_text(bound.feature.clauses, bound.feature.negated) if rule is None else format_formula(rule.formula)


def rule_place(program: Program, feature: int) -> str:
    """Return where a feature's rule stands and the rule; for the definition of a helper, the first rule that needs it."""
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
    """Run a counting query of a shape and return (clause, n) by clause; beyond 128 bits it is a CountOverflowError."""
    with overflow_named(program, use):
        data = program.engine.fetch(query, step=f"count {use.shape}")
    counts = [int(n or 0) for n in data.column("n").to_pylist()]
    if use.parameters is None:
        return [(clause, counts[0] if counts else 0) for clause in use.clauses]
    return list(zip(data.column("clause").to_pylist(), counts, strict=True))


def enumerations(extent: Extent, use: ShapeUse) -> list[list[tuple[int, int]]]:
    """Count what the joins of a shape enumerate, once for an extent; return (clause, n) for each of `sqlrl.plan.bounds.enumerated`."""
    # Templates may grow.
    key = use.shape, extent.program.clauses_of(use)
    if key not in extent.enumerated:
        plans = enumerated(use.bound, extent.examples)
        extent.enumerated[key] = [run_counts(extent.program, use, plan.query) for plan in plans]
    return extent.enumerated[key]


@contextmanager
def overflow_named(program: Program, use: ShapeUse) -> Iterator[None]:
    """Turn an overflow in the database into an error that names the first clause of a shape."""
    try:
        yield
    except OverflowEngineError as error:
        raise _overflow(program, use) from error


def _overflow(program: Program, use: ShapeUse) -> CountOverflowError:
    """Return the error that a count of a shape's clauses does not fit into 128 bits; it names the first of them."""
    return CountOverflowError(f"a count of {shape_place(program, use)} does not fit into 128 bits")


def shape_place(program: Program, use: ShapeUse) -> str:
    """Return where the first rule of a shape stands, and the rule."""
    of_shape = (i for i, f in enumerate(program.features) if any(x.shape == use.shape for x in f.instances))
    # The shape of a part of a rule is that of no rule.
    feature = next(of_shape, None)
    return rule_place(program, program.feature_of[use.clauses[0]] if feature is None else feature)


# ---- the limit on the number of ground clauses -------------------------------------------------------


def check_limit(extent: Extent, use: ShapeUse, *, counting: bool = True) -> None:
    """Raise a GroundingLimitError if a count says that the joins of a shape enumerate more groundings than the limit."""
    program, limit = extent.program, extent.limit
    if limit is None or extent.domain_bound(use) <= limit:
        return
    # The estimate of memory has perhaps counted the same.
    known = extent.enumerated.get((use.shape, program.clauses_of(use))) if counting else None
    for i, bound in enumerate(enumerated(use.bound, extent.examples, counting=counting)):
        found = known[i] if known else run_counts(program, use, bound.query)
        size = sum(n for _, n in found)
        if size > limit:
            most, largest = max(found, key=lambda pair: pair[1])
            witnesses = " and witnesses" if use.shape.exists else ""
            raise GroundingLimitError(
                f"{_place(program, most)} leaves {counted(size, 'grounding')}{witnesses} to enumerate, more than the limit of {limit:,} "
                f"({shape_words(program, use)}): {_why(program, use, most, largest, bound)}"
            )
    if loose_literal(use.bound) is not None:
        check_count(extent, use, POSSIBLE)


def check_rows(extent: Extent, use: ShapeUse, query: exp.Select) -> None:
    """Refuse a grounding query that merges rows and would enumerate more of them than the limit: GroundingLimitError."""
    program, limit = extent.program, extent.limit
    if limit is None or extent.domain_bound(use) <= limit:
        return
    # Nothing is aggregated, and no more is enumerated than the limit and one.
    rows = query.copy()
    rows.set("group", None)
    rows = rows.select(integer(1), append=False, copy=False).limit(limit + 1, copy=False)
    counts = exp.select(named(star_count(), "n")).from_(subquery(rows, "r"))
    if int(program.engine.fetch(counts, step=f"count the groundings of {use.shape}").column(0)[0].as_py()) > limit:
        raise GroundingLimitError(
            f"{shape_place(program, use)} leaves more groundings to enumerate for its query atoms than the limit of {limit:,} "
            f"({shape_words(program, use)}): join its variables by literals that hold for fewer constants, {ADVICE}"
        )


def check_count(extent: Extent, use: ShapeUse, world: World) -> None:
    """Raise a GroundingLimitError if counting a shape in a world would enumerate more groundings than the limit."""
    check_enumerated(extent, use, enumerated_by_count(use.bound, world, extent.examples))


def check_enumerated(extent: Extent, use: ShapeUse, queries: Iterable[exp.Select]) -> None:
    """Refuse to count a shape if that would enumerate more groundings, which queries count, than the limit: GroundingLimitError."""
    program, limit = extent.program, extent.limit
    if limit is None:
        return
    for query in queries:
        found = run_counts(program, use, query)
        size = sum(n for _, n in found)
        if size > limit:
            most, _ = max(found, key=lambda pair: pair[1])
            raise GroundingLimitError(
                f"{_place(program, most)} is counted by enumerating {counted(size, 'grounding')}, more than the limit of {limit:,} "
                f"({shape_words(program, use)}): too many of its positive literals share variables; write it with fewer, "
                f"join their variables by closed literals, {ADVICE}"
            )


def limited(batches: Iterator[pa.RecordBatch], extent: Extent, use: ShapeUse) -> Iterator[pa.RecordBatch]:
    """Pass batches on until they hold more rows than the limit."""
    program, limit, seen = extent.program, extent.limit, 0
    for batch in batches:
        seen += batch.num_rows
        if limit is not None and seen > limit:
            clause = batch.column("clause")[0].as_py() if use.parameters is not None else use.clauses[0]
            raise GroundingLimitError(
                f"{_place(program, clause)} has more than {counted(limit, 'ground clause')} ({shape_words(program, use)}), "
                f"which its count did not show; join its variables, narrow a scope, {ADVICE}"
            )
        yield batch


def _place(program: Program, clause: int) -> str:
    return rule_place(program, program.feature_of[clause])


def shape_words(program: Program, use: ShapeUse) -> str:
    """Return what messages say of the shape of a clause."""
    count = program.clauses_of(use)
    return f"all together of {count:,} clauses of the shape {use.shape}" if count != 1 else f"its shape is {use.shape}"


def _why(program: Program, use: ShapeUse, clause: int, size: int, limited: Enumerated) -> str:
    """Say which variables are to blame for the size of a clause, those that nothing joins or the others, and what to do."""
    bound, remedy = use.bound, f"narrow a scope, {ADVICE}"
    instances = program.features[program.feature_of[clause]].instances
    called = next(x.variables for x in instances if x.shape == use.shape)
    names = [called[slot.index].replace("$", "") for slot in limited.free if domain_size(bound, slot) > 1]
    if names and limited.joined is not None:
        alone = dict(run_counts(program, use, limited.joined().query)).get(clause, 0)
        # Each of these is there once for every choice of the others.
        if alone * alone > size:
            return (
                f"{counted(alone, 'match', 'matches')} of facts are the larger factor, the smaller one is what no closed literal joins "
                f"({', '.join(names)}); {remedy}"
            )
    return unjoined(names, remedy)


def unjoined(names: Sequence[str], remedy: str) -> str:
    """Say that nothing joins some variables, and what to do."""
    if not names:
        return f"its variables are joined, but that many facts match; {remedy}"
    if len(names) == 1:
        return f"no closed literal joins {names[0]}, which ranges over its whole domain; join it, {remedy}"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"no closed literal joins {listed}, which range over their whole domains; join them, {remedy}"


# ---- counts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroundingCount:
    """How many groundings the clauses of some features have: a number, or a query of it."""

    features: frozenset[int]
    use: ShapeUse | None  # whose clauses the query counts; of a formula without clauses there is none
    query: exp.Select | None  # `n`, and `clause` with `apart`
    apart: bool = False  # whether their number depends on the constants of each clause
    number: int = 0  # without a query


def groundings(extent: Extent) -> Counts:
    """Return the groundings of each clause, shape (m,): the product of its domain sizes, over the examples."""
    program = extent.program
    counts = grounding_counts(extent)
    return grounding_totals(program, [(each, _counted(program, each)) for each in counts])


def grounding_counts(extent: Extent) -> list[GroundingCount]:
    """Return what says how many groundings clauses have; those of as many share a query."""
    program, examples = extent.program, extent.examples
    apart: list[GroundingCount] = []
    alike: dict[int | tuple[object, ...], GroundingCount] = {}
    for use, features in _first_of(program):
        key = alike_groundings(use.bound)
        if key is None:
            query = count_groundings(use.bound, examples)
            apart.append(GroundingCount(frozenset(features), use, query, apart=True))
        elif key in alike:
            alike[key] = replace(alike[key], features=alike[key].features | features)
        elif isinstance(key, int) and examples is None:
            if key >= 2**127:
                raise _overflow(program, use)
            alike[key] = GroundingCount(frozenset(features), use, None, number=key)
        else:
            query = count_groundings(use.bound.with_parameters(None), examples)
            alike[key] = GroundingCount(frozenset(features), use, query)
    # A formula that is true (or false) whatever its atoms are has no clause.
    empty = [
        GroundingCount(frozenset({i}), None, count_groundings(bind(shape_of(bound), program.layout), examples))
        for i, bound in enumerate(program.features)
        if not bound.instances
    ]
    return [*apart, *alike.values(), *empty]


def _counted(program: Program, each: GroundingCount) -> list[tuple[int, int]]:
    """Run the query of a count; return (clause, n), with 0 in place of the clause where one number is that of all."""
    if each.query is None:
        return [(0, each.number)]
    if each.apart:
        assert each.use is not None, "clauses with constants have a shape"
        return run_counts(program, each.use, each.query)
    with nullcontext() if each.use is None else overflow_named(program, each.use):
        step = "count groundings" if each.use is None else f"count {each.use.shape}"
        found = program.engine.fetch(each.query, step=step).column("n").to_pylist()
    return [(0, int(found[0] or 0) if found else 0)]


def grounding_totals(program: Program, numbers: Iterable[tuple[GroundingCount, Sequence[tuple[int, int]]]]) -> Counts:
    """Return the groundings of each clause, shape (m,), of what counts have found."""
    total, of_feature = _zeros(program), np.full(len(program.features), 0, dtype=object)
    feature_of, alike = np.array(program.feature_of, dtype=np.int64), np.zeros(len(program.features), np.bool_)
    for each, found in numbers:
        if not each.apart:
            here = sorted(each.features)
            of_feature[here], alike[here] = found[0][1] if found else 0, True
            continue
        # Clauses of one formula that share a shape (`P(A) <=> P(B)`) have a parameter row each.
        shape = None if each.use is None else each.use.shape
        rows = {f: sum(x.shape == shape for x in program.features[f].instances) for f in each.features}
        for clause, n in found:
            feature = program.feature_of[clause]
            if feature in rows:
                total[clause] = n // rows[feature]
    if len(feature_of):
        same = alike[feature_of]
        total[same] = of_feature[feature_of[same]]
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


def shape_of(bound: BoundFeature) -> Shape:
    """Return the shape, without literals, of a formula that is true (or false) whatever its atoms are."""
    variables = tuple(v for v in bound.feature.variables if v[0] not in bound.feature.plus)
    return in_given_order(Clause(variables), lambda *_: "").shape


def violated(extent: Extent, world: World = OBSERVED) -> Counts:
    """Return the violated groundings of each clause in a world, shape (m,)."""
    # Many positive literals that share variables are counted by enumerating.
    check_counts(extent, (world,))
    return _sum(extent.program, lambda use: count_violated(use.bound, world, extent.examples))


def true_counts(extent: Extent, world: World = OBSERVED) -> Counts:
    """Return n of each clause in a world, shape (m,): the groundings in which its formula as written is true."""
    wrong = violated(extent, world)
    sign = extent.program.signs()
    counts: Counts = np.where(sign > 0, groundings(extent) - wrong, wrong)
    return counts


def count_differences(extent: Extent, first: World, second: World = OBSERVED) -> Counts:
    """Return n of each clause in a world minus n in another, shape (m,), touching only groundings of changed atoms."""
    check_counts(extent, (first, second))
    change = _sum(extent.program, lambda use: count_difference(use.bound, first, second, extent.examples))
    difference: Counts = -extent.program.signs().astype(object) * change
    return difference


def check_counts(extent: Extent, worlds: Iterable[World]) -> None:
    """Raise a GroundingLimitError if counting clauses in some worlds would enumerate more groundings than the limit."""
    if extent.limit is None:
        return
    for use in extent.program.shapes.values():
        for world in worlds:
            check_count(extent, use, world)


def check_any_world(extent: Extent) -> None:
    """Raise a GroundingLimitError, before there is a world, if counting would enumerate too much in every world."""
    if extent.limit is None:
        return
    # The fewer query atoms are true, the less is enumerated: least in the world without any, which reads no label.
    with extent.program.rows_table(pa.table({"atom": pa.array([], pa.int64())})) as none:
        check_counts(extent, [World(none)])


def violated_by_evidence(extent: Extent) -> Counts:
    """Return the violated groundings of shapes that have no open literal; those of others come with their grounding."""
    program = extent.program
    counts = _zeros(program)
    for use in program.shapes.values():
        if not use.bound.is_open:
            check_count(extent, use, OBSERVED)
            for clause, n in run_counts(program, use, count_violated(use.bound, OBSERVED, extent.examples)):
                counts[clause] += n
    return counts


def _zeros(program: Program) -> Counts:
    counts = np.empty(program.clause_count, dtype=object)
    counts[:] = 0
    return counts


def _sum(program: Program, plan: Plan) -> Counts:
    counts = _zeros(program)
    for use in staged("counting shapes of clauses", program.shapes.values()):
        for clause, n in run_counts(program, use, plan(use)):
            counts[clause] += n
    return counts
