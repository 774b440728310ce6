"""Pages of theory are Markdown that every renderer reads alike, and point at what there is."""

from __future__ import annotations

import importlib
import re
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "theory"
PAGES = sorted(FOLDER.glob("*.md"))
ALGORITHMS = [page for page in PAGES if page.stem != "index"]
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


def test_displays_are_paragraphs_of_their_own() -> None:
    for page in PAGES:
        text = "\n".join(prose(page))
        for display in re.finditer(r"\$\$.*?\$\$", text, re.DOTALL):
            before, after = text[: display.start()], text[display.end() :]
            assert re.search(r"\n\n( {4})?$", before), (page.name, display[0])
            assert after.startswith("\n\n"), (page.name, display[0])
            assert "\n\n" not in display[0], page.name


def test_formulas_end_in_the_line_in_which_they_begin() -> None:
    for page in PAGES:
        text = re.sub(r"\$\$.*?\$\$", "", "\n".join(prose(page)), flags=re.DOTALL)
        for line in text.split("\n"):
            assert line.count("$") % 2 == 0, (page.name, line)
            for formula in re.findall(r"\$([^$]+)\$", line):
                assert formula == formula.strip(), f"a blank beside a dollar in {page.name}: {line}"
                assert not (line.startswith("|") and "|" in formula), f"a bar ends a cell in {page.name}: {line}"
                depth = [formula.count(sign) for sign in ("{", "}")]
                assert depth[0] == depth[1], (page.name, formula)


def test_formulas_have_commands_that_mathml_has() -> None:
    """`latex2mathml` shows those that it does not know as they are."""
    for page in PAGES:
        assert not re.findall(r"\\(?:arg|[lr]Vert)\b", "\n".join(prose(page))), page.name


def test_lists_begin_after_a_blank_line() -> None:
    for page in PAGES:
        lines = prose(page)
        for before, line in pairwise(lines):
            if re.match(r"(- |\d+\. )", line):
                assert not before or re.match(r"(- |\d+\. |  )", before), line
            nested = re.match(r"( +)(- |\d+\. )", line)
            assert nested is None or len(nested[1]) % 4 == 0, (page.name, line)


def test_links_lead_to_pages() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([\w./-]+\.md)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), (page.name, target)


def test_a_page_has_its_parts_and_is_short() -> None:
    for page in ALGORITHMS:
        text = page.read_text(encoding="utf-8")
        heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
        missing = [part for part in PARTS if not any(head.startswith(part) for head in heads)]
        assert missing == [], page.name
        assert 60 <= text.count("\n") <= 150, page.name
        assert "```python\n" in text, page.name


def test_the_index_has_the_page() -> None:
    for page in ALGORITHMS:
        assert f"]({page.name})" in (FOLDER / "index.md").read_text(encoding="utf-8"), page.name


def test_code_that_a_page_names_is_there() -> None:
    for page in ALGORITHMS:
        last = next(line for line in page.read_text(encoding="utf-8").split("\n") if line.startswith("- Code: "))
        package = ""
        for name in re.findall(r"`([\w.]+)`", last):
            full = name if name.startswith("sqlrl") else f"{package}.{name}"
            package = full.rpartition(".")[0] if name.startswith("sqlrl") else package
            importlib.import_module(full)
