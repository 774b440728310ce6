"""A network cut into its examples: which atoms and rows each has, and the network of one example alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, IntArray, Network, NetworkRows, ragged_ranges
from sqlrl.solve.structure import pointers


@dataclass(frozen=True, eq=False)
class Slices:
    """Atoms, rows and hard unit clauses of a network, sorted by the examples of a sequence."""

    network: Network
    examples: IntArray  # shape (e,); an example that occurs twice has its atoms twice
    atom_start: IntArray
    atom: IntArray  # example k has `atom[atom_start[k]:atom_start[k + 1]]`, ascending
    row_start: IntArray
    row: IntArray  # as `atom`
    unit_start: IntArray
    unit: IntArray  # positions in `Network.hard_units`, as `atom`
    place: IntArray  # shape (n,): the position of each atom among those of its example


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


def row_examples(network: Network) -> IntArray:
    """The example of each row, shape (r,); a row or a block that joins atoms of two examples is an InputError."""
    atom = np.abs(network.literals) - 1
    first = atom[network.indptr[:-1]]
    anchor = np.repeat(first, np.diff(network.indptr))
    wrong = np.flatnonzero(network.example[atom] != network.example[anchor])
    if len(wrong):
        row = int(np.searchsorted(network.indptr, wrong[0], side="right")) - 1
        clause = network.clauses[network.row_clause[row]]
        raise _refuse(network, f"a ground clause of clause {clause}", int(anchor[wrong[0]]), int(atom[wrong[0]]))
    members = np.flatnonzero(network.block >= 0)
    blocks, index, inverse = np.unique(network.block[members], return_index=True, return_inverse=True)
    leader = members[index][inverse] if len(blocks) else members
    wrong = np.flatnonzero(network.example[members] != network.example[leader])
    if len(wrong):
        raise _refuse(network, "a block", int(leader[wrong[0]]), int(members[wrong[0]]))
    examples: IntArray = network.example[first]
    return examples


def cut(network: Network, examples: IntArray) -> Slices:
    """Sort atoms and rows of a network by the wanted examples; a row or block that joins two examples is an InputError."""
    rows = row_examples(network)
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
        *of_examples(unit_example, examples),
        place,
    )


def example_network(slices: Slices, k: int) -> tuple[Network, IntArray, IntArray]:
    """Return the network of the k-th example with its clauses alone, and the places of its atoms and clauses in the whole."""
    network = slices.network
    atoms = slices.atom[slices.atom_start[k] : slices.atom_start[k + 1]]
    rows = slices.row[slices.row_start[k] : slices.row_start[k + 1]]
    hard_units = network.hard_units[slices.unit[slices.unit_start[k] : slices.unit_start[k + 1]]]
    units = network.units[atoms]
    hard = hard_units[hard_units[:, 0] >= 0, 0]
    clauses = np.unique(np.concatenate([units.indices.astype(np.int64), network.row_clause[rows], hard]))
    length = network.indptr[rows + 1] - network.indptr[rows]
    literals = network.literals[ragged_ranges(network.indptr[rows], length)]
    blocks, block = np.unique(network.block[atoms], return_inverse=True)
    none = int(len(blocks) > 0 and blocks[0] < 0)
    m = len(clauses)
    # Counts are those of the whole up to a constant: use differences.
    nothing = np.zeros(m, dtype=object)
    clause = np.where(hard_units[:, 0] >= 0, np.searchsorted(clauses, hard_units[:, 0]), -1)
    small = Network(
        atoms=network.atoms[atoms],
        example=network.example[atoms],
        clauses=network.clauses[clauses],
        sign=network.sign[clauses],
        hard=network.hard[clauses],
        rows=NetworkRows(
            pointers(length),
            _moved(literals, slices.place),
            np.searchsorted(clauses, network.row_clause[rows]).astype(np.int64),
            network.multiplicity[rows],
        ),
        units=sparse.csr_array((units.data, np.searchsorted(clauses, units.indices), units.indptr), (len(atoms), m)),
        base=nothing,
        total=nothing,
        evidence_violated=nothing,
        open=nothing,
        prior=network.prior[atoms],
        block=(block - none).astype(np.int64),
        block_exact=network.block_exact[blocks[none:]],
        helper=network.helper[atoms],
        hard_units=np.stack([clause, _moved(hard_units[:, 1], slices.place)], axis=1).astype(np.int64),
    )
    return small, atoms, clauses


def _moved(literals: IntArray, place: IntArray) -> IntArray:
    return np.asarray(np.sign(literals) * (place[np.abs(literals) - 1] + 1), dtype=np.int64)


def flagged_examples(slices: Slices, wrong: BoolArray) -> BoolArray:
    """Which examples of the sequence have an atom that is flagged in `wrong`, shape (n,)."""
    hit = np.unique(slices.network.example[wrong])
    return np.isin(slices.examples, hit)
