"""The hypergraph of a window: constants are nodes, true ground atoms are hyperedges that connect them.

Source: Huynh & Mooney, "Online Structure Learning for Markov Logic Networks" (2011), Algorithm 2. Only input and output
places make nodes. The hypergraphs of all examples of a window are built at once and share no node.

An atom of a global predicate belongs to every example whose domains hold all its constants of local types. If it has
constants of global types alone it would belong to all examples; of these an example gets those that path finding can reach,
so that a dictionary of words is not copied to every citation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from sqlrl.distinct import distinct_values
from sqlrl.ground.atoms import TrueAtoms, WindowFacts
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.kernels import kernel
from sqlrl.logic.modes import UNEXPLORED, Modes


@dataclass(frozen=True, eq=False)
class Hypergraph:
    """Hyperedges of the examples of a window, with the nodes at their input and output places; all arrays are int64."""

    predicates: tuple[str, ...]  # those that paths may have, sorted
    examples: IntArray  # ids, ascending, shape (x,)
    start: IntArray  # the i-th example has the hyperedges `start[i]` to `start[i + 1] - 1`, shape (x + 1,)
    example: IntArray  # id of the example of each hyperedge, shape (e,)
    predicate: IntArray  # place in `predicates`; ascending inside an example, and then by arguments, shape (e,)
    arguments: IntArray  # ids of constants, -1 past the arity, shape (e, width)
    nodes: IntArray  # the node at each input and output place, else -1, shape (e, width)
    # Node k is in the hyperedges `edges[indptr[k]:indptr[k + 1]]`, each listed once, ascending: `H` of Algorithm 2.
    indptr: IntArray
    edges: IntArray

    def find(self, example: int, predicate: str, arguments: IntArray) -> IntArray:
        """Return the hyperedges of atoms from their arguments, shape (n, arity); -1 if not true in the example, or if paths may not have them."""
        place = int(np.searchsorted(self.examples, example))
        if predicate not in self.predicates or place == len(self.examples) or self.examples[place] != example:
            return np.full(len(arguments), -1, dtype=np.int64)
        first, end = self.start[place : place + 2]
        number = self.predicates.index(predicate)
        low, high = first + np.searchsorted(self.predicate[first:end], [number, number + 1])
        found: IntArray = _search(self.arguments, low, high, np.ascontiguousarray(arguments, dtype=np.int64))
        return found


@kernel
def _search(rows: Annotated[IntArray, 2], low: int, high: int, wanted: Annotated[IntArray, 2]) -> IntArray:
    # Binary search in sorted rows.
    found = np.full(len(wanted), -1, dtype=np.int64)
    for i in range(len(wanted)):
        a, b = low, high
        while a < b:
            middle = (a + b) // 2
            order = 0
            for j in range(wanted.shape[1]):
                if order == 0 and rows[middle, j] != wanted[i, j]:
                    order = -1 if rows[middle, j] < wanted[i, j] else 1
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                a = middle + 1
            else:
                b = middle
    return found


class _Edges(NamedTuple):
    """Hyperedges of one predicate: the place of the example in `examples`, and arguments."""

    example: IntArray
    arguments: IntArray


def build_hypergraph(facts: WindowFacts, modes: Modes) -> Hypergraph:
    """Build the hypergraph of a window, `CreateHG` of Algorithm 2 for all its examples, without predicates of recall 0."""
    examples = np.unique(facts.examples)
    names = modes.in_paths()
    atoms = [facts.atoms[name] for name in names]
    explored = [np.array([place != UNEXPLORED for place in modes.of[name].places], dtype=np.bool_) for name in names]
    base = _bases(atoms)
    total = sum(base.sizes.values())
    found = [_belonging(x, examples, facts.domains) for x in atoms]
    everywhere = [_everywhere(x, facts.domains) for x in atoms]
    keys = [base.keys(x.types, edges.arguments, on) for x, edges, on in zip(atoms, found, explored, strict=True)]
    if any(len(x) for x in everywhere):
        pool = _Pool.of(
            everywhere, [base.keys(x.types, y, on) for x, y, on in zip(atoms, everywhere, explored, strict=True)]
        )
        pairs = [_pairs(edges.example, key, total) for edges, key in zip(found, keys, strict=True)]
        if len(examples) == 1:
            reached = _Edges(np.zeros(pool.size, dtype=np.int64), np.arange(pool.size))
        else:
            reached = pool.reached(distinct_values(np.concatenate(pairs)), total)
        found = [
            _Edges(np.concatenate([a.example, b.example]), np.concatenate([a.arguments, b.arguments]))
            for a, b in zip(found, pool.split(reached, everywhere), strict=True)
        ]
        keys = [base.keys(x.types, edges.arguments, on) for x, edges, on in zip(atoms, found, explored, strict=True)]
    return _assembled(names, examples, found, keys, total)


class _Bases(NamedTuple):
    """Codes of (type, id): those of a type start at its base."""

    base: Mapping[str, int]
    sizes: Mapping[str, int]

    def keys(self, types: tuple[str, ...], arguments: IntArray, explored: BoolArray) -> IntArray:
        """The code of the constant at each input and output place, else -1; shape (n, arity)."""
        start = np.array([self.base[kind] for kind in types], dtype=np.int64)
        return np.where(explored, arguments + start, -1)


def _bases(atoms: list[TrueAtoms]) -> _Bases:
    sizes: dict[str, int] = {}
    for x in atoms:
        for j, kind in enumerate(x.types):
            sizes[kind] = max(sizes.get(kind, 0), int(x.arguments[:, j].max(initial=-1)) + 1)
    starts = np.cumsum([0, *sizes.values()]).tolist()
    return _Bases(dict(zip(sizes, starts, strict=False)), sizes)


def _pairs(example: IntArray, keys: IntArray, total: int) -> IntArray:
    """The distinct (example, node) pairs of hyperedges, as one code each."""
    rows, places = np.nonzero(keys >= 0)
    return distinct_values(example[rows] * total + keys[rows, places])


def _local_places(atoms: TrueAtoms, domains: Mapping[str, tuple[IntArray, IntArray]]) -> list[int]:
    return [j for j, kind in enumerate(atoms.types) if kind in domains]


def _everywhere(atoms: TrueAtoms, domains: Mapping[str, tuple[IntArray, IntArray]]) -> IntArray:
    """The atoms that belong to all examples: global ones without a constant of a local type."""
    if _local_places(atoms, domains):
        return atoms.arguments[:0]
    return atoms.arguments[atoms.example < 0]


def _belonging(atoms: TrueAtoms, examples: IntArray, domains: Mapping[str, tuple[IntArray, IntArray]]) -> _Edges:
    """The atoms of each example, without those that belong to all of them."""
    own = np.flatnonzero(atoms.example >= 0)
    own = own[np.isin(atoms.example[own], examples)]
    example, arguments = np.searchsorted(examples, atoms.example[own]), atoms.arguments[own]
    local = _local_places(atoms, domains)
    if local and len(own) < len(atoms.example):
        shared = atoms.arguments[atoms.example < 0]
        at, row = _joined(shared[:, local[0]], *_inside(domains[atoms.types[local[0]]], examples))
        for j in local[1:]:
            fits = _member(at, shared[row, j], *_inside(domains[atoms.types[j]], examples))
            at, row = at[fits], row[fits]
        example, arguments = np.concatenate([example, at]), np.concatenate([arguments, shared[row]])
    return _Edges(example, arguments)


def _inside(domain: tuple[IntArray, IntArray], examples: IntArray) -> tuple[IntArray, IntArray]:
    """The rows (place in `examples`, id) of a domain in some examples."""
    kept = np.isin(domain[0], examples)
    return np.searchsorted(examples, domain[0][kept]), domain[1][kept]


def _joined(ids: IntArray, example: IntArray, members: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (example, place in `ids`) of an example whose domain holds an id."""
    order = np.argsort(members, kind="stable")
    row, place = _matches(ids, members[order])
    return example[order][place], row


def _matches(wanted: IntArray, sorted_keys: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs (place in `wanted`, place in `sorted_keys`) of equal values."""
    low = np.searchsorted(sorted_keys, wanted, side="left")
    count = np.searchsorted(sorted_keys, wanted, side="right") - low
    row = np.repeat(np.arange(len(wanted)), count)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return row, low[row] + offset


def _member(example: IntArray, ids: IntArray, examples: IntArray, members: IntArray) -> BoolArray:
    """Whether each pair (example, id) is in a domain."""
    base = 1 + max(int(ids.max(initial=0)), int(members.max(initial=0)))
    return np.isin(example * base + ids, examples * base + members)


class _Pool(NamedTuple):
    """Atoms that belong to all examples, numbered over all predicates, and their nodes: pairs sorted by node."""

    node: IntArray
    atom: IntArray
    size: int

    @classmethod
    def of(cls, everywhere: list[IntArray], keys: list[IntArray]) -> _Pool:
        first = np.cumsum([0, *(len(x) for x in everywhere)])
        incidences = [(start, *np.nonzero(key >= 0), key) for start, key in zip(first[:-1], keys, strict=True)]
        node = np.concatenate([key[rows, places] for _, rows, places, key in incidences])
        atom = np.concatenate([start + rows for start, rows, _, _ in incidences])
        order = np.lexsort((atom, node))
        return cls(node[order], atom[order], int(first[-1]))

    def reached(self, pairs: IntArray, total: int) -> _Edges:
        """The (example, atom) pairs that share a node with an example's own atoms, with those of the reached ones, and so on."""
        by_atom = np.argsort(self.atom, kind="stable")
        atoms, nodes = self.atom[by_atom], self.node[by_atom]
        seen, met, frontier = np.empty(0, dtype=np.int64), pairs, pairs
        while len(frontier):
            row, place = _matches(frontier % total, self.node)
            new = np.setdiff1d(frontier[row] // total * self.size + self.atom[place], seen)
            seen = np.union1d(seen, new)
            row, place = _matches(new % self.size, atoms)
            frontier = np.setdiff1d(new[row] // self.size * total + nodes[place], met)
            met = np.union1d(met, frontier)
        return _Edges(seen // self.size, seen % self.size)

    def split(self, reached: _Edges, everywhere: list[IntArray]) -> list[_Edges]:
        """The reached atoms of each predicate with their arguments in place of their numbers."""
        first = np.cumsum([0, *(len(x) for x in everywhere)])
        parts = []
        for i, arguments in enumerate(everywhere):
            mine = (reached.arguments >= first[i]) & (reached.arguments < first[i + 1])
            parts.append(_Edges(reached.example[mine], arguments[reached.arguments[mine] - first[i]]))
        return parts


def _assembled(
    names: tuple[str, ...], examples: IntArray, found: list[_Edges], keys: list[IntArray], total: int
) -> Hypergraph:
    """Put the hyperedges of all predicates in order and number their nodes."""
    width = max((edges.arguments.shape[1] for edges in found), default=0)
    example = _concatenated([edges.example for edges in found])
    predicate = np.repeat(np.arange(len(found)), [len(edges.example) for edges in found])
    arguments = _padded([edges.arguments for edges in found], width)
    key = _padded(keys, width)
    order = np.lexsort((*arguments.T[::-1], predicate, example))
    example, predicate, arguments, key = example[order], predicate[order], arguments[order], key[order]
    rows, places = np.nonzero(key >= 0)
    codes, number = np.unique(example[rows] * total + key[rows, places], return_inverse=True)
    nodes = np.full(key.shape, -1, dtype=np.int64)
    nodes[rows, places] = number
    incidences = distinct_values(number * max(len(example), 1) + rows)
    node, edges = np.divmod(incidences, max(len(example), 1))
    return Hypergraph(
        predicates=names,
        examples=examples,
        start=np.searchsorted(example, np.arange(len(examples) + 1)),
        example=examples[example],
        predicate=predicate,
        arguments=arguments,
        nodes=nodes,
        indptr=np.searchsorted(node, np.arange(len(codes) + 1)),
        edges=edges,
    )


def _concatenated(parts: list[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _padded(parts: list[IntArray], width: int) -> IntArray:
    """Stack matrices of several widths, -1 where they are narrower."""
    full = [np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=-1) for x in parts]
    return np.ascontiguousarray(np.concatenate(full)) if full else np.empty((0, width), dtype=np.int64)
