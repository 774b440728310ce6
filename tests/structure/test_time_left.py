"""Searches whose work is known say how long the rest of it will take."""

from __future__ import annotations

import io
import itertools
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl import progress
from sqlrl.errors import InputError, TimeLimitError
from sqlrl.report.console import PlainConsole
from sqlrl.structure import time_limit
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


@pytest.mark.parametrize("rules", [1, 3])
def test_a_greedy_search_that_would_take_too_long_is_refused(rules: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "ESTIMATED_AFTER", 0.0)
    parents, friends, labels = families(size=16)
    db = loaded(labels, parents, friends)
    asked: dict[str, Any] = {"method": "gls", "length": 2, "min_targets": 3, "most": rules}
    with pytest.raises(
        TimeLimitError, match=f"% of it that it took 0 s to search.*time_limit=1e-09 allows.*most={rules} or"
    ) as caught:
        sqlrl.SoftStructure(time_limit=1e-9, **asked).fit(db, "Grandparent")
    wanted = float(str(caught.value).rpartition("time_limit=")[2])
    assert wanted >= 1
    limited = sqlrl.SoftStructure(time_limit=1e6, **asked).fit(db, "Grandparent")
    assert limited.weights_.tobytes() == sqlrl.SoftStructure(**asked).fit(db, "Grandparent").weights_.tobytes()
    with pytest.raises(InputError, match="time_limit"):
        sqlrl.SoftStructure(time_limit=0, **asked).fit(db, "Grandparent")


@given(st.floats(1.0, 1e6), st.floats(1e-6, 1.0), st.floats(1.0, 1e9))
def test_a_search_is_refused_by_what_is_left_of_it(seconds: float, share: float, limit: float) -> None:
    allowed = time_limit.SearchTime(limit)
    left = seconds / share - seconds
    refused = seconds >= time_limit.ESTIMATED_AFTER and left > limit * (1 + 1e-9)
    with pytest.raises(TimeLimitError) if refused else nullcontext():
        allowed.check(seconds, share, "part", "less")
    # It is estimated once.
    allowed.check(1e9 if allowed.estimated else 1.0, 1e-9, "part", "less")
