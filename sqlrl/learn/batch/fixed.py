"""What hard clauses and blocks fix before any weight is known, and what is said where they cannot all hold."""

from __future__ import annotations

import numpy as np

from sqlrl.learn.batch.problem import Problem
from sqlrl.learn.stepping import describer
from sqlrl.learn.worlds import exact_world
from sqlrl.solve.restrict import UnsatisfiableError, Values
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.weighed import weigh


def fixed_values(problem: Problem, *, seed: int) -> Values:
    """The atoms that hard clauses and blocks fix, as far as units show it: 0, 1 or -1 (free), shape (n,).

    Raises
    ------
    ConflictError
        The hard clauses cannot all hold, and units show it.
    """
    try:
        return propagate(weigh(problem.network, np.zeros(len(problem.network.clauses))))
    except UnsatisfiableError:
        raise_conflict(problem, seed)
        raise


def raise_conflict(problem: Problem, seed: int) -> None:
    """Say in words which hard clauses cannot all hold, if they cannot."""
    network = problem.network
    # `mpe` finds the same contradiction, and explains it.
    exact_world(network, np.zeros(len(network.clauses)), None, seed=seed, describe=describer(network, problem.names))
