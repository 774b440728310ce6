"""F1 on the training examples, by which C is chosen."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, Network


def average_f1(network: Network, truth: BoolArray, world: BoolArray) -> float:
    """The mean over mega-examples of the F1 of their true atoms.

    Parameters
    ----------
    network : Network
        n atoms.
    truth, world : bool arrays, shape (n,)
        Labels and predicted truth.

    Returns
    -------
    float
        From 0 to 1. An example without true atoms in labels and world has no error: 1. Helper atoms do not count; 1 if there
        are no other atoms.

    Notes
    -----
    Source: Huynh (2011), section 4.4.2: the highest average F1 on training.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> both = network(4, [], example=[0, 0, 1, 1])
    >>> average_f1(both, np.array([True, True, False, False]), np.array([True, False, False, False]))
    0.8333333333333333
    """
    real = ~network.helper
    examples, example = np.unique(network.example[real], return_inverse=True)
    if len(examples) == 0:
        return 1.0
    hits = np.bincount(example, weights=truth[real] & world[real], minlength=len(examples))
    wrong = np.bincount(example, weights=truth[real] != world[real], minlength=len(examples))
    return float(np.where(wrong == 0, 1.0, 2 * hits / np.maximum(2 * hits + wrong, 1)).mean())
