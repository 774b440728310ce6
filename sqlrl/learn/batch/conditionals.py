"""Choices of a network: those that nothing joins, and each atom or block given the labels of all others.

The latter are what a pseudo-likelihood or a composite likelihood is made of.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from sqlrl.errors import InputError, Phrase
from sqlrl.ground.network import BoolArray, IntArray, ragged_ranges
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.problem import TrainingProblem, raise_conflict
from sqlrl.solve.counts import violated_rows
from sqlrl.solve.log_linear import LogLinear, log_linear
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.structure import Sides, StateVariables, pointers, sides_of, variables_of
from sqlrl.solve.weighted import FREE
from sqlrl.wording import counted

NOTHING = (
    "there is nothing to learn: hard clauses and blocks leave no query atom open whose label they allow; give one of the hard clauses a "
    "weight, or correct the labels"
)


def conditionals(model: LogLinear, truth: BoolArray, example: IntArray, *, blocks: bool) -> Choices:
    """Return a choice for each free atom, or with `blocks` for each block and each atom in none, given the labels of all others.

    `truth` and `example` have shape (f,); labels satisfy all hard rows and blocks. States that these forbid are left
    out, and so are choices with one state left. Source: Besag, "Statistical analysis of non-lattice data" (1975), for
    atoms; Lindsay, "Composite likelihood methods" (1988), for blocks.
    """
    alone = model if blocks else replace(model, block=np.full_like(model.block, -1), block_exact=model.block_exact[:0])
    variables = variables_of(alone)
    sides = sides_of(alone, variables)
    state, row = _violations(sides, variables, truth)
    soft = row < model.soft
    states, f = len(variables.atom), len(model.free)
    true = np.flatnonzero(variables.atom >= 0)
    places = (np.concatenate([true, state[soft]]), np.concatenate([variables.atom[true], f + row[soft]]))
    each = sparse.csr_array((np.ones(len(places[0])), places), shape=(states, model.features.shape[0]))
    allowed = np.ones(states, dtype=np.bool_)
    allowed[state[~soft]] = False
    if not blocks:
        allowed[true] &= ~_excluded(model, truth)[variables.atom[true]]
        allowed[variables.start[:-1][_needed(model, truth)[variables.atom[true]]]] = False
    owner = np.repeat(np.arange(len(variables.exact), dtype=np.int64), variables.size)
    size = np.bincount(owner[allowed], minlength=len(variables.exact))
    kept = size > 1
    rows = np.flatnonzero(allowed & kept[owner])
    label = np.zeros(len(kept), dtype=np.int64)
    label[variables.of_atom[truth]] = variables.state_of_atom[truth]
    before: IntArray = np.cumsum(allowed) - allowed
    label = before[variables.start[:-1] + label] - before[variables.start[:-1]]
    start = pointers(size[kept])
    first = variables.atom[variables.start[1:] - 1]
    features = (each[rows] @ model.features).tocsr()
    features.eliminate_zeros()
    return Choices(
        features,
        np.asarray(each[rows] @ model.offset, dtype=np.float64),
        start,
        start[:-1] + label[kept],
        example[first[kept]],
        label[kept],
        np.where(variables.atom[rows] >= 0, model.free[variables.atom[rows]], -1),
    )


def _violations(sides: Sides, variables: StateVariables, truth: BoolArray) -> tuple[IntArray, IntArray]:
    # Pairs of a state and a row that it violates, given the labels of all other variables.
    if len(sides.row) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    true = np.add.reduceat(truth[sides.term], sides.term_start[:-1], dtype=np.int64)
    holds = np.where(sides.member, true, 1 - true) == 1
    failing = np.bincount(sides.row[~holds], minlength=len(sides.row_start) - 1)
    mine = np.flatnonzero(failing[sides.row] == ~holds)
    # Those of a member side are its only term, those of another all states but its terms.
    terms = np.diff(sides.term_start)[mine]
    at = variables.start[variables.of_atom] + variables.state_of_atom
    term = at[sides.term[ragged_ranges(sides.term_start[mine], terms)]]
    owner = np.repeat(np.arange(len(mine)), terms)
    member = sides.member[mine]
    size = np.where(member, 0, variables.size[sides.variable[mine]])
    state = ragged_ranges(variables.start[sides.variable[mine]], size)
    of = np.repeat(np.arange(len(mine)), size)
    taken = sparse.csr_array(
        (np.ones(int((~member[owner]).sum()), dtype=np.int8), (owner[~member[owner]], term[~member[owner]])),
        shape=(len(mine), len(variables.atom)),
    )
    left = np.asarray(taken[of, state]).ravel() == 0 if len(of) else np.zeros(0, dtype=np.bool_)
    found = np.concatenate([term[member[owner]], state[left]])
    return found.astype(np.int64), sides.row[mine][np.concatenate([owner[member[owner]], of[left]])].astype(np.int64)


def _true_others(model: LogLinear, truth: BoolArray) -> IntArray:
    # How many other members of each atom's block are true; 0 for atoms in no block.
    inside = model.block >= 0
    count = np.bincount(model.block[inside & truth], minlength=len(model.block_exact) + 1)
    return np.where(inside, count[model.block] - truth, 0).astype(np.int64)


def _excluded(model: LogLinear, truth: BoolArray) -> BoolArray:
    # Atoms that another true member of their block makes false.
    return _true_others(model, truth) > 0


def _needed(model: LogLinear, truth: BoolArray) -> BoolArray:
    # Atoms that an exact block without another true member makes true.
    exact = np.append(model.block_exact, False)[model.block]
    return np.asarray(exact & (_true_others(model, truth) == 0), dtype=np.bool_)


# ---- choices that nothing joins -----------------------------------------------------------------------


def make_choices(problem: TrainingProblem, *, seed: int) -> Choices:
    """Return the choices of a model whose ground clauses join no query atoms except those of one block; others are an InputError."""
    try:
        model = log_linear(problem.network)
    except UnsatisfiableError:
        raise_conflict(problem, seed)
        raise
    _check_independent(problem, model)
    # Labels that the hard clauses and blocks allow in no world have likelihood 0 under any weights.
    model = model.select(_possible(problem, model))
    truth, example = problem.truth[model.free], problem.network.example[model.free]
    found = conditionals(model, truth, example, blocks=True)
    if len(found) == 0:
        raise InputError(NOTHING)
    return found


def joined_atoms(model: LogLinear) -> BoolArray:
    """Return which free atoms rows join with atoms of other variables, shape (f,)."""
    variables = variables_of(model)
    sides = sides_of(model, variables)
    joined = np.zeros(len(variables.exact), dtype=np.bool_)
    joined[sides.variable[np.diff(sides.row_start)[sides.row] > 1]] = True
    return np.asarray(joined[variables.of_atom], dtype=np.bool_)


def _check_independent(problem: TrainingProblem, model: LogLinear) -> None:
    """Refuse rows that join atoms of several choices."""
    network, names = problem.network, problem.names
    joining = np.flatnonzero(np.diff(sides_of(model, variables_of(model)).row_start) > 1)
    if len(joining) == 0:
        return
    first = joining[0]
    clause = model.clause[first]
    atoms = model.free[np.abs(model.literals[model.indptr[first] : model.indptr[first + 1]]) - 1]
    shown = [names.atom(int(network.atoms[a])) for a in atoms if not network.helper[a]][:2]
    example = f", {' and '.join(shown)}" if len(shown) == 2 else ""
    others = len(np.unique(model.clause[joining])) - 1
    more = f" ({counted(others, 'other clause does', 'other clauses do')} so too)" if others else ""
    remedy = format(Phrase("use PSCG (moments='mcsat'), Likelihood or MaxMargin"))
    if network.hard[clause]:
        remedy += ", or leave this hard clause out while learning and add it to the learned model"
    raise InputError(
        f"exact moments need clauses of which each grounding has one query atom, blocks aside, but "
        f"{names.clause(int(network.clauses[clause]))} joins query atoms{example}{more}: {remedy}"
    )


def _possible(problem: TrainingProblem, model: LogLinear) -> BoolArray:
    """Return the free atoms of the choices whose labels hard rows and blocks allow, shape (f,)."""
    network, truth = problem.network, problem.truth[model.free]
    variables = variables_of(model)
    true = np.bincount(variables.of_atom[truth], minlength=len(variables.exact))
    possible = (true == 1) | ((true == 0) & ~variables.exact)
    broken = model.soft + np.flatnonzero(violated_rows(model, truth)[model.soft :])
    possible[variables.of_atom[np.abs(model.literals[model.indptr[broken]]) - 1]] = False
    # A label that contradicts a fixed atom of the block.
    wrong = (model.value != FREE) & (problem.truth != (model.value == 1)) & (network.block >= 0)
    spoiled = np.isin(network.block, network.block[wrong]) & (network.block >= 0)
    possible[variables.of_atom[spoiled[model.free]]] = False
    return np.asarray(possible[variables.of_atom], dtype=np.bool_)
