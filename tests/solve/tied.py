"""Random networks whose longer ground clauses are tied tables, and the same networks listed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from sqlrl.ground.atoms import Atoms
from sqlrl.ground.network import Network, TiedTable
from sqlrl.ground.rows import GroundRows
from sqlrl.ground.tied import tied_rows


@st.composite
def _clause(draw: st.DrawFn, block: np.ndarray, example: np.ndarray, pairs: list[tuple[int, int]]) -> list[int]:
    """Two or three literals over distinct atoms of one example."""
    if pairs and draw(st.integers(0, 3)):
        atoms = np.flatnonzero(np.isin(block, draw(st.sampled_from(pairs))))
    else:
        atoms = np.flatnonzero(example == draw(st.sampled_from(example.tolist())))
    some = draw(st.lists(st.sampled_from(atoms.tolist()), min_size=2, max_size=3, unique=True))
    return [x + 1 if draw(st.booleans()) else -x - 1 for x in sorted(some)]


@st.composite
def tied_networks(
    draw: st.DrawFn, *, forest: bool = True, most: int = 6, examples: int = 1, others: int = 0
) -> Network:
    """Blocks of two kinds, interleaved as atoms of a database are; pairs of blocks form a forest, or any graph, inside each example.

    Up to `others` ground clauses are listed, some of them hard: most join blocks that a table joins, others any atoms of an example.
    """
    sizes = [draw(st.integers(2, 3)) for _ in range(2)]
    exact = [draw(st.booleans()) for _ in range(2)]
    kinds = draw(st.lists(st.integers(0, 1), min_size=2, max_size=most))
    order = draw(st.permutations([b for b, kind in enumerate(kinds) for _ in range(sizes[kind])]))
    block, n = np.array(order, dtype=np.int64), len(order)
    example = np.array([draw(st.integers(0, examples - 1)) for _ in kinds], dtype=np.int64)
    before = [[a for a in range(b) if example[a] == example[b]] for b in range(len(kinds))]
    if forest:
        pairs = [(draw(st.sampled_from(own)), b) for b, own in enumerate(before) if own and draw(st.integers(0, 4))]
    else:
        pairs = [(a, b) for b, own in enumerate(before) for a in own if draw(st.booleans())]
    pairs = [(b, a) if draw(st.booleans()) else (a, b) for a, b in pairs]
    tables, m = list[TiedTable](), 0
    for left, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        here = [(a, b) for a, b in pairs if (kinds[a], kinds[b]) == (left, right)]
        for _ in range(draw(st.integers(0, 2))):
            mine = [pair for pair in here if draw(st.integers(0, 3))]
            cells = sizes[left] * sizes[right]
            clause = np.where([draw(st.integers(0, 5)) > 0 for _ in range(cells)], m + np.arange(cells), -1)
            positive = draw(st.booleans()), draw(st.booleans())
            m += cells
            ends = np.array(mine, dtype=np.int64).reshape(-1, 2)
            many = np.array([draw(st.integers(1, 3)) for _ in mine], dtype=np.int64)
            table = clause.reshape(sizes[left], sizes[right]).astype(np.int64)
            if mine and (table >= 0).any():
                tables.append(TiedTable(table, positive, ends[:, 0].copy(), ends[:, 1].copy(), many))
    listed = [draw(_clause(block, example[block], pairs)) for _ in range(draw(st.integers(0, others)))]
    kinds_of = [draw(st.integers(0, 2)) for _ in listed]
    alone = draw(st.lists(st.integers(-2, 2), min_size=2 * n, max_size=2 * n))
    units = np.zeros((n, m + 2), dtype=np.int64)
    units[:, m:] = np.array(alone, dtype=np.int64).reshape(n, 2)
    units = np.concatenate([units, np.zeros((n, 3), dtype=np.int64)], axis=1)
    order = np.argsort(kinds_of, kind="stable").tolist() if listed else []
    rows = GroundRows(
        m + 2 + np.array([kinds_of[i] for i in order], dtype=np.int64),
        np.array([x for i in order for x in listed[i]], dtype=np.int64),
        np.array([len(listed[i]) for i in order], dtype=np.int64),
        np.array([draw(st.integers(1, 2)) for _ in order], dtype=np.int64),
    )
    m += 5
    hard = np.zeros(m, dtype=np.bool_)
    hard[-1] = True
    opened = np.full(m, 0, dtype=object)
    np.add.at(opened, rows.clause, rows.multiplicity)
    for table in tables:
        opened[table.clauses] += int(table.multiplicity.sum())
    sign = np.where(draw(st.lists(st.booleans(), min_size=m, max_size=m)), 1, -1).astype(np.int64)
    prior = np.array(draw(st.lists(st.sampled_from([0.0, 0.5, -1.25]), min_size=n, max_size=n)))
    known = np.array([exact[kind] for kind in kinds], dtype=np.bool_)
    none = np.zeros(n, dtype=np.bool_)
    atoms = Atoms(np.arange(n), example[block], prior, block, known, none, none)
    return Network(
        atoms=np.arange(n, dtype=np.int64),
        example=example[block],
        clauses=np.arange(m, dtype=np.int64),
        sign=sign,
        hard=hard,
        rows=tied_rows([rows, *tables], atoms, m),
        units=sparse.csr_array(units),
        base=np.full(m, 0, dtype=object),
        total=opened + 10 * n,
        evidence_violated=np.full(m, 0, dtype=object),
        open=opened + 2 * n,
        prior=prior,
        block=block,
        block_exact=known,
        helper=none,
        hard_units=np.zeros((0, 2), dtype=np.int64),
    )
