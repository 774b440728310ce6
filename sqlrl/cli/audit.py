"""`sqlrl audit`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from sqlrl.cli.completion import predicates
from sqlrl.cli.grouping import grouped
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import DATA, DatabaseFirst, Db, Messages, Untrusted, with_database
from sqlrl.cli.session import session
from sqlrl.cli.words import in_options
from sqlrl.errors import InputError

Second = Annotated[
    str | None,
    typer.Argument(metavar="TARGET", autocompletion=predicates, help="The predicate with labels.", show_default=False),
]
FoldsOption = Annotated[
    str | None,
    typer.Option(
        "--folds",
        metavar="FOLDS",
        help="A number of random folds, a predicate whose last argument is the fold, or a query or file with the fold in its last column.",
        show_default="10 random folds",
        rich_help_panel=DATA,
    ),
]
TrainOption = Annotated[
    str | None,
    typer.Option(
        "--train",
        metavar="QUERY",
        help="What is trained on, instead of folds: examples or query atoms, as a query, table or file.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
TestOption = Annotated[
    str | None,
    typer.Option("--test", metavar="QUERY", help="What is tested.", show_default=False, rich_help_panel=DATA),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE",
        help="A model whose declarations say the types of the data, where they do not.",
        show_default=False,
        rich_help_panel=DATA,
    ),
]
Near = Annotated[
    float,
    typer.Option("--near", metavar="X", help="The Jaccard similarity from which on examples are near duplicates."),
]
FromSeed = Annotated[int, typer.Option("--random-state", metavar="N", min=0, help="Of random folds.")]


@grouped
def audit(
    output: Messages,
    first: DatabaseFirst = None,
    second: Second = None,
    db: Db = None,
    untrusted: Untrusted = False,
    folds: FoldsOption = None,
    train: TrainOption = None,
    test: TestOption = None,
    model: ModelOption = None,
    near: Near = 0.8,
    seed: FromSeed = 0,
) -> None:
    """Look for leaks between training and test, and for labels that something else than the facts tells. It reads the labels.

    Prints each finding with the SQL that shows it, and how well identity alone predicts; as JSON the findings. The database keeps
    them in sqlrl.leaks.

    sqlrl audit drugs.duckdb great_ne --folds 10
    """
    path, (target,) = with_database((first, second), db, "TARGET")
    with session(output) as run:
        from sqlrl.cli.inputs import check_standard_input, chosen_examples, read_model

        check_standard_input(folds=[folds or ""], train=[train or ""], test=[test or ""], model=[model or ""])
        if folds is not None and not folds.strip():
            raise InputError("--folds is empty: give a number, a predicate, a query or a file")
        declared = None if model is None else read_model(model, trusted=not untrusted)
        with run.database(path, DatabaseOptions(untrusted=untrusted)) as database:
            found = database.audit(
                target,
                folds=int(folds) if folds is not None and folds.isdecimal() else chosen_examples(folds),
                train=chosen_examples(train),
                test=chosen_examples(test),
                near=near,
                model=declared,
                random_state=seed,
            )
            notes = tuple(map(in_options, found.notes))
            if output.as_json:
                run.show(found.findings)
                run.message("\n".join(notes))
            else:
                print(replace(found, notes=notes))
