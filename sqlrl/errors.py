"""The errors and warnings that sqlrl raises, one root for each, and how their messages are worded.

Every message says what is wrong, which value, where it stands, and how to mend it.

A message is one text for Python, the command line and SQL scripts, which call a parameter, an option and a setting by names of their own.
What they word differently is therefore a value: a `Mention`, which stands in the f-string of a message where its words are to be,

    raise InputError(f"{place}: pass fewer {Parameter('examples')}, or raise {Parameter('limit')}")

An error keeps the message with its mentions (`error.message`, `error.mentions`). `str(error)` says it in the words of Python, `examples=`;
who shows it elsewhere words the mentions, `error.message.worded(words)`: the command line as `--examples` (`sqlrl.cli.words`), scripts as
`examples` (`sqlrl.script.settings`). Nothing looks for words in a finished sentence. A text that is put into another one keeps its mentions as
`marked(text)`; the text alone is that of Python.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from types import EllipsisType
from typing import Any, Self

from sqlrl.markup import field_table, pairs, paragraph, printable

# ---- what messages mention -------------------------------------------------------------------------------

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
"""Around a mention in a text that is still put together: they are no characters, so that no text has them."""


class Mention:
    """What a message names in the words of whoever reads it; an f-string keeps it, `str` says it in those of Python."""

    _repr_html_ = field_table

    def __format__(self, spec: str) -> str:
        return f"{_OPEN}{json.dumps([type(self).__name__, *self._fields()])}{_CLOSE}"

    def _fields(self) -> list[object]:
        """Return what JSON keeps, from which the class makes an equal mention."""
        raise NotImplementedError


class Written(str):
    """A value as it is written in Python, which is no single number, text or flag: `Written("[...]")`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class DoubleQuoted(str):
    """A text that Python is shown in double quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f'"{self}"'


_TEXTS = (str, Written, DoubleQuoted)


@dataclass(frozen=True)
class Parameter(Mention):
    """A parameter, and its value if one is named.

    Examples
    --------
    >>> print(Parameter("examples"), Parameter("empty", "allow"), Parameter("memory_limit", "2GB", "connect({})"))
    examples= empty='allow' connect(memory_limit='2GB')
    >>> print(InputError(f"there are no rows; pass {Parameter('empty', 'allow')} if that is right"))
    there are no rows; pass empty='allow' if that is right
    """

    name: str
    value: object = ...
    """The value, of which anything but a number, a text or a flag is kept as it is written; `...` if none is named."""
    call: str = ""
    """How Python takes the parameter, with `{}` in its place, where naming it alone would not say whose it is."""

    def __post_init__(self) -> None:
        if type(self.value) not in (*_TEXTS, int, float, bool, type(None), EllipsisType):
            object.__setattr__(self, "value", Written(repr(self.value)))

    def __str__(self) -> str:
        words = f"{self.name}={'' if self.value is ... else repr(self.value)}"
        return self.call.replace("{}", words) if self.call else words

    def _fields(self) -> list[object]:
        kind = _TEXTS.index(type(self.value)) if isinstance(self.value, str) else 0
        return [self.name, [] if self.value is ... else [self.value, kind], self.call]

    @classmethod
    def read(cls, name: str, value: list[Any], call: str) -> Self:
        """Return a mention from its fields."""
        return cls(name, ... if not value else _TEXTS[value[1]](value[0]) if value[1] else value[0], call)


@dataclass(frozen=True)
class Phrase(Mention):
    """A few words about Python alone, such as a call, with places for values; elsewhere they are the key of what is said there.

    Examples
    --------
    >>> print(Phrase("db.scope({!r}, ...)", ("Smokes",)))
    db.scope('Smokes', ...)
    """

    text: str
    """In it `{}` stands for a value, and `{!r}` for one in quotes."""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.filled(self.text)

    def filled(self, text: str) -> str:
        """Return a text with the values in the places that it has for them."""
        places = list(Formatter().parse(text))
        values = iter([*self.values, *[""] * len(places)])
        return "".join(
            before + ("" if field is None else repr(next(values)) if conversion else next(values))
            for before, field, _, conversion in places
        )

    def _fields(self) -> list[object]:
        return [self.text, self.values]

    @classmethod
    def read(cls, text: str, values: list[str]) -> Self:
        """Return a mention from its fields."""
        return cls(text, tuple(map(str, values)))


class Message(str):
    """A text in the words of Python that keeps what it mentions.

    Examples
    --------
    >>> text = Message(f"pass fewer {Parameter('examples')}")
    >>> print(text, *text.mentions, text.worded(lambda mention: "--examples"), sep="; ")
    pass fewer examples=; examples=; pass fewer --examples
    """

    __slots__ = ("marked",)

    marked: str
    """The text with its mentions, to be put into another one."""

    def __new__(cls, text: str | Mention) -> Self:
        """Return the message of a text that mentions something, or of a mention alone."""
        kept = f"{text}" if isinstance(text, Mention) else marked(text)
        made = super().__new__(cls, "".join(map(str, _parts(kept))))
        made.marked = kept
        return made

    def _repr_html_(self) -> str:
        return paragraph(self)

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """What it mentions, in order."""
        return tuple(each for each in _parts(self.marked) if isinstance(each, Mention))

    def worded(self, words: Callable[[Mention], str | None]) -> Message:
        """Return the message with its mentions in other words; one for which these are None stays a mention."""
        said = (each if isinstance(each, str) else _or(words(each), each) for each in _parts(self.marked))
        return Message("".join(said))


def marked(text: str) -> str:
    """Return a text to put into another one, with what it mentions."""
    return text.marked if isinstance(text, Message) else text


def _or(words: str | None, mention: Mention) -> str:
    return f"{mention}" if words is None else words


def _parts(text: str) -> Iterator[str | Mention]:
    """Yield the parts of a text between which mentions stand, and these."""
    first, *others = text.split(_OPEN)
    yield first
    for each in others:
        mention, closed, rest = each.partition(_CLOSE)
        # What no mention has written, such as a name that a stranger has chosen, is a text.
        yield _read(mention) or f"{_OPEN}{mention}{closed}"
        yield rest


_KINDS: dict[str, type[Parameter | Phrase]] = {kind.__name__: kind for kind in (Parameter, Phrase)}


def _read(text: str) -> Mention | None:
    """Return a mention from its text, None if it is none."""
    try:
        kind, *fields = json.loads(text)
        return _KINDS[kind].read(*fields)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


# ---- errors ----------------------------------------------------------------------------------------------


class _Said(Exception):  # noqa: N818 - warnings are said as well
    """What errors and warnings have in common: a message, with what it mentions."""

    def __init__(self, message: str = "") -> None:
        super().__init__(Message(message))

    @property
    def message(self) -> Message:
        """The message with its mentions, for whoever words them otherwise than Python does."""
        return Message(str(self.args[0]) if not isinstance(self.args[0], Message) else self.args[0])

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """The parameters and remedies that the message names."""
        return self.message.mentions

    def __str__(self) -> str:
        # Names of files, tables and constants are quoted, and a stranger may have chosen them: none may act on a terminal.
        return printable(super().__str__())


class SqlrlError(_Said, Exception):
    """Root of all errors that sqlrl raises.

    They can be pickled, so that they pass from a worker process to its parent.

    Examples
    --------
    >>> import pickle
    >>> pickle.loads(pickle.dumps(EngineError("count", "out of memory", "SELECT 1"))).step
    'count'
    """

    located: ParseError | None = None
    """Of an error in a text, where in it: for whoever knows the place of the text itself."""

    def _repr_html_(self) -> str:
        return pairs([(type(self).__name__, line) for line in str(self).splitlines()])

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions pickle as a call of their class with the message alone, which is not what `__init__` takes.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[SqlrlError], arguments: tuple[object, ...], attributes: dict[str, object]) -> SqlrlError:
    """Return an unpickled error, without a call of `__init__`."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class InputError(SqlrlError, ValueError):
    """The user's input cannot be used as it is."""


class ParseError(InputError):
    """A text in one of the rule languages does not parse; the message shows the line with a caret.

    Parameters
    ----------
    problem : str
        What is wrong and what was expected.
    text : str, optional
        The line in which it stands.
    line, column : int, optional
        Where it stands, both counted from 1.
    path : str, optional
        The file, or a name for the text.

    The message shows no more than a window of a long line, and the ends of a long problem; the attributes hold all of them.

    Examples
    --------
    >>> print(ParseError("expected ')'", text="P(x", line=3, column=4, path="a.mln"))
    a.mln:3:4: expected ')'
      P(x
         ^
    """

    def __init__(self, problem: str, *, text: str = "", line: int = 0, column: int = 0, path: str = "<text>") -> None:
        self.problem = Message(problem)
        self.text, self.line, self.column, self.path = text, line, column, path
        said = marked(both_ends(self.problem))
        message = f"{path}:{line}:{column}: {said}" if line else f"{path}: {said}"
        if text:
            shown, place = _window(text, max(column - 1, 0))
            caret = "".join("\t" if c == "\t" else " " for c in shown[:place])
            message += f"\n  {shown}\n  {caret}^"
        super().__init__(message)


_AROUND = 120
"""Characters of a line that a message shows on each side of a place."""


def _window(text: str, place: int) -> tuple[str, int]:
    """Return what a message shows of a line, and where the place is in that."""
    if len(text) <= 4 * _AROUND:
        return text, place
    start, end = max(place - _AROUND, 0), place + _AROUND
    before, after = "... " if start else "", " ..." if end < len(text) else ""
    return f"{before}{text[start:end]}{after}", place - start + len(before)


def both_ends(text: str, most: int = 2000) -> str:
    """Return a text, of one that is long its beginning, which says what is wrong, and its end, which says the remedy."""
    return text if len(text) <= most else f"{text[: most // 2].rstrip()} ... {text[-(most // 2) :].lstrip()}"


class ScriptError(ParseError):
    """A statement of an SQL script cannot be run; the message shows where it stands, and `__cause__` is the error itself, if another one caused it."""


class ModelError(InputError):
    """A model is not well formed: an unknown predicate, a wrong arity, a type clash, a bad weight."""


class UnsupportedError(InputError):
    """A feature of the input language that sqlrl refuses by name (Alchemy functions, say)."""


class LoadError(InputError):
    """Data cannot be loaded: a missing file, a wrong column, NULL keys, duplicate or contradictory facts."""


class CatalogError(InputError):
    """Model and data do not fit: an unknown type or constant, a predicate without data."""


class MigrationError(SqlrlError):
    """A database file has a layout that this version of sqlrl cannot use."""


class UntrustedError(InputError):
    """A file that was opened with `trusted=False` holds what sqlrl does not make, or would run what it holds."""


class BusyError(SqlrlError):
    """Another process holds the database file, or another thread works on the same connection.

    Parameters
    ----------
    held : str
        Who holds it, and what to wait for.
    reading : str
        How it can be read nevertheless, which is no remedy for who has to write.
    """

    def __init__(self, held: str, reading: str = "") -> None:
        self.held, self.reading = held, Message(reading)
        super().__init__(f"{held}; {marked(reading)}" if reading else held)


class ConflictError(SqlrlError):
    """Another cursor or connection changed the same data at the same time; nothing of the call was kept, and it may be made again."""


class EngineError(SqlrlError):
    """The database failed to run a statement; carries the name of the step and the SQL.

    Parameters
    ----------
    step : str
        What sqlrl was doing.
    reason : str
        The database's own message.
    sql : str
        The statement.
    remedy : str
        What to do, if that is known: the message shows it in place of the statement, to which it does not matter.

    The message shows the beginnings of reason and statement; the attributes and the log hold all of them.
    """

    def __init__(self, step: str, reason: str, sql: str, remedy: str = "") -> None:
        self.step, self.reason, self.sql, self.remedy = step, reason, sql, Message(remedy)
        # DuckDB's own hints, below its first line, name settings without their values.
        shown = brief(reason.partition("\n")[0] if remedy else reason)
        super().__init__(f"{step}: {shown}\n{marked(remedy) or f'while running: {brief(sql)}'}")


class OverflowEngineError(EngineError):
    """The database failed because an integer does not fit into the type that it has."""


class ServerError(EngineError):
    """A server of Spark does not answer, or has forgotten the session; nothing in the database was changed."""


class ServerTimeoutError(ServerError):
    """A server of Spark is there, but has answered nothing for as long as it may; nothing in the database was changed."""


class MemoryUsedUpError(SqlrlError):
    """The memory of this process is used up, beside what the database may use.

    Parameters
    ----------
    stage : str
        What sqlrl was doing.
    reason : str
        What could not be had, in the words of whoever asked for it; "" if that is not known.
    size : str
        How much was expected, if that is known.

    Examples
    --------
    >>> print(
    ...     MemoryUsedUpError(
    ...         "presolve", "Unable to allocate 7.5 GiB for an array", "9,000,000 query atoms take about 2.2 GB"
    ...     )
    ... )
    presolve: the memory is used up (Unable to allocate 7.5 GiB for an array; 9,000,000 query atoms take about 2.2 GB): pass fewer ...
    """

    def __init__(self, stage: str, reason: str = "", size: str = "") -> None:
        self.stage, self.reason, self.size = stage, reason, size
        known = "; ".join(filter(None, (brief(reason.rstrip(". ")), size)))
        super().__init__(
            f"{stage}: the memory is used up{f' ({known})' if known else ''}: pass fewer {Parameter('examples')}, give predicates that are "
            "predicted a scope, the tuples that may be true, load a part of the data, or leave more to what is outside of the database, "
            f"{Parameter('memory_limit', 'SIZE', 'connect({})')}."
        )


class MemoryLimitError(SqlrlError):
    """A ground network would take more memory than there may be; the message names the largest clause, the size, and what helps."""


class GroundingLimitError(SqlrlError):
    """Grounding would exceed the limit; the message names the clause and the estimate."""


class MissingAtomError(InputError):
    """Rules of a soft model reach atoms that are neither observed nor listed as atoms to infer; the message names the first, its rule and the remedies.

    Parameters
    ----------
    problem : str
        The message.
    atom : str
        The first of them, of the first rule that reaches any.
    count : int
        How many there are.
    rule : int
        The number of the rule, from 0.

    Examples
    --------
    >>> error = MissingAtomError("the rule ... reaches Wet(b), which is neither observed nor listed", "Wet(b)", 2, 0)
    >>> error.atom, error.count
    ('Wet(b)', 2)
    """

    def __init__(self, problem: str, atom: str, count: int, rule: int) -> None:
        self.atom, self.count, self.rule = atom, count, rule
        super().__init__(problem)


class TimeLimitError(SqlrlError):
    """A search would take more time than it may, by what it has done in its first minute; the message names what shortens it."""


class CountOverflowError(SqlrlError):
    """A count does not fit into 128 bits (in SQL) or 64 bits (in numpy); the message names the clause."""


class InfeasibleError(SqlrlError):
    """Hard clauses cannot all hold; the message shows a conflicting set of ground clauses."""


class NotFittedError(InputError, AttributeError):
    """An estimator was asked for what it has not learned yet: call `fit` first."""


class UnknownNameError(InputError, AttributeError):
    """An object has no attribute of that name; the message says what to call instead."""


class UnknownParameterError(InputError, TypeError):
    """An estimator was made with a parameter that it does not have; the message names the nearest one."""


class NumericError(InputError):
    """Weights or probabilities that are not finite, or that do not fit the integer scale."""


class UnboundedWeightError(InputError):
    """Nothing bounds the weights of rules that training data never violate; `rules` has their numbers.

    Examples
    --------
    >>> UnboundedWeightError("rule 3 is never violated", (3,)).rules
    (3,)
    """

    def __init__(self, problem: str, rules: tuple[int, ...]) -> None:
        self.rules = rules
        super().__init__(problem)


class SqlrlWarning(_Said, UserWarning):
    """Root of all warnings that sqlrl raises."""


class InfeasibleTruthWarning(SqlrlWarning):
    """The labels of an example violate hard clauses; `sqlrl.training.labels.InfeasibleTruth` says what is counted of each."""


class UnseenConstantWarning(SqlrlWarning):
    """Rules name constants that the data lack: of a learned model any, of others those that look like one that the data have."""


class LoadWarning(SqlrlWarning):
    """Data or rules were read, but perhaps not as they were meant."""


class RepeatedRuleWarning(SqlrlWarning):
    """A program has a rule twice: PSL counts it once, a Markov logic network twice."""


class BiasWarning(SqlrlWarning):
    """A language bias says what has no effect: an unknown setting, a mode without a determination."""


class ConvergenceWarning(SqlrlWarning):
    """A learner stopped before it reached the precision that was asked for."""


class StartWarning(SqlrlWarning):
    """Nothing of the model that learning was to start from is among the clauses whose weights are learned."""


class NothingFoundWarning(SqlrlWarning):
    """A learner of clauses found none that is acceptable."""


class LittleFoundWarning(SqlrlWarning):
    """A theory covers few of the atoms that it is to explain."""


class CheckpointWarning(SqlrlWarning):
    """A run is saved where it will not outlast the process."""


class PassedOverWarning(SqlrlWarning):
    """A search for clauses passed over some that cannot be evaluated within a limit."""


class ValidationWarning(SqlrlWarning):
    """Held-out labels say little about what they are to choose, or labels are too few to hold any out."""


class CalibrationWarning(SqlrlWarning):
    """Probabilities are asked of weights that rank worlds, and are no log-odds."""


class ScopeWarning(SqlrlWarning):
    """Labels lie outside the scope, so that they are not learned from and cannot be predicted."""


class LabelWarning(SqlrlWarning):
    """Labels are all alike, or tuples count as false that perhaps are only unknown."""


class GroundingWarning(SqlrlWarning):
    """Rules join predicates that share no constant, or have no ground clause in the training data."""


class SourceWarning(SqlrlWarning):
    """A source is gone, or can no longer be compared with what was loaded from it, which is used."""


class UnkeptCodeWarning(SqlrlWarning):
    """Compiled code could not be kept for the next process, which makes it again."""


def brief(text: str, *, lines: int = 6, width: int = 300) -> str:
    """Return the first non-empty lines of a message, cut to `width` characters, without DuckDB's hints at its own functions."""
    kept = [line.rstrip() for line in text.split("\n") if line.strip()]
    hints = next((i for i, line in enumerate(kept) if line.startswith("Possible ")), len(kept))
    shown = [line if len(line) <= width else line[: width - 3] + "..." for line in kept[:hints][:lines]]
    return "\n".join([*shown, *(["..."] if hints > lines else [])])


# `contextlib` calls the functions behind `with`.
_OURS = (str(Path(__file__).parent) + os.sep, contextlib.__file__)


def warn(message: str, category: type[SqlrlWarning | FutureWarning], *, through: str | None = None) -> None:
    """Warn at the line that called sqlrl; `through` is the folder of a library by which sqlrl calls itself, if there is one."""
    frame, level = inspect.currentframe(), 1
    passed = _OURS if through is None else (*_OURS, through + os.sep)
    while frame is not None and frame.f_code.co_filename.startswith(passed):
        frame, level = frame.f_back, level + 1
    said, words = Message(message), _worded.get()
    warnings.warn(category(said if words is None else said.worded(words)), stacklevel=level)


_worded: ContextVar[Callable[[Mention], str | None] | None] = ContextVar("sqlrl warnings", default=None)
"""In which words warnings mention what they do, where these are not Python's."""


@contextlib.contextmanager
def warnings_worded(words: Callable[[Mention], str | None]) -> Iterator[None]:
    """Word what warnings in this context mention as `Message.worded` does."""
    token = _worded.set(words)
    try:
        yield
    finally:
        _worded.reset(token)
