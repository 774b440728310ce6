"""Features of non-recursive clauses, against the ground network and against bindings counted one by one."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import CountOverflowError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.features import _check, features
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Rule
from sqlrl.logic.terms import And, Implies, Not, Or
from tests.effort import draws
from tests.ground.bodies import (
    IDS,
    SIZE,
    TEXT,
    Facts,
    bindings,
    body_text,
    encoded,
    random_body,
    random_facts,
)
from tests.ground.cases import CLOSED, FURTHER, Case, Language, programs
from tests.ground.cases import load as load_case

PAIRS = [(f"T{i}", f"T{j}") for i in range(SIZE) for j in range(SIZE)]


@st.composite
def non_recursive(draw: st.DrawFn, case: Case, quantifiers: bool = True) -> Rule:
    """A rule with one open literal and a body of closed atoms; at times one of them is negated, which grounding must do."""
    language = Language(case, frozenset(), FURTHER if draw(st.booleans()) else ())
    head = draw(language.atom(case.opened))
    body = draw(st.lists(language.atom([*CLOSED]), min_size=0, max_size=3))
    if not body:
        return Rule(head, 1.0)
    if draw(st.integers(0, 5)) == 0:
        body[0] = Not(body[0])
    joined = And(tuple(body)) if len(body) > 1 else body[0]
    match draw(st.integers(0, 3)):
        case 0:
            return Rule(And((joined, head)), 1.0)
        case 1:
            return Rule(Or((Not(joined), Not(head))), -1.0)
        case _:
            return Rule(Implies(joined, head), 1.0)


@pytest.mark.slow
@settings(max_examples=draws(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(size=4, kind=non_recursive))
def test_units_are_those_of_the_ground_network(case: Case) -> None:
    engine, layout = load_case(case)
    program = bind_program(engine, layout, case.model)
    found = features(program)
    network = ground_network(Extent(program), check=False)
    assert found.atoms.tolist() == network.atoms.tolist()
    expected = network.units.toarray()
    expected[:, ~found.evaluated] = 0
    assert (found.units.toarray() == expected).all()
    numbers = np.unique(network.example)[:1]
    with program.examples_table(numbers) as examples:
        some, part = features(program, examples), ground_network(Extent(program, examples), check=False)
        expected = part.units.toarray()
        expected[:, ~some.evaluated] = 0
        assert (some.units.toarray() == expected).all()
    engine.close()


def program_of(rules: list[str], facts: Facts) -> Program:
    """A program over facts in capitals; all pairs of constants are query atoms."""
    model = parse_mln(TEXT + "\n".join(rules), query=("Target",))
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    # In this order constants get their numbers as ids.
    catalog.load("Target", PAIRS, target=True)
    catalog.load("R", [(f"U{i}",) for i in range(SIZE)])
    for name in ("P", "Q", "S"):
        catalog.load(name, sorted(tuple(x.upper() for x in row) for row in facts[name]))
    return bind_program(catalog.engine, catalog.bind(model, training=True), model)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_counts_are_those_of_all_bindings(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    facts["R"] = {(f"u{i}",) for i in range(SIZE)}
    bodies = [random_body(rng, rng.randrange(1, 5), IDS) for _ in range(40)]
    heads = [rng.choice(["Target(x0, x1)", "Target(x0, x1)", "Target(x1, x0)", "!Target(x0, x1)"]) for _ in bodies]
    program = program_of([f"1 {body_text(b)} => {h}" for b, h in zip(bodies, heads, strict=True)], facts)
    found = features(program)
    assert found.evaluated.all()
    assert (found.units.toarray() == ground_network(Extent(program)).units.toarray()).all()
    rows, units = encoded(facts, IDS), found.units.toarray()
    for k, (first, second) in enumerate((int(a[1]), int(b[1])) for a, b in PAIRS):
        for i, (body, head) in enumerate(zip(bodies, heads, strict=True)):
            given_head = [second, first] if head == "Target(x1, x0)" else [first, second]
            n = sum(1 for _ in bindings(body, given_head, rows))
            assert units[k, i] == (-n if head.startswith("!") else n)


def test_heads_with_constants_and_repeated_variables() -> None:
    facts = random_facts(random.Random(8))
    rules = [
        "1 P(x, y) => Target(x, x)",
        "1 P(x, y) => Target(T1, y)",
        "1 P(T2, y) => Target(y, T0)",
        "1 Target(x, y)",
        "1 R(u) ^ S(u, x, v) => Target(x, y)",
        "1 P(x, y) v Target(x, y)",
        "1 P(x, y) => Target(x, y) v Target(y, x)",
        "1 P(x, y) ^ x != y => Target(x, y)",
        "1 Target(T1, T1)",
    ]
    program = program_of(rules, facts)
    found = features(program)
    assert found.evaluated.tolist() == [True, True, True, True, True, False, False, False, True]
    expected = ground_network(Extent(program)).units.toarray()
    expected[:, ~found.evaluated] = 0
    assert (found.units.toarray() == expected).all()


def test_a_count_beyond_64_bits_is_an_error() -> None:
    program = program_of(["1 P(x, y) => Target(x, y)"], random_facts(random.Random(1)))
    large, small = (sparse.csr_array(np.array([[0, x, 7]], dtype=np.int64)) for x in (2**62, 1))
    _check(program, [0], large, small)
    with pytest.raises(
        CountOverflowError, match=re.escape("P(x, y) => Target(x, y) has 9,223,372,036,854,775,808 groundings")
    ):
        _check(program, [0], large, sparse.csr_array(np.array([[5, 2, 0]], dtype=np.int64)))
