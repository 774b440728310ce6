"""Symmetries of shapes against substitution: two rows stand for one clause exactly if a symmetry leads from one to the other."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.logic.shapes import Shape, ShapeEquality, ShapeLiteral, Slot, parameter_symmetries
from tests.effort import draws

ARITY = {"P": 1, "Q": 2}


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Shapes of a few literals over two variables, each parameter at one place."""
    literals, parameters = [], 0
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(sorted(ARITY)))
        terms = []
        for _ in range(ARITY[name]):
            if draw(st.booleans()):
                terms.append(Slot(True, parameters))
                parameters += 1
            else:
                terms.append(Slot(False, draw(st.integers(0, 1))))
        literals.append(ShapeLiteral(name, draw(st.booleans()), tuple(terms)))
    return Shape(("t", "t"), ("t",) * parameters, tuple(literals))


def clauses(shape: Shape, row: tuple[int, ...]) -> frozenset[tuple[object, ...]]:
    """All that the clause of a row may look like: its literals as a sorted list, for each way to name the variables."""
    found = set()
    for names in permutations(("x", "y")):
        literals = [
            (x.predicate, x.positive, tuple(f"c{row[t.index]}" if t.parameter else names[t.index] for t in x.terms))
            for x in shape.literals
        ]
        found.add(tuple(sorted(literals)))
    return frozenset(found)


@settings(max_examples=draws(300))
@given(shapes())
def test_rows_are_one_clause_exactly_if_a_symmetry_says_so(shape: Shape) -> None:
    k = len(shape.parameters)
    symmetries = parameter_symmetries(shape)
    assert symmetries[0] == tuple(range(k))
    rows = list(product(range(3 if k < 4 else 2), repeat=k))[:81]
    for row in rows:
        reached = {tuple(row[i] for i in symmetry) for symmetry in symmetries}
        for other in rows:
            same = bool(clauses(shape, row) & clauses(shape, other))
            assert same == (other in reached), (str(shape), row, other)


def test_many_look_alikes_have_the_identity_alone() -> None:
    literals = tuple(ShapeLiteral("P", False, (Slot(True, k),)) for k in range(8))
    assert parameter_symmetries(Shape((), ("t",) * 8, literals)) == (tuple(range(8)),)


def test_other_shapes_are_refused() -> None:
    equality = ShapeEquality(False, Slot(False, 0), Slot(False, 1))
    with pytest.raises(ValueError, match="plain literals"):
        parameter_symmetries(Shape(("t", "t"), (), (), (equality,)))
