"""How many groundings of a shape's clauses become violated if one query atom alone flips, for every atom at once: one query a shape.

A grounding violates a clause if all that must be true is, and all that must be false is not: a product of truths T and of 1 - T. If
the atom a flips, the truth of a part goes to T + F(a), where F is a relation `atom, arguments, change`:

- of a literal its query atoms, with -1 where they are true and 1 elsewhere;
- of an existential group the pairs of an atom and outer slots for which the atom decides whether there is a witness;
- of a helper literal the same, since it is a function of other atoms; such a relation is made once a predicate (`helper_flips`).

So the change of the product is the sum over all sets of parts that one atom can change together: their F, joined on the atom, times the
truths of the others in the world. Literals of a set are one atom, so that one F with their slots made equal stands for all. Each term is
a sum of products grouped by clause and atom (`plan.terms`), with F as the pivot and inclusion-exclusion over the positive parts.

`Friends(x, y) ^ Smokes(x) => Smokes(y)`, where F, T are the atoms of Smokes with their change, and the true ones:

    WITH f AS (SELECT atom, a0, CASE WHEN truth THEN -1 ELSE 1 END AS change FROM atoms)
    SELECT atom, SUM(n) AS n FROM (
        SELECT f.atom, SUM(f.change) AS n FROM friends JOIN f ON f.a0 = friends.a0 GROUP BY f.atom              -- Smokes(x)
        UNION ALL SELECT f.atom, SUM(-f.change) FROM friends JOIN t ON t.a0 = friends.a1 JOIN f ON f.a0 = friends.a0 ... -- both
        UNION ALL SELECT f.atom, SUM(-f.change) FROM friends JOIN t ON t.a0 = friends.a0 JOIN f ON f.a0 = friends.a1 ... -- Smokes(y)
        UNION ALL SELECT f.atom, SUM(-1) FROM friends JOIN f ON f.a0 = friends.a0 AND friends.a0 = friends.a1 ...        -- x = y
    ) GROUP BY atom HAVING SUM(n) <> 0

`Same(a, b) ^ Same(b, c) => Same(a, c)` has ten such terms: F(a, b) T(b, c) (1 - T(a, c)) and so on for each literal, and for those
that are one atom (a = b = c for the first two, b = c for the last two) F with equal columns. No term joins more than two relations
at once but for the closing side of a triangle, whose pairs F already has.

`Token(+w, p, c) => InField(c, +f, p)`: SUM(-f.change) FROM token JOIN p ON p.k0 = token.a0 JOIN f ON f.a0 = token.a2 AND f.a1 = p.k1
AND f.a2 = token.a1 GROUP BY p.clause, f.atom, where p is the parameter table.

Parts of a clause that share no variable are planned alone: the product of their counts changes. A part for which there would be too
many terms is enumerated instead, as counts do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from math import prod
from typing import TypeVar

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TableName
from sqlrl.engine.nodes import cast, column, cte, integer, named, subquery, union_all
from sqlrl.logic.shapes import ShapeEquality, ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import Body
from sqlrl.plan.counting import (
    FEW_GROUNDINGS,
    FEW_POSITIVE,
    MOST_POSITIVE,
    IndependentPart,
    independent_parts,
    part_contexts,
    violated_parts,
)
from sqlrl.plan.semiring import Factor, Steps
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import (
    POSSIBLE,
    Source,
    World,
    absent,
    connect,
    equal_rows,
    flip_rows,
    parameter_keys,
    parameter_source,
    table,
)
from sqlrl.plan.terms import (
    Context,
    Part,
    Pivot,
    asked_factor,
    domain_size,
    guarded,
    guarded_factor,
    is_positive,
    mentions_open,
    part_columns,
    part_factor,
    split_parts,
    subsets,
    summed_terms,
    term_query,
    total_query,
    true_query,
)
from sqlrl.plan.tuples import group_source, hold, true_source

Changing = ShapeLiteral | ShapeExists
P = TypeVar("P", ShapeLiteral, Changing)


@dataclass(frozen=True)
class HelperFlips:
    """Where it stands how the atoms of a helper predicate change, and with which predicates.

    `rows` is what `helper_flips` selects, `roots` the predicates whose atoms change it, helpers not among them.
    """

    rows: TableName
    roots: frozenset[str]


Helpers = Mapping[str, HelperFlips]


def roots_of(literals: Iterable[ShapeLiteral], layout: Layout, helpers: Helpers) -> frozenset[str]:
    """Return the predicates whose atoms change the truth of some literals: open ones, with those that helpers stand for.

    Examples
    --------
    >>> sorted(roots_of(friends_smoke().literals, people(), {}))
    ['Smokes']
    """
    names = {x.predicate for x in literals if layout.predicates[x.predicate].open}
    own = frozenset(name for name in names if name not in helpers)
    return own.union(*(helpers[name].roots for name in names if name in helpers))


def flip_differences(
    bound: BoundShape, world: World, examples: TableName | None = None, *, helpers: Helpers | None = None
) -> exp.Select:
    """Plan how many more groundings of each clause of a shape are violated if one query atom flips, for each of these atoms.

    The shape is one that is `opened`; `world` says what is true before, with the values of helper atoms, and `helpers`
    has each open helper predicate of the shape. Columns `clause` (if the shape has parameters), `atom` and `n`
    (HUGEINT, never 0), one row for each pair.

    Examples
    --------
    >>> query = flip_differences(bind(friends_smoke(), people()), OBSERVED)
    >>> query.named_selects, [step.alias for step in query.ctes]
    (['atom', 'n'], ['c0', 'm1'])
    """
    parts = independent_parts(bound)
    planners = _planners(bound, parts, world, examples, helpers or {})
    changed = [planner.query() if planner.changing else None for planner in planners]
    if len(parts) == 1:
        assert changed[0] is not None, "the shape changes"
        return changed[0]
    return _of_product(bound, changed, violated_parts(bound, parts, world, examples))


def _of_product(
    bound: BoundShape,
    changed: Sequence[exp.Select | None],
    counts: Sequence[tuple[exp.Select, bool]],
) -> exp.Select:
    """Plan how the product of the counts of independent parts changes: (n0 + d0) (n1 + d1) ... - n0 n1 ..."""
    parameters = bound.parameters
    apart = sum(keyed for _, keyed in counts) > 1
    keys = () if parameters is None else parameter_keys(bound.shape, apart=apart)
    changing = [k for k, query in enumerate(changed) if query is not None]
    moved = []
    for k, query in enumerate(changed):
        if query is not None:
            keyed = counts[k][1]
            own = [column("n", "d") if j == k else cast(integer(0), "INT128") for j in changing]
            row = exp.select(*(column(key, "d" if keyed else "p") for key in keys), column("atom", "d"))
            row = row.select(*(named(n, f"d{j}") for j, n in zip(changing, own, strict=True)))
            row = row.from_(subquery(query, "d"))
            if parameters is not None and not keyed:
                rows = exp.select(*map(column, keys)).distinct().from_(table(parameters))
                row = row.join(subquery(rows, "p"), join_type="CROSS")
            moved.append(row)
    group = [column(key, "u") for key in (*keys, "atom")]
    sums = [named(cast(exp.Sum(this=column(f"d{k}", "u")), "INT128"), f"d{k}") for k in changing]
    whole = exp.select(*group, *sums).from_(subquery(union_all(moved), "u")).group_by(*(c.copy() for c in group))
    before, after = list[exp.Expression](), list[exp.Expression]()
    query = exp.select(*(column(key, "m") for key in (*keys[:1], "atom"))).from_(subquery(whole, "m"))
    for k, (count, keyed) in enumerate(counts):
        on = _same_keys(keys, f"n{k}") if keyed else exp.true()
        query = query.join(subquery(count, f"n{k}"), on=on, join_type="LEFT")
        n = exp.Coalesce(this=column("n", f"n{k}"), expressions=[cast(integer(0), "INT128")])
        before.append(n)
        moved_n = exp.Paren(this=exp.Add(this=n.copy(), expression=column(f"d{k}", "m")))
        after.append(moved_n if k in changing else n.copy())
    difference: exp.Expression = exp.Sub(this=_product(after), expression=_product(before))
    if apart and parameters is not None:
        query = query.join(subquery(equal_rows(parameters, bound.shape), "r"), on=_same_keys(keys, "r"))
        difference = exp.Mul(this=exp.Paren(this=difference), expression=column("n", "r"))
    return summed_terms([query.select(named(difference, "n"))], (*keys[:1], "atom"), exp.NEQ)


def _same_keys(keys: Sequence[str], alias: str) -> exp.Condition:
    return exp.and_(*(exp.EQ(this=column(key, alias), expression=column(key, "m")) for key in keys))


def _product(terms: Sequence[exp.Expression]) -> exp.Expression:
    return reduce(lambda a, b: exp.Mul(this=a, expression=b), terms)


def enumerated_by_flips(
    bound: BoundShape, examples: TableName | None = None, *, helpers: Helpers | None = None
) -> list[exp.Select]:
    """Plan how many groundings `flip_differences` enumerates at the most, of a clause for which it does.

    Each is as `plan.counting.count_violated`; none if nothing is enumerated.

    Examples
    --------
    >>> enumerated_by_flips(bind(friends_smoke(), people()))
    []
    """
    planners = _planners(bound, independent_parts(bound), POSSIBLE, examples, helpers or {})
    return [planner.joined() for planner in planners if planner.is_enumerated()]


# ---- the sets of parts that one atom changes together ------------------------------------------------


def _together(parts: Sequence[P], roots: Callable[[Changing], frozenset[str]]) -> Iterator[tuple[P, ...]]:
    """Yield the sets of parts that an atom of one predicate can change, by size."""
    for size in range(1, len(parts) + 1):
        for members in combinations(parts, size):
            if frozenset.intersection(*map(roots, members)):
                yield members


def _planners(
    bound: BoundShape,
    parts: Sequence[IndependentPart],
    world: World,
    examples: TableName | None,
    helpers: Helpers,
) -> list[_Planner]:
    """Return a planner for each part of a clause."""
    contexts = part_contexts(bound, parts, examples)
    return [_Planner(bound, part, context, world, helpers) for part, context in zip(parts, contexts, strict=True)]


class _Planner:
    # The terms of one part of a clause. `atom` is a slot for the atom that flips, one past all variables.

    def __init__(
        self, bound: BoundShape, part: IndependentPart, context: Context, world: World, helpers: Helpers
    ) -> None:
        self.bound, self.part, self.context = bound, part, context
        self.world, self.helpers = world, helpers
        self.atom = _atom_slot(bound)
        self.guards, self.positive = split_parts(part.bound)
        self.negative = [x for x in part.bound.shape.literals if not x.positive]
        rest = [x for x in self.positive if not isinstance(x, ShapeEquality)]
        self.changing = [x for x in (*self.negative, *rest) if mentions_open(bound, x)]
        self._true: dict[Changing, tuple[exp.Query, int]] = {}
        self._steps: dict[str | ShapeExists, str] = {}

    def query(self) -> exp.Select:
        """Plan the sums of the terms by clause and atom."""
        terms = list(self.enumerated() if self.is_enumerated() else self.terms())
        return self.context.steps.before(summed_terms(terms, [*self.context.keys, "atom"], exp.NEQ))

    def joined(self) -> exp.Select:
        """Plan the number of groundings that enumeration joins at the most."""
        factors = [part_factor(self.context, x, self.true(x)) for x in self.negative]
        term = self._term(factors, (), 1)
        return total_query(self.context, [] if term is None else [term])

    def _term(
        self, factors: Sequence[Factor], chosen: Sequence[Part], sign: int, pivot: Pivot | None = None
    ) -> exp.Select | None:
        part = self.part
        return term_query(
            self.context, factors, chosen, sign, variables=part.variables, restricted=part.asked, pivot=pivot
        )

    def roots(self, part: Changing) -> frozenset[str]:
        """Return the predicates whose atoms change a part."""
        literals = part.literals if isinstance(part, ShapeExists) else (part,)
        return roots_of(literals, self.bound.layout, self.helpers)

    def true(self, part: Changing) -> tuple[exp.Query, int]:
        """Return the true tuples of a part, planned once."""
        if part not in self._true:
            # Where the tuples of a literal or group are sought is a matter of the whole clause.
            self._true[part] = true_query(replace(self.context, bound=self.bound), part, self.world)
        return self._true[part]

    # ---- relations of what changes ----------------------------------------------------------------------

    def source(self, part: Changing, alias: str) -> Source:
        """Return how a part changes: its slots, the atom, and the column `change`."""
        columns = (("atom", self.atom), *part_columns(self.bound, part))
        if isinstance(part, ShapeLiteral) and part.predicate in self.helpers:
            return Source(table(self.helpers[part.predicate].rows, alias), alias, columns)
        key = part if isinstance(part, ShapeExists) else part.predicate
        if key not in self._steps:
            query = self._group(part) if isinstance(part, ShapeExists) else flip_rows(self.bound.info(part), self.world)
            self._steps[key] = self.context.steps.add("c", query)
        return Source(cte(self._steps[key], alias), alias, columns)

    def _group(self, group: ShapeExists) -> exp.Select:
        prefix = f"g{self.context.steps.fresh()}"
        outer = outer_slots(self.bound, group)
        return _witness_changes(
            self.bound, outer, group, self.world, self.source, self.roots, prefix, examples=self.context.examples
        )

    def _factor(self, part: Changing, *, weighted: bool = True) -> Factor:
        """Return how a part changes as a factor."""
        source = self.source(part, f"f{self.context.steps.fresh()}")
        atoms = sum(self.bound.layout.predicates[name].atom_count for name in self.roots(part))
        rows = max(atoms, 1)
        if isinstance(part, ShapeExists) or part.predicate in self.helpers:
            slots = {slot for _, slot in source.columns if slot != self.atom}
            rows *= prod(max(domain_size(self.bound, slot), 1) for slot in slots)
        return Factor(source, "change" if weighted else None, rows)

    # ---- sums of products -------------------------------------------------------------------------------

    def is_enumerated(self) -> bool:
        """True if there would be more terms than a query may have, or many and few groundings."""
        if len(self.changing) > MOST_POSITIVE:
            return True
        sets = list(_together(self.changing, self.roots))
        number = sum(2 ** sum(x not in members for x in self.positive) for members in sets)
        groundings = prod(domain_size(self.bound, slot) for slot in self.part.variables)
        return number > 2**MOST_POSITIVE or (number > 2**FEW_POSITIVE and groundings <= FEW_GROUNDINGS)

    def terms(self) -> Iterator[exp.Select]:
        """Yield the terms: of each set of parts that an atom changes those of inclusion-exclusion over the positive others."""
        for members in _together(self.changing, self.roots):
            yield from self._terms(members)

    def _terms(self, members: Sequence[Changing]) -> Iterator[exp.Select]:
        first, *others = self._changed(members)
        pivot = Pivot(first, ("atom",), tuple(self._merged(members)))
        moved = [x for x in members if is_positive(x)]
        for chosen in subsets([x for x in self.positive if x not in members]):
            factors = [
                guarded_factor(self.context, x, self.guards.get(x, ()), self.true)
                for x in self.negative
                if x not in members
            ]
            factors += [part_factor(self.context, x, self.true(x)) for x in chosen if not isinstance(x, ShapeEquality)]
            factors = [*(asked_factor(self.context, factor, self.part.asked) for factor in factors), *others]
            sign = -1 if (len(chosen) + len(moved)) % 2 else 1
            term = self._term(factors, (*chosen, *moved), sign, pivot)
            if term is not None:
                yield term

    def _merges(self, part: Changing) -> bool:
        """True for a literal that changes only with its own atom, so that others of its predicate must be that atom too."""
        return isinstance(part, ShapeLiteral) and part.predicate not in self.helpers

    def _merged(self, members: Sequence[Changing]) -> Iterator[tuple[Slot, Slot]]:
        own = [x for x in members if isinstance(x, ShapeLiteral) and self._merges(x)]
        for other in own[1:]:
            yield from zip(own[0].terms, other.terms, strict=True)

    def _changed(self, members: Sequence[Changing]) -> list[Factor]:
        """Return how some parts change together: one factor for literals that are one atom, one for each other part."""
        own = [x for x in members if isinstance(x, ShapeLiteral) and self._merges(x)]
        found = []
        if own:
            # Changes of 1 and -1: an even number of them multiplies to 1.
            factor = self._factor(own[0], weighted=len(own) % 2 == 1)
            for literal in reversed(own):
                columns = (("atom", self.atom), *self.bound.columns(literal))
                source = Source(factor.source.relation, factor.source.alias, columns)
                guards = self.guards.get(literal, ())
                factor = guarded(self.context, Factor(source, factor.weight, factor.rows), guards)
            found.append(factor)
        for part in members:
            if not self._merges(part):
                guards = self.guards.get(part, ()) if isinstance(part, ShapeLiteral) else ()
                found.append(guarded(self.context, self._factor(part), guards))
        return [asked_factor(self.context, factor, self.part.asked) for factor in found]

    # ---- enumeration ------------------------------------------------------------------------------------

    def enumerated(self) -> Iterator[exp.Select]:
        """Yield the changes by joining all literals.

        The negative parts change by sets, with the positive ones as they are after the flip; then the positive ones change one
        after the other, those before each as they are after the flip, those behind it as they are before.
        """
        shape = self.part.bound.shape
        positive: list[Changing] = [*(x for x in shape.literals if x.positive), *shape.exists]
        negative = [x for x in self.changing if not is_positive(x)]
        for members in _together(negative, self.roots):
            yield self._enumerated(members, positive, (), 1)
        for i, part in enumerate(positive):
            if mentions_open(self.bound, part):
                yield self._enumerated((part,), positive[:i], positive[i + 1 :], -1)

    def _enumerated(
        self, members: Sequence[Changing], after: Sequence[Changing], before: Sequence[Changing], sign: int
    ) -> exp.Select:
        context, bound = self.context, self.bound
        body = Body(bound, f"e{context.steps.fresh()}_")
        if context.parameters is not None:
            body.join(parameter_source(context.parameters, bound.shape, apart=context.apart))
        product: exp.Expression = integer(sign)
        for part in members:
            source = self.source(part, body.alias("f"))
            body.join(source)
            product = exp.Mul(this=product, expression=column("change", source.alias))
        for literal in (x for x in self.negative if x not in members):
            body.join(true_source(bound, body, literal, self.world))
            body.learn_domains(literal)
        for slot in self.part.variables:
            body.require(slot)
        body.restrict(context.examples, self.part.asked)
        common = frozenset.intersection(*map(self.roots, members))
        for part in (*after, *before):
            if part in after and common & self.roots(part):
                self._without_after(body, part)
            else:
                body.without(self._true_source(body, part))
        for equality in self.part.bound.shape.equalities:
            body.equal(equality, holds=False)
        columns = [named(column(name, "p"), name) for name in context.keys]
        total = cast(exp.Sum(this=product), "INT128")
        atom = body.known[self.atom]
        query = body.select([*columns, named(atom.copy(), "atom"), named(total, "n")])
        return query.group_by(*(column(name, "p") for name in context.keys), atom.copy())

    def _true_source(self, body: Body, part: Changing) -> Source:
        if isinstance(part, ShapeLiteral):
            return true_source(self.bound, body, part, self.world)
        return group_source(self.bound, body, part, self.world, examples=self.context.examples)

    def _without_after(self, body: Body, part: Changing) -> None:
        """Demand that a part is false once the atom has flipped."""
        true = self._true_source(body, part)
        for _, slot in true.columns:
            body.require(slot)
        lost = _changed_row(self.source(part, body.alias("f")), body.known, -1)
        body.where(exp.Paren(this=exp.Or(this=absent(true, body.known), expression=lost)))
        body.where(exp.Not(this=_changed_row(self.source(part, body.alias("f")), body.known, 1)))


def _changed_row(source: Source, known: Mapping[Slot, exp.Column], change: int) -> exp.Exists:
    """Return `EXISTS` of a row of a source that agrees with what is known and has this change."""
    where = connect(source, dict(known))
    where.append(exp.EQ(this=column("change", source.alias), expression=integer(change)))
    return exp.Exists(this=exp.select(integer(1)).from_(source.relation).where(*where))


def _atom_slot(bound: BoundShape) -> Slot:
    return Slot(False, len(bound.shape.variables) + 1)


# ---- quantifiers -------------------------------------------------------------------------------------


def _witness_changes(
    bound: BoundShape,
    outer: Sequence[Slot],
    group: ShapeExists,
    world: World,
    source: Callable[[ShapeLiteral, str], Source],
    roots: Callable[[Changing], frozenset[str]],
    prefix: str,
    *,
    parameters: TableName | None = None,
    examples: TableName | None = None,
) -> exp.Select:
    """Plan for which atoms and values of `outer` the flip of the atom changes whether a group has a witness.

    An atom adds witnesses or takes them away; those that there are decide what that means. Columns `atom`, `x0, x1,
    ...` and `change`, which is 1 or -1.
    """
    witnesses = partial(
        _witnesses, bound, outer, group, world, source, prefix=prefix, parameters=parameters, examples=examples
    )
    names = [f"x{i}" for i in range(len(outer))]
    opened = [x for x in group.literals if bound.info(x).open]
    moved = [witnesses(members) for members in _together(opened, roots)]
    total = exp.Sum(this=column("n", "m"))
    change = exp.select(*(column(name, "m") for name in ("atom", *names)), named(total, "n"))
    change = change.from_(subquery(union_all(moved), "m")).group_by(*(column(name, "m") for name in ("atom", *names)))
    there = exp.select(*(column(name, "m") for name in names), named(total.copy(), "n"))
    there = there.from_(subquery(witnesses(()), "m")).group_by(*(column(name, "m") for name in names))
    same = [exp.EQ(this=column(name, "w"), expression=column(name, "c")) for name in names]
    before = exp.Coalesce(this=column("n", "w"), expressions=[integer(0)])
    after = exp.Add(this=before.copy(), expression=column("n", "c"))
    some, left = (exp.GT(this=x, expression=integer(0)) for x in (before, after))
    gained = exp.Case(ifs=[exp.If(this=some.copy(), true=integer(-1))], default=integer(1))
    query = exp.select(*(column(name, "c") for name in ("atom", *names)), named(gained, "change"))
    query = query.from_(subquery(change, "c"))
    query = query.join(subquery(there, "w"), on=exp.and_(*same) if same else exp.true(), join_type="LEFT")
    return query.where(exp.NEQ(this=exp.Paren(this=some), expression=exp.Paren(this=left)))


def _witnesses(
    bound: BoundShape,
    outer: Sequence[Slot],
    group: ShapeExists,
    world: World,
    source: Callable[[ShapeLiteral, str], Source],
    members: Sequence[ShapeLiteral],
    *,
    prefix: str,
    parameters: TableName | None,
    examples: TableName | None,
) -> exp.Select:
    """Plan the witnesses of a group, of which some literals change with an atom and the others are true in the world.

    Columns `atom` (if there are members), `x0, x1, ...` and `n`: 1, or the product of the changes; one row a witness.
    """
    inside = [Slot(False, i) for i in group.variables]
    body = Body(bound, prefix)
    if parameters is not None:
        body.join(parameter_source(parameters, bound.shape, body.alias("p")))
    product: exp.Expression = integer(-1 if sum(not x.positive for x in members) % 2 else 1)
    for literal in members:
        changed = source(literal, body.alias("f"))
        body.join(changed)
        body.learn_domains(literal)
        product = exp.Mul(this=product, expression=column("change", changed.alias))
    others = [x for x in group.literals if x not in members]
    hold(bound, body, outer, others, group.equalities, world, inside=inside, examples=examples)
    atom = [named(body.known[_atom_slot(bound)].copy(), "atom")] if members else []
    shown = [named(body.known[slot].copy(), f"x{i}") for i, slot in enumerate(outer)]
    return body.select([*atom, *shown, named(product, "n")])


def helper_flips(
    bound: BoundShape,
    slots: Sequence[Slot],
    world: World,
    *,
    parameters: TableName | None = None,
    helpers: Helpers | None = None,
) -> exp.Select:
    """Plan how a helper changes if a query atom flips, by its definition.

    `bound` is a clause that is the definition of the helper, and nothing else, with its constants in the one row of
    `parameters`; `slots` are what identifies an atom of the helper. Columns `atom` (the one that flips), `x0, x1, ...`,
    one for each of `slots`, and `change`: 1 if the helper becomes true, -1 if it becomes false. Other pairs have no
    row.

    Examples
    --------
    >>> from sqlrl.logic.shapes import Shape
    >>> x, y = Slot(False, 0), Slot(False, 1)
    >>> literals = (ShapeLiteral("Friends", True, (x, y)), ShapeLiteral("Smokes", True, (y,)))
    >>> bound = bind(Shape(("person",) * 2, (), (), (), (ShapeExists((1,), literals, ()),)), people())
    >>> helper_flips(bound, [x], OBSERVED).named_selects
    ['atom', 'x0', 'change']
    """
    whole = IndependentPart(bound, bound.variables, bound.restricted, keyed=False)
    planner = _Planner(bound, whole, Context(bound, None, None, Steps([])), world, helpers or {})
    (group,) = bound.shape.exists
    query = _witness_changes(bound, slots, group, world, planner.source, planner.roots, "h", parameters=parameters)
    return planner.context.steps.before(query)
