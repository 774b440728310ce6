"""`sqlrl learn`."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

import sqlrl
from sqlrl.cli.clause_search import induce, search, transfer
from sqlrl.cli.inputs import check_standard_input, read_model
from sqlrl.cli.learners import BATCH, LEARNERS, Given, name_parameters, parameters
from sqlrl.cli.learning import (
    BATCHES,
    FOR_PROGRAMS,
    GENERATIVE,
    ONLINE,
    PROGRAMS,
    SEARCHES,
    SOFT,
    STREAMED,
    ByName,
    Name,
    Out,
    RunOptions,
    Training,
)
from sqlrl.cli.options import DataFile, Examples, Summary, grouped
from sqlrl.cli.preparation import HoldoutOptions, held_out
from sqlrl.cli.results import show_batch, show_online, show_structure
from sqlrl.cli.session import warnings_shown
from sqlrl.cli.soft_learning import learn_program
from sqlrl.cli.subgraphs import GraphFile, StreamFile, streamed
from sqlrl.database.learner_choice import WORDS, Word
from sqlrl.learn.parameters import declarations
from sqlrl.learn.settings import RUN
from sqlrl.paths import exists, is_dir
from sqlrl.report import console_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlrl.cli.inputs import Job
    from sqlrl.database.constrained_training import Mode
    from sqlrl.learn import BatchEstimator, OnlineEstimator
    from sqlrl.training.subgraphs import Subgraphs

_mode = declarations(sqlrl.ConstrainedTraining)["mode"]
assert _mode.option is not None
Constraints = StrEnum("Constraints", {word: word for word in _mode.choices})  # type: ignore[misc]
Constrained = Annotated[
    Constraints | None,
    typer.Option(
        _mode.option.name or "--mode",
        help=_mode.option.sentence,
        show_default=False,
        rich_help_panel=_mode.option.panel,
    ),
]
GroupsBy = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="QUERY",
        help="likelihood, ilp: which atoms are held out together, as a query of their arguments and then a group.",
        show_default=False,
        rich_help_panel=BATCH,
    ),
]

HoldoutBy = Annotated[
    str | None,
    typer.Option(
        "--holdout-by",
        metavar="TYPE,...",
        help="No constant of these types is both in what is held out and in what is learned from.",
        show_default=False,
        rich_help_panel=RUN,
    ),
]


@dataclass(frozen=True)
class Running(RunOptions):
    """How a run goes, whatever the learner's parameters are."""

    constraints: Constrained = None
    groups: GroupsBy = None
    holdout_by: HoldoutBy = None
    data: DataFile = None
    stream: StreamFile = None
    graph: GraphFile = None

    def fitting(self) -> dict[str, Any]:
        """Return the options of `fit` that all learners have, as far as they were given."""
        return {**({} if self.limit is None else {"limit": self.limit}), **self.saving()}

    def saving(self) -> dict[str, Any]:
        """Return what is asked of how the run is saved, as options of `fit`."""
        given = {"checkpoint": self.checkpoint or None, "resume": self.resume}
        return {name: value for name, value in given.items() if value is not None}

    def starting(self, *, trusted: bool) -> dict[str, Any]:
        """Return the model to start from as an option of `fit`, if it was given."""
        return {} if self.start is None else {"start": read_model(self.start, trusted=trusted)}

    def refuse(self, word: str) -> None:
        """Refuse what a learner does not have, with a typer.BadParameter."""
        if self.groups is not None and word not in ("likelihood", "ilp"):
            raise typer.BadParameter(
                f"--groups is an option of likelihood and ilp: {word} holds out whole examples, or none"
            )
        if self.holdout is not None and word in SEARCHES:
            raise typer.BadParameter(
                f"--holdout is an option of learners with a target: {word} has none; hold examples out with --examples, and predict them"
            )
        if word in SOFT:
            self._refuse_of_networks(word)
        elif self.data is not None:
            raise typer.BadParameter(
                f"--data is an option of {', '.join(SOFT)}: {word} learns no program of soft logic"
            )
        if self.start is not None and word in ("ilp", "osl", *SEARCHES, *STREAMED):
            raise typer.BadParameter(f"--start is an option of learners of weights: {word} learns clauses")
        if self.constraints is not None and word in ("ilp", *SEARCHES, *STREAMED):
            raise typer.BadParameter(f"--constraints is an option of learners of weights: {word} learns clauses")
        if self.stream is not None and word not in (*ONLINE, *STREAMED):
            raise typer.BadParameter(
                f"--stream is an option of online learners and {', '.join(STREAMED)}: {word} learns from examples that are loaded"
            )
        if self.stream is not None and self.constraints is not None:
            raise typer.BadParameter(
                "--constraints counts ground clauses of examples that are loaded: leave it or --stream out"
            )
        if self.stream is not None and self.holdout is not None:
            raise typer.BadParameter(
                "--holdout is of examples that are loaded: leave centres of --stream out, and load their subgraphs to score them"
            )

    def _refuse_of_networks(self, word: str) -> None:
        """Refuse what only learners of Markov logic networks have, with a typer.BadParameter."""
        remedies = {
            "--holdout": (
                self.holdout,
                "keep labels back in another database, and compare with `sqlrl psl --evaluate`",
            ),
            "--start": (
                self.start,
                "start from the weights of the program itself, in Python: fit(db, model, start=True)",
            ),
            "--constraints": (self.constraints, "hard rules hold, or what is in their way is left out and counted"),
        }
        for option, (given, remedy) in remedies.items():
            if given is not None:
                raise typer.BadParameter(f"{option} is no option of {word}: {remedy}")


@grouped
def learn(
    inputs: Training,
    *,
    learner: ByName = None,
    given: Given,
    running: Running,
    output: Summary,
    examples: Examples = None,
    out: Out = None,
) -> None:
    """Learn the weights of a model, and new clauses with --learner osl, msl or ilp. These are the options of every learner; --help shows those
    that matter most.
    """
    held = HoldoutOptions(running.holdout, running.holdout_by)
    if learner is None and Path(inputs.model).suffix in PROGRAMS:
        learner = Name(FOR_PROGRAMS)
    check_out(out, output.as_json, soft=learner is not None and learner.value in SOFT)
    words: Sequence[str] = _suiting(given, running) if learner is None else [learner.value]
    own = {word: _parameters(word, given, running) for word in words}
    windows = own[words[0]].pop("window", None) if running.stream is not None else None
    stream = streamed(running.stream, running.graph, windows, examples)
    if words[0] in SOFT:
        name_parameters(words)
        with warnings_shown(console_for(quiet=output.quiet)):
            program: Any = LEARNERS[words[0]](**own[words[0]])
        learn_program(inputs, program, running.fitting(), output, data=running.data, examples=examples, out=out)
        return
    if "ilp" in own:
        limited = {} if running.limit is None else {"limit": running.limit}
        fitting = running.saving() | ({} if running.groups is None else {"groups": running.groups})
        induce(inputs, own["ilp"] | limited, fitting, output, examples=examples, out=out, held=held)
        return
    if words[0] in SEARCHES:
        with warnings_shown(console_for(quiet=output.quiet)):
            finder: Any = LEARNERS[words[0]](**own[words[0]])
        find = transfer if words[0] == "transfer" else search
        find(inputs, finder, running.fitting(), output, examples=examples, out=out)
        return
    if not inputs.model:
        raise typer.BadParameter("--model FILE is missing: it names the rules whose weights are learned")
    if inputs.opened:
        raise typer.BadParameter(
            "--open leaves atoms without labels, of which nothing can be learned: load labels, or leave out the rules with --drop"
        )
    if inputs.closed and not inputs.evidence:
        raise typer.BadParameter(
            "--closed is about evidence files; into a database load an empty table: `sqlrl load --empty allow`"
        )
    check_standard_input(model=[inputs.model], stream=[running.stream or ""])
    if inputs.evidence and stream is not None:
        raise typer.BadParameter(
            "--evidence loads examples, and --stream has subgraphs of its own: leave one of them out"
        )
    saving = running.checkpoint or running.resume is not None
    if inputs.evidence and saving:
        raise typer.BadParameter("--checkpoint and --resume need a database file: load the evidence into one first")
    if stream is not None and saving and inputs.named is None:
        raise typer.BadParameter(
            "--checkpoint and --resume need a DATABASE, which keeps the run: name one, it may be new"
        )
    # Learners that find clauses begin with declarations alone, if there is no more.
    rules = not {"osl", *STREAMED}.intersection(words)
    beside = stream is not None and stream.graph is not None
    with inputs.open(output, examples=examples, labels=True, reads=False, rules=rules, beside=beside) as job:
        if stream is not None:
            with stream.open(job, inputs) as subgraphs:
                known: Any = LEARNERS[words[0]](**own[words[0]])
                from_stream = learn_structure if words[0] in STREAMED else learn_online
                from_stream(job, known, running, out, subgraphs)
            return
        seed = own[words[0]].get("random_state") or 0
        with held_out(
            job.db,
            job.run,
            held,
            seed=seed,
            targets=list(job.asked.predicates),
            # Declarations alone do not say what is predicted: what has labels is, then.
            model=job.model if job.model.rules or job.model.query else None,
            examples=job.examples,
            roles=job.roles,
        ) as part:
            rest = replace(job, examples=part.examples)
            training: Any
            if learner is None:
                word, training = _chosen(rest, own)
            else:
                word, training = words[0], LEARNERS[words[0]](**own[words[0]])
            if running.constraints is not None:
                training = sqlrl.ConstrainedTraining(training, cast("Mode", running.constraints.value))
            learn_weights = (
                learn_batch
                if word in {*BATCHES, *GENERATIVE}
                else learn_structure
                if word in STREAMED
                else learn_online
            )
            try:
                learn_weights(rest, training, running, out)
            except KeyboardInterrupt as stop:
                if inputs.evidence:
                    _forget(stop)
                raise
            part.score(training.model_)


def _parameters(word: str, given: Any, running: Running) -> dict[str, Any]:
    """Return the parameters of a learner; typer.BadParameter if an option is not one of its own, or does not go with others."""
    running.refuse(word)
    # As earlier versions kept it with a run, which can be resumed then.
    own: dict[str, Any] = {**({} if word in (*SEARCHES, *SOFT) else {"random_state": 0}), **parameters(word, given)}
    if word == "osl" and given.modes is None:
        raise typer.BadParameter(
            "--learner osl needs --modes FILE: mode declarations such as modeP(2, Token(#-,+,.)), which say how "
            "clauses are found"
        )
    if word == "resolwe" and given.templates is None:
        raise typer.BadParameter(
            "--learner resolwe needs --templates FILE: templates such as NEAR(x, y) ^ Good(x) ^ Good(y), and what their symbols stand for"
        )
    if word == "likelihood" and "folds" in own and not isinstance(own.get("strength"), list):
        # The library's likelihood has a number of folds without being given one, and cannot tell.
        raise typer.BadParameter(
            "--folds says how labels are held out to choose a strength, and there is only one: give several, such as "
            "--strength 0.1,1,10, or leave --folds out"
        )
    return own


def _suiting(given: Any, running: Running) -> list[Word]:
    """Return the learners to choose from that have all options that were given; typer.BadParameter if there are none."""
    found: list[Word] = []
    refused: list[typer.BadParameter] = []
    for word in WORDS:
        try:
            _parameters(word, given, running)
            found.append(word)
        except typer.BadParameter as error:
            refused.append(error)
    if not found and len({error.message for error in refused}) == 1:
        raise refused[0]  # whoever learns, the value is wrong
    if not found:
        raise typer.BadParameter(f"{refused[0].message}; --learner NAME takes another one")
    # Strengths are of another scale for each learner: alone this one says likelihood, as it did when no other one had it.
    return ["likelihood"] if given.strength is not None and "likelihood" in found else found


def _chosen(job: Job, own: Mapping[Any, Mapping[str, Any]]) -> tuple[str, Any]:
    """Choose by the data among learners that have the options that were given, and say which and why."""
    choice = sqlrl.choose_learner(job.db, job.model, job.examples, among=list(own))
    given = own[choice.word]
    chosen = "".join(f" --{name} {value}" for name, value in choice.parameters.items() if name not in given)
    reason = choice.reason if len(own) > 1 else "no other one has the options that were given"
    job.run.message(f"--learner {choice.word}{chosen}, since {reason}")
    return choice.word, choice.estimator(**given)


def learn_online(
    job: Job,
    training: OnlineEstimator | sqlrl.ConstrainedTraining,
    running: Running,
    out: str | None,
    stream: Subgraphs | None = None,
) -> None:
    """Learn from one example or subgraph of a stream after the other, save the model, and show the result."""
    training.fit(
        job.db, job.model, examples=job.examples if stream is None else stream, **running.fitting(),
        **running.starting(trusted=job.db.advanced.engine.trusted),
    )  # fmt: skip
    show_online(job.run, training, out)


def learn_structure(
    job: Job, training: sqlrl.Resolwe, running: Running, out: str | None, stream: Subgraphs | None = None
) -> None:
    """Choose clauses from examples or a stream of subgraphs, learn their weights, save the model, and show the result."""
    training.fit(job.db, job.model, examples=job.examples if stream is None else stream, **running.fitting())
    show_structure(job.run, training, out)


def learn_batch(
    job: Job, training: BatchEstimator[Any] | sqlrl.ConstrainedTraining, running: Running, out: str | None
) -> None:
    """Learn from all examples at once, save the model, and show the result."""
    options = running.fitting() | running.starting(trusted=job.db.advanced.engine.trusted)
    options |= {} if running.groups is None else {"groups": running.groups}
    training.fit(job.db, job.model, examples=job.examples, **options)
    show_batch(job.run, training, out)


def _forget(stop: KeyboardInterrupt) -> None:
    """Say of a run that was stopped that what it had learned is gone, in place of how it is kept."""
    if getattr(stop, "__notes__", None):
        stop.__notes__ = [
            "what it had learned is gone with the evidence, which was loaded into memory: load it into a database file, which keeps the best weights so far"
        ]


def check_out(out: str | None, as_json: bool, *, soft: bool) -> None:
    """Refuse an output that cannot be written before anything is learned, of a program of soft logic or of a network."""
    if out is None:
        return
    if out == "-":
        if as_json:
            raise typer.BadParameter("--out - and --json cannot both have standard output")
        return
    path = Path(out)
    ending = ".psl" if soft else ".mln"
    if path.suffix not in (ending, ".json"):
        raise typer.BadParameter(f"--out {out}: the name must end in {ending} or .json")
    if is_dir(path):
        raise typer.BadParameter(f"--out {out} is a directory: name a file in it")
    if not is_dir(path.parent):
        raise typer.BadParameter(f"--out {out}: there is no directory {path.parent}")
    if not os.access(path if exists(path) else path.parent, os.W_OK):
        raise typer.BadParameter(f"--out {out} cannot be written: name a file elsewhere")
