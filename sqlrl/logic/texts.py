"""Texts of the rule languages: read from files, and told from the paths of files."""

from __future__ import annotations

import re
from pathlib import Path

from sqlrl.errors import InputError, ParseError
from sqlrl.wording import shortened

_PATH = re.compile(r"\s*[^\s()]+\.[A-Za-z]\w*\s*")
"""One word with an ending: no text of any of the languages."""


def read_text(path: str | Path, *, parse: str = "") -> str:
    """Read a UTF-8 file as it is, without translating the ends of lines.

    Parameters
    ----------
    path : str or Path
    parse : str
        The function that takes the text itself, for who passes that.

    Raises
    ------
    ParseError
        The file is missing or is no UTF-8 text.
    InputError
        No path.

    Examples
    --------
    >>> read_text("modeh(1, great(+a,+a)).", parse="sqlrl.parse_bias")
    Traceback (most recent call last):
    sqlrl.errors.ParseError: modeh(1, great(+a,+a)).: cannot read the file: No such file or directory; if this is the text itself, pass it to sqlrl.parse_bias
    """
    given: object = path
    instead = f"; if this is the text itself, pass it to {parse}" if parse else ""
    if not isinstance(given, str | Path):
        raise InputError(f"{shortened(repr(given))} is no path of a file: give a str or a pathlib.Path{instead}")
    name = shortened(str(path))
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        remedy = instead if "\n" in str(path) or "(" in str(path) else ""
        raise ParseError(f"cannot read the file: {error.strerror}{remedy}", path=name) from error
    except UnicodeDecodeError as error:
        raise ParseError(f"the file is no UTF-8 text: byte {error.start} is damaged", path=name) from error


def check_text(text: object, what: str, remedy: str) -> None:
    """Refuse what is no text, and a path in place of the text.

    Parameters
    ----------
    text : object
    what : str
        What the text is of, such as "a model".
    remedy : str
        How to read a file.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_text("toxic.modes", "a bias", "read files with read_bias")
    Traceback (most recent call last):
    sqlrl.errors.InputError: 'toxic.modes' is the path of a file rather than the text of a bias: read files with read_bias
    """
    if not isinstance(text, str):
        decode = "decode bytes with .decode(), " if isinstance(text, bytes) else ""
        raise InputError(f"the text of {what} is a str, not {type(text).__name__}: {decode}{remedy}")
    if _PATH.fullmatch(text):
        raise InputError(f"{text.strip()!r} is the path of a file rather than the text of {what}: {remedy}")
