"""The experiments with hard constraints: loaders, derived features, folds, jobs and tables, without a whole training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import citeseer_constraints
import cora
import cora_constraints
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from citations import (
    AUTHORS,
    CITESEER,
    CONSTRAINTS,
    EXCLUSION,
    TOPICS,
    WITHOUT_DATA,
    author_folds,
    constrained_ism,
    field_counts,
    load_citeseer,
    load_cora,
    read_ism,
    topic_folds,
)
from group_choice import Tried, attempts
from harness import Measured, Options, read_options
from segmentation import (
    CHOSEN,
    LINEAR,
    ORDERED,
    ORDERS,
    QUADRATIC,
    QUICK,
    SYSTEMS,
    Job,
    Outcome,
    inner_jobs,
    make_jobs,
    summarise,
    trained_as,
)

import sqlrl
from sqlrl.logic.subformulas import subformulas

REFERENCES = {
    "a0001": "J:author .:author Doe:author (:date 1990:date ):date .:date Trees:title ::title grow:title .:title "
    'In:venue Proc:venue .:venue AAAI:venue ,:venue pages:pages 1-9:pages May:date ?:none',
    "b0002": "Smith:author &:author Lee:author ,:author A:title book:title ,:title 1991:date",
    "b0003": " ".join(f"w{i}:title" for i in range(cora.LONGEST + 1)),
    "c0004": "1:none Poe:author ,:author E:author .:author Ravens:title",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("data")
    rows = [
        {"bib": bib, "position": i, "token": part.rpartition(":")[0], "field": part.rpartition(":")[2]}
        for bib, text in REFERENCES.items()
        for i, part in enumerate(text.split())
    ]
    pq.write_table(pa.Table.from_pylist(rows), found / "token.parquet")
    references = [{"bib": bib, "fold": bib[0], "cluster": bib} for bib in REFERENCES]
    pq.write_table(pa.Table.from_pylist(references), found / "reference.parquet")
    return found


def by_position(table: pa.Table, bib: str, value: str) -> dict[int, str]:
    rows = [row for row in table.to_pylist() if row["bib"] == bib]
    return {int(row["position"][1:]): row[value] for row in rows}


def places(table: pa.Table, bib: str) -> list[int]:
    return sorted(by_position(table, bib, "bib"))


def test_a_reference_becomes_positions_fields_and_features(folder: Path) -> None:
    found = cora.derive(folder)
    assert set(found) == set(CITESEER)
    words = [
        "tj",
        "tdoe",
        "tlparen",
        "t1990",
        "trparen",
        "ttrees",
        "tgrow",
        "tin",
        "tproc",
        "taaai",
        "tpages",
        "t19",
        "tmay",
    ]
    assert by_position(found["Token"], "a0001", "token") == dict(enumerate(words))
    fields = {0: "fauthor", 1: "fauthor", 5: "ftitle", 6: "ftitle", **dict.fromkeys(range(7, 13), "fvenue")}
    assert by_position(found["InField"], "a0001", "field") == fields
    assert places(found["HasComma"], "a0001") == [9]
    # The period after an initial is no punctuation; a parenthesis is, for the word before it too.
    assert places(found["HasPunc"], "a0001") == [1, 2, 3, 4, 5, 6, 8, 9, 12]
    follow = {(int(r["position"][1:]), r["token"]) for r in found["FollowBy"].to_pylist() if r["bib"] == "a0001"}
    assert follow == {(0, "tperiod"), (4, "tperiod"), (5, "tcolon"), (6, "tperiod"), (8, "tperiod"), (9, "tcomma")}
    assert {name: places(found[name], "a0001") for name in ("FirstIn", "FirstNonAuthorTitleTkn", "LastInitial")} == {
        "FirstIn": [7], "FirstNonAuthorTitleTkn": [8], "LastInitial": [0]
    }  # fmt: skip
    assert places(found["Center"], "a0001") == [4]
    assert {r["token"] for r in found["IsDate"].to_pylist()} == {"t1990", "t1991", "tmay"}
    assert {r["token"] for r in found["IsDigit"].to_pylist()} == {"t19", "t1"}
    assert {r["token"] for r in found["IsAlphaChar"].to_pylist()} == {"tj", "ta", "te"}


def test_a_date_after_the_title_is_venue_and_long_references_go(folder: Path) -> None:
    found = cora.derive(folder)
    assert by_position(found["InField"], "b0002", "field")[5] == "fvenue"
    assert by_position(found["Token"], "b0002", "token")[1] == "tand"
    assert "b0003" not in set(found["Token"].column("bib").to_pylist())
    assert places(found["InField"], "c0004") == [1, 2, 3]
    # Without a word that speaks of a venue and without "in" both are the length, and there is no centre.
    assert (places(found["FirstIn"], "c0004"), places(found["Center"], "c0004")) == ([4], [])
    assert places(found["LastInitial"], "c0004") == [2]


def test_next_and_less_have_the_directions_of_citeseer(folder: Path) -> None:
    found = cora.derive(folder)
    assert {"p1": "p01", "p2": "p00"} in found["Next"].to_pylist()
    assert {"p1": "p00", "p2": "p02"} in found["LessThan"].to_pylist()
    assert found["LessThan"].num_rows == (cora.LONGEST + 1) * cora.LONGEST // 2


def test_references_load_in_their_order(folder: Path) -> None:
    db = sqlrl.connect()
    labels = load_cora(db, folder)
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in CITESEER.items())
    db.advanced.bind(sqlrl.parse_mln(f"{declared}\n{EXCLUSION}"))
    names = db.sql("select name from sqlrl.example order by ordinal").fetchall()
    assert [name for (name,) in names] == ["a0001", "b0002", "c0004"]
    folds = author_folds(folder, labels)
    assert [(fold.name, fold.test) for fold in folds] == [("a", ("a0001",)), ("b", ("b0002",)), ("c", ("c0004",))]
    assert all(len(fold.test) == 1 for fold in author_folds(folder, labels, each=1))


def test_whole_fields_are_counted(folder: Path) -> None:
    db = sqlrl.connect()
    labels = load_cora(db, folder)
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in CITESEER.items())
    rules = "\n" + EXCLUSION + '\n1 Token(w, p, c) => InField(c, "fauthor", p)'
    prediction = db.predict(sqlrl.parse_mln(declared + rules), examples=["a0001", "c0004"])
    counts = field_counts(prediction, labels)
    # All positions are authors: no field is right.
    assert (counts.true_positives, counts.false_positives, counts.false_negatives) == (0, 2, 5)


# ---- CiteSeer ------------------------------------------------------------------------------------------------


def test_the_model_for_segmentation_fits_the_data(data_folder: Path) -> None:
    model = constrained_ism(data_folder / "citeseer")
    mentioned = {p.predicate for r in model.rules for p in subformulas(r.formula) if hasattr(p, "predicate")}
    assert not mentioned & set(WITHOUT_DATA)
    assert len(model.rules) == len(read_ism(data_folder / "citeseer").rules) + len(CONSTRAINTS)
    db = sqlrl.connect()
    load_citeseer(db, data_folder / "citeseer")
    assert db.advanced.bind(model, training=True).example_count == 1563


def test_c5_and_mutual_exclusion_alone_are_inexpensive(data_folder: Path) -> None:
    """Thesis, section 7.3.2; on the citations of one topic."""
    db = sqlrl.connect()
    load_citeseer(db, data_folder / "citeseer")
    (fold,) = (f for f in topic_folds(data_folder / "citeseer") if f.name == "constraint")
    costs = db.diagnose(constrained_ism(data_folder / "citeseer"), kind="costs", examples=list(fold.test))
    assert costs["counted"][:3] == ["block"] * 3
    assert costs["inexpensive"] == [True] * 3 + [False] * 6 + [True]
    growth = np.array([g for g in costs["growth"] if g is not None], dtype=float)
    assert growth[:3] == pytest.approx(3, abs=0.3)
    assert growth[3:6] == pytest.approx(2, abs=0.2)
    assert growth[6] == pytest.approx(1, abs=0.1)


def test_labels_break_the_constraints_as_often_as_the_data_say(data_folder: Path) -> None:
    """A constraint with its arguments in the wrong order would be broken in nearly every citation."""
    db = sqlrl.connect()
    load_citeseer(db, data_folder / "citeseer")
    declared = "\n".join(f"{name}({', '.join(types)})" for name, types in CITESEER.items())
    for name in ("C2", "C3", "C4", "C5"):
        model = sqlrl.parse_mln(f"{declared}\n{CONSTRAINTS[name]}", query=("InField",))
        counts = db.count(model)
        broken = int(str(counts["groundings"][0])) - int(str(counts["n"][0]))
        assert 0 < broken < 3000, name


# ---- jobs and tables -----------------------------------------------------------------------------------------


@pytest.fixture
def options(tmp_path: Path) -> Options:
    folder = tmp_path / "citeseer"
    folder.mkdir()
    bibs = [f"b{k:04d}" for k in range(200)]
    pq.write_table(pa.table({"bib": bibs, "topic": [TOPICS[k % 4] for k in range(200)]}), folder / "topic.parquet")
    return Options(tmp_path, seed=3)


@pytest.fixture
def tried(options: Options) -> list[Tried[float]]:
    """The quadratic growth is better for each topic but one."""
    pairs = [one.held for one in attempts(topic_folds(options.data / "citeseer"))]
    linear = [Tried(LINEAR, {fold.name: 0.9 for fold in pair}) for pair in pairs]
    return linear + [Tried(QUADRATIC, {a.name: better(b.name), b.name: better(a.name)}) for a, b in pairs]


def better(test: str) -> float:
    return 0.8 if test == "face" else 0.95


def test_every_system_and_fold_is_a_job(options: Options, tried: list[Tried[float]]) -> None:
    folds = topic_folds(options.data / "citeseer")
    jobs = make_jobs(options, "citeseer", 0.0001, folds, tried)
    assert len(jobs) == len(set(jobs)) == len(SYSTEMS) * 4 + len(ORDERED) * ORDERS * 4
    again = [job for job in jobs if job.shuffled]
    assert {(job.system, job.seed) for job in again} == {(x, 3 + k) for x in ORDERED for k in range(ORDERS)}
    assert all(not set(job.fold.train) & set(job.fold.test) for job in jobs)
    assert {j.fold.name for j in make_jobs(replace(options, fold="face"), "citeseer", 0.0001, folds)} == {"face"}
    quick = make_jobs(
        replace(options, quick=True), "citeseer", 0.0001, topic_folds(options.data / "citeseer", each=QUICK)
    )
    assert {(len(j.fold.test), j.fold.name) for j in quick} == {(QUICK, "constraint")}
    assert {j.system for j in quick} == set(SYSTEMS) - {CHOSEN}
    alone = make_jobs(replace(options, chosen={"system": "IBT"}), "citeseer", 0.0001, folds)
    assert alone == [j for j in jobs if j.system == "IBT"]


def test_what_is_inexpensive_is_chosen_for_each_topic(options: Options, tried: list[Tried[float]]) -> None:
    folds = topic_folds(options.data / "citeseer")
    jobs = make_jobs(options, "citeseer", 0.0001, folds, tried)
    growths = {system: {j.fold.name: j.growth for j in jobs if j.system == system} for system in SYSTEMS}
    assert growths[CHOSEN] == {topic: LINEAR if topic == "face" else QUADRATIC for topic in TOPICS}
    assert set(growths["SCT, quadratic"].values()) == {QUADRATIC}
    assert set(growths["SCT"].values()) == {LINEAR} == {sqlrl.ConstrainedTraining(sqlrl.CDA(1)).growth}
    repeated = [trained_as(j) for j in jobs if j.system == CHOSEN]
    assert len(repeated) == 16
    assert set(repeated) < {j for j in jobs if j.system in ("SCT", "SCT, quadratic")}
    inner = inner_jobs(options, "citeseer", 0.0001, folds)
    assert [job.growth for job, _ in inner] == [LINEAR] * 6 + [QUADRATIC] * 6
    assert all(not set(job.fold.train) & set(fold.test) for job, held in inner for fold in held)
    assert inner_jobs(replace(options, chosen={"system": "IBT"}), "citeseer", 0.0001, folds) == []
    quick = replace(options, quick=True)
    assert inner_jobs(quick, "citeseer", 0.0001, folds) == []
    asked = replace(quick, chosen={"system": CHOSEN})
    assert inner_jobs(asked, "citeseer", 0.0001, folds) == inner[:3] + inner[6:9]
    assert {j.system for j in make_jobs(asked, "citeseer", 0.0001, folds, tried)} == {CHOSEN}


@pytest.mark.parametrize("script", [citeseer_constraints, cora_constraints])
def test_the_paper_has_a_row_beside_ours(script: object, options: Options, tried: list[Tried[float]]) -> None:
    paper = script.PAPER  # type: ignore[attr-defined]
    assert [*paper, "SCT, quadratic", CHOSEN] == list(SYSTEMS)
    folds = topic_folds(options.data / "citeseer")
    jobs = make_jobs(options, "citeseer", 0.1, folds, tried)

    def result(job: Job) -> Measured[Outcome]:
        k = TOPICS.index(job.fold.name)
        better = 1 + job.seed - options.seed if job.shuffled else 0
        return Measured(Outcome(90 + k + better, 80 + k, 70 + k, 10, 1), 12, 300 + k)

    rows = summarise(paper, jobs, [result(job) for job in jobs])
    assert [row["whose"] for row in rows] == [
        w for x in SYSTEMS for w in (*(["paper"] if x in paper else []), "ours", *(["ours"] if x in ORDERED else []))
    ]
    ours, seeded = rows[5:7]
    assert (ours["system"], ours["order"], ours["f1_token"], ours["sd_token"]) == ("IBT", "file", 91.5, 1.29)
    assert ours["sd_orders"] is None
    # Each topic has the mean of three orders, one, two and three points better.
    assert (seeded["order"], seeded["f1_token"], seeded["sd_token"]) == ("3 seeded", 93.5, 1.29)
    assert seeded["sd_orders"] == 1.0
    assert (ours["f1_field"], ours["accuracy"], ours["seconds"], ours["memory_mb"]) == (81.5, 71.5, 10, 303)
    assert rows[4]["seconds"] == round(60 * paper["IBT"][-1], 1)
    assert rows[4]["memory_mb"] is None


def test_a_fold_is_chosen_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data", str(tmp_path), "--fold", "kibl"]
    assert read_options("x", arguments, folds=AUTHORS).fold == "kibl"
    with pytest.raises(SystemExit):
        read_options("x", [*arguments[:3], "face"], folds=AUTHORS)
    assert "invalid choice: 'face'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        read_options("x", ["--data", str(tmp_path)], needs=("", "cora-references"))
    assert "cora-references" in capsys.readouterr().err
