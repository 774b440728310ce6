"""Shapes grounded together, against the same shapes grounded one by one: the networks are equal to the byte."""

from __future__ import annotations

import random
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from scipy import sparse

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import TableName
from sqlrl.engine.connection import connect
from sqlrl.ground import coverage, features
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from tests.effort import draws
from tests.ground.bodies import IDS, SIZE, TEXT, body_text, random_body, random_facts
from tests.ground.cases import Case, programs
from tests.ground.cases import load as load_case
from tests.ground.test_features import non_recursive

NEVER = 10**9


def grounded(program: Program, least: int, examples: TableName | None = None) -> Network:
    before, features.MANY_SHAPES = features.MANY_SHAPES, least
    try:
        return ground_network(Extent(program, examples), check=False)
    finally:
        features.MANY_SHAPES = before


ROWS = ("indptr", "literals", "row_clause", "multiplicity")


def contents(network: Network) -> list[tuple[str, object]]:
    """Every array with its type and bytes; of exact integers the integers."""
    found: list[tuple[str, object]] = []
    for name in [*(each.name for each in fields(network) if each.name != "rows"), *ROWS]:
        value = getattr(network, name)
        arrays = [value.data, value.indices, value.indptr] if sparse.issparse(value) else [value]
        for array in map(np.asarray, arrays):
            plain = array.tolist() if array.dtype == object else array.tobytes()
            found.append((f"{name} {array.dtype} {array.shape}", plain))
    return found


@settings(max_examples=draws(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(size=5, kind=non_recursive))
def test_networks_are_equal(case: Case) -> None:
    engine, layout = load_case(case)
    program = bind_program(engine, layout, case.model)
    one = grounded(program, NEVER)
    assert contents(grounded(program, 1)) == contents(one)
    with program.examples_table(np.unique(one.example)[:1]) as examples:
        assert contents(grounded(program, 1, examples=examples)) == contents(
            grounded(program, NEVER, examples=examples)
        )
    engine.close()


def scoped(rules: list[str], seed: int, *, scope: bool = True) -> Program:
    """A program whose target has atoms for some pairs alone."""
    rng = random.Random(seed)
    facts = random_facts(rng)
    model = parse_mln(TEXT + "\n".join(rules), query=("Target",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    pairs = [(f"T{i}", f"T{j}") for i in range(SIZE) for j in range(SIZE)]
    chosen = [pair for pair in pairs if rng.random() < 0.4] + pairs[:1]
    catalog.load("R", [(f"U{i}",) for i in range(SIZE)])
    catalog.load("P", pairs)
    for name in ("Q", "S"):
        catalog.load(name, sorted(tuple(x.upper() for x in row) for row in facts[name]))
    catalog.load("Target", sorted(set(chosen[::2])), target=True)
    if scope:
        catalog.scope("Target", sorted(set(chosen)))
    return bind_program(catalog.engine, catalog.bind(model, training=True), model)


def rules_of(seed: int, number: int = 15) -> list[str]:
    rng = random.Random(seed)
    heads = ["Target(x0, x1)", "Target(x1, x0)", "!Target(x0, x1)", "Target(x0, x0)", "Target(x0, T1)"]
    rules = []
    for i in range(number):
        body = body_text(random_body(rng, rng.randrange(1, 4), IDS))
        rules.append(f"{rng.choice([1, -2])} {body} => {heads[i % len(heads)]}")
    return [*rules, "1 Target(x, y)", "P(x, y) ^ Q(y, u) => Target(x, y).", "1 Target(x, y) => Target(y, x)"]


@pytest.mark.parametrize(("seed", "scope"), [(0, True), pytest.param(1, False, marks=pytest.mark.slow)])
def test_networks_are_equal_where_heads_are_outside_the_scope(seed: int, scope: bool) -> None:
    program = scoped(rules_of(seed), seed, scope=scope)
    assert program.layout.predicates["Target"].full_scope != scope
    one, many = grounded(program, NEVER), grounded(program, 1)
    assert contents(many) == contents(one)
    assert any(n > 0 for n in one.evidence_violated) == scope
    with program.examples_table(np.zeros(0, np.int64)) as nothing:
        assert contents(grounded(program, 1, examples=nothing)) == contents(grounded(program, NEVER, examples=nothing))


@pytest.mark.slow
def test_many_shapes_are_not_grounded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = scoped(rules_of(2, 70), 2)
    expected = contents(grounded(program, NEVER))
    asked: list[str] = []
    stream = program.engine.stream

    def noted(query: object, *, step: str, rows: int) -> object:
        asked.append(step)
        return stream(query, step=step, rows=rows)  # type: ignore[arg-type]

    monkeypatch.setattr(program.engine, "stream", noted)
    assert len(program.shapes) > features.MANY_SHAPES
    assert contents(ground_network(Extent(program), check=False)) == expected
    # The hard rule and the one with two open literals.
    assert len([step for step in asked if step.startswith("ground ")]) == 2


def test_too_many_bindings_are_grounded_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program = scoped(rules_of(3), 3)
    expected = contents(grounded(program, NEVER))
    refused: list[str] = []
    without = coverage.Coverage._without

    def noted(*arguments: object) -> object:
        try:
            return without(*arguments)  # type: ignore[arg-type]
        except Exception as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(coverage.Coverage, "_without", noted)
    # Two are few, but every body here can be made of parts that have no more; none at all is too few.
    for most in (2, 0):
        monkeypatch.setattr(features, "MOST_BINDINGS", most)
        assert contents(grounded(program, 1)) == expected
        assert bool(refused) == (most == 0)
