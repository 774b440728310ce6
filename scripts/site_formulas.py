"""A hook of the site's builder: formulas become MathML when the site is built, so that pages need no script for them.

Named in `mkdocs.yml`. `pymdownx.arithmatex` leaves `\\(...\\)` and `\\[...\\]` in elements of the class `arithmatex`.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.DOTALL)


def on_page_content(content: str, **_: object) -> str:
    """Return the page with MathML in place of formulas in LaTeX."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    tag, kind, latex = found.groups()
    shown = convert(html.unescape(latex), display="block" if kind == "[" else "inline")
    return f'<{tag} class="formula">{shown}</{tag}>'
