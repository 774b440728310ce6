"""What the statements of a script read: a fingerprint of the tables, files, models and facts, as they were at a place of the script."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlglot import TokenType, exp, parse_one
from sqlglot.errors import SqlglotError

from sqlrl.catalog.fingerprints import file_fingerprint, table_fingerprint
from sqlrl.engine.inputs import looks_elsewhere, reads_files
from sqlrl.errors import InputError, SqlrlError
from sqlrl.paths import is_file
from sqlrl.script.effects import (
    DEFINED,
    FILE,
    FUNCTION,
    MODEL,
    PREDICATE,
    TABLE,
    TYPE,
    VARIABLE,
    Effect,
    PlainNames,
    Thing,
    quoted,
    skeleton,
    verb_at,
)
from sqlrl.script.plain import common_tables
from sqlrl.script.settings import Context
from sqlrl.script.source import QUOTED, ScriptText, Tokens
from sqlrl.script.statements import (
    CreateModel,
    CreatePredicate,
    ExportModel,
    Plain,
    QueryText,
    SetScope,
    Statement,
    Text,
    calls_between,
)
from sqlrl.script.states import States, texts_in

logger = logging.getLogger(__name__)
_INCLUDE = re.compile(r"""#\s*include\s*["']([^"'\n]+)""")
"""What includes a file in rules; in a comment, too, which costs no more than a run too many."""

Then = Callable[[Thing], str | None]
"""Returns the state of a thing at the place of the script that has been reached."""


class Inputs:
    """Reads what a statement depends on; `read` are the things that it has looked at, `past` those that later statements have changed already."""

    def __init__(
        self, context: Context, states: States, names: PlainNames, then: Then, past: Collection[Thing]
    ) -> None:
        self.context, self.states, self.names = context, states, names
        self.engine = context.db.advanced.engine
        self._state_then, self._past = then, past
        self.read: set[Thing] = set()

    def fingerprint(
        self,
        tokens: Tokens,
        statement: Statement,
        variables: Mapping[str, Any],
        effect: Effect,
        *,
        own: bool,
    ) -> str | None:
        """Return a fingerprint of all that a statement reads, as it was at this place of the script; None if that cannot be told.

        `own` says whether the state of what it changes is a part.
        """
        if effect.thing is None:
            return None
        try:
            parts = [
                *([f"{self._then(effect.thing)}"] if effect.follows and own else []),
                *self._parts(tokens, statement, effect),
                *map(self.states.file, texts_in(list(variables.values()))),
            ]
        except (SqlrlError, OSError) as error:
            logger.debug("what %s reads cannot be told: %s", tokens.text, error)
            # What cannot be read now is said by the statement itself.
            return None
        if None in parts:
            return None
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]

    def _then(self, thing: Thing) -> str | None:
        """Return the state of a thing at this place of the script, and note that it was read."""
        self.read.add(thing)
        return self._state_then(thing)

    def _parts(self, tokens: Tokens, statement: Statement, effect: Effect) -> Iterator[str | None]:
        kind, name = effect.shown
        if kind in DEFINED:
            # A definition is kept as it is written, and reads nothing until it is used; the values of a type may be a query's.
            asks = kind == TYPE and any(tokens.word(i) in ("SELECT", "FROM") for i in range(len(tokens.tokens)))
            yield None if asks else ""
            return
        calls = calls_between(tokens, 0, len(tokens.tokens))
        if (
            isinstance(statement, CreateModel)
            or calls
            or (isinstance(statement, ExportModel) and name.endswith(".sql"))
        ):
            yield from self._facts()
        for model in sorted(set(_models(tokens, statement))):
            yield f"{model} {self._then((MODEL, model))}"
        for token in tokens.tokens:
            if token.token_type in QUOTED and (kind, name) != (FILE, token.text):
                yield self.states.file(token.text)
        if isinstance(statement, CreateModel):
            yield from self._includes(statement)
        for query in _queries(tokens, statement):
            yield from self._asked(_with_common_tables(tokens, query.first, query.last))
        if tokens.word(0) == "EXECUTE":
            # What it reads is written elsewhere.
            yield None
        elif isinstance(statement, Plain) and not list(_own_queries(tokens, statement)):
            # SET VARIABLE name = query
            text = skeleton(tokens) if kind != VARIABLE else f"SELECT {skeleton(tokens, 4)}"
            self._check_functions(tokens)
            for table in _tables_of(text, effect, self.names):
                yield from self._relation(*table, set())

    def _asked(self, sql: str) -> Iterator[str | None]:
        """Yield the states of the tables and views that a query reads, and None if it may read more."""
        found = self.engine.inputs(sql)
        if not found.complete:
            yield None
        for table in sorted(found.tables):
            yield from self._relation(*table, set())

    def _check_functions(self, tokens: Tokens) -> None:
        """Refuse a statement that calls a macro, or a function of which the rows do not follow from what is written."""
        called = [
            i
            for i in range(len(tokens.tokens) - 1)
            if tokens.kind(i + 1) is TokenType.L_PAREN
            and (tokens.word(i) not in ("", "VALUES") or tokens.kind(i) is TokenType.IDENTIFIER)
        ]
        # DuckDB needs some milliseconds to list them.
        macros = self.engine.macro_names() if called else set()
        for i in called:
            name = tokens.tokens[i].text.casefold()
            computed = any(tokens.kind(k) in _COMPUTING for k in range(i + 2, tokens.closing(i + 1)))
            if name in macros or looks_elsewhere(name) or (reads_files(name) and computed):
                raise InputError("what the statement reads cannot be told")

    def _relation(self, catalog: str, schema: str, name: str, above: set[str]) -> Iterator[str | None]:
        """Yield the state of a table that a query reads, or of all that a view reads; an error if there is neither."""
        if name == FUNCTION:
            # The models, the facts and the queries that it reads are looked at themselves.
            return
        short = ".".join(part for part in (catalog, schema, name) if part)
        thing = (TABLE, self.names.plain(TABLE, ".".join(quoted(part) for part in (catalog, schema, name) if part)))
        # The view of an object of Python's says nothing of its rows, which are read themselves.
        rows = catalog in ("", "temp") and name.lower() in self.engine.registered
        view = None if rows or thing in self._past else self.states.view_query(catalog, schema, name)
        if view is None:
            table = exp.table_(name, db=schema or None, catalog=catalog or None, quoted=True)
            self.read.add(thing)
            state = self._then(thing) if thing in self._past else table_fingerprint(self.engine, table)
            yield f"{short} {state}"
            return
        if view in above:
            raise InputError("what the statement reads cannot be told")
        yield f"{short} {hashlib.sha256(view.encode()).hexdigest()[:16]}"
        [tokens] = ScriptText(view).statements()
        for variable in asked_variables(tokens):
            yield f"${variable} {self.context.variable(variable, 0, missing=None)!r}"
        start = next(i for i in range(len(tokens.tokens)) if tokens.word(i) == "AS") + 1
        found = self.engine.inputs(tokens.slice(start, len(tokens.tokens)))
        if not found.complete:
            yield None
        for each in sorted(found.tables):
            yield from self._relation(*each, {*above, view})

    def _includes(self, statement: CreateModel) -> Iterator[str]:
        """Yield the state of the files that the rules of a model include, also those that these include."""
        waiting: list[tuple[str, Path]] = []
        if statement.rules is not None:
            waiting.append((statement.rules.text, Path()))
        elif statement.file is not None:
            file = Path(self.engine.admitted(statement.file.text))
            waiting.append((file.read_text(encoding="utf-8", errors="replace"), file.parent))
        seen = set[Path]()
        while waiting:
            text, folder = waiting.pop()
            for name in _INCLUDE.findall(text):
                path = folder / name
                if path.resolve() in seen or not self.states.may_read(str(path)):
                    continue
                seen.add(path.resolve())
                yield f"{path} {file_fingerprint(path)}"
                if is_file(path):
                    waiting.append((path.read_text(encoding="utf-8", errors="replace"), path.parent))

    def _facts(self) -> Iterator[str]:
        """Yield what is known of all that was loaded, but for what binding a model to it adds."""
        store = self.context.db.advanced.catalog.store
        past = {name for kind, name in self._past if kind == PREDICATE}
        states = {name: self._then((PREDICATE, name)) for name in sorted({*store.predicates(), *past})}
        yield from (f"{name} {state}" for name, state in states.items() if state is not None)
        records = store.predicates()
        used = {kind for name, state in states.items() if state and name in records for kind in records[name].types}
        yield from (
            f"{kind.type} {kind.choice} {kind.numeric} {kind.edges}"
            for _, kind in sorted(store.types().items())
            if kind.type in used
        )


def asked_variables(tokens: Tokens) -> dict[str, int]:
    """Return the variables that a text asks for by getvariable('name'), with their places."""
    return {
        tokens.tokens[i + 2].text: tokens.tokens[i].start
        for i in range(len(tokens.tokens) - 2)
        if tokens.word(i) == "GETVARIABLE" and tokens.kind(i + 2) in QUOTED and tokens.kind(i + 3) is TokenType.R_PAREN
    }


def _with_common_tables(tokens: Tokens, first: int, last: int) -> str:
    """Return a query that stands in a statement with the common tables that it sees."""
    text = skeleton(tokens, first, last)
    for group in reversed(common_tables(tokens, first)):
        tables = ", ".join(skeleton(tokens, *place) for place in group.tables)
        text = f"WITH {'RECURSIVE ' if group.recursive else ''}{tables} SELECT * FROM ({text})"  # noqa: S608 - parsed, and not run
    return text


_COMPUTING = (TokenType.DPIPE, TokenType.PLUS, TokenType.L_PAREN)
"""What computes the name of a file among the arguments of a function."""


def _tables_of(sql: str, effect: Effect, names: PlainNames) -> list[tuple[str, str, str]]:
    """Return the tables beside its own that a statement reads, which makes or changes one; an InputError if it is not understood."""
    try:
        tree = parse_one(sql, dialect="duckdb")
    except SqlglotError as error:
        raise InputError("what the statement reads cannot be told") from error
    if isinstance(tree, exp.Command):
        raise InputError("what the statement reads cannot be told")
    common = {each.alias_or_name.casefold() for each in tree.find_all(exp.CTE)}
    found = {(x.catalog, x.db, x.name) for x in tree.find_all(exp.Table) if x.name and x.name.casefold() not in common}
    return sorted(
        x
        for x in found
        if (TABLE, names.plain(TABLE, ".".join(quoted(part) for part in x if part))) != effect.thing
        and (FILE, x[2]) != effect.thing
    )


def _made_by_query(tokens: Tokens) -> tuple[int, int] | None:
    """Return between which tokens the query stands by which CREATE TABLE ... AS makes a table."""
    if tokens.word(0) != "CREATE":
        return None
    at = 3 if tokens.words("OR", "REPLACE", at=1) else 1
    at += tokens.word(at) in ("TEMP", "TEMPORARY")
    if tokens.word(at) != "TABLE":
        return None
    for i in range(at, len(tokens.tokens)):
        if tokens.word(i) == "AS":
            return i + 1, len(tokens.tokens)
    return None


def _copied_query(tokens: Tokens) -> tuple[int, int] | None:
    """Return between which tokens the query stands whose rows COPY ( ... ) TO writes."""
    if tokens.word(verb_at(tokens)) != "COPY" or tokens.kind(1) is not TokenType.L_PAREN:
        return None
    return 2, tokens.closing(1)


def _queries(tokens: Tokens, statement: Statement) -> Iterator[QueryText]:
    """Yield the queries by which a statement reads tables, also those that its functions are asked about."""
    for query in _own_queries(tokens, statement):
        yield query
        yield from _inner(tokens, query)


def _inner(tokens: Tokens, query: QueryText) -> Iterator[QueryText]:
    """Yield the queries that are arguments of functions in a query."""
    for call in calls_between(tokens, query.first, query.last):
        for value in (*call.arguments, *(setting.value for setting in call.settings)):
            if isinstance(value.value, QueryText):
                yield value.value
                yield from _inner(tokens, value.value)


def _own_queries(tokens: Tokens, statement: Statement) -> Iterator[QueryText]:
    if isinstance(statement, CreateModel) and statement.examples is not None:
        yield statement.examples
    elif isinstance(statement, CreatePredicate) and isinstance(statement.source, QueryText):
        yield statement.source
    elif isinstance(statement, SetScope):
        yield statement.query
    elif isinstance(statement, Plain) and (place := _made_by_query(tokens) or _copied_query(tokens)) is not None:
        first, last = place
        yield QueryText(tokens.slice(first, last), tokens.tokens[first].start, first, last)


def _models(tokens: Tokens, statement: Statement) -> Iterator[str]:
    """Yield the names of the models that a statement reads."""
    for i in range(1, len(tokens.tokens) - 1):
        asked = tokens.word(i) == "MODEL" and tokens.kind(i - 1) in (TokenType.L_PAREN, TokenType.COMMA)
        if asked or tokens.words("FROM", "MODEL", at=i - 1):
            yield tokens.tokens[i + 1].text.casefold()
    if isinstance(statement, ExportModel):
        yield statement.name.text.casefold()
    if isinstance(statement, CreateModel):
        for each in statement.settings:
            if each.name.text.casefold() == "start" and isinstance(each.value.value, Text):
                yield each.value.value.text.casefold()
