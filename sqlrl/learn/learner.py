"""ADAGRAD_FB over windows of examples, without a database."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.adagrad import AdaGradState, averaged_weights, grown, new_state, weights_now
from sqlrl.learn.arrays import Tally, new_tally
from sqlrl.learn.labels import InfeasibleTruth, Names, check_labelled, infeasible_truth, no_infeasible_truth
from sqlrl.learn.parameters import AdaGradParameters
from sqlrl.learn.slices import cut
from sqlrl.learn.stepping import Learned, learn_examples

if TYPE_CHECKING:
    from sqlrl.ground.windows import Window


@dataclass(frozen=True, eq=False)
class WindowReport:
    """What learning from one window did.

    Parameters
    ----------
    steps : pyarrow.Table
        Progressive validation, one row for each step: `step` (from 0), `example`, `loss` (Hamming: wrong atoms),
        `atoms`, `correct`, `score_truth`, `score_prediction` (weighted counts of the open ground clauses of the example
        before the update; the part that is the same in every world is left out).
    predicted : bool array, shape (n,)
        The world predicted for each example before it was learned; false for atoms of skipped examples.
    changes : pyarrow.Table
        With `record_history` one row for each clause that a step updated: `step`, `clause`, `delta_n`, `weight` (after
        the step). Between its rows a weight moves towards 0 by lambda * eta / H at each step.
    seconds : float
        Wall time.
    """

    steps: pa.Table
    predicted: BoolArray
    changes: pa.Table
    seconds: float


class _Kept(NamedTuple):
    # All that a learner remembers between windows.
    state: AdaGradState
    tally: Tally
    infeasible: InfeasibleTruth


class AdaGradLearner:
    """Learns weights of clauses from windows of examples, one step for each example.

    Parameters
    ----------
    parameters : AdaGradParameters
        How to learn.
    names : Names
        Words for clauses and examples in messages.

    Notes
    -----
    A window counts as a whole or not at all: after an exception, Ctrl-C included, the learner is as it was before it.

    Examples
    --------
    >>> from sqlrl.ground.windows import Window
    >>> from sqlrl.solve.sample import network
    >>> smokes = network(2, [(0, [1]), (1, [2])])
    >>> learner = AdaGradLearner(AdaGradParameters(regularization=0.1))
    >>> everything = np.array([True, True])
    >>> report = learner.learn_window(Window(np.array([0]), smokes, np.array([True, False]), everything))
    >>> learner.weights.tolist(), report.steps["loss"].to_pylist()
    ([0.45, -0.45], [1.0])
    """

    def __init__(self, parameters: AdaGradParameters | None = None, *, names: Names | None = None) -> None:
        self.parameters = parameters or AdaGradParameters()
        self.names = names or Names()
        self._kept = _Kept(new_state(), new_tally(0), no_infeasible_truth())

    @property
    def infeasible(self) -> InfeasibleTruth:
        """Hard clauses that the labels so far violate."""
        return self._kept.infeasible

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self._kept.state.steps

    @property
    def weights(self) -> FloatArray:
        """The weights (log-odds) after the last step by clause id; 0 for hard clauses. Shape (m,)."""
        return weights_now(self._kept.state, self.parameters.rates)

    def averaged_weights(self) -> FloatArray:
        """The mean of the weights after each step, by clause id; see `sqlrl.learn.adagrad.averaged_weights`."""
        return averaged_weights(self._kept.state, self.parameters.rates)

    def support(self) -> pa.Table:
        """How often each clause mattered.

        Returns
        -------
        pyarrow.Table
            Rows in order of `clause`: `support`, the steps whose example had an open ground clause; `updates`, the steps
            that changed the weight; `delta_n`, the sum of n in the observed minus n in the predicted world.
        """
        met, updates, delta_n = self._kept.tally
        clause = np.arange(len(met), dtype=np.int64)
        return pa.table({"clause": clause, "support": met, "updates": updates, "delta_n": delta_n})

    def state(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything needed to go on later, as plain arrays (for `numpy.savez`).

        Returns
        -------
        dict of str to array
            Names of the fields of `AdaGradState` and `Tally`. What was reported before is not in it.
        """
        state, tally = self._kept.state, self._kept.tally
        return {
            "steps": np.array(state.steps, dtype=np.int64),
            "weight": state.weight.copy(),
            "squares": state.squares.copy(),
            "total": state.total.copy(),
            "last": state.last.copy(),
            "met": tally.met.copy(),
            "updates": tally.updates.copy(),
            "delta_n": tally.delta_n.copy(),
        }

    @classmethod
    def from_state(
        cls, parameters: AdaGradParameters, state: Mapping[str, npt.NDArray[np.generic]], *, names: Names | None = None
    ) -> Self:
        """Make a learner that goes on where `state` was taken.

        Raises
        ------
        InputError
            The arrays are not those of a learner.

        Examples
        --------
        >>> AdaGradLearner.from_state(AdaGradParameters(), AdaGradLearner().state()).steps
        0
        """
        wanted = (*AdaGradState._fields, *Tally._fields)
        sizes = {np.shape(state[name]) for name in wanted[1:] if name in state}
        if set(wanted) - set(state) or len(sizes) != 1 or np.shape(state["steps"]) != ():
            raise InputError(f"a learner's state has the arrays {', '.join(wanted)}, all but the first of one length")
        learner = cls(parameters, names=names)
        weight, squares, total = (np.array(state[name], dtype=np.float64) for name in ("weight", "squares", "total"))
        last = np.array(state["last"], dtype=np.int64)
        values = AdaGradState(int(state["steps"]), weight, squares, total, last)
        tally = Tally(*(np.array(state[name], dtype=np.int64) for name in Tally._fields))
        learner._kept = _Kept(values, tally, no_infeasible_truth())
        return learner

    def learn_window(self, window: Window) -> WindowReport:
        """Take one step for each example of a window, in its order: predict, compare, update.

        Parameters
        ----------
        window : Window
            Examples with their network and labels. Clauses that are new get a weight of 0 in all steps before.

        Returns
        -------
        WindowReport

        Raises
        ------
        InputError
            An atom has no label; atoms of two examples stand in one ground clause; labels violate hard clauses and
            `on_infeasible_truth` is "error".
        ConflictError
            The hard clauses of an example cannot all hold.
        NumericError
            Soft evidence is not finite, or weights have grown out of range.
        """
        start = time.perf_counter()
        network, truth = window.network, window.truth
        check_labelled(network, window.labelled, window.examples, self.names)
        _check_prior(network)
        broken = infeasible_truth(network, truth)
        policy = self.parameters.on_infeasible_truth
        if policy == "error" and len(broken.clause):
            raise broken.error(self.names)
        examples = window.examples
        if policy == "skip":
            examples = examples[~np.isin(examples, broken.example)]
        size = max(len(self._kept.state.weight), 1 + int(network.clauses.max(initial=-1)))
        state, tally = grown(self._kept.state, size), Tally(*(_longer(x, size) for x in self._kept.tally))
        local, counters = _at(state, network.clauses), Tally(*(x[network.clauses] for x in tally))
        learned = learn_examples(cut(network, examples), truth, local, counters, self.parameters, self.names)
        rows = learned.rows
        if not all(np.all(np.isfinite(x)) for x in (local.weight, rows.score_truth, rows.score_prediction)):
            raise NumericError("weights grew beyond the range of floats: lower learning_rate, or raise delta")
        for whole, part in zip((*state[1:], *tally), (*local[1:], *counters), strict=True):
            whole[network.clauses] = part
        report = WindowReport(
            _step_table(learned, state.steps, examples),
            learned.predicted,
            _change_table(learned, network.clauses),
            time.perf_counter() - start,
        )
        done = state._replace(steps=state.steps + len(examples))
        # One assignment, so that Ctrl-C cannot leave half a window behind.
        self._kept = _Kept(done, tally, self.infeasible.joined(broken))
        return report


def _check_prior(network: Network) -> None:
    wrong = np.flatnonzero(~np.isfinite(network.prior))
    if len(wrong):
        raise NumericError(
            f"soft evidence of atom {network.atoms[wrong[0]]} is {network.prior[wrong[0]]}: give a probability between 0 "
            "and 1, or load certain evidence as a fact"
        )


def _at(state: AdaGradState, clauses: IntArray) -> AdaGradState:
    # A copy with the given clauses only.
    _, weight, squares, total, last = state
    return AdaGradState(state.steps, weight[clauses], squares[clauses], total[clauses], last[clauses])


def _longer(values: IntArray, size: int) -> IntArray:
    return np.concatenate([values, np.zeros(size - len(values), dtype=np.int64)])


STEP_SCHEMA = pa.schema(
    [
        ("step", pa.int64()),
        ("example", pa.int64()),
        ("loss", pa.float64()),
        ("atoms", pa.int64()),
        ("correct", pa.int64()),
        ("score_truth", pa.float64()),
        ("score_prediction", pa.float64()),
    ]
)


def _step_table(learned: Learned, done: int, examples: IntArray) -> pa.Table:
    rows = learned.rows
    steps = np.arange(done, done + len(examples), dtype=np.int64)
    columns = (steps, examples, rows.loss.astype(np.float64), rows.atoms, rows.atoms - rows.loss)
    return pa.Table.from_arrays(
        [pa.array(x) for x in (*columns, rows.score_truth, rows.score_prediction)], schema=STEP_SCHEMA
    )


def _change_table(learned: Learned, ids: IntArray) -> pa.Table:
    changes = learned.changes
    return pa.table(
        {
            "step": changes.step - 1,
            "clause": ids[changes.clause],
            "delta_n": changes.delta_n,
            "weight": changes.weight,
        }
    )
