"""The queries that list what violates the clauses of a program, for the connection of the user."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import count

from sqlglot import exp

from sqlrl.catalog.layout import Layout, TypeInfo
from sqlrl.catalog.store import Store
from sqlrl.catalog.views import shown_arguments
from sqlrl.engine.nodes import column, table
from sqlrl.ground.clauses import expansion_names
from sqlrl.ground.program import Program
from sqlrl.logic.expansions import fill
from sqlrl.logic.implications import FALSE, possibly_true
from sqlrl.logic.subformulas import terms_of, with_terms
from sqlrl.logic.terms import Constant, Formula
from sqlrl.plan.violating_rows import NamedFacts, NamedTables, violating_rows
from sqlrl.training.session import Session


class ViolationQueries:
    """Writes for each clause of a program the query of the rows that violate it."""

    def __init__(self, session: Session, program: Program, tables: NamedTables, partial: frozenset[str]) -> None:
        self._session, self._program, self._tables, self._partial = session, program, tables, partial
        self._constants: dict[int, dict[int, dict[str, str]]] = {}
        # The text of a query depends on the constants of its clause in the places of these alone.
        self._known: dict[object, list[str]] = {}

    def filled(self, clause: int, formula: Formula) -> Formula:
        """Return a formula with the constants of a clause in place of its `+` variables."""
        feature = self._program.feature_of[clause]
        plus = self._program.features[feature].feature.plus
        if not plus:
            return formula
        if feature not in self._constants:
            clauses, rows = expansion_names(self._program, feature)
            self._constants[feature] = {
                each: dict(zip(plus, row, strict=True)) for each, row in zip(clauses, rows, strict=True)
            }
        return fill(formula, self._constants[feature][clause])

    def text(self, clause: int) -> str:
        """Return the query of a clause."""
        bound = self._program.features[self._program.feature_of[clause]]
        assert bound.rule is not None, "it is the clause of a rule"
        formula = possibly_true(self.filled(clause, bound.rule.formula), self._partial)
        variables = tuple(v for v in bound.feature.variables if v[0] not in bound.feature.plus)
        constants = [term.name for term in terms_of(formula) if isinstance(term, Constant)]
        numbers = count()
        shape = with_terms(formula, lambda t: Constant(f"\x00{next(numbers)}\x00") if isinstance(t, Constant) else t)
        if (shape, variables) not in self._known:
            query = self._session.engine.render(violating_rows(shape, variables, self._tables))
            self._known[shape, variables] = re.split("'\x00([0-9]+)\x00'", query)
        pieces = list(self._known[shape, variables])
        pieces[1::2] = [self._session.engine.render(exp.Literal.string(constants[int(i)])) for i in pieces[1::2]]
        return "".join(pieces)


def named_tables(store: Store, layout: Layout, partial: Collection[str] = ()) -> NamedTables:
    """Return the views of facts with names, of `partial` predicates also of what is known to be false, and the tables of domains."""
    records, types, valued = store.predicates(), store.types(), store.valued()
    local = {name for name, record in types.items() if record.local}
    facts = {
        name: NamedFacts(
            records[name].readable or "",
            tuple(shown_arguments(records[name], valued=name in valued)),
            info.types,
            "example" if info.example_column else None,
            "truth" if info.open else None,
            # Of labels outside of its scope, and of the domains of their examples, no atom is one.
            records[name].atoms if info.open and not (info.full_scope and local.isdisjoint(info.types)) else None,
        )
        for name, info in layout.predicates.items()
        if name in records
    }
    facts |= {f"{name}{FALSE}": replace(facts[name], atoms=records[name].atoms, false=True) for name in partial}
    return NamedTables(
        store.engine.schema,
        facts,
        {name: record.dictionary for name, record in types.items()},
        {name: record.domain for name, record in types.items() if record.local and record.domain is not None},
        layout.example_type,
        {name: _declared(store, info) for name, info in layout.types.items() if info.declared},
    )


def _declared(store: Store, info: TypeInfo) -> list[str]:
    """Return the constants of a type that the model declares beyond those of the data, which are the last ones."""
    query = exp.select(column("name")).from_(table(info.dictionary)).order_by(column("id"))
    query = query.where(column("id") >= exp.convert(info.size - info.declared))
    found: list[str] = store.engine.fetch(query, step=f"read the constants of {info.name}").column(0).to_pylist()
    return found
