"""Reports: what a page says is what the database holds, and what is missing is said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sqlrl
from sqlrl.database import reports
from sqlrl.demo import MODEL, generate
from sqlrl.errors import InputError
from sqlrl.report.charts import Chart
from sqlrl.report.page import AtomListing, PageFacts, PageListing, PageTable, Report, Sentence


@dataclass(frozen=True)
class Studied:
    """A small bibliography, learned from, predicted, and evaluated."""

    db: sqlrl.Database
    fit: Any
    prediction: Any
    marginals: Any
    test: list[str]


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studied]:
    folder = tmp_path_factory.mktemp("studied")
    bibliography = generate(24, seed=3)
    bibliography.write(folder)
    names = list(bibliography.citations)
    with sqlrl.connect(folder / "cite.duckdb") as db:
        db.load("Token", folder / "token.parquet", example="bib")
        db.load("Next", folder / "next.parquet", types=("position", "position"))
        db.load("InField", folder / "field.parquet", target=True)
        fit = sqlrl.AdaGrad().fit(db, sqlrl.parse_mln(MODEL), examples=names[:16])
        prediction = db.predict(fit.model_, examples=names[16:], keep=True)
        prediction.evaluate()
        with pytest.warns(sqlrl.errors.CalibrationWarning):
            marginals = db.probabilities(fit.model_, examples=names[16:], keep=True)
        marginals.evaluate()
        yield Studied(db, fit, prediction, marginals, names[16:])


def part(report: Report, section: str, kind: type) -> Any:
    (found,) = [x for each in report.sections if each.name == section for x in each.parts if isinstance(x, kind)]
    return found


def sentences(report: Report, section: str) -> str:
    parts = [x for each in report.sections if each.name == section for x in each.parts]
    return " ".join(x.text for x in parts if isinstance(x, Sentence))


def titles(report: Report) -> list[str]:
    return [x.title for each in report.sections for x in each.parts if isinstance(x, Chart)]


@pytest.mark.slow
def test_runs_of_one_model_stand_on_one_page(studied: Studied) -> None:
    numbers = [studied.fit.run_, studied.prediction.run, studied.marginals.run]
    for number in numbers:
        report = studied.db.runs[number].report()
        others = part(report, "run", PageTable).table["run"]
        assert sorted([number, *others]) == numbers
        drawn = " ".join(titles(report))
        for title in ("Learning curve", "Strongest", "Confusion", "Calibration", "Precision", "ROC", "Time by stage"):
            assert title in drawn


@pytest.mark.slow
def test_the_clauses_are_those_of_the_model_with_weights_and_support(studied: Studied) -> None:
    listing = part(studied.db.runs[studied.fit.run_].report(), "clauses", PageListing)
    stated = studied.db.sql(
        "select text, weight, open, for_right from sqlrl.clause join sqlrl.clause_statistics using (clause) "
        f"join sqlrl.support using (clause) where model = 1 and clause_statistics.run = {studied.fit.run_} and support.run = {studied.prediction.run}"
    ).fetchall()
    shown = listing.data.to_pylist()
    key = lambda row: tuple(str(x) for x in row)  # noqa: E731
    found = [(row["clause"], row["weight"], row["support"], row["for_right"]) for row in shown]
    assert sorted(found, key=key) == sorted(stated, key=key)
    # The same clauses have the same support from the page of the prediction, whose model has another number.
    again = part(studied.db.runs[studied.prediction.run].report(), "clauses", PageListing).data.to_pylist()
    assert {row["clause"]: row["for_right"] for row in again} == {row["clause"]: row["for_right"] for row in shown}


@pytest.mark.slow
def test_the_clauses_behind_an_atom_are_those_of_why(studied: Studied) -> None:
    atoms = part(studied.db.runs[studied.fit.run_].report(), "examples", AtomListing)
    rows = atoms.atoms.data.to_pylist()
    assert not atoms.missing
    wrong = [k for k, row in enumerate(rows) if row["outcome"] == "wrong"]
    for k in [*wrong[:3], len(rows) - 1]:
        said = atoms.said.slice(atoms.start[k], atoms.start[k + 1] - atoms.start[k]).to_pylist()
        texts, weights = atoms.clauses["text"].to_pylist(), atoms.clauses["weight"].to_pylist()
        expected: dict[str, float] = {}
        for reason in studied.prediction.why(rows[k]["atom"]).table:
            if reason["weight"] is not None:
                expected[reason["clause"]] = expected.get(reason["clause"], 0.0) + reason["contribution"]
        found = {texts[x["clause"]]: x["worth"] for x in said}
        assert found == pytest.approx({clause: worth for clause, worth in expected.items() if abs(worth) > 1e-12})
        assert all(x["worth"] == pytest.approx(weights[x["clause"]] * x["change"]) for x in said)
        assert sum(found.values()) == pytest.approx(rows[k]["log_odds"])


@pytest.mark.slow
def test_what_why_kept_stands_beside_its_atom(studied: Studied) -> None:
    (name,) = studied.db.sql("select name from sqlrl.outcome where label and predicted limit 1").fetchall()[0]
    reasons = studied.prediction.why(name)
    atoms = part(studied.db.runs[studied.prediction.run].report(), "examples", AtomListing)
    (row,) = [k for k, each in enumerate(atoms.atoms.data["atom"].to_pylist()) if each == name]
    notes = [note["text"] for note in atoms.notes.to_pylist() if note["atom"] == row]
    assert any(reasons.table["ground_clause"][0] in note for note in notes)


def test_the_worst_predicted_examples_come_first_and_what_is_left_out_is_said(
    studied: Studied, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = studied.db.sql(
        f"select example_name, count(*) filter (label <> predicted) from sqlrl.outcome where run = {studied.prediction.run} group by all order by 2 desc"
    ).fetchall()
    monkeypatch.setattr(reports, "MOST_ATOMS", 100)
    report = studied.db.runs[studied.prediction.run].report()
    atoms = part(report, "examples", AtomListing)
    listed = atoms.examples.data.to_pylist()
    assert [row["wrong"] for row in listed] == [n for _, n in wrong][: len(listed)]
    assert 0 < len(listed) < len(studied.test)
    assert len(atoms.atoms.data) <= 100
    assert f"{len(listed)} of {len(studied.test)} examples with most atoms predicted wrongly" in sentences(
        report, "examples"
    )
    assert "are left out" in sentences(report, "examples")


def test_charts_of_a_run_are_those_of_what_was_predicted(studied: Studied) -> None:
    run = studied.db.runs[studied.prediction.run]
    assert run.plot.confusion().table() == studied.prediction.plot.confusion().table()
    run = studied.db.runs[studied.marginals.run]
    for name in ("confusion", "calibration", "precision_recall", "roc"):
        assert getattr(run.plot, name)().table() == getattr(studied.marginals.plot, name)().table()
    scores = studied.marginals.evaluate()
    assert f"{scores.auc_roc:.3f}" in studied.marginals.plot.roc().title
    assert f"{scores.average_precision:.3f}" in studied.marginals.plot.precision_recall().title
    curve = studied.db.runs[studied.fit.run_].plot.learning_curve().table()
    fit = studied.fit.plot.learning_curve().table()
    for name in ("position", "accuracy", "running_accuracy", "recent_accuracy"):
        assert fit[name] == curve[name]
    weights = studied.db.runs[studied.fit.run_].plot.weights().table()
    assert sorted(weights["weight"]) == sorted(w for w in studied.fit.clauses()["weight"] if w is not None)


def test_what_has_charts_lists_them(studied: Studied) -> None:
    assert repr(studied.fit.plot) == "FitPlots: learning_curve(), weights()"
    assert repr(studied.prediction.plot) == "PredictionPlots: confusion()"
    assert repr(studied.marginals.plot) == "MarginalPlots: calibration(), precision_recall(), roc(), confusion()"
    drawn = "learning_curve(), weights(), weight_history(), calibration(), precision_recall(), roc(), confusion(), timings()"
    assert repr(studied.db.runs[1].plot) == f"RunPlots: {drawn}"


def test_the_history_of_weights_is_that_of_the_database(studied: Studied) -> None:
    db, model = studied.db, sqlrl.parse_mln(MODEL)
    fit = sqlrl.AdaGrad(record_history=True).fit(db, model, examples=studied.test)
    run = db.runs[fit.run_]
    history = run.plot.weight_history(most=3).table().to_pylist()
    ends = db.sql(
        f"select id, clause, arg_max(weight, step) from sqlrl.clause_history where run = {run.number} group by all order by abs(arg_max(weight, step)) desc, id limit 3"
    ).fetchall()
    assert list(dict.fromkeys((row["id"], row["clause"]) for row in history)) == [row[:2] for row in ends]
    for number, _, weight in ends:
        mine = [(row["step"], row["weight"]) for row in history if row["id"] == number]
        stored = f"select step, weight from sqlrl.weight_history where run = {run.number} and clause = {number} order by step"
        assert mine == db.sql(stored).fetchall()
        assert mine[-1][1] == weight
    every = db.sql(f"select count(distinct id) from sqlrl.clause_history where run = {run.number}").fetchall()[0][0]
    assert f"The 3 strongest of {every} clauses" in run.plot.weight_history(most=3).note
    assert "Weights while learning" in titles(run.report())
    # Who keeps none says how it is kept.
    assert "fit an online learner with record_history=True" in sentences(db.runs[studied.fit.run_].report(), "learning")
    with pytest.raises(InputError, match="keeps no history"):
        db.runs[studied.prediction.run].plot.weight_history()
    with pytest.raises(InputError, match="most=0"):
        run.plot.weight_history(most=0)


@pytest.mark.slow
def test_what_was_kept_and_not_evaluated_stands_there_without_labels(studied: Studied) -> None:
    db, model = studied.db, studied.fit.model_
    names = studied.test[:3]
    prediction = db.predict(model, examples=names, keep=True)
    report = prediction.report()
    atoms = part(report, "examples", AtomListing)
    shown = atoms.atoms.data.to_pylist()
    assert shown
    assert all(row["predicted"] for row in shown)
    kept = db.sql(f"select atom from sqlrl.prediction where run = {prediction.run}").fetchall()
    assert sorted((row["id"],) for row in shown) == sorted(kept)
    # As evaluation names them.
    prediction.evaluate()
    named = db.sql(f"select atom, name from sqlrl.outcome where run = {prediction.run} and predicted").fetchall()
    assert {row["id"]: row["atom"] for row in shown} == dict(named)
    assert atoms.examples.data["example"].to_pylist() == names
    assert not {"label", "outcome"} & {column.key for column in atoms.atoms.columns}
    assert "was not evaluated" in sentences(report, "examples")
    # The clauses behind its atoms are those of why, too.
    texts = atoms.clauses["text"].to_pylist()
    for k in (0, len(shown) - 1):
        said = atoms.said.slice(atoms.start[k], atoms.start[k + 1] - atoms.start[k]).to_pylist()
        expected: dict[str, float] = {}
        for reason in prediction.why(shown[k]["atom"]).table:
            if reason["weight"] is not None:
                expected[reason["clause"]] = expected.get(reason["clause"], 0.0) + reason["contribution"]
        assert {texts[x["clause"]]: x["worth"] for x in said} == pytest.approx(
            {clause: worth for clause, worth in expected.items() if abs(worth) > 1e-12}
        )
    marginals = db.probabilities(model, examples=names, keep=True)
    found = part(marginals.report(), "examples", AtomListing).atoms.data.to_pylist()
    kept = db.sql(f"select atom, probability from sqlrl.marginal where run = {marginals.run}").fetchall()
    assert sorted((row["id"], row["probability"]) for row in found) == sorted(kept)
    assert all(row["predicted"] == (row["probability"] > 0.5) for row in found)
    # Once evaluated, it has labels.
    assert "label" in {
        column.key for column in part(db.runs[studied.fit.run_].report(), "examples", AtomListing).atoms.columns
    }
    assert "label" in {column.key for column in part(prediction.report(), "examples", AtomListing).atoms.columns}


def test_kept_atoms_that_are_too_many_or_have_no_names(studied: Studied, monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    db.load("Word", [(f"d{k}", ("good", "bad")[k % 2]) for k in range(8)], types=["doc", "word"], example="doc")
    db.load("Liked", [("d0",)], types=["doc"], target=True)
    rules = 'Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)'
    marginals = db.probabilities(sqlrl.parse_mln(rules), keep=True)
    monkeypatch.setattr(reports, "MOST_ATOMS", 3)
    report = marginals.report()
    assert len(part(report, "examples", AtomListing).atoms.data) <= 3
    assert "Of 8 atoms" in sentences(report, "examples")
    assert "of 8 examples" in sentences(report, "examples")
    assert all(part(report, "examples", AtomListing).atoms.data["predicted"].to_pylist())
    nothing = db.predict(sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n-0.5 Liked(d)"), keep=True)
    assert "It predicted no atom true" in sentences(nothing.report(), "examples")
    db.load("Word", [("d9", "good")], mode="append")
    assert "cannot be named any more" in sentences(db.runs[marginals.run].report(), "examples")


def test_too_many_ground_clauses_leave_atoms_without_clauses(studied: Studied, monkeypatch: pytest.MonkeyPatch) -> None:
    run = studied.db.runs[studied.prediction.run]
    before = part(run.report(), "examples", AtomListing)
    assert not before.missing
    assert len(before.said)
    monkeypatch.setattr(reports, "MOST_GROUND", 20)
    after = part(run.report(), "examples", AtomListing)
    assert "The clauses behind atoms cannot be shown" in after.missing
    assert "20" in after.missing
    assert after.atoms.data["atom"] == before.atoms.data["atom"]
    assert (len(after.said), len(after.clauses), set(after.start)) == (0, 0, {0})


def test_confusion_counts_blocks(studied: Studied) -> None:
    scores = studied.prediction.evaluate()
    found = studied.prediction.plot.confusion().table().to_pylist()
    right = sum(row["count"] for row in found if row["label"] == row["predicted"] is not None)
    assert right == scores.total.true_positives


def test_what_cannot_be_drawn_says_what_can(studied: Studied) -> None:
    for draw in (
        studied.prediction.plot.calibration,
        studied.prediction.plot.roc,
        studied.prediction.plot.precision_recall,
    ):
        with pytest.raises(InputError, match="probabilities"):
            draw()
    with pytest.raises(InputError, match="was not evaluated"):
        studied.db.runs[studied.fit.run_].plot.roc()
    with pytest.raises(InputError, match="fit with keep_steps=True"):
        sqlrl.AdaGrad(keep_steps=False).fit(
            studied.db, sqlrl.parse_mln(MODEL), examples=studied.test[:2]
        ).plot.learning_curve()
    with pytest.raises(sqlrl.SqlrlError, match="call fit"):
        sqlrl.AdaGrad().plot.weights()
    with pytest.raises(InputError, match="keep=True"):
        studied.db.predict(studied.fit.model_, examples=studied.test[:1]).report()
    with pytest.raises(InputError, match="there is no run 999; there are runs 1 to"):
        studied.db.runs[999]


def test_a_run_that_learned_nothing_and_one_without_a_curve() -> None:
    db = sqlrl.connect()
    people = [f"p{i}" for i in range(8)]
    db.load("Parent", [(a, b) for a, b in zip(people, people[2:], strict=False)], types=["person", "person"])
    db.load(
        "Grand", [(a, b) for a, b in zip(people, people[4:], strict=False)], types=["person", "person"], target=True
    )
    found = sqlrl.ILP(significance=1).fit(db, "Grand")
    report = db.runs[found.run_].report()
    assert "There is no learning curve" in sentences(report, "learning")
    listing = part(report, "clauses", PageListing)
    assert (
        listing.data["positives"].to_pylist()
        == found.clauses().to_arrow().filter(found.clauses().to_arrow()["in_theory"])["positives"].to_pylist()
    )
    assert "No clause has a weight" in sentences(report, "clauses")
    with pytest.raises(InputError, match="no clause has a weight"):
        found.plot.weights()
    db.audit("Grand", folds=2)
    audited = db.runs[-1]
    assert audited.learner == "audit"
    assert "has no model" in sentences(audited.report(), "clauses")
    assert "audited Grand" in sentences(audited.report(), "audit")


def test_findings_of_the_audit_stand_on_the_page() -> None:
    db = sqlrl.connect()
    teams = [f"t{i}" for i in range(8)]
    pairs = [(a, b) for a in teams for b in teams if a != b]
    db.load("Beats", [(a, b) for a, b in pairs if a < b], types=["team", "team"], target=True)
    db.scope("Beats", pairs)
    audit = db.audit("Beats", folds=4)
    prediction = db.predict(sqlrl.parse_mln("Beats(team, team)\n0.5 Beats(x, y)"), keep=True)
    prediction.evaluate()
    report = prediction.report()
    found = [x for each in report.sections if each.name == "audit" for x in each.parts if isinstance(x, PageTable)]
    assert found[0].table["what"] == audit.findings["what"]
    assert found[0].table["show_sql"] == audit.findings["show_sql"]
    assert len(found[1].table) > 0
    assert "Run 1 audited Beats, 56 query atoms" in sentences(report, "audit")
    assert "in all the data, all 28 true atoms have a reverse" in report.html()


def test_what_a_page_does_not_show_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    db.load("Word", [(f"d{k}", ("good", "bad")[k % 2]) for k in range(6)], types=["doc", "word"])
    db.load("Liked", [("d0",), ("d2",)], types=["doc"], target=True)
    db.audit("Liked", folds=2)
    db.scope("Liked", [(f"d{k}",) for k in range(1, 6)])
    monkeypatch.setattr(reports, "MOST_CLAUSES", 1)
    model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
    with pytest.warns(sqlrl.errors.ScopeWarning, match="1 label of Liked lies outside the scope"):
        prediction = db.predict(model, keep=True)
    prediction.evaluate()
    report = prediction.report()
    assert "1 true label outside the scope count as missed" in sentences(report, "examples")
    assert "when the data, or their query atoms, were others than those of this run" in sentences(report, "audit")
    assert "The table has the 1 strongest of 2 clauses" in sentences(report, "clauses")


def test_soft_models_have_their_own_charts() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("Anna", "Bob"), ("Bob", "Chris")])
    db.load("Smokes", [("Anna",), ("Bob",)], target=True)
    model = sqlrl.parse_psl("2: Friends(A, B) & Smokes(A) -> Smokes(B) ^2\n1: !Smokes(A) ^2\n1: Smokes('Anna')")
    prediction = db.predict(model, keep=True)
    bare = part(prediction.report(), "examples", AtomListing).atoms.data.to_pylist()
    stated = dict(
        zip(("Smokes(Anna)", "Smokes(Bob)", "Smokes(Chris)"), prediction.atoms()["value"].to_pylist(), strict=True)
    )
    assert {row["atom"]: row["value"] for row in bare} == pytest.approx(stated)
    prediction.evaluate()
    report = prediction.report()
    atoms = part(report, "examples", AtomListing)
    assert atoms.atoms.data["value"].to_pylist() == pytest.approx(prediction.atoms()["value"].to_pylist())
    assert "hinges" in atoms.missing
    assert any("ROC curve" in title for title in titles(report))
    assert "no probabilities" in sentences(report, "predictions")
    assert part(report, "clauses", PageListing).data["support"].null_count == 0
    run = db.runs[prediction.run]
    for name in ("confusion", "precision_recall", "roc"):
        assert getattr(run.plot, name)().table() == getattr(prediction.plot, name)().table()
    with pytest.raises(InputError, match="no probabilities"):
        prediction.plot.calibration()


def test_one_network_of_several_predicates_and_quantifiers() -> None:
    db = sqlrl.connect()
    people = [f"p{i:02d}" for i in range(6)]
    db.load(
        "Friends", [(a, b) for i, a in enumerate(people) for b in people[i + 1 : i + 3]], types=["person", "person"]
    )
    db.load("Smokes", [(a,) for a in people[::2]], types=["person"], target=True)
    db.load("Cancer", [(a,) for a in people[::3]], types=["person"], target=True)
    rules = "0.5 Smokes(x) => Cancer(x)\n-0.3 Smokes(x)\n0.7 EXIST y (Friends(x, y) ^ Smokes(y) ^ Cancer(y))\nCancer(x) => Smokes(x)."
    prediction = db.predict(
        sqlrl.parse_mln(f"Friends(person, person)\nSmokes(person)\nCancer(person)\n{rules}"), keep=True
    )
    prediction.evaluate()
    report = prediction.report()
    assert [title for title in titles(report) if "Confusion" in title] == [
        f"Confusion matrix of {name}, run 1" for name in ("Cancer", "Smokes")
    ]
    assert prediction.plot.confusion().title == "Confusion matrix"
    assert sum(prediction.plot.confusion().table()["count"]) == 12
    atoms = part(report, "examples", AtomListing)
    assert len(atoms.examples.data) == 1
    rows = atoms.atoms.data.to_pylist()
    assert [row["outcome"] for row in rows] == sorted((row["outcome"] for row in rows), reverse=True)
    texts = atoms.clauses["text"].to_pylist()
    for k, row in enumerate(rows):
        said = atoms.said.slice(atoms.start[k], atoms.start[k + 1] - atoms.start[k]).to_pylist()
        # What a formula with helper atoms says is not listed, and that it says something is.
        assert not any("EXIST" in texts[x["clause"]] for x in said)
        notes = [note["text"] for note in atoms.notes.to_pylist() if note["atom"] == k]
        assert any("quantifiers" in note for note in notes) == (row["log_odds"] is None)
        hard = {reason["clause"] for reason in prediction.why(row["atom"]).table if reason["weight"] is None}
        assert {texts[x["clause"]] for x in said if x["worth"] is None} == {
            text for text in hard if "block" not in text
        }


def test_data_that_changed_leave_atoms_without_clauses(studied: Studied, tmp_path: Path) -> None:
    with sqlrl.connect(tmp_path / "small.duckdb") as db:
        db.load("Word", [("d1", "good"), ("d2", "bad")], types=["doc", "word"], example="doc")
        db.load("Liked", [("d1",)], types=["doc"], target=True)
        model = sqlrl.parse_mln('Word(doc, word)\nLiked(doc)\n1 Word(d, "good") => Liked(d)\n-0.5 Liked(d)')
        prediction = db.predict(model, keep=True)
        prediction.evaluate()
        before = part(prediction.report(), "examples", AtomListing)
        assert not before.missing
        db.load("Word", [("d3", "good")], mode="append")
        report = db.runs[prediction.run].report()
        after = part(report, "examples", AtomListing)
        assert "have changed since run" in after.missing
        assert after.atoms.data["atom"] == before.atoms.data["atom"]
        assert len(after.said) == 0


def test_a_missing_library_is_named_before_the_work(
    studied: Studied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(sqlrl.SqlrlError, match=r"pip install 'sqlrl\[report\]'"):
        studied.db.runs[1].report(tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_read_only_file_and_a_name_that_is_no_page(studied: Studied, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"end its name in .html"):
        studied.db.runs[1].report(tmp_path / "r.pdf")
    report = studied.db.runs[1].report(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html()
    assert np.all(np.diff(part(report, "examples", AtomListing).start) >= 0)


def test_a_run_of_several_predicates_says_what_it_has() -> None:
    db = sqlrl.connect()
    with pytest.raises(InputError, match=r"there is no run yet: learners make one, and predict\(keep=True\)"):
        db.runs[-1]
    with pytest.raises(InputError, match=r"there is no run '1': runs have whole numbers, which db\.runs\(\) lists"):
        db.runs["1"]  # type: ignore[arg-type]
    db.load("Smokes", [("Anna",), ("Bob",)], types=["person"], target=True)
    db.load("Cancer", [("Anna",)], types=["person"], target=True)
    model = sqlrl.parse_mln("Smokes(person)\nCancer(person)\n1 Smokes(x) => Cancer(x)\n0.5 Smokes(x)")
    prediction = db.predict(model, keep=True)
    run = db.runs[-1]
    assert run.engine is db.advanced.engine
    assert repr(run).split("\n")[:2] == ["Run 1", "  what              predict"]
    with pytest.raises(InputError, match="a confusion matrix compares with labels, and run 1 was not evaluated"):
        run.plot.confusion()
    prediction.evaluate()
    # All are predicted true, and Bob has no cancer.
    found = run.plot.confusion().table().to_pylist()
    assert [(row["label"], row["predicted"], row["count"]) for row in found] == [
        ("false", "true", 1),
        ("true", "true", 3),
    ]
    assert run.plot.confusion("Smokes").table()["count"] == [2]
    with pytest.raises(InputError, match="the run predicted Cancer, Smokes, not 'Smoke'"):
        run.plot.confusion("Smoke")
    with pytest.raises(InputError, match=r"a ROC curve needs probabilities, and run 1 .* db\.probabilities"):
        run.plot.roc()
    stages = run.plot.timings().table()
    assert (set(stages["run"]), stages["stage"]) == ({"1 predict"}, list(run.seconds))
    db.audit("Smokes", folds=2)
    with pytest.raises(InputError, match=r"run 2 \(audit\) has no model"):
        db.runs[2].plot.weights()


FACTS = "Links(page, page)\nGood(page)\n"


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        ('1 Good("Z")\n1 Links(x, y) ^ Good(x) => Good(y)', {}),
        ("Odd(page)\n1 Good(x) => Odd(x)", {"query": ["Good", "Odd"]}),
        ("Odd(page)\n1 Good(x) => Odd(x)\n-1 Odd(x)", {"query": ["Odd"]}),
    ],
)
def test_a_prediction_with_another_model_leaves_the_data_of_a_run_what_they_are(
    rules: str, options: dict[str, Any]
) -> None:
    db = sqlrl.connect(progress=False)
    db.load("Links", [("A", "B"), ("B", "C"), ("C", "A")], types=("page", "page"))
    db.load("Good", [("A",), ("B",)], types=("page",), target=True)
    fit = sqlrl.Likelihood().fit(db, sqlrl.parse_mln(FACTS + "Good(x)\nLinks(x, y) ^ Good(x) => Good(y)"))

    def state() -> str:
        (about,) = [x for x in db.runs[fit.run_].report().sections if x.name == "run"]
        facts = dict(pair for x in about.parts if isinstance(x, PageFacts) for pair in x.pairs)
        return facts["data fingerprint"].partition(": ")[2]

    assert state() == "the data of the database as they are now"
    db.predict(sqlrl.parse_mln(FACTS + rules, **options))
    assert state() == "the data of the database as they are now"
    # Another binding hides no change of the data.
    db.load("Links", [("A", "B"), ("B", "C")], types=("page", "page"))
    db.predict(sqlrl.parse_mln(FACTS + rules, **options))
    assert state().startswith("the data of the database are others now")
