"""The program: its commands, their help, and what it says when one fails, never a traceback for bad input."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from inspect import cleandoc
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from sqlrl.cli.analysis import count, diagnose, explain, ground, overlap
from sqlrl.cli.data import define, load, migrate, remove
from sqlrl.cli.demo import demo
from sqlrl.cli.doctor import doctor, version
from sqlrl.cli.export import export, report
from sqlrl.cli.interrupts import INTERRUPTED, AtWork
from sqlrl.cli.prediction import evaluate, infer, psl, why
from sqlrl.cli.preparation import audit, bias
from sqlrl.cli.session import check_arguments, prepare_streams
from sqlrl.cli.sql import run as run_script
from sqlrl.cli.sql import sql
from sqlrl.cli.subgraphs import ego
from sqlrl.cli.words import in_options
from sqlrl.deprecated import COMMAND_OPTIONS
from sqlrl.errors import MemoryUsedUpError, SqlrlError
from sqlrl.markup import printable

# ---- examples in the help -----------------------------------------------------------------------------

_PROGRAM = "sqlrl "
_WORD = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
_WIDTH = 74
"""Columns of a line of an example, in a terminal of 80 with the margins of the help."""


def command_lines(text: str) -> list[str]:
    r"""Return the examples of a docstring, one line each."""
    return [part for part in _paragraphs(text) if part.startswith(_PROGRAM)]


def with_examples(command: Callable[..., None]) -> str:
    """Return the help of a command: what its docstring says, and under a heading its examples."""
    text = command.__doc__ or ""
    prose = [_escaped(part) for part in _paragraphs(text) if not part.startswith(_PROGRAM)]
    examples = command_lines(text)
    if examples:
        # After \b the help leaves lines as they are.
        shown = "\n".join(_escaped(pasteable(each)) for each in examples)
        prose.append(f"\b\n[bold]Example{'s' if len(examples) > 1 else ''}[/bold]\n{shown}")
    return "\n\n".join(prose)


def pasteable(line: str, width: int = _WIDTH) -> str:
    r"""Return a command line on lines that a shell takes for one, broken between arguments."""
    lines = [""]
    # An option stays beside its value.
    for word in re.findall(rf"--?[a-z-]+ (?!-){_WORD}|{_WORD}", line):
        room = width - (2 if len(lines) == 1 else 6)
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    assert shlex.split(" ".join(lines)) == shlex.split(line), line
    return " \\\n    ".join(lines)


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", cleandoc(text)) if part.strip()]


def _escaped(text: str) -> str:
    """Return a text in which the help sees no markup."""
    return re.sub(r"(\[[a-zA-Z/@#])", r"\\\1", text)


# ---- failures -----------------------------------------------------------------------------------------

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
        except typer.BadParameter as error:
            error.message = _refusal(error)
            raise
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
            # Those who know say what is kept.
            kept = "\n".join(_notes(error))
            complain(f"interrupted; {kept}" if kept else "interrupted")
            raise typer.Exit(INTERRUPTED) from error


def _refusal(error: typer.BadParameter) -> str:
    """Return what is wrong with a value: newer versions of typer have the words of the library that reads values, which name no value."""
    told = getattr(error.__cause__, "errors", None)
    if told is None:
        return error.message
    first = told()[0]
    match first["type"].split("_")[0], first.get("ctx", {}):
        case "int", _ if getattr(error.param, "metavar", None) == "RUN":
            return f"give the number of a run, not {first['input']!r}: the table sqlrl.run lists them"
        case "int", _:
            return f"give an integer, not {first['input']!r}"
        case "float", _:
            return f"give a number, not {first['input']!r}"
        case _, {"ge": least}:
            return f"give at least {least}, not {first['input']!r}"
        case _, {"le": most}:
            return f"give at most {most}, not {first['input']!r}"
        case _, {"error": reason}:
            return str(reason)
    return error.message


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


# ---- the commands -------------------------------------------------------------------------------------

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class LoadedLater(Commands):
    """The group of commands; it loads `learn` when it is called, since its options come from the learners, which take a while."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        if name == learn.__name__:
            settings = dict(_SETTINGS)
            if set(_SETTINGS["help_option_names"]) & set(rest):
                # This help has the options that matter most, for which no learner is loaded.
                from sqlrl.cli.learning import learn as whole
            else:
                from sqlrl.cli.learn import learn as whole

                settings["help_option_names"] = [*settings["help_option_names"], "--help-all"]
            alone = typer.Typer(rich_markup_mode=app.rich_markup_mode, add_completion=False)
            alone.command(context_settings=settings, help=with_examples(whole))(whole)
            command = typer.main.get_command(alone)
        return name, command, rest


def learn() -> None:
    """Learn the weights of a model, and new clauses with --learner osl or ilp."""


app = typer.Typer(
    name="sqlrl",
    cls=LoadedLater,
    help="Learn weighted first-order rules from relational data with SQL, and predict with them.",
    epilog="Results go to standard output, messages and progress to standard error. `sqlrl demo` is a first run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
)
for command in (
    load,
    remove,
    define,
    bias,
    ego,
    ground,
    count,
    diagnose,
    overlap,
    audit,
    learn,
    infer,
    evaluate,
    why,
    psl,
    export,
    explain,
    report,
    sql,
    run_script,
    migrate,
    version,
    doctor,
    demo,
):
    app.command(help=with_examples(command))(command)


def run() -> NoReturn:
    """Run the command line and end the process, with what has Ctrl-C in its hands (`interrupts.watch`) around it."""
    prepare_streams()
    try:
        app()
    except SystemExit as end:
        # What is still in the buffer may meet a closed pipe; at the exit of the interpreter nobody could catch that.
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            sys.exit(pipe_closed())
        sys.exit(end.code)
    sys.exit(0)
