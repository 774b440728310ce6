"""What runs leave in `sqlrl.clause_statistics`, against enumeration and against `count`."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import GroundingLimitError
from sqlrl.ground.grounding import decided_false, ground_network
from sqlrl.ground.oracle import ProgramOracle
from sqlrl.ground.program import Extent
from sqlrl.training import stream as training
from sqlrl.training.statistics import added_statistics, learned_statistics

DOCS = ["d1", "d2", "d3"]
WORDS = [("d1", "a"), ("d1", "b"), ("d2", "b"), ("d3", "c"), ("d3", "a")]
CLASSES = [("d1", "x"), ("d2", "y"), ("d3", "x")]
TEXT = """
Word(doc, word)
Class(doc, class)
Good(doc)
Word(d, +w) => Class(d, +c)
Class(d, c) ^ Good(d)
Good(d) <=> Class(d, c)
"""
RULES = sqlrl.parse_mln(TEXT)
COLUMNS = "groundings, open, satisfied_by_evidence, violated_by_evidence, n_observed, n_predicted, delta_n"


def database() -> sqlrl.Database:
    """Class(d1, y) is given as false, so that evidence violates and satisfies some groundings; so is Good(d3) as true."""
    db = sqlrl.connect()
    db.load("Word", WORDS, types=("doc", "word"), example="doc")
    db.load("Class", CLASSES[:1], types=("doc", "class"), target=True)
    db.load("Class", CLASSES, types=("doc", "class"), target=True)
    db.load("Class", [("d1", "y", False)], types=("doc", "class"), truth=2, given=True)
    db.load("Good", [("d1",)], types=("doc",), target=True)
    db.load("Good", [("d3",)], types=("doc",), given=True)
    return db


def statistics(db: sqlrl.Database, run: int) -> dict[str, tuple[Any, ...]]:
    query = f"""
        select text, {COLUMNS} from sqlrl.clause_statistics
        join sqlrl.run using (run) join sqlrl.clause using (model, clause) where run = {run} order by clause
    """
    return {row[0]: row[1:] for row in db.sql(query).fetchall()}


def by_hand() -> dict[str, tuple[Any, ...]]:
    """Groundings, open, satisfied, violated of the rules that are no equivalence, one grounding after the other."""
    known: dict[tuple[str, ...], bool] = {("Class", "d1", "y"): False, ("Good", "d3"): True}
    found: dict[str, list[bool | None]] = {}
    for doc, kind in product(DOCS, "xy"):
        literal = known.get(("Class", doc, kind))
        for word in "abc":
            text = f'Word(d, "{word}") => Class(d, "{kind}")'
            found.setdefault(text, []).append(literal if (doc, word) in WORDS else True)
        good = known.get(("Good", doc))
        both = False if literal is False or good is False else (True if literal and good else None)
        found.setdefault("Class(d, c) ^ Good(d)", []).append(both)
    return {text: (len(v), v.count(None), v.count(True), v.count(False)) for text, v in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 512])
def test_a_learner_keeps_what_evidence_and_labels_say(window: int) -> None:
    db = database()
    fit = sqlrl.AdaGrad(window=window, passes=2).fit(db, RULES)
    found, hand = statistics(db, 1), by_hand()
    observed = db.count(fit.model)
    n = dict(zip(observed["text"], observed["n"], strict=True))
    delta = {row["clause"]: row["delta_n"] for row in fit.clauses().to_pylist()}
    for text, row in found.items():
        assert row[4:] == (n[text], None, delta[text])
        if text in hand:
            assert row[:4] == hand[text]
    assert hand.keys() <= found.keys()
    assert found["Good(d) <=> Class(d, c)"][:4] == (6, None, None, None)


@pytest.mark.slow
def test_a_prediction_keeps_its_world_and_evaluation_adds_the_labels() -> None:
    db = database()
    model = sqlrl.AdaGrad().fit(db, RULES).model
    prediction = db.predict(model, keep=True)
    before, hand = statistics(db, 2), by_hand()
    counted = db.count(model, world=prediction)
    predicted = dict(zip(counted["text"], counted["n"], strict=True))
    for text, row in before.items():
        assert row[4:] == (None, predicted[text], None)
        if text in hand:
            assert row[:4] == hand[text]
    prediction.evaluate()
    after = statistics(db, 2)
    observed = dict(zip(counted["text"], db.count(model)["n"], strict=True))
    for text, row in after.items():
        assert row[:4] == before[text][:4]
        assert row[4:] == (observed[text], predicted[text], observed[text] - predicted[text])


@pytest.mark.slow
def test_statistics_are_of_the_chosen_examples_and_of_runs_alone() -> None:
    db = database()
    model = sqlrl.AdaGrad().fit(db, RULES, examples=["d1", "d2"]).model
    first, second = (db.predict(model, examples=iter([doc]), keep=True) for doc in ("d1", "d3"))
    second.evaluate()
    assert all(row[4] is None for row in statistics(db, 2).values())
    first.evaluate()
    for run, doc in ((2, "d1"), (3, "d3")):
        counted = db.count(model, examples=[doc])
        found = statistics(db, run)
        assert [found[text][4] for text in counted["text"]] == counted["n"]  # type: ignore[index]
        assert [found[text][0] for text in counted["text"]] == counted["groundings"]  # type: ignore[index]


def test_without_labels_the_observed_counts_stay_unknown() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob")], types=("person", "person"))
    model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n1 Friends(x, y) => Smokes(y)", query=("Smokes",))
    prediction = db.predict(model, keep=True)
    with pytest.raises(sqlrl.SqlrlError, match="no predicted atom has a label"):
        prediction.evaluate()
    ((*_, observed, predicted, delta),) = statistics(db, 1).values()
    assert (observed, int(Decimal(predicted)), delta) == (None, 4, None)


def test_with_some_labels_the_observed_counts_stay_unknown() -> None:
    db = sqlrl.connect()
    db.load("Word", WORDS, types=("doc", "word"), example="doc")
    db.load("Class", CLASSES, types=("doc", "class"), target=True)
    text = "Word(doc, word)\nClass(doc, class)\nGood(doc)\n1 Good(d) <=> Class(d, x)"
    prediction = db.predict(sqlrl.parse_mln(text, query=("Class", "Good")), keep=True)
    assert prediction.evaluate().predicates["Class"].false_negatives == len(CLASSES)
    assert [row[4] for row in statistics(db, 1).values()] == [None]


def test_what_evidence_violates_is_counted_without_grounding() -> None:
    db = database()
    with db.advanced.program(RULES, training=True) as program:
        program.expand()
        network = ground_network(Extent(program))
        assert decided_false(Extent(program)).tolist() == network.evidence_violated.tolist()
        assert network.evidence_violated.any()
        with program.examples_table(np.array([1])) as chosen:
            assert (
                decided_false(Extent(program, chosen)).tolist()
                == ground_network(Extent(program, chosen)).evidence_violated.tolist()
            )


MANY = " v ".join(f"Likes(x, y{i})" for i in range(9))
LIKES = "Friends(person, person)\nLikes(person, person)\nSmokes(person)\n"


def likes(text: str) -> tuple[sqlrl.Database, sqlrl.Model]:
    """Three people, and a rule that can only be counted by enumeration."""
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    db.load("Smokes", [("Anna",)], types=("person",), target=True)
    return db, sqlrl.parse_mln(LIKES + text, query=("Likes",))


@pytest.mark.parametrize("method", ["auto", "cutting-plane"])
def test_what_could_not_be_counted_is_not_kept(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = likes(f"1 {MANY}\n-1 Smokes(x)")
    for solver in ("cutting_plane.cutting_planes", "mpe.mpe"):
        monkeypatch.setattr(f"sqlrl.solve.{solver}", lambda *_, **__: pytest.fail("solved before it was refused"))
    with pytest.raises(
        GroundingLimitError, match=r"Likes\(x, y0\) v .* enumerating 59,049 groundings, .* limit of 5,000"
    ):
        db.predict(model, method=method, keep=True, limit=5000)
    assert db.sql("from sqlrl.run").fetchall() == []


@pytest.mark.slow
def test_the_observed_world_of_a_kept_prediction_is_counted_within_its_limit() -> None:
    """Who smokes is a label, which `predict` does not read: only `evaluate` meets the rule's groundings."""
    db, model = likes(f"1 !Smokes(x) v {MANY}\n-1 Smokes(x)\n-1 Likes(x, y)")
    db.load("Likes", [("Anna", "Bob")], types=("person", "person"), target=True)
    few = db.predict(model, method="cutting-plane", keep=True, limit=5000)
    with pytest.raises(GroundingLimitError, match=r"enumerating 19,683 groundings, .* limit of 5,000"):
        few.evaluate()
    db.predict(model, method="cutting-plane", keep=True).evaluate()
    assert [n for (n,) in db.sql("select n_observed from sqlrl.clause_statistics where run = 2").fetchall()][1:] == [
        1,
        1,
    ]


def test_learning_refuses_before_its_first_step_what_it_could_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    db, model = likes(f"{MANY}\nSmokes(x)")
    db.load("Likes", [("Anna", "Bob")], types=("person", "person"), target=True)
    with (
        pytest.raises(GroundingLimitError, match=r"Likes\(x, y0\) v .* is counted by enumerating 59,049 groundings"),
        db.advanced.learning.training_windows(model, limit=5000),
    ):
        pytest.fail("the first window was offered")
    with db.advanced.learning.training_windows(model, limit=100_000) as stream:
        assert len(stream.examples) == 1


def test_statistics_of_learning_heed_a_limit() -> None:
    db, model = likes(f"{MANY}\nSmokes(x)")
    db.load("Likes", [("Anna", "Bob")], types=("person", "person"), target=True)
    none, support = (
        np.zeros(0, dtype=object),
        pa.table({"clause": pa.array([], pa.int64()), "delta_n": pa.array([], pa.int64())}),
    )
    with db.advanced.program(model, training=True) as program, program.examples_table(np.array([0])) as chosen:
        with pytest.raises(GroundingLimitError, match="is counted by enumerating"):
            learned_statistics(Extent(program, chosen, 5000), none, support, np.arange(2))
        found = learned_statistics(Extent(program, chosen), none, support, np.arange(2))
    # Of 3 * 3**9 groundings those of Anna hold in which some y is Bob.
    assert found.column("n_observed").to_pylist() == [3**9 - 2**9, 1]


@pytest.mark.parametrize("learner", [sqlrl.AdaGrad(), sqlrl.baselines.VotedPerceptron(max_iterations=1)], ids=str)
def test_learners_heed_the_limit_that_the_error_says_to_raise(learner: Any) -> None:
    db, model = likes(f"{MANY}\nSmokes(x)")
    db.load("Likes", [("Anna", "Bob")], types=("person", "person"), target=True)
    with pytest.raises(GroundingLimitError, match=r"more than the limit of 5,000.* raise limit="):
        learner.fit(db, model, limit=5000)
    assert len(learner.fit(db, model, limit=100_000).weights_) == 2


@pytest.mark.slow
def test_one_pass_over_ground_clauses_gives_the_statistics_that_queries_give() -> None:
    db = database()
    model = sqlrl.parse_mln(
        TEXT + "Word(d, w) => Word(d, a)\nClass(d, c) ^ Class(d, e) => Good(d)", query=("Class", "Good")
    )
    support = pa.table({"clause": [0, 2], "delta_n": [5, -1]})
    for examples in ([0, 1, 2], [1]):
        with db.advanced.program(model, training=True) as program, program.examples_table(np.array(examples)) as chosen:
            program.expand(chosen)
            shown = np.arange(program.clause_count)
            opened = ProgramOracle(Extent(program, chosen), check=False).open_counts()
            expected = learned_statistics(Extent(program, chosen), opened, support, shown)
            assert sum(expected.column("open").drop_null().to_pylist()) > 0
            assert added_statistics(Extent(program, chosen), support, shown).equals(expected)


GLOBAL = "Near(word, word)\n" + TEXT + "Near(v, w) => Near(w, v)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "again"),
    [
        # Templates that grow: of an earlier window nobody knows the groundings of a clause that a later one brings.
        (TEXT, {1: True, 3: False}),
        # The clauses of a learned model are known from the start.
        (None, {1: False, 3: False}),
        # Of a clause about no example each window has all groundings.
        (GLOBAL.replace("+", ""), {1: True, 3: False}),
    ],
)
def test_windows_are_counted_again_only_where_their_counts_do_not_add_up(
    text: str | None, again: dict[int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = database()
    db.load("Near", [("a", "b"), ("b", "a"), ("a", "c")], types=("word", "word"))
    model = sqlrl.AdaGrad().fit(db, RULES).model if text is None else sqlrl.parse_mln(text)
    queries: list[str] = []

    def counted(*arguments: Any) -> pa.Table:
        queries.append("")
        return learned_statistics(*arguments)

    monkeypatch.setattr(training, "learned_statistics", counted)
    found = {}
    for window, recounted in again.items():
        queries.clear()
        run = sqlrl.AdaGrad(window=window, passes=2).fit(db, model).run_
        assert bool(queries) == recounted
        found[window] = {name: row[:5] for name, row in statistics(db, run).items()}
    assert found[1] == found[3]
