"""Where components of clause bodies hold: built from each other and evaluated layer by layer in the database, a few queries for each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from types import MappingProxyType, TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.distinct import distinct
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, table
from sqlrl.errors import CountOverflowError, GroundingLimitError, ModelError, OverflowEngineError, Parameter
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.logic.components import BodyLiteral, Component, Components, constant
from sqlrl.plan.coverage import (
    ArgumentKind,
    CoveragePattern,
    CoverageTables,
    Heads,
    PatternArgument,
    bindings_from,
    count_bindings,
    facts_of_constants,
    layer_bindings,
    layer_columns,
    layer_counts,
    wanted_bindings,
)
from sqlrl.wording import counted

MOST_BINDINGS = 10_000_000
"""Bindings that are kept, and those of one layer: more fill the memory."""

FEWER_BINDINGS = f"lower the recall in its mode, use constants (#) where it brings in variables (-), shorten clauses, or raise {Parameter('limit')}"
"""What helps against a literal that explodes."""

_numbers = count(1)


# ---- distinct values: what is the same for many atoms is computed once -------------------------------


@dataclass(frozen=True, eq=False)
class DistinctKeys:
    """The distinct values of some columns of a matrix, numbered in ascending order, and the rows that have them."""

    values: IntArray  # shape (k, w)
    starts: IntArray  # shape (k + 1,): the rows with value i are rows[starts[i]:starts[i + 1]], ascending
    rows: IntArray  # shape (n,)

    def table(self, names: list[str]) -> pa.Table:
        """Return the values as a table: `key`, then a column for each name."""
        columns = [pa.array(self.values[:, j].astype(np.int32)) for j in range(len(names))]
        return pa.table([pa.array(np.arange(len(self.values), dtype=np.int32)), *columns], names=["key", *names])

    def spread(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of keys, key by key, and for each of them its place in `keys`."""
        sizes = self.starts[keys + 1] - self.starts[keys]
        place = np.repeat(np.arange(len(keys)), sizes)
        first = np.cumsum(sizes) - sizes
        return self.rows[np.arange(len(place)) - first[place] + self.starts[keys][place]], place


def distinct_rows(columns: IntArray) -> DistinctKeys:
    """Return the distinct rows of a matrix of shape (n, w). Without columns all rows are equal."""
    n, width = columns.shape
    if width == 0:
        # One value even if no row has it.
        return DistinctKeys(np.zeros((1, 0), np.int64), np.array([0, n], dtype=np.int64), np.arange(n, dtype=np.int64))
    found = distinct(columns.T)
    return DistinctKeys(found.rows.astype(np.int64), found.starts, found.order)


# ---- bodies as text ----------------------------------------------------------------------------------


class BodyText:
    """Writes literals with names; `predicates` are by index, variables are A, B, ... from the head's arguments on."""

    def __init__(
        self, engine: QueryEngine, layout: Layout, predicates: Sequence[str], body: Sequence[BodyLiteral]
    ) -> None:
        self.body, self._infos = body, [layout.predicates[name] for name in predicates]
        wanted: dict[str, set[int]] = {}
        for literal in body:
            for kind, term in zip(self._infos[literal.predicate].types, literal.terms, strict=True):
                if term < 0:
                    wanted.setdefault(kind, set()).add(constant(term))
        self._constants = {kind: constant_names(engine, layout, kind, ids) for kind, ids in wanted.items()}

    def __str__(self) -> str:
        return " ^ ".join(map(self.literal, self.body))

    def literal(self, literal: BodyLiteral) -> str:
        """Return one of the literals."""
        info = self._infos[literal.predicate]
        shown = [self._term(term, kind) for term, kind in zip(literal.terms, info.types, strict=True)]
        return f"{info.name}({', '.join(shown)})" if shown else info.name

    def _term(self, term: int, kind: str) -> str:
        if term < 0:
            return self._constants[kind].get(constant(term), "?")
        return chr(ord("A") + term % 26) + (str(term // 26) if term >= 26 else "")


def constant_names(engine: QueryEngine, layout: Layout, kind: str, ids: Iterable[int]) -> dict[int, str]:
    """Return the names of some constants of a type."""
    listed = exp.In(this=column("id", "d"), expressions=[integer(i) for i in sorted(set(ids))])
    query = exp.select(column("id", "d"), column("name", "d")).from_(table(layout.types[kind].dictionary, "d"))
    data = engine.fetch(query.where(listed), step=f"read names of {kind}")
    return dict(zip(data.column("id").to_pylist(), data.column("name").to_pylist(), strict=True))


# ---- how components are built from each other: the literal that is added last, and the parents to which it is added


@dataclass(frozen=True, slots=True)
class ComponentStep:
    """How a component is made: by adding a literal to its parents, the components that are left without it."""

    component: Component
    literal: BodyLiteral  # in the variables of the component
    parents: tuple[Component, ...]
    # For each parent the variables of the component that its existential variables are, in order.
    names: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the bindings of a component are stored."""

    number: int  # its `component` in the table of bindings
    touched: Heads
    places: tuple[int, ...]  # the existential variable, from 0, at each place of the list of values


class ComponentRefiner:
    """Finds steps, so that as little as possible must be evaluated that nobody has asked for."""

    def __init__(self, components: Components) -> None:
        self.components = components

    def layers(
        self, wanted: Iterable[Component], known: Collection[Component], exploding: Collection[Component] = ()
    ) -> tuple[list[list[ComponentStep]], dict[Component, Component]]:
        """Return steps to the wanted components, in layers, and for each of the others the `exploding` one that it needs."""
        steps: dict[Component, ComponentStep] = {}
        level: dict[Component, int] = {}
        beyond: dict[Component, Component] = {}
        waiting = [component for component in wanted if component not in known]
        while waiting:
            component = waiting[-1]
            if component in level or component in beyond:
                waiting.pop()
                continue
            if component not in steps or any(parent in beyond for parent in steps[component].parents):
                step = self.step(component, known, exploding, beyond)
                if not isinstance(step, ComponentStep):
                    beyond[component] = step
                    continue
                steps[component] = step
            parents = [parent for parent in steps[component].parents if parent not in known]
            missing = [parent for parent in parents if parent not in level]
            if missing:
                waiting.extend(missing)
                continue
            # The steps of a layer need only what is known and earlier layers.
            level[component] = max((level[parent] + 1 for parent in parents), default=0)
            waiting.pop()
        found: list[list[ComponentStep]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for component, i in level.items():
            found[i].append(steps[component])
        return found, beyond

    def step(
        self,
        component: Component,
        known: Collection[Component],
        exploding: Collection[Component] = (),
        beyond: Mapping[Component, Component] = MappingProxyType({}),
    ) -> ComponentStep | Component:
        """Return the best step to a component, or, if all steps need an `exploding` one, that of the last step."""
        # A step with known parents is best, then one with the fewest unknown parents that have no argument of the head, then
        # with the fewest unknown ones. Nothing is made of exploding components, since they have too many bindings.
        best: tuple[tuple[int, int], ComponentStep] | None = None
        reason: Component = ()
        for literal in reversed(component):
            step = self._without(component, literal)
            missing = [parent for parent in step.parents if parent not in known]
            if not missing:
                return step
            stuck = [beyond.get(parent, parent) for parent in missing if parent in exploding or parent in beyond]
            if stuck:
                reason = stuck[0]
                continue
            loose = sum(not _touches_head(parent, self.components.heads) for parent in missing)
            cost = (loose, len(missing))
            if best is None or cost < best[0]:
                best = (cost, step)
        return reason if best is None else best[1]

    def _without(self, component: Component, literal: BodyLiteral) -> ComponentStep:
        rest = self.components.groups(other for other in component if other != literal)
        found = sorted(self.components.named(group) for group in rest)
        return ComponentStep(
            component, literal, tuple(parent for parent, _ in found), tuple(names for _, names in found)
        )


def _touches_head(component: Component, heads: int) -> bool:
    return any(0 <= term < heads for literal in component for term in literal.terms)


@dataclass(frozen=True, slots=True)
class Placed:
    """A step as a row in the table of its layer."""

    pattern: CoveragePattern
    parents: tuple[int, ...]  # their numbers, as the pattern orders them
    # For each argument of the pattern its variable's place in the parent's list (from 1), its constant's id, or None.
    values: tuple[int | None, ...]
    places: tuple[int, ...]  # as of `Stored`, for the new component


def placed(
    step: ComponentStep,
    info: PredicateInfo,
    heads: int,
    stored: Mapping[Component, Stored],
    *,
    facts_first: bool = False,
) -> Placed:
    """Return a step with the places of its variables; `heads` is the number of the head's arguments."""
    known = [(stored[parent], names) for parent, names in zip(step.parents, step.names, strict=True)]
    # Parents in the order in which the literal meets them, so that few patterns occur.
    known.sort(key=lambda found: min(step.literal.terms.index(name) for name in found[1] if name in step.literal.terms))
    place_of: dict[int, tuple[int, int]] = {}
    places: list[int] = []
    for i, (parent, names) in enumerate(known):
        for j, variable in enumerate(parent.places):
            place_of[names[variable]] = (i, j + 1)
            places.append(names[variable] - heads)
    arguments: list[PatternArgument] = []
    values: list[int | None] = []
    new: dict[int, int] = {}
    if info.example_column:
        arguments.append(PatternArgument(ArgumentKind.HEAD.value, heads))
        values.append(None)
    for term in step.literal.terms:
        argument, value = PatternArgument(ArgumentKind.CONSTANT.value), None
        if term < 0:
            value = constant(term)
        elif term < heads:
            argument = PatternArgument(ArgumentKind.HEAD.value, term)
        elif term in place_of:
            owner, value = place_of[term]
            argument = PatternArgument(ArgumentKind.BOUND.value, owner, value if facts_first else 0)
        else:
            if term not in new:
                places.append(term - heads)
            argument = PatternArgument(ArgumentKind.NEW.value, new.setdefault(term, len(new)))
        arguments.append(argument)
        values.append(value)
    pattern = CoveragePattern(info.name, tuple(arguments), tuple(parent.touched for parent, _ in known), facts_first)
    return Placed(pattern, tuple(parent.number for parent, _ in known), tuple(values), tuple(places))


def _layer_table(placed: Sequence[Placed], first: int) -> pa.Table:
    """Return the table of a layer; see `CoverageTables`."""
    patterns = sorted({x.pattern for x in placed})
    number = {pattern: i for i, pattern in enumerate(patterns)}
    columns: dict[str, list[int | None]] = {"pattern": [number[x.pattern] for x in placed]}
    columns["component"] = list(range(first, first + len(placed)))
    for name in layer_columns(patterns)[2:]:
        i = int(name[1:])
        values = [x.parents if name[0] == "p" else x.values for x in placed]
        columns[name] = [x[i] if i < len(x) else None for x in values]
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


# ---- coverage ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComponentCounts:
    """How often components hold at target atoms, as sparse rows."""

    indptr: IntArray  # shape (c + 1,): component i has atom[indptr[i]:indptr[i + 1]]
    atom: IntArray  # shape (r,), places of target atoms, from 0 in the order of the source, ascending in each
    count: IntArray  # shape (r,), at least 1: assignments of the existential variables that make all literals true

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def of(self, i: int) -> tuple[IntArray, IntArray]:
        """Return the atoms and counts of one component."""
        inside = slice(self.indptr[i], self.indptr[i + 1])
        return self.atom[inside], self.count[inside]


class _Counts(NamedTuple):
    """How often a component holds at the keys of the arguments that it touches."""

    touched: Heads
    keys: IntArray
    n: IntArray


class _AgainError(Exception):
    """A layer has too many bindings: those of its components that alone have too many are `exploding` now, if any."""


class Coverage:
    """Evaluates components at the atoms of a target, in a context that drops its scratch tables."""

    def __init__(
        self,
        engine: QueryEngine,
        layout: Layout,
        components: Components,  # with the number h of the target's arguments
        predicates: Sequence[str],  # of bodies, by index; all closed
        arguments: IntArray,  # shape (n, h), the constants of the target's atoms
        example: IntArray,  # shape (n,), their examples
        *,
        limit: int = MOST_BINDINGS,  # most bindings evaluated together, or kept; larger layers are evaluated in parts
        pass_over: bool = False,  # whether a component that needs an exploding one holds nowhere, else it is an error
    ) -> None:
        self.engine, self.layout, self.components, self.limit = engine, layout, components, limit
        # Components that alone have more bindings than the limit, with a sentence about the literal that explodes: they
        # are counted and not kept, and others are made of what else they consist of.
        self.exploding: dict[Component, str] = {}
        # Components that cannot be made without an exploding one, with that one.
        self.passed_over: dict[Component, Component] = {}
        self._pass_over = pass_over
        self.predicates = tuple(predicates)
        self._infos = [layout.predicates[name] for name in self.predicates]
        for info in self._infos:
            if info.open:
                raise ModelError(
                    f"{info.name} is open, so it cannot stand in the body of a non-recursive clause: leave its modes out, or "
                    "load its facts as those of a closed predicate"
                )
        self._values = np.column_stack([arguments, example]).astype(np.int64)
        self._refiner = ComponentRefiner(components)
        self._counts: dict[Component, _Counts] = {}
        self._stored: dict[Component, Stored] = {}
        self._rows: dict[int, int] = {}
        self._keys: dict[Heads, DistinctKeys] = {}
        self._key_tables: dict[Heads, TableName] = {}
        self._bindings: TableName | None = None
        self._tables: set[TableName] = set()
        self._next = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the scratch tables. What was counted stays known."""
        for name in list(self._tables):
            self._drop(name)
        self._key_tables.clear()
        self._stored.clear()
        self._rows.clear()
        self._bindings = None

    def evaluate(self, layer: Sequence[Component], *, keep: bool = True) -> ComponentCounts:
        """Return where components hold (see `CoverageSource`); GroundingLimitError for one that needs an exploding one."""
        self._evaluate_all(list(dict.fromkeys(layer)), keep=keep)
        return self._at_atoms([self._counts[component] for component in layer])

    def _evaluate_all(self, layer: Sequence[Component], *, keep: bool, apart: bool = False) -> None:
        """Evaluate what is not known yet, in two halves if it has too many bindings together; `apart`: its parents one by one."""
        asked = [component for component in layer if component not in self._counts]
        if not asked:
            return
        self._forget()
        layers, beyond = self._refiner.layers(asked, self._stored.keys(), self.exploding)
        asked = self._without(asked, beyond)
        parents = {parent for steps in layers for step in steps for parent in step.parents}
        unkept = set() if keep else set(asked) - parents
        before = len(self.exploding)
        try:
            for steps in layers:
                kept = [step for step in steps if step.component not in unkept]
                for some in [[step] for step in kept] if apart else [kept]:
                    self._evaluate(some, keep=True)
                self._evaluate([step for step in steps if step.component in unkept], keep=False)
        except _AgainError:
            if len(self.exploding) > before:
                # There may be other ways to make what was to be made of them.
                self._evaluate_all(asked, keep=keep)
            elif len(asked) > 1:
                half = len(asked) // 2
                self._evaluate_all(asked[:half], keep=keep)
                self._evaluate_all(asked[half:], keep=keep)
            else:
                self._evaluate_all(asked, keep=keep, apart=True)

    def _without(self, asked: Sequence[Component], beyond: Mapping[Component, Component]) -> list[Component]:
        """Return what can be made; nothing is known of the others, or there must be none."""
        nothing = np.zeros(0, np.int64)
        for component in asked:
            if component not in beyond:
                continue
            if not self._pass_over:
                raise GroundingLimitError(f"{self.exploding[beyond[component]]}: {FEWER_BINDINGS}")
            self.passed_over[component] = beyond[component]
            self._counts[component] = _Counts((), nothing, nothing)
        return [component for component in asked if component not in beyond]

    # ---- in the database ---------------------------------------------------------------------------------

    def _evaluate(self, steps: Sequence[ComponentStep], *, keep: bool) -> None:
        """Evaluate components whose parents are kept."""
        if not steps:
            return
        found = [self._placed(step) for step in steps]
        order = sorted(range(len(steps)), key=lambda i: found[i].pattern)
        steps, found = [steps[i] for i in order], [found[i] for i in order]
        patterns = sorted({x.pattern for x in found})
        first = self._next
        # Whatever happens, a number is used once.
        self._next += len(steps)
        keys = {pattern.touched: self._key_table(pattern.touched) for pattern in patterns if pattern.touched}
        scratch = [self._create("layer", _layer_table(found, first))]
        try:
            tables = self._shared(patterns, scratch, keys)
            if keep:
                query = layer_bindings(patterns, self.layout, tables, self.limit + 1)
                self.engine.append(tables.bindings, query, step=f"bind {counted(len(steps), 'component')}")
                counts = self.engine.fetch(count_bindings(tables.bindings, first), step="count bindings")
                if counts.num_rows and int(_integers(counts, "n").sum()) > self.limit:
                    self._drop_bindings(first)
                    grouped = [i for i, pattern in enumerate(patterns) if pattern.groupable]
                    counts = self._counted(layer_counts(patterns, self.layout, tables, grouped), steps)
                    self._set_apart(steps, found, counts, first)
                    raise _AgainError
            else:
                grouped = self._grouped(patterns, found)
                counts = self._counted(layer_counts(patterns, self.layout, tables, grouped), steps)
        finally:
            for name in scratch:
                self._drop(name)
        self._take(steps, found, counts, first, keep=keep)

    def _shared(
        self, patterns: Sequence[CoveragePattern], scratch: list[TableName], keys: Mapping[Heads, TableName]
    ) -> CoverageTables:
        """Make the tables that the branches of a layer share; `scratch`, which has the layer, gets their names."""
        bindings = self._bindings_table()
        tables = CoverageTables(scratch[0], bindings, keys, self._values.shape[1], bindings, {})
        wanted = wanted_bindings(patterns, tables)
        if wanted is not None:
            scratch.append(self._create("wanted", wanted))
            tables = replace(tables, wanted=scratch[-1])
        constants: dict[int, TableName] = {}
        for i, pattern in enumerate(patterns):
            if pattern.facts_first:
                scratch.append(self._create("constants", facts_of_constants(i, pattern, self.layout, tables)))
                constants[i] = scratch[-1]
        return replace(tables, constants=constants)

    def _placed(self, step: ComponentStep) -> Placed:
        """Place a step; one with constants begins with their facts if these are fewer than the bindings of a parent."""
        info = self._infos[step.literal.predicate]
        sizes = [
            self.layout.types[kind].size for kind, term in zip(info.types, step.literal.terms, strict=True) if term < 0
        ]
        parents = [self._rows[self._stored[parent].number] for parent in step.parents]
        first = bool(sizes and parents) and info.rows < max(parents) * prod(sizes)
        return placed(step, info, self.components.heads, self._stored, facts_first=first)

    def _counted(self, query: exp.Select, steps: Sequence[ComponentStep]) -> pa.Table:
        try:
            return self.engine.fetch(query, step=f"count the bindings of {counted(len(steps), 'component')}")
        except OverflowEngineError as error:
            shown = BodyText(self.engine, self.layout, self.predicates, steps[0].component)
            others = f" or of {counted(len(steps) - 1, 'other component')}" if len(steps) > 1 else ""
            raise CountOverflowError(
                f"the number of bindings of {shown}{others} does not fit into 64 bits: leave out literals that multiply them"
            ) from error

    def _grouped(self, patterns: Sequence[CoveragePattern], placed: Sequence[Placed]) -> list[int]:
        """Return the patterns whose facts are counted first: those with loose parents, and those with fewer facts than bindings of parents."""
        sizes = dict.fromkeys(patterns, 0)
        for new in placed:
            sizes[new.pattern] += max((self._rows[number] for number in new.parents), default=len(self._values))
        facts = {pattern: self.layout.predicates[pattern.predicate].rows for pattern in patterns}
        return [i for i, x in enumerate(patterns) if x.groupable and (x.loose or facts[x] <= sizes[x])]

    def _drop_bindings(self, first: int) -> None:
        """Keep the bindings of the components before a number; of what goes there were more than the limit, of what stays fewer."""
        bindings = self._bindings_table()
        early = exp.LT(this=column("component", "b"), expression=integer(first))
        kept = exp.select(exp.Star()).from_(table(bindings, "b")).where(early, copy=False)
        self.engine.create_table(bindings, kept, step="drop bindings")

    def _set_apart(
        self, steps: Sequence[ComponentStep], placed: Sequence[Placed], counts: pa.Table, first: int
    ) -> None:
        """Count the components of a layer that alone have more bindings than the limit."""
        # As floats: the sum of counts that fit into 64 bits need not.
        number = _integers(counts, "component") - first
        sizes = np.bincount(number, weights=_integers(counts, "n"), minlength=len(steps))
        self._take(steps, placed, counts, first, keep=False, only=sizes > self.limit)
        for i in np.flatnonzero(sizes > self.limit).tolist():
            text = BodyText(self.engine, self.layout, self.predicates, steps[i].component)
            self.exploding[steps[i].component] = (
                f"the literal {text.literal(steps[i].literal)} explodes in the body {text}: it has {counted(int(sizes[i]), 'binding')} at "
                f"{counted(len(self._values), 'target atom')}, more than the limit of {self.limit:,}"
            )

    def _take(
        self,
        steps: Sequence[ComponentStep],
        placed: Sequence[Placed],
        counts: pa.Table,
        first: int,
        *,
        keep: bool,
        only: BoolArray | None = None,
    ) -> None:
        """Remember what was counted, and what is kept."""
        keys, n = _integers(counts, "key"), _integers(counts, "n")
        starts = np.searchsorted(_integers(counts, "component"), first + np.arange(len(steps) + 1)).tolist()
        for i, (step, new) in enumerate(zip(steps, placed, strict=True)):
            if only is not None and not only[i]:
                continue
            rows, touched = slice(starts[i], starts[i + 1]), new.pattern.touched
            self._counts[step.component] = _Counts(touched, keys[rows], n[rows])
            if keep:
                self._stored[step.component] = Stored(first + i, touched, new.places)
                self._rows[first + i] = int(n[rows].sum())

    def _forget(self) -> None:
        """When more than the limit is kept, keep the newest half of the limit."""
        size = sum(self._rows.values())
        if size <= self.limit:
            return
        cut, kept = self._next, 0
        for number in sorted(self._rows, reverse=True):
            kept += self._rows[number]
            if kept > self.limit // 2:
                break
            cut = number
        old = self._bindings_table()
        self._bindings = self._create("bindings", bindings_from(old, cut))
        self._stored = {component: x for component, x in self._stored.items() if x.number >= cut}
        self._rows = {number: rows for number, rows in self._rows.items() if number >= cut}
        self._drop(old)

    def _bindings_table(self) -> TableName:
        if self._bindings is None:
            columns = ["component", "key", *(f"h{j}" for j in range(self._values.shape[1]))]
            fields = [*((name, pa.int32()) for name in columns), ("places", pa.list_(pa.int32()))]
            self._bindings = self._create("bindings", pa.schema(fields).empty_table())
        return self._bindings

    def _keys_of(self, touched: Heads) -> DistinctKeys:
        if touched not in self._keys:
            self._keys[touched] = distinct_rows(self._values[:, list(touched)])
        return self._keys[touched]

    def _key_table(self, touched: Heads) -> TableName:
        if touched not in self._key_tables:
            data = self._keys_of(touched).table([f"h{j}" for j in touched])
            self._key_tables[touched] = self._create("keys", data)
        return self._key_tables[touched]

    def _create(self, kind: str, data: pa.Table | exp.Expr) -> TableName:
        catalog, schema = self.layout.scratch
        name = TableName(catalog, schema, f"coverage_{kind}_{next(_numbers)}")
        # Known before it is there: Ctrl-C may come at any time.
        self._tables.add(name)
        self.engine.create_table(name, data, step=f"create a scratch table ({kind})")
        return name

    def _drop(self, name: TableName) -> None:
        self.engine.drop_table(name, step="drop scratch tables")
        self._tables.discard(name)

    # ---- at atoms ----------------------------------------------------------------------------------------

    def _at_atoms(self, counts: Sequence[_Counts]) -> ComponentCounts:
        """Spread counts at keys to all atoms that have them."""
        groups: dict[Heads, list[int]] = {}
        for i, found in enumerate(counts):
            groups.setdefault(found.touched, []).append(i)
        row, atom, n = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for touched, members in groups.items():
            keys = np.concatenate([counts[i].keys for i in members])
            atoms, place = self._keys_of(touched).spread(keys)
            row.append(np.repeat(np.array(members), [len(counts[i].keys) for i in members])[place])
            atom.append(atoms)
            n.append(np.concatenate([counts[i].n for i in members])[place])
        rows, atoms, number = np.concatenate(row), np.concatenate(atom), np.concatenate(n)
        order = np.argsort(rows * max(len(self._values), 1) + atoms, kind="stable")
        indptr = np.searchsorted(rows[order], np.arange(len(counts) + 1)).astype(np.int64)
        return ComponentCounts(indptr, atoms[order], number[order])


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)
