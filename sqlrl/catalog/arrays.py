"""Named arrays and JSON values as rows of `sqlrl.learner_state`, and back without a bit lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


def as_rows(values: Mapping[str, Kept]) -> pa.Table:
    """Return named values as rows, without the run.

    Parameters
    ----------
    values : mapping of str to array or JSON value
        Arrays of any shape.

    Raises
    ------
    ValueError
        An array has another type.

    Examples
    --------
    >>> as_rows({"weight": np.array([0.5]), "note": ["a"]}).select(["name", "type", "floats", "text"]).to_pylist()
    [{'name': 'weight', 'type': 'float64', 'floats': [0.5], 'text': None}, {'name': 'note', 'type': 'json', 'floats': None, 'text': '["a"]'}]
    """
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


def from_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Kept]:
    """Return the named values that rows hold.

    Examples
    --------
    >>> from_rows(as_rows({"seed": np.array([2**64 - 1], dtype=np.uint64)}).to_pylist())["seed"].tolist()
    [18446744073709551615]
    """
    found: dict[str, Kept] = {}
    for row in rows:
        kind = row["type"]
        if kind == "json":
            found[row["name"]] = json.loads(row["text"])
            continue
        whole = kind != "float64"
        stored = np.array(row["integers" if whole else "floats"], dtype=np.int64 if whole else np.float64)
        values = stored.view(np.uint64) if kind == "uint64" else stored.astype(kind)
        found[row["name"]] = values.reshape(row["shape"])
    return found
