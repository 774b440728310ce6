"""Helper atoms: only where their definition can be true, exact against enumeration, and refused before they are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.database.explanations import explain
from sqlrl.engine.base import TableName
from sqlrl.engine.connection import connect
from sqlrl.errors import GroundingLimitError
from sqlrl.ground import counts as sql
from sqlrl.ground.binding import bind_program
from sqlrl.ground.completion import completed_world
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model
from sqlrl.plan.sources import World
from sqlrl.solve.counts import counts
from tests.ground.brute import Data, Formulas
from tests.ground.cases import Names, completed

NEAR = [("A", "A"), ("A", "B"), ("B", "C")]
FRIENDS = [("A", "B"), ("B", "A"), ("C", "C")]
LINKED = [("A", "B"), ("C", "B")]
DECLARED = "t = {A, B, C}\nNear(t, t)\nFriends(t, t)\nH(t)\nS(t)\nL(t, t)\n"
FORMULAS = [
    "Friends(x, y) => (EXIST z (Near(x, z) ^ Near(y, z) ^ H(z) ^ S(z)))",
    "!(EXIST z (Near(x, z) ^ H(z))) v S(x)",
    "EXIST z (Near(x, z) ^ !Friends(z, y) ^ H(z) ^ S(z))",
    "EXIST z (!Near(x, z) ^ Friends(z, y) ^ H(z) ^ S(z))",
    "EXIST z (L(x, z) ^ L(y, z) ^ H(z))",
    "!(EXIST z (L(x, z) ^ Near(z, y)))",
    "!(EXIST z (Near(x, z))) <=> H(x)",
    "EXIST z (Near(x, z) ^ H(z) ^ !(EXIST w (Near(w, z) ^ S(w) ^ w != x)))",
    "(EXIST z (L(x, z) ^ S(z) ^ (EXIST w (L(w, z) ^ Near(w, y) ^ H(w))))) => Friends(x, y)",
    "(FORALL z (Near(x, z) => H(z) v S(z))) <=> S(x)",
    "(EXIST z (Near(x, z) ^ x != z ^ H(z) ^ S(z))) <=> Friends(x, y)",
    "EXIST z (Near(x, z) ^ z = y ^ H(z) ^ S(z))",
    "EXIST z (Near(x, z) ^ Friends(B, z) ^ H(z) ^ S(z))",
    "EXIST z (Near(C, z) ^ H(z) ^ S(z)) v H(x)",
]


@cache
def catalog_of(given: bool) -> Catalog:
    """Three constants; L has two query atoms, and with `given` a true one outside its scope. One catalog for all formulas."""
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(parse_mln(f"{DECLARED}1 H(x)", query=("H", "S", "L")))
    catalog.load("Near", NEAR)
    catalog.load("Friends", FRIENDS)
    catalog.scope("L", pa.table({"a": [a for a, _ in LINKED], "b": [b for _, b in LINKED]}))
    if given:
        catalog.load("L", [("B", "B", True), ("A", "B", False)], given=True, truth=2)
        catalog.load("H", [("B", True)], given=True, truth=1)
        catalog.load("S", [("B", False), ("C", True)], given=True, truth=1)
    return catalog


@contextmanager
def small(formula: str, given: bool) -> Iterator[tuple[Program, Model]]:
    """A program of one formula."""
    model, catalog = parse_mln(f"{DECLARED}1 {formula}", query=("H", "S", "L")), catalog_of(given)
    program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    yield program, model
    program.close()


# The quick tier has each formula with given atoms or without.
@pytest.mark.parametrize(
    ("formula", "given"),
    [
        pytest.param(formula, given, marks=[] if given == (i % 2 == 0) else pytest.mark.slow)
        for i, formula in enumerate(FORMULAS)
        for given in (False, True)
    ],
)
def test_counts_with_helper_atoms_are_those_of_the_formula(formula: str, given: bool) -> None:
    with small(formula, given) as (program, model):
        network = ground_network(Extent(program))
        atoms = Names(program.engine, program.layout).atoms()  # type: ignore[arg-type]
        names = [atoms[i] for i in network.atoms[~network.helper]]
        types = {"Near": 2, "Friends": 2, "H": 1, "S": 1, "L": 2}
        facts = {("Near", "", row) for row in NEAR} | {("Friends", "", row) for row in FRIENDS}
        if given:
            facts |= {("L", "", ("B", "B")), ("H", "", ("B",)), ("S", "", ("C",))}
        predicates = {name: (("t",) * size, False) for name, size in types.items()}
        data = Data(
            "one", {"t": ("A", "B", "C")}, predicates, ("",), {}, frozenset(), frozenset(facts), dict.fromkeys(names)
        )
        read = Formulas(model.rules[0].formula, data)
        shown = list(itertools.product((False, True), repeat=len(names)))
        for values in shown:
            world = np.zeros(len(network.atoms), dtype=bool)
            world[~network.helper] = values
            n = read.n(frozenset(name for name, true in zip(names, values, strict=True) if true))
            assert int(counts(network, completed(program, network, world))[0]) == n
        # A few worlds by SQL too: helper atoms outside are false there as well.
        for values in shown[:: max(1, len(shown) // 2)]:
            true = network.atoms[~network.helper][np.array(values)]
            with program.rows_table(pa.table({"atom": pa.array(true, pa.int64())})) as name:
                n = read.n(frozenset(name for name, value in zip(names, values, strict=True) if value))
                with completed_world(program, World(name)) as complete:
                    assert sql.true_counts(Extent(program), complete)[0] == n


# ---- sizes -------------------------------------------------------------------------------------------------------

PEOPLE = 60
COMMON = "1 Friends(x, y) => EXIST z (Near(x, z) ^ Near(y, z) ^ Smokes(z) ^ Cancer(z))"
APART = "Likes(group, person)\n1 !(EXIST z (Near(x, z) ^ Smokes(z) ^ Likes(g, z)))"
FREE = (
    r"^rules\.mln:7: .*: its quantifier, for its witnesses, needs up to 3,600 helper atoms, one for each \(x, g, z\), more than the limit "
    "of 1,000: inside it, no closed literal joins g, which ranges over its whole domain; join it, narrow a scope, or raise limit=$"
)
DIFFERENT = "1 !(EXIST z (Smokes(z) ^ Cancer(z) ^ z != x ^ z != y))"


def people(rule: str) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Two cycles of people, and as many groups as people; nothing ties the groups to them."""
    db = sqlrl.connect()
    for name, step in (("Friends", 1), ("Near", 3)):
        rows = [(f"p{i}", f"p{(i + step) % PEOPLE}") for i in range(PEOPLE)]
        db.load(name, rows, types=["person", "person"])
    db.load("Group", [(f"g{i}",) for i in range(PEOPLE)], types=["group"])
    declared = "Friends(person, person)\nNear(person, person)\nGroup(group)\nSmokes(person)\nCancer(person)\n"
    opened = [name for name in ("Smokes", "Cancer", "Likes") if name in declared + rule]
    return db, sqlrl.parse_mln(declared + rule, query=opened, path="rules.mln")


def scratch(db: sqlrl.Database) -> list[str]:
    """The tables and views of helpers that there are."""
    found = db.sql("select table_name from information_schema.tables where table_name like 'scratch%'").fetchall()
    return [name for (name,) in found]


def test_helper_atoms_are_those_that_closed_literals_join() -> None:
    db, model = people(COMMON)
    network = db.advanced.ground(model)
    # Those with a common neighbour, who are the same person, and their witnesses.
    assert network.helper.sum() == 2 * PEOPLE
    assert network.evidence_violated[0] == PEOPLE
    db.close()


def test_helper_atoms_are_those_that_scopes_join() -> None:
    db, model = people("Likes(group, person)\n1 !(EXIST z (Likes(g, z) ^ Likes(h, z)))")
    liked = pa.table({"group": [f"g{i}" for i in range(PEOPLE)], "person": [f"p{i // 2}" for i in range(PEOPLE)]})
    db.scope("Likes", liked)
    # Two groups may like each person: the four pairs of these.
    assert db.advanced.ground(model, limit=4 * PEOPLE).helper.sum() == 4 * PEOPLE
    db.close()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            APART,
            FREE,
        ),
        (
            DIFFERENT,
            r"needs up to 216,000 helper atoms, .*: inside it, no closed literal joins x, y and z, which range over ",
        ),
    ],
)
def test_more_helper_atoms_than_the_limit_are_refused_before_they_are_made(
    rule: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, model = people(rule)
    made: list[str] = []
    create = type(db.advanced.engine).create_table

    def noted(self: object, name: TableName, *rest: object, **options: object) -> int:
        made.append(name.name)
        return create(self, name, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(db.advanced.engine), "create_table", noted)
    calls = [
        lambda: db.advanced.ground(model, limit=1000),
        lambda: db.predict(model, limit=1000),
        lambda: db.probabilities(model, limit=1000),
    ]
    for call in calls:
        with pytest.raises(GroundingLimitError, match=message):
            call()
    assert not [name for name in made if name.startswith("scratch") and "_atoms_" in name]
    assert not scratch(db)
    db.close()


def test_helper_atoms_and_query_atoms_have_one_limit() -> None:
    db, model = people(APART)
    # Helper atoms are of all examples: a limit on some examples' ground clauses is none on them, and the fixed one holds.
    assert db.advanced.ground(model, examples=["all"], limit=4000).helper.sum() == 2 * PEOPLE * PEOPLE
    db.advanced.catalog.atom_limit = 7200
    with pytest.raises(
        GroundingLimitError,
        match=r"limit of 7,200 on all atoms: .*; join it, narrow a scope, load fewer examples, or open ",
    ):
        db.advanced.ground(model)
    assert not scratch(db)
    db.close()


@pytest.mark.parametrize("rule", [COMMON, APART])
def test_explaining_lists_no_helper_atoms(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = people(rule)
    with db.advanced.program(model) as program:
        expected = [(each.shape, each.estimate, each.sql.count("JOIN")) for each in explain(program)]
    monkeypatch.setattr("sqlrl.ground.helpers.HelperTables._count", None)
    found = model.plan(db)
    assert [(each.shape, each.estimate, each.sql.count("JOIN")) for each in found] == expected
    assert all(each.at_most for each in found)
    assert not scratch(db)
    db.close()
