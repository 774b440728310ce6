"""What the estimators of batch learners share: common parameters and `fit` over a database."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, Self, TypedDict, TypeVar

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import InfeasibleTruthWarning, InputError, NumericError, warn
from sqlrl.ground.network import GROUNDING_LIMIT, FloatArray, IntArray
from sqlrl.learn.batch.problem import Iteration, Problem, Report, check_apart, iteration_table
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.labels import InfeasibleTruth, Names, check_labelled, infeasible_truth
from sqlrl.learn.parameters import check_callback, check_database, check_parameters
from sqlrl.learn.protocols import (
    STEP_SCHEMA,
    TUNING_SCHEMA,
    Ordering,
    TrainingDatabase,
    TrainingRecord,
    TrainingStream,
)
from sqlrl.learn.settings import OnTruth, Seed
from sqlrl.learn.start import check_start, recorded_start, start_weights
from sqlrl.progress import Stage
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window
    from sqlrl.logic.model import Model

ALL = 2**62
"""Examples in a window: more than there are, so that all are in one."""

NO_ATOMS = (
    "there are no query atoms to learn from: check examples= and that the target predicate has a scope with atoms"
)
NONE_LEFT = (
    "no example is left to learn from: the labels of all of them violate hard clauses; use on_infeasible_truth='warn' to learn from them "
    "all the same"
)


class BatchCommon(TypedDict, total=False):
    """The parameters of all batch learners; see `BatchEstimator`."""

    random_state: Seed
    on_infeasible_truth: OnTruth


class Given(Protocol):
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


Learned = TypeVar("Learned", bound=Given)


class BatchEstimator(Fitted, Generic[Learned]):
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

    Notes
    -----
    All weights start at 0, also those of rules to which the model gives a weight, unless `fit` is given a `start`.
    """

    iterations_: pa.Table
    support_: pa.Table

    learned: ClassVar[tuple[str, ...]] = ("iterations_", "support_")
    window: ClassVar[int | None] = ALL
    """Examples in a window; None for as many as the first ones suggest."""

    def __init__(self, *, random_state: Seed = None, on_infeasible_truth: OnTruth = "warn") -> None:
        self.random_state, self.on_infeasible_truth = random_state, on_infeasible_truth

    @property
    def seed(self) -> int:
        """The seed that is used: `random_state`, or 0."""
        return self.random_state or 0

    def _check(self) -> None:
        """Refuse parameters that are out of range; subclasses call this, and refuse what does not go together.

        Raises
        ------
        InputError
        """
        check_parameters(self)

    def _learn(self, problem: Learned, report: Report) -> FloatArray:
        """Learn weights of the m clauses of a problem, 0 for hard ones; subclasses do it.

        Parameters
        ----------
        problem : Given
        report : callable
            To be called with an `Iteration` after each.

        Returns
        -------
        float array, shape (m,)
        """
        raise NotImplementedError

    def _tuning(self) -> pa.Table:
        """Return how parameters were chosen, of `TUNING_SCHEMA`; subclasses that choose one override this."""
        return TUNING_SCHEMA.empty_table()

    def _facts(self) -> list[tuple[str, str]]:
        return [("iterations", f"{self.iterations_.num_rows:,}"), *super()._facts()]

    def fit(
        self,
        db: TrainingDatabase,
        model: Model,
        examples: object = None,
        *,
        on_iteration: Callable[[Iteration], None] | None = None,
        limit: int | None = GROUNDING_LIMIT,
        start: Model | None = None,
    ) -> Self:
        """Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data, with labels for all query atoms of the examples.
        model : Model
            Its rules; templates grow the clauses that the examples show constants for.
        examples : query or list of names, optional
            What to learn from; all examples by default.
        on_iteration : callable, optional
            Called with an `Iteration` after each.
        limit : int, optional
            The most ground clauses of one shape that there may be; None for no limit.
        start : Model, optional
            Where weights begin: clauses that have the same formula and constants in it begin with its weights, others at 0. What
            `Likelihood` and `MaxMargin` minimise has one least value, which they reach from any start, perhaps sooner; `PSCG` and
            `VotedPerceptron` go on from there.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no query atoms, atoms have no label, labels violate hard clauses and
            `on_infeasible_truth` is "error", or the model is not one that this learner can learn.
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
        """
        self._check()
        check_database(db)
        check_start(start)
        recorded = {**self.recorded(), **recorded_start(start)}
        check_callback("on_iteration", on_iteration)
        started, name, seconds = datetime.now(UTC), type(self).__name__, {"grounding": 0.0}
        order: Ordering = {"size": self.window, "order": "file", "seed": self.seed, "passes": 1, "limit": limit}
        iterations: list[Iteration] = []

        learning = Stage("learning weights")

        def report(iteration: Iteration) -> None:
            iterations.append(iteration)
            learning.advance(0, note=iteration.note())
            if on_iteration is not None:
                on_iteration(iteration)

        with db.learning.training_windows(model, examples=examples, **order) as stream:
            if all(rule.hard or rule.fixed for rule in model.rules):
                raise InputError(
                    f"the model has no rules with a weight to learn, so {type(self).__name__} has nothing to learn: write some (weights after "
                    "'@' are fixed), or, if a learner of clauses found none, see its warning"
                )
            number = stream.begin(name, recorded, self.seed)
            clock = time.perf_counter()
            problem, infeasible = self._problem(stream)
            problem = _started(problem, stream, start)
            seconds["grounding"] = time.perf_counter() - clock
            clock = time.perf_counter()
            # Its matrices are small: threads would wait for each other, and sums would depend on their number.
            with threadpool_limits(limits=1, user_api="blas"), learning:
                weights = stream.with_fixed(self._learn(problem, report))
            seconds["learning"] = time.perf_counter() - clock
            _check_weights(weights, problem)
            support, table, steps = (
                problem.support,
                iteration_table(iterations),
                STEP_SCHEMA.empty_table(),
            )
            record = TrainingRecord(name, recorded, self.seed, started, seconds, steps, support, table, self._tuning())
            clock = time.perf_counter()
            learned = stream.model(weights, record)
            seconds["statistics"] = time.perf_counter() - clock
            if len(infeasible.clause):
                skipped = self.on_infeasible_truth == "skip"
                warn(infeasible.warning(problem.names, skipped=skipped), InfeasibleTruthWarning)
        self.model_, self.weights_, self.iterations_, self.support_ = learned, weights, table, support
        self.infeasible_, self.seconds_, self.run_ = infeasible, seconds, number
        self._table = stream.clauses(weights, support)
        return self

    def _problem(self, stream: TrainingStream) -> tuple[Learned, InfeasibleTruth]:
        """Ground all examples, and check their labels; subclasses that do not learn from a `Problem` override this."""
        raise NotImplementedError

    def _checked(self, stream: TrainingStream, window: Window) -> tuple[Problem | None, InfeasibleTruth]:
        """Check the labels of a window; None if all of its examples are left out."""
        names, network, truth = names_of(stream), window.network, window.truth
        check_labelled(network, window.labelled, np.unique(network.example), names)
        problem, infeasible = Problem(network, truth, names), infeasible_truth(network, truth)
        if len(infeasible.clause) == 0 or self.on_infeasible_truth == "warn":
            return problem, infeasible
        if self.on_infeasible_truth == "error":
            raise infeasible.error(names)
        check_apart(problem, infeasible.example)
        if np.isin(network.example, infeasible.example).all():
            return None, infeasible
        # Counts of a network are sums over its examples, so those that are left are grounded by themselves.
        left = stream.window(window.examples[~np.isin(window.examples, infeasible.example)])
        return Problem(left.network, left.truth, names), infeasible


class WholeEstimator(BatchEstimator[Problem]):
    """What batch learners have that hold one network of all examples."""

    def _problem(self, stream: TrainingStream) -> tuple[Problem, InfeasibleTruth]:
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


def _check_weights(weights: FloatArray, problem: Given) -> None:
    """Refuse weights that are not finite."""
    wrong = np.flatnonzero(~np.isfinite(weights))
    if len(wrong):
        clause = problem.names.clause(int(problem.clauses[wrong[0]]))
        raise NumericError(
            f"{counted(len(wrong), 'weight')} of {len(weights):,} grew out of range, the first that of {clause}: penalise "
            "weights more, or take smaller steps"
        )
