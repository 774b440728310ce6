"""Exact counts of a model's clauses in worlds: what the data say, what was predicted, what a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.database.models import Models, check_limit_option
from sqlrl.database.prediction import Prediction
from sqlrl.database.verb import verb
from sqlrl.database.worlds import Worlds
from sqlrl.ground import counts
from sqlrl.ground.clauses import clause_table
from sqlrl.ground.counts import GROUNDING_LIMIT
from sqlrl.ground.program import Program
from sqlrl.logic.model import Model
from sqlrl.report import Table


class Counting(Models):
    """`Models`, and counts of their clauses in worlds.

    Parameters
    ----------
    catalog : Catalog
    console : Console, optional
        As for `Data`.
    """

    @verb
    def count(
        self,
        model: Model,
        *,
        world: Any = "observed",
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Table:
        r"""Count the true groundings of every clause in a world, exactly and without enumerating them where that can be avoided.

        Parameters
        ----------
        model : Model
        world : "observed", Prediction, source or mapping of predicate to source
            "observed" is the labels. A source is anything that `load` takes, with the column `atom` (ids of the true query
            atoms), or with the arguments of the true query atoms as `predict(into=...)` writes them; of several open
            predicates a mapping has such a source for each: `{"Smokes": ..., "Cancer": ...}`. A column `truth`
            beside the arguments marks the true ones.
        examples : list of names, query, relation or frame, optional
            By default those of a prediction that is the world, else all.
        limit : int or None
            The most groundings that counting may enumerate, which it does where many positive literals of a clause share variables.
        drop, query : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `clause`, `text`, `n`, `groundings`, `weight`; the counts are exact integers.

        Raises
        ------
        InputError
            The world has rows that are no query atoms, query atoms have no label, or the prediction is of other examples.
        GroundingLimitError
            Names the clause, where it stands, and the number of groundings.

        Notes
        -----
        What counts is the formula as written, but for a hard one with quantifiers inside. That is taken apart into the clauses of
        its normal form, since all that matters is whether they hold, and that costs no helper atoms: a FORALL inside gives them
        grounding variables, so that `groundings` may be more than those of the formula, and n is what is left of them when each
        ground clause that the world violates takes one away, which may be below 0. It is all of them exactly where the formula
        holds everywhere. To count such a formula as written, give it a weight.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> db.count(model, world=[("Anna",)])["n"]
        Traceback (most recent call last):
        sqlrl.errors.InputError: a world of Smokes has the columns person, as predict(into=...) writes them, not column0
        >>> db.count(model, world="select 'Anna' as person")["n"]
        [8]
        """
        check_limit_option(limit)
        with self._counting(model, [world], examples, drop, query) as (program, chosen, worlds):
            with worlds.shown(world) as shown:
                n = counts.true_counts(program, shown, chosen, limit=limit)
            total = counts.groundings(program, chosen)
            columns = {"n": n, "groundings": total}
            return _count_table(program, columns, f"true groundings in {_world_name(world)}")

    @verb
    def count_difference(
        self,
        model: Model,
        world: Any,
        other: Any = "observed",
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        drop: Iterable[str] = (),
        query: Iterable[str] = (),
    ) -> Table:
        r"""Count delta n of every clause: n in one world minus n in another, touching only groundings of atoms that differ.

        Parameters
        ----------
        model : Model
        world, other : "observed", Prediction, source or mapping of predicate to source
            As in `count`.
        examples : list of names, query, relation or frame, optional
            By default those of a prediction that is one of the worlds, else all.
        limit : int or None
            As in `count`.
        drop, query : iterable of str
            As in `ground`.

        Returns
        -------
        Table
            Columns `clause`, `text`, `delta_n`, `weight`; delta n is an exact integer. See `count` for hard formulas with
            quantifiers inside.

        Raises
        ------
        InputError, GroundingLimitError
            As in `count`.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
        >>> text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"
        >>> model = sqlrl.parse_mln(text, query=["Smokes"])
        >>> anna, nobody = "select 'Anna' as person", "select 'Anna' as person where false"
        >>> db.count_difference(model, anna, nobody)["delta_n"]
        [-1]
        """
        check_limit_option(limit)
        with self._counting(model, [world, other], examples, drop, query) as (program, chosen, worlds):
            with worlds.shown(world) as first, worlds.shown(other) as second:
                change = counts.count_differences(program, first, second, chosen, limit=limit)
            title = f"n in {_world_name(world)} minus n in {_world_name(other)}"
            return _count_table(program, {"delta_n": change}, title)

    @contextmanager
    def _counting(
        self, model: Model, worlds: Sequence[Any], examples: Any, drop: Iterable[str], query: Iterable[str]
    ) -> Iterator[tuple[Program, TableName | None, Worlds]]:
        """Hold a model against chosen examples, with its templates expanded, to count in worlds."""
        predicted = next((world for world in worlds if isinstance(world, Prediction)), None)
        working, bound = self.console.progress("counting"), self.program(model, drop=drop, query=query, closed=True)
        with working, bound as program, ExitStack() as stack:
            if examples is None and predicted is not None:
                chosen: TableName | None = stack.enter_context(program.only(predicted.examples))
            else:
                chosen = stack.enter_context(self.only(examples))
            program.expand(chosen)
            yield program, chosen, Worlds(self.catalog, program, chosen)


def _count_table(program: Program, columns: Mapping[str, counts.Counts], title: str) -> Table:
    """Return exact counts of the clauses that users see, with their texts and weights."""
    listed = clause_table(program)
    ids = listed.column("clause").to_numpy()
    data = {name: listed.column(name) for name in ("clause", "text")}
    data |= {name: _decimals(values[ids]) for name, values in columns.items()}
    return Table(pa.table({**data, "weight": listed.column("weight")}), title=title)


def _world_name(world: Any) -> str:
    """Return what titles call a world."""
    if isinstance(world, Prediction):
        return "the predicted world"
    return "the observed world" if isinstance(world, str) and world == "observed" else "the given world"


def _decimals(values: npt.NDArray[np.object_]) -> pa.Array:
    """Return exact counts as int64, or as decimal128 where one does not fit."""
    small = all(-(2**63) <= v < 2**63 for v in values)
    return pa.array(list(values), pa.int64() if small else pa.decimal128(38))
