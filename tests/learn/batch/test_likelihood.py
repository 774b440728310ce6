"""`Likelihood` over a database: what it learns, keeps, refuses and warns of."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

import sqlrl
from sqlrl.errors import ConvergenceWarning, InfeasibleTruthWarning, InputError, NotFittedError, ValidationWarning
from sqlrl.training.records import Iteration

TEXT = "Word(doc, word)\nLiked(doc)\n"


def documents(db: sqlrl.Database, count: int = 30, **options: object) -> None:
    """Documents with words; those with a good word are liked, but for a few."""
    rng = np.random.default_rng(0)
    words = [(f"d{i:02}", w) for i in range(count) for w in ("good", "bad", "long") if rng.random() < 0.5]
    good = {d for d, w in words if w == "good"}
    liked = [(f"d{i:02}",) for i in range(count) if (f"d{i:02}" in good) != (i % 7 == 0)]
    # Every document has a fact.
    words += [(f"d{i:02}", "the") for i in range(count)]
    db.load("Word", words, types=["doc", "word"], **options)
    db.load("Liked", liked, types=["doc"], target=True)


@pytest.fixture
def db() -> sqlrl.Database:
    found = sqlrl.connect()
    documents(found)
    return found


@pytest.fixture(scope="module")
def shared() -> sqlrl.Database:
    """For runs of which a test does not count how many there were before."""
    found = sqlrl.connect()
    documents(found)
    return found


MODEL = sqlrl.parse_mln(TEXT + 'Word(d, +w) => Liked(d)\nLiked(d)\n!Word(d, "good") ^ !Liked(d)')


def test_the_model_predicts_with_the_probabilities_that_were_learned(shared: sqlrl.Database) -> None:
    db = shared
    fit = sqlrl.Likelihood(strength=0.5).fit(db, MODEL)
    found = db.probabilities(fit.model).probabilities()
    liked = {row[0] for row in db.sql("select * from sqlrl.named_Liked").fetchall()}
    chance = [row["probability"] if row["doc"] in liked else 1 - row["probability"] for row in found.to_pylist()]
    assert math.fsum(map(math.log, chance)) == pytest.approx(fit.log_likelihood_, abs=1e-9)
    weights = [row["weight"] for row in fit.clauses().to_pylist()]
    assert fit.iterations_.column("objective")[-1].as_py() == pytest.approx(
        fit.log_likelihood_ - 0.5 * math.fsum(map(abs, weights)), abs=1e-9
    )
    assert fit.optimality_ < 1e-5
    assert min(map(abs, weights)) == 0 < max(map(abs, weights))


def test_what_is_kept_of_a_run(shared: sqlrl.Database) -> None:
    db = shared
    told: list[Iteration] = []
    fit = sqlrl.Likelihood("l2", strength=[0.1, 1.0, 10.0], folds=3).fit(db, MODEL, callback=told.append)
    run = fit.run_
    rows = db.sql(f"select * exclude (run) from sqlrl.iteration where run = {run} order by iteration").fetchall()
    assert [row[:2] for row in rows] == [(each.iteration, each.objective) for each in told]
    assert rows[0][3] > rows[-1][3] == fit.optimality_
    tuning = db.sql(f"select value, fold, score, chosen from sqlrl.tuning where run = {run}").fetchall()
    assert sorted(row[:2] for row in tuning) == [(v, f) for v in (0.1, 1.0, 10.0) for f in (1, 2, 3)]
    assert {row[0] for row in tuning if row[3]} == {fit.strength_}
    best = max(fit.strengths_.to_pylist(), key=lambda row: row["log_likelihood"])
    assert best["strength"] == fit.strength_
    assert best["chosen"]
    assert best["log_likelihood"] == pytest.approx(sum(row[2] for row in tuning if row[3]), abs=1e-12)
    # The mean over the choices of each part: three of equal size have a third of them.
    means = np.array([row[2] for row in tuning if row[3]]) * 3 / (best["log_likelihood"] / best["per_choice"])
    assert best["deviation"] == pytest.approx(means.std(ddof=1))
    [(status, learner, parameters)] = db.sql(
        f"select status, learner, parameters from sqlrl.run where run = {run}"
    ).fetchall()
    assert (status, learner, json.loads(parameters)["strength"]) == ("done", "Likelihood", [0.1, 1.0, 10.0])
    observed = db.sql(f"select n_observed, delta_n from sqlrl.clause_statistics where run = {run}").fetchall()
    assert all(n is not None and delta is None for n, delta in observed)
    assert repr(fit).startswith("Likelihood(penalty='l2', strength=[0.1, 1.0, 10.0], folds=3)\n  iterations")
    assert "chosen from 3 values" in repr(fit)
    assert "strongest clauses" in fit._repr_html_()


@pytest.mark.slow
def test_the_same_twice_is_the_same_bytes(shared: sqlrl.Database) -> None:
    db = shared
    one, two = (sqlrl.Likelihood(strength=(0.1, 1), random_state=4).fit(db, MODEL) for _ in range(2))
    assert one.weights_.tobytes() == two.weights_.tobytes()
    assert one.strengths_ == two.strengths_
    assert one.iterations_ == two.iterations_
    assert sqlrl.Likelihood(strength=(0.1, 1), random_state=5).fit(db, MODEL).strengths_ != one.strengths_


def test_examples_stay_whole_in_parts() -> None:
    db = sqlrl.connect()
    documents(db, example="doc")
    fit = sqlrl.Likelihood(strength=[0.1, 1.0], folds=4).fit(db, MODEL)
    assert sorted(set(db.sql("select fold from sqlrl.tuning").fetchall())) == [(1,), (2,), (3,), (4,)]
    few = [f"d{i:02}" for i in range(8)]
    assert sqlrl.Likelihood().fit(db, MODEL, examples=few).support_.column("support").to_pylist()[0] <= 8
    assert fit.strength_ in (0.1, 1.0)


def test_a_block_is_a_choice() -> None:
    db = sqlrl.connect()
    db.load("Word", [("p1", "a"), ("p2", "b"), ("p3", "a"), ("p4", "b")], types=["place", "word"])
    db.load("Field", [("p1", "x"), ("p2", "y"), ("p3", "x"), ("p4", "z")], types=["place", "field"], target=True)
    model = sqlrl.parse_mln("Word(place, word)\nField(place, field!)\nWord(p, +w) => Field(p, +f)")
    fit = sqlrl.Likelihood("l2", strength=0.1).fit(db, model)
    weights = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
    # By symmetry, and as -0.1 w = the expected less the observed counts of each clause.
    other = weights['Word(p, "a") => Field(p, "y")']
    own = weights['Word(p, "a") => Field(p, "x")']
    assert weights['Word(p, "b") => Field(p, "y")'] == pytest.approx(weights['Word(p, "b") => Field(p, "z")'])
    share = math.exp(own) / (math.exp(own) + 2 * math.exp(other))
    assert 2 * (1 - share) == pytest.approx(0.1 * own, abs=1e-6)
    assert -(1 - share) == pytest.approx(0.1 * other, abs=1e-6)


def test_hard_clauses_and_infeasible_labels() -> None:
    db = sqlrl.connect()
    documents(db, example="doc")
    model = sqlrl.parse_mln(TEXT + 'Word(d, "bad") => !Liked(d).\nWord(d, +w) => Liked(d)')
    with pytest.warns(InfeasibleTruthWarning, match="were learned from all the same"):
        fit = sqlrl.Likelihood(strength=0.5).fit(db, model)
    assert len(fit.infeasible_.clause)
    hard = [row for row in fit.clauses().to_pylist() if row["hard"]]
    assert [row["weight"] for row in hard] == [None]
    with pytest.warns(InfeasibleTruthWarning, match="were not learned from"):
        skipped = sqlrl.Likelihood(strength=0.5, on_infeasible_truth="skip").fit(db, model)
    # Without the ground clauses that they violate, the labels of the others say what the words are worth.
    broken = {int(example) for example in fit.infeasible_.example}
    rest = [
        name for example, name in db.sql("select example, name from sqlrl.example").fetchall() if example not in broken
    ]
    alone = sqlrl.Likelihood(strength=0.5).fit(db, model, examples=rest)
    assert skipped.weights_ == pytest.approx(alone.weights_, abs=1e-9)
    assert np.abs(skipped.weights_ - fit.weights_).max() > 0.1
    assert skipped.support_ != fit.support_
    with pytest.raises(InputError, match="violate hard clauses; correct the labels"):
        sqlrl.Likelihood(on_infeasible_truth="error").fit(db, model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": -1}, "strength=-1 is not a finite number of at least 0: it weighs the penalty"),
        ({"strength": [1.0, math.inf]}, "strength=inf"),
        ({"strength": []}, r"=\[\] has no value: it weighs the penalty"),
        ({"strength": "1"}, "strength='1'"),
        ({"penalty": "l3"}, "penalty='l3': choose 'l1' or 'l2'"),
        ({"folds": 1}, "folds=1: give an integer of at least 2"),
        ({"tolerance": 0}, "tolerance=0"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"random_state": -1}, "random_state=-1"),
        ({"on_infeasible_truth": "no"}, "on_infeasible_truth='no'"),
        ({"strength": [1, 2], "folds": 99}, r"folds=99, but there are only 30 query atoms and blocks"),
    ],
)
def test_parameters_out_of_range(shared: sqlrl.Database, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sqlrl.Likelihood(**options).fit(shared, MODEL)  # type: ignore[arg-type]


def test_models_and_data_that_are_refused(db: sqlrl.Database) -> None:
    recursive = sqlrl.parse_mln(TEXT + "Word(d, w) ^ Word(e, w) ^ Liked(d) => Liked(e)")
    with pytest.raises(
        InputError,
        match=r"beyond the bound for 1 component, with 30 atoms.*\(Word\(d, w\) \^ Word\(e, w\) \^ Liked\(d\) => Liked\(e\)\)",
    ):
        sqlrl.Likelihood().fit(db, recursive)
    assert db.sql("select status from sqlrl.run").fetchall() == [("failed",)]
    assert db.sql("select count(*) from sqlrl.iteration").fetchall() == [(0,)]
    with pytest.raises(InputError, match="a model is needed"):
        sqlrl.Likelihood().fit(db, "Liked(d)")  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match="this Likelihood has no optimality_ yet"):
        sqlrl.Likelihood().optimality_  # noqa: B018
    with pytest.raises(NotFittedError, match="has no clauses yet"):
        sqlrl.Likelihood().clauses()
    unlabelled = sqlrl.connect()
    unlabelled.load("Word", [("d1", "good"), ("d2", "good")], types=["doc", "word"])
    # Of the atom that is not given nothing is known.
    unlabelled.load("Liked", [("d1",)], types=["doc"], given=True)
    with pytest.raises(InputError, match="learning with unlabelled atoms"):
        sqlrl.Likelihood().fit(unlabelled, sqlrl.parse_mln(TEXT + "Word(d, w) => Liked(d)", query=["Liked"]))


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_parts_with_one_kind_of_label() -> None:
    db = sqlrl.connect()
    db.load("Word", [(f"d{i}", "the") for i in range(8)], types=["doc", "word"])
    db.load("Liked", [("d1",)], types=["doc"], target=True)
    model = sqlrl.parse_mln(TEXT + "Liked(d)")
    with pytest.warns(ValidationWarning, match="use fewer than 4 folds, or one strength"):
        sqlrl.Likelihood(strength=[1, 2], folds=4).fit(db, model)
    everything = sqlrl.connect()
    everything.load("Word", [(f"d{i}", "the") for i in range(8)], types=["doc", "word"])
    everything.load("Liked", [(f"d{i}",) for i in range(8)], types=["doc"], target=True)
    with pytest.warns(ValidationWarning, match="so have all: give the target predicate a scope"):
        sqlrl.Likelihood(strength=[1, 2], folds=4).fit(everything, model)


def test_too_few_iterations(shared: sqlrl.Database) -> None:
    db = shared
    with pytest.warns(ConvergenceWarning, match="raise max_iterations, now 1"):
        fit = sqlrl.Likelihood(strength=0.01, max_iterations=1).fit(db, MODEL)
    assert fit.iterations_.num_rows == 2
    assert fit.optimality_ > 1e-3


def test_an_interrupted_fit_leaves_the_database_as_it_was(db: sqlrl.Database) -> None:
    def stop(iteration: Iteration) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sqlrl.Likelihood().fit(db, MODEL, callback=stop)
    assert db.sql("select status, model from sqlrl.run").fetchall() == [("interrupted", None)]
    assert db.sql("select count(*) from sqlrl.model").fetchall() == [(0,)]
    assert sqlrl.Likelihood().fit(db, MODEL).run_ == 2


@pytest.mark.slow
def test_counts_of_one_window_are_those_of_the_database() -> None:
    found = []
    for window in (30, 7):
        db = sqlrl.connect()
        documents(db, example="doc")
        model = sqlrl.parse_mln(
            TEXT + 'Word(d, +w) => Liked(d)\nWord(d, w) ^ Word(d, v) ^ !Liked(d)\nLiked(d) <=> Word(d, "bad")'
        )
        sqlrl.AdaGrad(window=window).fit(db, model)
        statistics = db.sql("select * exclude (run) from sqlrl.clause_statistics order by clause").fetchall()
        found.append(sorted(statistics, key=str))
    assert found[0] == found[1]
    assert any(n for row in found[0] for n in row[1:] if n)


def test_without_a_penalty_weights_that_run_away_are_named() -> None:
    db = sqlrl.connect()
    db.load(
        "Word", [("d1", "good"), ("d2", "bad"), ("d3", "good"), ("d4", "odd"), ("d5", "odd")], types=["doc", "word"]
    )
    db.load("Liked", [("d1",), ("d3",), ("d4",)], types=["doc"], target=True)
    model = sqlrl.parse_mln(TEXT + "Word(d, +w) => Liked(d)")
    with pytest.warns(
        ConvergenceWarning, match=r"without a penalty 2 weights would grow for ever.*that of .*(good|bad)"
    ):
        fit = sqlrl.Likelihood("l2", strength=0).fit(db, model)
    weights = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
    assert weights['Word(d, "odd") => Liked(d)'] == pytest.approx(0.0, abs=1e-6)
    assert min(abs(weights[f'Word(d, "{word}") => Liked(d)']) for word in ("good", "bad")) > 5


def test_weights_that_run_away_together_are_named() -> None:
    """Of the liked ones and of those that are as good no number is certain, but both together are."""
    db, docs = sqlrl.connect(), [f"d{i}" for i in range(6)]
    db.load("Good", [(d,) for d in docs[:3]], types=["doc"])
    db.load("Liked", [(d,) for d in docs[:4]], types=["doc"], target=True)
    db.scope("Liked", [(d,) for d in docs])
    model = sqlrl.parse_mln("Good(doc)\nLiked(doc)\nLiked(d)\nGood(d) <=> Liked(d)")
    with pytest.warns(ConvergenceWarning, match="without a penalty 2 weights would grow for ever"):
        sqlrl.Likelihood("l2", strength=0).fit(db, model)


@pytest.mark.parametrize("penalty", ["l1", pytest.param("l2", marks=pytest.mark.slow)])
def test_weights_of_chains_that_run_away_are_named(penalty: Any) -> None:
    """Neighbours are always alike, and which field they have stays open."""
    db = sqlrl.connect()
    places = [(f"c{c}", str(p)) for c in range(6) for p in range(3)]
    db.load("At", places, types=["chain", "place"], example="chain")
    db.load("Next", [("0", "1"), ("1", "2")], types=["place", "place"])
    fields = [(c, p, "xyz"[int(c[1:]) % 3]) for c, p in places]
    db.load("Field", fields, types=["chain", "place", "field"], target=True, example="chain")
    text = "At(chain, place)\nNext(place, place)\nField(chain, place, field!)\nField(c, p, +f)\n"
    model = sqlrl.parse_mln(text + "Next(p, q) ^ Field(c, p, f) ^ Field(c, q, f)")
    with pytest.warns(ConvergenceWarning, match=r"without a penalty 1 weight would grow for ever.*that of Next"):
        sqlrl.Likelihood(penalty, strength=0).fit(db, model)


def test_a_count_of_many_that_runs_away_is_not_the_same_in_all_worlds() -> None:
    db, docs = sqlrl.connect(), [f"d{i}" for i in range(6)]
    db.load("Word", [(d, f"w{k}") for d in docs for k in range(400)], types=["doc", "word"])
    db.load("Liked", [(d,) for d in docs[:5]], types=["doc"], target=True)
    db.load("Long", [(d,) for d in docs[:5]], types=["doc"])
    model = sqlrl.parse_mln(TEXT + "Long(doc)\nLong(d) ^ Word(d, w) => Liked(d)")
    with pytest.warns(ConvergenceWarning) as told:
        sqlrl.Likelihood("l2", strength=0).fit(db, model)
    assert ["would grow for ever" in str(each.message) for each in told] == [True]


def test_large_weights_that_labels_determine_do_not_run_away(recwarn: pytest.WarningsRecorder) -> None:
    db, docs = sqlrl.connect(), [f"d{i}" for i in range(2000)]
    db.load("Word", [(d, "rare") for d in docs], types=["doc", "word"])
    db.load("Liked", [(docs[0],)], types=["doc"], target=True)
    fit = sqlrl.Likelihood("l2", strength=0).fit(db, sqlrl.parse_mln(TEXT + "Word(d, w) => Liked(d)"))
    assert fit.weights_[0] == pytest.approx(-math.log(1999), abs=1e-3)
    assert not [each for each in recwarn if issubclass(each.category, ConvergenceWarning)]


@pytest.mark.parametrize("rule", ["", "Beside(x, y) ^ Field(x, f) => Field(y, f)\n"])
def test_without_a_penalty_a_count_that_never_differs_is_named(rule: str) -> None:
    """Of a block with exactly one true atom the clause about all of them, whether or not a rule joins blocks."""
    db = sqlrl.connect()
    places = ["p1", "p2", "p3", "p4", "p5"]
    db.load("Beside", list(itertools.pairwise(places)), types=["place", "place"])
    fields = ["x", "y", "x", "x", "y"]
    db.load("Field", list(zip(places, fields, strict=True)), types=["place", "field"], target=True)
    model = sqlrl.parse_mln("Beside(place, place)\nField(place, field!)\n" + rule + 'Field(p, "x")\nField(p, f)')
    with pytest.warns(ConvergenceWarning, match=r"n of 1 clause, the first Field\(p, f\), is the same in all worlds"):
        fit = sqlrl.Likelihood("l2", strength=0).fit(db, model)
    assert fit.optimality_ < 1e-4


def test_starting_weights_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="nan"):
        sqlrl.parse_mln(TEXT + "nan Liked(d)")


@pytest.mark.slow
def test_windows_are_learned_from_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains in windows of five, whose later ones bring words that the first do not know, in memory and in files."""
    from sqlrl.ground import windows
    from sqlrl.training import shelf

    db = sqlrl.connect()
    rng = np.random.default_rng(2)
    rows = [(f"w{rng.integers(0, 3 + d)}", p, d) for d in range(15) for p in range(4)]
    db.load("Word", [(w, f"p{p}", f"d{d:02}") for w, p, d in rows], types=["word", "place", "doc"], example="doc")
    db.load("Next", [(f"p{p}", f"p{p + 1}") for p in range(3)], types=["place", "place"])
    good = [(f"p{p}", f"d{d:02}") for w, p, d in rows if rng.random() < (0.9 if int(w[1:]) % 2 else 0.2)]
    db.load("Good", good, types=["place", "doc"], target=True)
    model = sqlrl.parse_mln(
        "Word(word, place, doc)\nNext(place, place)\nGood(place, doc)\nWord(+w, p, d) => Good(p, d)\n"
        "Next(p, q) ^ Good(p, d) => Good(q, d)"
    )

    def learned() -> dict[str, float]:
        fit = sqlrl.Likelihood("l2", strength=[0.3, 3.0], folds=3).fit(db, model)
        assert fit.reached_.components == 15
        found = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
        return {**found, "chosen": fit.strength_, "support": sum(fit.clauses()["support"].to_pylist())}

    whole = learned()
    monkeypatch.setattr(windows, "FIRST", 5)
    monkeypatch.setattr(windows, "_fitting", lambda entries: 5)
    divided = learned()
    monkeypatch.setattr(shelf, "KEPT", 0)
    monkeypatch.setattr(shelf.Shelf.__init__, "__defaults__", (0,))
    spilled = learned()
    assert divided.keys() == whole.keys()
    assert len(whole) > 10
    assert [divided[key] for key in whole] == pytest.approx(list(whole.values()), abs=1e-6)
    assert spilled == divided


def test_skipping_leaves_an_example_out_of_every_window() -> None:
    db = sqlrl.connect()
    documents(db, example="doc")
    model = sqlrl.parse_mln(TEXT + 'Word(d, "the") ^ Word(d, "bad") => !Liked(d).\nWord(d, +w) => Liked(d)')
    with pytest.warns(InfeasibleTruthWarning):
        fit = sqlrl.Likelihood(on_infeasible_truth="skip").fit(db, model)
    assert fit.reached_.choices == 30 - len(set(fit.infeasible_.example.tolist())) - fixed_false(db)


def fixed_false(db: sqlrl.Database) -> int:
    """Documents that the hard clause makes disliked, and that are."""
    query = """
        select count(distinct doc) from sqlrl.named_Word where word = 'bad' and doc not in (select doc from sqlrl.named_Liked)
    """
    [(count,)] = db.sql(query).fetchall()
    return int(count)


def test_with_a_loss_worlds_with_wrong_atoms_weigh_more(db: sqlrl.Database) -> None:
    fit = sqlrl.Likelihood("l2", strength=0.5, loss="hamming").fit(db, sqlrl.parse_mln(TEXT + "Liked(d)"))
    [(liked,)] = db.sql("select count(*) from sqlrl.named_Liked").fetchall()

    def slope(weight: float) -> float:
        """Where a document is liked its wrong world has the score 1 in place of 0, where not the score weight + 1."""
        return liked * special.expit(1 - weight) - (30 - liked) * special.expit(1 + weight) - 0.5 * weight

    assert fit.weights_ == pytest.approx([optimize.brentq(slope, -9, 9)], abs=1e-6)
    assert "log-likelihood with the hamming loss, -" in repr(fit)
    # Expected counts are those of the model, which the gradient does not say here.
    assert db.sql("select count(n_expected) from sqlrl.clause_statistics").fetchall() == [(0,)]
    plain = sqlrl.Likelihood("l2", strength=0.5).fit(db, sqlrl.parse_mln(TEXT + "Liked(d)"))
    assert abs(fit.weights_[0]) > abs(plain.weights_[0]) > 0
