"""Online structure learning on the CiteSeer citations with lambda and delta chosen on the training topics.

Huynh and Mooney, "Online Structure Learning for Markov Logic Networks" (2011), section 4: lambda = 0.001 and eta = delta = 1 were set on
a development set of Craigslist, which is not public, and used for CiteSeer, too. Here they are chosen for each test topic on the three
others: of the decades around the paper's values those with the best mean F1 on one of the three after training on the other two, in file
order; of equals the first in the order of `SETTINGS`. The models start with weights of 0, so that eta scales all weights and changes no
prediction: it stays 1. With the modes of `osl-modes.txt`; `citeseer_osl.py` has the rows with the paper's values.

    python experiments/citeseer_osl_chosen.py [--system NAME] [--fold NAME] [--quick] [--processes N] [--seed N] [--db FILE] [--json FILE]
                                          [--data DIR]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product

from citations import TOPICS, topic_folds
from citeseer_osl import ORDERS, PAPER, QUICK_CITATIONS, Job, Outcome, averaged, run, train
from group_choice import Tried, attempts, choose
from harness import Measured, Options, Row, publish, read_options, run_jobs

from sqlrl.evaluate import Fold

SYSTEMS = tuple(system for system in PAPER if system.startswith("OSL"))

SETTINGS = tuple(product((1.0, 0.1, 10.0), (0.001, 0.0001, 0.01)))
"""Delta and lambda, the paper's first."""

COLUMNS = (
    "system", "whose", "values", "order", "f1", "sd_folds", "sd_orders", "accuracy", "clauses", "added", "seconds", "memory_mb",
)  # fmt: skip


Setting = tuple[float, float]


def with_setting(job: Job, setting: Setting) -> Job:
    """Return the job with another delta and lambda."""
    delta, regularization = setting
    return replace(job, delta=delta, regularization=regularization)


def attempt(job: Job, held: tuple[Fold[str], Fold[str]]) -> Tried[Setting]:
    """Learn on the topics of a job, and predict each of the others."""
    db, learner, _ = train(job)
    f1 = {fold.name: 100 * db.evaluate(db.predict(learner.model_, examples=list(fold.test))).f1 for fold in held}
    return Tried((job.delta, job.regularization), f1)


def inner_jobs(
    options: Options, system: str, folds: Sequence[Fold[str]]
) -> list[tuple[Job, tuple[Fold[str], Fold[str]]]]:
    """Return the arguments of `attempt` for each setting and two topics that are left out."""
    folder = str(options.data / "citeseer")
    return [
        (with_setting(Job(folder, system, "file", None, one.fold), setting), one.held)
        for setting, one in product(SETTINGS[: 2 if options.quick else None], attempts(folds, options.fold))
    ]


def make_jobs(options: Options, folds: Sequence[Fold[str]], tried: Mapping[str, Sequence[Tried[Setting]]]) -> list[Job]:
    """Return a job for each system, order and fold, each with what was chosen for its fold."""
    seeds = [None, *range(options.seed, options.seed + (0 if options.quick else ORDERS))]
    return [
        with_setting(Job(str(options.data / "citeseer"), system, "file", seed, fold), choose(tried[system], fold.name))
        for system, seed in product(tried, seeds)
        for fold in folds
        if options.fold in (None, fold.name)
    ]


def summarise(jobs: Sequence[Job], results: Sequence[Measured[Outcome]]) -> list[Row]:
    """Return the table: for each system the paper's row and ours, in file order and in seeded orders."""
    runs = list(zip(jobs, results, strict=True))
    rows: list[Row] = []
    for system in dict.fromkeys(job.system for job in jobs):
        f1, deviation, minutes, clauses = PAPER[system]
        paper = {"system": system, "whose": "paper", "values": "other data", "order": "one", "f1": f1}
        rows.append(paper | {"sd_folds": deviation, "clauses": clauses, "seconds": round(60 * minutes, 1)})
        for seeded in (False, True):
            mine = [(j, r) for j, r in runs if j.system == system and (j.seed is not None) == seeded]
            if mine:
                rows.append({"system": system, "whose": "ours", "values": "chosen", **averaged(mine)})
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def main() -> None:
    """Run the experiment."""
    options = read_options(
        "OSL on CiteSeer, one topic left out, lambda and delta chosen on the other topics.",
        needs="citeseer",
        folds=TOPICS,
        choices={"system": SYSTEMS},
    )
    folds = topic_folds(options.data / "citeseer", each=QUICK_CITATIONS if options.quick else None)
    if options.quick and options.fold is None:
        options = replace(options, fold=folds[0].name)
    systems = [options.chosen["system"]] if "system" in options.chosen else SYSTEMS[: 1 if options.quick else None]
    inner = [one for system in systems for one in inner_jobs(options, system, folds)]
    found = run_jobs(attempt, inner, options.console(), "choosing", options.processes, journal=options.journal)
    tried = {
        system: [result.value for (job, _), result in zip(inner, found, strict=True) if job.system == system]
        for system in systems
    }
    jobs = make_jobs(options, folds, tried)
    results = run_jobs(
        run, [(job,) for job in jobs], options.console(), "trainings", options.processes, journal=options.journal
    )
    details: list[Row] = [
        {"system": j.system, "seed": j.seed, "fold": j.fold.name, "delta": j.delta, "regularization": j.regularization, **asdict(r.value), "memory_mb": r.memory_mb}
        for j, r in zip(jobs, results, strict=True)
    ]  # fmt: skip
    values = {
        system: {j.fold.name: {"delta": j.delta, "lambda": j.regularization} for j in jobs if j.system == system}
        for system in systems
    }
    title = "CiteSeer, OSL, leave one topic out, lambda and delta chosen" + (
        " (quick: a slice, two settings)" if options.quick else ""
    )
    if options.fold is not None:
        title += f"; only {options.fold}"
    parameters = {"max_length": 4, "learning_rate": 1, "settings": SETTINGS, "modes": "file", "values": values}
    publish(
        "citeseer_osl_chosen", summarise(jobs, results), options, title=title, parameters=parameters, details=details
    )


if __name__ == "__main__":
    main()
