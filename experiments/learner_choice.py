"""Which learner of weights suits which data: online in one pass and in ten, and in batch, on data sets of many kinds.

`f1` is that of the most probable world of what is held out, `f1_half` that of the atoms whose probability is above one half; log-likelihood
and Brier score are those of the probabilities, by atom. `likelihood` has the penalty "l2"; where rules join more atoms than elimination can sum over
(*wide*), each block and each other atom is learned given the labels of all others. Weights of `adagrad` are no log-odds. Examples are those that are learned from.

    python experiments/learner_choice.py [--set NAME] [--processes N] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from choice_sets import SETS
from harness import Row, publish, read_options, run_jobs

import sqlrl

LEARNERS: Mapping[str, Callable[[int], Any]] = {
    "adagrad": lambda _: sqlrl.AdaGrad(),
    "adagrad, passes": lambda count: sqlrl.AdaGrad(passes=max(10, min(100, -(-1000 // count)))),
    "likelihood": lambda _: sqlrl.Likelihood("l2", wide="composite-likelihood"),
    "pscg": lambda _: sqlrl.PSCG(),
}
"""By name, from the number of examples to learn from."""

WIDE = "pscg"
"""A learner that is tried only where rules join many atoms: elsewhere its likelihood is that of "likelihood", by sampling."""


@dataclass(frozen=True)
class Outcome:
    """What one learner came to on one data set."""

    examples: int
    f1: float
    f1_half: float
    log_likelihood: float
    brier: float
    calibration_error: float
    seconds: float
    seconds_infer: float


def run(data: str, name: str, learner: str, quick: bool, seed: int) -> Outcome:
    """Learn from a part of a data set, and predict the other."""
    loaded = SETS[name].load(Path(data), quick, seed)
    db, test = loaded.db, list(loaded.test)
    start = time.perf_counter()
    fit = LEARNERS[learner](len(loaded.train)).fit(db, loaded.model, examples=list(loaded.train))
    learned = time.perf_counter()
    scores = db.evaluate(db.predict(fit.model_, examples=test))
    chances = db.probabilities(fit.model_, examples=test)
    ended = time.perf_counter()
    found = db.evaluate(chances)
    return Outcome(
        len(loaded.train),
        100 * scores.f1,
        100 * f1_half(found),
        found.mean_log_likelihood,
        found.brier,
        found.calibration_error,
        learned - start,
        ended - learned,
    )


def f1_half(found: sqlrl.ProbabilityScores) -> float:
    """Return the F1 of the atoms whose probability is above one half."""
    assert found.ranking is not None
    truth, above = found.ranking.truth, found.ranking.score > 0.5
    hits = int(np.count_nonzero(truth & above))
    return 2 * hits / max(int(truth.sum() + above.sum()) + found.outside, 1)


def main() -> None:
    """Print the table."""
    options = read_options("Which learner of weights suits which data.", choices={"set": tuple(SETS)})
    names = [name for name in SETS if options.chosen.get("set") in (None, name)]
    if options.quick and "set" not in options.chosen:
        names = ["bibliography", "alzheimers, amine", "8 towns"]
    jobs = [
        (str(options.data), name, learner, options.quick, options.seed)
        for name in names
        for learner in LEARNERS
        if learner != WIDE or SETS[name].wide
    ]
    results = run_jobs(run, jobs, options.console(), "trainings", options.processes, journal=options.journal)
    rows: list[Row] = [
        {
            "data": str(job[1]),
            "wide": SETS[str(job[1])].wide,
            "learner": str(job[2]),
            **{
                key: round(value, 4 if key in ("log_likelihood", "brier", "calibration_error") else 2)
                for key, value in asdict(one.value).items()
            },
            "memory_mb": round(one.memory_mb),
        }
        for job, one in zip(jobs, results, strict=True)
    ]
    publish("learner_choice", rows, options, title="learners of weights on data sets of many kinds", details=rows)


if __name__ == "__main__":
    main()
