"""Predictions of soft models in windows of examples against those of all examples at once."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import GroundingLimitError, GroundingWarning, InfeasibleError
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.windows import divided_hinges
from sqlrl.logic.psl_files import parse_psl
from sqlrl.solve.hinge.result import HingeStatus
from tests.effort import draws

RULES = [
    "1: Word(D, 'good') -> Liked(D) ^2",
    "0.7: Word(D, W) & Said(D, W) -> Liked(D)",
    "2: Near(W, V) & Said(D, W) -> Said(D, V) ^2",
    "0.4: !Liked(D) ^2",
    "0.6: Said(D, +W) <= 1 ^2",
    "0.5: Said(D, W) = Word(D, W)",
    "Liked(D) <= 0.75 .",
    "3: Word(D, 'rare') -> Word(D, 'good')",
]
OF_SEVERAL_OR_NONE = [
    "2: Liked(+D) <= 1 ^2",
    "1: Word(D, W) & Word(E, W) & Liked(D) -> Liked(E)",
    "0.5: Near(W, V) -> Near(V, W)",
]
PRIORS = ["0.1: !Said(D, W) ^2", "0.2: Liked(D) <= 0.1 ^2"]
TYPES = {"Word": ["doc", "word"], "Said": ["doc", "word"], "Near": ["word", "word"], "Liked": ["doc"]}
WORDS = ["good", "bad", "rare", "long"]
DOCS = st.lists(
    st.dictionaries(st.sampled_from(WORDS), st.sampled_from([0.25, 0.5, 1.0]), min_size=1), min_size=2, max_size=7
)


def database(docs: list[dict[str, float]]) -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    rows = [(f"d{i}", word, value) for i, doc in enumerate(docs) for word, value in doc.items()]
    db.load("Word", rows, columns=[0, 1], types=["doc", "word"], example="doc", value=2)
    db.load("Near", [("good", "bad", 0.5), ("bad", "long", 1.0)], columns=[0, 1], types=["word", "word"], value=2)
    db.scope("Liked", [(f"d{i}",) for i in range(len(docs))])
    db.scope("Said", [(f"d{i}", word) for i in range(len(docs)) for word in WORDS])
    return db


def model(rules: list[str]) -> sqlrl.SoftModel:
    found = parse_psl("\n".join([*rules, *PRIORS]), query=["Liked", "Said"])
    return found.with_types({name: TYPES[name] for name in found.predicates})


def small(monkeypatch: pytest.MonkeyPatch, entries: int) -> list[int]:
    """Let a window have so many atoms and coefficients; return a list of how many examples each has."""
    sizes: list[int] = []

    def watched(*args, **options):
        for window, ground in divided_hinges(*args, entries=entries, **options):
            sizes.append(len(window))
            yield window, ground
            del ground  # as those that it stands for do

    monkeypatch.setattr("sqlrl.database.soft_predictions.divided_hinges", watched)
    return sizes


@settings(max_examples=draws(6))
@given(DOCS, st.lists(st.sampled_from(RULES), min_size=1, max_size=6, unique=True), st.integers(1, 120))
@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
def test_windows_find_what_is_found_at_once(docs: list[dict[str, float]], rules: list[str], entries: int) -> None:
    db, options = database(docs), sqlrl.HingeOptions(relative=1e-9, absolute=1e-9)
    whole = db.predict(model(rules), keep=True, options=options)
    with pytest.MonkeyPatch.context() as monkeypatch:
        sizes = small(monkeypatch, entries)
        found = db.predict(model(rules), keep=True, options=options)
    assert sum(sizes) == len(docs)
    assert (found.network is None) == (len(sizes) > 1)
    assert (found.network_atoms.ids == whole.network_atoms.ids).all()
    assert (found.network_atoms.example == whole.network_atoms.example).all()
    assert found.status is whole.status is HingeStatus.OPTIMAL
    assert found.objective == pytest.approx(whole.objective, abs=1e-6)
    assert found.bound == pytest.approx(whole.bound, abs=1e-6)
    assert found.bound <= whole.objective + 1e-12
    np.testing.assert_allclose(found.result.y, whole.result.y, atol=2e-3)
    query = "select ground_rules, decided, distance from sqlrl.rule_distance where run = {} order by clause"
    ours, theirs = (np.array(db.sql(query.format(run)).fetchall()) for run in (found.run, whole.run))
    assert (ours[:, 0] == theirs[:, 0]).all()
    np.testing.assert_allclose(ours[:, 1], theirs[:, 1], atol=1e-12)
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], atol=2e-2)
    for atom in ("Liked(d0)", f"Said(d{len(docs) - 1}, good)"):
        pushes = [prediction.why(atom).table.to_arrow().to_pylist() for prediction in (found, whole)]
        keys = [sorted((row["rule"], row["hinge"], row["times"]) for row in rows) for rows in pushes]
        assert keys[0] == keys[1]


@pytest.mark.slow
def test_rules_about_several_examples_or_none_need_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = [{"good": 1.0, "bad": 0.5}, {"good": 0.25}, {"bad": 1.0}] * 2
    db = database(docs)
    for rule in OF_SEVERAL_OR_NONE:
        whole = db.predict(model([RULES[0], rule]))
        with monkeypatch.context() as patched:
            sizes = small(patched, 10)
            found = db.predict(model([RULES[0], rule]))
        assert sizes == [6], rule
        assert found.objective == whole.objective
    sizes = small(monkeypatch, 10)
    assert db.predict(model(RULES[:1])).network is None
    assert len(sizes) > 3


@pytest.mark.slow
def test_one_window_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    held, alive = [], []

    def watched(*args, **options):
        alive.append(sum(each() is not None for each in held))
        network = ground_hinges(*args, **options)
        held.append(weakref.ref(network))
        return network

    monkeypatch.setattr("sqlrl.ground.windows.ground_hinges", watched)
    sizes = small(monkeypatch, 60)
    prediction = database([{"good": 1.0, "bad": 0.5}] * 20).predict(model(RULES[:3]))
    assert len(sizes) > 3
    assert set(alive) == {0}
    assert len(prediction.atoms("Said")) == 80
    assert prediction.seconds["solving"] > 0


def test_only_rules_without_groundings_in_any_window_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 10)
    db = database([{"good": 1.0}, {"bad": 1.0}, {"rare": 1.0}])
    rules = [f"1: Word(D, '{word}') -> Liked(D)" for word in ("good", "bad", "rare", "long")]
    with pytest.warns(GroundingWarning, match=r"^1 rule has no grounding that could be violated: .*'long'"):
        db.predict(model(rules))


def test_a_conflict_in_one_window_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 10)
    db = database([{"good": 1.0}, {"bad": 1.0}, {"rare": 0.5}])
    with pytest.raises(
        InfeasibleError,
        match=r'says -Liked\("d2"\) \+ 0.5 <= 0; .* says Liked\("d2"\) - 0.25 <= 0; .* by 0.125 or more',
    ):
        db.predict(model(["Word(D, 'rare') -> Liked(D) .", "Word(D, 'rare') + Liked(D) <= 0.75 ."]))


@pytest.mark.slow
def test_the_limit_is_that_of_one_example(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 10_000)
    db, rule = database([{"good": 1.0}] * 6), "1: Said(D, W) & Said(D, V) -> Liked(D)"
    assert db.predict(model([rule]), limit=20).network is None
    with pytest.raises(GroundingLimitError, match="limit of 10"):
        db.predict(model([rule]), limit=10)


def test_labels_of_windows_are_compared_together(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 10)
    docs = [{"good": 1.0}, {"bad": 1.0}, {"good": 0.5}]
    db = database(docs)
    db.load("Liked", [(f"d{i}", i / 4) for i in range(3)], columns=[0], types=["doc"], value=1, target=True)
    db.scope("Said", None)
    rules = parse_psl("1: Word(D, 'good') -> Liked(D) ^2\n0.5: !Liked(D) ^2", query=["Liked"])
    prediction = db.predict(rules, keep=True)
    assert prediction.network is None
    # Nothing is kept for each hinge of networks that are let go.
    assert len(prediction.result.state.duals) == 0
    scores = prediction.evaluate()
    assert scores.mean_absolute_error == pytest.approx(np.abs(prediction.result.y - np.arange(3) / 4).mean())
    observed = [x for (x,) in db.sql("select observed from sqlrl.rule_distance order by clause").fetchall()]
    assert observed == pytest.approx([1 + 0, 1 / 16 + 1 / 4])
