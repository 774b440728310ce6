"""Parts that are held out: nothing is on both sides, and what joins them is on neither."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.evaluate.holdout import NEITHER, TEST, TRAIN, check_fraction, hold_out, hold_out_entities

edges = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 9)), min_size=1, max_size=40)


@given(edges, st.floats(0.05, 0.95), st.integers(0, 5))
def test_no_entity_is_on_both_sides(rows: list[tuple[int, int]], fraction: float, seed: int) -> None:
    entities = sorted({e for _, e in rows})
    dense = np.array([entities.index(e) for _, e in rows])
    item = np.array([i for i, _ in rows])
    assume(len(entities) + (15 - len(set(item.tolist()))) > 1)
    side = hold_out_entities(item, dense, 15, fraction, seed=seed)
    of_side = {
        which: {e for i, e in zip(item.tolist(), dense.tolist(), strict=True) if side[i] == which} for which in range(3)
    }
    assert not of_side[TRAIN] & of_side[TEST]
    for i in np.flatnonzero(side == NEITHER).tolist():
        # An item of neither side has several entities: one alone is on one side.
        assert len({e for j, e in zip(item.tolist(), dense.tolist(), strict=True) if j == i}) > 1
    assert (side == hold_out_entities(item, dense, 15, fraction, seed=seed)).all()


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 5))
def test_the_share_is_what_was_asked_for(size: int, fraction: float, seed: int) -> None:
    held = int((hold_out(size, fraction, seed=seed) == TEST).sum())
    assert held == min(max(round(size * fraction), 1), size - 1)


@pytest.mark.parametrize(("count", "width", "fraction"), [(10, 3, 0.3), (7, 2, 0.5), (30, 4, 0.1), (4, 5, 0.26)])
def test_components_stay_whole_where_they_fit(count: int, width: int, fraction: float) -> None:
    """Cliques of `width` entities: each pair is an item, and none is lost."""
    items = [(c * width + a, c * width + b) for c in range(count) for a in range(width) for b in range(a + 1, width)]
    side = hold_out_entities(np.repeat(np.arange(len(items)), 2), np.array(items).reshape(-1), len(items), fraction)
    assert not (side == NEITHER).any()
    tested = {c for c in range(count) if side[c * (len(items) // count)] == TEST}
    assert len(tested) == int(round(fraction * count * width) / width)


@pytest.mark.parametrize(("size", "fraction"), [(10, 0.2), (20, 0.5), (9, 0.34)])
def test_what_is_all_connected_is_cut(size: int, fraction: float) -> None:
    items = [(a, b) for a in range(size) for b in range(size)]
    side = hold_out_entities(np.repeat(np.arange(len(items)), 2), np.array(items).reshape(-1), len(items), fraction)
    held = round(size * fraction)
    found = [int((side == which).sum()) for which in (TRAIN, TEST, NEITHER)]
    assert found == [(size - held) ** 2, held**2, 2 * held * (size - held)]


def test_other_seeds_hold_out_others() -> None:
    found = {tuple(hold_out(30, 0.3, seed=seed).tolist()) for seed in range(8)}
    assert len(found) == 8


@pytest.mark.parametrize("fraction", [0, 1, 20, -0.1, True, "0.2", None, float("nan"), [0.2]])
def test_no_share(fraction: object) -> None:
    with pytest.raises(InputError, match=r"must be a share between 0 and 1 that is held out, such as 0\.2"):
        check_fraction(fraction)
