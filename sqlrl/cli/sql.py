"""`sqlrl sql` and `run`: statements and scripts of SQL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.options import DATA, DatabaseOptions, Db, Output, ReadOnly, argument, flag, grouped, option
from sqlrl.cli.session import EVERY, STANDARD_INPUT, CommandSession, NamedDatabase, print_json, read_input, session
from sqlrl.errors import InputError

if TYPE_CHECKING:
    from sqlrl.script.runner import Done


# ---- sqlrl sql ----------------------------------------------------------------------------------------

Statements = Annotated[str | None, argument("QUERY", "The statements; - reads them from standard input.")]


@grouped
def sql(place: NamedDatabase, output: Output, second: Statements = None, read_only: ReadOnly = False) -> None:
    """Run SQL on the database; what sqlrl keeps is in the schema `sqlrl`.

    sqlrl sql cite.duckdb "from sqlrl.strongest_clauses limit 10"
    """
    with place.open(output, [second], "QUERY", read_only=read_only, reads=True) as (run, opened, (text,)):
        statements = read_input() if text == "-" else text
        if not statements.strip():
            raise InputError("there is no SQL to run: give statements, or - and statements on standard input")
        with run.working("running"):
            result = opened.advanced.engine.rows_of(statements)
        if result is not None:
            run.show(result)
        elif run.as_json:
            print_json([])


# ---- sqlrl run ----------------------------------------------------------------------------------------

_NAME = re.compile(r"[^\W\d]\w*")

First = Annotated[str, argument("[DATABASE] SCRIPT", "The script, a file of SQL; - is standard input.")]
Second = Annotated[str | None, typer.Argument(hidden=True)]
Set = Annotated[
    list[str] | None,
    option(
        "--set",
        "NAME=VALUE",
        "A variable: $NAME where a value may stand, and getvariable('NAME'). Numbers, true and false are such; others, and what is in "
        "quotes, are text. Repeatable.",
    ),
]
Resume = Annotated[
    bool,
    flag(
        "--resume",
        "Skip statements that have finished, if nothing but later statements of the script changed what they read or made. No change is made "
        "twice: a statement that can be neither skipped nor repeated is an error.",
    ),
]

Folder = Annotated[
    Path | None,
    option(
        "--folder",
        "DIR",
        "With --untrusted: the folder whose files the statements of the script may read and write; without it they open no file.",
        panel=DATA,
    ),
]


@grouped
def run(
    first: First,
    second: Second = None,
    db: Db = None,
    variables: Set = None,
    resume: Resume = False,
    read_only: ReadOnly = False,
    folder: Folder = None,
    *,
    opening: DatabaseOptions,
    output: Output,
) -> None:
    """Run a script of SQL that loads predicates, learns models and asks them; without a DATABASE in memory.

    sqlrl run cite.duckdb learn.sql --set folds=5

    sqlrl run cite.duckdb learn.sql --resume

    sqlrl run cite.duckdb theirs.sql --untrusted --folder theirs
    """
    if folder is not None and not opening.untrusted:
        raise typer.BadParameter("--folder is for --untrusted; without that a script opens any file that it names")
    path, script = _arguments(first, second, db)
    chosen = dict(_variable(each) for each in variables or ())
    with session(output) as run:
        if script == "-":
            text, name = read_input(), STANDARD_INPUT
        else:
            from sqlrl.logic.lexer import read_text

            text, name = read_text(Path(script)), script
        with run.database(path, opening, create=not read_only, read_only=read_only, folder=folder) as opened:
            from sqlrl.script.runner import run_script

            shown = None if run.as_json else lambda done: _show(run, done)
            most = None if run.as_json or run.rows == EVERY else run.rows
            found = run_script(opened, text, path=name, variables=chosen, resume=resume, most=most, on_statement=shown)
        if run.as_json:
            print_json(
                {
                    "line": each.line, "statement": each.note, "seconds": round(each.seconds, 3), "skipped": each.skipped,
                    "rows": None if each.table is None else each.table.to_arrow().to_pylist(),
                }
                for each in found.statements
            )  # fmt: skip


def _arguments(first: str, second: str | None, db: Path | None) -> tuple[Path | None, str]:
    """Return the database, None for one in memory, and the script."""
    if second is None:
        return db, first
    # Whoever writes the script first has named both all the same.
    swapped = first.endswith(".sql") and not second.endswith(".sql")
    return (Path(second), first) if swapped else (Path(first), second)


def _variable(text: str) -> tuple[str, Any]:
    """Return name and value of a variable."""
    from sqlrl.script.settings import variable_value

    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise typer.BadParameter(f"--set {text}: write NAME=VALUE, the name of letters, digits and _")
    return name, variable_value(value)


def _show(run: CommandSession, done: Done) -> None:
    """Show a statement once it has run: its line on standard error, the rows of a query on standard output."""
    run.message(str(done))
    if done.table is not None:
        run.show(done.table)
