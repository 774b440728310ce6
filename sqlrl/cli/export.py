"""`sqlrl export` and `report`: models and runs for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sqlrl.cli.inputs import Job, ModelInputs
from sqlrl.cli.options import (
    DatabaseOptions,
    Examples,
    Limit,
    Messages,
    ReadOnly,
    argument,
    flag,
    grouped,
    option,
    runs,
    with_database,
)
from sqlrl.cli.session import NamedDatabase, print_json, session
from sqlrl.errors import InputError
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.paths import exists

if TYPE_CHECKING:
    from sqlrl.solve.exchange.solutions import NetworkFormat


# ---- options of a view --------------------------------------------------------------------------------

_VIEW = "With --format sql"

Target = Annotated[
    str | None,
    option(
        "--target",
        "NAME",
        "The predicate of whose atoms the view is; not needed if the model predicts one.",
        panel=_VIEW,
    ),
]
View = Annotated[str | None, option("--view", "NAME", "The name of the view; else TARGET_scores.", panel=_VIEW)]
Tables = Annotated[
    list[str] | None,
    option(
        "--table",
        "PREDICATE=TABLE",
        "What a predicate's table is called where it is not as the predicate; repeated.",
        panel=_VIEW,
    ),
]
Columns = Annotated[
    list[str] | None,
    option(
        "--column",
        "PREDICATE.OLD=NEW",
        "What a column is called where it is not as in the data that were loaded; repeated.",
        panel=_VIEW,
    ),
]
Scopes = Annotated[
    list[str] | None,
    option(
        "--scope-table",
        "PREDICATE=TABLE",
        "The table of the tuples that have atoms, where a scope says so; else PREDICATE_scope; repeated.",
        panel=_VIEW,
    ),
]
Partial = Annotated[
    bool,
    flag("--partial", "Leave out rules that join atoms: a view of the others, which is another model.", panel=_VIEW),
]


@dataclass(frozen=True)
class ViewOptions:
    """What the view of a model is, and how the user's tables are called."""

    target: Target = None
    view: View = None
    tables: Tables = None
    columns: Columns = None
    scopes: Scopes = None
    partial: Partial = False

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        options = {
            "--target": self.target, "--view": self.view, "--table": self.tables, "--column": self.columns,
            "--scope-table": self.scopes, "--partial": self.partial,
        }  # fmt: skip
        return [name for name, value in options.items() if value]

    def renamed_columns(self) -> dict[str, dict[str, str]]:
        """Return what columns are called, by predicate."""
        found: dict[str, dict[str, str]] = {}
        for name, new in pairs("--column", self.columns, "Token.position=pos").items():
            predicate, dot, old = name.partition(".")
            if not dot:
                raise typer.BadParameter(f"--column {name}={new}: write PREDICATE.OLD=NEW, such as Token.position=pos")
            found.setdefault(predicate, {})[old] = new
        return found


def pairs(named: str, values: Sequence[str] | None, example: str) -> dict[str, str]:
    """Return what options NAME=VALUE say, by name."""
    found: dict[str, str] = {}
    for each in values or ():
        name, equal, value = each.partition("=")
        if not equal or not name or not value or name in found:
            what = "stands twice" if name in found else "is no NAME=VALUE"
            raise typer.BadParameter(f"{named} {each} {what}: write it as {named} {example}, once for each name")
        found[name] = value
    return found


# ---- sqlrl export -------------------------------------------------------------------------------------


class AnyFormat(StrEnum):
    """How a model is written."""

    wcnf = "wcnf"
    lp = "lp"
    uai = "uai"
    parquet = "parquet"
    sql = "sql"


class AnyDialect(StrEnum):
    """How a WCNF file marks hard clauses, and whose SQL a view is."""

    classic = "classic"
    new = "2022"
    duckdb = "duckdb"
    postgres = "postgres"
    spark = "spark"
    sqlite = "sqlite"


_OF_WCNF = (AnyDialect.classic, AnyDialect.new)

Out = Annotated[
    Path,
    option(
        "--out",
        "FILE",
        "Where it goes; the atoms of a network are listed in FILE.atoms.tsv. - is standard output, for SQL alone.",
        "-o",
    ),
]
How = Annotated[
    AnyFormat | None,
    option(
        "--format",
        None,
        "wcnf: weighted MaxSAT, lp: integer program, uai: Markov network, parquet: a table of ground clauses, sql: a view that gives each atom its probability; by default "
        "the ending of FILE.",
    ),
]
Which = Annotated[
    AnyDialect | None,
    option(
        "--dialect",
        None,
        "Of wcnf: with a line `p wcnf` (classic), or of the MaxSAT Evaluations since 2022. Of sql: the database; duckdb if none is "
        "named.",
    ),
]


@grouped
def export(
    out: Out,
    inputs: ModelInputs,
    messages: Messages,
    views: ViewOptions,
    file_format: How = None,
    dialect: Which = None,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Write a model for others: its ground network for a solver, whose answer `sqlrl infer --solution` reads, or a view in SQL.

    sqlrl export cite.duckdb --model learned.mln --out cite.wcnf

    sqlrl export --model prog.mln --evidence evidence.db --query Smokes,Cancer --out prog.lp

    sqlrl export cite.duckdb --model learned.json --format sql --dialect postgres --table Token=public.tokens --out scores.sql
    """
    ending = out.suffix.lower()
    as_view = file_format is AnyFormat.sql or (file_format is None and ending == ".sql")
    _check_options(out, views, examples, dialect, as_view=as_view)
    of_wcnf = file_format is AnyFormat.wcnf or (file_format is None and ending == ".wcnf")
    if not as_view and not of_wcnf and dialect is AnyDialect.new:
        raise typer.BadParameter("--dialect is about WCNF files: leave it out, or export WCNF")
    with inputs.open(messages, examples=examples, read_only=read_only, rules=False) as job:
        if as_view:
            _write_view(job, out, views, dialect or AnyDialect.duckdb, limit)
            return
        with job.run.working("exporting"):
            exported = job.db.export(
                job.model,
                out,
                format=None if file_format is None else cast("NetworkFormat", file_format.value),
                dialect=(dialect or AnyDialect.classic).value,
                examples=job.examples,
                roles=job.roles,
                limit=limit,
            )
        if job.run.as_json:
            row = {"path": str(exported.path), "map": str(exported.map)}
            print_json([{**row, "atoms": exported.atoms, "clauses": exported.clauses}])
        job.run.message(repr(exported))


def _check_options(
    out: Path, views: ViewOptions, examples: str | None, dialect: AnyDialect | None, *, as_view: bool
) -> None:
    """Refuse options that are about another format."""
    if as_view:
        if dialect in _OF_WCNF:
            raise typer.BadParameter(
                f"--dialect {dialect.value} is about WCNF files: a view is in SQL of duckdb, postgres, spark or sqlite"
            )
        if examples is not None:
            raise typer.BadParameter(
                "--examples: a view is about whatever its tables hold: leave it out, and say WHERE when you read the view"
            )
        return
    if views.given:
        raise typer.BadParameter(f"{', '.join(views.given)}: only a view has that, with --format sql")
    if dialect is not None and dialect not in _OF_WCNF:
        raise typer.BadParameter(f"--dialect {dialect.value} is about views: add --format sql")
    if str(out) == "-":
        raise typer.BadParameter(
            "--out - is for --format sql: a network needs a file, beside which its atoms are listed"
        )


def _write_view(job: Job, out: Path, views: ViewOptions, dialect: AnyDialect, limit: int | None) -> None:
    from sqlrl.plan.view_options import SQLOptions

    with job.run.working("exporting"):
        options = SQLOptions(
            target=views.target,
            view=views.view,
            tables=pairs("--table", views.tables, "Friends=friends"),
            columns=views.renamed_columns(),
            scopes=pairs("--scope-table", views.scopes, "Same=pairs"),
            partial=views.partial,
        )
        exported = job.db.export(
            job.model, format="sql", dialect=dialect.value, options=options, limit=limit, roles=job.roles
        )
    if str(out) != "-":
        exported.write(out)
    elif not job.run.as_json:
        typer.echo(exported.text, nl=False)
    if job.run.as_json:
        left_out = [{"rule": each.rule, "reason": each.reason} for each in exported.left_out]
        row = {"path": str(out), "view": exported.view, "target": exported.target, "dialect": exported.dialect}
        print_json([{**row, "tables": list(exported.tables), "left_out": left_out, "sql": exported.text}])
    job.run.message(repr(exported))


# ---- sqlrl report -------------------------------------------------------------------------------------

Number = Annotated[
    str | None, argument("RUN", "The number of the run in sqlrl.run; the newest by default.", complete=runs)
]
Page = Annotated[Path, option("--out", "FILE", "The page to write, a name that ends in .html.", "-o")]
Replace = Annotated[bool, flag("--replace", "Write over a file that is there.")]


@grouped
def report(
    out: Page,
    output: Messages,
    place: NamedDatabase,
    second: Number = None,
    read_only: ReadOnly = False,
    replace: Replace = False,
) -> None:
    """Write a page about a run that needs no network: clauses, charts, examples with the clauses behind their atoms, data and timings.

    Predictions and probabilities are on it once they are kept and evaluated (sqlrl evaluate --keep).

    sqlrl report cite.duckdb 1 -o report.html
    """
    path, text = _chosen((place.first, second), place.db)
    if text is not None and not text.isdecimal():
        raise InputError(f'{text!r} is no number of a run: `sqlrl sql {path} "from sqlrl.run"` lists them')
    from sqlrl.paths import expanded
    from sqlrl.report.page import check_path

    check_path(out)
    if exists(expanded(out)) and not replace:
        raise InputError(f"{out} exists: give another name, or --replace")
    with (
        session(output) as run,
        run.database(path, DatabaseOptions(untrusted=place.untrusted), read_only=read_only, reads=True) as database,
    ):
        found = database.runs[-1 if text is None else int(text)]
        found.report(out)
        if output.as_json:
            print_json([{"run": found.number, "learner": found.learner, "file": str(out)}])
        else:
            run.message(f"{out}: the report of run {found.number}, {found.learner}")


def _chosen(arguments: Sequence[str | None], db: Path | None) -> tuple[Path, str | None]:
    """Return the database and the run, None for the newest; what is no number alone is a database."""
    given = [each for each in arguments if each is not None]
    if not given and db is not None:
        return db, None
    if len(given) == 1 and not given[0].isdecimal():
        return Path(given[0]), None
    path, (text,) = with_database(arguments, db, "RUN")
    return path, text
