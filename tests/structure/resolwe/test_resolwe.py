"""resolwe over a database: planted rules are found, windows and resumed runs change nothing, and what is wrong is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import InputError, ModelError, NotFittedError, NothingFoundWarning, SqlrlError, UnsupportedError

# Of 60 subgraphs a few have no good user.
pytestmark = pytest.mark.filterwarnings("ignore:.* of .* subgraphs (is|are) left out:sqlrl.errors.LabelWarning")

DECLARED = "Talks(user, user)\nLinks(user, user)\nOld(user)\nSwims(user)\nGood(user)"
TEMPLATES = """
ABOUT(u) = {Old(u), Swims(u)} compounder 2
NEAR(u, w) = {Talks, Links} extender 2
ABOUT(u) ^ [!]Good(u)
NEAR(u, w) ^ Good(u) ^ Good(w)
"""
FAST = sqlrl.AdaGrad()


def planted(seed: int = 0, subgraphs: int = 60, users: int = 8) -> dict[str, pa.Table]:
    """Return subgraphs in which old users are good, and good users talk with good ones; swimming and links say nothing."""
    random = np.random.default_rng(seed)
    rows: dict[str, list[tuple[str, ...]]] = {"Talks": [], "Links": [], "Old": [], "Swims": [], "Good": [], "Scope": []}
    for s in range(subgraphs):
        example, names = f"s{s:03d}", [f"u{i}" for i in range(users)]
        good = {name for name in names if random.random() < 0.25}
        for name in names:
            rows["Scope"].append((example, name))
            if name in good:
                rows["Good"].append((example, name))
            if random.random() < (0.7 if name in good else 0.05):
                rows["Old"].append((example, name))
            if random.random() < 0.4:
                rows["Swims"].append((example, name))
            for other in names:
                both, some = name in good and other in good, name in good or other in good
                if name != other and random.random() < (0.8 if both else 0.02 if some else 0.1):
                    rows["Talks"].append((example, name, other))
                if name != other and random.random() < 0.2:
                    rows["Links"].append((example, name, other))
    widths = {"Talks": 2, "Links": 2}
    found = {}
    for name, facts in rows.items():
        columns = ["example", *(f"x{i}" for i in range(widths.get(name, 1)))]
        found[name] = pa.table({c: pa.array([row[i] for row in facts], pa.string()) for i, c in enumerate(columns)})
    return found


def load(tables: dict[str, pa.Table], where: str | Path = ":memory:") -> sqlrl.Database:
    db = sqlrl.connect(where, progress=False)
    for name in ("Talks", "Links", "Old", "Swims"):
        kinds = ["user"] * (tables[name].num_columns - 1)
        db.load(name, tables[name], types=kinds, example="example")
    db.load("Good", tables["Good"], types=["user"], target=True, example="example")
    db.scope("Good", tables["Scope"])
    return db


MODEL = sqlrl.parse_mln(DECLARED)
GRAMMAR = sqlrl.parse_grammar(TEMPLATES)


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    return load(planted())


@pytest.fixture(scope="module")
def fitted(db: sqlrl.Database) -> sqlrl.Resolwe:
    return sqlrl.Resolwe(GRAMMAR, weights=FAST).fit(db, MODEL)


def kept(fit: sqlrl.Resolwe) -> list[str]:
    rows = fit.formulations_.to_arrow().to_pylist()
    return [row["formula"] for row in rows if row["kept"]]


@pytest.mark.slow
def test_planted_rules_are_kept_and_decoys_are_not(fitted: sqlrl.Resolwe) -> None:
    found = kept(fitted)
    assert "Old(u) ^ Good(u)" in found
    assert "Talks(u, w) ^ Good(u) ^ !Good(w)" in found
    assert "Talks(u, w) ^ !Good(u) ^ Good(w)" in found
    assert not any("Links" in formula for formula in found)
    assert "Swims(u) ^ Good(u)" not in found


def test_implications_have_negative_weights_and_conjunctions_positive_ones(fitted: sqlrl.Resolwe) -> None:
    weights = dict(zip(fitted.clauses()["clause"], fitted.clauses()["weight"], strict=True))
    assert weights["Old(u) ^ Good(u)"] > 0
    assert weights["Talks(u, w) ^ Good(u) ^ !Good(w)"] < 0


def test_probabilities_are_those_of_the_first_third(db: sqlrl.Database, fitted: sqlrl.Resolwe) -> None:
    tables = planted()
    first = {f"s{s:03d}" for s in range(20)}
    facts = {
        name: {row for row in zip(*table.to_pydict().values(), strict=True) if row[0] in first}
        for name, table in tables.items()
    }
    row = next(
        r for r in fitted.formulations_.to_arrow().to_pylist() if r["formula"] == "Talks(u, w) ^ Good(u) ^ !Good(w)"
    )
    others = [(e, u, w) for e, u, w in facts["Talks"] if (e, u) in facts["Good"]]
    both = [(e, u, w) for e, u, w in others if (e, w) in facts["Good"]]
    assert (row["support"], row["matched"]) == (len(others), len(both))
    assert row["probability"] == len(both) / len(others)
    assert row["implied"] == 1


@pytest.mark.slow
def test_windows_change_nothing_but_the_number_of_queries(db: sqlrl.Database, fitted: sqlrl.Resolwe) -> None:
    other = sqlrl.Resolwe(GRAMMAR, weights=FAST, window=3).fit(db, MODEL)
    assert other.formulations_.to_arrow().equals(fitted.formulations_.to_arrow())
    assert other.model_ == fitted.model_
    assert other.n_statements_ == 7 * fitted.n_statements_


def test_candidates_of_one_join_pattern_share_a_query(db: sqlrl.Database) -> None:
    def queries(text: str) -> tuple[int, int]:
        fit = sqlrl.Resolwe(sqlrl.parse_grammar(text), weights=FAST).fit(db, MODEL)
        return len(fit.candidates_), fit.n_statements_

    few = queries("N(u, w) = {Talks, Links} extender 2\nN(u, w) ^ Good(u) ^ Good(w)")
    many = queries(
        "N(u, w) = {Talks, Links} extender 2\nA(u) = {Old, Swims} compounder 2\nA(u) ^ N(u, w) ^ Good(u) ^ Good(w)\nN(u, w) ^ Good(u) ^ Good(w)"
    )
    assert few == (6, 2)
    # Chains are joined once for the queries that have them.
    assert many == (24, 7)


@pytest.mark.slow
def test_the_counts_can_be_read_while_structure_is_chosen(db: sqlrl.Database) -> None:
    seen: list[tuple[int, int]] = []

    def look(progress: Any) -> None:
        if hasattr(progress, "subgraphs"):
            query = f"select sum(n) from sqlrl.joint_count where run = {progress.run} and candidate = 0"
            seen.append((progress.window, db.sql(query).fetchall()[0][0]))

    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, window=5).fit(db, MODEL, callback=look)
    assert [window for window, _ in seen] == [1, 2, 3, 4]
    assert seen[-1][1] == fit.formulations_["support"][0]
    assert sorted(n for _, n in seen) == [n for _, n in seen]


class StoppedError(Exception):
    """Stops a run."""


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["counting", "weights"])
def test_a_resumed_run_ends_as_one_that_never_stopped(stage: str, tmp_path: Path) -> None:
    learner = sqlrl.baselines.ContrastiveDivergence(window=8)
    options: dict[str, Any] = {"weights": learner, "window": 6, "order": "shuffle", "random_state": 3}
    whole = sqlrl.Resolwe(GRAMMAR, **options).fit(load(planted(subgraphs=30)), MODEL)
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += hasattr(progress, "subgraphs") == (stage == "counting")
        if calls == 2:
            raise StoppedError

    with load(planted(subgraphs=30), tmp_path / "data.duckdb") as db:
        with pytest.raises(StoppedError) as stopped:
            sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, callback=stop, checkpoint=True)
        assert any("resume=1" in note for note in stopped.value.__notes__)
    with sqlrl.connect(tmp_path / "data.duckdb", progress=False) as db:
        again = sqlrl.Resolwe(GRAMMAR, **options).fit(db, MODEL, resume=1)
        assert again.run_ == 1
        assert str(again.model_) == str(whole.model_)
        assert again.weights_.last_weights_.tobytes() == whole.weights_.last_weights_.tobytes()
        assert again.formulations_.to_arrow().equals(whole.formulations_.to_arrow())
        assert db.sql("select status from sqlrl.run where run = 1").fetchall() == [("done",)]
        stored = db.sql("from sqlrl.formulation order by candidate, implied nulls first").to_arrow_table()
        assert stored.drop_columns(["run"]).to_pylist() == whole.formulations_.to_arrow().to_pylist()


@pytest.mark.slow
def test_a_run_is_resumed_as_what_it_was() -> None:
    db = load(planted(subgraphs=12))
    given: dict[str, Any] = {"templates": GRAMMAR, "weights": FAST, "window": 2}

    def stop(progress: Any) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        sqlrl.Resolwe(**given).fit(db, MODEL, callback=stop, checkpoint=True)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"templates": sqlrl.parse_grammar("ABOUT(u) = {Old}\nABOUT(u) ^ Good(u)")}, "templates="),
        ({"threshold": 0.7}, "threshold=0.5, not threshold=0.7"),
        ({"weights": sqlrl.baselines.MIRA()}, r"weights='AdaGrad\(\)', not weights='MIRA\(\)'"),
    ]
    for change, message in changes:
        with pytest.raises(InputError, match=f"cannot be resumed: it began with {message}"):
            sqlrl.Resolwe(**(given | change)).fit(db, MODEL, resume=1)


def grammar(text: str) -> Callable[[], sqlrl.Resolwe]:
    return lambda: sqlrl.Resolwe(sqlrl.parse_grammar(text), weights=FAST)


def with_options(**options: Any) -> Callable[[], sqlrl.Resolwe]:
    return lambda: sqlrl.Resolwe(GRAMMAR, **{"weights": FAST, **options})


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (with_options(threshold=1.5), InputError, "threshold=1.5 must be a number from 0 to 1"),
        (with_options(threshold=-0.1), InputError, "threshold=-0.1"),
        (with_options(confidence=1), InputError, "confidence=1 would need infinitely many"),
        (with_options(implication_threshold=1.5), InputError, "implication_threshold=1.5 must be a number from 0 to 1"),
        (
            with_options(default="estimated", implication_threshold=0.3),
            InputError,
            "implication_threshold=0.3 .* would keep every",
        ),
        (with_options(default="estimated", threshold=0.3), InputError, "would keep every probability"),
        (with_options(select=0), InputError, "select=0"),
        (with_options(select=60), InputError, "select=60 of 60 subgraphs leaves none to learn weights from"),
        (with_options(select=2.5), InputError, "neither a share below 1 nor a number"),
        (with_options(weights=sqlrl.Likelihood()), InputError, "weights must be an online learner, .* not Likelihood"),
        (with_options(weights=sqlrl.OSL("m.txt")), InputError, "OSL looks for clauses, too"),
        (with_options(max_candidates=3), ModelError, "3"),
        (lambda: sqlrl.Resolwe("no such file.txt"), SqlrlError, "no such file"),
        (lambda: sqlrl.Resolwe(7), InputError, "templates=7: give what"),
        (
            grammar("N(u, w) = {Talks}\nN(u, w) ^ Good(u) ^ !Good(w)"),
            UnsupportedError,
            "the signs are found from the data",
        ),
        (grammar("N(u) = {Good}\nN(u) ^ Good(u)"), ModelError, "Good"),
        (grammar("N(u) = {Young}\nN(u) ^ Good(u)"), ModelError, "Young"),
    ],
)
def test_what_is_wrong_is_said(
    db: sqlrl.Database, make: Callable[[], sqlrl.Resolwe], kind: type[SqlrlError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        make().fit(db, MODEL)


def test_a_model_must_say_what_is_predicted_and_mean_what_it_says(db: sqlrl.Database) -> None:
    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST).fit
    with pytest.raises(UnsupportedError, match="semantics 'alchemy', under which a conjunction is"):
        fit(db, sqlrl.parse_mln(DECLARED, semantics="alchemy"))
    with pytest.raises(InputError, match="a model is needed, not the text"):
        fit(db, DECLARED)  # type: ignore[arg-type]
    with sqlrl.connect() as empty, pytest.raises(InputError, match="nothing of the model is to be predicted"):
        fit(empty, MODEL)


def test_where_nothing_is_kept_the_unit_clauses_stay(db: sqlrl.Database) -> None:
    with pytest.warns(NothingFoundWarning, match=r"none of \d+ formulations is kept: .* lower threshold"):
        fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, threshold=1.0).fit(db, MODEL)
    assert len(fit.model_.rules) == 1


def test_rules_of_the_model_stay(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(f"{DECLARED}\nGood(v)\nSwims(v) => Good(v)")
    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST).fit(db, model)
    texts = [str(rule.formula) for rule in fit.model_.rules[:2]]
    assert texts == [str(rule.formula) for rule in model.rules]
    assert sum(rule.formula == model.rules[0].formula for rule in fit.model_.rules) == 1


@pytest.mark.filterwarnings("ignore::sqlrl.errors.CalibrationWarning")
def test_the_model_predicts(db: sqlrl.Database, fitted: sqlrl.Resolwe) -> None:
    scores = db.evaluate(db.probabilities(fitted.model_, examples=["s030", "s031", "s032"]))
    assert scores.auc_roc > 0.8


def test_it_says_nothing_before_fit() -> None:
    with pytest.raises(NotFittedError, match="no formulations_ yet"):
        sqlrl.Resolwe(GRAMMAR).formulations_  # noqa: B018
    assert "Resolwe(" in repr(sqlrl.Resolwe(GRAMMAR, threshold=0.7))


@pytest.mark.slow
def test_a_formulation_counts_in_a_world_what_it_was_chosen_by() -> None:
    # Users that talk with themselves, and chains that come back: a pair of query literals is about two atoms.
    tables = planted(subgraphs=20)
    loops = [(f"s{s:03d}", f"u{i}", f"u{i}") for s in range(20) for i in range(0, 8, 2)]
    columns = [pa.array([row[i] for row in loops], pa.string()) for i in range(3)]
    tables["Talks"] = pa.concat_tables([tables["Talks"], pa.table(columns, names=tables["Talks"].column_names)])
    db = load(tables)
    fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, once=True, threshold=0, min_support=0, select=19).fit(db, MODEL)
    # The others are left out.
    said = set(tables["Good"]["example"].to_pylist())
    first = [name for name in (f"s{s:03d}" for s in range(19)) if name in said]
    n = {row["text"]: row["n"] for row in db.count(fit.model_, examples=first).to_arrow().to_pylist()}
    rows = [row for row in fit.formulations_.to_arrow().to_pylist() if row["kept"]]
    assert len(rows) == 24
    for row in rows:
        # An implication is the conjunction that contradicts it.
        agrees = row["matched"] if row["implied"] is None else row["support"] - row["matched"]
        assert n[row["formula"]] == agrees, row["formula"]


def test_a_formula_that_the_model_has_is_not_there_twice(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln(f"{DECLARED}\nOld(person) ^ Good(person)")
    prior = sqlrl.parse_grammar("Old(u) ^ Good(u)\nGood(u)")
    fit = sqlrl.Resolwe(prior, weights=FAST, threshold=0).fit(db, model)
    assert [row["clause"] for row in sorted(fit.clauses().to_arrow().to_pylist(), key=lambda row: row["id"])] == [
        "Old(person) ^ Good(person)",
        "Good(x0)",
    ]


@pytest.mark.slow
def test_subgraphs_are_those_that_were_named_though_others_went() -> None:
    names, found = [f"s{s:03d}" for s in range(6, 18)], []
    for gone in (True, False):
        db = load(planted(subgraphs=18))
        if gone:
            first = ", ".join(f"'s{s:03d}'" for s in range(6))
            for name in ("Talks", "Links", "Old", "Swims", "Good"):
                columns = "example, user" if name == "Good" else "*"
                db.load(
                    name, db.sql(f"select {columns} from sqlrl.named_{name} where example in ({first})"), mode="remove"
                )
        fit = sqlrl.Resolwe(GRAMMAR, weights=FAST, select=7).fit(db, MODEL, examples=names)
        found.append((fit.formulations_.to_arrow().to_pylist(), str(fit.model_)))
    assert found[0] == found[1]


def test_a_share_of_one_leaves_nothing_for_weights(db: sqlrl.Database) -> None:
    with pytest.raises(InputError, match=r"select=1\.0 of 60 subgraphs leaves none to learn weights from"):
        sqlrl.Resolwe(GRAMMAR, weights=FAST, select=1.0).fit(db, MODEL)


def test_what_binding_refuses_is_said_of_the_candidate(db: sqlrl.Database) -> None:
    tied = sqlrl.parse_grammar("Word(d, w) ^ Word(e, w) ^ Tech(d) ^ Tech(e)")
    docs = sqlrl.connect(progress=False)
    docs.load("Word", [(f"d{i}", "sql") for i in range(6)], types=["doc", "word"], example="doc")
    docs.load("Tech", [("d1",)], types=["doc"], target=True)
    with pytest.raises(
        ModelError,
        match=r"^Word\(d, w\) \^ Word\(e, w\) \^ Tech\(d\) \^ Tech\(e\): its open literals belong to several",
    ):
        sqlrl.Resolwe(tied, weights=FAST).fit(docs, sqlrl.parse_mln("Word(doc, word)\nTech(doc)"))


def test_every_grounding_counts_where_that_is_asked_for(db: sqlrl.Database) -> None:
    chain = sqlrl.parse_grammar("N(u, w) = {Talks} extender 2\nN(u, w) ^ Good(u) ^ Good(w)")
    texts = [kept(sqlrl.Resolwe(chain, weights=FAST, once=once).fit(db, MODEL)) for once in (True, False)]
    assert "(EXIST z Talks(u, z) ^ Talks(z, w)) ^ !Good(u) ^ Good(w)" in texts[0]
    assert "Talks(u, z) ^ Talks(z, w) ^ !Good(u) ^ Good(w)" in texts[1]


def test_candidates_are_listed_with_their_queries_and_how_much_these_join(db: sqlrl.Database) -> None:
    rows = GRAMMAR.candidates(db, MODEL).to_arrow().to_pylist()
    tables = planted()
    talks = [tuple(row.values()) for row in tables["Talks"].to_pylist()]
    size = {row["formula"]: row["groundings"] for row in rows}
    assert size["Talks(u, w) ^ Good(u) ^ Good(w)"] == len(talks)
    chains = sum(1 for e, _, x in talks for f, y, _ in talks if (e, x) == (f, y))
    assert size["Talks(u, z) ^ Talks(z, w) ^ Good(u) ^ Good(w)"] == chains
    assert [row["candidate"] for row in rows] == list(range(12))
    assert len({row["sql"] for row in rows}) == 4
    with pytest.raises(InputError, match="templates='x': give what"):
        db.advanced.learning.candidates("x", MODEL)  # type: ignore[arg-type]


def test_clauses_are_told_without_their_weights() -> None:
    with sqlrl.connect() as db:
        pages = [(f"d{i}", word) for i in range(40) for word in (("sql", "join") if i % 2 else ("cat", "dog"))]
        db.load("Word", pages, types=["doc", "word"], example="doc")
        db.load("Tech", [(f"d{i}",) for i in range(40) if i % 2], types=["doc"], target=True)
        fit = sqlrl.Resolwe(sqlrl.parse_grammar('Word(d, "sql") ^ Tech(d)'), min_support=5).fit(
            db, sqlrl.parse_mln("Word(doc, word)\nTech(doc)")
        )
        found = db.sql("SELECT text, weight FROM sqlrl.clause WHERE origin = 'Resolwe' ORDER BY clause").fetchall()
    texts = ["Tech(x0)", 'Word(d, "sql") ^ Tech(d)']
    assert found == [(text, rule.weight) for text, rule in zip(texts, fit.model_.rules, strict=True)]
