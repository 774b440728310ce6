"""The experiment on drugs: what is made of clauses, transitive predictions by enumeration, jobs, and its table."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import drug_systems
import numpy as np
import pytest
from alzheimers import (
    IN_OTHER_PROTOCOLS,
    IN_PAPER,
    OF_THEORIES,
    PAPER,
    QUICK_NODES,
    QUICK_SYSTEMS,
    TOGETHER,
    gain,
    make_jobs,
    notes,
    summarise,
    unproved,
)
from drug_choice import SEEN
from drug_reasons import KINDS, VARIANCE, equal_shares, find_reasons, prior_scales, reasons_model, speaking
from drug_runs import BASELINES, SYSTEMS, Job, Outcome, run
from drug_systems import (
    COMPARED,
    Asked,
    Ordered,
    evaluated_once,
    find_clauses,
    made_transitive,
    ordered,
    pairs_of,
    with_constants,
)
from drugs import FILES, PROTOCOLS, attributes, load_drugs, read_modes, read_task, task_folds
from grounded_once import GroundedOnce
from harness import Measured, Options

import sqlrl
from sqlrl.evaluate import auc_roc
from sqlrl.ground.coverage import Coverage
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from sqlrl.logic.printer import format_formula
from sqlrl.training import stream as training

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


def test_reasons_count_once_and_equal_ones_are_one(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    pairs = list(permutations(DRUGS, 2))
    heavier = "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)"
    # Every drug but the lightest ones is heavier than some weight, in several ways.
    rules = [
        heavier,
        "weight(x, n) ^ gt(n, m) => better(x, y)",
        heavier.replace("x", "z"),
        "weight(x, n) => better(x, y)",
    ]
    reasons = find_reasons(Asked(folder / "alzheimers", bias, pairs), model_of("\n".join(rules)))
    expected = [[HEAVY[a] > HEAVY[b], HEAVY[a] > 0, True] for a, b in reasons.pairs]
    assert reasons.pairs == tuple(pairs)
    assert reasons.holds.tolist() == expected
    db = sqlrl.connect()
    reasons.load(db, bias)
    [(count,)] = db.sql("select count(*) from sqlrl.named_Holds").fetchall()
    assert count == np.array(expected).sum()


def test_rules_of_reasons_attributes_and_names(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    model, kinds = reasons_model(folder / "alzheimers", bias, KINDS)
    assert [(kind, format_formula(rule.formula)) for kind, rule in zip(kinds, model.rules, strict=True)] == [
        ("reasons", "Holds(a, b, +r) => better(a, b)"), ("reasons", "Holds(b, a, +r) => better(a, b)"),
        ("attributes", "weight(a, +v1) => better(a, b)"), ("attributes", "weight(b, +v1) => better(a, b)"),
        ("names", "better(+a, b)"), ("names", "better(a, +b)"),
    ]  # fmt: skip
    _, kinds = reasons_model(folder / "alzheimers", bias, equal_shares(names=False))
    assert kinds == ["reasons", "reasons", "attributes", "attributes"]


def test_each_kind_gives_a_pair_as_much_variance(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    pairs = [(a, b) for a, b in permutations(DRUGS, 2) if HEAVY[a] != HEAVY[b]]
    rules = ["weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)", "weight(x, n) ^ gt(n, m) => better(x, y)"]
    reasons = find_reasons(Asked(folder / "alzheimers", bias, pairs), model_of("\n".join(rules)))
    model, kinds = reasons_model(folder / "alzheimers", bias, KINDS)
    known = attributes(folder / "alzheimers", bias)
    scales = prior_scales(kinds, equal_shares(names=True), speaking(reasons, known, pairs))
    db = sqlrl.connect()
    load_drugs(db, folder / "alzheimers", bias, pairs, None)
    reasons.load(db, bias)
    for kind in ("reasons", "attributes", "names"):
        own = [(rule, scale) for rule, k, scale in zip(model.rules, kinds, scales, strict=True) if k == kind]
        with db.advanced.program(model.with_rules(tuple(rule for rule, _ in own))) as program:
            program.expand(None)
            units = ground_network(Extent(program)).units.toarray()
        # By the definition: the variance of the log-odds of each pair, and the mean of these.
        variance = own[0][1] ** 2 * (units.astype(float) ** 2).sum(axis=1).mean()
        assert variance == pytest.approx(VARIANCE / 3), kind


def test_transitive_only_among_compared_pairs(folder: Path) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    model = made_transitive(model_of("1 weight(x, n) => better(x, y)"), bias)
    db = sqlrl.connect()
    db.load(COMPARED, [("c", "d"), ("d", "f"), ("c", "f"), ("f", "c")], types=["a", "a"])
    db.load("weight", [("c", "1")], types=["a", "n"])
    db.scope("better", list(permutations("cdf", 2)))
    network = db.advanced.ground(model)
    # c-d-f alone is three compared pairs; f-c-d lacks f-d, and d-f-c lacks d-c.
    assert len(network.row_clause) == 1


# ---- predictions -----------------------------------------------------------------------------------------------


def test_predictions_of_pairs(folder: Path) -> None:
    inner = folder / "alzheimers"
    task, bias = read_task(inner, "toxic"), read_modes(inner, "toxic")
    pairs = pairs_of(task)
    asked = Asked(inner, bias, pairs)
    assert len(pairs) == len(DRUGS) * (len(DRUGS) - 1)
    heavier = "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)"
    found = dict(zip(pairs, asked.log_odds(model_of(f"2 {heavier}\n-0.5 better(x, y)")), strict=True))
    assert found == {(a, b): 1.5 if HEAVY[a] > HEAVY[b] else -0.5 for a, b in pairs}
    covered = asked.covered(model_of(heavier))
    assert covered.tolist() == [HEAVY[a] > HEAVY[b] for a, b in pairs]
    assert asked.of([("d", "c"), ("c", "d")], covered).tolist() == [True, False]
    assert not asked.covered(model_of("")).any()
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in binary.
    rules = "".join(f"{weight} weight(x, n) => better(x, y)\n" for weight in (0.1, 0.2, -0.3))
    assert not asked.log_odds(model_of(rules)).any()


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
    assert found.gap == 0
    assert {pair for pair, value in found.truth.items() if value} == best
    total = sum(math.exp(score) for score, _ in worlds)
    for pair in pairs:
        exact = sum(math.exp(score) for score, true in worlds if pair in true) / total
        assert found.probability[pair] == pytest.approx(exact, abs=0.05)
    assert ordered(pairs, log_odds, samples=0).probability == {}


def test_a_world_without_a_proof_has_an_honest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = list(permutations(DRUGS, 2))
    log_odds = np.random.default_rng(0).normal(size=len(pairs)) * 5

    def score(world: Ordered) -> float:
        return float(log_odds[[world.truth[pair] for pair in pairs]].sum())

    proved = ordered(pairs, log_odds, samples=0)
    monkeypatch.setattr(drug_systems, "LIMIT", 0.001)
    short = ordered(pairs, log_odds, samples=0)
    assert proved.gap == 0 < short.gap
    assert score(short) <= score(proved) <= score(short) + short.gap + 1e-6


def test_worlds_without_a_proof_are_told() -> None:
    def result(*gaps: float) -> Measured[list[Outcome]]:
        return Measured(
            [Outcome("1", "ALEPH", 80), *(Outcome("1", "ALEPH MM", 80, 90, gap=gap) for gap in gaps)], 9, 300
        )

    assert unproved([result(0, 0), result(0)]) == []
    assert unproved([result(0, 2.5), result(0.125)]) == [
        "order: 2 of 3 worlds are not proved to be the most probable ones; they lack at most 2.5"
    ]


def test_area_under_the_curve() -> None:
    truth, score = np.array([True, True, False, False]), np.array([0.9, 0.2, 0.5, 0.2])
    pairs = [(s > o) + (s == o) / 2 for s in score[truth] for o in score[~truth]]
    assert auc_roc(truth, score) == np.mean(pairs) == 0.625
    assert math.isnan(auc_roc(np.array([True]), np.array([0.5])))


def test_constants_in_place_of_new_variables() -> None:
    bias = sqlrl.parse_bias(":- modeh(1, t(+a,+a)). :- modeb(*, p(+a,-b,-c)). :- modeb(2, q(+b,+c)).")
    assert [str(mode) for mode in with_constants(bias).body] == [
        "*, p(+a,-b,-c)", "*, p(+a,-b,#c)", "*, p(+a,#b,-c)", "*, p(+a,#b,#c)", "2, q(+b,+c)",
    ]  # fmt: skip


def test_a_fold_from_end_to_end(folder: Path) -> None:
    """Weights that compare decide everything; a drug without a heavier or lighter one in training is no obstacle."""
    [job] = make_jobs(Options(folder, quick=True))
    outcomes = run(replace(job, settings=("thesis", "modes"), systems=("ALEPH", "ALEPH++ ExactL1", "sqlrl")))
    baselines, outcomes = outcomes[:2], outcomes[2:]
    outcomes += run(replace(job, settings=("constants",), systems=OF_THEORIES))[2:]
    found = {(outcome.settings, outcome.system): outcome for outcome in outcomes}
    assert len(found) == len(outcomes) == 2 * 3 + len(OF_THEORIES)
    for outcome in outcomes:
        assert outcome.accuracy == 100
        assert outcome.clauses > 0
    for settings, learner in (("thesis", "++ ExactL1"), ("modes", "++ ExactL1"), ("constants", " ExactL2")):
        exact = found[settings, f"ALEPH{learner}"]
        assert (exact.order, exact.auc) == (100, 1)
        assert math.isnan(found[settings, "ALEPH"].order)
    assert [(outcome.settings, outcome.system) for outcome in baselines] == [(None, name) for name in BASELINES]
    assert all(outcome.accuracy > 50 for outcome in baselines)


# ---- jobs and table --------------------------------------------------------------------------------------------


def test_every_task_protocol_and_fold_is_a_job(folder: Path) -> None:
    jobs = make_jobs(Options(folder))
    assert len(jobs) == len(set(jobs)) == len(FILES) * 10 / TOGETHER * len(PROTOCOLS)
    folds = {(job.task, job.protocol, fold.name) for job in jobs for fold in job.folds}
    assert len(folds) == sum(len(job.folds) for job in jobs) == len(FILES) * 10 * len(PROTOCOLS)
    assert not any(job.areas for job in jobs)
    assert all(job.areas for job in make_jobs(Options(folder, more=frozenset({"areas"}))))
    ours = [job for job in jobs if job.protocol == "paper"]
    assert {(job.settings, job.systems) for job in ours} == {(("thesis", "modes"), IN_PAPER)}
    assert {*IN_PAPER, *IN_OTHER_PROTOCOLS} == set(SYSTEMS)
    others = [job for job in jobs if job.protocol != "paper"]
    assert {(job.settings, job.systems) for job in others} == {(("thesis",), IN_OTHER_PROTOCOLS)}
    chosen = make_jobs(Options(folder, fold="3", chosen={"task": "toxic", "protocol": "both-new"}))
    assert [(job.task, job.protocol, [fold.name for fold in job.folds], job.settings) for job in chosen] == [
        ("toxic", "both-new", ["3"], ("thesis",))
    ]
    theories = make_jobs(Options(folder, chosen={"settings": "constants"}))
    assert {(job.settings, job.systems) for job in theories} == {(("constants",), OF_THEORIES)}
    quick = make_jobs(Options(folder, quick=True))
    assert [(job.task, job.protocol, job.nodes, job.settings, job.systems) for job in quick] == [
        ("amine", "paper", QUICK_NODES, ("thesis",), QUICK_SYSTEMS)
    ]


def test_drugs_are_divided_as_often_as_asked(folder: Path) -> None:
    jobs = make_jobs(Options(folder, seed=3, numbers={"divisions": 2}, chosen={"task": "amine"}))
    task = read_task(folder / "alzheimers", "amine")
    for protocol in PROTOCOLS:
        mine = [job for job in jobs if job.protocol == protocol]
        assert {job.seed for job in mine} == ({3} if protocol == "paper" else {3, 4})
        for seed in {job.seed for job in mine}:
            folds = [fold for job in mine if job.seed == seed for fold in job.folds]
            assert folds == task_folds(task, protocol, seed)
    assert task_folds(task, "both-new", 3) != task_folds(task, "both-new", 4)


def test_gain_over_the_linear_model_by_hand() -> None:
    linear = {(0, "1"): 50.0, (0, "2"): 60.0, (1, "1"): 40.0, (1, "2"): 70.0}
    # Gains of 4 and 0 in one division, of 8 and 12 in the other: means of 2 and 10.
    runs = [(0, "1", 54.0), (0, "2", 60.0), (1, "1", 48.0), (1, "2", 82.0)]
    assert gain(runs, linear) == (6, pytest.approx(4))
    # Of one division the error is over its folds: a deviation of sqrt(8), of two.
    assert gain(runs[:2], linear) == (2, pytest.approx(2))
    assert gain(runs[:1], linear) == (4, None)


def test_pairs_that_no_fold_tests_are_told(folder: Path) -> None:
    jobs = make_jobs(Options(folder, chosen={"task": "amine"}))
    task = read_task(folder / "alzheimers", "amine")
    tested = {pair for fold in task_folds(task, "one-new", 0) for pair in fold.test}
    missing = len(task.pairs) - len(tested)
    expected = [f"amine, one-new: {missing} of {len(task.pairs)} pairs are in no test"] if missing else []
    assert notes(jobs) == [SEEN, *expected]
    assert notes([job for job in jobs if job.protocol != "both-new"]) == expected
    assert notes([replace(job, folds=job.folds[:1]) for job in jobs]) == [SEEN]


def outcome(system: str, fold: int, settings: str | None) -> Outcome:
    if system == "ALEPH":
        return Outcome(str(fold), system, 80 + fold, clauses=10 + fold, seconds_clauses=2, settings=settings)
    auc = 0.9 if fold == 1 else math.nan
    return Outcome(str(fold), system, 80 + fold, 90 + fold, 0.8, auc, 100, 2, 3, 1, "strength 1", settings=settings)


def test_the_papers_rows_and_ours(folder: Path) -> None:
    kept = [("amine", "paper"), ("memory", "one-new")]
    jobs = [
        replace(job, folds=job.folds[:2], areas=True)
        for job in make_jobs(Options(folder))
        if (job.task, job.protocol) in kept and job.folds[0].name == "1"
    ]

    def result(job: Job) -> Measured[list[Outcome]]:
        found: list[Outcome] = []
        for fold in job.folds:
            found += [outcome(x, int(fold.name), None) for x in BASELINES]
            found += [outcome(x, int(fold.name), kind) for kind in job.settings for x in job.systems]
        return Measured(found, 9, 300)

    rows = summarise(jobs, [result(job) for job in jobs])
    found = {(r["task"], r["protocol"], r["system"], r["whose"], r["settings"]): r for r in rows}
    assert len(found) == len(rows)
    assert sum(row["whose"] == "paper" for row in rows) == len(PAPER)
    theirs = found["amine", "paper", "ALEPH++ ExactL1", "paper", None]
    assert [theirs[name] for name in ("accuracy", "sd", "auc", "order", "sd_order", "clauses", "seconds")] == [
        89.4, 2.7, 0.954, 90.5, 3.6, 3477, None,
    ]  # fmt: skip
    for settings in ("thesis", "modes"):
        ours = found["amine", "paper", "ALEPH++ ExactL1", "ours", settings]
        assert [ours[name] for name in ("accuracy", "sd", "auc", "order", "order_auc", "clauses", "seconds")] == [
            81.5, 0.7, 0.8, 91.5, 0.9, 100, 6,
        ]  # fmt: skip
    theory = found["memory", "one-new", "ALEPH", "ours", "thesis"]
    assert (theory["accuracy"], theory["order"], theory["clauses"], theory["folds"]) == (81.5, None, 12, 2)
    assert (theory["gain"], theory["gain_se"]) == (0, 0)
    assert {row["system"] for row in rows if row["protocol"] == "one-new"} == {*BASELINES, *IN_OTHER_PROTOCOLS}
    assert found["amine", "paper", "identity", "ours", None]["clauses"] is None
    without = summarise([replace(job, areas=False) for job in jobs], [result(job) for job in jobs])
    assert [set(row) for row in rows] == [{*row, "order_auc"} for row in without] != [set(row) for row in without]


def test_what_the_paper_prints() -> None:
    for columns in PAPER.values():
        assert all(len(four) == len(FILES) for four in columns.values())
        assert set(columns) <= {"accuracy", "sd", "auc", "order", "sd_order", "clauses"}


# ---- sharing ---------------------------------------------------------------------------------------------------


def test_a_model_is_grounded_once_for_all_learners(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned is what `fit` on the database itself learns."""
    inner = folder / "alzheimers"
    task, bias = read_task(inner, "amine"), read_modes(inner, "amine")
    db = sqlrl.connect()
    load_drugs(db, inner, bias, task.pairs, [pair for pair in task.pairs if task.labels[pair]])
    model = model_of("weight(x, +n) => better(x, y)\nweight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)")
    learners = [sqlrl.Likelihood("l2", [0.1, 1.0]), sqlrl.Likelihood("l1", 0.5), sqlrl.PSCG(3)]
    alone = [learner.fit(db, model).weights_ for learner in learners]
    runs = db.sql("select count(*) from sqlrl.run").fetchall()
    calls: list[object] = []
    original = training.Windows._window
    monkeypatch.setattr(training.Windows, "_window", lambda self, ids: calls.append(ids) or original(self, ids))
    with GroundedOnce(db) as shared:
        for learner, weights in zip(learners, alone, strict=True):
            fit = learner.fit(shared, model)
            np.testing.assert_allclose(fit.weights_, weights, rtol=0, atol=1e-12)
            again = db.probabilities(fit.model_).probabilities().column("probability").to_numpy()
            assert np.ptp(again) > 0
        assert len(calls) == 1
        assert shared.saved > 0
        with shared.learning.training_windows(model) as stream:
            (window,) = stream
        counted = window.network.units.toarray()
        assert counted.shape == (len(task.pairs), 6)
    assert db.sql("select count(*) from sqlrl.run").fetchall() == runs
    # The first clause counts the pairs of weights in order; then each atom has one weight of its first drug.
    assert counted[:, 0].sum() == sum(task.labels.values())
    assert counted[:, 1:].sum(axis=1).tolist() == [1] * len(task.pairs)


def test_bodies_are_evaluated_once_for_all_folds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found is what ILP finds in a database that has the labels of the fold, and no others."""
    inner = folder / "alzheimers"
    task, bias = read_task(inner, "amine"), read_modes(inner, "amine")
    asked: list[int] = []
    original = Coverage._evaluate
    monkeypatch.setattr(Coverage, "_evaluate", lambda self, s, **k: asked.append(len(s)) or original(self, s, **k))
    with evaluated_once(inner, bias, task.pairs) as once:
        for k, fold in enumerate(task_folds(task, "one-new")[:3]):
            truth = {pair: task.labels[pair] != (k == 1) for pair in fold.train}
            for settings in ("thesis", "modes", "constants"):
                asked.clear()
                part = once.part(truth)
                found, new = find_clauses(part, bias, settings), sum(asked)
                asked.clear()
                db = sqlrl.connect()
                load_drugs(db, inner, bias, fold.train, [pair for pair, label in truth.items() if label])
                modes = with_constants(bias) if settings == "constants" else bias
                alone = sqlrl.ILP(modes, command="induce_cover", **drug_systems.SETTINGS[settings]).fit(db, "better")
                assert found.all.rules == alone.model_.rules
                assert len(found.theory.rules) == len(alone.theory_) > 0
                first = k == 0 and settings != "modes"
                assert new == sum(asked) if first else new < sum(asked)
                assert (part.saved == 0) == first


def test_pairs_are_grounded_once_for_all_weights(folder: Path) -> None:
    inner = folder / "alzheimers"
    task, bias = read_task(inner, "toxic"), read_modes(inner, "toxic")
    asked = Asked(inner, bias, pairs_of(task))
    heavier = "weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)"
    first = asked.log_odds(model_of(f"2 {heavier}\n-0.5 better(x, y)"))
    assert asked.saved == 0
    second = asked.log_odds(model_of(f"-1 {heavier}\n0.25 better(x, y)"))
    assert asked.saved > 0
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {(1.5, -0.75), (-0.5, 0.25)}
    # One more clause, before those that are known.
    third = asked.log_odds(model_of(f"1 weight(x, n) => better(x, y)\n-1 {heavier}"))
    assert set(zip(first.tolist(), third.tolist(), strict=True)) == {(1.5, 0.0), (-0.5, 1.0)}
