"""Online learners over windows of examples, without a database: one loop for all update rules, and what it reports of a window."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.arrays import ClauseTally, new_tally
from sqlrl.learn.rules import (
    RuleState,
    arrays_of,
    chosen,
    grown,
    longer,
    new_state,
    read,
    started,
    with_arrays,
    with_steps,
)
from sqlrl.learn.settings import Parameters
from sqlrl.learn.slices import cut
from sqlrl.learn.steps import LearnedSteps, learn_examples
from sqlrl.solve.randomness import Stream, streams
from sqlrl.training.labels import InfeasibleTruth, Names, check_labelled, infeasible_truth, no_infeasible_truth
from sqlrl.training.records import STEP_SCHEMA

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window

StartWeights = Callable[[int, int], FloatArray]
"""Returns the weights before the first step of the clauses from one id to another, which is not among them."""

_MEAN = ("mean_steps", "mean_total")
_INFEASIBLE = ("infeasible_clause", "infeasible_example", "infeasible_count")


@dataclass(frozen=True, eq=False)
class WindowReport:
    """What learning from one window did.

    Between the rows of `changes` a weight of AdaGrad moves towards 0 by lambda * eta / H at each step, one of CDA or
    the subgradient method shrinks by (t - 1) / t, one of penalised contrastive divergence by 1 - eta * lambda, and
    others stay. Scaled steps have the clause's own rate in place of eta, and cut a weight where its delta n outgrows
    all before.
    """

    # of `STEP_SCHEMA`, a row for each step (from 0): `loss` counts wrong atoms; scores are the weighted counts of the
    # open ground clauses before the update, without what is the same in every world
    steps: pa.Table
    predicted: BoolArray  # shape (n,): the world before each example was learned; false for skipped examples
    # with `record_history` a row for each step and clause whose count differed; `weight` is that after the step
    changes: pa.Table
    seconds: float


def step_table(learned: LearnedSteps, done: int, examples: IntArray) -> pa.Table:
    """Return the steps of a window as rows of `WindowReport.steps`; `done` steps came before."""
    rows = learned.rows
    steps = np.arange(done, done + len(examples), dtype=np.int64)
    columns = (steps, examples, rows.loss.astype(np.float64), rows.atoms, rows.atoms - rows.loss)
    return pa.Table.from_arrays(
        [pa.array(x) for x in (*columns, rows.score_truth, rows.score_prediction)], schema=STEP_SCHEMA
    )


def change_table(learned: LearnedSteps, ids: IntArray) -> pa.Table:
    """Return the changes of a window as rows of `WindowReport.changes`; `ids` are those of the local clauses."""
    changes = learned.changes
    return pa.table(
        {
            "step": changes.step - 1,
            "clause": ids[changes.clause],
            "delta_n": changes.delta_n,
            "weight": changes.weight,
        }
    )


class _Mean(NamedTuple):
    # Where the mean of weights begins: after so many steps, with the sums of the weights after each of these, by clause id.
    steps: int
    total: FloatArray


class _Kept(NamedTuple):
    # All that a learner remembers between windows.
    state: RuleState
    tally: ClauseTally
    random: Stream
    infeasible: InfeasibleTruth
    mean: _Mean


class OnlineLearner:
    """Learns the weights of clauses from windows, one step for each example; a window counts as a whole or not at all."""

    def __init__(
        self, parameters: Parameters, *, names: Names | None = None, start: StartWeights | None = None
    ) -> None:
        self.parameters, self.start = parameters, start
        self.names = names or Names()
        random = streams(parameters.seed, 1)[0]
        self._kept = _Kept(
            new_state(parameters.rates), new_tally(0), random, no_infeasible_truth(), _Mean(0, np.zeros(0))
        )

    @property
    def infeasible(self) -> InfeasibleTruth:
        """Hard clauses that the labels so far violate."""
        return self._kept.infeasible

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._kept.state.steps

    @property
    def clauses(self) -> int:
        """Number of clauses met so far."""
        return len(self._kept.tally.met)

    @property
    def weights(self) -> FloatArray:
        """The weights (log-odds) after the last step by clause id; 0 for hard clauses. Shape (m,)."""
        return read(self._kept.state, self.parameters.rates)[0]

    def averaged_weights(self) -> FloatArray:
        """The mean of the weights after each step since clauses last changed, by clause id; see `sqlrl.learn.rules.read`."""
        last, mean = read(self._kept.state, self.parameters.rates)
        begin = self._kept.mean
        steps = self.steps - begin.steps
        if begin.steps == 0:
            return mean
        return (mean * self.steps - begin.total) / steps if steps else last

    def support(self) -> pa.Table:
        """Return a row for each clause: `support` (steps with an open ground clause), and `updates` and `delta_n` of its `ClauseTally`."""
        met, updates, delta_n = self._kept.tally
        clause = np.arange(len(met), dtype=np.int64)
        return pa.table({"clause": clause, "support": met, "updates": updates, "delta_n": delta_n})

    # ---- going on later -----------------------------------------------------------------------------------

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that is needed to resume, as plain arrays by name; what was reported before is not in it."""
        state, tally, random, infeasible, mean = self._kept
        arrays = {**arrays_of(state), **tally._asdict(), "random": random}
        found = (infeasible.clause, infeasible.example, infeasible.count)
        arrays |= dict(zip(_INFEASIBLE, found, strict=True))
        if mean.steps:
            arrays |= dict(zip(_MEAN, (np.array(mean.steps, dtype=np.int64), mean.total), strict=True))
        return {"steps": np.array(state.steps, dtype=np.int64), **{name: x.copy() for name, x in arrays.items()}}

    @classmethod
    def from_state(
        cls,
        parameters: Parameters,
        state: Mapping[str, npt.NDArray[Any]],
        *,
        names: Names | None = None,
        start: StartWeights | None = None,
    ) -> Self:
        """Make a learner that resumes where `state` was taken; arrays of another update rule are an InputError."""
        learner = cls(parameters, names=names, start=start)
        empty = learner.state()
        if "start" in empty and "start" not in state and "last" in state:
            # Runs that earlier versions saved started at 0.
            state = {**state, "start": np.zeros(len(state["last"]))}
        if set(empty) - set(state):
            raise InputError(f"a state of this learner has the arrays {', '.join(empty)}")
        taken = {name: np.array(state[name], dtype=array.dtype) for name, array in empty.items()}
        blank, counters = learner._kept.state, learner._kept.tally
        of_clauses = {taken[name].shape for name in (*arrays_of(blank), *counters._fields)}
        sizes = len(of_clauses) == 1 and len(next(iter(of_clauses))) == 1
        if not sizes or taken["steps"].shape != () or taken["random"].shape != empty["random"].shape:
            raise InputError(
                "a learner's state has one step number, and one place for each clause in each array of clauses"
            )
        values = with_arrays(blank, {name: taken[name] for name in arrays_of(blank)})
        learner._kept = _Kept(
            with_steps(values, int(taken["steps"])),
            ClauseTally(*(taken[name] for name in counters._fields)),
            taken["random"],
            InfeasibleTruth(*(taken[name] for name in _INFEASIBLE)),
            _Mean(int(state["mean_steps"]), np.array(state["mean_total"], np.float64))
            if _MEAN[0] in state
            else learner._kept.mean,
        )
        return learner

    # ---- learning -----------------------------------------------------------------------------------------

    def learn_one(self, window: Window, example: int) -> WindowReport:
        """Take one step from one example of a window; `learn_many` is much faster for several."""
        if example not in window.examples:
            raise InputError(f"example {self.names.example(example)} is not in the window")
        return self.learn_many(replace(window, examples=np.array([example], dtype=np.int64)))

    def learn_many(self, window: Window) -> WindowReport:
        """Predict, compare and update for each example of a window, in order; one without query atoms counts as a step, too."""
        start = time.perf_counter()
        network, truth, parameters = window.network, window.truth, self.parameters
        examples, broken = admitted(window, window.examples, parameters, self.names)
        kept, size = self._kept, max(self.clauses, 1 + int(network.clauses.max(initial=-1)))
        state, tally = grown(kept.state, size), ClauseTally(*(longer(x, size) for x in kept.tally))
        if self.start is not None and size > self.clauses:
            state = started(state, parameters.rates, self.clauses, self.start(self.clauses, size))
        mean = kept.mean
        # Means of weights are then over the steps from this window on.
        if window.changed:
            mean = _Mean(state.steps, read(state, parameters.rates)[1] * state.steps)
        elif mean.steps and size > len(mean.total):
            # What is new has had one weight in all steps before.
            new = read(state, parameters.rates)[1][len(mean.total) :] * mean.steps
            mean = _Mean(mean.steps, np.concatenate([mean.total, new]))
        local, counters = chosen(state, network.clauses), ClauseTally(*(x[network.clauses] for x in tally))
        random = kept.random.copy()
        learned = learn_examples(cut(network, examples), truth, local, counters, parameters, self.names, random)
        found = [x for x in arrays_of(local).values() if x.dtype == np.float64]
        if not all(np.all(np.isfinite(x)) for x in (*found, learned.rows.score_truth, learned.rows.score_prediction)):
            raise NumericError(f"weights grew beyond the range of floats: {parameters.remedy}")
        for whole, part in zip(
            (*arrays_of(state).values(), *tally), (*arrays_of(local).values(), *counters), strict=True
        ):
            whole[network.clauses] = part
        report = WindowReport(
            step_table(learned, state.steps, examples),
            learned.predicted,
            change_table(learned, network.clauses),
            time.perf_counter() - start,
        )
        done = with_steps(state, state.steps + len(examples))
        # One assignment, so that Ctrl-C cannot leave half a window behind.
        self._kept = _Kept(done, tally, random, self.infeasible.joined(broken), mean)
        return report


def admitted(
    window: Window, examples: IntArray, parameters: Parameters, names: Names
) -> tuple[IntArray, InfeasibleTruth]:
    """Check the labels and soft evidence of a window; return the examples to learn from and the violated hard clauses."""
    check_labelled(window.network, window.labelled, examples, names)
    _check_prior(window.network)
    broken = infeasible_truth(window.network, window.truth).of(examples)
    if parameters.on_infeasible_truth == "error" and len(broken.clause):
        raise broken.error(names)
    if parameters.on_infeasible_truth == "skip":
        examples = examples[~np.isin(examples, broken.example)]
    return examples, broken


def _check_prior(network: Network) -> None:
    wrong = np.flatnonzero(~np.isfinite(network.prior))
    if len(wrong):
        raise NumericError(
            f"soft evidence of atom {network.atoms[wrong[0]]} is {network.prior[wrong[0]]}: give a probability between 0 "
            "and 1, or load certain evidence as a fact"
        )
