"""What an OSL learner remembers between windows, and the arrays that it is saved as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.learn.adagrad import AdaGradState
from sqlrl.learn.arrays import Tally
from sqlrl.learn.labels import InfeasibleTruth, no_infeasible_truth
from sqlrl.logic.shapes import Shape
from sqlrl.structure.additions import Addition, from_arrays, patterns_from_text, patterns_to_text, to_arrays
from sqlrl.structure.growing import Growing
from sqlrl.structure.searched import Searched

_INFEASIBLE = ("clause", "example", "count")


class Kept(NamedTuple):
    """A learner between two windows.

    Parameters
    ----------
    steps : int
        Number of steps so far.
    model, added : Growing
        Weights of the model's clauses and of the added ones.
    additions : tuple of Addition
    infeasible : InfeasibleTruth
        Hard clauses that the labels so far violate.
    searched : Searched
    """

    steps: int
    model: Growing
    added: Growing
    additions: tuple[Addition, ...]
    infeasible: InfeasibleTruth
    searched: Searched


def nothing_kept() -> Kept:
    """Return what a learner remembers before the first window.

    Examples
    --------
    >>> nothing_kept().steps
    0
    """
    return Kept(0, Growing.empty(), Growing.empty(), (), no_infeasible_truth(), Searched())


def to_state(kept: Kept, patterns: Iterable[Shape]) -> dict[str, npt.NDArray[Any]]:
    """Return all that a learner needs to go on later as plain arrays, which are copies.

    Parameters
    ----------
    kept : Kept
    patterns : iterable of Shape
        Those of the pattern book, in its order.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"steps": np.array(kept.steps, dtype=np.int64)}
    for name, growing in (("model", kept.model), ("added", kept.added)):
        arrays |= {f"{name}_{key}": x for key, x in growing.state._asdict().items() if key != "steps"}
        arrays |= {f"{name}_{key}": x for key, x in growing.tally._asdict().items()}
    arrays |= {f"addition_{key}": x for key, x in to_arrays(kept.additions).items()}
    # Bytes of a text, as numbers of a type that databases have.
    arrays["patterns"] = np.frombuffer(patterns_to_text(patterns).encode(), dtype=np.uint8).astype(np.int64)
    arrays |= {f"infeasible_{key}": getattr(kept.infeasible, key) for key in _INFEASIBLE}
    arrays["searched"] = np.array(astuple(kept.searched), dtype=np.int64)
    return {name: x.copy() for name, x in arrays.items()}


def from_state(state: Mapping[str, npt.NDArray[Any]]) -> tuple[Kept, list[Shape]]:
    """Return what `to_state` was given.

    Raises
    ------
    InputError
        The arrays are not those of an OSL learner.

    Examples
    --------
    >>> kept, patterns = from_state(to_state(nothing_kept(), []))
    >>> kept.steps, kept.additions, patterns
    (0, (), [])
    """
    empty = to_state(nothing_kept(), [])
    if set(empty) - set(state):
        raise InputError(f"a state of this learner has the arrays {', '.join(empty)}")
    taken = {name: np.array(state[name], dtype=array.dtype) for name, array in empty.items()}
    parts = []
    for name in ("model", "added"):
        weights, *others = (taken[f"{name}_{key}"] for key in AdaGradState._fields[1:])
        tally = Tally(*(taken[f"{name}_{key}"] for key in Tally._fields))
        parts.append(Growing(AdaGradState(0, weights, *others), tally, len(weights)))
    additions = from_arrays(
        {key.removeprefix("addition_"): x for key, x in taken.items() if key.startswith("addition_")}
    )
    infeasible = InfeasibleTruth(*(taken[f"infeasible_{key}"] for key in _INFEASIBLE))
    patterns = patterns_from_text(taken["patterns"].astype(np.uint8).tobytes().decode())
    searched = Searched(*taken["searched"].tolist())
    return Kept(int(taken["steps"]), parts[0], parts[1], tuple(additions), infeasible, searched), patterns
