"""The bench of the start measures what it says, beside DuckDB."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import start


@pytest.mark.slow
def test_it_measures_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", ["start.py", "--rounds", "1", "--json", str(found)])
    assert start.main() == 0
    rows = json.loads(found.read_text(encoding="utf-8"))
    assert [row["what"] for row in rows] == [
        "connect, imported",
        "load 100 rows",
        "connect, fresh process",
        "sqlrl load of a CSV",
        "sqlrl version",
    ]
    assert all(row["worst"] >= row["seconds"] >= row["least"] > 0 < row["duckdb_seconds"] for row in rows)
    assert "DuckDB" in capsys.readouterr().out
