"""Components of clause bodies, under the name by which clause finders know them; `sqlrl.logic.components` defines them."""

from __future__ import annotations

from sqlrl.logic.components import BodyLiteral, Component, Components, Group, constant

__all__ = ["BodyLiteral", "Component", "Components", "Group", "constant"]
