"""What is kept of models and runs: rows of the tables that `schemas/layout.sql` describes; which runs are at work, and of which data they are."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.domains import bound_types
from sqlrl.catalog.fingerprints import (
    CONTENTS_MARK,
    MARK,
    can_check_unmarked,
    is_marked,
    numbers_hash,
    rows_hash,
    unmarked_hash,
)
from sqlrl.catalog.integrity import are_numbers, are_texts, damaged, is_object, kept_json
from sqlrl.catalog.store import Store
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column, named, star_count, union_all
from sqlrl.engine.stored import is_stored
from sqlrl.errors import CatalogError, ModelError
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel, soft_model_to_json

Kept: TypeAlias = "npt.NDArray[Any] | str | int | float | bool | list[Any] | dict[str, Any] | None"
"""An array of float64, int64, uint64 or bool, or a JSON value."""

_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("type", pa.string()),
        ("shape", pa.list_(pa.int64())),
        ("floats", pa.list_(pa.float64())),
        ("integers", pa.list_(pa.int64())),
        ("text", pa.string()),
    ]
)

_TYPES = ("float64", "int64", "uint64", "bool")

logger = logging.getLogger(__name__)
RUNNING, INTERRUPTED = "running", "interrupted"
_File = tuple[int, int] | None
_live: set[tuple[_File, int]] = set()

_LOADING = ("source", "fingerprint", "readable", "rows", "scope")
"""What a predicate's record says of how its rows came to be."""

_PACKAGES = ("sqlrl", "duckdb", "sqlglot", "numpy", "scipy", "ortools", "pyarrow", "numba")

_writing = threading.RLock()
"""Held from before a transaction that numbers a run or a model until it is committed: threads that write to one database, each by
a connection of its own, would number theirs alike."""

_NAMED = frozenset({"step", "added_clause", "explained"})
"""Tables that keep the names of examples: ids may be those of others once data were loaded again, and runs are asked later."""


# ---- arrays and JSON values as rows of `learner_state` -----------------------------------------------


def as_rows(values: Mapping[str, Kept]) -> pa.Table:
    """Return named values, arrays of any shape or JSON values, as rows, without the run."""
    rows = [_array_row(n, v) if isinstance(v, np.ndarray) else _json_row(n, v) for n, v in values.items()]
    columns = [pa.array([row[f.name] for row in rows], f.type) for f in _SCHEMA]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _json_row(name: str, value: Kept) -> dict[str, Any]:
    text = json.dumps(value, ensure_ascii=False)
    return {"name": name, "type": "json", "shape": [], "floats": None, "integers": None, "text": text}


def _array_row(name: str, array: npt.NDArray[Any]) -> dict[str, Any]:
    kind = array.dtype.name
    if kind not in _TYPES:
        raise ValueError(f"the array {name} has the type {kind}: keep one of {', '.join(_TYPES)}")
    flat = np.ascontiguousarray(array).reshape(-1)
    row = {"name": name, "type": kind, "shape": list(array.shape), "floats": None, "integers": None, "text": None}
    if kind == "float64":
        return {**row, "floats": flat}
    return {**row, "integers": flat.view(np.int64) if kind == "uint64" else flat.astype(np.int64)}


def _from_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Kept]:
    """Return the named values that rows hold."""
    found: dict[str, Kept] = {}
    for row in rows:
        kind = row["type"]
        if kind == "json":
            found[row["name"]] = kept_json(row["text"], f"{row['name']} in sqlrl.learner_state")
            continue
        whole = kind != "float64"
        try:
            stored = np.array(row["integers" if whole else "floats"], dtype=np.int64 if whole else np.float64)
            values = stored.view(np.uint64) if kind == "uint64" else stored.astype(kind)
            found[row["name"]] = values.reshape(row["shape"])
        except (TypeError, ValueError) as error:
            raise damaged(
                f"{row['name']} in sqlrl.learner_state is no array of the type and shape that its row says"
            ) from error
    return found


# ---- runs at work ------------------------------------------------------------------------------------


if hasattr(os, "register_at_fork"):
    # A forked process does not go on with the runs of its parent.
    os.register_at_fork(after_in_child=_live.clear)


class LiveRuns:
    """The runs of a database that this process has begun and not ended, through whatever connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        path = _path(store)
        self._in_memory = path is None
        self._file = None if path is None else _identity(path)

    def add(self, run: int) -> None:
        """Note that a run is at work; before that is recorded, since other connections look at the record first."""
        if not self._in_memory:
            _live.add((self._file, run))

    def discard(self, run: int) -> None:
        """Note that a run has ended."""
        _live.discard((self._file, run))

    def end_others(self) -> list[int]:
        """Record that runs of processes that were killed are interrupted; return their numbers."""
        # A database in memory ends with its process, and has no such runs.
        if self._in_memory or self._file is None or not self._store.engine.writable:
            return []
        running = column("status").eq(exp.convert(RUNNING))
        query = exp.select(column("run")).from_(self._store.table("run")).where(running).order_by(column("run"))
        recorded = [int(row["run"]) for row in self._store.rows(query, "look for runs that were killed")]
        # A run of a file that could not be told from others may be one of this file.
        found = [run for run in recorded if not {(self._file, run), (None, run)} & _live]
        if found:
            mine = exp.In(this=column("run"), expressions=[exp.convert(run) for run in found])
            statement = exp.Update(
                this=self._store.table("run"),
                expressions=[column("status").eq(exp.convert(INTERRUPTED))],
                where=exp.Where(this=exp.and_(running.copy(), mine)),
            )
            self._store.engine.execute(statement, step="record the end of runs that were killed")
            logger.info("%s: runs %s were killed and are interrupted", self._store.engine.path, found)
        return found


def _path(store: Store) -> str | None:
    """Return the path of the file that holds sqlrl's tables, None if they are in memory."""
    if store.engine.path == ":memory:" and store.engine.owned:
        return None
    listed = exp.select(column("path")).from_(exp.Anonymous(this="duckdb_databases"))
    query = listed.where(column("database_name").eq(exp.convert(store.catalog)))
    rows = store.rows(query, "look for the file of the database")
    return rows[0]["path"] or None if rows else None


def _identity(path: str) -> _File:
    """Return what is the same for all names of a file; None if it cannot be found, as after a change of directory."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


# ---- what the data are -------------------------------------------------------------------------------


def _contents_fingerprint(store: Store) -> str:
    """Return a marked hash of a database's facts, query atoms, examples and constants, whatever the order of rows."""
    return f"{CONTENTS_MARK}:{_hashed(store, rows_hash, numbers=True)}"


def _is_of_today(fingerprint: str) -> bool:
    """Return True for a fingerprint of the format of `_contents_fingerprint`."""
    return fingerprint.startswith(f"{CONTENTS_MARK}:")


def _same_contents(store: Store, fingerprint: str) -> bool | None:
    """Return whether a database has the contents of a fingerprint, None if this DuckDB cannot tell any more."""
    if _is_of_today(fingerprint):
        return fingerprint == _contents_fingerprint(store)
    # The fingerprint is of an earlier version of sqlrl. Those told also of predicates that models alone had declared.
    if is_marked(fingerprint):
        return fingerprint in {f"{MARK}:{_hashed(store, rows_hash, declared=x)}" for x in (False, True)}
    if _hashed(store, unmarked_hash, declared=True) == fingerprint:
        return True
    return False if can_check_unmarked(store.engine) else None


def _hashed(
    store: Store, rows_hash: Callable[[exp.Expr], exp.Select], *, declared: bool = False, numbers: bool = False
) -> str:
    """Return a hash of the contents of a database that rests on a hash of rows, in 12 hexadecimal digits; `numbers` have one of their own."""
    predicates, types, sources = store.predicates(), store.types(), store.sources()
    tables = {("example", ""): "example"}
    bound = bound_types(store)
    if not declared:
        # What a model declares and nothing fills stays when another one is bound: the data have nothing of it.
        idle = {
            name
            for name, record in predicates.items()
            if not (record.facts or record.atoms or record.source or record.scope or record.open)
        }
        idle -= {name for name, _ in sources}
        gone = {x.type for name in idle for x in predicates[name].arguments}
        predicates = {name: record for name, record in predicates.items() if name not in idle}
        gone -= {x.type for record in predicates.values() for x in record.arguments}
        types, bound = ({name: x for name, x in found.items() if name not in gone} for found in (types, bound))
    tables |= {("constants", name): record.dictionary for name, record in bound.items()}
    tables |= {("facts", name): record.facts for name, record in predicates.items() if record.facts}
    tables |= {("atoms", name): record.atoms for name, record in predicates.items() if record.atoms}
    # Facts of one role are where they were loaded to.
    tables |= {(role, name): x.storage for (name, role), x in sources.items() if x.storage != predicates[name].facts}
    # What a server has encoded follows from its sources, which have fingerprints, and is too much to be read for this.
    stored = {
        key: table
        for key, table in tables.items()
        if is_stored(table) or (key[0] == "constants" and is_stored(types[key[1]].dictionary))
    }
    tables = {key: table for key, table in tables.items() if key not in stored}
    lines, rest = [], {}
    for (kind, name), table in tables.items():
        # Examples and constants have names.
        known = kind not in ("example", "constants") and numbers and numbers_hash(store.engine, store.table(table))
        if known:
            lines.append(f"{kind} {name} {known[0]} {known[1]}")
        else:
            rest[kind, name] = table
    queries = [
        rows_hash(store.table(table)).select(named(exp.convert(kind), "kind"), named(exp.convert(name), "name"))
        for (kind, name), table in rest.items()
    ]
    rows = store.rows(union_all(queries), "fingerprint the data")
    lines = sorted([*lines, *(f"{row['kind']} {row['name']} {row['n']} {row['h']}" for row in rows)])
    prints = {x.storage: x.fingerprint for x in sources.values()}
    lines += [
        f"{kind} {name} {prints.get(table) or bound[name].size}" for (kind, name), table in sorted(stored.items())
    ]
    for record in predicates.values():
        kept = {name: value for name, value in asdict(record).items() if name not in (*_LOADING, "facts", "atoms")}
        lines.append(repr(sorted(kept.items())))
    lines += [repr((x.type, x.local, x.choice, x.declared, x.numeric)) for x in types.values()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


# ---- models and runs ---------------------------------------------------------------------------------


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on; finding them takes more than all else that begins a run."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def named_models(store: Store) -> list[dict[str, Any]]:
    """Return the names of models with their numbers and runs, and nothing that has to be counted."""
    return store.rows(exp.select("*").from_(store.table("named_model")), "look for a model")


def model_json(model: Model | SoftModel) -> dict[str, Any]:
    """Return a model of either kind as JSON values."""
    from sqlrl.logic.saving import model_to_json

    return soft_model_to_json(model) if isinstance(model, SoftModel) else model_to_json(model)


def _written(model: Model | SoftModel) -> str:
    """Return a model as `model.json` has it."""
    try:
        return json.dumps(model_json(model), ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ModelError("a weight of the model is not finite: give it a number") from error


_AT_END = (
    "added_clause", "candidate", "clause_statistics", "coverage", "diagnosis", "diagnosis_grounding", "formulation", "tuning",
)  # fmt: skip
"""Tables to which a run adds rows when it ends."""

EARLIER = "earlier_model_"
"""How names begin in the state of a run that say what models it had before it was resumed."""


def _earlier(written: str) -> str:
    """Return the name of the text of a model in the state of a run that had it."""
    return EARLIER + hashlib.sha256(written.encode()).hexdigest()


class Records:
    """Writes models, runs and what they produce."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._live = LiveRuns(store)
        self._ended: list[int] = []
        self._depth = 0

    @property
    def engine(self) -> DuckDBEngine:
        """Of the database that keeps them, with the tables of the data."""
        return self._store.engine

    def end_killed(self) -> list[int]:
        """Record that runs are interrupted whose process was killed; return their numbers."""
        return self._live.end_others()

    def save_model(
        self, name: str, model: Model | SoftModel, clauses: pa.Table, shapes: pa.Table, *, origin: str
    ) -> int:
        """Keep a model with its clauses and shapes; return its number."""
        with self.together():
            # `clauses` has `clause`, `text`, `weight`, `hard`, `rule`, and as far as known `step` and `key`; `shapes` has `shape`, `text`,
            # `literals`. `origin` is what put the clauses into the model.
            number = self._next("model", "model")
            written = _written(model)
            plain = model
            if isinstance(model, Model):
                plain = model.with_rules(tuple(replace(rule, expansions=None) for rule in model.rules))
            row = {"model": number, "name": name, "text": str(plain), "json": written}
            self._store.put("model", [row], "keep a model")
            size = len(clauses)
            data = clauses.append_column("model", pa.array([number] * size, pa.int32()))
            data = data.append_column("origin", pa.array([origin] * size, pa.string()))
            if "step" not in data.column_names:
                data = data.append_column("step", pa.nulls(size, pa.int64()))
            columns = ["model", "clause", "text", "weight", "hard", "origin", "step", "rule"]
            columns += ["key"] if "key" in data.column_names else []
            self._store.insert("clause", data, columns, "keep clauses")
            data = shapes.append_column("model", pa.array([number] * len(shapes), pa.int32()))
            self._store.insert("shape", data, ["model", "shape", "text", "literals"], "keep shapes")
        return number

    def model(self, number: int | None = None) -> Model | SoftModel:
        """Return a model that was kept; the newest one if no number is given."""
        from sqlrl.logic.files import model_from_json
        from sqlrl.logic.psl_files import soft_model_from_json
        from sqlrl.logic.saving import SOFT

        query = exp.select(column("json")).from_(self._store.table("model"))
        if number is not None:
            query = query.where(column("model").eq(exp.convert(number)))
        rows = self._store.rows(query.order_by(exp.Ordered(this=column("model"), desc=True)).limit(1), "read a model")
        if not rows:
            wanted = "no model was kept yet" if number is None else f"there is no model {number}"
            raise CatalogError(f"{wanted}: the table sqlrl.model lists those that are there")
        found = kept_json(rows[0]["json"], f"the model {number or 'newest'} of sqlrl.model", is_object)
        read = soft_model_from_json if found.get("semantics") == SOFT else model_from_json
        return read(found, path=f"model {number or 'newest'}")

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

    def reopen(self, run: int) -> None:
        """Take back that a run has a model, with the statistics that its end made: it goes on after its last step."""
        row = self.run(run)
        if row is None or row["model"] is None:
            return
        with self.together():
            # What it learned so far stays known as learned by it, and stays where it has a name.
            model = column("model").eq(exp.convert(row["model"]))
            written = self._store.rows(
                exp.select("json").from_(self._store.table("model")).where(model), "read a model"
            )
            self.save_state(run, {_earlier(each["json"]): None for each in written})
            names = exp.select(column("model")).from_(self._store.table("named_model"))
            made = exp.Where(this=exp.and_(model, exp.Not(this=exp.In(this=column("model"), query=names.subquery()))))
            for table in ("model", "clause", "shape"):
                self._store.engine.execute(
                    exp.Delete(this=self._store.table(table), where=made.copy()), step=f"clear rows of {table}"
                )
            for table in _AT_END:
                self.clear(table, run)
            values = {"status": exp.convert(INTERRUPTED), "model": exp.null()}
            statement = exp.Update(
                this=self._store.table("run"),
                expressions=[exp.EQ(this=column(name), expression=value) for name, value in values.items()],
                where=exp.Where(this=column("run").eq(exp.convert(run))),
            )
            self._store.engine.execute(statement, step="take back the end of a run")

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
        if not rows:
            return None
        row = rows[0]
        read = {
            name: kept_json(row[name], f"the {name} of run {run} in sqlrl.run", fits)
            for name, fits in (("parameters", is_object), ("versions", are_texts), ("timings", are_numbers))
            # Of a run that was killed there are no timings.
            if name != "timings" or row[name] is not None
        }
        return {**row, "timings": {}, **read}

    def data(self) -> str:
        """Return the fingerprint of the data: what `run.fingerprint` holds for runs that began with these data."""
        return _contents_fingerprint(self._store)

    def same_data(self, run: int, fingerprint: str) -> bool | None:
        """Return whether a run began with these data, None if that cannot be told any more."""
        same = _same_contents(self._store, fingerprint)
        # A fingerprint of an earlier version is checked once: that of today takes its place unless the data are others.
        if same is not False and not _is_of_today(fingerprint):
            statement = exp.Update(
                this=self._store.table("run"),
                expressions=[column("fingerprint").eq(exp.convert(self.data()))],
                where=exp.Where(this=column("run").eq(exp.convert(run))),
            )
            self._store.engine.execute(statement, step="keep the fingerprint of a run in its present format")
        return same

    def save_state(self, run: int, values: Mapping[str, Kept]) -> None:
        """Keep named arrays and JSON values of a run in `learner_state`, in place of earlier ones of the same names."""
        with self._store.engine.transaction():
            names = [exp.convert(name) for name in values]
            mine = exp.and_(column("run").eq(exp.convert(run)), exp.In(this=column("name"), expressions=names))
            delete = exp.Delete(this=self._store.table("learner_state"), where=exp.Where(this=mine))
            self._store.engine.execute(delete, step="clear the state of a learner")
            self.append("learner_state", run, as_rows(values))

    def state(self, run: int) -> dict[str, Kept]:
        """Return the arrays and JSON values that a run saved; none if it saved nothing."""
        query = exp.select("*").from_(self._store.table("learner_state")).where(column("run").eq(exp.convert(run)))
        return _from_rows(self._store.rows(query.order_by(column("name")), "read the state of a learner"))

    def rows(self, table: str, run: int, *, order: str) -> pa.Table:
        """Return a run's rows of a table, in the order of a column."""
        query = exp.select("*").from_(self._store.table(table)).where(column("run").eq(exp.convert(run)))
        return self._store.engine.fetch(query.order_by(column(order)), step=f"read {table}")

    def count(self, table: str, run: int) -> int:
        """Return how many rows of a table a run has."""
        query = exp.select(named(star_count(), "n")).from_(self._store.table(table))
        (row,) = self._store.rows(query.where(column("run").eq(exp.convert(run))), f"count {table}")
        return int(row["n"])

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
        """Append rows of a run to `step`, `weight_history`, `clause_statistics`, ..., with the names of examples if the table keeps them."""
        data = data.append_column("run", pa.array([run] * len(data), pa.int32()))
        columns, step = list(data.column_names), f"append to {table}"
        # Rows that have the names already are of examples that were never loaded.
        if table not in _NAMED or "example_name" in columns:
            self._store.insert(table, data, columns, step)
            return
        with self._store.engine.attached(data) as source:
            source.set("alias", exp.TableAlias(this=exp.to_identifier("new", quoted=True)))
            query = exp.select(*(column(name, "new") for name in columns), column("name", "e")).from_(source)
            same = column("example", "e").eq(column("example", "new"))
            query = query.join(self._store.table("example", "e"), on=same, join_type="left")
            self._store.insert(table, query, [*columns, "example_name"], step)

    def insert(self, table: str, rows: exp.Query, columns: list[str]) -> None:
        """Append the rows of a query to a table of runs."""
        self._store.insert(table, rows, columns, f"append to {table}")

    def table(self, table: str) -> exp.Table:
        """Return a table of runs, for a query."""
        return self._store.table(table)

    def learned(self, model: Model | SoftModel, table: str) -> int | None:
        """Return the newest run that learned a model and has rows in a table; None if there is none."""
        try:
            written = _written(model)
        except ModelError:
            return None
        kept = exp.select(column("model")).from_(self._store.table("model")).where(column("json").eq(written))
        rows = exp.select(column("run")).from_(self._store.table(table))
        before = exp.select(column("run")).from_(self._store.table("learner_state"))
        before = before.where(column("name").eq(exp.convert(_earlier(written))))
        mine = exp.or_(
            exp.In(this=column("model"), query=kept.subquery()), exp.In(this=column("run"), query=before.subquery())
        )
        query = (
            exp.select(named(exp.Max(this=column("run")), "run"))
            .from_(self._store.table("run"))
            .where(mine, exp.In(this=column("run"), query=rows.subquery()))
        )
        run = self._store.rows(query, "look for the run that learned a model")[0]["run"]
        return None if run is None else int(run)

    def model_of(self, run: int, model: Model | SoftModel) -> int | None:
        """Return the number of the model that a run has, None if it is not this one."""
        its = exp.select(column("model")).from_(self._store.table("run")).where(column("run").eq(exp.convert(run)))
        same = column("json").eq(exp.convert(_written(model)))
        query = exp.select(column("model")).from_(self._store.table("model"))
        rows = self._store.rows(
            query.where(exp.In(this=column("model"), query=its.subquery()), same), "look for a model"
        )
        return int(rows[0]["model"]) if rows else None

    def predicates_of(self, table: str, run: int) -> dict[str, bool]:
        """Return the predicates of which a run has rows, and whether these list constants."""
        listed = exp.Count(this=column("constants"))
        query = exp.select(column("predicate"), named(listed, "listed")).from_(self._store.table(table))
        query = query.where(column("run").eq(exp.convert(run))).group_by(column("predicate"))
        return {row["predicate"]: row["listed"] > 0 for row in self._store.rows(query, f"read {table}")}

    def same_data_of(self, run: int) -> bool:
        """Return True if the data are those with which a run began, as far as can be told."""
        row = self.run(run)
        return row is not None and bool(_same_contents(self._store, row["fingerprint"]))

    def replace(self, table: str, run: int, data: pa.Table, *, key: str, value: int) -> None:
        """Put rows of a run in place of those that have a value in a column."""
        with self._store.engine.transaction():
            mine = exp.and_(column("run").eq(exp.convert(run)), column(key).eq(exp.convert(value)))
            delete = exp.Delete(this=self._store.table(table), where=exp.Where(this=mine))
            self._store.engine.execute(delete, step=f"clear rows of {table}")
            self.append(table, run, data)

    def clear(self, table: str, run: int) -> None:
        """Remove a run's rows of a table."""
        mine = exp.Where(this=column("run").eq(exp.convert(run)))
        self._store.engine.execute(exp.Delete(this=self._store.table(table), where=mine), step=f"clear rows of {table}")

    def clear_rows(self, table: str, name: str, value: str) -> None:
        """Remove the rows of all runs that have a value in a column of a table."""
        mine = exp.Where(this=column(name).eq(exp.convert(value)))
        self._store.engine.execute(exp.Delete(this=self._store.table(table), where=mine), step=f"clear rows of {table}")

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
