"""What a solver of the most probable world returns: the world, and a report of how well it is proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sqlrl.errors import SqlrlError
from sqlrl.ground.network import BoolArray


class Status(Enum):
    """How good a world is proved to be.

    OPTIMAL: no world is better by more than `SolverReport.precision`, the rounding of floats and of integer weights.
    FEASIBLE: all hard clauses hold, and no world is better by more than the gap.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"


class UnsolvedError(SqlrlError):
    """A solver found no world within its limit, and no proof that there is none."""


@dataclass(frozen=True)
class SolverReport:
    """How a most probable world was found and what is proved about it.

    Parameters
    ----------
    status : Status
        OPTIMAL only if every component is proved optimal; then `gap == precision`.
    objective : float
        Sum of w_i n_i over clauses that are not hard, plus the soft evidence (and the loss, if one was given) of the
        true atoms, evaluated with the weights as given (log-odds).
    constant : float
        The part of the objective that is the same in every world: the weights times `Network.base`.
    gap : float
        No world is better by more than this: absolute, found without the constant, so that no large constant hides
        it. Never negative.
    precision : float
        The part of the gap that comes from rounding: of sums of floats, and of weights to integers.
    scale : float
        The smallest factor (a power of two) between a component's weights and CP-SAT's integers; 1 if it never ran.
    seconds : mapping of str to float
        Wall time of each stage.
    components : mapping of str to int
        How many connected components each method solved.
    """

    status: Status
    objective: float
    constant: float
    gap: float
    precision: float
    scale: float
    seconds: Mapping[str, float]
    components: Mapping[str, int]

    @property
    def bound(self) -> float:
        """An upper bound on the objective of every world; where the constant is huge, read the gap instead."""
        return self.objective + self.gap

    def __str__(self) -> str:
        """The report as a few aligned lines.

        Examples
        --------
        >>> print(SolverReport(Status.OPTIMAL, 2.5, 0.0, 1e-15, 1e-15, 1.0, {"elimination": 0.01}, {"elimination": 3}))
        status      optimal
        objective   2.5
        gap         1e-15 (rounding 1e-15)
        components  3 by elimination
        seconds     elimination 0.010
        """
        lines = [
            ("status", self.status.value),
            ("objective", f"{self.objective:.10g}"),
            ("gap", f"{self.gap:.3g} (rounding {self.precision:.3g})"),
            ("components", ", ".join(f"{n} by {method}" for method, n in self.components.items()) or "none"),
        ]
        if "cpsat" in self.components:
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

    @property
    def status(self) -> Status:
        """How good the world is proved to be."""
        return self.report.status

    @property
    def objective(self) -> float:
        """Score of the world (log-odds); see `SolverReport`."""
        return self.report.objective

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
            f"objective {report.objective:.10g}, gap {report.gap:.3g})"
        )
