"""Queries of relational paths: golden SQL, and whole searches that are the same on both engines.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_paths.py` writes the files anew.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.spark.server import Spark
from sqlrl.ground.paths import RelationalPaths
from sqlrl.plan.paths import (
    Frontier,
    Numbering,
    PathSearch,
    count_walks,
    fact_edges,
    next_frontier,
    passed_columns,
    path_supports,
    path_walks,
    relations,
    stopped_supports,
)
from sqlrl.plan.sample_layout import people
from tests.ground.walks import World
from tests.plan.golden import check_cases, check_golden
from tests.spark import beside

FOLDER = Path(__file__).parent / "golden_paths"


def name(text: str) -> TableName:
    return TableName("db", "main", text)


SIMPLE = PathSearch(
    name("edges"), name("marks"), name("pairs"), name("starts"), name("stops"), relations=6, simple=True, least=1
)
ALL = replace(SIMPLE, simple=False, target_relation=2)
STARTS = Frontier(name("starts"), 0, True)
ONE, LAST = Frontier(name("one"), 1, True), Frontier(name("last"), 1, False)
TWO = Frontier(name("two"), 2, False, passed_columns(2, 2))
PASSED = Frontier(name("passed"), 2, True, passed_columns(2, None))
STOPPED = Frontier(name("stopped"), 2, True, passed_columns(2, 2))


def edges() -> exp.Query:
    layout = people()
    steps = relations(layout, ["Friends"])
    return fact_edges(layout, Numbering.of(layout, ["Friends"]), steps)


CASES = {
    "edges": edges(),
    "first_step": next_frontier(SIMPLE, STARTS, 0),
    "supported": next_frontier(replace(SIMPLE, least=10), LAST, 2, [ONE.table]),
    "three_witnesses": next_frontier(ALL, LAST, 3),
    "all_passed": next_frontier(SIMPLE, PASSED),
    "stopping": next_frontier(SIMPLE, LAST, 0, stopping=True),
    "count_walks": count_walks(SIMPLE, ONE, [LAST.table], stopping=True),
    "one_step": path_supports(ALL, ONE, None),
    "simple_paths": path_supports(SIMPLE, ONE, TWO, (0, 100)),
    "all_paths": path_supports(ALL, ONE, replace(TWO, passed=passed_columns(2, 3))),
    "path_walks": path_walks(SIMPLE, ONE, TWO),
    "stopped": stopped_supports(replace(SIMPLE, target_relation=2), STOPPED, 30),
}


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    check_golden(FOLDER / f"{case}.sql", CASES[case])


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)


# A search is many queries, each of which takes many times as long on the server as in DuckDB.
@pytest.mark.slow
@pytest.mark.parametrize(("length", "simple"), [(4, True), (3, False)])
def test_a_search_is_the_same_on_spark(length: int, simple: bool, spark: Spark) -> None:
    ring = frozenset((0, i, (i + step) % 5) for i in range(5) for step in (1, 2))
    kinds = {"Knows": ("person", "person"), "Old": ("person",), "Sold": ("person", "tag", "person")}
    sold = frozenset({(0, 0, 1, 2), (0, 3, 0, 4), (0, 0, 0, 2)})
    facts = {"Knows": ring, "Old": frozenset({(0, 1), (0, 2)}), "Sold": sold}
    labels = {(0, i, (i + 3) % 5): i < 3 for i in range(5)}
    observed = frozenset({(0, 0, 3), (0, 1, 0), (0, 3, 3)})
    world = World(kinds, {"person": 5, "tag": 2}, facts, ("person", "person"), labels, observed)
    engine = connect(":memory:", threads=1)
    layout = world.load(engine, False)
    with beside(spark, engine) as plans, RelationalPaths(plans, layout, world.name, world.pairs()) as paths:
        found = world.read(paths.supports(length, min_targets=2, simple=simple, constant_length=2))
    expected = world.supports(length, simple=simple, constant_length=2)
    assert found == {path: n for path, n in expected.items() if sum(n) >= 2}
