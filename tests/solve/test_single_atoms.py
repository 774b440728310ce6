"""Atoms that stand alone: decided in whole arrays, number for number as elimination decides them, and in little memory."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc

import numpy as np
import pytest

import sqlrl
from sqlrl.ground.network import Network
from sqlrl.solve import single_atoms
from sqlrl.solve.counts import score
from sqlrl.solve.mpe import compile_program, mpe
from sqlrl.solve.sample_networks import network

NUMBERS = ("objective", "constant", "gap", "precision", "magnitude", "decided", "cost", "status", "scale")
MOST_BYTES = 60
"""What the arrays of a prediction take for an atom: 28 to 35 measured; the elimination of trees took 300."""


def alone(seed: int, most: int) -> tuple[Network, np.ndarray]:
    """Return a network of atoms that stand alone, with its weights: of several examples, with and without soft evidence."""
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, most)), int(random.integers(1, 5))
    units = [
        (
            int(random.integers(m)),
            [int(random.integers(1, n + 1)) * int(random.choice([-1, 1]))],
            int(random.integers(1, 4)),
        )
        for _ in range(int(random.integers(1, 2 * n + 1)))
    ]
    example = random.integers(0, 4, n)
    prior = random.normal(size=n) if seed % 2 else np.broadcast_to(np.float64(0), n)
    made = network(n, units, prior=np.zeros(n))
    made = dataclasses.replace(made, prior=prior, example=np.sort(example) if seed % 3 else example)
    return made, random.normal(size=len(made.clauses)).round(int(random.integers(0, 17)))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("piece", [16, 256, 1 << 17])
def test_atoms_that_stand_alone_get_what_elimination_gives_them(
    seed: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_atoms, "PIECE", max(piece, 256))
    made, weights = alone(seed, 30 if piece == 16 else 3000)
    assert single_atoms.all_alone(made)
    found, expected = mpe(made, weights), mpe(compile_program(made), weights)
    assert found.world.tolist() == expected.world.tolist()
    for name in NUMBERS:
        assert getattr(found.report, name) == getattr(expected.report, name), name
    assert [dataclasses.replace(x, seconds=0) for x in found.report.choices] == [
        dataclasses.replace(x, seconds=0) for x in expected.report.choices
    ]


@pytest.mark.parametrize("seed", range(6))
def test_no_world_of_atoms_that_stand_alone_is_better(seed: int) -> None:
    made, weights = alone(seed, 8)
    worlds = [np.array(x) for x in itertools.product([False, True], repeat=len(made.atoms))]
    best = max(score(made, weights, world) for world in worlds)
    assert score(made, weights, mpe(made, weights).world) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(
    ("units", "hard", "blocks"), [([(0, [1, 2])], [], None), ([(0, [1])], [0], None), ([(0, [1])], [], [0, 0])]
)
def test_rows_hard_units_and_blocks_do_not_leave_atoms_alone(
    units: list[tuple[int, list[int]]], hard: list[int], blocks: list[int] | None
) -> None:
    made = network(2, units, hard=hard)
    if blocks is not None:
        made = dataclasses.replace(made, block=np.array(blocks), block_exact=np.array([True]))
    assert not single_atoms.all_alone(made)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("0.7 T(x)", marks=pytest.mark.slow),
        pytest.param("-0.3 !T(x)", marks=pytest.mark.slow),
        "0.7 P(x) => T(x)",
        pytest.param("1.5 P(x) ^ T(x)", marks=pytest.mark.slow),
    ],
    ids=["all", "negated", "half", "conjunction"],
)
def test_the_arrays_of_a_prediction_take_little_memory(rule: str) -> None:
    n = 300_000
    db = sqlrl.connect(threads=1, progress=False)
    db.load("D", f"select 'c' || range from range({n})", types=("t",))
    db.load("P", f"select 'c' || range from range(0, {n}, 2)", types=("t",))
    model = sqlrl.parse_mln(f"D(t)\nP(t)\nT(t)\n{rule}\n", query=["T"])
    db.predict(model)  # imports and compiles, and lists the atoms
    tracemalloc.start()
    prediction = db.predict(model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(prediction.result.world) == n
    assert int(prediction.result.world.sum()) == (n if "P" not in rule else n // 2)
    assert peak < MOST_BYTES * n
