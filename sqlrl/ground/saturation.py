"""Saturation: the facts around seed atoms, depth by depth."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import GroundingLimitError, Parameter
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import rows_table
from sqlrl.logic.bias import INPUT, OUTPUT, Bias, ModePlace
from sqlrl.plan.saturation import SaturationTables, count_reached, reached
from sqlrl.wording import counted

MOST_FACTS = 10_000_000
"""Facts of a saturation, over all seeds: more than that fill the memory."""


@dataclass(frozen=True, eq=False)
class Saturated:
    """Facts around seed atoms, each once for each mode that reaches it; ordered by seed, depth, mode, arguments."""

    seed: IntArray  # shape (r,), place among the seeds that were asked for
    mode: IntArray  # shape (r,), index into the bias' body modes
    # Shape (r,): 1 for facts whose `+` arguments are all of the seed; else one more than the greatest depth at which
    # one of them became known.
    depth: IntArray
    arguments: IntArray  # shape (r, w), ids of the constants, of their own arguments' types; -1 beyond the arity


def saturate(
    engine: QueryEngine,
    layout: Layout,
    bias: Bias,  # fits the layout
    arguments: IntArray,  # shape (s, h), the constants of the seeds
    example: IntArray,  # shape (s,); of predicates with a column for the example only facts of the seed's count
    depth: int,  # layers of facts to find (Aleph's `i`)
    *,
    limit: int = MOST_FACTS,
) -> Saturated:
    """Find the facts around seed atoms, one query a depth, from the constants at the `+` places of the head on."""
    types = {name: i for i, name in enumerate(bias.types())}
    known = _Known(types, arguments, bias)
    layers: list[tuple[int, IntArray]] = []
    size, width = 0, max((mode.arity for mode in bias.body), default=0)
    with ExitStack() as stack:
        rows = pa.table({"seed": _int32(np.arange(len(arguments))), "example": _int32(example)})
        seeds = stack.enter_context(rows_table(engine, layout, rows))
        for level in range(1, depth + 1):
            if not known.fresh and level > 1:
                break
            with rows_table(engine, layout, known.table()) as shown:
                tables = SaturationTables(seeds, shown, types)
                query = reached(bias.body, level, layout, tables, most=limit - size + 1)
                if query is None:
                    break
                found = _matrix(engine.fetch(query, step=f"saturate at depth {level}"))
                if size + len(found) > limit:
                    raise _too_many(engine, layout, bias, tables, level, len(arguments), limit)
            size += len(found)
            layers.append((level, found))
            known.learn(found, level)
    return _ordered(layers, width)


def _ordered(layers: list[tuple[int, IntArray]], width: int) -> Saturated:
    """Put the facts of all depths in order."""
    rows = np.concatenate([np.zeros((0, width + 2), np.int64), *(found for _, found in layers)])
    depth = np.concatenate([np.zeros(0, np.int64), *(np.full(len(found), level) for level, found in layers)])
    order = np.lexsort([*rows[:, :1:-1].T, rows[:, 1], depth, rows[:, 0]])
    rows = rows[order]
    return Saturated(rows[:, 0].copy(), rows[:, 1].copy(), depth[order], rows[:, 2:].copy())


class _Known:
    """The constants that are known of each seed."""

    def __init__(self, types: dict[str, int], arguments: IntArray, bias: Bias) -> None:
        self._types, self._bias = types, bias
        self._rows = np.zeros((0, 3), np.int64)
        self._depth = np.zeros(0, np.int64)
        self.fresh = False
        seeds = np.arange(len(arguments), dtype=np.int64)
        self._add([(seeds, place, arguments[:, i]) for i, place in self._places(bias.head.places, INPUT)], 0)

    def _places(self, places: tuple[ModePlace, ...], kind: str) -> list[tuple[int, int]]:
        """Return the arguments that have a kind of place, with the numbers of their types."""
        return [(i, self._types[place.type]) for i, place in enumerate(places) if place.kind == kind]

    def learn(self, facts: IntArray, depth: int) -> None:
        """Take what facts make known."""
        new = []
        for number, mode in enumerate(self._bias.body):
            rows = facts[facts[:, 1] == number]
            new += [(rows[:, 0], kind, rows[:, 2 + i]) for i, kind in self._places(mode.places, OUTPUT)]
        self._add(new, depth)

    def _add(self, new: list[tuple[IntArray, int, IntArray]], depth: int) -> None:
        rows = [np.stack([seed, np.full(len(seed), kind), identity], axis=1) for seed, kind, identity in new]
        before = len(self._rows)
        every = np.concatenate([self._rows, *rows])
        # The first of equal rows stays: what was known before. Ids have 31 bits.
        codes = ((every[:, 0] * len(self._types) + every[:, 1]) << 31) | every[:, 2]
        _, first = np.unique(codes, return_index=True)
        kept = np.sort(first)
        self._rows = every[kept]
        self._depth = np.concatenate([self._depth, np.full(len(kept) - before, depth)])
        self.fresh = len(kept) > before

    def table(self) -> pa.Table:
        """Return what is known as a table; see `SaturationTables`."""
        columns = {name: _int32(self._rows[:, i]) for i, name in enumerate(("seed", "type", "id"))}
        return pa.table({**columns, "depth": _int32(self._depth)})


def _too_many(
    engine: QueryEngine, layout: Layout, bias: Bias, tables: SaturationTables, depth: int, seeds: int, limit: int
) -> GroundingLimitError:
    """Return the error that says which mode explodes."""
    query = reached(bias.body, depth, layout, tables)
    assert query is not None
    counts = engine.fetch(count_reached(query), step="count what modes reach")
    mode, n = bias.body[counts.column("mode")[0].as_py()], counts.column("n")[0].as_py()
    line = f"{bias.path}:{mode.line}: " if mode.line else ""
    return GroundingLimitError(
        f"{line}the mode {mode} explodes: at depth {depth} it reaches {counted(n, 'fact')} around {counted(seeds, 'atom')}, "
        f"and the limit is {limit:,} for all modes: give it a recall, use a constant (#) in place of an output (-), lower the "
        f"depth, or raise {Parameter('limit')}"
    )


def _matrix(data: pa.Table) -> IntArray:
    matrix = np.empty((data.num_rows, data.num_columns), np.int64)
    for i in range(data.num_columns):
        matrix[:, i] = data.column(i).to_numpy()
    return matrix


def _int32(values: IntArray) -> pa.Array:
    return pa.array(values.astype(np.int32))
