"""What the estimators of online learners share: common parameters, `fit` over windows, going on with a stopped run, what they show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self, TypedDict

import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import ConvergenceWarning, InfeasibleTruthWarning, InputError, Parameter, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray
from sqlrl.learn.fitted import WeightLearner
from sqlrl.learn.learner import OnlineLearner, StartWeights, WindowReport
from sqlrl.learn.parameters import (
    Option,
    Whole,
    check_database,
    check_parameters,
    fit_options,
)
from sqlrl.learn.settings import (
    RUN,
    AmongTies,
    Averaged,
    Inference,
    InOrder,
    OnTruth,
    Parameters,
    Passes,
    Seed,
    Update,
)
from sqlrl.learn.start import check_start, recorded_start, start_weights
from sqlrl.training.fit import INTERRUPTED, Fit, SetAttributes, nothing
from sqlrl.training.labels import InfeasibleTruth, Names
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.ordering import Ordering
from sqlrl.training.records import STEP_SCHEMA, TrainingRecord, WindowProgress
from sqlrl.training.stream import TrainingStream
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

_MANY_ATOMS = 100
"""Query atoms from which a single example is a network, which deserves more than a step in a pass."""

Size = Annotated[
    int | None,
    Whole(1),
    Option(
        "examples that are grounded together; by default 512, more where they are small and fewer where they are large",
        panel=RUN,
    ),
]
FoundBy = Annotated[Inference, Option("worlds are exact, or the linear relaxation rounded")]
History = Annotated[
    bool,
    Option(
        "keep every step's weights in the database; by default only osl does", name="--history/--no-history", panel=RUN
    ),
]


# ---- the loop over windows ---------------------------------------------------------------------------


class Learner(Protocol):
    """What the loop asks of a learner; `sqlrl.learn.learner.OnlineLearner` says what each part is."""

    names: Names

    @property
    def parameters(self) -> Parameters:
        """How it learns."""
        ...

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        ...

    @property
    def clauses(self) -> int:
        """Number of clauses so far."""
        ...

    @property
    def weights(self) -> FloatArray:
        """The weights after the last step."""
        ...

    @property
    def infeasible(self) -> InfeasibleTruth:
        """Hard clauses that the labels violate."""
        ...

    def averaged_weights(self) -> FloatArray:
        """Return the mean of the weights."""
        ...

    def support(self) -> pa.Table:
        """Return how often each clause mattered."""
        ...

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything needed to go on later."""
        ...

    def learn_many(self, window: Any) -> WindowReport:
        """Learn from a window of the kind that its stream has."""
        ...


def learn_windows(
    learner: Learner,
    stream: TrainingStream,  # begun or resumed by the fit
    fit: Fit,
    *,
    keep_steps: bool,  # keep progressive validation
) -> int:
    """Learn from all windows that are left, which are the steps of the fit; return how many atoms were predicted in this process."""
    recording, atoms = learner.parameters.record_history, 0
    sink = stream.history() if recording and not fit.saving else None
    # What is stopped in the middle of a window lets go of it before its model is kept.
    with closing(iter(stream)) as windows:
        for window in windows:
            fit.lap("grounding")
            report = learner.learn_many(window)
            fit.lap("learning")
            progress = _progress(learner, stream, fit, report)
            atoms += progress.atoms
            rows = {"step": report.steps if keep_steps else STEP_SCHEMA.empty_table()}
            if sink is not None:
                sink.write(report.changes)
            elif recording:
                rows["weight_history"] = report.changes
            fit.step(
                progress,
                fit.done + 1,
                rows=rows,
                state=learner.state,
                so_far=nothing if learner.steps and (atoms or fit.saved is not None) else None,
            )
    fit.lap("grounding")
    return atoms


def _progress(learner: Learner, stream: TrainingStream, fit: Fit, report: WindowReport) -> WindowProgress:
    rows = report.steps
    wrong, atoms = (int(sum(rows[name].to_pylist())) for name in ("loss", "atoms"))
    return WindowProgress(
        window=fit.done + 1,
        windows=len(stream),
        steps=learner.steps,
        clauses=learner.clauses,
        loss=wrong,
        atoms=atoms,
        seconds_grounding=fit.seconds["grounding"],
        seconds_learning=fit.seconds["learning"],
        run=fit.run,
    )


# ---- estimators --------------------------------------------------------------------------------------


class SameDefaults(TypedDict, total=False):
    """The parameters of all online learners whose default values are the same in all of them; see `OnlineEstimator`."""

    window: Size
    passes: Passes
    order: InOrder
    random_state: Seed
    average: Averaged
    ties: AmongTies
    on_infeasible_truth: OnTruth
    keep_steps: bool
    inference: FoundBy


class OnlineCommon(SameDefaults, total=False):
    """The parameters of all online learners."""

    record_history: History


class OnlineEstimator(WeightLearner):
    """What all online learners of weights have.

    Each example in turn is predicted with the weights so far; the weights then move towards the counts of the labels
    and away from those of another world.

    Parameters
    ----------
    window : int, optional
        Examples that are grounded together. It costs memory and saves time; every example is still a step of its own. By default 512,
        and after the first window up to 8,192 if that one shows that examples are small: a window takes about a tenth of a second
        whatever is in it. Fewer if 512 are too large, with four million atoms and literals or more ground clauses than the limit.
    passes : int
        Passes over the examples.
    order : {"file", "shuffle"}
        Order of `examples`, which a query has with ORDER BY only, or of first appearance in the data where `fit` is given none; or a
        random order, another one in each pass.
    random_state : int, optional
        Seed of the order, of CP-SAT and of sampling; None is 0, so that a run can always be repeated.
    average : bool
        Use the mean of the weights after each step, not the last weights.
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from: the one farthest from the labels, so that a tie counts as an
        error, or the solver's own. The sources leave it open; at first, with all weights 0, all worlds tie. Where a loss is added
        to the score, the world to learn from is the solver's own among equals.
    on_infeasible_truth : {"warn", "skip", "error"}
        What to do with examples whose labels violate hard clauses: learn from them (weighted clauses only), pass over
        them, or raise an error. The first two end with an `InfeasibleTruthWarning` with a count for each clause.
    record_history : bool
        Store every delta n, and the weight after the step, in the database. OSL does by default.
    keep_steps : bool
        Keep the progressive validation of every step.
    inference : {"exact", "relaxed"}
        Learn from most probable worlds, or from those of the linear relaxation, rounded, which is what Huynh (2011, chapter
        7) calls approximate inference: they may violate hard clauses. With it one world is solved for each example, with
        ties as `ties` says, and serves progressive validation too (two where a loss is added).

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
        How often each clause mattered; see `OnlineLearner.support`.
    infeasible_ : InfeasibleTruth
        Hard clauses that labels violate.
    seconds_ : dict of str to float
        Wall time of `grounding`, `learning` and, at the end, `statistics`: making the model and exact counts of its clauses.
    run_ : int
        The run's number in `sqlrl.run`.
    interrupted_ : bool
        Whether Ctrl-C ended learning: then all of these are what it had come to after its last window.

    Notes
    -----
    All weights start at 0, also those of rules to which the model gives a weight, unless `fit` is given a `start`.

    Ctrl-C in the middle keeps what was learned from all windows before, as it does for `sqlrl.learn.BatchEstimator`; a run that is saved can be
    resumed all the same.
    """

    last_weights_: FloatArray
    n_steps_: int
    steps_: pa.Table
    support_: pa.Table
    interrupted_: bool

    grows: ClassVar[bool] = False
    """Whether it adds clauses when it settles, which it does once."""

    learned: ClassVar[tuple[str, ...]] = ("last_weights_", "n_steps_", "steps_", "support_", "interrupted_")

    def __init__(
        self,
        *,
        window: Size = None,
        passes: Passes = 1,
        order: InOrder = "file",
        random_state: Seed = None,
        average: Averaged = True,
        ties: AmongTies = "errors",
        on_infeasible_truth: OnTruth = "warn",
        keep_steps: bool = True,
        inference: FoundBy = "exact",
        record_history: History = False,
    ) -> None:
        self.window, self.passes, self.order, self.random_state = window, passes, order, random_state
        self.average, self.ties, self.on_infeasible_truth = average, ties, on_infeasible_truth
        self.record_history, self.keep_steps, self.inference = record_history, keep_steps, inference

    def _facts(self) -> list[tuple[str, str]]:
        ended = ", interrupted there" if self.interrupted_ else ""
        facts = [("steps", f"{self.n_steps_:,}{ended}"), *super()._facts()]
        if self.steps_.num_rows:
            wrong, atoms = (sum(self.steps_.column(name).to_pylist()) for name in ("loss", "atoms"))
            facts.append(
                ("validation", f"{wrong:,.0f} of {atoms:,} atoms wrong, each example predicted before it was learned")
            )
        return facts

    def check(self) -> None:
        """Refuse parameters that are out of range, as `fit` does.

        Raises
        ------
        InputError
        """
        self.parameters()

    def parameters(self) -> Parameters:
        """Return the checked parameters of the update rule.

        Raises
        ------
        InputError
            A parameter is out of range; the message says which.
        """
        check_parameters(self)
        return Parameters(
            **vars(self._update()),
            ties=self.ties,
            on_infeasible_truth=self.on_infeasible_truth,
            record_history=self.record_history,
            inference=self.inference,
            seed=self.random_state or 0,
        )

    def _update(self) -> Update:
        """Return what the update rule asks of a step; only asked for when the parameters are in range."""
        raise NotImplementedError

    def learner(self, *, names: Names | None = None) -> OnlineLearner:
        """Return a learner with these parameters that has learned nothing: it takes grounded windows, without a database.

        Parameters
        ----------
        names : Names, optional
            Words for clauses and examples in messages.

        Returns
        -------
        OnlineLearner
            With `learn_one` and `learn_many`.

        Raises
        ------
        InputError
            A parameter is out of range.
        """
        return OnlineLearner(self.parameters(), names=names)

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[WindowProgress], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        r"""Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data, with labels for all query atoms of the examples.
        model : Model
            Its rules; templates grow clauses as examples show new constants.
        examples : query, list of names, or stream, optional
            What to learn from; all examples by default. `SubgraphTables`, `SubgraphQueries` and `EgoNetworks` are streams of subgraphs that are
            not loaded: each has windows of its own, in its own order, and several passes, `checkpoint` and `resume` read it again. Of a
            stream the database keeps the run and the model alone.
        callback : callable, optional
            Called with a `WindowProgress` after each window, when the window has been saved.
        checkpoint : bool
            Save the run in the database after each window (`sqlrl.learner_state`), so that it can be resumed.
        resume : int, optional
            The number of a run (`sqlrl.run`) that was saved and stopped: go on after its last window, and go on saving.
            Results, history and steps are then those of a run that was never stopped, byte for byte.
        limit : int, optional
            The most ground clauses of one shape that a window may have; None for no limit.
        start : Model, optional
            Where weights begin: clauses that have the same formula and constants in it begin with its weights, others at 0. Steps are
            counted from 1 all the same, and what else a learner remembers is as at first: AdaGrad's step sizes, and averages, which
            are those of the new steps. The regulariser of CDA, Subgradient and ContrastiveDivergence pulls to these weights in place of
            0. So Perceptron, MIRA and ContrastiveDivergence with constant steps and no penalty in two parts, of which the first has `average=False`,
            reach the weights of one; a run that is to go on as if it had never stopped is saved with `checkpoint` and resumed.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no examples or none has query atoms, atoms have no label, labels violate
            hard clauses and `on_infeasible_truth` is "error", or a run cannot be resumed because parameters, model,
            examples or data differ; or a stream is an iterator that would have to be read again.
        UnsupportedError
            A rule has clauses for constants of the data (`+`), which a stream shows window by window.
        InfeasibleError
            The hard clauses of an example cannot all hold.
        GroundingLimitError
            A clause has more groundings than the limit.

        Warns
        -----
        LabelWarning
            Examples have no query atoms; all labels of a target are true, or all are false; or rows say what is false, but other
            tuples count as false without one.
        InfeasibleTruthWarning
            Labels violate hard clauses.
        ConvergenceWarning
            All data are one example with many query atoms: there was one step in each pass.
        CheckpointWarning
            The run is to be saved, but on your own connection to a file what sqlrl keeps is in memory.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        >>> db.load("Liked", [("d1",)], types=["doc"], target=True)
        >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)")
        >>> fit = sqlrl.AdaGrad().fit(db, model)
        >>> sorted(zip(fit.clauses()["clause"].to_pylist(), fit.clauses()["support"].to_pylist()))
        [('Liked(d)', 2), ('Word(d, "bad") => Liked(d)', 1), ('Word(d, "good") => Liked(d)', 1)]

        Reviews that arrive in windows, and are loaded nowhere:

        >>> import pyarrow as pa
        >>> def windows():
        ...     for w in range(5):
        ...         names, words = [f"d{w}a", f"d{w}b"], ["good", "bad"]
        ...         liked = pa.table({"example": names, "doc": names, "truth": [True, False]})
        ...         yield {"Word": pa.table({"example": names, "doc": names, "word": words}), "Liked": liked}
        >>> model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\nWord(d, "good") => Liked(d)\nLiked(d)')
        >>> fit = sqlrl.AdaGrad().fit(sqlrl.connect(), model, examples=sqlrl.SubgraphTables(windows))
        >>> fit.n_steps_, fit.clauses()["clause"].to_pylist()[0]
        (10, 'Word(d, "good") => Liked(d)')
        """
        parameters = self.parameters()
        check_database(db)
        check_start(start)
        options = fit_options(callback, checkpoint, resume)
        recorded, name = {**self.recorded(), **recorded_start(start)}, type(self).__name__
        order: Ordering = {
            "size": self.window,
            "order": self.order,
            "seed": parameters.seed,
            "passes": self.passes,
            "limit": limit,
        }
        with self._windows(db, model, examples, order) as stream:
            names = Names(stream.clause_text, stream.example_name, stream.atom_text)
            begun = start_weights(stream, start)
            fit = Fit(stream, name, recorded, parameters.seed, options, stage="learning")
            arrays = None if fit.saved is None else fit.saved.arrays
            learner = self._learner(parameters, stream, names, arrays, begun)

            def learn() -> str | None:
                """Learn; return what there is to say of it once it is kept."""
                atoms = learn_windows(learner, stream, fit, keep_steps=self.keep_steps)
                if learner.steps == 0 or (resume is None and atoms == 0):
                    raise InputError(_nothing(learner))
                # A run that goes on knows only its own atoms, and where examples were skipped there are more than one.
                whole = examples is None and resume is None and learner.steps == self.passes
                large = whole and not len(learner.infeasible.clause) and atoms // self.passes > _MANY_ATOMS
                return _one_network(name, self.passes, atoms // self.passes) if large else None

            set_attributes = fit.learn(
                learn,
                lambda said, status: self._keep(learner, stream, fit, said(), status),
                again=not self.grows,
            )
        set_attributes()
        return self

    def _keep(self, learner: Learner, stream: TrainingStream, fit: Fit, said: str | None, status: str) -> SetAttributes:
        self._settle(learner, stream)
        last = stream.with_fixed(learner.weights)
        weights = stream.with_fixed(learner.averaged_weights()) if self.average else last
        support, steps = learner.support(), fit.rows("step")
        record = TrainingRecord(
            fit.learner, fit.parameters, fit.seed, fit.started, fit.seconds, steps, support, status=status
        )
        learned = stream.model(weights, record)
        fit.lap("statistics")
        self._note(stream, weights)
        if len(learner.infeasible.clause):
            skipped = learner.parameters.on_infeasible_truth == "skip"
            warn(learner.infeasible.warning(learner.names, skipped=skipped), InfeasibleTruthWarning)
        if said is not None:
            warn(said, ConvergenceWarning)
        clauses = stream.clauses(weights, support)

        def set_attributes() -> None:
            self.model_, self.weights_, self.last_weights_, self.n_steps_ = learned, weights, last, learner.steps
            self.steps_, self.support_, self.seconds_, self.run_ = steps, support, fit.seconds, fit.run
            self.infeasible_, self.interrupted_, self._table = learner.infeasible, status == INTERRUPTED, clauses

        return set_attributes

    # ---- what structure learners do otherwise -------------------------------------------------------------------

    def _windows(
        self, db: TrainingDatabase, model: Model, examples: object, order: Ordering
    ) -> AbstractContextManager[TrainingStream]:
        """Return the windows to learn from."""
        return db.advanced.learning.training_windows(model, examples=db.advanced.learning.drawn(examples), **order)

    def _learner(
        self,
        parameters: Parameters,
        stream: TrainingStream,
        names: Names,
        arrays: Mapping[str, npt.NDArray[Any]] | None,
        start: StartWeights | None,
    ) -> Learner:
        """Return a new learner, or one that goes on where a saved one stopped."""
        if arrays is None:
            return OnlineLearner(parameters, names=names, start=start)
        return OnlineLearner.from_state(parameters, arrays, names=names, start=start)

    def _settle(self, learner: Learner, stream: TrainingStream) -> None:
        """Do what is left to do after the last window."""

    def _note(self, stream: TrainingStream, weights: FloatArray) -> None:
        """Take what is known once the model is made."""


def _one_network(name: str, passes: int, atoms: int) -> str:
    return (
        f"{name} took {counted(passes, 'step')}, one in each pass: the {atoms:,} query atoms are one example, whose errors are learned from "
        f"all at once. If the data fall into independent parts, load them with {Parameter('example')}; else take a learner of one network: "
        "Likelihood, MaxMargin or PSCG for weights, ILP for clauses"
    )


def _nothing(learner: Learner) -> str:
    if learner.steps > 0:
        return (
            f"none of the examples has a query atom, so that nothing can be learned: check {Parameter('examples')} and the scope of the "
            "target predicate"
        )
    if len(learner.infeasible.clause):
        return (
            "no example is left to learn from: the labels of all of them violate hard clauses; use "
            f"{Parameter('on_infeasible_truth', 'warn')} to learn from them all the same"
        )
    return f"there are no examples to learn from: check {Parameter('examples')} and that the target predicate has atoms"
