"""Clauses by ILP with learned weights on the Alzheimer's drugs, ten folds of four tasks.

Huynh, "Discriminative Learning with Markov Logic Networks" (thesis, 2011), tables 3.3 to 3.7, 4.5 and 4.6: ALEPH's theories, with
weights by PSCG, by exact conditional likelihood with L2 or L1, and by max-margin with squared 2-norm (MM) or 1-norm (MM-L1); ALEPH++ keeps
all good clauses. "order": the target is transitive, by a hard clause, at prediction time, and for MM while learning, too. The thesis'
settings of the clause learner, and those of the `.modes` files; with `--settings constants` theories whose clauses may have
constants. With `--areas` the area under the ROC curve also with "order", by MC-SAT; the thesis has none. Strengths and C are chosen on
the training pairs of each fold.

Random folds leak: see `drugs.py`, which also defines the other protocols and the two baselines. Rows "sqlrl" are ours, with clauses as
reasons and with attributes, and "sqlrl, names", with a clause for each drug besides: see `drug_reasons.py`. They are printed in each
protocol, in those beside the paper's also "sqlrl, chosen", which chooses on training pairs what each of these says: see `drug_choice.py`,
also for which test labels had been seen when that was designed.

Where drugs are new an accuracy depends on which drugs a fold has, so `--divisions N` divides them N times, from N seeds, and runs all
folds of all divisions. "gain" is how much more accurate a system is than the linear model of attributes in the same folds, "gain_se" its
standard error: over the divisions, or over the folds of the only one. All divisions are of the same 37 drugs, so the first of these
says how sure the mean is for these drugs, not for others.

    python experiments/alzheimers.py [--task NAME] [--protocol NAME] [--settings NAME] [--areas] [--fold K] [--quick] [--processes N]
                                 [--divisions N] [--seed N] [--db FILE] [--json FILE] [--data DIR]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain

from drug_choice import SEEN
from drug_runs import BASELINES, SYSTEMS, Job, Outcome, run
from drug_systems import SETTINGS
from drugs import FILES, FOLDS, PROTOCOLS, Protocol, read_task, task_folds, untested
from harness import Measured, Options, Row, publish, read_options, run_jobs

from sqlrl.evaluate import mean_and_deviation

IN_OTHER_PROTOCOLS = ("ALEPH", "ALEPH++ ExactL2", "ALEPH++ ExactL1", "sqlrl", "sqlrl, names", "sqlrl, chosen")
"""The systems that are run where the paper has no numbers."""

IN_PAPER = tuple(name for name in SYSTEMS if name != "sqlrl, chosen")
"""Those that are run where it has; the last one finds clauses five times more, and new drugs are what it is made for."""

OF_THEORIES = ("ALEPH", "ALEPH ExactL2", "ALEPH MM")
"""Those that are run with constants in clauses."""

Four = tuple[float, float, float, float]
PAPER: dict[str, dict[str, Four]] = {
    "ALEPH": {"accuracy": (81.6, 81.7, 79.6, 76.0), "sd": (5.1, 4.2, 2.2, 4.9), "clauses": (10, 9, 12, 11)},
    "ALEPH PSCG": {
        "accuracy": (64.6, 74.7, 78.0, 60.3), "sd": (4.6, 1.9, 3.2, 2.1), "auc": (0.846, 0.904, 0.850, 0.744),
        "order": (61.4, 73.3, 80.4, 58.9), "sd_order": (3.6, 1.8, 2.7, 2.3),
    },
    "ALEPH ExactL2": {
        "accuracy": (83.5, 87.5, 79.5, 72.6), "sd": (4.7, 4.8, 2.0, 3.4), "auc": (0.904, 0.930, 0.850, 0.768),
        "order": (87.0, 88.8, 84.1, 76.5), "sd_order": (3.3, 4.8, 3.1, 3.5),
    },
    "ALEPH MM": {"order": (87.0, 88.5, 86.3, 79.1), "sd_order": (2.2, 4.2, 2.8, 3.0)},
    "ALEPH++ PSCG": {
        "accuracy": (72.0, 69.9, 76.5, 65.6), "sd": (5.2, 1.2, 3.7, 5.4), "auc": (0.777, 0.874, 0.810, 0.737),
        "order": (72.9, 68.4, 83.3, 70.1), "sd_order": (3.5, 1.5, 2.5, 5.2), "clauses": (7061, 2034, 8662, 6524),
    },
    "ALEPH++ ExactL2": {
        "accuracy": (86.8, 89.5, 82.1, 72.9), "sd": (4.4, 3.0, 2.1, 5.2), "auc": (0.935, 0.937, 0.899, 0.813),
        "order": (91.7, 91.4, 88.7, 81.3), "sd_order": (3.5, 3.6, 2.1, 4.8), "clauses": (5070, 1194, 5427, 4250),
    },
    "ALEPH++ ExactL1": {
        "accuracy": (89.4, 91.3, 85.1, 77.6), "sd": (2.7, 2.8, 2.4, 4.9), "auc": (0.954, 0.939, 0.916, 0.844),
        "order": (90.5, 91.9, 87.6, 81.3), "sd_order": (3.6, 4.1, 2.7, 4.1), "clauses": (3477, 747, 2433, 2471),
    },
    "ALEPH++ MM": {
        "order": (89.2, 90.8, 88.3, 81.5), "sd_order": (2.9, 3.6, 2.9, 4.2), "clauses": (6981, 2034, 8621, 6297),
    },
    "ALEPH++ MM-L1": {
        "order": (88.8, 91.6, 87.9, 80.7), "sd_order": (3.0, 4.3, 2.8, 4.0), "clauses": (35, 25, 51, 31),
    },
    "tFOIL": {"accuracy": (87.5, 92.1, 82.8, 80.4), "sd": (4.4, 2.6, 3.8, 5.3)},
    "kFOIL": {"accuracy": (88.8, 89.3, 87.8, 80.2), "sd": (5.0, 3.5, 4.2, 5.4)},
    "RUMBLE": {"accuracy": (91.1, 91.2, 88.4, 83.2)},
}  # fmt: skip
"""Rows of the thesis by column, for amine, toxic, acetyl and memory; the last three are of other systems (table 3.7)."""

TOGETHER = 5
"""Folds of one job."""

LINEAR = "attributes"
"""The baseline that gains are over."""

QUICK_SYSTEMS = ("ALEPH", "ALEPH ExactL2", "ALEPH++ ExactL1", "sqlrl")
QUICK_NODES = 200
COLUMNS = (
    "task", "protocol", "system", "whose", "settings", "accuracy", "sd", "auc", "sd_auc", "order", "sd_order", "order_auc",
    "gain", "gain_se", "clauses", "seconds", "folds", "memory_mb",
)  # fmt: skip


def asked_for(protocol: Protocol, settings: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the settings and the systems that are run in a protocol, or with given settings."""
    if settings == "constants":
        return (settings,), OF_THEORIES
    if protocol == "paper":
        return (settings,) if settings else ("thesis", "modes"), IN_PAPER
    return (settings or "thesis",), IN_OTHER_PROTOCOLS


def make_jobs(options: Options) -> list[Job]:
    """Return the jobs: some folds of a task with all settings."""
    jobs: list[Job] = []
    tasks = [options.chosen["task"]] if "task" in options.chosen else list(FILES)
    for name in tasks[: 1 if options.quick else None]:
        folder = options.data / "alzheimers"
        task = read_task(folder, name)
        for protocol in PROTOCOLS:
            if options.chosen.get("protocol", protocol) != protocol:
                continue
            settings, systems = asked_for(protocol, options.chosen.get("settings"))
            for seed in seeds(options, protocol):
                folds = [fold for fold in task_folds(task, protocol, seed) if options.fold in (None, fold.name)]
                folds = folds[: 1 if options.quick else None]
                for first in range(0, len(folds), TOGETHER):
                    some = tuple(folds[first : first + TOGETHER])
                    job = Job(str(folder), name, protocol, settings, some, systems, None, "areas" in options.more, seed)
                    if options.quick:
                        few = tuple(name for name in systems if name in QUICK_SYSTEMS)
                        job = replace(job, settings=settings[:1], systems=few, nodes=QUICK_NODES)
                    jobs.append(job)
            if options.quick:
                break
    return jobs


def seeds(options: Options, protocol: Protocol) -> range:
    """Return the seeds of the divisions into folds; the paper's folds are what they are."""
    count = 1 if protocol == "paper" else options.numbers.get("divisions", 1)
    return range(options.seed, options.seed + count)


def summarise(jobs: Sequence[Job], results: Sequence[Measured[list[Outcome]]]) -> list[Row]:
    """Return the table: for each task and protocol the systems, each with the paper's row before ours."""
    runs = [(job, outcome, result) for job, result in zip(jobs, results, strict=True) for outcome in result.value]
    rows: list[Row] = []
    for task, protocol in dict.fromkeys((job.task, job.protocol) for job in jobs):
        mine = [run for run in runs if (run[0].task, run[0].protocol) == (task, protocol)]
        linear = {(job.seed, x.fold): x.accuracy for job, x, _ in mine if x.system == LINEAR}
        names = (*BASELINES, *(name for name in PAPER if name not in SYSTEMS), *SYSTEMS)
        for name in names:
            head = {"task": task, "protocol": protocol, "system": name}
            if protocol == "paper" and name in PAPER:
                column = list(FILES).index(task)
                rows.append({**head, "whose": "paper", **{key: four[column] for key, four in PAPER[name].items()}})
            for settings in (None, *SETTINGS):
                own = [run for run in mine if (run[1].system, run[1].settings) == (name, settings)]
                if own:
                    rows.append({**head, "whose": "ours", "settings": settings, **_row(own, linear)})
    columns = [name for name in COLUMNS if name != "order_auc" or any(job.areas for job in jobs)]
    return [{column: row.get(column) for column in columns} for row in rows]


def gain(runs: Sequence[tuple[int, str, float]], linear: Mapping[tuple[int, str], float]) -> tuple[float, float | None]:
    """Return how much more accurate a system is than the linear model, and the standard error of that.

    Parameters
    ----------
    runs : sequence of (int, str, float)
        The seed of the division, the fold, and the accuracy there.
    linear : mapping of (int, str) to float
        The accuracy of the linear model in each fold of each division.

    Returns
    -------
    tuple of float and float or None
        The mean over all folds; its standard error over the means of divisions where there are several, else over folds, None for
        a single one.
    """
    more: dict[int, list[float]] = {}
    for seed, fold, right in runs:
        more.setdefault(seed, []).append(right - linear[seed, fold])
    every = list(chain.from_iterable(more.values()))
    units = every if len(more) == 1 else [mean_and_deviation(found).mean for found in more.values()]
    error = mean_and_deviation(units).deviation / math.sqrt(len(units)) if len(units) > 1 else None
    return mean_and_deviation(every).mean, error


def _row(
    runs: Sequence[tuple[Job, Outcome, Measured[list[Outcome]]]], linear: Mapping[tuple[int, str], float]
) -> dict[str, object]:
    """Means over the folds. Memory is that of all systems of a job together."""

    def mean(value: Callable[[Outcome], float], digits: int) -> tuple[float | None, float | None]:
        """Mean and deviation of the folds that have a value."""
        values = [value(outcome) for _, outcome, _ in runs if not math.isnan(value(outcome))]
        if not values:
            return None, None
        found = mean_and_deviation(values)
        return round(found.mean, digits), round(found.deviation, digits) if len(values) > 1 else None

    right, auc, order = mean(lambda o: o.accuracy, 1), mean(lambda o: o.auc, 3), mean(lambda o: o.order, 1)
    seconds = mean(lambda o: o.seconds_clauses + o.seconds_weights + o.seconds_predict, 1)
    above, error = gain([(job.seed, outcome.fold, outcome.accuracy) for job, outcome, _ in runs], linear)
    return {
        "accuracy": right[0], "sd": right[1], "auc": auc[0], "sd_auc": auc[1], "order": order[0], "sd_order": order[1],
        "order_auc": mean(lambda o: o.order_auc, 3)[0],
        "gain": round(above, 1), "gain_se": None if error is None else round(error, 1),
        "clauses": None if runs[0][1].settings is None else round(mean_and_deviation([o.clauses for _, o, _ in runs]).mean),
        "seconds": seconds[0],
        "folds": len(runs),
        "memory_mb": round(max(result.memory_mb for _, _, result in runs)),
    }  # fmt: skip


def unproved(results: Sequence[Measured[list[Outcome]]]) -> list[str]:
    """Say how many worlds with a transitive target are not proved to be the most probable ones."""
    gaps = [outcome.gap for result in results for outcome in result.value if not math.isnan(outcome.order)]
    left = [gap for gap in gaps if gap > 0]
    what = "worlds are not proved to be the most probable ones; they lack at most"
    return [f"order: {len(left)} of {len(gaps)} {what} {max(left):.3g}"] if left else []


def notes(jobs: Sequence[Job]) -> list[str]:
    """Say what the folds of each protocol leave untested, and which of ours is not blind."""
    found = [SEEN] if any(job.protocol == "both-new" and "sqlrl, chosen" in job.systems for job in jobs) else []
    for task, protocol in dict.fromkeys((job.task, job.protocol) for job in jobs):
        mine = (job.folds for job in jobs if (job.task, job.protocol) == (task, protocol))
        folds = list(dict.fromkeys(chain.from_iterable(mine)))
        pairs = read_task(jobs[0].folder, task).pairs
        if len(folds) >= FOLDS and untested(pairs, folds):
            found.append(f"{task}, {protocol}: {untested(pairs, folds)} of {len(pairs)} pairs are in no test")
    return found


def main() -> None:
    """Run the experiment."""
    choices = {"task": tuple(FILES), "protocol": PROTOCOLS, "settings": tuple(SETTINGS)}
    description = "Clauses by ILP with learned weights on the Alzheimer's drugs, ten folds."
    folds = [str(k + 1) for k in range(FOLDS)]
    areas = {"areas": 'the area under the ROC curve also with "order", by MC-SAT'}
    numbers = {"divisions": "how often drugs or pairs are divided into folds, from as many seeds; not the paper's"}
    options = read_options(description, needs="alzheimers", folds=folds, choices=choices, more=areas, numbers=numbers)
    jobs = make_jobs(options)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "folds", options.processes, journal=options.journal
    )
    found = [*notes(jobs), *unproved(results)]
    for note in found:
        options.console().message(note)
    details: list[Row] = []
    for job, result in zip(jobs, results, strict=True):
        sizes = {fold.name: {"train": len(fold.train), "test": len(fold.test)} for fold in job.folds}
        head = {"task": job.task, "protocol": job.protocol, "seed": job.seed, "memory_mb": result.memory_mb}
        details += [{**head, **sizes[outcome.fold], **asdict(outcome)} for outcome in result.value]
    title = "Alzheimer's drugs, ten folds" + (" (quick: one fold, short searches)" if options.quick else "")
    if options.numbers["divisions"] > 1:
        title += f" of {options.numbers['divisions']} divisions"
    if options.fold is not None:
        title += f"; only fold {options.fold}"
    used = {name for job in jobs for name in job.settings}
    settings = {name: {**given, "constants": name == "constants"} for name, given in SETTINGS.items() if name in used}
    parameters = {"settings": settings, "divisions": options.numbers["divisions"], "notes": found}
    publish("alzheimers", summarise(jobs, results), options, title=title, parameters=parameters, details=details)


if __name__ == "__main__":
    main()
