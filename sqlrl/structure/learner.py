"""OSL: online structure learning over windows of examples, without a database.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), Algorithms 1 to 3.

What the paper leaves open:

- Which of several most probable worlds is the predicted one: see `Parameters.ties`.
- A clause that is new counts as if it had been there from the first step with weight 0, in averages too.
- A candidate that the model has already, as a rule or as a clause of a template, is no new clause; nor is one that was added
  before. With weight w a conjunction is its negated clause with -w, so it counts as that clause.
- One candidate found from several wrong atoms is one clause.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InfeasibleError, InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.ground.rows import Rows
from sqlrl.learn.labels import InfeasibleTruth, Names
from sqlrl.learn.learner import WindowReport, admitted
from sqlrl.learn.rules import read
from sqlrl.learn.slices import Slices, cut, example_network
from sqlrl.learn.stepping import describer
from sqlrl.logic.modes import Modes
from sqlrl.solve.counts import open_counts
from sqlrl.structure.additions import (
    FIRST,
    Addition,
    KnownClauses,
    accepted_of,
)
from sqlrl.structure.appended import appended
from sqlrl.structure.changes import Changes, change_table, step_table
from sqlrl.structure.growing import Growing, update, weights_before
from sqlrl.structure.kept import Kept, from_state, nothing_kept, to_state
from sqlrl.structure.pathfinding.accepted import NONE, AcceptedClauses
from sqlrl.structure.pathfinding.hypergraph import build_hypergraph
from sqlrl.structure.pathfinding.patterns import PatternBook
from sqlrl.structure.protocols import GrowingWindow
from sqlrl.structure.search import Found, Mistakes, WindowSearch, edges_of_atoms, most_neighbours
from sqlrl.structure.searched import Searched
from sqlrl.structure.settings import OSLParameters
from sqlrl.structure.worlds import step_worlds


@dataclass
class _Pass:
    """The state of a pass over the examples of a window; it becomes the learner's only when the window is done."""

    slices: Slices
    truth: BoolArray
    search: WindowSearch
    model: Growing
    added: Growing
    additions: list[Addition]
    known: KnownClauses
    accepted: AcceptedClauses
    target: BoolArray
    predicted: BoolArray
    rows: list[tuple[int, int, float, int, int, float, float]] = field(default_factory=list)
    changes: list[Changes] = field(default_factory=list)
    pooled: list[Mistakes] = field(default_factory=list)
    waiting: int = 0


class OSLLearner:
    """Learns clauses and weights from windows of examples, one step for each example.

    Parameters
    ----------
    parameters : OSLParameters
    modes : Modes
    types : mapping of str to tuple of str
        The types of the arguments of the predicates that paths may have.
    names : Names, optional
        Words for clauses and examples in messages.

    Notes
    -----
    A window counts as a whole or not at all: after an exception, Ctrl-C included, the learner is as it was before it.

    Clauses of the model have the ids of its program; those that are added have the numbers 0, 1, ... in the order in which they
    were added.
    """

    def __init__(
        self,
        parameters: OSLParameters,
        modes: Modes,
        types: Mapping[str, tuple[str, ...]],
        *,
        names: Names | None = None,
    ) -> None:
        self.parameters, self.modes, self.names = parameters, modes, names or Names()
        self.book = PatternBook(modes, types)
        self._types = dict(types)
        self._known = KnownClauses()
        self._kept = nothing_kept()

    # ---- what was learned -----------------------------------------------------------------------------------

    @property
    def infeasible(self) -> InfeasibleTruth:
        """Hard clauses that the labels so far violate."""
        return self._kept.infeasible

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._kept.steps

    @property
    def clauses(self) -> int:
        """Number of clauses so far, of the model and added ones."""
        return self._kept.model.size + self._kept.added.size

    @property
    def additions(self) -> tuple[Addition, ...]:
        """The clauses that were added, in order."""
        return self._kept.additions

    @property
    def weights(self) -> FloatArray:
        """The weights (log-odds) after the last step: of the model's clauses by id, then of the added ones in order."""
        return self._read()[0]

    @property
    def searched(self) -> Searched:
        """What path finding met so far."""
        return self._kept.searched

    def averaged_weights(self) -> FloatArray:
        """The mean of the weights after each step, laid out as `weights`; see `sqlrl.learn.rules.read`."""
        return self._read()[1]

    def _read(self) -> tuple[FloatArray, FloatArray]:
        kept = self._kept
        states = (growing.state._replace(steps=kept.steps) for growing in (kept.model, kept.added))
        model, added = (read(state, self.parameters.rates) for state in states)
        return np.concatenate([model[0], added[0]]), np.concatenate([model[1], added[1]])

    def support(self) -> pa.Table:
        """How often each clause mattered: columns as of `OnlineLearner.support`, rows laid out as `weights`."""
        model, added = self._kept.model.tally, self._kept.added.tally
        met, updates, delta_n = (np.concatenate(pair) for pair in zip(model, added, strict=True))
        clause = np.arange(len(met), dtype=np.int64)
        return pa.table({"clause": clause, "support": met, "updates": updates, "delta_n": delta_n})

    def settle(self, clauses: int) -> None:
        """Make room for clauses of the model that occurred in no window, so that added clauses come after `clauses`."""
        kept = self._kept
        self._kept = kept._replace(model=kept.model.copy(max(clauses, kept.model.size)))

    # ---- going on later -------------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything needed to go on later, as plain arrays; see `OnlineLearner.state`."""
        return to_state(self._kept, (x.shape for x in self.book.patterns))

    @classmethod
    def from_state(
        cls,
        parameters: OSLParameters,
        modes: Modes,
        types: Mapping[str, tuple[str, ...]],
        state: Mapping[str, npt.NDArray[Any]],
        *,
        names: Names | None = None,
    ) -> Self:
        """Make a learner that goes on where `state` was taken.

        Raises
        ------
        InputError
            The arrays are not those of an OSL learner.
        """
        learner = cls(parameters, modes, types, names=names)
        learner._kept, patterns = from_state(state)
        for shape in patterns:
            learner.book.number_of(shape)
        learner._recognise_additions()
        return learner

    def _recognise_additions(self) -> None:
        for addition in self._kept.additions:
            variant = self.book.patterns[addition.pattern].variants[addition.horn]
            row = np.array([addition.constants], dtype=np.int32).reshape(1, -1)
            self._known.add(variant.shape, variant.rows(row))

    # ---- learning -------------------------------------------------------------------------------------------

    def learn_one(self, window: GrowingWindow, example: int) -> WindowReport:
        """Take one step, from one example of a window; as `learn_many`.

        Parameters
        ----------
        window : GrowingWindow
        example : int
            One of its examples.

        Raises
        ------
        InputError
            As `learn_many`; or the example is not in the window.
        """
        if example not in window.examples:
            raise InputError(f"example {self.names.example(example)} is not in the window")
        return self._learned(window, np.array([example], dtype=np.int64))

    def learn_many(self, window: GrowingWindow) -> WindowReport:
        """Take one step for each example of a window, in its order: predict, compare, find clauses, update.

        Parameters
        ----------
        window : GrowingWindow

        Returns
        -------
        WindowReport
            In its changes an added clause has the id `FIRST` plus its number.

        Raises
        ------
        InputError, ConflictError, NumericError
            As `OnlineLearner.learn_many`.
        """
        return self._learned(window, window.examples)

    def _learned(self, window: GrowingWindow, examples: IntArray) -> WindowReport:
        start = time.perf_counter()
        kept = self._kept
        examples, broken = admitted(window, examples, self.parameters, self.names)
        run = self._begin(window, examples)
        places = {int(example): place for place, example in enumerate(window.examples)}
        for k, example in enumerate(examples.tolist()):
            self._step(run, k, places[example], example, last=k == len(examples) - 1)
        steps = step_table(run.rows)
        model, added = run.model.trimmed(), run.added.trimmed()
        if not all(np.all(np.isfinite(x)) for part in (model, added) for x in (part.state.weight, part.state.total)):
            raise NumericError(f"weights grew beyond the range of floats: {self.parameters.remedy}")
        report = WindowReport(steps, run.predicted, change_table(run.changes), time.perf_counter() - start)
        # One assignment, so that Ctrl-C cannot leave half a window behind.
        searched = kept.searched.joined(run.search.searched)
        infeasible = kept.infeasible.joined(broken)
        self._known, self._kept = (
            run.known,
            Kept(kept.steps + len(examples), model, added, tuple(run.additions), infeasible, searched),
        )
        return report

    def _begin(self, window: GrowingWindow, examples: IntArray) -> _Pass:
        kept, bindings = self._kept, window.bindings
        n = len(window.network.atoms)
        graph = build_hypergraph(window.facts, self.modes)
        known = self._known.copy()
        for shape, rows in window.known:
            known.add(shape, rows)
        fan_out = 1
        if self.parameters.look_ahead:
            fan_out = most_neighbours(window.facts, bindings.table, window.targets, self.modes)
        edge = edges_of_atoms(graph, bindings.table, window.targets, n)
        search = WindowSearch(
            graph, edge, self.modes, self.book, bindings, self.parameters, window.truth, fan_out
        )  # fmt: skip
        size = max(kept.model.size, 1 + int(window.network.clauses.max(initial=-1)))
        return _Pass(
            cut(window.network, examples),
            window.truth,
            search,
            kept.model.copy(size),
            kept.added.copy(kept.added.size),
            list(kept.additions),
            known,
            accepted_of(self.book, kept.additions),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.bool_),
        )

    def _step(self, run: _Pass, k: int, place: int, example: int, *, last: bool) -> None:
        """Algorithm 1, lines 3 to 35, for the k-th example of the pass."""
        parameters = self.parameters
        step = self._kept.steps + k + 1
        small, atoms, _ = example_network(run.slices, k)
        network, added = _with_added(small, run, place)
        first = len(small.clauses)
        weights = np.concatenate(
            [
                weights_before(run.model.state, small.clauses, step, parameters.rates),
                weights_before(run.added.state, added, step, parameters.rates),
            ]
        )
        weights[network.hard] = 0.0
        truth = run.truth[atoms]
        loss = np.where(small.helper, 0.0, np.where(truth, -1.0, 1.0)) * parameters.augmentation
        try:
            predicted, target = step_worlds(
                network, weights, loss if parameters.augmentation > 0 else None, parameters, describer(network, self.names)
            )  # fmt: skip
        except InfeasibleError as error:
            error.add_note(f"while predicting example {self.names.example(example)}")
            raise
        run.predicted[atoms], run.target[atoms] = predicted, target
        n_truth, n_predicted = open_counts(network, truth), open_counts(network, predicted)
        delta = np.where(network.hard, 0, n_truth - open_counts(network, target))
        real = ~small.helper
        wrong = int((truth != predicted)[real].sum())
        of_truth, of_predicted = (
            float(n @ weights + network.prior[world].sum()) for n, world in ((n_truth, truth), (n_predicted, predicted))
        )
        count = int(real.sum())
        run.rows.append((step - 1, example, float(wrong), count, count - wrong, of_truth, of_predicted))
        own = ~small.hard
        after = (
            update(run.model.state, run.model.tally, small.clauses[own], delta[:first][own], step, parameters.rates),
            update(run.added.state, run.added.tally, added, delta[first:], step, parameters.rates),
        )
        missing = atoms[truth & ~target & real]
        run.waiting += 1
        # One without a missing atom starts no path, but what is predicted there too many counts against what the others start.
        if (truth != target)[real].any():
            run.pooled.append(Mistakes(place, missing))
        new = None
        if run.waiting == parameters.pool or last:
            new = self._grow(run, step, example)
            run.pooled, run.waiting = [], 0
        if parameters.record_history:
            counts, ids = (
                np.concatenate([delta[:first][own], delta[first:]]),
                np.concatenate([small.clauses[own], FIRST + added]),
            )
            changed = np.flatnonzero(counts)
            run.changes.append(Changes(step, ids[changed], counts[changed], np.concatenate(after)[changed]))
            run.changes += [] if new is None else [new]

    def _grow(self, run: _Pass, step: int, example: int) -> Changes | None:
        """Algorithm 1, lines 7 to 20 and 28 to 35: add the clauses that tell labels and predictions apart."""
        found = run.search.candidates(run.pooled, run.target) if run.pooled else []
        first = run.added.size
        delta_n: list[int] = []
        for x in found:
            numbers = self._new_clauses(run, x, step, example, first + len(delta_n))
            delta_n += x.delta_n[numbers != NONE].tolist()
        if not delta_n:
            return None
        run.added = run.added.with_room(first + len(delta_n))
        clauses, counts = first + np.arange(len(delta_n), dtype=np.int64), np.array(delta_n, dtype=np.int64)
        weights = update(run.added.state, run.added.tally, clauses, counts, step, self.parameters.rates)
        return Changes(step, FIRST + clauses, counts, weights)

    def _new_clauses(self, run: _Pass, x: Found, step: int, example: int, number: int) -> IntArray:
        """Add those of some candidates that are new, numbered from `number` on; return their numbers, `NONE` for the others."""
        pattern = self.book.patterns[x.pattern]
        variant = pattern.variants[x.variant]
        new = np.array(run.known.add(variant.shape, variant.rows(x.constants)), dtype=np.bool_)
        numbers = np.full(len(new), NONE, dtype=np.int64)
        numbers[new] = number + np.arange(int(new.sum()))
        clauses = np.full((int(new.sum()), 2), NONE, dtype=np.int64)
        clauses[:, x.variant] = numbers[new]
        run.accepted.add(pattern.shape, x.constants[new], clauses)
        atoms = run.slices.network.atoms[x.atoms[new]].tolist()
        run.additions += [
            Addition(x.pattern, bool(x.variant), tuple(constants), step - 1, example, atom, delta_n)
            for constants, atom, delta_n in zip(x.constants[new].tolist(), atoms, x.delta_n[new].tolist(), strict=True)
        ]
        return numbers


def _with_added(small: Network, run: _Pass, place: int) -> tuple[Network, IntArray]:
    """The network of an example with the ground clauses of the added clauses, and the numbers of those that have any."""
    rows = run.accepted.rows(run.search.bindings, place)
    added, clause = np.unique(rows.clause, return_inverse=True)
    literals = np.sign(rows.literals) * (run.slices.place[np.abs(rows.literals) - 1] + 1)
    local = Rows(clause.astype(np.int64), literals.astype(np.int64), rows.length, rows.multiplicity)
    return appended(small, FIRST + added, local), added
