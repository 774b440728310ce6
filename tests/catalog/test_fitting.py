"""Models that do not fit the data: types and constants, each misfit with its place and the remedy."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.roles import Roles
from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError, LoadError, LoadWarning, SourceWarning, UnseenConstantWarning
from sqlrl.logic.evidence import parse_evidence
from sqlrl.logic.files import read_model
from sqlrl.logic.mln import parse_mln, read_mln

FRIENDS = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Dan")]
TEXT = "Friends(person, person)\nSmokes(person)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)"


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


def test_a_listed_type_that_no_predicate_has(catalog: Catalog) -> None:
    catalog.load("Friends", FRIENDS, types=["person", "person"])
    with pytest.raises(CatalogError) as raised:
        catalog.bind(parse_mln("persn = {Zed}\nfield = {A}\n" + TEXT, query=["Smokes"]), training=True)
    assert str(raised.value) == (
        "the model lists constants of the type 'field', which no predicate of it has. "
        "Correct the name, or leave the list out.\n"
        "the model lists constants of the type 'persn', which no predicate of it has; did you mean 'person'? "
        "Correct the name, or leave the list out."
    )


def test_a_new_type_that_looks_like_another(catalog: Catalog) -> None:
    catalog.load("Friends", FRIENDS, types=["person", "person"])
    with pytest.warns(LoadWarning, match="Smokes: types= names 'persn', .*; did you mean 'person'") as caught:
        catalog.load("Smokes", [("Anna",)], types=["persn"])
    assert caught[0].filename == __file__
    with pytest.warns(LoadWarning, match="did you mean 'person'"):
        catalog.load("Old", [("Anna",)], types=["Person"])
    catalog.load("Near", [("a", "b")], types=["place1", "place2"])
    catalog.load("Far", [("a",)], types=["place3"])
    with pytest.raises(
        CatalogError, match=r"types \(persn\), in which 'persn' may be meant for 'person': load them again"
    ):
        catalog.bind(parse_mln(TEXT), training=True, roles=Roles(query=["Smokes"]))
    # What the message says helps.
    catalog.load("Smokes", [("Anna",)], types=["person"])
    with pytest.raises(LoadError, match=r"has the types \(person\), not \(place\), .* those loaded as fact from"):
        catalog.load("Smokes", [("Bob",)], types=["place"], given=True)
    assert (
        catalog.bind(parse_mln(TEXT), training=True, roles=Roles(query=["Smokes"])).predicates["Smokes"].atom_count == 4
    )


@pytest.mark.parametrize("evidence", [False, True])
def test_types_that_only_a_model_misspelt(catalog: Catalog, tmp_path: Path, evidence: bool) -> None:
    path = tmp_path / "e.db"
    path.write_text("".join(f"Friends({x}, {y})\n" for x, y in FRIENDS) + "Smokes(Anna)\n")
    wrong = parse_mln("Friends(person, persn)\nSmokes(person)\n1 Friends(x, y) => Smokes(x)")
    right = parse_mln(TEXT)

    def load(**types: Any) -> None:
        if evidence:
            catalog.load_evidence(sqlrl.Evidence(path, right if types else wrong))
        else:
            catalog.load("Friends", FRIENDS, **types)
            catalog.load("Smokes", [("Anna",)])

    load()
    catalog.bind(wrong, training=True)
    with pytest.raises(CatalogError, match=r"load them again with types=\['person', 'person'\], or with Evidence"):
        catalog.bind(right, training=True)
    load(types=["person", "person"])
    layout = catalog.bind(right, training=True)
    assert layout.predicates["Friends"].rows == 3
    assert layout.types["person"].size == 4


def test_arguments_that_were_too_many(catalog: Catalog) -> None:
    rows = [(*row, "2019") for row in FRIENDS]
    model = parse_mln(TEXT, query=["Smokes"])
    catalog.load("Friends", rows)
    with pytest.raises(
        CatalogError, match=r"but has 2 arguments .*: load it again and name their columns with columns="
    ):
        catalog.bind(model, training=True)
    catalog.load("Friends", rows, columns=[0, 1])
    assert catalog.bind(model, training=True).predicates["Friends"].types == ("person", "person")
    # The same of an open predicate, whose tables have all three until they are made again.
    catalog.load("Smokes", rows, types=["person", "person", "year"], target=True)
    catalog.bind(parse_mln("Smokes(person, person, year)\nSmokes(x, y, z)"), training=True)
    with pytest.raises(LoadError, match=r"3 arguments .*but 1 column named in columns=: .* pass its new types="):
        catalog.load("Smokes", rows, columns=[0], target=True)
    catalog.load("Smokes", rows, columns=[0], types=["person"], target=True)
    assert catalog.bind(model, training=True).predicates["Smokes"].atom_count == 4


def test_examples_of_a_misspelt_type(catalog: Catalog) -> None:
    catalog.load("Friends", FRIENDS, types=["person", "person"])
    catalog.examples(argument_type="persn")
    catalog.load("Age", [("Anna", "3")], types=["person", "age"], given=True)
    with pytest.raises(CatalogError, match="no argument of the example type"):
        catalog.bind(parse_mln("Age(person, age)\n1 Age(x, y)"), training=True)


def pairs(kind: str, folder: Path, catalog: Catalog) -> Any:
    table = pa.table({"b": [b for _, b in FRIENDS], "a": [a for a, _ in FRIENDS]})
    match kind:
        case "parquet":
            pq.write_table(table, folder / "f.parquet")
            return folder / "f.parquet"
        case "table":
            with catalog.engine.attached(table) as name:
                catalog.engine.create_table(TableName("memory", "main", "f"), _everything(name), step="make a table")
            return "f"
        case "query":
            return f"select * from (values {', '.join(str((b, a)) for a, b in FRIENDS)}) as t(b, a)"
    return table


def _everything(name: Any) -> Any:
    from sqlglot import exp

    return exp.select("*").from_(name)


@pytest.mark.parametrize("kind", ["parquet", "table", "query", "arrow"])
def test_constants_outside_a_listed_type_name_fact_source_and_row(catalog: Catalog, tmp_path: Path, kind: str) -> None:
    source = pairs(kind, tmp_path, catalog)
    catalog.load("Friends", source, types=["person", "person"], columns=["a", "b"], fold_case=True)
    with pytest.raises(CatalogError) as raised:
        catalog.bind(parse_mln("person = {anna, bob}\n" + TEXT, query=["Smokes"]), training=True)
    label = "an Arrow table" if kind == "arrow" else source
    rows = ("", "") if kind == "arrow" else (", row 2", ", row 3")
    first, second, third = str(raised.value).split("\n")[:3]
    assert first == "the model lists the constants of person, and the data have 2 others:"
    # Rows of an object are not kept, so the fact is the first by its constants.
    assert second in (f"  'chris' in Friends({fact}) from {label}{rows[0]}" for fact in ("bob, chris", "chris, dan"))
    assert third == f"  'dan' in Friends(chris, dan) from {label}{rows[1]}"
    if kind != "arrow":
        assert "bob, chris" in second
    assert "person = {...}" in str(raised.value)
    assert "constants={...}" in str(raised.value)


def test_constants_outside_a_listed_type_in_evidence_files(catalog: Catalog, tmp_path: Path) -> None:
    paths = [tmp_path / "a, b.db", tmp_path / "b.db"]
    paths[0].write_text("Friends(Anna, Bob)\n")
    paths[1].write_text("\nFriends(Bob, Anna)\n" + "".join(f"Friends(Bob, P{i})\n" for i in range(7)))
    model = parse_mln("person = {Anna, Bob}\n" + TEXT, query=["Smokes"])
    catalog.load_evidence(sqlrl.Evidence(paths, model))
    with pytest.raises(CatalogError) as raised:
        catalog.bind(model, training=False)
    assert f"  'P0' in Friends(Bob, P0) from {paths[1]}, line 3\n" in str(raised.value)
    assert "the data have 7 others:" in str(raised.value)
    assert "\n  and 2 more\n" in str(raised.value)


def test_a_source_that_changed_has_no_rows_any_more(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a\nAnna\nBob\n")
    catalog.load("P", path, types=["person"], target=True)
    path.unlink()
    message = r"'Bob' in P\(Bob\) from .*f\.csv, which has changed since"
    with pytest.warns(SourceWarning), pytest.raises(CatalogError, match=message):
        catalog.bind(parse_mln("person = {Anna}\nP(person)\n1 P(x)"), training=True)


NAMES = TEXT + "\n2 Smokes(Ann)\n3 Smokes(Anna)\n-1 Smokes(Xerxes) v Friends(Ann, Dan)"


def test_a_model_written_by_hand_must_know_its_constants(tmp_path: Path) -> None:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    path = tmp_path / "hand.mln"
    path.write_text(NAMES)
    model = read_mln(path, query=["Smokes"], strict=True)
    for ask in (db.predict, db.count, db.advanced.ground, db.advanced.plan):
        with pytest.raises(CatalogError) as raised:
            ask(model)
        text = str(raised.value)
        assert f"'Ann' is no constant of person ({path}:4); did you mean 'Anna'" in text
        assert f"'Xerxes' is no constant of person ({path}:6)" in text
        assert "constants={...}" in text
        assert "strict=True" in text
    with pytest.warns(UnseenConstantWarning, match=r"'Ann' of person \(.*:4\) is like 'Anna'\. "):
        assert db.predict(read_mln(path, query=["Smokes"])).atoms(every=True)["person"].to_pylist() == [
            *("Anna", "Bob", "Chris", "Dan"),
            *("Ann", "Xerxes"),
        ]
    assert db.predict(read_mln(path, query=["Smokes"], constants={"Ann": "Anna", "Xerxes": "Dan"})).atoms().num_rows


def test_a_learned_model_counts_constants_that_new_data_lack(tmp_path: Path) -> None:
    db = sqlrl.connect()
    db.load("Friends", FRIENDS, types=("person", "person"))
    model = parse_mln(NAMES, query=["Smokes"], learned=True)
    for ending in ("mln", "json"):
        model.save(tmp_path / f"m.{ending}")
        again = read_model(tmp_path / f"m.{ending}")
        with pytest.warns(
            UnseenConstantWarning, match="^2 constants .* do not occur in these data: 'Ann', 'Xerxes'$"
        ) as caught:
            prediction = db.predict(again)
        assert [w.filename for w in caught] == [__file__]
        assert "2 constants" in repr(prediction)
    with pytest.raises(CatalogError, match="'Ann' is no constant"):
        db.predict(dataclasses.replace(model, strict=True))


@pytest.mark.slow
def test_learning_marks_the_model_as_learned(tmp_path: Path) -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a"), ("d2", "b")], types=("doc", "word"), example="doc")
    db.load("Class", [("d1", "x"), ("d2", "y")], types=("doc", "class"), target=True)
    model = parse_mln("Word(doc, word)\nClass(doc, class)\nWord(d, +w) => Class(d, +c)\nWord(d, a) => Class(d, x)")
    learned = sqlrl.AdaGrad().fit(db, model).model_
    assert learned.learned
    new = sqlrl.connect()
    new.load("Word", [("d3", "c"), ("d4", "b")], types=("doc", "word"), example="doc")
    found = []
    for ending in ("mln", "json"):
        learned.save(tmp_path / f"m.{ending}")
        # The class x is one of those that the model lists, since a rule and a template name it of the target.
        with pytest.warns(UnseenConstantWarning, match="1 constant of the model does not occur in these data: 'a'"):
            prediction = new.predict(read_model(tmp_path / f"m.{ending}"), roles=sqlrl.Roles(query=["Class"]))
        found.append((prediction.unseen, prediction.objective))
    assert found[0] == found[1]


def test_unknown_constants_of_evidence_models_are_named_with_few_words() -> None:
    db = sqlrl.connect()
    model = parse_mln(TEXT + "".join(f"\n1 Smokes(C{i})" for i in range(9)), query=["Smokes"], learned=True)
    db.load(sqlrl.Evidence(parse_evidence("Friends(A, B)"), model))
    with pytest.warns(UnseenConstantWarning, match=r"^9 constants .*: 'C0', 'C1', 'C2', 'C3', 'C4' and 4 more$"):
        db.predict(model)


@pytest.mark.parametrize(
    ("known", "new", "alarm"),
    [
        (["chrom", "pos"], ["cpos", "gene"], False),
        (["order", "line"], ["reorder", "order"], False),
        (["customer", "product"], ["byproduct"], False),
        (["time"], ["time2"], False),
        (["station", "stations"], ["station", "stationed"], False),
        (["customer", "product"], ["custmer"], True),
        (["station"], ["statoin"], True),
        (["Person"], ["persn"], True),
        (["item"], ["items"], True),
    ],
)
def test_types_of_ordinary_schemas_are_no_slips(known: list[str], new: list[str], alarm: bool) -> None:
    """A prefix or a number makes another name; so does a call that names both."""
    db = sqlrl.connect(progress=False)
    db.load("Known", [tuple(known)], types=known)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        db.load("New", [tuple(new)], types=new)
    assert any("did you mean" in str(each.message) for each in caught) is alarm
    db.close()
