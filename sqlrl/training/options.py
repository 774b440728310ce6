"""What every `fit` is asked besides what to learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What `fit` is asked besides what to learn from."""

    callback: Callable[[Any], object] | None = None  # told of each step, when it has been saved
    checkpoint: bool = False  # save each step
    resume: int | None = None  # a saved run to go on with, and to go on saving

    @property
    def saving(self) -> bool:
        """Whether steps are saved."""
        return self.checkpoint or self.resume is not None
