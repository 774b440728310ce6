"""The experiment on drugs: other directions of clauses, transitive predictions by enumeration, jobs, and its table."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from alzheimers import (
    BASELINES,
    IN_OTHER_PROTOCOLS,
    PAPER,
    QUICK_NODES,
    SYSTEMS,
    Job,
    Outcome,
    make_jobs,
    notes,
    run,
    summarise,
)
from drug_systems import COMPARED, SETTINGS, Asked, both_ways, made_transitive, ordered, pairs_of, with_attributes
from drugs import FILES, PROTOCOLS, load_drugs, read_modes, read_task, task_folds
from harness import Measured, Options

import sqlrl
from sqlrl.evaluate import auc_roc
from sqlrl.logic.printer import format_formula

DRUGS = tuple("cdfghjkmnpqr")
HEAVY = {drug: k % 5 for k, drug in enumerate(DRUGS)}
MODES = """\
:- aleph_set(i,3).
:- aleph_set(minpos,2).
:- aleph_set(evalfn,auto_m).
:- aleph_set(minscore,0.6).
:- modeh(1,better(+a,+a)).
:- modeb(*,weight(+a,-n)).
:- modeb(*,gt(+n,-n)).
:- determination(better/2,weight/2).
:- determination(better/2,gt/2).
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drugs of weights 0 to 4; the heavier one is better."""
    root = tmp_path_factory.mktemp("data")
    inner = root / "alzheimers"
    (inner / "background").mkdir(parents=True)
    pairs = [(a, b) for a, b in permutations(DRUGS, 2) if HEAVY[a] != HEAVY[b]]
    rows = [f'"{a}","{b}",{int(HEAVY[a] > HEAVY[b])},"better",{k % 10}' for k, (a, b) in enumerate(pairs)]
    for name in FILES.values():
        (inner / f"{name}.modes").write_text(MODES, encoding="utf-8")
        (inner / f"{name}.csv").write_text("\n".join(['"drug1","drug2","label","predicate","fold"', *rows]) + "\n")
    weights = "".join(f'"{drug}","{heavy}"\n' for drug, heavy in HEAVY.items())
    (inner / "background" / "weight.csv").write_text('"a0","a1"\n' + weights)
    greater = "".join(f'"{i}","{j}"\n' for i in range(5) for j in range(i))
    (inner / "background" / "gt.csv").write_text('"a0","a1"\n' + greater)
    return root


def model_of(rules: str) -> sqlrl.Model:
    return sqlrl.parse_mln(f"better(a, a)\nweight(a, n)\ngt(n, n)\n{rules}", query=("better",))


# ---- clauses ---------------------------------------------------------------------------------------------------


def test_each_clause_has_its_other_direction() -> None:
    model = model_of(
        "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)\nweight(x, n) => better(x, y)\nweight(y, n) => better(x, y)"
    )
    assert [format_formula(rule.formula) for rule in both_ways(model).rules] == [
        "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)",
        "weight(y, n) ^ weight(x, m) ^ gt(n, m) => better(x, y)",
        "weight(x, n) => better(x, y)",
        "weight(y, n) => better(x, y)",
    ]


def test_attributes_and_names_of_both_drugs(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    rules = with_attributes(model_of(""), folder / "alzheimers", bias, names=True).rules
    assert [format_formula(rule.formula) for rule in rules] == [
        "weight(a, +v1) => better(a, b)", "weight(b, +v1) => better(a, b)", "better(+a, b)", "better(a, +b)",
    ]  # fmt: skip


def test_transitive_only_among_compared_pairs(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    model = made_transitive(model_of("1 weight(x, n) => better(x, y)"), bias)
    db = sqlrl.connect()
    db.load(COMPARED, [("c", "d"), ("d", "f"), ("c", "f"), ("f", "c")], types=["a", "a"])
    db.load("weight", [("c", "1")], types=["a", "n"])
    db.scope("better", list(permutations("cdf", 2)))
    network = db.ground(model)
    # c-d-f alone is three compared pairs; f-c-d lacks f-d, and d-f-c lacks d-c.
    assert len(network.row_clause) == 1


# ---- predictions -----------------------------------------------------------------------------------------------


def test_predictions_of_pairs(folder: Path) -> None:
    inner = folder / "alzheimers"
    task, bias = read_task(inner, "toxic"), read_modes(inner, "toxic")
    db = sqlrl.connect()
    load_drugs(db, inner, bias, [("c", "d")], [("c", "d")])
    pairs = pairs_of(task)
    asked = Asked(db, bias, pairs)
    assert len(pairs) == len(DRUGS) * (len(DRUGS) - 1)
    heavier = "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)"
    found = dict(zip(pairs, asked.log_odds(model_of(f"2 {heavier}\n-0.5 better(x, y)")), strict=True))
    assert found == {(a, b): 1.5 if HEAVY[a] > HEAVY[b] else -0.5 for a, b in pairs}
    covered = asked.covered(model_of(heavier))
    assert covered.tolist() == [HEAVY[a] > HEAVY[b] for a, b in pairs]
    assert asked.of([("d", "c"), ("c", "d")], covered).tolist() == [True, False]
    assert not asked.covered(model_of("")).any()


def test_a_transitive_target_against_all_worlds() -> None:
    pairs = list(permutations("cdf", 2))
    log_odds = np.array([1.1, -0.4, 0.3, 0.9, -0.7, 0.8])
    worlds = []
    for values in product([False, True], repeat=6):
        true = {pair for pair, value in zip(pairs, values, strict=True) if value}
        if all((a, d) in true for a, b in true for c, d in true if b == c):
            worlds.append((float(log_odds[list(values)].sum()), true))
    assert 1 < len(worlds) < 64
    best = max(worlds, key=lambda world: world[0])[1]
    found = ordered(pairs, log_odds, samples=4000)
    assert found.optimal
    assert {pair for pair, value in found.truth.items() if value} == best
    total = sum(math.exp(score) for score, _ in worlds)
    for pair in pairs:
        exact = sum(math.exp(score) for score, true in worlds if pair in true) / total
        assert found.probability[pair] == pytest.approx(exact, abs=0.05)
    assert ordered(pairs, log_odds, samples=0).probability == {}


def test_area_under_the_curve() -> None:
    truth, score = np.array([True, True, False, False]), np.array([0.9, 0.2, 0.5, 0.2])
    pairs = [(s > o) + (s == o) / 2 for s in score[truth] for o in score[~truth]]
    assert auc_roc(truth, score) == np.mean(pairs) == 0.625
    assert math.isnan(auc_roc(np.array([True]), np.array([0.5])))


def test_a_fold_from_end_to_end(folder: Path) -> None:
    """Weights that compare decide everything; a drug without a heavier or lighter one in training is no obstacle."""
    job = next(job for job in make_jobs(Options(folder, quick=True)) if job.settings)
    found = {outcome.system: outcome for outcome in run(replace(job, systems=("ALEPH", "ALEPH++ ExactL1")))}
    for outcome in found.values():
        assert outcome.accuracy == 100
        assert outcome.clauses > 0
    assert (found["ALEPH++ ExactL1"].order, found["ALEPH++ ExactL1"].auc) == (100, 1)
    assert math.isnan(found["ALEPH"].order)
    baselines = run(replace(job, settings=None, systems=BASELINES))
    assert [outcome.system for outcome in baselines] == list(BASELINES)
    assert all(outcome.accuracy > 50 for outcome in baselines)


# ---- jobs and table --------------------------------------------------------------------------------------------


def test_every_task_protocol_and_fold_is_a_job(folder: Path) -> None:
    jobs = make_jobs(Options(folder))
    assert len(jobs) == len(set(jobs)) == len(FILES) * 10 * (1 + len(SETTINGS) + 2 * (len(PROTOCOLS) - 1))
    assert {job.systems for job in jobs if job.settings is None} == {BASELINES}
    assert {job.systems for job in jobs if job.settings and job.protocol == "paper"} == {tuple(SYSTEMS)}
    others = [job for job in jobs if job.settings and job.protocol != "paper"]
    assert {(job.settings, job.systems) for job in others} == {("thesis", IN_OTHER_PROTOCOLS)}
    chosen = make_jobs(Options(folder, fold="3", chosen={"task": "toxic", "protocol": "both-new"}))
    assert [(job.task, job.protocol, job.fold.name, job.settings) for job in chosen] == [
        ("toxic", "both-new", "3", None), ("toxic", "both-new", "3", "thesis"),
    ]  # fmt: skip
    quick = make_jobs(Options(folder, quick=True))
    assert [(job.task, job.protocol, job.nodes) for job in quick] == [
        ("amine", "paper", None), ("amine", "paper", QUICK_NODES),
    ]  # fmt: skip


def test_pairs_that_no_fold_tests_are_told(folder: Path) -> None:
    jobs = make_jobs(Options(folder, chosen={"task": "amine"}))
    task = read_task(folder / "alzheimers", "amine")
    tested = {pair for fold in task_folds(task, "one-new", 0) for pair in fold.test}
    missing = len(task.pairs) - len(tested)
    assert notes(jobs) == ([f"amine, one-new: {missing} of {len(task.pairs)} pairs are in no test"] if missing else [])
    assert notes([job for job in jobs if job.fold.name == "1"]) == []


def outcome(system: str, fold: int) -> Outcome:
    if system == "ALEPH":
        return Outcome(system, 80 + fold, clauses=10 + fold, seconds_clauses=2)
    return Outcome(system, 80 + fold, 90 + fold, 0.8, 0.9 if fold == 1 else math.nan, 100, 2, 3, 1, "strength 1")


def test_the_papers_rows_and_ours(folder: Path) -> None:
    kept = [("amine", "paper"), ("memory", "one-new")]
    jobs = [
        job for job in make_jobs(Options(folder)) if (job.task, job.protocol) in kept and job.fold.name in ("1", "2")
    ]

    def result(job: Job) -> Measured[list[Outcome]]:
        return Measured([outcome(system, int(job.fold.name)) for system in job.systems], 9, 300)

    rows = summarise(jobs, [result(job) for job in jobs])
    found = {(r["task"], r["protocol"], r["system"], r["whose"], r["settings"]): r for r in rows}
    assert len(found) == len(rows)
    assert sum(row["whose"] == "paper" for row in rows) == len(PAPER)
    theirs = found["amine", "paper", "ALEPH++ ExactL1", "paper", None]
    assert [theirs[name] for name in ("accuracy", "sd", "auc", "order", "sd_order", "clauses", "seconds")] == [
        89.4, 2.7, 0.954, 90.5, 3.6, 3477, None,
    ]  # fmt: skip
    for settings in SETTINGS:
        ours = found["amine", "paper", "ALEPH++ ExactL1", "ours", settings]
        assert [ours[name] for name in ("accuracy", "sd", "auc", "order", "order_auc", "clauses", "seconds")] == [
            81.5, 0.7, 0.8, 91.5, 0.9, 100, 6,
        ]  # fmt: skip
    theory = found["memory", "one-new", "ALEPH", "ours", "thesis"]
    assert (theory["accuracy"], theory["order"], theory["clauses"], theory["folds"]) == (81.5, None, 12, 2)
    assert {row["system"] for row in rows if row["protocol"] == "one-new"} == {*BASELINES, *IN_OTHER_PROTOCOLS}
    assert found["amine", "paper", "identity", "ours", None]["clauses"] is None


def test_what_the_paper_prints() -> None:
    for columns in PAPER.values():
        assert all(len(four) == len(FILES) for four in columns.values())
        assert set(columns) <= {"accuracy", "sd", "auc", "order", "sd_order", "clauses"}
