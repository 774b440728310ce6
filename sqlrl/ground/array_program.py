"""Programs without a database: the clauses of a bound model by shape, as arrays, grounded over facts that are handed over.

An array program keeps of the data what belongs to all examples: the constants of global types, the facts of global predicates, and the
constants that clauses name. Everything else comes with the examples.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.errors import CountOverflowError, InfeasibleError
from sqlrl.ground.array_grounding import (
    ArrayConjunction,
    ExampleFacts,
    OpenRows,
    ground_frame,
    ground_rows,
    grounding_count,
)
from sqlrl.ground.array_joins import ArrayTable, Frame
from sqlrl.ground.atoms import Atoms
from sqlrl.ground.blocks import BlockRule
from sqlrl.ground.grounding import assembled
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.rows import INT64_MAX, GroundRows, with_clause
from sqlrl.logic.shapes import Slot
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import argument_columns
from sqlrl.wording import counted

# ---- clauses by shape --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ArrayShape:
    """The clauses of one shape."""

    bound: BoundShape
    clauses: IntArray  # of a shape without parameters, each as often as it is there
    parameters: ArrayTable  # the rows `clause, k0, k1, ...` of a shape with parameters

    @property
    def keyed(self) -> bool:
        """Whether the shape has parameters."""
        return bool(self.bound.shape.parameters)


@dataclass(frozen=True, eq=False)
class FreedInstance:
    """A clause of a template with variables in place of its `+` parameters."""

    shape: int  # of the program, whose parameters the combinations fill
    bound: BoundShape
    constants: ArrayTable  # the row `clause, k0, ...` of its other parameters
    places: tuple[Slot | None, ...]  # the variable of each `+` variable, None where the clause does not mention it
    # What fills each parameter of the shape: the number of a `+` variable, or -1 - the id of a constant.
    filled: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ArrayTemplate:
    """A template without clauses of its own: it gets one for each combination of constants that the examples leave open."""

    feature: int
    kinds: tuple[str, ...]  # the types of its `+` variables
    instances: tuple[FreedInstance, ...]


@dataclass(frozen=True, eq=False)
class ArrayFeature:
    """What the clauses of a feature have in common."""

    text: str  # of its rule, for errors
    weight: float
    sign: int
    hard: bool
    bound: BoundShape  # of one of its clauses: all have as many groundings


@dataclass(frozen=True, eq=False)
class ArrayHelper:
    """A helper predicate: the evidence decides its facts, or it has an atom wherever its definition can be true."""

    name: str
    definition: ArrayConjunction
    width: int  # how many of the definition's slots are columns of the predicate
    place: int | None  # the slot that is the example
    hidden_last: bool  # whether the last of the columns is the hidden example, which tables have first


@dataclass(frozen=True, eq=False)
class BlockCheck:
    """A clause that the evidence violates where it leaves no world for a block."""

    predicate: str
    given: bool  # whether only given atoms can violate it
    bound: BoundShape
    words: str  # what is wrong then


@dataclass(frozen=True, eq=False)
class ArrayProgram:
    """A bound model as arrays."""

    layout: Layout  # with the helper predicates; tables have names alone
    features: tuple[ArrayFeature, ...]
    feature_of: IntArray  # by clause
    weights: FloatArray  # by clause
    shapes: tuple[ArrayShape, ...]
    templates: tuple[ArrayTemplate, ...]
    helpers: tuple[ArrayHelper, ...]  # definitions before uses
    blocks: tuple[BlockRule, ...]
    block_checks: tuple[BlockCheck, ...]
    closed: Mapping[str, ArrayTable]  # the facts of global predicates
    columns: Mapping[str, tuple[str, ...]]  # by open predicate what its arguments are called in tables of atoms

    @cached_property
    def hard_clauses(self) -> BoolArray:
        """Which clauses are hard."""
        return np.array([x.hard for x in self.features], np.bool_)[self.feature_of]

    @cached_property
    def signs(self) -> IntArray:
        """By clause, as in networks."""
        return np.array([x.sign for x in self.features], np.int64)[self.feature_of]

    @cached_property
    def helper_names(self) -> frozenset[str]:
        """The helper predicates that have atoms."""
        return frozenset(x.name for x in self.helpers if self.layout.predicates[x.name].open)


# ---- constants ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class TypeNames:
    """The constants of a type that a program knows, by their ids."""

    names: list[str]
    domain: int  # how many of them, the first ones, are the domain of a global type; others only clauses name
    ids: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = {name: i for i, name in enumerate(self.names)}

    def learn(self, name: str) -> int:
        """Return the id of a constant, a new one if it has none."""
        number = self.ids.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


# ---- what examples have ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GivenFacts:
    """What is handed over of some examples, by ids of constants; columns as of the tables of predicates, rows distinct."""

    examples: IntArray  # ids, ascending
    values: Mapping[str, IntArray]  # the constants of global types
    closed: Mapping[str, ArrayTable]
    true: Mapping[str, ArrayTable]  # given atoms of open predicates
    false: Mapping[str, ArrayTable]
    prior: Mapping[str, tuple[ArrayTable, FloatArray]]  # soft evidence: rows, and log-odds in their order


def example_place(layout: Layout, info: PredicateInfo) -> int | None:
    """Return the column of a predicate's tuples that is the example; None for a global predicate."""
    if info.example_column:
        return 0
    return info.types.index(layout.example_type) if layout.example_type in info.types else None


def none_of(width: int) -> ArrayTable:
    """Return a relation without rows."""
    return ArrayTable([np.zeros(0, np.int64)] * width, 0)


def _domains(layout: Layout, given: GivenFacts) -> dict[str, ArrayTable]:
    """Return the domains of local types: the constants beside each example in what is handed over."""
    parts: dict[str, list[tuple[IntArray, IntArray]]] = {name: [] for name, kind in layout.types.items() if kind.local}
    for tables in (given.closed, given.true, given.false, {name: rows for name, (rows, _) in given.prior.items()}):
        for name, table in tables.items():
            if not table.size:
                continue
            info = layout.predicates[name]
            place = example_place(layout, info)
            first = int(info.example_column)
            for i, kind in enumerate(info.types):
                if kind in parts and place is not None:
                    parts[kind].append((table.columns[place], table.columns[first + i]))
    domains = {}
    for kind, found in parts.items():
        columns = found[0] if len(found) == 1 else [np.concatenate(column) for column in zip(*found, strict=True)]
        domains[kind] = ArrayTable(columns).distinct() if found else none_of(2)
    return domains


def gathered(
    program: ArrayProgram, given: GivenFacts, domains: Mapping[str, ArrayTable]
) -> tuple[ExampleFacts, dict[str, IntArray], int]:
    """Return all facts with the query atoms, helpers included, and the example of the atoms of each predicate; and how many atoms there are."""
    layout = program.layout
    facts = ExampleFacts(
        ArrayTable((given.examples,)),
        {kind: ArrayTable((ids,)) for kind, ids in given.values.items()},
        domains,
        {**program.closed, **given.closed},
        {},
    )
    examples: dict[str, IntArray] = {}
    size = 0
    helpers = {helper.name for helper in program.helpers}
    for info in layout.open_predicates():
        if info.name in helpers:
            continue
        columns, example = _scope(layout, info, facts, given)
        ids = np.arange(size + 1, size + 1 + len(example), dtype=np.int64)
        width = len(columns)
        facts.opened[info.name] = OpenRows(
            ArrayTable((*columns, ids), len(ids)),
            given.true.get(info.name) or none_of(width),
            given.false.get(info.name) or none_of(width),
        )
        examples[info.name] = example
        size += len(ids)
    for helper in program.helpers:
        size += _add_helper(layout, helper, facts, examples, size)
    return facts, examples, size


def _scope(
    layout: Layout, info: PredicateInfo, facts: ExampleFacts, given: GivenFacts
) -> tuple[list[IntArray], IntArray]:
    """Return the tuples of all query atoms of a predicate, without given ones, in order of example and arguments; and their examples."""
    frame = Frame({"e": facts.examples.columns[0]}, facts.examples.size)
    place = example_place(layout, info)
    first = int(info.example_column)
    for i, kind in enumerate(info.types):
        if first + i == place:
            continue
        if layout.types[kind].local:
            frame.join(facts.domains[kind], ("e", i))
        else:
            frame.join(facts.values[kind], (i,))
    for rows in (given.true.get(info.name), given.false.get(info.name)):
        if rows is not None and rows.size:
            names = ["e" if first + i == place else i for i in range(len(info.types))]
            frame.without(rows, ("e", *names) if first else tuple(names))
    columns = [frame["e"]] if first else []
    columns += [frame["e"] if first + i == place else frame[i] for i in range(len(info.types))]
    return columns, frame["e"]


def _add_helper(
    layout: Layout, helper: ArrayHelper, facts: ExampleFacts, examples: dict[str, IntArray], size: int
) -> int:
    """Add the facts or the atoms of a helper, these with ids after `size`; return how many atoms it has."""
    found = helper.definition.possible(facts)
    if not layout.predicates[helper.name].open:
        assert isinstance(facts.closed, dict)
        facts.closed[helper.name] = ArrayTable(_in_table_order(helper, found), found.size)
        return 0
    if helper.place:
        order = np.argsort(found.columns[helper.place], kind="stable")
        found = found.take(order)
    columns = _in_table_order(helper, found)
    ids = np.arange(size + 1, size + 1 + found.size, dtype=np.int64)
    none = none_of(len(columns))
    facts.opened[helper.name] = OpenRows(ArrayTable((*columns, ids), found.size), none, none)
    examples[helper.name] = found.columns[helper.place] if helper.place is not None else np.zeros(found.size, np.int64)
    return found.size


def _in_table_order(helper: ArrayHelper, found: ArrayTable) -> list[IntArray]:
    columns = list(found.columns[: helper.width])
    return [columns[-1], *columns[:-1]] if helper.hidden_last else columns


# ---- grounding ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Skeleton:
    """What the domains and the given atoms of examples say alone: the same for all examples that have the same ones."""

    facts: ExampleFacts  # without those of closed predicates that come with examples
    examples: Mapping[str, IntArray]  # of the atoms of each open predicate
    atoms: Atoms
    total: npt.NDArray[np.object_]  # groundings, by feature
    rows: tuple[GroundRows, ...]  # of the shapes that touch no closed predicate of examples


@dataclass(frozen=True, eq=False)
class ExampleGroup:
    """Examples that have the same skeleton."""

    skeleton: Skeleton  # of one of them
    atoms: IntArray  # shape (examples, n): the local atom of all examples that each of the skeleton's is


@dataclass(frozen=True, eq=False)
class GroundedExamples:
    """Some examples, grounded; the network of all their ground clauses is put together when it is asked for."""

    program: ArrayProgram
    whole: Callable[[], Skeleton]  # makes the skeleton of all of them together
    groups: tuple[ExampleGroup, ...]  # the same one by one; none where skeletons are not kept
    facts: ExampleFacts
    rows: tuple[GroundRows, ...]  # beside those of the skeleton
    feature_of: IntArray  # by clause

    @cached_property
    def skeleton(self) -> Skeleton:
        """What the domains of all examples say."""
        return self.whole()

    @property
    def atoms(self) -> Mapping[str, OpenRows]:
        """The tuples of each open predicate that is no helper."""
        return {name: x for name, x in self.facts.opened.items() if name not in self.program.helper_names}

    @cached_property
    def weights(self) -> FloatArray:
        """By clause of the network."""
        program = self.program
        new = [program.features[i].weight for i in self.feature_of[len(program.weights) :].tolist()]
        return np.concatenate([program.weights, np.array(new)]) if new else program.weights

    @cached_property
    def network(self) -> Network:
        """All ground clauses; what the evidence makes impossible is an error."""
        skeleton = self.skeleton
        return _network(self.program, skeleton, (*skeleton.rows, *self.rows), self.facts, self.feature_of)

    @cached_property
    def units(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """The ground clauses beside the skeleton as local atom, clause, and what the clause's n gains by it; None if some are longer, or hard."""
        program, atoms, clauses, changes = self.program, [], [], []
        for rows in self.rows:
            if int(rows.length.max(initial=0)) > 1 or program.hard_clauses[rows.clause].any():
                return None
            some = rows.length == 1
            clause, times = rows.clause, rows.multiplicity
            if not some.all():
                clause, times = clause[some], times[some]
            atoms.append(np.abs(rows.literals) - 1)
            clauses.append(clause)
            change = program.signs[clause] * times
            changes.append(np.where(rows.literals > 0, change, -change))
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *atoms]), np.concatenate([none, *clauses]), np.concatenate([none, *changes])


def skeleton_network(program: ArrayProgram, skeleton: Skeleton) -> Network:
    """Return the ground clauses of a skeleton alone."""
    facts = replace(skeleton.facts, closed=program.closed)
    return _network(program, skeleton, skeleton.rows, facts, program.feature_of)


def _network(
    program: ArrayProgram, skeleton: Skeleton, pieces: Sequence[GroundRows], facts: ExampleFacts, feature_of: IntArray
) -> Network:
    m = len(feature_of)
    hard = np.array([x.hard for x in program.features], np.bool_)[feature_of] if m else np.zeros(0, np.bool_)
    sign = np.array([x.sign for x in program.features], np.int64)[feature_of] if m else np.zeros(0, np.int64)
    total = skeleton.total[feature_of] if m else np.zeros(0, object)
    evidence = np.full(m, 0, dtype=object)
    network = assembled(skeleton.atoms, list(pieces), evidence, total, sign, hard)
    _check(program, network, facts, feature_of)
    return network


class ExampleGrounder:
    """Grounds a program over examples, and keeps the skeletons of the last ones: many examples differ in nothing but words."""

    def __init__(self, program: ArrayProgram) -> None:
        self.program = program
        self._kept: OrderedDict[bytes, Skeleton] = OrderedDict()
        layout, alone = program.layout, not program.helpers and not program.templates
        self._apart = [alone and _is_apart(layout, shape.bound) for shape in program.shapes]
        # A shape that touches facts of examples looks its domains up there; what else depends on domains are atoms and numbers of groundings.
        kinds = {kind for info in layout.open_predicates() for kind in info.types}
        bounds = [x.bound for x in program.features]
        bounds += [shape.bound for shape, apart in zip(program.shapes, self._apart, strict=True) if apart]
        kinds.update(kind for bound in bounds for kind in bound.shape.variables)
        self._kinds = sorted(kind for kind in kinds if kind in layout.types and layout.types[kind].local)
        self.keeps = alone  # whether skeletons are kept

    def ground(self, given: GivenFacts) -> GroundedExamples:
        """Ground the program over what is handed over."""
        program = self.program
        domains = _domains(program.layout, given)
        known = [*given.true.values(), *given.false.values(), *(rows for rows, _ in given.prior.values())]
        groups: tuple[ExampleGroup, ...] = ()
        if self.keeps and len(given.examples) > 1 and not any(table.size for table in known):
            opened, examples, _ = gathered(program, given, domains)
            groups = tuple(self._groups(given, domains, opened, examples))
            return self._grounded(given, domains, opened, groups, lambda: self._made(given, domains))
        skeleton = self._skeleton(given, domains)
        if self.keeps:
            groups = (ExampleGroup(skeleton, np.arange(len(skeleton.atoms.ids))[None, :]),)
        return self._grounded(given, domains, skeleton.facts, groups, lambda: skeleton)

    def _grounded(
        self,
        given: GivenFacts,
        domains: Mapping[str, ArrayTable],
        known: ExampleFacts,
        groups: tuple[ExampleGroup, ...],
        whole: Callable[[], Skeleton],
    ) -> GroundedExamples:
        program = self.program
        facts = replace(known, domains=domains, closed={**program.closed, **given.closed, **known.closed})
        shapes, feature_of = _with_templates(program, facts)
        rows: list[GroundRows] = []
        for shape, apart in zip(shapes, self._apart, strict=True):
            if not apart:
                rows += _of_shape(shape, facts)
        return GroundedExamples(program, whole, groups, facts, tuple(rows), feature_of)

    def _groups(
        self,
        given: GivenFacts,
        domains: Mapping[str, ArrayTable],
        facts: ExampleFacts,
        examples: Mapping[str, IntArray],
    ) -> Iterator[ExampleGroup]:
        """Yield the examples with the same domains, of none of which an atom is given."""
        number = len(given.examples)
        ends = np.arange(number + 1)
        parts = [
            (np.searchsorted(t.columns[0], ends).tolist(), t.columns[1]) for t in map(domains.get, self._kinds) if t
        ]
        members: dict[tuple[bytes, ...], list[int]] = {}
        for e in range(number):
            members.setdefault(tuple(ids[at[e] : at[e + 1]].tobytes() for at, ids in parts), []).append(e)
        starts = {
            name: int(facts.opened[name].atoms.columns[-1][0]) - 1 + np.searchsorted(found, ends)
            for name, found in examples.items()
            if len(found)
        }
        none = {kind: none_of(2) for kind in domains}
        for key, found in members.items():
            ids = [np.frombuffer(each, np.int64) for each in key]
            tables = [ArrayTable((np.zeros(len(each), np.int64), each)) for each in ids]
            one = replace(given, examples=given.examples[:1], closed={}, true={}, false={}, prior={})
            skeleton = self._skeleton(one, none | dict(zip(self._kinds, tables, strict=True)))
            chosen = np.array(found)
            columns = [
                starts[name][chosen][:, None] + np.arange(skeleton.facts.opened[name].atoms.size)
                for name in sorted(starts)
            ]
            yield ExampleGroup(skeleton, np.concatenate(columns or [np.zeros((len(found), 0), np.int64)], axis=1))

    def _skeleton(self, given: GivenFacts, domains: Mapping[str, ArrayTable]) -> Skeleton:
        """Return the skeleton of some examples, one that is kept if there is one."""
        tables = [
            *(domains[kind] for kind in self._kinds),
            *given.true.values(),
            *given.false.values(),
            *(t for t, _ in given.prior.values()),
        ]
        if not self.keeps or sum(table.size for table in tables) > MOST_KEPT_ROWS:
            return self._made(given, domains)
        arrays: list[npt.NDArray[Any]] = [
            given.examples,
            *given.values.values(),
            *(c for table in tables for c in table.columns),
        ]
        arrays += [odds for _, odds in given.prior.values()]
        names = repr((list(given.true), list(given.prior), [x.shape for x in arrays])).encode()
        key = b"".join([names, *(x.tobytes() for x in arrays)])
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._made(given, domains)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found

    def _made(self, given: GivenFacts, domains: Mapping[str, ArrayTable]) -> Skeleton:
        program = self.program
        # Helpers that the evidence decides are facts, and all others may depend on them.
        facts, examples, size = gathered(program, given, domains)
        atoms = _atoms(program, facts, examples, size, given)
        rows: list[GroundRows] = []
        for shape, apart in zip(program.shapes, self._apart, strict=True):
            if apart:
                rows += _of_shape(shape, facts)
        helpers = {helper.name for helper in program.helpers}
        kept = {name: table for name, table in facts.closed.items() if name in helpers}
        return Skeleton(replace(facts, closed=kept), examples, atoms, _totals(program, facts), tuple(rows))


MOST_KEPT = 256
"""Skeletons that are kept at the most."""

MOST_KEPT_ROWS = 20_000
"""Rows of domains and given atoms of a skeleton that is kept, at the most."""


def _is_apart(layout: Layout, bound: BoundShape) -> bool:
    """Whether a shape touches no closed predicate whose facts come with examples."""
    return all(x.open or example_place(layout, x) is None for x in map(bound.info, bound.every_literal))


def _of_shape(shape: ArrayShape, facts: ExampleFacts) -> list[GroundRows]:
    """Return the ground clauses of a shape, of one without parameters once for each of its clauses."""
    if shape.keyed:
        return [ground_rows(shape.bound, shape.parameters, facts)] if shape.parameters.size else []
    if not len(shape.clauses):
        return []
    rows = ground_rows(shape.bound, None, facts)
    return [with_clause(rows, clause) for clause in shape.clauses.tolist()]


def _with_templates(program: ArrayProgram, facts: ExampleFacts) -> tuple[list[ArrayShape], IntArray]:
    """Return the shapes with the clauses of templates that the examples leave open, and the feature of each clause."""
    if not program.templates:
        return list(program.shapes), program.feature_of
    more: dict[int, list[ArrayTable]] = {}
    features = [program.feature_of]
    clauses: dict[int, list[IntArray]] = {}
    size = len(program.feature_of)
    for template in program.templates:
        found = [_combinations(template, instance, facts) for instance in template.instances]
        columns = [np.concatenate(parts) for parts in zip(*(table.columns for table in found), strict=True)]
        combinations = ArrayTable(columns).distinct()
        number = np.arange(size, size + combinations.size, dtype=np.int64)
        size += combinations.size
        features.append(np.full(combinations.size, template.feature, np.int64))
        for instance in template.instances:
            if not instance.filled:
                clauses.setdefault(instance.shape, []).append(number)
                continue
            filled = [
                combinations.columns[k] if k >= 0 else np.full(len(number), -1 - k, np.int64) for k in instance.filled
            ]
            more.setdefault(instance.shape, []).append(ArrayTable((number, *filled)))
    shapes = []
    for i, shape in enumerate(program.shapes):
        tables = [shape.parameters, *more.get(i, [])] if shape.parameters.size else more.get(i, [])
        parameters = shape.parameters
        if i in more:
            parameters = ArrayTable([np.concatenate(c) for c in zip(*(t.columns for t in tables), strict=True)])
        shapes.append(ArrayShape(shape.bound, np.concatenate([shape.clauses, *clauses.get(i, [])]), parameters))
    return shapes, np.concatenate(features)


def _combinations(template: ArrayTemplate, instance: FreedInstance, facts: ExampleFacts) -> ArrayTable:
    """Return the combinations of constants that some grounding of a clause of a template leaves open."""
    found = ground_frame(instance.bound, instance.constants, facts)
    rows = found.rows(np.arange(found.frame.size))
    places = rows.clause[rows.length > 0]
    found.frame.keep(places)
    frame = Frame({i: found.frame[slot] for i, slot in enumerate(instance.places) if slot is not None}, len(places))
    mentioned = ArrayTable(list(frame.columns.values()), frame.size).distinct()
    result = Frame(dict(zip(frame.columns, mentioned.columns, strict=True)), mentioned.size)
    for i, slot in enumerate(instance.places):
        # A `+` variable that the clause does not mention ranges over its whole type.
        if slot is None:
            result.join(facts.values[template.kinds[i]], (i,))
    return ArrayTable([result[i] for i in range(len(template.kinds))], result.size)


def _totals(program: ArrayProgram, facts: ExampleFacts) -> npt.NDArray[np.object_]:
    """Return the groundings of each clause of a feature."""
    by_feature = np.full(len(program.features), 0, dtype=object)
    known: dict[object, int] = {}
    for i, feature in enumerate(program.features):
        bound = feature.bound
        key = tuple((bound.kind(slot), bool(bound.owners.get(slot, ()))) for slot in bound.variables)
        if key not in known:
            known[key] = grounding_count(bound, facts)
        by_feature[i] = known[key]
    return by_feature


def _atoms(
    program: ArrayProgram, facts: ExampleFacts, examples: Mapping[str, IntArray], size: int, given: GivenFacts
) -> Atoms:
    """Return the query atoms, with the blocks that they form."""
    ids = np.arange(1, size + 1, dtype=np.int64)
    example, prior = np.zeros(size, np.int64), np.zeros(size)
    block, decided, helper = np.full(size, -1, np.int64), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    exact: list[BoolArray] = [np.zeros(0, np.bool_)]
    rule_of = {rule.predicate: rule for rule in reversed(program.blocks)}
    for name in sorted(facts.opened):
        rows = facts.opened[name]
        if not rows.atoms.size:
            continue
        first = int(rows.atoms.columns[-1][0]) - 1
        here = slice(first, first + rows.atoms.size)
        example[here] = examples[name]
        helper[here] = name in program.helper_names
        if name in given.prior:
            table, odds = given.prior[name]
            frame = Frame(dict(enumerate(table.columns)), table.size)
            atom = frame.looked_up(rows.atoms, tuple(range(len(table.columns))), len(table.columns))
            prior[atom[atom > 0] - 1] = odds[atom > 0]
        rule = rule_of.get(name)
        if rule is not None:
            count = sum(map(len, exact))
            exact.append(_block(program.layout, rule, rows, block[here], decided[here], count))
    return Atoms(ids, example, prior, block, np.concatenate(exact), decided, helper)


def _block(
    layout: Layout, rule: BlockRule, rows: OpenRows, block: IntArray, decided: BoolArray, first: int
) -> BoolArray:
    """Number the blocks of a predicate's atoms from `first`, and mark atoms that a given one decides; return whether each block is exact."""
    names = argument_columns(layout.predicates[rule.predicate])
    keys = [i for i, name in enumerate(names) if name not in {f"a{place}" for place in rule.positions}]
    if not keys:
        decided[:] = rows.true.size > 0
        numbers = np.zeros(len(block), np.int64)
    else:
        table = ArrayTable([rows.atoms.columns[i] for i in keys])
        if rows.true.size:
            frame = Frame(dict(enumerate(table.columns)), table.size)
            hits = ArrayTable([rows.true.columns[i] for i in keys])
            decided[:] = frame.counts(hits, tuple(range(len(keys)))) > 0
        sorted_ = table.sorted_by(tuple(range(len(keys))))
        rank = np.cumsum(np.concatenate([[0], sorted_.keys[1:] != sorted_.keys[:-1]]))
        numbers = rank
        if sorted_.order is not None:
            numbers = np.empty(len(rank), np.int64)
            numbers[sorted_.order] = rank
    left, number = np.unique(numbers[~decided], return_inverse=True)
    block[~decided] = number + first
    return np.full(len(left), rule.exact)


def _check(program: ArrayProgram, network: Network, facts: ExampleFacts, feature_of: IntArray) -> None:
    """Raise if the evidence alone violates a hard clause or a block, or where counts do not fit into 64 bits."""
    for clause in np.flatnonzero(network.open > INT64_MAX).tolist():
        raise CountOverflowError(
            f"{program.features[feature_of[clause]].text} has {network.open[clause]:,} open groundings, which do not fit into 64 bits"
        )
    for clause in np.flatnonzero(network.hard & (network.evidence_violated > 0)).tolist():
        found = counted(network.evidence_violated[clause], "grounding")
        raise InfeasibleError(
            f"the facts that were handed over violate this hard rule in {found}, so no world is possible: "
            f"{program.features[feature_of[clause]].text}; correct these facts, or give the rule a weight"
        )
    for check in program.block_checks:
        known = facts.opened[check.predicate]
        if check.given and not known.true.size + known.false.size:
            continue
        rows = ground_rows(check.bound, None, facts)
        if len(rows.length) and not rows.length.all():
            raise InfeasibleError(
                f"what is given of {check.predicate} {check.words}, so no world is possible: correct these facts"
            )
