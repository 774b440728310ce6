"""The order and size of the windows of training examples."""

from __future__ import annotations

from typing import Literal, TypedDict

Order = Literal["file", "shuffle"]
"""As examples are given, or as they first appear in the data; or random."""


class Ordering(TypedDict):
    """How examples come in windows, and how large these may be; keywords of `Learning.training_windows`."""

    size: int | None  # examples in a window, chosen by the first ones if None; a window never spans two passes
    order: Order  # "file": as in `examples`, or as they first appear in the data; "shuffle": random
    seed: int  # of the random orders; every pass has another one
    passes: int
    limit: int | None  # the most ground clauses of one shape in a window; None for no limit
