"""`sqlrl count`, `ground`, `explain`, `overlap` and `diagnose`: what a model says of the data before anything is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import Examples, Limit, Messages, Output, ReadOnly, flag, grouped, option
from sqlrl.cli.session import print_json
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.paths import exists

if TYPE_CHECKING:
    from sqlrl.ground.network import Network
    from sqlrl.ground.program import Program
    from sqlrl.logic.model import Model
    from sqlrl.report import Table


# ---- sqlrl count --------------------------------------------------------------------------------------

_HELP = (
    "observed (the labels), or a table, file or query with the true atoms; of several predicates "
    "PREDICATE=TABLE, repeated."
)
WorldNames = Annotated[
    list[str] | None,
    typer.Option("--world", metavar="WORLD", help=f"The world that is counted in: {_HELP}", show_default="observed"),
]
Against = Annotated[list[str] | None, option("--against", "WORLD", "Print delta n: n in --world minus n here.")]
Formula = Annotated[str | None, option("--formula", "TEXT", "Count this formula in place of the rules of the model.")]
By = Annotated[
    list[str] | None,
    option("--by", "NAMES", "Count each clause by the constants of these variables (x,y), or by `example`."),
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
    bool, flag("--expected", "Print the expected counts of a model with weights beside the observed ones.")
]
Keep = Annotated[bool, flag("--keep", "Keep those for the view sqlrl.count_differences.")]


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
    if keep:
        inputs.check_writable("--keep", read_only=read_only)
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
            table = job.db.count(
                job.model,
                formula=formula,
                by=None if by is None else ",".join(by),
                groups=groups.value,
                most_groups=most_groups,
                world=shown,
                against=None if against is None else named_world(against, job.model, "--against"),
                examples=job.examples,
                limit=limit,
                roles=job.roles,
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


# ---- sqlrl ground -------------------------------------------------------------------------------------


@grouped
def ground(
    inputs: ModelInputs,
    output: Output,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Ground a model, and print how many ground clauses each shape has and what the evidence decides.

    sqlrl ground cite.duckdb --model chain.mln
    """
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        from sqlrl.ground.grounding import ground_network
        from sqlrl.ground.program import Extent
        from sqlrl.training.session import Query

        asked = Query(job.model, job.examples, job.roles, limit)
        with job.run.working("grounding"), job.db.advanced.session.expanded(asked) as (program, chosen):
            network = ground_network(Extent(program, chosen, limit))
            summary = summarise(program, network)
        job.run.show(summary)
        atoms = int((~network.helper).sum())
        size = len(network.row_clause) + network.units.nnz
        job.run.message(
            f"{atoms:,} query atoms, {len(network.clauses):,} clauses, {size:,} distinct ground clauses left open"
        )


def summarise(program: Program, network: Network) -> Table:
    """Return the counts of groundings, trivially true ones included, with a row for each shape, or for all shapes of one formula."""
    import pyarrow as pa

    from sqlrl.report import Table

    rows: dict[str, dict[str, int]] = {}
    for clause, feature in enumerate(program.feature_of):
        bound = program.features[feature]
        if bound.rule is None:
            continue
        shape = " and ".join(str(instance.shape) for instance in bound.instances)
        row = rows.setdefault(shape, dict.fromkeys(("clauses", "groundings", "satisfied", "violated", "open"), 0))
        total, violated, left = network.total[clause], network.evidence_violated[clause], network.open[clause]
        for name, value in zip(row, (1, total, total - violated - left, violated, left), strict=True):
            row[name] += int(value)
    names = ("shape", "clauses", "groundings", "satisfied", "violated", "open")
    small = all(value < 2**63 for row in rows.values() for value in row.values())
    kind = pa.int64() if small else pa.decimal128(38)
    columns = {"shape": pa.array(list(rows), pa.string())}
    columns |= {name: pa.array([row[name] for row in rows.values()], kind) for name in names[1:]}
    return Table(pa.table(columns), title="groundings; satisfied and violated by the evidence, or left open")


# ---- sqlrl explain ------------------------------------------------------------------------------------

Hard = Annotated[bool, flag("--hard", "Print instead what each hard clause costs, and whether it is inexpensive.")]


@grouped
def explain(
    inputs: ModelInputs, output: Messages, hard: Hard = False, examples: Examples = None, read_only: ReadOnly = False
) -> None:
    """Show, before any work, the SQL of each shape, DuckDB's plan, and the estimated number of ground clauses.

    sqlrl explain cite.duckdb --model chain.mln
    """
    if examples is not None and not hard:
        raise typer.BadParameter("--examples goes with --hard: SQL and plan are those for all examples")
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        if hard:
            with job.run.working("counting"):
                costs = job.db.diagnose(job.model, kind="costs", examples=job.examples, roles=job.roles)
            if output.as_json:
                print_json(costs)
            else:
                print(costs)
            return
        with job.run.working("planning"):
            found = job.model.plan(job.db, roles=job.roles)
        if output.as_json:
            from dataclasses import asdict

            print_json(asdict(each) for each in found)
            return
        print("\n\n".join(str(each).rstrip() for each in found))


# ---- sqlrl overlap ------------------------------------------------------------------------------------


@grouped
def overlap(
    inputs: ModelInputs,
    output: Output,
    examples: Examples = None,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Find the clauses that say the same of the same atoms: pairs that share ground clauses on the data.

    The database keeps them for the view sqlrl.clause_overlap, unless it can only be read.

    sqlrl overlap cite.duckdb --model learned.mln
    """
    with inputs.open(output, examples=examples, read_only=read_only) as job:
        job.run.show(job.db.diagnose(job.model, kind="overlap", examples=job.examples, limit=limit, roles=job.roles))


# ---- sqlrl diagnose -----------------------------------------------------------------------------------

MARKS = "Marks of --kind paper"


class DiagnosisKind(StrEnum):
    """What is told of rules."""

    quality = "quality"
    paper = "paper"


Kind = Annotated[
    DiagnosisKind,
    typer.Option(
        "--kind", help="How often rules apply and are violated, or the marks by which `transfer` revises rules."
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        "--threshold", metavar="X", help="The share of a bin above which a rule is marked.", rich_help_panel=MARKS
    ),
]
Shown = Annotated[
    int,
    typer.Option(
        "--groundings",
        metavar="N",
        min=0,
        help="Groundings that show why, of each reason to mark a rule.",
        rich_help_panel=MARKS,
    ),
]
Samples = Annotated[
    int, typer.Option("--samples", metavar="N", min=1, help="Worlds that each chain draws.", rich_help_panel=MARKS)
]
BurnIn = Annotated[
    int,
    typer.Option("--burn-in", metavar="N", min=0, help="Worlds that each chain forgets first.", rich_help_panel=MARKS),
]
Chains = Annotated[int, typer.Option("--chains", metavar="N", min=1, help="Independent ones.", rich_help_panel=MARKS)]
FromSeed = Annotated[
    int, typer.Option("--random-state", metavar="N", min=0, help="Of the sampling.", rich_help_panel=MARKS)
]


@grouped
def diagnose(
    inputs: ModelInputs,
    output: Output,
    kind: Kind = DiagnosisKind.quality,
    examples: Examples = None,
    threshold: Threshold = 0.1,
    shown: Shown = 3,
    samples: Samples = 100,
    burn_in: BurnIn = 20,
    chains: Chains = 4,
    seed: FromSeed = 0,
    limit: Limit = GROUNDING_LIMIT,
) -> None:
    """Tell how good rules are on the data: how often each applies, how often it is violated there, and how that compares with chance.

    Rules need no weights, and predicates that the file does not declare are those of the database. A rule that cannot be read, or that mentions
    what the data do not have, is listed with its problem. Hard rules that are violated come first. As JSON all numbers are printed, with the query that
    lists the violations of each rule; the database keeps them in the view sqlrl.rule_quality.

    sqlrl diagnose people.duckdb --model rules.mln

    sqlrl diagnose people.duckdb --model rules.mln --kind paper
    """
    marks: dict[str, Any] = {
        "threshold": threshold, "samples": samples, "burn_in": burn_in, "chains": chains, "random_state": seed or None,
        "shown": shown,
    }  # fmt: skip
    if kind is DiagnosisKind.quality:
        with inputs.open(output, examples=examples, labels=True, reads=False, listed=True) as job:
            quality = job.db.diagnose(job.rules, examples=job.examples, limit=limit, roles=job.roles, **marks)
            if output.as_json:
                job.run.show(quality.table)
                return
            job.run.show(quality.summary())
            if len(quality.pairs):
                print()
                job.run.show(quality.pairs)
        return
    with inputs.open(output, examples=examples, labels=True, reads=False) as job:
        found = job.db.diagnose(job.model, kind="paper", examples=job.examples, limit=limit, **marks)
        job.run.show(found.found.to_arrow(), title="diagnosis")
        if output.as_json:
            return
        if len(found.groundings):
            print()
            job.run.show(found.groundings.to_arrow(), title="groundings")
        job.run.message(str(found))
