"""What every estimator of weights shows: its constructor call, what it learned, and its clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from sqlrl.errors import NotFittedError
from sqlrl.ground.network import FloatArray
from sqlrl.learn.configured import Configured
from sqlrl.learn.labels import InfeasibleTruth
from sqlrl.learn.showing import call, page

if TYPE_CHECKING:
    from sqlrl.logic.model import Model


class Fitted(Configured):
    """What estimators of weights have before and after `fit`. A fitted one has nothing of the database, and can be pickled.

    Attributes
    ----------
    model_ : Model
        The model with its weights.
    weights_ : float array, shape (m,)
        The weights (log-odds) by clause id; 0 for hard clauses.
    infeasible_ : InfeasibleTruth
        Hard clauses that labels violate.
    seconds_ : dict of str to float
        Wall time of `grounding`, `learning` and `statistics`.
    run_ : int
        The run's number in `sqlrl.run`.
    """

    model_: Model
    weights_: FloatArray
    infeasible_: InfeasibleTruth
    seconds_: dict[str, float]
    run_: int
    _table: pa.Table

    own: ClassVar[tuple[str, ...]] = ()
    """The constructor's arguments besides those of the whole family."""
    shared: ClassVar[tuple[str, ...]] = ()
    """The constructor's arguments that the whole family has."""
    learned: ClassVar[tuple[str, ...]] = ()
    """What `fit` learns besides the attributes above."""

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        return "\n".join([call(self), *(f"  {name:<12}{value}" for name, value in self.facts())])

    def _repr_html_(self) -> str:
        return page(self)

    def facts(self) -> list[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        return [*self._facts(), ("seconds", self._times())] if self._is_fitted() else []

    def _facts(self) -> list[tuple[str, str]]:
        """Return what was learned, in words; only asked for after `fit`."""
        return [("clauses", self._weighted())]

    def _weighted(self) -> str:
        return f"{int((self.weights_ != 0).sum()):,} with a weight other than 0"

    def _times(self) -> str:
        return ", ".join(f"{stage} {seconds:.3f}" for stage, seconds in self.seconds_.items())

    def _is_fitted(self) -> bool:
        return "model_" in vars(self)

    def __getattr__(self, name: str) -> Any:
        # Called only for attributes that are not there.
        if name == "model":  # its property has no `model_`
            name = "model_"
        if name in ("model_", "weights_", "infeasible_", "seconds_", "run_", *type(self).learned):
            raise NotFittedError(f"this {type(self).__name__} has no {name} yet: call fit(db, model) first")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _names(self) -> tuple[str, ...]:
        return (*self.own, *self.shared)

    def recorded(self) -> dict[str, object]:
        """Return the constructor's arguments by name as values of JSON: what is kept with a run."""
        return {name: _plain(value) for name, value in self.get_params(deep=False).items()}

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

        A hard rule that says no more than that of some atoms at most one or exactly one is true, as a declaration `field!` does,
        states a block and is no clause: it is not listed here, nor in `sqlrl.clause`. It holds all the same, and `model_` has it.

        Returns
        -------
        pyarrow.Table
            `clause` (text), `weight` (log-odds, NULL if hard), `hard`, `support` and what else the learner counts of each
            clause, `id`. Support is the number of steps of an online learner whose example had an open ground clause, see
            `OnlineLearner.support`; of a batch learner the number of query atoms in open ground clauses.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        if not self._is_fitted():
            raise NotFittedError(f"this {type(self).__name__} has no clauses yet: call fit(db, model) first")
        return self._table


def _plain(value: object) -> object:
    """Return an array, a number of numpy, or a list of them, as values of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
