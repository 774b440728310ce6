"""The first line of a saved `.mln` file: what the language has no words for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlrl.errors import ModelError, ParseError

_HEADER = re.compile(r"\ufeff?// sqlrl (\{[^\n]*\})\r?\n")


def read_header(text: str, path: str) -> dict[str, Any]:
    r"""Return what the first line says: query, semantics, whether the model was learned, its templates; nothing if it says nothing.

    Raises
    ------
    ParseError
        It is no JSON, or not what is written there.

    Examples
    --------
    >>> read_header('// sqlrl {"semantics": "alchemy"}\nP(t)', "<text>"), read_header("P(t)", "<text>")
    ({'semantics': 'alchemy'}, {})
    """
    header = _HEADER.match(text)
    try:
        found: dict[str, Any] = json.loads(header[1]) if header else {}
    except json.JSONDecodeError as error:
        line = text.split("\n", 1)[0]
        column = len("// sqlrl ") + error.colno
        raise ParseError(
            f"{error.msg}: mend the first line or remove it", text=line, line=1, column=column, path=path
        ) from error
    for key, fits in _FITS.items():
        if key in found and not fits(found[key]):
            raise ParseError(
                f"the first line says {key}: {json.dumps(found[key])}, which no model has: remove it", path=path
            )
    return found


def _named(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _listed(value: object) -> bool:
    # `bool` is an `int` of Python. What is missing, `sqlrl.logic.templates` says.
    return isinstance(value, list) and all(
        isinstance(each, dict) and all(type(each.get(name, 0)) is int for name in ("rule", "clauses")) for each in value
    )


_FITS: Mapping[str, Callable[[object], bool]] = {
    "query": _named,
    "semantics": lambda value: isinstance(value, str),
    "learned": lambda value: isinstance(value, bool),
    "templates": _listed,
}
"""What values of the first line are like."""


def said_semantics(said: Mapping[str, Any], path: str, semantics: str | None) -> str | None:
    """Return the semantics that is asked for, else that of a first line, if it says one.

    Raises
    ------
    ModelError
        Another one is asked for than the one with which the model was saved: its weights would mean something else.

    Examples
    --------
    >>> said_semantics({"semantics": "alchemy"}, "<text>", None), said_semantics({}, "<text>", "exact")
    ('alchemy', 'exact')
    """
    found: str | None = said.get("semantics", semantics)
    if semantics not in (None, found):
        raise ModelError(
            f"{path} was saved with semantics={found!r}, not {semantics!r}: leave it out, or give {found!r}"
        )
    return found
