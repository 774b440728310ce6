"""The views over models, runs and kept predictions, against a few lines of Python over the same rows; what evaluate keeps, against counts and labels."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl.evaluate import calibration
from sqlrl.ground.windows import divided
from sqlrl.logic.evidence import parse_evidence
from tests.effort import draws

DOCS = [f"d{k}" for k in range(12)]
WORDS = [(doc, word) for k, doc in enumerate(DOCS) for word in ("abc"[k % 3], "def"[(k * 5) % 3], "xyz"[k % 2])]
KINDS = [(doc, "uvw"[(k * 7) % 3]) for k, doc in enumerate(DOCS)]
GOOD = [(doc,) for k, doc in enumerate(DOCS) if k % 4 in (0, 1)]
RULES = """
Word(doc, word)
Kind(doc, kind)
Good(doc)
Word(d, +w) => Kind(d, +k)
Kind(d, k) ^ Good(d)
Word(d, "a") => Good(d)
Kind(d, "u") => Good(d)
Kind(d, k) ^ (k != l) => !Kind(d, l).
"""


@pytest.fixture(scope="module")
def docs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("docs") / "docs.duckdb"
    with sqlrl.connect(path) as opened:
        opened.load("Word", WORDS, types=("doc", "word"), example="doc")
        opened.load("Kind", KINDS, types=("doc", "kind"), target=True)
        opened.load("Good", GOOD, types=("doc",), target=True)
    return path


@pytest.fixture
def db(docs_file: Path, tmp_path: Path) -> Iterator[sqlrl.Database]:
    """A file, since a transaction of it may write to nothing else."""
    with sqlrl.connect(shutil.copy(docs_file, tmp_path / "docs.duckdb")) as opened:
        yield opened


def learned(db: sqlrl.Database) -> sqlrl.Model:
    return sqlrl.AdaGrad(passes=2).fit(db, sqlrl.parse_mln(RULES), examples=DOCS[:7]).model_


def rows(db: sqlrl.Database, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = db.sql(query).to_arrow_table().to_pylist()
    return found


# ---- outcomes of real predictions -----------------------------------------------------------------------


@pytest.mark.slow
def test_what_is_kept_is_what_was_predicted_and_what_the_labels_say(db: sqlrl.Database) -> None:
    model = learned(db)
    prediction = db.predict(model, keep=True)
    assert rows(db, "from sqlrl.outcome") == []
    for _ in range(2):
        scores = prediction.evaluate()
        found = rows(db, "from sqlrl.outcome order by atom")
        truth = {f"Kind({doc}, {kind})" for doc, kind in (map(quoted, pair) for pair in KINDS)} | {
            f"Good({quoted(doc)})" for (doc,) in GOOD
        }
        world = {
            f"{name}({', '.join(quoted(row[c]) for c in columns)})": row["truth"]
            for name, columns in (("Kind", ["doc", "kind"]), ("Good", ["doc"]))
            for row in prediction.atoms(name, every=True).to_pylist()
        }
        assert {row["name"]: row["predicted"] for row in found} == world
        assert {row["name"] for row in found if row["label"]} == truth
        assert all(row["example_name"] in row["name"] and row["run"] == prediction.run for row in found)
        by_predicate = {row["predicate"]: row for row in rows(db, "from sqlrl.confusion where constant is null")}
        for name, score in scores.predicates.items():
            row = by_predicate[name]
            assert row["true_positives"] == score.true_positives
            assert row["false_positives"] == score.false_positives
            assert row["false_negatives"] == score.false_negatives
            assert row["f1"] == pytest.approx(score.f1)
            assert row["true_negatives"] == sum(not world[a] and a not in truth for a in world if a.startswith(name))


def quoted(name: str) -> str:
    return f'"{name}"'


@pytest.mark.slow
def test_blocks_choose_constants(db: sqlrl.Database) -> None:
    prediction = db.predict(learned(db), keep=True)
    prediction.evaluate()
    chosen = {row["doc"]: row["kind"] for row in prediction.atoms("Kind").to_pylist()}
    expected = Counter((kind, chosen.get(doc)) for doc, kind in KINDS)
    found = rows(db, "from sqlrl.block_confusion")
    assert {(row["label"], row["predicted"]): row["blocks"] for row in found} == expected
    assert {row["predicate"] for row in found} == {"Kind"}
    for row in rows(db, "from sqlrl.confusion where constant is not null"):
        right = sum(kind == row["constant"] == chosen.get(doc) for doc, kind in KINDS)
        said = sum(kind == row["constant"] for kind in chosen.values())
        assert (row["true_positives"], row["false_positives"]) == (right, said - right)
        assert row["false_negatives"] == sum(kind == row["constant"] for _, kind in KINDS) - right


def test_probabilities_are_calibrated_as_evaluate_says(db: sqlrl.Database) -> None:
    with pytest.warns(sqlrl.errors.CalibrationWarning):
        found = db.probabilities(learned(db), keep=True)
    scores = found.evaluate()
    for name, score in scores.predicates.items():
        table = [row for row in score.calibration.table().to_pylist() if row["atoms"]]
        view = rows(db, f"from sqlrl.calibration where predicate = '{name}'")
        assert [(row["above"], row["up_to"], row["atoms"], row["true_atoms"]) for row in view] == [
            (row["above"], row["up_to"], row["atoms"], row["true"]) for row in table
        ]
        assert [row["probability"] for row in view] == pytest.approx([row["probability"] for row in table], abs=1e-14)
        assert [row["share"] for row in view] == pytest.approx([row["share"] for row in table])
    right = rows(db, "select sum(true_positives + true_negatives) as n from sqlrl.confusion where constant is null")
    assert right[0]["n"] == pytest.approx(scores.accuracy * scores.atoms)


@pytest.mark.filterwarnings("ignore:1 label of Good lies outside:sqlrl.errors.ScopeWarning")
def test_labels_outside_the_scope_count_as_missed() -> None:
    db = sqlrl.connect()
    db.load("Word", [("a", "x"), ("b", "x")], types=["doc", "word"], example="doc")
    db.load("Good", [("a",), ("b",)], types=["doc"], target=True)
    db.scope("Good", [("a",)])
    prediction = db.predict(sqlrl.parse_mln("Word(doc, word)\nGood(doc)\n1 Word(d, w) => Good(d)"), keep=True)
    for outside, missed in (("missed", 1), ("ignore", 0)):
        scores = prediction.evaluate(outside=outside)
        [row] = rows(db, "from sqlrl.confusion")
        assert row["false_negatives"] == scores.total.false_negatives == missed
        assert row["true_positives"] == 1
    prediction.evaluate()
    assert rows(db, "select name, example_name from sqlrl.outcome where atom is null") == [
        {"name": None, "example_name": "b"}
    ]


def test_a_block_may_range_over_two_arguments_and_one_that_is_decided_is_none() -> None:
    db = sqlrl.connect()
    db.load("At", [("a", "x", "1"), ("b", "y", "2"), ("c", "y", "1")], types=["thing", "row", "column"], target=True)
    db.load("At", [("c", "y", "1")], types=["thing", "row", "column"], given=True)
    text = "At(thing, row!, column!)\n1 At(a, x, 1)\n1 At(b, x, 2)\n0.1 At(t, r, c)"
    db.predict(
        sqlrl.parse_mln(text.replace("(a,", '("a",').replace("(b,", '("b",').replace(" x,", ' "x",')), keep=True
    ).evaluate()
    assert rows(db, "select label, predicted, blocks from sqlrl.block_confusion") == [
        {"label": "x, 1", "predicted": "x, 1", "blocks": 1},
        {"label": "y, 2", "predicted": "x, 2", "blocks": 1},
    ]
    assert rows(
        db, "select constant, true_positives from sqlrl.confusion where true_positives > 0 and constant > ''"
    ) == [{"constant": "x, 1", "true_positives": 1}]


@pytest.mark.parametrize("threshold", [0.3, 0.5])
def test_truth_values_of_a_soft_model_are_held_against_labels(tmp_path: Path, threshold: float) -> None:
    with sqlrl.connect(tmp_path / "soft.duckdb") as db:
        trusts = [("A", "B", 1.0), ("B", "C", 0.8), ("C", "D", 0.5), ("D", "E", 0.9)]
        db.load("Trusts", trusts, types=["p", "p"], value=2)
        db.load("Smokes", [("A", 0.9)], types=["p"], value=1, given=True)
        labels = {"B": 0.8, "C": 0.3, "D": 0.0, "E": 0.4}
        db.load("Smokes", [*labels.items()], types=["p"], value=1, target=True)
        db.scope("Smokes", [(name,) for name in labels])
        model = sqlrl.parse_psl("2: Trusts(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2")
        prediction = db.predict(model, keep=True)
        scores = db.evaluate(prediction, threshold=threshold)
        values = dict(zip(*(prediction.atoms().column(i).to_pylist() for i in (1, 2)), strict=True))
        assert rows(db, "select name, label, predicted from sqlrl.outcome order by name") == [
            {"name": f"Smokes({name})", "label": label >= threshold, "predicted": values[name] >= threshold}
            for name, label in labels.items()
        ]
        [row] = rows(db, "from sqlrl.confusion")
        assert row["f1"] == pytest.approx(scores.f1)
        wrong = sum((label >= threshold) != (values[name] >= threshold) for name, label in labels.items())
        assert sum(r["loss"] for r in rows(db, "from sqlrl.worst_predicted_examples")) == wrong
        assert wrong > 0 or threshold == 0.5


@pytest.mark.slow
@given(names=st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=8, unique=True))
@settings(max_examples=draws(8), deadline=None)
def test_hostile_names_come_back_as_they_are(names: list[str]) -> None:
    names = [name for name in names if "\0" not in name and name.strip() == name] or ["'; drop table x --"]
    db = sqlrl.connect()
    db.load("P", pa.table({"a": names, "b": names[::-1]}), types=["t", "u"])
    db.load("Q", pa.table({"a": names}), types=["t"], target=True)
    prediction = db.predict(sqlrl.parse_mln("P(t, u)\nQ(t)\n1 P(x, y) => Q(x)\n0.5 Q(x)"), keep=True)
    prediction.evaluate()
    found = [row["name"] for row in rows(db, "from sqlrl.outcome")]
    assert sorted(parse_evidence(name)[0].constants[0] for name in found) == sorted(set(names))
    assert {row["atom"] for row in rows(db, "from sqlrl.worst_predicted_examples")} == set(found)


# ---- support ---------------------------------------------------------------------------------------------

SOME = DOCS[5:9]
"""Documents of which some were learned from, and few enough to count each world with one atom flipped."""


def flipped_counts(db: sqlrl.Database, model: sqlrl.Model, prediction: sqlrl.Prediction) -> dict[str, list[int]]:
    """For and against right and wrong predictions of each clause, by counting every world with one atom flipped in SQL."""
    ids, world = prediction.network_atoms.ids, prediction.result.world
    weights = {row["text"]: row["weight"] for row in rows(db, CLAUSES.format(prediction.run))}
    labels = {row["atom"]: row["label"] for row in rows(db, "from sqlrl.outcome")}

    def n(true: np.ndarray) -> dict[str, int]:
        table = db.count(model, world=pa.table({"atom": ids[true]}), examples=SOME)
        return dict(zip(table["text"], table["n"], strict=True))

    here = n(world)
    found = {text: [0, 0, 0, 0] for text in here}
    for k, atom in enumerate(ids.tolist()):
        other = world.copy()
        other[k] = not world[k]
        there = n(other)
        for text in here:
            worth = (math.inf if weights[text] is None else weights[text]) * (here[text] - there[text] or math.nan)
            if worth:
                kind = 2 * (worth < 0) + bool(world[k] != labels[atom])
                found[text][kind] += not math.isnan(worth)
    return found


CLAUSES = "select text, weight from sqlrl.clause join sqlrl.run using (model) where run = {}"
SUPPORT = "select clause, [for_right, for_wrong, against_right, against_wrong] as n, share_for_label from sqlrl.clause_support where run = {}"


def test_support_is_what_counting_flipped_worlds_gives(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    model = learned(db)
    prediction = db.predict(model, keep=True, examples=SOME)
    assert prediction.network is not None
    prediction.evaluate()
    found = {row["clause"]: row for row in rows(db, SUPPORT.format(prediction.run))}
    expected = flipped_counts(db, model, prediction)
    assert {text: row["n"] for text, row in found.items()} == expected
    for module in ("predictions", "evaluation"):
        monkeypatch.setattr(f"sqlrl.database.{module}.divided", partial(divided, entries=30))
    divided_ = db.predict(model, keep=True, examples=SOME)
    assert divided_.network is None
    assert divided_.result.world.tolist() == prediction.result.world.tolist()
    divided_.evaluate()
    assert rows(db, SUPPORT.format(divided_.run)) == rows(db, SUPPORT.format(prediction.run))
    assert sum(map(sum, expected.values())) > 30
    assert sum(n[1] + n[3] for n in expected.values()) > 1
    for text, row in found.items():
        right, wrong, other, against = expected[text]
        total = right + wrong + other + against
        assert row["share_for_label"] == (pytest.approx((right + against) / total) if total else None)


@pytest.mark.slow
def test_log_odds_are_those_of_the_reasons_without_hard_clauses(db: sqlrl.Database) -> None:
    prediction = db.predict(learned(db), keep=True)
    prediction.evaluate()
    kept = {row["name"]: row["log_odds"] for row in rows(db, "from sqlrl.outcome")}
    for name in ('Good("d3")', 'Kind("d5", "u")', 'Kind("d9", "w")'):
        reasons = prediction.why(name).table.to_arrow().to_pylist()
        finite = [row["contribution"] for row in reasons if row["weight"] is not None]
        assert kept[name] == pytest.approx(math.fsum(finite))
    assert {row["label"] for row in rows(db, "from sqlrl.explain_atom where atom = 'Good(\"d3\")'")} == {False}


@pytest.mark.slow
def test_of_helper_atoms_nothing_is_said() -> None:
    db = sqlrl.connect()
    db.load("Near", [("A", "B"), ("B", "C")], types=["p", "p"])
    db.load("Smokes", [("A",)], types=["p"], target=True)
    db.load("Drinks", [("B",)], types=["p"], target=True)
    text = "Near(p, p)\nSmokes(p)\nDrinks(p)\n1 EXIST y (Smokes(y) ^ Drinks(y))\n-0.5 Near(x, y) => Smokes(y)"
    db.predict(sqlrl.parse_mln(text), keep=True).evaluate()
    first, second = rows(db, "from sqlrl.clause_support order by id")
    assert (first["for_right"], first["share_for_label"]) == (None, None)
    # A is not near anybody, so that the second rule says nothing of it; B and C are rightly said not to smoke.
    assert (second["for_right"], second["for_wrong"], second["against_right"], second["against_wrong"]) == (2, 0, 0, 0)


def test_cutting_planes_have_outcomes_and_no_support() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("A", "B"), ("B", "C"), ("C", "A")], types=["p", "p"])
    db.load("Smokes", [("A",)], types=["p"], target=True)
    model = sqlrl.parse_mln("Friends(p, p)\nSmokes(p)\n1 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.1 Smokes(x)")
    prediction = db.predict(model, keep=True, method="cutting-plane")
    assert prediction.network is not None
    assert prediction.network.partial
    prediction.evaluate()
    assert rows(db, "from sqlrl.clause_support") == []
    assert rows(db, "select true_negatives, false_negatives from sqlrl.confusion") == [
        {"true_negatives": 2, "false_negatives": 1}
    ]
    assert {row["log_odds"] for row in rows(db, "from sqlrl.worst_predicted_examples")} == {None}


# ---- overlap ---------------------------------------------------------------------------------------------

PEOPLE = "ABCD"
EDGES = st.sets(st.tuples(st.sampled_from(PEOPLE), st.sampled_from(PEOPLE)), min_size=1, max_size=7)


@pytest.mark.slow
@given(friends=EDGES, near=EDGES)
@settings(max_examples=draws(10), deadline=None)
def test_overlaps_are_those_of_ground_clauses_written_down(friends: set[Any], near: set[Any]) -> None:
    text = "Friends(p, p)\nNear(p, p)\nSmokes(p)\np = {A, B, C, D}\n"
    rules = ["Friends(x, y) ^ Smokes(x) => Smokes(y)", "Near(y, x) ^ Smokes(x) => Smokes(y)", "Near(x, y) => Smokes(x)"]
    rules += ["Smokes(x)", "Friends(x, y) ^ Smokes(x) ^ !Smokes(y)"]
    db = sqlrl.connect()
    db.load("Friends", sorted(friends), types=["p", "p"])
    db.load("Near", sorted(near), types=["p", "p"])
    found = db.diagnose(sqlrl.parse_mln(text + "\n".join(rules), query=["Smokes"]), kind="overlap")
    passed = {frozenset([("-", x), ("+", y)]) for x, y in friends if x != y}
    ground: list[set[Any]] = [
        passed,
        {frozenset([("-", x), ("+", y)]) for y, x in near if x != y},
        {frozenset([("", x)]) for x, _ in near},
        {frozenset([("", x)]) for x in PEOPLE},
        # With y = x it is false whatever x is, and leaves nothing open.
        passed,
    ]
    reach = [{person for each in clauses for _, person in each} for clauses in ground]
    expected = [
        (
            *(rules[a], rules[b], len(ground[a] & ground[b]), len(ground[a]), len(ground[b])),
            *(len(reach[a] & reach[b]), len(reach[a]), len(reach[b])),
        )
        for a in range(5)
        for b in range(a + 1, 5)
        if ground[a] & ground[b]
    ]
    assert sorted(tuple(row.values()) for row in found.to_arrow().to_pylist()) == sorted(expected)
    view = {(row["first"], row["second"]): row for row in rows(db, "from sqlrl.clause_overlap")}
    for first, second, shared, one, two, both, here, there in expected:
        row = view[first, second]
        assert row["share"] == shared / (one + two - shared)
        assert (row["share_of_first"], row["share_of_second"]) == (shared / one, shared / two)
        assert row["atom_share"] == both / (here + there - both)


@pytest.mark.slow
def test_overlaps_of_windows_add_up(db: sqlrl.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sqlrl.parse_mln(RULES + 'Word(d, "x") => Good(d)\nWord(d, w) ^ Kind(d, k) => Good(d)\n')
    whole = db.diagnose(model, kind="overlap").to_arrow()
    assert len(whole) > 5
    monkeypatch.setattr("sqlrl.database.diagnosis.divided", partial(divided, entries=30))
    assert db.diagnose(model, kind="overlap").to_arrow().equals(whole)
    assert rows(db, "select count(distinct run) as runs from sqlrl.clause_overlap") == [{"runs": 2}]
    # Neither a model nor a prediction was kept: the newest model is that which was learned last.
    assert rows(db, "from sqlrl.model") == []


# ---- rows of runs, drawn ---------------------------------------------------------------------------------

OUTCOMES = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from(["P", "Q"]),
        st.integers(0, 3),
        st.booleans(),
        st.booleans(),
        st.one_of(
            st.none(),
            st.floats(0, 1),
            st.integers(0, 10).map(lambda k: k / 10),
            st.integers(0, 9).map(lambda k: math.nextafter(k / 10, 1)),
        ),
        st.one_of(st.none(), st.tuples(st.integers(0, 2), st.sampled_from(["it's", "b", "ä;"]))),
        st.one_of(st.none(), st.floats(-5, 5)),
    ),
    max_size=30,
)
EVERYTHING = sqlrl.connect()


def insert(db: sqlrl.Database, table: str, data: list[dict[str, Any]]) -> None:
    db.sql(f"delete from sqlrl.{table}")
    for row in data:
        names = ", ".join(f'"{name}"' for name in row)
        db.advanced.engine.connection.execute(
            f"insert into sqlrl.{table} ({names}) values ({', '.join('?' * len(row))})", [*row.values()]
        )


@pytest.mark.slow
@given(drawn=OUTCOMES)
@settings(max_examples=draws(40), deadline=None)
def test_drawn_outcomes_are_counted_as_python_counts_them(drawn: list[tuple[Any, ...]]) -> None:
    db = EVERYTHING
    data = [
        {
            "run": run,
            "predicate": predicate,
            "atom": k,
            "name": f"{predicate}({k})",
            "example": example,
            "example_name": f"e'{example}",
            "label": label,
            "predicted": said,
            "probability": chance,
            "log_odds": odds,
            "block": None if block is None else block[0],
            "constant": None if block is None else block[1],
        }
        for k, (run, predicate, example, label, said, chance, block, odds) in enumerate(drawn)
    ]
    insert(db, "step", [])
    insert(db, "outcome", data)
    kinds = Counter((r["run"], r["predicate"], None, r["label"], r["predicted"]) for r in data)
    kinds += Counter(
        (r["run"], r["predicate"], r["constant"], r["label"], r["predicted"]) for r in data if r["constant"] is not None
    )
    found = rows(db, "from sqlrl.confusion")
    assert [tuple(row.values())[:3] for row in found] == sorted(
        {key[:3] for key in kinds}, key=lambda key: (*key[:2], key[2] is not None, key[2] or "")
    )
    for row in found:
        key = (row["run"], row["predicate"], row["constant"])
        tp, fp, fn, tn = (kinds[(*key, *both)] for both in ((True, True), (False, True), (True, False), (False, False)))
        assert (row["true_positives"], row["false_positives"], row["false_negatives"], row["true_negatives"]) == (
            tp,
            fp,
            fn,
            tn,
        )
        assert row["precision"] == (tp / (tp + fp) if tp + fp else None)
        assert row["recall"] == (tp / (tp + fn) if tp + fn else None)
        assert row["f1"] == (pytest.approx(2 * tp / (2 * tp + fp + fn)) if tp + fp + fn else None)
    chosen: dict[Any, tuple[list[str], list[str]]] = {}
    for r in data:
        if r["block"] is not None:
            both = chosen.setdefault((r["run"], r["predicate"], r["block"]), ([], []))
            for listed, true in zip(both, (r["label"], r["predicted"]), strict=True):
                listed.extend([r["constant"]] * true)
    texts = Counter((*key[:2], *(", ".join(sorted(x)) or None for x in both)) for key, both in chosen.items())
    assert Counter({tuple(r.values())[:4]: r["blocks"] for r in rows(db, "from sqlrl.block_confusion")}) == texts
    for key in {(r["run"], r["predicate"]) for r in data if r["probability"] is not None}:
        mine = [r for r in data if (r["run"], r["predicate"]) == key and r["probability"] is not None]
        table = calibration([r["label"] for r in mine], [r["probability"] for r in mine]).table().to_pylist()
        view = rows(db, f"from sqlrl.calibration where run = {key[0]} and predicate = '{key[1]}'")
        assert [(r["above"], r["atoms"], r["true_atoms"]) for r in view] == [
            (r["above"], r["atoms"], r["true"]) for r in table if r["atoms"]
        ]
        assert [r["probability"] for r in view] == pytest.approx(
            [r["probability"] for r in table if r["atoms"]], rel=1e-12, abs=1e-15
        )
    worst(db, data)


def worst(db: sqlrl.Database, data: list[dict[str, Any]]) -> None:
    """Check the worst examples of each run, or atoms where it has one example."""
    listed = rows(db, "from sqlrl.worst_predicted_examples")
    assert [run for run, _ in groupby(r["run"] for r in listed)] == sorted({r["run"] for r in data}, reverse=True)
    for run in {r["run"] for r in data}:
        worst_of([r for r in listed if r["run"] == run], [r for r in data if r["run"] == run])


def worst_of(found: list[dict[str, Any]], mine: list[dict[str, Any]]) -> None:
    """Check the worst examples of one run against what was predicted in it."""
    losses = [r["loss"] for r in found]
    assert losses == sorted(losses, reverse=True)
    assert {r["part"] for r in found} == {"prediction"}
    if len({r["example"] for r in mine}) == 1:
        expected = {
            r["name"]: float(r["label"] != r["predicted"])
            if r["probability"] is None
            else abs(r["label"] - r["probability"])
            for r in mine
        }
        assert {r["atom"]: r["loss"] for r in found} == pytest.approx(expected)
        assert all(r["atoms"] == 1 for r in found)
    else:
        wrong = Counter(r["example_name"] for r in mine if r["label"] != r["predicted"])
        size = Counter(r["example_name"] for r in mine)
        assert {r["example"]: (r["loss"], r["atoms"], r["accuracy"]) for r in found} == {
            name: (wrong[name], n, (n - wrong[name]) / n) for name, n in size.items()
        }


CLAUSE = st.tuples(
    st.sampled_from(["P(x)", "P(y)", "Q(x)", "Q(z)", "P(x) v Q('a')", "R(x)."]),
    st.one_of(st.none(), st.sampled_from([0.5, -1.25, 0.1 + 0.2, 0.3])),
    st.booleans(),
)


def alike(text: str) -> str:
    return text.replace("y", "x").replace("z", "x")


@given(
    models=st.lists(st.tuples(st.lists(CLAUSE, max_size=5), st.booleans()), min_size=1, max_size=4),
    orphan=st.booleans(),
)
@settings(max_examples=draws(60), deadline=None)
def test_drawn_runs_are_compared_as_python_compares_them(models: list[tuple[list[Any], bool]], orphan: bool) -> None:
    """Those of earlier versions, of which variables were not renamed, are compared by their texts."""
    db = EVERYTHING
    for table in ("outcome", "step"):
        insert(db, table, [])
    known = {"learner": "l", "parameters": "{}", "versions": "{}", "fingerprint": "", "status": "done"}
    runs = [{"run": k + 1, "model": k + 10, **known} for k in range(len(models))]
    insert(db, "run", [*runs, *[{"run": 99, "model": None, **known}] * orphan])
    insert(
        db,
        "clause",
        [
            {
                "model": k + 10,
                "clause": i,
                "text": text,
                "weight": weight,
                "hard": hard,
                "origin": "given",
                "key": alike(text) if keyed else None,
            }
            for k, (listed, keyed) in enumerate(models)
            for i, (text, weight, hard) in enumerate(listed)
        ],
    )
    insert(
        db,
        "step",
        [
            {"run": 1, "step": k, "example": 0, "example_name": "e", "loss": 1, "atoms": 4, "correct": k}
            for k in range(3)
        ],
    )
    insert(
        db,
        "outcome",
        [
            {"run": 2, "predicate": "P", "example": 0, "example_name": "e", "label": k > 0, "predicted": k > 1}
            for k in range(4)
        ],
    )
    expected = Counter[Any]()
    for a, (first, one) in enumerate(models):
        for b, (second, other) in enumerate(models):
            name = alike if (one or not first) and (other or not second) else str
            for key in {name(text) for text, *_ in first + second} if a != b else ():
                both = [[c for c in listed if name(c[0]) == key] for listed in (first, second)]
                for k in range(max(map(len, both))):
                    x, y = (listed[k] if k < len(listed) else None for listed in both)
                    change = "gained" if x is None else "lost" if y is None else "same" if x[1:] == y[1:] else "changed"
                    text = (y or x)[0]  # type: ignore[index]
                    expected[a + 1, b + 1, change, text, x and x[1], y and y[1]] += 1
    found = rows(db, "from sqlrl.run_comparison")
    assert Counter(tuple(row.values())[:6] for row in found) == expected
    order = ["gained", "lost"]
    places = [(r["first"], r["second"], order.index(r["change"]) if r["change"] in order else 2) for r in found]
    assert places == sorted(places)
    for row in found:
        assert row["first_accuracy"] == {1: 0.25, 2: 0.75}.get(row["first"])
        assert row["second_f1"] == (pytest.approx(4 / 5) if row["second"] == 2 else None)
        both = row["first_weight"] is not None and row["second_weight"] is not None
        assert row["difference"] == (row["second_weight"] - row["first_weight"] if both else None)


@given(seed=st.integers(0, 2**32), size=st.integers(1, 400))
@settings(max_examples=draws(20), deadline=None)
def test_a_learning_curve_runs_and_looks_back_a_hundred_steps(seed: int, size: int) -> None:
    db = EVERYTHING
    random = np.random.default_rng(seed)
    drawn = zip(*(random.integers(*ends, size).tolist() for ends in ((1, 3), (0, 4), (0, 4))), strict=True)
    known = {"learner": "l", "parameters": "{}", "versions": "{}", "fingerprint": "", "status": "done"}
    insert(db, "run", [{"run": k, **known} for k in (1, 2)])
    steps = [
        {
            "run": run,
            "step": k,
            "example": 0,
            "example_name": f"e{k}",
            "loss": wrong,
            "atoms": right + wrong,
            "correct": right,
        }
        for k, (run, right, wrong) in enumerate(drawn)
    ]
    db.sql("delete from sqlrl.step")
    with_steps = pa.Table.from_pylist(steps)
    db.advanced.engine.connection.register("drawn_steps", with_steps)
    db.sql("insert into sqlrl.step by name select * from drawn_steps")
    for run in (1, 2):
        mine = [s for s in steps if s["run"] == run]
        right, atoms = (np.array([0, *(s[name] for s in mine)]).cumsum() for name in ("correct", "atoms"))
        found = rows(db, f"from sqlrl.learning_curve where run = {run}")
        assert [r["position"] for r in found] == [s["step"] for s in mine]
        for k, row in enumerate(found):
            start = max(k - 99, 0)
            recent = atoms[k + 1] - atoms[start]
            assert row["running_accuracy"] == (right[k + 1] / atoms[k + 1] if atoms[k + 1] else None)
            assert row["recent_accuracy"] == ((right[k + 1] - right[start]) / recent if recent else None)
            assert row["unit"] == "step"
    db.sql("delete from sqlrl.step")


@pytest.mark.slow
def test_clauses_of_two_searches_are_the_same_whatever_their_variables_are_called(db: sqlrl.Database) -> None:
    declared = "Word(doc, word)\nKind(doc, kind)\nGood(doc)\n"
    rules = ['Word(d, "a") => Good(d)', "Kind(d, k) ^ Good(d)", 'Word(d, +w) => Kind(d, "u")', "Good(d)"]
    first = sqlrl.Likelihood().fit(db, sqlrl.parse_mln(declared + "\n".join(r for r in rules if "Kind(d, k)" not in r)))
    other = [rule.replace("(d", "(x").replace("+w", "+u").replace(" k)", " y)") for rule in rules[:3]]
    second = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(declared + "\n".join(other)))
    found = Counter(
        (row["change"], row["clause"])
        for row in rows(db, f"from sqlrl.run_comparison where first = {first.run_} and second = {second.run_}")
    )
    assert {change for change, clause in found if "Word" in clause} == {"changed"}
    assert all("(x, " in clause for change, clause in found if change == "changed")
    assert {(c, t) for c, t in found if c != "changed"} == {("gained", "Kind(x, y) ^ Good(x)"), ("lost", "Good(d)")}
    assert len(found) > 8


# ---- histories, curves and comparisons of real runs ------------------------------------------------------


@pytest.mark.slow
def test_the_history_of_clauses_and_the_curve_of_objectives(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(RULES)
    online = sqlrl.AdaGrad(record_history=True, passes=2).fit(db, model)
    texts = dict(zip(online.clauses()["id"], online.clauses()["clause"], strict=True))
    kept = rows(db, f"from sqlrl.weight_history where run = {online.run_} order by clause, step")
    found = rows(db, f"from sqlrl.clause_history where run = {online.run_}")
    assert [(r["clause"], r["step"], r["delta_n"], r["weight"]) for r in found] == [
        (texts[r["clause"]], r["step"], r["delta_n"], r["weight"]) for r in kept
    ]
    before: dict[str, float] = {}
    for row in found:
        assert row["weight_before"] == before.get(row["clause"])
        before[row["clause"]] = row["weight"]
    batch = sqlrl.baselines.VotedPerceptron(max_iterations=3).fit(db, model)
    curve = rows(db, f"from sqlrl.learning_curve where run = {batch.run_}")
    kept = rows(db, f"from sqlrl.iteration where run = {batch.run_} order by iteration")
    assert [(r["position"], r["objective"], r["errors"], r["unit"]) for r in curve] == [
        (r["iteration"], r["objective"], r["errors"], "iteration") for r in kept
    ]
    assert len(curve) >= 3


def test_one_network_is_ranked_by_atom_the_surest_mistakes_first() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("A", "B"), ("B", "C"), ("D", "C"), ("A", "D")], types=["p", "p"])
    db.load("Smokes", [("A",)], types=["p"], target=True)
    rule = "Friends(p, p)\nSmokes(p)\n0.7 Friends(x, y) => Smokes(y)\n-0.2 Smokes(x)"
    prediction = db.predict(sqlrl.parse_mln(rule), keep=True)
    prediction.evaluate()
    found = rows(db, "select atom, loss, accuracy, log_odds from sqlrl.worst_predicted_examples")
    # C has two friends; A has none, and is said not to smoke though A does.
    assert [(r["atom"], r["loss"], r["accuracy"]) for r in found] == [
        ("Smokes(C)", 1, 0),
        ("Smokes(B)", 1, 0),
        ("Smokes(D)", 1, 0),
        ("Smokes(A)", 1, 0),
    ]
    assert [r["log_odds"] for r in found] == pytest.approx([1.2, 0.5, 0.5, 0.2])


def test_the_worst_examples_of_each_run_stand_together_under_its_part() -> None:
    db = sqlrl.connect(progress=False)
    db.load("Word", WORDS, types=["doc", "word"], example="doc")
    db.load("Good", GOOD, types=["doc"], target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nGood(doc)\nWord(d, +w) => Good(d)")
    runs: dict[int, tuple[str, list[str]]] = {}
    for part in (DOCS[:5], DOCS[:3]):
        fit = sqlrl.AdaGrad().fit(db, model, examples=part)
        runs[fit.run_] = ("training", part)
        for test in (DOCS[5:9], DOCS[8:]):
            prediction = db.predict(fit.model_, examples=test, keep=True)
            prediction.evaluate()
            runs[prediction.run] = ("prediction", test)
    found = rows(db, "from sqlrl.worst_predicted_examples")
    together = {run: list(listed) for run, listed in groupby(found, key=lambda row: row["run"])}
    assert list(together) == sorted(runs, reverse=True)
    for run, (part, names) in runs.items():
        assert sorted(row["example"] for row in together[run]) == sorted(names)
        assert {row["part"] for row in together[run]} == {part}
        assert {row["step"] is None for row in together[run]} == {part == "prediction"}
    # Views say which example by its name; by its id it is known in tables alone.
    kinds = db.sql("""
        select v.view_name, c.data_type from duckdb_columns() c join duckdb_views() v on v.view_name = c.table_name and v.schema_name = c.schema_name
        where c.schema_name = 'sqlrl' and c.column_name = 'example'
    """).fetchall()
    assert {kind for _, kind in kinds} == {"VARCHAR"}
    assert {"worst_predicted_examples", "learning_curve", "explanation", "explain_atom"} < {name for name, _ in kinds}


@pytest.mark.parametrize("names", [["7", "3", "11"], ["b", "a", "c d"]])
@pytest.mark.parametrize("beside", [True, False])
def test_an_example_has_its_name_wherever_scores_are_shown(names: list[str], beside: bool) -> None:
    db = sqlrl.connect(progress=False)
    words = [(name, "xyz"[k]) for k, name in enumerate(names)]
    if beside:
        db.load("Word", words, types=["word"], example="column0")
        db.load("Good", [(names[1], "Yes")], types=["grade"], example="column0", target=True)
        model = sqlrl.parse_mln('Word(word)\nGood(grade)\ngrade = {Yes}\n1 Word("x") => Good("Yes")')
    else:
        db.load("Word", words, types=["doc", "word"], example="doc")
        db.load("Good", [(names[1],)], types=["doc"], target=True)
        model = sqlrl.parse_mln('Word(doc, word)\nGood(doc)\n1 Word(d, "x") => Good(d)')
    db.models["good"] = model
    prediction = db.predict(model, keep=True)
    scores = prediction.evaluate()
    wrong = {row["example"]: row["false_positives"] + row["false_negatives"] for row in scores.example_table()}
    assert wrong == {names[0]: 1, names[1]: 1, names[2]: 0}
    assert rows(db, "from sqlrl.worst_predicted_examples")[-1]["example"] == names[2]
    table = db.run("FROM ML.EVALUATE(MODEL good, by => 'example')").table
    assert table is not None
    assert sorted(table["example"]) == sorted(names)


# ---- files, settings and orders --------------------------------------------------------------------------

VIEWS = [
    *("strongest_clauses", "clause_history", "learning_curve", "worst_predicted_examples", "confusion"),
    *("block_confusion", "calibration", "clause_support", "clause_overlap", "explain_atom", "explanation"),
    *("run_comparison", "clauses_by_step", "added_clauses", "found_clauses", "count_differences", "rule_quality"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.CalibrationWarning")
def test_views_read_the_same_from_a_file_that_can_only_be_read_and_under_other_settings(
    docs_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "docs.duckdb"
    with sqlrl.connect(shutil.copy(docs_file, path)) as db:
        model = sqlrl.AdaGrad(record_history=True).fit(db, sqlrl.parse_mln(RULES)).model_
        prediction = db.predict(model, keep=True)
        prediction.evaluate()
        prediction.why('Good("d3")')
        db.probabilities(model, keep=True).evaluate()
        db.diagnose(model, kind="overlap")
        db.diagnose(model)
        db.count(model, expected=True, keep=True)
        was = {view: db.sql(f"from sqlrl.{view}").fetchall() for view in VIEWS}
    assert {view for view in VIEWS if not was[view]} == {"clauses_by_step", "added_clauses", "found_clauses"}
    with sqlrl.connect(path, read_only=True) as db:
        assert {view: db.sql(f"from sqlrl.{view}").fetchall() for view in VIEWS} == was
        # What is found here cannot be kept.
        assert len(db.diagnose(model, kind="overlap")) == len(was["clause_overlap"])
    with duckdb.connect(str(path), read_only=True) as connection:
        for setting in ("default_order = 'desc'", "default_null_order = 'nulls_first'", "integer_division = true"):
            connection.execute(f"set {setting}")
        connection.execute("set threads = 1")
        for view in VIEWS:
            if view not in ("strongest_clauses", "found_clauses"):
                assert connection.sql(f"from sqlrl.{view}").fetchall() == was[view], view
