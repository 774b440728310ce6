"""How much of ground clauses is too much unless the caller says otherwise; signatures name these, so they wait for nothing heavy."""

from __future__ import annotations

GROUNDING_LIMIT = 200_000_000
"""The most ground clauses of one shape that a network may have, unless the caller says otherwise (about 8 GB)."""

MOST_GROUPS = 10_000_000
"""The most groups, with names that take much memory, of all clauses."""

GROWTH = 1.5
"""Halfway between a chain and all pairs; chains of three atoms or more stay below it."""

DENSITY = 2.0
"""Factors for each node: what a grid has."""
