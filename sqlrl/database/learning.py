"""What learners ask of a session: windows of examples for weights, and targets with their facts for clauses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sqlrl.catalog.choices import Choices
from sqlrl.database.blanket_training import BlanketTraining, blanket_training
from sqlrl.database.clause_search import clause_search, declarations
from sqlrl.database.drift import FOLLOWED, Drifting, drifting_training
from sqlrl.database.induction import InductionSession, induction, induction_bias
from sqlrl.database.selection import (
    CandidateRun,
    CandidateStream,
    known_model,
    learned_targets,
    selection,
    targets,
    to_learn_from,
)
from sqlrl.database.session import Query, Session
from sqlrl.database.soft_structure import SoftStructureData, soft_structure
from sqlrl.database.soft_training import SoftTraining, soft_training
from sqlrl.database.subgraph_learning import (
    Part,
    Pass,
    StreamSelection,
    StreamTraining,
    stream_selection,
    stream_training,
)
from sqlrl.database.subgraphs import Subgraphs
from sqlrl.database.training import TrainingStream, check_training
from sqlrl.errors import UnsupportedError
from sqlrl.ground.limits import GROUNDING_LIMIT
from sqlrl.learn.protocols import Ordering
from sqlrl.logic.candidates import Candidate
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.logic.terms import Predicate
from sqlrl.structure.beam.protocols import ClauseSearch
from sqlrl.structure.resolwe.protocols import DriftingStructure

if TYPE_CHECKING:
    from sqlrl.logic.bias import Bias
    from sqlrl.logic.modes import Modes


@dataclass(frozen=True, eq=False)
class Learning:
    """What learners are given of a database; `sqlrl.learn.protocols` and those of `sqlrl.structure` say what each part does."""

    session: Session

    def training_windows(
        self, model: Model, *, examples: Any = None, **order: Any
    ) -> AbstractContextManager[TrainingStream | StreamTraining]:
        """Show the training examples, or what is left of a stream, as grounded windows while the context is open."""
        if isinstance(examples, Drifting):
            return drifting_training(self.session, model, examples, order=cast(Ordering, order))
        if isinstance(examples, Part):
            return stream_training(self.session, model, examples, order=cast(Ordering, order))
        if isinstance(examples, Subgraphs):
            raise UnsupportedError(
                "a stream of subgraphs is what sqlrl.Resolwe learns from, with any online learner as weights=: give it the stream, or load the subgraphs"
            )
        return self._loaded_windows(model, examples=examples, **order)

    def blankets(
        self, model: Model, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT, opened: bool = False
    ) -> AbstractContextManager[BlanketTraining]:
        """Sort all atoms of the training examples by what the clauses of a model say of them, while the context is open."""
        if isinstance(examples, Subgraphs):
            raise UnsupportedError("a stream of subgraphs is what sqlrl.Resolwe learns from: load the subgraphs")
        return blanket_training(self.session, model, examples=examples, limit=limit, opened=opened)

    def declarations(self) -> dict[str, Predicate]:
        """Return the predicates that have data, with the types of their arguments."""
        return declarations(self.session)

    @contextmanager
    def found_blankets(
        self, model: Model, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT
    ) -> Iterator[BlanketTraining]:
        """Do what `blankets` does for rules that a search has found in the data, of which none can be a slip."""
        with self.session.rules_from_data(), self.blankets(model, examples=examples, limit=limit) as training:
            yield training

    def clause_search(
        self, model: Model | None, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT
    ) -> AbstractContextManager[ClauseSearch]:
        """Hold declarations and the rules that a search begins with against the training examples while the context is open."""
        if isinstance(examples, Subgraphs):
            raise UnsupportedError("a stream of subgraphs is what sqlrl.Resolwe learns from: load the subgraphs")
        return clause_search(self.session, model, examples=examples, limit=limit)

    def soft_structure(
        self, target: str | SoftModel, *, examples: Any = None, limit: int | None = None, symmetric: bool = False
    ) -> AbstractContextManager[SoftStructureData]:
        """Show the graph around the labelled atoms of a target while the context is open."""
        return soft_structure(self.session, target, examples=examples, limit=limit, symmetric=symmetric)

    def soft_training(
        self,
        model: SoftModel,
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        observed_bodies: bool = False,
    ) -> AbstractContextManager[SoftTraining]:
        """Hold a soft model against the training examples while the context is open."""
        if isinstance(examples, Subgraphs):
            raise UnsupportedError("a stream of subgraphs is what sqlrl.Resolwe learns from: load the subgraphs")
        return soft_training(self.session, model, examples=examples, limit=limit, observed_bodies=observed_bodies)

    @contextmanager
    def _loaded_windows(
        self,
        model: Model,
        *,
        examples: Any = None,
        size: int | None = None,
        order: str = "file",
        seed: int = 0,
        passes: int = 1,
        limit: int | None = GROUNDING_LIMIT,
        modes: Modes | None = None,
    ) -> Iterator[TrainingStream]:
        """Show training examples as grounded windows (`sqlrl.learn.protocols.Ordering`); with `modes` they have what path finding needs."""
        session = self.session
        Query(model, examples, limit=limit).check()
        session.catalog.store.check_writable()
        # A path may start at a target that no rule of the model mentions yet.
        labelled = {name for name, role in session.catalog.store.sources() if role == "label"}
        labelled &= set(model.predicates)
        targets = [name for name in modes.in_paths() if name in labelled] if modes else []
        if modes and not targets and not model.rules:
            # What the modes lack is said where they are checked against the targets.
            targets = sorted(labelled)
        with (
            session.verb(),
            session.console.progress("learning"),
            session.program(model, training=True, choices=Choices(query=targets), growing=modes is not None) as program,
        ):
            ids = session.example_ids(examples)
            with program.only(ids) as chosen:
                check_training(program, chosen, limit)
            random = np.random.default_rng(seed)
            orders = [random.permutation(ids) if order == "shuffle" else ids for _ in range(passes)]
            if modes is None:
                stream = TrainingStream(program, session, orders, size=size, limit=limit)
            else:
                from sqlrl.database.growing import GrowingStream

                stream = GrowingStream(program, session, orders, size=size, limit=limit, modes=modes)
            with stream.run.ending(), stream.drawing:
                yield stream

    def drawn(self, examples: Any) -> Any:
        """Return examples as the other methods take them: of a stream, a reading of it."""
        return Part(Pass(examples)) if isinstance(examples, Subgraphs) else examples

    def targets(self, model: Model, examples: Any) -> frozenset[str]:
        """Return the predicates of a model that are to be predicted."""
        return examples.reading.targets(model) if isinstance(examples, Part) else targets(self.session, model)

    def divided(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: Any,
        order: Ordering,
        choose: Callable[[int | None], int],
    ) -> tuple[Any, Any]:
        """Return the examples that choose structure, and those that are left for weights."""
        learned = learned_targets(model, candidates, self.targets(model, examples))
        if isinstance(examples, Part):
            return examples.divided(choose, learned)
        # Examples that nothing has any more go when data are bound, and the others may get other ids.
        known, opened = known_model(model, candidates, learned), Choices(query=sorted(learned))
        layout = self.session.bind(known, opened, training=True)
        ids = self.session.example_ids(examples)
        if order["order"] == "shuffle":
            ids = np.random.default_rng(order["seed"]).permutation(ids)
        first, rest = to_learn_from(self.session, layout, learned, ids, choose(len(ids)))
        return first, self.session.example_names(rest)

    def selection(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: Any,
        order: Ordering,
        *,
        saving: bool = False,
        decaying: bool = False,
    ) -> AbstractContextManager[CandidateStream | StreamSelection]:
        """Hold candidates against data while the context is open."""
        if isinstance(examples, Part):
            return stream_selection(self.session, model, candidates, examples, order, saving=saving)
        if decaying and order["size"] is None:
            order = {**order, "size": FOLLOWED}
        return selection(self.session, model, candidates, examples, order)

    def drifting(self, examples: Any, drift: DriftingStructure, session: CandidateRun, size: int | None) -> Drifting:
        """Return what is left for a learner of weights whose model follows it."""
        return Drifting(examples, drift, session, size)

    def induction_bias(self, target: Model | str, bias: Bias | None) -> Bias:
        """Return the bias for a target: the given one, checked against the data, or one from types and keys."""
        return induction_bias(self.session, target, bias)

    def induction(
        self, target: Model | str, bias: Bias, *, examples: Any = None, limit: int | None = None
    ) -> AbstractContextManager[InductionSession]:
        """Open a target with its data while the context is open."""
        return induction(self.session, target, bias, examples=examples, limit=limit)
