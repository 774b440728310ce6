"""The learner that the data choose: by examples and by what rules join."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import sqlrl
from sqlrl.database import learner_choice as choice
from sqlrl.database.learner_choice import Choice, choose_learner
from sqlrl.errors import InputError
from sqlrl.ground import windows

DECLARED = "Doc(doc)\nWord(doc, word)\nCites(doc, doc)\nGood(doc)\nTopic(doc, topic!)\n"
EXACT, NARROW, WIDE = "likelihood", "narrow", "pscg"
RULES = {
    "Word(d, +w) => Good(d)": EXACT,
    "Good(d)\nWord(d, w) ^ Cites(d, e) => Good(d)": EXACT,
    "Word(d, +w) => Topic(d, +t)": EXACT,
    "EXIST w Word(d, w) => Good(d)": EXACT,
    "Good(d) => Topic(d, Fun)": NARROW,
    "Cites(d, e) ^ Good(d) => Good(e)": NARROW,
    "Good(d)\nTopic(d, t) ^ Topic(d, u) => t = u.": EXACT,
    "Good(d)\nGood(d) ^ Word(d, w) => !Topic(d, Fun).": NARROW,
    "Cites(d, e) ^ Good(d) => Good(e).\nWord(d, +w) => Good(d)": NARROW,
    "EXIST e (Cites(d, e) ^ Good(e)) => Good(d)": NARROW,
    "Good(d) <=> Topic(d, Fun)": NARROW,
    "Doc(d) ^ Doc(e) ^ Good(d) => Good(e)": WIDE,
    "Doc(d) ^ Doc(e) ^ Topic(d, t) => Topic(e, t)": WIDE,
}


@cache
def loaded(examples: int, *, apart: bool) -> sqlrl.Database:
    """A database of so many documents, each an example of its own or all one network. Tests that share it load nothing."""
    db, names = sqlrl.connect(), [f"d{i}" for i in range(examples)]
    key = {"example": "doc"} if apart else {}
    db.load("Doc", [(name,) for name in names], types=["doc"], **key)
    db.load("Word", [(name, f"w{i % 3}") for i, name in enumerate(names)], types=["doc", "word"])
    db.load("Cites", [(name, name) for name in names], types=["doc", "doc"])
    db.load("Good", [(name,) for name in names[::2]], types=["doc"], target=True)
    db.load(
        "Topic", [(name, "Fun" if i % 2 else "w0") for i, name in enumerate(names)], types=["doc", "topic"], target=True
    )
    return db


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "rules", [rules if k % 2 == 0 else pytest.param(rules, marks=pytest.mark.slow) for k, rules in enumerate(RULES)]
)
def test_of_few_examples_the_rules_choose_a_batch_learner_that_learns(rules: str) -> None:
    db, model = loaded(30, apart=False), sqlrl.parse_mln(DECLARED + rules)
    chosen = choose_learner(db, model)
    word, kind = chosen.word, RULES[rules]
    assert (word, "one network" in chosen.reason) == ("likelihood" if kind == NARROW else kind, True)
    assert ("elimination" in chosen.reason) == (kind == NARROW)
    fit = chosen.estimator()
    if word == "pscg":
        # The exact likelihood refuses what is too wide for it.
        with pytest.raises(InputError, match="beyond the bound"):
            sqlrl.Likelihood().fit(db, model)
        fit = chosen.estimator(iterations=2)
    fit.fit(db, model)


def test_what_stands_in_later_windows_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    names = [f"d{i:02}" for i in range(3)]
    db.load("Doc", [(name,) for name in names], types=["doc"], example="doc")
    db.load(
        "At",
        [(name, f"p{i:02}") for name in names for i in range(30 if name == "d02" else 3)],
        types=["doc", "pos"],
        example="doc",
    )
    db.load("In", [(name, "p01") for name in names], types=["doc", "pos"], example="doc", target=True)
    model = sqlrl.parse_mln(
        "Doc(doc)\nAt(doc, pos)\nIn(doc, pos)\nAt(d, p) ^ At(d, q) ^ In(d, p) => In(d, q)\nIn(d, +p)"
    )
    assert choose_learner(db, model).word == "pscg"
    assert choose_learner(db, model, ["d00", "d01"]).word == "likelihood"
    monkeypatch.setattr(windows, "FIRST", 1)
    assert choose_learner(db, model).word == "pscg"


def test_examples_are_chosen_where_only_the_model_declares_types() -> None:
    db = sqlrl.connect()
    db.load("Word", pa.table({"doc": ["a", "b", "c"], "word": ["x", "y", "x"]}), example="doc")
    db.load("Good", pa.table({"doc": ["a", "c"]}), target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\nWord(d, +w) => Good(d)")
    choice = choose_learner(db, model, ["a", "b"])
    assert (choice.word, choice.reason) == ("likelihood", "there are 2 examples, and no rule joins query atoms")


@pytest.mark.parametrize(
    ("examples", "apart", "asked", "flat", "joined", "words"),
    [
        (1, True, None, "Likelihood(penalty='l2')", "PSCG()", "one network"),
        (3, True, None, "Likelihood(penalty='l2')", "PSCG()", "3 examples"),
        (4, True, None, "Likelihood(penalty='l2')", "AdaGrad(passes=5)", "4 examples"),
        (19, True, None, "Likelihood(penalty='l2')", "AdaGrad(passes=2)", "19 examples"),
        (20, True, None, "Likelihood(penalty='l2')", "AdaGrad()", "20 examples"),
        (25, True, None, "Likelihood(penalty='l2')", "AdaGrad()", "25 examples"),
        (25, False, None, "Likelihood(penalty='l2')", "PSCG()", "one network"),
        (25, True, ["d1", "d2"], "Likelihood(penalty='l2')", "PSCG()", "2 examples"),
        (25, True, ["d7"], "Likelihood(penalty='l2')", "PSCG()", "one example is chosen"),
    ],
)
def test_examples_choose(
    monkeypatch: pytest.MonkeyPatch,
    examples: int,
    apart: bool,
    asked: list[str] | None,
    flat: str,
    joined: str,
    words: str,
) -> None:
    monkeypatch.setattr(choice, "STEPS", 20)
    monkeypatch.setattr(choice, "MOST_PASSES", 5)
    db = loaded(examples, apart=apart)
    monkeypatch.setattr(choice, "_narrow", lambda program, ids: False)
    for rules, learner in (("Word(d, +w) => Good(d)", flat), ("Good(d) => Topic(d, Fun)", joined)):
        chosen = choose_learner(db, sqlrl.parse_mln(DECLARED + rules), asked)
        assert repr(chosen.estimator()) == learner
        assert words in chosen.reason


@pytest.mark.parametrize(
    ("among", "learner"),
    [
        (["adagrad"], "AdaGrad(passes=100)"),
        (["pscg"], "PSCG()"),
        # Of four examples AdaGrad would have few steps.
        (["pscg", "adagrad"], "PSCG()"),
        (["pscg", "likelihood"], "Likelihood(penalty='l2')"),
    ],
)
def test_it_is_chosen_among_those_that_may_be(among: list[choice.Word], learner: str) -> None:
    model = sqlrl.parse_mln(DECLARED + "Word(d, +w) => Good(d)")
    assert repr(choose_learner(loaded(4, apart=True), model, among=among).estimator()) == learner


def test_what_was_chosen_can_be_changed() -> None:
    assert repr(Choice("likelihood", "", {"penalty": "l2"}).estimator(penalty="l1", folds=3)) == "Likelihood(folds=3)"
    assert repr(Choice("adagrad", "", {"passes": 9}).estimator(passes=2)) == "AdaGrad(passes=2)"


def test_what_is_too_large_to_be_grounded_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = loaded(30, apart=False), sqlrl.parse_mln(DECLARED + "Good(d) ^ Cites(d, e) => Good(e)")
    assert choose_learner(db, model).word == "likelihood"
    monkeypatch.setattr(choice, "GROUNDING_LIMIT", 10)
    assert choose_learner(db, model).word == "pscg"


@pytest.mark.parametrize("among", [[], ["pscg", "osl"]])
def test_what_cannot_be_chosen_is_refused(among: list[choice.Word]) -> None:
    db, model = loaded(6, apart=True), sqlrl.parse_mln(DECLARED + next(iter(RULES)))
    with pytest.raises(InputError, match=r"among=.* must be some of adagrad, likelihood, pscg"):
        choose_learner(db, model, among=among)


def test_no_examples_are_refused() -> None:
    db, model = loaded(6, apart=True), sqlrl.parse_mln(DECLARED + next(iter(RULES)))
    with pytest.raises(InputError, match="examples= names no examples"):
        choose_learner(db, model, "select 'd1' where false")


def test_of_many_examples_some_are_looked_at_and_the_others_may_be_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "STEPS", 20)
    seen: list[int] = []
    narrow = choice._narrow
    monkeypatch.setattr(choice, "_narrow", lambda program, ids: seen.append(len(ids)) is None and narrow(program, ids))
    for count, learner in (
        (20, "Likelihood(penalty='l2')"),
        (25, "Likelihood(penalty='l2', wide='composite-likelihood')"),
    ):
        chosen = choose_learner(loaded(count, apart=True), sqlrl.parse_mln(DECLARED + "Good(d) => Topic(d, Fun)"))
        assert repr(chosen.estimator()) == learner
    assert seen == [20, 20]


@pytest.mark.parametrize("where", ["docstring", "docs/howto/choosing-a-learner.md", "help"])
def test_the_rule_is_the_same_wherever_it_is_told(where: str) -> None:
    if where == "docstring":
        text = choose_learner.__doc__ or ""
    elif where == "help":
        from sqlrl.cli.learning import learn

        text = learn.__doc__ or ""
    else:
        text = (Path(__file__).parents[2] / where).read_text(encoding="utf-8")
    assert choice.RULE in " ".join(text.split())
