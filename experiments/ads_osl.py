"""Online structure learning on ads, with hotel ads in place of Craigslist, which is not available: five random folds by ad.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), table 2 (thesis, table 6.2): OSL with
minCountDiff 2 (M2) and 1 (M1), and ADAGRAD_FB, which learns weights alone, from the isolated segmentation model for ads (ISM)
and from nothing. One pass, lambda = 0.001, eta = delta = 1, paths of at most 4 atoms, averaged weights, most probable
worlds without loss augmentation: the paper's parameters, none is chosen here. `ads.py` says what facts and models are.

The paper's rows are of other data (apartments on Craigslist, 11 fields, 102 ads to train and 100 to test);
the hotel ads have 3 fields, 9 tokens on average, and 900 of them train. What can be compared is the order of the systems.

    python experiments/ads_osl.py [--fold K] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from ads import MODES, load_ads, starting_model
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import Fold, k_fold, mean_and_deviation
from sqlrl.learn.online import OnlineEstimator

PAPER: dict[str, tuple[float, float, int]] = {
    "ADAGRAD_FB-ISM": (79.57, 2.57, 2_447),
    "OSL-M2-ISM": (77.26, 3.88, 2_817),
    "OSL-M1-ISM": (81.58, 33.63, 9_575),
    "OSL-M2-Empty": (55.28, 17.64, 1_311),
    "OSL-M1-Empty": (71.23, 75.84, 17_430),
}
"""F1, minutes, and clauses with a weight other than 0; on Craigslist."""

FOLDS = 5
QUICK_ADS = 100
COLUMNS = ("system", "data", "f1", "sd_folds", "accuracy", "clauses", "added", "seconds", "memory_mb")


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test."""

    folder: str
    system: str
    fold: Fold[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave: F1 and accuracy in percent, clauses with a weight other than 0, and seconds."""

    f1: float
    accuracy: float
    clauses: int
    added: int
    seconds: float
    seconds_predict: float


def estimator(system: str) -> OnlineEstimator:
    """Return the learner of a row."""
    if system.startswith("ADAGRAD"):
        return sqlrl.AdaGrad()
    return sqlrl.OSL(sqlrl.parse_modes(MODES), 4, 2 if "-M2-" in system else 1)


def run(job: Job) -> Outcome:
    """Load the data, learn on the training ads, and predict the others."""
    db = sqlrl.connect(":memory:")
    load_ads(db, job.folder)
    model, learner = starting_model(job.system.rsplit("-", 1)[1]), estimator(job.system)
    start = time.perf_counter()
    learner.fit(db, model, examples=list(job.fold.train))
    trained = time.perf_counter()
    prediction = db.predict(learner.model_, examples=list(job.fold.test))
    predicted = time.perf_counter()
    scores = db.evaluate(prediction)
    return Outcome(
        100 * scores.f1,
        100 * scores.example_accuracy,
        int((learner.weights_ != 0).sum()),
        len(learner.added()) if isinstance(learner, sqlrl.OSL) else 0,
        trained - start,
        predicted - trained,
    )


def read_folds(folder: Path, seed: int, *, most: int | None = None) -> list[Fold[str]]:
    """Return five folds of the ads, or of `most` of them, evenly spaced."""
    names = pc.unique(pq.read_table(folder / "token.parquet", columns=["ad"]).column("ad")).sort().to_pylist()
    if most is not None:
        names = names[:: max(1, len(names) // most)][:most]
    return k_fold(names, FOLDS, random_state=seed)


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each system and fold."""
    folder = options.data / "hotel-ads"
    folds = read_folds(folder, options.seed, most=QUICK_ADS if options.quick else None)
    chosen = [fold for fold in folds if options.fold in (None, fold.name)][: 1 if options.quick else None]
    return [Job(str(folder), system, fold) for system in PAPER for fold in chosen]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each system the paper's row on other data, and ours, the mean over the folds."""
    rows: list[Row] = []
    for system, (f1, minutes, clauses) in PAPER.items():
        paper = {"system": system, "data": "paper: Craigslist, other data", "f1": f1, "clauses": clauses}
        rows.append(paper | {"seconds": round(60 * minutes, 1)})
        mine = [r for j, r in zip(jobs, results, strict=True) if j.system == system]
        if mine:
            rows.append({"system": system, "data": "ours: hotel ads", **_row(mine)})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def _row(results: Sequence[Measured[Outcome]]) -> dict[str, object]:
    def mean(value: Callable[[Outcome], float]) -> float:
        return mean_and_deviation([value(r.value) for r in results]).mean

    f1 = mean_and_deviation([r.value.f1 for r in results])
    return {
        "f1": round(f1.mean, 2),
        "sd_folds": round(f1.deviation, 2) if len(results) > 1 else None,
        "accuracy": round(mean(lambda o: o.accuracy), 2),
        "clauses": round(mean(lambda o: o.clauses)),
        "added": round(mean(lambda o: o.added)),
        "seconds": round(mean(lambda o: o.seconds), 2),
        "memory_mb": round(max(r.memory_mb for r in results)),
    }


def title(options: Options) -> str:
    """Return the title of the table, which says what the data are."""
    found = "OSL on hotel ads, a stand-in for Craigslist, which is not available; "
    if options.quick:
        return found + "quick: a slice, one fold"
    return found + (f"{FOLDS} random folds" if options.fold is None else f"fold {options.fold} of {FOLDS}")


def main() -> None:
    """Run the experiment."""
    folds = [str(k + 1) for k in range(FOLDS)]
    description = "Online structure learning on hotel ads (for Craigslist, which is not available), five folds."
    options = read_options(description, needs="hotel-ads", folds=folds)
    jobs = make_jobs(options)
    if not options.quick:
        few = Fold("warm-up", jobs[0].fold.train[:5], jobs[0].fold.test[:5])
        # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
        warm = [replace(jobs[0], system=system, fold=few) for system in ("ADAGRAD_FB-ISM", "OSL-M1-ISM")]
        run_jobs(run, [(job,) for job in warm], options.console(), "warm-up")
    results = run_jobs(run, [(job,) for job in jobs], options.console(), "trainings", journal=options.journal)
    details: list[Row] = [
        {"system": j.system, "fold": j.fold.name, **asdict(r.value), "memory_mb": r.memory_mb}
        for j, r in zip(jobs, results, strict=True)
    ]
    parameters = {"data": "hotel-ads in place of Craigslist", "folds": FOLDS, "max_length": 4, "modes": MODES}
    parameters |= {"strength": 0.001, "learning_rate": 1, "delta": 1}
    publish("ads_osl", summarise(jobs, results), options, title=title(options), parameters=parameters, details=details)


if __name__ == "__main__":
    main()
