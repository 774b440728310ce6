"""Text that goes in and out: arguments, standard input and output, in whatever encoding a terminal has."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Sequence

import typer

from sqlrl.errors import InputError

STANDARD_INPUT = "standard input"

_PLAIN = str.maketrans({"…": "...", "±": "+/-", "─": "-", "━": "-", "│": "|", **dict.fromkeys("╭╮╰╯┌┐└┘├┤┬┴┼", "+")})
"""Characters of ours, and what is written for them where an encoding lacks them."""


def prepare_streams() -> None:
    """Let standard output and error escape what their encodings lack, in place of an error."""
    codecs.register_error("sqlrl", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="sqlrl")


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    written = error.object[error.start : error.end].translate(_PLAIN)
    return written.encode("ascii", "backslashreplace").decode("ascii"), error.end


def only_ascii() -> bool:
    """Return True if standard output may lack characters, so that JSON must escape them in its own way."""
    return "utf" not in (getattr(sys.stdout, "encoding", None) or "utf-8").lower()


def write_file(text: str) -> None:
    """Write the content of a file, such as a model, to standard output; like all files it is UTF-8."""
    if only_ascii():
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        print(text, end="")


def read_input() -> str:
    """Read standard input, which like all files is UTF-8; InputError if it is not."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{STANDARD_INPUT} is no UTF-8 text: byte {error.start} is damaged") from error


def check_arguments(arguments: Sequence[str]) -> None:
    r"""Refuse arguments, and what the environment names in place of one, that are not in the encoding of the system."""
    named = [*(("the argument", value) for value in arguments), ("SQLRL_DB", os.environ.get("SQLRL_DB", ""))]
    for what, value in named:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            encoding = sys.getfilesystemencoding()
            shown = "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in value)
            raise typer.BadParameter(
                f"{what} '{shown}' is no text in {encoding}, the encoding here: write it in that encoding, and rename the "
                "file if it is one"
            ) from None
