"""Labels outside the scope: no query atom has them, so learners and predictions never see them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from sqlrl.catalog.atoms import Opening, atom_name
from sqlrl.catalog.encoding import key_columns
from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.store import PredicateRecord, Store, equal_columns
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, integer, named, star_count
from sqlrl.errors import ScopeWarning, warn
from sqlrl.wording import counted

IntArray = npt.NDArray[np.int64]
_STATE = "outside"


def note_outside(store: Store, records: Iterable[tuple[Opening, PredicateRecord]]) -> None:
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
            first = store.rows(_outside(facts, atoms, keys).order_by(*order).limit(1), "find a label outside the scope")
            found[record.predicate] = [outside, atom_name(store, record, first[0]), _remedy(store, opening, record)]
    store.set_state(_STATE, json.dumps(found, ensure_ascii=False))


def _remedy(store: Store, opening: Opening, record: PredicateRecord) -> str:
    """Return what gives atoms to labels that have none."""
    if not opening.full:
        return f"widen the scope with db.scope({record.predicate!r}, ...)"
    types = store.types()
    local = sorted({t for t in record.known_types() if types[t].local})
    calls = " and ".join(f"db.set_local({t!r}, False)" for t in local)
    return f"make the {'type' if len(local) == 1 else 'types'} global with {calls}"


def warn_outside(store: Store, predicates: Iterable[str]) -> None:
    """Warn of the labels of these predicates that lie outside their scope."""
    found: Mapping[str, Any] = json.loads(store.state(_STATE) or "{}")
    for name in sorted(found.keys() & set(predicates)):
        number, shown, remedy = found[name]
        lies = "lies" if number == 1 else "lie"
        them, they = ("it", "it is") if number == 1 else ("them", "they are")
        warn(
            f"{counted(number, 'label')} of {name} {lies} outside the scope, such as {shown}: learners and predictions do not see "
            f"{them}, and evaluate counts {them} as missed (not with outside='ignore'). To predict {them}, {remedy}; if {they} evidence, "
            f"load {them} with given=True.",
            ScopeWarning,
        )


def labels_outside(engine: QueryEngine, layout: Layout, predicate: str, examples: IntArray) -> IntArray:
    r"""Return the example of each true label of a predicate that lies outside its scope; only `evaluate` asks.

    Parameters
    ----------
    engine : QueryEngine
    layout : Layout
    predicate : str
        An open predicate.
    examples : int64 array
        Labels of other examples do not count.

    Returns
    -------
    int64 array, ascending

    Examples
    --------
    >>> import sqlrl
    >>> db = sqlrl.connect()
    >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"], target=True)
    >>> db.scope("Smokes", "select 'Anna'")
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layout = db.bind(sqlrl.parse_mln("Smokes(person)\n1 Smokes(x)"))
    >>> labels_outside(db.engine, layout, "Smokes", np.array([0])).tolist()
    [0]
    """
    info = layout.predicates[predicate]
    assert info.atoms is not None, f"{predicate} is closed"
    keys = key_columns(len(info.types), info.example_column)
    outside = _outside(info.facts, info.atoms, keys)
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


def _outside(facts: TableName, atoms: TableName, keys: list[str]) -> exp.Select:
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
