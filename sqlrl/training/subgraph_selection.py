"""Structure from a stream of subgraphs: its first ones with candidates held against them, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlrl.errors import InputError
from sqlrl.ground.candidates import CandidateProgram, JointCounts
from sqlrl.ground.network import IntArray
from sqlrl.logic.candidates import Candidate, targets_of
from sqlrl.logic.model import Model
from sqlrl.logic.subformulas import atoms_of
from sqlrl.training.ordering import Ordering
from sqlrl.training.runs import RunKey
from sqlrl.training.selection import CandidateRun, known_model
from sqlrl.training.session import Session
from sqlrl.training.subgraph_stream import StreamPart, SubgraphProvenance, WindowDatabases
from sqlrl.training.subgraphs import SubgraphWindow
from sqlrl.wording import counted


class StreamSelection(CandidateRun):
    """The first subgraphs of a stream with candidates held against them."""

    def __init__(self, session: Session, model: Model, candidates: Sequence[Candidate], part: StreamPart) -> None:
        super().__init__(session.records, model)
        self._part, self._candidates = part, candidates
        known = known_model(model, candidates)
        part.reading.check_needed(
            sorted({a.predicate for rule in known.rules for a in atoms_of(rule.formula)}), "the templates name"
        )
        self._windows = WindowDatabases(session, part, known)
        self._kept = SubgraphProvenance(session.records, part.reading, targets_of(candidates))
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

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        """Return what makes the run the one that it is."""
        return self._part.key(learner, parameters, self.model)


@contextmanager
def stream_selection(
    session: Session, model: Model, candidates: Sequence[Candidate], part: StreamPart, order: Ordering, *, saving: bool
) -> Iterator[StreamSelection]:
    """Hold candidates against a stream while the context is open; with `saving` the run shall be one that can be resumed."""
    session.catalog.store.check_writable()
    part.check(order)
    if saving:
        part.check_again()
    with session.verb(), session.console.progress("choosing structure"):
        yield StreamSelection(session, model, candidates, part)
