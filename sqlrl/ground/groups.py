"""Exact counts of a program's clauses by the constants of some of their variables, whole shapes at once.

Clauses of one shape are counted by one query if they call the same of its variables by the names that are asked for. A `+` variable of a
template is a constant of its clauses: each clause is in the groups of that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import prod
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, integer, join, named, subquery, table
from sqlrl.errors import DoubleQuoted, GroundingLimitError, InputError, Parameter
from sqlrl.ground.clauses import expansion_names
from sqlrl.ground.counts import check_count, overflow_named, rule_place, shape_of, shape_words
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.ground.rule_parts import RulePart, bodies
from sqlrl.logic.shapes import Instance, Shape, Slot
from sqlrl.logic.terms import Constant, Variable
from sqlrl.plan.count_plan import GroupColumns
from sqlrl.plan.counting import count_violated, joined_by_count
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.groups import groundings_of, group_count, group_groundings, joined_by_groups, violated_group_count
from sqlrl.plan.slots import bind
from sqlrl.plan.sources import OBSERVED, World
from sqlrl.progress import staged
from sqlrl.wording import counted, shortened

EXAMPLE = "example"
"""What the example is called where no variable stands for it, since a column of the data says it."""

Which = Literal["all", "violated", "true"]
"""Which groups have a row: all, those with a violated grounding, those with a true one."""

IntArray = npt.NDArray[np.int64]


# ---- which clauses have the variables -----------------------------------------------------------------


def has_variables(program: Program, feature: int, by: Sequence[str]) -> bool:
    """Return whether the clauses of a feature can be counted by some variables, or by the example that a column says."""
    bound = program.features[feature]
    names = {name for name, _ in bound.feature.variables}
    if bound.rule is None:
        return False
    return names.union([EXAMPLE] if _by_column(program) else []).issuperset(by)


def _by_column(program: Program) -> bool:
    """Whether examples come from a column, so that no variable stands for them."""
    return any(info.example_column for info in program.layout.predicates.values())


@dataclass(frozen=True)
class _Clauses:
    # The clauses of one feature, with the constants of its + variables by id and by name.
    feature: int
    ids: IntArray
    plus: dict[str, IntArray]
    names: dict[str, list[str]]
    # For each asked name its type: "" of the example's column, None of a + variable.
    kinds: tuple[str | None, ...]


def _clauses(program: Program, feature: int, by: Sequence[str]) -> _Clauses:
    bound = program.features[feature].feature
    types = dict(bound.variables)
    kinds = tuple(None if name in bound.plus else types.get(name, "") for name in by)
    if not bound.plus:
        return _Clauses(feature, np.array([program.feature_of.index(feature)]), {}, {}, kinds)
    found, rows = expansion_names(program, feature)
    names = {name: [row[j] for row in rows] for j, name in enumerate(bound.plus)}
    program.constants.learn((types[name], constant) for name, constants in names.items() for constant in constants)
    plus = {
        name: np.array([program.constants.of(types[name])[constant] for constant in constants], dtype=np.int64)
        for name, constants in names.items()
    }
    return _Clauses(feature, np.array(found, dtype=np.int64), plus, names, kinds)


# ---- clauses of one shape that are counted by the same of its variables --------------------------------


@dataclass
class _Members:
    # Rows of a parameter table, piece by piece, as `ParameterRows`.
    clauses: list[IntArray] = field(default_factory=list)
    columns: list[list[IntArray]] = field(default_factory=list)


_Key = tuple[Shape, GroupColumns, bool]


@dataclass(frozen=True)
class _Unit:
    # One query: the clauses of a shape with the variables that they are counted by, and a table of the clauses' ids.
    use: ShapeUse
    by: GroupColumns
    listed: TableName
    ids: IntArray


class _Part:
    """Counts clauses whose groups have the same names and types; `b0`, `b1`, ... are ids for names that no clause fixes."""

    def __init__(
        self,
        extent: Extent,
        found: Sequence[_Clauses],
        by: Sequence[str],
        which: Which,
        negated_bodies: Mapping[int, RulePart],  # of implications, by feature
    ) -> None:
        self.extent, self.program, self.found, self.by, self.which = extent, extent.program, found, by, which
        self.negated_bodies = negated_bodies
        self.kinds = found[0].kinds
        self.columns = [f"b{j}" for j, kind in enumerate(self.kinds) if kind is not None]

    def few(self, feature: int) -> bool:
        """Whether what a count of violated groundings finds are the groups that are asked for."""
        return self.which == ("true" if self.program.features[feature].feature.negated else "violated")

    # ---- units ------------------------------------------------------------------------------------------

    def _slots(self, shape: Shape, variables: Sequence[str]) -> GroupColumns:
        """Return the variables of a shape, called so by a clause, that the count is by."""
        pairs = []
        for j, (name, kind) in enumerate(zip(self.by, self.kinds, strict=True)):
            if kind is not None:
                # The example of a column is one past the variables of the shape.
                index = variables.index(name) if kind else len(shape.variables)
                pairs.append((f"b{j}", Slot(False, index)))
        return tuple(pairs)

    def _add(self, members: dict[_Key, _Members], clauses: _Clauses, instance: Instance | None, *, few: bool) -> None:
        """Add the clauses of a feature to those that a query counts, as an instance of it says; None if it comes to no clause."""
        bound = self.program.features[clauses.feature]
        if instance is None:
            shape = shape_of(bound)
            names = [name for name, _ in bound.feature.variables if name not in bound.feature.plus]
            members.setdefault((shape, self._slots(shape, names), few), _Members()).clauses.append(clauses.ids)
            return
        mine = members.setdefault((instance.shape, self._slots(instance.shape, instance.variables), few), _Members())
        mine.clauses.append(clauses.ids)
        columns = []
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
            if isinstance(term, Variable):
                columns.append(clauses.plus[term.name])
            else:
                assert isinstance(term, Constant)
                columns.append(np.full(len(clauses.ids), self.program.constants.of(kind)[term.name], dtype=np.int64))
        mine.columns.append(columns)

    def _unit(self, stack: ExitStack, shape: Shape, by: GroupColumns, members: _Members) -> _Unit:
        """Make the table of some clauses of a shape, which holds the constants of each."""
        ids = np.concatenate(members.clauses)
        columns = [
            np.concatenate([piece[k] for piece in members.columns]).astype(np.int32)
            for k in range(len(shape.parameters))
        ]
        data = pa.table({"clause": ids, **{f"k{k}": values for k, values in enumerate(columns)}})
        listed = stack.enter_context(self.program.rows_table(data))
        unknown = frozenset(k for k, values in enumerate(columns) if (values < 0).any())
        parameters = listed if shape.parameters else None
        use = ShapeUse(bind(shape, self.program.layout, unknown, parameters), ids.tolist(), len(ids))
        return _Unit(use, by, listed, ids)

    # ---- counts -----------------------------------------------------------------------------------------

    def counts(self, world: World, most: int | None) -> pa.Table:
        """Count, in `groundings`, `n` and `violated`; at most so many groups."""
        violated: dict[_Key, _Members] = {}
        total: dict[_Key, _Members] = {}
        applies: dict[_Key, _Members] = {}
        order = {shape: i for i, shape in enumerate(self.program.shapes)}
        for clauses in self.found:
            few, instances = self.few(clauses.feature), self.program.features[clauses.feature].instances
            # All clauses of a formula have its groundings; of a hard one that was taken apart those of the first shape count.
            first = min(instances, key=lambda instance: order[instance.shape], default=None)
            self._add(total, clauses, first, few=few)
            for instance in instances:
                self._add(violated, clauses, instance, few=few)
            part = self.negated_bodies.get(clauses.feature)
            for instance in () if part is None else part.instances:
                self._add(applies, clauses, instance, few=few)
        with ExitStack() as stack:
            whole = {key: self._unit(stack, *key[:2], members) for key, members in total.items()}
            every = [(unit, few) for (_, _, few), unit in whole.items()]
            wrong = []
            for key, members in violated.items():
                # Mostly each formula is one clause, so that these are the same clauses.
                same = key in total and len(total[key].clauses) == len(members.clauses)
                wrong.append((whole[key] if same else self._unit(stack, *key[:2], members), key[2]))
            conditions = [self._unit(stack, *key[:2], members) for key, members in applies.items()]
            self._check(wrong, every, conditions, world, most)
            found = self._violated(stack, [unit for unit, _ in wrong], world)
            held = self._violated(stack, conditions, world)
            return self._read(self._groundings(stack, every, found), found, held, stack)

    def _check(
        self,
        wrong: Sequence[tuple[_Unit, bool]],
        every: Sequence[tuple[_Unit, bool]],
        conditions: Sequence[_Unit],
        world: World,
        most: int | None,
    ) -> None:
        """Refuse what would enumerate too much, or give too many groups."""
        examples = self.extent.examples

        def joined(unit: _Unit) -> list[exp.Select]:
            """Plan what a count of violated groundings joins."""
            return joined_by_count(unit.use.bound, world, examples, unit.by)

        def tied(unit: _Unit) -> list[exp.Select]:
            """Plan what a count of groundings joins."""
            return joined_by_groups(unit.use.bound, examples, unit.by)

        def number(unit: _Unit) -> exp.Select:
            """Plan the number of all groups."""
            return group_count(unit.use.bound, examples, unit.by)

        def violated(unit: _Unit) -> exp.Select:
            """Plan the number of groups with a violated grounding."""
            return violated_group_count(unit.use.bound, world, examples, unit.by)

        for unit in [*(unit for unit, _ in wrong), *conditions]:
            check_count(self.extent, unit.use, world)
            _check_joined(self.extent, unit, joined, self.by)
        for unit, _ in every:
            _check_joined(self.extent, unit, tied, self.by)
        sizes = [(unit, number) for unit, few in every if not few]
        self._check_groups([*sizes, *((unit, violated) for unit, few in wrong if few)], most)

    def _check_groups(self, sizes: Sequence[tuple[_Unit, Callable[[_Unit], exp.Select]]], most: int | None) -> None:
        """Refuse more groups than a limit; they are counted first where there may be that many."""
        if most is None:
            return
        bounds = [prod(domain_size(u.use.bound, slot) for _, slot in u.by) * len(u.ids) for u, _ in sizes]
        if sum(bounds) <= most:
            return
        numbers = [_number(self.program, unit, plan(unit)) for unit, plan in sizes]
        total = sum(numbers)
        if total > most:
            largest, _ = sizes[numbers.index(max(numbers))]
            place = rule_place(self.program, self.program.feature_of[int(largest.ids[0])])
            fewer = (
                f"pass {Parameter('groups', DoubleQuoted('violated'))} or {Parameter('groups', DoubleQuoted('true'))}, "
                if self.which == "all"
                else ""
            )
            raise GroundingLimitError(
                f"by {_listed(self.by)} there are {counted(total, 'group')}, more than the limit of {most:,} (most of them of {place}, "
                f"{shape_words(self.program, largest.use)}): count by fewer variables, {fewer}pass fewer {Parameter('examples')}, or raise {Parameter('most_groups')}"
            )

    def _keys(self, alias: str) -> list[exp.Column]:
        return [column(name, alias) for name in ("clause", *self.columns)]

    def _rows(self, unit: _Unit, query: exp.Select) -> exp.Select:
        """Select what a query of a unit counts as rows of one table: `clause`, the columns of the groups, `n`, which is not 0."""
        keyed = "clause" in query.named_selects
        found = exp.select(
            named(cast(column("clause", "q" if keyed else "c"), "BIGINT"), "clause"),
            *(named(cast(column(name, "q"), "INT"), name) for name in self.columns),
            named(cast(column("n", "q"), "INT128"), "n"),
        ).from_(subquery(query, "q"))
        if not keyed:
            join(found, table(unit.listed, "c"), None, "CROSS")
        return found.where(exp.NEQ(this=column("n", "q"), expression=integer(0)))

    def _fill(self, stack: ExitStack, rows: Iterator[tuple[_Unit, exp.Select]], what: str) -> TableName:
        """Run the queries of units, and return the table of their rows."""
        keys = [named(cast(integer(0), "BIGINT"), "clause")]
        keys += [named(cast(integer(0), "INT"), name) for name in self.columns]
        empty = exp.select(*keys, named(cast(integer(0), "INT128"), "n")).where(exp.false())
        name = stack.enter_context(self.program.rows_table(empty))
        for unit, query in rows:
            with overflow_named(self.program, unit.use):
                self.program.engine.append(name, query, step=f"{what} {unit.use.shape}")
        return name

    def _violated(self, stack: ExitStack, units: Sequence[_Unit], world: World) -> TableName:
        """Count the violated groundings of each group that has any."""
        rows = (
            (unit, self._rows(unit, count_violated(unit.use.bound, world, self.extent.examples, unit.by)))
            for unit in staged("counting shapes of clauses", units)
        )
        found = self._fill(stack, rows, "count")
        if max(Counter(clause for unit in units for clause in unit.ids.tolist()).values(), default=0) < 2:
            return found
        # Clauses of one formula, whose violated groundings add up.
        keys = self._keys("v")
        total = named(cast(exp.Sum(this=column("n", "v")), "INT128"), "n")
        query = exp.select(*keys, total).from_(table(found, "v")).group_by(*(k.copy() for k in keys))
        return stack.enter_context(self.program.rows_table(query))

    def _groundings(self, stack: ExitStack, units: Sequence[tuple[_Unit, bool]], violated: TableName) -> TableName:
        """Count the groundings of each group: of all, or of those with a violated one."""

        def rows() -> Iterator[tuple[_Unit, exp.Select]]:
            """Plan the query of each unit."""
            for unit, few in units:
                bound, examples = unit.use.bound, self.extent.examples
                if not few:
                    yield unit, self._rows(unit, group_groundings(bound, examples, unit.by))
                    continue
                mine = exp.select(*self._keys("v")).from_(table(violated, "v"))
                chosen = exp.Subquery(this=exp.select(column("clause")).from_(table(unit.listed)))
                mine = mine.where(exp.In(this=column("clause", "v"), query=chosen))
                with self.program.rows_table(mine) as some:
                    yield unit, self._rows(unit, groundings_of(bound, examples, unit.by, some, self.columns))

        return self._fill(stack, rows(), "count the groundings of")

    # ---- names ------------------------------------------------------------------------------------------

    def _read(self, total: TableName, violated: TableName, held: TableName, stack: ExitStack) -> pa.Table:
        """Read the counts of groups with names, by clause and then by the ids of constants."""
        layout = self.program.layout
        same = [exp.EQ(this=a, expression=b) for a, b in zip(self._keys("v"), self._keys("t"), strict=True)]
        info = stack.enter_context(self.program.rows_table(self._signs()))
        wrong: exp.Expression = exp.Coalesce(this=column("n", "v"), expressions=[integer(0)])
        all_ = column("n", "t")
        right = exp.Sub(this=all_.copy(), expression=wrong.copy())
        negated = column("negated", "c")
        n = exp.If(this=negated, true=wrong.copy(), false=right.copy())
        bad = exp.If(this=negated.copy(), true=right.copy(), false=wrong.copy())
        query = exp.select().from_(table(total, "t"))
        join(query, table(info, "c"), exp.EQ(this=column("clause", "c"), expression=column("clause", "t")), "INNER")
        for j, kind in enumerate(self.kinds):
            if kind is None:
                query = query.select(named(column(f"plus{j}", "c"), f"b{j}"))
                continue
            source, key = (layout.types[kind].dictionary, "id") if kind else (layout.examples, EXAMPLE)
            on = exp.EQ(this=column(key, f"d{j}"), expression=column(f"b{j}", "t"))
            join(query, table(source, f"d{j}"), on, "INNER")
            query = query.select(named(column("name", f"d{j}"), f"b{j}"))
        join(query, table(violated, "v"), conjunction(same), "LEFT")
        same = [exp.EQ(this=a, expression=b) for a, b in zip(self._keys("w"), self._keys("t"), strict=True)]
        join(query, table(held, "w"), conjunction(same), "LEFT")
        broken: exp.Expression = exp.Coalesce(this=column("n", "w"), expressions=[integer(0)])
        rest = exp.Sub(this=all_.copy(), expression=broken.copy())
        applies = exp.If(
            this=exp.Is(this=column("body", "c"), expression=exp.null()),
            true=cast(exp.null(), "INT128"),
            false=exp.If(this=column("body", "c"), true=rest, false=broken),
        )
        query = query.select(
            column("clause", "t"),
            named(all_.copy(), "groundings"),
            named(n, "n"),
            named(bad, "violated"),
            named(applies, "applies"),
        )
        if self.which != "all":
            query = query.where(exp.NEQ(this=(bad if self.which == "violated" else n).copy(), expression=integer(0)))
        order = [exp.Ordered(this=key, nulls_first=False) for key in self._keys("t")]
        return self.program.engine.fetch(query.order_by(*order), step="name the groups")

    def _signs(self) -> pa.Table:
        """Return for each clause whether its violated groundings are the true ones of its formula, the same of its negated body, and the constants that it fixes."""
        ids = np.concatenate([clauses.ids for clauses in self.found])
        negated = [self.program.features[c.feature].feature.negated for c in self.found for _ in c.ids]
        parts = [self.negated_bodies.get(c.feature) for c in self.found for _ in c.ids]
        body = [None if part is None else part.negated for part in parts]
        fixed = {
            f"plus{j}": pa.array([name for c in self.found for name in c.names[self.by[j]]], pa.string())
            for j, kind in enumerate(self.kinds)
            if kind is None
        }
        flags = {"negated": pa.array(negated, pa.bool_()), "body": pa.array(body, pa.bool_())}
        return pa.table({"clause": ids, **flags, **fixed})


def _number(program: Program, unit: _Unit, query: exp.Select) -> int:
    """Return how many groups a unit has."""
    with overflow_named(program, unit.use):
        found = program.engine.fetch(query, step=f"count the groups of {unit.use.shape}").column("n").to_pylist()
    size = sum(int(n or 0) for n in found)
    return size if "clause" in query.named_selects else size * len(unit.ids)


def _check_joined(extent: Extent, unit: _Unit, plan: Callable[[_Unit], list[exp.Select]], by: Sequence[str]) -> None:
    """Refuse groups by variables that only a join of more rows than the limit ties together."""
    limit, program = extent.limit, extent.program
    if limit is None or extent.domain_bound(unit.use) <= limit:
        return
    for query in plan(unit):
        size = _number(program, unit, query)
        if size > limit:
            place = rule_place(program, program.feature_of[int(unit.ids[0])])
            raise GroundingLimitError(
                f"{place} is counted by {_listed(by)}, which no one literal has, by enumerating {counted(size, 'grounding')}, more than the "
                f"limit of {limit:,} ({shape_words(program, unit.use)}): count by fewer variables, pass fewer {Parameter('examples')}, or raise {Parameter('limit')}"
            )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---- counts of all clauses ---------------------------------------------------------------------------


def group_counts(
    extent: Extent,
    by: Sequence[str],
    world: World = OBSERVED,
    which: Which = "all",
    features: Iterable[int] | None = None,  # of these those that have the variables; all by default
    most: int | None = None,  # more groups are refused
) -> pa.Table:
    """Count clauses by constants of some variables: `b0`, ... (names), `clause`, `groundings`, `n` (true ones), `violated`, `applies` (whose body holds)."""
    program = extent.program
    parts: dict[tuple[str | None, ...], list[_Clauses]] = {}
    for feature in range(len(program.features)) if features is None else features:
        if has_variables(program, feature, by):
            clauses = _clauses(program, feature, by)
            if len(clauses.ids):
                parts.setdefault(clauses.kinds, []).append(clauses)
    found: list[pa.Table] = []
    asked = [clauses.feature for part in parts.values() for clauses in part]
    conditions = {part.feature: part for part in bodies(program, asked)}
    for part in parts.values():
        so_far = sum(data.num_rows for data in found)
        left = None if most is None else max(most - so_far, 0)
        # A group is a choice of constants that some grounding has.
        found.append(_Part(extent, part, by, which, conditions).counts(world, left))
    names = [f"b{j}" for j in range(len(by))]
    counts = ("groundings", "n", "violated", "applies")
    if not found:
        empty = {**{name: pa.array([], pa.string()) for name in names}, "clause": pa.array([], pa.int64())}
        return pa.table({**empty, **{name: pa.array([], pa.int64()) for name in counts}})
    whole = pa.concat_tables([data.select([*names, "clause", *counts]) for data in found], promote_options="permissive")
    if len(found) > 1:
        place = pa.array(np.arange(len(whole)))
        order = whole.append_column("place", place).sort_by([("clause", "ascending"), ("place", "ascending")])
        whole = order.drop_columns("place")
    for name in counts:
        whole = whole.set_column(whole.schema.get_field_index(name), name, _whole(whole.column(name)))
    return whole.combine_chunks()


def _whole(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return exact counts as int64, or as decimal128 where one does not fit."""
    least, greatest = pc.min_max(values).as_py().values()
    small = least is None or (int(least) >= -(2**63) and int(greatest) < 2**63)
    return values.cast(pa.int64() if small else pa.decimal128(38))


# ---- names -------------------------------------------------------------------------------------------

_COUNTS = ("clause", "groundings", "n", "violated", "applies")
"""Columns of counts by groups, beside those of the variables."""


def variable_names(by: object) -> tuple[str, ...]:
    """Return the names of variables, given one by one, or in a text with commas between them."""
    parts: list[object] = list(by.split(",") if isinstance(by, str) else by) if isinstance(by, Iterable) else [by]
    wrong = [part for part in parts if not isinstance(part, str)]
    if wrong:
        raise InputError(
            f"{Parameter('by')} takes names of variables, such as 'x' or ['x', 'y'], and {shortened(repr(wrong[0]))} is none."
        )
    names = tuple(str(part).strip() for part in parts)
    if not all(names) or not names:
        where = f" at a comma of {shortened(str(by))!r}" if any(names) else ""
        raise InputError(
            f"no variable is named to count by{where}: name some, such as 'x, y', or leave {Parameter('by')} out to count all groundings of each clause."
        )
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError(f"the variable {twice} is named twice to count by: name it once.")
    return names


def group_columns(names: Sequence[str]) -> list[str]:
    """Return the columns: variables by their names, with `_` behind one that another column has, whatever its case."""
    taken = {name.casefold() for name in _COUNTS}
    found = []
    for name in names:
        free = name
        while free.casefold() in taken:
            free += "_"
        taken.add(free.casefold())
        found.append(free)
    return [*found, *_COUNTS]
