"""The ground clauses that a world does not meet, and those with at most one literal: what cutting planes ground.

A world meets a ground clause that ought to hold if some literal is true, and one that ought not to hold if none is. Both
queries are grounding queries (`plan.grounding`) whose joins are restricted to the query atoms that matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeExists, ShapeLiteral
from sqlrl.plan.disjuncts import AtomDisjunct, is_open
from sqlrl.plan.grounding import GroundingQuery, ground, open_literals
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.truth_values import OpenTruth, Truths

HOLD, FAIL = 1, -1
"""What a ground clause ought to do: hold (a positive cost of its violation, or a hard clause), or fail."""


def unsatisfied(
    clauses: Mapping[int, BoundShape], world: TableName, examples: TableName | None = None
) -> GroundingQuery:
    """Plan the ground clauses of a shape that a world (true query atoms in `atom`, each once) does not meet; multiplicities of rows add up."""
    # The shape with the parameter table of the clauses that ought to hold (HOLD) or to fail (FAIL); without parameters there is only one.
    assert len(clauses) == 1 or all(bound.parameters is not None for bound in clauses.values())
    found = []
    for ought in sorted(clauses, reverse=True):
        # Rows are those that `ground` has for these clauses, as far as the world does not meet them; a clause may have several.
        items = _open_items(clauses[ought])
        cases = [dict.fromkeys(items, OpenTruth.FALSE)] if ought == HOLD else _first_true(items)
        found += [ground(clauses[ought], examples, truths=Truths(truths, world)) for truths in cases]
    return _together(found)


def newly_unsatisfied(
    clauses: Mapping[int, BoundShape], world: TableName, changed: TableName, examples: TableName | None = None
) -> GroundingQuery | None:
    """Plan as `unsatisfied` what the world met before the atoms of `changed` had other values; None for a shape with an existential group."""
    found = []
    for ought in sorted(clauses, reverse=True):
        items = _open_items(clauses[ought])
        if any(isinstance(x, ShapeExists) for x in items):
            return None
        for truths, moved in _new_cases(items) if ought == HOLD else _newly_true(items):
            found.append(ground(clauses[ought], examples, truths=Truths(truths, world, moved=moved, changed=changed)))
    return _together(found)


Case = tuple[dict[AtomDisjunct, OpenTruth], dict[AtomDisjunct, bool]]
"""What the parts of a clause are, and which are about an atom that changed, or about none."""


def _new_cases(items: Sequence[AtomDisjunct]) -> Iterator[Case]:
    """Yield the cases of a clause that held and fails, by the first of its literals whose atom changed."""
    for i, item in enumerate(items):
        yield dict.fromkeys(items, OpenTruth.FALSE), {**dict.fromkeys(items[:i], False), item: True}


def _newly_true(items: Sequence[AtomDisjunct]) -> Iterator[Case]:
    """Yield the cases of a clause that failed and holds: the first literal that is true was false."""
    for truths, item in zip(_first_true(items), items, strict=True):
        yield truths, {item: True}


def few(bound: BoundShape, examples: TableName | None = None) -> GroundingQuery | None:
    """Plan the ground clauses of a shape that have at most one literal, without enumerating the others; None if there can be none."""
    if loose_literal(bound) is not None:
        return ground(bound, examples)
    opened = open_literals(bound)
    found = []
    for same in _about_one_atom(bound, opened):
        truths: dict[AtomDisjunct, OpenTruth] = {
            x: OpenTruth.OPEN if i in same else OpenTruth.DECIDED for i, x in enumerate(opened)
        }
        found.append(ground(bound, examples, truths=Truths(truths, same=same, single=True)))
    return _together(found) if found else None


def among(
    clauses: Mapping[int, BoundShape], atoms: TableName, examples: TableName | None = None
) -> GroundingQuery | None:
    """Plan the ground clauses of a shape of two open literals whose atoms are all in the column `atom`; None for any other shape."""
    items = _open_items(next(iter(clauses.values())))
    if len(items) != 2 or any(isinstance(x, ShapeExists) for x in items):
        return None
    truths = Truths(dict.fromkeys(items, OpenTruth.AMONG), atoms)
    return _together([ground(clauses[ought], examples, truths=truths) for ought in sorted(clauses, reverse=True)])


def may_be_long(bound: BoundShape) -> bool:
    """Return whether a ground clause of a shape can have two literals or more."""
    items = _open_items(bound)
    return len(items) > 1 or any(isinstance(x, ShapeExists) for x in items)


def _open_items(bound: BoundShape) -> list[AtomDisjunct]:
    """Return the literals and existential groups about which worlds differ."""
    groups: list[AtomDisjunct] = [x for x in bound.shape.exists if is_open(bound, x)]
    return [*open_literals(bound), *groups]


def _first_true(items: Sequence[AtomDisjunct]) -> Iterator[dict[AtomDisjunct, OpenTruth]]:
    """Yield the cases of a clause that holds, by the first of its parts that is true."""
    for i, item in enumerate(items):
        yield {**dict.fromkeys(items[:i], OpenTruth.FALSE), item: OpenTruth.TRUE}


def _about_one_atom(bound: BoundShape, open_literals: Sequence[ShapeLiteral]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of literals that can be about one query atom while the evidence decides all others."""
    must = {
        i for i, x in enumerate(open_literals) if not (bound.info(x).has_given or (x.positive and not bound.covers(x)))
    }
    if not must:
        yield ()
    kinds = [(x.predicate, x.positive) for x in open_literals]
    for kind in dict.fromkeys(kinds):
        alike = [i for i, other in enumerate(kinds) if other == kind]
        for size in range(1, len(alike) + 1):
            yield from (chosen for chosen in combinations(alike, size) if must <= set(chosen))


def _together(plans: Sequence[GroundingQuery]) -> GroundingQuery:
    """Put grounding queries of one shape together, whose rows have to be merged once more."""
    if len(plans) == 1:
        return plans[0]
    counted = any(plan.has_multiplicity for plan in plans)
    queries = []
    for i, plan in enumerate(plans):
        names = [node.alias for node in plan.query.selects]
        columns: list[exp.Expression] = [column(name, f"b{i}") for name in names]
        if counted and not plan.has_multiplicity:
            columns.append(named(cast(integer(1), "BIGINT"), "multiplicity"))
        queries.append(exp.select(*columns).from_(subquery(plan.query, f"b{i}")))
    names = [node.alias_or_name for node in queries[0].selects]
    query = exp.select(*(column(name, "u") for name in names)).from_(subquery(union_all(queries), "u"))
    absent = any(plan.has_absent for plan in plans)
    return replace(plans[0], query=query, has_multiplicity=counted, has_absent=absent, may_repeat=True)
