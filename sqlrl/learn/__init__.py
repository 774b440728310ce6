"""Weight learners: they receive networks and labels, never SQL.

Names are imported when first used: compiled code and solvers take a while to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrl.learn.adagrad import AdaGrad
    from sqlrl.learn.additive import MIRA, ContrastiveDivergence, Perceptron
    from sqlrl.learn.batch.estimator import BatchEstimator
    from sqlrl.learn.decaying import CDA, Subgradient
    from sqlrl.learn.learner import OnlineLearner, WindowReport
    from sqlrl.learn.online import OnlineEstimator
    from sqlrl.training.records import WindowProgress

_HOMES = {
    "AdaGrad": "sqlrl.learn.adagrad",
    "BatchEstimator": "sqlrl.learn.batch.estimator",
    "CDA": "sqlrl.learn.decaying",
    "ContrastiveDivergence": "sqlrl.learn.additive",
    "MIRA": "sqlrl.learn.additive",
    "OnlineEstimator": "sqlrl.learn.online",
    "OnlineLearner": "sqlrl.learn.learner",
    "Perceptron": "sqlrl.learn.additive",
    "Subgradient": "sqlrl.learn.decaying",
    "WindowProgress": "sqlrl.training.records",
    "WindowReport": "sqlrl.learn.learner",
}

__all__ = [
    "CDA",
    "MIRA",
    "AdaGrad",
    "BatchEstimator",
    "ContrastiveDivergence",
    "OnlineEstimator",
    "OnlineLearner",
    "Perceptron",
    "Subgradient",
    "WindowProgress",
    "WindowReport",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    from sqlrl.deprecated import MODULES, moved

    if f"sqlrl.learn.{name}" in MODULES:
        return moved(f"sqlrl.learn.{name}")
    raise AttributeError(f"module 'sqlrl.learn' has no attribute {name!r}")
