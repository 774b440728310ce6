"""The data of a session as learners take them: windows of examples for weights, and targets with their facts for clauses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlrl.catalog.derived_bias import CONSTANTS
from sqlrl.errors import InputError, UnsupportedError
from sqlrl.ground.limits import GROUNDING_LIMIT, MissingAtoms
from sqlrl.logic.limits import MOST_CANDIDATES
from sqlrl.logic.model import Model
from sqlrl.report import Table
from sqlrl.training.session import Query, Session
from sqlrl.training.sources import WindowSource

if TYPE_CHECKING:
    from sqlrl.logic.bias import Bias
    from sqlrl.logic.candidates import Candidate
    from sqlrl.logic.grammar import Grammar
    from sqlrl.logic.psl import SoftModel
    from sqlrl.logic.terms import Predicate
    from sqlrl.training.blankets import BlanketTraining
    from sqlrl.training.clause_search import ClauseSearch, SearchRun
    from sqlrl.training.induction import InductionSession
    from sqlrl.training.ordering import Order, Ordering
    from sqlrl.training.selection import CandidateRun
    from sqlrl.training.soft import SoftTraining
    from sqlrl.training.soft_structure import SoftStructureData
    from sqlrl.training.stream import ClauseChanges, ExampleStream, TrainingStream


class _Advanced(Protocol):
    @property
    def learning(self) -> Learning: ...


class TrainingDatabase(Protocol):
    """A database to learn from; `sqlrl.Database` is one. `advanced.learning` are its data as learners take them."""

    @property
    def advanced(self) -> _Advanced: ...


# What learning imports is imported when something is learned: `connect` makes one of these.
@dataclass(frozen=True, eq=False)
class Learning:
    """The data of a session as learners take them. A context that an exception leaves, also KeyboardInterrupt, leaves the database consistent."""

    session: Session

    def training_windows(
        self,
        model: Model,
        *,
        examples: Any = None,
        changes: ClauseChanges | None = None,  # how the learner changes the clauses of the model
        size: int | None = None,  # this and what follows as in `Ordering`
        order: Order = "file",
        seed: int = 0,
        passes: int = 1,
        limit: int | None = GROUNDING_LIMIT,
    ) -> AbstractContextManager[TrainingStream]:
        """Hold a model against the training examples and show them as grounded windows while the context is open.

        `examples` of a stream of subgraphs are what `drawn` makes of it, for learners to which a window may be gone when the next comes.
        """
        asked: Ordering = {"size": size, "order": order, "seed": seed, "passes": passes, "limit": limit}
        if isinstance(examples, WindowSource):
            Query(model, limit=limit).check()
            return examples.training(self.session, model, asked, changes)
        refuse_streams(examples)
        return self._loaded(model, examples, asked, changes)

    @contextmanager
    def _loaded(
        self,
        model: Model,
        examples: Any,
        order: Ordering,
        changes: ClauseChanges | None,
    ) -> Iterator[ExampleStream]:
        """Show loaded examples as a stream; a run that an error or Ctrl-C ends is kept with that status."""
        import numpy as np

        from sqlrl.catalog.roles import Roles
        from sqlrl.training.stream import ClauseChanges, ExampleStream, check_training

        changes = changes or ClauseChanges()
        session, limit = self.session, order["limit"]
        Query(model, examples, limit=limit).check()
        session.catalog.store.check_writable()
        labelled = {name for name, role in session.catalog.store.sources() if role == "label"}
        labelled &= set(model.predicates)
        targets = changes.predicted(model, labelled)
        with (
            session.verb(),
            session.console.progress("learning"),
            session.program(model, training=True, roles=Roles(query=targets), adds_rules=changes.searching) as program,
        ):
            ids = session.example_ids(examples)
            with program.examples_table(ids) as chosen:
                check_training(program, chosen, limit)
            random = np.random.default_rng(order["seed"])
            passes = [random.permutation(ids) if order["order"] == "shuffle" else ids for _ in range(order["passes"])]
            found = ExampleStream(program, session, passes, size=order["size"], limit=limit, changes=changes)
            with found.run.ending(), found.drawing:
                yield found

    def blankets(
        self, model: Model, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT, open_only: bool = False
    ) -> AbstractContextManager[BlanketTraining]:
        """Sort the atoms of the training examples by what the clauses of a model say of them; with `open_only` those of open predicates alone."""
        from sqlrl.training.blankets import blanket_training

        refuse_streams(examples)
        return blanket_training(self.session, model, examples=examples, limit=limit, open_only=open_only)

    @contextmanager
    def found_blankets(
        self, model: Model, run: SearchRun, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT
    ) -> Iterator[BlanketTraining]:
        """Do what `blankets` does for rules that a search has found in the data, of which none can be a slip; its run is that of the search."""
        from sqlrl.training.blankets import blanket_training

        with (
            self.session.rules_from_data(),
            blanket_training(self.session, model, examples=examples, limit=limit, run=run.run) as training,
        ):
            training.keep_examples()
            yield training

    def search_run(self, model: Model | None, *, examples: Any = None) -> AbstractContextManager[SearchRun]:
        """Open the run of a search for clauses, before there is a model."""
        from sqlrl.training.clause_search import search_run

        refuse_streams(examples)
        return search_run(self.session, model, examples)

    def declarations(self) -> Mapping[str, Predicate]:
        """Return the predicates that have data, with the types of their arguments."""
        from sqlrl.training.clause_search import declarations

        return declarations(self.session)

    def clause_search(
        self, model: Model | None, *, examples: Any = None, limit: int | None = GROUNDING_LIMIT
    ) -> AbstractContextManager[ClauseSearch]:
        """Hold declarations and the rules that a search begins with against the training examples while the context is open."""
        from sqlrl.training.clause_search import clause_search

        refuse_streams(examples)
        return clause_search(self.session, model, examples=examples, limit=limit)

    def soft_structure(
        self, target: str | SoftModel, *, examples: Any = None, limit: int | None = None, symmetric: bool = False
    ) -> AbstractContextManager[SoftStructureData]:
        """Show the graph around the labelled atoms of a target while the context is open."""
        from sqlrl.training.soft_structure import soft_structure

        refuse_streams(examples)
        return soft_structure(self.session, target, examples=examples, limit=limit, symmetric=symmetric)

    def soft_training(
        self,
        model: SoftModel,
        *,
        examples: Any = None,
        limit: int | None = GROUNDING_LIMIT,
        observed_bodies: bool = False,
        missing: MissingAtoms = "error",
        written: int | None = None,
        in_parts: bool = False,
    ) -> AbstractContextManager[SoftTraining]:
        """Hold a soft model against the training examples while the context is open; `in_parts` as of `training.soft.soft_training`."""
        from sqlrl.training.soft import soft_training

        refuse_streams(examples)
        return soft_training(
            self.session, model, examples=examples, limit=limit, observed_bodies=observed_bodies, missing=missing, written=written,
            in_parts=in_parts,
        )  # fmt: skip

    # ---- streams of subgraphs, and structure from them -------------------------------------------------------

    def drawn(self, examples: Any) -> Any:
        """Return examples as `training_windows` and the methods below take them: of a stream, a reading of it."""
        from sqlrl.training.subgraphs import Subgraphs

        if not isinstance(examples, Subgraphs):
            return examples
        from sqlrl.training.subgraph_stream import Pass, StreamPart

        return StreamPart(Pass(examples))

    def targets(self, model: Model, examples: Any) -> frozenset[str]:
        """Return the predicates of a model that are to be predicted."""
        from sqlrl.training.selection import targets
        from sqlrl.training.subgraph_stream import StreamPart

        return examples.reading.targets(model) if isinstance(examples, StreamPart) else targets(self.session, model)

    def divided(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: Any,
        order: Ordering,
        choose: Callable[[int | None], int],  # how many choose structure, of so many, or of unknown length (None)
    ) -> tuple[Any, Any]:
        """Return the examples that choose structure, and those left for weights, in order, both without those that nothing is learned from."""
        from sqlrl.training.selection import divided, learned_targets
        from sqlrl.training.subgraph_stream import StreamPart

        learned = learned_targets(model, candidates, self.targets(model, examples))
        if isinstance(examples, StreamPart):
            return examples.divided(choose, learned)
        return divided(self.session, model, candidates, examples, order, choose, learned)

    def selection(
        self,
        model: Model,
        candidates: Sequence[Candidate],
        examples: Any,
        order: Ordering,
        *,
        saving: bool = False,  # whether the run shall be one that can be resumed
        decaying: bool = False,  # whether windows are smaller, if nobody says how large
    ) -> AbstractContextManager[CandidateRun]:
        """Hold candidates against examples while the context is open; what is kept of the run can be written after that, too."""
        from sqlrl.training.selection import FOLLOWED, selection
        from sqlrl.training.subgraph_selection import stream_selection
        from sqlrl.training.subgraph_stream import StreamPart

        if isinstance(examples, StreamPart):
            return stream_selection(self.session, model, candidates, examples, order, saving=saving)
        if decaying and order["size"] is None:
            order = {**order, "size": FOLLOWED}
        return selection(self.session, model, candidates, examples, order)

    def candidates(self, templates: Grammar, model: Model, *, limit: int = MOST_CANDIDATES) -> Table:
        """List the candidates of templates; `Grammar.candidates` explains it."""
        from sqlrl.logic.grammar import Grammar
        from sqlrl.training.selection import list_candidates

        if not isinstance(templates, Grammar):
            raise InputError(f"templates={templates!r}: give what sqlrl.parse_grammar or sqlrl.read_grammar returns")
        return Table(list_candidates(self.session, templates, model, limit))

    # ---- clauses from bottom clauses -------------------------------------------------------------------------

    def induction_bias(self, target: Model | str, bias: Bias | None) -> Bias:
        """Return the bias for a target: the given one, checked against the data, or one from types and keys."""
        from sqlrl.training.induction import induction_bias

        return induction_bias(self.session, target, bias)

    def derived_bias(self, target: str, *, body: Collection[str] | None = None, constants: int = CONSTANTS) -> Bias:
        """Derive a bias from types and keys; `Bias.derive` explains it."""
        from sqlrl.catalog.derived_bias import derive_bias

        with self.session.verb(), self.session.console.progress("deriving a bias"):
            return derive_bias(self.session.catalog.store, target, body=body, constants=constants)

    def induction(
        self, target: Model | str, bias: Bias, *, examples: Any = None, limit: int | None = None
    ) -> AbstractContextManager[InductionSession]:
        """Open a target with its data and a run while the context is open; `limit` bounds bindings and facts around seeds."""
        from sqlrl.training.induction import induction

        refuse_streams(examples)
        return induction(self.session, target, bias, examples=examples, limit=limit)


def refuse_streams(examples: object) -> None:
    """Refuse a stream of subgraphs in place of loaded examples."""
    from sqlrl.training.subgraphs import Subgraphs

    if isinstance(examples, Subgraphs):
        raise UnsupportedError(
            "a stream of subgraphs is gone when it was read, and this learner goes back to its examples: load the subgraphs, or take an online learner "
            "(sqlrl.AdaGrad and others), sqlrl.OSL or sqlrl.Resolwe, which learn from a stream"
        )
