"""Appending clauses to a network gives the network that has them from the start, up to constants."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.rows import GroundRows
from sqlrl.solve.counts import delta_counts
from sqlrl.solve.mpe import mpe
from sqlrl.solve.sample_networks import network
from sqlrl.structure.osl.learner import appended
from tests.effort import draws

ATOMS = 5
GROUND = st.tuples(
    st.integers(0, 2),
    st.lists(st.integers(1, ATOMS), min_size=1, max_size=3, unique=True).flatmap(
        lambda atoms: st.tuples(*(st.sampled_from([a, -a]) for a in atoms)).map(list)
    ),
)


def rows_of(ground: list[tuple[int, list[int]]]) -> GroundRows:
    ordered = [(clause, sorted(literals, key=abs)) for clause, literals in ground]
    literals = np.array([x for _, row in ordered for x in row], dtype=np.int64)
    length = np.array([len(row) for _, row in ordered], dtype=np.int64)
    clause = np.array([c for c, _ in ordered], dtype=np.int64)
    return GroundRows(clause, literals, length, np.ones(len(ordered), dtype=np.int64))


@settings(max_examples=draws(80))
@given(st.lists(GROUND, max_size=6), st.lists(GROUND, max_size=6), st.integers(0, 2**32))
def test_counts_and_worlds_are_those_of_the_whole(
    own: list[tuple[int, list[int]]], new: list[tuple[int, list[int]]], seed: int
) -> None:
    ids = np.array([100, 101, 102])
    longer = appended(network(ATOMS, own, clauses=3), ids, rows_of(new))
    whole = network(ATOMS, [*own, *((clause + 3, literals) for clause, literals in new)], clauses=6)
    random = np.random.default_rng(seed)
    one, other = random.random((2, ATOMS)) < 0.5
    assert delta_counts(longer, one, other).tolist() == delta_counts(whole, one, other).tolist()
    assert longer.clauses.tolist() == [0, 1, 2, 100, 101, 102]
    weights = random.normal(size=6)
    assert mpe(longer, weights).world.tolist() == mpe(whole, weights).world.tolist()
