"""Counts by the constants of variables: what users name, what comes back, and what is refused."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.database import Database
from sqlrl.errors import GroundingLimitError, InputError, ModelError

SMOKERS = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
PAIRS = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna"), ("Anna", "Dora")]
HOSTILE = ["O'Brien", 'a"b', "x; drop table t", "", " ", "naïve", "日本", "line\nbreak", "NULL", "-1", "🙂"]


@pytest.fixture(scope="module")
def db() -> Database:
    """For tests that only ask."""
    found = sqlrl.connect()
    found.load("Friends", PAIRS, types=("person", "person"))
    found.load("Smokes", [("Anna",), ("Chris",)], types=("person",), target=True)
    found.load("Cancer", [("Bob",)], types=("person",), target=True)
    return found


def rows(table: sqlrl.Table, *names: str) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    keys = [(*(row[name] for name in names), row["clause"]) for row in table]
    assert len(keys) == len(set(keys))
    return {key: (row["groundings"], row["n"], row["violated"]) for key, row in zip(keys, table, strict=True)}


# ---- what is counted ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_formula_is_counted_by_each_of_its_variables(db: Database) -> None:
    people = ["Anna", "Bob", "Chris", "Dora"]
    smokes = {"Anna", "Chris"}
    for by in (["x"], ["y"], ["x", "y"], ["y", "x"]):
        want: dict[tuple[Any, ...], list[int]] = {}
        for x, y in product(people, people):
            holds = not ((x, y) in PAIRS and x in smokes) or y in smokes
            found = want.setdefault((*({"x": x, "y": y}[name] for name in by), 0), [0, 0, 0])
            found[0] += 1
            found[1 if holds else 2] += 1
        table = db.count("Friends(x, y) ^ Smokes(x) => Smokes(y)", by=by)
        assert table.columns == [*by, "clause", "groundings", "n", "violated", "applies"]
        assert rows(table, *by) == {key: tuple(value) for key, value in want.items()}
        assert table == db.count("Friends(x, y) ^ Smokes(x) => Smokes(y)", by=", ".join(by))
        for groups, place in (("violated", 2), ("true", 1)):
            some = db.count("Friends(x, y) ^ Smokes(x) => Smokes(y)", by=by, groups=groups)  # type: ignore[arg-type]
            assert rows(some, *by) == {key: tuple(value) for key, value in want.items() if value[place]}


@pytest.mark.slow
def test_a_model_is_counted_where_its_clauses_have_the_variables(db: Database) -> None:
    rules = [
        "1 Friends(x, y) ^ Smokes(x) => Smokes(y)",
        "-1 Smokes(x) ^ Cancer(x)",
        "2 Friends(y, x) ^ Smokes(y) => Smokes(x)",
        "Smokes(z) v !Cancer(z).",
        "1 Friends(x, y) <=> Friends(y, x)",
        "1 Smokes(x) => (EXIST y (Friends(x, y) ^ Smokes(y)))",
        "1 Friends(x, Anna) ^ x != Bob => Smokes(x)",
        "Smokes(+x) => Cancer(y)",
    ]
    model = sqlrl.parse_mln(SMOKERS + "\n".join(rules), query=("Smokes", "Cancer"))
    whole = {row["clause"]: row for row in db.count(model)}
    table = db.count(model, by="x")
    have = {clause for clause, row in whole.items() if "z" not in row["text"]}
    assert {row["clause"] for row in table} == have
    assert len(have) > len(rules)
    for clause in have:
        mine = [row for row in table if row["clause"] == clause]
        assert sum(row["n"] for row in mine) == whole[clause]["n"]
        assert sum(row["groundings"] for row in mine) == whole[clause]["groundings"]
    # What one rule calls x another calls y, though they are one shape.
    by_y = rows(db.count(model, by="y"), "y")
    assert {key[0]: value for key, value in rows(table, "x").items() if key[1] == 0} == {
        key[0]: value for key, value in by_y.items() if key[1] == 2
    }
    assert [row["clause"] for row in table] == sorted(row["clause"] for row in table)
    # A clause of a template is in the groups of its own constant alone; here it has no other variable.
    alone = db.count(sqlrl.parse_mln(SMOKERS + "Smokes(+x) => Cancer(Bob)", query=("Smokes", "Cancer")), by="x")
    assert {row["x"]: (row["groundings"], row["n"]) for row in alone} == dict.fromkeys(
        ("Anna", "Bob", "Chris", "Dora"), (1, 1)
    )
    fixed = {row["clause"]: row["x"] for row in table if "=> Cancer(y)" in whole[row["clause"]]["text"]}
    assert {whole[clause]["text"] for clause in fixed} == {f"Smokes({x}) => Cancer(y)" for x in fixed.values()}


def test_one_name_may_be_of_several_types() -> None:
    db = sqlrl.connect()
    db.load("Likes", [("Anna", "tea"), ("Bob", "tea"), ("Bob", "milk")], types=("person", "drink"))
    db.load("Glad", [("Anna",)], types=("person",), target=True)
    text = "Likes(person, drink)\nGlad(person)\n1 Likes(x, y) => Glad(x)\n1 Likes(y, x) => Glad(y)\n1 Likes(y, +x) => Glad(y)"
    table = db.count(sqlrl.parse_mln(text, query=("Glad",)), by="x")
    found = rows(table, "x")
    assert {key: value for key, value in found.items() if key[1] == 0} == {
        ("Anna", 0): (2, 2, 0),
        ("Bob", 0): (2, 0, 2),
    }
    assert {key: value for key, value in found.items() if key[1] == 1} == {
        ("milk", 1): (2, 1, 1),
        ("tea", 1): (2, 1, 1),
    }
    assert {key[0]: value for key, value in found.items() if key[1] > 1} == {"milk": (2, 1, 1), "tea": (2, 1, 1)}
    assert [row["clause"] for row in table] == sorted(row["clause"] for row in table)


def test_examples_of_a_column_are_named_example() -> None:
    db = sqlrl.connect()
    tokens = [("d1", "w", "1"), ("d1", "v", "2"), ("d2", "w", "1"), ("d2", "w", "2"), ("d2", "w", "3")]
    db.load("Token", tokens, types=("word", "place"), example="column0")
    db.load("Named", [("d1", "1"), ("d2", "3")], types=("place",), example="column0", target=True)
    text = "Token(w, p) => Named(p)"
    want = Counter((doc, place) for doc, _, place in tokens if (doc, place) not in {("d1", "1"), ("d2", "3")})
    table = db.count(text, by=["example", "p"], groups="violated")
    assert {key[:2]: value[2] for key, value in rows(table, "example", "p").items()} == dict(want)
    # Words and places are those of each example: two of each in one, one word at three places in the other.
    assert {key[0]: value[0] for key, value in rows(db.count(text, by="example"), "example").items()} == {
        "d1": 4,
        "d2": 3,
    }
    assert {key[0]: value[0] for key, value in rows(db.count(text, by="p"), "p").items()} == {"1": 3, "2": 3, "3": 1}
    only = db.count(text, by="p", examples=["d1"])
    assert {key[0]: value for key, value in rows(only, "p").items()} == {"1": (2, 2, 0), "2": (2, 1, 1)}
    # A variable of that name is what it says.
    named = db.count("Token(example, p) => Named(p)", by="example")
    assert {row["example"] for row in named} == {"w", "v"}


@pytest.mark.slow
def test_worlds_and_predictions(db: Database) -> None:
    model = sqlrl.parse_mln(
        SMOKERS + "2 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.5 Smokes(x)\n-3 Cancer(Eve)", query=("Smokes", "Cancer")
    )
    prediction = db.predict(model)
    for world in (prediction, {"Smokes": "select 'Bob' as person", "Cancer": "select 'Bob' as person where false"}):
        whole = {row["clause"]: row["n"] for row in db.count(model, world=world)}
        found = Counter[int]()
        for row in db.count(model, world=world, by="x"):
            found[row["clause"]] += row["n"]
        assert dict(found) == {clause: whole[clause] for clause in found}
        assert set(found) == {0, 1}
    # A formula is held against the model of the prediction, whose atoms the world has.
    formula = "Friends(x, y) ^ Smokes(x) => Smokes(y)"
    alone, within = db.count(formula, by="y", world=prediction), db.count(model, by="y", world=prediction)
    assert [list(row.values())[2:] for row in alone] == [list(row.values())[2:] for row in within]
    (row,) = db.count(formula, world=prediction)
    assert row["n"] == sum(row["n"] for row in alone)


@pytest.mark.slow
def test_a_formula_is_held_against_a_model(db: Database) -> None:
    """Its constants are in the domains, its declarations say what is predicted, and its other rules are not counted."""
    rules = "2 Smokes(Eve) v Smokes(x)\nFriends(x, +y) => Old(x)\n1 " + " v ".join(
        f"Friends(x, y{i})" for i in range(9)
    )
    model = sqlrl.parse_mln(SMOKERS + "Old(person)\n" + rules, query=("Old",))
    world = {"Smokes": "select 'Bob' as person", "Old": "select 'Eve' as person"}
    formula = "Friends(x, y) => Old(x) v Smokes(y)"
    people = ["Anna", "Bob", "Chris", "Dora", "Eve"]
    holds = {(x, y): (x, y) not in PAIRS or x == "Eve" or y == "Bob" for x, y in product(people, people)}
    (row,) = db.count(model, formula=formula, world=world, limit=0)
    assert (row["clause"], row["n"], row["groundings"]) == (0, sum(holds.values()), 25)
    found = rows(db.count(model, formula=formula, by="y,x", world=world, limit=0, most_groups=None), "y", "x")
    assert found == {(y, x, 0): (1, int(true), int(not true)) for (x, y), true in holds.items()}
    template = db.count(model, formula="Friends(x, +y) => Old(y)", by="y", world=world)
    assert [row["clause"] for row in template] == list(range(len(template)))
    assert [row["y"] for row in template] == [
        row["text"].split(", ")[1].split(")")[0]
        for row in db.count(model, formula="Friends(x, +y) => Old(y)", world=world)
    ]
    # Groups that are left out leave the numbers of clauses as they are.
    some = db.count(model, formula="Friends(x, +y) => Old(y)", by="y", groups="violated", world=world)
    assert [row for row in template if row["violated"]] == list(some)
    with pytest.raises(InputError, match="a model is needed"):
        db.count(3, formula=formula)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the text of a formula is a str, not int"):
        db.count(model, formula=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a model is needed, not None"):
        db.count()


@pytest.mark.parametrize("semantics", [pytest.param("exact", marks=pytest.mark.slow), "alchemy"])
def test_formulas_beyond_one_clause(db: Database, semantics: str) -> None:
    text = (
        SMOKERS
        + "1 Smokes(x) ^ Cancer(y)\nSmokes(x) ^ (Cancer(x) v Friends(x, y)).\n1 Smokes(x) ^ Cancer(y) v Friends(x, y)"
    )
    model = sqlrl.parse_mln(text, query=("Smokes", "Cancer"), semantics=semantics)
    whole = {row["clause"]: row for row in db.count(model)}
    for by in ("x", "y", "x,y"):
        found: dict[int, list[int]] = {}
        for row in db.count(model, by=by):
            total = found.setdefault(row["clause"], [0, 0])
            total[0] += row["n"]
            total[1] += row["groundings"]
        assert found
        assert found == {clause: [whole[clause]["n"], whole[clause]["groundings"]] for clause in found}


def test_hostile_constants_come_back_as_they_are() -> None:
    db = sqlrl.connect()
    names = [name for name in HOSTILE if name.strip()]
    pairs = [(a, b) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    db.load("Friends", pairs, types=("person", "person"))
    db.load("Smokes", [(names[0],), (names[3],)], types=("person",), target=True)
    found = rows(db.count("Friends(x, y) => Smokes(y)", by="x,y", groups="violated"), "x", "y")
    assert found == {(a, b, 0): (1, 0, 1) for a, b in pairs if b not in (names[0], names[3])}


def test_columns_that_are_taken_get_another_name(db: Database) -> None:
    table = db.count(
        "Friends(n, clause) ^ Friends(clause, n_) ^ Friends(n_, vIOLATED) => Smokes(n)", by="n,clause,vIOLATED"
    )
    assert table.columns == ["n_", "clause_", "vIOLATED_", "clause", "groundings", "n", "violated", "applies"]
    assert set(table["clause_"]) == {"Anna", "Bob", "Chris", "Dora"}
    assert table.to_duckdb(db.advanced.engine.connection).aggregate("count(distinct n_)").fetchall() == [(4,)]


EDGES = 60


@pytest.fixture(scope="module")
def graph() -> Database:
    found = sqlrl.connect()
    generator = np.random.default_rng(5)
    pairs = sorted({(f"V{a}", f"V{b}") for a, b in generator.integers(0, EDGES, (300, 2)).tolist()})
    found.load("Edge", pairs, types=("node", "node"))
    found.advanced.engine.connection.execute("create table edge (a varchar, b varchar)")
    found.advanced.engine.connection.executemany("insert into edge values (?, ?)", pairs)
    return found


@pytest.mark.parametrize(
    ("formula", "joined", "variables"),
    [
        ("Edge(x, y) ^ Edge(y, z)", "edge e join edge f on f.a = e.b", {"x": "e.a", "y": "e.b", "z": "f.b"}),
        (
            "Edge(x, y) ^ Edge(y, z) ^ Edge(z, x)",
            "edge e join edge f on f.a = e.b join edge g on g.a = f.b and g.b = e.a",
            {"x": "e.a", "y": "e.b", "z": "f.b"},
        ),
        (
            "Edge(x, y) ^ Edge(y, z) ^ Edge(z, w)",
            "edge e join edge f on f.a = e.b join edge g on g.a = f.b",
            {"x": "e.a", "z": "g.a", "w": "g.b"},
        ),
        (
            "Edge(x, y) ^ Edge(x, z) ^ y != z",
            "edge e join edge f on f.a = e.a and f.b <> e.b",
            {"x": "e.a", "y": "e.b", "z": "f.b"},
        ),
        ("Edge(x, y) ^ !Edge(y, x)", "edge e anti join edge f on f.a = e.b and f.b = e.a", {"x": "e.a", "y": "e.b"}),
        ("Edge(x, y) ^ Edge(z, w) ^ x != V7", "edge e join edge f on e.a <> 'V7'", {"x": "e.a", "z": "f.a"}),
        ("Edge(x, y) ^ x = z ^ Edge(z, w)", "edge e join edge f on f.a = e.a", {"x": "e.a", "z": "f.a", "w": "f.b"}),
        (
            "Edge(x, y) ^ (EXIST z Edge(y, z) ^ Edge(z, x))",
            "edge e where exists (from edge f join edge g on g.a = f.b where f.a = e.b and g.b = e.a)",
            {"x": "e.a", "y": "e.b"},
        ),
    ],
)
def test_conjunctions_are_what_sql_groups(
    graph: Database, formula: str, joined: str, variables: dict[str, str]
) -> None:
    names = list(variables)
    for by in ([names[0]], [names[-1], names[0]], names):
        columns = ", ".join(variables[name] for name in by)
        query = f"select {columns}, count(*) from {joined} group by {columns}"
        want = {tuple(row[:-1]): row[-1] for row in graph.sql(query).fetchall()}
        table = graph.count(formula, by=by, groups="true")
        assert {tuple(row[name] for name in by): row["n"] for row in table} == want
        assert len(table) == len(want)
    # Its negation is violated there.
    negated = graph.count(f"!({formula})", by=names, groups="violated")
    assert {tuple(row[name] for name in names): row["violated"] for row in negated} == want


# ---- large counts, and limits -----------------------------------------------------------------------------


def test_counts_past_64_bits_are_exact() -> None:
    db, people = sqlrl.connect(), 20_000
    db.load("Known", pa.table({"x": [f"p{i:05}" for i in range(people)]}), types=("p",))
    db.load("Smokes", [("p00000",)], types=("p",), target=True)
    body = " ^ ".join(f"Known(a{i})" for i in range(5))
    table = db.count(f"{body} => Smokes(x)", by="x", groups="all")
    assert table.to_arrow().schema.field("n").type == pa.decimal128(38)
    first, second = list(table)[:2]
    assert (first["n"], first["violated"]) == (Decimal(people**5), 0)
    assert (second["n"], second["violated"], second["groundings"]) == (0, people**5, people**5)


def test_few_groups_of_a_large_domain_need_no_look_at_the_others() -> None:
    db, people = sqlrl.connect(), 100_000
    names = np.array([f"p{i:06}" for i in range(people)])
    friends = pa.table({"x": names, "y": np.roll(names, -1)})
    db.load("Friends", friends, types=("person", "person"))
    db.load("Smokes", pa.table({"x": names[::2]}), types=("person",), target=True)
    formula = "Friends(x, y) ^ Smokes(x) => Smokes(y)"
    found = db.count(formula, by="x,y", groups="violated")
    assert len(found) == people // 2
    assert set(found["groundings"]) == set(found["violated"]) == {1}
    with pytest.raises(
        GroundingLimitError, match=r"by x and y there are 10,000,000,000 groups, .* limit of 10,000,000"
    ):
        db.count(formula, by="x,y")
    with pytest.raises(GroundingLimitError, match=r"there are 50,000 groups, more than the limit of 49,999"):
        db.count(formula, by="x,y", groups="violated", most_groups=49_999)
    # Nothing that a count of groups enumerates is larger than what there is.
    with pytest.raises(GroundingLimitError, match=r"there are 2,500,000,000 groups"):
        db.count("Smokes(x) v Smokes(y)", by="x,y", groups="violated")


def test_the_ends_of_a_path_are_enumerated_under_the_limit() -> None:
    db, people = sqlrl.connect(), 400
    names = [f"p{i}" for i in range(people)]
    pairs = [(name, "hub") for name in names] + [("hub", name) for name in names]
    db.load("Knows", pairs, types=("person", "person"))
    path = "Knows(x, y) ^ Knows(y, z)"
    want = people * people + people  # over the hub, and from it and back
    with pytest.raises(
        GroundingLimitError, match=rf"by x and z, which no one literal has, by enumerating {want:,} groundings"
    ):
        db.count(path, by="x,z", groups="true", limit=want - 1)
    for limit in (want, None):
        table = db.count(path, by="x,z", groups="true", limit=limit)
        assert len(table) == people * people + 1
        assert sum(table["n"]) == want
    # The middle, or one end, is not.
    assert len(db.count(path, by="y", limit=0)) == len(db.count(path, by="x", limit=0)) == people + 1


@pytest.mark.slow
def test_the_same_call_gives_the_same_table(db: Database) -> None:
    model = sqlrl.parse_mln(
        SMOKERS + "Friends(+x, y) ^ Smokes(y) => Cancer(z)\n1 Smokes(y) v Cancer(z)", query=("Smokes", "Cancer")
    )
    first = db.count(model, by=["z", "y"])
    assert all(first == db.count(model, by=["z", "y"]) for _ in range(3))
    assert len(first)


# ---- bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "given", "message"),
    [
        (
            "Friends(person, y)",
            {"by": "persn"},
            r"^<text>:1:9: the formula has no variable persn to count by; did you mean 'person'",
        ),
        ("Friends(x, yy) => Smokes(yy)", {"by": "zz"}, r"no variable zz to count by: name x or yy\n  Friends"),
        (
            "Smokes(x) => (EXIST y Friends(x, y))",
            {"by": "y"},
            r":1:21: the variable y stands under a quantifier.*count by x",
        ),
        ("EXIST x Smokes(x)", {"by": "x"}, r"stands under a quantifier.*leave by= out"),
        ("Smokes(Anna)", {"by": "x"}, "no variables, and one grounding each"),
        ("Smokes(x)", {"by": ""}, "no variable is named"),
        ("Smokes(x)", {"by": ()}, "no variable is named"),
        ("Smokes(x)", {"by": "x,"}, "no variable is named to count by at a comma of 'x,'"),
        ("Smokes(x)", {"by": ["x", "x"]}, "the variable x is named twice"),
        ("Smokes(x)", {"by": 3}, "by= takes names of variables.* 3 is none"),
        ("Smokes(x)", {"by": ["x", None]}, "None is none"),
        ("Smokes(x)", {"by": "x", "groups": "wrong"}, "'wrong' is none of 'all', 'violated', 'true'"),
        ("Smokes(x)", {"by": "x", "most_groups": 2.5}, "most_groups=2.5 must be a whole number"),
        ("Smokes(x)", {"groups": "true"}, "which is not given"),
        ("Smokes(x)", {"by": "x", "limit": -1}, "limit=-1 must be"),
        ("Friends(+x, y)", {"by": "x"}, r"\+x has no constants .* write it without \+"),
        ("Friends(+x, y)", {}, r"\+x has no constants"),
        ("model.mln", {"by": "x"}, "read a file with"),
        ("", {"by": "x"}, "expected a formula"),
        ("Smokes(x", {"by": "x"}, r"\^"),
        ("Smoke(x)", {"by": "x"}, "unknown predicate 'Smoke'; did you mean 'Smokes'"),
        ("Smokes(x) ^ Friends(x)", {"by": "x"}, "Friends"),
    ],
)
def test_what_is_wrong_is_said(db: Database, formula: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, ModelError), match=message):
        db.count(formula, **given)


def test_a_model_says_which_variables_it_has(db: Database) -> None:
    model = sqlrl.parse_mln(
        SMOKERS + "1 Friends(x, y) => Smokes(y)\n1 Smokes(z) => Cancer(z)", query=("Smokes", "Cancer")
    )
    for by, message in {
        "w": "no clause of the model has a variable w to count by: name x, y or z",
        "x,z": r"no clause of the model has all of the variables x and z.* x, y of <text>:4: Friends",
        "example": "no clause of the model has a variable example",
    }.items():
        with pytest.raises(InputError, match=message):
            db.count(model, by=by)


@pytest.fixture(scope="module")
def one() -> Database:
    found = sqlrl.connect()
    found.load("Smokes", [("Anna",)], types=("person",), target=True)
    return found


@given(by=st.text())
def test_any_text_names_variables_or_is_refused(one: Database, by: str) -> None:
    try:
        table = one.count("Smokes(x)", by=by)
    except InputError:
        assert by.strip() != "x"
    else:
        assert by.strip() == "x"
        assert table["x"] == ["Anna"]
