"""What a learner is given: windows of a stream of examples, and the model that its weights make."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError
from sqlrl.ground.clauses import clause_table, learned_model
from sqlrl.ground.program import Program
from sqlrl.ground.windows import Window, Windows
from sqlrl.logic.model import Model

ORDERS = ("file", "shuffle")


class TrainingStream:
    """Windows of training examples, grounded one after the other.

    Parameters
    ----------
    program : Program
    examples : int64 array
        The examples in the order asked for or, failing that, of the data.
    size : int
        Examples in a window.
    order : {"file", "shuffle"}
    seed : int or None
        Seed of the shuffle.
    limit : int, optional
        The most ground clauses in a window.
    """

    def __init__(
        self,
        program: Program,
        examples: npt.NDArray[np.int64],
        *,
        size: int,
        order: str,
        seed: int | None,
        limit: int | None = None,
    ) -> None:
        if order not in ORDERS:
            raise InputError(f"order must be one of {', '.join(ORDERS)}, not {order!r}")
        if order == "shuffle":
            examples = np.random.default_rng(seed).permutation(examples)
        self.program = program
        self._windows = Windows(program, examples, size, limit)

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Iterator[Window]:
        return iter(self._windows)

    def model(self, weights: npt.NDArray[np.float64]) -> Model:
        """Return the model with these weights (log-odds by clause)."""
        return learned_model(self.program, weights)

    def clauses(self, weights: npt.NDArray[np.float64]) -> pa.Table:
        """Return the clauses with these weights."""
        return clause_table(self.program, weights)
