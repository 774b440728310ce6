"""Scripts that are run: what a failing statement leaves, what is resumed, and names and values that a stranger chose."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlrl
from sqlrl import Database
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import InputError, ScriptError, SqlrlError
from sqlrl.script.source import ScriptText
from tests.effort import draws
from tests.script.conftest import DOCUMENTS, RULES

SCRIPT = """
CREATE OR REPLACE TABLE train AS SELECT doc FROM words WHERE word <> $without;
CREATE OR REPLACE PREDICATE Word(doc, word) AS SELECT doc, word FROM words SEMI JOIN train USING (doc);
CREATE OR REPLACE PREDICATE Liked(doc) OPTIONS (target = true) AS FROM liked SEMI JOIN train USING (doc);
CREATE OR REPLACE MODEL m OPTIONS (learner = 'perceptron') AS $$
Word(doc, word)
Liked(doc)
Word(d, +w) => Liked(d) $$;
SELECT count(*) AS n FROM ML.PREDICT(MODEL m);
"""


def test_a_statement_without_our_words_goes_to_duckdb_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    run = DuckDBEngine.statement

    def spy(self: DuckDBEngine, sql: str, *more: object, **options: object) -> object:
        given.append(sql)
        return run(self, sql, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDBEngine, "statement", spy)
    text = "CREATE  TABLE t (a INT) ;  -- a comment; \n/* another */ insert into t VALUES (1),\n (2);;SELECT\t*\r\nFROM t -- end\n;select 'é' as \"ü\" "
    db = sqlrl.connect()
    db.run(text)
    assert given == [tokens.text for tokens in ScriptText(text).statements()]
    assert all(each in text for each in given)


def test_of_a_statement_with_functions_only_these_are_replaced(monkeypatch: pytest.MonkeyPatch, db: Database) -> None:
    given: list[str] = []
    run = DuckDBEngine.statement

    def spy(self: DuckDBEngine, sql: str, *more: object, **options: object) -> object:
        given.append(sql)
        return run(self, sql, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(DuckDBEngine, "statement", spy)
    text = "SELECT  count( * )\nFROM ML.PREDICT(\n  MODEL taste,\n 'Liked') AS p -- so\n JOIN liked USING ( doc )"
    db.run(text)
    before, after = text.split("ML.PREDICT(\n  MODEL taste,\n 'Liked')")
    assert given[-1].startswith(before)
    assert given[-1].endswith(after)
    # Lines stay where they were, so that DuckDB's own are right.
    assert given[-1].count("\n") == text.count("\n")


def test_what_is_wrong_with_the_text_is_said_before_anything_runs() -> None:
    db = sqlrl.connect()
    with pytest.raises(ScriptError, match="the name of the model is missing"):
        db.run("CREATE TABLE t AS SELECT 1; CREATE MODEL")
    assert db.sql("select count(*) from duckdb_tables() where table_name = 't'").fetchall() == [(0,)]


def test_a_failing_statement_leaves_what_earlier_ones_did_and_nothing_half_done(db: Database) -> None:
    with pytest.raises(ScriptError) as caught:
        db.run(
            "CREATE TABLE t AS SELECT 1 AS a;\nCREATE PREDICATE Old(doc) AS SELECT 'd1' UNION ALL SELECT 'd1';\nDROP TABLE t"
        )
    assert (caught.value.line, caught.value.__cause__.__class__.__name__) == (2, "LoadError")
    assert db.sql("from t").fetchall() == [(1,)]
    assert "Old" not in db.advanced.catalog.predicates()
    with pytest.raises(ScriptError):
        db.run("CREATE MODEL m OPTIONS (learner = 'adagrad', passes = 0) FROM MODEL taste")
    assert [row["name"] for row in db.models()] == ["taste"]
    assert db.sql("from sqlrl.run").fetchall() == []


def test_transactions_of_a_script(db: Database) -> None:
    db.run("BEGIN; CREATE TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); COMMIT")
    assert db.sql("from t").fetchall() == [(1,), (2,)]
    with pytest.raises(ScriptError, match="Conversion Error"):
        db.run("BEGIN TRANSACTION; INSERT INTO t VALUES (3); SELECT 'x'::int; COMMIT")
    with pytest.raises(InputError, match="BEGIN has no COMMIT behind it"):
        db.run("BEGIN; INSERT INTO t VALUES (4)")
    for ours in (
        "CREATE MODEL m OPTIONS (learner = 'adagrad') FROM MODEL taste",
        "FROM ML.PREDICT(MODEL taste)",
        "CREATE PREDICATE Old(doc) AS SELECT 'd1'",
        "SHOW MODELS",
    ):
        with pytest.raises(ScriptError, match=r"inside BEGIN \.\.\. COMMIT no model is learned or asked") as caught:
            db.run(f"BEGIN; INSERT INTO t VALUES (5);\n{ours}; COMMIT")
        assert caught.value.line == 2
    assert db.sql("from t").fetchall() == [(1,), (2,)]
    assert not db.advanced.engine.in_transaction()
    connection = duckdb.connect()
    mine = sqlrl.connect(connection)
    connection.begin()
    with pytest.raises(InputError, match="open transaction"):
        mine.run("SELECT 1")
    connection.execute("create table kept as select 1")
    connection.commit()


def test_values_of_variables_are_never_text_of_sql(db: Database) -> None:
    evil = "x'; DROP TABLE words; --"
    result = db.run("SELECT $v AS v, getvariable('v') AS w, $n + 1 AS n", variables={"v": evil, "n": 41}).table
    assert result is not None
    assert result.to_pylist() == [{"v": evil, "w": evil, "n": 42}]
    with pytest.raises(InputError, match="cannot be the name of a variable"):
        db.run("SELECT 1", variables={"a = 1; DROP TABLE words; --": 1})
    db.run(
        "CREATE PREDICATE Odd(doc) OPTIONS (empty = $e) AS SELECT doc FROM words WHERE word = $v",
        variables={"v": evil, "e": "allow"},
    )
    assert db.sql("select count(*) from words").fetchall() == [(10,)]


@cache
def hostile() -> Database:
    """A database of the tests on names, which leave it as it was."""
    db = sqlrl.connect()
    db.run(f"{DOCUMENTS}; CREATE MODEL taste AS $${RULES}$$")
    return db


ODD = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=draws(40))
@given(name=ODD, column=ODD, value=ODD)
def test_hostile_names(name: str, column: str, value: str) -> None:
    def quoted(text: str, sign: str) -> str:
        return sign + text.replace(sign, 2 * sign) + sign

    db = hostile()
    script = f"""
        CREATE OR REPLACE TABLE {quoted("t " + name, '"')} ({quoted(column, '"')} TEXT);
        INSERT INTO {quoted("t " + name, '"')} VALUES ({quoted(value, "'")}), ('other');
        CREATE OR REPLACE MODEL {quoted(name, '"')} FROM MODEL taste;
        SELECT count(*) AS n FROM ML.WEIGHTS(MODEL {quoted(name, '"')}), {quoted("t " + name, '"')} WHERE {quoted(column, '"')} = {quoted(value, "'")};
    """
    if name.isprintable():
        table = db.run(script).table
        assert table is not None
        assert table.to_pylist() == [{"n": 4 if value != "other" else 8}]
        db.run(f"DROP MODEL {quoted(name, chr(34))}")
    else:
        with pytest.raises(ScriptError, match="the name of a model must be a text"):
            db.run(script)
    db.run(f"DROP TABLE IF EXISTS {quoted('t ' + name, chr(34))}")
    assert [row["name"] for row in db.models()] == ["taste"]
    assert db.sql("select count(*) from words").fetchall() == [(10,)]


@given(st.lists(st.sampled_from(["select", "create", "model", "predicate", "(", ")", "$$", "'", '"', ";", "ML", ".", "PREDICT", ",", "=>", "x", "options", "as", "from", "1", "$", "--", "\n", "[", "]", "trained", "on"]), max_size=14))  # fmt: skip
@settings(max_examples=draws(200))
def test_whatever_a_script_says_it_fails_with_an_error_of_ours(words: list[str]) -> None:
    with hostile().cursor() as db:
        with contextlib.suppress(SqlrlError):
            db.run(" ".join(words))
        assert not db.advanced.engine.in_transaction()
    assert [row["name"] for row in hostile().models()] == ["taste"]


@given(
    before=st.lists(
        st.sampled_from(["日本", "é", "e\u0301", "🙂", "👨\u200d👩\u200d👧", "👍🏽", "\t", "\u200b", "\xa0", "ﬁ", "ᄀ", "x", "a b", "\x01"]), max_size=12
    ),
    long=st.sampled_from([0, 40, 100, 300]),
    end=st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_the_place_of_a_failure_is_that_of_the_word_whatever_stands_before_it(
    before: list[str], long: int, end: str
) -> None:
    line = f"  '{''.join(before)}',\t 'y{'z' * long}',\t\tnothing, '{'v' * long}'"
    with hostile().cursor() as db, pytest.raises(ScriptError, match="nothing") as caught:
        db.run(f"SELECT 1;{end}SELECT 2,{end}{line}{end}FROM words")
    assert (caught.value.line, caught.value.column) == (3, line.index("nothing") + 1)


@pytest.mark.parametrize("name", ["select", "Table", "größe", "with", "n"])
def test_variables_are_named_as_those_of_duckdb(name: str) -> None:
    db = sqlrl.connect()
    upper = "".join(char.upper() if char.isascii() else char for char in name)
    asked = f"SELECT ${name} AS a, ${upper} + 1 AS b, getvariable('{upper}') AS c, $\"{name}\" AS d"
    table = db.run(asked, variables={name: 3}).table
    assert table is not None
    assert table.to_pylist() == [{"a": 3, "b": 4, "c": 3, "d": 3}]
    with pytest.raises(ScriptError, match="there is no variable"):
        db.run(f"SELECT ${name}x")


def test_numbers_of_variables_are_those_of_options(db: Database) -> None:
    db.run(
        "SET VARIABLE weight = 0.5; SET VARIABLE rate = 2.0; SET VARIABLE passes = 3; ALTER MODEL taste ADD RULE 'Liked(d)' WEIGHT $weight; "
        "CREATE MODEL m OPTIONS (learner = 'adagrad', learning_rate = $rate, passes = $passes) FROM MODEL taste"
    )
    assert db.models["taste"].rules[-1].weight == 0.5
    config = str(db.sql("from sqlrl.run").fetchall())
    assert '"learning_rate": 2.0' in config
    assert '"passes": 3' in config


def test_prepared_statements_have_their_own_values() -> None:
    db = sqlrl.connect()
    for form, values in (("$1 + $2", "3, 4"), ("? + ?", "3, 4"), ("$a + $b", "a := 3, b := 4")):
        table = db.run(f"PREPARE p AS SELECT {form} AS n; EXECUTE p({values})").table
        assert table is not None
        assert table.to_pylist() == [{"n": 7}]
    with pytest.raises(ScriptError, match="there is no variable 1: values of scripts have names"):
        db.run("SELECT $1")


@pytest.mark.parametrize(
    ("script", "place", "problem"),
    [
        ("SELECT 1;\n  BEGIN; SELECT 2; COMMIT;\n START TRANSACTION; SELECT 3", (3, 2), "BEGIN has no COMMIT behind it"),
        ("FROM ML.WEIGHTS(taste)", (1, 17), "the model is written MODEL taste"),
        ("FROM ML.WEIGHTS(MODEL 'taste')", (1, 23), "stands without quotes"),
        ("DROP MODEL 'taste'", (1, 12), "stands without quotes"),
    ],
)  # fmt: skip
def test_slips_of_the_pen(read_only_db: Database, script: str, place: tuple[int, int], problem: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read_only_db.run(script)
    assert problem in caught.value.problem
    assert (caught.value.line, caught.value.column) == place
    assert not read_only_db.advanced.engine.in_transaction()


# ---- resumed ------------------------------------------------------------------------------------------


def notes(path: Path, script: str = SCRIPT, *, without: str = "none", resume: bool = True) -> list[bool]:
    """Run a script on a file, and return of each statement whether it was skipped."""
    with sqlrl.connect(path) as db:
        return [each.skipped for each in db.run(script, variables={"without": without}, resume=resume).statements]


@pytest.fixture(scope="module")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "docs.duckdb"
    with sqlrl.connect(path) as db:
        db.run("\n".join(line for line in DOCUMENTS.splitlines() if not line.startswith("CREATE PREDICATE")))
    return path


@pytest.fixture
def file(_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(_file, tmp_path / "docs.duckdb"))


@pytest.mark.slow
def test_what_has_finished_is_skipped_until_something_changes(file: Path) -> None:
    assert notes(file) == [False] * 5
    assert notes(file) == [True] * 4 + [False]
    # Another value, and back.
    assert notes(file, without="bad") == [False] * 5
    assert notes(file) == [False] * 5
    # Another text of one statement, on which the next ones do not depend; then of data that all depend on.
    other = SCRIPT.replace("'perceptron'", "'perceptron', passes = 2")
    assert notes(file, other) == [True, True, True, False, False]
    with sqlrl.connect(file) as db:
        db.run("INSERT INTO words VALUES ('d6', 'bad')")
    assert notes(file, other) == [False] * 5
    # What a statement made was changed by somebody else.
    with sqlrl.connect(file) as db:
        db.run("DELETE FROM train WHERE doc = 'd6'; ALTER MODEL m ADD RULE 'Liked(d)' WEIGHT 1")
    assert notes(file, other)[0] is False
    assert notes(file, other) == [True] * 4 + [False]
    with sqlrl.connect(file) as db:
        log = db.sql("select distinct kind, name from sqlrl.script_log order by all").fetchall()
    # The first ones are of the script that made the file.
    assert set(log) - {("table", x) for x in ("words", "liked", "links")} == {
        ("model", "m"), ("predicate", "Liked"), ("predicate", "Word"), ("table", "train")
    }  # fmt: skip


def test_nothing_is_skipped_unless_a_script_is_resumed(file: Path) -> None:
    script = "CREATE OR REPLACE TABLE made AS FROM words"
    assert [notes(file, script, resume=resume) for resume in (True, True, False)] == [[False], [True], [False]]


@pytest.mark.slow
def test_a_script_that_failed_goes_on(file: Path) -> None:
    broken = SCRIPT.replace("Word(d, +w) => Liked(d)", "Word(d, +w) => Lked(d)")
    with pytest.raises(ScriptError, match="unknown predicate 'Lked'"):
        notes(file, broken)
    assert notes(file) == [True, True, True, False, False]


def test_files_are_inputs(file: Path, tmp_path: Path) -> None:
    rows, rules = tmp_path / "rows.csv", tmp_path / "rules.mln"
    rows.write_text("doc\nd1\n", encoding="utf-8")
    rules.write_text("Read(doc)\n1 Read(d)\n", encoding="utf-8")
    script = f"""
        CREATE OR REPLACE TABLE rows AS FROM '{rows}';
        CREATE OR REPLACE PREDICATE Read(doc) FROM '{rows}';
        CREATE OR REPLACE MODEL m FROM '{rules}';
    """
    assert [notes(file, script), notes(file, script)] == [[False] * 3, [True] * 3]
    rows.write_text("doc\nd1\nd2\n", encoding="utf-8")
    assert notes(file, script)[:2] == [False, False]
    assert notes(file, script) == [True] * 3
    rules.write_text("Read(doc)\n2 Read(d)\n", encoding="utf-8")
    assert notes(file, script) == [True, True, False]


SKIPPED = {
    "FROM words": True, "FROM seen": True, "SELECT 1 AS a WHERE EXISTS (FROM words WHERE doc = 'd9')": True,
    "SELECT x.* FROM range(3) AS x, (SUMMARIZE words)": True, "FROM read_csv('{rows}', header => true)": True,
    "FROM read_csv(['{rows}'])": True, "FROM read_csv($rows)": True, "FROM read_csv(getvariable('rows'))": True,
    "SELECT * FROM ML.PREDICT(MODEL taste, (SELECT DISTINCT 'all' AS example FROM words))": True,
    "WITH w AS (FROM words) SELECT * FROM ML.PREDICT(MODEL taste, (SELECT DISTINCT 'all' FROM w))": True,
    # What these read cannot be told from them.
    "SELECT size() AS n": False, "FROM all_words()": False, "SELECT * FROM main.all_words()": False, "FROM query_table('words')": False,
    "FROM query('FROM words')": False, "FROM read_csv('{rows}' || '')": False, "FROM read_csv(getvariable('ro' || 'ws'))": False,
    "SELECT estimated_size FROM duckdb_tables()": False, "FROM (SHOW TABLES)": False, "FROM read_csv(concat($rows, ''))": False,
}  # fmt: skip


def test_what_a_table_is_made_of_is_looked_through(file: Path, tmp_path: Path) -> None:
    # Sixty statements run here, which takes a second.
    rows = tmp_path / "rows.csv"
    rows.write_text("doc,word\nd1,good\n", encoding="utf-8")
    with sqlrl.connect(file) as db:
        db.run(
            f"CREATE PREDICATE Liked(doc) OPTIONS (target = true) AS FROM liked; CREATE PREDICATE Word(doc, word) AS FROM '{rows}'; "
            "CREATE MODEL taste AS $$ Word(doc, word)\nLiked(doc)\n1 Word(d, w) => Liked(d) $$; CREATE VIEW seen AS FROM words; "
            "CREATE MACRO size() AS (SELECT count(*) FROM words); CREATE MACRO all_words() AS TABLE FROM words"
        )
    script = ";\n".join(f"CREATE OR REPLACE TABLE made{i} AS {query}" for i, query in enumerate(SKIPPED))

    def skipped() -> dict[str, bool]:
        with sqlrl.connect(file) as db:
            done = db.run(script.replace("{rows}", str(rows)), variables={"rows": str(rows)}, resume=True).statements
        return dict(zip(SKIPPED, (each.skipped for each in done), strict=True))

    assert skipped() == dict.fromkeys(SKIPPED, False)
    assert skipped() == SKIPPED
    rows.write_text("doc,word\nd1,good\nd2,bad\n", encoding="utf-8")
    with sqlrl.connect(file) as db:
        db.run("INSERT INTO words VALUES ('d9', 'late')")
    assert skipped() == dict.fromkeys(SKIPPED, False)


def test_files_that_rules_include_are_inputs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "rules.mln").write_text('#include "in/one.mln"\n1 Read(d)\n', encoding="utf-8")
    (tmp_path / "in/one.mln").write_text('#include "two.mln"\n', encoding="utf-8")
    inner = tmp_path / "in/two.mln"
    for form in ("FROM 'rules.mln'", """AS $$ #include "in/one.mln"\n1 Read(d) $$"""):
        inner.write_text("Read(doc)\n", encoding="utf-8")
        script = f"CREATE OR REPLACE MODEL m {form}"
        assert [notes(file, script), notes(file, script)] == [[False], [True]]
        inner.write_text("Read(doc)\n2 !Read(d)\n", encoding="utf-8")
        assert [notes(file, script), notes(file, script)] == [[False], [True]]
        with sqlrl.connect(file) as db:
            assert len(db.models["m"].rules) == 2


def test_a_variable_that_is_missing_is_null_where_duckdb_reads_it(file: Path) -> None:
    script = "CREATE OR REPLACE TABLE made AS SELECT coalesce(getvariable('size'), 5) AS size; FROM made"
    for size, skipped in ((None, False), (None, True), (7, False)):
        with sqlrl.connect(file) as db:
            found = db.run(script, variables={} if size is None else {"size": size}, resume=True)
            assert found.statements[0].skipped is skipped
            assert found.table is not None
            assert found.table.to_pylist() == [{"size": size or 5}]


def test_a_resumed_script_says_how_it_is_written_to_run_again(file: Path) -> None:
    script = "CREATE TABLE made AS FROM range(3);\n  INSERT INTO made VALUES (3)"
    assert notes(file, script) == [False, False]
    assert notes(file, script) == [True, True]
    with sqlrl.connect(file) as db:
        db.sql("insert into made values (4)")
    with pytest.raises(ScriptError, match=r"(?s):1:1: .*already exists.*write CREATE OR REPLACE"):
        notes(file, script)
    with pytest.raises(ScriptError, match="already exists") as caught:
        notes(file, script, resume=False)
    assert "OR REPLACE" not in caught.value.problem


@pytest.mark.slow
def test_two_scripts_beside_each_other_on_one_file(file: Path) -> None:
    failures: list[BaseException] = []

    def work(db: Database, number: int) -> None:
        try:
            for i in range(3):
                db.run(
                    f"CREATE OR REPLACE MODEL m{number} AS $$ A(x)\n{i} A(x) $$; CREATE OR REPLACE TABLE t{number} AS FROM range({i})"
                )
        except BaseException as error:  # noqa: BLE001 - told by the main thread
            failures.append(error)

    with sqlrl.connect(file) as db:
        cursors = [db.cursor() for _ in range(3)]
        threads = [threading.Thread(target=work, args=(cursor, i)) for i, cursor in enumerate(cursors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert [row["name"] for row in db.models()] == ["m0", "m1", "m2"]
        assert [db.models[f"m{i}"].rules[0].weight for i in range(3)] == [2.0] * 3


@pytest.mark.slow
def test_a_database_that_can_only_be_read_is_asked(file: Path) -> None:
    notes(file)
    with sqlrl.connect(file, read_only=True) as db:
        table = db.run("SELECT count(*) AS n FROM ML.PREDICT(MODEL m)", resume=True).table
        assert table is not None
        assert table.to_pylist()[0]["n"] > 0
        with pytest.raises(ScriptError, match="read"):
            db.run("CREATE MODEL other FROM MODEL m")


def test_rows_beyond_the_most_are_not_kept() -> None:
    from sqlrl.script.runner import run_script

    db = sqlrl.connect()
    (done,) = run_script(db, "FROM range(1000000)", most=10).statements
    assert done.table is not None
    assert (len(done.table), done.more, done.note) == (10, True, "FROM: more than 10 rows")
    (done,) = run_script(db, "FROM range(10)", most=10).statements
    assert done.table is not None
    assert (len(done.table), done.more) == (10, False)


def test_what_a_script_did_is_shown_with_the_rows_of_its_queries() -> None:
    shown = repr(sqlrl.connect().run("CREATE TABLE t AS SELECT 7 AS a; FROM t"))
    assert re.sub(r"\(\d+\.\d s\)", "(s)", shown).split("\n") == [
        "CREATE TABLE t: 1 row (s)", "FROM: 1 row (s)", "a", "-", "7"
    ]  # fmt: skip


def test_predicates_that_rules_define_and_those_that_are_there_already(documents: Callable[[], Database]) -> None:
    db = documents()

    def note(statement: str) -> str:
        return db.run(statement).statements[0].note

    rules = 'AS RULES $$ Good(d) :- Word(d, "good"). $$'
    assert note(f"CREATE PREDICATE Good {rules}") == "CREATE PREDICATE Good: 4 rows"
    assert note(f"CREATE PREDICATE IF NOT EXISTS Good {rules}") == "CREATE PREDICATE Good: is there already"
    upper = "OPTIONS (variables = 'upper') AS RULES $$ Good(D) :- Word(D, bad). $$"
    assert note(f"CREATE OR REPLACE PREDICATE Good {upper}") == "CREATE PREDICATE Good: 3 rows"
    assert note("CREATE PREDICATE IF NOT EXISTS Link AS SELECT 'd1', 'd2'") == "CREATE PREDICATE Link: is there already"
    more = "CREATE PREDICATE Link OPTIONS (append = true) AS SELECT 'd1', 'd2'"
    assert note(more) == "CREATE PREDICATE Link: 5 rows"
    for statement, column, problem in (
        (f"CREATE PREDICATE Good {rules}", 18, "Good is loaded already: CREATE OR REPLACE PREDICATE replaces"),
        (f"CREATE PREDICATE Nice(doc) {rules}", 18, "follow from the rules: leave them out"),
        (f"CREATE PREDICATE Nice {rules}", 34, "these rules define Good, not Nice"),
        ("CREATE PREDICATE Nice(doc) OPTIONS (append = 1) AS SELECT 'd1'", 46, "append must be true or false"),
        (
            "CREATE PREDICATE Nice(doc) OPTIONS (bins = 4) AS SELECT 'd1'",
            44,
            "bins takes 'type=N' for a number of pieces",
        ),
    ):
        with pytest.raises(ScriptError) as caught:
            db.run(statement)
        assert problem in caught.value.problem
        assert caught.value.column == column
    assert "Nice" not in db.advanced.catalog.predicates()


def again(db: Database, script: str, **variables: object) -> list[bool]:
    """Run a script in a database that is open, and return of each statement whether it was skipped."""
    return [each.skipped for each in db.run(script, variables=variables, resume=True).statements]


def test_what_cannot_be_read_and_what_was_dropped_runs_again(file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.mln"
    script = f"CREATE OR REPLACE TABLE made AS FROM liked; CREATE OR REPLACE MODEL m FROM '{rules}'"
    with sqlrl.connect(file) as db:
        with pytest.raises(ScriptError, match=r"rules\.mln: cannot read the file"):
            again(db, script)
        # An included file counts once, also if a comment names it again.
        rules.write_text('#include "one.mln"\n// #include "one.mln"\n1 Read(d)\n', encoding="utf-8")
        (tmp_path / "one.mln").write_text("Read(doc)\n", encoding="utf-8")
        assert again(db, script) == [True, False]
        db.run("DROP TABLE made")
        assert again(db, script) == [False, True]


def test_files_of_a_pattern_and_those_that_a_variable_names_are_inputs(file: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.tsv"
    script = f"""
        CREATE OR REPLACE TABLE one AS FROM '{tmp_path}/*.csv';
        CREATE OR REPLACE TABLE two AS SELECT $files.rows AS name;
        CREATE OR REPLACE TABLE far AS SELECT 'https://example.com/rows.csv' AS name;
    """
    files = {"rows": str(second)}
    for path in (first, second):
        path.write_text("doc\nd1\n", encoding="utf-8")
    with sqlrl.connect(file) as db:
        assert again(db, script, files=files) == [False, False, False]
        first.write_text("doc\nd1\nd2\n", encoding="utf-8")
        # What is far away may have changed.
        assert again(db, script, files=files) == [False, True, False]
        second.write_text("doc\nd1\nd2\n", encoding="utf-8")
        assert again(db, script, files=files) == [True, False, False]


def test_the_query_of_examples_is_an_input(file: Path) -> None:
    script = "CREATE MODEL IF NOT EXISTS m OPTIONS (learner = 'adagrad') AS $$ A(x)\nA(x) $$ TRAINED ON (FROM liked)"
    with sqlrl.connect(file) as db:
        db.run("CREATE MODEL m AS $$ A(x)\n1 A(x) $$")
        assert [again(db, script), again(db, script)] == [[False], [True]]
        db.run("INSERT INTO liked VALUES ('d6')")
        assert again(db, script) == [False]


def test_a_kind_of_statement_that_the_package_of_duckdb_does_not_know_is_run(tmp_path: Path) -> None:
    for trusted in (True, False):
        with sqlrl.connect(":memory:", trusted=trusted, progress=False) as db:
            if trusted:
                db.run(f"SET extension_directory = '{tmp_path}'; UPDATE EXTENSIONS")
                continue
            with pytest.raises(ScriptError, match=r":1:1: Permission Error"):
                db.run("UPDATE EXTENSIONS")
