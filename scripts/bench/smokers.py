"""Friends-smokers: N people, 5 friends each on average, 30 % of Smokes observed, all of Smokes and Cancer queried.

The whole job, loading and grounding included: the most probable world, proved optimal, and marginals by MC-SAT; beside
them the seconds that public engines took for programs of the same kind and size on a machine like ours (their data had
other random people, so that only seconds compare).

    python scripts/bench/smokers.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from rounds import peak_memory_mb, publish, read_options, spread

import sqlrl

Row = dict[str, object]
Ask = Callable[[sqlrl.Database, sqlrl.Model], Row]

MODEL = """
Friends(person, person)
Smokes(person)
Cancer(person)
-0.6 Smokes(x)
-1.0 Cancer(x)
1.5 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
OTHERS = {
    ("most probable world", 1_000): "Tuffy 1.6, RockIt 0.8 (optimal), Alchemy 2 0.5, LoMRF 2.9",
    ("most probable world", 10_000): "Tuffy 16.8, RockIt 7.1 (optimal), Alchemy 2 4.2, LoMRF 18.1",
    ("marginals", 10_000): "Tuffy 27 (100 samples), Alchemy 2 48 (1,000), RockIt 54",
}


def smokers(people: int, seed: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Return friends (5 each on average, nobody their own friend), the truth of 30 % of Smokes, and all people."""
    random = np.random.default_rng([seed, people])
    pairs = random.integers(0, people, (5 * people, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = np.stack(np.divmod(np.unique(pairs[:, 0] * people + pairs[:, 1]), people), axis=1)
    name = np.array([f"P{k}" for k in range(people)])
    observed = random.random(people) < 0.3
    smokes = random.random(people) < 0.4
    return (
        pa.table({"x": name[pairs[:, 0]], "y": name[pairs[:, 1]]}),
        pa.table({"x": name[observed], "truth": smokes[observed]}),
        pa.table({"x": name}),
    )


def load(people: int, seed: int) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Return a database in memory with the people loaded, and the model."""
    return opened(smokers(people, seed))


def opened(tables: tuple[pa.Table, pa.Table, pa.Table]) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Load the tables that `smokers` returns."""
    friends, smokes, everybody = tables
    db = sqlrl.connect()
    db.load("Friends", friends, types=("person", "person"))
    db.load("Smokes", smokes, types=("person",), truth="truth", given=True)
    for predicate in ("Smokes", "Cancer"):
        db.scope(predicate, everybody)
    return db, sqlrl.parse_mln(MODEL, query=("Smokes", "Cancer"))


def timed(people: int, seed: int, rounds: int, ask: Ask) -> tuple[str, float, Row]:
    """Time loading and asking, after a warm-up; return the spread and median of seconds, and the last answer."""
    seconds: list[float] = []
    answer: Row = {}
    tables = smokers(people, seed)
    for _ in range(rounds + 1):
        start = time.perf_counter()
        db, model = opened(tables)
        answer = ask(db, model)
        seconds.append(time.perf_counter() - start)
        db.close()
    return spread(seconds[1:]), statistics.median(seconds[1:]), answer


def world(db: sqlrl.Database, model: sqlrl.Model) -> Row:
    """Find the most probable world; say what is proved about it."""
    prediction = db.predict(model)
    report = prediction.result.report
    return {
        "atoms": len(prediction.network_atoms.ids),
        "objective": round(report.objective - report.constant, 3),
        "gap": report.gap,
        "status": report.status.value,
        "method": ", ".join(dict.fromkeys(choice.method for choice in report.choices)),
    }


def marginals(chains: int) -> Ask:
    """Return a question: marginals by MC-SAT, 1,000 samples of each chain after 100."""

    def ask(db: sqlrl.Database, model: sqlrl.Model) -> Row:
        result = db.probabilities(model, method="mcsat", samples=1_000, burn_in=100, chains=chains).result
        return {
            "atoms": len(result.probability),
            "method": f"mcsat, chains: {chains}",
            "largest_error": round(float(result.error.max()), 4),
        }

    return ask


def main() -> None:
    """Print the table."""
    options = read_options("Friends-smokers, from tables to worlds and marginals.")
    sizes = (1_000,) if options.quick else (1_000, 10_000, 100_000)
    rounds = 2 if options.quick else 5
    rows: list[Row] = []
    for people in sizes:
        asked: dict[str, Ask] = {"most probable world": world}
        if people <= 10_000:
            asked |= {f"marginals, {chains} chain(s)": marginals(chains) for chains in (1, 4)}
        for task, ask in asked.items():
            cell, median, answer = timed(people, options.seed, rounds, ask)
            others = OTHERS.get((task.split(",")[0], people))
            row = {"task": task, "people": people, "seconds": cell, "others_seconds": others, "median": median}
            rows.append(row | answer)
    parameters = {"rounds": rounds, "sizes": list(sizes), "peak_memory_mb": peak_memory_mb()}
    publish("bench_smokers", rows, options, title="friends-smokers", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
