"""The database: where data are loaded, models are held against them, and results come back."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.constants import atoms_of
from sqlrl.catalog.layout import Layout
from sqlrl.catalog.sources import open_source
from sqlrl.data import Data
from sqlrl.engine.connecting import connect as connect_engine
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError, InputError
from sqlrl.evaluate import Scores
from sqlrl.explaining import Explanation, explain
from sqlrl.ground import counts
from sqlrl.ground.assemble import ground_network
from sqlrl.ground.atoms import read_atoms
from sqlrl.ground.binding import bind_program
from sqlrl.ground.clauses import clause_table
from sqlrl.ground.expanding import unseen
from sqlrl.ground.naming import describer
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.learn.protocols import TrainingRecord
from sqlrl.logic.model import Model
from sqlrl.plan.sql import table
from sqlrl.plan.worlds import OBSERVED, World
from sqlrl.prediction import Prediction
from sqlrl.report import Table, console_for
from sqlrl.training import TrainingStream

if TYPE_CHECKING:
    import duckdb

    from sqlrl.solve.mpe import Method

GROUNDING_LIMIT = 200_000_000
"""The most ground clauses of one shape that a network may have, unless the caller says otherwise (about 8 GB)."""


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
        On your own connection nothing is written but a database in memory named `sqlrl`.
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
        The file is damaged or a setting is wrong.

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
    return Database(Catalog(engine), console_for(quiet=not shown))


class Database(Data):
    """Data, models and results in one DuckDB database. Use `connect` to open one.

    Parameters
    ----------
    catalog : Catalog
    """

    # ---- models -----------------------------------------------------------------------------------------

    @contextmanager
    def program(
        self, model: Model, *, training: bool = False, drop: Iterable[str] = (), query: Iterable[str] = ()
    ) -> Iterator[Program]:
        """Hold a model against the data while the context is open; its scratch tables go when it closes."""
        layout = self.bind(model, training=training, drop=drop, query=query)
        program = bind_program(self.engine, layout, _without(model, drop))
        try:
            yield program
        finally:
            program.close()

    def bind(
        self, model: Model, *, training: bool = False, drop: Iterable[str] = (), query: Iterable[str] = ()
    ) -> Layout:
        """Check that model and data fit, and build the tables of query atoms.

        Raises
        ------
        CatalogError
            With everything that does not fit; also if no predicate is open.
        """
        layout = self.catalog.bind(_without(model, drop), training=training, drop=drop, query=query)
        if not any(p.open for p in layout.predicates.values()):
            raise CatalogError(
                "no predicate is open, so there is nothing to predict: load the labels of one with target=True, "
                "or name it when the model is read: read_mln(path, query=[...])"
            )
        return layout

    def model(self, number: int | None = None) -> Model:
        """Return a model that a learner or `predict(keep=True)` kept; the newest one if no number is given."""
        return self.records.model(number)

    def ground(
        self,
        model: Model,
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Network:
        """Ground a model: one SQL query for each shape of clause.

        Parameters
        ----------
        model : Model
        examples : list of names, query, relation or frame, optional
        limit : int or None
            The most ground clauses of one shape.
        drop : iterable of str
            Predicates that may lack data; rules that mention them are left out.
        query : iterable of str
            Predicates to predict, beside those of the model and the data.

        Raises
        ------
        GroundingLimitError
            Names the shape and the estimate.
        """
        with self.program(model, drop=drop, query=query) as program, self.only(examples) as chosen:
            program.expand(chosen)
            return ground_network(program, chosen, limit=limit)

    def explain(self, model: Model, *, drop: Iterable[str] = (), query: Iterable[str] = ()) -> list[Explanation]:
        """Return, for each shape of clause, its SQL, DuckDB's plan and the estimated number of ground clauses."""
        with self.program(model, drop=drop, query=query) as program:
            return list(explain(program))

    def count(
        self,
        model: Model,
        *,
        world: str = "observed",
        examples: Any = None,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Table:
        """Count the true groundings of every clause in a world, exactly and without enumerating them where that can be avoided.

        Parameters
        ----------
        model : Model
        world : str
            "observed" (the labels), or a table or query with a column `atom`: the ids of the true query atoms.

        Returns
        -------
        Table
            Columns `clause`, `text`, `n`, `groundings`, `weight`.
        """
        with self.program(model, drop=drop, query=query) as program, self.only(examples) as chosen:
            program.expand(chosen)
            with self._world(program, world) as shown:
                n = counts.true_counts(program, shown, chosen)
            total = counts.groundings(program, chosen)
            listed = clause_table(program)
        ids = listed.column("clause").to_numpy()
        data = {
            "clause": listed.column("clause"),
            "text": listed.column("text"),
            "n": _decimals(n[ids]),
            "groundings": _decimals(total[ids]),
            "weight": listed.column("weight"),
        }
        return Table(pa.table(data), title=f"true groundings in the {world} world")

    @contextmanager
    def _world(self, program: Program, world: str) -> Iterator[World]:
        if world == "observed":
            yield OBSERVED
            return
        with open_source(self.engine, world) as opened:
            if list(opened.columns) != ["atom"]:
                raise InputError(
                    f"a world has one column, atom: the ids of the true query atoms; not {[*opened.columns]}"
                )
            with program.shown(exp.select(column("atom")).from_(opened.table)) as name:
                ids = self.engine.fetch(exp.select(column("atom")).from_(table(name)), step="read a world").column(0)
                atoms = read_atoms(self.engine, program.layout, program.blocks, None).ids
                known = set(atoms.tolist())
                strange = [atom for atom in ids.to_pylist() if atom not in known]
                if strange:
                    raise InputError(
                        f"{strange[0]!r} is no query atom ({len(strange)} such): a world lists ids from the column atom of "
                        'the atom tables, such as sqlrl."atom_<predicate>"'
                    )
                yield World(name)

    # ---- inference --------------------------------------------------------------------------------------

    def predict(
        self,
        model: Model,
        *,
        examples: Any = None,
        into: str | None = None,
        method: Method = "auto",
        limit: int | None = GROUNDING_LIMIT,
        deterministic_limit: float | None = None,
        seed: int = 0,
        keep: bool = False,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Prediction:
        """Predict the most probable world. Labels are never read.

        Parameters
        ----------
        model : Model
            With weights.
        examples : list of names, query, relation or frame, optional
        into : str, optional
            A table to create with the true atoms of the open predicate (of several: `into`_predicate).
        method : {"auto", "elimination", "cpsat"}
        limit : int or None
            The most ground clauses of one shape.
        deterministic_limit : float, optional
            CP-SAT's limit for each connected component, in its deterministic seconds.
        seed : int
        keep : bool
            Keep the true atoms in `sqlrl.prediction` and exact counts of every clause in `sqlrl.clause_statistics`.

        Raises
        ------
        InputError
            A rule has no weight.
        InfeasibleError
            Hard clauses cannot all hold; shows a conflicting set.
        """
        from sqlrl.solve.mpe import mpe

        _check_weights(model)
        start = time.perf_counter()
        working = self.console.progress("predicting")
        with working, self.program(model, drop=drop, query=query) as program:
            with self.only(examples) as chosen:
                program.expand(chosen)
                network = ground_network(program, chosen, limit=limit)
                missing = unseen(program, chosen)
            grounded = time.perf_counter()
            result = mpe(
                network, program.weights(), method=method, deterministic_limit=deterministic_limit, seed=seed,
                describe=describer(program, network),
            )  # fmt: skip
            seconds = {"grounding": grounded - start, "solving": time.perf_counter() - grounded}
            prediction = Prediction(self.engine, program.public_layout, network, result, missing, seconds)
            if into is not None:
                prediction.write(into)
            if keep:
                options = {"method": method, "deterministic_limit": deterministic_limit, "seed": seed}
                prediction.keep(program, self.records, options)
        return prediction

    def evaluate(self, prediction: Prediction) -> Scores:
        """Compare a prediction with the labels."""
        return prediction.evaluate()

    # ---- learning ---------------------------------------------------------------------------------------

    @contextmanager
    def training_windows(
        self,
        model: Model,
        *,
        examples: Any = None,
        size: int = 512,
        order: str = "file",
        seed: int = 0,
        passes: int = 1,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Iterator[TrainingStream]:
        """Show the training examples as a stream of grounded windows while the context is open.

        `sqlrl.learn.protocols.TrainingDatabase` says what the parameters mean. A run that an error or Ctrl-C ends is
        kept with that status.
        """
        with self.program(model, training=True) as program:
            ids = self.example_ids(examples)
            random = np.random.default_rng(seed)
            orders = [random.permutation(ids) if order == "shuffle" else ids for _ in range(passes)]
            stream = TrainingStream(program, self.records, self.console, orders, size=size, limit=limit)
            try:
                yield stream
            except BaseException as error:
                if stream.run is not None:
                    self.records.end_run(
                        stream.run, "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
                    )
                raise

    def learned_model(self, program: Any, weights: npt.NDArray[np.float64], record: TrainingRecord) -> Model:
        """Make the model with learned weights and keep the run in the database (called by learners)."""
        stream: TrainingStream = program
        return stream.model(weights, record)

    def program_clauses(self, program: Any, weights: npt.NDArray[np.float64], support: pa.Table) -> pa.Table:
        """Return the clauses of a learned model, the strongest first (called by learners)."""
        stream: TrainingStream = program
        return stream.clauses(weights, support)


def _decimals(values: npt.NDArray[np.object_]) -> pa.Array:
    """Return exact counts as int64, or as decimal128 where one does not fit."""
    small = all(-(2**63) <= v < 2**63 for v in values)
    return pa.array(list(values), pa.int64() if small else pa.decimal128(38))


def _without(model: Model, drop: Iterable[str]) -> Model:
    """Return a model without the rules that mention dropped predicates."""
    dropped = set(drop)
    if not dropped:
        return model
    return model.with_rules(
        tuple(r for r in model.rules if dropped.isdisjoint(a.predicate for a in atoms_of(r.formula)))
    )


def _check_weights(model: Model) -> None:
    """Refuse a model with a rule whose weight nobody gave or learned."""
    for rule in model.rules:
        if not rule.hard and rule.weight is None and rule.expansions is None:
            from sqlrl.logic.printer import format_formula

            where = f"{rule.path}:{rule.line}: " if rule.line else ""
            raise InputError(
                f"{where}the rule {format_formula(rule.formula)} has no weight: learn the model first, "
                "or write a weight before it"
            )
