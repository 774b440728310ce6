"""What every estimator shows: its parameters by name, as scikit-learn asks for them, its constructor call, and what it learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import pyarrow as pa

from sqlrl import markup
from sqlrl.deprecated import (
    new_parameters,
    old_parameters,
    takes_old_arguments,
    takes_old_parameters,
)
from sqlrl.errors import NotFittedError, UnknownParameterError
from sqlrl.ground.network import FloatArray
from sqlrl.learn.parameters import check_parameters, declarations, given_parameters, parameter_hint, unknown_parameter
from sqlrl.learn.plots import Plotted
from sqlrl.report import Table
from sqlrl.slips import no_name
from sqlrl.training.labels import InfeasibleTruth
from sqlrl.wording import shortened

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

NESTED = "__"
"""Stands between the name of a parameter that is an estimator and the name of a parameter of that one."""

STRONGEST = 10
"""How many clauses a notebook shows."""

THEN = "then"
"""The parameter of a learner of clauses that is what learns weights after it."""

LONGEST = 60
"""Characters of an argument that are shown."""


# ---- parameters by name ------------------------------------------------------------------------------


class Configured:
    """What has parameters: the constructor's arguments, stored as they are in attributes of the same names."""

    word: ClassVar[str] = ""
    """What the command line and the texts of values call it; empty for what they do not have."""
    fallbacks: ClassVar[Mapping[str, object]] = {}
    """What stands in place of None as the value of some parameters."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `fit` and the constructor take their parameters by their old names, too."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            takes_old_parameters(cls)
        if "fit" in vars(cls):
            setattr(cls, "fit", takes_old_arguments(vars(cls)["fit"], "fit"))  # noqa: B010 - not the method that the class declares

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Refuse a parameter that the constructor does not have, before it is called."""
        if cls.__module__.startswith("sqlrl."):
            for name in params:
                if name not in declarations(cls) and name not in old_parameters(cls):
                    hint = parameter_hint(cls, name)
                    raise UnknownParameterError(f"{cls.__name__} got an unexpected keyword argument {name!r}{hint}")
        return super().__new__(cls)

    def __dir__(self) -> list[str]:
        """Return the names of attributes, without those that are deprecated: whoever looks at all of them is not warned."""
        return [name for name in super().__dir__() if name not in old_parameters(type(self))]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name.

        Parameters
        ----------
        deep : bool
            Also return those of arguments that are estimators, as `learner__window` for `window` of `learner`.

        Examples
        --------
        >>> import sqlrl
        >>> sqlrl.MaxMargin(strength=0.1).get_params()["strength"]
        0.1
        """
        found = {name: getattr(self, name) for name in declarations(type(self))}
        if deep:
            for name, value in list(found.items()):
                if callable(getattr(value, "get_params", None)) and not isinstance(value, type):
                    found |= {f"{name}{NESTED}{inner}": each for inner, each in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor; as there, values are checked by `fit`. What was learned stays until then.

        Parameters
        ----------
        **params
            By name; those of an argument that is an estimator as `get_params` names them.

        Returns
        -------
        Self
            This estimator.

        Raises
        ------
        InputError
            There is no such parameter; nothing is set then.

        Examples
        --------
        >>> import sqlrl
        >>> sqlrl.MaxMargin().set_params(strength=0.1, penalty="l1")
        MaxMargin(strength=0.1, penalty='l1')
        """
        params = new_parameters(type(self), params, vars(self), own=declarations(type(self)))
        for name in params:
            if not _has(self, name, params):
                raise unknown_parameter(type(self), name, self.get_params())
        inside: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nested, inner = name.partition(NESTED)
            if nested:
                inside.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        # Whole estimators first: what is set inside one is meant for the new one.
        for outer, given in inside.items():
            getattr(self, outer).set_params(**given)
        return self


def _has(estimator: Configured, name: str, given: Mapping[str, Any]) -> bool:
    """Return whether an estimator has a parameter of a name, or one inside it that has, with what is `given` set."""
    outer, nested, inner = name.partition(NESTED)
    declared = declarations(type(estimator))
    if not nested:
        return name in declared or name in old_parameters(type(estimator))
    part = given.get(outer, getattr(estimator, outer, None)) if outer in declared else None
    there = {key.removeprefix(outer + NESTED): value for key, value in given.items() if key.startswith(outer + NESTED)}
    return isinstance(part, Configured) and _has(part, inner, there)


# ---- as a constructor call and as a page -------------------------------------------------------------


class Estimator(Protocol):
    """What is shown of an estimator."""

    def get_params(self) -> dict[str, object]:
        """Return the constructor's arguments by name."""
        ...

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        ...

    def clauses(self) -> Table:
        """Return the clauses, the strongest first."""
        ...


def call(estimator: Estimator) -> str:
    """Return the constructor call of an estimator, parameters with default values left out."""
    given = [f"{name}={shortened(repr(value), LONGEST)}" for name, value in given_parameters(estimator)]
    return f"{type(estimator).__name__}({', '.join(given)})"


def parameters_html(estimator: Configured, call: str) -> str:
    """Return an estimator that has learned nothing yet as HTML: its constructor call, and all its parameters on a click."""
    given = estimator.get_params(deep=False)
    rows = [(name, shortened(repr(value).split("\n")[0], LONGEST)) for name, value in given.items()]
    return markup.preformatted(call) + markup.details("all parameters", markup.pairs(rows))


def _page(estimator: Estimator) -> str:
    """Return an estimator and what it learned as HTML."""
    found = estimator.clauses().head(STRONGEST).to_pylist()
    weight = ["hard" if row["hard"] else f"{row['weight']:.6g}" for row in found]
    rows = [[row["clause"], w, str(row["support"])] for row, w in zip(found, weight, strict=True)]
    strongest = markup.table(["clause", "weight", "support"], rows, [False, True, True], caption="strongest clauses")
    return markup.preformatted(call(estimator)) + markup.pairs(estimator.facts()) + strongest


# ---- what was learned --------------------------------------------------------------------------------


class Fitted(Configured, Plotted):
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

    learned: ClassVar[tuple[str, ...]] = ()
    """What `fit` learns besides the attributes above."""

    def __repr__(self) -> str:
        """Return the constructor call, parameters with default values left out, and below it what was learned."""
        return "\n".join([call(self), *(f"  {name:<12}{value}" for name, value in self.facts())])

    def _repr_html_(self) -> str:
        return _page(self) if self._is_fitted() else parameters_html(self, call(self))

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
        learned = ("model_", "weights_", "infeasible_", "seconds_", "run_", *type(self).learned)
        if name in learned and not self._is_fitted():
            raise NotFittedError(f"this {type(self).__name__} has no {name} yet: call fit(db, model) first")
        raise no_name(
            type(self).__name__,
            name,
            [*dir(type(self)), *(each for each in learned if not self._is_fitted() or each in vars(self))],
        )

    def recorded(self) -> dict[str, object]:
        """Return the constructor's arguments by name as values of JSON: what is kept with a run.

        What learns after it has a run of its own.
        """
        return {name: _plain(value) for name, value in self.get_params(deep=False).items() if name != THEN}

    @property
    def model(self) -> Model:
        """The learned model; the same as `model_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return self.model_

    def clauses(self) -> Table:
        """Return the clauses with weight and support, the strongest first.

        A hard rule that says no more than that of some atoms at most one or exactly one is true, as a declaration `field!` does,
        states a block and is no clause: it is not listed here, nor in `sqlrl.clause`. It holds all the same, and `model_` has it.

        Returns
        -------
        Table
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
        return Table(self._table)


class WeightLearner(Fitted):
    """What learners of weights of Markov logic networks have: batch and online ones."""

    found_by: int | None = None
    """The run that found the clauses whose weights `fit` learns, which it records with its own; None if no run of this database did."""

    def check(self) -> None:
        """Refuse parameters that are out of range, as `fit` does.

        Raises
        ------
        InputError
        """
        check_parameters(self)

    def fit(self, db: Any, model: Model, *, examples: object = None, start: Model | None = None) -> Self:
        """Learn the weights of all rules of a model that are not hard; subclasses do it, and take more options."""
        raise NotImplementedError

    def recorded(self) -> dict[str, object]:
        """Return the constructor's arguments by name as values of JSON, and the run that found the clauses, if one did."""
        return {**super().recorded(), **({} if self.found_by is None else {"found_by": self.found_by})}


def _plain(value: object) -> object:
    """Return an array, a number of numpy, or a list of them, as values of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
