"""What the rest of sqlrl knows of the data: frozen descriptions of predicates, types and examples.

`plan/` turns these into SQL without a connection; `catalog/` fills them from the database.
Physical conventions, on which the planner relies:

- a fact table has columns `a0, a1, ...` (INTEGER ids of the constants), before them `example` (INTEGER) if the
  predicate's examples come from a column; rows are unique over these columns. The fact table of an open predicate also has
  `truth BOOLEAN`, `given BOOLEAN` and `prior DOUBLE` (log-odds of soft evidence, else NULL).
- the fact table of a predicate that is *valued*, open or closed, also has `value DOUBLE`, the soft truth, which is never NULL: what its
  source says, from 0 to 1, and where some sources have no values 1 for their true and 0 for their false rows. `truth` of a valued
  row is whether the value is at least 0.5. Facts with the value 0 are rows like others; only in a layout that is bound for a Markov
  logic network, whose shapes read the tables of closed predicates whole, those tables have no facts but the true ones (all values are
  0 or 1 there: it is not bound to others).
- an atom table has `atom BIGINT, example INTEGER, a0, a1, ..., truth BOOLEAN` (the label, NULL if there is
  none... which only learners and `evaluate` read) and `prior DOUBLE`; one row for each query atom. Atom ids start at 1, are
  contiguous over all open predicates of a database, and ascend with the example inside a predicate. That of a valued predicate also
  has `value DOUBLE`, that of the label: NULL exactly where `truth` is, and 0 where a label is false because it has no row.
- a dictionary has `id INTEGER` (dense, from 0) and `name VARCHAR`.
- a domain table of a local type has `example INTEGER, id INTEGER`, unique rows.
- the example table has `example INTEGER, name VARCHAR, ordinal INTEGER` (order of first appearance in the data).
  If the examples come from an argument, `example` is the id of the constant in that argument's dictionary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlrl import markup
from sqlrl.catalog.sizes import ATOM_LIMIT
from sqlrl.engine.base import TableName
from sqlrl.logic.bins import Edges

__all__ = ["Layout", "PredicateInfo", "TableName", "TypeInfo"]


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A type and its domain.

    Parameters
    ----------
    name : str
    dictionary : TableName
    size : int
        Number of constants.
    local : bool
        True if the domain in an example is the constants of that example.
    domain : TableName or None
        The table (example, id) of a local type.
    of_rules : int
        How many constants, the last ones, only rules of the model name.
    edges : tuple of float
        Where its numbers are cut into pieces; none if they are not.
    declared : int
        How many constants, those before the last ones, only the model declares.
    """

    name: str
    dictionary: TableName
    size: int
    local: bool = False
    domain: TableName | None = None
    of_rules: int = 0
    edges: Edges = ()
    declared: int = 0
    _repr_html_ = markup.field_table

    def grew_from(self, old: TypeInfo) -> bool:
        """Whether this is a type as it was, or with more constants after those that it had, all of them in the data."""
        beyond = self.declared + self.of_rules
        return replace(self, size=old.size) == old and (self.size == old.size or (self.size > old.size and not beyond))


@dataclass(frozen=True, slots=True)
class PredicateInfo:
    """A predicate and its tables.

    Parameters
    ----------
    name : str
    types : tuple of str
        One for each argument.
    open : bool
        True if it has query atoms.
    facts : TableName
    atoms : TableName or None
        Present exactly if open.
    block : tuple of int
        Positions of `!` arguments.
    example_column : bool
        True if the tables of a closed predicate carry the example in a column of its own, and its atoms'
        `example` column is part of their identity.
    full_scope : bool
        True if every type-consistent tuple of each example is a query atom or given.
    has_given : bool
        True if some atoms are given (their truth is evidence).
    rows : int
        Number of facts.
    atom_count : int
        Number of query atoms.
    hidden : bool
        True if its atoms are inferred and not reported.
    valued : bool
        True if some source of it has soft truths: then its tables have a column `value`.
    """

    name: str
    types: tuple[str, ...]
    open: bool
    facts: TableName
    atoms: TableName | None = None
    block: tuple[int, ...] = ()
    example_column: bool = False
    full_scope: bool = True
    has_given: bool = False
    rows: int = 0
    atom_count: int = 0
    hidden: bool = False
    valued: bool = False
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Layout:
    """A snapshot of the catalog.

    Parameters
    ----------
    predicates, types : mapping by name
    example_type : str or None
        The type whose constants are the examples (`bib`); None if examples come from a column or all data
        are one example.
    examples : TableName
        The example table; one row (0, 'all', 0) if all data are one example.
    example_count : int
    scratch : (str, str)
        Catalog and schema in which sqlrl may create and drop tables of its own.
    atom_limit : int
        The most query atoms, helper atoms beside them, and clauses of templates.
    numbering : int
        As long as it is the same, constants keep their ids.
    sized : bool
        False where numbers of constants may change before a query runs, as that of a view: none stands in it.
    """

    predicates: Mapping[str, PredicateInfo]
    types: Mapping[str, TypeInfo]
    example_type: str | None
    examples: TableName
    example_count: int
    scratch: tuple[str, str]
    atom_limit: int = ATOM_LIMIT
    numbering: int = 0
    sized: bool = True
    _repr_html_ = markup.field_table

    def type_of(self, predicate: str, place: int) -> str:
        """Return the type of an argument of a predicate."""
        return self.predicates[predicate].types[place]

    @property
    def divided(self) -> bool:
        """Whether the data are several examples."""
        return self.example_type is not None or any(info.example_column for info in self.predicates.values())

    def grew_from(self, old: Layout) -> bool:
        """Whether it differs from an old layout in nothing but numbers of facts, atoms and examples, and in constants that came after others."""
        if self.predicates.keys() != old.predicates.keys() or self.types.keys() != old.types.keys():
            return False
        same = replace(self, predicates={}, types={}, example_count=0) == replace(
            old, predicates={}, types={}, example_count=0
        )
        return (
            same
            and all(info.grew_from(old.types[name]) for name, info in self.types.items())
            and all(
                replace(info, rows=0, atom_count=0) == replace(old.predicates[name], rows=0, atom_count=0)
                for name, info in self.predicates.items()
            )
        )
