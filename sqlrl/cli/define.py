"""`sqlrl define`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DatabaseFirst, Db, Messages, Untrusted, with_database
from sqlrl.cli.session import session
from sqlrl.cli.streams import read_input
from sqlrl.errors import InputError
from sqlrl.paths import expanded, is_file

Second = Annotated[
    str | None,
    typer.Argument(
        metavar="RULES", help="The rules, or a file of them; - reads them from standard input.", show_default=False
    ),
]


class VariableCase(StrEnum):
    """Which names are variables: those that begin with a small letter, as in models, or with a capital, as in Prolog."""

    small = "lower"
    capital = "upper"


VariableNames = Annotated[
    VariableCase, typer.Option("--variables", help="Names that begin so are variables: as in models, or as in Prolog.")
]


@grouped
def define(
    output: Messages,
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
    variables: VariableNames = VariableCase.small,
) -> None:
    """Define predicates by Horn rules over others, also recursive ones; they follow what they are defined from.

    sqlrl define family.duckdb "Ancestor(x, y) :- Parent(x, y). Ancestor(x, z) :- Parent(x, y), Ancestor(y, z)."
    """
    path, (text,) = with_database((first, second), db, "RULES")
    with session(output) as run, run.database(path, DatabaseOptions(untrusted=untrusted)) as database:
        with run.working("defining"):
            database.define(_rules(text), variables=variables.value)
        run.show(database.tables())


def _rules(text: str) -> str | Path:
    """Return the rules, or the file that has them."""
    if is_file(expanded(text)):
        return expanded(text)
    rules = read_input() if text == "-" else text
    if "(" not in rules:
        found = "standard input has none" if text == "-" else f"{text!r} is neither a file nor a rule"
        raise InputError(f"there is no rule `head(x) :- body(x, y).`: {found}")
    return rules
