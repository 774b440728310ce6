"""The tables of a user's that a view reads: by the records of the catalog, and by the names that the user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlrl.catalog.binding import find_openings
from sqlrl.catalog.columns import renamed
from sqlrl.catalog.examples import example_source
from sqlrl.catalog.image import PredicateRecord, SourceRecord, TypeRecord
from sqlrl.catalog.layout import PredicateInfo
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.views import unique_name
from sqlrl.engine.nodes import cast, column, integer, named, table, union_all
from sqlrl.errors import InputError, Parameter, Phrase, UnsupportedError, Written
from sqlrl.ground.program import Program
from sqlrl.logic.bins import dated, piece_names
from sqlrl.plan.number_names import NumberName, exact_number, not_nan, number_name
from sqlrl.plan.plain_tables import Constants, PlainData, PlainLayout, PlainPredicate, PlainTable, text
from sqlrl.plan.view_options import SQLOptions
from sqlrl.training.session import Query, Session
from sqlrl.wording import did_you_mean, nearest_names, shortened

MOST_LISTED = 10_000
"""So many constants of a type that no table has, but labels, stand in a view at the most."""


_PARTS = ("this", "db", "catalog")
"""What the name of a table consists of."""


class ViewTables:
    """The tables of all predicates as the user has them, by the records of the catalog and the names that the user gives."""

    def __init__(self, session: Session, program: Program, asked: Query, naming: SQLOptions, dialect: str) -> None:
        self.session, self.program, self.naming, self.dialect = session, program, naming, dialect
        self.store = session.catalog.store
        self.layout = program.public_layout
        self.records, self.sources = self.store.predicates(), self.store.sources()
        self.openings = find_openings(self.store, asked.model, asked.roles)
        self.source = example_source(self.store)
        self.types = self.store.types()
        self.excess: dict[str, str] = {}
        self.doubles: dict[str, bool] = {}
        self._check_names()
        self.predicates = [self._predicate(info) for info in self.layout.predicates.values()]
        model = program.model
        self.listed = {
            kind: self._listed(kind, model.types.get(kind, ()), model.rule_constants.get(kind, {}))
            for kind in self.layout.types
        }

    def _check_names(self) -> None:
        """Refuse names of predicates and columns that are not there."""
        for option, given in (
            ("tables", self.naming.tables),
            ("columns", self.naming.columns),
            ("scopes", self.naming.scopes),
        ):
            if given is not None and not isinstance(given, Mapping):
                raise InputError(
                    f"{Parameter(option, Written(shortened(repr(given))))} must map names of predicates, such as {{'Friends': ...}}"
                )
            for name, value in (given or {}).items():
                if name not in self.layout.predicates:
                    near = did_you_mean(nearest_names(str(name), self.layout.predicates))
                    raise InputError(
                        f"{Parameter(option)} names {shortened(repr(name))}, which is no predicate of the data{near}"
                    )
                if option == "columns" and not isinstance(value, Mapping):
                    raise InputError(
                        f"{Parameter('columns')} of {name}: {shortened(repr(value))} must map names of columns, such as {{'bib': 'document'}}"
                    )
                scoped = name in self.openings and self.openings[name].scope is not None
                if option == "scopes" and not scoped:
                    raise InputError(
                        f"{Parameter('scopes')} names {name}, whose atoms are not given by a scope: leave it out"
                    )
        if self.naming.view is not None:
            self.sql_name(self.naming.view, f"{Parameter('view')}")

    def sql_name(self, name: object, option: str) -> exp.Table:
        """Return a table that the user names as SQL does."""
        found: object = None
        if isinstance(name, str) and name.strip():
            with suppress(SqlglotError):
                found = parse_one(name, into=exp.Table, dialect=self.dialect)
        named_so = isinstance(found, exp.Table) and isinstance(found.this, exp.Identifier) and bool(found.name)
        if isinstance(found, exp.Table) and named_so:
            parts = {part: value for part, value in found.args.items() if part in _PARTS}
            if not any(value for part, value in found.args.items() if part not in parts):
                return exp.Table(**parts)
        quote = "`my table`" if self.dialect == "spark" else '"my table"'
        raise InputError(
            f"{option}{shortened(repr(name))} is no name of a table in SQL of {self.dialect}: write it as a query does, such as people, "
            f"public.people or {quote}"
        )

    def relation(self, predicate: str) -> exp.Table:
        """Return the user's table of a predicate."""
        given = (self.naming.tables or {}).get(predicate)
        return (
            exp.table_(predicate, quoted=True)
            if given is None
            else self.sql_name(given, f"{Parameter('tables')} of {predicate}: ")
        )

    def _predicate(self, info: PredicateInfo) -> PlainPredicate:
        """Return a predicate with the tables that hold what is known of it."""
        record, opening = self.records[info.name], self.openings.get(info.name)
        if opening is not None and "soft" in opening.sources:
            raise UnsupportedError(
                f"{info.name} has soft evidence, which no table of a view holds: load it without {Parameter('probability')}, or use {Phrase('db.probabilities(model)')}"
            )
        if info.open:
            assert opening is not None
            evidence = [s for role, s in sorted(opening.sources.items()) if opening.is_evidence(role)]
        else:
            evidence = [s for s in (self.sources.get((info.name, "fact")),) if s is not None]
        facts = self._table(info, record, evidence) if evidence else None
        scope = self._scope(info, record) if opening is not None and opening.scope is not None else None
        place = self.source.argument(record) if self.source.kind == "type" else None
        return PlainPredicate(info, facts, scope, place)

    def _table(self, info: PredicateInfo, record: PredicateRecord, sources: Sequence[SourceRecord]) -> PlainTable:
        """Return the table of the facts of a predicate, or of what is given of it."""
        names = self._columns(record)
        signed = next((s for s in sources if s.signed), None)
        return self._plain(info, self.relation(info.name), names, None if signed is None else column(names["truth"]))

    def _scope(self, info: PredicateInfo, record: PredicateRecord) -> PlainTable:
        """Return the table of the tuples that have atoms."""
        given = (self.naming.scopes or {}).get(info.name)
        name = f"{info.name}_scope"
        relation = (
            exp.table_(name, quoted=True)
            if given is None
            else self.sql_name(given, f"{Parameter('scopes')} of {info.name}: ")
        )
        return self._plain(info, relation, self._columns(record), None)

    def _columns(self, record: PredicateRecord) -> dict[str, str]:
        """Return what the user calls the columns of a predicate, by what they are: a0, a1, ..., example and truth."""
        taken, known = set[str](), dict[str, str]()
        for i, argument in enumerate(record.arguments):
            known[f"a{i}"] = unique_name(argument.name, taken)
        options = [
            LoadOptions.from_json(s.options) for (name, _), s in self.sources.items() if name == record.predicate
        ]
        if record.example == "column":
            known["example"] = next((o.example for o in options if isinstance(o.example, str)), "example")
        if any(s.signed for (name, _), s in self.sources.items() if name == record.predicate):
            known["truth"] = next((o.truth for o in options if isinstance(o.truth, str)), "truth")
        given = (self.naming.columns or {}).get(record.predicate, {})
        for old, new in given.items():
            if old not in known.values():
                near = did_you_mean(nearest_names(str(old), known.values())) or f": it has {', '.join(known.values())}"
                raise InputError(
                    f"{Parameter('columns')} renames {shortened(repr(old))}, which is no column of {record.predicate}{near}"
                )
            if not isinstance(new, str) or not new:
                raise InputError(
                    f"{Parameter('columns')} of {record.predicate}: {old} is called {shortened(repr(new))}, which is no name"
                )
        return {key: given.get(name, name) for key, name in known.items()}

    def _plain(
        self, info: PredicateInfo, relation: exp.Table, names: Mapping[str, str], truth: exp.Expression | None
    ) -> PlainTable:
        loads = [LoadOptions.from_json(s.options) for (name, _), s in self.sources.items() if name == info.name]
        options = next((each for each in loads if len(each.kinds) == len(info.types)), LoadOptions())
        kinds = options.kinds or ["text"] * len(info.types)
        arguments = tuple(
            self._constant(column(names[f"a{i}"]), f"sqlrl_a{i}", self.types[kind], kinds[i], options)
            for i, kind in enumerate(info.types)
        )
        example = None
        if info.example_column:
            example = _expression(renamed(cast(column(names["example"]), "TEXT"), options))
        return PlainTable(relation, arguments, example, truth)

    # ---- constants that stand in no table -----------------------------------------------------------

    def _listed(self, kind: str, declared: Sequence[str], of_rules: Iterable[str]) -> tuple[str, ...]:
        """Return the constants of a type that are in its domain whatever the tables hold: of declarations, rules, and labels alone."""
        local = self.layout.types[kind].local or kind == self.layout.example_type
        found = {*declared, *(() if local else of_rules)}
        parts = [
            exp.select(named(column(f"a{i}"), "id")).from_(rows)
            for p in self.predicates
            for rows in self._known_rows(p.info)
            for i, argument in enumerate(p.info.types)
            if argument == kind
        ]
        dictionary = table(self.layout.types[kind].dictionary, "d")
        query = exp.select(column("name", "d")).from_(dictionary)
        if parts:
            inside = exp.In(this=column("id", "d"), query=exp.Subquery(this=union_all(parts)))
            query = query.where(exp.Not(this=inside))
        scoped = [
            (p.info.name, i)
            for p in self.predicates
            if p.scope
            for i, argument in enumerate(p.info.types)
            if argument == kind
        ]
        for name, i in scoped:
            scope = self.openings[name].scope
            assert scope is not None
            names = exp.select(column(f"a{i}")).from_(self.store.table(scope))
            query = query.where(exp.Not(this=exp.In(this=column("name", "d"), query=exp.Subquery(this=names))))
        rows = self.session.engine.fetch(query, step=f"look for constants of {kind} that no table has")
        missing = set(rows.column(0).to_pylist()) - found
        self._note_listed(kind, missing)
        return tuple(sorted(found | missing))

    def _known_rows(self, info: PredicateInfo) -> list[exp.Table]:
        """Return the catalog's tables of what the user's table of a predicate holds."""
        if not info.open:
            return [table(info.facts)]
        opening = self.openings[info.name]
        return [self.store.table(s.storage) for role, s in opening.sources.items() if opening.is_evidence(role)]

    def _note_listed(self, kind: str, missing: set[str]) -> None:
        """Note that a view which needs these constants would have too many; `""` is the kind of examples."""
        if len(missing) > MOST_LISTED:
            some = ", ".join(sorted(missing)[:3])
            what = f"constants of {kind}" if kind else "examples"
            remedy = f"Is_{kind}({kind})" if kind else "the words or positions in them"
            self.excess[kind] = (
                f"{len(missing):,} {what}, such as {some}, stand in no table but that of labels, which a view does not read: load a "
                f"predicate that lists them, such as {remedy}"
            )

    def check_listed(self, plain: PlainLayout, query: exp.Query) -> None:
        """Refuse a view that lists too many constants."""
        used = {step.alias for step in query.find_all(exp.CTE)}
        for kind, message in self.excess.items():
            if plain.listed.get(kind) in used:
                raise UnsupportedError(message)

    def examples_listed(self) -> tuple[str, ...]:
        """Return the examples of a column that stand in no table but that of labels."""
        parts = [
            exp.select(column("example")).from_(rows)
            for p in self.predicates
            if p.info.example_column
            for rows in self._known_rows(p.info)
        ]
        query = exp.select(column("name", "e")).from_(table(self.layout.examples, "e"))
        if parts:
            inside = exp.In(this=column("example", "e"), query=exp.Subquery(this=union_all(parts)))
            query = query.where(exp.Not(this=inside))
        for p in (p for p in self.predicates if p.scope and p.info.example_column):
            scope = self.openings[p.info.name].scope
            assert scope is not None
            names = exp.select(column("example")).from_(self.store.table(scope))
            query = query.where(exp.Not(this=exp.In(this=column("name", "e"), query=exp.Subquery(this=names))))
        missing = set(
            self.session.engine.fetch(query, step="look for examples that no table has").column(0).to_pylist()
        )
        self._note_listed("", missing)
        return tuple(sorted(missing))

    def data(self) -> PlainData:
        """Return the tables as plans take them."""
        in_column = any(p.info.example_column for p in self.predicates)
        return PlainData(
            self.predicates,
            self.layout.types,
            self.listed,
            self.layout.example_type,
            self.examples_listed() if in_column else (),
            Constants(self.dialect, self.doubles),
        )

    def _constant(
        self, value: exp.Column, prefix: str, record: TypeRecord, kind: str, options: LoadOptions
    ) -> exp.Expression | NumberName:
        """Return the constant that a column of a user's table holds; of a type that is cut into bins, the bin of its number."""
        if record.edges is not None:
            return self._bin(value, record)
        # Texts of a `kind` (`catalog.values.column_kind`) differ between databases: 2.0 is 2, and true is true. What the load renamed is
        # renamed here, too.
        double = kind == "float"
        if double and not record.numeric and self.dialect == "duckdb":
            named = _expression(renamed(_double_of_duckdb(value), options))
            return NumberName(value, (), named, not_nan(value, self.dialect))
        if double or kind == "decimal" or (record.numeric and kind == "text"):
            whole = record.numeric or not double
            if double:
                self.doubles[record.type] = whole
            # SQLite has no decimals: a column of them holds doubles.
            found = number_name(
                value,
                prefix,
                self.dialect,
                double=double or (kind == "decimal" and self.dialect == "sqlite"),
                whole=whole,
            )
            return found.with_name(_expression(renamed(found.name, options)))
        return _expression(renamed(_text(value, kind), options))

    def _bin(self, value: exp.Column, record: TypeRecord) -> exp.Expression:
        """Return the bin of a number."""
        if dated(record.bins):
            return self._bin_of_dates(value, record)
        number, names = cast(value.copy(), "DOUBLE"), piece_names(record.type, record.bins)
        piece = exp.Case().when(exp.Is(this=value.copy(), expression=exp.null()), exp.null())
        for edge, name in zip(map(float, record.bins), names, strict=False):
            below = exp.LT(this=number.copy(), expression=exact_number(edge, self.dialect))
            piece = piece.when(below, text(name))
        return piece.else_(text(names[-1]))

    def _bin_of_dates(self, value: exp.Column, record: TypeRecord) -> exp.Expression:
        """Return the bin of a date or time."""
        if self.dialect == "sqlite":
            # Its dates are texts, which have the order of time: 12:00 comes before 12:00:00, so that edges end as early as they can.
            plain = exp.Trim(this=cast(value.copy(), "TEXT"))
            moment: exp.Expression = exp.Anonymous(this="replace", expressions=[plain, text("T"), text(" ")])
            edges: list[exp.Expression] = [text(str(edge).removesuffix(":00")) for edge in record.bins]
        else:
            # Without a zone, whose hours that do not exist would move.
            kind = "TIMESTAMPNTZ" if self.dialect == "spark" else "TIMESTAMP"
            moment, edges = cast(value.copy(), kind), [cast(text(str(edge)), kind) for edge in record.bins]
        names = piece_names(record.type, record.bins)
        piece = exp.Case().when(exp.Is(this=value.copy(), expression=exp.null()), exp.null())
        for edge, name in zip(edges, names, strict=False):
            piece = piece.when(exp.LT(this=moment.copy(), expression=edge), text(name))
        return piece.else_(text(names[-1]))


def _text(value: exp.Column, kind: str) -> exp.Expression:
    """Return the text of a value of some kind, not a number, as the catalog writes it."""
    if kind == "boolean":
        return exp.Case().when(value.copy(), text("true")).when(exp.Not(this=value.copy()), text("false"))
    plain = cast(value, "TEXT")
    if kind == "time":
        # A timestamp at midnight is the date.
        clock = exp.Substring(this=plain, start=integer(11), length=integer(99))
        day = exp.Substring(this=plain.copy(), start=integer(1), length=integer(10))
        return exp.Case().when(exp.EQ(this=clock, expression=text(" 00:00:00")), day).else_(plain.copy())
    return plain


def _double_of_duckdb(value: exp.Column) -> exp.Expression:
    """Return the text of a double in DuckDB, whose text is the name but of whole numbers."""
    number = cast(value, "DOUBLE")
    small = exp.LT(this=exp.Abs(this=number), expression=exact_number(2.0**53, "duckdb"))
    whole = exp.And(this=small, expression=exp.EQ(this=number.copy(), expression=exp.Floor(this=number.copy())))
    integral = cast(cast(number.copy(), "BIGINT"), "TEXT")
    return exp.Case().when(whole, integral).else_(cast(number.copy(), "TEXT"))


def _expression(node: exp.Expr) -> exp.Expression:
    assert isinstance(node, exp.Expression)
    return node
