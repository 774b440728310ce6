"""Opening sqlrl's tables: their layout and the steps between layouts; of a file that can only be read, copies in memory of what a binding changes."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version

from sqlglot import exp

from sqlrl.catalog.store import Store
from sqlrl.catalog.views import comment_tables, rename_views
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import MigrationError
from sqlrl.resources import resource, resource_names

KEPT = frozenset(
    {
        "model", "shape", "clause", "run", "clause_statistics", "weight_history", "step", "diagnosis", "diagnosis_grounding", "rule_diagnosis", "prediction", "truth_value", "rule_distance",
        "optimum", "named_model", "outcome", "support", "overlap", "leak", "audit_atom", "audit_fold", "audit_baseline",
    }
)  # fmt: skip
"""Tables that outlive the connection: a copy of them in memory would be lost without a word."""

_numbers = itertools.count(1)

logger = logging.getLogger(__name__)


# ---- files opened for reading ------------------------------------------------------------------------


class ReadingStore(Store):
    """Tables of a read-only file, each copied to scratch memory when its rows first change, so that any model can be bound to it."""

    def __init__(self, engine: DuckDBEngine) -> None:
        super().__init__(engine)
        # Two connections to one file share the scratch memory, so each has a schema of its own.
        self._memory = (engine.scratch[0], f"bound_{next(_numbers)}")
        self._copied: frozenset[str] = frozenset()
        self._dropped: frozenset[str] = frozenset()

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Write to memory in a transaction; after an error every name stands for what it stood for before."""
        before = self._copied, self._dropped
        try:
            with self._transaction():
                yield
        except BaseException:
            self._copied, self._dropped = before
            raise

    def _check(self) -> None:
        """Read the records once: the file does not change, and what was bound since is known here alone."""
        if self._text is None:
            super()._check()

    def _write(self) -> None:
        """Keep records that changed in memory."""
        self._held = self._image.copy()

    def _undo(self) -> None:
        """Go back to the records of before."""
        self._image = self._held.copy()

    def forget(self) -> None:
        """Keep the records: SQL cannot change them."""

    def close(self) -> None:
        """Drop the copies, whose memory may be that of other connections."""
        catalog, name = (exp.to_identifier(part, quoted=True) for part in self._memory)
        drop = exp.Drop(tables=[exp.Table(db=name, catalog=catalog)], kind="SCHEMA", exists=True, cascade=True)
        self.engine.execute(drop, step="drop tables in memory")

    def home(self, table: str) -> tuple[str, str]:
        """Return where a table stands: in memory if it was changed, else in the file."""
        return self._memory if table in self._copied else super().home(table)

    def replacing(self, table: str) -> None:
        """Let a name stand for a table in memory; one that holds what is to be kept is refused."""
        if table in KEPT:
            self.check_writable()
        if not self._copied:
            catalog, name = (exp.to_identifier(part, quoted=True) for part in self._memory)
            schema = exp.Table(db=name, catalog=catalog)
            self.engine.execute(exp.Create(this=schema, kind="SCHEMA", exists=True), step="keep tables in memory")
        self._copied |= {table}
        self._dropped -= {table}

    def changing(self, table: str) -> None:
        """Copy a table of the file to memory before its first change; one that holds what is to be kept is refused."""
        if table in self._copied:
            return
        rows = exp.select("*").from_(self.table(table))
        # Created from a definition: a table that starts as an empty query result loses joins later (DuckDB 2.0).
        empty = self.engine.fetch(rows.limit(0), step=f"describe {table}")
        self.replacing(table)
        self.engine.create_table(self.name(table), empty, step=f"copy {table}")
        self.engine.execute(exp.Insert(this=self.table(table), expression=rows), step=f"copy {table}")

    def drop(self, table: str | None) -> None:
        """Drop a table in memory; one of the file is forgotten."""
        if table in self._copied:
            super().drop(table)
        self._forget(table)

    def drop_view(self, view: str | None) -> None:
        """Drop a view in memory; one of the file is forgotten."""
        if view in self._copied:
            super().drop_view(view)
        self._forget(view)

    def table_names(self) -> set[str]:
        """Return the names of the tables and views as they are seen."""
        return (super().table_names() - self._dropped) | self._copied

    def _forget(self, table: str | None) -> None:
        if table is not None:
            self._copied -= {table}
            self._dropped |= {table}


def open_store(engine: DuckDBEngine) -> Store:
    """Return the store of a database, which writes to the database if that is allowed."""
    return Store(engine, comment_tables) if engine.writable else ReadingStore(engine)


# ---- layouts -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Migration:
    """One step to a new layout."""

    layout: int  # The layout that it leads to.
    reason: str  # Why it changed: the comment at the head of the script.
    script: str  # SQL with unqualified names.


def read_migrations(scripts: Mapping[str, str]) -> tuple[Migration, ...]:
    r"""Read the steps from scripts by file name (`0002_short_name.sql`)."""
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


@cache
def shipped_migrations() -> tuple[Migration, ...]:
    """Return the steps that come with this version of sqlrl."""
    names = [n for n in resource_names("migrations") if n.endswith(".sql")]
    return read_migrations({n: resource("migrations", n) for n in names})


@cache
def layout_script() -> str:
    """Return the SQL that creates the current layout, with a comment on every table and column."""
    return resource("schemas", "layout.sql")


COMMENT = re.compile(r"^COMMENT ON .*?;\n", re.MULTILINE)
"""A comment in the script of the layout."""

_VIEW = re.compile(r'^CREATE VIEW (?!"audit_seen").*?;\n', re.MULTILINE | re.DOTALL)
"""A view that only users read; audits read `audit_seen` themselves."""


@cache
def _parted(script: str) -> tuple[str, str, str]:
    """Return the tables of a layout, its views and its comments; the latter two are most of what it takes, and can run again."""
    bare = COMMENT.sub("", script)
    views = "".join(_VIEW.findall(bare)).replace("CREATE VIEW", "CREATE OR REPLACE VIEW")
    return _VIEW.sub("", bare), views, "".join(COMMENT.findall(script))


def _view(engine: DuckDBEngine, *, views: str) -> None:
    """Make the views of a layout."""
    engine.run_script(views, step="create the views of the layout")


def _comment(engine: DuckDBEngine, *, comments: str, tables: Collection[str]) -> None:
    """Comment on a layout and on the tables that were made before."""
    engine.run_script(comments, step="comment on the layout")
    comment_tables(Store(engine), tables)


@cache
def installed_version() -> str:
    """Return the version of sqlrl, `0` where it runs without being installed."""
    try:
        return version("sqlrl")
    except PackageNotFoundError:
        return "0"


def open_layout(
    store: Store,
    migrations: tuple[Migration, ...] | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[int, int]:
    """Create or migrate the layout in one transaction; return the layout found (0: none) and the one now, or raise MigrationError."""
    steps = shipped_migrations() if migrations is None else migrations
    current = 1 + len(steps)
    found = _found(store)
    if found is None:
        if not store.engine.writable:
            raise MigrationError(f"{store.engine.path} has no tables of sqlrl and was opened for reading.")
        script, views, comments = _parted(layout_script())
        unseen = store.engine.unseen
        # Views and comments take most of the time; in memory they are made once somebody can see them (`DuckDBEngine.show`).
        if unseen is None:
            script += views + comments
        else:
            store.engine.on_seen = [partial(_view, views=views), partial(_comment, comments=comments, tables=unseen)]
        store.engine.run_script(script + _stamp(current), step="create the layout")
        store.forget()
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
    store.forget()
    if migrations is None:
        # Steps of a caller's own lead to a layout of the caller's own.
        with store.writing():
            rename_views(store)
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
    if "layout" not in store.table_names():
        return None
    row = store.rows(exp.select("version", "sqlrl").from_(store.table("layout")), "read the layout")
    if len(row) != 1:
        raise MigrationError(
            f"{store.engine.path}: the table layout must have one row and has {len(row)}: the file is damaged."
        )
    return int(row[0]["version"]), str(row[0]["sqlrl"])
