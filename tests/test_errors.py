"""Errors that pass from one process to another."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import sqlrl
from sqlrl.errors import EngineError, InputError, OverflowEngineError, ParseError, SqlrlError
from sqlrl.solve.restriction import UnsatisfiableError


@pytest.mark.parametrize(
    "error",
    [
        InputError("no"),
        ParseError("expected ')'", text="P(x", line=3, column=4, path="a.mln"),
        EngineError("count", "out of memory", "SELECT 1"),
        OverflowEngineError("count", "overflow", "SELECT 1"),
        UnsatisfiableError(7),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_pickled_error_is_the_same(error: SqlrlError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))


@pytest.mark.slow
def test_a_worker_tells_its_error() -> None:
    """Without it, the pool says that a process was terminated abruptly."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(ParseError) as caught:
        pool.submit(sqlrl.parse_mln, "P(x").result()
    assert caught.value.line == 1
