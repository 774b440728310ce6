"""`sqlrl learn`."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.inputs import check_inputs, chosen_examples, open_data, read_model
from sqlrl.cli.options import Database, Db, Evidence, Examples, Json, ModelFile, Query, Quiet, Rows, Verbose
from sqlrl.cli.session import Session, session

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.learn import AdaGrad
    from sqlrl.learn.protocols import OnWindow
    from sqlrl.logic import Model
    from sqlrl.report.console import Progress

_LEARNER = "Learner"


class Learner(StrEnum):
    """Learners of weights."""

    adagrad = "adagrad"


class Order(StrEnum):
    """Orders of the examples."""

    file = "file"
    shuffle = "shuffle"


class Truth(StrEnum):
    """What to do with examples whose labels violate hard clauses."""

    warn = "warn"
    skip = "skip"
    error = "error"


Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Where the learned model goes, .mln or .json; - is standard output."
    ),
]
Name = Annotated[Learner, typer.Option("--learner", help="adagrad: ADAGRAD_FB, online.", rich_help_panel=_LEARNER)]
Regularization = Annotated[float, typer.Option("--lambda", help="Weight of the L1 penalty.", rich_help_panel=_LEARNER)]
Rate = Annotated[float, typer.Option("--eta", help="Learning rate.", rich_help_panel=_LEARNER)]
Delta = Annotated[
    float, typer.Option("--delta", help="Added to the root of the summed squares.", rich_help_panel=_LEARNER)
]
Window = Annotated[int, typer.Option("--window", help="Examples that are grounded together.", rich_help_panel=_LEARNER)]
Passes = Annotated[int, typer.Option("--passes", help="Passes over the examples.", rich_help_panel=_LEARNER)]
InOrder = Annotated[Order, typer.Option("--order", help="Order of the examples.", rich_help_panel=_LEARNER)]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the order.", rich_help_panel=_LEARNER)]
History = Annotated[
    bool, typer.Option("--history", help="Keep every step's weights in the database.", rich_help_panel=_LEARNER)
]
OnTruth = Annotated[
    Truth,
    typer.Option(
        "--on-infeasible-truth", help="For examples whose labels violate hard clauses.", rich_help_panel=_LEARNER
    ),
]


def learn(
    model: ModelFile,
    database: Database = None,
    db: Db = None,
    evidence: Evidence = None,
    query: Query = None,
    examples: Examples = None,
    out: Out = None,
    learner: Name = Learner.adagrad,
    regularization: Regularization = 0.001,
    rate: Rate = 1.0,
    delta: Delta = 1.0,
    window: Window = 512,
    passes: Passes = 1,
    order: InOrder = Order.file,
    seed: Seed = 0,
    history: History = False,
    on_infeasible_truth: OnTruth = Truth.warn,
    rows: Rows = 10,
    as_json: Json = False,
    verbose: Verbose = 0,
    quiet: Quiet = False,
) -> None:
    """Learn the weights of a model; prints the strongest clauses and how well each example was predicted before it was learned.

    sqlrl learn cite.duckdb --model lc0.mln --query InField --out learned.mln
    """
    check_inputs(model=model, evidence=evidence, examples=examples)
    check_out(out, as_json)
    assert learner is Learner.adagrad
    with session(verbose, quiet, as_json=as_json, rows=rows) as run:
        parsed = read_model(model, query)
        with open_data(run, database, db, evidence, parsed, labels=True) as opened:
            from sqlrl.learn import AdaGrad

            estimator = AdaGrad(
                regularization,
                rate,
                delta,
                window=window,
                passes=passes,
                order=order.value,
                random_state=seed,
                record_history=history,
                on_infeasible_truth=on_infeasible_truth.value,
            )
            with run.console.progress("learning") as task:
                estimator.fit(opened, parsed, chosen_examples(examples), on_window=told(task))
            report(run, estimator, out)


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
    if not path.parent.is_dir():
        raise typer.BadParameter(f"--out {out}: there is no directory {path.parent}")


def told(task: Progress) -> OnWindow:
    """Return what shows the progress of a learner."""

    def show(progress: object) -> None:
        """Move the bar after a window."""
        from sqlrl.learn.protocols import Progress as Learned

        assert isinstance(progress, Learned)
        right = f", {100 * (1 - progress.loss / progress.atoms):.2f} % of its atoms right" if progress.atoms else ""
        task.advance(note=f"window {progress.window} of {progress.windows}, {progress.clauses:,} clauses{right}")

    return show


def report(run: Session, fit: AdaGrad, out: str | None) -> None:
    """Show what was learned, and save the model."""
    clauses = fit.clauses()
    if out != "-":
        run.show(clauses, title="strongest clauses")
    if not run.as_json and out != "-":
        print()
        run.show(progressive(fit.steps_), title="progressive validation: each example predicted before it was learned")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    run.message(f"{fit.n_steps_:,} examples, {len(clauses):,} clauses; {seconds}")
    if out == "-":
        print(model_text(fit.model_), end="")
    elif out is not None:
        from sqlrl.logic.saving import save_model

        save_model(fit.model_, out)
        run.message(f"the model is in {out}")


def progressive(steps: pa.Table, parts: int = 5) -> pa.Table:
    """Sum up progressive validation over equal parts of the stream.

    Parameters
    ----------
    steps : pyarrow.Table
        `AdaGrad.steps_`.
    parts : int

    Returns
    -------
    pyarrow.Table
        Columns `steps` (from - to, counted from 1), `wrong_per_example` (atoms), `accuracy` (of atoms), `all_right` (share of
        the examples).
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


def model_text(model: Model) -> str:
    """Return a model as the text of an `.mln` file."""
    from tempfile import TemporaryDirectory

    from sqlrl.logic.saving import save_model

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.mln"
        save_model(model, path)
        return path.read_text(encoding="utf-8")
