"""`sqlrl report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sqlrl.cli.completion import runs
from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import FLAG, DatabaseFirst, Db, Messages, ReadOnly, Untrusted, with_database
from sqlrl.cli.session import print_json, session
from sqlrl.errors import InputError

Second = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        autocompletion=runs,
        help="The number of the run in sqlrl.run; the newest by default.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FILE", help="The page to write, a name that ends in .html.", show_default=False
    ),
]
Replace = Annotated[bool, typer.Option("--replace", metavar=FLAG, help="Write over a file that is there.")]


@grouped
def report(
    out: Out,
    output: Messages,
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
    read_only: ReadOnly = False,
    replace: Replace = False,
) -> None:
    """Write a page about a run that needs no network: clauses, charts, examples with the clauses behind their atoms, data and timings.

    Predictions and probabilities are on it once they are kept and evaluated (sqlrl evaluate --keep).

    sqlrl report cite.duckdb 1 -o report.html
    """
    path, text = _chosen((first, second), db)
    if text is not None and not text.isdecimal():
        raise InputError(f'{text!r} is no number of a run: `sqlrl sql {path} "from sqlrl.run"` lists them')
    from sqlrl.paths import expanded
    from sqlrl.report.page import check_path

    check_path(out)
    if expanded(out).exists() and not replace:
        raise InputError(f"{out} exists: give another name, or --replace")
    with (
        session(output) as run,
        run.database(path, DatabaseOptions(untrusted=untrusted), read_only=read_only, reads=True) as database,
    ):
        found = database.runs[-1 if text is None else int(text)]
        found.report(out)
        if output.as_json:
            print_json([{"run": found.number, "learner": found.learner, "file": str(out)}])
        else:
            run.message(f"{out}: the report of run {found.number}, {found.learner}")


def _chosen(arguments: Sequence[str | None], option: Path | None) -> tuple[Path, str | None]:
    """Return the database and the run, None for the newest; what is no number alone is a database."""
    given = [argument for argument in arguments if argument is not None]
    if not given and option is not None:
        return option, None
    if len(given) == 1 and not given[0].isdecimal():
        return Path(given[0]), None
    path, (text,) = with_database(arguments, option, "RUN")
    return path, text
