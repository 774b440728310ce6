"""What the experiments share: options, jobs in processes of their own, and where results go.

A script describes its jobs, hands them to `run_jobs`, and gives the rows of its table to `publish`, which prints them
with the paper's row among them, writes them as JSON and keeps them in a DuckDB file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Generic, TypeVar

import duckdb
import pyarrow as pa
from journal import Journal, Kept
from sqlglot import exp

from sqlrl.report import Console, Table, console_for, track
from sqlrl.wording import counted

Row = Mapping[str, object]
Result = TypeVar("Result")

_LIBRARIES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")


WHOLE = 100_000
"""Characters in a line of a file, which has no width: nothing is cut short."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says.

    Parameters
    ----------
    data : Path
        The folder of the real data.
    seed : int
        Seed of everything random.
    quick : bool
        True for a slice that takes less than a minute.
    db : Path or None
        DuckDB file in which results and parameters are kept.
    json : str or None
        File for the printed table as a list of rows; `-` is standard output.
    quiet : bool
        True for neither progress nor messages.
    fold : str or None
        The only fold to run; None for all.
    plot : Path or None
        File for a chart.
    processes : int
        How many jobs run at the same time.
    chosen : dict of str to str
        What further options say, by name; those not given are absent.
    more : frozenset of str
        The further options without a value that are given.
    numbers : dict of str to int
        What further options with a number say, by name.
    files : dict of str to Path
        What further options with a file say, by name; those not given are absent.
    """

    data: Path
    seed: int = 0
    quick: bool = False
    db: Path | None = None
    json: str | None = None
    quiet: bool = False
    fold: str | None = None
    plot: Path | None = None
    processes: int = 1
    chosen: Mapping[str, str] = field(default_factory=dict)
    more: frozenset[str] = frozenset()
    numbers: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)

    def console(self) -> Console:
        """Return the console for progress and messages."""
        return console_for(quiet=self.quiet)

    @property
    def journal(self) -> Path | None:
        """The file beside `db` that keeps jobs until the table is published; None without `db`."""
        return None if self.db is None else self.db.with_name(self.db.name + ".jobs")


def read_options(
    description: str,
    arguments: Sequence[str] | None = None,
    *,
    needs: str | Sequence[str] | None = (),
    folds: Sequence[str] = (),
    plots: bool = False,
    choices: Mapping[str, Sequence[str]] | None = None,
    more: Mapping[str, str] | None = None,
    numbers: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Options:
    """Read the options of a script; wrong ones end it with a message and status 2.

    Parameters
    ----------
    description : str
        What the script does, for `--help`.
    arguments : sequence of str, optional
        The command line by default.
    needs : str, sequence of str or None
        Folders below the data folder that must exist; None for a script that reads no data, which has no `--data` then.
    folds : sequence of str
        The names of the folds, for `--fold`; by default there is no such option.
    plots : bool
        Whether there is `--plot`.
    choices : mapping of str to sequence of str, optional
        Further options by name, each with the values of which it takes one: the only one to run. There is `--processes` then, too.
    more : mapping of str to str, optional
        Further options without a value by name, each with what it does.
    numbers : mapping of str to str, optional
        Further options with a number of at least 1 by name, each with what it does; the number is 1 where it is not given.
    files : mapping of str to str, optional
        Further options with a file by name, each with what it is.

    Returns
    -------
    Options
    """
    parser = argparse.ArgumentParser(description=description)
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    default = os.environ.get("SQLRL_DATA") or (str(beside) if beside.is_dir() else None)
    if needs is None:
        parser.set_defaults(data="")
    else:
        parser.add_argument("--data", metavar="DIR", default=default, help="folder of the real data (or SQLRL_DATA)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")
    parser.add_argument("--quick", action="store_true", help="a slice, in less than a minute")
    parser.add_argument("--db", type=Path, metavar="FILE", help="DuckDB file that keeps results and parameters")
    parser.add_argument("--json", metavar="FILE", help="write the table as JSON; - is standard output")
    parser.add_argument("--quiet", action="store_true", help="no progress, no messages")
    parser.set_defaults(fold=None, plot=None)
    if folds:
        parser.add_argument("--fold", choices=list(folds), help="the only fold to run: its examples are tested on")
    if plots:
        parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a chart into this file")
    for name, values in (choices or {}).items():
        parser.add_argument(f"--{name}", choices=list(values), help=f"the only {name} to run")
    for name, what in (more or {}).items():
        parser.add_argument(f"--{name}", action="store_true", help=what, dest=name)
    for name, what in (numbers or {}).items():
        parser.add_argument(f"--{name}", type=int, metavar="N", default=1, help=f"{what} (default 1)")
    for name, what in (files or {}).items():
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    if choices:
        parser.add_argument("--processes", type=int, metavar="N", default=1, help="jobs at the same time (default 1)")
    given = parser.parse_args(arguments)
    if given.data is None:
        parser.error("where are the data? Give --data DIR or set SQLRL_DATA")
    for folder in (needs,) if isinstance(needs, str) else () if needs is None else needs or ("",):
        if not (Path(given.data) / folder).is_dir():
            parser.error(f"there is no folder {Path(given.data) / folder}: give --data DIR or set SQLRL_DATA")
    found = {name: getattr(given, name) for name in choices or {} if getattr(given, name) is not None}
    counts = {name: int(getattr(given, name)) for name in (*(numbers or ()), *(("processes",) if choices else ()))}
    for name, count in counts.items():
        if count < 1:
            parser.error(f"--{name} must be 1 or more, not {count}")
    processes = counts.pop("processes", 1)
    return Options(
        Path(given.data), given.seed, given.quick, given.db, given.json, given.quiet, given.fold, given.plot,
        processes, found, frozenset(name for name in more or {} if getattr(given, name)), counts,
        {name: getattr(given, name) for name in files or {} if getattr(given, name) is not None},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured(Generic[Result]):
    """What a job returned, and what it took.

    Parameters
    ----------
    value : object
    seconds : float
        Wall-clock time, without the start of the process.
    memory_mb : float
        Peak resident memory of the process in MiB, libraries included.
    warnings : tuple of str
        Distinct, in order.
    """

    value: Result
    seconds: float
    memory_mb: float
    warnings: tuple[str, ...] = ()


def run_jobs(
    function: Callable[..., Result],
    jobs: Sequence[tuple[object, ...]],
    console: Console,
    description: str,
    processes: int = 1,
    *,
    journal: Path | Kept | None = None,
) -> list[Measured[Result]]:
    """Call a function once for each job, each in a process of its own, by default one after the other.

    A fresh process makes the peak memory that of one job, and keeps what one job compiled or cached from speeding up
    the next. It has one thread for linear algebra, unless `OPENBLAS_NUM_THREADS` says otherwise. Warnings are shown once each.

    Parameters
    ----------
    function : callable
        Defined at the top of a module, so that another process finds it.
    jobs : sequence of tuple
        Its arguments.
    console : Console
    description : str
        What the progress bar says.
    processes : int
        How many jobs run at the same time; times are those of a busy machine then.
    journal : Path or Kept, optional
        Where each job is kept as soon as it is done, a file of a `Journal` or another place. Jobs that are there already, from a run
        that was stopped, are not run again.

    Returns
    -------
    list of Measured
        In the order of the jobs.
    """
    # Matrices are small, and threads that wait for each other on a busy machine cost more than all the rest.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    kept = Journal(journal, versions()) if isinstance(journal, Path) else journal
    keys = ["" if kept is None else kept.key(function, job) for job in jobs]
    done: list[Measured[Result] | None] = [None if kept is None else kept.get(key) for key in keys]
    before = sum(x is not None for x in done)
    if before:
        again = "; remove the file to run them again" if isinstance(journal, Path) else ""
        console.message(f"{before} of {counted(len(jobs), 'job')} taken from {journal}{again}")
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        waiting: list[tuple[int, Future[Measured[Result]]]] = []
        for i, job in enumerate(jobs):
            if done[i] is None:
                future = pool.submit(measure, function, *job)
                future.add_done_callback(_keeper(kept, keys[i]))
                waiting.append((i, future))
        try:
            for i, future in track(console, waiting, description):
                done[i] = future.result()
        except BaseException:
            # Else the other jobs would all be run before the error is seen.
            pool.shutdown(wait=True, cancel_futures=True)
            if kept is not None:
                number = before + sum(x.done() and not x.cancelled() and x.exception() is None for _, x in waiting)
                console.message(f"{number} of {counted(len(jobs), 'job')} kept in {journal}: the same command goes on")
            raise
    results = [x for x in done if x is not None]
    for text in dict.fromkeys(w for result in results for w in result.warnings):
        console.warning(text)
    return results


def _keeper(kept: Kept | None, key: str) -> Callable[[Future[Measured[Result]]], None]:
    """Return what keeps the result of a job when it has one."""

    def keep_result(future: Future[Measured[Result]]) -> None:
        """Called when the job has ended in any way."""
        if kept is not None and not future.cancelled() and future.exception() is None:
            kept.add(key, future.result())

    return keep_result


def measure(function: Callable[..., Result], *arguments: object) -> Measured[Result]:
    """Call a function and measure it; the peak memory is that of the whole process so far."""
    # The library's progress would be drawn over the bar of all jobs.
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        redirect_stderr(nowhere),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        start = time.perf_counter()
        value = function(*arguments)
        seconds = time.perf_counter() - start
    texts = tuple(dict.fromkeys(str(w.message) for w in caught))
    return Measured(value, seconds, peak_memory_mb(), texts)


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process in MiB.

    Linux lets `ru_maxrss` of a new program start at the peak of the process that started it, so `VmHWM`, which starts
    anew with each program, is read where it exists.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024**2 if sys.platform == "darwin" else peak / 1024


def publish(
    name: str,
    rows: Sequence[Row],
    options: Options,
    *,
    title: str = "",
    parameters: Mapping[str, object] | None = None,
    details: Sequence[Row] = (),
) -> None:
    """Write the table of an experiment as JSON, keep it with its parameters, and print it.

    Parameters
    ----------
    name : str
        The name of the script, in snake case.
    rows : sequence of mapping
        The table; the paper's row is one of them. A value that is missing is None.
    options : Options
    title : str
    parameters : mapping, optional
        What was run; values that JSON can hold.
    details : sequence of mapping
        Single runs behind the table, kept in the database alone.
    """
    table = to_table(rows)
    text = json.dumps([dict(row) for row in rows], indent=2, ensure_ascii=False) + "\n"
    # Files come first: what is printed may go to a pipe that is closed.
    if options.json not in (None, "-"):
        Path(options.json).write_text(text, encoding="utf-8")
    if options.db is not None:
        tables = {name: table} | ({f"{name}_runs": to_table(details)} if details else {})
        run = {"seed": options.seed, "quick": options.quick, **(parameters or {})}
        keep(options.db, name, run, tables)
        options.console().message(f"kept in {options.db}: " + ", ".join(f"experiment.{t}" for t in tables))
    out = sys.stderr if options.json == "-" else sys.stdout
    print(Table(table, title=title, limit=len(rows)).to_text(None if out.isatty() else WHOLE), file=out)
    if options.json == "-":
        sys.stdout.write(text)
    if options.journal is not None:
        options.journal.unlink(missing_ok=True)


def to_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as an Arrow table; a column that a row lacks is NULL there."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: [row.get(name) for row in rows] for name in columns})


def keep(path: Path, script: str, parameters: Mapping[str, object], tables: Mapping[str, pa.Table]) -> int:
    """Append tables to a DuckDB file, each row with the number of this run.

    The run itself is a row of `experiment.run` (run, script, parameters, versions, started). A table that gained a
    column since an earlier run gets it, with NULL in the old rows.

    Parameters
    ----------
    path : Path
    script : str
    parameters : mapping
        Values that JSON can hold.
    tables : mapping of str to pyarrow.Table

    Returns
    -------
    int
        The number of the run, from 1.
    """
    with duckdb.connect(str(path)) as connection:
        connection.begin()
        connection.execute("CREATE SCHEMA IF NOT EXISTS experiment")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS experiment.run"
            " (run INTEGER PRIMARY KEY, script VARCHAR, parameters JSON, versions JSON, started TIMESTAMPTZ)"
        )
        row = connection.execute("SELECT coalesce(max(run), 0) + 1 FROM experiment.run").fetchone()
        assert row is not None
        run = int(row[0])
        connection.execute(
            "INSERT INTO experiment.run VALUES (?, ?, ?, ?, ?)",
            [run, script, json.dumps(parameters), json.dumps(versions()), datetime.now(UTC)],
        )
        for name, table in tables.items():
            _append(connection, name, table.add_column(0, "run", pa.array([run] * len(table), pa.int32())))
        connection.commit()
    return run


def _append(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Append a table to one of that name, created or widened as needed."""
    # A column of nothing but NULL has no type yet: it comes with the first run that has a value.
    table = table.select([f.name for f in table.schema if not pa.types.is_null(f.type)])
    target = exp.table_(name, db="experiment", quoted=True)
    columns = [exp.column(c, quoted=True) for c in table.column_names]
    connection.register("new_rows", table)
    query = exp.select(*columns).from_("new_rows")
    create = exp.Create(this=target.copy(), kind="TABLE", exists=True, expression=query.limit(0))
    connection.execute(create.sql("duckdb"))
    for column, kind in zip(table.column_names, connection.table("new_rows").types, strict=True):
        definition = exp.ColumnDef(
            this=exp.to_identifier(column, quoted=True), kind=exp.DataType.build(str(kind), "duckdb")
        )
        connection.execute(f"ALTER TABLE {target.sql('duckdb')} ADD COLUMN IF NOT EXISTS {definition.sql('duckdb')}")
    insert = exp.insert(query, target, columns=[c.this.copy() for c in columns])
    connection.execute(insert.sql("duckdb"))
    connection.unregister("new_rows")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that decide a result."""
    found = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found
