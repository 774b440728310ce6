"""The experiment on ads: what is derived from tokens and labels, its models, jobs and table, without learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ads import ADS, MODES, derive, load_ads, starting_model
from ads_osl import FOLDS, PAPER, QUICK_ADS, Outcome, estimator, make_jobs, read_folds, summarise, title
from harness import Measured, Options

import sqlrl

TEXTS = {
    "b": "3*:starrating four:hotelname points,:hotelname ,:none $27.50:none 05/11/03:none 10:none",
    "a": "6:none p.m.:none $1,250:none 6/24:none 9:30am:none (:none 555-123-4567:none www.hotel.com:none me@x.org:none 25th:none",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("data")
    rows = [
        {"ad": ad, "position": i, "token": part.rpartition(":")[0], "field": part.rpartition(":")[2]}
        for ad, text in TEXTS.items()
        for i, part in enumerate(text.split())
    ]
    pq.write_table(pa.Table.from_pylist(rows), found / "token.parquet")
    return found


def of_ad(table: pa.Table, ad: str, value: str) -> list[str]:
    rows = sorted((row["position"], row[value]) for row in table.to_pylist() if row["ad"] == ad)
    return [found for _, found in rows]


def test_tokens_become_classes(folder: Path) -> None:
    token = derive(folder)["Token"]
    assert of_ad(token, "b", "token") == ["3*", "four", "points,", ",", "<price>", "<date>", "<number>"]
    assert of_ad(token, "a", "token") == [
        "<number>", "p.m.", "<price>", "<date>", "<time>", "(", "<phone>", "<url>", "<email>", "25th",
    ]  # fmt: skip


def test_punctuation_and_labels(folder: Path) -> None:
    found = derive(folder)
    # The star of a rating is no punctuation.
    assert of_ad(found["HasPunc"], "b", "position") == ["p02", "p03"]
    assert of_ad(found["HasPunc"], "a", "position") == ["p01", "p05"]
    fields = ["starrating", "hotelname", "hotelname"]
    assert (of_ad(found["InField"], "b", "field"), of_ad(found["InField"], "a", "field")) == (fields, [])
    assert {name: tuple(table.column_names) for name, table in found.items()} == {
        "Token": ("token", "position", "ad"),
        "Next": ("p1", "p2"),
        "HasPunc": ("ad", "position"),
        "InField": ("ad", "field", "position"),
    }


def test_next_goes_forward_to_the_last_position(folder: Path) -> None:
    rows = derive(folder)["Next"].to_pylist()
    assert rows == [{"p1": f"p{i:02d}", "p2": f"p{i + 1:02d}"} for i in range(9)]


def test_ads_load_and_every_position_has_atoms(folder: Path) -> None:
    db = sqlrl.connect()
    load_ads(db, folder)
    for start, clauses in (("Empty", 1), ("ISM", 3)):
        model = starting_model(start)
        assert len(model.rules) == clauses
        db.advanced.bind(model, training=True)
    assert db.sql("select name from sqlrl.example order by ordinal").fetchall() == [("a",), ("b",)]
    atoms = db.predict(starting_model("Empty"), examples=["a", "b"]).atoms(every=True)
    assert atoms.num_rows == 2 * 17


def test_transitions_stop_at_punctuation(folder: Path) -> None:
    """In "b" the name ends at "points,": there the field ends without breaking a rule, as it would if punctuation did not count."""
    db = sqlrl.connect()
    load_ads(db, folder)
    transition = 'InField(c, "hotelname", p1) ^ Next(p1, p2) => InField(c, "hotelname", p2)'
    rules = f"1 !HasPunc(c, p1) ^ {transition}\n1 {transition}\n"
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in ADS.items())
    counts = db.count(sqlrl.parse_mln(f"{declared}\n{rules}", query=("InField",)))
    broken = [int(str(total)) - int(str(n)) for total, n in zip(counts["groundings"], counts["n"], strict=True)]
    assert ["HasPunc" in str(text) for text in counts["text"]] == [True, False]
    assert broken == [0, 1]


def test_modes_are_for_all_predicates() -> None:
    modes = sqlrl.parse_modes(MODES).of
    assert {name: len(mode.places) for name, mode in modes.items()} == {name: len(types) for name, types in ADS.items()}


# ---- jobs and tables -----------------------------------------------------------------------------------------


@pytest.fixture
def options(tmp_path: Path) -> Options:
    inner = tmp_path / "hotel-ads"
    inner.mkdir()
    names = [f"x{(7 * k) % 500:03d}" for k in range(500)]
    rows = {"ad": [n for n in names for _ in range(2)], "position": [0, 1] * 500, "token": ["a", "b"] * 500}
    pq.write_table(pa.table(rows | {"field": ["none"] * 1000}), inner / "token.parquet")
    return Options(tmp_path, seed=4)


def test_five_folds_by_ad_and_seed(options: Options) -> None:
    folder = options.data / "hotel-ads"
    folds = read_folds(folder, 4)
    assert len(folds) == FOLDS == 5
    assert sorted(name for fold in folds for name in fold.test) == sorted({f"x{k:03d}" for k in range(500)})
    for fold in folds:
        assert (len(fold.train), len(fold.test)) == (400, 100)
        assert not set(fold.train) & set(fold.test)
    assert read_folds(folder, 4) == folds
    assert read_folds(folder, 5) != folds
    assert sum(len(fold.test) for fold in read_folds(folder, 4, most=60)) == 60


def test_every_system_and_fold_is_a_job(options: Options) -> None:
    jobs = make_jobs(options)
    assert len(jobs) == len(set(jobs)) == len(PAPER) * FOLDS
    assert {job.fold.name for job in make_jobs(replace(options, fold="2"))} == {"2"}
    quick = make_jobs(replace(options, quick=True))
    assert {(job.fold.name, len(job.fold.train) + len(job.fold.test)) for job in quick} == {("1", QUICK_ADS)}


def test_every_row_has_its_learner() -> None:
    for system in PAPER:
        learner = estimator(system)
        found = learner.get_params()
        assert [found[name] for name in ("strength", "learning_rate", "delta", "order")] == [0.001, 1, 1, "file"]
        assert isinstance(learner, sqlrl.OSL) == system.startswith("OSL")
        if isinstance(learner, sqlrl.OSL):
            assert (learner.max_length, learner.min_count_difference) == (4, 2 if "M2" in system else 1)


def test_the_table_says_that_the_papers_data_are_others(options: Options) -> None:
    jobs = make_jobs(options)
    results = [Measured(Outcome(90 + int(j.fold.name), 70, 100, 10, 3, 1), 5, 300 + int(j.fold.name)) for j in jobs]
    rows = summarise(jobs, results)
    assert [row["data"] for row in rows] == ["paper: Craigslist, other data", "ours: hotel ads"] * len(PAPER)
    theirs, ours = rows[4:6]
    assert (theirs["system"], theirs["f1"], theirs["seconds"], theirs["sd_folds"]) == (
        "OSL-M1-ISM",
        81.58,
        2017.8,
        None,
    )
    assert (ours["system"], ours["f1"], ours["sd_folds"], ours["memory_mb"]) == ("OSL-M1-ISM", 93, 1.58, 305)
    for shown in (title(options), title(replace(options, quick=True)), title(replace(options, fold="3"))):
        assert "stand-in for Craigslist, which is not available" in shown
