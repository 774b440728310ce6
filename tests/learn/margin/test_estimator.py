import numpy as np
import pytest

import sqlrl
from sqlrl.errors import ConvergenceWarning, InfeasibleError, InfeasibleTruthWarning, InputError, ValidationWarning
from sqlrl.training.records import Iteration

WORDS = "Word(doc, word)\nTopic(doc, name)\nWord(d, +w) => Topic(d, +n)\n"


@pytest.fixture(scope="module")
def five() -> sqlrl.Database:
    """Five documents, for runs that only read them."""
    return documents()


def documents() -> sqlrl.Database:
    db = sqlrl.connect()
    words = {"d1": "ace serve net", "d2": "serve net", "d3": "vote law net", "d4": "law vote", "d5": "ace law"}
    db.load(
        "Word",
        [(d, w) for d, text in words.items() for w in text.split()],
        types=["doc", "word"],
        example="doc",
    )
    topics = [("d1", "sport"), ("d2", "sport"), ("d3", "state"), ("d4", "state"), ("d5", "sport")]
    db.load("Topic", topics, types=["doc", "name"], target=True)
    return db


@pytest.mark.parametrize(
    ("penalty", "loss"),
    [
        ("l2", "hamming"),
        ("l1", "zero-one"),
        pytest.param("l1", "hamming", marks=pytest.mark.slow),
        pytest.param("l2", "zero-one", marks=pytest.mark.slow),
    ],
)
def test_what_can_be_separated_is_separated(penalty: str, loss: str, five: sqlrl.Database) -> None:
    db = five
    fit = sqlrl.MaxMargin(strength=0.01, penalty=penalty, loss=loss).fit(db, sqlrl.parse_mln(WORDS))
    assert db.evaluate(db.predict(fit.model)).f1 == 1
    rows = fit.iterations_.to_pylist()
    assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1))
    # Of weights that are good enough a vertex is taken, which need not be the very best.
    assert fit.gap_ >= rows[-1]["objective"] - rows[-1]["bound"] - 1e-9
    assert fit.gap_ <= 1.1 * 0.001 * max(1.0, rows[-1]["bound"])
    # With the Hamming loss no atoms are joined, and there are no cuts.
    cuts = len(rows) - 1 if loss == "zero-one" else None
    kept = db.sql(f"select count(*), max(cuts) from sqlrl.iteration where run = {fit.run_}").fetchall()
    assert kept == [(len(rows), cuts)]


def test_the_1_norm_leaves_most_weights_0(five: sqlrl.Database) -> None:
    db = five
    squared, absolute = (
        sqlrl.MaxMargin(strength=0.1, penalty=penalty, epsilon=1e-7).fit(db, sqlrl.parse_mln(WORDS))
        for penalty in ("l2", "l1")
    )
    assert np.count_nonzero(absolute.weights_) < np.count_nonzero(squared.weights_)
    assert np.abs(absolute.weights_).sum() <= np.abs(squared.weights_).sum() + 1e-6


def test_of_several_strengths_the_one_with_the_best_f1_on_training_is_taken() -> None:
    db = sqlrl.connect()
    words = [("d1", "x"), ("d1", "y"), ("d2", "x"), ("d3", "x"), ("d4", "x")]
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Liked", [("d1",)], types=["doc"], target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
    # With tiny weights the three documents with x alone outvote the y of the first.
    fit = sqlrl.MaxMargin(strength=[0.1, 1000000.0, 0.25]).fit(db, model)
    rows = fit.choices_.to_pylist()
    assert [(row["strength"], row["C"], row["f1"], row["chosen"]) for row in rows] == [
        (1e6, 1e-6, 0.75, False),
        (0.25, 4.0, 1.0, True),
        (0.1, 10.0, 1.0, False),
    ]
    assert fit.gap_ == rows[1]["gap"]
    kept = db.sql("select value, score, chosen from sqlrl.tuning order by value desc").fetchall()
    assert kept == [(row["strength"], row["f1"], row["chosen"]) for row in rows]
    alone = sqlrl.MaxMargin(strength=0.25).fit(db, model)
    (row,) = alone.choices_.to_pylist()
    assert row["f1"] is None
    assert row["objective"] == pytest.approx(rows[1]["objective"], abs=1.1 * 4 * 4 * 0.001)


@pytest.mark.parametrize("separation", ["relaxed", pytest.param("exact", marks=pytest.mark.slow)])
def test_a_hard_transitive_clause_and_recursive_clauses_take_part(separation: str) -> None:
    db = sqlrl.connect()
    names = ["a", "b", "c", "d", "e"]
    db.load("Big", [("a",), ("b",), ("c",)], types=["drug"])
    db.load("Old", [("a",), ("d",)], types=["drug"])
    pairs = [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]]
    db.load("Better", pairs, types=["drug", "drug"], target=True)
    model = sqlrl.parse_mln(
        "Big(drug)\nOld(drug)\nBetter(drug, drug)\n"
        "Big(x) ^ !Big(y) => Better(x, y)\nOld(x) => Better(x, y)\nBetter(x, y) => !Better(y, x)\n"
        "Better(x, y) ^ Better(y, z) => Better(x, z)."
    )
    fit = sqlrl.MaxMargin(strength=1.0, separation=separation).fit(db, model)
    assert len(fit.infeasible_.clause) == 0
    (row,) = fit.choices_.to_pylist()
    assert fit.gap_ <= 1.1 * 0.001 * max(1.0, row["bound"]) or separation == "relaxed"
    weight = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
    assert weight["Better(x, y) => !Better(y, x)"] > 0
    assert sum(value is None for value in weight.values()) == 1
    assert db.evaluate(db.predict(fit.model)).f1 > 0.7


@pytest.mark.parametrize("penalty", ["l2", pytest.param("l1", marks=pytest.mark.slow)])
def test_with_a_hard_transitive_clause_alone_no_cuts_are_needed(penalty: str) -> None:
    db = sqlrl.connect()
    names = ["a", "b", "c", "d", "e"]
    db.load("Big", [("a",), ("b",), ("d",)], types=["drug"])
    db.load("Old", [("a",), ("d",)], types=["drug"])
    db.load(
        "Better", [(x, y) for i, x in enumerate(names) for y in names[i + 1 :]], types=["drug", "drug"], target=True
    )
    model = sqlrl.parse_mln(
        "Big(drug)\nOld(drug)\nBetter(drug, drug)\nBig(x) ^ !Big(y) => Better(x, y)\nOld(x) => Better(x, y)\n"
        "Old(x) ^ Old(x) => Better(x, y)\nBetter(x, x)\nBetter(x, y) ^ Better(y, z) => Better(x, z)."
    )
    bounds = {}
    for separation in ("relaxed", "exact"):
        fit = sqlrl.MaxMargin(strength=1.0, penalty=penalty, separation=separation, epsilon=1e-4).fit(db, model)
        assert len(fit.infeasible_.clause) == 0
        (row,) = fit.choices_.to_pylist()
        assert fit.gap_ <= 1.1e-4 * max(1.0, row["bound"])
        bounds[separation] = row["bound"], row["objective"]
        assert (fit.iterations_.column("cuts").null_count == fit.iterations_.num_rows) == (separation == "relaxed")
        weight = fit.weights_[np.flatnonzero(fit.weights_)]
        assert len(weight)
    # Fractional worlds are more.
    assert bounds["relaxed"][1] >= bounds["exact"][0] - 1e-6


@pytest.mark.parametrize("penalty", ["l2", pytest.param("l1", marks=pytest.mark.slow)])
def test_labels_that_break_a_hard_clause_are_named_and_still_learned_from(penalty: str) -> None:
    db = sqlrl.connect()
    db.load("Good", [("a",), ("b",)], types=["drug"])
    db.load("Chosen", [("a",), ("b",)], types=["drug"], target=True)
    db.load("Other", [("a", "b"), ("c", "c")], types=["drug", "drug"])
    model = sqlrl.parse_mln(
        "Good(drug)\nChosen(drug)\nOther(drug, drug)\nGood(x) => Chosen(x)\nOther(x, y) => !Chosen(x) v !Chosen(y)."
    )
    with pytest.warns(InfeasibleTruthWarning, match=r"(?s)Other\(x, y\).*1 grounding"):
        fit = sqlrl.MaxMargin(strength=0.01, penalty=penalty).fit(db, model)
    # A world lacks one of both, so that w >= 1 keeps the margin.
    assert fit.weights_.max() == pytest.approx(1.0, abs=2e-3)
    assert fit.gap_ <= 1.1 * 0.001


def test_hard_clauses_that_cannot_all_hold_are_refused_though_fractional_worlds_keep_them() -> None:
    db = sqlrl.connect()
    db.load("Good", [("a",), ("b",)], types=["drug"])
    db.load("Chosen", [("a",)], types=["drug"], target=True)
    db.load("Other", [("a", "b")], types=["drug", "drug"])
    clauses = "".join(f"Other(x, y) => {p}Chosen(x) v {q}Chosen(y).\n" for p in ("", "!") for q in ("", "!"))
    model = sqlrl.parse_mln(f"Good(drug)\nChosen(drug)\nOther(drug, drug)\nGood(x) => Chosen(x)\n{clauses}")
    with pytest.raises(InfeasibleError, match="Chosen"):
        sqlrl.MaxMargin().fit(db, model)


def test_a_run_that_stops_early_says_how_far_it_is(five: sqlrl.Database) -> None:
    db = five
    with pytest.warns(
        ConvergenceWarning,
        match=r"strength=0.01 ended after 2 iterations .* at most \d.* above the least one, of which \d.* is a lower bound",
    ):
        fit = sqlrl.MaxMargin(strength=0.01, max_iterations=2).fit(db, sqlrl.parse_mln(WORDS))
    assert fit.iterations_.num_rows == 2
    assert fit.gap_ > 0
    assert "above the least" in repr(fit)


@pytest.mark.slow
def test_an_interrupted_run_leaves_a_database_that_works() -> None:
    db = documents()

    def stop(iteration: Iteration) -> None:
        if iteration.iteration == 2:
            raise KeyboardInterrupt

    fit = sqlrl.MaxMargin(strength=0.01)
    with pytest.raises(KeyboardInterrupt):
        fit.fit(db, sqlrl.parse_mln(WORDS), callback=stop)
    (row,) = fit.choices_.to_pylist()
    assert (row["iterations"], row["gap"], row["weights"]) == (2, fit.gap_, np.count_nonzero(fit.weights_))
    assert fit.gap_ > 1.1 * 5 * 0.001 * 100
    again = sqlrl.MaxMargin(strength=0.01).fit(db, sqlrl.parse_mln(WORDS))
    assert db.evaluate(db.predict(again.model)).f1 == 1


def test_the_same_run_twice_gives_the_same_weights(five: sqlrl.Database) -> None:
    one, two = (sqlrl.MaxMargin(strength=0.2).fit(five, sqlrl.parse_mln(WORDS)).weights_ for _ in range(2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"strength": 0}, "strength=0 is not a finite number above 0"),
        ({"strength": []}, "strength=\\[\\] has no value"),
        ({"strength": [1, "x"]}, "strength='x' is not a finite number"),
        ({"strength": "10"}, "strength='10' is not a finite number"),
        ({"penalty": "l3"}, "penalty='l3': choose 'l1' or 'l2'"),
        ({"loss": "f1"}, "loss='f1': choose 'hamming' or 'zero-one'"),
        ({"separation": "mpe"}, "separation='mpe': choose 'relaxed' or 'exact'"),
        ({"epsilon": 0}, "epsilon=0 is not a finite number above 0"),
        ({"max_iterations": 0}, "max_iterations=0"),
        ({"cache": 0}, "cache=0"),
        ({"folds": 1, "strength": [1, 2]}, "folds=1: give an integer of at least 2"),
        (
            {"folds": 7},
            r"folds=7 says how examples are held out to choose a strength, and strength=1 is only one value: give several",
        ),
        (
            {"folds": 3, "strength": [2, 2.0]},
            r"strength=2 is only one value: give several to choose from, or leave folds out",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(setting: dict[str, object], message: str, five: sqlrl.Database) -> None:
    with pytest.raises(InputError, match=message):
        sqlrl.MaxMargin(**setting).fit(five, sqlrl.parse_mln(WORDS))


def noisy(documents: int = 30) -> sqlrl.Database:
    """Documents that one word tells apart, each with a word of its own beside it, and one label in six wrong."""
    db = sqlrl.connect()
    words = [(f"d{i:02}", word) for i in range(documents) for word in (f"own{i}", "good" if i % 2 else "bad")]
    db.load("Word", words, types=["doc", "word"], example="doc")
    liked = [(f"d{i:02}",) for i in range(documents) if (i % 2 == 1) != (i % 6 == 0)]
    db.load("Liked", liked, types=["doc"], target=True)
    return db


LIKED = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)"


@pytest.mark.slow
def test_with_folds_the_strength_is_taken_that_predicts_held_out_examples_best() -> None:
    db, model, values = noisy(), sqlrl.parse_mln(LIKED), [0.02, 100.0]
    seen = sqlrl.MaxMargin(strength=[1 / value for value in values]).fit(db, model)
    held = sqlrl.MaxMargin(strength=[1 / value for value in values], folds=5).fit(db, model)
    # Words of their own make every label right that was seen.
    assert [row["f1"] for row in seen.choices_.to_pylist()] == [pytest.approx(5 / 6, abs=0.1), 1.0]
    assert [row["chosen"] for row in seen.choices_.to_pylist()] == [False, True]
    small, large = held.choices_.to_pylist()
    assert (small["chosen"], large["chosen"]) == (True, False)
    assert large["f1"] <= small["f1"] < 1.0
    assert small["gap"] is not None
    assert {large[name] for name in ("objective", "bound", "gap", "iterations", "weights")} == {None}
    # The weights are those of all examples.
    alone = sqlrl.MaxMargin(strength=50.0).fit(db, model)
    assert held.weights_ == pytest.approx(alone.weights_, abs=1e-9)
    tuned = db.sql(f"select value, score, chosen from sqlrl.tuning where run = {held.run_} order by value desc")
    assert tuned.fetchall() == [(row["strength"], row["f1"], row["chosen"]) for row in held.choices_.to_pylist()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.ValidationWarning", "ignore::sqlrl.errors.LabelWarning")
def test_held_out_f1_is_that_of_weights_trained_without_these_examples() -> None:
    db, model = noisy(3), sqlrl.parse_mln(LIKED)
    found = [row["f1"] for row in sqlrl.MaxMargin(strength=[20.0, 0.02], folds=3).fit(db, model).choices_.to_pylist()]
    names = [f"d{i:02}" for i in range(3)]
    for value, f1 in zip((0.05, 50.0), found, strict=True):
        own = []
        for name in names:
            fit = sqlrl.MaxMargin(strength=1 / value).fit(
                db, model, examples=[other for other in names if other != name]
            )
            wrong = db.evaluate(db.predict(fit.model_, examples=[name])).total
            own.append(1.0 - wrong.false_positives - wrong.false_negatives)
        # A document has one atom: its F1 is 1 where that is right, else 0.
        assert f1 == pytest.approx(np.mean(own))


def test_folds_need_examples_that_can_be_held_out() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "x"), ("d2", "y")], types=["doc", "word"])
    db.load("Liked", [("d1",)], types=["doc"], target=True)
    with pytest.raises(InputError, match="folds=3, but there is only one mega-example to hold out: load the data with"):
        sqlrl.MaxMargin(strength=[10.0, 1.0], folds=3).fit(db, sqlrl.parse_mln(LIKED))


def test_folds_that_leave_labels_of_one_kind_are_told() -> None:
    db, model = sqlrl.connect(), sqlrl.parse_mln(LIKED)
    db.load("Word", [(f"d{i}", "x" if i else "y") for i in range(4)], types=["doc", "word"], example="doc")
    db.load("Liked", [("d0",)], types=["doc"], target=True)
    with pytest.warns(ValidationWarning, match="without part [12] of 2 all labels are false, so that nothing tells"):
        sqlrl.MaxMargin(strength=[10.0, 1.0], folds=2).fit(db, model)


def test_trainings_that_hold_examples_out_and_stop_early_are_told() -> None:
    db, model = noisy(12), sqlrl.parse_mln(LIKED)
    with pytest.warns(ConvergenceWarning) as told:
        fit = sqlrl.MaxMargin(strength=[50.0, 0.01], loss="zero-one", folds=3, max_iterations=1).fit(db, model)
    first = str(told[0].message)
    assert first.startswith(
        "MaxMargin, in 6 of 6 trainings that held examples out to choose a strength, the worst of them, ended after 1 "
    )
    # The last training goes through the strengths down to the chosen one, as those did.
    rows = fit.choices_.to_pylist()
    chosen = next(k for k, row in enumerate(rows) if row["chosen"])
    assert [row["iterations"] for row in rows] == [1 if k <= chosen else None for k in range(2)]
    assert len(told) == 1 + chosen + 1
