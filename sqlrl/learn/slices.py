"""A network cut into its examples: which atoms, rows and pairs of tied tables each has, and the network of one example alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, IntArray, Network, NetworkRows, TiedTable, ragged_ranges
from sqlrl.ground.tied import with_tables
from sqlrl.solve.structure import pointers


@dataclass(frozen=True, eq=False)
class Slices:
    """Atoms, rows, pairs of tied tables and hard unit clauses of a network, sorted by the examples of a sequence."""

    network: Network
    examples: IntArray  # shape (e,); an example that occurs twice has its atoms twice
    atom_start: IntArray
    atom: IntArray  # example k has `atom[atom_start[k]:atom_start[k + 1]]`, ascending
    row_start: IntArray
    row: IntArray  # as `atom`: rows that stand in no table, of `Network.rows.rest`
    pair_start: IntArray
    pair: IntArray  # as `atom`: pairs of blocks of `Network.rows.tied`, counted through all tables
    unit_start: IntArray
    unit: IntArray  # positions in `Network.hard_units`, as `atom`
    place: IntArray  # shape (n,): the position of each atom among those of its example

    def listed(self) -> Slices:
        """Return the same with all ground clauses row by row."""
        return cut(self.network.listed(), self.examples) if self.network.rows.tied else self


def of_examples(example: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places of the things that belong to each wanted example: where each group starts, and the places, ascending inside it."""
    order = np.argsort(example, kind="stable")
    own = example[order]
    first = np.searchsorted(own, wanted)
    count = np.searchsorted(own, wanted, side="right") - first
    return pointers(count), order[ragged_ranges(first, count)]


def _refuse(network: Network, kind: str, a: int, b: int) -> InputError:
    return InputError(
        f"{kind} joins atom {network.atoms[a]} of example {network.example[a]} with atom {network.atoms[b]} of example "
        f"{network.example[b]}, but online learning takes one example at a time: take the clause that joins them out "
        "of the model, or declare all data to be one example"
    )


def _row_examples(network: Network) -> IntArray:
    """Return the example of each row that stands in no table, shape (r,); a row that joins atoms of two examples is an InputError."""
    rows = network.rows.rest
    atom = np.abs(rows.literals) - 1
    first = atom[rows.indptr[:-1]]
    anchor = np.repeat(first, np.diff(rows.indptr))
    wrong = np.flatnonzero(network.example[atom] != network.example[anchor])
    if len(wrong):
        row = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        clause = network.clauses[rows.clause[row]]
        raise _refuse(network, f"a ground clause of clause {clause}", int(anchor[wrong[0]]), int(atom[wrong[0]]))
    examples: IntArray = network.example[first]
    return examples


def _pair_examples(network: Network) -> IntArray:
    """Return the example of each pair of blocks of all tables; one that joins two examples, or a block that does, is an InputError."""
    members = np.flatnonzero(network.block >= 0)
    leader = np.full(len(network.block_exact), -1, dtype=np.int64)
    # The last of several values for one place stays: that of the first member.
    leader[network.block[members[::-1]]] = members[::-1]
    _check_joined(network, "a block", leader[network.block[members]], members)
    found = [np.zeros(0, dtype=np.int64)]
    for table in network.rows.tied:
        kind = f"a ground clause of clause {network.clauses[table.clauses[0]]}"
        _check_joined(network, kind, leader[table.left], leader[table.right])
        found.append(network.example[leader[table.left]])
    return np.concatenate(found)


def _check_joined(network: Network, kind: str, atom: IntArray, other: IntArray) -> None:
    wrong = np.flatnonzero(network.example[atom] != network.example[other])
    if len(wrong):
        raise _refuse(network, kind, int(atom[wrong[0]]), int(other[wrong[0]]))


def cut(network: Network, examples: IntArray) -> Slices:
    """Sort what a network has by the wanted examples; a ground clause or block that joins two examples is an InputError."""
    rows, pairs = _row_examples(network), _pair_examples(network)
    own = np.unique(network.example)
    start, atom = of_examples(network.example, own)
    place = np.empty(len(network.atoms), dtype=np.int64)
    place[atom] = ragged_ranges(np.zeros(len(own), dtype=np.int64), np.diff(start))
    unit_example = network.example[np.abs(network.hard_units[:, 1]) - 1]
    return Slices(
        network,
        examples,
        *of_examples(network.example, examples),
        *of_examples(rows, examples),
        *of_examples(pairs, examples),
        *of_examples(unit_example, examples),
        place,
    )


def example_network(slices: Slices, k: int) -> tuple[Network, IntArray, IntArray]:
    """Return the network of the k-th example with its clauses alone, and the places of its atoms and clauses in the whole."""
    network, listed = slices.network, slices.network.rows.rest
    atoms = slices.atom[slices.atom_start[k] : slices.atom_start[k + 1]]
    rows = slices.row[slices.row_start[k] : slices.row_start[k + 1]]
    hard_units = network.hard_units[slices.unit[slices.unit_start[k] : slices.unit_start[k + 1]]]
    units = network.units[atoms]
    hard = hard_units[hard_units[:, 0] >= 0, 0]
    tables = _tables(slices, k)
    tied = [table.clauses for table in tables]
    clauses = np.unique(np.concatenate([units.indices.astype(np.int64), listed.clause[rows], hard, *tied]))
    length = listed.indptr[rows + 1] - listed.indptr[rows]
    literals = listed.literals[ragged_ranges(listed.indptr[rows], length)]
    blocks, block = np.unique(network.block[atoms], return_inverse=True)
    none = int(len(blocks) > 0 and blocks[0] < 0)
    block = (block - none).astype(np.int64)
    m = len(clauses)
    # Counts are those of the whole up to a constant: use differences.
    nothing = np.zeros(m, dtype=object)
    clause = np.where(hard_units[:, 0] >= 0, np.searchsorted(clauses, hard_units[:, 0]), -1)
    rest = NetworkRows(
        pointers(length),
        _moved(literals, slices.place),
        np.searchsorted(clauses, listed.clause[rows]).astype(np.int64),
        listed.multiplicity[rows],
    )
    own = [
        replace(
            table,
            clause=np.where(table.clause >= 0, np.searchsorted(clauses, table.clause), -1),
            left=np.searchsorted(blocks[none:], table.left).astype(np.int64),
            right=np.searchsorted(blocks[none:], table.right).astype(np.int64),
        )
        for table in tables
    ]
    small = Network(
        atoms=network.atoms[atoms],
        example=network.example[atoms],
        clauses=network.clauses[clauses],
        sign=network.sign[clauses],
        hard=network.hard[clauses],
        rows=with_tables(rest, own, block, len(blocks) - none, m),
        units=sparse.csr_array((units.data, np.searchsorted(clauses, units.indices), units.indptr), (len(atoms), m)),
        base=nothing,
        total=nothing,
        evidence_violated=nothing,
        open=nothing,
        prior=network.prior[atoms],
        block=block,
        block_exact=network.block_exact[blocks[none:]],
        helper=network.helper[atoms],
        hard_units=np.stack([clause, _moved(hard_units[:, 1], slices.place)], axis=1).astype(np.int64),
    )
    return small, atoms, clauses


def _tables(slices: Slices, k: int) -> list[TiedTable]:
    """Return the tables of the k-th example, with its pairs of blocks alone."""
    pairs = slices.pair[slices.pair_start[k] : slices.pair_start[k + 1]]
    found, first = [], 0
    for table in slices.network.rows.tied:
        last = first + len(table.left)
        mine = pairs[(pairs >= first) & (pairs < last)] - first
        if len(mine):
            found.append(table.select(mine))
        first = last
    return found


def _moved(literals: IntArray, place: IntArray) -> IntArray:
    return np.asarray(np.sign(literals) * (place[np.abs(literals) - 1] + 1), dtype=np.int64)


def flagged_examples(slices: Slices, wrong: BoolArray) -> BoolArray:
    """Which examples of the sequence have an atom that is flagged in `wrong`, shape (n,)."""
    hit = np.unique(slices.network.example[wrong])
    return np.isin(slices.examples, hit)
