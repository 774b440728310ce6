"""Plans of counts: for each value of the slots that are kept, a sum of products of factors over all the others.

What is counted differs in what it keeps: the clauses of a parameter table, the constants of variables, what a factor brings. Each term of
inclusion-exclusion is completed by the domains of the variables that its factors leave free, and summed by `plan.semiring`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeLiteral, Slot
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.disjuncts import Disjunct, disjunct_slots, negative_literals, reduced
from sqlrl.plan.semiring import Factor, QuerySteps, joined_rows, partial_sums, sum_product
from sqlrl.plan.slots import BoundShape
from sqlrl.plan.sources import SlotSource, domain_source, filter_source, parameter_keys, parameter_source, some_example

GroupColumns = tuple[tuple[str, Slot], ...]
"""Variables by whose constants groundings are counted, with the columns of these."""


@dataclass(frozen=True)
class Pivot:
    """A factor by whose `columns` a sum is grouped."""

    factor: Factor
    columns: tuple[str, ...]


@dataclass(frozen=True)
class CountTerm:
    """A sum of products: factors over slots of which equal ones have become one, and a constant."""

    factors: tuple[Factor, ...]
    multiplier: int  # The sign times the domain sizes of variables that no factor mentions; not 0.
    same: EqualSlots  # Which slot stands for each.


@dataclass(frozen=True)
class CountPlan:
    """What is counted, and for each value of which slots: what all terms of one query share."""

    # The clause, or those of its disjuncts that are counted.
    bound: BoundShape
    # The examples that are asked for; None for all.
    examples: TableName | None
    steps: QuerySteps
    # What is never summed out.
    kept_slots: frozenset[Slot]
    # The variables that range over their domains.
    variables: tuple[Slot, ...]
    # The example terms that must be among `examples`.
    example_slots: tuple[Slot, ...]
    # The table of the clauses that are counted each by itself.
    parameters: TableName | None = None
    # Different rows of the parameter table are counted apart. Clauses of one formula that share a shape, as those of `P(A) <=> P(B)` do, have
    # the same number; those of `P(x, A) <=> P(y, A)` are equal rows, and counted once.
    by_row: bool = False
    # Kept variables that a count by clause has columns for.
    by: GroupColumns = ()
    # A factor that brings further columns.
    pivot: Pivot | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the parameter table that a count is for."""
        return () if self.parameters is None else parameter_keys(self.bound.shape, apart=self.by_row)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a count before `n`."""
        return (*self.keys, *(name for name, _ in self.by), *(() if self.pivot is None else self.pivot.columns))

    def for_rows_of(self, pivot: Pivot) -> CountPlan:
        """Return the count for each row of a factor, none of whose slots is summed out."""
        slots = pivot.factor.slots
        variables = tuple(slot for slot in self.variables if slot not in slots)
        return replace(self, pivot=pivot, kept_slots=self.kept_slots | slots, variables=variables)

    # ---- one term ------------------------------------------------------------------------------------

    def term(self, factors: Sequence[Factor], chosen: Sequence[Disjunct] = (), sign: int = 1) -> CountTerm | None:
        """Return one term of inclusion-exclusion with domains for what its factors leave free; None if a domain is empty, so that it is 0."""
        # `factors` are the disjuncts that hold in this term, `chosen` the positive ones among them.
        bound, shape = self.bound, self.bound.shape
        same = EqualSlots(self.kept_slots)
        for equality in shape.equalities:
            if not equality.positive or equality in chosen:
                same.join(equality.left, equality.right)
        literals = negative_literals(shape) + [x for x in chosen if isinstance(x, ShapeLiteral)]
        mentioned = {slot for f in factors for slot in f.slots}
        domains = [*self._domains(literals), *self._constants(mentioned, same)]
        if self.examples is not None:
            rows = bound.layout.example_count
            asked = [filter_source(self.examples, slot, f"x{self.steps.fresh()}") for slot in self.example_slots]
            domains += [Factor(source, None, rows) for source in asked]
        kept, variables = ([*dict.fromkeys(map(same.find, slots))] for slots in (self.kept_slots, self.variables))
        if not bound.layout.sized:
            # A number of constants that may change is no multiplier: the constants are counted.
            said = {same.find(slot) for f in (*factors, *domains) for slot in f.slots}.union(kept)
            domains += [self._domain(slot, None) for slot in variables if slot not in said]
        everything = [_renamed(f, same) for f in (*factors, *domains)]
        present = {slot for f in everything for slot in f.slots}
        # Each constant of a variable that a count is by has a count, also where no factor mentions it.
        ranging = dict.fromkeys(same.find(slot) for _, slot in self.by)
        everything += [self._domain(slot, None) for slot in ranging if slot not in present and not slot.parameter]
        unmentioned = set(variables).difference(present, kept)
        multiplier = sign * prod(domain_size(bound, slot) for slot in unmentioned)
        return CountTerm(tuple(everything), multiplier, same) if multiplier else None

    def _domains(self, literals: Sequence[ShapeLiteral]) -> list[Factor]:
        """Return the factors that keep local variables in their domains."""
        bound = self.bound
        return [
            self._domain(slot, owner)
            for slot in self.variables
            for owner in bound.owners.get(slot, ())
            if not any(slot in x.terms and bound.in_domain(x, slot) for x in literals)
        ]

    def _constants(self, mentioned: set[Slot], same: EqualSlots) -> list[Factor]:
        """Return the domains of variables that only an equality ties to a constant: the data may not have it."""
        return [
            self._domain(slot, None)
            for slot in self.variables
            if same.find(slot).parameter and slot not in mentioned and not self.bound.owners.get(slot)
        ]

    def _domain(self, slot: Slot, owner: Slot | None) -> Factor:
        rows = domain_size(self.bound, slot) * (self.bound.layout.example_count if owner is not None else 1)
        return Factor(domain_source(self.bound, slot, owner, f"d{self.steps.fresh()}"), None, rows)

    def sums(self, term: CountTerm) -> Factor:
        """Plan the sums of a term for each value of the kept slots as a factor, as of `partial_sums`; its multiplier is left out."""
        return partial_sums(term.factors, self.kept_slots, self.steps)

    # ---- counts of clauses, with columns -------------------------------------------------------------

    def query(self, factors: Sequence[Factor], chosen: Sequence[Disjunct] = (), sign: int = 1) -> exp.Select | None:
        """Plan one term of inclusion-exclusion with the columns of the count and `n`; None if it is 0."""
        term = self._keyed(factors, chosen, sign)
        if term is None:
            return None
        if not term.factors:
            return exp.select(named(cast(integer(term.multiplier), "INT128"), "n"))
        group = self._group()
        if self.pivot is not None:
            group += [named(column(name, self.pivot.factor.source.alias), name) for name in self.pivot.columns]
        by = [(name, term.same.find(slot)) for name, slot in self.by]
        kept = frozenset(map(term.same.find, self.kept_slots))
        return sum_product(term.factors, kept, group, self.steps, multiplier=term.multiplier, by=by)

    def joined(self, factors: Sequence[Factor], chosen: Sequence[Disjunct] = ()) -> exp.Select | None:
        """Plan how many rows `query` joins last when it counts by variables (columns without these); None if no more than a relation has."""
        term = self._keyed(factors, chosen, 1)
        if term is None:
            return None
        kept = frozenset(map(term.same.find, self.kept_slots))
        fixed = self.kept_slots.difference(slot for _, slot in self.by)
        query = joined_rows(term.factors, kept, self._group(), fixed, self.steps)
        return None if query is None else self.steps.before(query)

    def _keyed(self, factors: Sequence[Factor], chosen: Sequence[Disjunct], sign: int) -> CountTerm | None:
        """Return a term with the factors of examples and parameters."""
        term = self.term(factors if self.pivot is None else [*factors, self.pivot.factor], chosen, sign)
        if term is None:
            return None
        found = list(term.factors)
        if self.examples is not None and self.bound.undivided:
            # One row if the query is about some example.
            alias = f"x{self.steps.fresh()}"
            one = exp.select(named(integer(1), "one")).where(some_example(self.bound, self.examples))
            found.append(Factor(SlotSource(subquery(one, alias), alias, ()), None, 1))
        if self.parameters is not None:
            source = parameter_source(self.parameters, self.bound.shape, apart=self.by_row)
            found.append(_renamed(Factor(source, None, 1), term.same))
        return replace(term, factors=tuple(found))

    def _group(self) -> list[exp.Expression]:
        """Return the columns of the parameter table that a count is for."""
        return [named(column(name, "p"), name) for name in self.keys]

    def total(self, terms: Iterable[exp.Select | None]) -> exp.Select:
        """Add up the terms of a query that are not 0, with its steps in front."""
        found = [term for term in terms if term is not None]
        # Most groups of a term may come to nothing beside the others.
        compared = exp.NEQ if self.by else None
        return self.steps.before(found[0] if len(found) == 1 else summed_terms(found, self.columns, compared))


def clause_plan(bound: BoundShape, examples: TableName | None, by: GroupColumns = ()) -> CountPlan:
    """Plan a count for each clause of a shape and each value of `by`."""
    kept = {Slot(True, i) for i in range(len(bound.shape.parameters))}.union(slot for _, slot in by)
    return CountPlan(
        bound, examples, QuerySteps([]), frozenset(kept), bound.variables, bound.restricted, bound.parameters, by=by
    )


def part_plan(
    bound: BoundShape,
    examples: TableName | None,
    slots: Iterable[Slot],
    some: Collection[Disjunct] = (),
    *,
    # Example terms that are asked for beside those that the part mentions.
    further: Iterable[Slot] = (),
    by: GroupColumns = (),
) -> CountPlan:
    """Plan the count of some disjuncts of a clause over some of its variables; by clause only if these mention a parameter."""
    own = frozenset(slots)
    owners = (bound.owners.get(slot, ()) for slot in own)
    used = own.union(further, *owners, *(disjunct_slots(bound, x) for x in some))
    return replace(
        clause_plan(reduced(bound, some), examples, tuple(pair for pair in by if pair[1] in own)),
        variables=tuple(slot for slot in bound.variables if slot in own),
        example_slots=tuple(slot for slot in bound.restricted if slot in used),
        parameters=bound.parameters if any(slot.parameter for slot in used) else None,
    )


class EqualSlots:
    """Slots that must be equal; a parameter stands for its class, else one of those that are kept, else the least variable."""

    def __init__(self, kept: frozenset[Slot] = frozenset()) -> None:
        self._parent: dict[Slot, Slot] = {}
        self._kept = kept

    @property
    def joined(self) -> bool:
        """Whether any two slots are one."""
        return bool(self._parent)

    def find(self, slot: Slot) -> Slot:
        """Return the slot that stands for the class of `slot`."""
        while slot in self._parent:
            slot = self._parent[slot]
        return slot

    def join(self, left: Slot, right: Slot) -> None:
        """Make two slots equal."""
        a, b = self.find(left), self.find(right)
        if a != b:
            first, second = sorted((a, b), key=lambda s: (not s.parameter, s not in self._kept, s.index))
            self._parent[second] = first


def _renamed(factor: Factor, same: EqualSlots) -> Factor:
    columns = tuple((name, same.find(slot)) for name, slot in factor.source.columns)
    return Factor(SlotSource(factor.source.relation, factor.source.alias, columns), factor.weight, factor.rows)


def summed_terms(terms: Sequence[exp.Query], keys: Sequence[str], compared: type[exp.Binary] | None) -> exp.Select:
    """Add up the terms of a query by keys; sums stay that compare so with 0, by default all."""
    if not terms:
        nothing = [named(integer(0), key) for key in keys]
        return exp.select(*nothing, named(cast(integer(0), "INT128"), "n")).where(exp.false())
    # Qualified, since Spark would take `n` for the sum where that is compared.
    total = cast(exp.Sum(this=column("n", "terms")), "INT128")
    query = exp.select(*map(column, keys), named(total, "n")).from_(subquery(union_all(terms), "terms"))
    query = query.group_by(*map(column, keys)) if keys else query
    return query if compared is None else query.having(compared(this=total.copy(), expression=integer(0)))
