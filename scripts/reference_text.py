"""What the pages of the reference share: text of docstrings, helps and comments as Markdown, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`\n]+`)")
_SIGNS = {"<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", "_": "\\_", "[": "\\[", "]": "\\]", "*": "\\*"}
_SIGN = re.compile("[" + re.escape("".join(_SIGNS)) + "]")
_INSIDE_WORD = re.compile(r"(?<=\w)_(?=\w)")


def prose(text: str) -> str:
    """Return a text as Markdown: code in backticks stays, signs that Markdown reads are escaped.

    Examples
    --------
    >>> print(prose("n(x) <= 2 of `a_b|c`, *both* [1]"))
    n(x) &lt;= 2 of `a_b|c`, \\*both\\* \\[1\\]
    """
    return "".join(
        part if part.startswith("`") and len(part) > 1 else _SIGN.sub(_escaped, part) for part in _CODE.split(text)
    )


def _escaped(found: re.Match[str]) -> str:
    """Return a sign escaped; an underscore inside a word has no meaning in Markdown and stays."""
    if found[0] == "_" and _INSIDE_WORD.match(found.string, found.start()):
        return "_"
    return _SIGNS[found[0]]


def cell(text: str) -> str:
    """Return a text for a cell of a table: one line, and no sign that ends the cell, in code neither.

    Examples
    --------
    >>> print(cell("one of `a|b`"))
    one of <code>a&#124;b</code>
    """
    parts = _CODE.split(" ".join(text.split()))
    return "".join(code(part[1:-1]) if part.startswith("`") and len(part) > 1 else prose(part) for part in parts)


def code(text: str) -> str:
    """Return code for a cell of a table.

    Examples
    --------
    >>> print(code("a_b"), code("a|b"))
    `a_b` <code>a&#124;b</code>
    """
    if "|" not in text and "`" not in text:
        return f"`{text}`"
    return "<code>" + text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;") + "</code>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table, whose cells are Markdown, with a blank line after them."""
    lines = [" | ".join(head), " | ".join("---" for _ in head), *(" | ".join(row) for row in rows)]
    return [*(f"| {line} |" for line in lines), ""]
