"""Types of numbers that are cut into pieces: the edges between pieces, and the names of the pieces, which are constants."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlrl.errors import ModelError

Edges = tuple[float, ...]
"""Ascending finite numbers: a piece has its lower edge and not its upper one, and the outer pieces are open."""

Bins = Mapping[str, Edges]
"""Edges by type."""

_WHOLE = 2**53
"""Up to here every integer is a float of its own."""


def edge_text(edge: float) -> str:
    """Return an edge as names of pieces have it: the shortest decimal that reads back to the same number, whole ones without a point."""
    return str(int(edge)) if edge.is_integer() and abs(edge) <= _WHOLE else repr(edge)


def piece_names(kind: str, edges: Edges) -> list[str]:
    """Return the names of the pieces of a type, the lowest first."""
    texts = list(map(edge_text, edges))
    lower = [f"{kind}(-inf", *(f"{kind}[{text}" for text in texts)]
    return [f"{low},{high})" for low, high in zip(lower, [*texts, "inf"], strict=True)]


def piece_of(kind: str, edges: Edges, number: float) -> str:
    """Return the name of the piece in which a number lies, which is not NaN."""
    return piece_names(kind, edges)[sum(edge <= number for edge in edges)]


def edges_fault(value: Any) -> str | None:
    """Return why a value is no list of edges, None if it is one."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return "they are no list of numbers"
    if not value:
        return "there is none"
    for edge in value:
        # The real numbers of numpy are registered as such; `bool` is an `int` of Python.
        if isinstance(edge, bool) or not isinstance(edge, int | float):
            return f"{edge!r} is no number"
        if not _is_finite(edge):
            return f"{edge!r} is not finite"
    floats = [float(edge) for edge in value]
    for one, other in itertools.pairwise(floats):
        if not one < other:
            return f"{edge_text(other)} does not come after {edge_text(one)}"
    return None


def _is_finite(edge: float) -> bool:
    try:
        return math.isfinite(float(edge))
    except OverflowError:
        return False


def as_edges(value: Sequence[float]) -> Edges:
    """Return edges in which `edges_fault` finds no fault as floats; zero has no sign."""
    return tuple(float(edge) + 0.0 for edge in value)


def checked_bins(value: Mapping[str, Any], types: Collection[str], path: str) -> dict[str, Edges]:
    """Return the edges by type that a file of a model says; ModelError if they are none, or the model has no such type."""
    for name, edges in value.items():
        fault = edges_fault(edges)
        if fault is not None:
            raise ModelError(f"{path}: the edges of {name} are no ascending numbers: {fault}: save the model again")
        if name not in types:
            raise ModelError(f"{path}: there are edges of {name!r}, which is no type of the model: remove them")
    return {name: as_edges(edges) for name, edges in value.items()}


def show_edges(edges: Edges) -> str:
    """Return edges as messages have them."""
    texts = list(map(edge_text, edges))
    return ", ".join(texts if len(texts) <= 6 else [*texts[:3], "...", texts[-1]])
