"""The program that was bound last is kept: what it finds is what a program that is bound anew finds, whatever happened to the data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from tests.effort import draws

pytestmark = pytest.mark.filterwarnings(
    "ignore::sqlrl.errors.UnseenConstantWarning", "ignore::sqlrl.errors.LoadWarning"
)

TEXT = """Word(word, doc)
Links(doc, word)
Good(doc)
Kind(doc, kind)
"""
LISTED = (
    TEXT
    + "1.5 Word(Sun, d) => Good(d)\n-0.7 Word(Rain, d) ^ Good(d)\n0.3 Good(d)\n0.8 Word(w, d) ^ Good(d) => Kind(d, Fair)"
)
QUANTIFIED = TEXT + "1 Good(d) <=> (EXIST k (Kind(d, k) ^ Good(d)))\n0.4 Kind(d, k)\n-0.2 Good(d)"
PAIRS = "Word(word, doc)\nGood(doc)\nKind(doc, kind)\n!Kind(d, A) v !Kind(d, B).\n1 Word(w, d) => Kind(d, k)\n1 Kind(d, A) => Good(d)"
MODELS = [sqlrl.parse_mln(text, query=["Good", "Kind"]) for text in (LISTED, QUANTIFIED, PAIRS)]

WORDS, DOCS, KINDS = ["Sun", "Rain", "Snow", "Fog"], ["d1", "d2", "d3", "d4", "d5"], ["Fair", "A", "B", "C"]

word = st.tuples(st.sampled_from(WORDS), st.sampled_from(DOCS))
steps = st.one_of(
    st.tuples(st.just("append"), st.lists(word, min_size=1, max_size=3, unique=True)),
    st.tuples(st.just("remove"), st.lists(word, min_size=1, max_size=2, unique=True)),
    st.tuples(st.just("replace"), st.lists(word, min_size=1, max_size=4, unique=True)),
    st.tuples(
        st.just("kinds"),
        st.lists(st.tuples(st.sampled_from(DOCS), st.sampled_from(KINDS)), min_size=1, max_size=3, unique=True),
    ),
    st.tuples(st.just("predict"), st.integers(0, len(MODELS) - 1)),
)


def opened(words: list[tuple[str, str]]) -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    db.load("Word", words, types=["word", "doc"], example="doc")
    db.load("Links", [("d1", "Sun")], types=["doc", "word"])
    return db


def worlds(db: sqlrl.Database, model: sqlrl.Model) -> object:
    marginals = db.probabilities(model)
    return db.predict(model).objective, {
        name: sorted(marginals.table(name).to_arrow().to_pylist(), key=str) for name in ("Good", "Kind")
    }


@pytest.mark.slow
@settings(max_examples=draws(5), deadline=None)
@given(st.lists(word, min_size=1, max_size=4, unique=True), st.lists(steps, min_size=1, max_size=4))
def test_a_kept_program_finds_what_a_new_one_finds(
    words: list[tuple[str, str]], changes: list[tuple[str, object]]
) -> None:
    done: list[tuple[str, object]] = []

    def change(db: sqlrl.Database, kind: str, value: object) -> None:
        if kind == "append":
            db.load("Word", value, duplicates="drop", mode="append")
        elif kind == "remove":
            db.load("Word", value, mode="remove")
        elif kind == "replace":
            db.load("Word", value, types=["word", "doc"], example="doc")
        elif kind == "kinds":
            db.load("Kind", value, types=["doc", "kind"], target=True)

    # What a model finds in data that did not change meanwhile is looked up once.
    db, expected = opened(words), dict[int, object]()
    for kind, value in [*changes, ("predict", 0), ("predict", 0)]:
        if kind != "predict":
            change(db, kind, value)
            done.append((kind, value))
            expected.clear()
            continue
        assert isinstance(value, int)
        if value not in expected:
            fresh = opened(words)
            for each in done:
                change(fresh, *each)
            expected[value] = worlds(fresh, MODELS[value])
            fresh.close()
        assert worlds(db, MODELS[value]) == expected[value]
    db.close()


def bindings(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> list[sqlrl.Model]:
    from sqlrl.ground import binding

    found: list[sqlrl.Model] = []
    bind = binding.bind_program

    def counted(engine: object, layout: object, model: sqlrl.Model, **options: object) -> object:
        found.append(model)
        return bind(engine, layout, model, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(binding, "bind_program", counted)
    return found


def test_a_program_is_bound_once_while_examples_come(monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = opened([("Sun", "d1"), ("Rain", "d1")]), MODELS[0]
    found = bindings(db, monkeypatch)
    db.predict(model)
    for name in DOCS[1:]:
        db.load("Word", [("Sun", name)], mode="append")
        assert db.predict(model, examples=[name]).open_predicates == ["Good", "Kind"]
    assert db.probabilities(model).open_predicates == ["Good", "Kind"]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("case", "again"),
    [
        ("another model that is equal", True),
        ("another choice", True),
        ("a word that was unknown", True),
        ("ids that changed", True),
        ("nothing", False),
    ],
)
def test_what_a_program_must_be_bound_anew_for(case: str, again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    db = opened([("Sun", "d1"), ("Fog", "d2")])
    model = sqlrl.parse_mln(LISTED, query=["Good", "Kind"])
    if case == "a word that was unknown":
        # A word that only a template lists joins nothing until the data have it.
        model = (
            sqlrl.AdaGrad()
            .fit(labelled(), sqlrl.parse_mln(TEXT + "Word(+w, d) => Good(d)\nGood(d)", query=["Good"]))
            .model_
        )
    db.predict(model, roles=sqlrl.Roles(drop=["Links"] if case == "another choice" else ()))
    found = bindings(db, monkeypatch)
    if case == "another model that is equal":
        model = sqlrl.parse_mln(LISTED, query=["Good", "Kind"])
    elif case == "a word that was unknown":
        db.load("Word", [("Snow", "d3")], mode="append")
    elif case == "ids that changed":
        db.load("Word", [("Fog", "d2")], mode="remove")
    db.predict(model)
    assert len(found) == again


def labelled() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    db.load("Word", [("Sun", "d1"), ("Snow", "d2")], types=["word", "doc"], example="doc")
    db.load("Good", [("d1",)], types=["doc"], target=True)
    return db


@pytest.mark.skipif(os.environ.get("SQLRL_PLANS") == "spark", reason="scratch tables are on the server then")
def test_a_closed_cursor_leaves_no_scratch_tables(tmp_path: Path) -> None:
    with sqlrl.connect(tmp_path / "data.duckdb", progress=False) as db:
        db.load("Word", [("Sun", "d1"), ("Fog", "d2")], types=["word", "doc"], example="doc")
        with db.cursor() as cursor:
            cursor.predict(MODELS[0])
            query = (
                "select table_name from duckdb_tables() where table_name like 'scratch%' or table_name like 'chosen%'"
            )
            assert cursor.sql(query).fetchall()
        assert not db.sql(query).fetchall()


def test_refused_examples_leave_no_table() -> None:
    db = opened([("Sun", "d1")])
    with pytest.raises(sqlrl.errors.CatalogError, match="do not have: 'd9'"):
        db.predict(MODELS[0], examples=["d9"])
    assert not db.sql("select table_name from duckdb_tables() where table_name like 'chosen%'").fetchall()


HELD_TO_THE_END = """
import os, sys
import sqlrl

db = sqlrl.connect({path!r}, progress=False)
db.load("Word", [("Sun", "d1"), ("Rain", "d2")], types=["word", "doc"], example="doc")
db.predict(sqlrl.parse_mln("Word(word, doc)\\nGood(doc)\\n1 Word(Sun, d) => Good(d)", query=["Good"]))
kept = db.advanced.session.kept_program
assert kept._kept is not None
{held}
"""


# The first outlives the modules that it would need to close.
@pytest.mark.slow
@pytest.mark.parametrize(
    "held",
    [
        "os.held = kept\ndb.advanced.engine.connection.close()\ndel db",
        "",
        "sys.held = kept",
    ],
)
def test_a_program_that_is_kept_when_the_interpreter_ends_is_no_news(held: str, tmp_path: Path) -> None:
    # A process of its own, which imports everything: two seconds.
    script = HELD_TO_THE_END.format(path=str(tmp_path / "words.duckdb"), held=held)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with sqlrl.connect(tmp_path / "words.duckdb", progress=False) as db:
        found = db.sql("select count(*) from duckdb_tables() where table_name like 'scratch%'").fetchall()
    assert found == [(0,)]
