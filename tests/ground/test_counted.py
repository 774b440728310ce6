"""Variables that occur in no open literal are counted: exact multiplicities, whatever the size of the domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.engine.nodes import table
from sqlrl.errors import CountOverflowError
from sqlrl.ground import counts as sql
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.plan.sources import World
from sqlrl.solve.counts import counts
from tests.ground.binding import bound

PEOPLE = 100_000
HEADER = "Person(p)\nFriends(p, p)\nSmokes(p)\nCancer(p)\n"


@pytest.fixture(scope="module")
def degrees() -> np.ndarray:
    """Whom a person befriends: the next 0, 1 or 2 people."""
    return np.random.default_rng(3).integers(0, 3, PEOPLE)


@pytest.fixture(scope="module")
def catalog(degrees: np.ndarray) -> Iterator[Catalog]:
    found = Catalog(connect(":memory:", threads=1))
    first = np.repeat(np.arange(PEOPLE), degrees)
    step = np.arange(len(first)) - np.repeat(np.cumsum(degrees) - degrees, degrees) + 1
    names = np.array([f"p{i:06}" for i in range(PEOPLE)])
    found.load("Person", pa.table({"x": names}), types=("p",))
    friends = pa.table({"x": names[first], "y": names[(first + step) % PEOPLE]})
    found.load("Friends", friends, types=("p", "p"))
    yield found
    found.engine.close()


def grounded(catalog: Catalog, rule: str) -> tuple[Program, Network]:
    model = parse_mln(f"{HEADER}1 {rule}", query=("Smokes", "Cancer"))
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    return program, ground_network(Extent(program, limit=1_000_000))


def following(degrees: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each person the sum of the values of the friends."""
    one, two = np.roll(values, -1), np.roll(values, -2)
    return np.where(degrees > 0, one, 0) + np.where(degrees > 1, two, 0)


def befriended(degrees: np.ndarray) -> np.ndarray:
    """How many people befriend each one."""
    return (np.roll(degrees, 1) > 0).astype(np.int64) + (np.roll(degrees, 2) > 1)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("Friends(z, w) v Smokes(x)", lambda d: np.full(PEOPLE, PEOPLE**2 - d.sum())),
        ("Friends(z, w) => Smokes(x)", lambda d: np.full(PEOPLE, d.sum())),
        ("Friends(x, z) v Smokes(x)", lambda d: PEOPLE - d),
        ("Person(y) ^ Person(z) => Smokes(x) v y = z", lambda d: np.full(PEOPLE, PEOPLE**2 - PEOPLE)),
        ("Person(y) => Smokes(x) v y = x", lambda d: np.full(PEOPLE, PEOPLE - 1)),
        ("Smokes(x) v (EXIST z Friends(z, w))", lambda d: np.full(PEOPLE, (befriended(d) == 0).sum())),
        ("Friends(x, y) ^ Friends(x, z) ^ y != z => Smokes(x)", lambda d: d * (d - 1)),
        ("Friends(x, y) ^ Friends(y, z) ^ Friends(z, w) => Smokes(x)", lambda d: following(d, following(d, d))),
        (
            "Friends(x, y) ^ Friends(u, v) => Smokes(x) v Friends(z, u)",
            lambda d: d * int((d * (PEOPLE - befriended(d))).sum()),
        ),
    ],
)
def test_a_huge_part_is_counted(catalog: Catalog, degrees: np.ndarray, rule: str, expected) -> None:
    program, network = grounded(catalog, rule)
    free = set(re.findall(r"\b[u-z]\b", rule.replace(" v ", " "))) - set(re.findall(r"EXIST (.)", rule))
    assert network.total.tolist() == [PEOPLE ** len(free)]
    atoms, people = program.layout.predicates["Smokes"].atoms, program.layout.types["p"].dictionary
    assert atoms is not None
    query = exp.select("atom").from_(table(atoms, "a")).join(table(people, "d"), on="a.a0 = d.id").order_by("name")
    ids = catalog.engine.fetch(query, step="read").column(0).to_numpy()
    units = network.units.toarray()[np.searchsorted(network.atoms, ids), 0]
    assert units.tolist() == expected(degrees).tolist()
    nobody = np.zeros(len(network.atoms), dtype=bool)
    with program.rows_table(pa.table({"atom": np.zeros(0, np.int64)})) as name:
        assert sql.true_counts(Extent(program), World(name)).tolist() == counts(network, nobody).tolist()
    program.close()


def test_literals_beside_a_counted_part_are_enumerated_once(catalog: Catalog, degrees: np.ndarray) -> None:
    program, network = grounded(catalog, "Friends(z, w) ^ Smokes(x) => Cancer(x)")
    assert len(network.row_clause) == PEOPLE
    assert set(network.multiplicity.tolist()) == {int(degrees.sum())}
    assert network.open.tolist() == [PEOPLE * int(degrees.sum())]
    program.close()


def test_a_multiplicity_past_64_bits_names_the_clause(catalog: Catalog) -> None:
    with pytest.raises(
        CountOverflowError,
        match=r"^<text>:5: Friends\(a, b\) v Friends\(c, d\) v Smokes\(x\) has 99,9.* open .* 64 bits",
    ):
        grounded(catalog, "Friends(a, b) v Friends(c, d) v Smokes(x)")
    with pytest.raises(CountOverflowError, match=r"^a count of <text>:5: .* does not fit into 128 bits"):
        grounded(catalog, " v ".join(f"Friends(a{i}, b{i})" for i in range(4)) + " v Smokes(x)")


def test_what_the_evidence_violates_may_pass_64_bits() -> None:
    model = parse_mln(
        "Known(p)\nSmokes(p)\n1 " + " ^ ".join(f"Known(a{i})" for i in range(5)) + " => Smokes(x)", query=("Smokes",)
    )
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model)
    names = [f"p{i}" for i in range(20_000)]
    catalog.load("Known", pa.table({"x": names}))
    catalog.load("Smokes", [(name, False) for name in names], given=True, truth=1)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    network = ground_network(Extent(program))
    assert network.evidence_violated.tolist() == network.total.tolist() == [20_000**6]
    assert network.open.tolist() == [0]
    catalog.engine.close()


def test_a_part_without_groundings_leaves_nothing(catalog: Catalog) -> None:
    for rule in ("Friends(z, z) => Smokes(x)", "Person(z) v Smokes(x)", "Friends(x, x) ^ Friends(x, y) => Smokes(x)"):
        program, network = grounded(catalog, rule)
        assert network.open.tolist() == [0], rule
        program.close()


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("Smokes(x) v Cancer(y) v x != z v y != z", lambda s, c, x, y, z: s[x] or c[y] or x != z or y != z),
        ("Smokes(x) v Smokes(y) v x != z v y != z", lambda s, c, x, y, z: s[x] or s[y] or x != z or y != z),
        ("Smokes(x) v Cancer(y) v x = z v y = z", lambda s, c, x, y, z: s[x] or c[y] or z in (x, y)),
    ],
)
def test_variables_that_differ_from_or_equal_one_counted_variable(rule: str, holds: Callable[..., bool]) -> None:
    """What is counted ties variables of open literals together, which grounding must not lose."""
    model = parse_mln(f"{HEADER}1 {rule}", query=("Smokes", "Cancer"))
    with bound(model, {"Person": [("A",), ("B",), ("C",)]}) as program:
        network = ground_network(Extent(program))
        order = program.engine.fetch(
            exp.select("atom").from_(table(program.layout.predicates["Smokes"].atoms)).order_by("a0"), step="read atoms"
        )
        smokes = np.searchsorted(network.atoms, order.column("atom").to_numpy())
        cancer = np.setdiff1d(np.arange(6), smokes)
        for values in product((False, True), repeat=6):
            world = np.array(values)
            s, c = world[smokes], world[cancer]
            expected = sum(bool(holds(s, c, *each)) for each in product(range(3), repeat=3))
            assert counts(network, world).tolist() == [expected]
