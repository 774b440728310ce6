"""The parser of mappings: a pair of predicates on each line, and the constants of a type in braces."""

from __future__ import annotations

import re
from pathlib import Path

from sqlrl.errors import ParseError
from sqlrl.logic.conjunctions import TextPlace
from sqlrl.logic.lexer import (
    END,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    Cursor,
    SourceText,
    Token,
    check_text,
    read_text,
    tokenize,
)
from sqlrl.logic.mapping import NONE, ConstantPair, PredicateMapping, PredicatePair

_HASH_COMMENT = re.compile(r'("(?:[^"\\\n]|\\[^\n])*"|//[^\n]*|/\*(?s:.*?)\*/)|#[^\n]*')
"""What may hold a `#` that begins no comment, or a comment that begins with `#`."""


def parse_mapping(text: str, source: str = "<text>") -> PredicateMapping:
    r"""Parse a mapping of a source domain's predicates, and constants, to those of a target domain.

    A line `student -> actor` maps a predicate, `inPhase -> None` says that one has no counterpart; those that no line names have
    none either. The types of the arguments may be written as they are declared, `student(person) -> actor(person)`. Constants
    stand in braces after their type in the source: `position = {Faculty -> Lead, "Post Doc" -> None}`; that may go over several
    lines. A constant is written as in models; one called None has quotes. `#`, `//` and `/* */` mark comments.

    Parameters
    ----------
    text : str
    source : str
        The file, or a name for the text, in errors.

    Returns
    -------
    PredicateMapping
        `str` of it is such a text again. Mappings in dicts are made by `PredicateMapping`.

    Raises
    ------
    ParseError
        The text does not parse, or maps no predicate. The message shows the line with a caret.
    ModelError
        As in `PredicateMapping`, with the lines.

    Examples
    --------
    >>> mapping = parse_mapping(
    ...     "student(person) -> actor(person)  # who\n"
    ...     "inPhase -> None\n"
    ...     'position = {Faculty -> Lead, "Post Doc" -> Extra}'
    ... )
    >>> print(mapping)
    student(person) -> actor(person)
    inPhase -> None
    <BLANKLINE>
    position = {Faculty -> Lead, "Post Doc" -> Extra}
    <BLANKLINE>
    >>> parse_mapping("student -> actor\nprofessor -> actor")
    Traceback (most recent call last):
        ...
    sqlrl.errors.ModelError: <text>:2:1: actor is already the counterpart of student in line 1: map one of student and professor to another predicate or to None
      professor -> actor
      ^
    """
    check_text(text, "a mapping", "read files with read_mapping, and make one of a dict with PredicateMapping")
    return _MappingParser(SourceText(text, source)).read()


def read_mapping(path: str | Path) -> PredicateMapping:
    r"""Read a mapping from a file; `parse_mapping` says what stands there.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    PredicateMapping

    Raises
    ------
    ParseError
        As in `parse_mapping`; also for a missing file.
    ModelError
        As in `parse_mapping`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "uw-imdb.mapping").write_text("student -> actor\nadvisedBy -> workedUnder\n")
    ...     read_mapping(Path(folder, "uw-imdb.mapping")).targets
    {'student': 'actor', 'advisedBy': 'workedUnder'}
    """
    return parse_mapping(read_text(path, parse="sqlrl.parse_mapping"), source=str(path))


class _MappingParser(Cursor):
    """Reads the lines of one text."""

    def __init__(self, source: SourceText) -> None:
        blanked = _HASH_COMMENT.sub(lambda match: match[1] or " " * len(match[0]), source.text)
        # Of the same length, so that places are those of the text.
        super().__init__(source, tokenize(SourceText(blanked, source.path)))

    def read(self) -> PredicateMapping:
        """Read all pairs."""
        predicates: list[PredicatePair] = []
        constants: list[ConstantPair] = []
        self._skip_lines()
        while self.token.kind != END:
            if self.token.kind != NAME:
                problem = "a predicate, as in 'student -> actor', or a type with its constants, as in 'position = {Faculty -> Lead}'"
                raise self.unexpected(problem)
            name = self.take()
            if self.accept("="):
                constants += self._constants(name)
            else:
                predicates.append(self._predicates(name))
            if self.token.kind not in (NEWLINE, END):
                raise self.unexpected("the end of the line")
            self._skip_lines()
        if not predicates:
            raise ParseError("the mapping has no predicate: expected some, as student -> actor", path=self.source.path)
        return PredicateMapping(predicates, constants)

    def _skip_lines(self) -> None:
        while self.token.kind == NEWLINE:
            self.take()

    def _predicates(self, name: Token) -> PredicatePair:
        """Read what follows the name of a source predicate."""
        source_types = self._types()
        if not self.accept("->"):
            what = (
                "and the target predicate"
                if source_types is not None
                else "and the target predicate, or '=' and constants in braces"
            )
            raise self.unexpected(f"'->' {what}")
        if self.token.kind != NAME:
            raise self.unexpected(f"a target predicate, or {NONE}")
        target = self.take()
        place = TextPlace(self.source, name.start)
        if target.text == NONE:
            return PredicatePair(name.text, None, source_types, None, place)
        return PredicatePair(name.text, target.text, source_types, self._types(), place)

    def _types(self) -> tuple[str, ...] | None:
        """Read the types of the arguments, if they are written."""
        if not self.accept("("):
            return None
        found: list[str] = []
        while not self.at(")"):
            if found:
                self.expect(",", " or ')'")
            if self.token.kind != NAME:
                raise self.unexpected("the type of an argument, as it is declared")
            found.append(self.take().text)
            # The mark of a block is a matter of the declaration, from which the argument may be copied.
            self.accept("!")
        self.take()
        return tuple(found)

    def _constants(self, kind: Token) -> list[ConstantPair]:
        """Read the constants of a type, in braces."""
        opened = self.expect("{", " and the constants of the type, as in 'position = {Faculty -> Lead}'")
        type_place = TextPlace(self.source, kind.start)
        found: list[ConstantPair] = []
        self._skip_lines()
        while not self.at("}"):
            if found:
                self._inside(opened, ",", " or '}'")
            place = TextPlace(self.source, self.token.start)
            source = self._constant(opened, f"a constant of the type {kind.text}")
            if source is None:
                problem = f'{NONE} is the word for no counterpart: a target constant that stands for none is left out; a constant of that name is written "{NONE}"'
                raise self.source.error(ParseError, problem, place.offset)
            self._inside(opened, "->", " and the constant of the target")
            target = self._constant(opened, f"a constant of the target, or {NONE}")
            found.append(ConstantPair(kind.text, source, target, place, type_place))
            self._skip_lines()
        self.take()
        if not found:
            raise self.source.error(ParseError, f"the type {kind.text} has no constants: leave it out", opened)
        return found

    def _inside(self, opening: Token, sign: str, why: str) -> None:
        """Step over a sign and the ends of lines around it."""
        self._skip_lines()
        if not self.at(sign):
            raise self._unclosed(opening) if self.token.kind == END else self.unexpected(f"'{sign}'{why}")
        self.take()
        self._skip_lines()

    def _constant(self, opened: Token, expected: str) -> str | None:
        """Read a constant, None for the word without quotes."""
        token = self.token
        if token.kind == END:
            raise self._unclosed(opened)
        if token.kind not in (NAME, STRING, NUMBER):
            raise self.unexpected(expected)
        if token.kind == NUMBER and not token.text.lstrip("-").isdigit():
            problem = f"expected {expected}: an integer, not {token.text}; quote it to use it as a name"
            raise self.source.error(ParseError, problem, token)
        self.take()
        return None if token.kind == NAME and token.text == NONE else token.text

    def _unclosed(self, opened: Token) -> ParseError:
        return self.source.error(ParseError, "this '{' is never closed: expected '}' after the constants", opened)
