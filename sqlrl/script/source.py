"""The text of a script, cut into statements by its tokens, and where things stand in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sqlglot import Token, TokenType
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError

from sqlrl.errors import ParseError, ScriptError

OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)

QUOTED = (TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING)
"""Texts in quotes, also those between dollar signs."""

_OPENERS = re.compile(r"""['"]|\$[A-Za-z_]*\$|/\*""")


class ScriptDialect(DuckDB):
    """DuckDB's SQL, as scripts are cut by: statements of ours are read from its tokens, all others go to DuckDB as they are."""

    class Tokenizer(DuckDB.Tokenizer):
        """Reads the tokens behind every word: of commands, as EXPLAIN is one, sqlglot else takes the rest of the statement for one text."""

        COMMANDS: ClassVar[set[TokenType]] = set()


@dataclass(frozen=True)
class ScriptText:
    """The text of a script or of a part of a notebook, and what messages call it."""

    text: str
    path: str = "<script>"

    @cached_property
    def _lines(self) -> list[int]:
        """Where each line begins."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character, both from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """Return the character at a line and column, the nearest one if there is none."""
        line = min(max(line, 1), len(self._lines))
        end = self._lines[line] - 1 if line < len(self._lines) else len(self.text)
        return min(self._lines[line - 1] + max(column, 1) - 1, end)

    def error(self, problem: str, offset: int) -> ScriptError:
        """Return an error at a character."""
        line, column = self.place(min(offset, len(self.text)))
        text = self.text[self._lines[line - 1] :].partition("\n")[0]
        return ScriptError(problem, text=text.rstrip("\r"), line=line, column=column, path=self.path)

    def within(self, error: ParseError, problem: str, offset: int) -> ScriptError:
        """Return an error of a text that stands in the script, where it stands in the script; `problem` is its own in the words of scripts."""
        if not error.line:
            return self.error(problem, offset)
        line, column = self.place(offset)
        first = error.line == 1
        return self.error(problem, self.offset(line + error.line - 1, error.column + (column - 1 if first else 0)))

    def statements(self) -> Iterator[Tokens]:
        """Cut the text into statements, at semicolons; those without a token are none."""
        start = 0
        tokens = self._tokens()
        for i, token in enumerate(tokens):
            if token.token_type is TokenType.SEMICOLON:
                if i > start:
                    yield Tokens(self, tokens[start:i])
                start = i + 1
        if start < len(tokens):
            yield Tokens(self, tokens[start:])

    def _tokens(self) -> list[Token]:
        try:
            return ScriptDialect().tokenize(self.text)
        except TokenError as error:
            raise self._unfinished() from error

    def _unfinished(self) -> ScriptError:
        """Return the error that a text in quotes, or a comment, has no end: it begins last of those before which all is well."""
        for found in reversed(list(_OPENERS.finditer(self.text))):
            try:
                ScriptDialect().tokenize(self.text[: found.start()])
            except TokenError:
                continue
            what = "this comment" if found[0] == "/*" else f"what {found[0]} begins"
            end = "*/" if found[0] == "/*" else found[0]
            return self.error(f"{what} has no end: write {end} behind it", found.start())
        return self.error("the script is no SQL", 0)


@dataclass(frozen=True)
class Tokens:
    """The tokens of a statement, without its semicolon."""

    source: ScriptText
    tokens: Sequence[Token]

    @property
    def start(self) -> int:
        """Where it begins."""
        return self.tokens[0].start

    @property
    def end(self) -> int:
        """Where it has ended."""
        return self.tokens[-1].end + 1

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.source.text[self.start : self.end]

    def words(self, *words: str, at: int = 0) -> bool:
        """Whether words that are not in quotes stand somewhere."""
        return all(self.word(at + i) == word for i, word in enumerate(words))

    def word(self, at: int) -> str:
        """Return a word in capitals; "" if it is none or in quotes."""
        if not 0 <= at < len(self.tokens):
            return ""
        token = self.tokens[at]
        plain = self.source.text[token.start : token.end + 1]
        return plain.upper() if _WORD.fullmatch(plain) else ""

    def kind(self, at: int) -> TokenType | None:
        """Return the type of a token, None where there is none."""
        return self.tokens[at].token_type if 0 <= at < len(self.tokens) else None

    def closing(self, at: int) -> int:
        """Return the place of the bracket that closes the one at a place."""
        depth = 0
        for i in range(at, len(self.tokens)):
            depth += (self.kind(i) in OPENING) - (self.kind(i) in CLOSING)
            if depth == 0:
                return i
        raise self.source.error("this bracket is not closed", self.tokens[at].start)

    def slice(self, first: int, last: int) -> str:
        """Return what was written from one token up to before another."""
        return self.source.text[self.tokens[first].start : self.tokens[last - 1].end + 1] if last > first else ""


_WORD = re.compile(r"[^\W\d]\w*")
