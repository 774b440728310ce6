"""New examples that are appended grow what was bound: the same tables as a build of all, and no statement that makes them anew."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import sqlrl

MODEL = sqlrl.parse_mln(
    "Word(doc, word, place)\nNext(place, place)\nTag(doc, tag, place)\n1 Word(d, w, p) => Tag(d, A, p)\n-0.5 Tag(d, t, p)",
    query=["Tag"],
)
COLUMN = sqlrl.parse_mln(
    "Word(word, place)\nNext(place, place)\nTag(tag, place)\n1 Word(w, p) => Tag(A, p)\n-0.5 Tag(t, p)", query=["Tag"]
)


def rows(first: int, last: int, seed: int) -> dict[str, list[tuple[str, ...]]]:
    random = np.random.default_rng(seed)
    found: dict[str, list[tuple[str, ...]]] = {"Word": [], "Tag": []}
    for d in range(first, last):
        for p in range(int(random.integers(1, 5))):
            found["Word"].append((f"d{d}", f"w{random.integers(9)}", f"p{p}"))
            if p % 2 == 0:
                found["Tag"].append((f"d{d}", "AB"[int(random.integers(2))], f"p{p}"))
    return found


def load(db: sqlrl.Database, kind: str, data: dict[str, list[tuple[str, ...]]], *, append: bool) -> None:
    for name, tuples in data.items():
        names = ["doc", {"Word": "word", "Tag": "tag"}[name], "place"]
        frame = [dict(zip(names, each, strict=True)) for each in tuples]
        options: dict[str, Any] = {"target": name == "Tag", "mode": "append" if append else "replace"}
        if kind == "column":
            db.load(name, frame, columns=names[1:], types=names[1:], example="doc", **options)
        else:
            db.load(name, frame, types=names, example="doc", **options)


def tables(db: sqlrl.Database) -> dict[str, list[Any]]:
    found = {}
    for name, key in (
        ("atom_Tag", "atom"),
        ("domain_place", "example, id"),
        ("domain_word", "example, id"),
        ("example", "example"),
    ):
        found[name] = db.sql(f'from sqlrl."{name}" order by {key}').fetchall()
    found["facts"] = sorted(map(repr, db.sql("from sqlrl.named_Tag").fetchall()))
    found["records"] = db.sql("select predicate, open, rows, given from sqlrl.predicate order by 1").fetchall()
    return found


def statements(db: sqlrl.Database, model: sqlrl.Model, caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.DEBUG, logger="sqlrl.engine.duckdb"):
        caplog.clear()
        db.advanced.bind(model)
        return [record.getMessage().partition(":")[0] for record in caplog.records]


@pytest.mark.parametrize(
    ("kind", "seed", "steps"),
    [
        ("type", 0, 1),
        ("column", 1, 2),
        *(pytest.param(kind, seed, 3, marks=pytest.mark.slow) for kind in ("type", "column") for seed in range(2)),
    ],
)
def test_what_grows_is_what_would_be_built(kind: str, seed: int, steps: int, caplog: pytest.LogCaptureFixture) -> None:
    model = MODEL if kind == "type" else COLUMN
    db = sqlrl.connect(progress=False)
    db.load("Next", [(f"p{k}", f"p{k + 1}") for k in range(6)], types=["place", "place"])
    load(db, kind, rows(0, 6, seed), append=False)
    db.advanced.bind(model)
    for step in range(steps):
        for part in range(1 + step % 2):
            load(db, kind, rows(10 * step + 5 * part + 10, 10 * step + 5 * part + 12, seed + step), append=True)
        ran = statements(db, model, caplog)
        assert "extend the atoms of Tag" in ran
        assert "list the atoms of Tag" not in ran
        grown, first = tables(db), db.predict(model).table()
        db.advanced.catalog.store.read_again()
        with db.advanced.catalog.store.writing():
            db.advanced.catalog.store.touch()
        assert "list the atoms of Tag" in statements(db, model, caplog)
        assert tables(db) == grown
        assert repr(db.predict(model).table()) == repr(first)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_what_is_more_than_new_examples_is_built_again(caplog: pytest.LogCaptureFixture) -> None:
    """One change after the other, each to a database whose atoms are those of all its rows; the last two stay, and have one of their own."""
    changes = {
        "an old example": lambda db: db.load("Word", [("d0", "new", "p9")], mode="append"),
        "a new constant of a target": lambda db: db.load("Tag", [("d77", "C", "p0")], mode="append"),
        "a removal": lambda db: db.load(
            "Word", db.sql("from sqlrl.named_Word").to_arrow_table().slice(0, 1), mode="remove"
        ),
        "a load between": lambda db: db.load("Next", [("p0", "p1")], types=["place", "place"]),
        "a global predicate": lambda db: db.load("Next", [("p7", "p8")], mode="append"),
        "a choice": lambda db: db.load(local={"place": False}),
        "a scope": lambda db: db.scope("Tag", [("d50", "A", "p0")]),
    }
    for number, (name, change) in enumerate(changes.items()):
        if name in ("an old example", "a scope"):
            db = sqlrl.connect(progress=False)
            db.load("Next", [(f"p{k}", f"p{k + 1}") for k in range(3)], types=["place", "place"])
            load(db, "type", rows(0, 6, 1), append=False)
            db.advanced.bind(MODEL)
        load(db, "type", rows(50 + 3 * number, 52 + 3 * number, 2), append=True)
        change(db)
        steps = statements(db, MODEL, caplog)
        assert "list the atoms of Tag" in steps, name
        assert "extend the atoms of Tag" not in steps, name


@pytest.mark.slow
def test_a_number_of_statements_that_does_not_depend_on_the_examples(caplog: pytest.LogCaptureFixture) -> None:
    counts = []
    for size in (5, 40):
        db = sqlrl.connect(progress=False)
        db.load("Next", [("p0", "p1")], types=["place", "place"])
        load(db, "type", rows(0, size, 3), append=False)
        db.advanced.bind(MODEL)
        load(db, "type", rows(1000, 1001, 4), append=True)
        counts.append(len(statements(db, MODEL, caplog)))
    assert counts[0] == counts[1]
