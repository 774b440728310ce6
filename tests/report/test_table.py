"""Tables: what is shown, what is escaped, and that the data leave unchanged."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sqlrl.errors import InputError
from sqlrl.markup import visible
from sqlrl.report import Table
from sqlrl.report.text import fit_widths, shorten, width

HOSTILE = [
    "[red]x[/red]",
    "[/]",
    "<script>alert(1)</script>",
    "\x1b[2J",
    "a\nb\tc",
    "\u202egnp.exe",
    "'; DROP TABLE x; --",
    "",
]

texts = st.text(max_size=30) | st.sampled_from(HOSTILE)


def rendered(table: Table, columns: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=columns, force_terminal=False).print(table)
    return stream.getvalue()


class Cells(HTMLParser):
    """Collects the text of every cell, and all tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.open = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self.open = True

    def handle_data(self, data: str) -> None:
        if self.open:
            self.cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.open = False


@given(st.lists(texts, max_size=5), texts, texts)
def test_hostile_text_is_shown_as_text_everywhere(values: list[str], name: str, title: str) -> None:
    table = Table(pa.table({name: pa.array(values, pa.string())}), title=title)
    for text in (repr(table), rendered(table)):
        assert all(line.isprintable() for line in text.split("\n"))
    cells = Cells()
    cells.feed(table._repr_html_())
    assert cells.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert cells.cells[0] == visible(name)
    assert cells.cells[1:] == [visible(v) for v in values]


def test_markup_in_the_data_stays_visible() -> None:
    table = Table(pa.table({"[bold]n": ["[red]x[/red]", "[/]"]}), title="[blink]")
    for text in (repr(table), rendered(table)):
        for piece in ("[bold]n", "[red]x[/red]", "[/]", "[blink]"):
            assert piece in text


def test_long_tables_are_cut_and_counted() -> None:
    table = Table(pa.table({"x": list(range(1500))}), limit=3)
    assert repr(table).split("\n") == ["x", "-", "0", "1", "2", "… 1,497 more of 1,500 rows"]
    assert repr(table).endswith("… 1,497 more of 1,500 rows")
    assert len(re.findall("<tr>", table._repr_html_())) == 4
    assert "1,497 more of 1,500 rows" in rendered(table)
    assert len(table) == 1500
    assert len(table.to_arrow()) == 1500
    assert repr(table.head(5)).count("\n") == 6


def test_empty_tables() -> None:
    assert repr(Table(pa.table({"a": pa.array([], pa.int64())}))).endswith("(no rows)")
    assert repr(Table(pa.table({}))) == "(no columns)"
    assert "<p>(no rows)</p>" in Table(pa.table({}))._repr_html_()


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    table = Table(pa.table({"a": ["x" * 70], "b": ["世" * 50], "n": [1]}))
    assert max(map(width, repr(table).split("\n"))) <= 40


def test_values_of_all_kinds() -> None:
    table = Table(
        pa.table(
            {
                "count": pa.array([Decimal(2**100)], pa.decimal128(38, 0)),
                "none": pa.array([None], pa.int64()),
                "list": [["a", "b"]],
                "struct": [{"k": 1.5}],
                "nan": [float("nan")],
                "bytes": [b"\x00"],
            }
        )
    )
    text = repr(table)
    for piece in (str(2**100), "NULL", "[a, b]", "{k: 1.5}", "nan"):
        assert piece in text
    assert table.to_pandas()["count"][0] == Decimal(2**100)


def test_data_leave_unchanged() -> None:
    data = pa.table({"name": ["a", None], "n": pa.array([1, 2], pa.int64())})
    table = Table(data, limit=1)
    assert table.to_arrow() is data
    assert table.to_polars().equals(pl.DataFrame(table))
    assert table.to_polars().rows() == [("a", 1), (None, 2)]
    assert table.to_pandas()["n"].tolist() == [1, 2]
    with duckdb.connect() as connection:
        assert table.to_duckdb(connection).order("n desc").fetchall() == [(None, 2), ("a", 1)]
    assert list(table) == [{"name": "a", "n": 1}, {"name": None, "n": 2}]
    assert table["n"] == [1, 2]
    assert table.columns == ["name", "n"]
    with pytest.raises(KeyError, match="no column 'm'; there are 'name', 'n'"):
        table["m"]


def test_negative_limit_is_refused() -> None:
    with pytest.raises(InputError, match="limit"):
        Table(pa.table({}), limit=-1)


@given(texts, st.integers(1, 20))
def test_shortened_text_fits(text: str, columns: int) -> None:
    text = visible(text)
    short = shorten(text, columns)
    assert width(short) <= columns
    assert short == text or short.endswith("…")


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(0, 200))
def test_widths_never_grow_and_fit_if_they_can(wanted: list[int], available: int) -> None:
    widths = fit_widths(wanted, available)
    assert all(found <= want for found, want in zip(widths, wanted, strict=True))
    assert sum(widths) <= max(available, sum(min(w, 8) for w in wanted))
    if sum(wanted) <= available:
        assert widths == wanted


@pytest.mark.parametrize("cell", ["x" * 300, "世" * 90, "a " * 100 + "b", "\n" * 50])
def test_nothing_is_cut_where_nobody_looks_at_a_terminal(
    cell: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    table = Table(pa.table({"a": [cell], "b": [cell]}))
    with (tmp_path / "out.txt").open("w", encoding="utf-8") as file, redirect_stdout(file):
        print(table)
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").count(visible(cell)) == 2
    cells = Cells()
    cells.feed(table._repr_html_())
    assert cells.cells[2:] == [visible(cell)] * 2


def test_on_a_terminal_tables_fit_and_whole_ones_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("COLUMNS", raising=False)
    data = pa.table({"clause": ["P(x) ^ " * 40 + "Q(x)"], "weight": [1.25]})
    with redirect_stdout(Screen()):
        assert "…" in repr(Table(data))
        assert data["clause"][0].as_py() in repr(Table(data, whole=True))
    shown = rendered(Table(data, whole=True))
    assert shown.count("P(x)") == 40
    assert "1.25" in shown
    assert max(map(width, shown.split("\n"))) <= 120
    assert "…" in rendered(Table(data))
