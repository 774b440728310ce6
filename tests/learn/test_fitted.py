"""Parameters of estimators by name, as scikit-learn sets and copies them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import sqlrl
from sqlrl.errors import InputError

MODES = sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")
ESTIMATORS = [
    sqlrl.AdaGrad(window=2, ties="first"),
    sqlrl.CDA(0.01),
    sqlrl.Likelihood("l2", [0.1, 1.0], prior_scale=(1.0, 2.0), random_state=3),
    sqlrl.MaxMargin(strength=np.array([0.5, 1.0])),
    sqlrl.PSCG(),
    sqlrl.PseudoLikelihood("l1", 0.5, averaged=False),
    sqlrl.baselines.VotedPerceptron(max_iterations=7),
    sqlrl.OSL(MODES, max_length=3),
    sqlrl.ILP(noise=3),
    sqlrl.MSL(beam=3, strategy="shortest-first"),
    sqlrl.Transfer(mapping={"Student": "Actor", "Phase": None}, threshold=0.2, further=True),
    sqlrl.ConstrainedTraining(sqlrl.CDA(0.01, window=4), mode="ibt"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_scikit_learn_copies_an_estimator(estimator: Any) -> None:
    copied = clone(estimator)
    assert copied is not estimator
    assert repr(copied) == repr(estimator)
    # They are the constructor's, all of them.
    own = estimator.get_params(deep=False)
    assert repr(type(estimator)(**own)) == repr(estimator)
    assert estimator.set_params(**own) is estimator
    assert repr(copied) == repr(estimator)
    named = {name for name in inspect.signature(type(estimator)).parameters if name != "common"}
    assert named <= set(own)


def test_parameters_are_set_by_name() -> None:
    fit = sqlrl.Likelihood().set_params(strength=[0.1, 1.0], folds=3)
    assert repr(fit) == "Likelihood(strength=[0.1, 1.0], folds=3)"
    with pytest.raises(InputError, match="Likelihood has no parameter 'strenght'; did you mean 'strength'"):
        fit.set_params(penalty="l2", strenght=1.0)
    assert fit.penalty == "l1"
    with pytest.raises(
        InputError, match="MaxMargin has no parameter 'zzz'; its 12 parameters: strength, penalty, loss, separation"
    ):
        sqlrl.MaxMargin().set_params(zzz=1)


def test_parameters_of_an_estimator_inside_another() -> None:
    training = sqlrl.ConstrainedTraining(sqlrl.CDA(0.01), mode="ibt")
    assert set(training.get_params(deep=False)) == {"learner", "mode", "growth", "density"}
    assert training.get_params()["learner__strength"] == 0.01
    training.set_params(learner__strength=0.5, learner=sqlrl.CDA(0.1, window=4))
    assert repr(training) == "ConstrainedTraining(CDA(strength=0.5, window=4), mode='ibt')"
    with pytest.raises(InputError, match="no parameter 'learner__strengths'; did you mean 'learner__strength'"):
        training.set_params(learner__strengths=1)
