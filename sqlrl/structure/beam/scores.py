"""The weighted pseudo-log-likelihood of a model, and by how much a further clause raises it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg, special

from sqlrl.ground.clause_rows import ClauseProgram, DomainCells, PartitionRows
from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.ground.partitions import ClauseTerms, Matrix, Partition
from sqlrl.logic.shapes import Instance
from sqlrl.training.clause_search import SearchBlankets

LOOSE, TIGHT = 1e-5, 1e-9
"""A Newton step that promises less than this, in units of the score, is the last one."""

STEPS = 50

HALVINGS = 30


class Member(NamedTuple):
    """A clause of a model, or what a formula comes to: instances that count together, 1 or -1 for what n counts, whether it must hold, or its fixed weight."""

    instances: tuple[Instance, ...]
    sign: int = 1
    hard: bool = False
    fixed_weight: float | None = None

    @property
    def learned(self) -> bool:
        """Whether it has a weight that is learned."""
        return not self.hard and self.fixed_weight is None


class AtomShares(NamedTuple):
    """Atoms of a predicate, a row for those that are alike."""

    says: FloatArray  # by how much n of each learned clause grows if the atom is true, shape (r, m)
    truth: FloatArray  # 1 or -1
    share: FloatArray  # of all atoms of the predicate; 0 where a hard clause decides
    offset: FloatArray  # log-odds by what is not learned: soft evidence and fixed weights


@dataclass(frozen=True, eq=False)
class Scored:
    """A model with its best weights."""

    members: tuple[Member, ...]
    weights: FloatArray  # of the k members that are learned, shape (k,)
    value: float  # the weighted pseudo-log-likelihood less the Gaussian prior
    atoms: Mapping[str, PartitionRows]  # the atoms of each predicate by what the members say
    rows: Mapping[str, AtomShares]  # what the k members say of the atoms of each predicate


class Gain(NamedTuple):
    """By how much a clause raises the score, its weight, and all weights then."""

    gain: float
    weight: float
    weights: FloatArray


class Objective:
    """Scores models and candidates by WPLL = sum_r (1 / g_r) sum_k log P(x_rk | others) less `strength / 2 * sum(w^2)`.

    Here r are predicates, g_r the number of atoms of one, and k its atoms. Source: Kok and Domingos (2005), section 4.1, equation 4. They use
    L-BFGS, loosely for candidates; Newton steps end at the same optimum, since the score is concave and models have few clauses.
    """

    def __init__(self, source: SearchBlankets, strength: float) -> None:
        self.source, self.strength = source, strength
        self._cells: dict[str, DomainCells] = {}
        self._programs: dict[Instance, dict[str, ClauseProgram]] = {}

    def model(self, members: Sequence[Member], start: FloatArray | None = None) -> Scored:
        """Score a model; weights begin at `start`, those of members that are learned."""
        learned = [i for i, member in enumerate(members) if member.learned]
        self.source.learn((instance, None) for member in members for instance in member.instances)
        given: dict[str, list[ClauseTerms]] = {name: [] for name in self.source.names}
        for i, member in enumerate(members):
            for instance in member.instances:
                for name, terms in self.source.terms(instance).items():
                    given[name].append(replace(terms, clauses=terms.clauses + i))
        partitions, rows = {}, {}
        for name in self.source.names:
            whole, odds = self.source.partition(name)
            partitions[name] = whole.refined(given[name], len(members))
            rows[name] = _rows(partitions[name], odds[partitions[name].parent], members)
        begun = np.zeros(len(learned)) if start is None else start
        stacked = _stacked([rows[name] for name in self.source.names], len(learned))
        weights, value = self._optimum(stacked, begun, TIGHT)
        atoms = {name: PartitionRows(found, self._cells_of(name)) for name, found in partitions.items()}
        return Scored(tuple(members), weights, value, atoms, rows)

    def gain(self, model: Scored, candidate: Instance, *, tolerance: float = LOOSE) -> Gain:
        """Return by how much a clause raises the score of a model; its counts are known."""
        programs = self._programs_of(candidate)
        k = len(model.weights)
        parts = []
        for name in self.source.names:
            rows = model.rows[name]
            own = programs.get(name)
            if own is None:
                parts.append(rows._replace(says=np.hstack([rows.says, np.zeros((len(rows.truth), 1))])))
                continue
            found = model.atoms[name].of(own)
            # What a clause says of atoms is shared out among those that were alike.
            share = rows.share[found.parent] * found.atoms / model.atoms[name].partition.count[found.parent]
            says = np.column_stack([rows.says[found.parent], found.says])
            parts.append(AtomShares(says, rows.truth[found.parent], share, rows.offset[found.parent]))
        weights, value = self._optimum(_stacked(parts, k + 1), np.append(model.weights, 0.0), tolerance)
        return Gain(value - model.value, float(weights[k]), weights)

    def _cells_of(self, name: str) -> DomainCells:
        if name not in self._cells:
            self._cells[name] = DomainCells(self.source.partition(name)[0].domain)
        return self._cells[name]

    def _programs_of(self, candidate: Instance) -> dict[str, ClauseProgram]:
        if candidate not in self._programs:
            terms = self.source.terms(candidate)
            self._programs[candidate] = {name: self._cells_of(name).program(own) for name, own in terms.items()}
        return self._programs[candidate]

    def _optimum(self, rows: AtomShares, start: FloatArray, tolerance: float) -> tuple[FloatArray, float]:
        """Maximise the score by damped Newton steps."""
        point, value = start, self._value(rows, start)
        for _ in range(STEPS):
            margin = rows.truth * (rows.says @ point + rows.offset)
            wrong = special.expit(-margin)
            gradient = rows.says.T @ (rows.truth * rows.share * wrong) - self.strength * point
            curvature = rows.share * wrong * (1.0 - wrong)
            hessian = (rows.says.T * curvature) @ rows.says
            hessian[np.diag_indices(len(point))] += self.strength
            step = linalg.cho_solve(linalg.cho_factor(hessian, check_finite=False), gradient, check_finite=False)
            promised = float(gradient @ step)
            if promised <= tolerance:
                break
            length = 1.0
            for _ in range(HALVINGS):
                following = point + length * step
                new = self._value(rows, following)
                if new >= value + 1e-4 * length * promised:
                    break
                length /= 2
            else:
                break
            point, value = following, new
        return point, value

    def _value(self, rows: AtomShares, weights: FloatArray) -> float:
        margin = rows.truth * (rows.says @ weights + rows.offset)
        return float(rows.share @ special.log_expit(margin)) - self.strength / 2 * float(weights @ weights)


def _rows(partition: Partition, odds: FloatArray, members: Sequence[Member]) -> AtomShares:
    """Return what the members say of the atoms of a predicate, of whose rows `odds` are the log-odds by soft evidence."""
    sign = np.array([member.sign for member in members], dtype=np.int64)
    hard = np.array([member.hard for member in members], dtype=np.int64)
    fixed = np.array([member.fixed_weight or 0.0 for member in members])
    negative, positive = (_dense(x) for x in (partition.negative, partition.positive))
    # A true atom holds up what would be violated without it, a false one what would be violated with it.
    held = np.where(partition.truth, (positive @ hard) > 0, (negative @ hard) > 0)
    says = ((positive - negative) * sign).astype(np.float64)
    share = np.where(held, 0.0, partition.count / max(partition.domain.count, 1))
    learned = [i for i, member in enumerate(members) if member.learned]
    return AtomShares(says[:, learned], np.where(partition.truth, 1.0, -1.0), share, odds + says @ fixed)


def _dense(matrix: Matrix) -> IntArray:
    found: IntArray = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return found


def _stacked(parts: Sequence[AtomShares], width: int) -> AtomShares:
    if not parts:
        return AtomShares(np.zeros((0, width)), *[np.zeros(0)] * 3)
    return AtomShares(*(np.concatenate(each) for each in zip(*parts, strict=True)))
