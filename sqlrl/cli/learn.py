"""`sqlrl learn`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sqlrl.cli.grouping import grouped
from sqlrl.cli.inputs import Inputs, Missing
from sqlrl.cli.options import FLAG, Examples, Output
from sqlrl.cli.session import Session

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
        "--out",
        "-o",
        metavar="FILE",
        help="Where the learned model goes, .mln or .json; - is standard output.",
        show_default=False,
    ),
]
Name = Annotated[Learner, typer.Option("--learner", help="adagrad: ADAGRAD_FB, online.", rich_help_panel=_LEARNER)]
Regularization = Annotated[
    float, typer.Option("--lambda", metavar="X", help="Weight of the L1 penalty.", rich_help_panel=_LEARNER)
]
Rate = Annotated[float, typer.Option("--eta", metavar="X", help="Learning rate.", rich_help_panel=_LEARNER)]
Delta = Annotated[
    float,
    typer.Option("--delta", metavar="X", help="Added to the root of the summed squares.", rich_help_panel=_LEARNER),
]
Window = Annotated[
    int, typer.Option("--window", metavar="N", help="Examples that are grounded together.", rich_help_panel=_LEARNER)
]
Passes = Annotated[
    int, typer.Option("--passes", metavar="N", help="Passes over the examples.", rich_help_panel=_LEARNER)
]
InOrder = Annotated[Order, typer.Option("--order", help="Order of the examples.", rich_help_panel=_LEARNER)]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the order.", rich_help_panel=_LEARNER)]
History = Annotated[
    bool,
    typer.Option(
        "--history", metavar=FLAG, help="Keep every step's weights in the database.", rich_help_panel=_LEARNER
    ),
]
OnTruth = Annotated[
    Truth,
    typer.Option(
        "--on-infeasible-truth", help="For examples whose labels violate hard clauses.", rich_help_panel=_LEARNER
    ),
]


@dataclass(frozen=True)
class Learning:
    """How weights are learned; see `sqlrl.AdaGrad`."""

    learner: Name = Learner.adagrad
    regularization: Regularization = 0.001
    rate: Rate = 1.0
    delta: Delta = 1.0
    window: Window = 512
    passes: Passes = 1
    order: InOrder = Order.file
    seed: Seed = 0
    history: History = False
    on_infeasible_truth: OnTruth = Truth.warn

    def estimator(self) -> AdaGrad:
        """Return the learner, which has learned nothing yet."""
        from sqlrl.learn import AdaGrad

        assert self.learner is Learner.adagrad
        return AdaGrad(
            self.regularization,
            self.rate,
            self.delta,
            window=self.window,
            passes=self.passes,
            order=self.order.value,
            random_state=self.seed,
            record_history=self.history,
            on_infeasible_truth=self.on_infeasible_truth.value,
        )


_FEW = Output(rows=10)


@grouped
def learn(
    inputs: Inputs, learning: Learning, output: Output = _FEW, examples: Examples = None, out: Out = None
) -> None:
    """Learn the weights of a model; prints the strongest clauses and how well each example was predicted before it was learned.

    sqlrl learn cite.duckdb --model lc0.mln --query InField --out learned.mln
    """
    check_out(out, output.as_json)
    if inputs.missing is Missing.allow:
        raise typer.BadParameter(
            "--missing allow is for a learned model on other data; to learn, load data with every constant"
        )
    with inputs.open(output, examples=examples, labels=True) as job:
        estimator = learning.estimator()
        with job.run.console.progress("learning") as task:
            estimator.fit(job.db, job.model, job.examples, on_window=told(task))
        report(job.run, estimator, out)


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

    def show(progress: object) -> None:
        """Move the bar after a window."""
        from sqlrl.learn.protocols import Progress as Learned

        assert isinstance(progress, Learned)
        right = f", {100 * (1 - progress.loss / progress.atoms):.2f} % of its atoms right" if progress.atoms else ""
        task.advance(0, note=f"window {progress.window} of {progress.windows}, {progress.clauses:,} clauses{right}")

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


def model_text(model: Model) -> str:
    """Return a model as the text of an `.mln` file."""
    from tempfile import TemporaryDirectory

    from sqlrl.logic.saving import save_model

    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.mln"
        save_model(model, path)
        return path.read_text(encoding="utf-8")
