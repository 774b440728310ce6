"""What iterative learners say when they end before they have converged: one warning, in the same words for all."""

from __future__ import annotations

from sqlrl.errors import ConvergenceWarning, warn
from sqlrl.wording import counted


def warn_unconverged(learner: str, iterations: int, off: object, remedy: object) -> None:
    """Warn that a learner ended early: how far off its weights are, in numbers, and what to change."""
    warn(
        f"{learner} ended after {counted(iterations, 'iteration')} and has not converged: {off}; {remedy}",
        ConvergenceWarning,
    )
