"""The parameters of the bottom-clause learner, checked when they are made, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from sqlrl.errors import InputError
from sqlrl.learn.parameters import check_choice, check_flag, check_integer, check_number
from sqlrl.structure.ilp.scores import EVALUATIONS, Evaluation

Command = Literal["induce", "induce_cover", "induce_max"]
COMMANDS: tuple[Command, ...] = get_args(Command)
Distinct = Literal["clause", "coverage"]
SeedOrder = Literal["file", "shuffle"]

OF_ALEPH: Mapping[str, str] = {
    "depth": "i",
    "clause_length": "clauselength",
    "min_positive": "minpos",
    "noise": "noise",
    "nodes": "nodes",
    "evaluation": "evalfn",
    "m": "m",
    "min_score": "minscore",
    "min_accuracy": "minacc",
}
"""Parameters that a bias may set, and what Aleph calls them."""


@dataclass(frozen=True, kw_only=True)
class ILPParameters:
    """How clauses are found; `ILP` says what each parameter means.

    Raises
    ------
    InputError
        A value is out of range; the message says which.

    Examples
    --------
    >>> ILPParameters(noise=-1)
    Traceback (most recent call last):
    sqlrl.errors.InputError: noise=-1: give an integer of at least 0
    """

    command: Command = "induce_cover"
    depth: int = 2
    clause_length: int = 5
    min_positive: int = 2
    noise: int = 300
    nodes: int = 5000
    evaluation: Evaluation = "auto_m"
    m: float | Literal["likelihood"] | None = None
    min_score: float = 0.6
    min_accuracy: float = 0.0
    keep_above: float | None = None
    explore: bool = False
    above_seed: bool = True
    distinct: Distinct = "clause"
    order: SeedOrder = "file"
    seed: int = 0
    bottom_limit: int = 2000
    keep_coverage: bool = False

    def __post_init__(self) -> None:
        check_choice("command", self.command, COMMANDS)
        for name in ("depth", "clause_length", "min_positive", "nodes", "bottom_limit"):
            check_integer(name, getattr(self, name), 1)
        check_integer("noise", self.noise, 0)
        check_choice("evaluation", self.evaluation, EVALUATIONS)
        if self.m is not None and self.m != "likelihood":
            check_number("m", self.m, 0.0, False, "or 'likelihood', or None for the root of what a clause covers")
        if self.m is not None and self.evaluation != "mestimate":
            raise InputError(f"m={self.m!r} goes with evaluation='mestimate', not with {self.evaluation!r}")
        lowest = float("-1e308")
        if self.min_score != -math.inf:
            check_number("min_score", self.min_score, lowest, False, "the least score of an acceptable clause, or -inf")
        check_number("min_accuracy", self.min_accuracy, 0.0, False, "it is a share of what a clause covers")
        if self.min_accuracy > 1:
            raise InputError(f"min_accuracy={self.min_accuracy!r} is above 1: it is a share of what a clause covers")
        if self.keep_above is not None:
            check_number("keep_above", self.keep_above, lowest, False, "or None to keep no other clauses")
        check_choice("distinct", self.distinct, get_args(Distinct))
        check_choice("order", self.order, get_args(SeedOrder))
        check_integer("random_state", self.seed, 0, 2**31 - 1)
        for name in ("explore", "above_seed", "keep_coverage"):
            check_flag(name, getattr(self, name))


def resolved(given: Mapping[str, Any], settings: Mapping[str, Any]) -> ILPParameters:
    """Return the parameters: what is given comes first, then what the bias sets, then the defaults.

    Parameters
    ----------
    given : mapping
        By the names of `ILPParameters`; None is not given.
    settings : mapping
        Aleph's settings of a bias.

    Examples
    --------
    >>> found = resolved({"noise": 5, "nodes": None}, {"noise": 0, "nodes": 100, "verbosity": 0})
    >>> found.noise, found.nodes, found.depth
    (5, 100, 2)
    """
    values = {name: settings[aleph] for name, aleph in OF_ALEPH.items() if aleph in settings}
    # A bias says m for mestimate only.
    if {**values, **{k: v for k, v in given.items() if v is not None}}.get("evaluation") != "mestimate":
        values.pop("m", None)
    known = {field.name for field in fields(ILPParameters)}
    values |= {name: value for name, value in given.items() if value is not None and name in known}
    return ILPParameters(**values)
