"""The most probable world of one example under the current weights, compiled: forests and narrow components."""

from __future__ import annotations

from sqlrl.ground.network import BoolArray, FloatArray
from sqlrl.kernels import kernel
from sqlrl.learn.arrays import Forest, Narrow, WindowArrays
from sqlrl.learn.weighing import row_cost, unit_worth
from sqlrl.solve.forest import solve_range, weigh_range
from sqlrl.solve.treewidth.messages import best_world


@kernel
def _predict_forest(
    forest: Forest,
    k: int,
    theta_unary: FloatArray,
    theta_pair: FloatArray,
    linear: FloatArray,
    now: FloatArray,
    world: BoolArray,
) -> int:
    arrays, first, last = forest.arrays, forest.first[k], forest.last[k]
    begin, end = arrays.state_start[first], arrays.state_start[last]
    weigh_range(forest.unary.indptr, forest.unary.indices, forest.unary.data, now, begin, end, theta_unary)
    for s in range(begin, end):
        if arrays.state_atom[s] >= 0:
            theta_unary[s] += linear[arrays.state_atom[s]]
    pairs = forest.pairs
    begin, end = arrays.pair_start[first], arrays.pair_start[last]
    weigh_range(pairs.indptr, pairs.indices, pairs.data, now, begin, end, theta_pair)
    place: int = solve_range(arrays, theta_unary, theta_pair, first, last, world)[0]
    return place if place < 0 else int(forest.variable[place])


@kernel
def _weigh_narrow(window: WindowArrays, narrow: Narrow, c: int, linear: FloatArray, now: FloatArray) -> None:
    # Write what states add and what violated rows cost into the tables of component c.
    buckets = narrow.buckets
    for i in range(buckets.component_start[c], buckets.component_start[c + 1]):
        for s in range(buckets.state_start[i], buckets.state_start[i + 1]):
            atom = buckets.state_atom[s]
            if atom >= 0:
                buckets.state_value[s] = unit_worth(window, atom, now) + linear[atom]
        for r in range(buckets.row_start[i], buckets.row_start[i + 1]):
            j = buckets.row[r]
            row = narrow.row[j]
            if row >= 0 and not window.hard[window.row_clause[row]]:
                buckets.cost[j] = row_cost(window, row, now)


@kernel
def _predict_narrow(
    window: WindowArrays, narrow: Narrow, k: int, linear: FloatArray, now: FloatArray, world: BoolArray
) -> int:
    for p in range(narrow.first[k], narrow.last[k]):
        c = narrow.component[p]
        _weigh_narrow(window, narrow, c, linear, now)
        if not best_world(narrow.buckets, narrow.scratch, c, narrow.chosen, world):
            return int(narrow.variable[narrow.buckets.component_start[c]])
    return -1


@kernel
def predict(
    window: WindowArrays,
    forest: Forest,
    narrow: Narrow | None,
    k: int,
    theta_unary: FloatArray,
    theta_pair: FloatArray,
    linear: FloatArray,
    now: FloatArray,
    world: BoolArray,
) -> int:
    """Write the most probable world of the k-th example, all of it forests and narrow components, under the current weights `now`.

    Parameters
    ----------
    window : WindowArrays
    forest : Forest
    narrow : Narrow or None
        Its tables are overwritten.
    k : int
        Place of the example in the sequence.
    theta_unary, theta_pair : float arrays
        Room for what each state and each pair entry of the forests adds.
    linear : float array, shape (n,)
        What each atom adds when it is true, besides the clauses.
    now : float array, shape (m,)
        0 for hard clauses.
    world : bool array, shape (n,)

    Returns
    -------
    int
        -1, or a variable of `Structure.variables` whose component has no world.
    """
    stuck: int = _predict_forest(forest, k, theta_unary, theta_pair, linear, now, world)
    # Alone, so that numba leaves it out where there is None.
    if narrow is not None:  # noqa: SIM102
        if stuck < 0:
            stuck = _predict_narrow(window, narrow, k, linear, now, world)
    return stuck
