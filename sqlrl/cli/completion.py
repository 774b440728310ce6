"""What a shell completes beside options: names of predicates, from the database file that the command line names so far."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlrl.paths import expanded


def predicates(context: Any, args: Sequence[str], incomplete: str) -> list[str]:
    """Return the predicates that may stand here; the last part of a list with commas is completed."""
    before, comma, _ = incomplete.rpartition(",")
    given = set(before.split(","))
    return [f"{before}{comma}{name}" for name in _names(context, args) if name not in given]


def _names(context: Any, args: Sequence[str]) -> list[str]:
    """Return the predicates of the first database of the command line; none if there is none that can be read now."""
    for path in _paths(context, args):
        try:
            if not _is_database(path):
                continue
            import duckdb

            # Nothing is created, migrated or locked for a completion.
            with duckdb.connect(path, read_only=True) as connection:
                rows = connection.execute("select predicate from sqlrl.predicate order by predicate").fetchall()
        except Exception:  # noqa: BLE001 - whatever fails, a shell has nothing to complete, and no place for a message
            return []
        return [str(name) for (name,) in rows]
    return []


def _paths(context: Any, args: Sequence[str]) -> Iterator[Path]:
    """Yield what may be the database: arguments, the value of --db, SQLRL_DB."""
    given = [*context.params.values(), *args, os.environ.get("SQLRL_DB")]
    yield from (expanded(Path(value)) for value in given if isinstance(value, str | Path) and str(value))


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as content:
        return content.read(12)[8:] == b"DUCK"
