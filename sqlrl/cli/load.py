"""`sqlrl load`."""

from __future__ import annotations

from typing import Annotated

import typer

from sqlrl.cli.inputs import check_inputs, load_evidence, read_model, read_table
from sqlrl.cli.options import Db, Json, Quiet, Verbose, split_names, with_database
from sqlrl.cli.session import session

_EVIDENCE = "Evidence file"
_OWN = "PREDICATE SOURCE"

Arguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATABASE] [PREDICATE SOURCE]",
        help="SOURCE is a Parquet or CSV file, a table, a query, or - for standard input.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="NAMES", help="Columns of the arguments, in order, by name or number from 0."),
]
Types = Annotated[str | None, typer.Option("--types", metavar="NAMES", help="Types of the arguments, in order.")]
Example = Annotated[
    str | None,
    typer.Option("--example", metavar="NAME", help="The type, or the column, whose values are the examples."),
]
Target = Annotated[bool, typer.Option("--target", help="To be predicted; the facts are labels.")]
Given = Annotated[bool, typer.Option("--given", help="To be predicted; the facts are evidence about it.")]
Truth = Annotated[
    str | None, typer.Option("--truth", metavar="COLUMN", help="A boolean column: false rows are known to be false.")
]
Probability = Annotated[
    str | None, typer.Option("--probability", metavar="COLUMN", help="A column of probabilities: soft evidence.")
]
Duplicates = Annotated[str, typer.Option("--duplicates", metavar="error|drop", help="Facts that occur more than once.")]
FoldCase = Annotated[bool, typer.Option("--fold-case", help="Lower the case of all constants.")]
Rename = Annotated[
    list[str] | None, typer.Option("--rename", metavar="OLD=NEW", help="A new name of a constant; repeatable.")
]
EvidenceFile = Annotated[
    str | None,
    typer.Option(
        "--evidence", "-e", metavar="FILE", help="An Alchemy .db file; - is standard input.", rich_help_panel=_EVIDENCE
    ),
]
Declarations = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="FILE", help="The model that declares its predicates.", rich_help_panel=_EVIDENCE
    ),
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Load again what changed at its source; nothing else.")]


def load(
    arguments: Arguments = None,
    db: Db = None,
    types: Types = None,
    columns: Columns = None,
    example: Example = None,
    target: Target = False,
    given: Given = False,
    truth: Truth = None,
    probability: Probability = None,
    duplicates: Duplicates = "error",
    fold_case: FoldCase = False,
    rename: Rename = None,
    evidence: EvidenceFile = None,
    model: Declarations = None,
    refresh: Refresh = False,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Load the facts of a predicate, or an evidence file; the database file is created if there is none.

    sqlrl load cite.duckdb Token token.parquet --types token,position,bib --example bib

    sqlrl load cite.duckdb InField labels.csv --columns bib,field,position --target

    sqlrl load uw.duckdb --evidence uw.db --model uw.mln
    """
    if (evidence is None) != (model is None):
        raise typer.BadParameter("--evidence and --model go together: the model declares the predicates of the file")
    check_inputs(evidence=evidence, model=model)
    constants = _renamed(rename or [])
    without = evidence is not None or refresh
    path, own = with_database(arguments or [], db, "" if without else _OWN)
    with session(verbose, quiet, as_json=as_json, rows=1000) as run:
        declared = read_model(model) if model is not None else None
        with run.database(path, create=not refresh) as database:
            if refresh:
                with run.working("loading what changed"):
                    changed = database.refresh()
                run.message(f"loaded again: {', '.join(changed)}" if changed else "nothing has changed")
            elif evidence is not None and declared is not None:
                with run.working(f"loading {evidence}"):
                    load_evidence(database, evidence, declared, given=given, target=target)
            else:
                predicate, source = own
                with run.working(f"loading {predicate}"):
                    database.load(
                        predicate,
                        read_table() if source == "-" else source,
                        columns=_places(columns),
                        types=split_names([types]) if types else None,
                        example=example,
                        target=target,
                        given=given,
                        truth=_place(truth),
                        probability=_place(probability),
                        duplicates=duplicates,
                        fold_case=fold_case,
                        constants=constants,
                    )
            run.show(database.predicates())


def _place(name: str | None) -> str | int | None:
    """Return a column by name or, if it is a number, by position."""
    return int(name) if name is not None and name.isdecimal() else name


def _places(names: str | None) -> list[str | int] | None:
    """Return columns by name or position."""
    return None if names is None else [int(name) if name.isdecimal() else name for name in split_names([names])]


def _renamed(pairs: list[str]) -> dict[str, str]:
    """Return new names of constants by their old ones."""
    found: dict[str, str] = {}
    for pair in pairs:
        old, sign, new = pair.partition("=")
        if not sign or not old or not new:
            raise typer.BadParameter(f"--rename takes OLD=NEW, not {pair!r}")
        found[old] = new
    return found
