"""Groups of atoms that stay together when a strength is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import linear_model

import sqlrl
from sqlrl.errors import InputError, LoadError, ValidationWarning
from sqlrl.learn.batch.choice_design import Choices
from sqlrl.learn.batch.conditionals import make_choices
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.batch.validation import AtomGroups, make_grouped_parts
from sqlrl.solve.sample_networks import network
from sqlrl.training.labels import Names

PLAYERS = 9
MODEL = sqlrl.parse_mln(
    "Old(player, kind)\nBeats(player, player)\nOld(x, +k) => Beats(x, y)\nOld(y, +k) => Beats(x, y)", query=("Beats",)
)


def played() -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[tuple[str, str]]]:
    """All pairs of players, those in which the first one beats the second, and kinds of players."""
    rng = np.random.default_rng(3)
    pairs = [(f"p{i}", f"p{j}") for i in range(PLAYERS) for j in range(PLAYERS) if i != j]
    strength = {f"p{i}": i % 3 + rng.random() for i in range(PLAYERS)}
    beats = [(a, b) for a, b in pairs if strength[a] > strength[b] + rng.normal()]
    return pairs, beats, [(f"p{i}", f"k{i % 3}") for i in range(PLAYERS)]


def filled() -> sqlrl.Database:
    pairs, beats, kinds = played()
    db = sqlrl.connect()
    db.load("Old", kinds, types=["player", "kind"])
    db.load("Beats", beats, types=["player", "player"], target=True)
    db.scope("Beats", pairs)
    return db


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    return filled()


def held_out(train: list[int], test: list[int], strength: float) -> float:
    """The log-likelihood of some pairs under weights learned from others, by scikit-learn."""
    pairs, beats, kinds = played()
    kind, won = dict(kinds), set(beats)
    columns = sorted({*kind.values()})
    x = np.array([[kind[p] == k for p in pair for k in columns] for pair in pairs], dtype=float)
    y = np.array([pair in won for pair in pairs])
    oracle = linear_model.LogisticRegression(
        C=1 / strength, l1_ratio=0, fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    chance = oracle.fit(x[train], y[train]).predict_proba(x[test])[:, 1]
    return float(np.log(np.where(y[test], chance, 1 - chance)).sum())


def tuned(db: sqlrl.Database, fit: sqlrl.Likelihood, strength: float) -> list[float]:
    found = db.sql(f"select score from sqlrl.tuning where run = {fit.run_} and value = {strength}").fetchall()
    return sorted(score for (score,) in found)


@pytest.mark.slow
def test_a_pair_and_its_reverse_are_held_out_together(db: sqlrl.Database) -> None:
    """As many groups as parts, so that the parts are known: in three ways to give them."""
    pairs, _, _ = played()
    group = {pair: (int(pair[0][1]) * int(pair[1][1])) % 4 for pair in pairs}
    assert all(group[a, b] == group[b, a] for a, b in pairs)
    expected = {
        strength: sorted(
            held_out(
                [i for i, p in enumerate(pairs) if group[p] != g],
                [i for i, p in enumerate(pairs) if group[p] == g],
                strength,
            )
            for g in sorted(set(group.values()))
        )
        for strength in (0.1, 5.0)
    }
    rows = [(a, b, g) for (a, b), g in group.items()]
    query = (
        "select a.name, b.name, (a.name[2]::int * b.name[2]::int) % 4 from sqlrl.dictionary_player a, "
        "sqlrl.dictionary_player b"
    )
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("first", "second", "part"))})
    for groups in (rows, query, table):
        fit = sqlrl.Likelihood("l2", [0.1, 5.0], folds=4).fit(db, MODEL, groups=groups)
        for strength, scores in expected.items():
            assert tuned(db, fit, strength) == pytest.approx(scores, abs=1e-2)
    assert fit.get_params() == sqlrl.Likelihood("l2", [0.1, 5.0], folds=4).get_params()


@pytest.mark.slow
def test_groups_are_dealt_by_the_seed(db: sqlrl.Database) -> None:
    groups = [(a, b, a) for a, b in played()[0]]
    found = [
        tuned(db, sqlrl.Likelihood("l2", [0.1, 5.0], folds=2, random_state=seed).fit(db, MODEL, groups=groups), 5.0)
        for seed in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]


def test_nothing_is_learned_of_the_players_that_are_held_out(db: sqlrl.Database) -> None:
    pairs, _, _ = played()
    team = {f"p{i}": i // 3 for i in range(PLAYERS)}
    fit = sqlrl.Likelihood("l2", [0.1, 5.0], folds=3).fit(
        db, MODEL, groups=[(a, b, team[player]) for a, b in pairs for player in (a, b)]
    )
    expected = []
    for t in range(3):
        test = [i for i, pair in enumerate(pairs) if t in (team[pair[0]], team[pair[1]])]
        expected.append(held_out([i for i in range(len(pairs)) if i not in test], test, 5.0))
    assert tuned(db, fit, 5.0) == pytest.approx(sorted(expected), abs=1e-2)
    # A pair of two teams is in two parts.
    [row] = [row for row in fit.strengths_.to_pylist() if row["strength"] == 5.0]
    count = len(pairs) + sum(team[a] != team[b] for a, b in pairs)
    assert row["per_choice"] == pytest.approx(row["log_likelihood"] / count, abs=1e-12)


def atoms(count: int, **options: Any) -> Choices:
    """Atoms, every second one true."""
    truth = np.arange(count) % 2 == 0
    return make_choices(
        TrainingProblem(network(count, [(0, [i + 1]) for i in range(count)], **options), truth, Names()), seed=0
    )


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_groups_are_never_divided(folds: int) -> None:
    rng = np.random.default_rng(folds)
    choices = atoms(60)
    extra = rng.integers(0, 60, 20)
    atom, group = np.concatenate([np.arange(60), extra]), rng.integers(0, 11, 80)
    parts = make_grouped_parts(choices, AtomGroups(atom, group), folds, seed=1)
    assert parts.shape == (folds, 60)
    # Each group is in one part, and an atom is where its groups are.
    place = {}
    for g in np.unique(group).tolist():
        inside = [f for f in range(folds) if parts[f, atom[group == g]].all()]
        alone = [a for a in atom[group == g] if (atom == a).sum() == 1]
        if alone:
            assert parts[:, alone].sum(axis=0).tolist() == [1] * len(alone)
            place[g] = int(np.flatnonzero(parts[:, alone[0]])[0])
            assert place[g] in inside
    for a in range(60):
        own = group[atom == a].tolist()
        if all(g in place for g in own):
            assert set(np.flatnonzero(parts[:, a]).tolist()) == {place[g] for g in own}
    sizes = np.bincount(list(place.values()), minlength=folds)
    assert sizes.max() - sizes.min() <= 1 or len(place) < 11
    assert (make_grouped_parts(choices, AtomGroups(atom, group), folds, seed=1) == parts).all()


def test_a_block_has_the_groups_of_its_atoms() -> None:
    choices = atoms(9, blocks=[([1, 2], False)])
    assert len(choices) == 8
    groups = AtomGroups(np.arange(9), np.array([0, 1, 0, 0, 1, 1, 0, 0, 1]))
    parts = make_grouped_parts(choices, groups, 2, seed=0)
    both = parts.all(axis=0)
    assert both.sum() == 1
    assert len(choices.features[choices.owner == np.flatnonzero(both)[0]].toarray()) == 3


@pytest.mark.parametrize(
    ("options", "groups", "message"),
    [
        ({"strength": 1.0}, [("p0", "p1", 1)], r"strength=1.0 is only one: give several"),
        (
            {},
            [("p0", "p1")],
            r"groups= takes 3 columns, 2 arguments of Beats\(player, player\) and then the group, and .* 2 columns",
        ),
        ({}, [], "groups= takes 3 columns"),
        (
            {},
            [("p0", "p1", 1)],
            r'nothing of 71 atoms of 72 to learn from, the first of them Beats\("p0", "p2"\): give each',
        ),
        ({}, [("p0", "p1", None)], r"groups= has NULL in 1 row of .*: leave those rows out"),
        (
            {},
            "select a.name, b.name, 1 from sqlrl.dictionary_player a, sqlrl.dictionary_player b",
            "has one group only",
        ),
        (
            {"folds": 2},
            "select a.name, b.name, unnest(range(50)) from sqlrl.dictionary_player a, sqlrl.dictionary_player b",
            r"folds=2 leave nothing to learn from: 2 parts have a group of every atom; use more folds",
        ),
    ],
)
def test_groups_that_are_refused(db: sqlrl.Database, options: dict[str, Any], groups: Any, message: str) -> None:
    given = {"strength": [0.1, 1.0], **options}
    with pytest.raises(InputError, match=message):
        sqlrl.Likelihood("l2", **given).fit(db, MODEL, groups=groups)


def test_what_cannot_be_read_and_what_has_no_one_target(db: sqlrl.Database) -> None:
    learner = sqlrl.Likelihood("l2", [0.1, 1.0])
    with pytest.raises(LoadError, match="nowhere"):
        learner.fit(db, MODEL, groups="select * from nowhere")
    # What one run was given is not kept for the next.
    assert learner.fit(db, MODEL).strength_ in (0.1, 1.0)
    two = sqlrl.connect()
    two.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
    two.load("Liked", [("d1",)], types=["doc"], target=True)
    words = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\n"
    with pytest.raises(InputError, match="one example, and there are 2: whole examples stay together"):
        learner.fit(two, sqlrl.parse_mln(words), groups=[("d1", 1), ("d2", 2)])
    several = sqlrl.connect()
    several.load("Liked", [("d1",)], types=["doc"], target=True)
    several.load("Long", [("d2",)], types=["doc"], target=True)
    with pytest.raises(InputError, match=r"one open predicate, and this one has 2 \(Liked, Long\)"):
        learner.fit(several, sqlrl.parse_mln("Liked(doc)\nLong(doc)\n0 Liked(d)\n0 Long(d)"), groups=[("d1", 1)])


@pytest.mark.slow
@pytest.mark.parametrize(("left_out", "window"), [(True, None), (False, 1)])
@pytest.mark.filterwarnings("ignore::sqlrl.errors.ValidationWarning", "ignore::sqlrl.errors.InfeasibleTruthWarning")
def test_atoms_are_those_of_the_example_that_is_learned_from(
    window: int | None, left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it comes an example that is left out for its labels, or of which hard clauses leave nothing open."""
    monkeypatch.setattr(sqlrl.Likelihood, "window", window)
    items = [("e0", "x"), ("e0", "y"), ("e1", "p"), ("e1", "q"), ("e1", "r"), ("e1", "s")]
    db = sqlrl.connect()
    db.load("Item", items, types=["ex", "item"], example="ex")
    db.load("Bad", [*items[:2], ("e1", "s")], types=["ex", "item"], example="ex")
    good = [("e1", "p"), ("e1", "r"), *(items[:1] if left_out else [])]
    db.load("Good", good, types=["ex", "item"], target=True, example="ex")
    model = sqlrl.parse_mln(
        "Item(ex, item)\nBad(ex, item)\nGood(ex, item)\nItem(e, i) ^ Good(e, i)\nBad(e, i) => !Good(e, i)."
    )
    groups = [("e1", "p", "g"), ("e1", "q", "h"), ("e1", "r", "g")]
    learner = sqlrl.Likelihood("l2", strength=[0.1, 1.0], folds=2, on_infeasible_truth="skip")
    found = [learner.fit(db, model, examples=examples, groups=groups).strengths_ for examples in (None, ["e1"])]
    assert found[0].equals(found[1])


def test_numbers_are_the_same_however_they_are_written() -> None:
    db = sqlrl.connect()
    db.load("Size", [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")], types=["number", "number"])
    db.load("Even", [("2",), ("4",)], types=["number"], target=True)
    model = sqlrl.parse_mln("Size(number, number)\nEven(number)\nSize(n, m) => Even(n)")
    with pytest.warns(ValidationWarning, match="use fewer folds, or other groups"):
        fit = sqlrl.Likelihood("l2", [0.1, 1.0], folds=3).fit(
            db, model, groups=[(1.0, "x"), (2.0, "y"), (3.0, "z"), (4.0, "x"), (5.0, "y")]
        )
    assert set(db.sql(f"select fold from sqlrl.tuning where run = {fit.run_}").fetchall()) == {(1,), (2,), (3,)}
