"""Arguments that are of the wrong kind: each is named with its remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

import sqlrl
from sqlrl.errors import InputError, SqlrlError
from sqlrl.logic.files import parse_model
from sqlrl.logic.saving import model_to_json

MODEL = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d)")


@pytest.fixture(scope="module")
def db() -> sqlrl.Database:
    opened = sqlrl.connect()
    opened.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
    opened.load("Liked", [("d1",)], types=["doc"], target=True)
    return opened


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda db: db.predict("1 Liked(d)"),
            "a model is needed, not the text '1 Liked.d.': parse it with sqlrl.parse_mln",
        ),
        (lambda db: db.probabilities("1 Liked(d)"), "a model is needed, not the text"),
        (lambda db: db.count(3), "a model is needed, not an object of type int"),
        (lambda db: sqlrl.AdaGrad().fit(db, "1 Liked(d)"), "a model is needed, not the text"),
        (lambda db: db.predict(sqlrl.AdaGrad().fit(db, MODEL)), "not the estimator AdaGrad: .* in model_"),
        (lambda db: sqlrl.parse_mln(b"Liked(d)"), "the text of a model is a str, not bytes: decode"),
        (
            lambda db: sqlrl.parse_mln("lc0.mln"),
            "'lc0.mln' is the path of a file rather than the text of a model: read files",
        ),
        (lambda db: sqlrl.read_mln("Liked(d)\n"), "if this is the text itself, pass it to sqlrl.parse_mln"),
        (lambda db: sqlrl.read_bias("modeh(1, p(+a))."), "if this is the text itself, pass it to sqlrl.parse_bias"),
        (lambda db: sqlrl.read_bias(3), "3 is no path of a file: give a str or a pathlib.Path"),
        (lambda db: sqlrl.parse_bias("a/b.modes"), "'a/b.modes' is the path of a file .* of a bias: .* with read_bias"),
        (lambda db: sqlrl.ILP("modeh(1, p(+a)).").fit(db, "Liked"), "pass it to sqlrl.parse_bias"),
        (lambda db: sqlrl.read_grammar("S(x) ^ t(x)"), "if this is the text itself, pass it to sqlrl.parse_grammar"),
        (
            lambda db: sqlrl.parse_grammar("a.grammar"),
            "'a.grammar' is the path of a file .* of a grammar: .* with read_g",
        ),
        (
            lambda db: sqlrl.parse_grammar(None),
            "the text of a grammar is a str, not NoneType: read files with read_grammar",
        ),
        (lambda db: sqlrl.read_modes("modeP(1, Liked(-))"), "pass it to sqlrl.parse_modes"),
        (
            lambda db: sqlrl.parse_modes("modes.txt"),
            "'modes.txt' is the path of a file .* of modes: .* with read_modes",
        ),
        (lambda db: db.define(3), "a str, not int: give rules such as 'p.x. :- q.x..', or a pathlib.Path"),
        (
            lambda db: db.define("rules.pl"),
            "'rules.pl' is the path of a file .*: give rules such as .* or a pathlib.Path",
        ),
        (
            lambda db: db.predict(MODEL, roles=sqlrl.Roles(drop=["Wrod"])),
            "no predicate 'Wrod' to drop; did you mean 'Word'",
        ),
        (lambda db: sqlrl.parse_mln("P(t)", query=[3]), "query= takes names of predicates, and 3 is none"),
        (lambda db: sqlrl.parse_mln("P(t)", query=3), "query= takes names of predicates, and 3 is none"),
        (lambda db: db.predict(MODEL, roles=sqlrl.Roles(drop=3)), "drop= takes names of predicates, and 3 is none"),
        (
            lambda db: db.count(MODEL, roles=sqlrl.Roles(hidden=["Word", 1])),
            "hidden= takes names of predicates, and 1 is none",
        ),
        *(
            (
                lambda db, x=x: db.predict(MODEL, deterministic_limit=x),
                f"deterministic_limit={x!r} must be a positive number",
            )
            for x in (0, -1, "a", True, float("nan"))
        ),
        *(
            (
                lambda db, x=x: db.predict(MODEL, random_state=x),
                f"random_state={x!r} must be a whole number from 0 to 2,147,483,647",
            )
            for x in (-1, 1.5, "a", 2**31, False)
        ),
        (
            lambda db: db.probabilities(MODEL, random_state=2**40),
            f"random_state={2**40} must be a whole number from 0 to 2,147,483,647",
        ),
        (lambda db: db.predict(MODEL, into=3), "into=3 must be the name of a table"),
        (lambda db: db.probabilities(MODEL, keep="yes"), "keep='yes' must be True or False"),
        (lambda db: db.predict(MODEL, replace=1), "replace=1 must be True or False"),
        (lambda db: db.predict(MODEL, limit="x"), "limit='x' must be a whole number of ground clauses"),
        (lambda db: db.advanced.ground(MODEL, limit=-1), "limit=-1 must be a whole number"),
        (lambda db: db.count(MODEL, limit=2.5), "limit=2.5 must be a whole number"),
        (
            lambda db: db.predict(MODEL, examples="select 'd1' as doc, 2 as k"),
            "examples= takes one column, .* has 2: doc, k",
        ),
        (lambda db: db.load("X", 3), "cannot load from an object of type int: pass a path"),
        (lambda db: db.load("", [("a",)]), "'' cannot be the name of a predicate"),
        (lambda db: db.load("a b", [("a",)]), "'a b' cannot be the name of a predicate: a name is a letter"),
        (lambda db: db.load(3, [("a",)]), "the name of a predicate is a text, not 3"),
        (lambda db: db.load("X", [("a",)], types=["2nd"]), "'2nd' cannot be the name of a type"),
        (lambda db: db.scope("2nd", [("a",)]), "'2nd' cannot be the name of a predicate"),
    ],
)
def test_what_is_of_the_wrong_kind_is_named(
    db: sqlrl.Database, ask: Callable[[sqlrl.Database], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ask(db)


@pytest.mark.parametrize(
    "learner",
    [
        sqlrl.CDA(),
        sqlrl.Likelihood(),
        sqlrl.MaxMargin(),
        sqlrl.PSCG(),
        sqlrl.PseudoLikelihood(),
        sqlrl.baselines.VotedPerceptron(),
        sqlrl.OSL(sqlrl.parse_modes("modeP(1, Word(+, #.))\nmodeP(1, Liked(-))")),
        sqlrl.ILP(),
        sqlrl.ConstrainedTraining(sqlrl.CDA()),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_learner_without_a_database_or_a_model_says_what_to_pass(db: sqlrl.Database, learner: Any) -> None:
    for wrong, named in ((None, "None"), ("a.duckdb", "'a.duckdb'"), (MODEL, "an object of type Model")):
        with pytest.raises(InputError, match=rf"from a database, not from {named}: open it with sqlrl\.connect"):
            learner.fit(wrong, db if wrong is MODEL else MODEL)
    needed = "give the name of a predicate" if isinstance(learner, sqlrl.ILP) else "a model is needed, not None"
    with pytest.raises(InputError, match=needed):
        learner.fit(db, None)


def test_a_closed_database_says_so() -> None:
    db = sqlrl.connect()
    db.close()
    for ask in (lambda: db.load("X", [("a",)]), lambda: db.sql("select 1"), lambda: db.predict(MODEL)):
        with pytest.raises(InputError, match=r"^:memory: is closed: open it again with connect\(\)\.$"):
            ask()
    connection = duckdb.connect()
    connection.close()
    with pytest.raises(InputError, match="the connection is closed"):
        sqlrl.connect(connection)


def test_closed_formulas_can_be_counted() -> None:
    db = sqlrl.connect()
    db.load("Friends", [("A", "B"), ("B", "C"), ("C", "B")])
    model = sqlrl.parse_mln("Friends(p, p)\n1 Friends(x, y) => Friends(y, x)\n2 Friends(x, y)")
    assert db.count(model)["n"] == [8, 3]
    assert db.count(model, world="observed", against="observed")["delta_n"] == [0, 0]
    with pytest.raises(InputError, match="nothing to predict"):
        db.predict(model)


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt, "interrupted"), (ValueError, "failed")])
def test_a_run_that_was_ended_is_kept_with_its_parameters(error: type[BaseException], status: str) -> None:
    db = sqlrl.connect()
    db.load("Word", [("d1", "a"), ("d2", "b")], types=["doc", "word"], example="doc")
    db.load("Liked", [("d1",)], types=["doc"], target=True)

    def stop(progress: object) -> None:
        raise error

    with pytest.raises(error):
        sqlrl.AdaGrad(learning_rate=0.25, random_state=7).fit(db, MODEL, callback=stop)
    asked = "select learner, status, parameters ->> 'learning_rate', seed, model from sqlrl.run"
    # Ctrl-C keeps what there is.
    model = 1 if status == "interrupted" else None
    assert db.sql(asked).fetchall() == [("AdaGrad", status, "0.25", 7, model)]
    sqlrl.AdaGrad().fit(db, MODEL)
    assert db.sql("select run, status from sqlrl.run order by run").fetchall() == [(1, status), (2, "done")]


HALF = "caf\udce9"
"""What Python makes of a byte that is no UTF-8, in names of files and arguments."""


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: sqlrl.connect(f"{HALF}.duckdb"),
        lambda db: sqlrl.connect(f"{HALF}.duckdb", read_only=True),
        lambda db: sqlrl.connect(temp_directory=HALF),
        lambda db: db.load("Q", HALF),
        lambda db: db.load("Q", f"select '{HALF}' as x"),
        lambda db: db.load("Q", [(HALF,)]),
        lambda db: db.predict(MODEL, examples=f"select '{HALF}'"),
        lambda db: db.predict(MODEL, examples=[HALF]),
        lambda db: db.predict(MODEL, into=HALF),
        lambda db: db.sql(f"select '{HALF}'"),
        lambda db: db.export(MODEL, f"{HALF}.wcnf"),
        lambda db: sqlrl.parse_mln(f'1 Liked("{HALF}")'),
        lambda db: sqlrl.parse_modes(f'modeh(1, p("{HALF}")).'),
        lambda db: sqlrl.parse_bias(f"modeh(1, p('{HALF}'))."),
        lambda db: sqlrl.parse_grammar(f'S(x) = {{p(x, "{HALF}")}}'),
        lambda db: sqlrl.Symbol("S", ("x",), [f'p(x, "{HALF}")']),
        lambda db: model_from_text(MODEL, '"Liked"', '"Li\\udce9ked"'),
    ],
)
def test_half_characters_are_refused(db: sqlrl.Database, ask: Callable[[sqlrl.Database], object]) -> None:
    with pytest.raises(SqlrlError, match="surrogate"):
        ask(db)


def model_from_text(model: sqlrl.Model, part: str, other: str) -> sqlrl.Model:
    """The model whose JSON has another text at a place."""
    text = json.dumps(model_to_json(model))
    assert part in text
    return parse_model(text.replace(part, other))


def test_a_learner_is_given_a_model_without_what_has_no_data(db: sqlrl.Database) -> None:
    model = sqlrl.parse_mln("Word(doc, word)\nLiked(doc)\nRich(doc)\nLiked(d)\nRich(d) => Liked(d)")
    with pytest.raises(
        InputError, match=r"without data: Rich\. .* or leave their rules out of the model: model\.without"
    ):
        sqlrl.Likelihood("l2").fit(db, model)
    fit = sqlrl.Likelihood("l2").fit(db, model.without("Rich"))
    assert fit.clauses()["clause"].to_pylist() == ["Liked(d)"]
