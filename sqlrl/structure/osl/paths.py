"""Mode-guided relational path finding: sets of true ground atoms that hang together, each found once.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 3.1 and Algorithm 3.

What the paper leaves open is read so:

- Line 5 of Algorithm 3 asks whether the path *with* the atom is new; read as printed it would stop at the first atom.
- The input and output constants of the start count as outputs. Otherwise modes in which the arguments of an open predicate
  are inputs could begin with few atoms or none.
- The start counts toward the recall of its predicate, and a path has no atom twice.
- A path has at least two atoms: the start alone is none.
- `Paths` is kept for each start: one set of atoms found from two wrong atoms is two paths, since the Horn clauses differ,
  and the result does not depend on the order of the starts.

Order. Whether an atom a can be added to a path S depends on the set S and its start alone: a is not in S; S has fewer atoms
of a's predicate than the recall; a has a node in V(S), the union of the nodes of S; and a's input nodes are among the nodes
of the start and the output nodes of S. (V of Algorithm 3 is V(S): lines 9 to 14 add the nodes of each added atom and line 17
takes them back.) So let F be the least family of sets that has {start} and, with every S of fewer than `max_length` atoms, all
S + a with a addable to S. Algorithm 3 puts only members of F into `Paths`. And it puts all of them there, by induction over
their size: when a set S enters `Paths`, or is {start}, the recursion visits that very S once and tries every atom with a node in
V(S), so that each S + a is in `Paths` afterwards, found there or before. Hence `Paths` is F without {start}, in whatever
order atoms are tried; and the sets of k + 1 atoms in F are exactly the S + a of those of k atoms. That is how they are built
here: level by level, each level a table of distinct rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import inner, kernel
from sqlrl.logic.modes import INPUT, OUTPUT, Modes
from sqlrl.structure.osl.hypergraph import Hypergraph
from sqlrl.structure.osl.row_hashing import empty_table, slot_of, table_of
from sqlrl.wording import counted

MOST_PATHS = 5_000_000
"""How many paths one call may find; more are a sign of modes that limit nothing, and would fill the memory."""

Keep = Callable[[IntArray], BoolArray]
"""Maps paths of one length, shape (n, length), to a mask of those to keep."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Sets of hyperedges: path i is `atom[indptr[i]:indptr[i + 1]]`, the start first, the others ascending."""

    indptr: IntArray
    atom: IntArray

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def by_length(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the numbers of the paths of each length, shape (n,), and their hyperedges, shape (n, length)."""
        lengths = np.diff(self.indptr)
        for length in np.unique(lengths):
            which = np.flatnonzero(lengths == length)
            yield which, self.atom[self.indptr[which][:, None] + np.arange(length)]


def find_paths(
    graph: Hypergraph, starts: IntArray, modes: Modes, max_length: int, *, keep: Keep | None = None
) -> Paths:
    """Find all paths of 2 to `max_length` atoms from distinct hyperedges `starts`: `ModeGuidedFindPaths` of Algorithm 3.

    Shorter paths come first, those of one length in the order of the paths that they extend. What `keep` masks is neither returned nor made longer;
    with an upper bound on the delta n of a path and its extensions that is look-ahead pruning, which is not in the paper.
    """
    if max_length < 1:
        raise InputError(f"the longest path has {counted(max_length, 'atom')}: give a max_length of 1 or more")
    recall, role = _mode_arrays(graph, modes, max_length)
    levels: list[IntArray] = []
    level = np.ascontiguousarray(starts, dtype=np.int64)[:, None]
    left = MOST_PATHS
    for length in range(2, max_length + 1):
        level = _extended(level, graph.predicate, graph.nodes, role, recall, graph.indptr, graph.edges, left)
        left -= len(level)
        if left < 0:
            problem = (
                f"more than {MOST_PATHS:,} paths of at most {length} atoms start at {counted(len(starts), 'atom')}"
            )
            raise InputError(f"{problem}: lower max_length or the recalls, or make fewer places '-'")
        if keep is not None and len(level):
            level = np.ascontiguousarray(level[keep(level)])
        if not len(level):
            break
        levels.append(level)
    lengths = np.repeat([x.shape[1] for x in levels], [len(x) for x in levels]).astype(np.int64)
    return Paths(
        np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)]),
        np.concatenate([np.empty(0, dtype=np.int64), *(x.ravel() for x in levels)]),
    )


def _mode_arrays(graph: Hypergraph, modes: Modes, max_length: int) -> tuple[IntArray, IntArray]:
    """Recall of each predicate, and at each of its places 1 for an input, 2 for an output, else 0."""
    recall = np.array([min(modes.of[name].recall, max_length) for name in graph.predicates], dtype=np.int64)
    role = np.zeros((len(graph.predicates), graph.nodes.shape[1]), dtype=np.int64)
    for i, name in enumerate(graph.predicates):
        for j, place in enumerate(modes.of[name].places):
            role[i, j] = {INPUT: 1, OUTPUT: 2}.get(place, 0)
    return recall, role


@inner
def _nodes_of(
    path: IntArray, predicate: IntArray, nodes: IntArray, role: IntArray, node: IntArray, output: BoolArray
) -> int:
    # The distinct nodes of a path and whether each is an output of it; those of the start are.
    count = 0
    for j in range(len(path)):
        for a in range(nodes.shape[1]):
            x = nodes[path[j], a]
            if x < 0:
                continue
            given = j == 0 or role[predicate[path[j]], a] == 2
            k = 0
            while k < count and node[k] != x:
                k += 1
            if k == count:
                node[k], output[k] = x, given
                count += 1
            elif given:
                output[k] = True
    return count


@inner
def _can_be_added(
    edge: int,
    path: IntArray,
    predicate: IntArray,
    nodes: IntArray,
    role: IntArray,
    recall: IntArray,
    node: IntArray,
    output: BoolArray,
    count: int,
) -> bool:
    # That they share a node is known.
    alike = 0
    for other in path:
        if other == edge:
            return False
        if predicate[other] == predicate[edge]:
            alike += 1
    if alike >= recall[predicate[edge]]:
        return False
    for a in range(nodes.shape[1]):
        if role[predicate[edge], a] == 1:
            k = 0
            while k < count and node[k] != nodes[edge, a]:
                k += 1
            if k == count or not output[k]:
                return False
    return True


@inner
def _join(row: IntArray, path: IntArray, edge: int) -> None:
    """Write a path with one more hyperedge: the start first, the others ascending."""
    place = len(path)
    while place > 1 and path[place - 1] > edge:
        row[place] = path[place - 1]
        place -= 1
    row[place] = edge
    for i in range(place):
        row[i] = path[i]


@inner
def _twice_as_long(found: IntArray) -> IntArray:
    longer = np.empty((2 * found.shape[0], found.shape[1]), dtype=np.int64)
    # Numba compiles a copy of a slice for seconds.
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            longer[i, j] = found[i, j]
    return longer


@kernel
def _extended(
    level: Annotated[IntArray, 2],
    predicate: IntArray,
    nodes: Annotated[IntArray, 2],
    role: Annotated[IntArray, 2],
    recall: IntArray,
    indptr: IntArray,
    edges: IntArray,
    most: int,
) -> IntArray:
    """The distinct paths with one atom more than those of a level; at most `most` + 1 of them."""
    k = level.shape[1]
    found = np.empty((max(16, 4 * len(level)), k + 1), dtype=np.int64)
    table = empty_table(len(found))
    node, output = np.empty(k * nodes.shape[1], dtype=np.int64), np.empty(k * nodes.shape[1], dtype=np.bool_)
    row = np.empty(k + 1, dtype=np.int64)
    count = 0
    for i in range(len(level)):
        path = level[i]
        known = _nodes_of(path, predicate, nodes, role, node, output)
        for n in range(known):
            for edge in edges[indptr[node[n]] : indptr[node[n] + 1]]:
                if not _can_be_added(edge, path, predicate, nodes, role, recall, node, output, known):
                    continue
                _join(row, path, edge)
                slot = slot_of(table, found, row)
                if table[slot] >= 0:
                    continue
                if count > most:
                    return found[:count]
                if count == len(found):
                    found = _twice_as_long(found)
                    table = table_of(found, count, len(found))
                    slot = slot_of(table, found, row)
                for m in range(k + 1):
                    found[count, m] = row[m]
                table[slot] = count
                count += 1
    return found[:count].copy()
