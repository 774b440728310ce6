"""The steps of a parser over the tokens of one text."""

from __future__ import annotations

from sqlrl.errors import ParseError
from sqlrl.logic.lexer import END, SIGN, Source, Token


class Cursor:
    """Reads a list of tokens; `position` is the next one.

    Parameters
    ----------
    source : Source
    tokens : list of Token
        The last one is the end.
    """

    def __init__(self, source: Source, tokens: list[Token]) -> None:
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
