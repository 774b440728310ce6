"""Language bias: which literals a clause learner may put into a body, in Aleph's mode declarations.

Source: Srinivasan, "The Aleph Manual" (2001), sections 2.3 (modes, types, determinations) and 3 (settings); Muggleton,
"Inverse Entailment and Progol" (1995), section 4. `sqlrl.logic.bias_parser` reads the files.

A place of a literal is `+type` (a variable that the clause already has), `-type` (a variable that the literal may bring
in) or `#type` (a constant). The recall of a mode says how many atoms a fact's inputs may bring in; `*` sets no limit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, Protocol

from sqlrl import markup
from sqlrl.errors import InputError, ModelError, Phrase
from sqlrl.logic.databases import Learns, OpenedDatabase
from sqlrl.logic.lexer import nearest
from sqlrl.logic.prolog import quoted
from sqlrl.wording import counted

INPUT: Final = "+"
OUTPUT: Final = "-"
CONSTANT: Final = "#"
KINDS = (INPUT, OUTPUT, CONSTANT)

Setting = int | float | str | bool | tuple["Setting", ...]
_NOTHING: Mapping[str, Setting] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ModePlace:
    """What may stand at one argument of a literal, with its type."""

    kind: Literal["+", "-", "#"]  # a variable that the clause already has, one that may be new, a constant
    type: str
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"{self.kind!r} is no place of a mode: expected '+', '-' or '#'")
        if not self.type:
            raise InputError(f"a place {self.kind!r} has no type: expected a name as in {self.kind}drug")

    def __str__(self) -> str:
        return self.kind + quoted(self.type)


@dataclass(frozen=True, slots=True)
class BiasMode:
    """One way in which a literal of a predicate may stand in a clause."""

    predicate: str
    places: tuple[ModePlace, ...]
    recall: int | None  # at most so many atoms for the same input constants; None (`*`) sets no limit
    line: int = field(default=0, compare=False)  # in the source, from 1; 0 if it has none
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        if self.recall is not None and self.recall < 1:
            raise InputError(
                f"the recall of a mode is {self.recall}: expected 1 or more, or {Phrase('None')} for no limit"
            )

    def __str__(self) -> str:
        recall = "*" if self.recall is None else str(self.recall)
        places = f"({','.join(map(str, self.places))})" if self.places else ""
        return f"{recall}, {quoted(self.predicate)}{places}"

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.places)

    def positions(self, kind: str) -> tuple[int, ...]:
        """Return the arguments, from 0, that have a kind of place."""
        return tuple(i for i, place in enumerate(self.places) if place.kind == kind)


class _Deriving(Protocol):
    def derived_bias(self, target: str, *, body: Collection[str] | None, constants: int = ...) -> Bias: ...


@dataclass(frozen=True)
class Bias:
    """The language bias of a clause learner for one target: Aleph's modes with its determinations applied.

    Parameters
    ----------
    head : Mode
        The mode of the target.
    body : tuple of Mode
        The modes of body literals, in the order of the file; a predicate may have several.
    settings : mapping of str to int, float, str or bool
        Aleph's settings that sqlrl knows, by name; those that only say how much Aleph talks are kept too.
    unused : tuple of Mode
        Body modes without a determination, where determinations are given.
    unknown : mapping of str to int, float, str, bool or tuple
        Settings that sqlrl does not know and that have no effect.
    path : str
        The file, or a name for the text, in errors. Not part of equality.

    Raises
    ------
    InputError
        No body mode, or a predicate with modes of different numbers of arguments.

    Examples
    --------
    >>> from sqlrl.logic.bias_parser import parse_bias
    >>> bias = parse_bias(":- modeh(1, p(+a)). :- modeb(*, q(+a,-b)). :- set(i, 2).")
    >>> bias.head.predicate, bias.predicates(), bias.settings["i"]
    ('p', ('q',), 2)
    """

    head: BiasMode
    body: tuple[BiasMode, ...]
    settings: Mapping[str, Setting] = field(default_factory=lambda: _NOTHING)
    unused: tuple[BiasMode, ...] = ()
    unknown: Mapping[str, Setting] = field(default_factory=lambda: _NOTHING)
    path: str = field(default="<text>", compare=False)
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        if not self.body:
            raise InputError(
                "a bias has no body modes: a clause could have no body; add some, as in modeb(*, q(+a,-b))"
            )
        arities: dict[str, int] = {}
        for mode in (self.head, *self.body, *self.unused):
            if arities.setdefault(mode.predicate, mode.arity) != mode.arity:
                both = f"{arities[mode.predicate]} and of {counted(mode.arity, 'argument')}"
                raise InputError(f"{mode.predicate} has modes of {both}: a predicate has one number of arguments")

    @classmethod
    def derive(
        cls,
        db: OpenedDatabase[Learns[_Deriving]],
        target: str,
        *,
        body: Collection[str] | None = None,
        constants: int | None = None,
    ) -> Bias:
        """Derive a language bias for a target from the types and keys of the data, by the rules of `sqlrl.catalog.derived_bias`.

        An argument that determines the others is an input, the others are outputs; without such a key each argument in turn
        is the input, and brings in ten facts at the most. Outputs with few values may also be constants.

        Parameters
        ----------
        db : Database
        target : str
            The predicate to learn.
        body : collection of str, optional
            Predicates that bodies may have; by default all closed ones with facts.
        constants : int, optional
            The most values of an argument that may be a constant; 0 for no constants; by default 16.

        Returns
        -------
        Bias

        Raises
        ------
        CatalogError
            An unknown predicate, a body predicate that is open or the target itself, unknown types, or no closed predicate.
        InputError
            `constants` is negative.

        Examples
        --------
        >>> import sqlrl
        >>> db = sqlrl.connect()
        >>> db.load("Friends", [("Ann", "Bob"), ("Ann", "Cid"), ("Bob", "Cid")], types=["person", "person"])
        >>> db.load("Smokes", [("Ann",)], types=["person"], target=True)
        >>> print(sqlrl.Bias.derive(db, "Smokes"), end="")
        :- modeh(1, Smokes(+person)).
        :- modeb(10, Friends(+person,-person)).
        :- modeb(10, Friends(-person,+person)).
        :- modeb(1, Friends(+person,+person)).
        """
        given = {} if constants is None else {"constants": constants}
        return db.advanced.learning.derived_bias(target, body=body, **given)

    def __reduce__(self) -> tuple[type[Bias], tuple[object, ...]]:
        # A mapping that cannot be changed cannot be pickled either.
        return Bias, (self.head, self.body, dict(self.settings), self.unused, dict(self.unknown), self.path)

    def __str__(self) -> str:
        """Return the bias in Aleph's language; it parses to an equal one."""
        return format_bias(self)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"parse_bias({format_bias(self)!r})"

    @property
    def recursive(self) -> bool:
        """Whether a body literal may be of the target."""
        return any(mode.predicate == self.head.predicate for mode in self.body)

    def predicates(self) -> tuple[str, ...]:
        """Return the predicates that bodies may have, sorted."""
        return tuple(sorted({mode.predicate for mode in self.body}))

    def types(self) -> tuple[str, ...]:
        """Return the types of all places of the head and the body modes, sorted."""
        return tuple(sorted({place.type for mode in (self.head, *self.body) for place in mode.places}))

    def check(self, arguments: Mapping[str, tuple[str, ...]]) -> None:
        """Check that the bias fits the predicates of a database or model.

        The types of a bias are its own names. Two places of one such type must be arguments of one type of the
        database, or no variable could stand at both; two types of a bias may stand for one type of the database.

        Parameters
        ----------
        arguments : mapping of str to tuple of str
            The types of the arguments of each predicate.

        Raises
        ------
        ModelError
            Modes of predicates that there are not, with another number of arguments, or with a type that stands for
            several types of the database. All faults at once.

        Examples
        --------
        >>> from sqlrl.logic.bias_parser import parse_bias
        >>> bias = parse_bias(":- modeh(1, p(+a)). :- modeb(*, q(+a,-b)).")
        >>> bias.check({"p": ("drug",), "q": ("drug", "group")})
        >>> bias.check({"p": ("drug",), "Q": ("drug", "group")})
        Traceback (most recent call last):
            ...
        sqlrl.errors.ModelError: <text>:1: there is no predicate 'q'; did you mean 'Q'?
        """
        faults = [*self._misfits(arguments), *self._clashes(arguments)]
        if faults:
            many = len(faults) > 1
            raise ModelError("\n  ".join(["the modes do not fit the predicates:", *faults]) if many else faults[0])

    def _misfits(self, arguments: Mapping[str, tuple[str, ...]]) -> list[str]:
        faults: dict[str, str] = {}
        for mode in (self.head, *self.body):
            name = mode.predicate
            if name not in arguments:
                faults[name] = (
                    f"there is no predicate {name!r}{nearest(name, arguments) or '; load or define it first'}"
                )
            elif len(arguments[name]) != mode.arity:
                has = counted(len(arguments[name]), "argument")
                faults[name] = f"the mode of {name} has {counted(mode.arity, 'place')}, but the predicate has {has}"
            if name in faults and mode.line and not faults[name].startswith(f"{self.path}:"):
                faults[name] = f"{self.path}:{mode.line}: {faults[name]}"
        return list(faults.values())

    def _clashes(self, arguments: Mapping[str, tuple[str, ...]]) -> list[str]:
        stands: dict[str, tuple[str, str]] = {}
        faults: dict[str, str] = {}
        for mode in (self.head, *self.body):
            types = arguments.get(mode.predicate, ())
            if len(types) != mode.arity:
                continue
            for number, (place, type_) in enumerate(zip(mode.places, types, strict=True), start=1):
                here = f"{type_!r} in {mode.predicate} (argument {number})"
                first = stands.setdefault(place.type, (type_, here))
                if first[0] != type_ and place.type not in faults:
                    at = f"{self.path}:{mode.line}: " if mode.line else ""
                    faults[place.type] = (
                        f"{at}the type {place.type!r} is {here} and {first[1]}: no constant is of both; "
                        "give the two places different types, or load the two arguments with one type"
                    )
        return list(faults.values())


def format_bias(bias: Bias) -> str:
    """Return a bias in Aleph's language; it parses to an equal one."""
    lines = [f"set({quoted(name)}, {_value(value)})" for name, value in [*bias.settings.items(), *bias.unknown.items()]]
    # Determinations are needed only to leave modes out.
    if bias.unused:
        target = f"{quoted(bias.head.predicate)}/{bias.head.arity}"
        arities = {mode.predicate: mode.arity for mode in bias.body}
        lines += [f"determination({target}, {quoted(name)}/{arity})" for name, arity in arities.items()]
    lines += [f"modeh({bias.head})", *(f"modeb({mode})" for mode in (*bias.body, *bias.unused))]
    return "".join(f":- {line}.\n" for line in lines)


def _value(value: Setting) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{','.join(map(_value, value))}]"
    return quoted(value) if isinstance(value, str) else repr(value)
