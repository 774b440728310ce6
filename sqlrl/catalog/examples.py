"""Examples: where they come from, their table, and the choice of some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlrl.arguments import given, wrong_kind
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.layout import TableName
from sqlrl.catalog.similar_names import why_alike
from sqlrl.catalog.sources import LoadSource, open_source
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named, star_count, subquery, union_all
from sqlrl.errors import CatalogError, LoadError, Parameter, Phrase, marked
from sqlrl.wording import did_you_mean, nearest_names

ONLY_EXAMPLE = "all"
"""Name of the example if all data are one."""

_SHOWN = 5

_WANTED = "a list of names, a query, a table, a frame or a file"


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """Where the examples come from: `kind` is "one", "type" or "column", `type` the type whose constants are the examples."""

    kind: str
    type: str | None = None

    def argument(self, record: PredicateRecord) -> int | None:
        """Return the position of a predicate's example: of several arguments the one named in its load, else the first; None for none."""
        if self.type is None or self.type not in record.types:
            return None
        places = [i for i, argument in enumerate(record.arguments) if argument.type == self.type]
        return next((i for i in places if record.arguments[i].example), places[0])

    def of(self, record: PredicateRecord, table: str | None = None) -> exp.Expr | None:
        """Return the expression of the example of a predicate's row, None for a global predicate."""
        if self.kind == "one":
            return exp.convert(0)
        if self.kind == "column":
            return column("example", table) if record.example == "column" else None
        position = self.argument(record)
        return None if position is None else column(f"a{position}", table)


def example_source(store: Store) -> ExampleSource:
    """Return where the examples come from, as the loads and the user have said."""
    return ExampleSource(store.state("examples") or "one", store.state("example_type"))


def build_examples(store: Store, source: ExampleSource, types: Mapping[str, TypeRecord]) -> int:
    """Fill the example table and return the number of examples; ids of a column's examples are kept as they were loaded."""
    if source.kind == "column":
        return store.count(store.table("example"), "count the examples")
    store.clear("example")
    if source.type is None:
        store.put("example", [{"example": 0, "name": ONLY_EXAMPLE, "ordinal": 0}], "make the one example")
        return 1
    if source.type not in types:
        raise CatalogError(
            f"the examples are the constants of {source.type!r}, but no predicate has an argument of that type"
            f"{did_you_mean(nearest_names(source.type, types)) or '.'}"
        )
    _append(store, types[source.type])
    return types[source.type].size


def _append(store: Store, record: TypeRecord, known: int = 0) -> None:
    # The constants of a type from the id `known` on; ids are dense.
    ids = exp.select(named(column("id"), "example"), column("name"), named(column("id"), "ordinal"))
    ids = ids.from_(store.table(record.dictionary)).where(column("id") >= known).order_by(column("id"))
    store.insert("example", ids, ["example", "name", "ordinal"], "list the examples")


def list_examples(store: Store) -> None:
    """List the examples that the data loaded so far name, if their type is known, so that SQL can choose some before a model is bound."""
    # Constants that no fact names any more stay until a model is bound. Where the type changes, the list is emptied before.
    source, types = example_source(store), store.types()
    if source.type not in types:
        return
    on = exp.and_(column("id", "d").eq(column("example", "e")), column("name", "d").eq(column("name", "e")))
    rows = exp.select(named(star_count(), "known"), named(exp.Count(this=column("id", "d")), "loaded"))
    rows = rows.from_(store.table("example", "e")).join(
        store.table(types[source.type].dictionary, "d"), on=on, join_type="left"
    )
    (row,) = store.rows(rows, "count the examples")
    if row["loaded"] < row["known"]:
        # A model listed some that the data lack; now those that were loaded come after the others.
        store.clear("example")
        row["loaded"] = 0
    if row["loaded"] < types[source.type].size:
        _append(store, types[source.type], row["loaded"])


def waiting_examples(store: Store) -> list[str]:
    """Return the names of the examples in facts that wait for their types: of columns and arguments that loads named as the example."""
    records = store.predicates()
    parts: list[exp.Query] = []
    for (name, _), source in store.sources().items():
        marked = [f"a{i}" for i, argument in enumerate(records[name].arguments) if argument.example]
        if source.staged:
            parts += [
                exp.select(named(column(each), "name")).from_(store.table(source.storage))
                for each in (["example"] if source.example else marked)
            ]
    if not parts:
        return []
    query = exp.select(column("name")).distinct().from_(subquery(union_all(parts), "u"))
    query = query.where(column("name").is_(exp.null()).not_()).order_by(column("name"))
    return [str(row["name"]) for row in store.rows(query, "look for the examples of what waits for types")]


def example_filter(store: Store, chosen: Any, table: str) -> None:
    """Write chosen examples into a scratch table of INTEGER `example` and `position`; an unknown, NULL or repeated name is an error."""
    engine = store.engine
    catalog, schema = engine.scratch
    with _opened(store, chosen) as opened:
        if not opened.columns:
            raise CatalogError(
                f"{Parameter('examples')} names no examples: name some, or leave it out for all; sqlrl.example lists them."
            )
        if len(opened.columns) > 1:
            raise CatalogError(
                f"{Parameter('examples')} takes one column, the names of the examples, and {opened.label} has {len(opened.columns)}: "
                f"{', '.join(opened.columns)}. {_of_one_network(store) or 'Select one of them.'}"
            )
        first = next(iter(opened.columns))
        names = exp.select(named(opened.text(first), "name")).from_(opened.table)
        place = named(exp.Window(this=exp.RowNumber()), "position")
        numbered = exp.select(column("name"), place).from_(names.subquery("names"))
        joined = exp.select(
            column("example", "e"),
            column("name", "n"),
            named(exp.cast(column("position", "n") - 1, "int"), "position"),
        ).from_(numbered.subquery("n"))
        on = column("name", "e").eq(column("name", "n"))
        found = joined.join(store.table("example", "e"), on=on, join_type="left")
        engine.create_table(
            TableName(catalog, schema, table), found.order_by(column("position", "n")), step="select examples"
        )
    target = exp.table_(table, db=schema, catalog=catalog, quoted=True)
    try:
        _check_filter(store, target)
    except CatalogError:
        engine.drop_table(TableName(catalog, schema, table), step="drop the chosen examples")
        raise
    engine.create_table(
        TableName(catalog, schema, table),
        exp.select(column("example"), column("position")).from_(target).order_by(column("position")),
        step="select examples",
    )


def _of_one_network(store: Store) -> str:
    """Say how data are divided that are one network; nothing of others."""
    if example_source(store).kind != "one":
        return ""
    return (
        f"All data are one example, since no load said {Parameter('example')}. One network is divided by the scope of what is predicted: "
        f"{Phrase('db.scope(predicate, split.train) before learning, db.scope(predicate, split.test) before predicting')}."
    )


@contextmanager
def _opened(store: Store, chosen: Any) -> Iterator[LoadSource]:
    """Open what names examples; a text that is neither a query nor a table may be the name of one."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_source(store.engine, chosen))
        except LoadError as error:
            if not isinstance(chosen, str):
                if given(chosen) in ("other", "frame", "Table"):
                    raise
                raise CatalogError(f"{Parameter('examples')}: {wrong_kind(_WANTED, chosen)}") from error
            named_so = exp.select("*").from_(store.table("example")).where(column("name").eq(exp.convert(chosen)))
            # One word is no query, so nothing that DuckDB says of it helps.
            if not store.count(named_so.subquery("found"), "look for an example") and len(chosen.split()) > 1:
                raise CatalogError(f"{Parameter('examples')} {marked(error.message)}") from error
            query = exp.select(exp.convert(chosen)).sql(dialect="duckdb")
            raise CatalogError(
                f"{Parameter('examples')} takes a list of names, a query, a table, a frame or a file, and "
                f"{chosen!r} is none of these; did you mean the list [{chosen!r}] or the query {query}?"
            ) from error
        yield opened


def _check_filter(store: Store, target: exp.Table) -> None:
    """Refuse names that are unknown or doubled."""
    rows = exp.Count(this=exp.Star())
    fewest = [exp.Count(this=exp.Distinct(expressions=[column("example")])), exp.Count(this=column("example"))]
    right = exp.and_(*(exp.EQ(this=rows.copy(), expression=each) for each in fewest))
    ((fine,),) = store.engine.fetch_rows(exp.select(named(right, "fine")).from_(target), step="check the examples")[1]
    if fine:
        return
    missing = exp.select(column("name")).from_(target).where(exp.Is(this=column("example"), expression=exp.null()))
    unknown = [
        row["name"]
        for row in store.rows(missing.order_by(column("position")).limit(_SHOWN), "look for unknown examples")
    ]
    if unknown:
        known = [
            row["name"]
            for row in store.rows(
                exp.select(column("name")).from_(store.table("example")).limit(10_000), "list examples"
            )
        ]
        near = nearest_names(str(unknown[0]), known)
        network = f". {said}" if (said := _of_one_network(store)) else ""
        like = did_you_mean(near) + why_alike(str(unknown[0]), near)
        raise CatalogError(
            f"{Parameter('examples')} names examples that the data do not have: {', '.join(map(repr, unknown))}{like or network}"
        )
    twice = exp.select(column("name")).from_(target).group_by(column("name"))
    twice = (
        twice.having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.convert(1)))
        .order_by(column("name"))
        .limit(_SHOWN)
    )
    doubled = [str(row["name"]) for row in store.rows(twice, "look for repeated examples")]
    if doubled:
        raise CatalogError(
            f"{Parameter('examples')} names {', '.join(map(repr, doubled))} more than once: select each example once."
        )
