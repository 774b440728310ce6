"""Errors that pass from one process to another, and what their messages mention."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import sqlrl
from sqlrl.errors import (
    DoubleQuoted,
    EngineError,
    InputError,
    LoadWarning,
    OverflowEngineError,
    Parameter,
    ParseError,
    Phrase,
    SqlrlError,
    marked,
    warn,
)
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


# ---- what messages mention --------------------------------------------------------------------------------


def test_a_message_keeps_what_it_mentions_and_reads_as_python() -> None:
    mentions = (
        Parameter("limit", 5),
        Parameter("nulls", DoubleQuoted("drop")),
        Parameter("bins", {"price": [1, 2]}),
        Parameter("method", "exact", "predict({})"),
        Phrase("db.scope({!r}, ...)", ("it's",)),
    )
    error = InputError(f"one: {' '.join(f'{each}' for each in mentions)}")
    words = "limit=5 nulls=\"drop\" bins={'price': [1, 2]} predict(method='exact') db.scope(\"it's\", ...)"
    for found in (error, pickle.loads(pickle.dumps(error)), InputError(f"{marked(error.message)}")):
        assert str(found) == found.args[0] == f"one: {words}"
        assert found.mentions == mentions
    some = error.message.worded(lambda mention: "--limit" if mention == mentions[0] else None)
    assert some == f"one: --limit {words.partition(' ')[2]}"
    assert some.mentions == mentions[1:]
    assert f"{error}" == f"{error.message}" == str(error)


@pytest.mark.parametrize("name", ["\ufdd0", "\ufdd0[]\ufdd1", '\ufdd0["Phrase", 1]\ufdd1', "\ufdd0" + "[" * 9999])
def test_names_of_strangers_are_no_mentions(name: str) -> None:
    error = InputError(f"no {name}, {Parameter('limit')}")
    assert error.mentions[-1:] in ((Parameter("limit"),), ())
    assert str(error).isprintable()
    assert str(error).startswith("no \\ufdd0")


def test_parts_of_an_error_keep_their_mentions() -> None:
    error = ParseError(f"raise {Parameter('limit')}", text="P(x", line=1, column=2)
    assert error.problem == "raise limit="
    assert error.problem.mentions == error.mentions == (Parameter("limit"),)
    with pytest.warns(LoadWarning, match="check examples=") as caught:
        warn(f"check {Parameter('examples')}", LoadWarning)
    assert caught[0].message.mentions == (Parameter("examples"),)  # type: ignore[union-attr]
