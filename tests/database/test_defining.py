"""Background predicates by Horn definitions: loaded as closed predicates, kept up to date, refused where they do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlrl
from sqlrl.errors import CatalogError, LoadError, LoadWarning, ModelError, ParseError

ANCESTOR = "ancestor(x, y) :- parent(x, y). ancestor(x, z) :- parent(x, y), ancestor(y, z)."
CHAIN = [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dan")]


@pytest.fixture
def db() -> Iterator[sqlrl.Database]:
    with sqlrl.connect() as found:
        found.load("parent", CHAIN, types=["person", "person"])
        yield found


@pytest.fixture(scope="module")
def mixed() -> Iterator[sqlrl.Database]:
    with sqlrl.connect() as found:
        found.load("parent", CHAIN, types=["person", "person"])
        found.load("likes", [("Ann",)], types=["person"], target=True)
        found.load("size", [("Ann", "big")], types=["person", "size"])
        found.load("text", [("Ann",)])
        yield found


def rows(db: sqlrl.Database, predicate: str) -> list[str]:
    return [" ".join(map(str, row)) for row in db.sql(f"from sqlrl.named_{predicate} order by all").fetchall()]


def test_a_defined_predicate_is_a_closed_one_with_types_and_names_of_arguments(db: sqlrl.Database) -> None:
    db.define(ANCESTOR)
    shown = db.tables().to_arrow().to_pylist()[0]
    assert (shown["predicate"], shown["open"], shown["facts"]) == ("ancestor(person, person)", False, 6)
    assert shown["source"].startswith("ancestor(x, y) :- parent(x, y).\n")
    assert db.sql("from sqlrl.named_ancestor").columns == ["person", "person_2"]
    kind = db.sql("select kind, signed, staged from sqlrl.source where predicate = 'ancestor'").fetchall()
    assert kind == [("definition", False, False)]
    model = sqlrl.parse_mln("ancestor(person, person)\nOld(person)\n1 ancestor(x, y) => Old(x)", query=["Old"])
    assert db.advanced.ground(model).open.tolist() == [6]


def test_definitions_follow_what_they_use(db: sqlrl.Database) -> None:
    db.define(ANCESTOR)
    db.define("root(x) :- ancestor(x, _), !ancestor(_, x).")
    assert rows(db, "root") == ["Ann"]
    db.load("parent", [*CHAIN, ("Zoe", "Ann")], types=["person", "person"])
    assert len(rows(db, "ancestor")) == 10
    assert rows(db, "root") == ["Zoe"]
    # Another definition of one in the middle.
    db.define("ancestor(x, y) :- parent(x, y).")
    assert len(rows(db, "ancestor")) == 4
    assert rows(db, "root") == ["Zoe"]


def test_refresh_evaluates_definitions_again(tmp_path: Path) -> None:
    path = tmp_path / "parent.csv"
    path.write_text("a,b\nAnn,Bob\nBob,Cid\n")
    with sqlrl.connect(tmp_path / "people.duckdb") as db:
        db.load("parent", path, types=["person", "person"])
        db.load("other", [("Ann",)], types=["person"])
        db.define(ANCESTOR)
        db.define("same(X) :- other(X), not ancestor(_, X).", variables="upper")
        assert db.refresh() == []
    path.write_text("a,b\nAnn,Bob\nBob,Cid\nCid,Ann\n")
    with sqlrl.connect(tmp_path / "people.duckdb") as db:
        with pytest.warns(LoadWarning, match="same is defined, but has no facts"):
            assert db.refresh() == ["ancestor", "parent", "same"]
        assert len(rows(db, "ancestor")) == 9
        assert rows(db, "same") == []
    with sqlrl.connect(tmp_path / "people.duckdb", read_only=True) as db:
        assert len(rows(db, "ancestor")) == 9
        with pytest.raises(CatalogError, match="was opened read-only"):
            db.define("old(x) :- parent(x, _).")


def test_a_load_that_breaks_a_definition_changes_nothing(db: sqlrl.Database) -> None:
    db.define(ANCESTOR)
    with pytest.raises(CatalogError, match=r"definition of ancestor:1:19: parent is open, it has atoms to predict"):
        db.load("parent", [("Ann", "Bob")], types=["person", "person"], target=True)
    assert len(rows(db, "parent")) == 3
    assert len(rows(db, "ancestor")) == 6


def test_facts_of_a_defined_predicate_can_be_loaded_in_its_place(db: sqlrl.Database) -> None:
    db.define(ANCESTOR)
    db.load("ancestor", [("Ann", "Bob")], types=["person", "person"])
    db.load("parent", CHAIN[:1], types=["person", "person"])
    assert rows(db, "ancestor") == ["Ann Bob"]


def test_definitions_of_several_calls_may_use_each_other(db: sqlrl.Database) -> None:
    db.define("even(x) :- parent(x, _), !parent(_, x).")
    db.define("odd(y) :- even(x), parent(x, y).")
    assert (rows(db, "even"), rows(db, "odd")) == (["Ann"], ["Bob"])
    db.define("even(x) :- parent(x, _), !parent(_, x). even(y) :- odd(x), parent(x, y).")
    assert (rows(db, "even"), rows(db, "odd")) == (["Ann", "Cid"], ["Bob", "Dan"])
    with pytest.raises(ModelError, match="odd is defined through its own negation"):
        db.define("odd(y) :- parent(_, y), !even(y).")
    assert rows(db, "odd") == ["Bob", "Dan"]


def test_examples_stay_apart() -> None:
    with sqlrl.connect() as db:
        steps = [("1", "P1", "P2"), ("1", "P2", "P3"), ("2", "P3", "P1")]
        db.load("next", steps, types=["place", "place"], columns=[1, 2], example="column0")
        db.load("good", [("P1",), ("P2",)], types=["place"])
        db.define(
            "before(x, y) :- next(x, y). before(x, z) :- next(x, y), before(y, z). start(x) :- good(x), before(x, _)."
        )
        assert rows(db, "before") == ["1 P1 P2", "1 P1 P3", "1 P2 P3", "2 P3 P1"]
        assert rows(db, "start") == ["1 P1", "1 P2"]
        with pytest.raises(
            CatalogError,
            match="no positive literal of this rule says which example it is about, but another rule of far",
        ):
            db.define("far(x) :- next(x, _). far(x) :- good(x).")
        with pytest.raises(CatalogError, match="says which example it is about, but next has examples"):
            db.define("last(x) :- good(x), !next(x, _).")


def test_a_file_of_prologs_convention(db: sqlrl.Database, tmp_path: Path) -> None:
    path = tmp_path / "family.pl"
    path.write_text("% family\ngrand(X, Z) :- parent(X, Y), parent(Y, Z),\n   X \\= 'Bob'.\n")
    db.define(path, variables="upper")
    assert rows(db, "grand") == ["Ann Cid"]
    with pytest.raises(ModelError, match=f"^{re.escape(str(path))}:1:13: Y stands in|^{re.escape(str(path))}:2:"):
        db.define(path)
    with pytest.raises(ParseError, match=r"nowhere\.pl: cannot read the file"):
        db.define(Path("nowhere.pl"))


def test_numbers_are_constants_of_numeric_types() -> None:
    with sqlrl.connect() as db:
        db.load(numeric=["year"])
        db.load("born", [("Ann", "1990.0"), ("Bob", "-5")], types=["person", "year"])
        db.define("old(x) :- born(x, -5). young(x) :- born(x, y), y != -5.")
        assert (rows(db, "old"), rows(db, "young")) == (["Bob"], ["Ann"])


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("parent(x, y) :- parent(y, x).", CatalogError, "1:1: parent has facts loaded from the tuples: give the defined predicate another name"),
        ("old(x) :- parent(x, Bobb).", CatalogError, "1:11: 'Bobb' is no constant of person; did you mean 'Bob'"),
        ("old(x) :- parent(x, _), x != An.", CatalogError, "1:1: 'An' is no constant of person; did you mean 'Ann'"),
        ("old(x) :- Parent(x, _).", ModelError, "1:11: there is no closed predicate 'Parent'; did you mean 'parent'?"),
        ("old(x) :- text(x).", CatalogError, "1:11: the types of text are not known yet: load it again with types=[...]"),
        ("old(x) :- likes(x).", CatalogError, "1:11: likes is open, it has atoms to predict: a definition uses closed predicates only"),
        ("'my old'(x) :- parent(x, _).", LoadError, "'my old' cannot be the name of a predicate"),
        ("old(x) :- parent(x, _), size(_, x).", ModelError, "1:25: x is of the type 'size' as argument 2 of size, and of 'person'"),
    ],
)  # fmt: skip
def test_definitions_that_do_not_fit(mixed: sqlrl.Database, text: str, kind: type[Exception], message: str) -> None:
    before = mixed.tables()["predicate"]
    with pytest.raises(kind) as caught:
        mixed.define(text)
    assert message in str(caught.value)
    assert mixed.tables()["predicate"] == before


def test_types_of_a_defined_predicate(db: sqlrl.Database) -> None:
    db.load("size", [("Ann", "big")], types=["person", "size"])
    db.define("is(x) :- parent(x, _).")
    db.define("is(x, y) :- size(y, x).")
    assert "is(size, person)" in db.tables()["predicate"]
    db.define("was(x) :- is(x, _).")
    with pytest.raises(ModelError, match="definition of was:1:11: is has 2 arguments here: expected 1"):
        db.define("is(x) :- parent(x, _).")
    db.advanced.catalog.declare(sqlrl.parse_mln("Old(person)"))
    with pytest.raises(
        CatalogError, match=r"1:1: Old was declared with the types \(person\), but its definition says \(size\)"
    ):
        db.define("Old(x) :- size(_, x).")


def test_a_closure_of_a_thousand_steps_is_one_query(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.load("parent", [(f"p{i:04}", f"p{i + 1:04}") for i in range(1000)], types=["person", "person"])
    steps: list[str] = []
    create = db.advanced.engine.create_table

    monkeypatch.setattr(
        db.advanced.engine, "create_table", lambda *a, step: steps.append(step) or create(*a, step=step)
    )
    db.define(ANCESTOR)
    assert [step for step in steps if step.startswith("define")] == ["define ancestor"]
    assert db.tables()["facts"][0] == 1000 * 1001 // 2


def test_a_predicate_with_facts_and_a_scope_is_open() -> None:
    db = sqlrl.connect()
    db.load("Tall", [("Ann",)], types=["person"])
    db.scope("Tall", [("Ann",), ("Bob",)])
    with pytest.raises(CatalogError, match="Tall is open, it has atoms to predict"):
        db.define("Big(x) :- Tall(x).")
