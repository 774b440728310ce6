"""Predicates that a program of probabilistic soft logic declares: in a configuration, in the first line of what was saved, or by using them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn
from typing import Literal as OneOf

from sqlrl.arguments import predicate_names
from sqlrl.errors import ModelError, ParseError
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.lexer import SourceText
from sqlrl.logic.limits import LONGEST_CLAUSE
from sqlrl.logic.psl import AS_WRITTEN, SoftModel, SoftRule, check_declarations, untyped
from sqlrl.logic.terms import Argument, Predicate

Reading = OneOf["program", "written", "marked"]
"""How rules are read: as PSL reads a program; or each as it stands, as in files that sqlrl saved, of which later ones say so."""

_HEADER = re.compile(r"\ufeff?// sqlrl (\{[^\n]*\})\r?\n?")
_DECLARATION = re.compile(r"\s*([^\s/()]+)\s*(?:/\s*([0-9]{1,9})|\(([^()]*)\))?\s*\Z")


@dataclass(slots=True)
class Declarations:
    """The predicates that a program has declared so far."""

    predicates: dict[str, Predicate] = field(default_factory=dict)
    query: set[str] = field(default_factory=set)
    strict: bool = False  # True if rules may use only these predicates; else an atom declares its predicate
    spelled: dict[str, str] = field(default_factory=dict)  # names by their case-folded form
    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of the constants at each argument
    # "written" if the rules stand as they mean, as in what sqlrl saved; "marked" if the first line says so in as many words.
    rules: Reading = "program"

    def declare(self, predicate: Predicate) -> None:
        """Add a predicate."""
        self.predicates[predicate.name] = predicate
        self.spelled[predicate.name.casefold()] = predicate.name
        self.kinds[predicate.name] = predicate.types

    def model(self, rules: Iterable[SoftRule], query: str | Iterable[str] = (), **more: Any) -> SoftModel:
        """Return the model of these predicates."""
        names = {self.spelled.get(name.casefold(), name) for name in predicate_names("query", query)}
        return SoftModel(dict(self.predicates), tuple(rules), frozenset(self.query | names), **more)


def read_declaration(text: str) -> tuple[str, tuple[str, ...] | int | None] | None:
    """Return the name of a declared predicate with the types of its arguments, their number, or neither; None if it is no declaration."""
    match = _DECLARATION.match(text)
    if match is None:
        return None
    name, arity, types = match.groups()
    if types is not None:
        return name, tuple(each.strip() for each in types.split(","))
    return name, None if arity is None else int(arity)


def reading_of(source: SourceText) -> Reading:
    """Return how the rules of a file are read, by its first line."""
    header = _HEADER.match(source.text)
    if header is None:
        return "program"
    return "marked" if f'"rules": "{AS_WRITTEN}"' in header[1] else "written"


def read_header(source: SourceText) -> Declarations:
    r"""Return the declarations that the first line of a rule file says, if it is one that was saved."""
    known = Declarations()
    header = _HEADER.match(source.text)
    if header is None:
        return known

    def refuse(problem: str) -> NoReturn:
        raise source.error(ParseError, f"{problem}: mend the first line or remove it", header.start(1))

    try:
        found = parse_json(header[1], path=source.path, quotable=False)
    except ParseError as error:
        refuse(error.problem)
    declarations = found.get("predicates")
    if not isinstance(declarations, dict):
        refuse("the first line declares no predicates")
    for text, state in declarations.items():
        declaration = read_declaration(text)
        if declaration is None or declaration[1] is None or state not in ("open", "closed", None):
            refuse(f'{json.dumps({text: state})} declares no predicate, as "Knows/2": "open" does')
        name, kinds = declaration
        if isinstance(kinds, int):
            known.declare(untyped(name, min(kinds, LONGEST_CLAUSE), closed=state == "closed"))
        else:
            known.declare(Predicate(name, tuple(map(Argument, kinds or ())), state == "closed"))
        if state == "open":
            known.query.add(name)
    known.strict = True
    known.rules = reading_of(source)
    try:
        check_declarations(known.predicates, known.query)
    except ModelError as error:
        refuse(str(error))
    return known
