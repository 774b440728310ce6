"""The map from the variables of an exported file back to atoms, as a table beside it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray
from sqlrl.solve.exporting.text import PIECE, new_file
from sqlrl.solve.weighed import Weighed

ENDING = ".atoms.tsv"
"""What the name of the map adds to that of the exported file."""


def unnamed(ids: IntArray) -> Sequence[tuple[str, str]]:
    """No names: for networks that came from no database."""
    return [("", "")] * len(ids)


@dataclass(frozen=True, eq=False)
class Names:
    """What the atoms of a network are called outside of it.

    Parameters
    ----------
    ids : int64 array, shape (n,)
        The id of each local atom of the network, `Network.atoms`.
    texts : callable
        From ids to the predicate and the constants of each.
    """

    ids: IntArray
    texts: Callable[[IntArray], Sequence[tuple[str, str]]] = unnamed

    def of(self, weighed: Weighed) -> IntArray:
        """The ids of the atoms of a weighed network, shape (n,)."""
        return np.asarray(self.ids[weighed.atoms], dtype=np.int64)


def names_or_local(names: Names | None, weighed: Weighed) -> Names:
    """The names, or else the local atoms of the network as their own ids.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> weighed = weigh(network(2, []), [])
    >>> names_or_local(None, weighed).of(weighed).tolist()
    [0, 1]
    """
    return names or Names(np.arange(int(weighed.atoms.max(initial=-1)) + 1, dtype=np.int64))


def map_path(path: str | Path) -> Path:
    """Where the map of an exported file stands.

    Examples
    --------
    >>> map_path("smokers.wcnf").name
    'smokers.wcnf.atoms.tsv'
    """
    return Path(f"{path}{ENDING}")


@dataclass(frozen=True, eq=False)
class Place:
    """What each atom is in an exported file.

    Parameters
    ----------
    variable : sequence of str or int64 array, length n
        The name or number of its variable.
    state : int64 array, shape (n,), optional
        The state of the variable that makes the atom true, where variables have more than two.
    """

    variable: Sequence[str] | IntArray
    state: IntArray | None = None

    def rows(self, ids: IntArray, names: Names, low: int, high: int) -> list[tuple[str, ...]]:
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


def write_map(weighed: Weighed, path: str | Path, place: Place, names: Names, notes: Sequence[str]) -> None:
    """Write the map of an exported file: lines separated by tabs, below notes that begin with `#`.

    Parameters
    ----------
    weighed : Weighed
        n atoms.
    path : str or Path
        The exported file.
    place : Place
    names : Names
    notes : sequence of str
        What else a reader should know.
    """
    ids = names.of(weighed)
    with new_file(map_path(path)) as file:
        file.writelines(f"# {note}\n" for note in notes)
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(place.header)
        for low in range(0, len(ids), PIECE):
            writer.writerows(place.rows(ids, names, low, low + PIECE))


def check_map(weighed: Weighed, path: str | Path, place: Place, names: Names) -> None:
    """Compare the map of an exported file with the atoms of today.

    Raises
    ------
    InputError
        There is no map, or it lists other atoms: the data or the model changed in between.
    """
    ids, file_path = names.of(weighed), map_path(path)
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
