"""What `sqlrl learn` shows when it has learned, and where the model goes: before anything is shown, since a pipe may be closed."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlrl.cli.session import CommandSession, write_file
from sqlrl.wording import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlrl.database.constrained_training import ConstrainedTraining
    from sqlrl.learn import BatchEstimator, OnlineEstimator
    from sqlrl.learn.soft.estimator import SoftEstimator
    from sqlrl.logic.model import Model
    from sqlrl.logic.psl import SoftModel
    from sqlrl.structure.resolwe.estimator import Resolwe
    from sqlrl.structure.soft.estimator import SoftStructure

    Batch = BatchEstimator[Any] | ConstrainedTraining | SoftEstimator | SoftStructure


def show_online(run: CommandSession, training: OnlineEstimator | ConstrainedTraining, out: str | None) -> None:
    """Save what an online learner learned, and show it."""
    save(run, training.model_, out)
    fit: OnlineEstimator = fitted_learner(training)
    clauses, added = fit.clauses().to_arrow(), fit.added().to_arrow() if hasattr(fit, "added") else None
    again = relearned(fit)
    if out != "-":
        # Learned again they have other ids.
        by = "id" if again is None else "clause"
        run.show(
            clauses if added is None or not run.as_json else with_causes(clauses, added, by=by),
            title="strongest clauses",
        )
    if not run.as_json and out != "-" and added is not None:
        print()
        run.show(added.drop_columns(["id"]), title="clauses that were added, and the wrong atom that caused each")
    if not run.as_json and out != "-":
        print()
        run.show(progressive(fit.steps_), title="progressive validation: each example predicted before it was learned")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    new = "" if added is None else f", {len(added):,} of them new"
    found = len(clauses) if again is None else len(fit.last_weights_)
    run.message(f"{fit.n_steps_:,} examples, {found:,} clauses{new}; {seconds}")
    show_relearned(run, fit, out)
    show_costs(run, training, out)


def show_batch(run: CommandSession, training: Batch, out: str | None) -> None:
    """Save what a batch learner learned, and show it."""
    save(run, training.model_, out)
    estimator: BatchEstimator[Any] = fitted_learner(training)
    clauses = estimator.clauses().to_arrow()
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
    run.message(f"{len(clauses):,} clauses, {weighted:,} with a weight other than 0; {seconds}{_reached(estimator)}")
    show_costs(run, training, out)


def _reached(fit: Any) -> str:
    """Say how the likelihood was computed: exact, or not everywhere; nothing of other learners."""
    reached = getattr(fit, "reached_", None)
    return "" if reached is None else f"; likelihood by {reached.words(fit.wide)}"


def show_structure(run: CommandSession, fit: Resolwe, out: str | None) -> None:
    """Save what was chosen and learned, and show it with what was dropped."""
    save(run, fit.model_, out)
    found = fit.formulations_.to_arrow()
    clauses = fit.clauses().to_arrow()
    if out != "-":
        run.show(found if run.as_json else clauses, title="strongest clauses")
    if not run.as_json and out != "-":
        print()
        shown = ["formula", "support", "probability", "kept", "reason"]
        best = found.sort_by([("kept", "descending"), ("bound", "descending"), ("candidate", "ascending")])
        run.show(best.select(shown), title="formulations")
        if fit.half_life is not None:
            print()
            shown = ["step", "subgraphs", "event", "formula", "probability", "reason"]
            run.show(fit.rule_log_.to_arrow().select(shown), title="rules that came and went")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    kept = sum(found.column("kept").to_pylist())
    run.message(
        f"{kept:,} of {len(found):,} formulations of {len(fit.candidates_):,} candidates kept, counted by {fit.n_statements_:,} queries; "
        f"{seconds}"
    )
    show_relearned(run, fit, out)


def relearned(fit: object) -> Any:
    """Return the learner that learned the weights of found clauses again, None if none did."""
    return getattr(fit, "relearned_", None)


def show_relearned(run: CommandSession, fit: object, out: str | None) -> None:
    """Show how the weights of found clauses were learned again, if they were."""
    again = relearned(fit)
    if again is None:
        return
    iterations = getattr(again, "iterations_", None)
    if not run.as_json and out != "-" and iterations is not None:
        print()
        run.show(milestones(iterations), title="iterations that learned the weights again")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in again.seconds_.items())
    left = counted(len(again.clauses()), "clause")
    run.message(f"weights learned again by {again.word}, run {again.run_}: {left}; {seconds}{_reached(again)}")


def fitted_learner(training: object) -> Any:
    """Return the learner of weights, which chosen hard clauses may be around."""
    found: Any = getattr(training, "learner_", training)
    return found


def show_costs(run: CommandSession, training: OnlineEstimator | Batch, out: str | None) -> None:
    """Show what hard clauses cost, where training asked for it."""
    costs = getattr(training, "costs_", None)
    if costs is not None and not run.as_json and out != "-":
        print("\nwhat the hard clauses cost: training enforces the inexpensive ones")
        print(costs)


def save(run: CommandSession, model: Model | SoftModel, out: str | None) -> None:
    """Write a learned model to a file, or to standard output."""
    if out == "-":
        write_file(model_text(model))
    elif out is not None:
        from sqlrl.logic.saving import save_model

        save_model(model, out)
        run.message(f"the model is in {out}")


def with_causes(clauses: pa.Table, added: pa.Table, *, by: str = "id") -> pa.Table:
    """Append what caused the `added` clauses, matched by id or, if ids differ, by text (`by="clause"`); NULL for those of the model."""
    import pyarrow as pa

    causes = {row[by]: row for row in added.to_pylist()}
    names = {"step": "step", "example": "example", "wrong_atom": "wrong_atom", "first_delta_n": "delta_n"}
    found = [causes.get(key, {}) for key in clauses.column(by).to_pylist()]
    for name, source in names.items():
        kind = added.schema.field(source).type
        clauses = clauses.append_column(name, pa.array([row.get(source) for row in found], kind))
    return clauses


def progressive(steps: pa.Table, parts: int = 5) -> pa.Table:
    """Return progressive validation, `OnlineEstimator.steps_`, summed up over equal parts of the stream, with a row for each part."""
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
    """Return at most `parts` rows of `BatchEstimator.iterations_`, the first and the last among them, without columns of NULL alone."""
    import numpy as np

    size = len(iterations)
    known = [name for name in iterations.column_names if iterations.column(name).null_count < size]
    rows = np.unique(np.linspace(0, max(size - 1, 0), min(parts, size)).round().astype(int))
    return iterations.select(known).take(rows)


def model_text(model: Model | SoftModel) -> str:
    """Return a model as the text of an `.mln` file, or of a `.psl` file."""
    from tempfile import TemporaryDirectory

    from sqlrl.logic.saving import SOFT, save_model

    with TemporaryDirectory() as folder:
        path = Path(folder) / ("model.psl" if model.semantics == SOFT else "model.mln")
        save_model(model, path)
        return path.read_text(encoding="utf-8")
