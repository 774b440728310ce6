"""Pieces in scripts: the forms of `bins` and `bins_from` against the same loads in Python, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import ScriptError

SETUP = """CREATE TABLE visit AS SELECT 'v' || k AS visit, date '2024-01-01' + 3 * k::int AS day, (k * 37) % 101 / 4 AS cost FROM range(40) AS t(k);
SET VARIABLE cuts = ['day=2024-02-01'];
"""
QUERY = "SELECT visit, day, cost FROM visit"


def connect() -> sqlrl.Database:
    return sqlrl.connect(progress=False)


def edges(db: sqlrl.Database) -> dict[str, Any]:
    found = db.sql("select type, edges from sqlrl.type where edges is not null").fetchall()
    return {name: json.loads(text) for name, text in found}


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ("bins = 'cost=5'", {"bins": {"cost": 5}}),
        ("bins = 'cost=2.5:7'", {"bins": {"cost": [2.5, 7]}}),
        ("bins = ['day=3', 'cost=10:']", {"bins": {"day": 3, "cost": [10]}}),
        ("bins = 'day=2024-02-01 12:30:2024-03-01'", {"bins": {"day": ["2024-02-01 12:30", "2024-03-01"]}}),
        ("bins = $cuts", {"bins": {"day": ["2024-02-01"]}}),
        ("BINS = 'day=2', example = 'visit', bins_from = (SELECT visit FROM visit WHERE cost < 4)",
         {"bins": {"day": 2}, "example": "visit", "bins_from": "SELECT visit FROM visit WHERE cost < 4"}),
        ("bins = 'day=2', example = 'visit', bins_from = ['v1', 'v2', 'v3', 'v9']",
         {"bins": {"day": 2}, "example": "visit", "bins_from": ["v1", "v2", "v3", "v9"]}),
    ],
)  # fmt: skip
def test_scripts_cut_as_python_does(written: str, options: dict[str, Any]) -> None:
    script, python = connect(), connect()
    script.run(f"{SETUP}CREATE PREDICATE Visit(visit, day, cost) OPTIONS ({written}) AS {QUERY}")
    python.run(SETUP)
    python.load("Visit", QUERY, types=["visit", "day", "cost"], **options)
    assert edges(script) == edges(python) != {}
    named = "select * from sqlrl.named_Visit order by visit"
    assert script.sql(named).fetchall() == python.sql(named).fetchall()


def test_the_name_of_a_model_cuts_where_it_was_learned() -> None:
    db = connect()
    db.run(f"""{SETUP}
        CREATE PREDICATE Visit(visit, day, cost) OPTIONS (bins = ['day=3', 'cost=2']) AS {QUERY};
        CREATE PREDICATE Long(visit) OPTIONS (target = true) AS SELECT visit FROM visit WHERE cost > 20;
        CREATE MODEL m OPTIONS (learner = 'likelihood', penalty = 'l2') AS $$
            Visit(visit, day, cost)
            Long(visit)
            Visit(v, +d, c) => Long(v)
        $$""")
    before = edges(db)
    db.run(
        "CREATE OR REPLACE PREDICATE Visit(visit, day, cost) OPTIONS (bins = 'm') AS SELECT visit, day + 100, cost + 1 FROM visit"
    )
    assert edges(db) == before
    assert set(before) == {"day", "cost"}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("bins = 4", "bins takes 'type=N' for a number of pieces"),
        ("bins = []", "bins takes 'type=N'"),
        ("bins = (SELECT 1)", "bins takes 'type=N'"),
        ("bins = ['day=2', 4]", "bins takes 'type=N'"),
        ("bins = 'day=x'", "or the name of a model, not 'day=x'"),
        ("bins = 'day='", "or the name of a model, not 'day='"),
        ("bins = ['day=2', 'm']", "or the name of a model, not 'm'"),
        ("bins = ['day=2', 'day=3']", "bins names day twice"),
        ("bins = 'm'", "there is no model m"),
        ("bins = 'day=10:20'", "the column 'day' has dates, and bins cuts it at 10, 20"),
        ("bins = 'day=2', bins_from = 'visit'", "bins_from takes a \\(query\\) of one column, or a \\[list\\] of names"),
        ("bins_from = ['v1']", "bins_from says which rows choose the edges of bins, which is not given"),
        ("bins = 'day=2', example = 'visit', bins_from = (WITH a AS (DELETE FROM visit RETURNING visit) FROM a)", "changes something"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_is_refused_at_its_place(written: str, message: str) -> None:
    db = connect()
    with pytest.raises(ScriptError, match=message):
        db.run(f"{SETUP}CREATE PREDICATE Visit(visit, day, cost) OPTIONS ({written}) AS {QUERY}")
    assert db.sql("select count(*) from visit").fetchall() == [(40,)]
    assert edges(db) == {}
