"""Weights that learners leave as they are: what such clauses add to a world becomes a part of the atoms' prior log-odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from sqlrl.errors import UnsupportedError
from sqlrl.ground.network import BoolArray, FloatArray, Network


def with_fixed(network: Network, fixed: BoolArray, weights: FloatArray, text: Callable[[int], str]) -> Network:
    """Return the network with fixed weights in its priors; `fixed` and `weights` (log-odds) are by clause, shape (m,)."""
    here = fixed[network.clauses]
    # A learner would have to weigh a ground clause of several query atoms among those that it learns.
    joining = np.flatnonzero(here[network.row_clause])
    if len(joining):
        clause = int(network.clauses[network.row_clause[joining[0]]])
        raise UnsupportedError(
            f"the weight of {text(clause)} is fixed ('@'), and it joins query atoms: learners leave such a weight as it is only where each "
            "ground clause has one query atom; remove the '@' and learn it, or learn without the rule and add it afterwards"
        )
    free = sparse.diags_array((~here).astype(np.int64), format="csr", dtype=np.int64)
    units = sparse.csr_array(network.units @ free)
    units.eliminate_zeros()
    prior = network.prior + network.units @ np.where(here, weights[network.clauses], 0.0)
    # The clauses stay, without ground clauses, so that nothing moves their weights from 0; their counts stay, too.
    return replace(network, units=units, prior=prior)
