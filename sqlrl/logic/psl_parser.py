"""The parser of rules of probabilistic soft logic, as files of the PSL engine have them.

Ends of lines mean little to PSL: a rule ends where it cannot go on. Here they decide where it could, between a number and an atom (`2 P(A)`
is a product on one line), and before a sign behind which another relation comes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlrl.errors import ModelError, ParseError, UnsupportedError
from sqlrl.logic.lexer import END, NAME, NUMBER, SIGN, STRING, Cursor, SourceText, Token, nearest, unescape
from sqlrl.logic.limits import DEEPEST
from sqlrl.logic.psl import LogicalRule, SoftRule, check_rule, untyped
from sqlrl.logic.psl_arithmetic import (
    ArithmeticRule,
    Cardinality,
    Coefficient,
    Comparator,
    Filter,
    LinearTerm,
    Operator,
    combine,
    format_coefficient,
)
from sqlrl.logic.psl_constants import with_typed_constants
from sqlrl.logic.psl_declarations import Declarations
from sqlrl.logic.psl_literals import (
    Both,
    Comparison,
    Condition,
    Either,
    OrderLiteral,
    RuleError,
    SoftLiteral,
    negated,
    terms_of_literal,
)
from sqlrl.logic.terms import Constant, EqualityLiteral, Literal, Term, Variable
from sqlrl.wording import shortened

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+)
      | (?P<comment>//[^\n]*|\#[^\n]*|/\*(?s:.*?)\*/)
      | (?P<open_comment>/\*)
      | (?P<string>"(?:[^"\\]++|\\(?s:.))*+"|'(?:[^'\\]++|\\(?s:.))*+')
      | (?P<open_string>["'])
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<name>(?:[^\W\d]|\$)[\w$]*)
      | (?P<sign>@[A-Za-z]*|=\s*=|!\s*=|~\s*=|<=>|<=|>=|=>|->|>>|<-|<<|&\s*&|\|\||[-!~&|%^=+*/<>(){}\[\],.:])
    """,
    re.VERBOSE,
)
_KINDS = {"number": NUMBER, "name": NAME, "sign": SIGN}

NOT, AND, OR = ("!", "~"), ("&", "&&"), ("|", "||")
THEN, IF = ("->", ">>"), ("<-", "<<")
RELATIONS = ("=", "<=", ">=")
_COMPARED = ("==", "!=", "~=", "-", "%", "^")
_NOT_FINITE = ("nan", "inf", "infinity")


# ---- tokens ------------------------------------------------------------------------------------------


def tokenize(source: SourceText) -> tuple[list[Token], frozenset[int]]:
    """Split a text into tokens, of which the last one is the end; return also which of them are the first on their lines."""
    tokens: list[Token] = []
    first: set[int] = set()
    text, offset, fresh = source.text, 0, True
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise source.error(ParseError, f"unexpected character {text[offset]!r}; constants stand in quotes", offset)
        kind, found, start = match.lastgroup or "", match.group(), offset
        offset = match.end()
        if kind in ("space", "comment"):
            fresh = fresh or "\n" in found
            continue
        if kind in ("open_comment", "open_string"):
            what, mark = ("comment", "*/") if kind == "open_comment" else ("constant", found)
            raise source.error(ParseError, f"this {what} does not end: expected {mark}", start)
        if fresh:
            first.add(len(tokens))
            fresh = False
        if kind == "string":
            tokens.append(Token(STRING, unescape(found[1:-1], source, start + 1), start, offset))
        else:
            # PSL takes '& &' for '&&', as where one stands at the end of a line and one at the start of the next.
            tokens.append(Token(_KINDS[kind], "".join(found.split()), start, offset))
    if fresh:
        first.add(len(tokens))
    tokens.append(Token(END, "", len(text), len(text)))
    return tokens, frozenset(first)


def _is_sign(token: Token, text: str) -> bool:
    return token.kind == SIGN and token.text == text


# ---- rules -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Linear:
    """A linear expression: coefficients by atom, in order, and the sum of its numbers, None if it has none."""

    terms: dict[Literal | Comparison, Coefficient] = field(default_factory=dict)
    constant: Coefficient | None = None

    def atom(self) -> Literal | Comparison | None:
        """Return the atom that it is, if it is one alone."""
        alone = self.constant is None and list(self.terms.values()) == [1.0]
        return next(iter(self.terms)) if alone else None


@dataclass(frozen=True, slots=True)
class _Operand:
    """What stands between the signs of a linear expression: a number, an atom, or an expression in parentheses."""

    value: _Linear
    start: Token
    number: bool = False
    product: bool = False
    divided: bool = False


class RuleParser(Cursor):
    """Reads the rules of one text; with `written` their constants stay the texts that they are, whatever is declared."""

    def __init__(self, source: SourceText, known: Declarations, *, written: bool = False) -> None:
        tokens, self.first = tokenize(source)
        super().__init__(source, tokens)
        self.known, self.written = known, written
        # Where the parts of the rule stand that may turn out to be wrong.
        self.where: dict[object, Token] = {}
        self._related = False
        self._ahead = (0, False)

    def rules(self) -> list[SoftRule]:
        """Read all rules."""
        found: list[SoftRule] = []
        while self.token.kind != END:
            found.append(self.rule())
        return found

    def rule(self) -> SoftRule:
        """Read a rule with its weight, exponent or final '.'."""
        start = self.token
        weight = self._weight()
        make = self._body(start)
        squared = self._end(weight)
        rule = make(weight, squared)
        if (
            weight is not None
            and not squared
            and self.token.kind != END
            and not self._fresh()
            and not self._at_weight()
        ):
            raise self.unexpected("an operator, '^2' or the end of the rule")
        return rule

    def partial(self, weight: float | None, *, squared: bool) -> SoftRule:
        """Read the only rule of a text, which has neither weight nor exponent nor final '.'."""
        rule = self._body(self.token)(weight, squared)
        if self.token.kind != END:
            raise self.unexpected("an operator or the end of the rule")
        return rule

    def _body(self, start: Token) -> Callable[[float | None, bool], SoftRule]:
        """Read a rule up to its end, and return what makes it with its weight; filters stand behind the end."""
        self.where, self._related = {}, False
        line, path = self.source.line(start), self.source.path

        if self._is_arithmetic():
            terms, comparator, constant = self._relation()

            def arithmetic(weight: float | None, squared: bool) -> SoftRule:
                filters = self._filters()
                return self._checked(
                    start, lambda: ArithmeticRule(terms, comparator, constant, weight, squared, filters, line, path)
                )

            return arithmetic
        body, head = self._implication()
        return lambda weight, squared: self._checked(
            start, lambda: LogicalRule(body, head, weight, squared, line, path)
        )

    def _checked(self, start: Token, make: Callable[[], SoftRule]) -> SoftRule:
        """Make a rule; what is wrong with it is an error that shows the part."""
        try:
            rule = make()
            check_rule(rule, self.known.predicates, self.known.query)
            if not self.written:
                rule = with_typed_constants(rule, self.known.kinds)
        except RuleError as fault:
            raise self._fault(fault, start) from None
        return rule

    def _fault(self, fault: RuleError, start: Token) -> ModelError:
        return self.source.error(ModelError, fault.args[0], self.where.get(fault.culprit, start))

    def _fresh(self, ahead: int = 0) -> bool:
        """Tell whether a token is the first of its line."""
        return self.position + ahead in self.first

    def peek(self, ahead: int = 1) -> Token:
        """Return a token behind the next one."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    # ---- weights and ends ----

    def _at_weight(self) -> bool:
        return self.token.kind == NUMBER and _is_sign(self.peek(), ":")

    def _weight(self) -> float | None:
        token = self.token
        sign = self.take().text if self.at("-", "+", ".") and _is_sign(self.peek(2), ":") else ""
        number = self.token
        named = number.kind == NAME and number.text.casefold() in _NOT_FINITE
        if not _is_sign(self.peek(), ":") or number.kind not in (NUMBER, NAME):
            return None
        if number.kind == NAME and not named:
            raise self.unexpected("a number as the weight")
        weight = math.inf if named else float(number.text)
        if sign == ".":
            raise self.source.error(ParseError, f"a number starts with a digit: write 0.{number.text}", token)
        if not math.isfinite(weight):
            problem = f"the weight {shortened(sign + number.text)} is not finite: expected a number, or a hard rule, which ends with '.'"
            raise self.source.error(ModelError, problem, token)
        if sign == "-":
            problem = f"the weight -{number.text} is negative: expected at least 0; to prefer that the rule does not hold, write its negation"
            raise self.source.error(ModelError, problem, token)
        self.take()
        self.take()
        return weight

    def _end(self, weight: float | None) -> bool:
        """Read an exponent or a final '.'; return whether the rule is squared."""
        squared = False
        exponent = self.token if self.at("^") else None
        if exponent is not None:
            squared = self._exponent()
        if weight is None:
            if self.at(":"):
                problem = "a weight that is an atom is not supported: expected a number"
                raise self.source.error(UnsupportedError, problem, self.token)
            if exponent is not None:
                problem = "the rule has an exponent and no weight: write a weight in front, as 1: ..., or '.' in place of the exponent"
                raise self.source.error(ModelError, problem, exponent)
            if not self.accept("."):
                raise self.unexpected("an operator, or '.' since the rule has no weight in front, as 1: ...")
            if self.at("^"):
                problem = "a hard rule has no exponent: it must hold exactly; leave the exponent out, or '.' and write a weight"
                raise self.source.error(ModelError, problem, self.token)
        elif self.at("."):
            problem = "the rule has a weight and a final '.': remove the '.', or the weight if the rule must hold"
            raise self.source.error(ParseError, problem, self.token)
        return squared

    def _exponent(self) -> bool:
        self.take()
        start = self.token
        sign = self.take().text if self.at("-") else ""
        number = self.token
        if number.kind != NUMBER:
            raise self.unexpected("the exponent, 1 or 2")
        text = sign + number.text
        if text not in ("1", "2"):
            raise self.source.error(ModelError, f"the exponent is {shortened(text)}: expected 1 or 2", start)
        self.take()
        return text == "2"

    # ---- logical rules ----

    def _is_arithmetic(self) -> bool:
        """Tell by the first sign that only one kind of rule has which kind the next one is of."""
        place, depth = self.position, 0
        operand: Token | None = None
        while True:
            token, behind = self.tokens[place], self.tokens[min(place + 1, len(self.tokens) - 1)]
            if token.kind in (NAME, STRING):
                if operand is not None:
                    return False
                operand = token
            elif token.kind == NUMBER or token.text.startswith("@"):
                return operand is None and not _is_sign(behind, ":")
            elif token.text == "(":
                if operand is not None and (operand.kind != NAME or place in self.first):
                    return False
                depth, operand = depth + 1, None
            elif token.text == ")":
                depth, operand = depth - 1, token
                if depth < 0:
                    return False
            elif token.text in OR:
                return operand is None
            elif token.text in (*RELATIONS, "<", ">", "+", "*", "/"):
                return True
            elif token.text in (*_COMPARED, ",") and not (token.text == "^" and behind.kind == NUMBER):
                operand = None
            else:
                return False
            place += 1

    def _implication(self) -> tuple[tuple[SoftLiteral, ...], tuple[SoftLiteral, ...]]:
        """Read body and head."""
        left, sign, where = self._side(0)
        if self.at("=>", "<=>"):
            raise self.unexpected("'->', the implication of PSL")
        if self.at(*RELATIONS, "+", "*", "/"):
            problem = f"'{self.token.text}' stands in arithmetic rules alone, and this is a logical one: '&', '|', '!' and arrows stand in those"
            raise self.source.error(ParseError, problem, self.token)
        if not self.at(*THEN, *IF):
            if sign in AND:
                problem = "a conjunction alone is no rule: expected '->' and a head, or write a rule for each literal"
                raise self.source.error(ParseError, problem, where)
            return (), left
        arrow = self.take()
        right, other, there = self._side(0)
        if self.at(*THEN, *IF):
            raise self.source.error(
                ParseError, f"a rule has one arrow: write another rule for what '{self.token.text}' says", self.token
            )
        if arrow.text in THEN:
            (body, in_body, at_body), (head, in_head, at_head) = (left, sign, where), (right, other, there)
        else:
            (body, in_body, at_body), (head, in_head, at_head) = (right, other, there), (left, sign, where)
        if in_body in OR:
            raise self.source.error(
                ParseError, "the body of a rule is a conjunction: write a rule for each part of '|'", at_body
            )
        if in_head in AND:
            raise self.source.error(
                ParseError, "the head of a rule is a disjunction: write a rule for each part of '&'", at_head
            )
        return body, head

    def _side(self, depth: int) -> tuple[tuple[SoftLiteral, ...], str, Token]:
        """Read literals with one operator between them; return that and where it stands first."""
        found, sign, where = self._value(depth)
        while self.at(*AND, *OR) and not self._at_cardinality():
            operator = self.take()
            if operator.text == "|":
                self.accept("|")
            more, inside, there = self._value(depth)
            for other, place in ((sign, operator), (inside, there)):
                if other and (other in AND) != (operator.text in AND):
                    problem = "'&' and '|' are mixed: a body is a conjunction and a head a disjunction; write a rule for each part"
                    raise self.source.error(ParseError, problem, place)
            if not sign:
                sign, where = operator.text, operator
            found += more
        return found, sign, where

    def _value(self, depth: int) -> tuple[tuple[SoftLiteral, ...], str, Token]:
        """Read a literal, or several in parentheses."""
        start, negations = self.token, 0
        while self.at(*NOT):
            self.take()
            negations += 1
        if not self.at("("):
            literal = self._atom()
            found: tuple[SoftLiteral, ...] = (negated(literal) if negations % 2 else literal,)
            self._note(found[0], start)
            return found, "", start
        self._deeper(depth)
        self.take()
        found, sign, where = self._side(depth + 1)
        self.expect(")", ", '&' or '|'" if not sign else f" or '{sign}'")
        if negations and len(found) > 1:
            problem = (
                f"'{start.text}' stands before a literal, not before several: negate each of them, and '&' becomes '|'"
            )
            raise self.source.error(ParseError, problem, start)
        if negations % 2:
            found = (negated(found[0]),)
            self._note(found[0], start)
        return found, sign, where

    def _deeper(self, depth: int) -> None:
        if depth >= DEEPEST:
            raise self.source.error(ParseError, f"parentheses nest more than {DEEPEST} deep", self.token)

    # ---- atoms ----

    def _note(self, part: object, token: Token) -> None:
        self.where.setdefault(part, token)

    def _atom(self, *, sums: bool = False) -> SoftLiteral:
        """Read an atom or a comparison; an atom may have summation variables with `sums`."""
        start = self.token
        if start.kind == NAME and _is_sign(self.peek(), "(") and not self._fresh(1):
            self.take()
            self.take()
            terms = [self._term(sums=sums)]
            while not self.at(")"):
                self.expect(",", " or ')'")
                terms.append(self._term(sums=sums))
            self.take()
            name = self.known.spelled.get(start.text.casefold(), start.text)
            if name not in self.known.predicates and not self.known.strict:
                self.known.declare(untyped(name, len(terms)))
            found: SoftLiteral = Literal(name, tuple(terms))
            self._note(found, start)
            return found
        if start.kind not in (NAME, STRING):
            if start.kind == NUMBER or start.text in ("+", "*", "/"):
                raise self.unexpected(
                    "an atom, as P(X), since the rule is a logical one" if not sums else "an atom, as P(X)"
                )
            raise self.unexpected("an atom, as P(X), or a comparison, as X != Y")
        left = self._term()
        operator = self.token
        if not self.at(*_COMPARED):
            raise self.unexpected(f"'(' behind a predicate, or one of ==, !=, % behind {start}")
        self.take()
        right = self._term()
        if operator.text in ("%", "^"):
            found = OrderLiteral(left, right)
        else:
            found = EqualityLiteral(left, right, positive=operator.text == "==")
        self._note(found, start)
        return found

    def _term(self, *, sums: bool = False) -> Term:
        token = self.token
        plus = self.at("+")
        if plus:
            if not sums:
                problem = (
                    "'+' sums in arithmetic rules alone, whose atoms stand on the sides of =, <= or >=: leave it out"
                )
                raise self.source.error(ParseError, problem, token)
            self.take()
        if self.token.kind == NAME:
            found: Term = Variable(self.take().text, plus)
        elif self.token.kind == STRING and not plus:
            found = Constant(self.take().text)
        elif self.token.kind == NUMBER and not plus:
            raise self.unexpected(f"a variable or a constant in quotes, as '{self.token.text}'")
        else:
            raise self.unexpected("a variable" if plus else "a variable, or a constant in quotes")
        self._note(found, token)
        return found

    # ---- arithmetic rules ----

    def _relation(self) -> tuple[tuple[LinearTerm, ...], Comparator, Coefficient]:
        """Read both sides of an arithmetic rule; return it with all atoms on the left side."""
        left = self._linear(0)
        sign = self.token
        if not self.at(*RELATIONS):
            if self.at("==", "<", ">", "=>"):
                raise self.unexpected("'=', '<=' or '>=' between the sides of an arithmetic rule")
            if self.at(*AND, *OR, *THEN, *IF):
                problem = f"'{sign.text}' stands in logical rules alone, and this is an arithmetic one: numbers, sums, '=', '<=' and '>=' stand in those"
                raise self.source.error(ParseError, problem, sign)
            raise self.unexpected("an operator, or '=', '<=' or '>=' since the rule is an arithmetic one")
        self.take()
        self._related = True
        right = self._linear(0)
        if self.at(*RELATIONS):
            raise self.source.error(
                ParseError, f"a rule has one '{sign.text}': write another rule for the second relation", self.token
            )
        for atom, coefficient in right.terms.items():
            self._add(left, atom, self._combine("*", -1.0, coefficient, sign), sign)
        constant = right.constant
        if left.constant is not None:
            constant = self._combine("-", 0.0 if constant is None else constant, left.constant, sign)
        terms = tuple(LinearTerm(coefficient, atom) for atom, coefficient in left.terms.items())
        comparator: Comparator = "=" if sign.text == "=" else "<=" if sign.text == "<=" else ">="
        return terms, comparator, 0.0 if constant is None else constant

    def _linear(self, depth: int) -> _Linear:
        """Read a sum of terms and numbers."""
        found = _Linear()
        before: _Operand | None = None
        operator = self.token
        sign = 1.0
        while True:
            operand = self._operand(depth)
            if before is not None:
                self._refuse_two_readings(before, operand, operator)
            for atom, coefficient in operand.value.terms.items():
                self._add(found, atom, self._combine("*", sign, coefficient, operator), operator)
            number = operand.value.constant
            if number is not None:
                if found.constant is None:
                    found.constant = self._combine("*", sign, number, operator)
                else:
                    found.constant = self._combine("+" if sign > 0 else "-", found.constant, number, operator)
            if not self.at("+", "-") or self._starts_rule():
                return found
            operator, before = self.take(), operand
            sign = 1.0 if operator.text == "+" else -1.0

    def _starts_rule(self) -> bool:
        """Tell whether a sign at the start of a line begins another rule: a weight, or what has a relation of its own."""
        if not (self._related and self._fresh()):
            return False
        if self.peek().kind == NUMBER and _is_sign(self.peek(2), ":"):
            return True
        place, begins = self._ahead
        if place <= self.position:
            place, begins = self._look_ahead()
            # What decides is the same for all signs before it.
            self._ahead = place, begins
        return begins

    def _look_ahead(self) -> tuple[int, bool]:
        """Return the place behind the next one that says whether another rule has begun before it, and what it says."""
        for place in range(self.position + 1, len(self.tokens) - 1):
            token, behind = self.tokens[place], self.tokens[place + 1]
            if token.kind == SIGN and token.text in RELATIONS:
                return place, True
            if token.kind == NUMBER and _is_sign(behind, ":"):
                return place, False
            if token.kind == SIGN and (token.text in (".", "{") or (token.text == "^" and behind.kind == NUMBER)):
                return place, False
        return len(self.tokens), False

    def _refuse_two_readings(self, before: _Operand, operand: _Operand, operator: Token) -> None:
        """Refuse what PSL reads otherwise than arithmetic does: it takes as long a coefficient as it can."""
        if before.number and operand.product:
            first = self.source.text[before.start.start : operator.start].strip()
            problem = (
                f"PSL takes '{shortened(first)} {operator.text} ...' as a part of the coefficient here, against the rules of arithmetic: put "
                "parentheses around the coefficient, or around the product with its atom"
            )
            raise self.source.error(ParseError, problem, operator)
        if before.divided and operand.number:
            problem = "PSL takes what follows as a part of the divisor, against the rules of arithmetic: put parentheses around the divisor or the term"
            raise self.source.error(ParseError, problem, operator)

    def _operand(self, depth: int) -> _Operand:
        """Read a number, an atom with its coefficient, or an expression in parentheses."""
        start = self.token
        if start.kind in (NAME, STRING):
            return self._divided(start, 1.0, self._plain_atom(), depth, product=False)
        if self.at("("):
            inside = self._parentheses(depth)
            atom = inside.atom()
            if atom is not None:
                return self._divided(start, 1.0, atom, depth, product=False)
            if inside.terms:
                if self.at("*", "/"):
                    problem = f"'{self.token.text}' stands behind several terms, over which PSL distributes nothing: write it for each of them"
                    raise self.source.error(ParseError, problem, self.token)
                return _Operand(inside, start)
            coefficient = inside.constant or 0.0
        else:
            coefficient = self._number(depth)
        while True:
            operator = self.token
            times = self.accept("*")
            divide = not times and self.accept("/")
            here = self.token
            if times or (not divide and not self._fresh()):
                if here.kind in (NAME, STRING):
                    return self._divided(start, coefficient, self._plain_atom(), depth, product=True)
                if self.at("("):
                    inside = self._parentheses(depth)
                    atom = inside.atom()
                    if atom is not None:
                        return self._divided(start, coefficient, atom, depth, product=True)
                    if inside.terms or not times:
                        problem = "expected one atom behind a coefficient, over which PSL distributes nothing: write the coefficient for each term"
                        raise self.source.error(ParseError, problem, here)
                    coefficient = self._combine("*", coefficient, inside.constant or 0.0, operator)
                    continue
            if not (times or divide):
                return _Operand(_Linear({}, coefficient), start, number=True)
            coefficient = self._combine("*" if times else "/", coefficient, self._primary(depth), operator)

    def _plain_atom(self) -> Literal | Comparison:
        return self._atom(sums=True)

    def _divided(
        self, start: Token, coefficient: Coefficient, atom: Literal | Comparison, depth: int, *, product: bool
    ) -> _Operand:
        """Read what an atom is divided by."""
        slash = self.token
        divided = self.accept("/")
        if divided:
            coefficient = self._combine("/", coefficient, self._primary(depth), slash)
            if self.at("*", "/"):
                problem = (
                    f"PSL takes '{self.token.text}' and what follows as a part of the divisor, against the rules of arithmetic: put parentheses "
                    "around the divisor, or the coefficient in front of the atom"
                )
                raise self.source.error(ParseError, problem, self.token)
        elif self.at("*"):
            raise self.source.error(
                ParseError, "'*' stands behind an atom: write the coefficient in front of it, as 2 * P(X)", self.token
            )
        return _Operand(_Linear({atom: coefficient}), start, product=product, divided=divided)

    def _parentheses(self, depth: int) -> _Linear:
        self._deeper(depth)
        self.take()
        related, self._related = self._related, False
        inside = self._linear(depth + 1)
        self._related = related
        self.expect(")", " or an operator")
        return inside

    def _coefficient(self, depth: int) -> Coefficient:
        """Read an expression of numbers."""
        start = self.token
        found = self._linear(depth)
        if found.terms or found.constant is None:
            raise self.source.error(ParseError, "expected a number, found an atom: coefficients have none", start)
        return found.constant

    def _primary(self, depth: int) -> Coefficient:
        """Read a number, or an expression of numbers in parentheses."""
        if not self.at("("):
            return self._number(depth)
        self._deeper(depth)
        self.take()
        found = self._coefficient(depth + 1)
        self.expect(")", " or an operator")
        return found

    def _number(self, depth: int) -> Coefficient:
        """Read a number, a cardinality or a function."""
        start = self.token
        sign = 1.0
        if self.at("-"):
            if self.peek().kind != NUMBER:
                raise self.unexpected("a number behind '-', as in -1 * P(X)", self.peek())
            self.take()
            sign = -1.0
        token = self.token
        if token.kind == NUMBER:
            self.take()
            value = float(token.text)
            if not math.isfinite(value):
                raise self.source.error(
                    ModelError, f"the number {shortened(token.text)} is too large for a float", token
                )
            return sign * value + 0.0
        if self.at("|") and self.peek().kind == NAME:
            self.take()
            name = self.take()
            self.expect("|", f" behind the summation variable {name.text}")
            counted = Cardinality(name.text)
            self._note(counted, start)
            return counted
        if token.kind == SIGN and token.text.startswith("@"):
            return self._function(depth)
        if self.at("."):
            raise self.source.error(ParseError, "a number starts with a digit: write 0 before the '.'", token)
        raise self.unexpected("an atom or a number")

    def _function(self, depth: int) -> Coefficient:
        self._deeper(depth)
        name = self.take()
        if name.text not in ("@Max", "@Min"):
            hint = nearest(name.text, ["@Max", "@Min"])
            raise self.source.error(ParseError, f"expected @Max or @Min, found {name}{hint}", name)
        if not self.at("[", "("):
            raise self.unexpected(f"'[' behind {name.text}")
        close = "]" if self.take().text == "[" else ")"
        left = self._coefficient(depth + 1)
        self.expect(",", f" between the two numbers of {name.text}")
        right = self._coefficient(depth + 1)
        self.expect(close)
        operator: Operator = "@Max" if name.text == "@Max" else "@Min"
        return self._combine(operator, left, right, name)

    def _add(self, linear: _Linear, atom: Literal | Comparison, coefficient: Coefficient, where: Token) -> None:
        if atom in linear.terms and any(isinstance(t, Variable) and t.plus for t in terms_of_literal(atom)):
            plus = next(t for t in terms_of_literal(atom) if isinstance(t, Variable) and t.plus)
            problem = (
                f"the summation variable {plus} stands twice: each sum needs a variable of its own, as +{plus.name}2"
            )
            raise self.source.error(ModelError, problem, where)
        if atom in linear.terms:
            coefficient = self._combine("+", linear.terms[atom], coefficient, where)
        linear.terms[atom] = coefficient

    def _combine(self, operator: Operator, left: Coefficient, right: Coefficient, where: Token) -> Coefficient:
        try:
            found = combine(operator, left, right)
        except RuleError as fault:
            raise self.source.error(ModelError, fault.args[0], where) from None
        if len(format_coefficient(found)) > LONGEST_COEFFICIENT:
            raise self.source.error(
                ParseError, f"the coefficient has more than {LONGEST_COEFFICIENT} characters", where
            )
        return found

    # ---- filters ----

    def _filters(self) -> tuple[Filter, ...]:
        found: list[Filter] = []
        while self.at("{"):
            start = self.take()
            if self.token.kind != NAME:
                raise self.unexpected("the summation variable that the filter is of, as in {X: P(X)}")
            name = self.take().text
            self.expect(":", f" behind the summation variable {name}")
            outside, self.where = self.where, {}
            condition = self._either(0)
            inside, self.where = self.where, outside
            for part, token in inside.items():
                self._note((name, part) if isinstance(part, Variable) else part, token)
            self.expect("}", ", '&' or '|'")
            found.append(Filter(name, condition))
            self._note(found[-1], start)
        return tuple(found)

    def _either(self, depth: int) -> Condition:
        parts = [self._both(depth)]
        while self.at(*OR):
            self.take()
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self, depth: int) -> Condition:
        parts = [self._condition(depth)]
        while self.at(*AND):
            self.take()
            parts.append(self._condition(depth))
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _condition(self, depth: int) -> Condition:
        start, negations = self.token, 0
        while self.at(*NOT):
            self.take()
            negations += 1
        if self.at("("):
            self._deeper(depth)
            self.take()
            found = self._either(depth + 1)
            self.expect(")", ", '&' or '|'")
            if negations and isinstance(found, Both | Either):
                problem = f"'{start.text}' stands before a literal, not before several: negate each of them, and '&' becomes '|'"
                raise self.source.error(ParseError, problem, start)
        else:
            found = self._atom()
        if negations % 2 and not isinstance(found, Both | Either):
            found = negated(found)
            self._note(found, start)
        return found

    def _at_cardinality(self) -> bool:
        """Tell whether `|X|` comes next, which begins another rule."""
        return self.at("|") and self.peek().kind == NAME and _is_sign(self.peek(2), "|")


LONGEST_COEFFICIENT = 500
"""Characters of a coefficient: it is a tree of operations, which is gone through by recursion."""
