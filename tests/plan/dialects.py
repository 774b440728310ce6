"""Which cases of golden SQL run on Spark too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def on_spark(cases: Iterable[str], *few: str) -> list[Any]:
    """All cases, of which the quick tier runs a few: a query on the server takes many times as long as one in DuckDB."""
    every = list(cases)
    assert set(few) <= set(every)
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in every]
