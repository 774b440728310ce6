"""AdaGrad, the online learner of weights, as an estimator over a database."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InfeasibleTruthWarning, InputError, NotFittedError, warn
from sqlrl.ground.network import FloatArray
from sqlrl.learn.labels import InfeasibleTruth, Names
from sqlrl.learn.learner import STEP_SCHEMA, AdaGradLearner, WindowReport
from sqlrl.learn.parameters import AdaGradParameters, OnInfeasibleTruth, Ties, check_integer
from sqlrl.learn.protocols import OnWindow, Order, Progress, TrainingDatabase, TrainingRecord, TrainingStream

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window
    from sqlrl.logic.model import Model


LEARNED = (
    "model_",
    "weights_",
    "last_weights_",
    "n_steps_",
    "steps_",
    "support_",
    "infeasible_",
    "seconds_",
)
STRONGEST = 10
"""How many clauses a notebook shows."""

PARAMETERS = (
    "regularization",
    "learning_rate",
    "delta",
    "window",
    "passes",
    "order",
    "random_state",
    "average",
    "loss",
    "loss_augmented",
    "ties",
    "on_infeasible_truth",
    "record_history",
    "keep_steps",
)


class AdaGrad:
    """Learns the weights of a model online with ADAGRAD_FB (Huynh and Mooney 2011, section 3.2).

    Each example in turn is predicted with the weights so far; the weights then move towards the counts of the labels
    and away from those of the prediction, every clause at its own pace, and an L1 penalty draws weights to 0.

    Parameters
    ----------
    regularization : float
        Lambda, the weight of the L1 penalty.
    learning_rate : float
        Eta.
    delta : float
        Added to the root of each clause's summed squares.
    window : int
        Examples that are grounded together. It costs memory and saves time; every example is still a step of its own.
    passes : int
        Passes over the examples.
    order : {"file", "shuffle"}
        Order of first appearance in the data, or a random order, another one in each pass.
    random_state : int, optional
        Seed of the order and of CP-SAT; None is 0, so that a run can always be repeated.
    average : bool
        Use the mean of the weights after each step, not the last weights.
    loss : {"hamming"}
        The loss that is recorded: atoms predicted wrongly.
    loss_augmented : bool
        Learn from the world that is most probable when each wrong atom adds 1, instead of the most probable one.
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from: the one farthest from the labels, so that a tie counts as an
        error, or the solver's own. The source leaves it open; at first, with all weights 0, all worlds tie.
    on_infeasible_truth : {"warn", "skip", "error"}
        What to do with examples whose labels violate hard clauses: learn from them (weighted clauses only), pass over
        them, or raise an error. The first two end with an `InfeasibleTruthWarning` with a count for each clause.
    record_history : bool
        Store every delta n and weight that a step changed in the database.
    keep_steps : bool
        Keep the progressive validation of every step.

    Attributes
    ----------
    model_ : Model
        The model with its weights.
    weights_, last_weights_ : float array, shape (m,)
        The chosen weights and those after the last step (log-odds), by clause id; 0 for hard clauses.
    n_steps_ : int
        Number of steps.
    steps_ : pyarrow.Table
        Progressive validation, one row for each step; see `WindowReport.steps`. Empty without `keep_steps`.
    support_ : pyarrow.Table
        How often each clause mattered; see `AdaGradLearner.support`.
    infeasible_ : InfeasibleTruth
        Hard clauses that labels violate.
    seconds_ : dict of str to float
        Wall time of `grounding` and `learning`.

    Notes
    -----
    All weights start at 0, also those of rules to which the model gives a weight.

    Examples
    --------
    >>> AdaGrad(regularization=0.01)
    AdaGrad(regularization=0.01)
    """

    model_: Model
    weights_: FloatArray
    last_weights_: FloatArray
    n_steps_: int
    steps_: pa.Table
    support_: pa.Table
    infeasible_: InfeasibleTruth
    seconds_: dict[str, float]

    def __init__(
        self,
        regularization: float = 0.001,
        learning_rate: float = 1.0,
        delta: float = 1.0,
        *,
        window: int = 512,
        passes: int = 1,
        order: Order = "file",
        random_state: int | None = None,
        average: bool = True,
        loss: str = "hamming",
        loss_augmented: bool = False,
        ties: Ties = "errors",
        on_infeasible_truth: OnInfeasibleTruth = "warn",
        record_history: bool = False,
        keep_steps: bool = True,
    ) -> None:
        self.regularization, self.learning_rate, self.delta = regularization, learning_rate, delta
        self.window, self.passes, self.order, self.random_state = window, passes, order, random_state
        self.average, self.loss, self.loss_augmented, self.ties = average, loss, loss_augmented, ties
        self.on_infeasible_truth, self.record_history, self.keep_steps = on_infeasible_truth, record_history, keep_steps

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        defaults = AdaGrad().get_params()
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        call = f"AdaGrad({', '.join(given)})"
        return "\n".join([call, *(f"  {name:<12}{value}" for name, value in self._facts())])

    def _repr_html_(self) -> str:
        call, *_ = repr(self).split("\n")
        if not self._facts():
            return markup.preformatted(call)
        found = self.clauses().slice(0, STRONGEST).to_pylist()
        weight = ["hard" if row["hard"] else f"{row['weight']:.6g}" for row in found]
        rows = [[row["clause"], w, str(row["support"])] for row, w in zip(found, weight, strict=True)]
        strongest = markup.table(
            ["clause", "weight", "support"], rows, [False, True, True], caption="strongest clauses"
        )
        return markup.preformatted(call) + markup.pairs(self._facts()) + strongest

    def _facts(self) -> list[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        if "model_" not in vars(self):
            return []
        weighted = int((self.weights_ != 0).sum())
        facts = [("steps", f"{self.n_steps_:,}"), ("clauses", f"{weighted:,} with a weight other than 0")]
        if self.steps_.num_rows:
            wrong, atoms = (sum(self.steps_.column(name).to_pylist()) for name in ("loss", "atoms"))
            facts.append(
                ("validation", f"{wrong:,.0f} of {atoms:,} atoms wrong, each example predicted before it was learned")
            )
        return [*facts, ("seconds", ", ".join(f"{stage} {s:.3f}" for stage, s in self.seconds_.items()))]

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that are not there.
        if name == "model":  # its property has no `model_`
            name = "model_"
        if name in LEARNED:
            raise NotFittedError(f"this AdaGrad has no {name} yet: call fit(db, model) first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def get_params(self) -> dict[str, object]:
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def _checked(self) -> AdaGradParameters:
        check_integer("window", self.window, 1)
        check_integer("passes", self.passes, 1)
        if self.order not in ("file", "shuffle"):
            raise InputError(f"order={self.order!r}: choose 'file' or 'shuffle'")
        if self.random_state is not None:
            check_integer("random_state", self.random_state, 0, 2**31 - 1)
        if self.loss != "hamming":
            raise InputError(f"loss={self.loss!r} is not known: the only loss of this learner is 'hamming'")
        for name in ("average", "loss_augmented", "record_history", "keep_steps"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}={getattr(self, name)!r}: give True or False")
        return AdaGradParameters(
            self.regularization,
            self.learning_rate,
            self.delta,
            self.loss_augmented,
            self.ties,
            self.on_infeasible_truth,
            self.record_history,
            self.random_state or 0,
        )

    def fit(
        self, db: TrainingDatabase, model: Model, examples: object = None, *, on_window: OnWindow | None = None
    ) -> Self:
        r"""Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data, with labels for all query atoms of the examples.
        model : Model
            Its rules; templates grow clauses as examples show new constants.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        on_window : callable, optional
            Called with a `Progress` after each window.

        Returns
        -------
        AdaGrad
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no examples, atoms have no label, or labels violate hard clauses and
            `on_infeasible_truth` is "error".
        InfeasibleError
            The hard clauses of an example cannot all hold.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)")
        >>> fit = AdaGrad().fit(db, model)
        >>> sorted(zip(fit.clauses()["clause"].to_pylist(), fit.clauses()["support"].to_pylist()))
        [('Liked(d)', 2), ('Word(d, "bad") => Liked(d)', 1), ('Word(d, "good") => Liked(d)', 1)]
        """
        parameters = self._checked()
        started = datetime.now(UTC)
        windows = db.training_windows(
            model, examples=examples, size=self.window, order=self.order, seed=parameters.seed, passes=self.passes
        )
        with windows as stream:
            stream.begin(type(self).__name__, self.get_params(), parameters.seed)
            learner = AdaGradLearner(parameters, names=Names(stream.clause_text, stream.example_name))
            run = _Run(learner, stream, on_window, keep_steps=self.keep_steps)
            run.learn()
            if learner.steps == 0:
                raise InputError(_nothing(learner))
            last = learner.weights
            weights = learner.averaged_weights() if self.average else last
            support, steps = learner.support(), pa.concat_tables([STEP_SCHEMA.empty_table(), *run.steps])
            record = TrainingRecord(
                type(self).__name__, self.get_params(), parameters.seed, started, run.seconds, steps, support
            )
            learned = db.learned_model(stream.program, weights, record)
            program = stream.program
            if len(learner.infeasible.clause):
                skipped = parameters.on_infeasible_truth == "skip"
                warn(learner.infeasible.warning(learner.names, skipped=skipped), InfeasibleTruthWarning)
        self.model_, self.weights_, self.last_weights_, self.n_steps_ = learned, weights, last, learner.steps
        self.steps_, self.support_, self.seconds_ = steps, support, run.seconds
        self.infeasible_ = learner.infeasible
        self._clauses: Callable[[], pa.Table] = lambda: db.program_clauses(program, weights, support)
        return self

    @property
    def model(self) -> Model:
        """The learned model; the same as `model_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return self.model_

    def clauses(self) -> pa.Table:
        """Return the clauses with weight and support, the strongest first.

        Returns
        -------
        pyarrow.Table
            `clause` (text), `weight` (log-odds, NULL if hard), `hard`, `support`, `updates`, `delta_n`, `id`; see
            `AdaGradLearner.support`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        if "model_" not in vars(self):
            raise NotFittedError("this AdaGrad has no clauses yet: call fit(db, model) first")
        return self._clauses()


def _nothing(learner: AdaGradLearner) -> str:
    if len(learner.infeasible.clause):
        return (
            "no example is left to learn from: the labels of all of them violate hard clauses; use "
            "on_infeasible_truth='warn' to learn from them all the same"
        )
    return "there are no examples to learn from: check examples= and that the target predicate has atoms"


@dataclass
class _Run:
    # The loop over the windows of one fit.

    learner: AdaGradLearner
    stream: TrainingStream
    on_window: OnWindow | None
    keep_steps: bool
    steps: list[pa.Table] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"grounding": 0.0, "learning": 0.0})

    def learn(self) -> None:
        sink = self.stream.history() if self.learner.parameters.record_history else None
        for number, window in enumerate(self._grounded(), 1):
            report = self.learner.learn_window(window)
            self.seconds["learning"] += report.seconds
            if self.keep_steps:
                self.steps.append(report.steps)
            if sink is not None:
                sink.write(report.changes)
            if self.on_window is not None:
                self.on_window(self._progress(number, report))

    def _grounded(self) -> Iterator[Window]:
        windows = iter(self.stream)
        while True:
            start = time.perf_counter()
            window = next(windows, None)
            self.seconds["grounding"] += time.perf_counter() - start
            if window is None:
                return
            yield window

    def _progress(self, number: int, report: WindowReport) -> Progress:
        rows = report.steps
        wrong, atoms = (int(sum(rows[name].to_pylist())) for name in ("loss", "atoms"))
        return Progress(
            window=number,
            windows=len(self.stream),
            steps=self.learner.steps,
            clauses=self.learner.support().num_rows,
            loss=wrong,
            atoms=atoms,
            seconds_grounding=self.seconds["grounding"],
            seconds_learning=self.seconds["learning"],
        )
