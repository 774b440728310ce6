"""Text for notebooks and terminals: HTML in which everything is escaped, and no characters that act on a terminal."""

from __future__ import annotations

import html
from collections.abc import Sequence


def visible(text: str) -> str:
    r"""Write characters that would act on a terminal (escapes, line breaks, changes of direction) as escapes.

    Examples
    --------
    >>> print(visible("red: \x1b[31m, two\nlines, reversed: \u202e"))
    red: \x1b[31m, two\nlines, reversed: \u202e
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def visible_lines(text: str) -> str:
    r"""Write the lines of a text as `visible` does, and leave their breaks: for what sqlrl has written, not for a name.

    Examples
    --------
    >>> print(visible_lines("two\nlines, red: \x1b[31m"))
    two
    lines, red: \x1b[31m
    """
    return "\n".join(map(visible, text.splitlines()))


def printable(text: str) -> str:
    r"""Write a message as `visible` does, and leave its line breaks and tabs, on which carets below a line of source count.

    Examples
    --------
    >>> printable("P(x\n\t^\x1b[31m")
    'P(x\n\t^\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def paragraph(text: str) -> str:
    """Return a text as a paragraph of HTML.

    Examples
    --------
    >>> paragraph("P(x) ^ x < y")
    '<p>P(x) ^ x &lt; y</p>'
    """
    return f"<p>{html.escape(visible(text))}</p>"


def preformatted(text: str) -> str:
    r"""Return lines of text as HTML that keeps them.

    Examples
    --------
    >>> preformatted("P(x)\nQ(x)")
    '<pre>P(x)\nQ(x)</pre>'
    """
    return f"<pre>{html.escape(visible_lines(text))}</pre>"


def details(summary: str, body: str) -> str:
    """Return HTML that opens on a click: `summary` is the text that always shows, `body` is HTML.

    Examples
    --------
    >>> details("SQL", preformatted("select 1"))
    '<details><summary>SQL</summary><pre>select 1</pre></details>'
    """
    return f"<details><summary>{html.escape(visible(summary))}</summary>{body}</details>"


def table(names: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], *, caption: str = "") -> str:
    """Return a table of HTML with `names` as its head; columns that are `right` are aligned to the right.

    Examples
    --------
    >>> table(["n"], [["7"]], [True]).count("text-align: right")
    2
    """
    above = f"<caption>{html.escape(visible(caption))}</caption>" if caption else ""
    body = "".join(_row("td", values, right) for values in rows)
    return f"<table>{above}<thead>{_row('th', names, right)}</thead><tbody>{body}</tbody></table>"


def pairs(items: Sequence[tuple[str, str]]) -> str:
    """Return names with values as a table of HTML without a head.

    Examples
    --------
    >>> pairs([("status", "optimal")]).count("<td")
    2
    """
    return f"<table><tbody>{''.join(_row('td', item, (False, False)) for item in items)}</tbody></table>"


def _row(tag: str, values: Sequence[str], right: Sequence[bool]) -> str:
    """Write one row of cells."""
    style = ("right" if r else "left" for r in right)
    cells = (
        f'<{tag} style="text-align: {s}">{html.escape(visible(v))}</{tag}>' for s, v in zip(style, values, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
