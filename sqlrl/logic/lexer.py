"""The lexer of Alchemy's and Tuffy's languages: text to tokens with positions, steps over them, and errors that point at them."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sqlrl.errors import InputError, ParseError, Phrase
from sqlrl.paths import UNNAMEABLE
from sqlrl.wording import check_characters, did_you_mean, nearest_names, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

_PATH = re.compile(r"\s*[^\s()]+\.[A-Za-z]\w*\s*")
"""One word with an ending: no text of any of the languages."""

NAME, STRING, NUMBER, SIGN, NEWLINE, END = "name", "string", "number", "sign", "newline", "end"
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v\u00a0\ufeff]+)
      | (?P<newline>\n)
      | (?P<comment>//[^\n]*|/\*(?s:.*?)\*/)
      | (?P<open_comment>/\*)
      | (?P<string>"(?:[^"\\\n]++|\\[^\n])*+")
      | (?P<open_string>")
      | (?P<dots>\.\.\.)
      | (?P<number>-?(?:\d+\.(?=[eE][+-]?\d)|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d_](?<=[A-Z])\w*(?:-\w+)*|[^\W\d]\w*'*)
      | (?P<sign><=>|=>|<->|->|!=|:=|:-|<=|>=|<>|\|\||&&|[-!^(){}\[\],=+*.?:|&<>/%@\#$;~'])
    """,
    re.VERBOSE,
)

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_ESCAPE = re.compile(r"\\(.)")
_LONGEST_LIKENED = 200
"""Characters of a name that is quoted whole, and with which others are compared, which takes time that grows with their square."""
E = TypeVar("E", bound=InputError)


# ---- texts of the rule languages ---------------------------------------------------------------------


def read_text(path: str | Path, *, parse: str = "") -> str:
    """Read a UTF-8 file, line endings untranslated; errors name `parse` as the function that takes the text itself."""
    given: object = path
    instead = f"; if this is the text itself, {Phrase('pass it to {}', (parse,))}" if parse else ""
    if not isinstance(given, str | Path):
        raise InputError(f"{shortened(repr(given))} is no path of a file: give a str or a pathlib.Path{instead}")
    name = shortened(str(path))
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        remedy = instead if "\n" in str(path) or "(" in str(path) else ""
        raise ParseError(f"cannot read the file: {error.strerror}{remedy}", path=name) from error
    except UnicodeDecodeError as error:
        raise ParseError(f"the file is no UTF-8 text: byte {error.start} is damaged", path=name) from error
    except ValueError as error:
        raise ParseError(f"cannot read the file: {UNNAMEABLE}", path=name) from error


def check_text(text: object, what: str, remedy: str) -> None:
    """Refuse a value that is no text of `what` ("a model"), or that is a path; `remedy` says how to read a file."""
    if not isinstance(text, str):
        decode = "decode bytes with .decode(), " if isinstance(text, bytes) else ""
        raise InputError(f"the text of {what} is a str, not {type(text).__name__}: {decode}{remedy}")
    check_characters(text, f"the text of {what}")
    if _PATH.fullmatch(text):
        raise InputError(f"{text.strip()!r} is the path of a file rather than the text of {what}: {remedy}")


# ---- tokens ------------------------------------------------------------------------------------------


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
        text = self.text if len(self.text) <= _LONGEST_LIKENED else shortened(self.text)
        return f"the string {text!r}" if self.kind == STRING else f"'{text}'"


class SourceText:
    """A text with its path, which turns offsets into lines and columns; its errors show a line only if it is `quotable`."""

    def __init__(self, text: str, path: str = "<text>", first_line: int = 1, *, quotable: bool = True) -> None:
        self.text, self.path, self.first_line, self.quotable = text, path, first_line, quotable
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
        shown = text if self.quotable else ""
        located = ParseError(problem, text=shown, line=line, column=column, path=self.path)
        if isinstance(located, kind):
            return located
        error = kind(located.message)
        error.located = located
        return error


def tokenize(source: SourceText) -> list[Token]:
    """Split a text into tokens; comments and blanks vanish, the ends of lines stay, the last token is the end."""
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


def _token(source: SourceText, match: re.Match[str]) -> Token:
    kind, text = match.lastgroup or "", match.group()
    start, end = match.span()
    if kind == "string":
        return Token(STRING, unescape(text[1:-1], source, start + 1), start, end)
    if kind == "newline":
        return Token(NEWLINE, text, start, end)
    if kind == "number" and end < len(source.text) and (source.text[end].isalpha() or source.text[end] == "_"):
        raise source.error(ParseError, "a name starts with a letter: quote a constant that starts with a digit", start)
    return Token({"number": NUMBER, "name": NAME}.get(kind, SIGN), text, start, end)


def signed_number(source: SourceText, number: Token, sign: Token | None = None) -> float:
    """Return the value of a number and of a sign that may stand before it; a negative number has its sign in its token."""
    if sign is None:
        return float(number.text)
    if number.text.startswith("-"):
        raise source.error(ParseError, f"expected one sign before a number, found '{sign.text}{number.text}'", sign)
    return float(sign.text + number.text)


def unescape(text: str, source: SourceText, offset: int) -> str:
    r"""Replace the escapes of a quoted constant; `text` is what stands between the quotes, at `offset` in the source."""
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
    """Return `"; did you mean ...?"` with the known names nearest to one, or nothing if none is near."""
    return "" if len(name) > _LONGEST_LIKENED else did_you_mean(nearest_names(name, known, 0.6))


# ---- a parser's steps --------------------------------------------------------------------------------


class Cursor:
    """Reads a list of tokens, whose last one is the end; `position` is the next one."""

    def __init__(self, source: SourceText, tokens: list[Token]) -> None:
        self.source, self.tokens = source, tokens
        self.position = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def take(self) -> Token:
        """Return the next token and step over it."""
        token = self.token
        if token.kind != END:
            self.position += 1
        return token

    def at(self, *signs: str) -> bool:
        """Tell whether the next token is one of some signs."""
        token = self.token
        return token.kind == SIGN and token.text in signs

    def accept(self, sign: str) -> bool:
        """Step over a sign if it comes next."""
        if self.at(sign):
            self.take()
            return True
        return False

    def expect(self, sign: str, why: str = "") -> Token:
        """Step over a sign or fail."""
        if not self.at(sign):
            raise self.unexpected(f"'{sign}'{why}")
        return self.take()

    def unexpected(self, expected: str, token: Token | None = None) -> ParseError:
        """Return the error that says what was expected instead of a token, by default the next one."""
        token = token or self.token
        return self.source.error(ParseError, f"expected {expected}, found {token}", token)
