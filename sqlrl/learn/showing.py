"""How estimators look: as a constructor call, and as a page in a notebook."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from sqlrl import markup
from sqlrl.wording import shortened

STRONGEST = 10
"""How many clauses a notebook shows."""
LONGEST = 60
"""Characters of an argument that are shown."""


class Estimator(Protocol):
    """What is shown of an estimator."""

    def get_params(self) -> dict[str, object]:
        """Return the constructor's arguments by name."""
        ...

    def facts(self) -> Sequence[tuple[str, str]]:
        """Return what was learned, in words; nothing before `fit`."""
        ...

    def clauses(self) -> pa.Table:
        """Return the clauses, the strongest first."""
        ...


def call(estimator: Estimator) -> str:
    """Return the constructor call of an estimator, parameters with default values left out.

    Examples
    --------
    >>> from sqlrl.learn import CDA
    >>> call(CDA(update="prediction"))
    "CDA(update='prediction')"
    """
    defaults = _defaults(type(estimator))
    given = [
        f"{name}={shortened(repr(value), LONGEST)}"
        for name, value in estimator.get_params().items()
        if name not in defaults or not _equal(value, defaults[name])
    ]
    return f"{type(estimator).__name__}({', '.join(given)})"


def _equal(value: object, default: object) -> bool:
    """Return whether an argument is its default value; an array, whose comparison is an array, is not."""
    found = operator.eq(value, default)
    return isinstance(found, bool | np.bool_) and bool(found)


def _defaults(kind: type) -> dict[str, object]:
    """Return the default values of a constructor's arguments, those that it hands on included."""
    found: dict[str, object] = {}
    for each in reversed(kind.__mro__[:-1]):
        parameters = inspect.signature(each.__init__).parameters.values()  # type: ignore[misc]
        found |= {x.name: x.default for x in parameters if x.default is not x.empty}
    return found


def page(estimator: Estimator) -> str:
    """Return an estimator and what it learned as HTML."""
    if not estimator.facts():
        return markup.preformatted(call(estimator))
    found = estimator.clauses().slice(0, STRONGEST).to_pylist()
    weight = ["hard" if row["hard"] else f"{row['weight']:.6g}" for row in found]
    rows = [[row["clause"], w, str(row["support"])] for row, w in zip(found, weight, strict=True)]
    strongest = markup.table(["clause", "weight", "support"], rows, [False, True, True], caption="strongest clauses")
    return markup.preformatted(call(estimator)) + markup.pairs(estimator.facts()) + strongest
