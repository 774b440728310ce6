"""The arrays that the compiled steps read and write: a window's network, its forests and tables, and what steps record."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from sqlrl.distinct import distinct_values
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.learn.slices import Slices
from sqlrl.solve.bounded_treewidth import BoundedProgram
from sqlrl.solve.forest import ForestArrays, ForestProgram
from sqlrl.solve.structure import pointers
from sqlrl.solve.treewidth.buckets import Buckets, scratch_for
from sqlrl.solve.treewidth.buckets import BucketScratch as TableScratch
from sqlrl.training.labels import hamming_loss

Scalar = TypeVar("Scalar", bound=np.generic)


class Csr(NamedTuple):
    """A matrix of integers in compressed rows."""

    indptr: IntArray
    indices: IntArray
    data: IntArray


class TiedArrays(NamedTuple):
    """The tied tables of a sliced network as the kernel reads them: t tables over p pairs of blocks, all of whose fields are those of `TiedTable`."""

    pair_start: IntArray
    pair: IntArray  # example k has the pairs `pair[pair_start[k]:pair_start[k + 1]]`
    used_start: IntArray
    used: IntArray  # example k has the tables `used[used_start[k]:used_start[k + 1]]`
    table: IntArray  # shape (p,), as the three that follow: of each pair
    left: IntArray
    right: IntArray
    multiplicity: IntArray
    member_start: (
        IntArray  # shape (b + 1,): block i has the atoms `member[member_start[i]:member_start[i + 1]]`, ascending
    )
    member: IntArray
    cell_start: IntArray  # shape (t + 1,): table i has the cells `cell[cell_start[i]:cell_start[i + 1]]`, row by row
    cell: IntArray  # clauses, -1 for none
    left_positive: BoolArray  # shape (t,)
    right_positive: BoolArray
    violated: IntArray  # room for the clauses of one table


class WindowArrays(NamedTuple):
    """A sliced network with its labels as the kernel reads it; the fields are those of `Slices` and `Network`."""

    atom_start: IntArray
    atom: IntArray
    row_start: IntArray
    row: IntArray
    indptr: IntArray
    literals: IntArray
    row_clause: IntArray
    multiplicity: IntArray
    sign: IntArray
    hard: BoolArray
    units: Csr
    prior: FloatArray
    loss: FloatArray
    truth: BoolArray
    helper: BoolArray


class Forest(NamedTuple):
    """The forest components of a window; example k has the places `first[k]` to `last[k] - 1`, place i the variable `variable[i]`."""

    arrays: ForestArrays
    unary: Csr
    pairs: Csr
    variable: IntArray
    first: IntArray
    last: IntArray
    table_start: IntArray
    table: IntArray  # example k has the tables `table[table_start[k]:table_start[k + 1]]` of `arrays`


class BoundedComponents(NamedTuple):
    """The components of small treewidth of a window, as in `BoundedProgram`; example k has `component[first[k]:last[k]]`."""

    buckets: Buckets
    row: IntArray
    variable: IntArray
    component: IntArray
    first: IntArray
    last: IntArray
    scratch: TableScratch  # room for the tables of one component
    chosen: IntArray  # room for the states of all variables


class SolvedComponents(NamedTuple):
    """The components of a window whose most probable worlds compiled code finds."""

    forest: Forest
    bounded: BoundedComponents | None  # None if there are none: kernels are then compiled without the code for them


class ClauseTally(NamedTuple):
    """Counters of each clause, shape (m,)."""

    met: IntArray  # steps whose example has an open ground clause of the clause; 0 for hard clauses
    updates: IntArray  # steps of which neither delta n nor the length was 0
    delta_n: IntArray  # sum of delta n (labels minus the world that was learned from) over all steps


class StepScratch(NamedTuple):
    """Work space for the steps of a window."""

    now: FloatArray  # current weights, 0 for hard clauses
    seen: IntArray  # the step that set `now`, negative once the clause is in `changed`
    delta: IntArray  # delta n (labels minus `target`) of the clauses in `changed`
    changed: IntArray
    predicted: BoolArray  # the most probable world
    target: BoolArray  # the world of delta n: the same array as `predicted` unless it is found apart


class StepRows(NamedTuple):
    """What is recorded of each step, one place for each example of the window."""

    loss: IntArray
    atoms: IntArray
    score_truth: FloatArray
    score_prediction: FloatArray


class CountChanges(NamedTuple):
    """Clauses with a delta n other than 0, step by step, ascending inside a step."""

    step: IntArray
    clause: IntArray
    delta_n: IntArray
    weight: FloatArray


def _owned(values: npt.ArrayLike, dtype: type[Scalar]) -> npt.NDArray[Scalar]:
    # One type, writable and contiguous, so that one compiled function serves all windows.
    owned: npt.NDArray[Scalar] = np.require(np.asarray(values), dtype, ["C_CONTIGUOUS", "WRITEABLE"])
    return owned


def _integers(values: npt.ArrayLike) -> IntArray:
    return _owned(values, np.int64)


def csr(matrix: sparse.csr_array) -> Csr:
    """A scipy matrix with all arrays in 64 bits."""
    return Csr(_integers(matrix.indptr), _integers(matrix.indices), _integers(matrix.data))


def window_arrays(slices: Slices, truth: BoolArray) -> WindowArrays:
    """The arrays of a sliced network; `loss` is what Hamming loss adds to each atom when it is true."""
    network, rows = slices.network, slices.network.rows.rest
    return WindowArrays(
        atom_start=_integers(slices.atom_start),
        atom=_integers(slices.atom),
        row_start=_integers(slices.row_start),
        row=_integers(slices.row),
        indptr=_integers(rows.indptr),
        literals=_integers(rows.literals),
        row_clause=_integers(rows.clause),
        multiplicity=_integers(rows.multiplicity),
        sign=_integers(network.sign),
        hard=_owned(network.hard, np.bool_),
        units=csr(network.units),
        prior=_owned(network.prior, np.float64),
        loss=hamming_loss(network, truth),
        truth=_owned(truth, np.bool_),
        helper=_owned(network.helper, np.bool_),
    )


def tied_arrays(slices: Slices) -> TiedArrays:
    """The tied tables of a sliced network."""
    block, tied, blocks = slices.network.block, slices.network.rows.tied, len(slices.network.block_exact)
    inside = np.flatnonzero(block >= 0) if tied else np.zeros(0, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    table = np.repeat(np.arange(len(tied), dtype=np.int64), [len(each.left) for each in tied])
    used_start, used = _distinct_in_ranges(slices.pair_start, table[slices.pair], len(tied))
    left, right, multiplicity = (
        _integers(np.concatenate([none, *(getattr(each, name) for each in tied)]))
        for name in ("left", "right", "multiplicity")
    )
    cells = np.array([each.clause.size for each in tied], dtype=np.int64)
    left_positive, right_positive = (
        np.array([each.positive[side] for each in tied], dtype=np.bool_) for side in range(2)
    )
    return TiedArrays(
        pair_start=_integers(slices.pair_start),
        pair=_integers(slices.pair),
        used_start=used_start,
        used=_integers(used),
        table=table,
        left=left,
        right=right,
        multiplicity=multiplicity,
        member_start=pointers(np.bincount(block[inside], minlength=blocks)),
        member=_integers(inside[np.argsort(block[inside], kind="stable")]),
        cell_start=pointers(cells),
        cell=_integers(np.concatenate([none, *(each.clause.ravel() for each in tied)])),
        left_positive=left_positive,
        right_positive=right_positive,
        violated=np.zeros(int(cells.max(initial=0)), dtype=np.int64),
    )


def _distinct_in_ranges(start: IntArray, label: IntArray, labels: int) -> tuple[IntArray, IntArray]:
    """Return which of so many labels each range of `label` has, ascending: where those of each range start, and the labels."""
    ranges = len(start) - 1
    key = distinct_values(np.repeat(np.arange(ranges, dtype=np.int64), np.diff(start)) * max(labels, 1) + label)
    of_range, found = key // max(labels, 1), key % max(labels, 1)
    return pointers(np.bincount(of_range, minlength=ranges)), found


def component_arrays(forest: ForestProgram, bounded: BoundedProgram, examples: IntArray) -> SolvedComponents:
    """The components of a window that are forests or have small treewidth, with those of each example of the sequence."""
    arrays = forest.arrays
    trees = ForestArrays(
        _integers(arrays.state_start),
        _integers(arrays.state_atom),
        _owned(arrays.state_forbidden, np.bool_),
        _integers(arrays.parent),
        _integers(arrays.pair_start),
        _integers(arrays.table),
        _integers(arrays.table_start),
        _integers(arrays.pair_cell),
        _integers(arrays.forbidden_start),
        _integers(arrays.forbidden_cell),
    )
    first, last = _ranges(forest.examples, forest.example_start, examples)
    table = trees.table[ragged_ranges(first, last - first)]
    found = Forest(
        trees,
        csr(forest.unary),
        csr(forest.pairs),
        _integers(forest.variable),
        first,
        last,
        *_distinct_in_ranges(pointers(last - first), table, len(trees.table_start) - 1),
    )
    tables = bounded.buckets
    if len(tables.parent) == 0:
        return SolvedComponents(found, None)
    return SolvedComponents(
        found,
        BoundedComponents(
            tables,
            _integers(bounded.row),
            _integers(bounded.variable),
            _integers(bounded.component),
            *_ranges(bounded.examples, bounded.example_start, examples),
            scratch_for(tables),
            np.zeros(len(tables.parent), dtype=np.int64),
        ),
    )


def _ranges(known: IntArray, start: IntArray, examples: IntArray) -> tuple[IntArray, IntArray]:
    # Where the range of each wanted example begins and ends; empty for those that are not known.
    place = np.searchsorted(known, examples)
    found = place < len(known)
    found[found] = known[place[found]] == examples[found]
    first, last = np.zeros((2, len(examples)), dtype=np.int64)
    first[found], last[found] = start[place[found]], start[place[found] + 1]
    return first, last


def new_tally(clauses: int) -> ClauseTally:
    """Counters that are all 0."""
    return ClauseTally(*np.zeros((3, clauses), dtype=np.int64))


def new_scratch(clauses: int, atoms: int, *, apart: bool) -> StepScratch:
    """Work space for a window; with `apart` the world of delta n is an array of its own."""
    predicted = np.zeros(atoms, dtype=np.bool_)
    target = np.zeros(atoms, dtype=np.bool_) if apart else predicted
    seen, delta, changed = np.zeros((3, clauses), dtype=np.int64)
    return StepScratch(np.zeros(clauses), seen, delta, changed, predicted, target)


def new_step_rows(examples: int) -> StepRows:
    """Room for the steps of a window."""
    loss, atoms = np.zeros((2, examples), dtype=np.int64)
    truth, prediction = np.zeros((2, examples))
    return StepRows(loss, atoms, truth, prediction)
