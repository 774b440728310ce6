"""Components beyond the bounds of elimination, and the clause that widens them, against ground clauses in Python lists."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.ground.network import BLOCK, Network
from sqlrl.solve.beyond_elimination import widest
from sqlrl.solve.log_linear import LogLinear, log_linear, reach
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.sample_networks import network
from sqlrl.solve.treewidth.order import elimination_order
from tests.effort import draws
from tests.solve.networks import Problem, problems


def left_of(problem: Problem, model: LogLinear, without: int | None = None) -> list[tuple[int, tuple[int, ...]]]:
    """What fixed atoms leave of ground clauses that can be violated, as signed free atoms of the network."""
    found = []
    for clause, literals, _ in problem.ground:
        values = [(x, model.value[abs(x) - 1]) for x in sorted(literals, key=abs)]
        free = tuple(x for x, value in values if value < 0)
        satisfied = any(value >= 0 and (value == 1) == (x > 0) for x, value in values)
        if clause != without and not satisfied and len(free) > 1 and can_fail(problem, model, free):
            found.append((clause, free))
    return found


def can_fail(problem: Problem, model: LogLinear, literals: tuple[int, ...]) -> bool:
    """Whether some values of the free members of blocks violate all literals."""
    for members, exact in problem.blocks:
        free = [a for a in members if model.value[a] < 0]
        mine = {abs(x) - 1: x > 0 for x in literals if abs(x) - 1 in free}
        if sum(not positive for positive in mine.values()) > 1:
            return False
        # With a member that is true the block is done: then no free member need be.
        done = any(model.value[a] == 1 for a in members)
        if exact and not done and mine and all(mine.values()) and len(mine) == len(free):
            return False
    return True


def as_network(problem: Problem, model: LogLinear, ground: list[tuple[int, tuple[int, ...]]]) -> Network:
    """What is left as a network of its own, over all atoms."""
    blocks = [([a for a in members if model.value[a] < 0], exact) for members, exact in problem.blocks]
    return network(problem.atoms, ground, clauses=len(problem.weights), blocks=[(b, exact) for b, exact in blocks if b])


def beyond(net: Network, cells: int) -> set[int]:
    """Atoms of components that are beyond the bounds."""
    order = elimination_order(net, bucket_cells=cells)
    return set(np.flatnonzero(~order.within[order.component[order.variables.of_atom]]).tolist())


@settings(max_examples=draws(100))
@given(problems(), st.integers(2, 16))
def test_the_clause_that_widens_a_component(problem: Problem, cells: int) -> None:
    net = problem.network()
    try:
        model = log_linear(net)
    except UnsatisfiableError:
        return
    whole = left_of(problem, model)
    outside = beyond(as_network(problem, model, whole), cells)
    found = widest(model, net, bucket_cells=cells)
    if not outside:
        assert found is None
        return
    assert found is not None
    assert found.beyond == len(outside)
    mine = set(found.atoms.tolist())
    assert min(mine) == min(outside)
    assert mine <= outside

    def suffices(clause: int) -> bool:
        left = left_of(problem, model, clause)
        return not mine & beyond(as_network(problem, model, left), cells)

    count = {
        c: sum(clause == c and {abs(x) - 1 for x in row} <= mine for clause, row in whole)
        for c in range(len(problem.weights))
    }
    assert found.rows == count[found.clause] > 0
    assert found.suffices == any(map(suffices, count))
    if found.suffices:
        assert suffices(found.clause)
        assert not any(suffices(c) for c in count if (-count[c], c) < (-found.rows, found.clause))
    assert (found.clause, list(found.row)) in [(c, sorted(row, key=abs)) for c, row, _ in problem.ground]
    assert {abs(x) - 1 for x in found.row if model.value[abs(x) - 1] < 0} <= mine


def grid(side: int) -> Network:
    """Clause 0 joins neighbours in rows, clause 1 in columns; clause 2 is a chain beside it."""
    at = np.arange(1, side * side + 1).reshape(side, side)
    across = [(0, [int(a), int(b)]) for a, b in zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True)]
    down = [(1, [int(a), int(b)]) for a, b in zip(at[:-1, 1:].ravel(), at[1:, 1:].ravel(), strict=True)]
    chain = [(2, [i, i + 1]) for i in range(side * side + 1, side * side + 5)]
    return network(side * side + 5, across + down + chain)


def test_words_name_atoms_and_the_clause() -> None:
    net = grid(30)
    found = widest(log_linear(net), net)
    assert found is not None
    assert (len(found.atoms), found.clause, found.rows, found.suffices) == (900, 0, 870, True)
    assert (found.components, found.beyond) == (1, 900)

    def describe(clause: int, literals: list[int]) -> str:
        return (
            ", ".join(f"A{x}" for x in literals) if clause == BLOCK else f"A{literals[0]} v A{literals[1]} ({clause})"
        )

    assert found.words(describe) == (
        "one of 900 atoms (A1, A2, A3, ...) would be within it without the 870 ground clauses of one clause, such as A1 v A2 (0)"
    )


def test_two_equal_clauses_widen_it_together() -> None:
    rows = [[a, b] for a, b in itertools.combinations([1, 2, 3, 4], 2)]
    net = network(4, [(c, row) for c in (0, 1) for row in rows])
    found = widest(log_linear(net), net, bucket_cells=8)
    assert found is not None
    assert (found.clause, found.suffices, found.rows) == (0, False, 6)
    assert "has 6 ground clauses of one clause, such as" in found.words(lambda clause, literals: f"{literals}")


def test_rows_that_blocks_satisfy_join_no_components() -> None:
    # One of atoms 5 and 6 is true, so that the first row never fails; what it would join is beyond the bounds.
    wide = [(1, [a, b]) for a, b in itertools.combinations([1, 2, 3, 4], 2)]
    net = network(7, [(0, [1, 5, 6]), *wide, (2, [5, 7])], blocks=[([4, 5], True)])
    found = reach(log_linear(net), bucket_cells=4)
    assert found.inside.tolist() == [False] * 4 + [True] * 3
    value, share = found.partition.expectations(found.narrow.features @ np.array([1.0, 1.0, 1.0]))
    # Of the four worlds of 5, 6 and 7 one violates 5 v 7.
    np.testing.assert_allclose(value, [np.log(3 + np.exp(-1))])
    np.testing.assert_allclose(share[-1], np.exp(-1) / (3 + np.exp(-1)))
