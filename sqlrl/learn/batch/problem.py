"""What a batch learner is given, as plain values; and what is certain before any weight is known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from sqlrl.distinct import distinct_values, mixed
from sqlrl.errors import InputError, Parameter
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, NetworkRows, ragged_ranges
from sqlrl.solve.restriction import UnsatisfiableError, Values
from sqlrl.solve.structure import pointers
from sqlrl.training.labels import Names
from sqlrl.wording import counted

INFEASIBLE = "whose labels violate hard clauses cannot be left out", f"use {Parameter('on_infeasible_truth', 'warn')}"
"""What an error says of examples that clauses join, and the remedy."""


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """All training examples at once: their network of n atoms and m clauses, the labels, and words for messages."""

    network: Network
    truth: BoolArray  # shape (n,); helper atoms have the truth that the labels give them
    names: Names
    # weights to start from, shape (m,), in the order of the network's clauses; None for 0
    start: FloatArray | None = None

    @property
    def clauses(self) -> IntArray:
        """Ids of the clauses, shape (m,)."""
        return self.network.clauses

    @property
    def support(self) -> pa.Table:
        """See `support_table`."""
        return support_table(self.network)

    def begun(self, start: FloatArray) -> TrainingProblem:
        """Return the same with weights to start from, shape (m,)."""
        return replace(self, start=start)

    def starting(self) -> FloatArray:
        """Return the weights to start from, a new array of shape (m,); 0 for hard clauses."""
        if self.start is None:
            return np.zeros(len(self.network.clauses))
        return np.where(self.network.hard, 0.0, self.start)


def support_table(network: Network) -> pa.Table:
    """Return `clause` and `support`, the number of query atoms, helper atoms aside, in the open ground clauses of each clause."""
    m, n = len(network.clauses), len(network.atoms)
    # Ground clauses of one formula may cancel: the atom makes no difference then.
    speaks = network.units.data != 0
    unit_atom = np.repeat(np.arange(n), np.diff(network.units.indptr))[speaks]
    tied = _tied_support(network)
    rows = network.rows.listed if tied is None else network.rows.rest
    row_clause = np.repeat(rows.clause, np.diff(rows.indptr))
    atom = np.concatenate([unit_atom, np.abs(rows.literals) - 1])
    clause = np.concatenate([network.units.indices[speaks].astype(np.int64), row_clause])
    real = ~network.helper[atom]
    clause, atom = clause[real], atom[real]
    if len(row_clause) or not network.units.has_canonical_format:
        clause = distinct_values(clause * max(n, 1) + atom) // max(n, 1)
    support = np.bincount(clause, minlength=m).astype(np.int64)
    return pa.table({"clause": network.clauses, "support": support if tied is None else support + tied})


def _tied_support(network: Network) -> IntArray | None:
    """Return the number of atoms in tied tables by clause, shape (m,); None if a clause has other ground clauses, too, or helper atoms may count."""
    m, found = len(network.clauses), np.zeros(len(network.clauses), dtype=np.int64)
    others = np.zeros(m, dtype=np.int64)
    for table in network.rows.tied:
        left, right = np.unique(table.left), np.unique(table.right)
        i, j = np.nonzero(table.clause >= 0)
        clause = table.clause[i, j]
        both = len(np.intersect1d(left, right, assume_unique=True))
        found[clause] += len(left) + len(right) - np.where(i == j, both, 0)
        others[clause] += 1
    others[network.rows.rest.clause] += 1
    others[network.units.indices] += 1
    return None if (others[found > 0] > 1).any() or network.helper.any() else found


class Support:
    """The sum of `support_table` over the networks of several windows, which know more and more clauses."""

    def __init__(self) -> None:
        self._count = np.zeros(0, dtype=np.int64)

    def add(self, network: Network) -> None:
        """Add what a window has."""
        found = support_table(network).column("support").to_numpy().copy()
        found[: len(self._count)] += self._count
        self._count = found

    def table(self, clauses: IntArray) -> pa.Table:
        """Return the table of the clauses with these ids, all that the last window knew."""
        return pa.table(
            {"clause": clauses, "support": np.append(self._count, np.zeros(len(clauses) - len(self._count), np.int64))}
        )


def without_examples(
    problem: TrainingProblem, examples: IntArray, words: tuple[str, str] = INFEASIBLE
) -> TrainingProblem:
    """Leave `examples` out; a row or block that joins them with others is an InputError, with `words` (what fails, remedy)."""
    network = problem.network
    kept = ~np.isin(network.example, examples)
    rows = np.flatnonzero(_kept_rows(problem, kept, words))
    place = np.cumsum(kept) - 1
    length = np.diff(network.indptr)
    literals = network.literals[ragged_ranges(network.indptr[rows], length[rows])]
    hard_units = network.hard_units[kept[np.abs(network.hard_units[:, 1]) - 1]]
    blocks, block = np.unique(network.block[kept], return_inverse=True)
    none = int(len(blocks) > 0 and blocks[0] < 0)
    # `base`, `total`, `evidence_violated` and `open` stay those of the whole: counts are right up to a constant.
    small = replace(
        network,
        atoms=network.atoms[kept],
        example=network.example[kept],
        rows=NetworkRows(
            pointers(length[rows]), _moved(literals, place), network.row_clause[rows], network.multiplicity[rows]
        ),
        units=network.units[np.flatnonzero(kept)],
        prior=network.prior[kept],
        block=(block - none).astype(np.int64),
        block_exact=network.block_exact[blocks[none:]],
        helper=network.helper[kept],
        hard_units=np.stack([hard_units[:, 0], _moved(hard_units[:, 1], place)], axis=1).astype(np.int64),
    )
    return replace(problem, network=small, truth=problem.truth[kept])


def check_apart(problem: TrainingProblem, examples: IntArray) -> None:
    """Refuse to leave out examples that a ground clause or a block joins with others; parameters and error as `without_examples`."""
    _kept_rows(problem, ~np.isin(problem.network.example, examples), INFEASIBLE)


def _kept_rows(problem: TrainingProblem, kept: BoolArray, words: tuple[str, str]) -> BoolArray:
    """Return which rows have only atoms that are kept; rows and blocks that have both kinds are refused."""
    network, names = problem.network, problem.names
    length = np.diff(network.indptr)
    row = np.repeat(np.arange(len(length)), length)
    within = np.bincount(row, weights=kept[np.abs(network.literals) - 1], minlength=len(length)).astype(np.int64)
    joining = (within > 0) & (within < length)
    inside = np.flatnonzero(network.block >= 0)
    size = len(network.block_exact)
    of_kept, all_ = (np.bincount(network.block[members], minlength=size) for members in (inside[kept[inside]], inside))
    split = (of_kept > 0) & (of_kept < all_)
    if not joining.any() and not split.any():
        whole: BoolArray = within == length
        return whole
    if joining.any():
        clause = int(network.clauses[network.row_clause[np.flatnonzero(joining)[0]]])
        what = f"{counted(int(joining.sum()), 'ground clause')}, the first of {names.clause(clause)},"
    else:
        what = counted(int(split.sum()), "block")
    raise InputError(
        f"examples {words[0]}: {what} would lose atoms that also belong to other examples; {words[1]}, or take the clause that "
        "joins examples out of the model"
    )


def _moved(literals: IntArray, place: IntArray) -> IntArray:
    return np.asarray(np.sign(literals) * (place[np.abs(literals) - 1] + 1), dtype=np.int64)


# ---- what is the same and what is fixed, whatever the weights ----------------------------------------


def equal_columns(counts: sparse.csc_array, columns: IntArray) -> IntArray:
    """Number the distinct `columns` of `counts`, shape (n, m), from 0 by first occurrence; -1 for others, shape (m,)."""
    # Columns can be compared as bytes since indices are sorted, without duplicates and stored zeros. Nearly all have a hash of their own.
    known: dict[tuple[bytes, bytes], int] = {}
    same = np.arange(counts.shape[1], dtype=np.int64)
    _, place, times = np.unique(_column_hashes(counts)[columns], return_inverse=True, return_counts=True)
    for j in columns[times[place] > 1].tolist():
        part = slice(counts.indptr[j], counts.indptr[j + 1])
        same[j] = known.setdefault((counts.indices[part].tobytes(), counts.data[part].tobytes()), j)
    number = np.full(counts.shape[1], -1, dtype=np.int64)
    first = columns[same[columns] == columns]
    number[first] = np.arange(len(first))
    found = np.full(counts.shape[1], -1, dtype=np.int64)
    found[columns] = number[same[columns]]
    return found


def _column_hashes(counts: sparse.csc_array) -> npt.NDArray[np.uint64]:
    # Equal columns have equal ones, shape (m,).
    place = mixed(counts.indices.astype(np.uint64) + np.uint64(1))
    each = mixed(place + counts.data.astype(np.float64).view(np.uint64))
    found = np.zeros(counts.shape[1], dtype=np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        found[filled] = np.add.reduceat(each, counts.indptr[filled].astype(np.int64))
    return found


def fixed_values(problem: TrainingProblem, *, seed: int) -> Values:
    """Return the atoms that unit propagation of hard clauses and blocks fixes: 0, 1 or -1 (free), shape (n,)."""
    from sqlrl.solve.log_linear import hard_part
    from sqlrl.solve.sampling.propagation import propagate

    try:
        return propagate(hard_part(problem.network))
    except UnsatisfiableError:
        raise_conflict(problem, seed)
        raise


def raise_conflict(problem: TrainingProblem, seed: int) -> None:
    """Say in words which hard clauses cannot all hold, if they cannot."""
    from sqlrl.learn.steps import describer
    from sqlrl.learn.worlds import exact_world

    network = problem.network
    # `mpe` finds the same contradiction, and explains it.
    exact_world(network, np.zeros(len(network.clauses)), None, seed=seed, describe=describer(network, problem.names))
