"""`sqlrl learn --learner msl` and `--learner transfer`: clauses about all predicates and their weights, with a model to begin with or without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from sqlrl.cli.inputs import ModelInputs, check_standard_input, chosen_examples, read_model
from sqlrl.cli.options import Messages, named_database
from sqlrl.cli.results import save, show_relearned
from sqlrl.cli.session import CommandSession, session
from sqlrl.wording import counted

if TYPE_CHECKING:
    import sqlrl
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
