"""What grounding a model would do: SQL, plans and estimates, before any work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.engine.base import Engine
from sqlrl.ground.assemble import plans
from sqlrl.ground.program import Program
from sqlrl.plan.expansion import expand
from sqlrl.report import Table


@dataclass(frozen=True, repr=False)
class Explanation:
    """How the clauses of one shape are grounded; `str()` shows everything, `repr()` the sizes.

    Parameters
    ----------
    shape : str
    clauses : int
        Clauses of the shape; 0 for a template before its expansion.
    estimate : int
        DuckDB's estimate of the number of ground clauses.
    sql : str
    plan : str
        DuckDB's plan.

    Examples
    --------
    >>> Explanation("!Smokes(v0) v Cancer(v0)", 1, 1000, "SELECT ...", "...")
    !Smokes(v0) v Cancer(v0)
      1 clause, about 1,000 ground clauses
    """

    shape: str
    clauses: int
    estimate: int
    sql: str
    plan: str

    def __repr__(self) -> str:
        return f"{self.shape}\n  {_number(self.clauses, 'clause')}, about {_number(self.estimate, 'ground clause')}"

    def __str__(self) -> str:
        return f"{self!r}\n{self.sql}\n{self.plan}"

    def _repr_html_(self) -> str:
        shape, size = repr(self).split("\n")
        return (
            markup.paragraph(f"{shape}: {size.strip()}")
            + markup.details("SQL", markup.preformatted(self.sql))
            + markup.details("plan", markup.preformatted(self.plan))
        )


class Explanations(Sequence[Explanation]):
    """The explanations of a model's shapes, which print as a table; each item has the SQL and the plan.

    Parameters
    ----------
    items : iterable of Explanation

    Examples
    --------
    >>> found = Explanations([Explanation("!Smokes(v0) v Cancer(v0)", 1, 1000, "SELECT ...", "...")])
    >>> found
    grounding
    shape                     clauses  estimate
    ------------------------  -------  --------
    !Smokes(v0) v Cancer(v0)        1      1000
    >>> found[0].sql
    'SELECT ...'
    """

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
        """Return the sizes as a table: `shape`, `clauses`, `estimate` (ground clauses that DuckDB expects)."""
        columns = {
            "shape": pa.array([x.shape for x in self], pa.string()),
            "clauses": pa.array([x.clauses for x in self], pa.int64()),
            "estimate": pa.array([x.estimate for x in self], pa.int64()),
        }
        return Table(pa.table(columns), title="grounding", limit=max(len(self), 1))

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return "".join(each._repr_html_() for each in self)


def explain(program: Program) -> Iterator[Explanation]:
    """Yield an explanation for each shape of a program that has an open literal.

    A template that has no clauses yet is shown as it will be expanded: the join in which its `+` variables are free has a row
    for each ground clause.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> [each.shape for each in explain(sample_program(PEOPLE, ["Smokes"], FRIENDS))]
    ['!Friends(v0, v1) v !Smokes(v0) v Smokes(v1)']
    """
    engine = program.engine
    for shape_plan in plans(program):
        yield _explain(engine, str(shape_plan.use.shape), program.clauses_of(shape_plan.use), shape_plan.plan.query)
    for i, bound in enumerate(program.features):
        if not bound.feature.plus or i in program.feature_of:
            continue
        for instance in bound.instances:
            query = expand(
                instance,
                program.layout,
                plus=bound.feature.plus,
                constants=program.constants.single_row(instance),
            )
            query.set("distinct", None)
            yield _explain(engine, f"{instance.shape} (template)", 0, query)


def _explain(engine: Engine, shape: str, clauses: int, query: exp.Select) -> Explanation:
    estimate, plan = engine.estimate(query, step=f"explain {shape}")
    return Explanation(shape, clauses, estimate, query.sql(dialect=engine.dialect, pretty=True), plan)


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
