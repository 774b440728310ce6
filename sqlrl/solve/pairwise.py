"""Large networks of pairs that attract each other: their most probable world by one minimum cut, straight from the ground clauses.

Other networks are compiled first: rows reduced to what they say of blocks, divided into components, trees looked for, equal rows merged, rounds of
cutting planes begun. Where all ground clauses are soft, have two literals and attract, a cut needs none of that, and takes a quarter of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.progress import at_stage
from sqlrl.solve.cut import Quadratic, cut_attractive, quadratic
from sqlrl.solve.result import Solution
from sqlrl.solve.weighted import WeightedNetwork, weigh_unmerged

LARGE = 50_000
"""So many ground clauses are worth a look; of fewer, compiling takes milliseconds."""


@dataclass(frozen=True, eq=False)
class PairwiseWorld:
    """The best world of a network of pairs, how it was found, and how many components of several atoms there are."""

    solution: Solution
    weighted: WeightedNetwork
    components: int


@at_stage("minimum cut")
def best_of_pairs(network: Network, soft: FloatArray, extra: FloatArray) -> PairwiseWorld | None:
    """Return the best world for weights of shape (m,) and what atoms add, shape (n,); None if a cut does not solve the whole network at once."""
    if not _all_soft_pairs(network):
        return None
    weighted = weigh_unmerged(network, soft, extra)
    form = quadratic(weighted)
    if (form.product > 0).any():
        return None
    count = _components(form)
    if count is None:
        return None
    try:
        side, scaled = cut_attractive(form)
    except NumericError:
        # Components may each have a scale, though there is none for all.
        return None
    rounding = scaled.lost + form.rounding
    return PairwiseWorld(Solution(side, rounding, rounding, scaled.scale), weighted, count)


def _all_soft_pairs(network: Network) -> bool:
    if len(network.block_exact) or len(network.hard_units) or network.rows.tied:
        return False
    rows = network.rows.listed
    size = len(rows.clause)
    if size < LARGE or len(rows.literals) != 2 * size:
        return False
    # Clauses ascend: the hard ones that have a row are found without looking at each.
    hard = np.flatnonzero(network.hard)
    none_hard = (np.searchsorted(rows.clause, hard, "left") == np.searchsorted(rows.clause, hard, "right")).all()
    return bool(none_hard and (np.diff(rows.indptr) == 2).all())


def _components(form: Quadratic) -> int | None:
    """Return how many components of several atoms there are; None if one is a tree, of whose best worlds elimination finds the first."""
    n = len(form.linear)
    graph = sparse.coo_array((np.ones(len(form.a), dtype=np.int8), (form.a, form.b)), shape=(n, n))
    count, label = csgraph.connected_components(graph, directed=False)
    atoms, pairs = np.bincount(label, minlength=count), np.bincount(label[form.a], minlength=count)
    tree: BoolArray = (atoms > 1) & (pairs == atoms - 1)
    return None if tree.any() else int((atoms > 1).sum())
