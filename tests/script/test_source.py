"""Scripts cut into statements, and places in them."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlrl.errors import ParseError, ScriptError
from sqlrl.script.source import ScriptText

PIECES = (
    "select 1", "select ';' as \"a;b\"", "select $$ ; ' $$", "select $q$ $$ ; $q$", "select 1 -- ; '\n + 2", "select /* ; \" */ 3", "select e'\\'; '",
    "from t where x = 'it''s; so'", "export database 'a;b'", "explain select 1 + ';'", "select 'ü;€', \"é;\"", "select [x for x in [1, 2]]", "from t\nwhere a <> $b",
    "copy t to 'x;y.csv' (header false)", "pragma version", "select x'00', 1e5::int, 0.5",
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(PIECES), st.sampled_from([";", " ;\n", ";;", ";\n-- ;\n", "; /* ; */ "])), max_size=6
    )
)
def test_statements_are_those_that_were_put_together_and_those_of_duckdb(parts: list[tuple[str, str]]) -> None:
    text = "".join(piece + end for piece, end in parts)
    found = [tokens.text for tokens in ScriptText(text).statements()]
    assert found == [piece for piece, _ in parts]
    # DuckDB, which has a parser of its own, counts the same.
    assert len(duckdb.extract_statements(text)) == len(found)


def test_the_last_statement_needs_no_semicolon_and_an_empty_script_has_none() -> None:
    assert [x.text for x in ScriptText("select 1; select 2 -- end").statements()] == ["select 1", "select 2"]
    assert list(ScriptText(" -- nothing\n;;").statements()) == []


@given(st.lists(st.text(alphabet="aü€\t ", max_size=8), min_size=1, max_size=6), st.data())
def test_places_and_offsets_are_inverse(lines: list[str], data: st.DataObject) -> None:
    source = ScriptText("\n".join(lines))
    offset = data.draw(st.integers(0, len(source.text)))
    line, column = source.place(offset)
    assert lines[line - 1][: column - 1] == source.text[:offset].split("\n")[-1]
    assert source.offset(line, column) == offset


def test_an_error_shows_its_line_with_a_caret() -> None:
    error = ScriptText("select 1;\r\nselect nothing", "a.sql").error("there is no such thing", 18)
    assert str(error) == "a.sql:2:8: there is no such thing\n  select nothing\n         ^"


def test_an_error_of_a_text_in_the_script_stands_where_it_is_in_the_script() -> None:
    source = ScriptText("create model m as $$ A(x)\n 1 B(x) $$", "a.sql")
    first = source.within(ParseError("first", line=1, column=2), "first", 20)
    second = source.within(ParseError("second", line=2, column=4), "second", 20)
    whole = source.within(ParseError("whole"), "whole", 20)
    assert [(x.line, x.column) for x in (first, second, whole)] == [(1, 22), (2, 4), (1, 21)]


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("select 1;\nselect 'abc; select 2", 2, 8, "what ' begins"),
        ("select 'a', \"b", 1, 13, 'what " begins'),
        ("select 1;\n\n  create model m as $$ a ' b", 3, 21, "what $$ begins"),
        ("select $tag$ a $$ b", 1, 8, "what $tag$ begins"),
        ("select 1 /* 'so' ", 1, 10, "this comment"),
    ],
)
def test_what_has_no_end_is_shown_where_it_begins(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(ScriptError) as caught:
        list(ScriptText(text).statements())
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.problem.startswith(what)
