"""The functions `ML.x`: what the verbs of Python say, in any place of a statement where a table may stand."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sqlrl
from sqlrl import Database
from sqlrl.errors import ScriptError
from sqlrl.script.functions import FUNCTIONS


def rows(db: Database, query: str) -> list[dict[str, object]]:
    found = db.run(query).table
    assert found is not None
    return found.to_arrow().to_pylist()


@pytest.fixture
def db(read_only_db: Database) -> Database:
    return read_only_db


@pytest.mark.slow
def test_predict_has_every_atom_with_its_margin(db: Database) -> None:
    prediction = db.predict(db.models["taste"])
    expected = prediction.atoms(every=True).to_pylist()
    found = rows(db, "SELECT * EXCLUDE (margin) FROM ML.PREDICT(MODEL taste)")
    assert found == expected
    margins = rows(db, "SELECT doc, margin FROM ML.PREDICT(MODEL Taste, 'Liked')")
    for row in margins:
        assert row["margin"] == pytest.approx(prediction.why(f"Liked({row['doc']})").margin)


def test_margins_are_those_of_enumeration(db: Database) -> None:
    # The best score of all worlds in which an atom is as predicted, less that of those in which it is not.
    names = [f"d{i}" for i in range(1, 7)]
    words = {(r["doc"], r["word"]) for r in rows(db, "FROM words")}
    links = {(r["a"], r["b"]) for r in rows(db, "FROM links")}

    def score(liked: set[str]) -> float:
        total = -0.25 * len(liked)
        for word, weight in (("good", 1.5), ("bad", -0.5)):
            total += weight * sum((d, word) not in words or d in liked for d in names)
        return total + 0.75 * sum((x, y) not in links or x not in liked or y in liked for x in names for y in names)

    worlds = [({n for i, n in enumerate(names) if bits >> i & 1}) for bits in range(64)]
    scores = [score(world) for world in worlds]
    for row in rows(db, "FROM ML.PREDICT(MODEL taste)"):
        same = max(s for w, s in zip(worlds, scores, strict=True) if (row["doc"] in w) == row["truth"])
        other = max(s for w, s in zip(worlds, scores, strict=True) if (row["doc"] in w) != row["truth"])
        assert same == pytest.approx(max(scores))
        assert row["margin"] == pytest.approx(same - other)


def test_probabilities_and_scores(db: Database) -> None:
    model = db.models["taste"]
    marginals = db.probabilities(model)
    assert rows(db, "FROM ML.PROBABILITIES(MODEL taste)") == marginals.probabilities().to_pylist()
    sampled = "FROM ML.PROBABILITIES(MODEL taste, method => 'gibbs', samples => 50, random_state => 3)"
    assert (
        rows(db, sampled)
        == db.probabilities(model, method="gibbs", samples=50, random_state=3).probabilities().to_pylist()
    )
    assert rows(db, "FROM ML.EVALUATE(MODEL taste)") == db.evaluate(db.predict(model)).table().to_pylist()
    assert (
        rows(db, "FROM ML.EVALUATE(MODEL taste, probabilities => true)") == db.evaluate(marginals).table().to_pylist()
    )
    by_example = db.evaluate(db.predict(model)).example_table().to_pylist()
    assert rows(db, "FROM ML.EVALUATE(MODEL taste, by => 'example')") == by_example


def test_weights_counts_reasons_and_diagnosis(db: Database) -> None:
    model = db.models["taste"]
    weights = rows(db, "SELECT text, weight, hard FROM ML.WEIGHTS(MODEL taste)")
    assert [(r["weight"], r["hard"]) for r in weights] == [(rule.weight, False) for rule in model.rules]
    assert rows(db, "FROM ML.COUNT(MODEL taste)") == db.count(model).to_pylist()
    (row,) = rows(db, "SELECT n, groundings FROM ML.COUNT(MODEL taste, 'Link(x, y) ^ Liked(x) => Liked(y)')")
    third = db.count(model).to_pylist()[2]
    assert (row["n"], row["groundings"]) == (third["n"], third["groundings"])
    (row,) = rows(db, "SELECT n FROM ML.COUNT(MODEL taste, 'Liked(d)', world => (SELECT 'd2' AS doc))")
    assert row["n"] == 1
    by = "FROM ML.COUNT(MODEL taste, 'Link(x, y) ^ Liked(x) => Liked(y)', by => 'x')"
    expected = db.count(model, formula="Link(x, y) ^ Liked(x) => Liked(y)", by="x").to_pylist()
    assert rows(db, by) == expected
    assert sum(r["n"] for r in expected) == third["n"]
    described = [r["column_name"] for r in rows(db, f"DESCRIBE {by}")]
    assert described == ["x", "clause", "groundings", "n", "violated", "applies"]
    reasons = db.predict(model).why("Liked(d5)")
    found = rows(db, "FROM ML.EXPLAIN(MODEL taste, 'Liked(d5)')")
    assert [
        {k: v for k, v in r.items() if k not in ("atom", "truth", "margin")} for r in found
    ] == reasons.table.to_pylist()
    assert {(r["atom"], r["truth"]) for r in found} == {('Liked("d5")', True)}
    assert rows(db, "FROM ML.COUNT(MODEL taste, expected => true)") == db.count(model, expected=True).to_pylist()
    assert rows(db, "FROM ML.DIAGNOSE(MODEL taste)") == db.diagnose(model).table.to_pylist()
    marked = rows(db, "FROM ML.DIAGNOSE(MODEL taste, kind => 'paper')")
    assert marked == db.diagnose(model, kind="paper").found.to_pylist()
    with pytest.raises(ScriptError, match="kind => 'overlap': choose 'quality' or 'paper'"):
        db.run("FROM ML.DIAGNOSE(MODEL taste, kind => 'overlap')")
    with pytest.raises(ScriptError, match=r"threshold = 0\.3: .*kind = 'paper'"):
        db.run("FROM ML.DIAGNOSE(MODEL taste, threshold => 0.3)")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_describe_says_the_columns_without_computing(db: Database, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    argument = {"EXPLAIN": ", 'Liked(d5)'", "COUNT": ", 'Liked(d)'"}.get(name, "")
    call = f"ML.{name}(MODEL taste{argument})"
    if name == "TRAINING_INFO":
        db.run("CREATE OR REPLACE MODEL learned OPTIONS (learner = 'adagrad') FROM MODEL taste")
        call = "ML.TRAINING_INFO(MODEL learned)"
    real = db.run(f"FROM {call}").table
    assert real is not None
    for verb in ("predict", "probabilities", "count", "diagnose", "evaluate"):
        monkeypatch.setattr(Database, verb, None)
    described = {row["column_name"]: row["column_type"] for row in rows(db, f"DESCRIBE FROM {call}")}
    monkeypatch.undo()
    types = {
        "string": "VARCHAR",
        "int64": "BIGINT",
        "double": "DOUBLE",
        "bool": "BOOLEAN",
        "decimal128(38, 0)": "DECIMAL(38,0)",
        "list<item: int64>": "BIGINT[]",
        "list<l: int64>": "BIGINT[]",
    }
    assert described == {f.name: types[str(f.type)] for f in real.to_arrow().schema}


def test_functions_stand_where_tables_do(db: Database) -> None:
    (row,) = rows(
        db,
        "WITH p AS (FROM ML.PREDICT(MODEL taste)), w AS (SELECT count(*) AS w FROM ML.WEIGHTS(MODEL taste)) SELECT count(*) AS n, any_value(w) AS w FROM p, w WHERE truth",
    )
    assert row == {"n": sum(r["truth"] is True for r in rows(db, "FROM ML.PREDICT(MODEL taste)")), "w": 4}
    joined = "SELECT p.doc, l.doc IS NOT NULL AS liked FROM ML.PREDICT(MODEL taste) AS p LEFT JOIN liked l ON l.doc = p.doc WHERE truth <> (l.doc IS NOT NULL)"
    wrong = rows(db, joined)
    truth = {r["doc"]: r["truth"] for r in rows(db, "FROM ML.PREDICT(MODEL taste)")}
    assert {r["doc"] for r in wrong} == {d for d, t in truth.items() if t != (d in ("d1", "d3", "d5"))}
    assert rows(db, "SELECT (SELECT count(*) FROM ML.WEIGHTS(MODEL taste)) + 1 AS n") == [{"n": 5}]
    # A function inside the query of another.
    assert rows(
        db, "SELECT count(*) AS n FROM ML.PREDICT(MODEL taste, (SELECT example FROM ML.PREDICT(MODEL taste)))"
    ) == [{"n": 6}]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("FROM (liked l CROSS JOIN (ML.WEIGHTS(MODEL taste) CROSS JOIN ML.PREDICT(MODEL taste)))", 3 * 4 * 6),
        ("FROM liked l JOIN liked k ON (l.doc = k.doc), ML.WEIGHTS(MODEL taste)", 3 * 4),
        ("FROM (DESCRIBE ML.PREDICT(MODEL taste))", 4),
        ("FROM (SUMMARIZE ML.PREDICT(MODEL taste))", 4),
        ("FROM (UNPIVOT ML.WEIGHTS(MODEL taste) ON weight)", 4),
        # Common tables of one name, of which the inner ones count; recursive ones, and those with a key.
        ("FROM (WITH a AS (SELECT 1 AS n) FROM (WITH a AS (SELECT 'all' AS example) FROM ML.PREDICT(MODEL taste, (FROM a))))", 6),
        ("FROM (WITH RECURSIVE b(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM b WHERE n < 3) FROM (WITH a AS (SELECT 'all' WHERE 3 IN (FROM b)) FROM ML.PREDICT(MODEL taste, (FROM a))))", 6),
        ("FROM (WITH RECURSIVE b(e, n) USING KEY (e) AS (SELECT 'all', 1 UNION SELECT e, n + 1 FROM b WHERE n < 3) FROM ML.PREDICT(MODEL taste, (SELECT e FROM b WHERE n = 3)))", 6),
    ],
)  # fmt: skip
def test_functions_stand_in_brackets_lists_and_under_common_tables(db: Database, query: str, count: int) -> None:
    assert rows(db, f"SELECT count(*) AS n {query}") == [{"n": count}]


def test_a_statement_that_is_analyzed_is_computed(db: Database) -> None:
    query = "SELECT error(doc) FROM ML.PREDICT(MODEL taste)"
    for begun in ("EXPLAIN", "EXPLAIN (FORMAT JSON)", "DESCRIBE"):
        assert rows(db, f"{begun} {query}")
    for begun in ("EXPLAIN ANALYZE", "EXPLAIN (ANALYZE, FORMAT JSON)", "EXPLAIN (FORMAT JSON, ANALYZE)"):
        with pytest.raises(ScriptError, match="d1"):
            db.run(f"{begun} {query}")


def test_a_table_may_be_called_as_what_cannot_have_functions() -> None:
    db = sqlrl.connect()
    db.run("CREATE MODEL m AS $$ A(x)\n1 A(x) $$")
    for word in ("view", "macro", "function"):
        assert rows(db, f"CREATE TABLE {word} AS FROM ML.WEIGHTS(MODEL m); SELECT clause FROM {word}") == [
            {"clause": 0}
        ]
        with pytest.raises(ScriptError, match=f"a {word} cannot have ML functions"):
            db.run(
                f"CREATE OR REPLACE TEMP {word} w AS FROM ML.WEIGHTS(MODEL m)"
                if word == "view"
                else f"CREATE TEMP {word} w() AS TABLE FROM ML.WEIGHTS(MODEL m)"
            )


def test_a_message_calls_a_function_by_its_name(db: Database) -> None:
    with pytest.raises(ScriptError) as caught:
        db.run(
            "SELECT a.nothing FROM ML.WEIGHTS(MODEL taste), ML.PREDICT(MODEL taste) AS a WHERE weight IN (FROM ML.WEIGHTS(MODEL taste))"
        )
    assert "attached" not in str(caught.value)


def test_the_query_of_examples_sees_common_tables_that_stand_before_it() -> None:
    db = sqlrl.connect()
    db.run("""
        CREATE TABLE w AS FROM (VALUES ('d1', 'good'), ('d2', 'bad'), ('d3', 'good')) t(doc, word);
        CREATE PREDICATE Word(doc, word) OPTIONS (example = 'doc') AS FROM w;
        CREATE PREDICATE Liked(doc) OPTIONS (target = true) AS SELECT 'd1';
        CREATE MODEL m AS $$ Word(doc, word)
        Liked(doc)
        1 Word(d, "good") => Liked(d) $$;
    """)
    common = "picked AS (SELECT doc FROM w WHERE word = 'good'), few(x) AS MATERIALIZED (SELECT doc FROM picked WHERE doc > $least)"
    for query in (
        f"WITH {common} SELECT doc FROM ML.PREDICT(MODEL m, (SELECT x FROM few))",
        f"SELECT doc FROM (WITH {common} SELECT * FROM ML.PREDICT(MODEL m, (WITH y AS (FROM few) FROM y)))",
        f"WITH {common}, p AS (FROM ML.PREDICT(MODEL m, (FROM few))) SELECT doc FROM p",
    ):
        assert rows(db, f"SET VARIABLE least = 'd2'; {query}") == [{"doc": "d3"}]
    # In the order of the data, whatever that of the rows is, unless the query has an order.
    for part, expected in (("", ["d1", "d2", "d3"]), (" ORDER BY doc DESC", ["d3", "d2", "d1"])):
        db.run(
            f"CREATE OR REPLACE MODEL learned OPTIONS (learner = 'perceptron') FROM MODEL m TRAINED ON (SELECT doc FROM (SELECT doc FROM w ORDER BY hash(doc)){part})"
        )
        assert [r["example"] for r in rows(db, "FROM ML.TRAINING_INFO(MODEL learned)")] == expected
    # Each once, whatever the query says.
    assert len(rows(db, "FROM ML.PREDICT(MODEL m, (SELECT doc FROM w UNION ALL SELECT doc FROM w))")) == 3
    assert len(rows(db, "FROM ML.PREDICT(MODEL m, (SELECT 1 AS one, doc AS example FROM w))")) == 3


def test_what_is_computed_may_be_kept_by_one_statement(db: Database) -> None:
    table = db.run(
        "CREATE OR REPLACE TEMP TABLE kept AS SELECT doc, probability AS p FROM ML.PROBABILITIES(MODEL taste); FROM kept ORDER BY doc"
    ).table
    assert table is not None
    assert table.to_arrow().equals(
        pa.table(
            {
                "doc": db.probabilities(db.models["taste"]).probabilities()["doc"],
                "p": db.probabilities(db.models["taste"]).probabilities()["probability"],
            }
        ).sort_by("doc")
    )


@pytest.mark.parametrize(
    ("query", "column", "problem"),
    [
        ("FROM ML.PREDICT(MODEL tast)", 23, "there is no model tast; did you mean 'taste'?"),
        ("FROM ML.PREDCT(MODEL taste)", 9, "there is no function ML.PREDCT; did you mean 'PREDICT'?"),
        ("FROM ML.PREDICT((SELECT 1))", 9, "the model is missing"),
        ("FROM ML.PREDICT(MODEL taste, 'Word')", 9, "'Word' is no predicate that taste predicts"),
        ("FROM ML.PREDICT(MODEL taste, 'Liked', 'Liked')", 39, "ML.PREDICT takes MODEL name, a query of examples"),
        ("FROM ML.WEIGHTS(MODEL taste, (SELECT 1))", 30, "ML.WEIGHTS takes MODEL name"),
        ("FROM ML.PREDICT(MODEL taste, (SELECT doc FROM liked WHERE false))", 31, "this query of examples has no rows"),
        ("FROM ML.PREDICT(MODEL taste, (SELECT NULL::text))", 31, "a row without a name"),
        ("FROM ML.PREDICT(MODEL taste, (SELECT 1 AS a, 2 AS b))", 31, "2 columns (a, b), none of which is called example"),
        ("FROM ML.PREDICT(MODEL taste, (SELECT 'd9'))", 9, "examples that the data do not have"),
        ("FROM ML.PREDICT(MODEL taste, (SELECT nothing FROM liked))", 38, 'Referenced column "nothing" not found'),
        ("FROM liked l, ML.PREDICT(MODEL taste, (SELECT l.doc))", 47, 'Referenced table "l" not found'),
        ("FROM liked l, LATERAL (FROM ML.PREDICT(MODEL taste, (SELECT l.doc)))", 61, "join behind the function, or CREATE TABLE ... AS first"),
        ("FROM liked l, LATERAL (FROM ML.PREDICT(MODEL taste, (SELECT doc)))", 61, "join behind the function, or CREATE TABLE ... AS first"),
        ("SELECT doc, ML.WEIGHTS(MODEL taste) FROM liked", 13, "ML.WEIGHTS is a table, and stands where one does: behind FROM or JOIN"),
        ("SELECT count(1, ML.WEIGHTS(MODEL taste)) FROM liked", 17, "ML.WEIGHTS is a table, and stands where one does: behind FROM or JOIN"),
        ("FROM liked WHERE doc IN (ML.PREDICT(MODEL taste))", 26, "ML.PREDICT is a table, and stands where one does: behind FROM or JOIN"),
        ("FROM liked ORDER BY doc, ML.PREDICT(MODEL taste)", 26, "ML.PREDICT is a table, and stands where one does: behind FROM or JOIN"),
        ("FROM ML.PREDICT(MODEL taste, (DELETE FROM liked))", 31, "a query stands in these brackets"),
        ("FROM ML.PREDICT(MODEL taste, (INSERT INTO liked VALUES ('d9') RETURNING doc))", 31, "a query stands in these brackets"),
        ("FROM ML.EXPLAIN(MODEL taste, 'Liked(d1')", 39, "expected ',' or ')'"),
        ("FROM ML.COUNT(MODEL taste, 'Liked(d', by => 'd')", 36, "expected ',' or ')'"),
        ("FROM ML.EXPLAIN(MODEL taste, 'Liked(d1)', neutral => 'no')", 54, "neutral must be true or false"),
        ("FROM ML.EVALUATE(MODEL taste, probabilities => 1)", 48, "probabilities must be true or false"),
        ("FROM ML.PREDICT(MODEL taste, hidden => 3)", 9, "hidden takes names of predicates"),
        ("FROM ML.PREDICT(MODEL taste, random_state => -1)", 9, "random_state = -1 must be"),
        ("FROM ML.PREDICT(MODEL taste, limit => 'x')", 9, "or NULL for no limit"),
        ("FROM ML.PREDICT(MODEL taste, limit => (SELECT 1))", 39, "limit takes a value, and no query"),
        ("FROM ML.PREDICT(MODEL taste, metod => 1)", 30, "ML.PREDICT has no option metod; did you mean 'method'?"),
        ("FROM ML.PREDICT(MODEL taste, method => 'magic')", 9, "unknown method 'magic'"),
        ("FROM ML.EVALUATE(MODEL taste, by => 'day')", 9, "by => 'day': choose 'predicate' or 'example'"),
        ("FROM ML.EXPLAIN(MODEL taste)", 9, "the atom is missing"),
        ("FROM ML.EXPLAIN(MODEL taste, 'Liked(d9)')", 9, "there is no doc 'd9'"),
        ("FROM ML.TRAINING_INFO(MODEL taste)", 9, "taste was not learned"),
        ("FROM ML.COUNT(MODEL taste, 'Lked(d)')", 29, "unknown predicate 'Lked'; did you mean 'Liked'?"),
        ("CREATE VIEW v AS FROM ML.WEIGHTS(MODEL taste)", 23, "a view cannot have ML functions"),
        ("CREATE OR REPLACE TEMP MACRO v() AS TABLE FROM ML.WEIGHTS(MODEL taste)", 48, "a macro cannot have ML functions"),
        ("PREPARE p AS FROM ML.WEIGHTS(MODEL taste)", 19, "a prepared statement cannot have ML functions"),
        ("SELECT nothing FROM ML.WEIGHTS(MODEL taste)", 8, 'Referenced column "nothing" not found'),
        ("FROM ML.WEIGHTS(MODEL taste) w JOIN ML.PREDICT(MODEL taste) p ON w.nothing = p.doc", 66, 'does not have a column named "nothing"'),
    ],
)  # fmt: skip
def test_errors_stand_where_they_are(db: Database, query: str, column: int, problem: str) -> None:
    with pytest.raises(ScriptError) as caught:
        db.run(f"SELECT 1;\n{query}")
    assert problem in caught.value.problem
    assert (caught.value.line, caught.value.column) == (2, column)


def test_a_model_of_several_targets_needs_to_be_told_which() -> None:
    db = sqlrl.connect()
    db.run("""
        CREATE PREDICATE Smokes(person) OPTIONS (target = true) AS SELECT unnest(['Anna', 'Bob']);
        CREATE PREDICATE Cancer(person) OPTIONS (target = true) AS SELECT 'Anna';
        CREATE MODEL m AS $$ Smokes(person)
        Cancer(person)
        1 Smokes(x) => Cancer(x) $$;
    """)
    with pytest.raises(
        ScriptError, match=r"m predicts Cancer, Smokes: name one, as in ML\.PREDICT\(MODEL m, 'Predicate'\)"
    ):
        db.run("FROM ML.PREDICT(MODEL m)")
    assert rows(db, "SELECT count(*) AS n FROM ML.PREDICT(MODEL m, 'Cancer')") == [{"n": 2}]
    assert [r["predicate"] for r in rows(db, "FROM ML.EVALUATE(MODEL m)")] == ["Cancer", "Smokes", "(all)"]


def test_a_model_without_a_target_says_so() -> None:
    db = sqlrl.connect()
    db.run("CREATE PREDICATE Old(person) AS SELECT 'Anna'; CREATE MODEL m AS $$ Old(person)\n1 Old(x) $$")
    with pytest.raises(ScriptError, match="m predicts nothing: no predicate has labels, and it names none"):
        db.run("FROM ML.PREDICT(MODEL m)")
    db.run("CREATE MODEL n OPTIONS (target = 'New') AS $$ Old(person)\nNew(person)\n1 Old(x) => New(x) $$")
    assert rows(db, "SELECT person, truth FROM ML.PREDICT(MODEL n)") == [{"person": "Anna", "truth": True}]


def test_programs_of_soft_logic_are_asked_alike() -> None:
    db = sqlrl.connect()
    db.run("""
        CREATE PREDICATE Knows(person, person) OPTIONS (value = 'v') AS FROM (VALUES ('Ann', 'Bob', 0.5), ('Bob', 'Cid', 1.0)) t(a, b, v);
        CREATE PREDICATE Likes(person, person) OPTIONS (value = 'v', target = true) AS FROM (VALUES ('Ann', 'Bob', 0.6), ('Bob', 'Cid', 0.9)) t(a, b, v);
        ALTER PREDICATE Likes SET SCOPE (SELECT 'Ann', 'Bob' UNION ALL SELECT 'Bob', 'Cid');
        CREATE MODEL m OPTIONS (format = 'psl') AS $$ 2: Knows(X, Y) -> Likes(X, Y)
        1: !Likes(X, Y) ^2 $$;
    """)
    model = db.models["m"]
    prediction = db.predict(model)
    assert isinstance(prediction, sqlrl.SoftPrediction)
    assert rows(db, "FROM ML.PREDICT(MODEL m)") == prediction.atoms("Likes").to_pylist()
    assert rows(db, "FROM ML.EVALUATE(MODEL m)") == db.evaluate(prediction).table().to_pylist()
    assert {r["value"] for r in rows(db, "FROM ML.EXPLAIN(MODEL m, 'Likes(Ann, Bob)')")} == {
        prediction.why("Likes(Ann, Bob)").value
    }
    assert [r["column_name"] for r in rows(db, "DESCRIBE FROM ML.PREDICT(MODEL m)")] == [
        "example",
        "person",
        "person_2",
        "value",
    ]
    assert [r["weight"] for r in rows(db, "DESCRIBE MODEL m")] == [2.0, 1.0]
    with pytest.raises(ScriptError, match="is a program of soft logic"):
        db.run("FROM ML.COUNT(MODEL m)")
    with pytest.raises(ScriptError, match=r"is a program of soft logic.*ML\.COUNT counts"):
        db.run("FROM ML.COUNT(MODEL m, expected => true)")


def test_scores_by_example_and_the_columns_of_scores(db: Database) -> None:
    model = db.models["taste"]
    expected = db.evaluate(db.probabilities(model)).by_example().table().to_pylist()
    assert rows(db, "FROM ML.EVALUATE(MODEL taste, probabilities => true, by => 'example')") == expected
    with pytest.raises(ScriptError, match=r"by => 'example'.* are known when it is computed: run it without DESCRIBE"):
        db.run("DESCRIBE FROM ML.EVALUATE(MODEL taste, by => 'example')")
    db.run(
        "CREATE OR REPLACE MODEL soft OPTIONS (format = 'psl', target = 'Liked') AS $$ 2: Link(X, Y) & Liked(X) -> Liked(Y)\n"
        "1: Word(X, 'good') -> Liked(X)\n0.5: !Liked(X) ^2 $$"
    )
    softly = db.evaluate(db.predict(db.models["soft"]))
    assert isinstance(softly, sqlrl.SoftScores)
    assert rows(db, "FROM ML.EVALUATE(MODEL soft, by => 'example')") == softly.by_example().table().to_pylist()
    for call in (
        "ML.EVALUATE(MODEL taste, probabilities => true)",
        "ML.EVALUATE(MODEL soft)",
        "ML.EXPLAIN(MODEL soft, 'Liked(d1)')",
    ):
        found = db.run(f"FROM {call}").table
        assert found is not None
        assert [row["column_name"] for row in rows(db, f"DESCRIBE FROM {call}")] == found.to_arrow().column_names


def test_atoms_that_rules_reach_and_no_list_has_are_what_scripts_say() -> None:
    db = sqlrl.connect(progress=False)
    db.load("Road", [("a", "b"), ("b", "c"), ("c", "d")], types=["town", "town"])
    db.load("Wet", [("a",)], types=["town"], given=True)
    db.load("Wet", [("d", 0.5)], types=["town"], columns=[0], value=1, target=True)
    db.scope("Wet", [("d",)])
    db.run("CREATE MODEL m OPTIONS (format = 'psl') AS $$ 5: Road(A, B) & Wet(A) -> Wet(B) ^2\n1: !Wet(A) ^2 $$")
    for query in ("FROM ML.PREDICT(MODEL m)", "FROM ML.EVALUATE(MODEL m)", "FROM ML.EXPLAIN(MODEL m, 'Wet(d)')"):
        with pytest.raises(ScriptError, match=r"ALTER PREDICATE Wet SET SCOPE.*missing = 'open'.*missing = 'false'"):
            db.run(query)
    expected = db.predict(db.models["m"], missing="open")
    assert rows(db, "FROM ML.PREDICT(MODEL m, missing => 'open')") == expected.atoms().to_pylist()
    assert rows(db, "FROM ML.EXPLAIN(MODEL m, 'Wet(b)', missing => 'open')")[0]["hinge"] == '-Wet("b") + 1'
    assert [row["town"] for row in rows(db, "FROM ML.PREDICT(MODEL m, missing => 'false')")] == ["d"]
    assert rows(db, "FROM ML.EVALUATE(MODEL m, missing => 'open')")[0]["atoms"] == 3
    learn = "CREATE MODEL {} OPTIONS (learner = 'soft-map-likelihood'{}) FROM MODEL m"
    with pytest.raises(ScriptError, match="missing = 'open'"):
        db.run(learn.format("n", ""))
    db.run(learn.format("n", ", missing = 'open'"))
    learned = sqlrl.SoftMapLikelihood().fit(db, db.models["m"], missing="open").weights_
    assert [rule.weight for rule in db.models["n"].rules] == pytest.approx(learned.tolist())
    with pytest.raises(ScriptError, match="adagrad has no option missing"):
        db.run("CREATE MODEL o OPTIONS (learner = 'adagrad', missing = 'open') FROM MODEL m")
    with pytest.raises(ScriptError, match="missing is an option of worlds"):
        db.run("FROM ML.EVALUATE(MODEL m, semantics => 'boolean', probabilities => true, missing => 'open')")
