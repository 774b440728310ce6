"""The predicted world of an example and the one that is learned from, compiled once for both."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.learn.parameters import Parameters
from sqlrl.learn.worlds import two_worlds
from sqlrl.solve.conflict import Describe
from sqlrl.solve.forest import compile_forest
from sqlrl.solve.structure import compile_network


def step_worlds(
    network: Network, weights: FloatArray, loss: FloatArray | None, parameters: Parameters, describe: Describe
) -> tuple[BoolArray, BoolArray]:
    """Return the most probable world, and the one that is most probable with a loss added.

    Parameters
    ----------
    network : Network
        n atoms, m clauses; of one example.
    weights : float array, shape (m,)
        Log-odds.
    loss : float array, shape (n,), or None
        Added for each true atom; without one both worlds are the same.
    parameters : Parameters
        How worlds are found.
    describe : callable
        Words for ground clauses.

    Raises
    ------
    InfeasibleError
        The hard clauses cannot all hold.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.structure.settings import OSLParameters
    >>> loss = np.array([1.0, 1.0])
    >>> worlds = step_worlds(network(2, [(0, [1])]), np.array([-0.5]), loss, OSLParameters(), lambda *_: "")
    >>> [world.tolist() for world in worlds]
    [[False, False], [True, True]]
    """
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
