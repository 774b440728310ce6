"""Which templates are grounded as tied tables, and that listing these gives what is grounded without them, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.ground import grounding
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent, Program
from sqlrl.logic.mln import parse_mln
from tests.effort import draws

HEAD = """Next(pos, pos)
Tok(bib, word, pos)
In(bib, fld, pos)
Kind(bib, knd, pos)
"""
BLOCKS = "In(c, f, p) ^ (f != g) => !In(c, g, p).\nKind(c, k, p) ^ (k != h) => !Kind(c, h, p).\n"
TIED = (
    "Next(p, q) ^ In(c, +f, p) => In(c, +g, q)",
    "Next(q, p) ^ In(c, +f, p) => In(c, +g, q)",
    "Next(p, q) ^ Kind(c, +k, p) => Kind(c, +h, q)",
    "In(c, +f, p) => Kind(c, +k, p)",
    "In(c, +f, p) v Kind(c, +k, p)",
    "Next(p, q) ^ In(c, +f, q) => !Kind(c, +k, p)",
    "Next(p, q) ^ Tok(c, w, p) ^ (p != q) ^ In(c, +f, p) => Kind(c, +k, q)",
    "Next(p, q) ^ In(c, +f, p) => !In(c, +g, q)",
    "Next(p, q) ^ In(c, +f, p) ^ In(c, +g, q)",
    "Tok(c, A, p) ^ Next(p, q) ^ In(c, +f, p) ^ Kind(c, +k, q)",
)
LISTED = (
    "Tok(c, +w, p) => In(c, +f, p)",
    "In(c, +f, p) => Kind(c, k, p)",
    "Tok(c, +w, p) ^ In(c, +f, p) => Kind(c, +k, p)",
    "In(c, f, p) ^ Next(p, q) => In(c, f, q)",
)


@contextmanager
def listing() -> Iterator[None]:
    """Ground without tied tables."""
    before = grounding.tied_table
    grounding.tied_table = lambda *_: None  # type: ignore[assignment]
    try:
        yield
    finally:
        grounding.tied_table = before


def program_of(rules: str, next_: list[tuple[str, str]], tokens: list[tuple[str, str, str]], given_: bool) -> Program:
    catalog = Catalog(connect(":memory:", threads=1))
    model = parse_mln(HEAD + BLOCKS + rules, query=("In", "Kind"))
    catalog.declare(model)
    catalog.load("Next", next_)
    catalog.load("Tok", tokens)
    catalog.load("In", [("B1", "F", "P1"), ("B1", "G", "P2"), ("B2", "H", "P1")], target=True)
    catalog.load("Kind", [("B1", "X", "P1"), ("B2", "Y", "P2")], target=True)
    if given_:
        catalog.load("Kind", [("B1", "Y", "P3")], given=True)
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    program.expand()
    return program


def rows(network: Network) -> list[list[int]]:
    return [getattr(network, name).tolist() for name in ("indptr", "literals", "row_clause", "multiplicity")]


POSITIONS = ("P1", "P2", "P3")


@settings(max_examples=draws(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(TIED + LISTED), min_size=1, max_size=4, unique=True),
    st.lists(st.tuples(st.sampled_from(POSITIONS), st.sampled_from(POSITIONS)), min_size=1, max_size=5, unique=True),
    st.lists(
        st.tuples(*map(st.sampled_from, (("B1", "B2"), ("A", "B"), POSITIONS))), min_size=1, max_size=6, unique=True
    ),
    st.booleans(),
)
def test_listed_tables_are_what_is_grounded_without_them(
    rules: list[str], pairs: list[tuple[str, str]], tokens: list[tuple[str, str, str]], some_given: bool
) -> None:
    program = program_of("\n".join(rules), pairs, tokens, some_given)
    network = ground_network(Extent(program), check=False)
    with listing():
        plain = ground_network(Extent(program), check=False)
    assert not plain.rows.tied
    assert rows(network) == rows(plain)
    for name in ("open", "total", "base", "evidence_violated"):
        assert getattr(network, name).tolist() == getattr(plain, name).tolist()
    program.engine.close()


@pytest.mark.parametrize(("rules", "tied"), [*((rule, 1) for rule in TIED), *((rule, 0) for rule in LISTED)])
def test_which_templates_are_tied(rules: str, tied: int) -> None:
    program = program_of(rules, [("P1", "P2"), ("P2", "P3")], [("B1", "A", "P1"), ("B2", "B", "P3")], given_=False)
    network = ground_network(Extent(program), check=False)
    assert len(network.rows.tied) == tied
    # One pair of blocks is held, whatever the number of clauses.
    assert all(table.clause.size == len(table.clauses) > 1 for table in network.rows.tied)
    program.engine.close()


def test_windows_of_a_prediction_have_the_worlds_of_listed_clauses() -> None:
    db = sqlrl.connect()
    draw = np.random.default_rng(5)
    words = [(f"w{draw.integers(6)}", f"p{p}", f"b{b}") for b in range(12) for p in range(draw.integers(2, 7))]
    db.load("Token", words, types=("word", "pos", "bib"), example="bib")
    db.load("Next", [(f"p{p}", f"p{p + 1}") for p in range(6)], types=("pos", "pos"))
    labels = [(b, f"F{draw.integers(3)}", p) for _, p, b in words]
    db.load("In", labels, types=("bib", "fld", "pos"), target=True)
    text = "Token(word, pos, bib)\nNext(pos, pos)\nIn(bib, fld, pos)\nToken(+t, p, c) => In(c, +f, p)\n"
    text += "Next(p, q) ^ In(c, +f, p) => In(c, +g, q)\nIn(c, f, p) ^ (f != g) => !In(c, g, p).\n"
    model = sqlrl.parse_mln(text)
    fit = sqlrl.Likelihood("l2").fit(db, model)
    found = db.predict(fit.model_)
    with listing():
        plain_fit = sqlrl.Likelihood("l2").fit(db, model)
        plain = db.predict(fit.model_)
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)
    assert found.result.world.tolist() == plain.result.world.tolist()
    assert fit.log_likelihood_ == pytest.approx(plain_fit.log_likelihood_, rel=1e-6)
    np.testing.assert_allclose(fit.weights_, plain_fit.weights_, atol=1e-4)
    db.close()
