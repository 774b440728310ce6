"""The worlds that a step compares with the labels where no compiled forest finds them: exact, relaxed, or sampled."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.learn.settings import Parameters
from sqlrl.solve.conflict import Describe
from sqlrl.solve.methods import LARGE
from sqlrl.solve.mpe import mpe
from sqlrl.solve.occurrences import occurrences
from sqlrl.solve.presolve import keep_rows, presolve, recognise_blocks
from sqlrl.solve.randomness import Stream
from sqlrl.solve.relaxation import LinearSolver, relax
from sqlrl.solve.restriction import UnsatisfiableError, restrict
from sqlrl.solve.rounding import round_up
from sqlrl.solve.sampling.chains import start_state
from sqlrl.solve.sampling.gibbs import start_sweep, sweep_once
from sqlrl.solve.sampling.mcsat import walk_mcsat
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.weighted import FREE, WeightedNetwork, weigh


def exact_world(
    network: Network,
    weights: FloatArray,
    loss: FloatArray | None,
    *,
    seed: int,
    describe: Describe | None,
    prove: bool = True,
) -> BoolArray:
    """The most probable world; with `loss`, shape (n,), added for each true atom. Arguments and errors are those of `mpe`."""
    return mpe(network, weights, loss=loss, seed=seed, describe=describe, prove=prove).world


def two_worlds(
    network: Network, weights: FloatArray, loss: FloatArray | None, parameters: Parameters, describe: Describe
) -> tuple[BoolArray, BoolArray]:
    """Return the predicted world and the one to learn from: the same without a loss, or where one has to serve both."""
    # Where samples are learned from, the predicted world is only shown: no search proves it.
    find = relaxed_world if parameters.inference == "relaxed" else partial(exact_world, prove=parameters.sweeps == 0)
    first = find(network, weights, loss if parameters.one_world else None, seed=parameters.seed, describe=describe)
    if loss is None or parameters.one_world:
        return first, first
    return first, find(network, weights, loss, seed=parameters.seed, describe=describe)


def relaxed_world(
    network: Network, weights: FloatArray, loss: FloatArray | None, *, seed: int, describe: Describe | None
) -> BoolArray:
    """Return the linear relaxation of the most probable world, rounded, shape (n,); blocks hold, hard clauses may not.

    Source: Huynh (2011), section 4.3.1, OP5 and Algorithm 4.1, whose rounding does not look after hard clauses; a
    learner takes delta n over weighted clauses, so that such a world teaches it all the same. Atoms that presolve
    decides are exact.
    """
    try:
        value, left = presolve(_scaled(weigh(network, weights, loss=loss)))
        world = np.asarray(value == 1, dtype=np.bool_)
        if len(left.atoms):
            solver: LinearSolver = "pdlp" if len(left.cost) > LARGE else "glop"
            world[value == FREE] = round_up(left, relax(left, solver=solver).truth)
    except UnsatisfiableError:
        # `mpe` finds the same contradiction and says in words which clauses it is between.
        return exact_world(network, weights, loss, seed=seed, describe=describe)
    return world


def _scaled(weighted: WeightedNetwork) -> WeightedNetwork:
    # Linear solvers take what is below their tolerance for 0: a power of two makes the largest number about 1, exactly.
    finite = weighted.cost[~weighted.hard]
    largest = max(float(np.abs(weighted.linear).max(initial=0.0)), float(np.abs(finite).max(initial=0.0)))
    if largest == 0.0:
        return weighted
    _, exponent = np.frexp(largest)
    return replace(
        weighted,
        linear=np.ldexp(weighted.linear, -exponent),
        cost=np.ldexp(weighted.cost, -exponent),
        constant=float(np.ldexp(weighted.constant, -exponent)),
        rounding=float(np.ldexp(weighted.rounding, -exponent)),
    )


def sampled_world(network: Network, weights: FloatArray, truth: BoolArray, *, sweeps: int, random: Stream) -> BoolArray:
    """Return the world, shape (n,), after some sweeps, 1 or more, of a Markov chain that starts at the labels `truth`.

    Source: Hinton (2002), section 3. A sweep draws each atom or block given all others; where hard clauses are left
    that are no blocks, a step of MC-SAT, which also passes between worlds that single flips cannot connect (and never
    flips helper atoms alone).
    """
    weighted, start = weigh(network, weights), start_world(network, truth)
    # The chain needs a world to start from: hard ground clauses that the labels violate are left out of it.
    broken = weighted.hard & weighted.violated(start)
    if broken.any():
        weighted = keep_rows(weighted, ~broken)
    value = propagate(weighted)
    free = value == FREE
    left = recognise_blocks(weighted if free.all() else restrict(weighted, value))
    world = np.asarray(value == 1, dtype=np.bool_)
    walk = walk_mcsat if left.hard.any() else _walk_gibbs
    world[free] = walk(left, start[free], sweeps, random)
    return world


def start_world(network: Network, truth: BoolArray) -> BoolArray:
    """Return the labels, with one true atom at most in each block, and one in each exactly-one block."""
    start = truth.copy()
    inside = np.flatnonzero(network.block >= 0)
    # True members first, then by atom: the first of each block.
    order = inside[np.lexsort((inside, ~truth[inside], network.block[inside]))]
    blocks, first = np.unique(network.block[order], return_index=True)
    leader: IntArray = order[first]
    start[inside] = False
    start[leader] = truth[leader] | network.block_exact[blocks]
    return start


def _walk_gibbs(weighted: WeightedNetwork, world: BoolArray, sweeps: int, random: Stream) -> BoolArray:
    state, sweep = start_state(weighted, occurrences(weighted), world), start_sweep(weighted)
    unused = np.zeros((2, len(world)))
    for _ in range(sweeps):
        sweep_once(state, sweep, random, unused[0], unused[1])
    return state.atom["true"].copy()
