"""How noisy labels hurt three online learners, on the CiteSeer citations with the isolated segmentation model.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), figure 5.2: there on CoNLL 2005, which is not
available, here on CiteSeer. With probability p a labelled position of a training citation swaps its field with another
labelled position of the same citation; test labels stay as they are. Hamming loss, one pass in file order, averaged
weights; CDA takes the maximal loss, as in the thesis' best rows. Sigma is chosen on the noisy training citations alone, by F1 on a
fifth of them.

    python experiments/noisy_labels.py [--fold NAME] [--quick] [--seed N] [--db FILE] [--json FILE] [--data DIR]

With `--plot FILE` the curves are drawn (needs matplotlib: `pip install 'sqlrl[plots]'`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from citations import TOPICS, load_citeseer, read_ism, topic_folds
from harness import Measured, Options, Row, publish, read_options, run_jobs
from sigma_choice import SIGMAS, Make, choose_held_out

import sqlrl
from sqlrl.evaluate import Fold, mean_and_deviation

NOISE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
QUICK_NOISE = (0.0, 0.5)
QUICK_CITATIONS = 20
QUICK_SIGMAS = (0.0001, 0.01)
LEARNERS: Mapping[str, Make] = {
    "cda": lambda sigma: sqlrl.CDA(strength=sigma, update="maximal"),
    "mira": lambda _: sqlrl.baselines.MIRA(),
    "subgradient": lambda sigma: sqlrl.baselines.Subgradient(strength=sigma),
}
NAMES = {"cda": "CDA", "mira": "1-best MIRA", "subgradient": "subgradient"}
PAPER_DROP = {"cda": 8.4, "mira": 17.6, "subgradient": 16.1}
"""Points of F1 lost from no noise to 50 %, as the thesis says in words (CoNLL 2005)."""


def swapped(labels: pa.Table, chosen: Sequence[str], probability: float, seed: int) -> pa.Table:
    """Return labels in which positions of the chosen citations have swapped fields with others of the same citation.

    Parameters
    ----------
    labels : pyarrow.Table
        Columns `bib`, `field`, `position`.
    chosen : sequence of str
        The citations to disturb.
    probability : float
        That a labelled position takes part in a swap which it starts.
    seed : int
    """
    random = np.random.default_rng([seed, round(1000 * probability)])
    wanted = set(chosen)
    rows_of: dict[str, list[int]] = {}
    for row, bib in enumerate(labels.column("bib").to_pylist()):
        if bib in wanted:
            rows_of.setdefault(bib, []).append(row)
    field = labels.column("field").to_pylist()
    for rows in rows_of.values():
        for row in rows:
            if len(rows) > 1 and random.random() < probability:
                other = rows[(rows.index(row) + 1 + int(random.integers(len(rows) - 1))) % len(rows)]
                field[row], field[other] = field[other], field[row]
    return labels.set_column(labels.schema.get_field_index("field"), "field", pa.array(field))


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test: a learner, the probability of a swap, a fold, and the values of sigma to choose from."""

    folder: str
    learner: str
    noise: float
    seed: int
    fold: Fold[str]
    sigmas: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """F1 in percent on clean labels, the chosen sigma, and seconds of training."""

    f1: float
    sigma: float | None
    seconds: float


def run(job: Job) -> Outcome:
    """Disturb the training labels, learn, and predict the other topic."""
    folder = Path(job.folder)
    labels = pq.read_table(folder / "infield.parquet")
    db = sqlrl.connect(":memory:")
    load_citeseer(db, folder, labels=swapped(labels, job.fold.train, job.noise, job.seed))
    sigmas: Sequence[float | None] = (None,) if job.learner == "mira" else job.sigmas
    chosen = choose_held_out(db, read_ism(folder), LEARNERS[job.learner], job.fold.train, sigmas)
    scores = db.evaluate(db.predict(chosen.estimator.model_, examples=list(job.fold.test)))
    return Outcome(100 * scores.f1, chosen.sigma, chosen.seconds)


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each learner, probability and fold."""
    folder = options.data / "citeseer"
    folds = topic_folds(folder, each=QUICK_CITATIONS if options.quick else None)
    chosen = [fold for fold in folds if options.fold in (None, fold.name)][: 1 if options.quick else None]
    noise, sigmas = (QUICK_NOISE, QUICK_SIGMAS) if options.quick else (NOISE, SIGMAS)
    return [
        Job(str(folder), learner, p, options.seed, fold, sigmas)
        for learner in LEARNERS
        for p in noise
        for fold in chosen
    ]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: a row for each probability, with a column for each learner; and the points lost at most noise."""
    runs = list(zip(jobs, results, strict=True))
    rows: list[Row] = []
    first: dict[str, float] = {}
    for noise in sorted({j.noise for j in jobs}):
        row: dict[str, object] = {"noise": f"{noise:g}"}
        for learner in LEARNERS:
            found = mean_and_deviation([r.value.f1 for j, r in runs if (j.learner, j.noise) == (learner, noise)])
            first.setdefault(learner, found.mean)
            row[learner] = round(found.mean, 2)
            row[f"sd_{learner}"] = round(found.deviation, 2) if len({j.fold.name for j in jobs}) > 1 else None
            row[f"lost_{learner}"] = round(first[learner] - found.mean, 2)
        rows.append(row)
    lost = {f"lost_{learner}": points for learner, points in PAPER_DROP.items()}
    return [*rows, {**dict.fromkeys(rows[0]), "noise": "paper, 0.5 (CoNLL)", **lost}]


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw the curves into a file."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    mine = [row for row in rows if not str(row["noise"]).startswith("paper")]
    x = [float(str(row["noise"])) for row in mine]
    for learner, mark in zip(LEARNERS, "osv", strict=True):
        mean = [float(str(row[learner])) for row in mine]
        spread = [float(str(row[f"sd_{learner}"] or 0)) for row in mine]
        axes.errorbar(x, mean, yerr=spread, label=NAMES[learner], marker=mark, capsize=2)
    axes.set(xlabel="probability that a label is swapped", ylabel="token F1 on clean labels", title="CiteSeer")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    """Run the experiment."""
    options = read_options("Noisy labels on CiteSeer, one topic left out.", needs="citeseer", folds=TOPICS, plots=True)
    jobs = make_jobs(options)
    if not options.quick:
        first = replace(jobs[0], fold=Fold("warm-up", jobs[0].fold.train[:5], jobs[0].fold.test[:5]))
        # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
        run_jobs(run, [(first,)], options.console(), "warm-up")
    results = run_jobs(run, [(job,) for job in jobs], options.console(), "trainings", journal=options.journal)
    rows = summarise(jobs, results)
    details: list[Row] = [
        {"learner": j.learner, "noise": j.noise, "seed": j.seed, "fold": j.fold.name, **asdict(r.value)}
        for j, r in zip(jobs, results, strict=True)
    ]
    title = "CiteSeer with swapped labels" + (" (quick: a slice, one topic)" if options.quick else "")
    parameters = {"sigmas": jobs[0].sigmas, "noise": sorted({job.noise for job in jobs})}
    publish("noisy_labels", rows, options, title=title, parameters=parameters, details=details)
    if options.plot is not None:
        draw(rows, options.plot)
        options.console().message(f"drawn in {options.plot}")


if __name__ == "__main__":
    main()
