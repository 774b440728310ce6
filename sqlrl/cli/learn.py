"""`sqlrl learn`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sqlrl.cli.batching import Batch
from sqlrl.cli.choices import Learner
from sqlrl.cli.grouping import grouped
from sqlrl.cli.inducing import Inducing, induce
from sqlrl.cli.inputs import Inputs, Missing
from sqlrl.cli.learning import BATCH, Learning
from sqlrl.cli.options import Examples, Output
from sqlrl.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from sqlrl.cli.inputs import Job
    from sqlrl.database.constrained_training import ConstrainedTraining
    from sqlrl.learn import OnlineEstimator
    from sqlrl.learn.batch.estimator import BatchEstimator
    from sqlrl.learn.batch.problem import Iteration
    from sqlrl.learn.protocols import OnWindow
    from sqlrl.learn.protocols import Progress as Learned
    from sqlrl.logic import Model
    from sqlrl.report.console import Progress

Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where the learned model goes, .mln or .json; - is standard output.",
        show_default=False,
    ),
]

_FEW = Output(rows=10)


ModelIfNeeded = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE",
        help="The model, .mln or .json; - is standard input. Only --learner ilp can do without.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Training(Inputs):
    """The options that name a model and data; a learner of clauses may start without a model."""

    model: ModelIfNeeded = ""


@grouped
def learn(
    inputs: Training,
    learning: Learning,
    batch: Batch,
    inducing: Inducing,
    output: Output = _FEW,
    examples: Examples = None,
    out: Out = None,
) -> None:
    """Learn the weights of a model, and new clauses with --learner osl; prints the strongest clauses, those that were added and
    why, and how well each example was predicted before it was learned, or how a batch learner went on. Or learn clauses alone
    with --learner ilp, for a learner of weights to start from; prints the theory.

    sqlrl learn cite.duckdb --model lc0.mln --query InField --out learned.mln

    sqlrl learn cite.duckdb --model lc0.mln --query InField --learner osl --modes modes.txt --out learned.mln

    sqlrl learn drugs.duckdb --model clauses.mln --query LessToxic --learner likelihood --strength 0.1,1,10 --out learned.mln

    sqlrl learn drugs.duckdb --learner ilp --bias toxic.modes --keep-above 0.6 --out clauses.mln
    """
    check_out(out, output.as_json)
    if batch.groups is not None and learning.learner is not Learner.likelihood:
        raise typer.BadParameter(
            f"--groups is an option of likelihood: {learning.learner} holds out whole examples, or none"
        )
    if learning.learner is Learner.ilp:
        learning.check_ilp(batch)
        induce(
            inputs, inducing, output, examples=examples, out=out, order=learning.order.value, seed=learning.seed,
            limit=learning.limit, save=save,
        )  # fmt: skip
        return
    inducing.refuse(learning.learner)
    if not inputs.model:
        raise typer.BadParameter("--model FILE is missing: it names the rules whose weights are learned")
    if inputs.missing is Missing.allow:
        raise typer.BadParameter(
            "--missing allow is for a learned model on other data; to learn, load data with every constant"
        )
    estimator = learning.estimator(batch)
    if inputs.evidence and (learning.checkpoint or learning.resume is not None):
        raise typer.BadParameter("--checkpoint and --resume need a database file: load the evidence into one first")
    training = learning.constrained(estimator) or estimator
    with inputs.open(output, examples=examples, labels=True) as job:
        if learning.learner in BATCH:
            options = learning.fitting() if batch.groups is None else {**learning.fitting(), "groups": batch.groups}
            learn_batch(job, cast("BatchEstimator | ConstrainedTraining", training), options, out)
        else:
            learn_online(job, cast("OnlineEstimator | ConstrainedTraining", training), learning, out)


def learn_online(
    job: Job, training: OnlineEstimator | ConstrainedTraining, learning: Learning, out: str | None
) -> None:
    """Learn from one example after the other, show the result, and save the model."""
    with job.run.console.progress("learning") as task:
        training.fit(
            job.db, job.model, job.examples,
            on_window=told(task), checkpoint=learning.checkpoint, resume=learning.resume, **learning.fitting(),
        )  # fmt: skip
    report(job.run, fitted_learner(training), out)
    finish(job.run, training, out)


def learn_batch(
    job: Job, training: BatchEstimator | ConstrainedTraining, options: Mapping[str, Any], out: str | None
) -> None:
    """Learn from all examples at once, show the result, and save the model."""
    run = job.run
    with run.console.progress("learning") as task:

        def show(iteration: Iteration) -> None:
            """Tell how far learning is."""
            goal = "" if iteration.objective is None else f", objective {iteration.objective:.6g}"
            task.advance(0, note=f"iteration {iteration.iteration}{goal}")

        training.fit(job.db, job.model, job.examples, on_iteration=show, **options)
    estimator: BatchEstimator = fitted_learner(training)
    clauses = estimator.clauses()
    if out != "-":
        run.show(clauses, title="strongest clauses")
    if not run.as_json and out != "-":
        for name in ("strengths_", "choices_"):
            tried = getattr(estimator, name, None)
            if tried is not None and len(tried) > 1:
                print()
                run.show(tried, title="values that were tried")
        print()
        run.show(milestones(estimator.iterations_), title="iterations")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in estimator.seconds_.items())
    weighted = int((estimator.weights_ != 0).sum())
    run.message(f"{len(clauses):,} clauses, {weighted:,} with a weight other than 0; {seconds}")
    finish(run, training, out)


def fitted_learner(training: object) -> Any:
    """Return the learner of weights, which chosen hard clauses may be around."""
    found: Any = getattr(training, "learner_", training)
    return found


def finish(run: Session, training: OnlineEstimator | BatchEstimator | ConstrainedTraining, out: str | None) -> None:
    """Show what hard clauses cost, where training asked for it, and save the model."""
    costs = getattr(training, "costs_", None)
    if costs is not None and not run.as_json and out != "-":
        print("\nwhat the hard clauses cost: training enforces the inexpensive ones")
        print(costs)
    save(run, training.model_, out)


def check_out(out: str | None, as_json: bool) -> None:
    """Refuse an output that cannot be written before anything is learned.

    Raises
    ------
    typer.BadParameter
    """
    if out is None:
        return
    if out == "-":
        if as_json:
            raise typer.BadParameter("--out - and --json cannot both have standard output")
        return
    path = Path(out)
    if path.suffix not in (".mln", ".json"):
        raise typer.BadParameter(f"--out {out}: the name must end in .mln or .json")
    if path.is_dir():
        raise typer.BadParameter(f"--out {out} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"--out {out}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"--out {out} cannot be written: name a file elsewhere")


def told(task: Progress) -> OnWindow:
    """Return what shows the progress of a learner."""

    def show(progress: Learned) -> None:
        """Move the bar after a window."""
        right = f", {100 * (1 - progress.loss / progress.atoms):.2f} % of its atoms right" if progress.atoms else ""
        task.advance(0, note=f"window {progress.window} of {progress.windows}, {progress.clauses:,} clauses{right}")

    return show


def report(run: Session, fit: OnlineEstimator, out: str | None) -> None:
    """Show what was learned."""
    clauses, added = fit.clauses(), fit.added() if hasattr(fit, "added") else None
    if out != "-":
        run.show(
            clauses if added is None or not run.as_json else with_causes(clauses, added), title="strongest clauses"
        )
    if not run.as_json and out != "-" and added is not None:
        print()
        run.show(added.drop_columns(["id"]), title="clauses that were added, and the wrong atom that caused each")
    if not run.as_json and out != "-":
        print()
        run.show(progressive(fit.steps_), title="progressive validation: each example predicted before it was learned")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    new = "" if added is None else f", {len(added):,} of them new"
    run.message(f"{fit.n_steps_:,} examples, {len(clauses):,} clauses{new}; {seconds}")


def save(run: Session, model: Model, out: str | None) -> None:
    """Write a learned model to a file, or to standard output."""
    if out == "-":
        print(model_text(model), end="")
    elif out is not None:
        from sqlrl.logic.saving import save_model

        save_model(model, out)
        run.message(f"the model is in {out}")


def with_causes(clauses: pa.Table, added: pa.Table) -> pa.Table:
    """Return clauses with what caused those that were added.

    Parameters
    ----------
    clauses : pyarrow.Table
        `OnlineEstimator.clauses()`.
    added : pyarrow.Table
        `OSL.added()`.

    Returns
    -------
    pyarrow.Table
        The clauses in their order, with `step`, `example`, `wrong_atom` and `first_delta_n`, NULL for those of the model.

    Examples
    --------
    >>> import pyarrow as pa
    >>> added = pa.table({"id": [7], "step": [2], "example": ["d3"], "wrong_atom": ["P(a)"], "delta_n": [1]})
    >>> with_causes(pa.table({"clause": ["P(x)", "Q(x)"], "id": [3, 7]}), added).column("step").to_pylist()
    [None, 2]
    """
    import pyarrow as pa

    causes = {row["id"]: row for row in added.to_pylist()}
    names = {"step": "step", "example": "example", "wrong_atom": "wrong_atom", "first_delta_n": "delta_n"}
    found = [causes.get(key, {}) for key in clauses.column("id").to_pylist()]
    for name, source in names.items():
        kind = added.schema.field(source).type
        clauses = clauses.append_column(name, pa.array([row.get(source) for row in found], kind))
    return clauses


def progressive(steps: pa.Table, parts: int = 5) -> pa.Table:
    """Sum up progressive validation over equal parts of the stream.

    Parameters
    ----------
    steps : pyarrow.Table
        `OnlineEstimator.steps_`.
    parts : int

    Returns
    -------
    pyarrow.Table
        Columns `steps` (from - to, counted from 1), `wrong_per_example` (atoms), `accuracy` (of atoms), `all_right` (share of
        the examples).

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = progressive(pa.table({"loss": [4, 2, 0, 0], "atoms": [10, 10, 10, 10]}), parts=2).to_pylist()
    >>> [(row["steps"], row["wrong_per_example"], row["accuracy"], row["all_right"]) for row in rows]
    [('1-2', 3.0, 0.7, 0.0), ('3-4', 0.0, 1.0, 1.0)]
    """
    import numpy as np
    import pyarrow as pa

    loss, atoms = (steps.column(name).to_numpy() for name in ("loss", "atoms"))
    bounds = np.unique(np.linspace(0, len(loss), parts + 1).round().astype(int))
    found = []
    for start, end in pairwise(bounds.tolist()):
        wrong, size = loss[start:end], int(atoms[start:end].sum())
        found.append(
            {
                "steps": f"{start + 1}-{end}",
                "wrong_per_example": round(float(wrong.mean()), 2),
                "accuracy": round(1 - float(wrong.sum()) / size, 4) if size else None,
                "all_right": round(float((wrong == 0).mean()), 4),
            }
        )
    return pa.Table.from_pylist(found)


def milestones(iterations: pa.Table, parts: int = 5) -> pa.Table:
    """Return some iterations, the first and the last among them, with the columns that the learner has.

    Parameters
    ----------
    iterations : pyarrow.Table
        `BatchEstimator.iterations_`.
    parts : int
        How many rows at most.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"iteration": range(9), "bound": pa.nulls(9)})
    >>> milestones(table, parts=3).to_pylist()
    [{'iteration': 0}, {'iteration': 4}, {'iteration': 8}]
    """
    import numpy as np

    size = len(iterations)
    known = [name for name in iterations.column_names if iterations.column(name).null_count < size]
    rows = np.unique(np.linspace(0, max(size - 1, 0), min(parts, size)).round().astype(int))
    return iterations.select(known).take(rows)


def model_text(model: Model) -> str:
    """Return a model as the text of an `.mln` file."""
    from tempfile import TemporaryDirectory

    from sqlrl.logic.saving import save_model

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.mln"
        save_model(model, path)
        return path.read_text(encoding="utf-8")
