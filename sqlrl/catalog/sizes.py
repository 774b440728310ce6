"""How many query atoms the data have, which is counted before any is made, and how many there may be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlrl.engine.nodes import column, named
from sqlrl.errors import CatalogError, InputError
from sqlrl.wording import counted, in_bytes

if TYPE_CHECKING:
    from sqlrl.catalog.atoms import Opening
    from sqlrl.catalog.examples import ExampleSource
    from sqlrl.catalog.store import PredicateRecord, Store, TypeRecord

ATOM_LIMIT = 20_000_000
"""The most query atoms, helper atoms beside them, and clauses of templates, unless `connect` says otherwise."""

ATOM_BYTES = 250
"""About how much memory an atom takes at the worst moment of a prediction, its row in the database and a ground clause included."""


def check_atom_limit(limit: object) -> int:
    """Return a limit of atoms, or refuse what is none."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InputError(f"atom_limit={limit!r} must be a whole number of atoms, 1 or more.")
    return limit


def memory_of(atoms: int) -> str:
    """Return about how much memory some atoms take, in words."""
    return f"about {in_bytes(atoms * ATOM_BYTES)}"


def greater_limit(atoms: int) -> str:
    """Return the words for the way out that makes as many atoms nevertheless."""
    return f"or open the database with atom_limit={atoms}"


def check_scope(predicate: str, rows: int, limit: int) -> None:
    """Refuse a scope of too many rows before it is read."""
    if rows > limit:
        raise CatalogError(
            f"the scope of {predicate} has {counted(rows, 'row')}, and each distinct one is a query atom ({memory_of(rows)}), more than the "
            f"limit of {limit:,} atoms: narrow it, load fewer examples, {greater_limit(rows)}."
        )


def check_atoms(sizes: Mapping[str, int], limit: int) -> None:
    """Refuse more query atoms than the limit; `sizes` are those of each open predicate."""
    total = sum(sizes.values())
    if total <= limit:
        return
    order = sorted(sizes, key=lambda name: (-sizes[name], name))
    each = f" ({', '.join(f'{sizes[n]:,} of {n}' for n in order)})" if len(order) > 1 else f" of {order[0]}"
    raise CatalogError(
        f"there would be {counted(total, 'query atom')}{each}, {memory_of(total)}, more than the limit of {limit:,}: give {order[0]} a "
        f"scope, the tuples that may be true, with db.scope({order[0]!r}, ...), load fewer examples or constants, {greater_limit(total)}."
    )


def atom_counts(
    store: Store, openings: Sequence[Opening], source: ExampleSource, types: Mapping[str, TypeRecord]
) -> dict[str, int]:
    """Return how many query atoms each open predicate has at the most: what is given among them is not taken off."""
    return {opening.record.predicate: _most_atoms(store, opening, source, types) for opening in openings}


def _most_atoms(store: Store, opening: Opening, source: ExampleSource, types: Mapping[str, TypeRecord]) -> int:
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
