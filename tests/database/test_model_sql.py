"""Models as views: run on DuckDB and SQLite over plain tables, beside enumeration and Python's exact probabilities."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, reject, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.database.model_sql import ExportedSQL
from sqlrl.errors import InfeasibleError, InputError, ModelError, SqlrlError, UnsupportedError
from sqlrl.logic.model import Expansions, Rule
from sqlrl.logic.printer import format_formula
from sqlrl.logic.terms import And, Exist, Formula, Not, Or, Variable
from tests import postgres as on_postgres
from tests.effort import draws
from tests.ground.brute import Formulas, Ground, atoms_of
from tests.ground.cases import (
    CLOSED,
    EXAMPLE,
    FURTHER,
    GLOBAL,
    OPEN,
    TYPES,
    VARIABLES,
    Case,
    Language,
    databases,
    fill,
    rules,
    well_typed,
    witnessed,
)  # fmt: skip
from tests.postgres import Postgres
from tests.spark import connected

Rows = Mapping[str, tuple[Sequence[str], Sequence[Sequence[object]]]]
"""Tables by name: columns and rows."""

Found = dict[tuple[object, ...], tuple[float | None, float | None]]
"""Log-odds and probability by the other columns."""


def run(exported: ExportedSQL, tables: Rows) -> Found:
    """The rows of a view in a new database with some tables."""
    con = duckdb.connect() if exported.dialect == "duckdb" else sqlite3.connect(":memory:")

    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    for name, (columns, rows) in tables.items():
        kinds = ["boolean" if column == "truth" else "text" for column in columns]
        listed = ", ".join(f"{quoted(c)} {k}" for c, k in zip(columns, kinds, strict=True))
        con.execute(f"create table {quoted(name)} ({listed})")
        if rows:
            con.executemany(
                f"insert into {quoted(name)} values ({', '.join('?' * len(columns))})", [tuple(r) for r in rows]
            )
    con.execute(exported.text)
    rows = con.execute(f"select * from {exported.view}").fetchall()
    con.close()
    found = {tuple(row[:-2]): (row[-2], row[-1]) for row in rows}
    assert len(found) == len(rows), "each atom stands once"
    return found


def test_a_column_that_is_not_there_is_an_error_also_of_sqlite() -> None:
    # SQLite takes a quoted name that no table has for a text, which would be a constant of each row.
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob")], types=["person", "person"])
    db.load("Smokes", [("Anna",)], types=["person"], given=True)
    db.scope("Smokes", [("Anna",), ("Bob",)])
    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) => Smokes(y)\n")
    view = db.export(model, format="sql", dialect="sqlite")
    tables: dict[str, Any] = {
        "Friends": (["column0", "column1"], [("Anna", "Bob")]),
        "Smokes": (["column0"], [("Anna",)]),
        "Smokes_scope": (["column0"], [("Anna",), ("Bob",)]),
    }
    assert list(run(view, tables)) == [("Bob",)]
    for wrong, (columns, rows) in tables.items():
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            run(view, {**tables, wrong: (["person", *columns[1:]], rows)})
    db.close()


NESTED = "Friends(person, person)\nTall(person)\nSmokes(person)\nHappy(person)\n"
DECIDED = """
1.5 (EXIST y (Friends(x, y) ^ !(EXIST z (Friends(y, z) ^ Tall(z))))) => Smokes(x)
0.75 (EXIST y (Friends(x, y) ^ !(EXIST z (Friends(y, z) ^ Friends(z, Anna))))) => Smokes(x)
0.5 (FORALL x (EXIST y (Friends(x, y)))) ^ Tall(z) => Smokes(z)
0.125 Tall(x) ^ (Smokes(x) v Friends(x, x))
0.25 Smokes(x)
"""
JOINED = """
1 (EXIST y (Friends(x, y) ^ !(EXIST z (Friends(y, z) ^ Happy(z))))) => Smokes(x)
1 Smokes(x) v (EXIST y (Friends(x, y) ^ (FORALL z (Friends(y, z) => (EXIST u (Friends(z, u) ^ Smokes(u)))))))
1 (EXIST y (Friends(x, y) ^ !(EXIST z (Friends(y, z) ^ Happy(z))))) => Happy(x)
"""


def test_quantifiers_within_quantifiers() -> None:
    """What the evidence decides is a step of the view; what it does not is left out with the atoms that it joins."""
    friends = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna"), ("Anna", "Chris"), ("Dan", "Dan"), ("Eve", "Bob")]
    tables: Rows = {"Friends": (["column0", "column1"], friends), "Tall": (["column0"], [("Anna",), ("Dan",)])}
    db = sqlrl.connect(progress=False)
    for name, (columns, rows) in tables.items():
        db.load(name, rows, types=["person"] * len(columns))
    query = ["Smokes", "Happy"]
    decided = sqlrl.parse_mln(NESTED + DECIDED, query=query)
    table = db.probabilities(decided, method="exact").probabilities("Smokes").to_pylist()
    right = {(row["person"],): float(row["probability"]) for row in table}
    assert len(set(right.values())) > 2
    agree(
        run(db.export(decided, format="sql", dialect="sqlite", options=sqlrl.SQLOptions(target="Smokes")), tables),
        right,
    )
    partial = db.export(
        sqlrl.parse_mln(NESTED + DECIDED + JOINED, query=query),
        format="sql",
        options=sqlrl.SQLOptions(target="Smokes", partial=True),
    )
    agree(run(partial, tables), right)
    assert [each.reason for each in partial.left_out] == [
        "its quantifier joins atoms of Happy, Smokes",
        "its quantifier joins atoms of Smokes",
    ]
    db.close()


# ---- random programs ---------------------------------------------------------------------------------


@st.composite
def single(draw: st.DrawFn, case: Case) -> Rule:
    """A rule with one open literal, several closed ones, perhaps an equality and an EXIST; a template, or hard, at times."""
    plus = draw(st.sampled_from([frozenset[str]()] * 3 + [frozenset({"f"}), frozenset({"p"}), frozenset({"p", "f"})]))
    second = draw(st.integers(0, 3)) == 0
    narrow, wide = Language(case, plus), Language(case, plus, FURTHER, second=second)
    sign = st.sampled_from([Not, Not, lambda x: x])
    parts: list[Formula] = [draw(st.sampled_from([Not, lambda x: x]))(draw(narrow.atom(case.opened)))]
    closed = st.builds(lambda f, x: f(x), sign, wide.atom([*CLOSED]))
    parts += draw(st.lists(closed, max_size=3))
    for equal in draw(st.lists(wide.equality(), max_size=1)):
        parts.append(draw(sign)(equal))
    if draw(st.integers(0, 3)) == 0:
        inside = Language(case, plus, (*FURTHER, "u"), second=second)
        some = draw(st.lists(inside.atom([*CLOSED]), min_size=1, max_size=2))
        if "u" in {t.name for a in some for t in a.terms if isinstance(t, Variable)}:  # type: ignore[attr-defined]
            found: Formula = Exist(("u",), And(tuple(some)) if len(some) > 1 else some[0])
            parts.append(draw(st.sampled_from([lambda x: x, lambda x: x, Not]))(found))
    together = draw(st.sampled_from([Or, Or, Or, And]))
    formula = together(tuple(draw(st.permutations(parts)))) if len(parts) > 1 else parts[0]
    if len(set(atoms_of(formula))) < len(list(atoms_of(formula))) or not well_typed(formula):
        formula = draw(narrow.atom(case.opened))
    if draw(st.integers(0, 9)) == 0:
        return Rule(formula, None, hard=True)
    weight = draw(st.floats(-3, 3).map(lambda x: round(x, 3)) | st.sampled_from([0.1, -1e-7, 40.0, -800.0]))
    variables = tuple(
        dict.fromkeys(t.name for a in atoms_of(formula) for t in a.terms if isinstance(t, Variable) and t.plus)
    )
    if not variables or EXAMPLE in variables:
        return Rule(formula, weight)
    rows = draw(
        st.sets(st.tuples(*(st.sampled_from([*TYPES[VARIABLES[v]], "new word"]) for v in variables)), max_size=4)
    )
    weights = tuple(draw(st.floats(-3, 3)) for _ in rows)
    return Rule(formula, None, expansions=Expansions(variables, tuple(sorted(rows)), weights))


def any_rule(case: Case) -> st.SearchStrategy[Rule]:
    """A rule that may join atoms."""
    weighted = st.floats(-2, 2).map(lambda x: round(x, 3))
    return st.one_of(rules(case), witnessed(case), single(case)).flatmap(
        lambda r: weighted.map(lambda w: r if r.weight is None else replace(r, weight=w))
    )


@st.composite
def single_programs(draw: st.DrawFn) -> Case:
    case = draw(databases())
    case = replace(case, soft={name: {} for name in case.opened})
    return replace(case, rules=tuple(draw(single(case)) for _ in range(draw(st.integers(1, 4)))))


def plain_tables(case: Case) -> Rows:
    """The tables of a case as a user has them; labels stand nowhere."""
    found: dict[str, tuple[Sequence[str], Sequence[Sequence[object]]]] = {}

    def columns(width: int) -> list[str]:
        return [f"column{i}" for i in range(width)]

    for name, rows in case.closed.items():
        width = len(CLOSED[name]) + (name not in GLOBAL)
        found[name] = (columns(width), sorted(rows))
    for name in case.opened:
        width = len(OPEN[name]) + 1
        if case.given[name]:
            found[name] = ([*columns(width), "truth"], [(*t, v) for t, v in sorted(case.given[name].items())])
        if name in case.scope:
            found[f"{name}_scope"] = (columns(width), sorted(case.scope[name]))
    return found


def loaded(case: Case) -> sqlrl.Database:
    db = sqlrl.connect(threads=1, progress=False)
    fill(db.advanced.catalog, case)
    return db


def expected(db: sqlrl.Database, case: Case, model: sqlrl.Model, target: str) -> dict[tuple[object, ...], float]:
    """Python's exact probabilities by the columns of the view."""
    table = db.probabilities(model, method="exact").probabilities(target)
    first = 0 if case.kind == "column" else 1
    return {tuple(row.values())[first:-5]: float(row["probability"]) for row in table.to_pylist()}


def logistic(log_odds: float) -> float:
    if abs(log_odds) > 700:
        return float(log_odds > 0)
    return 1 / (1 + math.exp(-log_odds))


def agree(found: Found, right: Mapping[tuple[object, ...], float]) -> None:
    """Check rows of a view against probabilities: the same atoms, each as probable, and log-odds that fit."""
    assert found.keys() == right.keys()
    for atom, (log_odds, probability) in found.items():
        assert log_odds is not None
        assert probability == pytest.approx(right[atom], abs=1e-12, rel=1e-9)
        assert logistic(log_odds) == pytest.approx(probability, abs=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=draws(8))
@given(single_programs())
def test_views_give_pythons_probabilities(case: Case) -> None:
    db = loaded(case)
    for target in case.opened:
        try:
            right = expected(db, case, case.model, target)
        except SqlrlError as error:
            event(type(error).__name__)
            continue
        for dialect in ("duckdb", "sqlite"):
            exported = db.export(case.model, format="sql", dialect=dialect, options=sqlrl.SQLOptions(target=target))
            assert exported.left_out == ()
            agree(run(exported, plain_tables(case)), right)
    db.advanced.engine.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=draws(8))
@given(single_programs())
def test_log_odds_are_differences_of_counts_by_enumeration(case: Case) -> None:
    plain = [
        r
        for r in case.rules
        if not any(t.plus for a in atoms_of(r.formula) for t in a.terms if isinstance(t, Variable))
    ]
    case = replace(case, block=False, rules=tuple(r for r in plain if not r.hard))
    assume(case.rules)
    db, data = loaded(case), case.data
    try:
        exported = [
            db.export(case.model, format="sql", dialect="sqlite", options=sqlrl.SQLOptions(target=target))
            for target in case.opened
        ]
    except ModelError:
        reject()
    formulas = [Formulas(rule.formula, data) for rule in case.rules]
    for target, view in zip(case.opened, exported, strict=True):
        found = run(view, plain_tables(case))
        for atom in (a for a in data.atoms if a[0] == target):
            key = (atom[1], *atom[2]) if case.kind == "column" else atom[2]
            score = 0.0
            for rule, formula in zip(case.rules, formulas, strict=True):
                assert rule.weight is not None
                score += rule.weight * (formula.n(frozenset([atom])) - formula.n(frozenset()))
            assert found.pop(key)[0] == pytest.approx(score, abs=1e-12, rel=1e-12)
        assert not found
    db.advanced.engine.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=draws(6))
@given(st.data())
def test_rules_that_join_atoms_are_named_and_left_out(data: st.DataObject) -> None:
    """What a view has of a rule adds up over atoms; it is the view of the model without the rules that are named."""
    case = data.draw(single_programs())
    case = replace(case, block=False, rules=(*case.rules, *(data.draw(any_rule(case)) for _ in range(3))))
    target, db = case.opened[0], loaded(case)
    try:
        exported = db.export(case.model, format="sql", options=sqlrl.SQLOptions(target=target, partial=True))
    except SqlrlError as error:
        event(type(error).__name__)
        reject()
    gone = {each.rule for each in exported.left_out}
    event(f"{len(gone)} left out")
    kept = tuple(r for r in case.rules if format_formula(r.formula) not in gone)
    if gone:
        with pytest.raises(UnsupportedError, match="partial=True"):
            db.export(case.model, format="sql", options=sqlrl.SQLOptions(target=target))
    names = {f'"{target}_scope"', *map('"{}"'.format, plain_tables(case))}
    assert exported.tables.keys() <= names
    atoms = [a for a in case.data.atoms if a[0] == target][:5]
    others = [*atoms, *(a for a in case.data.atoms if a[0] != target)][:7]
    for rule in (
        r for r in kept if not any(t.plus for a in atoms_of(r.formula) for t in a.terms if isinstance(t, Variable))
    ):
        formula, nothing = Formulas(rule.formula, case.data), frozenset[Ground]()
        single_ = {a: formula.n(frozenset([a])) for a in others}
        for one, other in ((a, b) for a in atoms for b in others if a != b):
            both = formula.n(frozenset([one, other]))
            assert both - single_[one] == single_[other] - formula.n(nothing)
    db.advanced.engine.close()


# ---- the same on other databases ---------------------------------------------------------------------

NAMES = [
    "plain",
    "it's",
    'say "hi"',
    "back\\slash\\n",
    "semi; --x",
    "/* c */",
    "*/ drop",
    "ünïcödé 漢字",
    "new\nline",
    "$1 ? :x %s",
    " ",
]


def hostile(dialect: str) -> tuple[ExportedSQL, Rows, dict[tuple[object, ...], float]]:
    """A model, with blocks and hard rules, whose constants, columns and tables have names that would break SQL put together as text."""
    columns = ["order", 'a"b', "select`x"]
    rows = [(word, f"d{i % 4}", str(i % 3)) for i, word in enumerate(NAMES * 2)]
    db = sqlrl.connect(progress=False)
    db.load(
        "Select",
        pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))),
        types=["word", "doc", "group"],
        example=columns[1],
    )
    weights = tuple(0.37 * (-1) ** i * (i + 1) for i in range(len(NAMES)))
    expansions = Expansions(("w",), tuple((name,) for name in NAMES), weights)
    text = """
    Select(word, doc, group)
    From(doc, table!, group)
    table = {"it's", "*/ x", "b\\\\c"}
    -0.25 Select(w, d, g) ^ Select(v, d, h) ^ g != h => From(d, "it's", g)
    3.5 Select("it's", d, g) => From(d, "b\\\\c", g)
    Select("/* c */", d, g) => !From(d, "*/ x", g).
    """
    model = sqlrl.parse_mln(text, query=["From"])
    template = sqlrl.parse_mln(
        'Select(word, doc, group)\nFrom(doc, table, group)\nSelect(+w, d, g) => From(d, "*/ x", g)'
    ).rules[0]
    model = model.with_rules((*model.rules, replace(template, expansions=expansions)))
    quote = "`{}`" if dialect == "spark" else '"{}"'
    name = "a;b--c`d" if dialect != "spark" else "a;b--c d"
    exported = db.export(
        model,
        format="sql",
        dialect=dialect,
        options=sqlrl.SQLOptions(tables={"Select": quote.format(name)}, view=quote.format("view of 'x'")),
    )
    right = {
        tuple(r.values())[1:-5]: float(r["probability"]) for r in db.probabilities(model).probabilities().to_pylist()
    }
    assert len(set(right.values())) > 20, "atoms differ"
    assert {0.0} < set(right.values()), "some atom is certain"
    return exported, {name: (columns, rows)}, right


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_names_that_would_break_sql_stay_names(dialect: str) -> None:
    exported, tables, right = hostile(dialect)
    agree(run(exported, tables), right)


@pytest.mark.filterwarnings("ignore")
def test_the_view_runs_on_spark(spark_address: str) -> None:
    exported, tables, right = hostile("spark")
    ((name, (columns, rows)),) = tables.items()
    with connected(spark_address) as spark:
        frame = spark.address.createDataFrame(pa.table({c: [r[i] for r in rows] for i, c in enumerate(columns)}))
        # Apache Spark reads the name of a view as SQL does, and Sail as it is.
        frame.createOrReplaceTempView("given")
        spark.address.sql(f"CREATE TEMPORARY VIEW `{name}` AS SELECT * FROM given")
        found = spark.address.sql(exported.query).toArrow().to_pylist()
    agree({tuple(r.values())[:-2]: (r["log_odds"], r["probability"]) for r in found}, right)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_view_runs_on_postgres(postgres: Postgres) -> None:
    exported, tables, right = hostile("postgres")
    script = "".join(on_postgres.table_script(name, *table) for name, table in tables.items())
    rows = postgres.run(f"{script}{exported.text}select * from {exported.view};")
    agree({row[:-2]: (float(row[-2] or "nan"), float(row[-1] or "nan")) for row in rows}, right)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=draws(4))
@given(single_programs())
def test_postgres_gives_pythons_probabilities(postgres: Postgres, case: Case) -> None:
    db = loaded(case)
    for target in case.opened:
        try:
            right = expected(db, case, case.model, target)
        except SqlrlError:
            continue
        exported = db.export(case.model, format="sql", dialect="postgresql", options=sqlrl.SQLOptions(target=target))
        script = "".join(on_postgres.table_script(name, *table) for name, table in plain_tables(case).items())
        rows = postgres.run(f"{script}{exported.text}select * from {exported.view};")
        agree({row[:-2]: (float(row[-2] or "nan"), float(row[-1] or "nan")) for row in rows}, right)
    db.advanced.engine.close()


# ---- by hand -----------------------------------------------------------------------------------------

PEOPLE = "Friends(person, person)\nSmokes(person)\n"
FRIENDS = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna"), ("Anna", "Chris")]


@pytest.fixture(scope="module")
def people() -> Iterator[sqlrl.Database]:
    """For tests that only export."""
    yield from friends()


@pytest.fixture
def mine() -> Iterator[sqlrl.Database]:
    """For tests that change it."""
    yield from friends()


def friends() -> Iterator[sqlrl.Database]:
    db = sqlrl.connect(progress=False)
    db.load(
        "Friends", pa.table({"one": [a for a, _ in FRIENDS], "other": [b for _, b in FRIENDS]}), types=["person"] * 2
    )
    yield db
    db.close()


def smoking(rules_: str) -> sqlrl.Model:
    return sqlrl.parse_mln(PEOPLE + rules_, query=["Smokes"])


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_rows_that_come_later_are_scored(people: sqlrl.Database, dialect: str) -> None:
    """Also where a rule's groundings are counted by the number of constants, of which there are more then."""
    text = "0.5 Friends(x, y) => Smokes(y)\n0.25 Smokes(x) v Friends(x, z)\n-0.125 Friends(x, y) => Smokes(z)\n0.01 Smokes(x) v Friends(u, w)"
    exported = people.export(smoking(text), format="sql", dialect=dialect)
    later = [*FRIENDS, ("Dora", "Bob"), ("Eve", "Dora")]
    found = run(exported, {"Friends": (["one", "other"], later)})
    inside = {"Anna": 1, "Bob": 2, "Chris": 2, "Dora": 1, "Eve": 0}
    outside = {"Anna": 2, "Bob": 1, "Chris": 1, "Dora": 1, "Eve": 1}
    right = {
        (name,): 0.5 * inside[name] + 0.25 * (5 - outside[name]) - 0.125 * len(later) + 0.01 * (25 - len(later))
        for name in inside
    }
    assert {k: v[0] for k, v in found.items()} == pytest.approx(right, abs=1e-12)


def test_hard_rules_that_contradict_each_other_are_refused_now_and_null_later(people: sqlrl.Database) -> None:
    text = "Friends(x, x) => Smokes(x).\nFriends(Dora, x) => !Smokes(x).\n0.5 Smokes(x)"
    exported = people.export(smoking(text), format="sql", dialect="sqlite")
    later = [*FRIENDS, ("Bob", "Bob"), ("Dora", "Chris"), ("Eve", "Eve"), ("Dora", "Eve")]
    found = run(exported, {"Friends": (["one", "other"], later)})
    assert found == {
        ("Anna",): (0.5, pytest.approx(1 / (1 + math.exp(-0.5)))), ("Dora",): (0.5, pytest.approx(1 / (1 + math.exp(-0.5)))),
        ("Bob",): (math.inf, 1.0), ("Chris",): (-math.inf, 0.0), ("Eve",): (None, None),
    }  # fmt: skip
    with pytest.raises(InfeasibleError, match="hard clauses cannot all hold"):
        people.export(smoking("Friends(x, y) => Smokes(x).\nFriends(y, x) => !Smokes(x)."), format="sql")


BLOCK = "Friends(person, person)\nMood(person, mood{})\nmood = {{Good, Bad, Fair}}\n"
MOODS = "1.5 Friends(x, y) => Mood(x, Good)\n-2 Mood(x, Bad)\n{}"


@pytest.fixture(scope="module")
def pair() -> sqlrl.Database:
    """Two friends, for tests that only export."""
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob")], types=["person"] * 2)
    return db


EITHER = pytest.mark.parametrize(
    ("dialect", "exact"),
    [
        ("duckdb", False),
        ("sqlite", True),
        pytest.param("duckdb", True, marks=pytest.mark.slow),
        pytest.param("sqlite", False, marks=pytest.mark.slow),
    ],
)


@EITHER
@pytest.mark.parametrize(
    ("further", "good", "bad", "fair"),
    [
        ("", 1.5, -2, 0),
        ("900 Mood(x, Bad)\n-950 Mood(x, Fair)", 1.5, 898, -950),
        ("Friends(x, y) => !Mood(x, Good).", None, -2, 0),
        ("Friends(x, y) => Mood(x, Bad).", 1.5, math.inf, 0),
        ("!Mood(x, Bad).\n!Mood(x, Fair).", 1.5, None, None),
    ],
)
def test_blocks_have_the_softmax_of_their_scores(
    pair: sqlrl.Database,
    dialect: str,
    exact: bool,
    further: str,
    good: float | None,
    bad: float | None,
    fair: float | None,
) -> None:
    at_most = "" if exact else "Mood(x, m) ^ Mood(x, n) => m = n.\n"
    model = sqlrl.parse_mln(BLOCK.format("!" if exact else "") + at_most + MOODS.format(further), query=["Mood"])
    found = run(
        pair.export(model, format="sql", dialect=dialect), {"Friends": (["column0", "column1"], [("Anna", "Bob")])}
    )
    scores = {m: s for m, s in (("Good", good), ("Bad", bad), ("Fair", fair)) if s is not None}
    context = Context(prec=1000)
    weights = {m: context.exp(Decimal(s)) if s != math.inf else Decimal(1) for m, s in scores.items()}
    if math.inf in scores.values():
        weights = {m: Decimal(int(scores[m] == math.inf)) for m in scores}
    elif not exact:
        weights["none"] = Decimal(1)
    total = reduce(context.add, weights.values())
    for mood in ("Good", "Bad", "Fair"):
        weight = weights.get(mood, Decimal(0))
        others = context.subtract(total, weight)
        log_odds, probability = found["Anna", mood]
        assert probability == pytest.approx(float(context.divide(weight, total)), abs=1e-12)
        right = (
            math.inf if not others else -math.inf if not weight else float(context.ln(context.divide(weight, others)))
        )
        assert log_odds == pytest.approx(right, abs=1e-9)


@EITHER
def test_what_is_given_true_takes_its_block(dialect: str, exact: bool) -> None:
    db = sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob")], types=["person"] * 2)
    rows = [("Anna", "Good", True), ("Bob", "Good", False)]
    db.load("Mood", rows, types=["person", "mood"], given=True, truth=2)
    at_most = "" if exact else "Mood(x, m) ^ Mood(x, n) => m = n.\n"
    model = sqlrl.parse_mln(BLOCK.format("!" if exact else "") + at_most + "0.5 Mood(x, Bad)")
    tables = {"Friends": (["column0", "column1"], [("Anna", "Bob")]), "Mood": (["column0", "column1", "truth"], rows)}
    found = run(db.export(model, format="sql", dialect=dialect), tables)
    total = math.exp(0.5) + 1 + (not exact)
    assert {k: v[1] for k, v in found.items()} == {
        ("Anna", "Bad"): 0, ("Anna", "Fair"): 0,
        ("Bob", "Bad"): pytest.approx(math.exp(0.5) / total), ("Bob", "Fair"): pytest.approx(1 / total),
    }  # fmt: skip


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_numbers_are_cut_where_the_model_cuts_them(dialect: str) -> None:
    db = sqlrl.connect(progress=False)
    prices = [("a", 5.0), ("b", 10.0), ("c", 24.9), ("d", 25.0), ("e", -3.5)]
    table = pa.table({"house": [h for h, _ in prices], "price": [p for _, p in prices]})
    db.load("Costs", table, types=["house", "price"], bins={"price": [10, 25]})
    weights = {"price(-inf,10)": 1.0, "price[10,25)": -0.5, "price[25,inf)": 2.5}
    lines = "".join(f'{w} Costs(h, "{piece}") => Sold(h)\n' for piece, w in weights.items())
    model = sqlrl.parse_mln(f"Costs(house, price)\nSold(house)\n{lines}", query=["Sold"])
    exported = db.export(model, format="sql", dialect=dialect)
    con = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
    con.execute('create table "Costs" (house text, price double)')
    con.executemany('insert into "Costs" values (?, ?)', prices)
    con.execute(exported.text)
    found = dict(con.execute("select house, log_odds from sold_scores").fetchall())
    assert found == {"a": 1.0, "b": -0.5, "c": -0.5, "d": 2.5, "e": 1.0}


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_values_are_the_constants_that_loading_made_of_them(dialect: str, request: pytest.FixtureRequest) -> None:
    """Whole floats, decimals with zeros at their end, booleans; and texts in capitals, or under other names."""
    make = "create table Things (name varchar, size {}, price decimal(6, 2), sold boolean, place varchar)"
    rows = "insert into Things values ('a', 1.5, 2.50, true, 'Rome'), ('b', 2.0, 3.00, false, 'OSLO'), ('c', -7.0, 0.00, true, 'Bern')"
    db = sqlrl.connect(progress=False)
    db.sql(make.format("double"))
    db.sql(rows)
    db.load(
        "Things", "Things", types=["name", "size", "price", "sold", "place"], fold_case=True, constants={"rome": "Roma"}
    )
    wanted = {
        "size": ["1.5", "2", "-7"],
        "price": ["2.5", "3", "0"],
        "sold": ["true", "false", "true"],
        "place": ["Roma", "oslo", "bern"],
    }
    lines, right, places = [], {("a",): 0.0, ("b",): 0.0, ("c",): 0.0}, list(wanted)
    for i, (kind, constants) in enumerate(wanted.items()):
        for j, constant in enumerate(dict.fromkeys(constants)):
            terms = ", ".join(f'"{constant}"' if other == kind else f"x{other}" for other in places)
            lines.append(f"{2.0 ** (3 * i + j)} Things(n, {terms}) => Good(n)")
            for name, value in zip("abc", constants, strict=True):
                right[name,] += 2.0 ** (3 * i + j) * (value == constant)
    model = sqlrl.parse_mln("Things(name, size, price, sold, place)\nGood(name)\n" + "\n".join(lines), query=["Good"])
    exported = db.export(model, format="sql", dialect=dialect, options=sqlrl.SQLOptions(tables={"Things": "things"}))
    question = "select name, log_odds from good_scores"
    if dialect == "postgres":
        served = request.getfixturevalue("postgres")
        found = served.run(f"{make.format('double precision')};\n{rows};\n{exported.text}{question};")
    else:
        con = duckdb.connect() if dialect == "duckdb" else sqlite3.connect(":memory:")
        for statement in (make.format("double"), rows, exported.text):
            con.execute(statement)
        found = con.execute(question).fetchall()
    assert {(row[0],): float(row[1]) for row in found} == right


def test_thousands_of_words_are_one_query_with_one_table_of_values() -> None:
    db = sqlrl.connect(progress=False)
    words = [f"word {i}" for i in range(2_000)]
    db.load("Has", pa.table({"doc": [f"d{i // 100}" for i in range(2_000)], "word": words}), types=["doc", "word"])
    template = sqlrl.parse_mln("Has(doc, word)\nTopic(doc)\nHas(d, +w) => Topic(d)\n-1 Topic(d)", query=["Topic"])
    weights = tuple((i % 7 - 3) / 7 for i in range(2_000))
    rule = replace(template.rules[0], expansions=Expansions(("w",), tuple((w,) for w in words), weights))
    model = template.with_rules((rule, template.rules[1]))
    exported = db.export(model, format="sql", dialect="sqlite")
    assert exported.query.count("SELECT") < 15
    assert exported.query.count("VALUES") == 1
    rows = [(f"d{i // 100}", w) for i, w in enumerate(words)]
    found = run(exported, {"Has": (["doc", "word"], rows)})
    right = {(f"d{k}",): sum(weights[100 * k : 100 * k + 100]) - 1 for k in range(20)}
    assert {k: v[0] for k, v in found.items()} == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "postgre"}, "unknown dialect 'postgre'; did you mean 'postgres'"),
        ({"dialect": "oracle"}, "unknown dialect 'oracle': choose one of duckdb, postgres, spark, sqlite"),
        ({"target": "Smoke"}, "the model predicts no 'Smoke'; did you mean 'Smokes'"),
        ({"target": "Friends"}, "target='Friends' is evidence"),
        ({"tables": {"Freinds": "x"}}, "no predicate of the data; did you mean 'Friends'"),
        ({"tables": ["x"]}, "must map names of predicates"),
        ({"tables": {"Friends": "x; drop table y"}}, "is no name of a table in SQL of duckdb"),
        ({"tables": {"Friends": "(select 1) t"}}, "is no name of a table"),
        ({"tables": {"Friends": "friends f"}}, "is no name of a table"),
        ({"tables": {"Friends": ""}}, "is no name of a table"),
        ({"view": "read_csv('x')"}, "view=.* is no name of a table"),
        ({"view": "FRIENDS"}, "cannot be called FRIENDS, as a table that it reads"),
        ({"tables": {"Friends": "smokes_scores"}}, "cannot be called .*smokes_scores"),
        ({"columns": {"Friends": {"on": "x"}}}, "no column of Friends; did you mean 'one'"),
        ({"columns": {"Friends": ["x"]}}, "must map names of columns"),
        ({"columns": {"Friends": {"one": ""}}}, "columns= of Friends: one is called '', which is no name"),
        ({"scopes": {"Smokes": "pairs"}}, "whose atoms are not given by a scope"),
    ],
)
def test_what_is_asked_wrongly_is_told(people: sqlrl.Database, options: dict[str, Any], message: str) -> None:
    options = dict(options)
    dialect = options.pop("dialect", None)
    with pytest.raises(InputError, match=message):
        people.export(
            smoking("1 Friends(x, y) => Smokes(y)"), format="sql", dialect=dialect, options=sqlrl.SQLOptions(**options)
        )


def test_the_text_says_of_which_tables_rules_have_the_facts(mine: sqlrl.Database) -> None:
    people = mine
    people.define("Near(x, y) :- Friends(x, y). Near(x, z) :- Friends(x, y), Near(y, z).")
    model = sqlrl.parse_mln(PEOPLE + "Near(person, person)\n1 Near(x, y) => Smokes(y)", query=["Smokes"])
    exported = people.export(
        model, format="sql", options=sqlrl.SQLOptions(tables={"Near": "reachable", "Friends": "public.friends"})
    )
    assert list(exported.tables) == ["public.friends", "reachable"]
    assert '--   reachable: ("x", "y") facts of Near, which rules define: fill it with what they say' in exported.text


def test_models_that_no_view_can_have_are_told(mine: sqlrl.Database) -> None:
    people = mine
    with pytest.raises(InputError, match="has no weight"):
        people.export(smoking("Friends(x, y) => Smokes(y)"), format="sql")
    two = sqlrl.parse_mln(PEOPLE + "Cancer(person)\n1 Smokes(x)\n1 Cancer(x)", query=["Smokes", "Cancer"])
    with pytest.raises(InputError, match="predicts Cancer, Smokes: name it by target="):
        people.export(two, format="sql")
    joined = "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n2 Smokes(x)\n1 EXIST x Smokes(x)"
    with pytest.raises(
        UnsupportedError, match=r"(?s)2 rules.*joins 2 open literals: !Smokes, Smokes.*quantifier joins atoms of Smokes"
    ):
        people.export(smoking(joined), format="sql")
    partial = people.export(smoking(joined), format="sql", options=sqlrl.SQLOptions(partial=True))
    assert [each.rule for each in partial.left_out] == ["Friends(x, y) ^ Smokes(x) => Smokes(y)", "EXIST x Smokes(x)"]
    assert "not the whole model" in partial.text
    assert partial.query == people.export(smoking("2 Smokes(x)"), format="sql").query
    with pytest.raises(InputError, match="format='sql'"):
        people.export(smoking("2 Smokes(x)"), "a.sql")
    people.load("Mood", [("Anna", 0.3)], types=["person"], probability=1)
    with pytest.raises(UnsupportedError, match="Mood has soft evidence"):
        people.export(sqlrl.parse_mln("Mood(person)\n1 Mood(x)"), format="sql")
    people.load("friends", FRIENDS, types=["person"] * 2)
    alike = PEOPLE + "friends(person, person)\n1 friends(x, y) ^ Friends(x, y) => Smokes(y)"
    with pytest.raises(InputError, match="case is ignored"):
        people.export(sqlrl.parse_mln(alike, query=["Smokes"]), format="sql")
    people.load("Likes", [(f"p{i}",) for i in range(10_001)], types=["person"], target=True)
    with pytest.raises(UnsupportedError, match="10,001 constants of person, such as p0, p1, p10, stand in no table"):
        people.export(
            sqlrl.parse_mln(PEOPLE + "Likes(person)\n1 Likes(x)"),
            format="sql",
            options=sqlrl.SQLOptions(target="Likes"),
        )


# ---- real data ---------------------------------------------------------------------------------------

IMDB = """
actor(person)
director(person)
movie(title, person)
gender(person, sex)
genre(person, kind)
workedUnder(person, person)
workedUnder(x, y)
actor(x) ^ director(y) => workedUnder(x, y)
movie(m, x) ^ movie(m, y) ^ director(y) => workedUnder(x, y)
movie(m, x) ^ movie(m, y) ^ movie(n, z) ^ movie(n, y) ^ x != z => workedUnder(x, y)
genre(y, +k) => workedUnder(x, y)
(EXIST k genre(y, k)) => workedUnder(x, y)
actor(y) => !workedUnder(x, y).
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_learned_model_of_real_data_scores_new_data_in_sqlite(data_folder: Path) -> None:
    """Its weights are those of three folds, whose tables the view never sees: it reads those of another one."""
    declared = sqlrl.parse_mln(IMDB, query=["workedUnder"])
    db = sqlrl.connect(progress=False)
    files = {name: str(data_folder / "imdb" / f"{name}.db") for name in ("fold1", "fold2", "fold3")}
    db.load(sqlrl.Evidence(files, declared, target=["workedUnder"]))
    model = sqlrl.Likelihood().fit(db, declared).model_
    assert sum(bool(w) for r in model.rules if r.expansions for w in r.expansions.weights) + len(model.rules) > 5
    exported = db.export(model, format="sql", dialect="sqlite")
    assert set(exported.tables) == {'"actor"', '"director"', '"movie"', '"gender"', '"genre"'}
    other = sqlrl.connect(progress=False)
    path = str(data_folder / "imdb" / "fold4.db")
    other.load(sqlrl.Evidence({"fold4": path}, declared, target=["workedUnder"]))
    right = {
        tuple(r.values())[:-5]: float(r["probability"]) for r in other.probabilities(model).probabilities().to_pylist()
    }
    facts = [re.fullmatch(r"(\w+)\((.*)\)\n?", line) for line in Path(path).read_text().splitlines()]
    tables: dict[str, tuple[list[str], list[tuple[str, ...]]]] = {}
    for fact in filter(None, facts):
        terms = [t.strip() for t in fact[2].split(",")]
        names = [a.name for a in db.advanced.catalog.store.predicates()[fact[1]].arguments]
        tables.setdefault(fact[1], (["example", *names], []))[1].append(("fold4", *terms))
    del tables["workedUnder"]
    found = run(exported, tables)
    assert len(found) > 1000
    agree(found, right)
