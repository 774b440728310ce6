"""Reports as a browser shows them: Debian's Chromium, found by its path; skipped where it is absent."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sqlrl
from sqlrl.report.page import ListingColumn, PageListing, Report, Section

pytest.importorskip("vl_convert", reason="pages are an extra: pip install 'sqlrl[report]'")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the browser is driven by playwright: pip install playwright"
)

CHROMIUM = os.environ.get("SQLRL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
# The browser, and a report to show, take five seconds.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium: apt-get install chromium, or name it in SQLRL_CHROMIUM"
    ),
]

HOSTILE = "</script><img src=x onerror=alert(1)>"
MODEL = """
Word(doc, word)
Link(doc, doc)
Kind(doc, kind!)
Word(d, +w) => Kind(d, +k)
0.4 Kind(d, k)
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for these tests; it ends with them, since a process can have one driver at a time."""
    with playwright.sync_playwright() as driver:
        # Chromium refuses its sandbox to root, as whom containers run.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with words, one of which no page should take for markup, learned and predicted."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    words = [HOSTILE, "good", "bad", "odd"]
    docs = [f"d{i:02d}" for i in range(24)]
    has = [(doc, words[k]) for i, doc in enumerate(docs) for k in {i % 3, int(rng.integers(4))}]
    kinds = [(doc, ["spam", HOSTILE, "ham"][i % 3]) for i, doc in enumerate(docs)]
    with sqlrl.connect(folder / "docs.duckdb") as db:
        db.load("Word", has, types=["doc", "word"], example="doc")
        db.load("Kind", kinds, types=["doc", "kind"], target=True)
        fit = sqlrl.AdaGrad(passes=2, record_history=True).fit(
            db, sqlrl.parse_mln(MODEL.replace("Link(doc, doc)\n", "")), examples=docs[:12]
        )
        db.predict(fit.model_, examples=docs[12:], keep=True).evaluate()
        with pytest.warns(sqlrl.errors.CalibrationWarning):
            db.probabilities(fit.model_, examples=docs[12:], keep=True).evaluate()
        db.runs[fit.run_].report(folder / "report.html")
        db.predict(fit.model_, examples=docs[12:], keep=True).report(folder / "unlabelled.html")
    return folder / "report.html"


@contextmanager
def opened(browser: Any, path: Path, *, width: int = 1280, scheme: str = "light") -> Iterator[Any]:
    """Open a page whose console stays empty, and that asks for nothing."""
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page, trouble = context.new_page(), list[str]()
    page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url == path.as_uri() else trouble.append(request.url))
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-charts=ready]")
        yield page
        assert trouble == []
    finally:
        context.close()


def part(path: Path, kind: str) -> Any:
    """The first part of a kind among the data of a page."""
    found = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return next(each for each in json.loads(zlib.decompress(base64.b64decode(found[1]))) if each["kind"] == kind)


def draw_all(page: Any) -> None:
    """Scroll through a page, so that every chart is drawn."""
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg").wait_for()


def column(page: Any, listing: str, place: int) -> list[str]:
    """What a column shows in the rows in view, from the top."""
    script = """(rows, place) => rows.filter(row => !row.hidden).sort((a, b) => a.dataset.place - b.dataset.place)
        .map(row => row.children[place].lastChild.data)"""
    found: list[str] = page.locator(f"{listing} .body .row").evaluate_all(script, place)
    return found


def test_every_chart_is_drawn_without_scrolling(browser: Any, report: Path) -> None:
    """So that what is printed has all of them."""
    with opened(browser, report) as page:
        charts = page.locator(".chart").count()
        page.wait_for_function("n => document.querySelectorAll('.chart svg').length === n", arg=charts)
        assert page.evaluate("window.scrollY") == 0
        assert charts >= 7
        assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_loads_without_errors_and_does_not_scroll_sideways(
    browser: Any, report: Path, width: int, scheme: str
) -> None:
    with opened(browser, report, width=width, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        draw_all(page)
        assert page.locator(".chart svg").count() == page.locator(".chart").count() >= 7
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert light == (scheme == "light")
        page.locator("#theme").click()
        assert light != (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)")


def test_the_table_of_clauses_sorts_and_filters(browser: Any, report: Path) -> None:
    with opened(browser, report) as page:
        every = sorted(part(report, "listing")["rows"][1], reverse=True)
        weights = [float(text) for text in column(page, "#clauses", 1)]
        assert len(weights) > 5
        assert weights == every[: len(weights)]
        # By keyboard: a click misses where charts that are drawn late move the table.
        page.locator("#clauses .head button", has_text="weight").press("Enter")
        weights = [float(text) for text in column(page, "#clauses", 1)]
        assert weights == every[::-1][: len(weights)]
        assert page.locator("#clauses [aria-sort=ascending]").inner_text() == "weight"
        page.locator("#clauses .head button", has_text="clause").press("Enter")
        texts = column(page, "#clauses", 0)
        assert texts == sorted(texts)
        page.locator("#clauses input").fill('"good" weight>0 -spam')
        playwright.expect(page.locator("#clauses output")).to_contain_text(" of ")
        assert column(page, "#clauses", 0)
        assert all('"good"' in text and "spam" not in text for text in column(page, "#clauses", 0))
        assert all(float(text) > 0 for text in column(page, "#clauses", 1))


def test_a_click_and_the_keyboard_show_the_clauses_behind_an_atom(browser: Any, report: Path) -> None:
    with opened(browser, report) as page:
        row = page.locator("#examples .pair > div:last-child .body .row").first
        row.click()
        detail = page.locator("#examples .detail")
        name = row.locator(".cell").first.get_attribute("title")
        assert detail.locator("h3").inner_text() == name
        assert detail.locator(".reasons li").count() > 0
        assert "weight" in detail.locator(".reasons").inner_text()
        view = page.locator("#examples .pair > div:last-child .grid")
        view.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert detail.locator("h3").inner_text() != name
        # By the keyboard alone, also another example.
        title = page.locator("#examples .pair > div:last-child h3").first
        before = title.inner_text()
        page.locator("#examples .pair > div:first-child .grid").focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        assert title.inner_text() != before


@pytest.mark.parametrize("width", [1280, 390])
def test_atoms_without_labels_have_the_clauses_behind_them(browser: Any, report: Path, width: int) -> None:
    with opened(browser, report.with_name("unlabelled.html"), width=width) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#examples .pair h3").first.inner_text() == "Examples"
        assert page.locator("#examples select[aria-label='Which atoms']").count() == 0
        page.locator("#examples .pair > div:last-child .body .row").first.click()
        detail = page.locator("#examples .detail")
        assert "Predicted true; it was not compared with labels." in detail.inner_text()
        assert "labelled" not in detail.inner_text()
        assert detail.locator(".reasons li").count() > 0


def test_weights_while_learning_are_drawn(browser: Any, report: Path) -> None:
    with opened(browser, report, width=390) as page:
        figure = page.locator("figure", has_text="Weights while learning")
        figure.scroll_into_view_if_needed()
        figure.locator("svg").wait_for()
        # A clause of a constant that looks like markup is text in the legend, and in the table below.
        assert HOSTILE[:9] in figure.locator("svg").text_content()
        assert HOSTILE in figure.locator("table").text_content()
        assert figure.locator("svg").bounding_box()["width"] <= 390


def test_markup_in_names_is_text(browser: Any, report: Path) -> None:
    with opened(browser, report, width=390) as page:
        draw_all(page)
        page.locator("#clauses input").fill("onerror")
        playwright.expect(page.locator("#clauses output")).to_contain_text(" of ")
        assert all(HOSTILE in text for text in column(page, "#clauses", 0))
        page.locator("#clauses .body .row").first.click()
        assert HOSTILE in page.locator("#clauses .detail h3").inner_text()
        assert page.locator("img").count() == 0


def test_only_the_rows_in_view_are_in_the_page(browser: Any, tmp_path: Path) -> None:
    n = 50_000
    weight = np.random.default_rng(1).normal(size=n)
    data = pa.table({"clause": [f"Token(w{i}, p, c) => InField(c, f{i % 7}, p)" for i in range(n)], "weight": weight})
    columns = (
        ListingColumn("clause", "clause", "text", "its text", narrow=True),
        ListingColumn("weight", "weight", "number", "log-odds", narrow=True),
    )
    Report("Many", (Section("clauses", "Clauses", (PageListing(columns, data, "clauses", "weight"),)),)).save(
        tmp_path / "many.html"
    )
    with opened(browser, tmp_path / "many.html") as page:
        assert page.locator("#clauses .body .row").count() < 60
        assert column(page, "#clauses", 1)[0] == f"{weight.max():.6g}"
        page.locator("#clauses .grid").focus()
        page.keyboard.press("End")
        page.wait_for_function(
            "[...document.querySelectorAll('#clauses .body .row')].some(row => row.dataset.place === '49999')"
        )
        assert column(page, "#clauses", 1)[-1] == f"{weight.min():.6g}"
        assert page.locator("#clauses .body .row").count() < 60


def test_an_old_browser_is_told_what_it_lacks(browser: Any, report: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    try:
        page.goto(report.as_uri())
        playwright.expect(page.locator("#trouble")).to_be_visible()
        assert "newer browser" in page.locator("#trouble").inner_text()
        assert page.locator("#run .wide").first.is_visible()
    finally:
        context.close()


def test_tables_are_there_before_vega_is_read(browser: Any, report: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("""
        window.order = [];
        new MutationObserver((changes) => changes.forEach((change) => {
            if (change.type === "attributes") order.push(change.attributeName);
            for (const node of change.addedNodes) if (node.nodeName === "SCRIPT" && node.type === "module") order.push("vega");
        })).observe(document, { subtree: true, childList: true, attributeFilter: ["data-tables", "data-charts"] });
    """)
    try:
        page.goto(report.as_uri())
        page.wait_for_selector("html[data-charts=ready]")
        assert page.evaluate("order") == ["data-tables", "vega", "data-charts"]
    finally:
        context.close()
