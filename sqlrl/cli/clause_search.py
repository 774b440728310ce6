"""`sqlrl learn --learner msl`, `transfer` and `ilp`: clauses about all predicates or about one, and their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sqlrl.cli.inputs import ModelInputs, check_standard_input, chosen_examples, read_model
from sqlrl.cli.options import Messages, named_database, split_names
from sqlrl.cli.preparation import HoldoutOptions, held_out
from sqlrl.cli.results import relearned, save, show_relearned
from sqlrl.cli.session import CommandSession, session
from sqlrl.wording import counted

if TYPE_CHECKING:
    import sqlrl
    from sqlrl.logic.model import Model
    from sqlrl.report import Table


def search(
    inputs: ModelInputs,
    estimator: sqlrl.MSL,
    fitting: dict[str, Any],
    output: Messages,
    *,
    examples: str | None,
    out: str | None,
) -> None:
    """Find clauses, save the model and print it; without a model, clauses may have all predicates of the database."""
    if inputs.model:
        with inputs.open(output, examples=examples, labels=True, reads=False, rules=False) as job:
            estimator.fit(job.db, job.model, examples=job.examples, **fitting)
            _report(job.run, estimator, out)
        return
    for option, given in (("--evidence", inputs.evidence), ("--query", inputs.query), ("--drop", inputs.drop)):
        if given:
            raise typer.BadParameter(
                f"{option} needs --model FILE, which declares predicates: without one --learner msl takes all that the database has"
            )
    with session(output) as run:
        path = named_database(inputs.database, inputs.db)
        with run.database(path, inputs, reads=False) as db:
            estimator.fit(db, None, examples=chosen_examples(examples), **fitting)
            _report(run, estimator, out)


def transfer(
    inputs: ModelInputs,
    estimator: sqlrl.Transfer,
    fitting: dict[str, Any],
    output: Messages,
    *,
    examples: str | None,
    out: str | None,
) -> None:
    """Carry a model over to the database and revise it; save it, and print it with the diagnosis and the dropped rules."""
    if not inputs.model:
        raise typer.BadParameter("--model FILE is missing: it is what is carried over")
    # The predicates of the model are those of another domain, so that it is not checked against the data before it is mapped.
    given = {
        "--evidence": inputs.evidence, "--query": inputs.query, "--drop": inputs.drop, "--closed": inputs.closed, "--open": inputs.opened
    }  # fmt: skip
    for option, value in given.items():
        if value:
            raise typer.BadParameter(
                f"{option} does not go with --learner transfer, whose model is of other predicates than the data: load data into a DATABASE first, and leave "
                "predicates out in --mapping"
            )
    check_standard_input(model=[inputs.model], examples=[examples or ""])
    with session(output) as run:
        model = read_model(inputs.model, None, trusted=not inputs.untrusted)
        with run.database(named_database(inputs.database, inputs.db), inputs, reads=False) as db:
            estimator.fit(db, model, examples=chosen_examples(examples), **fitting)
            _report(run, estimator, out)
            if not run.as_json and out != "-":
                for title, table in (
                    ("diagnosis", marked(estimator.diagnosis_)),
                    ("rules left out", estimator.dropped_),
                ):
                    if len(table):
                        print()
                        run.show(table.to_arrow(), title=title)


def marked(found: sqlrl.Diagnosis) -> Table:
    """Return the rows of a diagnosis for which rules are marked."""
    import pyarrow.compute as pc

    from sqlrl.report import Table

    rows = found.found.to_arrow()
    return Table(rows.filter(pc.or_(rows.column("too_general"), rows.column("too_specific"))))


def _report(run: CommandSession, fit: sqlrl.MSL | sqlrl.Transfer, out: str | None) -> None:
    """Save what was found, and show it."""
    save(run, fit.model_, out)
    if out != "-":
        run.show(fit.clauses().to_arrow(), title="strongest clauses")
    if not run.as_json and out != "-":
        print()
        run.show(fit.added_.to_arrow(), title="clauses that were found, in order")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    found = f"{counted(fit.candidates_, 'candidate')} by {counted(fit.n_statements_, 'statement')}"
    run.message(f"{found}, {counted(len(fit.added_), 'clause')} found; {seconds}")
    show_relearned(run, fit, out)


# ---- ilp --------------------------------------------------------------------------------------------


def induce(
    inputs: ModelInputs,
    given: dict[str, Any],
    fitting: dict[str, Any],
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
                estimator.fit(db, target, examples=part.examples, **fitting)
                save(run, estimator.model_, out)
                _report_theory(run, estimator, out)
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


def _report_theory(run: CommandSession, fit: sqlrl.ILP, out: str | None) -> None:
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
