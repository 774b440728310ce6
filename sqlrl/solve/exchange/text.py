"""The text files that all formats share: lines made many at a time, whole or not at all; and beside each the map from its variables to atoms."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray
from sqlrl.paths import exists, is_file
from sqlrl.solve.weighted import WeightedNetwork
from sqlrl.wording import check_characters

PIECE = 1 << 18
"""About so many numbers are turned into text at a time."""

ENDING = ".atoms.tsv"
"""What the name of the map adds to that of the exported file."""


# ---- text from arrays --------------------------------------------------------------------------------


@contextmanager
def new_path(path: str | Path) -> Iterator[Path]:
    """Give the place of a file that takes its name, replacing an older file, only when complete; a failure to write is an InputError."""
    path = Path(path)
    check_characters(str(path), "the path")  # it is written into files
    # A pipe or device is no file that could be replaced.
    direct = exists(path) and not is_file(path)
    target = path if direct else path.with_name(f"{path.name}.partial")
    try:
        yield target
        if not direct:
            target.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; name a file in a folder that exists"
        ) from error
    finally:
        if not direct:
            target.unlink(missing_ok=True)


@contextmanager
def new_file(path: str | Path) -> Iterator[TextIO]:
    """Write a text file as `new_path` gives it."""
    with new_path(path) as place, place.open("w", encoding="utf-8", newline="") as file:
        yield file


def pieces(start: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the first group of each run of about `PIECE` members, and the one after its last; `start` has where the members of groups begin."""
    low, groups = 0, len(start) - 1
    while low < groups:
        # Groups may be empty, so that their number is limited, too.
        high = int(np.searchsorted(start, start[low] + PIECE, side="right")) - 1
        high = min(max(high, low + 1), low + PIECE, groups)
        yield low, high
        low = high


def texts(values: npt.NDArray[np.generic]) -> pa.Array:
    """Numbers as text; floats as the shortest decimals that read back to the same number."""
    return pc.cast(pa.array(values), pa.string())


def joined(start: IntArray, items: pa.Array, separator: str = " ") -> pa.Array:
    """Return the items of each group, as for `pieces`, as one text; `items` are those from `start[0]` on, which need not be 0."""
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(start - start[0], pa.int32()), items), separator)


def write_lines(file: TextIO, *columns: pa.Array | str) -> None:
    """Write a line for each entry of the columns, which a blank separates; a text stands in every line."""
    lines = pc.binary_join_element_wise(*columns, " ").to_pylist()
    if lines:
        file.write("\n".join(lines) + "\n")


# ---- the map of the atoms ----------------------------------------------------------------------------


def unnamed(ids: IntArray) -> Sequence[tuple[str, str]]:
    """No names: for networks that came from no database."""
    return [("", "")] * len(ids)


@dataclass(frozen=True, eq=False)
class ExportedNames:
    """What the atoms of a network are called outside of it."""

    ids: IntArray  # shape (n,): of each local atom, `Network.atoms`
    # From ids to the predicate and the constants of each.
    texts: Callable[[IntArray], Sequence[tuple[str, str]]] = unnamed

    def of(self, weighted: WeightedNetwork) -> IntArray:
        """The ids of the atoms of a weighted network, shape (n,)."""
        return np.asarray(self.ids[weighted.atoms], dtype=np.int64)


def names_or_local(names: ExportedNames | None, weighted: WeightedNetwork) -> ExportedNames:
    """The names, or else the local atoms of the network as their own ids."""
    return names or ExportedNames(np.arange(int(weighted.atoms.max(initial=-1)) + 1, dtype=np.int64))


def map_path(path: str | Path) -> Path:
    """Where the map of an exported file stands."""
    return Path(f"{path}{ENDING}")


@dataclass(frozen=True, eq=False)
class ExportedPlace:
    """What each atom is in an exported file: the name or number of its variable."""

    variable: Sequence[str] | IntArray
    # Shape (n,): the state of the variable that makes the atom true, where variables have more than two.
    state: IntArray | None = None

    def rows(self, ids: IntArray, names: ExportedNames, low: int, high: int) -> list[tuple[str, ...]]:
        """The lines of the map for atoms `low` to `high - 1`."""
        columns = [[str(v) for v in self.variable[low:high]]]
        if self.state is not None:
            columns.append([str(s) for s in self.state[low:high].tolist()])
        columns.append([str(i) for i in ids[low:high].tolist()])
        described = names.texts(ids[low:high])
        return [(*row, *text) for row, text in zip(zip(*columns, strict=True), described, strict=True)]

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("variable", *(("state",) if self.state is not None else ()), "atom", "predicate", "constants")


def write_map(
    weighted: WeightedNetwork, path: str | Path, place: ExportedPlace, names: ExportedNames, notes: Sequence[str]
) -> None:
    """Write the map of an exported file with the atoms of a weighted network."""
    write_atoms(names.of(weighted), path, place, names, notes)


def write_atoms(
    ids: IntArray, path: str | Path, place: ExportedPlace, names: ExportedNames, notes: Sequence[str]
) -> None:
    """Write the map of the exported file `path`: lines separated by tabs, below notes that begin with `#`."""
    with new_file(map_path(path)) as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(place.header)
        for low in range(0, len(ids), PIECE):
            writer.writerows(place.rows(ids, names, low, low + PIECE))


def check_map(weighted: WeightedNetwork, path: str | Path, place: ExportedPlace, names: ExportedNames) -> None:
    """Compare the map of an exported file with the atoms of today; a missing map or other atoms (data or model changed) are an InputError."""
    ids, file_path = names.of(weighted), map_path(path)
    other = "the network is not the one that was exported: export it again, and solve that"
    try:
        with file_path.open(encoding="utf-8", newline="") as file:
            found = csv.reader(dropwhile(lambda line: line.startswith("#"), file), delimiter="\t")
            if tuple(next(found, ())) != place.header:
                raise InputError(f"{file_path} is not the map of a file of this format: name the exported file")
            for low in range(0, len(ids), PIECE):
                for row in place.rows(ids, names, low, low + PIECE):
                    listed = tuple(next(found, ()))
                    if listed != row:
                        was = " ".join(listed) or "nothing"
                        raise InputError(f"{file_path} lists {was} where {' '.join(row)} is expected: {other}")
            if next(found, None) is not None:
                raise InputError(f"{file_path} lists more than {len(ids)} atoms: {other}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file_path}: {reason}; it is written beside the exported file") from error
