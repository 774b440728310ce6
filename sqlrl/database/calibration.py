"""Whether the weights of a model are log-odds, so that probabilities by them mean what they say."""

from __future__ import annotations

from sqlrl.errors import CalibrationWarning, Phrase, warn
from sqlrl.logic.model import Model
from sqlrl.logic.psl import SoftModel
from sqlrl.training.provenance import RANKING, TABLE
from sqlrl.training.session import Session

RANKS = "are learned to rank worlds and are no log-odds"
"""What is said of weights of such a learner."""


def ranking_learner(session: Session, model: Model | SoftModel) -> tuple[str, int | None]:
    """Return the learner whose weights rank worlds, as far as the model or the runs of the database tell, with its run; empty for other weights."""
    learner, run = getattr(model, "ranked_by", ""), session.records.learned(model, TABLE)
    if not learner and run is not None:
        row = session.records.run(run)
        learner = row["learner"] if row is not None and row["learner"] in RANKING else ""
    return learner, run


def warn_of_ranking_weights(session: Session, model: Model | SoftModel) -> None:
    """Warn once of a model that such a learner learned, whose probabilities are asked for."""
    _warn(
        session,
        model,
        "its probabilities are not calibrated",
        f", or use the most probable world, {Phrase('db.predict')}",
    )


def warn_of_ranking_view(session: Session, model: Model) -> str:
    """Warn once of a model that such a learner learned, which is written as a view; return the learner, empty for other weights."""
    return _warn(session, model, "what the view calls probability is not calibrated")


def _warn(session: Session, model: Model | SoftModel, consequence: str, otherwise: str = "") -> str:
    learner, run = ranking_learner(session, model)
    key = ("ranking", consequence, model.rules)
    if learner and key not in session.warned:
        session.warned.add(key)
        of_run = "" if run is None else f" (run {run})"
        warn(
            f"the weights of this model are those of {learner}{of_run}, which {RANKS}: {consequence}, and may all be on one side of 0.5 where the "
            f"most probable world is right; {Phrase('learn its weights with Likelihood')} for probabilities{otherwise}",
            CalibrationWarning,
        )
    return learner
