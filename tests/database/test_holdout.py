"""`db.split`: by examples, by query atoms, and by entities that must not be shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import CatalogError, InputError, SqlrlError

RECORDS = 24


def documents(order: int = 1) -> sqlrl.Database:
    """Twelve documents; the authors of each three share a surname only with each other."""
    db = sqlrl.connect()
    rows = [(f"d{i}", f"author{i // 3}") for i in range(12)] + [(f"d{i}", f"second{i}") for i in range(12)]
    db.load("By", rows[::order], types=["doc", "author"], example="doc")
    db.load("Good", [(f"d{i}",) for i in range(0, 12, 2)], types=["doc"], target=True)
    return db


def records(block: int = 4, order: int = 1) -> sqlrl.Database:
    """Records in blocks: pairs within a block are candidates."""
    db = sqlrl.connect()
    pairs = [(f"r{a}", f"r{b}") for a in range(RECORDS) for b in range(RECORDS) if a != b and a // block == b // block]
    db.load("Alike", pairs[::order], types=["record", "record"])
    db.load("Same", pairs[::3], types=["record", "record"], target=True)
    db.scope("Same", pairs)
    return db


def entities(rows: Iterable[Any]) -> set[object]:
    return {value for row in rows for value in row.values()}


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
@pytest.mark.parametrize(("fraction", "held"), [(0.25, 3), (0.5, 6), (0.01, 1), (0.99, 11)])
def test_examples(fraction: float, held: int) -> None:
    db = made(documents)
    split = db.split(fraction)
    assert split.predicate is None
    assert (len(split.test), len(split.train), split.neither) == (held, 12 - held, 0)
    assert sorted([*split.train, *split.test]) == sorted(f"d{i}" for i in range(12))
    assert db.split(fraction).test == split.test
    assert str(split) == f"{12 - held} example{'s' * (held < 11)} to learn from, {held} to test on"
    # They are what `examples=` takes.
    fit = sqlrl.Likelihood().fit(
        db, sqlrl.parse_mln("By(doc, author)\nGood(doc)\nBy(d, +a) => Good(d)\nGood(d)"), examples=split.train
    )
    assert db.evaluate(db.predict(fit.model_, examples=split.test)).total.atoms == held


def test_examples_that_share_no_author() -> None:
    db = documents()
    split = db.split(0.3, by="author")
    groups = [{int(name[1:]) // 3 for name in part} for part in (split.train, split.test)]
    assert not groups[0] & groups[1]
    assert split.neither == 0
    assert len(split.test) in (3, 6)
    assert str(split).endswith("with no author in common")


def test_examples_of_one_author_are_cut_where_all_are_connected() -> None:
    db = sqlrl.connect()
    rows = [(f"d{i}", f"a{k}") for i in range(40) for k in (i, (i + 1) % 40)]
    db.load("By", rows, types=["doc", "author"], example="doc")
    split = db.split(0.4, by=["author"])
    of = {name: {a for d, a in rows if d == name} for name in (f"d{i}" for i in range(40))}
    sides = [set().union(*(of[name] for name in part)) for part in (split.train, split.test)]
    assert not sides[0] & sides[1]
    assert split.neither == 40 - len(split.train) - len(split.test) > 0
    assert f"; {split.neither} examples that join both are in neither" in str(split)


@pytest.mark.parametrize("make", [documents, pytest.param(records, marks=pytest.mark.slow)])
def test_the_order_in_which_data_were_loaded_does_not_matter(make: Any) -> None:
    one, other = make(order=1).split(0.3, random_state=5), make(order=-1).split(0.3, random_state=5)
    assert sorted(map(str, one.test)) == sorted(map(str, other.test))
    assert sorted(map(str, one.test)) != sorted(map(str, make().split(0.3, random_state=6).test))


def test_query_atoms_of_one_network() -> None:
    db = records()
    split = db.split(0.25, by="record")
    assert (split.predicate, split.neither) == ("Same", 0)
    assert not entities(split.train) & entities(split.test)
    # Six blocks of four: a quarter of the records is one block, or two of them not whole.
    assert (len(split.train), len(split.test)) == (60, 12)
    db.scope("Same", split.test)
    layout = db.advanced.bind(
        sqlrl.parse_mln("Alike(record, record)\nSame(record, record)\n1 Alike(a, b) => Same(a, b)")
    )
    assert layout.predicates["Same"].atom_count == 12


def test_query_atoms_alone_and_those_of_all_pairs() -> None:
    db = records()
    split = db.split(0.25)
    assert (len(split.test), len(split.train), split.neither) == (18, 54, 0)
    db.scope("Same", None)
    split = db.split(0.25, by="record")
    assert (len(split.test), len(split.train), split.neither) == (6 * 6, 18 * 18, 2 * 6 * 18)
    assert not entities(split.train) & entities(split.test)


def test_a_block_stays_together() -> None:
    db = sqlrl.connect()
    db.load("Near", [(f"t{i}", f"t{i + 1}") for i in range(9)], types=["thing", "thing"])
    db.load("Color", [(f"t{i}", "red" if i % 2 else "blue") for i in range(10)], types=["thing", "color"], target=True)
    model = sqlrl.parse_mln("Near(thing, thing)\nColor(thing, color!)\n1 Near(a, b) ^ Color(a, c) => !Color(b, c)")
    split = db.split(0.3, model=model)
    assert (len(split.test), len(split.train)) == (6, 14)
    assert not {row["thing"] for row in split.train} & {row["thing"] for row in split.test}
    with pytest.raises(InputError, match="by='color' is the type of the block of Color"):
        db.split(0.3, by="color", model=model)


def test_a_prediction_made_before_is_still_current() -> None:
    db = records()
    model = sqlrl.parse_mln("Alike(record, record)\nSame(record, record)\n1 Alike(a, b) => Same(a, b)\n-0.5 Same(a, b)")
    prediction = db.predict(model)
    db.split(0.25, by="record")
    assert db.evaluate(prediction).total.atoms == 72


def bare() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    return db


def two_targets() -> sqlrl.Database:
    db = records()
    db.load("Old", [("r1",), ("r2",)], types=["record"], target=True)
    return db


def untyped() -> sqlrl.Database:
    db = bare()
    db.load("Smokes", [("Anna",)], target=True)
    return db


@cache
def made(make: Callable[[], sqlrl.Database]) -> sqlrl.Database:
    """Make a database once for tests that only ask it."""
    return make()


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (documents, {"fraction": 20}, r"fraction=20 must be a share .* \(not 20 for percent\)"),
        (documents, {"by": "auther"}, "by='auther' is no type of an argument; did you mean 'author'"),
        (documents, {"by": 3}, "by=3 must name the type"),
        (documents, {"by": []}, r"by=\[\] must name the type"),
        (documents, {"random_state": -1}, "random_state=-1 must be a whole number"),
        (documents, {"random_state": "seed"}, "random_state='seed' must be a whole number"),
        (documents, {"model": "x.mln"}, "a model is needed, not the path 'x.mln'"),
        (documents, {"predicate": "Goood"}, "no predicate 'Goood'; did you mean 'Good'"),
        (bare, {}, "there is nothing to split: .* no predicate has labels; load them with target=True"),
        (untyped, {}, r"the types of Smokes are not known yet: pass the model that declares them, model=model"),
        (two_targets, {}, r"one network with 2 targets, Old, Same: say which one to split, predicate='Old'"),
        (records, {"by": "recrod"}, r"no type of an argument of Same\(record, record\); did you mean 'record'"),
        (
            lambda: records(RECORDS),
            {"by": "record", "fraction": 0.01},
            "no query atom of Same would be left to test on",
        ),
    ],
)
def test_what_cannot_be_split(make: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SqlrlError, match=message):
        made(make).split(**options)


def test_one_target_of_several_and_with_a_model_that_knows_the_types() -> None:
    assert two_targets().split(0.5, predicate="Old").predicate == "Old"
    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)")
    split = untyped().split(0.34, model=model, by="person")
    assert sorted(row["person"] for part in (split.train, split.test) for row in part) == ["Anna", "Bob", "Chris"]


WORDS = [(f"d{i:02d}", "ab"[i % 2]) for i in range(20)]
DOCUMENTS = pa.table(
    {"doc": [doc for doc, _ in WORDS], "word": [word for _, word in WORDS], "fold": [d for d, _ in WORDS]}
)


@pytest.mark.parametrize(
    ("columns", "example"),
    [(None, 0), (["doc", "word"], "doc"), (["word"], "fold")],
    ids=["position", "column", "beside"],
)
def test_examples_that_loads_name_need_no_model(columns: list[str] | None, example: str | int) -> None:
    source: Any = WORDS if columns is None else DOCUMENTS
    model = sqlrl.parse_mln("Word(word)\nGood(word)\n1 Word(w) => Good(w)")
    if len(columns or WORDS[0]) == 2:
        model = sqlrl.parse_mln("Word(doc, word)\nGood(doc, word)\n1 Word(d, w) => Good(d, w)")
    db = sqlrl.connect()
    db.load("Word", source, columns=columns, example=example)
    db.load("Good", source, columns=columns, example=example, target=True)
    split = db.split(0.25)
    assert (len(split.train), len(split.test)) == (15, 5)
    assert sorted([*split.train, *split.test]) == [doc for doc, _ in WORDS]
    # Once the types are known, the same parts come out, and they are what the calls take.
    db.predict(model, examples=split.test)
    known = db.split(0.25)
    assert (sorted(known.train), sorted(known.test)) == (sorted(split.train), sorted(split.test))


def test_what_only_types_tell_waits_for_them() -> None:
    db = sqlrl.connect()
    db.load("Word", WORDS, example=0)
    db.load("Good", WORDS, example=0, target=True)
    for options in ({"by": "word"}, {"predicate": "Good"}, {"examples": ["d00", "d01", "d02"]}):
        with pytest.raises(CatalogError):
            db.split(0.25, **options)


def test_parts_of_one_network_are_scopes_and_the_error_says_so() -> None:
    db = records()
    model = sqlrl.parse_mln("Alike(record, record)\nSame(record, record)\n1 Alike(x, y) => Same(x, y)")
    split = db.split(0.25)
    scopes = r"All data are one example, since no load said example=\. One network is divided by the scope .* db\.scope\(predicate, split\.train\)"
    for examples in (split.train, ["r1"]):
        with pytest.raises(CatalogError, match=scopes):
            sqlrl.AdaGrad().fit(db, model, examples=examples)
    with pytest.raises(
        CatalogError, match=r"of one network these are scopes, db\.scope\(split\.predicate, split\.train\)"
    ):
        db.predict(model, examples=split)
    # Of several examples nothing is said of scopes.
    with pytest.raises(CatalogError) as several:
        documents().split(0.5, examples=["dd"])
    assert "scope" not in str(several.value)
