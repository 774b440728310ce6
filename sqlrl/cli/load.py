"""`sqlrl load`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sqlrl.cli.completion import predicates
from sqlrl.cli.facts import Duplicates, Empty, FactOptions, renamed
from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import check_standard_input, evidence_of, named_examples, read_model, split_files
from sqlrl.cli.opening import DatabaseOptions
from sqlrl.cli.options import FLAG, DatabaseFirst, Db, Messages, with_database
from sqlrl.cli.session import session
from sqlrl.paths import expanded

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

_EVIDENCE = "Evidence files"
_FOLDER = "A folder"
_OWN = "PREDICATE SOURCE"


Second = Annotated[
    str | None,
    typer.Argument(
        metavar="PREDICATE", autocompletion=predicates, help="The predicate whose facts these are.", show_default=False
    ),
]
Third = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A Parquet or CSV file, a table, a query, or - for standard input.",
        show_default=False,
    ),
]
Target = Annotated[bool, typer.Option("--target", metavar=FLAG, help="To be predicted; the facts are labels.")]
Given = Annotated[bool, typer.Option("--given", metavar=FLAG, help="To be predicted; the facts are evidence about it.")]
InDuplicates = Annotated[Duplicates, typer.Option("--duplicates", help="Facts that occur more than once.")]
InEmpty = Annotated[Empty, typer.Option("--empty", help="A source without facts.")]
EvidenceFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--evidence",
        "-e",
        metavar="FILES",
        help="Alchemy .db files, with commas or repeated; - is standard input. NAME=FILE is an example of that name.",
        rich_help_panel=_EVIDENCE,
        show_default=False,
    ),
]
Declarations = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="FILE", help="The model that declares its predicates.", rich_help_panel=_EVIDENCE
    ),
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        metavar=FLAG,
        help="Replace what other files held of the same predicates.",
        rich_help_panel=_EVIDENCE,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIRECTORY",
        help="Load all its Parquet, CSV and TSV files, each named after its predicate.",
        rich_help_panel=_FOLDER,
        show_default=False,
    ),
]
BiasFile = Annotated[
    Path | None,
    typer.Option(
        "--bias",
        metavar="FILE",
        help="Aleph's mode declarations: only predicates of bodies are loaded, with the types of their modes.",
        rich_help_panel=_FOLDER,
        show_default=False,
    ),
]
Refresh = Annotated[
    bool, typer.Option("--refresh", metavar=FLAG, help="Load again what changed at its source; nothing else.")
]
RunQueries = Annotated[
    bool,
    typer.Option(
        "--run-queries", metavar=FLAG, help="With --refresh --untrusted: run the queries and views that the file keeps."
    ),
]


@grouped
def load(
    output: Messages,
    facts: FactOptions,
    opening: DatabaseOptions,
    first: DatabaseFirst = None,
    second: Second = None,
    third: Third = None,
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
        with _no_remains(path), run.database(path, opening, create=not refresh) as database:
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
            loaded = database.tables()
        # Out here, since whoever closes the pipe undoes no load.
        run.show(loaded)


@contextmanager
def _no_remains(path: Path) -> Iterator[None]:
    """Remove the database file after a failure if there was none before."""
    file = expanded(path)
    existed = file.exists()
    try:
        yield
    except BaseException:
        if not existed:
            for left in (file, file.with_name(file.name + ".wal")):
                left.unlink(missing_ok=True)
        raise


def check_folder(facts: FactOptions, folder: Path | None, bias: Path | None, *, others: bool) -> None:
    """Refuse options that do not go with a folder."""
    if bias is not None and folder is None:
        raise typer.BadParameter("--bias says which files of a folder to load: give --folder DIRECTORY too")
    if folder is None:
        return
    own = (
        facts.types,
        facts.columns,
        facts.example,
        facts.truth,
        facts.probability,
        facts.value,
        facts.scope,
        facts.bins_from,
    )
    if others or facts.append or facts.on_server or any(x is not None for x in own):
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
