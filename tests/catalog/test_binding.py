"""Models bound to data: examples, domains, and what does not fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.roles import Roles
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError, LoadError, ScopeWarning, UnseenConstantWarning
from sqlrl.logic.mln import parse_mln

WORDS = [("b2", "p0", "to"), ("b2", "p1", "be"), ("b1", "p0", "or"), ("b3", "p5", "not")]
TEXT = "Word(bib, position, word)\nNext(position, position)\nField(bib, field, position)\nWord(b, p, w) ^ Next(p, q) => Field(b, f, p)"


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


def load(catalog: Catalog) -> None:
    catalog.load("Word", WORDS, types=["bib", "position", "word"], example="bib")
    catalog.load("Next", [("p1", "p0"), ("p2", "p1")])
    catalog.load("Field", [("b2", "title", "p0"), ("b1", "author", "p0")], target=True)


@pytest.fixture(scope="module")
def _written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("binding") / "loaded.duckdb"
    catalog = Catalog(connect(path, threads=1))
    load(catalog)
    catalog.engine.close()
    return path


@pytest.fixture
def loaded(_written: Path, tmp_path: Path) -> Iterator[Catalog]:
    """A copy of a file with facts, which is opened in less than they are loaded."""
    catalog = Catalog(connect(shutil.copy(_written, tmp_path / "loaded.duckdb"), threads=1))
    yield catalog
    catalog.engine.close()


def rows(catalog: Catalog, table: str) -> list[dict[str, Any]]:
    return catalog.store.rows(exp.select("*").from_(catalog.store.table(table)), "read")


def test_examples_have_the_order_of_their_first_appearance(loaded: Catalog) -> None:
    layout = loaded.bind(parse_mln(TEXT), training=True)
    assert layout.example_type == "bib"
    assert [(r["name"], r["ordinal"]) for r in rows(loaded, "example")] == [("b2", 0), ("b1", 1), ("b3", 2)]


def test_examples_are_listed_before_a_model_is_bound(catalog: Catalog) -> None:
    def listed() -> list[str]:
        return [r["name"] for r in rows(catalog, "example")]

    catalog.load("Topic", [("b7", "sql")], types=["bib", "topic"])
    assert listed() == []
    catalog.load("Word", [("sql", "b2"), ("rule", "b1")], types=["word", "bib"], example="bib")
    assert listed() == ["b7", "b2", "b1"]
    catalog.load("Long", [("b9",)], types=["bib"])
    assert listed() == ["b7", "b2", "b1", "b9"]
    catalog.examples(argument_type="topic")
    assert listed() == ["sql"]
    catalog.load("Long", [("b3",)], types=["bib"])
    catalog.examples(argument_type="bib")
    catalog.bind(parse_mln("Topic(bib, topic)\nLong(bib)\n*Word(word, bib)\n1 Long(b)", query=("Long",)), training=True)
    assert listed() == ["b7", "b2", "b1", "b3"]


def test_examples_are_listed_anew_where_their_kind_changes(catalog: Catalog) -> None:
    def listed() -> list[str]:
        return [r["name"] for r in rows(catalog, "example")]

    catalog.load("A", [("x", "b"), ("y", "a")], types=["t", "doc"], example="doc")
    catalog.examples(argument_type="t")
    assert listed() == ["x", "y"]
    catalog.examples(argument_type=None)
    assert listed() == []
    word = pa.table({"word": ["a", "b"], "doc": ["X1", "X2"]})
    catalog.load("W", word, types=["word"], example="doc")
    assert listed() == ["X1", "X2"]
    model = parse_mln("W(word)\nS(word)\n1 W(w) => S(w)", query=("S",))
    assert catalog.bind(model, training=True).example_count == 2
    assert listed() == ["X1", "X2"]
    catalog.load("W", [("a",)], types=["word"])
    catalog.bind(model, training=True)
    assert listed() == ["all"]
    catalog.load("B", [("d1",)], types=["doc"], example="doc")
    assert listed()[-1] == "d1"
    assert "all" not in listed()


def test_domains_are_local_beside_the_example(loaded: Catalog) -> None:
    layout = loaded.bind(parse_mln(TEXT), training=True)
    assert {n: t.local for n, t in layout.types.items()} == {
        "bib": False,
        "field": False,
        "position": True,
        "word": True,
    }
    assert layout.predicates["Field"].atom_count == 2 * 4
    loaded.set_local("position", False)
    assert loaded.bind(parse_mln(TEXT), training=True).predicates["Field"].atom_count == 2 * 3 * 4
    loaded.set_local("position", None)
    assert loaded.bind(parse_mln(TEXT), training=True) == layout
    with pytest.raises(CatalogError, match="no type 'positon'; did you mean 'position'"):
        loaded.set_local("positon", True)


def test_nothing_is_built_twice(loaded: Catalog) -> None:
    model = parse_mln(TEXT)
    first = loaded.bind(model, training=True)
    loaded.engine.execute(exp.Drop(tables=[loaded.store.table("atom_Field")], kind="TABLE"), step="spy")
    loaded.store.create("atom_Field", exp.select("1 as atom"), "spy")
    assert loaded.bind(model, training=True).predicates["Field"].atom_count == 1
    loaded.load("Next", [("p1", "p0")])
    assert loaded.bind(model, training=True).predicates["Field"].atom_count == first.predicates["Field"].atom_count


def test_a_predicate_without_data_has_the_types_of_each_model(catalog: Catalog) -> None:
    catalog.load("Word", [("p1", "to"), ("p2", "be"), ("p3", "be")], types=["position", "word"])
    counts = {"word": 2, "position": 3, "word, position": 6}
    for types in [*counts, "position", "word"]:
        model = parse_mln(f"Word(position, word)\nGood({types})\nWord(p, w)", query=("Good",))
        assert catalog.bind(model, training=True).predicates["Good"].atom_count == counts[types]
        assert len(rows(catalog, "atom_Good")) == counts[types]


def test_an_example_column_found_when_the_model_comes(catalog: Catalog) -> None:
    catalog.load("Word", pa.table({"doc": ["d", "e"], "word": ["x", "x"]}), example="doc")
    catalog.load("Good", pa.table({"doc": ["d"], "word": ["x"]}), example="doc", target=True)
    layout = catalog.bind(parse_mln("Word(word)\nGood(word)\nWord(x) => Good(x)"), training=True)
    assert layout.example_type is None
    assert layout.example_count == 2
    assert layout.predicates["Word"].example_column
    assert [(r["example"], r["a0"], r["truth"]) for r in rows(catalog, "atom_Good")] == [(0, 0, True), (1, 0, False)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Same(bib, bib)\nSame(x, y)", "Same has 2 arguments of the example type 'bib'; examples must be independent"),
        (
            "Word(bib, position, word)\nGood(word)\nWord(b, p, w) => Good(w)",
            "Good is open but has no argument of the example type",
        ),
    ],
)
def test_atoms_that_tie_examples_together_are_refused(loaded: Catalog, text: str, message: str) -> None:
    name = "Same" if "Same" in text else "Good"
    with pytest.raises(CatalogError, match=message):
        loaded.bind(parse_mln(text), training=True, roles=Roles(query=[name]))


def test_all_data_can_be_one_example(loaded: Catalog) -> None:
    loaded.examples(argument_type=None)
    model = parse_mln("Same(bib, bib)\nSame(x, y)", query=("Same",))
    layout = loaded.bind(model, training=True)
    assert (layout.example_type, layout.example_count) == (None, 1)
    assert layout.predicates["Same"].atom_count == 9


def test_predicates_without_data_are_listed_together(loaded: Catalog) -> None:
    text = TEXT + "\nWrd(bib)\nOther(bib)\nUnused(bib)\nWrd(b) ^ Other(b) => Field(b, f, p)"
    with pytest.raises(CatalogError, match=r"without data: Other.*, Wrd; did you mean 'Word'\?.*leave their rules out"):
        loaded.bind(parse_mln(text), training=True)
    with pytest.raises(CatalogError, match=r"Wrd; did you mean 'Word'\?.*drop= .*empty= .*hidden= "):
        loaded.bind(parse_mln(text), training=False)
    layout = loaded.bind(parse_mln(text), training=True, roles=Roles(drop=["Wrd", "Other"]))
    assert set(layout.predicates) == {"Word", "Next", "Field"}


@pytest.mark.parametrize("training", [True, False])
def test_constants_that_the_data_do_not_have(loaded: Catalog, training: bool) -> None:
    model = parse_mln(TEXT + '\nField(b, Titel, p) ^ p != "p9"')
    with pytest.raises(
        CatalogError,
        match=r"'Titel' is no constant of field.*; did you mean 'title'(.|\n)*'p9' is no constant of position",
    ):
        loaded.bind(replace(model, strict=True), training=training)
    with pytest.warns(UnseenConstantWarning, match=r"'Titel' of field \(<text>:\d\) is like 'title'\. They") as caught:
        layout = loaded.bind(model, training=training)
    assert "p9" not in str(caught[0].message)  # no more like p0 than p1 is
    before = loaded.bind(parse_mln(TEXT), training=training)
    # The field joins a global type; positions are those of the examples.
    assert layout.types["field"].size == before.types["field"].size + 1
    assert (layout.types["position"].size, layout.types["position"].of_rules) == (before.types["position"].size, 0)
    with pytest.warns(
        UnseenConstantWarning, match="2 constants of the model do not occur in these data: 'Titel', 'p9'"
    ):
        loaded.bind(replace(model, learned=True), training=training)


def test_declared_constants_are_part_of_the_domain_and_bound_it(catalog: Catalog) -> None:
    catalog.load("P", [("A",)], target=True)
    wide = parse_mln("t = {A, B, C}\nP(t)\nP(x)")
    assert catalog.bind(wide, training=True).types["t"].size == 3
    narrow = parse_mln("t = {A, B}\nP(t)\nP(x)")
    assert catalog.bind(narrow, training=True).types["t"].size == 2
    assert catalog.bind(parse_mln("P(t)\nP(x)"), training=True).types["t"].size == 1
    with pytest.raises(CatalogError, match=r"the data have 1 other:\n  'A' in P\(A\) from the tuples"):
        catalog.bind(parse_mln("t = {B}\nP(t)\nP(x)"), training=True)


def test_declarations_that_contradict_the_data(loaded: Catalog) -> None:
    with pytest.raises(
        CatalogError,
        match=r"Word has 2 arguments in the model, and its data have 3, of the types \(bib, position, word\)",
    ):
        loaded.bind(parse_mln("Word(bib, word)\nWord(b, w)"), training=True)
    with pytest.raises(CatalogError, match=r"Next was loaded from the tuples with 2 columns .* but has 1 argument"):
        loaded.bind(parse_mln("Next(position)\nNext(p)"), training=True)
    with pytest.raises(
        CatalogError, match="query= names predicates that the model does not declare: Fild; did you mean 'Field'"
    ):
        loaded.bind(parse_mln(TEXT), training=True, roles=Roles(query=["Fild"]))
    closed = parse_mln(TEXT.replace("\nField(bib", "\n*Field(bib", 1))
    with pytest.raises(CatalogError, match="Field is declared closed"):
        loaded.bind(closed, training=True)


def test_contradictions_between_sources(loaded: Catalog) -> None:
    loaded.load("Field", [("b2", "title", "p0", False)], given=True, truth=3)
    with pytest.raises(CatalogError, match=r"contradict each other .* about Field\(b2, title, p0\)"):
        loaded.bind(parse_mln(TEXT), training=True)


def test_sources_of_a_predicate_without_arguments(catalog: Catalog) -> None:
    catalog.load("P", [("a",)], types=["t"])
    model = parse_mln("P(t)\nH()\nP(x) => H()")
    catalog.load("H", "select true as t where false", types=[], truth=0, target=True, empty="allow")
    catalog.load("H", "select true as t where false", types=[], truth=0, given=True, empty="allow")
    assert catalog.bind(model, training=True).predicates["H"].rows == 0
    catalog.load("H", "select true as t", types=[], truth=0, target=True)
    catalog.load("H", "select 0.5 as p", types=[], probability=0)
    assert catalog.bind(model, training=True).predicates["H"].rows == 1
    assert [(r["truth"], r["prior"]) for r in rows(catalog, "atom_H")] == [(True, 0.0)]
    catalog.load("H", "select false as t", types=[], truth=0, given=True)
    with pytest.raises(CatalogError, match=r"H: its facts contradict each other .* about H\(\): load one"):
        catalog.bind(model, training=True)


def test_huge_scopes_are_refused_with_their_size(loaded: Catalog) -> None:
    loaded.atom_limit = 7
    with pytest.raises(
        CatalogError, match=r"8 query atoms of Field, .*, more than the limit of 7: .*db\.scope\('Field'"
    ):
        loaded.bind(parse_mln(TEXT), training=True)
    loaded.scope("Field", [("b2", "title", "p0")])
    with pytest.warns(
        ScopeWarning, match=r"^1 label of Field lies outside the scope, such as Field\(b1, author, p0\): "
    ):
        layout = loaded.bind(parse_mln(TEXT), training=True)
    assert layout.predicates["Field"].atom_count == 1
    loaded.atom_limit = 8
    for row in (("b2", "title"), ("b2", "title", "p0", "p1")):
        with pytest.raises(
            LoadError, match=rf"^the scope of Field\(.*\) needs 3 columns, .* has {len(row)}: column0, "
        ):
            loaded.scope("Field", [row])
    # What is loaded later may have another number of arguments: that is said when it is bound.
    loaded.scope("Field", None)
    loaded.scope("Later", [("b2", "title")])
    loaded.load("Later", [("b2",)], types=["bib"], target=True)
    with pytest.raises(CatalogError, match="the scope of Later has the columns a0, a1, expected one for each of its 1"):
        loaded.bind(parse_mln("Later(bib)\n1 Later(b)"), training=True)
    with pytest.raises(LoadError, match="NULL"):
        loaded.scope("Field", [("b2", "title", None)])
    loaded.scope("Field", None)
    assert loaded.bind(parse_mln(TEXT), training=True).predicates["Field"].atom_count == 8


def test_a_constant_that_a_rule_and_a_scope_name_and_no_fact_has_lets_atoms_be(catalog: Catalog) -> None:
    """It comes into the dictionary while atoms are built: what they were built from is said by what is known then."""
    catalog.load("Friends", [("Anna", "Bob")], types=["person", "person"])
    catalog.scope("Likes", [("Zoe",), ("Anna",)])
    model = parse_mln("Friends(person, person)\nLikes(person)\n1 Friends(x, Zoe) => Likes(x)", query=("Likes",))
    catalog.bind(model, training=False)
    before = catalog.store.state("atoms")
    layout = catalog.bind(model, training=False)
    assert catalog.store.state("atoms") == before
    assert (layout.types["person"].size, layout.predicates["Likes"].atom_count) == (3, 2)


def test_a_scope_of_no_tuples_is_that_of_an_empty_table(loaded: Catalog) -> None:
    model = parse_mln(TEXT)
    for nothing in ([], pa.table({name: pa.array([], pa.string()) for name in ("b", "f", "p")})):
        loaded.scope("Field", None)
        assert loaded.bind(model, training=False).predicates["Field"].atom_count == 8
        loaded.scope("Field", nothing)
        assert loaded.bind(model, training=False).predicates["Field"].atom_count == 0
    with pytest.raises(LoadError, match=r"the scope of Later .* is empty, and how many arguments Later has is unknown"):
        loaded.scope("Later", [])
    # A model that was bound has declared it.
    declared = parse_mln(TEXT + "\nLater(bib)\n1 Later(b)", query=("Later",))
    loaded.scope("Field", None)
    assert loaded.bind(declared, training=False).predicates["Later"].atom_count == 3
    loaded.scope("Later", [])
    assert loaded.bind(declared, training=False).predicates["Later"].atom_count == 0


def test_a_scope_of_no_tuples_fits_examples_in_a_column(catalog: Catalog) -> None:
    catalog.load("Word", [("b1", "x"), ("b2", "y")], columns=[1], types=["word"], example=0)
    model = parse_mln("Word(word)\nGood(word)\n1 Word(w) => Good(w)", query=("Good",))
    assert catalog.bind(model, training=False).predicates["Good"].atom_count == 2
    catalog.scope("Good", [])
    catalog.scope("Good", [])
    assert catalog.bind(model, training=False).predicates["Good"].atom_count == 0


@pytest.mark.slow
def test_constants_of_a_scope_go_with_it(catalog: Catalog) -> None:
    catalog.load("Friends", [("Anna", "Bob")], types=["person", "person"])
    text = "Friends(person, person)\nLikes(person)\nLoves(person)\n"
    likes = parse_mln(text + "Friends(x, y) => Likes(x)", query=("Likes",))
    loves = parse_mln(text + "Friends(x, y) => Loves(x)", query=("Loves",))

    def sizes(*scoped: tuple[str, ...]) -> list[int]:
        for scope in scoped:
            catalog.scope("Likes", [(name,) for name in scope] or None)
        return [catalog.bind(model, training=True).types["person"].size for model in (likes, loves, likes)]

    # The other model does not use the scope, so that its constants are none of its domain.
    assert sizes(("Anna", "Zoe", "Yan")) == [4, 2, 4]
    assert sizes(("Anna", "Zoe")) == [3, 2, 3]
    assert sizes(("Xi",), ("Zoe",)) == [3, 2, 3]
    assert sizes(()) == [2, 2, 2]


def test_a_scope_of_constants_that_the_data_have_leaves_the_data_as_they_are(loaded: Catalog) -> None:
    loaded.scope("Field", [("b2", "title", "p0"), ("b1", "author", "p0")])
    other = parse_mln("Word(bib, position, word)\nGood(bib)\nWord(b, p, w) => Good(b)", query=("Good",))
    model = parse_mln(TEXT)
    loaded.bind(model, training=True)
    before = loaded.store.state("data")
    for each in (other, model):
        loaded.bind(each, training=True)
    assert loaded.store.state("data") == before


def test_chosen_examples_keep_their_order(catalog: Catalog) -> None:
    load(catalog)
    catalog.bind(parse_mln(TEXT), training=True)
    for chosen in (["b3", "b2"], "select * from (values ('b3'), ('b2')) as t(x)", pa.table({"bib": ["b3", "b2"]})):
        table = catalog.example_filter(chosen)
        assert rows(catalog, table) == [{"example": 2, "position": 0}, {"example": 0, "position": 1}]
    for chosen, message in (
        (["b3", "b22"], "'b22'; did you mean"),
        (["b3", "b3"], "'b3' more than once"),
        ([], "no examples"),
    ):
        with pytest.raises(CatalogError, match=message):
            catalog.example_filter(chosen)


TAGGED = parse_mln(
    "Tag(position, word)\nNext(position, position)\nGood(word)\nTag(p, w) ^ Next(p, q) => Good(w)", query=("Good",)
)
TAGS = pa.table({"doc": ["d", "e"], "position": ["p", "q"], "word": ["x", "y"]})


def test_examples_of_a_column_go_with_it(catalog: Catalog) -> None:
    catalog.load("Tag", TAGS, types=["position", "word"], example="doc")
    nexts = pa.table({"doc": ["d"], "one": ["p"], "other": ["p"]})
    catalog.load("Next", nexts, types=["position", "position"], example="doc")

    def sizes() -> tuple[int, int]:
        layout = catalog.bind(TAGGED, training=True)
        # A predicate without data follows the others.
        assert layout.predicates["Good"].example_column == layout.predicates["Tag"].example_column
        return layout.example_count, layout.predicates["Good"].atom_count

    assert sizes() == (2, 2)
    catalog.load("Next", [("p", "q")])
    assert not catalog.bind(TAGGED, training=True).predicates["Next"].example_column
    with pytest.raises(CatalogError, match="examples come from a column of the data of Tag: load them again"):
        catalog.examples(argument_type=None)
    catalog.load("Tag", TAGS.drop_columns("doc"))
    assert sizes() == (1, 2)
    assert [r["name"] for r in rows(catalog, "example")] == ["all"]
    # Neither has the one example of before a place among those of a column.
    catalog.load("Tag", TAGS, example="doc")
    assert sizes() == (2, 2)
    assert [r["name"] for r in rows(catalog, "example")] == ["d", "e"]
    catalog.load("Good", [("x",)])
    other = parse_mln("Tag(position, word)\nGood(word)\nBad(word)\nTag(p, w) ^ Good(w) => Bad(w)", query=("Bad",))
    assert not catalog.bind(other, training=True).predicates["Good"].example_column


def test_facts_of_one_predicate_have_their_examples_in_one_place(catalog: Catalog) -> None:
    catalog.load("Tag", TAGS, types=["position", "word"], example="doc")
    catalog.load("Next", [("p", "q")], types=["position", "position"])
    labels = pa.table({"doc": ["d"], "word": ["x"]})
    catalog.load("Good", labels, types=["word"], target=True, example="doc")
    catalog.load("Good", [("y",)], given=True)
    with pytest.raises(
        CatalogError,
        match=r"Good was loaded with a column of examples \(label from .*\) and without one \(given from the tuples\): load",
    ):
        catalog.bind(TAGGED, training=True)
    catalog.load("Good", pa.table({"doc": ["e"], "word": ["y"]}), given=True, example="doc")
    assert catalog.bind(TAGGED, training=True).predicates["Good"].atom_count == 1


def test_the_example_is_the_argument_that_was_named_last(catalog: Catalog) -> None:
    def flags(**options: Any) -> list[bool]:
        catalog.load("Same", [("a", "b")], types=["bib", "bib"], **options)
        return [a.example for a in catalog.predicates()["Same"].arguments]

    assert flags(example=0) == [True, False]
    assert flags(example=1) == [False, True]
    assert flags(target=True) == [False, True]
    assert flags(target=True, example=0) == [True, False]
    assert flags() == [True, False]


def test_two_kinds_of_examples_are_refused(loaded: Catalog) -> None:
    with pytest.raises(LoadError, match="examples come from a type so far, not from a column"):
        loaded.load("P", pa.table({"a": ["x"], "doc": ["d"]}), types=["t"], example="doc")
    with pytest.raises(LoadError, match="the constants of 'bib', not of 'word'"):
        loaded.load("Q", [("x",)], types=["word"], example="word")


def test_given_atoms_are_evidence_and_loads_in_a_file_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    catalog = Catalog(connect(path))
    catalog.load("Smokes", [("Anna", True), ("Bob", False)], types=["person"], given=True, truth=1)
    catalog.load("Friends", [("Anna", "Chris"), ("Chris", "Dora")], types=["person", "person"])
    model = parse_mln("Friends(person, person)\nSmokes(person)\nFriends(x, y) ^ Smokes(x) => Smokes(y)")
    layout = catalog.bind(model, training=True)
    assert layout.predicates["Smokes"].atom_count == 2
    assert layout.predicates["Smokes"].has_given
    assert [r["truth"] for r in rows(catalog, "atom_Smokes")] == [None, None]
    catalog.engine.close()
    reader = Catalog(connect(path, read_only=True))
    again = reader.bind(model, training=True)
    assert again.predicates == layout.predicates
    reader.engine.close()


def test_the_one_example_has_a_name() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.load("P", [("A",)], types=["t"], target=True)
    model = parse_mln("P(t)\n1 P(x)")
    catalog.bind(model, training=True)
    assert rows(catalog, "example") == [{"example": 0, "name": "all", "ordinal": 0}]
    assert rows(catalog, catalog.example_filter(["all"])) == [{"example": 0, "position": 0}]
    # A file of an earlier version calls it by an empty text, until it is bound again.
    catalog.engine.execute_sql("update sqlrl.example set name = ''", step="as before")
    with catalog.store.writing():
        catalog.store.set_state("atoms", json.dumps({"data": "1", "open": {"P": True}, "others": []}, sort_keys=True))
    catalog.bind(model, training=True)
    assert rows(catalog, "example")[0]["name"] == "all"


def test_examples_as_a_text_that_is_no_query(loaded: Catalog) -> None:
    loaded.bind(parse_mln(TEXT), training=True)
    for name in ("b1", "b99"):
        with pytest.raises(CatalogError) as raised:
            loaded.example_filter(name)
        assert str(raised.value) == (
            f"examples= takes a list of names, a query, a table, a frame or a file, and {name!r} is none of these; "
            f"did you mean the list [{name!r}] or the query SELECT {name!r}?"
        )
    with pytest.raises(CatalogError, match="examples= 'select bib frm test' is neither a file, nor a table"):
        loaded.example_filter("select bib frm test")


def test_two_arguments_of_the_example_type(catalog: Catalog) -> None:
    same = pa.table({"one": ["b1", "b2"], "other": ["b9", "b1"]})
    with pytest.raises(LoadError) as raised:
        catalog.load("Same", same, types=["bib", "bib"], example="bib")
    assert str(raised.value) == (
        "Same from an Arrow table: example='bib' is the type of the arguments 1 (column 'one') and 2 (column 'other'): "
        "name one by its column, example='one', or by its position, example=0."
    )
    with pytest.raises(LoadError, match="example=2 names no argument: positions run from 0 to 1"):
        catalog.load("Same", same, types=["bib", "bib"], example=2)
    for named in ("other", 1):
        catalog.load("Same", same, types=["bib", "bib"], example=named)
        assert [a.example for a in catalog.predicates()["Same"].arguments] == [False, True]
    # A column may have the name of the type.
    catalog.load("Like", same.rename_columns(["other", "bib"]), types=["bib", "bib"], example="bib")
    assert [a.example for a in catalog.predicates()["Like"].arguments] == [False, True]


def test_examples_are_numbered_as_rows_name_them_from_left_to_right(catalog: Catalog) -> None:
    catalog.examples(argument_type="bib")
    catalog.load("Same", [("b9", "b2"), ("b3", "b9"), ("b1", "b0")], types=["bib", "bib"])
    names = "select name from sqlrl.dictionary_bib order by id"
    assert catalog.engine.connection.sql(names).fetchall() == [(name,) for name in ("b9", "b2", "b3", "b1", "b0")]


def test_the_named_argument_is_the_example(catalog: Catalog) -> None:
    catalog.load("Has", [("b1", "b2", "x"), ("b2", "b1", "y")], types=["bib", "bib", "word"], example=1)
    model = parse_mln("Has(bib, bib, word)\nGood(bib, word)\nHas(c, b, w) => Good(b, w)")
    catalog.bind(model, training=True, roles=Roles(query=["Good"]))
    atoms = 'from sqlrl."named_Has" select * order by all'
    assert catalog.engine.connection.sql(atoms).fetchall() == [("b1", "b2", "x"), ("b2", "b1", "y")]
    words = """select b.name, w.name from sqlrl."domain_word" d join sqlrl."dictionary_word" w using (id)
        join sqlrl."dictionary_bib" b on b.id = d.example order by all"""
    assert catalog.engine.connection.sql(words).fetchall() == [("b1", "y"), ("b2", "x")]


def test_examples_that_only_the_second_argument_names(loaded: Catalog) -> None:
    loaded.load("Same", [("b1", "b7"), ("b8", "b2")], types=["bib", "bib"])
    names = "select name from sqlrl.dictionary_bib order by id"
    assert loaded.engine.connection.sql(names).fetchall() == [("b2",), ("b1",), ("b3",), ("b7",), ("b8",)]
    query = 'select * from sqlrl."named_Same" order by all'
    assert loaded.engine.connection.sql(query).fetchall() == [("b1", "b7"), ("b8", "b2")]


def test_views_with_names_exist_as_soon_as_facts_are_loaded(loaded: Catalog) -> None:
    def shown(name: str) -> tuple[list[str], list[Any]]:
        relation = loaded.engine.connection.sql(f'from sqlrl."named_{name}" order by all')
        return relation.columns, relation.fetchall()

    before = {name: shown(name) for name in ("Word", "Next", "Field")}
    assert before["Word"] == (["bib", "position", "word"], sorted(WORDS))
    # Types are unknown yet: the view shows the text that waits.
    assert before["Next"] == (["column0", "column1"], [("p1", "p0"), ("p2", "p1")])
    assert before["Field"][0][3:] == ["truth", "given", "prior"]
    loaded.bind(parse_mln(TEXT), training=True)
    # Columns are named by the types, once these are known.
    named = {"Word": ["bib", "position", "word"], "Next": ["position", "position_2"]}
    named["Field"] = ["bib", "field", "position", "truth", "given", "prior"]
    assert {name: shown(name) for name in before} == {name: (named[name], before[name][1]) for name in before}
    loaded.load("Next", [("p5", "p0")])
    assert shown("Next")[1] == [("p5", "p0")]
    loaded.load("Field", [("b2", "title", "p0", True), ("b2", "date", "p0", False)], given=True, truth=3)
    assert ("b2", "date", "p0", False, True, None) in shown("Field")[1]
    assert len(shown("Field")[1]) == 4
    loaded.load("Word", [("b1", "p0", "or", False), ("b1", "p1", "be", True)], truth=3)
    assert shown("Word")[1] == [("b1", "p1", "be")]
    loaded.load("Flag", pa.table({"yes": [True]}), types=[], truth="yes")
    assert shown("Flag") == (["truth"], [(True,)])


def test_views_of_predicates_that_a_model_leaves_out(loaded: Catalog) -> None:
    view = 'select bib, field, position from sqlrl."named_Field" order by all'
    other = parse_mln("Word(bib, position, word)\nGood(bib)\nWord(b, p, w) => Good(b)", query=("Good",))
    loaded.bind(parse_mln(TEXT), training=True)
    # Other constants are numbered anew, and the table of facts that the first model had is as it was.
    loaded.load("Word", WORDS[2:])
    loaded.bind(other, training=True)
    fields = [("b1", "author", "p0"), ("b2", "title", "p0")]
    assert loaded.engine.connection.sql(view).fetchall() == fields
    loaded.load("Field", fields[:1], target=True)
    loaded.bind(other, training=False)
    loaded.bind(parse_mln("Word(bib, position, word)\nWord(b, p, w)"), training=True)
    assert loaded.engine.connection.sql(view).fetchall() == fields[:1]


def test_a_predicate_that_is_loaded_again_in_another_role_can_be_left_out_of_a_model(loaded: Catalog) -> None:
    other = parse_mln("Word(bib, position, word)\nGood(bib)\nWord(b, p, w) => Good(b)", query=("Good",))
    loaded.load("Old", [("b1",)], types=["bib"])
    loaded.bind(other, training=True)
    loaded.load("Old", [("b2",)])
    loaded.load("Old", [("b3",)], target=True)
    assert loaded.bind(other, training=True).predicates["Good"].atom_count == 3
