"""What was inferred held against the labels: what is compared, how each kind is scored, and what is kept of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import pyarrow as pa

from sqlrl.catalog.checks import labels_outside
from sqlrl.database.inferred import THRESHOLD, Inferred, InferredProbabilities, InferredValues, InferredWorld
from sqlrl.database.label_outcomes import Compared, blocks_of, keep, outcomes_of, support_of
from sqlrl.database.seen import seen
from sqlrl.errors import InputError, Parameter
from sqlrl.evaluate import ProbabilityScores, Scores, Seen, SoftScores, score, score_probabilities, score_values
from sqlrl.ground.atoms import read_values
from sqlrl.ground.clauses import example_names
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.ground.program import Extent
from sqlrl.ground.windows import divided_hinges
from sqlrl.training.statistics import add_observed

OUTSIDE = ("missed", "ignore")
"""What a true label outside the scope, which has no query atom, may count as."""


def compared(found: Inferred, outside: str, threshold: float = THRESHOLD) -> Compared:
    """Read the labels of the query atoms, and with `outside` "missed" also the labels that have none; an error if there are no labels."""
    # Soft labels count as true from the threshold on.
    if outside not in OUTSIDE:
        raise InputError(f"{Parameter('outside', outside)} must be 'missed' or 'ignore'.")
    found.check_current()
    real = found.reported
    atoms = found.network_atoms.ids[real]
    label, labelled = found.labels_of(atoms)
    names = found.open_predicates
    examples = found.examples if outside == "missed" else np.zeros(0, np.int64)
    missed = [labels_outside(found.engine, found.layout, name, examples) for name in names]
    if not labelled.any() and not any(map(len, missed)):
        raise InputError(
            f"no predicted atom has a label to compare with: load the labels with {Parameter('target', True)}, or choose examples "
            "that have them"
        )
    kind = np.full(len(atoms), -1, np.int64)
    for i, name in enumerate(names):
        kind[found.of_predicate(name)[real]] = i
    truth: BoolArray = label.astype(bool, copy=False) if label.dtype == np.bool_ else label >= threshold
    return Compared(names, atoms, label, truth, labelled, kind, found.network_atoms.example[real], missed)


# ---- scores --------------------------------------------------------------------------------------------


def world_scores(prediction: InferredWorld, known: Compared) -> Scores:
    """Score a predicted world; a true label outside the scope is an atom predicted false."""
    labelled = known.labelled
    beside = np.concatenate([np.zeros(0, np.int64), *known.missed])
    none = np.zeros(len(beside), bool)
    return score(
        np.concatenate([known.truth[labelled], ~none]),
        np.concatenate([prediction.atom_values[prediction.reported][labelled], none]),
        np.concatenate([known.example[labelled], beside]),
        predicate=np.concatenate(
            [known.kind[labelled], np.repeat(np.arange(len(known.names)), [len(m) for m in known.missed])]
        ),
        names=known.names,
        outside=len(beside),
        seen=seen(prediction, known.atoms[labelled]),
    )


def probability_scores(marginals: InferredProbabilities, known: Compared, bins: int) -> ProbabilityScores:
    """Score probabilities."""
    chances = marginals.atom_values[marginals.reported][known.labelled]
    return score_probabilities(
        known.truth[known.labelled], chances, threshold=THRESHOLD, bins=bins, **_ranked(marginals, known)
    )


def value_scores(prediction: InferredValues, known: Compared, threshold: float) -> SoftScores:
    """Score the truth values of a soft model."""
    values = prediction.atom_values[prediction.reported][known.labelled]
    return score_values(known.label[known.labelled], values, threshold=threshold, **_ranked(prediction, known))


class _Beside(TypedDict):
    """What scores of numbers are told of the labelled atoms beside their labels and values."""

    predicate: IntArray
    names: Sequence[str]
    example: IntArray
    examples: Sequence[str]
    outside: int
    seen: Seen | None


def _ranked(found: Inferred, known: Compared) -> _Beside:
    """Return the predicates and examples of the labelled atoms, and what was left out or seen before."""
    labelled = known.labelled
    ids, index = np.unique(np.concatenate([found.examples, known.example[labelled]]), return_inverse=True)
    named = example_names(found.engine, found.layout, ids)
    return {
        "predicate": known.kind[labelled],
        "names": known.names,
        "example": index[len(found.examples) :],
        "examples": [named[example] for example in ids.tolist()],
        "outside": sum(map(len, known.missed)),
        "seen": seen(found, known.atoms[labelled]),
    }


# ---- what is kept of runs that were kept ---------------------------------------------------------------


def keep_world(prediction: InferredWorld, run: int, known: Compared) -> None:
    """Keep what labels say of a predicted world and its clauses."""
    with prediction.held() as (program, chosen):
        extent = Extent(program, chosen, prediction.asked.limit)
        if known.labelled.all():
            add_observed(prediction.session.records, run, extent)
        support, log_odds = support_of(prediction, known, program, extent)
        predicted = prediction.atom_values[prediction.reported]
        blocks = blocks_of(known.atoms, extent, prediction.network)
        outcomes = outcomes_of(prediction, known, predicted, missed=True, blocks=blocks, log_odds=log_odds)
        keep(prediction, outcomes, support)


def keep_probabilities(marginals: InferredProbabilities, known: Compared) -> None:
    """Keep labels beside probabilities."""
    real = marginals.reported
    with marginals.held() as (program, chosen):
        blocks = blocks_of(known.atoms, Extent(program, chosen, marginals.asked.limit))
        chances = marginals.atom_values[real]
        keep(marginals, outcomes_of(marginals, known, marginals.holds()[real], blocks=blocks, probability=chances))


def keep_values(prediction: InferredValues, run: int, known: Compared, threshold: float) -> None:
    """Keep which truth values and labels count as true, and if all atoms have labels the distances of rules at these."""
    if known.labelled.all() and prediction.reported.all():
        total = np.zeros(len(prediction.model.rules))
        with prediction.held() as soft, soft.program.examples_table(prediction.examples) as chosen:
            extent = Extent(soft.program, chosen, prediction.asked.limit, len(prediction.examples))
            for _, ground in divided_hinges(soft, extent, np.sort(prediction.examples)):
                labels = read_values(prediction.engine, soft.layout, ground.network.atoms)
                total += ground.network.incompatibility(labels)
        rows = {"clause": pa.array(np.arange(len(total))), "observed": pa.array(total)}
        prediction.session.records.fill("rule_distance", run, pa.table(rows), key="clause")
    keep(prediction, outcomes_of(prediction, known, prediction.holds(threshold)[prediction.reported]))
