"""Whether the weights of a model are log-odds, so that probabilities by them mean what they say."""

from __future__ import annotations

from sqlrl.database.inferred import Inferred
from sqlrl.errors import CalibrationWarning, warn
from sqlrl.training.provenance import TABLE

RANKING = (
    "AdaGrad", "CDA", "MIRA", "MaxMargin", "OSL", "Perceptron", "Subgradient", "VotedPerceptron",
)  # fmt: skip
"""Learners by which the labels' world outscores others: multiples of their weights rank worlds alike, and none says how probable one is."""


def warn_of_ranking_weights(found: Inferred) -> None:
    """Warn once of a model that such a learner learned, as far as the runs of the database tell."""
    session = found.session
    run = session.records.learned(found.asked_model, TABLE)
    if run is None or ("ranking", run) in session.warned:
        return
    row = session.records.run(run)
    if row is None or row["learner"] not in RANKING:
        return
    session.warned.add(("ranking", run))
    warn(
        f"the weights of this model are those of {row['learner']} (run {run}), which are learned to rank worlds and are no log-odds: its probabilities are not "
        "calibrated, and may all be on one side of 0.5 where the most probable world is right; learn its weights with Likelihood for probabilities, or use "
        "the most probable world, db.predict",
        CalibrationWarning,
    )
