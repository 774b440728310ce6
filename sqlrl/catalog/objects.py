"""Objects of Python as what DuckDB reads: frames and Arrow data as they are, rows of values as Arrow tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa

from sqlrl.errors import LoadError
from sqlrl.wording import counted

_SCALARS = (str, Real, Decimal, date, time, timedelta, UUID, np.bool_, np.datetime64, np.timedelta64)
# pandas is optional, so its missing values are known by the names of their types.
_NOTHING = ("NAType", "NaTType")


def readable(source: Any) -> tuple[Any, str]:
    """Return what DuckDB can read of an object, and what messages call it.

    Parameters
    ----------
    source : Arrow table, pandas or polars frame, relation, or iterable of rows
        A row is a sequence, an array or a mapping, or the one value that it would hold.

    Raises
    ------
    LoadError
        If the object is of an unknown kind, or rows differ in their values or hold what is no value.

    Examples
    --------
    >>> table, label = readable([{"person": "Anna", "age": 7}, {"age": None, "person": "Bob"}])
    >>> label, table.to_pylist()
    ('the rows', [{'person': 'Anna', 'age': '7'}, {'person': 'Bob', 'age': None}])
    """
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source, "a relation"
    if isinstance(source, pa.Table):
        return source, "an Arrow table"
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source]), "an Arrow batch"
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all(), "an Arrow reader"
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return pa.table({"column0": source}), "an Arrow array"
    modules = {kind.__module__.split(".")[0] for kind in type(source).__mro__}
    if "pandas" in modules and hasattr(source, "iloc"):
        return source, "a pandas frame"
    if "polars" in modules:
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow(), "a polars frame"
    if isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        return _rows(source)
    raise LoadError(
        f"cannot load from an object of type {type(source).__name__}: pass a path, an Arrow table, a pandas or polars frame, a DuckDB relation, "
        "the name of a table, a query, or an iterable of tuples."
    )


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
    columns = {name: _array([row[i] for row in data], i, label) for i, name in enumerate(names)}
    if not columns:
        # Rows without values are still rows, which a table keeps if all its columns are taken away.
        return pa.table({"none": pa.nulls(len(data))}).select([]), label
    return pa.table(columns), label


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


def _array(values: list[Any], position: int, label: str) -> pa.Array:
    """Return a column of booleans or floats if all its values are, else of texts; missing values become NULL.

    Raises
    ------
    LoadError
        If a value is none that a text says, as a list or bytes.
    """
    kinds = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, pa.Scalar) for kind in kinds):
        values = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
    strange = {kind for kind in kinds if not issubclass(kind, _SCALARS) and kind.__name__ not in _NOTHING}
    if strange:
        number = next(i for i, value in enumerate(values, start=1) if type(value) in strange)
        raise LoadError(
            f"row {number} of {label} has an object of type {type(values[number - 1]).__name__} as value {position + 1}, which names "
            "no constant: convert it to text or numbers."
        )
    if not all(issubclass(kind, str | int) for kind in kinds):
        values = [None if _missing(value) else value for value in values]
    if kinds and all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return pa.array([None if v is None else bool(v) for v in values], pa.bool_())
    if kinds and all(issubclass(kind, float) for kind in kinds):
        return pa.array(values, pa.float64())
    texts = [None if v is None else _text(v) for v in values]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        number = next(i for i, text in enumerate(texts, start=1) if text is not None and not _unicode(text))
        raise LoadError(
            f"row {number} of {label} has {texts[number - 1]!r} as value {position + 1}, which no database can store: half a character "
            "(a surrogate) comes from reading text in another encoding than it was written in."
        ) from error


def _text(value: Any) -> str:
    """Return a value as text; a whole number is written as an integer, as it is in a column of floats or decimals."""
    if isinstance(value, float | np.floating):
        digits = np.finfo(type(value)).nmant if isinstance(value, np.floating) else 52
        # Of larger ones several integers are the same float.
        exact = math.isfinite(value) and value.is_integer() and abs(int(value)) < 2 ** (int(digits) + 1)
    else:
        exact = isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value()
    return str(int(value)) if exact else str(value)


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
