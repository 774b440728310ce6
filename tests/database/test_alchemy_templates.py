"""Templates under Alchemy's semantics mean what their formulas mean that are written out, constant by constant."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import sqlrl
from sqlrl.errors import ModelError

HEAD = "field = {A, B, C}\nToken(pos, word)\nF(pos)\nG(pos, field)\nH(pos)\n"
CONSTANTS = {"w": ("Wa", "Wb", "Wc"), "f": ("A", "B", "C"), "g": ("A", "B", "C")}
TEMPLATES = [
    "Token(p, +w) => (F(p) ^ G(p, +f))",
    "F(p) ^ (H(p) v G(p, +f))",
    "F(p) <=> (Token(p, +w) ^ G(p, +f))",
    "(Token(p, +w) v F(p)) ^ H(p) ^ G(p, +f)",
    "H(p) ^ G(p, +f)",
    "Token(p, +w) ^ +f != +g => (F(p) <=> (G(p, +f) v G(p, +g)))",
    "*F(p) => (H(p) ^ G(p, +f))",
]


def written(template: str) -> list[str]:
    """Return the formulas of a template."""
    names = sorted(set(re.findall(r"\+(\w)", template)))
    rows = product(*(CONSTANTS[name] for name in names))
    return [re.sub(r"\+(\w)", lambda m, row=row: dict(zip(names, row, strict=True))[m[1]], template) for row in rows]  # type: ignore[misc]


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Token", [("P0", "Wa"), ("P1", "Wb"), ("P1", "Wa"), ("P2", "Wc")], types=["pos", "word"])
    for name, rows in (("F", [("P0",), ("P1",)]), ("H", [("P1",)])):
        db.load(name, rows, types=["pos"], target=True)
    db.load("G", [("P0", "A"), ("P1", "B"), ("P2", "B")], types=["pos", "field"], target=True)
    return db


def models(template: str, weight: str, semantics: str = "alchemy") -> tuple[sqlrl.Model, sqlrl.Model]:
    found = ([template], written(template))
    first, second = (HEAD + "0.3 F(p)\n-0.4 H(p)\n" + "".join(f"{weight}{rule}\n" for rule in rules) for rules in found)
    return sqlrl.parse_mln(first, semantics=semantics), sqlrl.parse_mln(second, semantics=semantics)


@pytest.mark.parametrize(
    "template", [*TEMPLATES[::2], *(pytest.param(each, marks=pytest.mark.slow) for each in TEMPLATES[1::2])]
)
def test_predictions_are_those_of_what_is_written_out(db: sqlrl.Database, template: str) -> None:
    first, second = models(template, "0.5 ")
    whole = db.predict(first, keep=True)
    assert whole.objective == pytest.approx(db.predict(second).objective)
    # What is kept is of exact semantics, and the same model.
    assert db.predict(db.models[-1]).objective == pytest.approx(whole.objective)
    means = [db.probabilities(model).probabilities("F")["probability"].to_pylist() for model in (first, second)]
    assert means[0] == pytest.approx(means[1])


@pytest.mark.parametrize(
    "template", [TEMPLATES[0], *(pytest.param(each, marks=pytest.mark.slow) for each in TEMPLATES[1:])]
)
def test_weights_are_those_of_what_is_written_out(db: sqlrl.Database, template: str, tmp_path: Path) -> None:
    first, second = (
        sqlrl.baselines.VotedPerceptron(max_iterations=3).fit(db, model).model_ for model in models(template, "")
    )
    objective = db.predict(first).objective
    assert objective == pytest.approx(db.predict(second).objective)
    for name in ("saved.mln", "saved.json"):
        first.save(tmp_path / name)
        assert db.predict(sqlrl.read_model(tmp_path / name)).objective == pytest.approx(objective)


def test_a_clause_stands_there_once_for_each_constant_that_it_lacks(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(HEAD + "1 " + TEMPLATES[0], semantics="alchemy")
    texts = db.predict(model, keep=True) and [row["text"] for row in db.count(model)]
    assert texts.count("!Token(p, Wa) v F(p)") == 3
    assert texts.count("!Token(p, Wa) v G(p, A)") == 1
    assert [rule.weight for rule in db.models[-1].rules] == [1.5, 0.5]


@pytest.mark.parametrize(
    ("template", "when"),
    [
        ("G(p, +f) ^ (G(p, +g) v H(p))", r"\+f = \+g"),
        ("F(p) => (H(p) <=> (G(p, +f) ^ !G(p, +g)))", r"\+f = \+g"),
        ("F(p) ^ (H(p) v +f = A v G(p, +f))", r"\+f = A"),
        ("F(p) ^ (H(p) v G(p, A) v !G(p, +f))", r"\+f = A"),
    ],
)
def test_a_template_of_several_normal_forms_is_refused(db: sqlrl.Database, template: str, when: str) -> None:
    text = HEAD + "1 " + template
    wanted = rf"^<text>:6: .*: where {when} the normal form has other clauses.*write the formula as several rules"
    with pytest.raises(ModelError, match=wanted):
        db.predict(sqlrl.parse_mln(text, semantics="alchemy"))
    db.predict(sqlrl.parse_mln(text))
