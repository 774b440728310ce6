"""Labels that perhaps say less than they seem to: tuples that are false only because they have no row, and labels that are all alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp

from sqlrl.catalog.atoms import Opening
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.catalog.store import PredicateRecord, Store, equal_columns
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, star_count
from sqlrl.errors import LabelWarning, warn
from sqlrl.wording import counted

_STATE = "unlabelled"


def note_unlabelled(store: Store, records: Iterable[tuple[Opening, PredicateRecord]]) -> None:
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
    store.set_state(_STATE, json.dumps(found, ensure_ascii=False))


def warn_unlabelled(store: Store, predicates: Iterable[str]) -> None:
    """Warn of query atoms of these predicates that count as false without a row, though other rows say what is false."""
    found: Mapping[str, Any] = json.loads(store.state(_STATE) or "{}")
    for name in sorted(found.keys() & set(predicates)):
        number, others, full, view = found[name]
        what = f"{counted(number, 'row')} of {name} {'is' if number == 1 else 'are'} false"
        where = "of the right types" if full else "in its scope"
        have = "has no row and counts" if others == 1 else "have no row and count"
        rows = f", which sqlrl.{view} lists" if view else ""
        warn(
            f"{what}, but {counted(others, 'more tuple')} {where} {have} as false, too. If they are unknown, let the scope have only "
            f"the tuples with rows{rows}: db.scope({name!r}, ...)",
            LabelWarning,
        )


def warn_empty(engine: QueryEngine, layout: Layout, examples: TableName) -> None:
    """Warn of some examples without query atoms.

    Parameters
    ----------
    engine : QueryEngine
    layout : Layout
    examples : TableName
        A table of those that are learned from.
    """
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
    if 0 < row["number"] < row["every"]:
        one = row["number"] == 1
        warn(
            f"{row['number']:,} of {counted(row['every'], 'example')} {'has' if one else 'have'} no query atoms, "
            f"{row['name']}{'' if one else ' among them'}: nothing is learned from {'it' if one else 'them'}, though online learners "
            "count each as a step. Leave them out with examples=, or check the scope of the target",
            LabelWarning,
        )


def warn_alike(engine: QueryEngine, layout: Layout, examples: TableName) -> None:
    """Warn of open predicates whose labels in some examples are all true or all false.

    Parameters
    ----------
    engine : QueryEngine
    layout : Layout
    examples : TableName
        A table of those that are learned from.
    """
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
        if row["n"] == 0 or row["known"] < row["n"] or row["true"] not in (0, row["n"]):
            continue
        all_ = f"the only label of {name} is" if row["n"] == 1 else f"all {row['n']:,} labels of {name} are"
        if row["true"]:
            words = (
                f"{all_} true, so nothing tells what makes it false: give the tuples that are false as well, with db.scope({name!r}, ...), "
                "or leave the scope out for all tuples, or check examples="
            )
        else:
            words = f"{all_} false, so nothing tells what makes it true: load true atoms of it with target=True, or check examples="
        warn(words, LabelWarning)


def _table(name: TableName, alias: str) -> exp.Expr:
    return exp.table_(name.name, db=name.schema, catalog=name.catalog, quoted=True).as_(alias)
