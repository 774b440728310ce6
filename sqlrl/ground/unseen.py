"""Template constants that a learned model has never seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from sqlrl import markup
from sqlrl.catalog.layout import TableName
from sqlrl.engine.nodes import column, integer, named, subquery, table
from sqlrl.ground.program import BoundFeature, Extent, Program
from sqlrl.ground.rows import AtomIndex, read_batch
from sqlrl.logic.shapes import Instance
from sqlrl.logic.terms import Constant, Literal
from sqlrl.plan.grounding import GroundingQuery, ground, open_literals
from sqlrl.plan.slots import bind

_ROWS = 131_072
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Unseen:
    """How many combinations and atoms of some examples the templates of a learned model have not seen."""

    combinations: int  # of template constants that the examples leave open and that have no clause
    atoms: int  # query atoms in a ground clause of such a combination, also those that a quantifier in it is about
    _repr_html_ = markup.field_table


def unseen(extent: Extent) -> Unseen:
    """Count the combinations of template constants that have no clause, and the query atoms that they touch."""
    program, combinations, touched = extent.program, 0, None
    for i, bound in listed_templates(program):
        query = program.new_combinations(i, extent.examples)
        size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(subquery(query, "new"))
        count = int(program.engine.fetch(size, step="count unseen combinations").column(0)[0].as_py())
        if not count:
            continue
        combinations, touched = combinations + count, touched or Touched(extent)
        with program.rows_table(query) as new:
            for instance in bound.instances:
                touched.add(instance, *_parameters(program, bound.feature.plus, instance, new))
    return Unseen(combinations, touched.count() if touched is not None else 0)


def listed_templates(program: Program) -> Iterator[tuple[int, BoundFeature]]:
    """Yield the templates of a program that have a list of clauses to which examples would add, with their places."""
    # Templates without a list of clauses grow by themselves, and no example adds to those of a structure learner.
    for i, bound in enumerate(program.features):
        if bound.expansions is not None and not bound.expansions.found and bound.instances:
            yield i, bound


def _parameters(
    program: Program, plus: tuple[str, ...], instance: Instance, new: TableName
) -> tuple[exp.Select | None, frozenset[int]]:
    """Return a clause's parameter rows for new combinations (None without parameters), and parameters unknown to the data."""
    selected: list[exp.Expression] = [named(exp.cast(exp.Literal.number(0), exp.DataType.build("BIGINT")), "clause")]
    unknown = set[int]()
    for k, (kind, term) in enumerate(zip(instance.shape.parameters, instance.arguments, strict=True)):
        if isinstance(term, Constant):
            identity = program.constants.of(kind)[term.name]
            unknown |= {k} if identity < 0 else set()
            value: exp.Expression = integer(identity)
        else:
            value = column(f"plus{plus.index(term.name)}")
        selected.append(named(value, f"k{k}"))
    rows = exp.select(*selected).distinct().from_(table(new)) if instance.shape.parameters else None
    return rows, frozenset(unknown)


class Touched:
    """The query atoms in ground clauses that no model has."""

    def __init__(self, extent: Extent) -> None:
        program = extent.program
        self._program, self._examples = program, extent.examples
        self._atoms = sum(info.atom_count for info in program.public_layout.predicates.values())
        # Helper atoms have the ids after those of query atoms.
        size = sum(info.atom_count for info in program.layout.predicates.values())
        self._index = AtomIndex(np.arange(1, size + 1))
        self._touched: BoolArray = np.zeros(size + 1, np.bool_)

    def add(self, instance: Instance, parameters: exp.Select | None, unknown: frozenset[int] = frozenset()) -> None:
        """Add the atoms, helper atoms too, in a clause's ground clauses; `unknown` parameters have constants not in the data."""
        bound, examples = bind(instance.shape, self._program.layout), self._examples
        if parameters is None:
            self._read(instance, ground(bound, examples))
            return
        with self._program.rows_table(parameters) as rows:
            self._read(instance, ground(bound.with_parameters(rows, unknown), examples))

    def count(self) -> int:
        """Return the number of query atoms; a helper atom stands for those that its definition is about."""
        if self._touched[self._atoms + 1 :].any():
            # Definitions come before their uses: from the last to the first, no helper atom comes too late to be followed.
            for bound in reversed(self._program.features):
                if bound.rule is None:
                    self._follow(bound)
        return int(self._touched[1 : self._atoms + 1].sum())

    def _follow(self, definition: BoundFeature) -> None:
        """Add the other atoms in those ground clauses of a helper's definition that define a helper atom found so far."""
        (clause,), (instance,) = definition.feature.clauses, definition.instances
        head = clause.literals[0]
        assert isinstance(head, Literal)
        parameters = self._program.constants.single_row(instance)
        bound = bind(instance.shape, self._program.layout, parameters=parameters)
        place = [x.predicate for x in open_literals(bound)].index(head.predicate)
        self._read(instance, ground(bound, self._examples), head=f"l{place}")

    def _read(self, instance: Instance, plan: GroundingQuery, head: str | None = None) -> None:
        """Add the atoms of ground clauses; with `head` only of those whose atom in that column was found before."""
        for batch in self._program.engine.stream(plan.query, step=f"read the atoms of {instance.shape}", rows=_ROWS):
            mine = batch if head is None else batch.filter(pa.array(self._touched[batch.column(head).to_numpy()]))
            self._touched[np.abs(read_batch(mine, plan, self._index, 0).literals)] = True
