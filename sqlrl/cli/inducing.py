"""`sqlrl learn --learner ilp`: clauses from bottom clauses, without weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.inputs import Inputs, chosen_examples, read_model
from sqlrl.cli.options import FLAG, Output, named_database, split_names
from sqlrl.cli.session import Session, session
from sqlrl.wording import counted

if TYPE_CHECKING:
    import sqlrl
    from sqlrl.logic import Model
    from sqlrl.report.console import Progress
    from sqlrl.structure.ilp.commands import SeedReport
    from sqlrl.structure.ilp.estimator import OnSeed

_ILP = "Clauses (--learner ilp)"


class Command(StrEnum):
    """Which seeds are searched, and what scores count."""

    induce = "induce"
    induce_cover = "induce_cover"
    induce_max = "induce_max"


class Evaluation(StrEnum):
    """Scores of clauses."""

    coverage = "coverage"
    compression = "compression"
    accuracy = "accuracy"
    laplace = "laplace"
    mestimate = "mestimate"
    auto_m = "auto_m"


class Distinct(StrEnum):
    """What makes two clauses one: that they are the same but for the names of variables, or that they cover the same atoms."""

    clause = "clause"
    coverage = "coverage"


def _option(name: str, words: str, *, metavar: str | None = None, default: str = "") -> Any:
    return typer.Option(name, metavar=metavar, help=words, show_default=default or False, rich_help_panel=_ILP)


BiasFile = Annotated[
    Path | None,
    _option(
        "--bias",
        "Aleph's mode declarations and settings; without it they are derived from types and keys.",
        metavar="FILE",
    ),
]
ByCommand = Annotated[Command | None, _option("--command", "Which seeds and scores.", default="induce_cover")]
Depth = Annotated[
    int | None, _option("--depth", "How far from a seed facts may be (i).", metavar="N", default="the bias', or 2")
]
ClauseLength = Annotated[
    int | None, _option("--clause-length", "The most literals, with the head.", metavar="N", default="the bias', or 5")
]
MinPositive = Annotated[
    int | None,
    _option("--min-positive", "The least positive atoms covered (minpos).", metavar="N", default="the bias', or 2"),
]
Noise = Annotated[
    int | None, _option("--noise", "The most negative atoms covered.", metavar="N", default="the bias', or 300")
]
Nodes = Annotated[
    int | None, _option("--nodes", "The most clauses scored for a seed.", metavar="N", default="the bias', or 5000")
]
ByEvaluation = Annotated[
    Evaluation | None, _option("--evaluation", "The score (evalfn).", default="the bias', or auto_m")
]
M = Annotated[
    str | None,
    _option(
        "--m",
        "mestimate: a number, or `likelihood` for the likeliest one.",
        metavar="X|likelihood",
        default="the bias', or auto_m's",
    ),
]
MinScore = Annotated[
    float | None, _option("--min-score", "The least score in a theory.", metavar="X", default="the bias', or 0.6")
]
MinAccuracy = Annotated[
    float | None,
    _option(
        "--min-accuracy", "The least share of positive atoms covered (minacc).", metavar="X", default="the bias', or 0"
    ),
]
KeepAbove = Annotated[
    float | None,
    _option("--keep-above", "Keep all clauses whose m-estimate exceeds this, not only the theory.", metavar="X"),
]
Explore = Annotated[
    bool,
    typer.Option(
        "--explore", metavar=FLAG, help="Score also clauses that cannot become the best.", rich_help_panel=_ILP
    ),
]
BelowSeed = Annotated[
    bool,
    typer.Option(
        "--below-seed",
        metavar=FLAG,
        help="A theory may have clauses that score no more than the seed's own fact.",
        rich_help_panel=_ILP,
    ),
]
DistinctBy = Annotated[Distinct | None, _option("--distinct", "What makes two clauses one.", default="clause")]
KeepCoverage = Annotated[
    bool,
    typer.Option(
        "--keep-coverage",
        metavar=FLAG,
        help="Keep what all clauses cover in sqlrl.coverage, not only those of the theory.",
        rich_help_panel=_ILP,
    ),
]
BottomLimit = Annotated[
    int | None, _option("--bottom-limit", "The most literals of a bottom clause.", metavar="N", default="2000")
]


@dataclass(frozen=True)
class Inducing:
    """How clauses are induced; see `sqlrl.ILP`."""

    bias: BiasFile = None
    command: ByCommand = None
    depth: Depth = None
    clause_length: ClauseLength = None
    min_positive: MinPositive = None
    noise: Noise = None
    nodes: Nodes = None
    evaluation: ByEvaluation = None
    m: M = None
    min_score: MinScore = None
    min_accuracy: MinAccuracy = None
    keep_above: KeepAbove = None
    explore: Explore = False
    below_seed: BelowSeed = False
    distinct: DistinctBy = None
    keep_coverage: KeepCoverage = False
    bottom_limit: BottomLimit = None

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by their names."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.value if isinstance(value, StrEnum) else value
            for name, value in values.items()
            if value is not None and value is not False
        }

    def parameters(self) -> dict[str, Any]:
        """Return the options that were given as parameters of `sqlrl.ILP`.

        Examples
        --------
        >>> Inducing(m="0.5", below_seed=True).parameters()
        {'m': 0.5, 'above_seed': False}
        """
        found = self.given()
        if "m" in found:
            found["m"] = _number(found["m"])
        if found.pop("below_seed", False):
            found["above_seed"] = False
        return found

    def refuse(self, learner: str) -> None:
        """Refuse the options for another learner.

        Raises
        ------
        typer.BadParameter
        """
        for name in self.given():
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} is an option of ilp: {learner} has no such number or choice"
            )


def induce(
    inputs: Inputs,
    options: Inducing,
    output: Output,
    *,
    examples: str | None,
    out: str | None,
    order: str,
    seed: int,
    limit: int | None,
    save: Callable[[Session, Model, str | None], None],
) -> None:
    """Learn clauses; print the theory, as JSON all clauses that were found, and save the model.

    Parameters
    ----------
    inputs : Inputs
        Perhaps without a model.
    options : Inducing
    output : Output
    examples, out : str or None
        What `--examples` and `--out` say.
    order : {"file", "shuffle"}
    seed : int
    limit : int or None
        The most bindings kept of components of bodies; by default that of `sqlrl.ILP`.
    save : callable
        Writes a model where `--out` says.

    Raises
    ------
    typer.BadParameter
        Evidence in place of a database, or nothing says what is to be learned.
    """
    import sqlrl

    if inputs.evidence or inputs.drop:
        what = "--evidence" if inputs.evidence else "--drop"
        raise typer.BadParameter(
            f"{what} does not go with --learner ilp, which learns from a database: load data first"
        )
    with session(output) as run:
        given = options.parameters() | ({} if limit is None else {"limit": limit})
        if "bias" in given:
            # A file may have modes of several heads.
            named = [] if inputs.model else split_names(inputs.query)
            given["bias"] = sqlrl.read_bias(given["bias"], target=named[0] if len(named) == 1 else None)
        target = _target(inputs, given.get("bias"))
        estimator = sqlrl.ILP(**given, order="shuffle" if order == "shuffle" else "file", random_state=seed)
        path = named_database(inputs.database, inputs.db)
        with run.database(path) as db, run.console.progress("searching") as task:
            estimator.fit(db, target, chosen_examples(examples), on_seed=_shown(task))
        _report(run, estimator, out)
        save(run, estimator.model_, out)


def _number(text: str) -> float | str:
    """Return a number as such; what is none is the library's to refuse."""
    try:
        return float(text)
    except ValueError:
        return text


def _target(inputs: Inputs, bias: sqlrl.Bias | None) -> Model | str:
    """Return what is to be learned: a model, or a predicate."""
    if inputs.model:
        return read_model(inputs.model, inputs.query)
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


def _shown(task: Progress) -> OnSeed:
    """Return what shows the progress of a search."""

    def show(report: SeedReport) -> None:
        """Move the bar after a seed."""
        found = f"{report.theory:,} in the theory, {report.candidates:,} in all"
        task.advance(0, note=f"seed {report.done:,}, {report.left:,} positive atoms left, {found}")

    return show


def _report(run: Session, fit: sqlrl.ILP, out: str | None) -> None:
    """Show what was found."""
    if out != "-":
        run.show(fit.clauses() if run.as_json else fit.theory_, title="theory")
    seconds = ", ".join(f"{name} {value:.2f} s" for name, value in fit.seconds_.items())
    found = f"{counted(len(fit.candidates_), 'clause')}, {len(fit.theory_):,} in the theory"
    cut = f" ({fit.n_cut_:,} stopped by --nodes {fit.parameters_.nodes:,})" if fit.n_cut_ else ""
    searched = f"{counted(fit.n_seeds_, 'seed')}{cut}, {counted(fit.n_nodes_, 'clause')} scored"
    run.message(f"{searched}, {found}; {seconds}")
