"""Tables as a user has them, in the place of those of the catalog: named steps that any database can run, and the layout that names them.

What is planned against such a layout is SQL over the user's tables alone. Constants are texts, and stand for themselves where the
catalog has ids; nothing of today's data is in a plan, no constant and no number, so that it holds for rows that come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName, TypeInfo
from sqlrl.engine.nodes import aliased_table, cast, column, conjunction, cte, integer, join, named, subquery, table
from sqlrl.plan.number_names import Layer, NumberName, exact_number, layered, named_double, number_name
from sqlrl.plan.sources import argument_columns, selected

KNOWN = "known"
"""The column of what is given of an open predicate: 1 for true, 0 for false."""


# ---- tables of the user ------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainTable:
    """A user's table, and how facts stand in it."""

    relation: exp.Table
    # The constant of each argument as text, over the columns of the table.
    arguments: tuple[exp.Expression | NumberName, ...]
    example: exp.Expression | None = None  # The example as text, where it stands in a column of its own.
    truth: exp.Expression | None = None  # The condition under which a row is true; None: all are.

    @property
    def keys(self) -> list[exp.Expression]:
        """What identifies a row, each under its name in plans."""
        found: list[exp.Expression] = []
        if self.example is not None:
            found.append(named(self.example.copy(), "example"))
        texts = [each.name if isinstance(each, NumberName) else each for each in self.arguments]
        return found + [named(argument.copy(), f"a{i}") for i, argument in enumerate(texts)]

    @property
    def layers(self) -> list[Layer]:
        """What numbers are computed from, one layer after the other."""
        return list(layered([each for each in self.arguments if isinstance(each, NumberName)]))

    @property
    def columns(self) -> list[exp.Column]:
        """The columns of the table that are read."""
        return _columns([*self._known, *([self.truth] if self.truth is not None else [])])

    @property
    def conditions(self) -> list[exp.Expression]:
        """What is true of a row that has all its values."""
        found: list[exp.Expression] = [
            exp.Not(this=exp.Is(this=each.copy(), expression=exp.null())) for each in _columns(self._known)
        ]
        numbers = (each.present for each in self.arguments if isinstance(each, NumberName))
        return found + [each.copy() for each in numbers if each is not None]

    @property
    def _known(self) -> list[exp.Expression]:
        example = [self.example] if self.example is not None else []
        return [*example, *(each.value if isinstance(each, NumberName) else each for each in self.arguments)]


def _columns(parts: Iterable[exp.Expression]) -> list[exp.Column]:
    """Return the columns of some expressions, each once."""
    return list(dict.fromkeys(found for part in parts for found in part.find_all(exp.Column)))


@dataclass(frozen=True)
class PlainPredicate:
    """A predicate with the tables that hold what is known of it."""

    info: PredicateInfo  # As the catalog describes it; its tables are not read.
    facts: PlainTable | None  # The facts of a closed predicate; of an open one what is given. None: nothing is.
    scope: PlainTable | None = None  # The tuples of an open predicate that have atoms; None: all that its types allow.
    example: int | None = None  # The argument that is the example.


@dataclass(frozen=True)
class Constants:
    """How the constants that a model names stand in a view: as texts; as numbers, which the database names, where its columns hold doubles."""

    dialect: str = "duckdb"
    # The types of which some column holds doubles: whether whole numbers of it are named by their digits at any size.
    doubles: Mapping[str, bool] = field(default_factory=dict)

    def steps(
        self,
        name: str,
        rows: Sequence[Sequence[str]],
        kinds: Sequence[str],
        names: StepNames,
        says: str = "",
        weights: Sequence[exp.Expression] | None = None,
        columns: Sequence[str] | None = None,
    ) -> list[NamedStep]:
        """Return steps, the last of which has a row for each of some rows of constants of types: `weight` if there are any, then `k0`, `k1`..."""
        columns = columns or [f"k{i}" for i in range(len(kinds))]
        led = ["weight"] if weights is not None else []
        known = [
            [None if self._as_text(kind) else named_double(c) for c, kind in zip(row, kinds, strict=True)]
            for row in rows
        ]
        numbers = [i for i in range(len(kinds)) if any(row[i] is not None for row in known)]
        filled = []
        for place, row in enumerate(rows):
            found = [weights[place]] if weights is not None else []
            doubles = [self._number(known[place][i]) for i in numbers]
            filled.append([*found, *map(text, row), *doubles, *([integer(place)] if numbers else [])])
        # Rows stay distinct.
        taken = (*led, *columns, *(f"{columns[i]}_double" for i in numbers), *(["place"] if numbers else []))
        written = NamedStep(names.free(name), values(filled), says, taken)
        if not numbers:
            return [written]
        found_names = {
            i: number_name(
                column(f"{columns[i]}_double"), columns[i], self.dialect, double=True, whole=self.doubles[kinds[i]]
            )
            for i in numbers
        }
        read = [column(each) for each in taken]
        layers = list(layered(list(found_names.values())))
        steps = [written, *layer_steps(cte(written.name), read, layers, name, names)]
        outputs: list[exp.Expression] = [*map(column, led)]
        for i, each in enumerate(columns):
            value: exp.Expression = column(each)
            if i in found_names:
                none = exp.Is(this=column(f"{each}_double"), expression=exp.null())
                value = named(exp.Case().when(none, column(each)).else_(found_names[i].name.copy()), each)
            outputs.append(value)
        last = exp.select(*outputs).from_(cte(steps[-1].name))
        says, once = "numbers named as those of columns", self.dialect != "spark"
        return [*steps, NamedStep(names.free(f"{name}_named"), last, says, once=once)]

    def _as_text(self, kind: str) -> bool:
        # What DuckDB prints is the name.
        return self.dialect == "duckdb" or kind not in self.doubles

    def _number(self, value: float | None) -> exp.Expression:
        return cast(exp.null(), "DOUBLE") if value is None else exact_number(value, self.dialect)


@dataclass(frozen=True)
class PlainData:
    """The tables of all predicates, and the constants that stand in none."""

    predicates: Sequence[PlainPredicate]
    # What the catalog says of them: their tables and sizes are not read.
    types: Mapping[str, TypeInfo]
    # By type, constants that are in its domain whatever the tables hold.
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # The type whose constants are the examples.
    example_type: str | None = None
    # Examples that are there whatever the tables hold, where they stand in a column of their own.
    examples: tuple[str, ...] = ()
    # How constants stand in a view.
    constants: Constants = field(default_factory=Constants)

    @property
    def in_column(self) -> bool:
        """Whether examples stand in a column of their own."""
        return any(predicate.info.example_column for predicate in self.predicates)


# ---- names of steps ----------------------------------------------------------------------------------


class StepNames:
    """Names of the steps of one query, distinct whatever case a database heeds, and none of a table that the query reads."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {name.casefold() for name in taken}

    def free(self, name: str) -> str:
        """Return a name like this one that nothing has yet."""
        free, number = name, 1
        while free.casefold() in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free.casefold())
        return free


@dataclass(frozen=True)
class NamedStep:
    """A step of a query, with its name and a description of its rows in words."""

    name: str
    query: exp.Query | exp.Values
    says: str = ""
    columns: tuple[str, ...] = ()  # Given where the query names none, as VALUES.
    once: bool = False  # Whether the database is told to compute it once.

    def node(self) -> exp.CTE:
        """Return the step as it stands in a WITH."""
        columns = [exp.to_identifier(name, quoted=True) for name in self.columns]
        alias = exp.TableAlias(this=exp.to_identifier(self.name, quoted=True), columns=columns)
        found = exp.CTE(this=self.query.copy(), alias=alias, materialized=self.once or None)
        if self.says:
            found.add_comments([harmless(self.says)])
        return found


def harmless(text: str) -> str:
    """Return a text that can stand in a comment: it ends none, begins none, and has one line."""
    one_line = "".join(c if c.isprintable() else " " for c in text)
    return one_line.replace("*/", "* /").replace("/*", "/ *")


def with_steps(steps: Sequence[NamedStep], query: exp.Query) -> exp.Query:
    """Put in front of a query those of some steps that it needs, in their order."""
    known = {step.name: step for step in steps}
    needed, left = set[str](), list[exp.Expr]([query])
    while left:
        for read in left.pop().find_all(exp.Table):
            if not read.db and read.name in known and read.name not in needed:
                needed.add(read.name)
                left.append(known[read.name].query)
    found = query.copy()
    nodes = [step.node() for step in steps if step.name in needed]
    if nodes:
        found.set("with_", exp.With(expressions=nodes))
    return found


def step_table(name: str) -> TableName:
    """Return the name by which a layout knows a step: of no catalog and no schema."""
    return TableName("", "", name)


def values(rows: Iterable[Sequence[exp.Expression]]) -> exp.Values:
    """Return rows of literals, of which there is one at least."""
    return exp.Values(expressions=[exp.Tuple(expressions=list(row)) for row in rows])


def text(value: str) -> exp.Expression:
    """Return a text as a literal."""
    return exp.Literal.string(value)


# ---- the steps of a layout ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PlainLayout:
    """A layout whose tables are steps, and the steps, each after those that it reads."""

    layout: Layout
    steps: tuple[NamedStep, ...]
    # By type the step of the constants that are there whatever the tables hold; by `""` that of such examples.
    listed: Mapping[str, str] = field(default_factory=dict)
    constants: Constants = field(default_factory=Constants)


def plain_layout(data: PlainData, names: StepNames) -> PlainLayout:
    """Return the layout of tables of the user's."""
    return _Builder(data, names).build()


class _Builder:
    def __init__(self, data: PlainData, names: StepNames) -> None:
        self.data, self.names = data, names
        self.steps: list[NamedStep] = []
        self.facts: dict[str, str] = {}
        self.scopes: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.domains: dict[str, str] = {}
        self.listed: dict[str, str] = {}
        self.examples = ""

    def build(self) -> PlainLayout:
        """Make the steps, and the layout over them."""
        for predicate in self.data.predicates:
            self._known(predicate)
        for kind in self.data.types:
            self._constants_of(kind)
        self._examples()
        for kind, info in self.data.types.items():
            if info.local:
                self._domain(kind)
        predicates = {p.info.name: self._predicate(p) for p in self.data.predicates}
        types = {
            kind: TypeInfo(
                kind, step_table(self.constants[kind]), 1, kind in self.domains,
                step_table(self.domains[kind]) if kind in self.domains else None,
            )
            for kind in self.data.types
        }  # fmt: skip
        layout = Layout(predicates, types, self.data.example_type, step_table(self.examples), 1, ("", ""), sized=False)
        return PlainLayout(layout, tuple(self.steps), self.listed, self.data.constants)

    def _add(self, name: str, query: exp.Query | exp.Values, says: str, columns: tuple[str, ...] = ()) -> str:
        step = NamedStep(self.names.free(name), query, says, columns)
        self.steps.append(step)
        return step.name

    # ---- what the tables hold -----------------------------------------------------------------------

    def _known(self, predicate: PlainPredicate) -> None:
        info, name = predicate.info, predicate.info.name
        what, says = ("given", f"what is given of {name}") if info.open else ("facts", f"facts of {name}")
        self.facts[name] = self._add(f"{name}_{what}", self._rows(predicate), says)
        if predicate.scope is not None:
            scope = replace(predicate, facts=replace(predicate.scope, truth=None), info=replace(info, open=False))
            self.scopes[name] = self._add(f"{name}_scope", self._rows(scope), f"tuples of {name} that have an atom")

    def _rows(self, predicate: PlainPredicate) -> exp.Select:
        """Select the distinct facts of a predicate, after the steps that name its numbers."""
        found = predicate.facts
        layers = [] if found is None else found.layers
        if found is None or not layers:
            return _rows(predicate)
        name = predicate.info.name
        steps = layer_steps(found.relation.copy(), found.columns, layers, name, self.names, found.conditions)
        self.steps += steps
        return _rows(replace(predicate, facts=replace(found, relation=cte(steps[-1].name))))

    def _constants_of(self, kind: str) -> None:
        parts: list[exp.Query] = []
        for name, predicate in self._known_tables():
            for i, argument in enumerate(predicate.info.types):
                if argument == kind:
                    parts.append(exp.select(named(column(f"a{i}"), "id")).from_(cte(name)))
        listed = self.data.listed.get(kind, ())
        if listed:
            steps = self.data.constants.steps(
                f"{kind}_listed", [(c,) for c in listed], [kind], self.names, f"constants of {kind}", columns=["id"]
            )
            self.steps += steps
            rows = steps[-1].name
            self.listed[kind] = rows
            parts.append(exp.select(column("id")).from_(cte(rows)))
        self.constants[kind] = self._add(f"{kind}_constants", _union(parts, ["id"]), f"all constants of {kind}")

    def _examples(self) -> None:
        if self.data.example_type is not None:
            rows = exp.select(named(column("id"), "example")).from_(cte(self.constants[self.data.example_type]))
            self.examples = self._add("examples", rows, "the examples")
        elif self.data.in_column:
            parts: list[exp.Query] = [
                exp.select(column("example")).from_(cte(name))
                for name, predicate in self._known_tables()
                if predicate.info.example_column
            ]
            if self.data.examples:
                listed = self._add("examples_listed", values([text(c)] for c in self.data.examples), "", ("example",))
                self.listed[""] = listed
                parts.append(exp.select(column("example")).from_(cte(listed)))
            self.examples = self._add("examples", _union(parts, ["example"]), "the examples")

    def _domain(self, kind: str) -> None:
        parts: list[exp.Query] = []
        for name, predicate in self._known_tables():
            example = self._example_column(predicate)
            for i, argument in enumerate(predicate.info.types):
                if argument == kind and example is not None:
                    rows = exp.select(named(column(example), "example"), named(column(f"a{i}"), "id"))
                    parts.append(rows.from_(cte(name)))
        says = f"constants of {kind} in each example"
        self.domains[kind] = self._add(f"{kind}_domain", _union(parts, ["example", "id"]), says)

    def _known_tables(self) -> Iterator[tuple[str, PlainPredicate]]:
        """Yield the steps of facts, of what is given, and of scopes."""
        for predicate in self.data.predicates:
            if predicate.facts is not None:
                yield self.facts[predicate.info.name], predicate
            if predicate.scope is not None:
                yield self.scopes[predicate.info.name], predicate

    def _example_column(self, predicate: PlainPredicate) -> str | None:
        if predicate.info.example_column:
            return "example"
        return None if predicate.example is None else f"a{predicate.example}"

    # ---- atoms --------------------------------------------------------------------------------------

    def _predicate(self, predicate: PlainPredicate) -> PredicateInfo:
        info, name = predicate.info, predicate.info.name
        atoms = None
        if info.open:
            rows = self._listed(predicate) if predicate.scope is not None else self._all(predicate)
            atoms = step_table(self._add(f"{name}_atoms", self._not_given(predicate, rows), f"atoms of {name}"))
        return replace(info, facts=step_table(self.facts[name]), atoms=atoms, rows=1, atom_count=1, valued=False)

    def _all(self, predicate: PlainPredicate) -> exp.Select:
        """Select all type-consistent tuples, of each example."""
        info, example = predicate.info, self._example_column(predicate)
        query, outputs = exp.select(), list[exp.Expression]()
        sources: list[tuple[exp.Table, exp.Expression | None]] = []
        if example is not None:
            sources.append((cte(self.examples, "e"), None))
            outputs += [named(column("example", "e"), "example")] if info.example_column else []
        for i, kind in enumerate(info.types):
            if f"a{i}" == example:
                outputs.append(named(column("example", "e"), f"a{i}"))
            elif kind in self.domains:
                same = exp.EQ(this=column("example", f"d{i}"), expression=column("example", "e"))
                sources.append((cte(self.domains[kind], f"d{i}"), same))
                outputs.append(named(column("id", f"d{i}"), f"a{i}"))
            else:
                sources.append((cte(self.constants[kind], f"d{i}"), None))
                outputs.append(named(column("id", f"d{i}"), f"a{i}"))
        for place, (relation, on) in enumerate(sources):
            if place == 0:
                query = query.from_(relation, copy=False)
            else:
                query = join(query, relation, on, "CROSS" if on is None else "INNER")
        return query.select(*(outputs or [named(integer(1), "one")]))

    def _listed(self, predicate: PlainPredicate) -> exp.Select:
        names = argument_columns(predicate.info)
        return exp.select(*selected(names)).from_(cte(self.scopes[predicate.info.name]))

    def _not_given(self, predicate: PlainPredicate, rows: exp.Select) -> exp.Select:
        if predicate.facts is None:
            return rows
        names = argument_columns(predicate.info)
        given = exp.select(integer(1)).from_(cte(self.facts[predicate.info.name], "g"))
        same = conjunction(exp.EQ(this=column(n, "g"), expression=column(n, "s")) for n in names)
        absent = exp.Not(this=exp.Exists(this=given if same is None else given.where(same)))
        return exp.select(*selected(names, "s")).from_(subquery(rows, "s")).where(absent)


def layer_steps(
    relation: exp.Table,
    columns: Sequence[exp.Column],
    layers: Sequence[Layer],
    name: str,
    names: StepNames,
    conditions: Sequence[exp.Expression] = (),
) -> list[NamedStep]:
    """Return steps that add the columns of some layers to the distinct rows of a relation, each to the one before."""
    steps: list[NamedStep] = []
    outputs: list[exp.Column | exp.Alias] = list(columns)
    for layer in layers:
        query = exp.select(*(each.copy() for each in (*outputs, *layer.columns))).from_(aliased_table(relation, "t"))
        where = None if steps else conjunction(conditions)
        query = query if where is None else query.where(where)
        for found in query.find_all(exp.Column):
            found.set("table", exp.to_identifier("t", quoted=True))
        says = "" if steps else "digits of its numbers, to be written as sqlrl does"
        query = query.distinct(distinct=not steps)
        steps.append(NamedStep(names.free(f"{name}_numbers"), query, says, once=layer.once))
        relation = cte(steps[-1].name)
        outputs += [column(each.alias) for each in layer.columns]
    return steps


def _rows(predicate: PlainPredicate) -> exp.Select:
    """Select the distinct facts of a predicate; of an open one what is given, with its truth."""
    info, found = predicate.info, predicate.facts
    outputs = found.keys if found is not None else [named(_no_text(), name) for name in argument_columns(info)]
    if info.open:
        one = exp.Case().when(found.truth.copy(), integer(1)).else_(integer(0)) if found and found.truth else integer(1)
        outputs = [*outputs, named(one, KNOWN)]
    query = exp.select(*(outputs or [named(integer(1), "one")])).distinct()
    if found is None:
        return query.where(exp.false())
    conditions = [] if found.layers else found.conditions
    if found.truth is not None and not info.open:
        conditions.append(found.truth.copy())
    where = conjunction(conditions)
    query = query.from_(aliased_table(found.relation.copy(), "t"))
    query = query if where is None else query.where(where)
    for each in query.find_all(exp.Column):
        # SQLite takes a quoted name that no table has for a text, unless it says of which table it is.
        each.set("table", exp.to_identifier("t", quoted=True))
    return query


def _no_text() -> exp.Expression:
    return exp.cast(exp.null(), exp.DataType.build("TEXT"))


def _union(parts: Sequence[exp.Query], names: Sequence[str]) -> exp.Query:
    """Return the distinct rows of some queries; of none no row."""
    if not parts:
        return exp.select(*(named(_no_text(), name) for name in names)).where(exp.false())
    if len(parts) == 1:
        (only,) = parts
        assert isinstance(only, exp.Select)
        return only.distinct()
    return reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=True), parts)


def given_true(info: PredicateInfo) -> exp.Select:
    """Select what is given true of an open predicate of a plain layout."""
    true = exp.EQ(this=column(KNOWN), expression=integer(1))
    return exp.select(*selected(argument_columns(info))).from_(table(info.facts)).where(true)
