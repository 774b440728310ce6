"""The comparison of learners of weights, on the sets that it generates: all learn, and what is predicted was held out."""

from __future__ import annotations

from pathlib import Path

import learner_choice
import numpy as np
import pytest
from choice_sets import SETS, split
from learner_choice import LEARNERS, WIDE

GENERATED = ("bibliography", "documents", "guides", "8 towns")


@pytest.mark.filterwarnings("ignore::sqlrl.errors.CalibrationWarning")
@pytest.mark.parametrize("name", GENERATED)
def test_every_learner_learns_on_what_is_generated(name: str) -> None:
    for learner in LEARNERS:
        if learner == WIDE and not SETS[name].wide:
            continue
        with np.errstate(all="raise", under="ignore"):
            found = learner_choice.run("nowhere", name, learner, True, 0)
        assert 0 <= found.f1 <= 100
        assert 0 <= found.f1_half <= 100
        assert found.log_likelihood < 0
        assert found.examples > 0


@pytest.mark.parametrize("name", GENERATED)
def test_what_is_predicted_was_held_out(name: str) -> None:
    loaded = SETS[name].load(Path("nowhere"), True, 3)
    assert loaded.train
    assert loaded.test
    assert not set(loaded.train) & set(loaded.test)


def test_parts_are_all_of_the_examples() -> None:
    names = [f"e{k}" for k in range(41)]
    train, test = split(names, 5)
    assert sorted([*train, *test]) == sorted(names)
    assert len(test) == 10
    assert split(names, 5) == (train, test) != split(names, 6)
