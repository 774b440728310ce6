"""What happens when a command fails: a message and an exit code, never a traceback for bad input."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from sqlrl.cli.interrupts import INTERRUPTED, AtWork
from sqlrl.cli.streams import check_arguments
from sqlrl.deprecated import COMMAND_OPTIONS
from sqlrl.errors import EngineError, MemoryUsedUpError, SqlrlError
from sqlrl.markup import printable

FAILED, PIPE_CLOSED = 1, 141

_PHRASES = {
    "connect(path, read_only=True)": "--read-only",
    "open the database with atom_limit": "give atom_limit",
    "trusted=False": "--untrusted",
    "pass run_queries=True": "give --run-queries",
    "read_mln(path, query=[...])": "--query NAME",
    "empty= takes them as false, hidden= as open, to be inferred and not reported": "--closed takes them as false, --open as open, to be inferred "
    "and not printed",
    "empty= names": "--closed names",
    "leave it out of empty=, or of the query": "leave it out of --closed, or of --query",
    "hidden= and empty=: choose": "--open and --closed: choose",
    "Without strict=True": "Without --missing error",
    "read it with sqlrl.read_psl": "`sqlrl psl` infers it, `sqlrl learn --learner soft-pseudo-likelihood` learns its weights",
    "or give the .data file, read_psl(path, data=...); or load tables with load() and scope()": "or give the .data file, --data; or load tables into "
    "a DATABASE with `sqlrl load`, and name it",
    "load tables with load() and scope()": "load tables into a DATABASE with `sqlrl load`, and name it",
    "load them into a new one, connect()": "load them into a new one",
    "call refresh()": "run `sqlrl load --refresh`",
    "header=False": "--no-header",
    "out of the model: model.without(names)": "out, --drop NAME",
    "say which one to split, predicate=": "name the one to split, --query ",
    "choose another fraction, another random_state": "choose another --holdout, another --seed",
    'sqlrl.Evidence, or pass the constants as tuples, such as [("Anna", "Bob")]': "--evidence",
    "sqlrl.Evidence": "--evidence",
    "with Evidence and this model": "with --evidence and this model",
    "with Evidence": "with --evidence",
    "in one Evidence": "in one --evidence",
    "Evidence: ": "--evidence: ",
    "db.load(folder) loads": "`sqlrl load --folder` loads",
    "query: if it is a variable of Python, pass the object itself, without quotes": "query",
    "\nIf that is a variable of Python, pass the object itself, or show it with db.load(name, data, mode='view').": "",
    "path, or pass its rows as tuples": "path",
    "predict(into=...)": "`sqlrl infer --into`",
    "`from sqlrl.found_clauses` shows them in SQL, db.models[-1] is their model": "`sqlrl sql` with 'from sqlrl.found_clauses' shows them",
    "db.models[-1] is its model": "`sqlrl sql` with 'from sqlrl.strongest_clauses' shows its model",
    **{
        f"if this is the text itself, pass it to sqlrl.parse_{kind}": "if this is the text itself, save it in a file and name that"
        for kind in ("bias", "modes", "mln", "evidence", "subgraphs")
    },
    "choose the predicate to learn, as target=": "choose the predicate to learn, as --query ",
    "use PSCG (moments='mcsat') or MaxMargin": "use --learner pscg or max-margin",
    "open the database with sqlrl.connect(path, engine=sqlrl.Spark(address, storage=...)), or give the path itself to have DuckDB read the files": "give "
    "--spark ADDRESS and --spark-storage FOLDER, or leave out --on-server",
    "open the database with sqlrl.Spark(address, storage=...)": "give --spark-storage FOLDER",
    'Spark(address, storage="..."), or a greater resident=': "--spark-storage FOLDER",
    "Give a storage=": "Give a --spark-storage",
    "give a storage=": "give a --spark-storage",
    "give another storage=": "give another --spark-storage",
    "above_seed=False": "--below-seed",
    "above_seed=True": "the score of a seed's own fact, which clauses need not exceed with --below-seed,",
    "leave folds out": "leave --folds out",
    "use more folds": "use a larger --folds",
    "or change above_seed": "or give --below-seed",
    "or 'likelihood', or None for the root of what a clause covers": "or `likelihood`; without it, the root of what a clause covers",
    "by= takes": "--by takes",
    "leave by= out": "leave --by out",
    "columns= names '": "--column names '",
    "columns= of": "--column of",
    "columns= renames": "--column renames",
    "declares them, model=model": "declares them, --model",
    "no load said example=": "no load said --example",
    "db.scope(predicate, split.train) before learning, db.scope(predicate, split.test) before predicting": "`sqlrl load --scope` sets it, "
    "and `sqlrl learn --holdout` holds out a part of it",
    "is loaded, with types: db.load(": "is loaded, with types: sqlrl load --types (",
    "load facts with db.load and write rules with db.define": "load facts with `sqlrl load` and write rules with `sqlrl define`",
}
"""How messages of the library name a remedy, and what is the same on the command line."""

_OPTIONS = {
    "constants": "--rename",
    "hidden": "--open",
    "random_state": "--seed",
    "other": "--against",
    "fraction": "--holdout",
    "by": "--holdout-by",
    "tables": "--table",
    "scopes": "--scope-table",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *(
                "columns",
                "types",
                "variables",
                "truth",
                "probability",
                "value",
                "target",
                "given",
                "fold_case",
                "duplicates",
                "nulls",
                "empty",
            ),
            "outside",
            *("delimiter", "quote"),
            *(
                "query",
                "drop",
                "examples",
                "example",
                "samples",
                "burn_in",
                "chains",
                "time_limit",
                "samples_into",
                "means_into",
                "limit",
                "world",
                "read_only",
                "method",
                "deterministic_limit",
                "atom_limit",
                "memory_limit",
                "replace",
                "missing",
                "most_groups",
            ),
            *("into", "checkpoint", "resume", "groups"),
            *("folds", "train", "test", "near", "view", "partial"),
            *("hops", "negatives", "cap", "seed"),
        )
    },
}
"""Parameters of the library, and the options that are the same."""

_QUOTES = "'\""

_PHRASE = re.compile("|".join(rf"(?<![\w-]){re.escape(phrase)}" for phrase in _PHRASES))
_CALL = re.compile(r"(?:connect|predict)\((?P<setting>(?:memory_limit|method)='[^']*')\)")
_SCOPE = re.compile(r"(?<![\w-])db\.scope\((?P<name>'[^']*'|\"[^\"]*\"), \.\.\.\)")


def name_options(options: Mapping[str, str]) -> None:
    """Say which options other parameters are, those of learners, whose declarations take a while to load."""
    _OPTIONS.update(options)


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
        except EngineError as error:
            # It quotes SQL, in which nothing may be changed.
            complain("\n".join([str(error), *_notes(error)]))
            raise typer.Exit(FAILED) from error
        except SqlrlError as error:
            complain("\n".join([in_options(str(error)), *_notes(error)]))
            raise typer.Exit(FAILED) from error
        except MemoryError as error:
            used_up = MemoryUsedUpError(ctx.invoked_subcommand or "sqlrl", str(error))
            complain("\n".join([in_options(str(used_up)), *_notes(error)]))
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
    new = COMMAND_OPTIONS.get(argument, argument)
    if new != argument:
        # No FutureWarning: this is for whoever typed it, also where Python hides warnings.
        typer.echo(f"warning: {argument} is deprecated, and the next release does not have it: write {new}", err=True)
    return new


def _notes(error: BaseException) -> list[str]:
    """Return what was added to an error on its way, with remedies as options."""
    return [in_options(note) for note in getattr(error, "__notes__", ())]


def in_options(message: str) -> str:
    """Return a message of the library with its remedies as options of the command line."""
    message = _CALL.sub(lambda found: found["setting"], message)
    message = _SCOPE.sub(lambda found: f"--scope where {found['name'][1:-1]} is loaded", message)
    parameter = re.compile(
        rf"(?<![\w-])({'|'.join(_OPTIONS)})=(True|\[\.\.\.\]|\{{\.\.\.\}}|\"[^\"]*\"|'[^']*'|-?(?:[\d.]*\d|nan|inf))?(?![\w=])"
    )
    return parameter.sub(_option, _PHRASE.sub(lambda found: _PHRASES[found[0]], message))


def _option(found: re.Match[str]) -> str:
    """Return a parameter with its value, as the option with its value."""
    name, value = _OPTIONS[found[1]], found[2] or ""
    if value in ("", "True", "[...]", "{...}"):
        return name
    return f"{name} {shlex.quote(value[1:-1]) if value[0] in _QUOTES else value}"


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
