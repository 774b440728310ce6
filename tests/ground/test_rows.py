"""Packed rows: compiled loops against numpy, and columns of one number against the same columns written out."""

from __future__ import annotations

import numpy as np
import pytest

from sqlrl.ground import rows as module
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.ground.radix import radix_sort
from sqlrl.ground.rows import GroundRows, Packing, by_clause, in_order, repeated, to_codes, to_literals
from sqlrl.ground.sample_programs import PEOPLE, sample_program


@pytest.mark.parametrize("bits", [1, 2, 9, 10, 11, 20, 36, 53, 62, 63])
@pytest.mark.parametrize("size", [0, 1, 2, 1000])
def test_radix_sort_orders_as_numpy_does(bits: int, size: int) -> None:
    keys = np.random.default_rng(bits).integers(0, 2**bits, size, dtype=np.uint64).astype(np.int64)
    keys[: min(size, 2)] = [0, 2**bits - 1][:size]
    assert radix_sort(keys.copy(), bits).tolist() == sorted(keys.tolist())


@pytest.mark.parametrize(
    ("width", "atoms", "clauses"), [(1, 1, 1), (1, 7, 3), (2, 1000, 1), (3, 50, 9), (4, 2000, 200)]
)
def test_many_rows_and_few_come_out_alike(
    width: int, atoms: int, clauses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(width)
    clause = rng.integers(0, clauses, 500)
    codes = rng.integers(0, 2 * atoms, (width, 500))
    packing = Packing.of(width, atoms, clauses)
    assert packing is not None
    expected = sorted((c, *sorted(row)) for c, row in zip(clause.tolist(), codes.T.tolist(), strict=True))
    for many in (10**9, 0):
        monkeypatch.setattr(module, "MANY", many)
        keys = packing.sort(packing.pack(clause, list(codes)))
        found = to_codes(packing.literals(keys))
        assert [(c, *row) for c, row in zip(packing.clauses(keys).tolist(), found.tolist(), strict=True)] == expected


def test_codes_and_literals_are_each_others_inverse() -> None:
    codes = np.arange(100)
    literals = to_literals(codes)
    assert literals[:4].tolist() == [1, -1, 2, -2]
    assert (to_codes(literals) == codes).all()


@pytest.mark.parametrize("merge", [False, True])
def test_a_column_of_one_number_counts_as_one_written_out(merge: bool) -> None:
    rng = np.random.default_rng(0)
    literals = rng.choice([-3, -2, -1, 1, 2, 3], 40)
    view = GroundRows(repeated(4, 20), literals, repeated(2, 20), repeated(1, 20))
    plain = GroundRows(*(np.array(x) for x in (view.clause, literals, view.length, view.multiplicity)))
    other = GroundRows(repeated(2, 1), np.array([1, 2, 3]), repeated(3, 1), repeated(5, 1))
    for make in (
        lambda rows: in_order(rows, merge=merge),
        lambda rows: by_clause([rows, other]),
        lambda rows: by_clause([rows, rows]),
        lambda rows: rows.split()[2],
        lambda rows: rows.take(np.arange(20) % 3 == 0),
    ):
        one, two = make(view), make(plain)
        for name in ("clause", "literals", "length", "multiplicity"):
            assert getattr(one, name).tolist() == getattr(two, name).tolist()
        assert one.starts().tolist() == two.starts().tolist()


@pytest.mark.parametrize("width", [0, 1, 2, 3])
def test_split_sorts_rows_by_their_number_of_literals(width: int) -> None:
    rows = GroundRows(repeated(0, 2), np.ones(2 * width, np.int64), repeated(width, 2), repeated(1, 2))
    assert [len(part.clause) for part in rows.split()] == [2 * (min(width, 2) == k) for k in range(3)]
    assert [len(part.clause) for part in by_clause([]).split()] == [0, 0, 0]


@pytest.mark.parametrize("friends", [0, 1, 2])
def test_the_arrays_of_a_network_are_contiguous_and_can_be_written(friends: int) -> None:
    facts = {"Friends": [("Anna", "Bob"), ("Bob", "Chris")][:friends] or [("Anna", "Anna")]}
    network = ground_network(Extent(sample_program(PEOPLE, ["Smokes"], facts)))
    assert len(network.row_clause) == friends
    for name in ("atoms", "indptr", "literals", "row_clause", "multiplicity", "hard_units", "block", "prior"):
        flags = getattr(network, name).flags
        assert flags.c_contiguous
        assert flags.writeable
