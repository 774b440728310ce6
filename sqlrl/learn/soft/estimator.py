"""What learners of soft weights share as estimators: `fit` over a database, and what was learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import ConvergenceWarning, InputError, LabelWarning, warn
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import GROUNDING_LIMIT, FloatArray
from sqlrl.learn.batch.problem import Iteration, Report, iteration_table
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.labels import Names
from sqlrl.learn.parameters import check_callback, check_database, check_parameters
from sqlrl.learn.protocols import STEP_SCHEMA, TrainingRecord
from sqlrl.learn.soft.settings import SoftWeights
from sqlrl.progress import Stage
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.psl import SoftModel


class SoftTraining(Protocol):
    """A soft model held against its training examples."""

    network: HingeNetwork
    truth: FloatArray

    @property
    def names(self) -> Names:
        """Words for messages."""
        ...

    def weights(self) -> FloatArray:
        """Return the weights that the model has, 0 for hard rules, shape (m,)."""
        ...

    def begin(self, learner: str, parameters: Any, seed: int) -> int:
        """Record that the run has begun; return its number."""
        ...

    def clauses(self, weights: FloatArray) -> pa.Table:
        """Return a row for each rule."""
        ...

    def finish(self, weights: FloatArray, record: TrainingRecord, kept: Sequence[int] | None = None) -> SoftModel:
        """Make the learned model, of all rules or some, and keep it."""
        ...


class SoftTrainingData(Protocol):
    """Data that weights of soft models are learned from."""

    def soft_training(
        self, model: SoftModel, *, examples: object, limit: int | None
    ) -> AbstractContextManager[SoftTraining]:
        """Hold a soft model against the training examples while the context is open."""
        ...


class SoftDatabase(Protocol):
    """What `fit` needs of its database."""

    @property
    def learning(self) -> SoftTrainingData:
        """The data that weights are learned from."""
        ...


class SoftEstimator(Fitted):
    """What all learners of soft weights have.

    Attributes
    ----------
    model_ : SoftModel
        The model with its weights.
    weights_ : float array, shape (m,)
        At least 0; 0 for hard rules and those that no query atom is in.
    iterations_ : pyarrow.Table
        One row for each iteration; `sqlrl.iteration` has them too.
    result_ : SoftWeights
        What was maximised, its gradient, and how many atoms were left out.
    seconds_ : dict of str to float
        Wall time of `grounding`, `learning` and `statistics`.
    run_ : int
        The run's number in `sqlrl.run`.
    """

    model_: SoftModel  # type: ignore[assignment]
    iterations_: pa.Table
    result_: SoftWeights

    learned: ClassVar[tuple[str, ...]] = ("iterations_", "result_")

    def fit(
        self,
        db: SoftDatabase,
        model: SoftModel,
        examples: object = None,
        *,
        start: bool = False,
        on_iteration: Callable[[Iteration], None] | None = None,
        limit: int | None = GROUNDING_LIMIT,
    ) -> Self:
        r"""Learn the weights of all rules of a model that are not hard.

        Parameters
        ----------
        db : Database
            The data, with labels for the query atoms of the examples.
        model : SoftModel
        examples : query or list of names, optional
            What to learn from; all examples by default.
        start : bool
            Begin with the weights that the model has.
        on_iteration : callable, optional
            Called with an `Iteration` after each.
        limit : int, optional
            The most ground rules of one shape that there may be; None for no limit.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no query atoms, no atom has a label or one that others depend on has none, or every rule
            is hard.
        UnboundedWeightError
            Without a penalty a rule that labels never violate would have an infinite weight.
        GroundingLimitError
            A rule has more groundings than the limit.

        Warns
        -----
        LabelWarning
            Atoms were left out, since hard rules leave their labels no room.
        ConvergenceWarning
            The iterations ended before the optimum.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
        >>> db.load("Smokes", [("Anna",)], types=["person"], given=True)
        >>> db.load("Smokes", [("Bob", 1.0), ("Chris", 0.5)], columns=[0], types=["person"], value=1, target=True)
        >>> model = sqlrl.parse_psl("1: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
        >>> learner = sqlrl.SoftPseudoLikelihood(prior=0.1).fit(db, model)
        >>> learner.weights_.round(4).tolist(), str(learner.model_.rules[1])
        ([0.8615, 0.0], '0: !Smokes(A) ^2')
        """
        check_parameters(self)
        check_database(db)
        check_callback("on_iteration", on_iteration)
        given: object = start
        if not isinstance(given, bool):
            raise InputError(f"start={given!r} must be True or False: whether to begin with the weights of the model.")
        started, name = datetime.now(UTC), type(self).__name__
        seconds: dict[str, float] = {}
        iterations: list[Iteration] = []
        learning = Stage("learning weights")

        def report(iteration: Iteration) -> None:
            iterations.append(iteration)
            learning.advance(0, note=iteration.note())
            if on_iteration is not None:
                on_iteration(iteration)

        clock = time.perf_counter()
        with db.learning.soft_training(model, examples=examples, limit=limit) as training:
            number = training.begin(name, self.recorded(), 0)
            seconds["grounding"] = time.perf_counter() - clock
            clock = time.perf_counter()
            with threadpool_limits(limits=1, user_api="blas"), learning:
                found = self._learned(training, training.weights() if start else None, report)
            seconds["learning"] = time.perf_counter() - clock
            self._warn(found, training)
            clock, table = time.perf_counter(), iteration_table(iterations)
            none = pa.table({"clause": pa.array([], pa.int64()), "support": pa.array([], pa.int64())})
            record = TrainingRecord(name, self.recorded(), 0, started, seconds, STEP_SCHEMA.empty_table(), none, table)
            learned = training.finish(found.weights, record)
            seconds["statistics"] = time.perf_counter() - clock
            self._table = _strongest(training.clauses(found.weights))
        self.model_, self.weights_, self.iterations_, self.result_ = learned, found.weights, table, found
        self.seconds_, self.run_ = seconds, number
        return self

    def _learned(self, training: SoftTraining, start: FloatArray | None, report: Report) -> SoftWeights:
        """Learn weights; subclasses do it."""
        raise NotImplementedError

    def _warn(self, found: SoftWeights, training: SoftTraining) -> None:
        if found.outside or found.narrow:
            left = found.outside + found.narrow
            warn(
                f"{counted(left, 'atom')} of {found.labelled:,} with a label {'was' if left == 1 else 'were'} not learned from: hard rules exclude the "
                f"labels of {found.outside:,}, and leave {found.narrow:,} no choice",
                LabelWarning,
            )
        if not found.converged and not np.isnan(found.objective):
            warn(
                f"{type(self).__name__} ended after {counted(found.iterations, 'iteration')} with a gradient that is off by {found.optimality:.3g}: "
                "allow more, or a larger tolerance",
                ConvergenceWarning,
            )

    def _facts(self) -> list[tuple[str, str]]:
        return [("iterations", f"{self.iterations_.num_rows:,}"), *super()._facts()]


def _strongest(clauses: pa.Table) -> pa.Table:
    """Return rules as `clauses` shows them: the strongest first."""
    weight = clauses.column("weight").to_numpy(zero_copy_only=False)
    order = np.lexsort((np.arange(len(clauses)), -np.where(np.isnan(weight), np.inf, weight)))
    shown = clauses.select(["text", "weight", "hard", "support", "clause"]).rename_columns(
        ["clause", "weight", "hard", "support", "id"]
    )
    return shown.take(pa.array(order))
