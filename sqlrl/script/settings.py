"""Values of options and arguments as Python has them, and errors at the place in the script to which they belong."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlrl.errors import (
    EngineError,
    InputError,
    Mention,
    Message,
    Parameter,
    ParseError,
    Phrase,
    ScriptError,
    SqlrlError,
    Written,
    marked,
)
from sqlrl.logic.lexer import nearest
from sqlrl.script.source import ScriptText
from sqlrl.script.statements import ScriptVariable, Settings, StatementPart, Value
from sqlrl.script.verbs import ScriptedDatabase


@dataclass(frozen=True, eq=False)
class Context:
    """A script at work: the database, and the text that its errors show."""

    db: ScriptedDatabase
    source: ScriptText
    given: Mapping[str, Any] = field(default_factory=dict)
    """The variables that whoever runs the script sets."""

    @contextmanager
    def at(self, offset: int) -> Iterator[None]:
        """Show errors of this context at a place in the script."""
        try:
            yield
        except ScriptError:
            raise
        except SqlrlError as error:
            raise self.source.error(brief(error), offset) from error

    @contextmanager
    def inside(self, text: StatementPart) -> Iterator[None]:
        """Show errors in a text that stands in the script where they are in the script."""
        with self.at(text.at):
            try:
                yield
            except ScriptError:
                raise
            except SqlrlError as error:
                located = error if isinstance(error, ParseError) else error.located
                if located is None:
                    raise
                raise self.source.within(located, located.problem.worded(in_sql), text.at) from error

    def admitted(self, path: str, at: int) -> str:
        """Return the path of a file that a statement names as it may be opened; an untrusted database keeps to its folder."""
        if not path:
            raise self.source.error("the name of a file is empty: write its path", at)
        with self.at(at):
            return self.db.advanced.engine.admitted(path)

    def variable(self, name: str, at: int, **missing: Any) -> Any:
        """Return the value of a variable; ScriptError if there is none, unless `missing` says what it is then."""
        listed = exp.select(exp.column("name")).from_(exp.Anonymous(this="duckdb_variables"))
        with self.at(at):
            engine = self.db.advanced.engine
            names = [row[0] for row in engine.fetch_rows(listed, step="look for variables")[1]]
            if plain_case(name) not in map(plain_case, names):
                if "missing" in missing:
                    return missing["missing"]
                hint = nearest(name, names) or f": give it with --set {name}=VALUE, or SET VARIABLE {name} = ..."
                if name.isdecimal():
                    hint = ": values of scripts have names, as $folds is one"
                raise InputError(f"there is no variable {name}{hint}")
            query = exp.select(exp.func("getvariable", exp.convert(name)))
            return engine.fetch_rows(query, step="read a variable")[1][0][0]

    def plain(self, value: Value) -> Any:
        """Return a value as Python has it; a query is its text."""
        return self._plain(value.value, value.at)

    def _plain(self, value: Any, at: int) -> Any:
        if isinstance(value, ScriptVariable):
            return _number(self.variable(value.name, at))
        if isinstance(value, list):
            return [self._plain(each, at) for each in value]
        return value.text if isinstance(value, StatementPart) else value


@dataclass
class StatementOptions:
    """The options of a statement, of which each has to be taken, and the names that were looked for."""

    context: Context
    settings: Settings
    taken: set[str] = field(default_factory=set)
    looked_for: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether an option was given."""
        self.looked_for.add(name)
        return any(_same(each.name, name) for each in self.settings)

    def value(self, name: str) -> Value | None:
        """Return the value of an option as it was written, None if it was not given."""
        self.looked_for.add(name)
        for each in self.settings:
            if _same(each.name, name):
                self.taken.add(each.name.text)
                return each.value
        return None

    def take(self, name: str, default: Any = None) -> Any:
        """Return the value of an option as Python has it."""
        found = self.value(name)
        return default if found is None else self.context.plain(found)

    def text(self, name: str) -> str | None:
        """Return the value of an option that is a text."""
        found = self.value(name)
        if found is None:
            return None
        plain = self.context.plain(found)
        if not isinstance(plain, str):
            raise self.context.source.error(f"{name} must be a text, in quotes", found.at)
        return plain

    def texts(self, name: str) -> list[str]:
        """Return the value of an option that is a text or a list of them."""
        found = self.value(name)
        if found is None:
            return []
        plain = self.context.plain(found)
        listed = plain if isinstance(plain, list) else [plain]
        if not all(isinstance(each, str) for each in listed):
            raise self.context.source.error(f"{name} must be a text, in quotes, or a list of such", found.at)
        return listed

    def remaining(
        self, known: Collection[str], owner: str, words: Callable[[str], str] = lambda _: ""
    ) -> Mapping[str, Value]:
        """Return what is left by the names that it has in Python; ScriptError if one is unknown, of which `words` may know what was meant."""
        names = {name.casefold(): name for name in known}
        found: dict[str, Value] = {}
        for each in self.settings:
            if each.name.text in self.taken:
                continue
            name = names.get(each.name.text.casefold())
            if name is None:
                every = sorted({*known, *self.looked_for})
                others = f"; there {'is' if len(every) == 1 else 'are'} {', '.join(every)}"
                hint = words(each.name.text) or nearest(each.name.text, every) or others
                raise self.context.source.error(f"{owner} has no option {each.name}{hint}", each.name.at)
            found[name] = each.value
        return found


_SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def plain_case(name: str) -> str:
    """Return a name in small letters as DuckDB sees it: it takes letters of ASCII for the same in any case, no others."""
    return name.translate(_SMALL)


def _number(value: Any) -> Any:
    """Return a value of DuckDB's as options take it: 0.5 is a DECIMAL there."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    return [_number(each) for each in value] if isinstance(value, list) else value


def _same(name: StatementPart, other: str) -> bool:
    return name.text.casefold() == other.casefold()


def brief(error: SqlrlError) -> Message:
    """Return what is wrong: of the database's failures its own message, of others that with remedies as SQL says them."""
    if isinstance(error, EngineError):
        reason, remedy = error.reason.partition("\n\nLINE ")[0], marked(error.remedy)
        return Message(f"{reason}\n{remedy}" if remedy else reason)
    return error.message.worded(in_sql)


def in_sql(mention: Mention) -> str | None:
    """Return how scripts call what a message mentions; None for what is said where they are run, such as how the database is opened."""
    if isinstance(mention, Phrase):
        found = _PHRASES.get(mention.text)
        return found if found is None else mention.filled(found)
    if not isinstance(mention, Parameter) or mention.call or mention.name in OUTSIDE:
        return None
    return mention.name if mention.value is ... else f"{mention.name} = {_literal(mention.value)}"


OUTSIDE = (
    "atom_limit",
    "folder",
    "memory_limit",
    "read_only",
    "run_queries",
    "storage",
    "temp_directory",
    "threads",
    "trusted",
)
"""Parameters of what opens a database, and runs scripts in it."""

_PHRASES: Mapping[str, str] = {
    "True": "true",
    "False": "false",
    "None": "NULL",
    ", or read the model without trusted=False": ", or write its text in the place of this line",
    "a dict of predicates, a sqlrl.PredicateMapping, or ": "",
    "options=, ": "",
    "read it with sqlrl.read_psl": "OPTIONS (format = 'psl') reads it",
    "read it with sqlrl.read_psl or sqlrl.parse_psl": "CREATE MODEL ... OPTIONS (format = 'psl') reads one",
    "what sqlrl.parse_bias returns, ": "",
    "what sqlrl.parse_grammar returns, or ": "",
    "what sqlrl.parse_modes returns, or ": "",
    "db.models[{!r}] = model": "CREATE MODEL {}",
    "db.predict": "ML.PREDICT",
    "learn its weights with Likelihood": "learn its weights with OPTIONS (learner = 'likelihood')",
    "db.define": "CREATE PREDICATE ... AS RULES",
    "db.load": "CREATE PREDICATE",
    "db.load({!r}, ...)": "CREATE PREDICATE {}(type, ...) AS query",
    "db.load(local={{{!r}: False}})": "CREATE PREDICATE without ! behind {}",
    "db.scope({!r}, ...)": "ALTER PREDICATE {} SET SCOPE (query)",
    "or 'likelihood', or None for the root of what a clause covers": "or 'likelihood', or NULL for the root of what a clause covers",
    "out of the model: model.without(names)": "out of the model with drop",
    "pass it to {}": "write it between $$ and $$",
    "read_mln(path, query=[...])": "OPTIONS (target = 'Predicate')",
    "read_psl(path, query=[...])": "OPTIONS (target = 'Predicate')",
}
"""What scripts say in place of words about Python."""


def _literal(value: object) -> str:
    """Return a value as SQL writes it."""
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "true", False: "false"}[value]
    quoted = isinstance(value, str) and not isinstance(value, Written)
    return "'" + str(value).replace("'", "''") + "'" if quoted else str(value)


def variable_value(text: str) -> Any:
    """Return the value that is meant by what is typed: a number, a truth value, or text, which may have quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    constants = {"true": True, "false": False}
    if text.lower() in constants:
        return constants[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        # 007 and 1_000 are names of something.
        if repr(number) == text or (kind is float and re.fullmatch(r"-?\d+\.\d*|-?\d+(\.\d+)?[eE][+-]?\d+", text)):
            return number
    return text
