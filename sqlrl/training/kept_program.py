"""What is kept for the next call: the program that was bound last, which data that only grew leave as it is, and rules that were compiled."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sqlrl.catalog.layout import Layout
from sqlrl.catalog.roles import Roles
from sqlrl.logic.model import Model

if TYPE_CHECKING:
    from sqlrl.ground.binding import CompiledRules
    from sqlrl.ground.program import Program

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Kept:
    """A program, and the model and roles that it was bound for."""

    model: Model
    roles: Roles
    program: Program


class KeptProgram:
    """At most one program of a session, with its parameter tables, between two calls; it is taken out while it is in use."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None

    @cached_property
    def compiled(self) -> CompiledRules:
        """Rules that were compiled, for the next model that has them."""
        from sqlrl.ground.binding import CompiledRules

        return CompiledRules()

    def take(self, model: Model, roles: Roles, layout: Layout) -> Program | None:
        """Return the program if it was bound for this model and its clauses are those of the layout, too."""
        kept, self._kept = self._kept, None
        if kept is None:
            return None
        try:
            # By identity: to compare thousands of rules takes as long as to bind them.
            if kept.model is model and kept.roles == roles and kept.program.follow(layout):
                return kept.program
        except BaseException:
            kept.program.close()
            raise
        kept.program.close()
        return None

    def keep(self, model: Model, roles: Roles, program: Program) -> None:
        """Keep a program in place of the one before."""
        self.close()
        self._kept = _Kept(model, roles, program)

    def close(self) -> None:
        """Close the program, if there is one."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.program.close()

    def forget(self) -> None:
        """Let the program go with its tables as they are."""
        self._kept = None

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # A cursor that nobody closed: its tables would stay as long as the database that it is of. That ends with the interpreter, whose modules may
        # be empty by then; so the function that tells is bound here.
        if not finalizing() and self._kept is not None:
            try:
                self.close()
            except Exception:
                logger.debug("the tables of a program that was kept could not be dropped", exc_info=True)
