"""Examples in the docstrings of what users call print what stands below them."""

from __future__ import annotations

import doctest
import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import sqlrl
from sqlrl import errors

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
ROOMS = ("sqlrl", "sqlrl.baselines", "sqlrl.demo", "sqlrl.evaluate", "sqlrl.report")
"""Modules whose `__all__` users import from."""

HELD = (
    "sqlrl.database.advanced.Advanced",
    "sqlrl.database.models_and_runs.Models",
    "sqlrl.database.models_and_runs.Runs",
    "sqlrl.database.models_and_runs.RunRecord",
    "sqlrl.learn.fitted.Fitted",
)
"""Classes that users are given and never name."""


def public() -> Iterator[tuple[str, object]]:
    """Yield what users call, by name, each object once, with the classes of sqlrl that it inherits from."""
    found = [getattr(import_module(room), name) for room in ROOMS for name in import_module(room).__all__]
    found += [made for _, made in inspect.getmembers(errors, inspect.isclass)]
    found += [getattr(import_module(path.rpartition(".")[0]), path.rpartition(".")[2]) for path in HELD]
    seen: dict[str, object] = {}
    for each in found:
        for made in each.__mro__ if inspect.isclass(each) else [each]:
            if getattr(made, "__module__", "").startswith("sqlrl."):
                seen[f"{made.__module__}.{made.__qualname__}"] = made
    yield from seen.items()


class Finder(doctest.DocTestFinder):
    """Finds the examples of methods that take old arguments, too, which another module wraps."""

    def _from_module(self, module: Any, found: Any) -> bool:
        return bool(super()._from_module(module, inspect.unwrap(found)))  # type: ignore[misc]


def examples(name: str, made: object) -> list[doctest.DocTest]:
    module = sys.modules[made.__module__]
    finder = Finder(exclude_empty=True)
    return [test for test in finder.find(made, name, module=module, globs=vars(module).copy()) if test.examples]


EXAMPLES = {test.name: test for name, made in public() for test in examples(name, made)}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_stands_below_it(name: str) -> None:
    said: list[str] = []
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(EXAMPLES[name], out=said.append, clear_globs=False).failed
    assert not failed, "".join(said)


def test_public_names_have_examples() -> None:
    shown = {name.rpartition(".")[2] for name in EXAMPLES}
    # A diagnosis comes from the database, and a model from a parser; both show it.
    assert {name for name in sqlrl.__all__ if name not in shown} <= {"Diagnosis", "Model", "__version__"}
