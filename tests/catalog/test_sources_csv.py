"""Delimited text: the dialect is what the user says, and every fault has its file and line."""

from __future__ import annotations

import csv
import functools
import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from sqlrl.catalog.catalog import Catalog
from sqlrl.catalog.delimited import Dialect
from sqlrl.catalog.sources import open_source, read_delimited
from sqlrl.engine.connection import connect
from sqlrl.engine.duckdb import DuckDBEngine
from sqlrl.errors import LoadError, LoadWarning
from tests.effort import draws


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(connect(":memory:", threads=1))


@pytest.fixture(scope="module")
def shared() -> Catalog:
    """A catalog for loads that fail, or that replace what others loaded."""
    return Catalog(connect(":memory:", threads=1))


@functools.cache
def reader() -> DuckDBEngine:
    return connect(":memory:", threads=1)


def read(path: Path, **options: Any) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """Return the columns and rows of a file."""
    with open_source(reader(), path, Dialect(**options)) as source:
        table = reader().fetch(exp.select("*").from_(source.table), step="read")
        return list(source.columns), [tuple(row.values()) for row in table.to_pylist()]


PAIRS = [("1", "2"), ("f", "x y")]
READABLE: list[tuple[str, str | bytes, dict[str, Any], list[str], list[tuple[str | None, ...]]]] = [
    ("header", "a,b\n1,2\nf,x y\n", {}, ["a", "b"], PAIRS),
    ("no end", "a,b\n1,2\nf,x y", {}, ["a", "b"], PAIRS),
    ("windows", "a,b\r\n1,2\r\nf,x y\r\n", {}, ["a", "b"], PAIRS),
    ("mark", "\ufeffa,b\n1,2\nf,x y\n", {}, ["a", "b"], PAIRS),
    ("blank line", "a,b\n1,2\n\nf,x y\n", {}, ["a", "b"], PAIRS),
    ("no header", "1,2\nf,x y\n", {"header": False}, ["column0", "column1"], PAIRS),
    ("no header, one row", "1,2", {"header": False}, ["column0", "column1"], PAIRS[:1]),
    ("semicolon", "a;b\n1;2\nf;x y\n", {"delimiter": ";"}, ["a", "b"], PAIRS),
    ("tab", "a\tb\n1\t2\nf\tx y\n", {"delimiter": "\t"}, ["a", "b"], PAIRS),
    ("apostrophe", "a,b\n'x,y','it''s'\n", {"quote": "'"}, ["a", "b"], [("x,y", "it's")]),
    ("no quote", 'a,b\n"x,y"\n', {"quote": ""}, ["a", "b"], [('"x', 'y"')]),
    ("quotes", 'a,b\n"x,""y""","p\nq"\n', {}, ["a", "b"], [('x,"y"', "p\nq")]),
    ("quoted header", '"a,1","b\n2"\n1,2\n', {}, ["a,1", "b\n2"], [("1", "2")]),
    ("quoted first row", '"p\nq",2\n3,4\n', {"header": False}, ["column0", "column1"], [("p\nq", "2"), ("3", "4")]),
    ("missing", 'a,b\n,""\n', {}, ["a", "b"], [(None, "")]),
    ("names", ",A,a\n1,2,3\n", {}, ["column0", "A", "a_1"], [("1", "2", "3")]),
    ("typed", "a,b\ntrue,01\nnan,1e3\n", {}, ["a", "b"], [("true", "01"), ("nan", "1e3")]),
    ("header alone", "a,b\n", {}, ["a", "b"], []),
    ("one column", "a\nx\ny\n", {}, ["a"], [("x",), ("y",)]),
    ("other delimiter within", "a;b\n1;2\n", {"delimiter": ","}, ["a;b"], [("1;2",)]),
]


@pytest.mark.parametrize("case", READABLE, ids=[case[0] for case in READABLE])
def test_text_is_read_as_its_dialect_says(tmp_path: Path, case: Any) -> None:
    _, content, options, columns, rows = case
    path = tmp_path / "p.csv"
    path.write_bytes(content.encode())
    assert read(path, **options) == (columns, rows)
    packed = tmp_path / "p.csv.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    assert read(packed, **options) == (columns, rows)


FAULTY: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    ("too many", "a,b\n1,2\n3,4,5\n", {}, r"p\.csv, line 3: 3 fields, expected 2 as in the first line: '3,4,5'\. "),
    ("too few", "a,b\n1,2\n3\n", {}, r"p\.csv, line 3: 1 field, expected 2 as in the first line: '3'"),
    ("too many, no header", "1,2\n3,4,5\n", {"header": False}, r"p\.csv, line 2: 3 fields, expected 2"),
    ("unclosed", 'a,b\n1,2\n3,"x\n5,6\n', {}, r"p\.csv, line 3: a quote is not closed.* quote=''"),
    ("unclosed, closed later", 'a,b\n3,"x\n5,"y"\n', {}, r"p\.csv, line 2: a quote is not closed, or text follows"),
    ("after a quote", 'a,b\n1,2\n"x"y,3\n', {}, r"p\.csv, line 3: a quote is not closed, or text follows"),
    ("unclosed header", '"a,b\n1,2\n', {}, r"p\.csv, line 1: a quote \(\"\) is not closed"),
    ("encoding", "a,b\n1,2\né,3\n".encode("latin-1"), {}, r"p\.csv, line 3: the text is not UTF-8"),
    ("encoding of the header", "é,b\n1,2\n".encode("latin-1"), {}, r"p\.csv, line 1: the text is not UTF-8"),
    ("wide encoding", "a,b\n1,2\n".encode("utf-16"), {}, r"p\.csv, line 1: the text is not UTF-8"),
    ("line ends", "a,b\r\n1,2\n3,4\r\n", {}, r"p\.csv: .*lines end in different ways"),
    ("blank first line", "\na,b\n1,2\n", {}, r"p\.csv, line 1: the first line is empty"),
    ("semicolons", "a;b\n1;2\n", {}, r"p\.csv, line 1: there is no ',' but a semicolon: pass delimiter=';'"),
    ("empty", "", {}, "there are no rows"),
    ("long delimiter", "a,b\n1,2\n", {"delimiter": "::"}, r"delimiter='::' must be one character"),
    ("no delimiter", "a,b\n1,2\n", {"delimiter": ""}, r"delimiter='' must be one character"),
    ("quote", "a,b\n1,2\n", {"quote": "\n"}, r"quote='\\n' must be one character"),
    ("same", "a,b\n1,2\n", {"quote": ","}, r"delimiter=',' and quote=',' must differ"),
    ("header", "a,b\n1,2\n", {"header": "no"}, r"header='no' must be True .* or False"),
]


@pytest.mark.parametrize(
    ("case", "typed"), [(case, place % 2 == 0) for place, case in enumerate(FAULTY)], ids=[case[0] for case in FAULTY]
)
def test_faults_of_text_have_file_line_and_remedy(shared: Catalog, tmp_path: Path, case: Any, typed: bool) -> None:
    _, content, options, message = case
    path = tmp_path / "p.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LoadError, match=message) as caught:
        shared.load("P", path, types=["s", "s"] if typed else None, **options)
    text = str(caught.value)
    assert len(text) < 500 + len(str(path))
    assert "strict_mode" not in text
    assert "Possible" not in text
    assert shared.predicates() == {}


def test_a_fault_far_down_has_its_line(catalog: Catalog, tmp_path: Path) -> None:
    lines = ["a,b", *(f"name{i},other{i}" for i in range(260_000))]
    path = tmp_path / "long.csv"
    for fault, message in (("x,y,z", "3 fields"), ('x,"y', "a quote is not closed"), ('"x', "a quote is not closed")):
        path.write_text("\n".join([*lines[:250_000], fault, *lines[250_000:]]) + "\n")
        with pytest.raises(LoadError, match=rf"long\.csv, line 250,001: {message}") as caught:
            catalog.load("P", path, types=["s", "s"])
        assert len(str(caught.value)) < 500 + len(str(path))


def test_columns_without_a_header_go_by_position(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("Anna|17|Bob\nBob|18|Chris\n")
    catalog.load("P", path, types=["s", "s"], columns=[2, 0], header=False, delimiter="|")
    rows = catalog.engine.connection.sql('select * from sqlrl."named_P" order by all').fetchall()
    assert rows == [("Bob", "Anna"), ("Chris", "Bob")]
    path.write_text("Anna|17|Bob\n")
    assert catalog.refresh() == ["P"]
    rows = catalog.engine.connection.sql('select * from sqlrl."named_P"').fetchall()
    assert rows == [("Bob", "Anna")]


@pytest.mark.parametrize("content", ["1,2\n3,4\n", "Anna,Anna\nBob,Chris\n"])
def test_a_header_that_looks_like_data_warns(catalog: Catalog, tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(content)
    with pytest.warns(LoadWarning, match=r"p\.csv: the first line is taken for names .* header=False"):
        catalog.load("P", path, types=["s", "s"])


def test_a_dialect_is_for_text_alone(catalog: Catalog) -> None:
    with pytest.raises(LoadError, match="say how a CSV file is written, but a list is none: leave them out"):
        catalog.load("P", [("a",)], types=["s"], header=False)
    with pytest.raises(LoadError, match="but 'select 1' is none"):
        catalog.load("P", "select 1", types=["s"], delimiter=";")


def test_the_files_of_a_pattern_have_the_same_columns(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,b\n3,4\n")
    pattern = str(tmp_path / "*.csv")
    catalog.load("P", pattern, types=["s", "s"])
    assert catalog.predicates()["P"].rows == 2
    (tmp_path / "b.csv").write_text("b,a\n3,4\n")
    with pytest.raises(LoadError, match=r"b\.csv has the columns b, a, but .*a\.csv has a, b"):
        catalog.load("P", pattern, types=["s", "s"])
    (tmp_path / "b.csv").write_text("a,b\n3,4\n5\n")
    with pytest.raises(LoadError, match=r"b\.csv, line 3: 1 field, expected 2"):
        catalog.load("P", pattern, types=["s", "s"])
    for nothing in ("none*.csv", "none*.parquet"):
        with pytest.raises(LoadError, match="there is no such file"):
            catalog.load("P", str(tmp_path / nothing), types=["s", "s"])


def test_text_from_elsewhere_has_its_own_name() -> None:
    engine = connect(":memory:", threads=1)
    table = read_delimited(engine, b"1;2\n", "standard input", Dialect(False, ";"))
    assert table.to_pylist() == [{"column0": "1", "column1": "2"}]
    assert read_delimited(engine, b"", "standard input", Dialect()).num_columns == 0
    with pytest.raises(LoadError, match=r"^standard input, line 2: 1 field, expected 2"):
        read_delimited(engine, b"a,b\n1\n", "standard input", Dialect())


fields = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\x01\ufeff"), max_size=5)


@settings(max_examples=draws(30))
@given(
    st.integers(1, 3).flatmap(lambda width: st.lists(st.lists(fields, min_size=width, max_size=width), min_size=1)),
    st.sampled_from([",", ";", "\t", "|"]),
    st.booleans(),
)
def test_what_another_writer_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str, header: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / "p.csv"
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    names = [f"c{i}" for i in range(len(rows[0]))]
    writer.writerows([names, *rows] if header else rows)
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    columns, found = read(path, delimiter=delimiter, header=header)
    assert found == [tuple(row) for row in rows]
    assert columns == (names if header else [f"column{i}" for i in range(len(names))])
