"""The lexer of Alchemy's and Tuffy's languages: text to tokens with positions, and errors that point at them."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from sqlrl.errors import InputError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME, STRING, NUMBER, SIGN, NEWLINE, END = "name", "string", "number", "sign", "newline", "end"

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v\u00a0\ufeff]+)
      | (?P<newline>\n)
      | (?P<comment>//[^\n]*|/\*(?s:.*?)\*/)
      | (?P<open_comment>/\*)
      | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
      | (?P<open_string>")
      | (?P<dots>\.\.\.)
      | (?P<number>-?(?:\d+\.(?=[eE][+-]?\d)|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d_](?<=[A-Z])\w*(?:-\w+)*|[^\W\d]\w*)
      | (?P<sign><=>|=>|!=|:=|:-|<=|>=|<>|\|\||&&|[-!^(){}\[\],=+*.?:|&<>/%@\#$;~'])
    """,
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\(.)")

E = TypeVar("E", bound=InputError)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, its text (for a string: the value it stands for), and where it starts and ends."""

    kind: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        """The token as an error message names it."""
        if self.kind == NEWLINE:
            return "the end of the line"
        if self.kind == END:
            return "the end of the text"
        return f"the string {self.text!r}" if self.kind == STRING else f"'{self.text}'"


class Source:
    """A text with its name, which turns offsets into lines and columns.

    Parameters
    ----------
    text : str
    path : str
        The file, or a name for the text.
    first_line : int
        The number of its first line.
    """

    def __init__(self, text: str, path: str = "<text>", first_line: int = 1) -> None:
        self.text, self.path, self.first_line = text, path, first_line
        self._ends: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int, str]:
        """Return line and column (from 1) of an offset, and the text of the line."""
        if self._ends is None:
            self._ends = [match.start() for match in re.finditer("\n", self.text)]
        line = bisect_left(self._ends, offset)
        begin = self._ends[line - 1] + 1 if line else 0
        end = self._ends[line] if line < len(self._ends) else len(self.text)
        return self.first_line + line, offset - begin + 1, self.text[begin:end].rstrip("\r")

    def line(self, token: Token) -> int:
        """Return the line of a token, from 1."""
        return self.position(token.start)[0]

    def error(self, kind: type[E], problem: str, where: Token | int) -> E:
        """Return an error of a kind that shows the line and a caret under the token or offset."""
        line, column, text = self.position(where.start if isinstance(where, Token) else where)
        located = ParseError(problem, text=text, line=line, column=column, path=self.path)
        return located if isinstance(located, kind) else kind(str(located))


def tokenize(source: Source) -> list[Token]:
    """Split a text into tokens; comments and blanks vanish, the ends of lines stay, the last token is the end.

    Raises
    ------
    ParseError
        A character that starts no token, a string or comment that does not end, an unknown escape.

    Examples
    --------
    >>> [t.text for t in tokenize(Source("0.5 P(x) v Q(x) // rule"))]
    ['0.5', 'P', '(', 'x', ')', 'v', 'Q', '(', 'x', ')', '']
    """
    tokens: list[Token] = []
    text, offset = source.text, 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            character = text[offset]
            hint = "; quote a constant with such characters" if not character.isspace() else ""
            raise source.error(ParseError, f"unexpected character {character!r}{hint}", offset)
        kind = match.lastgroup
        if kind in ("open_comment", "open_string"):
            what, mark = ("comment", "*/") if kind == "open_comment" else ("string", "'\"' on the same line")
            raise source.error(ParseError, f"this {what} does not end: expected {mark}", offset)
        if kind not in ("space", "comment"):
            tokens.append(_token(source, match))
        offset = match.end()
    tokens.append(Token(END, "", len(text), len(text)))
    return tokens


def _token(source: Source, match: re.Match[str]) -> Token:
    kind, text = match.lastgroup or "", match.group()
    start, end = match.span()
    if kind == "string":
        return Token(STRING, unescape(text[1:-1], source, start + 1), start, end)
    if kind == "newline":
        return Token(NEWLINE, text, start, end)
    if kind == "number" and end < len(source.text) and (source.text[end].isalpha() or source.text[end] == "_"):
        raise source.error(ParseError, "a name starts with a letter: quote a constant that starts with a digit", start)
    return Token({"number": NUMBER, "name": NAME}.get(kind, SIGN), text, start, end)


def signed_number(source: Source, number: Token, sign: Token | None = None) -> float:
    """Return the value of a number and of a sign that may stand before it; a negative number has its sign in its token.

    Parameters
    ----------
    source : Source
    number : Token
    sign : Token, optional
        `+` or `-`.

    Raises
    ------
    ParseError
        Two signs.

    Examples
    --------
    >>> source = Source("+0.5 P(x)")
    >>> sign, number, *_ = tokenize(source)
    >>> signed_number(source, number, sign)
    0.5
    """
    if sign is None:
        return float(number.text)
    if number.text.startswith("-"):
        raise source.error(ParseError, f"expected one sign before a number, found '{sign.text}{number.text}'", sign)
    return float(sign.text + number.text)


def unescape(text: str, source: Source, offset: int) -> str:
    r"""Replace the escapes of a quoted constant.

    Parameters
    ----------
    text : str
        Between the quotes.
    source : Source
    offset : int
        Where it stands in the source.

    Raises
    ------
    ParseError
        An escape that the language does not have.

    Examples
    --------
    >>> unescape(r"one \"word\"", Source("", "<text>"), 0)
    'one "word"'
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        """Return the character that an escape stands for."""
        if match.group(1) not in _ESCAPES:
            expected = r"""expected \n, \r, \t, \", \' or \\ (which is one backslash)"""
            problem = f"unknown escape '{match.group()}': {expected}"
            raise source.error(ParseError, problem, offset + match.start())
        return _ESCAPES[match.group(1)]

    return _ESCAPE.sub(replace, text)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `"; did you mean ...?"` with the known names nearest to one, or nothing if none is near.

    Examples
    --------
    >>> nearest("Smoke", ["Smokes", "Cancer"])
    "; did you mean 'Smokes'?"
    """
    lowered: dict[str, str] = {}
    for candidate in known:
        lowered.setdefault(candidate.casefold(), candidate)
    found = [lowered[n] for n in get_close_matches(name.casefold(), lowered, n=3)]
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""
