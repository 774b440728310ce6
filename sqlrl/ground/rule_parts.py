"""Exact counts of parts of a program's rules, such as their bodies: for each clause, whole shapes at once.

A part is a formula over variables of its rule. It is compiled as rules are, and its clauses are those of the rule: one parameter table
holds the constants of all clauses whose parts have one shape, so that a thousand bodies of ten shapes are ten queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import cast, column, join, named, subquery, table, union_all
from sqlrl.errors import CountOverflowError, GroundingLimitError, ModelError, SqlrlError, UnsupportedError
from sqlrl.ground.clauses import expansion_names
from sqlrl.ground.counts import check_count, overflow_named, rule_place, run_counts
from sqlrl.ground.program import BoundFeature, Extent, Program, ShapeUse
from sqlrl.logic.implications import Implication, implication
from sqlrl.logic.model import Rule
from sqlrl.logic.shapes import Instance, Shape, ShapeLiteral, Shaper, Slot
from sqlrl.logic.subformulas import atoms_of, free_variables, subformulas
from sqlrl.logic.terms import And, Clause, Constant, Equal, Formula, Not, Or, Variable
from sqlrl.plan.count_plan import GroupColumns
from sqlrl.plan.counting import alike_groundings, count_groundings, count_violated
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import OBSERVED, World, argument_columns, selected
from sqlrl.progress import staged

IntArray = npt.NDArray[np.int64]

Item = TypeVar("Item")

MOST_NARROWED = 10_000
"""Clauses of more constants are counted over all facts: most have one of these."""

MOST_COUNTED = 10**38
"""From here on a number has more digits than a decimal."""

REFUSED = (ModelError, UnsupportedError, GroundingLimitError, CountOverflowError)
"""Errors that are about one rule, so that others can be counted without it."""


def in_halves(
    items: Sequence[Item],
    take: Callable[[Sequence[Item]], object],
    refuse: Callable[[Item, Any], object],
    faults: tuple[type[SqlrlError], ...] = REFUSED,
) -> None:
    """Take items in order, all at once if that goes: where it does not, halves are taken by themselves, and what is refused alone is refused."""
    if not items:
        return
    try:
        take(items)
    except faults as error:
        if len(items) == 1:
            refuse(items[0], error)
            return
        middle = len(items) // 2
        in_halves(items[:middle], take, refuse, faults)
        in_halves(items[middle:], take, refuse, faults)


# ---- parts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RulePart:
    """A part of the clauses of a feature."""

    feature: int
    instances: tuple[Instance, ...]
    negated: bool  # it is true where they are violated, else false there
    domain: Instance  # says over which constants its variables range


def whole_rules(program: Program, features: Iterable[int]) -> list[RulePart]:
    """Return the formulas of features themselves."""
    shaper = Shaper(program.layout.type_of, program.layout.example_type)
    return [_part(i, program.features[i], program.features[i], shaper) for i in features]


def rule_parts(program: Program, formulas: Mapping[int, Formula], *, own: bool) -> list[RulePart]:
    """Compile a part for each of some features; what cannot be counted by itself is left out.

    A part has all variables of its rule, or with `own` those that it mentions.
    """
    if not own:
        formulas = {i: _typed(formula, program.features[i].rule) for i, formula in formulas.items()}
    compiled: dict[int, BoundFeature] = {}

    def take(features: Sequence[int]) -> None:
        """Compile the parts of some features."""
        compiled.update(zip(features, program.compiled([Rule(formulas[i], 0.0) for i in features]), strict=True))

    in_halves(list(formulas), take, lambda *_: None)
    shaper = Shaper(program.layout.type_of, program.layout.example_type)
    found = []
    for i, part in compiled.items():
        whole = program.features[i]
        if not own and any(len(x.variables) > len(whole.feature.variables) for x in whole.feature.clauses):
            # A hard rule with quantifiers, whose clauses have groundings of their own.
            continue
        made = _part(i, part, part if own else whole, shaper)
        # Without its other literals a variable might range over other examples.
        if own or not whole.instances or _owners(program, made.domain) == _owners(program, whole.instances[0]):
            found.append(made)
    return found


def _typed(formula: Formula, rule: Rule | None) -> Formula:
    """Return a part of a rule beside which stand, always true, the atoms that say the types of variables of which it has equalities alone."""
    if rule is None or not any(isinstance(part, Equal) for part in subformulas(formula)):
        return formula
    known = {name for atom in atoms_of(formula) for name in free_variables(atom)}
    names = {*free_variables(formula)} - known
    beside = [atom for atom in atoms_of(rule.formula) if names.intersection(free_variables(atom))]
    return And((formula, *(Or((atom, Not(atom))) for atom in beside))) if beside else formula


def bodies(program: Program, features: Iterable[int]) -> list[RulePart]:
    """Return the negated bodies of those features that are implications, over all variables of these."""
    return negated_parts(program, {i: x.body for i, x in implications(program, features).items()})


def negated_parts(program: Program, formulas: Mapping[int, Formula]) -> list[RulePart]:
    """Return the negations of parts over all variables of their rules: conditions are violated where they hold, as in a clause."""
    return rule_parts(program, {i: Not(formula) for i, formula in formulas.items()}, own=False)


def implications(program: Program, features: Iterable[int]) -> dict[int, Implication]:
    """Return the features whose rules are implications as written."""
    written = {i: program.features[i].rule for i in features}
    found = {i: implication(rule.formula) for i, rule in written.items() if rule is not None}
    return {i: each for i, each in found.items() if each is not None}


def _part(feature: int, part: BoundFeature, whole: BoundFeature, shaper: Shaper) -> RulePart:
    """Return a part whose clauses have the variables of a whole."""
    variables, plus = whole.feature.variables, whole.feature.plus
    if part is whole:
        instances = part.instances
    else:
        instances = tuple(shaper(Clause(variables, clause.literals), plus) for clause in part.feature.clauses)
    return RulePart(
        feature, instances, part.feature.negated, instances[0] if instances else shaper(Clause(variables), plus)
    )


def _owners(program: Program, instance: Instance) -> dict[str, frozenset[str]]:
    """Return by name over which examples the local variables of a clause range."""
    bound = bind(instance.shape, program.layout)

    def name(slot: Slot) -> str:
        """Return the name of a variable, or the constant of a parameter."""
        if slot == bound.hidden:
            return ""
        return str(instance.arguments[slot.index]) if slot.parameter else instance.variables[slot.index]

    local = [slot for slot in bound.variables if slot != bound.hidden and bound.is_local(slot)]
    return {name(slot): frozenset(map(name, bound.owners.get(slot, ()))) for slot in local}


# ---- counts --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupVariables:
    """Variables of a rule by whose constants its groundings are counted, and whether they are by the example of a column, too."""

    names: tuple[str, ...]
    example: bool = False

    def slots(self, instance: Instance) -> GroupColumns:
        """Return the columns of a count, with the variables of an instance that they hold."""
        found = [(f"b{i}", Slot(False, instance.variables.index(name))) for i, name in enumerate(self.names)]
        # The example of a column is one past the variables of the shape.
        example = [("example", Slot(False, len(instance.shape.variables)))] if self.example else []
        return (*found, *example)


_SpreadKey = tuple[tuple[Shape, GroupColumns], ...]


def _columns(query: exp.Select, names: Sequence[str], listed: TableName | None) -> exp.Select:
    """Select the columns of a count in one order, for each of the listed clauses where it has none."""
    keyed = "clause" in query.named_selects
    columns = [column(name, "c" if name == "clause" and not keyed else "q") for name in names]
    found = exp.select(*columns, column("n", "q")).from_(subquery(query, "q"))
    if not keyed and listed is not None:
        join(found, table(listed, "c"), None, "CROSS")
    return found


def _squares(queries: Sequence[exp.Select], names: Sequence[str]) -> exp.Select:
    """Add up counts by some columns, and these and their squares for each clause."""
    rows = union_all(queries)
    if len(queries) > 1:
        keys = [column(name, "u") for name in names]
        total = named(cast(exp.Sum(this=column("n", "u")), "INT128"), "n")
        rows = exp.select(*keys, total).from_(subquery(rows, "u")).group_by(*(key.copy() for key in keys))
    n = cast(column("n", "s"), "INT128")
    sums = [named(cast(exp.Sum(this=n), "INT128"), "n")]
    sums.append(named(cast(exp.Sum(this=exp.Mul(this=n.copy(), expression=n.copy())), "INT128"), "squares"))
    by = [column("clause", "s")] if "clause" in names else []
    query = exp.select(*by, *sums).from_(subquery(rows, "s"))
    return query.group_by(*(key.copy() for key in by)) if by else query


@dataclass
class _Members:
    # Rows of a parameter table, piece by piece: the clauses, and for each parameter the ids of its constants.
    clauses: list[IntArray] = field(default_factory=list)
    columns: list[list[IntArray]] = field(default_factory=list)


class PartCounter:
    """Counts parts of a program's clauses over an extent; `refused` has, by clause, why one could not be counted."""

    def __init__(self, extent: Extent, world: World = OBSERVED) -> None:
        self.extent, self.program, self.world = extent, extent.program, world
        self.refused: dict[int, SqlrlError] = {}
        self._known: dict[int, tuple[IntArray, dict[str, IntArray]]] = {}
        self._of_feature: dict[int, list[int]] = {}
        for clause, feature in enumerate(self.program.feature_of):
            self._of_feature.setdefault(feature, []).append(clause)

    def true(self, parts: Sequence[RulePart], totals: Mapping[int, int]) -> dict[int, int]:
        """Return by clause in how many groundings a part is true; `totals` says how many it has."""
        violated, found = self.violated(parts), dict[int, int]()
        for part in parts:
            for clause in self._clauses(part.feature)[0].tolist():
                if clause in violated and clause in totals:
                    found[clause] = violated[clause] if part.negated else totals[clause] - violated[clause]
        return found

    def applies(self, negated: Sequence[RulePart], totals: Mapping[int, int]) -> dict[int, int]:
        """Return by clause in how many of its groundings a condition holds, given its negation."""
        return {clause: totals[clause] - n for clause, n in self.true(negated, totals).items() if clause in totals}

    def totals(self, parts: Sequence[RulePart]) -> dict[int, int]:
        """Return by clause the groundings of its part: the product of the domain sizes of its variables."""
        found: dict[int, int] = {}
        known: dict[object, int] = {}
        by_constants: dict[Shape, _Members] = {}
        self.program.constants.learn_instances(part.domain for part in parts)
        for part in parts:
            bound = bind(part.domain.shape, self.program.layout)
            alike = alike_groundings(bound)
            if alike is None:
                self._add(by_constants, part.feature, part.domain)
                continue
            clauses = self._clauses(part.feature)[0].tolist()
            if not clauses:
                continue
            if isinstance(alike, int) and self.extent.examples is None:
                known[alike] = alike
            try:
                if alike not in known:
                    use = ShapeUse(bound, clauses[:1])
                    known[alike] = sum(n for _, n in run_counts(self.program, use, self._groundings(use, bound)))
                if known[alike] >= MOST_COUNTED:
                    place = rule_place(self.program, part.feature)
                    raise CountOverflowError(f"{place} has more than 10^38 groundings, which no column holds")
            except REFUSED as error:
                self.refused.update(dict.fromkeys(clauses, error))
            else:
                found.update(dict.fromkeys(clauses, known[alike]))
        # Of a clause whose constants are none of the chosen examples no row is counted.
        nothing = {clause: 0 for rows in by_constants.values() for clause in np.concatenate(rows.clauses).tolist()}
        counted = nothing | self._counted(by_constants, self._groundings)
        return found | {clause: n for clause, n in counted.items() if clause not in self.refused}

    def violated(self, parts: Sequence[RulePart]) -> dict[int, int]:
        """Return by clause the violated groundings of its part, those of the clauses that it comes to added up; of none that was refused."""
        parts = [part for part in parts if not self.refused.keys() & set(self._clauses(part.feature)[0].tolist())]
        members: dict[Shape, _Members] = {}
        # One that is always true, or always false, comes to none.
        found = {clause: 0 for part in parts for clause in self._clauses(part.feature)[0].tolist()}
        self.program.constants.learn_instances(x for part in parts for x in part.instances)
        for part in parts:
            for instance in part.instances:
                self._add(members, part.feature, instance)

        def plan(use: ShapeUse, narrowed: BoundShape) -> exp.Select:
            """Plan the violated groundings of a shape, unless that enumerates too much."""
            check_count(self.extent, use, self.world)
            return count_violated(narrowed, self.world, self.extent.examples)

        found |= self._counted(members, plan)
        return {clause: n for clause, n in found.items() if clause not in self.refused}

    def spread(
        self, negated: Sequence[RulePart], by: Mapping[int, GroupVariables], totals: Mapping[int, int]
    ) -> dict[int, tuple[int, int]]:
        """Return by clause n and n * n, added up over the constants of some of its variables: n groundings with these satisfy a condition, given its negation.

        Several parts of a feature are conditions of which no two hold together. Where groups have different numbers of groundings, those that
        fail cannot say how many hold: such a clause is left out.
        """
        features: dict[int, list[RulePart]] = {}
        for part in negated:
            features.setdefault(part.feature, []).append(part)
        members: dict[_SpreadKey, list[_Members]] = {}
        self.program.constants.learn_instances(x for part in negated for x in part.instances)
        found: dict[int, tuple[int, int]] = {}
        sizes: dict[int, int] = {}
        for feature, parts in features.items():
            instances = [x for part in parts for x in part.instances]
            clauses = self._clauses(feature)[0].tolist()
            if not clauses or self.refused.keys() & set(clauses):
                continue
            if any(part.negated for part in parts):
                number = self._groups(parts[0].domain, by[feature]) if len(parts) == 1 else None
                if number is None:
                    continue
                sizes[feature] = number
            found.update(dict.fromkeys(clauses, (0, 0)))
            if instances:
                key = tuple((x.shape, by[feature].slots(x)) for x in instances)
                for rows, instance in zip(members.setdefault(key, [_Members() for _ in key]), instances, strict=True):
                    self._add({instance.shape: rows}, feature, instance)
        for key, several in staged("counting cases of heads", list(members.items())):
            found.update(self._spread_of(key, several))
        for feature, number in sizes.items():
            for clause in self._clauses(feature)[0].tolist():
                if clause in found and clause in totals:
                    # Each of the groups has as many groundings, of which those were counted that do not satisfy it.
                    each, (n, squares) = totals[clause] // number if number else 0, found[clause]
                    found[clause] = totals[clause] - n, each * totals[clause] - 2 * each * n + squares
        return {clause: n for clause, n in found.items() if clause not in self.refused}

    def _groups(self, domain: Instance, by: GroupVariables) -> int | None:
        """Return how many combinations of constants some variables have; None if groups may have different numbers of groundings."""
        bound = bind(domain.shape, self.program.layout)
        if self.extent.examples is not None or not isinstance(alike_groundings(bound), int) or by.example:
            return None
        return prod(domain_size(bound, slot) for _, slot in by.slots(domain))

    def _spread_of(self, key: _SpreadKey, several: Sequence[_Members]) -> dict[int, tuple[int, int]]:
        """Run the query of clauses whose parts have the same shapes."""
        clauses = np.concatenate(several[0].clauses)
        with ExitStack() as stack:
            queries, keyed, first = list[exp.Select](), list[bool](), None
            names = [name for name, _ in key[0][1]]
            try:
                for (shape, by), rows in zip(key, several, strict=True):
                    use = stack.enter_context(self._use(shape, rows))
                    first = first or use
                    narrowed = stack.enter_context(self._narrowed(use))
                    check_count(self.extent, use, self.world)
                    queries.append(count_violated(narrowed, self.world, self.extent.examples, by))
                    keyed.append("clause" in queries[-1].named_selects)
                assert first is not None, "a part has a shape"
                listed = None
                if any(keyed) and not all(keyed):
                    listed = stack.enter_context(self.program.rows_table(pa.table({"clause": clauses})))
                columns = ["clause", *names] if any(keyed) else names
                query = _squares([_columns(q, columns, listed) for q in queries], columns)
                with overflow_named(self.program, first):
                    rows_found = self.program.engine.fetch(query, step="count cases of heads").to_pylist()
            except REFUSED as error:
                self.refused.update(dict.fromkeys(clauses.tolist(), error))
                return {}
        pairs = [(int(row["n"] or 0), int(row["squares"] or 0)) for row in rows_found]
        if not any(keyed):
            return dict.fromkeys(clauses.tolist(), pairs[0] if pairs else (0, 0))
        return dict(zip((row["clause"] for row in rows_found), pairs, strict=True))

    def _groundings(self, _: ShapeUse, bound: BoundShape) -> exp.Select:
        return count_groundings(bound, self.extent.examples)

    def _counted(
        self, members: Mapping[Shape, _Members], plan: Callable[[ShapeUse, BoundShape], exp.Select]
    ) -> dict[int, int]:
        """Run a query for each shape, and add up what it says of each clause."""
        found: dict[int, int] = {}
        for shape, rows in staged("counting shapes of rules", list(members.items())):
            with self._use(shape, rows) as use, self._narrowed(use) as narrowed:
                try:
                    counts = run_counts(self.program, use, plan(use, narrowed))
                except REFUSED as error:
                    self.refused.update(dict.fromkeys(np.concatenate(rows.clauses).tolist(), error))
                    continue
            for clause, n in counts:
                found[clause] = found.get(clause, 0) + n
        return found

    # ---- clauses of one shape ---------------------------------------------------------------------------

    def _clauses(self, feature: int) -> tuple[IntArray, dict[str, IntArray]]:
        """Return the clauses of a feature, and the ids of the constants of its `+` variables in each."""
        if feature not in self._known:
            bound = self.program.features[feature].feature
            clauses = self._of_feature.get(feature, [])
            rows: Sequence[tuple[str, ...]] = [()] * len(clauses)
            if bound.plus and clauses:
                clauses, rows = expansion_names(self.program, feature)
            types, constants = dict(bound.variables), self.program.constants
            constants.learn((types[name], row[j]) for j, name in enumerate(bound.plus) for row in rows)
            ids = {
                name: np.array([constants.of(types[name])[row[j]] for row in rows], dtype=np.int64)
                for j, name in enumerate(bound.plus)
            }
            self._known[feature] = np.array(clauses, dtype=np.int64), ids
        return self._known[feature]

    def _add(self, members: dict[Shape, _Members], feature: int, instance: Instance) -> None:
        """Add the clauses of a feature to those whose part has one shape."""
        clauses, plus = self._clauses(feature)
        if not len(clauses):
            return
        mine = members.setdefault(instance.shape, _Members())
        mine.clauses.append(clauses)
        columns = []
        for kind, term in zip(instance.shape.parameters, instance.arguments, strict=True):
            if isinstance(term, Variable):
                columns.append(plus[term.name])
            else:
                assert isinstance(term, Constant)
                columns.append(np.full(len(clauses), self.program.constants.of(kind)[term.name], dtype=np.int64))
        mine.columns.append(columns)

    @contextmanager
    def _use(self, shape: Shape, rows: _Members) -> Iterator[ShapeUse]:
        """Show the constants of the clauses of a shape as its parameter table while the context is open."""
        ids = np.concatenate(rows.clauses)
        if not shape.parameters:
            yield ShapeUse(bind(shape, self.program.layout), ids.tolist())
            return
        columns = [
            np.concatenate([piece[k] for piece in rows.columns]).astype(np.int32) for k in range(len(shape.parameters))
        ]
        unknown = frozenset(k for k, values in enumerate(columns) if (values < 0).any())
        data = pa.table({"clause": ids, **{f"k{k}": values for k, values in enumerate(columns)}})
        with self.program.rows_table(data) as listed:
            yield ShapeUse(bind(shape, self.program.layout, unknown, listed), ids.tolist(), len(ids))

    @contextmanager
    def _narrowed(self, use: ShapeUse) -> Iterator[BoundShape]:
        """Bind a shape to the facts that have constants of its clauses where these name some, while the context is open.

        Sums over parts of a clause keep the parameters, and would be made for all constants of a type before the few that are asked for are looked up.
        """
        listed, layout = use.parameters, self.program.layout
        if listed is None or use.rows > MOST_NARROWED:
            yield use.bound
            return
        known = dict(layout.predicates)
        with ExitStack() as stack:

            def narrowed(literal: ShapeLiteral) -> ShapeLiteral:
                """Return a literal of the facts that have the constants of some clause."""
                info = layout.predicates[literal.predicate]
                places = {i: slot.index for i, slot in enumerate(literal.terms) if slot.parameter}
                if info.open or not places:
                    return literal
                name = f"{literal.predicate}@{places}"
                if name not in known:
                    names = selected(argument_columns(info), "f")
                    constants = exp.select(*(column(f"k{k}") for k in places.values())).from_(table(listed))
                    asked = [column(f"a{i}", "f") for i in places]
                    this = asked[0] if len(asked) == 1 else exp.Tuple(expressions=asked)
                    rows = exp.select(*names).from_(table(info.facts, "f"))
                    rows = rows.where(exp.In(this=this, query=exp.Subquery(this=constants)))
                    known[name] = replace(info, name=name, facts=stack.enter_context(self.program.rows_table(rows)))
                return replace(literal, predicate=name)

            shape = use.shape
            shape = replace(
                shape,
                literals=tuple(map(narrowed, shape.literals)),
                exists=tuple(replace(x, literals=tuple(map(narrowed, x.literals))) for x in shape.exists),
            )
            yield bind(shape, replace(layout, predicates=known), use.bound.unknown, listed)
