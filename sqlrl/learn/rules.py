"""The update rules behind one set of functions: compiled code takes the right one by the type of the state.

A rule is a state (a NamedTuple: `steps`, then arrays with one place for each clause), rates (a NamedTuple of numbers) and
closed forms for a weight, a sum of weights and an update. The module of a learner registers its rule: `adagrad`, `decaying`, `additive`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.kernels import STAND_FOR, inner, kernel
from sqlrl.learn.arrays import StepScratch, WindowArrays

Rates = tuple[Any, ...]
"""The numbers of a rule, a NamedTuple."""


class RuleState(Protocol):
    """What a rule remembers of m clauses, a NamedTuple: `steps`, then arrays of shape (m,), the last step of each among them."""

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        ...

    @property
    def last(self) -> IntArray:
        """The last step that changed each clause, counted from 1; 0 if there was none."""
        ...

    def _asdict(self) -> dict[str, Any]: ...


_S = TypeVar("_S", bound=RuleState)


@dataclass(frozen=True)
class UpdateRule:
    """The functions of a rule, of Python, with the arguments of the functions below; compiled code calls them."""

    state: type
    rates: type
    new_state: Callable[[int], Any]
    weight_after: Callable[..., Any]
    total_after: Callable[..., Any]
    update_clause: Callable[..., Any]
    step_size: Callable[..., Any]
    start: str
    """The array of the state that has the weights before the first step."""

    sampled: bool = False
    """Whether a learner of the rule learns from sampled worlds."""


_RULES: dict[type, UpdateRule] = {}
"""Rules by their types. Their functions have names of their own: numba calls machine code by the name of its function and a number that each process counts
anew, so that of two lambdas in one module one could be taken for the other where processes share what is kept."""


def register(rule: UpdateRule) -> None:
    """Make a rule known by the types of its state and its rates."""
    _RULES[rule.state] = _RULES[rule.rates] = rule
    STAND_FOR.append({RuleState: rule.state, Rates: rule.rates, **({} if rule.sampled else {"chain": types.NoneType})})


# ---- what rules ask of a step ------------------------------------------------------------------------


@inner
def _label_loss(window: WindowArrays, k: int, world: BoolArray, f1: bool) -> float:
    """Return how many atoms of the k-th example a world has wrong, or 1 - F1 of its true ones (Huynh 2011, sections 4.3.2 and 5.3.2)."""
    wrong, hits = 0, 0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if window.helper[atom]:
            continue
        wrong += window.truth[atom] != world[atom]
        hits += window.truth[atom] and world[atom]
    if not f1:
        return float(wrong)
    return 0.0 if wrong == 0 else wrong / (2.0 * hits + wrong)


@inner
def _fixed_margin(window: WindowArrays, k: int, work: StepScratch) -> float:
    """What soft evidence adds to the score of the labels of the k-th example over that of `work.target`."""
    margin = 0.0
    for a in range(window.atom_start[k], window.atom_start[k + 1]):
        atom = window.atom[a]
        if window.truth[atom] != work.target[atom]:
            margin += window.prior[atom] if window.truth[atom] else -window.prior[atom]
    return margin


@inner
def _products(work: StepScratch, count: int) -> tuple[float, float]:
    """The current weights times delta n, and the sum of the squares of delta n, over the first `count` changed clauses."""
    product, square = 0.0, 0.0
    for j in range(count):
        clause = work.changed[j]
        delta = float(work.delta[clause])
        product += work.now[clause] * delta
        square += delta * delta
    return product, square


@inner
def margin_terms(window: WindowArrays, k: int, work: StepScratch, count: int, f1: bool) -> tuple[float, float, float]:
    """Return label loss less fixed margin of `work.target`, weights times delta n, and the sum of squared delta n."""
    product, square = _products(work, count)
    return _label_loss(window, k, work.target, f1) - _fixed_margin(window, k, work), product, square


def unit_step(
    state: RuleState, rates: Rates, window: WindowArrays, k: int, work: StepScratch, count: int, step: int
) -> float:
    """The length of all steps of rules that have a length for each clause, or rates of their own; compiled code only."""
    return 1.0


# ---- compiled: chosen by type ---------------------------------------------------------------------------
# The Python bodies are never run: numba replaces each call by the function that its overload returns, which takes all
# arguments, used or not, and must be a function of Python. Not `strict`: numba would want the annotations of the two to be equal.
# ruff: noqa: ARG001
def weight_after(state: RuleState, i: int, step: int, rates: Rates) -> float:
    """Return the weight of clause i after `step` steps, if its delta n was 0 since its last change; compiled code only."""
    raise NotImplementedError


def total_after(state: RuleState, i: int, step: int, rates: Rates) -> float:
    """Return the sum of the weights of clause i after each of the steps 1 to `step`; compiled code only."""
    raise NotImplementedError


def update_clause(state: RuleState, i: int, delta_n: int, step: int, rates: Rates, size: float) -> None:
    """Change clause i, whose delta n is not 0, at step `step` (from 1), by a step of `size`; compiled code only."""
    raise NotImplementedError


def step_size(
    state: RuleState, rates: Rates, window: WindowArrays, k: int, work: StepScratch, count: int, step: int
) -> float:
    """Return the length of step `step` (from 1) along the delta n of `work`, 0 for none; compiled code only."""
    raise NotImplementedError


@overload(weight_after, strict=False)
def _weight_after(state: Any, i: Any, step: Any, rates: Any) -> Any:
    return _RULES[state.instance_class].weight_after


@overload(total_after, strict=False)
def _total_after(state: Any, i: Any, step: Any, rates: Any) -> Any:
    return _RULES[state.instance_class].total_after


@overload(update_clause, strict=False)
def _update_clause(state: Any, i: Any, delta_n: Any, step: Any, rates: Any, size: Any) -> Any:
    return _RULES[state.instance_class].update_clause


@overload(step_size, strict=False)
def _step_size(state: Any, rates: Any, window: Any, k: Any, work: Any, count: Any, step: Any) -> Any:
    return _RULES[rates.instance_class].step_size


@kernel
def _read(state: RuleState, rates: Rates, weights: FloatArray, totals: FloatArray) -> None:
    for i in range(len(weights)):
        weights[i] = weight_after(state, i, state.steps, rates)
        totals[i] = total_after(state, i, state.steps, rates)


# ---- states -----------------------------------------------------------------------------------------------
def new_state(rates: Rates) -> RuleState:
    """The state of a rule before the first step, without clauses."""
    state: RuleState = _RULES[type(rates)].new_state(0)
    return state


def read(state: RuleState, rates: Rates) -> tuple[FloatArray, FloatArray]:
    """Return the weights (log-odds) after the last step and their averages over all steps, two arrays of shape (m,)."""
    weights, totals = np.empty((2, len(state.last)))
    _read(state, rates, weights, totals)
    # (w_1 + ... + w_T) / T: the weights before the first step are not counted, those before a clause was met are.
    return weights, totals / max(state.steps, 1)


def arrays_of(state: RuleState) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a state by name, not copied."""
    return {name: values for name, values in state._asdict().items() if name != "steps"}


def with_arrays(state: _S, arrays: dict[str, npt.NDArray[Any]]) -> _S:
    """The state with other arrays."""
    changed: _S = state._replace(**arrays)  # type: ignore[attr-defined]
    return changed


def with_steps(state: _S, steps: int) -> _S:
    """The state with another number of steps."""
    changed: _S = state._replace(steps=steps)  # type: ignore[attr-defined]
    return changed


def grown(state: _S, clauses: int) -> _S:
    """A copy with room for `clauses` clauses, at least as many as before; new ones are as if there from the first step."""
    return with_arrays(state, {name: longer(values, clauses) for name, values in arrays_of(state).items()})


def started(state: _S, rates: Rates, first: int, weights: FloatArray) -> _S:
    """The state in which the clauses from `first` on have weights before the first step."""
    name = _RULES[type(rates)].start
    values = arrays_of(state)[name].copy()
    values[first:] = weights
    return with_arrays(state, {**arrays_of(state), name: values})


def chosen(state: _S, clauses: IntArray) -> _S:
    """A copy with the given clauses only."""
    return with_arrays(state, {name: values[clauses] for name, values in arrays_of(state).items()})


def longer(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """A copy with zeros added up to `size`."""
    return np.concatenate([values, np.zeros(size - len(values), dtype=values.dtype)])
