"""The first line of a saved `.mln` file: what the language has no words for."""

from __future__ import annotations

import json
import re
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


def check_semantics(text: str, path: str, semantics: str) -> None:
    """Refuse another semantics than the one with which a model was saved: its weights would mean something else.

    Raises
    ------
    ModelError
        Says what to do.
    """
    said = read_header(text, path).get("semantics", semantics)
    if said != semantics:
        raise ModelError(
            f"{path} was saved with semantics={said!r}, not {semantics!r}: load it with read_model, which heeds its first line, or give "
            f"semantics={said!r}"
        )
