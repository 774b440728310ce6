"""sqlrl learns weighted first-order rules from relational data and predicts with them, inside DuckDB.

Names are imported when first used, so that `import sqlrl` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlrl.database import Database, connect
    from sqlrl.errors import SqlrlError
    from sqlrl.learn import AdaGrad
    from sqlrl.logic import Model, parse_mln, read_mln
    from sqlrl.logic.saving import save_model
    from sqlrl.logic.serialize import models_equal, read_model
    from sqlrl.marginals import Marginals
    from sqlrl.prediction import Prediction
    from sqlrl.report import Table

_HOMES = {
    "AdaGrad": "sqlrl.learn",
    "Database": "sqlrl.database",
    "Marginals": "sqlrl.marginals",
    "Model": "sqlrl.logic",
    "Prediction": "sqlrl.prediction",
    "SqlrlError": "sqlrl.errors",
    "Table": "sqlrl.report",
    "connect": "sqlrl.database",
    "models_equal": "sqlrl.logic.serialize",
    "parse_mln": "sqlrl.logic",
    "read_mln": "sqlrl.logic",
    "read_model": "sqlrl.logic.serialize",
    "save_model": "sqlrl.logic.saving",
}

__all__ = [
    "AdaGrad",
    "Database",
    "Marginals",
    "Model",
    "Prediction",
    "SqlrlError",
    "Table",
    "__version__",
    "connect",
    "models_equal",
    "parse_mln",
    "read_mln",
    "read_model",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sqlrl")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'sqlrl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
