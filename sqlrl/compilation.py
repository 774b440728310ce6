"""Kernels compiled ahead: for container images, and before many processes start that would each compile the same.

Which signatures a kernel is called with its annotations say. Arrays have one dimension and are contiguous; `Annotated[IntArray, 2]` has two,
`Annotated[Records, ROW]` items of a structured type. Of a union, and of a TypeVar with constraints, every member counts; a NamedTuple is read
field by field; what stands for the types of update rules is in `kernels.STAND_FOR`.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import sys
import time
import types
import typing
import warnings
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Annotated, Any, TypeVar

import numba
import numpy as np

from sqlrl.errors import SqlrlError, UnkeptCodeWarning
from sqlrl.kernels import KERNELS, STAND_FOR, cache_folder, hindrance, is_kept
from sqlrl.progress import Stage

Signature = tuple[Any, ...]
"""The types of the arguments, those of numba."""

_Task = tuple[str, Signature]
"""A kernel, by its full name, and for what it is to be compiled."""

_POLL = 0.2
"""Seconds after which it is tried again whether another process is done."""


@dataclass(frozen=True)
class CompilationReport:
    """How many signatures there are, how many of them had to be compiled, and where machine code is kept."""

    signatures: int
    new: int
    folder: str


def compile_ahead(processes: int | None = None) -> CompilationReport:
    """Compile every kernel for every signature that its annotations allow; code that is kept from before is not compiled again."""
    folder, reason = cache_folder()
    if reason:
        raise _not_kept(reason)
    load_kernels()
    # While another process compiles, this one waits, and then finds its code. If it is stopped, what is compiled stays.
    with _alone(Path(folder) / "compiling.lock"):
        all_ = [(name, signature) for name in sorted(filter(_is_ours, KERNELS)) for signature in signatures(name)]
        tasks = [(name, signature) for name, signature in all_ if not is_kept(KERNELS[name], signature)]
        if tasks:
            with Stage("compiling kernels", len(tasks), even=True) as stage:
                for name in _compiled(tasks, processes or min(_cores(), 4)):
                    stage.advance(note=name)
    return CompilationReport(len(all_), len(tasks), folder)


def _not_kept(reason: str) -> SqlrlError:
    return SqlrlError(
        f"machine code cannot be kept ({reason}): set the environment variable NUMBA_CACHE_DIR to a folder that can be written and has room."
    )


def _is_ours(name: str) -> bool:
    return name.startswith("sqlrl.")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def load_kernels() -> None:
    """Import every module of the package that has kernels; others may need libraries that are not there."""
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        if "\n@kernel\n" in path.read_text(encoding="utf-8"):
            import_module(".".join(("sqlrl", *path.relative_to(package).with_suffix("").parts)))


def compiled_late() -> list[str]:
    """Return the kernels, with their signatures, that this process compiled itself: empty where all was compiled ahead, by others."""
    return [
        f"{name}({', '.join(map(str, signature))})"
        for name, dispatcher in sorted(KERNELS.items())
        if _is_ours(name)
        for signature in dispatcher.stats.cache_misses
    ]


# ---- one after another, or side by side --------------------------------------------------------------


def _compiled(tasks: list[_Task], processes: int) -> Iterator[str]:
    """Compile and yield the name of each kernel when it is done."""
    if processes == 1 or len(tasks) == 1:
        for task in tasks:
            _compile(*task)
            yield task[0]
        return
    # Kernels of a module call the same ones: from both ends, so that two processes seldom compile the same at once.
    left = deque(tasks)
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=_begin) as pool:
        running: dict[Future[None], tuple[int, str]] = {}

        def start(place: int) -> None:
            if left:
                name, signature = left.pop() if place % 2 else left.popleft()
                running[pool.submit(_compile, name, signature)] = (place, name)

        try:
            for place in range(processes):
                start(place)
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    place, name = running.pop(future)
                    future.result()
                    start(place)
                    yield name
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    # Ctrl-C is for the process that started this one, which lets it finish the kernel that it is at.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_kernels()


def _compile(name: str, signature: Signature) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnkeptCodeWarning)  # an error here
        KERNELS[name].compile(signature)
    if reason := hindrance():
        raise _not_kept(reason)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Let one process in at a time."""
    with path.open("ab") as file:
        if not _locked(file):
            with Stage("waiting for another process that compiles"):
                while not _locked(file):
                    time.sleep(_POLL)
        yield  # the lock goes with the file


def _locked(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


# ---- annotations as types of numba -------------------------------------------------------------------


def signatures(name: str) -> list[Signature]:
    """Return the signatures that the annotations of a kernel say."""
    found: dict[Signature, None] = {}
    hints = _hints(KERNELS[name].py_func)
    several = dict.fromkeys(hint for hint in hints.values() if isinstance(hint, TypeVar))
    stand_ins = STAND_FOR if any(hint in each for hint in hints.values() for each in STAND_FOR) else [{}]
    for chosen in itertools.product(*([(hint, each) for each in hint.__constraints__] for hint in several)):
        for stand_in in stand_ins:
            replaced = {**dict(chosen), **stand_in}
            try:
                kinds = [_kinds(replaced.get(of, replaced.get(hint, hint))) for of, hint in hints.items()]
            except TypeError as error:
                raise TypeError(f"{name} cannot be compiled ahead: {error}") from error
            found.update(dict.fromkeys(itertools.product(*kinds)))
    return list(found)


def _hints(function: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    return hints


def _kinds(hint: Any) -> list[Any]:
    """Return the types of numba that an annotation stands for."""
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        dimensions = next((each for each in members[1:] if isinstance(each, int)), 1)
        dtype = next((each for each in members[1:] if isinstance(each, np.dtype)), None)
        return [_array(members[0], dimensions, dtype)]
    if origin is np.ndarray:
        return [_array(hint, 1, None)]
    if origin in (typing.Union, types.UnionType):
        return [kind for member in members for kind in _kinds(member)]
    if origin is tuple and Ellipsis not in members:
        return [numba.types.BaseTuple.from_types(kinds) for kinds in itertools.product(*map(_kinds, members))]
    if hint in (None, types.NoneType):
        return [numba.types.none]
    if isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields"):
        fields = _hints(hint)
        each = itertools.product(*(_kinds(fields[field]) for field in hint._fields))
        return [numba.types.BaseTuple.from_types(kinds, hint) for kinds in each]
    if hint in (bool, int, float):
        return [{bool: numba.types.boolean, int: numba.types.int64, float: numba.types.float64}[hint]]
    if isinstance(hint, type) and issubclass(hint, np.generic):
        return [numba.from_dtype(np.dtype(hint))]
    raise TypeError(f"{hint} is the type of no argument of machine code")


def _array(hint: Any, dimensions: int, dtype: np.dtype[Any] | None) -> Any:
    if dtype is None:
        (scalar,) = typing.get_args(typing.get_args(hint)[1])
        dtype = np.dtype(scalar)
    return numba.types.Array(numba.from_dtype(dtype), dimensions, "C")
