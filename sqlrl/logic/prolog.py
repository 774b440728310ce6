"""Prolog's signs: the lexer of Aleph's mode files and of Horn definitions, and a parser's steps over its tokens."""

from __future__ import annotations

import re

from sqlrl.errors import ParseError
from sqlrl.logic.lexer import END, NAME, NUMBER, SIGN, STRING, Cursor, SourceText, Token, unescape

STOP = "stop"

_TOKEN = re.compile(
    r"""(?P<space>[\s\u00a0\ufeff]+)
      | (?P<comment>%[^\n]*|/\*(?s:.*?)\*/)
      | (?P<open_comment>/\*)
      | (?P<quoted>'(?:[^'\\\n]++|''|\\[^\n])*+'|"(?:[^"\\\n]++|\\[^\n])*+")
      | (?P<open_quoted>['"])
      | (?P<stop>\.(?=[\s%]|\Z))
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<sign>:-|\\\+|\\==|\\=|!=|==|=<|>=|<=|<>|[-+*/\#(){}\[\],=.!~^<>:;|?&@$\\])
    """,
    re.VERBOSE,
)
_BARE = re.compile(r"[^\W\d]\w*\Z")


def tokenize_prolog(source: SourceText) -> list[Token]:
    """Split a text into tokens up to `END`; `STOP` is a full stop before a blank, `%` or the end, `STRING` a quoted constant."""
    tokens: list[Token] = []
    text, offset = source.text, 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise source.error(ParseError, f"unexpected character {text[offset]!r}", offset)
        kind, end = match.lastgroup or "", match.end()
        if kind in ("open_comment", "open_quoted"):
            what, mark = (
                ("comment", "*/") if kind == "open_comment" else ("quoted constant", f"{text[offset]} in its line")
            )
            raise source.error(ParseError, f"this {what} does not end: expected {mark}", offset)
        if kind == "number" and end < len(text) and (text[end].isalpha() or text[end] == "_"):
            problem = "a name starts with a letter: quote a constant that starts with a digit"
            raise source.error(ParseError, problem, offset)
        if kind == "quoted":
            body = text[offset + 1 : end - 1]
            body = body.replace("''", "\\'") if text[offset] == "'" else body
            tokens.append(Token(STRING, unescape(body, source, offset + 1), offset, end))
        elif kind not in ("space", "comment"):
            tokens.append(
                Token({"name": NAME, "number": NUMBER, "stop": STOP}.get(kind, SIGN), match.group(), offset, end)
            )
        offset = end
    tokens.append(Token(END, "", len(text), len(text)))
    return tokens


def quoted(name: str) -> str:
    r"""Return a name as Prolog's signs write it: bare where it can be, else in single quotes."""
    if _BARE.match(name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


class PrologParser(Cursor):
    """The steps of a parser over the tokens of one text in Prolog's signs."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source, tokenize_prolog(source))

    def stop(self) -> None:
        """Step over the full stop at the end of a clause or directive."""
        if self.token.kind != STOP:
            raise self.unexpected("'.' and a blank or the end of the line")
        self.take()

    def name(self, what: str) -> Token:
        """Step over a name, bare or quoted."""
        if self.token.kind not in (NAME, STRING) or not self.token.text:
            raise self.unexpected(what)
        return self.take()

    def fault(self, problem: str, where: Token) -> ParseError:
        """Return an error that points at a token."""
        return self.source.error(ParseError, problem, where)
