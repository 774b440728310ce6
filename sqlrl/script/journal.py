"""What scripts have finished, so that one that was stopped goes on: decided by the rows of `sqlrl.script_log`.

A statement that changes something is one transaction with its row where DuckDB allows that, so that it has run if and only if the row is there.
Where it does not, as in another database, a row that says that it has begun stands before it, and a resumed script refuses to run it again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlrl.errors import ScriptError, SqlrlError
from sqlrl.paths import is_file
from sqlrl.script import script_log
from sqlrl.script.effects import (
    DEFINED,
    FILE,
    MODEL,
    PREDICATE,
    TABLE,
    UNKNOWN,
    VARIABLE,
    Effect,
    EffectReader,
    How,
    PlainNames,
    Thing,
)
from sqlrl.script.inputs import Inputs, asked_variables
from sqlrl.script.script_log import Row
from sqlrl.script.settings import Context
from sqlrl.script.source import Tokens
from sqlrl.script.statements import Plain, Statement, variables_between
from sqlrl.script.states import States

_NONE = "none"
"""A state that nothing has."""


@dataclass(frozen=True)
class Entry:
    """A statement that changes something."""

    effect: Effect
    row: Row  # that says that it has begun
    ahead: tuple[str, ...]  # what it reads or changes that later statements of the script have changed already
    passes: bool  # whether what it changes is gone when the database is closed, so that it always runs


@dataclass
class Note:
    """What is noted of a statement at work."""

    result: str = ""  # what it prints
    together: Callable[[], AbstractContextManager[None]] = nullcontext  # the transaction that it shares with its row
    written: bool = False


class Journal:
    """Notes which statements have finished, and with `resume` tells it."""

    def __init__(self, context: Context, resume: bool, script: Sequence[tuple[Tokens, Statement]] = ()) -> None:
        self.context, self.resume = context, resume
        self.engine = engine = context.db.advanced.engine
        self._store = context.db.advanced.catalog.store
        # Only what a later process finds again is noted: nothing of a database in memory, or that can only be read.
        self.active = engine.writable and engine.path != ":memory:"
        self._script = script
        self._place = -1
        path = context.source.path
        self._path = str(Path(path).resolve()) if is_file(path) else path
        self._states = States(context)
        # By the place of a statement in the script, that which it did in an earlier run, if later ones led from there to what is there now.
        self._done: dict[int, Row] = {}
        # Where later statements have changed a thing already: what it was at this place of the script.
        self._past: script_log.States = {}
        # What a statement of this resumed run has made anew, whether one has left another state than before, and what the last one had left.
        self._fresh: set[Thing] = set()
        self._moved = False
        self._was: Row | None = None
        # Where a transaction is of another database: rows that say which statements have begun, and those that take their place when it is done.
        self._begun: list[Row] = []
        self._finished: list[Row] = []
        if self.active:
            self._read_script()
            self._read_log()

    def _read_script(self) -> None:
        """Read what each statement changes, and how plain names are written there."""
        [place] = self.engine.fetch_rows(
            "SELECT current_database(), current_schema()", step="look where plain names are"
        )[1]
        home = self.engine.place
        catalog, schema = place
        names = PlainNames(home, () if place == home else (schema,) if catalog == home[0] else (catalog, schema))
        reader = EffectReader(self.engine.statement_kind, self.engine.changing_part, {})
        self._names: list[PlainNames] = []
        self._effects: list[Effect | None] = []
        self._copies: list[int] = []
        # Texts of the statements before each one that say what plain names, operators and prepared statements mean to it.
        self._sessions: list[str] = []
        said: list[tuple[str, str]] = []
        begun: int | None = None
        seen = Counter[str]()
        for i, (tokens, statement) in enumerate(self._script):
            self._names.append(names)
            asked = [text for word, text in said if word not in _PREPARING or tokens.word(0) == "EXECUTE"]
            self._sessions.append(hashlib.sha256("\0".join(asked).encode()).hexdigest()[:16] if asked else "")
            if isinstance(statement, Plain) and _says_what_follows_means(tokens):
                said.append((tokens.word(0), tokens.text))
            try:
                self._effects.append(reader.effect(tokens, statement, names))
            except ScriptError:
                # It says so itself when it runs.
                self._effects.append(None)
            if not isinstance(statement, Plain):
                pass
            elif tokens.word(0) in ("BEGIN", "START"):
                begun = i
            elif tokens.word(0) in ("COMMIT", "END"):
                begun = None
            elif tokens.word(0) in ("ROLLBACK", "ABORT") and begun is not None:
                # What is rolled back runs again, as nothing is left of it.
                self._effects[begun:] = [None] * (i + 1 - begun)
            names = names.moved(tokens)
            self._copies.append(seen[tokens.text])
            seen[tokens.text] += 1
        self._tracked = self._read_tables()

    def _read_tables(self) -> set[Thing]:
        """Return the tables with whose states changes are noted: those that the script makes, and those that it changes and names elsewhere.

        Others may be large, and each state reads a table.
        """
        found = set[Thing]()
        words = [{token.text.casefold() for token in tokens.tokens} for tokens, _ in self._script]
        for effect, (tokens, _) in zip(self._effects, self._script, strict=True):
            thing = None if effect is None else effect.thing
            if thing is None or thing[0] != TABLE:
                continue
            name = thing[1].rpartition(".")[2].strip('"')
            elsewhere = any(
                name in words[i] for i, other in enumerate(self._effects) if other is None or other.thing != thing
            )
            if elsewhere or tokens.word(0) == "CREATE":
                found.add(thing)
        return found - {effect.thing for effect in self._effects if effect is not None and effect.how is How.PASSES}

    def _read_log(self) -> None:
        """Read what earlier runs did, and find out which of them this one goes on with."""
        whole = "\0".join(tokens.text for tokens, _ in self._script)
        self._mark = hashlib.sha256(whole.encode()).hexdigest()[:16]
        # The same file has many names, and the same text may stand in several files.
        rows = script_log.read(self._store, {self._path, self.context.source.path}, self._mark)
        self._number = max([row.number for row in rows], default=-1)
        same = [row for row in rows if row.script == self._mark]
        texts = {tokens.text for tokens, _ in self._script}
        near = same or [row for row in rows if row.text in texts]
        self._run = near[-1].run if near and self.resume else secrets.token_hex(6)
        # Another text of the script may go on with any of them.
        self._certain = bool(same)
        # By the name of a thing the last row of a statement that has made it, whatever was there.
        self._made = {thing: row.number for row in rows if row.makes for thing in row.changed}
        self._rows: dict[str, list[Row]] = {}
        for row in rows:
            self._rows.setdefault(row.text, []).append(row)
        if self.resume:
            self._look_back()

    # ---- statements ------------------------------------------------------------------------------------

    def entry(self, tokens: Tokens, statement: Statement) -> Entry | None:
        """Return what is noted of the next statement; None of one that changes nothing."""
        self._place += 1
        effect = self._effects[self._place] if self.active else None
        passes = effect is not None and self._passes(effect)
        if effect is None or (passes and not self.resume):
            return None
        last = len(tokens.tokens)
        variables = {name: self.context.variable(name, at) for name, at in variables_between(tokens, 0, last).items()}
        variables |= {
            name: self.context.variable(name, at, missing=None) for name, at in asked_variables(tokens).items()
        }
        before = self._seen(effect)
        reading = Inputs(self.context, self._states, self._names[self._place], self._then, self._past)
        inputs = reading.fingerprint(tokens, statement, variables, effect, own=effect.thing in before)
        read = reading.read if inputs is not None else self._may_be_read()
        # What replaces a thing may run whatever that is now.
        if effect.thing is not None and (effect.follows or effect.thing in reading.read):
            read = {*read, effect.thing}
        else:
            read = read - {effect.thing}
        ahead = tuple(" ".join(thing) for thing in sorted(read) if self._is_ahead(thing))
        self._number += 1
        row = Row(
            self._path, self.context.source.place(tokens.start)[0], *effect.shown, tokens.text,
            json.dumps(variables, default=str, sort_keys=True), inputs, before, run=self._run, script=self._mark, number=self._number,
            place=self._copies[self._place], makes=not effect.follows and effect.thing is not None,
            session=self._sessions[self._place],
        )  # fmt: skip
        return Entry(effect, row, ahead, passes)

    def _may_be_read(self) -> set[Thing]:
        """Return what a statement may have read, of which that cannot be told: all but what later ones make, whatever is there."""
        following = [row for i, row in sorted(self._done.items()) if i > self._place]
        first = {thing: row for row in reversed(following) for thing in row.changed}
        return {thing for thing in self._past if thing not in first or not first[thing].makes}

    def printed(self, tokens: Tokens, entry: Entry | None) -> str | None:
        """Return what a statement has printed that has finished and is skipped, None of one that runs; refuse one that may do neither."""
        if entry is None or not self.resume:
            return None
        done = self._was = self._done.get(self._place)
        if done is not None and self._is_same(entry, done) and self._stands(done):
            self._past |= done.changed
            return done.result
        self._forget_later()
        if entry.ahead:
            raise self._refused(
                f"this statement has to run again, and later ones have changed the {entry.ahead[0]} already, which it reads or changes",
                tokens,
            )
        if entry.effect.how is How.ADDS and entry.effect.thing not in self._fresh and self._left(self._place):
            self._check_stopped()
            what = "what it changes" if entry.effect.thing is None else f"the {' '.join(entry.effect.shown)}"
            raise self._refused(
                f"this statement has run before, and {what} is not as it was before that: run again, it would do twice what it does",
                tokens,
            )
        return None

    def _is_same(self, entry: Entry, done: Row) -> bool:
        """Whether a statement reads what it read; where that cannot be told, whether it need not or may not run again."""
        if entry.row.variables != done.variables or done.session not in (None, entry.row.session):
            return False
        if entry.row.inputs is not None or done.inputs is not None:
            return entry.row.inputs == done.inputs
        return not self._moved and (entry.effect.how is not How.REPLACES or bool(entry.ahead))

    def _stands(self, done: Row) -> bool:
        """Whether what a statement defined or wrote is there, which may go with a table that was made anew; variables get their values."""
        later = {thing for i, row in self._done.items() if i > self._place for thing in row.changed}
        for thing, state in (done.after or {}).items():
            if thing[0] in (*DEFINED, FILE) and thing not in later and self._states.of(thing) != state:
                return False
            if thing[0] == VARIABLE and (state is None or not self._states.restore(thing[1], state)):
                return False
        return True

    def _check_stopped(self) -> None:
        """Refuse to go on where this statement or a later one has begun, and may have finished."""
        for i in range(self._place, len(self._script)):
            if any(row.after is None for row in self._left(i)):
                raise self.context.source.error(
                    "this statement had begun when the script was stopped, and whether it finished cannot be told: look at what it changes, and leave it "
                    "out of the script if it has, or run it by itself first if it has not",
                    self._script[i][0].start,
                )

    def _left(self, place: int) -> list[Row]:
        """Return the rows of a statement of which something may be left: nothing is if its thing was made anew, or is as it was before."""
        effect = self._effects[place]
        made = -1 if effect is None or effect.thing is None else self._made.get(effect.thing, -1)
        return [
            row
            for row in self._rows_at(place)
            if not row.readable
            or (row.number >= made and not (row.before and all(self._states.of(x) == y for x, y in row.before.items())))
        ]

    def _refused(self, problem: str, tokens: Tokens) -> ScriptError:
        remedy = "run the script without resume on a new database, or with CREATE OR REPLACE where things are made"
        return self.context.source.error(f"{problem}: {remedy}", tokens.start)

    # ---- notes -----------------------------------------------------------------------------------------

    @contextmanager
    def noting(self, entry: Entry | None) -> Iterator[Note]:
        """Note a statement that runs in the context: with it in one transaction, or before and after it."""
        if entry is None or entry.passes:
            yield Note()
            return
        inside, home, start = self.engine.in_transaction(), self._is_home(entry.effect), time.perf_counter()
        joins = home and (inside or self._is_ready())
        begun = entry.effect.how is How.ADDS and not joins
        if begun:
            script_log.put_beside(self._store, entry.row)
            self._begun.append(entry.row)

        def write() -> None:
            row = self._settled(entry, note.result, time.perf_counter() - start)
            note.written = True
            if joins:
                script_log.put(self._store, row)
            else:
                self._finished.append(row)

        @contextmanager
        def together() -> Iterator[None]:
            with self.engine.transaction():
                yield
                write()

        note = Note(together=together if joins and not inside else nullcontext)
        yield note
        if not note.written:
            write()
        if not inside:
            self.committed()

    def committed(self) -> None:
        """Note that the statements which had begun are done, as their transaction is."""
        begun, finished = self._begun, self._finished
        self._begun, self._finished = [], []
        for row in finished:
            script_log.put(self._store, row)
        for row in begun:
            script_log.forget_begun(self._store, row)

    def rolled_back(self) -> None:
        """Forget the statements which had begun, as an error or ROLLBACK has ended their transaction."""
        self._finished = []
        self.committed()

    def _settled(self, entry: Entry, result: str, seconds: float) -> Row:
        """Return the row of a statement that has run, and take what it has changed as it is now."""
        thing, now, before, was = entry.effect.thing, self._seen(entry.effect), entry.row.before, self._was
        changed = {x: state for x, state in now.items() if x == thing or before.get(x) != state}
        # What was there and is not any more.
        changed |= {x: None for x, state in before.items() if x not in now and state is not None}
        for each in changed:
            if each == thing or each[0] == TABLE:
                self._past.pop(each, None)
        if thing is not None and not entry.effect.follows:
            self._fresh.add(thing)
        left = was is not None and all(now.get(x) == state for x, state in was.changed.items())
        # IF NOT EXISTS has left what was there.
        self._moved |= not (left or (thing in now and now == before))
        return replace(
            entry.row, before={x: before.get(x) for x in changed}, after=changed, result=result, seconds=seconds
        )

    def _is_ready(self) -> bool:
        """Whether sqlrl may begin a transaction, which it may not under some collations and macros."""
        try:
            self.engine.check_ready()
            with self.engine.without_macros():
                pass
        except SqlrlError:
            return False
        return True

    def _is_home(self, effect: Effect) -> bool:
        """Whether a statement changes nothing outside of the database that has the log."""
        return len(self.engine.databases()) == 1 or self._database(effect) == self.engine.home[0].casefold()

    def _passes(self, effect: Effect) -> bool:
        """Whether what a statement changes is gone when the database is closed: a temporary table, or one of a database in memory."""
        database = "temp" if effect.how is How.PASSES else self._database(effect)
        return database == "temp" or (database is not None and self.engine.databases().get(database, "") is None)

    def _database(self, effect: Effect) -> str | None:
        """Return the database that a statement writes to, in small letters; None if that cannot be told."""
        home = self.engine.home[0].casefold()
        if effect.shown[0] in (MODEL, PREDICATE):
            return home
        try:
            named = "" if effect.thing is None or effect.shown[0] in (FILE, VARIABLE) else effect.thing[1]
            parts = [part.name for part in exp.to_table(named, dialect="duckdb").parts] if named else []
        except SqlglotError:
            return None
        if len(parts) > 1:
            return parts[0] if parts[0] == "temp" or parts[0] in self.engine.databases() else home
        return None if not parts else "temp" if self._states.is_temporary(parts[0]) else home

    # ---- looking back ----------------------------------------------------------------------------------

    def _rows_at(self, place: int) -> list[Row]:
        """Return the rows of the statement at a place: of one that changes what is there those of this run of the script alone."""
        effect, text = self._effects[place], self._script[place][0].text
        rows = [row for row in self._rows.get(text, ()) if row.place in (None, self._copies[place])]
        if effect is None or not effect.follows or not self._certain:
            return rows
        return [row for row in rows if row.run == self._run or not row.readable]

    def look_again(self) -> None:
        """Look at what is there once more, when a statement has attached a database in which later ones have changed something."""
        if self.active and self.resume:
            self._look_back()

    def _look_back(self) -> None:
        """Find which statements lead to what is there now, each from where the one before it left a thing."""
        rows = [[row for row in self._rows_at(i) if row.after is not None] for i in range(len(self._script))]
        things = {thing for found in rows for row in found for thing in row.changed}
        chains = {thing: self._chain(thing, rows) for thing in things}
        for i, found in enumerate(rows):
            for done in reversed(found):
                if all(chains[thing].get(i) is done for thing in done.changed):
                    self._done[i] = done
                    break
        for i in sorted((i for i in self._done if i > self._place), reverse=True):
            self._past |= {thing: self._done[i].before[thing] for thing in self._done[i].changed}

    def _chain(self, thing: Thing, rows: Sequence[Sequence[Row]]) -> Mapping[int, Row]:
        """Return what statements did, by place, whose last left a thing as it is now, and each as the next one found it."""
        now = self._states.of(thing)
        # The same text may stand in several places: the last of them from which all before it follow.
        for end in range(len(rows), 0, -1):
            found: dict[int, Row] = {}
            state, used = now, set[int]()
            for i in range(end - 1, -1, -1):
                effect = self._effects[i]
                fit = [x for x in rows[i] if x.changed.get(thing, _NONE) == state and id(x) not in used]
                if fit:
                    found[i] = fit[-1]
                    used.add(id(fit[-1]))
                    state = fit[-1].before[thing]
                elif effect is not None and effect.thing == thing:
                    # It has to run, and what is there does not follow from it.
                    found = {}
                    break
            if found:
                return found
        return {}

    def _forget_later(self) -> None:
        """Forget what this statement and those after it did to the same things, once it runs again."""
        done = self._done.pop(self._place, None)
        for i in [i for i in self._done if i > self._place]:
            if done is not None and self._done[i].changed.keys() & done.changed.keys():
                del self._done[i]

    # ---- states ----------------------------------------------------------------------------------------

    def _is_ahead(self, thing: Thing) -> bool:
        """Whether later statements have changed a thing already."""
        return thing in self._past and self._past[thing] != self._states.of(thing)

    def _then(self, thing: Thing) -> str | None:
        """Return the state of a thing at this place of the script."""
        return self._past[thing] if thing in self._past else self._states.of(thing)

    def _seen(self, effect: Effect) -> script_log.States:
        """Return the states of what a statement may change: its own thing, and of models and predicates all, as definitions follow facts."""
        kind, found = effect.shown[0], set[Thing]()
        if kind == UNKNOWN:
            found |= self._tracked
        elif effect.thing is not None and (kind != TABLE or effect.thing in self._tracked):
            found.add(effect.thing)
        if kind in (MODEL, PREDICATE):
            found |= {(PREDICATE, name) for name, _ in self._store.sources()}
            found |= {(PREDICATE, name) for name in self._store.predicates()}
        return {thing: self._states.of(thing) for thing in found}


_PREPARING = ("PREPARE", "DEALLOCATE")
"""Begin what EXECUTE alone rests on."""

_HARMLESS = frozenset({
    "threads", "worker_threads", "external_threads", "memory_limit", "max_memory", "temp_directory", "max_temp_directory_size", "variable",
    "enable_progress_bar", "enable_progress_bar_print", "progress_bar_time", "enable_profiling", "profiling_mode", "profile_output",
})  # fmt: skip
"""Settings by which no rows change; variables are inputs of the statements that ask for them."""


def _says_what_follows_means(tokens: Tokens) -> bool:
    """Whether rows of later statements may follow from this one, though they do not name what it changes."""
    word = tokens.word(0)
    at = 2 if tokens.word(1) in ("SESSION", "GLOBAL", "LOCAL") else 1
    setting = tokens.tokens[at].text.casefold() if at < len(tokens.tokens) else ""
    return word in ("USE", *_PREPARING) or (word in ("SET", "RESET", "PRAGMA") and setting not in _HARMLESS)
