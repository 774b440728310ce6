"""The Alzheimer's pairs: reading, the four kinds of folds without leaks, and the baselines against closed forms."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from drugs import (
    FILES,
    PROTOCOLS,
    Pair,
    Protocol,
    Task,
    attributes,
    background,
    differences,
    fit_logistic,
    identity,
    load_drugs,
    read_modes,
    read_task,
    scores_of_baseline,
    split,
    task_folds,
    turned,
    untested,
)

import sqlrl

DRUGS = [f"d{k:02d}" for k in range(23)]
MODES = """\
:- modeh(1,better(+a,+a)).
:- modeb(*,x_subst(+a,-n,-b)).
:- modeb(*,alk_groups(+a,-n)).
:- modeb(*,polar(+b,-c)).
:- determination(better/2,x_subst/3).
:- determination(better/2,alk_groups/2).
:- determination(better/2,polar/2).
"""


def task_of(pairs: list[Pair]) -> Task:
    """A drug is better if its name comes first."""
    return Task(
        "trial",
        "better",
        {pair: pair[0] < pair[1] for pair in pairs},
        {p: str(k % 10 + 1) for k, p in enumerate(pairs)},
    )


@pytest.fixture(scope="module")
def task() -> Task:
    return task_of([pair for pair in permutations(DRUGS, 2) if hash_of(pair) % 3])


def hash_of(pair: Pair) -> int:
    """The same for a pair and its reverse."""
    return int(pair[0][1:]) * int(pair[1][1:])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "background").mkdir()
    (tmp_path / "mem.modes").write_text(MODES, encoding="utf-8")
    (tmp_path / "mem.csv").write_text(
        '"drug1","drug2","label","predicate","fold"\n"u1","t",1,"better",0\n"t","u1",0,"better",11\n', encoding="utf-8"
    )
    for name, text in {
        "x_subst": '"a0","a1","a2"\n"u1","6","cl"\n"t","06","f"\n',
        "alk_groups": '"a0","a1"\n"u1","0"\n"t","0"\n',
        "polar": '"a0","a1"\n"cl","polar3"\n"f","polar3"\n',
    }.items():
        (tmp_path / "background" / f"{name}.csv").write_text(text, encoding="utf-8")
    return tmp_path


# ---- reading -------------------------------------------------------------------------------------------------


def test_all_columns_are_text(folder: Path) -> None:
    task, bias = read_task(folder, "memory"), read_modes(folder, "memory")
    assert (task.predicate, dict(task.labels)) == ("better", {("u1", "t"): True, ("t", "u1"): False})
    assert dict(task.fold) == {("u1", "t"): "1", ("t", "u1"): "12"}
    assert {name: types for name, (_, types) in background(folder, bias).items()} == {
        "x_subst": ("a", "n", "b"), "alk_groups": ("a", "n"), "polar": ("b", "c"),
    }  # fmt: skip
    # `t` and `f` would be truth values elsewhere, and 06 the number 6.
    assert attributes(folder, bias) == {
        "u1": {("x_subst", "6", "cl"), ("alk_groups", "0")},
        "t": {("x_subst", "06", "f"), ("alk_groups", "0")},
    }


def test_pairs_are_query_atoms_and_positive_ones_are_true(folder: Path) -> None:
    bias = read_modes(folder, "memory")
    model = sqlrl.parse_mln(
        'better(a, a)\nx_subst(a, n, b)\n1 x_subst(p, n, "cl") => better(p, q)\n-0.1 better(p, q)', query=("better",)
    )
    for positive in ([("u1", "t")], None):
        db = sqlrl.connect()
        load_drugs(db, folder, bias, [("u1", "t"), ("t", "u1")], positive)
        prediction = db.predict(model)
        found = {(row["a"], row["a_2"]): row["truth"] for row in prediction.atoms(every=True).to_pylist()}
        assert found == {("u1", "t"): True, ("t", "u1"): False}
        if positive is None:
            with pytest.raises(sqlrl.SqlrlError, match="label"):
                db.evaluate(prediction)
        else:
            assert db.evaluate(prediction).f1 == 1


# ---- folds ---------------------------------------------------------------------------------------------------


def drugs_of(pairs: tuple[Pair, ...]) -> set[str]:
    return {drug for pair in pairs for drug in pair}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_pair_is_trained_on_and_tested(task: Task, protocol: Protocol) -> None:
    folds = task_folds(task, protocol, 4)
    assert [fold.name for fold in folds] == [str(k + 1) for k in range(10)]
    for fold in folds:
        assert fold.test
        assert not set(fold.train) & set(fold.test)
        assert set(fold.train) | set(fold.test) <= set(task.pairs)
        assert list(fold.train) == [pair for pair in task.pairs if pair in set(fold.train)]
    tested = [pair for fold in folds for pair in fold.test]
    if protocol != "one-new":
        assert sorted(tested) == sorted(task.pairs)
        assert untested(task.pairs, folds) == 0
    if protocol in ("paper", "reverse"):
        assert {len(fold.train) + len(fold.test) for fold in folds} == {len(task.pairs)}
        assert folds[0].train != split(task.pairs, protocol, seed=5)[0].train


def test_the_papers_folds_are_those_of_the_file(task: Task) -> None:
    for fold in task_folds(task, "paper", 9):
        assert {task.fold[pair] for pair in fold.test} == {fold.name}


def test_a_pair_stays_with_its_reverse(task: Task) -> None:
    for fold in task_folds(task, "reverse", 4):
        for part in (fold.train, fold.test):
            assert {(b, a) for a, b in part} == set(part)


def test_one_drug_is_new(task: Task) -> None:
    folds = task_folds(task, "one-new", 4)
    for fold in folds:
        known = drugs_of(fold.train)
        assert all((a in known) != (b in known) for a, b in fold.test)
    tested = [pair for fold in folds for pair in fold.test]
    counts = {pair: tested.count(pair) for pair in task.pairs}
    assert set(counts.values()) == {0, 2}
    assert untested(task.pairs, folds) == sum(count == 0 for count in counts.values()) > 0


@pytest.mark.parametrize("folds", [3, 6, 10])
def test_both_drugs_are_new(task: Task, folds: int) -> None:
    found = split(task.pairs, "both-new", folds=folds, seed=4)
    assert len(found) == folds
    for fold in found:
        assert not drugs_of(fold.train) & drugs_of(fold.test)
        assert fold.train
    assert sorted(pair for fold in found for pair in fold.test) == sorted(task.pairs)


def test_the_same_seed_makes_the_same_folds(task: Task) -> None:
    for protocol in PROTOCOLS:
        assert task_folds(task, protocol, 4) == task_folds(task, protocol, 4)
        if protocol != "paper":
            assert task_folds(task, protocol, 4) != task_folds(task, protocol, 5)


# ---- baselines -----------------------------------------------------------------------------------------------


def test_differences_of_indicators() -> None:
    known = {"a": {("p", "1"), ("q", "x")}, "b": {("p", "1")}, "c": {("r", "y", "z")}}
    rows = differences([("a", "b"), ("c", "a"), ("b", "b")], known)
    assert rows.tolist() == [[0, 1, 0], [-1, -1, 1], [0, 0, 0]]


def test_one_weight_has_its_closed_form() -> None:
    """Three of four are true: without a penalty the log-odds are ln 3; with one, the gradient is 0."""
    features, truth = np.ones((4, 1)), np.array([True, True, True, False])
    assert fit_logistic(features, truth, 0.0) == pytest.approx(np.log(3), abs=1e-5)
    (weight,) = fit_logistic(features, truth, 0.5)
    assert 3 - 4 / (1 + np.exp(-weight)) == pytest.approx(0.5 * weight, abs=1e-4)


def test_turned_rows_have_the_same_scores() -> None:
    rng = np.random.default_rng(3)
    features = rng.integers(0, 3, (30, 4)).astype(float) @ rng.integers(0, 2, (4, 50)).astype(float)
    truth = rng.random(30) < 0.5
    found = turned(features)
    assert found.shape == (30, np.linalg.matrix_rank(features))
    np.testing.assert_allclose(found @ found.T, features @ features.T, atol=1e-9)
    for part in (slice(0, 30), slice(5, 25)):
        scores = [x @ fit_logistic(x[part], truth[part], 0.3) for x in (features, found)]
        np.testing.assert_allclose(scores[0], scores[1], atol=1e-3)
    assert turned(np.zeros((3, 2))).shape == (3, 0)


def test_identity_knows_the_order_of_known_drugs_and_nothing_of_new_ones(task: Task) -> None:
    known = identity(DRUGS)
    for protocol in PROTOCOLS[:2]:
        fold = task_folds(task, protocol, 1)[0]
        right = (scores_of_baseline(task, known, fold, protocol) >= 0) == task.truth(fold.test)
        assert right.mean() > 0.9
    fold = task_folds(task, "both-new", 1)[0]
    assert (scores_of_baseline(task, known, fold, "both-new") == 0).all()


def test_a_baseline_never_reads_the_labels_of_the_test(task: Task) -> None:
    fold = task_folds(task, "reverse", 1)[0]
    known = {drug: {("digit", drug[1]), ("digit", drug[2])} for drug in DRUGS}
    flipped = {pair: label != (pair in set(fold.test)) for pair, label in task.labels.items()}
    other = Task(task.name, task.predicate, flipped, task.fold)
    first = scores_of_baseline(task, known, fold, "reverse")
    assert first.tobytes() == scores_of_baseline(other, known, fold, "reverse").tobytes()
    assert np.ptp(first) > 0


def test_the_real_pairs(data_folder: Path) -> None:
    """The issue's numbers: 99 % for identity in random folds; every positive pair has its reverse as a negative one."""
    folder = data_folder / "alzheimers"
    sizes = {}
    for name in FILES:
        task = read_task(folder, name)
        sizes[name] = len(task.pairs)
        assert all(task.labels[b, a] != label for (a, b), label in task.labels.items())
    assert sizes == {"amine": 686, "toxic": 886, "acetyl": 1326, "memory": 642}
    task = read_task(folder, "memory")
    known = identity({drug for pair in task.pairs for drug in pair})
    folds = task_folds(task, "paper")
    right = [
        (scores_of_baseline(task, known, fold, "paper", strengths=[1.0]) >= 0) == task.truth(fold.test)
        for fold in folds
    ]
    assert np.mean([part.mean() for part in right]) > 0.99
