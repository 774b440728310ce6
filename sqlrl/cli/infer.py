"""`sqlrl infer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Inputs, Job
from sqlrl.cli.options import FLAG, Examples, Output, ReadOnly
from sqlrl.cli.predicting import Solver
from sqlrl.cli.sampling import Sampler
from sqlrl.cli.session import Session, print_json
from sqlrl.cli.solution import Outside

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlrl.database.marginals import Marginals
    from sqlrl.database.predictions import Prediction
    from sqlrl.report import Table

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
    inputs: Inputs,
    solver: Solver,
    outside: Outside,
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

    sqlrl infer --model prog.mln --evidence evidence.db --query Cancer --marginals --samples 5000

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
    if sampler.marginals and (every or outside.solution is not None):
        name = "--all" if every else "--solution"
        raise typer.BadParameter(f"{name} is about a most probable world: leave out --marginals or {name}")
    outside.check()
    with inputs.open(output, examples=examples, read_only=read_only, reads=not writes, rules=False) as job:
        if into is not None and not job.asked.whole:
            raise typer.BadParameter(
                f"--into writes all atoms of a predicate: name {', '.join(job.asked.predicates)} without arguments, or leave --into out"
            )
        if not job.model.query and job.choices["hidden"] and not job.predicted:
            raise typer.BadParameter(
                f"nothing is asked: --query names what to predict, such as --query {job.choices['hidden'][0]}"
            )
        if sampler.marginals:
            found = sampler.infer(job, solver, into=into, replace=replace, keep=keep)
            show_marginals(job, found, [*sampler.tables], into=into)
            return
        if outside.solution is None:
            prediction = solver.predict(job, into=into, replace=replace, keep=keep)
        else:
            prediction = outside.predict(job, limit=solver.limit, into=into, replace=replace, keep=keep)
        if into is None:
            show(job, prediction, every=every)
        else:
            tell(job.run, prediction, into)


def tell(run: Session, prediction: Prediction, into: str) -> None:
    """Name the tables of the atoms predicted true."""
    from sqlrl.database.inference import into_tables

    tables = into_tables(prediction.layout, into)
    if run.as_json:
        print_json({"predicate": name, "table": table} for name, table in tables.items())
    run.message(f"the atoms predicted true are in {', '.join(tables.values())}")


def show_marginals(job: Job, found: Marginals, streamed: list[str], *, into: str | None) -> None:
    """Print probabilities, a table for each predicate, or name the tables that hold them."""
    from sqlrl.database.inference import into_tables
    from sqlrl.report import Table

    run = job.run
    tables = {} if into is None else into_tables(found.layout, into)
    if into is None and run.as_json:
        # Programs read JSON: it has what was computed, all digits of it.
        raw = _asked(job, found, lambda name: Table(found.probabilities(name)))
        print_json({"predicate": name, **row} for name, table in raw for row in table)
    elif into is None:
        run.show(*(table for _, table in _asked(job, found, found.table)))
    elif run.as_json:
        print_json({"predicate": name, "table": table} for name, table in tables.items())
    if tables:
        run.message(f"the probabilities are in {', '.join(tables.values())}")
    if streamed:
        run.message(f"what was sampled is in {', '.join(streamed)}")


def show(job: Job, prediction: Prediction, *, every: bool) -> None:
    """Print the predicted atoms, a table for each predicate."""
    tables = _asked(job, prediction, lambda name: prediction.table(name, every=every))
    if job.run.as_json:
        print_json({"predicate": name, **row} for name, table in tables for row in table)
        return
    job.run.show(*(table for _, table in tables))


def _asked(job: Job, found: Prediction | Marginals, table: Callable[[str], Table]) -> list[tuple[str, Table]]:
    """Return the predicates that were asked for, each with those rows of its table that were."""
    from sqlrl.database.named_atoms import remark
    from sqlrl.report import Table

    for atom in job.asked.atoms:
        if said := remark(job.db.catalog, found.layout, atom):
            job.run.message(said)
    tables = []
    for name in found.open_predicates:
        whole = table(name)
        rows = job.asked.shown(found.layout.predicates[name], whole.to_arrow())
        tables.append((name, Table(rows, title=whole.title)))
    return tables
