"""How many rows the joins of a grounding query enumerate at the most, counted without enumerating them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.logic.shapes import Instance, ShapeLiteral, Slot
from sqlrl.plan.count_plan import clause_plan
from sqlrl.plan.counted_variables import CountedPart, counted_parts, without_parts
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.disjuncts import disjunct_slots, negative_literals, reduced
from sqlrl.plan.expansion import freed
from sqlrl.plan.multiplicity import present
from sqlrl.plan.outside import loose_literal
from sqlrl.plan.semiring import Factor, is_acyclic
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import fact_source, open_source


@dataclass(frozen=True)
class Enumerated:
    """A bound on what one join of a grounding query enumerates."""

    # Counts it by clause, with the columns of `plan.counting.count_violated`.
    query: exp.Select
    # Variables that no literal with evidence joins, so that each ranges over its whole domain.
    free: tuple[Slot, ...]
    # Counting joins no more than the facts of one literal at a time.
    cheap: bool
    # Plans the same for the other variables; None if all are free, or none is.
    joined: Callable[[], Enumerated] | None = None


def domain_bound(bound: BoundShape, examples: int | None = None) -> int:
    """Return the product of the domain sizes of a shape's variables and quantifiers; `examples` is how many the query covers (None: all)."""
    size, few = 1, set(bound.restricted) if examples is not None else set[Slot]()
    for slot in {Slot(False, i) for i in range(len(bound.shape.variables))} | set(bound.variables):
        most = domain_size(bound, slot)
        size *= max(most if examples is None or slot not in few else min(most, examples), 1)
    return size


def join_bound(bound: BoundShape, examples: int | None = None) -> int:
    """Return a bound on the rows of a shape's grounding query, for one clause, that needs no query: by facts where they are fewer than tuples."""
    best = domain_bound(bound, examples)
    if not bound.layout.sized:
        return best
    few = set(bound.restricted) if examples is not None else set[Slot]()
    sizes = {slot: max(domain_size(bound, slot), 1) for slot in bound.variables}
    sizes = {slot: min(size, examples or 1) if slot in few else size for slot, size in sizes.items()}
    inside = math.prod(
        max(domain_size(bound, Slot(False, i)), 1) for group in bound.shape.exists for i in group.variables
    )
    # The facts of literals that must be false and share no variable so far, those first that leave out the most tuples.
    gains = []
    for literal in bound.shape.literals:
        info = bound.info(literal)
        if not literal.positive and not info.open:
            slots = {slot for _, slot in bound.columns(literal) if slot in sizes}
            gains.append((max(info.rows, 1) / math.prod(sizes[slot] for slot in slots), info.rows, slots))
    left, size = dict(sizes), 1
    for gain, rows, slots in sorted(gains, key=lambda x: x[0]):
        if gain < 1 and slots <= left.keys():
            size *= max(rows, 1)
            left = {slot: most for slot, most in left.items() if slot not in slots}
    return min(best, size * math.prod(left.values()) * inside)


def enumerated(whole: BoundShape, examples: TableName | None = None, *, counting: bool = True) -> list[Enumerated]:
    """Plan bounds, by clause, on the rows of a shape's grounding query (the first), its witnesses, and the literals of its ground clauses."""
    # Without `counting` the query enumerates every variable, as that of a soft clause does.
    parts, main, variables = _uncounted(whole) if counting else ((), whole, list(whole.variables))
    loose = loose_literal(whole)
    must = [*negative_literals(main.shape), *([] if loose is None else [loose])]
    # What evidence joins is counted exactly; anti-joins, inequalities and query atoms of a whole domain are left out.
    found = [_joined(whole, must, variables, examples, parts)]
    # Witnesses are enumerated beside the groundings, and again as the literals of the ground clauses.
    for group in main.shape.exists:
        if any(whole.info(x).open for x in group.literals):
            inside = [Slot(False, i) for i in group.variables]
            witnesses = [x for x in group.literals if x.positive]
            around = [slot for slot in outer_slots(whole, group) if not slot.parameter]
            found.append(_joined(whole, witnesses, [*around, *inside], examples))
            found.append(_joined(whole, [*must, *witnesses], [*variables, *inside], examples, parts))
    return found


def template_rows(instance: Instance, layout: Layout, *, constants: TableName | None = None) -> Enumerated:
    """Plan a bound on the rows of the join in which a template clause's `+` variables are free; parameters are as of `plan.expansion.expand`."""
    whole, places = freed(instance, layout, constants)
    parts, main, variables = _uncounted(whole, places.values())
    return _joined(whole, negative_literals(main.shape), variables, None, parts)


def _uncounted(whole: BoundShape, shown: Iterable[Slot] = ()) -> tuple[tuple[CountedPart, ...], BoundShape, list[Slot]]:
    """Return the counted parts of a clause, the clause without them, and the variables that are left."""
    parts = counted_parts(whole, whole.variables, shown)
    counted = frozenset[Slot]().union(*(part.slots for part in parts))
    return parts, without_parts(whole, parts), [slot for slot in whole.variables if slot not in counted]


def _joined(
    whole: BoundShape,
    literals: Sequence[ShapeLiteral],
    variables: Sequence[Slot],
    examples: TableName | None,
    parts: Sequence[CountedPart] = (),
) -> Enumerated:
    """Plan the number of assignments for which literals have a row: facts of closed ones, atoms of open ones with a scope."""
    known = [x for x in literals if not (whole.info(x).open and whole.info(x).full_scope)]
    parameters = {Slot(True, i) for i in range(len(whole.shape.parameters))}
    same = [x for x in whole.shape.equalities if not x.positive and {x.left, x.right} <= {*variables, *parameters}]
    bound = reduced(whole, [*(ShapeLiteral(x.predicate, False, x.terms) for x in known), *same])
    asked = [slot for slot in whole.restricted if slot.parameter or slot in variables]
    plan = replace(clause_plan(bound, examples), variables=tuple(variables), example_slots=tuple(asked))
    factors = []
    for literal in bound.shape.literals:
        alias, info = f"f{plan.steps.fresh()}", whole.info(literal)
        source = open_source(whole, literal, alias)[0] if info.open else fact_source(whole, literal, alias)
        factors.append(Factor(source, None, info.rows + info.atom_count))
    # What the counted parts share with the literals must be among their rows.
    factors += present(whole, parts, examples, plan.steps)
    query = plan.total([plan.query(factors)])
    joined = {slot for factor in factors for slot in factor.slots}.union(*({x.left, x.right} for x in same))
    free = tuple(slot for slot in variables if slot not in joined and slot != whole.hidden)
    rest = [slot for slot in variables if slot not in free]
    return Enumerated(
        query,
        free,
        _is_cheap(whole, factors, parts),
        partial(_joined, whole, literals, rest, examples, parts) if free and rest else None,
    )


def _is_cheap(whole: BoundShape, factors: Sequence[Factor], parts: Sequence[CountedPart]) -> bool:
    """Return whether factors are joined, and parts aggregated, without a result larger than it need be."""
    edges = [factor.slots for factor in factors]
    edges.append(frozenset(Slot(True, i) for i in range(len(whole.shape.parameters))))
    for part in parts:
        mine = [disjunct_slots(whole, x) for x in part.disjuncts]
        shared = frozenset[Slot]().union(*mine) - part.slots
        if not (is_acyclic(mine) and (not shared or any(shared <= slots for slots in mine))):
            return False
    return is_acyclic(edges)
