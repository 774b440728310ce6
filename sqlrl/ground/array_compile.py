"""From a program that is bound to a database to one without: what of the data belongs to all examples is read once.

Rules that are about more than one example at a time are refused here, by rule and reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, TypeInfo
from sqlrl.engine.nodes import column, table
from sqlrl.errors import UnsupportedError
from sqlrl.ground.array_grounding import ArrayConjunction
from sqlrl.ground.array_joins import ArrayTable
from sqlrl.ground.array_program import (
    ArrayFeature,
    ArrayHelper,
    ArrayProgram,
    ArrayShape,
    ArrayTemplate,
    BlockCheck,
    FreedInstance,
    TypeNames,
    example_place,
    none_of,
)
from sqlrl.ground.clauses import argument_names
from sqlrl.ground.counts import rule_place, shape_of
from sqlrl.ground.grounding import block_clauses
from sqlrl.ground.helpers import bind_definition, narrowing, witness_definition
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import BoundFeature, Program
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral, Slot, in_given_order
from sqlrl.logic.terms import Constant, ExistsLiteral, Feature, Literal, Variable
from sqlrl.plan.expansion import freed
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import argument_columns, closed_atoms

WHOLE = 65_536
"""Local types of up to so many constants keep all of them, so that ties are broken as the database breaks them."""


def compile_arrays(program: Program) -> tuple[ArrayProgram, dict[str, TypeNames]]:
    """Return a program without its database, and the constants that it knows of each type."""
    return _Compiler(program).compiled()


class _Compiler:
    def __init__(self, program: Program) -> None:
        self.program = program
        _check_layout(program)
        plain = program.layout
        helpers = {info.name for info in program.helpers}
        # Atoms may be given with the examples, whatever the data have.
        known = {
            name: replace(info, has_given=True) if info.open and name not in helpers else info
            for name, info in plain.predicates.items()
        }
        self.layout: Layout = replace(plain, predicates=known)
        for feature in range(len(program.features)):
            self._check_rule(feature)
        facts = {
            name: self._read(name)
            for name, info in known.items()
            if not info.open and name not in helpers and example_place(plain, info) is None
        }
        self._kept: dict[str, IntArray] = {}  # by type the ids that are kept, ascending
        self.names = {kind: self._names(info, facts) for kind, info in plain.types.items()}
        self.closed = {name: self._renumbered(name, rows) for name, rows in facts.items()}

    # ---- what is refused ---------------------------------------------------------------------------------

    def _check_rule(self, feature: int) -> None:
        """Refuse a rule whose literals do not share one example."""
        bound = self.program.features[feature]
        shapes = [instance.shape for instance in bound.instances] or [shape_of(bound)]
        reasons = [_reason(bind(shape, self.layout)) for shape in shapes]
        if bound.feature.plus and bound.expansions is None:
            reasons += [_loose_template(bound.feature, instance, self.layout) for instance in bound.instances]
        for reason in reasons:
            if reason is not None:
                raise UnsupportedError(
                    f"{rule_place(self.program, feature)}: {reason}, so that the rule cannot be scored from one example alone: predict with the "
                    "database, or leave the rule out"
                )

    # ---- what is read ------------------------------------------------------------------------------------

    def _read(self, name: str) -> ArrayTable:
        """Read the facts of a global predicate."""
        info = self.layout.predicates[name]
        data = self.program.engine.fetch(closed_atoms(info), step=f"read the facts of {name}")
        columns = [_integers(data, each) for each in argument_columns(info)]
        return ArrayTable(columns, data.num_rows)

    def _names(self, info: TypeInfo, facts: Mapping[str, ArrayTable]) -> TypeNames:
        """Read the constants of a type: all of a global one and of a small one, of others those that are named."""
        if info.name == self.layout.example_type:
            self._kept[info.name] = np.zeros(0, np.int64)
            return TypeNames([], 0)
        query = exp.select(column("id", "d"), column("name", "d")).from_(table(info.dictionary, "d"))
        if info.local and info.size > WHOLE:
            used = [
                rows.columns[i]
                for name, rows in facts.items()
                for i, kind in enumerate(self.layout.predicates[name].types)
                if kind == info.name
            ]
            named = np.fromiter(self.program.constants.of(info.name).values(), np.int64)
            ids = np.unique(np.concatenate([*used, named[named >= 0]]))
            with self.program.rows_table(pa.table({"id": ids})) as listed:
                same = exp.EQ(this=column("id", "n"), expression=column("id", "d"))
                data = self._fetch(query.join(table(listed, "n"), on=same), info)
        else:
            data = self._fetch(query, info)
        self._kept[info.name] = _integers(data, "id")
        names: list[str] = data.column("name").to_pylist()
        return TypeNames(names, 0 if info.local else len(names))

    def _fetch(self, query: exp.Select, info: TypeInfo) -> pa.Table:
        ordered = query.order_by(exp.Ordered(this=column("id", "d"), nulls_first=False))
        return self.program.engine.fetch(ordered, step=f"read the constants of {info.name}")

    def _renumbered(self, name: str, rows: ArrayTable) -> ArrayTable:
        """Return the facts of a global predicate with the ids of the constants that are kept."""
        types = self.layout.predicates[name].types
        return ArrayTable(
            [np.searchsorted(self._kept[kind], ids) for kind, ids in zip(types, rows.columns, strict=True)], rows.size
        )

    # ---- clauses -----------------------------------------------------------------------------------------

    def compiled(self) -> tuple[ArrayProgram, dict[str, TypeNames]]:
        """Return the program and the constants."""
        program = self.program
        features = tuple(self._feature(i, bound) for i, bound in enumerate(program.features))
        feature_of = np.array(program.feature_of, np.int64)
        clauses: dict[Shape, list[int]] = {}
        rows: dict[Shape, list[list[IntArray]]] = {}
        templates = []
        for i, bound in enumerate(program.features):
            numbers = np.flatnonzero(feature_of == i)
            for instance in bound.instances:
                clauses.setdefault(instance.shape, [])
                if len(numbers) and instance.shape.parameters:
                    columns = self._parameters(bound, instance, len(numbers))
                    rows.setdefault(instance.shape, []).append([numbers, *columns])
                elif len(numbers):
                    clauses[instance.shape] += numbers.tolist()
        place = {shape: i for i, shape in enumerate(clauses)}
        for i, bound in enumerate(program.features):
            if bound.feature.plus and bound.instances and bound.expansions is None:
                templates.append(self._template(i, bound, place))
        shapes = tuple(self._shape(shape, clauses[shape], rows.get(shape, [])) for shape in clauses)
        compiled = ArrayProgram(
            self.layout,
            features,
            feature_of,
            program.weights(),
            shapes,
            tuple(templates),
            tuple(self._helpers()),
            program.blocks,
            tuple(self._checks()),
            self.closed,
            {info.name: argument_names(info) for info in program.public_layout.open_predicates()},
        )
        return compiled, self.names

    def _feature(self, i: int, bound: BoundFeature) -> ArrayFeature:
        shape = bound.instances[0].shape if bound.instances else shape_of(bound)
        sign = -1 if bound.feature.negated else 1
        text = rule_place(self.program, i)
        return ArrayFeature(text, bound.weight, sign, bound.hard, bind(shape, self.layout))

    def _parameters(self, bound: BoundFeature, instance: Instance, size: int) -> list[IntArray]:
        """Return the ids of the constants in the clauses of a feature, a column for each parameter of a shape."""
        known, columns = bound.expansions, []
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
            learn = self.names[kind].learn
            if isinstance(term, Variable):
                assert known is not None, "a template has clauses if it lists them"
                j = known.variables.index(term.name)
                columns.append(np.fromiter((learn(row[j]) for row in known.rows), np.int64, size))
            else:
                columns.append(np.full(size, learn(term.name), np.int64))
        return columns

    def _shape(self, shape: Shape, clauses: Sequence[int], rows: Sequence[Sequence[IntArray]]) -> ArrayShape:
        width = 1 + len(shape.parameters)
        parameters = none_of(width)
        if rows:
            parameters = ArrayTable([np.concatenate(parts) for parts in zip(*rows, strict=True)])
        bound = bind(shape, self.layout)
        unknown = frozenset(
            k for k, kind in enumerate(shape.parameters) if (parameters.columns[k + 1] >= self.names[kind].domain).any()
        )
        return ArrayShape(replace(bound, unknown=unknown), np.array(clauses, np.int64), parameters)

    def _template(self, i: int, bound: BoundFeature, place: Mapping[Shape, int]) -> ArrayTemplate:
        """Return a template that gets its clauses from the examples."""
        kinds = dict(bound.feature.variables)
        plus = bound.feature.plus
        instances = []
        for instance in bound.instances:
            free, places = freed(instance, self.layout)
            filled, constants = [], [np.zeros(1, np.int64)]
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
                if isinstance(term, Variable):
                    filled.append(plus.index(term.name))
                else:
                    number = self.names[kind].learn(term.name)
                    filled.append(-1 - number)
                    constants.append(np.full(1, number, np.int64))
            unknown = frozenset(
                k
                for k, (kind, ids) in enumerate(zip(free.shape.parameters, constants[1:], strict=True))
                if ids[0] >= self.names[kind].domain
            )
            variables = tuple(places.get(name) for name in plus)
            freed_bound = replace(free, unknown=unknown)
            instances.append(
                FreedInstance(place[instance.shape], freed_bound, ArrayTable(constants), variables, tuple(filled))
            )
        return ArrayTemplate(i, tuple(kinds[name] for name in plus), tuple(instances))

    # ---- helpers and blocks --------------------------------------------------------------------------------

    def _helpers(self) -> Iterator[ArrayHelper]:
        """Yield the helper predicates, definitions before uses."""
        seen: set[str] = set()
        for helper in (helper for bound in self.program.features for helper in bound.feature.helpers):
            if helper.name in seen:
                continue
            seen.add(helper.name)
            parts = [x for x in helper.definition.conjunction if isinstance(x, Literal)]
            opened = [x for x in parts if self.layout.predicates[x.predicate].open]
            if len(opened) > 1:
                name, variables, everything = witness_definition(helper)
                yield self._helper(name, variables, everything, opened=True)
            yield self._helper(helper.name, helper.variables, helper.definition, opened=bool(opened))

    def _helper(
        self, name: str, variables: tuple[tuple[str, str], ...], definition: ExistsLiteral, *, opened: bool
    ) -> ArrayHelper:
        instance, bound, slots, names = bind_definition(self.layout, variables, definition)
        group = instance.shape.exists[0]
        parameters = [np.zeros(1, np.int64)]
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
            assert isinstance(term, Constant)
            parameters.append(np.full(1, self.names[kind].learn(term.name), np.int64))
        inside = [Slot(False, i) for i in group.variables]
        if opened:
            literals, equal = narrowing(bound, slots, group)
            mentioned = {slot for x in literals for _, slot in bound.columns(x)}
            inside = [slot for slot in inside if slot in mentioned]
        else:
            literals, equal, slots = list[ShapeLiteral](group.literals), list(group.equalities), slots[: len(names)]
        table_ = ArrayTable(parameters) if instance.shape.parameters else None
        conjunction = ArrayConjunction(bound, table_, tuple(slots), tuple(literals), tuple(equal), tuple(inside))
        place = next((i for i, slot in enumerate(slots) if bound.is_example(slot)), None)
        return ArrayHelper(name, conjunction, len(names), place, "example" in names)

    def _checks(self) -> Iterator[BlockCheck]:
        """Yield what a block demands of the evidence."""
        for rule in self.program.blocks:
            info = self.layout.predicates[rule.predicate]
            types = [self.layout.types[info.types[i]] for i in rule.positions]
            may_be_empty = rule.exact and any(kind.local or not kind.size for kind in types)
            for clause, words in block_clauses(info, rule):
                shape = in_given_order(clause, self.layout.type_of, self.layout.example_type).shape
                exists = bool(shape.exists)
                yield BlockCheck(rule.predicate, not (exists and may_be_empty), bind(shape, self.layout), words)


def _check_layout(program: Program) -> None:
    """Refuse data that are one example, and predicates whose atoms or constants are not those of the facts."""
    layout = program.public_layout
    if not layout.divided:
        raise UnsupportedError(
            "all data are one example, so that there is nothing to hand over to a compiled scorer: load what differs with example=, or predict "
            "with the database"
        )
    for info in layout.open_predicates():
        if not info.full_scope:
            raise UnsupportedError(
                f"{info.name} has a scope of its own, which a compiled scorer does not know for new examples: leave db.scope(...) out, or "
                "predict with the database"
            )
    for info in layout.predicates.values():
        cut = [kind for kind in info.types if layout.types[kind].edges]
        if cut:
            raise UnsupportedError(
                f"the numbers of type {cut[0]!r} of {info.name} are cut into pieces, which a compiled scorer does not do: load names of the "
                "pieces, or predict with the database"
            )


def _reason(bound: BoundShape) -> str | None:
    """Return why the clauses of a shape cannot be grounded over one example at a time; None if they can."""
    slots = [slot for x in bound.every_literal for _, slot in bound.columns(x)]
    slots += [Slot(False, i) for i in range(len(bound.shape.variables))]
    slots += [Slot(True, k) for k in range(len(bound.shape.parameters))]
    examples = {slot for slot in slots if bound.is_example(slot)}
    if any(slot.parameter for slot in examples):
        return "it names an example"
    if len(examples) > 1:
        return "its literals are about several examples"
    for literal in bound.every_literal:
        # Which of them its facts belong to is not known from a row alone.
        if bound.info(literal).types.count(bound.layout.example_type or "") > 1:
            return f"{literal.predicate} has several arguments of the examples' type"
    for slot in dict.fromkeys(slots):
        if bound.is_local(slot) and not slot.parameter and not bound.owners.get(slot):
            return f"a variable of the local type {bound.kind(slot)!r} ranges over the constants of all examples"
    return None


def _integers(data: pa.Table, name: str) -> IntArray:
    return np.asarray(data.column(name).to_numpy(), dtype=np.int64)


def _loose_template(feature: Feature, instance: Instance, layout: Layout) -> str | None:
    """Return why the clauses of a template cannot be found in examples alone; None if they can."""
    bound, places = freed(instance, layout)
    joined = {slot for x in bound.shape.literals if not x.positive for slot in x.terms}
    for name, kind in feature.variables:
        if name in feature.plus and layout.types[kind].local and places.get(name) not in joined:
            return f"+{name} is of the local type {kind!r}, and no literal of the condition says which constants of it are meant"
    return None
