"""The parser of formulas, by precedence climbing over tokens, and its checks against the declarations.

Precedence is that of Alchemy's grammar: `!` binds tightest, then `^`, `v`, `=>`, `<=>`, all of them to the left;
a quantifier reaches as far to the right as it can. A line may end after an operator or inside parentheses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlrl.errors import ModelError, ParseError, UnsupportedError
from sqlrl.logic.lexer import END, NAME, NEWLINE, NUMBER, SIGN, STRING, Cursor, SourceText, Token, nearest, tokenize
from sqlrl.logic.limits import DEEPEST
from sqlrl.logic.model import Model
from sqlrl.logic.terms import (
    And,
    Atom,
    BothSigns,
    Constant,
    Equal,
    Exist,
    ForAll,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Term,
    Variable,
)
from sqlrl.wording import counted

QUANTIFIERS: Mapping[str, type[ForAll] | type[Exist]] = {
    "FORALL": ForAll, "forall": ForAll, "Forall": ForAll, "EXIST": Exist, "exist": Exist, "Exist": Exist,
}  # fmt: skip

_PRECEDENCE = {"<=>": 1, "=>": 2, "v": 3, "^": 4}
_WRONG_OPERATORS = {
    "|": "expected 'v' for or", "||": "expected 'v' for or", "&": "expected '^' for and", "&&": "expected '^' for and",
    "~": "expected '!' for not", ";": "expected 'v' for or", "->": "expected '=>'", "<->": "expected '<=>'", ":": "expected an operator",
}  # fmt: skip
_WORDS = {
    "and": "'^'",
    "or": "'v'",
    "not": "'!'",
    "implies": "'=>'",
    "iff": "'<=>'",
    "if": "'=>' with the condition before it",
}
"""Words of other languages, in any case, and what to write for them."""

_COMPARISONS = ("<", ">", "<=", ">=", "<>")
_ARITHMETIC = ("+", "-", "*", "/", "%")

Rename = Callable[[str], str]
Binding = tuple[str, int]


# ---- parsing -----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TermMention:
    """A term where it stands; `binding` tells variables of one name in different scopes apart, None for a constant."""

    term: Term
    token: Token
    binding: tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class AtomMention:
    """An atom where it stands; `terms` in order."""

    predicate: str
    token: Token
    terms: tuple[TermMention, ...]


@dataclass(slots=True)
class Mentions:
    """All atoms, equalities and quantified variables of one formula, for the static checks."""

    atoms: list[AtomMention] = field(default_factory=list)
    equalities: list[tuple[TermMention, TermMention]] = field(default_factory=list)
    quantified: list[tuple[Token, tuple[str, int]]] = field(default_factory=list)


class FormulaParser(Cursor):
    """Reads formulas from a list of tokens; `rename` maps the constants of the text to those of the data."""

    def __init__(self, source: SourceText, tokens: list[Token], rename: Rename = str) -> None:
        super().__init__(source, tokens)
        self.rename = rename
        self.mentions = Mentions()
        self._open: list[Token] = []
        self._scopes: list[dict[str, int]] = []
        self._bindings = self._depth = 0
        # How deep the formula that was read last is.
        self._height = 0

    # ---- tokens ---------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        """The next token; the ends of lines do not count inside parentheses."""
        while self._open and self.tokens[self.position].kind == NEWLINE:
            self.position += 1
        return self.tokens[self.position]

    def peek(self, ahead: int = 1) -> Token:
        """Return a token further on."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def skip_lines(self) -> None:
        """Step over ends of lines."""
        while self.tokens[self.position].kind == NEWLINE:
            self.position += 1

    def unexpected(self, expected: str, token: Token | None = None) -> ParseError:
        """Return the error that says what was expected instead of a token."""
        token = token or self.token
        hint = ""
        if token.kind == SIGN and token.text in _WRONG_OPERATORS:
            hint = f" ({_WRONG_OPERATORS[token.text]})"
        if token.kind == NAME and token.text.lower() in _WORDS:
            hint = f" (write {_WORDS[token.text.lower()]})"
        if token.kind == END and self._open:
            line = self.source.line(self._open[-1])
            hint = f": the '{self._open[-1].text}' in line {line} is never closed"
        return self.source.error(ParseError, f"expected {expected}, found {token}{hint}", token)

    # ---- formulas -------------------------------------------------------------------------------------------

    def rule(self) -> Formula:
        """Read a formula, or a rule as Tuffy writes it: `condition, condition => formula`."""
        parts, comma = [self.formula()], None
        while not self._open and self.at(","):
            comma = self.take()
            self.skip_lines()
            parts.append(self.formula())
        if comma is None:
            return parts[0]
        last = parts.pop()
        if not isinstance(last, Implies):
            problem = "',' joins conditions only before '=>': expected '^' or 'v'"
            raise self.source.error(ParseError, problem, comma)
        return Implies(And((*parts, last.left)), last.right)

    def formula(self, least: int = 1) -> Formula:
        """Read a formula of operators that bind at least as tightly as `least`."""
        left = self._operand()
        while (operator := self._operator()) is not None and _PRECEDENCE[operator] >= least:
            parts, height, first = [left], self._height, self.token
            while self._operator() == operator:
                self.take()
                self.skip_lines()
                parts.append(self.formula(_PRECEDENCE[operator] + 1))
                height = max(height, self._height)
                if operator in ("=>", "<=>"):
                    break
            # Operators in a row nest to the left.
            self._rise(height, first)
            if operator in ("=>", "<=>"):
                left = (Implies if operator == "=>" else Iff)(parts[0], parts[1])
            else:
                left = (And if operator == "^" else Or)(tuple(parts))
        self._refuse_what_follows()
        return left

    def _operator(self) -> str | None:
        token = self.token
        return token.text if token.kind in (SIGN, NAME) and token.text in _PRECEDENCE else None

    def _refuse_what_follows(self) -> None:
        """Name the parts of the languages around ours that can follow a formula."""
        if self.at(*_COMPARISONS):
            raise self._unsupported(f"the comparison '{self.token.text}'", "load a relation with the pairs")
        if self.at("*"):
            raise self._unsupported("hybrid formulas (a formula times a number)", "weight rules over atoms")

    def _unsupported(self, what: str, remedy: str, token: Token | None = None) -> UnsupportedError:
        problem = f"{what} is not supported; {remedy} instead"
        if what.endswith(("s", ")")):
            problem = f"{what} are not supported; {remedy} instead"
        return self.source.error(UnsupportedError, problem, token or self.token)

    def _rise(self, height: int, where: Token) -> None:
        """Note that the formula that was read last is one level deeper than its parts; an error if that is too deep."""
        if height >= DEEPEST:
            problem = f"the formula is nested more than {DEEPEST} deep (operators in a row count): write several rules"
            raise self.source.error(ParseError, problem, where)
        self._height = height + 1

    def _operand(self) -> Formula:
        """Read what stands between operators, not nested too deeply for the recursion here and in later stages."""
        start = self.token
        if self._depth >= DEEPEST:
            problem = f"the formula is nested more than {DEEPEST} deep: write several rules"
            raise self.source.error(ParseError, problem, start)
        self._depth += 1
        self._height = 0
        operand = self._read_operand()
        self._depth -= 1
        if isinstance(operand, Not | ForAll | Exist):
            self._rise(self._height, start)
        return operand

    def _read_operand(self) -> Formula:
        token = self.token
        if token.kind == NAME and token.text in QUANTIFIERS and self.peek().text != "(":
            return self._quantifier()
        if self.accept("!"):
            self.skip_lines()
            return Not(self._operand())
        if self.at("("):
            self._open.append(self.take())
            inner = self.formula()
            self.expect(")", " or an operator")
            self._open.pop()
            self._refuse_equality_of("a formula in parentheses")
            return inner
        if self.at("["):
            raise self._unsupported(
                "formulas in square brackets (Alchemy's indivisible ones)",
                "write parentheses, since every formula is one feature under exact semantics",
            )
        if self.at("*"):
            self.take()
            if self.token.kind != NAME:
                raise self.unexpected("a predicate after '*'")
            return BothSigns(self._atom())
        if token.kind == NAME and token.text.lower() == "not" and self.peek().kind == NAME:
            raise self.unexpected("a formula")
        if token.kind == NAME and self._next_is("("):
            return self._atom()
        if token.kind in (NAME, STRING, NUMBER) or self.at("+"):
            return self._equality()
        raise self.unexpected("a formula")

    def _quantifier(self) -> Formula:
        kind = QUANTIFIERS[self.take().text]
        names: list[str] = []
        scope: dict[str, int] = {}
        while True:
            token = self.token
            if self.at("+"):
                problem = "a '+' variable stands for one clause for each constant and cannot be quantified"
                raise self.source.error(ModelError, problem, token)
            if token.kind != NAME or is_constant(token.text):
                raise self.unexpected("a variable (its name starts with a lower-case letter)")
            self._bindings += 1
            scope[token.text] = self._bindings
            self.mentions.quantified.append((token, (token.text, self._bindings)))
            names.append(self.take().text)
            if not self.accept(","):
                break
        self._scopes.append(scope)
        body = self.formula() if self._open else self.rule()
        self._scopes.pop()
        return kind(tuple(names), body)

    def _atom(self) -> Atom:
        token = self.take()
        terms: list[TermMention] = []
        if self.at("("):
            self._open.append(self.take())
            while not self.at(")"):
                if terms:
                    self.expect(",", " or ')'")
                terms.append(self._term())
            self.take()
            self._open.pop()
        self.mentions.atoms.append(AtomMention(token.text, token, tuple(terms)))
        self._refuse_equality_of(token.text, token)
        return Atom(token.text, tuple(t.term for t in terms))

    def _refuse_equality_of(self, what: str, token: Token | None = None) -> None:
        if self.at("=", "!=") and token is not None:
            raise self._unsupported(f"the function {what}", "declare a predicate with one more argument", token)
        if self.at("=", "!="):
            raise self.unexpected("an operator ('=' compares terms)")

    def _equality(self) -> Formula:
        """Read `term = term` or `term != term`, or an atom without arguments."""
        if self.token.kind == NAME and not self._next_is("=", "!=") and not self._next_is(*_COMPARISONS, *_ARITHMETIC):
            return self._atom()
        left = self._term()
        if not self.at("=", "!="):
            self._refuse_what_follows()
            raise self.unexpected("'=' or '!=' after a term")
        positive = self.take().text == "="
        self.skip_lines()
        right = self._term()
        self.mentions.equalities.append((left, right))
        equal = Equal(left.term, right.term)
        return equal if positive else Not(equal)

    def _next_is(self, *signs: str) -> bool:
        ahead = 1
        while self._open and self.peek(ahead).kind == NEWLINE:
            ahead += 1
        token = self.peek(ahead)
        return token.kind == SIGN and token.text in signs

    def _term(self) -> TermMention:
        plus = self.accept("+")
        token = self.take()
        if token.kind in (STRING, NUMBER) or (token.kind == NAME and is_constant(token.text)):
            if plus:
                raise self.source.error(ParseError, "expected a variable after '+', found a constant", token)
            if token.kind == NUMBER and not token.text.lstrip("-").isdigit():
                problem = f"expected a term: a constant is an integer, not {token.text}; quote it to use it as a name"
                raise self.source.error(ParseError, problem, token)
            found = TermMention(Constant(self.rename(token.text)), token, None)
        elif token.kind == NAME:
            scope = next((s[token.text] for s in reversed(self._scopes) if token.text in s), 0)
            if plus and scope:
                problem = f"'+{token.text}' stands under a quantifier: a '+' variable cannot be quantified"
                raise self.source.error(ModelError, problem, token)
            found = TermMention(Variable(token.text, plus), token, (token.text, scope))
        else:
            raise self.unexpected("a term (a variable or a constant)", token)
        if self.at("("):
            raise self._unsupported(f"the function {token.text}", "declare a predicate with one more argument", token)
        if self.at(*_ARITHMETIC) or (self.token.kind == NUMBER and self.token.text.startswith("-")):
            raise self._unsupported(f"the arithmetic '{self.token.text[0]}'", "load a relation with the results")
        return found


def is_constant(name: str) -> bool:
    """Tell whether a bare name is a constant (starts with a capital) and not a variable."""
    return name[:1].isupper()


# ---- static checks, with errors that point at the text -----------------------------------------------
def check(
    source: SourceText, mentions: Mentions, predicates: Mapping[str, Predicate], types: Mapping[str, tuple[str, ...]]
) -> None:
    """Check a formula against the declared predicates, types and constants; the ModelError points at the first fault."""
    known = _Types(source, types)
    for atom in mentions.atoms:
        _check_atom(source, atom, predicates)
        for mention, kind in zip(atom.terms, predicates[atom.predicate].types, strict=True):
            known.see(mention, kind)
    known.equalities(mentions.equalities)
    for token, binding in mentions.quantified:
        if binding not in known.of:
            raise source.error(ModelError, f"the quantified variable {token.text} occurs nowhere in its scope", token)


def _check_atom(source: SourceText, atom: AtomMention, predicates: Mapping[str, Predicate]) -> None:
    if atom.predicate not in predicates:
        hint = nearest(atom.predicate, predicates)
        problem = f"unknown predicate {atom.predicate!r}{hint or '; expected one that a line before declares'}"
        begins = not source.text[: atom.token.start].rpartition("\n")[2].strip()
        if begins and not hint and atom.terms and all(isinstance(term.term, Constant) for term in atom.terms):
            problem += "; a line that declares one has types that begin with small letters, or names after them, as in Cat(Paper p)"
        if not atom.terms and atom.token.end == atom.token.start + len(atom.predicate) and not hint:
            problem = f"{atom.predicate!r} is no declared predicate: expected an atom, or '=' or '!=' after a term"
        raise source.error(ModelError, problem, atom.token)
    declared = predicates[atom.predicate]
    if len(atom.terms) != len(declared.arguments):
        problem = f"{atom.predicate} has {counted(len(atom.terms), 'argument')} here, but is declared as {declared}"
        raise source.error(ModelError, problem, atom.token)


class _Types:
    """The types of the variables of one formula, learned while its terms are seen."""

    def __init__(self, source: SourceText, types: Mapping[str, tuple[str, ...]]) -> None:
        self.source = source
        self.of: dict[Binding, tuple[str, Token]] = {}
        self._types = types
        self._declared: dict[str, frozenset[str]] = {}

    def see(self, mention: TermMention, kind: str) -> None:
        """Note that a term stands where a type is wanted."""
        if mention.binding is None:
            self._see_constant(mention, kind)
            return
        first, where = self.of.setdefault(mention.binding, (kind, mention.token))
        if first != kind:
            line, column, _ = self.source.position(where.start)
            name = mention.binding[0]
            problem = (
                f"the variable {name} is of type {kind!r} here, but of type {first!r} in line {line}, column {column}"
            )
            raise self.source.error(ModelError, problem, mention.token)

    def _see_constant(self, mention: TermMention, kind: str) -> None:
        if kind not in self._types:
            return
        constants = self._declared.setdefault(kind, frozenset(self._types[kind]))
        name = mention.term.name
        if name not in constants:
            hint = nearest(name, constants)
            problem = f"the constant {mention.term} is not among those declared for the type {kind!r}{hint}"
            raise self.source.error(ModelError, problem, mention.token)

    def equalities(self, pairs: list[tuple[TermMention, TermMention]]) -> None:
        """Carry types across `=` until nothing changes, and require them to agree."""
        beside: dict[Binding, list[int]] = {}
        for i, pair in enumerate(pairs):
            for mention in pair:
                if mention.binding is not None:
                    beside.setdefault(mention.binding, []).append(i)
        # Those of a variable are looked at once its type is known.
        waiting = deque(i for binding in self.of for i in beside.pop(binding, ()))
        while waiting:
            left, right = pairs[waiting.popleft()]
            kind = self._type(left) or self._type(right)
            if kind is None:
                continue
            for mention in (left, right):
                self.see(mention, kind)
                if mention.binding is not None:
                    waiting += beside.pop(mention.binding, ())
        for mention in (m for pair in pairs for m in pair):
            if mention.binding is not None and mention.binding not in self.of:
                problem = f"the type of {mention.term} cannot be inferred: it occurs only in '=' and '!='"
                raise self.source.error(ModelError, problem, mention.token)

    def _type(self, mention: TermMention) -> str | None:
        if isinstance(mention.term, Constant) or mention.binding is None:
            return None
        found = self.of.get(mention.binding)
        return found[0] if found else None


def parse_formula(
    text: str, model_or_predicates: Model | Mapping[str, Predicate] | None = None, *, path: str = "<text>"
) -> Formula:
    """Parse one formula, and check it against the declarations if they are given."""
    source = SourceText(text, path)
    parser = FormulaParser(source, tokenize(source))
    parser.skip_lines()
    formula = parser.rule()
    parser.skip_lines()
    if parser.token.kind != END:
        raise parser.unexpected("an operator or the end of the formula")
    if isinstance(model_or_predicates, Model):
        check(source, parser.mentions, model_or_predicates.predicates, model_or_predicates.types)
    elif model_or_predicates is not None:
        check(source, parser.mentions, model_or_predicates, {})
    return formula
