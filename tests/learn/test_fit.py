"""Every estimator over a real database: helper atoms, soft evidence, given atoms, and what it says of wrong input."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import ConvergenceWarning, InfeasibleError, InputError, NotFittedError
from sqlrl.ground.windows import Window
from sqlrl.learn import OnlineEstimator
from tests.learn.oracles import one_minus_f1

ESTIMATORS: dict[str, OnlineEstimator] = {
    "AdaGrad": sqlrl.AdaGrad(),
    "CDA": sqlrl.CDA(0.01),
    "CDA-PL-F1": sqlrl.CDA(0.01, update="prediction", loss="f1"),
    "MIRA": sqlrl.baselines.MIRA(),
    "Subgradient": sqlrl.baselines.Subgradient(0.1),
    "Perceptron": sqlrl.baselines.Perceptron(),
    "CD-MPE": sqlrl.baselines.ContrastiveDivergence("mpe"),
    "CD-Gibbs": sqlrl.baselines.ContrastiveDivergence(sweeps=2),
}
# How worlds are found, and how weights move with them, is in the contract of learners: here one of each kind of counts.
kinds = pytest.mark.parametrize("name", ["CD-Gibbs", pytest.param("AdaGrad", marks=pytest.mark.slow)])

TYPES = "Item(doc, item)\nShape(doc, item, shape)\nRed(doc, item)\nBig(doc, item)\nFine(doc)\n"
MODEL = sqlrl.parse_mln(
    TYPES
    + """
    Shape(d, i, +s) => Red(d, i)
    Shape(d, i, +s) => Big(d, i)
    Fine(d) => EXIST i Red(d, i) ^ Big(d, i)
    Fine(d)
    """
)


def again(name: str, **changed: Any) -> OnlineEstimator:
    made = ESTIMATORS[name]
    return type(made)(**{**made.get_params(), **changed})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    rng, database = random.Random(3), sqlrl.connect()
    items = [(f"d{d}", f"i{d}{k}") for d in range(14) for k in range(3)]
    shapes = [(d, i, f"s{rng.randrange(4)}") for d, i in items]
    red = [(d, i) for d, i, s in shapes if s in ("s0", "s1")]
    big = [(d, i) for d, i, s in shapes if s in ("s1", "s2")]
    both = {d for d, _ in set(red) & set(big)}
    database.load("Item", items, types=["doc", "item"], example="doc")
    database.load("Shape", shapes, types=["doc", "item", "shape"], example="doc")
    database.load("Red", red, types=["doc", "item"], target=True)
    database.load("Big", big, types=["doc", "item"], target=True)
    given = [(*items[k], items[k] in big) for k in (9, 13)]
    database.load("Big", given, types=["doc", "item"], given=True, truth=2)
    database.load("Fine", sorted((d,) for d in both), types=["doc"], target=True)
    database.load("Fine", [("d5", 0.8), ("d6", 0.3)], types=["doc"], probability=1)
    return database


# Four runs, more than a second.
@pytest.mark.slow
@kinds
def test_windows_passes_and_seeds(db: sqlrl.Database, name: str) -> None:
    options: dict[str, Any] = {"passes": 1, "order": "shuffle", "random_state": 4}
    one, whole = again(name, window=9, **options).fit(db, MODEL), again(name, **options).fit(db, MODEL)
    assert one.n_steps_ == whole.n_steps_ == 14
    assert one.steps_ == whole.steps_
    # Windows may give the clauses of templates other ids, so that sums over clauses are rounded otherwise.
    weights = [{row["clause"]: row["weight"] for row in fit.clauses().to_pylist()} for fit in (one, whole)]
    assert weights[0].keys() == weights[1].keys()
    assert all(weights[0][text] == pytest.approx(w, rel=1e-12, abs=1e-12) for text, w in weights[1].items())
    assert again(name, **options).fit(db, MODEL).weights_.tobytes() == whole.weights_.tobytes()
    other = again(name, **{**options, "random_state": 5}).fit(db, MODEL)
    assert other.weights_.tobytes() != whole.weights_.tobytes()


@pytest.mark.slow
def test_examples_are_taken_in_the_order_in_which_they_are_named(db: sqlrl.Database) -> None:
    query = "select * from (values ('d7'), ('d2'), ('d11')) order by 1"
    for examples, names in ((["d7", "d2", "d11"], ["d7", "d2", "d11"]), (query, ["d11", "d2", "d7"])):
        run = sqlrl.CDA().fit(db, MODEL, examples=examples).run_
        steps = f"select name from sqlrl.step join sqlrl.example using (example) where run = {run} order by step"
        assert [name for (name,) in db.sql(steps).fetchall()] == names


@pytest.mark.slow
@kinds
def test_what_is_learned_predicts_its_labels(db: sqlrl.Database, name: str) -> None:
    fit = again(name, passes=6).fit(db, MODEL)
    assert set(fit.steps_["atoms"].to_pylist()) <= {6, 7}  # no helper atoms, no given ones
    scores = db.evaluate(db.predict(fit.model))
    assert scores.f1 > 0.85
    assert db.sql(f"select learner, status from sqlrl.run where run = {fit.run_}").fetchall() == [
        (type(fit).__name__, "done")
    ]
    assert fit.model_ is fit.model
    assert repr(fit).splitlines()[0].startswith(f"{type(fit).__name__}(")
    assert 5 < len(fit.clauses()) < len(fit.weights_)  # definitions of helpers are not shown


QUANTIFIED = {
    "between rules": "Red(d, i)\nFine(d) => (EXIST i Red(d, i) ^ Big(d, i))\nFine(d)",
    "first": "EXIST i Red(d, i) ^ Big(d, i)\nRed(d, i)",
    "last": "Red(d, i)\nEXIST i Red(d, i) ^ Big(d, i)",
    "hard": "Red(d, i) v Fine(d)\nFine(d) => (EXIST i Red(d, i) ^ Big(d, i)).",
    "nested": "Red(d, i) ^ !(EXIST j Big(d, j) ^ Red(d, j) ^ !(EXIST l Red(d, l) ^ Big(d, l) ^ l != j))",
}
BATCH: dict[str, Any] = {
    "MaxMargin": sqlrl.MaxMargin(),
    "VotedPerceptron": sqlrl.baselines.VotedPerceptron(max_iterations=2),
    "PSCG": sqlrl.PSCG(2),
}


@pytest.mark.filterwarnings("ignore::sqlrl.errors.InfeasibleTruthWarning", "ignore::sqlrl.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *(pytest.param("AdaGrad", QUANTIFIED[place], id=f"AdaGrad, {place}") for place in ("last", "hard", "nested")),
        pytest.param("MaxMargin", QUANTIFIED["nested"], id="MaxMargin, nested"),
        *(
            pytest.param(name, text, id=f"{name}, {place}", marks=pytest.mark.slow)
            for name in BATCH
            for place, text in QUANTIFIED.items()
            if (name, place) in (("PSCG", "first"), ("VotedPerceptron", "between rules"), ("MaxMargin", "hard"))
        ),
    ],
)
def test_definitions_of_helper_atoms_are_no_clauses(db: sqlrl.Database, name: str, rules: str) -> None:
    """They have ids beyond those of all rules, unless a template follows."""
    model = sqlrl.parse_mln(TYPES + rules)
    fit = (BATCH[name] if name in BATCH else again(name)).fit(db, model)
    rows = sorted(fit.clauses().to_pylist(), key=lambda row: row["id"])
    assert [row["id"] for row in rows] == list(range(len(rows)))
    assert [row["clause"] for row in rows] == rules.splitlines()
    assert all(row["hard"] or row["weight"] == fit.weights_[row["id"]] for row in rows)
    assert len(rows) < len(fit.weights_)
    # Every rule has open ground clauses in each of 14 documents, and Red an atom for each of their 42 items.
    support = {row["clause"]: row["support"] for row in rows if not row["hard"]}
    assert support.get("Red(d, i)", 42) == 42 if name in BATCH else set(support.values()) == {14}


@pytest.mark.slow
def test_relaxed_inference_learns_too(db: sqlrl.Database) -> None:
    fit = again("CDA-PL-F1", inference="relaxed", passes=4).fit(db, MODEL)
    assert np.isfinite(fit.weights_).all()
    assert db.evaluate(db.predict(fit.model)).f1 > 0.7


@pytest.fixture(scope="module")
def given_windows(db: sqlrl.Database) -> list[Window]:
    with db.advanced.learning.training_windows(MODEL, size=5) as windows:
        windows.begin("windows", {}, 0)
        return list(windows)


@kinds
def test_steps_from_given_windows(db: sqlrl.Database, given_windows: list[Window], name: str) -> None:
    """`learn_many` without a database gives what `fit` gives."""
    learner = ESTIMATORS[name].learner()
    for window in given_windows:
        learner.learn_many(window)
    fit = again(name, window=5).fit(db, MODEL)
    assert learner.averaged_weights().tobytes() == fit.weights_.tobytes()


def test_nothing_to_learn_from(db: sqlrl.Database) -> None:
    name = "CDA"
    with pytest.raises(InputError, match="examples= names no examples"):
        again(name).fit(db, MODEL, examples=[])
    with pytest.raises(NotFittedError, match=r"has no weights_ yet: call fit\(db, model\) first"):
        again(name).weights_  # noqa: B018
    with pytest.raises(TypeError, match="unexpected keyword argument 'windows'"):
        again(name, windows=3)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_examples_without_query_atoms_alone_are_refused() -> None:
    database = sqlrl.connect()
    database.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
    database.load("Liked", [("d1",)], types=["doc"], target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    database.scope("Liked", [("d1",)])
    with pytest.raises(InputError, match="none of the examples has a query atom"):
        sqlrl.CDA().fit(database, model, examples=["d2"])
    assert database.sql("select status from sqlrl.run").fetchall() == [("failed",)]
    assert sqlrl.CDA().fit(database, model).n_steps_ == 2


@pytest.mark.parametrize(("people", "passes"), [(101, 3), (100, 1)])
def test_one_network_in_one_step_is_said(people: int, passes: int) -> None:
    database = sqlrl.connect()
    database.load("Tall", [(f"P{i}",) for i in range(0, people, 2)], types=["person"])
    database.load(
        "Wins", [(f"P{i}", i % 3 == 0) for i in range(people)], types=["person"], target=True, truth="column1"
    )
    model = sqlrl.parse_mln("Tall(person)\nWins(person)\nTall(x) => Wins(x)\nWins(x)")
    fit = sqlrl.AdaGrad(passes=passes)
    if people == 100:
        fit.fit(database, model)
    else:
        words = "AdaGrad took {}, one in each pass: the 101 query atoms are one example"
        with pytest.warns(ConvergenceWarning, match=words.format("3 steps")):
            fit.fit(database, model)
        with pytest.warns(ConvergenceWarning, match=words.format("1 step")):
            sqlrl.AdaGrad().fit(database, model)
    assert fit.n_steps_ == passes


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_hard_clauses_that_cannot_hold_are_named_with_their_atoms() -> None:
    database = sqlrl.connect()
    database.load("Word", [("d1", "a")], types=["doc", "word"], example="doc")
    database.load("Liked", [("d1",)], types=["doc"], target=True)
    rules = 'Word(doc, word)\nLiked(doc)\nLiked(d).\nWord(d, "a") => !Liked(d).'
    with pytest.raises(InfeasibleError, match=r'\n  Liked\("d1"\) \(Liked\(d\)\.\)\n  !Liked\("d1"\)') as caught:
        sqlrl.AdaGrad().fit(database, sqlrl.parse_mln(rules))
    assert caught.value.__notes__ == ["while predicting example d1"]


def test_blocks_of_a_conflict_are_named_by_their_atoms() -> None:
    """The numbers of atoms say nothing to who reads the message."""
    db = sqlrl.connect()
    db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
    db.load("Kind", [("d1", "A"), ("d2", "B")], types=["doc", "kind"], target=True)
    hard = 'Word(doc, word)\nKind(doc, kind!)\nWord(d, "bad") => !Kind(d, k).'
    model, words = sqlrl.parse_mln(hard), r'block: exactly one of Kind\("d2", A\), Kind\("d2", B\) is true'
    with pytest.raises(InfeasibleError, match=words):
        sqlrl.CDA().fit(db, sqlrl.parse_mln(f"{hard}\nWord(d, +w) => Kind(d, +k)"))
    with pytest.raises(InfeasibleError, match=words):
        db.predict(model)


WRONG: list[tuple[OnlineEstimator, str]] = [
    (sqlrl.CDA(strength=0), r"strength=0 is not a finite number above 0"),
    (sqlrl.CDA(loss="f1"), r"loss='f1' cannot go with update='maximal'"),
    (sqlrl.CDA(window=0), r"window=0: give an integer of at least 1"),
    (sqlrl.baselines.MIRA(loss="f2"), r"loss='f2': choose 'hamming' or 'f1'"),  # type: ignore[arg-type]
    (sqlrl.baselines.Subgradient(strength=float("nan")), r"strength=nan"),
    (sqlrl.baselines.Subgradient(update="best"), r"update='best'"),  # type: ignore[arg-type]
    (sqlrl.baselines.Perceptron(ties="any"), r"ties='any': choose"),  # type: ignore[arg-type]
    (sqlrl.baselines.Perceptron(inference="lp"), r"inference='lp': choose 'exact' or 'relaxed'"),  # type: ignore[arg-type]
    (sqlrl.baselines.ContrastiveDivergence("cd"), r"counts='cd': choose 'gibbs' or 'mpe'"),  # type: ignore[arg-type]
    (sqlrl.baselines.ContrastiveDivergence(sweeps=0), r"sweeps=0: give an integer of at least 1"),
    (sqlrl.baselines.ContrastiveDivergence(learning_rate=-1), r"learning_rate=-1"),
]


def test_parameters_are_checked_by_fit(db: sqlrl.Database) -> None:
    runs = "select count(*) from sqlrl.run"
    before = db.sql(runs).fetchall()
    for estimator, message in WRONG:
        with pytest.raises(InputError, match=message):
            estimator.fit(db, MODEL)
    assert db.sql(runs).fetchall() == before


def test_one_minus_f1_of_the_oracle() -> None:
    assert one_minus_f1((True, True, False), (True, False, True)) == 0.5
    assert one_minus_f1((False,), (False,)) == 0.0
    assert one_minus_f1((False,), (True,)) == 1.0
