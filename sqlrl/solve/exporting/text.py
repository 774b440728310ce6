"""Text files from arrays: lines made many at a time, in files that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray

PIECE = 1 << 18
"""About so many numbers are turned into text at a time."""


@contextmanager
def new_file(path: str | Path) -> Iterator[TextIO]:
    """Write a text file that takes its name only when it is complete.

    Parameters
    ----------
    path : str or Path
        A file of that name is replaced.

    Raises
    ------
    InputError
        The place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with new_file(Path(folder, "a.txt")) as file:
    ...         _ = file.write("whole")
    ...     [found.name for found in Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    # A pipe or device is no file that could be replaced.
    direct = path.exists() and not path.is_file()
    target = path if direct else path.with_name(f"{path.name}.partial")
    try:
        with target.open("w", encoding="utf-8", newline="") as file:
            yield file
        if not direct:
            target.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}; name a file in a folder that exists"
        ) from error
    finally:
        if not direct:
            target.unlink(missing_ok=True)


def pieces(start: IntArray) -> Iterator[tuple[int, int]]:
    """Split groups into runs that hold about `PIECE` members together.

    Parameters
    ----------
    start : int64 array, shape (groups + 1,)
        Group i has the members `start[i]` to `start[i + 1] - 1`.

    Yields
    ------
    tuple of int
        The first group of a run, and the one after its last.

    Examples
    --------
    >>> list(pieces(np.array([0, 3, 5])))
    [(0, 2)]
    """
    low, groups = 0, len(start) - 1
    while low < groups:
        # Groups may be empty, so that their number is limited, too.
        high = int(np.searchsorted(start, start[low] + PIECE, side="right")) - 1
        high = min(max(high, low + 1), low + PIECE, groups)
        yield low, high
        low = high


def texts(values: npt.NDArray[np.generic]) -> pa.Array:
    """Numbers as text; floats as the shortest decimals that read back to the same number.

    Examples
    --------
    >>> texts(np.array([0.1, 1e-300])).to_pylist()
    ['0.1', '1e-300']
    """
    return pc.cast(pa.array(values), pa.string())


def joined(start: IntArray, items: pa.Array, separator: str = " ") -> pa.Array:
    """The items of each group as one text.

    Parameters
    ----------
    start : int64 array, shape (groups + 1,)
        As for `pieces`; need not begin at 0.
    items : pyarrow.Array of str
        Those from `start[0]` on.
    separator : str
        What stands between two items.

    Examples
    --------
    >>> joined(np.array([0, 2, 2, 3]), texts(np.array([7, -8, 9]))).to_pylist()
    ['7 -8', '', '9']
    """
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(start - start[0], pa.int32()), items), separator)


def write_lines(file: TextIO, *columns: pa.Array | str) -> None:
    """Write a line for each entry of the columns, which a blank separates; a text stands in every line.

    Examples
    --------
    >>> import sys
    >>> write_lines(sys.stdout, "h", texts(np.array([1, 2])), "0")
    h 1 0
    h 2 0
    """
    lines = pc.binary_join_element_wise(*columns, " ").to_pylist()
    if lines:
        file.write("\n".join(lines) + "\n")
