"""Layouts of the database and the steps between them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from sqlglot import exp

from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column
from sqlrl.errors import MigrationError
from sqlrl.resources import resource, resource_names

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    """One step to a new layout.

    Parameters
    ----------
    layout : int
        The layout that it leads to.
    reason : str
        Why the layout changed: the comment at the head of the script.
    script : str
        SQL with unqualified names.
    """

    layout: int
    reason: str
    script: str


def read_migrations(scripts: Mapping[str, str]) -> tuple[Migration, ...]:
    r"""Read the steps from scripts by file name (`0002_short_name.sql`).

    Raises
    ------
    MigrationError
        If a script has no number, no reason, or if numbers are missing or doubled.

    Examples
    --------
    >>> read_migrations({"0002_a.sql": "-- Runs have a name.\nALTER TABLE run ADD COLUMN name VARCHAR;"})[0].reason
    'Runs have a name.'
    """
    steps = []
    for name in sorted(scripts):
        number = name.split("_", 1)[0]
        head: list[str] = []
        for line in scripts[name].splitlines():
            if not line.startswith("--"):
                break
            head.append(line.lstrip("-").strip())
        reason = " ".join(head).strip()
        if not number.isdigit() or not reason:
            raise MigrationError(
                f"migration {name} must start with its number and state its reason in a leading comment"
            )
        steps.append(Migration(int(number), reason, scripts[name]))
    if [s.layout for s in steps] != list(range(2, 2 + len(steps))):
        raise MigrationError(f"migrations must be numbered 2, 3, ... without gaps, found {sorted(scripts)}")
    return tuple(steps)


def shipped_migrations() -> tuple[Migration, ...]:
    """Return the steps that come with this version of sqlrl.

    Examples
    --------
    >>> [step.layout for step in shipped_migrations()]
    []
    """
    names = [n for n in resource_names("migrations") if n.endswith(".sql")]
    return read_migrations({n: resource("migrations", n) for n in names})


def layout_script() -> str:
    """Return the SQL that creates the current layout, with a comment on every table and column."""
    return resource("schemas", "layout.sql")


def installed_version() -> str:
    """Return the version of sqlrl, `0` where it runs without being installed.

    Examples
    --------
    >>> isinstance(installed_version(), str)
    True
    """
    try:
        return version("sqlrl")
    except PackageNotFoundError:
        return "0"


def open_layout(
    store: Store, migrations: tuple[Migration, ...] | None = None, progress: Callable[[str], None] | None = None
) -> tuple[int, int]:
    """Create the layout where there is none, or bring an older one up to date, all steps in one transaction.

    Parameters
    ----------
    store : Store
    migrations : tuple of Migration, optional
        The steps; those shipped by default.
    progress : callable, optional
        Called with the reason of each step.

    Returns
    -------
    before, after : int
        The layout found (0: none) and the layout now.

    Raises
    ------
    MigrationError
        If the file has a newer layout than this version knows, cannot be written, or a step fails (nothing has
        changed then).
    """
    steps = shipped_migrations() if migrations is None else migrations
    current = 1 + len(steps)
    found = _found(store)
    if found is None:
        if not store.engine.writable:
            raise MigrationError(f"{store.engine.path} has no tables of sqlrl and was opened for reading.")
        store.engine.run_script(layout_script() + _stamp(current), step="create the layout")
        return 0, current
    layout, written_by = found
    if layout > current:
        raise MigrationError(
            f"{store.engine.path} has layout {layout}, written by sqlrl {written_by}; sqlrl {installed_version()} reads layouts up to "
            f"{current}. Use sqlrl {written_by} or newer."
        )
    if layout == current:
        return layout, current
    if not store.engine.writable:
        raise MigrationError(
            f"{store.engine.path} has layout {layout} and needs layout {current}, but was opened for reading: open it once for writing."
        )
    todo = [step for step in steps if step.layout > layout]
    for step in todo:
        logger.info("%s: migrating to layout %d: %s", store.engine.path, step.layout, step.reason)
        if progress is not None:
            progress(step.reason)
    script = "\n".join(step.script.rstrip().rstrip(";") + ";" for step in todo)
    store.engine.run_script(f"{script}\n{_stamp(current)}", step=f"migrate from layout {layout} to {current}")
    return layout, current


def _stamp(layout: int) -> str:
    """Return the statements that record the layout."""
    values = exp.Values(expressions=[exp.Tuple(expressions=[exp.convert(layout), exp.convert(installed_version())])])
    target = exp.Schema(
        this=exp.table_("layout"), expressions=[exp.to_identifier("version"), exp.to_identifier("sqlrl")]
    )
    return f"\nDELETE FROM layout;\n{exp.Insert(this=target, expression=values).sql(dialect='duckdb')};\n"


def _found(store: Store) -> tuple[int, str] | None:
    """Return the layout of the database and the version that wrote it, None if it is not one of ours."""
    tables = exp.select(column("table_name")).from_(exp.table_("tables", db="information_schema"))
    home = exp.and_(
        column("table_catalog").eq(store.catalog),
        column("table_schema").eq(store.schema),
        column("table_name").eq("layout"),
    )
    if not store.rows(tables.where(home), "look for the layout"):
        return None
    row = store.rows(exp.select("version", "sqlrl").from_(store.table("layout")), "read the layout")
    if len(row) != 1:
        raise MigrationError(
            f"{store.engine.path}: the table layout must have one row and has {len(row)}: the file is damaged."
        )
    return int(row[0]["version"]), str(row[0]["sqlrl"])
