"""The experiment on transfer: which companies are whose, and what its table says, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import duckdb
import numpy as np
import pytest
from harness import Measured, keep, to_table
from organisations import INDUSTRIAL, TESTED, generate
from transfer_synthetic import MSL, NEW, PAPER, SCRATCH, Job, Outcome, companies, single_runs, summarise


def job(system: str, examples: int, run: int) -> Job:
    return Job(system, examples, run, 0, "")


def test_fewer_companies_are_the_first_ones_and_the_test_is_another() -> None:
    (small, test), (large, same) = (companies(job(NEW, n, 2)) for n in (1, 3))
    assert list(large.areas)[:1] == list(small.areas)
    assert len(large.areas) == 3
    assert test.areas == same.areas
    assert not set(test.areas) & set(generate(INDUSTRIAL, seed=2, count=4).areas)
    assert companies(job(NEW, 1, 1))[1].areas != test.areas


def test_the_table_has_means_errors_and_shares(tmp_path: Path) -> None:
    jobs, results = [], []
    for system, candidates in ((NEW, 100), (MSL, 400), (SCRATCH, 900)):
        for n in (1, 2):
            for k in range(2):
                jobs.append(job(system, n, k))
                auc = dict(zip(TESTED, (0.5 + 0.2 * k, math.nan), strict=True))
                found = Outcome(dict.fromkeys(TESTED, -0.1 * n), auc, candidates + 20 * k, 7, 2.0 * n, 9, 4, 18)
                results.append(Measured(found, 1.0, 10.0))
    rows = {(row["system"], row["examples"]): row for row in summarise(jobs, results)}
    first, second = TESTED
    row = rows[NEW, 2]
    assert (row["candidates"], row["runs"], row["marked"]) == (110.0, 2, 4.0)
    assert row["candidates_sd"] == pytest.approx(np.std([100, 120], ddof=1), abs=0.01)
    assert (row[f"auc_{first}"], row[f"auc_{first}_se"]) == (0.6, 0.1)
    assert (row[f"auc_{second}"], row[f"cll_{second}"]) == (None, -0.2)
    assert row["paper_candidates"] == PAPER[NEW][2][0]
    assert rows[SCRATCH, 1]["paper_candidates"] is None
    share = rows[f"{NEW} / {MSL}", 1]
    assert (share["candidates"], share["seconds"]) == (round(110 / 410, 4), 1.0)
    assert rows[f"{NEW} / {MSL}, on average", None]["paper_candidates"] == pytest.approx(
        np.mean([PAPER[NEW][n][0] / PAPER[MSL][n][0] for n in (1, 2)]), abs=1e-4
    )
    # The table and the single trainings can be kept.
    tables = {"table": to_table(list(rows.values())), "trainings": to_table(single_runs(jobs, results))}
    keep(tmp_path / "kept.duckdb", "transfer_synthetic", {"seed": 0}, tables)
    with duckdb.connect(str(tmp_path / "kept.duckdb")) as kept:
        query = "select count(distinct repetition), count(*) from experiment.trainings"
        assert kept.execute(query).fetchone() == (2, len(jobs))
