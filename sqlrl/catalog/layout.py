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
    """A type and its domain."""

    name: str
    dictionary: TableName
    size: int  # Number of constants.
    local: bool = False  # The domain in an example is the constants of that example.
    domain: TableName | None = None  # The table (example, id) of a local type.
    of_rules: int = 0  # How many constants, the last ones, only rules of the model name.
    edges: Edges = ()  # Where its numbers are cut into pieces; none if they are not.
    declared: int = 0  # How many constants, those before the last ones, only the model declares.
    _repr_html_ = markup.field_table

    def grew_from(self, old: TypeInfo) -> bool:
        """Whether this is a type as it was, or with more constants after those that it had, all of them in the data."""
        beyond = self.declared + self.of_rules
        return replace(self, size=old.size) == old and (self.size == old.size or (self.size > old.size and not beyond))


@dataclass(frozen=True, slots=True)
class PredicateInfo:
    """A predicate and its tables."""

    name: str
    types: tuple[str, ...]  # One for each argument.
    open: bool  # It has query atoms.
    facts: TableName
    atoms: TableName | None = None  # None if it is closed.
    block: tuple[int, ...] = ()  # Positions of `!` arguments.
    example_column: bool = False  # The example stands in a column of its own, and is part of an atom's identity.
    full_scope: bool = True  # Every type-consistent tuple of each example is a query atom or given.
    has_given: bool = False  # Some atoms are given (their truth is evidence).
    rows: int = 0  # Number of facts.
    atom_count: int = 0  # Number of query atoms.
    hidden: bool = False  # Its atoms are inferred and not reported.
    valued: bool = False  # Some source of it has soft truths: its tables have a column `value`.
    _repr_html_ = markup.field_table


@dataclass(frozen=True, slots=True)
class Layout:
    """A snapshot of the catalog."""

    predicates: Mapping[str, PredicateInfo]
    types: Mapping[str, TypeInfo]
    # The type whose constants are the examples; None if examples come from a column or all data are one.
    example_type: str | None
    # The example table; one row (0, 'all', 0) if all data are one example.
    examples: TableName
    example_count: int
    # Catalog and schema in which sqlrl may create and drop tables of its own.
    scratch: tuple[str, str]
    # The most query atoms with helper atoms, and the most clauses of templates.
    atom_limit: int = ATOM_LIMIT
    # As long as it is the same, constants keep their ids.
    numbering: int = 0
    # False where numbers of constants may change before a query runs, as that of a view: no query contains them.
    sized: bool = True
    # Whether weights are learned of it, which takes arrays beside those of the network.
    training: bool = False
    _repr_html_ = markup.field_table

    def type_of(self, predicate: str, place: int) -> str:
        """Return the type of an argument of a predicate."""
        return self.predicates[predicate].types[place]

    def open_predicates(self) -> list[PredicateInfo]:
        """Return the open predicates, sorted; ids of their atoms follow each other in this order."""
        return sorted((info for info in self.predicates.values() if info.open), key=lambda info: info.name)

    @property
    def query_atoms(self) -> int:
        """How many atoms the open predicates have in all examples."""
        return sum(info.atom_count for info in self.predicates.values() if info.open)

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
