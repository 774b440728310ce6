"""Helper predicates: their atoms as tables, and the hard clauses that make them functions of other atoms.

`h(x) <=> EXIST y (K(x, y))` becomes `!h(x) v EXIST y (K)` and `h(x) v !K`. Where K has several open literals, a predicate of
the witnesses, `k(x, y) <=> K(x, y)`, stands between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.engine.base import Engine
from sqlrl.engine.nodes import column, conjunction, integer, named, subquery
from sqlrl.logic.shapes import Instance, Slot, in_given_order
from sqlrl.logic.terms import Clause, EqualityLiteral, ExistsLiteral, Helper, Literal, Variable
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sql import table
from sqlrl.plan.tuples import holding
from sqlrl.plan.worlds import OBSERVED

Part = Literal | EqualityLiteral
Constants = Callable[[Instance], TableName | None]


class HelperTables:
    r"""Adds helper predicates to a layout, definitions before uses.

    Parameters
    ----------
    engine : Engine
    layout : Layout
    prefix : str
        Starts the names of the tables.
    constants : callable
        Makes the one-row parameter table of an instance's constants.

    Attributes
    ----------
    layout : Layout
        With the helpers so far.
    tables : list of TableName
        What was created.

    Examples
    --------
    >>> from sqlrl.ground.sample import FRIENDS, PEOPLE, sample_program
    >>> text = PEOPLE + "\n1 Smokes(x) <=> (EXIST y (Friends(x, y) ^ Smokes(y)))"
    >>> program = sample_program(text, ["Smokes"], FRIENDS)  # makes one
    >>> len(program.helper_names), [feature.hard for feature in program.features]
    (1, [False, False, True, True])
    """

    def __init__(self, engine: Engine, layout: Layout, prefix: str, constants: Constants) -> None:
        self.engine, self.layout, self.tables = engine, layout, list[TableName]()
        self._prefix, self._constants = prefix, constants
        self._next = 1 + sum(p.atom_count for p in layout.predicates.values())

    def add(self, helper: Helper) -> tuple[Clause, ...]:
        """Create the atoms of a helper and return its defining hard clauses; none if it is known already."""
        if helper.name in self.layout.predicates:
            return ()
        definition, clauses = helper.definition, list[Clause]()
        opened = [p for p in definition.conjunction if isinstance(p, Literal) and self._open(p)]
        if len(opened) > 1:
            definition = self._add_witnesses(helper, opened, clauses)
        self._create(helper.name, helper.variables, helper.definition, scope=None)
        head = tuple(Variable(name) for name, _ in helper.variables)
        clauses.append(Clause(helper.variables, (Literal(helper.name, head, False), definition)))
        below = (*helper.variables, *definition.variables)
        clauses.append(Clause(below, (Literal(helper.name, head), *map(_negated, definition.conjunction))))
        return tuple(clauses)

    def _open(self, literal: Literal) -> bool:
        return self.layout.predicates[literal.predicate].open

    def _add_witnesses(self, helper: Helper, opened: Sequence[Literal], clauses: list[Clause]) -> ExistsLiteral:
        """Create the predicate of a helper's witnesses; return the definition over it."""
        definition = helper.definition
        name, variables, everything = witness_definition(helper)
        head = tuple(Variable(n) for n, _ in variables)
        self._create(name, variables, everything, scope=[p for p in definition.conjunction if p not in opened])
        clauses.extend(Clause(variables, (Literal(name, head, False), literal)) for literal in opened)
        clauses.append(Clause(variables, (Literal(name, head), *map(_negated, definition.conjunction))))
        return ExistsLiteral(definition.variables, (Literal(name, head),))

    def _create(
        self,
        name: str,
        variables: tuple[tuple[str, str], ...],
        definition: ExistsLiteral,
        *,
        scope: Sequence[Part] | None,
    ) -> None:
        """Create the tables of a helper: an atom for each value of its variables (for which the scope holds)."""
        catalog, schema = self.layout.scratch
        number = len(self.tables)
        facts = TableName(catalog, schema, f"{self._prefix}_facts_{number}")
        atoms = TableName(catalog, schema, f"{self._prefix}_atoms_{number}")
        self.tables += [facts, atoms]
        query, hidden = self._rows(variables, definition, scope)
        self.engine.create_table(catalog, schema, atoms.name, query, step=f"create the atoms of {name}")
        none = {f"a{i}": pa.array([], pa.int32()) for i in range(len(variables))}
        if hidden:
            none["example"] = pa.array([], pa.int32())
        none |= {"truth": pa.array([], pa.bool_()), "given": pa.array([], pa.bool_())}
        self.engine.create_table(catalog, schema, facts.name, pa.table(none), step=f"create {name}")
        size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(table(atoms))
        count = int(self.engine.fetch(size, step="count helper atoms").column(0)[0].as_py())
        self._next += count
        types = tuple(kind for _, kind in variables)
        info = PredicateInfo(
            name, types, True, facts, atoms, example_column=hidden, full_scope=scope is None, atom_count=count
        )
        self.layout = replace(self.layout, predicates={**self.layout.predicates, name: info})

    def _rows(
        self, variables: tuple[tuple[str, str], ...], definition: ExistsLiteral, scope: Sequence[Part] | None
    ) -> tuple[exp.Select, bool]:
        """Plan the rows of an atom table with the observed truth; also tell whether it has a hidden example column."""
        instance, bound, slots, names = held(self.layout, variables, definition)
        group = instance.shape.exists[0]
        parameters = self._constants(instance)
        closed = tuple(x for x in group.literals if scope is not None and not bound.info(x).open)
        equal = group.equalities if scope is not None else ()
        rows = holding(bound, slots, closed, equal, OBSERVED, parameters=parameters, prefix="r")
        inside = [Slot(False, i) for i in group.variables]
        truth = holding(
            bound, slots, group.literals, group.equalities, OBSERVED, inside=inside, parameters=parameters, prefix="t"
        )
        place = next((i for i, slot in enumerate(slots) if bound.is_example(slot)), None)
        return self._numbered(rows, truth, names, place, len(slots)), bound.hidden is not None

    def _numbered(
        self, rows: exp.Select, truth: exp.Select, names: Sequence[str], place: int | None, width: int
    ) -> exp.Select:
        """Number the rows in order of example (the column at `place`) and arguments, and mark those that the truth has."""
        keys = [column(f"x{i}", "r") for i in range(width)]
        example: exp.Expression = keys[place].copy() if place is not None else integer(0)
        order = [exp.Ordered(this=key.copy(), nulls_first=False) for key in (example, *keys)]
        number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
        selected = [
            named(exp.Add(this=number, expression=integer(self._next - 1)), "atom"),
            *(named(key.copy(), name) for key, name in zip(keys, names, strict=False)),
            named(exp.Not(this=exp.Is(this=column("hit", "t"), expression=exp.null())), "truth"),
            named(exp.cast(exp.null(), exp.DataType.build("DOUBLE")), "prior"),
        ]
        if "example" not in names:
            selected.insert(1, named(example.copy(), "example"))
        marked = exp.select("*", named(exp.true(), "hit")).from_(subquery(truth, "h"))
        on = conjunction(exp.EQ(this=column(f"x{i}", "t"), expression=column(f"x{i}", "r")) for i in range(width))
        query = exp.select(*selected).from_(subquery(rows, "r"))
        return query.join(subquery(marked, "t"), on=on or exp.true(), join_type="LEFT")


def held(
    layout: Layout, variables: tuple[tuple[str, str], ...], definition: ExistsLiteral
) -> tuple[Instance, BoundShape, list[Slot], list[str]]:
    """Hold the definition of a helper against a layout.

    Returns
    -------
    Instance
        The clause that consists of the definition alone.
    BoundShape
    list of Slot
        What identifies an atom of the helper: its variables, and its example where that is none of them.
    list of str
        The columns of the first of these in the helper's atom table.
    """
    instance = in_given_order(
        Clause(variables, (definition,)), lambda predicate, i: layout.predicates[predicate].types[i]
    )
    bound = bind(instance.shape, layout)
    slots = [Slot(False, i) for i in range(len(variables))]
    names = [f"a{i}" for i in range(len(variables))]
    if bound.hidden is not None:
        slots.append(bound.hidden)
        names.append("example")
    if not any(map(bound.is_example, slots)):
        # The example may be a constant: its column is no argument, but the atoms belong to it.
        constant = (Slot(True, i) for i in range(len(instance.shape.parameters)))
        slots += [slot for slot in constant if bound.is_example(slot)][:1]
    return instance, bound, slots, names


def witness_definition(helper: Helper) -> tuple[str, tuple[tuple[str, str], ...], ExistsLiteral]:
    """Return name, variables and definition of the predicate of a helper's witnesses."""
    definition = helper.definition
    variables = (*helper.variables, *definition.variables)
    return f"{helper.name} witness", variables, ExistsLiteral((), definition.conjunction)


def _negated(part: Part) -> Part:
    return replace(part, positive=not part.positive)
