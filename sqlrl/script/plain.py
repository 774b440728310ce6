"""Statements of DuckDB's: their text with tables in place of our functions, and where an error of it stands in the script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import TokenType

from sqlrl.errors import EngineError, ScriptError, marked
from sqlrl.script.settings import Context, brief, plain_case
from sqlrl.script.source import CLOSING, OPENING, ScriptText, Tokens
from sqlrl.script.statements import Call, QueryText, calls_between, variables_between

_LINE = re.compile(r"\n\nLINE (\d+): (.*)\n( *)\^")
_LINE_END = re.compile(r"\r\n|\r|\n")
_JOINER = "\u200d"
_SKINS = frozenset(map(chr, range(0x1F3FB, 0x1F400)))
"""Colours of the picture before them."""
_UNSEEN = re.compile(r'Referenced table "[^"]*" not found|FROM clause is missing')
_REFUSED = ("VIEW", "MACRO", "FUNCTION")
_LEFT_OUT = "..."
"""Stands for what DuckDB does not show of a long line."""

Found: TypeAlias = tuple[pa.Table | int | None, bool]
"""The rows of a statement, how many it wrote, or None; and whether there are more rows."""

Keep = Callable[[Callable[[], Found]], Found]
"""Runs a statement together with what is noted of it."""

Answer = Callable[[Call, bool], pa.Table]
"""Returns the rows of a function; those of none if only its columns are asked for."""


@dataclass(frozen=True)
class Piece:
    """A part of a text that is run: where it begins there and in the script, and whether it stands there as it is."""

    start: int
    origin: int
    same: bool


@dataclass(frozen=True)
class Edited:
    """A text to run, made of parts of a script; `functions` are what stood in place of tables, by their names."""

    text: str
    pieces: tuple[Piece, ...]
    functions: Mapping[str, str] = field(default_factory=dict)

    def origin(self, offset: int) -> int:
        """Return where a character comes from."""
        piece = next(each for each in reversed(self.pieces) if each.start <= offset)
        return piece.origin + (offset - piece.start if piece.same else 0)


class _Editor:
    """Puts a text together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._pieces: list[Piece] = []
        self._length = 0
        self.functions: dict[str, str] = {}

    def add(self, text: str, origin: int, *, same: bool) -> None:
        if text:
            self._pieces.append(Piece(self._length, origin, same))
            self._parts.append(text)
            self._length += len(text)

    def done(self) -> Edited:
        return Edited("".join(self._parts), tuple(self._pieces), self.functions)


@dataclass(frozen=True, eq=False)
class Runner:
    """Runs statements of DuckDB's; `answer` computes the functions of ours in them."""

    context: Context
    answer: Answer

    def run(self, tokens: Tokens, keep: Keep, *, most: int | None = None) -> Found:
        """Run a statement; return its rows, or how many it wrote, and whether there are more rows than `most`. `keep` is what it runs in."""
        _check(tokens)
        last = len(tokens.tokens)
        with self.edited(tokens, 0, last, columns_alone=_is_planned(tokens)) as edited:
            return self._run(edited, self.parameters(tokens, 0, last), most, keep)

    def rows(self, tokens: Tokens, query: QueryText) -> pa.Table:
        """Return the rows of a query in brackets, which sees the common tables of its statement that stand before it."""
        refused = self.context.source.error("a query stands in these brackets, which returns rows", query.at)
        # It is asked before anything is computed; a text with functions of ours can be read only with tables in their place.
        self._check_asks(query.text, query)
        with self.edited(tokens, query.first, query.last, common=True) as edited:
            self._check_asks(edited.text, query)
            parameters = self.parameters(tokens, query.first, query.last)
            for group in common_tables(tokens, query.first):
                for first, last in group.tables:
                    parameters |= self.parameters(tokens, first, last)
            try:
                found, _ = self._run(edited, parameters, None)
            except ScriptError as error:
                if not _UNSEEN.search(error.problem):
                    raise
                alone = "the query in brackets is run once, before its statement, and sees no table of it: join behind the function, or CREATE TABLE ... AS first"
                at = self.context.source.offset(error.line, error.column)
                raise self.context.source.error(f"{marked(error.problem)}\n{alone}", at) from error
        if not isinstance(found, pa.Table):
            raise refused
        return found

    def _check_asks(self, sql: str, query: QueryText) -> None:
        """Refuse a query, with the common tables that it sees, which changes something."""
        verb = self.context.db.advanced.engine.changing_part(sql)
        if verb:
            raise self.context.source.error(
                f"a query stands in these brackets, which returns rows and changes nothing, and {verb} is none: run that as a statement before this one",
                query.at,
            )

    def stored(self, tokens: Tokens, query: QueryText) -> Any:
        """Return a query as `load` takes it: its text, which can be read again, or the rows if the text alone does not say which."""
        calls = calls_between(tokens, query.first, query.last)
        if calls or variables_between(tokens, query.first, query.last):
            return self.rows(tokens, query)
        # A query that DuckDB refuses is refused here, at its place.
        edited = Edited(
            "EXPLAIN " + query.text, (Piece(0, query.at, same=False), Piece(len("EXPLAIN "), query.at, same=True))
        )
        self._run(edited, {}, 1)
        return query.text

    def parameters(self, tokens: Tokens, first: int, last: int) -> dict[str, Any]:
        """Return the values of the variables in some tokens, but for those inside functions of ours; EXECUTE gives those of a prepared statement."""
        if tokens.word(0) == "PREPARE":
            return {}
        asked = variables_between(tokens, first, last, calls_between(tokens, first, last))
        # $Size and $size are one name to DuckDB.
        return {plain_case(name): self.context.variable(name, at) for name, at in asked.items()}

    @contextmanager
    def edited(
        self, tokens: Tokens, first: int, last: int, *, common: bool = False, columns_alone: bool = False
    ) -> Iterator[Edited]:
        """Show tokens with a table in place of each function while the context is open, which it fills."""
        editor = _Editor()
        with ExitStack() as stack:
            engine = self.context.db.advanced.engine

            def add(start: int, end: int) -> None:
                at, text = start, tokens.source.text
                for call in calls_between(tokens, start, end):
                    begin = tokens.tokens[call.first].start
                    editor.add(_between(tokens, at, call.first), tokens.tokens[at].start, same=True)
                    table = stack.enter_context(engine.attached(self.answer(call, columns_alone)))
                    name = table.sql("duckdb")
                    editor.functions[table.name] = f"ML.{call.name}(...)"
                    span = text[begin : tokens.tokens[call.last - 1].end + 1]
                    # As many lines as before, and as many columns where there is room.
                    lines = "\n" * span.count("\n")
                    editor.add(name + (lines or " " * (len(span) - len(name))), begin, same=False)
                    at = call.last
                    if at < end:
                        after = tokens.tokens[call.last - 1].end + 1
                        editor.add(text[after : tokens.tokens[at].start], after, same=True)
                if at < end:
                    editor.add(tokens.slice(at, end), tokens.tokens[at].start, same=True)

            groups = common_tables(tokens, first) if common else []
            for group in groups:
                origin = tokens.tokens[group.tables[0][0]].start
                editor.add("WITH RECURSIVE " if group.recursive else "WITH ", origin, same=False)
                for i, (begin, end) in enumerate(group.tables):
                    editor.add(", " if i else "", origin, same=False)
                    add(begin, end)
                editor.add(" SELECT * FROM (", tokens.tokens[first].start, same=False)
            add(first, last)
            editor.add(")" * len(groups), tokens.tokens[last - 1].end, same=False)
            yield editor.done()

    def _run(
        self, edited: Edited, parameters: dict[str, Any], most: int | None, keep: Keep = lambda run: run()
    ) -> Found:
        db = self.context.db
        try:
            with db.advanced.engine.turn:
                db.advanced.catalog.store.forget()
                return keep(lambda: db.advanced.engine.statement(edited.text, parameters, most=most))
        except EngineError as error:
            raise placed(self.context.source, error, edited) from error


def placed(source: ScriptText, error: EngineError, edited: Edited) -> ScriptError:
    """Return a failure of DuckDB's with the place in the script: its own message, our line and column."""
    problem = marked(brief(error))
    for name, function in edited.functions.items():
        problem = re.sub(rf'"?\b{name}\b"?', function, problem)
    return source.error(problem, edited.origin(place_of(error.reason, edited.text) or 0))


def place_of(reason: str, sql: str) -> int | None:
    """Return the character of a statement to which a message of DuckDB's points; None if it points to none."""
    found = _LINE.search(reason)
    if found is None:
        return None
    starts = [0, *(end.end() for end in _LINE_END.finditer(sql))]
    number, shown = int(found[1]), found[2]
    if number > len(starts):
        return None
    start = starts[number - 1]
    line = _LINE_END.split(sql[start:], maxsplit=1)[0]
    place = _at_width(shown, len(found[3]) - len(f"LINE {number}: "))
    if shown.startswith(_LEFT_OUT):
        core = shown[len(_LEFT_OUT) :].removesuffix(_LEFT_OUT)
        place += line.find(core) - len(_LEFT_OUT)
    return start + min(max(place, 0), len(line))


def _at_width(text: str, width: int) -> int:
    """Return the character of a line under which DuckDB puts a caret: it counts how wide characters are on a screen, tabs as nothing."""
    before = 0
    for i in range(len(text)):
        wide = _char_width(text, i)
        # The caret is under what can be seen.
        if before >= width and wide:
            return i
        before += wide
    return len(text)


def _char_width(text: str, at: int) -> int:
    """Return how wide a character of a text is on a screen; of those that are joined to one picture only the first has a width."""
    char = text[at]
    joined = at > 0 and (text[at - 1] == _JOINER or char in _SKINS)
    if (
        joined
        or unicodedata.category(char) in ("Cc", "Mn", "Me")
        or (unicodedata.category(char) == "Cf" and char != "\xad")
    ):
        return 0
    return 1 + (unicodedata.east_asian_width(char) in "WF")


def _check(tokens: Tokens) -> None:
    """Refuse functions of ours where they would be evaluated later."""
    calls = calls_between(tokens, 0, len(tokens.tokens))
    if not calls:
        return
    at = tokens.tokens[calls[0].first].start
    kind = _created(tokens)
    if kind in _REFUSED:
        raise tokens.source.error(
            f"a {kind.lower()} cannot have ML functions, which are computed once: keep the rows with CREATE TABLE ... AS SELECT ...",
            at,
        )
    if tokens.word(0) == "PREPARE":
        raise tokens.source.error(
            "a prepared statement cannot have ML functions, which are computed once: run it as it is", at
        )


def _created(tokens: Tokens) -> str:
    """Return what kind of thing a statement creates, "" if none."""
    if tokens.word(0) != "CREATE":
        return ""
    at = 1
    while tokens.word(at) in ("OR", "REPLACE", "TEMP", "TEMPORARY", "PERSISTENT", "RECURSIVE"):
        at += 1
    return tokens.word(at)


def _is_planned(tokens: Tokens) -> bool:
    """Whether a statement is planned and not run."""
    if tokens.word(0) != "EXPLAIN":
        return tokens.word(0) in ("DESCRIBE", "DESC")
    options = range(1, tokens.closing(1) + 1 if tokens.kind(1) is TokenType.L_PAREN else 2)
    return not any(tokens.word(i) in ("ANALYZE", "ANALYSE") for i in options)


@dataclass(frozen=True)
class CommonTables:
    """Common tables of one WITH: from which to which token each stands."""

    tables: tuple[tuple[int, int], ...]
    recursive: bool


def common_tables(tokens: Tokens, before: int) -> list[CommonTables]:
    """Return the common tables that a query beginning at a token sees, of each WITH around it, from outside to inside."""
    depth, withs = 0, list[tuple[int, int]]()
    for i in range(before):
        kind = tokens.kind(i)
        if kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            depth -= 1
            withs = [each for each in withs if each[0] <= depth]
        elif kind is TokenType.WITH:
            withs.append((depth, i))
    groups: list[CommonTables] = []
    for _, start in withs:
        found, at = list[tuple[int, int]](), start + 1
        recursive = tokens.word(at) == "RECURSIVE"
        at += recursive
        while at < before:
            end = _common_table(tokens, at)
            if end is None or end > before:
                break
            found.append((at, end))
            if tokens.kind(end) is not TokenType.COMMA:
                break
            at = end + 1
        if found:
            groups.append(CommonTables(tuple(found), recursive))
    return groups


def _common_table(tokens: Tokens, at: int) -> int | None:
    """Return behind which token `name [(columns)] [USING KEY (...)] AS [[NOT] MATERIALIZED] (...)` ends; None if that does not stand there."""
    at += 1
    if tokens.kind(at) is TokenType.L_PAREN:
        at = tokens.closing(at) + 1
    if tokens.words("USING", "KEY", at=at) and tokens.kind(at + 2) is TokenType.L_PAREN:
        at = tokens.closing(at + 2) + 1
    if tokens.word(at) != "AS":
        return None
    at += 1
    while tokens.word(at) in ("NOT", "MATERIALIZED"):
        at += 1
    return tokens.closing(at) + 1 if tokens.kind(at) is TokenType.L_PAREN else None


def has_order(query: str) -> bool:
    """Whether a query itself has an ORDER BY, not only one inside of it."""
    depth = 0
    for tokens in ScriptText(query).statements():
        for i, token in enumerate(tokens.tokens):
            depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
            if depth == 0 and token.token_type is TokenType.ORDER_BY:
                return True
            if depth == 0 and tokens.words("ORDER", "BY", at=i):
                return True
    return False


def _between(tokens: Tokens, first: int, last: int) -> str:
    """Return what was written from one token up to where another begins."""
    return tokens.source.text[tokens.tokens[first].start : tokens.tokens[last].start]
