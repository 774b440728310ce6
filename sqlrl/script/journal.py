"""What scripts have finished, so that one that was stopped goes on: rows of `sqlrl.script_log`."""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlglot import TokenType, exp

from sqlrl.catalog.fingerprints import file_fingerprint, pattern_fingerprint, table_fingerprint
from sqlrl.engine.nodes import column
from sqlrl.errors import SqlrlError, UntrustedError
from sqlrl.paths import is_file
from sqlrl.script.plain import Runner
from sqlrl.script.settings import Context
from sqlrl.script.source import QUOTED, Tokens
from sqlrl.script.statements import (
    CreateModel,
    CreatePredicate,
    Plain,
    QueryText,
    Statement,
    Text,
    calls_between,
    variables_between,
)

logger = logging.getLogger(__name__)
MODEL, PREDICATE, TABLE = "model", "predicate", "table"
_REMOTE = "://"
_INCLUDE = re.compile(r"""#\s*include\s*["']([^"'\n]+)""")
"""What includes a file in rules; in a comment, too, which costs no more than a run too many."""


@dataclass(frozen=True)
class Entry:
    """A statement that can be skipped once it has finished: what it makes, and what of."""

    kind: str  # of what it makes
    name: str  # of what it makes
    text: str
    variables: str
    inputs: str | None  # a fingerprint of the tables, files and models that it reads; None if that cannot be told


class Journal:
    """Notes which statements have finished, and with `resume` tells it."""

    def __init__(self, context: Context, resume: bool) -> None:
        self.context, self.resume = context, resume
        engine = context.db.advanced.engine
        # Only what a later process finds again is noted: nothing of a database in memory, or that can only be read, or of a temporary table.
        self.active = engine.writable and engine.path != ":memory:"

    def entry(self, tokens: Tokens, statement: Statement, plain: Runner) -> Entry | None:
        """Return what is noted of a statement; None of one that always runs."""
        made = _made(tokens, statement) if self.active else None
        if made is None:
            return None
        last = len(tokens.tokens)
        variables = {name: self.context.variable(name, at) for name, at in variables_between(tokens, 0, last).items()}
        variables |= {name: self.context.variable(name, at, missing=None) for name, at in _variables(tokens).items()}
        return Entry(
            *made,
            tokens.text,
            json.dumps(variables, default=str, sort_keys=True),
            self._inputs(tokens, statement, plain, variables),
        )

    def finished(self, entry: Entry) -> str | None:
        """Return what a statement has printed, if the script is resumed and it has finished with the same inputs, and what it made is as it was."""
        if not self.resume or entry.inputs is None:
            return None
        store = self.context.db.advanced.catalog.store
        same = {
            "script": self.context.source.path,
            "kind": entry.kind,
            "name": entry.name,
            "text": entry.text,
            "variables": entry.variables,
        }
        mine = exp.and_(*(column(name).eq(exp.convert(value)) for name, value in same.items()))
        query = exp.select("*").from_(store.table("script_log")).where(mine)
        rows = store.rows(
            query.order_by(exp.Ordered(this=column("finished"), desc=True)).limit(1), "look for what has finished"
        )
        if not rows or rows[0]["inputs"] != entry.inputs or rows[0]["output"] != self._output(entry):
            return None
        return str(rows[0]["result"])

    def finish(self, entry: Entry, line: int, result: str, seconds: float) -> None:
        """Note that a statement has finished; nothing inside of a transaction of the script's, which may yet be rolled back."""
        engine = self.context.db.advanced.engine
        if entry.inputs is None or engine.in_transaction():
            return
        row = {
            "script": self.context.source.path, "line": line, "kind": entry.kind, "name": entry.name, "text": entry.text,
            "variables": entry.variables, "inputs": entry.inputs, "output": self._output(entry), "result": result, "seconds": seconds,
            "finished": datetime.now(UTC).replace(tzinfo=None),
        }  # fmt: skip
        self.context.db.advanced.catalog.store.put("script_log", [row], "note what has finished")

    # ---- fingerprints ----------------------------------------------------------------------------------

    def _inputs(self, tokens: Tokens, statement: Statement, plain: Runner, variables: Mapping[str, Any]) -> str | None:
        """Return a fingerprint of all that a statement reads."""
        try:
            parts = [*self._parts(tokens, statement, plain), *map(self._file, _texts(list(variables.values())))]
        except (SqlrlError, OSError) as error:
            logger.debug("what a statement reads cannot be told: %s", error)
            # What cannot be read now is said by the statement itself.
            return None
        if None in parts:
            return None
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]

    def _parts(self, tokens: Tokens, statement: Statement, plain: Runner) -> Iterator[str | None]:
        db, engine = self.context.db, self.context.db.advanced.engine
        calls = calls_between(tokens, 0, len(tokens.tokens))
        if isinstance(statement, CreateModel) or calls:
            yield from self._facts()
        names = set(_models(tokens, statement))
        yield from (f"{row['name']} {row['model']}" for row in db.models() if str(row["name"]).casefold() in names)
        for token in tokens.tokens:
            if token.token_type in QUOTED:
                yield self._file(token.text)
        if isinstance(statement, CreateModel):
            yield from self._includes(statement)
        for query in _queries(tokens, statement):
            with plain.edited(tokens, query.first, query.last, common=True, columns_alone=True) as edited:
                read = engine.inputs(edited.text)
            if not read.complete:
                yield None
            for catalog, schema, name in sorted(read.tables):
                if name in edited.functions:
                    continue
                table = exp.table_(name, db=schema or None, catalog=catalog or None, quoted=True)
                yield f"{catalog} {schema} {name} {table_fingerprint(engine, table)}"

    def _includes(self, statement: CreateModel) -> Iterator[str]:
        """Yield the state of the files that the rules of a model include, also those that these include."""
        waiting: list[tuple[str, Path]] = []
        if statement.rules is not None:
            waiting.append((statement.rules.text, Path()))
        elif statement.file is not None:
            file = Path(self.context.db.advanced.engine.admitted(statement.file.text))
            waiting.append((file.read_text(encoding="utf-8", errors="replace"), file.parent))
        seen = set[Path]()
        while waiting:
            text, folder = waiting.pop()
            for name in _INCLUDE.findall(text):
                path = folder / name
                if path.resolve() in seen or not self._open(str(path)):
                    continue
                seen.add(path.resolve())
                yield f"{path} {file_fingerprint(path)}"
                if is_file(path):
                    waiting.append((path.read_text(encoding="utf-8", errors="replace"), path.parent))

    def _file(self, text: str) -> str | None:
        """Return the state of a file or of those of a pattern, "" if a text names none; None if it is far away."""
        if _REMOTE in text:
            return None
        if not text or "\n" in text or len(text) > 1000 or "\0" in text or not self._open(text):
            return ""
        # An untrusted database reads no patterns.
        if any(sign in text for sign in "*?[") and self.context.db.advanced.engine.trusted:
            found = glob.glob(text, recursive=True)  # noqa: PTH207 - as DuckDB reads it
            return pattern_fingerprint(found) if found else ""
        return file_fingerprint(Path(text)) if is_file(text) else ""

    def _open(self, path: str) -> bool:
        """Whether a file may be looked at, as those that whoever runs the script names in its variables."""
        if path in _texts(list(self.context.given.values())):
            return True
        try:
            self.context.db.advanced.engine.admitted(path)
        except UntrustedError:
            return False
        return True

    def _facts(self) -> Iterator[str]:
        """Yield what is known of all that was loaded, but for what binding a model to it adds."""
        store = self.context.db.advanced.catalog.store
        for (name, role), source in sorted(store.sources().items()):
            yield f"{name} {role} {source.kind} {source.rows} {source.fingerprint} {source.options}"
            yield from (
                f"{part.part} {part.kind} {part.rows} {part.fingerprint}" for part in store.load_parts(name, role)
            )
        yield from (f"{name} {record.scope}" for name, record in sorted(store.predicates().items()) if record.scope)
        yield from (
            f"{kind.type} {kind.choice} {kind.numeric} {kind.edges}" for _, kind in sorted(store.types().items())
        )

    def _output(self, entry: Entry) -> str | None:
        """Return a fingerprint of what a statement has made; None if it is not there."""
        db = self.context.db
        match entry.kind:
            case "model":
                numbers = [row["model"] for row in db.models() if str(row["name"]).casefold() == entry.name.casefold()]
                return f"model {numbers[0]}" if numbers else None
            case "predicate":
                sources = [
                    source for (name, _), source in db.advanced.catalog.store.sources().items() if name == entry.name
                ]
                return " ".join(f"{x.role}:{x.rows}:{x.fingerprint}" for x in sources) or None
            case _:
                try:
                    return table_fingerprint(db.advanced.engine, exp.to_table(entry.name, dialect="duckdb"))
                except SqlrlError:
                    return None


def _made(tokens: Tokens, statement: Statement) -> tuple[str, str] | None:
    """Return what kind of thing a statement makes, and its name."""
    if isinstance(statement, CreateModel):
        return MODEL, statement.name.text
    if isinstance(statement, CreatePredicate):
        return PREDICATE, statement.name.text
    place = _table(tokens) if isinstance(statement, Plain) else None
    return None if place is None else (TABLE, tokens.slice(*place))


def _table(tokens: Tokens) -> tuple[int, int] | None:
    """Return between which tokens the name of the table stands that CREATE TABLE ... AS makes."""
    if tokens.word(0) != "CREATE":
        return None
    at = 3 if tokens.words("OR", "REPLACE", at=1) else 1
    if tokens.word(at) != "TABLE":
        return None
    at += 4 if tokens.words("IF", "NOT", "EXISTS", at=at + 1) else 1
    end = at
    while end < len(tokens.tokens) and tokens.word(end) != "AS":
        end += 1
    return (at, end) if end < len(tokens.tokens) else None


def _queries(tokens: Tokens, statement: Statement) -> Iterator[QueryText]:
    """Yield the queries by which a statement reads tables, also those that its functions are asked about."""
    for query in _own_queries(tokens, statement):
        yield query
        yield from _asked(tokens, query)


def _asked(tokens: Tokens, query: QueryText) -> Iterator[QueryText]:
    """Yield the queries that are arguments of functions in a query."""
    for call in calls_between(tokens, query.first, query.last):
        for value in (*call.arguments, *(setting.value for setting in call.settings)):
            if isinstance(value.value, QueryText):
                yield value.value
                yield from _asked(tokens, value.value)


def _own_queries(tokens: Tokens, statement: Statement) -> Iterator[QueryText]:
    if isinstance(statement, CreateModel) and statement.examples is not None:
        yield statement.examples
    elif isinstance(statement, CreatePredicate) and isinstance(statement.source, QueryText):
        yield statement.source
    elif isinstance(statement, Plain) and (place := _table(tokens)) is not None:
        first, last = place[1] + 1, len(tokens.tokens)
        yield QueryText(tokens.slice(first, last), tokens.tokens[first].start, first, last)


def _models(tokens: Tokens, statement: Statement) -> Iterator[str]:
    """Yield the names of the models that a statement reads."""
    for i in range(1, len(tokens.tokens) - 1):
        asked = tokens.word(i) == "MODEL" and tokens.kind(i - 1) in (TokenType.L_PAREN, TokenType.COMMA)
        if asked or tokens.words("FROM", "MODEL", at=i - 1):
            yield tokens.tokens[i + 1].text.casefold()
    if isinstance(statement, CreateModel):
        for each in statement.settings:
            if each.name.text.casefold() == "start" and isinstance(each.value.value, Text):
                yield each.value.value.text.casefold()


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in the value of a variable, any of which may be the name of a file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))


def _variables(tokens: Tokens) -> dict[str, int]:
    """Return the variables that a statement asks for by getvariable('name')."""
    return {
        tokens.tokens[i + 2].text: tokens.tokens[i].start
        for i in range(len(tokens.tokens) - 2)
        if tokens.word(i) == "GETVARIABLE" and tokens.kind(i + 2) in QUOTED and tokens.kind(i + 3) is TokenType.R_PAREN
    }
