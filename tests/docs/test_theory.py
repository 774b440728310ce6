"""Pages of theory are Markdown that every renderer reads alike, and point at what there is."""

from __future__ import annotations

import importlib
import re
from itertools import pairwise
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "theory"
PAGES = sorted(FOLDER.glob("*.md"))
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
algorithms = pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem != "index"], ids=lambda page: page.stem
)
PARTS = ("What problem", "Cost", "Example", "References")


def prose(page: Path) -> list[str]:
    """The lines outside of code."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").split("\n"):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            lines.append(re.sub(r"`[^`]*`", "``", line))
    return lines


@pages
def test_displays_are_paragraphs_of_their_own(page: Path) -> None:
    text = "\n".join(prose(page))
    for display in re.finditer(r"\$\$.*?\$\$", text, re.DOTALL):
        before, after = text[: display.start()], text[display.end() :]
        assert re.search(r"\n\n( {4})?$", before), display[0]
        assert after.startswith("\n\n"), display[0]
        assert "\n\n" not in display[0]


@pages
def test_formulas_end_in_the_line_in_which_they_begin(page: Path) -> None:
    text = re.sub(r"\$\$.*?\$\$", "", "\n".join(prose(page)), flags=re.DOTALL)
    for line in text.split("\n"):
        assert line.count("$") % 2 == 0, line
        for formula in re.findall(r"\$([^$]+)\$", line):
            assert formula == formula.strip(), f"a blank beside a dollar: {line}"
            assert not (line.startswith("|") and "|" in formula), f"a bar ends a cell: {line}"
            depth = [formula.count(sign) for sign in ("{", "}")]
            assert depth[0] == depth[1], formula


@pages
def test_formulas_have_commands_that_mathml_has(page: Path) -> None:
    """`latex2mathml` shows those that it does not know as they are."""
    assert not re.findall(r"\\(?:arg|[lr]Vert)\b", "\n".join(prose(page)))


@pages
def test_lists_begin_after_a_blank_line(page: Path) -> None:
    lines = prose(page)
    for before, line in pairwise(lines):
        if re.match(r"(- |\d+\. )", line):
            assert not before or re.match(r"(- |\d+\. |  )", before), line
        nested = re.match(r"( +)(- |\d+\. )", line)
        assert nested is None or len(nested[1]) % 4 == 0, line


@pages
def test_links_lead_to_pages(page: Path) -> None:
    for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target


@algorithms
def test_a_page_has_its_parts_and_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    missing = [part for part in PARTS if not any(head.startswith(part) for head in heads)]
    assert missing == []
    assert 60 <= text.count("\n") <= 150
    assert "```python\n" in text


@algorithms
def test_the_index_has_the_page(page: Path) -> None:
    assert f"]({page.name})" in (FOLDER / "index.md").read_text(encoding="utf-8")


@algorithms
def test_code_that_a_page_names_is_there(page: Path) -> None:
    last = next(line for line in page.read_text(encoding="utf-8").split("\n") if line.startswith("- Code: "))
    package = ""
    for name in re.findall(r"`([\w.]+)`", last):
        full = name if name.startswith("sqlrl") else f"{package}.{name}"
        package = full.rpartition(".")[0] if name.startswith("sqlrl") else package
        importlib.import_module(full)
