"""Weight learners: they receive networks and labels, never SQL.

Names are imported when first used: compiled code and solvers take a while to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrl.learn.batch.estimator import BatchEstimator
    from sqlrl.learn.estimators import CDA, MIRA, AdaGrad, ContrastiveDivergence, Perceptron, Subgradient
    from sqlrl.learn.learner import OnlineLearner, WindowReport
    from sqlrl.learn.online import OnlineEstimator
    from sqlrl.learn.protocols import Progress
    from sqlrl.learn.settings import AdaGradParameters

_HOMES = {
    "AdaGrad": "sqlrl.learn.estimators",
    "AdaGradParameters": "sqlrl.learn.settings",
    "BatchEstimator": "sqlrl.learn.batch.estimator",
    "CDA": "sqlrl.learn.estimators",
    "ContrastiveDivergence": "sqlrl.learn.estimators",
    "MIRA": "sqlrl.learn.estimators",
    "OnlineEstimator": "sqlrl.learn.online",
    "OnlineLearner": "sqlrl.learn.learner",
    "Perceptron": "sqlrl.learn.estimators",
    "Progress": "sqlrl.learn.protocols",
    "Subgradient": "sqlrl.learn.estimators",
    "WindowReport": "sqlrl.learn.learner",
}

__all__ = [
    "CDA",
    "MIRA",
    "AdaGrad",
    "AdaGradParameters",
    "BatchEstimator",
    "ContrastiveDivergence",
    "OnlineEstimator",
    "OnlineLearner",
    "Perceptron",
    "Progress",
    "Subgradient",
    "WindowReport",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sqlrl.learn' has no attribute {name!r}")
