"""Functions compiled to machine code: how they are, and what people see while they are."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numba
from numba.core import event, types

from sqlrl.progress import Working, at_work

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
    compiled: Function = _ours(numba.njit(cache=True, nogil=True)(function))
    return compiled


def inlined(function: Function) -> Function:
    """Compile a function as `kernel` does, into each kernel that calls it."""
    compiled: Function = _ours(numba.njit(cache=True, nogil=True, inline="always")(function))
    return compiled


def _ours(dispatcher: Any) -> Any:
    _forgive(dispatcher)
    # Machine code is made, or read from where it is kept, when `compile` is called: by a first call and by other kernels.
    compile_ = dispatcher.compile

    def compile_held(signature: Any) -> Any:
        with _held_interrupts():
            return compile_(signature)

    dispatcher.compile = compile_held
    template_ = dispatcher.get_call_template

    def general_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template_(tuple(map(_general, args)), {name: _general(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = general_template
    return dispatcher


def _forgive(dispatcher: Any) -> None:
    # What an earlier version of sqlrl kept names types that may be gone: numba reads it before it sees that the source is another.
    kept = dispatcher._cache._cache_file  # noqa: SLF001 - numba has no other way in
    load = kept._load_index  # noqa: SLF001

    def load_index() -> Any:
        try:
            return load()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}

    kept._load_index = load_index  # noqa: SLF001


def _general(kind: Any) -> Any:
    # A kernel would be compiled once more for each constant that others call it with, and for integers of 32 bits.
    general: Any = types.misc.unliteral(kind)
    return types.int64 if general == types.int32 else general


@contextmanager
def _held_interrupts() -> Iterator[None]:
    # LLVM calls back into Python, which drops a KeyboardInterrupt that is raised there: the run would go on. A second one is not held.
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    arrived: list[tuple[int, Any]] = []

    def hold(number: int, frame: Any) -> None:
        arrived.append((number, frame))
        if len(arrived) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if arrived:
            before(*arrived[0])


class _Told(event.Listener):  # type: ignore[misc]
    # A function of ours whose machine code is not kept takes seconds at its first call, with all that it calls. Numba lets one thread
    # compile at a time.

    def __init__(self) -> None:
        self._depth = 0
        self._task: Working | None = None

    def on_start(self, found: Any) -> None:
        if not _is_ours(found):
            return
        if not self._depth:
            self._task = at_work()
        self._depth += 1
        self._say(COMPILING)

    def on_end(self, found: Any) -> None:
        if not _is_ours(found):
            return
        self._depth -= 1
        if not self._depth:
            self._say("")
            self._task = None

    def _say(self, note: str) -> None:
        # A display that is gone, such as a closed file, is no reason for a computation to fail.
        with suppress(OSError, ValueError):
            if self._task is not None:
                self._task.aside(note)


def _is_ours(found: Any) -> bool:
    return (found.data["dispatcher"].py_func.__module__ or "").startswith("sqlrl.")


event.register("numba:compile", _Told())
