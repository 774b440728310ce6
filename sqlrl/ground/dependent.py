"""Helper atoms in arrays: the values that they take when another atom changes."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.network import BoolArray, Network


def with_helpers(network: Network, defining: BoolArray, world: BoolArray, atom: int) -> BoolArray:
    r"""Return a world with one atom flipped, and the helper atoms as their definitions then demand.

    Parameters
    ----------
    network : Network
        n atoms, m clauses.
    defining : bool array, shape (m,)
        The clauses that define helper atoms.
    world : bool array, shape (n,)
    atom : int
        The local atom to flip.

    Returns
    -------
    bool array, shape (n,)

    Notes
    -----
    A definition leaves one value to its helper once the atoms that it mentions have theirs, and definitions mention no
    helpers in a circle: unit propagation over the defining clauses gives every helper its value.

    Examples
    --------
    >>> from sqlrl.ground.assemble import ground_network
    >>> from sqlrl.ground.sample import sample_program
    >>> program = sample_program("H(t)\nS(t)\nt = {A}\n1 !(EXIST y (H(y) ^ S(y)))", ["H", "S"], {"H": [("A",)]})
    >>> network = ground_network(program)
    >>> defining = np.array([program.features[f].rule is None for f in program.feature_of])
    >>> true = network.helper.copy()  # both helper atoms: H(A) ^ S(A), and some witness
    >>> true[:2] = True
    >>> with_helpers(network, defining, true, 0).tolist()
    [False, True, False, False]
    """
    flipped = world.copy()
    flipped[atom] = not world[atom]
    if not network.helper.any():
        return flipped
    rows = np.flatnonzero(defining[network.row_clause])
    length = np.diff(network.indptr)
    row = np.repeat(np.arange(len(length)), length)
    mine = np.isin(row, rows)
    row, literal = row[mine], network.literals[mine]
    units = network.hard_units[defining[network.hard_units[:, 0]] & (network.hard_units[:, 0] >= 0), 1]
    row = np.concatenate([row, len(length) + np.arange(len(units))])
    literal = np.concatenate([literal, units])
    known = ~network.helper
    while not known.all():
        here = np.abs(literal) - 1
        true = known[here] & (flipped[here] == (literal > 0))
        size = len(length) + len(units)
        satisfied = np.bincount(row[true], minlength=size) > 0
        left = np.bincount(row[~known[here]], minlength=size)
        forced = literal[~known[here] & (left[row] == 1) & ~satisfied[row]]
        if not len(forced):
            break
        flipped[np.abs(forced) - 1] = forced > 0
        known[np.abs(forced) - 1] = True
    return flipped
