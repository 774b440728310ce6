"""The CiteSeer experiment: its folds, its jobs and the arithmetic of its table, without learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from citeseer_weights import ORDERS, QUICK_CITATIONS, READINGS, TIES, Job, Outcome, make_jobs, summarise
from harness import Measured, Options


@pytest.fixture
def options(tmp_path: Path) -> Options:
    folder = tmp_path / "citeseer"
    folder.mkdir()
    bibs = [f"b{k:04d}" for k in range(240)]
    topics = [("face", "logic", "reasoning")[k % 3] for k in range(240)]
    pq.write_table(pa.table({"bib": bibs, "topic": topics}), folder / "topic.parquet")
    return Options(tmp_path, seed=10)


def test_every_reading_order_and_fold_is_a_job(options: Options) -> None:
    jobs = make_jobs(options)
    assert len(jobs) == len(TIES) * len(READINGS) * (1 + ORDERS) * 3
    assert {job.seed for job in jobs} == {None, 10, 11, 12, 13, 14}
    for job in jobs:
        assert len(job.fold.train) == 160
        assert not set(job.fold.train) & set(job.fold.test)


def test_quick_takes_a_slice_of_each_topic(options: Options) -> None:
    jobs = make_jobs(replace(options, quick=True))
    assert len(jobs) == len(READINGS) * 3
    assert all(len(job.fold.test) == QUICK_CITATIONS for job in jobs)


def test_means_and_deviations(options: Options) -> None:
    jobs = make_jobs(options)
    shift = {"face": 0.0, "logic": 3.0, "reasoning": 6.0}

    def result(job: Job) -> Measured[Outcome]:
        f1 = 80 + shift[job.fold.name] + (0 if job.seed is None else job.seed - 12)
        return Measured(Outcome(f1, 0, 0, 50, 2, 1), 4, 300)

    rows = summarise(jobs, [result(job) for job in jobs])
    assert len(rows) == len(TIES) * len(READINGS) * 2 * (3 + 1) + 1
    in_file = next(row for row in rows if row["order"] == "file" and row["fold"] == "mean")
    assert (in_file["f1"], in_file["deviation_folds"], in_file["deviation_orders"]) == (83, 3, 0)
    seeded = next(row for row in rows if row["order"] == "5 seeded" and row["fold"] == "mean")
    assert (seeded["f1"], seeded["deviation_folds"], seeded["deviation_orders"]) == (83, 3, 1.58)
    assert (seeded["accuracy"], seeded["seconds"], seeded["memory_mb"]) == (50, 2, 300)
    assert rows[-1]["f1"] == 82.62
    assert rows[-1]["memory_mb"] is None
