"""Functions compiled to machine code: how they are, and what people see while they are."""

from __future__ import annotations

import hashlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from sqlrl.errors import InputError, UnkeptCodeWarning, brief, warn
from sqlrl.progress import Working, at_work

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILING = "compiling for this machine, only the first time"

KERNELS: dict[str, Any] = {}
"""What Python calls, of the modules that are imported, by its full name."""

STAND_FOR: list[dict[Any, type]] = []
"""Annotations of kernels that stand for several types, such as that of a protocol: the types that replace them, together; also by the name of
a parameter."""


def kernel(function: Function) -> Function:
    """Compile a function on its first call, or ahead as `sqlrl.compilation` says; it runs without the GIL, and the code is kept."""
    compiled: Function = _ours(numba.njit(nogil=True, no_cfunc_wrapper=True)(function))
    KERNELS[f"{function.__module__}.{function.__qualname__}"] = compiled
    return compiled


def inner(function: Function) -> Function:
    """Compile a function that only kernels call as `kernel` does, without the code by which Python would call it, a quarter of the work."""
    dispatcher = _ours(numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))

    def refused(*_: object, **__: object) -> None:
        raise InputError(f"{function.__qualname__} has no code by which Python can call it: make it a `kernel`.")

    # Numba would call machine code that is not there.
    dispatcher._insert = lambda *_, **__: None  # noqa: SLF001
    dispatcher._compile_for_args = refused  # noqa: SLF001
    compiled: Function = dispatcher
    return compiled


def inlined(function: Function) -> Function:
    """Compile a function as `kernel` does, into each kernel that calls it."""
    compiled: Function = _ours(numba.njit(nogil=True, inline="always")(function))
    return compiled


def _ours(dispatcher: Any) -> Any:
    if not hasattr(dispatcher, "py_func"):
        # The functions that kernels call by `overload` have no body in Python, where they would take a hundred times as long.
        raise InputError("NUMBA_DISABLE_JIT is set, and sqlrl does not work without compiled code: unset it.")
    dispatcher._cache = _cache(dispatcher.py_func)  # noqa: SLF001 - numba has no other way in
    # Machine code is made, or read from where it is kept, when `compile` is called: by a first call and by other kernels.
    compile_ = dispatcher.compile

    def compile_held(signature: Any) -> Any:
        with _held_interrupts():
            made = compile_(signature)
        _say_unkept()
        return made

    dispatcher.compile = compile_held
    template_ = dispatcher.get_call_template

    def general_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        return template_(tuple(map(_general, args)), {name: _general(kind) for name, kind in kws.items()})

    dispatcher.get_call_template = general_template
    return dispatcher


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    # Where the code of a function is kept: an index, which says for which source it is, and a file for each signature.

    def _load_index(self) -> Any:
        # What an earlier version of sqlrl kept names types that may be gone: numba reads it before it sees that the source is another.
        # Unpickling a damaged file, or a file of another user's, fails in any way; code that cannot be read is made again.
        try:
            return super()._load_index()
        except Exception:  # noqa: BLE001
            return {}

    def save(self, key: Any, data: Any) -> None:
        # Numba writes the index first: where the disk is then full it names code that was made of an older source.
        overloads = self._load_index()
        # By number two processes at once would give two signatures one file.
        overloads[key] = (
            f"{self._index_name.removesuffix('.nbi')}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        )
        self._save_data(overloads[key], data)
        self._save_index(overloads)


class _Kept(FunctionCache):  # type: ignore[misc]
    # What is kept only saves time: where it cannot be read or written the code is made all the same.

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        place = self._impl.locator
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, place.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - as `_load_index`
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _unkept.setdefault(f"{error.filename or self._cache_path}: {error.strerror}")


class _Unkept(NullCache):  # type: ignore[misc]
    # The cache of a function for which there is no folder.

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def save_overload(self, sig: Any, data: Any) -> None:
        _unkept.setdefault(self.reason)


def is_kept(dispatcher: Any, signature: tuple[Any, ...]) -> bool:
    """Return whether machine code of a kernel for a signature is kept, without reading it."""
    kept: Any = dispatcher._cache  # noqa: SLF001
    if isinstance(kept, _Unkept):
        return False
    return kept._index_key(signature, dispatcher.targetctx.codegen()) in kept._cache_file._load_index()  # noqa: SLF001


def hindrance() -> str:
    """Return why machine code of this process was not kept, the first reason; an empty text if all was."""
    return next(iter(_unkept), "")


def _cache(function: Callable[..., Any]) -> Any:
    try:
        return _Kept(function)
    except RuntimeError as error:
        # No folder can be written; or NUMBA_CACHE_LOCATOR_CLASSES names what there is not, which the error says.
        folder = Path(function.__code__.co_filename).parent
        nowhere = f"neither {folder} nor a folder of HOME can be written"
        return _Unkept(nowhere if "no locator" in str(error) else brief(str(error)))


def cache_folder() -> tuple[str, str]:
    """Return where machine code is kept, or else an empty text and why it is not."""
    found = _cache(inlined)
    return ("", found.reason) if isinstance(found, _Unkept) else (str(found.cache_path), "")


_unkept: dict[str, None] = {}
"""Why code was not kept; a warning says the first reason, once in a process."""

_said: list[str] = []


def _say_unkept() -> None:
    if not _unkept or _said:
        return
    _said.extend(_unkept)
    warn(
        f"machine code of this process is not kept ({_said[0]}), so that every process takes seconds to make it again: set "
        "the environment variable NUMBA_CACHE_DIR to a folder that can be written and has room.",
        UnkeptCodeWarning,
        through=str(Path(numba.__file__).parent),
    )


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
