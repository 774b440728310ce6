"""Golden SQL of layers of components and of saturation, executed on small tables in DuckDB and on Spark.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_coverage.py` writes the files anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TypeInfo
from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.spark.server import Spark
from sqlrl.logic.bias import BiasMode, ModePlace
from sqlrl.plan.coverage import (
    CoveragePattern,
    CoverageTables,
    PatternArgument,
    count_bindings,
    facts_of_constants,
    layer_bindings,
    layer_counts,
    wanted_bindings,
)
from sqlrl.plan.sample_layout import people, table_name
from sqlrl.plan.saturation import SaturationTables, count_reached, reached
from tests.plan.golden import check_cases, check_golden, on_spark
from tests.spark import fetch, sorted_rows

FOLDER = Path(__file__).parent / "golden_coverage"
HEAD, BOUND, NEW, CONSTANT = "head", "bound", "new", "constant"


def layout() -> Layout:
    """People, their friends, and words that they say in some examples."""
    found = people()
    says = PredicateInfo("Says", ("person", "word"), False, table_name("says"), example_column=True, rows=1)
    rains = PredicateInfo("Rains", (), False, table_name("rains"), rows=1)
    three = PredicateInfo("Three", ("person", "person", "person"), False, table_name("three"), rows=1)
    types = {**found.types, "word": TypeInfo("word", table_name("words"), 2)}
    return Layout(
        {**found.predicates, "Says": says, "Rains": rains, "Three": three},
        types,
        None,
        found.examples,
        1,
        found.scratch,
    )


def pattern(
    predicate: str,
    arguments: list[tuple[str | int, ...]],
    parents: tuple[tuple[int, ...], ...] = (),
    *,
    first: bool = False,
) -> CoveragePattern:
    return CoveragePattern(predicate, tuple(PatternArgument(*x) for x in arguments), parents, first)  # type: ignore[arg-type]


PATTERNS = {
    "first": [
        pattern("Friends", [(HEAD, 0), (NEW, 0)]),
        pattern("Friends", [(HEAD, 0), (HEAD, 1)]),
        pattern("Friends", [(NEW, 0), (NEW, 0)]),
        pattern("Friends", [(HEAD, 1), (CONSTANT, 0)]),
        pattern("Rains", []),
    ],
    "refined": [
        pattern("Friends", [(BOUND, 0), (NEW, 0)], ((0,),)),
        pattern("Friends", [(BOUND, 0), (HEAD, 1)], ((0,),)),
        pattern("Friends", [(BOUND, 0), (BOUND, 0)], ((),)),
    ],
    "merged": [
        pattern("Friends", [(BOUND, 0), (BOUND, 1)], ((0,), (1,))),
        pattern("Friends", [(BOUND, 0), (BOUND, 1)], ((0, 1), (1,))),
    ],
    "constants": [
        pattern("Friends", [(BOUND, 0, 2), (CONSTANT,)], ((0,),), first=True),
        pattern("Says", [(HEAD, 2), (BOUND, 0, 1), (CONSTANT,)], ((0,),), first=True),
        pattern("Friends", [(BOUND, 0), (CONSTANT,)], ((0,),)),
    ],
    "repeated": [
        pattern("Three", [(HEAD, 0), (NEW, 0), (NEW, 0)]),
        pattern("Three", [(NEW, 0), (BOUND, 0), (NEW, 1)], ((0,),)),
    ],
    "loose": [
        pattern("Friends", [(BOUND, 0), (BOUND, 1)], ((0,), ())),
        pattern("Friends", [(BOUND, 0), (HEAD, 1)], ((),)),
        pattern("Three", [(BOUND, 0), (BOUND, 1), (BOUND, 2)], ((), (0, 1), ())),
        pattern("Three", [(NEW, 0), (BOUND, 0), (CONSTANT,)], ((),)),
    ],
    "examples": [
        pattern("Says", [(HEAD, 2), (HEAD, 0), (NEW, 0)]),
        pattern("Says", [(HEAD, 2), (NEW, 0), (BOUND, 0)], ((0, 2),)),
    ],
}

GROUPED = {
    "grouped_first": [0],
    "grouped_refined": [0, 2],
    "grouped_repeated": [0, 1],
    "grouped_loose": [0, 1, 2, 3],
    "grouped_examples": [0, 1],
}

MODES = [
    BiasMode("Friends", (ModePlace("+", "person"), ModePlace("-", "person")), None),
    BiasMode("Friends", (ModePlace("+", "person"), ModePlace("+", "person")), 2),
    BiasMode("Says", (ModePlace("+", "person"), ModePlace("#", "word")), 1),
    BiasMode("Friends", (ModePlace("-", "person"), ModePlace("-", "person")), 3),
    BiasMode("Rains", (), None),
]


def planned(name: str) -> exp.Expression:
    heads = [(0,), (1,), (0, 1), (0, 2)]
    keys = {touched: table_name("keys_" + "".join(map(str, touched))) for touched in heads}
    constants = {i: table_name(f"constants{i}") for i in range(2)}
    tables = CoverageTables(table_name("layer"), table_name("bindings"), keys, 3, table_name("wanted"), constants)
    known = SaturationTables(table_name("seeds"), table_name("known"), {"person": 0, "word": 1})
    if name in PATTERNS:
        return layer_bindings(PATTERNS[name], layout(), tables, 100)
    if name.startswith("counted_"):
        return layer_counts(PATTERNS[name.removeprefix("counted_")], layout(), tables)
    if name.startswith("grouped_"):
        patterns = PATTERNS[name.removeprefix("grouped_")]
        return layer_counts(patterns, layout(), tables, GROUPED[name])
    if name == "wanted":
        merged = wanted_bindings(PATTERNS["merged"], tables)
        assert merged is not None
        return merged
    if name.startswith("facts_"):
        number = int(name.removeprefix("facts_"))
        return facts_of_constants(number, PATTERNS["constants"][number], layout(), tables)
    if name == "kept":
        return count_bindings(table_name("bindings"), 7)
    query = reached(
        MODES, 2 if name == "reached_further" else 1, layout(), known, most=None if name == "exploding" else 9
    )
    assert query is not None
    return count_reached(query) if name == "exploding" else query


CASES = [
    *PATTERNS,
    *(f"counted_{name}" for name in PATTERNS),
    *GROUPED,
    "wanted",
    "facts_0",
    "facts_1",
    "kept",
    "reached",
    "reached_further",
    "exploding",
]


TABLES = {
    "layer": "pattern INT, component INT, p0 INT, p1 INT, p2 INT, x0 INT, x1 INT, x2 INT",
    "bindings": "component INT, key INT, h0 INT, h1 INT, h2 INT, places INT[]",
    "wanted": "component INT, key INT, h0 INT, h1 INT, h2 INT, places INT[]",
    "constants0": "component INT, p0 INT, a0 INT, a1 INT",
    "constants1": "component INT, p0 INT, example INT, a0 INT, a1 INT",
    "friends": "a0 INT, a1 INT",
    "says": "example INT, a0 INT, a1 INT",
    "rains": "one INT",
    "three": "a0 INT, a1 INT, a2 INT",
    "seeds": "seed INT, example INT",
    "known": "seed INT, type INT, id INT, depth INT",
    "keys_0": "key INT, h0 INT",
    "keys_1": "key INT, h1 INT",
    "keys_01": "key INT, h0 INT, h1 INT",
    "keys_02": "key INT, h0 INT, h2 INT",
}
ROWS = 40
# Values are drawn below these numbers; of `x`, places in a list of two, from 1.
BELOW = {"pattern": 5, "component": 8, "key": 3, "type": 2, "depth": 2, "example": 2}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    drawn = random.Random(5)

    def value(column: str) -> Any:
        if column == "places":
            return [drawn.randrange(2), drawn.randrange(2)]
        return 1 + drawn.randrange(2) if column.startswith("x") else drawn.randrange(BELOW.get(column, 2))

    with duckdb.connect() as found:
        found.execute("ATTACH ':memory:' AS db")
        for table, columns in TABLES.items():
            found.execute(f"CREATE TABLE db.main.{table} ({columns})")
            names = [column.split()[0] for column in columns.split(", ")]
            rows = {tuple(map(str, row)): row for row in ([value(name) for name in names] for _ in range(ROWS))}
            found.executemany(
                f"INSERT INTO db.main.{table} VALUES ({', '.join('?' * len(names))})", list(rows.values())
            )
        yield found


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    query = planned(name)
    rows = connection.sql(check_golden(FOLDER / f"{name}.sql", query)).to_arrow_table()
    assert rows.num_columns == len(query.selects)  # type: ignore[attr-defined]
    # DuckDB 2.0 can wait for itself for ever where a limit stands above a union of branches that read common table expressions.
    assert not list(query.find_all(exp.With))
    assert rows.num_rows, "a comparison of no rows shows nothing"


@pytest.mark.parametrize("name", on_spark(CASES, "merged", "counted_constants"))
def test_rows_are_the_same_on_spark(name: str, connection: duckdb.DuckDBPyConnection, spark: Spark) -> None:
    query, engine = planned(name), DuckDBEngine(connection, ("db", "main"))
    # Which rows a limit leaves is nobody's matter, how many is.
    if query.args.get("limit"):
        rows = connection.sql(for_dialect(query, "duckdb").sql("duckdb")).to_arrow_table()
        assert fetch(spark, query, engine).num_rows == rows.num_rows
    whole = query.copy()
    whole.set("limit", None)
    every = connection.sql(for_dialect(whole, "duckdb").sql("duckdb")).to_arrow_table()
    assert sorted_rows(fetch(spark, whole, engine)) == sorted_rows(every)


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)
