"""`sqlrl learn --learner ilp`: clauses from bottom clauses, with weights by `--then`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sqlrl.cli.inputs import ModelInputs, chosen_examples, read_model
from sqlrl.cli.options import Messages, named_database, split_names
from sqlrl.cli.preparation import HoldoutOptions, held_out
from sqlrl.cli.results import relearned, save, show_relearned
from sqlrl.cli.session import CommandSession, session
from sqlrl.wording import counted

if TYPE_CHECKING:
    import sqlrl
    from sqlrl.logic.model import Model


def induce(
    inputs: ModelInputs,
    given: dict[str, Any],
    saving: dict[str, Any],
    output: Messages,
    *,
    examples: str | None,
    out: str | None,
    held: HoldoutOptions,
) -> None:
    """Learn clauses with `sqlrl.ILP(**given)`, save the model, and print the theory, or as JSON all clauses that were found."""
    import sqlrl

    if held.share is not None and given.get("then") is None:
        raise typer.BadParameter(
            "--holdout is an option of learners of weights: ilp alone learns clauses, which predict nothing; add --then likelihood"
        )
    if inputs.evidence or inputs.drop:
        what = "--evidence" if inputs.evidence else "--drop"
        raise typer.BadParameter(
            f"{what} does not go with --learner ilp, which learns from a database: load data first"
        )
    with session(output) as run:
        if "bias" in given:
            # A file may have modes of several heads.
            named = [] if inputs.model else split_names(inputs.query)
            given["bias"] = sqlrl.read_bias(given["bias"], target=named[0] if len(named) == 1 else None)
        target = _target(inputs, given.get("bias"))
        estimator = sqlrl.ILP(**given)
        path = named_database(inputs.database, inputs.db)
        with run.database(path, inputs) as db:
            predicate = target if isinstance(target, str) else next(iter(target.query), None)
            with held_out(
                db,
                run,
                held,
                seed=estimator.get_params().get("random_state") or 0,
                targets=[predicate] if predicate else [],
                model=None if isinstance(target, str) else target,
                examples=chosen_examples(examples),
                roles=None,
            ) as part:
                estimator.fit(db, target, examples=part.examples, **saving)
                save(run, estimator.model_, out)
                _report(run, estimator, out)
                part.score(estimator.model_)


def _target(inputs: ModelInputs, bias: sqlrl.Bias | None) -> Model | str:
    """Return what is to be learned: a model, or a predicate."""
    if inputs.model:
        return read_model(inputs.model, inputs.query, trusted=not inputs.untrusted)
    named = split_names(inputs.query)
    if len(named) > 1:
        raise typer.BadParameter(f"--query names {len(named)} predicates: --learner ilp learns one")
    if named:
        return named[0]
    if bias is None:
        raise typer.BadParameter(
            "--learner ilp needs to know what to learn: --bias FILE with a modeh, --query NAME, or --model FILE"
        )
    return bias.head.predicate


def _report(run: CommandSession, fit: sqlrl.ILP, out: str | None) -> None:
    """Show what was found."""
    if out != "-":
        run.show(fit.clauses().to_arrow() if run.as_json else fit.theory_, title="theory")
        if not run.as_json and relearned(fit) is not None:
            print()
            run.show(fit.clauses().to_arrow(), title="strongest clauses")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    found = f"{counted(len(fit.candidates_), 'clause')}, {len(fit.theory_):,} in the theory"
    cut = f" ({fit.n_cut_:,} stopped by --nodes {fit.parameters_.nodes:,})" if fit.n_cut_ else ""
    searched = f"{counted(fit.n_seeds_, 'seed')}{cut}, {counted(fit.n_nodes_, 'clause')} scored"
    run.message(f"{searched}, {found}; {seconds}")
    show_relearned(run, fit, out)
