"""What `auto` grounds: all, or what cutting planes need; the world is that of full grounding either way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.solve import cutting_plane_worlds
from sqlrl.solve.cutting_plane_worlds import NetworkEstimate
from sqlrl.solve.result import Status

HARD = "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) ^ x != z => Same(x, z)."
SOFT = "1.5 Same(x, y) => Same(y, x)\n0.4 Same(x, y) ^ Same(y, z) ^ x != z => Same(x, z)"
REWARD = "0.1 Same(x, y) ^ Same(y, z)"


def records(count: int, block: int, errors: float, rules: str, kinds: int = 0) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Records, four to an entity, in blocks of candidates; each of three fields is wrong in a share of records."""
    random = np.random.default_rng(count + block)
    entity = np.arange(count) // 4
    group = entity // (block // 4)
    first, second = np.nonzero((group[:, None] == group[None, :]) & ~np.eye(count, dtype=bool))
    name = np.array([f"r{i}" for i in range(count)])
    db, lines = sqlrl.connect(), ["Same(record, record)"]
    for field in "abc":
        value = np.where(random.random(count) < errors, random.integers(0, 30, count), entity)
        kept = value[first] == value[second]
        db.load(
            f"Agree{field}", pa.table({"x": name[first[kept]], "y": name[second[kept]]}), types=("record", "record")
        )
        lines.append(f"Agree{field}(record, record)")
        rules += f"\n1.2 Agree{field}(x, y) => Same(x, y)"
    db.scope("Same", pa.table({"x": name[first], "y": name[second]}))
    query = ["Same"]
    if kinds:
        seen = [(f"r{i}", f"k{entity[i] % kinds}") for i in range(0, count, 2)]
        db.load("Seen", seen, types=("record", "kind"))
        lines += ["Kind(record, kind!)", "Seen(record, kind)"]
        rules += "\n1 Seen(x, k) => Kind(x, k)\n0.7 Same(x, y) ^ Kind(x, k) => Kind(y, k)"
        query.append("Kind")
    return db, sqlrl.parse_mln("\n".join([*lines, "-2 Same(x, y)", rules]), query=query)


@pytest.mark.parametrize(
    ("errors", "rules", "kinds"),
    [
        (0.6, HARD, 3),
        (0.1, SOFT, 0),
        (0.6, HARD + "\n" + REWARD, 0),
        pytest.param(0.1, HARD, 0, marks=pytest.mark.slow),
        pytest.param(0.6, SOFT, 3, marks=pytest.mark.slow),
        pytest.param(0.1, HARD + "\n" + REWARD, 3, marks=pytest.mark.slow),
    ],
)
def test_the_world_of_full_grounding_whatever_is_chosen(
    errors: float, rules: str, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting_plane_worlds, "SMALL", 50)
    db, model = records(32, 8, errors, rules, kinds)
    found, whole = db.predict(model), db.predict(model, method="full")
    assert found.status is whole.status is Status.OPTIMAL
    assert found.objective == pytest.approx(whole.objective, abs=1e-7)
    assert found.network.partial
    assert not whole.network.partial
    # What rewards every pair that is true is grounded as a whole; it is met where nothing is true.
    assert (len(found.network.row_clause) < len(whole.network.row_clause)) == found.network.partial


def test_large_transitivity_is_cut_by_default() -> None:
    db, model = records(240, 24, 0.1, HARD)
    found = db.predict(model)
    assert found.network.partial
    assert found.status is Status.OPTIMAL
    assert len(found.network.row_clause) < 10_000


def test_what_the_first_world_does_not_meet_is_grounded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ground clauses of a conjunction that pays are unmet where they fail, and there is nothing left to cut."""
    monkeypatch.setattr(cutting_plane_worlds, "SMALL", 50)
    db = sqlrl.connect()
    db.load("Near", [(f"p{i}", f"p{j}") for i in range(20) for j in range(20)], types=("place", "place"))
    rules = "0.3 Near(x, y) ^ Open(x) ^ Open(y)\n-1 Open(x)"
    model = sqlrl.parse_mln(f"Near(place, place)\nOpen(place)\n{rules}", query=["Open"])
    found = db.predict(model)
    assert not found.network.partial
    assert found.objective == pytest.approx(max(0.0, 0.3 * 400 - 20))


def test_small_networks_are_grounded() -> None:
    db, model = records(16, 8, 0.1, HARD)
    assert not db.predict(model).network.partial


@pytest.mark.parametrize(
    ("sizes", "unmet", "whole", "partial"),
    [
        ({"a": 10}, {"a": 0}, {"a"}, False),
        ({"a": 10**6}, {"a": 10**3}, set(), True),
        ({"a": 10**6}, {"a": 3 * 10**5}, {"a"}, False),
        ({"a": 10**6, "b": 10**4}, {"a": 0, "b": 0}, {"b"}, True),
        ({"a": 10**6, "b": 10**7}, {"a": 0, "b": 9 * 10**6}, {"b"}, False),
    ],
)
def test_an_estimate(sizes: dict[str, int], unmet: dict[str, int], whole: set[str], *, partial: bool) -> None:
    found = NetworkEstimate(sizes, unmet)
    assert found.whole == whole
    assert found.partial is partial
