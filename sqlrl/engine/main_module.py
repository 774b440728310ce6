"""The main module of the process, of which a library may want more than it is: to import such a one, and to see whether it can be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def named_main() -> Iterator[None]:
    """Give the main module of `python -c` and the like a file while a library is imported that wants one."""
    # The client of Spark takes a process whose main module has none for a run of its own doctests, and ends it where it finds no whole Spark.
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "<sqlrl>"
    try:
        yield
    finally:
        del main.__file__
