"""Horn definitions as SQL: a query without recursion, or a recursive one, for each defined predicate.

Rows are of ids: `a0, a1, ...`, before them `example` where examples stand beside the arguments; no row occurs twice. A
predicate without arguments has the column `present`.

- A component without recursion is the UNION of its rules.
- One whose rules have at most one literal of it each (linear recursion) is a recursive step with UNION, which DuckDB
  evaluates from the rows that are new: exact for linear rules only.
- Several predicates that are defined through each other share one step, with a column that says whose row it is.
- Rules with several such literals are evaluated semi-naively: in turn each literal is of the new rows and the others of all
  rows so far, which DuckDB offers as `recurring.` of a step with USING KEY. Other systems do not have that.

Source: Abiteboul, Hull & Vianu, "Foundations of Databases" (1995), sections 13.1 (semi-naive evaluation) and 15.2
(stratified negation).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, conjunction, cte, integer, join, named, table, union_all
from sqlrl.logic.horn import DefinedTogether, HornAtom, HornRule
from sqlrl.logic.terms import Term, Variable

CLOSURE, KIND, EXAMPLE, PRESENT = "closure", "predicate", "example", "present"
_ABSENT = -1
"""What stands in the columns that a predicate of a shared step does not have."""


@dataclass(frozen=True, slots=True)
class FactTable:
    """The facts of a predicate that bodies use."""

    table: TableName
    example: bool = False  # The example stands in a column of its own.
    signed: bool = False  # Only the rows whose `truth` is true are facts.


@dataclass(frozen=True)
class DefinitionPlan:
    """The inputs of the queries of a component."""

    component: DefinedTogether
    relations: Mapping[str, FactTable]  # Facts of the other predicates that its rules use.
    constants: Mapping[tuple[str, int, str], int]  # Ids of the rules' constants by predicate, argument and name.
    unequal: Mapping[tuple[int, str], int]  # Ids of the constants of `!=` by rule (from 0) and name.
    example: bool = False  # The rows have an example.

    def query(self, predicate: str) -> exp.Query:
        """Return the query of the atoms of a predicate of the component: one row for each."""
        if not self.component.recursive:
            rules = [self._select(number, {}) for number in range(len(self.component.rules))]
            return _union(rules)
        step = self._step()
        source = cte(CLOSURE)
        arity = self._arity(predicate)
        columns = self._columns(arity)
        outputs = _named([], columns) if columns == [PRESENT] else [column(name) for name in columns]
        query = exp.select(*outputs).from_(source)
        if self._shared:
            query = query.where(column(KIND).eq(integer(self.component.predicates.index(predicate))))
        query.set("with_", exp.With(expressions=[step], recursive=True))
        return query

    # ---- the recursive step -----------------------------------------------------------------------------------

    @property
    def _shared(self) -> bool:
        return len(self.component.predicates) > 1

    def _step(self) -> exp.CTE:
        """Return the step whose rows are the atoms of all predicates of the component."""
        base: list[exp.Select] = []
        further: list[exp.Select] = []
        for number, rule in enumerate(self.component.rules):
            places = self.component.recursions(rule)
            if not places:
                base.append(self._select(number, {}))
            further += [self._select(number, {place: place == new for place in places}) for new in places]
        both = exp.Union(this=_union(base), expression=_enclosed(further), distinct=True)
        names = self._step_columns()
        alias = exp.TableAlias(this=_identifier(CLOSURE), columns=[_identifier(name) for name in names])
        step = exp.CTE(this=both, alias=alias)
        if not self.component.linear:
            step.set("key_expressions", [_identifier(name) for name in names])
        return step

    def _step_columns(self) -> list[str]:
        widest = max(self._arity(name) for name in self.component.predicates)
        return [*([KIND] if self._shared else []), *self._columns(widest)]

    def _columns(self, arity: int) -> list[str]:
        arguments = [f"a{i}" for i in range(arity)]
        return [*([EXAMPLE] if self.example else []), *arguments] or [PRESENT]

    def _arity(self, predicate: str) -> int:
        return next(len(rule.head.terms) for rule in self.component.rules if rule.head.predicate == predicate)

    # ---- a rule -----------------------------------------------------------------------------------------------

    def _select(self, number: int, new: Mapping[int, bool]) -> exp.Select:
        """Return the query of a rule's heads; `new` says of its recursive literals which one is of the new rows."""
        rule = self.component.rules[number]
        query, bound = exp.select(), dict[Term | str, exp.Expr]()
        for place, atom in enumerate(rule.body):
            alias = f"t{place}"
            conditions = list(self._conditions(atom, alias, bound))
            source = self._source(atom, alias, new.get(place))
            if place == 0:
                query = query.from_(source)
                for condition in conditions:
                    query = query.where(condition, copy=False)
            else:
                on = conjunction(conditions)
                join(query, source, on, "INNER" if on is not None else "CROSS")
        for index, atom in enumerate(rule.negated):
            query = query.where(self._absent(atom, f"n{index}", bound), copy=False)
        for pair in rule.unequal:
            left, right = (self._compared(number, term, bound) for term in pair)
            query = query.where(exp.NEQ(this=left, expression=right), copy=False)
        return query.select(*self._outputs(rule, bound), copy=False)

    def _source(self, atom: HornAtom, alias: str, new: bool | None) -> exp.Table:
        if atom.predicate not in self.component.predicates:
            return table(self.relations[atom.predicate].table, alias)
        if new is False:
            node = exp.table_(CLOSURE, db="recurring", quoted=True)
            node.set("alias", exp.TableAlias(this=_identifier(alias)))
            return node
        return cte(CLOSURE, alias)

    def _conditions(self, atom: HornAtom, alias: str, bound: dict[Term | str, exp.Expr]) -> Iterator[exp.Expression]:
        """Yield what an atom's row must satisfy, and note the columns of the variables that stand first in it."""
        if atom.predicate in self.component.predicates:
            example, signed = self.example, False
            if self._shared:
                yield column(KIND, alias).eq(integer(self.component.predicates.index(atom.predicate)))
        else:
            relation = self.relations[atom.predicate]
            example, signed = relation.example, relation.signed
        if signed:
            yield column("truth", alias)
        terms: list[tuple[Term | str, str]] = [(EXAMPLE, EXAMPLE)] if example else []
        terms += [(term, f"a{i}") for i, term in enumerate(atom.terms)]
        for i, (term, name) in enumerate(terms, start=-1 if example else 0):
            here = column(name, alias)
            if not isinstance(term, Variable | str):
                yield here.eq(integer(self.constants[atom.predicate, i, term.name]))
            elif term in bound:
                yield here.eq(bound[term].copy())
            else:
                bound[term] = here

    def _absent(self, atom: HornAtom, alias: str, bound: Mapping[Term | str, exp.Expr]) -> exp.Expression:
        """Return the condition that no row of a predicate agrees with an atom."""
        conditions = list(self._conditions(atom, alias, dict(bound)))
        query = exp.select(integer(1)).from_(self._source(atom, alias, None))
        for condition in conditions:
            query = query.where(condition, copy=False)
        return exp.Not(this=exp.Exists(this=query))

    def _compared(self, number: int, term: Term, bound: Mapping[Term | str, exp.Expr]) -> exp.Expr:
        if isinstance(term, Variable):
            return bound[term].copy()
        return integer(self.unequal[number, term.name])

    def _outputs(self, rule: HornRule, bound: Mapping[Term | str, exp.Expr]) -> list[exp.Expr]:
        name = rule.head.predicate
        values: list[exp.Expr] = [bound[EXAMPLE].copy()] if self.example else []
        for i, term in enumerate(rule.head.terms):
            given = bound[term].copy() if isinstance(term, Variable) else None
            values.append(given if given is not None else _id(self.constants[name, i, term.name]))
        if not self.component.recursive:
            return _named(values, self._columns(len(rule.head.terms)))
        kind: list[exp.Expr] = [_id(self.component.predicates.index(name))] if self._shared else []
        columns = self._step_columns()
        padding: list[exp.Expr] = [_id(_ABSENT) for _ in range(len(columns) - len(kind) - len(values))]
        if columns == [PRESENT]:
            padding = []
        return _named([*kind, *values, *padding], columns)


def _named(values: Sequence[exp.Expr], columns: Sequence[str]) -> list[exp.Expr]:
    """Return the values under the names of the columns; TRUE where there is none."""
    present: list[exp.Expr] = [exp.true()]
    return [named(value, name) for value, name in zip(values or present, columns, strict=True)]


def _id(value: int) -> exp.Expr:
    return exp.cast(integer(value), "int")


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _union(queries: Sequence[exp.Select]) -> exp.Query:
    """Return the distinct rows of queries."""
    if len(queries) == 1:
        return queries[0].distinct()
    found: exp.Query = queries[0]
    for query in queries[1:]:
        found = exp.Union(this=found, expression=query, distinct=True)
    return found


def _enclosed(queries: Iterable[exp.Select]) -> exp.Expression:
    """Return the rules of the recursive part; DuckDB takes what stands behind its first UNION for that part."""
    listed = list(queries)
    return listed[0] if len(listed) == 1 else exp.Paren(this=union_all(listed))
