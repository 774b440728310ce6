"""Checks that all learners share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import InputError
from sqlrl.learn.parameters import check_number


@pytest.mark.parametrize("value", [10**400, -(10**400), np.float64("nan"), np.float32(0.5), True, "1"])
def test_what_is_no_number_in_range_is_refused_without_a_leak(value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"^strength=.* is not a finite number of at least 0\.75: say more$"):
            check_number("strength", value, 0.75, False, "say more")
        # A bound beyond the range of the number's own type.
        check_number("strength", np.float32(0.5), -1e300, False, "say more")


@pytest.mark.parametrize(("learner", "name"), [(sqlrl.CDA(), "on_window"), (sqlrl.PSCG(), "on_iteration")])
def test_what_cannot_be_called_is_refused_before_a_run_begins(learner: Any, name: str) -> None:
    with sqlrl.connect() as db:
        db.load("Liked", [("d1",)], types=["doc"], target=True)
        with pytest.raises(InputError, match=f"{name}=3: give a function"):
            learner.fit(db, sqlrl.parse_mln("Liked(doc)\nLiked(d)"), **{name: 3})
        assert db.sql("select count(*) from sqlrl.run").fetchall() == [(0,)]
