"""The bench of one example at a time trains once, and all that predicts finds the same worlds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import one_example
import pytest


@pytest.mark.slow  # four seconds: weights of a chain are learned
def test_it_prints_all_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tmp_path / "found.json"
    monkeypatch.setattr(one_example, "CITATIONS", 60)
    monkeypatch.setattr(one_example, "LEARNED", 50)
    monkeypatch.setattr(sys, "argv", ["one_example.py", "--quiet", "--quick", "--json", str(found)])
    one_example.main()
    rows = {row["system"]: row for row in json.loads(found.read_text(encoding="utf-8"))}
    assert list(rows)[:4] == ["anew", "prepared", "compiled", "compiled, atoms as Arrow"]
    assert rows["compiled"]["same_worlds"]
    assert rows["compiled"]["statements"] == 0 < rows["prepared"]["statements"] <= 6 < rows["anew"]["statements"]
    assert all(row["median_ms"] > 0 for row in rows.values())
