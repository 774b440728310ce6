"""Docstrings in numpydoc as Markdown: the pages of the reference about what `import sqlrl` offers.

A renderer of our own in place of mkdocstrings: names of sqlrl are imported when first used, which tools that read source without running
it do not follow; parameters of learners come from their declarations, as everywhere; and the pages are plain Markdown, which any
generator of sites and any viewer of repositories shows.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

from reference_text import prose

from sqlrl.deprecated import OLD
from sqlrl.learn.fitted import Configured
from sqlrl.learn.parameters import REQUIRED, declarations

_HEAD = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(r"[\w*`., ]*[\w*`](?: : .+)?")
_LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns")
_STARS: Mapping[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_WIDE = 88


def rendered(text: str) -> list[str]:
    """Return a docstring as lines of Markdown.

    Examples
    --------
    >>> print(
    ...     "\\n".join(
    ...         rendered("Add.\\n\\nParameters\\n----------\\na : int\\n    First.\\n\\nNotes\\n-----\\nOf `a_b`.")
    ...     )
    ... )
    Add.
    <BLANKLINE>
    **Parameters**
    <BLANKLINE>
    - `a` : int. First.
    <BLANKLINE>
    **Notes**
    <BLANKLINE>
    Of `a_b`.
    <BLANKLINE>
    """
    first, *sections = _HEAD.split(text)
    lines = _paragraphs(first)
    for head, body in zip(sections[::2], sections[1::2], strict=True):
        lines += [f"**{head}**", "", *(_entries(body) if head in _LISTS else _paragraphs(body))]
    return lines


def _paragraphs(text: str) -> list[str]:
    """Return prose and examples."""
    lines: list[str] = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        if block.startswith(">>> "):
            lines += ["```pycon", block, "```", ""]
        elif block.startswith("    "):
            lines += ["```text", inspect.cleandoc(block), "```", ""]
        elif block:
            lines += [prose(block), ""]
    return lines


def _entries(text: str) -> list[str]:
    """Return a list of parameters and the like, and the prose that may follow it."""
    lines: list[str] = []
    found, after = entries(text)
    for name, kind, said in found:
        first, *more = re.split(r"\n{2,}", said)
        lines.append(
            f"- `{name}`" + (f" : {prose(kind)}." if kind else ".") + (f" {prose(_one_line(first))}" if first else "")
        )
        for part in more:
            # A list in the text of a parameter, or another paragraph.
            items = re.split(r"\n(?=- )", part)
            bullets = [f"    - {prose(_one_line(item.removeprefix('- ')))}" for item in items]
            lines += ["", *(bullets if part.startswith("- ") else [f"    {prose(_one_line(part))}"]), ""]
    return [*lines, *([""] if lines and lines[-1] else []), *_paragraphs(after)]


def _one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def entries(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Take a list of parameters and the like apart: name, type and text of each, and the prose after them.

    Examples
    --------
    >>> entries("a : int\\n    One.\\nb\\n    Two.\\n\\nThat is all.")
    ([('a', 'int', 'One.'), ('b', '', 'Two.')], 'That is all.')
    """
    found: list[tuple[str, str, str]] = []
    blocks = re.split(r"\n(?=\S)", text.strip("\n"))
    for at, block in enumerate(blocks):
        head, _, said = block.partition("\n")
        if not _ENTRY.fullmatch(head.strip()):
            return found, "\n".join(blocks[at:])
        name, _, kind = head.strip().partition(" : ")
        found.append((name.strip("`"), kind, inspect.cleandoc("\n" + said)))
    return found, ""


def parameters_told(kind: type) -> dict[str, str]:
    """Return what the docstrings of a class and of those that it is of say of parameters, by name, in a paragraph each."""
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        sections = _HEAD.split(inspect.cleandoc(vars(owner).get("__doc__") or ""))
        for head, body in zip(sections[1::2], sections[2::2], strict=True):
            if head == "Parameters":
                for names, _, said in entries(body)[0]:
                    found |= dict.fromkeys(names.split(", "), _one_line(said.partition("\n\n")[0]))
    return found


# ---- what there is of an object ------------------------------------------------------------------------


def signature(name: str, made: Any) -> str:
    """Return how something is called, with default values; types are in its docstring."""
    shown: list[str] = []
    if isinstance(made, type) and issubclass(made, Configured):
        own = declarations(made).values()
        shown += [each.name if each.default is REQUIRED else f"{each.name}={each.default!r}" for each in own]
    else:
        starred = False
        for at, found in enumerate(inspect.signature(made).parameters.values()):
            if at == 0 and found.name in ("self", "cls"):
                continue
            if found.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
                shown.append("*")
            starred |= found.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL)
            default = "" if found.default is inspect.Parameter.empty else f"={found.default!r}"
            shown.append(f"{_STARS.get(found.kind, '')}{found.name}{default}")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= _WIDE else f"{name}(\n    " + ",\n    ".join(shown) + ",\n)"


def members(kind: type, elsewhere: Collection[type] = ()) -> Iterator[tuple[str, str, str]]:
    """Yield what users call of a class: name, how it is called ("" of an attribute that is computed) and docstring.

    What it has from classes that are described elsewhere is left out.
    """
    seen: set[str] = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("sqlrl") or owner in elsewhere:
            continue
        for name, found in vars(owner).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            text = inspect.getdoc(getattr(kind, name))
            if isinstance(found, property) and found.__doc__ == OLD:
                continue
            if isinstance(found, property | cached_property):
                yield name, "", inspect.getdoc(found) or ""
            elif isinstance(found, staticmethod | classmethod) or inspect.isfunction(found):
                called: Callable[..., Any] = getattr(kind, name)
                yield name, signature(name, called), text or ""


def section(name: str, made: Any, elsewhere: Collection[type] = ()) -> list[str]:
    """Return the part of a page about a class or a function."""
    lines = [f"## {name}", ""]
    if not isinstance(made, type) or made.__init__ is not object.__init__:  # type: ignore[misc]
        lines += ["```text", signature(name, made), "```", ""]
    lines += rendered(inspect.getdoc(made) or "")
    if isinstance(made, type):
        for member, called, text in members(made, elsewhere):
            lines += [f"### {name}.{member}", ""]
            lines += ["```text", called, "```", ""] if called else []
            lines += rendered(text)
    return lines
