"""The language bias that types and keys suggest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.derived_bias import FactKeys, derive_bias, modes_of
from sqlrl.engine.connection import connect
from sqlrl.errors import CatalogError, InputError

DRUGS = [f"d{i}" for i in range(6)]


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    sizes = [(drug, f"s{i // 2}", f"g{i % 3}") for i, drug in enumerate(DRUGS)]
    found.load("Size", sizes, types=["drug", "size", "group"])
    found.load("Mixes", [(a, b) for a in DRUGS[:3] for b in DRUGS[:3]], types=["drug", "drug"])
    found.load("Old", [(drug, i % 2 == 0) for i, drug in enumerate(DRUGS)], types=["drug"], truth=1)
    found.load("Better", [("d0", "d1")], types=["drug", "drug"], target=True)
    found.load("Worse", [("d0", "d1")], types=["drug", "drug"], target=True)
    yield found
    found.engine.close()


def test_keys_are_inputs_and_few_values_are_constants(catalog: Catalog) -> None:
    assert str(derive_bias(catalog.store, "Better")).split("\n") == [
        ":- modeh(1, Better(+drug,+drug)).",
        ":- modeb(10, Mixes(+drug,-drug)).",
        ":- modeb(*, Mixes(+drug,#drug)).",
        ":- modeb(10, Mixes(-drug,+drug)).",
        ":- modeb(*, Mixes(#drug,+drug)).",
        ":- modeb(1, Mixes(+drug,+drug)).",
        ":- modeb(1, Old(+drug)).",
        ":- modeb(1, Size(+drug,-size,-group)).",
        ":- modeb(1, Size(+drug,#size,-group)).",
        ":- modeb(1, Size(+drug,-size,#group)).",
        ":- modeb(1, Size(+drug,#size,#group)).",
        "",
    ]


def test_constants_can_be_fewer_or_none_and_the_body_chosen(catalog: Catalog) -> None:
    bias = derive_bias(catalog.store, "Better", body=["Size", "Old"], constants=0)
    assert [str(mode) for mode in bias.body] == ["1, Old(+drug)", "1, Size(+drug,-size,-group)"]
    assert bias.path == "modes of Better, derived from types and keys"
    bias.check({name: record.known_types() for name, record in catalog.predicates().items()})


def test_a_key_holds_in_an_example_where_examples_stand_beside_the_arguments() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    rows = [("1", "a", "x"), ("1", "b", "x"), ("2", "a", "y"), ("2", "b", "y")]
    catalog.load("Kind", rows, types=["node", "kind"], columns=[1, 2], example="column0")
    catalog.load("Good", [("1", "a")], types=["node"], columns=[1], example="column0", target=True)
    modes = [str(mode) for mode in derive_bias(catalog.store, "Good").body]
    assert modes == ["1, Kind(+node,-kind)", "1, Kind(+node,#kind)"]
    catalog.engine.close()


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12, unique=True),
    st.integers(0, 4),
)
def test_the_rules_hold_for_any_facts(rows: list[tuple[int, int, int]], constants: int) -> None:
    columns = list(zip(*rows, strict=True))
    values = tuple(len(set(c)) for c in columns)
    modes = modes_of("p", ["a", "b", "c"], FactKeys(len(rows), values), constants)
    assert len(set(modes)) == len(modes)
    for mode in modes:
        (input_,) = mode.positions("+")
        most = max(columns[input_].count(v) for v in columns[input_])
        assert (mode.recall == 1) == (most == 1)
        assert all(values[i] <= constants and 2 * values[i] <= len(rows) for i in mode.positions("#"))
    keys = [i for i, number in enumerate(values) if number == len(rows)]
    assert {mode.positions("+")[0] for mode in modes} == set(keys or range(3))


def test_one_query_whatever_the_number_of_predicates(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    for name in ("fetch", "fetch_rows"):
        run = getattr(catalog.engine, name)
        monkeypatch.setattr(
            catalog.engine, name, lambda query, *, step, run=run: steps.append(step) or run(query, step=step)
        )
    derive_bias(catalog.store, "Better", body=["Size"])
    few = list(steps)
    derive_bias(catalog.store, "Better")
    assert steps[len(few) :] == few
    assert few.count("count the values of arguments") == 1


@pytest.mark.parametrize(
    ("target", "body", "message"),
    [
        ("Beter", None, "there is no predicate 'Beter'; did you mean 'Better'?; load its facts first"),
        ("Better", ["Siz"], "there is no predicate 'Siz'; did you mean 'Size'?"),
        ("Better", ["Worse"], "Worse is open: a body has closed predicates only"),
        ("Better", ["Better"], "Better is the target: a body has closed predicates only"),
        ("Better", [], "there is no closed predicate beside Better: load facts"),
    ],
)
def test_what_cannot_be_derived_is_refused(catalog: Catalog, target: str, body: list[str] | None, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        derive_bias(catalog.store, target, body=body)
    assert message in str(caught.value)


def test_bad_options(catalog: Catalog) -> None:
    with pytest.raises(InputError, match="constants is -1: expected 0"):
        derive_bias(catalog.store, "Better", constants=-1)
    with pytest.raises(InputError, match="constants is 'few': expected 0"):
        derive_bias(catalog.store, "Better", constants="few")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="body must be a list of predicates, not 'Size'"):
        derive_bias(catalog.store, "Better", body="Size")


def test_predicates_whose_types_are_unknown_are_named() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.load("Better", [("d0", "d1")], types=["drug", "drug"], target=True)
    catalog.load("Waits", [("a",)])
    with pytest.raises(CatalogError, match="The types of Waits are not known yet"):
        derive_bias(catalog.store, "Better")
    catalog.engine.close()


def test_the_derived_bias_of_alzheimers_has_the_directions_of_the_shipped_one(data_folder: Path) -> None:
    folder = data_folder / "alzheimers"
    shipped = sqlrl.read_bias(folder / "amine.modes")
    catalog = Catalog(connect(":memory:", threads=1))
    for predicate in ("polar", "great_polar", "alk_groups"):
        (mode,) = [m for m in shipped.body if m.predicate == predicate]
        types = [place.type for place in mode.places]
        catalog.load(predicate, folder / "background" / f"{predicate}.csv", types=types)
    catalog.load("great_ne", [("a1", "b1")], types=["a", "a"], target=True)
    derived = {(m.predicate, m.places) for m in derive_bias(catalog.store, "great_ne").body}
    assert {(m.predicate, m.places) for m in shipped.body if m.predicate in catalog.predicates()} <= derived
    catalog.engine.close()


def test_the_example_is_an_input_of_all_modes_and_no_constant() -> None:
    catalog = Catalog(connect(":memory:", threads=1))
    facts = [(f"{place}", kind, f"e{e}") for e in range(3) for place, kind in enumerate("aab")]
    catalog.load("Kind", facts, types=["place", "kind", "doc"], example="doc")
    catalog.load("Next", [("0", "1"), ("1", "2")], types=["place", "place"])
    catalog.load("Good", [("1", "e0")], types=["place", "doc"], target=True)
    catalog.load("Odd", [("1",)], types=["place"], target=True)
    assert [str(mode) for mode in derive_bias(catalog.store, "Good", body=["Kind"]).body] == [
        "1, Kind(+place,-kind,+doc)",
        "1, Kind(+place,#kind,+doc)",
        "*, Kind(-place,-kind,+doc)",
        "*, Kind(#place,-kind,+doc)",
        "*, Kind(-place,#kind,+doc)",
        "*, Kind(#place,#kind,+doc)",
    ]
    # A target without examples has no such input.
    modes = derive_bias(catalog.store, "Odd", body=["Kind"]).body
    assert {mode.positions("+") for mode in modes} == {(0,), (1,), (2,)}
    catalog.engine.close()


def test_beside_a_key_references_are_followed_backwards() -> None:
    # One customer has many orders, and one order many lines; colours refer to nothing.
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.load("Bought", [(f"o{i}", f"c{i % 8}") for i in range(24)], types=["order", "customer"])
    catalog.load(
        "Line",
        [(f"l{i}", f"o{i % 24}", "red" if i % 2 else "blue") for i in range(96)],
        types=["line", "order", "colour"],
    )
    catalog.load("Rich", [(f"c{i}",) for i in range(4)], types=["customer"], target=True)
    assert [str(mode) for mode in derive_bias(catalog.store, "Rich").body] == [
        "1, Bought(+order,-customer)",
        "1, Bought(+order,#customer)",
        "10, Bought(-order,+customer)",
        "1, Line(+line,-order,-colour)",
        "1, Line(+line,-order,#colour)",
        "10, Line(-line,+order,-colour)",
        "100, Line(-line,+order,#colour)",
    ]
    # Without the orders' own table no argument of a line refers to an order.
    assert [str(mode) for mode in derive_bias(catalog.store, "Rich", body=["Line"]).body] == [
        "1, Line(+line,-order,-colour)",
        "1, Line(+line,-order,#colour)",
    ]
    catalog.engine.close()


def test_clauses_are_found_from_the_one_side_of_a_key() -> None:
    db = sqlrl.connect()
    family = [
        ("Ann", "Bob"),
        ("Ann", "Bea"),
        ("Bob", "Cid"),
        ("Bob", "Dan"),
        ("Bea", "Eve"),
        ("Cid", "Fay"),
        ("Eve", "Gus"),
    ]
    db.load("Parent", family, types=["person", "person"])
    db.load("HasChild", [(name,) for name in sorted({name for name, _ in family})], types=["person"], target=True)
    found = sqlrl.ILP(significance=1).fit(db, "HasChild").theory_.to_pylist()
    assert [(row["clause"], row["positives"], row["negatives"]) for row in found] == [
        ("Parent(p1, p2) => HasChild(p1)", 5, 0)
    ]


def test_many_customers_of_one_income_class_bring_in_ten() -> None:
    # All customers of a class were literals of one bottom clause, more than its limit.
    db = sqlrl.connect()
    customers = [f"c{i}" for i in range(4600)]
    classes = [(name, f"class{i % 2}", f"town{i % 40}") for i, name in enumerate(customers)]
    db.load("Income", classes, types=["customer", "income", "town"])
    db.load("Class", [("class0",), ("class1",)], types=["income"])
    db.load("Town", [(f"town{i}",) for i in range(40)], types=["town"])
    db.load("Rich", [(name,) for name in customers[1:40:2]], types=["customer"], target=True)
    db.scope("Rich", [(name,) for name in customers[:40]])
    modes = [str(mode) for mode in sqlrl.Bias.derive(db, "Rich", body=["Income", "Class"]).body]
    assert "10, Income(-customer,+income,-town)" in modes
    assert "100, Income(-customer,#income,+town)" in [str(mode) for mode in sqlrl.Bias.derive(db, "Rich").body]
    found = sqlrl.ILP(clause_length=2).fit(db, "Rich").theory_.to_pylist()
    assert [row["clause"] for row in found] == ['Income(c, "class1", t) => Rich(c)']


def test_a_link_among_many_is_found() -> None:
    # Everybody knows 40 people; that these two know each other is what matters.
    db = sqlrl.connect()
    knows = [(f"p{i}", f"p{(i + k) % 80}") for i in range(80) for k in range(1, 41)]
    db.load("Knows", knows, types=["person", "person"])
    trusts = [(a, b) for a, b in knows if a in ("p3", "p50")]
    db.load("Trusts", trusts, types=["person", "person"], target=True)
    db.scope("Trusts", [(a, f"p{i}") for a in ("p3", "p50") for i in range(80)])
    found = sqlrl.ILP(clause_length=2).fit(db, "Trusts").theory_.to_pylist()
    assert [(row["clause"], row["positives"], row["negatives"]) for row in found] == [
        ("Knows(p1, p2) => Trusts(p1, p2)", 80, 0)
    ]


def test_what_nothing_in_a_body_tells_apart_is_a_constant_of_the_head() -> None:
    db = sqlrl.connect()
    words = [(word, f"{k}", doc) for doc in ("d1", "d2", "d3") for k, word in enumerate(("by", "Ann", "1999"))]
    db.load("Token", words, types=["word", "place", "doc"], example="doc")
    fields = [
        (doc, field, f"{k}") for doc in ("d1", "d2", "d3") for k, field in enumerate(("Author", "Author", "Year"))
    ]
    db.load("Field", fields, types=["doc", "field", "place"], target=True)
    db.load("Place", [("0",), ("1",), ("2",)], types=["place"])
    assert str(sqlrl.Bias.derive(db, "Field")).split("\n")[0] == ":- modeh(1, Field(+doc,#field,+place))."
    assert str(sqlrl.Bias.derive(db, "Field", constants=1)).split("\n")[0] == ":- modeh(1, Field(+doc,+field,+place))."
    # The example is never named.
    assert (
        str(sqlrl.Bias.derive(db, "Field", body=["Place"])).split("\n")[0] == ":- modeh(1, Field(+doc,#field,+place))."
    )
    bias = sqlrl.Bias.derive(db, "Field", body=["Token"])
    found = sqlrl.ILP(bias, significance=1).fit(db, "Field").theory_.to_pylist()
    assert {row["clause"] for row in found} == {
        'Token("by", p, d) => Field(d, Author, p)',
        "Token(Ann, p, d) => Field(d, Author, p)",
        "Token(1999, p, d) => Field(d, Year, p)",
    }
