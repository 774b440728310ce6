"""Online learners and OSL on streams of subgraphs: what they learn is what they learn of the same subgraphs that are loaded, in the same order."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.errors import GroundingLimitError, GroundingWarning, InputError, LabelWarning, UnsupportedError
from sqlrl.learn import OnlineEstimator
from tests.offered import OFFERED

Tables = dict[str, pa.Table]
Learner = sqlrl.OSL | OnlineEstimator

DECLARED = "Says(user, word)\nTalks(user, user)\nGood(user)"
WEIGHED = sqlrl.parse_mln(f"{DECLARED}\nGood(u)\nSays(u, Hello) => Good(u)\nTalks(u, w) ^ Good(u) => Good(w)")
SEARCHED = sqlrl.parse_mln(f"{DECLARED}\nGood(u)\nSays(u, Hello) => Good(u)")
MODES = sqlrl.parse_modes("modeP(2, Says(+, #.))\nmodeP(1, Talks(-, -))\nmodeP(1, Good(-))")
# Words of later windows come before those of the first ones, by name.
WORDS = [["Yes", "Hello", "Zoo"], ["Ah", "Hello", "Yes"]]
WINDOW, USERS = 4, 4
NAMES = [f"s{i}" for i in range(8)]

WEIGHTS = {
    name: made
    for name in OFFERED
    if isinstance(made := OFFERED[name], type)
    and issubclass(made, OnlineEstimator)
    and made not in (OnlineEstimator, sqlrl.OSL)
}
LEARNERS: dict[str, Callable[..., Any]] = {
    **WEIGHTS,
    "OSL": lambda **options: sqlrl.OSL(MODES, 3, **options),
}
PASSES = {name: 2 if name in ("AdaGrad", "OSL") else 1 for name in LEARNERS}


def model_of(name: str) -> sqlrl.Model:
    return SEARCHED if name == "OSL" else WEIGHED


@cache
def drawn() -> tuple[tuple[str, Tables], ...]:
    """Return windows of subgraphs, with their names: who greets is good, and so is who talks with good ones."""
    rng, found = random.Random(5), []
    for place in range(0, len(NAMES), WINDOW):
        rows: dict[str, list[tuple[object, ...]]] = {"Says": [], "Talks": [], "Good": []}
        for name in NAMES[place : place + WINDOW]:
            users = [f"u{rng.randrange(10, 40)}{i}" for i in range(USERS)]
            words = {user: rng.choice(WORDS[place // WINDOW]) for user in users}
            talks = [(a, b) for a in users for b in users if a != b and rng.random() < 0.3]
            good = {user for user in users if words[user] in ("Hello", "Ah", "Zoo") or rng.random() < 0.2}
            rows["Says"] += [(name, user, word) for user, word in words.items()]
            rows["Talks"] += [(name, a, b) for a, b in talks]
            rows["Good"] += [(name, user, user in good) for user in users]
        columns = {"Says": ["a", "b"], "Talks": ["a", "b"], "Good": ["a", "truth"]}
        tables = {
            p: pa.table({c: pa.array([row[i] for row in given]) for i, c in enumerate(["example", *columns[p]])})
            for p, given in rows.items()
        }
        found.append((NAMES[place], tables))
    return tuple(found)


def windows() -> Iterator[Tables]:
    return iter([tables for _, tables in drawn()])


def stream() -> sqlrl.SubgraphTables:
    return sqlrl.SubgraphTables(windows)


def whole(tables: Iterator[Tables] | list[Tables]) -> Tables:
    parts = list(tables)
    return {name: pa.concat_tables([part[name] for part in parts]) for name in parts[0]}


def loaded(tables: Tables, where: str | Path = ":memory:") -> sqlrl.Database:
    """Load subgraphs, so that the ids of constants follow their names as in a window: all users and words are in Says."""
    db = sqlrl.connect(where, progress=False)
    db.load("Says", tables["Says"], columns=["a", "b"], types=["user", "word"], example="example")
    db.load("Talks", tables["Talks"], columns=["a", "b"], types=["user", "user"], example="example")
    db.load("Good", tables["Good"], columns=["a"], types=["user"], example="example", truth="truth", target=True)
    db.scope("Good", tables["Good"].select(["example", "a"]))
    return db


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    return loaded(whole(windows()))


def new(where: str | Path = ":memory:") -> sqlrl.Database:
    return sqlrl.connect(where, progress=False)


def kept(db: sqlrl.Database, run: int) -> dict[str, list[tuple[object, ...]]]:
    """Return what a run left in the database, but for ids of examples and atoms, and counts of what is gone."""
    queries = {
        "clause": "select clause, text, weight, hard from sqlrl.clause join sqlrl.run using (model)",
        "step": "select step, example_name, loss, atoms, correct, score_truth from sqlrl.step",
        "history": "select step, clause, delta_n, weight from sqlrl.weight_history",
        "statistics": "select clause, delta_n from sqlrl.clause_statistics",
        "added": "select clause, step, example_name, atom_name, horn, delta_n from sqlrl.added_clause",
        "learned from": "select distinct example_name, predicate from sqlrl.learned_from",
    }
    return {name: db.sql(f"{query} where run = {run} order by all").fetchall() for name, query in queries.items()}


def check_same(one: Any, other: Any) -> None:
    assert str(one.model_) == str(other.model_)
    for name in ("weights_", "last_weights_"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert one.steps_.drop_columns(["example"]).equals(other.steps_.drop_columns(["example"]))
    assert one.support_.equals(other.support_)
    assert one.clauses().to_arrow().equals(other.clauses().to_arrow())
    assert one.n_steps_ == other.n_steps_
    if isinstance(one, sqlrl.OSL):
        assert one.added().to_arrow().equals(other.added().to_arrow())


def test_there_are_learners() -> None:
    assert {"AdaGrad", "CDA", "ContrastiveDivergence", "MIRA", "Perceptron", "Subgradient"} <= WEIGHTS.keys()


@pytest.fixture(scope="module")
def expected_of(db: sqlrl.Database) -> Callable[[str], Any]:
    """What is learned of the loaded subgraphs by name, once for all tests on a database."""

    @cache
    def expected(name: str) -> Any:
        # A pool of OSL and its progress end with a window, so that both have the same.
        size: dict[str, Any] = {"window": WINDOW} if name == "OSL" else {}
        return LEARNERS[name](**options_of(name), **size).fit(db, model_of(name), examples=NAMES)

    return expected


def options_of(name: str) -> dict[str, Any]:
    return {"passes": PASSES[name], "record_history": True}


@pytest.mark.parametrize(
    "name",
    # The learners of weights differ in their update, which knows no windows.
    [pytest.param(name, marks=[] if name in ("AdaGrad", "OSL") else [pytest.mark.slow]) for name in LEARNERS],
)
def test_a_stream_gives_what_the_loaded_subgraphs_give(
    name: str, db: sqlrl.Database, expected_of: Callable[[str], Any]
) -> None:
    expected = expected_of(name)
    other, seen = new(), list[tuple[int, int, int]]()
    fit = LEARNERS[name](**options_of(name)).fit(
        other, model_of(name), examples=stream(), callback=lambda p: seen.append((p.window, p.steps, p.run))
    )
    check_same(fit, expected)
    assert kept(other, fit.run_) == kept(db, expected.run_)
    assert seen == [(i + 1, WINDOW * (i + 1), fit.run_) for i in range(2 * PASSES[name])]
    (run,) = other.sql("select learner, status, parameters ->> 'stream' from sqlrl.run").fetchall()
    assert run == (name, "done", "SubgraphTables")
    if name == "OSL":
        clauses = fit.added()["clause"].to_pylist()
        # Of constants that only later windows have, too, and not again what the model has.
        assert any('"Ah"' in text or "Ah" in text for text in clauses)
        assert len(set(clauses)) == len(clauses)
        assert "Says(u, Hello) => Good(u)" not in clauses


class StoppedError(Exception):
    """What stops a run."""


@pytest.mark.parametrize(
    ("name", "after"),
    [
        pytest.param(name, after, marks=[] if (name, after) in (("AdaGrad", 3), ("OSL", 1)) else pytest.mark.slow)
        for name in LEARNERS
        for after in ((1, 3) if PASSES[name] > 1 else (1,))
    ],
)
def test_a_run_that_was_stopped_goes_on(
    name: str, after: int, db: sqlrl.Database, expected_of: Callable[[str], Any], tmp_path: Path
) -> None:
    options, expected = options_of(name), expected_of(name)

    def stop(progress: Any) -> None:
        if progress.window == after:
            raise StoppedError

    with new(tmp_path / "run.duckdb") as first, pytest.raises(StoppedError):
        LEARNERS[name](**options).fit(first, model_of(name), examples=stream(), callback=stop, checkpoint=True)
    with new(tmp_path / "run.duckdb") as again:
        fit = LEARNERS[name](**options).fit(again, model_of(name), examples=stream(), resume=1)
        check_same(fit, expected)
        assert kept(again, 1) == kept(db, expected.run_)


def test_a_run_is_resumed_with_the_same_stream(tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        raise StoppedError

    db = new()
    with pytest.raises(StoppedError):
        sqlrl.AdaGrad().fit(db, WEIGHED, examples=stream(), callback=stop, checkpoint=True)
    others = sqlrl.SubgraphTables(lambda: [tables for _, tables in drawn()[1:]])
    with pytest.raises(InputError, match="the stream's first 4 subgraphs have other names than those that the run had"):
        sqlrl.AdaGrad().fit(db, WEIGHED, examples=others, resume=1)
    with pytest.raises(InputError, match="run 1 cannot be resumed: it began with passes=1"):
        sqlrl.AdaGrad(passes=2).fit(db, WEIGHED, examples=stream(), resume=1)


@pytest.mark.parametrize("name", ["AdaGrad", pytest.param("OSL", marks=pytest.mark.slow)])
def test_what_is_read_once_has_one_pass_and_is_not_saved(name: str) -> None:
    once = lambda: sqlrl.SubgraphTables(windows())  # noqa: E731
    model = model_of(name)
    with pytest.raises(
        InputError,
        match=r"so that there can be no 2 passes over it: give SubgraphTables a function .* or leave out passes",
    ):
        LEARNERS[name](passes=2).fit(new(), model, examples=once())
    with pytest.raises(
        InputError,
        match=r"so that the run could not be resumed: give SubgraphTables a function .* or leave out checkpoint",
    ):
        LEARNERS[name]().fit(new(), model, examples=once(), checkpoint=True)
    given = once()
    assert LEARNERS[name]().fit(new(), model, examples=given).n_steps_ == len(NAMES)
    with pytest.raises(InputError, match="an iterator that was read before is gone"):
        LEARNERS[name]().fit(new(), model, examples=given)


@pytest.mark.parametrize("name", ["AdaGrad", "OSL"])
def test_what_is_of_loaded_examples_alone_is_refused(name: str) -> None:
    for options, message in (
        ({"order": "shuffle"}, "a stream has its own order"),
        ({"window": 7}, "window=7 is for loaded examples"),
    ):
        with pytest.raises(InputError, match=message):
            LEARNERS[name](**options).fit(new(), model_of(name), examples=stream())
    with pytest.raises(GroundingLimitError):
        LEARNERS[name]().fit(new(), model_of(name), examples=stream(), limit=1)


def test_a_learner_of_clauses_lets_no_other_learn_again_from_a_stream() -> None:
    with pytest.raises(
        InputError, match="then= learns weights again from the same subgraphs, and those of a stream are gone"
    ):
        sqlrl.OSL(MODES, 3, then=sqlrl.AdaGrad()).fit(new(), SEARCHED, examples=stream())


REFUSING: dict[str, Callable[[], Any]] = {
    "Likelihood": lambda: sqlrl.Likelihood().fit(new(), WEIGHED, examples=stream()),
    "MaxMargin": lambda: sqlrl.MaxMargin().fit(new(), WEIGHED, examples=stream()),
    "VotedPerceptron": lambda: sqlrl.baselines.VotedPerceptron(1.0).fit(new(), WEIGHED, examples=stream()),
    "PSCG": lambda: sqlrl.PSCG().fit(new(), WEIGHED, examples=stream()),
    "PseudoLikelihood": lambda: sqlrl.PseudoLikelihood().fit(new(), WEIGHED, examples=stream()),
    "MSL": lambda: sqlrl.MSL().fit(new(), WEIGHED, examples=stream()),
    "ILP": lambda: sqlrl.ILP().fit(loaded(whole(windows())), "Good", examples=stream()),
    "ConstrainedTraining": lambda: sqlrl.ConstrainedTraining(sqlrl.AdaGrad(), mode="sct").fit(
        new(), WEIGHED, examples=stream()
    ),
    "SoftPseudoLikelihood": lambda: sqlrl.SoftPseudoLikelihood().fit(
        new(), sqlrl.parse_psl("1.0: Says(U, 'Hello') -> Good(U)"), examples=stream()
    ),
}


@pytest.mark.parametrize("name", REFUSING)
def test_learners_that_go_back_to_their_examples_say_who_takes_a_stream(name: str) -> None:
    with pytest.raises(
        UnsupportedError, match=r"or take an online learner \(sqlrl.AdaGrad and others\), sqlrl.OSL or sqlrl.Resolwe"
    ):
        REFUSING[name]()


# ---- what subgraphs say, and do not say --------------------------------------------------------------------


def said(fit: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit()
    kinds = (LabelWarning, GroundingWarning)
    return fitted, sorted(str(each.message) for each in caught if issubclass(each.category, kinds))


@pytest.mark.parametrize("name", ["AdaGrad", pytest.param("OSL", marks=pytest.mark.slow)])
def test_what_labels_and_rules_do_not_say_is_said(name: str) -> None:
    # Of one subgraph there is evidence alone, all labels are true, and a rule has no ground clause.
    silent = {"Says": [("t0", "u1", "Ho")], "Talks": [], "Good": []}
    tables = [dict(part) for part in windows()]
    for p, rows in silent.items():
        schema = tables[1][p].schema
        more = pa.table({c.name: pa.array([row[i] for row in rows], c.type) for i, c in enumerate(schema)})
        tables[1][p] = pa.concat_tables([tables[1][p], more])
    for part in tables:
        good = part["Good"]
        part["Good"] = good.set_column(2, "truth", pa.array([True] * len(good)))
    model = sqlrl.parse_mln(f"{DECLARED}\nGood(u)\nTalks(u, u) ^ Says(u, Nothing) => Good(u)")
    examples = [*NAMES, "t0"]
    size = {"window": WINDOW} if name == "OSL" else {}
    one, words = said(lambda: LEARNERS[name](**size).fit(loaded(whole(tables)), model, examples=examples))
    other, others = said(lambda: LEARNERS[name]().fit(new(), model, examples=sqlrl.SubgraphTables(tables)))
    assert one.n_steps_ == other.n_steps_ == 9
    assert one.weights_.tobytes() == other.weights_.tobytes()
    assert [text.replace("subgraphs", "examples").replace("Leave them out", "Leave") for text in others] == [
        text.replace("Leave them out with examples=, or check the scope of the target", "Leave") for text in words
    ]
    for start in (
        "1 of 9 examples has no query atoms, t0",
        "all 32 labels of Good are true",
        "1 rule has no ground clause",
    ):
        assert any(text.startswith(start) for text in words)


def queries(con: duckdb.DuckDBPyConnection, centres: str, window: int = WINDOW) -> sqlrl.SubgraphQueries:
    relations = {name: f"from {name} semi join centres using (example)" for name in ("Says", "Talks", "Good")}
    return sqlrl.SubgraphQueries(con, centres, relations, window=window)


def test_centres_of_a_graph_without_a_row_are_left_out(db: sqlrl.Database) -> None:
    con = duckdb.connect()
    for name, data in whole(windows()).items():
        con.register("given", data)
        con.execute(f"create table {name} as from given")
    expected = sqlrl.AdaGrad().fit(db, WEIGHED, examples=NAMES)
    given = queries(con, "from (select distinct example from Good union all values ('s00'), ('s1a')) order by 1")
    fit, words = said(lambda: sqlrl.AdaGrad().fit(new(), WEIGHED, examples=given))
    check_same(fit, expected)
    assert words == [
        "2 of 10 subgraphs are left out: 2 without query atoms, 0 of several that are all true or all false"
    ]
    with pytest.raises(InputError, match="nothing is left to learn from: none of 1 subgraph has a row"):
        sqlrl.AdaGrad().fit(new(), WEIGHED, examples=queries(con, "values ('nobody')"))


def test_labels_of_what_no_rule_names_are_not_predicted(db: sqlrl.Database) -> None:
    other = [{**part, "Bad": part["Good"]} for part in windows()]
    model = sqlrl.parse_mln(
        f"{DECLARED}\nBad(user)\nGood(u)\nSays(u, Hello) => Good(u)\nTalks(u, w) ^ Good(u) => Good(w)"
    )
    fit = sqlrl.AdaGrad().fit(new(), model, examples=sqlrl.SubgraphTables(other))
    expected = sqlrl.AdaGrad().fit(db, WEIGHED, examples=NAMES)
    assert fit.steps_.drop_columns(["example"]).equals(expected.steps_.drop_columns(["example"]))
    assert fit.weights_.tobytes() == expected.weights_.tobytes()


@pytest.mark.filterwarnings("ignore::sqlrl.errors.GroundingWarning")
def test_a_learned_model_lists_the_constants_that_all_windows_have() -> None:
    # Those over which a block of a target ranges, and those that rules name at its arguments; by name, as loaded data have them.
    tables = [
        {
            "Tok": pa.table({"example": [name], "a": ["t"], "w": ["Ab"]}),
            "Field": pa.table({"example": [name] * 2, "a": ["t"] * 2, "f": fields, "truth": [True, False]}),
        }
        for name, fields in (("s0", ["Z", "Y"]), ("s1", ["Y", "A"]))
    ]
    rules = "Tok(t, Ab) => Field(t, Y)\nTok(t, Ab) => Field(t, A)\nTok(t, Ab) => Field(t, None)"
    for block, listed in (("!", "field = {A, Y, Z, None}"), ("", "field = {A, Y, None}")):
        model = sqlrl.parse_mln(f"Tok(tok, word)\nField(tok, field{block})\n{rules}")
        fit = sqlrl.AdaGrad().fit(new(), model, examples=sqlrl.SubgraphTables(tables))
        data = whole(tables)
        db = new()
        db.load("Tok", data["Tok"], columns=["a", "w"], types=["tok", "word"], example="example")
        options: dict[str, Any] = {"example": "example", "truth": "truth", "target": True}
        db.load("Field", data["Field"], columns=["a", "f"], types=["tok", "field"], **options)
        db.scope("Field", data["Field"].select(["example", "a", "f"]))
        assert str(fit.model_) == str(sqlrl.AdaGrad().fit(db, model).model_)
        assert str(fit.model_).startswith(listed)
