"""What solvers of the most probable world return: the world, how far from the best it can be, and a report of how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from sqlrl import markup
from sqlrl.errors import SqlrlError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.solve.solvers import RELATIVE_ERROR
from sqlrl.wording import counted

SHOWN = 12
"""So many choices are printed."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A world of a weighted network and what is proved about it.

    Parameters
    ----------
    world : bool array, shape (n,)
        Truth of each atom; all hard rows and blocks hold.
    gap : float
        No world scores more than this above it: absolute, rounding included; infinite where nothing is proved.
    rounding : float
        The part of the gap that comes from sums of floats and from rounding costs to integers.
    scale : float
        The factor (a power of two) between the costs and a solver's integers; infinite if it has none.
    """

    world: BoolArray
    gap: float
    rounding: float
    scale: float = np.inf

    @property
    def optimal(self) -> bool:
        """Whether nothing but rounding is left of the gap."""
        return self.gap <= self.rounding


class Status(Enum):
    """How good a world is proved to be.

    OPTIMAL: no world is better by more than `SolverReport.precision`, the rounding of floats and of integer weights, and
    that is negligible: see `status_of`.
    FEASIBLE: all hard clauses hold, and no world is better by more than the gap.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


def status_of(proved: bool, precision: float, magnitude: float) -> Status:
    """Whether a world may be called optimal: the search proved it, and rounding leaves the proof its meaning.

    Parameters
    ----------
    proved : bool
        Of the weights as the solver rounded them.
    precision : float
        By how much a world could be better after all, because of rounding (log-odds).
    magnitude : float
        What the world decides about: the sum of the absolute weights of the ground clauses after equal and opposite ones
        were added up (log-odds). Weights of 1e20 that cancel leave little of it, but all of their rounding.

    Returns
    -------
    Status
        OPTIMAL if rounding is at most a millionth of the magnitude, or of 1: such a difference in log-odds changes a
        probability by a millionth of itself.
    """
    return Status.OPTIMAL if proved and precision <= RELATIVE_ERROR * max(1.0, magnitude) else Status.FEASIBLE


class UnsolvedError(SqlrlError):
    """A solver found no world within its limit, and no proof that there is none."""


@dataclass(frozen=True)
class Choice:
    """What one method did, and why it was chosen.

    Parameters
    ----------
    method : str
        Such as "presolve", "elimination", "cut", "persistency", "lp", "cpsat", "walksat".
    components, atoms, rows : int
        How many connected components it solved (0 for methods that only fix atoms), with how many atoms and ground
        clauses of two or more literals.
    reason : str
    seconds : float
        Wall time since the choice before.
    """

    method: str
    components: int
    atoms: int
    rows: int
    reason: str
    seconds: float
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        """One line."""
        components = f"{counted(self.components, 'component')}, " if self.components else ""
        sizes = f"{counted(self.atoms, 'atom')}, {counted(self.rows, 'row')}"
        return f"{self.method}: {components}{sizes} ({self.reason}), {self.seconds:.3f} s"


@dataclass(frozen=True)
class SolverReport:
    """How a most probable world was found and what is proved about it.

    Parameters
    ----------
    status : Status
        OPTIMAL only if every component is proved optimal, so that `gap == precision`, and rounding is negligible.
    objective : float
        Sum of w_i n_i over clauses that are not hard, plus the soft evidence (and the loss, if one was given) of the
        true atoms, evaluated with the weights as given (log-odds).
    constant : float
        The part of the objective that is the same in every world: the weights times `Network.base`. It is not printed.
    gap : float
        No world is better by more than this: absolute, found without the constant, so that no large constant hides
        it. Never negative.
    precision : float
        The part of the gap that comes from rounding: of sums of floats, and of weights to integers.
    magnitude : float
        Sum of the absolute weights that the world decides about; see `status_of`.
    scale : float
        The smallest factor (a power of two) between weights and a solver's integers; 1 if none needed them.
    seconds : mapping of str to float
        Wall time of each stage.
    choices : tuple of Choice
        What each method did, and why it was chosen, in order.
    decided : float, optional
        The objective without the constant, summed without it, so that no large constant takes its digits.
    cost : float, optional
        The sum of the weights of ground clauses that the world violates, and of the absolute negative weights of those that it
        satisfies (log-odds): how far it is from a world in which every one earns the most. See `counts.violation_cost`.
    """

    status: Status
    objective: float
    constant: float
    gap: float
    precision: float
    magnitude: float
    scale: float
    seconds: Mapping[str, float]
    choices: tuple[Choice, ...]
    decided: float | None = None
    cost: float | None = None
    _repr_html_ = markup.field_table

    @property
    def varying(self) -> float:
        """The objective without the constant: what is printed of it."""
        return self.objective - self.constant if self.decided is None else self.decided

    @property
    def bound(self) -> float:
        """An upper bound on the objective of every world; where the constant is huge, read the gap instead."""
        return self.objective + self.gap

    @property
    def components(self) -> Mapping[str, int]:
        """How many connected components each method solved."""
        found: dict[str, int] = {}
        for choice in self.choices:
            if choice.components:
                found[choice.method] = found.get(choice.method, 0) + choice.components
        return found

    def __str__(self) -> str:
        """The report as a few aligned lines."""
        lines = [
            ("status", self.status.value),
            ("objective", f"{self.varying:.10g}"),
            *([] if self.cost is None else [("cost", f"{self.cost:.10g}")]),
            ("gap", f"{self.gap:.3g} (rounding {self.precision:.3g}, of weights that add up to {self.magnitude:.3g})"),
        ]
        lines += [("method" if i == 0 else "", str(choice)) for i, choice in enumerate(self.choices[:SHOWN])]
        if len(self.choices) > SHOWN:
            rest = ", ".join(f"{counted(n, 'component')} by {method}" for method, n in self.components.items())
            lines.append(("", f"and {len(self.choices) - SHOWN} more; in all {rest}"))
        if self.scale != 1:
            lines.append(("scale", f"{self.scale:.10g}"))
        lines.append(("seconds", ", ".join(f"{stage} {s:.3f}" for stage, s in self.seconds.items())))
        return "\n".join(f"{name:<12}{value}" for name, value in lines)


@dataclass(frozen=True, eq=False)
class MPEResult:
    """A most probable world and the report of its solver.

    Parameters
    ----------
    world : bool array, shape (n,)
        Truth of each atom of the network; all hard clauses and blocks hold.
    report : SolverReport
        Objective, bound, gap, time and methods.
    """

    world: BoolArray
    report: SolverReport
    _repr_html_ = markup.field_table

    @property
    def status(self) -> Status:
        """How good the world is proved to be."""
        return self.report.status

    @property
    def objective(self) -> float:
        """Score of the world (log-odds); see `SolverReport`."""
        return self.report.objective

    @property
    def cost(self) -> float | None:
        """The weights of what the world violates (log-odds); see `SolverReport`."""
        return self.report.cost

    @property
    def bound(self) -> float:
        """Upper bound on the score of every world."""
        return self.report.bound

    @property
    def gap(self) -> float:
        """Bound minus objective, found without cancellation."""
        return self.report.gap

    def __repr__(self) -> str:
        """Size of the world and the state of proof in one line."""
        report = self.report
        return (
            f"MPEResult({int(self.world.sum())} of {len(self.world)} atoms true, {report.status.value}, "
            f"objective {report.varying:.10g}, gap {report.gap:.3g})"
        )


def joined(results: Sequence[MPEResult], order: IntArray) -> MPEResult:
    """Return the result of several networks that share no atom as that of one.

    Parameters
    ----------
    results : sequence of MPEResult
        At least one.
    order : int64 array, shape (n,)
        Which of their atoms, one result after the other, is each atom of the whole.
    """
    if len(results) == 1:
        return MPEResult(results[0].world[order], results[0].report)
    reports = [each.report for each in results]
    gap, precision = sum(x.gap for x in reports), sum(x.precision for x in reports)
    magnitude = sum(x.magnitude for x in reports)
    costs = [x.cost for x in reports if x.cost is not None]
    report = SolverReport(
        status=status_of(gap <= precision, precision, magnitude),
        objective=math.fsum(x.objective for x in reports),
        constant=math.fsum(x.constant for x in reports),
        gap=gap,
        precision=precision,
        magnitude=magnitude,
        scale=min(x.scale for x in reports),
        seconds={stage: sum(x.seconds[stage] for x in reports) for stage in reports[0].seconds},
        choices=merged([choice for x in reports for choice in x.choices]),
        decided=math.fsum(x.varying for x in reports),
        cost=math.fsum(costs) if len(costs) == len(reports) else None,
    )
    return MPEResult(np.concatenate([each.world for each in results])[order], report)


def merged(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Return one choice for each method and reason, in the order in which they first come."""
    found: dict[tuple[str, str], Choice] = {}
    for each in choices:
        known = found.get((each.method, each.reason))
        found[each.method, each.reason] = (
            each
            if known is None
            else replace(
                known,
                components=known.components + each.components,
                atoms=known.atoms + each.atoms,
                rows=known.rows + each.rows,
                seconds=known.seconds + each.seconds,
            )
        )
    return tuple(found.values())
