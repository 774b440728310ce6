"""Columns of the views `named_...`: the types of the arguments, as in predictions, whatever the source calls them."""

from __future__ import annotations

import pytest

import sqlrl

ROWS = {
    ("person", "paper"): (["person", "paper"], [("Ann", "p1"), ("Bob", "p2")]),
    ("person", "person"): (["person", "person_2"], [("Ann", "Bob"), ("Bob", "Cid")]),
    ("paper", "person", "person", "paper"): (["paper", "person", "person_2", "paper_2"], [("p1", "Ann", "Bob", "p2")]),
    ("truth",): (["truth_2"], [("yes",), ("no",)]),
    ("example", "given", "prior"): (["example_2", "given_2", "prior_2"], [("a", "b", "c")]),
    ("person_2", "person", "person"): (["person_2", "person", "person_3"], [("a", "b", "c")]),
}


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LoadWarning")  # some names of types are alike
@pytest.mark.parametrize("target", [False, True], ids=["closed", "open"])
def test_columns_are_types(target: bool) -> None:
    db = sqlrl.connect()
    for number, (types, (names, rows)) in enumerate(ROWS.items()):
        named = (number % 2 == 1) != target
        source = [{f"col{i}": value for i, value in enumerate(row)} for row in rows] if named else rows
        db.load(f"P{number}", source, types=types, target=target)
        found = db.sql(f"from sqlrl.named_P{number} order by all")
        more = ["truth", "given", "prior"] if target else []
        assert found.columns == [*names, *more], types
        assert sorted(row[: len(names)] for row in found.fetchall()) == sorted(rows), types


def test_columns_of_predictions_are_types() -> None:
    """They are what views have, too, so that both can be joined by their names."""
    for types in (("person", "paper", "person"), ("truth",), ("person_2", "person", "person")):
        db = sqlrl.connect()
        db.load("P", [tuple("abc"[: len(types)])], types=types, target=True)
        declared = f"P({', '.join(types)})\n1 P({', '.join(f'x{i}' for i in range(len(types)))})"
        prediction = db.predict(sqlrl.parse_mln(declared, query=["P"]))
        columns = db.sql("from sqlrl.named_P").columns
        assert columns[len(types) :] == ["truth", "given", "prior"]
        assert prediction.atoms(every=True).column_names[1:-1] == columns[: len(types)]


def test_of_a_column_of_examples_the_name_comes_first() -> None:
    db = sqlrl.connect()
    rows = [{"doc": "e1", "p": "a", "q": "b"}]
    db.load("P", rows, types=["x", "x"], example="doc", columns=["p", "q"])
    assert db.sql("from sqlrl.named_P").columns == ["example", "x", "x_2"]
    assert db.sql("from sqlrl.named_P").fetchall() == [("e1", "a", "b")]


def test_while_types_are_unknown_they_are_those_of_the_source() -> None:
    db = sqlrl.connect()
    db.load("P", [{"truth": "a", "given": "b"}], target=True)
    assert db.sql("from sqlrl.named_P").columns == ["truth", "given", "truth_2", "given_2", "prior"]
    db.predict(sqlrl.parse_mln("P(s, t)\n1 P(x, y)"))
    assert db.sql("from sqlrl.named_P").columns == ["s", "t", "truth", "given", "prior"]
