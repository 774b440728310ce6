"""Kinds of atoms of windows, put together, against counting the atoms one window after the other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sqlrl.errors import CountOverflowError
from sqlrl.ground.atom_kinds import AtomKinds, Folded

Kind = tuple[bool, tuple[int, ...], tuple[int, ...]]
NUMBERS = st.tuples(st.integers(0, 2), st.integers(0, 2**33))
WINDOWS = st.lists(st.dictionaries(st.tuples(st.booleans(), NUMBERS, NUMBERS), st.integers(1, 2**40)), min_size=1)


def kinds_of(window: dict[Kind, int], *, dense: bool) -> AtomKinds:
    keys = list(window)
    matrices = [np.array([key[k] for key in keys], dtype=np.int64).reshape(-1, 2) for k in (1, 2)]
    negative, positive = matrices if dense else [sparse.csr_array(x) for x in matrices]
    count = np.array(list(window.values()), dtype=np.int64)
    return AtomKinds("P", int(count.sum()), np.array([k[0] for k in keys], dtype=bool), count, negative, positive)


@given(WINDOWS, st.booleans())
def test_kinds_of_windows_add_up(windows: list[dict[Kind, int]], dense: bool) -> None:
    folded, expected = Folded(), Counter[Kind]()
    for window in windows:
        folded.add(kinds_of(window, dense=dense))
        expected.update(window)
    found = folded.kinds()
    matrices = [x if dense else x.toarray() for x in (found.negative, found.positive)]
    rows = zip(found.truth.tolist(), *(map(tuple, x.tolist()) for x in matrices), strict=True)
    assert dict(zip(rows, found.count.tolist(), strict=True)) == dict(expected)
    assert found.total == sum(expected.values())
    if len(windows) > 1 and dense:
        # In the order that a partition has: false before true, then by what clauses say.
        keys = [(t, *n, *p) for t, n, p in zip(found.truth.tolist(), *(x.tolist() for x in matrices), strict=True)]
        assert keys == sorted(keys)


def test_too_many_atoms_are_an_error() -> None:
    folded, half = Folded(), kinds_of({(True, (1, 1), (0, 0)): 2**61}, dense=True)
    folded.add(half)
    folded.add(half)
    with pytest.raises(CountOverflowError, match=r"P has .* atoms, whose number does not fit into 64 bits"):
        folded.add(half)
