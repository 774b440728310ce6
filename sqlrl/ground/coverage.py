"""Where components of clause bodies hold: evaluated layer by layer in the database, a few queries for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import prod
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.base import Engine
from sqlrl.engine.nodes import column, integer
from sqlrl.errors import CountOverflowError, EngineError, GroundingLimitError, ModelError
from sqlrl.ground.body_text import BodyText
from sqlrl.ground.evaluated import ComponentCounts
from sqlrl.ground.keys import Keys, distinct
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.refining import Placed, Refiner, Step, Stored, layer_table, placed
from sqlrl.ground.running import is_overflow
from sqlrl.logic.components import Component, Components
from sqlrl.plan.coverage import bindings_from, count_bindings, layer_bindings, layer_counts
from sqlrl.plan.patterns import CoverageTables, Heads, Pattern
from sqlrl.plan.shared import facts_of_constants, wanted_bindings
from sqlrl.plan.sql import table
from sqlrl.wording import counted

MOST_BINDINGS = 10_000_000
"""Bindings that are kept, and those of one layer: more fill the memory."""

FEWER_BINDINGS = (
    "lower the recall in its mode, use constants (#) where it brings in variables (-), shorten clauses, or raise limit="
)
"""What helps against a literal that explodes."""

_numbers = count(1)


class _Counts(NamedTuple):
    """How often a component holds at the keys of the arguments that it touches."""

    touched: Heads
    keys: IntArray
    n: IntArray


class _AgainError(Exception):
    """A layer has too many bindings: those of its components that alone have too many are `exploding` now, if any."""


class Coverage:
    """Evaluates components at the atoms of a target. A context: its scratch tables are dropped at its end.

    Parameters
    ----------
    engine : Engine
    layout : Layout
    components : Components
        With the number h of the target's arguments.
    predicates : sequence of str
        The body predicates by index, all closed.
    arguments : int64 array, shape (n, h)
        The constants of the target's atoms.
    example : int64 array, shape (n,)
        Their examples.
    limit : int
        The most bindings of components that are evaluated together; a layer that has more of them is evaluated in parts. When all that
        is kept is more than that, the oldest is forgotten, and evaluated again if it is needed. A component that alone has more is
        counted, not kept: it is *exploding*, and others are made of what else they consist of.
    pass_over : bool
        Whether a component that cannot be made without an exploding one holds nowhere and is `passed_over`; else it is an error.

    Attributes
    ----------
    exploding : dict of Component to str
        With the sentence that says which literal explodes.
    passed_over : dict of Component to Component
        With the exploding one that it would be made of.

    Raises
    ------
    ModelError
        If a body predicate is open.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> from sqlrl.logic.components import BodyLiteral
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> components, people = Components(1), np.array([[0], [1], [2]])
    >>> path = components.split([BodyLiteral(0, (0, 1)), BodyLiteral(0, (1, 2))])
    >>> with Coverage(program.engine, program.layout, components, ["Friends"], people, np.zeros(3, np.int64)) as found:
    ...     [x.tolist() for x in found.evaluate(path).of(0)]
    [[0], [1]]
    """

    def __init__(
        self,
        engine: Engine,
        layout: Layout,
        components: Components,
        predicates: Sequence[str],
        arguments: IntArray,
        example: IntArray,
        *,
        limit: int = MOST_BINDINGS,
        pass_over: bool = False,
    ) -> None:
        self.engine, self.layout, self.components, self.limit = engine, layout, components, limit
        self.exploding: dict[Component, str] = {}
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
        self._refiner = Refiner(components)
        self._counts: dict[Component, _Counts] = {}
        self._stored: dict[Component, Stored] = {}
        self._rows: dict[int, int] = {}
        self._keys: dict[Heads, Keys] = {}
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
        """Return where components hold; see `sqlrl.structure.ilp.protocols.CoverageSource`.

        Raises
        ------
        GroundingLimitError
            If a component cannot be made without one that has more bindings than the limit; names the literal that explodes.
        CountOverflowError
            If a count does not fit into 64 bits.
        """
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

    def _evaluate(self, steps: Sequence[Step], *, keep: bool) -> None:
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
        scratch = [self._create("layer", layer_table(found, first))]
        try:
            tables = self._shared(patterns, scratch, keys)
            if keep:
                query = layer_bindings(patterns, self.layout, tables, self.limit + 1)
                insert = exp.Insert(this=table(tables.bindings), expression=query)
                self.engine.execute(insert, step=f"bind {counted(len(steps), 'component')}")
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
        self, patterns: Sequence[Pattern], scratch: list[TableName], keys: Mapping[Heads, TableName]
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

    def _placed(self, step: Step) -> Placed:
        """Place a step; one with constants begins with their facts if these are fewer than the bindings of a parent."""
        info = self._infos[step.literal.predicate]
        sizes = [
            self.layout.types[kind].size for kind, term in zip(info.types, step.literal.terms, strict=True) if term < 0
        ]
        parents = [self._rows[self._stored[parent].number] for parent in step.parents]
        first = bool(sizes and parents) and info.rows < max(parents) * prod(sizes)
        return placed(step, info, self.components.heads, self._stored, facts_first=first)

    def _counted(self, query: exp.Select, steps: Sequence[Step]) -> pa.Table:
        try:
            return self.engine.fetch(query, step=f"count the bindings of {counted(len(steps), 'component')}")
        except EngineError as error:
            if not is_overflow(error):
                raise
            shown = BodyText(self.engine, self.layout, self.predicates, steps[0].component)
            others = f" or of {counted(len(steps) - 1, 'other component')}" if len(steps) > 1 else ""
            raise CountOverflowError(
                f"the number of bindings of {shown}{others} does not fit into 64 bits: leave out literals that multiply them"
            ) from error

    def _grouped(self, patterns: Sequence[Pattern], found: Sequence[Placed]) -> list[int]:
        """Return the patterns whose facts are counted first: those with loose parents, and those with fewer facts than bindings of parents."""
        sizes = dict.fromkeys(patterns, 0)
        for new in found:
            sizes[new.pattern] += max((self._rows[number] for number in new.parents), default=len(self._values))
        facts = {pattern: self.layout.predicates[pattern.predicate].rows for pattern in patterns}
        return [i for i, x in enumerate(patterns) if x.groupable and (x.loose or facts[x] <= sizes[x])]

    def _drop_bindings(self, first: int) -> None:
        late = exp.GTE(this=column("component"), expression=integer(first))
        self.engine.execute(
            exp.Delete(this=table(self._bindings_table()), where=exp.Where(this=late)), step="drop bindings"
        )

    def _set_apart(self, steps: Sequence[Step], found: Sequence[Placed], counts: pa.Table, first: int) -> None:
        """Count the components of a layer that alone have more bindings than the limit."""
        # As floats: the sum of counts that fit into 64 bits need not.
        number = _integers(counts, "component") - first
        sizes = np.bincount(number, weights=_integers(counts, "n"), minlength=len(steps))
        self._take(steps, found, counts, first, keep=False, only=sizes > self.limit)
        for i in np.flatnonzero(sizes > self.limit).tolist():
            text = BodyText(self.engine, self.layout, self.predicates, steps[i].component)
            self.exploding[steps[i].component] = (
                f"the literal {text.literal(steps[i].literal)} explodes in the body {text}: it has {counted(int(sizes[i]), 'binding')} at "
                f"{counted(len(self._values), 'target atom')}, more than the limit of {self.limit:,}"
            )

    def _take(
        self,
        steps: Sequence[Step],
        found: Sequence[Placed],
        counts: pa.Table,
        first: int,
        *,
        keep: bool,
        only: BoolArray | None = None,
    ) -> None:
        """Remember what was counted, and what is kept."""
        keys, n = _integers(counts, "key"), _integers(counts, "n")
        starts = np.searchsorted(_integers(counts, "component"), first + np.arange(len(steps) + 1)).tolist()
        for i, (step, new) in enumerate(zip(steps, found, strict=True)):
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

    def _keys_of(self, touched: Heads) -> Keys:
        if touched not in self._keys:
            self._keys[touched] = distinct(self._values[:, list(touched)])
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
        self.engine.create_table(catalog, schema, name.name, data, step=f"create a scratch table ({kind})")
        return name

    def _drop(self, name: TableName) -> None:
        self.engine.drop_table(name.catalog, name.schema, name.name, step="drop scratch tables")
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
