"""Groups of query atoms that the user gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.dictionary import numeric_name
from sqlrl.catalog.layout import PredicateInfo
from sqlrl.catalog.sources import Source, open_source
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named
from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Program
from sqlrl.plan.sources import table
from sqlrl.wording import counted


def atom_groups(program: Program, groups: Any) -> tuple[IntArray, IntArray]:
    r"""Return which query atom is in which group.

    Parameters
    ----------
    program : Program
        With one open predicate.
    groups : query, table, path, relation, frame or tuples
        A column for each argument of the open predicate, in order, and then one for the group. Rows that name no query atom are
        passed over.

    Returns
    -------
    atoms : int64 array, shape (r,)
        Ids of query atoms, ascending; one occurs as often as it has groups.
    group : int64 array, shape (r,)
        From 0.

    Raises
    ------
    InputError
        There are several open predicates, the columns are too few or too many, or there are NULLs.
    LoadError
        The source cannot be read.

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Better", [("a", "b")], types=["drug", "drug"], target=True)
    >>> db.scope("Better", [("a", "b"), ("b", "a"), ("a", "c")])
    >>> with db.program(sqlrl.parse_mln("Better(drug, drug)\n0 Better(x, y)")) as program:
    ...     atoms, group = atom_groups(
    ...         program, [("a", "b", "ab"), ("b", "a", "ab"), ("a", "c", "ac"), ("c", "a", "ac")]
    ...     )
    >>> atoms.tolist(), group.tolist()
    ([1, 2, 3], [0, 1, 0])
    """
    opened = [info for info in program.public_layout.predicates.values() if info.atoms is not None]
    if len(opened) != 1:
        names = ", ".join(info.name for info in opened)
        raise InputError(
            f"groups= is for models with one open predicate, and this one has {len(opened)} ({names}): leave it out, or give "
            "the examples a column, since whole examples stay together"
        )
    (info,) = opened
    engine = program.engine
    assert isinstance(engine, DuckDBEngine), "programs are held against a catalog, which DuckDB keeps"
    with open_source(engine, groups) as source:
        _check_columns(source, info)
        data = _read(program, source, info)
    nulls = data.column("nulls").to_numpy(zero_copy_only=False).astype(np.bool_)
    if nulls.any():
        raise InputError(
            f"groups= has NULL in {counted(int(nulls.sum()), 'row')} of {source.label}: leave those rows out, or say which group "
            "they belong to"
        )
    data = data.drop_null().sort_by([("atom", "ascending"), ("grp", "ascending")])
    _, group = np.unique(data.column("grp").to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    return data.column("atom").to_numpy().astype(np.int64), group.astype(np.int64)


def _check_columns(source: Source, info: PredicateInfo) -> None:
    """Refuse a source that has not a column for each argument and one for the group."""
    needed = len(info.types) + 1
    if len(source.columns) == needed:
        return
    has = f"{counted(len(source.columns), 'column')}: {', '.join(source.columns)}" if source.columns else "none"
    raise InputError(
        f"groups= takes {needed} columns, {counted(len(info.types), 'argument')} of {info.name}({', '.join(info.types)}) and then the "
        f"group, and {source.label} has {has}"
    )


def _read(program: Program, source: Source, info: PredicateInfo) -> pa.Table:
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
        for alias, text in ((f"d{i}", column(f"t{i}", "g")), (f"n{i}", numeric_name(column(f"t{i}", "g")))):
            on = exp.EQ(this=column("name", alias), expression=text)
            query = query.join(table(program.layout.types[kind].dictionary, alias), on=on, join_type="left")
        ids.append(exp.func("coalesce", column("id", f"d{i}"), column("id", f"n{i}")))
    assert info.atoms is not None
    same = exp.and_(*(exp.EQ(this=column(f"a{i}", "a"), expression=found) for i, found in enumerate(ids)))
    query = query.join(table(info.atoms, "a"), on=same, join_type="left")
    return program.engine.fetch(query, step="read groups of atoms")
