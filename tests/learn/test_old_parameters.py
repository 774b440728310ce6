"""Parameters of estimators under the names that they had: each warns once, and means to the last bit what it meant."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sqlrl
from sqlrl.cli.app import app
from sqlrl.cli.learners import LEARNERS
from sqlrl.deprecated import PARAMETERS, recorded_parameters, takes_old_parameters
from sqlrl.errors import InputError, ScriptError, UnknownParameterError
from sqlrl.learn.parameters import parse_value

Made = Callable[..., Any]

KINDS: dict[str, Made] = {
    "AdaGrad": sqlrl.AdaGrad,
    "CDA": sqlrl.CDA,
    "ContrastiveDivergence": sqlrl.baselines.ContrastiveDivergence,
    "MIRA": sqlrl.baselines.MIRA,
    "MSL": sqlrl.MSL,
    "MaxMargin": sqlrl.MaxMargin,
    "OSL": lambda **given: sqlrl.OSL("modes.txt", **given),
    "PSCG": sqlrl.PSCG,
    "Searching": sqlrl.MSL,
    "SoftMapLikelihood": sqlrl.SoftMapLikelihood,
    "SoftPiecewiseLikelihood": sqlrl.SoftPiecewiseLikelihood,
    "SoftPseudoLikelihood": sqlrl.SoftPseudoLikelihood,
    "SoftStructure": sqlrl.SoftStructure,
    "Subgradient": sqlrl.baselines.Subgradient,
    "Transfer": sqlrl.Transfer,
    "VotedPerceptron": sqlrl.baselines.VotedPerceptron,
}
VALUES: dict[str, list[tuple[object, dict[str, object]]]] = {
    "C": [(4.0, {"strength": 0.25}), ([0.5, 4], {"strength": [2.0, 0.25]}), (np.array([2.0]), {"strength": [0.5]})],
    "iterations": [(7, {"max_iterations": 7})],
    "l1": [(0.5, {"penalty": "elastic", "strength": [1.0, 0.5]}), (0, {"penalty": "l2", "strength": 1.0})],
    "label_loss": [("f1", {"loss": "f1"})],
    "penalty": [(0.5, {"literal_cost": 0.5})],
    "prior": [(0.5, {"penalty": "l2", "strength": 0.5}), (0, {"penalty": "l2", "strength": 0})],
    "prior_deviation": [(0.5, {"strength": 4.0}), (None, {"strength": 0.0})],
    "regularization": [(0.5, {"strength": 0.5})],
    "sigma": [(0.5, {"strength": 0.5})],
    "steps": [("constant", {"step_size": "constant"})],
}
CASES = [
    pytest.param(kind, name, value, now, id=f"{kind}-{name}-{value}")
    for kind, names in PARAMETERS.items()
    for name in names
    if kind != "HingeOptions"  # no estimator: test_deprecated
    for value, now in VALUES[name]
]


def warned(call: Callable[[], Any], times: int) -> Any:
    """What a call returns that warns so often, each time at this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = call()
    assert [each.category for each in seen] == [FutureWarning] * times
    assert {Path(each.filename).name for each in seen} <= {Path(__file__).name}
    return found


@pytest.mark.parametrize(("kind", "name", "value", "now"), CASES)
def test_an_old_parameter_is_the_new_one(kind: str, name: str, value: Any, now: dict[str, object]) -> None:
    made = KINDS[kind]
    wanted = made(**now).get_params()
    found = warned(lambda: made(**{name: value}), 1)
    assert found.get_params() == wanted
    assert warned(lambda: made().set_params(**{name: value}), 1).get_params() == wanted
    other = made()
    warned(lambda: setattr(other, name, value), 1)
    assert other.get_params() == wanted
    before = value.tolist() if isinstance(value, np.ndarray) else value
    assert warned(lambda: getattr(found, name), 1) == before
    assert recorded_parameters(type(found).__name__, json.loads(json.dumps({name: before}))) == now
    assert pickle.loads(pickle.dumps(found)).get_params() == wanted
    new = next(iter(now))
    with pytest.raises(UnknownParameterError, match=f"{name}= and {new}= are the same argument: leave {name}= out"):
        made(**{name: value}, **now)


@pytest.mark.parametrize(
    "kind", ["SoftMapLikelihood", "SoftPiecewiseLikelihood", "SoftPseudoLikelihood", "SoftStructure"]
)
def test_two_penalties_of_soft_weights(kind: str) -> None:
    made = KINDS[kind]
    both = warned(lambda: made(prior=0.25, l1=0.5), 2)
    assert (both.penalty, both.strength) == ("elastic", [0.25, 0.5])
    one = warned(lambda: made(l1=0.5, prior=0), 2)
    assert (one.penalty, one.strength) == ("l1", 0.5)
    warned(lambda: setattr(one, "prior", 2.0), 1)
    assert (one.penalty, one.strength) == ("elastic", [2.0, 0.5])
    warned(lambda: setattr(one, "l1", 0.0), 1)
    assert (one.penalty, one.strength) == ("l2", 2.0)
    for wrong in ({"penalty": "elastic"}, {"strength": [1.0, 2.0]}, {"penalty": "elastic", "strength": [1.0]}):
        with pytest.raises(InputError, match="give one number, or two with penalty='elastic'"):
            made(**wrong)
    with pytest.raises(InputError, match=r"strength=-1.0 is not a finite number"):
        made(penalty="elastic", strength=[1.0, -1.0])


@given(price=st.floats(1e-150, 1e150))
def test_a_price_comes_back_to_the_last_bit(price: float) -> None:
    learner = warned(lambda: sqlrl.MaxMargin(C=price), 1)
    assert learner.prices == [price]
    assert pickle.loads(pickle.dumps(learner)).prices == [price]
    assert json.loads(json.dumps(learner.recorded()))["strength"] == 1.0 / price


@given(deviation=st.floats(1e-100, 1e100))
def test_a_deviation_comes_back_to_the_last_bit(deviation: float) -> None:
    learner = warned(lambda: sqlrl.PSCG(prior_deviation=deviation), 1)
    assert learner.strength == deviation**-2
    assert warned(lambda: learner.prior_deviation, 1) == deviation


def test_what_an_old_parameter_leaves_out_stays() -> None:
    learner = sqlrl.SoftMapLikelihood(strength=3.0)
    warned(lambda: learner.set_params(iterations=5, l1=0.1), 2)
    assert (learner.max_iterations, learner.penalty, learner.strength) == (5, "elastic", [3.0, 0.1])
    learner = sqlrl.SoftMapLikelihood(penalty="l1", strength=3.0)
    warned(lambda: learner.set_params(prior=0.1), 1)
    assert (learner.penalty, learner.strength) == ("elastic", [0.1, 3.0])


def test_an_argument_by_position_and_by_name_are_too_many() -> None:
    with pytest.raises(TypeError, match="multiple values for argument 'C'"):
        sqlrl.MaxMargin(10.0, C=3.0)  # type: ignore[misc, call-arg]
    with pytest.raises(UnknownParameterError, match="C= and strength= are the same argument"):
        sqlrl.MaxMargin(10.0, strength=3.0)  # type: ignore[misc]
    finder = sqlrl.OSL("modes.txt", then=sqlrl.MaxMargin())
    with pytest.raises(UnknownParameterError, match="C= and strength= are the same argument"):
        finder.set_params(then__C=49.0, then__strength=3.0)


def test_texts_of_values_take_old_parameters() -> None:
    found = warned(lambda: parse_value("max-margin(C=0.5, penalty=l1)", LEARNERS), 1)
    assert repr(found) == "MaxMargin(strength=2.0, penalty='l1')"
    with pytest.raises(InputError, match=r"did you mean 'strength', which is 1 / C\?"):
        parse_value("likelihood(C=0.5)", LEARNERS)


def test_what_was_pickled_before_has_the_new_names() -> None:
    class Mine(sqlrl.MaxMargin):
        pass

    before = {**sqlrl.MaxMargin(strength=0.5).get_params(), "C": 8.0}
    del before["strength"]
    learner = Mine.__new__(Mine)
    learner.__setstate__(before)  # type: ignore[attr-defined]
    assert (learner.strength, learner.get_params()["strength"]) == (0.125, 0.125)
    options = object.__new__(sqlrl.HingeOptions)
    options.__setstate__({**vars(sqlrl.HingeOptions()), "iterations": 3})  # type: ignore[attr-defined]
    assert options.max_iterations == 3


def test_a_class_of_a_user_has_parameters_of_its_own() -> None:
    class Fixed(sqlrl.CDA):
        def __init__(self, sigma: float = 0.5) -> None:
            super().__init__(strength=sigma)

    assert warned(lambda: Fixed(0.25).get_params(deep=False)["sigma"], 0) == 0.25
    named = type("CDA", (), {"__init__": lambda self, sigma: None})
    assert takes_old_parameters(named) is named
    named(sigma=1.0)


@pytest.mark.parametrize("value", [1e-200, np.array([1.0, 2.0]), "wide", 0, -1.0])
def test_deviations_that_cannot_be_are_refused(value: object) -> None:
    with pytest.warns(FutureWarning), pytest.raises(InputError, match=r"^prior_deviation=.* is "):
        sqlrl.PSCG(prior_deviation=value)  # type: ignore[call-arg]


def test_strengths_that_no_price_stands_for_are_refused() -> None:
    with pytest.raises(InputError, match="strength=1e-310 is too near to 0"):
        sqlrl.MaxMargin(strength=1e-310)._check()
    with pytest.raises(InputError, match="give one number, or two"):
        sqlrl.SoftPseudoLikelihood(penalty="elastic", strength={1.0, 3.0})  # type: ignore[arg-type]
    assert warned(lambda: sqlrl.MaxMargin(strength=np.float32(0.5)).C, 1) == 2.0  # type: ignore[attr-defined]
    deep = sqlrl.ILP(then=sqlrl.ConstrainedTraining(sqlrl.CDA(), "sct"))
    assert warned(lambda: deep.set_params(then__learner__sigma=0.25), 1).then.learner.strength == 0.25
    assert warned(lambda: sqlrl.ILP().set_params(then=sqlrl.MaxMargin(), then__C=4.0), 1).then.strength == 0.25


def test_the_reciprocal_of_a_reciprocal_would_be_another_price() -> None:
    assert 1.0 / (1.0 / 49.0) != 49.0
    assert warned(lambda: sqlrl.MaxMargin(49.0), 1).prices == [49.0]


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "many", True, [1.0, 0.0], 10**400])
def test_prices_that_were_refused_are_refused(value: object) -> None:
    with pytest.warns(FutureWarning), pytest.raises(InputError, match=r"^C=.* is not a finite number above 0"):
        sqlrl.MaxMargin(C=value)  # type: ignore[call-arg]


def test_a_class_of_a_user_hands_old_parameters_on() -> None:
    class Mine(sqlrl.CDA):
        def __init__(self, **given: Any) -> None:
            super().__init__(sigma=0.5, **given)  # type: ignore[call-arg]

    assert warned(Mine, 1).strength == 0.5


def test_old_parameters_in_estimators_inside_others() -> None:
    training = sqlrl.ConstrainedTraining(sqlrl.CDA(), "sct")
    assert warned(lambda: training.set_params(learner__sigma=0.5), 1).learner.strength == 0.5
    with pytest.raises(InputError, match="no parameter 'learner__sigmo'"):
        training.set_params(learner__sigmo=0.5)


def test_scripts_take_old_parameters() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"], example="doc")
    db.load("Good", [("d1",), ("d3",)], types=["doc"], target=True)
    script = """CREATE MODEL {} OPTIONS (learner = 'cda', {} = 0.5, target = 'Good') AS $$ Word(doc, word)
Good(doc)
Word(c, +w) => Good(c) $$"""
    warned(lambda: db.run(script.format("a", "sigma")), 1)
    warned(lambda: db.run(script.format("b", "strength")), 0)
    assert db.models["a"].rules == db.models["b"].rules
    then = """CREATE MODEL c OPTIONS (learner = 'perceptron', sigma = 0.5, target = 'Good') AS $$ Word(doc, word)
Good(doc)
Word(c, +w) => Good(c) $$"""
    with pytest.raises(ScriptError, match="no option sigma"):
        db.run(then)


def test_the_command_line_takes_old_parameters(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text("Word(c, w)\nGood(c)\nWord(c, +w) => Good(c)\n", encoding="utf-8")
    (tmp_path / "e.db").write_text('Word(A, "x")\nWord(B, "y")\nGood(A)\nc = {A, B}\n', encoding="utf-8")
    said = []
    for option, value in (("--C", "4,2"), ("--strength", "0.25,0.5")):
        inputs = ["-m", str(tmp_path / "m.mln"), "-e", str(tmp_path / "e.db"), "--query", "Good"]
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            with pytest.raises(SystemExit) as ended:
                app(["learn", *inputs, "--learner", "max-margin", option, value, "--out", "-"])
        assert ended.value.code == 0, capsys.readouterr().err
        said.append(capsys.readouterr())
    assert said[0].out == said[1].out != ""
    assert "deprecated" in said[0].err
    assert "--strength" in said[0].err
    assert "deprecated" not in said[1].err


def test_each_learner_of_the_command_line_has_its_old_options() -> None:
    from sqlrl.cli.learners import OPTIONS

    old = {option.name: set(option.declared) for option in OPTIONS.values() if option.old}
    assert set(old) == {"--sigma", "--lambda", "--C", "--label-loss", "--iterations", "--prior-deviation", "--prior", "--l1", "--steps"}  # fmt: skip
    assert old["--iterations"] == {"pscg", "voted-perceptron", "soft-map-likelihood"}
    assert all(word in LEARNERS for words in old.values() for word in words)
