"""Generative weights of friends-smokers by pseudo-likelihood: N people, 5 friends each on average, every atom of every predicate given all others.

*rows* are the kinds of atoms that rules tell apart, of N * N + 2 N atoms. Beside it the same weights from a list of all atoms, by whole arrays of numpy and the same
optimiser, as a ratio measured in one run; a list for more than 2,000 people is not made. Alchemy 2 took over 120 s for 10,000 people (given with the task, on a machine
like ours and other random people), and prints no weights until it is done.

    python scripts/bench/generative.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rounds import in_turns, peak_memory_mb, publish, read_options, spread
from scipy import sparse

import sqlrl
from sqlrl.learn.batch.penalised import fit_weights, make_design
from sqlrl.learn.pseudo.atoms import AtomRows

MODEL = """
Friends(person, person)
Smokes(person)
Cancer(person)
Friends(x, y) ^ Smokes(x) => Smokes(y)
Smokes(x) => Cancer(x)
Friends(x, y) => Friends(y, x)
Friends(x, y)
Smokes(x)
Cancer(x)
"""
OTHERS = {10_000: "Alchemy 2 over 120"}
LISTED = 2_000
"""Up to so many people all atoms are listed as well."""

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Town:
    """Who smokes and who has cancer, and pairs of friends."""

    pairs: npt.NDArray[np.int64]
    smokes: Bits
    cancer: Bits

    def tables(self) -> dict[str, pa.Table]:
        """Return the facts by predicate."""
        name = np.array([f"P{k}" for k in range(len(self.smokes))])
        found = {"Friends": pa.table({"x": name[self.pairs[:, 0]], "y": name[self.pairs[:, 1]]})}
        return found | {
            p: pa.table({"x": name[bits]}) for p, bits in (("Smokes", self.smokes), ("Cancer", self.cancer))
        }


def town(people: int, seed: int) -> Town:
    """Draw people; friends are of one mind more often than not, and every other friendship is mutual."""
    random = np.random.default_rng([seed, people])
    smokes = random.random(people) < 0.4
    pairs = random.integers(0, people, (6 * people, 2))
    alike = smokes[pairs[:, 0]] == smokes[pairs[:, 1]]
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (alike | (random.random(len(pairs)) < 0.3))]
    pairs = np.concatenate([pairs, pairs[: len(pairs) // 3, ::-1]])
    pairs = np.stack(np.divmod(np.unique(pairs[:, 0] * people + pairs[:, 1]), people), axis=1)
    return Town(pairs, smokes, random.random(people) < np.where(smokes, 0.3, 0.05))


@dataclass
class Runs:
    """What was learned, and the seconds that each run took without loading."""

    fits: list[sqlrl.PseudoLikelihood] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def learn(self, tables: dict[str, pa.Table]) -> None:
        """Load the tables and learn."""
        db = sqlrl.connect()
        for name, rows in tables.items():
            db.load(name, rows, types=("person",) * rows.num_columns)
        start = time.perf_counter()
        self.fits.append(sqlrl.PseudoLikelihood().fit(db, sqlrl.parse_mln(MODEL)))
        self.seconds.append(time.perf_counter() - start)
        db.close()


def listed(found: Town) -> npt.NDArray[np.float64]:
    """Learn from a list of all atoms."""
    n = len(found.smokes)
    friends = np.zeros((n, n))
    friends[found.pairs[:, 0], found.pairs[:, 1]] = 1.0
    smokes, cancer = found.smokes.astype(float), found.cancer.astype(float)
    off = 1.0 - np.eye(n)
    pairs = np.zeros((n * n, 6))
    pairs[:, 0] = -np.outer(smokes, 1 - smokes).ravel()
    # (x, y) holds (y, x) up if that is true, and is itself not met if that is false; nobody is told of himself.
    pairs[:, 2] = ((2 * friends.T - 1) * off).ravel()
    pairs[:, 3] = 1.0
    own = np.zeros((n, 6))
    own[:, 0] = (friends * off).T @ smokes - (friends * off) @ (1 - smokes)
    own[:, 1] = -(1 - cancer)
    own[:, 4] = 1.0
    ill = np.zeros((n, 6))
    ill[:, 1], ill[:, 5] = smokes, 1.0
    weight = np.concatenate([np.full(n * n, 1 / n**2), np.full(2 * n, 1 / n)])
    predicate = np.repeat([0, 1, 2], [n * n, n, n])
    rows = AtomRows(
        sparse.csr_array(np.concatenate([pairs, own, ill])),
        np.concatenate([friends.ravel() > 0, found.smokes, found.cancer]),
        weight,
        np.zeros(len(weight)),
        predicate,
        np.ones(len(weight), dtype=np.int64),
        averaged=True,
    )
    return fit_weights(make_design(rows), "l2", 1e-4, tolerance=1e-7, max_iterations=2000).weights


def main() -> None:
    """Print the table."""
    options = read_options("Generative weights of friends-smokers by pseudo-likelihood.")
    sizes = (300, 1_000) if options.quick else (1_000, 2_000, 10_000, 30_000)
    rounds = 2 if options.quick else 5
    rows: list[dict[str, object]] = []
    for people in sizes:
        found, runs = town(people, options.seed), Runs()
        tables = found.tables()
        systems: dict[str, Callable[[], object]] = {"sqlrl": partial(runs.learn, tables)}
        if people <= LISTED:
            systems["listed"] = partial(listed, found)
        times = in_turns(systems, rounds=rounds)
        predicates, own = runs.fits[-1].predicates_.to_arrow(), runs.seconds[-rounds:]
        row: dict[str, object] = {"people": people}
        row |= {name: sum(predicates.column(name).to_pylist()) for name in ("atoms", "rows")}
        row |= {"seconds": spread(own), "with_loading": spread(times["sqlrl"])}
        row |= {"listed_seconds": None, "ratio": None, "largest_difference": None, "others_seconds": OTHERS.get(people)}
        if people <= LISTED:
            row["listed_seconds"] = spread(times["listed"])
            row["ratio"] = round(statistics.median(times["listed"]) / statistics.median(own), 1)
            row["largest_difference"] = float(np.abs(listed(found) - runs.fits[-1].weights_).max())
        rows.append(row)
    parameters = {"rounds": rounds, "sizes": list(sizes), "peak_memory_mb": peak_memory_mb()}
    publish(
        "bench_generative",
        rows,
        options,
        title="generative weights of friends-smokers",
        parameters=parameters,
        details=rows,
    )


if __name__ == "__main__":
    main()
