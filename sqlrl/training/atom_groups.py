"""Groups that users give to query atoms, so that the atoms of a group stay together in folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.bins import piece_name
from sqlrl.catalog.dictionary import numeric_name
from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.sources import LoadSource, open_source
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named, table
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import IntArray
from sqlrl.wording import counted


def atom_groups(engine: DuckDBEngine, layout: Layout, groups: Any) -> tuple[IntArray, IntArray]:
    """Return the ids of query atoms and the group of each, from 0: shape (r,), ascending by atom, once for each of its groups."""
    opened = [info for info in layout.predicates.values() if info.atoms is not None]
    if len(opened) != 1:
        names = ", ".join(info.name for info in opened)
        raise InputError(
            f"{Parameter('groups')} is for models with one open predicate, and this one has {len(opened)} ({names}): leave it out, or give "
            "the examples a column, since whole examples stay together"
        )
    (info,) = opened
    with open_source(engine, groups) as source:
        _check_columns(source, info)
        data = _read(engine, layout, source, info)
    nulls = data.column("nulls").to_numpy(zero_copy_only=False).astype(np.bool_)
    if nulls.any():
        raise InputError(
            f"{Parameter('groups')} has NULL in {counted(int(nulls.sum()), 'row')} of {source.label}: leave those rows out, or say which group "
            "they belong to"
        )
    # Rows that name no query atom are passed over.
    data = data.drop_null().sort_by([("atom", "ascending"), ("grp", "ascending")])
    _, group = np.unique(data.column("grp").to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    return data.column("atom").to_numpy().astype(np.int64), group.astype(np.int64)


def ungrouped(missing: int, total: int, first: str) -> InputError:
    """Return the error for atoms without a group, the text of the first of which is given."""
    return InputError(
        f"{Parameter('groups')} says nothing of {counted(missing, 'atom')} of {total:,} to learn from, the first of them {first}: give each atom a group"
    )


def _check_columns(source: LoadSource, info: PredicateInfo) -> None:
    """Refuse a source that has not a column for each argument and one for the group."""
    needed = len(info.types) + 1
    if len(source.columns) == needed:
        return
    has = f"{counted(len(source.columns), 'column')}: {', '.join(source.columns)}" if source.columns else "none"
    raise InputError(
        f"{Parameter('groups')} takes {needed} columns, {counted(len(info.types), 'argument')} of {info.name}({', '.join(info.types)}) and then the "
        f"group, and {source.label} has {has}"
    )


def _read(engine: DuckDBEngine, layout: Layout, source: LoadSource, info: PredicateInfo) -> pa.Table:
    """Read distinct rows: `atom` (NULL if there is none), `grp`, and whether something else is NULL."""
    names, arity = list(source.columns), len(info.types)
    texts = [named(source.text(name), f"t{i}") for i, name in enumerate(names)]
    rows = exp.select(*texts).distinct().from_(source.table)
    null = exp.or_(*(exp.Is(this=column(f"t{i}", "g"), expression=exp.null()) for i in range(arity + 1)))
    query = exp.select(column("atom", "a"), named(column(f"t{arity}", "g"), "grp"), named(null, "nulls"))
    query = query.from_(rows.subquery("g"))
    ids = []
    for i, kind in enumerate(info.types):
        # As it is written; else, since a type of numbers knows 1.0 as 1, by its value.
        written, edges = column(f"t{i}", "g"), layout.types[kind].edges
        number = piece_name(written, kind, edges) if edges else numeric_name(written)
        for alias, text in ((f"d{i}", written), (f"n{i}", number)):
            on = exp.EQ(this=column("name", alias), expression=text)
            query = query.join(table(layout.types[kind].dictionary, alias), on=on, join_type="left")
        ids.append(exp.func("coalesce", column("id", f"d{i}"), column("id", f"n{i}")))
    assert info.atoms is not None
    same = exp.and_(*(exp.EQ(this=column(f"a{i}", "a"), expression=found) for i, found in enumerate(ids)))
    query = query.join(table(info.atoms, "a"), on=same, join_type="left")
    return engine.fetch(query, step="read groups of atoms")
