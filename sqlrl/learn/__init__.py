"""Weight learners: they receive networks and labels, never SQL.

Names are imported when first used: compiled code and solvers take a while to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrl.learn.learner import AdaGradLearner, WindowReport
    from sqlrl.learn.online import AdaGrad
    from sqlrl.learn.parameters import AdaGradParameters
    from sqlrl.learn.protocols import Progress

_HOMES = {
    "AdaGrad": "sqlrl.learn.online",
    "AdaGradLearner": "sqlrl.learn.learner",
    "AdaGradParameters": "sqlrl.learn.parameters",
    "Progress": "sqlrl.learn.protocols",
    "WindowReport": "sqlrl.learn.learner",
}

__all__ = ["AdaGrad", "AdaGradLearner", "AdaGradParameters", "Progress", "WindowReport"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sqlrl.learn' has no attribute {name!r}")
