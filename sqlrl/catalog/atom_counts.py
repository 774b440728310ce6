"""How many query atoms the data have, counted before any is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlrl.catalog.atoms import PredicateOpening
from sqlrl.catalog.examples import ExampleSource
from sqlrl.catalog.image import PredicateRecord, TypeRecord
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column, named


def atom_counts(
    store: Store, openings: Sequence[PredicateOpening], source: ExampleSource, types: Mapping[str, TypeRecord]
) -> dict[str, int]:
    """Return how many query atoms each open predicate has at the most: what is given among them is not taken off."""
    return {opening.record.predicate: _most_atoms(store, opening, source, types) for opening in openings}


def _most_atoms(store: Store, opening: PredicateOpening, source: ExampleSource, types: Mapping[str, TypeRecord]) -> int:
    if opening.full:
        return _full_scope_size(store, opening.record, source, types)
    listed = opening.sources["soft"].rows if "soft" in opening.sources else 0
    if opening.scope is not None:
        listed += store.count(store.table(opening.scope), f"count the scope of {opening.record.predicate}")
    return listed


def _full_scope_size(
    store: Store, record: PredicateRecord, source: ExampleSource, types: Mapping[str, TypeRecord]
) -> int:
    """Return the number of type-consistent tuples of a predicate, over all examples."""
    fixed = source.argument(record) if source.kind == "type" else None
    others = [types[t] for i, t in enumerate(record.known_types()) if i != fixed]
    total = math.prod(t.size for t in others if not t.local)
    local = [t.domain for t in others if t.local and t.domain is not None]
    if not local:
        return total * store.count(store.table("example"), "count the examples")
    query = exp.select().from_(store.table("example", "e"))
    # A product of sizes may exceed 64 bits, and its sum 128: what is beyond is refused anyhow.
    product: exp.Expr = exp.cast(exp.convert(1), "double")
    for i, domain in enumerate(local):
        sizes = exp.select(column("example"), named(exp.Count(this=exp.Star()), "n")).from_(store.table(domain))
        grouped = sizes.group_by(column("example")).subquery(f"d{i}")
        query = query.join(grouped, on=column("example", f"d{i}").eq(column("example", "e")))
        product = exp.Mul(this=product, expression=column("n", f"d{i}"))
    found = store.rows(query.select(named(exp.Sum(this=product), "n")), f"count the atoms of {record.predicate}")
    return total * int(found[0]["n"] or 0)
