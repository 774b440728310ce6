"""Text for notebooks and terminals: HTML in which everything is escaped, and no characters that act on a terminal."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any

_NAME = 12
"""Characters of the names in reports of lines with a name and a value."""


def visible(text: str) -> str:
    r"""Write characters that would act on a terminal (escapes, line breaks, changes of direction) as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def visible_lines(text: str) -> str:
    r"""Write the lines of a text as `visible` does, and leave their breaks: for what sqlrl has written, not for a name."""
    return "\n".join(map(visible, text.splitlines()))


def printable(text: str) -> str:
    r"""Write a message as `visible` does, and leave its line breaks and tabs, on which carets below a line of source count."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def paragraph(text: str) -> str:
    """Return a text as a paragraph of HTML."""
    return f"<p>{html.escape(visible(text))}</p>"


def preformatted(text: str) -> str:
    r"""Return lines of text as HTML that keeps them."""
    return f"<pre>{html.escape(visible_lines(text))}</pre>"


def details(summary: str, body: str) -> str:
    """Return HTML that opens on a click: `summary` is the text that always shows, `body` is HTML."""
    return f"<details><summary>{html.escape(visible(summary))}</summary>{body}</details>"


def table(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], *, caption: str = "") -> str:
    """Return a table of HTML with `names` as its head; columns that are `right` are aligned to the right."""
    above = f"<caption>{html.escape(visible(caption))}</caption>" if caption else ""
    body = "".join(_row("td", values, right) for values in rows)
    return f"<table>{above}<thead>{_row('th', names, right)}</thead><tbody>{body}</tbody></table>"


def pairs(items: Sequence[tuple[str, str]]) -> str:
    """Return names with values as a table of HTML without a head."""
    return f"<table><tbody>{''.join(_row('td', item, (False, False)) for item in items)}</tbody></table>"


def report(title: str, text: str, notes: Iterable[str] = ()) -> str:
    """Return a title, a text whose lines have a name and then, from the 13th character on, a value, and notes below that table."""
    rows = [(line[:_NAME].strip(), line[_NAME:]) for line in text.splitlines()]
    return paragraph(title) + pairs(rows) + "".join(map(paragraph, notes))


def numbered(title: str, lines: Sequence[str], total: int) -> str:
    """Return the first lines of a text that has `total` of them, as a table with their numbers."""
    left = total - len(lines)
    more = paragraph(f"… {left:,} more line{'' if left == 1 else 's'}") if left else ""
    rows = [[str(number), line] for number, line in enumerate(lines, 1)]
    return table(["line", "text"], rows, [True, False], caption=title) + more


def _row(tag: str, values: Sequence[str], right: Sequence[bool]) -> str:
    """Write one row of cells."""
    style = ("right" if r else "left" for r in right)
    cells = (
        f'<{tag} style="text-align: {s}">{html.escape(visible(v))}</{tag}>' for s, v in zip(style, values, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


_LONGEST, _FIRST, _DEEP = 200, 6, 2
"""Characters of a value in a table of fields, items of a collection in it, and values inside values."""


def field_table(value: object) -> str:
    """Return the fields of a value as a small HTML table, a `_repr_html_`; arrays, tables and long collections are only described."""
    written = str(value) if _writes_itself(value) else ""
    lines = written.splitlines()
    caption = f": {_cut(lines[0])}" if len(lines) == 1 else ""
    rows = [[name, _brief(getattr(value, name, None))] for name in _fields(value)]
    return table(["field", "value"], rows, [False, False], caption=f"{type(value).__name__}{caption}")


def _fields(value: object) -> list[str]:
    """Return the names of what a value holds for others to read, in the order in which it declares them."""
    declared = getattr(type(value), "__dataclass_fields__", None)
    if declared is not None:
        # What its author keeps out of the text of a value may be a secret.
        return [name for name, each in declared.items() if each.repr and not name.startswith("_")]
    names = getattr(type(value), "_fields", None)
    return [name for name in (vars(value) if names is None else names) if not name.startswith("_")]


def _writes_itself(value: object) -> bool:
    """Return whether the type says how a value is written, beyond the call of its constructor."""
    kind: Any = type(value)
    return kind.__str__ is not object.__str__


def _brief(value: Any, depth: int = 0) -> str:
    """Return a value on one line."""
    match value:
        case str():
            return _cut(value)
        case float():
            return f"{value:.6g}"
        case Enum():
            return str(value.value)
        case Mapping():
            return _cut(
                _listed((f"{_brief(k, depth + 1)}: {_brief(v, depth + 1)}" for k, v in value.items()), len(value))
            )
    if hasattr(value, "column_names"):
        return _cut(f"{len(value):,} rows of {', '.join(value.column_names)}")
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        if len(value.shape) == 1 and len(value) <= _FIRST:
            return _cut(_listed(map(_brief, value.tolist()), len(value)))
        return _cut(f"{' x '.join(f'{n:,}' for n in value.shape)} of {value.dtype}")
    if isinstance(value, Collection) and not _writes_itself(value):
        return _cut(_listed((_brief(v, depth + 1) for v in value), len(value)))
    if (names := _fields(value) if hasattr(type(value), "__dataclass_fields__") else []) and not _writes_itself(value):
        inner = (
            ", ".join(f"{name}={_brief(getattr(value, name), depth + 1)}" for name in names) if depth < _DEEP else "…"
        )
        return _cut(f"{type(value).__name__}({inner})")
    # What Python says of an object of which nobody wrote more is where it is in memory.
    kind: Any = type(value)
    plain = kind.__repr__ is object.__repr__ and not _writes_itself(value)
    return str(kind.__name__) if plain else _cut(str(value))


def _listed(texts: Iterator[str], size: int) -> str:
    """Write the first of some texts, and how many there are beside them."""
    more = f", … {size - _FIRST:,} more" if size > _FIRST else ""
    return f"{', '.join(islice(texts, _FIRST))}{more}" or "(none)"


def _cut(text: str) -> str:
    """Return a text, without its end if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
