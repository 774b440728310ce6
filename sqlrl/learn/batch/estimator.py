"""What the estimators of batch learners share: common parameters and `fit` over a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, Self, TypedDict, TypeVar

import numpy as np
import pyarrow as pa

from sqlrl.errors import InfeasibleTruthWarning, InputError, NumericError, Parameter, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.batch.problem import TrainingProblem, check_apart
from sqlrl.learn.fitted import WeightLearner
from sqlrl.learn.parameters import check_database, check_parameters, fit_options
from sqlrl.learn.settings import DropZeros, OnTruth, Seed
from sqlrl.learn.start import check_start, recorded_start, start_weights
from sqlrl.training.fit import INTERRUPTED, IterationFit, SetAttributes
from sqlrl.training.labels import InfeasibleTruth, Names, check_labelled, infeasible_truth
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.ordering import Ordering
from sqlrl.training.records import STEP_SCHEMA, TUNING_SCHEMA, Iteration, Report, TrainingRecord
from sqlrl.training.stream import TrainingStream
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window
    from sqlrl.logic.model import Model

ALL = 2**62
"""Examples in a window: more than there are, so that all are in one."""

NO_ATOMS = f"there are no query atoms to learn from: check {Parameter('examples')} and that the target predicate has a scope with atoms"
NONE_LEFT = (
    f"no example is left to learn from: the labels of all of them violate hard clauses; use {Parameter('on_infeasible_truth', 'warn')} to learn from them "
    "all the same"
)


class BatchCommon(TypedDict, total=False):
    """The parameters of all batch learners; see `BatchEstimator`."""

    random_state: Seed
    on_infeasible_truth: OnTruth
    drop_zeros: DropZeros


class TrainingData(Protocol):
    """What a batch learner learns from."""

    @property
    def names(self) -> Names:
        """Words for messages."""

    @property
    def clauses(self) -> IntArray:
        """Ids of the clauses, shape (m,)."""

    @property
    def support(self) -> pa.Table:
        """In how many query atoms' ground clauses each clause occurs, see `support_table`."""

    def begun(self, start: FloatArray) -> Self:
        """Return the same with weights to start from, shape (m,)."""


Learned = TypeVar("Learned", bound=TrainingData)


class BatchEstimator(WeightLearner, Generic[Learned]):
    """What all batch learners of weights have: they see all training examples at once, grounded once.

    A subclass declares and stores its own parameters, checks in `_check` how they go together, and learns in `_learn`; what else it
    learns are attributes that `_learn` sets and `learned` names.

    Parameters
    ----------
    random_state : int, optional
        Seed of everything random; None is 0, so that a run can always be repeated.
    on_infeasible_truth : {"warn", "skip", "error"}
        What to do with examples whose labels violate hard clauses: learn from them (weighted clauses only), leave them
        out, or raise an error. The first two end with an `InfeasibleTruthWarning` with a count for each clause.
    drop_zeros : bool, optional
        Leave clauses whose weight is 0 out of `model_`, of `clauses()` and of what the database keeps of the run; rules that the model fixes at
        0 stay, and of each predicate to predict that no other clause mentions one. What the model predicts is the same. Of a template from which clauses
        were left out, prediction no longer says which combinations it has never seen: some that it has no clause for had weight 0. By default
        they are left out only where this learns again the weights of what a learner of clauses has found (its `then`).

    Attributes
    ----------
    model_ : Model
        The model with its weights.
    weights_ : float array, shape (m,)
        The weights (log-odds) by clause id; 0 for hard clauses.
    iterations_ : pyarrow.Table
        One row for each iteration, see `Iteration`; `sqlrl.iteration` has them too.
    support_ : pyarrow.Table
        Columns `clause` and `support`: in how many query atoms' ground clauses each clause occurs.
    infeasible_ : InfeasibleTruth
        Hard clauses that labels violate.
    seconds_ : dict of str to float
        Wall time of `grounding`, `learning` and `statistics`: making the model and exact counts of its clauses.
    run_ : int
        The run's number in `sqlrl.run`.
    interrupted_ : bool
        Whether Ctrl-C ended learning: then all of these are what it had come to.

    Notes
    -----
    All weights start at 0, also those of rules to which the model gives a weight, unless `fit` is given a `start`.

    Ctrl-C in the middle keeps the best weights so far: those with the best objective, of learners without one the last. The attributes are
    set, the run has the model, its iterations and the status "interrupted" in `sqlrl.run`, and KeyboardInterrupt is raised all the same, with
    a note that names the run. As long as there are no weights but those to start with (while data are grounded, or a parameter is chosen on
    parts that are held out) there is nothing to keep.
    """

    iterations_: pa.Table
    support_: pa.Table
    interrupted_: bool

    learned: ClassVar[tuple[str, ...]] = ("iterations_", "support_", "interrupted_")
    window: ClassVar[int | None] = ALL
    """Examples in a window; None for as many as the first ones suggest."""

    def __init__(
        self, *, random_state: Seed = None, on_infeasible_truth: OnTruth = "warn", drop_zeros: DropZeros = None
    ) -> None:
        self.random_state, self.on_infeasible_truth, self.drop_zeros = random_state, on_infeasible_truth, drop_zeros

    @property
    def seed(self) -> int:
        """The seed that is used: `random_state`, or 0."""
        return self.random_state or 0

    def check(self) -> None:
        """Refuse parameters that are out of range or do not go together, as `fit` does.

        Raises
        ------
        InputError
        """
        self._check()

    def _check(self) -> None:
        """Refuse parameters that are out of range; subclasses extend this to refuse those that do not go together."""
        check_parameters(self)

    def _learn(self, problem: Learned, report: Report, after: Iteration | None = None) -> FloatArray:
        """Return the learned weights of m clauses, 0 for hard ones, and report each iteration, those after `after` where a run goes on."""
        raise NotImplementedError

    def _tuning(self) -> pa.Table:
        """Return how parameters were chosen, of `TUNING_SCHEMA`; subclasses that choose one override this."""
        return TUNING_SCHEMA.empty_table()

    def _excess(self, problem: Learned, weights: FloatArray) -> FloatArray | None:
        """Return n of the labels less E[n] of each clause, see `TrainingRecord`; None where a learner does not know it."""
        return None

    def _facts(self) -> list[tuple[str, str]]:
        ended = ", interrupted there" if self.interrupted_ else ""
        return [("iterations", f"{self.iterations_.num_rows:,}{ended}"), *super()._facts()]

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        *,
        examples: object = None,
        callback: Callable[[Iteration], object] | None = None,
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
            Its rules; templates grow the clauses that the examples show constants for.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        callback : callable, optional
            Called with an `Iteration` after each, when it has been saved.
        checkpoint : bool
            Save the run in the database after each iteration (`sqlrl.learner_state`), so that it can be resumed.
        resume : int, optional
            The number of a run (`sqlrl.run`) that was saved and stopped: go on after its last iteration, and go on saving. `VotedPerceptron` then
            has the results of a run that was never stopped, byte for byte. The other learners begin anew from the weights that were saved: those
            that look for an optimum reach it within their tolerance, perhaps by other iterations.
        limit : int, optional
            The most ground clauses of one shape that there may be; None for no limit.
        start : Model, optional
            Where weights begin: clauses that have the same formula and constants in it begin with its weights, others at 0. What
            `Likelihood` and `MaxMargin` minimise has one least value, which they reach from any start, perhaps sooner (`Likelihood` leaves a
            start that is far worse than 0); `PSCG` and `VotedPerceptron` go on from there.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no query atoms, atoms have no label, labels violate hard clauses and
            `on_infeasible_truth` is "error", the model is not one that this learner can learn, or a run cannot be resumed because
            parameters, model, examples or data differ.
        InfeasibleError
            The hard clauses cannot all hold.
        GroundingLimitError
            A clause has more groundings than the limit.

        Warns
        -----
        LabelWarning
            Examples have no query atoms; all labels of a target are true, or all are false; or rows say what is false, but other
            tuples count as false without one.
        InfeasibleTruthWarning
            Labels violate hard clauses.

        Examples
        --------
        Ctrl-C, here in the third iteration, keeps what there is:

        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"])
        >>> db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
        >>> model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
        >>> def press(iteration):
        ...     if iteration.iteration == 3:
        ...         raise KeyboardInterrupt
        >>> fit = sqlrl.baselines.VotedPerceptron(1.0, 10, strength=0.0)
        >>> try:
        ...     fit.fit(db, model, callback=press)
        ... except KeyboardInterrupt as stop:
        ...     print(stop.__notes__[0])
        run 1 is kept as interrupted, with the best weights up to iteration 3, 0 atoms wrong; db.models[-1] is its model
        >>> db.sql("select run, model, status from sqlrl.run").fetchall(), fit.model_ == db.models[-1]
        ([(1, 1, 'interrupted')], True)
        """
        self._check()
        check_database(db)
        check_start(start)
        recorded, options = {**self.recorded(), **recorded_start(start)}, fit_options(callback, checkpoint, resume)
        order: Ordering = {"size": self.window, "order": "file", "seed": self.seed, "passes": 1, "limit": limit}
        with db.advanced.learning.training_windows(model, examples=examples, **order) as stream:
            if all(rule.hard or rule.fixed for rule in model.rules):
                raise InputError(
                    f"the model has no rules with a weight to learn, so {type(self).__name__} has nothing to learn: write some (weights after "
                    "'@' are fixed), or, if a learner of clauses found none, see its warning"
                )
            stream.by_iterations()
            fit = IterationFit(stream, type(self).__name__, recorded, self.seed, options)
            problem, infeasible = self._problem(stream)
            problem = _started(problem, stream, start)
            if fit.after is not None:
                problem = problem.begun(fit.arrays["weight"])
            fit.lap("grounding")

            def keep(found: Callable[[], FloatArray], status: str) -> SetAttributes:
                """Make the model and keep the run."""
                before = dict(vars(self))
                try:
                    return self._keep(found(), status, fit, problem, infeasible, stream)
                except BaseException:
                    # What is not kept is not learned: the estimator is what it was.
                    vars(self).clear()
                    vars(self).update(before)
                    raise

            set_attributes = fit.learn(lambda: self._learn(problem, fit.report, fit.after), keep)
            if len(infeasible.clause):
                skipped = self.on_infeasible_truth == "skip"
                warn(infeasible.warning(problem.names, skipped=skipped), InfeasibleTruthWarning)
        set_attributes()
        return self

    def _keep(
        self,
        found: FloatArray,
        status: str,
        fit: IterationFit,
        problem: Learned,
        infeasible: InfeasibleTruth,
        stream: TrainingStream,
    ) -> SetAttributes:
        weights = stream.with_fixed(found)
        _check_weights(weights, problem)
        support, table = problem.support, fit.rows("iteration")
        # Statistics count n in all examples, also in those that are left out.
        partly = self.on_infeasible_truth == "skip" and len(infeasible.clause) > 0
        record = TrainingRecord(
            fit.learner, fit.parameters, fit.seed, fit.started, fit.seconds, STEP_SCHEMA.empty_table(), support, table,
            self._tuning(), status=status, drop_zeros=bool(self.drop_zeros),
            excess=None if partly else self._excess(problem, found),
        )  # fmt: skip
        learned = stream.model(weights, record)
        fit.lap("statistics")
        clauses = stream.clauses(weights, support)

        def set_attributes() -> None:
            self.model_, self.weights_, self.iterations_, self.support_ = learned, weights, table, support
            self.infeasible_, self._table, self.seconds_ = infeasible, clauses, fit.seconds
            self.run_, self.interrupted_ = fit.run, status == INTERRUPTED

        return set_attributes

    def _problem(self, stream: TrainingStream) -> tuple[Learned, InfeasibleTruth]:
        """Ground all examples, and check their labels; subclasses that do not learn from a `TrainingProblem` override this."""
        raise NotImplementedError

    def _checked(self, stream: TrainingStream, window: Window) -> tuple[TrainingProblem | None, InfeasibleTruth]:
        """Check the labels of a window; None if all of its examples are left out."""
        names, network, truth = names_of(stream), window.network, window.truth
        check_labelled(network, window.labelled, np.unique(network.example), names)
        problem, infeasible = TrainingProblem(network, truth, names), infeasible_truth(network, truth)
        if len(infeasible.clause) == 0 or self.on_infeasible_truth == "warn":
            return problem, infeasible
        if self.on_infeasible_truth == "error":
            raise infeasible.error(names)
        check_apart(problem, infeasible.example)
        if np.isin(network.example, infeasible.example).all():
            return None, infeasible
        # Counts of a network are sums over its examples, so those that are left are grounded by themselves.
        left = stream.window(window.examples[~np.isin(window.examples, infeasible.example)])
        return TrainingProblem(left.network, left.truth, names), infeasible


class WholeEstimator(BatchEstimator[TrainingProblem]):
    """What batch learners have that hold one network of all examples."""

    def _problem(self, stream: TrainingStream) -> tuple[TrainingProblem, InfeasibleTruth]:
        window = next(iter(list(stream)), None)
        if window is None or len(window.network.atoms) == 0:
            raise InputError(NO_ATOMS)
        problem, infeasible = self._checked(stream, window)
        if problem is None:
            raise InputError(NONE_LEFT)
        return problem, infeasible


def names_of(stream: TrainingStream) -> Names:
    """Return words for messages about a stream."""
    return Names(stream.clause_text, stream.example_name, stream.atom_text)


def _started(problem: Learned, stream: TrainingStream, start: Model | None) -> Learned:
    """Return a problem with the weights from which learning starts."""
    begun = start_weights(stream, start)
    if begun is None:
        return problem
    clauses = problem.clauses
    return problem.begun(begun(0, 1 + int(clauses.max(initial=-1)))[clauses])


def _check_weights(weights: FloatArray, problem: TrainingData) -> None:
    """Refuse weights that are not finite."""
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        clause = problem.names.clause(int(problem.clauses[wrong[0]]))
        raise NumericError(
            f"{counted(len(wrong), 'weight')} of {len(weights):,} grew out of range, the first that of {clause}: penalise "
            "weights more, or take smaller steps"
        )
