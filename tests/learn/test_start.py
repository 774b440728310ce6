"""Learning that starts from the weights of another model: the same optimum, the same going on, and clauses that are matched."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import InputError, StartWarning

pytestmark = pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")

WORDS = ["good", "bad", "fine", "dull"]
TEXT = "Word(doc, word)\nLiked(doc)\nWord(d, +w) => Liked(d)\nLiked(d)"
ONLINE: dict[str, Any] = {
    "AdaGrad": sqlrl.AdaGrad,
    "CDA": lambda **kw: sqlrl.CDA(0.01, **kw),
    "Subgradient": lambda **kw: sqlrl.baselines.Subgradient(0.01, **kw),
    "MIRA": sqlrl.baselines.MIRA,
    "Perceptron": sqlrl.baselines.Perceptron,
    "ContrastiveDivergence": lambda **kw: sqlrl.baselines.ContrastiveDivergence("mpe", **kw),
    "ContrastiveDivergence, constant": lambda **kw: sqlrl.baselines.ContrastiveDivergence(
        "mpe", step_size="constant", **kw
    ),
    "ContrastiveDivergence, penalised": lambda **kw: sqlrl.baselines.ContrastiveDivergence(
        "mpe", step_size="constant", learning_rate=0.25, strength=0.5, **kw
    ),
}
CONVEX: dict[str, Any] = {
    "l1": lambda: sqlrl.Likelihood(penalty="l1", strength=0.3),
    "l2": lambda: sqlrl.Likelihood(penalty="l2", strength=0.7),
    "margin l2": lambda: sqlrl.MaxMargin(strength=2.0, epsilon=1e-5),
    "margin l1": lambda: sqlrl.MaxMargin(strength=2.0, penalty="l1", epsilon=1e-5),
}


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    """Documents, words and what is liked; runs are added, and nothing else."""
    return filled()


def filled() -> sqlrl.Database:
    random = np.random.default_rng(5)
    db = sqlrl.connect(progress=False)
    rows = [(f"d{k:02d}", word) for k in range(40) for word in WORDS if random.random() < 0.5]
    rows += [(f"d{k:02d}", "the") for k in range(40)]
    db.load("Word", rows, types=["doc", "word"], example="doc")
    liked = [(f"d{k:02d}",) for k in range(40) if (f"d{k:02d}", "good") in rows or random.random() < 0.3]
    db.load("Liked", liked, types=["doc"], target=True)
    return db


def weights(model: sqlrl.Model) -> dict[str, float]:
    (template, single) = model.rules
    assert template.expansions is not None
    found = {row[0]: w for row, w in zip(template.expansions.rows, template.expansions.weights, strict=True)}
    return {**found, "": float(single.weight or 0)}


def shifted(model: sqlrl.Model, seed: int) -> sqlrl.Model:
    """A model with other weights, some clauses fewer, other names of variables, each clause a rule of its own."""
    random = np.random.default_rng(seed)
    lines = [
        f'{w + random.normal()!r} Word(document, "{word}") => Liked(document)'
        for word, w in weights(model).items()
        if word
    ]
    return sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n" + "\n".join(lines[seed % 2 :]))


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "name", ["l1", "margin l2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("l2", "margin l1"))]
)
def test_what_has_one_optimum_reaches_it_from_any_start(name: str, db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(TEXT)
    plain = CONVEX[name]().fit(db, model)
    expected = weights(plain.model_)
    for start in (plain.model_, shifted(plain.model_, 1)):
        found = CONVEX[name]().fit(db, model, start=start)
        tolerance = 2e-2 if name.startswith("margin") else 1e-5
        if name == "margin l1":
            # A linear program may have several solutions: the least value is one.
            assert found.iterations_["objective"][-1].as_py() == pytest.approx(
                plain.iterations_["objective"][-1].as_py(), abs=1e-2
            )
        else:
            assert weights(found.model_) == pytest.approx(expected, abs=tolerance)
    if not name.startswith("margin"):
        again = CONVEX[name]().fit(db, model, start=plain.model_)
        assert again.iterations_.num_rows < plain.iterations_.num_rows
        assert again.iterations_["optimality"][0].as_py() < plain.iterations_["optimality"][0].as_py()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Perceptron", "MIRA"])
def test_additive_learners_in_two_parts_are_as_in_one(name: str, db: sqlrl.Database) -> None:
    model, ids = sqlrl.parse_mln(TEXT), [f"d{k:02d}" for k in range(24)]
    whole = ONLINE[name](average=False).fit(db, model, examples=ids)
    first = ONLINE[name](average=False).fit(db, model, examples=ids[:15])
    second = ONLINE[name](average=False).fit(db, model, examples=ids[15:], start=first.model_)
    assert weights(second.model_) == pytest.approx(weights(whole.model_), abs=1e-12)
    assert any(weights(whole.model_).values())
    averaged = ONLINE[name]().fit(db, model, examples=ids[15:], start=first.model_)
    assert averaged.last_weights_.tolist() == second.last_weights_.tolist()


@pytest.mark.parametrize("name", [name for name in ONLINE if name not in ("CDA", "MIRA")])
def test_the_first_example_is_predicted_with_the_weights_of_the_start(name: str, db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(TEXT)
    start = sqlrl.parse_mln(
        'Word(doc, word)\nLiked(doc)\n1.25 Word(x, "the") => Liked(x)\n-0.5 Liked(y)\n9 Word(x, "never") => Liked(x)'
    )
    good = {doc for (doc,) in db.sql("select doc from sqlrl.named_Liked").fetchall()}
    # What is liked tells the start from weights of 0, with which worlds tie and ties are errors.
    examples = (
        [min(good)]
        if name != "Perceptron"
        else [min(good), next(d for d in map("d{:02}".format, range(40)) if d not in good)]
    )
    for example in examples:
        fit = ONLINE[name](average=False).fit(db, model, examples=[example], start=start)
        liked = example in good
        # Word("the") => Liked is true in either world where Liked is: 1.25 - 0.5 speak for it.
        (step,) = fit.steps_.to_pylist()
        assert step["loss"] == (0 if liked else 1)
        found = weights(fit.model_)
        if liked and name in ("AdaGrad", "Perceptron", "MIRA"):
            discount = 0.001 if name == "AdaGrad" else 0.0
            assert found == pytest.approx(
                {**dict.fromkeys(found, 0.0), "the": 1.25 - discount, "": -0.5 + discount}, abs=1e-12
            )


def test_the_regulariser_pulls_to_the_start(db: sqlrl.Database) -> None:
    """By hand: w - start is learned as w is without one."""
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nLiked(d)")
    start = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n-0.4 Liked(d)")
    ids = [f"d{k:02d}" for k in range(12)]
    liked = {row[0] for row in db.sql("select doc from sqlrl.named_Liked").fetchall()}
    fit = ONLINE["Subgradient"](average=False).fit(db, model, examples=ids, start=start)
    averaged = ONLINE["Subgradient"]().fit(db, model, examples=ids, start=start)
    sigma, base, v, total = 0.01, -0.4, 0.0, 0.0
    for t, doc in enumerate(ids, 1):
        truth, w = doc in liked, base + v
        # The maximal loss label: a wrong atom adds 1.
        target = w + (0 if truth else 1) > (1 if truth else 0)
        v = (t - 1) / t * v + (int(truth) - int(target)) / (sigma * t)
        total += base + v
    (rule,) = fit.model_.rules
    assert rule.weight == pytest.approx(base + v, abs=1e-9)
    (rule,) = averaged.model_.rules
    assert rule.weight == pytest.approx(total / len(ids), abs=1e-9)


def test_the_gaussian_penalty_pulls_to_the_start(db: sqlrl.Database) -> None:
    """By hand, over two passes: a step is w + eta * (delta n - lambda * (w - start)), also where delta n is 0."""
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nLiked(d)")
    start = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n-0.75 Liked(d)")
    ids = [f"d{k:02d}" for k in range(12)]
    liked = {row[0] for row in db.sql("select doc from sqlrl.named_Liked").fetchall()}
    make = ONLINE["ContrastiveDivergence, penalised"]
    fit, averaged = (make(average=x, passes=2).fit(db, model, examples=ids, start=start) for x in (False, True))
    w, total, rests = -0.75, 0.0, 0
    for doc in [*ids, *ids]:
        truth = doc in liked
        w += 0.25 * (int(truth) - int(w > 0) - 0.5 * (w + 0.75))
        rests += truth == (w > 0)
        total += w
    assert 0 < rests < 24
    assert fit.model_.rules[0].weight == pytest.approx(w, rel=1e-12)
    assert averaged.model_.rules[0].weight == pytest.approx(total / 24, rel=1e-12)
    plain = make(average=False, passes=2).fit(db, model, examples=ids)
    assert plain.model_.rules[0].weight != pytest.approx(w, abs=0.1)


ODDS = -0.375


@pytest.fixture(scope="module")
def soft() -> sqlrl.Database:
    """The same with soft evidence of these log-odds for every document."""
    db, p = filled(), 1 / (1 + np.exp(-ODDS))
    db.load("Liked", [(f"d{k:02d}", p) for k in range(40)], types=["doc"], probability=1)
    return db


@pytest.mark.parametrize("name", ["CDA", "MIRA", pytest.param("Subgradient", marks=pytest.mark.slow)])
def test_a_start_is_like_a_fixed_feature_of_the_same_weight(
    name: str, db: sqlrl.Database, soft: sqlrl.Database
) -> None:
    text, odds = "Word(doc, word)\nLiked(doc)\nLiked(d)", ODDS
    started = ONLINE[name](average=False).fit(
        db, sqlrl.parse_mln(text), start=sqlrl.parse_mln(text.replace("\nLiked(d)", f"\n{odds} Liked(d)"))
    )
    fixed = ONLINE[name](average=False).fit(soft, sqlrl.parse_mln(text))
    assert started.weights_ == pytest.approx(fixed.weights_ + odds, abs=1e-9)
    assert fixed.weights_.any()
    assert started.steps_["loss"].to_pylist() == fixed.steps_["loss"].to_pylist()


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "learner", [lambda: sqlrl.PSCG(0 + 1), lambda: sqlrl.baselines.VotedPerceptron(1e-9, 1, average=False)]
)
def test_steps_of_batch_learners_begin_at_the_start(learner: Any, db: sqlrl.Database) -> None:
    start = sqlrl.Likelihood(penalty="l2", strength=0.25).fit(db, sqlrl.parse_mln(TEXT))
    found = learner().fit(db, sqlrl.parse_mln(TEXT), start=start.model_)
    far = 1e-6 if isinstance(found, sqlrl.baselines.VotedPerceptron) else 0.2
    assert weights(found.model_) == pytest.approx(weights(start.model_), abs=far)


@pytest.mark.slow
def test_a_run_says_what_it_started_from_and_is_resumed_with_it(db: sqlrl.Database, tmp_path: Path) -> None:
    model = sqlrl.parse_mln(TEXT)
    start = sqlrl.AdaGrad().fit(db, model, examples=["d00", "d01", "d02"]).model_

    def stop(_: object) -> None:
        raise KeyError

    whole = sqlrl.CDA(0.01, window=8).fit(db, model, start=start)
    with pytest.raises(KeyError):
        sqlrl.CDA(0.01, window=8).fit(db, model, start=start, checkpoint=True, callback=stop)
    (number,) = db.sql("select max(run) from sqlrl.run").fetchall()[0]
    kept = json.loads(db.sql(f"select parameters from sqlrl.run where run = {number}").fetchall()[0][0])
    assert kept["start"]["rules"] == 2
    for other in (None, model.with_rules(start.rules[:1])):
        with pytest.raises(InputError):
            sqlrl.CDA(0.01, window=8).fit(db, model, start=other, resume=number)
    resumed = sqlrl.CDA(0.01, window=8).fit(db, model, start=start, resume=number)
    assert resumed.weights_.tolist() == whole.weights_.tolist()


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("m.mln", "start='m.mln' must be a model"),
        (
            sqlrl.Model({}, rules=(replace(sqlrl.parse_mln("Liked(d)\n1 Liked(d)").rules[0], weight=math.nan),)),
            r"start= has the weight nan for Liked\(d\).*give a finite number",
        ),
        (sqlrl.parse_mln("P(t)\nP(x)."), "no rule with a weight"),
        (
            sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Liked(d)", semantics="alchemy"),
            "has the semantics 'alchemy'",
        ),
    ],
)
@pytest.mark.parametrize("learner", [sqlrl.AdaGrad, sqlrl.Likelihood])
def test_what_is_no_start_is_refused(start: Any, message: str, learner: Any, db: sqlrl.Database) -> None:
    with pytest.raises(InputError, match=message):
        learner().fit(db, sqlrl.parse_mln(TEXT), start=start)


@pytest.fixture(scope="module")
def nice() -> sqlrl.Database:
    """Six people in a row, the first three of them nice."""
    db = sqlrl.connect(progress=False)
    people = [f"p{i}" for i in range(6)]
    db.load("Next", list(pairwise(people)), types=["person", "person"])
    db.load("Nice", [(p,) for p in people[:3]], types=["person"], target=True)
    return db


@pytest.mark.parametrize(
    ("rule", "penalty"),
    [
        pytest.param("Next(x, y) => Nice(y)", "l1", marks=pytest.mark.slow),
        pytest.param("Next(x, y) => Nice(y)", "l2", marks=pytest.mark.slow),
        pytest.param("Next(x, y) ^ Nice(x) => Nice(y)", "l1", marks=pytest.mark.slow),
        ("Next(x, y) ^ Nice(x) => Nice(y)", "l2"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_start_from_which_nothing_leads_back_is_left(penalty: Any, rule: str, nice: sqlrl.Database) -> None:
    """Closed forms and sums over worlds: where labels are all but impossible there is no slope, and sums may overflow."""
    text = "Next(person, person)\nNice(person)\n{0} " + rule + "\n{0} Nice(x)"
    model = sqlrl.parse_mln(text.format(""))
    plain = sqlrl.Likelihood(penalty, strength=0.1).fit(nice, model)
    for weight in (-1e5, 1e10, 1e308):
        start = sqlrl.parse_mln(text.format(weight))
        fit = sqlrl.Likelihood(penalty, strength=0.1).fit(nice, model, start=start)
        assert fit.weights_ == pytest.approx(plain.weights_, abs=1e-6), weight
        assert fit.optimality_ < 1e-6, weight


def test_copies_of_a_rule_share_the_weight(db: sqlrl.Database) -> None:
    twice = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nLiked(d)\nLiked(e)")
    start = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n0.5 Liked(d)\n0.25 Liked(x)")
    found = sqlrl.baselines.Perceptron(average=False).fit(db, twice, examples=["d00"], start=start)
    first, second = (rule.weight for rule in found.model_.rules)
    assert first == second
    assert first in (0.375, -0.625, 1.375)


@pytest.mark.slow
def test_the_command_line_goes_on(db: sqlrl.Database, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sqlrl.cli.app import app

    model = sqlrl.parse_mln(TEXT)
    first = sqlrl.baselines.Perceptron(average=False).fit(db, model, examples=["d00", "d01", "d02"])
    first.model_.save(tmp_path / "first.mln")
    (tmp_path / "m.mln").write_text(TEXT)
    expected = sqlrl.baselines.Perceptron().fit(db, model, examples=["d03", "d04"], start=first.model_)
    file = sqlrl.connect(tmp_path / "d.duckdb", progress=False)
    for name, target in (("Word", False), ("Liked", True)):
        rows = db.sql(f"from sqlrl.named_{name}").to_arrow_table()
        rows = rows.select(range(2 - target))
        file.load(name, rows, types=["doc", "word"][: 2 - target], target=target, example=None if target else "doc")
    file.close()
    arguments = [
        "--learner",
        "perceptron",
        "--start",
        str(tmp_path / "first.mln"),
        "--out",
        str(tmp_path / "o.json"),
    ]
    result = CliRunner().invoke(
        app,
        [
            "learn",
            str(tmp_path / "d.duckdb"),
            "--model",
            str(tmp_path / "m.mln"),
            *arguments,
            "--examples",
            "select unnest(['d03', 'd04'])",
        ],
    )
    assert result.exit_code == 0, result.output
    assert weights(sqlrl.read_model(tmp_path / "o.json")) == weights(expected.model_)


def test_clauses_that_are_found_start_no_other_way(db: sqlrl.Database) -> None:
    modes = sqlrl.parse_modes("modeP(1, Word(+, #))\nmodeP(1, Liked(+))")
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Liked(d)")
    with pytest.raises(InputError, match=r"OSL takes no start="):
        sqlrl.OSL(modes).fit(db, model, start=model)


@pytest.mark.parametrize("learner", [sqlrl.Likelihood(), sqlrl.AdaGrad(window=20)], ids=str)
def test_a_start_of_which_no_clause_is_learned_is_warned_of(learner: Any, db: sqlrl.Database) -> None:
    other = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => !Liked(d)')
    with pytest.warns(StartWarning, match=r"all \d clauses begin at 0: none has the formula and the constants"):
        found = learner.fit(db, sqlrl.parse_mln(TEXT), start=other)
    assert found.model_ == type(learner)(**learner.get_params()).fit(db, sqlrl.parse_mln(TEXT)).model_
