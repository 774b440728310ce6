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
    """A world of a weighted network, in which all hard rows and blocks hold, and what is proved about it."""

    world: BoolArray
    # No world scores more than this above it: absolute, rounding included; infinite where nothing is proved.
    gap: float
    rounding: float  # the part of the gap that comes from sums of floats and from rounding costs to integers
    # The factor (a power of two) between the costs and a solver's integers; infinite if it has none.
    scale: float = np.inf

    @property
    def optimal(self) -> bool:
        """Whether nothing but rounding is left of the gap."""
        return self.gap <= self.rounding


class Status(Enum):
    """How good a world, in which all hard clauses hold, is proved to be."""

    # No world is better by more than `SolverReport.precision`, and that is negligible: see `status_of`.
    OPTIMAL = "optimal"
    FEASIBLE = "feasible"  # no world is better by more than the gap


def status_of(proved: bool, precision: float, magnitude: float) -> Status:
    """Return whether a world may be called optimal: proved, and rounding (`precision`) at most a millionth of `magnitude`, or of 1."""
    # Such a difference changes a probability by a millionth of itself. The magnitude is of weights after equal and opposite ones were added up:
    # of weights of 1e20 that cancel it has little, but precision has all of their rounding.
    return Status.OPTIMAL if proved and precision <= RELATIVE_ERROR * max(1.0, magnitude) else Status.FEASIBLE


class UnsolvedError(SqlrlError):
    """A solver found no world within its limit, and no proof that there is none."""


@dataclass(frozen=True)
class MethodChoice:
    """What one method did, and why it was chosen."""

    method: str  # such as "presolve", "elimination", "cut", "persistency", "lp", "cpsat", "walksat"
    components: int  # connected components that it solved, 0 for methods that only fix atoms
    atoms: int
    rows: int  # ground clauses of two or more literals
    reason: str
    seconds: float  # wall time since the choice before
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        """One line."""
        components = f"{counted(self.components, 'component')}, " if self.components else ""
        sizes = f"{counted(self.atoms, 'atom')}, {counted(self.rows, 'row')}"
        return f"{self.method}: {components}{sizes} ({self.reason}), {self.seconds:.3f} s"


@dataclass(frozen=True)
class SolverReport:
    """How a most probable world was found and what is proved about it, in log-odds."""

    # OPTIMAL only if every component is proved optimal, so that `gap == precision`, and rounding is negligible.
    status: Status
    # Sum of w_i n_i over clauses that are not hard, plus the soft evidence (and the loss, if one was given) of the true atoms, evaluated with the
    # weights as given.
    objective: float
    constant: float  # the part that is the same in every world: the weights times `Network.base`; it is not printed
    # No world is better by more than this: absolute, never negative, found without the constant, so that no large constant hides it.
    gap: float
    precision: float  # the part of the gap that comes from rounding: of sums of floats, and of weights to integers
    magnitude: float  # sum of the absolute weights that the world decides about; see `status_of`
    scale: float  # the smallest factor (a power of two) between weights and a solver's integers; 1 if none needed them
    seconds: Mapping[str, float]  # wall time of each stage
    choices: tuple[MethodChoice, ...]
    # The objective without the constant, summed without it, so that no large constant takes its digits.
    decided: float | None = None
    # How far the world is from one in which every ground clause earns the most, in two parts; see `counts.violation_cost`.
    open_cost: float | None = None
    constant_cost: float | None = None
    _repr_html_ = markup.field_table

    @property
    def varying(self) -> float:
        """The objective without the constant: what is printed of it."""
        return self.objective - self.constant if self.decided is None else self.decided

    @property
    def cost(self) -> float | None:
        """What the world costs, what the evidence alone decides included."""
        if self.open_cost is None or self.constant_cost is None:
            return None
        return self.open_cost + self.constant_cost

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
            *([] if self.cost is None else [("cost", cost_text(self.cost, self.open_cost, self.constant_cost))]),
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
    """A most probable world, in which all hard clauses and blocks hold, and the report of its solver."""

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
        """What the world costs (log-odds); see `SolverReport`."""
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


def cost_text(cost: float, opened: float | None, constant: float | None) -> str:
    """Return a cost as text, in two parts where the evidence alone decides one."""
    return f"{cost:.10g} = {opened:.10g} + constant {constant:.10g}" if constant else f"{cost:.10g}"


def _summed(values: Sequence[float | None]) -> float | None:
    """Return the sum of values; None if one is not known."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if len(known) == len(values) else None


def joined(results: Sequence[MPEResult], order: IntArray) -> MPEResult:
    """Return the result of several networks that share no atom as that of one; `order` has the place of each atom in their concatenation."""
    if len(results) == 1:
        return MPEResult(results[0].world[order], results[0].report)
    reports = [each.report for each in results]
    gap, precision = sum(x.gap for x in reports), sum(x.precision for x in reports)
    magnitude = sum(x.magnitude for x in reports)
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
        open_cost=_summed([x.open_cost for x in reports]),
        constant_cost=_summed([x.constant_cost for x in reports]),
    )
    return MPEResult(np.concatenate([each.world for each in results])[order], report)


def merged(methods: Sequence[MethodChoice]) -> tuple[MethodChoice, ...]:
    """Return one choice for each method and reason, in the order in which they first come."""
    found: dict[tuple[str, str], MethodChoice] = {}
    for each in methods:
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
