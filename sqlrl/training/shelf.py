"""Parts of what is learned from, kept in memory as long as they are small together, and in files beyond that."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import named
from sqlrl.errors import InputError, Parameter, Written
from sqlrl.wording import in_bytes

KEPT = 2**28
"""Bytes of parts that are kept in memory together."""

Part = TypeVar("Part")
Shown_co = TypeVar("Shown_co", covariant=True)


class Held(Protocol[Shown_co]):
    """A part that is kept somewhere."""

    def part(self) -> Shown_co:
        """Return it, read anew if it is not in memory."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory(Generic[Part]):
    """A part in memory."""

    value: Part

    def part(self) -> Part:
        """Return it."""
        return self.value


@dataclass(frozen=True, eq=False)
class OnDisk(Generic[Part]):
    """A part whose arrays are in a file, one after the other; `sizes` are theirs in bytes, `frame` says how they go together."""

    path: Path
    sizes: Sequence[int]
    frame: bytes

    def part(self) -> Part:
        """Read it."""
        with self.path.open("rb") as file:
            arrays = [np.fromfile(file, dtype=np.uint8, count=size) for size in self.sizes]
        # The frame has never left this process.
        found: Part = pickle.loads(self.frame, buffers=arrays)  # noqa: S301
        return found


def spill_directory(engine: QueryEngine) -> Path | None:
    """Return where arrays go that are too large for the memory: where those of DuckDB go; None if nothing is to go to files."""
    query = exp.select(named(exp.func("current_setting", exp.convert("temp_directory")), "folder"))
    folder: str = engine.fetch(query, step="find where to spill").column(0)[0].as_py()
    return Path(folder) if folder else None


class Shelf(Generic[Part]):
    """Holds parts in memory up to `most` bytes, then in files in `folder` (None: never) that are removed when it is closed."""

    def __init__(self, folder: Path | None, most: int = KEPT) -> None:
        self._folder, self._most, self._size = folder, most, 0
        self._held: list[Held[Part]] = []
        self._open = ExitStack()
        self._room: Path | None = None

    def close(self) -> None:
        """Remove what is in files."""
        self._held.clear()
        self._open.close()
        if self._room is not None and self._folder is not None:
            # Where DuckDB has spilled nothing, its folder goes as it came.
            with suppress(OSError):
                self._folder.rmdir()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held[Part]]:
        return iter(self._held)

    @property
    def in_memory(self) -> bool:
        """Whether no part is in a file."""
        return self._room is None

    def put(self, part: Part) -> None:
        """Keep a part, after all others."""
        buffers: list[pickle.PickleBuffer] = []
        frame = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(each.raw(), dtype=np.uint8) for each in buffers]
        self._size += sum(len(each) for each in arrays)
        if self._folder is None or self._size <= self._most:
            self._held.append(InMemory(part))
        else:
            self._held.append(self._written(frame, arrays))

    def _written(self, frame: bytes, arrays: Sequence[npt.NDArray[np.uint8]]) -> OnDisk[Part]:
        assert self._folder is not None
        try:
            if self._room is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._room = Path(
                    self._open.enter_context(tempfile.TemporaryDirectory(prefix="sqlrl-", dir=self._folder))
                )
            path = self._room / f"{len(self._held)}.bin"
            with path.open("wb") as file:
                for each in arrays:
                    each.tofile(file)
        except OSError as error:
            raise InputError(
                f"the ground clauses of the training examples take {in_bytes(self._size)} or more and are written to {self._folder}, which "
                f"failed: {error.strerror or error}; free some of that disk, or name a folder on another one, {Parameter('temp_directory', Written('...'), 'connect({})')}"
            ) from error
        return OnDisk(path, [len(each) for each in arrays], frame)
