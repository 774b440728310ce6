"""Grounding of a soft program: the rows of its queries become hinges in arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.distinct import ascending_order, distinct
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import named, star_count, table
from sqlrl.errors import GroundingLimitError, InfeasibleError, ModelError, Parameter
from sqlrl.ground.atoms import read_atoms
from sqlrl.ground.counts import check_limit, check_rows
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.memory import check_memory, memory_budget
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.pipeline import Pipeline, ShapePlan, plans
from sqlrl.ground.program import Extent, rows_table
from sqlrl.ground.rows import AtomIndex, Budget
from sqlrl.ground.soft_program import SoftProgram, SumUse
from sqlrl.logic.psl_arithmetic import ArithmeticRule, Coefficient, cardinalities, coefficient_value
from sqlrl.logic.psl_literals import OrderLiteral, RuleError, SoftLiteral, literals_of
from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeLiteral, ShapeOrder, Slot
from sqlrl.logic.terms import EqualityLiteral, Literal
from sqlrl.plan.grounding import GroundingQuery
from sqlrl.plan.hinges import hinges, lone_open_literal
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sums import addends, bindings, filter_condition, filter_places, numbered
from sqlrl.progress import staged
from sqlrl.wording import counted

VIOLATED = 1e-6
"""How much a hard ground rule may be violated by what the data decide."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Hinges of any length: those of r rows, each entry with its row, ascending."""

    rule: IntArray
    constant: FloatArray
    multiplicity: IntArray
    row: IntArray
    column: IntArray
    coefficient: FloatArray


def ground_hinges(
    soft: SoftProgram,
    extent: Extent,
    *,
    atoms: IntArray | None = None,
    budget: Budget | None = None,
    learning: bool = False,
) -> HingeNetwork:
    """Ground a soft program over the query atoms of some examples; `atoms` are their ids, if read already.

    For learning, soft rules are grounded inward from their query atoms where they have one open literal, and `base` lacks what no weight depends on.
    """
    atoms = read_atoms(extent).ids if atoms is None else atoms
    index = AtomIndex(atoms)
    hard = _hard_shapes(soft) if learning else set()
    lone = _inward(extent, hard) if learning else {}
    for shape, plan in lone.items():
        check_rows(extent, extent.program.shapes[shape], plan.query)
    if budget is None:
        extent.program.engine.leave(check_memory(extent, len(atoms), lone))
        budget = memory_budget(extent.program, len(atoms))
    budget.take(len(atoms))
    pipeline = Pipeline(extent, index, np.zeros(soft.program.clause_count, object), budget)
    parts: list[_Rows] = []
    for each in _decided(extent):
        if learning and each.use.shape not in hard:
            continue
        check_limit(extent, each.use, counting=False)
        parts += _rows_of(pipeline, each)

    def planned(bound: BoundShape, examples: TableName | None) -> GroundingQuery:
        """Return the query of a shape."""
        return lone[bound.shape] if bound.shape in lone else hinges(bound, examples)

    for each in plans(extent, planned):
        if each.use.shape not in lone:
            check_limit(extent, each.use, counting=False)
        parts += _rows_of(pipeline, each)
    for use in staged("grounding arithmetic rules", soft.sums):
        parts.append(_sum_rows(soft, extent, index, budget, use))
    return _network(soft, atoms, parts)


# ---- logical rules -----------------------------------------------------------------------------------


def _inward(extent: Extent, hard: set[Shape]) -> dict[Shape, GroundingQuery]:
    """Return the queries of the shapes of soft rules with one open literal, which begin at its query atoms."""
    found = {}
    for shape, use in extent.program.shapes.items():
        place = lone_open_literal(use.bound)
        if place is not None and shape not in hard:
            found[shape] = hinges(use.bound, extent.examples, inward=place)
    return found


def _hard_shapes(soft: SoftProgram) -> set[Shape]:
    """Return the shapes of hard rules, whose groundings are all looked at: those that the data violate by themselves are refused."""
    program = soft.program
    features = (program.features[program.feature_of[i]] for i in np.flatnonzero(soft.hard).tolist())
    return {instance.shape for bound in features for instance in bound.instances}


def _decided(extent: Extent) -> list[ShapePlan]:
    """Return the queries of the shapes without an open literal: all of their hinges are constants."""
    uses = [use for use in extent.program.shapes.values() if not use.bound.is_open]
    return [ShapePlan(use, hinges(use.bound, extent.examples), tuple(use.clauses)) for use in uses]


def _rows_of(pipeline: Pipeline, each: ShapePlan) -> list[_Rows]:
    """Return the hinges of a shape in an order that does not depend on that of the batches, once for each clause without constants."""
    plan = each.plan
    width = len(plan.signs)
    batches = [batch for batch in pipeline.batches(each) if batch.num_rows]
    size = sum(batch.num_rows for batch in batches)
    columns = np.empty((size, width), np.int64)
    constant, multiplicity = np.empty(size), np.ones(size, np.int64)
    clause = np.zeros(size, np.int64)
    start = 0
    for batch in batches:
        here = slice(start, start + batch.num_rows)
        for i in range(width):
            columns[here, i] = _local(pipeline.index, batch, f"l{i}", known=plan.has_absent)
        constant[here] = batch.column("constant").to_numpy(zero_copy_only=False)
        if plan.has_multiplicity:
            multiplicity[here] = batch.column("multiplicity").to_numpy(zero_copy_only=False)
        if plan.has_clause:
            clause[here] = batch.column("clause").to_numpy(zero_copy_only=False)
        start += batch.num_rows
    del batches
    order = ascending_order([clause, *columns.T, constant])
    if order is not None:
        columns, constant, multiplicity, clause = columns[order], constant[order], multiplicity[order], clause[order]
    rows = _summed(columns, np.array([-float(sign) for sign in plan.signs]), constant, multiplicity, clause)
    if plan.has_clause:
        return [rows]
    return [_of_rule(rows, number) for number in each.clauses]


def _of_rule(rows: _Rows, rule: int) -> _Rows:
    """Return rows as those of one rule."""
    return _Rows(
        np.full(len(rows.rule), rule, np.int64),
        rows.constant,
        rows.multiplicity,
        rows.row,
        rows.column,
        rows.coefficient,
    )


def _local(index: AtomIndex, batch: pa.RecordBatch, name: str, *, known: bool) -> IntArray:
    """Return the places of atoms; -1 where there is none."""
    ids = batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if not known:
        return index.local(ids)
    found = np.full(len(ids), -1, np.int64)
    here = np.flatnonzero(ids > 0)
    found[here] = index.local(ids[here])
    return found


def _summed(
    columns: IntArray, coefficients: FloatArray, constant: FloatArray, multiplicity: IntArray, clause: IntArray
) -> _Rows:
    """Return rows of literals, each of one coefficient, with their atoms in order and none twice; -1 is no atom."""
    size, width = columns.shape
    if not width:
        none = np.zeros(0, np.int64)
        return _Rows(clause, constant, multiplicity, none, none, np.zeros(0))
    order = np.argsort(columns, axis=1, kind="stable")
    columns = np.take_along_axis(columns, order, axis=1)
    values = coefficients[order]
    for i in range(1, width):
        same = columns[:, i] == columns[:, i - 1]
        if same.any():
            values[same, i] += values[same, i - 1]
            values[same, i - 1] = 0.0
    keep = (columns >= 0) & (values != 0.0)
    row = np.repeat(np.arange(size, dtype=np.int64), keep.sum(axis=1))
    return _Rows(clause, constant, multiplicity, row, columns[keep], values[keep])


# ---- arithmetic rules --------------------------------------------------------------------------------


def _sum_rows(soft: SoftProgram, extent: Extent, index: AtomIndex, budget: Budget, use: SumUse) -> _Rows:
    """Ground an arithmetic rule."""
    rule = soft.model.rules[use.number]
    assert isinstance(rule, ArithmeticRule)
    bound, engine = use.bound, soft.engine
    parts = Parts.of(rule, use)
    known = parts.known(bound)
    step = f"ground {rule.place or rule}"
    with _bindings(soft, extent, use, parts) as table_of:
        found: list[tuple[Coefficient, pa.Table]] = []
        for term, literal in parts.terms:
            conditions = parts.conditions(rule, bound, literal, known)
            shown = [slot for _, slot in bound.columns(literal) if slot in parts.counted]
            data = engine.fetch(addends(bound, literal, known, table_of, conditions, shown, extent.examples), step=step)
            budget.take(data.num_rows)
            found.append((term, data))
        size = _count(engine, table_of, step)
    counts = parts.counts(found, size)
    constant = -_values(rule, rule.constant, counts, size)
    for one in parts.ones:
        constant += _values(rule, one, counts, size)
    rows, columns, coefficients = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for coefficient, data in found:
        binding, atom, value = (data.column(name).to_numpy().astype(kind) for name, kind in _KINDS)
        order = np.lexsort((value, atom, binding))
        binding, atom, value = binding[order], atom[order], value[order]
        # Where a sum goes through nothing its coefficient, which may be divided by how many there are, is not asked for.
        times = _values(rule, coefficient, {name: n[binding] for name, n in counts.items()}, len(binding))
        # Added in order, so that the same data give the same sum.
        constant += np.bincount(binding, times * value, minlength=size)
        here = atom > 0
        rows.append(binding[here])
        columns.append(index.local(atom[here]))
        coefficients.append(times[here])
    sign = -1.0 if rule.comparator == ">=" else 1.0
    ones, entries = np.ones(size, np.int64), sign * np.concatenate(coefficients)
    merged = _merged(np.concatenate(rows), np.concatenate(columns), entries)
    return _Rows(ones * use.number, sign * constant, ones, *merged)


@contextmanager
def _bindings(soft: SoftProgram, extent: Extent, use: SumUse, parts: Parts) -> Iterator[TableName]:
    """Show the numbered bindings of an arithmetic rule while the context is open; of more than the limit no more than one is made."""
    rule, engine, known = soft.model.rules[use.number], soft.engine, parts.known(use.bound)
    query = bindings(use.bound, parts.atoms, parts.comparisons, parts.summed, extent.examples)
    if extent.limit is not None:
        query = query.limit(extent.limit + 1)
    with ExitStack() as found:
        rows = found.enter_context(rows_table(engine, soft.layout, query))
        if extent.limit is not None and _count(engine, rows, f"ground {rule.place or rule}") > extent.limit:
            raise GroundingLimitError(
                f"{rule.place or rule}: its variables have more than {counted(extent.limit, 'binding')}, the limit: join them by closed predicates, "
                f"narrow a scope, pass fewer {Parameter('examples')}, or a greater {Parameter('limit')}"
            )
        with rows_table(engine, soft.layout, numbered(exp.select("*").from_(table(rows)), known)) as table_of:
            found.close()
            yield table_of


def _count(engine: QueryEngine, rows: TableName, step: str) -> int:
    """Return the number of rows of a table."""
    data = engine.fetch(exp.select(named(star_count(), "n")).from_(table(rows)), step=step)
    return int(data.column(0)[0].as_py())


_KINDS = (("binding", np.int64), ("atom", np.int64), ("value", np.float64))


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of an arithmetic rule as its shape has them."""

    terms: list[tuple[Coefficient, ShapeLiteral]]  # its atoms with their coefficients
    ones: list[Coefficient]  # coefficients of comparisons, which are 1
    comparisons: list[ShapeEquality | ShapeOrder]
    filters: list[list[ShapeLiteral | ShapeEquality | ShapeOrder]]  # the literals of each filter
    slots: dict[str, Slot]  # of each summed variable
    counted: frozenset[Slot]  # summed variables whose cardinality some coefficient has

    @classmethod
    def of(cls, rule: ArithmeticRule, use: SumUse) -> Parts:
        """Find the parts of a rule in its shape."""
        shape = use.bound.shape
        literals, equalities, orders = iter(shape.literals), iter(shape.equalities), iter(shape.orders)

        def part(literal: SoftLiteral) -> ShapeLiteral | ShapeEquality | ShapeOrder:
            """Return the next part of the kind of a literal."""
            match literal:
                case Literal():
                    return next(literals)
                case EqualityLiteral():
                    return next(equalities)
                case OrderLiteral():
                    return next(orders)

        found = cls([], [], [], [], {name: Slot(False, use.variables.index(name)) for name in rule.summed}, frozenset())
        for term in rule.terms:
            here = part(term.atom)
            if isinstance(here, ShapeLiteral):
                found.terms.append((term.coefficient, here))
            else:
                found.ones.append(term.coefficient)
                found.comparisons.append(here)
        for each in rule.filters:
            found.filters.append([part(x) for x in literals_of(each.condition)])
        names = {name for c in (*(t.coefficient for t in rule.terms), rule.constant) for name in cardinalities(c)}
        return cls(
            found.terms,
            found.ones,
            found.comparisons,
            found.filters,
            found.slots,
            frozenset(found.slots[n] for n in names),
        )

    @property
    def atoms(self) -> list[ShapeLiteral]:
        """The atoms of the terms."""
        return [literal for _, literal in self.terms]

    @property
    def summed(self) -> frozenset[Slot]:
        """The slots of the summed variables."""
        return frozenset(self.slots.values())

    def known(self, bound: BoundShape) -> list[Slot]:
        """Return the slots that a table of bindings has: variables that are not summed, and parameters."""
        parameters = [Slot(True, i) for i in range(len(bound.shape.parameters))]
        return [slot for slot in (*bound.variables, *parameters) if slot not in self.summed]

    def conditions(
        self, rule: ArithmeticRule, bound: BoundShape, literal: ShapeLiteral, known: Sequence[Slot]
    ) -> list[exp.Expression]:
        """Return the conditions of the filters of the variables that a literal sums over."""
        places = filter_places(bound, literal, known)
        return [
            filter_condition(bound, each.condition, iter(parts), places)
            for each, parts in zip(rule.filters, self.filters, strict=True)
            if self.slots[each.variable] in literal.terms
        ]

    def counts(self, found: Sequence[tuple[Coefficient, pa.Table]], size: int) -> dict[str, IntArray]:
        """Return through how many constants each summed variable goes in each binding, shape (size,); of those that are counted."""
        counts = {}
        for name, slot in self.slots.items():
            if slot not in self.counted:
                continue
            (data,) = (data for _, data in found if str(slot) in data.column_names)
            binding, constant = (data.column(x).to_numpy().astype(np.int64) for x in ("binding", str(slot)))
            counts[name] = np.bincount(binding[distinct([binding, constant]).first], minlength=size)
        return counts


def _values(rule: ArithmeticRule, coefficient: Coefficient, counts: dict[str, IntArray], size: int) -> FloatArray:
    """Return a coefficient where sums go through so many constants, shape (size,)."""
    names = sorted(set(cardinalities(coefficient)))
    try:
        if not names:
            return np.full(size, coefficient_value(coefficient, {}))
        different = distinct([counts[name] for name in names])
        each = [coefficient_value(coefficient, dict(zip(names, row, strict=True))) for row in different.rows.tolist()]
    except RuleError as error:
        raise ModelError(f"{rule.place or rule}: {error}") from None
    found: FloatArray = np.array(each, dtype=np.float64)[different.inverse]
    return found


def _merged(row: IntArray, column: IntArray, coefficient: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return entries in order of rows and columns, those of one atom added up, and none that is 0."""
    if not len(row):
        return row, column, coefficient
    order = np.lexsort((coefficient, column, row))
    row, column, coefficient = row[order], column[order], coefficient[order]
    first = np.flatnonzero(np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])]))
    coefficient = np.add.reduceat(coefficient, first)
    keep = coefficient != 0.0
    return row[first][keep], column[first][keep], coefficient[keep]


# ---- the network -------------------------------------------------------------------------------------


def _joined(parts: Sequence[_Rows]) -> _Rows:
    """Return parts as one, in order of their rules."""
    offsets = np.cumsum([0, *(len(part.rule) for part in parts)])
    rule = np.concatenate([np.zeros(0, np.int64), *(part.rule for part in parts)])
    constant = np.concatenate([np.zeros(0), *(part.constant for part in parts)])
    multiplicity = np.concatenate([np.zeros(0, np.int64), *(part.multiplicity for part in parts)])
    row = np.concatenate(
        [np.zeros(0, np.int64), *(part.row + start for part, start in zip(parts, offsets[:-1], strict=True))]
    )
    column = np.concatenate([np.zeros(0, np.int64), *(part.column for part in parts)])
    coefficient = np.concatenate([np.zeros(0), *(part.coefficient for part in parts)])
    return _Rows(rule, constant, multiplicity, row, column, coefficient)


def _network(soft: SoftProgram, atoms: IntArray, parts: Sequence[_Rows]) -> HingeNetwork:
    """Put the rows of all rules together; what no query atom is in is added up."""
    rows = _joined(parts)
    squared, hard, equal = soft.squared, soft.hard, soft.equal
    length = np.bincount(rows.row, minlength=len(rows.rule))
    both = equal[rows.rule]
    alone = length == 0
    distance = np.where(both, np.abs(rows.constant), np.maximum(rows.constant, 0.0))
    wrong = np.flatnonzero(alone & hard[rows.rule] & (distance > VIOLATED))
    if len(wrong):
        _refuse(soft, rows, wrong, distance)
    cost = np.where(squared[rows.rule], distance * distance, distance) * rows.multiplicity
    base = np.bincount(rows.rule[alone], cost[alone], minlength=len(hard))
    reach = rows.constant + np.bincount(rows.row, np.maximum(rows.coefficient, 0.0), minlength=len(rows.rule))
    keep = ~alone & (both | (reach > 0.0))
    order = np.flatnonzero(keep)[np.argsort(rows.rule[keep], kind="stable")]
    starts = np.cumsum(length) - length
    lengths = length[order]
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    take = np.repeat(starts[order] - pointer[:-1], lengths) + np.arange(pointer[-1])
    return HingeNetwork(
        atoms, pointer, rows.column[take], rows.coefficient[take], rows.constant[order], rows.multiplicity[order],
        rows.rule[order], squared, hard, equal, np.where(hard, 0.0, base),
    )  # fmt: skip


def _refuse(soft: SoftProgram, rows: _Rows, wrong: IntArray, distance: FloatArray) -> NoReturn:
    """Say which hard rules the data violate by themselves."""
    numbers, counts = np.unique(rows.rule[wrong], return_counts=True)
    shown = []
    for number, times in zip(numbers.tolist()[:3], counts.tolist(), strict=False):
        rule, most = soft.model.rules[number], float(distance[wrong][rows.rule[wrong] == number].max())
        shown.append(
            f"{rule.place + ': ' if rule.place else ''}{rule} (in {counted(times, 'grounding')}, by {most:.6g} at most)"
        )
    more = f" and {counted(len(numbers) - 3, 'more rule')}" if len(numbers) > 3 else ""
    raise InfeasibleError(
        f"what is observed violates hard rules by itself, so that no truth values are possible: {'; '.join(shown)}{more}: correct these "
        "values, or give the rules a weight"
    )
