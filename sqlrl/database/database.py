"""The database: where data are loaded, models are held against them, and results come back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.fitting import warn_alike, warn_empty
from sqlrl.database.constraints import Constraints
from sqlrl.database.counting import Counting
from sqlrl.database.definitions import follow
from sqlrl.database.exporting import Exports
from sqlrl.database.inducing import Inducing
from sqlrl.database.models import check_limit_option, check_model
from sqlrl.database.predicting import Predicting
from sqlrl.database.training import TrainingStream
from sqlrl.engine.connecting import connect as connect_engine
from sqlrl.errors import EngineError, brief
from sqlrl.ground.counts import GROUNDING_LIMIT, check_counts
from sqlrl.learn.protocols import TrainingRecord
from sqlrl.logic.model import Model
from sqlrl.plan.sources import OBSERVED
from sqlrl.report import console_for

if TYPE_CHECKING:
    import duckdb

    from sqlrl.logic.modes import Modes


def connect(
    target: str | Path | duckdb.DuckDBPyConnection = ":memory:",
    *,
    threads: int | None = None,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    read_only: bool = False,
    progress: bool | None = None,
) -> Database:
    """Open a database file, memory, or your own DuckDB connection.

    Parameters
    ----------
    target : path, ":memory:" or duckdb.DuckDBPyConnection
        On your own connection nothing is written but a database in memory named `sqlrl`; `sqlrl_`, if you have a schema or
        database of that name, and printing the database says so.
    threads : int, optional
    memory_limit : str, optional
        Such as "4GB"; what exceeds it spills to `temp_directory`.
    temp_directory : path, optional
    read_only : bool
    progress : bool, optional
        Draw progress on standard error for anything that takes longer than a second; by default if that is a terminal.

    Returns
    -------
    Database

    Raises
    ------
    BusyError
        Another process holds the file.
    MigrationError
        The file was written by a newer version of sqlrl.
    InputError
        The file is damaged, a setting is wrong, or your connection has an open transaction or a default collation.

    Examples
    --------
    >>> db = connect()
    >>> db.load("Smokes", [("Anna",), ("Bob",)], types=["person"])
    >>> db.sql("select predicate, rows from sqlrl.predicate").fetchall()
    [('Smokes', 2)]
    """
    engine = connect_engine(
        target, threads=threads, memory_limit=memory_limit, temp_directory=temp_directory, read_only=read_only
    )
    shown = sys.stderr.isatty() if progress is None else progress
    try:
        catalog = Catalog(engine, follow)
    except BaseException:
        # The file stays locked, and in DuckDB's memory, until it is closed: a copy could not be restored.
        engine.close()
        raise
    return Database(catalog, console_for(quiet=not shown))


class Database(Exports, Counting, Predicting, Constraints, Inducing):
    """Data, models and results in one DuckDB database. Use `connect` to open one.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.

    Examples
    --------
    >>> db = connect()
    >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    >>> db
    Database(':memory:')
    predicates
    predicate                open   facts  example  source
    -----------------------  -----  -----  -------  ----------
    Friends(person, person)  false      2  NULL     the tuples
    """

    # ---- learning ---------------------------------------------------------------------------------------

    @contextmanager
    def training_windows(
        self,
        model: Model,
        *,
        examples: Any = None,
        size: int | None = None,
        order: str = "file",
        seed: int = 0,
        passes: int = 1,
        limit: int | None = GROUNDING_LIMIT,
        modes: Modes | None = None,
    ) -> Iterator[TrainingStream]:
        """Show the training examples as a stream of grounded windows while the context is open.

        `sqlrl.learn.protocols.Ordering` says what the parameters mean; with `modes` the windows have what path finding
        needs. A run that an error or Ctrl-C ends is kept with that status.
        """
        check_model(model)
        check_limit_option(limit)
        self.catalog.store.check_writable()
        # A path may start at a target that no rule of the model mentions yet.
        labelled = {name for name, role in self.catalog.store.sources() if role == "label"}
        labelled &= set(model.predicates)
        targets = [name for name in modes.in_paths() if name in labelled] if modes else []
        if modes and not targets and not model.rules:
            # What the modes lack is said where they are checked against the targets.
            targets = sorted(labelled)
        with (
            self.catalog.store.verb(),
            self.program(model, training=True, query=targets, growing=modes is not None) as program,
        ):
            ids = self.example_ids(examples)
            with program.only(ids) as chosen:
                # At the end of a run all clauses are counted: what cannot be is refused before the first step.
                check_counts(program, [OBSERVED], chosen, limit=limit)
                warn_empty(program.engine, program.public_layout, chosen)
                warn_alike(program.engine, program.public_layout, chosen)
            random = np.random.default_rng(seed)
            orders = [random.permutation(ids) if order == "shuffle" else ids for _ in range(passes)]
            if modes is None:
                stream = TrainingStream(program, self.records, self.console, orders, size=size, limit=limit)
            else:
                from sqlrl.database.growing import GrowingStream

                stream = GrowingStream(program, self.records, self.console, orders, size=size, limit=limit, modes=modes)
            try:
                with stream.drawing:
                    yield stream
            except BaseException as error:
                stream.explain(error)
                try:
                    stream.stop("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
                except EngineError as refusal:
                    # A full disk takes neither; what stopped the run is the news.
                    error.add_note(f"the end of the run could not be recorded: {brief(refusal.reason)}")
                raise

    def learned_model(self, program: Any, weights: npt.NDArray[np.float64], record: TrainingRecord) -> Model:
        """Make the model with learned weights and keep the run in the database (called by learners)."""
        stream: TrainingStream = program
        return stream.model(weights, record)

    def program_clauses(self, program: Any, weights: npt.NDArray[np.float64], support: pa.Table) -> pa.Table:
        """Return the clauses of a learned model, the strongest first (called by learners)."""
        stream: TrainingStream = program
        return stream.clauses(weights, support)
