"""Small networks for documentation, tests and benchmarks, written down as ground clauses instead of grounded in SQL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from sqlrl.ground.network import Network, NetworkRows

# A clause from 0, signed atoms +(k + 1) or -(k + 1), distinct inside a ground clause, and a multiplicity, 1 if it is left out.
Ground = tuple[int, Sequence[int]] | tuple[int, Sequence[int], int]


def network(
    atoms: int,
    ground: Sequence[Ground],
    *,
    clauses: int | None = None,  # one more than the highest of `ground` by default
    hard: Sequence[int] = (),  # clauses that must hold
    negated: Sequence[int] = (),  # conjunctions: n counts the violated groundings of the clause
    blocks: Sequence[tuple[Sequence[int], bool]] = (),  # atoms from 0; True: exactly one is true, else at most one
    prior: Sequence[float] | None = None,  # log-odds of each atom
    evidence: Sequence[tuple[int, int, int]] = (),  # clause, groundings that the evidence satisfied, and violated
    given: Sequence[int] = (),  # literals that a given atom of the same block forces
    example: Sequence[int] | None = None,  # one of all atoms by default
) -> Network:
    """Return a network from a list of ground clauses; atom k has id k, clause i has id i."""
    full = [(g[0], sorted(g[1], key=abs), g[2] if len(g) == 3 else 1) for g in ground]
    m = clauses if clauses is not None else 1 + max((g[0] for g in full), default=-1)
    sign = np.ones(m, dtype=np.int64)
    sign[list(negated)] = -1
    counted = np.zeros((4, m), dtype=object)
    base, total, violated, opened = counted
    units = np.zeros((atoms, m), dtype=np.int64)
    for i, satisfied, broken in evidence:
        base[i] += satisfied if sign[i] > 0 else broken
        violated[i] += broken
        total[i] += satisfied + broken
    for i, literals, times in full:
        opened[i] += times
        total[i] += times
        if len(literals) > 1:
            base[i] += times if sign[i] > 0 else 0
            continue
        # A true atom satisfies a positive and violates a negative literal; a conjunction counts the violated ones.
        grows = (literals[0] > 0) == (sign[i] > 0)
        base[i] += 0 if grows else times
        units[abs(literals[0]) - 1, i] += times if grows else -times
    rows = sorted((g for g in full if len(g[1]) > 1), key=lambda g: g[0])
    hard_units = [(i, lits[0]) for i, lits, _ in full if i in hard and len(lits) == 1] + [(-1, x) for x in given]
    block = np.full(atoms, -1, dtype=np.int64)
    for b, (members, _) in enumerate(blocks):
        block[list(members)] = b
    is_hard = np.zeros(m, dtype=np.bool_)
    is_hard[list(hard)] = True
    return Network(
        atoms=np.arange(atoms, dtype=np.int64),
        example=np.asarray(example if example is not None else [0] * atoms, dtype=np.int64),
        clauses=np.arange(m, dtype=np.int64),
        sign=sign,
        hard=is_hard,
        rows=NetworkRows(
            np.cumsum([0] + [len(g[1]) for g in rows], dtype=np.int64),
            np.array([x for g in rows for x in g[1]], dtype=np.int64),
            np.array([g[0] for g in rows], dtype=np.int64),
            np.array([g[2] for g in rows], dtype=np.int64),
        ),
        units=sparse.csr_array(units),
        base=base,
        total=total,
        evidence_violated=violated,
        open=opened,
        prior=np.asarray(prior if prior is not None else [0.0] * atoms, dtype=np.float64),
        block=block,
        block_exact=np.array([exact for _, exact in blocks], dtype=np.bool_),
        helper=np.zeros(atoms, dtype=np.bool_),
        hard_units=np.array(hard_units, dtype=np.int64).reshape(-1, 2),
    )


def chains(count: int, *, length: int, states: int, exact: bool = False, words: int = 50, seed: int = 0) -> Network:
    """Return linear chains like a field model of citations: one example each, with a block of `states` atoms at each position."""
    # Each position has a random word, and each word and state one unit clause. Clauses 0 to states**2 - 1 are the transitions
    # `S(p) => T(p + 1)`, the others the words.
    positions = count * length
    n, transitions = positions * states, states * states
    atom = np.arange(n, dtype=np.int64).reshape(count, length, states)
    before, after = np.broadcast_arrays(atom[:, :-1, :, None], atom[:, 1:, None, :])
    # Shape (transitions, edges): rows must come in the order of their clauses.
    literals = np.stack([-(before + 1), after + 1], axis=-1).reshape(-1, transitions, 2).swapaxes(0, 1).reshape(-1, 2)
    edges = len(literals) // transitions
    m = transitions + words * states
    word = np.random.default_rng(seed).integers(0, words, positions)
    column = (transitions + word[:, None] * states + np.arange(states)).ravel()
    units = sparse.coo_array((np.ones(n, dtype=np.int64), (np.arange(n), column)), shape=(n, m)).tocsr()
    opened = np.concatenate([np.full(transitions, edges), np.bincount(column, minlength=m)[transitions:]])
    base = np.where(np.arange(m) < transitions, edges, 0)
    return Network(
        atoms=np.arange(n, dtype=np.int64),
        example=np.repeat(np.arange(count, dtype=np.int64), length * states),
        clauses=np.arange(m, dtype=np.int64),
        sign=np.ones(m, dtype=np.int64),
        hard=np.zeros(m, dtype=np.bool_),
        rows=NetworkRows(
            np.arange(0, 2 * len(literals) + 1, 2, dtype=np.int64),
            literals.ravel(),
            np.repeat(np.arange(transitions, dtype=np.int64), edges),
            np.ones(len(literals), dtype=np.int64),
        ),
        units=units,
        base=base.astype(object),
        total=opened.astype(object),
        evidence_violated=np.zeros(m, dtype=object),
        open=opened.astype(object),
        prior=np.zeros(n),
        block=np.repeat(np.arange(positions, dtype=np.int64), states),
        block_exact=np.full(positions, exact, dtype=np.bool_),
        helper=np.zeros(n, dtype=np.bool_),
        hard_units=np.empty((0, 2), dtype=np.int64),
    )
