"""The experiments with OSL on CiteSeer: models, modes, jobs, choices and the arithmetic of tables, without learning."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from citations import CITESEER, TOPICS, topic_folds
from citeseer_osl import (
    BEYOND,
    BEYOND_SYSTEMS,
    MODES,
    ORDERS,
    PAPER,
    QUICK_CITATIONS,
    QUICK_FILE,
    Job,
    Outcome,
    estimator,
    make_jobs,
    read_modes,
    starting_model,
    summarise,
)
from citeseer_osl_chosen import SETTINGS, inner_jobs
from citeseer_osl_chosen import make_jobs as make_chosen
from group_choice import Tried
from harness import Measured, Options

import sqlrl
from tests.experiments.topics import write_topics

WEIGHTS = [system for system in PAPER if system.startswith("ADAGRAD")]
CLAUSES = [system for system in PAPER if system.startswith("OSL")]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return write_topics(tmp_path)


def test_the_papers_modes_leave_all_other_predicates_out(tmp_path: Path) -> None:
    modes = read_modes(tmp_path, "paper").of
    assert set(modes) == set(CITESEER)
    assert {name: mode.recall for name, mode in modes.items() if mode.recall} == {"Token": 2, "Next": 1, "InField": 2}
    assert (modes["Token"].places, modes["Token"].constants) == ((".", "+", "."), (True, False, False))
    assert (modes["Next"].places, modes["Next"].constants) == (("-", "-"), (False, False))
    assert (modes["InField"].places, modes["InField"].constants) == ((".", ".", "-"), (False, True, False))
    assert all(len(mode.places) == len(CITESEER[name]) for name, mode in modes.items())


def test_the_modes_of_the_file_are_for_the_same_predicates(data_folder: Path) -> None:
    modes = read_modes(data_folder / "citeseer", "file").of
    assert {name: len(mode.places) for name, mode in modes.items()} == {n: len(t) for n, t in CITESEER.items()}


def test_what_learning_starts_from(data_folder: Path) -> None:
    empty, chain, ism = (starting_model(data_folder / "citeseer", start) for start in ("Empty", "LC_0", "ISM"))
    assert [rule.hard for rule in empty.rules] == [True]
    assert [rule.hard for rule in chain.rules] == [False, False, True]
    assert sum(rule.hard for rule in ism.rules) == 3
    assert len(ism.rules) > 15


def test_every_row_order_and_fold_is_a_job(options: Options) -> None:
    jobs = make_jobs(options)
    paper, beyond = ([job for job in jobs if (job.beyond is None) is plain] for plain in (True, False))
    assert len(paper) == len(set(paper)) == (len(WEIGHTS) + len(MODES) * len(CLAUSES)) * (1 + ORDERS) * 4
    assert {(job.system, job.beyond) for job in beyond} == set(product(BEYOND_SYSTEMS, BEYOND))
    assert len(beyond) == len(set(beyond)) == len(BEYOND_SYSTEMS) * len(BEYOND) * 4
    assert {job.seed for job in beyond} == {None}
    assert {job.seed for job in jobs} == {None, 3, 4, 5}
    assert all((job.modes is None) == (job.system in WEIGHTS) for job in jobs)
    assert all(not set(job.fold.train) & set(job.fold.test) for job in jobs)
    assert {job.fold.name for job in make_jobs(replace(options, fold="reasoning"))} == {"reasoning"}
    one = "OSL-M1-ISM"
    assert make_jobs(replace(options, chosen={"system": one})) == [job for job in jobs if job.system == one]


def test_quick_runs_every_row_once(options: Options) -> None:
    jobs = make_jobs(replace(options, quick=True))
    assert {(job.fold.name, job.seed, len(job.fold.test)) for job in jobs} == {(TOPICS[0], None, QUICK_CITATIONS)}
    assert sorted(job.system for job in jobs if job.beyond is None) == sorted(PAPER)
    assert [job.beyond for job in jobs if job.beyond is not None] == list(BEYOND)[:2]
    assert [job.system for job in jobs if job.modes == "file"] == [QUICK_FILE]


def test_every_row_has_its_learner(options: Options) -> None:
    for job in make_jobs(options):
        if job.modes == "file":
            continue
        learner = estimator(job)
        assert (learner.order, learner.random_state) == (("file", None) if job.seed is None else ("shuffle", job.seed))
        found = learner.get_params()
        assert [found[name] for name in ("strength", "learning_rate", "delta")] == [0.001, 1, 1]
        assert found["passes"] == (2 if job.beyond == "two passes" else 1)
        if job.system in CLAUSES:
            off = {"longest_only": False, "pool": 1, "look_ahead": False}
            changed = {name for name, value in off.items() if found[name] != value}
            assert len(changed) == (job.beyond not in (None, "two passes"))
            assert isinstance(learner, sqlrl.OSL)
            assert (learner.max_length, learner.min_count_difference) == (4, 2 if "M2" in job.system else 1)


def test_the_papers_rows_and_our_means_and_deviations(options: Options) -> None:
    jobs = make_jobs(options)

    def result(job: Job) -> Measured[Outcome]:
        f1 = 90.0 + TOPICS.index(job.fold.name) + (0 if job.seed is None else 2 * (job.seed - 4))
        added = 0 if job.modes is None else 10 if job.modes == "file" else 20
        return Measured(Outcome(f1, 50, 100, added, 2.5, 1), 9, 300)

    rows = summarise(jobs, [result(job) for job in jobs])
    assert len(rows) == len(PAPER) + 2 * len(WEIGHTS) + 4 * len(CLAUSES) + len(BEYOND_SYSTEMS) * len(BEYOND)
    few = [job for job in jobs if job.system == "OSL-M1-ISM"]
    assert summarise(few, [result(job) for job in few]) == [row for row in rows if row["system"] == "OSL-M1-ISM"]
    beyond = [(row["system"], row["beyond"]) for row in rows if row["beyond"] is not None]
    assert beyond == [(system, name) for system in PAPER if system in BEYOND_SYSTEMS for name in BEYOND]
    last = [row for row in rows if row["system"] == "OSL-M1-Empty"]
    shown = [(row["whose"], row["modes"], row["order"], row["added"]) for row in last]
    assert shown == [
        ("paper", None, "one", None),
        ("ours", "file", "file", 10),
        ("ours", "file", "3 seeded", 10),
        ("ours", "paper", "file", 20),
        ("ours", "paper", "3 seeded", 20),
    ]
    assert (last[0]["f1"], last[0]["clauses"], last[0]["seconds"]) == (94.03, 15212, 15435.6)
    assert (last[1]["f1"], last[1]["sd_folds"], last[1]["sd_orders"]) == (91.5, 1.29, None)
    assert (last[2]["f1"], last[2]["sd_folds"], last[2]["sd_orders"]) == (91.5, 1.29, 2)
    assert (last[2]["accuracy"], last[2]["clauses"], last[2]["seconds"], last[2]["memory_mb"]) == (50, 100, 2.5, 300)


def test_every_pair_of_topics_is_left_out_with_every_setting(options: Options) -> None:
    folds = topic_folds(options.data / "citeseer")
    found = inner_jobs(options, "OSL-M1-ISM", folds)
    assert len(found) == len(set(found)) == len(SETTINGS) * 6
    assert {(job.delta, job.regularization) for job, _ in found} == set(SETTINGS)
    for job, _ in found[:: len(SETTINGS)]:
        learner = estimator(replace(job, modes="paper"))
        assert (learner.get_params()["delta"], learner.get_params()["strength"]) == (
            job.delta,
            job.regularization,
        )
    face = replace(options, fold="face")
    assert len(inner_jobs(face, "OSL-M1-ISM", folds)) == len(SETTINGS) * 3
    assert len(inner_jobs(replace(face, quick=True), "OSL-M1-ISM", folds)) == 2 * 3


def test_each_topic_is_learned_with_what_was_chosen_for_it(options: Options) -> None:
    folds = topic_folds(options.data / "citeseer")
    best = dict(zip(TOPICS, SETTINGS, strict=False))
    tried = [
        Tried(setting, {a.name: float(best[b.name] == setting), b.name: float(best[a.name] == setting)})
        for setting in SETTINGS
        for a, b in combinations(folds, 2)
    ]
    jobs = make_chosen(options, folds, {"OSL-M1-ISM": tried})
    assert {(job.fold.name, job.seed) for job in jobs} == set(product(TOPICS, (None, 3, 4, 5)))
    assert all((job.delta, job.regularization) == best[job.fold.name] for job in jobs)
