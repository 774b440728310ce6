"""Jobs that are done, kept in a file so that an experiment that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import sqlrl


class Kept(Protocol):
    """Results of jobs: a `Journal`, or a table."""

    def key(self, function: Callable[..., object], job: tuple[object, ...]) -> str:
        """Return what a job is known by."""
        ...

    def get(self, key: str) -> Any:
        """Return the result of a job, None if it is not done."""
        ...

    def add(self, key: str, result: Any) -> None:
        """Keep a result; jobs may end in several threads."""
        ...


class Journal:
    """Results of jobs by what they depend on: function, arguments, versions of libraries and the code of sqlrl and the experiments.

    Parameters
    ----------
    path : Path
        A file of pickles, one for each job; read only one that you wrote.
    depends : object
        What results depend on besides; anything that can be pickled.
    """

    def __init__(self, path: Path, depends: object = None) -> None:
        self.path, self._depends, self._lock = path, depends, threading.Lock()
        self._found: dict[str, bytes] = {}
        if not path.exists():
            return
        end = 0
        with path.open("r+b") as file:
            try:
                while True:
                    key, result = pickle.load(file)  # noqa: S301  the user's own file
                    self._found[key], end = result, file.tell()
            except (EOFError, pickle.UnpicklingError):
                file.truncate(end)  # the last one may have been cut off

    def __str__(self) -> str:
        return str(self.path)

    def key(self, function: Callable[..., object], job: tuple[object, ...]) -> str:
        """Return what a job is known by."""
        name = (Path(inspect.getfile(function)).stem, function.__qualname__)
        return hashlib.sha256(pickle.dumps((name, job, self._depends, code_digest()))).hexdigest()

    def get(self, key: str) -> Any:
        """Return the result of a job, None if it is not done."""
        # Unpickled only here: what other code has kept need not be readable.
        return pickle.loads(self._found[key]) if key in self._found else None  # noqa: S301

    def add(self, key: str, result: object) -> None:
        """Keep a result; jobs may end in several threads."""
        data = pickle.dumps((key, pickle.dumps(result)))
        with self._lock, self.path.open("ab") as file:
            file.write(data)


@cache
def code_digest() -> str:
    """Return a digest of the code of sqlrl and of the experiments."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(sqlrl.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
