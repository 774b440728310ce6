"""What an outside solver wrote, as lines; and the words of the errors about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import IntArray

SHOWN = 40
"""So many characters of a wrong value are shown."""

NO_WORLD = "give it more time; if hard clauses conflict, sqlrl's own inference names them"
OTHER_FILE = "is the file whole, and the answer to the file that was exported?"

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Answer:
    """What a solver wrote.

    Parameters
    ----------
    path : str
        For messages.
    lines : sequence of (int, str)
        The lines that are not empty, stripped, with their numbers from 1.
    """

    path: str
    lines: Sequence[tuple[int, str]]

    @classmethod
    def read(cls, path: str | Path) -> Answer:
        """Read a text file, or a pipe.

        Raises
        ------
        InputError
            The file cannot be read, is no text, or is empty.

        Examples
        --------
        >>> Answer.read("/dev/null")
        Traceback (most recent call last):
        sqlrl.errors.InputError: /dev/null is empty: let the solver write its answer to it first
        """
        try:
            with Path(path).open(encoding="utf-8") as file:
                stripped = ((number, line.strip()) for number, line in enumerate(file, 1))
                lines = [(number, line) for number, line in stripped if line]
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is no text: name the file that the solver wrote as its answer") from error
        if not lines:
            raise InputError(f"{path} is empty: let the solver write its answer to it first")
        return cls(str(path), lines)


def shown(value: str) -> str:
    """A wrong value as messages show it.

    Examples
    --------
    >>> shown("x" * 50)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    return repr(value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}...")


def integers(tokens: Sequence[str], where: str, what: str) -> IntArray:
    """Numbers from text.

    Parameters
    ----------
    tokens : sequence of str
    where, what : str
        The file and line, and what the numbers are, for the error.

    Raises
    ------
    InputError
        Names the first token that is no integer of 64 bits.

    Examples
    --------
    >>> integers(["1", "-2x"], "answer:3", "literal")
    Traceback (most recent call last):
    sqlrl.errors.InputError: answer:3: '-2x' is no literal: is the file whole?
    """
    try:
        return np.array(tokens, dtype=np.int64)
    except (ValueError, OverflowError):
        wrong = next((t for t in tokens if not _INTEGER.fullmatch(t)), max(tokens, key=len))
        raise InputError(f"{where}: {shown(wrong)} is no {what}: is the file whole?") from None
