"""Max-margin weights on the CiteSeer citations with the isolated segmentation model, leaving one topic out.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), tables 4.3 and 4.4: PSCG (Lowd and Domingos 2007) with 5 to
100 iterations and predictions by MC-SAT (100 samples to forget, 1000 to keep, true from one half on), and the max-margin learner with
Hamming loss, trained and predicting with the linear relaxation, for C from 1 to 10000. The rows of table 4.3 are those of table 4.4
with the C or the number of iterations that is best on a third of the training citations, learned from the others. (The thesis takes
what predicts best what it was trained on, which here is always the largest C; its PSCG was tuned by its authors.)
F1 is micro-averaged over tokens.

    python experiments/citeseer_margin.py [--fold NAME] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from citations import TOPICS, load_citeseer, read_ism, topic_folds
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import Fold, mean_and_deviation, score

PAPER: dict[str, tuple[float, float, float, float]] = {
    "PSCG-MCSAT": (0.937, 0.914, 0.931, 0.975),
    "PSCG-MCSAT-5": (0.852, 0.844, 0.836, 0.923),
    "PSCG-MCSAT-10": (0.937, 0.914, 0.931, 0.973),
    "PSCG-MCSAT-15": (0.878, 0.896, 0.780, 0.891),
    "PSCG-MCSAT-20": (0.850, 0.859, 0.710, 0.784),
    "PSCG-MCSAT-100": (0.658, 0.697, 0.600, 0.668),
    "MM-Hamming-LPRelax": (0.933, 0.922, 0.924, 0.958),
    "MM-Hamming-LPRelax-1": (0.933, 0.922, 0.924, 0.955),
    "MM-Hamming-LPRelax-10": (0.926, 0.922, 0.925, 0.955),
    "MM-Hamming-LPRelax-100": (0.926, 0.922, 0.925, 0.954),
    "MM-Hamming-LPRelax-1000": (0.931, 0.918, 0.925, 0.958),
    "MM-Hamming-LPRelax-10000": (0.932, 0.922, 0.919, 0.968),
}
"""F1 on each topic."""

CHOSEN = ("PSCG-MCSAT", "MM-Hamming-LPRelax")
"""The rows whose parameter is chosen on training citations that are held out."""

HELD_OUT = 3
"""Every so many training citations one is held out, for the choice alone."""

QUICK_SYSTEMS = ("PSCG-MCSAT-5", "PSCG-MCSAT-10", "MM-Hamming-LPRelax-1", "MM-Hamming-LPRelax-100")
QUICK_CITATIONS = 15
SAMPLES, BURN_IN = 1000, 100
COLUMNS = ("system", "whose", *TOPICS, "mean", "sd_folds", "parameter", "seconds", "seconds_predict", "memory_mb")


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test of a row with its parameter."""

    folder: str
    system: str
    seed: int
    fold: Fold[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """F1 in [0, 1] on the test citations and on those that were held out, and seconds of training on all others and of the test."""

    f1: float
    f1_held_out: float
    seconds: float
    seconds_predict: float


def parameter(system: str) -> int:
    """Return the number at the end of a row's name: C, or the number of iterations."""
    return int(system.rsplit("-", 1)[1])


def estimator(job: Job) -> Any:
    """Return the learner of a row."""
    if job.system.startswith("PSCG"):
        return sqlrl.PSCG(parameter(job.system), random_state=job.seed)
    return sqlrl.MaxMargin(
        strength=1 / float(parameter(job.system)), loss="hamming", separation="relaxed", random_state=job.seed
    )


def run(job: Job) -> Outcome:
    """Load the data, learn on the training citations, and predict the others; before, the same with some of those of training."""
    db = sqlrl.connect(":memory:")
    load_citeseer(db, Path(job.folder))
    model, held = read_ism(job.folder), list(job.fold.train[::HELD_OUT])
    most = [name for k, name in enumerate(job.fold.train) if k % HELD_OUT]
    # To choose by, the most probable world serves all: it needs no samples.
    other = db.evaluate(db.predict(estimator(job).fit(db, model, examples=most).model_, examples=held)).f1
    learner = estimator(job)
    start = time.perf_counter()
    learner.fit(db, model, examples=list(job.fold.train))
    trained = time.perf_counter()
    f1 = f1_of(db, learner.model_, job, job.fold.test)
    return Outcome(f1, other, trained - start, time.perf_counter() - trained)


def f1_of(db: sqlrl.Database, model: sqlrl.Model, job: Job, citations: Sequence[str]) -> float:
    """Predict citations as a row does; return F1."""
    if not job.system.startswith("PSCG"):
        return db.evaluate(db.predict(model, examples=list(citations), method="lp")).f1
    found = db.probabilities(
        model,
        examples=list(citations),
        method="mcsat",
        samples=SAMPLES,
        burn_in=BURN_IN,
        chains=1,
        random_state=job.seed,
    )
    names = ("bib", "field", "position")
    facts = pq.read_table(Path(job.folder) / "infield.parquet", columns=list(names))
    labels = set(zip(*(facts.column(name).to_pylist() for name in names), strict=True))
    atoms = found.probabilities()
    rows = zip(*(atoms.column(name).to_pylist() for name in names), strict=True)
    probability = atoms.column("probability").to_numpy()
    return score([row in labels for row in rows], probability >= 0.5, [0] * len(probability)).f1


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each row with a parameter of its own, and topic."""
    folder = options.data / "citeseer"
    folds = topic_folds(folder, each=QUICK_CITATIONS if options.quick else None)
    chosen = [fold for fold in folds if options.fold in (None, fold.name)][: 1 if options.quick else None]
    systems = QUICK_SYSTEMS if options.quick else [system for system in PAPER if system not in CHOSEN]
    return [Job(str(folder), system, options.seed, fold) for system in systems for fold in chosen]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each row the paper's and ours."""
    rows: list[Row] = []
    runs = list(zip(jobs, results, strict=True))
    for system, paper in PAPER.items():
        found = mean_and_deviation(paper)
        head = {"system": system, "whose": "paper", **dict(zip(TOPICS, paper, strict=True))}
        rows.append(head | {"mean": round(found.mean, 3), "sd_folds": round(found.deviation, 3)})
        if system in CHOSEN:
            mine = [_best([run for run in runs if run[0].system.startswith(f"{system}-")], topic) for topic in TOPICS]
            own = [run for run in mine if run is not None]
        else:
            own = [run for run in runs if run[0].system == system]
        if own:
            rows.append({"system": system, "whose": "ours", **_row(own, shown=system in CHOSEN)})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def _best(runs: Sequence[tuple[Job, Measured[Outcome]]], topic: str) -> tuple[Job, Measured[Outcome]] | None:
    """Return the run on a topic whose parameter is best on held-out training citations, the first of several."""
    mine = [run for run in runs if run[0].fold.name == topic]
    return max(mine, key=lambda run: run[1].value.f1_held_out) if mine else None


def _row(runs: Sequence[tuple[Job, Measured[Outcome]]], *, shown: bool) -> dict[str, object]:
    f1 = mean_and_deviation([r.value.f1 for _, r in runs])
    return {
        **{j.fold.name: round(r.value.f1, 3) for j, r in runs},
        "mean": round(f1.mean, 3),
        "sd_folds": round(f1.deviation, 3) if len(runs) > 1 else None,
        "parameter": ", ".join(str(parameter(j.system)) for j, _ in runs) if shown else None,
        "seconds": round(mean_and_deviation([r.value.seconds for _, r in runs]).mean, 1),
        "seconds_predict": round(mean_and_deviation([r.value.seconds_predict for _, r in runs]).mean, 1),
        "memory_mb": round(max(r.memory_mb for _, r in runs)),
    }


def main() -> None:
    """Run the experiment."""
    description = "Max-margin weights on CiteSeer with the isolated segmentation model, one topic left out."
    options = read_options(description, needs="citeseer", folds=TOPICS)
    jobs = make_jobs(options)
    results = run_jobs(run, [(job,) for job in jobs], options.console(), "trainings", journal=options.journal)
    details: list[Row] = [
        {"system": j.system, "fold": j.fold.name, "f1": r.value.f1, "f1_held_out": r.value.f1_held_out,
         "seconds": r.value.seconds, "seconds_predict": r.value.seconds_predict, "memory_mb": r.memory_mb}
        for j, r in zip(jobs, results, strict=True)
    ]  # fmt: skip
    title = "CiteSeer, isolated segmentation, leave one topic out" + (
        " (quick: a slice, one topic)" if options.quick else ""
    )
    if options.fold is not None:
        title += f"; only {options.fold}"
    parameters = {"samples": SAMPLES, "burn_in": BURN_IN, "held_out": HELD_OUT}
    publish("citeseer_margin", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
