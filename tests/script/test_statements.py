"""The grammar of the statements that scripts have beside DuckDB's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import ScriptError
from sqlrl.script.source import ScriptText
from sqlrl.script.statements import (
    AddRule,
    CreateModel,
    CreatePredicate,
    DescribeModel,
    DropModel,
    ExportModel,
    Files,
    Plain,
    QueryText,
    Rules,
    ScriptVariable,
    SetScope,
    Show,
    Statement,
    StatementPart,
    Text,
    Value,
    calls_between,
    read_statement,
    variables_between,
)


def read(text: str) -> Statement:
    (tokens,) = ScriptText(text).statements()
    return read_statement(tokens)


def shown(value: object) -> object:
    """A value without places."""
    if isinstance(value, StatementPart):
        return value.text
    if isinstance(value, Value):
        return shown(value.value)
    return [shown(x) for x in value] if isinstance(value, list) else value


def test_predicates() -> None:
    found = read(
        "create or replace predicate InField(bib, field!, \"my type\") options (target = true, example = 'bib') as\n select a, b from t where c = ';'"
    )
    assert isinstance(found, CreatePredicate)
    assert (str(found.name), found.types, found.replace, found.unless) == (
        "InField",
        ("bib", "field!", "my type"),
        True,
        False,
    )
    assert [(str(x.name), shown(x.value)) for x in found.settings] == [("target", True), ("example", "bib")]
    assert isinstance(found.source, QueryText)
    assert found.source.text == "select a, b from t where c = ';'"

    found = read("CREATE PREDICATE IF NOT EXISTS Token FROM ['a.csv', 'b.csv']")
    assert isinstance(found, CreatePredicate)
    assert isinstance(found.source, Files)
    assert (found.types, found.unless, list(map(str, found.source.names))) == (None, True, ["a.csv", "b.csv"])

    found = read("CREATE PREDICATE Old AS RULES $q$ Old(x) :- Age(x, y). $q$")
    assert isinstance(found, CreatePredicate)
    assert isinstance(found.source, Rules)
    assert found.source.text.text == " Old(x) :- Age(x, y). "

    found = read("alter predicate Smokes set scope (select name from people)")
    assert isinstance(found, SetScope)
    assert (str(found.name), found.query.text) == ("Smokes", "select name from people")


def test_models() -> None:
    text = "create model \"my model\" options (learner = 'osl', strength = [0.1, -1, .5e2], start = $first, flag = false, none = null) as $$ 1 A(x) $$ trained on (select bib from train)"
    found = read(text)
    assert isinstance(found, CreateModel)
    assert (str(found.name), found.rules and found.rules.text) == ("my model", " 1 A(x) ")
    assert [shown(x.value) for x in found.settings] == ["osl", [0.1, -1, 50.0], ScriptVariable("first"), False, None]
    assert found.examples is not None
    assert found.examples.text == "select bib from train"
    assert text[found.examples.at :].startswith("select bib")
    assert found.rules is not None
    assert found.rules.dollar
    assert text[found.rules.at :].startswith(" 1 A(x) ")

    found = read("CREATE MODEL IF NOT EXISTS m FROM 'a.mln'")
    assert isinstance(found, CreateModel)
    assert (found.unless, str(found.file), found.rules, found.examples) == (True, "a.mln", None, None)
    found = read("CREATE MODEL m OPTIONS (learner = 'ilp') TRAINED ON (FROM train)")
    assert isinstance(found, CreateModel)
    assert (found.rules, found.file, found.model) == (None, None, None)
    found = read("CREATE MODEL m FROM MODEL other")
    assert isinstance(found, CreateModel)
    assert str(found.model) == "other"

    found = read("ALTER MODEL m ADD RULE 'it''s' WEIGHT -1.5")
    assert isinstance(found, AddRule)
    assert (str(found.rule), shown(found.weight)) == ("it's", -1.5)
    assert read("drop model if exists m") == DropModel(StatementPart("m", 21), True)
    assert read("export model m to 'm.json'") == ExportModel(StatementPart("m", 13), Text("m.json", 19))
    assert read("describe model m") == DescribeModel(StatementPart("m", 15))
    assert (read("show models"), read("SHOW PREDICATES")) == (Show("models"), Show("predicates"))


@pytest.mark.parametrize(
    "text",
    [
        "create table predicate (a int)", "create table model as select 1", "select model from predicate", "drop table model", "describe model", "show model",
        "show tables", "export database 'x'", "alter table model add column rule int", "create view ml as select 1", "select ml.x from ml", "select predict(1, 2)",
        "from a.ml.predict(1)", "create schema model", "insert into predicate values (1)", 'select "ML".predict(1)',
    ],
)  # fmt: skip
def test_what_is_ours_in_other_places_is_duckdbs(text: str) -> None:
    assert read(text) == Plain()
    (tokens,) = ScriptText(text).statements()
    assert calls_between(tokens, 0, len(tokens.tokens)) == []


def test_functions_and_variables() -> None:
    text = "select * from ml.Predict(MODEL cite, (select b from t where x = $a), 'P', seed => $s, by := 'x') p, (from ML.WEIGHTS(model m)) where y = $c and z = $$ $d $$"
    (tokens,) = ScriptText(text).statements()
    assert read_statement(tokens) == Plain()
    first, second = calls_between(tokens, 0, len(tokens.tokens))
    assert (str(first.name), str(first.model), [shown(x) for x in first.arguments]) == (
        "Predict",
        "cite",
        ["select b from t where x = $a", "P"],
    )
    assert [(str(x.name), shown(x.value)) for x in first.settings] == [("seed", ScriptVariable("s")), ("by", "x")]
    assert tokens.slice(first.first, first.last).startswith("ml.Predict(")
    assert tokens.slice(first.first, first.last).endswith("by := 'x')")
    assert (str(second.name), str(second.model), second.arguments) == ("WEIGHTS", "m", ())
    assert list(variables_between(tokens, 0, len(tokens.tokens), [first, second])) == ["c"]
    assert list(variables_between(tokens, 0, len(tokens.tokens))) == ["a", "s", "c"]


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("create predicate", 17, "the name of the predicate is missing"),
        ("create predicate P(a b) as select 1", 22, ", or ) is missing"),
        ("create predicate P(a) options target = true as select 1", 31, "options stand in brackets"),
        ("create predicate P(a) options (target) as select 1", 38, "= is missing behind target"),
        ("create predicate P(a) options (target = true, TARGET = false) as select 1", 47, "TARGET is given twice"),
        ("create predicate P(a) options (example = bib) as select 1", 42, "bib is no value: write a text in quotes, 'bib'"),
        ("create predicate P(a) options (example = ) as select 1", 42, "the value of example is missing"),
        ("create predicate P(a) options (x = {'a': 4}) as select 1", 36, "the value of x is a struct, which no option takes"),
        ("create predicate P(a) options (x = -'a') as select 1", 36, "the value of x is no number"),
        ("create predicate P(a)", 22, "where the rows are is missing"),
        ("create predicate P(a) as", 25, "a query is missing"),
        ("create predicate P(a) from file.csv", 28, "a file, in quotes, is missing"),
        ("create predicate P as rules Old", 29, "Horn rules"),
        ("alter predicate P set scope select 1", 29, "the tuples that have atoms is missing"),
        ("alter predicate P set scope ()", 30, "the brackets are empty"),
        ("alter predicate P rename to Q", 19, "only the scope"),
        ("create model m as select 1", 19, "the rules stand here"),
        ("create model m as $$ $$ trained (select 1)", 33, "ON is missing"),
        ("create model m as $$ $$ from 'a'", 25, "nothing can follow here, as from does"),
        ("create model m from a.mln", 21, "a file of rules"),
        ("alter model m drop rule 'x'", 15, "a model can be altered by a rule"),
        ("drop model m n", 14, "nothing can follow here"),
        ("export model m 'x.mln'", 16, "TO is missing"),
        ("select ml.predict(model m)", 8, "ml.predict is a table"),
        ("from ml.predict(model m", 24, ", or ) is missing"),
        ("from ml.predict(model m 'P')", 25, ", or ) is missing"),
        ("from ml.predict(m)", 17, "the model is written MODEL m"),
    ],
)  # fmt: skip
def test_a_statement_that_is_wrong_says_what_is_missing_where(text: str, column: int, problem: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.problem.startswith(problem) or problem in caught.value.problem


@given(st.text(min_size=1, max_size=30).filter(lambda x: "\0" not in x))
def test_any_name_in_double_quotes_is_the_name(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    found = read(f"CREATE MODEL {quoted} FROM MODEL {quoted}")
    assert isinstance(found, CreateModel)
    assert (found.name.text, found.model and found.model.text) == (name, name)


@given(st.text(max_size=30).filter(lambda x: "\0" not in x))
def test_any_text_in_quotes_is_the_text(text: str) -> None:
    found = read("ALTER MODEL m ADD RULE '" + text.replace("'", "''") + "'")
    assert isinstance(found, AddRule)
    assert found.rule.text == text
