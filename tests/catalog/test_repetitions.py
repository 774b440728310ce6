"""Facts that stand twice, and facts that contradict each other: two errors, with the rows of both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.engine.memory import Memory
from sqlrl.errors import CatalogError, LoadError
from sqlrl.logic.mln import parse_mln

AGAIN = 'remove them or pass duplicates="drop", which drops 1 row.'


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


@pytest.fixture(scope="module")
def shared() -> Catalog:
    """A catalog for loads that fail, or that replace what others loaded."""
    return Catalog(connect(":memory:", threads=1))


@pytest.mark.parametrize("types", [["s", "s"], None])
@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (
            [("a", "b", True), ("c", "d", True), ("a", "b", True), ("a", "b", False)],
            {"truth": 2},
            (
                "contradictory facts: (a, b) is both true and false (rows 1 and 4): remove one of each.\n"
                f"  duplicate facts: (a, b) occurs 2 times (rows 1 and 3): {AGAIN}"
            ),
        ),
        (
            [("a", "b", True), ("c", "d", True), ("a", "b", True), ("a", "b", False)],
            {"truth": 2, "duplicates": "drop"},
            "contradictory facts: (a, b) is both true and false (rows 1 and 4): remove one of each.",
        ),
        (
            [("c", "d", False), ("a", "b", 0.25), ("c", "d", False), ("a", "b", 0.5)],
            {"probability": 2},
            (
                "contradictory facts: (a, b) has the probabilities 0.25 and 0.5 (rows 2 and 4): remove one of each.\n"
                f"  duplicate facts: (c, d) occurs 2 times (rows 1 and 3): {AGAIN}"
            ),
        ),
        (
            [("a", "b", 0.0), ("a", "b", 1.0), ("c", "d", 1.0), ("c", "d", 5e-324)],
            {"probability": 2, "duplicates": "drop"},
            (
                "contradictory facts: (a, b) has the probabilities 0 and 1 (rows 1 and 2); (c, d) has the probabilities 0 and 1 (rows 3 and 4): "
                "remove one of each."
            ),
        ),
        ([("a", "b"), ("a", "b")], {}, f"duplicate facts: (a, b) occurs 2 times (rows 1 and 2): {AGAIN}"),
    ],
)
def test_each_fault_names_its_rows(
    shared: Catalog, rows: list[tuple[Any, ...]], options: dict[str, Any], message: str, types: list[str] | None
) -> None:
    if "probability" in options:
        rows = [(a, b, float(p)) for a, b, p in rows]
    with pytest.raises(LoadError) as raised:
        shared.load("P", rows, types=types, **options)
    assert str(raised.value) == f"P from the tuples: {message}"


def test_equal_probabilities_are_duplicates(catalog: Catalog) -> None:
    rows = [("a", 0.3), ("a", 0.3), ("b", 1.0), ("b", 1.0)]
    with pytest.raises(
        LoadError, match=r"^P from the tuples: duplicate facts: \(a\) .*; \(b\) occurs 2 times \(rows 3 and 4\)"
    ):
        catalog.load("P", rows, types=["s"], probability=1)
    catalog.load("P", rows, types=["s"], probability=1, duplicates="drop")
    assert catalog.predicates()["P"].rows == 2


def test_a_fact_without_arguments(shared: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "rain.csv"
    path.write_text("truth\ntrue\nfalse\n")
    with pytest.raises(LoadError, match=r"contradictory facts: \(\) is both true and false \(rows 1 and 2\)"):
        shared.load("Rain", path, types=[], truth="truth")


def test_numbers_that_are_equal(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    with pytest.raises(LoadError, match=r"duplicate facts: \(1\) occurs 2 times \(rows 1 and 3\)"):
        catalog.load("P", [("1", True), ("2", True), ("1.0", True)], types=["year"], truth=1)
    with pytest.raises(LoadError, match=r"contradictory facts: \(1\) is both true and false \(rows 1 and 2\)"):
        catalog.load("P", [("1", True), ("1.0", False)], types=["year"], truth=1)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("nan",), ("1",), ("x",)],
            "2 rows have an argument 1 that is no number, such as 'nan' (rows 1, 3): correct or remove them.",
        ),
        (
            [("x",), (None,), ("1",), (None,)],
            (
                '2 rows have NULL for argument 1 (rows 2, 4): fill or remove them, or pass nulls="drop".\n'
                "  1 row has an argument 1 that is no number, such as 'x' (row 1): correct or remove it."
            ),
        ),
    ],
)
@pytest.mark.parametrize("options", [{}, {"duplicates": "drop"}])
def test_messages_count_the_rows_of_the_source(
    shared: Catalog, rows: list[tuple[str | None]], message: str, options: dict[str, Any]
) -> None:
    shared.set_numeric("year")
    with pytest.raises(LoadError) as raised:
        shared.load("P", rows, types=["year"], **options)
    assert str(raised.value) == f"P from the tuples: {message}"


@pytest.mark.parametrize("options", [{}, {"duplicates": "drop"}])
def test_messages_count_the_faulty_values_of_the_source(shared: Catalog, options: dict[str, Any]) -> None:
    with pytest.raises(LoadError, match=r"2 rows have a truth .* \(rows 1, 3\): correct them"):
        shared.load("P", [("a", None), ("b", True), ("a", None)], types=["s"], truth=1, **options)


Row = tuple[str, str | None, bool]


def arrow(rows: list[Row]) -> pa.Table:
    return pa.table(dict(zip("abt", map(pa.array, zip(*rows, strict=True)), strict=True)))


HELD: dict[str, Callable[[list[Row]], object]] = {
    "the tuples": lambda rows: rows,
    "an Arrow table": arrow,
    "an Arrow reader": lambda rows: arrow(rows).to_reader(max_chunksize=1000),
    "a pandas frame": lambda rows: arrow(rows).to_pandas(),
    "a polars frame": lambda rows: pl.DataFrame(rows, schema=["a", "b", "t"], orient="row"),
}


@pytest.mark.parametrize("label", HELD)
def test_few_rows_held_in_python_have_their_numbers(shared: Catalog, label: str) -> None:
    right: list[Row] = [(f"x{i}", f"y{i}", True) for i in range(6)]
    faults: list[tuple[list[Row], str]] = [
        (
            [("x", None, True)],
            '1 row has NULL for argument 2 (row 7): fill or remove it, or pass nulls="drop".',
        ),
        (
            [("x3", "y3", False), right[1]],
            (
                "contradictory facts: (x3, y3) is both true and false (rows 4 and 7): remove one of each.\n"
                f"  duplicate facts: (x1, y1) occurs 2 times (rows 2 and 8): {AGAIN}"
            ),
        ),
    ]
    for wrong, message in faults:
        with pytest.raises(LoadError) as raised:
            shared.load("P", HELD[label]([*right, *wrong]), types=["s", "s"], truth=2)
        assert str(raised.value) == f"P from {label}: {message}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "types"),
    [
        ("an Arrow table", ["s", "s"]),
        *((label, ["s", "s"]) for label in HELD if label != "an Arrow table"),
        ("an Arrow table", None),
    ],
)
def test_sources_held_in_python_name_rows(label: str, types: list[str] | None) -> None:
    """More rows than one thread takes at a time, which takes a second: their numbers are those of the source all the same."""
    right: list[Row] = [(f"x{i}", f"y{i}", True) for i in range(150_000)]
    faults: list[tuple[dict[int, Row], str]] = [
        (
            {140_000: ("x", None, True)},
            '1 row has NULL for argument 2 (row 140001): fill or remove it, or pass nulls="drop".',
        ),
        (
            {140_000: ("x130000", "y130000", False), 149_000: right[100]},
            (
                "contradictory facts: (x130000, y130000) is both true and false (rows 130001 and 140001): remove one of each.\n"
                f"  duplicate facts: (x100, y100) occurs 2 times (rows 101 and 149001): {AGAIN}"
            ),
        ),
    ]
    for wrong, message in faults:
        rows = [wrong.get(i, row) for i, row in enumerate(right)]
        catalog = Catalog(connect(":memory:", threads=2))
        with pytest.raises(LoadError) as raised:
            catalog.load("P", HELD[label](rows), types=types, truth=2)
        assert str(raised.value) == f"P from {label}: {message}"


def test_rows_of_a_frame_whose_index_is_another() -> None:
    """A row is counted from 1 as it stands, whatever pandas calls it."""
    frame = pd.DataFrame({"a": ["x", None]}, index=[7, 3])
    with pytest.raises(LoadError, match=r"NULL for argument 1 \(row 2\)"):
        Catalog(connect(":memory:")).load("P", frame, types=["s"])


def test_rows_keep_their_numbers_where_duplicates_were_dropped_before_types_were_known(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    catalog.load("P", [("7",), ("8",), ("8",), ("later",), ("5",)], duplicates="drop")
    assert catalog.predicates()["P"].rows == 4
    with pytest.raises(CatalogError, match=r"no number, such as 'later' \(row 4\)"):
        catalog.declare(parse_mln("P(year)\n1 P(x)"))


def test_texts_of_one_number_are_duplicates_once_types_are_known(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    catalog.load("P", [("7",), ("8",), ("7.0",), ("7",)], duplicates="drop")
    catalog.declare(parse_mln("P(year)\n1 P(x)"))
    assert catalog.predicates()["P"].rows == 2


@pytest.mark.parametrize("label", HELD)
def test_a_scope_names_the_rows_without_a_constant(shared: Catalog, label: str) -> None:
    rows: list[Row] = [("a", "b", True), ("c", None, True), ("d", "e", True), ("f", None, False)]
    with pytest.raises(LoadError) as raised:
        shared.scope("P", HELD[label](rows))
    assert str(raised.value) == f"the scope of P from {label} has NULL constants (rows 2, 4): leave those rows out."


def test_a_scope_from_a_query_does_not_run_it_again(shared: Catalog) -> None:
    with pytest.raises(LoadError, match=r"has NULL constants: leave those rows out"):
        shared.scope("P", "select 'a' union all select null")


def test_a_scope_that_holds_no_number(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    catalog.load("R", [("1",), ("2",)], types=["year"])
    # Until a model is bound nothing says that Q has years.
    catalog.scope("Q", [("1",), ("abc",), ("1.0",)])
    model = parse_mln("R(year)\nQ(year)\nR(y) => Q(y)", query=["Q"])
    said = "the scope of Q has constants of year, a type of numbers, that are no numbers, such as 'abc'"
    with pytest.raises(CatalogError, match=f"{said}: correct those rows or leave them out"):
        catalog.bind(model, training=True)
    catalog.scope("Q", [("1",), ("2",), ("1.0",)])
    assert catalog.bind(model, training=True).predicates["Q"].atom_count == 2
    catalog.load("Q", [("1",)], types=["year"], target=True)
    with pytest.raises(LoadError, match=rf"{said} \(row 2\): correct"):
        catalog.scope("Q", [("1",), ("abc",)])


@pytest.mark.parametrize("again", [None, 0, 2_500, 4_999])
def test_many_rows_are_looked_at_in_slices(again: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    engine, asked = catalog.engine, list[str]()
    numbers = engine.numbers

    def slices(query: Any, size: int, *, step: str) -> Any:
        asked.append(step)
        return numbers(query, size, step=step)

    monkeypatch.setattr(engine, "numbers", slices)
    monkeypatch.setattr("sqlrl.catalog.encoding.FEW", 10)
    # An eighth of the memory has a fifth of the hashes, 8 bytes each.
    engine.memory = Memory(5_000 * 8 * 8 // 5, apart=True)
    rows = [(f"a{i}", f"b{i % 7}") for i in range(5_000)]
    if again is None:
        catalog.load("R", rows, types=["s", "t"])
        assert len(asked) == 5
        return
    rows.append(rows[again])
    with pytest.raises(LoadError, match=rf"duplicate facts: \(a{again}, b{again % 7}\) occurs 2 times"):
        catalog.load("R", rows, types=["s", "t"])


def test_more_slices_than_reading_is_worth_are_left_to_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    monkeypatch.setattr("sqlrl.catalog.encoding.FEW", 10)
    monkeypatch.setattr("sqlrl.catalog.encoding.MOST_SLICES", 4)
    catalog.engine.memory = Memory(5_000 * 8 * 8 // 5, apart=True)
    monkeypatch.setattr(catalog.engine, "numbers", None)
    catalog.load("R", [(f"a{i}", f"b{i % 7}") for i in range(5_000)], types=["s", "t"])
