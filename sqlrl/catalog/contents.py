"""What the data are, whatever loaded them: a run goes on where it was if a script that is started again loads the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict

from sqlglot import exp

from sqlrl.catalog.fingerprints import MARK, can_check_unmarked, is_marked, rows_hash, unmarked_hash
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import named, union_all

_LOADING = ("source", "fingerprint", "readable", "rows", "scope")
"""What a predicate's record says of how its rows came to be."""


def contents_fingerprint(store: Store) -> str:
    """Return a hash of the facts, query atoms, examples and constants of a database, in one query.

    Returns
    -------
    str
        Equal for equal contents, whatever order rows stand in; it begins with the mark of `sqlrl.catalog.fingerprints`.

    Examples
    --------
    >>> from sqlrl.catalog.catalog import Catalog
    >>> from sqlrl.engine.connecting import connect
    >>> catalog, found = Catalog(connect(":memory:")), []
    >>> for facts in ([("Anna",)], [("Anna",)], [("Anna",), ("Bob",)]):
    ...     catalog.load("Smokes", facts, types=["person"])
    ...     found.append(contents_fingerprint(catalog.store))
    >>> found[0] == found[1], found[1] == found[2]
    (True, False)
    """
    return f"{MARK}:{_hashed(store, rows_hash)}"


def same_contents(store: Store, fingerprint: str) -> bool | None:
    """Return True if the contents of a database are those of a fingerprint, None if this DuckDB cannot tell any more.

    Parameters
    ----------
    store : Store
    fingerprint : str
        That of an earlier version of sqlrl may have no mark.
    """
    if is_marked(fingerprint):
        return fingerprint == contents_fingerprint(store)
    if _hashed(store, unmarked_hash) == fingerprint:
        return True
    return False if can_check_unmarked(store.engine) else None


def _hashed(store: Store, rows_hash: Callable[[exp.Expr], exp.Select]) -> str:
    """Return a hash of the contents of a database that rests on a hash of rows, in 12 hexadecimal digits."""
    predicates, types, sources = store.predicates(), store.types(), store.sources()
    tables = {("example", ""): "example"}
    tables |= {("constants", name): record.dictionary for name, record in types.items()}
    tables |= {("facts", name): record.facts for name, record in predicates.items() if record.facts}
    tables |= {("atoms", name): record.atoms for name, record in predicates.items() if record.atoms}
    # Facts of one role are where they were loaded to.
    tables |= {(role, name): x.storage for (name, role), x in sources.items() if x.storage != predicates[name].facts}
    queries = [
        rows_hash(store.table(table)).select(named(exp.convert(kind), "kind"), named(exp.convert(name), "name"))
        for (kind, name), table in tables.items()
    ]
    rows = store.rows(union_all(queries), "fingerprint the data")
    said = sorted(f"{row['kind']} {row['name']} {row['n']} {row['h']}" for row in rows)
    for record in predicates.values():
        kept = {name: value for name, value in asdict(record).items() if name not in (*_LOADING, "facts", "atoms")}
        said.append(repr(sorted(kept.items())))
    said += [repr((x.type, x.local, x.choice, x.declared, x.numeric)) for x in types.values()]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]
