"""Samples of worlds as they are drawn, streamed into tables of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import column
from sqlrl.ground.network import BoolArray

if TYPE_CHECKING:
    from sqlrl.solve.sampling.chains import SampleBatch

SAMPLES = {"chain": "INTEGER", "sample": "BIGINT", "atom": "VARCHAR"}
"""A row for each true atom of each sampled world; NULL for a world in which none is true."""

MEANS = {"chain": "INTEGER", "samples": "BIGINT", "atom": "VARCHAR", "mean": "DOUBLE"}
"""A row for each atom, chain and batch: the mean of the chain's samples so far."""


class SampleTables:
    """Creates the tables and writes each batch into them; a `sqlrl.solve.sampling.chains.SampleSink`."""

    def __init__(
        self, engine: DuckDBEngine, names: Sequence[str], visible: BoolArray, samples: str | None, means: str | None
    ) -> None:
        # `names` are the visible atoms, with constants; `visible` says which of all atoms these are: helper atoms are not.
        self._engine, self._visible = engine, visible
        self._names = pa.array(names, pa.string())
        self._samples, self._means = samples, means
        # In the current schema of the engine's connection, in place of tables of the same name; None for neither.
        for name, columns in ((samples, SAMPLES), (means, MEANS)):
            if name is not None:
                self._create(name, columns)

    def write(self, batch: SampleBatch) -> None:
        """Append the true atoms of some consecutive worlds of a chain, and its running means."""
        size = len(batch.worlds)
        if self._samples is not None:
            worlds = batch.worlds[:, self._visible]
            world, atom = np.nonzero(worlds)
            rows = {"sample": pa.array(batch.first + world, pa.int64()), "atom": self._named(atom)}
            self._append(self._samples, batch.chain, rows)
            empty = np.flatnonzero(~worlds.any(axis=1))
            none = pa.nulls(len(empty), pa.string())
            self._append(
                self._samples, batch.chain, {"sample": pa.array(batch.first + empty, pa.int64()), "atom": none}
            )
        if self._means is not None:
            mean = batch.mean[self._visible]
            done = pa.array(np.full(len(mean), batch.first + size), pa.int64())
            rows = {"samples": done, "atom": self._named(np.arange(len(mean))), "mean": pa.array(mean, pa.float64())}
            self._append(self._means, batch.chain, rows)

    def _named(self, atoms: np.typing.NDArray[np.intp]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(atoms, pa.int32()), self._names)

    def _create(self, name: str, columns: Mapping[str, str]) -> None:
        kinds = [
            exp.ColumnDef(this=exp.to_identifier(c, quoted=True), kind=exp.DataType.build(kind, dialect="duckdb"))
            for c, kind in columns.items()
        ]
        definition = exp.Schema(this=exp.table_(name, quoted=True), expressions=kinds)
        statement = exp.Create(this=definition, kind="TABLE", replace=True)
        self._engine.execute(statement, step=f"create the table {name}")

    def _append(self, name: str, chain: int, rows: Mapping[str, pa.Array]) -> None:
        size = len(next(iter(rows.values())))
        if not size:
            return
        data = pa.table({"chain": pa.array(np.full(size, chain), pa.int32()), **rows})
        with self._engine.attached(data) as source:
            query = exp.select(*map(column, data.column_names)).from_(source)
            target = exp.Schema(
                this=exp.table_(name, quoted=True),
                expressions=[exp.to_identifier(c, quoted=True) for c in data.column_names],
            )
            self._engine.execute(exp.Insert(this=target, expression=query), step=f"append samples to {name}")
