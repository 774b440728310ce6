"""Types of numbers or dates that are cut into pieces: the edges between pieces, and the names of the pieces, which are constants."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from sqlrl.errors import ModelError

Edges: TypeAlias = tuple[float, ...] | tuple[str, ...]
"""Ascending finite numbers, or dates and times as `date_text` writes them: a piece has its lower edge and not its upper one, the outer ones are open."""

Bins = Mapping[str, Edges]
"""Edges by type."""

_WHOLE = 2**53
"""Up to here every integer is a float of its own."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?)?")
"""Dates and times of day without a zone, in the years 1 to 9999: as texts they have the order of time."""


def dated(edges: Edges) -> bool:
    """Return whether edges are dates, and not numbers."""
    return bool(edges) and isinstance(edges[0], str)


def date_text(moment: date) -> str:
    """Return a date or a time as constants have it: without the time of day at midnight, and without zeros at the end of a fraction."""
    if not isinstance(moment, datetime):
        return moment.isoformat()
    day, _, clock = moment.isoformat(" ").partition(" ")
    clock = clock.rstrip("0") if moment.microsecond else clock
    return day if clock == "00:00:00" else f"{day} {clock}"


def parsed_date(value: object) -> str | None:
    """Return a date, a time without a zone or an ISO text of one as `date_text` writes it; None if the value is none of these."""
    if isinstance(value, date):
        # Those of pandas may be finer, or none at all.
        text = date_text(value)
        return text if _DATE.fullmatch(text) and getattr(value, "tzinfo", None) is None else None
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return date_text(datetime.fromisoformat(value))
    except ValueError:
        return None


def edge_text(edge: float | str) -> str:
    """Return an edge as names of pieces have it: a date, or the shortest decimal that reads back to the same number, whole ones without a point."""
    if isinstance(edge, str):
        return edge
    return str(int(edge)) if edge.is_integer() and abs(edge) <= _WHOLE else repr(edge)


def piece_names(kind: str, edges: Edges) -> list[str]:
    """Return the names of the pieces of a type, the lowest first."""
    texts = list(map(edge_text, edges))
    lower = [f"{kind}(-inf", *(f"{kind}[{text}" for text in texts)]
    return [f"{low},{high})" for low, high in zip(lower, [*texts, "inf"], strict=True)]


def piece_of(kind: str, edges: Edges, value: float | str) -> str:
    """Return the name of the piece in which a number lies, which is not NaN, or a date as `date_text` writes it."""
    # The edges are all numbers or all texts, as the value is.
    return piece_names(kind, edges)[sum(edge <= value for edge in edges)]  # type: ignore[operator]


def edges_fault(value: Any) -> str | None:
    """Return why a value is no list of edges, None if it is one."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return "they are no list of numbers or dates"
    if not value:
        return "there is none"
    if all(isinstance(edge, str | date) for edge in value):
        for edge in value:
            if parsed_date(edge) is None:
                return f"{str(edge)!r} is no number, and no date such as 2024-01-31 or 2024-01-31 12:30:00 (without a zone)"
    else:
        for edge in value:
            if isinstance(edge, date):
                return f"{str(edge)!r} is a date, and others are numbers"
            # The real numbers of numpy are registered as such; `bool` is an `int` of Python.
            if isinstance(edge, bool) or not isinstance(edge, int | float):
                return f"{edge!r} is no number"
            if not _is_finite(edge):
                return f"{edge!r} is not finite"
    edges: Sequence[Any] = as_edges(value)
    for one, other in itertools.pairwise(edges):
        if not one < other:
            return f"{edge_text(other)} does not come after {edge_text(one)}"
    return None


def _is_finite(edge: float) -> bool:
    try:
        return math.isfinite(float(edge))
    except OverflowError:
        return False


def as_edges(value: Sequence[Any]) -> Edges:
    """Return edges in which `edges_fault` finds no fault as floats or as texts of dates; zero has no sign."""
    found = [parsed_date(edge) for edge in value]
    texts = tuple(text for text in found if text is not None)
    return texts if texts else tuple(float(edge) + 0.0 for edge in value)


def read_bins(text: str) -> tuple[str, int | list[float] | list[str]]:
    """Return the type of a text such as `price=10`, and its number of pieces or edges; ValueError if the text says neither."""
    name, sign, wanted = text.partition("=")
    if not sign:
        raise ValueError(text)
    return name.strip(), read_pieces(wanted.strip())


def read_pieces(text: str) -> int | list[float] | list[str]:
    """Return a number of pieces, or the edges between colons, as `10:25:40`, `10:` or `2024-01-31:2024-06-30`; ValueError if a text is neither."""
    if _DATE.match(text):
        # Times of day have colons, too, and never four digits and a hyphen behind one.
        return re.split(r":(?=\d{4}-)", text.removesuffix(":"))
    return [float(edge) for edge in text.split(":") if edge] if ":" in text else int(text)


def checked_bins(value: Mapping[str, Any], types: Collection[str], path: str) -> dict[str, Edges]:
    """Return the edges by type that a file of a model says; ModelError if they are none, or the model has no such type."""
    for name, edges in value.items():
        fault = edges_fault(edges)
        if fault is not None:
            raise ModelError(
                f"{path}: the edges of {name} are no ascending numbers or dates: {fault}: save the model again"
            )
        if name not in types:
            raise ModelError(f"{path}: there are edges of {name!r}, which is no type of the model: remove them")
    return {name: as_edges(edges) for name, edges in value.items()}


def show_edges(edges: Edges) -> str:
    """Return edges as messages have them."""
    texts = list(map(edge_text, edges))
    return ", ".join(texts if len(texts) <= 6 else [*texts[:3], "...", texts[-1]])
