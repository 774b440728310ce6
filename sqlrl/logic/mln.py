"""Readers of `.mln` programs: Alchemy's language, and what Tuffy adds to it.

Beyond Alchemy: `*pred(type, ...)` declares a closed predicate, `a, b => c` joins conditions, and a scoping rule
`[priorProb = 0.7] head := body.` (short: `[0.7] head := body.`) limits the atoms of `head` to those that some body
derives and gives each of them the prior. Here it becomes, with exactly that meaning, a hard rule (`head` implies
one of its bodies) and a rule of weight ln(p/(1-p)) that says what the body implies.

The first line of a saved file says in a comment what the language has no words for, its templates among that: the file holds
their clauses, and the line says where those of each template start and how many they are. Without that a model would forget
which combinations of constants its training data had, and predictions could not say how many are new.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlrl.arguments import predicate_names
from sqlrl.errors import ModelError, Parameter, ParseError, Phrase, SqlrlError, UnsupportedError, marked
from sqlrl.logic.bins import Edges, checked_bins, show_edges
from sqlrl.logic.copies import warn_of_formulas
from sqlrl.logic.expansions import fill, rename_variables
from sqlrl.logic.formulas import QUANTIFIERS, FormulaParser, Mentions, check, parse_formula
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.lexer import (
    END,
    NAME,
    NEWLINE,
    NUMBER,
    SIGN,
    STRING,
    SourceText,
    Token,
    check_text,
    nearest,
    read_text,
    signed_number,
    tokenize,
)
from sqlrl.logic.limits import DEEPEST_INCLUDE, LARGEST_RANGE, LONGEST_INTEGER
from sqlrl.logic.model import Expansions, Model, Rule
from sqlrl.logic.printer import is_identifier
from sqlrl.logic.subformulas import terms_of
from sqlrl.logic.terms import (
    And,
    Argument,
    Atom,
    Constant,
    Equal,
    Exist,
    Formula,
    Implies,
    Not,
    Or,
    Predicate,
    Term,
    Variable,
)
from sqlrl.paths import is_file, leads_into
from sqlrl.wording import shortened

_HEADER = re.compile(r"\ufeff?// sqlrl (\{[^\n]*\})\r?\n")

SEMANTICS = ("exact", "alchemy")
_NOT_FINITE = re.compile(r"(inf|infinity|nan)\Z", re.IGNORECASE)


# ---- Tuffy's scoping rules ---------------------------------------------------------------------------


@dataclass(slots=True)
class ScopingRules:
    """Collects the scoping rules of a program, by the predicate of their heads."""

    _heads: dict[str, Atom] = field(default_factory=dict)
    _bodies: dict[str, list[Formula]] = field(default_factory=dict)
    _priors: list[Rule] = field(default_factory=list)
    _places: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, head: Atom, parts: tuple[Formula, ...], prior: float | None, line: int, path: str) -> str | None:
        """Add a rule; return what is wrong with it, if anything."""
        names = [t.name for t in head.terms if isinstance(t, Variable) and not t.plus]
        if len(set(names)) != len(head.terms):
            return "a scoping rule needs distinct variables in its head"
        if any(_literal_terms(part) is None for part in parts):
            return "the body of a scoping rule is a list of literals without '+'"
        first = self._heads.setdefault(head.predicate, head)
        if len(first.terms) != len(names):
            return f"{head.predicate} has another number of arguments in another scoping rule"
        renamed = dict(zip(names, (t.name for t in first.terms), strict=True))
        bound = []
        for term in (t for part in parts for t in _literal_terms(part) or ()):
            if isinstance(term, Variable) and term.name not in renamed:
                fresh = term.name
                while fresh in renamed.values():
                    fresh += "_"
                renamed[term.name] = fresh
                bound.append(fresh)
        body = rename_variables(parts[0] if len(parts) == 1 else And(parts), renamed)
        if bound:
            body = Exist(tuple(bound), body)
        self._places.setdefault(head.predicate, (line, path))
        self._bodies.setdefault(head.predicate, []).append(body)
        if prior is not None:
            weight = math.log(prior / (1 - prior))
            self._priors.append(Rule(Implies(body, first), weight, line=line, path=path))
        return None

    def rules(self) -> tuple[Rule, ...]:
        """Return the priors, then one hard rule for each scoped predicate."""
        scopes = []
        for name, bodies in self._bodies.items():
            body = bodies[0] if len(bodies) == 1 else Or(tuple(bodies))
            line, path = self._places[name]
            scopes.append(Rule(Implies(self._heads[name], body), None, hard=True, line=line, path=path))
        return (*self._priors, *scopes)


def _literal_terms(formula: Formula) -> tuple[Term, ...] | None:
    """Return the terms of a literal; None for any other formula, and if a variable has a `+`."""
    match formula:
        case Atom(_, terms) | Not(Atom(_, terms)):
            found: tuple[Term, ...] = terms
        case Equal(left, right) | Not(Equal(left, right)):
            found = (left, right)
        case _:
            return None
    return None if any(isinstance(t, Variable) and t.plus for t in found) else found


# ---- the first line of a saved file ------------------------------------------------------------------


def _read_header(source: SourceText) -> dict[str, Any]:
    r"""Return what the first line says: query, semantics, whether the model was learned, its templates; nothing if it says nothing."""
    text, path = source.text, source.path
    header = _HEADER.match(text)
    found: dict[str, Any] = {}
    try:
        # With blanks in place of the mark, so that places are those of the line.
        found = parse_json(" " * header.start(1) + header[1], path=path, quotable=False) if header else {}
    except ParseError as error:
        line = text.split("\n", 1)[0] if source.quotable else ""
        problem = f"{marked(error.problem)}: mend the first line or remove it"
        raise ParseError(
            problem, text=line, line=1, column=error.column or header.start(1) + 1 if header else 1, path=path
        ) from error
    for key, fits in _FITS.items():
        if key in found and not fits(found[key]):
            raise ParseError(
                f"the first line says {key}: {json.dumps(found[key])}, which no model has: remove it", path=path
            )
    return found


def _named(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _listed(value: object) -> bool:
    # `bool` is an `int` of Python. What is missing, `sqlrl.logic.mln` says.
    return isinstance(value, list) and all(
        isinstance(each, dict) and all(type(each.get(name, 0)) is int for name in ("rule", "clauses")) for each in value
    )


_FITS: Mapping[str, Callable[[object], bool]] = {
    "query": _named,
    "semantics": lambda value: isinstance(value, str),
    "learned": lambda value: isinstance(value, bool),
    "ranked_by": lambda value: isinstance(value, str) and (not value or is_identifier(value)),
    "bins": lambda value: isinstance(value, dict),
    "templates": _listed,
}
"""What values of the first line are like."""


def _header_bins(program: ParsedProgram) -> dict[str, Edges]:
    """Return the edges by type that first lines say; ModelError if two differ, or one has none that a model can have."""
    found: dict[str, Edges] = {}
    kinds = {kind for predicate in program.predicates.values() for kind in predicate.types}
    for path, header in program.headers:
        for name, edges in checked_bins(header.get("bins", {}), kinds, path).items():
            if found.setdefault(name, edges) != edges:
                raise ModelError(
                    f"{path} cuts {name} at {show_edges(edges)}, and another file of the model at {show_edges(found[name])}: data can be "
                    "cut in one way only"
                )
    return found


def _header_semantics(header: Mapping[str, Any], path: str, semantics: str | None) -> str | None:
    """Return the semantics that a first line says, else the one that is asked for; a ModelError if they differ."""
    found: str | None = header.get("semantics", semantics)
    # Under another reading the weights would mean something else.
    if semantics not in (None, found):
        raise ModelError(
            f"{path} was saved with {Parameter('semantics', found)}, not {semantics!r}: leave it out, or give {found!r}"
        )
    return found


# ---- programs of another language ---------------------------------------------------------------------


def _is_psl(source: SourceText) -> bool:
    """Whether a text that is no program of Markov logic is one of probabilistic soft logic."""
    from sqlrl.logic.psl_declarations import Declarations  # what only such programs need
    from sqlrl.logic.psl_parser import RuleParser

    try:
        return bool(RuleParser(source, Declarations()).rules())
    except SqlrlError:
        return False


# ---- statements: includes, declarations, rules, over one or several files ----------------------------


class ParsedProgram:
    """The declarations and rules read so far, over all included files."""

    def __init__(
        self, constants: Mapping[str, str], fold_case: bool, *, trusted: bool = True, largest_range: int = LARGEST_RANGE
    ) -> None:
        self.predicates: dict[str, Predicate] = {}
        self.types: dict[str, tuple[str, ...]] = {}
        self.declared_types: set[str] = set()
        self.rules: list[Rule] = []
        self.scoping = ScopingRules()
        self._pending: list[tuple[SourceText, Mentions]] = []
        self._constants, self._fold = constants, fold_case
        self._reading: list[Path] = []
        self._read: set[Path] = set()
        self.largest_range = largest_range
        # How many constants ranges have given types so far.
        self.in_ranges = 0
        # An untrusted program includes only files below the folder of its first one, and none without a folder.
        self._trusted = trusted
        self._folder: Path | None = None
        # The path of each file and what its first line says, the first file first.
        self.headers: list[tuple[str, Mapping[str, Any]]] = []

    def rename(self, constant: str) -> str:
        """Return the name that the data have for a constant of the program."""
        if constant in self._constants:
            return self._constants[constant]
        return constant.lower() if self._fold else constant

    def read(self, source: SourceText, path: Path | None) -> None:
        """Read a text into this program; the checks wait until all declarations are known."""
        self.headers.append((source.path, _read_header(source)))
        if path is not None:
            self._folder = self._folder or path.parent.resolve()
            self._reading.append(path.resolve())
            self._read.add(path.resolve())
        try:
            Statements(self, source, path).read()
        except (ParseError, UnsupportedError) as error:
            located = error if isinstance(error, ParseError) else error.located
            if located is None or located.path != source.path or not _is_psl(source):
                raise
            reader = Phrase("read it with sqlrl.read_psl or sqlrl.parse_psl")
            problem = f"{marked(located.problem)}. It parses as a program of probabilistic soft logic: {reader}"
            explained = ParseError(
                problem, text=located.text, line=located.line, column=located.column, path=located.path
            )
            if isinstance(error, ParseError):
                raise explained from error
            refused = UnsupportedError(explained.message)
            refused.located = explained
            raise refused from error
        if path is not None:
            self._reading.pop()

    def include(self, source: SourceText, where: Token, path: Path | None) -> None:
        """Read the file that an `#include` names, unless it was read before: its rules count once."""
        name = where.text
        if name.endswith(".cpp"):
            raise source.error(UnsupportedError, "linked-in functions (a .cpp include) are not supported", where)
        if name.endswith(".db"):
            raise source.error(UnsupportedError, "a model includes no evidence: load the .db file by itself", where)
        target = (path.parent if path is not None else Path()) / name
        # Whether there is a file outside of the folder is nothing for the model to learn.
        if not (self._trusted or (self._folder is not None and leads_into(target, self._folder))):
            where_to = "which is read without a folder" if self._folder is None else f"whose folder is {self._folder}"
            problem = (
                f"the include leads out of a model read with {Parameter('trusted', False)}, {where_to}: move the file "
                f"there{Phrase(', or read the model without trusted=False')}"
            )
            raise source.error(ParseError, problem, where)
        if not is_file(target):
            raise source.error(ParseError, f"the included file does not exist: {target}", where)
        if target.resolve() in self._reading:
            raise source.error(ParseError, f"the include leads back to {target}, which is being read", where)
        if target.resolve() in self._read:
            return
        if len(self._reading) >= DEEPEST_INCLUDE:
            problem = f"more than {DEEPEST_INCLUDE} files include each other in a row: include them from one file"
            raise source.error(ParseError, problem, where)
        # Any file may be named, also by a link: what is wrong with it is told without its lines if it is no model.
        quotable = source.quotable and target.resolve().suffix.lower() == ".mln"
        self.read(SourceText(read_text(target), str(target), quotable=quotable), target)

    def refuse(self, error: SqlrlError, source: SourceText, start: Token) -> None:
        """Say what is wrong with the statement that begins with a token: nothing else is read then."""
        raise error

    def declare(self, predicate: Predicate) -> Predicate:
        """Declare a predicate, and return its first declaration."""
        return self.predicates.setdefault(predicate.name, predicate)

    def add(self, rule: Rule, source: SourceText, mentions: Mentions) -> None:
        """Add a rule, to be checked at the end."""
        self.rules.append(rule)
        self._pending.append((source, mentions))

    def defer(self, source: SourceText, mentions: Mentions) -> None:
        """Note atoms that a later rule uses."""
        self._pending.append((source, mentions))

    def model(self, query: Iterable[str], semantics: str) -> Model:
        """Check everything and return the model."""
        for source, mentions in self._pending:
            check(source, mentions, self.predicates, self.types)
        names = frozenset([query] if isinstance(query, str) else query)
        for name in sorted(names - self.predicates.keys()):
            hint = nearest(name, self.predicates)
            raise ModelError(
                f"{Parameter('query', name)} is no predicate of the model{hint or '; expected a declared one'}"
            )
        if semantics not in SEMANTICS:
            raise ModelError(f"unknown semantics {semantics!r}: expected one of {', '.join(SEMANTICS)}")
        rules = (*self.rules, *self.scoping.rules())
        return Model(dict(self.predicates), dict(self.types), rules, names, semantics)


class Statements(FormulaParser):
    """Reads the statements of one text."""

    def __init__(self, program: ParsedProgram, source: SourceText, path: Path | None) -> None:
        super().__init__(source, tokenize(source), program.rename)
        self.program, self.path = program, path

    def read(self) -> None:
        """Read all statements."""
        while True:
            self.skip_lines()
            if self.token.kind == END:
                return
            self.mentions = Mentions()
            begin = self.position
            try:
                self._statement()
                self._check_end()
            except SqlrlError as error:
                self.program.refuse(error, self.source, self.tokens[begin])
                self._skip_statement(begin)

    def _check_end(self) -> None:
        """Refuse what follows a statement on its line."""
        if self.token.kind not in (NEWLINE, END):
            raise self.unexpected("an operator or the end of the line")

    def _skip_statement(self, begin: int) -> None:
        """Step over the line in which a statement begins that was refused, however far it was read."""
        self.position, self._depth = begin, 0
        self._open, self._scopes = [], []
        while self.tokens[self.position].kind not in (NEWLINE, END):
            self.position += 1

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
        if self.at("$"):
            problem = f"statements with '$' (Tuffy's views) are not supported: load the view's query as a predicate with {Phrase('db.load')}"
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
        if last.kind != NUMBER or not _integer(last.text) or not found or not _integer(found[-1]):
            problem = f"expected integers around '...', as in {{1, ..., 10}}, of up to {LONGEST_INTEGER} digits"
            raise self.source.error(ParseError, problem, dots)
        first, end = int(found[-1]), int(last.text)
        most = self.program.largest_range
        self.program.in_ranges += max(end - first, 0)
        if end < first or self.program.in_ranges >= most:
            if end < first:
                problem = f"the range from {shortened(str(first))} to {shortened(str(end))} is empty: write the smaller number first"
            else:
                problem = (
                    f"the ranges are too large: expected at most {most:,} integers in all of them; who needs more reads the model with a "
                    f"greater {Parameter('largest_range')}"
                )
            raise self.source.error(ModelError, problem, last)
        return [str(i) for i in range(first + 1, end + 1)]

    def _declares(self) -> bool:
        """Tell whether the line declares a predicate: a new one, or a known one with `!`, argument names or types in it."""
        closed = self.at("*")
        name = self.peek(1) if closed else self.token
        if name.kind != NAME or (name.text in QUANTIFIERS and self.peek(1 + closed).text != "("):
            return False
        arguments = self._argument_names(1 + closed)
        if arguments is None:
            return False
        names, block, named = arguments
        declared, known = self.program.predicates.get(name.text), self.program.declared_types
        if declared is None:
            # Tuffy's types may begin with a capital, as constants do; predicates that do, too, need something that says so.
            capitals = [kind for kind in names if kind[0].isupper()]
            if capitals:
                said = block or named or closed or any(kind in known for kind in capitals)
                return (said or not name.text[0].isupper()) and name.text not in self._declared_in_lower_case
            return True
        return block or named or (bool(names) and all(kind in known or kind in self.program.types for kind in names))

    @cached_property
    def _declared_in_lower_case(self) -> frozenset[str]:
        """The predicates that a line of this text declares, with types that begin with a small letter."""
        found, position = set[str](), self.position
        for i, token in enumerate(self.tokens[:-1]):
            starts = i == 0 or self.tokens[i - 1].kind == NEWLINE or (self.tokens[i - 1].text == "*")
            if starts and token.kind == NAME and self.tokens[i + 1].text == "(":
                self.position = i
                arguments = self._argument_names(1)
                if arguments is not None and not any(kind[0].isupper() for kind in arguments[0]):
                    found.add(token.text)
        self.position = position
        return frozenset(found)

    def _argument_names(self, ahead: int) -> tuple[list[str], bool, bool] | None:
        """Look ahead over `(type [name][!], ...)` and the end of the line; None if something else is there."""
        names: list[str] = []
        block = named = False
        if self.peek(ahead).text == "(" and self.peek(ahead).kind == SIGN:
            ahead += 1
            while self.peek(ahead).text != ")" or not names:
                if self.peek(ahead).text == ")" and not names:
                    break
                if self.peek(ahead).kind != NAME:
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
        known = self.program.declare(predicate)
        self.program.declared_types.update(predicate.types)
        if known != predicate:
            problem = f"{name.text} is declared again as {predicate}, but was declared as {known}"
            raise self.source.error(ModelError, problem, name)

    # ---- rules ----------------------------------------------------------------------------------------------

    def _rule(self) -> None:
        start = self.token
        fixed = self.accept("@")
        prior = None if fixed else self._prior()
        weight = None if prior is not None else self._weight()
        if fixed and weight is None:
            problem = "expected a weight after '@', as in '@1.5 P(x)': one that learners leave as it is"
            raise self.source.error(ParseError, problem, start)
        if self.token.kind in (NEWLINE, END):
            raise self.unexpected("a formula")
        formula = self.rule()
        if self.at(":="):
            self._scoping_rule(formula, prior, start)
            return
        if prior is not None:
            raise self.unexpected("':=' after the head of a rule with a prior")
        if self.at(":-"):
            problem = (
                "rules with ':-' are not supported: write 'body => head' with '^' in the body; a predicate that follows from others is one "
                f"of a SQL query, or of {Phrase('db.define')}"
            )
            raise self.source.error(UnsupportedError, problem, self.token)
        stop = self.token
        hard = self.accept(".")
        if hard and weight is not None:
            problem = "a weight and a final '.' contradict each other: remove the weight (hard) or the '.' (soft)"
            raise self.source.error(ParseError, problem, stop)
        if fixed and any(isinstance(term, Variable) and term.plus for term in terms_of(formula)):
            problem = "a fixed weight has no use for '+', which makes clauses whose weights are learned: remove the '@' or the '+'"
            raise self.source.error(ParseError, problem, start)
        self._check_end()
        line = self.source.line(start)
        rule = Rule(formula, weight, hard, None, line, self.source.path, fixed)
        self.program.add(rule, self.source, self.mentions)

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
            utility = self.peek().kind in (NUMBER, SIGN) and self.peek().text not in ("!", "(", "+")
            problem = (
                "utilities (weight:utility) are not supported"
                if utility
                else "':' after a weight is not supported: remove it"
            )
            raise self.source.error(UnsupportedError, problem, self.token)
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
    return len(text) <= LONGEST_INTEGER and text.removeprefix("-").isdecimal()


# ---- templates of a saved file: which of its rules are the clauses of which template -----------------


def with_templates(model: Model, listed: Sequence[Mapping[str, Any]], path: str) -> Model:
    """Return a model with templates, as `saving.listed_templates` lists them, in place of their clauses."""
    rules: list[Rule] = []
    start = 0
    for each in listed:
        try:
            first, end = each["rule"], each["rule"] + each["clauses"]
            formula, variables = parse_formula(each["formula"], model, path=path), tuple(each["variables"])
        except (KeyError, TypeError, SqlrlError) as error:
            raise _changed(path, f"what it says of a template cannot be read ({error})") from error
        clauses = model.rules[first:end]
        rows = [_constants(formula, variables, clause.formula) for clause in clauses]
        weights = [clause.weight for clause in clauses]
        known_rows, known_weights = [r for r in rows if r is not None], [w for w in weights if w is not None]
        if not start <= first <= end or len(known_rows) < end - first or len(known_weights) < end - first:
            raise _changed(path, f"rules {first + 1} to {end} are not the clauses of {each['formula']}")
        rules += model.rules[start:first]
        expansions = Expansions(variables, tuple(known_rows), tuple(known_weights), each.get("found") is True)
        rules.append(Rule(formula, expansions=expansions, path=path))
        start = end
    return model.with_rules((*rules, *model.rules[start:]))


def _constants(template: Formula, variables: Sequence[str], clause: Formula) -> tuple[str, ...] | None:
    """Return the constants that make a clause of a template, None if none do."""
    found: dict[str, str] = {}
    for term, constant in zip(terms_of(template), terms_of(clause), strict=False):
        if isinstance(term, Variable) and isinstance(constant, Constant):
            found.setdefault(term.name, constant.name)
    row = {name: found[name] for name in variables if name in found}
    return tuple(row.values()) if len(row) == len(variables) and fill(template, row) == clause else None


def _changed(path: str, problem: str) -> ParseError:
    return ParseError(
        f'the first line does not fit the rules: {problem}. If rules were changed by hand, remove "templates" and its list '
        "from that line.",
        path=path,
    )


# ---- readers -----------------------------------------------------------------------------------------


def parse_mln(
    text: str,
    *,
    path: str = "<text>",
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str | None = None,
    learned: bool = False,
    strict: bool = False,
    trusted: bool = True,
    largest_range: int = LARGEST_RANGE,
) -> Model:
    r"""Parse an `.mln` program.

    Parameters
    ----------
    text : str
    path : str
        The file, or a name for the text, in errors.
    query : iterable of str
        Predicates to predict, beside those that the data leave open.
    constants : mapping of str to str, optional
        New names for constants of the program, as `{"Fauthor": "fauthor"}`.
    fold_case : bool
        Read all other constants in lower case.
    semantics : {"exact", "alchemy"}, optional
        "exact", the default: each formula is one feature. "alchemy": its weight is divided over the clauses of its normal form; a
        template is the formulas that it stands for, and one whose formulas have different normal forms is refused.
    learned : bool
        The weights were learned from other data: constants that the declarations list are no closed lists there, and those of the
        rules that the data lack are counted, in a warning.
    strict : bool
        A constant of the rules that neither data nor declarations have is an error. Without it that is one more constant of its
        type; one that looks like another of the data is a warning.
    trusted : bool
        False for a model that a stranger may have written: it includes no files but those below its folder, and a text none at all.
    largest_range : int
        How many constants the ranges of the program, as `{1, ..., 10}`, may have, all together.

    Returns
    -------
    Model
        If `Model.save` wrote the text, the first line says of it what the language cannot: the query predicates, the semantics,
        whether it was learned, and its templates, which are left as their clauses where constants get other names.

    Raises
    ------
    ParseError
        The text does not parse; the message shows the line with a caret. Or the first line does not fit the rules.
    ModelError
        The program contradicts itself: unknown predicates, wrong arities or types, undeclared constants. Or it was saved with another
        semantics.
    UnsupportedError
        It uses a part of the languages that sqlrl does not have (functions, arithmetic, linked-in code).

    Warns
    -----
    RepeatedRuleWarning
        Rules without a final '.' that stand twice, with both lines: each counts.

    Examples
    --------
    >>> model = parse_mln("Smokes(person)\nCancer(person)\n1.5 Smokes(x) => Cancer(x)")
    >>> model.rules[0].weight, sorted(model.predicates)
    (1.5, ['Cancer', 'Smokes'])
    """
    check_text(text, "a model", "read files with read_mln")
    model = _read(
        SourceText(text, path),
        None,
        query,
        constants or {},
        semantics,
        fold_case=fold_case,
        learned=learned,
        trusted=trusted,
        largest_range=largest_range,
    )
    return replace(model, strict=strict)


def read_mln(
    path: str | Path,
    *,
    query: Iterable[str] = (),
    constants: Mapping[str, str] | None = None,
    fold_case: bool = False,
    semantics: str | None = None,
    learned: bool = False,
    strict: bool = False,
    trusted: bool = True,
    largest_range: int = LARGEST_RANGE,
) -> Model:
    r"""Read an `.mln` file; `#include "other.mln"` is resolved relative to the file that says so, and each file is read once.

    Parameters
    ----------
    path : str or Path
    query, constants, fold_case, semantics, learned, strict, trusted, largest_range
        As in `parse_mln`.

    Returns
    -------
    Model

    Raises
    ------
    ParseError, ModelError, UnsupportedError
        As in `parse_mln`; a missing file and an include that leads back to itself are ParseErrors. Of an included file that is
        not named `.mln` no line is shown.

    Warns
    -----
    RepeatedRuleWarning
        As in `parse_mln`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.mln").write_text("P(x)\n2 P(A)")
    ...     read_mln(Path(folder, "a.mln")).rules[0].weight
    2.0
    """
    source = SourceText(read_text(path, parse="sqlrl.parse_mln"), str(path))
    model = _read(
        source,
        Path(path),
        query,
        constants or {},
        semantics,
        fold_case=fold_case,
        learned=learned,
        trusted=trusted,
        largest_range=largest_range,
    )
    return replace(model, strict=strict)


def _read(
    source: SourceText,
    file: Path | None,
    query: Iterable[str],
    constants: Mapping[str, str],
    semantics: str | None,
    *,
    fold_case: bool,
    learned: bool,
    trusted: bool,
    largest_range: int,
) -> Model:
    """Read a program, and what the first lines of saved ones say, also of those that it includes."""
    program = ParsedProgram(constants, fold_case, trusted=trusted, largest_range=largest_range)
    program.read(source, file)
    meaning, names, ranked_by = semantics, list(predicate_names("query", query)), ""
    for path, header in program.headers:
        meaning = _header_semantics(header, path, meaning)
        names += header.get("query", ())
        learned = learned or header.get("learned", False)
        ranked_by = ranked_by or header.get("ranked_by", "")
    model = program.model(names, meaning or "exact")
    model = replace(model, learned=learned, bins=_header_bins(program))
    # What learners chose, they may have chosen twice.
    if not learned:
        warn_of_formulas(program.rules)
    listed = program.headers[0][1].get("templates")
    if listed and not (fold_case or constants):
        model = with_templates(model, listed, source.path)
    return replace(model, ranked_by=ranked_by)
