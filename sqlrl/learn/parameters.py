"""Parameters of learners, each declared once: in the signature of a constructor, by its type, range, default value and help.

    def __init__(self, sigma: Annotated[float, Above(0, "..."), Option("weight of the regulariser")] = 0.0001) -> None:

From there come the checks, `get_params`, the option of the command line, and the text of a value, which is the same in Python, on the
command line and in SQL: numbers, `true` and `false`, `none`, words, lists in brackets, texts in quotes, and an estimator by its word
with its own parameters, `adagrad(delta=2.0)`.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

import numpy as np

from sqlrl.deprecated import old_parameters
from sqlrl.errors import InputError, Parameter, Phrase, Written, both_ends
from sqlrl.logic.lexer import nearest
from sqlrl.logic.limits import DEEPEST, LONGEST_INTEGER
from sqlrl.slips import PARAMETERS, RECIPROCAL
from sqlrl.training.options import FitOptions
from sqlrl.wording import counted, shortened

# ---- what a declaration says -------------------------------------------------------------------------
# Without equality: `Annotated` caches by it, and `Literal`s with the same words in another order are equal.


@dataclass(frozen=True, eq=False)
class Above:
    """Finite numbers above a bound; the remedy ends the message about others."""

    low: float
    remedy: str

    def check(self, name: str, value: object) -> None:
        """Refuse another value."""
        check_number(name, value, self.low, True, self.remedy)


@dataclass(frozen=True, eq=False)
class AtLeast:
    """Finite numbers from a bound on; the remedy ends the message about others."""

    low: float
    remedy: str

    def check(self, name: str, value: object) -> None:
        """Refuse another value."""
        check_number(name, value, self.low, False, self.remedy)


@dataclass(frozen=True, eq=False)
class Whole:
    """Integers in a range; the reason ends the message about others."""

    low: int
    high: int | None = None
    reason: str = ""

    def check(self, name: str, value: object) -> None:
        """Refuse another value."""
        check_integer(name, value, self.low, self.high, reason=self.reason)


Range = Above | AtLeast | Whole


@dataclass(frozen=True, eq=False)
class Option:
    """How the command line shows a parameter."""

    help: str  # a phrase; that of a flag says the opposite of the default value
    name: str | None = None  # where it is not the parameter's
    panel: str | None = None  # the group of options that it is shown with, by default that of its learners
    value: str | None = None  # stands for the value in the help
    default: str | None = None  # describes a default value that is not in the signature

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return f"{self.help[0].upper()}{self.help[1:]}."


@dataclass(frozen=True)
class Declaration:
    """A parameter as a signature declares it."""

    name: str
    kind: Any  # a type, or a `Literal`; without annotations, None and "or several"
    optional: bool
    several: bool
    default: object
    range: Range | None
    option: Option | None

    @property
    def choices(self) -> tuple[str, ...]:
        """The words to choose from, if it is one of some words."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()

    @property
    def estimator(self) -> bool:
        """Whether it is an estimator."""
        return hasattr(self.kind, "get_params")

    def check(self, value: object) -> None:
        """Refuse a value of another type or out of range; of types that this page does not know it refuses none."""
        if value is None and self.optional:
            return
        if self.several:
            values = listed(self.name, value)
            if not values:
                remedy = getattr(self.range, "remedy", "give one or several")
                raise InputError(f"{Parameter(self.name, value)} has no value: {remedy}")
        else:
            values = [value]
        for each in values:
            if self.choices:
                check_choice(self.name, each, self.choices)
            elif self.range is not None and self.kind in (int, float):
                self.range.check(self.name, each)
            elif self.kind is bool:
                _check_flag(self.name, each)


_SEVERAL = (Sequence, np.ndarray)
"""Types of several numbers."""

_KNOWN: dict[type, Mapping[str, Declaration]] = {}

REQUIRED = inspect.Parameter.empty
"""The default value of a parameter that has none."""


def declarations(kind: type) -> Mapping[str, Declaration]:
    """Return the parameters of a constructor by name: its own, then those that it hands on to the base class (`**common`)."""
    if kind in _KNOWN:
        return _KNOWN[kind]
    own: dict[str, Declaration] = {}
    base: Mapping[str, Declaration] = {}
    function = next(each for each in kind.__mro__ if "__init__" in vars(each))
    hints = get_type_hints(function.__init__, include_extras=True)  # type: ignore[misc]
    for name, parameter in inspect.signature(function.__init__).parameters.items():  # type: ignore[misc]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            base = declarations(function.__mro__[1])
        elif name != "self":
            own[name] = _declaration(name, hints[name], parameter.default)
    # A parameter of the base class that is declared anew keeps its place there, with the new default value.
    first = {name: each for name, each in own.items() if name not in base}
    found = _KNOWN[kind] = first | {name: own.get(name, each) for name, each in base.items()}
    return found


def _declaration(name: str, hint: Any, default: object) -> Declaration:
    """Take an annotation apart."""
    beside: list[Any] = []
    kinds = _kinds(hint, beside)
    single = [kind for kind in kinds if kind is not NoneType and get_origin(kind) not in _SEVERAL]
    return Declaration(
        name,
        single[0] if len(single) == 1 else object,
        NoneType in kinds,
        any(get_origin(kind) in _SEVERAL for kind in kinds),
        default,
        next((each for each in beside if isinstance(each, Range)), None),
        next((each for each in beside if isinstance(each, Option)), None),
    )


def _kinds(hint: Any, beside: list[Any]) -> list[Any]:
    """Return the types that an annotation joins, and add what stands beside them."""
    if get_origin(hint) is Annotated:
        kind, *more = get_args(hint)
        beside += more
        return _kinds(kind, beside)
    if get_origin(hint) in (Union, UnionType):
        return [kind for part in get_args(hint) for kind in _kinds(part, beside)]
    return [hint]


def check_parameters(estimator: object) -> None:
    """Refuse values that the declarations of an estimator do not allow."""
    for name, each in declarations(type(estimator)).items():
        each.check(getattr(estimator, name))


# ---- checks ------------------------------------------------------------------------------------------


def check_number(name: str, value: object, low: float, strict: bool, remedy: str) -> None:
    """Refuse anything but a finite number of at least (if `strict`, above) `low`; the message ends with the remedy."""
    # Compared as floats of Python: an integer may be too large for one, and numpy would cast the bound to its own type.
    number = _finite(value)
    if number is None or number < low or (strict and number == low):
        wanted = f"a finite number {'above' if strict else 'of at least'} {low:g}"
        raise InputError(
            f"{Parameter(name, shortened(value) if isinstance(value, str) else Written(shortened(repr(value))))} is not {wanted}: {remedy}"
        )


def _finite(value: object) -> float | None:
    """Return a number that is finite as a float; None for anything else."""
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def several(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a parameter that may be one number or a list of them is a list, an array or the like."""
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping) and getattr(value, "ndim", 1) > 0


def listed(name: str, value: object) -> list[Any]:
    """Return one number or several as a list of Python numbers, and anything else alone in it; an iterator is an InputError."""
    # What is read once cannot be shown, kept with the run or used again.
    if isinstance(value, Iterator):
        raise InputError(
            f"{Parameter(name, value)} can be read only once: give a list, {Parameter(name, Written('list(...)'))}"
        )
    plain: object = value.tolist() if isinstance(value, np.ndarray) else value
    return list(plain) if several(plain) else [plain]


def check_integer(name: str, value: object, low: int, high: int | None = None, *, reason: str = "") -> None:
    """Refuse anything but an integer from `low` to `high`; the message ends with the reason."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < low or (high is not None and value > high):  # type: ignore[operator]
        wanted = f"an integer of at least {low}{f' and at most {high}' if high else ''}"
        raise InputError(f"{Parameter(name, value)}: give {wanted}{reason and f', {reason}'}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse anything but one of some words."""
    if value not in choices:
        *first, last = map(repr, choices)
        raise InputError(f"{Parameter(name, value)}: choose {', '.join(first)}{' or ' if first else ''}{last}")


def check_database(db: object) -> None:
    """Refuse to learn from anything but an open database."""
    if hasattr(db, "advanced"):
        return
    what = repr(db) if db is None or isinstance(db, str) else f"an object of type {type(db).__name__}"
    how = f"sqlrl.connect({db!r})" if isinstance(db, str) else "sqlrl.connect(...)"
    raise InputError(
        f"fit learns from a database, not from {what}: open it with {how} and pass what that returns first"
    )


def _check_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise InputError(f"{Parameter(name, value)}: give {Phrase('True')} or {Phrase('False')}")


def fit_options(callback: Callable[[Any], object] | None, checkpoint: bool, resume: int | None) -> FitOptions:
    """Check what `fit` is asked besides what to learn from."""
    if callback is not None and not callable(callback):
        raise InputError(
            f"{Parameter('callback', callback)}: give a function, which is called with each report, or None"
        )
    _check_flag("checkpoint", checkpoint)
    if resume is not None:
        check_integer("resume", resume, 1)
    return FitOptions(callback, checkpoint, resume)


# ---- values as text ----------------------------------------------------------------------------------

Estimators = Mapping[str, type]
"""Estimators by their words."""

_WORD = re.compile(r"[^\W\d][\w+-]*")
_NUMBER = re.compile(r"[+-]?(?:inf\b|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)")
_TEXT = re.compile(r"'(?:[^']|'')*'" + r'|"(?:[^"]|"")*"')
_SHOWN = 200
"""Characters of a text of values that a message shows."""
_CONSTANTS = {"true": True, "false": False, "none": None}


def value_text(value: object) -> str:
    """Return a parameter's value as text, from which `parse_value` makes an equal one; without a text it is an InputError."""
    plain: Any = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if plain is None or isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, int | float) and plain == plain:  # noqa: PLR0124 - NaN is no value of a parameter
        return repr(plain)
    if isinstance(plain, list | tuple):
        return f"[{', '.join(map(value_text, plain))}]"
    word = getattr(plain, "word", "")
    if word and hasattr(plain, "get_params"):
        return f"{word}({', '.join(f'{name}={value_text(each)}' for name, each in given_parameters(plain))})"
    if not isinstance(plain, str | PurePath):
        raise InputError(f"{shortened(repr(value))} has no text: keep it in a file, and give the path of that")
    text = str(plain)
    # What begins like a number, as inf-x does, would be read as one.
    if _WORD.fullmatch(text) and text.lower() not in _CONSTANTS and not _NUMBER.match(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def given_parameters(estimator: Any) -> Iterator[tuple[str, object]]:
    """Yield name and value of the parameters of an estimator that are not their default values."""
    declared = declarations(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        equal = operator.eq(value, declared[name].default)
        # An array, whose comparison is an array, is no default value.
        if not (isinstance(equal, bool | np.bool_) and equal):
            yield name, value


def parse_value(text: str, estimators: Estimators) -> Any:
    """Return the value that a text stands for; texts of estimators make new ones, and an invalid text is an InputError."""
    reader = _Reader(text, estimators)
    value = reader.value()
    if reader.rest():
        raise reader.error(f"nothing can follow here, as {reader.rest()!r} does")
    return value


class _Reader:
    """Reads a value from its text."""

    def __init__(self, text: str, estimators: Estimators) -> None:
        self.text, self.estimators, self.at = text, estimators, 0
        self._depth = 0

    def value(self) -> Any:
        """Read a value, not nested too deeply for the recursion here."""
        if self._depth > DEEPEST:
            raise self.error(f"brackets nest more than {DEEPEST} deep")
        self._depth += 1
        value = self._value()
        self._depth -= 1
        return value

    def _value(self) -> Any:
        if self.take("["):
            return self.items("]", self.value)
        if quoted := self.match(_TEXT):
            return quoted[1:-1].replace(quoted[0] * 2, quoted[0])
        if number := self.match(_NUMBER):
            if len(number) > LONGEST_INTEGER:
                raise self.error(f"a number has more than {LONGEST_INTEGER} digits")
            return int(number) if re.fullmatch(r"[+-]?\d+", number) else float(number)
        word = self.match(_WORD)
        if word is None:
            raise self.error("a value is missing: give a number, a word, a 'text', true, false, none or a [list]")
        if word.lower() in _CONSTANTS:  # Python writes True, SQL often TRUE
            return _CONSTANTS[word.lower()]
        return self.estimator(word) if self.take("(") else word

    def estimator(self, word: str) -> Any:
        """Read the parameters of an estimator, and make it."""
        if word not in self.estimators:
            known = f"; there are {', '.join(sorted(self.estimators))}"
            raise self.error(f"there is no estimator {word!r}{nearest(word, self.estimators) or known}")
        kind = self.estimators[word]
        declared = declarations(kind)
        given: dict[str, Any] = {}
        for name, value in self.items(")", self.parameter):
            if name not in declared and name not in old_parameters(kind):
                raise unknown_parameter(kind, name)
            if name in given:
                raise self.error(f"{name} is given twice: give it once")
            # A word alone is an estimator where one is wanted.
            alone = (
                name in declared and declared[name].estimator and isinstance(value, str) and value in self.estimators
            )
            given[name] = self.made(value, {}) if alone else value
        return self.made(word, given)

    def made(self, word: str, given: Mapping[str, Any]) -> Any:
        """Make an estimator, if no parameter that it needs is missing."""
        kind = self.estimators[word]
        declared = declarations(kind)
        missing = [name for name, each in declared.items() if each.default is REQUIRED and name not in given]
        if missing:
            raise self.error(f"{word} needs {' and '.join(missing)}: give {missing[0]}=...")
        return kind(**given)

    def parameter(self) -> tuple[str, Any]:
        """Read `name=value`."""
        name = self.match(_WORD)
        if name is None or not self.take("="):
            raise self.error("a parameter is missing: give name=value")
        return name, self.value()

    def items(self, end: str, read: Callable[[], Any]) -> list[Any]:
        """Read items with commas between them, up to an end."""
        found: list[Any] = []
        while not self.take(end):
            if found and not self.take(","):
                raise self.error(f", or {end} is missing")
            found.append(read())
        return found

    def take(self, sign: str) -> bool:
        """Go past a sign, if it comes next."""
        start = self._start()
        there = self.text.startswith(sign, start)
        if there:
            self.at = start + len(sign)
        return there

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Go past what matches, if it comes next, and return it."""
        found = pattern.match(self.text, self._start())
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def rest(self) -> str:
        """Return what is left to read."""
        return self.text[self._start() :]

    def _start(self) -> int:
        """Return where what is left to read starts."""
        start = self.at
        while start < len(self.text) and self.text[start].isspace():
            start += 1
        return start

    def error(self, what: str) -> InputError:
        """Return an error at the place that was reached."""
        before = self.text[: self.at].rstrip()
        before = before if len(before) <= _SHOWN else f"...{before[-_SHOWN:]}"
        shown = self.text if len(self.text) <= _SHOWN else shortened(self.text, _SHOWN)
        return InputError(both_ends(f"{shown}: {what}") + (f" after {before!r}" if before else ""))


def unknown_parameter(kind: type, name: str, known: Iterable[str] | None = None) -> InputError:
    """Return the error that an estimator has no parameter of a name."""
    return InputError(f"{kind.__name__} has no parameter {name!r}{parameter_hint(kind, name, known)}")


def parameter_meant(name: str, names: Container[str]) -> str:
    """Return the end of a message on a parameter of another library's: what it is called here, if that is among `names`; else nothing."""
    other = PARAMETERS.get(name)
    return f"; did you mean {other!r}{RECIPROCAL.get(name, '')}?" if other in names else ""


def parameter_hint(kind: type, name: str, known: Iterable[str] | None = None) -> str:
    """Return the end of a message on a parameter that an estimator does not have: the one that was meant, or all that it has."""
    names = list(declarations(kind))
    if hint := parameter_meant(name, names):
        return hint
    its = f"; its {counted(len(names), 'parameter')}: {', '.join(names)}"
    return nearest(name, names if known is None else known) or its
