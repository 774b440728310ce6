"""The shape of a network without its weights: variables, reduced rows, connected components, forests.

A block is one variable with as many states as it has members (one more, *none*, when at most one member is true); an
atom in no block is a variable with the states false and true. Over such variables a ground clause is violated exactly
when each of its variables is in some set of states, and that set is either one member or all states but some members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from sqlrl.distinct import distinct, distinct_values
from sqlrl.ground.network import BoolArray, IntArray, Network, NetworkRows, ragged_ranges
from sqlrl.kernels import kernel

MANY = 50_000
"""From this many atoms on they are grouped by a compiled loop, which takes a while to load."""


class LiteralRows(Protocol):
    """Ground clauses as rows of signed atoms, laid out as in `NetworkRows`."""

    @property
    def indptr(self) -> IntArray:
        """Where the literals of each row begin, shape (r + 1,)."""

    @property
    def literals(self) -> IntArray:
        """Signed atoms."""


class AtomBlocks(Protocol):
    """The blocks of n atoms, as in `Network`."""

    @property
    def block(self) -> IntArray:
        """The block of each atom, -1 for none, shape (n,)."""

    @property
    def block_exact(self) -> BoolArray:
        """Whether exactly one member is true, shape (b,)."""


class StructureRows(LiteralRows, AtomBlocks, Protocol):
    """Ground clauses and blocks: of a network, or of one with its weights folded in."""


@dataclass(frozen=True, eq=False)
class StateVariables:
    """The v multi-state variables of a network, in ascending order of their first atom."""

    of_atom: IntArray  # shape (n,): the variable of each atom
    state_of_atom: IntArray  # shape (n,): the state, from 0 inside its variable, that makes the atom true
    start: IntArray  # shape (v + 1,): variable u has states `start[u]` to `start[u + 1] - 1`
    # Shape (states,): the atom that each state makes true, -1 for none, which is state 0 of its variable; members follow in ascending order.
    atom: IntArray
    exact: BoolArray  # shape (v,): exactly one member is true, so that there is no state none

    @property
    def size(self) -> IntArray:
        """Number of states of each variable, shape (v,)."""
        return np.asarray(np.diff(self.start), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Sides:
    """What each row says about each of its variables; a *side* is one (row, variable) pair, in row order.

    The row is violated when every side holds. A *member* side holds in one state, that of its only term; any other side holds in all states
    but those of its terms. So a side is the number c + e * (sum of its terms' atoms) with (c, e) = (0, 1) for a member side and (1, -1)
    otherwise.
    """

    row: IntArray  # shape (sides,), as are `variable` and `member`
    variable: IntArray
    member: BoolArray  # true for a member side
    term_start: IntArray  # shape (sides + 1,): side s has the terms `term_start[s]` to `term_start[s + 1] - 1`
    term: IntArray  # atoms, ascending inside a side
    # Shape (rows + 1,): row j has the sides `row_start[j]` to `row_start[j + 1] - 1`: none if blocks satisfy it in every world.
    row_start: IntArray


@dataclass(frozen=True, eq=False)
class Structure:
    """A network compiled once for any weights."""

    network: Network
    variables: StateVariables
    sides: Sides  # of `rows`
    component: IntArray  # shape (v,): of each variable, in ascending order of the first variable
    row_component: IntArray  # shape (r,): of each row, -1 for rows that blocks satisfy
    # Shape (components,): the rows join at most two variables each, and the joined pairs form a tree.
    forest: BoolArray
    # Shape (edges, 2): the distinct joined pairs of variables of all forest components, smaller first, ascending.
    edges: IntArray

    @property
    def rows(self) -> NetworkRows:
        """The ground clauses that are looked at row by row: all, unless some stand in tied tables."""
        return self.network.rows.rest


def pointers(count: npt.NDArray[np.int64]) -> IntArray:
    """Start of each group from the sizes of the groups, with the total at the end."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(count, dtype=np.int64)])


def sequences(kind: IntArray, count: IntArray, item: IntArray) -> IntArray:
    """Return numbers from 0 for sequences, of which each has a kind and `count` of the items, one sequence after the other: the same for those that are equal."""
    if not len(kind):
        return kind
    place, none = np.cumsum(count) - count, int(item.max(initial=-1)) + 1
    for turn in range(-1, int(count.max())):
        more = np.full(len(kind), none, dtype=np.int64)
        if turn >= 0:
            more[count > turn] = item[place[count > turn] + turn]
        kind = distinct([kind, more]).inverse
    return kind


@kernel
def _by_label(label: IntArray, place: IntArray, order: IntArray) -> None:
    for k in range(len(label)):
        order[place[label[k]]] = k
        place[label[k]] += 1


def grouped(label: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Return where the positions of each label from 0 start, and the positions by label, ascending in each: a counting sort, linear in time."""
    start = pointers(np.bincount(label, minlength=count))
    order = np.empty(len(label), dtype=np.int64)
    _by_label(label, start[:-1].copy(), order)
    return start, order


def variables_of(network: AtomBlocks) -> StateVariables:
    """Group the atoms of a network into multi-state variables."""
    n = len(network.block)
    key = np.where(network.block >= 0, network.block, len(network.block_exact) + np.arange(n, dtype=np.int64))
    # The last of several values for one place stays: that of the first atom.
    first = np.full(len(network.block_exact) + n, n, dtype=np.int64)
    first[key[::-1]] = np.arange(n - 1, -1, -1)
    keys = np.flatnonzero(first < n)
    keys = keys[np.argsort(first[keys], kind="stable")]
    first[keys] = np.arange(len(keys))
    of_atom = first[key]
    exact = np.zeros(len(keys), dtype=np.bool_)
    blocks = np.flatnonzero(keys < len(network.block_exact))
    exact[blocks] = network.block_exact[keys[blocks]]
    size = np.bincount(of_atom, minlength=len(keys)) + ~exact
    start = pointers(size)
    members = grouped(of_atom, len(keys))[1] if n >= MANY else np.argsort(of_atom, kind="stable")
    state = ragged_ranges((~exact).astype(np.int64), size - ~exact)
    state_of_atom = np.empty(n, dtype=np.int64)
    state_of_atom[members] = state
    atom = np.full(int(start[-1]), -1, dtype=np.int64)
    atom[start[of_atom] + state_of_atom] = np.arange(n)
    return StateVariables(of_atom, state_of_atom, start, atom, exact)


def sides_of(listed: LiteralRows, variables: StateVariables) -> Sides:
    """Reduce rows to their sides, leaving out the literals that blocks make redundant."""
    rows = len(listed.indptr) - 1
    atom = np.abs(listed.literals) - 1
    negative = listed.literals < 0
    row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(listed.indptr))
    key = row * max(len(variables.exact), 1) + variables.of_atom[atom]
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        atom, negative, row, key = atom[order], negative[order], row[order], key[order]
    begin = np.flatnonzero(np.diff(key, prepend=-1))
    length = np.diff(begin, append=len(key))
    side_row, variable = row[begin], variables.of_atom[atom[begin]]
    negatives = np.add.reduceat(negative, begin, dtype=np.int64) if len(begin) else begin
    # Two members of a block cannot both be true, and one of an exactly-one block is: such rows are never violated.
    never = (negatives > 1) | ((negatives == 0) & variables.exact[variable] & (length == variables.size[variable]))
    satisfied = np.zeros(rows, dtype=np.bool_)
    satisfied[side_row[never]] = True
    kept = ~satisfied[side_row]
    member = negatives == 1
    # A false positive literal follows from a true member of the same block, so a member side needs its member only.
    terms = (negative == np.repeat(member, length)) & np.repeat(kept, length)
    counts = np.where(member, 1, length)[kept]
    row_start = pointers(np.bincount(side_row[kept], minlength=rows))
    return Sides(side_row[kept], variable[kept], member[kept], pointers(counts), atom[terms], row_start)


def compile_network(network: Network) -> Structure:
    """Compile a network, row by row, for any weights: variables, reduced rows, connected components and which of them are forests."""
    network = network.listed()
    variables = variables_of(network)
    sides = sides_of(network.rows.rest, variables)
    return Structure(network, variables, sides, *joined(variables, sides, np.zeros((0, 2), dtype=np.int64)))


def joined(variables: StateVariables, sides: Sides, pairs: IntArray) -> tuple[IntArray, IntArray, BoolArray, IntArray]:
    """Return `component`, `row_component`, `forest` and `edges` of a structure whose variables rows join, and pairs of them, shape (e, 2), besides."""
    v = len(variables.exact)
    per_row = np.diff(sides.row_start)
    linked = per_row > 0
    first = sides.variable[sides.row_start[:-1][linked]]
    anchor = np.repeat(first, per_row[linked])
    tail, head = np.concatenate([anchor, pairs[:, 0]]), np.concatenate([sides.variable, pairs[:, 1]])
    link = sparse.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(v, v))
    components, component = csgraph.connected_components(link, directed=False) if v else (0, np.empty(0, np.int64))
    component = component.astype(np.int64)
    row_component = np.full(len(per_row), -1, dtype=np.int64)
    row_component[linked] = component[first]
    first = sides.row_start[:-1][per_row == 2]
    left = np.concatenate([sides.variable[first], pairs[:, 0]])
    right = np.concatenate([sides.variable[first + 1], pairs[:, 1]])
    edge = distinct_values(np.minimum(left, right) * max(v, 1) + np.maximum(left, right))
    edges = np.stack([edge // max(v, 1), edge % max(v, 1)], axis=1)
    inside = np.bincount(component[edges[:, 0]], minlength=components)
    forest = inside == np.bincount(component, minlength=components) - 1
    forest[row_component[per_row > 2]] = False
    edges = edges[forest[component[edges[:, 0]]]]
    return component, row_component, forest, edges
