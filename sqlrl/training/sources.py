"""Where windows of training examples come from, if not from names of loaded examples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from sqlrl.logic.model import Model
from sqlrl.training.session import Session

if TYPE_CHECKING:
    from sqlrl.training.ordering import Ordering
    from sqlrl.training.stream import ClauseChanges, TrainingStream


class WindowSource(ABC):
    """Examples that come in windows of their own, in place of names of loaded examples."""

    @abstractmethod
    def training(
        self, session: Session, model: Model, order: Ordering, changes: ClauseChanges | None
    ) -> AbstractContextManager[TrainingStream]:
        """Show them as grounded windows while the context is open."""
