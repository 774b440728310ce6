"""A hook of the site's builder: the notebooks of docs/ become pages, with what they printed, and can be downloaded there.

The navigation and the links of other pages name the notebooks (`tutorials/revising-rules.ipynb`), so that they lead somewhere in a checkout, too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter

LINK = re.compile(r"(?<=\]\()(?!https?:)[^\s)#]*\.ipynb(?=[#)])")
"""The address in a link to a notebook."""

TABLE = re.compile(r"^<table\b.*</table>$", flags=re.MULTILINE)
"""A table that a cell shows, which is one line."""


def on_config(config: MkDocsConfig) -> None:
    """Let the navigation lead to the pages of notebooks."""
    config["nav"] = renamed(config["nav"])


def renamed(entry: Any) -> Any:
    """Return a part of the navigation in which notebooks are their pages."""
    if isinstance(entry, list):
        return [renamed(each) for each in entry]
    if isinstance(entry, dict):
        return {title: renamed(each) for title, each in entry.items()}
    return page_of(entry)


def page_of(name: str) -> str:
    """Return the page of a notebook, and other names as they are."""
    return re.sub(r"\.ipynb$", ".md", name)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add a page for each notebook, which itself stays a file to download."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.append(File.generated(config, page_of(file.src_uri), content=markdown(Path(str(file.abs_src_path)))))


def on_page_markdown(text: str, **_: Any) -> str:
    """Let links to notebooks lead to their pages."""
    return LINK.sub(lambda found: page_of(found[0]), text)


def markdown(path: Path) -> str:
    """Return the text of the page of a notebook; its first heading is followed by the link to the file."""
    notebook = nbformat.read(path, as_version=4)
    text, _ = MarkdownExporter().from_notebook_node(notebook)
    title, rest = TABLE.sub(r'<div class="output">\g<0></div>', text).split("\n", 1)
    # Not in Markdown, whose links lead to pages.
    return f'{title}\n\n<a href="{path.name}" download>Download this notebook</a>\n{rest}'
