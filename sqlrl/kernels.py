"""Functions compiled to machine code: how they are, and what people see while they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import event

from sqlrl.report.console import annotate

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILING = "compiling for this machine, only the first time"


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, without Python's lock; what was compiled is kept beside its module.

    Examples
    --------
    >>> from sqlrl.solve.randomness import streams, unit  # `unit` is a kernel
    >>> 0 <= unit(streams(0, 1)[0]) < 1
    True
    """
    compiled: Function = numba.njit(cache=True, nogil=True)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile a function as `kernel` does, into each kernel that calls it."""
    compiled: Function = numba.njit(cache=True, nogil=True, inline="always")(function)
    return compiled


class _Told(event.Listener):  # type: ignore[misc]
    # A function of ours whose machine code is not kept takes seconds at its first call, with all that it calls.

    def __init__(self) -> None:
        self._own = threading.local()

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("sqlrl."):
            self._own.depth = getattr(self._own, "depth", 0) + 1
            annotate(COMPILING)

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("sqlrl."):
            self._own.depth -= 1
            if not self._own.depth:
                annotate("")


event.register("numba:compile", _Told())
