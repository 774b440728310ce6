"""Components evaluated in the database, against bindings counted one by one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from functools import cache
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import TableName
from sqlrl.errors import CountOverflowError, GroundingLimitError, ModelError
from sqlrl.ground.coverage import ComponentCounts, Coverage, Placed
from sqlrl.logic.components import BodyLiteral, Component, Components, constant
from sqlrl.plan.coverage import CoveragePattern
from tests.ground.bodies import (
    PREDICATES,
    SIZE,
    TYPES,
    Facts,
    bindings,
    constants,
    encoded,
    load,
    random_body,
    random_facts,
    target_atoms,
)


def dense(counts: ComponentCounts, n: int) -> np.ndarray:
    found = np.zeros((len(counts), n), np.int64)
    for i in range(len(counts)):
        atom, count = counts.of(i)
        assert (np.diff(atom) > 0).all()
        assert (count > 0).all()
        found[i, atom] = count
    return found


def opened(catalog: Catalog, layout: Layout, known: Components, **options: int) -> Coverage:
    _, arguments, example = target_atoms(catalog, layout)
    return Coverage(catalog.engine, layout, known, PREDICATES, arguments, example, **options)


def scratch_tables(catalog: Catalog) -> list[str]:
    rows = catalog.engine.connection.sql("SELECT table_name FROM duckdb_tables()").fetchall()
    return [name for (name,) in rows if name.startswith("coverage_")]


def split(known: Components, bodies: Sequence[Sequence[BodyLiteral]]) -> list[Component]:
    return [component for body in bodies for component in known.split(body)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_counts_are_those_of_all_bindings(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    every = [f"t{i}" for i in range(SIZE)]
    targets = [(a, b) for a in every for b in every if rng.random() < 0.5] + [("t0", "t0")]
    catalog, layout = load(facts, targets)
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known = Components(2)
    bodies = [random_body(rng, rng.randrange(1, 5), ids) for _ in range(40)]
    asked = split(known, bodies)
    _, arguments, _ = target_atoms(catalog, layout)
    by_predicate = encoded(facts, ids)
    expected = [[sum(1 for _ in bindings(x, head, by_predicate)) for head in arguments.tolist()] for x in asked]
    half = len(asked) // 2
    with opened(catalog, layout, known) as coverage:
        found = dense(coverage.evaluate(asked[:half]), len(arguments))
        again = dense(coverage.evaluate(asked, keep=False), len(arguments))
        assert scratch_tables(catalog)
    assert (again == expected).all()
    assert (found == again[:half]).all()
    assert again.max() > 1
    assert not scratch_tables(catalog)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_facts_of_an_example_count_for_its_atoms_alone(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng, ["e0", "e1"])
    targets = [(rng.choice(["e0", "e1"]), f"t{rng.randrange(SIZE)}", f"t{rng.randrange(SIZE)}") for _ in range(12)]
    catalog, layout = load(facts, sorted(set(targets)), examples=True)
    assert layout.predicates["P"].example_column
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known = Components(2)
    asked = split(known, [random_body(rng, rng.randrange(1, 4), ids) for _ in range(20)])
    _, arguments, example = target_atoms(catalog, layout)
    name = layout.examples
    rows = catalog.engine.connection.sql(
        f'SELECT example, name FROM "{name.catalog}"."{name.schema}"."{name.name}"'
    ).fetchall()
    by_example = {number: encoded(facts, ids, text) for number, text in rows}
    expected = [
        [sum(1 for _ in bindings(x, head, by_example[e])) for head, e in zip(arguments.tolist(), example, strict=True)]
        for x in asked
    ]
    with opened(catalog, layout, known) as coverage:
        assert (dense(coverage.evaluate(asked), len(arguments)) == expected).all()


@pytest.mark.slow
def test_what_was_forgotten_is_evaluated_again() -> None:
    rng = random.Random(5)
    facts = random_facts(rng)
    catalog, layout = load(facts, [("t0", "t1"), ("t2", "t3")])
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known = Components(2)
    asked = split(known, [random_body(rng, rng.randrange(1, 5), ids) for _ in range(15)])
    _, arguments, _ = target_atoms(catalog, layout)
    with opened(catalog, layout, known) as coverage:
        expected = dense(coverage.evaluate(asked), len(arguments))
        most = max(coverage._rows.values())
    with opened(catalog, layout, known, limit=2 * most) as coverage:
        forgotten = 0
        for component, row in zip(asked, expected, strict=True):
            before = set(coverage._stored)
            assert (dense(coverage.evaluate([component]), len(arguments))[0] == row).all()
            forgotten += len(before - set(coverage._stored))
    assert forgotten


def test_one_query_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, layout = load(random_facts(random.Random(1)), [("t0", "t1")])
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known, rng = Components(2), random.Random(2)
    one = split(known, [random_body(rng, 1, ids) for _ in range(30)])
    steps: list[str] = []
    with opened(catalog, layout, known) as coverage:
        append = catalog.engine.append

        def noted(name: TableName, query: exp.Expr, *, step: str) -> None:
            steps.append(step)
            append(name, query, step=step)

        monkeypatch.setattr(catalog.engine, "append", noted)
        coverage.evaluate(one)
    assert len([step for step in steps if step.startswith("bind")]) == 1


@cache
def crowd() -> tuple[Catalog, Layout]:
    """Everybody is tied to everybody."""
    every = [f"t{i}" for i in range(10)]
    facts: Facts = {name: {tuple(f"{kind}0" for kind in kinds)} for name, kinds in TYPES.items()}
    facts["P"] = {(a, b) for a in every for b in every}
    return load(facts, [("t0", "t1")])


def chain(known: Components, length: int) -> Component:
    """P(A, C) ^ P(C, D) ^ ..."""
    p, places = PREDICATES.index("P"), [0, *range(2, 2 + length)]
    (found,) = known.split([BodyLiteral(p, pair) for pair in itertools.pairwise(places)])
    return found


@pytest.mark.parametrize("keep", [True, False])
def test_a_component_with_too_many_bindings_is_counted(keep: bool) -> None:
    """The third step has ten thousand; the fourth and fifth are made of the two halves of their chains."""
    catalog, layout = crowd()
    known = Components(2)
    with opened(catalog, layout, known, limit=5_000) as coverage:
        for length, count in ((1, 10), (3, 1_000), (2, 100), (4, 10_000), (5, 100_000)):
            found = coverage.evaluate([chain(known, length)], keep=keep)
            assert found.of(0)[1].tolist() == [count] * 100
        assert max(coverage._rows.values()) <= 5_000
        assert chain(known, 3) in coverage.exploding
        assert not coverage.passed_over
    assert not scratch_tables(catalog)


def test_the_literal_that_explodes_is_named() -> None:
    """With no way around it."""
    catalog, layout = crowd()
    known = Components(2)
    with opened(catalog, layout, known, limit=50) as coverage:
        assert coverage.evaluate([chain(known, 1)]).of(0)[1].tolist() == [10] * 100
        with pytest.raises(GroundingLimitError) as caught:
            coverage.evaluate([chain(known, 2)])
    text = str(caught.value)
    assert "explodes in the body P(C, D): it has 100 bindings at 100 target atoms, more than the limit of 50" in text
    assert not scratch_tables(catalog)


def test_parents_that_have_too_many_together_are_made_one_by_one() -> None:
    catalog, layout = crowd()
    known = Components(2)
    with opened(catalog, layout, known, limit=150) as coverage:
        # P(A, C) and P(D, E) have a hundred each.
        assert coverage.evaluate([chain(known, 3)], keep=False).of(0)[1].tolist() == [1_000] * 100


@pytest.mark.slow
def test_parents_that_touch_no_argument_of_the_head_are_counted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, two of them, beside one that touches the head, with new variables and constants."""
    p, q, r, s = range(len(PREDICATES))
    seen: set[tuple[int, int, bool]] = set()
    grouped = Coverage._grouped

    def noted(coverage: Coverage, patterns: Sequence[CoveragePattern], found: Sequence[Placed]) -> list[int]:
        chosen = grouped(coverage, patterns, found)
        seen.update((len(x.loose), len(x.parents), bool(x.new)) for i, x in enumerate(patterns) if i in chosen)
        return chosen

    monkeypatch.setattr(Coverage, "_grouped", noted)
    rng = random.Random(1)
    facts = random_facts(rng)
    facts["S"] |= {(f"u{rng.randrange(3)}", f"t{rng.randrange(3)}", f"u{rng.randrange(3)}") for _ in range(20)}
    every = [f"t{i}" for i in range(SIZE)]
    catalog, layout = load(facts, [(a, b) for a in every for b in every if rng.random() < 0.3])
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known = Components(2)
    some = constant(ids["u"]["u1"])
    ties = [[BodyLiteral(p, (0, 3))], [BodyLiteral(p, (3, 7))], [BodyLiteral(p, (1, 3)), BodyLiteral(q, (3, 8))]]
    ends = [[BodyLiteral(r, (2,))], [BodyLiteral(q, (5, 2)), BodyLiteral(p, (5, 6))], [BodyLiteral(s, (2, 6, 2))]]
    asked = split(
        known,
        [
            [BodyLiteral(s, terms), *tie, *end, *other]
            for terms in ((2, 3, 4), (2, 0, 4), (2, 3, some), (some, 3, 2), (2, 1, 2))
            for tie in ([], *ties)
            for end in ends
            for other in ([], [BodyLiteral(q, (9, 4))])
        ],
    )
    _, arguments, _ = target_atoms(catalog, layout)
    by_predicate = encoded(facts, ids)
    expected = [[sum(1 for _ in bindings(x, head, by_predicate)) for head in arguments.tolist()] for x in asked]
    assert np.max(expected) > 10
    with opened(catalog, layout, known) as coverage:
        coverage.evaluate(split(known, [*ties, *ends, [BodyLiteral(q, (9, 4))]]))
        assert (dense(coverage.evaluate(asked, keep=False), len(arguments)) == expected).all()
    assert {(1, 1, True), (1, 1, False), (1, 2, True), (1, 2, False), (2, 2, False), (2, 3, False)} <= seen


@pytest.mark.slow
def test_what_can_be_made_is_counted_and_the_rest_is_passed_over() -> None:
    outcomes = set()
    rng = random.Random(0)
    facts = random_facts(rng)
    every = [f"t{i}" for i in range(SIZE)]
    catalog, layout = load(facts, [(a, b) for a in every for b in every if rng.random() < 0.5] + [("t0", "t0")])
    ids = {kind: constants(catalog, layout, kind) for kind in ("t", "u")}
    known = Components(2)
    asked = split(known, [random_body(rng, rng.randrange(1, 5), ids) for _ in range(25)])
    _, arguments, _ = target_atoms(catalog, layout)
    by_predicate = encoded(facts, ids)
    expected = [[sum(1 for _ in bindings(x, head, by_predicate)) for head in arguments.tolist()] for x in asked]
    for limit in (3, 30):
        with opened(catalog, layout, known, limit=limit, pass_over=True) as coverage:
            coverage.evaluate(asked[: len(asked) // 2])
            found = dense(coverage.evaluate(asked, keep=False), len(arguments))
            for component, row, right in zip(asked, found, expected, strict=True):
                passed = component in coverage.passed_over
                assert row.tolist() == ([0] * len(row) if passed else right)
                outcomes.add((passed, component in coverage.exploding))
            assert set(coverage.passed_over.values()) <= coverage.exploding.keys()
    assert outcomes == {(False, False), (False, True), (True, False)}


@pytest.mark.parametrize("keep", [True, False])
def test_a_layer_that_is_too_large_together_is_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch, keep: bool) -> None:
    """Nine components of a thousand bindings, of parents that have a hundred or a thousand; two of them are within the limit."""
    catalog, layout = crowd()
    known, p = Components(2), PREDICATES.index("P")
    someone = [constant(i) for i in sorted(constants(catalog, layout, "t").values())]
    asked = [
        component
        for x, y in itertools.product(someone[:3], repeat=2)
        for component in known.split(
            [BodyLiteral(p, (0, 2)), BodyLiteral(p, (2, x)), BodyLiteral(p, (3, y)), BodyLiteral(p, (2, 3))]
        )
    ]
    with opened(catalog, layout, known) as coverage:
        expected = dense(coverage.evaluate(asked, keep=keep), 100)
        most = max(coverage._rows.values())
    assert expected.any()
    stored: list[int] = []
    with opened(catalog, layout, known, limit=2 * most) as coverage:
        forget = coverage._forget
        monkeypatch.setattr(coverage, "_forget", lambda: stored.append(sum(coverage._rows.values())) or forget())
        assert (dense(coverage.evaluate(asked, keep=keep), 100) == expected).all()
    assert len(stored) > 1
    assert max(stored) < 7 * most


def test_a_count_beyond_64_bits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, layout = crowd()
    known, p = Components(2), PREDICATES.index("P")
    asked = known.split([BodyLiteral(p, (0, 2)), BodyLiteral(p, (2, 3))])
    fetch = catalog.engine.fetch

    def overflowing(query: exp.Expr, *, step: str) -> pa.Table:
        if step.startswith("count the bindings"):
            query = parse_one(
                "SELECT 0 AS component, 0 AS key, 9223372036854775807::BIGINT + n::BIGINT AS n FROM range(9) r(n)"
            )
        return fetch(query, step=step)

    monkeypatch.setattr(catalog.engine, "fetch", overflowing)
    with opened(catalog, layout, known) as coverage, pytest.raises(CountOverflowError) as caught:
        coverage.evaluate(asked, keep=False)
    assert "the number of bindings of P(A, C) ^ P(C, D) does not fit into 64 bits" in str(caught.value)


def test_an_open_predicate_is_refused() -> None:
    catalog, layout = crowd()
    _, arguments, example = target_atoms(catalog, layout)
    with pytest.raises(ModelError, match="Target is open"):
        Coverage(catalog.engine, layout, Components(2), ["P", "Target"], arguments, example)


def test_interrupted_evaluation_leaves_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, layout = crowd()
    known = Components(2)
    body = known.split([BodyLiteral(PREDICATES.index("P"), (0, 2))])
    fetch = catalog.engine.fetch

    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    coverage = opened(catalog, layout, known)
    monkeypatch.setattr(catalog.engine, "fetch", interrupted)
    with coverage, pytest.raises(KeyboardInterrupt):
        coverage.evaluate(body)
    monkeypatch.setattr(catalog.engine, "fetch", fetch)
    assert not scratch_tables(catalog)


def test_canonical_form_knows_no_names() -> None:
    rng = random.Random(3)
    known = Components(2)
    ids = {kind: {f"{kind}{i}": i for i in range(SIZE)} for kind in ("t", "u")}
    for _ in range(200):
        body = random_body(rng, rng.randrange(1, 6), ids)
        variables = sorted({term for x in body for term in x.terms if term >= 2})
        names = dict(zip(variables, rng.sample(range(2, 40), len(variables)), strict=True))
        other = [BodyLiteral(x.predicate, tuple(names.get(term, term) for term in x.terms)) for x in body]
        rng.shuffle(other)
        assert known.split(body) == Components(2).split(other)
        for component in known.split(body):
            assert known.canonical(frozenset(component)) == component
            seen = dict.fromkeys(term for literal in component for term in literal.terms if term >= 2)
            assert list(seen) == list(range(2, 2 + len(seen)))


def test_different_components_stay_different() -> None:
    """Components are equal exactly if some renaming of variables makes them so: tried out, all renamings."""
    rng = random.Random(4)
    known = Components(1)
    pool = [tuple(sorted({BodyLiteral(0, (rng.randrange(4), rng.randrange(4))) for _ in range(4)})) for _ in range(60)]
    for left in pool:
        for right in pool:
            same = any(
                sorted(BodyLiteral(0, tuple((0, *order)[t] for t in x.terms)) for x in left) == list(right)
                for order in permutations((1, 2, 3))
            )
            assert (known.split(left) == known.split(right)) == same


def test_constant_is_its_own_inverse() -> None:
    assert [constant(constant(i)) for i in range(3)] == [0, 1, 2]
