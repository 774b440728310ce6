"""Ground clauses of a shape with the names of their constants: those that mention one atom, and those that the evidence violates.

Each open literal in which the one atom can stand is a branch; a branch leaves out what the branches before it have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery, table, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.counted_variables import counted_parts, without_parts
from sqlrl.plan.grounding import clause_body, exclude_tautologies, list_columns, open_literals, witness_lists
from sqlrl.plan.multiplicity import Multiplicity
from sqlrl.plan.semiring import BIGINT_LIMIT
from sqlrl.plan.slots import BoundShape

Test = tuple[exp.Expression, list[exp.Expression]]


@dataclass(frozen=True)
class AtomKey:
    """A query atom: its id, and what its row of the atom table holds, `example`, `a0`, `a1`, ..."""

    predicate: str
    atom: int
    columns: Mapping[str, int]


@dataclass(frozen=True)
class TouchingQuery:
    """One query for the ground clauses of a shape that mention an atom."""

    # A row for each: `clause` (if the shape has parameters), `s0, s1, ...` (names of the constants of `slots`, NULL for one that the data do
    # not have), `l0, ...` and `e0, ...` as in `plan.grounding.GroundingQuery`, `times`.
    query: exp.Query
    # The parameters and the variables that have a constant.
    slots: tuple[Slot, ...]
    # +1 or -1 for each `l` column.
    signs: tuple[int, ...]
    # The same for each `e` column.
    list_signs: tuple[int, ...]
    has_clause: bool
    # Whether some variables have no constant: `times` groundings differ only in them.
    counted: bool


def touching(
    whole: BoundShape, key: AtomKey, examples: TableName | None = None, *, count: bool = True
) -> TouchingQuery | None:
    """Plan the ground clauses of a shape, open to the evidence, in which an atom stands; None if its predicate is not in the shape."""
    shape, parameters = whole.shape, whole.parameters
    # Variables of no open literal may be counted: then they have no constant in a row.
    parts = counted_parts(whole, whole.variables) if count else ()
    bound = without_parts(whole, parts)
    opened = open_literals(bound)
    places = [i for i, x in enumerate(opened) if x.predicate == key.predicate]
    groups = [open_witness(bound, i) for i in range(len(bound.shape.exists))]
    lists = [i for i, x in enumerate(groups) if x is not None and x.predicate == key.predicate]
    if not places and not lists:
        return None
    counted = frozenset[Slot]().union(*(part.slots for part in parts))
    slots = tuple(Slot(False, i) for i in shape.universal() if Slot(False, i) not in counted)
    slots += tuple(Slot(True, i) for i in range(len(shape.parameters)))
    branches, list_signs = [], tuple[int, ...]()
    for number in range(len(places) + len(lists)):
        body = QueryBody(whole)
        multiplicity = Multiplicity(whole, body, parts, examples)
        aliases, absent = clause_body(bound, body, examples, counted=multiplicity)
        exclude_tautologies(bound, body)
        witnesses = witness_lists(bound, body, examples)
        branch = _Branch(bound, body, key)
        tests = [branch.literal(opened[i], aliases[i]) for i in places]
        tests += [branch.group(groups[i], witnesses[i][0]) for i in lists]
        branch.restrict(tests, number)
        select = [named(column("clause", "p"), "clause")] if parameters is not None else []
        select += [named(body.known[slot].copy(), f"s{i}") for i, slot in enumerate(slots)]
        select += [named(_id(alias, i in absent), f"l{i}") for i, alias in enumerate(aliases)]
        columns, list_signs = list_columns(witnesses)
        select += columns
        times = multiplicity.value(multiplicity.most > BIGINT_LIMIT) if parts else integer(1)
        branches.append(body.select([*select, named(times, "times")]))
    return TouchingQuery(
        _named(branches, slots, whole),
        slots,
        tuple(1 if x.positive else -1 for x in opened),
        list_signs,
        parameters is not None,
        bool(counted),
    )


def open_witness(bound: BoundShape, group: int) -> ShapeLiteral | None:
    """Return the open literal of an existential group, None if all are closed."""
    return next((x for x in bound.shape.exists[group].literals if bound.info(x).open), None)


class _Branch:
    """The conditions of one branch: the atom stands in one place, and in none of those before it."""

    def __init__(self, bound: BoundShape, body: QueryBody, key: AtomKey) -> None:
        self._bound, self._body, self._key = bound, body, key

    def literal(self, literal: ShapeLiteral, alias: str) -> Test:
        """Return the condition that the atom is that of a literal, and what follows for its slots."""
        here = exp.EQ(this=column("atom", alias), expression=integer(self._key.atom))
        return here, self._constants(literal)

    def group(self, literal: ShapeLiteral | None, alias: str | None) -> Test:
        """Return the condition that the atom is among the witnesses of an existential group, and what follows."""
        assert literal is not None
        assert alias is not None
        inside = exp.ArrayContains(this=column("atoms", alias), expression=integer(self._key.atom))
        return inside, self._constants(literal)

    def _constants(self, literal: ShapeLiteral) -> list[exp.Expression]:
        # They follow from the atom; said aloud, the database restricts every table before it joins.
        pairs = [(name, slot) for name, slot in self._bound.columns(literal) if slot in self._body.known]
        return [
            exp.EQ(this=self._body.known[slot].copy(), expression=integer(self._key.columns[name]))
            for name, slot in pairs
        ]

    def restrict(self, tests: list[Test], number: int) -> None:
        """Demand the test of this number and none before it."""
        for condition, _ in tests[:number]:
            known = exp.Coalesce(this=exp.Paren(this=condition.copy()), expressions=[exp.false()])
            self._body.where(exp.Not(this=known))
        condition, constants = tests[number]
        for each in (condition, *constants):
            self._body.where(each)


def _id(alias: str, absent: bool) -> exp.Expression:
    atom = column("atom", alias)
    return exp.Coalesce(this=atom, expressions=[integer(0)]) if absent else atom


def _named(branches: list[exp.Select], slots: tuple[Slot, ...], bound: BoundShape) -> exp.Query:
    """Put names in place of the ids of constants."""
    # Each branch may have steps of its own in front, which only a subquery can hold.
    rows = union_all(exp.select("*").from_(subquery(branch, f"b{i}")) for i, branch in enumerate(branches))
    query = exp.select().from_(subquery(rows, "r"))
    for name in (x.alias for x in branches[0].selects):
        slot = slots[int(name[1:])] if name.startswith("s") else None
        if slot is None:
            query = query.select(column(name, "r"))
            continue
        kind = bound.kind(slot)
        assert kind is not None
        on = exp.EQ(this=column("id", name), expression=column(name, "r"))
        query = query.join(table(bound.layout.types[kind].dictionary, name), on=on, join_type="LEFT")
        query = query.select(named(column("name", name), name))
    return query


def evidence_violations(bound: BoundShape, examples: TableName | None = None) -> exp.Select:
    """Plan the groundings in which evidence makes all literals false: `clause` (with parameters), `v0, ...`, `k0, ...` (ids), or `one`."""
    shape, parameters = bound.shape, bound.parameters
    body = QueryBody(bound)
    aliases, outer = clause_body(bound, body, examples)
    lists = witness_lists(bound, body, examples)
    for i, alias in enumerate(aliases):
        atom = column("atom", alias)
        if i in outer:
            body.where(exp.Is(this=atom, expression=exp.null()))
        elif bound.info(open_literals(bound)[i]).has_given:
            body.where(exp.EQ(this=atom, expression=integer(0)))
        else:
            body.where(exp.false())
    for alias_of_list, _ in lists:
        if alias_of_list is not None:
            body.where(exp.Is(this=column("atoms", alias_of_list), expression=exp.null()))
    slots = [Slot(False, i) for i in shape.universal()]
    slots += [Slot(True, i) for i in range(len(shape.parameters))]
    columns = [named(column("clause", "p"), "clause")] if parameters is not None else []
    columns += [named(body.known[slot].copy(), str(slot)) for slot in slots]
    return body.select(columns or [named(integer(1), "one")])
