"""What a learner of weights is given whose model follows a stream: each window is counted, chooses the rules, and is grounded with those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sqlrl.catalog.choices import Choices
from sqlrl.catalog.layout import TableName
from sqlrl.engine.base import QueryEngine
from sqlrl.errors import UnsupportedError
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
from sqlrl.training.runs import RunKey
from sqlrl.training.selection import FOLLOWED, CandidateRun, known_model
from sqlrl.training.session import Session
from sqlrl.training.sources import WindowSource
from sqlrl.training.stream import CountedModel, ExampleStream, check_training, network_with_fixed, owners_of
from sqlrl.training.subgraph_stream import Part, SubgraphStream, check_templates
from sqlrl.training.subgraphs import SubgraphWindow

LOG = "rule_log"
"""What the state of a run calls the rules that came and went."""


@dataclass(frozen=True, eq=False)
class Drifting(WindowSource):
    """What is left to learn weights from, with the structure that follows it and the run that keeps the counts."""

    examples: Part | list[str]  # what is left of a stream, or names of loaded examples
    drift: Drift
    run: CandidateRun
    size: int | None  # how many loaded examples choose together; None for the default

    def training(
        self, session: Session, model: Model, order: Ordering
    ) -> AbstractContextManager[DriftingTraining | DriftingExamples]:
        """Show them as windows that choose their rules."""
        return drifting_training(session, model, self, order=order)

    def structure(self, base: Model) -> Model:
        """Return the model at hand."""
        return base.with_rules((*base.rules, *(self.drift.rules[i] for i in self.drift.active.tolist())))

    def count(self, held: CandidateProgram, examples: TableName | None, number: int) -> bool:
        """Count a window of so many subgraphs, let it choose, and keep it; tell whether the model has changed."""
        before = held.statements
        counts = held.counts(examples)
        self.drift.statements += held.statements - before
        changed = self.drift.add(counts, number)
        self.run.follow(self.drift.counts, self.drift.log())
        return changed

    def go_on(self, checkpoint: Checkpoint, stream: Mapping[str, Any]) -> None:
        """Be where the run of weights was when it was saved."""
        self.drift.go_on(checkpoint.arrays, stream[LOG])

    def saved(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return what is saved of the run, with what chooses."""
        return replace(checkpoint, arrays={**checkpoint.arrays, **self.drift.arrays()})


class DriftingClauses:
    """The clauses of a model whose rules come and go, by ids that stay: those of its base, then one for each rule that ever came."""

    def __init__(self, base: Program, drift: Drift) -> None:
        check_templates(base.model, "which come with each window: with half_life= write the constants")
        self._drift, self._owners = drift, owners_of(base)
        self._rules = len(base.model.rules)
        if (self._owners < 0).any():
            raise UnsupportedError(
                "a rule of the model has a quantifier over several literals of targets, and with half_life= its helper atoms would come and go with "
                "the rules around it: write it without"
            )
        # The id that stays, by the id that a clause has in the program of the current model.
        self.ids: IntArray = np.arange(len(self._owners))

    def hold(self, program: Program) -> None:
        """Take a program of the model at hand."""
        size, active = len(self._owners), self._drift.active
        wanted = np.concatenate([self._owners, self._rules + np.arange(len(active))])
        if not np.array_equal(owners_of(program), wanted):
            raise UnsupportedError(
                "a rule of the model has clauses for constants of the data, which come with each window: with half_life= write it without them"
            )
        self.ids = np.concatenate([np.arange(size), size + active])

    def text(self, clause: int) -> str | None:
        """Return the text of a clause that is not of the base, None of others."""
        place = clause - len(self._owners)
        return None if place < 0 else format_formula(self._drift.rules[place].formula)

    def stable(self, window: Window, *, changed: bool) -> Window:
        """Return a window with the ids that stay."""
        network = replace(window.network, clauses=self.ids[window.network.clauses])
        return replace(window, network=network, changed=changed)

    def weights(self, weights: FloatArray) -> FloatArray:
        """Return the weights of the clauses at hand, by their own ids; those that no window had have 0."""
        found = np.zeros(max(len(weights), int(self.ids.max(initial=-1)) + 1))
        found[: len(weights)] = weights
        return found[self.ids]

    def support(self, support: pa.Table) -> pa.Table:
        """Return the support of the clauses at hand, by their own ids."""
        clause = support.column("clause").to_numpy()
        place = np.full(max(int(clause.max(initial=-1)), int(self.ids.max(initial=-1))) + 1, -1, dtype=np.int64)
        place[self.ids] = np.arange(len(self.ids))
        kept = support.filter(pa.array(place[clause] >= 0))
        own = pa.array(place[kept.column("clause").to_numpy()], pa.int64())
        return kept.set_column(kept.column_names.index("clause"), "clause", own)


class DriftingTraining(SubgraphStream):
    """The windows of a stream that chooses the rules as it goes."""

    def __init__(self, session: Session, model: Model, part: Part, given: Drifting, *, limit: int | None) -> None:
        super().__init__(session, model, part, passes=1, limit=limit)
        self._given = given
        self._known = known_model(model, given.drift.counted)
        self._structure: Model | None = None
        try:
            self._listed = DriftingClauses(self._program, given.drift)
        except BaseException:
            self.close()
            raise

    def _grounded(self, found: SubgraphWindow) -> Window:
        """Count a window, let it choose, and ground it."""
        session = self._window.enter_context(self._windows.session(found))
        with (
            self._windows.held(session, self._known) as program,
            CandidateProgram(program.engine, program.public_layout, self._given.drift.counted) as held,
        ):
            changed = self._given.count(held, None, len(found.names))
        structure = self._held(changed=changed)
        program = self._window.enter_context(self._windows.held(session, structure))
        return self._listed.stable(self._network(found, session, program), changed=changed)

    def _held(self, *, changed: bool) -> Model:
        """Return the model at hand, which has been held against no data."""
        if self._structure is None or changed:
            self._structure = self._given.structure(self._model)
            self._hold(self._structure)
            self._listed.hold(self._program)
        return self._structure

    def clause_text(self, clause: int) -> str:
        """Return the text of a clause."""
        return self._listed.text(clause) or super().clause_text(clause)

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window."""
        super().save(self._given.saved(checkpoint))

    def state(self) -> dict[str, Any]:
        """Return what is saved of how far the stream is."""
        return {**super().state(), LOG: self._given.drift.events()}

    def go_on(self, checkpoint: Checkpoint, stream: Mapping[str, Any]) -> None:
        """Be where the run was when it was saved."""
        super().go_on(checkpoint, stream)
        self._given.go_on(checkpoint, stream)

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the learned model of the rules that are left, and keep it."""
        self._held(changed=False)
        support = self._listed.support(record.support)
        return super().model(self._listed.weights(weights), replace(record, support=support))

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses that are left with weights and support, the strongest first."""
        return super().clauses(self._listed.weights(weights), self._listed.support(support))


class DriftingExamples(ExampleStream):
    """The windows of loaded examples, which choose the rules as they come."""

    def __init__(
        self,
        program: Program,  # bound for the rules of `base`, which always stay, and all that candidates name
        held: CandidateProgram,
        session: Session,
        base: Model,
        given: Drifting,
        *,
        examples: IntArray,
        size: int,
        limit: int | None,
    ) -> None:
        self._layout, self._base, self._given, self._held = program.public_layout, base, given, held
        self._known = session.compiled
        self.programs = ExitStack()
        bound = self._bound(program.engine, base)
        super().__init__(bound, session, [examples], size=size, limit=limit)
        self._windows = Windows(self._extent, [examples], size, ground=self._grounded)
        self._listed = DriftingClauses(bound, given.drift)
        self._structure: Program | None = None

    def _bound(self, engine: QueryEngine, model: Model) -> Program:
        program = bind_program(engine, self._layout, model, known=self._known)
        self.programs.callback(program.close)
        return program

    def _grounded(self, extent: Extent, examples: IntArray, budget: Budget | None) -> Window:
        """Count a window, let it choose, and ground it."""
        changed = self._given.count(self._held, extent.examples, len(examples))
        structure = self._current(changed=changed)
        window = grounded(replace(extent, program=structure), examples, budget)
        network = network_with_fixed(window.network, structure, self.clause_text)
        return self._listed.stable(replace(window, network=network), changed=changed)

    def _current(self, *, changed: bool) -> Program:
        """Return the program of the model at hand."""
        if self._structure is None or changed:
            self._structure = self._bound(self._program.engine, self._given.structure(self._base))
            self._listed.hold(self._structure)
        return self._structure

    def _to_learn(self, window: Window) -> Window:
        """Return the window as it is: what clauses of fixed weight add is a part of it."""
        return window

    def _count(self, window: Window) -> None:
        """Add the open groundings of a window, by the ids that stay."""
        network = window.network
        found = np.full(max(len(self._open), int(network.clauses.max(initial=-1)) + 1), 0, dtype=object)
        found[: len(self._open)] = self._open
        found[network.clauses] += network.open
        self._open = found

    def clause_text(self, clause: int) -> str:
        """Return the text of a clause."""
        return self._listed.text(clause) or super().clause_text(clause)

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return RunKey(learner, parameters, self._base, self._ordered)

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window."""
        super().save(self._given.saved(checkpoint))

    def state(self) -> dict[str, Any]:
        """Return what is saved of how far the stream is."""
        return {**super().state(), LOG: self._given.drift.events()}

    def go_on(self, checkpoint: Checkpoint, stream: Mapping[str, Any]) -> None:
        """Be where the run was when it was saved."""
        super().go_on(checkpoint, stream)
        self._given.go_on(checkpoint, stream)

    def _learned(self, weights: FloatArray, support: pa.Table) -> CountedModel:
        """Make the learned model of the rules that are left, with counts over all examples."""
        # After the last window the base class counts with the program of the rules that are left.
        self._program = self._current(changed=False)
        self._extent = replace(self._extent, program=self._program)
        opened, ids = self._open, self._listed.ids
        found = np.full(int(ids.max(initial=-1)) + 1, 0, dtype=object)
        found[: len(opened)] = opened[: len(found)]
        self._open = found[ids]
        return super()._learned(self._listed.weights(weights), self._listed.support(support))

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses that are left with weights and support, the strongest first."""
        return super().clauses(self._listed.weights(weights), self._listed.support(support))


@contextmanager
def drifting_training(
    session: Session, model: Model, given: Drifting, *, order: Ordering
) -> Iterator[DriftingTraining | DriftingExamples]:
    """Show what is left as windows that choose their rules while the context is open."""
    session.catalog.store.check_writable()
    shown = session.console.progress("following the stream")
    if isinstance(given.examples, Part):
        given.examples.check(order)
        with session.verb(), shown:
            stream = DriftingTraining(session, model, given.examples, given, limit=order["limit"])
            try:
                with stream.run.ending():
                    yield stream
            finally:
                stream.close()
        return
    drift = given.drift
    known = known_model(model, drift.counted)
    everything = known.with_rules((*model.rules, *known.rules))
    choices = Choices(query=sorted(targets_of(drift.counted)))
    with session.verb(), shown, session.program(everything, training=True, choices=choices) as program:
        ids = session.example_ids(given.examples)
        with program.only(ids) as chosen:
            check_training(program, chosen, order["limit"])
        with CandidateProgram(program.engine, program.public_layout, drift.counted) as held:
            size = given.size or FOLLOWED
            examples = DriftingExamples(
                program, held, session, model, given, examples=ids, size=size, limit=order["limit"]
            )
            with examples.programs, examples.run.ending(), examples.drawing:
                yield examples
