"""`sqlrl export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Job, ModelInputs
from sqlrl.cli.options import Examples, Limit, Messages, ReadOnly
from sqlrl.cli.session import print_json
from sqlrl.cli.views import ViewOptions, pairs
from sqlrl.ground.limits import GROUNDING_LIMIT


class Format(StrEnum):
    """How a ground network is written for a solver."""

    wcnf = "wcnf"
    lp = "lp"
    uai = "uai"


class NetworkFormat(StrEnum):
    """How a ground network is written."""

    wcnf = "wcnf"
    lp = "lp"
    uai = "uai"
    parquet = "parquet"


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
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where it goes; the atoms of a network are listed in FILE.atoms.tsv. - is standard output, for SQL alone.",
    ),
]
How = Annotated[
    AnyFormat | None,
    typer.Option(
        "--format",
        help="wcnf: weighted MaxSAT, lp: integer program, uai: Markov network, parquet: a table of ground clauses, sql: a view that gives each atom its probability; by default "
        "the ending of FILE.",
        show_default=False,
    ),
]
Which = Annotated[
    AnyDialect | None,
    typer.Option(
        "--dialect",
        help="Of wcnf: with a line `p wcnf` (classic), or of the MaxSAT Evaluations since 2022. Of sql: the database; duckdb if none is "
        "named.",
        show_default=False,
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
                format=None if file_format is None else NetworkFormat(file_format.value).value,
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
            job.model,
            format="sql",
            dialect=dialect.value,
            options=options,
            limit=limit,
            roles=job.roles,
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
