"""The parameters of OSL, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl.learn.parameters import check_flag, check_integer
from sqlrl.learn.settings import AdaGradParameters


@dataclass(frozen=True)
class OSLParameters(AdaGradParameters):
    """How OSL learns; see `AdaGradParameters` for weights and `Parameters` for what all learners have.

    Parameters
    ----------
    max_length : int
        maxLen: the most atoms of a path, the start included, at least 2.
    min_count_difference : int
        minCountDiff: the least delta n of a clause that is added.
    pool : int
        Examples whose candidates are counted together (not in the paper, where it is 1): a clause is added after the last
        of them if its delta n summed over all of them suffices.
    longest_only : bool
        Drop candidates that are sub-clauses of longer ones that are added (the paper's future work).
    look_ahead : bool
        Follow only paths of which some extension may still suffice, by an upper bound on delta n (not in the paper). It
        changes no result but the patterns that are met, and so the order of clauses that are added together.

    Raises
    ------
    InputError
        A value is out of range; the message says which.
    """

    max_length: int = 4
    min_count_difference: int = 1
    pool: int = 1
    longest_only: bool = False
    look_ahead: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("max_length", self.max_length, 2, reason="since the start of a path alone makes no clause")
        for name in ("min_count_difference", "pool"):
            check_integer(name, getattr(self, name), 1)
        check_flag("longest_only", self.longest_only)
        check_flag("look_ahead", self.look_ahead)
