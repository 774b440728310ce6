"""One pass over the examples of a window: runs of forests in compiled code, other examples by `mpe`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from sqlrl.errors import InfeasibleError
from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.learn.adagrad import AdaGradState, Rates
from sqlrl.learn.arrays import (
    Changes,
    Forest,
    StepRows,
    Tally,
    WindowArrays,
    forest_arrays,
    new_scratch,
    new_step_rows,
    window_arrays,
)
from sqlrl.learn.kernel import finish, learn_forests, no_changes, record, refresh
from sqlrl.learn.labels import Names
from sqlrl.learn.slices import Slices, example_network, flagged_examples
from sqlrl.solve.components import split
from sqlrl.solve.forest import compile_forest
from sqlrl.solve.mpe import mpe
from sqlrl.solve.structure import Structure, compile_network


class Choices(Protocol):
    """What a pass needs to know of a learner's parameters."""

    @property
    def rates(self) -> Rates:
        """The numbers of equation 1."""
        ...

    @property
    def augmentation(self) -> float:
        """What each wrong atom adds to a world from which delta n is taken."""
        ...

    @property
    def record_history(self) -> bool:
        """Whether changes are recorded."""
        ...

    @property
    def seed(self) -> int:
        """Seed of CP-SAT."""
        ...


@dataclass(frozen=True, eq=False)
class Learned:
    """What a pass recorded.

    Parameters
    ----------
    rows : StepRows
        One place for each example.
    predicted : bool array, shape (n,)
        The predicted worlds.
    changes : Changes
        Updated clauses, as local clauses; steps from 1.
    """

    rows: StepRows
    predicted: BoolArray
    changes: Changes


def describer(network: Network, names: Names) -> Callable[[int, Sequence[int]], str]:
    """Words for a ground clause of a network: its atoms by id and the text of its clause."""

    def describe(clause: int, literals: Sequence[int]) -> str:
        words = " v ".join(f"{'' if x > 0 else '!'}atom {network.atoms[abs(x) - 1]}" for x in literals)
        whose = names.clause(int(network.clauses[clause])) if clause >= 0 else "given atom of the same block"
        return f"{words} ({whose})"

    return describe


def _runs(forest: BoolArray) -> Iterator[tuple[int, int, bool]]:
    # Longest stretches of examples of one kind, as (begin, end, forests).
    bounds = [0, *(np.flatnonzero(np.diff(forest)) + 1).tolist(), len(forest)]
    for begin, end in pairwise(bounds):
        if end > begin:
            yield begin, end, bool(forest[begin])


class _Pass:
    # The arrays that all runs of a window share.

    def __init__(
        self,
        slices: Slices,
        truth: BoolArray,
        state: AdaGradState,
        tally: Tally,
        choices: Choices,
        names: Names,
    ) -> None:
        self.slices, self.state, self.tally, self.choices, self.names = slices, state, tally, choices, names
        self.window: WindowArrays = window_arrays(slices, truth)
        self.work = new_scratch(len(state.weight), len(truth), augmented=choices.augmentation > 0)
        self.rows = new_step_rows(len(slices.examples))
        self.changes: Changes = no_changes()
        self.used = 0

    def forests(self, structure: Structure, forest: Forest, variable: IntArray, begin: int, end: int) -> None:
        choices = self.choices
        stuck, self.changes, self.used = learn_forests(
            self.window, forest, begin, end, self.state, self.tally, choices.rates, self.work,
            self.state.steps + begin, self.rows, self.changes, self.used, choices.augmentation, choices.record_history,
        )  # fmt: skip
        if stuck < 0:
            return
        from sqlrl.solve.conflict import conflict_error

        number = structure.component[variable[stuck : stuck + 1]]
        component = next(split(structure, number))
        describe = describer(structure.network, self.names)
        error = conflict_error(structure, component, describe=describe, seed=choices.seed)
        raise self._placed(error, int(structure.network.example[component.atoms[0]]))

    def other(self, k: int) -> None:
        # The general step: predict by `mpe` on the network of this example alone.
        choices, work, step = self.choices, self.work, self.state.steps + k + 1
        refresh(self.window, k, self.state, self.tally, choices.rates, work, step)
        network, atoms, clauses = example_network(self.slices, k)
        weights, describe = work.now[clauses], describer(network, self.names)
        try:
            work.predicted[atoms] = mpe(network, weights, seed=choices.seed, describe=describe).world
            if choices.augmentation > 0:
                loss = choices.augmentation * self.window.loss[atoms]
                work.target[atoms] = mpe(network, weights, loss=loss, seed=choices.seed, describe=describe).world
        except InfeasibleError as error:
            raise self._placed(error, int(self.slices.examples[k])) from None
        count = finish(self.window, k, self.state, self.tally, choices.rates, work, step, self.rows)
        if choices.record_history:
            self.changes, self.used = record(self.changes, self.used, self.state, work, step, count)

    def _placed(self, error: InfeasibleError, example: int) -> InfeasibleError:
        error.add_note(f"while predicting example {self.names.example(example)}")
        return error


def learn_examples(
    slices: Slices,
    truth: BoolArray,
    state: AdaGradState,
    tally: Tally,
    choices: Choices,
    names: Names,
    *,
    compiled: bool = True,
) -> Learned:
    """Take one step for each example of a sliced network, in order.

    Parameters
    ----------
    slices : Slices
        e examples.
    truth : bool array, shape (n,)
        The labels.
    state, tally
        Of the network's local clauses; their arrays are changed, also when an exception ends the pass.
    choices : Choices
        Parameters of the learner.
    names : Names
        Words for errors.
    compiled : bool
        Take examples whose components are all forests in compiled code. Without it, all go the general way, with the
        same result.

    Returns
    -------
    Learned
    """
    run = _Pass(slices, truth, state, tally, choices, names)
    structure = compile_network(slices.network)
    program = compile_forest(structure)
    general = ~structure.forest[structure.component[structure.variables.of_atom]]
    fast = ~flagged_examples(slices, general) if compiled else np.zeros(len(slices.examples), dtype=np.bool_)
    forest = forest_arrays(program, slices.examples)
    for begin, end, forests in _runs(fast):
        if forests:
            run.forests(structure, forest, program.variable, begin, end)
        else:
            for k in range(begin, end):
                run.other(k)
    changes, used = run.changes, run.used
    kept = Changes(changes.step[:used], changes.clause[:used], changes.delta_n[:used], changes.weight[:used])
    return Learned(run.rows, run.work.predicted, kept)
