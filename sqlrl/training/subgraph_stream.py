"""What learners are given of a stream of subgraphs: each window is a small database of its own in memory, and is gone when the next comes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.choices import Choices
from sqlrl.catalog.dictionary import extend
from sqlrl.catalog.records import Records
from sqlrl.catalog.sources import open_source
from sqlrl.engine.connection import connect as connect_engine
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import named
from sqlrl.errors import InputError, LoadError, ModelError, UnsupportedError
from sqlrl.ground.binding import CompiledRules, bind_program
from sqlrl.ground.candidates import CandidateProgram, JointCounts
from sqlrl.ground.clauses import atom_texts, clause_table, learned_model, shape_table
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Window, grounded
from sqlrl.logic.candidates import Candidate, targets_of
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Variable
from sqlrl.progress import Stage
from sqlrl.training.ordering import Ordering
from sqlrl.training.provenance import TABLE
from sqlrl.training.records import Checkpoint, TrainingRecord
from sqlrl.training.runs import LearnedModel, Run, RunKey
from sqlrl.training.selection import CandidateRun, LeftOut, known_model
from sqlrl.training.session import Session
from sqlrl.training.sources import WindowSource
from sqlrl.training.statistics import statistics_table
from sqlrl.training.stream import TrainingStream, network_with_fixed
from sqlrl.training.subgraphs import EXAMPLE, TRUTH, Reader, Subgraphs, SubgraphWindow
from sqlrl.wording import counted

PLACE, NAMES, LEFT_OUT, PASS = "subgraphs", "names", "left_out", "pass"
"""What the state of a run calls how far its stream is, a digest of the names so far, how many were left out, and the pass."""


# ---- one reading of a stream -------------------------------------------------------------------------


class Pass:
    """A stream that is read for one fit: what chooses comes first, and what learns weights goes on where that ends."""

    def __init__(self, stream: Subgraphs) -> None:
        self.stream = stream
        # How many subgraphs are not learned from, by the labels of the predicates that are `learned`, as long as it is `counting`.
        self.left_out, self.counting = LeftOut(), True
        self.learned: frozenset[str] = frozenset()
        self.names: list[str] = []
        self._reader: Reader | None = None
        self._pending: SubgraphWindow | None = None
        self._seen: set[str] = set()
        self._digest = hashlib.sha256()
        self._schemas: dict[str, pa.Schema] | None = None
        self._targets: frozenset[str] = frozenset()
        self._begun = False

    @property
    def place(self) -> int:
        """How many subgraphs were read."""
        return len(self.names)

    @property
    def digest(self) -> str:
        """What tells the names so far from others."""
        return self._digest.hexdigest()

    def reader(self) -> Reader:
        """Return the reader at work, or begin to read."""
        if self._reader is None:
            if self._begun and not self.stream.again:
                raise InputError(
                    "the stream is an iterator, which is gone when it was read: give SubgraphTables a function that returns it anew"
                )
            self._begun, self._reader = True, self.stream.reader()
        return self._reader

    def schemas(self) -> Mapping[str, pa.Schema]:
        """Return the columns of each predicate; of tables that arrive the first window tells."""
        if self._schemas is None:
            found = self.stream.schemas()
            if found is None:
                self._pending = self.reader().read(None)
                if self._pending is None:
                    gone = "" if self.stream.again else "; an iterator that was read before is gone"
                    raise InputError(f"the stream of subgraphs has no window: there is nothing to learn from{gone}")
                found = {name: data.schema for name, data in self._pending.tables.items()}
            self._schemas = dict(found)
        return self._schemas

    def targets(self, model: Model) -> frozenset[str]:
        """Return the predicates of a model that are to be predicted: those that it names, and those that have labels."""
        schemas = self.schemas()
        self._targets = model.query | {name for name, schema in schemas.items() if TRUTH in schema.names}
        if not self._targets:
            raise InputError(
                "no table of the stream has the column truth, and the model names no predicate to predict: give the tables of targets a row for each "
                "query atom, with truth"
            )
        for name, schema in schemas.items():
            _check_schema(model, name, schema, target=name in self._targets)
        return self._targets

    def check_needed(self, names: Sequence[str], what: str) -> None:
        """Refuse a stream that lacks a relation."""
        missing = sorted(set(names) - set(self.schemas()))
        if missing:
            raise ModelError(
                f"the stream has no table of {missing[0]}, which {what}: give an empty one where it has no facts (tables: {', '.join(self.schemas())})"
            )

    def seek(self, place: int, digest: str | None = None) -> None:
        """Go to a place, from the beginning if that is behind; a digest says what the names before it must be."""
        if place < self.place or (self._reader is None and self._begun):
            self._reader, self._pending = None, None
            self.names, self._seen, self._digest = [], set(), hashlib.sha256()
        if self._pending is not None and place > self.place:
            window, self._pending = self._pending, None
            first, self._pending = window.cut(place - self.place)
            self._read(first.names)
        if place > self.place:
            self._read(self.reader().skip(place - self.place))
        if self.place < place:
            raise InputError(f"the stream ends after {counted(self.place, 'subgraph')}, and the run had {place:,}")
        if digest is not None and digest != self.digest:
            raise InputError(
                f"the stream's first {counted(place, 'subgraph')} have other names than those that the run had: give the same stream"
            )

    def windows(self, end: int | None) -> Iterator[SubgraphWindow]:
        """Yield the windows up to a place, without the subgraphs that are left out; those of which none is left are passed over."""
        while end is None or self.place < end:
            window = self._next(None if end is None else end - self.place)
            if window is None:
                return
            self._read(window.names)
            window = self._fit(window)
            if window.names:
                yield window
            del window

    def ordinals(self, window: SubgraphWindow) -> IntArray:
        """Return the places in the stream of the subgraphs of the window that was read last."""
        place = {name: i for i, name in enumerate(window.names)}
        found = np.zeros(len(window.names), dtype=np.int64)
        for i in range(self.place - 1, -1, -1):
            if self.names[i] in place:
                found[place.pop(self.names[i])] = i
            if not place:
                break
        return found

    def _next(self, most: int | None) -> SubgraphWindow | None:
        if self._pending is None:
            window = self.reader().read(most)
        else:
            window, self._pending = self._pending, None
            if most is not None:
                window, self._pending = window.cut(most)
        if window is not None:
            self._check(window)
        return window

    def _read(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self._seen:
                raise InputError(
                    f"subgraph {name!r} comes again, after {counted(self.place, 'subgraph')}: give each once, whole in one window"
                )
            self._seen.add(name)
            self.names.append(name)
            self._digest.update(f"{len(name)}:{name}".encode())

    def _check(self, window: SubgraphWindow) -> None:
        """Refuse a window whose tables are not those of the windows before, or that has labels of nothing."""
        known, where = self.schemas(), f"in the window after {counted(self.place, 'subgraph')} of the stream"
        for name in known:
            if name not in window.tables:
                raise InputError(f"there is no table of {name} {where}: give an empty one where it has no facts")
        for name, data in window.tables.items():
            if name not in known:
                raise InputError(f"there is a table of {name} {where}, and the first window has none")
            difference = _difference(known[name], data.schema)
            if difference:
                raise InputError(f"{name} has other columns {where} than before: {difference}")
            if name in self._targets and data[TRUTH].null_count:
                raise InputError(
                    f"{name} has a truth that is NULL {where}: each query atom to learn from needs a label"
                )

    def _fit(self, window: SubgraphWindow) -> SubgraphWindow:
        """Return a window without the subgraphs that say nothing, which are counted."""
        true, false = (np.zeros(len(window.names), dtype=np.int64) for _ in range(2))
        for name in sorted(self.learned):
            places, truth = window.places(name), window.tables[name][TRUTH].to_numpy().astype(np.bool_)
            true += np.bincount(places[truth], minlength=len(true))
            false += np.bincount(places[~truth], minlength=len(true))
        chosen, left = LeftOut.of(true, false, true + false)
        if self.counting:
            self.left_out += left
        return window if len(chosen) == len(true) else window.only(chosen)


class Part(WindowSource):
    """A part of a stream that is read: from a place to another, or to the end."""

    def __init__(self, reading: Pass, begin: int = 0, end: int | None = None) -> None:
        self.reading, self.begin, self.end = reading, begin, end

    def training(self, session: Session, model: Model, order: Ordering) -> AbstractContextManager[SubgraphStream]:
        """Show the part as grounded windows while the context is open."""
        return stream_training(session, model, self, order=order)

    def divided(self, choose: Callable[[int | None], int], learned: frozenset[str]) -> tuple[Part, Part]:
        """Return the part that chooses structure, and the rest; `choose` says how many subgraphs of all do, `learned` which labels count."""
        self.reading.check_needed(sorted(learned), "is to be predicted")
        self.reading.learned = learned
        size = choose(self.reading.stream.length)
        return Part(self.reading, 0, size), Part(self.reading, size)

    def windows(self) -> int | None:
        """Return how many windows there are, None if nobody knows."""
        stream = self.reading.stream
        end = stream.length if self.end is None else self.end
        return None if end is None else stream.windows_of(end - self.begin)

    def key(self, learner: str, parameters: Mapping[str, object], model: Model) -> RunKey:
        """Return what makes a run over this part the one that it is."""
        where = np.array([self.begin, -1 if self.end is None else self.end], dtype=np.int64)
        return RunKey(learner, self.with_stream(parameters), model, where)

    def with_stream(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """Return parameters as they are kept, with what tells the stream from others."""
        return {**parameters, "stream": self.reading.stream.identity()}

    def state(self, number: int = 0) -> dict[str, Any]:
        """Return what is saved of how far the stream is."""
        reading = self.reading
        return {PLACE: reading.place, NAMES: reading.digest, LEFT_OUT: list(astuple(reading.left_out)), PASS: number}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Go to the place at which a run was saved."""
        self.reading.seek(state[PLACE], state[NAMES])
        self.reading.left_out = LeftOut(*state[LEFT_OUT])

    def check(self, order: Ordering) -> None:
        """Refuse what is of loaded examples alone."""
        if order["order"] != "file":
            raise InputError(
                "a stream has its own order: sort its centres, as by ORDER BY hash(name), and leave out order='shuffle'"
            )
        if order["size"] is not None:
            raise InputError(
                f"window={order['size']} is for loaded examples, and a stream has windows of its own: leave it out"
            )

    def check_again(self) -> None:
        """Refuse to save a run that could not be resumed, or to read several times, what can be read once."""
        if not self.reading.stream.again:
            raise InputError(
                "the stream is an iterator, which is gone when it was read, so that the run could not be resumed: give SubgraphTables a function that "
                "returns the iterator anew, or leave out checkpoint"
            )


def _check_schema(model: Model, name: str, schema: pa.Schema, *, target: bool) -> None:
    """Refuse a table that does not fit the declarations."""
    if name not in model.predicates:
        raise ModelError(
            f"the stream has a table of {name}, which the model does not declare: write its declaration, such as {name}(type), or leave it out"
        )
    if target and TRUTH not in schema.names:
        raise InputError(
            f"{name} is to be predicted, and its table has no column truth: give it a row for each query atom with its label; what is known of {name} "
            "cannot be evidence"
        )
    if TRUTH in schema.names and not pa.types.is_boolean(schema.field(TRUTH).type):
        raise InputError(f"{name} has a column truth of type {schema.field(TRUTH).type}, which must be boolean")
    arguments, types = _arguments(schema), model.predicates[name].types
    if len(arguments) != len(types):
        raise InputError(
            f"{name}({', '.join(types)}) has {counted(len(types), 'argument')}, and its table {counted(len(arguments), 'column')} beside example"
            f"{' and truth' if target else ''}: {', '.join(arguments) or 'none'}"
        )


def _arguments(schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if name not in (EXAMPLE, TRUTH)]


def _difference(before: pa.Schema, now: pa.Schema) -> str:
    """Return how the columns of two windows differ; those of an empty table may have no type."""
    if before.names != now.names:
        return f"{', '.join(before.names)} then, {', '.join(now.names)} now"
    for old, new in zip(before, now, strict=True):
        if old.type != new.type and not pa.types.is_null(old.type) and not pa.types.is_null(new.type):
            return f"{old.name} was {old.type} and is {new.type}"
    return ""


# ---- a window as a database --------------------------------------------------------------------------


@contextmanager
def opened(
    window: SubgraphWindow, schemas: Mapping[str, pa.Schema], model: Model, targets: frozenset[str], threads: int
) -> Iterator[Session]:
    """Show a window as a database of its own while the context is open."""
    engine: DuckDBEngine = connect_engine(":memory:", threads=threads)
    try:
        session = Session.open(Catalog(engine))
        # In one transaction the records of the catalog are read and written once, not with each relation.
        with session.verb(), session.catalog.store.writing():
            _name_constants(session, window, schemas, model)
            for name, data in window.tables.items():
                columns = _arguments(schemas[name])
                given: dict[str, Any] = {"truth": TRUTH, "target": True} if name in targets else {}
                types = list(model.predicates[name].types)
                if not types:
                    raise UnsupportedError(f"{name} has no argument: a stream has relations with one at least")
                try:
                    session.catalog.load(
                        name, data, columns=columns, types=types, example=EXAMPLE, empty="allow", **given
                    )
                    if name in targets:
                        session.catalog.scope(name, data.select([EXAMPLE, *columns]))
                except LoadError as error:
                    if window.names:
                        error.add_note(f"in the window of the stream that begins with subgraph {window.names[0]!r}")
                    raise
        yield session
    finally:
        engine.close()


def _name_constants(session: Session, window: SubgraphWindow, schemas: Mapping[str, pa.Schema], model: Model) -> None:
    """Give the constants of a window their ids by name, so that atoms of a subgraph have one order, whatever else is in its window."""
    store = session.catalog.store
    with store.writing(), ExitStack() as sources:
        names: dict[str, list[exp.Query]] = {}
        for name, data in window.tables.items():
            source = sources.enter_context(open_source(session.engine, data))
            for column_, kind in zip(_arguments(schemas[name]), model.predicates[name].types, strict=True):
                query = exp.select(named(source.text(column_), "name")).from_(source.table.copy())
                names.setdefault(kind, []).append(query)
        for kind in sorted(names):
            extend(store, store.type_record(kind, store.types()), names[kind])


def _threads(session: Session) -> int:
    """Return how many threads a database has."""
    query = exp.select(named(exp.func("current_setting", exp.convert("threads")), "threads"))
    return int(session.engine.fetch(query, step="read the settings").column(0)[0].as_py())


class _Windows:
    """Makes databases of windows with one model."""

    def __init__(self, session: Session, part: Part, model: Model) -> None:
        self._model, self._reading = model, part.reading
        self._targets = part.reading.targets(model)
        self._threads, self._compiled = _threads(session), CompiledRules()

    @contextmanager
    def program(self, window: SubgraphWindow) -> Iterator[tuple[Session, Program]]:
        """Hold the model against a window while the context is open."""
        with self.session(window) as session, self.held(session, self._model) as program:
            yield session, program

    @contextmanager
    def session(self, window: SubgraphWindow) -> Iterator[Session]:
        """Show a window as a database of its own while the context is open."""
        schemas = self._reading.schemas()
        with opened(window, schemas, self._model, self._targets, self._threads) as session, session.verb():
            yield session

    @contextmanager
    def held(self, session: Session, model: Model) -> Iterator[Program]:
        """Hold a model with the same declarations against a window while the context is open."""
        layout = session.layout(model, training=True, choices=Choices(query=sorted(self._targets)))
        program = bind_program(session.engine, layout, model, known=self._compiled)
        try:
            yield program
        finally:
            program.close()

    def nothing(self) -> SubgraphWindow:
        """Return a window without rows."""
        return SubgraphWindow([], {name: schema.empty_table() for name, schema in self._reading.schemas().items()})


class _Provenance:
    """Keeps the names of the subgraphs that a run learns from."""

    def __init__(self, records: Records, reading: Pass, targets: frozenset[str]) -> None:
        self._records, self._reading, self._targets = records, reading, targets
        self._new: list[IntArray] = []

    def add(self, examples: IntArray) -> None:
        """Take subgraphs by their places in the stream."""
        self._new.append(examples)

    def write(self, run: int) -> None:
        """Keep those that were not kept so far."""
        examples = np.concatenate([np.zeros(0, np.int64), *self._new])
        self._new.clear()
        names = [self._reading.names[i] for i in examples.tolist()]
        for target in sorted(self._targets) if names else ():
            rows = pa.table(
                {
                    "example": pa.array(examples, pa.int32()),
                    "example_name": pa.array(names, pa.string()),
                    "predicate": pa.array([target] * len(names), pa.string()),
                    "constants": pa.nulls(len(names), pa.list_(pa.string())),
                }
            )
            self._records.append(TABLE, run, rows)


# ---- structure ---------------------------------------------------------------------------------------


class StreamSelection(CandidateRun):
    """The first subgraphs of a stream with candidates held against them."""

    def __init__(self, session: Session, model: Model, candidates: Sequence[Candidate], part: Part) -> None:
        super().__init__(session.records, model)
        self._part, self._candidates = part, candidates
        known = known_model(model, candidates)
        part.reading.check_needed(
            sorted({a.predicate for rule in known.rules for a in atoms_of(rule.formula)}), "the templates name"
        )
        self._windows = _Windows(session, part, known)
        self._kept = _Provenance(session.records, part.reading, targets_of(candidates))
        self._window: SubgraphWindow | None = None
        self._drawn = 0
        self._statements = self.shapes = 0

    @property
    def statements(self) -> int:
        """How many queries have counted labels so far."""
        return self._statements

    def __len__(self) -> int:
        """Return how many windows there are, those of which nothing is left included; or how many there were, if nobody knows."""
        return self._part.windows() or self._drawn

    def windows(self, done: int) -> Iterator[IntArray]:
        """Yield the subgraphs of each window that is left."""
        self._drawn = done
        end, reading = self._part.end, self._part.reading
        for window in reading.windows(end):
            self._window, self._drawn = window, self._drawn + 1
            del window
            examples = reading.ordinals(self._window)
            self._kept.add(examples)
            yield examples
        if end is not None and reading.place < end:
            raise InputError(
                f"the stream ends after {counted(reading.place, 'subgraph')}, and {end:,} are to choose structure (select=): let fewer choose"
            )
        if not self._drawn:
            raise reading.left_out.all_of(reading.place, reading.place, choosing=True)

    def count(self, window: IntArray) -> JointCounts:
        """Count the labels that candidates select in the window at hand."""
        found, self._window = self._window, None
        assert found is not None, "a window is counted once"
        with (
            self._windows.program(found) as (_, program),
            CandidateProgram(program.engine, program.public_layout, self._candidates) as held,
        ):
            counts = held.counts()
            self._statements, self.shapes = self._statements + held.statements, held.shapes
        return counts

    def go_on(self, stream: Mapping[str, Any]) -> None:
        """Go to the place at which the run was saved."""
        self._part.go_on(stream)

    def stream_state(self) -> Mapping[str, Any]:
        """Return how far the stream is."""
        return self._part.state()

    def keep_examples(self) -> None:
        """Keep which subgraphs choose."""
        self._kept.write(self.run.begun())

    def key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        """Return what makes the run the one that it is."""
        return self._part.key(learner, parameters, self.model)


@contextmanager
def stream_selection(
    session: Session, model: Model, candidates: Sequence[Candidate], part: Part, order: Ordering, *, saving: bool
) -> Iterator[StreamSelection]:
    """Hold candidates against a stream while the context is open; with `saving` the run shall be one that can be resumed."""
    session.catalog.store.check_writable()
    part.check(order)
    if saving:
        part.check_again()
    with session.verb(), session.console.progress("choosing structure"):
        yield StreamSelection(session, model, candidates, part)


# ---- weights -----------------------------------------------------------------------------------------


class SubgraphStream(TrainingStream):
    """Windows of subgraphs, which are gone once they are learned from."""

    def __init__(self, session: Session, model: Model, part: Part, *, passes: int, limit: int | None) -> None:
        check_templates(model, "which a stream shows window by window: write the constants, or load the subgraphs")
        used = sorted({a.predicate for rule in model.rules for a in atoms_of(rule.formula)})
        self._part, self._passes, self._limit = part, passes, limit
        super().__init__(session.records, Run(session.records))
        self._model = model
        self._windows = _Windows(session, part, model)
        part.reading.check_needed([name for name in used if name in model.predicates], "rules of the model name")
        self._kept = _Provenance(session.records, part.reading, part.reading.targets(model))
        self._window = ExitStack()
        self._framing = self.drawing.enter_context(ExitStack())
        # The clauses are those of the model bound to no data, since no rule has a template that could grow.
        self._hold(model)
        self._drawn = self._pass = 0
        self._resumed = False

    def close(self) -> None:
        """Close what is open."""
        self._window.close()
        self.drawing.close()

    def _hold(self, model: Model) -> None:
        """Hold a model against no data: its clauses are those that it has in every window."""
        self._framing.close()
        session = self._framing.enter_context(self._windows.session(self._windows.nothing()))
        self._program = self._framing.enter_context(self._windows.held(session, model))
        self._shown: Program = self._program

    def __len__(self) -> int:
        """Return how many windows there are, those of which nothing is left included; or how many there were, if nobody knows."""
        return (self._part.windows() or 0) * self._passes or self._drawn

    def __iter__(self) -> Generator[Window]:
        reading, begin = self._part.reading, self._part.begin
        length = reading.stream.length
        with Stage("subgraphs", None if length is None else length - begin) as task:
            for number in range(self._pass, self._passes):
                if number > self._pass or not self._resumed:
                    reading.seek(begin)
                # What is left out is counted in the first pass.
                self._pass, reading.counting = number, number == 0
                task.advance(reading.place - begin if number == 0 else 0)
                for window in reading.windows(None):
                    before = len(window.names)
                    self._drawn += 1
                    yield self._grounded(window)
                    self._window.close()
                    task.advance(before if number == 0 else 0)
                    del window
        if not self._drawn:
            raise reading.left_out.all_of(begin, reading.place, choosing=False)

    def _grounded(self, found: SubgraphWindow) -> Window:
        """Ground a window."""
        session, program = self._window.enter_context(self._windows.program(found))
        return self._network(found, session, program)

    def _network(self, found: SubgraphWindow, session: Session, program: Program) -> Window:
        """Ground a window with a program; its examples are the places of its subgraphs in the stream."""
        examples = self._part.reading.ordinals(found)
        if program.clause_count != self._program.clause_count:
            raise UnsupportedError(
                "a rule has clauses for constants of the data, which come with each window: write it without them"
            )
        ids = session.example_ids(list(found.names))
        place = np.zeros(int(ids.max()) + 1, dtype=np.int64)
        place[ids] = examples
        window = grounded(Extent(program, limit=self._limit), ids, None)
        network = replace(window.network, example=place[window.network.example])
        self._shown = program
        if self._pass == 0:
            self._kept.add(examples)
        network = network_with_fixed(network, program, self.clause_text)
        return Window(examples, network, window.truth, window.labelled)

    def window(self, examples: IntArray) -> Window:
        """Refuse to ground subgraphs again: they are gone."""
        raise UnsupportedError(
            "subgraphs of a stream are gone when they were learned from: take an online learner, or load them"
        )

    def example_name(self, example: int) -> str:
        """Return the name of a subgraph by its place in the stream."""
        return self._part.reading.names[example]

    def atom_text(self, atom: int) -> str:
        """Return the text of a query atom of the window at hand."""
        return atom_texts(self._shown, np.array([atom], dtype=np.int64)).get(atom, f"atom {atom}")

    def atom_groups(self, groups: Any) -> tuple[IntArray, IntArray]:
        """Refuse groups: they are of loaded atoms."""
        raise UnsupportedError("groups= are of atoms that are loaded, not of a stream")

    def check_kept(self) -> None:
        """Warn where what is saved ends with the connection, and refuse what cannot be read again."""
        self._part.check_again()
        super().check_kept()

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        if self._passes > 1:
            self._part.check_again()
        key = self._part.key(learner, parameters, self._model)
        return self.run.begin(learner, key.parameters, seed, key)

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Go on with a run that was saved."""
        checkpoint, stream = self.run.resume(run, self._part.key(learner, parameters, self._model))
        self.go_on(checkpoint, stream)
        return checkpoint

    def state(self) -> dict[str, Any]:
        """Return what is saved of how far the stream is."""
        return self._part.state(self._pass)

    def go_on(self, checkpoint: Checkpoint, stream: Mapping[str, Any]) -> None:
        """Be where the run was when it was saved."""
        self._part.go_on(stream)
        self._drawn, self._pass, self._resumed = checkpoint.done, stream[PASS], True

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window."""
        with self._records.together():
            rows = {**checkpoint.rows, "step": self._named(checkpoint.rows["step"])}
            self.run.save(replace(checkpoint, rows=rows), self.state())
            self._kept.write(self.run.begun())

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model, and keep it with the run's parameters and steps, all or nothing."""
        program = self._program
        full = np.zeros(program.clause_count)
        full[: len(weights)] = weights
        clauses = clause_table(program, full, keys=True)
        learned = LearnedModel(learned_model(program, full), clauses, shape_table(program))
        change = np.full(program.clause_count, 0, dtype=object)
        change[record.support.column("clause").to_numpy()] = record.support.column("delta_n").to_pylist()
        shown = clauses.column("clause").to_numpy()
        rows = {"step": self._named(record.steps), "clause_statistics": statistics_table(shown, {"delta_n": change})}
        with Stage("keeping the model"), self._records.together():
            self._kept.write(self.run.begun())
            self.run.finish(
                learned, rows, origin=record.learner, seconds=record.seconds, status=record.status, learner=record.learner,
                parameters=self._part.with_stream(record.parameters), seed=record.seed,
            )  # fmt: skip
        self._clauses = clauses
        self._part.reading.left_out.warn(self._part.reading.place)
        return learned.model

    def _named(self, steps: pa.Table) -> pa.Table:
        """Return steps with the names of their subgraphs."""
        names = [self.example_name(i) for i in steps["example"].to_pylist()]
        return steps.append_column("example_name", pa.array(names, pa.string()))


def check_templates(model: Model, reason: str) -> None:
    """Refuse rules that have a clause for each constant, since windows have different ones; `reason` ends the message."""
    for rule in model.rules:
        if any(isinstance(t, Variable) and t.plus for atom in atoms_of(rule.formula) for t in atom.terms):
            raise UnsupportedError(f"{format_formula(rule.formula)} has a clause for each constant (+), {reason}")


@contextmanager
def stream_training(session: Session, model: Model, part: Part, *, order: Ordering) -> Iterator[SubgraphStream]:
    """Show the rest of a stream as grounded windows while the context is open."""
    session.catalog.store.check_writable()
    part.check(order)
    with session.verb(), session.console.progress("learning"):
        stream = SubgraphStream(session, model, part, passes=order["passes"], limit=order["limit"])
        try:
            with stream.run.ending():
                yield stream
        finally:
            stream.close()
