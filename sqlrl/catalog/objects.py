"""Objects of Python as facts come in them: rows, frames and Arrow data, each made into something DuckDB reads without a loss."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa

from sqlrl.arguments import described, given, instead, refuse
from sqlrl.arrow import array
from sqlrl.catalog.values import duration_text, kind_of, text_of
from sqlrl.errors import InputError, LoadError, brief
from sqlrl.wording import check_characters, counted

_SCALARS = (str, Real, Decimal, date, time, timedelta, UUID, np.bool_, np.datetime64, np.timedelta64)

# pandas is optional, so its objects are known by the names of their types.
_NOTHING = ("NAType", "NaTType")
_NAMED = ("Period", "Interval")

_KINDS = b"sqlrl kinds"
"""Metadata of a column of texts: what kinds its values were of (`catalog.values.column_kind`), with blanks between them."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table, and the kinds of values that its texts stand for, "" if its type says it."""

    data: pa.Array | pa.ChunkedArray
    kinds: str = ""


def readable(source: Any) -> tuple[Any, str]:
    """Return what DuckDB can read of an object, and what messages call it; an object or rows that it cannot read are a LoadError."""
    # What DuckDB would not read exactly, such as integers of 128 bits, periods or durations in nanoseconds, becomes text.
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source, "a relation"
    if isinstance(source, pa.Table):
        return _exact(source, "an Arrow table"), "an Arrow table"
    if isinstance(source, pa.RecordBatch):
        return _exact(pa.Table.from_batches([source]), "an Arrow batch"), "an Arrow batch"
    if isinstance(source, pa.RecordBatchReader):
        return _exact(_read(source), "an Arrow reader"), "an Arrow reader"
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return _exact(pa.table({"column0": source}), "an Arrow array"), "an Arrow array"
    modules = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    if "pandas" in modules and hasattr(source, "iloc"):
        return _pandas(source, "a pandas frame"), "a pandas frame"
    if "polars" in modules:
        return _polars(source, "a polars frame"), "a polars frame"
    if isinstance(source, io.IOBase):
        raise LoadError(
            "cannot load from an open file, whose lines would be constants: pass its path, or the rows that it holds as tuples."
        )
    if isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        # A row is a sequence, an array, a mapping, or the one value that it would hold.
        return _rows(source)
    raise LoadError(f"cannot load from {described(source)}: {instead('something to load', source)}.")


def registrable(name: object, data: Any) -> Any:
    """Return what DuckDB can read of an Arrow table, a frame or a result of ours, which are to be called `name`."""
    if not isinstance(name, str):
        raise refuse("the name of a table", name)
    check_characters(name, "the name")
    if not name.strip() or set(name) & set('."\0'):
        raise InputError(
            f"{name!r} is no name of a table: give one without a dot or a quote, by which SQL can call it."
        )
    if given(data) == "Table":
        data = data.to_arrow()
    libraries = {kind.__module__.split(".")[0] for kind in type(data).__mro__}
    if not isinstance(data, pa.Table | pa.RecordBatch) and not libraries & {"pandas", "polars"}:
        raise refuse("an Arrow table or a frame", data)
    shown, label = readable(data)
    if not len(shown.columns):
        raise InputError(f"{label} without columns is no table of SQL: give one that has some.")
    return shown


def column_kinds(data: Any) -> dict[str, str]:
    """Return the kinds of values that columns of texts stand for, of those columns that say it."""
    if not isinstance(data, pa.Table):
        return {}
    said = {field.name: (field.metadata or {}).get(_KINDS, b"").decode() for field in data.schema}
    return {name: kinds for name, kinds in said.items() if kinds}


# ---- rows --------------------------------------------------------------------------------------------


def _rows(rows: Iterable[Any]) -> tuple[pa.Table, str]:
    """Return rows as an Arrow table, and what messages call them; the first row says which values all have."""
    data: list[Sequence[Any]] = []
    names: list[str] = []
    named, label = False, "the tuples"
    for number, row in enumerate(rows, start=1):
        keys, values = _row(row)
        if not data:
            names = keys or [f"column{i}" for i in range(len(values))]
            named, label = bool(keys), "the rows" if keys else label
            if len(set(names)) < len(names):
                raise LoadError(f"{label} name two values alike ({', '.join(names)}): give each a name of its own.")
        elif named != bool(keys):
            one, other = (1, number) if named else (number, 1)
            raise LoadError(
                f"row {one} of {label} names its values and row {other} does not: make all of them tuples or all mappings."
            )
        elif not keys and len(values) != len(names):
            raise LoadError(
                f"row {number} of {label} has {counted(len(values), 'value')}, row 1 has {len(names)}: make them equally long."
            )
        elif keys and keys != names:
            if sorted(keys) != sorted(names):
                raise LoadError(
                    f"row {number} of {label} has the values {', '.join(keys)}, row 1 has {', '.join(names)}: name them alike in "
                    "every row, None where there is none."
                )
            values = [values[keys.index(name)] for name in names]
        data.append(values)
    if not names:
        # Rows without values are still rows, which a table keeps if all its columns are taken away.
        return pa.table({"none": pa.nulls(len(data))}).select([]), label
    return _table(
        names, [_array([row[i] for row in data], f"as value {i + 1}", label) for i in range(len(names))]
    ), label


def _row(row: Any) -> tuple[list[str], Sequence[Any]]:
    """Return the names (none if only their order counts) and the values of a row; what is none is its only value."""
    if isinstance(row, tuple | list):
        return [], row
    if isinstance(row, np.void) and row.dtype.names:
        return list(row.dtype.names), [row[name] for name in row.dtype.names]
    if hasattr(row, "keys") and hasattr(row, "__getitem__"):
        # Mappings, and rows of databases and frames, which are none but have names as well.
        keys = list(row.keys())
        return list(map(str, keys)), [row[key] for key in keys]
    sequence = isinstance(row, Sequence) and not isinstance(row, str | bytes | bytearray | memoryview)
    if sequence or (isinstance(row, np.ndarray) and row.ndim):
        return [], tuple(row)
    return [], (row,)


def _table(names: Sequence[str], columns: Sequence[_Column]) -> pa.Table:
    """Return columns as a table that says of what kinds their values were; names may repeat."""
    fields = [
        pa.field(name, each.data.type, metadata={_KINDS: each.kinds.encode()} if each.kinds else None)
        for name, each in zip(names, columns, strict=True)
    ]
    return pa.Table.from_arrays([each.data for each in columns], schema=pa.schema(fields))


def _array(values: list[Any], where: str, label: str) -> _Column:
    """Return a column (`where` in messages) of booleans or floats if all its values are, else of texts; missing values become NULL."""
    kinds = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, pa.Scalar) for kind in kinds):
        values = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
    strange = {kind for kind in kinds if not issubclass(kind, _SCALARS) and kind.__name__ not in (*_NOTHING, *_NAMED)}
    if strange:
        number = next(i for i, value in enumerate(values, start=1) if type(value) in strange)
        raise LoadError(
            f"row {number} of {label} has an object of type {type(values[number - 1]).__name__} {where}, which names "
            "no constant: convert it to text or numbers."
        )
    if not all(issubclass(kind, str | int) for kind in kinds):
        values = [None if _missing(value) else value for value in values]
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return _Column(array([None if v is None else bool(v) for v in values], pa.bool_()))
    if kinds and all(issubclass(kind, float) for kind in kinds):
        return _Column(array(values, pa.float64()))
    examples = {type(value): value for value in values if value is not None}
    found = " ".join(sorted(set(map(kind_of, examples.values()))))
    texts = [None if v is None else text_of(v) for v in values]
    try:
        return _Column(array(texts, pa.string()), found)
    except UnicodeEncodeError as error:
        number = next(i for i, text in enumerate(texts, start=1) if text is not None and not _unicode(text))
        raise LoadError(
            f"row {number} of {label} has {texts[number - 1]!r} {where}, which no database can store: half a character "
            "(a surrogate) comes from reading text in another encoding than it was written in."
        ) from error


def _unicode(text: str) -> bool:
    """Return True for a text without surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _missing(value: Any) -> bool:
    """Return True for what stands where frames and arrays have no value."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in _NOTHING


# ---- Arrow data and frames ---------------------------------------------------------------------------


def _read(reader: pa.RecordBatchReader) -> pa.Table:
    """Return all rows of a reader."""
    try:
        return reader.read_all()
    except pa.ArrowException as error:
        raise LoadError(f"an Arrow reader cannot be read: {brief(str(error))}") from error


def _exact(table: pa.Table, label: str) -> pa.Table:
    """Return a table with texts in place of what DuckDB does not read exactly; `label` is what messages call it."""
    odd = {i for i, field in enumerate(table.schema) if _is_odd(field.type)}
    if not odd:
        return table
    columns = []
    for i, field in enumerate(table.schema):
        data = table.column(i)
        columns.append(_texts(data, f"in column {field.name!r}", label) if i in odd else _Column(data))
    return _table(table.column_names, columns)


def _is_odd(kind: pa.DataType) -> bool:
    """Return True for a type whose values DuckDB refuses or cuts."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return pa.types.is_run_end_encoded(kind) or _is_odd(kind.value_type)
    nanoseconds = pa.types.is_duration(kind) and kind.unit == "ns"
    wide = pa.types.is_decimal256(kind) or pa.types.is_float16(kind)
    return bool(nanoseconds or wide or kind == pa.month_day_nano_interval())


def _texts(data: pa.ChunkedArray, where: str, label: str) -> _Column:
    """Return a column of an odd type (`_is_odd`) as texts, or of another type that it only encodes as it is."""
    kind = data.type
    if pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind):
        import pyarrow.compute as pc

        # Arrow cannot cast these between all types, and decodes one chunk after the other.
        decode = pc.run_end_decode if pa.types.is_run_end_encoded(kind) else pc.dictionary_decode
        decoded = pa.chunked_array([decode(chunk) for chunk in data.chunks], kind.value_type)
        return _texts(decoded, where, label) if _is_odd(kind.value_type) else _Column(decoded)
    if pa.types.is_duration(kind):
        numbers = data.cast(pa.int64()).to_pylist()
        return _Column(
            pa.array([None if n is None else duration_text(n, kind.unit) for n in numbers], pa.string()), "duration"
        )
    if pa.types.is_float16(kind):
        # Arrow makes floats of Python of them, which say more digits than they have.
        halves = [None if v is None else np.float16(v) for v in data.to_pylist()]
        return _array(halves, where, label)
    if kind == pa.month_day_nano_interval():
        return _Column(
            pa.array([None if v is None else _interval(*v) for v in data.to_pylist()], pa.string()), "duration"
        )
    return _array(data.to_pylist(), where, label)


def _interval(months: int, days: int, nanoseconds: int) -> str:
    """Return the text of a calendar interval, whose days have 24 hours."""
    parts = [text_of(np.timedelta64(months, "M"))] if months else []
    rest = days * 86_400_000_000_000 + nanoseconds
    return " ".join([*parts, *([duration_text(rest, "ns")] if rest or not months else [])])


def _pandas(frame: Any, label: str) -> Any:
    """Return a frame or series of pandas as it is if DuckDB reads it exactly, else as Arrow, with texts for what it does not."""
    if not hasattr(frame, "columns"):
        frame = frame.to_frame("column0" if frame.name is None else frame.name)
    series = [frame.iloc[:, i] for i in range(frame.shape[1])]
    odd = [_is_odd_series(each) for each in series]
    if not any(odd):
        return frame
    names, columns = [str(name) for name in frame.columns], []
    for name, each, strange in zip(names, series, odd, strict=True):
        try:
            columns.append(
                _series(each, f"in column {name!r}", label) if strange else _Column(pa.array(each, from_pandas=True))
            )
        except (pa.ArrowException, TypeError) as error:
            raise LoadError(
                f"column {name!r} of {label} has values of type {each.dtype}, which cannot be read: convert it to text or numbers. "
                f"({brief(str(error))})"
            ) from error
    return _exact(_table(names, columns), label)


def _is_odd_series(series: Any) -> bool:
    """Return True for a series of pandas that DuckDB refuses, cuts, or writes otherwise than values of other sources."""
    kind = series.dtype
    name, of_numpy = str(kind), isinstance(kind, np.dtype)
    if of_numpy and kind.kind == "O":
        # As it looks at them itself, all objects are strings.
        return _inferred(series) not in ("string", "empty")
    if type(kind).__name__ == "CategoricalDtype":
        return _is_odd_series(kind.categories.to_series())
    if type(kind).__name__ in ("PeriodDtype", "IntervalDtype", "SparseDtype", "ArrowDtype"):
        return type(kind).__name__ != "ArrowDtype" or _is_odd(kind.pyarrow_dtype)
    # Nanoseconds of zoned times and durations would be cut.
    nanoseconds = name.startswith("datetime64[ns, ") or name == "timedelta64[ns]"
    return nanoseconds or (of_numpy and (kind.kind == "c" or kind == np.float16))


def _inferred(series: Any) -> str:
    """Return what pandas takes objects for."""
    import pandas as pd

    return str(pd.api.types.infer_dtype(series, skipna=True))


def _series(series: Any, where: str, label: str) -> _Column:
    """Return an odd series (`_is_odd_series`) as a column."""
    kind = type(series.dtype).__name__
    if kind == "SparseDtype":
        return _Column(pa.array(series.sparse.to_dense(), from_pandas=True))
    if kind == "ArrowDtype" or str(series.dtype).startswith(("datetime64", "timedelta64")):
        return _Column(pa.array(series, from_pandas=True))
    if series.dtype == np.float16:
        return _array([np.float16(value) for value in series], where, label)
    return _array(series.astype(object).tolist(), where, label)


def _polars(frame: Any, label: str) -> pa.Table:
    """Return a frame, lazy frame or series of polars as Arrow, with texts for what has no Arrow type."""
    frame = frame.collect() if hasattr(frame, "collect") else frame
    if not hasattr(frame, "columns"):
        frame = frame.alias(frame.name or "column0").to_frame()
    columns = []
    for name in frame.columns:
        series = frame.get_column(name)
        kind = str(series.dtype)
        try:
            if kind in ("Int128", "UInt128"):
                columns.append(_Column(_wide(series), "integer"))
            elif kind == "Object":
                columns.append(_array(series.to_list(), f"in column {name!r}", label))
            else:
                columns.append(_Column(series.to_arrow()))
        except pa.ArrowException as error:
            raise LoadError(
                f"column {name!r} of {label} has values of type {kind}, which cannot be read: convert it to text or numbers. "
                f"({brief(str(error))})"
            ) from error
    return _exact(_table(frame.columns, columns), label)


def _wide(series: Any) -> pa.Array:
    """Return integers of 128 bits as texts."""
    return pa.array([None if value is None else str(value) for value in series.to_list()], pa.string())
