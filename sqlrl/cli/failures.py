"""What happens when a command fails: a message and an exit code, never a traceback for bad input."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from sqlrl.errors import EngineError, SqlrlError

FAILED, INTERRUPTED, PIPE_CLOSED = 1, 130, 141

_PHRASES = {
    "connect(path, read_only=True)": "--read-only",
    "read_mln(path, query=[...])": "--query NAME",
    "call refresh()": "run `sqlrl load --refresh`",
    "load_evidence": "--evidence",
    'duplicates="drop"': "--duplicates drop",
    "read_only=True": "--read-only",
    "target=True": "--target",
    "given=True": "--given",
    "fold_case=True": "--fold-case",
    "constants=": "--rename",
    **{
        f"{name}=": f"--{name}"
        for name in ("columns", "types", "truth", "probability", "query", "drop", "examples", "limit")
    },
    "regularization=": "--lambda ",
    "learning_rate=": "--eta ",
    "delta=": "--delta ",
    "window=": "--window ",
    "passes=": "--passes ",
    "random_state=": "--seed ",
}
"""How messages of the library name a remedy, and the option that is the same on the command line."""

_PATTERN = re.compile("|".join(rf"(?<![\w-]){re.escape(phrase)}" for phrase in _PHRASES))


class Commands(TyperGroup):
    """The group of commands; it turns errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except EngineError as error:
            # It quotes SQL, in which nothing may be changed.
            complain(str(error))
            raise typer.Exit(FAILED) from error
        except SqlrlError as error:
            complain(in_options(str(error)))
            raise typer.Exit(FAILED) from error
        except BrokenPipeError as error:
            raise typer.Exit(pipe_closed()) from error
        except OSError as error:
            complain(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            complain("interrupted; what was finished is kept, the rest has left no trace in the database")
            raise typer.Exit(INTERRUPTED) from error


def in_options(message: str) -> str:
    """Return a message of the library with its remedies as options of the command line.

    Parameters
    ----------
    message : str

    Returns
    -------
    str

    Examples
    --------
    >>> in_options('remove them or pass duplicates="drop".')
    'remove them or pass --duplicates drop.'
    """
    return _PATTERN.sub(lambda found: _PHRASES[found[0]], message)


def complain(message: str) -> None:
    """Write an error to standard error, in red on a terminal; control characters in it are shown as text."""
    from sqlrl.report.text import visible

    # Tabs stay, since carets below a line of source count on them.
    lines = ["\t".join(map(visible, line.split("\t"))) for line in message.split("\n")]
    typer.secho("error: " + "\n".join(lines), fg="red", err=True)


def pipe_closed() -> int:
    """Let nothing more be written to an output that was closed (`| head`); return the exit code that shells expect."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
    return PIPE_CLOSED
