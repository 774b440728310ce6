"""Training streams: the windows that a learner is given, what it does to their clauses (OSL adds some, others come and go), and the run that it keeps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlrl.catalog.checks import warn_alike, warn_empty
from sqlrl.catalog.layout import TableName
from sqlrl.errors import GroundingWarning, InputError, Parameter, warn
from sqlrl.garbage import seldom_sought
from sqlrl.ground.clauses import (
    atom_texts,
    clause_table,
    constant_names,
    example_names,
    known_weights,
    learned_model,
    shape_table,
)
from sqlrl.ground.counts import check_counts
from sqlrl.ground.fixed import with_fixed
from sqlrl.ground.network import FloatArray, IntArray, Network
from sqlrl.ground.program import Extent, Program
from sqlrl.ground.windows import Window, Windows, adds_up, grounded
from sqlrl.logic.expansions import without_zeros
from sqlrl.logic.model import Model
from sqlrl.logic.printer import placed
from sqlrl.logic.subformulas import atoms_of
from sqlrl.plan.sources import OBSERVED
from sqlrl.progress import Stage
from sqlrl.training.atom_groups import atom_groups
from sqlrl.training.provenance import RANKING, TABLE, keep_learned_from
from sqlrl.training.records import Checkpoint, TrainingRecord
from sqlrl.training.runs import History, LearnedModel, LearnerRun, Provisional, Run, RunKey
from sqlrl.training.session import Session
from sqlrl.training.shelf import spill_directory
from sqlrl.training.statistics import (
    ClauseCounts,
    Counts,
    added_statistics,
    counted_statistics,
    learned_statistics,
    window_counts,
    with_excess,
)
from sqlrl.wording import counted

_SHOWN = 5

Value = TypeVar("Value", bound=np.generic)


def check_training(program: Program, chosen: TableName, limit: int | None) -> None:
    """Refuse what could not be counted at the end of a run, and warn of examples that say nothing."""
    # At the end of a run all clauses are counted: what cannot be is refused before the first step.
    check_counts(Extent(program, chosen, limit), [OBSERVED])
    warn_empty(program.engine, program.public_layout, chosen)
    warn_alike(program.engine, program.public_layout, chosen)


@dataclass(frozen=True, eq=False)
class CountedModel(LearnedModel):
    """A learned model, and what was counted of its clauses: rows of `sqlrl.clause_statistics`, without the run."""

    statistics: pa.Table

    def without_zeros(self, open_predicates: Iterable[str]) -> CountedModel:
        """Return it without the clauses whose weight is 0; the others keep their ids. Predicates in `open_predicates` are still predicted."""
        left = without_zeros(self.model, open_predicates)
        fixed = {i for i, rule in enumerate(self.model.rules) if rule.fixed}
        owners, weights = (self.clauses.column(name).to_pylist() for name in ("rule", "weight"))
        seen, kept = set[int](), list[bool]()
        for rule, weight in zip(owners, weights, strict=True):
            kept.append(
                rule in left.place and (weight != 0 or rule in fixed or (rule in left.first and rule not in seen))
            )
            seen.add(rule)
        clauses = self.clauses.filter(pa.array(kept, pa.bool_()))
        rules = pa.array([left.place[rule] for rule in clauses.column("rule").to_pylist()], pa.int32())
        clauses = clauses.set_column(clauses.column_names.index("rule"), "rule", rules)
        of_kept = pc.is_in(self.statistics.column("clause"), clauses.column("clause"))
        return CountedModel(left.model, clauses, self.shapes, self.statistics.filter(of_kept))


class ClauseChanges:
    """Clauses that stay as the model has them; learners that change clauses say in its place what is different, whatever the stream is of."""

    searching = False
    """Whether clauses are looked for, so that the model may have no rule yet."""

    provisional: Provisional | None = None
    """The ids that added clauses have in the history, if there are any."""

    # ---- before the first window -----------------------------------------------------------------------------

    def predicted(self, model: Model, labelled: Collection[str]) -> list[str]:
        """Return which of the predicates with labels are predicted besides those that the model's rules name."""
        return []

    def hold(self, stream: TrainingStream) -> None:
        """Take the stream, which holds the clauses of the model by now."""

    def parameters(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """Return the parameters of a run as they are kept."""
        return parameters

    # ---- window by window ------------------------------------------------------------------------------------

    def prepared_window(self, window: Window, program: Program, examples: IntArray) -> AbstractContextManager[Window]:
        """Show a window as the learner sees it while the context is open; `examples` are the ids that the program has for its examples."""
        return nullcontext(window)

    def text(self, clause: int) -> str | None:
        """Return the text of a clause that the stream's own program does not have, None of others."""
        return None

    # ---- what is saved ---------------------------------------------------------------------------------------

    def saved(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint with what is saved of the changes."""
        return checkpoint

    def state(self) -> dict[str, Any]:
        """Return what else is saved, beside how far the stream is."""
        return {}

    def go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        """Be where the run was when it was saved."""

    # ---- ids -------------------------------------------------------------------------------------------------

    def run_ids(self, clauses: IntArray) -> IntArray:
        """Return the ids by which a run knows clauses of the window's program."""
        return clauses

    def stream_values(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """Return values by clause as the stream's program numbers its clauses."""
        return values

    def stream_support(self, support: pa.Table) -> pa.Table:
        """Return the support of clauses as the stream's program numbers them."""
        return support

    # ---- at the end ------------------------------------------------------------------------------------------

    def learned(self, stream: TrainingStream, weights: FloatArray, support: pa.Table) -> CountedModel:
        """Make the learned model, and what is kept of it."""
        return stream.learned(self.stream_values(weights), self.stream_support(support))

    def rows(self) -> Mapping[str, pa.Table]:
        """Return what else is kept of the run, by table; called after `learned`."""
        return {}


class TrainingStream(LearnerRun):
    """Windows of training examples, grounded one after the other, and the run that learns from them."""

    apart = False
    """Whether each window is a database of its own, in which constants and query atoms have other ids."""

    def __init__(
        self,
        session: Session,
        program: Program,  # its clauses are those that are learned
        changes: ClauseChanges,  # what the learner does to them
        run: Run | None = None,  # one that has begun
    ) -> None:
        self._records, self._program, self.changes = session.records, program, changes
        changes.hold(self)
        self.run = run or Run(session.records, changes.provisional)
        # Closed by whoever opened the stream: an error in the middle leaves the iterator open as long as its traceback lives.
        self.drawing = ExitStack()
        self._clauses: pa.Table | None = None
        # Open groundings by clause in the windows of the first pass, None if nobody knows.
        self._open: Counts | None = np.zeros(0, dtype=object)
        self._whole = False

    @property
    def program(self) -> Program:
        """Holds the clauses that are learned."""
        return self._program

    # ---- windows -----------------------------------------------------------------------------------------

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of windows of all passes; of a stream of unknown length, of those so far."""

    @abstractmethod
    def __iter__(self) -> Generator[Window]:
        """Ground one window after the other, when it is asked for; after `resume` those that are left. Called once."""

    @abstractmethod
    def window(self, examples: IntArray) -> Window:
        """Ground some training examples by themselves; clauses keep their ids. Called after all windows that hold them."""

    @abstractmethod
    def atom_groups(self, groups: Any) -> tuple[IntArray, IntArray]:
        """Return ids of query atoms and a group of each, from 0; see `training.atom_groups`."""

    @abstractmethod
    def example_name(self, example: int) -> str:
        """Return the name of an example."""

    def example_names(self, examples: IntArray) -> dict[int, str]:
        """Return the names of examples by their ids."""
        return {example: self.example_name(example) for example in np.unique(examples).tolist()}

    def atom_text(self, atom: int) -> str:
        """Return the text of a query atom."""
        return atom_texts(self._program, np.array([atom], dtype=np.int64)).get(atom, f"atom {atom}")

    def spill_directory(self) -> Path | None:
        """Return where arrays go that are too large for the memory: where those of DuckDB go; None if nothing is to go to files."""
        return spill_directory(self._records.engine)

    # ---- clauses -----------------------------------------------------------------------------------------

    def clause_text(self, clause: int) -> str:
        """Return the text of a clause, with its constants."""
        other = self.changes.text(clause)
        if other is not None:
            return other
        listed = clause_table(self._program)
        place = int(np.searchsorted(listed.column("clause").to_numpy(), clause))
        text: str = listed.column("text")[place].as_py()
        return text

    def clause_rules(self) -> IntArray:
        """Return the place in the model of each clause's rule, by clause id; -1 for definitions of helper atoms."""
        # Rules that a rule with `*`, or one of Alchemy's semantics, stands for have its place. Hard rules that state blocks have no clause.
        return owners_of(self._program)

    def with_fixed(self, weights: FloatArray) -> FloatArray:
        """Return learned weights, shape (m,), with those that the model fixes in their places, where learners have 0."""
        return fixed_among(self._program, weights)

    def known_weights(self, model: Model, first: int, last: int) -> tuple[FloatArray, int]:
        """Return the weights that a model gives to clauses `first` to `last - 1`, 0 for others, and for how many clauses it gives one."""
        check_semantics(self._program, model)
        return known_weights(self._program, model, first, last)

    def clauses(self, weights: FloatArray, support: pa.Table) -> pa.Table:
        """Return the clauses with weights and support, the strongest first; works after the stream was left."""
        listed = self._clauses
        if listed is None:
            listed = clause_table(self._program, self.changes.stream_values(weights))
        return clause_listing(listed, self.changes.stream_support(support))

    # ---- the run -----------------------------------------------------------------------------------------

    def by_iterations(self) -> None:
        """Let the steps of the run be iterations over all windows, which a run that goes on reads again. Called before it begins."""
        self._whole, self.run.unit = True, "iteration"

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number. Called once, before anything else."""
        key = self._key(learner, self.changes.parameters(parameters))
        return self.run.begin(learner, key.parameters, seed, key)

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Resume a run that was saved, in place of `begin`; an InputError says which of learner, parameters, model, examples and data differs."""
        checkpoint, state = self.run.resume(run, self._key(learner, self.changes.parameters(parameters)))
        if not self._whole:
            opened = state.get("open")
            # An earlier version of sqlrl counted no groundings of streams.
            self._open = None if opened is None else np.array(opened, dtype=object)
            self._go_on(checkpoint, state)
            self.changes.go_on(checkpoint, state)
        return checkpoint

    def save(self, checkpoint: Checkpoint) -> None:
        """Save the run after a window, all or nothing, in place of what was saved before."""
        opened = None if self._open is None else [int(n) for n in self._open]
        with self._records.together():
            rows = {name: self._steps(some) if name == "step" else some for name, some in checkpoint.rows.items()}
            checkpoint = self.changes.saved(replace(checkpoint, rows=rows))
            self.run.save(checkpoint, {"open": opened, **self._state(), **self.changes.state()})
            self._keep_examples()

    def model(self, weights: FloatArray, record: TrainingRecord) -> Model:
        """Make the model with learned weights, and keep it with the run, all or nothing; missing weights of the last clauses are 0."""
        # Thousands of clauses are named, counted and stored, after the last window has moved the bar to its end.
        with Stage("keeping the model"), seldom_sought():
            found = self.changes.learned(self, weights, record.support)
            excess = None if record.excess is None else excess_without_fixed(self._program, record.excess)
            found = replace(found, statistics=with_excess(found.statistics, excess))
            if record.drop_zeros:
                layout = self._program.public_layout.predicates
                found = found.without_zeros(name for name, info in layout.items() if info.open)
            if record.learner in RANKING:
                found = replace(found, model=replace(found.model, ranked_by=record.learner))
            rows = {"iteration": record.iterations, "tuning": record.tuning}
            rows = {"step": self._steps(record.steps), **{name: data for name, data in rows.items() if len(data)}}
            key = self._key(record.learner, self.changes.parameters(record.parameters))
            with self._records.together():
                self._keep_examples()
                self.run.finish(
                    found, {**rows, "clause_statistics": found.statistics, **self._rows()}, origin=record.learner,
                    seconds=record.seconds, status=record.status, learner=record.learner, parameters=key.parameters, seed=record.seed,
                )  # fmt: skip
        self._clauses = found.clauses
        return found.model

    def history(self) -> History:
        """Open the place where changes are stored. Called at most once, and not by a run that saves."""
        return self.run.history()

    def learned(self, weights: FloatArray, support: pa.Table) -> CountedModel:
        """Make the learned model of the program's clauses, and what is kept of it."""
        program = self._program
        full = np.zeros(program.clause_count)
        full[: len(weights)] = weights
        clauses = clause_table(program, full, keys=True)
        statistics = self._statistics(support, clauses.column("clause").to_numpy())
        learned = learned_model(program, full, self._constants)
        return CountedModel(learned, clauses, shape_table(program), statistics)

    @abstractmethod
    def added_statistics(self, added: Program, support: pa.Table, shown: IntArray) -> pa.Table:
        """Return what is kept of the counts of clauses in `shown` that no window had grounded; `added` is bound as the stream's program."""

    # ---- what kinds of streams do differently ----------------------------------------------------------------

    @abstractmethod
    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        """Return what makes the run the one that it is."""

    @abstractmethod
    def _state(self) -> dict[str, Any]:
        """Return what is saved of how far the stream is."""

    @abstractmethod
    def _go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        """Go to where the stream was when the run was saved."""

    @abstractmethod
    def _statistics(self, support: pa.Table, shown: IntArray) -> pa.Table:
        """Return the counts of the clauses that users see, and warn of rules that the training examples say nothing of."""

    def _constants(self, kind: str) -> Sequence[str]:
        """Return the constants of a type in the data, in their order."""
        return constant_names(self._program, kind)

    def _steps(self, steps: pa.Table) -> pa.Table:
        """Return steps as they are kept."""
        return steps

    def _keep_examples(self) -> None:
        """Keep which examples the run has learned from since it did so last; those that are loaded are kept when it begins."""
        return

    def _rows(self) -> Mapping[str, pa.Table]:
        """Return what else is kept of the run, by table."""
        return self.changes.rows()

    # ---- what windows have -----------------------------------------------------------------------------------

    def _count_open(self, window: Window) -> None:
        """Add the open groundings of a window of the first pass; a clause that is not known yet has none in it, but others may have."""
        if self._open is None:
            return
        clauses = self.changes.run_ids(window.network.clauses)
        found = np.full(max(len(self._open), int(clauses.max(initial=-1)) + 1), 0, dtype=object)
        found[: len(self._open)] = self._open
        found[clauses] += window.network.open
        self._open = found

    def _own_open(self) -> Counts:
        """Return the open groundings so far as the program numbers its clauses; those of clauses that no window had may lack."""
        assert self._open is not None
        return self.changes.stream_values(self._open)

    def _unsaid(self, what: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
        """Return what nobody was told of the data so far."""
        return list(what)

    def _warn_of_idle(self, open_counts: Counts, *, closed: bool = False) -> None:
        """Warn of rules with weights without an open ground clause (`open_counts`, by clause); with `closed` also of those of closed predicates alone."""
        program, owners = self._program, self.clause_rules()
        open_counts = open_counts[: len(owners)]
        busy = set(owners[: len(open_counts)][open_counts.astype(bool)].tolist())
        layout = program.public_layout.predicates
        # Under Alchemy's semantics a rule comes to several, of which one may do.
        idle = {
            owner: rule
            for rule, owner in reversed(list(zip(program.model.rules, program.owners, strict=True)))
            if owner not in busy
            and not rule.hard
            and (closed or any(layout[a.predicate].open for a in atoms_of(rule.formula) if a.predicate in layout))
        }
        unsaid = [
            str(text) for _, text in self._unsaid(("no ground clause", placed(idle[owner])) for owner in sorted(idle))
        ]
        if unsaid:
            more = f" and {len(unsaid) - _SHOWN:,} more" if len(unsaid) > _SHOWN else ""
            one = len(unsaid) == 1
            warn(
                f"{counted(len(unsaid), 'rule')} {'has' if one else 'have'} no ground clause in the training data, so nothing is learned of "
                f"{'its weight' if one else 'their weights'}: {'; '.join(unsaid[:_SHOWN])}{more}: check the constants, and whether the "
                "predicates that it joins share any",
                GroundingWarning,
            )


class ExampleStream(TrainingStream):
    """Windows of loaded examples."""

    def __init__(
        self,
        program: Program,
        session: Session,
        passes: list[IntArray],  # ids of the examples of each pass, in order
        *,
        size: int | None,  # examples in a window (see `Windows`)
        limit: int | None,  # the most ground clauses of one shape in a window
        changes: ClauseChanges | None = None,
        run: Run | None = None,  # one that has begun
    ) -> None:
        super().__init__(session, program, changes or ClauseChanges(), run)
        self._extent, self._session = Extent(program, limit=limit), session
        self._windows = Windows(self._extent, passes, size, ground=grounded)
        self.examples = np.sort(passes[0]) if passes else np.zeros(0, np.int64)
        self._ordered = np.concatenate([np.zeros(0, np.int64), *passes])
        # Of the windows of the first pass, as long as they know the same clauses, and how many examples these have.
        self._counted: ClauseCounts | None = None
        self._counted_examples = 0
        # Windows of the run before it was resumed.
        self._done = 0

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Generator[Window]:
        task = self.drawing.enter_context(Stage("examples", len(self._ordered), even=True))
        task.advance(self._windows.examples_of(self._done))
        for number, window in self._windows.after(self._done):
            if number == 0:
                self._count(window)
            with self.changes.prepared_window(self._to_learn(window), self._program, window.examples) as shown:
                yield shown
            task.advance(len(window.examples))
        self.drawing.close()

    def window(self, examples: IntArray) -> Window:
        """Ground some training examples by themselves."""
        ((_, found),) = Windows(self._extent, [examples], len(examples), ground=grounded)
        return self._to_learn(found)

    def _to_learn(self, window: Window) -> Window:
        """Return a window as learners see it: what clauses of fixed weight add is a part of its atoms' prior log-odds."""
        return replace(window, network=network_with_fixed(window.network, self._program, self.clause_text))

    def example_name(self, example: int) -> str:
        """Return the name of an example."""
        return self.example_names(np.array([example], dtype=np.int64))[example]

    def example_names(self, examples: IntArray) -> dict[int, str]:
        """Return the names of examples by their ids."""
        return example_names(self._program.engine, self._program.layout, examples)

    def atom_groups(self, groups: Any) -> tuple[IntArray, IntArray]:
        """Return ids of query atoms and a group of each; see `atom_groups`."""
        return atom_groups(self._records.engine, self._program.public_layout, groups)

    def begin(self, learner: str, parameters: Mapping[str, object], seed: int) -> int:
        """Record that the run has begun; return its number."""
        run = super().begin(learner, parameters, seed)
        keep_learned_from(self._records, self._program, self.examples, run)
        return run

    def resume(self, run: int, learner: str, parameters: Mapping[str, object]) -> Checkpoint:
        """Resume a run that was saved."""
        checkpoint = super().resume(run, learner, parameters)
        if not self._records.predicates_of(TABLE, run):
            # An earlier version of sqlrl began it.
            keep_learned_from(self._records, self._program, self.examples, run)
        return checkpoint

    def added_statistics(self, added: Program, support: pa.Table, shown: IntArray) -> pa.Table:
        """Count the clauses in all examples."""
        with Extent(added, limit=self._extent.limit).restricted_to(self.examples) as extent:
            return added_statistics(extent, support, shown)

    def _key(self, learner: str, parameters: Mapping[str, object]) -> RunKey:
        return RunKey(learner, parameters, self._program.model, self._ordered)

    def _go_on(self, checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        self._done = checkpoint.done
        self._windows.first, self._windows.later = state["first"], state["window"]

    def _state(self) -> dict[str, Any]:
        return {"first": self._windows.first, "window": self._windows.later}

    def _statistics(self, support: pa.Table, shown: IntArray) -> pa.Table:
        """Count the clauses that users see, and warn of rules that the training examples say nothing of."""
        program, found = self._program, self._counted
        if (
            found is not None
            and (len(found.total), self._counted_examples) == (program.clause_count, len(self.examples))
            and (self._windows.first >= len(self.examples) or adds_up(program))
        ):
            self._warn_of_idle(found.open)
            return counted_statistics(program, found, support, shown)
        opened = self._own_open()
        self._warn_of_idle(opened)
        with self._extent.restricted_to(self.examples) as extent:
            return learned_statistics(extent, opened, support, shown)

    def _unsaid(self, what: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
        return self._session.unsaid(what)

    def _count(self, window: Window) -> None:
        """Add what a window of the first pass has."""
        if self._counted_examples == 0 and self._done == 0:
            self._counted = window_counts(window)
        elif self._counted is not None:
            same = len(self._counted.total) == len(window.network.clauses)
            self._counted = self._counted + window_counts(window) if same else None
        self._counted_examples += len(window.examples)
        self._count_open(window)


# ---- what all streams do of a program ----------------------------------------------------------------


def network_with_fixed(network: Network, program: Program, text: Callable[[int], str]) -> Network:
    """Return a network in which what clauses of fixed weight add is a part of the atoms' prior log-odds; `text` names a clause."""
    fixed = program.fixed()
    return with_fixed(network, fixed, program.weights(), text) if fixed.any() else network


def fixed_among(program: Program, weights: FloatArray) -> FloatArray:
    """Return learned weights with the fixed ones of a program in their places."""
    return _with_fixed(program, weights, program.weights())


def excess_without_fixed(program: Program, excess: FloatArray) -> FloatArray:
    """Return n less E[n] of the clauses of a program, unknown of those of fixed weight: learners have their odds, not their ground clauses."""
    return _with_fixed(program, excess, np.full(program.clause_count, np.nan))


def _with_fixed(program: Program, values: FloatArray, given: FloatArray) -> FloatArray:
    """Return values of clauses by their ids, in which clauses of fixed weight have those that are given for all."""
    fixed = np.flatnonzero(program.fixed())
    if len(fixed) == 0:
        return values
    # Fixed clauses are no templates', so their ids come first.
    found = np.concatenate([values, np.zeros(max(fixed[-1] + 1 - len(values), 0))])
    found[fixed] = given[fixed]
    return found


def owners_of(program: Program) -> IntArray:
    """Return the place in the model of each clause's rule, -1 for definitions of helper atoms."""
    place = {id(rule): owner for rule, owner in zip(program.model.rules, program.owners, strict=True)}
    of_feature = np.array([place.get(id(bound.rule), -1) for bound in program.features], dtype=np.int64)
    return of_feature[np.array(program.feature_of, dtype=np.int64)]


def check_semantics(program: Program, start: Model) -> None:
    """Refuse to begin with the weights of a model whose semantics are others."""
    own = program.model.semantics
    if start.semantics != own:
        raise InputError(
            f"{Parameter('start')} has the semantics {start.semantics!r} and the model {own!r}, so that its weights mean something else: learn "
            "both with the same semantics"
        )


def clause_listing(listed: pa.Table, support: pa.Table) -> pa.Table:
    """Return clauses (as `clause_table` has them) with their support, the strongest first."""
    ids = listed.column("clause").to_numpy()
    # The definitions of helper atoms have support as well, but are not listed.
    support = support.filter(pc.is_in(support.column("clause"), listed.column("clause")))
    names = [name for name in support.column_names if name != "clause"]
    known = {name: np.zeros(int(ids.max(initial=-1)) + 1, np.int64) for name in names}
    for name, values in known.items():
        values[support.column("clause").to_numpy()] = support.column(name).to_numpy()
    strength = np.abs(listed.column("weight").fill_null(np.inf).to_numpy())
    data = pa.table(
        {
            "clause": listed.column("text"),
            "weight": listed.column("weight"),
            "hard": listed.column("hard"),
            **{name: values[ids] for name, values in known.items()},
            "id": ids,
        }
    )
    return data.take(pa.array(np.lexsort((ids, -strength))))
