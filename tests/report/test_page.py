"""Pages: what users wrote is text in them, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from sqlrl.errors import InputError
from sqlrl.report import Table
from sqlrl.report.page import ListingColumn, PageFacts, PageListing, PageTable, Report, Section, Sentence, packed

pytest.importorskip("vl_convert", reason="pages are an extra: pip install 'sqlrl[report]'")

HOSTILE = "</script><script>alert(1)</script>{{data}}\u202e"


def page_of(*parts: object) -> str:
    return Report(HOSTILE, (Section("all", "All", parts),)).html()  # type: ignore[arg-type]


def data_of(page: str) -> list[dict[str, object]]:
    return list(json.loads(unpacked(page, "data")))


def unpacked(page: str, name: str) -> str:
    found = re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1], validate=True)).decode()


def listing(**columns: pa.Array) -> PageListing:
    kinds = {name: "text" if pa.types.is_string(values.type) else "number" for name, values in columns.items()}
    shown = tuple(ListingColumn(name, name, kinds[name], "what it is") for name in columns)  # type: ignore[arg-type]
    return PageListing(shown, pa.table(columns), "clauses", next(iter(columns)))


@pytest.mark.slow
def test_every_text_is_escaped() -> None:
    parts = (
        Sentence(HOSTILE),
        PageFacts(((HOSTILE, HOSTILE),), HOSTILE, folded=True),
        PageTable(Table(pa.table({HOSTILE: [HOSTILE]})), HOSTILE),
        listing(clause=pa.array([HOSTILE])),
    )
    page = page_of(*parts)
    # Our own scripts and nobody else's: data, page and Vega.
    assert len(re.findall(r"<script", page)) == 3
    assert len(re.findall(r"</script", page)) == 3
    assert "\u202e" not in page
    # What looks like a place of the template is text.
    assert page.count("{{data}}") == page.count("alert(1)")
    assert data_of(page)[0]["rows"] == [[HOSTILE.replace("\u202e", r"\u202e")]]


def test_nothing_is_fetched_and_only_our_scripts_run() -> None:
    page = page_of(Sentence("text"))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert len(re.findall("'sha256-", policy)) == 2
    assert not re.search(r"<(link|img|iframe)\b|\bsrc=|@import|url\(", page.split("<script", 1)[0])


def test_numbers_of_a_listing_are_those_of_the_data() -> None:
    counts = pa.array([Decimal(2**70), Decimal(7), None], pa.decimal128(38))
    weights = pa.array([1 / 3, float("inf"), None])
    found = data_of(page_of(listing(n=counts, weight=weights)))
    # JavaScript would round 2^70, so that it is a text.
    assert found[0]["rows"] == [[str(2**70), 7, None], [0.333333, None, None]]


def test_what_is_packed_has_no_character_that_html_knows() -> None:
    text = '{"a": "<!--</script>&\u2028"}' * 50
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", packed(text))
    assert len(packed(text)) < len(text) / 5


def test_the_packed_vega_is_the_one_that_the_policy_knows() -> None:
    page = page_of(Sentence("text"))
    digest = base64.b64encode(hashlib.sha256(unpacked(page, "vega").encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert f"'sha256-{digest}'" in policy


def test_a_page_is_saved_as_html_alone(tmp_path: Path) -> None:
    report = Report("Run 1", ())
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html()
    with pytest.raises(InputError, match=r"end its name in .html"):
        report.save(tmp_path / "r.pdf")
