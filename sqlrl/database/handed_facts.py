"""Facts that are handed over as rows or Arrow tables: their constants as ids, and back to names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from sqlrl.catalog.layout import Layout, PredicateInfo
from sqlrl.catalog.values import text_of
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.array_joins import ArrayTable, stacked
from sqlrl.ground.array_program import GivenFacts, TypeNames, example_place
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.wording import counted, did_you_mean, nearest_names, shortened

EXAMPLE = "\x00example"
"""In place of a type: what the examples are called where they stand in a column of their own."""


@dataclass(frozen=True, eq=False)
class HandedFacts:
    """Facts by ids, and the names of the constants that the scorer did not know."""

    given: GivenFacts
    known: Mapping[str, TypeNames]
    fresh: Mapping[str, Sequence[str]]  # by type the names of the ids after the known ones

    def names(self, kind: str, ids: IntArray) -> pa.Array:
        """Return the names of constants of a type."""
        known = self.known[kind].names if kind in self.known else []
        fresh, first = self.fresh.get(kind, ()), len(known)
        values, place = np.unique(ids, return_inverse=True)
        names = [known[i] if i < first else fresh[i - first] for i in values.tolist()]
        return pa.array(names, pa.string()).take(pa.array(place))


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of names: as Python's texts, or as Arrow's distinct texts and the place of each row's among them."""

    distinct: Sequence[str]
    rows: Sequence[str] | IntArray
    size: int

    def ids(self, of: Callable[[str], int]) -> IntArray:
        """Return the ids of the names."""
        if isinstance(self.rows, np.ndarray):
            return np.fromiter(map(of, self.distinct), np.int64, len(self.distinct))[self.rows]
        return np.fromiter(map(of, self.rows), np.int64, self.size)


@dataclass(frozen=True, eq=False)
class _Rows:
    info: PredicateInfo
    columns: list[_Column]  # as in tables of predicates: the example first where it has a column of its own
    truth: BoolArray | None
    probability: FloatArray | None


def read_facts(
    layout: Layout, known: Mapping[str, TypeNames], facts: Mapping[str, Any], example: str | int | None
) -> HandedFacts:
    """Read facts by predicate: rows of values in the order of the predicate's arguments, or tables with such columns."""
    if not isinstance(facts, Mapping):
        raise InputError(
            f"facts must be a dictionary of predicates and their rows, such as {{'Token': [...]}}, not {shortened(repr(facts))}."
        )
    read = [_read(_info(layout, name), rows, example) for name, rows in facts.items()]
    by_kind: dict[str, list[_Column]] = {}
    for rows in read:
        for kind, column in zip(_kinds(rows.info), rows.columns, strict=True):
            by_kind.setdefault(kind, []).append(column)
    lookup: dict[str, Callable[[str], int]] = {}
    fresh: dict[str, Sequence[str]] = {}
    for kind, columns in by_kind.items():
        ids, fresh[kind] = _numbered(known.get(kind), columns)
        lookup[kind] = ids.__getitem__
    examples = len(fresh.get(layout.example_type or EXAMPLE, ()))
    closed: dict[str, ArrayTable] = {}
    true: dict[str, ArrayTable] = {}
    false: dict[str, ArrayTable] = {}
    prior: dict[str, tuple[ArrayTable, FloatArray]] = {}
    for rows in read:
        name, size = rows.info.name, rows.columns[0].size if rows.columns else 0
        kinds = _kinds(rows.info)
        table = ArrayTable([column.ids(lookup[kind]) for kind, column in zip(kinds, rows.columns, strict=True)], size)
        if not rows.info.open:
            closed[name] = table.distinct()
        elif rows.probability is not None:
            true[name], false[name], prior[name] = _soft(table, rows.probability)
        else:
            truth = np.ones(size, np.bool_) if rows.truth is None else rows.truth
            true[name] = table.take(np.flatnonzero(truth)).distinct()
            false[name] = table.take(np.flatnonzero(~truth)).distinct()
    for name, table in true.items():
        _check_contradictions(name, table, false[name])
    for info in layout.predicates.values():
        if not info.open and info.name not in closed and example_place(layout, info) is not None:
            width = len(info.types) + info.example_column
            closed[info.name] = ArrayTable([np.zeros(0, np.int64)] * width, 0)
    values = {}
    for kind, type_info in layout.types.items():
        if not type_info.local and kind != layout.example_type:
            values[kind] = _values(known[kind], by_kind.get(kind, ()), lookup.get(kind))
    given = GivenFacts(np.arange(examples, dtype=np.int64), values, closed, true, false, prior)
    return HandedFacts(given, known, fresh)


def _info(layout: Layout, name: str) -> PredicateInfo:
    """Return a predicate whose facts may be handed over."""
    info = layout.predicates.get(name)
    if info is None:
        near = did_you_mean(nearest_names(name, layout.predicates)) or f": it has {', '.join(layout.predicates)}."
        raise InputError(f"the scorer's model has no predicate {name!r}{near}")
    if not info.open and example_place(layout, info) is None:
        raise InputError(
            f"{name} has no argument for the example, so that its facts are part of the scorer: leave them out, or load them "
            "and compile the model again."
        )
    return info


def _kinds(info: PredicateInfo) -> tuple[str, ...]:
    return (EXAMPLE, *info.types) if info.example_column else info.types


def _read(info: PredicateInfo, rows: Any, example: str | int | None) -> _Rows:
    """Return the columns of a predicate's rows in the order of its tables."""
    names: Sequence[str] = ()
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    elif not isinstance(rows, pa.Table) and hasattr(rows, "__arrow_c_stream__"):
        rows = pa.table(rows)  # a frame
    if isinstance(rows, pa.Table):
        names, columns = rows.column_names, rows.columns
    else:
        columns = _transposed(info, rows)
    width = len(info.types) + info.example_column
    if not columns and not isinstance(rows, pa.Table):
        return _Rows(info, [_Column((), (), 0)] * width, None, None)
    more = len(columns) - width
    if more not in ((0, 1) if info.open else (0,)):
        beside = " and one for its truth or probability" if info.open else ""
        raise InputError(
            f"{info.name} takes {counted(width, 'column')}, one for each argument{' and one for the example' if info.example_column else ''}"
            f"{beside}, not {len(columns)}."
        )
    columns = list(columns)
    if info.example_column and example is not None:
        columns.insert(0, columns.pop(_place(info, example, names, len(columns))))
    truth = probability = None
    if more:
        truth, probability = _truth(info, columns.pop())
    return _Rows(info, [_texts(info, i, column) for i, column in enumerate(columns)], truth, probability)


def _transposed(info: PredicateInfo, rows: Any) -> list[Sequence[Any]]:
    """Return the columns of rows."""
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise InputError(f"{info.name}: {shortened(repr(rows))} must be a list of rows or an Arrow table.")
    try:
        return list(zip(*rows, strict=True))
    except (TypeError, ValueError):
        raise InputError(
            f"{info.name}: each row must be a tuple with a value for each argument, all of one length."
        ) from None


def _place(info: PredicateInfo, example: str | int, names: Sequence[str], width: int) -> int:
    """Return the column of the examples."""
    if isinstance(example, str) and example in names:
        return list(names).index(example)
    if isinstance(example, int) and not isinstance(example, bool) and 0 <= example < width:
        return example
    known = ", ".join(names) or f"0 to {width - 1}"
    raise InputError(f"{Parameter('example', example)} is no column of {info.name}: choose {known}.")


def _texts(info: PredicateInfo, place: int, column: Any) -> _Column:
    """Return a column of values as names."""
    if isinstance(column, pa.ChunkedArray):
        if column.null_count:
            raise _missing(info, place)
        if not len(column):
            return _Column((), (), 0)
        coded = column.unify_dictionaries().combine_chunks()
        if not pa.types.is_dictionary(coded.type):
            coded = coded.dictionary_encode()
        distinct = coded.dictionary.to_pylist()
        names = distinct if pa.types.is_string(coded.dictionary.type) else list(map(text_of, distinct))
        return _Column(names, np.asarray(coded.indices.to_numpy(), dtype=np.int64), len(column))
    kinds = set(map(type, column))
    if type(None) in kinds:
        raise _missing(info, place)
    if kinds != {str}:
        column = tuple(map(text_of, column))
    return _Column(tuple(dict.fromkeys(column)), column, len(column))


def _missing(info: PredicateInfo, place: int) -> InputError:
    return InputError(f"{info.name}: column {place + 1} has missing values; leave those rows out.")


def _truth(info: PredicateInfo, column: Any) -> tuple[BoolArray | None, FloatArray | None]:
    """Return a last column of an open predicate as truth values or as probabilities."""
    values = column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
    if set(map(type, values)) <= {bool, np.bool_}:
        return np.array(values, np.bool_), None
    try:
        found = np.array(values, np.float64)
    except (TypeError, ValueError):
        found = np.array([np.nan])
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(f"{info.name}: the last column must be true or false, or a probability from 0 to 1.")
    return None, found


def _soft(table: ArrayTable, probability: FloatArray) -> tuple[ArrayTable, ArrayTable, tuple[ArrayTable, FloatArray]]:
    """Return what probabilities say: rows that are true, that are false, and the others with their log-odds."""
    some = np.flatnonzero((probability > 0) & (probability < 1))
    odds: FloatArray = np.log(probability[some] / (1 - probability[some]))
    certain = [table.take(np.flatnonzero(probability == value)).distinct() for value in (1.0, 0.0)]
    return certain[0], certain[1], (table.take(some), odds)


def _check_contradictions(name: str, true: ArrayTable, false: ArrayTable) -> None:
    if true.size and false.size and stacked([true, false]).distinct().size < true.size + false.size:
        raise InputError(f"{name}: some rows are given both true and false; leave one of them out.")


def _numbered(known: TypeNames | None, columns: Sequence[_Column]) -> tuple[dict[str, int], list[str]]:
    """Return the ids of the names in some columns, and the new names in the order of their ids, which come after the known ones."""
    distinct = dict.fromkeys(chain.from_iterable(column.distinct for column in columns))
    first = len(known.names) if known is not None else 0
    ids: dict[str, int] = {}
    if known is not None:
        # Lookups of the names at hand, not of all constants of the type.
        found = dict(zip(distinct, map(known.ids.get, distinct), strict=True))
        new = [name for name, number in found.items() if number is None]
        ids = {name: number for name, number in found.items() if number is not None}
    else:
        new = list(distinct)
    new.sort()
    ids.update(zip(new, range(first, first + len(new)), strict=True))
    return ids, new


def _values(known: TypeNames, columns: Sequence[_Column], lookup: Callable[[str], int] | None) -> IntArray:
    """Return the constants of a global type: those of the data, and those that these facts name."""
    domain: IntArray = np.arange(known.domain, dtype=np.int64)
    if lookup is None:
        return domain
    named = np.unique(np.concatenate([column.ids(lookup) for column in columns] or [domain[:0]]))
    beyond = named[named >= known.domain]
    return np.concatenate([domain, beyond]) if len(beyond) else domain
