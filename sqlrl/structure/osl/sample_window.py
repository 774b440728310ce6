"""A small example that docstrings share: two neighbouring positions of a citation with one field."""

from __future__ import annotations

import numpy as np

from sqlrl.ground.atoms import TrueAtoms, WindowFacts
from sqlrl.logic.modes import Modes, parse_modes
from sqlrl.logic.shapes import Shape, ShapeLiteral, Slot

MODES = """
modeP(2, InField(., #., -))
modeP(1, Next(-, -))
modeP(2, Token(#., +, .))
"""
TYPES = {
    "InField": ("bib", "field", "position"),
    "Next": ("position", "position"),
    "Token": ("word", "position", "bib"),
}


def modes() -> Modes:
    """Modes of a chain: paths reach the next position and the words at both."""
    return parse_modes(MODES)


def facts() -> WindowFacts:
    """Citation 4 with positions 1 and 2, words 7 and 8, and the field 0 at both; `Next` reaches to position 3."""
    rows = {
        "InField": ([4, 4], [[4, 0, 1], [4, 0, 2]]),
        "Next": ([-1, -1], [[1, 2], [2, 3]]),
        "Token": ([4, 4], [[7, 1, 4], [8, 2, 4]]),
    }
    atoms = {
        name: TrueAtoms(name, TYPES[name], np.array(example), np.array(arguments))
        for name, (example, arguments) in rows.items()
    }
    domains = {"position": (np.array([4, 4]), np.array([1, 2])), "bib": (np.array([4]), np.array([4]))}
    return WindowFacts(np.array([4]), atoms, domains)


def field_pattern() -> Shape:
    """The pattern of two fields at neighbouring positions."""
    start = ShapeLiteral("InField", False, (Slot(False, 0), Slot(True, 0), Slot(False, 1)))
    other = ShapeLiteral("InField", False, (Slot(False, 0), Slot(True, 1), Slot(False, 2)))
    following = ShapeLiteral("Next", False, (Slot(False, 1), Slot(False, 2)))
    return Shape(("bib", "position", "position"), ("field", "field"), (start, other, following))
