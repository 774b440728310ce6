"""What happens when a command fails: a message and an exit code, never a traceback for bad input."""

from __future__ import annotations

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from sqlrl.cli.interrupts import INTERRUPTED, AtWork
from sqlrl.cli.streams import check_arguments
from sqlrl.cli.words import in_options
from sqlrl.deprecated import COMMAND_OPTIONS
from sqlrl.errors import MemoryUsedUpError, SqlrlError
from sqlrl.markup import printable

FAILED, PIPE_CLOSED = 1, 141


class Commands(TyperGroup):
    """The group of commands; it turns errors into messages and exit codes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments apart, all of which must be text."""
        check_arguments(args)
        return super().parse_args(ctx, [_new_option(each) for each in args])

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            with AtWork():
                return super().invoke(ctx)
        except (SqlrlError, MemoryError) as error:
            command = ctx.invoked_subcommand or "sqlrl"
            known = error if isinstance(error, SqlrlError) else MemoryUsedUpError(command, str(error))
            complain("\n".join([in_options(known.message, command), *_notes(error)]))
            raise typer.Exit(FAILED) from error
        except BrokenPipeError as error:
            raise typer.Exit(pipe_closed()) from error
        except OSError as error:
            words = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            complain("\n".join([words, *_notes(error)]))
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt as error:
            words = "interrupted; what was finished is kept, the rest has left no trace in the database"
            complain("\n".join([words, *_notes(error)]))
            raise typer.Exit(INTERRUPTED) from error


def _new_option(argument: str) -> str:
    """Return an argument with the new name of an option, and warn of the old one."""
    option, equals, value = argument.partition("=")
    new = COMMAND_OPTIONS.get(option)
    if new is None:
        return argument
    # No FutureWarning: this is for whoever typed it, also where Python hides warnings.
    typer.echo(f"warning: {option} is deprecated, and the next release does not have it: write {new}", err=True)
    return f"{new}{equals}{value}"


def _notes(error: BaseException) -> list[str]:
    """Return what was added to an error on its way, with remedies as options."""
    return [in_options(note) for note in getattr(error, "__notes__", ())]


def complain(message: str) -> None:
    """Write an error to standard error, in red on a terminal; control characters in it are shown as text."""
    # Without `file` it would be written as UTF-8 to an error stream whose encoding is ASCII.
    typer.secho(f"error: {printable(message)}", fg="red", file=sys.stderr)


def pipe_closed() -> int:
    """Let nothing more be written to an output that was closed (`| head`); return the exit code that shells expect."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    try:
        sys.stderr.flush()
    except BrokenPipeError:  # `2>&1 | head`; the interpreter would try again at its end, and exit with another code
        os.dup2(null, sys.stderr.fileno())
    os.close(null)
    return PIPE_CLOSED
