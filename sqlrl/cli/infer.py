"""`sqlrl infer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Job, ModelInputs
from sqlrl.cli.options import FLAG, Examples, Output, ReadOnly
from sqlrl.cli.predicting import Solver, show, tell
from sqlrl.cli.sampling import Sampler
from sqlrl.cli.solution import ExternalSolution

if TYPE_CHECKING:
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.predictions import Prediction

Into = Annotated[
    str | None,
    typer.Option(
        "--into",
        metavar="TABLE",
        help="A table to create with the atoms predicted true, or with probabilities.",
        show_default=False,
    ),
]
Replace = Annotated[bool, typer.Option("--replace", metavar=FLAG, help="Replace that table if it exists.")]
Keep = Annotated[
    bool, typer.Option("--keep", metavar=FLAG, help="Keep the world and exact counts of every clause in the database.")
]
Every = Annotated[bool, typer.Option("--all", metavar=FLAG, help="Also the atoms predicted false.")]


@grouped
def infer(
    inputs: ModelInputs,
    solver: Solver,
    outside: ExternalSolution,
    sampler: Sampler,
    output: Output,
    examples: Examples = None,
    into: Into = None,
    replace: Replace = False,
    keep: Keep = False,
    every: Every = False,
    read_only: ReadOnly = False,
) -> None:
    """Predict the most probable world, or the probability of each atom. Labels are never read.

    sqlrl infer cite.duckdb --model learned.mln --examples "select bib from test" --into predictions

    sqlrl infer --model prog.mln --evidence evidence.db --query Smokes,Cancer

    sqlrl infer --model prog.mln --evidence evidence.db --query Cancer --probabilities --samples 5000

    sqlrl infer cite.duckdb --model learned.mln --solution answer.txt --exported cite.wcnf
    """
    sampler.check(solver)
    writes = into is not None or keep or bool(sampler.tables)
    if writes and (inputs.evidence or read_only):
        name = "--into" if into is not None else "--keep" if keep else "--samples-into or --means-into"
        raise typer.BadParameter(f"{name} needs a database that can be written")
    if into is not None and not into.strip():
        raise typer.BadParameter("--into needs the name of a table, not nothing")
    if replace and into is None and not sampler.tables:
        raise typer.BadParameter("--replace says what to do with the table that --into names: name one")
    if every and into is not None:
        raise typer.BadParameter("--all is about what is printed, but --into prints no atoms: leave out one of them")
    if sampler.probabilities and (every or outside.solution is not None):
        name = "--all" if every else "--solution"
        raise typer.BadParameter(f"{name} is about a most probable world: leave out --probabilities or {name}")
    outside.check()
    with inputs.open(output, examples=examples, read_only=read_only, reads=not writes, rules=False) as job:
        if into is not None and not job.asked.whole:
            raise typer.BadParameter(
                f"--into writes all atoms of a predicate: name {', '.join(job.asked.predicates)} without arguments, or leave --into out"
            )
        if not job.model.query and job.roles.hidden and not job.predicted:
            raise typer.BadParameter(
                f"nothing is asked: --query names what to predict, such as --query {next(iter(job.roles.hidden))}"
            )
        found: Prediction | Marginals
        if sampler.probabilities:
            found = sampler.infer(job, solver, into=into, replace=replace, keep=keep)
        elif outside.solution is None:
            found = solver.predict(job, into=into, replace=replace, keep=keep)
        else:
            found = outside.predict(job, limit=solver.limit, into=into, replace=replace, keep=keep)
        if into is None:
            show_asked(job, found, every=every)
        else:
            tell(job.run, found, into)
        if sampler.tables:
            job.run.message(f"what was sampled is in {', '.join(sampler.tables)}")


def show_asked(job: Job, found: Prediction | Marginals, *, every: bool) -> None:
    """Print the atoms that were asked for, and say of which there are none."""
    from sqlrl.database.named_atoms import remark

    for atom in job.asked.atoms:
        if said := remark(job.db.advanced.catalog, found.layout, atom):
            job.run.message(said)
    show(job.run, found, every=every, rows=lambda name, rows: job.asked.shown(found.layout.predicates[name], rows))
