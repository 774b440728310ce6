"""The parser of queries: predicates and atoms with commas or ends of lines between them, written as in `.mln` files, with their comments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlrl.errors import ModelError, ParseError
from sqlrl.logic.formulas import FormulaParser, Mentions, check
from sqlrl.logic.lexer import END, NEWLINE, SourceText, Token, nearest, tokenize
from sqlrl.logic.model import Model
from sqlrl.logic.terms import Atom


@dataclass(frozen=True, slots=True)
class QueryItem:
    """An atom, or a predicate alone, which is `bare`; and where it stands."""

    atom: Atom
    bare: bool
    source: SourceText
    token: Token
    mentions: Mentions

    def check(self, model: Model) -> None:
        """Refuse what the model does not declare."""
        if self.atom.predicate not in model.predicates:
            problem = f"unknown predicate {self.atom.predicate!r}{nearest(self.atom.predicate, model.predicates)}"
            raise self.source.error(ModelError, problem, self.token)
        if not self.bare:
            check(self.source, self.mentions, model.predicates, model.types)

    def fault(self, problem: str) -> ParseError:
        """Return an error that points at it."""
        return self.source.error(ParseError, problem, self.token)


def parse_query(text: str, path: str) -> Iterator[QueryItem]:
    """Yield the predicates and atoms of a text."""
    return _QueryParser(SourceText(text, path)).read()


class _QueryParser(FormulaParser):
    """Reads the items of one text."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source, tokenize(source))

    def read(self) -> Iterator[QueryItem]:
        """Yield one after the other."""
        while True:
            while self.token.kind == NEWLINE or self.at(","):
                self.take()
            start = self.token
            if start.kind == END:
                return
            self.mentions = Mentions()
            bare = self.peek().text != "("
            formula = self.formula()
            if not isinstance(formula, Atom):
                expected = "expected predicates or atoms, such as Cancer, Cancer(x) or Cancer(Anna)"
                raise self.source.error(ParseError, expected, start)
            if self.token.kind not in (NEWLINE, END) and not self.at(","):
                raise self.unexpected("',' or the end of the line")
            yield QueryItem(formula, bare, self.source, start, self.mentions)
