"""Queries of an audit of leaks: golden SQL, and rows that are the same on both engines.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_leaks.py` writes the files anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.spark.server import Spark
from sqlrl.plan.duplicates import Units, candidate_count, equal_units, similar_units, unit_count
from sqlrl.plan.label_copies import Claim, agreeing_atoms, agreements, claims, notable, told_atoms
from sqlrl.plan.leaks import (
    AuditedTarget,
    FactView,
    count_sides,
    counted_rows,
    entities_of_tests,
    facts_of_all,
    labelled_atoms,
    naming_facts,
    reverse_labels,
    reversed_atoms,
    shared_entities,
    values_of,
)
from tests.plan.golden import check_cases, check_golden
from tests.spark import fetch

FOLDER = Path(__file__).parent / "golden_leaks"

BEATS = AuditedTarget("sqlrl", 7, "Beats", ("team", "team"))
LOST = FactView("Lost", "named_Lost", ("team", "team_2"), ("team", "team"))
COACH = FactView("Coach", "named_Coach", ("team", "person"), ("team", "person"), value="value")
TOPIC = AuditedTarget(
    "sqlrl", 7, "Topic", ("bib", "word"), example_place=0, common=frozenset({"position"}), private=frozenset({"token"})
)
TOKEN = FactView("Token", "named_Token", ("token", "position", "bib"), ("token", "position", "bib"), example_place=2)
CITES = FactView("Cites", "named_Cites", ("bib", "bib_2"), ("bib", "bib"), example_place=0)
AREA = AuditedTarget("sqlrl", 7, "Advises", ("person", "person"), private=frozenset({"person"}))
MEETS = FactView("Meets", "named_Meets", ("person", "person_2"), ("person", "person"))
TAUGHT = FactView("Taught", "named_Taught", ("person", "course"), ("person", "course"), example="example")

CASES: dict[str, exp.Query] = {
    "opposite_reverse": reversed_atoms(BEATS, (0, 1), equal=False, across=True),
    "equal_reverse": reversed_atoms(BEATS, (0, 1), equal=True, across=True),
    "antisymmetry": reversed_atoms(BEATS, (0, 1), equal=False, across=False),
    "reverse_labels": reverse_labels(BEATS, (0, 1), across=True),
    "sides": count_sides(BEATS),
    "labelled": labelled_atoms(BEATS),
    "shared_entities": shared_entities(BEATS, (0, 1)),
    "entities_of_tests": entities_of_tests(BEATS, (0, 1)),
    "naming_facts": naming_facts(TOPIC, CITES, 1),
    "facts_of_all": facts_of_all(AREA, MEETS, ((0, 1), (1, 0))),
    "agreements": agreements(BEATS, [*claims(BEATS, COACH)]),
    "agreements_by_example": agreements(AREA, [*claims(AREA, TAUGHT)][:2]),
    "notable": notable(agreements(BEATS, [*claims(BEATS, COACH)]), 6, 6, errors=2, least=2, percent=60),
    "copy": agreeing_atoms(BEATS, Claim(LOST, ((0, 1), (1, 0))), None, negated=False),
    "negated_copy": agreeing_atoms(BEATS, Claim(COACH, ((1, 0),), 1), "O'Neil", negated=True),
    "told": told_atoms(AREA, Claim(TAUGHT, ((0, 0),))),
    "duplicate_examples": equal_units(Units(TOPIC, (TOKEN, CITES))),
    "duplicate_entities": equal_units(Units(BEATS, (LOST, COACH), (0, 1))),
    "near_examples": similar_units(Units(TOPIC, (TOKEN, CITES)), 80),
    "near_entities": similar_units(Units(BEATS, (LOST, COACH), (0, 1)), 75),
    "candidates": candidate_count(Units(TOPIC, (TOKEN, CITES)), 80),
    "values": values_of(BEATS, 1),
    "units": unit_count(Units(TOPIC, (TOKEN, CITES))),
    "counted": counted_rows(reversed_atoms(BEATS, (0, 1), equal=False, across=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    check_golden(FOLDER / f"{case}.sql", CASES[case])


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)


TEAMS = ["a", "b", "c", "d"]
PAIRS = [(x, y) for x in TEAMS for y in TEAMS if x != y]
ROWS: Mapping[str, pa.Table] = {
    "audit_atom": pa.table(
        {
            "run": pa.array([7] * len(PAIRS), pa.int32()),
            "example": ["all"] * len(PAIRS),
            "arguments": pa.array([list(pair) for pair in PAIRS], pa.list_(pa.string())),
            "truth": [x < y for x, y in PAIRS],
            "part": pa.array([k % 3 for k in range(len(PAIRS))], pa.int32()),
        }
    ),
    "audit_seen": pa.table(
        {
            "run": pa.array([7] * 4, pa.int32()),
            "test": pa.array([0, 0, 1, 2], pa.int32()),
            "training": pa.array([1, 2, 0, 1], pa.int32()),
        }
    ),
    "named_Lost": pa.table({"team": [y for x, y in PAIRS if x < y], "team_2": [x for x, y in PAIRS if x < y]}),
    "named_Coach": pa.table(
        {"team": ["a", "b", "c", "d"], "person": ["p", "q", "p", "O'Neil"], "value": [1.0, 0.75, 0.25, 1.0]}
    ),
}
"""A tournament in which the first of the alphabet wins: who lost is a copy of who won, with arguments exchanged."""


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with closing(connect(":memory:")) as found:
        found.execute_sql("create schema if not exists sqlrl", step="make room")
        for name, rows in ROWS.items():
            found.create_table(TableName("memory", "sqlrl", name), rows, step="make a table")
        yield found


def test_a_copy_agrees_with_every_label(engine: DuckDBEngine) -> None:
    wins = engine.fetch(CASES["copy"].copy(), step="copy")
    assert len(wins) == len(PAIRS), "who lost says in every pair what who won says"


# A query on the server takes many times as long as one in DuckDB.
@pytest.mark.slow
def test_rows_are_the_same_on_spark(engine: DuckDBEngine, spark: Spark) -> None:
    cases = {
        name: query for name, query in CASES.items() if all(t.name in ROWS for t in query.find_all(exp.Table) if t.db)
    }
    assert len(cases) > 8
    for case, query in cases.items():
        ours, theirs = engine.fetch(query.copy(), step=case), fetch(spark, query.copy(), engine)
        assert sorted(map(_plain, ours.to_pylist())) == sorted(map(_plain, theirs.to_pylist())), case


def _plain(row: Mapping[str, Any]) -> str:
    """Return a row as text that does not tell types of integers apart."""
    return re.sub(r"Decimal\('(\d+)'\)", r"\1", repr(list(row.values())))
