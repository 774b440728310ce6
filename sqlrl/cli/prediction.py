"""`sqlrl infer`, `evaluate`, `why` and `psl`: predict, and say how well and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.inputs import Job, ModelInputs
from sqlrl.cli.options import (
    DatabaseOptions,
    DataFile,
    Db,
    Examples,
    Limit,
    Output,
    ReadOnly,
    argument,
    flag,
    grouped,
    option,
    predicates,
)
from sqlrl.cli.session import print_json, session
from sqlrl.cli.solvers import ExternalSolution, Probabilities, Replace, Sampler, Saving, Solver
from sqlrl.cli.words import in_options
from sqlrl.ground.limits import GROUNDING_LIMIT

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.cli.session import CommandSession
    from sqlrl.database.marginals import Marginals
    from sqlrl.database.predictions import Prediction
    from sqlrl.database.results import InferenceResult
    from sqlrl.database.why import AtomReasons
    from sqlrl.evaluate import RankingScores, Scores


# ---- results and reasons -------------------------------------------------------------------------------

_WRITTEN = {"truth": "atoms predicted true", "probability": "probabilities", "value": "values"}
"""What `--into` writes, by the column of the values."""


def show(
    run: CommandSession,
    found: InferenceResult[Any, Any],
    *,
    every: bool = False,
    rows: Callable[[str, pa.Table], pa.Table] = lambda _, data: data,  # chooses among those of a predicate
) -> None:
    """Print what was found, a table for each predicate."""
    from sqlrl.report import Table

    names = found.open_predicates
    if run.as_json:
        # Programs read JSON: it has what was computed, all digits of it.
        raw = [(name, Table(rows(name, found.atoms(name, every=every)))) for name in names]
        print_json({"predicate": name, **row} for name, table in raw for row in table)
        return
    tables = [(name, found.table(name, every=every)) for name in names]
    run.show(*(Table(rows(name, table.to_arrow()), title=table.title) for name, table in tables))


def tell(run: CommandSession, found: InferenceResult[Any, Any], into: str) -> None:
    """Name the tables that hold what was found."""
    tables = found.tables(into)
    if run.as_json:
        print_json({"predicate": name, "table": table} for name, table in tables.items())
    run.message(f"the {_WRITTEN[found.value_column]} are in {', '.join(tables.values())}")


def show_reasons(run: CommandSession, found: Sequence[AtomReasons]) -> None:
    """Print why atoms have their values; JSON says on each row what holds of the atom as a whole."""
    if run.as_json:
        print_json({**each.head, **row} for each in found for row in each.table)
        return
    run.show(*(each.shown() for each in found))


# ---- sqlrl infer --------------------------------------------------------------------------------------

Every = Annotated[bool, flag("--all", "Also the atoms predicted false.")]


@grouped
def infer(
    inputs: ModelInputs,
    solver: Solver,
    outside: ExternalSolution,
    sampler: Sampler,
    output: Output,
    saving: Saving,
    examples: Examples = None,
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
    into = saving.into
    writes = into is not None or saving.keep or bool(sampler.tables)
    if writes:
        name = "--into" if into is not None else "--keep" if saving.keep else "--samples-into or --means-into"
        inputs.check_writable(name, read_only=read_only)
    if into is not None and not into.strip():
        raise typer.BadParameter("--into needs the name of a table, not nothing")
    if saving.replace and into is None and not sampler.tables:
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
            found = sampler.infer(job, solver, saving)
        elif outside.solution is None:
            found = solver.predict(job, saving)
        else:
            found = outside.predict(job, solver.limit, saving)
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


# ---- sqlrl evaluate -----------------------------------------------------------------------------------


class OutsideLabels(StrEnum):
    """What true labels outside the scope count as."""

    missed = "missed"
    ignore = "ignore"


ByExample = Annotated[bool, flag("--by-example", "A row for each example, the worst first.")]
ByBin = Annotated[
    bool,
    flag(
        "--calibration",
        "With --probabilities: a row for each bin of probabilities, with the share of true atoms in it.",
    ),
]
KeepScores = Annotated[
    bool,
    flag(
        "--keep",
        "Keep what is predicted and its labels in the database, for the views confusion, calibration, clause_support, worst_predicted_examples.",
    ),
]
InOutside = Annotated[OutsideLabels, typer.Option("--outside", help="True labels outside the scope.")]


@grouped
def evaluate(
    inputs: ModelInputs,
    solver: Solver,
    sampler: Probabilities,
    output: Output,
    examples: Examples = None,
    by_example: ByExample = False,
    calibration: ByBin = False,
    outside: InOutside = OutsideLabels.missed,
    keep: KeepScores = False,
    read_only: ReadOnly = False,
) -> None:
    """Predict as `infer` does, and compare with the labels.

    In --evidence, facts of what is predicted are the labels. With --probabilities probabilities are compared: AUC-ROC, average precision,
    log-likelihood, calibration; and with --by-example how they rank the atoms of each example.

    sqlrl evaluate cite.duckdb --model learned.mln --examples "select bib from test"

    sqlrl evaluate cite.duckdb --model learned.mln --examples "select bib from test" --probabilities
    """
    sampler.check(solver)
    if calibration and by_example:
        raise typer.BadParameter("--calibration and --by-example are two tables: leave one of them out")
    if calibration and not sampler.probabilities:
        raise typer.BadParameter("--calibration is about probabilities: add --probabilities")
    if keep:
        inputs.check_writable("--keep", read_only=read_only)
    with inputs.open(output, examples=examples, labels=True, read_only=read_only, reads=not keep, rules=False) as job:
        if sampler.probabilities:
            chances = job.db.evaluate(sampler.infer(job, solver, Saving(keep=keep)), outside=outside.value)
            if by_example:
                rankings = chances.by_example()
                job.run.show(worst_ranked(rankings), title="rankings of each example, the worst first")
                job.run.message(str(rankings))
                return
            shown, title = (chances.calibration, "calibration") if calibration else (chances, "scores")
            job.run.show(shown.table().to_arrow(), title=title)
            job.run.message(str(chances))
            return
        scores = job.db.evaluate(solver.predict(job, Saving(keep=keep)), outside=outside.value)
        if by_example:
            job.run.show(worst_examples(scores), title="scores of each example, the worst first")
        else:
            job.run.show(scores.table().to_arrow(), title="scores")
        job.run.message(in_options(scores.message))


def worst_ranked(scores: RankingScores) -> pa.Table:
    """Return the table of rankings with the lowest average precision first, and examples that are left out last."""
    table = scores.table().to_arrow()
    order = sorted(
        range(len(table)),
        key=lambda k: (not scores.ranked[k], scores.average_precision[k] if scores.ranked[k] else 0.0),
    )
    return table.take(order)


def worst_examples(scores: Scores) -> pa.Table:
    """Return the rows of `Scores.example_table` with `wrong`, the number of wrong atoms; most wrong ones first."""
    import pyarrow as pa

    rows = scores.example_table().to_pylist()
    for row in rows:
        row["wrong"] = row["false_positives"] + row["false_negatives"]
    # Python's sort is stable: ties stay in the order of the data.
    rows.sort(key=lambda row: -row["wrong"])
    return pa.Table.from_pylist(rows)


# ---- sqlrl why ----------------------------------------------------------------------------------------

Atoms = Annotated[list[str], option("--atom", "ATOM", "A query atom, such as 'Smokes(Anna)'; may be repeated.", "-a")]
Example = Annotated[
    str | None, option("--example", "NAME", "The example of the atoms, where their arguments do not say.")
]
Neutral = Annotated[bool, flag("--neutral", "Also the ground clauses that other atoms decide.")]
KeepReasons = Annotated[bool, flag("--keep", "Keep the prediction, and the reasons in the view sqlrl.explanation.")]


@grouped
def why(
    atom: Atoms,
    inputs: ModelInputs,
    solver: Solver,
    output: Output,
    examples: Examples = None,
    example: Example = None,
    neutral: Neutral = False,
    keep: KeepReasons = False,
    read_only: ReadOnly = False,
) -> None:
    """Say why atoms are predicted as they are: the ground clauses for and against each, and its margin.

    sqlrl why cite.duckdb --model learned.mln --atom 'InField("b0451", Title, 3)'

    sqlrl why --model prog.mln --evidence evidence.db --query Cancer --atom 'Cancer(Anna)'
    """
    if keep:
        inputs.check_writable("--keep", read_only=read_only)
    with inputs.open(output, examples=examples, read_only=read_only, reads=not keep, rules=False) as job:
        # A misspelt atom fails before the work, not after it.
        job.db.advanced.check_atoms(job.model, atom, examples=job.examples, example=example, roles=job.roles)
        prediction = solver.predict(job, Saving(keep=keep))
        show_reasons(job.run, [prediction.why(each, example=example, neutral=neutral) for each in atom])


# ---- sqlrl psl ----------------------------------------------------------------------------------------


class MissingAtoms(StrEnum):
    """What atoms are that rules reach and that are neither observed nor listed."""

    error = "error"
    open = "open"
    false = "false"


class Task(StrEnum):
    """Of which task the data of a program are."""

    infer = "infer"
    learn = "learn"


Program = Annotated[
    Path, typer.Argument(metavar="PROGRAM", help="PSL's JSON or YAML, a rule file, or a model that sqlrl saved.")
]
WithDatabase = Annotated[Path | None, argument("DATABASE", "The DuckDB file; without one the data that PROGRAM names.")]
Inferred = Annotated[
    list[str] | None, option("--query", "NAMES", "Predicates to infer, with commas or repeated.", complete=predicates)
]
InSplit = Annotated[Task, typer.Option("--split", help="Of which task the data are that PROGRAM names.")]
Evaluate = Annotated[bool, flag("--evaluate", "Print scores against the truths, not the values.")]
ObservedBodies = Annotated[
    bool,
    flag(
        "--observed-bodies",
        "Bodies read what is observed of open predicates alone, as where `sqlrl learn --learner soft-structure` learned the rules.",
    ),
]
InMissingAtoms = Annotated[
    MissingAtoms,
    typer.Option("--missing", help="Atoms that rules reach and no list has: an error, inferred as well, or false."),
]
Threshold = Annotated[
    float, typer.Option("--threshold", metavar="T", min=0.0, max=1.0, help="What counts as true in scores.")
]
Pushed = Annotated[
    list[str] | None, option("--atom", "ATOM", "Say what pushes an atom up and down; may be repeated.", "-a")
]
IntoValues = Annotated[str | None, option("--into", "TABLE", "A table to create with the values.")]
KeepValues = Annotated[bool, flag("--keep", "Keep the values and the distances of each rule in the database.")]


@grouped
def psl(
    program: Program,
    output: Output,
    opening: DatabaseOptions,
    database: WithDatabase = None,
    db: Db = None,
    data: DataFile = None,
    query: Inferred = None,
    split: InSplit = Task.infer,
    evaluate: Evaluate = False,
    threshold: Threshold = 0.5,
    observed_bodies: ObservedBodies = False,
    missing: InMissingAtoms = MissingAtoms.error,
    atom: Pushed = None,
    into: IntoValues = None,
    replace: Replace = False,
    keep: KeepValues = False,
    limit: Limit = GROUNDING_LIMIT,
    read_only: ReadOnly = False,
) -> None:
    """Infer the truth values of a program of probabilistic soft logic, and compare them with the truths.

    sqlrl psl smokers.json --evaluate

    sqlrl psl model.psl people.duckdb --query Knows --into knows
    """
    path = database or db
    if into is not None and path is None:
        raise typer.BadParameter("--into needs a DATABASE in which the table is made")
    if keep and (path is None or read_only):
        raise typer.BadParameter("--keep needs a DATABASE that can be written")
    if evaluate and (into is not None or atom):
        raise typer.BadParameter("--evaluate prints scores: leave out --into and --atom")
    with session(output) as run:
        from sqlrl.cli.queries import asked_names
        from sqlrl.logic.psl_files import read_psl

        named = asked_names(query)
        model = read_psl(program, data=data, query=named, task=split.value, trusted=not opening.untrusted)
        with run.database(path, opening, read_only=read_only, reads=into is None and not keep) as held:
            if path is None:
                from sqlrl.cli.roles import soft_roles
                from sqlrl.database.soft_data import SoftData

                held.load(SoftData(model, split.value, program.parent if opening.untrusted else None))
                run.message(soft_roles(model, named))
            with run.working("predicting"):
                prediction = held.predict(
                    model,
                    limit=limit,
                    into=into,
                    replace=replace,
                    keep=keep,
                    observed_bodies=observed_bodies,
                    missing=missing.value,
                )
            run.message(repr(prediction))
            if evaluate:
                scores = held.evaluate(prediction, threshold=threshold)
                run.show(scores.table().to_arrow(), title="scores")
                run.message(str(scores))
            elif atom:
                show_reasons(run, [prediction.why(each) for each in atom])
            elif into is not None:
                tell(run, prediction, into)
            else:
                show(run, prediction)
