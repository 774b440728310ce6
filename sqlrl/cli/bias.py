"""`sqlrl bias`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.completion import predicates
from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DatabaseFirst, Db, Messages, Untrusted, split_names, with_database
from sqlrl.cli.session import print_json, session
from sqlrl.cli.streams import write_file

Second = Annotated[
    str | None,
    typer.Argument(metavar="PREDICATE", autocompletion=predicates, help="The predicate to learn.", show_default=False),
]
Body = Annotated[
    list[str] | None,
    typer.Option(
        "--body",
        metavar="NAMES",
        autocompletion=predicates,
        help="Predicates that bodies may have, with commas or repeated: by default all closed ones.",
        show_default=False,
    ),
]
Constants = Annotated[
    int | None,
    typer.Option(
        "--constants",
        metavar="N",
        help="The most values of an argument that may be a constant; 0 for none.",
        show_default=False,
    ),
]


@grouped
def bias(
    output: Messages,
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
    body: Body = None,
    constants: Constants = None,
) -> None:
    """Print the mode declarations that types and keys of the data suggest, to be edited and given to `learn --bias`.

    sqlrl bias drugs.duckdb less_toxic > drugs.modes
    """
    path, (target,) = with_database((first, second), db, "PREDICATE")
    with session(output) as run, run.database(path, DatabaseOptions(untrusted=untrusted), read_only=True) as database:
        from sqlrl.logic.bias import Bias

        found = Bias.derive(database, target, body=split_names(body) or None, constants=constants)
        if output.as_json:
            print_json({"mode": line} for line in str(found).splitlines())
        else:
            write_file(str(found))
