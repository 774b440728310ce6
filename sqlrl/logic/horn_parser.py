"""The parser of Horn definitions, in the project's convention of variables or in Prolog's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlrl.errors import DoubleQuoted, InputError, ModelError, Parameter, ParseError, UnsupportedError
from sqlrl.logic.horn import ANONYMOUS, Definitions, HornAtom, HornRule
from sqlrl.logic.lexer import END, NAME, NUMBER, STRING, SourceText, Token, check_text
from sqlrl.logic.prolog import STOP, PrologParser
from sqlrl.logic.terms import Constant, Term, Variable
from sqlrl.wording import counted

LOWER, UPPER = "lower", "upper"
"""Conventions: which names are variables."""

_EQUAL, _UNEQUAL = ("=", "=="), ("!=", "\\=", "\\==")
_ORDER = ("<", ">", "=<", "<=", ">=", "<>")
_ALTERNATIVE = (";", "|", "->")


def parse_definitions(text: str, *, variables: str = LOWER, path: str = "<text>") -> Definitions:
    """Parse rules `head :- literal, literal.`, whose variables begin with a small letter or `_` ("lower", as in models)
    or with a capital or `_` ("upper", as in Prolog and Aleph); quoted names and numbers are constants.
    """
    check_text(text, "definitions", "give rules such as 'p(x) :- q(x).', or a pathlib.Path for a file of them")
    if variables not in (LOWER, UPPER):
        raise InputError(f'variables is {variables!r}: expected "lower" (as in models) or "upper" (as in Prolog)')
    return _HornParser(SourceText(text, path), variables).read()


@dataclass
class _Body:
    """What the parser has read of a rule's body."""

    atoms: list[HornAtom] = field(default_factory=list)
    negated: list[HornAtom] = field(default_factory=list)
    equal: list[tuple[Term, Term, Token]] = field(default_factory=list)
    unequal: list[tuple[Term, Term, Token]] = field(default_factory=list)


class _HornParser(PrologParser):
    """Reads the rules of one text."""

    def __init__(self, source: SourceText, convention: str) -> None:
        super().__init__(source)
        self._convention = convention
        self._arities: dict[str, tuple[int, Token]] = {}
        self._names: dict[str, str] = {}
        self._plain: set[str] = set()
        self._anonymous = self._bare = 0

    def read(self) -> Definitions:
        """Read all rules."""
        rules: list[HornRule] = []
        while self.token.kind != END:
            rules.append(self._rule())
        if not rules:
            raise ParseError("there are no definitions: expected rules, as p(x) :- q(x, y).", path=self.source.path)
        return Definitions(tuple(rules))

    def _rule(self) -> HornRule:
        start = self.token
        self._names, self._plain, self._anonymous, self._bare = {}, set(), 0, 0
        head, body = self._atom(), _Body()
        if self.accept(":-"):
            self._literal(body)
            while self.accept(","):
                self._literal(body)
        if self.at(*_ALTERNATIVE, "^"):
            fix = "',' between literals" if self.at("^") else "one rule for each alternative"
            raise self.source.error(
                UnsupportedError, f"'{self.token.text}' is no part of a rule: write {fix}", self.token
            )
        self.stop()
        self._check_convention(body, start)
        return _normal(head, body, self.source, {plain: name for name, plain in self._names.items()})

    # ---- literals ---------------------------------------------------------------------------------------------

    def _literal(self, body: _Body) -> None:
        if self.at("!", "\\+"):
            self.take()
            body.negated.append(self._negated())
        elif self.token.kind == NAME and self.token.text == "not" and self._next().kind in (NAME, STRING):
            self.take()
            body.negated.append(self._atom())
        elif self.token.kind == NAME and self.token.text == "not" and self._opens():
            self.take()
            body.negated.append(self._negated())
        elif self.token.kind in (NAME, STRING) and not self._compared():
            body.atoms.append(self._atom())
        else:
            self._comparison(body)

    def _negated(self) -> HornAtom:
        """Read an atom that may stand in parentheses."""
        enclosed = self.accept("(")
        atom = self._atom()
        if enclosed:
            self.expect(")")
        return atom

    def _next(self) -> Token:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def _opens(self) -> bool:
        return self._next().text == "(" and self._next().kind not in (STRING, STOP)

    def _compared(self) -> bool:
        following = self._next()
        return following.kind not in (NAME, STRING, STOP) and following.text in (*_EQUAL, *_UNEQUAL, *_ORDER)

    def _comparison(self, body: _Body) -> None:
        left, sign = self._term("an atom or a comparison"), self.token
        if self.at(*_ORDER):
            problem = (
                f"'{sign.text}' is not supported: only = and != compare; put it into a view or query and load that"
            )
            raise self.source.error(UnsupportedError, problem, sign)
        if not self.at(*_EQUAL, *_UNEQUAL):
            raise self.unexpected("'=' or '!='")
        self.take()
        right = self._term("a variable or a constant")
        (body.equal if sign.text in _EQUAL else body.unequal).append((left, right, sign))

    def _atom(self) -> HornAtom:
        name = self.name("the name of a predicate")
        terms: list[Term] = []
        if self.accept("("):
            terms.append(self._term("a variable or a constant"))
            while self.accept(","):
                terms.append(self._term("a variable or a constant"))
            self.expect(")", " or ','")
        known = self._arities.setdefault(name.text, (len(terms), name))
        if known[0] != len(terms):
            line = self.source.line(known[1])
            problem = f"{name.text} has {counted(len(terms), 'argument')} here and {known[0]} in line {line}: expected as many"
            raise self.source.error(ModelError, problem, name)
        return HornAtom(name.text, tuple(terms), name.start)

    def _term(self, expected: str) -> Term:
        minus = self.token
        if self.at("-") and self._next().kind == NUMBER:
            self.take()
            return Constant("-" + self.take().text)
        if self.token.kind not in (NAME, STRING, NUMBER):
            raise self.unexpected(expected)
        token = self.take()
        if self.at("("):
            problem = f"{token.text}(...) is a function, which is not supported: expected a variable or a constant"
            raise self.source.error(UnsupportedError, problem, minus)
        if token.kind != NAME:
            return Constant(token.text)
        if token.text == "_":
            self._anonymous += 1
            return Variable(f"{ANONYMOUS}{self._anonymous}")
        if not self._is_variable(token.text):
            self._bare += 1
            return Constant(token.text)
        return Variable(self._variable(token.text))

    def _is_variable(self, name: str) -> bool:
        capital = name[0].isupper()
        return name[0] == "_" or capital == (self._convention == UPPER)

    def _variable(self, name: str) -> str:
        """Return the name of a variable in the project's convention, another one for each of the rule's."""
        if name not in self._names:
            plain = name[0].lower() + name[1:]
            while plain in self._plain:
                plain += "_"
            self._names[name] = plain
            self._plain.add(plain)
        return self._names[name]

    def _check_convention(self, body: _Body, start: Token) -> None:
        """Refuse rules of bare names without a variable, which are probably meant in the other convention."""
        if not self._bare or self._names or self._anonymous or not (body.atoms or body.negated):
            return
        first, other, where = ("a capital", UPPER, "Prolog's convention")
        here = ", as in models"
        if self._convention == UPPER:
            first, other, where, here = "a small letter", LOWER, "the convention of models", ", as in Prolog"
        problem = (
            f"this rule has no variable: names that begin with {first} are constants here{here}; "
            f"pass {Parameter('variables', DoubleQuoted(other))} for {where}"
        )
        raise self.source.error(ModelError, problem, start)


# ---- equalities and safety ------------------------------------------------------------------------------------


def _normal(head: HornAtom, body: _Body, source: SourceText, written: Mapping[str, str]) -> HornRule:
    """Return a rule with its equalities put into its terms, checked; `written` is what its variables are called in the text."""
    same = _merged(body, source)
    # Numbered in the order in which the rule is written again.
    anonymous = [t for a in (head, *body.atoms, *body.negated) for t in a.terms if _is_anonymous(t) and t not in same]
    renamed = {term: Variable(f"{ANONYMOUS}{number}") for number, term in enumerate(dict.fromkeys(anonymous), start=1)}

    def put(atom: HornAtom) -> HornAtom:
        merged = (same.get(term, term) for term in atom.terms)
        return HornAtom(atom.predicate, tuple(renamed.get(term, term) for term in merged), atom.offset)

    unequal: dict[tuple[Term, Term], Token] = {}
    for left, right, sign in body.unequal:
        pair = (same.get(left, left), same.get(right, right))
        if pair[0] == pair[1]:
            raise source.error(ModelError, "this comparison never holds: both sides are equal", sign)
        if not all(isinstance(term, Constant) for term in pair):
            unequal[pair] = sign
    atoms = tuple(map(put, body.atoms)), tuple(map(put, body.negated))
    rule = HornRule(put(head), *atoms, tuple(unequal), source, written)
    _check_safe(rule, unequal)
    return rule


def _is_anonymous(term: Term) -> bool:
    return isinstance(term, Variable) and term.name.startswith(ANONYMOUS)


def _merged(body: _Body, source: SourceText) -> dict[Term, Term]:
    """Return what stands for each variable of the equalities: a constant, or the variable that stands first."""
    same: dict[Term, Term] = {}

    def found(term: Term) -> Term:
        """Return what stands for a term so far; the way to it is short the next time."""
        passed = []
        while term in same:
            passed.append(term)
            term = same[term]
        same.update(dict.fromkeys(passed, term))
        return term

    for left, right, sign in body.equal:
        one, other = found(left), found(right)
        if one == other:
            continue
        if isinstance(one, Constant) and isinstance(other, Constant):
            raise source.error(ModelError, "this comparison never holds: two constants differ", sign)
        gone, stays = (one, other) if isinstance(other, Constant) else (other, one)
        same[gone] = stays
    return {term: found(term) for term in list(same)}


def _check_safe(rule: HornRule, unequal: Mapping[tuple[Term, Term], Token]) -> None:
    """Refuse variables that no positive literal binds."""
    bound = {term for atom in rule.body for term in atom.terms}
    places = [(term, rule.head.offset, "the head") for term in rule.head.terms]
    places += [(term, atom.offset, "a negated literal") for atom in rule.negated for term in atom.terms]
    places += [(term, sign.start, "a comparison") for pair, sign in unequal.items() for term in pair]
    for term, offset, where in places:
        if not isinstance(term, Variable) or term in bound:
            continue
        if not _is_anonymous(term):
            fix = "; write _ for any constant" if where == "a negated literal" else ""
            problem = f"{rule.said(term)} stands in {where}, but in no positive literal of the body: add one that binds it{fix}"
            raise rule.source.error(ModelError, problem, offset)
        if where != "a negated literal":
            problem = f"_ stands in {where}: expected a variable that a positive literal binds, or a constant"
            raise rule.source.error(ModelError, problem, offset)
