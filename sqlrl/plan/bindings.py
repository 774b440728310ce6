"""Bindings of patterns: the closed literals that many patterns share become one query.

A pattern is a shape whose literals are all negative: a conjunction that a path has found, without its constants. Its closed
part says where its variables can be; what is left to decide, literal by literal, are its open literals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, integer, named, subquery, table
from sqlrl.errors import ModelError
from sqlrl.logic.shapes import Shape, ShapeLiteral, Shaper, Slot
from sqlrl.logic.terms import Clause, Literal, Variable
from sqlrl.plan.body import QueryBody
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import SlotSource, argument_columns, domain_source, filter_source

# Relations of a closed part beside its facts; no predicate has such a name.
_DOMAIN, _TYPE, _ASKED = "?domain", "?type", "?asked"
_OUTSIDE, _VARIABLE, _PARAMETER = "e", "v", "k"


@dataclass(frozen=True, slots=True)
class ClosedPart:
    """The joins that give a pattern's bindings, in canonical form: patterns that share them have equal closed parts."""

    # `v0, v1, ...` for variables, `k0, k1, ...` for parameters, `e` for an example that no term stands for.
    names: tuple[str, ...]
    # The type of `e` is empty.
    types: tuple[str, ...]
    # What is joined, with slots numbered as the columns: the examples that are asked for, domains of local types, whole types, and facts
    # of closed predicates (with their example first, if they have a column for it).
    relations: tuple[ShapeLiteral, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its query after `example`."""
        return tuple(name for name in self.names if name != _OUTSIDE)

    @property
    def example(self) -> int:
        """The column that is the example of a binding."""
        return next(x.terms[0].index for x in self.relations if x.predicate == _ASKED)

    def __str__(self) -> str:
        shown = [ShapeLiteral(x.predicate, True, x.terms) for x in self.relations if not x.predicate.startswith("?")]
        return " ^ ".join(map(str, shown)) or "no closed literal"


@dataclass(frozen=True, slots=True)
class PatternPart:
    """The closed part of a pattern, and where the pattern's slots are in it."""

    part: ClosedPart
    # Places among `part.columns`.
    variables: tuple[int, ...]
    # The same; -1 for a parameter that no relation of the closed part mentions.
    parameters: tuple[int, ...]
    # Literals that the closed part does not decide, ascending: those of open predicates, and closed ones whose terms are all parameters
    # (a fact about constants, which joined with nothing would be multiplied with everything).
    undecided: tuple[int, ...]


class ClosedParts:
    """Finds the closed parts of patterns, each once."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._shaper = Shaper(_no_type)
        self._known: dict[Shape, PatternPart] = {}

    def of(self, pattern: Shape) -> PatternPart:
        """Return the closed part of a pattern; ModelError if its open literals belong to several examples."""
        if pattern not in self._known:
            self._known[pattern] = _closed_part(pattern, self.layout, self._shaper)
        return self._known[pattern]


def _no_type(*_: object) -> str:
    """The variables of a closed part bring their types along, and it has no constants."""
    return ""


def _closed_part(pattern: Shape, layout: Layout, shaper: Shaper) -> PatternPart:
    assert not any(x.positive for x in pattern.literals), "patterns are conjunctions"
    assert not pattern.equalities
    assert not pattern.exists
    bound = bind(pattern, layout)
    example = _example(bound)
    # The same constant at several places: each of them is the example.
    same = dict.fromkeys(bound.restricted, example)
    relations = [*_relations(bound, example), (_ASKED, (example,))]
    relations = list(dict.fromkeys((name, tuple(same.get(slot, slot) for slot in terms)) for name, terms in relations))
    # A variable that stands nowhere else is one of a whole type, so that all are mentioned.
    slots = tuple(dict.fromkeys(slot for _, terms in relations for slot in terms))
    called = {slot: Variable(_name(slot, bound)) for slot in slots}
    clause = Clause(
        tuple((called[slot].name, f"{called[slot].name[0]}{_type(slot, bound)}") for slot in slots),
        tuple(Literal(name, tuple(called[slot] for slot in terms), False) for name, terms in relations),
    )
    instance = shaper(clause)
    kinds = [kind[0] for kind in instance.shape.variables]
    names = tuple(kind if kind == _OUTSIDE else f"{kind}{kinds[:i].count(kind)}" for i, kind in enumerate(kinds))
    part = ClosedPart(names, tuple(kind[1:] for kind in instance.shape.variables), instance.shape.literals)
    given = [name for name in instance.variables if name != _OUTSIDE]
    named_as = [_name(same.get(slot, slot), bound) for slot in (Slot(True, i) for i in range(len(pattern.parameters)))]
    undecided = tuple(i for i, literal in enumerate(pattern.literals) if not _joined(bound, literal))
    return PatternPart(
        part,
        tuple(given.index(f"{_VARIABLE}{i}") for i in range(len(pattern.variables))),
        tuple(given.index(name) if name in given else -1 for name in named_as),
        undecided,
    )


def _example(bound: BoundShape) -> Slot:
    """Return the slot that is the example of a binding; one past the variables where all data are one example."""
    if bound.undivided:
        return Slot(False, len(bound.shape.variables))
    found = bound.restricted
    if len(found) == 1 or (found and all(slot.parameter for slot in found)):
        return found[0]
    raise ModelError(
        f"the open literals of the pattern {bound.shape} belong to several examples "
        f"({', '.join(map(str, found)) or 'none is named'}), but examples are independent: let the modes of all open "
        "predicates turn the example into a variable, or make all data one example"
    )


def _joined(bound: BoundShape, literal: ShapeLiteral) -> bool:
    """True for a closed literal with a term that varies."""
    return not bound.info(literal).open and any(not slot.parameter for _, slot in bound.columns(literal))


def _relations(bound: BoundShape, example: Slot) -> list[tuple[str, tuple[Slot, ...]]]:
    """Return the facts and domains that are joined; what the facts see to needs no domain."""
    joined = [x for x in bound.shape.literals if _joined(bound, x)]
    found = [(x.predicate, tuple(slot for _, slot in bound.columns(x))) for x in joined]
    seen = {slot for _, terms in found for slot in terms}
    for slot in (Slot(False, i) for i in range(len(bound.shape.variables))):
        owners = bound.owners.get(slot, ())
        if not any(slot in x.terms and bound.in_domain(x, slot) for x in joined):
            found += [(_DOMAIN, (owner, slot)) for owner in owners]
        if not owners and slot not in seen and slot != example:
            found.append((_TYPE, (slot,)))
    return found


def _type(slot: Slot, bound: BoundShape) -> str:
    if not slot.parameter and slot.index == len(bound.shape.variables):
        return ""
    return bound.kind(slot) or ""


def _name(slot: Slot, bound: BoundShape) -> str:
    if slot.parameter:
        return f"{_PARAMETER}{slot.index}"
    return _OUTSIDE if slot.index == len(bound.shape.variables) else f"{_VARIABLE}{slot.index}"


def bindings_query(part: ClosedPart, layout: Layout, examples: TableName, most: int | None = None) -> exp.Select:
    """Plan the bindings of a closed part in `examples` (each once): columns `example`, then `part.columns` (ids), in ascending order."""
    hidden = next((Slot(False, i) for i, name in enumerate(part.names) if name == _OUTSIDE), None)
    body = QueryBody(BoundShape(Shape(part.types, (), ()), layout, hidden, {}))
    for source in _in_join_order(_sources(part, body.bound, examples)):
        body.join(source)
    outputs = [("example", Slot(False, part.example))]
    outputs += [(name, Slot(False, i)) for i, name in enumerate(part.names) if name != _OUTSIDE]
    found = body.select(named(body.known[slot].copy(), name) for name, slot in outputs)
    if most is not None:
        # Any rows will do: they are sorted afterwards.
        found = found.limit(integer(most), copy=False)
    names = [column(name, "b") for name, _ in outputs]
    order = [exp.Ordered(this=name.copy(), nulls_first=False) for name in names]
    return exp.select(*names).from_(subquery(found, "b"), copy=False).order_by(*order, copy=False)


def _sources(part: ClosedPart, bound: BoundShape, examples: TableName) -> list[SlotSource]:
    found: list[SlotSource] = []
    for relation in part.relations:
        slot = relation.terms[-1]
        match relation.predicate:
            case name if name == _DOMAIN:
                found.append(domain_source(bound, slot, relation.terms[0], f"d{len(found)}"))
            case name if name == _TYPE:
                found.append(domain_source(bound, slot, None, f"d{len(found)}"))
            case name if name == _ASKED:
                if bound.layout.example_type is None and slot == bound.hidden:
                    found.append(domain_source(bound, slot, None, f"y{len(found)}"))
                found.append(filter_source(examples, slot, f"x{len(found)}"))
            case name:
                info, alias = bound.layout.predicates[name], f"t{len(found)}"
                columns = tuple(zip(argument_columns(info), relation.terms, strict=True))
                found.append(SlotSource(table(info.facts, alias), alias, columns))
    return found


def _in_join_order(sources: Sequence[SlotSource]) -> list[SlotSource]:
    """Put each source after one with which it shares a slot, as far as there is one."""
    left, ordered, known = list(sources), list[SlotSource](), set[Slot]()
    while left:
        source = next((s for s in left if any(slot in known for _, slot in s.columns)), left[0])
        left.remove(source)
        ordered.append(source)
        known.update(slot for _, slot in source.columns)
    return ordered
