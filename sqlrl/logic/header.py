"""The first line of a saved `.mln` file: what the language has no words for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlrl.errors import ModelError, ParseError

_HEADER = re.compile(r"// sqlrl (\{[^\n]*\})\r?\n")


def read_header(text: str, path: str) -> dict[str, Any]:
    r"""Return what the first line says: query, semantics, whether the model was learned, its templates; nothing if it says nothing.

    Raises
    ------
    ParseError
        It is no JSON.

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
    return found


def said_semantics(said: Mapping[str, Any], path: str, semantics: str | None) -> str:
    """Return the semantics that is asked for, else that of the first line, else "exact".

    Raises
    ------
    ModelError
        Another one is asked for than the one with which the model was saved: its weights would mean something else.

    Examples
    --------
    >>> said_semantics({"semantics": "alchemy"}, "<text>", None), said_semantics({}, "<text>", None)
    ('alchemy', 'exact')
    """
    found: str = said.get("semantics", semantics or "exact")
    if semantics not in (None, found):
        raise ModelError(
            f"{path} was saved with semantics={found!r}, not {semantics!r}: leave it out, or give {found!r}"
        )
    return found
