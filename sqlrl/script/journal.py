"""What scripts have finished, so that one that was stopped goes on: rows of `sqlrl.script_log`."""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlglot import TokenType, exp, parse_one
from sqlglot.errors import SqlglotError

from sqlrl.catalog.fingerprints import file_fingerprint, pattern_fingerprint, table_fingerprint
from sqlrl.engine.nodes import column
from sqlrl.errors import InputError, SqlrlError, UntrustedError
from sqlrl.paths import is_file
from sqlrl.script.plain import Runner
from sqlrl.script.settings import Context
from sqlrl.script.source import QUOTED, Tokens
from sqlrl.script.statements import (
    AddRule,
    CreateModel,
    CreatePredicate,
    DropModel,
    Plain,
    QueryText,
    SetScope,
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


Thing = tuple[str, str]
"""What a statement makes or changes: `MODEL`, `PREDICATE` or `TABLE`, and its name as `_thing` has it."""

_States = dict[Thing, str | None]
"""The states of things, None of one that is not there."""


@dataclass(frozen=True)
class Entry:
    """A statement that can be skipped once it has finished: what it makes or changes, and what of."""

    kind: str  # of what it makes or changes
    name: str  # of what it makes or changes
    text: str
    variables: str
    inputs: str | None  # a fingerprint of the tables, files and models that it reads; None if that cannot be told
    before: _States  # of what it may change, before it runs
    ahead: tuple[str, ...] = ()  # what it reads or changes that later statements of the script have changed already


@dataclass(frozen=True)
class _Finished:
    """A row of the log."""

    inputs: str
    variables: str
    result: str
    before: _States
    after: _States


_NONE = "none"
"""A state that nothing has."""


class Journal:
    """Notes which statements have finished, and with `resume` tells it."""

    def __init__(self, context: Context, resume: bool, script: Sequence[tuple[Tokens, Statement]] = ()) -> None:
        self.context, self.resume = context, resume
        engine = context.db.advanced.engine
        # Only what a later process finds again is noted: nothing of a database in memory, or that can only be read, or of a temporary table.
        self.active = engine.writable and engine.path != ":memory:"
        # Changes are noted of tables that the script makes: others may be large, and each note reads a table twice.
        targets = [_target(tokens, statement) for tokens, statement in script if tokens.word(0) == "CREATE"]
        self._made = {target.thing for target in targets if target is not None}
        self._place = -1
        # By the place of a statement in the script, that which it did in an earlier run, if later ones led from there to what is there now.
        self._done: dict[int, _Finished] = {}
        # Where later statements have changed a thing already: what it was at this place of the script.
        self._past: _States = {}
        if self.active and resume:
            self._look_back(script)

    def entry(self, tokens: Tokens, statement: Statement, plain: Runner) -> Entry | None:
        """Return what is noted of the next statement; None of one that always runs."""
        self._place += 1
        target = _target(tokens, statement) if self.active else None
        if target is None or (target.changes and target.thing[0] == TABLE and target.thing not in self._made):
            return None
        last = len(tokens.tokens)
        variables = {name: self.context.variable(name, at) for name, at in variables_between(tokens, 0, last).items()}
        variables |= {name: self.context.variable(name, at, missing=None) for name, at in _variables(tokens).items()}
        read: set[Thing] = set()
        inputs = self._inputs(tokens, statement, plain, variables, target, read)
        ahead = [thing for thing in sorted({*read, target.thing}) if self._is_ahead(thing)]
        # What replaces a thing may run whatever that is now.
        if not target.changes and target.thing not in read:
            ahead = [thing for thing in ahead if thing != target.thing]
        return Entry(
            *target.shown,
            tokens.text,
            json.dumps(variables, default=str, sort_keys=True),
            inputs,
            self._states(target.thing),
            tuple(" ".join(thing) for thing in ahead),
        )

    def finished(self, entry: Entry) -> str | None:
        """Return what a statement has printed, if the script is resumed and it has finished with the same inputs, and what it made is as it was.

        It is as it was, too, if only later statements of the script have changed it, which have finished themselves.
        """
        done = self._done.get(self._place) if self.resume else None
        if done is None or (done.inputs, done.variables) != (entry.inputs, entry.variables):
            self._forget_later()
            return None
        self._past |= done.after
        return done.result

    def check_ready(self, tokens: Tokens, entry: Entry | None) -> None:
        """Refuse to run a statement again on what later ones have changed already: it would read another state than before."""
        ahead = entry.ahead if entry is not None else self._named_ahead(tokens)
        if ahead:
            raise self.context.source.error(
                f"this statement has to run again, and later ones have changed the {ahead[0]} already, which it reads or changes: run the script "
                "without resume on a new database, or with CREATE OR REPLACE where things are made",
                tokens.start,
            )

    def _named_ahead(self, tokens: Tokens) -> tuple[str, ...]:
        """Return which things that are ahead are named by a statement that always runs, and does more than ask."""
        if tokens.word(0) in _ASKING:
            return ()
        words = {token.text.casefold() for token in tokens.tokens}
        return tuple(
            " ".join(x)
            for x in sorted(self._past)
            if self._is_ahead(x) and x[1].rpartition(".")[2].strip('"').casefold() in words
        )

    def finish(self, entry: Entry, line: int, result: str, seconds: float) -> None:
        """Note that a statement has finished; nothing inside of a transaction of the script's, which may yet be rolled back."""
        engine = self.context.db.advanced.engine
        if entry.inputs is None or engine.in_transaction():
            return
        now = self._states((entry.kind, _plain_name(entry.kind, entry.name)))
        own = (entry.kind, _plain_name(entry.kind, entry.name))
        changed = [x for x in sorted({*entry.before, *now}) if x == own or entry.before.get(x) != now.get(x)]
        row = {
            "script": self.context.source.path, "line": line, "kind": entry.kind, "name": entry.name, "text": entry.text,
            "variables": entry.variables, "inputs": f"{entry.inputs} {_written(changed, entry.before)}", "output": _written(changed, now),
            "result": result, "seconds": seconds, "finished": datetime.now(UTC).replace(tzinfo=None),
        }  # fmt: skip
        self.context.db.advanced.catalog.store.put("script_log", [row], "note what has finished")

    # ---- looking back ----------------------------------------------------------------------------------

    def _look_back(self, script: Sequence[tuple[Tokens, Statement]]) -> None:
        """Find which statements lead to what is there now, each from where the one before it left a thing."""
        store = self.context.db.advanced.catalog.store
        query = exp.select("*").from_(store.table("script_log"))
        query = query.where(column("script").eq(exp.convert(self.context.source.path))).order_by(column("finished"))
        rows: dict[str, list[_Finished]] = {}
        things: set[Thing] = set()
        for row in store.rows(query, "look for what has finished"):
            found = _read(row)
            if found is not None:
                rows.setdefault(row["text"], []).append(found)
                things |= found.after.keys()
        targets = [_target(tokens, statement) for tokens, statement in script]
        chains = {thing: self._chain(thing, script, targets, rows) for thing in things}
        for i, (tokens, _) in enumerate(script):
            for done in reversed(rows.get(tokens.text, [])):
                if all(chains[thing].get(i) is done for thing in done.after):
                    self._done[i] = done
                    break
        for i in sorted(self._done, reverse=True):
            self._past |= self._done[i].before

    def _chain(
        self,
        thing: Thing,
        script: Sequence[tuple[Tokens, Statement]],
        targets: Sequence[_Target | None],
        rows: Mapping[str, Sequence[_Finished]],
    ) -> dict[int, _Finished]:
        """Return what statements did, by place, whose last left a thing as it is now, and each as the next one found it."""
        now = self._state(thing)
        # The same text may stand in several places: the last of them from which all before it follow.
        for end in range(len(script), 0, -1):
            found: dict[int, _Finished] = {}
            state, used = now, set[int]()
            for i in range(end - 1, -1, -1):
                target = targets[i]
                fit = [
                    x
                    for x in rows.get(script[i][0].text, ())
                    if x.after.get(thing, _NONE) == state and id(x) not in used
                ]
                if fit:
                    found[i] = fit[-1]
                    used.add(id(fit[-1]))
                    state = fit[-1].before[thing]
                elif target is not None and target.thing == thing:
                    # It has to run, and what is there does not follow from it.
                    found = {}
                    break
            if found:
                return found
        return {}

    def _forget_later(self) -> None:
        """Forget what this statement and those after it did to the same things, once it runs again."""
        done = self._done.pop(self._place, None)
        if done is None:
            return
        for i in [i for i, other in self._done.items() if i > self._place and other.after.keys() & done.after.keys()]:
            del self._done[i]

    def settle(self, entry: Entry) -> None:
        """Take what a statement that ran has changed as it is now."""
        for thing in entry.before:
            if thing == (entry.kind, _plain_name(entry.kind, entry.name)):
                self._past.pop(thing, None)

    # ---- states ----------------------------------------------------------------------------------------

    def _is_ahead(self, thing: Thing) -> bool:
        """Whether later statements have changed a thing already."""
        return thing in self._past and self._past[thing] != self._state(thing)

    def _states(self, own: Thing) -> _States:
        """Return the states of what a statement may change: its own thing, and of models and predicates all, as definitions follow facts."""
        db = self.context.db
        found = {own}
        if own[0] != TABLE:
            found |= {(PREDICATE, name) for name, _ in db.advanced.catalog.store.sources()}
            found |= {(PREDICATE, name) for name in db.advanced.catalog.store.predicates()}
        return {thing: self._state(thing) for thing in found}

    def _state(self, thing: Thing) -> str | None:
        """Return a fingerprint of a thing as it is now; None if it is not there."""
        kind, name = thing
        db = self.context.db
        if kind == MODEL:
            numbers = [row["model"] for row in db.models() if str(row["name"]).casefold() == name]
            return f"model {numbers[0]}" if numbers else None
        if kind == PREDICATE:
            lines = list(self._facts_of(name))
            return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else None
        try:
            return table_fingerprint(db.advanced.engine, exp.to_table(name, dialect="duckdb"))
        except (SqlrlError, SqlglotError):
            return None

    def _then(self, thing: Thing, read: set[Thing]) -> str | None:
        """Return the state of a thing at this place of the script, and note that it was read."""
        read.add(thing)
        return self._past[thing] if thing in self._past else self._state(thing)

    # ---- fingerprints ----------------------------------------------------------------------------------

    def _inputs(
        self,
        tokens: Tokens,
        statement: Statement,
        plain: Runner,
        variables: Mapping[str, Any],
        target: _Target,
        read: set[Thing],
    ) -> str | None:
        """Return a fingerprint of all that a statement reads, as it was at this place of the script."""
        try:
            own = [f"{self._then(target.thing, read)}"] if target.changes else []
            parts = [
                *own,
                *self._parts(tokens, statement, plain, read),
                *map(self._file, _texts(list(variables.values()))),
            ]
        except (SqlrlError, OSError) as error:
            logger.debug("what a statement reads cannot be told: %s", error)
            # What cannot be read now is said by the statement itself.
            return None
        if None in parts:
            return None
        return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]

    def _parts(self, tokens: Tokens, statement: Statement, plain: Runner, read: set[Thing]) -> Iterator[str | None]:
        engine = self.context.db.advanced.engine
        calls = calls_between(tokens, 0, len(tokens.tokens))
        if isinstance(statement, CreateModel) or calls:
            yield from self._facts(read)
        for name in sorted(set(_models(tokens, statement))):
            yield f"{name} {self._then((MODEL, name), read)}"
        for token in tokens.tokens:
            if token.token_type in QUOTED:
                yield self._file(token.text)
        if isinstance(statement, CreateModel):
            yield from self._includes(statement)
        for query in _queries(tokens, statement):
            with plain.edited(tokens, query.first, query.last, common=True, columns_alone=True) as edited:
                found = engine.inputs(edited.text)
            if not found.complete:
                yield None
            for catalog, schema, name in sorted(found.tables):
                if name not in edited.functions:
                    yield self._table(catalog, schema, name, read)
        if isinstance(statement, Plain) and _table(tokens) is None:
            with plain.edited(tokens, 0, len(tokens.tokens), columns_alone=True) as edited:
                tables = _tables_of(edited.text, _table_name(tokens))
            for catalog, schema, name in tables:
                if name not in edited.functions:
                    yield self._table(catalog, schema, name, read)

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

    def _table(self, catalog: str, schema: str, name: str, read: set[Thing]) -> str:
        """Return the state of a table that a query reads; an error if there is none."""
        short = ".".join(part for part in (catalog, schema, name) if part)
        thing = (TABLE, _plain_name(TABLE, ".".join(_quoted(part) for part in (catalog, schema, name) if part)))
        if thing in self._past:
            return f"{short} {self._then(thing, read)}"
        table = exp.table_(name, db=schema or None, catalog=catalog or None, quoted=True)
        return f"{short} {table_fingerprint(self.context.db.advanced.engine, table)}"

    def _facts(self, read: set[Thing]) -> Iterator[str]:
        """Yield what is known of all that was loaded, but for what binding a model to it adds."""
        store = self.context.db.advanced.catalog.store
        past = {name for kind, name in self._past if kind == PREDICATE}
        states = {name: self._then((PREDICATE, name), read) for name in sorted({*store.predicates(), *past})}
        yield from (f"{name} {state}" for name, state in states.items() if state is not None)
        records = store.predicates()
        used = {kind for name, state in states.items() if state and name in records for kind in records[name].types}
        yield from (
            f"{kind.type} {kind.choice} {kind.numeric} {kind.edges}"
            for _, kind in sorted(store.types().items())
            if kind.type in used
        )

    def _facts_of(self, name: str) -> Iterator[str]:
        """Yield what is known of what was loaded of a predicate."""
        store = self.context.db.advanced.catalog.store
        for (each, role), source in sorted(store.sources().items()):
            if each == name:
                yield f"{role} {source.kind} {source.rows} {source.fingerprint} {source.options}"
                yield from (
                    f"{part.part} {part.kind} {part.rows} {part.fingerprint}" for part in store.load_parts(name, role)
                )
        record = store.predicates().get(name)
        if record is not None and record.scope:
            yield f"{record.scope}"


@dataclass(frozen=True)
class _Target:
    """What a statement makes or changes."""

    thing: Thing
    shown: Thing  # with its name as it was written
    changes: bool  # whether what it leaves follows from what was there


def _plain_name(kind: str, name: str) -> str:
    """Return the name of a thing so that all ways to write it are one."""
    if kind == PREDICATE:
        return name
    if kind == MODEL:
        return name.casefold()
    try:
        parts = [part.name for part in exp.to_table(name, dialect="duckdb").parts]
    except SqlglotError:
        return name.casefold()
    # The schema of plain names, unless the script says USE; what is not recognised as changed runs again, and is refused.
    named = parts[1:] if len(parts) == 2 and parts[0].casefold() == "main" else parts
    return ".".join(_quoted(part) for part in named).casefold()


def _quoted(part: str) -> str:
    return exp.to_identifier(part, quoted=True).sql("duckdb")


def _written(things: Iterable[Thing], states: Mapping[Thing, str | None]) -> str:
    """Return states as the log has them."""
    return json.dumps([[*thing, states.get(thing)] for thing in things], ensure_ascii=False)


def _read(row: Mapping[str, Any]) -> _Finished | None:
    """Return a row of the log; None of one that an earlier version wrote, which knew of no changes by later statements."""
    inputs, _, before = str(row["inputs"]).partition(" ")
    try:
        states = [{(kind, name): state for kind, name, state in json.loads(text)} for text in (before, row["output"])]
    except (TypeError, ValueError):
        return None
    return _Finished(inputs, row["variables"], row["result"], states[0], states[1])


_ASKING = (
    "SELECT",
    "FROM",
    "WITH",
    "VALUES",
    "TABLE",
    "SHOW",
    "DESCRIBE",
    "DESC",
    "SUMMARIZE",
    "EXPLAIN",
    "PIVOT",
    "UNPIVOT",
    "USE",
)
"""First words of statements that change nothing; WITH may, and is looked into."""

_CHANGING: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("INSERT", "OR", "REPLACE", "INTO"), True),
    (("INSERT", "OR", "IGNORE", "INTO"), True),
    (("INSERT", "INTO"), True),
    (("UPDATE",), True),
    (("DELETE", "FROM"), True),
    (("TRUNCATE", "TABLE"), True),
    (("TRUNCATE",), True),
    (("MERGE", "INTO"), True),
    (("ALTER", "TABLE", "IF", "EXISTS"), True),
    (("ALTER", "TABLE"), True),
    (("DROP", "TABLE", "IF", "EXISTS"), True),
    (("DROP", "TABLE"), True),
    (("CREATE", "OR", "REPLACE", "TABLE"), False),
    (("CREATE", "TABLE", "IF", "NOT", "EXISTS"), True),
    (("CREATE", "TABLE"), False),
)
"""How statements of DuckDB's begin that make or change the table whose name comes next, and whether what they leave follows from what was there."""


def _target(tokens: Tokens, statement: Statement) -> _Target | None:
    """Return what a statement makes or changes; None of one that is not noted."""
    match statement:
        case CreateModel():
            kind, name, changes = MODEL, statement.name.text, statement.unless
        case AddRule() | DropModel():
            kind, name, changes = MODEL, statement.name.text, True
        case CreatePredicate():
            appends = any(each.name.text.casefold() == "append" for each in statement.settings)
            kind, name, changes = PREDICATE, statement.name.text, appends or statement.unless
        case SetScope():
            kind, name, changes = PREDICATE, statement.name.text, True
        case Plain():
            found = _table_name(tokens)
            if found is None:
                return None
            kind, (name, changes) = TABLE, found
        case _:
            return None
    return _Target((kind, _plain_name(kind, name)), (kind, name), changes)


def _table_name(tokens: Tokens) -> tuple[str, bool] | None:
    """Return the name of the table that a statement of DuckDB's makes or changes, and whether what it leaves follows from what was there."""
    made = _table(tokens)
    if made is not None:
        return tokens.slice(*made).partition("(")[0].strip(), tokens.words("IF", "NOT", "EXISTS", at=2)
    if tokens.word(0) == "COPY":
        end = _name_end(tokens, 1)
        copied = tokens.word(end) == "FROM" or (
            tokens.kind(end) is TokenType.L_PAREN and "FROM" in map(tokens.word, range(end, len(tokens.tokens)))
        )
        return (tokens.slice(1, end), True) if copied and end > 1 else None
    for words, changes in _CHANGING:
        if tokens.words(*words):
            end = _name_end(tokens, len(words))
            return (tokens.slice(len(words), end), changes) if end > len(words) else None
    return None


def _name_end(tokens: Tokens, at: int) -> int:
    """Return where a name, perhaps with dots in it, has ended that begins at a token."""
    end = at
    while tokens.word(end) or tokens.kind(end) is TokenType.IDENTIFIER:
        end += 1
        if tokens.kind(end) is not TokenType.DOT:
            return end
        end += 1
    return at


def _tables_of(sql: str, own: tuple[str, bool] | None) -> list[tuple[str, str, str]]:
    """Return the tables beside its own that a statement reads, which makes or changes one; an InputError if it is not understood."""
    try:
        tree = parse_one(sql, dialect="duckdb")
    except SqlglotError as error:
        raise InputError("what the statement reads cannot be told") from error
    common = {each.alias_or_name.casefold() for each in tree.find_all(exp.CTE)}
    mine = _plain_name(TABLE, own[0]) if own is not None else ""
    found = {(x.catalog, x.db, x.name) for x in tree.find_all(exp.Table) if x.name and x.name.casefold() not in common}
    return sorted(x for x in found if _plain_name(TABLE, ".".join(_quoted(part) for part in x if part)) != mine)


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
