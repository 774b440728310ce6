"""Whether model, labels and scope fit the data: misfits are errors with their place; labels that say less than they seem to are warnings."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.atoms import PredicateOpening, atom_name
from sqlrl.catalog.bins import constant_name
from sqlrl.catalog.columns import map_columns, raw_query
from sqlrl.catalog.dictionary import missing_constants
from sqlrl.catalog.domains import NamedConstants
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.fingerprints import file_fingerprint
from sqlrl.catalog.image import PredicateRecord, SourceRecord, TypeRecord, argument_columns, equal_columns
from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.options import LoadOptions, evidence_files, origin
from sqlrl.catalog.similar_names import close_constants, other_spellings, suggestion, why_alike
from sqlrl.catalog.sources import open_source
from sqlrl.catalog.store import Store
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, star_count
from sqlrl.errors import (
    CatalogError,
    LabelWarning,
    LoadWarning,
    Message,
    Parameter,
    Phrase,
    ScopeWarning,
    SqlrlError,
    UnseenConstantWarning,
    Written,
    warn,
)
from sqlrl.logic.evidence import read_evidence
from sqlrl.logic.model import Model, Rule
from sqlrl.wording import counted, did_you_mean, nearest_names, shortened

IntArray = npt.NDArray[np.int64]
_OUTSIDE = "outside"

_UNLABELLED = "unlabelled"

_SHOWN = 5


# ---- labels outside the scope ------------------------------------------------------------------------


def note_outside(store: Store, records: Iterable[tuple[PredicateOpening, PredicateRecord]]) -> None:
    """Write down how many labels of each predicate lie outside its scope, for `warn_outside`."""
    found: dict[str, Any] = {}
    for opening, record in records:
        if record.facts is None or record.atoms is None or not opening.labelled:
            continue
        facts, atoms = store.name(record.facts), store.name(record.atoms)
        label = exp.and_(column("truth"), exp.Not(this=column("given")))
        labels = exp.select(star_count()).from_(_table(facts)).where(label).subquery()
        inside = exp.select(star_count()).from_(_table(atoms)).where(column("truth")).subquery()
        outside = store.number(exp.select(named(labels - inside, "n")), "count the labels outside the scope")
        if outside:
            keys = key_columns(len(record.arguments), record.example == "column")
            order = [column(k, "f") for k in keys]
            strays = _labels_of_no_atom(facts, atoms, keys)
            if not opening.full and len(record.arguments) > 1:
                # Pairs of other records than the scope has belong to another part of the data, such as the one that is learned from.
                strays = strays.where(_shares_constants(record, atoms))
                count = exp.select(named(star_count(), "n")).from_(strays.subquery("strays"))
                outside = store.number(count, "count the labels beside the scope")
                if not outside:
                    continue
            first = store.rows(strays.order_by(*order).limit(1), "find a label outside the scope")
            found[record.predicate] = [
                outside,
                atom_name(store, record, first[0]),
                str(Message(_remedy(store, record, full=opening.full))),
            ]
    store.set_state(_OUTSIDE, json.dumps(found, ensure_ascii=False))


def _shares_constants(record: PredicateRecord, atoms: TableName) -> exp.Condition:
    """Return the condition that a fact has a constant that an atom of the scope has, too."""
    types, found = record.types, list[exp.Expression]()
    for i, mine in enumerate(types):
        parts = [
            exp.select(column(f"a{j}", "s")).from_(_table(atoms, "s")) for j, kind in enumerate(types) if kind == mine
        ]
        found += [exp.In(this=column(f"a{i}", "f"), query=part.subquery()) for part in parts]
    return exp.or_(*found)


def _remedy(store: Store, record: PredicateRecord, *, full: bool) -> str:
    """Return what gives atoms to labels that have none, of a predicate that has all atoms or those of a scope."""
    if not full:
        return f"widen the scope with {Phrase('db.scope({!r}, ...)', (record.predicate,))}"
    types = store.types()
    local = sorted({t for t in record.known_types() if types[t].local})
    calls = " and ".join(f"{Phrase('db.load(local={{{!r}: False}})', (t,))}" for t in local)
    return f"make the {'type' if len(local) == 1 else 'types'} global with {calls}"


def warn_outside(store: Store, predicates: Iterable[str]) -> None:
    """Warn of the labels of these predicates that lie outside their scope."""
    found: Mapping[str, Any] = json.loads(store.state(_OUTSIDE) or "{}")
    for name in sorted(found.keys() & set(predicates)):
        number, shown, kept = found[name]
        # The file has the remedy in the words of Python.
        remedies = (_remedy(store, store.predicates()[name], full=full) for full in (False, True))
        remedy = next((text for text in remedies if Message(text) == kept), kept)
        lies = "lies" if number == 1 else "lie"
        them, they = ("it", "it is") if number == 1 else ("them", "they are")
        warn(
            f"{counted(number, 'label')} of {name} {lies} outside the scope, such as {shown}: learners and predictions do not see "
            f"{them}, and evaluate counts {them} as missed (not with {Parameter('outside', 'ignore')}). To predict {them}, {remedy}; if {they} evidence, "
            f"load {them} with {Parameter('given', True)}.",
            ScopeWarning,
        )


def labels_outside(engine: QueryEngine, layout: Layout, predicate: str, examples: IntArray) -> IntArray:
    """Return the example of each true label outside a predicate's scope (int64, ascending), of `examples` alone; only `evaluate` asks."""
    info = layout.predicates[predicate]
    assert info.atoms is not None, f"{predicate} is closed"
    keys = key_columns(len(info.types), info.example_column)
    outside = _labels_of_no_atom(info.facts, info.atoms, keys)
    query = outside.select(named(_example(layout, info), "of_example"), named(star_count(), "labels"), append=False)
    query = query.group_by(_example(layout, info))
    rows = engine.fetch(query, step=f"look for labels of {predicate} outside the scope")
    found = np.repeat(*(rows.column(i).to_numpy().astype(np.int64) for i in (0, 1)))
    return np.sort(found[np.isin(found, examples)])


def _example(layout: Layout, info: PredicateInfo) -> exp.Expression:
    """Return the expression of the example of a fact."""
    if info.example_column:
        return column("example", "f")
    if layout.example_type is None:
        return exp.cast(integer(0), "int")
    # An open predicate has one argument of that type.
    return column(f"a{info.types.index(layout.example_type)}", "f")


def _labels_of_no_atom(facts: TableName, atoms: TableName, keys: list[str]) -> exp.Select:
    """Select the facts that are true labels of no query atom."""
    atom = exp.select(integer(1)).from_(_table(atoms, "s")).where(equal_columns(keys, "f", "s"))
    label = exp.and_(column("truth", "f"), exp.Not(this=column("given", "f")), exp.Not(this=exp.Exists(this=atom)))
    return exp.select("*").from_(_table(facts, "f")).where(label)


def _table(name: TableName, alias: str | None = None) -> exp.Table:
    """Return a reference to a table."""
    node = exp.table_(name.name, db=name.schema, catalog=name.catalog, quoted=True)
    if alias is not None:
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return node


# ---- labels that are all alike, or missing -----------------------------------------------------------


def note_unlabelled(store: Store, records: Iterable[tuple[PredicateOpening, PredicateRecord]]) -> None:
    """Write down where rows say what is false, and how many query atoms have no row all the same, for `warn_unlabelled`."""
    found: dict[str, Any] = {}
    for opening, record in records:
        if (
            record.facts is None
            or record.atoms is None
            or not any(source.signed for source in opening.sources.values())
        ):
            continue
        keys = key_columns(len(record.arguments), record.example == "column")
        false = exp.and_(exp.Not(this=column("truth", "f")), exp.Not(this=column("given", "f")))
        rows = exp.select("*").from_(store.table(record.facts, "f")).where(false)
        number = store.count(rows.subquery("f"), "count the labels that are false") if opening.labelled else 0
        if not number:
            continue
        row = exp.select(integer(1)).from_(store.table(record.facts, "f")).where(equal_columns(keys, "f", "s"))
        atoms = exp.select("*").from_(store.table(record.atoms, "s")).where(exp.Not(this=exp.Exists(this=row)))
        others = store.count(atoms.subquery("s"), "count the atoms without a label of their own")
        if others:
            found[record.predicate] = [number, others, opening.full, record.readable]
    store.set_state(_UNLABELLED, json.dumps(found, ensure_ascii=False))


def warn_unlabelled(store: Store, predicates: Iterable[str]) -> None:
    """Warn of query atoms of these predicates that count as false without a row, though other rows say what is false."""
    found: Mapping[str, Any] = json.loads(store.state(_UNLABELLED) or "{}")
    for name in sorted(found.keys() & set(predicates)):
        number, others, full, view = found[name]
        what = f"{counted(number, 'row')} of {name} {'is' if number == 1 else 'are'} false"
        where = "of the right types" if full else "in its scope"
        have = "has no row and counts" if others == 1 else "have no row and count"
        rows = f", which sqlrl.{view} lists" if view else ""
        warn(
            f"{what}, but {counted(others, 'more tuple')} {where} {have} as false, too. If they are unknown, let the scope have only "
            f"the tuples with rows{rows}: {Phrase('db.scope({!r}, ...)', (name,))}",
            LabelWarning,
        )


def warn_empty(engine: QueryEngine, layout: Layout, examples: TableName) -> None:
    """Warn of some of the `examples` that are learned from if they have no query atoms."""
    tables = [info.atoms for info in layout.predicates.values() if info.atoms is not None]
    has = [
        exp.Exists(
            this=exp.select("*").from_(_table(atoms, "a")).where(column("example", "a").eq(column("example", "x")))
        )
        for atoms in tables
    ]
    query = exp.select(
        named(star_count(), "number"), named(exp.Min(this=column("name", "e")), "name"),
        named(exp.select(star_count()).from_(_table(examples, "y")).subquery(), "every"),
    )  # fmt: skip
    query = query.from_(_table(examples, "x")).join(
        _table(layout.examples, "e"), on=column("example", "e").eq(column("example", "x"))
    )
    (row,) = engine.fetch(
        query.where(exp.not_(exp.or_(exp.false(), *has))), step="count the examples without query atoms"
    ).to_pylist()
    if row["number"]:
        warn_of_empty(row["number"], row["every"], row["name"])


def warn_of_empty(number: int, every: int, name: str, kind: str = "example") -> None:
    """Warn of so many examples without query atoms, `name` among them, unless all are; those of another `kind` no caller can leave out."""
    if number < every:
        one = number == 1
        remedy = (
            f"Leave them out with {Parameter('examples')}, or check the scope of the target"
            if kind == "example"
            else "Leave them out"
        )
        warn(
            f"{number:,} of {counted(every, kind)} {'has' if one else 'have'} no query atoms, "
            f"{name}{'' if one else ' among them'}: nothing is learned from {'it' if one else 'them'}, though online learners "
            f"count each as a step. {remedy}",
            LabelWarning,
        )


def warn_alike(engine: QueryEngine, layout: Layout, examples: TableName) -> None:
    """Warn of open predicates whose labels are all true or all false in some of the `examples` that are learned from."""
    for name, info in sorted(layout.predicates.items()):
        if info.atoms is None:
            continue
        atoms, chosen = _table(info.atoms, "a"), _table(examples, "x")
        true = exp.CountIf(this=column("truth", "a"))
        query = exp.select(
            named(star_count(), "n"), named(true, "true"), named(exp.Count(this=column("truth", "a")), "known")
        )
        query = query.from_(atoms).join(chosen, on=column("example", "x").eq(column("example", "a")))
        (row,) = engine.fetch(query, step=f"count the labels of {name}").to_pylist()
        if row["known"] == row["n"]:
            warn_of_alike(name, row["n"], row["true"])


def warn_of_alike(name: str, atoms: int, true: int) -> None:
    """Warn if so many labelled query atoms of a predicate are all true or all false."""
    if atoms == 0 or true not in (0, atoms):
        return
    all_ = f"the only label of {name} is" if atoms == 1 else f"all {atoms:,} labels of {name} are"
    if true:
        words = (
            f"{all_} true, so nothing tells what makes it false: give the tuples that are false as well, with {Phrase('db.scope({!r}, ...)', (name,))}, "
            f"or leave the scope out for all tuples, or check {Parameter('examples')}"
        )
    else:
        words = f"{all_} false, so nothing tells what makes it true: load true atoms of it with {Parameter('target', True)}, or check {Parameter('examples')}"
    warn(words, LabelWarning)


# ---- types and constants -----------------------------------------------------------------------------


def check_types(model: Model) -> None:
    r"""Refuse types whose constants a model lists although no predicate has an argument of that type."""
    used = {t for p in model.predicates.values() for t in p.types}
    faults = [
        f"the model lists constants of the type {name!r}, which no predicate of it has"
        f"{did_you_mean(nearest_names(name, used)) or '.'} Correct the name, or leave the list out."
        for name in sorted(set(model.types) - used)
    ]
    if faults:
        raise CatalogError("\n".join(faults))


def warn_of_types(predicate: str, types: Iterable[str], known: Collection[str]) -> None:
    """Warn of new types that look like one that is known: they may be one type, misspelt."""
    asked = set(types)
    for name in sorted(asked - set(known)):
        # Who names both in one call means two types.
        folded = {k.casefold(): k for k in known if k not in asked}
        like = [folded[m] for m in difflib.get_close_matches(name.casefold(), list(folded), 1, 0.85)]
        if like and not _derived(name.casefold(), like[0].casefold()):
            warn(
                f"{predicate}: {Parameter('types')} names {name!r}, a type that nothing else has; did you mean {like[0]!r}? Load it again with "
                "that type if so.",
                LoadWarning,
            )


def _derived(one: str, other: str) -> bool:
    """Return whether two names differ by a number behind them or by a prefix, as names of related things do: pos and cpos, time2 and time3."""
    shorter, longer = sorted((one, other), key=len)
    prefixed = longer != shorter and longer.endswith(shorter)
    return prefixed or (one != other and one.rstrip("0123456789") == other.rstrip("0123456789"))


def check_declared(store: Store, model: Model, named: NamedConstants) -> None:
    """Refuse data with constants that a declared type does not list; the error has the first such facts, and their rows."""
    faults = []
    for name, record in store.types().items():
        if name not in model.types:
            continue
        if record.size <= len(set(model.types[name])) - len(named.declared.get(name, ())):
            continue
        extra = _unlisted(store, record, model.types[name])
        shown = [f"{constant!r} {_place(store, record, constant)}" for constant in extra[:_SHOWN]]
        more = f"\n  and {len(extra) - _SHOWN:,} more" if len(extra) > _SHOWN else ""
        faults.append(
            f"the model lists the constants of {name}, and the data have {counted(len(extra), 'other')}:\n  "
            + "\n  ".join(shown)
            + f"{more}\nAdd them to the list {name} = {{...}} in the model, leave the list out, or load the data again and rename "
            f"them with {Parameter('constants', Written('{...}'))}."
        )
    if faults:
        raise CatalogError("\n".join(faults))


def _unlisted(store: Store, record: TypeRecord, listed: Iterable[str]) -> list[str]:
    """Return the constants of a type that are not listed, in the order of their ids."""
    with store.engine.attached(pa.table({"name": pa.array(sorted(set(listed)), pa.string())})) as table:
        known = exp.select(column("name")).from_(table)
        query = exp.select(column("name")).from_(store.table(record.dictionary))
        query = query.where(exp.Not(this=exp.In(this=column("name"), query=known.subquery()))).order_by(column("id"))
        return [str(row["name"]) for row in store.rows(query, f"list the constants of {record.type}")]


def _place(store: Store, record: TypeRecord, constant: str) -> str:
    """Return the first fact with a constant, and where it came from."""
    predicates = store.predicates()
    for source in store.sources().values():
        predicate = predicates[source.predicate]
        places = [i for i, t in enumerate(predicate.types) if t == record.type and not source.staged]
        if not places:
            continue
        fact = _stored_fact(store, predicate, source, places, constant)
        if fact is None:
            continue
        if source.kind in ("file", "table", "view", "query"):
            found = _read_fact(store, predicate, source, record, places, constant)
            if found is None:
                return f"in {fact} from {shortened(source.source)}, which has changed since"
            return f"in {found[0]} from {shortened(source.source)}, row {found[1]:,}"
        return f"in {fact} from {_in_evidence(source, places, constant)}"
    return "in no fact (a scope or an earlier model names it)"


def _stored_fact(
    store: Store, predicate: PredicateRecord, source: SourceRecord, places: Sequence[int], constant: str
) -> str | None:
    """Return a fact of a source with a constant at one of some arguments, None if there is none."""
    types = store.types()
    query = exp.select().from_(store.table(source.storage, "f"))
    for i, type_name in enumerate(predicate.known_types()):
        on = column("id", f"d{i}").eq(column(f"a{i}", "f"))
        query = query.join(store.table(types[type_name].dictionary, f"d{i}"), on=on)
        query = query.select(named(column("name", f"d{i}"), f"a{i}")).order_by(column(f"a{i}", "f"))
    same = [column("name", f"d{i}").eq(exp.convert(constant)) for i in places]
    found = store.rows(query.where(exp.or_(*same)).limit(1), f"find {constant}")
    return f"{predicate.predicate}({', '.join(map(str, found[0].values()))})" if found else None


def _read_fact(
    store: Store,
    predicate: PredicateRecord,
    source: SourceRecord,
    record: TypeRecord,
    places: Sequence[int],
    constant: str,
) -> tuple[str, int] | None:
    """Return the first fact with a constant and its row from a source that can be read again, None if it changed."""
    options = LoadOptions.from_json(source.options)
    try:
        with open_source(store.engine, origin(source), options.dialect) as opened:
            mapped = map_columns(predicate.predicate, opened, options, predicate.types)
            number = named(exp.Window(this=exp.RowNumber()), "row")
            rows = exp.select("*", number).from_(raw_query(opened, mapped, options).subquery("raw")).subquery("rows")
            values = [constant_name(column(f"a{i}"), record) for i in places]
            names = [column(name) for name in argument_columns(len(mapped.arguments))]
            query = exp.select(*names, column("row")).from_(rows).order_by(column("row")).limit(1)
            query = query.where(exp.or_(*(exp.EQ(this=v, expression=exp.convert(constant)) for v in values)))
            found = store.rows(query, f"find the row of {constant}")
    except SqlrlError:
        return None
    if not found:
        return None
    *fact, row = found[0].values()
    return f"{predicate.predicate}({', '.join(map(str, fact))})", int(row)


def _in_evidence(source: SourceRecord, places: Sequence[int], constant: str) -> str:
    """Return the evidence file and the line in which a constant stands first, or what is known of a source that is no such file."""
    for path, fingerprint in evidence_files(source) if source.kind == "object" else []:
        if file_fingerprint(path) != fingerprint:
            continue
        for atom in read_evidence(path):
            if atom.predicate == source.predicate and any(atom.constants[i] == constant for i in places):
                return f"{path}, line {atom.line:,}"
    return source.source


def check_constants(store: Store, model: Model) -> None:
    """Refuse constants that the rules name and neither data nor declarations have."""
    types, unknown, count = store.types(), list[str](), 0
    for name, constants in sorted(model.clause_constants.items()):
        missing = [c for c in missing_constants(store, types[name], constants) if c not in model.types.get(name, ())]
        count += len(missing)
        for constant in missing[: _SHOWN - len(unknown)]:
            like = suggestion(store, types[name], constant)
            unknown.append(f"{constant!r} is no constant of {name}{_where(constants[constant])}{like}")
    if count:
        more = [f"and {count - len(unknown):,} more"] if count > len(unknown) else []
        raise CatalogError(
            "\n".join([*unknown, *more])
            + f"\nConstants match exactly: rename them with {Parameter('constants', Written('{...}'))}, or list them in the model (type = {{...}}). Without {Parameter('strict', True)} "
            "they are part of the domain of their type."
        )


def _where(rule: Rule) -> str:
    """Return the place of a rule for the middle of a sentence."""
    return f" ({rule.place})" if rule.place else ""


def warn_of_constants(store: Store, model: Model, named: NamedConstants, *, first: bool) -> None:
    """Warn of constants that rules name and the data lack."""
    # Those of a learned model are counted; those of others are named if they may be misspelt, when it is bound to these data first.
    if model.learned or any(rule.expansions is not None for rule in model.rules):
        types = store.types()
        listed: dict[str, list[str]] = {name: list(constants) for name, constants in model.clause_constants.items()}
        for name, constants in model.types.items() if model.learned else ():
            # What a learned model lists is no mistake, but may be a constant of these data in other words.
            listed.setdefault(name, []).extend(constants)
        missing = {name: missing_constants(store, types[name], each) for name, each in sorted(listed.items())}
        unknown = [each for name, found in missing.items() for each in found if each not in model.types.get(name, ())]
        same = [
            f"{one!r} of {name} may be {other[0]!r}{why_alike(one, other)}"
            for name, constants in missing.items()
            for one, other in other_spellings(store, types[name], constants).items()
        ]
        if unknown or same:
            more = f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else ""
            words = f"{counted(len(unknown), 'constant')} of the model {'does' if len(unknown) == 1 else 'do'} not occur in these data: "
            words += f"{', '.join(map(repr, unknown[:_SHOWN]))}{more}"
            others = f"the data may have constants of the model in other words: {', '.join(same[:_SHOWN])}"
            others += f" and {len(same) - _SHOWN:,} more" if len(same) > _SHOWN else ""
            warn("; ".join([*([words] if unknown else []), *([others] if same else [])]), UnseenConstantWarning)
        return
    like = (
        []
        if not first
        else [
            f"{constant!r} of {name}{_where(rules[constant])} is like {' and '.join(map(repr, near))}{why_alike(constant, near)}"
            for name, rules in named.of_rules.items()
            for constant, near in close_constants(store, store.types()[name], rules).items()
        ]
    )
    if like:
        more = f"; and {len(like) - _SHOWN:,} more" if len(like) > _SHOWN else ""
        warn(
            f"rules name constants that the data lack, and that are like others which they have: {'; '.join(like[:_SHOWN])}{more}. "
            f"They are taken as further constants of their types: if they are misspelt, correct them or rename them with {Parameter('constants', Written('{...}'))}; "
            "if not, list them in the model (type = {...}).",
            UnseenConstantWarning,
        )
