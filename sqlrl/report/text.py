"""Cells as text that is safe to show: no control characters, no markup, a bounded width."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal

from rich.cells import cell_len, set_cell_size

from sqlrl.markup import visible

NULL = "NULL"


def cell_text(value: object) -> str:
    """Return a value of Python as one line of text: floats have six significant digits, everything else is written out."""
    match value:
        case None:
            return NULL
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.6g}" if math.isfinite(value) else str(value)
        case str():
            return visible(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(sep=" ")
        case date():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(map(cell_text, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{cell_text(k)}: {cell_text(v)}" for k, v in value.items()) + "}"
        case _:
            return visible(str(value))


def width(text: str) -> int:
    """Return the number of terminal columns that a text takes; wide characters take two."""
    return cell_len(text)


def shorten(text: str, columns: int) -> str:
    """Cut a text to a number of terminal columns, at least 1, with `…` in place of what is lost."""
    return text if width(text) <= columns else set_cell_size(text, columns - 1).rstrip() + "…"


def pad(text: str, columns: int, *, right: bool) -> str:
    """Fill a text with blanks to a number of terminal columns; `right` aligns it to the right."""
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def fit_widths(wanted: list[int], available: int, least: int = 8) -> list[int]:
    """Return column widths that sum up to at most `available` if possible; the widest shrink first, none below `least` unless it wants less."""
    low, high = least, max([least, *wanted])
    while low < high:
        cap = (low + high + 1) // 2
        if sum(min(w, cap) for w in wanted) <= available:
            low = cap
        else:
            high = cap - 1
    return [min(w, low) for w in wanted]
