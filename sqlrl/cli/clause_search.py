"""`sqlrl learn --learner msl`: clauses about all predicates and their weights, with a model to begin with or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sqlrl.cli.inputs import Inputs, chosen_examples
from sqlrl.cli.options import Messages, named_database
from sqlrl.cli.results import save
from sqlrl.cli.session import Session, session
from sqlrl.wording import counted

if TYPE_CHECKING:
    import sqlrl


def search(
    inputs: Inputs,
    estimator: sqlrl.MSL,
    fitting: dict[str, Any],
    output: Messages,
    *,
    examples: str | None,
    out: str | None,
) -> None:
    """Find clauses, save the model, and show it with the clauses that were found.

    Without a model the predicates are those of the database; typer.BadParameter if there is evidence, which needs one to be read.
    """
    if inputs.model:
        with inputs.open(output, examples=examples, labels=True, reads=False, rules=False) as job:
            estimator.fit(job.db, job.model, job.examples, **fitting)
            _report(job.run, estimator, out)
        return
    for option, given in (("--evidence", inputs.evidence), ("--query", inputs.query), ("--drop", inputs.drop)):
        if given:
            raise typer.BadParameter(
                f"{option} needs --model FILE, which declares predicates: without one --learner msl takes all that the database has"
            )
    with session(output) as run:
        path = named_database(inputs.database, inputs.db)
        opening = run.database(
            path,
            reads=False,
            trusted=not inputs.untrusted,
            atom_limit=inputs.atom_limit,
            memory_limit=inputs.memory_limit,
        )
        with opening as db:
            estimator.fit(db, None, chosen_examples(examples), **fitting)
            _report(run, estimator, out)


def _report(run: Session, fit: sqlrl.MSL, out: str | None) -> None:
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
