"""Online learners on random programs with `+` variables, whose windows have tied tables, against the same windows listed."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.baselines import MIRA, ContrastiveDivergence, Perceptron
from sqlrl.ground.network import TiedRows
from sqlrl.ground.windows import Window
from sqlrl.learn.learner import OnlineLearner, WindowReport
from sqlrl.learn.online import OnlineEstimator
from tests.effort import draws

PREDICATES = "field = {F0, F1, F2}\nToken(word, place, text)\nLink(place, place, text)\nKnown(place, text)\n"
TEMPLATES = (
    "Link(p, q, t) ^ Field(t, +f, p) => Field(t, +g, q)",
    "Link(p, q, t) ^ Field(t, +f, p) ^ Field(t, +g, q)",
    "Link(p, q, t) => Field(t, +f, p) v Field(t, +g, q)",
    "Link(p, q, t) ^ !Known(p, t) ^ Field(t, +f, q) => Field(t, +g, p)",
    "Token(+w, p, t) ^ Link(p, q, t) ^ Field(t, +f, p) => Field(t, +g, q)",
)
BESIDE = (
    "Token(+w, p, t) => Field(t, +f, p)",
    "Link(p, q, t) ^ Field(t, F0, p) => !Field(t, F1, q).",
    "Link(p, q, t) ^ Known(q, t) ^ Field(t, F0, p) => Field(t, F0, q)",
    "Known(p, t) => !Field(t, F2, p).",
    "Link(p, q, t) ^ Link(q, r, t) ^ Field(t, F1, p) => Field(t, F1, r)",
)
AT_MOST_ONE = "Field(t, f, p) ^ (f != g) => !Field(t, g, p)."


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, sqlrl.Database]:
    """A program, and texts whose places form chains or trees; not all places have a label."""
    exact = draw(st.booleans())
    rules = [draw(st.sampled_from(TEMPLATES[:4])), *draw(st.lists(st.sampled_from(TEMPLATES), max_size=1))]
    rules += [*draw(st.lists(st.sampled_from(BESIDE), max_size=2, unique=True)), *([] if exact else [AT_MOST_ONE])]
    program = PREDICATES + f"Field(text, field{'!' if exact else ''}, place)\n" + "\n".join(dict.fromkeys(rules))
    chance, trees = random.Random(draw(st.integers(0, 999))), draw(st.booleans())
    token, link, known, field = [], [], [], []
    for text in (f"t{i}" for i in range(6)):
        size = chance.randint(2 if text == "t0" else 1, 5)
        for p in range(size):
            word = chance.randrange(3)
            token.append((f"w{word}", f"p{p}", text))
            if p:
                link.append((f"p{chance.randrange(p) if trees else p - 1}", f"p{p}", text))
            if chance.random() < 0.3:
                known.append((f"p{p}", text))
            if exact or not p or chance.random() < 0.8:
                field.append((text, f"F{chance.choice((word, word, chance.randrange(3)))}", f"p{p}"))
    db = sqlrl.connect(progress=False)
    db.load("Token", token, types=("word", "place", "text"), example="text")
    db.load("Link", link, types=("place", "place", "text"))
    db.load("Known", known, types=("place", "text"), empty="allow")
    db.load("Field", field, types=("text", "field", "place"), target=True)
    return program, db


def weights(estimator: OnlineEstimator, db: sqlrl.Database, model: sqlrl.Model, start: sqlrl.Model) -> np.ndarray:
    """What is learned by clause, from windows of two texts."""
    return estimator.fit(db, model, start=start).weights_


@pytest.mark.filterwarnings("ignore::sqlrl.errors.SqlrlWarning")
@settings(max_examples=draws(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.sampled_from([sqlrl.AdaGrad(window=2), sqlrl.AdaGrad(loss_augmented=True), MIRA(), Perceptron()]))
def test_weights_are_those_of_listed_windows(made: tuple[str, sqlrl.Database], estimator: OnlineEstimator) -> None:
    text, db = made
    model = sqlrl.parse_mln(text)
    # Weights of sampling have random digits, so that no worlds tie.
    start = ContrastiveDivergence(average=True).fit(db, model).model_
    learn, tied = OnlineLearner.learn_many, []

    def listed(self: OnlineLearner, window: Window) -> WindowReport:
        """Learn from the rows of a window."""
        tied.append(isinstance(window.network.rows, TiedRows))
        return learn(self, replace(window, network=window.network.listed()))

    found = weights(estimator, db, model, start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OnlineLearner, "learn_many", listed)
        wanted = weights(estimator, db, model, start)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    # A hard clause of the shape of a template is no cell of its table.
    assert any(tied) or BESIDE[1] in text
    db.close()
