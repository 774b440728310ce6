"""The bench of documents prints both sides, whose weights are the same where both go on until they are near the best ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import documents
import pytest


@pytest.mark.slow  # three seconds: thousands of documents, twice
def test_it_prints_both_sides_with_equal_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", ["documents.py", "--quick", "--quiet", "--json", str(found)])
    documents.main()
    mine, same, default = json.loads(found.read_text(encoding="utf-8"))
    assert mine["system"] == "sqlrl"
    assert same["system"].endswith("to the same weights")
    assert mine["weights_apart"] < 3e-4
    assert same["weights_apart"] < 3e-4
    assert default["weights_apart"] > 1e-3
    assert all(row["ratio"] > 0 for row in (mine, same, default))
