"""Exact expected counts: E[n] of every clause under the distribution that weights give, and its log partition function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError, NumericError, Parameter
from sqlrl.ground.network import BLOCK, BoolArray, FloatArray, IntArray, Network
from sqlrl.progress import Stage
from sqlrl.solve.beyond_elimination import widest
from sqlrl.solve.counts import soft_weights
from sqlrl.solve.enumeration import ALL_STEPS, MOST_ATOMS, STEPS, enumerate_worlds
from sqlrl.solve.log_linear import LogLinear, log_linear, reach
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, select_each
from sqlrl.solve.structure import pointers
from sqlrl.solve.treewidth.order import BUCKET_CELLS, COMPONENT_CELLS
from sqlrl.solve.weighted import WeightedNetwork
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.solve.conflict import Describe

LARGE_CELLS, LARGE_BUCKET = 2**25, 2**21
"""Cells of the tables of all components beyond the bounds of the others, and of one table: some seconds and 300 MB at the most."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected counts of the m clauses of a network, and its log partition function."""

    change: FloatArray  # shape (m,): by how much E[n] is above `Network.base`
    # Natural logarithm of the sum of exp(`counts.score`) over all worlds in which hard clauses and blocks hold.
    log_z: float


def expected_counts(network: Network, weights: npt.ArrayLike, *, describe: Describe | None = None) -> Expected:
    """Return exact expected counts, by elimination or enumeration; an InputError names a component too large for both and what widens it."""
    soft = soft_weights(network, weights)
    try:
        model = log_linear(network)
        found = _Sums(network, model, soft)
        with Stage("expected counts"):
            found.run(describe)
    except UnsatisfiableError as error:
        from sqlrl.solve.conflict import conflict_of
        from sqlrl.solve.structure import compile_network

        raise conflict_of(compile_network(network), error.atom, describe=describe) from None
    return found.result()


class _Sums:
    # Expected counts, added up component by component.

    def __init__(self, network: Network, model: LogLinear, soft: FloatArray) -> None:
        self.network, self.model, self.soft = network, model, soft
        self.change = model.fixed_counts.copy()
        base = [w * float(n) for w, n in zip(soft.tolist(), network.base.tolist(), strict=True) if w and n]
        self.terms = [*base, float(model.fixed_counts @ soft), float(network.prior[model.value == 1].sum())]

    def _score(self, part: LogLinear) -> FloatArray:
        """Return what true atoms and violated rows of a part add."""
        with np.errstate(over="ignore", invalid="ignore"):
            score = np.asarray(part.features @ self.soft + part.offset, dtype=np.float64)
            total = np.abs(score).sum()
        if not np.isfinite(total):
            raise NumericError("weights are so large that their sums overflow: scale them down")
        return score

    def _eliminate(self, left: LogLinear, bucket_cells: int, component_cells: int) -> LogLinear:
        """Sum over the components within bounds; return the others."""
        found = reach(left, bucket_cells=bucket_cells, component_cells=component_cells)
        if len(found.partition):
            try:
                value, share = found.partition.expectations(self._score(found.narrow))
            except UnsatisfiableError as error:
                raise UnsatisfiableError(int(found.narrow.free[error.atom])) from None
            self.change += found.narrow.features.T @ share
            self.terms += value.tolist()
        return left.select(~found.inside)

    def _enumerate(self, left: LogLinear) -> BoolArray:
        """Sum over the worlds of components that hard rows leave few, one after the other; return the atoms of the others."""
        score, done = self._score(left), np.zeros(len(left.free), dtype=np.bool_)
        share, values, steps = np.zeros(len(score)), list[float](), ALL_STEPS
        for atoms, rows, one in _with_rows_as_atoms(left, score):
            try:
                found = enumerate_worlds(one, min(STEPS, steps))
            except UnsatisfiableError:
                raise UnsatisfiableError(int(left.free[atoms[0]])) from None
            steps -= STEPS if found is None else found.steps
            if found is not None:
                share[atoms], share[len(done) + rows] = found.probability[: len(atoms)], found.probability[len(atoms) :]
                done[atoms] = True
                values.append(found.log_z)
            if steps <= 0:
                break
        self.change += left.features.T @ share
        self.terms += values
        return ~done

    def run(self, describe: Describe | None) -> None:
        """Sum over all components, or refuse what cannot be."""
        left = self._eliminate(self.model, BUCKET_CELLS, COMPONENT_CELLS)
        if not len(left.free):
            return
        most = LARGE_CELLS // component_labels(left)[0]
        if most > COMPONENT_CELLS:
            left = self._eliminate(left, LARGE_BUCKET, most)
        wide = self._enumerate(left)
        if not wide.any():
            return
        outside = np.isin(self.model.free, left.free[wide])
        found = widest(self.model, self.network, outside=outside)
        assert found is not None, "some atoms are outside"
        raise InputError(
            f"exact expected counts need tables beyond the bound for {found.components:,} of "
            f"{counted(component_labels(self.model)[0], 'component')}, with {counted(found.beyond, 'atom')}: "
            f"{found.words(describe or _ids(self.network))}; leave the clause out, or choose fewer {Parameter('examples')} (sampled probabilities of "
            f"atoms: marginals with {Parameter('method', 'auto')})"
        )

    def result(self) -> Expected:
        """Return what was found."""
        network, hard = self.network, self.network.hard
        # Hard clauses hold in every world, but for what the evidence violates.
        held = np.where(network.sign > 0, network.total - network.evidence_violated, network.evidence_violated)
        self.change[hard] = (held - network.base)[hard].astype(np.float64)
        log_z = float(np.sum(self.terms))
        if not np.isfinite(log_z):
            raise NumericError("weights are so large that their sums overflow: scale them down")
        return Expected(self.change, log_z)


def _with_rows_as_atoms(left: LogLinear, score: FloatArray) -> Iterator[tuple[IntArray, IntArray, WeightedNetwork]]:
    # Small components that have hard rows, each with an atom for every soft row, true where the row is violated: its atoms, its soft rows,
    # and the component over both, atoms first.
    f, rows = len(left.free), len(left.indptr) - 1
    cost = np.where(np.arange(rows) < left.soft, 0.0, np.inf)
    whole = WeightedNetwork(
        np.arange(f, dtype=np.int64), score[:f], left.indptr, left.literals, cost, np.arange(rows, dtype=np.int64), left.block,
        left.block_exact, 0.0, 0.0,
    )  # fmt: skip
    count, label = component_labels(left)
    for atoms, part in select_each(whole, label, count):
        n, soft = len(atoms), np.flatnonzero(~part.hard)
        if len(soft) == len(part.cost) or n + len(soft) > MOST_ATOMS:
            continue
        ground = [part.literals[a:b].tolist() for a, b in zip(part.indptr[:-1], part.indptr[1:], strict=True)]
        found = [ground[j] for j in np.flatnonzero(part.hard)]
        for violated, j in enumerate(soft.tolist(), n + 1):
            found += [[*ground[j], violated], *([-literal, -violated] for literal in ground[j])]
        mine = part.clause[soft]
        yield (
            atoms,
            mine,
            replace(
                part,
                atoms=np.arange(n + len(soft), dtype=np.int64),
                linear=np.concatenate([part.linear, score[f + mine]]),
                indptr=pointers(np.array([len(row) for row in found], dtype=np.int64)),
                literals=np.array([literal for row in found for literal in row], dtype=np.int64),
                cost=np.full(len(found), np.inf),
                clause=np.full(len(found), -1, dtype=np.int64),
                block=np.concatenate([part.block, np.full(len(soft), -1, dtype=np.int64)]),
            ),
        )


def _ids(network: Network) -> Describe:
    # Words for ground clauses and atoms where there are no names.
    def words(clause: int, literals: Sequence[int]) -> str:
        texts = [f"{'' if x > 0 else '!'}atom {network.atoms[abs(x) - 1]}" for x in literals]
        return ", ".join(texts) if clause == BLOCK else f"{' v '.join(texts)} (clause {network.clauses[clause]})"

    return words
