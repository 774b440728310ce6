"""What the catalog keeps as JSON, and the error for what it did not write: a file that was damaged, or changed by hand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sqlrl.errors import CatalogError, ParseError
from sqlrl.logic.json_text import parse_json
from sqlrl.logic.limits import DEEPEST_JSON
from sqlrl.wording import shortened

Check = Callable[[Any], bool]


def damaged(problem: str) -> CatalogError:
    """Return the error for a catalog that is not as sqlrl wrote it."""
    return CatalogError(
        f"the database is damaged: {problem}. sqlrl did not write it so: take a copy of the file from before, or load the data into a "
        "new file."
    )


def kept_json(text: object, place: str, fits: Check = lambda _: True) -> Any:
    """Return the value that the catalog keeps as JSON at a place; an error if it is none, or does not fit."""
    try:
        if not isinstance(text, str):
            raise TypeError
        # JSON writes a half of a character, which no file and no page can hold, as \\ud800.
        if _HALF.search(text) or _nests(text):
            json.dumps(parse_json(text), ensure_ascii=False).encode()
        value = json.loads(text)
        if fits(value):
            return value
    except (ValueError, TypeError, RecursionError, ParseError) as error:
        raise damaged(f"{place} is no JSON ({shortened(repr(text), 60)})") from error
    raise damaged(f"{place} says {shortened(text, 60)}, which is no value of it")


_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _nests(text: str) -> bool:
    """Whether brackets, also those in texts, may nest deeper than any value that sqlrl writes; `parse_json` knows."""
    signs = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    opening, closing = (signs == ord("[")) | (signs == ord("{")), (signs == ord("]")) | (signs == ord("}"))
    if opening.sum() <= DEEPEST_JSON:
        return False
    return int(np.cumsum(opening.astype(np.int64) - closing).max()) > DEEPEST_JSON


def is_object(value: Any) -> bool:
    """Tell whether a value of JSON is an object."""
    return isinstance(value, dict)


def are_texts(value: Any) -> bool:
    """Tell whether a value of JSON is an object of texts."""
    return isinstance(value, dict) and all(isinstance(x, str) for x in value.values())


def are_numbers(value: Any) -> bool:
    """Tell whether a value of JSON is an object of finite numbers."""
    return isinstance(value, dict) and all(map(is_number, value.values()))


def is_number(value: Any) -> bool:
    """Tell whether a value of JSON is a finite number."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond all doubles
        return False


def _row(*kinds: type | tuple[type, ...]) -> Check:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(kinds)
        and all(isinstance(x, kind) for x, kind in zip(value, kinds, strict=True))
    )


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) for x in value)


def _each(fits: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_note(value: Any) -> bool:
    """Tell whether a value is what `sqlrl.catalog.appended_examples` notes of rows that were appended."""
    return (
        isinstance(value, dict)
        and value.keys() == {"examples", "sizes", "parts", "to"}
        and isinstance(value["examples"], int)
        and isinstance(value["sizes"], dict)
        and all(isinstance(x, int) for x in value["sizes"].values())
        and isinstance(value["parts"], list)
        and len(value["parts"]) > 0
        and all(isinstance(x, list) and [type(y) for y in x] == [str, str, int] for x in value["parts"])
    )


STATE: Mapping[str, Check] = {
    "appended": _is_note,
    "atoms": lambda value: (
        isinstance(value, dict) and all(isinstance(value.get(name, {}), dict | list) for name in ("open", "scoped"))
    ),
    "declared": _each(_texts),
    "listed": _each(_each(_texts)),
    "named": _each(_row(str, int, int)),
    "outside": _each(_row(int, str, str)),
    "unlabelled": _each(_row(int, int, bool, (str, type(None)))),
}
"""What the entries of `sqlrl.state` are like that are JSON."""


def check_state(state: Mapping[str, Any]) -> None:
    """Refuse entries of the state that no version of sqlrl wrote."""
    for key, text in state.items():
        if key in STATE:
            kept_json(text, f"the entry {key!r} of sqlrl.state", STATE[key])
        elif not isinstance(text, str) or (key == "data" and not (text.isdecimal() and len(text) < 19)):
            raise damaged(f"the entry {key!r} of sqlrl.state is {shortened(repr(text), 60)}")
    if state.get("examples") == "type" and "example_type" not in state:
        raise damaged("sqlrl.state says that the constants of a type are the examples, but not of which type")
