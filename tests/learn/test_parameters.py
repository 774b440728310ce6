"""Checks that all learners share."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError
from sqlrl.learn.parameters import (
    REQUIRED,
    Declaration,
    check_number,
    check_parameters,
    declarations,
    parse_value,
    value_text,
)
from tests.offered import OFFERED


@pytest.mark.parametrize("value", [10**400, -(10**400), np.float64("nan"), np.float32(0.5), True, "1"])
def test_what_is_no_number_in_range_is_refused_without_a_leak(value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"^strength=.* is not a finite number of at least 0\.75: say more$"):
            check_number("strength", value, 0.75, False, "say more")
        # A bound beyond the range of the number's own type.
        check_number("strength", np.float32(0.5), -1e300, False, "say more")


@pytest.mark.parametrize("learner", [sqlrl.CDA(), sqlrl.PSCG()])
def test_what_cannot_be_called_is_refused_before_a_run_begins(learner: Any) -> None:
    with sqlrl.connect() as db:
        db.load("Liked", [("d1",)], types=["doc"], target=True)
        with pytest.raises(InputError, match="callback=3: give a function"):
            learner.fit(db, sqlrl.parse_mln("Liked(doc)\nLiked(d)"), callback=3)
        assert db.sql("select count(*) from sqlrl.run").fetchall() == [(0,)]


# ---- declarations ------------------------------------------------------------------------------------

LEARNERS = [each for each in OFFERED.values() if isinstance(each, type) and hasattr(each, "word")]
WORDS: dict[str, type] = {each.word: each for each in LEARNERS}
every = pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.word)
REQUIRED_VALUES = {
    "mapping": "imdb.map",
    "modes": "modes.txt",
    "templates": "templates.grammar",
    "learner": sqlrl.CDA(0.5, passes=2),
}


def made(kind: type, **given: Any) -> Any:
    """An estimator with the required parameters."""
    missing = {name: REQUIRED_VALUES[name] for name, each in declarations(kind).items() if each.default is REQUIRED}
    return kind(**{**missing, **given})


def other_values(declared: Declaration) -> list[Any]:
    """Values in range that are not the default value."""
    if declared.name in REQUIRED_VALUES:
        return [REQUIRED_VALUES[declared.name]]
    if declared.choices:
        return [word for word in declared.choices if word != declared.default]
    if declared.kind is bool:
        return [not declared.default]
    if declared.kind is int:
        return [7, *([None] if declared.optional and declared.default is not None else [])]
    if declared.several:
        return [0.25, [0.1, 2.5], [3.0]]
    if declared.kind is float:
        return [0.375, 1e-300, *([None] if declared.optional and declared.default is not None else [])]
    others = {"bias": ["my modes/toxic.pl"], "m": ["likelihood", 0.5], "weights": [sqlrl.baselines.MIRA(passes=3)]}
    others["then"] = [sqlrl.Likelihood(strength=[0.1, 2.0])]
    return others[declared.name]


def test_learners_are_found() -> None:
    assert {
        "adagrad",
        "cd",
        "cda",
        "constrained",
        "ilp",
        "likelihood",
        "max-margin",
        "mira",
        "osl",
        "perceptron",
        "pseudo-likelihood",
    } < WORDS.keys()
    assert len(WORDS) == len(LEARNERS) >= 13


@every
def test_values_have_a_text_that_gives_them_back(kind: type) -> None:
    for name, declared in declarations(kind).items():
        for value in other_values(declared):
            both = {"penalty": "elastic"} if declared.several and "soft" in kind.word else {}  # type: ignore[attr-defined]
            given = {"strength": [1.0, 0.5]} if value == "elastic" else both
            if both and value != [0.1, 2.5]:
                continue
            estimator = made(kind, **{name: value, **given})
            text = value_text(estimator)
            again = parse_value(text, WORDS)
            assert type(again) is kind
            assert repr(again) == repr(estimator)
            assert again.get_params().keys() == estimator.get_params().keys()
            assert value_text(again) == text
            assert name in text


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4),
        max_leaves=8,
    )
)
def test_any_value_comes_back(value: Any) -> None:
    found = parse_value(value_text(value), {})
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize("value", ["inf", "inf-x", "inf+1", "True", "NONE", "nan", "1e5", "it's", "", "l+i"])
def test_a_text_that_looks_like_another_value_comes_back(value: str) -> None:
    assert parse_value(value_text(value), WORDS) == value


def test_truth_values_are_read_as_python_and_sql_write_them() -> None:
    assert [parse_value(text, {}) for text in ("true", "True", "FALSE", "None", "NULLS")] == [
        True,
        True,
        False,
        None,
        "NULLS",
    ]


def test_what_is_not_a_number_has_no_text() -> None:
    with pytest.raises(InputError, match=r"^nan has no text"):
        value_text(float("nan"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing"),
        ("[1, 2", r"\[1, 2: , or \] is missing after '\[1, 2'"),
        ("1 2", "nothing can follow here, as '2' does after '1'"),
        ("'open", "a value is missing"),
        ("adagrad(0.1)", r"a parameter is missing: give name=value after 'adagrad\('"),
        ("adgrad()", "there is no estimator 'adgrad'; did you mean 'adagrad'"),
        ("cda(strengt=1)", "CDA has no parameter 'strengt'; did you mean 'strength'"),
        ("osl()", r"osl needs modes: give modes=\.\.\."),
        ("constrained(learner=osl)", r"osl needs modes: give modes=\.\.\."),
        ("cda(strength=1, strength=2)", "strength is given twice: give it once"),
    ],
)
def test_a_text_of_no_value_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_value(text, WORDS)


@every
def test_help_documents_what_is_declared(kind: type) -> None:
    """Each parameter is in the docstring of the class that declares it, or of the base class that it refers to."""
    text = "\n".join(inspect.getdoc(each) or "" for each in kind.__mro__ if each is not object)
    found = re.findall(r"^([\w, ]+?)(?: : .*)?$", text, flags=re.MULTILINE)
    documented = {word for names in found for word in names.split(", ")}
    assert set(declarations(kind)) <= documented


@every
def test_ranges_are_checked_by_name(kind: type) -> None:
    for name, declared in declarations(kind).items():
        wrong = (
            "neither"
            if declared.choices
            else 2.5
            if declared.kind is int
            else "a word"
            if declared.kind in (bool, float)
            else None
        )
        if wrong is None or (declared.range is None and not declared.choices and declared.kind is not bool):
            continue
        with pytest.raises(InputError, match=rf"^{name}="):
            check_parameters(made(kind, **{name: wrong}))
