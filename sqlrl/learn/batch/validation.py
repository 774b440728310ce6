"""Choosing the strength of a penalty by the log-likelihood of labels that were held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlrl.errors import InputError, Parameter, Phrase, ValidationWarning, warn
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, ragged_ranges
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.joint import JointLikelihood
from sqlrl.learn.batch.penalised import Penalty, fit_weights, make_design
from sqlrl.progress import staged
from sqlrl.training.atom_groups import ungrouped
from sqlrl.training.records import TUNING_SCHEMA
from sqlrl.wording import counted

TOLERANCE = 1e-4
"""Of the fits that are only compared: their held-out log-likelihoods differ by far more."""

VALIDATION = "validation"
"""What the names of arrays begin with that a saved run has of it."""

STRENGTH_SCHEMA = pa.schema(
    [
        ("strength", pa.float64()),
        ("log_likelihood", pa.float64()),
        ("per_choice", pa.float64()),
        ("deviation", pa.float64()),
        ("nonzero", pa.float64()),
        ("chosen", pa.bool_()),
    ]
)
"""See `Validation.table`."""


@dataclass(frozen=True, eq=False)
class Validation:
    """Scores of strengths on parts that were held out."""

    strengths: FloatArray  # shape (s,), descending
    scores: FloatArray  # shape (s, folds): log-likelihood of each part under weights learned from the others
    nonzero: IntArray  # shape (s, folds): how many of those weights are not 0
    choices: int  # atoms and blocks in all parts; one that is in several counts in each

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Validation:
        """Return what `arrays` has made arrays of."""
        strengths, scores, nonzero, choices = (arrays[f"{VALIDATION} {each.name}"] for each in fields(cls))
        return cls(strengths, scores, nonzero, int(choices))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return it as arrays by name, as a run is saved."""
        return {f"{VALIDATION} {each.name}": np.array(getattr(self, each.name)) for each in fields(self)}

    @property
    def best(self) -> float:
        """The strength with the greatest total; of several the strongest."""
        return float(self.strengths[int(np.argmax(self.scores.sum(axis=1)))])

    def table(self) -> pa.Table:
        """Return a table of `STRENGTH_SCHEMA`, a row for each strength, ascending."""
        back = slice(None, None, -1)
        total = self.scores.sum(axis=1)
        folds = self.scores.shape[1]
        return pa.table(
            {
                "strength": self.strengths[back],
                # Over all parts, each held out once: the sum, its mean by atom or block, and the deviation of that mean
                # among parts.
                "log_likelihood": total[back],
                "per_choice": total[back] / self.choices,
                "deviation": (self.scores.std(axis=1, ddof=1) * folds / self.choices)[back],
                "nonzero": self.nonzero.mean(axis=1)[back],
                "chosen": (self.strengths == self.best)[back],
            }
        )

    def tuning(self) -> pa.Table:
        """Return a row for each strength and part, of `TUNING_SCHEMA`."""
        s, folds = self.scores.shape
        value = np.repeat(self.strengths, folds)
        columns = {
            "parameter": pa.array(["strength"] * (s * folds), pa.string()),
            "value": value,
            "fold": np.tile(np.arange(1, folds + 1), s),
            "score": self.scores.ravel(),
            "chosen": value == self.best,
        }
        return pa.table(columns).cast(TUNING_SCHEMA)


def validate(
    choices: Choices | JointLikelihood,
    penalty: Penalty,
    strengths: Sequence[float],
    parts: BoolArray,
    scale: FloatArray | None = None,
) -> Validation:
    """Score strengths on held-out `parts` of choices, shape (folds, c), under weights learned from the rest."""
    ordered, folds = sorted(set(map(float, strengths)), reverse=True), len(parts)
    scores, nonzero = np.zeros((len(ordered), folds)), np.zeros((len(ordered), folds), dtype=np.int64)
    for fold, held in enumerate(staged("parts held out", parts, even=True)):
        design, test = make_design(choices.chosen(~held), scale), choices.chosen(held)
        weights: FloatArray | None = None
        for i, strength in enumerate(ordered):
            fit = fit_weights(design, penalty, strength, start=weights, tolerance=TOLERANCE, max_iterations=1000)
            weights = fit.weights
            scores[i, fold] = test.log_likelihood(weights).sum()
            nonzero[i, fold] = np.count_nonzero(weights)
    return Validation(np.array(ordered), scores, nonzero, int(parts.sum()))


@dataclass(frozen=True, eq=False)
class AtomGroups:
    """Groups of atoms, as r pairs of an atom and a group; an atom may have several."""

    atom: IntArray  # shape (r,): places in the network
    group: IntArray  # shape (r,)
    show: Callable[[int], str] = "atom {}".format  # the text of an atom, from its place, for errors


def make_parts(choices: Choices | JointLikelihood, folds: int, *, seed: int) -> BoolArray:
    """Deal whole examples, or of one example its atoms and blocks, each label evenly, to parts at random, shape (folds, c)."""
    random = np.random.default_rng(seed)
    examples, example = np.unique(choices.example, return_inverse=True)
    if len(examples) > 1:
        folds = min(folds, len(examples))
        parts = (random.permutation(len(examples)) % folds)[example]
    else:
        if folds > len(choices):
            raise InputError(
                f"{Parameter('folds', folds)}, but there {'is' if len(choices) == 1 else 'are'} only "
                f"{counted(len(choices), 'query atom or block', 'query atoms and blocks')} to learn from: use fewer folds, or one strength"
            )
        order = random.permutation(len(choices))
        order = order[np.argsort(choices.label[order], kind="stable")]
        parts = np.empty(len(choices), dtype=np.int64)
        parts[order] = np.arange(len(order)) % folds
    found: BoolArray = parts == np.arange(folds)[:, None]
    _check_parts(choices, found, "use fewer folds, or more examples" if len(examples) > 1 else None)
    return found


def make_grouped_parts(choices: Choices | JointLikelihood, groups: AtomGroups, folds: int, *, seed: int) -> BoolArray:
    """Deal groups to parts at random, shape (folds, c); a choice is in each part that has a group of one of its atoms."""
    atom, owner = choices.members()
    missing = np.flatnonzero(~np.isin(atom, groups.atom))
    if len(missing):
        raise ungrouped(len(missing), len(atom), groups.show(int(atom[missing[0]])))
    order = np.argsort(groups.atom, kind="stable")
    low, high = (np.searchsorted(groups.atom[order], atom, side) for side in ("left", "right"))
    rows = order[ragged_ranges(low, high - low)]
    known, group = np.unique(groups.group[rows], return_inverse=True)
    if len(known) == 1:
        raise InputError(
            f"{Parameter('groups')} has one group only, and none is left to learn from while it is held out: use finer groups"
        )
    folds = min(folds, len(known))
    parts = np.zeros((folds, len(choices)), dtype=np.bool_)
    parts[(np.random.default_rng(seed).permutation(len(known)) % folds)[group], np.repeat(owner, high - low)] = True
    whole = np.flatnonzero(parts.all(axis=1))
    if len(whole):
        raise InputError(
            f"{Parameter('groups')} and {Parameter('folds', folds)} leave nothing to learn from: {counted(len(whole), 'part has', 'parts have')} a group of every "
            f"atom; {Phrase('use more folds')}, or finer groups"
        )
    _check_parts(choices, parts, "use fewer folds, or other groups")
    return parts


def _check_parts(choices: Choices | JointLikelihood, parts: BoolArray, remedy: str | None) -> None:
    """Warn if a part that is held out, or all others together, has labels of one kind only."""
    alone = [f + 1 for f, part in enumerate(parts) if len(np.unique(choices.label[part])) == 1]
    rest = [f + 1 for f, part in enumerate(parts) if len(np.unique(choices.label[~part])) == 1]
    if not alone and not rest:
        return
    if alone:
        what = counted(len(alone), "of the parts that are held out has", "of the parts that are held out have")
        what += f" labels of one kind only, the first of them part {alone[0]}"
    else:
        what = f"without part {rest[0]} all labels are of one kind"
    if len(np.unique(choices.label)) == 1:
        remedy = "so have all: give the target predicate a scope with atoms of the other kind"
    elif remedy is None:
        remedy = f"use fewer than {len(parts)} folds, or one strength"
    warn(f"a strength is chosen by held-out labels, but {what}; {remedy}", ValidationWarning)
