"""Grounding of arithmetic rules: one query for the bindings of the variables that are not summed, and one a term for what it adds to each.

Source: Bach, Broecheler, Huang, Getoor, "Hinge-Loss Markov Random Fields and Probabilistic Soft Logic", JMLR 18 (2017), section 4.3. What it
leaves open: there is a grounding where each atom with an open predicate is observed or in scope; of a summed one, where some is. An atom of a
closed predicate whose variables the others bind is 0 where it has no fact. A sum that goes through nothing is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, conjunction, integer, named, subquery, table
from sqlrl.logic.psl_literals import Both, Condition, Either
from sqlrl.logic.shapes import ShapeEquality, ShapeLiteral, ShapeOrder, Slot
from sqlrl.logic.terms import Literal
from sqlrl.plan.body import QueryBody
from sqlrl.plan.hinges import decimal, observed_rows, value_source
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import SlotSource, connect, parameter_source

ShapeComparison = ShapeEquality | ShapeOrder


def bindings(
    bound: BoundShape,
    terms: Sequence[ShapeLiteral],
    comparisons: Sequence[ShapeComparison],
    summed: frozenset[Slot],
    examples: TableName | None = None,
) -> exp.Select:
    """Plan the bindings of a rule's unsummed variables (a column for each slot; unordered, may repeat) from its terms' atoms and comparisons."""
    body = QueryBody(bound)
    if bound.parameters is not None:
        body.join(parameter_source(bound.parameters, bound.shape))
    opened = [x for x in terms if bound.info(x).open]
    closed = [x for x in terms if not bound.info(x).open]
    bindable = {slot for literal in opened for slot in literal.terms} | {
        Slot(True, i) for i in range(len(bound.shape.parameters))
    }
    for literal in (*opened, *closed):
        columns = [(name, slot) for name, slot in bound.columns(literal) if slot not in summed]
        # Whatever the order of terms: the open ones alone say which variables are bound.
        if (
            not bound.info(literal).open
            and opened
            and all(slot in bindable or slot == bound.hidden for _, slot in columns)
        ):
            continue
        alias = body.alias("o")
        relation = value_source(bound, literal, alias, zeros=True).source.relation
        if len(columns) < len(bound.columns(literal)):
            names: list[exp.Expression] = [column(name, "s") for name, _ in columns]
            names = names or [named(integer(1), "one")]
            inner = relation.copy()
            inner.set("alias", exp.TableAlias(this=exp.to_identifier("s", quoted=True)))
            some = exp.select(*names).distinct().from_(inner).where(*_inside(bound, literal, summed, examples))
            relation = subquery(some, alias)
        body.join(SlotSource(relation, alias, tuple(columns)))
        if not summed & set(literal.terms):
            body.learn_domains(literal)
    plain = [slot for slot in bound.variables if slot not in summed]
    for slot in plain:
        body.require(slot)
    fixed = [Slot(True, i) for i in range(len(bound.shape.parameters))]
    body.restrict(examples, [*plain, *fixed])
    for each in comparisons:
        body.where(_compared(each, body.known))
    shown = [named(body.known[slot].copy(), str(slot)) for slot in (*plain, *fixed)]
    return body.select(shown or [named(integer(1), "one")])


def numbered(bindings: exp.Query, known: Sequence[Slot]) -> exp.Select:
    """Plan one row for each of some bindings: `binding` from 0, and a column for each of the slots `known` by its name."""
    own: list[exp.Expression] = [column(str(slot), "b") for slot in known]
    one = exp.select(*(own or [named(integer(1), "one")])).distinct().from_(subquery(bindings, "b"))
    order = [exp.Ordered(this=column(str(slot), "q"), nulls_first=False) for slot in known]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order) if order else None)
    place = named(exp.Sub(this=number, expression=integer(1)), "binding")
    return exp.select(place, *(column(str(slot), "q") for slot in known)).from_(subquery(one, "q"))


def addends(
    bound: BoundShape,
    literal: ShapeLiteral,
    known: Sequence[Slot],
    table_of: TableName,
    conditions: Sequence[exp.Expression],
    summed: Sequence[Slot],
    examples: TableName | None = None,
) -> exp.Select:
    """Plan a term's atom in each binding: `binding`, `atom` (0: known), `value` (0 of query atoms), and a column for each summed slot."""
    each = value_source(bound, literal, "s", zeros=True)
    places: dict[Slot, exp.Column] = {slot: column(str(slot), "b") for slot in known}
    on = connect(each.source, places)
    atom = column("atom", "s") if each.atom is not None else named(cast(integer(0), "BIGINT"), "atom")
    value = named(decimal(each.value) if isinstance(each.value, float) else each.value.copy(), "value")
    query = exp.select(column("binding", "b"), atom, value, *(named(places[slot].copy(), str(slot)) for slot in summed))
    query = query.from_(table(table_of, "b")).join(each.source.relation, on=conjunction(on) or exp.true())
    # A sum over examples goes through those of `examples`; conditions are those of filters, over the columns of `places`.
    through = {slot for _, slot in bound.columns(literal)} - set(known)
    return query.where(*conditions, *_inside(bound, literal, through, examples))


def _inside(
    bound: BoundShape, literal: ShapeLiteral, summed: Set[Slot], examples: TableName | None
) -> list[exp.Expression]:
    """Return the conditions, on the alias `s`, that the examples which a literal sums over are among some."""
    if examples is None:
        return []
    chosen = exp.select(column("example")).from_(table(examples))
    own = [name for name, slot in bound.columns(literal) if slot in summed and slot in bound.restricted]
    return [exp.In(this=column(name, "s"), query=exp.Subquery(this=chosen.copy())) for name in own]


def filter_places(bound: BoundShape, literal: ShapeLiteral, known: Sequence[Slot]) -> dict[Slot, exp.Column]:
    """Return the columns of `addends` that hold the slots of a filter."""
    places: dict[Slot, exp.Column] = {slot: column(str(slot), "b") for slot in known}
    for name, slot in bound.columns(literal):
        places.setdefault(slot, column(name, "s"))
    return places


def filter_condition(
    bound: BoundShape,
    condition: Condition,
    parts: Iterator[ShapeLiteral | ShapeComparison],
    places: dict[Slot, exp.Column],
) -> exp.Expression:
    """Return the condition of a filter (atoms hold if their truth is above 0); `parts`, its literals in the shape, in order, are used up."""
    if isinstance(condition, Both | Either):
        found = [filter_condition(bound, part, parts, places) for part in condition.parts]
        joined = exp.and_(*found) if isinstance(condition, Both) else exp.or_(*found)
        return exp.paren(joined)
    part = next(parts)
    if not isinstance(part, ShapeLiteral):
        assert not isinstance(condition, Literal)
        return _compared(part, places)
    source = SlotSource(subquery(observed_rows(bound.info(part)), "f"), "f", bound.columns(part))
    where = conjunction(connect(source, dict(places))) or exp.true()
    some = exp.Exists(this=exp.select(integer(1)).from_(source.relation).where(where))
    return some if part.positive else exp.Not(this=some)


def _compared(each: ShapeComparison, places: dict[Slot, exp.Column]) -> exp.Expression:
    """Return the condition that a comparison holds."""
    left, right = places[each.left].copy(), places[each.right].copy()
    if isinstance(each, ShapeOrder):
        return (exp.LT if each.positive else exp.GTE)(this=left, expression=right)
    return (exp.EQ if each.positive else exp.NEQ)(this=left, expression=right)
