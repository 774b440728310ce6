"""The bench of reports writes the page that it opens, and its numbers."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("vl_convert", reason="pages are an extra: pip install 'sqlrl[report]'")
pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright: pip install playwright")

import report_page


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None and shutil.which("chromium-browser") is None,
    reason="there is no Chromium: apt-get install chromium",
)
def test_it_measures_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found, kept = tmp_path / "found.json", tmp_path / "kept.html"
    arguments = ["--clauses", "2000", "--slower", "1", "--repeat", "1", "--json", str(found)]
    monkeypatch.setattr(sys, "argv", ["report_page.py", *arguments, "--keep", str(kept)])
    assert report_page.main() == 0
    once = json.loads(found.read_text(encoding="utf-8"))
    assert {row["page"] for row in once} == {"this page"}
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["report_page.py", *arguments, "--against", str(kept)])
    assert report_page.main() == 0
    rows = json.loads(found.read_text(encoding="utf-8"))
    assert [row["what"] for row in rows][:3] == ["open: table", "open: first chart", "sort by weight"]
    assert [row["what"] for row in rows] == [row["what"] for row in once] * 2
    assert {row["page"] for row in rows} == {"this page", "against"}
    assert all(row["worst"] >= row["seconds"] > 0 for row in rows)
    assert capsys.readouterr().out.startswith("this page: 2,000 clauses")
