"""What runs learned from is kept by names, and scores on it say so: what is counted is what was chosen by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sqlrl

pytestmark = [
    pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning"),
    pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning"),
    pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning"),
]

DOCS = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\nLong(doc)\nWord(d, +w) => Good(d)\nWord(d, w) => Long(d)")
PAIRS = sqlrl.parse_mln("Alike(record, record)\nSame(record, record)\nAlike(a, b) => Same(a, b)\nSame(a, b)")
MODES = "modeP(1, Word(+, #.))\nmodeP(1, Good(-))\nmodeP(1, Long(-))"


def docs(path: str | Path = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(path)
    words = [(f"d{i}", word) for i in range(8) for word in ("a", "b", "c") if (i * 3 + ord(word)) % 4]
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Good", [(f"d{i}",) for i in (0, 2, 3, 5)], types=["doc"], target=True)
    db.load("Long", [(f"d{i}",) for i in (1, 2, 4, 5)], types=["doc"], target=True)
    return db


def pairs(size: int = 6) -> list[tuple[str, str]]:
    return [(f"r{a}", f"r{b}") for a in range(size) for b in range(size) if a != b]


def network() -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Alike", pairs()[::2], types=["record", "record"])
    db.load("Same", pairs()[::4], types=["record", "record"], target=True)
    return db


def kept(db: sqlrl.Database, run: int) -> set[tuple[Any, ...]]:
    found = db.sql(f"select example_name, predicate, constants from sqlrl.learned_from where run = {run}").fetchall()
    rows = [(name, predicate, None if constants is None else tuple(constants)) for name, predicate, constants in found]
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.fixture(scope="module")
def documents() -> sqlrl.Database:
    """For tests that learn and load nothing."""
    return docs()


LEARNERS: dict[str, Callable[[], Any]] = {
    "AdaGrad": sqlrl.AdaGrad,
    "MIRA": lambda: sqlrl.baselines.MIRA(passes=2, order="shuffle"),
    "OSL": lambda: sqlrl.OSL(sqlrl.parse_modes(MODES)),
    "Likelihood": sqlrl.Likelihood,
    "MaxMargin": sqlrl.MaxMargin,
    "PSCG": lambda: sqlrl.PSCG(max_iterations=2),
    "PseudoLikelihood": lambda: sqlrl.PseudoLikelihood(discriminative=True),
    "VotedPerceptron": lambda: sqlrl.baselines.VotedPerceptron(max_iterations=2),
    "ConstrainedTraining": lambda: sqlrl.ConstrainedTraining(sqlrl.Likelihood()),
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_keeps_its_examples(learner: str, documents: sqlrl.Database) -> None:
    db = documents
    train = ["d6", "d1", "d3"]
    fit = LEARNERS[learner]().fit(db, DOCS, examples=train)
    run = getattr(fit, "learner_", fit).run_
    assert kept(db, run) == {(name, predicate, None) for name in train for predicate in ("Good", "Long")}


def test_a_learner_of_clauses_keeps_its_examples_and_atoms() -> None:
    db = docs()
    fit = sqlrl.ILP(noise=5, min_score=-9, above_seed=False).fit(db, "Good", examples=["d0", "d1", "d5"])
    assert {row[:2] for row in kept(db, fit.run_)} == {(name, "Good") for name in ("d0", "d1", "d5")}


@pytest.mark.slow
def test_atoms_of_a_scope_and_of_one_network_are_kept() -> None:
    db = network()
    fit = sqlrl.Likelihood().fit(db, PAIRS)
    every = [(f"r{a}", f"r{b}") for a in range(6) for b in range(6)]
    assert kept(db, fit.run_) == {("all", "Same", pair) for pair in every}
    db.scope("Same", pairs()[:7])
    fit = sqlrl.Likelihood().fit(db, PAIRS)
    assert kept(db, fit.run_) == {("all", "Same", pair) for pair in pairs()[:7]}
    # A scope of several examples chooses atoms of each; a target without one has all.
    texts = docs()
    texts.scope("Good", [("d1",), ("d2",)])
    fit = sqlrl.Likelihood().fit(texts, DOCS, examples=["d2", "d3"])
    assert kept(texts, fit.run_) == {("d2", "Good", ("d2",)), ("d2", "Long", None), ("d3", "Long", None)}


@pytest.mark.parametrize(
    ("train", "test", "common"),
    [
        pytest.param(["d0", "d1", "d2"], ["d3", "d4"], 0, marks=pytest.mark.slow),
        (["d0", "d1", "d2"], ["d2", "d4"], 1),
        (["d5"], None, 1),
        pytest.param(None, ["d5"], 1, marks=pytest.mark.slow),
    ],
)
def test_scores_say_how_many_examples_were_learned_from(
    train: list[str] | None, test: list[str] | None, common: int
) -> None:
    db = docs()
    fit = sqlrl.Likelihood().fit(db, DOCS, examples=train)
    size = 2 * (8 if test is None else len(test))
    for scores in (
        db.evaluate(db.predict(fit.model_, examples=test)),
        db.evaluate(db.probabilities(fit.model_, examples=test)),
    ):
        if not common:
            assert scores.seen is None
            assert "learned" not in str(scores)
            continue
        assert scores.seen is not None
        assert (scores.seen.run, scores.seen.learned, scores.seen.atoms) == (fit.run_, 2 * common, size)
        assert str(scores.seen) in str(scores)


@pytest.mark.parametrize(
    ("train", "test"), [(pairs()[:10], pairs()[10:]), (pairs()[:10], pairs()[6:]), (None, pairs()[6:])]
)
def test_scores_say_how_many_atoms_were_learned_from(
    train: list[tuple[str, str]] | None, test: list[tuple[str, str]]
) -> None:
    db = network()
    db.scope("Same", train)
    fit = sqlrl.Likelihood().fit(db, PAIRS)
    db.scope("Same", test)
    scores = db.evaluate(db.predict(fit.model_), outside="ignore")
    common = len(test) if train is None else len(set(train) & set(test))
    assert (0 if scores.seen is None else scores.seen.learned) == common


@pytest.mark.slow
def test_only_what_a_run_is_known_to_have_made_is_noted(tmp_path: Path) -> None:
    db = docs(tmp_path / "docs.duckdb")
    fit = sqlrl.Likelihood().fit(db, DOCS, examples=["d0", "d1", "d2"])
    other = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\nLong(doc)\n1 Word(d, w) => Good(d)\n1 Word(d, w) => Long(d)")
    assert db.evaluate(db.predict(other)).seen is None
    fresh = docs()
    assert fresh.evaluate(fresh.predict(fit.model_)).seen is None
    # A kept prediction is no run that learned.
    db.predict(other, keep=True)
    assert db.evaluate(db.predict(other)).seen is None
    for name in ("m.mln", "m.json"):
        fit.model_.save(tmp_path / name)
        seen = db.evaluate(db.predict(sqlrl.read_model(tmp_path / name))).seen
        assert seen is not None
        assert (seen.run, seen.learned) == (fit.run_, 6)
    db.close()
    with sqlrl.connect(tmp_path / "docs.duckdb", read_only=True) as again:
        seen = again.evaluate(again.predict(again.models[-1], examples=["d2", "d7"])).seen
        assert seen is None  # the newest model is the one that predict kept
        seen = again.evaluate(again.predict(again.models[1], examples=["d2", "d7"])).seen
        assert seen is not None
        assert (seen.learned, seen.atoms) == (2, 4)


def test_names_and_not_ids_are_compared() -> None:
    """Loaded again without d0, every other document has another id."""
    db = docs()
    fit = sqlrl.Likelihood().fit(db, DOCS, examples=["d1", "d2"])
    words = [row for row in db.sql("from sqlrl.named_Word").fetchall() if row[0] != "d0"]
    db.load("Good", [(f"d{i}",) for i in (2, 3, 5)], types=["doc"], target=True)
    db.load("Word", words, types=["doc", "word"], example="doc")
    seen = db.evaluate(db.predict(fit.model_, examples=["d2", "d3"])).seen
    assert seen is not None
    assert (seen.learned, seen.atoms) == (2, 4)


def test_of_a_large_network_only_its_name_is_kept_and_other_data_are_not_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlrl.training.provenance.MOST_ATOMS", 10)
    db = network()
    fit = sqlrl.Likelihood().fit(db, PAIRS)
    assert kept(db, fit.run_) == {("all", "Same", None)}
    seen = db.evaluate(db.predict(fit.model_)).seen
    assert seen is not None
    assert seen.learned == 36
    db.load("Same", pairs()[::5], types=["record", "record"], target=True)
    assert db.evaluate(db.predict(fit.model_)).seen is None


@pytest.mark.slow
def test_a_run_that_is_interrupted_and_resumed_keeps_them_once() -> None:
    db = docs()

    def stop(window: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.AdaGrad(window=2).fit(db, DOCS, examples=["d0", "d1", "d2"], checkpoint=True, callback=stop)
    whole = {(name, predicate, None) for name in ("d0", "d1", "d2") for predicate in ("Good", "Long")}
    assert kept(db, 1) == whole
    db.sql("delete from sqlrl.learned_from")  # as an earlier version would have left it
    sqlrl.AdaGrad(window=2).fit(db, DOCS, examples=["d0", "d1", "d2"], resume=1)
    assert kept(db, 1) == whole


def test_scores_of_a_model_that_ctrl_c_kept_say_so_after_its_run_went_on() -> None:
    db = docs()

    def press(_: object) -> None:
        raise KeyboardInterrupt

    stopped = sqlrl.AdaGrad(window=4)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(db, DOCS, checkpoint=True, callback=press)
    for name, given in (("alone", stopped.model_), ("whole", stopped)):
        db.models[name] = given
    resumed = sqlrl.AdaGrad(window=4).fit(db, DOCS, resume=stopped.run_)
    assert resumed.model_ != stopped.model_
    for model in (stopped.model_, resumed.model_, db.models["alone"], db.models["whole"]):
        seen = db.predict(model).evaluate().seen
        assert seen is not None
        assert (seen.run, seen.learned, seen.atoms) == (stopped.run_, 16, 16)
    # A name says which run learned its model, also when that has another one by now.
    db.models["late"] = stopped
    assert dict(zip(db.models, db.models()["run"], strict=True)) == dict.fromkeys(("alone", "late", "whole"), 1)
    assert db.models["late"] == stopped.model_


def test_a_model_alone_has_the_run_that_learned_it() -> None:
    db, other = docs(), docs()
    fit = sqlrl.AdaGrad().fit(db, DOCS)
    sqlrl.AdaGrad(passes=3).fit(other, DOCS)
    other.models["theirs"] = fit
    db.models["alone"], db.models["whole"], db.models["written"] = fit.model_, fit, DOCS
    listed = db.models().to_arrow().select(["name", "model", "run", "learner"]).to_pylist()
    assert [tuple(row.values()) for row in listed] == [
        ("alone", 1, 1, "AdaGrad"), ("whole", 1, 1, "AdaGrad"), ("written", 2, None, None),
    ]  # fmt: skip
    assert (other.models["theirs"], other.models()["run"]) == (fit.model_, [None])


def test_runs_are_found_by_number_and_the_learner_that_is_named_leads_to_its_newest() -> None:
    db = docs()
    for _ in range(2):
        sqlrl.AdaGrad().fit(db, DOCS)
    assert (list(db.runs), len(db.runs), list(db.models)) == ([1, 2], 2, [])
    with pytest.raises(
        sqlrl.errors.InputError,
        match=r"there is no run 'adagrad': .*; did you mean db\.runs\[2\], the newest of AdaGrad\?",
    ):
        db.runs["adagrad"]  # type: ignore[index]
