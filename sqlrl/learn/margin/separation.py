"""The separation oracle: the world that violates its margin most, for weights, and how far from the worst it can be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.margin.cuts import Cut, Loss, Separation
from sqlrl.learn.steps import describer
from sqlrl.solve.counts import delta_counts
from sqlrl.solve.methods import Options
from sqlrl.solve.mpe import compile_program, mpe
from sqlrl.solve.other_worlds import differing
from sqlrl.solve.restriction import select_each
from sqlrl.solve.weighted import weigh
from sqlrl.training.labels import hamming_loss

ROUNDED = 44
"""Weights are rounded to 2 to the minus this part of all that they add up to."""

PRIOR_ROUNDED = 26
"""Log-odds of soft evidence are rounded to multiples of 2 to the minus this, some hundred-millionths."""

LABELS = -1
"""Stands for the labels' world in place of the number of a call."""


@dataclass(frozen=True, eq=False)
class ViolatedMargin:
    """A violated margin."""

    cut: Cut
    gap: float  # no world falls short by more than this above the cut's own shortfall (log-odds)
    errors: int  # atoms, helper atoms aside, in which its world differs from the labels


class Oracle:
    """Finds the most violated margins; the loss is the number of wrong atoms ("hamming") or of mega-examples with one ("zero-one").

    Source: Huynh (2011), section 4.3.2. Components of small treewidth and attractive ones are solved exactly either
    way; others by the linear relaxation, rounded and improved by local search ("relaxed"), or by CP-SAT ("exact"). The
    thesis separates the 0/1 loss by most probable worlds; but the labels have loss 0, and where they are most probable
    the best *other* world is looked for, mega-example by mega-example.
    """

    def __init__(
        self, problem: TrainingProblem, loss: Loss = "hamming", separation: Separation = "exact", *, seed: int = 0
    ) -> None:
        self.loss, self.prove, self.seed = loss, separation == "exact", seed
        # Else weights that take an atom to its margin would leave what no integer can hold; see `rounded`.
        prior = np.ldexp(np.rint(np.ldexp(problem.network.prior, PRIOR_ROUNDED)), -PRIOR_ROUNDED)
        self.problem = problem = replace(problem, network=replace(problem.network, prior=prior))
        network, truth = problem.network, problem.truth
        self.program = compile_program(network)
        self.soft = ~network.hard
        self.examples, self.example = np.unique(network.example, return_inverse=True)
        # Bits: there are as many worlds as iterations.
        self._worlds: list[npt.NDArray[np.uint8]] = []
        self._hamming = hamming_loss(network, truth)
        self._describe = describer(network, problem.names)
        # Soft evidence takes from the margin of worlds that it speaks for.
        each = np.where(network.helper, 1.0, 1.0 - prior * np.where(truth, 1.0, -1.0))
        self.least_margin = float(each.min(initial=1.0)) if loss == "hamming" or not prior.any() else 0.0

    def predicted(self, weights: FloatArray) -> BoolArray:
        """The most probable world, as well as the oracle finds worlds, shape (n,)."""
        return self._best(weights, None, None)[0]

    def most_violated(self, weights: FloatArray, known: int = LABELS) -> ViolatedMargin:
        """Return the margin that weights violate most; `known` is the number (from 0) of the call with the worst world, or `LABELS`."""
        if self.loss == "hamming":
            truth = self.problem.truth
            # Where nothing is proved the search starts at the better of labels and known world, unless the linear
            # relaxation has a better one, so that it finds no better-kept margin than was found before.
            start = truth
            if known != LABELS:
                start = np.stack([truth, np.unpackbits(self._worlds[known], count=len(truth)).astype(np.bool_)])
            world, gap = self._best(weights, self._hamming, start)
            self._worlds.append(np.packbits(world))
            wrong = self._wrong(world)
            return ViolatedMargin(self._cut(world, int(wrong.sum())), gap, int(wrong.sum()))
        world, gap = self._others(weights, *self._best(weights, None, self.problem.truth))
        wrong = self._wrong(world)
        return ViolatedMargin(self._cut(world, len(np.unique(self.example[wrong]))), gap, int(wrong.sum()))

    def rounded(self, weights: FloatArray) -> FloatArray:
        """Return weights as multiples of a power of two: what adds up to 0 is exactly 0, and integers hold the rest."""
        # Weights that are best for single atoms leave many at their margin, a difference of nearly 0 for a solver.
        network = self.problem.network
        alone = network.prior + self._hamming + network.units @ np.where(self.soft, weights, 0.0)
        size, rest = np.abs(np.where(self.soft, weights, 0.0)), network.rows.rest
        rows = float((rest.multiplicity * size[rest.clause]).sum())
        rows += sum(float(size[table.clauses].sum() * table.multiplicity.sum()) for table in network.rows.tied)
        grid = np.ldexp(1.0, int(np.ceil(np.log2(1.0 + np.abs(alone).sum() + rows))) - ROUNDED)
        return np.asarray(np.rint(weights / grid) * grid, dtype=np.float64)

    def _best(self, weights: FloatArray, loss: FloatArray | None, start: BoolArray | None) -> tuple[BoolArray, float]:
        # A rounded world is repaired until hard clauses hold: every cut is a constraint of the problem, so that the
        # lower bound of the objective is valid.
        result = mpe(
            self.program, weights, loss=loss, start=start, seed=self.seed, prove=self.prove, describe=self._describe
        )
        return result.world, result.gap

    def _wrong(self, world: BoolArray) -> BoolArray:
        return np.asarray((world != self.problem.truth) & ~self.problem.network.helper, dtype=np.bool_)

    def _cut(self, world: BoolArray, loss: int) -> Cut:
        network, truth = self.problem.network, self.problem.truth
        delta = np.where(self.soft, delta_counts(network, truth, world), 0)
        clause: IntArray = np.flatnonzero(delta)
        fixed = float(network.prior @ (truth.astype(np.float64) - world))
        return Cut(clause, delta[clause], loss, fixed)

    def _others(self, weights: FloatArray, world: BoolArray, gap: float) -> tuple[BoolArray, float]:
        # Examples whose labels are a most probable world: their best other one, if it is behind by less than the loss of 1.
        right = np.ones(len(self.examples), dtype=np.bool_)
        right[self.example[self._wrong(world)]] = False
        if not right.any():
            return world, gap
        weighted, world = weigh(self.problem.network, weights), world.copy()
        for k, (inside, part) in enumerate(select_each(weighted, self.example, len(self.examples))):
            if not right[k]:
                continue
            # Without proof: the best world of components of small treewidth, and the best flip of one atom elsewhere.
            other = differing(part, world[inside], Options(seed=self.seed, prove=self.prove))
            gain = max(1.0 - other.behind, 0.0)
            if gain > 0:
                world[inside] = other.world
            # No other world of the example is behind by less than this.
            gap += max(1.0 - other.least - gain, 0.0)
        return world, gap
