"""Soft truths: values from 0 to 1 that facts and atoms have, what contradicts itself among them, and who cannot read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from sqlrl.catalog.atoms import atom_name, known_value, names_of
from sqlrl.catalog.bins import constant_name
from sqlrl.catalog.encoding import SourceRows, row_numbers
from sqlrl.catalog.image import PredicateRecord, SourceRecord, equal_columns
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named, star_count, union_all
from sqlrl.errors import CatalogError, LoadError, Parameter, Phrase
from sqlrl.wording import counted, shortened

_SHOWN = 5


# ---- loads that contradict each other ----------------------------------------------------------------


def check_kinds(store: Store, predicate: str, loaded: SourceRecord) -> None:
    """Refuse a predicate that has both values and soft evidence, which is log-odds."""
    for (name, role), other in store.sources().items():
        if name != predicate or role == loaded.role:
            continue
        if (loaded.value is not None and role == "soft") or (loaded.role == "soft" and other.valued):
            had, now = (
                (Parameter("probability"), Parameter("value"))
                if role == "soft"
                else (Parameter("value"), Parameter("probability"))
            )
            emptied = "db.load({!r}, [], empty='allow'" + {"given": ", given=True)", "label": ", target=True)"}.get(
                role, ")"
            )
            empty = f"after {Phrase(emptied, (predicate,))}, which takes away those that are there"
            raise LoadError(
                f"{predicate} was loaded with {had} from {shortened(other.source)}, and now with {now}: soft evidence is log-odds, which soft "
                f"truths are not: load all facts of it alike, {'in another database' if role == 'soft' else empty}."
            )


def check_roles(store: Store, record: PredicateRecord, loaded: SourceRecord, rows: SourceRows) -> None:
    """Refuse valued atoms with another value in another role, or both observed and a label."""
    for (name, role), other in store.sources().items():
        comparable = not (loaded.staged or other.staged) and loaded.example == other.example
        if name != record.predicate or role == loaded.role or not comparable:
            continue
        if loaded.value is None and other.value is None:
            continue
        keys, where = rows.keys, rows.where
        there, here = known_value(other, "o"), known_value(loaded, "n")
        query = exp.select(*(column(k, "n") for k in keys), named(there, "there"), named(here, "here"))
        query = query.from_(store.table(loaded.storage, "n"))
        query = query.join(store.table(other.storage, "o"), on=equal_columns(keys, "n", "o"))
        observed = "given" in (role, loaded.role)
        if not observed:
            query = query.where(exp.NEQ(this=there.copy(), expression=here.copy()))
        number = store.count(query.subquery("found"), f"look for atoms of {where} that are in another role")
        if not number:
            continue
        found = store.rows(query.order_by(*(column(k, "n") for k in keys)).limit(_SHOWN), "find those atoms")
        shown = [_shown(store, record, row, rows) for row in found]
        more = f" and {counted(number - _SHOWN, 'other')}" if number > _SHOWN else ""
        what = "both observed and a label" if observed else "of two values"
        raise LoadError(
            f"{where}: {counted(number, 'atom')} {'is' if number == 1 else 'are'} {what}, here and in what was loaded as {role} from "
            f"{shortened(other.source)}: {'; '.join(shown)}{more}: leave {'it' if number == 1 else 'them'} out of one of the two."
        )


def _shown(store: Store, record: PredicateRecord, row: Mapping[str, object], source: SourceRows) -> str:
    """Return an atom with its two values and the rows of the source that say so."""
    names = names_of(store, record, row)
    keys, numeric = source.keys, source.numeric
    texts = [constant_name(column(k), numeric[k]) if k in numeric else column(k) for k in keys]
    same = exp.and_(exp.true(), *(text.eq(exp.convert(names[k])) for k, text in zip(keys, texts, strict=True)))
    places = row_numbers(store, source.text, same)
    return f"{atom_name(store, record, row)} is {row['here']} here{places} and {row['there']} there"


# ---- models that know true and false alone -----------------------------------------------------------


def values_between(store: Store) -> dict[str, int]:
    """Return how many values strictly between 0 and 1 predicates have, those that have some."""
    valued = [source for source in store.sources().values() if source.valued]
    if not valued:
        return {}
    value = column("value")
    inside = exp.and_(value > exp.convert(0), value.copy() < exp.convert(1))
    counts = [
        exp.select(named(exp.convert(s.predicate), "predicate"), named(star_count(), "n"))
        .from_(store.table(s.storage))
        .where(inside.copy())
        for s in valued
    ]
    found: dict[str, int] = {}
    for row in store.rows(union_all(counts), "count values between 0 and 1"):
        if row["n"]:
            found[row["predicate"]] = found.get(row["predicate"], 0) + int(row["n"])
    return dict(sorted(found.items()))


def refuse_values(between: Mapping[str, int], predicates: Collection[str]) -> None:
    """Refuse predicates of a Markov logic network that have values strictly between 0 and 1, of which there are so many."""
    faults = [
        f"{name} has {counted(n, 'value')} between 0 and 1, and in a Markov logic network a fact is true or false"
        for name, n in between.items()
        if name in predicates
    ]
    if faults:
        raise CatalogError(
            f"{'; '.join(faults)}: load it with {Parameter('probability')} in place of {Parameter('value')} if these are probabilities (soft evidence), choose what is true "
            f"with a query (select ... where value >= 0.5), or leave its rules out with {Parameter('drop')}."
        )


def refuse_soft_evidence(store: Store, predicates: Collection[str]) -> None:
    """Refuse predicates of a soft model of which there is soft evidence: log-odds, which are no soft truths."""
    for (name, role), source in store.sources().items():
        if role == "soft" and name in predicates:
            raise CatalogError(
                f"{name} was loaded with {Parameter('probability')} from {shortened(source.source)}, soft evidence of Markov logic networks: load it with "
                f"{Parameter('value')} for a soft model, and with {Parameter('given', True)} if it is also predicted."
            )
