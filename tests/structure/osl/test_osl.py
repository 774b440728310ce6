"""OSL over a database: what is kept, saved, predicted and refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl import OSL
from sqlrl.demo import generate
from sqlrl.errors import CatalogError, InputError, LabelWarning, ModelError, NotFittedError, NothingFoundWarning
from sqlrl.structure.osl.learner import from_state, nothing_kept, to_state
from sqlrl.structure.osl.search import Searched, nothing_added
from sqlrl.structure.osl.stream import AddedClauses

MODEL = """
Token(token, position, bib)
Next(position, position)
InField(bib, field, position)
InField(c, f1, p) ^ (f1 != f2) => !InField(c, f2, p).
"""
MODES = """
modeP(2, Token(#., +, .))
modeP(1, Next(-, -))
modeP(2, InField(., #., +))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bibliography")
    generate(60, seed=3).write(found)
    return found


def loaded(folder: Path, target: str | Path = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(target)
    db.load("Token", folder / "token.parquet", example="bib")
    db.load("Next", folder / "next.parquet", types=("position", "position"))
    db.load("InField", folder / "field.parquet", target=True)
    return db


@pytest.fixture(scope="module")
def shared(folder: Path) -> sqlrl.Database:
    """A database that tests share: runs only add to it."""
    return loaded(folder)


def learner(**options: object) -> sqlrl.OSL:
    return sqlrl.OSL(sqlrl.parse_modes(MODES), 3, 2, window=16, **options)  # type: ignore[arg-type]


TRAIN = [f"b{k:04d}" for k in range(1, 41)]
TEST = [f"b{k:04d}" for k in range(41, 61)]


@pytest.fixture(scope="module")
def fitted(folder: Path) -> tuple[sqlrl.Database, sqlrl.OSL]:
    db = loaded(folder)
    return db, learner().fit(db, sqlrl.parse_mln(MODEL), examples=TRAIN)


@pytest.mark.slow
def test_clauses_are_learned_from_nothing(fitted: tuple[sqlrl.Database, sqlrl.OSL]) -> None:
    db, fit = fitted
    assert db.evaluate(db.predict(fit.model_, examples=TEST)).f1 > 0.3
    assert len(fit.added()) > 50
    assert "OSL(modes=" in repr(fit)
    assert fit.clauses().num_rows == len(fit.weights_) == fit.support_.num_rows


def test_every_added_clause_is_a_row_with_its_cause(fitted: tuple[sqlrl.Database, sqlrl.OSL]) -> None:
    db, fit = fitted
    added = fit.added().to_pylist()
    shown = db.sql("select step, clause, weight, example, wrong_atom, delta_n, id from sqlrl.added_clauses").fetchall()
    assert [tuple(row.values()) for row in added] == shown
    assert all(row["delta_n"] >= 2 for row in added)
    assert all(row["wrong_atom"].startswith(f'InField("{row["example"]}", ') for row in added)
    by_step = db.sql("select step, clause from sqlrl.clauses_by_step").fetchall()
    assert by_step == [(row["step"], row["clause"]) for row in added]
    # The first row of a clause's history is the step that added it, with its first delta n.
    history = db.sql(
        "select clause, min(step), arg_min(delta_n, step) from sqlrl.weight_history group by clause order by clause"
    ).fetchall()
    assert history == [(row["id"], row["step"], row["delta_n"]) for row in added]


def test_statistics_of_added_clauses_are_exact(fitted: tuple[sqlrl.Database, sqlrl.OSL]) -> None:
    db, fit = fitted
    plain = sqlrl.parse_mln(MODEL + "\n".join(f"1 {row['clause']}" for row in fit.added().slice(0, 12).to_pylist()))
    counted = db.count(plain, examples=TRAIN).to_arrow()
    kept = db.sql(
        "select n_observed, groundings from sqlrl.clause_statistics join sqlrl.added_clause using (run, clause)"
        " order by clause limit 12"
    ).fetchall()
    rows = [(row["n"], row["groundings"]) for row in counted.to_pylist() if row["weight"] is not None]
    assert [(int(n), int(total)) for n, total in kept] == rows


@pytest.mark.slow
def test_a_learned_model_saves_and_loads(fitted: tuple[sqlrl.Database, sqlrl.OSL], tmp_path: Path) -> None:
    db, fit = fitted
    expected = db.predict(fit.model_, examples=TEST)
    for name in ("learned.mln", "learned.json"):
        fit.model_.save(tmp_path / name)
        again = sqlrl.read_model(tmp_path / name)
        assert sqlrl.models_equal(again, fit.model_)
        prediction = db.predict(again, examples=TEST)
        assert prediction.atoms().equals(expected.atoms())
        # Clauses that were found one by one are no template: nothing is unseen.
        assert prediction.unseen.combinations == 0


@pytest.mark.slow
def test_learning_goes_on_from_a_model_with_rules(shared: sqlrl.Database) -> None:
    db = shared
    rules = MODEL + "Token(+t, p, c) => InField(c, +f, p)\nNext(q, p) ^ InField(c, +f, p) => InField(c, +g, q)"
    fit = learner().fit(db, sqlrl.parse_mln(rules), examples=TRAIN)
    added = set(fit.added()["clause"].to_pylist())
    # What the templates say already is not added once more.
    assert not any(clause.startswith('Token("') and clause.count("(") == 2 for clause in added)
    assert len(added) == fit.added().num_rows
    assert fit.clauses().num_rows == len(fit.weights_)


@pytest.mark.slow  # four runs; `tests/training/test_fit.py` stops a shorter one
def test_a_run_that_stopped_goes_on_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    class Stop(Exception):  # noqa: N818 - stands for a power cut
        pass

    def stop_at(window: int) -> Callable[[object], None]:
        def stop(progress: object) -> None:
            if getattr(progress, "window", 0) == window:
                raise Stop

        return stop

    model = sqlrl.parse_mln(MODEL)
    history = "select step, clause, delta_n, weight from sqlrl.weight_history where run = 1 order by all"
    first = loaded(folder)
    whole = learner(record_history=True).fit(first, model, examples=TRAIN)
    expected = first.sql(history).fetchall()
    db = loaded(folder, tmp_path / "run.duckdb")
    with pytest.raises(Stop):
        learner(record_history=True).fit(db, model, examples=TRAIN, callback=stop_at(2), checkpoint=True)
    # The ids of added clauses follow those of the model's clauses, as after a whole run.
    assert 0 < len(db.sql(history).fetchall()) < len(expected)
    assert {row[1] for row in db.sql(history).fetchall()} <= {row[1] for row in expected}
    db.close()
    db = sqlrl.connect(tmp_path / "run.duckdb")
    with pytest.raises(InputError, match="max_length"):
        sqlrl.OSL(sqlrl.parse_modes(MODES), 4, 2, window=16, record_history=True).fit(
            db, model, examples=TRAIN, resume=1
        )
    other = sqlrl.parse_modes(MODES.replace("modeP(2, Token", "modeP(1, Token"))
    with pytest.raises(InputError, match="modes"):
        sqlrl.OSL(other, 3, 2, window=16, record_history=True).fit(db, model, examples=TRAIN, resume=1)
    with pytest.raises(Stop):
        learner(record_history=True).fit(db, model, examples=TRAIN, callback=stop_at(3), resume=1)
    assert {row[1] for row in db.sql(history).fetchall()} <= {row[1] for row in expected}
    resumed = learner(record_history=True).fit(db, model, examples=TRAIN, resume=1)
    assert db.sql(history).fetchall() == expected
    assert resumed.weights_.tobytes() == whole.weights_.tobytes()
    assert resumed.added().equals(whole.added())
    assert resumed.steps_.equals(whole.steps_)


@pytest.mark.slow
def test_several_passes_go_on_adding(shared: sqlrl.Database) -> None:
    fit = learner(passes=2).fit(shared, sqlrl.parse_mln(MODEL), examples=TRAIN[:10])
    assert fit.n_steps_ == 20
    clauses = fit.added()["clause"].to_pylist()
    assert len(set(clauses)) == len(clauses)


def test_longest_only_adds_no_sub_clause(shared: sqlrl.Database) -> None:
    db, model = shared, sqlrl.parse_mln(MODEL)
    all_of_them = learner().fit(db, model, examples=TRAIN[:1]).added()["clause"].to_pylist()
    longest = learner(longest_only=True).fit(db, model, examples=TRAIN[:1]).added()["clause"].to_pylist()
    assert set(longest) < set(all_of_them)


def test_parameters_make_the_same_estimator(shared: sqlrl.Database) -> None:
    first = learner(pool=2)
    again = sqlrl.OSL(**first.get_params())  # type: ignore[arg-type]
    assert again.get_params() == first.get_params()
    assert "parse_modes('modeP(2, Token(#.,+,.))" in repr(again)
    db, model = shared, sqlrl.parse_mln(MODEL)
    trained = sqlrl.ConstrainedTraining(first, mode="ibt").fit(db, model, examples=TRAIN[:5])
    assert trained.learner_.added().num_rows > 0


def test_a_window_is_learned_example_by_example(shared: sqlrl.Database) -> None:
    db, model, modes = shared, sqlrl.parse_mln(MODEL), sqlrl.parse_modes(MODES)
    changes = AddedClauses(modes)
    with db.advanced.learning.training_windows(model, examples=TRAIN[:6], changes=changes) as stream:
        types = changes.types
        whole, single = learner().learner(types), learner().learner(types)
        for window in stream:
            report = whole.learn_many(window)  # type: ignore[arg-type]
            steps = [single.learn_one(window, int(x)).steps for x in window.examples]  # type: ignore[arg-type]
            assert pa.concat_tables(steps).equals(report.steps)
            with pytest.raises(InputError, match="not in the window"):
                single.learn_one(window, 999)  # type: ignore[arg-type]
    assert len(whole.additions) > 10
    assert single.additions == whole.additions
    assert np.array_equal(single.weights, whole.weights)


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
@pytest.mark.parametrize("look_ahead", [False, True])
def test_a_pool_counts_what_is_predicted_too_many(look_ahead: bool) -> None:
    # Step 1: Q(e1, A) is missed, delta n of U => Q is 1 and that of !U v !Q is -1. Step 2: Q is predicted three times where there is
    # none, delta n is -3 and 3, and no true atom is missed. Over both they are -2 and 2.
    db = sqlrl.connect()
    db.load("U", [("e1", "A"), ("e2", "A"), ("e2", "B"), ("e2", "C")], types=["d", "a"], example="d")
    db.load("Q", [("e1", "A")], types=["d", "a"], target=True)
    model = sqlrl.parse_mln("U(d, a)\nQ(d, a)\nQ(d, x)")
    modes = sqlrl.parse_modes("modeP(1, U(., +))\nmodeP(1, Q(., -))")
    alone, pooled = (
        sqlrl.OSL(modes, 2, pool=pool, look_ahead=look_ahead).fit(db, model).added().to_pylist() for pool in (1, 2)
    )
    wanted = ("clause", "wrong_atom", "delta_n")
    assert [tuple(row[name] for name in wanted) for row in alone] == [("U(d, a) => Q(d, a)", 'Q("e1", A)', 1)]
    assert [tuple(row[name] for name in wanted) for row in pooled] == [("!Q(d, a) v !U(d, a)", 'Q("e1", A)', 2)]


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
@pytest.mark.parametrize("look_ahead", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_looking_ahead_counts_what_evidence_violates(look_ahead: bool) -> None:
    # S of the four others is false, being out of scope, so that evidence violates T => S; with Q it depends on the world.
    db = sqlrl.connect()
    others = [("e2", f"c{i}", f"b{i}") for i in range(4)]
    db.load("T", [("e1", "z", "z"), ("e2", "a", "b"), *others], types=["ex", "p", "q"], example="ex")
    db.load("S", [("e2", "a")], types=["ex", "p"], target=True)
    db.scope("S", "select 'e2', 'a'")
    db.load("Q", [("e1", "z"), ("e2", "b")], types=["ex", "q"], target=True)
    model = sqlrl.parse_mln("T(ex, p, q)\nS(ex, p)\nQ(ex, q)\nQ(e, y)")
    modes = sqlrl.parse_modes("modeP(1, T(., -, -))\nmodeP(1, S(., -))\nmodeP(1, Q(., -))")
    added = sqlrl.OSL(modes, 3, 3, look_ahead=look_ahead).fit(db, model).added()
    assert added.select(["clause", "delta_n"]).to_pylist() == [
        {"clause": "Q(e, q) ^ T(e, p, q) => S(e, p)", "delta_n": 5}
    ]


def test_modes_must_fit_the_model(shared: sqlrl.Database) -> None:
    db, model = shared, sqlrl.parse_mln(MODEL)
    for modes, problem in (
        (MODES + "modeP(1, Tokn(.))", "Tokn"),
        ("modeP(2, Token(#., +, .))\nmodeP(2, InField(., #., +))", "Next has no mode"),
        (MODES.replace("Next(-, -)", "Next(-)"), "Next"),
        (
            MODES.replace("InField(., #.", "InField(#., #."),
            ":4: the mode of InField keeps constants of bib, the examples",
        ),
    ):
        with pytest.raises(ModelError, match=problem):
            sqlrl.OSL(sqlrl.parse_modes(modes)).fit(db, model)


def test_predicates_that_the_model_does_not_declare_need_no_mode_and_are_in_no_path() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "good"), ("d2", "bad"), ("d3", "good")], types=["doc", "word"], example="doc")
    db.load("Long", [("d1",), ("d3",)], types=["doc"])
    db.load("Liked", [("d1",), ("d3",)], types=["doc"], target=True)
    model, modes = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)"), "modeP(1, Word(+, #.))\nmodeP(1, Liked(-))\n"
    for more in ("", "modeP(0, Long(+))"):
        fit = sqlrl.OSL(sqlrl.parse_modes(modes + more)).fit(db, model)
        assert fit.clauses()["clause"].to_pylist() == ['Word(d, "good") => Liked(d)']
    # Refused before anything is learned: the learned model could not say such clauses.
    message = r"<text>:3: the database has Long, but the model does not declare it: add Long\(doc\) to the model"
    with pytest.raises(ModelError, match=message):
        sqlrl.OSL(sqlrl.parse_modes(modes + "modeP(1, Long(+))")).fit(db, model)


def test_bad_input_is_refused(shared: sqlrl.Database) -> None:
    db, model = shared, sqlrl.parse_mln(MODEL)
    with pytest.raises(InputError, match="max_length=0"):
        sqlrl.OSL(sqlrl.parse_modes(MODES), 0).fit(db, model)
    with pytest.raises(InputError, match="a model is needed"):
        learner().fit(db, MODEL)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="modes=3"):
        sqlrl.OSL(3).fit(db, model)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no examples"):
        learner().fit(db, model, examples=[])
    with pytest.raises(NotFittedError, match="no clauses yet"):
        learner().added()


def test_modes_may_be_a_file(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "chain.modes"
    path.write_text(MODES)
    db = loaded(folder)
    fit = sqlrl.OSL(path, 2, 2).fit(db, sqlrl.parse_mln(MODEL), examples=TRAIN[:5])
    assert fit.get_params()["modes"] == path
    # The file may change: the run keeps what it said.
    kept = db.sql("select parameters ->> 'modes' from sqlrl.run").fetchall()
    assert kept == [(str(sqlrl.parse_modes(MODES)),)]
    with pytest.raises(InputError, match="cannot read the file"):
        sqlrl.OSL(tmp_path / "none.modes").fit(db, sqlrl.parse_mln(MODEL))


@pytest.mark.slow
def test_added_clauses_name_the_examples_of_their_run(folder: Path) -> None:
    db = loaded(folder)
    fit = learner().fit(db, sqlrl.parse_mln(MODEL), examples=TRAIN[:16])
    db.sql("create schema rest")
    for name in ("token", "field"):
        db.sql(f"create table rest.{name} as from '{folder / name}.parquet' where bib > 'b0009'")
    db.load("Token", "rest.token", example="bib")
    db.load("InField", "rest.field", target=True)
    db.predict(fit.model_)
    kept = db.sql("select example from sqlrl.added_clauses").fetchall()
    assert {name for (name,) in kept} & set(TRAIN[:9])
    assert [name for (name,) in kept] == fit.added()["example"].to_pylist()


@pytest.mark.parametrize(
    ("modes", "labels", "options", "reason"),
    [
        ("modeP(1, A(.))\nmodeP(1, T(+))", ["a"], {}, "no path goes on from the 1 true atom predicted false; check that other facts"),
        (
            "modeP(1, A(+))\nmodeP(1, T(+))", ["a"], {"min_count_difference": 3, "look_ahead": True},
            "of the clauses of 1 path none has a delta n of min_count_difference=3; lower it, or raise pool, now 1",
        ),
        ("modeP(1, A(+))\nmodeP(1, T(+))", ["a"], {"min_count_difference": 3}, "of the clauses of 1 path none has"),
        ("modeP(1, A(+))\nmodeP(1, T(+))", ["a"], {"rules": "A(x) => T(x)\n!A(x) v !T(x)"}, "are in the model already"),
        ("modeP(1, A(+))\nmodeP(1, T(+))", ["a", "b"], {"rules": "T(x)."}, "no true atom was predicted false"),
    ],
)  # fmt: skip
def test_a_run_that_adds_no_clause_says_why(
    modes: str, labels: list[str], options: dict[str, Any], reason: str
) -> None:
    rules = options.pop("rules", "")
    db = sqlrl.connect()
    db.load("A", [("a",)], types=["t"])
    db.load("B", [("b",)], types=["t"])
    db.load("T", [(x,) for x in labels], types=["t"], target=True)
    model = sqlrl.parse_mln(f"A(t)\nB(t)\nT(t)\n{rules}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        with pytest.warns(NothingFoundWarning, match="no clause was added: .*" + re.escape(reason)):
            fit = sqlrl.OSL(sqlrl.parse_modes(f"modeP(1, B(.))\n{modes}"), **options).fit(db, model)
    assert fit.added().num_rows == 0


def test_what_was_searched_is_told_and_saved() -> None:
    # Paths start nowhere where all targets with a recall above 0 are right.
    assert "may start from none of the 2 true atoms predicted false" in nothing_added(
        Searched(missed=2), OSL("modes.txt").parameters()
    )
    kept = nothing_kept()._replace(searched=Searched(missed=4, starts=3, paths=2, enough=1))
    assert from_state(to_state(kept, []))[0].searched == kept.searched


def test_paths_have_more_atoms_than_their_start() -> None:
    with pytest.raises(InputError, match="max_length=1: give an integer of at least 2, since the start of a path"):
        sqlrl.OSL(sqlrl.parse_modes(MODES), max_length=1).parameters()


@pytest.mark.parametrize(
    ("modes", "target", "error", "message"),
    [
        ("modeP(1, T(+))", None, CatalogError, "no predicate is open, so there is nothing to predict: load the labels"),
        (
            "modeP(1, T(+))",
            False,
            CatalogError,
            "no predicate is open, so there is nothing to predict: load the labels",
        ),
        ("", True, ModelError, "T has no mode"),
        ("modeP(0, T(+))", True, ModelError, "no open predicate has a recall above 0, so no path can start"),
    ],
)
def test_what_is_missing_to_learn_from_nothing_is_said(
    modes: str, target: bool | None, error: type[Exception], message: str
) -> None:
    db = sqlrl.connect()
    db.load("A", [("a",), ("b",)], types=["t"])
    if target is not None:
        db.load("T", [("a",)], types=["t"], target=target)
    with pytest.raises(error, match=message):
        sqlrl.OSL(sqlrl.parse_modes(f"modeP(1, A(+))\n{modes}")).fit(db, sqlrl.parse_mln("A(t)\nT(t)"))


def test_the_examples_of_added_clauses_are_named_by_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    db = sqlrl.connect()
    words = [(f"d{i}", f"w{i}") for i in range(30)]
    db.load("Word", words, types=["doc", "word"], example="doc")
    db.load("Liked", [(doc,) for doc, _ in words[::3]], types=["doc"], target=True)
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n-1 Liked(d)")
    steps: list[str] = []
    fetch = db.advanced.engine.fetch
    monkeypatch.setattr(
        db.advanced.engine, "fetch", lambda query, *, step: steps.append(step) or fetch(query, step=step)
    )
    osl = sqlrl.OSL(
        sqlrl.parse_modes("modeP(1, Word(+, #-))\nmodeP(1, Liked(+))"), max_length=2, min_count_difference=1
    )
    added = osl.fit(db, model).added()
    assert len(set(added["example"].to_pylist())) > 2
    assert len([step for step in steps if "name" in step and "example" in step]) == 1


@pytest.mark.filterwarnings("ignore::sqlrl.errors.LabelWarning")
def test_a_pool_that_the_window_does_not_fill_is_searched_at_its_end() -> None:
    db = sqlrl.connect()
    db.load("U", [("e1", "A"), ("e2", "A")], types=["d", "a"], example="d")
    db.load("Q", [("e1", "A"), ("e2", "A")], types=["d", "a"], target=True)
    model = sqlrl.parse_mln("U(d, a)\nQ(d, a)\nQ(d, x)")
    modes = sqlrl.parse_modes("modeP(1, U(., +))\nmodeP(1, Q(., -))")
    few, many = (sqlrl.OSL(modes, 2, pool=pool).fit(db, model).added() for pool in (2, 100))
    assert many.num_rows > 0
    assert many == few
