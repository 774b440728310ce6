"""`sqlrl export`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Inputs
from sqlrl.cli.options import GROUNDING_LIMIT, Examples, Limit, Messages, ReadOnly
from sqlrl.cli.session import print_json


class Format(StrEnum):
    """How a ground network is written."""

    wcnf = "wcnf"
    lp = "lp"
    uai = "uai"


class Dialect(StrEnum):
    """How a WCNF file marks hard clauses."""

    classic = "classic"
    new = "2022"


Out = Annotated[
    Path,
    typer.Option("--out", "-o", metavar="FILE", help="Where the network goes; FILE.atoms.tsv lists its atoms."),
]
How = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="wcnf: weighted MaxSAT, lp: integer program, uai: Markov network; by default the ending of FILE.",
        show_default=False,
    ),
]
Which = Annotated[
    Dialect, typer.Option("--dialect", help="Of wcnf: with a line `p wcnf`, or of the MaxSAT Evaluations since 2022.")
]


@grouped
def export(
    out: Out,
    inputs: Inputs,
    messages: Messages,
    file_format: How = None,
    dialect: Which = Dialect.classic,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Write the ground network with its weights for another solver, whose answer `sqlrl infer --solution` reads.

    sqlrl export cite.duckdb --model learned.mln --out cite.wcnf

    sqlrl export --model prog.mln --evidence evidence.db --query Smokes,Cancer --out prog.lp
    """
    if file_format is not Format.wcnf and (file_format or out.suffix.lower() != ".wcnf") and dialect is Dialect.new:
        raise typer.BadParameter("--dialect is about WCNF files: leave it out, or export WCNF")
    with inputs.open(messages, examples=examples, read_only=read_only, rules=False) as job:
        with job.run.working("exporting"):
            exported = job.db.export(
                job.model,
                out,
                format=None if file_format is None else file_format.value,
                dialect=dialect.value,
                examples=job.examples,
                **job.choices,
                limit=limit,
            )
        if job.run.as_json:
            row = {"path": str(exported.path), "map": str(exported.map)}
            print_json([{**row, "atoms": exported.atoms, "clauses": exported.clauses}])
        job.run.message(repr(exported))
