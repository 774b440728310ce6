"""Golden SQL of soft rules, executed on a small world in DuckDB and on Spark.

`SQLRL_UPDATE_GOLDEN=1 pytest tests/plan/test_golden_soft.py` writes the files anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp

from sqlrl.engine.dialects import for_dialect
from sqlrl.engine.spark.server import Spark
from sqlrl.ground.hinges import Parts
from sqlrl.ground.soft_program import SoftProgram
from sqlrl.logic.psl_arithmetic import ArithmeticRule
from sqlrl.logic.psl_files import parse_psl
from sqlrl.plan.hinges import hinges
from sqlrl.plan.sums import addends, bindings, numbered
from tests.ground.soft_worlds import random_world
from tests.plan.golden import check_cases, check_golden, on_spark
from tests.spark import fetch, sorted_rows

FOLDER = Path(__file__).parent / "golden_soft"

SAVED = '// sqlrl {"predicates": {"R/2": null, "Q/1": null, "C/2": null, "D/1": null}, "rules": "as written"}\n'

CASES = {
    "clause": ("hinges", "1: C(A, B) & P(A, B) -> Q(B) ^2"),
    "values": ("hinges", "1: V(A, B) & R(A, B) -> V(B, A) ^2"),
    "prior": ("hinges", "1: !R(A, B)"),
    "ordered": ("hinges", "1: Q(A) & Q(B) & (A % B) -> P(A, B)"),
    "head_alone": ("hinges", "1: P(A, B)"),
    "constants": ("hinges", "1: C(A, 'b') & R(A, 'b') -> Q('b')"),
    "bindings": ("bindings", "1: R(A, B) = R(B, A)"),
    "bindings_of_sums": ("bindings", "1: R(A, +B) + V(A, 'b') <= 1 {B: C(A, B)}"),
    "addends": ("addends", "1: R(A, B) = R(B, A)"),
    # One sum over what a disjunction selects is what models have that were saved before it was a rule for each part.
    "addends_of_sums": ("addends", "1: R(A, +B) / |B| <= Q(A) {B: C(A, B) & !D(B) | B == 'a'}"),
}


@pytest.fixture(scope="module")
def programs() -> Iterator[dict[str, SoftProgram]]:
    world = random_world(1)
    found = {
        name: world.program(parse_psl(SAVED + rule if "|" in rule.partition("{")[2] else rule))
        for name, (_, rule) in CASES.items()
    }
    yield found
    for each in found.values():
        each.close()


def planned(kind: str, soft: SoftProgram) -> exp.Select:
    if kind == "hinges":
        (use,) = soft.program.shapes.values()
        return hinges(use.bound).query
    (sums,) = soft.sums
    (rule,) = soft.model.rules
    assert isinstance(rule, ArithmeticRule)
    parts = Parts.of(rule, sums)
    known = parts.known(sums.bound)
    query = numbered(bindings(sums.bound, parts.atoms, parts.comparisons, parts.summed), known)
    if kind == "bindings":
        return query
    literal = parts.atoms[0]
    shown = [slot for _, slot in sums.bound.columns(literal) if slot in parts.counted]
    found = soft.program.constants.scratch("bindings", query)
    return addends(sums.bound, literal, known, found, parts.conditions(rule, sums.bound, literal, known), shown)


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str, programs: dict[str, SoftProgram]) -> None:
    kind, rule = CASES[name]
    soft = programs[name]
    query = planned(kind, soft)
    rows = soft.engine.fetch(for_dialect(query, "duckdb"), step=name)
    check_golden(FOLDER / f"{name}.sql", query, above=f"-- {rule}")
    assert rows.num_columns == len(query.selects)  # type: ignore[attr-defined]
    assert rows.num_rows, "a comparison of no rows shows nothing"


@pytest.mark.parametrize("name", on_spark(CASES, "addends_of_sums"))
def test_rows_are_the_same_on_spark(name: str, programs: dict[str, SoftProgram], spark: Spark) -> None:
    soft = programs[name]
    query = planned(CASES[name][0], soft)
    rows, others = soft.engine.fetch(for_dialect(query, "duckdb"), step=name), fetch(spark, query, soft.engine)
    assert sorted_rows(others) == sorted_rows(rows)
    assert others.column_names == rows.column_names


def test_every_file_has_a_case() -> None:
    check_cases(FOLDER, CASES)
