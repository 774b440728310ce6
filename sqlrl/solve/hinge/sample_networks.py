"""Small networks of hinges for documentation, tests and benchmarks, written down instead of grounded in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.solve.structure import pointers

# A hinge: its rule, its coefficients by atom, its constant, and its multiplicity, 1 if it is left out.
Written = tuple[int, Mapping[int, float], float] | tuple[int, Mapping[int, float], float, int]


def hinge_network(
    atoms: int, rules: Sequence[str], hinges: Sequence[Written], base: Sequence[float] | None = None
) -> HingeNetwork:
    """Return a network from a list of hinges, atom k with id k; rules contain "2" if squared, "." if hard, "=" if an equality."""
    ordered = sorted(hinges, key=lambda hinge: hinge[0])
    terms = [sorted(hinge[1].items()) for hinge in ordered]
    squared, hard, equal = (np.array([sign in rule for rule in rules], dtype=np.bool_) for sign in "2.=")
    return HingeNetwork(
        np.arange(atoms),
        pointers(np.array([len(x) for x in terms], dtype=np.int64)),
        np.array([atom for x in terms for atom, _ in x], dtype=np.int64),
        np.array([value for x in terms for _, value in x], dtype=np.float64),
        np.array([hinge[2] for hinge in ordered], dtype=np.float64),
        np.array([hinge[3] if len(hinge) == 4 else 1 for hinge in ordered], dtype=np.int64),
        np.array([hinge[0] for hinge in ordered], dtype=np.int64),
        squared,
        hard,
        equal,
        np.zeros(len(rules)) if base is None else np.array(base, dtype=np.float64),
    )
