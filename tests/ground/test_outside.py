"""Groundings outside of a scope are counted: the network is that of enumeration, and large domains are no obstacle."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache

import pytest

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import decided_false, ground_network, observed_counts
from sqlrl.ground.network import Network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.model import Model
from sqlrl.plan import bounds, grounding, unsatisfied

DECLARED = "F(t, t)\nG(t)\nSame(t, t)\n"
RULES = [
    "1 Same(a, b)",
    "-1 Same(a, b)",
    "1 Same(a, a)",
    "1 Same(a, C1)",
    "1 G(a) => Same(a, b)",
    "1 F(a, c) => Same(a, b)",
    "1 F(a, c) ^ F(c, d) => Same(a, b)",
    "1 F(a, b) => Same(a, c) v b = c",
    "1 a != b => Same(a, b)",
    "1 G(a) v Same(a, b)",
    "1 F(a, b) v F(b, a) v Same(a, b)",
    "1 G(c) => Same(a, b)",
    "Same(+a, b)",
    "F(a, +c) => Same(a, b)",
    "Same(+a, b) v G(b)",
    "1 Same(a, b) ^ G(a)",
    "1 Same(a, b) <=> G(a)",
]


def model_of(rule: str, domain: str) -> Model:
    text = DECLARED + rule
    if domain == "examples":
        for name in ("F", "G", "Same"):
            text = text.replace(f"{name}(", f"{name}(e, ")
    return parse_mln(text, query=("Same",))


@cache
def catalog_of(seed: int, domain: str) -> Catalog:
    """Random facts; of the tuples of Same some are in the scope and some are given. One catalog for all rules."""
    rng, names = random.Random(seed), [f"C{i}" for i in range(4)]
    first, example = ([("E1",), ("E2",)], "e") if domain == "examples" else ([()], None)
    pairs = [(*e, *p) for e in first for p in itertools.product(names, repeat=2)]
    catalog = Catalog(connect(":memory:", threads=1))
    catalog.declare(model_of("1 Same(a, b)", domain))
    catalog.load("F", rng.sample(pairs, len(pairs) // 2), example=example)
    catalog.load("G", [(*e, c) for e in first for c in rng.sample(names, 2)], example=example)
    inside = rng.sample(pairs, len(pairs) // 2)
    catalog.load("Same", inside[:4], example=example, target=True)
    catalog.scope("Same", inside)
    if domain == "given":
        catalog.load("Same", [(*inside[4], True), (*inside[5], False)], given=True, truth=2)
    return catalog


def program_of(rule: str, seed: int, domain: str) -> Program:
    """Bind a rule to the facts."""
    catalog, model = catalog_of(seed, domain), model_of(rule, domain)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    program.expand()
    return program


def content(network: Network) -> list[object]:
    fields = ("atoms", "indptr", "literals", "row_clause", "multiplicity", "hard_units")
    exact = ("base", "total", "evidence_violated", "open")
    return [getattr(network, x).tolist() for x in (*fields, *exact)] + [network.units.toarray().tolist()]


def everything(program: Program) -> list[object]:
    seen = observed_counts(Extent(program))
    counts = [x.tolist() for x in (decided_false(Extent(program)), seen.open, seen.evidence_violated, seen.violated)]
    return [content(ground_network(Extent(program))), content(ProgramOracle(Extent(program)).start()), counts]


@pytest.mark.parametrize(
    ("rule", "domain"),
    [
        (rule, x)
        for i, rule in enumerate(RULES)
        for k, x in enumerate(("all", "given", "examples"))
        if i < 5 or i % 3 == k
    ],
)
def test_the_network_is_that_of_enumeration(rule: str, domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    original = grounding.with_outside

    def noted(*args: object, **options: object) -> object:
        counted.append(1)
        return original(*args, **options)  # type: ignore[arg-type]

    program = program_of(rule, 3, domain)
    monkeypatch.setattr(grounding, "with_outside", noted)
    found = everything(program)
    assert found[2][0] == found[0][8]  # type: ignore[index]
    never: Callable[..., None] = lambda bound: None  # noqa: E731
    for module in (grounding, bounds, unsatisfied):
        monkeypatch.setattr(module, "loose_literal", never)
    # In the normal form of the negated conjunction Same is negative.
    assert bool(counted) == (rule != "1 Same(a, b) ^ G(a)")
    monkeypatch.setattr("sqlrl.ground.counts.loose_literal", never)
    monkeypatch.setattr("sqlrl.ground.grounding.loose_literal", never)
    program.close()
    other = program_of(rule, 3, domain)
    assert everything(other) == found
    other.close()


def people(count: int) -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Rec", [(f"r{i}",) for i in range(count)], types=["rec"])
    pairs = [(f"r{i}", f"r{(7 * i + 1) % count}") for i in range(0, count, 3)]
    db.load("Alike", pairs[::2], types=["rec", "rec"])
    db.scope("Same", pairs)
    return db


MODEL = "Rec(rec)\nAlike(rec, rec)\nSame(rec, rec)\n-1 Same(a, b)\n2 Alike(a, b) => Same(a, b)\n0.5 Alike(a, c) => Same(a, b)"


def test_pairs_of_many_constants_need_no_enumeration() -> None:
    """3,000 constants have 9 million pairs, of which 1,000 are in the scope."""
    db = people(3_000)
    model = sqlrl.parse_mln(MODEL)
    network = db.advanced.ground(model, limit=10_000)
    assert len(network.atoms) == 1_000
    assert network.total.tolist() == [9_000_000, 9_000_000, 27_000_000_000]
    assert network.open[0] == 1_000
    assert network.evidence_violated[0] == 9_000_000 - 1_000
    assert db.predict(model, limit=10_000).atoms().num_rows == 500
    assert len(db.probabilities(model, limit=10_000).probabilities()) == 1_000


def test_what_has_to_be_enumerated_is_still_refused() -> None:
    db = people(300)
    with pytest.raises(GroundingLimitError, match=r"leaves 8,100,000,000 groundings to enumerate"):
        db.advanced.ground(sqlrl.parse_mln(MODEL + "\n1 Same(a, b) v Same(c, d)"), limit=10_000)
