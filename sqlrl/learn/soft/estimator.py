"""What learners of soft weights share as estimators: `fit` over a database, and what was learned."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pyarrow as pa

from sqlrl.errors import InputError, LabelWarning, Parameter, Phrase, warn
from sqlrl.ground.limits import GROUNDING_LIMIT, MissingAtoms, check_missing
from sqlrl.ground.network import FloatArray
from sqlrl.learn.convergence import warn_unconverged
from sqlrl.learn.fitted import Fitted
from sqlrl.learn.parameters import check_database, fit_options
from sqlrl.learn.soft.settings import Penalty, SoftWeights, Strength, check_soft_parameters, saved
from sqlrl.training.fit import INTERRUPTED, IterationFit, SetAttributes
from sqlrl.training.learning import TrainingDatabase
from sqlrl.training.records import STEP_SCHEMA, Iteration, Report, TrainingRecord
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
    interrupted_ : bool
        Whether Ctrl-C ended learning: it keeps the best weights so far, as `sqlrl.learn.BatchEstimator` says.
    """

    penalty: Penalty
    strength: Strength
    model_: SoftModel  # type: ignore[assignment]
    iterations_: pa.Table
    result_: SoftWeights
    interrupted_: bool

    learned: ClassVar[tuple[str, ...]] = ("iterations_", "result_", "interrupted_")
    remedy: ClassVar[str] = "allow more, or a larger tolerance"
    """What to change where learning ends before it has converged."""
    in_parts: ClassVar[bool] = False
    """Whether hinges that do not fit into memory together are learned from part by part."""

    def fit(
        self,
        db: TrainingDatabase,
        model: SoftModel,
        *,
        examples: object = None,
        start: bool = False,
        callback: Callable[[Iteration], object] | None = None,
        checkpoint: bool = False,
        resume: int | None = None,
        limit: int | None = GROUNDING_LIMIT,
        missing: MissingAtoms = "error",
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
        callback : callable, optional
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
        missing : {"error", "open", "false"}
            What an atom of a predicate with a scope is that logical rules reach and that is neither observed nor in the scope, as in
            `Database.predict`. A run of an earlier version took it as 0, and goes on with "false".

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
        MissingAtomError
            Rules reach atoms that are neither observed nor in the scope of their predicate.

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
        >>> learner = sqlrl.SoftPseudoLikelihood(strength=0.1).fit(db, model)
        >>> learner.weights_.round(4).tolist(), str(learner.model_.rules[1])
        ([0.8615, 0.0], '0: !Smokes(A) ^2')
        """
        check_soft_parameters(self)
        check_database(db)
        options = fit_options(callback, checkpoint, resume)
        given: object = start
        if not isinstance(given, bool):
            raise InputError(
                f"{Parameter('start', given)} must be {Phrase('True')} or {Phrase('False')}: whether to begin with the weights of the model."
            )
        check_missing(missing)
        recorded = {**self.recorded(), **({"start": True} if start else {}), **recorded_missing(missing)}
        begun_at = time.perf_counter()
        with db.advanced.learning.soft_training(
            model, examples=examples, limit=limit, missing=missing, in_parts=self.in_parts
        ) as training:
            fit = IterationFit(training, type(self).__name__, recorded, 0, options, since=begun_at)
            fit.lap("grounding")
            begun = training.weights() if start else None

            def report(iteration: Iteration) -> None:
                so_far = partial(self._so_far, training, iteration) if iteration.iteration else None
                fit.report(replace(iteration, so_far=so_far))

            set_attributes = fit.learn(
                lambda: self._learned(training, begun, report, fit.after),
                lambda found, status: self._keep(found(), status, fit, training),
            )
        set_attributes()
        return self

    def _keep(self, found: SoftWeights, status: str, fit: IterationFit, training: SoftTraining) -> SetAttributes:
        self._warn(found, interrupted=status == INTERRUPTED)
        table = fit.rows("iteration")
        learned = training.finish(found.weights, run_record(fit, status))
        fit.lap("statistics")
        clauses = _strongest(training.clauses(found.weights))

        def set_attributes() -> None:
            self.model_, self.weights_, self.iterations_, self.result_ = learned, found.weights, table, found
            self.seconds_, self.run_, self.interrupted_, self._table = (
                fit.seconds,
                fit.run,
                status == INTERRUPTED,
                clauses,
            )

        return set_attributes

    def _learned(
        self, training: SoftTraining, start: FloatArray | None, report: Report, after: Iteration | None
    ) -> SoftWeights:
        """Learn weights, from `start` or after an iteration of a run that goes on; subclasses do it."""
        raise NotImplementedError

    def _so_far(self, training: SoftTraining, iteration: Iteration) -> SoftWeights:
        """Return what an iteration has come to."""
        weights, labelled = self._weights_after(iteration), int(np.count_nonzero(~np.isnan(training.truth)))
        objective = np.nan if iteration.objective is None else iteration.objective
        return SoftWeights(weights, np.full(len(weights), np.nan), objective, iteration.iteration, False, labelled)

    def _weights_after(self, iteration: Iteration) -> FloatArray:
        """Return the weights after an iteration."""
        return saved(iteration)["weight"]

    def _warn(self, found: SoftWeights, *, interrupted: bool) -> None:
        if found.outside or found.narrow:
            left = found.outside + found.narrow
            warn(
                f"{counted(left, 'atom')} of {found.labelled:,} with a label {'was' if left == 1 else 'were'} not learned from: hard rules exclude the "
                f"labels of {found.outside:,}, and leave {found.narrow:,} no choice",
                LabelWarning,
            )
        if not found.converged and not interrupted:
            warn_unconverged(type(self).__name__, found.iterations, found.off, self.remedy)

    def _facts(self) -> list[tuple[str, str]]:
        ended = ", interrupted there" if self.interrupted_ else ""
        return [("iterations", f"{self.iterations_.num_rows:,}{ended}"), *super()._facts()]


def recorded_missing(missing: MissingAtoms) -> dict[str, object]:
    """Return what is recorded of missing atoms with the parameters of a run: nothing where what was learned is the same as if they were false."""
    # Runs of earlier versions have no such parameter; they and these can be resumed either way, as long as there are none or they are false.
    return {"missing": missing} if missing == "open" else {}


def run_record(fit: IterationFit, status: str) -> TrainingRecord:
    """Return what is kept of a run that has neither steps nor a seed, and whose support is not counted by clause."""
    none = pa.table({"clause": pa.array([], pa.int64()), "support": pa.array([], pa.int64())})
    return TrainingRecord(
        fit.learner, fit.parameters, 0, fit.started, fit.seconds, STEP_SCHEMA.empty_table(), none, fit.rows("iteration"), status=status
    )  # fmt: skip


def _strongest(clauses: pa.Table) -> pa.Table:
    """Return rules as `clauses` shows them: the strongest first."""
    weight = clauses.column("weight").to_numpy(zero_copy_only=False)
    order = np.lexsort((np.arange(len(clauses)), -np.where(np.isnan(weight), np.inf, weight)))
    shown = clauses.select(["text", "weight", "hard", "support", "clause"]).rename_columns(
        ["clause", "weight", "hard", "support", "id"]
    )
    return shown.take(pa.array(order))
