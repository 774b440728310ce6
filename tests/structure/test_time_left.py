"""Searches whose work is known say how long the rest of it will take."""

from __future__ import annotations

import io
import itertools
import re
from types import SimpleNamespace
from typing import Any

import pytest

import sqlrl
from sqlrl import progress
from sqlrl.report.console import PlainConsole
from tests.structure.beam.test_msl import planted
from tests.structure.soft.test_estimator import families, loaded

# Each of them searches for a second or two.
SEARCHES: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "MSL": (lambda: sqlrl.MSL(max_literals=2, max_clauses=1), (), "scoring candidates"),
    "greedy": (
        lambda: sqlrl.SoftStructure(method="gls", length=2, min_targets=3, most=2),
        ("Grandparent",),
        "rules of a greedy search",
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_says_how_long_it_will_take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, targets, stage = SEARCHES[name]
    db = planted() if name == "MSL" else loaded(families(size=16)[2], *families(size=16)[:2])
    shown = io.StringIO()
    db.advanced.console = PlainConsole(shown, delay=0, interval=0)
    # Each look at the clock takes three seconds.
    clock = itertools.count(0, 3)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    make().fit(db, *targets)
    left = re.findall(rf"{stage}: .*about (\d+) (s|min|h) left", shown.getvalue())
    assert len(left) > 3
    # It ends when everything is done.
    shares = re.findall(rf"{stage}: (\d+) of (\d+)", shown.getvalue())
    assert all(int(done) <= int(total) for done, total in shares)


def test_the_work_of_a_greedy_search_is_known_before(monkeypatch: pytest.MonkeyPatch) -> None:
    parents, friends, labels = families(size=16)
    told: list[float] = []
    advance = progress.Stage.advance

    def noted(self: progress.Stage, steps: int = 1, *, note: str = "", share: float | None = None) -> None:
        if share is not None and "greedy search" in str(self):
            told.append(share)
        advance(self, steps, note=note, share=share)

    monkeypatch.setattr(progress.Stage, "advance", noted)
    fit = sqlrl.SoftStructure(method="gls", length=2, min_targets=3, most=3, least=1e-9).fit(
        loaded(labels, parents, friends), "Grandparent"
    )
    assert told == sorted(told)
    assert told[0] > 0
    # All rounds that there may be were made.
    assert fit.greedy_ is not None
    assert (told[-1] == 1) == (len(fit.greedy_.rules) == 3)
