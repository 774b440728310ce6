"""Learning again the weights of clauses that were found: what learners of clauses do with `then=`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from sqlrl.errors import InputError, Parameter, Written
from sqlrl.learn.fitted import THEN, Configured, WeightLearner
from sqlrl.learn.parameters import Option, declarations
from sqlrl.learn.plots import Plotted
from sqlrl.learn.settings import RUN
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

Then = Annotated[
    WeightLearner | None,
    Option(
        "learns the weights of what was found again and drops clauses of weight 0, as 'likelihood(strength=[0.1, 1, 10])'",
        value="LEARNER",
        default="none",
        panel=RUN,
    ),
]


def relearner(then: object) -> WeightLearner | None:
    """Return a checked copy of the learner that is to learn weights again, by default without clauses of weight 0; None if there is none."""
    # Errors in it are raised here, before clauses are searched.
    if then is None:
        return None
    if isinstance(then, type):
        raise InputError(
            f"{Parameter('then')} takes an estimator, not its class: call it, as in {Parameter('then', Written(f'{then.__name__}()'))}"
        )
    if not isinstance(then, WeightLearner) or THEN in declarations(type(then)):
        raise InputError(
            f"{Parameter('then')} takes a learner of the weights of a Markov logic network, such as sqlrl.Likelihood() or sqlrl.MaxMargin(), not an object of type {type(then).__name__}"
        )
    made = type(then)(**then.get_params(deep=False))
    made.check()
    if "drop_zeros" in declarations(type(made)) and made.get_params()["drop_zeros"] is None:
        made.set_params(drop_zeros=True)
    return made


def refuse_stream() -> InputError:
    """Return the error for a stream whose subgraphs another learner shall learn from again."""
    return InputError(
        "then= learns weights again from the same subgraphs, and those of a stream are gone once they are counted: load them, or leave then= out"
    )


class Relearning(Configured, Plotted):
    """What learners of clauses have that let another learner learn the weights of what they have found again.

    Parameters
    ----------
    then : estimator, optional
        Any learner of weights that is no learner of clauses, such as `Likelihood` or `MaxMargin`. When clauses are found, a copy of it learns their weights
        again, from the same examples, and begins with the weights that they have. A batch learner leaves clauses of weight 0 out, unless its
        `drop_zeros` is False. It has a run of its own, whose parameters name the one that found the clauses (`found_by`).

    Attributes
    ----------
    model_, weights_ : Model, float array
        With `then` those that it learned, also where Ctrl-C ended it with the best weights so far; what the learner of clauses has where it failed.
        `clauses()` shows them.
    found_ : Model
        What the learner of clauses itself has found, with the weights that it gave, if it gives any.
    relearned_ : estimator or None
        The copy of `then`, fitted; None without `then`, and if nothing was found whose weights could be learned.
    """

    then: WeightLearner | None
    model_: Model
    run_: int
    found_: Model
    relearned_: WeightLearner | None

    def _relearn(self, learner: WeightLearner | None, db: Any, examples: object, **options: Any) -> None:
        """Learn the weights of what was found again, if there is a learner that does; `options` are those of its `fit`."""
        self.found_, self.relearned_ = self.model_, None
        open_rules = [rule for rule in self.found_.rules if not rule.hard and not rule.fixed]
        if learner is None or not open_rules:
            return
        weighed = any(rule.weight is not None or rule.expansions is not None for rule in open_rules)
        learner.found_by = self.run_
        try:
            learner.fit(db, self.found_, examples=examples, start=self.found_ if weighed else None, **options)
        except BaseException as error:
            error.add_note(
                f"run {self.run_}, which found the clauses, is done and keeps them; {type(learner).__name__} was learning their weights again"
            )
            raise
        finally:
            learner.found_by = None
            # Ctrl-C in the middle leaves a batch learner with the best weights so far.
            if "model_" in vars(learner):
                self.model_, self.relearned_ = learner.model_, learner
                self._take(learner)

    def _take(self, learner: WeightLearner) -> None:
        """Take what the learner has learned beside the model; those that have weights of their own do."""

    def _relearning_facts(self) -> list[tuple[str, str]]:
        """Return what was learned again, in words."""
        if self.relearned_ is None:
            return []
        left = counted(len(self.relearned_.clauses()), "clause")
        return [("relearned", f"by {type(self.relearned_).__name__}, run {self.relearned_.run_}: {left}")]
