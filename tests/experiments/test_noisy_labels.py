"""The experiment with noisy labels: what swapping does to labels, its jobs and the arithmetic of its table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from citations import TOPICS
from harness import Measured, Options
from noisy_labels import (
    LEARNERS,
    NOISE,
    PAPER_DROP,
    QUICK_NOISE,
    QUICK_SIGMAS,
    Job,
    Outcome,
    draw,
    make_jobs,
    summarise,
    swapped,
)
from sigma_choice import SIGMAS

from tests.experiments.topics import write_topics

LONG, CITATIONS = 30, 40


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return write_topics(tmp_path)


@pytest.fixture(scope="module")
def labels() -> pa.Table:
    """Citations of 30 positions in which no two have the same field, so that every swap shows; b0 has one position alone."""
    rows = [
        {"bib": f"b{c}", "field": f"f{p}", "position": f"p{p:02d}"}
        for c in range(CITATIONS)
        for p in range(1 if c == 0 else LONG)
    ]
    return pa.Table.from_pylist(rows)


def by_citation(labels: pa.Table) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in labels.to_pylist():
        found.setdefault(row["bib"], Counter())[row["field"]] += 1
    return found


CHOSEN = [f"b{c}" for c in range(30)]


def test_no_noise_changes_nothing(labels: pa.Table) -> None:
    assert swapped(labels, CHOSEN, 0, 1).equals(labels)


def test_only_training_citations_change_and_keep_their_fields(labels: pa.Table) -> None:
    noisy = swapped(labels, CHOSEN, 0.4, 1)
    assert noisy.column_names == labels.column_names
    for name in ("bib", "position"):
        assert noisy.column(name).equals(labels.column(name))
    pairs = zip(labels.to_pylist(), noisy.to_pylist(), strict=True)
    changed = {before["bib"] for before, after in pairs if before != after}
    # A citation of one position has nothing to swap with.
    assert changed == set(CHOSEN) - {"b0"}
    assert by_citation(noisy) == by_citation(labels)


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5])
def test_as_many_swaps_as_the_probability_says(labels: pa.Table, probability: float) -> None:
    """A position keeps its field when it starts no swap and no other one takes it: about (1 - p) exp(-p)."""
    noisy = swapped(labels, CHOSEN, probability, 2)
    pairs = list(zip(labels.to_pylist(), noisy.to_pylist(), strict=True))
    met = [before != after for before, after in pairs if before["bib"] in CHOSEN and before["bib"] != "b0"]
    untouched = (1 - probability) * (1 - probability / (LONG - 1)) ** (LONG - 1)
    assert sum(met) / len(met) == pytest.approx(1 - untouched, abs=0.04)


def test_the_same_seed_swaps_the_same_labels(labels: pa.Table) -> None:
    assert swapped(labels, CHOSEN, 0.2, 5).equals(swapped(labels, CHOSEN, 0.2, 5))
    assert not swapped(labels, CHOSEN, 0.2, 5).equals(swapped(labels, CHOSEN, 0.2, 6))


# ---- jobs and tables -----------------------------------------------------------------------------------------


def test_every_learner_probability_and_fold_is_a_job(options: Options) -> None:
    jobs = make_jobs(options)
    assert len(jobs) == len(set(jobs)) == len(LEARNERS) * len(NOISE) * 4
    assert {(job.seed, job.sigmas) for job in jobs} == {(3, SIGMAS)}
    quick = make_jobs(replace(options, quick=True))
    assert len(quick) == len(LEARNERS) * len(QUICK_NOISE)
    assert {(job.fold.name, job.sigmas) for job in quick} == {(TOPICS[0], QUICK_SIGMAS)}


def f1(job: Job) -> float:
    loss = {"cda": 8, "mira": 20, "subgradient": 12}[job.learner]
    return 90 + TOPICS.index(job.fold.name) - loss * 2 * job.noise


def test_points_lost_to_noise(options: Options, tmp_path: Path) -> None:
    jobs = make_jobs(options)
    rows = summarise(jobs, [Measured(Outcome(f1(job), 0.1, 1), 1, 300) for job in jobs])
    assert [row["noise"] for row in rows[:-1]] == [f"{p:g}" for p in NOISE]
    assert [rows[0][f"lost_{learner}"] for learner in LEARNERS] == [0, 0, 0]
    assert [rows[-2][f"lost_{learner}"] for learner in LEARNERS] == [8, 20, 12]
    assert (rows[-2]["mira"], rows[-2]["sd_mira"]) == (71.5, 1.29)
    assert {learner: rows[-1][f"lost_{learner}"] for learner in LEARNERS} == PAPER_DROP
    assert list(rows[-1]) == list(rows[0])
    pytest.importorskip("matplotlib")
    draw(rows, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_one_fold_has_no_deviation_and_a_plot(options: Options, tmp_path: Path) -> None:
    jobs = make_jobs(replace(options, quick=True))
    rows = summarise(jobs, [Measured(Outcome(f1(job), None, 1), 1, 300) for job in jobs])
    assert (rows[1]["cda"], rows[1]["sd_cda"]) == (82, None)
    pytest.importorskip("matplotlib")
    draw(rows, tmp_path / "curves.svg")
    assert "<svg" in (tmp_path / "curves.svg").read_text(encoding="utf-8")
