"""What is kept for the next call: the program that was bound last, which data that only grew leave as it is, and rules that were compiled."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
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


@dataclass(eq=False)
class _Kept:
    """A program, and the model and roles that it was bound for."""

    model: Model
    roles: Roles
    program: Program
    described: object  # what was recorded of the data that it is about
    prepared: dict[bool, PreparedProgram] = field(default_factory=dict)  # by whether it is about all examples

    def is_for(self, model: Model, roles: Roles) -> bool:
        """Whether it was bound for a model and roles."""
        # By identity: to compare thousands of rules takes as long as to bind them.
        return self.model is model and self.roles == roles


class KeptProgram:
    """At most one program of a session, with its parameter tables, between two calls; it is taken out while it is in use."""

    def __init__(self) -> None:
        self._kept: _Kept | None = None
        self._used: _Kept | None = None  # that is in use, if it was kept and nothing changed
        self._new: tuple[Program, dict[bool, PreparedProgram]] | None = None  # one in use that was not kept, prepared

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
        self._kept, self._used = None, kept
        return kept.program

    def take(self, model: Model, roles: Roles, layout: Layout) -> Program | None:
        """Return the program if it was bound for this model and its clauses are those of the layout, too."""
        kept, self._kept, self._used = self._kept, None, None
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

        used = self._used
        if used is None or used.program is not program:
            if not asked:
                return None
            if self._new is None or self._new[0] is not program:
                self._new = program, {}
            found = self._new[1]
        else:
            found = used.prepared
        if whole not in found and why_not(program) is None:
            found[whole] = PreparedProgram(program, whole=whole)
        return found.get(whole)

    def keep(self, model: Model, roles: Roles, program: Program, described: object) -> None:
        """Keep a program in place of the one before."""
        used, new = self._used, self._new
        self.close()
        if used is not None and used.program is program and used.described == described:
            self._kept = used
        else:
            prepared = new[1] if new is not None and new[0] is program else {}
            self._kept = _Kept(model, roles, program, described, prepared)

    def close(self) -> None:
        """Close the program, if there is one."""
        kept, self._kept = self._kept, None
        self._used = self._new = None
        if kept is not None:
            kept.program.close()

    def forget(self) -> None:
        """Let the program go with its tables as they are."""
        self._kept = self._used = self._new = None

    def __del__(self, finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # A cursor that nobody closed: its tables would stay as long as the database that it is of. That ends with the interpreter, whose modules may
        # be empty by then; so the function that tells is bound here.
        if not finalizing() and self._kept is not None:
            try:
                self.close()
            except Exception:
                logger.debug("the tables of a program that was kept could not be dropped", exc_info=True)
