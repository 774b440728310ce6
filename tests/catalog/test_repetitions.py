"""Facts that stand twice, and facts that contradict each other: two errors, with the rows of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connecting import connect
from sqlrl.errors import LoadError

AGAIN = 'remove them or pass duplicates="drop".'


@pytest.fixture
def catalog() -> Catalog:
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
    catalog: Catalog, rows: list[tuple[Any, ...]], options: dict[str, Any], message: str, types: list[str] | None
) -> None:
    if "probability" in options:
        rows = [(a, b, float(p)) for a, b, p in rows]
    with pytest.raises(LoadError) as raised:
        catalog.load("P", rows, types=types, **options)
    assert str(raised.value) == f"P from the tuples: {message}"


def test_equal_probabilities_are_duplicates(catalog: Catalog) -> None:
    rows = [("a", 0.3), ("a", 0.3), ("b", 1.0), ("b", 1.0)]
    with pytest.raises(
        LoadError, match=r"^P from the tuples: duplicate facts: \(a\) .*; \(b\) occurs 2 times \(rows 3 and 4\)"
    ):
        catalog.load("P", rows, types=["s"], probability=1)
    catalog.load("P", rows, types=["s"], probability=1, duplicates="drop")
    assert catalog.predicates()["P"].rows == 2


def test_a_fact_without_arguments(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "rain.csv"
    path.write_text("truth\ntrue\nfalse\n")
    with pytest.raises(LoadError, match=r"contradictory facts: \(\) is both true and false \(rows 1 and 2\)"):
        catalog.load("Rain", path, types=[], truth="truth")


def test_numbers_that_are_equal(catalog: Catalog) -> None:
    catalog.set_numeric("year")
    with pytest.raises(LoadError, match=r"duplicate facts: \(1\) occurs 2 times \(rows 1 and 3\)"):
        catalog.load("P", [("1", True), ("2", True), ("1.0", True)], types=["year"], truth=1)
    with pytest.raises(LoadError, match=r"contradictory facts: \(1\) is both true and false \(rows 1 and 2\)"):
        catalog.load("P", [("1", True), ("1.0", False)], types=["year"], truth=1)
