"""What grounding a model would do: SQL, plans and estimates, before any work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import overload

import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.layout import Layout
from sqlrl.engine.base import QueryEngine
from sqlrl.ground.counts import run_counts
from sqlrl.ground.pipeline import plans
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Variable
from sqlrl.plan.bounds import Enumerated, domain_bound, enumerated, template_rows
from sqlrl.plan.disjunct_factors import domain_size
from sqlrl.plan.expansion import expand
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.report import Table
from sqlrl.wording import counted

SMALL = 10_000_000
"""As many groundings are joined to bound the number of ground clauses, where that takes a join."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """How the clauses of one shape are grounded; `str()` shows everything, `repr()` the sizes."""

    shape: str
    clauses: int  # 0 for a template before its expansion
    estimate: int  # ground clauses: a bound where counting is cheap, else DuckDB's estimate
    sql: str
    plan: str  # DuckDB's
    at_most: bool = False  # whether the estimate is a bound

    @property
    def bound(self) -> str:
        """What kind of number the estimate is: `at most` or `about`."""
        return "at most" if self.at_most else "about"

    def __repr__(self) -> str:
        size = f"{self.bound} {counted(self.estimate, 'ground clause')}"
        return f"{self.shape}\n  {counted(self.clauses, 'clause')}, {size}"

    def __str__(self) -> str:
        return markup.printable(f"{self!r}\n{self.sql}\n{self.plan}")

    def _repr_html_(self) -> str:
        size = f"{self.bound} {counted(self.estimate, 'ground clause')}"
        rows = [("shape", self.shape), ("clauses", f"{self.clauses:,}"), ("size", size)]
        return markup.pairs(rows) + self.in_full()

    def in_full(self) -> str:
        """Return the SQL and the plan as HTML that opens on a click."""
        return markup.details("SQL", markup.preformatted(self.sql)) + markup.details(
            "plan", markup.preformatted(self.plan)
        )


class Explanations(Sequence[Explanation]):
    """The explanations of a model's shapes, which print as a table; each item has the SQL and the plan."""

    def __init__(self, items: Iterable[Explanation]) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...

    @overload
    def __getitem__(self, index: slice) -> Explanations: ...

    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        return Explanations(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def table(self) -> Table:
        """Return the sizes as a table: `shape`, `clauses`, `bound` (`at most` or `about`), `estimate` (ground clauses)."""
        small = all(x.estimate < 2**63 for x in self)
        columns = {
            "shape": pa.array([x.shape for x in self], pa.string()),
            "clauses": pa.array([x.clauses for x in self], pa.int64()),
            "bound": pa.array([x.bound for x in self], pa.string()),
            "estimate": pa.array([x.estimate for x in self], pa.int64() if small else pa.decimal128(38)),
        }
        return Table(pa.table(columns), title="grounding", limit=max(len(self), 1))

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        table: str = self.table()._repr_html_()
        return table + "".join(markup.details(each.shape, each.in_full()) for each in self)


def explain(program: Program) -> Iterator[Explanation]:
    """Yield an explanation for each shape of a program that has an open literal."""
    unlisted = _unlisted(program)
    for shape_plan in plans(Extent(program)):
        use, query = shape_plan.use, shape_plan.plan.query
        number = program.clauses_of(use)
        joined = enumerated(bind(use.shape, unlisted, use.bound.unknown, use.parameters))[0]
        bounds = []
        if _is_counted(joined, number * domain_bound(use.bound)):
            bounds.append(sum(n for _, n in run_counts(program, use, joined.query)))
        helpers = _most_by_helpers(program, use.bound)
        if helpers is not None and number * helpers < 2**127:
            bounds.append(number * helpers)
        most = min(bounds, default=None)
        yield _explain(program.engine, str(use.shape), number, query, most)
    # A template without clauses is shown as it will be expanded: the join in which its `+` variables are free has a row for each ground clause.
    for i, bound in enumerate(program.features):
        if bound.feature.plus and i not in program.feature_of:
            for instance in bound.instances:
                yield _explain_template(program, bound, instance)


def _explain_template(program: Program, bound: BoundFeature, instance: Instance) -> Explanation:
    """Explain a clause of a template that is not expanded."""
    layout, constants = program.layout, program.constants.single_row(instance)
    query = expand(instance, layout, plus=bound.feature.plus, constants=constants)
    query.set("distinct", None)
    shape = f"{instance.shape} (template)"
    # A `+` variable that the clause does not mention ranges over its type.
    kinds = dict(bound.feature.variables)
    missing = [kinds[name] for name in bound.feature.plus if Variable(name, plus=True) not in instance.arguments]
    times = prod(layout.types[kind].size for kind in missing)
    joined, most = template_rows(instance, _unlisted(program), constants=constants), None
    domain = domain_bound(bind(instance.shape, layout)) * prod(
        layout.types[kind].size for kind in instance.shape.parameters
    )
    if _is_counted(joined, domain * times):
        counts = program.engine.fetch(joined.query, step=f"count {shape}").column("n").to_pylist()
        most = times * sum(int(n or 0) for n in counts)
    return _explain(program.engine, shape, 0, query, most)


def _unlisted(program: Program) -> Layout:
    """Return the layout in which no count reads helper predicates, which may be planned only: every tuple has an atom."""
    helpers = {info.name: replace(info, open=True, full_scope=True) for info in program.helpers}
    return replace(program.layout, predicates={**program.layout.predicates, **helpers})


def _most_by_helpers(program: Program, bound: BoundShape) -> int | None:
    """Bound the ground clauses of a shape by the atoms or facts of a negative helper literal; None if it has none."""
    helpers = {info.name: info for info in program.helpers}
    found = []
    for literal in (x for x in bound.shape.literals if not x.positive and x.predicate in helpers):
        others = set(bound.variables) - {slot for _, slot in bound.columns(literal)}
        info = helpers[literal.predicate]
        size = info.atom_count if info.open else info.rows
        found.append(size * prod(domain_size(bound, slot) for slot in others))
    return min(found, default=None)


def _is_counted(joined: Enumerated, domain: int) -> bool:
    """Return whether a bound is counted: it takes no large join, and fits into 128 bits."""
    return (joined.cheap or domain <= SMALL) and domain < 2**127


def _explain(engine: QueryEngine, shape: str, clauses: int, query: exp.Select, most: int | None) -> Explanation:
    estimate, plan = engine.estimate(query, step=f"explain {shape}")
    sql = query.sql(dialect=engine.dialect, pretty=True)
    return Explanation(shape, clauses, estimate if most is None else most, sql, plan, at_most=most is not None)
