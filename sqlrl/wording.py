"""Words of messages: numbers with their nouns."""

from __future__ import annotations


def counted(number: int, word: str, plural: str | None = None) -> str:
    """Return a number with its word in singular or plural, by default the word with an `s`.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def shortened(text: str, most: int = 120) -> str:
    r"""Return a text on one line, cut at its end if it is long.

    Examples
    --------
    >>> shortened("select a\nfrom t", 12)
    'select a...'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."
