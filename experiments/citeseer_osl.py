"""Online structure learning on the CiteSeer citations, leaving one topic out.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), table 1 (thesis, table 6.1): OSL with
minCountDiff 2 (M2) and 1 (M1), and ADAGRAD_FB, which learns weights alone, from the linear chain LC_0, from the isolated
segmentation model (ISM), and from nothing. One pass, lambda = 0.001, eta = delta = 1, paths of at most 4 atoms, averaged
weights, most probable worlds without loss augmentation; parameters are the paper's, none is chosen here. In file order and in
three seeded orders, with the modes of `osl-modes.txt` and with the modes that the paper prints. What goes beyond the paper
(sub-clauses dropped, candidates pooled, look-ahead, two passes) are rows of two systems in file order, with the paper's modes.

From nothing there are no weighted rules, but at most one field a position, as in all models here.

    python experiments/citeseer_osl.py [--system NAME] [--fold NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE]
                                   [--data DIR]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypedDict

from citations import CITESEER, EXCLUSION, TOPICS, load_citeseer, read_ism, topic_folds
from harness import Measured, Options, Row, publish, read_options, run_jobs

import sqlrl
from sqlrl.evaluate import Fold, mean_and_deviation
from sqlrl.learn.online import OnlineEstimator
from sqlrl.training.ordering import Order

PAPER: dict[str, tuple[float, float, float, int]] = {
    "ADAGRAD_FB-LC_0": (82.62, 2.12, 10.40, 2_896),
    "OSL-M2-LC_0": (92.05, 2.63, 14.16, 2_150),
    "OSL-M1-LC_0": (94.47, 2.04, 163.17, 9_395),
    "ADAGRAD_FB-ISM": (91.18, 3.82, 11.20, 1_250),
    "OSL-M2-ISM": (95.51, 2.07, 12.93, 1_548),
    "OSL-M1-ISM": (96.48, 1.72, 148.98, 8_476),
    "OSL-M2-Empty": (88.94, 3.96, 23.18, 650),
    "OSL-M1-Empty": (94.03, 2.62, 257.26, 15_212),
}
"""F1 with its deviation over folds, minutes, and clauses with a weight other than 0."""


class Extra(TypedDict, total=False):
    """Arguments of `sqlrl.OSL` that are off by default."""

    longest_only: bool
    pool: int
    look_ahead: bool
    passes: int


Kind = Literal["file", "paper"]
MODES: tuple[Kind, ...] = ("file", "paper")
"""The modes of `osl-modes.txt`, and those that the paper prints."""

PRINTED = """\
modep(2, Token(., +, .))
modep(1, Next(-, -))
modep(2, InField(., ., -))
modec(Token(c, v, v))
modec(Next(v, v))
modec(InField(v, c, v))
"""
"""The paper's modes (section 3.1); in the data `InField` has the citation first and the position last."""

IN_PRINTED = ("Token", "Next", "InField")

BEYOND: dict[str, Extra] = {
    "longest only": {"longest_only": True},
    "pool of 8": {"pool": 8},
    "look-ahead": {"look_ahead": True},
    "two passes": {"passes": 2},
}
"""What the paper does not have, each off by default."""
BEYOND_SYSTEMS = ("OSL-M2-LC_0", "OSL-M1-ISM")

ORDERS = 3
QUICK_CITATIONS = 6
QUICK_FILE = "OSL-M2-LC_0"
"""The only row that is run with the modes of the file with `--quick`: they have more patterns, each a query."""

COLUMNS = (
    "system", "whose", "modes", "beyond", "order", "f1", "sd_folds", "sd_orders", "accuracy", "clauses", "added", "seconds", "memory_mb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One training and test; `modes` is None for a learner of weights, `seed` None for the order of the file.

    `beyond` is a name in `BEYOND`, or None for the paper's learner; `regularization` and `delta` are OSL's.
    """

    folder: str
    system: str
    modes: Kind | None
    seed: int | None
    fold: Fold[str]
    beyond: str | None = None
    regularization: float = 0.001
    delta: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one training and test gave: F1 and accuracy in percent, clauses with a weight other than 0, and seconds."""

    f1: float
    accuracy: float
    clauses: int
    added: int
    seconds: float
    seconds_predict: float


def starting_model(folder: Path, start: str) -> sqlrl.Model:
    """Return the model that a learner starts from: "LC_0", "ISM" or "Empty"; it declares all predicates."""
    if start == "ISM":
        return read_ism(folder)
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in CITESEER.items())
    if start == "Empty":
        return sqlrl.parse_mln(f"{declared}\n{EXCLUSION}", query=("InField",))
    rules = sqlrl.read_mln(folder / "lc0.mln").rules
    return sqlrl.parse_mln(declared, query=("InField",)).with_rules(rules)


def read_modes(folder: Path, modes: Kind) -> sqlrl.Modes:
    """Return the modes of the file, or those of the paper with all other predicates left out of paths."""
    if modes == "file":
        return sqlrl.read_modes(folder / "osl-modes.txt")
    others = {name: types for name, types in CITESEER.items() if name not in IN_PRINTED}
    never = [f"modep(0, {name}({', '.join('.' * len(types))}))" for name, types in others.items()]
    variable = [f"modec({name}({', '.join('v' * len(types))}))" for name, types in others.items()]
    return sqlrl.parse_modes("\n".join([PRINTED, *never, *variable]))


def estimator(job: Job) -> OnlineEstimator:
    """Return the learner of a row."""
    order: Order = "file" if job.seed is None else "shuffle"
    if job.modes is None:
        return sqlrl.AdaGrad(order=order, random_state=job.seed)
    least = 2 if "-M2-" in job.system else 1
    modes = read_modes(Path(job.folder), job.modes)
    extra = BEYOND[job.beyond] if job.beyond is not None else {}
    return sqlrl.OSL(
        modes,
        4,
        least,
        strength=job.regularization,
        delta=job.delta,
        order=order,
        random_state=job.seed,
        **extra,
    )


def train(job: Job) -> tuple[sqlrl.Database, OnlineEstimator, float]:
    """Load the data and learn on the training citations; return the seconds that learning took, too."""
    folder = Path(job.folder)
    db = sqlrl.connect(":memory:")
    load_citeseer(db, folder)
    model, learner = starting_model(folder, job.system.rsplit("-", 1)[1]), estimator(job)
    start = time.perf_counter()
    learner.fit(db, model, examples=list(job.fold.train))
    return db, learner, time.perf_counter() - start


def run(job: Job) -> Outcome:
    """Learn on the training citations, and predict the others."""
    db, learner, seconds = train(job)
    start = time.perf_counter()
    prediction = db.predict(learner.model_, examples=list(job.fold.test))
    predicted = time.perf_counter() - start
    scores = db.evaluate(prediction)
    return Outcome(
        100 * scores.f1,
        100 * scores.example_accuracy,
        int((learner.weights_ != 0).sum()),
        len(learner.added()) if isinstance(learner, sqlrl.OSL) else 0,
        seconds,
        predicted,
    )


def make_jobs(options: Options) -> list[Job]:
    """Return a job for each row, order and topic."""
    folder = options.data / "citeseer"
    seeds = [None, *range(options.seed, options.seed + (0 if options.quick else ORDERS))]
    folds = topic_folds(folder, each=QUICK_CITATIONS if options.quick else None)
    chosen = [fold for fold in folds if options.fold in (None, fold.name)][: 1 if options.quick else None]
    rows: list[tuple[str, Kind | None]] = [(system, None) for system in PAPER if system.startswith("ADA")]
    rows += [(system, modes) for modes in MODES for system in PAPER if system.startswith("OSL")]
    if options.quick:
        rows = [
            (system, modes) for system, modes in rows if modes is None or (modes == "file") == (system == QUICK_FILE)
        ]
    jobs = [Job(str(folder), system, modes, seed, fold) for seed in seeds for system, modes in rows for fold in chosen]
    further = [(system, name) for system in BEYOND_SYSTEMS for name in BEYOND]
    if options.quick:
        further = further[:2]
    jobs += [Job(str(folder), system, "paper", None, fold, name) for system, name in further for fold in chosen]
    return [job for job in jobs if options.chosen.get("system", job.system) == job.system]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each system the paper's row and ours, for each set of modes and kind of order."""
    runs = list(zip(jobs, results, strict=True))
    rows: list[Row] = []
    asked = {job.system for job in jobs}
    for system, (f1, deviation, minutes, clauses) in ((name, row) for name, row in PAPER.items() if name in asked):
        paper = {"system": system, "whose": "paper", "order": "one", "f1": f1, "sd_folds": deviation}
        rows.append(paper | {"clauses": clauses, "seconds": round(60 * minutes, 1)})
        for modes, beyond, seeded in product((None, *MODES), (None, *BEYOND), (False, True)):
            row = (system, modes, beyond, seeded)
            mine = [(j, r) for j, r in runs if (j.system, j.modes, j.beyond, j.seed is not None) == row]
            if mine:
                rows.append({"system": system, "whose": "ours", "modes": modes, "beyond": beyond, **averaged(mine)})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def averaged(runs: Sequence[tuple[Job, Measured[Outcome]]]) -> dict[str, object]:
    """Return the means over folds and orders of one row, and their deviations."""
    topics, seeds = (list(dict.fromkeys(x)) for x in zip(*((j.fold.name, j.seed) for j, _ in runs), strict=True))
    f1 = {topic: _mean([r.value.f1 for j, r in runs if j.fold.name == topic]) for topic in topics}
    folds = mean_and_deviation(list(f1.values()))
    orders = mean_and_deviation([_mean([r.value.f1 for j, r in runs if j.seed == seed]) for seed in seeds])
    return {
        "order": "file" if seeds == [None] else f"{len(seeds)} seeded",
        "f1": round(folds.mean, 2),
        "sd_folds": round(folds.deviation, 2) if len(topics) > 1 else None,
        "sd_orders": round(orders.deviation, 2) if len(seeds) > 1 else None,
        "accuracy": round(_mean([r.value.accuracy for _, r in runs]), 2),
        "clauses": round(_mean([r.value.clauses for _, r in runs])),
        "added": round(_mean([r.value.added for _, r in runs])),
        "seconds": round(_mean([r.value.seconds for _, r in runs]), 2),
        "memory_mb": round(max(r.memory_mb for _, r in runs)),
    }


def _mean(values: Sequence[float]) -> float:
    return mean_and_deviation(list(values)).mean


def main() -> None:
    """Run the experiment."""
    description = "Online structure learning on CiteSeer, one topic left out."
    options = read_options(description, needs="citeseer", folds=TOPICS, choices={"system": tuple(PAPER)})
    jobs = make_jobs(options)
    if not options.quick:
        few = Fold("warm-up", jobs[0].fold.train[:5], jobs[0].fold.test[:5])
        # The first training on a machine compiles numba's kernels, once for all; that is no part of the measurement.
        kinds: tuple[tuple[str, Kind | None], ...] = (("ADAGRAD_FB-LC_0", None), ("OSL-M1-LC_0", "file"))
        warm = [(Job(jobs[0].folder, system, modes, None, few),) for system, modes in kinds]
        run_jobs(run, warm, options.console(), "warm-up")
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "trainings", options.processes, journal=options.journal
    )
    details: list[Row] = [
        {"system": j.system, "modes": j.modes, "beyond": j.beyond, "seed": j.seed, "fold": j.fold.name, **asdict(r.value), "memory_mb": r.memory_mb}
        for j, r in zip(jobs, results, strict=True)
    ]  # fmt: skip
    title = "CiteSeer, OSL, leave one topic out" + (" (quick: a slice, one topic)" if options.quick else "")
    if options.fold is not None:
        title += f"; only {options.fold}"
    parameters = {"max_length": 4, "strength": 0.001, "learning_rate": 1, "delta": 1, "modes": MODES}
    parameters |= {"beyond": BEYOND}
    publish("citeseer_osl", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
