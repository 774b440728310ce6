"""Predicates that a rule joins and that share no constant, and rules without a ground clause, are said once, and no others are."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.errors import GroundingWarning
from sqlrl.ground.joins import joined_arguments
from tests.effort import draws

DECLARED = "Word(doc, word)\nListed(word)\nBanned(word)\nSpam(doc)\nOld(doc)\n"


def database(**facts: Sequence[Any]) -> sqlrl.Database:
    """Return a database with facts of predicates of DECLARED; those of Spam are labels."""
    db = sqlrl.connect(progress=False)
    types = {"Word": ["doc", "word"], "Listed": ["word"], "Banned": ["word"], "Spam": ["doc"], "Old": ["doc"]}
    for name, rows in facts.items():
        db.load(name, rows, types=types[name], target=name == "Spam", empty="allow")
    return db


def said(db: sqlrl.Database, rules: str, *, train: bool = False) -> list[str]:
    """Return what is said of the joins of rules, when they are counted or learned."""
    model = sqlrl.parse_mln(DECLARED + rules, query=["Spam"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sqlrl.AdaGrad().fit(db, model) if train else db.count(model)
    return [str(each.message) for each in caught if each.category is GroundingWarning]


RULE = "1 Word(d, w) ^ Listed(w) => Spam(d)\n"
WORDS = [("d1", "Cash"), ("d2", "Prize")]


@pytest.mark.parametrize(
    ("listed", "shown"),
    [
        (["cash", "prize"], "Listed has 'cash', and Word 'Cash'"),
        (["lottery"], "Listed has 'lottery', and Word 'Cash'"),
        (["Pr\u200bize"], r"Listed has 'Pr\u200bize', and Word 'Prize', which looks alike"),
        (["Pri\u0437e", "Pr\u0456ze"], "Listed has 'Pr\u0456ze', and Word 'Prize', which looks alike"),
    ],
)
def test_evidence_that_does_not_meet_is_said_once_with_examples(listed: list[str], shown: str) -> None:
    db = database(Word=WORDS, Listed=listed, Spam=["d1"])
    (text,) = said(db, RULE)
    assert shown in text
    assert "Listed and Word (<text>:6) share no constant of the type word" in text
    assert said(db, RULE) == []
    db.load("Listed", ["prize"], types=["word"])  # other data, other words
    assert len(said(db, RULE)) == 1
    db.load("Listed", ["Prize"], types=["word"])
    assert said(db, RULE) == []


def test_forms_of_letters_are_told_apart() -> None:
    name = "Caf\u00e9"
    db = database(Word=[("d1", name)], Listed=[unicodedata.normalize("NFD", name)], Spam=["d1"])
    (text,) = said(db, RULE)
    assert "(NFC)" in text
    assert "(NFD)" in text


@pytest.mark.parametrize(
    "rules",
    [
        "1 Word(d, w) ^ !Banned(w) => Spam(d)\n",  # what is absent need not be there
        "1 Word(d, w) => Spam(d)\n1 Banned(w) ^ Word(d, v) ^ v != w => Spam(d)\n",  # no variable joins them
        '1 Word(d, "Cash") ^ Banned("x") => Spam(d)\n',
        "1 Spam(d) <=> (EXIST w (Word(d, w) ^ !(EXIST v (Word(d, v) ^ v != w ^ !Banned(v)))))\n",  # helpers are nobody's facts
        "1 Word(d, w) ^ Listed(w) => Spam(d)\n",  # nothing is listed
    ],
)
def test_what_need_not_meet_is_not_said(rules: str) -> None:
    assert said(database(Word=WORDS, Banned=["x"], Listed=[], Spam=["d1"]), rules) == []


def test_labels_are_compared_in_training_alone_and_scopes_always() -> None:
    facts: dict[str, list[Any]] = {"Word": list(WORDS), "Spam": [("D1",), ("D2",)]}
    rules = "1 Word(d, w) => Spam(d)\n"
    db = database(**facts)
    assert said(db, rules) == []
    text = said(db, rules, train=True)[0]
    assert "Spam and Word (<text>:6) share no constant of the type doc: Spam has 'D1', and Word 'd1'" in text
    db = database(**{**facts, "Spam": [("d1",)]})
    db.scope("Spam", ["D1", "D2"])
    with warnings.catch_warnings(record=True):
        (text,) = said(db, rules)
    assert "Spam has 'D1', and Word 'd1'" in text


def test_few_labels_that_other_evidence_knows_are_not_strange() -> None:
    db = database(Word=WORDS, Old=["d3"], Spam=["d3"])
    assert not any(
        "share no" in text for text in said(db, "1 Word(d, w) => Spam(d)\n1 Old(d) => Spam(d)\n", train=True)
    )


def test_a_hundred_rules_of_two_shapes_ask_once(caplog: pytest.LogCaptureFixture) -> None:
    rules = "".join(
        f'1 Word(d, "w{i}") ^ Old(d) => Spam(d)\n2 Word(d, w) ^ Listed(w) ^ Word(d, "v{i}") => Spam(d)\n'
        for i in range(50)
    )
    db = database(Word=WORDS, Listed=["cash"], Old=["d1"], Spam=["d1"])
    with caplog.at_level("DEBUG", logger="sqlrl"):
        assert len(said(db, rules)) == 1
        asked = [r for r in caplog.records if "look for constants that joins share" in r.getMessage()]
        assert len(asked) == 2  # a few rows of each, then the one pair of which they said nothing
        caplog.clear()
        assert said(db, rules) == []
    assert "joins share" not in caplog.text


names = st.sampled_from(["a", "b", "c", "d", "e"])


@pytest.mark.slow
@settings(max_examples=draws(15))
@given(
    st.lists(st.tuples(names, names), max_size=4, unique=True),
    st.lists(names, max_size=3, unique=True),
    st.lists(names, max_size=3, unique=True),
)
def test_just_what_does_not_meet_is_said(words: list[tuple[str, str]], listed: list[str], old: list[str]) -> None:
    db = database(Word=words, Listed=listed, Old=old, Spam=["a"])
    texts = "".join(said(db, "1 Word(d, w) ^ Listed(w) ^ Old(d) => Spam(d)\n"))
    mine = {"Listed and Word": ([w for _, w in words], listed), "Old and Word": ([d for d, _ in words], old)}
    for pair, (one, other) in mine.items():
        assert (f"{pair} " in texts) == (bool(one) and bool(other) and not set(one) & set(other))


def test_large_tables_are_compared_whole() -> None:
    db = sqlrl.connect(progress=False)
    db.load("Word", "select 'd' || i, 'w' || i from range(5000) t(i)", types=["doc", "word"])
    db.load("Listed", "select case when i = 4999 then 'w4998' else 'l' || i end from range(5000) t(i)", types=["word"])
    db.load("Spam", ["d1"], types=["doc"], target=True)
    assert said(db, RULE) == []
    db.load("Listed", "select 'l' || i from range(5000) t(i)", types=["word"])
    assert len(said(db, RULE)) == 1


# ---- rules without a ground clause -------------------------------------------------------------------

IDLE = '1 Word(d, "Nothing") => Spam(d)\n1 Word(d, "Cash") => Spam(d)\nWord(d, "None") ^ Listed(+w) => Spam(d)\nWord(d, +w) => Spam(d)\n'


@pytest.mark.parametrize(
    "learner",
    [
        sqlrl.AdaGrad(),
        sqlrl.Likelihood(penalty="l2"),
        *(pytest.param(learner, marks=pytest.mark.slow) for learner in (sqlrl.PSCG(), sqlrl.CDA())),
    ],
)
def test_rules_without_a_ground_clause_are_counted_and_said_once(learner: Any) -> None:
    db = database(Word=[*WORDS, ("d3", "Cash")], Listed=["Cash"], Spam=[("d1",)])
    model = sqlrl.parse_mln(DECLARED + IDLE + 'Word(d, "Never") => Spam(d).\n')
    with pytest.warns(
        GroundingWarning, match=r"^2 rules have no ground clause .*<text>:6: .*Nothing.*; <text>:8: "
    ) as caught:
        learner.fit(db, model)
    assert [w.category for w in caught].count(GroundingWarning) == 1
    assert "Never" not in str(caught[0].message)  # no weight is learned of what is hard
    with warnings.catch_warnings(action="error", category=GroundingWarning):
        learner.fit(db, model)


def test_pairs_are_sorted_and_have_their_rule() -> None:
    db = database(Word=WORDS, Listed=["Cash"], Old=["d1"], Spam=["d1"])
    model = sqlrl.parse_mln(DECLARED + "1 Old(d) ^ Word(d, w) ^ Listed(w) => Spam(d)\n2 Word(d, w) ^ Old(d) => Spam(d)")
    with db.advanced.program(model) as program:
        found = joined_arguments(program.features, program.layout, training=True)
    pairs = {
        (one.predicate, one.place, other.predicate, other.place): rule.place for (one, other), rule in found.items()
    }
    assert pairs == {
        ("Old", 0, "Word", 0): "<text>:6",
        ("Listed", 0, "Word", 1): "<text>:6",
        ("Spam", 0, "Word", 0): "<text>:6",
        ("Old", 0, "Spam", 0): "<text>:6",
    }
