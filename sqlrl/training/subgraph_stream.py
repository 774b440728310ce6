"""What learners are given of a stream of subgraphs: each window is a small database of its own in memory, and is gone when the next comes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.checks import warn_of_alike, warn_of_empty
from sqlrl.catalog.dictionary import extend
from sqlrl.catalog.records import Records
from sqlrl.catalog.roles import Roles
from sqlrl.catalog.sources import open_source
from sqlrl.engine.connection import connect as connect_engine
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.engine.nodes import named
from sqlrl.errors import InputError, LoadError, ModelError, Parameter, UnsupportedError
from sqlrl.ground.binding import CompiledRules, bind_program
from sqlrl.ground.clauses import atom_texts, constant_names, listed_types
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Window, grounded
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.logic.subformulas import atoms_of
from sqlrl.logic.terms import Variable
from sqlrl.progress import Stage
from sqlrl.training.ordering import Ordering
from sqlrl.training.provenance import TABLE
from sqlrl.training.records import Checkpoint, TrainingRecord
from sqlrl.training.runs import RunKey
from sqlrl.training.selection import LeftOutSubgraphs
from sqlrl.training.session import Session
from sqlrl.training.sources import WindowSource
from sqlrl.training.statistics import statistics_table
from sqlrl.training.stream import ClauseChanges, TrainingStream, network_with_fixed
from sqlrl.training.subgraphs import EXAMPLE, TRUTH, Reader, Subgraphs, SubgraphWindow
from sqlrl.wording import counted

PLACE, NAMES, LEFT_OUT, PASS = "subgraphs", "names", "left_out", "pass"
"""What the state of a run calls how far its stream is, a digest of the names so far, how many were left out, and the pass."""

LABELS, CONSTANTS = "labels", "constants"
"""What it calls the labels and the constants that windows of the first pass had."""


# ---- one reading of a stream -------------------------------------------------------------------------


class Pass:
    """A stream that is read for one fit: what chooses comes first, and what learns weights goes on where that ends."""

    def __init__(self, stream: Subgraphs) -> None:
        self.stream = stream
        # How many subgraphs are not learned from, by the labels of the predicates that are `learned`, as long as it is `counting`.
        # None: all are learned from that have a row, as loaded examples are.
        self.left_out, self.counting = LeftOutSubgraphs(), True
        self.learned: frozenset[str] | None = None
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
        if self.learned is None:
            rows = [window.places(name) for name in window.tables]
            chosen = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rows]))
            if self.counting:
                self.left_out += LeftOutSubgraphs(len(true) - len(chosen))
            return window if len(chosen) == len(true) else window.select(chosen)
        for name in sorted(self.learned):
            places, truth = window.places(name), window.tables[name][TRUTH].to_numpy().astype(np.bool_)
            true += np.bincount(places[truth], minlength=len(true))
            false += np.bincount(places[~truth], minlength=len(true))
        chosen, left = LeftOutSubgraphs.of(true, false, true + false)
        if self.counting:
            self.left_out += left
        return window if len(chosen) == len(true) else window.select(chosen)


class StreamPart(WindowSource):
    """A part of a stream that is read: from a place to another, or to the end."""

    def __init__(self, reading: Pass, begin: int = 0, end: int | None = None) -> None:
        self.reading, self.begin, self.end = reading, begin, end

    def training(
        self, session: Session, model: Model, order: Ordering, changes: ClauseChanges | None
    ) -> AbstractContextManager[SubgraphStream]:
        """Show the part as grounded windows while the context is open."""
        return stream_training(session, model, self, order=order, changes=changes)

    def divided(self, choose: Callable[[int | None], int], learned: frozenset[str]) -> tuple[StreamPart, StreamPart]:
        """Return the part that chooses structure, and the rest; `choose` says how many subgraphs of all do, `learned` which labels count."""
        self.reading.check_needed(sorted(learned), "is to be predicted")
        self.reading.learned = learned
        size = choose(self.reading.stream.length)
        return StreamPart(self.reading, 0, size), StreamPart(self.reading, size)

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
        self.reading.left_out = LeftOutSubgraphs(*state[LEFT_OUT])

    def check(self, order: Ordering) -> None:
        """Refuse what is of loaded examples alone."""
        if order["order"] != "file":
            raise InputError(
                f"a stream has its own order: sort its centres, as by ORDER BY hash(name), and leave out {Parameter('order', 'shuffle')}"
            )
        if order["size"] is not None:
            raise InputError(
                f"{Parameter('window', order['size'])} is for loaded examples, and a stream has windows of its own: leave it out"
            )

    def check_again(self, passes: int = 1) -> None:
        """Refuse to save a run that could not be resumed, or to read several times, what can be read once."""
        if not self.reading.stream.again:
            several = f"there can be no {counted(passes, 'pass', 'passes')} over it", "passes"
            without, option = several if passes > 1 else ("the run could not be resumed", "checkpoint")
            raise InputError(
                f"the stream is an iterator, which is gone when it was read, so that {without}: give SubgraphTables a function that "
                f"returns the iterator anew, or leave out {option}"
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
def window_database(
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


class WindowDatabases:
    """Makes databases of windows with one model."""

    def __init__(
        self,
        session: Session,
        part: StreamPart,
        model: Model,
        predicted: frozenset[str] | None = None,  # the targets with query atoms; None for all
        *,
        searching: bool = False,  # whether there may be no rule yet
    ) -> None:
        self._model, self._reading, self._searching = model, part.reading, searching
        self._targets = part.reading.targets(model)
        self._predicted = self._targets if predicted is None else predicted
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
        with window_database(window, schemas, self._model, self._targets, self._threads) as session, session.verb():
            yield session

    @contextmanager
    def held(self, session: Session, model: Model) -> Iterator[Program]:
        """Hold a model with the same declarations against a window while the context is open."""
        roles = Roles(query=sorted(self._predicted))
        layout = session.layout(model, training=True, roles=roles, adds_rules=self._searching)
        program = bind_program(session.engine, layout, model, known=self._compiled)
        try:
            yield program
        finally:
            program.close()

    def nothing(self) -> SubgraphWindow:
        """Return a window without rows."""
        return SubgraphWindow([], {name: schema.empty_table() for name, schema in self._reading.schemas().items()})


class SubgraphProvenance:
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


# ---- weights -----------------------------------------------------------------------------------------


class SubgraphStream(TrainingStream):
    """Windows of subgraphs, which are gone once they are learned from."""

    apart = True

    def __init__(
        self,
        session: Session,
        model: Model,
        part: StreamPart,
        held: ExitStack,  # closed by whoever opened it
        *,
        passes: int,
        limit: int | None,
        changes: ClauseChanges,
    ) -> None:
        check_templates(model, "which a stream shows window by window: write the constants, or load the subgraphs")
        used = {a.predicate for rule in model.rules for a in atoms_of(rule.formula)}
        self._part, self._passes, self._limit, self._model = part, passes, limit, model
        labelled = part.reading.targets(model)
        learned = model.query | (labelled & used) | frozenset(changes.predicted(model, labelled))
        # Where structure was chosen from the stream before, all its labels are of query atoms.
        predicted = learned if part.reading.learned is None else labelled
        self._windows = WindowDatabases(session, part, model, predicted, searching=changes.searching)
        part.reading.check_needed([name for name in used if name in model.predicates], "rules of the model name")
        part.reading.check_needed(sorted(learned), "is to be predicted")
        self._kept, self._labels = SubgraphProvenance(session.records, part.reading, predicted), LabelCounts(learned)
        # What holds the window at hand, and what holds the clauses.
        self._window, self._framing = (held.enter_context(ExitStack()) for _ in range(2))
        self._shown = self._hold(model)
        super().__init__(session, self._shown, changes)
        held.push(self.drawing)
        # Of the constants that the learned model lists, those that windows have.
        self._wanted = listed_types(self._program, model.rules)
        self._met: dict[str, set[str]] = {kind: set() for kind in self._wanted}
        self._drawn = self._pass = 0
        self._resumed = False

    def _hold(self, model: Model) -> Program:
        """Hold a model against no data: its clauses are those that it has in every window, since no rule has a template that could grow."""
        self._framing.close()
        session = self._framing.enter_context(self._windows.session(self._windows.nothing()))
        return self._framing.enter_context(self._windows.held(session, model))

    def __len__(self) -> int:
        """Return how many windows there are, those of which nothing is left included; or how many there were, if nobody knows."""
        return (self._part.windows() or 0) * self._passes or self._drawn

    def __iter__(self) -> Generator[Window]:
        reading, begin = self._part.reading, self._part.begin
        length = reading.stream.length
        size = None if length is None else length - begin
        with Stage("subgraphs", None if size is None else size * self._passes) as task:
            task.advance(self._pass * (size or 0))
            for number in range(self._pass, self._passes):
                if number > self._pass or not self._resumed:
                    reading.seek(begin)
                # What is left out is counted in the first pass.
                self._pass, reading.counting = number, number == 0
                done = begin
                for window in reading.windows(None):
                    self._drawn += 1
                    yield self._grounded(window)
                    self._window.close()
                    task.advance(reading.place - done)
                    done = reading.place
                    del window
        if not self._drawn and reading.learned is None:
            raise InputError(f"nothing is left to learn from: none of {counted(reading.place, 'subgraph')} has a row")
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
        if self._pass == 0:
            self._kept.add(examples)
            self._labels.add(found)
            self._count_open(window)
            for kind, names in self._wanted.items():
                info = program.layout.types[kind]
                here = constant_names(program, kind)[: info.size - info.declared - info.of_rules]
                self._met[kind].update(here if names is None else names.intersection(here))
        self._shown = program
        network = replace(window.network, example=place[window.network.example])
        network = network_with_fixed(network, program, self.clause_text)
        window = replace(window, examples=examples, network=network)
        return self._window.enter_context(self.changes.prepared_window(window, program, ids))

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
        raise UnsupportedError(f"{Parameter('groups')} are of atoms that are loaded, not of a stream")

    def added_statistics(self, added: Program, support: pa.Table, shown: IntArray) -> pa.Table:
        """Return their delta n: what they have in subgraphs that are gone is not counted."""
        return self._statistics(support, shown, warning=False)

    def check_kept(self) -> None:
        """Warn where what is saved ends with the connection, and refuse what cannot be read again."""
        self._part.check_again()
        super().check_kept()

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        if self._passes > 1:
            self._part.check_again(self._passes)
        return super().begin(learner, parameters, seed)

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model, and keep it with the run's parameters and steps, all or nothing."""
        learned = super().model(weights, record)
        self._part.reading.left_out.warn(self._part.reading.place)
        self._labels.warn()
        return learned

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return self._part.key(learner, parameters, self._model)

    def _state(self) -> dict[str, Any]:
        met = {kind: sorted(names) for kind, names in self._met.items()}
        return {**self._part.state(self._pass), LABELS: self._labels.state(), CONSTANTS: met}

    def _go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        self._part.go_on(state)
        self._drawn, self._pass, self._resumed = checkpoint.done, state[PASS], True
        self._labels.go_on(state.get(LABELS))
        for kind, names in state.get(CONSTANTS, {}).items():
            self._met[kind].update(names)

    def _statistics(self, support: pa.Table, shown: IntArray, *, warning: bool = True) -> pa.Table:
        """Return the delta n of clauses: of subgraphs that are gone nothing else is counted."""
        if warning and self._open is not None:
            self._warn_of_idle(self._own_open())
        ids = support.column("clause").to_numpy()
        change = np.full(max(int(array.max(initial=-1)) for array in (ids, shown)) + 1, 0, dtype=object)
        change[ids] = support.column("delta_n").to_pylist()
        return statistics_table(shown, {"delta_n": change})

    def _constants(self, kind: str) -> Sequence[str]:
        # As a dictionary has them that was loaded at once, and then those that the model alone names.
        return [*sorted(self._met.get(kind, ())), *super()._constants(kind)]

    def _keep_examples(self) -> None:
        self._kept.write(self.run.begun())

    def _steps(self, steps: pa.Table) -> pa.Table:
        """Return steps with the names of their subgraphs."""
        names = [self.example_name(i) for i in steps["example"].to_pylist()]
        return steps.append_column("example_name", pa.array(names, pa.string()))


class LabelCounts:
    """What the labels of the first pass are, by predicate, to warn of those that say less than they seem to."""

    def __init__(self, predicates: Iterable[str]) -> None:
        # By predicate, how many query atoms there are and how many are true; None if an earlier version of sqlrl began the run.
        self._atoms: dict[str, list[int]] | None = {name: [0, 0] for name in sorted(predicates)}
        self._subgraphs = self._without = 0
        self._first: str | None = None  # of those without query atoms

    def add(self, window: SubgraphWindow) -> None:
        """Count the labels of a window."""
        if self._atoms is None:
            return
        has = np.zeros(len(window.names), dtype=np.bool_)
        for name, found in self._atoms.items():
            truth = window.tables[name][TRUTH]
            found[0] += len(truth)
            found[1] += int(pc.sum(truth).as_py() or 0)
            has[window.places(name)] = True
        without = [name for name, labelled in zip(window.names, has.tolist(), strict=True) if not labelled]
        self._subgraphs, self._without = self._subgraphs + len(has), self._without + len(without)
        self._first = min([*without, *([] if self._first is None else [self._first])], default=None)

    def warn(self) -> None:
        """Warn of subgraphs without query atoms, and of predicates whose labels are all alike."""
        if self._first is not None:
            warn_of_empty(self._without, self._subgraphs, self._first, "subgraph")
        for name, (atoms, true) in (self._atoms or {}).items():
            warn_of_alike(name, atoms, true)

    def state(self) -> Any:
        """Return what is saved."""
        return [self._atoms, self._subgraphs, self._without, self._first]

    def go_on(self, state: Any) -> None:
        """Count on from what was saved; None was saved by earlier versions of sqlrl."""
        self._atoms, self._subgraphs, self._without, self._first = state or [None, 0, 0, None]


def check_templates(model: Model, reason: str) -> None:
    """Refuse rules that have a clause for each constant, since windows have different ones; `reason` ends the message."""
    for rule in model.rules:
        if any(isinstance(t, Variable) and t.plus for atom in atoms_of(rule.formula) for t in atom.terms):
            raise UnsupportedError(f"{format_formula(rule.formula)} has a clause for each constant (+), {reason}")


@contextmanager
def stream_training(
    session: Session, model: Model, part: StreamPart, *, order: Ordering, changes: ClauseChanges | None
) -> Iterator[SubgraphStream]:
    """Show the rest of a stream as grounded windows while the context is open."""
    session.catalog.store.check_writable()
    part.check(order)
    with session.verb(), session.console.progress("learning"), ExitStack() as held:
        stream = SubgraphStream(
            session, model, part, held, passes=order["passes"], limit=order["limit"], changes=changes or ClauseChanges()
        )
        with stream.run.ending():
            yield stream
