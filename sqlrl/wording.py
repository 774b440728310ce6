"""Words of messages: numbers with their nouns, and names that were perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from sqlrl.errors import InputError


def counted(number: int, word: str, plural: str | None = None) -> str:
    """Return a number with its word in singular or plural, by default the word with an `s`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def shortened(text: str, most: int = 120) -> str:
    r"""Return a text on one line, cut at its end if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def nearest_names(name: str, known: Iterable[str], alike: float = 0.5) -> list[str]:
    """Return the known names that are most like another one in any case, the nearest first, at most three; `alike` is 1 for the same name."""
    folded: dict[str, str] = {}
    for candidate in sorted(known):
        folded.setdefault(candidate.casefold(), candidate)
    return [folded[match] for match in difflib.get_close_matches(name.casefold(), list(folded), NEAREST, alike)]


def did_you_mean(names: Sequence[str]) -> str:
    """Return the end of a message that names alternatives."""
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


NEAREST = 3
"""Names that a message offers in place of another one."""


def check_characters(text: str, what: str) -> None:
    r"""Refuse a text with half a character, which neither a database nor a file can hold; `what` is what it is."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        around = text[max(error.start - 40, 0) : error.start + 40]
        raise InputError(
            f"{what} {around!r} has half a character (a surrogate) at place {error.start + 1}: it was read in another encoding than "
            "it was written in; write it in UTF-8, or rename the file if it is one."
        ) from error


def in_bytes(size: int) -> str:
    """Return a size of memory in the largest unit of which there is one, to two digits."""
    unit = min((len(str(size)) - 1) // 3, len(_UNITS) - 1)
    value = size / 1000**unit
    return f"{value:.1f} {_UNITS[unit]}" if unit and value < 10 and value % 1 else f"{value:,.0f} {_UNITS[unit]}"


def both_in_bytes(size: int, other: int) -> tuple[str, str]:
    """Return two sizes of memory in as many digits as show that they differ, where they do."""
    found = in_bytes(size), in_bytes(other)
    (first, unit), (second, other_unit) = (each.replace(",", "").split() for each in found)
    # 1 MB and 1.0 MB are the same, and 1,000 kB and 1.0 MB are so to two digits.
    apart = float(first) != float(second) if unit == other_unit else 10 * max(size, other) > 11 * min(size, other)
    if apart or size == other:
        return found
    power = min((len(str(min(size, other))) - 1) // 3, len(_UNITS) - 1)
    for digits in range(1, 3 * power):
        one, two = (f"{each / 1000**power:,.{digits}f} {_UNITS[power]}" for each in (size, other))
        if one != two:
            return one, two
    return f"{size:,} bytes", f"{other:,} bytes"


def both_numbers(number: float, other: float) -> tuple[str, str]:
    """Return two numbers that differ, in as many digits as show that they do, two at the least."""
    found = next((pair for n in range(2, 18) if (pair := (f"{number:.{n}g}", f"{other:.{n}g}"))[0] != pair[1]), None)
    return found or (f"{number:.2g}", f"{other:.2g}")


_UNITS = ("bytes", "kB", "MB", "GB", "TB")
