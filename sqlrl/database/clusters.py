"""Clusters of what a predicted equivalence joins: each record with the number of its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse import csgraph
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.database.inferred import Inferred
from sqlrl.distinct import distinct, numbered, rows_and_numbers
from sqlrl.engine.nodes import column, integer, named, table
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.clauses import argument_names
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import rows_table
from sqlrl.report import Table

if TYPE_CHECKING:
    from sqlrl.engine.base import QueryEngine

Pairs = IntArray
"""Pairs of constants of one type, shape (k, 2), by their ids."""


def clusters(prediction: Inferred, predicate: str | None, *, closure: bool) -> Table:
    """Return the clusters of a prediction; `InferenceResult.clusters` explains it."""
    prediction.check_current()
    info = prediction.chosen(predicate)
    if len(info.types) != 2 or len(set(info.types)) != 1:
        raise InputError(
            f"{info.name}({', '.join(info.types)}) is no relation between two constants of one type: clusters need one, such as "
            f"Same({info.types[0]}, {info.types[0]})"
        )
    engine, layout = prediction.engine, prediction.layout
    example, pairs, true = _candidates(prediction, info)
    # A record of each example is a node of its own.
    members, nodes = _members(layout, info, example, pairs)
    first, second = nodes[:, true]
    size = len(members)
    link = sparse.coo_array((np.ones(len(first), np.int8), (first, second)), shape=(size, size))
    _, label = csgraph.connected_components(link, directed=False)
    _, cluster = numbered(label)
    if not closure:
        _check(prediction, info, members[:, 1], cluster, np.stack([first, second], axis=1))
    return _named(engine, prediction, info, members, cluster)


def _candidates(prediction: Inferred, info: PredicateInfo) -> tuple[IntArray, Pairs, IntArray]:
    """Return the example and the constants of each query atom and given atom, and the positions of true ones."""
    assert info.atoms is not None
    engine, layout, columns = prediction.engine, prediction.layout, [column("a0"), column("a1")]
    query = exp.select(column("atom"), column("example"), *columns).from_(table(info.atoms)).order_by(column("atom"))
    rows = engine.fetch(query, step=f"read the atoms of {info.name}")
    ids, examples = rows.column("atom").to_numpy(), np.isin(rows.column("example").to_numpy(), prediction.examples)
    rows, ids = rows.filter(pa.array(examples)), ids[examples]
    place = np.searchsorted(prediction.network_atoms.ids, ids)
    parts, truth = [rows.drop(["atom"])], [prediction.holds()[place]]
    if info.has_given:
        example = column("example") if info.example_column else named(integer(0), "example")
        if layout.example_type == info.types[0]:
            example = named(column("a0"), "example")
        facts = exp.select(example, *columns, column("truth")).from_(table(info.facts)).where(column("given"))
        given = engine.fetch(facts.order_by(column("a0"), column("a1")), step=f"read what is given of {info.name}")
        given = given.filter(pa.array(np.isin(given.column("example").to_numpy(), prediction.examples)))
        parts.append(given.drop(["truth"]).cast(parts[0].schema))
        truth.append(given.column("truth").to_numpy(zero_copy_only=False).astype(bool))
    whole = pa.concat_tables(parts)
    pairs = np.stack([whole.column(name).to_numpy() for name in ("a0", "a1")], axis=1).astype(np.int64)
    return whole.column("example").to_numpy().astype(np.int64), pairs, np.flatnonzero(np.concatenate(truth))


def _members(layout: Layout, info: PredicateInfo, example: IntArray, pairs: Pairs) -> tuple[IntArray, IntArray]:
    """Return the records in order, as (example, constant), and those of pairs among them, shape (2, k)."""
    # They are those of pairs, and where all data are one example those of the type.
    kind = layout.types[info.types[0]]
    examples, constants = [example, example], [pairs[:, 0], pairs[:, 1]]
    if layout.example_count == 1 and layout.example_type is None and not kind.local:
        ids = np.arange(kind.size - kind.of_rules, dtype=np.int64)
        examples.append(np.zeros_like(ids))
        constants.append(ids)
    rows, number = rows_and_numbers([np.concatenate(examples), np.concatenate(constants)])
    return rows, number[: 2 * len(pairs)].reshape(2, -1)


def _check(prediction: Inferred, info: PredicateInfo, constant: IntArray, cluster: IntArray, links: Pairs) -> None:
    """Refuse a relation that is no equivalence: some pair inside a cluster is not joined, in either order."""
    size = np.bincount(cluster)
    links = distinct(np.sort(links[links[:, 0] != links[:, 1]], axis=1).T).rows
    joined = np.bincount(cluster[links[:, 0]], minlength=len(size))
    wrong = np.flatnonzero(joined != size * (size - 1) // 2)
    if not len(wrong):
        return
    mine = links[cluster[links[:, 0]] == wrong[0]]
    x, y, z = _open_triple(mine)
    a, b, c = _names(prediction.engine, prediction.layout, info.types[0], constant[[x, y, z]])
    rules = f"add the rule {info.name}(x, y) ^ {info.name}(y, z) => {info.name}(x, z). and one of symmetry, with all these pairs in the scope, or "
    # Probabilities and truth values on both sides of a half need not be transitive where the model is.
    raise InputError(
        f"{info.name} is predicted to join {a} with {b} and {b} with {c}, but not {a} with {c}, as in {len(wrong):,} of the clusters: "
        f"{rules if prediction.value_column == 'truth' else ''}pass {Parameter('closure', True)} for whatever is connected"
    )


def _open_triple(links: Pairs) -> tuple[int, int, int]:
    """Return x, y and z of which y is joined with both others, and these are not with each other."""
    joined: dict[int, set[int]] = {}
    for x, y in links.tolist():
        joined.setdefault(x, set()).add(y)
        joined.setdefault(y, set()).add(x)
    for y, around in sorted(joined.items()):
        for x in sorted(around):
            rest = sorted(z for z in around if z != x and z not in joined[x])
            if rest:
                return x, y, rest[0]
    raise AssertionError("a connected relation that is no clique has such a triple")


def _names(engine: QueryEngine, layout: Layout, kind: str, ids: IntArray) -> list[str]:
    """Return the names of constants."""
    query = exp.select(column("id"), column("name")).from_(table(layout.types[kind].dictionary))
    query = query.where(exp.In(this=column("id"), expressions=[integer(i) for i in ids.tolist()]))
    found = engine.fetch(query, step="look up names")
    names = dict(zip(found.column("id").to_pylist(), found.column("name").to_pylist(), strict=True))
    return [names[i] for i in ids.tolist()]


def _named(
    engine: QueryEngine, prediction: Inferred, info: PredicateInfo, members: IntArray, cluster: IntArray
) -> Table:
    """Return members and clusters with names, in order of clusters."""
    layout, kind = prediction.layout, info.types[0]
    order = np.argsort(cluster, kind="stable")
    rows = pa.table(
        {
            "place": np.arange(len(order)),
            "example": members[order, 0],
            "id": members[order, 1],
            "cluster": cluster[order],
        }
    )
    with rows_table(engine, layout, rows) as source:
        query = exp.select(
            named(column("name", "x"), "example"),
            named(column("name", "d"), argument_names(info)[0]),
            column("cluster", "m"),
        )
        query = query.from_(table(source, "m"))
        for name, alias, key, of in (
            (layout.examples, "x", "example", "example"),
            (layout.types[kind].dictionary, "d", "id", "id"),
        ):
            on = exp.EQ(this=column(key, alias), expression=column(of, "m"))
            query = query.join(table(name, alias), on=on)
        found = engine.fetch(query.order_by(column("place", "m")), step="name the members of clusters")
    return Table(found, title=f"{info.name}: {int(cluster.max(initial=-1)) + 1:,} clusters")
