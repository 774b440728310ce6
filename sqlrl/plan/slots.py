"""Shapes held against a layout: hidden example terms, and over which examples a local variable ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.logic.shapes import Shape, ShapeExists, ShapeLiteral, Slot


@dataclass(frozen=True)
class BoundShape:
    """A shape with the layout that gives its predicates tables, and the table of its clauses: all that a query of it is planned from."""

    shape: Shape
    layout: Layout
    # The variable for the example where examples come from a column, one past the shape's own: shared by all literals whose predicates carry
    # that column. A clause of global predicates alone has it too: it stands once in every example.
    hidden: Slot | None
    # For each slot of a local type the example terms whose domains it must be in; empty: the whole type.
    owners: dict[Slot, tuple[Slot, ...]]
    # Parameters that some clause fills with a constant which the data do not have (id -1).
    unknown: frozenset[int] = frozenset()
    # The table `clause, k0, k1, ...`.
    parameters: TableName | None = None

    @property
    def variables(self) -> tuple[Slot, ...]:
        """The grounding variables, and the hidden example last."""
        plain = tuple(Slot(False, i) for i in self.shape.universal())
        return plain if self.hidden is None else (*plain, self.hidden)

    @property
    def every_literal(self) -> tuple[ShapeLiteral, ...]:
        """The literals, and after them those of the existential groups."""
        return (*self.shape.literals, *(x for group in self.shape.exists for x in group.literals))

    @property
    def is_open(self) -> bool:
        """Whether some literal is open, so that worlds differ about the shape."""
        return any(self.info(x).open for x in self.every_literal)

    def with_parameters(self, parameters: TableName | None, unknown: frozenset[int] | None = None) -> BoundShape:
        """Return the shape with another parameter table; `unknown` stays where it is None."""
        return replace(self, parameters=parameters, unknown=self.unknown if unknown is None else unknown)

    def info(self, literal: ShapeLiteral) -> PredicateInfo:
        """Return the catalog's description of a literal's predicate."""
        return self.layout.predicates[literal.predicate]

    def columns(self, literal: ShapeLiteral) -> tuple[tuple[str, Slot], ...]:
        """Return the columns of a literal's table, each with its slot; the hidden example first."""
        plain = tuple((f"a{i}", slot) for i, slot in enumerate(literal.terms))
        if self.hidden is not None and self.info(literal).example_column:
            return (("example", self.hidden), *plain)
        return plain

    def kind(self, slot: Slot) -> str | None:
        """Return the type of a slot, None for the hidden example."""
        if slot == self.hidden:
            return None
        return (self.shape.parameters if slot.parameter else self.shape.variables)[slot.index]

    def is_example(self, slot: Slot) -> bool:
        """True if a slot ranges over examples."""
        return slot == self.hidden or (
            self.layout.example_type is not None and self.kind(slot) == self.layout.example_type
        )

    def is_local(self, slot: Slot) -> bool:
        """True if a slot's type is local to examples."""
        kind = self.kind(slot)
        return kind is not None and kind in self.layout.types and self.layout.types[kind].local

    def example_terms(self, literal: ShapeLiteral) -> tuple[Slot, ...]:
        """Return the example terms of a literal."""
        return tuple(dict.fromkeys(slot for _, slot in self.columns(literal) if self.is_example(slot)))

    @property
    def restricted(self) -> tuple[Slot, ...]:
        """The example terms to which `examples` of a query apply: those of the open literals, or all that a clause without any names."""
        if self.hidden is not None:
            return (self.hidden,)
        if self.undivided:
            return ()
        # Open literals are about one example; closed ones may be about others.
        found = dict.fromkeys(slot for x in self.every_literal if self.info(x).open for slot in self.example_terms(x))
        if found:
            return tuple(found)
        slots = [Slot(False, i) for i in self.shape.universal()]
        slots += [Slot(True, i) for i in range(len(self.shape.parameters))]
        return tuple(slot for slot in slots if self.is_example(slot))

    @property
    def undivided(self) -> bool:
        """True if all data are one example, which no slot stands for."""
        return self.hidden is None and self.layout.example_type is None

    def in_domain(self, literal: ShapeLiteral, slot: Slot) -> bool:
        """Return whether the rows of a literal's table already keep a slot inside its domain."""
        if not self.is_local(slot) or not self.owners[slot]:
            return True
        info = self.info(literal)
        # A local slot is inside if the literal carries just the example that owns it. Facts of an open predicate are no warrant: labels outside
        # the scope do not count for domains.
        return self._beside_owner(literal, slot) and not (info.open and info.has_given)

    def _beside_owner(self, literal: ShapeLiteral, slot: Slot) -> bool:
        return len(self.owners[slot]) == 1 and self.example_terms(literal) == self.owners[slot]

    def covers(self, literal: ShapeLiteral) -> bool:
        """True if every grounding of an open literal is a query atom or given, so that an inner join loses nothing."""
        if not self.info(literal).full_scope:
            return False
        if any(slot.parameter and slot.index in self.unknown for slot in literal.terms):
            return False
        return all(
            not self.is_local(slot) or (not slot.parameter and self._beside_owner(literal, slot))
            for slot in literal.terms
        )


def bind(
    shape: Shape, layout: Layout, unknown: frozenset[int] = frozenset(), parameters: TableName | None = None
) -> BoundShape:
    """Bind a shape to a layout, and find the example terms that own its local variables."""
    hidden = None
    if any(info.example_column for info in layout.predicates.values()):
        hidden = Slot(False, len(shape.variables))
    bound = BoundShape(shape, layout, hidden, {}, unknown, parameters)
    if bound.undivided and not any(info.local for info in layout.types.values()):
        # Nothing stands for examples; a model may have thousands of shapes, so they are not looked at for it.
        return bound
    examples: dict[Slot, None] = {} if hidden is None else {hidden: None}
    beside: dict[Slot, dict[Slot, None]] = {}
    for literal in bound.every_literal:
        here = bound.example_terms(literal)
        examples.update(dict.fromkeys(here))
        for slot in literal.terms:
            if bound.is_local(slot):
                beside.setdefault(slot, {}).update(dict.fromkeys(here))
    for equality in (*shape.equalities, *(x for group in shape.exists for x in group.equalities)):
        for slot in (equality.left, equality.right):
            if bound.is_local(slot):
                beside.setdefault(slot, {})
    for index in range(len(shape.variables)):
        if bound.is_local(Slot(False, index)):
            beside.setdefault(Slot(False, index), {})
    examples.update((Slot(False, i), None) for i in shape.universal() if bound.is_example(Slot(False, i)))
    for slot, found in beside.items():
        # A variable is owned by the example terms beside which it occurs, else by the only one of the clause.
        # A constant of the clause stands for itself in every example.
        owners = tuple(found) or (tuple(examples) if len(examples) == 1 else ())
        bound.owners[slot] = () if slot.parameter else owners
    return bound


def outer_slots(bound: BoundShape, group: ShapeExists) -> tuple[Slot, ...]:
    """Return the slots of an existential group that come from outside it, in order of first occurrence."""
    found = [slot for x in group.literals for _, slot in bound.columns(x)]
    found += [slot for x in group.equalities for slot in (x.left, x.right)]
    inside = {Slot(False, i) for i in group.variables}
    # The examples over whose domains its local variables range, whether its literals mention them or not.
    found += [owner for slot in (*found, *sorted(inside)) for owner in bound.owners.get(slot, ())]
    return tuple(slot for slot in dict.fromkeys(found) if slot not in inside)
