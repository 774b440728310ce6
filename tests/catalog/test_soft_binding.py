"""Soft models bound to data, what of their values Markov logic networks read, and what refuses them."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.layout import Layout, TableName
from sqlrl.catalog.roles import Roles
from sqlrl.catalog.soft_models import declarations
from sqlrl.errors import CatalogError, LabelWarning, UnseenConstantWarning
from tests.effort import draws

PEOPLE = "abc"
PAIRS = list(itertools.product(PEOPLE, repeat=2))
Pair = tuple[str, str]
Values = dict[Pair, float]
MODEL = sqlrl.parse_psl("1: Trusts(A, B) & Trusts(B, C) & A != C -> Knows(A, C) ^2\n1: !Knows(A, B)")
MLN = sqlrl.parse_mln("Trusts(person, person)\nKnows(person, person)\n1 Trusts(x, y) => Knows(x, y)", query=["Knows"])


@pytest.fixture(autouse=True)
def _partial_labels() -> Iterator[None]:
    """Labels of some pairs alone are said so, which is another test's matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        yield


def load(db: sqlrl.Database, predicate: str, rows: Values, **options: Any) -> None:
    data = [(*pair, value) for pair, value in rows.items()]
    db.load(predicate, data, **{"types": ["person", "person"], "value": 2, "empty": "allow"} | options)


def load_truths(db: sqlrl.Database, predicate: str, rows: Values, **options: Any) -> None:
    data = [(*pair, value >= 0.5) for pair, value in rows.items()]
    db.load(predicate, data, types=["person", "person"], truth=2, empty="allow", **options)


def named(db: sqlrl.Database, table: TableName, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table of pairs with names in place of ids, sorted."""
    extra = "".join(f", t.{column}" for column in columns)
    return db.sql(
        f'select x.name, y.name{extra} from {table.catalog}.{table.schema}."{table.name}" t join sqlrl.dictionary_person x on x.id = t.a0 '
        "join sqlrl.dictionary_person y on y.id = t.a1 order by all"
    ).fetchall()


def facts(db: sqlrl.Database, layout: Layout, predicate: str) -> dict[Pair, tuple[Any, ...]]:
    info = layout.predicates[predicate]
    columns = [*(["truth", "given"] if info.open else []), *(["value"] if info.valued else [])]
    return {row[:2]: row[2:] for row in named(db, info.facts, *columns)}


def atoms(db: sqlrl.Database, layout: Layout, predicate: str) -> dict[Pair, tuple[Any, ...]]:
    info = layout.predicates[predicate]
    assert info.atoms is not None
    columns = ["truth", *(["value"] if info.valued else [])]
    return {row[:2]: row[2:] for row in named(db, info.atoms, *columns)}


# ---- what is bound -----------------------------------------------------------------------------------

PAIR = st.sampled_from(PAIRS)
VALUE = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
@settings(max_examples=draws(20))
@given(
    st.dictionaries(PAIR, VALUE, min_size=1),
    st.dictionaries(PAIR, VALUE),
    st.none() | st.dictionaries(PAIR, VALUE),
    st.none() | st.sets(PAIR, min_size=1),
    st.sampled_from(["both", "given", "label", "none"]),
)
def test_tables_are_those_of_the_definitions(
    trust: Values, observed: Values, labels: Values | None, scope: set[Pair] | None, valued: str
) -> None:
    """Which pairs are facts and atoms, with which values, against dictionaries of Python."""
    labels = None if labels is None else {pair: v for pair, v in labels.items() if pair not in observed}
    people = {p for pairs in (trust, observed, labels or {}, scope or ()) for pair in pairs for p in pair}

    def said(rows: Values, role: str) -> Values:
        return rows if valued in ("both", role) else {pair: float(v >= 0.5) for pair, v in rows.items()}

    with sqlrl.connect() as db:
        load(db, "Trusts", trust)
        if observed:
            (load if valued in ("both", "given") else load_truths)(db, "Knows", observed, given=True)
        if labels is not None:
            (load if valued in ("both", "label") else load_truths)(db, "Knows", labels, target=True)
        if scope is not None:
            db.scope("Knows", sorted(scope))
        layout = db.advanced.catalog.bind(MODEL, training=False, roles=Roles(query=["Knows"]))
        assert facts(db, layout, "Trusts") == {pair: (v,) for pair, v in trust.items()}
        assert (layout.predicates["Trusts"].open, layout.predicates["Trusts"].valued) == (False, True)
        has = (valued in ("both", "given") and bool(observed)) or (valued in ("both", "label") and bool(labels))
        info = layout.predicates["Knows"]
        assert (info.open, info.valued, info.full_scope) == (True, has, scope is None)
        known = {pair: (v >= 0.5, True, v) for pair, v in said(observed, "given").items()}
        known |= {pair: (v >= 0.5, False, v) for pair, v in said(labels or {}, "label").items()}
        assert facts(db, layout, "Knows") == {pair: row if has else row[:2] for pair, row in known.items()}
        wanted: dict[Pair, tuple[Any, ...]] = {}
        for pair in itertools.product(sorted(people), repeat=2):
            if pair not in observed and (scope is None or pair in scope):
                row = (None, None) if labels is None else (False, 0.0)
                if labels is not None and pair in labels:
                    row = (known[pair][0], known[pair][2])
                wanted[pair] = row if has else row[:1]
        assert atoms(db, layout, "Knows") == wanted
        assert info.atom_count == len(wanted)


OPENED = "1: Trusts(A, B) -> Knows(A, B)"


def test_facts_that_nothing_opens_are_closed_and_needed() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    with pytest.raises(CatalogError, match=r"predicates of the model without data: Knows"):
        db.advanced.catalog.bind(sqlrl.parse_psl(OPENED), training=True)
    load(db, "Knows", {("a", "b"): 0.25})
    assert not db.advanced.catalog.bind(sqlrl.parse_psl(OPENED), training=True).predicates["Knows"].open


@pytest.mark.parametrize("kind", ["declared", "chosen", "label", "given", "scope"])
def test_what_opens_a_predicate(kind: str) -> None:
    """A declaration, a choice, or the data."""
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    model, roles = sqlrl.parse_psl(OPENED), Roles(query=["Knows"] if kind == "chosen" else [])
    if kind == "declared":
        model = sqlrl.SoftModel(model.predicates, model.rules, frozenset({"Knows"}))
    elif kind == "scope":
        db.scope("Knows", [("a", "b")])
    elif kind in ("label", "given"):
        load(db, "Knows", {("a", "b"): 0.25}, target=kind == "label", given=kind == "given")
    layout = db.advanced.catalog.bind(model, training=False, roles=roles)
    info = layout.predicates["Knows"]
    assert (info.open, info.has_given) == (True, kind == "given")
    every = set(itertools.product("ab", repeat=2))
    scope = {"scope": {("a", "b")}, "given": every - {("a", "b")}}.get(kind, every)
    assert atoms(db, layout, "Knows").keys() == scope
    assert not layout.predicates["Trusts"].open


def test_a_model_that_closes_a_target_is_refused() -> None:
    db = sqlrl.connect()
    load(db, "Knows", {("a", "b"): 0.5}, target=True)
    declared = MODEL.predicates["Knows"]
    model = sqlrl.parse_psl("1: Knows(A, B)")
    closed = sqlrl.SoftModel({"Knows": type(declared)("Knows", declared.arguments, closed=True)}, model.rules)
    with pytest.raises(CatalogError, match=r"^Knows is declared closed, but it is to be predicted: declare it open"):
        db.advanced.catalog.bind(closed, training=True)


def test_soft_evidence_is_no_soft_truth() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    db.load("Knows", [("a", "b", 0.5)], types=["person", "person"], probability=2)
    with pytest.raises(
        CatalogError,
        match=r"Knows was loaded with probability= .*: load it with value= for a soft model, and with given=",
    ):
        db.advanced.catalog.bind(MODEL, training=True)
    load(db, "Likes", {("a", "b"): 0.5}, target=True)
    layout = db.advanced.catalog.bind(sqlrl.parse_psl("1: Trusts(A, B) -> Likes(A, B)"), training=True)
    assert sorted(layout.predicates) == ["Likes", "Trusts"]


# ---- types and constants -----------------------------------------------------------------------------

TYPES: list[tuple[str, dict[str, list[str] | None], str, list[str]]] = [
    ("1: P(A, B) -> Q(B, A)", {"P": ["s", "t"]}, "Q", ["t", "s"]),
    ("1: P(A, B) & Q(B, C) -> R(A, C)", {"P": ["s", "t"], "Q": ["t", "u"]}, "R", ["s", "u"]),
    (
        "1: P(A, B) & Q(A, C) -> R(C, D)\n1: R(A, B) & A != B -> R(B, A)",
        {"P": ["s", "t"], "Q": None},
        "Q",
        ["s", "UniqueStringID"],
    ),
    ("1: P(A, B) & Q(C, D) & A != C -> R(C, D)", {"P": ["s", "t"]}, "R", ["s", "UniqueStringID"]),
    ("P(A, +B) = 1 .\n1: P(A, B) -> Q(B, B)", {"P": ["s", "t"]}, "Q", ["t", "t"]),
    ("1: Q(A, B) -> R(A, B)\n1: R(B, A) -> P(A, B)", {"P": ["s", "t"]}, "Q", ["t", "s"]),
    ("1: P(A, B) -> Q(A, B)", {"P": None, "Q": None}, "Q", ["UniqueStringID", "UniqueStringID"]),
    ("1: P(A, B) -> Q(A, B)", {"P": None, "Q": ["s", "t"]}, "P", ["s", "t"]),
]


@pytest.mark.parametrize(("text", "loaded", "predicate", "types"), TYPES, ids=range(len(TYPES)))
def test_types_are_those_of_the_data(
    text: str, loaded: dict[str, list[str] | None], predicate: str, types: list[str]
) -> None:
    """Of the tables, and where those have none of what variables connect; tables that wait for types get them."""
    db = sqlrl.connect()
    for name, kinds in loaded.items():
        db.load(name, [("x", "y", 0.5)], types=kinds, value=2)
    model = sqlrl.parse_psl(text)
    for name in model.predicates.keys() - loaded.keys():
        db.scope(name, [("x", "y")])
    found = db.advanced.catalog.typed(model)
    assert list(found.predicates[predicate].types) == types
    assert found.rules == model.rules
    layout = db.advanced.catalog.bind(model, training=False)
    assert {name: info.types for name, info in layout.predicates.items()} == {
        name: p.types for name, p in found.predicates.items()
    }
    assert db.advanced.catalog.typed(model) == found


def test_tables_of_other_types_are_refused_with_the_rule() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    load(db, "Knows", {("a", "b"): 0.5}, types=["person", "city"], target=True)
    with pytest.raises(
        CatalogError, match=r"<text>:1: the variable . is of the type .* load one of the two again .*types=\["
    ):
        db.advanced.catalog.bind(MODEL, training=True)


def test_types_that_a_model_declares_stay() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    load(db, "Knows", {("a", "b"): 0.5}, target=True)
    kept = MODEL.with_types({"Trusts": ["agent", "agent"], "Knows": ["agent", "agent"]})
    with pytest.raises(
        CatalogError, match=r"Trusts\(agent, agent\) is declared, but its data have the types \(person, person\)"
    ):
        db.advanced.catalog.bind(kept, training=True)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("1: Trusts(A) -> Knows(A, A)", r"^Trusts has 1 argument in the model, and its data have 2, of the types \(person, person\): .* 1 column"),
        ("1: Trusts(A, B) + Knows(A, B, A) = 1", r"^Knows has 3 arguments in the model, and its data have 2, .*with 2 there"),
    ],
)  # fmt: skip
def test_a_rule_with_another_number_of_arguments_than_its_table_is_refused(rule: str, message: str) -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    load(db, "Knows", {("a", "b"): 0.5}, target=True)
    with pytest.raises(CatalogError, match=message):
        db.predict(sqlrl.parse_psl(rule))


def test_constants_of_rules_belong_to_their_types() -> None:
    """Of atoms, of comparisons, and of filters; and no constant is taken for a variable, since they have quotes."""
    text = (
        "1: Trusts('X', 'a') & Trusts('X', 'b') -> Knows('X', 'Q')\n1: Knows(A, B) & A != 'Z' & 'Y' == B -> Trusts(B, A)\n"
        "Knows(A, +B) <= 1 . {B: Trusts(B, 'F')}"
    )
    model = sqlrl.parse_psl(text)
    named_by = declarations(model.with_types({"Trusts": ["person", "person"], "Knows": ["person", "person"]}))
    assert sorted(named_by.rule_constants["person"]) == ["F", "Q", "X", "Y", "Z", "a", "b"]
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    layout = db.advanced.catalog.bind(model, training=True, roles=Roles(query=["Knows"]))
    assert (layout.types["person"].size, layout.types["person"].of_rules) == (7, 5)


def test_constants_that_may_be_misspelt_are_said() -> None:
    db = sqlrl.connect()
    db.load("Lived", [("Anna", "Rome", 0.5)], types=["person", "place"], value=2)
    db.load("Knows", [("Anna", "Anna", 0.5)], types=["person", "person"], value=2, target=True)
    with pytest.warns(UnseenConstantWarning, match=r"'rome' of place \(<text>:2\) is like 'Rome'"):
        db.advanced.catalog.bind(sqlrl.parse_psl("1: !Knows(A, B)\n1: Lived(A, 'rome') -> Knows(A, A)"), training=True)


# ---- Markov logic networks ---------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["fact", "given", "label", "undeclared"])
def test_values_between_refuse_a_markov_logic_network(where: str) -> None:
    db = sqlrl.connect()
    load(
        db,
        "Trusts",
        {
            ("a", "b"): 1.0,
            ("b", "a"): 0.5 if where == "fact" else 0.0,
            ("c", "a"): 1 - 2**-53 if where == "fact" else 1.0,
        },
    )
    load(db, "Knows", {("a", "b"): 1.0, ("b", "c"): 5e-324 if where == "given" else 0.0}, given=True)
    load(db, "Knows", {("a", "c"): 1.0, ("c", "c"): 0.3 if where == "label" else 0.0}, target=True)
    load(db, "Envies", {("a", "c"): 0.3, ("d", "d"): 0.2})
    if where == "undeclared":
        # What the model does not declare is not there for it.
        assert sorted(db.advanced.bind(MLN, training=True).predicates) == ["Knows", "Trusts"]
        return
    name, number = ("Trusts", "2 values") if where == "fact" else ("Knows", "1 value")
    message = rf"^{name} has {number} between 0 and 1, .*: load it with probability= .* \(select \.\.\. where value >= 0\.5\), .* drop=\.$"
    for verb in (
        lambda: db.advanced.bind(MLN, training=True),
        lambda: db.predict(MLN),
        lambda: sqlrl.AdaGrad().fit(db, MLN),
    ):
        with pytest.raises(CatalogError, match=message):
            verb()
    db.advanced.catalog.bind(MODEL, training=True)
    with pytest.raises(CatalogError, match=message):
        db.advanced.bind(MLN, training=True)


def test_the_ways_out_that_the_error_names_work() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.7, ("b", "c"): 0.2})
    model = sqlrl.parse_mln(f"{MLN}\n-0.1 Knows(x, y)", query=["Knows"])
    with pytest.raises(CatalogError, match=r"select \.\.\. where value >= 0\.5"):
        db.advanced.bind(model)
    assert db.predict(model, roles=sqlrl.Roles(drop=["Trusts"])).atoms("Knows").num_rows == 0
    db.load("Trusts", "select person, person_2 from sqlrl.named_Trusts where value >= 0.5", types=["person", "person"])
    (row,) = db.predict(model).atoms("Knows").to_pylist()
    assert (row["person"], row["person_2"]) == ("a", "b")
    load(db, "Trusts", {("a", "b"): 0.7, ("b", "c"): 0.2})
    db.load("Trusts", [], empty="allow")
    load(db, "Trusts", {("a", "b"): 0.7, ("b", "c"): 0.2}, value=None, probability=2)
    assert db.advanced.bind(model).predicates["Trusts"].open


HARD = st.sampled_from([0.0, 1.0])


@pytest.mark.slow
@settings(max_examples=draws(8))
@given(
    st.dictionaries(PAIR, HARD, min_size=1, max_size=5),
    st.dictionaries(PAIR, HARD, max_size=2),
    st.dictionaries(PAIR, HARD, max_size=4),
)
def test_zeros_and_ones_are_false_and_true(trust: Values, observed: Values, labels: Values) -> None:
    """A Markov logic network reads them as what truth= says: the same facts, atoms, counts and predictions; soft models come between."""
    labels = {pair: v for pair, v in labels.items() if pair not in observed}
    found = []
    for put in (load, load_truths):
        with sqlrl.connect() as db:
            put(db, "Trusts", trust)
            if observed:
                put(db, "Knows", observed, given=True)
            put(db, "Knows", labels, target=True)
            rows: list[Any] = []
            for _ in range(2):
                layout = db.advanced.bind(MLN, training=True)
                assert {pair for pair, v in trust.items() if v} == facts(db, layout, "Trusts").keys()
                assert layout.predicates["Trusts"].rows == sum(trust.values())
                rows += [
                    {p: r[:2] for p, r in facts(db, layout, "Knows").items()},
                    {p: r[:1] for p, r in atoms(db, layout, "Knows").items()},
                ]
                rows += [sorted(db.count(MLN)["n"]), db.predict(MLN).atoms("Knows", every=True).to_pylist()]
                if put is load:
                    soft = db.advanced.catalog.bind(MODEL, training=True)
                    assert {p: v for p, (v,) in facts(db, soft, "Trusts").items()} == trust
            assert rows[:4] == rows[4:]
            found.append(rows)
    assert found[0] == found[1]


def test_definitions_and_derived_modes_use_what_is_true_or_false() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 1.0, ("b", "c"): 0.0})
    load(db, "Envies", {("a", "b"): 0.5, ("b", "c"): 0.0})
    load(db, "Knows", {("a", "b"): 1.0, ("b", "c"): 0.0}, target=True)
    db.define("Both(x, y) :- Trusts(x, y).")
    assert db.sql("from sqlrl.named_Both").fetchall() == [("a", "b")]
    with pytest.raises(
        CatalogError, match=r"Envies has 1 value between 0 and 1, and a definition uses facts that are true or false"
    ):
        db.define("Green(x, y) :- Envies(x, y).")
    from sqlrl.catalog.derived_bias import derive_bias

    assert {mode.predicate for mode in derive_bias(db.advanced.catalog.store, "Knows").body} == {"Both", "Trusts"}
    with pytest.raises(CatalogError, match=r"Envies has 1 value between 0 and 1"):
        derive_bias(db.advanced.catalog.store, "Knows", body=["Envies"])


def test_soft_data_are_split() -> None:
    db = sqlrl.connect()
    values = {pair: i / 10 for i, pair in enumerate(PAIRS)}
    load(db, "Trusts", values)
    load(db, "Knows", values, target=True)
    split = db.split(0.3)
    assert len(split.test) + len(split.train) == len(PAIRS)


# ---- examples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [True, False], ids=["column", "argument"])
def test_a_fact_of_value_zero_puts_no_constant_into_an_example(beside: bool) -> None:
    rows = [("d1", "x", 0.2), ("d1", "y", 0.0), ("d2", "y", 1.0), ("d2", "z", 0.5)]
    db = sqlrl.connect()
    options: dict[str, Any] = {"columns": [1], "types": ["word"]} if beside else {"types": ["doc", "word"]}
    db.load("Word", rows, value=2, example="column0" if beside else "doc", **options)
    arguments = "W" if beside else "D, W"
    model = sqlrl.parse_psl(f"1: Word({arguments}) -> Tag({arguments})")
    layout = db.advanced.catalog.bind(model, training=False, roles=Roles(query=["Tag"]))
    assert layout.types["word"].local
    query = "select e.name, d.name from sqlrl.domain_word w join sqlrl.example e using (example) join sqlrl.dictionary_word d using (id) order by all"
    assert db.sql(query).fetchall() == [("d1", "x"), ("d2", "y"), ("d2", "z")]
    assert layout.predicates["Tag"].atom_count == 3
    assert layout.predicates["Word"].rows == 4


@pytest.mark.parametrize(
    ("soft", "valued"),
    [
        (True, ("Word", "Tag")),
        (False, ("Tag",)),
        *(
            pytest.param(*cell, marks=pytest.mark.slow)
            for cell in ((True, ("Word",)), (True, ("Tag",)), (False, ("Word", "Tag")), (False, ("Word",)))
        ),
    ],
)
def test_appended_examples_grow_to_what_a_build_of_all_gives(soft: bool, valued: tuple[str, ...]) -> None:
    first = {"Word": [("d1", "x", 1.0), ("d1", "y", 0.0)], "Tag": [("d1", "x", 1.0)]}
    more = {"Word": [("d2", "y", 1.0), ("d2", "x", 0.0)], "Tag": [("d2", "y", 0.0)]}
    mln = sqlrl.parse_mln("Word(doc, word)\nTag(doc, word)\n1 Word(d, w) => Tag(d, w)")
    psl = sqlrl.parse_psl("1: Word(D, W) -> Tag(D, W)")

    def put(db: sqlrl.Database, data: dict[str, list[tuple[str, str, float]]], append: bool) -> None:
        for name, rows in data.items():
            how: dict[str, Any] = {"value": 2} if name in valued else {"truth": 2}
            given_rows = rows if name in valued else [(d, w, v == 1) for d, w, v in rows]
            db.load(
                name,
                given_rows,
                types=["doc", "word"],
                example="doc",
                target=name == "Tag",
                **how,
                mode="append" if append else "replace",
            )

    found = []
    for grown in (True, False):
        with sqlrl.connect() as db:
            put(db, first, append=False)
            if grown:
                db.advanced.catalog.bind(psl if soft else mln, training=True)
            put(db, more, append=True)
            layout = db.advanced.catalog.bind(psl if soft else mln, training=True)
            names = [
                layout.predicates["Tag"].facts.name,
                "atom_Tag",
                layout.predicates["Word"].facts.name,
                "domain_word",
            ]
            found.append([db.sql(f'from sqlrl."{name}" order by all').fetchall() for name in names])
            infos = [layout.predicates[name] for name in ("Word", "Tag")]
            found[-1] += [[(info.rows, info.atom_count, info.valued) for info in infos]]
            assert [info.valued for info in infos] == ["Word" in valued, "Tag" in valued]
    assert found[0] == found[1]


@pytest.mark.parametrize("role", ["fact", "given", "label"])
def test_the_first_values_may_be_appended_after_a_model_was_bound(role: str) -> None:
    """A source without a row has no values, though it has the column."""
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 1.0})
    how = {"target": role == "label", "given": role == "given"}
    load(db, "Knows", {("x", "y"): 0.5}, **how)
    db.load("Knows", [("x", "y")], mode="remove")
    layout = db.advanced.catalog.bind(MODEL, training=True)
    assert not layout.predicates["Knows"].valued
    assert "value" not in db.sql("from sqlrl.named_Knows").columns
    load(db, "Knows", {("a", "b"): 0.25}, mode="append", **how)
    layout = db.advanced.catalog.bind(MODEL, training=True)
    assert facts(db, layout, "Knows")["a", "b"][-1] == 0.25
    assert layout.predicates["Knows"].valued
    assert db.sql("select value from sqlrl.named_Knows").fetchall() == [(0.25,)]


# ---- files -------------------------------------------------------------------------------------------


def test_a_file_that_can_only_be_read_is_bound(tmp_path: Path) -> None:
    path = tmp_path / "soft.duckdb"
    with sqlrl.connect(path) as db:
        load(db, "Trusts", {("a", "b"): 0.5, ("b", "a"): 0.0})
        load(db, "Knows", {("a", "b"): 0.25}, target=True)
    for options in ({"read_only": True}, {"trusted": False}):
        with sqlrl.connect(path, **options) as db:
            layout = db.advanced.catalog.bind(MODEL, training=True)
            assert facts(db, layout, "Trusts") == {("a", "b"): (0.5,), ("b", "a"): (0.0,)}
            assert atoms(db, layout, "Knows")["a", "b"] == (False, 0.25)
            with pytest.raises(CatalogError, match=r"Trusts has 1 value"):
                db.advanced.bind(MLN)


@pytest.mark.usefixtures("comments")
def test_tables_and_views_of_values_have_comments() -> None:
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    load(db, "Knows", {("a", "b"): 0.25}, target=True)
    layout = db.advanced.catalog.bind(MODEL, training=True)
    names = [
        "named_Trusts",
        "named_Knows",
        "atom_Knows",
        *(layout.predicates[n].facts.name for n in ("Trusts", "Knows")),
    ]
    for name in names:
        found = db.sql(f"select column_name, comment from duckdb_columns() where table_name = '{name}'").fetchall()
        assert all(text for _, text in found), found
        assert dict(found)["value"].startswith("Soft truth, from 0 to 1")


def test_atoms_without_a_row_are_said(recwarn: pytest.WarningsRecorder) -> None:
    """As where truth= says what is false: other pairs count as 0, too."""
    db = sqlrl.connect()
    load(db, "Trusts", {("a", "b"): 0.5})
    load(db, "Knows", {("a", "b"): 0.25}, target=True)
    with pytest.warns(
        LabelWarning, match=re.escape("1 row of Knows is false, but 3 more tuples of the right types have no row")
    ):
        db.advanced.catalog.bind(MODEL, training=True)
