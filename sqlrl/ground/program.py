"""Programs: a model held against the data, with its clauses sorted by shape into parameter tables.

A clause id numbers one weight. A rule without `+` variables has one clause; a template has one for each combination of
constants that some example leaves open, found by `expand` (or, in a learned model, listed with its weights).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.sizes import greater_limit, memory_of
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, subquery, table, union_all
from sqlrl.errors import GroundingLimitError, Parameter, UnsupportedError
from sqlrl.ground.blocks import BlockRule
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import placed
from sqlrl.logic.shapes import Instance, Shape
from sqlrl.logic.terms import Constant, Feature, Variable
from sqlrl.logic.witnesses import HELPER_PREFIX
from sqlrl.plan.bounds import domain_bound, join_bound
from sqlrl.plan.expansion import expand, expand_observed
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import ExampleRange
from sqlrl.progress import staged
from sqlrl.wording import counted

UNKNOWN = -1
"""The id of a constant that the data do not have; it joins with nothing."""

LEAST_PARTS = 4
"""Examples are told as a range where that leaves out three of four: so many more rows would be read and joined for nothing."""

_numbers = count(1)

ParameterRows = tuple[npt.NDArray[np.int64], Sequence[npt.NDArray[np.int32]]]
"""Rows of a parameter table: the clauses, and for each parameter the ids of its constants."""


# ---- constants ---------------------------------------------------------------------------------------


class ConstantIds:
    """Looks up ids of constants, one query a type, and remembers them; `prefix` starts the names of scratch tables."""

    def __init__(self, engine: QueryEngine, layout: Layout, prefix: str) -> None:
        self.engine, self.layout = engine, layout
        self.tables: list[TableName] = []
        self._prefix = prefix
        self._ids: dict[str, dict[str, int]] = {}
        self._unknown: tuple[Layout, int, int] | None = None  # how many there were in a layout with so many names
        self._rows: dict[tuple[int, ...], TableName] = {}

    def scratch(self, kind: str, query: exp.Expression | pa.Table) -> TableName:
        """Create a scratch table under a fresh name."""
        catalog, schema = self.layout.scratch
        name = TableName(catalog, schema, f"{self._prefix}_{kind}_{len(self.tables)}")
        self.engine.create_table(name, query, step=f"create a scratch table ({kind})")
        self.tables.append(name)
        return name

    def learn(self, constants: Iterable[tuple[str, str]]) -> None:
        """Look up constants, given as (type, name)."""
        wanted: dict[str, set[str]] = {}
        for kind, name in constants:
            if name not in self._ids.setdefault(kind, {}):
                wanted.setdefault(kind, set()).add(name)
        for kind, names in wanted.items():
            self._ids[kind].update(dict.fromkeys(names, UNKNOWN) | self._look_up(kind, names, self.layout))

    def _look_up(self, kind: str, names: Iterable[str], layout: Layout) -> dict[str, int]:
        """Return the ids of those names of a type that the data have."""
        if kind not in layout.types:
            return {}
        with rows_table(self.engine, layout, pa.table({"name": pa.array(sorted(names), pa.string())})) as listed:
            query = (
                exp.select(column("name", "d"), column("id", "d"))
                .from_(table(layout.types[kind].dictionary, "d"))
                .join(table(listed, "n"), on=exp.EQ(this=column("name", "n"), expression=column("name", "d")))
            )
            data = self.engine.fetch(query, step=f"look up constants of type {kind}")
        return dict(zip(data.column("name").to_pylist(), data.column("id").to_pylist(), strict=True))

    def follow(self, layout: Layout) -> bool:
        """Go over to a layout whose data only grew; False, with nothing done, if they have a constant now that was unknown."""
        for kind, ids in self._ids.items():
            unknown = [name for name, number in ids.items() if number == UNKNOWN]
            same = kind in layout.types and layout.types[kind].size == self.layout.types[kind].size
            if unknown and not same and self._look_up(kind, unknown, layout):
                return False
        self.layout = layout
        return True

    def of(self, kind: str) -> Mapping[str, int]:
        """Return the ids of the constants of a type that were learned; UNKNOWN for those that the data lack."""
        return self._ids.get(kind, {})

    @property
    def unknown(self) -> int:
        """How many of the constants that were learned the data lack, also where they are part of a domain since a rule names them."""
        # Thousands of constants are looked at again only where some are new, or the types.
        size = sum(map(len, self._ids.values()))
        if self._unknown is None or self._unknown[0] is not self.layout or self._unknown[1] != size:
            self._unknown = self.layout, size, self._count_unknown()
        return self._unknown[2]

    def _count_unknown(self) -> int:
        types = self.layout.types
        known = {kind: types[kind].size - types[kind].of_rules if kind in types else 0 for kind in self._ids}
        return sum(not 0 <= number < known[kind] for kind, ids in self._ids.items() for number in ids.values())

    def names(self, kind: str, most: int) -> list[str]:
        """Return all constants of a type; none if there are more than `most`."""
        if self.layout.types[kind].size > most:
            return []
        query = exp.select(column("name")).from_(table(self.layout.types[kind].dictionary)).order_by(column("id"))
        names: list[str] = self.engine.fetch(query, step=f"read the constants of type {kind}").column(0).to_pylist()
        return names

    def learn_instances(self, instances: Iterable[Instance]) -> None:
        """Look up the constants of instances."""
        self.learn(
            (kind, term.name)
            for instance in instances
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(term, Constant)
        )

    def close(self, kept: int = 0) -> None:
        """Drop the scratch tables but the first ones that are `kept`."""
        for name in self.tables[kept:]:
            self.engine.drop_table(name, step="drop scratch tables")
        del self.tables[kept:]
        self._rows = {fixed: name for fixed, name in self._rows.items() if name in self.tables}

    def single_row(self, instance: Instance) -> TableName | None:
        """Return a parameter table with one row: the instance's constants in order, its `+` variables left out."""
        self.learn_instances([instance])
        fixed = tuple(
            self._ids[kind][term.name]
            for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
            if isinstance(term, Constant)
        )
        if not fixed:
            return None
        if fixed not in self._rows:
            columns = {f"k{j}": pa.array([value], pa.int32()) for j, value in enumerate(fixed)}
            self._rows[fixed] = self.scratch("row", pa.table({"clause": pa.array([0], pa.int64()), **columns}))
        return self._rows[fixed]


# ---- scratch tables ----------------------------------------------------------------------------------


@contextmanager
def rows_table(engine: QueryEngine, layout: Layout, data: pa.Table | exp.Expr) -> Iterator[TableName]:
    """Show rows, or those of a query, to SQL as a scratch table of the layout while the context is open."""
    catalog, schema = layout.scratch
    name = TableName(catalog, schema, f"shown_{next(_numbers)}")
    engine.create_table(name, data, step="show rows to SQL")
    try:
        yield name
    finally:
        engine.drop_table(name, step="drop scratch tables")


# ---- programs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundFeature:
    """A feature of a model with an instance for each of its clauses."""

    rule: Rule | None  # with its signs chosen; None for the definition of a helper predicate
    feature: Feature
    instances: tuple[Instance, ...]

    @property
    def hard(self) -> bool:
        """True for hard rules and definitions."""
        return self.rule is None or self.rule.hard

    @property
    def weight(self) -> float:
        """The rule's weight, shared out under Alchemy's semantics; 0 if it has none."""
        return (self.rule.weight or 0.0) * self.feature.factor if self.rule is not None else 0.0

    @property
    def expansions(self) -> Expansions | None:
        """The clauses that a learned template lists."""
        return self.rule.expansions if self.rule is not None else None


@dataclass(frozen=True)
class BoundRules:
    """Rules bound to a layout."""

    rules: tuple[Rule, ...]  # what the given ones come to, see `plain_model`
    owners: tuple[int, ...]  # for each of `rules` the place of its rule among the given ones
    # In the order of `rules`, without those that only state a block; then the definitions of new helpers.
    features: tuple[BoundFeature, ...]


class Binder(Protocol):
    """Holds rules against a layout, again and again, and owns the tables of their helpers."""

    @property
    def layout(self) -> Layout:
        """The layout, with the helper predicates of all rules so far."""
        ...

    @property
    def blocks(self) -> tuple[BlockRule, ...]:
        """The blocks that declarations and hard rules so far state."""
        ...

    def bind(self, rules: Sequence[Rule]) -> BoundRules:
        """Compile rules and make the tables of their helpers; rules that are refused leave no trace."""
        ...

    def follows(self, layout: Layout) -> bool:
        """Whether rules come to the same against another layout, and have no helpers."""
        ...

    def follow(self, layout: Layout) -> None:
        """Go over to a layout that it follows."""
        ...

    def close(self) -> None:
        """Drop the tables of the helpers."""
        ...


@dataclass
class ShapeUse:
    """The clauses of one shape."""

    # Replaced when the first clauses get a parameter table, and when a clause with an unknown constant joins them.
    bound: BoundShape
    # Of a shape without parameters; one that occurs twice counts twice.
    clauses: list[int] = field(default_factory=list)
    rows: int = 0  # of the parameter table

    @property
    def shape(self) -> Shape:
        """The shape itself."""
        return self.bound.shape

    @property
    def parameters(self) -> TableName | None:
        """The parameter table `clause, k0, k1, ...`; None for a shape without parameters."""
        return self.bound.parameters


class Program:
    """A model bound to a layout, with its clauses by shape."""

    def __init__(self, engine: QueryEngine, model: Model, binder: Binder, constants: ConstantIds) -> None:
        self.engine, self.constants, self._binder = engine, constants, binder
        # The model is of exact semantics, without `*`; `owners` has for each of its rules the place of its rule in the
        # model that was bound, see `plain_model`.
        self.model, self.owners = replace(model, rules=(), semantics="exact"), tuple[int, ...]()
        # In the order of rules, without hard ones that only state a block; then the definitions of their helpers.
        self.features: tuple[BoundFeature, ...] = ()
        self.shapes: dict[Shape, ShapeUse] = {}
        self.feature_of: list[int] = []  # by clause
        # Tables `clause, plus0, plus1, ...` by template; clauses that a structure learner found have none, since no
        # example adds to them.
        self.expansions: dict[int, TableName] = {}
        self._initial: list[float] = []
        # How many rules were given; each may come to several, or to none.
        self._given = 0
        self.add(model.rules)
        # How many scratch tables it has from the start.
        self._tables = len(constants.tables)

    @property
    def layout(self) -> Layout:
        """What the data are, with the helper predicates."""
        return self._binder.layout

    @property
    def blocks(self) -> tuple[BlockRule, ...]:
        """Blocks that the declarations or hard clauses state; those clauses are not among the features."""
        return self._binder.blocks

    @property
    def helpers(self) -> tuple[PredicateInfo, ...]:
        """The helper predicates, with those that stand for the witnesses of others; closed ones are decided by the evidence."""
        return tuple(p for name, p in self.layout.predicates.items() if name.startswith(HELPER_PREFIX))

    @property
    def helper_names(self) -> frozenset[str]:
        """The helper predicates that have atoms."""
        return frozenset(p.name for p in self.helpers if p.open)

    @property
    def public_layout(self) -> Layout:
        """The layout without helper predicates."""
        shown = {name: p for name, p in self.layout.predicates.items() if not name.startswith(HELPER_PREFIX)}
        return replace(self.layout, predicates=shown)

    # ---- clauses ----------------------------------------------------------------------------------------

    @property
    def clause_count(self) -> int:
        """Number of clauses so far."""
        return len(self.feature_of)

    def signs(self) -> npt.NDArray[np.int64]:
        """Return +1 for each clause that counts satisfied groundings, -1 for each that counts violated ones."""
        of_feature = np.array([-1 if f.feature.negated else 1 for f in self.features], dtype=np.int64)
        return of_feature[np.array(self.feature_of, dtype=np.int64)] if self.feature_of else np.zeros(0, np.int64)

    def hard(self) -> npt.NDArray[np.bool_]:
        """Return which clauses are hard."""
        of_feature = np.array([f.hard for f in self.features], dtype=bool)
        return of_feature[np.array(self.feature_of, dtype=np.int64)] if self.feature_of else np.zeros(0, bool)

    def fixed(self) -> npt.NDArray[np.bool_]:
        """Return which clauses have a weight that learners leave as it is."""
        of_feature = np.array([f.rule is not None and f.rule.fixed for f in self.features], dtype=bool)
        return of_feature[np.array(self.feature_of, dtype=np.int64)] if self.feature_of else np.zeros(0, bool)

    def weights(self) -> npt.NDArray[np.float64]:
        """Return the weights of the model (log-odds), 0 for hard clauses and those to be learned."""
        return np.array(self._initial, dtype=np.float64)

    def clauses_of(self, use: ShapeUse) -> int:
        """Return how many clauses a shape has."""
        return len(use.clauses) if use.parameters is None else use.rows

    def add(self, rules: Sequence[Rule]) -> int:
        """Add rules and return how many clauses these have, with the next ids; new templates have none before `expand`."""
        # Rules that are refused, as by `bind_program`, leave the program as it was.
        bound, before, first = self._binder.bind(rules), self.clause_count, len(self.features)
        self.model = replace(self.model, rules=(*self.model.rules, *bound.rules))
        self.owners += tuple(self._given + place for place in bound.owners)
        self._given += len(rules)
        self.features += bound.features
        self.constants.learn_instances(instance for f in bound.features for instance in f.instances)
        rows: dict[Shape, list[ParameterRows]] = {}
        places = range(first, len(self.features))
        made = any(f.feature.plus or any(x.shape.parameters for x in f.instances) for f in bound.features)
        with self.engine.transaction() if made else nullcontext():
            self._add_plain([i for i in places if not self.features[i].feature.plus], rows)
            for i in places:
                if self.features[i].feature.plus:
                    self._add_template(i, rows)
            self._fill(rows)
        return self.clause_count - before

    def compiled(self, rules: Sequence[Rule]) -> tuple[BoundFeature, ...]:
        """Compile rules that get no clauses: formulas that are counted beside those of the program."""
        bound = self._binder.bind(rules)
        features = tuple(f for f in bound.features if f.rule is not None)
        if len(features) < len(bound.features) or len(features) != len(rules):
            raise UnsupportedError("one of these formulas needs atoms of its own, or comes to several")
        self.constants.learn_instances(instance for f in features for instance in f.instances)
        return features

    def expand(
        self,
        examples: TableName | None = None,
        *,
        observed: bool = False,  # with which the negated literals of some grounding are true, see `expand_observed`
        only: Collection[int] | None = None,  # places of templates among the features
    ) -> int:
        """Add clauses for new combinations that examples leave open, by template and ids of constants; return how many."""
        before = self.clause_count
        templates = [i for i, f in enumerate(self.features) if f.feature.plus and f.instances and f.expansions is None]
        templates = [i for i in templates if only is None or i in only]
        for i in staged("expanding templates", templates):
            self._expand_template(i, examples, observed=observed)
        return self.clause_count - before

    def follow(self, layout: Layout) -> bool:
        """Switch to a layout with the same clauses; return False, with nothing done, if the program must be bound anew."""
        # Data that only grew keep the clauses, but for helper predicates, whose atoms are those of the old data,
        # constants that were unknown, and templates whose clauses examples find.
        growing = any(f.feature.plus and f.expansions is None for f in self.features)
        if growing or not self._binder.follows(layout) or not self.constants.follow(layout):
            return False
        self._binder.follow(layout)
        # Drop what was made since the program was bound.
        self.constants.close(self._tables)
        for use in self.shapes.values():
            use.bound = bind(use.shape, layout, use.bound.unknown, use.bound.parameters)
        return True

    def close(self) -> None:
        """Drop the program's scratch tables."""
        self._binder.close()
        self.constants.close()

    @contextmanager
    def rows_table(self, data: pa.Table | exp.Expr) -> Iterator[TableName]:
        """Show rows to SQL as a scratch table while the context is open."""
        with rows_table(self.engine, self.layout, data) as name:
            yield name

    @contextmanager
    def examples_table(self, examples: npt.NDArray[np.int64]) -> Iterator[TableName]:
        """Show examples as a scratch table while the context is open, for queries that are restricted to them."""
        with self.rows_table(pa.table({"example": examples.astype(np.int32)})) as name:
            yield name

    # ---- building ---------------------------------------------------------------------------------------

    def _use(self, shape: Shape) -> ShapeUse:
        if shape not in self.shapes:
            self.shapes[shape] = ShapeUse(bind(shape, self.layout))
        return self.shapes[shape]

    def _new_clauses(self, feature: int, weights: Sequence[float]) -> None:
        self.feature_of.extend([feature] * len(weights))
        self._initial.extend(weights)

    def _add_plain(self, features: Sequence[int], rows: dict[Shape, list[ParameterRows]]) -> None:
        """Number the clauses of rules without `+` variables, and note the rows of the parameter tables of each shape."""
        members: dict[Shape, list[tuple[int, Instance]]] = {}
        for i in features:
            bound = self.features[i]
            clause = self.clause_count
            self._new_clauses(i, [bound.weight])
            for instance in bound.instances:
                if instance.shape.parameters:
                    members.setdefault(instance.shape, []).append((clause, instance))
                else:
                    self._use(instance.shape).clauses.append(clause)
        for shape, found in members.items():
            clauses = np.array([clause for clause, _ in found], dtype=np.int64)
            ids = [
                np.array([self.constants.of(kind)[m.arguments[k].name] for _, m in found], dtype=np.int32)
                for k, kind in enumerate(shape.parameters)
            ]
            self._use(shape)
            rows.setdefault(shape, []).append((clauses, ids))

    def _plus_types(self, feature: Feature) -> list[str]:
        kinds = dict(feature.variables)
        return [kinds[name] for name in feature.plus]

    def _add_template(self, i: int, rows: dict[Shape, list[ParameterRows]]) -> None:
        """Create the expansion table of a template; note the clauses of a learned model if it lists them."""
        bound = self.features[i]
        kinds, known = self._plus_types(bound.feature), bound.expansions
        listed = () if known is None else known.rows
        order = [] if known is None else [known.variables.index(name) for name in bound.feature.plus]
        self.constants.learn((kind, row[j]) for kind, j in zip(kinds, order, strict=False) for row in listed)
        clauses = np.arange(self.clause_count, self.clause_count + len(listed), dtype=np.int64)
        columns = [np.zeros(0, dtype=np.int32) for _ in kinds]
        for k, (kind, j) in enumerate(zip(kinds, order, strict=False)):
            ids = self.constants.of(kind)
            columns[k] = np.fromiter((ids[row[j]] for row in listed), dtype=np.int32, count=len(listed))
        if known is None or not known.found:
            named_columns = {f"plus{k}": values for k, values in enumerate(columns)}
            self.expansions[i] = self.constants.scratch("expansion", pa.table({"clause": clauses, **named_columns}))
        if known is None:
            return
        self._new_clauses(i, known.weights)
        for instance in bound.instances:
            if instance.shape.parameters:
                ids_of = [
                    columns[bound.feature.plus.index(term.name)]
                    if isinstance(term, Variable)
                    else np.full(len(clauses), self.constants.of(kind)[term.name], dtype=np.int32)
                    for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True)
                ]
                rows.setdefault(instance.shape, []).append((clauses, ids_of))
            self._use(instance.shape).clauses.extend(() if instance.shape.parameters else clauses.tolist())

    def _fill(self, rows: Mapping[Shape, Sequence[ParameterRows]]) -> None:
        """Create parameter tables, or add to those there are."""
        for shape, pieces in rows.items():
            use = self._use(shape)
            columns = [np.concatenate([clauses for clauses, _ in pieces])]
            columns += [np.concatenate([ids[k] for _, ids in pieces]) for k in range(len(shape.parameters))]
            unknown = use.bound.unknown | {k for k, ids in enumerate(columns[1:]) if (ids < 0).any()}
            use.rows += len(columns[0])
            data = pa.table(dict(zip(_parameter_columns(shape), columns, strict=True)))
            if use.parameters is None:
                self._add_rows(use, data, unknown)
            else:
                with self.rows_table(data) as name:
                    self._add_rows(use, exp.select(*map(column, data.column_names)).from_(table(name)), unknown)

    def _add_rows(self, use: ShapeUse, rows: exp.Select | pa.Table, unknown: frozenset[int]) -> None:
        """Make the parameter table of a shape from its first rows, or add those of a query to it."""
        parameters = use.parameters
        if parameters is None:
            parameters = self.constants.scratch("parameter", rows)
        else:
            assert isinstance(rows, exp.Select)
            self.engine.append(parameters, rows, step="add parameter rows")
        use.bound = use.bound.with_parameters(parameters, unknown)

    def _expand_template(self, i: int, examples: TableName | None, *, observed: bool) -> None:
        """Find new combinations for a template and add their rows."""
        names = [f"plus{j}" for j in range(len(self.features[i].feature.plus))]
        new = self.new_combinations(i, examples, observed=observed)
        self._check_clauses(i, new)
        number = exp.Window(
            this=exp.RowNumber(),
            order=exp.Order(expressions=[exp.Ordered(this=column(n), nulls_first=False) for n in names]),
        )
        clause = exp.Add(this=number, expression=integer(self.clause_count - 1))
        rows = exp.select(named(clause, "clause"), *(column(n) for n in names)).from_(subquery(new, "new"))
        first = self.clause_count
        self.engine.append(self.expansions[i], rows, step="expand a template")
        size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(table(self.expansions[i]))
        size = size.where(exp.GTE(this=column("clause"), expression=integer(first)))
        added = self.engine.fetch(size, step="count new clauses").column(0)[0].as_py()
        self._new_clauses(i, [self.features[i].weight] * added)
        if added:
            try:
                self._insert_parameters(i, first, added)
            except BaseException:
                # What was learned before Ctrl-C is kept with the clauses that have parameters.
                del self.feature_of[first:], self._initial[first:]
                raise

    def _check_clauses(self, i: int, new: exp.Query) -> None:
        """Refuse more clauses of templates than the limit on atoms, each of which takes as much memory; they are counted first if need be."""
        limit, bound = self.layout.atom_limit, self.features[i]
        most = math.prod(self.layout.types[kind].size for kind in self._plus_types(bound.feature))
        if self.clause_count + most <= limit:
            return
        size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(subquery(new, "new"))
        count = self.clause_count + int(
            self.engine.fetch(size, step="count the clauses of a template").column(0)[0].as_py()
        )
        if count <= limit:
            return
        names = " and ".join(f"+{name}" for name in bound.feature.plus)
        place = f"{placed(bound.rule)}: " if bound.rule is not None else ""
        raise GroundingLimitError(
            f"{place}with a clause for each combination of {names} there would be {counted(count, 'clause')}, {memory_of(count)}, more than "
            f"the limit of {limit:,}: leave out a +, join it to a closed literal, pass fewer {Parameter('examples')}, {greater_limit(count)}"
        )

    def new_combinations(self, i: int, examples: TableName | None = None, *, observed: bool = False) -> exp.Except:
        """Plan the distinct `plus0, plus1, ...` (ids) that examples leave open and for which template `i` has no clause."""
        bound, found = self.features[i], []
        for instance in bound.instances:
            query = (expand_observed if observed else expand)(
                instance,
                self.layout,
                plus=bound.feature.plus,
                constants=self.constants.single_row(instance),
                examples=examples,
            )
            found.append(self._completed(bound.feature, instance, query))
        old = exp.select(*(column(f"plus{j}") for j in range(len(bound.feature.plus)))).from_(table(self.expansions[i]))
        return exp.Except(this=union_all(found), expression=old, distinct=True)

    def _completed(self, feature: Feature, instance: Instance, query: exp.Select) -> exp.Select:
        """Let `+` variables that a clause does not mention range over their types."""
        mentioned = {t.name for t in instance.arguments if isinstance(t, Variable)}
        outer = exp.select().from_(subquery(query, "e"))
        for j, (name, kind) in enumerate(zip(feature.plus, self._plus_types(feature), strict=True)):
            if name in mentioned:
                outer = outer.select(column(f"plus{j}", "e"))
            else:
                outer = outer.join(table(self.layout.types[kind].dictionary, f"d{j}"), join_type="CROSS")
                outer = outer.select(named(column("id", f"d{j}"), f"plus{j}"))
        return outer

    def _insert_parameters(self, i: int, first: int, added: int) -> None:
        """Copy the expansions of a template from clause `first` on into the parameter tables of its shapes."""
        bound = self.features[i]
        for instance in bound.instances:
            shape = instance.shape
            use = self._use(shape)
            select: list[exp.Expression] = [column("clause")]
            unknown = use.bound.unknown
            for k, (kind, term) in enumerate(zip(shape.parameters, instance.arguments, strict=True)):
                if isinstance(term, Variable):
                    value: exp.Expression = column(f"plus{bound.feature.plus.index(term.name)}")
                else:
                    identity = self.constants.of(kind)[term.name]
                    value = exp.cast(integer(identity), exp.DataType.build("INT"))
                    if identity < 0:
                        unknown |= {k}
                select.append(named(value, f"k{k}"))
            rows = exp.select(*select).from_(table(self.expansions[i]))
            rows = rows.where(exp.GTE(this=column("clause"), expression=integer(first)))
            if not shape.parameters:
                ids = self.engine.fetch(rows, step="read clauses").column(0).to_pylist()
                use.clauses.extend(ids)
            else:
                self._add_rows(use, rows, unknown)
                use.rows += added


# ---- over which examples, and how much at the most ------------------------------------------------------


@dataclass(frozen=True)
class Extent:
    """Which part of a program is grounded or counted: the examples, and the most of it that is allowed."""

    # Unlike a scope, an extent does not say which tuples have atoms; unlike a slice (`sqlrl.learn.slices`), it is no
    # part of a network; a budget is no part of it, since that counts while one network grows.
    program: Program
    examples: TableName | None = None  # with a column `example`; all examples by default
    limit: int | None = None  # most ground clauses of one shape, and most groundings that counting may enumerate
    example_count: int | None = None  # of examples, if that is known

    @cached_property
    def enumerated(self) -> dict[tuple[Shape, int], list[list[tuple[int, int]]]]:
        """What joins enumerate, as far as it was counted; see `sqlrl.ground.counts.enumerations`."""
        return {}

    def domain_bound(self, use: ShapeUse) -> int:
        """Return a bound on the groundings of all clauses of a shape that needs no query."""
        return domain_bound(use.bound, self.example_count) * max(self.program.clauses_of(use), 1)

    def join_bound(self, use: ShapeUse) -> int:
        """Return a bound on the ground clauses of all clauses of a shape that needs no query."""
        # Templates may grow.
        key = use.shape, self.program.clauses_of(use)
        if key not in self._bounded:
            self._bounded[key] = join_bound(use.bound, self.example_count) * max(key[1], 1)
        return self._bounded[key]

    @cached_property
    def _bounded(self) -> dict[tuple[Shape, int], int]:
        return {}

    @contextmanager
    def restricted_to(self, examples: npt.NDArray[np.int64]) -> Iterator[Extent]:
        """Show examples as a scratch table while the context is open, and yield the extent of these alone."""
        with self.program.examples_table(examples) as name:
            yield replace(self, examples=_window(name, examples, self.program.layout), example_count=len(examples))


def _window(name: TableName, examples: npt.NDArray[np.int64], layout: Layout) -> TableName:
    """Return the table of some examples, with what range they are in where that leaves out most others."""
    if len(examples) == 0 or layout.example_count < LEAST_PARTS:
        return name
    first, last = int(examples.min()), int(examples.max())
    part = LEAST_PARTS * (last - first + 1) <= layout.example_count
    return ExampleRange(name.catalog, name.schema, name.name, first, last) if part else name


def _parameter_columns(shape: Shape) -> list[str]:
    return ["clause", *(f"k{k}" for k in range(len(shape.parameters)))]
