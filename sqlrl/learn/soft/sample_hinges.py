"""Small networks of hinges for documentation, tests and benchmarks, written down instead of grounded in SQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.solve.structure import pointers

Hinge = tuple[int, Mapping[int, float], float, int]
"""A rule, the coefficients of atoms, a constant and a multiplicity."""


def hinge_network(
    hinges: Sequence[Hinge],
    *,
    atoms: int | None = None,
    rules: int | None = None,
    squared: Collection[int] = (),
    hard: Collection[int] = (),
    equal: Collection[int] = (),
) -> HingeNetwork:
    """A network from a list of hinges; atom i has id i. `squared`, `hard` and `equal` are rules."""
    ordered = sorted(hinges, key=lambda hinge: hinge[0])
    m = rules if rules is not None else 1 + max((hinge[0] for hinge in ordered), default=-1)
    n = atoms if atoms is not None else 1 + max((max(hinge[1]) for hinge in ordered), default=-1)
    terms = [sorted(hinge[1].items()) for hinge in ordered]
    are_squared, are_hard, are_equal = (np.isin(np.arange(m), list(kind)) for kind in (squared, hard, equal))
    return HingeNetwork(
        np.arange(n, dtype=np.int64),
        pointers(np.array([len(each) for each in terms], dtype=np.int64)),
        np.array([i for each in terms for i, _ in each], dtype=np.int64),
        np.array([a for each in terms for _, a in each], dtype=np.float64),
        np.array([hinge[2] for hinge in ordered], dtype=np.float64),
        np.array([hinge[3] for hinge in ordered], dtype=np.int64),
        np.array([hinge[0] for hinge in ordered], dtype=np.int64),
        are_squared,
        are_hard,
        are_equal,
        np.zeros(m),
    )
