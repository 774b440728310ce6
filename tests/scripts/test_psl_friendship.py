"""The friendship data of the benchmark are those that Python's generator draws, and its hinges are those of the rules."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import numpy as np
import psl_friendship
import pytest
from psl_friendship import friendship, friendship_network


@pytest.mark.parametrize(("people", "places"), [(7, 2), (12, 3), (25, 8)])
def test_people_are_those_of_pythons_generator(people: int, places: int) -> None:
    data, source = friendship(people, places), random.Random(psl_friendship.SEED)
    assert data.place.tolist() == [source.randrange(places) for _ in range(people)]
    for k, (a, b) in enumerate(itertools.permutations(range(people), 2)):
        assert (data.first[k], data.second[k]) == (a, b)
        near = data.place[a] == data.place[b]
        assert data.friends[k] == (source.random() < (0.85 if near else 0.15))
        assert data.similar[k] == float(f"{min(1, max(0, source.gauss(0.8 if near else 0.2, 0.316))):.4f}")


def test_hinges_are_the_distances_of_the_rules() -> None:
    data = friendship(11, 3)
    network = friendship_network(data, [True] * 4)
    y = np.random.default_rng(0).random(len(data.first))
    of = {pair: y[k] for k, pair in enumerate(zip(data.first.tolist(), data.second.tolist(), strict=True))}
    alike = dict(zip(of, data.similar.tolist(), strict=True))
    place = data.place.tolist()
    sums = np.zeros(4)
    for (a, b), value in of.items():
        sums[3] += value**2
        if place[a] == place[b]:
            # Lukasiewicz: a body of truths adds up less what it has more than one of; the distance is body - head.
            sums[0] += max(0.0, alike[a, b] - value) ** 2
            sums[2] += max(0.0, value - of[b, a]) ** 2
            others = (c for c in range(11) if c not in (a, b) and place[c] == place[a])
            sums[1] += sum(max(0.0, value + of[b, c] - 1 - of[a, c]) ** 2 for c in others)
    np.testing.assert_allclose(network.incompatibility(y), sums)


@pytest.mark.slow
def test_a_run_prints_a_proved_state(data_folder: Path, tmp_path: Path) -> None:
    psl_friendship.main(["--data", str(data_folder), "--quick", "--quiet", "--json", str(tmp_path / "rows.json")])
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["status"] for row in rows] == ["optimal"] * 4
    whole, one, *others = rows
    assert whole["hinges"] == one["hinges"]
    assert whole["objective"] == pytest.approx(one["objective"], rel=2e-6)
    for other in others:
        assert one["objective"] == pytest.approx(other["objective"], rel=2e-6)
    assert one["similar_bound"] < one["bound"] <= one["objective"]
