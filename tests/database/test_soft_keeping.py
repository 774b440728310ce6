"""What predictions of soft models leave in the database: the model, truth values, distances of rules, and what is proved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sqlrl
from sqlrl.errors import CatalogError, EngineError, InputError

RULES = """
2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2
1: !Smokes(A) ^2
0.5: Smokes(A) -> Old(A)
3: Friends(A, B) -> Old(A)
Smokes('Chris') <= 0.1 .
"""
MODEL = sqlrl.parse_psl(RULES)


def database(path: Path | None = None, labels: tuple[tuple[str, float], ...] = ()) -> sqlrl.Database:
    db = sqlrl.connect(path, progress=False) if path else sqlrl.connect(progress=False)
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")], types=["person", "person"])
    db.load("Smokes", [("Anna", 1.0)], columns=[0], types=["person"], value=1, given=True)
    if labels:
        db.load("Smokes", labels, columns=[0], types=["person"], value=1, target=True)
    db.scope("Smokes", [("Bob",), ("Chris",)])
    db.load("Old", [("Anna", 0.75)], columns=[0], types=["person"], value=1)
    return db


def distances(b: float, c: float) -> list[float]:
    """Of each rule at the truth values of Bob and Chris, by hand; the last is hard."""
    first = max(1 - b, 0) ** 2 + max(b - c, 0) ** 2
    return [first, b**2 + c**2 + 1, b + c + 0.25, 0.25 + 1, max(c - 0.1, 0)]


@pytest.mark.slow
def test_model_values_distances_and_proof_are_kept_and_read_again(tmp_path: Path) -> None:
    options = sqlrl.HingeOptions(relative=1e-9, absolute=1e-9)
    with database(tmp_path / "kept.duckdb") as db:
        prediction = db.predict(MODEL, keep=True, options=options)
        assert prediction.run == 1
    with sqlrl.connect(tmp_path / "kept.duckdb") as db:
        assert sqlrl.models_equal(db.models[-1], MODEL)
        named = "select name, v.value from sqlrl.truth_value v join sqlrl.atom_Smokes using (atom) join sqlrl.dictionary_person on id = a0 order by name"
        values = dict(db.sql(named).fetchall())
        assert list(values) == ["Bob", "Chris"]
        b, c = values.values()
        # 2 (1 - b)^2 + 2 (b - c)^2 + b^2 + c^2 + 0.5 (b + c) is the least where 10 b - 4 c = 3.5; c may not rise above 0.1.
        assert (b, c) == pytest.approx((0.39, 0.1), abs=1e-4)
        query = "select text, weight, ground_rules, decided, distance, cost, observed from sqlrl.rule_distance join sqlrl.run using (run) join sqlrl.clause using (model, clause) order by clause"
        rows = db.sql(query).fetchall()
        assert [row[0] for row in rows] == [rule.formula + " ^2" * rule.squared for rule in MODEL.rules]
        assert [row[4] for row in rows] == pytest.approx(distances(b, c), abs=1e-9)
        assert [row[3] for row in rows] == [0, 1, 0.25, 1.25, 0]
        assert [row[2] for row in rows] == [2, 2, 2, 0, 1]
        assert rows[-1][5] is None
        assert [row[5] for row in rows[:-1]] == [pytest.approx(w * d) for _, w, _, _, d, _, _ in rows[:-1]]
        assert {row[6] for row in rows} == {None}
        ((status, objective, bound),) = db.sql(
            "select status, objective, bound from sqlrl.optimum where run = 1"
        ).fetchall()
        assert (status, objective) == ("optimal", pytest.approx(sum(row[5] for row in rows[:-1])))
        # A hard rule may be violated by a millionth.
        assert bound == pytest.approx(objective, abs=1e-5)
        assert bound == prediction.bound
        ((learner, parameters, state),) = db.sql("select learner, parameters, status from sqlrl.run").fetchall()
        assert (learner, state) == ("predict", "done")
        assert json.loads(parameters)["relative"] == 1e-9
        assert prediction.objective == objective


@pytest.mark.slow
def test_evaluation_adds_the_distances_at_the_labels() -> None:
    db = database(labels=(("Bob", 0.8), ("Chris", 0.5)))
    prediction = db.predict(MODEL, keep=True)
    query = "select observed from sqlrl.rule_distance order by clause"
    assert db.sql(query).fetchall() == [(None,)] * 5
    prediction.evaluate()
    assert [x for (x,) in db.sql(query).fetchall()] == pytest.approx(distances(0.8, 0.5))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_with_some_labels_the_distances_at_the_labels_stay_unknown() -> None:
    db = database()
    db.load("Tall", [("Bob", 0.8)], columns=[0], types=["person"], value=1, target=True)
    db.scope("Tall", [("Bob",)])
    prediction = db.predict(sqlrl.parse_psl(RULES + "1: Tall(A) -> Smokes(A)\n1: !Tall(A)"), keep=True)
    assert prediction.evaluate().atoms == 1
    assert db.sql("select count(*), count(observed) from sqlrl.rule_distance").fetchall() == [(7, 0)]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.ScopeWarning")
@pytest.mark.parametrize("keep", [True, False])
def test_labels_are_never_those_of_other_atoms(keep: bool) -> None:
    """Atoms are numbered anew where the scope has changed: what was predicted before is right or refused, whatever asks."""
    model = sqlrl.parse_psl("1: Word(D, 'q') -> Liked(D)\n0.2: !Liked(D)", query=["Liked"])
    db = sqlrl.connect(progress=False)
    db.load("Word", [("d1", "q"), ("d2", "r"), ("d3", "q")], types=["doc", "word"])
    labels = [("d1", 1.0), ("d2", 0.0), ("d3", 1.0), ("d4", 0.0)]
    db.load("Liked", labels, columns=[0], types=["doc"], value=1, target=True)
    db.scope("Liked", [("d1",), ("d2",), ("d3",)])
    before = db.predict(model, keep=keep)
    db.scope("Liked", [("d2",), ("d3",), ("d4",)])
    if keep:
        with pytest.raises(InputError, match="changed after this prediction"):
            before.evaluate()
        assert db.sql("select count(observed) from sqlrl.rule_distance").fetchall() == [(0,)]
    else:
        assert before.evaluate().auc_roc == 1.0
    with pytest.raises(InputError, match="changed after this prediction"):
        before.why("Liked(d3)")


def test_a_prediction_that_is_interrupted_keeps_nothing_but_that(monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlrl.catalog.records import Records

    db, append = database(), Records.append

    def stopped(self: Records, table: str, run: int, data: object) -> None:
        if table == "rule_distance":
            raise KeyboardInterrupt
        append(self, table, run, data)  # type: ignore[arg-type]

    monkeypatch.setattr(Records, "append", stopped)
    with pytest.raises(KeyboardInterrupt):
        db.predict(MODEL, keep=True)
    assert db.sql("select status, model from sqlrl.run").fetchall() == [("interrupted", None)]
    assert db.sql("select (select count(*) from sqlrl.truth_value), (select count(*) from sqlrl.model)").fetchall() == [
        (0, 0)
    ]


def test_a_prediction_of_dropped_predicates_keeps_the_rules_that_it_used() -> None:
    db = database()
    db.predict(MODEL, keep=True, roles=sqlrl.Roles(drop=["Old"]))
    kept = db.models[-1]
    assert [str(rule) for rule in kept.rules] == [str(rule) for rule in MODEL.rules if "Old" not in str(rule)]
    assert db.sql("select count(*) from sqlrl.rule_distance").fetchall() == [(3,)]


@pytest.mark.slow
def test_what_is_not_kept_leaves_no_run(tmp_path: Path) -> None:
    db = database(tmp_path / "data.duckdb")
    assert db.predict(MODEL).run is None
    with pytest.raises(sqlrl.errors.InfeasibleError):
        db.predict(sqlrl.parse_psl(RULES + "Smokes('Chris') >= 0.5 ."), keep=True)
    assert db.sql("from sqlrl.run").fetchall() == db.sql("from sqlrl.model").fetchall() == []
    db.close()
    with sqlrl.connect(tmp_path / "data.duckdb", read_only=True, progress=False) as db:
        assert len(db.predict(MODEL).atoms()) == 2
        with pytest.raises((CatalogError, EngineError, InputError), match="read"):
            db.predict(MODEL, keep=True)


def test_two_runs_are_kept_apart() -> None:
    db = database()
    first, second = db.predict(MODEL, keep=True), db.predict(MODEL.with_rules(MODEL.rules[:2]), keep=True)
    assert (first.run, second.run) == (1, 2)
    for prediction in (first, second):
        rows = db.sql(f"select value from sqlrl.truth_value where run = {prediction.run} order by atom").fetchall()
        assert np.array([x for (x,) in rows]).tobytes() == prediction.result.y.tobytes()
    assert len(db.models[1].rules) == 5
    assert len(db.models[-1].rules) == 2
