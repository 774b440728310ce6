"""Golden SQL of bindings, and which patterns share a closed part.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_bindings.py` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.spark.server import Spark
from sqlrl.errors import ModelError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.shapes import Shape, in_given_order
from sqlrl.plan.bindings import ClosedParts, PatternPart, bindings_query
from tests.plan.golden import check_cases, check_golden
from tests.spark import fetch

FOLDER = Path(__file__).parent / "golden_bindings"
PEOPLE = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
CITATIONS = (
    "Token(word, position, bib)\nNext(position, position)\nIsDate(word)\nSame(bib, bib)\n"
    "InField(bib, field, position)\n"
)

CASES = {
    "path": (CITATIONS, "!InField(c, Author, p) v !Token(W, p, c) v !Next(p, q) v !Token(V, q, c)"),
    "no_closed_literal": (CITATIONS, "!InField(c, Author, p) v !InField(c, Title, q)"),
    "domain_of_a_global_predicate": (CITATIONS, "!InField(c, Author, p) v !Next(p, q) v !Next(q, q)"),
    "facts_about_constants": (CITATIONS, "!InField(c, f, p) v !Token(W, p, c) v !IsDate(W)"),
    "example_is_a_constant": (CITATIONS, "!InField(B1, f, p) v !Token(W, p, B1)"),
    "another_example": (CITATIONS, "!InField(c, f, p) v !Same(c, d) v !Token(W, p, d)"),
    "all_are_one_example": (PEOPLE, "!Cancer(x) v !Friends(y, x) v !Friends(y, y) v !Cancer(z)"),
}


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    found.load("Friends", [("Anna", "Bob"), ("Bob", "Chris"), ("Anna", "Anna")], types=("person", "person"))
    for name in ("Smokes", "Cancer"):
        found.load(name, [("Anna",)], types=("person",), target=True)
    yield found
    found.engine.close()


@pytest.fixture(scope="module")
def citations() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    tokens = [("W", "P1", "B1"), ("V", "P2", "B1"), ("W", "P1", "B2"), ("W", "P3", "B2")]
    found.load("Token", tokens, types=("word", "position", "bib"), example="bib")
    found.load("Next", [("P1", "P2"), ("P2", "P3"), ("P2", "P2")], types=("position", "position"))
    found.load("IsDate", [("W",)], types=("word",))
    found.load("Same", [("B1", "B2")], types=("bib", "bib"))
    labels = [("B1", "Author", "P1"), ("B2", "Title", "P1"), ("B2", "Author", "P3")]
    found.load("InField", labels, types=("bib", "field", "position"), target=True)
    yield found
    found.engine.close()


def bound(declared: str, rule: str, catalog: Catalog) -> tuple[Program, Shape]:
    """A program with one clause, and the clause as a pattern."""
    model = parse_mln(f"{declared}1 {rule}", query=("Cancer", "Smokes") if declared is PEOPLE else ("InField",))
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    (clause,) = program.features[0].feature.clauses
    types = program.layout.predicates
    return program, in_given_order(clause, lambda name, place: types[name].types[place]).shape


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, catalog: Catalog, citations: Catalog) -> None:
    declared, rule = CASES[name]
    used = catalog if declared is PEOPLE else citations
    program, pattern = bound(declared, rule, used)
    found, layout = ClosedParts(program.layout).of(pattern), program.layout
    examples = program.constants.scratch("examples", pa.table({"example": pa.array([1, 0], pa.int32())}))
    query = bindings_query(found.part, layout, examples, most=1001)
    rows = used.engine.fetch(for_dialect(query, "duckdb"), step=name)
    places = f"-- variables {found.variables}, parameters {found.parameters}, undecided {found.undecided}"
    listed = [tuple(row.values()) for row in rows.to_pylist()]
    shown = "\n".join(["-- rows", *(f"-- {row}" for row in listed)])
    check_golden(FOLDER / f"{name}.sql", query, above=f"-- {rule}\n{places}", below=shown)
    assert listed == sorted(set(listed))
    assert rows.column_names == ["example", *found.part.columns]
    program.close()


# A query on the server takes many times as long as one in DuckDB.
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_rows_are_the_same_on_spark(name: str, catalog: Catalog, citations: Catalog, spark: Spark) -> None:
    declared, rule = CASES[name]
    used = catalog if declared is PEOPLE else citations
    program, pattern = bound(declared, rule, used)
    found = ClosedParts(program.layout).of(pattern)
    examples = program.constants.scratch("examples", pa.table({"example": pa.array([1, 0], pa.int32())}))
    query = bindings_query(found.part, program.layout, examples, most=1001)
    rows, others = used.engine.fetch(for_dialect(query, "duckdb"), step=name), fetch(spark, query, used.engine)
    assert others.to_pylist() == rows.to_pylist()
    program.close()


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)


def parts_of(catalog: Catalog, declared: str, *rules: str) -> list[PatternPart]:
    found: list[PatternPart] = []
    parts: ClosedParts | None = None
    for rule in rules:
        program, pattern = bound(declared, rule, catalog)
        parts = parts or ClosedParts(program.layout)
        found.append(parts.of(pattern))
        program.close()
    return found


def test_patterns_that_differ_in_open_literals_or_names_share_a_closed_part(citations: Catalog) -> None:
    first, swapped, single, other = parts_of(
        citations,
        CITATIONS,
        "!InField(c, Author, p) v !Token(W, p, c) v !Next(p, q) v !Token(V, q, c) v !InField(c, Title, q)",
        "!InField(c, f, q) v !Token(V, q, c) v !Next(p, q) v !Token(W, p, c)",
        "!InField(c, Author, p) v !Next(q, p) v !Token(W, q, c) v !Token(W, p, c)",
        "!InField(c, Author, p) v !Token(W, p, c) v !Next(q, p) v !Token(V, p, c)",
    )
    assert first.part == single.part
    # A variable field ranges over its type.
    assert first.part != swapped.part
    assert first.part != other.part
    assert {first.parameters.count(-1), single.parameters.count(-1)} == {1, 2}


def test_a_variable_that_only_open_literals_mention_keeps_its_domain(citations: Catalog) -> None:
    found, joined = parts_of(
        citations,
        CITATIONS,
        "!InField(c, Author, p) v !Next(p, q)",
        "!InField(c, Author, p) v !Next(p, q) v !Token(W, q, c)",
    )
    domains = [[x for x in part.part.relations if x.predicate == "?domain"] for part in (found, joined)]
    assert [len(x) for x in domains] == [2, 1]


def test_open_literals_about_several_examples_are_refused(citations: Catalog) -> None:
    program, pattern = bound(CITATIONS, "!InField(c, Author, p) v !Token(W, p, c)", citations)
    literal = pattern.literals[0]
    slots = {slot.index for slot in literal.terms if not slot.parameter}
    other = literal.terms[0].__class__(False, len(pattern.variables))
    assert max(slots) < other.index
    both = Shape(
        (*pattern.variables, "bib"),
        pattern.parameters,
        (*pattern.literals, type(literal)("InField", False, (other, *literal.terms[1:]))),
    )
    with pytest.raises(
        ModelError, match=r"open literals of the pattern .* belong to several examples \(v\d, v\d\).*modes"
    ):
        ClosedParts(program.layout).of(both)
    program.close()
