"""Conjunctions of literals as text, each literal with its place: what templates and their expansions are made of."""

from __future__ import annotations

from dataclasses import dataclass

from sqlrl import markup
from sqlrl.errors import ModelError, ParseError, UnsupportedError
from sqlrl.logic.formulas import QUANTIFIERS, FormulaParser, TermMention
from sqlrl.logic.lexer import END, NAME, NUMBER, STRING, SourceText, tokenize
from sqlrl.logic.terms import Atom, BothSigns, Equal, EqualityLiteral, Formula, Literal, Not, Variable

Part = Literal | EqualityLiteral | BothSigns
"""What stands between the `^` of a template; `BothSigns` is written `[!]P(x)` there."""


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where something stands in a text."""

    source: SourceText
    offset: int
    _repr_html_ = markup.field_table

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.source.position(self.offset)[0]


def fault(problem: str, place: TextPlace | None) -> ModelError:
    """Return an error that shows a place; what was made by hand has none."""
    return ModelError(problem) if place is None else place.source.error(ModelError, problem, place.offset)


def format_part(part: Part) -> str:
    """Return a part of a template as it is written."""
    return f"[!]{part.atom}" if isinstance(part, BothSigns) else str(part)


class ConjunctionParser(FormulaParser):
    """Reads conjunctions of literals; all the rest of first-order logic is refused by name."""

    def conjunction(
        self, what: str, arguments: tuple[str, ...] | None = None
    ) -> tuple[tuple[Part, ...], tuple[TextPlace, ...]]:
        """Read `what` ("a template" or "an expansion") and the place of each literal; a bare name takes the `arguments`."""
        parts: list[Part] = []
        places: list[TextPlace] = []
        while True:
            places.append(TextPlace(self.source, self.token.start))
            parts.append(self._part(what, arguments))
            if not self.accept("^"):
                break
            self.skip_lines()
        if self.at("=>", "<=>") or (self.token.kind == NAME and self.token.text == "v"):
            problem = f"{what} is a conjunction of literals: expected '^', found {self.token}; write one for each case"
            raise self.source.error(ParseError, problem, self.token)
        return tuple(parts), tuple(places)

    def _part(self, what: str, arguments: tuple[str, ...] | None) -> Part:
        if self.at("["):
            return self._both_signs(what)
        if self.at("*"):
            raise self.unexpected("a literal (Alchemy's '*' before an atom is '[!]' in a template)")
        if self.at("("):
            raise self.unexpected(
                f"a literal: {what} has literals with '^' between them, without parentheses around them"
            )
        negated = self.accept("!")
        token = self.token
        if token.kind == NAME and token.text in QUANTIFIERS and not self._next_is("(", "=", "!="):
            problem = (
                f"quantifiers ('{token.text}') are not supported in {what}: leave it out, since a variable that only the evidence "
                "has asks for some constant already"
            )
            raise self.source.error(UnsupportedError, problem, token)
        if token.kind not in (NAME, STRING, NUMBER) and not self.at("+"):
            raise self.unexpected("a literal, as p(x), !p(x) or x != y")
        if token.kind == NUMBER and not self._next_is("=", "!="):
            problem = f"{what} has no weight: expected a literal, since a learner weighs the candidates"
            raise self.source.error(ParseError, problem, token)
        with_terms = token.kind == NAME and self._next_is("(")
        atom = self._atom() if with_terms else self._equality()
        if isinstance(atom, Atom) and not with_terms and arguments is not None:
            atom = Atom(atom.predicate, tuple(map(Variable, arguments)))
        return literal_of(Not(atom) if negated else atom)

    def _both_signs(self, what: str) -> BothSigns:
        start = self.take()
        self.expect("!", " (as in '[!]p(x)')")
        self.expect("]", " (as in '[!]p(x)')")
        if what == "an expansion":
            problem = (
                "'[!]' stands before a literal of a target in a template: write an expansion with '!' and one without"
            )
            raise self.source.error(ParseError, problem, start)
        if self.token.kind != NAME or not self._next_is("("):
            raise self.unexpected("an atom after '[!]'")
        return BothSigns(self._atom())

    def _term(self) -> TermMention:
        if self.at("+"):
            problem = (
                "'+' variables are not supported in templates: write an expansion for each constant, as p(x, Anna), or put "
                "'+' into rules of a model, whose weights are learned"
            )
            raise self.source.error(UnsupportedError, problem, self.token)
        return super()._term()


def literal_of(formula: Formula) -> Literal | EqualityLiteral:
    """Return an atom or equality, negated or not, as a literal."""
    positive = True
    while isinstance(formula, Not):
        formula, positive = formula.body, not positive
    if isinstance(formula, Equal):
        return EqualityLiteral(formula.left, formula.right, positive)
    assert isinstance(formula, Atom)
    return Literal(formula.predicate, formula.terms, positive)


def parse_conjunction(
    text: str, what: str, path: str, arguments: tuple[str, ...] | None = None
) -> tuple[tuple[Part, ...], tuple[TextPlace, ...]]:
    """Parse a text that is one conjunction; see `ConjunctionParser.conjunction`."""
    source = SourceText(text, path)
    parser = ConjunctionParser(source, tokenize(source))
    parser.skip_lines()
    found = parser.conjunction(what, arguments)
    parser.skip_lines()
    if parser.token.kind != END:
        raise parser.unexpected(f"'^' or the end of {what}")
    return found
