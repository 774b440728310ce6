"""What resolwe has counted of a stream so far, as it is and as it decays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sqlrl.ground.candidates import JointCounts
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.logic.candidates import Candidate


@dataclass(frozen=True, eq=False)
class StreamCounts:
    """The counts of m candidates after some windows of a stream."""

    total: JointCounts  # of all subgraphs so far
    # `total.n` decayed with a half-life in subgraphs, shape (m, patterns); a window decays as a whole.
    recent: FloatArray | None = None
    windows: int = 0
    subgraphs: int = 0

    @classmethod
    def none(cls, candidates: Sequence[Candidate], *, decaying: bool) -> Self:
        """Return the counts of no data."""
        total = JointCounts.none(candidates)
        return cls(total, total.n.astype(np.float64) if decaying else None)

    @property
    def n(self) -> IntArray | FloatArray:
        """What structure is chosen by."""
        return self.total.n if self.recent is None else self.recent

    def after(self, counts: JointCounts, subgraphs: int, *, half_life: float | None) -> Self:
        """Return the counts with those of another window of so many subgraphs."""
        recent = self.recent
        if recent is not None and half_life is not None:
            recent = recent * 0.5 ** (subgraphs / half_life) + counts.n
        return type(self)(self.total + counts, recent, self.windows + 1, self.subgraphs + subgraphs)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all of it as arrays."""
        found: dict[str, npt.NDArray[Any]] = {
            "n": self.total.n,
            "groundings": self.total.groundings,
            "windows": np.array(self.windows, dtype=np.int64),
            "subgraphs": np.array(self.subgraphs, dtype=np.int64),
        }
        return found if self.recent is None else {**found, "recent": self.recent}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return what `arrays` had."""
        total = JointCounts(arrays["n"], arrays["groundings"])
        # Runs that earlier versions saved have no number of subgraphs, which no result depends on where nothing decays.
        return cls(total, arrays.get("recent"), int(arrays["windows"]), int(arrays.get("subgraphs", 0)))
