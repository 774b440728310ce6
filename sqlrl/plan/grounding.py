"""Grounding: a shape becomes one query whose rows are its ground clauses that the evidence leaves open.

A negative closed literal becomes a join, a positive one an anti-join; an open literal becomes a join with the query atoms.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, integer, named, star_count, subquery, table
from sqlrl.logic.shapes import ShapeExists, ShapeLiteral, Slot
from sqlrl.plan.body import QueryBody
from sqlrl.plan.counted_variables import counted_parts, without_parts
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.multiplicity import Multiplicity
from sqlrl.plan.outside import loose_literal, with_outside
from sqlrl.plan.semiring import BIGINT_LIMIT
from sqlrl.plan.slots import BoundShape, outer_slots
from sqlrl.plan.sources import SlotSource, atom_source, given_rows, open_source, parameter_source
from sqlrl.plan.truth_values import Truths

# ---- existential groups: witnesses that the evidence makes true, and those that it leaves open -------


def witness_lists(bound: BoundShape, body: QueryBody, examples: TableName | None) -> list[tuple[str | None, int]]:
    """Join the open witnesses of each existential group; return the alias with the list `atoms` and the literal's sign."""
    return [_witnesses(bound, body, group, examples) for group in bound.shape.exists]


def list_columns(lists: Sequence[tuple[str | None, int]]) -> tuple[list[exp.Alias], tuple[int, ...]]:
    """Return the columns `e0, e1, ...` of the lists that `witness_lists` has joined, and the sign of each."""
    # A group without open literals has none: the columns are numbered by themselves.
    opened = [(alias, sign) for alias, sign in lists if alias is not None]
    columns = [named(column("atoms", alias), f"e{i}") for i, (alias, _) in enumerate(opened)]
    return columns, tuple(sign for _, sign in opened)


def _witnesses(
    bound: BoundShape, body: QueryBody, group: ShapeExists, examples: TableName | None
) -> tuple[str | None, int]:
    """Drop groundings with a certain witness, and join the list of open ones; return its alias (None if no literal is open) and sign."""
    prefix = body.alias("w")
    certain = _witness_body(bound, group, f"{prefix}c", examples, decided=True)
    if certain is not None:
        query, columns = certain
        body.without(SlotSource(subquery(query, f"{prefix}c"), f"{prefix}c", columns))
    opened = _witness_body(bound, group, f"{prefix}o", examples, decided=False)
    if opened is None:
        return None, 0
    query, columns = opened
    atoms = exp.ArraySort(this=exp.ArrayAgg(this=exp.Distinct(expressions=[query.selects[-1].this.copy()])))
    keys = query.selects[:-1]
    query.set("expressions", [*keys, named(atoms, "atoms")])
    if keys:
        query = query.group_by(*(k.this.copy() for k in keys))
    else:
        # The list of no rows is NULL in DuckDB and empty in Spark; without a row it is NULL in both, once joined.
        query = query.having(exp.GT(this=star_count(), expression=integer(0)))
    alias = f"{prefix}o"
    body.outer_join(SlotSource(subquery(query, alias), alias, columns))
    sign = next(1 if x.positive else -1 for x in group.literals if bound.info(x).open)
    return alias, sign


def _witness_body(
    bound: BoundShape, group: ShapeExists, prefix: str, examples: TableName | None, *, decided: bool
) -> tuple[exp.Select, tuple[tuple[str, Slot], ...]] | None:
    """Select the outer slots for which a group has a witness that is decided true, or open (then with its atom); None if there can be none."""
    open_ = [x for x in group.literals if bound.info(x).open]
    if not open_ and not decided:
        return None
    inner = QueryBody(bound, f"{prefix}_")
    for literal in group.literals:
        if not bound.info(literal).open and literal.positive:
            inner.facts(literal)
    if open_ and not _witness_atom(bound, inner, open_[0], decided):
        return None
    inside = tuple(Slot(False, i) for i in group.variables)
    outer = outer_slots(bound, group)
    inner.require_parameters(outer)
    for slot in (*outer, *inside):
        inner.require(slot)
    inner.restrict(examples, [*outer, *inside])
    for literal in group.literals:
        if not bound.info(literal).open and not literal.positive:
            inner.without_facts(literal)
    for equality in group.equalities:
        inner.equal(equality, holds=True)
    columns = tuple((f"x{i}", slot) for i, slot in enumerate(outer))
    selects: list[exp.Expression] = [named(inner.known[slot].copy(), name) for name, slot in columns]
    if not decided:
        selects.append(named(column("atom", f"{prefix}_atom"), "atom"))
    return inner.select(selects or [named(integer(1), "one")]), columns


def _witness_atom(bound: BoundShape, inner: QueryBody, literal: ShapeLiteral, decided: bool) -> bool:
    """Join the atoms that leave an open literal open, or those that decide it true; False if there are none."""
    info = bound.info(literal)
    if not decided:
        assert info.atoms is not None
        alias = f"{inner.prefix}atom"
        inner.join(SlotSource(table(info.atoms, alias), alias, bound.columns(literal)))
        inner.learn_domains(literal)
        return True
    alias = inner.alias("g")
    if literal.positive or bound.covers(literal):
        if not info.has_given:
            return False
        inner.join(SlotSource(subquery(given_rows(info, literal.positive), alias), alias, bound.columns(literal)))
        return True
    # A negative literal is also true of every tuple outside the scope.
    exists = open_source(bound, ShapeLiteral(literal.predicate, False, literal.terms), alias)[0]
    inner.without(exists)
    return True


# ---- grounding ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroundingQuery:
    """One query for all clauses of a shape."""

    # A row for each ground clause: `clause` (if the shape has parameters), `l0, l1, ...` (atom ids, 0 for a literal that the evidence makes
    # false), `e0, ...` (lists of the open witnesses of each EXIST, NULL for none), `multiplicity` (if rows may merge).
    query: exp.Select
    # +1 or -1 for each `l` column.
    signs: tuple[int, ...]
    # The same for each `e` column.
    list_signs: tuple[int, ...]
    has_clause: bool
    has_multiplicity: bool
    # Whether a literal can be 0.
    has_absent: bool
    # Whether one row can hold the same literal twice, so that rows have to be merged once more after that.
    may_repeat: bool


def open_literals(bound: BoundShape) -> tuple[ShapeLiteral, ...]:
    """Return the literals with open predicates, in the shape's order."""
    return tuple(x for x in bound.shape.literals if bound.info(x).open)


def ground(
    whole: BoundShape, examples: TableName | None = None, *, raw: bool = False, truths: Truths | None = None
) -> GroundingQuery:
    """Plan a shape's grounding query for `examples`: with `truths` only clauses whose open literals are such, `raw` without merging rows."""
    parameters = whole.parameters
    body = QueryBody(whole)
    parts = () if raw else counted_parts(whole, whole.variables)
    counted = Multiplicity(whole, body, parts, examples)
    bound = without_parts(whole, parts)
    open_ = open_literals(bound)
    loose = not raw and truths is None and loose_literal(whole) is not None
    aliases, absent = clause_body(bound, body, examples, undecided=loose, counted=counted, truths=truths)
    atoms: list[exp.Expression] = [column("atom", alias) for alias in aliases]
    atoms = [exp.Coalesce(this=a, expressions=[integer(0)]) if i in absent else a for i, a in enumerate(atoms)]
    may_be_zero = {i for i, x in enumerate(open_) if i in absent or (bound.info(x).has_given and not loose)}
    repeated = False
    # Raw rows have the literals in the shape's order, repeated ones and tautologies included.
    if not raw:
        exclude_tautologies(bound, body)
        atoms, repeated = _in_order(open_, atoms)
    lists = witness_lists(bound, body, examples)
    if truths is not None:
        truths.restrict(bound, body, aliases, absent, [alias for alias, _ in lists], examples)
    columns = [named(column("clause", "p"), "clause")] if parameters is not None else []
    columns += [named(atom, f"l{i}") for i, atom in enumerate(atoms)]
    witnesses, list_signs = list_columns(lists)
    columns += witnesses
    variables = [slot for slot in whole.variables if slot not in counted.slots]
    merges = not raw and (repeated or bool(may_be_zero) or may_merge(bound, variables, open_, absent))
    multiplicity = (
        [named(multiplicity_column(bound, variables, counted, merges), "multiplicity")] if merges or parts else []
    )
    query = body.select([*columns, *multiplicity])
    if merges and columns:
        query = query.group_by(*(c.this.copy() for c in columns))
    if loose:
        rows = query if multiplicity else query.select(named(integer(1), "multiplicity"), copy=False)
        query = with_outside(rows, whole, examples)
    return GroundingQuery(
        query,
        tuple(1 if x.positive else -1 for x in open_),
        list_signs,
        parameters is not None,
        merges or bool(parts) or loose,
        bool(may_be_zero) or loose,
        not raw and (repeated or bool(list_signs)),
    )


def clause_body(
    bound: BoundShape,
    body: QueryBody,
    examples: TableName | None,
    *,
    undecided: bool = False,
    counted: Multiplicity | None = None,
    truths: Truths | None = None,
) -> tuple[list[str], set[int]]:
    """Join what makes every literal false or open (as `truths` says); return the open literals' aliases and which are outer-joined."""
    shape = bound.shape
    # `counted` has the parts of the clause that `bound` lacks; if `undecided`, every open literal's atom must be a query atom.
    if bound.parameters is not None:
        body.join(parameter_source(bound.parameters, shape))
    for literal in shape.literals:
        if not bound.info(literal).open and not literal.positive:
            body.facts(literal)
    if counted is not None:
        counted.join_first()
    aliases, outer = [], {}
    for i, literal in enumerate(open_literals(bound)):
        alias = f"o{i}"
        choose = truths.source if truths is not None else atom_source if undecided else open_source
        source, is_outer = choose(bound, literal, alias)
        aliases.append(alias)
        if is_outer:
            outer[i] = source
        else:
            body.join(source)
            body.learn_domains(literal)
    variables = [slot for slot in body.bound.variables if counted is None or slot not in counted.slots]
    for slot in variables:
        body.require(slot)
    body.restrict(examples, [*variables, *(Slot(True, i) for i in range(len(shape.parameters)))])
    if counted is not None:
        counted.join_last()
    for i, source in outer.items():
        body.outer_join(source)
        if bound.info(open_literals(bound)[i]).has_given:
            atom = column("atom", f"o{i}")
            body.where(
                exp.Or(
                    this=exp.Is(this=atom, expression=exp.null()),
                    expression=exp.GT(this=atom.copy(), expression=integer(0)),
                )
            )
    for literal in shape.literals:
        if not bound.info(literal).open and literal.positive:
            body.without_facts(literal)
    for equality in shape.equalities:
        body.equal(equality, holds=False)
    return aliases, set(outer)


Unequal = dict[frozenset[Slot], exp.Expression]
"""Pairs of slots with the condition that they differ; one of them does."""


def _different(bound: BoundShape, body: QueryBody, left: ShapeLiteral, right: ShapeLiteral) -> Unequal:
    """Return at what two literals can be about different atoms; a clause with an atom and its negation is true."""
    # Arguments are compared, not atoms, so that the database can test it before it joins.
    pairs = zip(bound.columns(left), bound.columns(right), strict=True)
    return {
        frozenset((a, b)): exp.NEQ(this=body.known[a].copy(), expression=body.known[b].copy())
        for (_, a), (_, b) in pairs
        if a != b
    }


def exclude_tautologies(bound: BoundShape, body: QueryBody) -> None:
    """Drop ground clauses that hold an atom of an open predicate and its negation: they are true in every world."""
    wanted = [
        _different(bound, body, one, other)
        for one, other in combinations(open_literals(bound), 2)
        if one.predicate == other.predicate and one.positive != other.positive
    ]
    given = [{frozenset((each.left, each.right))} for each in bound.shape.equalities if each.positive]
    for i, unequal in enumerate(wanted):
        # What another condition implies is left out: the database takes three times as long where it tests a disjunction in vain.
        stronger = [other.keys() for j, other in enumerate(wanted) if (len(other), j) < (len(unequal), i)]
        if not any(keys <= unequal.keys() for keys in (*given, *stronger)):
            some = reduce(lambda a, b: exp.Or(this=a, expression=b), unequal.values()) if unequal else exp.false()
            body.where(some)


def _in_order(open_: tuple[ShapeLiteral, ...], atoms: list[exp.Expression]) -> tuple[list[exp.Expression], bool]:
    """Put the atoms of look-alike literals in ascending order, so that identical ground clauses become equal rows."""
    groups: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for i, literal in enumerate(open_):
        groups[literal.predicate, literal.positive].append(i)
    ordered, repeated = list(atoms), False
    for members in groups.values():
        if len(members) == 2:
            first, second = (atoms[i] for i in members)
            ordered[members[0]] = exp.Least(this=first.copy(), expressions=[second.copy()])
            ordered[members[1]] = exp.Greatest(this=first.copy(), expressions=[second.copy()])
        elif len(members) > 2:
            sorted_ = exp.ArraySort(this=exp.Array(expressions=[atoms[i].copy() for i in members]))
            for rank, i in enumerate(members):
                ordered[i] = exp.Bracket(this=sorted_.copy(), expressions=[integer(rank)])
        repeated = repeated or len(members) > 1
    return ordered, repeated


def multiplicity_column(
    bound: BoundShape, variables: Sequence[Slot], counted: Multiplicity, merges: bool
) -> exp.Expression:
    """Return how many groundings a row stands for; HUGEINT where that may not fit into 64 bits."""
    if not counted.slots:
        return star_count()
    rows = 1
    for slot in variables if merges else ():
        rows *= max(domain_size(bound, slot), 1)
    hugeint = rows * counted.most > BIGINT_LIMIT
    value = counted.value(hugeint)
    return cast(exp.Sum(this=value), "INT128" if hugeint else "BIGINT") if merges else value


def may_merge(bound: BoundShape, variables: Sequence[Slot], open_: tuple[ShapeLiteral, ...], absent: set[int]) -> bool:
    """True if some variable that is enumerated occurs in no open literal, so that rows have to be merged."""
    shown = {slot for i, x in enumerate(open_) if i not in absent for _, slot in bound.columns(x)}
    return not shown.issuperset(variables)
