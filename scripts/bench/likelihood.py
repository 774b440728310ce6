"""The exact likelihood of chains: seconds of an evaluation with its gradient, beside marginals by elimination, and as chains grow in number.

Made-up chains like the fields of citations (`solve.sample_networks.chains`), of which each label is drawn at random. `ratio` is the time of one value and
gradient over that of one pass of marginals of the same network with weights folded in, which has no gradient.

    python scripts/bench/likelihood.py [--quick] [--seed N] [--db FILE] [--json FILE]
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from rounds import in_turns, publish, read_options, spread

from sqlrl.learn.batch.joint import LabelledPart
from sqlrl.learn.batch.labelled import label_part, observations
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.solve.elimination import sum_product
from sqlrl.solve.sample_networks import chains
from sqlrl.solve.weighted import weigh
from sqlrl.training.labels import Names
from sqlrl.training.shelf import Shelf

ROUNDS = 7
LENGTH, STATES, WORDS = 35, 4, 2000


def measure(count: int, seed: int) -> dict[str, object]:
    """Return the row of so many chains, of `LENGTH` positions each; evaluations and marginals take turns."""
    draw = np.random.default_rng(seed)
    made = chains(count, length=LENGTH, states=STATES, words=WORDS, seed=seed)
    truth = np.zeros(len(made.atoms), dtype=np.bool_)
    positions = len(made.atoms) // STATES
    truth[np.arange(positions) * STATES + draw.integers(0, STATES, positions)] = True
    weights = draw.normal(size=len(made.clauses))
    shelf: Shelf[LabelledPart] = Shelf(None)
    start = time.perf_counter()
    shelf.put(label_part(TrainingProblem(made, truth, Names()), "error", seed=0)[0])
    labels = observations(shelf, len(made.clauses))
    laid_out = time.perf_counter() - start
    weighted = weigh(made, weights)
    taken = in_turns(
        {"evaluation": lambda: labels.value_and_gradient(weights), "marginals": lambda: sum_product(weighted)},
        rounds=ROUNDS,
    )
    evaluation, marginals = (statistics.median(taken[name]) for name in ("evaluation", "marginals"))
    return {
        "chains": count, "atoms": len(made.atoms), "ground_clauses": len(made.row_clause), "clauses": len(made.clauses),
        "layout_seconds": round(laid_out, 3), "evaluation": spread(taken["evaluation"]), "marginals": spread(taken["marginals"]),
        "ratio": round(evaluation / marginals, 3), "us_per_chain": round(1e6 * evaluation / count, 2),
    }  # fmt: skip


def main() -> None:
    """Print the table."""
    options = read_options("The exact likelihood of chains with its gradient, beside marginals by elimination.")
    counts = (100, 400) if options.quick else (100, 400, 1600, 6400)
    rows = [measure(count, options.seed) for count in counts]
    parameters = {"length": LENGTH, "states": STATES, "words": WORDS, "rounds": ROUNDS}
    publish("bench_likelihood", rows, options, title="likelihood of chains", parameters=parameters, details=rows)


if __name__ == "__main__":
    main()
