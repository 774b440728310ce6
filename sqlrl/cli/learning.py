"""How weights and clauses are learned: the learners and their options."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sqlrl.cli.batching import Batch, without_prior
from sqlrl.cli.choices import Constraints, Counts, Inference, LabelLoss, Learner, Order, Ties, Truth, Update
from sqlrl.cli.options import FLAG, GROUNDING_LIMIT

if TYPE_CHECKING:
    from sqlrl.database.constrained_training import ConstrainedTraining
    from sqlrl.learn import OnlineEstimator
    from sqlrl.learn.batch.estimator import BatchEstimator

_LEARNER, _OSL, _RUN = "Learner", "Clauses (--learner osl)", "Run"


ESTIMATORS = {
    Learner.adagrad: "AdaGrad",
    Learner.cda: "CDA",
    Learner.mira: "MIRA",
    Learner.subgradient: "Subgradient",
    Learner.perceptron: "Perceptron",
    Learner.cd: "ContrastiveDivergence",
    Learner.osl: "OSL",
    Learner.likelihood: "Likelihood",
    Learner.pscg: "PSCG",
    Learner.voted_perceptron: "VotedPerceptron",
    Learner.max_margin: "MaxMargin",
    Learner.ilp: "ILP",
}
"""The estimator of `sqlrl` that each learner is."""

OWN = {
    "regularization": ("--lambda", (Learner.adagrad, Learner.osl)),
    "learning_rate": ("--eta", (Learner.adagrad, Learner.cd, Learner.osl, Learner.voted_perceptron)),
    "delta": ("--delta", (Learner.adagrad, Learner.osl)),
    "sigma": ("--sigma", (Learner.cda, Learner.subgradient)),
    "update": ("--update", (Learner.cda, Learner.subgradient)),
    "label_loss": ("--label-loss", (Learner.cda, Learner.mira)),
    "counts": ("--counts", (Learner.cd,)),
    "sweeps": ("--sweeps", (Learner.cd,)),
    "modes": ("--modes", (Learner.osl,)),
    "max_length": ("--max-length", (Learner.osl,)),
    "min_count_difference": ("--min-count-difference", (Learner.osl,)),
    "pool": ("--pool", (Learner.osl,)),
    "longest_only": ("--longest-only", (Learner.osl,)),
    "look_ahead": ("--look-ahead", (Learner.osl,)),
    "penalty": ("--penalty", (Learner.likelihood, Learner.max_margin)),
    "strength": ("--strength", (Learner.likelihood,)),
    "folds": ("--folds", (Learner.likelihood, Learner.max_margin)),
    "price": ("--C", (Learner.max_margin,)),
    "loss": ("--loss", (Learner.max_margin,)),
    "separation": ("--separation", (Learner.max_margin,)),
    "epsilon": ("--epsilon", (Learner.max_margin,)),
    "tolerance": ("--tolerance", (Learner.likelihood, Learner.pscg)),
    "max_iterations": ("--max-iterations", (Learner.likelihood, Learner.max_margin)),
    "iterations": ("--iterations", (Learner.pscg, Learner.voted_perceptron)),
    "samples": ("--samples", (Learner.pscg,)),
    "moments": ("--moments", (Learner.pscg,)),
    "prior_deviation": ("--prior-deviation", (Learner.pscg, Learner.voted_perceptron)),
}
"""Parameters that some learners have: the option, and whose it is."""

BATCH = (Learner.likelihood, Learner.pscg, Learner.voted_perceptron, Learner.max_margin)
"""Learners that see all training examples at once."""

ONLINE = {
    "window": "--window",
    "passes": "--passes",
    "order": "--order",
    "history": "--history",
    "checkpoint": "--checkpoint",
    "resume": "--resume",
    "inference": "--inference",
    "ties": "--ties",
    "last": "--last",
}
"""Parameters that only online learners have, all of them; voted-perceptron has the last three too."""


def _option(name: str, words: str, *, metavar: str | None = None, default: str = "", panel: str = _LEARNER) -> Any:
    return typer.Option(name, metavar=metavar, help=words, show_default=default or False, rich_help_panel=panel)


Name = Annotated[
    Learner,
    typer.Option(
        "--learner",
        help="Online: adagrad: ADAGRAD_FB; cda: coordinate dual ascent; mira: 1-best MIRA; subgradient; perceptron; cd: contrastive "
        "divergence; osl: clauses and their weights. Batch: likelihood: exact, for clauses with one open literal; pscg: scaled "
        "conjugate gradient; voted-perceptron; max-margin: structural SVM. ilp: clauses without weights, from bottom clauses.",
        rich_help_panel=_LEARNER,
    ),
]
Regularization = Annotated[
    float | None, _option("--lambda", "adagrad, osl: weight of the L1 penalty.", metavar="X", default="0.001")
]
Rate = Annotated[
    float | None,
    _option(
        "--eta",
        "adagrad, osl, cd, voted-perceptron: learning rate.",
        metavar="X",
        default="1, of cd 0.1, of voted-perceptron 0.001",
    ),
]
Delta = Annotated[
    float | None, _option("--delta", "adagrad, osl: added to the root of the summed squares.", metavar="X", default="1")
]
Sigma = Annotated[
    float | None,
    _option("--sigma", "cda, subgradient: weight of the regulariser.", metavar="X", default="0.0001"),
]
UpdateBy = Annotated[
    Update | None,
    _option("--update", "cda, subgradient: learn from the maximal loss label or the prediction.", default="maximal"),
]
Loss = Annotated[
    LabelLoss | None,
    _option("--label-loss", "cda, mira: wrong atoms, or 1 - F1 (cda: with --update prediction).", default="hamming"),
]
CountsBy = Annotated[
    Counts | None, _option("--counts", "cd: of a sampled or the most probable world.", default="gibbs")
]
Sweeps = Annotated[int | None, _option("--sweeps", "cd: sweeps of sampling in each step.", metavar="N", default="1")]
Modes = Annotated[
    Path | None,
    _option(
        "--modes",
        "File of mode declarations: which atoms paths join, which constants clauses keep.",
        metavar="FILE",
        panel=_OSL,
    ),
]
MaxLength = Annotated[
    int | None, _option("--max-length", "The most atoms of a path.", metavar="N", default="4", panel=_OSL)
]
MinCountDifference = Annotated[
    int | None,
    _option(
        "--min-count-difference", "The least delta n of a clause that is added.", metavar="N", default="1", panel=_OSL
    ),
]
Pool = Annotated[
    int | None,
    _option("--pool", "Examples whose candidates are counted together.", metavar="N", default="1", panel=_OSL),
]
LongestOnly = Annotated[
    bool,
    typer.Option(
        "--longest-only", metavar=FLAG, help="No sub-clauses of longer clauses of the same step.", rich_help_panel=_OSL
    ),
]
LookAhead = Annotated[
    bool,
    typer.Option(
        "--look-ahead",
        metavar=FLAG,
        help="Follow no path that cannot suffice any more; the same clauses.",
        rich_help_panel=_OSL,
    ),
]
InferenceBy = Annotated[
    Inference,
    typer.Option("--inference", help="Worlds are exact, or the linear relaxation rounded.", rich_help_panel=_LEARNER),
]
TiesBy = Annotated[
    Ties,
    typer.Option(
        "--ties",
        help="Of several most probable worlds: the one with most errors, or the first.",
        rich_help_panel=_LEARNER,
    ),
]
Last = Annotated[
    bool,
    typer.Option("--last", metavar=FLAG, help="The last weights in place of their averages.", rich_help_panel=_LEARNER),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window",
        metavar="N",
        help="Examples that are grounded together; by default 512, more where they are small and fewer where they are large.",
        rich_help_panel=_RUN,
    ),
]
Passes = Annotated[int, typer.Option("--passes", metavar="N", help="Passes over the examples.", rich_help_panel=_RUN)]
InOrder = Annotated[Order, typer.Option("--order", help="Order of the examples.", rich_help_panel=_RUN)]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of order and sampling.", rich_help_panel=_RUN)]
History = Annotated[
    bool | None,
    typer.Option(
        "--history/--no-history",
        metavar=FLAG,
        help="Keep every step's weights in the database; by default only osl does.",
        rich_help_panel=_RUN,
    ),
]
Limit = Annotated[
    int | None,
    _option(
        "--limit",
        "The most ground clauses of one shape; of ilp the most bindings kept of components of bodies.",
        metavar="N",
        default=f"{GROUNDING_LIMIT}, of ilp 10000000",
        panel=_RUN,
    ),
]
OnTruth = Annotated[
    Truth,
    typer.Option("--on-infeasible-truth", help="For examples whose labels violate hard clauses.", rich_help_panel=_RUN),
]
Constrained = Annotated[
    Constraints | None,
    typer.Option(
        "--constraints",
        help="Which hard clauses training enforces, and prediction: none, none; l+i: none, all; ibt: all, all; ibt-approx: all, on "
        "rounded relaxations, all; sct: the inexpensive ones, all; sct-: the inexpensive ones, these. All in both if it is not given.",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
Checkpoint = Annotated[
    bool,
    typer.Option(
        "--checkpoint",
        metavar=FLAG,
        help="Save the run after each window, so that it can be resumed.",
        rich_help_panel=_RUN,
    ),
]
Resume = Annotated[
    int | None,
    _option("--resume", "Go on with a run that was saved; with the same options.", metavar="RUN", panel=_RUN),
]


@dataclass(frozen=True)
class Learning:
    """How weights and clauses are learned; see the estimators of `sqlrl`."""

    learner: Name = Learner.adagrad
    regularization: Regularization = None
    learning_rate: Rate = None
    delta: Delta = None
    sigma: Sigma = None
    update: UpdateBy = None
    label_loss: Loss = None
    counts: CountsBy = None
    sweeps: Sweeps = None
    modes: Modes = None
    max_length: MaxLength = None
    min_count_difference: MinCountDifference = None
    pool: Pool = None
    longest_only: LongestOnly = False
    look_ahead: LookAhead = False
    inference: InferenceBy = Inference.exact
    ties: TiesBy = Ties.errors
    last: Last = False
    window: Window = None
    passes: Passes = 1
    order: InOrder = Order.file
    seed: Seed = 0
    history: History = None
    on_infeasible_truth: OnTruth = Truth.warn
    constraints: Constrained = None
    checkpoint: Checkpoint = False
    resume: Resume = None
    limit: Limit = None

    def estimator(self, batch: Batch | None = None) -> OnlineEstimator | BatchEstimator:
        """Return the learner, which has learned nothing yet.

        Parameters
        ----------
        batch : Batch, optional
            The options of batch learners; by default none was given.

        Raises
        ------
        typer.BadParameter
            An option is of another learner, osl has no modes, or labels would be held out with nothing to choose.
        """
        import sqlrl

        if self.learner is Learner.osl and self.modes is None:
            raise typer.BadParameter(
                "--learner osl needs --modes FILE: mode declarations such as modeP(2, Token(#-,+,.)), which say how "
                "clauses are found"
            )
        own = self._own(batch or Batch())
        if self.learner is Learner.likelihood and "folds" in own and not isinstance(own.get("strength"), list):
            # The library's likelihood has a number of folds without being given one, and cannot tell.
            raise typer.BadParameter(
                "--folds says how labels are held out to choose a strength, and there is only one: give several, such as "
                "--strength 0.1,1,10, or leave --folds out"
            )
        common: dict[str, Any] = {
            "random_state": self.seed,
            "on_infeasible_truth": self.on_infeasible_truth.value,
        }
        common |= self._batch() if self.learner in BATCH else self._online()
        make = getattr(sqlrl, ESTIMATORS[self.learner])
        estimator: OnlineEstimator | BatchEstimator = make(**own, **common)
        return estimator

    def fitting(self) -> dict[str, Any]:
        """Return the options of `fit` that all learners of weights have, as far as they were given."""
        return {} if self.limit is None else {"limit": self.limit}

    def constrained(self, estimator: OnlineEstimator | BatchEstimator) -> ConstrainedTraining | None:
        """Return the training of a learner under chosen hard clauses, None if none were chosen."""
        import sqlrl

        return None if self.constraints is None else sqlrl.ConstrainedTraining(estimator, self.constraints.value)

    def _own(self, batch: Batch) -> dict[str, object]:
        """Return the parameters that only some learners have, as far as they were given."""
        own: dict[str, object] = {}
        for name, (option, learners) in OWN.items():
            value = getattr(self, name) if hasattr(self, name) else batch.given(name)
            # A flag that is not given is False, anything else None.
            if value is None or value is False:
                continue
            if self.learner not in learners:
                *others, last = learners
                whose = f"{', '.join(others)} and {last}" if others else last
                raise typer.BadParameter(
                    f"{option} is an option of {whose}: {self.learner} has no such number or choice"
                )
            own["C" if name == "price" else name] = value.value if isinstance(value, StrEnum) else value
        if without_prior(own.get("prior_deviation")):
            own["prior_deviation"] = None
        return own

    def check_ilp(self, batch: Batch) -> None:
        """Refuse what ilp does not have; of the options of online learners it has the order and the seed.

        Raises
        ------
        typer.BadParameter
        """
        self._own(batch)
        if self.constraints is not None:
            raise typer.BadParameter("--constraints is an option of learners of weights: ilp learns clauses alone")
        for name, option in ONLINE.items():
            if name != "order" and getattr(self, name) != getattr(Learning, name):
                raise typer.BadParameter(f"{option} is an option of online learners: ilp searches from atom to atom")

    def _online(self) -> dict[str, object]:
        """Return what all online learners are told."""
        return {
            "window": self.window,
            "passes": self.passes,
            "order": self.order.value,
            "average": not self.last,
            "ties": self.ties.value,
            "inference": self.inference.value,
            **({} if self.history is None else {"record_history": self.history}),
        }

    def _batch(self) -> dict[str, object]:
        """Return what batch learners are told of the options of online ones, and refuse those that they do not have."""
        voted = self.learner is Learner.voted_perceptron
        for name, option in ONLINE.items():
            if getattr(self, name) != getattr(Learning, name) and not (voted and name in ("inference", "ties", "last")):
                raise typer.BadParameter(
                    f"{option} is an option of online learners: {self.learner} sees all examples at once"
                )
        if not voted:
            return {}
        return {"average": not self.last, "ties": self.ties.value, "inference": self.inference.value}
