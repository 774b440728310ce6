"""Distinct rows and their order, held against numpy's own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sqlrl.distinct import ascending_order, distinct, distinct_values, numbered, rows_and_numbers

Matrix = npt.NDArray[Any]
ROOT = Path(__file__).parents[1]
INTEGERS = [np.dtype(name) for name in ("int8", "int32", "int64", "uint8", "uint64")]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    """Matrices of few distinct rows: small numbers, and those at the ends of their type, which together do not fit into one integer."""
    kind = draw(st.sampled_from([np.dtype(bool), *INTEGERS]))
    shape = (draw(st.integers(0, 12)), draw(st.integers(0, 6)))
    if kind == np.bool_:
        return draw(arrays.arrays(kind, shape))
    info: np.iinfo[Any] = np.iinfo(kind)
    near = st.integers(max(-3, int(info.min)), 3)
    ends = st.sampled_from([int(info.min), int(info.min) + 1, int(info.max) - 1, int(info.max), int(info.max) // 2 + 1])
    wide = st.integers(max(-(2**40), int(info.min)), min(2**40, int(info.max)))
    return draw(
        arrays.arrays(kind, shape, elements=draw(st.sampled_from([near, ends, near | ends, wide, near | wide])))
    )


def agrees(found: Any, rows: Matrix, expected: tuple[Matrix, ...]) -> None:
    values, first, inverse, counts = expected
    assert rows.dtype == values.dtype
    np.testing.assert_array_equal(rows, values)
    np.testing.assert_array_equal(found.first, first)
    np.testing.assert_array_equal(found.inverse, inverse.reshape(-1))
    np.testing.assert_array_equal(found.counts, counts)
    assert len(found) == len(counts)


@given(matrices())
def test_rows_are_those_of_numpy(matrix: Matrix) -> None:
    expected = np.unique(matrix, axis=0, return_index=True, return_inverse=True, return_counts=True)
    found = distinct(matrix.T)
    agrees(found, found.rows, expected)
    if matrix.shape[1]:
        columns = distinct(list(matrix.T))
        agrees(columns, columns.rows, expected)


@given(matrices(), st.integers(0, 3))
def test_rows_of_ids_are_those_of_numpy(matrix: Matrix, more: int) -> None:
    matrix = np.repeat(matrix[:, :3].astype(np.int64), 1 + more, axis=0)
    if not matrix.shape[1]:
        return
    values, inverse = np.unique(matrix, axis=0, return_inverse=True)
    rows, number = rows_and_numbers(list(matrix.T))
    np.testing.assert_array_equal(rows, values)
    np.testing.assert_array_equal(number, inverse.reshape(-1))


@given(st.lists(st.integers(0, 6)), st.booleans())
def test_labels_are_numbered_as_they_come_first(labels: list[int], ready: bool) -> None:
    expected = [list(dict.fromkeys(labels)).index(label) for label in labels]
    count, number = numbered(np.array(expected if ready else labels, dtype=np.int32))
    assert count == len(set(labels))
    assert number.tolist() == expected


@given(matrices())
def test_columns_are_those_of_numpy(matrix: Matrix) -> None:
    values, *rest = np.unique(matrix, axis=1, return_index=True, return_inverse=True, return_counts=True)
    found = distinct(matrix)
    agrees(found, found.rows.T, (values, *rest))


@given(matrices(), matrices())
def test_columns_of_different_types(one: Matrix, other: Matrix) -> None:
    size = min(len(one), len(other))
    columns = [*one[:size].T, *other[:size].T]
    if not columns:
        return
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    order = sorted(range(size), key=lambda i: rows[i])
    assert distinct(columns).order.tolist() == order
    assert [rows[i] for i in distinct(columns).first] == sorted(set(rows))


@given(matrices())
def test_the_order_is_that_of_lexsort(matrix: Matrix) -> None:
    if not matrix.shape[1]:
        return
    expected, found = np.lexsort(matrix.T[::-1]), ascending_order(matrix.T)
    np.testing.assert_array_equal(np.arange(len(matrix)) if found is None else found, expected)
    again = ascending_order(list(matrix[expected].T))
    assert again is None or again.tolist() == list(range(len(matrix)))


@given(arrays.arrays(np.float64, st.tuples(st.integers(0, 9), st.integers(1, 4)), elements=st.sampled_from([0.0, -1.5, 2.5, 1e300, np.inf])))  # fmt: skip
def test_rows_of_floats(matrix: Matrix) -> None:
    found = distinct(matrix.T)
    expected = np.unique(matrix, axis=0, return_index=True, return_inverse=True, return_counts=True)
    agrees(found, found.rows, expected)


@given(matrices())
def test_values_are_those_of_numpy(matrix: Matrix) -> None:
    np.testing.assert_array_equal(distinct_values(matrix.ravel()), np.unique(matrix))


@pytest.mark.parametrize("folder", ["sqlrl", "scripts", "experiments"])
def test_nothing_compares_rows_by_numpy(folder: str) -> None:
    """`np.unique` along an axis is many times slower than `sqlrl.distinct`."""
    found = []
    for file in sorted((ROOT / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "unique" not in text:
            continue
        found += [
            f"{file.relative_to(ROOT)}:{node.lineno}"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and _name(node.func) == "unique" and _along_an_axis(node)
        ]
    assert not found, f"use sqlrl.distinct in place of np.unique(..., axis=...): {found}"


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _along_an_axis(call: ast.Call) -> bool:
    return len(call.args) > 4 or any(each.arg == "axis" for each in call.keywords)
