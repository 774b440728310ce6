"""Weights from which learning starts: those that another model has for the same clauses."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlrl.errors import InputError, Parameter, StartWarning, warn
from sqlrl.ground.network import FloatArray
from sqlrl.training.stream import TrainingStream
from sqlrl.wording import counted

if TYPE_CHECKING:
    from sqlrl.logic.model import Model

logger = logging.getLogger(__name__)


def check_start(start: object) -> None:
    """Refuse what is no model with weights."""
    from sqlrl.logic.model import Model

    if start is None:
        return
    if not isinstance(start, Model):
        raise InputError(
            f"{Parameter('start', start)} must be a model: read a file with sqlrl.read_model, or pass model_ of an estimator."
        )
    if not any(rule.weight is not None or rule.expansions is not None for rule in start.rules):
        raise InputError(
            f"{Parameter('start')} has no rule with a weight, so that nothing can start from it: leave it out."
        )
    for rule in start.rules:
        weights = [rule.weight] if rule.expansions is None else rule.expansions.weights
        wrong = next((weight for weight in weights if weight is not None and not math.isfinite(weight)), None)
        if wrong is not None:
            raise InputError(
                f"{Parameter('start')} has the weight {wrong} for {rule.formula}, from which nothing can be learned: give a finite number, or leave "
                f"{Parameter('start')} out to begin at 0."
            )


def recorded_start(start: Model | None) -> dict[str, object]:
    r"""Return what a run keeps of the model that it started from: nothing if there is none."""
    if start is None:
        return {}
    from sqlrl.logic.saving import model_to_json

    text = json.dumps(model_to_json(start), sort_keys=True, ensure_ascii=False)
    return {"start": {"rules": len(start.rules), "sha256": hashlib.sha256(text.encode()).hexdigest()}}


def start_weights(stream: TrainingStream, start: Model | None) -> Callable[[int, int], FloatArray] | None:
    """Return what gives the weights of clauses by their ids, as `OnlineLearner` takes it; None for no start."""
    if start is None:
        return None

    def weights(first: int, last: int) -> FloatArray:
        found, known = stream.known_weights(start, first, last)
        if first == 0 and last > 0 and known == 0:
            warn(
                f"all {counted(last, 'clause')} begin at 0: none has the formula and the constants of a clause of {Parameter('start')} with a weight; pass the "
                f"model that has them, or leave {Parameter('start')} out",
                StartWarning,
            )
        logger.info("%s of %s start with the weights of start=", f"{known:,}", counted(last - first, "clause"))
        return found

    return weights
