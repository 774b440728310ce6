"""Files opened for reading: models are bound in memory, and the file stays byte for byte as it is."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError
from sqlrl.logic.mln import parse_mln

TEXT = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 !Smokes(x)\n3 Smokes(Bob)\n-3 Smokes(Chris)"
FRIENDS = [("Anna", "Bob"), ("Bob", "Chris")]


@pytest.fixture(scope="module", params=["waiting", "bound", pytest.param("typed", marks=pytest.mark.slow)])
def _written(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A file with facts: as text that waits for a model, bound to another model before, or with types."""
    path = tmp_path_factory.mktemp("reading") / "r.duckdb"
    with sqlrl.connect(path) as db:
        db.load("Friends", FRIENDS, types=None if request.param == "waiting" else ("person", "person"))
        db.load("Smokes", [("Anna",)], types=None if request.param == "waiting" else ("person",), given=True)
        if request.param == "bound":
            db.predict(sqlrl.parse_mln("Friends(person, person)\n1 Friends(x, y)", query=["Friends"]))
    return path


@pytest.fixture
def path(_written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_written, tmp_path / "r.duckdb"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_model_that_the_file_never_met_predicts(path: Path) -> None:
    before = digest(path)
    model = parse_mln(TEXT)
    with sqlrl.connect(path, read_only=True) as db:
        prediction = db.predict(model)
        assert prediction.atoms().column("person").to_pylist() == ["Bob"]
        assert sum(shape.clauses for shape in model.plan(db)) == 4
        other = parse_mln(
            "Friends(person, person)\nLikes(person, person)\n1 Friends(x, y) => Likes(y, x)", query=["Likes"]
        )
        assert db.predict(other).atoms().num_rows == 2
        assert db.predict(model).objective == prediction.objective
    assert digest(path) == before
    with sqlrl.connect(path) as db:
        assert db.predict(model).objective == prediction.objective


def test_what_is_to_be_kept_is_refused_at_once(path: Path) -> None:
    model = parse_mln(TEXT)
    with sqlrl.connect(path, read_only=True) as db:
        for options in ({"keep": True}, {"into": "found"}):
            with pytest.raises(CatalogError, match="was opened read-only: connect to it for writing"):
                db.predict(model, **options)  # type: ignore[arg-type]
        with pytest.raises(CatalogError, match="read-only"):
            sqlrl.AdaGrad().fit(db, model)
        with pytest.raises(CatalogError, match="read-only"):
            db.advanced.records.begin_run("someone", {}, None)
        with pytest.raises(CatalogError, match="read-only"):
            db.load("Friends", FRIENDS)


def test_a_failed_binding_leaves_the_tables_as_they_were(path: Path) -> None:
    catalog = Catalog(connect(path, read_only=True))
    before = catalog.predicates(), catalog.types()
    wrong = parse_mln("Friends(person, person)\nSmokes(person)\nOld(person)\n1 Old(x) => Smokes(x)")
    for _ in range(2):
        with pytest.raises(CatalogError, match="without data: Old"):
            catalog.bind(wrong, training=False)
        assert (catalog.predicates(), catalog.types()) == before
    assert catalog.bind(parse_mln(TEXT), training=False).predicates["Smokes"].atom_count == 2
    catalog.engine.close()


def test_two_readers_do_not_disturb_each_other(path: Path) -> None:
    one, two = (Catalog(connect(path, read_only=True)) for _ in range(2))
    text = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)"
    first = one.bind(parse_mln(text, query=["Friends"]), training=False)
    second = two.bind(parse_mln(text), training=False)
    assert first.predicates["Friends"].atom_count == 9
    assert "Friends" in second.predicates
    assert not second.predicates["Friends"].open
    assert one.bind(parse_mln(text, query=["Friends"]), training=False) == first
    for catalog in (one, two):
        catalog.engine.close()
