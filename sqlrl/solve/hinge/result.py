"""What inference in a soft model is asked for, and what it returns: truth values, a bound that proves them, and a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, get_args

import numpy as np

from sqlrl import markup
from sqlrl.deprecated import takes_old_parameters
from sqlrl.errors import InfeasibleError, InputError
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.solve.result import cost_text
from sqlrl.wording import counted

Method = Literal["auto", "primal-dual", "admm"]

SHOWN = 8
"""So many hinges of a conflict are named."""


@takes_old_parameters
@dataclass(frozen=True)
class HingeOptions:
    """How far and by what method the most probable state is sought.

    Parameters
    ----------
    relative, absolute : float
        The search ends when the objective is within `relative` times itself, and `absolute` times the largest cost of a hinge (its weight
        times its multiplicity), of its lower bound.
    violation : float
        The most by which a hard hinge may be violated.
    max_iterations : int
        For each connected component; a search that ends there says so in its status.
    patience : int
        After so many iterations of a component, linear programs (HiGHS) decide whether its hard hinges can hold, and solve it if it is small
        and has no squared hinges; an interior-point method solves other small ones. Where
        there are fewer iterations than that, only hard hinges are decided.
    method : {"auto", "primal-dual", "admm"}
        By "auto", projected Newton steps where all hinges of a component are squared and soft, and the primal-dual method elsewhere, and where steps
        do not get there within `patience`. The others do without such steps: restarted reflected Halpern iteration of the primal-dual hybrid
        gradient method, or consensus ADMM, which needs more and dearer iterations wherever it was measured. See `solve.hinge`.

    Examples
    --------
    >>> HingeOptions(relative=-1.0)
    Traceback (most recent call last):
    sqlrl.errors.InputError: relative is -1.0: it must be a finite number of at least 0
    """

    relative: float = 1e-6
    absolute: float = 1e-6
    violation: float = 1e-6
    max_iterations: int = 200_000
    patience: int = 2_000
    method: Method = "auto"
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        for name in ("relative", "absolute", "violation"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError(f"{name} is {value!r}: it must be a finite number of at least 0")
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name} is {value}: it must be a finite number of at least 0")
        for name in ("max_iterations", "patience"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: it must be at least 1")
        if self.method not in get_args(Method):
            raise InputError(f"method is {self.method!r}: it must be one of {', '.join(get_args(Method))}")


class HingeStatus(Enum):
    """How good a state is proved to be."""

    # The objective is within the tolerances of its lower bound, and hard hinges hold within theirs.
    OPTIMAL = "optimal"
    FEASIBLE = "feasible"  # hard hinges hold, but the limit of iterations was reached before the gap was closed
    # The limit was reached without a state at which hard hinges hold, and without a proof that there is none.
    UNSOLVED = "unsolved"


class InfeasibleHingesError(InfeasibleError):
    """Hard hinges cannot all hold: in every state one of `rows`, of the hard `rules`, is violated by `excess` or more."""

    def __init__(self, rules: IntArray, rows: IntArray, excess: float) -> None:
        self.rules, self.rows, self.excess = rules, rows, excess
        one = len(rules) == 1
        grounds = counted(len(rows), "ground rule")
        super().__init__(
            f"hard {'rule' if one else 'rules'} {_listed(rules)} cannot {'' if one else 'all '}hold: in every state "
            f"{'' if len(rows) == 1 else 'one of '}{grounds} ({'row' if len(rows) == 1 else 'rows'} {_listed(rows)} of the network) is "
            f"violated by {excess:.6g} or more; give one of the rules a weight, or correct the truth values it reads"
        )


def _listed(numbers: IntArray) -> str:
    if len(numbers) > SHOWN:
        return f"{', '.join(map(str, numbers[:SHOWN]))} and {len(numbers) - SHOWN:,} more"
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last


@dataclass(frozen=True, eq=False)
class HingeState:
    """A state from which a search can go on, also under other weights."""

    y: FloatArray  # shape (n,): truth values, between 0 and 1
    # Shape (h,): a slope of each hinge's cost; 0 of hinges of atoms that no other atom is connected with. None are kept of a network that is let go.
    duals: FloatArray
    penalty: FloatArray  # shape (n,): the penalty (or primal weight) that was last used for the component of each atom
    _repr_html_ = markup.field_table


@dataclass(frozen=True, eq=False)
class HingeResult:
    """The most probable state of a soft model, and what is proved about it."""

    state: HingeState
    status: HingeStatus
    objective: float  # the weighted sum of the distances of all hinges that are not hard, `constant` included, at `y`
    constant: float  # the part of ground rules without a query atom, which PSL's objective leaves out
    # No state that satisfies the hard hinges has a lower objective. A state may violate them by `HingeOptions.violation`, so that its objective
    # can be less than the bound by as little.
    bound: float
    tolerance: float  # the gap that was to be reached
    # By how much a dual and the slope of its hinge's cost disagree at most, ``|s - prox(s + e)|``, and a truth value would move along its gradient,
    # ``|y - clip(y - A's)|``; in units of the largest cost.
    primal_residual: float
    dual_residual: float
    violated: int  # hard hinges that are violated by more than `HingeOptions.violation`
    violation: float  # by how much the one that is violated most is
    iterations: int  # of the component that took most
    total: int  # of all components together
    untouched: int  # atoms that no hinge of positive weight and no hard one touches: they are 0
    # How many each method solved: "closed form", "newton", "primal-dual" or "admm", "lp", "interior point".
    components: Mapping[str, int]
    unproved: int  # components whose own gap was not closed; 0 if the gap of all together is
    seconds: float
    _repr_html_ = markup.field_table

    @property
    def y(self) -> FloatArray:
        """The truth value of each atom, shape (n,)."""
        return self.state.y

    @property
    def gap(self) -> float:
        """Objective minus bound, at least 0."""
        return max(self.objective - self.bound, 0.0)

    def __repr__(self) -> str:
        """Size and state of proof in one line."""
        return (
            f"HingeResult({counted(len(self.y), 'atom')}, {self.status.value}, objective {self.objective:.10g}, gap {self.gap:.3g}, "
            f"{counted(self.iterations, 'iteration')})"
        )

    def __str__(self) -> str:
        """The report as a few aligned lines."""
        solved = ", ".join(f"{counted(n, 'component')} by {method}" for method, n in self.components.items() if n)
        lines = [
            ("status", self.status.value),
            ("objective", cost_text(self.objective, self.objective - self.constant, self.constant)),
            *(
                [("", "PSL's objective has no constant: it leaves out what the evidence alone decides")]
                * bool(self.constant)
            ),
            ("bound", f"{self.bound:.10g} (gap {self.gap:.3g}, asked {self.tolerance:.3g})"),
            ("residuals", f"primal {self.primal_residual:.3g}, dual {self.dual_residual:.3g}"),
            ("hard", f"{self.violated:,} violated, the worst by {self.violation:.3g}"),
            ("iterations", f"{self.iterations:,} ({self.total:,} in all components)"),
            ("method", solved or "nothing to solve"),
            ("seconds", f"{self.seconds:.3f}"),
        ]
        if self.unproved:
            lines.insert(
                1, ("", f"the gap of {counted(self.unproved, 'component')} is not closed: allow more iterations")
            )
        if self.untouched:
            lines.append(("untouched", f"{counted(self.untouched, 'atom')} in no hinge that counts, left at 0"))
        return "\n".join(f"{name:<12}{value}" for name, value in lines)


def without_duals(found: HingeResult) -> HingeResult:
    """Return the result of a network that is let go, of whose hinges nothing is kept."""
    return replace(found, state=HingeState(found.state.y, np.zeros(0), found.state.penalty))


def joined(results: Sequence[HingeResult], order: IntArray) -> HingeResult:
    """Return the result of several networks that share no atom as that of one; `order` has the place of each atom in their concatenation."""
    if len(results) == 1:
        return results[0]
    y, penalty, duals = (
        np.concatenate([getattr(each.state, name) for each in results]) for name in ("y", "penalty", "duals")
    )
    worst = max(list(HingeStatus).index(each.status) for each in results)
    methods = dict.fromkeys(method for each in results for method in each.components)
    return HingeResult(
        # Duals are those of one network after the other.
        state=HingeState(y[order], duals, penalty[order]),
        status=list(HingeStatus)[worst],
        objective=math.fsum(each.objective for each in results),
        constant=math.fsum(each.constant for each in results),
        bound=math.fsum(each.bound for each in results),
        tolerance=math.fsum(each.tolerance for each in results),
        primal_residual=max(each.primal_residual for each in results),
        dual_residual=max(each.dual_residual for each in results),
        violated=sum(each.violated for each in results),
        violation=max(each.violation for each in results),
        iterations=max(each.iterations for each in results),
        total=sum(each.total for each in results),
        untouched=sum(each.untouched for each in results),
        components={method: sum(each.components.get(method, 0) for each in results) for method in methods},
        unproved=sum(each.unproved for each in results),
        seconds=math.fsum(each.seconds for each in results),
    )
