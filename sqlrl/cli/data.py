"""`sqlrl load`, `remove`, `define` and `migrate`: what changes the data of a database."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sqlrl.cli.facts import Duplicates, Empty, FactOptions, renamed
from sqlrl.cli.inputs import check_standard_input, evidence_of, named_examples, read_model, read_table, split_files
from sqlrl.cli.options import (
    Database,
    DatabaseFirst,
    DatabaseOptions,
    Db,
    Messages,
    Untrusted,
    argument,
    flag,
    grouped,
    named_database,
    option,
    predicates,
    with_database,
)
from sqlrl.cli.session import NamedDatabase, check_file, check_writable, print_json, read_input, session
from sqlrl.errors import InputError
from sqlrl.paths import expanded, is_file
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


# ---- sqlrl load ---------------------------------------------------------------------------------------

_EVIDENCE = "Evidence files"
_FOLDER = "A folder"
_OWN = "PREDICATE SOURCE"


Predicate = Annotated[str | None, argument("PREDICATE", "The predicate whose facts these are.", complete=predicates)]
Source = Annotated[str | None, argument("SOURCE", "A Parquet or CSV file, a table, a query, or - for standard input.")]
Target = Annotated[bool, flag("--target", "To be predicted; the facts are labels.")]
Given = Annotated[bool, flag("--given", "To be predicted; the facts are evidence about it.")]
InDuplicates = Annotated[Duplicates, typer.Option("--duplicates", help="Facts that occur more than once.")]
InEmpty = Annotated[Empty, typer.Option("--empty", help="A source without facts.")]
EvidenceFiles = Annotated[
    list[str] | None,
    option(
        "--evidence",
        "FILES",
        "Alchemy .db files, with commas or repeated; - is standard input. NAME=FILE is an example of that name.",
        "-e",
        panel=_EVIDENCE,
    ),
]
Declarations = Annotated[
    str | None, option("--model", "FILE", "The model that declares its predicates.", "-m", panel=_EVIDENCE)
]
Replace = Annotated[bool, flag("--replace", "Replace what other files held of the same predicates.", panel=_EVIDENCE)]
Folder = Annotated[
    Path | None,
    option(
        "--folder",
        "DIRECTORY",
        "Load all its Parquet, CSV and TSV files, each named after its predicate.",
        panel=_FOLDER,
    ),
]
BiasFile = Annotated[
    Path | None,
    option(
        "--bias",
        "FILE",
        "Aleph's mode declarations: only predicates of bodies are loaded, with the types of their modes.",
        panel=_FOLDER,
    ),
]
Refresh = Annotated[bool, flag("--refresh", "Load again what changed at its source; nothing else.")]
RunQueries = Annotated[
    bool, flag("--run-queries", "With --refresh --untrusted: run the queries and views that the file keeps.")
]


@grouped
def load(
    output: Messages,
    facts: FactOptions,
    opening: DatabaseOptions,
    first: DatabaseFirst = None,
    second: Predicate = None,
    third: Source = None,
    db: Db = None,
    target: Target = False,
    given: Given = False,
    duplicates: InDuplicates = Duplicates.error,
    empty: InEmpty = Empty.error,
    evidence: EvidenceFiles = None,
    model: Declarations = None,
    replace: Replace = False,
    folder: Folder = None,
    bias: BiasFile = None,
    refresh: Refresh = False,
    run_queries: RunQueries = False,
) -> None:
    """Load the facts of a predicate, those of the files of a folder, or evidence files; the database file is created if there is none.

    sqlrl load cite.duckdb Token token.parquet --types token,position,bib --example bib

    sqlrl load cite.duckdb InField labels.csv --columns bib,field,position --target

    sqlrl load drugs.duckdb less_toxic toxic.csv --columns drug1,drug2 --truth label --target --scope "select drug1, drug2 from 'toxic.csv'"

    sqlrl load trust.duckdb Trusts trust.csv --columns person1,person2 --value trust

    sqlrl load shop.duckdb Price prices.csv --types item,price --bins price=10

    sqlrl load drugs.duckdb --folder background --bias toxic.modes

    sqlrl load uw.duckdb --evidence uw.db --model uw.mln

    sqlrl load uw.duckdb --evidence ai=fold1.db --evidence graphics=fold2.db
    """
    files = split_files(evidence)
    examples = named_examples(files)
    check_folder(facts, folder, bias, others=bool(files or model or target or given or refresh or replace))
    path, own = with_database((first, second, third), db, "" if files or refresh or folder else _OWN)
    if run_queries and not (refresh and opening.untrusted):
        raise typer.BadParameter("--run-queries is for --refresh with --untrusted; without that all sources are read")
    check_usage(facts, files, model, bool(examples), target=target, given=given, refresh=refresh, replace=replace)
    with session(output) as run:
        declared = read_model(model, trusted=not opening.untrusted) if model is not None else None
        with run.database(path, opening, create=not refresh, whole=True) as database:
            if refresh:
                with run.working("loading what changed"):
                    changed = database.refresh(run_queries=run_queries)
                run.message(f"loaded again: {', '.join(changed)}" if changed else "nothing has changed")
            elif files:
                from sqlrl.catalog.evidence import Evidence

                with run.working(f"loading {', '.join(files)}"):
                    assert declared is not None or examples, "files that are no examples come with a model"
                    model_of_all = database.load(
                        Evidence(
                            examples or evidence_of(files, cast("Model", declared)),
                            declared,
                            given=given,
                            target=target,
                            duplicates=duplicates.value,
                            empty=empty.value,
                            replace=replace,
                        )
                    )
                if declared is None:
                    run.message(
                        f"types inferred from shared constants: {', '.join(map(str, model_of_all.predicates.values()))}"
                    )
            elif folder is not None:
                with run.working(f"loading {folder}"):
                    facts.load_all(database, folder, bias, duplicates=duplicates, empty=empty)
            else:
                predicate, source = own
                with run.working(f"loading {predicate}"):
                    facts.load(
                        database, predicate, source, target=target, given=given, duplicates=duplicates, empty=empty
                    )
                if dropped := database.advanced.catalog.store.dropped:
                    run.message(f"{predicate}: {counted(dropped, 'duplicate row')} dropped")
            loaded = database.tables()
        # Out here, since whoever closes the pipe undoes no load.
        run.confirm(loaded)


def check_folder(facts: FactOptions, folder: Path | None, bias: Path | None, *, others: bool) -> None:
    """Refuse options that do not go with a folder."""
    if bias is not None and folder is None:
        raise typer.BadParameter("--bias says which files of a folder to load: give --folder DIRECTORY too")
    if folder is None:
        return
    own = ("types", "columns", "example", "truth", "probability", "value", "scope", "bins_from")
    if others or facts.append or facts.on_server or any(getattr(facts, name) is not None for name in own):
        raise typer.BadParameter(
            "--folder loads closed predicates: it takes --bias, --numeric, --bins, --duplicates, --nulls, --empty, --fold-case, "
            "--rename, --no-header, --delimiter and --quote; load a predicate that needs more by itself"
        )


def check_usage(
    facts: FactOptions,
    files: Sequence[str],
    model: str | None,
    examples: bool = False,
    *,
    target: bool,
    given: bool,
    refresh: bool,
    replace: bool,
) -> None:
    """Refuse options that do not go together, with a typer.BadParameter that names them."""
    if bool(files) != (model is not None) and not (examples and files):
        raise typer.BadParameter(
            "--evidence and --model go together: the model declares the predicates of the files (NAME=FILE can do without)"
        )
    if target and given:
        raise typer.BadParameter("--target and --given: the facts are either labels or evidence, name one")
    if facts.scope is not None and not (target or given):
        raise typer.BadParameter("--scope is about a predicate to predict: give --target or --given too")
    if refresh and (files or target or given):
        raise typer.BadParameter("--refresh loads again what was loaded before, as it was: leave out other options")
    if (files or refresh) and facts != FactOptions():
        raise typer.BadParameter(
            f"{'--evidence' if files else '--refresh'} takes no options of a single predicate "
            "(--types, --numeric, --columns, --example, --truth, --probability, --value, --scope, --fold-case, --rename, --nulls, "
            "--no-header, --delimiter, --quote, --bins, --bins-from, --append, --on-server)"
        )
    if replace and not files:
        raise typer.BadParameter(
            "--replace is about evidence files; a predicate that is loaded again is always replaced"
        )
    renamed(facts.rename or [])
    check_standard_input(evidence=files, model=[model or ""])


# ---- sqlrl remove -------------------------------------------------------------------------------------

Removed = Annotated[
    str | None, argument("SOURCE", "The facts: a query, a table, a Parquet or CSV file, or - for standard input.")
]


@grouped
def remove(output: Messages, place: NamedDatabase, second: Predicate = None, third: Removed = None) -> None:
    """Remove facts of a predicate from the database; what they were loaded from stays as it is.

    sqlrl remove social.duckdb Friends "select 'Anna', 'Bob'"
    """
    with place.open(output, (second, third), _OWN) as (run, database, (predicate, source)):
        with run.working(f"removing from {predicate}"):
            removed = database.load(predicate, read_table(database) if source == "-" else source, mode="remove")
        run.message(f"removed {removed:,} fact{'' if removed == 1 else 's'} of {predicate}")
        run.confirm(database.tables())


# ---- sqlrl define -------------------------------------------------------------------------------------

Rules = Annotated[str | None, argument("RULES", "The rules, or a file of them; - reads them from standard input.")]


class VariableCase(StrEnum):
    """Which names are variables: those that begin with a small letter, as in models, or with a capital, as in Prolog."""

    small = "lower"
    capital = "upper"


VariableNames = Annotated[
    VariableCase, typer.Option("--variables", help="Names that begin so are variables: as in models, or as in Prolog.")
]


@grouped
def define(
    output: Messages, place: NamedDatabase, second: Rules = None, variables: VariableNames = VariableCase.small
) -> None:
    """Define predicates by Horn rules over others, also recursive ones; they follow what they are defined from.

    sqlrl define family.duckdb "Ancestor(x, y) :- Parent(x, y). Ancestor(x, z) :- Parent(x, y), Ancestor(y, z)."
    """
    with place.open(output, [second], "RULES") as (run, database, (text,)):
        with run.working("defining"):
            database.define(_rules(text), variables=variables.value)
        run.confirm(database.tables())


def _rules(text: str) -> str | Path:
    """Return the rules, or the file that has them."""
    if is_file(expanded(text)):
        return expanded(text)
    rules = read_input() if text == "-" else text
    if "(" not in rules:
        found = "standard input has none" if text == "-" else f"{text!r} is neither a file nor a rule"
        raise InputError(f"there is no rule `head(x) :- body(x, y).`: {found}")
    return rules


# ---- sqlrl migrate ------------------------------------------------------------------------------------


@grouped
def migrate(output: Messages, database: Database = None, db: Db = None, untrusted: Untrusted = False) -> None:
    """Bring a database file to the layout of this version of sqlrl; every command that writes does so, too.

    sqlrl migrate cite.duckdb
    """
    path = named_database(database, db)
    with session(output) as run:
        from sqlrl.catalog.inspection import inspect
        from sqlrl.catalog.migrations import open_layout
        from sqlrl.catalog.store import Store
        from sqlrl.engine.connection import connect

        check_file(path)
        check_writable(path)
        engine = connect(path, trusted=not untrusted)
        try:
            if untrusted:
                inspect(engine)
            before, after = open_layout(Store(engine), progress=run.message)
        finally:
            engine.close()
        if run.as_json:
            print_json([{"database": str(path), "before": before, "after": after}])
        elif run.quiet:
            return
        elif before == after:
            print(f"{path} has layout {after}, the newest")
        else:
            print(f"{path} had {f'layout {before}' if before else 'no layout'}, now it has layout {after}")
