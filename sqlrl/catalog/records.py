"""What is kept of models and runs: rows of the tables that `schemas/layout.sql` describes."""

from __future__ import annotations

import json
import platform
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.arrays import Kept, as_rows, from_rows
from sqlrl.catalog.contents import contents_fingerprint, same_contents
from sqlrl.catalog.fingerprints import is_marked
from sqlrl.catalog.live import INTERRUPTED, RUNNING, LiveRuns
from sqlrl.catalog.store import Store
from sqlrl.engine.nodes import column
from sqlrl.errors import CatalogError
from sqlrl.logic.model import Model
from sqlrl.logic.saving import model_to_json
from sqlrl.logic.serialize import model_from_json

_PACKAGES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")


_writing = threading.RLock()
"""Held from before a transaction that numbers a run or a model until it is committed: threads that write to one database, each by
a connection of its own, would number theirs alike."""

_NAMED = frozenset({"step", "added_clause", "explained"})
"""Tables that keep the names of examples: ids may be those of others once data were loaded again, and runs are asked later."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


class Records:
    """Writes models, runs and what they produce.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._live = LiveRuns(store)
        self._ended: list[int] = []
        self._depth = 0

    def end_killed(self) -> list[int]:
        """Record that runs are interrupted whose process was killed; return their numbers."""
        return self._live.end_others()

    def save_model(self, name: str, model: Model, clauses: pa.Table, shapes: pa.Table, *, origin: str) -> int:
        """Keep a model with its clauses and shapes; return its number.

        Parameters
        ----------
        name : str
        model : Model
        clauses : pyarrow.Table
            Columns `clause`, `text`, `weight`, `hard`, `rule`; `step` where a learner added clauses.
        shapes : pyarrow.Table
            Columns `shape`, `text`, `literals`.
        origin : str
            What put the clauses into the model.
        """
        with self.together():
            number = self._next("model", "model")
            written = json.dumps(model_to_json(model), ensure_ascii=False, allow_nan=False)
            plain = model.with_rules(tuple(replace(rule, expansions=None) for rule in model.rules))
            row = {"model": number, "name": name, "text": str(plain), "json": written}
            self._store.put("model", [row], "keep a model")
            size = len(clauses)
            data = clauses.append_column("model", pa.array([number] * size, pa.int32()))
            data = data.append_column("origin", pa.array([origin] * size, pa.string()))
            if "step" not in data.column_names:
                data = data.append_column("step", pa.nulls(size, pa.int64()))
            columns = ["model", "clause", "text", "weight", "hard", "origin", "step", "rule"]
            self._store.insert("clause", data, columns, "keep clauses")
            data = shapes.append_column("model", pa.array([number] * len(shapes), pa.int32()))
            self._store.insert("shape", data, ["model", "shape", "text", "literals"], "keep shapes")
        return number

    def model(self, number: int | None = None) -> Model:
        """Return a model that was kept; the newest one if no number is given.

        Raises
        ------
        CatalogError
            If there is none of that number.
        """
        query = exp.select(column("json")).from_(self._store.table("model"))
        if number is not None:
            query = query.where(column("model").eq(exp.convert(number)))
        rows = self._store.rows(query.order_by(exp.Ordered(this=column("model"), desc=True)).limit(1), "read a model")
        if not rows:
            wanted = "no model was kept yet" if number is None else f"there is no model {number}"
            raise CatalogError(f"{wanted}: the table sqlrl.model lists those that are there")
        return model_from_json(json.loads(rows[0]["json"]), path=f"model {number or 'newest'}")

    def atoms(self) -> str:
        """Return what the query atoms were built from; their ids hold as long as this is the same."""
        return self._store.state("atoms") or ""

    def forgotten_beside(self) -> str | None:
        """Return the file in use if the records are not kept in any, None otherwise."""
        return self._store.engine.forgotten_beside()

    def begin_run(self, learner: str, parameters: Mapping[str, Any], seed: int | None) -> int:
        """Record the start of a run; return its number."""
        row = {
            "learner": learner,
            "parameters": json.dumps(dict(parameters), sort_keys=True, default=str),
            "seed": seed,
            "versions": json.dumps(versions(), sort_keys=True),
            "fingerprint": self.data(),
            "status": RUNNING,
        }
        with _writing:
            run = self._next("run", "run")
            self._live.add(run)
            try:
                self._store.put("run", [{"run": run, **row}], "record a run")
            except BaseException:
                self._live.discard(run)
                raise
        return run

    def end_run(
        self,
        run: int,
        status: str,
        *,
        model: int | None = None,
        timings: Mapping[str, float] | None = None,
        learner: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        """Record the end of a run (done, interrupted or failed) and what is known only now; `running` if it goes on."""
        if status == RUNNING:
            self._live.add(run)
        known: dict[str, Any] = {"status": status, "model": model, "learner": learner, "seed": seed}
        known["timings"] = None if timings is None else json.dumps(dict(timings), sort_keys=True)
        known["parameters"] = None if parameters is None else json.dumps(dict(parameters), sort_keys=True, default=str)
        statement = exp.Update(
            this=self._store.table("run"),
            expressions=[column(name).eq(exp.convert(value)) for name, value in known.items() if value is not None],
            where=exp.Where(this=column("run").eq(exp.convert(run))),
        )
        try:
            self._store.engine.execute(statement, step="record the end of a run")
        finally:
            if status != RUNNING:
                self._ended.append(run)
                self._forget()

    @contextmanager
    def ending(self, run: int) -> Iterator[None]:
        """Record that a run is interrupted or has failed, if Ctrl-C or an error ends the context."""
        try:
            yield
        except BaseException as error:
            self.end_run(run, INTERRUPTED if isinstance(error, KeyboardInterrupt) else "failed")
            raise

    def _forget(self) -> None:
        """Forget the runs that have ended, once other connections can see that they have."""
        if not self._depth:
            for run in self._ended:
                self._live.discard(run)
            self._ended.clear()

    def run(self, run: int) -> dict[str, Any] | None:
        """Return a row of `run` with its parameters parsed, None if there is no such run."""
        query = exp.select("*").from_(self._store.table("run")).where(column("run").eq(exp.convert(run)))
        rows = self._store.rows(query, "read a run")
        return {**rows[0], "parameters": json.loads(rows[0]["parameters"])} if rows else None

    def data(self) -> str:
        """Return the fingerprint of the data: what `run.fingerprint` holds for runs that began with these data."""
        return contents_fingerprint(self._store)

    def same_data(self, run: int, fingerprint: str) -> bool | None:
        """Return True if a run began with these data, None if that cannot be told any more.

        A fingerprint of an earlier version is looked at once: that of today takes its place unless the data are others.
        """
        same = same_contents(self._store, fingerprint)
        if same is not False and not is_marked(fingerprint):
            statement = exp.Update(
                this=self._store.table("run"),
                expressions=[column("fingerprint").eq(exp.convert(self.data()))],
                where=exp.Where(this=column("run").eq(exp.convert(run))),
            )
            self._store.engine.execute(statement, step="keep the fingerprint of a run in its present format")
        return same

    def save_state(self, run: int, values: Mapping[str, Kept]) -> None:
        """Keep named arrays and JSON values of a run in `learner_state`, in place of earlier ones of the same names.

        Parameters
        ----------
        run : int
        values : mapping of str to array or JSON value
            As `sqlrl.catalog.arrays.as_rows` takes them.
        """
        with self._store.engine.transaction():
            names = [exp.convert(name) for name in values]
            mine = exp.and_(column("run").eq(exp.convert(run)), exp.In(this=column("name"), expressions=names))
            delete = exp.Delete(this=self._store.table("learner_state"), where=exp.Where(this=mine))
            self._store.engine.execute(delete, step="clear the state of a learner")
            self.append("learner_state", run, as_rows(values))

    def state(self, run: int) -> dict[str, Kept]:
        """Return the arrays and JSON values that a run saved; none if it saved nothing."""
        query = exp.select("*").from_(self._store.table("learner_state")).where(column("run").eq(exp.convert(run)))
        return from_rows(self._store.rows(query.order_by(column("name")), "read the state of a learner"))

    def rows(self, table: str, run: int, *, order: str) -> pa.Table:
        """Return a run's rows of a table, in the order of a column."""
        query = exp.select("*").from_(self._store.table(table)).where(column("run").eq(exp.convert(run)))
        return self._store.engine.fetch(query.order_by(column(order)), step=f"read {table}")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write all or nothing."""
        self._depth += 1
        try:
            with _writing, self._store.engine.transaction():
                yield
        finally:
            self._depth -= 1
            self._forget()

    def append(self, table: str, run: int, data: pa.Table) -> None:
        """Append rows of a run to `step`, `weight_history`, `clause_statistics`, ..., with the names of examples if it keeps them."""
        data = data.append_column("run", pa.array([run] * len(data), pa.int32()))
        columns, step = list(data.column_names), f"append to {table}"
        if table not in _NAMED:
            self._store.insert(table, data, columns, step)
            return
        with self._store.engine.attached(data) as source:
            source.set("alias", exp.TableAlias(this=exp.to_identifier("new", quoted=True)))
            query = exp.select(*(column(name, "new") for name in columns), column("name", "e")).from_(source)
            same = column("example", "e").eq(column("example", "new"))
            query = query.join(self._store.table("example", "e"), on=same, join_type="left")
            self._store.insert(table, query, [*columns, "example_name"], step)

    def replace(self, table: str, run: int, data: pa.Table, *, key: str, value: int) -> None:
        """Put rows of a run in place of those that have a value in a column."""
        with self._store.engine.transaction():
            mine = exp.and_(column("run").eq(exp.convert(run)), column(key).eq(exp.convert(value)))
            delete = exp.Delete(this=self._store.table(table), where=exp.Where(this=mine))
            self._store.engine.execute(delete, step=f"clear rows of {table}")
            self.append(table, run, data)

    def renumber(self, table: str, run: int, *, first: int, by: int) -> None:
        """Add a number to the clauses of a run from `first` on."""
        moved = exp.Add(this=column("clause"), expression=exp.convert(by))
        mine = exp.and_(column("run").eq(exp.convert(run)), column("clause") >= exp.convert(first))
        update = exp.Update(
            this=self._store.table(table),
            expressions=[exp.EQ(this=column("clause"), expression=moved)],
            where=exp.Where(this=mine),
        )
        self._store.engine.execute(update, step=f"number the clauses of {table}")

    def column(self, table: str, run: int, name: str, *, order: str) -> list[Any]:
        """Return a column of a run's rows in the order of another one."""
        query = exp.select(column(name)).from_(self._store.table(table)).order_by(column(order))
        query = query.where(column("run").eq(exp.convert(run)))
        values: list[Any] = self._store.engine.fetch(query, step=f"read {table}").column(0).to_pylist()
        return values

    def fill(self, table: str, run: int, data: pa.Table, *, key: str) -> None:
        """Write columns into the rows of a run that agree with the data in a key."""
        with self._store.engine.attached(data) as source:
            source.set("alias", exp.TableAlias(this=exp.to_identifier("new", quoted=True)))
            names = [name for name in data.column_names if name != key]
            mine = column("run", "old").eq(exp.convert(run))
            statement = exp.Update(
                this=self._store.table(table, "old"),
                expressions=[column(name).eq(column(name, "new")) for name in names],
                from_=exp.From(this=source),
                where=exp.Where(this=exp.and_(mine, column(key, "old").eq(column(key, "new")))),
            )
            self._store.engine.execute(statement, step=f"complete {table}")

    def _next(self, table: str, key: str) -> int:
        newest = exp.select(exp.Max(this=column(key))).from_(self._store.table(table))
        return self._store.number(newest, f"number a {table}") + 1
