"""Golden SQL: files hold the text of queries in DuckDB's dialect. On Spark the queries are run, and their rows compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.spark.server import FUNCTIONS
from tests.spark import unknown_functions

_FUNCTION = re.compile(r"\b([A-Z][A-Z_0-9]*)\(")
_ASKED = {*_FUNCTION.findall(FUNCTIONS), "CAST", "DECIMAL", "EXISTS", "ARRAY", "COUNT"}
"""Functions that every server has, or that a server is asked for when it is opened."""


def check_golden(path: Path, query: exp.Expression, *, above: str = "", below: str = "", spark: bool = True) -> str:
    """Compare a query with its file, between comments; with `SQLRL_UPDATE_GOLDEN=1` write the file. Return the query's text.

    With `spark` the query must have a text in Spark's dialect too, with types and functions that a server has.
    """
    text = for_dialect(query.copy(), "duckdb").sql("duckdb", pretty=True)
    # Scratch tables are numbered in the order in which a process makes them.
    shown = re.sub(r"scratch_(?:soft_)?\d+_(\w+?)_\d+", r"scratch_\1", text) + ";"
    found = "\n\n".join(part for part in (above, shown, below) if part) + "\n"
    if os.environ.get("SQLRL_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), (
        f"{path.stem} changed; SQLRL_UPDATE_GOLDEN=1 writes the files anew"
    )
    if spark:
        check_spark(query)
    return text


def check_spark(query: exp.Expression) -> None:
    """Check that a query has a text in Spark's dialect, with types and functions that a server has."""
    text = for_dialect(query.copy(), "spark").sql("spark")
    assert not re.findall("INT128|HUGEINT", text)
    assert set(_FUNCTION.findall(text)) <= _ASKED, "a server is asked for every function when it is opened"
    assert not unknown_functions(text)


def check_cases(folder: Path, cases: Iterable[str]) -> None:
    """Check that each case has a file, and each file a case."""
    assert {path.stem for path in folder.glob("*.sql")} == set(cases)


def on_spark(cases: Iterable[str], *few: str) -> list[Any]:
    """All cases, of which the quick tier runs a few: a query on the server takes many times as long as one in DuckDB."""
    every = list(cases)
    assert set(few) <= set(every)
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in every]
