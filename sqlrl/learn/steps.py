"""One pass over the examples of a window: runs of forests and components of small treewidth in compiled code, other examples one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sqlrl.errors import InfeasibleError
from sqlrl.ground.network import BLOCK, BoolArray, IntArray, Network
from sqlrl.learn.arrays import (
    ClauseTally,
    CountChanges,
    SolvedComponents,
    StepRows,
    component_arrays,
    new_scratch,
    new_step_rows,
    tied_arrays,
    window_arrays,
)
from sqlrl.learn.kernel import (
    finish,
    learn_compiled,
    no_changes,
    predict,
    record,
    refresh,
    sample,
    soft_examples,
    start_chain,
)
from sqlrl.learn.rules import RuleState
from sqlrl.learn.settings import Parameters
from sqlrl.learn.slices import Slices, cut, example_network, flagged_examples
from sqlrl.learn.worlds import sampled_world, two_worlds
from sqlrl.progress import Stage
from sqlrl.solve.bounded_treewidth import compile_bounded
from sqlrl.solve.components import split
from sqlrl.solve.mpe import compile_program
from sqlrl.solve.randomness import Stream
from sqlrl.training.labels import Names


@dataclass(frozen=True, eq=False)
class LearnedSteps:
    """What a pass recorded: a row of each example, predicted worlds, shape (n,), and changes of local clauses, steps from 1."""

    rows: StepRows
    predicted: BoolArray
    changes: CountChanges


def describer(network: Network, names: Names) -> Callable[[int, Sequence[int]], str]:
    """Words for a ground clause of a network: its atoms and the text of its clause; of a `BLOCK` only its atoms."""

    def describe(clause: int, literals: Sequence[int]) -> str:
        if clause == BLOCK:
            return ", ".join(names.atom(int(network.atoms[x - 1])) for x in literals)
        words = " v ".join(f"{'' if x > 0 else '!'}{names.atom(int(network.atoms[abs(x) - 1]))}" for x in literals)
        whose = names.clause(int(network.clauses[clause])) if clause >= 0 else "given atom of the same block"
        return f"{words} ({whose})"

    return describe


def _runs(compiled: BoolArray) -> Iterator[tuple[int, int, bool]]:
    # Longest stretches of examples of one kind, as (begin, end, compiled).
    bounds = [0, *(np.flatnonzero(np.diff(compiled)) + 1).tolist(), len(compiled)]
    for begin, end in pairwise(bounds):
        if end > begin:
            yield begin, end, bool(compiled[begin])


class _Pass:
    # The arrays that all runs of a window share.

    def __init__(
        self,
        slices: Slices,
        truth: BoolArray,
        state: RuleState,
        tally: ClauseTally,
        parameters: Parameters,
        names: Names,
        random: Stream,
        *,
        compiled: bool,
    ) -> None:
        self.state, self.tally, self.parameters, self.names = state, tally, parameters, names
        self.random = random
        # Sampled worlds, and those that each example finds by itself, look at ground clauses row by row.
        slices = slices if compiled and parameters.sweeps == 0 else slices.listed()
        program = compile_program(slices.network)
        self.structure = program.structure
        if self.structure.network is not slices.network:
            slices = cut(self.structure.network, slices.examples)
        self.slices = slices
        bounded = compile_bounded(self.structure)
        self.components: SolvedComponents = component_arrays(program.forest, bounded, slices.examples)
        self.general: BoolArray = ~(
            self.structure.forest[self.structure.component[self.structure.variables.of_atom]] | bounded.inside
        )
        self.window, self.tied = window_arrays(slices, truth), tied_arrays(slices)
        apart = parameters.augmentation > 0 or parameters.sweeps > 0
        self.work = new_scratch(len(tally.met), len(truth), apart=apart)
        self.rows = new_step_rows(len(slices.examples))
        self.changes: CountChanges = no_changes()
        self.used = 0
        self.chain = start_chain(slices, truth) if parameters.sweeps > 0 else None
        self.soft = soft_examples(slices) if parameters.sweeps > 0 else np.ones(len(slices.examples), dtype=np.bool_)
        arrays = self.components.forest.arrays
        self.theta = (np.empty(len(arrays.state_atom)), np.empty(len(arrays.pair_cell)))

    def compiled(self, begin: int, end: int) -> None:
        """Take the steps of a run of examples in compiled code."""
        chosen, (forest, bounded) = self.parameters, self.components
        stuck, self.changes, self.used = learn_compiled(
            self.window, self.tied, forest, bounded, self.chain, begin, end, self.state, self.tally, chosen.rates, self.work,
            self.state.steps + begin, self.rows, self.changes, self.used, chosen.augmentation, chosen.sweeps, self.random,
            chosen.record_history,
        )  # fmt: skip
        self._check(stuck)

    def sampled(self, k: int) -> None:
        """Take the step of an example with hard clauses that compiled code predicts, against a sampled world."""
        self._refresh(k)
        window, work = self.window, self.work
        self._check(predict(window, *self.components, k, *self.theta, window.prior, work.now, work.predicted))
        network, atoms, clauses = example_network(self.slices, k)
        self._sample(k, network, atoms, clauses)
        self._finish(k)

    def other(self, k: int) -> None:
        """Take the step of any example: its worlds are found on the network of this example alone."""
        chosen, work = self.parameters, self.work
        self._refresh(k)
        network, atoms, clauses = example_network(self.slices, k)
        weights, describe = work.now[clauses], describer(network, self.names)
        loss = chosen.augmentation * self.window.loss[atoms] if chosen.augmentation > 0 else None
        try:
            work.predicted[atoms], work.target[atoms] = two_worlds(network, weights, loss, chosen, describe)
        except InfeasibleError as error:
            raise self._placed(error, int(self.slices.examples[k])) from None
        if chosen.sweeps > 0:
            self._sample(k, network, atoms, clauses)
        self._finish(k)

    def _sample(self, k: int, network: Network, atoms: IntArray, clauses: IntArray) -> None:
        if self.chain is not None and self.soft[k]:
            sample(self.window, self.chain, k, self.work.now, self.parameters.sweeps, self.random, self.work.target)
            return
        self.work.target[atoms] = sampled_world(
            network,
            self.work.now[clauses],
            self.window.truth[atoms],
            sweeps=self.parameters.sweeps,
            random=self.random,
        )

    def _refresh(self, k: int) -> None:
        refresh(
            self.window,
            self.tied,
            k,
            self.state,
            self.tally,
            self.parameters.rates,
            self.work,
            self.state.steps + k + 1,
        )

    def _finish(self, k: int) -> None:
        chosen, step = self.parameters, self.state.steps + k + 1
        count = finish(self.window, self.tied, k, self.state, self.tally, chosen.rates, self.work, step, self.rows)
        if chosen.record_history:
            self.changes, self.used = record(self.changes, self.used, self.state, chosen.rates, self.work, step, count)

    def _check(self, stuck: int) -> None:
        # Raise the error about a variable whose component has no world; -1 is none.
        if stuck < 0:
            return
        from sqlrl.solve.conflict import conflict_error

        structure = self.structure
        component = next(split(structure, structure.component[[stuck]]))
        describe = describer(structure.network, self.names)
        error = conflict_error(structure, component, describe=describe, seed=self.parameters.seed)
        raise self._placed(error, int(structure.network.example[component.atoms[0]]))

    def _placed(self, error: InfeasibleError, example: int) -> InfeasibleError:
        error.add_note(f"while predicting example {self.names.example(example)}")
        return error


def learn_examples(
    slices: Slices,
    truth: BoolArray,  # shape (n,): the labels
    state: RuleState,
    tally: ClauseTally,
    parameters: Parameters,
    names: Names,
    random: Stream,
    *,
    compiled: bool = True,  # False: no compiled code; only ties in bounded components may differ
) -> LearnedSteps:
    """Take one step for each example of a sliced network, in order; `state`, `tally` and `random` change in place, even if it fails."""
    compiled = compiled and parameters.inference == "exact"
    run = _Pass(slices, truth, state, tally, parameters, names, random, compiled=compiled)
    fast = ~flagged_examples(slices, run.general) if compiled else np.zeros(len(slices.examples), dtype=np.bool_)
    with Stage("steps of this window", len(slices.examples), even=True) as stage:
        for begin, end, at_once in _runs(fast & run.soft):
            if at_once:
                run.compiled(begin, end)
                stage.advance(end - begin)
            else:
                for k in range(begin, end):
                    (run.sampled if fast[k] else run.other)(k)
                    stage.advance()
    changes, used = run.changes, run.used
    kept = CountChanges(changes.step[:used], changes.clause[:used], changes.delta_n[:used], changes.weight[:used])
    return LearnedSteps(run.rows, run.work.predicted, kept)
