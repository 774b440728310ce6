"""Atom tables: which tuples of an open predicate are to be predicted, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.examples import ExampleSource
from sqlrl.catalog.image import PredicateRecord, SourceRecord, TypeRecord, argument_columns, equal_columns
from sqlrl.catalog.options import LoadOptions
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named, star_count, union_all
from sqlrl.errors import CatalogError, Parameter
from sqlrl.wording import shortened

_SHOWN = 5


@dataclass(frozen=True)
class PredicateOpening:
    """How a predicate is open, and what was loaded of it."""

    record: PredicateRecord
    # The loaded sources, by role.
    sources: Mapping[str, SourceRecord] = field(default_factory=dict)
    # False if soft or unknown atoms alone make it open: its facts are then evidence, and those atoms its scope.
    target: bool = True
    # The table of the encoded scope that the user gave.
    scope: str | None = None
    # False where a learner takes a target of which nothing was loaded as false everywhere.
    unlabelled: bool = True

    @property
    def full(self) -> bool:
        """True if the scope is every type-consistent tuple."""
        return self.target and self.scope is None

    @property
    def labelled(self) -> bool:
        """True if some facts are labels."""
        if not self.sources:
            return not self.unlabelled
        return "label" in self.sources or ("fact" in self.sources and not self.is_evidence("fact"))

    def is_evidence(self, role: str) -> bool:
        """True if the rows of a source say what is given: whatever a role says, and facts that are no labels."""
        if role != "fact":
            return role in ("given", "soft")
        return not self.target or LoadOptions.from_json(self.sources[role].options).given

    @property
    def valued(self) -> bool:
        """True if some source has values."""
        return any(source.valued for source in self.sources.values())

    @property
    def known(self) -> list[str]:
        """The columns of its table of facts."""
        return [*self.keys, "truth", "given", "prior", *(["value"] if self.valued else [])]

    @property
    def keys(self) -> list[str]:
        """The columns that identify an atom beside the example that an argument gives."""
        return key_columns(len(self.record.arguments), self.record.example == "column")


def known_value(source: SourceRecord, table: str | None = None) -> exp.Expr:
    """Return the value of a row of a source: 1 for what is true and 0 for what is false where it has no values."""
    if source.value is not None:
        return column("value", table)
    return exp.cast(column("truth", table) if source.signed else exp.convert(1), "double")


def known_rows(store: Store, opening: PredicateOpening) -> exp.Query:
    """Return the query of what is known of a predicate's atoms: keys, `truth`, `given`, `prior`, `value` if there are values; one row for each source."""
    parts: list[exp.Query] = []
    for role, source in sorted(opening.sources.items()):
        truth: exp.Expr = column("truth") if source.signed else exp.true()
        given: exp.Expr = exp.convert(opening.is_evidence(role))
        prior: exp.Expr = exp.cast(exp.null(), "double")
        if role == "soft":
            prior = column("prior")
            given = exp.Not(this=exp.Is(this=column("truth"), expression=exp.null()))
        outputs = [
            # Sources that differ in the example are refused when they are bound, and shown until then.
            *[named(exp.null(), k) if k == "example" and not source.example else column(k) for k in opening.keys],
            named(truth, "truth"),
            named(given, "given"),
            named(prior, "prior"),
            *([named(known_value(source), "value")] if opening.valued else []),
        ]
        parts.append(exp.select(*outputs).from_(store.table(source.storage)))
    if not parts:
        kinds = [*((k, "int") for k in opening.keys), ("truth", "boolean"), ("given", "boolean"), ("prior", "double")]
        nothing = [named(exp.cast(exp.null(), kind), name) for name, kind in kinds]
        return exp.select(*nothing).where(exp.false())
    return union_all(parts)


def merge_known(store: Store, opening: PredicateOpening, table: str) -> None:
    """Write what is known of each atom into one row of a table, and refuse facts that contradict each other."""
    # `given` is true for evidence alone, not for labels, even those outside the scope.
    rows, keys = known_rows(store, opening), opening.keys
    if len(opening.sources) < 2:
        store.create(table, rows, f"gather the facts of {opening.record.predicate}")
        return
    group = exp.select(
        *map(column, keys),
        named(exp.LogicalOr(this=column("truth")), "truth"),
        named(exp.LogicalOr(this=column("given")), "given"),
        named(exp.Max(this=column("prior")), "prior"),
        *([named(exp.Max(this=column("value")), "value")] if opening.valued else []),
        named(exp.Count(this=exp.Distinct(expressions=[column("truth")])), "truths"),
        *([named(_two_values(), "two")] if opening.valued else []),
    ).from_(rows.subquery("rows"))
    # Without keys the facts are one group, which has a row even if there are none.
    some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.convert(0))
    group = group.group_by(*map(column, keys)) if keys else group.having(some)
    store.create(table, group, f"gather the facts of {opening.record.predicate}")
    soft_and_hard = exp.and_(column("given"), exp.Not(this=exp.Is(this=column("prior"), expression=exp.null())))
    faulty = exp.or_(exp.GT(this=column("truths"), expression=exp.convert(1)), soft_and_hard)
    faulty = exp.or_(faulty, column("two")) if opening.valued else faulty
    query = exp.select("*").from_(store.table(table)).where(faulty)
    query = query.order_by(*map(column, keys)) if keys else query
    found = store.rows(query.limit(_SHOWN), "look for contradictions")
    if found:
        names = "; ".join(atom_name(store, opening.record, row) for row in found)
        what = "two values, or observed and a label" if opening.valued else "true and false, or hard and soft evidence"
        raise CatalogError(
            f"{opening.record.predicate}: its facts contradict each other ({what}) about {names}: "
            "load one of the sources again without them."
        )
    store.create(table, exp.select(*map(column, opening.known)).from_(store.table(table)), "drop a column")


def _two_values() -> exp.Expr:
    """Return whether the rows of an atom have two values, or some are evidence and some labels."""
    differ = exp.LT(this=exp.Min(this=column("value")), expression=exp.Max(this=column("value")))
    both = exp.LogicalAnd(this=column("given")).neq(exp.LogicalOr(this=column("given")))
    return exp.or_(differ, both)


def names_of(store: Store, record: PredicateRecord, row: Mapping[str, object]) -> dict[str, str]:
    """Return the names of the constants of a row by its columns a0, a1, ..., and that of the example if it has one."""
    types, names = store.types(), dict[str, str]()
    tables = {f"a{i}": (types[kind].dictionary, "id") for i, kind in enumerate(record.known_types())}
    for key, (table, ident) in {**({"example": ("example", "example")} if "example" in row else {}), **tables}.items():
        query = exp.select(column("name")).from_(store.table(table))
        found = store.rows(query.where(column(ident).eq(exp.convert(row[key]))), "look up a name")
        names[key] = str(found[0]["name"])
    return names


def atom_name(store: Store, record: PredicateRecord, row: Mapping[str, object]) -> str:
    """Return an atom with the names of its constants."""
    arguments = {key: row[key] for key in argument_columns(len(record.arguments))}
    return f"{record.predicate}({', '.join(names_of(store, record, arguments).values())})"


def check_independent(opening: PredicateOpening, source: ExampleSource) -> None:
    """Refuse atoms that would belong to several examples."""
    record = opening.record
    if source.kind == "type" and record.types.count(source.type) > 1:
        count = record.types.count(source.type)
        raise CatalogError(
            f"{record.predicate} has {count} arguments of the example type {source.type!r}; examples must be independent: "
            f"make all data one example (load without {Parameter('example')}), or name another example type."
        )
    in_column = {s.example: f"{s.role} from {shortened(s.source)}" for s in opening.sources.values()}
    if len(in_column) > 1:
        raise CatalogError(
            f"{record.predicate} was loaded with a column of examples ({in_column[True]}) and without one ({in_column[False]}): "
            "load one of them again so that they agree."
        )
    if source.of(record) is None:
        beside = "no argument of the example type" if source.kind == "type" else "no example column"
        raise CatalogError(
            f"{record.predicate} is open but has {beside}, so that its atoms would tie all examples together; examples must be "
            "independent: give it the example, or make all data one example."
        )


def scope_query(
    store: Store, opening: PredicateOpening, source: ExampleSource, types: Mapping[str, TypeRecord], known: str
) -> exp.Query:
    """Return the query of the query atoms of a predicate: (example, a0, a1, ...), unique, without given atoms."""
    keys = opening.keys
    atoms: exp.Query
    if opening.full:
        atoms = _full_scope(store, opening.record, source, types)
    else:
        atoms = _listed_scope(store, opening, source, known)
    if not {"given", "soft", "fact"} & opening.sources.keys():
        return atoms
    given = exp.select(exp.convert(1)).from_(store.table(known, "k"))
    given = given.where(exp.and_(column("given", "k"), equal_columns(keys, "k", "s")))
    outside = exp.Not(this=exp.Exists(this=given))
    return (
        exp.select(*[column(c, "s") for c in _atom_columns(opening.record)]).from_(atoms.subquery("s")).where(outside)
    )


def _atom_columns(record: PredicateRecord) -> list[str]:
    """Return the columns of an atom table that come from its scope."""
    return key_columns(len(record.arguments), example=True)


def _full_scope(
    store: Store, record: PredicateRecord, source: ExampleSource, types: Mapping[str, TypeRecord]
) -> exp.Select:
    """Return the query of all type-consistent tuples of each example."""
    fixed = source.argument(record) if source.kind == "type" else None
    outputs: list[exp.Expr] = [named(column("example", "e"), "example")]
    query = exp.select().from_(store.table("example", "e"))
    for i, name in enumerate(record.known_types()):
        if i == fixed:
            outputs.append(named(column("example", "e"), f"a{i}"))
            continue
        outputs.append(named(column("id", f"d{i}"), f"a{i}"))
        domain = types[name].domain if types[name].local else None
        if domain is not None:
            on = column("example", f"d{i}").eq(column("example", "e"))
            query = query.join(store.table(domain, f"d{i}"), on=on)
        else:
            query = query.join(store.table(types[name].dictionary, f"d{i}"), join_type="cross")
    return query.select(*outputs)


def _listed_scope(store: Store, opening: PredicateOpening, source: ExampleSource, known: str) -> exp.Query:
    """Return the query of the tuples that the user's scope or soft evidence lists."""
    names = [column(f"a{i}") for i in range(len(opening.record.arguments))]
    example = source.of(opening.record)
    if example is None:
        raise CatalogError(f"{opening.record.predicate} has no example.")
    outputs = [named(example, "example"), *names]
    soft = exp.select(*[o.copy() for o in outputs]).from_(store.table(known))
    parts: list[exp.Query] = [soft.where(exp.Not(this=exp.Is(this=column("prior"), expression=exp.null())))]
    if opening.scope is not None:
        scope = exp.select(*outputs).from_(store.table(opening.scope))
        if "soft" not in opening.sources:
            # Its rows are distinct, and to find that out again takes as long as to encode a column.
            return scope
        parts.append(scope)
    return (
        exp.select("*").from_(parts[0].subquery("soft")).distinct()
        if len(parts) == 1
        else exp.union(*parts, distinct=True)
    )


def build_atoms(
    store: Store,
    opening: PredicateOpening,
    source: ExampleSource,
    types: Mapping[str, TypeRecord],
    *,
    first: int,
) -> tuple[PredicateRecord, int]:
    """Build an open predicate's tables of facts and atoms (ids from `first` on); return its new record and its number of query atoms."""
    record = opening.record
    facts = _facts_name(store, opening)
    merge_known(store, opening, facts)
    atoms = record.atoms or store.free_name("atom", record.predicate)
    rows, _ = atom_rows(store, opening, source, types, facts, first=first)
    count = store.create(atoms, rows, f"list the atoms of {record.predicate}")
    return counted_facts(store, replace(record, open=True, atoms=atoms), facts), count


def atom_rows(
    store: Store,
    opening: PredicateOpening,
    source: ExampleSource,
    types: Mapping[str, TypeRecord],
    facts: str,
    *,
    first: int,
    since: int | None = None,
) -> tuple[exp.Select, list[str]]:
    """Return the query of an atom table's rows, with ids from `first` on and examples from the id `since` on, and its columns."""
    record = opening.record
    query = scope_query(store, opening, source, types, facts)
    if since is not None:
        query = exp.select("*").from_(query.subquery("every_one")).where(column("example") >= since)
    scope = query.subquery("s")
    label: exp.Expr = column("truth", "k")
    if opening.labelled:
        label = exp.Coalesce(this=label, expressions=[exp.false()])
    outputs = [
        *[column(c, "s") for c in _atom_columns(record)],
        named(label, "truth"),
        named(column("prior", "k"), "prior"),
    ]
    if opening.valued:
        value: exp.Expr = column("value", "k")
        # An atom without a row is as false as its label says.
        zero = exp.cast(exp.convert(0), "double")
        outputs.append(named(exp.Coalesce(this=value, expressions=[zero]) if opening.labelled else value, "value"))
    joined = exp.select(*outputs).from_(scope)
    joined = joined.join(store.table(facts, "k"), on=equal_columns(opening.keys, "k", "s"), join_type="left")
    names = [output.alias_or_name for output in outputs]
    # A window without an order numbers rows as they come: one with an order would sort them a second time.
    number = exp.Add(this=exp.Window(this=exp.RowNumber()), expression=exp.convert(first - 1))
    atom = named(exp.cast(number, "bigint"), "atom")
    ordered = joined.order_by(*(column(c, "s") for c in _atom_columns(record)))
    numbered = exp.select(atom, *(column(name, "o") for name in names)).from_(ordered.subquery("o"))
    return numbered, ["atom", *names]


def counted_facts(store: Store, record: PredicateRecord, facts: str) -> PredicateRecord:
    """Return the record of an open predicate with its table of facts and how many there are."""
    known = exp.select(named(star_count(), "rows"), named(exp.CountIf(this=column("given")), "given"))
    (row,) = store.rows(known.from_(store.table(facts)), f"count the facts of {record.predicate}")
    return replace(record, facts=facts, given=bool(row["given"]), rows=row["rows"])


def _facts_name(store: Store, opening: PredicateOpening) -> str:
    """Return the name of the table of facts: the one that there is, unless a load keeps its rows in it."""
    facts, storages = opening.record.facts, {s.storage for s in opening.sources.values()}
    return facts if facts is not None and facts not in storages else store.free_name("fact", opening.record.predicate)
