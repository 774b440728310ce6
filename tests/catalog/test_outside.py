"""Labels outside the scope: predictions never read them, `evaluate` misses them."""

from __future__ import annotations

import warnings

import pytest

import sqlrl
from sqlrl.errors import ScopeWarning

CHAIN = sqlrl.parse_mln("F(p, p)\nS(p)\n1 F(x, y) ^ S(y) => S(x)\n-0.2 S(x)")
TEXT = "Hint(doc, val)\nIs(doc, val)\n-1 Is(d, v)\n2 Hint(d, v) ^ Is(d, w) ^ (v != w) => Is(d, v)"
HINTS = sqlrl.parse_mln(TEXT)
# What is known true in a block decides it, so that it would show.
BLOCKS = sqlrl.parse_mln(TEXT.replace("Is(doc, val)", "Is(doc, val!)"))


def chain(labels: list[str]) -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("F", [("A", "B"), ("B", "C")], types=["p", "p"])
    db.load("S", [(name,) for name in labels], types=["p"], target=True)
    db.scope("S", "select 'B' union all select 'A'")
    return db


def hints(labels: list[tuple[str, str]]) -> sqlrl.Database:
    db = sqlrl.connect()
    db.load("Hint", [("d1", "a"), ("d2", "b"), ("d2", "c")], types=["doc", "val"], example="doc")
    db.load("Is", labels, types=["doc", "val"], target=True)
    return db


def answer(db: sqlrl.Database, model: sqlrl.Model) -> tuple[bytes, float, float, list[object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScopeWarning)
        found = db.predict(model)
        network = db.advanced.ground(model)
    said = [a.tobytes() for a in (network.atoms, network.literals, network.indptr, network.block)]
    return found.result.world.tobytes(), found.objective, found.bound, said


@pytest.mark.slow
def test_a_prediction_never_reads_a_label_outside_the_scope() -> None:
    # A type's dictionary holds the constants of labels, too; here the facts hold all of them.
    several = [["A"], ["C"], ["A", "B"], ["A", "B", "C"]]
    answers = [answer(chain(labels), CHAIN) for labels in several]
    assert all(found == answers[0] for found in answers)
    given = chain(["A"])
    given.load("S", [("C",)], given=True)
    assert answer(given, CHAIN)[:2] != answers[0][:2]


@pytest.mark.slow
@pytest.mark.parametrize("model", [HINTS, BLOCKS])
def test_a_prediction_never_reads_a_label_outside_a_local_domain(model: sqlrl.Model) -> None:
    several = [
        [("d1", "a"), ("d2", "b")],
        [("d1", "b"), ("d2", "a")],
        [("d1", "c"), ("d2", "a"), ("d2", "c")],
        [("d1", "b"), ("d1", "c")],
    ]
    answers = [answer(hints(labels), model) for labels in several]
    assert all(found == answers[0] for found in answers)


def test_the_observed_world_agrees_with_the_network() -> None:
    db = chain(["B", "C"])
    with pytest.warns(
        ScopeWarning, match=r"^1 label of S lies outside the scope, such as S\(C\): .*db\.scope\('S', \.\.\.\)"
    ):
        counted = db.count(CHAIN)["n"]
    # Of the nine groundings of the first rule, F(A, B) ^ S(B) => S(A) is false; S(C) is false and S(B) true.
    assert counted == [8, 1]
    assert db.count(CHAIN, world="select 'B' as p")["n"] == counted


def test_labels_outside_are_warned_of_when_atoms_are_built_and_in_training() -> None:
    db = hints([("d1", "b"), ("d1", "c"), ("d2", "b")])
    with pytest.warns(
        ScopeWarning, match=r"^2 labels of Is lie outside .* Is\(d1, [bc]\): .* db\.load\(local=\{'val': False\}\)"
    ):
        db.advanced.bind(HINTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.predict(HINTS)
    with pytest.warns(ScopeWarning, match=r"^2 labels"):
        db.advanced.bind(HINTS, training=True)
    db.load(local={"val": False})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.advanced.bind(HINTS, training=True)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_evaluate_counts_labels_outside_as_missed() -> None:
    db = hints([("d1", "b"), ("d1", "a"), ("d2", "b"), ("d2", "a")])
    model = sqlrl.parse_mln("Hint(doc, val)\nIs(doc, val)\n1 Hint(d, v) => Is(d, v)")
    scores = db.evaluate(db.predict(model))
    # Predicted: Is(d1, a), Is(d2, b), Is(d2, c); true: the first two and two that have no atom.
    assert (scores.total.true_positives, scores.total.false_positives, scores.total.false_negatives) == (2, 1, 2)
    assert scores.recall == 0.5
    assert scores.outside == 2
    assert str(scores).endswith("; 2 labels lie outside the scope and count as missed (not with outside='ignore')")
    assert scores.examples.false_negatives.tolist() == [1, 1]
    one = db.evaluate(db.predict(model, examples=["d1"]))
    assert (one.total.false_negatives, one.outside, one.total.true_positives) == (1, 1, 1)
    assert str(one).endswith("; 1 label lies outside the scope and counts as missed (not with outside='ignore')")


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_a_part_of_one_network_is_evaluated_alone() -> None:
    db = sqlrl.connect()
    db.load("F", [(str(i), str(i + 1)) for i in range(20)], types=["p", "p"])
    db.load("S", [(str(i),) for i in range(20) if i % 3], types=["p"], target=True)
    model = sqlrl.parse_mln("F(p, p)\nS(p)\n1 F(x, y) => S(x)")
    everything = db.predict(model)
    whole = db.evaluate(everything)
    assert str(db.evaluate(everything, outside="ignore")) == str(whole)
    parts = []
    for half in (0, 1):
        db.scope("S", [(str(i),) for i in range(21) if i % 2 == half])
        prediction = db.predict(model)
        missing = db.evaluate(prediction)
        part = db.evaluate(prediction, outside="ignore")
        assert missing.outside > 0 == part.outside
        assert part.total.false_negatives == missing.total.false_negatives - missing.outside
        assert "outside" not in str(part)
        parts.append(part.total)
    for count in ("true_positives", "false_positives", "false_negatives", "true_negatives"):
        assert sum(getattr(part, count) for part in parts) == getattr(whole.total, count)
    with pytest.raises(sqlrl.errors.InputError, match=r"outside='ignored' must be 'missed' or 'ignore'"):
        db.evaluate(prediction, outside="ignored")


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_labels_that_are_all_ignored_compare_with_nothing() -> None:
    db = chain(["C"])
    db.load("S", [("A",), ("B",)], given=True)
    prediction = db.predict(CHAIN)
    assert db.evaluate(prediction).outside == 1
    with pytest.raises(sqlrl.errors.InputError, match="no predicted atom has a label"):
        db.evaluate(prediction, outside="ignore")


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_learners_ignore_labels_outside() -> None:
    model = sqlrl.parse_mln("Hint(doc, val)\nIs(doc, val)\nHint(d, v) => Is(d, v)\nIs(d, v)")
    inside = [("d1", "a"), ("d2", "b")]
    fits = [sqlrl.AdaGrad().fit(hints(labels), model) for labels in (inside, [*inside, ("d1", "b"), ("d1", "c")])]
    assert fits[0].weights_.tobytes() == fits[1].weights_.tobytes()


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
def test_facts_known_to_be_false_are_no_labels_to_find() -> None:
    db = sqlrl.connect()
    db.load("S", [("A", True), ("B", False)], types=["p"], truth=1, target=True)
    db.scope("S", [("A",)])
    assert db.evaluate(db.predict(sqlrl.parse_mln("S(p)\n1 S(x)"))).outside == 0


@pytest.mark.parametrize(
    ("scope", "outside"),
    [
        ([("A", "B")], 0),
        ([("C", "D"), ("D", "C")], 0),
        ([("A", "B"), ("C", "E")], 2),
        ([("B", "C")], 3),
        ([("E", "F")], 0),
    ],
)
def test_a_scope_may_be_a_part_of_the_data(scope: list[tuple[str, str]], outside: int) -> None:
    """Labels all of whose constants are of other parts are left out on purpose; others may have been forgotten."""
    db = sqlrl.connect()
    db.load("Near", [(a, b) for a in "ABCDEF" for b in "ABCDEF"], types=("thing", "thing"))
    db.load("Same", [("A", "B"), ("C", "D"), ("D", "C")], types=("thing", "thing"), target=True)
    db.scope("Same", scope)
    with warnings.catch_warnings(record=True, action="always") as caught:
        db.advanced.bind(sqlrl.parse_mln("Near(thing, thing)\nSame(thing, thing)\n1 Near(x, y) => Same(x, y)"))
    told = [str(each.message) for each in caught if each.category is ScopeWarning]
    assert [int(text.split()[0]) for text in told] == ([outside] if outside else [])
