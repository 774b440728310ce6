"""The exact conditional likelihood of labels that clauses join: sums over the worlds of components, for any weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy import sparse

from sqlrl.distinct import distinct
from sqlrl.errors import NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.problem import equal_columns
from sqlrl.solve.forest_sums import ForestPartition
from sqlrl.solve.log_linear import LogLinear, LogLinearPartition
from sqlrl.training.shelf import Held


@dataclass(frozen=True, eq=False)
class LabelledPart:
    """The labels of some examples: those of c components within the bounds of elimination, and further choices."""

    # shape (p, m): what each true atom and then each violated row adds to the counts; see `LogLinear`
    features: sparse.csr_array
    offset: FloatArray  # shape (p,): log-odds of soft evidence
    present: FloatArray  # shape (p,): 1 for atoms that are true and rows that are violated in the labelled world
    partition: LogLinearPartition | ForestPartition
    atom: IntArray  # shape (f,): the places of the atoms in the network
    example: IntArray  # shape (c,): the example of each component
    label: IntArray  # shape (c,): how many atoms of each component are true
    # atoms and blocks that no row joins with others, and those of wider components given all other labels
    given: Choices

    def __len__(self) -> int:
        return len(self.partition) + len(self.given)

    @property
    def clauses(self) -> int:
        """How many clauses were known, m."""
        return int(self.features.shape[1])

    def scores(self, weights: FloatArray) -> FloatArray:
        """What each atom and row adds under weights of shape (m,); a NumericError if that is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(self.features @ weights + self.offset, dtype=np.float64)
            total = np.abs(found).sum()
        if not np.isfinite(total):
            # Elimination would take infinite odds for those of a hard clause.
            raise NumericError("weights are so large that their sums overflow: scale them down")
        return found

    def expectations(self, weights: FloatArray, which: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each component, 0 of those that are not in `which`, and the probability of each atom and row."""
        score = self.scores(weights)
        chosen = which[: len(self.partition)]
        value, share = self.partition.expectations(score, np.flatnonzero(chosen))
        return np.where(chosen, self.own(score) - value, 0.0), share

    def own(self, score: FloatArray) -> FloatArray:
        """Return what the labels of each component score, shape (c,)."""
        count = len(self.partition)
        found = np.bincount(self.partition.component, weights=score * self.present, minlength=count)
        return np.asarray(found, dtype=np.float64)

    def residual(self, share: FloatArray, which: BoolArray) -> FloatArray:
        """Return what is observed of each atom and row less what is expected, 0 outside of the components in `which`."""
        return np.where(which[self.partition.component], self.present - share, 0.0)

    def spread(self, share: FloatArray, which: BoolArray) -> FloatArray:
        """Return the variance of each atom and row, 0 outside of the components in `which`."""
        return np.where(which[self.partition.component], share * (1.0 - share), 0.0)

    def counted(self, which: BoolArray) -> IntArray:
        """Return the rows of the features that the components in `which` have."""
        return np.flatnonzero(which[self.partition.component])


def joint_part(
    model: LogLinear, partition: LogLinearPartition, truth: BoolArray, example: IntArray, given: Choices
) -> LabelledPart:
    """Return the likelihood of the labels of all components; `truth` and `example` are of all n atoms of the network."""
    component = partition.component[: len(model.free)]
    first = np.zeros(len(partition), dtype=np.int64)
    first[component[::-1]] = model.free[::-1]
    label = np.bincount(component[truth[model.free]], minlength=len(partition)).astype(np.int64)
    present = model.present(truth)
    return LabelledPart(model.features, model.offset, present, partition, model.free, example[first], label, given)


@dataclass(frozen=True, eq=False)
class TiedPart(LabelledPart):
    """The same of components whose edges share tables: rows of the features after those of atoms are pair entries, counted over all edges."""

    partition: ForestPartition
    # Of each of the e edges, twice where it has entries of its own: its component, and the pair entry that it is in under the labels, -1 for none.
    edge_component: IntArray
    edge_entry: IntArray

    def own(self, score: FloatArray) -> FloatArray:
        """Return what the labels of each component score, shape (c,)."""
        atoms, count = len(self.atom), len(self.partition)
        mine = np.bincount(self.partition.component, weights=score[:atoms] * self.present, minlength=count)
        entry = np.append(score[atoms:], 0.0)[self.edge_entry]
        return np.asarray(mine + np.bincount(self.edge_component, weights=entry, minlength=count), dtype=np.float64)

    def residual(self, share: FloatArray, which: BoolArray) -> FloatArray:
        """Return what is observed of each atom and entry less what is expected, of the components in `which`."""
        atoms = len(self.atom)
        mine = np.where(which[self.partition.component], self.present - share[:atoms], 0.0)
        seen = self.edge_entry[(self.edge_entry >= 0) & which[self.edge_component]]
        return np.concatenate([mine, np.bincount(seen, minlength=len(share) - atoms) - share[atoms:]])

    def spread(self, share: FloatArray, which: BoolArray) -> FloatArray:
        """Return the variance of each atom and entry, that of an entry as if many edges were each rarely in it."""
        atoms = len(self.atom)
        mine = np.where(which[self.partition.component], share[:atoms] * (1.0 - share[:atoms]), 0.0)
        return np.concatenate([mine, share[atoms:]])

    def counted(self, which: BoolArray) -> IntArray:
        """Return the rows of the features that the components in `which` have: all entries, if they have an edge."""
        atoms = np.flatnonzero(which[self.partition.component])
        entries = self.features.shape[0] - len(self.atom) if which[self.edge_component].any() else 0
        return np.concatenate([atoms, len(self.atom) + np.arange(entries)])


@dataclass(frozen=True, eq=False)
class JointLikelihood:
    """The log-likelihood of the labels of all parts, a sum over o components and choices, for the weights of k clauses."""

    held: Sequence[Held[LabelledPart]]
    which: Sequence[BoolArray]  # of each part, which of its components and choices are summed
    example: IntArray  # shape (o,)
    label: IntArray  # shape (o,): the kind of label, see `Part` and `Choices`
    column: IntArray  # shape (k,): the clauses that have a weight
    scale: FloatArray  # shape (k,): what their counts are multiplied by

    hessian: ClassVar[None] = None
    """Covariances of counts would need the pairs of all tables."""

    def __len__(self) -> int:
        return len(self.example)

    @property
    def clauses(self) -> int:
        """How many clauses have weights, k."""
        return len(self.column)

    def _parts(self) -> Iterator[tuple[LabelledPart, BoolArray]]:
        for held, which in zip(self.held, self.which, strict=True):
            if which.any():
                yield held.part(), which

    def _spread(self, weights: FloatArray) -> FloatArray:
        # Weights of all clauses; the others have 0.
        found = np.zeros(int(self.column.max(initial=-1)) + 1)
        found[self.column] = weights * self.scale
        return found

    def _of(self, part: LabelledPart, weights: FloatArray) -> FloatArray:
        # Of the clauses that were known when a part was grounded.
        found, known = np.zeros(part.clauses), min(part.clauses, len(weights))
        found[:known] = weights[:known]
        return found

    def log_likelihood(self, weights: FloatArray) -> FloatArray:
        """Return the log-likelihood of each component and choice that is summed, shape (o,), under weights of shape (k,)."""
        full, found = self._spread(weights), []
        for part, which in self._parts():
            mine, c = self._of(part, full), len(part.partition)
            found += [part.expectations(mine, which)[0][which[:c]], part.given.log_likelihood(mine)[which[c:]]]
        return np.concatenate(found) if found else np.zeros(0)

    def value_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood of the labels and its gradient, observed less expected counts, shape (k,).

        Source: Lafferty, McCallum and Pereira, "Conditional random fields" (2001), section 3; Richardson and Domingos,
        "Markov logic networks" (2006), section 4.1, equation 8, here conditional on the evidence. Expected counts are
        exact, by elimination.
        """
        full = self._spread(weights)
        value, gradient = 0.0, np.zeros(len(full))
        for part, which in self._parts():
            mine, c = self._of(part, full), len(part.partition)
            likelihood, share = part.expectations(mine, which)
            value += float(likelihood.sum())
            slope = part.features.T @ part.residual(share, which)
            if which[c:].any():
                rest = part.given if which[c:].all() else part.given.chosen(which[c:])
                more, steeper = rest.value_and_gradient(mine)
                value, slope = value + more, slope + steeper
            known = min(len(slope), len(gradient))
            gradient[:known] += slope[:known]
        return value, gradient[self.column] * self.scale

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return variances of the counts as if atoms and rows were independent of each other, shape (k,): their scale, no more."""
        full = self._spread(weights)
        found = np.zeros(len(full))
        for part, which in self._parts():
            mine, c = self._of(part, full), len(part.partition)
            share = part.expectations(mine, which)[1]
            squares = part.features.multiply(part.features).T @ part.spread(share, which)
            if which[c:].any():
                squares = squares + part.given.chosen(which[c:]).curvature(mine)
            known = min(len(squares), len(found))
            found[:known] += squares[:known]
        return found[self.column] * self.scale**2

    def equal_columns(self, columns: IntArray) -> IntArray:
        """Number the distinct ones of some clauses by what is counted of them, in the order of the first of each; -1 for others, shape (k,)."""
        labels = []
        for part, which in self._parts():
            known, c = self.column < part.clauses, len(part.partition)
            given = part.given.chosen(which[c:])
            rows = [part.features[part.counted(which)], given.features]
            table = sparse.vstack([each[:, self.column[known]] for each in rows], format="csc")
            table.sort_indices()
            found = np.full(len(self.column), -1, dtype=np.int64)
            # What was not known when a part was grounded is not counted in it, as is what has no entry.
            found[known] = equal_columns(table, np.flatnonzero(np.diff(table.indptr)))
            labels.append(found[columns])
        result = np.full(len(self.column), -1, dtype=np.int64)
        groups = distinct(labels)
        rank = np.empty(len(groups), dtype=np.int64)
        rank[np.argsort(groups.first)] = np.arange(len(groups))
        result[columns] = rank[groups.inverse]
        return result

    def members(self) -> tuple[IntArray, IntArray]:
        """Return the places of atoms in their networks, and which component or choice each belongs to."""
        atoms, owners, before = [], [], 0
        for part, which in self._parts():
            place, c = np.cumsum(which) - 1, len(part.partition)
            owner = part.partition.component[: len(part.atom)]
            atom, choice = part.given.members()
            for mine, of in ((part.atom, owner), (atom, c + choice)):
                inside = which[of]
                atoms.append(mine[inside])
                owners.append(before + place[of[inside]])
            before += int(which.sum())
        return np.concatenate(atoms), np.concatenate(owners)

    def chosen(self, which: BoolArray) -> Self:
        """Return it with some of its components and choices only, shape (o,)."""
        masks, at = [], 0
        for mask in self.which:
            smaller = mask.copy()
            count = int(mask.sum())
            smaller[mask] = which[at : at + count]
            masks.append(smaller)
            at += count
        return replace(self, which=masks, example=self.example[which], label=self.label[which])

    def columns(self, which: IntArray, scale: FloatArray) -> Self:
        """Return it with some of its clauses only, what is counted of them multiplied by `scale`."""
        return replace(self, column=self.column[which], scale=self.scale[which] * scale)


def joint(held: Sequence[Held[LabelledPart]], clauses: int) -> JointLikelihood:
    """Sum over all components and choices of parts, of which the last knows all m clauses."""
    which, example, label = [], [], []
    for each in held:
        part = each.part()
        which.append(np.ones(len(part), dtype=np.bool_))
        example += [part.example, part.given.example]
        label += [part.label, part.given.label]
    return JointLikelihood(
        held, which, np.concatenate(example), np.concatenate(label), np.arange(clauses), np.ones(clauses)
    )
