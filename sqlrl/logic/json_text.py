"""The reader of JSON that people or other programs wrote: what is wrong with it is an error that shows the place."""

from __future__ import annotations

import json
import re
from typing import Any

from sqlrl.errors import ParseError
from sqlrl.logic.limits import DEEPEST_JSON, LONGEST_INTEGER
from sqlrl.wording import shortened

_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]|-?\d[\d.eE+-]*', re.DOTALL)


def parse_json(text: str, *, path: str = "<json>", quotable: bool = True) -> Any:
    """Return the values of a JSON text; errors show the place, with a line of the text if it is `quotable`."""

    def error(problem: str, offset: int) -> ParseError:
        start = text.rfind("\n", 0, offset) + 1
        shown = text[start:].partition("\n")[0].rstrip("\r") if quotable else ""
        line = text.count("\n", 0, offset) + 1
        return ParseError(problem, text=shown, line=line, column=offset - start + 1, path=path)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            # Python would keep the last of several values.
            if name in found:
                raise ParseError(f"an object says {shortened(name)!r} twice: remove one of the two", path=path)
            found[name] = value
        return found

    depth = 0
    for mark in _MARK.finditer(text):
        first = mark[0][0]
        if first in "[{":
            depth += 1
            if depth > DEEPEST_JSON:
                raise error(f"brackets nest more than {DEEPEST_JSON} deep", mark.start())
        elif first in "]}":
            depth -= 1
        elif first != '"' and len(mark[0]) > LONGEST_INTEGER:
            raise error(f"a number has more than {LONGEST_INTEGER} digits", mark.start())
    try:
        return json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as fault:
        raise error(fault.msg, fault.pos) from fault
