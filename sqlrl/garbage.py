"""How often Python looks for cycles of garbage, while a computation makes many objects that stay."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATIONS = 10_000
"""So many more objects than were freed are made before Python looks for cycles among the youngest; its default is 700."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""For each computation at work what the thresholds were when the first one of them began."""


@contextmanager
def seldom_sought() -> Iterator[None]:
    """Make Python's garbage collector run less often while the context is open; where it is switched off, it stays off."""
    # A full collection walks over all objects each time that the old ones are a quarter more. A search for clauses keeps a few hundred thousand,
    # none of them in a cycle, beside those of the libraries: a quarter of its time went into that.
    with _lock:
        first, second, third = gc.get_threshold()
        _before.append(_before[0] if _before else (first, second, third))
        if 0 < first < ALLOCATIONS:
            gc.set_threshold(ALLOCATIONS, second, third)
    try:
        yield
    finally:
        with _lock:
            usual = _before.pop()
            if not _before:
                gc.set_threshold(*usual)
