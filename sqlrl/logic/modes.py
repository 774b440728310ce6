"""Mode declarations: which atoms relational path finding may join, and which of their constants clauses keep.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 3.1. Two forms are read:

- the paper's, `modep(2, Token(., +, .))` for paths and `modec(Token(c, v, v))` for clauses;
- one line for both, `modeP(2, Token(#., +, .))`, where `#` marks the constants that clauses keep; it combines with
  `+`, `-` and `.`, and `#` alone is `#.`.

A place is `+` (input: its constant must be an output of an atom that the path already has), `-` (output) or `.` (not
explored). The recall says how many atoms of the predicate a path may have; 0 keeps the predicate out of paths. As in the
paper a predicate has one path mode: with several, as Progol has them, it would depend on the order of the atoms which of
them an atom uses, and a path is a set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlrl import markup
from sqlrl.errors import InputError, ModelError, ParseError
from sqlrl.logic.formulas import FormulaParser
from sqlrl.logic.lexer import (
    END,
    NAME,
    NEWLINE,
    NUMBER,
    Cursor,
    SourceText,
    Token,
    check_text,
    nearest,
    read_text,
    tokenize,
)
from sqlrl.logic.printer import is_identifier
from sqlrl.wording import counted

INPUT, OUTPUT, UNEXPLORED = "+", "-", "."
PLACES = (INPUT, OUTPUT, UNEXPLORED)
_CONSTANT = "#"
_CLAUSE_PLACES = {"c": True, "v": False}


@dataclass(frozen=True, slots=True)
class PathMode:
    """What paths and clauses may do with the atoms of one predicate."""

    recall: int  # how many atoms of the predicate a path may have, the one that it starts from included
    places: tuple[str, ...]  # "+", "-" or "." for each argument
    constants: tuple[bool, ...]  # True for the arguments whose constants stay in clauses
    line: int = field(default=0, compare=False)  # that of the path mode in the source, from 1; 0 if it has none
    _repr_html_ = markup.field_table

    def __post_init__(self) -> None:
        if self.recall < 0:
            raise InputError(f"the recall of a mode is {self.recall}: give an integer of 0 or more")
        for place in self.places:
            if place not in PLACES:
                raise InputError(f"{place!r} is no place of a mode: expected '+', '-' or '.'")
        if len(self.constants) != len(self.places):
            says = f"{counted(len(self.places), 'place')} and {len(self.constants)} for constants"
            raise InputError(f"a mode has {says}: expected as many")


@dataclass(frozen=True)
class Modes:
    """The mode declarations of a structure learner.

    Parameters
    ----------
    of : mapping of str to Mode
        By predicate.
    path : str
        The file, or a name for the text, in errors. Not part of equality.

    Examples
    --------
    >>> modes = parse_modes("modep(1, Next(-, -))")
    >>> modes.of["Next"].recall, modes.of["Next"].places
    (1, ('-', '-'))
    """

    of: Mapping[str, PathMode]
    path: str = field(default="<text>", compare=False)
    _repr_html_ = markup.field_table

    def __str__(self) -> str:
        """Return the modes in the one-line form."""
        return format_modes(self)

    def __repr__(self) -> str:
        """Return the call that makes them."""
        return f"parse_modes({_text(self)!r})"

    def in_paths(self) -> tuple[str, ...]:
        """Return the predicates that paths may have, sorted."""
        return tuple(sorted(name for name, mode in self.of.items() if mode.recall))

    def check(self, arities: Mapping[str, int], open_predicates: Collection[str]) -> None:
        """Check that the modes fit a model.

        Parameters
        ----------
        arities : mapping of str to int
            The number of arguments of each predicate of the model.
        open_predicates : collection of str
            Those with atoms to predict.

        Raises
        ------
        ModelError
            Modes of predicates that the model does not have or with another number of arguments, predicates without a
            mode, or no open predicate with a recall above 0, at which a path could start. All faults at once.

        Examples
        --------
        >>> parse_modes("modep(2, Smokes(+))").check({"Smokes": 1, "Friends": 2}, ["Smokes"])
        Traceback (most recent call last):
            ...
        sqlrl.errors.ModelError: <text>: Friends has no mode: give it recall 0 to leave it out of paths, as in modeP(0, Friends(.,.))
        """
        faults = [f"{self._at(name)}{fault}" for name in self.of if (fault := self._misfit(name, arities))]
        missing = [name for name in arities if name not in self.of]
        if missing:
            example = f"modeP(0, {missing[0]}({','.join(UNEXPLORED * arities[missing[0]])}))"
            who, them = (missing[0], "it") if len(missing) == 1 else (", ".join(missing), "them")
            has = "has no mode" if len(missing) == 1 else "have no modes"
            faults.append(
                f"{self.path}: {who} {has}: give {them} recall 0 to leave {them} out of paths, as in {example}"
            )
        if not any(self.of[name].recall for name in open_predicates if name in self.of) and not any(
            name in missing for name in open_predicates
        ):
            names = ", ".join(sorted(open_predicates)) or "the model has none"
            faults.append(f"{self.path}: no open predicate has a recall above 0, so no path can start ({names})")
        if faults:
            many = len(faults) > 1
            raise ModelError("\n  ".join(["the modes do not fit the model:", *faults]) if many else faults[0])

    def _at(self, name: str) -> str:
        line = self.of[name].line
        return f"{self.path}:{line}: " if line else ""

    def _misfit(self, name: str, arities: Mapping[str, int]) -> str:
        if name not in arities:
            return f"there is no predicate {name!r}{nearest(name, arities) or '; expected one of the model'}"
        places = len(self.of[name].places)
        if places != arities[name]:
            return f"the mode of {name} has {counted(places, 'place')}, but the predicate has {counted(arities[name], 'argument')}"
        return ""


def format_modes(modes: Modes) -> str:
    """Return modes in the one-line form, which parses again to equal ones."""
    for name in modes.of:
        if not is_identifier(name):
            raise ModelError(f"the language cannot write the predicate name {name!r}: rename it")
    return _text(modes)


def _text(modes: Modes) -> str:
    return "".join(f"modeP({mode.recall}, {name}({_places(mode)}))\n" for name, mode in modes.of.items())


def _places(mode: PathMode) -> str:
    both = zip(mode.constants, mode.places, strict=True)
    return ",".join(f"{_CONSTANT if constant else ''}{place}" for constant, place in both)


def parse_modes(text: str, *, path: str = "<text>") -> Modes:
    r"""Parse mode declarations, one a line; `//` starts a comment.

    Parameters
    ----------
    text : str
    path : str
        The file, or a name for the text, in errors.

    Returns
    -------
    Modes

    Raises
    ------
    ParseError
        The text does not parse, a recall is negative, a predicate is declared twice, `#` stands beside clause modes, or
        path and clause modes do not belong together; the message shows the line with a caret.

    Examples
    --------
    >>> modes = parse_modes("modeP(2, Token(#-,+,.))  // words\nmodeP(0, LessThan(-,-))")
    >>> modes.of["Token"].places, modes.of["Token"].constants
    (('-', '+', '.'), (True, False, False))
    >>> parse_modes("modep(1, Next(-, *))")
    Traceback (most recent call last):
        ...
    sqlrl.errors.ParseError: <text>:1:18: expected '+' (input), '-' (output), '.' (not explored) or '#', found '*'
      modep(1, Next(-, *))
                       ^
    """
    check_text(text, "modes", "read files with read_modes")
    return _ModesParser(SourceText(text, path)).read()


def read_modes(path: str | Path) -> Modes:
    r"""Read a file of mode declarations.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Modes

    Raises
    ------
    ParseError
        As in `parse_modes`; also for a missing file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "modes.txt").write_text("modeP(1, Next(-,-))")
    ...     print(read_modes(Path(folder, "modes.txt")), end="")
    modeP(1, Next(-,-))
    """
    return parse_modes(read_text(path, parse="sqlrl.parse_modes"), path=str(path))


@dataclass(frozen=True, slots=True)
class _PathMode:
    token: Token
    recall: int
    places: tuple[str, ...]
    marks: tuple[Token | None, ...]


class _ModesParser(FormulaParser):
    """Reads the declarations of one text."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source, tokenize(source))
        self._paths: dict[str, _PathMode] = {}
        self._clauses: dict[str, tuple[Token, tuple[bool, ...]]] = {}

    # The hints for formulas would mislead.
    unexpected = Cursor.unexpected

    def read(self) -> Modes:
        """Read all declarations and put those of each predicate together."""
        self.skip_lines()
        while self.token.kind != END:
            self._declaration()
            if self.token.kind not in (NEWLINE, END):
                raise self.unexpected("the end of the line")
            self.skip_lines()
        if not self._paths and not self._clauses:
            raise ParseError("there are no modes: expected lines as modeP(2, Token(#.,+,.))", path=self.source.path)
        self._check_clause_modes()
        found: dict[str, PathMode] = {}
        for name, mode in self._paths.items():
            constants = tuple(mark is not None for mark in mode.marks)
            if name in self._clauses:
                constants = self._clauses[name][1]
            found[name] = PathMode(mode.recall, mode.places, constants, self.source.line(mode.token))
        return Modes(found, self.source.path)

    def _declaration(self) -> None:
        start = self.token
        kind = start.text.casefold() if start.kind == NAME else ""
        if kind not in ("modep", "modec"):
            raise self.unexpected("'modep' or 'modec'")
        self.take()
        self.expect("(")
        if kind == "modep":
            self._path_mode()
        else:
            self._clause_mode()
        self.expect(")")

    def _path_mode(self) -> None:
        recall = self.token
        if recall.kind != NUMBER or not recall.text.lstrip("-").isdigit():
            raise self.unexpected("the recall, an integer of 0 or more")
        if len(recall.text) > 9:
            raise self.source.error(ParseError, "the recall is too large: expected at most 9 digits", recall)
        if int(recall.text) < 0:
            problem = f"the recall is {recall.text}: expected 0 (never in a path) or more"
            raise self.source.error(ParseError, problem, recall)
        self.take()
        self.expect(",", " after the recall")
        name = self._predicate("path", {known: mode.token for known, mode in self._paths.items()})
        places: list[str] = []
        marks: list[Token | None] = []
        while self._more(len(places)):
            marks.append(self.take() if self.at(_CONSTANT) else None)
            if self.at(*PLACES):
                places.append(self.take().text)
            elif marks[-1] is not None and self.at(",", ")"):
                places.append(UNEXPLORED)
            else:
                either = "" if marks[-1] is not None else " or '#'"
                comma = "," if either else " or"
                raise self.unexpected(f"'+' (input), '-' (output){comma} '.' (not explored){either}")
        self._paths[name.text] = _PathMode(name, int(recall.text), tuple(places), tuple(marks))

    def _clause_mode(self) -> None:
        name = self._predicate("clause", {known: token for known, (token, _) in self._clauses.items()})
        constants: list[bool] = []
        while self._more(len(constants)):
            if self.token.kind != NAME or self.token.text not in _CLAUSE_PLACES:
                raise self.unexpected("'c' (a constant) or 'v' (a variable)")
            constants.append(_CLAUSE_PLACES[self.take().text])
        self._clauses[name.text] = (name, tuple(constants))

    def _predicate(self, what: str, known: Mapping[str, Token]) -> Token:
        """Read the name of a predicate that has no mode of a kind yet."""
        name = self.token
        if name.kind != NAME:
            raise self.unexpected("the name of a predicate")
        if name.text in known:
            first = self.source.line(known[name.text])
            problem = f"{name.text} has a {what} mode in line {first} already: expected one for each predicate"
            raise self.source.error(ParseError, problem, name)
        return self.take()

    def _more(self, read: int) -> bool:
        """Step to the next argument; False if there is none. A predicate without arguments needs no parentheses."""
        if not read:
            return self.accept("(") and not self.accept(")")
        if self.accept(","):
            return True
        self.expect(")", " or ','")
        return False

    def _check_clause_modes(self) -> None:
        """In the paper's form, which has clause modes, every predicate of a path has both."""
        if not self._clauses:
            return
        for name, mode in self._paths.items():
            mark = next((mark for mark in mode.marks if mark is not None), None)
            if mark is not None:
                line = self.source.line(next(iter(self._clauses.values()))[0])
                problem = f"'#' keeps a constant, but so do clause modes (line {line}): expected only one of the two"
                raise self.source.error(ParseError, problem, mark)
            if name not in self._clauses and mode.recall:
                arguments = ",".join("v" * len(mode.places))
                problem = f"{name} has a path mode, but no clause mode: expected one, as modec({name}({arguments}))"
                raise self.source.error(ParseError, problem, mode.token)
        for name, (token, constants) in self._clauses.items():
            if name not in self._paths:
                arguments = ",".join(UNEXPLORED * len(constants))
                problem = f"{name} has a clause mode, but no path mode: expected one, as modep(1, {name}({arguments}))"
                raise self.source.error(ParseError, problem, token)
            places = len(self._paths[name].places)
            if places != len(constants):
                has = f"the clause mode of {name} has {counted(len(constants), 'place')}"
                line = self.source.line(self._paths[name].token)
                raise self.source.error(ParseError, f"{has}, its path mode (line {line}) has {places}", token)
