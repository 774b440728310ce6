"""`sqlrl count`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import FLAG, Examples, Limit, Output, ReadOnly
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.paths import exists

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

_HELP = (
    "observed (the labels), or a table, file or query with the true atoms; of several predicates "
    "PREDICATE=TABLE, repeated."
)
WorldNames = Annotated[
    list[str] | None,
    typer.Option("--world", metavar="WORLD", help=f"The world that is counted in: {_HELP}", show_default="observed"),
]
Against = Annotated[
    list[str] | None,
    typer.Option("--against", metavar="WORLD", help="Print delta n: n in --world minus n here.", show_default=False),
]
Formula = Annotated[
    str | None,
    typer.Option(
        "--formula",
        metavar="TEXT",
        help="Count this formula in place of the rules of the model.",
        show_default=False,
    ),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="NAMES",
        help="Count each clause by the constants of these variables (x,y), or by `example`.",
        show_default=False,
    ),
]


class GroupRows(StrEnum):
    """Which groups of --by have a row."""

    all = "all"
    violated = "violated"
    true = "true"


WhichGroups = Annotated[
    GroupRows, typer.Option("--groups", help="All groups of --by, or those with a violated, or a true grounding.")
]
MostGroups = Annotated[
    int, typer.Option("--most-groups", metavar="N", min=1, help="The most groups of --by; more are refused.")
]

Expected = Annotated[
    bool,
    typer.Option(
        "--expected", metavar=FLAG, help="Print the expected counts of a model with weights beside the observed ones."
    ),
]
Keep = Annotated[bool, typer.Option("--keep", metavar=FLAG, help="Keep those for the view sqlrl.count_differences.")]


@grouped
def count(
    inputs: ModelInputs,
    output: Output,
    world: WorldNames = None,
    against: Against = None,
    formula: Formula = None,
    by: By = None,
    groups: WhichGroups = GroupRows.all,
    most_groups: MostGroups = 10_000_000,
    expected: Expected = False,
    keep: Keep = False,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Count the true groundings of every clause, exactly, in a world or in one against another.

    sqlrl count cite.duckdb --model learned.mln --world predictions --against observed

    sqlrl count cite.duckdb --model learned.mln --by x,y --groups violated

    sqlrl count cite.duckdb --model learned.mln --expected --keep
    """
    if expected:
        named = {"--world": world, "--against": against, "--formula": formula, "--by": by}
        given = next((option for option, value in named.items() if value is not None), None)
        if given is not None:
            raise typer.BadParameter(
                f"--expected is the mean over all worlds, of every clause, beside the observed one: leave {given} out"
            )
    elif keep:
        raise typer.BadParameter("--keep is for expected counts: give --expected, too")
    if keep and (inputs.evidence or read_only):
        raise typer.BadParameter("--keep needs a database that can be written, not evidence files or --read-only")
    if against is not None and (by is not None or formula is not None):
        raise typer.BadParameter(
            f"{'--by' if by is not None else '--formula'} is counted in one world: leave --against out"
        )
    if by is None and groups is not GroupRows.all:
        raise typer.BadParameter("--groups chooses among the groups of --by: name variables with it")
    with inputs.open(output, examples=examples, labels=True, read_only=read_only, reads=not keep) as job:
        if expected:
            job.run.show(
                job.db.count(job.model, expected=True, examples=job.examples, keep=keep, limit=limit, roles=job.roles)
            )
            return
        shown = named_world(world, job.model, "--world")
        with job.run.working("counting"):
            if against is None:
                table = job.db.count(
                    job.model,
                    formula=formula,
                    by=None if by is None else ",".join(by),
                    groups=groups.value,
                    most_groups=most_groups,
                    world=shown,
                    examples=job.examples,
                    limit=limit,
                    roles=job.roles,
                )
            else:
                other = named_world(against, job.model, "--against")
                table = job.db.count(
                    job.model, world=shown, against=other, examples=job.examples, limit=limit, roles=job.roles
                )
        job.run.show(table)


def named_world(values: Sequence[str] | None, model: Model, option: str) -> str | dict[str, str]:
    """Return the world that an option names: one for all predicates, or a table for each; None is the observed world."""
    from sqlrl.logic.lexer import nearest

    if not values:
        return "observed"
    pairs = [(name, source) for name, equals, source in (v.partition("=") for v in values) if equals]
    found = {name: source for name, source in pairs if name in model.predicates}
    if not found and len(values) == 1:
        hint = nearest(pairs[0][0], model.predicates) if pairs else ""
        if hint and not exists(values[0]):
            raise typer.BadParameter(f"{option} {values[0]}: the model declares no predicate {pairs[0][0]}{hint}")
        return values[0]
    if len(found) < len(values):
        raise typer.BadParameter(
            f"{option} takes one world, or PREDICATE=TABLE once for each predicate, not {' and '.join(values)}"
        )
    return found
