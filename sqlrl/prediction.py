"""Predictions: the most probable world over the query atoms of some examples, with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.records import Records
from sqlrl.engine.base import Engine
from sqlrl.engine.nodes import column
from sqlrl.errors import InputError
from sqlrl.evaluate import Scores, score
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.clauses import clause_table, shape_table
from sqlrl.ground.expanding import Unseen
from sqlrl.ground.naming import named_atoms
from sqlrl.ground.network import Network
from sqlrl.ground.program import Program
from sqlrl.ground.scratch import shown_rows
from sqlrl.plan.sql import table
from sqlrl.report import Table
from sqlrl.solve.counts import counts
from sqlrl.solve.result import MPEResult, Status


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted world and what is proved about it.

    Parameters
    ----------
    engine : Engine
    layout : Layout
        Without helper predicates.
    network : Network
    result : MPEResult
    unseen : Unseen
        Combinations of template constants that no training example had, and how many query atoms they touch.
    seconds : dict of str to float
        Wall time of grounding and solving.
    """

    engine: Engine
    layout: Layout
    network: Network
    result: MPEResult
    unseen: Unseen
    seconds: dict[str, float]

    @property
    def status(self) -> Status:
        """How well the world is proved."""
        return self.result.status

    @property
    def objective(self) -> float:
        """Sum of weight times n over the weighted clauses, in log-odds."""
        return self.result.objective

    @property
    def bound(self) -> float:
        """No world has a greater objective."""
        return self.result.bound

    @property
    def gap(self) -> float:
        """Bound minus objective, absolute."""
        return self.result.gap

    @cached_property
    def _predicates(self) -> list[PredicateInfo]:
        return sorted((p for p in self.layout.predicates.values() if p.open), key=lambda p: p.name)

    def atoms(self, predicate: str | None = None, *, every: bool = False) -> pa.Table:
        """Return predicted atoms of one predicate with names.

        Parameters
        ----------
        predicate : str, optional
            Required if the model has several open predicates.
        every : bool
            Also those predicted false; `truth` tells.

        Returns
        -------
        pyarrow.Table
            Columns `example` (name), the arguments (named by their types), `truth`; ordered by atom.
        """
        info = self._choose(predicate)
        shown = np.ones(len(self.network.atoms), bool) if every else self.result.world
        chosen = pa.table({"atom": self.network.atoms[shown], "truth": self.result.world[shown]})
        query = named_atoms(self.layout, info)
        with shown_rows(self.engine, self.layout, chosen) as source:
            query = query.join(table(source, "w"), on=exp.EQ(this=column("atom", "w"), expression=column("atom", "a")))
            query = query.select(column("truth", "w")).order_by(column("atom", "a"))
            return self.engine.fetch(query, step=f"name the predicted atoms of {info.name}")

    def table(self, predicate: str | None = None, *, every: bool = False) -> Table:
        """Return `atoms` as a table that prints."""
        info = self._choose(predicate)
        return Table(self.atoms(info.name, every=every), title=f"{info.name}: predicted")

    def write(self, into: str, *, replace: bool = False) -> None:
        """Create a table with the true atoms (of several open predicates: a table for each, named `into_predicate`).

        Parameters
        ----------
        into : str
            The name of the table, in the current schema of the connection.
        replace : bool
            Whether a table of that name may be replaced.

        Raises
        ------
        EngineError
            The table exists and may not be replaced.
        """
        for info in self._predicates:
            name = into if len(self._predicates) == 1 else f"{into}_{info.name}"
            self.engine.write_table(name, self.atoms(info.name).drop(["truth"]), replace=replace)

    def keep(self, program: Program, records: Records, parameters: Mapping[str, object]) -> int:
        """Keep the model, the true atoms and exact clause statistics in the database; return the number of the run.

        Groundings that hold an atom and its negation count as satisfied by the evidence.
        """
        network = self.network
        run = records.begin_run("predict", parameters, None)
        listed = clause_table(program)
        shown = listed.column("clause").to_numpy()
        model = records.save_model("predict", program.model, listed, shape_table(program), origin="given")
        for info in self._predicates:
            mine = self.result.world & np.isin(network.atoms, self._ids(info))
            true = {"atom": network.atoms[mine], "example": network.example[mine], "truth": np.ones(mine.sum(), bool)}
            names = pa.array([info.name] * int(mine.sum()), pa.string())
            records.append("prediction", run, pa.table({"predicate": names, **true}))
        total, opened, violated = network.total[shown], network.open[shown], network.evidence_violated[shown]
        counted = {
            "groundings": total,
            "open": opened,
            "satisfied_by_evidence": total - opened - violated,
            "violated_by_evidence": violated,
            "n_predicted": counts(network, self.result.world)[shown],
        }
        wide = {name: pa.array(list(values), pa.decimal128(38)) for name, values in counted.items()}
        records.append("clause_statistics", run, pa.table({"clause": shown, **wide}))
        records.end_run(run, "done", model=model, timings=self.seconds)
        return run

    def _choose(self, predicate: str | None) -> PredicateInfo:
        names = [p.name for p in self._predicates]
        if predicate is None and len(names) == 1:
            return self._predicates[0]
        if predicate not in names:
            raise InputError(f"name one of the open predicates {', '.join(names)}, not {predicate!r}")
        return self._predicates[names.index(predicate)]

    def evaluate(self) -> Scores:
        """Compare with the labels.

        Returns
        -------
        Scores
            Over atoms that have a label.

        Raises
        ------
        InputError
            No atom has one.
        """
        real = ~self.network.helper
        atoms = self.network.atoms[real]
        truth, labelled = read_labels(self.engine, self.layout, atoms, None)
        if not labelled.any():
            raise InputError(
                "no predicted atom has a label to compare with: load the labels with target=True, or choose examples "
                "that have them"
            )
        predicate = np.full(len(atoms), -1, np.int64)
        for i, info in enumerate(self._predicates):
            predicate[np.isin(atoms, self._ids(info))] = i
        return score(
            truth[labelled],
            self.result.world[real][labelled],
            self.network.example[real][labelled],
            predicate=predicate[labelled],
            names=[p.name for p in self._predicates],
        )

    def _ids(self, info: PredicateInfo) -> Sequence[int]:
        assert info.atoms is not None
        data = self.engine.fetch(exp.select(column("atom")).from_(table(info.atoms)), step="read atoms")
        ids: Sequence[int] = data.column(0).to_numpy()
        return ids

    def __repr__(self) -> str:
        kinds = ", ".join(p.name for p in self._predicates)
        true = int((self.result.world & ~self.network.helper).sum())
        lines = [
            f"Prediction of {kinds}: {true:,} of {int((~self.network.helper).sum()):,} query atoms true",
            *(f"  {line}" for line in str(self.result.report).splitlines()),
        ]
        if self.unseen.combinations:
            lines.append(
                f"  {self.unseen.combinations:,} combinations of constants were never seen in training; "
                f"they touch {self.unseen.atoms:,} query atoms"
            )
        return "\n".join(lines)
