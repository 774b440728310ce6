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
    from sqlrl.ground.prepared import PreparedProgram
    from sqlrl.ground.program import Program

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class _Kept:
    """A program, the model and roles that it was bound for, and what was recorded of its data then."""

    model: Model
    roles: Roles
    program: Program
    described: object

    def is_for(self, model: Model, roles: Roles) -> bool:
        """Whether it was bound for a model and roles."""
        # By identity: to compare thousands of rules takes as long as to bind them.
        return self.model is model and self.roles == roles


class KeptProgram:
    """At most one program of a session, with its parameter tables, between two calls; it is taken out while it is in use."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        # The statements of the program that is kept or in use, by whether they are about all examples, and whether it is in use again, unchanged.
        self._prepared: dict[bool, PreparedProgram] = {}
        self._repeated = False

    @cached_property
    def compiled(self) -> CompiledRules:
        """Rules that were compiled, for the next model that has them."""
        from sqlrl.ground.binding import CompiledRules

        return CompiledRules()

    def again(self, model: Model, roles: Roles, described: Callable[[Program], object]) -> Program | None:
        """Return the program if it was bound for this model, and nothing is recorded of its data that was not then."""
        kept = self._kept
        if kept is None or not kept.is_for(model, roles) or kept.described != described(kept.program):
            return None
        self._kept, self._repeated = None, True
        return kept.program

    def take(self, model: Model, roles: Roles, layout: Layout) -> Program | None:
        """Return the program if it was bound for this model and its clauses are those of the layout, too."""
        kept = self._kept
        self.forget()
        if kept is None:
            return None
        try:
            if kept.is_for(model, roles) and kept.program.follow(layout):
                return kept.program
        except BaseException:
            kept.program.close()
            raise
        kept.program.close()
        return None

    def prepared(self, program: Program, *, whole: bool, asked: bool) -> PreparedProgram | None:
        """Return a program that is in use with its statements rendered, from its second use on, with `asked` from its first."""
        from sqlrl.ground.prepared import PreparedProgram, why_not

        if not (asked or self._repeated) or why_not(program) is not None:
            return None
        found = self._prepared.get(whole)
        if found is None or found.program is not program:
            found = self._prepared[whole] = PreparedProgram(program, whole=whole)
        return found

    def keep(self, model: Model, roles: Roles, program: Program, described: object) -> None:
        """Keep a program in place of the one before."""
        if self._kept is not None:
            self._kept.program.close()
        self._kept, self._repeated = _Kept(model, roles, program, described), False

    def close(self) -> None:
        """Close the program, if there is one."""
        kept = self._kept
        self.forget()
        if kept is not None:
            kept.program.close()

    def forget(self) -> None:
        """Let the program go with its tables as they are."""
        self._kept, self._prepared, self._repeated = None, {}, False

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # A cursor that nobody closed: its tables would stay as long as the database that it is of. That ends with the interpreter, whose modules may
        # be empty by then; so the function that tells is bound here.
        if not finalizing() and self._kept is not None:
            try:
                self.close()
            except Exception:
                logger.debug("the tables of a program that was kept could not be dropped", exc_info=True)
