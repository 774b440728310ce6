"""How much of ground clauses is too much unless the caller says otherwise, and what missing atoms are; signatures name these, so they wait for nothing heavy."""

from __future__ import annotations

from typing import Literal, get_args

from sqlrl.errors import InputError, Parameter

GROUNDING_LIMIT = 200_000_000
"""The most ground clauses of one shape that a network may have, unless the caller says otherwise (about 8 GB)."""

MOST_GROUPS = 10_000_000
"""The most groups, with names that take much memory, of all clauses."""

GROWTH = 1.5
"""Halfway between a chain and all pairs; chains of three atoms or more stay below it."""

DENSITY = 2.0
"""Factors for each node: what a grid has."""

MissingAtoms = Literal["error", "open", "false"]
"""What atoms are that rules of a soft model reach and that are neither observed nor listed: an error, query atoms like others, or false."""


def check_missing(missing: object) -> None:
    """Refuse what says nothing of such atoms."""
    if missing not in get_args(MissingAtoms):
        raise InputError(f"{Parameter('missing', missing)} must be 'error', 'open' or 'false'.")
