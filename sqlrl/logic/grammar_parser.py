"""The parser of grammars: definitions of symbols, and templates, each from the beginning of a line."""

from __future__ import annotations

from pathlib import Path

from sqlrl.errors import ParseError
from sqlrl.logic.conjunctions import ConjunctionParser, TextPlace
from sqlrl.logic.grammar import Grammar
from sqlrl.logic.lexer import END, NAME, NEWLINE, NUMBER, SIGN, SourceText, check_text, nearest, read_text, tokenize
from sqlrl.logic.limits import LONGEST_CLAUSE, LONGEST_NUMBER
from sqlrl.logic.templates import COMPOUNDER, EXTENDER, KINDS, ONE, Expansion, Kind, Symbol, Template, is_symbol, plain


def parse_grammar(text: str, source: str = "<text>") -> Grammar:
    r"""Parse a grammar: definitions of symbols, and templates in which they stand.

    A definition is `NAME(variables) = {expansion, ...}`, with `compounder k` or `extender k` behind it or nothing; it may go
    over several lines inside its braces. An expansion is a conjunction of literals, or a predicate without parentheses, which
    has the variables of the symbol then. Any other line is a template: a conjunction of symbols and literals, `[!]` before a
    literal of a target that is to stand once with and once without negation. `//` and `/* */` mark comments.

    A name in capitals that has a definition, before or after its use, is a symbol; any other one is a predicate.

    Parameters
    ----------
    text : str
    source : str
        The file, or a name for the text, in errors.

    Returns
    -------
    Grammar

    Raises
    ------
    ParseError
        The text does not parse, or a compounder or extender of 0.
    ModelError
        As in `Symbol` and `Grammar`. Like the others it shows the line with a caret.
    UnsupportedError
        Quantifiers, functions, and `+` variables.

    Examples
    --------
    >>> grammar = parse_grammar(
    ...     "CENTRE(v) = {usedTag(t, v), listens(a, v)} compounder 2\n"
    ...     "USERS(v, w) = {friends, !muted(w, v) ^ friends} extender 2  // chains\n"
    ...     "CENTRE(v) ^ [!]cFriends(v)\n"
    ...     "USERS(v, w) ^ cFriends(v) ^ cFriends(w)"
    ... )
    >>> grammar.symbols[1].kind, grammar.templates[1].line
    ('extender', 4)
    >>> print(grammar)
    CENTRE(v) = {usedTag(t, v), listens(a, v)} compounder 2
    USERS(v, w) = {friends(v, w), !muted(w, v) ^ friends(v, w)} extender 2
    <BLANKLINE>
    CENTRE(v) ^ [!]cFriends(v)
    USERS(v, w) ^ cFriends(v) ^ cFriends(w)
    <BLANKLINE>
    >>> parse_grammar("CENTRE(v) = {listens(a, v)} compounder 0")
    Traceback (most recent call last):
        ...
    sqlrl.errors.ParseError: <text>:1:40: the compounder is of 0 expansions: expected an integer from 1 to 250
      CENTRE(v) = {listens(a, v)} compounder 0
                                             ^
    """
    check_text(text, "a grammar", "read files with read_grammar")
    return _GrammarParser(SourceText(text, source)).read()


def read_grammar(path: str | Path) -> Grammar:
    r"""Read a grammar from a file; `parse_grammar` says what stands there.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Grammar

    Raises
    ------
    ParseError
        As in `parse_grammar`; also for a missing file.
    ModelError, UnsupportedError
        As in `parse_grammar`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "friends.grammar").write_text(
    ...         "USERS(v, w) = {friends}\nUSERS(v, w) ^ smokes(v) ^ smokes(w)\n"
    ...     )
    ...     print(read_grammar(Path(folder, "friends.grammar")).templates[0])
    USERS(v, w) ^ smokes(v) ^ smokes(w)
    """
    return parse_grammar(read_text(path, parse="sqlrl.parse_grammar"), source=str(path))


class _GrammarParser(ConjunctionParser):
    """Reads the lines of one text."""

    def __init__(self, source: SourceText) -> None:
        super().__init__(source, tokenize(source))

    def read(self) -> Grammar:
        """Read all definitions and templates."""
        symbols: list[Symbol] = []
        templates: list[Template] = []
        self.skip_lines()
        while self.token.kind != END:
            if self.token.kind == NAME and self._next_is("=") and self.peek(2).text == "{":
                raise self.unexpected(f"the symbol's variables, as {self.token.text}(x)", self.peek())
            if self._defines():
                symbols.append(self._definition())
                end = "the end of the line"
            else:
                templates.append(Template(*self.conjunction("a template")))
                end = "'^' or the end of the line"
            if self.token.kind not in (NEWLINE, END):
                raise self.unexpected(end)
            self.skip_lines()
        if not templates:
            problem = "there is no template: expected one, as CENTRE(v) ^ cFriends(v)"
            raise ParseError(problem, path=self.source.path)
        return Grammar(tuple(symbols), tuple(templates), self.source.path)

    def _defines(self) -> bool:
        """Tell whether a definition comes next: a name with parentheses, and `=` behind them."""
        if self.token.kind != NAME or not self._next_is("("):
            return False
        ahead = 2
        while self.peek(ahead).kind != END and not (self.peek(ahead).kind == SIGN and self.peek(ahead).text in "()"):
            ahead += 1
        behind = self.peek(ahead + 1)
        return self.peek(ahead).text == ")" and behind.kind == SIGN and behind.text == "="

    def _definition(self) -> Symbol:
        name = self.take()
        if not is_symbol(name.text):
            problem = f"'{name.text}' is no name of a symbol: expected one in capitals, as CENTRE or USERS_2"
            raise self.source.error(ParseError, problem, name)
        self._open.append(self.expect("("))
        variables: list[str] = []
        while not self.at(")"):
            if variables:
                self.expect(",", " or ')'")
            if self.token.kind != NAME or self.token.text[:1].isupper():
                raise self.unexpected("a variable (its name starts with a small letter)")
            variables.append(self.take().text)
        self.take()
        self._open.pop()
        self.expect("=")
        self.skip_lines()
        if not self.at("{"):
            raise self.unexpected("'{' and the expansions of the symbol")
        self._open.append(self.take())
        expansions: list[Expansion] = []
        while not self.at("}"):
            if expansions:
                self.expect(",", ", '^' or '}'")
            parts, places = self.conjunction("an expansion", tuple(variables))
            expansions.append(Expansion(plain(parts), places))
        self._open.pop()
        self.take()
        kind, most = self._kind()
        return Symbol(name.text, variables, expansions, kind, most, TextPlace(self.source, name.start))

    def _kind(self) -> tuple[Kind, int]:
        """Read `compounder k`, `extender k` or nothing."""
        word = self.token
        if word.kind in (NEWLINE, END):
            return ONE, 1
        if word.kind != NAME or word.text not in (COMPOUNDER, EXTENDER):
            hint = nearest(word.text, KINDS[1:]) if word.kind == NAME else ""
            raise self.unexpected("'compounder k', 'extender k' or the end of the line" + hint.rstrip("?"))
        self.take()
        number = self.token
        if number.kind != NUMBER:
            raise self.unexpected(f"how many expansions at most, as '{word.text} 2'")
        self.take()
        text = number.text
        if not text.isdecimal() or len(text) > LONGEST_NUMBER or not 1 <= int(text) <= LONGEST_CLAUSE:
            problem = f"the {word.text} is of {text} expansions: expected an integer from 1 to {LONGEST_CLAUSE}"
            raise self.source.error(ParseError, problem, number)
        return (COMPOUNDER if word.text == COMPOUNDER else EXTENDER), int(text)
