"""The bench of clusters prints both sides, whose clusters are the same where the evidence is transitive."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import clusters
import pytest


@pytest.mark.slow  # five seconds: predictions of thousands of records
def test_it_prints_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tmp_path / "found.json"
    arguments = ["--quiet", "--records", "400", "--rounds", "2", "--json", str(found)]
    monkeypatch.setattr(sys, "argv", ["clusters.py", *arguments])
    clusters.main()
    rows = json.loads(found.read_text(encoding="utf-8"))
    assert [row["evidence"] for row in rows] == ["transitive", "noisy"]
    assert rows[0]["clusters"] == rows[0]["components"]
    assert rows[1]["clusters"] > rows[1]["components"], "what components join, a transitive answer keeps apart"
    assert all(row["ratio"] > 0 for row in rows)


@pytest.mark.parametrize("beside", [clusters.components, clusters.splink])
def test_components_are_those_of_all_pairs_that_look_alike(beside: Callable[[clusters.Records], int]) -> None:
    if beside is clusters.splink:
        pytest.importorskip("splink")
    data = clusters.records(50, "noisy", 1)
    of = {name: {name} for name in data.names.column("id").to_pylist()}
    for a, b in zip(data.alike.column("a").to_pylist(), data.alike.column("b").to_pylist(), strict=True):
        both = of[a] | of[b]
        of.update(dict.fromkeys(both, both))
    assert beside(data) == len({frozenset(each) for each in of.values()})
