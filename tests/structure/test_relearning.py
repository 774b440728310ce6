"""Weights of found clauses that are learned again: what `then=` comes to, by whatever learners, and what it keeps where it fails."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import InputError, NothingFoundWarning, NumericError
from sqlrl.ground.unseen import Unseen
from sqlrl.learn.batch.problem import TrainingProblem
from sqlrl.learn.parameters import parse_value, value_text
from sqlrl.structure.relearning import relearner
from sqlrl.training.fit import IterationFit
from sqlrl.training.records import Iteration, Report
from tests.learn.batch.stopped import load

pytestmark = pytest.mark.filterwarnings(
    "ignore::sqlrl.errors.ConvergenceWarning",
    "ignore::sqlrl.errors.LittleFoundWarning",
    "ignore::sqlrl.errors.LabelWarning",
    # Searches for clauses about all predicates find some that say nothing of what is predicted.
    "ignore::sqlrl.errors.GroundingWarning",
)

DECLARED = "Word(doc, word)\nLiked(doc)\n"
MODES = sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")
BIAS = sqlrl.parse_bias("modeh(1, 'Liked'(+doc)). modeb(*, 'Word'(+doc,#word)).")
TEMPLATES = sqlrl.parse_grammar('ABOUT(d) = {Word(d, "good"), Word(d, "bad"), Word(d, "dull")}\nABOUT(d) ^ [!]Liked(d)')

FINDERS: dict[str, Callable[..., Any]] = {
    "OSL": lambda **given: sqlrl.OSL(MODES, **given),
    "ILP": lambda **given: sqlrl.ILP(BIAS, keep_above=0.2, min_score=0.2, **given),
    "MSL": lambda **given: sqlrl.MSL(literal_cost=0.001, max_literals=2, **given),
    "Transfer": lambda **given: sqlrl.Transfer(literal_cost=0.001, max_literals=2, **given),
    "Resolwe": lambda **given: sqlrl.Resolwe(TEMPLATES, min_support=2, threshold=0.1, confidence=0.5, **given),
}
LEARNERS: dict[str, Callable[..., Any]] = {
    "Likelihood": lambda **given: sqlrl.Likelihood(strength=2.0, **given),
    "MaxMargin": lambda **given: sqlrl.MaxMargin(strength=10.0, penalty="l1", **given),
    "PSCG": lambda **given: sqlrl.PSCG(moments="exact", **given),
    "VotedPerceptron": lambda **given: sqlrl.baselines.VotedPerceptron(0.1, 20, **given),
    "PseudoLikelihood": lambda **given: sqlrl.PseudoLikelihood("l1", 0.02, discriminative=True, **given),
    "AdaGrad": sqlrl.AdaGrad,
    "CDA": lambda **given: sqlrl.CDA(0.01, **given),
}


def first(names: Iterable[str], *few: str) -> list[Any]:
    """All names, of which the quick tier has a few: what is done is the same for all."""
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.fixture
def db() -> sqlrl.Database:
    db = sqlrl.connect(progress=False)
    load(db)
    for word in ("good", "bad", "odd"):
        # For searches whose clauses name no constants.
        has = db.sql(f"select doc from sqlrl.named_Word where word = '{word}' order by doc").fetchall()
        db.load(word.capitalize(), has, types=["doc"], example="doc")
    return db


def begun(name: str) -> sqlrl.Model:
    if name not in ("MSL", "Transfer"):
        return sqlrl.parse_mln(DECLARED)
    rules = "1 Good(d) => Liked(d)\n1 Odd(d) => Liked(d)\n1 Bad(d) => !Liked(d)\n" if name == "Transfer" else ""
    return sqlrl.parse_mln("Good(doc)\nBad(doc)\nOdd(doc)\nLiked(doc)\n" + rules)


def runs(db: sqlrl.Database) -> list[tuple[Any, ...]]:
    return db.sql(
        "select run, learner, status, (parameters ->> 'found_by')::int from sqlrl.run order by run"
    ).fetchall()


def zeros(model: sqlrl.Model) -> int:
    listed = [w for rule in model.rules if rule.expansions is not None for w in rule.expansions.weights]
    return sum(w == 0 for w in [*listed, *(rule.weight for rule in model.rules if rule.expansions is None)])


@pytest.mark.parametrize(
    "name",
    # What follows a search is one step for all of them.
    [pytest.param(name, marks=[] if name in ("OSL", "ILP") else [pytest.mark.slow]) for name in FINDERS],
)
def test_found_clauses_are_weighed_again_and_those_of_weight_0_are_left_out(name: str, db: sqlrl.Database) -> None:
    plain = FINDERS[name]().fit(db, begun(name))
    assert plain.found_ == plain.model_
    assert plain.relearned_ is None
    before = len(runs(db))
    fit = FINDERS[name](then=sqlrl.Likelihood(strength=4.0)).fit(db, begun(name))
    assert fit.found_ == plain.model_
    weighed = any(rule.weight is not None or rule.expansions for rule in fit.found_.rules)
    start = fit.found_ if weighed else None
    whole = sqlrl.Likelihood(strength=4.0).fit(db, fit.found_, start=start)
    assert fit.relearned_.weights_.tobytes() == whole.weights_.tobytes()
    assert fit.relearned_.iterations_ == whole.iterations_
    # It begins where the other one ended.
    assert (fit.relearned_.iterations_["objective"][0].as_py() == pytest.approx(-60 * np.log(2))) == (not weighed)
    assert fit.model_ == fit.relearned_.model_ == fit.model
    assert zeros(whole.model_) > 0
    assert zeros(fit.model_) == 0
    kept = [row for row in whole.clauses() if row["weight"] != 0]
    assert kept
    assert list(fit.clauses()) == kept == list(fit.relearned_.clauses())
    one, other = (db.probabilities(model).probabilities() for model in (fit.model_, whole.model_))
    assert one.select(["doc"]) == other.select(["doc"])
    assert one["probability"].to_numpy() == pytest.approx(other["probability"].to_numpy(), abs=1e-12)
    # Both runs are kept, and the second one knows the first.
    found = [row for row in runs(db)[before:] if row[1] in (name, "Likelihood")]
    assert found[0] == (fit.run_, name, "done", None)
    assert found[1] == (fit.relearned_.run_, "Likelihood", "done", fit.run_)
    assert "then" not in json.loads(db.sql(f"select parameters from sqlrl.run where run = {fit.run_}").fetchall()[0][0])
    listed = "select clause, weight from sqlrl.clause join sqlrl.run using (model) where run = {} order by clause"
    texts = db.sql(listed.format(fit.relearned_.run_).replace("select clause", "select text")).fetchall()
    assert sorted(texts) == sorted((row["clause"], row["weight"]) for row in kept)
    db.models.keep("again", fit)
    assert db.models["again"] == fit.model_
    assert db.sql("select run from sqlrl.named_model").fetchall() == [(fit.relearned_.run_,)]
    assert f"relearned   by Likelihood, run {fit.relearned_.run_}: {len(kept)} clause" in repr(fit)
    assert pickle.loads(pickle.dumps(fit)).model_ == fit.model_


@pytest.mark.parametrize("name", first(LEARNERS, "Likelihood", "AdaGrad"))
def test_any_learner_of_weights_learns_them_again(name: str, db: sqlrl.Database) -> None:
    then = LEARNERS[name]()
    fit = FINDERS["OSL"](then=then).fit(db, begun("OSL"))
    dropped = {} if name in ("AdaGrad", "CDA") else {"drop_zeros": True}
    again = LEARNERS[name](**dropped).fit(db, fit.found_, start=fit.found_)
    assert fit.model_ == again.model_
    assert fit.weights_.tobytes() == again.weights_.tobytes()
    assert fit.clauses().to_arrow() == again.clauses().to_arrow()
    # What was given is as it was.
    assert "model_" not in vars(then)
    assert then.get_params() == LEARNERS[name]().get_params()
    assert [row[1:] for row in runs(db)] == [("OSL", "done", None), (name, "done", 1), (name, "done", None)]
    assert len(fit.added()) > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", first(LEARNERS, "Likelihood"))
def test_clauses_that_were_found_one_by_one_are_no_template_that_has_not_seen_others(
    name: str, db: sqlrl.Database
) -> None:
    found = FINDERS["OSL"]().fit(db, begun("OSL"), examples=[f"d{i:02}" for i in range(9)]).model_
    assert any(rule.expansions is not None and rule.expansions.found for rule in found.rules)
    assert db.predict(found).unseen == Unseen(0, 0)
    again = LEARNERS[name]().set_params(**({} if name in ("AdaGrad", "CDA") else {"drop_zeros": False})).fit(db, found)
    assert [rule.expansions is not None and rule.expansions.found for rule in again.model_.rules] == [
        rule.expansions is not None and rule.expansions.found for rule in found.rules
    ]
    assert db.predict(again.model_).unseen == Unseen(0, 0)


@pytest.mark.slow
def test_other_examples_are_not_learned_from(db: sqlrl.Database) -> None:
    names = [f"d{i:02}" for i in range(30)]
    fit = FINDERS["OSL"](then=LEARNERS["Likelihood"]()).fit(db, begun("OSL"), examples=names)
    again = LEARNERS["Likelihood"]().fit(db, fit.found_, examples=names, start=fit.found_)
    assert fit.weights_.tobytes() == again.weights_.tobytes()
    assert db.sql("select count(distinct example) from sqlrl.learned_from group by run").fetchall() == [(30,)] * 3


@pytest.mark.slow
def test_clauses_of_weight_0_stay_where_the_learner_says_so(db: sqlrl.Database) -> None:
    fit = FINDERS["OSL"](then=sqlrl.Likelihood(strength=4.0, drop_zeros=False)).fit(db, begun("OSL"))
    assert zeros(fit.model_) > 0


def test_fixed_and_hard_rules_stay_as_they_are(db: sqlrl.Database) -> None:
    rules = '@-0.5 Word(d, "the") => Liked(d)\nWord(d, "good") ^ Word(d, "bad") ^ Word(d, "odd") => Liked(d).\n'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sqlrl.errors.InfeasibleTruthWarning)
        fit = FINDERS["OSL"](then=LEARNERS["Likelihood"]()).fit(db, sqlrl.parse_mln(DECLARED + rules))
    first, second, *found = fit.model_.rules
    assert (first.weight, first.fixed, second.hard) == (-0.5, True, True)
    assert found


@pytest.mark.slow
def test_where_nothing_is_found_nothing_is_learned_again(db: sqlrl.Database) -> None:
    with pytest.warns(NothingFoundWarning) as said:
        fit = sqlrl.OSL(MODES, min_count_difference=100, then=sqlrl.Likelihood()).fit(db, begun("OSL"))
    assert len(said) == 1
    assert fit.relearned_ is None
    assert fit.model_ == fit.found_
    assert [row[1] for row in runs(db)] == ["OSL"]


# ---- what fails, and Ctrl-C ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", first(FINDERS, "OSL"))
def test_an_error_says_which_stage_it_is_of(name: str, db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: object, problem: TrainingProblem, report: Report, after: Iteration | None) -> None:
        raise NumericError("the weights grew out of range")

    monkeypatch.setattr(sqlrl.MaxMargin, "_learn", fail)
    fit = FINDERS[name](then=sqlrl.MaxMargin())
    with pytest.raises(NumericError) as error:
        fit.fit(db, begun(name))
    assert error.value.__notes__ == [
        f"run {fit.run_}, which found the clauses, is done and keeps them; MaxMargin was learning their weights again"
    ]
    assert fit.relearned_ is None
    assert fit.model_ == fit.found_
    assert len(fit.clauses()) > 0
    last = runs(db)[-1]
    assert last[1:] == ("MaxMargin", "failed", fit.run_)
    assert db.sql(f"select status, model is not null from sqlrl.run where run = {fit.run_}").fetchall() == [
        ("done", True)
    ]


@pytest.mark.parametrize("name", first(FINDERS, "OSL"))
@pytest.mark.parametrize("at", [0, 3])
def test_ctrl_c_in_the_second_stage_loses_nothing_of_the_first(
    name: str, at: int, db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = IterationFit.report

    def pressed(self: IterationFit, iteration: Iteration) -> None:
        original(self, iteration)
        if iteration.iteration == at:
            raise KeyboardInterrupt

    plain = FINDERS[name]().fit(db, begun(name))
    fit = FINDERS[name](then=sqlrl.Likelihood("l2", 0.1))
    monkeypatch.setattr(IterationFit, "report", pressed)
    with pytest.raises(KeyboardInterrupt) as stop:
        fit.fit(db, begun(name))
    monkeypatch.undo()
    assert fit.found_ == plain.model_
    second, first = stop.value.__notes__
    assert f"run {fit.run_}, which found the clauses, is done" in first
    assert runs(db)[-1][1:] == ("Likelihood", "interrupted", fit.run_)
    if at == 0:
        assert "had no weights yet" in second
        assert fit.relearned_ is None
        assert fit.model_ == plain.model_
        return
    assert "is kept as interrupted, with the best weights up to iteration 3" in second
    assert fit.model_ == fit.relearned_.model_ == db.models[-1]
    assert fit.model_ != plain.model_
    assert fit.relearned_.interrupted_


def test_what_is_no_learner_of_weights_is_refused_before_anything_is_begun(db: sqlrl.Database) -> None:
    class Named:
        pass

    for then, said in [
        (sqlrl.Likelihood, r"then= takes an estimator, not its class: call it, as in then=Likelihood\(\)"),
        (sqlrl.ILP(), "not an object of type ILP"),
        (sqlrl.OSL(MODES), "not an object of type OSL"),
        (sqlrl.MSL(), "not an object of type MSL"),
        (sqlrl.SoftPseudoLikelihood(), "not an object of type SoftPseudoLikelihood"),
        (sqlrl.ConstrainedTraining(sqlrl.CDA()), "not an object of type ConstrainedTraining"),
        (Named(), "not an object of type Named"),
        (3, "not an object of type int"),
        (sqlrl.Likelihood(strength=-1), "strength=-1 is not a finite number of at least 0"),
        (sqlrl.Likelihood(drop_zeros=3), "drop_zeros=3: give True or False"),  # type: ignore[arg-type]
        (sqlrl.MaxMargin(folds=3), "folds=3 says how examples are held out to choose a strength"),
        (sqlrl.AdaGrad(delta=-1), "delta=-1 is not a finite number"),
    ]:
        for name, finder in FINDERS.items():
            with pytest.raises(InputError, match=said):
                finder(then=then).fit(db, begun(name))
    assert runs(db) == []


def test_a_stream_is_gone_when_weights_are_to_be_learned_again(db: sqlrl.Database) -> None:
    def windows() -> Iterator[dict[str, pa.Table]]:
        raise AssertionError("nothing is read")
        yield {}

    stream = sqlrl.SubgraphTables(windows)
    with pytest.raises(InputError, match="then= learns weights again from the same subgraphs, and those of a stream"):
        FINDERS["Resolwe"](then=sqlrl.Likelihood()).fit(db, begun("Resolwe"), examples=stream)


# ---- as a parameter ------------------------------------------------------------------------------------------


def test_it_is_a_parameter_as_others_are() -> None:
    fit = sqlrl.ILP(then=sqlrl.Likelihood(strength=0.5))
    assert repr(fit) == "ILP(then=Likelihood(strength=0.5))"
    assert fit.get_params()["then__strength"] == 0.5
    fit.set_params(then__strength=2.0)
    assert fit.then.strength == 2.0
    words = {"ilp": sqlrl.ILP, "likelihood": sqlrl.Likelihood}
    text = value_text(fit)
    assert text == "ilp(then=likelihood(strength=2.0))"
    assert repr(parse_value(text, words)) == repr(fit)
    assert repr(parse_value("ilp(then=likelihood)", words)) == "ILP(then=Likelihood())"
    assert relearner(None) is None
    made = relearner(fit.then)
    assert made is not fit.then
    assert repr(made) == "Likelihood(strength=2.0, drop_zeros=True)"


@pytest.mark.slow
def test_a_run_that_was_stopped_may_go_on_with_another_learner_after_it(db: sqlrl.Database) -> None:
    def press(progress: Any) -> None:
        if progress.window == 2:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"window": 20}
    whole = FINDERS["OSL"](**options).fit(db, begun("OSL"))
    with pytest.raises(KeyboardInterrupt):
        FINDERS["OSL"](**options).fit(db, begun("OSL"), checkpoint=True, callback=press)
    fit = FINDERS["OSL"](**options, then=LEARNERS["Likelihood"]()).fit(db, begun("OSL"), resume=2)
    assert fit.found_ == whole.model_
    assert runs(db)[1:] == [(2, "OSL", "done", None), (3, "Likelihood", "done", 2)]


@pytest.mark.slow
def test_hard_clauses_may_be_left_out_of_both_stages(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(DECLARED + 'Word(d, "good") ^ Word(d, "bad") ^ Word(d, "odd") => Liked(d).')
    finder = FINDERS["OSL"](then=LEARNERS["Likelihood"]())
    fit = sqlrl.ConstrainedTraining(finder, mode="l+i").fit(db, model)
    assert not any(rule.hard for rule in fit.learner_.model_.rules)
    assert fit.model_.rules[-1].hard
    assert fit.model_.rules[:-1] == fit.learner_.relearned_.model_.rules
