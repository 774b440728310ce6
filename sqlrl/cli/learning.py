"""The help of `sqlrl learn`: the learners by their words, and the options that matter most, without a learner being loaded.

A learner takes seconds to load, with the compiler of its inner loops and the solvers. What every learner has of options is in
`sqlrl.cli.learners`, which `--help-all` shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, get_args

import typer

from sqlrl.cli.inputs import ModelInputs
from sqlrl.cli.options import DATA, FLAG, Examples, Summary, grouped, unfinished_runs
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.learn.parameters import Option
from sqlrl.learn.settings import RUN, Passes, Seed

LEARNER = "Learner"

ONLINE: Mapping[str, str] = {
    "adagrad": "ADAGRAD_FB", "cd": "contrastive divergence", "cda": "coordinate dual ascent", "mira": "1-best MIRA",
    "osl": "clauses and their weights", "perceptron": "", "subgradient": "",
}  # fmt: skip
"""Online learners by what the command line calls them, and what they are, in a phrase, if the word does not say it."""

BATCHES: Mapping[str, str] = {
    "likelihood": "exact, also of joint models that are narrow", "max-margin": "structural SVM", "pscg": "scaled conjugate gradient",
    "voted-perceptron": "",
}  # fmt: skip
"""Batch learners of weights of what is predicted."""

GENERATIVE: Mapping[str, str] = {"pseudo-likelihood": "generative: the atoms of every predicate given all others"}
"""Batch learners of weights that need no predicate to predict."""

CLAUSES: Mapping[str, str] = {"ilp": "clauses without weights, from bottom clauses"}
"""Learners of clauses alone."""

SEARCHES: Mapping[str, str] = {
    "msl": "clauses about all predicates, and their weights, by beam search",
    "transfer": "a model of another domain, revised where it is wrong",
}
"""Learners of clauses and weights that have no targets."""

STREAMED: Mapping[str, str] = {"resolwe": "clauses from templates, and their weights, from a stream"}
"""Learners that choose structure from a stream and hand the rest of it to an online learner."""


SOFT: Mapping[str, str] = {
    "soft-pseudo-likelihood": "", "soft-piecewise-likelihood": "rule by rule", "soft-map-likelihood": "by most probable truths",
    "soft-structure": "rules of paths, and their weights",
}  # fmt: skip
"""Learners of programs of probabilistic soft logic."""

FOR_PROGRAMS, PROGRAMS = "soft-pseudo-likelihood", (".psl", ".yaml", ".yml")
"""The learner of a program of soft logic if none is named, and how files end that are nothing else."""


def summaries(learners: Mapping[str, str]) -> str:
    """Return learners with what they are."""
    return "; ".join(f"{word}: {summary}" if summary else word for word, summary in learners.items())


Name = StrEnum("Name", {word: word for word in (*ONLINE, *BATCHES, *GENERATIVE, *CLAUSES, *SEARCHES, *STREAMED, *SOFT)})  # type: ignore[misc]
"""The learners to choose from."""

ByName = Annotated[
    Name | None,
    typer.Option(
        "--learner",
        show_default=f"by the data: adagrad, likelihood or pscg; of a .psl file {FOR_PROGRAMS}",
        help=f"Online: {summaries(ONLINE)}. Batch: {summaries(BATCHES | GENERATIVE)}. {summaries(CLAUSES | SEARCHES | STREAMED)}. "
        f"Of programs of soft logic: {summaries(SOFT)}.",
        rich_help_panel=LEARNER,
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where the learned model goes, .mln or .json, of soft logic .psl or .json; - is standard output.",
        show_default=False,
    ),
]
ModelIfNeeded = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="FILE",
        help="The model, .mln or .json, or a program of soft logic, .psl, .json or .yaml; - is standard input. Only --learner ilp, "
        "msl and soft-structure can do without.",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        help="The most ground clauses of one shape; of ilp the most bindings kept of components of bodies.",
        show_default=f"{GROUNDING_LIMIT}, of ilp 10000000",
        rich_help_panel=RUN,
    ),
]
Checkpoint = Annotated[
    bool,
    typer.Option(
        "--checkpoint",
        metavar=FLAG,
        help="Save the run after each step (a window, an iteration, a seed or a clause), so that it can be resumed.",
        rich_help_panel=RUN,
    ),
]
Resume = Annotated[
    int | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        autocompletion=unfinished_runs,
        help="Go on with a run that was saved; with the same options.",
        show_default=False,
        rich_help_panel=RUN,
    ),
]
Holdout = Annotated[
    float | None,
    typer.Option(
        "--holdout",
        metavar="SHARE",
        help="Hold out this share, such as 0.2, of the examples, or of the query atoms where all data are one example; learn from the "
        "rest, predict what was held out, and say how well. --random-state chooses.",
        show_default=False,
        rich_help_panel=RUN,
    ),
]


Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="FILE",
        help="A model, .mln or .json, from whose weights those of the same clauses start; others start at 0.",
        show_default=False,
        rich_help_panel=RUN,
    ),
]


def _declared(name: str, parameter: object, default: str) -> Any:
    """Return the option of typer for a parameter that all online learners declare, which here is only shown."""
    option = next(each for each in get_args(parameter) if isinstance(each, Option))
    return typer.Option(name, metavar="N", help=option.sentence, show_default=default, rich_help_panel=option.panel)


InPasses = Annotated[int, _declared("--passes", Passes, "1; without --learner by the data")]
FromSeed = Annotated[int, _declared("--random-state", Seed, "0")]
AllOptions = Annotated[
    bool, typer.Option("--help-all", metavar=FLAG, help="Show the options of every learner.", show_default=False)
]


class MissingInTraining(StrEnum):
    """What constants of a network's rules are that the data lack, and atoms that a program's rules reach and no list has."""

    allow = "allow"
    error = "error"
    open = "open"
    false = "false"


InMissing = Annotated[
    MissingInTraining | None,
    typer.Option(
        "--missing",
        help="Constants of a network's rules that the data lack: allow (further ones of their types, the default) or error. Atoms that a program of "
        "soft logic reaches and no list has: error (the default), open (inferred as well) or false.",
        rich_help_panel=DATA,
    ),
]


@dataclass(frozen=True)
class Training(ModelInputs):
    """The options that name a model and data; a learner of clauses may start without a model."""

    model: ModelIfNeeded = ""
    missing: InMissing = None  # type: ignore[assignment]


@dataclass(frozen=True)
class RunOptions:
    """How a run goes, whatever the learner is."""

    checkpoint: Checkpoint = False
    resume: Resume = None
    limit: Limit = None
    holdout: Holdout = None
    start: Start = None


@grouped
def learn(
    inputs: Training,
    *,
    learner: ByName = None,
    passes: InPasses = 1,
    seed: FromSeed = 0,
    running: RunOptions,
    output: Summary,
    examples: Examples = None,
    out: Out = None,
    help_all: AllOptions = False,
) -> None:
    """Learn the weights of a model, and new clauses with --learner osl or another that finds them.

    Prints the strongest clauses, those that were added and why, and how well each example was predicted before it was learned, or how a
    batch learner went on. Without --learner the data choose one: Likelihood wherever elimination can sum over what the
    rules join, however many examples there are; elsewhere AdaGrad in as many passes as make 1,000 steps, or PSCG below ten examples.

    Clauses alone, for a learner of weights to start from: --learner ilp, which prints the theory. Clauses about all predicates, none of
    which is a target: msl. A model of another domain, carried over: transfer. Clauses chosen among those of templates: resolwe, which
    prints what was kept and what was dropped, and why. With --then another learner learns the weights of clauses that were found again.

    Of a program of probabilistic soft logic the weights, or with --learner soft-structure rules about --query; without a DATABASE, or in a
    new one, from the data that the program names.

    sqlrl learn cite.duckdb --model lc0.mln --query InField --out learned.mln

    sqlrl learn cite.duckdb --model lc0.mln --query InField --learner osl --modes modes.txt --out learned.mln

    sqlrl learn cite.duckdb --model lc0.mln --query InField --learner osl --modes modes.txt --then 'max-margin(strength=10)' --out learned.mln

    sqlrl learn drugs.duckdb --model clauses.mln --query LessToxic --learner likelihood --strength 0.1,1,10 --out learned.mln

    sqlrl learn drugs.duckdb --learner ilp --bias toxic.modes --keep-above 0.6 --out clauses.mln

    sqlrl learn university.duckdb --learner msl --max-literals 4 --out learned.mln

    sqlrl learn imdb.duckdb --model university.mln --learner transfer --mapping university_to_imdb.map --out learned.mln

    sqlrl learn friends.duckdb --model friends.mln --learner resolwe --templates friends.grammar --out learned.mln

    sqlrl learn friends.duckdb --model friends.mln --learner pseudo-likelihood --out learned.mln

    sqlrl learn people.duckdb --model knows.psl --learner soft-map-likelihood --out learned.psl

    sqlrl learn runs.duckdb --model friends.mln --learner resolwe --templates friends.grammar --graph graph.duckdb --stream friends.sql
    """
