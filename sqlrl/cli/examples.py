"""Examples in the help of commands: paragraphs of their docstrings that are command lines, shown so that they can be pasted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from inspect import cleandoc

_PROGRAM = "sqlrl "
_WORD = r"""(?:[^\s'"]|'[^']*'|"[^"]*")+"""
_WIDTH = 74
"""Columns of a line of an example, in a terminal of 80 with the margins of the help."""


def command_lines(text: str) -> list[str]:
    r"""Return the examples of a docstring, one line each."""
    return [part for part in _paragraphs(text) if part.startswith(_PROGRAM)]


def with_examples(command: Callable[..., None]) -> str:
    """Return the help of a command: what its docstring says, and under a heading its examples."""
    text = command.__doc__ or ""
    prose = [_escaped(part) for part in _paragraphs(text) if not part.startswith(_PROGRAM)]
    examples = command_lines(text)
    if examples:
        # After \b the help leaves lines as they are.
        shown = "\n".join(_escaped(pasteable(each)) for each in examples)
        prose.append(f"\b\n[bold]Example{'s' if len(examples) > 1 else ''}[/bold]\n{shown}")
    return "\n\n".join(prose)


def pasteable(line: str, width: int = _WIDTH) -> str:
    r"""Return a command line on lines that a shell takes for one, broken between arguments."""
    lines = [""]
    # An option stays beside its value.
    for word in re.findall(rf"--?[a-z-]+ (?!-){_WORD}|{_WORD}", line):
        room = width - (2 if len(lines) == 1 else 6)
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    assert shlex.split(" ".join(lines)) == shlex.split(line), line
    return " \\\n    ".join(lines)


def _paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", cleandoc(text)) if part.strip()]


def _escaped(text: str) -> str:
    """Return a text in which the help sees no markup."""
    return re.sub(r"(\[[a-zA-Z/@#])", r"\\\1", text)
