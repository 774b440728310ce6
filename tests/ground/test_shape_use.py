"""A shape is bound once, and again only where its plan would be another."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sqlrl.catalog.catalog import Catalog
from sqlrl.engine.connection import connect
from sqlrl.errors import UnseenConstantWarning
from sqlrl.ground.binding import bind_program
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.pipeline import plans
from sqlrl.ground.program import Extent
from sqlrl.logic.mln import parse_mln
from sqlrl.logic.terms import Constant
from sqlrl.plan.slots import bind

TYPES = "Token(word, bib)\nNear(word, word)\nTopic(bib)\n"


def test_a_shape_follows_the_parameter_table_of_its_clauses() -> None:
    catalog = Catalog(connect(":memory:"))
    catalog.load("Token", [("W1", "B1"), ("W2", "B2")], types=["word", "bib"], example="bib")
    catalog.load("Near", [("W1", "W2"), ("W2", "W1")], types=["word", "word"])
    catalog.load("Topic", [("B1",)], types=["bib"], target=True)
    model = parse_mln(TYPES + "Token(+w, b) => Topic(b)\nNear(w, W2) ^ Token(+w, b) => Topic(b)", query=("Topic",))
    program = bind_program(catalog.engine, catalog.bind(model, training=True), model)
    assert not program.shapes  # a template has no clauses before it is expanded

    with program.rows_table(pa.table({"example": pa.array([0], pa.int32())})) as one:
        assert program.expand(one) == 2
    first = {shape: use.bound for shape, use in program.shapes.items()}
    assert all(bound.parameters is not None and not bound.unknown for bound in first.values())
    before = [str(each.plan.query) for each in plans(Extent(program))]
    rows = len(ground_network(Extent(program)).units.nonzero()[0])

    # More rows of the same tables: the shapes and their plans are what they were, and the plans find the new clauses.
    assert program.expand() == 1
    assert {shape: use.bound for shape, use in program.shapes.items()} == first
    assert [str(each.plan.query) for each in plans(Extent(program))] == before
    assert len(ground_network(Extent(program)).units.nonzero()[0]) == rows + 1
    program.close()
    catalog.engine.close()


def test_a_clause_with_an_unknown_constant_binds_its_shape_anew() -> None:
    catalog = Catalog(connect(":memory:"))
    catalog.load("Token", [("W1", "B1"), ("W2", "B2")], types=["word", "bib"], example="bib")
    catalog.load("Near", [("W1", "W2"), ("W2", "W1")], types=["word", "word"])
    # Templates of one shape: the second brings the constant that the data lack to the table that the first one made.
    rules = "".join(f"Token(+w, b) => Topic(b) v Near({word}, {word})\n" for word in ("W2", "W9"))
    model = parse_mln(TYPES + rules, query=("Topic",), learned=True)
    with pytest.warns(UnseenConstantWarning):
        program = bind_program(catalog.engine, catalog.bind(model, training=False), model)
    assert program.expand() == 4
    (use,) = program.shapes.values()
    named = program.features[1].instances[0].arguments
    assert use.bound.unknown == {k for k, term in enumerate(named) if term == Constant("W9")} != set()
    assert use.bound == bind(use.shape, program.layout, use.bound.unknown, use.parameters)
    assert ground_network(Extent(program)).open.tolist() == [1, 1, 1, 1]
    program.close()
    catalog.engine.close()
