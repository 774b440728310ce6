"""Words of messages: numbers with their nouns."""

from __future__ import annotations

from sqlrl.errors import InputError


def counted(number: int, word: str, plural: str | None = None) -> str:
    """Return a number with its word in singular or plural, by default the word with an `s`."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def shortened(text: str, most: int = 120) -> str:
    r"""Return a text on one line, cut at its end if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def edits(one: str, other: str) -> int:
    """Return how many letters are to be put in, left out, changed or exchanged with their neighbours (restricted Damerau-Levenshtein)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


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


_UNITS = ("bytes", "kB", "MB", "GB", "TB")
