"""The likelihood of labels where ground clauses are tied tables and all components are forests: nothing is listed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from sqlrl.ground.network import IntArray, NetworkRows
from sqlrl.learn.batch.conditionals import conditionals
from sqlrl.learn.batch.joint import TiedPart
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.solve.forest import ForestArrays
from sqlrl.solve.forest_sums import ForestPartition, dense_tables, partition_of
from sqlrl.solve.log_linear import log_linear
from sqlrl.solve.structure import pointers
from sqlrl.solve.tied_forest import compile_tied
from sqlrl.training.labels import infeasible_truth


def tied_part(problem: TrainingProblem) -> TiedPart | None:
    """Return the likelihood of the labels of some examples; None where ground clauses must be listed."""
    network, truth = problem.network, problem.truth
    if len(network.hard_units) or len(infeasible_truth(network, truth).clause):
        return None
    compiled = compile_tied(network)
    if compiled is None or not compiled.summable:
        return None
    none = np.zeros(0, dtype=np.int64)
    model = log_linear(replace(network, rows=NetworkRows(pointers(none), none, none, none)))
    if len(model.free) < len(network.atoms):
        return None
    program, forest = compiled.program, compiled.program.arrays
    whole = partition_of(program, len(network.atoms))
    # Rows that are listed add to single atoms, too.
    model = replace(model, features=program.unary.astype(np.float64)[whole.state])
    joined = np.diff(program.component_start)[whole.component] > 1
    components = np.flatnonzero(np.diff(program.component_start) > 1)
    number = np.full(len(whole), -1, dtype=np.int64)
    number[components] = np.arange(len(components))
    alone = model.select(~joined)
    given = conditionals(alone, truth[alone.free], network.example[alone.free], blocks=True)
    narrow = model.select(joined)
    of_atom = number[whole.component[narrow.free]]
    of_place = np.repeat(number, np.diff(program.component_start))
    child = np.flatnonzero(forest.parent >= 0)
    first = np.zeros(len(components), dtype=np.int64)
    first[of_atom[::-1]] = narrow.free[::-1]
    pairs = program.pairs.astype(np.float64)
    edge, entry = _entries(forest, whole.state[truth], child)
    return TiedPart(
        sparse.vstack([narrow.features, pairs], format="csr"),
        np.concatenate([narrow.offset, np.zeros(pairs.shape[0])]),
        truth[narrow.free].astype(np.float64),
        ForestPartition(program, components, whole.state[narrow.free], of_atom),
        narrow.free,
        network.example[first],
        np.bincount(of_atom[truth[narrow.free]], minlength=len(components)).astype(np.int64),
        given,
        of_place[edge],
        entry,
    )


def _entries(forest: ForestArrays, true: IntArray, child: IntArray) -> tuple[IntArray, IntArray]:
    # The pair entries that the edges of children are in when these states are taken, -1 for none: of shared tables, and of their own.
    place = np.searchsorted(forest.state_start, true, side="right") - 1
    # A variable of which no atom is true is in its first state.
    taken = np.zeros(len(forest.parent), dtype=np.int64)
    taken[place] = true - forest.state_start[place]
    dense, width = dense_tables(forest), np.diff(forest.state_start)
    shared = child[forest.table[child] < len(forest.table_start) - 2]
    single = child[np.diff(forest.pair_start)[child] > 0]
    edge, table = np.concatenate([shared, single]), np.concatenate([forest.table[shared], dense.table[single]])
    cell = dense.start[table] + taken[forest.parent[edge]] * width[edge] + taken[edge]
    entry = np.full(len(dense.value), -1, dtype=np.int64)
    entry[dense.entry] = np.arange(len(dense.entry))
    return edge, entry[cell]
