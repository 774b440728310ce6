"""Grounding of soft clauses: a shape becomes one query whose rows are its hinges that some truth values make positive.

Under Lukasiewicz's operators the clause `!A v B` is violated by max(0, A - B): a negative literal counts what its atom is, a positive one takes
it away, and from the sum goes the number of negative literals less one. So a negative literal joins what may be above 0, its facts and
query atoms, and a positive one is joined where there is something, else it is 0.

Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 4.2. What it
leaves open: a tuple of a closed predicate without a fact is 0, and so is one of an open predicate that is neither observed nor in scope. A variable
that no literal of the body has ranges over the tuples of the one open literal that has it, in scope or observed; where several have it, over its
domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlrl.catalog.layout import PredicateInfo, TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery, table, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.grounding import GroundingQuery
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import SlotSource, argument_columns, parameter_source

# ---- what has a truth value --------------------------------------------------------------------------


def decimal(value: float) -> exp.Expression:
    """Return a number as a DOUBLE."""
    return cast(exp.Literal.number(repr(value)), "DOUBLE")


def value_of(info: PredicateInfo, alias: str | None = None) -> exp.Expression:
    """Return the truth value of a row of a table of facts."""
    if info.valued:
        return column("value", alias)
    return (
        exp.Case(ifs=[exp.If(this=column("truth", alias), true=decimal(1.0))], default=decimal(0.0))
        if info.open
        else decimal(1.0)
    )


def observed_rows(info: PredicateInfo, *, zeros: bool = False) -> exp.Select:
    """Select what is known of a predicate: its arguments, `value`, and `atom` 0 if it is open; with `zeros` also what is known to be 0."""
    columns: list[exp.Expression] = [column(name) for name in argument_columns(info)]
    if info.open:
        columns.append(named(cast(integer(0), "BIGINT"), "atom"))
    query = exp.select(*columns, named(value_of(info), "value")).from_(table(info.facts))
    if info.open:
        query = query.where(column("given"))
    if info.valued and not zeros:
        return query.where(exp.GT(this=column("value"), expression=decimal(0.0)))
    return query.where(column("truth")) if info.open and not zeros else query


def known_rows(info: PredicateInfo) -> exp.Select:
    """Select what is observed of an open predicate as the facts of a closed one: its arguments, and `value` if it is valued."""
    columns = [*map(column, argument_columns(info)), *([column("value")] if info.valued else [])]
    query = exp.select(*columns).from_(table(info.facts)).where(column("given"))
    return query if info.valued else query.where(column("truth"))


def atom_rows(info: PredicateInfo) -> exp.Select:
    """Select the query atoms of an open predicate: its arguments, `atom`, and `value` 0."""
    assert info.atoms is not None
    columns = [*map(column, argument_columns(info)), column("atom"), named(decimal(0.0), "value")]
    return exp.select(*columns).from_(table(info.atoms))


@dataclass(frozen=True)
class ValueSource:
    """The relation of a literal, and where its rows say what it is."""

    source: SlotSource
    atom: exp.Expression | None  # None where all values are known.
    value: exp.Expression | float  # A number where it is the same in all rows: 1 of plain facts, 0 of query atoms.


def value_source(bound: BoundShape, literal: ShapeLiteral, alias: str, *, zeros: bool = False) -> ValueSource:
    """Return the relation of the tuples of a literal that may be above 0; with `zeros` also of those that are known to be 0."""
    info, columns = bound.info(literal), bound.columns(literal)
    if not info.open:
        if not info.valued:
            return ValueSource(SlotSource(table(info.facts, alias), alias, columns), None, 1.0)
        relation = subquery(observed_rows(info, zeros=zeros), alias)
        return ValueSource(SlotSource(relation, alias, columns), None, column("value", alias))
    if not info.has_given:
        assert info.atoms is not None
        return ValueSource(SlotSource(table(info.atoms, alias), alias, columns), column("atom", alias), 0.0)
    relation = subquery(union_all([atom_rows(info), observed_rows(info, zeros=zeros)]), alias)
    return ValueSource(SlotSource(relation, alias, columns), column("atom", alias), column("value", alias))


# ---- the query of a shape ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Groundings:
    """The groundings of a shape: its body, what the rows say of each literal that has a value, and the literals that may be without a row."""

    body: QueryBody
    told: dict[int, _Told]
    inner: tuple[int, ...]  # positive literals that are joined
    outer: dict[int, ValueSource]  # positive literals that are still to be joined, by their places in the shape


def lone_open_literal(bound: BoundShape) -> int | None:
    """Return the place of the open literal of a shape that has one alone, None if it has several or none."""
    opened = [i for i, literal in enumerate(bound.shape.literals) if bound.info(literal).open]
    return opened[0] if len(opened) == 1 else None


def groundings(
    bound: BoundShape,
    examples: TableName | None = None,
    among: Mapping[int, TableName] | None = None,
    *,
    inward: int | None = None,
) -> Groundings:
    """Join what may be above 0 of the literals of a body, and what the other variables range over.

    Literals in `among` have the rows of a table alone. The literal at the place `inward` has its query atoms alone, and all else is joined to these.
    """
    shape, body = bound.shape, QueryBody(bound)
    if bound.parameters is not None:
        body.join(parameter_source(bound.parameters, shape))
    told: dict[int, _Told] = {}

    def source(i: int, literal: ShapeLiteral, kind: str, *, zeros: bool = False) -> ValueSource:
        """Return the relation of a literal."""
        alias = body.alias(kind)
        if among is None or i not in among:
            return value_source(bound, literal, alias, zeros=zeros)
        return ValueSource(SlotSource(table(among[i], alias), alias, bound.columns(literal)), integer(1), 0.0)

    if inward is not None:
        first, alias = shape.literals[inward], body.alias("o")
        atoms = bound.info(first).atoms
        assert atoms is not None, "query atoms are those of an open predicate"
        each = ValueSource(SlotSource(table(atoms, alias), alias, bound.columns(first)), column("atom", alias), 0.0)
        told[inward] = _Told.of(each)
        body.join(each.source)
        body.learn_domains(first)
    for i, literal in enumerate(shape.literals):
        if not literal.positive and i != inward:
            each = source(i, literal, "t")
            told[i] = _Told.of(each)
            body.join(each.source)
            body.learn_domains(literal)
    loose = _loose(bound, body)
    inner, outer = list[int](), dict[int, ValueSource]()
    for i, literal in enumerate(shape.literals):
        info = bound.info(literal)
        if not literal.positive or i == inward or not (info.open or info.valued):
            continue
        joined = literal == loose or (info.open and bound.covers(literal))
        each = source(i, literal, "o", zeros=joined)
        told[i] = _Told.of(each, absent=not joined)
        if joined:
            inner.append(i)
            body.join(each.source)
            body.learn_domains(literal)
        else:
            outer[i] = each
    for slot in bound.variables:
        body.require(slot)
    body.restrict(examples, [*bound.variables, *(Slot(True, i) for i in range(len(shape.parameters)))])
    return Groundings(body, told, tuple(inner), outer)


def hinges(bound: BoundShape, examples: TableName | None = None, *, inward: int | None = None) -> GroundingQuery:
    """Plan the hinges of a shape of plain literals that some truth values make positive, in `GroundingQuery` columns and `constant` (DOUBLE).

    With `inward`, the place of the only open literal, hinges without a query atom are left out, and bodies are joined to the atoms alone.
    """
    found = groundings(bound, examples, inward=inward)
    body = found.body
    for each in found.outer.values():
        body.outer_join(each.source)
    without_true(bound, body)
    compare(bound, body)
    # 0 stands for a literal whose value is known; `constant` is what is left of the sum without the query atoms.
    return _query(bound, body, found.told)


def without_true(bound: BoundShape, body: QueryBody) -> None:
    """Drop the groundings that a fact which is 1 satisfies: they leave nothing to violate."""
    for literal in bound.shape.literals:
        if literal.positive and not (bound.info(literal).open or bound.info(literal).valued):
            body.without_facts(literal)


def compare(bound: BoundShape, body: QueryBody) -> None:
    """Demand that the equalities and orders of a clause are false."""
    for equality in bound.shape.equalities:
        body.equal(equality, holds=False)
    for order in bound.shape.orders:
        body.require(order.left)
        body.require(order.right)
        kind = exp.GTE if order.positive else exp.LT
        body.where(kind(this=body.known[order.left].copy(), expression=body.known[order.right].copy()))


def _loose(bound: BoundShape, body: QueryBody) -> ShapeLiteral | None:
    """Return the open positive literal that alone has all variables which nothing joined so far has; None if several have them."""
    left = {slot for slot in bound.variables if slot not in body.known and slot != bound.hidden}
    having = [x for x in bound.shape.literals if x.positive and left & set(x.terms)]
    alone = len(having) == 1 and bound.info(having[0]).open and left <= set(having[0].terms)
    return having[0] if alone else None


@dataclass(frozen=True)
class _Told:
    """What the rows of a query say of a literal."""

    atom: exp.Expression | None  # The atom, 0 where the value is known; None if it always is.
    value: exp.Expression | float  # The value that is known, 0 of query atoms.
    known: bool  # Whether there are rows in which the value is known.

    @classmethod
    def of(cls, each: ValueSource, *, absent: bool = False) -> _Told:
        """Return what the rows of a source say; with `absent` some may be missing."""
        known = absent or each.atom is None or not isinstance(each.value, float)
        if not absent:
            return cls(each.atom, each.value, known)
        atom = None if each.atom is None else exp.Coalesce(this=each.atom.copy(), expressions=[integer(0)])
        value = each.value
        if not isinstance(value, float):
            value = exp.Coalesce(this=value.copy(), expressions=[decimal(0.0)])
        return cls(atom, value, known)

    @property
    def most(self) -> exp.Expression | float:
        """The greatest value that it may have, beside that which is known."""
        if self.atom is None:
            return 0.0
        if not self.known:
            return 1.0
        is_atom = exp.GT(this=self.atom.copy(), expression=integer(0))
        return exp.Case(ifs=[exp.If(this=is_atom, true=decimal(1.0))], default=decimal(0.0))


def _query(bound: BoundShape, body: QueryBody, told: dict[int, _Told]) -> GroundingQuery:
    """Select the atoms and the constant of each row, and merge rows that may be equal."""
    literals = bound.shape.literals
    constant, reach = 1.0 - sum(not x.positive for x in literals), 0.0
    values, most = list[exp.Expression](), list[exp.Expression]()
    for i, each in told.items():
        if isinstance(each.value, float):
            assert not (literals[i].positive and each.value), "facts that are 1 leave nothing to violate"
            constant += each.value
        else:
            values.append(exp.Neg(this=each.value.copy()) if literals[i].positive else each.value)
        if not literals[i].positive:
            if isinstance(each.most, float):
                reach += each.most
            else:
                most.append(each.most)
    expression = _sum([decimal(constant), *values])
    if values or most or constant + reach <= 0:
        body.where(exp.GT(this=_sum([decimal(constant + reach), *values, *most]), expression=decimal(0.0)))
    opened = [(i, x) for i, x in enumerate(literals) if bound.info(x).open]
    columns = [named(column("clause", "p"), "clause")] if bound.parameters is not None else []
    for place, (i, _) in enumerate(opened):
        atom = told[i].atom
        assert atom is not None
        columns.append(named(atom.copy(), f"l{place}"))
    columns.append(named(expression, "constant"))
    shown = {slot for i, x in opened if not told[i].known for _, slot in bound.columns(x)}
    merges = not shown.issuperset(bound.variables)
    query = body.select([*columns, *([named(star_count(), "multiplicity")] if merges else [])])
    if merges:
        query = query.group_by(*(each.this.copy() for each in columns))
    signs = tuple(1 if x.positive else -1 for _, x in opened)
    absent = any(told[i].known for i, _ in opened)
    return GroundingQuery(query, signs, (), bound.parameters is not None, merges, absent, may_repeat=True)


def _sum(parts: list[exp.Expression]) -> exp.Expression:
    return reduce(lambda left, right: exp.Add(this=left, expression=right), [part.copy() for part in parts])
