"""`help` of what is public explains parameters where they stand, and what it points at can be imported."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sqlrl

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


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_option_is_explained(name: str) -> None:
    text = inspect.getdoc(METHODS[name]) or ""
    options = [
        option
        for option, found in inspect.signature(METHODS[name]).parameters.items()
        if found.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    if ELSEWHERE.search(text) or not options:
        return
    explained = re.findall(r"^([\w, ]+?)(?: : .*)?$", text.split("\nParameters\n", 1)[-1], flags=re.MULTILINE)
    known = {word for names in explained for word in names.split(", ")}
    assert set(options) <= known


@pytest.mark.parametrize("name", LEARNERS)
def test_shared_parameters_of_learners_can_be_looked_up(name: str) -> None:
    path = re.search(r"\*\*common\n\s+See `(sqlrl\.\w+)\.(\w+)`", inspect.getdoc(getattr(sqlrl, name)) or "")
    assert path is not None
    module, found = importlib.import_module(path[1]), path[2]
    assert found in module.__all__
    assert issubclass(getattr(sqlrl, name), getattr(module, found))


@pytest.mark.parametrize("name", ["load", "load_evidence"])
def test_loading_says_what_it_raises_with_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(sqlrl.Database, name)) or ""
    assert all(f"\n{part}\n-" in text for part in ("Parameters", "Raises", "Examples"))
