"""From candidate pairs of records to clusters: sqlrl, whose equivalence is transitive, beside connected components, in CPU seconds.

    python scripts/bench/clusters.py [--records N] [--rounds N] [--quick] [--seed N] [--db FILE] [--json FILE]

Things have one to four records each, and all pairs within two things are candidates. Both systems are given the same Arrow tables in a
process that has imported and compiled what they need, and hand back a table of records with their clusters. sqlrl loads candidates and pairs
that look alike, predicts with rules that ask for symmetry and transitivity, and clusters. Beside it stand Splink's components of the pairs
whose probability exceeds one half (`pip install splink`), or without Splink those of scipy, of pairs that DuckDB numbers. In `evidence:
transitive` all records of a thing look alike, so that clusters are the same, which is checked. In `noisy` a tenth of these pairs do not,
and 2 % of the others do: there components join what a transitive answer keeps apart.
"""

from __future__ import annotations

import importlib.util
import logging
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rounds import publish, read_options, spread
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import sqlrl

RULES = """
Candidate(record, record)
Alike(record, record)
Same(record, record)
3 Alike(x, y) => Same(x, y)
-1.5 Same(x, y)
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(x, z) ^ Candidate(y, z) => Same(y, z).
"""
EVIDENCE = {"transitive": (1.0, 0.0), "noisy": (0.9, 0.02)}
"""The share of pairs that look alike, of one thing and of two."""

Found = TypeVar("Found")

WARM_UP = 2_000
"""So many records are clustered before time is taken."""


@dataclass(frozen=True)
class Records:
    """Names of records, and pairs of them in both orders: the candidates, and those that look alike."""

    names: pa.Table
    candidates: pa.Table
    alike: pa.Table
    edges: pa.Table  # candidates with their probability


def records(count: int, evidence: str, seed: int) -> Records:
    """Return records in random order."""
    draw = np.random.default_rng(seed)
    thing = np.repeat(np.arange(count), draw.integers(1, 5, count))[:count]
    block = thing // 2
    size = np.bincount(block)
    first = np.repeat(np.arange(count), size[block])
    start = (np.cumsum(size) - size)[block[first]]
    second = start + np.arange(len(first)) - np.searchsorted(first, first)
    chosen = first < second
    first, second = first[chosen], second[chosen]
    same, other = EVIDENCE[evidence]
    alike = draw.random(len(first)) < np.where(thing[first] == thing[second], same, other)
    names = pa.array([f"record{i}" for i in draw.permutation(count)])

    def pairs(rows: npt.NDArray[np.bool_]) -> pa.Table:
        a, b = (pa.array(np.concatenate([x[rows], y[rows]])) for x, y in ((first, second), (second, first)))
        return pa.table({"a": names.take(a), "b": names.take(b)})

    whole = pairs(np.ones(len(first), dtype=np.bool_))
    probability = pa.array(np.where(np.tile(alike, 2), 0.95, 0.05))
    return Records(pa.table({"id": names}), whole, pairs(alike), whole.append_column("match_probability", probability))


def ours(data: Records) -> tuple[int, dict[str, float]]:
    """Return the number of clusters, and what each step takes."""
    seconds: dict[str, float] = {}

    def timed(step: str, work: Callable[[], Found]) -> Found:
        start = time.process_time()
        found = work()
        seconds[step] = time.process_time() - start
        return found

    with sqlrl.connect(progress=False) as db:

        def load() -> None:
            # A record without a candidate is a cluster, too.
            db.load("Record", data.names, types=["record"])
            db.load("Candidate", data.candidates, types=["record", "record"])
            db.load("Alike", data.alike, types=["record", "record"])
            db.scope("Same", data.candidates)

        timed("load", load)
        prediction = timed("predict", lambda: db.predict(sqlrl.parse_mln(RULES, query=["Same"])))
        table = timed("clusters", lambda: prediction.clusters().to_arrow())
    return len(table.column("cluster").unique()), seconds


def splink(data: Records) -> int:
    """Return the number of Splink's components."""
    from splink import DuckDBAPI
    from splink.clustering import cluster_pairwise_predictions_at_threshold

    logging.getLogger("splink").setLevel(logging.ERROR)
    found = cluster_pairwise_predictions_at_threshold(
        data.names, data.edges, DuckDBAPI(), "id", "a", "b", threshold_match_probability=0.5
    )
    return len(found.as_duckdbpyrelation().to_arrow_table().column("cluster_id").unique())


def components(data: Records) -> int:
    """Return the number of scipy's components of the pairs, which DuckDB numbers and names."""
    with duckdb.connect() as connection:
        connection.register("name", data.names)
        connection.register("edge", data.edges)
        connection.execute("CREATE TABLE node AS SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM name")
        pairs = connection.sql(
            "SELECT x.n AS x, y.n AS y FROM edge JOIN node x ON x.id = a JOIN node y ON y.id = b WHERE match_probability > 0.5"
        ).to_arrow_table()
        x, y = (pairs.column(name).to_numpy() for name in ("x", "y"))
        size = len(data.names)
        _, label = connected_components(coo_array((np.ones(len(x), np.int8), (x, y)), shape=(size, size)))
        connection.register("label", pa.table({"n": np.arange(size), "cluster": label}))
        named = connection.sql("SELECT id, cluster FROM node JOIN label USING (n) ORDER BY cluster").to_arrow_table()
        return len(named.column("cluster").unique())


def main() -> None:
    """Print the table."""
    options = read_options(
        "Candidate pairs to clusters in CPU seconds, beside connected components.",
        needs=None,
        numbers={
            "records": "records to cluster, 200,000 where it is 1",
            "rounds": "rounds that count, 5 where it is 1",
        },
    )
    count = options.numbers["records"] if options.numbers["records"] > 1 else 20_000 if options.quick else 200_000
    rounds = options.numbers["rounds"] if options.numbers["rounds"] > 1 else 2 if options.quick else 5
    system = "splink" if importlib.util.find_spec("splink") else "scipy"
    beside = splink if system == "splink" else components
    rows: list[dict[str, object]] = []
    for evidence in EVIDENCE:
        small, data = (records(size, evidence, options.seed) for size in (WARM_UP, count))
        ours(small), beside(small)
        times: dict[str, list[float]] = {"ours": [], "beside": []}
        steps: dict[str, list[float]] = {}
        found = expected = 0
        for _ in range(rounds):
            found, seconds = ours(data)
            start = time.process_time()
            expected = beside(data)
            times["beside"].append(time.process_time() - start)
            times["ours"].append(sum(seconds.values()))
            for step, taken in seconds.items():
                steps.setdefault(step, []).append(taken)
            if evidence == "transitive" and found != expected:
                raise SystemExit(f"{found:,} clusters, but {expected:,} components of {system}")
        ratios = [a / b for a, b in zip(times["ours"], times["beside"], strict=True)]
        rows.append(
            {
                "evidence": evidence,
                "pairs": len(data.candidates),
                "clusters": found,
                "sqlrl": spread(times["ours"]),
                **{f"{step} (median)": round(statistics.median(taken), 2) for step, taken in steps.items()},
                "beside": system,
                "components": expected,
                "CPU seconds beside": spread(times["beside"]),
                "ratio": round(statistics.median(ratios), 2),
            }
        )
    parameters = {"records": count, "rounds": rounds, "beside": system}
    publish("bench_clusters", rows, options, title=f"{count:,} records to clusters, CPU seconds", parameters=parameters)


if __name__ == "__main__":
    main()
