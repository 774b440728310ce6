"""Paths of files as users write them, and texts that may be none."""

from __future__ import annotations

import errno
from pathlib import Path

UNNAMEABLE = "no file has such a name, with a NUL character or half a character (a surrogate)"
"""Why Python raises a ValueError where a file is opened."""


def expanded(path: str | Path) -> Path:
    """Return a path with the folder of a user in place of `~`; it stays as it is if there is no such user."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # a name with NUL, which is refused where it is opened
        return Path(path)


def leads_into(path: str | Path, folder: str | Path) -> bool:
    """Whether a path is in a folder, or the folder itself, links and `..` resolved; one that cannot be resolved is not."""
    try:
        return Path(path).resolve().is_relative_to(Path(folder).resolve())
    except (OSError, RuntimeError, ValueError):  # a name that is too long, links in a circle, half a character, NUL
        return False


def exists(path: str | Path) -> bool:
    """Return True if there is a file or folder of this name; a text that is too long to be one, as a query, names none."""
    try:
        return Path(path).exists()
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        return False


def is_dir(path: str | Path) -> bool:
    """Return True if there is a folder of this name, which like that of `exists` may be any text."""
    return exists(path) and Path(path).is_dir()


def is_file(path: str | Path) -> bool:
    """Return True if there is a file of this name, which like that of `exists` may be any text."""
    return exists(path) and Path(path).is_file()
