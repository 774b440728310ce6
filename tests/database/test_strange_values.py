"""Values that nobody should give, at every entry point: each is taken, or refused by an error of sqlrl's; none raises one of Python's."""

from __future__ import annotations

import dataclasses
import decimal
import fractions
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.database import Database
from sqlrl.errors import ModelError, ScriptError, SqlrlError
from sqlrl.logic.model import Rule

RULES = "P(t)\nQ(t)\n1 P(x) v Q(x)"
MODEL = sqlrl.parse_mln(RULES)
HALF, NUL, LONG = "a\ud800", "a\0b", "x" * 5000

Path_ = Callable[[Database, str, Path], Any]
PATHS: dict[str, Path_] = {
    "read_mln": lambda db, p, _: sqlrl.read_mln(p),
    "read_model": lambda db, p, _: sqlrl.read_model(p + ".mln"),
    "read_psl": lambda db, p, _: sqlrl.read_psl(p),
    "data of read_psl": lambda db, p, f: sqlrl.read_psl(f / "r.psl", data=p),
    "read_modes": lambda db, p, _: sqlrl.read_modes(p),
    "read_bias": lambda db, p, _: sqlrl.read_bias(p),
    "read_mapping": lambda db, p, _: sqlrl.read_mapping(p),
    "read_grammar": lambda db, p, _: sqlrl.read_grammar(p),
    "read_subgraphs": lambda db, p, _: sqlrl.read_subgraphs(p, db, MODEL),
    "include": lambda db, p, _: sqlrl.parse_mln(f'#include "{p}"\nP(t)'),
    "rule file": lambda db, p, _: sqlrl.parse_psl(json.dumps({"rules": p, "predicates": {"A/1": "open"}})),
    "data file": lambda db, p, _: db.load(sqlrl.parse_psl(json.dumps({"rules": ["1: A(X)"], "predicates": {"A/1": {"observations": p}}}))),
    "save as text": lambda db, p, f: MODEL.save(f / f"{p}.mln"),
    "save as JSON": lambda db, p, f: sqlrl.save_model(MODEL, str(f / p) + ".json"),
    "save a soft one": lambda db, p, f: sqlrl.parse_psl("1: A(X)").save(f / f"{p}.psl"),
    "connect": lambda db, p, f: sqlrl.connect(f / p).close(),
    "connect, untrusted": lambda db, p, f: sqlrl.connect(f / p, trusted=False).close(),
    "connect, to read": lambda db, p, f: sqlrl.connect(f / p, read_only=True).close(),
    "temp_directory": lambda db, p, f: sqlrl.connect(temp_directory=str(f / p)).close(),
    "folder": lambda db, p, f: sqlrl.connect(trusted=False, folder=p).close(),
    "run": lambda db, p, f: db.run(f / p),
    "define": lambda db, p, f: db.define(f / p),
    "load": lambda db, p, f: db.load("K", f / p, types=["t"]),
    "load text": lambda db, p, f: db.load("K", p + ".csv", types=["t"]),
    "load several": lambda db, p, f: db.load("K", [f / p, f / "b.csv"], types=["t"]),
    "load a folder": lambda db, p, f: db.load(f / p),
    "evidence": lambda db, p, f: db.load(sqlrl.Evidence(p)),
    "export": lambda db, p, f: db.export(MODEL, f / f"{p}.wcnf"),
    "export parquet": lambda db, p, f: db.export(MODEL, f / f"{p}.parquet", format="parquet"),
    "export SQL": lambda db, p, f: db.export(MODEL, f / f"{p}.sql", format="sql"),
    "solution": lambda db, p, f: db.predict(MODEL, solution=f / p),
    "report": lambda db, p, f: db.predict(MODEL).report(f / f"{p}.html"),
    "modes in a script": lambda db, p, f: db.run(f"CREATE MODEL k OPTIONS (learner = 'osl', modes = '{p}') FROM MODEL m"),
    "FROM in a script": lambda db, p, f: db.run(f"CREATE MODEL k FROM '{p}.mln'"),
    "rows in a script": lambda db, p, f: db.run(f"CREATE PREDICATE K(t) FROM '{p}.csv'"),
    "TO in a script": lambda db, p, f: db.run(f"EXPORT MODEL m TO '{f}/{p}.mln'"),
    "TO of SQL in a script": lambda db, p, f: db.run(f"EXPORT MODEL m TO '{f}/{p}.sql' OPTIONS (target = 'P', partial = true)"),
}  # fmt: skip
"""Entry points that take the name of a file."""


@pytest.fixture(scope="module")
def db() -> Database:
    made = sqlrl.connect(progress=False)
    made.load("Q", [("a",)], types=["t"])
    made.models["m"] = MODEL
    return made


def survives(call: Callable[[], Any]) -> SqlrlError | None:
    try:
        call()
    except SqlrlError as error:
        str(error).encode()  # which can be printed
        return error
    return None


@pytest.mark.parametrize("name", [HALF, NUL, "~" + NUL, LONG, "y" * 300, "/".join(["z" * 200] * 25)], ids=ascii)
@pytest.mark.parametrize("entry", PATHS)
def test_names_that_no_file_can_have(entry: str, name: str, db: Database, tmp_path: Path) -> None:
    (tmp_path / "r.psl").write_text("1: A(X)")
    (tmp_path / "b.csv").write_text("a\n")
    error = survives(lambda: PATHS[entry](db, name, tmp_path))
    # A folder to spill to is made when something is spilled.
    assert error is not None or entry == "temp_directory"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.csv", "r.psl"]


NUMBERS: list[Any] = [
    "2", decimal.Decimal("1.5"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"), decimal.Decimal("1e999"), 1j, np.complex64(1), np.float32(1.5), np.int64(3),
    fractions.Fraction(1, 3), fractions.Fraction(10**400, 3), float("nan"), float("inf"), 10**400, -(10**400), True, [1], b"1", np.array(1.0), np.array([1.0, 2.0]),
    object(), None, np.bool_(True), {}, np.datetime64("2020"),
]  # fmt: skip
TAKE: dict[str, Callable[[Database, Any], Any]] = {
    "strength": lambda db, w: sqlrl.AdaGrad(strength=w).fit(db, MODEL),
    "limit": lambda db, w: db.predict(MODEL, limit=w),
    "random_state": lambda db, w: db.probabilities(MODEL, random_state=w, samples=10),
    "samples": lambda db, w: db.probabilities(MODEL, samples=w, method="gibbs"),
    "time_limit": lambda db, w: db.probabilities(MODEL, time_limit=w, samples=10),
    "probability": lambda db, w: db.load("Z", [("a", w)], types=["t"], probability=1),
    "threads": lambda db, w: sqlrl.connect(threads=w).close(),
    "memory_limit": lambda db, w: sqlrl.connect(memory_limit=w).close(),
    "atom_limit": lambda db, w: sqlrl.connect(atom_limit=w).close(),
    "a variable": lambda db, w: db.run("SELECT $v", variables={"v": w}),
    "variables": lambda db, w: db.run("SELECT 1", variables=w),
    "the name of a variable": lambda db, w: db.run(
        "SELECT 1",
        variables={w if w.__hash__ is not None and not (isinstance(w, decimal.Decimal) and w.is_snan()) else 1: 1},
    ),
    "hard": lambda db, w: str(MODEL.with_rules([Rule(MODEL.rules[0].formula, hard=w)])),
}


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: ascii(value)[:20])
@pytest.mark.parametrize("entry", TAKE)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow  # learns and samples
def test_numbers_that_are_none(entry: str, value: Any, db: Database) -> None:
    survives(lambda: TAKE[entry](db, value))


def everything(model: Any, folder: Path, db: Database) -> None:
    """Do with a model what there is to do."""
    assert str(model)
    assert repr(model)
    for call in (
        lambda: model.save(folder / "m.json"),
        lambda: model.save(folder / ("m.psl" if hasattr(model, "partitions") else "m.mln")),
    ):
        survives(call)
    survives(lambda: db.models.__setitem__("w", model))


@pytest.mark.parametrize("weight", NUMBERS, ids=lambda value: ascii(value)[:20])
def test_weights_of_rules(weight: Any, db: Database, tmp_path: Path) -> None:
    number = isinstance(weight, int | float | decimal.Decimal | fractions.Fraction | np.number) and not isinstance(
        weight, bool | complex | np.complexfloating
    )
    made: list[Rule] = []
    error = survives(lambda: made.append(Rule(MODEL.rules[0].formula, weight=weight)))
    assert error is not None or weight is None or number
    assert error is None or not number or "too large" in str(error)
    for rule in made:
        assert type(rule.weight) in (int, float, type(None))
        everything(MODEL.with_rules([rule]), tmp_path, db)
    soft = sqlrl.parse_psl("1: P(X)")
    survives(lambda: everything(soft.with_rules([dataclasses.replace(soft.rules[0], weight=weight)]), tmp_path, db))
    survives(
        lambda: everything(
            soft.with_rules([dataclasses.replace(sqlrl.parse_psl("1: P(X) = 1").rules[0], weight=weight)]), tmp_path, db
        )
    )


@given(
    st.one_of(
        st.floats(),
        st.integers(),
        st.decimals(),
        st.fractions(),
        st.complex_numbers(),
        st.text(),
        st.binary(),
        st.booleans(),
        st.none(),
    )
)
def test_any_weight_is_taken_as_it_is_or_refused(weight: Any) -> None:
    try:
        kept = Rule(MODEL.rules[0].formula, weight=weight).weight
    except ModelError:
        assert isinstance(weight, bool | complex | str | bytes | int | decimal.Decimal | fractions.Fraction)
        return
    assert (kept is None) == (weight is None)
    if kept is not None:
        assert kept == float(weight) or kept == weight or kept != kept


@pytest.mark.parametrize("weight", ["1e999", "-1e999", "9" * 400, "-" + "9" * 400, "1e400", ".5.5", "0x10", "nan", "'1'", "NULL", "[1]", "true", "$none", "(SELECT 1)", "1e"])  # fmt: skip
def test_weights_in_scripts(weight: str, db: Database) -> None:
    with pytest.raises(ScriptError, match=r":1:4\d: "):
        db.run(f"ALTER MODEL m ADD RULE 'Q(x) => P(x)' WEIGHT {weight}")
    assert db.models["m"] == MODEL


NUMBERS_OF_SCRIPTS = ("1e999", "-1e999", "9" * 400, "1e-999", "0." + "9" * 400, ".", "1__0", "00", "1e", "+-1", "- 1")


@pytest.mark.parametrize("text", [HALF, f"SELECT '{HALF}'", NUL, f"SELECT 1{NUL}", LONG, f"CREATE MODEL {LONG} AS $$ P(t) $$", f'CREATE MODEL "{NUL}" AS $$ P(t) $$', f"SET VARIABLE v = '{HALF}'"], ids=lambda value: ascii(value)[:20])  # fmt: skip
def test_texts_of_scripts(text: str, db: Database) -> None:
    survives(lambda: db.run(text))
    survives(lambda: db.sql(text))


@given(
    st.text(),
    st.sampled_from(
        [
            "{}",
            "CREATE MODEL k AS $$ {} $$",
            "ALTER MODEL m ADD RULE '{}'",
            "SELECT '{}'",
            "EXPORT MODEL {} TO 'x'",
            "FROM ML.COUNT(MODEL m, '{}')",
        ]
    ),
)
def test_any_text_in_a_script(text: str, form: str) -> None:
    # Nothing of it may write a file here.
    with sqlrl.connect(trusted=False, progress=False) as db:
        db.models["m"] = MODEL
        survives(lambda: db.run(form.format(text)))


@pytest.mark.parametrize("number", NUMBERS_OF_SCRIPTS)
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_options(number: str, db: Database) -> None:
    for form in (
        "CREATE MODEL k OPTIONS (learner = 'osl', modes = $$ modeP(1, Q(-)) $$, max_length = {}) FROM MODEL m",
        "CREATE MODEL k OPTIONS (learner = 'adagrad', window = {}) FROM MODEL none",
        "CREATE MODEL k AS $$ P(t)\n{} P(x) $$",
        "CREATE MODEL k OPTIONS (format = 'psl') AS $$ {}: P(X) $$",
        "FROM ML.COUNT(MODEL m, limit => {})",
        "FROM ML.PREDICT(MODEL m, 'P', query => 'P', random_state => {})",
    ):
        survives(lambda form=form: db.run(form.format(number)))  # type: ignore[misc]
