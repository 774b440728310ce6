"""Training and testing segmentation under hard constraints: what tables 7.1 and 7.2 of the thesis have in common.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), section 7.3: the model for isolated segmentation with
the constraints C1 to C5, trained by CDA-ML with Hamming loss in one pass, averaged weights, sigma as the thesis gives it; six
systems that differ in the hard clauses that they enforce in training and in prediction, and two that the thesis does not have.
Citations come in the order of the file; what is compared most, IBT and SCT, is trained in three seeded orders, too: one pass of an
online learner depends on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from citations import author_folds, constrained_ism, field_counts, load_citeseer, load_cora, topic_folds
from group_choice import Tried, attempts, choose
from harness import Measured, Options, Row, publish, run_jobs

import sqlrl
from sqlrl.database.constrained_training import Mode
from sqlrl.evaluate import Fold, mean_and_deviation
from sqlrl.training.ordering import Order

SYSTEMS: dict[str, Mode] = {
    "No constraints": "none",
    "L+I": "l+i",
    "IBT": "ibt",
    "IBT-Approx": "ibt-approx",
    "SCT": "sct",
    "SCT-": "sct-",
    "SCT, quadratic": "sct",
    "SCT, chosen": "sct",
}
"""The thesis' systems, and beyond it SCT with another notion of what is inexpensive, and with what is chosen of both."""

LINEAR, QUADRATIC = 1.5, 2.5
"""Constraints whose factors grow more slowly than the nodes to this power are inexpensive. In the thesis they may grow linearly only, which
leaves C5. With the other the orders of two fields (C2 to C4) are, too, and continuity (C1), which grows with the cube, is not."""

CHOSEN = "SCT, chosen"
"""The system whose growth is chosen for each test group on the other groups by token F1, in file order; of equals the thesis'. With
`--quick` only where it is asked for."""

WINDOWS: dict[Mode, int] = {"ibt": 128, "ibt-approx": 128}
"""Citations grounded together, to save memory where C1 is grounded for training; 512 elsewhere."""

ORDERED = ("IBT", "SCT", "SCT, quadratic", CHOSEN)
"""The systems that are trained in seeded orders besides that of the file."""

ORDERS = 3

QUICK = 5
"""Citations of each group with `--quick`, which runs one fold."""

Paper = dict[str, tuple[float, float, float, float, float, float, float]]
"""For each system token F1, field F1 and citation accuracy, each with its deviation over folds, and minutes of training."""


@dataclass(frozen=True, slots=True)
class Job:
    """One system's training and test.

    Parameters
    ----------
    data : str
        The folder of the real data.
    name : {"citeseer", "cora"}
    system : str
        One of `SYSTEMS`.
    sigma : float
    seed : int
        Of the solvers, and of the order.
    fold : Fold
    shuffled : bool
        True for citations in the order that the seed gives, False for that of the file.
    growth : float
        What is inexpensive, where the system asks for it.
    """

    data: str
    name: str
    system: str
    sigma: float
    seed: int
    fold: Fold[str]
    shuffled: bool = False
    growth: float = LINEAR


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave.

    Parameters
    ----------
    f1_token, f1_field, accuracy : float
        In percent; accuracy is the share of citations whose positions are all right.
    seconds : float
        Training: selecting constraints, grounding, learning.
    seconds_predict : float
    """

    f1_token: float
    f1_field: float
    accuracy: float
    seconds: float
    seconds_predict: float


def load(db: sqlrl.Database, data: Path, name: str) -> pa.Table:
    """Load a set of citations; return its labels."""
    if name == "cora":
        return load_cora(db, data / "cora-references")
    load_citeseer(db, data / "citeseer")
    return pq.read_table(data / "citeseer" / "infield.parquet")


def train(job: Job) -> tuple[sqlrl.Database, pa.Table, sqlrl.ConstrainedTraining, float]:
    """Load the data and learn on the training citations; return the labels, and the seconds of learning, too."""
    db, data, mode = sqlrl.connect(":memory:"), Path(job.data), SYSTEMS[job.system]
    labels = load(db, data, job.name)
    model = constrained_ism(data / "citeseer")
    order: Order = "shuffle" if job.shuffled else "file"
    learner = sqlrl.CDA(job.sigma, order=order, random_state=job.seed, window=WINDOWS.get(mode, 512))
    training = sqlrl.ConstrainedTraining(learner, mode, growth=job.growth)
    start = time.perf_counter()
    training.fit(db, model, examples=list(job.fold.train))
    return db, labels, training, time.perf_counter() - start


def attempt(job: Job, held: tuple[Fold[str], Fold[str]]) -> Tried[float]:
    """Learn on the training citations, and predict two groups that are left out; the scores are token F1."""
    db, _, training, _ = train(job)
    return Tried(
        job.growth,
        {fold.name: db.evaluate(db.predict(training.model_, examples=list(fold.test))).f1 for fold in held},
    )


def run(job: Job) -> Outcome:
    """Learn on the training citations, and predict the others."""
    db, labels, training, seconds = train(job)
    start = time.perf_counter()
    prediction = db.predict(training.model_, examples=list(job.fold.test))
    seconds_predict = time.perf_counter() - start
    scores = db.evaluate(prediction)
    return Outcome(
        f1_token=100 * scores.f1,
        f1_field=100 * field_counts(prediction, labels).f1,
        accuracy=100 * scores.example_accuracy,
        seconds=seconds,
        seconds_predict=seconds_predict,
    )


def inner_jobs(
    options: Options, name: str, sigma: float, folds: Sequence[Fold[str]]
) -> list[tuple[Job, tuple[Fold[str], Fold[str]]]]:
    """Return the arguments of `attempt` for each growth and two groups that are left out; none where nothing is chosen."""
    asked = options.chosen.get("system")
    if asked not in (None, CHOSEN) or (options.quick and asked is None):
        return []
    only = folds[0].name if options.quick and options.fold is None else options.fold
    job = Job(str(options.data), name, CHOSEN, sigma, options.seed, folds[0])
    return [
        (replace(job, fold=one.fold, growth=growth), one.held)
        for growth, one in product((LINEAR, QUADRATIC), attempts(folds, only))
    ]


def growth_of(system: str, test: str, tried: Sequence[Tried[float]]) -> float:
    """Return what a system takes as inexpensive where a group is tested on."""
    if system == CHOSEN:
        return choose(tried, test)
    return QUADRATIC if system == "SCT, quadratic" else LINEAR


def trained_as(job: Job) -> Job:
    """Return the job that a chosen one repeats: the row of its growth has trained and tested the same."""
    return replace(job, system="SCT" if job.growth == LINEAR else "SCT, quadratic") if job.system == CHOSEN else job


def make_jobs(
    options: Options, name: str, sigma: float, folds: Sequence[Fold[str]], tried: Sequence[Tried[float]] = ()
) -> list[Job]:
    """Return a job for each system, order and fold; without trials the growth is not chosen, and that system is left out."""
    among = [fold for fold in folds if options.fold in (None, fold.name)]
    among = among[:1] if options.quick else among
    systems = [s for s in SYSTEMS if options.chosen.get("system", s) == s and (s != CHOSEN or tried)]
    jobs = [
        Job(str(options.data), name, s, sigma, options.seed, fold, growth=growth_of(s, fold.name, tried))
        for s in systems
        for fold in among
    ]
    if options.quick:
        return jobs
    seeds = range(options.seed, options.seed + ORDERS)
    again = [job for job in jobs if job.system in ORDERED]
    return jobs + [replace(job, seed=seed, shuffled=True) for seed in seeds for job in again]


def folds_of(options: Options, name: str) -> list[Fold[str]]:
    """Return the folds of a set of citations; with `--quick` of a few citations of each."""
    each = QUICK if options.quick else None
    if name == "cora":
        folder = options.data / "cora-references"
        return author_folds(folder, load_cora(sqlrl.connect(":memory:"), folder), each=each)
    return topic_folds(options.data / "citeseer", each=each)


def summarise(paper: Paper, jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each system the paper's row and ours, means and deviations (`sd_`) over the folds.

    Of seeded orders, the values are means over orders and folds; `sd_orders` is the deviation of the token F1 of all folds over orders.
    """
    rows: list[Row] = []
    runs = list(zip(jobs, results, strict=True))
    names = ("f1_token", "sd_token", "f1_field", "sd_field", "accuracy", "sd_accuracy")
    for system in SYSTEMS:
        if system in paper and any(job.system == system for job in jobs):
            *values, minutes = paper[system]
            theirs = dict(zip(names, values, strict=True))
            rows.append({"system": system, "whose": "paper", **theirs, "seconds": round(60 * minutes, 1)})
        for shuffled, order in ((False, "file"), (True, f"{ORDERS} seeded")):
            mine = [(j, r) for j, r in runs if (j.system, j.shuffled) == (system, shuffled)]
            if mine:
                rows.append({"system": system, "whose": "ours", "order": order, **_means(mine)})
    columns = next(list(row) for row in rows if row["whose"] == "ours")
    return [{column: row.get(column) for column in columns} for row in rows]


def _means(runs: Sequence[tuple[Job, Measured[Outcome]]]) -> dict[str, object]:
    seeds, folds = (list(dict.fromkeys(key)) for key in zip(*((j.seed, j.fold.name) for j, _ in runs), strict=True))

    def over_folds(value: Callable[[Outcome], float]) -> tuple[float, float]:
        """Mean and deviation over the folds, each the mean over its orders."""
        means = [mean_and_deviation([value(r.value) for j, r in runs if j.fold.name == fold]).mean for fold in folds]
        found = mean_and_deviation(means)
        return round(found.mean, 2), round(found.deviation, 2)

    orders = [mean_and_deviation([r.value.f1_token for j, r in runs if j.seed == seed]).mean for seed in seeds]
    token, field, accuracy = (
        over_folds(lambda o: o.f1_token), over_folds(lambda o: o.f1_field), over_folds(lambda o: o.accuracy)
    )  # fmt: skip
    return {
        "f1_token": token[0],
        "sd_token": token[1],
        "sd_orders": round(mean_and_deviation(orders).deviation, 2) if len(orders) > 1 else None,
        "f1_field": field[0],
        "sd_field": field[1],
        "accuracy": accuracy[0],
        "sd_accuracy": accuracy[1],
        "seconds": over_folds(lambda o: o.seconds)[0],
        "memory_mb": round(max(r.memory_mb for _, r in runs), 1),
    }


def experiment(options: Options, name: str, sigma: float, paper: Paper, *, script: str, title: str) -> None:
    """Run all jobs of a table and publish it.

    Parameters
    ----------
    options : Options
    name : {"citeseer", "cora"}
    sigma : float
        Of CDA: the thesis' value, which it chose on its training sets.
    paper : Paper
    script : str
        The name under which results are kept.
    title : str
    """
    folds = folds_of(options, name)
    inner = inner_jobs(options, name, sigma, folds)
    if not options.quick:
        first = make_jobs(replace(options, chosen={"system": "SCT"}), name, sigma, folds)[0]
        few = replace(first, fold=Fold("warm-up", first.fold.train[:5], first.fold.test[:5]))
        # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
        run_jobs(run, [(few,)], options.console(), "warm-up")
    found = run_jobs(attempt, inner, options.console(), "choosing", options.processes, journal=options.journal)
    jobs = make_jobs(options, name, sigma, folds, [one.value for one in found])
    distinct = list(dict.fromkeys(trained_as(job) for job in jobs))
    measured = run_jobs(
        run, [(job,) for job in distinct], options.console(), "trainings", options.processes, journal=options.journal
    )
    of_job = dict(zip(distinct, measured, strict=True))
    results = [of_job[trained_as(job)] for job in jobs]
    details: list[Row] = [
        {
            "system": j.system,
            "fold": j.fold.name,
            "order": j.seed if j.shuffled else None,
            "growth": j.growth,
            **asdict(r.value),
            "memory_mb": r.memory_mb,
        }
        for j, r in zip(jobs, results, strict=True)
    ]
    shown = title + (" (quick: a slice)" if options.quick else "")
    parameters = {
        "sigma": sigma,
        "systems": sorted({j.system for j in jobs}),
        "folds": sorted({j.fold.name for j in jobs}),
        "windows": WINDOWS,
        "growth": {"SCT, quadratic": QUADRATIC, CHOSEN: {j.fold.name: j.growth for j in jobs if j.system == CHOSEN}},
    }
    publish(script, summarise(paper, jobs, results), options, title=shown, parameters=parameters, details=details)
