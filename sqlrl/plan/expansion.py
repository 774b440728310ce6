"""Expansion of templates: which combinations of constants of the `+` variables the evidence leaves open, or the data have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import column, integer, named, table
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral, Slot
from sqlrl.logic.terms import Variable
from sqlrl.plan.body import QueryBody
from sqlrl.plan.count_plan import CountPlan
from sqlrl.plan.counted_variables import counted_parts, without_parts
from sqlrl.plan.disjunct_factors import factor_of, true_tuples
from sqlrl.plan.disjuncts import negative_literals, renamed
from sqlrl.plan.grounding import clause_body, exclude_tautologies, list_columns, open_literals, witness_lists
from sqlrl.plan.multiplicity import Multiplicity
from sqlrl.plan.semiring import Factor, QuerySteps
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import OBSERVED, SlotSource, parameter_source


def expand(
    instance: Instance,
    layout: Layout,
    *,
    plus: tuple[str, ...],
    constants: TableName | None = None,
    examples: TableName | None = None,
) -> exp.Select:
    """Plan the combinations of constants that some grounding of a template leaves open: a column `plus<i>` of ids for each `+` variable."""
    # The constants of the clause `instance` stand in order in the one row `clause, k0, k1, ...` of the table `constants`.
    opening = _Opening.of(instance, layout, constants, examples)
    body, bound, places = opening.body, opening.bound, opening.places
    lists = witness_lists(bound, body, examples)
    opened: list[exp.Expression] = []
    for i, (alias, literal) in enumerate(zip(opening.aliases, opening.literals, strict=True)):
        atom = column("atom", alias)
        if i in opening.absent:
            opened.append(exp.Not(this=exp.Is(this=atom, expression=exp.null())))
        elif bound.info(literal).has_given and not opening.single:
            opened.append(exp.GT(this=atom, expression=integer(0)))
        else:
            opened = []
            break
    else:
        opened += [exp.Not(this=exp.Is(this=column("atoms", a), expression=exp.null())) for a, _ in lists if a]
        if not opened:
            body.where(exp.false())
    if opened:
        body.where(reduce(lambda a, b: exp.Or(this=a, expression=b), opened))
    body.project(places.values())
    # A `+` variable that the clause does not mention ranges over its whole type and has no column; without any there is `one`.
    columns = [named(body.known[places[name]].copy(), f"plus{i}") for i, name in enumerate(plus) if name in places]
    return body.select(columns or [named(integer(1), "one")]).distinct()


def unlisted(
    instance: Instance,
    layout: Layout,
    known: TableName | None,
    *,
    plus: tuple[str, ...],
    constants: TableName | None,
    examples: TableName | None,
) -> tuple[exp.Select, int, int] | None:
    """Plan the ground clauses of combinations that `known`, with columns as of `expand`, does not list; return how many `l` and `e` columns there are."""
    # Without `known` it plans those of all combinations, perhaps several times.
    # Columns are `plus0, ...`; `l0, ...`, atoms, 0 for a literal that the evidence makes false; `e0, ...`, lists of open witnesses, NULL for
    # none. None where a clause does not mention all `+` variables: the others range over their types.
    if {x.name for x in instance.arguments if isinstance(x, Variable)} != set(plus):
        return None
    opening = _Opening.of(instance, layout, constants, examples)
    body, places = opening.body, opening.places
    if known is not None:
        slots = tuple((f"plus{i}", places[name]) for i, name in enumerate(plus))
        body.without(SlotSource(table(known, "u"), "u", slots))
    columns = [named(body.known[places[name]].copy(), f"plus{i}") for i, name in enumerate(plus)]
    atoms = [
        named(exp.Coalesce(this=column("atom", alias), expressions=[integer(0)]), f"l{i}")
        for i, alias in enumerate(opening.aliases)
    ]
    witnesses, _ = list_columns(witness_lists(opening.bound, body, examples))
    query = body.select([*columns, *atoms, *witnesses])
    return query if known is None else query.distinct(), len(atoms), len(witnesses)


@dataclass(frozen=True, eq=False)
class _Opening:
    """A clause of a template with variables in place of its `+` parameters, joined with what leaves its literals open."""

    body: QueryBody
    bound: BoundShape  # without the parts that are counted
    places: dict[str, Slot]  # the variable of each `+` parameter
    literals: tuple[ShapeLiteral, ...]  # the open ones
    aliases: list[str]  # of their atoms
    absent: set[int]  # those that may have none
    single: bool  # whether the only open literal has a query atom in every row

    @classmethod
    def of(
        cls, instance: Instance, layout: Layout, constants: TableName | None, examples: TableName | None
    ) -> _Opening:
        """Join what makes the other literals false."""
        whole, places = freed(instance, layout, constants)
        body = QueryBody(whole)
        open_ = open_literals(whole)
        single = len(open_) == 1 and not whole.shape.exists
        parts = counted_parts(whole, whole.variables, places.values())
        bound = without_parts(whole, parts)
        counted = Multiplicity(whole, body, parts, examples)
        aliases, absent = clause_body(bound, body, examples, undecided=single, counted=counted)
        exclude_tautologies(bound, body)
        return cls(body, bound, places, open_, aliases, absent, single)


def expand_observed(
    instance: Instance,
    layout: Layout,
    *,
    plus: tuple[str, ...],
    constants: TableName | None = None,
    examples: TableName | None = None,
) -> exp.Select:
    """Plan, as `expand`, the combinations of constants with which all negated literals of some grounding of a template are true."""
    shape, places = _free(instance)
    # This is for learners to which no predicate is evidence: whatever a positive literal says could be otherwise.
    negative = tuple(negative_literals(shape))
    bound = bind(Shape(shape.variables, shape.parameters, negative), layout, parameters=constants)
    steps = QuerySteps([])
    true = partial(true_tuples, bound, world=OBSERVED, examples=examples)
    factors = [factor_of(bound, x, true, steps) for x in negative]
    if constants is not None:
        factors.append(Factor(parameter_source(constants, shape), None, 1))
    slots = {slot: None for factor in factors for slot in factor.slots}
    kept = frozenset(slot for slot in places.values() if slot in slots)
    query = exp.select().distinct()
    known: dict[Slot, exp.Expression] = {}
    if factors:
        asked = tuple(slot for slot in slots if not slot.parameter and bound.is_example(slot))
        plan = CountPlan(bound, examples, steps, kept, (), asked)
        term = plan.term(factors)
        assert term is not None, "there is no domain that could be empty"
        total = plan.sums(term).source
        query = query.from_(total.relation.copy())
        known = {slot: column(name, total.alias) for name, slot in total.columns}
        if not known:
            query = query.where(exp.GT(this=column("n", total.alias), expression=integer(0)))
    begun = bool(factors)
    # A `+` variable that no negated literal mentions ranges over its whole type.
    for slot in places.values():
        if slot not in known:
            source = table(layout.types[shape.variables[slot.index]].dictionary, f"d{slot.index}")
            query = query.join(source, join_type="CROSS") if begun else query.from_(source)
            known[slot], begun = column("id", f"d{slot.index}"), True
    for equality in shape.equalities:
        if equality.left in known and equality.right in known:
            same = exp.EQ(this=known[equality.left].copy(), expression=known[equality.right].copy())
            # Otherwise it is satisfied.
            query = query.where(exp.Not(this=same) if equality.positive else same)
    columns = [named(known[places[name]].copy(), f"plus{i}") for i, name in enumerate(plus) if name in places]
    return steps.before(query.select(*(columns or [named(integer(1), "one")])))


def freed(instance: Instance, layout: Layout, constants: TableName | None = None) -> tuple[BoundShape, dict[str, Slot]]:
    """Return a clause of a template with variables in place of its `+` parameters, and the variable of each."""
    shape, places = _free(instance)
    bound = bind(shape, layout, parameters=constants)
    for slot in places.values():
        # As the constant of a clause it is bound to no example's domain.
        if slot in bound.owners:
            bound.owners[slot] = ()
    return bound, places


def _free(instance: Instance) -> tuple[Shape, dict[str, Slot]]:
    """Turn the `+` parameters of a shape into variables; the other parameters keep their order."""
    shape = instance.shape
    variables, parameters = list(shape.variables), list[str]()
    slots: dict[Slot, Slot] = {}
    places: dict[str, Slot] = {}
    for i, (kind, term) in enumerate(zip(shape.parameters, instance.arguments, strict=True)):
        if isinstance(term, Variable):
            slots[Slot(True, i)] = places[term.name] = Slot(False, len(variables))
            variables.append(kind)
        else:
            slots[Slot(True, i)] = Slot(True, len(parameters))
            parameters.append(kind)

    def name(slot: Slot) -> Slot:
        """Return the new slot of an old one."""
        return slots.get(slot, slot)

    freed = Shape(
        tuple(variables),
        tuple(parameters),
        tuple(renamed(x, name) for x in shape.literals),
        tuple(renamed(x, name) for x in shape.equalities),
        tuple(renamed(x, name) for x in shape.exists),
    )
    return freed, places
