"""Weighed networks whose rows have two literals, as a quadratic cost of their atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.weighed import EPSILON, Weighed


@dataclass(frozen=True, eq=False)
class Quadratic:
    """A cost to be minimised: ``constant + linear @ y + sum of product[e] * y[a[e]] * y[b[e]]``, and hard rows.

    Parameters
    ----------
    linear : float array, shape (n,)
    a, b : int64 arrays, shape (e,)
        The atoms of each product, a < b; every pair once.
    product : float array, shape (e,)
        Nonzero: negative where the two atoms attract each other, positive where they repel.
    hard : int64 array, shape (h, 2)
        Signed atoms +(k + 1) or -(k + 1): one of the two must hold. Both are the same for a row of one literal.
    constant : float
    rounding : float
        The difference of two worlds is off by no more than this.
    """

    linear: FloatArray
    a: IntArray
    b: IntArray
    product: FloatArray
    hard: IntArray
    constant: float
    rounding: float


def pairwise_atoms(weighed: Weighed, label: IntArray, count: int) -> BoolArray:
    """Which atoms are in components with rows of up to two literals only, and without blocks.

    Parameters
    ----------
    weighed : Weighed
        n atoms.
    label : int64 array, shape (n,)
        The component of each atom, from `component_labels`.
    count : int
        How many components.

    Returns
    -------
    bool array, shape (n,)

    Examples
    --------
    >>> from sqlrl.solve.restrict import component_labels
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> weighed = weigh(network(5, [(0, [1, 2, 3]), (0, [4, 5])]), [1.0])
    >>> count, label = component_labels(weighed)
    >>> pairwise_atoms(weighed, label, count).tolist()
    [False, False, False, True, True]
    """
    fits = np.ones(count, dtype=np.bool_)
    long = np.flatnonzero(np.diff(weighed.indptr) > 2)
    fits[label[np.abs(weighed.literals[weighed.indptr[long]]) - 1]] = False
    fits[label[weighed.block >= 0]] = False
    return np.asarray(fits[label], dtype=np.bool_)


def quadratic(weighed: Weighed) -> Quadratic:
    """Write a pairwise weighed network as a quadratic cost.

    Parameters
    ----------
    weighed : Weighed
        n atoms; rows of one or two literals, no blocks.

    Returns
    -------
    Quadratic
        Its cost of a world is minus the world's score, without the constant of `weighed`.

    Raises
    ------
    ValueError
        A row has three literals, or there is a block.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> cost = quadratic(weigh(network(2, [(0, [-1, 2]), (1, [1])]), [2.0, 0.5]))
    >>> cost.linear.tolist(), cost.product.tolist()
    ([1.5, 0.0], [-2.0])
    """
    n, length = len(weighed.atoms), np.diff(weighed.indptr)
    if np.any(length > 2) or len(weighed.block_exact):
        raise ValueError("a quadratic cost needs rows of up to two literals and no blocks")
    first = weighed.literals[weighed.indptr[:-1]]
    second = weighed.literals[weighed.indptr[1:] - 1]
    soft = ~weighed.hard
    left, right, cost = first[soft], second[soft], weighed.cost[soft]
    # A row costs cost * [left is false] * [right is false], where [literal is false] is y or 1 - y.
    literal = np.concatenate([left[right > 0], right[left > 0]])
    moved = np.concatenate([cost[right > 0], cost[left > 0]])
    atom = np.abs(literal) - 1
    linear = -weighed.linear + np.bincount(atom, weights=np.where(literal > 0, -moved, moved), minlength=n)
    size = np.abs(weighed.linear) + np.bincount(atom, weights=np.abs(moved), minlength=n)
    constant = float(cost[(left > 0) & (right > 0)].sum())
    keys, index = np.unique((np.abs(left) - 1) * max(n, 1) + np.abs(right) - 1, return_inverse=True)
    sign = np.where((left > 0) == (right > 0), 1, -1)
    product = np.bincount(index, weights=cost * sign, minlength=len(keys)).astype(np.float64)
    weight = np.bincount(index, weights=np.abs(cost), minlength=len(keys))
    # What cancels leaves a residue of rounding, which would be taken for a tiny weight.
    doubt = EPSILON * (np.bincount(index, minlength=len(keys)) - 1) * 2 * weight
    doubt_linear = EPSILON * np.bincount(atom, minlength=n) * 2 * size
    residue = np.abs(linear) <= doubt_linear
    kept = np.abs(product) > doubt
    return Quadratic(
        np.where(residue, 0.0, linear),
        keys[kept] // max(n, 1),
        keys[kept] % max(n, 1),
        product[kept],
        np.stack([first[~soft], second[~soft]], axis=1),
        constant,
        2 * float(doubt.sum() + doubt_linear.sum()),
    )


def switched(form: Quadratic) -> tuple[BoolArray, BoolArray]:
    """Which atoms to negate so that all pairs attract each other, and where that is possible.

    Parameters
    ----------
    form : Quadratic
        n atoms.

    Returns
    -------
    tuple of bool arrays, shape (n,)
        True for atoms to be negated; true for atoms of components in which no cycle has an odd number of repelling
        pairs, so that negating makes all pairs attract.

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> from sqlrl.solve.weighed import weigh
    >>> [x.tolist() for x in switched(quadratic(weigh(network(2, [(0, [-1, -2])]), [1.0])))]
    [[False, True], [True, True]]
    """
    n = len(form.linear)
    if n == 0:
        return np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_)
    pairs = form.hard[form.hard[:, 0] != form.hard[:, 1]]
    a = np.concatenate([form.a, np.abs(pairs[:, 0]) - 1])
    b = np.concatenate([form.b, np.abs(pairs[:, 1]) - 1])
    repels = np.concatenate([form.product > 0, (pairs[:, 0] > 0) == (pairs[:, 1] > 0)])
    # Two copies of each atom, as it is and negated; a pair joins the copies that must go together.
    tail = np.concatenate([a, a + n])
    head = np.concatenate([np.where(repels, b + n, b), np.where(repels, b, b + n)])
    graph = sparse.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(2 * n, 2 * n))
    _, label = csgraph.connected_components(graph, directed=False)
    plain = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n, n))
    count, component = csgraph.connected_components(plain, directed=False)
    possible = np.ones(count, dtype=np.bool_)
    possible[component[label[:n] == label[n:]]] = False
    first = np.unique(component, return_index=True)[1]
    negated = label[:n] != label[first][component]
    return negated & possible[component], possible[component]


def negate(form: Quadratic, atoms: BoolArray) -> Quadratic:
    """The same cost, written with some atoms negated.

    Examples
    --------
    >>> pair = Quadratic(np.zeros(2), np.array([0]), np.array([1]), np.array([1.0]), np.empty((0, 2), int), 0.0, 0.0)
    >>> other = negate(pair, np.array([False, True]))
    >>> other.linear.tolist(), other.product.tolist()
    ([1.0, 0.0], [-1.0])
    """
    n, at_a, at_b = len(form.linear), atoms[form.a], atoms[form.b]
    # p * ya * (1 - yb) = p * ya - p * ya * yb, and so on.
    linear = np.where(atoms, -form.linear, form.linear)
    linear += np.bincount(form.a, weights=np.where(at_b, np.where(at_a, -form.product, form.product), 0.0), minlength=n)
    linear += np.bincount(form.b, weights=np.where(at_a, np.where(at_b, -form.product, form.product), 0.0), minlength=n)
    return Quadratic(
        linear,
        form.a,
        form.b,
        np.where(at_a != at_b, -form.product, form.product),
        np.where(atoms[np.abs(form.hard) - 1], -form.hard, form.hard),
        form.constant + float(form.linear[atoms].sum()) + float(form.product[at_a & at_b].sum()),
        form.rounding,
    )
