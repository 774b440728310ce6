"""How often Python looks for garbage: less often inside, and as before afterwards, whatever happens and however contexts overlap."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sqlrl.garbage import ALLOCATIONS, seldom_sought


@pytest.fixture(autouse=True)
def usual() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 9, 8)
    yield (700, 9, 8)
    gc.set_threshold(*before)


def test_errors_and_contexts_that_overlap_leave_it_as_it_was(usual: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="lost"), seldom_sought():
        raise ValueError("lost")
    assert gc.get_threshold() == usual
    one, other = ExitStack(), ExitStack()
    one.enter_context(seldom_sought())
    other.enter_context(seldom_sought())
    assert gc.get_threshold() == (ALLOCATIONS, 9, 8)
    # The first that began need not be the last that ends.
    one.close()
    assert gc.get_threshold() == (ALLOCATIONS, 9, 8)
    other.close()
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("first", [0, 10 * ALLOCATIONS])
def test_who_has_it_off_or_seldom_keeps_it(first: int) -> None:
    gc.set_threshold(first, 9, 8)
    with seldom_sought():
        assert gc.get_threshold() == (first, 9, 8)
    assert gc.get_threshold() == (first, 9, 8)
