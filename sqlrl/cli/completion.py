"""What a shell completes beside options: predicates and runs of the database file that the command line names so far."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sqlrl.paths import expanded

_RUNS = "select run::varchar, learner || ', ' || status from sqlrl.run"


def predicates(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the predicates that may stand here; the last part of a list with commas is completed."""
    before, comma, _ = incomplete.rpartition(",")
    given = set(before.split(","))
    names = [name for (name,) in _rows(ctx, "select predicate from sqlrl.predicate order by predicate")]
    return [f"{before}{comma}{name}" for name in names if name not in given]


def runs(ctx: typer.Context) -> list[tuple[str, str]]:
    """Return the numbers of the runs, each with what it was."""
    return _rows(ctx, f"{_RUNS} order by run")


def unfinished_runs(ctx: typer.Context) -> list[tuple[str, str]]:
    """Return the numbers of the runs with which one can go on: those that did not come to their end."""
    return _rows(ctx, f"{_RUNS} where status <> 'done' order by run")


def _rows(ctx: typer.Context, query: str) -> list[Any]:
    """Return what the first database of the command line answers; nothing if there is none that can be read now."""
    for path in _paths(ctx):
        try:
            if not _is_database(path):
                continue
            from sqlrl.engine.connection import connect

            # Nothing is created, migrated or locked for a completion, and a stranger may have made the file.
            engine = connect(path, read_only=True, trusted=False)
            try:
                found = engine.rows_of(query)
            finally:
                engine.close()
        except Exception:  # noqa: BLE001 - whatever fails, a shell has nothing to complete, and no place for a message
            return []
        return [] if found is None else [tuple(row.values()) for row in found.to_pylist()]
    return []


def _paths(ctx: typer.Context) -> Iterator[Path]:
    """Yield what may be the database: arguments, the value of --db, SQLRL_DB."""
    given = [*ctx.params.values(), *_words(), os.environ.get("SQLRL_DB")]
    yield from (expanded(Path(value)) for value in given if isinstance(value, str | Path) and str(value))


def _words() -> list[str]:
    """Return the words of the line so far: an option that lacks its value ends what the parser takes apart."""
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that is open
        return line.split()


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as content:
        return content.read(12)[8:] == b"DUCK"
