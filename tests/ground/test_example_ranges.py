"""Grounding a window whose range of examples is known, against the same examples without it; and what is left to a window of the memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

import sqlrl
from sqlrl.engine.memory import PROCESS, WORKING, Memory
from sqlrl.ground import program as program_module
from sqlrl.ground.counts import groundings
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.memory import ENTRY_BYTES, FOUND_BYTES, leave_to_window
from sqlrl.ground.network import Network
from sqlrl.ground.program import Extent
from sqlrl.plan.sources import ExampleRange
from tests.effort import draws
from tests.ground.cases import Case, expanded, programs


def same(one: Network, other: Network) -> bool:
    arrays = ("atoms", "example", "literals", "indptr", "row_clause", "multiplicity", "base", "total", "open")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
    return equal and abs(sparse.csr_array(one.units - other.units)).sum() == 0


@pytest.mark.slow
@settings(max_examples=draws(10))
@given(programs())
def test_a_range_of_examples_leaves_nothing_out(case: Case) -> None:
    program = expanded(case)
    count = program.layout.example_count
    for first in range(count):
        for last in range(first, count):
            some = np.arange(first, last + 1)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(program_module, "LEAST_PARTS", 0)
                with Extent(program).restricted_to(some) as extent:
                    assert isinstance(extent.examples, ExampleRange)
                    found = ground_network(extent, check=False)
                    counted = groundings(extent)
            with program.examples_table(some) as chosen:
                extent = Extent(program, chosen, None, len(some))
                assert same(found, ground_network(extent, check=False))
                assert (counted == groundings(extent)).all()


def test_a_range_is_told_only_where_it_leaves_out_most_examples() -> None:
    db = sqlrl.connect(progress=False)
    db.load("P", [(f"e{i:02}", "x") for i in range(40)], types=["e", "t"], example="e")
    model = sqlrl.parse_mln("P(e, t)\nQ(e, t)\n1 P(e, x) => Q(e, x)", query=["Q"])
    with db.advanced.program(model) as program:
        kinds = []
        for some in ([3], [3, 9], [3, 20], list(range(40)), []):
            with Extent(program).restricted_to(np.array(some, dtype=np.int64)) as extent:
                kinds.append(isinstance(extent.examples, ExampleRange))
    assert kinds == [True, True, False, False, False]


def test_a_window_leaves_the_database_what_it_does_not_take() -> None:
    db = sqlrl.connect(progress=False)
    db.load("N", [(f"x{i}", f"x{i + 1}", f"e{i // 10}") for i in range(1000)], types=["t", "t", "e"], example="e")
    model = sqlrl.parse_mln("N(t, t, e)\nQ(t, e)\n1 N(x, y, e) ^ Q(x, e) => Q(y, e)", query=["Q"])
    with db.advanced.program(model) as program:
        engine = program.engine
        engine.memory, told = Memory(10**10), list[int]()
        engine.leave = told.append  # type: ignore[method-assign]
        atoms = program.layout.predicates["Q"].atom_count
        for entries in (1000, None):
            leave_to_window(program, entries, 100)
    # Windows of a thousand literals once left the database 150 MB, which is less than joins with many atoms take.
    assert told[:2] == [1000 * ENTRY_BYTES + atoms * FOUND_BYTES, 10**10 - PROCESS - WORKING]
