"""How results look in a terminal and in a notebook, and where warnings point."""

from __future__ import annotations

import json
import linecache
import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.database.explanations import Explanations
from sqlrl.errors import InfeasibleTruthWarning, InputError, NotFittedError
from sqlrl.evaluate import score

TEXT = """
Word(doc, word)
Class(doc, class)
1.5 Word(d, "<b>") => Class(d, "x")
-0.5 Class(d, c)
"""
MODEL = sqlrl.parse_mln(TEXT)


class Balanced(HTMLParser):
    """Checks that every element is closed, and collects names and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page(value: object) -> Balanced:
    found = Balanced(value._repr_html_())  # type: ignore[attr-defined]
    allowed = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "pre", "details", "summary"}
    assert found.tags <= allowed
    return found


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    database = sqlrl.connect()
    database.load("Word", [("d1", "<b>"), ("d2", "b"), ("d3", "<b>")], types=("doc", "word"), example="doc")
    database.load("Class", [("d1", "x"), ("d2", "y"), ("d3", "x")], types=("doc", "class"), target=True)
    return database


@pytest.fixture(scope="module")
def fit(db: sqlrl.Database) -> sqlrl.AdaGrad:
    return sqlrl.AdaGrad(window=2).fit(db, MODEL)


def test_a_database_shows_its_predicates(db: sqlrl.Database) -> None:
    assert repr(db).startswith("Database(':memory:')\n")
    assert "Word(doc, word)" in repr(db)
    assert "Word(doc, word)" in page(db).text
    with sqlrl.connect() as closed:
        pass
    assert repr(closed) == page(closed).text == "Database(':memory:'), closed"


def test_an_estimator_shows_what_it_learned(fit: sqlrl.AdaGrad) -> None:
    assert repr(sqlrl.AdaGrad(window=2)) == "AdaGrad(window=2)"
    assert page(sqlrl.AdaGrad(window=2)).text.startswith("AdaGrad(window=2)all parameters")
    first, *facts = repr(fit).splitlines()
    assert first == "AdaGrad(window=2)"
    assert "  steps       3" in facts
    loss = int(sum(fit.steps_["loss"].to_pylist()))
    assert any(f"{loss} of 6 atoms wrong" in line for line in facts)
    shown = page(fit).text
    assert fit.clauses()["clause"][0] in shown
    assert f"{fit.clauses()['weight'][0]:.6g}" in shown


def test_what_was_not_learned_says_so() -> None:
    fresh = sqlrl.AdaGrad()
    for name in ("model_", "model", "weights_", "steps_", "infeasible_", "n_steps_"):
        with pytest.raises(NotFittedError, match=r"this AdaGrad has no .* yet: call fit\(db, model\) first"):
            getattr(fresh, name)
        assert not hasattr(fresh, name)
    with pytest.raises(InputError, match="call fit"):
        fresh.clauses()
    with pytest.raises(AttributeError, match="no attribute 'weigths_'") as raised:
        fresh.weigths_  # noqa: B018
    assert not isinstance(raised.value, NotFittedError)


def test_hard_rules_that_state_blocks_are_in_the_model_alone() -> None:
    with sqlrl.connect() as db:
        db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
        db.load("Class", [("d1", "x"), ("d2", "y")], types=["doc", "class"], target=True)
        block, other = "Class(d, c) ^ c != e => !Class(d, e).", 'Word(d, "a") => Class(d, "x").'
        text = f"Word(doc, word)\nClass(doc, class)\nWord(d, w) => Class(d, c)\n{block}\n{other}"
        fit = sqlrl.CDA().fit(db, sqlrl.parse_mln(text))
        assert fit.clauses()["clause"].to_pylist() == [other, "Word(d, w) => Class(d, c)"]
        assert db.sql("select count(*) from sqlrl.clause").fetchall() == [(2,)]
        assert block in str(fit.model_)
        # The block holds.
        assert sum(db.predict(fit.model_).result.world) <= 2


@pytest.mark.parametrize(
    ("learner", "listed", "shown"),
    [
        (
            sqlrl.MaxMargin(strength=np.array([0.5, 1.0])),
            sqlrl.MaxMargin(strength=[0.5, 1.0]),
            "MaxMargin(strength=array([0.5, 1. ]))",
        ),
        (sqlrl.MaxMargin(strength=np.array(2.0)), sqlrl.MaxMargin(strength=2.0), "MaxMargin(strength=array(2.))"),
        (
            sqlrl.Likelihood("l2", np.array([0.5, 1.0]), folds=np.int64(2), prior_scale=np.ones(1)),  # type: ignore[arg-type]
            sqlrl.Likelihood("l2", [0.5, 1.0], folds=2, prior_scale=[1.0]),
            "Likelihood(penalty='l2', strength=array([0.5, 1. ]), folds=2, prior_scale=array([1.]))",
        ),
        (
            sqlrl.Likelihood("l2", np.array(0.5), prior_scale=np.array(3.0)),
            sqlrl.Likelihood("l2", 0.5, prior_scale=3.0),
            "Likelihood(penalty='l2', strength=array(0.5), prior_scale=array(3.))",
        ),
    ],
)
def test_arrays_are_parameters_as_lists_are(learner: Any, listed: Any, shown: str) -> None:
    assert repr(learner).replace("np.int64(2)", "2") == shown
    with sqlrl.connect() as db:
        db.load("Word", [(f"d{i}", "ab"[i % 2]) for i in range(8)], types=["doc", "word"], example="doc")
        db.load("Liked", [("d1",), ("d3",), ("d4",), ("d5",), ("d6",)], types=["doc"], target=True)
        model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
        assert learner.fit(db, model).weights_.tolist() == listed.fit(db, model).weights_.tolist()
        kept = [json.loads(row[0]) for row in db.sql("select parameters from sqlrl.run order by run").fetchall()]
        assert kept[0] == kept[1]
    assert repr(learner).replace("np.int64(2)", "2").startswith(shown + "\n")
    assert page(learner).text.startswith(type(learner).__name__)


def test_a_list_that_can_be_read_once_is_refused() -> None:
    with sqlrl.connect() as db:
        for learner in (sqlrl.Likelihood("l1", (x for x in (1.0, 2.0))), sqlrl.MaxMargin(strength=iter([1.0]))):  # type: ignore[arg-type]
            with pytest.raises(InputError, match=r"can be read only once: give a list, (strength|C)=list\(...\)"):
                learner.fit(db, MODEL)


@pytest.mark.parametrize(
    "learner",
    [
        sqlrl.AdaGrad(window=2),
        sqlrl.Likelihood(strength=1.0),
        sqlrl.OSL(sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")),
        sqlrl.ConstrainedTraining(sqlrl.CDA(), mode="none"),
        sqlrl.ILP(
            sqlrl.parse_bias("modeh(1, 'Liked'(+doc)). modeb(*, 'Word'(+doc,#word))."), min_positive=1, min_score=0
        ),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.filterwarnings("ignore::sqlrl.errors.NothingFoundWarning")
def test_a_fitted_estimator_can_be_pickled(learner: Any) -> None:
    with sqlrl.connect() as db:
        db.load("Word", [("d1", "a"), ("d2", "b"), ("d3", "a")], types=["doc", "word"], example="doc")
        db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
        model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)")
        learner.fit(db, "Liked" if isinstance(learner, sqlrl.ILP) else model)
    again = pickle.loads(pickle.dumps(learner))
    assert repr(again) == repr(learner)
    assert again.model_ == learner.model_
    for table in ("clauses", "added"):
        if hasattr(learner, table):
            assert getattr(again, table)() == getattr(learner, table)()


def test_a_model_shows_its_first_rules() -> None:
    assert "2 rules (0 hard, 2 with a weight, 0 clauses of templates):" in repr(MODEL)
    assert 'Word(d, "<b>") => Class(d, "x")' in repr(MODEL)
    assert 'Word(d, "<b>") => Class(d, "x")' in page(MODEL).text
    long = sqlrl.parse_mln("P(t)\n" + "\n".join(f"1 P(A{i})" for i in range(40)))
    assert len(repr(long).splitlines()) == 22
    assert repr(long).endswith(f"… {len(str(long).splitlines()) - 20} more lines")


def test_scores_show_each_predicate() -> None:
    one = score([True, False], [True, True], [0, 0], predicate=[0, 0], names=["Class"])
    two = score([True, False], [True, True], [0, 1], predicate=[0, 1], names=["Class", "A"])
    assert repr(one) == str(one)
    assert repr(two).splitlines()[1].split() == ["A", "F1", "0.00", "(precision", "0.00,", "recall", "0.00)"]
    assert "all right" not in str(one)
    assert "1 of 2 examples all right" in str(two)
    assert repr(two.examples) == "ExampleScores(2 examples, 1 all right)"
    assert "true positives" in page(two).text


def test_an_explanation_prints_as_a_table_with_sql_on_demand(db: sqlrl.Database) -> None:
    found = MODEL.plan(db)
    assert isinstance(found, Explanations)
    assert len(found) == 2
    assert "SELECT" not in str(found)
    assert all(each.shape in repr(found) for each in found)
    assert found.table()["estimate"] == [each.estimate for each in found]
    assert [each.sql for each in found[1:]] == [found[-1].sql]
    assert found[0].sql in str(found[0])
    assert found[0].plan in str(found[0])
    assert found[0].sql in page(found).text
    assert "details" in page(found[0]).tags


def test_a_prediction_shows_what_the_model_does_not_know(db: sqlrl.Database) -> None:
    template = sqlrl.parse_mln("Word(doc, word)\nClass(doc, class)\nWord(d, +w) => Class(d, +c)\n-0.5 Class(d, c)")
    learned = sqlrl.AdaGrad().fit(db, template, examples=["d1"]).model
    prediction = db.predict(learned, method="elimination")
    assert "2 combinations of constants were never seen in training; they touch 2 query atoms" in repr(prediction)
    assert "do not occur" not in repr(prediction)
    shown = page(prediction).text
    assert "Prediction of Class: " in shown
    assert "optimal" in shown
    assert "never seen" in shown


def test_a_prediction_counts_constants_that_the_data_lack(db: sqlrl.Database, fit: sqlrl.AdaGrad) -> None:
    other = sqlrl.connect()
    other.load("Word", [("d9", "z")], types=("doc", "word"), example="doc")
    other.load("Class", [("d9", "x")], types=("doc", "class"), target=True)
    with pytest.warns(sqlrl.errors.UnseenConstantWarning) as caught:
        prediction = other.predict(fit.model, method="elimination")
    assert "1 constant of the model's clauses does not occur in these data" in repr(prediction)
    assert pointed_at(caught[0]) == 'prediction = other.predict(fit.model, method="elimination")'


def pointed_at(warning: object) -> str:
    assert Path(warning.filename) == Path(__file__)  # type: ignore[attr-defined]
    return linecache.getline(warning.filename, warning.lineno).strip()  # type: ignore[attr-defined]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_warnings_of_learners_point_at_the_call() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a")], types=("doc", "word"), example="doc")
    db.load("Class", [("d1", "x"), ("d1", "y")], types=("doc", "class"), target=True)
    model = sqlrl.parse_mln(
        "Word(doc, word)\nClass(doc, class)\nWord(d, w) => Class(d, c)\nClass(d,a) ^ a != b => !Class(d,b)."
    )
    with pytest.warns(InfeasibleTruthWarning, match=r"the labels of 1 example violate hard clauses") as caught:
        sqlrl.AdaGrad().fit(db, model)
    assert pointed_at(caught[0]) == "sqlrl.AdaGrad().fit(db, model)"
