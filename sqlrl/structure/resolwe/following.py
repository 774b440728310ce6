"""What a learner of weights is given whose model follows a stream: each window is counted, chooses the rules, and is grounded with those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.catalog.layout import TableName
from sqlrl.catalog.roles import Roles
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import Parameter, UnsupportedError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.candidates import CandidateProgram
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.rows import Budget
from sqlrl.ground.windows import Window, Windows, grounded
from sqlrl.logic.candidates import targets_of
from sqlrl.logic.model import Model
from sqlrl.logic.printer import format_formula
from sqlrl.structure.resolwe.drift import Drift
from sqlrl.training.ordering import Ordering
from sqlrl.training.records import Checkpoint, TrainingRecord
from sqlrl.training.selection import FOLLOWED, CandidateRun, known_model
from sqlrl.training.session import Session
from sqlrl.training.sources import WindowSource
from sqlrl.training.stream import (
    ClauseChanges,
    ExampleStream,
    TrainingStream,
    Value,
    check_training,
    network_with_fixed,
    owners_of,
)
from sqlrl.training.subgraph_stream import StreamPart, SubgraphStream, check_templates
from sqlrl.training.subgraphs import SubgraphWindow

LOG = "rule_log"
"""What the state of a run calls the rules that came and went."""


@dataclass(frozen=True, eq=False)
class Drifting(WindowSource):
    """What is left to learn weights from, with the structure that follows it and the run that keeps the counts."""

    examples: StreamPart | list[str]  # what is left of a stream, or names of loaded examples
    drift: Drift
    run: CandidateRun
    size: int | None  # how many loaded examples choose together; None for the default

    def training(
        self, session: Session, model: Model, order: Ordering, changes: ClauseChanges | None
    ) -> AbstractContextManager[DriftingTraining | DriftingExamples]:
        """Show them as windows that choose their rules."""
        return drifting_training(session, model, self, order=order)

    def structure(self, base: Model) -> Model:
        """Return the model at hand."""
        return base.with_rules((*base.rules, *(self.drift.rules[i] for i in self.drift.active.tolist())))


class DriftingClauses(ClauseChanges):
    """The clauses of a model whose rules come and go, by ids that stay: those of its base, then one for each rule that ever came."""

    def __init__(self, given: Drifting) -> None:
        self._run, self._drift = given.run, given.drift
        self._owners: IntArray = np.zeros(0, dtype=np.int64)
        self._rules = 0
        # The id that stays, by the id that a clause has in the program of the current model.
        self.ids = self._owners
        # Whether the window at hand has changed the model.
        self._changed = False

    def hold(self, stream: TrainingStream) -> None:
        """Take the stream, which holds the clauses of the base."""
        base = stream.program
        check_templates(base.model, f"which come with each window: with {Parameter('half_life')} write the constants")
        self._owners, self._rules = owners_of(base), len(base.model.rules)
        if (self._owners < 0).any():
            raise UnsupportedError(
                f"a rule of the model has a quantifier over several literals of targets, and with {Parameter('half_life')} its helper atoms would come and go with "
                "the rules around it: write it without"
            )
        self.ids = np.arange(len(self._owners))

    def count(self, held: CandidateProgram, examples: TableName | None, number: int) -> bool:
        """Count a window of so many subgraphs, let it choose, and keep it; tell whether the model has changed."""
        before = held.statements
        counts = held.counts(examples)
        self._drift.statements += held.statements - before
        self._changed = self._drift.add(counts, number)
        self._run.follow(self._drift.counts, self._drift.log())
        return self._changed

    def take(self, program: Program) -> None:
        """Take a program of the model at hand."""
        size, active = len(self._owners), self._drift.active
        wanted = np.concatenate([self._owners, self._rules + np.arange(len(active))])
        if not np.array_equal(owners_of(program), wanted):
            raise UnsupportedError(
                f"a rule of the model has clauses for constants of the data, which come with each window: with {Parameter('half_life')} write it without them"
            )
        self.ids = np.concatenate([np.arange(size), size + active])

    def prepared_window(self, window: Window, program: Program, examples: IntArray) -> AbstractContextManager[Window]:
        """Show a window with the ids that stay."""
        network = replace(window.network, clauses=self.run_ids(window.network.clauses))
        return nullcontext(replace(window, network=network, changed=self._changed))

    def text(self, clause: int) -> str | None:
        """Return the text of a clause that is not of the base, None of others."""
        place = clause - len(self._owners)
        return None if place < 0 else format_formula(self._drift.rules[place].formula)

    def saved(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return what is saved of the run, with what chooses."""
        return replace(checkpoint, arrays={**checkpoint.arrays, **self._drift.arrays()})

    def state(self) -> dict[str, Any]:
        """Return the rules that came and went."""
        return {LOG: self._drift.events()}

    def go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        """Be where the run of weights was when it was saved."""
        self._drift.go_on(checkpoint.arrays, state[LOG])

    def run_ids(self, clauses: IntArray) -> IntArray:
        """Return the ids that stay of clauses of the program at hand."""
        found: IntArray = self.ids[clauses]
        return found

    def stream_values(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """Return values of the clauses at hand, by their own ids; those that no window had have 0."""
        found = np.full(max(len(values), int(self.ids.max(initial=-1)) + 1), 0, dtype=values.dtype)
        found[: len(values)] = values
        return found[self.ids]

    def stream_support(self, support: pa.Table) -> pa.Table:
        """Return the support of the clauses at hand, by their own ids."""
        clause = support.column("clause").to_numpy()
        place = np.full(max(int(clause.max(initial=-1)), int(self.ids.max(initial=-1))) + 1, -1, dtype=np.int64)
        place[self.ids] = np.arange(len(self.ids))
        kept = support.filter(pa.array(place[clause] >= 0))
        own = pa.array(place[kept.column("clause").to_numpy()], pa.int64())
        return kept.set_column(kept.column_names.index("clause"), "clause", own)


class DriftingTraining(SubgraphStream):
    """The windows of a stream that chooses the rules as it goes."""

    def __init__(
        self, session: Session, model: Model, part: StreamPart, given: Drifting, held: ExitStack, *, limit: int | None
    ) -> None:
        self._given, self._listed = given, DriftingClauses(given)
        super().__init__(session, model, part, held, passes=1, limit=limit, changes=self._listed)
        self._known = known_model(model, given.drift.counted)
        self._structure: Model | None = None

    def _grounded(self, found: SubgraphWindow) -> Window:
        """Count a window, let it choose, and ground it."""
        session = self._window.enter_context(self._windows.session(found))
        with (
            self._windows.held(session, self._known) as program,
            CandidateProgram(program.engine, program.public_layout, self._given.drift.counted) as held,
        ):
            changed = self._listed.count(held, None, len(found.names))
        structure = self._current(changed=changed)
        program = self._window.enter_context(self._windows.held(session, structure))
        return self._network(found, session, program)

    def _current(self, *, changed: bool) -> Model:
        """Return the model at hand, which has been held against no data."""
        if self._structure is None or changed:
            self._structure = self._given.structure(self._model)
            self._program = self._hold(self._structure)
            self._listed.take(self._program)
        return self._structure

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model of the rules that are left, and keep it."""
        self._current(changed=False)
        return super().model(weights, record)


class DriftingExamples(ExampleStream):
    """The windows of loaded examples, which choose the rules as they come."""

    def __init__(
        self,
        program: Program,  # bound for the rules of `base`, which always stay, and all that candidates name
        candidates: CandidateProgram,
        session: Session,
        base: Model,
        given: Drifting,
        held: ExitStack,  # closed by whoever opened it
        *,
        examples: IntArray,
        size: int,
        limit: int | None,
    ) -> None:
        self._layout, self._base, self._given, self._candidates = program.public_layout, base, given, candidates
        self._known, self._programs, self._listed = session.compiled, held, DriftingClauses(given)
        bound = self._bound(program.engine, base)
        super().__init__(bound, session, [examples], size=size, limit=limit, changes=self._listed)
        self._windows = Windows(self._extent, [examples], size, ground=self._grounded)
        self._structure: Program | None = None

    def _bound(self, engine: QueryEngine, model: Model) -> Program:
        program = bind_program(engine, self._layout, model, known=self._known)
        self._programs.callback(program.close)
        return program

    def _grounded(self, extent: Extent, examples: IntArray, budget: Budget | None) -> Window:
        """Count a window, let it choose, and ground it."""
        changed = self._listed.count(self._candidates, extent.examples, len(examples))
        return grounded(replace(extent, program=self._current(changed=changed)), examples, budget)

    def _current(self, *, changed: bool) -> Program:
        """Return the program of the model at hand."""
        if self._structure is None or changed:
            self._structure = self._bound(self._program.engine, self._given.structure(self._base))
            self._listed.take(self._structure)
        return self._structure

    def _to_learn(self, window: Window) -> Window:
        structure = self._current(changed=False)
        return replace(window, network=network_with_fixed(window.network, structure, self.clause_text))

    def _count(self, window: Window) -> None:
        """Add the open groundings alone: windows have other clauses than those at the end."""
        self._count_open(window)

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model of the rules that are left, with counts over all examples, and keep it."""
        # After the last window the program of the rules that are left is counted with.
        self._program = self._current(changed=False)
        self._extent = replace(self._extent, program=self._program)
        return super().model(weights, record)


@contextmanager
def drifting_training(
    session: Session, model: Model, given: Drifting, *, order: Ordering
) -> Iterator[DriftingTraining | DriftingExamples]:
    """Show what is left as windows that choose their rules while the context is open."""
    session.catalog.store.check_writable()
    shown = session.console.progress("following the stream")
    if isinstance(given.examples, StreamPart):
        given.examples.check(order)
        with session.verb(), shown, ExitStack() as held:
            stream = DriftingTraining(session, model, given.examples, given, held, limit=order["limit"])
            with stream.run.ending():
                yield stream
        return
    drift = given.drift
    known = known_model(model, drift.counted)
    everything = known.with_rules((*model.rules, *known.rules))
    roles = Roles(query=sorted(targets_of(drift.counted)))
    with session.verb(), shown, session.program(everything, training=True, roles=roles) as program:
        ids = session.example_ids(given.examples)
        with program.examples_table(ids) as chosen:
            check_training(program, chosen, order["limit"])
        with CandidateProgram(program.engine, program.public_layout, drift.counted) as candidates, ExitStack() as held:
            size, limit = given.size or FOLLOWED, order["limit"]
            examples = DriftingExamples(
                program, candidates, session, model, given, held, examples=ids, size=size, limit=limit
            )
            with examples.run.ending(), examples.drawing:
                yield examples
