"""Priors that differ between rules."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import sqlrl
from sqlrl.errors import InputError

DECLARED = "Word(doc, word)\nLong(doc)\nLiked(doc)\n"
RULES = "Word(d, +w) => Liked(d)\nLong(d) => Liked(d)\nLiked(d)"
SCALES = (0.3, 2.0, 0.7)


@pytest.fixture(scope="module")
def data() -> tuple[sqlrl.Database, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    has = rng.random((40, 5)) < 0.5
    # Every document has a fact.
    has[:, 0] |= ~has.any(axis=1)
    long, liked = rng.random(40) < 0.4, rng.random(40) < 0.3 + 0.4 * has[:, 1]
    db = sqlrl.connect()
    db.load("Word", [(f"d{i:02}", f"w{j}") for i, j in np.argwhere(has).tolist()], types=["doc", "word"])
    db.load("Long", [(f"d{i:02}",) for i in np.flatnonzero(long).tolist()], types=["doc"])
    db.load("Liked", [(f"d{i:02}",) for i in np.flatnonzero(liked).tolist()], types=["doc"], target=True)
    return db, np.column_stack([has, long, np.ones(40)]).astype(float), liked


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_weights_are_those_of_scaled_features(
    data: tuple[sqlrl.Database, np.ndarray, np.ndarray], penalty: str
) -> None:
    db, features, liked = data
    model = sqlrl.parse_mln(DECLARED + RULES)
    fit = sqlrl.Likelihood(penalty, 0.5, prior_scale=SCALES).fit(db, model)  # type: ignore[arg-type]
    scale = np.array([SCALES[0]] * 5 + [*SCALES[1:]])
    # A prior of scale s for w is one of scale 1 for w / s, whose feature is s times as large.
    other = LogisticRegression(
        C=2.0, l1_ratio=float(penalty == "l1"), solver="saga", fit_intercept=False, tol=1e-10, max_iter=200_000
    )
    expected = scale * other.fit(features * scale, liked).coef_[0]
    found = {row["clause"]: row["weight"] for row in fit.clauses().to_pylist()}
    names = [f'Word(d, "w{j}") => Liked(d)' for j in range(5)] + ["Long(d) => Liked(d)", "Liked(d)"]
    np.testing.assert_allclose([found[name] for name in names], expected, atol=1e-4)
    assert fit.optimality_ < 1e-5


def test_clauses_with_equal_counts_share_by_their_priors(data: tuple[sqlrl.Database, np.ndarray, np.ndarray]) -> None:
    db, _, _ = data
    twice = sqlrl.parse_mln(DECLARED + "Long(d) => Liked(d)\nLong(d) ^ d = e => Liked(e)")

    def weights(penalty: str, *scales: float) -> list[float]:
        fit = sqlrl.Likelihood(penalty, 0.5, prior_scale=scales).fit(db, twice)  # type: ignore[arg-type]
        return [row["weight"] for row in fit.clauses().to_pylist()]

    once = sqlrl.parse_mln(DECLARED + "Long(d) => Liked(d)")
    for penalty, width in (("l2", np.hypot(1.0, 3.0)), ("l1", 3.0)):
        fit = sqlrl.Likelihood(penalty, 0.5, prior_scale=width).fit(db, once)  # type: ignore[arg-type]
        (alone,) = (row["weight"] for row in fit.clauses().to_pylist())
        # The best parts of a sum under the priors: in proportion to the variances, or all in the widest.
        parts = (0.1, 0.9) if penalty == "l2" else (0.0, 1.0)
        found = dict(zip((1.0, 3.0), weights(penalty, 1.0, 3.0), strict=True))
        np.testing.assert_allclose(sorted(found.values(), key=abs), [p * alone for p in parts], atol=1e-6)


def test_a_strength_is_chosen_with_the_prior(data: tuple[sqlrl.Database, np.ndarray, np.ndarray]) -> None:
    db, _, _ = data
    model = sqlrl.parse_mln(DECLARED + RULES)
    one = sqlrl.Likelihood("l2", [0.4, 4.0], folds=3).fit(db, model)
    two = sqlrl.Likelihood("l2", [0.1, 1.0], prior_scale=0.5, folds=3).fit(db, model)
    np.testing.assert_allclose(
        one.strengths_.column("log_likelihood").to_numpy(),
        two.strengths_.column("log_likelihood").to_numpy(),
        rtol=1e-4,
    )
    np.testing.assert_allclose(one.weights_, two.weights_, atol=1e-5)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ((1.0, 2.0), "prior_scale has 2 numbers, and the model has 3 rules"),
        ((), "prior_scale=.. has no value"),
        (0.0, "prior_scale"),
        ((1.0, -1.0, 1.0), "prior_scale"),
        ("wide", "prior_scale"),
    ],
)
def test_scales_that_are_none(data: tuple[sqlrl.Database, np.ndarray, np.ndarray], scale: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sqlrl.Likelihood(prior_scale=scale).fit(data[0], sqlrl.parse_mln(DECLARED + RULES))  # type: ignore[arg-type]


def test_no_model_is_said_before_its_rules_are_counted(data: tuple[sqlrl.Database, np.ndarray, np.ndarray]) -> None:
    with pytest.raises(InputError, match="model"):
        sqlrl.Likelihood(prior_scale=SCALES).fit(data[0], None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "semantics", "scales", "written", "written_scales"),
    [
        pytest.param("*Long(d) => Liked(d)\nOld(d) => Liked(d)", "exact", (1, 100),
         "Long(d) => Liked(d)\n!Long(d) => Liked(d)\nOld(d) => Liked(d)", (1, 1, 100), marks=pytest.mark.slow),
        # A rule after them that states a block has no clause.
        pytest.param("*Long(d) => Of(d, A)\nOld(d) => Of(d, A)\nOf(d, a) ^ a != b => !Of(d, b).", "exact", (1, 100, 1),
         "Long(d) => Of(d, A)\n!Long(d) => Of(d, A)\nOld(d) => Of(d, A)\nOf(d, a) ^ a != b => !Of(d, b).", (1, 1, 100, 1), marks=pytest.mark.slow),
        ("Long(d) <=> Liked(d)\nOld(d) => Liked(d)", "alchemy", (2, 100),
         "Long(d) v !Liked(d)\n!Long(d) v Liked(d)\nOld(d) => Liked(d)", (2, 2, 100)),
    ],
)  # fmt: skip
def test_rules_that_stand_for_several_have_one_number(
    rules: str, semantics: str, scales: tuple[int, ...], written: str, written_scales: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(0)
    names = [f"d{i:02}" for i in range(20)]
    long, old, liked = ({name for name in names if rng.random() > 0.5} for _ in range(3))
    db = sqlrl.connect()
    db.load("Long", [(d,) for d in sorted(long)], types=["doc"])
    db.load("Old", [(d,) for d in sorted(old)], types=["doc"])
    db.load("Liked", [(d,) for d in sorted(liked)], types=["doc"], target=True)
    db.load("Of", [(d, "A" if d in liked else "B") for d in names], types=["doc", "kind"], target=True)
    target = "Of(doc, kind)" if "Of" in rules else "Liked(doc)"

    def fit(text: str, scale: tuple[int, ...], **options: str) -> sqlrl.Likelihood:
        model = sqlrl.parse_mln(f"Long(doc)\nOld(doc)\n{target}\n{text}", **options)  # type: ignore[arg-type]
        return sqlrl.Likelihood("l2", 1, prior_scale=scale).fit(db, model)

    found = fit(rules, scales, semantics=semantics)
    np.testing.assert_allclose(found.weights_, fit(written, written_scales).weights_, atol=1e-9)
    with pytest.raises(
        InputError, match=rf"prior_scale has {len(scales) + 1} numbers, and the model has {len(scales)} rules"
    ):
        fit(rules, (*scales, 1), semantics=semantics)
