"""What components of clause bodies have in common when a literal is added to them: the pattern, and the tables that it is joined in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlrl.catalog.layout import TableName

Heads = tuple[int, ...]
"""Arguments of the head, ascending; one past them stands for the example, where facts have a column for it."""


class Kind(Enum):
    """What stands at an argument of the literal that is added.

    HEAD: an argument of the head. BOUND: an existential variable of a parent. NEW: one that no parent has. CONSTANT: a constant.
    """

    HEAD = "head"
    BOUND = "bound"
    NEW = "new"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True, order=True)
class Argument:
    """An argument of a pattern.

    Parameters
    ----------
    kind : str
        The value of a `Kind`.
    number : int
        Which argument of the head, which parent, or which new variable; 0 for a constant.
    place : int
        In patterns that begin with facts the place of a parent's variable in its list, from 1. Else 0: the layer's table says it.
    """

    kind: str
    number: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True, order=True)
class Pattern:
    """What components of a layer have in common.

    Parameters
    ----------
    predicate : str
        That of the literal that is added.
    arguments : tuple of Argument
        One for each column of its facts: the example, if they have a column for it, then the arguments.
    parents : tuple of Heads
        The arguments of the head that each parent touches.
    facts_first : bool
        Whether the facts of constants are looked up before they meet the parents, of which the components may have one in common.

    Examples
    --------
    `Friends(C, D)` where C is a variable of a component that touches the first argument of the head:

    >>> pattern = Pattern("Friends", (Argument("bound", 0), Argument("new", 0)), ((0,),))
    >>> pattern.touched, pattern.new
    ((0,), 1)
    """

    predicate: str
    arguments: tuple[Argument, ...]
    parents: tuple[Heads, ...]
    facts_first: bool = False

    @property
    def touched(self) -> Heads:
        """The arguments of the head that the components touch."""
        own = {x.number for x in self.arguments if x.kind == Kind.HEAD.value}
        return tuple(sorted(own.union(*self.parents)))

    @property
    def new(self) -> int:
        """The number of new variables."""
        return len({x.number for x in self.arguments if x.kind == Kind.NEW.value})

    @property
    def loose(self) -> tuple[int, ...]:
        """The parents that touch no argument of the head."""
        return tuple(i for i, touched in enumerate(self.parents) if not touched)

    @property
    def remaining(self) -> tuple[int, ...]:
        """The places of the arguments that remain to be joined when facts were counted, with loose parents, if there are some."""
        owners = set(range(len(self.parents))).difference(self.loose)
        kinds = {Kind.HEAD.value} if self.loose else {Kind.HEAD.value, Kind.CONSTANT.value}
        return tuple(
            i
            for i, x in enumerate(self.arguments)
            if x.kind in kinds or (x.kind == Kind.BOUND.value and x.number in owners)
        )

    @property
    def groupable(self) -> bool:
        """Whether facts can be counted for all values of new variables and of loose parents before they meet the other parents."""
        return bool(self.loose or (self.new and self.remaining)) and not self.facts_first


@dataclass(frozen=True)
class CoverageTables:
    """The tables of a query of bindings.

    Parameters
    ----------
    layer : TableName
        A row for each component: `pattern` (its number), `component`, `p0, p1, ...` (its parents), and for argument i of its
        pattern `x{i}`: the place of a variable in the parent's list (from 1) or the id of a constant.
    bindings : TableName
    keys : mapping of Heads to TableName
        For the arguments of the head that components touch: their distinct values at target atoms, `key, h0, ...`.
    heads : int
        The number of columns `h0, h1, ...`.
    wanted : TableName
        What `plan.shared.wanted_bindings` says: the bindings of the parents.
    constants : mapping of int to TableName
        For each pattern that begins with facts, by its number, what `plan.shared.facts_of_constants` says.

    Notes
    -----
    The last two are tables, not steps of one query: DuckDB 2.0 can wait for itself for ever where a limit stands above a union whose
    branches read common table expressions.
    """

    layer: TableName
    bindings: TableName
    keys: Mapping[Heads, TableName]
    heads: int
    wanted: TableName
    constants: Mapping[int, TableName]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the tables of bindings."""
        return ("component", "key", *(f"h{j}" for j in range(self.heads)), "places")


def layer_columns(patterns: Sequence[Pattern]) -> tuple[str, ...]:
    """Return the columns of the table of a layer.

    Examples
    --------
    >>> layer_columns([Pattern("Smokes", (Argument("bound", 0),), ((0,),))])
    ('pattern', 'component', 'p0', 'x0')
    """
    parents = max(len(pattern.parents) for pattern in patterns)
    arguments = max(len(pattern.arguments) for pattern in patterns)
    named_columns = (*(f"p{i}" for i in range(parents)), *(f"x{i}" for i in range(arguments)))
    return ("pattern", "component", *named_columns)
