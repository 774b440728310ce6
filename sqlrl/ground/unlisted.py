"""Atoms that the rules of a soft program reach and that are neither observed nor listed: an error that names the first, or query atoms as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.sizes import greater_limit
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, star_count, subquery, table, union_all
from sqlrl.errors import GroundingLimitError, MissingAtomError, Parameter, Phrase
from sqlrl.ground.counts import check_limit
from sqlrl.ground.program import Extent, ShapeUse, rows_table
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.terms import Constant, Literal
from sqlrl.plan.sources import argument_columns
from sqlrl.plan.unlisted import growing_literals, unlisted_atoms, unlisted_literals
from sqlrl.progress import Stage, staged
from sqlrl.wording import counted

ROUNDS = 10_000
"""So often what was opened is looked through for further atoms that it reaches."""

COUNTED = 1_000_000
"""Beyond a smaller limit so many atoms are counted, to say which limit is enough."""

MORE_ROUNDS = 200
"""So many rounds are made beyond a limit for that, which take a few seconds."""

_BLANKS = " \t\r\n\v\f\u00a0\ufeff"
"""What may stand around a name without being seen."""


@dataclass(frozen=True)
class _Reach:
    """A literal of a shape that may be about atoms which are not listed."""

    use: ShapeUse
    place: int
    growing: tuple[int, ...]  # the literals whose query atoms make groundings

    @property
    def predicate(self) -> str:
        """The predicate of the literal."""
        return self.use.shape.literals[self.place].predicate

    def plan(self, extent: Extent, rules: int, *, clauses: bool = False) -> exp.Select:
        """Plan the atoms that groundings of the first rules reach."""
        return unlisted_atoms(self.use.bound, self.place, extent.examples, before=rules, clauses=clauses)


def _reaches(soft: SoftProgram, rules: int) -> list[_Reach]:
    """Return the literals of the first rules that may be about atoms which are not listed."""
    return [
        _Reach(use, place, growing_literals(use.bound))
        for use in soft.program.shapes.values()
        if use.parameters is not None or min(use.clauses) < rules
        for place in unlisted_literals(use.bound)
    ]


# ---- the error ---------------------------------------------------------------------------------------


def check_listed(soft: SoftProgram, extent: Extent, *, whole: bool = True, rules: int | None = None) -> None:
    """Raise a MissingAtomError if groundings of rules, or of the first ones, reach atoms that are neither observed nor query atoms."""
    # Where they are grounded as a `whole` one limit holds for them.
    rules = len(soft.model.rules) if rules is None else rules
    found = []
    for each in staged("looking for atoms that are not listed", _reaches(soft, rules)):
        if whole:
            check_limit(extent, each.use, counting=False)
        first = each.plan(extent, rules).limit(1)
        if soft.engine.fetch(first, step=f"look for atoms of {each.predicate} that are not listed").num_rows:
            found.append(each)
    if found:
        raise _error(soft, extent, found, rules)


def _error(soft: SoftProgram, extent: Extent, reaches: Sequence[_Reach], rules: int) -> MissingAtomError:
    """Say which atom the first of the rules reaches first, how many there are, and what helps."""
    engine, layout = soft.engine, soft.program.layout
    with ExitStack() as held:
        tables = {
            name: held.enter_context(
                rows_table(engine, layout, _by_rule(layout.predicates[name], parts, extent, rules))
            )
            for name, parts in _by_predicate(reaches).items()
        }
        sizes = {name: _size(engine, tables[name]) for name in tables}
        count, rule = sum(n for n, _ in sizes.values()), min(first for _, first in sizes.values())
        name = min(name for name, (_, first) in sizes.items() if first == rule)
        atom = _first(engine, layout, name, tables[name])
        twins = [_twin(engine, layout, each, tables[each]) for each in sorted(tables)]
    blanks = next(filter(None, twins), None)
    reason = f"; {blanks[0]!r} differs from {blanks[1]!r} by blanks alone: trim them in the data" if blanks else ""
    written = soft.model.rules[rule]
    # Of a kept model it is the rule itself that says where it stands.
    place = "" if not written.place or written.formula in written.place else f"{written.place}: "
    others = f", the first of {count:,} such atoms" if count > 1 else ""
    return MissingAtomError(
        f"{place}the rule {written} reaches {atom}, which is neither observed nor listed as an atom to "
        f"infer{others}: list it ({Phrase('db.scope({!r}, ...)', (name,))}), or give {Parameter('missing', 'open')} to infer all that rules reach, or "
        f"{Parameter('missing', 'false')} to take them as false{reason}",
        atom, count, rule,
    )  # fmt: skip


def _by_predicate(reaches: Sequence[_Reach]) -> dict[str, list[_Reach]]:
    found: dict[str, list[_Reach]] = {}
    for each in reaches:
        found.setdefault(each.predicate, []).append(each)
    return found


def _by_rule(info: PredicateInfo, reaches: Sequence[_Reach], extent: Extent, rules: int) -> exp.Select:
    """Plan the atoms of a predicate that are not listed, each once, with the first rule that reaches it as `clause`."""
    parts: list[exp.Query] = []
    for each in reaches:
        if each.use.parameters is None:
            parts.append(each.plan(extent, rules).select(named(integer(min(each.use.clauses)), "clause")))
        else:
            parts.append(each.plan(extent, rules, clauses=True))
    keys = _columns(info)
    first = named(exp.Min(this=column("clause", "m")), "clause")
    query = exp.select(*(column(key, "m") for key in keys), first).from_(subquery(union_all(parts), "m"))
    return query.group_by(*(column(key, "m") for key in keys))


def _columns(info: PredicateInfo) -> tuple[str, ...]:
    """Return the columns of a table of atoms."""
    return argument_columns(info) or ("one",)


def _size(engine: QueryEngine, rows: TableName) -> tuple[int, int]:
    """Return how many atoms there are, and the first rule."""
    columns = [named(star_count(), "n"), named(exp.Min(this=column("clause")), "first")]
    data = engine.fetch(exp.select(*columns).from_(table(rows)), step="count the atoms that are not listed")
    return int(data.column("n")[0].as_py()), int(data.column("first")[0].as_py())


def _named(layout: Layout, info: PredicateInfo, rows: TableName) -> exp.Select:
    """Plan the names of the constants of atoms: `example` if they have it, `a0, a1, ...`; the table has the alias `m`."""
    query = exp.select().from_(table(rows, "m"))
    if info.example_column:
        same = exp.EQ(this=column("example", "x"), expression=column("example", "m"))
        query = query.join(table(layout.examples, "x"), on=same).select(named(column("name", "x"), "example"))
    for i, kind in enumerate(info.types):
        same = exp.EQ(this=column("id", f"d{i}"), expression=column(f"a{i}", "m"))
        query = query.join(table(layout.types[kind].dictionary, f"d{i}"), on=same)
        query = query.select(named(column("name", f"d{i}"), f"a{i}"))
    return query


def _ordered(query: exp.Select) -> exp.Select:
    """Return a query in the order of its columns."""
    order = [exp.Ordered(this=each.this.copy(), nulls_first=False) for each in query.selects]
    return query.order_by(*order) if order else query


def _first(engine: QueryEngine, layout: Layout, name: str, rows: TableName) -> str:
    """Return the first atom of the first rule as text."""
    info = layout.predicates[name]
    least = exp.select(exp.Min(this=column("clause"))).from_(table(rows))
    query = _ordered(_named(layout, info, rows)).where(exp.EQ(this=column("clause", "m"), expression=least.subquery()))
    query = query if query.selects else query.select(named(integer(1), "one"))
    (row,) = engine.fetch(query.limit(1), step=f"name an atom of {name}").to_pylist()
    text = str(Literal(name, tuple(Constant(row[f"a{i}"]) for i in range(len(info.types)))))
    return f"{text} of the example {row['example']}" if info.example_column else text


def _twin(engine: QueryEngine, layout: Layout, name: str, rows: TableName) -> tuple[str, str] | None:
    """Return a constant of the atoms that differs from another one by blanks around it alone, and that one."""

    def bare(alias: str) -> exp.Expression:
        return exp.Trim(this=column("name", alias), expression=exp.Literal.string(_BLANKS))

    for i, kind in enumerate(layout.predicates[name].types):
        dictionary = layout.types[kind].dictionary
        query = exp.select(named(column("name", "d"), "here"), named(column("name", "e"), "there")).from_(
            table(rows, "m")
        )
        query = query.join(
            table(dictionary, "d"), on=exp.EQ(this=column("id", "d"), expression=column(f"a{i}", "m"))
        ).join(
            table(dictionary, "e"),
            on=exp.and_(
                exp.EQ(this=bare("d"), expression=bare("e")),
                exp.NEQ(this=column("id", "d"), expression=column("id", "e")),
            ),
        )
        length = exp.Length(this=column("name", "e"))
        order = [column("clause", "m"), column("name", "d"), length, column("name", "e")]
        query = query.order_by(*(exp.Ordered(this=each, nulls_first=False) for each in order)).limit(1)
        found = engine.fetch(query, step=f"look for names that are like those of {name}")
        if found.num_rows:
            return str(found.column("here")[0].as_py()), str(found.column("there")[0].as_py())
    return None


# ---- opening them ------------------------------------------------------------------------------------


def reached_atoms(soft: SoftProgram) -> dict[str, pa.Table]:
    """Return the atoms that rules reach and that are not listed, those that these make them reach included, by predicate: names of constants as text."""
    with ExitStack() as held:
        opened = _Opened(soft, held)
        with Stage("opening atoms that rules reach") as stage:
            for _ in range(ROUNDS):
                found = opened.round()
                if not found:
                    return opened.names()
                stage.advance(found)
                if opened.total > opened.layout.atom_limit:
                    raise opened.too_many()
    raise GroundingLimitError(
        f"rules still reach atoms of {', '.join(sorted(opened.tables))} that are not listed after {counted(ROUNDS, 'round')} of opening what they reach, "
        f"{opened.count:,} so far: list them ({Phrase('db.scope({!r}, ...)', (min(opened.tables),))}), or give {Parameter('missing', 'false')}"
    )


class _Opened:
    """What was opened so far, in scratch tables, and in which table what the last round opened is."""

    def __init__(self, soft: SoftProgram, held: ExitStack) -> None:
        self.soft, self.engine, self.layout = soft, soft.engine, soft.program.layout
        self.tables: dict[str, TableName] = {}
        self.count = 0
        self._listed = self.layout.query_atoms
        self._most = max(self.layout.atom_limit, COUNTED)
        self._reaches, self._held = _by_predicate(_reaches(soft, len(soft.model.rules))), held
        # The layout in which what is opened is an atom.
        self._grown = self.layout
        self._new: dict[str, TableName] | None = None
        self._last = ExitStack()

    @property
    def total(self) -> int:
        """How many atoms there are, those that are listed included."""
        return self._listed + self.count

    def round(self) -> int:
        """Open what rules reach over what there is by now, of each predicate one atom more than there may be at most; return the number of atoms."""
        with ExitStack() as last:
            new = {
                name: last.enter_context(rows_table(self.engine, self.layout, query))
                for name, parts in self._reaches.items()
                if (query := self._query(name, list(self._plans(parts)))) is not None
            }
            sizes = {name: _count(self.engine, rows) for name, rows in new.items()}
            new = {name: rows for name, rows in new.items() if sizes[name]}
            self._last.close()
            self._new, self._last = new, self._held.enter_context(last.pop_all())
        for name, rows in new.items():
            self._keep(name, rows)
        found = sum(sizes.values())
        self.count += found
        return found

    def _plans(self, reaches: Sequence[_Reach]) -> Iterator[exp.Select]:
        """Yield the queries of what groundings with an atom of the last round reach; in the first one of what all reach."""
        for each in reaches:
            bound = replace(each.use.bound, layout=self._grown)
            if self._new is None:
                yield unlisted_atoms(bound, each.place)
                continue
            for i in each.growing:
                rows = self._new.get(bound.shape.literals[i].predicate)
                if rows is not None:
                    yield unlisted_atoms(bound, each.place, among={i: rows})

    def _query(self, name: str, plans: Sequence[exp.Select]) -> exp.Select | None:
        """Plan the atoms of a predicate that some queries have, each once."""
        if not plans:
            return None
        columns = [column(key, "m") for key in _columns(self.layout.predicates[name])]
        query = exp.select(*columns).distinct().from_(subquery(union_all(plans), "m"))
        return query.limit(self._most - self.total + 1)

    def _keep(self, name: str, rows: TableName) -> None:
        """Take new atoms of a predicate among those that there are."""
        info = self.layout.predicates[name]
        keys = [column(key) for key in _columns(info)]
        if name in self.tables:
            self.engine.append(self.tables[name], exp.select(*keys).from_(table(rows)), step="open atoms")
            return
        every = exp.select(*keys).from_(table(rows))
        self.tables[name] = self._held.enter_context(rows_table(self.engine, self.layout, every))
        assert info.atoms is not None
        mine = argument_columns(info)
        parts = [
            exp.select(named(exp.cast(integer(1), "bigint"), "atom"), *(column(key) for key in mine)).from_(table(each))
            for each in (info.atoms, self.tables[name])
        ]
        catalog, schema = self.layout.scratch
        view = TableName(catalog, schema, f"{self.tables[name].name}_and_listed")
        self.engine.create_view(view, union_all(parts), step="show atoms that were opened")
        self._held.callback(self.engine.drop_view, view, step="drop scratch tables")
        grown = {**self._grown.predicates, name: replace(info, atoms=view)}
        self._grown = replace(self._grown, predicates=grown)

    def too_many(self) -> GroundingLimitError:
        """Return the error of more atoms than the limit, which says a limit that is enough, or twice what was counted if that goes on."""
        complete = False
        for _ in range(MORE_ROUNDS):
            if self.total > self._most or complete:
                break
            complete = not self.round()
        least = "" if complete else "at least "
        wanted = self.total if complete else 2 * self.total
        more = "" if complete else " or more (counting stopped there)"
        return GroundingLimitError(
            f"rules reach {least}{counted(self.count, 'atom')} of {', '.join(sorted(self.tables))} beside the {self._listed:,} that are listed, more than the limit of "
            f"{self.layout.atom_limit:,} atoms together: list those that are meant, or give {Parameter('missing', 'false')}, {greater_limit(wanted)}{more}"
        )

    def names(self) -> dict[str, pa.Table]:
        """Return what was opened, as names of constants, in order."""
        return {
            name: self.engine.fetch(
                _ordered(_named(self.layout, self.layout.predicates[name], rows)), step=f"name the atoms of {name}"
            )
            for name, rows in sorted(self.tables.items())
        }


def _count(engine: QueryEngine, rows: TableName) -> int:
    """Return the number of rows of a table."""
    data = engine.fetch(exp.select(named(star_count(), "n")).from_(table(rows)), step="count rows")
    return int(data.column(0)[0].as_py())
