"""`sqlrl learn` of programs of probabilistic soft logic: weights of their rules, or rules about a target and their weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

import sqlrl
from sqlrl.cli.inputs import chosen_examples
from sqlrl.cli.learning import MissingInTraining, Training
from sqlrl.cli.options import Messages, split_names
from sqlrl.cli.queries import asked_names
from sqlrl.cli.results import show_batch
from sqlrl.cli.session import STANDARD_INPUT, read_input, session

if TYPE_CHECKING:
    from sqlrl.ground.limits import MissingAtoms
    from sqlrl.learn.soft.estimator import SoftEstimator
    from sqlrl.logic.psl import SoftModel


def learn_program(
    inputs: Training,
    learner: SoftEstimator | sqlrl.SoftStructure,
    fitting: dict[str, Any],
    output: Messages,
    *,
    data: Path | None,
    examples: str | None,
    out: str | None,
) -> None:
    """Learn from a database or, without one, from the data that the program names; save the model and print the result."""
    _refuse(inputs)
    if inputs.model == "-" and data is not None:
        raise typer.BadParameter("--data belongs to a rule file: name that with --model, in place of standard input")
    structure = isinstance(learner, sqlrl.SoftStructure)
    if data is not None and not inputs.model:
        raise typer.BadParameter("--data belongs to a rule file: name that with --model")
    if structure and inputs.drop:
        raise typer.BadParameter(
            "--drop is about rules, and soft-structure walks over all that is loaded: leave the predicate out of the DATABASE"
        )
    query = list(asked_names(inputs.query))
    if not inputs.model and not (structure and len(query) == 1):
        either = ", or --query NAME, the predicate that rules are about" if structure else ""
        raise typer.BadParameter(f"--model FILE is missing: it names the program{either}")
    if not inputs.model and inputs.named is None:
        raise typer.BadParameter("name the database: without --model FILE nothing says where other data are")
    # SQLRL_DB may be set for other commands; data that are named are not learned from in its place.
    path = inputs.named if data is None else inputs.typed
    if path is None and ("checkpoint" in fitting or "resume" in fitting):
        raise typer.BadParameter(
            "--checkpoint and --resume need a DATABASE, which keeps the run: name one, it may be new"
        )
    with session(output) as run:
        model = _program(inputs, data, query) if inputs.model else None
        if model is not None and structure and query:
            model = replace(model, query=frozenset(query))
        named = model is not None and bool(model.partitions)
        opened = run.database(
            path,
            inputs,
            create=named,
        )
        with opened as db:
            filled = path is not None and bool(db.advanced.catalog.store.sources())
            if filled and data is not None:
                raise typer.BadParameter(
                    f"{path} has data, from which is learned: leave out --data, or name a new DATABASE, or none"
                )
            if filled and named:
                run.message(f"learned from the data of {path}; those that {inputs.model} names are not read")
            if model is not None and not filled and (named or path is None):
                folder = Path(inputs.model).parent if inputs.untrusted and inputs.model != "-" else None
                from sqlrl.cli.roles import soft_roles
                from sqlrl.database.soft_data import SoftData

                with run.working("loading data"):
                    db.load(SoftData(model, split="learn", folder=folder))
                run.message(soft_roles(model, query))
            target: Any = query[0] if model is None else model
            missing = cast("MissingAtoms", (inputs.missing or MissingInTraining.error).value)
            learner.fit(db, target, examples=chosen_examples(examples), missing=missing, **fitting)
        show_batch(run, learner, out)


def _refuse(inputs: Training) -> None:
    """Refuse options that a program has not, with a typer.BadParameter."""
    wrong = {"--evidence": inputs.evidence, "--closed": inputs.closed, "--open": inputs.opened}
    for option in (name for name, value in wrong.items() if value):
        raise typer.BadParameter(
            f"{option} is an option of Markov logic networks: a program says itself which predicates are open, and its data are in a DATABASE "
            "or where it says"
        )
    if inputs.missing is MissingInTraining.allow:
        raise typer.BadParameter(
            "--missing allow is about constants of Markov logic networks: of a program, whose rules may reach atoms that no list has, it is error, "
            "open or false"
        )


def _program(inputs: Training, data: Path | None, query: list[str]) -> SoftModel:
    """Read the program, without what `--drop` names."""
    if inputs.model == "-":
        model = sqlrl.parse_psl(read_input(), path=STANDARD_INPUT, query=query, trusted=not inputs.untrusted)
    else:
        model = sqlrl.read_psl(inputs.model, data=data, query=query, task="learn", trusted=not inputs.untrusted)
    return model.without(split_names(inputs.drop))
