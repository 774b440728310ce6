"""How fast a report of many clauses opens, sorts and filters in Chromium on a slower CPU.

    python scripts/bench/report_page.py --clauses 50000 --slower 4

Opening is the time from navigation until the table is there and until the first chart is drawn; sorting and filtering end when the rows in view are
drawn anew. Needs Debian's chromium and playwright.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from sqlrl.report import charts
from sqlrl.report.page import Column, Listing, Report, Section

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
    columns = tuple(Column(name, name, kinds.get(name, "number"), name) for name in data.column_names)  # type: ignore[arg-type]
    listing = Listing(columns, data, "clauses", "weight")
    return Report(
        "Many clauses", (Section("clauses", "Clauses", (charts.weights(data.select(["clause", "weight"])), listing)),)
    )


def main() -> int:
    """Write the page, open it some times, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clauses", type=int, default=50_000)
    parser.add_argument("--slower", type=float, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("there is no Chromium: apt-get install chromium", file=sys.stderr)
        return 1
    rows: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "report.html"
        many(given.clauses).save(file)
        print(f"{given.clauses:,} clauses, {file.stat().st_size / 1e6:.1f} MB, CPU slowed {given.slower:g} times")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(given.repeat):
            page = browser.new_page()
            session = page.context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": given.slower})
            start = time.perf_counter()
            page.goto(file.as_uri(), wait_until="commit")
            page.wait_for_selector("html[data-tables=ready]", state="attached")
            rows.setdefault("open: table", []).append(time.perf_counter() - start)
            page.wait_for_selector(".chart svg")
            rows.setdefault("open: first chart", []).append(time.perf_counter() - start)
            for place, name in (
                (1, "sort by weight"),
                (0, "sort by clause"),
                (0, "sort by clause again"),
                (2, "sort by support"),
            ):
                rows.setdefault(name, []).append(page.evaluate(SORT, place) / 1000)
            rows.setdefault("filter by a word", []).append(page.evaluate(FILTER, "word123") / 1000)
            rows.setdefault("filter by a number", []).append(page.evaluate(FILTER, "weight>1") / 1000)
            page.close()
        browser.close()
    found = [
        {"what": what, "seconds": statistics.median(seconds), "worst": max(seconds)} for what, seconds in rows.items()
    ]
    for row in found:
        print(f"{row['what']:<22} {row['seconds']:.2f} s (worst {row['worst']:.2f})")
    if given.json is not None:
        given.json.write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
