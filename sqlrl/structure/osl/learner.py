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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from sqlrl.errors import InfeasibleError, InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, NetworkRows, ragged_ranges
from sqlrl.ground.rows import GroundRows
from sqlrl.kernels import kernel
from sqlrl.learn.adagrad import AdaGradRates, AdaGradState, new_state, update_clause, weight_after
from sqlrl.learn.arrays import ClauseTally, new_tally
from sqlrl.learn.learner import WindowReport, admitted
from sqlrl.learn.rules import arrays_of, grown, longer, read, with_arrays
from sqlrl.learn.settings import Parameters
from sqlrl.learn.slices import Slices, cut, example_network
from sqlrl.learn.steps import describer
from sqlrl.learn.worlds import two_worlds
from sqlrl.logic.modes import Modes
from sqlrl.logic.shapes import Shape
from sqlrl.solve.conflict import Describe
from sqlrl.solve.counts import open_counts
from sqlrl.solve.forest import compile_forest
from sqlrl.solve.structure import compile_network, pointers
from sqlrl.structure.osl.accepted_clauses import NONE, AcceptedClauses
from sqlrl.structure.osl.additions import (
    FIRST,
    Addition,
    KnownClauses,
    accepted_of,
    from_arrays,
    patterns_from_text,
    patterns_to_text,
    to_arrays,
)
from sqlrl.structure.osl.hypergraph import build_hypergraph
from sqlrl.structure.osl.names import StandingNumbers
from sqlrl.structure.osl.patterns import PatternBook
from sqlrl.structure.osl.search import FoundClauses, Mistakes, Searched, WindowSearch, edges_of_atoms, most_neighbours
from sqlrl.structure.osl.settings import OSLParameters
from sqlrl.structure.osl.stream import FactWindow
from sqlrl.training.labels import InfeasibleTruth, Names, hamming_loss, no_infeasible_truth
from sqlrl.training.records import STEP_SCHEMA

_INFEASIBLE = ("clause", "example", "count")


# ---- what steps are reported as ----------------------------------------------------------------------


class StepChanges(NamedTuple):
    """What a step (from 1) changed: arrays of shape (k,), with the weights (log-odds) after the step."""

    step: int
    clause: IntArray
    delta_n: IntArray
    weight: FloatArray


def _step_table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return rows of `WindowReport.steps` as a table."""
    columns = [pa.array([row[i] for row in rows], type=kind.type) for i, kind in enumerate(STEP_SCHEMA)]
    return pa.Table.from_arrays(columns, schema=STEP_SCHEMA)


def _change_table(changes: Sequence[StepChanges]) -> pa.Table:
    """Return changes as rows of `WindowReport.changes`: ascending by step, then clause."""
    none = np.zeros(0, dtype=np.int64)
    steps = [none, *(np.full(len(x.clause), x.step - 1, dtype=np.int64) for x in changes)]
    return pa.table(
        {
            "step": np.concatenate(steps),
            "clause": np.concatenate([none, *(x.clause for x in changes)]),
            "delta_n": np.concatenate([none, *(x.delta_n for x in changes)]),
            "weight": np.concatenate([np.zeros(0), *(x.weight for x in changes)]),
        }
    )


# ---- the weights of clauses that are added: ADAGRAD_FB over arrays that grow -------------------------


class ClauseWeights(NamedTuple):
    """Weights and counters of `size` clauses, in arrays with room for more; the `steps` of the state are not looked at."""

    state: AdaGradState
    tally: ClauseTally
    size: int

    @classmethod
    def empty(cls) -> Self:
        """Return no clauses."""
        return cls(new_state(), new_tally(0), 0)

    def copy(self, size: int) -> ClauseWeights:
        """Return a copy for `size` clauses, at least as many as before; new ones are as if there from the first step."""
        return ClauseWeights(grown(self.state, size), ClauseTally(*(longer(x, size) for x in self._trimmed())), size)

    def with_room(self, size: int) -> ClauseWeights:
        """Return this for `size` clauses; its arrays are copied only when they are full."""
        if size <= len(self.state.weight):
            return self._replace(size=size)
        room = max(size, 2 * len(self.state.weight), 64)
        return ClauseWeights(grown(self.state, room), ClauseTally(*(longer(x, room) for x in self.tally)), size)

    def trimmed(self) -> ClauseWeights:
        """Return a copy without spare room."""
        arrays = {name: x[: self.size].copy() for name, x in arrays_of(self.state).items()}
        return ClauseWeights(with_arrays(self.state, arrays), ClauseTally(*self._trimmed()), self.size)

    def _trimmed(self) -> list[IntArray]:
        return [x[: self.size].copy() for x in self.tally]


@kernel
def _weights_before(state: AdaGradState, clauses: IntArray, step: int, rates: AdaGradRates) -> FloatArray:
    """Return the weights (log-odds) of some clauses just before step `step` (from 1)."""
    weights = np.empty(len(clauses))
    for k in range(len(clauses)):
        weights[k] = weight_after(state, clauses[k], step - 1, rates)
    return weights


@kernel
def _update(
    state: AdaGradState, tally: ClauseTally, clauses: IntArray, delta_n: IntArray, step: int, rates: AdaGradRates
) -> FloatArray:
    """Take step `step` (from 1) in place for distinct clauses of its example, which a delta n of 0 only discounts; return weights after it."""
    weights = np.empty(len(clauses))
    for k in range(len(clauses)):
        clause = clauses[k]
        tally.met[clause] += 1
        if delta_n[k] == 0:
            weights[k] = weight_after(state, clause, step, rates)
        else:
            weights[k] = update_clause(state, clause, delta_n[k], step, rates)
            tally.updates[clause] += 1
            tally.delta_n[clause] += delta_n[k]
    return weights


# ---- the predicted world of an example, and the one that is learned from -----------------------------


def _step_worlds(
    network: Network, weights: FloatArray, loss: FloatArray | None, parameters: Parameters, describe: Describe
) -> tuple[BoolArray, BoolArray]:
    """Return the most probable world of one example, and the one with `loss` added for each true atom; without a loss they are the same."""
    structure = compile_network(network)
    if parameters.inference == "exact" and structure.forest.all():
        program = compile_forest(structure)
        unary, pairs = program.weigh(np.where(network.hard, 0.0, weights), network.prior)
        predicted = np.zeros(len(network.atoms), dtype=np.bool_)
        if program.solve(unary, pairs, predicted) < 0:
            if loss is None:
                return predicted, predicted
            atom = program.arrays.state_atom
            unary[atom >= 0] += loss[atom[atom >= 0]]
            target = np.zeros(len(network.atoms), dtype=np.bool_)
            program.solve(unary, pairs, target)
            return predicted, target
    return two_worlds(network, weights, loss, parameters, describe)


# ---- networks with further clauses -------------------------------------------------------------------


def appended(network: Network, clauses: IntArray, rows: GroundRows) -> Network:
    """Append clauses with ascending ids above those of the network, and their ground clauses, in which `clause` counts the new ones from 0."""
    m, k = len(network.clauses), len(clauses)
    # Each ground clause has at least one literal.
    _, unit, long = rows.split()
    order = np.argsort(long.clause, kind="stable")
    start, length = long.starts(), long.length[order]
    literals = long.literals[ragged_ranges(start[:-1][order], length)]
    # As in `example_network`, counts are those of the whole up to a constant: use differences.
    nothing = np.zeros(k, dtype=object)
    return replace(
        network,
        clauses=np.concatenate([network.clauses, clauses]),
        sign=np.concatenate([network.sign, np.ones(k, dtype=np.int64)]),
        hard=np.concatenate([network.hard, np.zeros(k, dtype=np.bool_)]),
        rows=NetworkRows(
            np.concatenate([network.indptr, network.indptr[-1] + pointers(length)[1:]]),
            np.concatenate([network.literals, literals]),
            np.concatenate([network.row_clause, m + long.clause[order]]),
            np.concatenate([network.multiplicity, long.multiplicity[order]]),
        ),
        units=sparse.hstack([network.units, _units(unit, len(network.atoms), k)], format="csr"),
        base=np.concatenate([network.base, nothing]),
        total=np.concatenate([network.total, nothing]),
        evidence_violated=np.concatenate([network.evidence_violated, nothing]),
        open=np.concatenate([network.open, nothing]),
    )


def _units(rows: GroundRows, atoms: int, clauses: int) -> sparse.csr_array:
    """How much n of each clause grows when an atom becomes true."""
    grows = np.where(rows.literals > 0, rows.multiplicity, -rows.multiplicity)
    matrix = sparse.coo_array((grows, (np.abs(rows.literals) - 1, rows.clause)), shape=(atoms, clauses)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


# ---- what is kept between windows --------------------------------------------------------------------


class Kept(NamedTuple):
    """What a learner keeps between two windows."""

    steps: int
    model: ClauseWeights  # the weights of the model's clauses, by their ids in its program
    added: ClauseWeights  # the weights of the added clauses, numbered in the order in which they were added
    additions: tuple[Addition, ...]
    infeasible: InfeasibleTruth  # hard clauses that the labels so far violate
    searched: Searched


def nothing_kept() -> Kept:
    """Return what a learner remembers before the first window."""
    return Kept(0, ClauseWeights.empty(), ClauseWeights.empty(), (), no_infeasible_truth(), Searched())


def to_state(kept: Kept, patterns: Iterable[Shape]) -> dict[str, npt.NDArray[Any]]:
    """Return all that a learner needs to go on later as plain arrays, which are copies; `patterns` are those of the book, in order."""
    arrays: dict[str, npt.NDArray[Any]] = {"steps": np.array(kept.steps, dtype=np.int64)}
    for name, growing in (("model", kept.model), ("added", kept.added)):
        arrays |= {f"{name}_{key}": x for key, x in growing.state._asdict().items() if key != "steps"}
        arrays |= {f"{name}_{key}": x for key, x in growing.tally._asdict().items()}
    arrays |= {f"addition_{key}": x for key, x in to_arrays(kept.additions).items()}
    # Bytes of a text, as numbers of a type that databases have.
    arrays["patterns"] = np.frombuffer(patterns_to_text(patterns).encode(), dtype=np.uint8).astype(np.int64)
    arrays |= {f"infeasible_{key}": getattr(kept.infeasible, key) for key in _INFEASIBLE}
    arrays["searched"] = np.array(astuple(kept.searched), dtype=np.int64)
    return {name: x.copy() for name, x in arrays.items()}


def from_state(state: Mapping[str, npt.NDArray[Any]]) -> tuple[Kept, list[Shape]]:
    """Return what `to_state` was given; arrays that are not those of an OSL learner raise InputError."""
    empty = to_state(nothing_kept(), [])
    if set(empty) - set(state):
        raise InputError(f"a state of this learner has the arrays {', '.join(empty)}")
    taken = {name: np.array(state[name], dtype=array.dtype) for name, array in empty.items()}
    parts = []
    for name in ("model", "added"):
        weights, *others = (taken[f"{name}_{key}"] for key in AdaGradState._fields[1:])
        tally = ClauseTally(*(taken[f"{name}_{key}"] for key in ClauseTally._fields))
        parts.append(ClauseWeights(AdaGradState(0, weights, *others), tally, len(weights)))
    additions = from_arrays(
        {key.removeprefix("addition_"): x for key, x in taken.items() if key.startswith("addition_")}
    )
    infeasible = InfeasibleTruth(*(taken[f"infeasible_{key}"] for key in _INFEASIBLE))
    patterns = patterns_from_text(taken["patterns"].astype(np.uint8).tobytes().decode())
    searched = Searched(*taken["searched"].tolist())
    return Kept(int(taken["steps"]), parts[0], parts[1], tuple(additions), infeasible, searched), patterns


# ---- the learner -------------------------------------------------------------------------------------


@dataclass
class _Pass:
    """The state of a pass over the examples of a window; it becomes the learner's only when the window is done."""

    slices: Slices
    truth: BoolArray
    search: WindowSearch
    model: ClauseWeights
    added: ClauseWeights
    additions: list[Addition]
    known_clauses: KnownClauses
    accepted_clauses: AcceptedClauses
    target: BoolArray
    predicted: BoolArray
    numbers: StandingNumbers
    rows: list[tuple[int, int, float, int, int, float, float]] = field(default_factory=list)
    changes: list[StepChanges] = field(default_factory=list)
    pooled: list[Mistakes] = field(default_factory=list)
    waiting: int = 0


class OSLLearner:
    """Learns clauses and weights from windows, one step for each example; a window that fails leaves the learner as it was."""

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
        """Make a learner that goes on where `state` was taken; arrays of another learner are an InputError."""
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

    def learn_one(self, window: FactWindow, example: int) -> WindowReport:
        """Take one step, from one example of a window; as `learn_many`."""
        if example not in window.examples:
            raise InputError(f"example {self.names.example(example)} is not in the window")
        return self._learned(window, np.array([example], dtype=np.int64))

    def learn_many(self, window: FactWindow) -> WindowReport:
        """Take one step per example of a window, in order: predict, compare, find clauses, update; added clauses are reported from `FIRST` on."""
        return self._learned(window, window.examples)

    def _learned(self, window: FactWindow, examples: IntArray) -> WindowReport:
        start = time.perf_counter()
        kept = self._kept
        examples, broken = admitted(window, examples, self.parameters, self.names)
        run = self._begin(window, examples)
        places = {int(example): place for place, example in enumerate(window.examples)}
        for k, example in enumerate(examples.tolist()):
            self._step(run, k, places[example], example, last=k == len(examples) - 1)
        steps = _step_table(run.rows)
        model, added = run.model.trimmed(), run.added.trimmed()
        if not all(np.all(np.isfinite(x)) for part in (model, added) for x in (part.state.weight, part.state.total)):
            raise NumericError(f"weights grew beyond the range of floats: {self.parameters.remedy}")
        report = WindowReport(steps, run.predicted, _change_table(run.changes), time.perf_counter() - start)
        # One assignment, so that Ctrl-C cannot leave half a window behind.
        searched = kept.searched.joined(run.search.searched)
        infeasible = kept.infeasible.joined(broken)
        self._known, self._kept = (
            run.known_clauses,
            Kept(kept.steps + len(examples), model, added, tuple(run.additions), infeasible, searched),
        )
        return report

    def _begin(self, window: FactWindow, examples: IntArray) -> _Pass:
        kept, bindings = self._kept, window.bindings
        n = len(window.network.atoms)
        graph = build_hypergraph(window.facts, self.modes)
        known = self._known.copy()
        for shape, rows in window.new_clauses:
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
            # A step adds clauses of its own to the few rows of its example.
            cut(window.network, examples).listed(),
            window.truth,
            search,
            kept.model.copy(size),
            kept.added.copy(kept.added.size),
            list(kept.additions),
            known,
            accepted_of(self.book, kept.additions, window.numbers),
            np.zeros(n, dtype=np.bool_),
            np.zeros(n, dtype=np.bool_),
            window.numbers,
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
                _weights_before(run.model.state, small.clauses, step, parameters.rates),
                _weights_before(run.added.state, added, step, parameters.rates),
            ]
        )
        weights[network.hard] = 0.0
        truth = run.truth[atoms]
        loss = hamming_loss(small, truth) * parameters.augmentation
        try:
            predicted, target = _step_worlds(
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
            _update(run.model.state, run.model.tally, small.clauses[own], delta[:first][own], step, parameters.rates),
            _update(run.added.state, run.added.tally, added, delta[first:], step, parameters.rates),
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
            run.changes.append(StepChanges(step, ids[changed], counts[changed], np.concatenate(after)[changed]))
            run.changes += [] if new is None else [new]

    def _grow(self, run: _Pass, step: int, example: int) -> StepChanges | None:
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
        weights = _update(run.added.state, run.added.tally, clauses, counts, step, self.parameters.rates)
        return StepChanges(step, FIRST + clauses, counts, weights)

    def _new_clauses(self, run: _Pass, x: FoundClauses, step: int, example: int, number: int) -> IntArray:
        """Add those of some candidates that are new, numbered from `number` on; return their numbers, `NONE` for the others."""
        pattern = self.book.patterns[x.pattern]
        variant = pattern.variants[x.variant]
        # What is found is new, and its constants are kept, or known, as its constants are then.
        constants = run.numbers.to_run_ids(pattern.shape.parameters, x.constants)
        new = np.array(run.known_clauses.add(variant.shape, variant.rows(constants)), dtype=np.bool_)
        numbers = np.full(len(new), NONE, dtype=np.int64)
        numbers[new] = number + np.arange(int(new.sum()))
        clauses = np.full((int(new.sum()), 2), NONE, dtype=np.int64)
        clauses[:, x.variant] = numbers[new]
        run.accepted_clauses.add(pattern.shape, x.constants[new], clauses)
        atoms = run.numbers.atoms(run.slices.network.atoms[x.atoms[new]]).tolist()
        run.additions += [
            Addition(x.pattern, bool(x.variant), tuple(row), step - 1, example, atom, delta_n)
            for row, atom, delta_n in zip(constants[new].tolist(), atoms, x.delta_n[new].tolist(), strict=True)
        ]
        return numbers


def _with_added(small: Network, run: _Pass, place: int) -> tuple[Network, IntArray]:
    """The network of an example with the ground clauses of the added clauses, and the numbers of those that have any."""
    rows = run.accepted_clauses.rows(run.search.bindings, place)
    added, clause = np.unique(rows.clause, return_inverse=True)
    literals = np.sign(rows.literals) * (run.slices.place[np.abs(rows.literals) - 1] + 1)
    local = GroundRows(clause.astype(np.int64), literals.astype(np.int64), rows.length, rows.multiplicity)
    return appended(small, FIRST + added, local), added
