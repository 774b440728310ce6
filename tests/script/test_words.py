"""What scripts are refused for, in words of scripts: no parameter or call of Python that a script does not have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import sqlrl
from sqlrl.errors import InputError, LoadWarning, ScriptError

SETUP = """
CREATE PREDICATE P(t) OPTIONS (target = true) AS SELECT 'a';
CREATE MODEL m AS $$
P(t)
1 P(x)
$$;
CREATE MODEL soft OPTIONS (format = 'psl') AS '1: P(X)';
"""
LEARNERS = "CREATE MODEL k OPTIONS (learner = '{}', {}) FROM MODEL m"
REFUSED = [
    (LEARNERS.format("ilp", "bias = 3"), "bias = 3: give the path of a file with modes, or NULL to derive it"),
    (LEARNERS.format("osl", "modes = true"), "modes = true: give the path of a file with modes"),
    (LEARNERS.format("resolwe", "templates = 2.5"), "give the path of a file with templates"),
    (LEARNERS.format("transfer", "mapping = 3"), "mapping = 3 must be the path of a file with a mapping of predicates"),
    (LEARNERS.format("adagrad", "constraints = 'always'"), "constraints = 'always': choose 'none', 'l+i', 'ibt', 'ibt-approx', 'sct', 'sct-'"),
    (LEARNERS.format("max-margin", "constraints = ['sct']"), "constraints = ['sct']: choose 'none'"),
    ("CREATE MODEL k OPTIONS (learner = 'likelihood') FROM MODEL soft", "likelihood learns Markov logic networks, and this is a program of soft logic"),
    ("CREATE MODEL k OPTIONS (learner = 'soft-pseudo-likelihood') FROM MODEL m", "CREATE MODEL ... OPTIONS (format = 'psl') reads one"),
    ("FROM ML.PREDICT(MODEL m, missing => 'false')", "observed_bodies and missing are of soft models"),
    ("FROM ML.PREDICT(MODEL m, observed_bodies => true)", "a Markov logic network takes method, deterministic_limit and random_state"),
    ("CREATE MODEL k FROM ''", "the name of a file is empty"),
    ("CREATE MODEL k OPTIONS (format = 'psl') FROM ''", "the name of a file is empty"),
    ("CREATE PREDICATE Q(t) FROM ['']", "the name of a file is empty"),
    ("EXPORT MODEL m TO ''", "the name of a file is empty"),
    (LEARNERS.format("ilp", "bias = ''"), "the name of a file is empty"),
]  # fmt: skip
PYTHON = re.compile(r"\b\w+=(?![=>])|\bsqlrl\.\w+|\bNone\b|\bread_\w+|\bparse_\w+")


@pytest.mark.parametrize(("statement", "message"), REFUSED, ids=[statement for statement, _ in REFUSED])
def test_refusals_are_in_words_of_scripts(statement: str, message: str) -> None:
    with sqlrl.connect(progress=False) as db:
        db.run(SETUP)
        with pytest.raises(ScriptError) as caught:
            db.run(statement)
    assert message in caught.value.problem
    assert not PYTHON.findall(str(caught.value.problem))


@pytest.mark.parametrize(
    "text", ['CREATE MODEL k AS $$\n#include "o.mln"\nP(t)\n$$', 'ALTER MODEL m ADD RULE $$\n#include "o.mln"\n$$']
)
def test_an_include_that_leads_out_has_a_remedy_in_the_script(text: str, tmp_path: Path) -> None:
    with sqlrl.connect(trusted=False, folder=tmp_path, progress=False) as db:
        db.run(SETUP)
        with pytest.raises(ScriptError, match="or write its text in the place of this line"):
            db.run(text)


VALUES: list[Any] = [object(), 2j, "\udc80", 10**60, 10**5000, [object()], {"a": {"b": 1j}}, type]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_variable_that_no_database_holds_is_named(value: Any) -> None:
    with (
        sqlrl.connect(progress=False) as db,
        pytest.raises(InputError, match=r"the variable size is .*no value of DuckDB's"),
    ):
        db.run("SELECT $size", variables={"other": 1, "size": value})


def test_an_empty_folder_is_none() -> None:
    with pytest.raises(InputError, match="folder='' is not a folder"):
        sqlrl.connect(trusted=False, folder="")


@pytest.mark.parametrize("text", ['#include "a.psl"', "1: P(X)\n  # include <b>\n", "// x\n#include c"])
def test_an_include_of_a_program_of_soft_logic_is_told_to_be_a_comment(text: str) -> None:
    line = next(i for i, each in enumerate(text.splitlines(), 1) if "include" in each)
    with pytest.warns(LoadWarning, match=f"line {line} is a comment, since PSL has no #include"):
        model = sqlrl.parse_psl(text)
    assert len(model.rules) == text.count("P(X)")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["# includes nothing\n1: P(X)", "1: P(X) # see #include"])
def test_other_comments_are_passed_over(text: str) -> None:
    assert len(sqlrl.parse_psl(text).rules) == 1
