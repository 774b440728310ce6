"""How fast a report of many clauses opens, sorts and filters in Chromium on a slower CPU.

    python scripts/bench/report_page.py --clauses 50000 --slower 4
    python scripts/bench/report_page.py --keep before.html    # then change something
    python scripts/bench/report_page.py --against before.html

Opening is the time from the start of navigation, by the page's own clock, until the table is there and until the first chart is drawn; sorting and filtering end when the rows in view are
drawn anew. With `--against` another page of as many clauses is opened in turn with it, so that both meet the same machine. Needs Debian's chromium and
playwright.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sqlrl.report import charts
from sqlrl.report.page import ListingColumn, PageListing, Report, Section

OPENED = """
    window.opened = {};
    new MutationObserver(() => {
        if (!opened.table && document.documentElement.dataset.tables) opened.table = performance.now();
        if (!opened.chart && document.querySelector(".chart svg")) opened.chart = performance.now();
    }).observe(document, { subtree: true, childList: true, attributeFilter: ["data-tables"] });
"""
SORT = """async (place) => {
    const heads = document.querySelectorAll("#clauses .head button");
    const start = performance.now();
    heads[place].click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
}"""
FILTER = """async (text) => {
    const input = document.querySelector("#clauses input");
    const start = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input"));
    const before = document.querySelector("#clauses output").textContent;
    while (document.querySelector("#clauses output").textContent === before) await new Promise((done) => requestAnimationFrame(done));
    return performance.now() - start;
}"""


def many(clauses: int) -> Report:
    """Return a page of clauses as long as those of field segmentation, with all columns of a listing that an evaluation fills."""
    rng = np.random.default_rng(0)
    names = ("support", "for_right", "for_wrong", "against_right", "against_wrong")
    words = rng.integers(0, clauses, clauses).tolist()
    data = pa.table(
        {
            "clause": [
                f'Token("word{w}", p1, c) ^ Next(p1, p2) => InField(c, Field{k % 7}, p2)' for k, w in enumerate(words)
            ],
            "weight": rng.normal(size=clauses),
            **{name: rng.integers(0, 1000, clauses) for name in names},
        }
    )
    kinds = {"clause": "text"}
    columns = tuple(ListingColumn(name, name, kinds.get(name, "number"), name) for name in data.column_names)  # type: ignore[arg-type]
    listing = PageListing(columns, data, "clauses", "weight")
    return Report(
        "Many clauses", (Section("clauses", "Clauses", (charts.weights(data.select(["clause", "weight"])), listing)),)
    )


def _measured(browser: Any, file: Path, slower: float) -> dict[str, float]:
    """Open a page once, and return what each step took, in seconds."""
    page = browser.new_page()
    try:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        page.add_init_script(OPENED)
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector(".chart svg")
        opened = page.evaluate("opened")
        found = {"open: table": opened["table"] / 1000, "open: first chart": opened["chart"] / 1000}
        for place, name in (
            (1, "sort by weight"),
            (0, "sort by clause"),
            (0, "sort by clause again"),
            (2, "sort by support"),
        ):
            found[name] = page.evaluate(SORT, place) / 1000
        found["filter by a word"] = page.evaluate(FILTER, "word123") / 1000
        found["filter by a number"] = page.evaluate(FILTER, "weight>1") / 1000
        return found
    finally:
        page.close()


def main() -> int:
    """Write the page, open it some times, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clauses", type=int, default=50_000)
    parser.add_argument("--slower", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the page to a file, too")
    parser.add_argument(
        "--against", type=Path, metavar="FILE", help="a page that was kept before, opened in turn with this one"
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("there is no Chromium: apt-get install chromium", file=sys.stderr)
        return 1
    rows: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "report.html"
        many(given.clauses).save(file)
        if given.keep is not None:
            shutil.copyfile(file, given.keep)
        files = {"this page": file, **({"against": given.against.resolve()} if given.against is not None else {})}
        for name, each in files.items():
            print(
                f"{name}: {given.clauses:,} clauses, {each.stat().st_size / 1e6:.1f} MB, CPU slowed {given.slower:g} times"
            )
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for turn in range(given.repeat):
            # Neither page is always the first.
            for name, each in list(files.items())[:: -1 if turn % 2 else 1]:
                for what, seconds in _measured(browser, each, given.slower).items():
                    rows.setdefault((name, what), []).append(seconds)
        browser.close()
    found = [
        {"page": name, "what": what, "seconds": statistics.median(seconds), "worst": max(seconds)}
        for (name, what), seconds in rows.items()
    ]
    for row in found:
        print(f"{row['page']:<10} {row['what']:<22} {row['seconds']:.2f} s (worst {row['worst']:.2f})")
    if given.json is not None:
        given.json.write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
