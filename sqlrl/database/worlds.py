"""Worlds that users give: the observed one, a prediction, or true atoms by ids or by the names of their constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.bins import constant_name
from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.catalog.sources import LoadSource, open_source
from sqlrl.database.predictions import Prediction
from sqlrl.engine.nodes import cast, column, conjunction, integer, named, star_count, subquery, table, union_all
from sqlrl.errors import InputError, Parameter, Phrase, Written
from sqlrl.ground.clauses import argument_names
from sqlrl.ground.completion import completed_world
from sqlrl.ground.program import Program
from sqlrl.plan.sources import OBSERVED, World, argument_columns, given_rows
from sqlrl.report.text import cell_text
from sqlrl.training.session import Session

SHOWN = 5
"""So many rows that are no query atoms are shown."""

IDS = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
"""Types of a column of ids."""


def world_name(world: Any) -> str:
    """Return what titles call a world."""
    if isinstance(world, Prediction):
        return "the predicted world"
    return "the observed world" if isinstance(world, str) and world == "observed" else "the given world"


class GivenWorlds:
    """The worlds that users may give, as tables of true atoms for the clauses of a program; `examples` None means all."""

    def __init__(self, session: Session, program: Program, examples: TableName | None) -> None:
        self.session, self.program, self.examples = session, program, examples
        self.catalog, self.engine = session.catalog, session.engine
        self.opened = {p.name: p for p in program.public_layout.predicates.values() if p.open}

    @contextmanager
    def shown(self, world: Any) -> Iterator[World]:
        """Show a world to SQL while the context is open: "observed", a prediction, or true atoms, by id or by arguments for each predicate."""
        if isinstance(world, str) and world == "observed":
            self._check_labelled()
            yield OBSERVED
            return
        # Rows that are no query atoms, query atoms without a label, and predictions that do not fit are refused.
        with self._true_atoms(world) as name, completed_world(self.program, World(name)) as completed:
            yield completed

    def _shown(self, rows: pa.Table | exp.Expr) -> AbstractContextManager[TableName]:
        return self.session.rows_table(self.program.layout, rows)

    @contextmanager
    def _true_atoms(self, world: Any) -> Iterator[TableName]:
        """Show the ids of the query atoms that a world says are true, each once."""
        if isinstance(world, Prediction):
            with self._shown(self._predicted(world)) as name:
                yield name
        elif isinstance(world, Mapping):
            with self._joined(world) as name:
                yield name
        else:
            with open_source(self.engine, world) as source:
                names = {c.casefold() for c in source.columns}
                found = self._listed(source) if names == {"atom"} else self._of_the_only_one(source)
                with found as name:
                    yield name

    # ---- the observed and predicted worlds --------------------------------------------------------------

    def _check_labelled(self) -> None:
        """Refuse the observed world where query atoms of the counted examples have no label."""
        missing = []
        for info in self.opened.values():
            query = self._atoms(info).where(exp.Is(this=column("truth", "a"), expression=exp.null()))
            count = self._count(query, f"look for atoms of {info.name} without a label")
            if count:
                missing.append(f"{count:,} of {info.name}")
        if missing:
            raise InputError(
                f"the observed world needs labels, but query atoms have none: {' and '.join(missing)}: load the labels with "
                f"{Parameter('target', True)}, choose examples that have them, or give another world"
            )

    def _predicted(self, prediction: Prediction) -> pa.Table:
        """Return the true atoms of a prediction, helper atoms left out."""
        prediction.check_current(self.engine)
        atoms = prediction.network_atoms
        real = ~atoms.helper
        ours = pa.table({"example": atoms.example[real]})
        with self._shown(ours) as name:
            have = self._count(_restricted(exp.select("*").from_(table(name, "a")), self.examples), "count atoms")
        want = sum(self._count(self._atoms(info), f"count the atoms of {info.name}") for info in self.opened.values())
        if have != want:
            raise InputError(
                f"the prediction has {have:,} of the {want:,} query atoms of the examples that are counted: give it and this "
                f"call the same {Parameter('examples')}"
            )
        return pa.table({"atom": atoms.ids[real & prediction.result.world]})

    # ---- worlds as ids and as names ---------------------------------------------------------------------

    @contextmanager
    def _listed(self, source: LoadSource) -> Iterator[TableName]:
        """Show a source of ids, each once."""
        ((name, kind),) = source.columns.items()
        if kind not in IDS:
            raise InputError(
                f"the column {name} of {source.label} has the type {kind}, but a world has the ids of query atoms, which are "
                'integers: take them from the column atom of sqlrl."atom_<predicate>", or give named atoms'
            )
        known = union_all(exp.select(column("atom")).from_(table(_atom_table(i))) for i in self.opened.values())
        on = exp.EQ(this=column("atom", "a"), expression=column(name, "w"))
        rows = exp.select(named(column(name, "w"), "given"), column("atom", "a")).from_(_aliased(source.table, "w"))
        with self._shown(rows.join(subquery(known, "a"), on=on, join_type="left")) as found:
            self._refuse_strange(
                found, ["given"], exp.false(), source.label,
                'a world lists ids from the column atom of the atom tables, such as sqlrl."atom_<predicate>"',
            )  # fmt: skip
            with self._shown(_distinct_atoms([found])) as shown:
                yield shown

    @contextmanager
    def _of_the_only_one(self, source: LoadSource) -> Iterator[TableName]:
        """Show a source of named atoms of the only open predicate."""
        if len(self.opened) > 1:
            names = sorted(self.opened)
            mapping = ", ".join(f'"{name}": ...' for name in names)
            raise InputError(
                f"{source.label} has the columns {', '.join(source.columns)}, but of several open predicates a world has either "
                f"one column, atom, with the ids of the true query atoms, or a source for each: {Parameter('world', Written(f'{{{mapping}}}'))}"
            )
        (info,) = self.opened.values()
        with self._named(info, source) as found, self._shown(_distinct_atoms([found])) as shown:
            yield shown

    @contextmanager
    def _joined(self, sources: Mapping[str, Any]) -> Iterator[TableName]:
        """Show named atoms, a source for each open predicate."""
        if set(sources) != set(self.opened):
            raise InputError(
                f"a world names its sources by the open predicates, {', '.join(sorted(self.opened))}, not by "
                f"{', '.join(map(str, sources)) or 'none'}: give each a source, an empty one if no atom is true"
            )
        # One after the other, each made a table of its own, since a source is readable only while it is open.
        with ExitStack() as stack:
            found = []
            for name, given in sorted(sources.items()):
                with open_source(self.engine, given) as source:
                    found.append(stack.enter_context(self._named(self.opened[name], source)))
            yield stack.enter_context(self._shown(_distinct_atoms(found)))

    @contextmanager
    def _named(self, info: PredicateInfo, source: LoadSource) -> Iterator[TableName]:
        """Show the rows of a source of named atoms with the ids of these atoms."""
        names = self._argument_columns(info, source)
        rows = self._with_ids(info, source, names)
        with self._shown(rows) as found:
            shown = [*names, *(["example"] if "example" in _by_case(source) else [])]
            given = exp.Not(this=exp.Is(this=column("fact"), expression=exp.null()))
            self._refuse_strange(
                found, [f"c{i}" for i in range(len(shown))], given, source.label,
                f"a world lists true query atoms of {info.name} by the names of their constants"
            )  # fmt: skip
            yield found

    def _argument_columns(self, info: PredicateInfo, source: LoadSource) -> tuple[str, ...]:
        """Return the columns of a source that hold the arguments of a predicate, in their order."""
        present = _by_case(source)
        allowed, needed = {"example", "truth"}, info.example_column or not info.types
        record = self.catalog.predicates()[info.name]
        loaded = tuple(a.name.casefold() for a in record.arguments)
        wanted = [argument_names(info), *([loaded] if len(set(loaded)) == len(loaded) else [])]
        for names in wanted:
            keys = {n.casefold() for n in names}
            if keys <= present.keys() and present.keys() - keys <= allowed:
                if needed and "example" not in present:
                    break
                return tuple(present[n.casefold()] for n in names)
        columns = ", ".join([*wanted[0], *(["example"] if needed else [])])
        raise InputError(
            f"a world of {info.name} has the columns {columns}, as {Phrase('predict(into=...)')} writes them, not "
            f"{', '.join(source.columns) or 'none'}"
        )

    def _with_ids(self, info: PredicateInfo, source: LoadSource, names: Sequence[str]) -> exp.Select:
        """Select each row of a source (`c0, ...`) with the id of its atom, NULL for none, and `fact`, 1 where it is given as true."""
        present = _by_case(source)
        types = self.catalog.store.types()
        rows = exp.select(*(named(source.text(n, "s"), f"c{i}") for i, n in enumerate(names)))
        keys = {f"a{i}": column("id", f"d{i}") for i in range(len(names))}
        if "example" in present:
            keys["example"] = column("example", "x")
            rows = rows.select(named(source.text(present["example"], "s"), f"c{len(names)}"))
        rows = rows.from_(_aliased(source.table, "s"))
        if "truth" in present:
            rows = rows.where(cast(column(present["truth"], "s"), "BOOLEAN"))
        query = exp.select(*(column(c, "r") for c in (s.alias for s in rows.selects)), column("atom", "a"))
        query = query.from_(subquery(rows, "r"))
        for i, kind in enumerate(info.types):
            text = constant_name(column(f"c{i}", "r"), types[kind])
            on = exp.EQ(this=column("name", f"d{i}"), expression=text)
            query = query.join(table(self.program.layout.types[kind].dictionary, f"d{i}"), on=on, join_type="left")
        if "example" in keys:
            on = exp.EQ(this=column("name", "x"), expression=column(f"c{len(names)}", "r"))
            query = query.join(table(self.program.layout.examples, "x"), on=on, join_type="left")
        query = query.join(table(_atom_table(info), "a"), on=_equal(keys, "a"), join_type="left")
        given = exp.select(*(column(c) for c in argument_columns(info)), named(integer(1), "fact"))
        given = given.from_(subquery(given_rows(info, truth=True), "g"))
        known = {name: key for name, key in keys.items() if name != "example" or info.example_column}
        return query.join(subquery(given, "f"), on=_equal(known, "f"), join_type="left").select(column("fact", "f"))

    # ---- checks -----------------------------------------------------------------------------------------

    def _refuse_strange(
        self, found: TableName, columns: Sequence[str], known: exp.Expr, label: str, remedy: str
    ) -> None:
        """Refuse rows that have no query atom, unless they are known to be true."""
        none = exp.Is(this=column("atom"), expression=exp.null())
        strange = exp.select(*map(column, columns)).from_(table(found))
        strange = strange.where(exp.and_(none, exp.Not(this=exp.paren(known)))).distinct()
        count = self._count(strange, "look for rows that are no query atoms")
        if not count:
            return
        first = strange.order_by(*map(column, columns)).limit(SHOWN)
        rows = self.engine.fetch(first, step="show rows that are no query atoms").to_pylist()
        texts = [", ".join(cell_text(v) for v in row.values()) for row in rows]
        texts = [f"({text})" for text in texts] if len(columns) > 1 else texts
        more = f" and {count - len(texts):,} more" if count > len(texts) else ""
        verb = "is no query atom" if count == 1 else "are no query atoms"
        raise InputError(f"{label}: {', '.join(texts)}{more} {verb}: {remedy}")

    def _atoms(self, info: PredicateInfo) -> exp.Select:
        """Select the query atoms of a predicate in the counted examples."""
        return _restricted(exp.select("*").from_(table(_atom_table(info), "a")), self.examples)

    def _count(self, query: exp.Query, step: str) -> int:
        counted = exp.select(named(star_count(), "n")).from_(subquery(query, "q"))
        return int(self.engine.fetch(counted, step=step).column(0)[0].as_py())


def _atom_table(info: PredicateInfo) -> TableName:
    assert info.atoms is not None
    return info.atoms


def _restricted(query: exp.Select, examples: TableName | None) -> exp.Select:
    """Keep the rows of the alias `a` that belong to some examples; None for all."""
    if examples is None:
        return query
    chosen = exp.select(column("example")).from_(table(examples))
    return query.where(exp.In(this=column("example", "a"), query=exp.Subquery(this=chosen)))


def _distinct_atoms(tables: Sequence[TableName]) -> exp.Select:
    """Select the atoms that some tables list, each once."""
    listed = union_all(exp.select(column("atom")).from_(table(name)) for name in tables)
    some = exp.Not(this=exp.Is(this=column("atom"), expression=exp.null()))
    return exp.select(cast(column("atom"), "BIGINT").as_("atom", quoted=True)).distinct().from_(
        subquery(listed, "listed")
    ).where(some)  # fmt: skip


def _equal(keys: Mapping[str, exp.Column], alias: str) -> exp.Expression:
    return conjunction(
        exp.EQ(this=column(name, alias), expression=key.copy()) for name, key in keys.items()
    ) or exp.true()  # fmt: skip


def _by_case(source: LoadSource) -> dict[str, str]:
    """Return the columns of a source by their names in lower case, as the database compares them."""
    return {name.casefold(): name for name in source.columns}


def _aliased(node: exp.Expr, alias: str) -> exp.Subquery:
    """Return something that can stand in FROM under an alias."""
    return subquery(exp.select("*").from_(node.copy()), alias)
