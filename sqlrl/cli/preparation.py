"""What comes before learning: `sqlrl bias` suggests modes, `sqlrl audit` looks for leaks, `sqlrl learn --holdout` holds a part of the data out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sqlrl.cli.inputs import check_standard_input, chosen_examples, read_model
from sqlrl.cli.options import (
    DATA,
    DatabaseOptions,
    Messages,
    argument,
    grouped,
    option,
    predicates,
    split_names,
    with_database,
)
from sqlrl.cli.session import NamedDatabase, print_json, session, write_file
from sqlrl.cli.words import in_options
from sqlrl.errors import InputError

if TYPE_CHECKING:
    from sqlrl import Database
    from sqlrl.catalog.roles import Roles
    from sqlrl.cli.session import CommandSession
    from sqlrl.database.holdout import Split
    from sqlrl.logic.model import Model
    from sqlrl.report import Table


# ---- sqlrl bias ---------------------------------------------------------------------------------------

Learned = Annotated[str | None, argument("PREDICATE", "The predicate to learn.", complete=predicates)]
Body = Annotated[
    list[str] | None,
    option(
        "--body",
        "NAMES",
        "Predicates that bodies may have, with commas or repeated: by default all closed ones.",
        complete=predicates,
    ),
]
Constants = Annotated[
    int | None, option("--constants", "N", "The most values of an argument that may be a constant; 0 for none.")
]


@grouped
def bias(
    output: Messages, place: NamedDatabase, second: Learned = None, body: Body = None, constants: Constants = None
) -> None:
    """Print the mode declarations that types and keys of the data suggest, to be edited and given to `learn --bias`.

    sqlrl bias drugs.duckdb less_toxic > drugs.modes
    """
    with place.open(output, [second], "PREDICATE", read_only=True) as (_, database, (target,)):
        from sqlrl.logic.bias import Bias

        found = Bias.derive(database, target, body=split_names(body) or None, constants=constants)
        if output.as_json:
            print_json({"mode": line} for line in str(found).splitlines())
        else:
            write_file(str(found))


# ---- sqlrl audit --------------------------------------------------------------------------------------

Labelled = Annotated[str | None, argument("TARGET", "The predicate with labels.", complete=predicates)]
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
    option(
        "--train",
        "QUERY",
        "What is trained on, instead of folds: examples or query atoms, as a query, table or file.",
        panel=DATA,
    ),
]
TestOption = Annotated[str | None, option("--test", "QUERY", "What is tested.", panel=DATA)]
ModelOption = Annotated[
    str | None,
    option(
        "--model", "FILE", "A model whose declarations say the types of the data, where they do not.", "-m", panel=DATA
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
    place: NamedDatabase,
    second: Labelled = None,
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
    path, (target,) = with_database((place.first, second), place.db, "TARGET")
    check_standard_input(folds=[folds or ""], train=[train or ""], test=[test or ""], model=[model or ""])
    with session(output) as run:
        if folds is not None and not folds.strip():
            raise InputError("--folds is empty: give a number, a predicate, a query or a file")
        declared = None if model is None else read_model(model, trusted=not place.untrusted)
        with run.database(path, DatabaseOptions(untrusted=place.untrusted)) as database:
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


# ---- sqlrl learn --holdout ----------------------------------------------------------------------------


@dataclass(frozen=True)
class HoldoutOptions:
    """The share of the data to hold out, and by which types; refuses values that do not go together."""

    share: float | None  # None: nothing is held out
    by: str | None  # names of types, separated by commas

    def __post_init__(self) -> None:
        if self.share is None and self.by is not None:
            raise typer.BadParameter("--holdout-by says how a part is held out: add --holdout SHARE, such as 0.2")
        if self.share is not None and not 0 < self.share < 1:
            raise typer.BadParameter(f"--holdout {self.share:g} must be a share between 0 and 1, such as 0.2")


@dataclass(frozen=True)
class Holdout:
    """A part of the data that was held out; `examples` are those to learn from, `roles` options of `predict`."""

    db: Database
    run: CommandSession
    examples: Any
    roles: Roles | None
    split: Split | None

    def score(self, model: Model) -> None:
        """Predict what was held out, if anything was, and say how well."""
        if self.split is None:
            return
        if self.split.predicate is None:
            prediction = self.db.predict(model, examples=self.split.test, roles=self.roles)
            scores = self.db.evaluate(prediction)
        else:
            from sqlrl.database.holdout import scoped

            with scoped(self.db.advanced.session, self.split.predicate, cast("Table", self.split.test)):
                scores = self.db.evaluate(self.db.predict(model, roles=self.roles), outside="ignore")
        self.run.message(f"held out: {scores}")


@contextmanager
def held_out(
    db: Database,
    run: CommandSession,
    wanted: HoldoutOptions,
    *,
    seed: int,
    targets: Sequence[str],  # the predicates to predict
    model: Model | None,  # says what is to be predicted where no load does
    examples: Any,
    roles: Roles | None,
) -> Iterator[Holdout]:
    """Hold out a part of the data while the context is open; if query atoms are split, the scope is the training part meanwhile."""
    if wanted.share is None:
        yield Holdout(db, run, examples, roles, None)
        return
    one = len(db.advanced.example_ids(examples)) < 2
    split = db.split(
        wanted.share,
        by=split_names([wanted.by]) if wanted.by else None,
        predicate=targets[0] if one and len(targets) == 1 else None,
        model=model,
        examples=examples,
        random_state=seed,
    )
    run.message(str(split))
    if split.predicate is None:
        yield Holdout(db, run, cast("list[str]", split.train), roles, split)
        return
    from sqlrl.database.holdout import scoped

    with scoped(db.advanced.session, split.predicate, cast("Table", split.train)):
        yield Holdout(db, run, examples, roles, split)
