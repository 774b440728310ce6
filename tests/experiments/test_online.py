"""The experiment with online learners: its folds, its jobs, the choice of sigma and the arithmetic of its table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from citations import TOPICS
from citeseer_online import ORDERS, PAPER, QUICK_CITATIONS, QUICK_SIGMAS, Job, Outcome, make_jobs, maker, summarise
from harness import Measured, Options
from sigma_choice import SIGMAS, Make, choose_sigma

import sqlrl
from tests.experiments.topics import write_topics

SYSTEMS = [system for system in PAPER if system != "MM-HM"]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return write_topics(tmp_path)


def test_every_system_order_and_fold_is_a_job(options: Options) -> None:
    jobs = make_jobs(options)
    assert len(jobs) == len(set(jobs)) == len(SYSTEMS) * (1 + ORDERS) * 4
    assert {job.seed for job in jobs} == {None, 3, 4, 5}
    assert {job.sigmas for job in jobs} == {SIGMAS}
    for job in jobs:
        assert (len(job.fold.train), len(job.fold.test)) == (150, 50)
        assert not set(job.fold.train) & set(job.fold.test)
    assert {job.fold.name for job in make_jobs(replace(options, fold="face"))} == {"face"}


def test_quick_takes_a_slice_of_each_topic_one_fold_and_few_sigmas(options: Options) -> None:
    jobs = make_jobs(replace(options, quick=True))
    assert len(jobs) == len(SYSTEMS)
    assert {(len(job.fold.test), len(job.fold.train)) for job in jobs} == {(QUICK_CITATIONS, 3 * QUICK_CITATIONS)}
    assert {(job.sigmas, job.seed) for job in jobs} == {(QUICK_SIGMAS, None)}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_row_has_its_learner(options: Options, system: str) -> None:
    jobs = [job for job in make_jobs(options) if job.system == system]
    for job in (jobs[0], jobs[-1]):
        make, sigmas = maker(job)
        learner = make(0.01)
        found = cast(Any, learner).get_params()
        loss = "f1" if system.endswith("F1") else "hamming"
        assert found.get("loss", "hamming") == loss
        assert (found["order"], found["random_state"]) == (
            ("file", None) if job.seed is None else ("shuffle", job.seed)
        )
        if "MIRA" in system:
            assert isinstance(learner, sqlrl.baselines.MIRA)
            assert sigmas == (None,)
            continue
        assert isinstance(learner, sqlrl.CDA if "CDA" in system else sqlrl.baselines.Subgradient)
        assert found["strength"] == 0.01
        assert found["update"] == ("prediction" if "-PL-" in system else "maximal")
        assert sigmas == SIGMAS


def test_the_papers_rows_and_our_means_and_deviations(options: Options) -> None:
    jobs = make_jobs(options)

    def result(job: Job) -> Measured[Outcome]:
        f1 = 80.0 + 2 * TOPICS.index(job.fold.name) + (0 if job.seed is None else job.seed - 4)
        return Measured(Outcome(f1, 50, 0.01, 4 if job.seed is None else 6, 1), 9, 300 + TOPICS.index(job.fold.name))

    rows = summarise(jobs, [result(job) for job in jobs])
    assert [row["order"] for row in rows] == ["paper"] + ["paper", "file", "3 seeded"] * len(SYSTEMS)
    theirs, in_file, seeded = rows[-3:]
    assert (theirs["system"], theirs["face"], theirs["mean"], theirs["sd_folds"]) == ("CDA-ML-HM", 93.2, 94.37, 2.13)
    assert theirs["seconds"] == 773.2
    assert theirs["memory_mb"] is None
    assert [in_file[topic] for topic in TOPICS] == [80, 82, 84, 86]
    assert (in_file["mean"], in_file["sd_folds"], in_file["sd_orders"]) == (83, 2.58, None)
    assert (seeded["mean"], seeded["sd_folds"], seeded["sd_orders"], seeded["seconds"]) == (83, 2.58, 1, 6)
    assert seeded["memory_mb"] == 303


def test_one_fold_has_no_deviation(options: Options) -> None:
    jobs = make_jobs(replace(options, quick=True))
    rows = summarise(jobs, [Measured(Outcome(90, 50, None, 1, 1), 2, 300) for _ in jobs])
    assert (rows[-1]["mean"], rows[-1]["sd_folds"], rows[-1]["face"]) == (90, None, None)


MISTAKES = {0.1: 5.0, 0.01: 3.0, 0.001: 3.0}


class Remembering:
    """A learner that makes as many mistakes as it is told for each sigma."""

    model_: sqlrl.Model

    def __init__(self, sigma: float, met: list[tuple[float, object]]) -> None:
        self.sigma, self.met = sigma, met
        self.steps_ = pa.table({"loss": pa.array([], pa.float64())})

    def fit(self, db: sqlrl.Database, model: sqlrl.Model, *, examples: object = None) -> Remembering:
        self.met.append((self.sigma, examples))
        self.steps_ = pa.table({"loss": [MISTAKES.get(self.sigma, 9.0) - 1, 1]})
        return self


def test_sigma_is_chosen_by_mistakes_on_the_examples_given() -> None:
    met: list[tuple[float, object]] = []
    make: Make = lambda sigma: Remembering(sigma, met)  # noqa: E731
    nothing = cast(Any, None)
    found = choose_sigma(nothing, nothing, make, ("a", "b"), (0.1, 0.01, 0.001))
    assert found.sigma == 0.01
    assert found.estimator is not None
    assert met == [(0.1, ["a", "b"]), (0.01, ["a", "b"]), (0.001, ["a", "b"])]
    assert choose_sigma(nothing, nothing, make, ("a",), (None,)).sigma is None
    assert met[-1] == (0.0, ["a"])
