"""Golden SQL: each file has a rule, what is planned for it, and the query. It is executed in DuckDB and on Spark.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_golden.py` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.connection import connect
from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.spark.server import Spark
from sqlrl.ground.binding import bind_program
from sqlrl.ground.program import Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.shapes import Slot
from sqlrl.plan.blankets import TermPlanner, is_countable
from sqlrl.plan.counted_conjunctions import count_conjunctions
from sqlrl.plan.counting import count_groundings, count_violated, joined_by_count
from sqlrl.plan.differences import count_difference
from sqlrl.plan.expansion import expand, expand_observed
from sqlrl.plan.factor_graph import count_factors, list_factors
from sqlrl.plan.grounding import ground
from sqlrl.plan.groups import group_count, group_groundings, joined_by_groups, violated_group_count
from sqlrl.plan.joint_counts import joint_counts
from sqlrl.plan.named_clauses import evidence_violations
from sqlrl.plan.slots import bind
from sqlrl.plan.some_groundings import some_groundings, ways
from sqlrl.plan.sources import OBSERVED, World
from sqlrl.plan.unsatisfied import FAIL, HOLD, among, few, unsatisfied
from tests.plan.golden import check_cases, check_golden, on_spark
from tests.spark import fetch, sorted_rows

FOLDER = Path(__file__).parent / "golden"
PEOPLE = "Friends(person, person)\nSmokes(person)\nCancer(person)\n"
CITATIONS = (
    "Token(word, position, bib)\nNext(position, position)\nInField(bib, field, position)\nfield = {Author, Title}\n"
)

CASES = {
    "ground_transitive": ("ground", PEOPLE, "1 Friends(x, y) ^ Cancer(x) => Cancer(y)"),
    "ground_given": ("ground", PEOPLE, "1 Smokes(x) => Cancer(x)"),
    "ground_three_alike": ("ground", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) => Cancer(x) v Cancer(y) v Cancer(z)"),
    "ground_exists": ("ground", PEOPLE, "1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "ground_sentence": ("ground", PEOPLE, "1 EXIST x Cancer(x)"),
    "ground_no_witness": ("ground", PEOPLE, "1 Smokes(x) v EXIST y (Friends(y, y) ^ Cancer(y))"),
    "ground_unequal": ("ground", PEOPLE, "1 Cancer(x) => Cancer(y) v x = y v Friends(x, Anna)"),
    "ground_absorbed": (
        "ground",
        CITATIONS,
        "1 InField(c, f, p) ^ InField(c, g, p) ^ Next(p, q) => InField(c, g, q)",
    ),
    "ground_counted_apart": ("ground", PEOPLE, "1 Friends(z, w) ^ Cancer(x) => Cancer(Anna)"),
    "ground_counted_path": ("ground", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Friends(z, w) => Cancer(x)"),
    "ground_counted_absent": ("ground", PEOPLE, "1 Friends(z, w) v Friends(x, v) v Cancer(x)"),
    "ground_counted_unequal": ("ground", PEOPLE, "1 Friends(x, y) ^ Friends(x, z) ^ y != z => Cancer(x)"),
    "ground_counted_template": ("ground", CITATIONS, "Token(+w, p, c) ^ Token(v, q, c) => InField(c, +f, r)"),
    "ground_template": ("ground", CITATIONS, "Token(+w, p, c) => InField(c, +f, p)"),
    "ground_local": ("ground", CITATIONS, "1 InField(c, f, p) ^ p != q => InField(c, f, q) v Next(p, q)"),
    "scoped_unit": ("scoped", PEOPLE, "1 Cancer(x)"),
    "scoped_loose": ("scoped", PEOPLE, "1 Friends(x, y) => Cancer(z) v y = z"),
    "scoped_template": ("scoped", CITATIONS, "Token(+w, p, c) => InField(c, +f, r)"),
    "evidence_violates": ("violated", PEOPLE, "Friends(x, y) => Smokes(y)."),
    "expand_template": ("expand", CITATIONS, "Token(+w, p, c) => InField(c, +f, p)"),
    "expand_counted": ("expand", CITATIONS, "Token(+w, p, c) ^ Token(v, q, d) => InField(c, +f, p)"),
    "expand_chain": ("expand", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)"),
    "expand_projected": ("expand", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +f, q)"),
    "expand_bodies": ("expand bodies", CITATIONS, "Token(+w, p, c) ^ Next(p, q) => InField(c, +f, q)"),
    "expand_no_body": ("expand bodies", PEOPLE, "1 Smokes(+x)"),
    "count_template": ("count", CITATIONS, "Token(+w, p, c) => InField(c, +f, p)"),
    "count_path": ("count", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Smokes(z) => Cancer(x)"),
    "count_triangle": ("count", PEOPLE, "1 !Friends(x, y) v !Friends(y, z) v !Friends(z, x)"),
    "count_apart": ("count", PEOPLE, "1 Friends(x, Anna) v Smokes(y) v Cancer(z)"),
    "count_alike": ("count", PEOPLE, "1 Smokes(Anna) v (Friends(x, Anna) <=> Friends(y, Bob))"),
    "count_exists": ("count", PEOPLE, "1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "groups_chain": ("count by v0", PEOPLE, "1 Friends(x, y) ^ Smokes(x) => Cancer(y)"),
    "groups_path": ("count by v1", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Smokes(z) => Cancer(x)"),
    "groups_ends": ("count by v0 v2", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) => Cancer(x)"),
    "groups_apart": ("count by v0 v1", PEOPLE, "1 Friends(x, Anna) v Smokes(y) v Cancer(z)"),
    "groups_alike": ("count by v1", PEOPLE, "1 Smokes(Chris) v (Friends(x, Anna) <=> Friends(y, Bob))"),
    "groups_unequal": ("count by v0 v1", PEOPLE, "1 Friends(x, y) ^ x != Anna => Cancer(x) v x = y"),
    "groups_template": ("count by v1", CITATIONS, "Token(+w, p, c) => InField(c, +f, p)"),
    "groups_exists": ("count by v0", PEOPLE, "1 Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "groups_enumerated": (
        "count by v1",
        PEOPLE,
        "1 Smokes(x) v Smokes(y) v Cancer(x) v Cancer(y) v Friends(x, y) v Friends(y, x)",
    ),
    "group_size_apart": ("size by v0 v1", PEOPLE, "1 Friends(x, y) => Cancer(z)"),
    "group_size_local": (
        "size by v1 v2",
        CITATIONS,
        "InField(c, Author, p) ^ Next(p, q) => InField(c, Title, q)",
    ),
    "group_number_local": ("number by v1 v2", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)"),
    "group_number_violated": ("number violated by v0 v1", PEOPLE, "1 Friends(x, Anna) v Cancer(y) v Cancer(z)"),
    "groups_joined": ("joined by v0 v2", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) => Cancer(x)"),
    "group_joined_local": ("tied by v1 v2", CITATIONS, "InField(c, Author, p) ^ Next(p, q) => InField(c, Title, q)"),
    "unsatisfied_transitive": ("unsatisfied", PEOPLE, "1 Friends(x, y) ^ Cancer(x) => Cancer(y)"),
    "unsatisfied_template": ("unsatisfied", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)"),
    "unsatisfied_exists": ("unsatisfied", PEOPLE, "1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "met_given": ("met", PEOPLE, "1 Smokes(x) => Cancer(x)"),
    "met_exists": ("met", PEOPLE, "1 Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "few_given": ("few", PEOPLE, "1 Smokes(x) => Cancer(x)"),
    "few_alike": ("few", PEOPLE, "1 Cancer(x) v Cancer(y)"),
    "among_given": ("among", PEOPLE, "1 Smokes(x) => Cancer(x)"),
    "factors_chain": ("factors", CITATIONS, "InField(c, Author, p) ^ Next(p, q) => !InField(c, Title, q)."),
    "factors_between": ("factors", CITATIONS, "Next(p, q) ^ InField(c, +f, p) => InField(c, +f, q) v Next(q, p)."),
    "factors_given": ("factors", PEOPLE, "Smokes(x) ^ Cancer(y) => Friends(x, y)."),
    "factors_listed": ("listed", PEOPLE, "Friends(x, y) ^ Cancer(x) => !Cancer(y)."),
    "factors_witnesses": ("listed", PEOPLE, "Cancer(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))."),
    "total_local": ("total", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q)"),
    "difference_path": ("difference", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Smokes(z) => Cancer(x)"),
    "difference_exists": ("difference", PEOPLE, "1 Smokes(x) => (EXIST y (Friends(x, y) ^ Cancer(y)))"),
    "joint_chain": ("joint", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Cancer(x) ^ Cancer(z)"),
    "joint_apart": ("joint", PEOPLE, "1 Friends(x, y) ^ Cancer(x) ^ Cancer(z)"),
    "joint_template": ("joint", CITATIONS, "Token(+w, p, c) ^ Next(p, q) ^ InField(c, +f, p) ^ InField(c, +f, q)"),
    "blankets_chain": ("blankets", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) ^ Cancer(x) => Smokes(z)"),
    "blankets_alike": ("blankets", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) => Friends(x, z)"),
    "blankets_exists": (
        "blankets",
        PEOPLE,
        "1 Cancer(x) => Smokes(x) v (EXIST y (Friends(x, y) ^ Smokes(y) ^ y != x))",
    ),
    "blankets_exists_local": (
        "blankets",
        CITATIONS,
        "1 Token(w, p, c) => (EXIST q, f (InField(c, f, q) ^ Next(p, q) ^ Token(w, q, c)))",
    ),
    "blankets_local": ("blankets", CITATIONS, "InField(c, +f, p) ^ Next(p, q) => InField(c, +g, q) v p = q"),
    "groundings_bad": ("applies_bad", PEOPLE, "1 Friends(x, y) ^ Friends(y, z) => Friends(x, z)"),
    "groundings_idle": ("idle_bad", CITATIONS, "InField(c, f, p) ^ Next(p, q) => InField(c, f, q) v p = q"),
    "difference_transitive": ("difference", PEOPLE, "1 Friends(x, y) ^ Cancer(x) => Cancer(y)"),
}


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    pairs = [("Anna", "Bob"), ("Bob", "Chris"), ("Chris", "Anna"), ("Anna", "Chris")]
    found.load("Friends", pairs, types=("person", "person"))
    found.load("Smokes", [("Anna", True), ("Chris", False)], types=("person",), given=True, truth=1)
    yield found
    found.engine.close()


@pytest.fixture(scope="module")
def citations() -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    found.load(
        "Token",
        [("w", "P1", "B1"), ("v", "P2", "B1"), ("w", "P1", "B2")],
        types=("word", "position", "bib"),
        example="bib",
    )
    found.load("Next", [("P1", "P2")], types=("position", "position"))
    found.load("InField", [("B1", "Author", "P1")], types=("bib", "field", "position"), target=True)
    yield found
    found.engine.close()


def planned(kind: str, program: Program) -> exp.Expression:
    """The query of a program's first shape; the tables of its parameters are those of the program."""
    (use,) = program.shapes.values()
    layout, bound = program.layout, use.bound
    kind, _, slots = kind.partition(" by ")
    by = tuple((f"b{i}", Slot(False, int(name[1:]))) for i, name in enumerate(slots.split()))
    match kind:
        case "ground":
            return ground(bound).query
        case "scoped":
            some = {x.name: replace(x, full_scope=False) if x.open else x for x in layout.predicates.values()}
            return ground(bind(use.shape, replace(layout, predicates=some), parameters=use.parameters)).query
        case "violated":
            return evidence_violations(bound)
        case "expand":
            template = program.features[0]
            return expand(template.instances[0], layout, plus=template.feature.plus)
        case "expand bodies":
            template = program.features[0]
            return expand_observed(template.instances[0], layout, plus=template.feature.plus)
        case "applies_bad" | "idle_bad":
            way, *_ = ways(use.shape, use.shape.literals[-1].predicate, kind, 1)
            return some_groundings(bound, way, examples=None, parameters=None, most=5, repeats=2)
        case "count":
            return count_violated(bound, OBSERVED, by=by)
        case "size":
            return group_groundings(bound, None, by)
        case "number":
            return group_count(bound, None, by)
        case "number violated":
            return violated_group_count(bound, OBSERVED, None, by)
        case "tied":
            return joined_by_groups(bound, None, by)[0]
        case "joined":
            return joined_by_count(bound, OBSERVED, None, by)[0]
        case "joint":
            return joint_counts(bound)
        case "total":
            return count_groundings(bound)
        case "factors":
            return count_factors(bound)
        case "listed":
            return list_factors(bound)
        case "blankets":
            planner = TermPlanner(bound)
            names = dict.fromkeys(x.predicate for x in bound.every_literal if is_countable(bound, x.predicate))
            parts = dict.fromkeys(
                use.conjunction for name in names for term in planner.flip_terms(name) for use in term.conjunctions
            )
            counted = count_conjunctions(list(parts), layout)
            assert counted is not None
            return counted
        case "few":
            plan = few(bound)
            assert plan is not None
            return plan.query
        case "unsatisfied" | "met" | "among":
            world = program.constants.scratch("world", pa.table({"atom": pa.array([1], pa.int64())}))
            if kind == "among":
                pairs = among({HOLD: bound}, world)
                assert pairs is not None
                return pairs.query
            return unsatisfied({HOLD if kind == "unsatisfied" else FAIL: bound}, world).query
        case _:
            world = program.constants.scratch("world", pa.table({"atom": pa.array([1], pa.int64())}))
            return count_difference(bound, World(world), OBSERVED)


@contextmanager
def query_of(name: str, catalog: Catalog, citations: Catalog) -> Iterator[tuple[exp.Expression, QueryEngine]]:
    """The query of a case, and the engine that has its tables."""
    kind, declared, rule = CASES[name]
    used = catalog if declared is PEOPLE else citations
    model = parse_mln(declared + rule, query=("Cancer", "Smokes") if used is catalog else ("InField",))
    program = bind_program(used.engine, used.bind(model, training=True), model)
    program.expand()
    yield planned(kind, program), used.engine
    program.close()


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, catalog: Catalog, citations: Catalog) -> None:
    kind, _, rule = CASES[name]
    with query_of(name, catalog, citations) as (query, engine):
        rows = engine.fetch(for_dialect(query, "duckdb"), step=name)
        check_golden(FOLDER / f"{name}.sql", query, above=f"-- {kind}: {rule}")
    assert rows.num_columns == len(query.selects)  # type: ignore[attr-defined]
    assert rows.num_rows, "a comparison of no rows shows nothing"


@pytest.mark.parametrize(
    "name", on_spark(CASES, "count_apart", "expand_template", "factors_given", "unsatisfied_template")
)
def test_rows_are_the_same_on_spark(name: str, catalog: Catalog, citations: Catalog, spark: Spark) -> None:
    with query_of(name, catalog, citations) as (query, engine):
        rows = engine.fetch(for_dialect(query, "duckdb"), step=name)
        others = fetch(spark, query, engine)
    assert sorted_rows(others) == sorted_rows(rows)
    assert others.column_names == rows.column_names


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)
