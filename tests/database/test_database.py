"""The whole way from data to predictions, as a user goes it."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.demo import MODEL, generate
from sqlrl.errors import CatalogError, EngineError, GroundingLimitError, InfeasibleError, InputError

SMOKERS = """
Friends(person, person)
Smokes(person)
Cancer(person)
-0.2 Smokes(x)
1.5 Smokes(x) => Cancer(x)
0.9 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
FRIENDS = [("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Chris"), ("Chris", "Dan")]


def bibliography(folder: Path, *, labels: pa.Table | None = None, citations: int = 60) -> sqlrl.Database:
    data = generate(citations, seed=3)
    paths = data.write(folder)
    db = sqlrl.connect()
    db.load("Token", paths["token"], types=("token", "position", "bib"), example="bib")
    db.load("Next", paths["next"], types=("position", "position"))
    db.load("InField", paths["field"] if labels is None else labels, types=("bib", "field", "position"), target=True)
    return db


def names(first: int, last: int) -> list[str]:
    return [f"b{k:04d}" for k in range(first, last + 1)]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[sqlrl.Database, sqlrl.AdaGrad]:
    db = bibliography(tmp_path_factory.mktemp("bibliography"))
    return db, sqlrl.AdaGrad(record_history=True).fit(db, sqlrl.parse_mln(MODEL), examples=names(1, 45))


@pytest.mark.slow
def test_learned_clauses_predict_held_out_citations(learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, fit = learned
    prediction = db.predict(fit.model_, examples=names(46, 60))
    scores = db.evaluate(prediction)
    assert scores.f1 > 0.6
    assert prediction.status.value == "optimal"
    assert prediction.unseen.combinations > 0
    assert set(prediction.atoms().column("bib").to_pylist()) <= set(names(46, 60))
    assert "query atoms true" in repr(prediction)


def test_elimination_and_cpsat_agree(learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, fit = learned
    by_cpsat = db.predict(fit.model_, examples=names(46, 49), method="cpsat")
    by_elimination = db.predict(fit.model_, examples=names(46, 49), method="elimination")
    assert by_cpsat.objective == pytest.approx(by_elimination.objective, abs=by_cpsat.gap + 1e-9)


@pytest.mark.slow
def test_a_prediction_never_reads_a_label(tmp_path: Path, learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    _, fit = learned
    field = generate(60, seed=3).field
    kinds = np.array(field.column("field").to_pylist())
    shuffled = field.set_column(1, "field", pa.array(np.random.default_rng(0).permutation(kinds)))
    true, wrong = (
        bibliography(tmp_path, labels=labels).predict(fit.model_, examples=names(40, 60))
        for labels in (field, shuffled)
    )
    assert true.result.world.tobytes() == wrong.result.world.tobytes()
    assert true.objective == wrong.objective


@pytest.mark.slow
def test_same_input_and_seed_give_same_bytes(tmp_path: Path) -> None:
    models = []
    for number in range(2):
        db = bibliography(tmp_path, citations=20)
        fit = sqlrl.AdaGrad(order="shuffle", random_state=7).fit(db, sqlrl.parse_mln(MODEL))
        fit.model.save(tmp_path / f"{number}.json")
        models.append((tmp_path / f"{number}.json").read_bytes())
        assert fit.weights_.tobytes() == fit.weights_.copy().tobytes()
    assert models[0] == models[1]


@pytest.mark.slow
def test_windows_do_not_change_what_is_learned(tmp_path: Path) -> None:
    db = bibliography(tmp_path, citations=20)
    model = sqlrl.parse_mln(MODEL)

    def weights(window: int) -> dict[str, float]:
        found = sqlrl.AdaGrad(window=window).fit(db, model).clauses()
        return dict(zip(found.column("clause").to_pylist(), found.column("weight").to_pylist(), strict=True))

    assert weights(7) == pytest.approx(weights(512), abs=1e-12)


def test_models_save_and_load_to_equal_models(tmp_path: Path, learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, fit = learned
    for ending in ("mln", "json"):
        fit.model.save(tmp_path / f"model.{ending}")
        loaded = sqlrl.read_model(tmp_path / f"model.{ending}")
        assert sqlrl.models_equal(loaded, fit.model)
    assert sqlrl.models_equal(db.models[1], fit.model)
    with pytest.raises(CatalogError, match="there is no model 99"):
        db.models[99]
    for ending in ("mln", "json"):
        loaded = sqlrl.read_model(tmp_path / f"model.{ending}")
        again = db.predict(loaded, examples=names(46, 60))
        assert again.result.world.tobytes() == db.predict(fit.model, examples=names(46, 60)).result.world.tobytes()


def test_runs_are_kept_and_answer_sql(learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, fit = learned
    run = db.sql("select run, model, learner, status from sqlrl.run").fetchall()
    assert run[0][2:] == ("AdaGrad", "done")
    strongest = db.sql("select clause, weight from sqlrl.strongest_clauses limit 1").fetchall()[0]
    first = fit.clauses().slice(0, 1).to_pylist()[0]
    assert strongest == (first["clause"], first["weight"])
    assert db.sql("select count(*) from sqlrl.step where run = 1").fetchall() == [(45,)]
    last = "select weight from sqlrl.weight_history where run = 1 and clause = ? order by step desc limit 1"
    assert db.advanced.engine.connection.execute(last, [first["id"]]).fetchall()[0][0] != 0
    wrong = db.sql("select sum(delta_n) from sqlrl.clause_statistics where run = 1").fetchall()
    assert wrong[0][0] == sum(fit.support_.column("delta_n").to_pylist())


def test_counts_of_the_observed_world(learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, _ = learned
    counted = db.count(sqlrl.parse_mln(MODEL), examples=names(1, 3))
    chosen = "bib in ('b0001', 'b0002', 'b0003')"
    tokens = db.sql(f'select count(*) from sqlrl."named_Token" where {chosen}').fetchall()[0][0]
    assert all(row["groundings"] >= row["n"] for row in counted)
    template = next(row for row in counted if str(row["text"]).startswith("Token("))
    assert template["groundings"] == tokens


def test_keep_and_into(learned: tuple[sqlrl.Database, sqlrl.AdaGrad]) -> None:
    db, fit = learned
    prediction = db.predict(fit.model, examples=names(46, 47), into="found", keep=True)
    rows = db.sql("select bib, field, position from found order by all").fetchall()
    assert len(rows) == prediction.result.world.sum()
    kept = "select count(*) from sqlrl.prediction where run = (select max(run) from sqlrl.run)"
    assert db.sql(kept).fetchall() == [(len(rows),)]
    total = "select bool_and(groundings = open + satisfied_by_evidence + violated_by_evidence) from sqlrl.clause_statistics where open is not null"
    assert db.sql(total).fetchall() == [(True,)]
    with pytest.raises(sqlrl.SqlrlError, match="found"):
        prediction.write("found")
    prediction.write("found", replace=True)


def smokers(target: object = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(target)  # type: ignore[arg-type]
    db.load("Friends", FRIENDS, types=("person", "person"))
    return db


def test_a_model_with_weights_needs_no_learning() -> None:
    db = smokers()
    db.load("Smokes", [("Anna",)], given=True)
    prediction = db.predict(sqlrl.parse_mln(SMOKERS, query=("Cancer",)))
    assert prediction.atoms("Smokes").column("person").to_pylist() == ["Bob", "Chris", "Dan"]
    assert prediction.atoms("Cancer", every=True).num_rows == 4
    with pytest.raises(InputError, match="Cancer, Smokes"):
        prediction.atoms()


def test_explain_shows_sql_plan_and_estimate() -> None:
    (explanation,) = sqlrl.parse_mln(
        "Friends(person,person)\nSmokes(person)\n1 Friends(x,y) ^ Smokes(x) => Smokes(y)", query=("Smokes",)
    ).plan(smokers())
    assert "JOIN" in explanation.sql
    assert explanation.plan
    assert explanation.estimate > 0
    assert "ground clause" in str(explanation)


def test_the_limit_names_the_shape() -> None:
    model = sqlrl.parse_mln(
        "Friends(person,person)\nSmokes(person)\n1 Smokes(x) v Smokes(y) v Friends(x,y)", query=("Smokes",)
    )
    with pytest.raises(GroundingLimitError, match=r"leaves 16 groundings.*Smokes\(v0\) v Smokes\(v1\)"):
        smokers().predict(model, limit=3)


def test_hard_clauses_that_contradict_each_other_are_shown_with_their_constants() -> None:
    model = sqlrl.parse_mln(
        SMOKERS + "Smokes(Anna).\nFriends(x,y) ^ Smokes(x) => Smokes(y).\n!Smokes(Bob).", query=("Smokes", "Cancer")
    )
    with pytest.raises(InfeasibleError) as raised:
        smokers().predict(model)
    text = str(raised.value)
    assert "Smokes(Anna)" in text
    assert "!Smokes(Bob)" in text
    assert "Cancer" not in text


def test_a_rule_without_a_weight_cannot_predict() -> None:
    with pytest.raises(InputError, match=r":3: the rule Smokes\(x\) has no weight"):
        smokers().predict(sqlrl.parse_mln("Friends(person,person)\nSmokes(person)\nSmokes(x)", query=("Smokes",)))


def test_no_open_predicate() -> None:
    with pytest.raises(CatalogError, match="target=True"):
        smokers().predict(sqlrl.parse_mln("Friends(person,person)\n1 Friends(x,y) => Friends(y,x)"))


def test_learning_with_unlabelled_atoms_is_refused() -> None:
    model = sqlrl.parse_mln(
        "Friends(person,person)\nSmokes(person)\nFriends(x,y) ^ Smokes(x) => Smokes(y)", query=("Smokes",)
    )
    db = smokers()
    db.load("Smokes", [("Anna",)], types=["person"], given=True)
    with pytest.raises(InputError, match="EM"):
        sqlrl.AdaGrad().fit(db, model)


def test_predicates_without_data_and_drop() -> None:
    model = sqlrl.parse_mln(
        SMOKERS.replace("Cancer(person)", "Cancer(person)\nOld(person)") + "1 Old(x) => Cancer(x)\n",
        query=("Smokes", "Cancer"),
    )
    with pytest.raises(CatalogError, match="Old"):
        smokers().predict(model)
    assert (
        smokers().predict(model, roles=sqlrl.Roles(drop=["Old"])).objective
        == smokers().predict(sqlrl.parse_mln(SMOKERS, query=("Smokes", "Cancer"))).objective
    )


def test_a_connection_of_the_users_keeps_its_tables() -> None:
    with duckdb.connect() as con:
        con.execute("create table friendship as select * from (values ('Anna', 'Bob'), ('Bob', 'Chris')) t(a, b)")
        with sqlrl.connect(con) as db:
            db.load("Friends", "friendship", types=("person", "person"))
            db.predict(sqlrl.parse_mln(SMOKERS, query=("Smokes", "Cancer")))
        assert con.execute("show tables").fetchall() == [("friendship",)]
        assert con.execute("select count(*) from friendship").fetchall() == [(2,)]


@pytest.mark.parametrize("taken", ["create schema sqlrl", "attach ':memory:' as SQLRL"])
def test_another_name_than_sqlrl_is_said(taken: str) -> None:
    connection = duckdb.connect()
    connection.execute(taken)
    db = sqlrl.connect(connection)
    db.load("P", [("a",)], types=["t"])
    assert repr(db).startswith("Database('your connection'), tables and views in the schema sqlrl_\n")
    assert "the schema sqlrl_" in db._repr_html_()
    assert db.sql("select predicate from sqlrl_.predicate").fetchall() == [("P",)]
    with pytest.raises(EngineError, match=r"strongest_clauses does not exist.*\n.*are in sqlrl_: from sqlrl_\.TABLE"):
        db.sql("from sqlrl.strongest_clauses")
    # Other mistakes have other reasons.
    with pytest.raises(EngineError, match="while running: from strongest"):
        db.sql("from strongest_clauses")


def test_the_usual_name_is_not_said() -> None:
    for db in (sqlrl.connect(), sqlrl.connect(duckdb.connect())):
        assert "schema" not in repr(db)
        with pytest.raises(EngineError, match="while running: from sqlrl"):
            db.sql("from sqlrl.strongest")


def test_files_keep_runs_and_no_scratch(tmp_path: Path) -> None:
    path = tmp_path / "smokers.duckdb"
    with smokers(path) as db:
        db.predict(sqlrl.parse_mln(SMOKERS, query=("Smokes", "Cancer")), keep=True)
    with duckdb.connect(str(path), read_only=True) as con:
        tables = {name for (name,) in con.execute("select table_name from duckdb_tables()").fetchall()}
    assert "clause" in tables
    assert not {name for name in tables if name.startswith(("scratch", "shown", "chosen"))}
    with sqlrl.connect(path, read_only=True) as db:
        assert db.sql("select count(*) from sqlrl.clause_statistics").fetchall() == [(3,)]
        world = {"Smokes": "select 'Anna' as person", "Cancer": "select 'Anna' as person"}
        assert db.count(sqlrl.parse_mln(SMOKERS, query=("Smokes", "Cancer")), world=world)["n"] == [1, 4, 15]


def test_labels_that_violate_hard_clauses_warn_with_a_count() -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a"), ("d2", "b")], types=("doc", "word"), example="doc")
    db.load("Class", [("d1", "x"), ("d1", "y"), ("d2", "x")], types=("doc", "class"), target=True)
    model = sqlrl.parse_mln(
        "Word(doc, word)\nClass(doc, class)\nWord(d, +w) => Class(d, +c)\nClass(d,c1) ^ c1 != c2 => !Class(d,c2)."
    )
    named = r"1 example, 1 block, the first that of Class\(\"d1\", \"x\"\) in d1 with 2 true atoms"
    with pytest.warns(sqlrl.errors.InfeasibleTruthWarning, match=named):
        sqlrl.AdaGrad().fit(db, model)
    with pytest.raises(InputError, match="violate"):
        sqlrl.AdaGrad(on_infeasible_truth="error").fit(db, model)


def test_alchemys_reading_is_another_distribution() -> None:
    text = "Friends(person, person)\nSmokes(person)\n2 Smokes(Anna) <=> Smokes(Bob)\n0.5 !Smokes(Anna)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact, alchemy = (
            smokers().predict(sqlrl.parse_mln(text, query=("Smokes",), semantics=kind)) for kind in ("exact", "alchemy")
        )
    assert exact.objective == pytest.approx(2.5)
    assert alchemy.objective == pytest.approx(2.5)  # both clauses of the normal form hold: 1 + 1 + 0.5


def test_an_unbound_variable_over_a_huge_domain_is_refused_before_any_work() -> None:
    db = sqlrl.connect()
    db.load("Friends", "select 'p' || i, 'p' || (i * 7 + 1) % 50000 from range(50000) t(i)", types=("person", "person"))
    header = "Friends(person, person)\nSmokes(person)\n"
    wide = sqlrl.parse_mln(header + "1 Friends(x, y) ^ Smokes(x) => Smokes(z)", query=("Smokes",))
    with pytest.raises(GroundingLimitError, match="leaves 2,500,000,000 groundings"):
        db.predict(wide, method="full")
    found = db.predict(wide)
    assert found.objective == 50_000**3, "no world violates less than the one that needs no ground clause"
    assert len(found.network.row_clause) == 0
    joined = sqlrl.parse_mln(header + "1 Friends(x, y) ^ Smokes(x) => Smokes(y)", query=("Smokes",))
    assert db.advanced.ground(joined, limit=50_000).atoms.size == 50_000


def test_weights_that_overflow_are_refused() -> None:
    for text in ("1e308 Friends(x, y) ^ Smokes(x) => Smokes(y)", "1e308 Smokes(x)\n0.9e308 !Smokes(x)"):
        model = sqlrl.parse_mln("Friends(person, person)\nSmokes(person)\n" + text, query=("Smokes",))
        for method in ("elimination" if "!" in text else "auto", "cpsat"):
            with pytest.raises(sqlrl.SqlrlError, match=r"scale them down|integer weights cannot hold"):
                smokers().predict(model, method=method)  # type: ignore[arg-type]
