"""Cutting planes for max-margin weights: what steps near the best weights and a start from single atoms are worth.

Made-up pages of a few classes with words and links, one label each; the classes of two linked pages have a weight for each
pair of classes. All four ways search for the most violated margin equally often; the gap between the bounds is what is left to do. Each
runs in a process of its own, after a small problem that loads what is compiled.

    python scripts/bench/margins.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from rounds import publish, read_options, run_jobs

from sqlrl.ground.network import FloatArray, IntArray
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.margin.cuts import Cuts
from sqlrl.learn.margin.masters import SquaredNorm
from sqlrl.learn.margin.mixing import Mixing
from sqlrl.learn.margin.planes import CuttingPlanes, MarginState, Stopping
from sqlrl.learn.margin.separation import Oracle
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names

WAYS = {"cuts alone": (False, False), "level": (True, False), "start": (False, True), "level and start": (True, True)}
"""Whether steps stay near the best weights, and whether there is a start from single atoms."""

SEARCHES = 100
CLASSES, WORDS, WORDS_OF_PAGE = 4, 300, 30
PRICES = (0.1, 1.0)


class BestForCuts(SquaredNorm):
    """Proposes the best weights for the cuts so far, wherever they are (Joachims, Finley and Yu 2009), after those to start from."""

    def _at_level(self, cuts: Cuts, places: IntArray, strength: float) -> FloatArray:
        self._near = self._best
        return np.asarray(cuts.matrix.T @ self._best, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Size:
    """How many pages, and links of each."""

    pages: int
    links: int


def pages(size: Size, seed: int) -> TrainingProblem:
    """Return the training problem: an atom for each page and class, a clause for each word and class, and for each two classes."""
    draw = np.random.default_rng(seed)
    label = draw.integers(CLASSES, size=size.pages)
    favourite = draw.random((CLASSES, WORDS)) ** 6
    ground: list[tuple[int, list[int]]] = []
    for page in range(size.pages):
        chance = 0.02 + favourite[label[page]]
        for word in draw.choice(WORDS, WORDS_OF_PAGE, replace=False, p=chance / chance.sum()):
            ground += [(int(word) * CLASSES + c, [page * CLASSES + c + 1]) for c in range(CLASSES)]
    for page in range(size.pages):
        for other in draw.choice(size.pages, size.links, replace=False):
            # Mostly to pages of the same class.
            if other != page and (label[other] == label[page] or draw.random() < 0.2):
                ground += [
                    (WORDS * CLASSES + a * CLASSES + b, [-(page * CLASSES + a + 1), int(other) * CLASSES + b + 1])
                    for a in range(CLASSES)
                    for b in range(CLASSES)
                ]
    made = network(size.pages * CLASSES, ground, clauses=(WORDS + CLASSES) * CLASSES)
    truth = np.zeros(size.pages * CLASSES, dtype=np.bool_)
    truth[np.arange(size.pages) * CLASSES + label] = True
    return TrainingProblem(made, truth, Names())


def train(size: Size, way: str, searches: int, seed: int) -> list[dict[str, object]]:
    """Train weights for each C."""
    level, start = WAYS[way]
    rows: list[dict[str, object]] = []

    def ignore(state: MarginState) -> None:
        """Report nothing."""

    for warm in (True, False):
        problem = pages(Size(8, 2) if warm else size, seed)
        stopping = Stopping(1e-3, 3 if warm else searches, 50)
        master = SquaredNorm() if level else BestForCuts()
        planes = CuttingPlanes(
            Oracle(problem, "hamming", "relaxed", seed=seed),
            master,
            len(problem.network.clauses),
            1,
            stopping,
            ignore,
            Mixing(problem, seed=seed).opening if start else None,
        )
        for price in PRICES:
            before = time.perf_counter()
            found = planes.train(price)
            if not warm:
                rows.append(
                    {"C": price, "way": way, "searches": found.state.iteration, "objective": round(found.state.upper, 2),
                     "bound": round(found.state.lower, 2), "gap": round(found.state.gap, 2),
                     "seconds": round(time.perf_counter() - before, 2)}
                )  # fmt: skip
    return rows


def main() -> None:
    """Print the table."""
    options = read_options("Cutting planes for max-margin weights, with and without a level and a start.")
    size, searches = (Size(60, 4), 20) if options.quick else (Size(800, 12), SEARCHES)
    jobs = [(size, way, searches, options.seed) for way in WAYS]
    found = [row for measured in run_jobs(train, jobs, options.console(), "ways") for row in measured.value]
    rows: list[dict[str, object]] = []
    for price in PRICES:
        mine = [row for row in found if row["C"] == price]
        least = min(float(str(row["gap"])) for row in mine)
        rows += [row | {"gap_over_least": round(float(str(row["gap"])) / max(least, 0.01), 2)} for row in mine]
    parameters = {"pages": size.pages, "links": size.links, "searches": searches}
    publish("bench_margins", rows, options, title="margins", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
