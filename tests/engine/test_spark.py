"""The engine of Spark: what the protocol asks, and counts of models by the plans that DuckDB runs."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from sqlglot import exp, select

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.engine.nodes import cast, column, named, table
from sqlrl.engine.spark.engine import SparkEngine
from sqlrl.engine.spark.server import FUNCTIONS, Spark
from sqlrl.errors import CountOverflowError, EngineError, GroundingWarning, OverflowEngineError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.counts import groundings, true_counts
from sqlrl.ground.program import Extent
from sqlrl.logic.mln import parse_mln
from tests.spark import beside

PEOPLE = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
CITATIONS = (
    "Token(word, position, bib)\nNext(position, position)\nInField(bib, field!, position)\nfield = {Author, Title}\n"
)

MODELS = {
    "clauses": (PEOPLE, "1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n2 Smokes(x) => Cancer(x)\n-1 Cancer(x)"),
    "formulas": (PEOPLE, "1 Smokes(x) <=> Cancer(x)\n0.5 Cancer(x) ^ (Smokes(y) v Friends(x, y))\n!(Smokes(x) ^ Cancer(x))."),
    "constants": (PEOPLE, '1 Friends(Anna, x) => Cancer(x)\n1 Friends(Bob, x) => Cancer(x)\n1 Friends(x, Dora) v Cancer(Eve)'),
    "equality": (PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ x != z => Cancer(z)"),
    "apart": (PEOPLE, "1 Friends(x, Anna) v Smokes(y) v Cancer(z)"),
    "many_positive": (PEOPLE, "1 " + " v ".join(f"Friends(x, y{i})" for i in range(5)) + " v Cancer(x)"),
    "decided_quantifier": (PEOPLE, "1 Cancer(x) => (EXIST y Friends(x, y))"),
    "open_quantifier": (PEOPLE, "1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "helpers": (PEOPLE, "1 (EXIST y (Friends(x, y) ^ Cancer(y) ^ Smokes(y))) <=> Cancer(x)"),
    "template": (CITATIONS, "Token(+w, p, c) => InField(c, +f, p)\n1 InField(c, Author, p)"),
    "chain": (CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)\n1 Token(w, p, c) ^ Token(w, q, c) => Next(p, q)"),
}  # fmt: skip


def sql(text: str) -> exp.Expr:
    found = select(*text.split(", "))
    assert isinstance(found, exp.Expr)
    return found


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_counts_beyond_38_digits(request: pytest.FixtureRequest, engine: str) -> None:
    """DuckDB counts on to 2^127, a server says what clause it is."""
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    with sqlrl.connect(engine=spark, progress=False) as db:
        db.load("D", [(f"c{i}",) for i in range(100)], types=["t"])
        few, many = (" ^ ".join(f"D(x{i})" for i in range(number)) for number in (18, 19))
        assert db.count(formula=few)["groundings"] == [10**36]
        if engine == "duckdb":
            table = db.count(formula=many)
            assert table["groundings"] == table["n"] == [10**38]
            assert "10000000" in str(table)
            return
        with pytest.raises(CountOverflowError, match=r"D\(x18\) does not fit"):
            db.count(formula=many)


@pytest.mark.parametrize(
    "listed", ["cash", *(pytest.param(name, marks=pytest.mark.slow) for name in ("Pr\u200bize", "lottery"))]
)
def test_joins_that_meet_nothing_are_said_as_in_duckdb(spark: Spark, listed: str) -> None:
    rules = "Word(doc, word)\nListed(word)\nSpam(doc)\n1 Word(d, w) ^ Listed(w) => Spam(d)"
    said = []
    for engine in (None, spark):
        with sqlrl.connect(engine=engine, progress=False) as db:
            db.load("Word", [("d1", "Cash"), ("d2", "Prize")], types=["doc", "word"])
            db.load("Listed", [listed], types=["word"])
            db.load("Spam", ["d1"], types=["doc"], target=True)
            with pytest.warns(GroundingWarning, match="share no constant of the type word") as caught:
                db.count(sqlrl.parse_mln(rules, query=["Spam"]))
        said.append([str(each.message) for each in caught])
    assert said[0] == said[1]


def test_a_server_without_a_function_is_refused_when_it_is_opened(
    spark_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sqlrl.engine.spark.server.FUNCTIONS", FUNCTIONS.replace("COUNT_IF", "COUNT_WHETHER"))
    with pytest.raises(EngineError, match=r"(?is)look for the functions.*the server has no function count_whether"):
        sqlrl.connect(engine=Spark(spark_address))


@pytest.fixture(scope="module")
def people() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    names = ["Anna", "Bob", "Chris", "Dora", "Eve"]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :: 2]]
    found.load("Friends", pairs, types=("person", "person"))
    found.load("Smokes", [("Anna", True), ("Chris", False)], types=("person",), given=True, truth=1)
    found.load("Cancer", [("Anna",), ("Dora",)], types=("person",), target=True)
    yield found
    found.engine.close()


@pytest.fixture(scope="module")
def citations() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    tokens = [("w", "P1", "B1"), ("v", "P2", "B1"), ("w", "P3", "B1"), ("w", "P1", "B2"), ("u", "P2", "B2")]
    found.load("Token", tokens, types=("word", "position", "bib"), example="bib")
    found.load("Next", [("P1", "P2"), ("P2", "P3")], types=("position", "position"))
    labels = [("B1", "Author", "P1"), ("B1", "Author", "P2"), ("B1", "Title", "P3"), ("B2", "Title", "P1")]
    found.load("InField", labels, types=("bib", "field", "position"), target=True)
    yield found
    found.engine.close()


@pytest.fixture(scope="module")
def plans(spark: Spark, people: Catalog) -> Iterator[SparkEngine]:
    with beside(spark, people.engine) as engine:
        yield engine


def views(plans: SparkEngine) -> set[str]:
    return {view.name for view in plans.server.session.catalog.listTables()}


# Of what a query is made of, once each; the text of the others is held against that of DuckDB's in tests/plan.
OFTEN = ("clauses", "equality", "helpers", "template")


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in MODELS]
)
def test_counts_of_a_model_are_those_of_duckdb(name: str, people: Catalog, citations: Catalog, spark: Spark) -> None:
    declared, rules = MODELS[name]
    catalog, query = (people, ("Cancer", "Smokes")) if declared is PEOPLE else (citations, ("InField",))
    model = parse_mln(declared + rules, query=query)
    layout = catalog.bind(model, training=True)
    found = []
    with beside(spark, catalog.engine) as plans:
        for engine in (catalog.engine, plans):
            program = bind_program(engine, layout, model)
            program.expand()
            counts = (true_counts(Extent(program)).tolist(), groundings(Extent(program)).tolist())
            found.append((program.feature_of, *counts))
            program.close()
    assert found[0] == found[1]
    assert any(found[0][1])


def test_scratch_tables_are_gone_when_a_program_is_closed(people: Catalog, plans: SparkEngine) -> None:
    model = parse_mln(PEOPLE + MODELS["helpers"][1], query=("Cancer", "Smokes"))
    layout = people.bind(model, training=True)
    bind_program(plans, layout, model).close()
    before = views(plans)
    program = bind_program(plans, layout, model)
    assert program.helper_names
    assert views(plans) > before
    program.close()
    assert views(plans) == before


def test_tables(plans: SparkEngine) -> None:
    name, other = (TableName("any", "place", x) for x in ("a b", "c`d"))
    everything = exp.select("*").from_(table(name))
    assert plans.create_table(name, pa.table({"x": pa.array([1, 2], pa.int64())}), step="make") == 2
    plans.append(name, exp.select(named(exp.Add(this=column("x"), expression=exp.Literal.number(2)), "x")).from_(table(name)), step="grow")  # fmt: skip
    assert sorted(plans.fetch(everything, step="read").column("x").to_pylist()) == [1, 2, 3, 4]
    late = everything.where(exp.GT(this=column("x"), expression=exp.Literal.number(3)))
    plans.create_view(other, everything, step="show")
    assert plans.create_table(name, late, step="replace by a part of itself") == 1
    # A view reads what is there when it is read.
    assert plans.fetch_rows(exp.select("*").from_(table(other)), step="read") == (["x"], [(4,)])
    for each in (other, name):
        plans.drop_view(each, step="drop")
        plans.drop_table(each, step="drop what is gone")
    with pytest.raises(EngineError, match=r"look at a b: .*a b"):
        plans.fetch(everything, step="read")


def test_empty_tables_keep_their_types(plans: SparkEngine) -> None:
    name = TableName("any", "place", "empty")
    plans.create_table(
        name, pa.schema([("x", pa.int32()), ("places", pa.list_(pa.int32()))]).empty_table(), step="make"
    )
    found = plans.fetch(exp.select("*").from_(table(name)), step="read")
    assert (found.num_rows, found.schema.field("x").type) == (0, pa.int32())
    plans.drop_table(name, step="drop")


def test_stream_and_plan(plans: SparkEngine) -> None:
    name = TableName("any", "place", "many")
    plans.create_table(name, pa.table({"x": range(1000)}), step="make")
    query = exp.select("*").from_(table(name))
    batches = list(plans.stream(query, step="read", rows=300))
    assert max(batch.num_rows for batch in batches) <= 300
    assert sorted(x for batch in batches for x in batch.column("x").to_pylist()) == list(range(1000))
    assert "Plan" in plans.estimate(query, step="look")[1]
    plans.drop_table(name, step="drop")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_that_does_not_fit_is_an_error(sign: int, plans: SparkEngine) -> None:
    """The server by itself goes on with a number of the other sign."""
    name = TableName("any", "place", "large")
    largest = pa.array([sign * (10**38 - 1)] * 2, pa.decimal128(38))
    plans.create_table(name, pa.table({"k": [1, 1], "x": largest}), step="make")
    total = named(cast(exp.Sum(this=column("x")), "INT128"), "n")
    one = exp.EQ(this=column("k"), expression=exp.Literal.number(1))
    for query in (exp.select(total), exp.select(column("k"), total).group_by(column("k"))):
        with pytest.raises(OverflowEngineError, match="overflow"):
            plans.fetch(query.from_(table(name)), step="sum")
    some = exp.select(total).from_(table(name)).where(exp.Not(this=one))
    assert plans.fetch(some, step="sum nothing").column("n").to_pylist() == [None]
    plans.drop_table(name, step="drop")


@pytest.mark.parametrize("factor", [100, -100])
def test_a_product_that_does_not_fit_is_an_error(factor: int, plans: SparkEngine) -> None:
    name = TableName("any", "place", "factors")
    values = pa.table(
        {"x": pa.array([10**37, 1], pa.decimal128(38)), "y": pa.array([factor, factor], pa.decimal128(38))}
    )
    plans.create_table(name, values, step="make")
    product = exp.Mul(this=column("x"), expression=column("y"))
    for query in (
        exp.select(named(product, "n")),
        exp.select(named(cast(exp.Sum(this=product.copy()), "INT128"), "n")),
    ):
        with pytest.raises(OverflowEngineError):
            plans.fetch(query.from_(table(name)), step="multiply")
    plans.drop_table(name, step="drop")


def test_a_count_that_does_not_fit_names_its_clause(people: Catalog, plans: SparkEngine) -> None:
    literals = [f"Friends(x{i}, y{i})" for i in range(40)]
    model = parse_mln(f"{PEOPLE}1 {' ^ '.join(literals)} => Cancer(z)", query=("Cancer", "Smokes"))
    layout = people.bind(model, training=True)
    for engine in (people.engine, plans):
        program = bind_program(engine, layout, model)
        with pytest.raises(CountOverflowError, match="a count of <text>:4: Friends"):
            true_counts(Extent(program))
        program.close()
