"""Online weight learners on the CiteSeer citations with the isolated segmentation model, leaving one topic out.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), tables 5.1 and 5.2: 1-best MIRA, the
subgradient method and CDA, with Hamming loss (HM) and 1 - F1 (F1), prediction-based (PL) and maximal (ML). One pass,
averaged weights. Sigma of the subgradient method and of CDA is chosen on the training citations alone, by the mistakes
made before each citation is learned; with `--db` the table of single runs says which. In file order and in three seeded
orders; seconds are those of the training with the chosen sigma.

    python experiments/citeseer_online.py [--fold NAME] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from citations import TOPICS, load_citeseer, read_ism, topic_folds
from harness import Measured, Options, Row, publish, read_options, run_jobs
from sigma_choice import SIGMAS, Make, choose_sigma

import sqlrl
from sqlrl.evaluate import Fold, mean_and_deviation
from sqlrl.learn.decaying import World
from sqlrl.learn.online import OnlineCommon
from sqlrl.learn.settings import LabelLoss
from sqlrl.training.ordering import Order

PAPER: dict[str, tuple[float, float, float, float, float]] = {
    "MM-HM": (93.187, 92.467, 92.581, 95.496, 90.282),
    "1-best-MIRA-HM": (90.982, 90.598, 93.124, 97.518, 11.772),
    "1-best-MIRA-F1": (89.764, 90.046, 93.200, 96.841, 11.768),
    "Subgradient-HM": (90.957, 89.859, 91.505, 95.318, 12.655),
    "CDA-PL-HM": (91.245, 90.992, 92.589, 96.516, 11.869),
    "CDA-PL-F1": (91.742, 92.368, 92.726, 96.994, 11.915),
    "CDA-ML-HM": (93.287, 93.204, 93.448, 97.560, 12.887),
}
"""F1 on each topic, and minutes."""
ORDERS = 3
QUICK_CITATIONS = 20
QUICK_SIGMAS = (0.0001, 0.01)
COLUMNS = ("system", "order", *TOPICS, "mean", "sd_folds", "sd_orders", "seconds", "memory_mb")


@dataclass(frozen=True, slots=True)
class Job:
    """One row's training and test on one topic; `seed` is None for the order of the file, `sigmas` are those to choose from."""

    folder: str
    system: str
    seed: int | None
    fold: Fold[str]
    sigmas: tuple[float, ...]


def maker(job: Job) -> tuple[Make, Sequence[float | None]]:
    """Return what makes the learner of a row, and the values of sigma to choose from."""
    order: Order = "file" if job.seed is None else "shuffle"
    common: OnlineCommon = {"order": order, "random_state": job.seed}
    loss: LabelLoss = "f1" if job.system.endswith("F1") else "hamming"
    if job.system.startswith("1-best-MIRA"):
        return lambda _: sqlrl.baselines.MIRA(loss=loss, **common), (None,)
    if job.system.startswith("Subgradient"):
        return lambda sigma: sqlrl.baselines.Subgradient(strength=sigma, **common), job.sigmas
    update: World = "maximal" if "-ML-" in job.system else "prediction"
    return lambda sigma: sqlrl.CDA(strength=sigma, update=update, loss=loss, **common), job.sigmas


@dataclass(frozen=True, slots=True)
class Outcome:
    """F1 and share of right citations in percent, the chosen sigma, and seconds of the training with it and of prediction."""

    f1: float
    accuracy: float
    sigma: float | None
    seconds: float
    seconds_predict: float


def run(job: Job) -> Outcome:
    """Load the data, learn on the training citations, and predict the others."""
    db = sqlrl.connect(":memory:")
    folder = Path(job.folder)
    load_citeseer(db, folder)
    make, sigmas = maker(job)
    chosen = choose_sigma(db, read_ism(folder), make, job.fold.train, sigmas)
    start = time.perf_counter()
    scores = db.evaluate(db.predict(chosen.estimator.model_, examples=list(job.fold.test)))
    seconds = time.perf_counter() - start
    return Outcome(100 * scores.f1, 100 * scores.example_accuracy, chosen.sigma, chosen.seconds, seconds)


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each row, order and topic."""
    folder = options.data / "citeseer"
    seeds = [None, *range(options.seed, options.seed + (0 if options.quick else ORDERS))]
    folds = topic_folds(folder, each=QUICK_CITATIONS if options.quick else None)
    chosen = [fold for fold in folds if options.fold in (None, fold.name)][: 1 if options.quick else None]
    systems = [system for system in PAPER if system != "MM-HM"]
    sigmas = QUICK_SIGMAS if options.quick else SIGMAS
    return [Job(str(folder), system, seed, fold, sigmas) for system in systems for seed in seeds for fold in chosen]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each system the paper's row, ours in file order, and ours over seeded orders."""
    rows: list[Row] = []
    runs = list(zip(jobs, results, strict=True))
    for system, paper in PAPER.items():
        rows.append(_paper_row(system, paper))
        for seeded in (False, True):
            mine = [(j, r) for j, r in runs if j.system == system and (j.seed is not None) == seeded]
            if mine:
                rows.append({"system": system, **_our_row(mine, seeded=seeded)})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def _paper_row(system: str, paper: tuple[float, ...]) -> Row:
    *f1, minutes = paper
    spread = mean_and_deviation(f1)
    topics = {topic: round(value, 2) for topic, value in zip(TOPICS, f1, strict=True)}
    mean, deviation = round(spread.mean, 2), round(spread.deviation, 2)
    return {
        "system": system,
        "order": "paper",
        **topics,
        "mean": mean,
        "sd_folds": deviation,
        "seconds": round(60 * minutes, 1),
    }


def _our_row(runs: Sequence[tuple[Job, Measured[Outcome]]], *, seeded: bool) -> dict[str, object]:
    topics = list(dict.fromkeys(j.fold.name for j, _ in runs))
    seeds = list(dict.fromkeys(j.seed for j, _ in runs))
    f1 = {t: mean_and_deviation([r.value.f1 for j, r in runs if j.fold.name == t]).mean for t in topics}
    means = [mean_and_deviation([r.value.f1 for j, r in runs if j.seed == seed]).mean for seed in seeds]
    over_folds = mean_and_deviation(list(f1.values()))
    return {
        "order": f"{len(seeds)} seeded" if seeded else "file",
        **{topic: round(f1[topic], 2) if topic in f1 else None for topic in TOPICS},
        "mean": round(over_folds.mean, 2),
        "sd_folds": round(over_folds.deviation, 2) if len(topics) > 1 else None,
        "sd_orders": round(mean_and_deviation(means).deviation, 2) if seeded else None,
        "seconds": round(mean_and_deviation([r.value.seconds for _, r in runs]).mean, 2),
        "memory_mb": round(max(r.memory_mb for _, r in runs)),
    }


def main() -> None:
    """Run the experiment."""
    options = read_options("Online weight learners on CiteSeer, one topic left out.", needs="citeseer", folds=TOPICS)
    jobs = make_jobs(options)
    if not options.quick:
        first = replace(jobs[0], fold=Fold("warm-up", jobs[0].fold.train[:5], jobs[0].fold.test[:5]))
        # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
        run_jobs(run, [(first,)], options.console(), "warm-up")
    results = run_jobs(run, [(job,) for job in jobs], options.console(), "trainings", journal=options.journal)
    details: list[Row] = [
        {"system": j.system, "seed": j.seed, "fold": j.fold.name, **asdict(r.value), "memory_mb": r.memory_mb}
        for j, r in zip(jobs, results, strict=True)
    ]
    title = "CiteSeer, isolated segmentation model, leave one topic out"
    title += " (quick: a slice, one topic)" if options.quick else ""
    parameters = {"sigmas": jobs[0].sigmas, "systems": list(PAPER), "orders": len({job.seed for job in jobs})}
    publish("citeseer_online", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
