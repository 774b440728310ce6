"""`help` of what is public explains parameters where they stand, and what it points at can be imported."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import sqlrl
from tests.offered import OFFERED

ELSEWHERE = re.compile(r"called by learners|parameters and errors are the same|says what the parameters mean")
"""What documentation says that may leave parameters out."""


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of the database, and the other public functions."""
    for name, method in inspect.getmembers(sqlrl.Database, inspect.isfunction):
        if not name.startswith("_"):
            yield f"Database.{name}", method
    for name in sqlrl.__all__:
        if inspect.isfunction(getattr(sqlrl, name)):
            yield name, getattr(sqlrl, name)


METHODS = dict(public())
LEARNERS = ["CDA", "MIRA", "OSL", "PSCG", "AdaGrad", "ContrastiveDivergence", "Likelihood", "MaxMargin", "Perceptron"]
LEARNERS += ["Subgradient", "VotedPerceptron"]


def test_every_option_is_explained() -> None:
    assert len(METHODS) > 40
    for name, method in METHODS.items():
        text = inspect.getdoc(method) or ""
        options = [
            option
            for option, found in inspect.signature(method).parameters.items()
            if found.kind is inspect.Parameter.KEYWORD_ONLY
        ]
        if ELSEWHERE.search(text) or not options:
            continue
        explained = re.findall(r"^([\w, ]+?)(?: : .*)?$", text.split("\nParameters\n", 1)[-1], flags=re.MULTILINE)
        known = {word for names in explained for word in names.split(", ")}
        assert set(options) <= known, name


def test_shared_parameters_of_learners_can_be_looked_up() -> None:
    for name in LEARNERS:
        path = re.search(r"\*\*common\n\s+See `(sqlrl\.\w+)\.(\w+)`", inspect.getdoc(OFFERED[name]) or "")
        assert path is not None, name
        module, found = importlib.import_module(path[1]), path[2]
        assert found in module.__all__, name
        assert issubclass(OFFERED[name], getattr(module, found))


def test_loading_says_what_it_raises_with_an_example() -> None:
    for method in (sqlrl.Database.load, sqlrl.Evidence):
        text = inspect.getdoc(method) or ""
        assert all(f"\n{part}\n-" in text for part in ("Parameters", "Raises", "Examples")), method.__name__
