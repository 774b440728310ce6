"""Settings that are chosen for each test group on the others."""

from __future__ import annotations

from itertools import combinations

import pytest
from group_choice import Tried, attempts, choose

from sqlrl.evaluate import Fold

GROUPS = ("a", "b", "c", "d")
FOLDS = [
    Fold(name, tuple(f"{x}{i}" for x in GROUPS if x != name for i in range(3)), tuple(f"{name}{i}" for i in range(3)))
    for name in GROUPS
]


@pytest.mark.parametrize("count", [3, 4])
def test_each_pair_of_groups_is_left_out_once(count: int) -> None:
    found = attempts(FOLDS[:count])
    assert [tuple(fold.name for fold in one.held) for one in found] == list(combinations(GROUPS[:count], 2))
    for one in found:
        assert {x for x, *_ in one.fold.train} == set(GROUPS[:count]) - {fold.name for fold in one.held}
        assert len(one.fold.train) == 3 * (count - 2)
        assert one.fold.test == ()
    assert [tuple(fold.name for fold in one.held) for one in attempts(FOLDS, "c")] == [
        ("a", "c"),
        ("b", "c"),
        ("c", "d"),
    ]


def test_no_score_of_a_test_group_and_no_training_on_it_chooses() -> None:
    """The second setting is worse on d alone, and wherever d is trained on: it is chosen for d, and for no other."""
    tried = [
        Tried(setting, {x: score(setting, x, "d" in pair) for x in pair})
        for setting in ("first", "second")
        for pair in combinations(GROUPS, 2)
    ]
    assert {group: choose(tried, group) for group in GROUPS} == {
        "a": "first",
        "b": "first",
        "c": "first",
        "d": "second",
    }


def score(setting: str, group: str, d_is_left_out: bool) -> float:
    if setting == "first":
        return 0.5
    return 0.6 if d_is_left_out and group != "d" else 0.0


def test_of_equals_the_first_is_chosen() -> None:
    tried = [Tried(setting, {"a": 1.0, "b": 1.0}) for setting in (3, 1, 2)]
    assert choose(tried, "a") == 3
