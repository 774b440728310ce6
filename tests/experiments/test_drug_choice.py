"""What each kind of clauses says, chosen on training pairs: against clauses that are grounded, and without the labels of the test."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from drug_choice import VARIANCES, Choice, candidates, choose, held_out, indicators
from drug_reasons import KINDS, Kind, Reasons, find_reasons, learn_reasons, reasons_model, speaking
from drug_systems import Asked, evaluated_once, pairs_of
from drugs import Protocol, Task, attributes, label_pairs, load_drugs, read_modes, read_task, task_folds
from grounded_once import GroundedOnce

import sqlrl
from sqlrl.ground.grounding import ground_network
from sqlrl.ground.program import Extent
from tests.experiments.test_alzheimers import DRUGS, HEAVY, folder, model_of

__all__ = ["folder"]

RULES = ["weight(x, n) ^ weight(y, m) ^ gt(n, m) => better(x, y)", "weight(x, n) ^ gt(n, m) => better(x, y)"]


@pytest.fixture(scope="module")
def asked(folder: Path) -> Asked:
    return Asked(folder / "alzheimers", read_modes(folder / "alzheimers", "amine"), list(permutations(DRUGS, 2)))


@pytest.fixture(scope="module")
def reasons(asked: Asked) -> Reasons:
    return find_reasons(asked, model_of("\n".join(RULES)))


@pytest.mark.parametrize("kind", KINDS)
def test_indicators_are_what_grounding_finds(folder: Path, asked: Asked, reasons: Reasons, kind: Kind) -> None:
    bias = read_modes(folder / "alzheimers", "amine")
    reasons.load(asked.db, bias)
    model, _ = reasons_model(folder / "alzheimers", bias, [kind])
    units, _ = asked._ground(model)
    mine = indicators(asked.pairs, reasons, attributes(folder / "alzheimers", bias))[kind]
    # The same columns, in another order; those that say nothing of any pair are not grounded.
    assert sorted(map(tuple, units.toarray().T)) == sorted(tuple(column) for column in mine.T if column.any())


@pytest.mark.parametrize("kinds", list(candidates("one-new"))[-1:])
def test_held_out_pairs_have_the_likelihood_of_the_model_that_is_learned(
    folder: Path,
    asked: Asked,
    reasons: Reasons,
    kinds: tuple[Kind, ...],
) -> None:
    path, bias = folder / "alzheimers", read_modes(folder / "alzheimers", "amine")
    task, known = read_task(path, "amine"), attributes(path, bias)
    fold = task_folds(task, "one-new")[0]
    train, test = ((part, task.truth(part)) for part in (fold.train, fold.test))
    found = held_out(reasons, known, train, test, "one-new")
    assert set(found) == {Choice(each, variance) for each in candidates("one-new") for variance in VARIANCES}
    db = sqlrl.connect()
    load_drugs(db, path, bias, fold.train, [pair for pair in fold.train if task.labels[pair]])
    for each in (db, asked.db):
        reasons.load(each, bias)
    choice = Choice(kinds, 4.0)
    with GroundedOnce(db) as once:
        learned = learn_reasons(once, reasons, path, bias, fold.train, choice.shares)
    log_odds = asked.of(fold.test, asked.log_odds(learned.model))
    likelihood = -np.logaddexp(0, -np.where(test[1], 1, -1) * log_odds).sum()
    assert found[choice] == (((log_odds >= 0) == test[1]).sum(), pytest.approx(likelihood, rel=2e-3))


@pytest.mark.filterwarnings("ignore::sqlrl.errors.NothingFoundWarning")
@pytest.mark.parametrize("protocol", ["one-new", "both-new"])
def test_the_choice_never_reads_the_labels_of_the_test(folder: Path, asked: Asked, protocol: Protocol) -> None:
    path, bias = folder / "alzheimers", read_modes(folder / "alzheimers", "amine")
    task = read_task(path, "amine")
    fold = task_folds(task, protocol)[0]
    turned = {pair: label != (pair in set(fold.test)) for pair, label in task.labels.items()}
    with evaluated_once(path, bias, task.pairs) as once:
        choices = [
            choose(asked, once, path, bias, each, fold.train, protocol, "thesis", nodes=50)
            for each in (task, replace(task, labels=turned))
        ]
    assert choices[0] == choices[1]
    # A reason tells all, and names of known drugs alone do not.
    assert choices[0].kinds != ("names",)
    assert sum(choices[0].shares.values()) == pytest.approx(choices[0].variance)


def test_names_stand_beside_the_other_kinds_where_both_drugs_are_new() -> None:
    alone = {kinds for kinds in candidates("one-new") if "names" not in kinds}
    assert set(candidates("both-new")) == {(*kinds, "names") for kinds in alone}
    assert len(list(candidates("one-new"))) == 7


def test_labels_take_the_place_of_those_before(folder: Path) -> None:
    path, bias = folder / "alzheimers", read_modes(folder / "alzheimers", "amine")
    task: Task = read_task(path, "amine")
    db = sqlrl.connect()
    load_drugs(db, path, bias, pairs_of(task), None)
    for some in (task.pairs[:20], task.pairs[30:35]):
        label_pairs(db, bias, some, [pair for pair in some if task.labels[pair]])
        with db.advanced.program(sqlrl.parse_mln("better(a, a)\n0 better(x, y)", query=("better",))) as program:
            assert len(ground_network(Extent(program)).atoms) == len(some)
        [(count,)] = db.sql("select count(*) from sqlrl.named_better").fetchall()
        assert count == sum(HEAVY[a] > HEAVY[b] for a, b in some)


def test_a_kind_without_columns_says_nothing(folder: Path, asked: Asked) -> None:
    path, bias = folder / "alzheimers", read_modes(folder / "alzheimers", "amine")
    task, known = read_task(path, "amine"), attributes(path, bias)
    none = Reasons(tuple(asked.pairs), np.zeros((len(asked.pairs), 0), dtype=np.bool_), 0.0)
    assert speaking(none, known, task.pairs)["reasons"] == 1.0
    fold = task_folds(task, "one-new")[0]
    train, test = ((part, task.truth(part)) for part in (fold.train, fold.test))
    found = held_out(none, known, train, test, "one-new")
    assert found[Choice(("reasons",), 4.0)] == (test[1].sum(), pytest.approx(-len(fold.test) * np.log(2)))
    # Half of the variance is lost on a kind that has none.
    assert found[Choice(("reasons", "attributes"), 16.0)] != found[Choice(("attributes",), 16.0)]
