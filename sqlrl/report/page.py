"""Pages: a frozen value of sections as one file of HTML that needs no network, with its data, its scripts and Vega inside.

Everything that comes from a user reaches the page as escaped text, or as packed JSON, which the scripts write as text alone; a policy in the page lets no
other script run, and nothing be fetched. Data and Vega are packed since browsers read what stands in a page slowly: five megabytes of JSON in an element
take longer than to unpack and to parse them.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pyarrow as pa

from sqlrl import markup
from sqlrl.errors import InputError
from sqlrl.markup import visible
from sqlrl.paths import expanded
from sqlrl.report.charts import Chart, plain, vega_bundle
from sqlrl.report.table import Table
from sqlrl.report.text import cell_text

Kind: TypeAlias = Literal["text", "number", "bool"]

MOST_EXACT = 2**53
"""Whole numbers above it are texts in the page: JavaScript's numbers would round them."""

MOST_CHART_ROWS = 100
"""Rows of a chart's data that stand below it as a table."""


# ---- what a page is made of --------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence:
    """A sentence: what is left out, or why something is not there."""

    text: str


@dataclass(frozen=True)
class PageFacts:
    """Names with values; a `title` that is not empty stands above them, and with `folded` they open on a click."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""
    folded: bool = False


@dataclass(frozen=True, eq=False)
class PageTable:
    """A small table that is there as it is."""

    table: Table
    title: str = ""


@dataclass(frozen=True)
class ListingColumn:
    """A column of a listing: its name in the data, the words above it, what they mean; `narrow` columns are there on a phone, too."""

    key: str
    label: str
    kind: Kind
    meaning: str
    narrow: bool = False


@dataclass(frozen=True, eq=False)
class PageListing:
    """A table of any length that the page sorts and filters; only the rows in view are elements of the page."""

    columns: tuple[ListingColumn, ...]
    data: pa.Table
    things: str
    sort: str  # the column by which rows stand at first
    descending: bool = True


@dataclass(frozen=True, eq=False)
class AtomListing:
    """Examples, their atoms, and what clauses say about each atom."""

    examples: PageListing
    # Its data have a column `of`, not shown: the row of the example in `examples`. Without columns `label` and `outcome` atoms were not
    # compared with labels.
    atoms: PageListing
    clauses: pa.Table  # columns `text` and `weight`
    start: Sequence[int]  # `said[start[k]:start[k + 1]]` is about atom k
    # Columns `clause` (row in `clauses`), `change` (n as predicted minus n with the atom alone flipped) and `worth` (that in log-odds, NULL
    # for hard clauses).
    said: pa.Table
    notes: pa.Table  # columns `atom` (its row) and `text`: sentences about single atoms
    missing: str = ""  # why there are no clauses, if there are none


Part: TypeAlias = Sentence | PageFacts | PageTable | PageListing | AtomListing | Chart


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading; `name` is its anchor."""

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a run, made of sections; notebooks show it in a frame."""

    title: str
    sections: tuple[Section, ...]

    def html(self) -> str:
        """Return the page as HTML; needs vl-convert, which has the scripts that draw charts."""
        return _page(self)

    def save(self, path: str | Path) -> None:
        """Write the page to a file whose name ends in .html or .htm; needs vl-convert."""
        check_path(path)
        expanded(Path(path)).write_text(self.html(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"Report of {self.title}: {', '.join(section.title.lower() for section in self.sections)}; save(path) writes the page"

    def _repr_html_(self) -> str:
        frame = html.escape(self.html(), quote=True)
        return f'<iframe title="{html.escape(visible(self.title))}" style="width: 100%; height: 40rem; border: 0" srcdoc="{frame}"></iframe>'


def check_path(path: str | Path) -> None:
    """Refuse a name that is not one of a page."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is a page of HTML: end its name in .html")


# ---- writing it --------------------------------------------------------------------------------------


@cache
def _resource(name: str) -> str:
    return files("sqlrl.report").joinpath(name).read_text(encoding="utf-8")


def _page(report: Report) -> str:
    parts: list[dict[str, Any]] = []
    sections = "".join(_section(section, parts) for section in report.sections)
    links = "".join(
        f'<li><a href="#{html.escape(section.name)}">{html.escape(section.title)}</a></li>'
        for section in report.sections
    )
    scripts = {"page": _resource("page.js"), "vega": vega_bundle() + '\nwindow.dispatchEvent(new Event("vega"));\n'}
    policy = " ".join(f"'sha256-{_digest(script)}'" for script in scripts.values())
    values = {
        "title": html.escape(visible(report.title)),
        "policy": policy,
        "style": _resource("page.css"),
        "links": links,
        "sections": sections,
        "data": packed(json.dumps(parts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))),
        "page": scripts["page"],
        "vega": packed(scripts["vega"]),
    }
    return _filled(_resource("page.html"), values)


def _filled(template: str, values: dict[str, str]) -> str:
    """Put values in place of `{{name}}`, in one pass: what a value holds is never looked at again."""
    head, *rest = template.split("{{")
    written = [head]
    for each in rest:
        name, _, text = each.partition("}}")
        written += [values[name], text]
    return "".join(written)


def _digest(script: str) -> str:
    """Return the hash by which the page's policy knows a script; an error for one that would end its own element."""
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("a script of the page holds what ends a script in HTML")
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def packed(text: str) -> str:
    """Return a text as the page's script unpacks it: zlib in base64, which has no character that HTML knows."""
    return base64.b64encode(zlib.compress(text.encode())).decode()


def _section(section: Section, parts: list[dict[str, Any]]) -> str:
    name = html.escape(section.name)
    body = "".join(
        # Charts beside each other share a line where there is room.
        f'<div class="charts">{written}</div>' if charts else written
        for charts, group in groupby(section.parts, key=lambda part: isinstance(part, Chart))
        for written in ["".join(_part(part, parts) for part in group)]
    )
    return f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{html.escape(section.title)}</h2>{body}</section>'


def _part(part: Part, parts: list[dict[str, Any]]) -> str:
    """Write a part; what the scripts need of it is added to `parts`."""
    match part:
        case Sentence(text):
            return markup.paragraph(text)
        case PageFacts(pairs, title, folded):
            table = _wide(markup.pairs(pairs), title or "facts")
            if folded:
                return f"<details><summary>{html.escape(visible(title))}</summary>{table}</details>"
            return (f"<h3>{html.escape(visible(title))}</h3>" if title else "") + table
        case PageTable(found, title):
            return (f"<h3>{html.escape(visible(title))}</h3>" if title else "") + _wide(_rows(found), title or "table")
        case Chart():
            return _figure(part, parts)
        case PageListing():
            parts.append({"kind": "listing", **_listing(part)})
        case AtomListing():
            parts.append({"kind": "atoms", **_atoms(part)})
    return f'<div data-part="{len(parts) - 1}"></div>'


def _wide(table: str, label: str) -> str:
    """Put a table of HTML into what scrolls by itself where it is wider than the page, also by the keyboard."""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(visible(label))}">{table}</div>'


def _figure(chart: Chart, parts: list[dict[str, Any]]) -> str:
    spec = chart.to_dict(width="container")
    title = html.escape(spec.pop("title"))
    parts.append({"kind": "chart", "spec": spec})
    note = markup.paragraph(chart.note) if chart.note else ""
    table = _wide(_rows(chart.table().head(MOST_CHART_ROWS), of=len(chart.data)), f"data of {chart.title}")
    return (
        f'<figure><figcaption>{title}</figcaption><div class="chart" data-part="{len(parts) - 1}"></div>{note}'
        f"<details><summary>As a table</summary>{table}</details></figure>"
    )


def _rows(table: Table, of: int | None = None) -> str:
    data = table.to_arrow()
    cells = [[cell_text(value) if value is not None else "" for value in row.values()] for row in data.to_pylist()]
    right = [
        pa.types.is_integer(f.type) or pa.types.is_floating(f.type) or pa.types.is_decimal(f.type) for f in data.schema
    ]
    text = markup.table([name.replace("_", " ") for name in data.column_names], cells, right)
    more = (of or 0) - len(cells)
    return text + (markup.paragraph(f"… {more:,} more rows") if more > 0 else "")


def _listing(listing: PageListing) -> dict[str, Any]:
    return {
        "columns": [vars(column) for column in listing.columns],
        "rows": [_values(listing.data.column(column.key)) for column in listing.columns],
        "things": listing.things,
        "sort": listing.sort,
        "descending": listing.descending,
    }


def _atoms(part: AtomListing) -> dict[str, Any]:
    return {
        "examples": _listing(part.examples),
        "atoms": _listing(part.atoms),
        "of": part.atoms.data.column("of").to_pylist(),
        "clauses": {name: _values(part.clauses.column(name)) for name in ("text", "weight")},
        "start": list(part.start),
        "said": {name: _values(part.said.column(name)) for name in ("clause", "change", "worth")},
        "notes": {name: _values(part.notes.column(name)) for name in ("atom", "text")},
        "missing": visible(part.missing),
    }


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Return a column as JSON has it: floats with the six digits that are shown, counts that JavaScript would round as texts."""
    if pa.types.is_floating(column.type):
        return [None if x is None else plain(float(f"{x:.6g}")) for x in column.to_pylist()]
    found = [plain(x) for x in column.to_pylist()]
    if pa.types.is_integer(column.type) or pa.types.is_decimal(column.type):
        return [str(x) if x is not None and abs(x) > MOST_EXACT else x for x in found]
    return found
