"""Weight learning on the CiteSeer citations: the linear chain LC_0 by AdaGrad, leaving one topic out.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), table 1, row ADAGRAD_FB-LC_0. One pass
over the training citations with lambda = 0.001 and eta = delta = 1, averaged weights, most probable worlds without loss
augmentation (algorithm 1, line 4); in file order and in five seeded orders; once with at most one field a position, as
the data have it, and once with exactly one. The paper does not say which of several most probable worlds it takes (at
first all worlds tie): the rows "ties first" show what the solver's own order gives instead of counting ties as errors.

    python experiments/citeseer_weights.py [--fold NAME] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from citations import TOPICS, topic_folds
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import Fold, mean_and_deviation
from sqlrl.learn.settings import Ties
from sqlrl.training.ordering import Order

PAPER: Row = {
    "system": "paper", "order": "one", "fold": "mean", "f1": 82.62, "deviation_folds": 2.12, "seconds": 624.0,
}  # fmt: skip

EXACTLY_ONE = """\
Token(token, position, bib)
Next(position, position)
InField(bib, field!, position)

Token(+t, p, c) => InField(c, +f, p)
Next(p2, p1) ^ InField(c, +f1, p1) => InField(c, +f2, p2)
"""

COLUMNS = (
    "system",
    "ties",
    "order",
    "fold",
    "f1",
    "deviation_orders",
    "deviation_folds",
    "accuracy",
    "seconds",
    "memory_mb",
)
READINGS = ("at most one", "exactly one")
TIES: tuple[Ties, ...] = ("errors", "first")
ORDERS = 5
LEARNER = {"strength": 0.001, "learning_rate": 1.0, "delta": 1.0}
QUICK_CITATIONS = 50


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test.

    Parameters
    ----------
    folder : str
        The folder of the CiteSeer data.
    reading : {"at most one", "exactly one"}
        How many fields a position has.
    ties : {"errors", "first"}
        Which of several most probable worlds to learn from.
    seed : int or None
        Seed of the order of the training citations; None for the order of the file.
    fold : Fold
    """

    folder: str
    reading: str
    ties: Ties
    seed: int | None
    fold: Fold[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave.

    Parameters
    ----------
    f1, precision, recall, accuracy : float
        In percent; accuracy is the share of citations whose positions are all right.
    seconds : float
        Training: grounding and learning.
    seconds_predict : float
    """

    f1: float
    precision: float
    recall: float
    accuracy: float
    seconds: float
    seconds_predict: float


def run(job: Job) -> Outcome:
    """Load the data, learn on the training citations, and predict the others."""
    folder = Path(job.folder)
    db = sqlrl.connect(":memory:")
    db.load("Token", folder / "token.parquet", types=("token", "position", "bib"), example="bib")
    db.load("Next", folder / "next.parquet", types=("position", "position"))
    db.load("InField", folder / "infield.parquet", types=("bib", "field", "position"), example="bib", target=True)
    model = (
        sqlrl.read_mln(folder / "lc0.mln", query=("InField",))
        if job.reading == "at most one"
        else sqlrl.parse_mln(EXACTLY_ONE, query=("InField",))
    )
    order: Order = "file" if job.seed is None else "shuffle"
    learner = sqlrl.AdaGrad(*LEARNER.values(), ties=job.ties, order=order, random_state=job.seed)
    start = time.perf_counter()
    learner.fit(db, model, examples=list(job.fold.train))
    trained = time.perf_counter()
    prediction = db.predict(learner.model_, examples=list(job.fold.test))
    predicted = time.perf_counter()
    scores = db.evaluate(prediction)
    return Outcome(
        f1=100 * scores.f1,
        precision=100 * scores.precision,
        recall=100 * scores.recall,
        accuracy=100 * scores.example_accuracy,
        seconds=trained - start,
        seconds_predict=predicted - trained,
    )


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each reading, order and fold."""
    folder = options.data / "citeseer"
    seeds = [None, *range(options.seed, options.seed + (0 if options.quick else ORDERS))]
    folds = topic_folds(folder, each=QUICK_CITATIONS if options.quick else None)
    return [
        Job(str(folder), reading, ties, seed, fold)
        for ties in (TIES[:1] if options.quick else TIES)
        for reading in READINGS
        for seed in seeds
        for fold in folds
        if options.fold in (None, fold.name)
    ]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each reading and kind of order a row for each fold and one for their mean."""
    rows: list[Row] = []
    runs = list(zip(jobs, results, strict=True))
    for ties, reading in [(ties, reading) for ties in TIES for reading in READINGS]:
        for seeded in (False, True):
            mine = [(j, r) for j, r in runs if j.reading == reading and j.ties == ties]
            chosen = [(j, r) for j, r in mine if (j.seed is not None) == seeded]
            count = len({j.seed for j, _ in chosen})
            if not chosen:
                continue
            head = {"system": reading, "ties": ties, "order": f"{count} seeded" if seeded else "file"}
            names = list(dict.fromkeys(j.fold.name for j, _ in chosen))
            folds = [_average([r for j, r in chosen if j.fold.name == name]) for name in names]
            rows += [{**head, "fold": name, **_rounded(fold)} for name, fold in zip(names, folds, strict=True)]
            over_folds = mean_and_deviation([fold["f1"] for fold in folds]).deviation
            # Over orders: the deviation of the mean over the folds, from one order to the next.
            by_order = [[r.value.f1 for j, r in chosen if j.seed == seed] for seed in {j.seed for j, _ in chosen}]
            over_orders = mean_and_deviation([mean_and_deviation(f1).mean for f1 in by_order]).deviation
            mean = {key: mean_and_deviation([fold[key] for fold in folds]).mean for key in folds[0]}
            mean |= {"deviation_folds": over_folds, "deviation_orders": over_orders}
            rows.append({**head, "fold": "mean", **_rounded(mean)})
    return [{column: row.get(column) for column in COLUMNS} for row in [*rows, PAPER]]


def _average(results: Sequence[Measured[Outcome]]) -> dict[str, float]:
    """Return the means over the orders of one fold."""
    return {
        "f1": mean_and_deviation([r.value.f1 for r in results]).mean,
        "deviation_orders": mean_and_deviation([r.value.f1 for r in results]).deviation,
        "accuracy": mean_and_deviation([r.value.accuracy for r in results]).mean,
        "seconds": mean_and_deviation([r.value.seconds for r in results]).mean,
        "memory_mb": mean_and_deviation([r.memory_mb for r in results]).mean,
    }


def _rounded(row: dict[str, float]) -> dict[str, float]:
    """Round for the table; the single runs are kept unrounded."""
    return {key: round(value, 2) for key, value in row.items()}


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "Weight learning on CiteSeer with the linear chain LC_0, one topic left out.", needs="citeseer", folds=TOPICS
    )
    jobs = make_jobs(options)
    # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
    run_jobs(
        run,
        [(replace(jobs[0], fold=Fold("warm-up", jobs[0].fold.train[:5], jobs[0].fold.test[:5])),)],
        options.console(),
        "warm-up",
    )
    results = run_jobs(run, [(job,) for job in jobs], options.console(), "trainings", journal=options.journal)
    details: list[Row] = [
        {
            "reading": j.reading,
            "ties": j.ties,
            "seed": j.seed,
            "fold": j.fold.name,
            **asdict(r.value),
            "memory_mb": r.memory_mb,
        }
        for j, r in zip(jobs, results, strict=True)
    ]
    title = "CiteSeer, LC_0, leave one topic out" + (" (quick: a slice)" if options.quick else "")
    parameters = {**LEARNER, "readings": READINGS, "ties": TIES, "orders": len({job.seed for job in jobs})}
    publish("citeseer_weights", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
