"""PSL's friendship example: most probable states of 374,288 and 2,237,932 hinges, with their bounds.

People live in places, similarity is observed, friendship within a place is to be predicted: similar people of a place are friends,
friendship there is transitive and symmetric, and there is little of it. The four rules with their weights are read from PSL's own file; as in PSL weights
are divided by the largest. Data are random, of the same numbers for whoever draws them with Python's generator in this order.

A database holds them, and `predict` grounds the rules and finds the truth values; beside it searches alone, by either method, over ground rules
that are made in numpy. Each runs in a process of its own, whose memory is measured, after a small one that loads what is compiled;
`similar_bound` is the least objective of similarity and prior alone. PSL's seconds, on a machine like ours, are those of all it does;
`ahead` is how many times as many CPU seconds it takes.

    python scripts/bench/psl_friendship.py [--data DIR] [--quick] [--method tables|auto|primal-dual|admm] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from rounds import publish, read_options, run_jobs

import sqlrl
from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.ground.network import BoolArray, FloatArray, IntArray
from sqlrl.solve.hinge.inference import map_state
from sqlrl.solve.hinge.result import HingeOptions, Method
from sqlrl.solve.hinge.sample_networks import hinge_network
from sqlrl.solve.structure import pointers

Row = dict[str, Any]

RULES = "psl/friendship/cli"
SEED = 4
SIZES = ((300, 10), (1_000, 30))

PSL = {(300, 10): (31.6, 52.0, 859, 620.46), (1_000, 30): (254.0, 157.0, 4_400, 2_357.5)}
"""Seconds, CPU seconds, megabytes and objective of the Java engine by people and places; seconds and CPU seconds are of different runs."""


@dataclass(frozen=True, eq=False)
class Friendship:
    """Random people: the place of each, and of each ordered pair its two people, how similar they are, and whether they are friends."""

    place: IntArray
    first: IntArray
    second: IntArray
    similar: FloatArray
    friends: BoolArray

    @property
    def together(self) -> BoolArray:
        """Which pairs live in one place."""
        found: BoolArray = self.place[self.first] == self.place[self.second]
        return found


def friendship(people: int, places: int) -> Friendship:
    """Draw the people: what Python's generator gives for a place each, and for each pair a uniform and a normal number, all pairs at once.

    The normal numbers of two pairs are the two of one Box-Muller transform, so that two pairs take four uniform numbers.
    """
    source = np.random.RandomState()
    _, state, _ = random.Random(SEED).getstate()  # noqa: S311
    source.set_state(("MT19937", np.array(state[:-1], dtype=np.uint32), state[-1], 0, 0.0))
    found: list[int] = []
    while len(found) < people:
        # As many bits as the number of places has, again where they are too large.
        drawn = int(source.randint(0, 2**32, dtype=np.uint32)) >> (32 - places.bit_length())
        if drawn < places:
            found.append(drawn)
    place = np.array(found)
    first, second = np.divmod(np.arange(people * people), people)
    first, second = first[first != second], second[first != second]
    pairs = len(first)
    uniform = source.random_sample(4 * ((pairs + 1) // 2)).reshape(-1, 4)
    angle, radius = 2 * np.pi * uniform[:, 1], np.sqrt(-2.0 * np.log(1.0 - uniform[:, 2]))
    normal = np.stack([np.cos(angle) * radius, np.sin(angle) * radius], axis=1).ravel()[:pairs]
    together = place[first] == place[second]
    mean = np.where(together, np.float64(0.8), np.float64(0.2))
    similar: FloatArray = np.asarray(np.round(np.clip(mean + 0.316 * normal, 0.0, 1.0), 4), dtype=np.float64)
    friends = uniform[:, [0, 3]].ravel()[:pairs] < np.where(together, 0.85, 0.15)
    return Friendship(place, first, second, similar, friends)


def friendship_network(data: Friendship, squared: Sequence[bool]) -> HingeNetwork:
    """Ground the four rules: atoms are all ordered pairs, in the order of the data; hinges that cannot be positive are left out."""
    people, pairs = len(data.place), len(data.first)
    number = np.full((people, people), -1, dtype=np.int64)
    number[data.first, data.second] = np.arange(pairs)
    near = np.flatnonzero(data.together & (data.similar > 0))
    inside = np.flatnonzero(data.together)
    triples = []
    for place in range(int(data.place.max(initial=-1)) + 1):
        members = np.flatnonzero(data.place == place)
        a, b, c = (members[x.ravel()] for x in np.indices((len(members),) * 3))
        distinct = (a != b) & (b != c) & (a != c)
        a, b, c = a[distinct], b[distinct], c[distinct]
        triples.append(np.stack([number[a, b], number[b, c], number[a, c]], axis=1))
    rules: list[tuple[IntArray, list[float], FloatArray]] = [
        (near[:, None], [-1.0], data.similar[near]),
        (np.concatenate(triples), [1.0, 1.0, -1.0], np.array(-1.0)),
        (np.stack([inside, number[data.second[inside], data.first[inside]]], axis=1), [1.0, -1.0], np.array(0.0)),
        (np.arange(pairs)[:, None], [1.0], np.array(0.0)),
    ]
    columns, coefficients = [], []
    for atoms, signs, _ in rules:
        order = np.argsort(atoms, axis=1)
        columns.append(np.take_along_axis(atoms, order, axis=1).ravel())
        coefficients.append(np.array(signs)[order].ravel())
    sizes = [len(atoms) for atoms, _, _ in rules]
    no = np.zeros(len(rules), dtype=np.bool_)
    return HingeNetwork(
        np.arange(pairs),
        pointers(np.repeat([1, 3, 2, 1], sizes)),
        np.concatenate(columns),
        np.concatenate(coefficients),
        np.concatenate([np.broadcast_to(constant, size) for (_, _, constant), size in zip(rules, sizes, strict=True)]),
        np.ones(sum(sizes), dtype=np.int64),
        np.repeat(np.arange(len(rules)), sizes),
        np.array(squared, dtype=np.bool_),
        no,
        no,
        np.zeros(len(rules)),
    )


def search(folder: Path, people: int, places: int, method: Method) -> Row:
    """Find the most probable state; say what is proved about it."""
    rules = sqlrl.read_psl(folder / RULES / "friendship.json").rules
    weights = np.array([rule.weight for rule in rules], dtype=np.float64)
    weights /= weights.max()
    options = HingeOptions(method=method)
    map_state(hinge_network(2, ["", "2"], [(0, {0: 1.0, 1: -1.0}, 0.5), (1, {1: 1.0}, -0.7)]), [1.0, 1.0], options)
    begun = time.perf_counter()
    network = friendship_network(friendship(people, places), [rule.squared for rule in rules])
    built = time.perf_counter()
    processor = time.process_time()
    found = map_state(network, weights, options)
    processor = time.process_time() - processor
    alone = map_state(network, np.where(np.arange(4) % 3 == 0, weights, 0.0))
    return {
        "people": people,
        "hinges": len(network.rule),
        "system": f"sqlrl, {method}",
        "seconds": round(found.seconds, 2),
        "processor_seconds": round(processor, 2),
        "building_seconds": round(built - begun, 2),
        "objective": round(found.objective, 4),
        "bound": round(found.bound, 4),
        "status": found.status.value,
        "iterations": found.iterations,
        "similar_bound": round(alone.objective, 2),
    }


def measured(folder: Path, people: int, places: int, system: Any) -> Row:
    """Predict from tables, or search over ground rules."""
    found = tables(folder, people, places) if system == "tables" else search(folder, people, places, system)
    if system == "tables" and (people, places) in PSL:
        found["ahead"] = round(PSL[people, places][1] / found["processor_seconds"], 1)
    return found


def tables(folder: Path, people: int, places: int) -> Row:
    """Load the people, and predict who are friends."""
    model = sqlrl.read_psl(folder / RULES / "friendship.json")
    most = max(rule.weight or 0.0 for rule in model.rules)
    types = {"Block": ["person", "place"], "Similar": ["person", "person"], "Friends": ["person", "person"]}
    model = model.with_rules([replace(rule, weight=(rule.weight or 0.0) / most) for rule in model.rules]).with_types(
        types
    )
    _predicted(friendship(12, 2), model)
    data = friendship(people, places)
    begun, processor = time.perf_counter(), time.process_time()
    loaded, found = _predicted(data, model)
    assert found.network is not None, "all data are one example"
    return {
        "people": people,
        "hinges": len(found.network.rule),
        "system": "sqlrl, tables to values",
        "seconds": round(time.perf_counter() - begun, 2),
        "processor_seconds": round(time.process_time() - processor, 2),
        "building_seconds": round(loaded - begun + found.seconds["grounding"], 2),
        "objective": round(found.objective, 4),
        "bound": round(found.bound, 4),
        "status": found.status.value,
        "iterations": found.result.iterations,
        "similar_bound": None,
    }


def _predicted(data: Friendship, model: sqlrl.SoftModel) -> tuple[float, sqlrl.SoftPrediction]:
    """Return when data were loaded, and what is predicted of them."""
    db = sqlrl.connect(progress=False)
    first, second = (pa.array(x).cast(pa.string()) for x in (data.first, data.second))
    here = pa.table(
        {"a": pa.array(np.arange(len(data.place))).cast(pa.string()), "b": pa.array(data.place).cast(pa.string())}
    )
    db.load("Block", here, types=["person", "place"])
    db.load(
        "Similar",
        pa.table({"a": first, "b": second, "value": data.similar}),
        columns=["a", "b"],
        types=["person", "person"],
        value="value",
    )
    db.scope("Friends", pa.table({"a": first, "b": second}))
    loaded = time.perf_counter()
    return loaded, db.predict(model)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    systems = ("tables", *get_args(Method))
    options = read_options(
        "PSL's friendship example: inference in a soft model.", arguments, needs=RULES, choices={"method": systems}
    )
    sizes = ((60, 4),) if options.quick else SIZES
    wanted = [system for system in systems if options.chosen.get("method", system) == system]
    jobs = [(options.data, *size, system) for size in sizes for system in wanted]
    rows: list[Row] = []
    for (_, people, places, _), done in zip(jobs, run_jobs(measured, jobs, options.console(), "searches"), strict=True):
        if (people, places) in PSL and not any(row["people"] == people for row in rows):
            seconds, processor, memory, objective = PSL[people, places]
            psl = {
                "people": people,
                "system": "PSL (Java)",
                "seconds": seconds,
                "processor_seconds": processor,
                "objective": objective,
            }
            rows.append({**psl, "memory_mb": memory})
        rows.append({**done.value, "memory_mb": round(done.memory_mb)})
    publish("bench_psl_friendship", rows, options, title="friendship", parameters={"sizes": [list(s) for s in sizes]})


if __name__ == "__main__":
    main()
