"""Searches that are refused before they begin, or within their first minute."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import GroundingLimitError, InputError, PassedOverWarning, TimeLimitError
from sqlrl.structure import time_limit as time_limit_module
from sqlrl.structure.ilp.commands import MOST_RANKED, SeedReport
from sqlrl.wording import both_in_bytes, both_numbers

MODES = "modeh(1,'Wins'(+person)). modeb(*,'Has'(+person,#thing)). modeb(*,'Tall'(+person))."


def crowd(large: int, small: int) -> sqlrl.Database:
    """Load winners with many things and some with few, in turn as far as there are both, and as many people who lose."""
    db = sqlrl.connect(progress=False)
    names = [f"p{k:04}" for k in range(2 * (large + small))]
    winners = names[: large + small]
    things = [(name, f"t{j}") for k, name in enumerate(winners) for j in range(30 if k < large else 3)]
    db.load("Has", things, types=["person", "thing"])
    db.load("Tall", [(name,) for name in winners[::2]], types=["person"])
    db.load("Wins", [(name,) for name in winners], types=["person"], target=True)
    db.scope("Wins", [(name,) for name in names])
    return db


@pytest.mark.parametrize(
    "command",
    [
        "induce",
        "rank",
        pytest.param("induce_cover", marks=pytest.mark.slow),
        pytest.param("induce_max", marks=pytest.mark.slow),
    ],
)
def test_bottom_clauses_that_are_mostly_too_large_are_refused_before_any_search(command: str) -> None:
    told: list[SeedReport] = []
    ilp = sqlrl.ILP(sqlrl.parse_bias(MODES), command=command, bottom_limit=20, clause_length=2)  # type: ignore[arg-type]
    with pytest.raises(GroundingLimitError) as caught:
        ilp.fit(crowd(40, 30), "Wins", callback=told.append)
    text = str(caught.value)
    assert re.search(
        r"of the first \d+ more than half: a bottom clause has 3[01] literals, more than the limit of 20", text
    )
    assert text.endswith("or raise bottom_limit=")
    assert not told
    with pytest.warns(PassedOverWarning, match=r"positive atoms? of \d+ that were to be seeds were passed over"):
        ilp.fit(crowd(10, 60), "Wins", callback=told.append)
    assert told


@pytest.mark.parametrize(("command", "seeds"), [("rank", MOST_RANKED), ("induce_max", 400)])
def test_a_search_that_would_take_too_long_stops_after_its_first_minute(
    command: str, seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The minute is none here; how long the rest takes depends on how many positive atoms are searched, of which `rank` takes some."""
    monkeypatch.setattr(time_limit_module, "ESTIMATED_AFTER", 0.0)
    db = crowd(0, 400)
    given: dict[str, Any] = {"command": command, "significance": 1.0, "clause_length": 2}
    with pytest.raises(TimeLimitError, match=rf"by the 1 positive atom of {seeds} that it took") as caught:
        sqlrl.ILP(sqlrl.parse_bias(MODES), time_limit=1e-9, **given).fit(db, "Wins")
    assert "is kept as failed, with the best clauses up to seed 1" in caught.value.__notes__[0]
    assert ("command='rank'" in str(caught.value)) == (command != "rank")
    assert len(sqlrl.ILP(sqlrl.parse_bias(MODES), time_limit=1e6, **given).fit(db, "Wins").theory_) > 0


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), "soon"])
def test_a_time_limit_is_a_number_of_seconds(limit: Any) -> None:
    with pytest.raises(InputError, match="time_limit"):
        sqlrl.ILP(time_limit=limit).fit(crowd(0, 2), "Wins")


# ---- two numbers of which one is too large -----------------------------------------------------------


@given(st.integers(0, 10**15), st.integers(1, 10**12))
@settings(max_examples=300)
def test_sizes_that_differ_are_shown_as_they_differ(size: int, more: int) -> None:
    one, other = both_in_bytes(size, size + more)
    assert one != other
    factor = {"bytes": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    values = [float(text.split()[0].replace(",", "")) * factor[text.split()[1]] for text in (one, other)]
    assert values[0] < values[1]


@given(st.lists(st.floats(1e-12, 1e12), min_size=2, max_size=2, unique=True))
def test_numbers_that_differ_are_shown_as_they_differ(numbers: list[float]) -> None:
    shown = both_numbers(*sorted(numbers))
    assert all(float(a) < float(b) for a, b in pairwise(shown))


def test_sizes_that_are_far_apart_have_two_digits() -> None:
    assert both_in_bytes(499_600_000, 500_400_000) == ("499.6 MB", "500.4 MB")
    assert both_in_bytes(500_000_085, 500_000_000) == ("500.0001 MB", "500.0000 MB")
    assert both_in_bytes(2_600_000_000, 500_000_000) == ("2.6 GB", "500 MB")
    assert both_in_bytes(10**6, 10**6 + 1) == ("1,000,000 bytes", "1,000,001 bytes")
    assert both_in_bytes(7, 7) == ("7 bytes", "7 bytes")
