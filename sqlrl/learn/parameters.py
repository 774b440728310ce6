"""What every learner may be told, and its checks; the rules of `sqlrl.learn.settings` add their own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import numpy as np

from sqlrl.errors import InputError
from sqlrl.learn.rules import AnyRates
from sqlrl.wording import shortened

OnInfeasibleTruth = Literal["warn", "skip", "error"]
Ties = Literal["errors", "first"]
Inference = Literal["exact", "relaxed"]

TIE = 1e-9
"""Worlds whose scores differ by less than this for each atom in which they differ are tied (log-odds): far below any weight that
a step makes, far above the rounding of sums."""


@dataclass(frozen=True, kw_only=True)
class Parameters(ABC):
    """How a learner learns, apart from its update rule.

    Parameters
    ----------
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from, which the sources leave open. "errors": the one farthest from
        the labels, so that a tie counts as an error, as it does in the loss; what is learned then does not depend on how
        a solver orders worlds. "first": the solver's own.
    on_infeasible_truth : {"warn", "skip", "error"}
        What to do with examples whose labels violate hard clauses: learn from them, pass over them (they are no
        steps), or raise an error.
    record_history : bool
        Report every clause whose delta n was not 0 in a step, and its weight.
    inference : {"exact", "relaxed"}
        How worlds are found; see `sqlrl.learn.worlds.relaxed_world`.
    seed : int
        Seed of CP-SAT and of sampling, from 0 to 2**31 - 1.

    Raises
    ------
    InputError
        A value is out of range; the message says which.
    """

    ties: Ties = "errors"
    on_infeasible_truth: OnInfeasibleTruth = "warn"
    record_history: bool = False
    inference: Inference = "exact"
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("errors", "first"))
        check_choice("on_infeasible_truth", self.on_infeasible_truth, ("warn", "skip", "error"))
        check_choice("inference", self.inference, ("exact", "relaxed"))
        check_flag("record_history", self.record_history)
        check_integer("seed", self.seed, 0, 2**31 - 1)

    @property
    @abstractmethod
    def rates(self) -> AnyRates:
        """The numbers of the update rule as floats; their type says which rule."""

    @property
    @abstractmethod
    def remedy(self) -> str:
        """What to change when weights grow out of range."""

    @property
    def loss_added(self) -> bool:
        """Whether delta n is taken from the world that is most probable when each wrong atom adds 1."""
        return False

    @property
    def sweeps(self) -> int:
        """Sweeps of the chain from whose end delta n is taken; 0 if it is taken from a most probable world."""
        return 0

    @property
    def augmentation(self) -> float:
        """What each wrong atom adds to the world from which delta n is taken (log-odds)."""
        if self.loss_added:
            return 1.0
        return TIE if self.ties == "errors" and self.sweeps == 0 else 0.0

    @property
    def one_world(self) -> bool:
        """Whether one world serves prediction and delta n: a relaxation is too dear to be solved twice for ties alone."""
        return self.inference == "relaxed" and not self.loss_added and self.sweeps == 0


def check_number(name: str, value: object, low: float, strict: bool, remedy: str) -> None:
    """Refuse anything but a finite number of at least (if `strict`, above) `low`; the message ends with the remedy."""
    # Compared as floats of Python: an integer may be too large for one, and numpy would cast the bound to its own type.
    number = _finite(value)
    if number is None or number < low or (strict and number == low):
        wanted = f"a finite number {'above' if strict else 'of at least'} {low:g}"
        raise InputError(f"{name}={shortened(repr(value))} is not {wanted}: {remedy}")


def _finite(value: object) -> float | None:
    """Return a number that is finite as a float; None for anything else.

    Examples
    --------
    >>> _finite(1), _finite(np.float32(0.5)), _finite(True), _finite(float("inf")), _finite(10**400)
    (1.0, 0.5, None, None, None)
    """
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def several(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a parameter that may be one number or a list of them is a list, an array or the like.

    Examples
    --------
    >>> several(1.0), several((0.1, 1)), several(np.array(1.0)), several(np.ones(1)), several("1")
    (False, True, False, True, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping) and getattr(value, "ndim", 1) > 0


def listed(name: str, value: object) -> list[Any]:
    """Return one number or several as a list, those of arrays as numbers of Python; what is neither, to be refused, alone in it.

    Raises
    ------
    InputError
        It is a generator: what is read once cannot be shown, kept with the run or used again.

    Examples
    --------
    >>> listed("C", 1.0), listed("C", (0.1, 1)), listed("C", np.array([0.5, 2.0])), listed("C", np.array(2.0))
    ([1.0], [0.1, 1], [0.5, 2.0], [2.0])
    """
    if isinstance(value, Iterator):
        raise InputError(f"{name}={value!r} can be read only once: give a list, {name}=list(...)")
    plain: object = value.tolist() if isinstance(value, np.ndarray) else value
    return list(plain) if several(plain) else [plain]


def check_integer(name: str, value: object, low: int, high: int | None = None, *, reason: str = "") -> None:
    """Refuse anything but an integer from `low` to `high`; the message ends with the reason."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < low or (high is not None and value > high):  # type: ignore[operator]
        wanted = f"an integer of at least {low}{f' and at most {high}' if high else ''}"
        raise InputError(f"{name}={value!r}: give {wanted}{reason and f', {reason}'}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse anything but one of some words.

    Examples
    --------
    >>> check_choice("order", "random", ("file", "shuffle"))
    Traceback (most recent call last):
    sqlrl.errors.InputError: order='random': choose 'file' or 'shuffle'
    """
    if value not in choices:
        *first, last = map(repr, choices)
        raise InputError(f"{name}={value!r}: choose {', '.join(first)}{' or ' if first else ''}{last}")


def check_database(db: object) -> None:
    """Refuse to learn from anything but an open database.

    Parameters
    ----------
    db : object
        What `fit` was given.

    Raises
    ------
    InputError

    Examples
    --------
    >>> check_database("cite.duckdb")
    Traceback (most recent call last):
    sqlrl.errors.InputError: fit learns from a database, not from 'cite.duckdb': open it with sqlrl.connect('cite.duckdb') and pass what that returns first
    """
    if hasattr(db, "learning"):
        return
    what = repr(db) if db is None or isinstance(db, str) else f"an object of type {type(db).__name__}"
    how = f"sqlrl.connect({db!r})" if isinstance(db, str) else "sqlrl.connect(...)"
    raise InputError(
        f"fit learns from a database, not from {what}: open it with {how} and pass what that returns first"
    )


def check_callback(name: str, value: object) -> None:
    """Refuse anything but what can be called and None.

    Examples
    --------
    >>> check_callback("on_iteration", 3)
    Traceback (most recent call last):
    sqlrl.errors.InputError: on_iteration=3: give a function, which is called with each report, or None
    """
    if value is not None and not callable(value):
        raise InputError(f"{name}={value!r}: give a function, which is called with each report, or None")


def check_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise InputError(f"{name}={value!r}: give True or False")
