"""What holds of the pages as texts: public names, commands and estimators are described, each page has its place, what files name is there."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import site_navigation

import sqlrl
from sqlrl.cli.app import app
from sqlrl.demo import MODEL
from tests.offered import OFFERED

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
TEXTS = {
    str(path.relative_to(DOCS)): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if not path.is_relative_to(DOCS / "reference" / "api")
}
"""Without the API's pages, which have every name by themselves."""

NOTEBOOKS = {
    str(path.relative_to(DOCS)): "\n\n".join(
        "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
    )
    for path in sorted(DOCS.rglob("*.ipynb"))
}
"""Their prose."""


def test_each_public_name_is_mentioned() -> None:
    words = {word for text in TEXTS.values() for word in re.findall(r"\w+", text)}
    assert set(sqlrl.__all__) - words == set()


def test_each_learner_is_in_the_table_to_choose_from() -> None:
    page = TEXTS["howto/choosing-a-learner.md"]
    learners = {name for name, made in OFFERED.items() if isinstance(made, type) and hasattr(made, "fit")}
    assert len(learners) > 15
    described = set(re.findall(r"`(\w+)`", " ".join(row for row in page.splitlines() if row.startswith("|"))))
    assert learners <= described


def test_every_command_is_described() -> None:
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    described = re.findall(r"^\| (`.*`) \|", TEXTS["guides/command-line.md"], flags=re.MULTILINE)
    assert names <= {name for row in described for name in re.findall(r"`(\w+)`", row)}


def test_the_model_of_the_page_is_that_of_the_demo() -> None:
    (first, *_) = re.findall(r"^```mln\n(.*?)^```$", TEXTS["guides/models.md"], flags=re.MULTILINE | re.DOTALL)
    assert first.strip() == "\n".join(line for line in MODEL.splitlines() if not line.startswith("//"))


def test_each_page_has_its_place_in_the_navigation() -> None:
    """Also where the site's builder, which says the same, is not installed."""
    listed = re.findall(
        r"^ +- (?:[^:\n]+: )?(\S+\.(?:md|ipynb))$",
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert len(listed) == len(set(listed))
    # The others are listed by the builder.
    assert set(listed) >= {page for page in TEXTS if page.split("/")[0] not in site_navigation.FOLDERS} | set(NOTEBOOKS)


def test_each_tutorial_is_in_the_list_of_them() -> None:
    assert {f"tutorials/{name}" for name in re.findall(r"\]\((\S+\.ipynb)\)", TEXTS["tutorials/index.md"])} == set(
        NOTEBOOKS
    )


def test_links_between_pages_lead_somewhere() -> None:
    """Anchors, too: a heading's words in small letters with hyphens."""
    for page, content in (TEXTS | NOTEBOOKS).items():
        text = re.sub(r"^```.*?^```$", "", content, flags=re.MULTILINE | re.DOTALL)
        for target, anchor in re.findall(r"\]\((?!https?:)([^\s#)]*)(?:#([^\s)]+))?\)", text):
            path = (DOCS / page).parent / target if target else DOCS / page
            assert path.is_file(), (page, target)
            if anchor:
                assert anchor in anchors(path), f"{page}: {target}#{anchor}"


@functools.cache
def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_nothing_is_loaded_from_elsewhere() -> None:
    for page, text in TEXTS.items():
        assert not re.search(r"<(?:script|link|iframe)\b|!\[[^]]*\]\(https?:", text), page


def test_llms_txt_names_pages_that_are_there() -> None:
    named = re.findall(r"\]\((\S+?)\)", (ROOT / "llms.txt").read_text(encoding="utf-8"))
    listed = {page for page in TEXTS if not page.startswith(("reference/", "theory/"))} | set(NOTEBOOKS)
    assert {f"docs/{page}" for page in listed} <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_citation_is_of_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^cff-version: 1\.2\.0$", citation, flags=re.MULTILINE)
    assert f"version: {sqlrl.__version__}\n" in citation


def test_folders_are_listed_before_the_project(tmp_path: Path) -> None:
    for name in ("theory/online.md", "theory/index.md", "reference/api/models.md", "reference/schema.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    config: dict[str, object] = {"docs_dir": str(tmp_path), "nav": ["index.md", {"Project": []}]}
    site_navigation.on_config(config)
    reference = ["reference/schema.md", {"API": ["reference/api/models.md"]}]
    assert config["nav"] == [
        "index.md",
        {"Theory": ["theory/index.md", "theory/online.md"]},
        {"Reference": reference},
        {"Project": []},
    ]
