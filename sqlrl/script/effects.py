"""What the statements of a script make and change, by the kinds that DuckDB's own parser gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from sqlrl.script.source import CLOSING, OPENING, QUOTED, Tokens
from sqlrl.script.statements import (
    AddRule,
    CreateModel,
    CreatePredicate,
    DropModel,
    ExportModel,
    Plain,
    SetScope,
    Statement,
    calls_between,
)

MODEL, PREDICATE, TABLE, FILE, VARIABLE = "model", "predicate", "table", "file", "variable"
VIEW, MACRO, INDEX, SEQUENCE, TYPE, SCHEMA = "view", "macro", "index", "sequence", "type", "schema"
DEFINED = (VIEW, MACRO, INDEX, SEQUENCE, TYPE, SCHEMA)
"""Kinds of what is defined by a text alone, whatever the tables hold."""
UNKNOWN = "statement"
"""Stands for the kind of what a statement changes where that cannot be told."""

FUNCTION = "sqlrl function"
"""Stands for the table of a function of ours where a statement is only parsed."""

Thing = tuple[str, str]
"""What a statement makes or changes: one of the kinds above, and its name as `PlainNames.plain` has it."""

KindOf = Callable[[str], str]
"""Returns the kind that DuckDB's parser gives a statement, "" of a text that it cannot read."""
VerbOf = Callable[[str], str]
"""Returns by which verb a query changes something, "" of one that only asks."""


class How(Enum):
    """How a statement changes a thing."""

    MAKES = "makes"  # anew, and only if there is none
    REPLACES = "replaces"  # whatever is there, as CREATE OR REPLACE does
    KEEPS = "keeps"  # what is there, and does no more if it runs twice, as CREATE ... IF NOT EXISTS
    ADDS = "adds"  # to what is there, and does more if it runs twice, as INSERT
    PASSES = "passes"  # is gone when the database is closed, as a temporary table


@dataclass(frozen=True)
class Effect:
    """What a statement makes or changes."""

    thing: Thing | None  # None if that is unknown, or more than one thing
    shown: Thing  # with its name as it was written
    how: How

    @property
    def follows(self) -> bool:
        """Whether what it leaves follows from what was there."""
        return self.how in (How.KEEPS, How.ADDS)


_Found = tuple[str, str, How]
"""The kind and the name of what a statement makes or changes, as it was written, and how."""


@dataclass(frozen=True)
class PlainNames:
    """How names are written so that all ways to write one are one: `place` is the schema that plain names are in, () by default."""

    home: tuple[str, str]  # the catalog and schema of plain names where no statement has said another
    place: tuple[str, ...] = ()

    def plain(self, kind: str, name: str) -> str:
        """Return the name of a thing."""
        if kind in (PREDICATE, FILE):
            return name
        if kind in (MODEL, VARIABLE):
            return name.casefold()
        try:
            parts = [part.name for part in exp.to_table(name, dialect="duckdb").parts]
        except SqlglotError:
            return name.casefold()
        if len(parts) == 1 and kind != SCHEMA:
            parts = [*self.place, *parts]
        return ".".join(map(quoted, self._short(parts))).casefold()

    def moved(self, tokens: Tokens) -> PlainNames:
        """Return how names are written behind a statement, which may say where plain ones are."""
        if tokens.word(0) == "USE":
            parts = [token.text for token in tokens.tokens[1:] if token.token_type is not TokenType.DOT]
        elif tokens.words("SET", "SCHEMA") and tokens.kind(len(tokens.tokens) - 1) in QUOTED:
            parts = tokens.tokens[-1].text.split(".")
        else:
            return self
        short = self._short([*parts, ""])[:-1]
        return PlainNames(self.home, tuple(part for part in short if part.casefold() != self.home[0].casefold()))

    def _short(self, parts: list[str]) -> list[str]:
        """Leave out the catalog and schema that plain names are in by default."""
        if len(parts) == 3 and parts[0].casefold() == self.home[0].casefold():
            parts = parts[1:]
        return parts[1:] if len(parts) == 2 and parts[0].casefold() == self.home[1].casefold() else parts


def quoted(part: str) -> str:
    """Return a name in quotes."""
    return exp.to_identifier(part, quoted=True).sql("duckdb")


def skeleton(tokens: Tokens, first: int = 0, last: int | None = None) -> str:
    """Return a statement with a name in place of each function of ours, for DuckDB's parser alone."""
    end = len(tokens.tokens) if last is None else last
    parts, at = list[str](), first
    for call in calls_between(tokens, first, end):
        parts += [tokens.slice(at, call.first), f" {quoted(FUNCTION)} "]
        at = call.last
    return "".join([*parts, tokens.slice(at, end)])


@dataclass(frozen=True)
class EffectReader:
    """Reads what statements change; `prepared` is what those of PREPARE change, by name."""

    kind_of: KindOf
    verb_of: VerbOf
    prepared: dict[str, _Found | None]

    def effect(self, tokens: Tokens, statement: Statement, names: PlainNames) -> Effect | None:
        """Return what a statement makes or changes; None of one that only asks, or is of the session alone, as SET and ATTACH are."""
        found = self._found(tokens, statement)
        if found is None:
            return None
        kind, name, how = found
        return Effect(None if kind == UNKNOWN else (kind, names.plain(kind, name)), (kind, name), how)

    def _found(self, tokens: Tokens, statement: Statement) -> _Found | None:
        match statement:
            case CreateModel():
                return MODEL, statement.name.text, _making(replaces=statement.replace, unless=statement.unless)
            case AddRule() | DropModel():
                return MODEL, statement.name.text, How.ADDS
            case CreatePredicate():
                appends = any(each.name.text.casefold() == "append" for each in statement.settings)
                making = _making(replaces=statement.replace, unless=statement.unless)
                return PREDICATE, statement.name.text, How.ADDS if appends else making
            case SetScope():
                return PREDICATE, statement.name.text, How.KEEPS
            case ExportModel():
                return FILE, statement.file.text, How.REPLACES
            case Plain():
                return self._plain(tokens, 0)
            case _:
                return None

    def _plain(self, tokens: Tokens, first: int) -> _Found | None:
        """Return what a statement of DuckDB's that begins at a token makes or changes."""
        text, at = skeleton(tokens, first), verb_at(tokens, first)
        kind, word = self.kind_of(text), tokens.word(at)
        unknown = (UNKNOWN, word or tokens.word(first), How.ADDS)
        if kind == "MULTI":
            # What PIVOT stands in, which is run as several statements.
            kind = _KINDS.get(word, "SELECT")
        match kind:
            case "SELECT":
                return unknown if self.verb_of(text) else None
            case "INSERT" | "UPDATE" | "DELETE" | "MERGE_INTO":
                # A common table before the verb may change another table.
                inner = any(tokens.word(i) in _VERBS for i in range(first, at))
                name = None if inner else _behind(tokens, at, _WRITING)
                return unknown if name is None else (TABLE, name, How.ADDS)
            case "CREATE" | "CREATE_FUNC":
                return _created(tokens, at, unknown)
            case "DROP":
                return _dropped(tokens, at, unknown)
            case "ALTER":
                return _altered(tokens, at, unknown)
            case "COPY":
                return _copied(tokens, at, unknown)
            case "PREPARE":
                body = next((i for i in range(at, len(tokens.tokens)) if tokens.word(i) == "AS"), at) + 1
                self.prepared[_prepared_name(tokens, at)] = self._plain(tokens, body)
                return None
            case "EXECUTE":
                return self.prepared.get(_prepared_name(tokens, at), unknown)
            case "EXPLAIN":
                # EXPLAIN ANALYZE and EXPLAIN (ANALYZE, ...) run a statement.
                end = tokens.closing(first + 1) if tokens.kind(first + 1) is TokenType.L_PAREN else first + 1
                runs = any(tokens.word(i) in ("ANALYZE", "ANALYSE") for i in range(first, end + 1))
                return unknown if runs and self._plain(tokens, end + 1) is not None else None
            case "SET":
                return _variable(tokens, at)
            case "PRAGMA":
                # IMPORT DATABASE is one by the parser.
                return None if tokens.word(first) == "PRAGMA" else unknown
            case "CALL":
                return None if tokens.word(first) in ("CHECKPOINT", "FORCE") else unknown
            case "EXPORT":
                return UNKNOWN, "EXPORT DATABASE", How.REPLACES
            case _:
                return None if kind in _OF_SESSION else unknown


def _making(*, replaces: bool, unless: bool) -> How:
    return How.REPLACES if replaces else How.KEEPS if unless else How.MAKES


_KINDS = {
    "INSERT": "INSERT", "UPDATE": "UPDATE", "DELETE": "DELETE", "MERGE": "MERGE_INTO", "CREATE": "CREATE", "COPY": "COPY",
}  # fmt: skip
"""Kinds of statements by their first word, for those that DuckDB runs as several."""

_OF_SESSION = frozenset({"", "ATTACH", "DETACH", "LOAD", "TRANSACTION", "VACUUM", "RELATION"})
"""Kinds of statements that change no data: what they do is of the session, or may be done at any time; "" is one that DuckDB will refuse."""

_BEFORE_KINDS = ("TEMP", "TEMPORARY", "PERSISTENT", "RECURSIVE", "UNIQUE", "LOCAL", "GLOBAL")

_CREATED: Mapping[str, str] = {
    "TABLE": TABLE, "VIEW": VIEW, "MACRO": MACRO, "FUNCTION": MACRO, "INDEX": INDEX, "SEQUENCE": SEQUENCE, "TYPE": TYPE, "SCHEMA": SCHEMA,
}  # fmt: skip

_WRITING = (
    ("INSERT", "OR", "REPLACE", "INTO"), ("INSERT", "OR", "IGNORE", "INTO"), ("INSERT", "INTO"), ("UPDATE",), ("DELETE", "FROM"),
    ("TRUNCATE", "TABLE"), ("TRUNCATE",), ("MERGE", "INTO"),
)  # fmt: skip
"""What stands before the name of a table whose rows change."""

_VERBS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE"})


def verb_at(tokens: Tokens, first: int = 0) -> int:
    """Return where the verb of a statement stands, behind the common tables of a WITH."""
    if tokens.word(first) != "WITH":
        return first
    depth = 0
    for i in range(first, len(tokens.tokens)):
        depth += (tokens.kind(i) in OPENING) - (tokens.kind(i) in CLOSING)
        if depth == 0 and tokens.word(i) in {*_VERBS, "SELECT", "FROM"}:
            return i
    return first


def _behind(tokens: Tokens, at: int, beginnings: tuple[tuple[str, ...], ...]) -> str | None:
    """Return the name behind the first beginning that stands at a token."""
    for words in beginnings:
        if tokens.words(*words, at=at):
            return _name_at(tokens, at + len(words))
    return None


def _name_at(tokens: Tokens, at: int) -> str | None:
    """Return the name, perhaps with dots in it, that begins at a token; None if none does."""
    end = _name_end(tokens, at)
    return tokens.slice(at, end) if end > at else None


def _name_end(tokens: Tokens, at: int) -> int:
    """Return where a name, perhaps with dots in it, has ended that begins at a token."""
    end = at
    while tokens.word(end) or tokens.kind(end) is TokenType.IDENTIFIER:
        end += 1
        if tokens.kind(end) is not TokenType.DOT:
            return end
        end += 1
    return at


def _created(tokens: Tokens, at: int, unknown: _Found) -> _Found | None:
    replaces = tokens.words("OR", "REPLACE", at=at + 1)
    at += 3 if replaces else 1
    passes = False
    while tokens.word(at) in _BEFORE_KINDS:
        passes |= tokens.word(at) in ("TEMP", "TEMPORARY")
        at += 1
    kind = _CREATED.get(tokens.word(at))
    if kind is None:
        # A secret is of the session, unless DuckDB keeps it, and then it says that it is there.
        return None if tokens.word(at) == "SECRET" else unknown
    unless = tokens.words("IF", "NOT", "EXISTS", at=at + 1)
    name = _name_at(tokens, at + (4 if unless else 1))
    if name is None:
        return unknown
    return kind, name, How.PASSES if passes else _making(replaces=replaces, unless=unless)


def _dropped(tokens: Tokens, at: int, unknown: _Found) -> _Found | None:
    if tokens.word(at) != "DROP":  # DEALLOCATE
        return None
    at += 1
    while tokens.word(at) in _BEFORE_KINDS:
        at += 1
    kind, exists = _CREATED.get(tokens.word(at)), tokens.words("IF", "EXISTS", at=at + 1)
    name = _name_at(tokens, at + (3 if exists else 1))
    cascades = any(tokens.word(i) == "CASCADE" for i in range(at, len(tokens.tokens)))
    if kind is None or name is None or cascades:
        return unknown
    return kind, name, How.KEEPS if exists else How.ADDS


def _altered(tokens: Tokens, at: int, unknown: _Found) -> _Found | None:
    if tokens.word(at) == "COMMENT":
        return None
    name = _behind(tokens, at, (("ALTER", "TABLE", "IF", "EXISTS"), ("ALTER", "TABLE")))
    renames = any(tokens.words("RENAME", "TO", at=i) for i in range(at, len(tokens.tokens)))
    return unknown if name is None or renames else (TABLE, name, How.ADDS)


def _copied(tokens: Tokens, at: int, unknown: _Found) -> _Found:
    """Return what COPY changes: a table that it fills, or the file that it writes."""
    end = tokens.closing(at + 1) + 1 if tokens.kind(at + 1) is TokenType.L_PAREN else _name_end(tokens, at + 1)
    if tokens.kind(end) is TokenType.L_PAREN:
        end = tokens.closing(end) + 1
    if tokens.word(end) == "FROM":
        name = _name_at(tokens, at + 1)
        return unknown if name is None else (TABLE, name, How.ADDS)
    if tokens.word(end) == "TO" and tokens.kind(end + 1) in QUOTED:
        return FILE, tokens.tokens[end + 1].text, How.REPLACES
    return UNKNOWN, "COPY", How.REPLACES


def _prepared_name(tokens: Tokens, at: int) -> str:
    return tokens.tokens[at + 1].text.casefold() if at + 1 < len(tokens.tokens) else ""


def _variable(tokens: Tokens, at: int) -> _Found | None:
    """Return the variable that SET VARIABLE sets to what it reads from tables."""
    if not tokens.words("SET", "VARIABLE", at=at):
        return None
    asks = any(tokens.word(i) in ("SELECT", "FROM") for i in range(at + 2, len(tokens.tokens)))
    return (VARIABLE, tokens.tokens[at + 2].text, How.REPLACES) if asks else None
