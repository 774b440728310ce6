"""What the literals of a shape are in a world: which of its groundings a grounding query keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import column, integer, subquery, table, union_all
from sqlrl.logic.shapes import ShapeExists, ShapeLiteral
from sqlrl.plan.body import QueryBody
from sqlrl.plan.disjuncts import AtomDisjunct
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, World, argument_columns, atom_rows, given_rows, open_source
from sqlrl.plan.tuples import Conjunction, holding


class OpenTruth(Enum):
    """What an open literal, or an existential group with one, may be in a ground clause."""

    DECIDED = "decided"  # False by the evidence; of a group: without an open witness.
    OPEN = "open"  # A query atom, whatever its value.
    FALSE = "false"  # Decided, or a query atom whose value makes it false; of a group: no witness.
    TRUE = "true"  # A query atom whose value makes it true; of a group: some witness.
    AMONG = "among"  # Decided, or a query atom that the world has, whatever its value; not of a group.


_OR_DECIDED = (OpenTruth.DECIDED, OpenTruth.FALSE, OpenTruth.AMONG)


@dataclass(frozen=True)
class Truths:
    """Conditions on the open parts of a shape; a part without one may be anything but true by the evidence."""

    of: Mapping[AtomDisjunct, OpenTruth]
    # The query atoms that are true, or for AMONG chosen, in a column `atom`; needed for FALSE, TRUE and AMONG.
    world: TableName | None = None
    # Numbers of open literals that must be about one query atom.
    same: Sequence[int] = field(default=())
    # Groups have at most one open witness, the same for all: if there is `same`, that atom.
    single: bool = False
    # Literals whose query atom must be in the column `atom` of `changed` (True), or must not (False).
    moved: Mapping[AtomDisjunct, bool] = field(default_factory=dict)
    changed: TableName | None = None

    def source(self, bound: BoundShape, literal: ShapeLiteral, alias: str) -> tuple[SlotSource, bool]:
        """Return the relation of an open literal and whether it is to be outer-joined, as `plan.sources.open_source`."""
        truth = self.of.get(literal)
        outside = literal.positive and not bound.covers(literal)
        moved = self.moved.get(literal)
        # Only a query atom can have changed.
        or_decided = truth in _OR_DECIDED and not moved
        if truth is None or (outside and or_decided):
            return open_source(bound, literal, alias)
        info = bound.info(literal)
        rows: list[exp.Query] = []
        if truth is OpenTruth.OPEN:
            rows.append(atom_rows(info))
        elif truth is not OpenTruth.DECIDED:
            true = truth is OpenTruth.AMONG or (truth is OpenTruth.TRUE) == literal.positive
            rows.append(self._atoms(info, true=true, moved=bool(moved)))
        if or_decided and info.has_given:
            rows.append(given_rows(info, not literal.positive, atom=True))
        return SlotSource(subquery(union_all(rows), alias), alias, bound.columns(literal)), False

    def _atoms(self, info: PredicateInfo, *, true: bool, moved: bool) -> exp.Select:
        """Select the query atoms of a predicate that are true in the world, or false, or those that changed."""
        assert info.atoms is not None
        query = exp.select(*(column(name, "a") for name in ("atom", *argument_columns(info))))
        query = query.from_(table(info.atoms, "a"))
        if moved:
            query = query.join(table(self._changed, "c"), on=_equal(column("atom", "c"), column("atom", "a")))
            if not true:
                return query  # `restrict` says the rest
        if true:
            return query.join(table(self._shown, "w"), on=_equal(column("atom", "w"), column("atom", "a")))
        return query.where(self._absent(column("atom", "a")))

    @property
    def _changed(self) -> TableName:
        assert self.changed is not None, "literals that moved need a table of what changed"
        return self.changed

    def _unmoved(self, atom: exp.Expression) -> exp.Expression:
        """Return the condition that an atom has not changed; NULL has not."""
        inside = exp.select(integer(1)).from_(table(self._changed, "c")).where(_equal(column("atom", "c"), atom))
        return exp.Not(this=exp.Exists(this=inside))

    @property
    def _shown(self) -> TableName:
        assert self.world is not None, "FALSE, TRUE and AMONG need a world"
        return self.world

    def _absent(self, atom: exp.Expression) -> exp.Expression:
        """Return the condition that an atom is not true in the world; NULL is not."""
        return exp.Not(this=self._present(atom))

    def _present(self, atom: exp.Expression) -> exp.Expression:
        inside = exp.select(integer(1)).from_(table(self._shown, "w")).where(_equal(column("atom", "w"), atom))
        return exp.Exists(this=inside)

    def restrict(
        self,
        bound: BoundShape,
        body: QueryBody,
        aliases: Sequence[str],
        outer: Iterable[int],
        lists: Sequence[str | None],
        examples: TableName | None,
    ) -> None:
        """Add conditions that the literals' relations do not state; `lists` are each group's alias in `plan.grounding.witness_lists`."""
        opened = [x for x in bound.shape.literals if bound.info(x).open]
        # The numbers of the open literals that are outer-joined.
        for i in outer:
            atom, truth = column("atom", aliases[i]), self.of.get(opened[i])
            if truth is OpenTruth.DECIDED:
                body.where(exp.Is(this=atom, expression=exp.null()))
            elif truth is OpenTruth.FALSE:
                body.where(self._absent(atom))
            elif truth is OpenTruth.AMONG:
                body.where(exp.Or(this=exp.Is(this=atom, expression=exp.null()), expression=self._present(atom.copy())))
        # These are no parts of the literals' relations, of which the database would put the smallest first no more: joins took ten times as long.
        for literal, alias in zip(opened, aliases, strict=True) if self.moved else ():
            moved = self.moved.get(literal)
            if moved is False:
                body.where(self._unmoved(column("atom", alias)))
            elif moved and (self.of[literal] is OpenTruth.TRUE) != literal.positive:
                body.where(self._absent(column("atom", alias)))
        for i in self.same[1:]:
            body.where(_equal(column("atom", aliases[self.same[0]]), column("atom", aliases[i])))
            # Their arguments are equal, too, of which facts that are joined first leave out most.
            for (_, one), (_, other) in zip(bound.columns(opened[self.same[0]]), bound.columns(opened[i]), strict=True):
                if one != other:
                    body.where(_equal(body.known[one].copy(), body.known[other].copy()))
        for group in bound.shape.exists:
            if group in self.of:
                self._restrict_group(bound, body, group, examples)
        self._restrict_lists(body, [column("atoms", alias) for alias in lists if alias], aliases)

    def _restrict_group(
        self, bound: BoundShape, body: QueryBody, group: ShapeExists, examples: TableName | None
    ) -> None:
        """Keep the groundings for which a group has no witness in the world, or some."""
        alias = body.alias("h")
        outer = outer_slots(bound, group)
        found = holding(bound, Conjunction.of(group, outer), World(self._shown), examples=examples, prefix=alias)
        source = SlotSource(subquery(found, alias), alias, tuple((f"x{i}", slot) for i, slot in enumerate(outer)))
        if self.of[group] is OpenTruth.TRUE:
            body.join(source)
        else:
            body.without(source)

    def _restrict_lists(self, body: QueryBody, lists: Sequence[exp.Expression], aliases: Sequence[str]) -> None:
        """Keep the groundings whose open witnesses are no more than one atom."""
        for i, found in enumerate(lists if self.single else ()):
            none: exp.Expression = exp.Is(this=found, expression=exp.null())
            if self.same:
                alone = exp.Array(expressions=[column("atom", aliases[self.same[0]])])
                body.where(exp.Or(this=none, expression=_equal(found.copy(), alone)))
                continue
            body.where(exp.Or(this=none, expression=_equal(exp.ArraySize(this=found.copy()), integer(1))))
            for other in lists[:i]:
                either = exp.Or(this=none.copy(), expression=exp.Is(this=other.copy(), expression=exp.null()))
                body.where(exp.Or(this=either, expression=_equal(found.copy(), other.copy())))


def _equal(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.EQ(this=left, expression=right)
