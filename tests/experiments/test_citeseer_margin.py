"""The experiment with max-margin weights on CiteSeer: its jobs and the arithmetic of its table, without learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from citations import TOPICS
from citeseer_margin import CHOSEN, PAPER, QUICK_CITATIONS, QUICK_SYSTEMS, Job, Outcome, make_jobs, parameter, summarise
from harness import Measured, Options

from tests.experiments.topics import write_topics

SYSTEMS = [system for system in PAPER if system not in CHOSEN]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return write_topics(tmp_path)


def test_every_row_with_a_parameter_is_a_job_for_each_topic(options: Options) -> None:
    jobs = make_jobs(options)
    assert len(jobs) == len(set(jobs)) == 10 * 4
    assert [job.system for job in jobs if job.fold.name == "face"] == SYSTEMS
    assert all(not set(job.fold.train) & set(job.fold.test) for job in jobs)
    assert {job.fold.name for job in make_jobs(replace(options, fold="reasoning"))} == {"reasoning"}
    quick = make_jobs(replace(options, quick=True))
    assert {(job.fold.name, len(job.fold.test)) for job in quick} == {(TOPICS[0], QUICK_CITATIONS)}
    assert [job.system for job in quick] == list(QUICK_SYSTEMS)


def result(job: Job) -> Measured[Outcome]:
    """On `face` more is better, elsewhere less; on held-out training citations it is the other way round."""
    more = parameter(job.system) / 100_000 * (1 if job.fold.name == "face" else -1)
    return Measured(Outcome(0.9 + more, 0.9 - more, 4, 1), 9, 300)


def test_a_parameter_is_chosen_on_training_citations(options: Options) -> None:
    jobs = make_jobs(options)
    rows = summarise(jobs, [result(job) for job in jobs])
    assert [row["system"] for row in rows] == [system for system in PAPER for _ in range(2)]
    theirs, ours = (row for row in rows if row["system"] == "MM-Hamming-LPRelax")
    assert (theirs["whose"], theirs["face"], theirs["mean"], theirs["parameter"]) == ("paper", 0.922, 0.934, None)
    assert (ours["face"], ours["constraint"], ours["parameter"]) == (0.9, 0.8, "10000, 1, 10000, 10000")
    fixed = next(row for row in rows if row["system"] == "MM-Hamming-LPRelax-1000" and row["whose"] == "ours")
    assert (fixed["face"], fixed["mean"], fixed["sd_folds"], fixed["parameter"]) == (0.91, 0.895, 0.01, None)
    assert (fixed["seconds"], fixed["seconds_predict"], fixed["memory_mb"]) == (4, 1, 300)


def test_one_fold_has_no_deviation(options: Options) -> None:
    jobs = make_jobs(replace(options, quick=True))
    rows = summarise(jobs, [result(job) for job in jobs])
    ours = [row for row in rows if row["whose"] == "ours"]
    assert sorted(str(row["system"]) for row in ours) == sorted([*QUICK_SYSTEMS, *CHOSEN])
    assert {(row["sd_folds"], row["face"]) for row in ours} == {(None, None)}
