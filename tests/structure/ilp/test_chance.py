"""Tests of found clauses on labels that were not searched: against enumeration, under labels that say nothing, and from end to end."""

from __future__ import annotations

import json
import warnings
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chance_rules import TYPES, connected, customers, find
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import InputError, LittleFoundWarning, NothingFoundWarning
from sqlrl.structure.ilp.chance import MANY, LabelSplit, Trial, divided
from sqlrl.structure.ilp.commands import SeedReport
from sqlrl.structure.ilp.settings import resolved

COMMANDS = ("induce", "induce_cover", "induce_max", "rank")
FEW: dict[str, Any] = {"clause_length": 3, "nodes": 200}


# ---- p-values --------------------------------------------------------------------------------------------------


def by_enumeration(cover: list[bool], label: list[bool], group: list[int]) -> float:
    """Count the ways to give each group's positive labels to its atoms in which at least as many covered ones are positive."""
    kinds = sorted(set(group))
    members = [[i for i, g in enumerate(group) if g == kind] for kind in kinds]
    observed = sum(c and y for c, y in zip(cover, label, strict=True))
    ways = [
        [(sum(cover[i] for i, y in zip(own, labels, strict=True) if y)) for labels in product([False, True], repeat=len(own)) if sum(labels) == sum(label[i] for i in own)]
        for own in members
    ]  # fmt: skip
    sums = [sum(each) for each in product(*ways)]
    return sum(each >= observed for each in sums) / len(sums)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), min_size=1, max_size=11))
@settings(deadline=None, max_examples=60)
def test_a_p_value_is_a_share_of_the_ways_to_give_labels(rows: list[tuple[bool, bool, int]]) -> None:
    cover, label, group = (list(x) for x in zip(*rows, strict=True))
    division = LabelSplit(np.ones(len(rows), dtype=bool), np.array(group), None)
    found = Trial(division, np.array(label), 1, 0.01).p_value(np.array(cover))
    assert found == pytest.approx(by_enumeration(cover, label, group), abs=1e-12)


def test_large_groups_are_added_up_without_losing_the_tail() -> None:
    draw = np.random.default_rng(0)
    group, cover = draw.integers(0, 3, size=30_000), draw.random(30_000) < 0.2
    label = draw.random(30_000) < np.where(cover, 0.14, 0.1)
    trial = Trial(LabelSplit(np.ones(30_000, dtype=bool), group, None), label, 1, 0.01)
    # The normal approximation is good to a few percent of the logarithm here.
    excess = variance = 0.0
    for g in range(3):
        n, k, m = (group == g).sum(), label[group == g].sum(), cover[group == g].sum()
        excess += (cover & label)[group == g].sum() - m * k / n
        variance += m * (n - m) * k * (n - k) / (n**2 * (n - 1))
    z = (excess - 0.5) / variance**0.5
    from scipy.stats import norm

    assert np.log(trial.p_value(cover)) == pytest.approx(norm.logsf(z), rel=0.1)


def test_a_condition_more_says_nothing_beyond_the_clause_that_is_true() -> None:
    draw = np.random.default_rng(1)
    true, more = draw.random(3000) < 0.2, draw.random(3000) < 0.4
    label = draw.random(3000) < np.where(true, 0.8, 0.1)
    trial = Trial(LabelSplit(np.ones(3000, dtype=bool), np.zeros(3000, dtype=np.int64), None), label, 2, 0.01)
    assert trial.p_value(true & more) < 1e-9
    assert trial.p_value(true) < 1e-9
    trial.keep(true)
    assert trial.p_value(true & more) > 0.05
    assert trial.p_value(true) == 1.0


@pytest.mark.parametrize("atoms", [1, 8])
def test_labels_that_examples_share_count_once(atoms: int) -> None:
    """All atoms of an example have one label, and a clause covers whole examples: atoms would be certain of what is chance."""
    draw = np.random.default_rng(2)
    example = np.repeat(np.arange(120), atoms)
    below, by_atoms = 0, 0
    for _ in range(300):
        label, cover = (draw.random(120) < 0.3)[example], (draw.random(120) < 0.3)[example]
        division = divided(label, example, 0.5, 0)
        assert (division.unit is None) == (atoms == 1)
        below += Trial(division, label, 1, 0.05).p_value(cover) <= 0.05
        alone = LabelSplit(division.tested, np.zeros(len(label), dtype=np.int64), None)
        by_atoms += Trial(alone, label, 1, 0.05).p_value(cover) <= 0.05
    # 15 are expected at the most, with a deviation of 4.
    assert below <= 27
    assert atoms == 1 or by_atoms > 60


def test_what_examples_agree_on_is_found() -> None:
    draw = np.random.default_rng(3)
    example = np.repeat(np.arange(200), 5)
    kind = draw.random(200) < 0.3
    label = (draw.random(200) < np.where(kind, 0.8, 0.2))[example]
    assert Trial(divided(label, example, 0.5, 0), label, 10, 0.01).p_value(kind[example]) < 0.001


# ---- which labels are searched ------------------------------------------------------------------------------------


@given(st.integers(0, 400), st.integers(20, 400), st.floats(0.1, 0.9), st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_both_parts_have_their_share_of_positive_atoms(negatives: int, positives: int, share: float, seed: int) -> None:
    truth = np.random.default_rng(seed).permutation(np.arange(positives + negatives) < positives)
    alone = np.zeros(len(truth), dtype=np.int64)
    for example in (alone, np.arange(len(truth))):
        division = divided(truth, example, share, seed)
        assert abs(division.tested.sum() - share * len(truth)) <= 1
        assert abs(truth[division.tested].sum() - share * positives) <= 2
        assert np.array_equal(division.tested, divided(truth, example, share, seed).tested)


@pytest.mark.parametrize("examples", [5, MANY + 10])
def test_many_examples_stay_whole_and_few_are_compared_within(examples: int) -> None:
    draw = np.random.default_rng(4)
    example = draw.integers(0, examples, size=2000)
    truth = draw.random(2000) < 0.2
    division = divided(truth, example, 0.5, 0)
    shares = np.array([division.tested[example == each].mean() for each in range(examples)])
    if examples < MANY:
        assert (abs(shares - 0.5) < 0.02).all()
        assert len(np.unique(division.group)) == examples
    else:
        assert set(shares.tolist()) == {0.0, 1.0}
        assert not division.group.any()


@pytest.mark.parametrize(
    ("given", "bias", "positives", "negatives", "expected"),
    [
        ({}, {}, 300, 300, 0.01),
        ({}, {}, 30, 3000, 0.01),
        ({}, {}, 19, 3000, 1.0),
        ({"command": "rank"}, {}, 300, 19, 1.0),
        ({"command": "rank", "min_positive": 3, "noise": 9}, {"minacc": 0.5}, 300, 300, 0.01),
        ({"command": "rank", "keep_above": 0.2}, {}, 300, 300, 1.0),
        ({"noise": 9}, {}, 300, 300, 1.0),
        ({"command": "induce"}, {"minpos": 3}, 300, 300, 1.0),
        ({"command": "induce_max"}, {"i": 3}, 300, 300, 0.01),
        ({"significance": 0.2, "keep_above": 0.1, "noise": 3}, {}, 5, 5, 0.2),
        ({"significance": 1.0}, {}, 300, 300, 1.0),
    ],
)
def test_clauses_are_tested_unless_something_says_what_is_good(
    given: dict[str, Any], bias: dict[str, Any], positives: int, negatives: int, expected: float
) -> None:
    assert resolved(given, bias, positives, negatives).significance == expected


# ---- from end to end ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.LittleFoundWarning")
@pytest.mark.parametrize("command", COMMANDS)
def test_shuffled_labels_have_no_rules_and_planted_ones_have_theirs(command: str) -> None:
    """Takes more than a second: three searches, of enough labels to tell."""
    db = connected(customers(3, shuffled=True, count=700))
    with pytest.warns(NothingFoundWarning, match=r"none of \d+ clauses? that were found|none of 1 clause"):
        fit = sqlrl.ILP(command=command, **FEW).fit(db, "Leaves")  # type: ignore[arg-type]
    assert (len(fit.theory_), len([rule for rule in fit.model_.rules if rule.weight is None])) == (0, 0)
    rows = db.sql("select p_value, in_theory from sqlrl.found_clauses").fetchall()
    assert len(rows) >= fit.n_unconfirmed_ > 0
    assert all(p > 0.01 and not kept for p, kept in rows)
    before = sqlrl.ILP(command=command, significance=1.0, **FEW).fit(db, "Leaves")  # type: ignore[arg-type]
    assert len(before.theory_) >= 3
    assert db.sql("select count(*), count(p_value) from sqlrl.found_clauses where in_theory").fetchall() == [
        (len(before.theory_), 0)
    ]
    planted = connected(customers(3, shuffled=False, count=1600))
    fit = sqlrl.ILP(command=command, **FEW).fit(planted, "Leaves")  # type: ignore[arg-type]
    assert len(fit.theory_) >= 1
    assert max(fit.theory_["p_value"].to_pylist()) <= 0.01


def test_the_part_that_is_tested_follows_the_random_state() -> None:
    """Takes more than a second: three searches."""
    db = connected(customers(0, shuffled=False, count=400))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LittleFoundWarning)
        fits = [sqlrl.ILP(command="rank", random_state=seed, **FEW).fit(db, "Leaves") for seed in (4, 4, 5)]
    tables = [fit.candidates_.to_pylist() for fit in fits]
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.slow
def test_planted_rules_stay_and_chance_finds_none_over_seeds() -> None:
    """Twelve searches of 2,000 labels; `experiments/chance_rules.py` makes two hundred."""
    for seed in range(100, 106):
        found = find("rank", seed, shuffled=False)
        assert all(found.planted), seed
        assert found.others == 0, seed
        assert find("rank", seed, shuffled=True).others == 0, seed


def test_the_test_is_reached_from_scripts_and_refused_where_labels_are_too_few() -> None:
    data = customers(1, shuffled=True, count=300)
    db = connected(data)
    options = "learner = 'ilp', target = 'Leaves', command = 'rank', clause_length = 2, nodes = 50"
    with pytest.warns(NothingFoundWarning):
        db.run(f"CREATE MODEL tested OPTIONS ({options}, significance = 0.005, test_share = 0.4)")
    db.run(f"CREATE MODEL all_of_them OPTIONS ({options}, significance = 1)")
    assert (len(db.models["tested"].rules), len(db.models["all_of_them"].rules) > 1) == (1, True)
    kept = db.sql("select parameters from sqlrl.run order by run").fetchall()
    assert [json.loads(text).get("test_share") for (text,) in kept] == [0.4, None]
    few = sqlrl.connect()
    few.load("Region", data.facts["Region"], types=TYPES["Region"])
    few.load("Leaves", [("c00001",)], types=TYPES["Leaves"], target=True)
    with pytest.raises(InputError, match=r"too few to tell clauses from chance; significance=1 tests nothing"):
        sqlrl.ILP(significance=0.05).fit(few, "Leaves")
    with pytest.raises(InputError, match=r"test_share=1\.0 leaves no labels to search"):
        sqlrl.ILP(test_share=1.0).fit(few, "Leaves")
    with pytest.raises(InputError, match=r"significance=1\.5 is above 1"):
        sqlrl.ILP(significance=1.5).fit(few, "Leaves")


@pytest.mark.slow  # three searches
@pytest.mark.filterwarnings("ignore::sqlrl.errors.LittleFoundWarning")
def test_a_run_that_began_before_clauses_were_tested_goes_on_without_tests(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    data = customers(2, shuffled=False, count=300)
    with sqlrl.connect(path) as db:
        for name, rows in data.facts.items():
            db.load(name, rows, types=TYPES[name])
        db.load("Leaves", [(name,) for name in data.leaving], types=TYPES["Leaves"], target=True)
        whole = sqlrl.ILP(command="induce_cover", significance=1.0, **FEW).fit(db, "Leaves")

        def stop(report: SeedReport) -> None:
            if report.done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sqlrl.ILP(command="induce_cover", significance=1.0, **FEW).fit(db, "Leaves", checkpoint=True, callback=stop)
        # As an earlier version kept it.
        (text,) = db.sql("select parameters from sqlrl.run where run = 2").fetchall()[0]
        assert not {"significance", "test_share"} & json.loads(text).keys()
    with sqlrl.connect(path) as db:
        again = sqlrl.ILP(command="induce_cover", **FEW).fit(db, "Leaves", resume=2)
        assert again.candidates_.equals(whole.candidates_)


def test_the_number_of_ways_is_that_of_the_hypergeometric_distribution() -> None:
    division = LabelSplit(np.ones(20, dtype=bool), np.zeros(20, dtype=np.int64), None)
    label, cover = np.arange(20) < 5, np.arange(20) < 4
    assert Trial(division, label, 3, 0.01).p_value(cover) == pytest.approx(3 * comb(16, 1) / comb(20, 5))
