"""Predictions and probabilities held against the labels: what is compared, and how it is scored."""

from __future__ import annotations

import numpy as np

from sqlrl.catalog.checks import labels_outside
from sqlrl.database.inference import Inferred
from sqlrl.database.inferred import InferredProbabilities, InferredWorld
from sqlrl.database.outcomes import Compared, blocks_of, keep, outcomes_of, support_of
from sqlrl.database.seen import seen
from sqlrl.errors import InputError
from sqlrl.evaluate import ProbabilityScores, Scores, score, score_probabilities
from sqlrl.ground.atoms import read_labels
from sqlrl.ground.clauses import example_names
from sqlrl.ground.program import Extent
from sqlrl.progress import enough_memory
from sqlrl.training.statistics import add_observed

OUTSIDE = ("missed", "ignore")
"""What a true label outside the scope, which has no query atom, may count as."""

THRESHOLD = 0.5
"""An atom whose probability is above it counts as predicted true."""


def compared(found: Inferred, outside: str) -> Compared:
    """Read the labels of the query atoms, and with `outside` "missed" also the labels that have none; an error if there are no labels."""
    if outside not in OUTSIDE:
        raise InputError(f"outside={outside!r} must be 'missed' or 'ignore'.")
    found.check_current()
    real = found.reported
    atoms = found.network_atoms.ids[real]
    truth, labelled = read_labels(found.engine, found.layout, atoms, None)
    names = found.open_predicates
    examples = found.examples if outside == "missed" else np.zeros(0, np.int64)
    missed = [labels_outside(found.engine, found.layout, name, examples) for name in names]
    if not labelled.any() and not any(map(len, missed)):
        raise InputError(
            "no predicted atom has a label to compare with: load the labels with target=True, or choose examples "
            "that have them"
        )
    kind = np.full(len(atoms), -1, np.int64)
    for i, name in enumerate(names):
        kind[found.of_predicate(name)[real]] = i
    return Compared(names, atoms, truth, labelled, kind, found.network_atoms.example[real], missed)


def evaluate_world(prediction: InferredWorld, outside: str) -> Scores:
    """Compare a predicted world with the labels; `Prediction.evaluate` explains it."""
    with prediction.session.console.progress("evaluating"), enough_memory("evaluating"):
        known = compared(prediction, outside)
        labelled = known.labelled
        if prediction.run is not None and prediction.engine.writable:
            _keep_world(prediction, prediction.run, known)
        beside = np.concatenate([np.zeros(0, np.int64), *known.missed])
        none = np.zeros(len(beside), bool)
        return score(
            np.concatenate([known.truth[labelled], ~none]),
            np.concatenate([prediction.result.world[prediction.reported][labelled], none]),
            np.concatenate([known.example[labelled], beside]),
            predicate=np.concatenate(
                [known.kind[labelled], np.repeat(np.arange(len(known.names)), [len(m) for m in known.missed])]
            ),
            names=known.names,
            outside=len(beside),
            seen=seen(prediction, known.atoms[labelled]),
        )


def _keep_world(prediction: InferredWorld, run: int, known: Compared) -> None:
    """Keep what labels say of a prediction that was kept."""
    with prediction.held() as (program, chosen):
        extent = Extent(program, chosen, prediction.asked.limit)
        if known.labelled.all():
            add_observed(prediction.session.records, run, extent)
        support, log_odds = support_of(prediction, known, program, extent)
        predicted = prediction.result.world[prediction.reported]
        blocks = blocks_of(known.atoms, extent, prediction.network)
        outcomes = outcomes_of(prediction, known, predicted, missed=True, blocks=blocks, log_odds=log_odds)
        keep(prediction, outcomes, support)


def evaluate_probabilities(marginals: InferredProbabilities, outside: str, bins: int) -> ProbabilityScores:
    """Compare probabilities with the labels; `Marginals.evaluate` explains it."""
    with marginals.session.console.progress("evaluating"), enough_memory("evaluating"):
        known = compared(marginals, outside)
        labelled = known.labelled
        chances = marginals.visible.probability
        ids, index = np.unique(np.concatenate([marginals.examples, known.example[labelled]]), return_inverse=True)
        named = example_names(marginals.engine, marginals.layout, ids)
        scores = score_probabilities(
            known.truth[labelled],
            chances[labelled],
            threshold=THRESHOLD,
            bins=bins,
            predicate=known.kind[labelled],
            names=known.names,
            example=index[len(marginals.examples) :],
            examples=[named[example] for example in ids.tolist()],
            outside=sum(map(len, known.missed)),
            seen=seen(marginals, known.atoms[labelled]),
        )
        if marginals.run is not None and marginals.engine.writable:
            with marginals.held() as (program, chosen):
                blocks = blocks_of(known.atoms, Extent(program, chosen, marginals.asked.limit))
                keep(marginals, outcomes_of(marginals, known, chances > THRESHOLD, blocks=blocks, probability=chances))
        return scores
