"""Golden views: each file has a model's rules and its view in four dialects. Those of DuckDB and SQLite are run, all are read back.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/database/test_model_sql_golden.py` writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

import sqlrl
from sqlrl.database.model_sql import DIALECTS
from tests.database.test_model_sql import agree, run
from tests.spark import unknown_functions

FOLDER = Path(__file__).parent / "golden_views"
PEOPLE = "Friends(person, person)\nTall(person)\nSmokes(person)\n"
NEAR = f"{PEOPLE}Near(person, person)\n"
CITATIONS = "Token(word, position, bib)\nfield = {Author, Title}\nInField(bib, field!, position)\n"
FRIENDS = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna"), ("Anna", "Chris")]
TOKENS = [("w", "P1", "B1"), ("v", "P2", "B1"), ("w", "P1", "B2")]

CASES = {
    "joined": (PEOPLE, ["1.5 Friends(x, y) ^ !Tall(y) => Smokes(y)", "-0.5 Smokes(x)", "Tall(x) => !Smokes(x)."]),
    "counted": (PEOPLE, ["0.25 Friends(x, y) ^ Friends(y, z) => Smokes(z)", "-0.125 Smokes(x) v Friends(x, y)"]),
    "witnessed": (PEOPLE, ["0.75 Smokes(x) v (EXIST y (Friends(y, x) ^ Tall(y)))", "2 (EXIST y Friends(x, y)) => Smokes(x)"]),
    "block": (CITATIONS, ["1.5 Token(w, p, c) ^ Token(w, q, c) => InField(c, Author, p)", "-0.5 InField(c, Title, p)"]),
    "chained": (NEAR, ["0.5 Friends(a, x) ^ Friends(a, b) ^ Friends(c, b) ^ Friends(c, y) ^ b != y => Near(x, y)"]),
    "constants": (PEOPLE, ["1 Friends(Anna, x) => Smokes(x)", "2 Friends(Bob, x) => Smokes(x)", "-1 Smokes(Eve) v Tall(Eve)"]),
}  # fmt: skip


def database(declared: str) -> tuple[sqlrl.Database, dict[str, tuple[list[str], list[tuple[str, ...]]]]]:
    db = sqlrl.connect(progress=False)
    if declared is CITATIONS:
        db.load("Token", TOKENS, types=["word", "position", "bib"], example="bib")
        db.load("InField", [("B1", "Author", "P1")], types=["bib", "field", "position"], given=True)
        given = {"InField": (["column0", "column1", "column2"], [("B1", "Author", "P1")])}
        return db, {"Token": (["column0", "column1", "column2"], TOKENS), **given}  # type: ignore[dict-item]
    db.load("Friends", FRIENDS, types=["person"] * 2)
    db.load("Tall", [("Anna",)], types=["person"])
    return db, {"Friends": (["column0", "column1"], FRIENDS), "Tall": (["column0"], [("Anna",)])}  # type: ignore[dict-item]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    declared, rules = CASES[name]
    db, tables = database(declared)
    target = {CITATIONS: "InField", NEAR: "Near"}.get(declared, "Smokes")
    model = sqlrl.parse_mln(declared + "\n".join(rules), query=[] if declared is CITATIONS else [target])
    views = {dialect: db.export(model, format="sql", dialect=dialect) for dialect in DIALECTS}
    text = "".join(f"-- ---- {dialect}\n{view.text}\n" for dialect, view in views.items())
    path = FOLDER / f"{name}.sql"
    if os.environ.get("SQLRL_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; SQLRL_UPDATE_GOLDEN=1 writes the files anew"
    right = {
        tuple(r.values())[1:-5]: float(r["probability"]) for r in db.probabilities(model).probabilities().to_pylist()
    }
    assert right
    for dialect, view in views.items():
        (statement,) = sqlglot.parse(view.text, dialect=dialect)
        assert isinstance(statement, exp.Create)
        assert not list(statement.find_all(exp.Anonymous)), "every function is one that sqlglot knows in the dialect"
        if dialect in ("duckdb", "sqlite"):
            agree(run(view, tables), right)
    assert not unknown_functions(views["spark"].text)
    db.close()


def test_every_file_has_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(CASES)
