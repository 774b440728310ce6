"""A hook of the site's builder: folders whose pages are many, or written by a program, have their places without being listed one by one.

Named in `mkdocs.yml`, whose navigation lists the other pages. In a folder `index.md` comes first, then pages by name, then folders.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

FOLDERS = {"theory": "Theory", "reference": "Reference"}
"""Titles of the folders below docs/ that are listed so, as far as they are there."""


def on_config(config: MutableMapping[str, Any]) -> None:
    """Add the sections of folders to the navigation, before its last one, the project's."""
    docs = Path(config["docs_dir"])
    config["nav"][-1:-1] = [
        {title: pages(docs / name, docs)} for name, title in FOLDERS.items() if (docs / name).is_dir()
    ]


def pages(folder: Path, docs: Path) -> list[Any]:
    """Return the navigation of a folder."""
    files = sorted(folder.glob("*.md"), key=lambda path: (path.name != "index.md", path.name))
    inner = [path for path in sorted(folder.iterdir()) if path.is_dir() and any(path.rglob("*.md"))]
    return [
        *(path.relative_to(docs).as_posix() for path in files),
        *({path.name.upper() if path.name == "api" else path.name.capitalize(): pages(path, docs)} for path in inner),
    ]
