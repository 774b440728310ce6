"""The statements of `.mln` programs: includes, declarations, rules, over one or several files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlrl.errors import ModelError, ParseError, UnsupportedError
from sqlrl.logic.checks import check
from sqlrl.logic.formulas import QUANTIFIERS, FormulaParser, Mentions
from sqlrl.logic.header import read_header
from sqlrl.logic.lexer import END, NAME, NEWLINE, NUMBER, SIGN, STRING, Source, Token, nearest, signed_number, tokenize
from sqlrl.logic.model import Model, Rule
from sqlrl.logic.scoping import ScopingRules
from sqlrl.logic.terms import Argument, Atom, Formula, Predicate
from sqlrl.logic.texts import read_text

SEMANTICS = ("exact", "alchemy")
LARGEST_RANGE = 10_000_000
_NOT_FINITE = re.compile(r"(inf|infinity|nan)\Z", re.IGNORECASE)


class Program:
    """The declarations and rules read so far, over all included files.

    Attributes
    ----------
    headers : list of (str, mapping)
        Of each file its path and what its first line says, the first file first; see `sqlrl.logic.header`.
    """

    def __init__(self, constants: Mapping[str, str], fold_case: bool) -> None:
        self.predicates: dict[str, Predicate] = {}
        self.types: dict[str, tuple[str, ...]] = {}
        self.rules: list[Rule] = []
        self.scoping = ScopingRules()
        self._pending: list[tuple[Source, Mentions]] = []
        self._constants, self._fold = constants, fold_case
        self._reading: list[Path] = []
        self.headers: list[tuple[str, Mapping[str, Any]]] = []

    def rename(self, constant: str) -> str:
        """Return the name that the data have for a constant of the program."""
        if constant in self._constants:
            return self._constants[constant]
        return constant.lower() if self._fold else constant

    def read(self, source: Source, path: Path | None) -> None:
        """Read a text into this program; the checks wait until all declarations are known."""
        self.headers.append((source.path, read_header(source.text, source.path)))
        if path is not None:
            self._reading.append(path.resolve())
        _Statements(self, source, path).read()
        if path is not None:
            self._reading.pop()

    def include(self, source: Source, where: Token, path: Path | None) -> None:
        """Read the file that an `#include` names."""
        name = where.text
        if name.endswith(".cpp"):
            raise source.error(UnsupportedError, "linked-in functions (a .cpp include) are not supported", where)
        if name.endswith(".db"):
            raise source.error(UnsupportedError, "a model includes no evidence: load the .db file by itself", where)
        target = (path.parent if path is not None else Path()) / name
        if not target.is_file():
            raise source.error(ParseError, f"the included file does not exist: {target}", where)
        if target.resolve() in self._reading:
            raise source.error(ParseError, f"the include leads back to {target}, which is being read", where)
        self.read(Source(read_text(target), str(target)), target)

    def add(self, rule: Rule, source: Source, mentions: Mentions) -> None:
        """Add a rule, to be checked at the end."""
        self.rules.append(rule)
        self._pending.append((source, mentions))

    def defer(self, source: Source, mentions: Mentions) -> None:
        """Note atoms that a later rule uses."""
        self._pending.append((source, mentions))

    def model(self, query: Iterable[str], semantics: str) -> Model:
        """Check everything and return the model."""
        for source, mentions in self._pending:
            check(source, mentions, self.predicates, self.types)
        names = frozenset([query] if isinstance(query, str) else query)
        for name in sorted(names - self.predicates.keys()):
            hint = nearest(name, self.predicates)
            raise ModelError(f"query={name!r} is no predicate of the model{hint or '; expected a declared one'}")
        if semantics not in SEMANTICS:
            raise ModelError(f"unknown semantics {semantics!r}: expected one of {', '.join(SEMANTICS)}")
        rules = (*self.rules, *self.scoping.rules())
        return Model(dict(self.predicates), dict(self.types), rules, names, semantics)


class _Statements(FormulaParser):
    """Reads the statements of one text."""

    def __init__(self, program: Program, source: Source, path: Path | None) -> None:
        super().__init__(source, tokenize(source), program.rename)
        self.program, self.path = program, path

    def read(self) -> None:
        """Read all statements."""
        while True:
            self.skip_lines()
            if self.token.kind == END:
                return
            self.mentions = Mentions()
            self._statement()
            if self.token.kind not in (NEWLINE, END):
                raise self.unexpected("an operator or the end of the line")

    def _statement(self) -> None:
        token, after = self.token, self.peek()
        if self.at("#"):
            self._directive()
        elif token.kind == NAME and after.text == "=" and self.peek(2).text == "{" and self.peek(2).kind == SIGN:
            self._constants_of_type()
        elif self._declares():
            self._declaration()
        else:
            self._refuse_statements()
            self._rule()

    def _refuse_statements(self) -> None:
        token, after = self.token, self.peek()
        if token.kind == NAME and after.kind == NAME and self.peek(2).text == "(" and after.text != "v":
            if token.text in QUANTIFIERS or _NOT_FINITE.match(token.text):
                return
            problem = f"the function {after.text} is not supported; declare a predicate with one more argument instead"
            raise self.source.error(UnsupportedError, problem, after)
        if self.at("@", "$"):
            problem = "statements with '@' and '$' (fixed weights, Tuffy's views) are not supported"
            raise self.source.error(UnsupportedError, problem, token)
        if self.at("*") and after.text == "*":
            raise self.source.error(UnsupportedError, "Tuffy's '**' declarations are not supported; write '*'", token)
        if token.kind == NAME and after.text == ":" and after.kind == SIGN:
            raise self.source.error(UnsupportedError, "weights taken from a variable are not supported", token)

    # ---- directives and declarations ------------------------------------------------------------------------

    def _directive(self) -> None:
        start = self.take()
        if self.token.text != "include" or self.token.start != start.end:
            problem = f"'#{self.token.text}' is not supported (of Alchemy's '#' forms only #include is); remove it"
            raise self.source.error(UnsupportedError, problem, start)
        self.take()
        if self.token.kind != STRING:
            raise self.unexpected('the quoted name of a file, as in #include "other.mln"')
        where = self.take()
        if self.token.kind not in (NEWLINE, END):
            raise self.unexpected("the end of the line")
        self.program.include(self.source, where, self.path)

    def _constants_of_type(self) -> None:
        """Read `type = {A, B, C}` or `type = {1, ..., 10}`."""
        name = self.take()
        self.take()
        self._open.append(self.take())
        found: list[str] = []
        while not self.at("}"):
            token = self.take()
            if token.kind == SIGN and token.text == "...":
                found += self._range(token, found)
            elif token.kind in (NAME, STRING, NUMBER):
                if token.kind == NUMBER and not token.text.lstrip("-").isdigit():
                    problem = f"expected a constant: an integer, not {token.text}; quote it to use it as a name"
                    raise self.source.error(ParseError, problem, token)
                found.append(self.rename(token.text))
            else:
                raise self.unexpected("a constant or '}'", token)
            self.accept(",")
        self.take()
        self._open.pop()
        if not found:
            raise self.source.error(ModelError, f"the type {name.text} is declared without constants", name)
        known = self.program.types.get(name.text, ())
        self.program.types[name.text] = tuple(dict.fromkeys((*known, *found)))

    def _range(self, dots: Token, found: list[str]) -> list[str]:
        self.accept(",")
        last = self.take()
        if last.kind != NUMBER or not last.text.lstrip("-").isdigit() or not found or not _integer(found[-1]):
            raise self.source.error(ParseError, "expected integers around '...', as in {1, ..., 10}", dots)
        first, end = int(found[-1]), int(last.text)
        if end < first or end - first > LARGEST_RANGE:
            problem = f"the range from {first} to {end} is empty" if end < first else "the range is too large"
            raise self.source.error(ModelError, f"{problem}: expected at most {LARGEST_RANGE} integers, rising", last)
        return [str(i) for i in range(first + 1, end + 1)]

    def _declares(self) -> bool:
        """Tell whether the line declares a predicate.

        A line `P(x)` declares P if nothing did so before; afterwards it is a formula, unless `!` or the names of
        types in it say that P is declared once more.
        """
        closed = self.at("*")
        name = self.peek(1) if closed else self.token
        if name.kind != NAME or (name.text in QUANTIFIERS and self.peek(1 + closed).text != "("):
            return False
        arguments = self._argument_names(1 + closed)
        if arguments is None:
            return False
        names, block, named = arguments
        declared = self.program.predicates.get(name.text)
        if declared is None:
            return True
        types = {t for p in self.program.predicates.values() for t in p.types} | self.program.types.keys()
        return block or named or (bool(names) and types.issuperset(names))

    def _argument_names(self, ahead: int) -> tuple[list[str], bool, bool] | None:
        """Look ahead over `(type [name][!], ...)` and the end of the line; None if something else is there."""
        names: list[str] = []
        block = named = False
        if self.peek(ahead).text == "(" and self.peek(ahead).kind == SIGN:
            ahead += 1
            while self.peek(ahead).text != ")" or not names:
                if self.peek(ahead).text == ")" and not names:
                    break
                if self.peek(ahead).kind != NAME or self.peek(ahead).text[0].isupper():
                    return None
                names.append(self.peek(ahead).text)
                ahead += 1
                if self.peek(ahead).kind == NAME:
                    ahead, named = ahead + 1, True
                if self.peek(ahead).text == "!":
                    ahead, block = ahead + 1, True
                if self.peek(ahead).text == ",":
                    ahead += 1
                elif self.peek(ahead).text != ")":
                    return None
            ahead += 1
        elif self.peek(ahead).kind not in (NEWLINE, END):
            return None
        return (names, block, named) if self.peek(ahead).kind in (NEWLINE, END) else None

    def _declaration(self) -> None:
        closed = self.accept("*")
        name = self.take()
        arguments: list[Argument] = []
        if self.accept("("):
            while not self.at(")"):
                kind = self.take().text
                if self.token.kind == NAME:
                    self.take()
                arguments.append(Argument(kind, block=self.accept("!")))
                self.accept(",")
            self.take()
        predicate = Predicate(name.text, tuple(arguments), closed)
        known = self.program.predicates.setdefault(name.text, predicate)
        if known != predicate:
            problem = f"{name.text} is declared again as {predicate}, but was declared as {known}"
            raise self.source.error(ModelError, problem, name)

    # ---- rules ----------------------------------------------------------------------------------------------

    def _rule(self) -> None:
        start = self.token
        prior = self._prior()
        weight = None if prior is not None else self._weight()
        if self.token.kind in (NEWLINE, END):
            raise self.unexpected("a formula")
        formula = self.rule()
        if self.at(":="):
            self._scoping_rule(formula, prior, start)
            return
        if prior is not None:
            raise self.unexpected("':=' after the head of a rule with a prior")
        if self.at(":-"):
            problem = "rules with ':-' (derived predicates) are not supported; load the predicate from a SQL query"
            raise self.source.error(UnsupportedError, problem, self.token)
        stop = self.token
        hard = self.accept(".")
        if hard and weight is not None:
            problem = "a weight and a final '.' contradict each other: remove the weight (hard) or the '.' (soft)"
            raise self.source.error(ParseError, problem, stop)
        line = self.source.line(start)
        self.program.add(Rule(formula, weight, hard, None, line, self.source.path), self.source, self.mentions)

    def _weight(self) -> float | None:
        """Read the weight before a formula, if there is one."""
        sign: Token | None = None
        if self.at("+", "-") and self.peek().start == self.token.end and self.peek().kind in (NUMBER, NAME):
            sign = self.token
        ahead = int(sign is not None)
        token = self.peek(ahead)
        follows = self.peek(ahead + 1)
        not_finite = token.kind == NAME and _NOT_FINITE.match(token.text) and token.text not in self.program.predicates
        if not_finite and (follows.text in ("!", "(") or (follows.kind == NAME and follows.text != "v")):
            found = (sign.text if sign else "") + token.text
            raise self.source.error(ModelError, f"a weight must be finite, not {found}", token)
        if token.kind != NUMBER or (follows.kind == SIGN and follows.text in ("=", "!=")):
            return None
        for _ in range(ahead + 1):
            self.take()
        weight = signed_number(self.source, token, sign)
        if not math.isfinite(weight):
            raise self.source.error(ModelError, f"a weight must be finite, not {token.text}", token)
        if self.at(".") and self.token.start == token.end:
            self.take()  # "1." is a weight too
        if self.at(":"):
            raise self.source.error(UnsupportedError, "utilities (weight:utility) are not supported", self.token)
        return weight

    def _prior(self) -> float | None:
        """Read `[0.7]` or `[priorProb = 0.7]`."""
        named = self.peek().text == "priorProb" and self.peek(2).text == "="
        if not self.at("[") or not (named or (self.peek().kind == NUMBER and self.peek(2).text == "]")):
            return None
        for _ in range(3 if named else 1):
            self.take()
        token = self.take()
        if token.kind != NUMBER or not 0 < float(token.text) < 1:
            problem = "expected a prior probability between 0 and 1, both excluded"
            raise self.source.error(ModelError, problem, token)
        self.expect("]")
        return float(token.text)

    def _scoping_rule(self, head: Formula, prior: float | None, start: Token) -> None:
        if not isinstance(head, Atom):
            raise self.source.error(ParseError, "expected an atom before ':='", start)
        self.take()
        self.skip_lines()
        parts = [self.formula()]
        while self.accept(","):
            self.skip_lines()
            parts.append(self.formula())
        self.expect(".", " at the end of a scoping rule")
        problem = self.program.scoping.add(head, tuple(parts), prior, self.source.line(start), self.source.path)
        if problem:
            raise self.source.error(UnsupportedError, problem, start)
        self.program.defer(self.source, self.mentions)


def _integer(text: str) -> bool:
    return text.lstrip("-").isdigit()
