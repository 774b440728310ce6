"""What learners of soft weights share as estimators: `fit` over a database, and what was learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from sqlrl.errors import ConvergenceWarning, InputError, LabelWarning, warn
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.ground.network import FloatArray
from sqlrl.learn.batch.problem import Iteration, Report, iteration_table
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.parameters import check_callback, check_database, check_flag, check_integer, check_parameters
from sqlrl.learn.soft.settings import SoftWeights
from sqlrl.progress import Stage
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.records import ITERATION_SCHEMA, STEP_SCHEMA, Checkpoint, TrainingRecord
from sqlrl.training.soft import SoftTraining
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.psl import SoftModel


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
        db: TrainingDatabase,
        model: SoftModel,
        examples: object = None,
        *,
        start: bool = False,
        on_iteration: Callable[[Iteration], None] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
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
            Called with an `Iteration` after each, when it has been saved.
        checkpoint : bool
            Save the run in the database after each iteration (`sqlrl.learner_state`), so that it can be resumed.
        resume : int, optional
            The number of a run (`sqlrl.run`) that was saved and stopped: go on after its last iteration, and go on saving. Steps along a
            gradient (`SoftMapLikelihood`, and the others with `method="steps"`) are then those of a run that was never stopped,
            byte for byte. The other learners look for a maximum: from the weights that were saved they reach it within their tolerance, perhaps
            by other iterations, since what a search knew besides (curvature, brackets) is not saved.
        limit : int, optional
            The most ground rules of one shape that there may be; None for no limit.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            A parameter is out of range, there are no query atoms, no atom has a label or one that others depend on has none, every rule
            is hard, or a run cannot be resumed because parameters, model, examples or data differ.
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
        CheckpointWarning
            The run is to be saved, but on your own connection to a file what sqlrl keeps is in memory.

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
        check_flag("checkpoint", checkpoint)
        if resume is not None:
            check_integer("resume", resume, 1)
        given: object = start
        if not isinstance(given, bool):
            raise InputError(f"start={given!r} must be True or False: whether to begin with the weights of the model.")
        started, name = datetime.now(UTC), type(self).__name__
        recorded = {**self.recorded(), **({"start": True} if start else {})}
        clock, saving = time.perf_counter(), checkpoint or resume is not None
        with db.learning.soft_training(model, examples=examples, limit=limit) as training:
            if saving:
                training.check_kept()
            if resume is None:
                number, saved = training.begin(name, recorded, 0), None
            else:
                number, saved = resume, training.resume(resume, name, recorded)
            course = _Course(training.save if saving else None, saved, on_iteration)
            seconds = course.seconds
            seconds["grounding"] += time.perf_counter() - clock
            with threadpool_limits(limits=1, user_api="blas"), course.learning():
                found = self._learned(training, training.weights() if start else None, course.report, course.after)
            self._warn(found, training)
            clock, table = time.perf_counter(), course.table()
            record = run_record(name, recorded, started, seconds, table)
            learned = training.finish(found.weights, record)
            seconds["statistics"] = time.perf_counter() - clock
            self._table = _strongest(training.clauses(found.weights))
        self.model_, self.weights_, self.iterations_, self.result_ = learned, found.weights, table, found
        self.seconds_, self.run_ = seconds, number
        return self

    def _learned(
        self, training: SoftTraining, start: FloatArray | None, report: Report, after: Iteration | None
    ) -> SoftWeights:
        """Learn weights, from `start` or after an iteration of a run that goes on; subclasses do it."""
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


class _Course:
    # The iterations of a run, those that were saved of it and those of this process: told, and saved with what the learner goes on from.

    def __init__(
        self,
        save: Callable[[Checkpoint], None] | None,
        saved: Checkpoint | None,
        on_iteration: Callable[[Iteration], None] | None,
    ) -> None:
        self._save, self._on_iteration, self._stage = save, on_iteration, Stage("learning weights")
        self._before = ITERATION_SCHEMA.empty_table() if saved is None else saved.iterations
        self._iterations: list[Iteration] = []
        self._kept, self._clock = 0, 0.0
        self.after = None if saved is None else Iteration(iteration=saved.windows, state=saved.arrays)
        self.seconds = {"grounding": 0.0, "learning": 0.0, **({} if saved is None else saved.seconds)}

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Show that weights are learned, and for how long."""
        with self._stage:
            self._clock = time.perf_counter()
            yield
            self._count()

    def report(self, iteration: Iteration) -> None:
        """Take an iteration; the one after which a run goes on was taken before."""
        if self.after is not None and iteration.iteration <= self.after.iteration:
            return
        self._iterations.append(replace(iteration, state={}))
        if self._save is not None and iteration.iteration:
            self._count()
            new, steps = iteration_table(self._iterations[self._kept :]), STEP_SCHEMA.empty_table()
            self._save(Checkpoint(iteration.iteration, iteration.state, steps, pa.table({}), self.seconds, new))
            self._kept = len(self._iterations)
        self._stage.advance(0, note=iteration.note())
        if self._on_iteration is not None:
            self._on_iteration(iteration)

    def table(self) -> pa.Table:
        """Return all iterations."""
        return pa.concat_tables([self._before, iteration_table(self._iterations)])

    def _count(self) -> None:
        """Count the time since it was counted last."""
        now = time.perf_counter()
        self.seconds["learning"] += now - self._clock
        self._clock = now


def run_record(
    learner: str, parameters: dict[str, object], started: datetime, seconds: dict[str, float], iterations: pa.Table
) -> TrainingRecord:
    """Return what is kept of a run that has neither steps nor a seed, and whose support is not counted by clause."""
    none = pa.table({"clause": pa.array([], pa.int64()), "support": pa.array([], pa.int64())})
    return TrainingRecord(learner, parameters, 0, started, seconds, STEP_SCHEMA.empty_table(), none, iterations)


def _strongest(clauses: pa.Table) -> pa.Table:
    """Return rules as `clauses` shows them: the strongest first."""
    weight = clauses.column("weight").to_numpy(zero_copy_only=False)
    order = np.lexsort((np.arange(len(clauses)), -np.where(np.isnan(weight), np.inf, weight)))
    shown = clauses.select(["text", "weight", "hard", "support", "clause"]).rename_columns(
        ["clause", "weight", "hard", "support", "id"]
    )
    return shown.take(pa.array(order))
