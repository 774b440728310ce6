"""What learners are given lies below them: a fit never calls up into the room of what users hold."""

from __future__ import annotations

import doctest
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

import sqlrl
from tests.docs.test_docstrings import EXAMPLES
from tests.offered import OFFERED

PACKAGE = Path(sqlrl.__file__).parent
ESTIMATORS = {name: made for name, made in OFFERED.items() if inspect.isclass(made) and hasattr(made, "fit")}
# It asks the database what hard clauses cost, and is one of its modules.
WRAPPERS = {"ConstrainedTraining"}
SHOWN = {"OnlineEstimator": "AdaGrad", "BatchEstimator": "VotedPerceptron", "SoftEstimator": "SoftPseudoLikelihood"}
"""Whose fit the examples of a class show that is only inherited from: another one takes its place."""


def room(frame: FrameType | None) -> str:
    """Return the room of the nearest frame of the package, "" if a test or a user has called."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return path.relative_to(PACKAGE).parts[0]
        if "doctest" in str(path):
            return ""
        frame = frame.f_back
    return ""


@contextmanager
def calls_up() -> Iterator[set[str]]:
    """Note which functions of `database` are called by frames of `learn` and `structure`."""
    found, above, before = set[str](), str(PACKAGE / "database"), sys.getprofile()

    def look(frame: FrameType, event: str, _: object) -> None:
        if (
            event == "call"
            and frame.f_code.co_filename.startswith(above)
            and room(frame.f_back) in ("learn", "structure")
        ):
            found.add(f"{Path(frame.f_code.co_filename).name}: {frame.f_code.co_qualname}")

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(before)


def examples(name: str) -> list[doctest.DocTest]:
    """Return the examples in docstrings of an estimator that fit one."""
    kind, found = ESTIMATORS[name], list[doctest.DocTest]()
    for made in kind.__mro__:
        home, shown = f"{made.__module__}.{made.__name__}", SHOWN.get(made.__name__, name)
        for key, test in EXAMPLES.items():
            if key in (home, f"{home}.fit") and ".fit(" in "".join(each.source for each in test.examples):
                own = [
                    doctest.Example(each.source.replace(f"{shown}(", f"{name}("), each.want) for each in test.examples
                ]
                found.append(doctest.DocTest(own, dict(test.globs), key, test.filename, test.lineno, None))
        if found:
            break
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ESTIMATORS.keys() - WRAPPERS))
@pytest.mark.filterwarnings("ignore")
def test_no_fit_calls_up(name: str) -> None:
    tests = examples(name)
    assert tests, "its docstring shows a fit"
    for test in tests:
        with calls_up() as found:
            doctest.DocTestRunner().run(test, out=lambda _: None, clear_globs=False)
        assert any(hasattr(made, "model_") for made in test.globs.values()), "something was learned"
        assert found == set()


def test_a_call_up_is_seen() -> None:
    code = compile("def fit(call):\n    return call()", str(PACKAGE / "learn" / "made_up.py"), "exec")
    names: dict[str, object] = {}
    exec(code, names)
    db = sqlrl.connect(progress=False)
    with calls_up() as found:
        names["fit"](db.models)  # type: ignore[operator]
    assert found == {"models_and_runs.py: Models.__call__"}
