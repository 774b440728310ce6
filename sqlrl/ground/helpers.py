"""Helper predicates: their atoms as tables, and the hard clauses that make them functions of other atoms.

`h(x) <=> EXIST y (K(x, y))` becomes `!h(x) v EXIST y (K)` and `h(x) v !K`. Where K has several open literals, a predicate of
the witnesses, `k(x, y) <=> K(x, y)`, stands between.

A helper has atoms only where its definition can be true: for the tuples that the closed literals of K, and its literals with a
scope, join. Elsewhere it is false, as every atom outside a scope is.

Where K has closed literals alone, the evidence decides the helper: it is a closed predicate, with facts and without clauses. An
atom would have to belong to one example, and what K says may be the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from sqlrl.catalog.layout import Layout, PredicateInfo, TableName
from sqlrl.catalog.sizes import greater_limit, memory_of
from sqlrl.engine.base import QueryEngine
from sqlrl.engine.nodes import column, conjunction, integer, named, subquery, table
from sqlrl.errors import GroundingLimitError, OverflowEngineError, Parameter
from sqlrl.ground.counts import unjoined
from sqlrl.logic.shapes import Instance, ShapeEquality, ShapeExists, ShapeLiteral, Slot, in_given_order
from sqlrl.logic.terms import Clause, EqualityLiteral, ExistsLiteral, Helper, Literal, Variable
from sqlrl.plan.bounds import domain_bound, enumerated
from sqlrl.plan.slots import BoundShape, bind
from sqlrl.plan.sources import OBSERVED, POSSIBLE
from sqlrl.plan.tuples import Conjunction, holding
from sqlrl.wording import counted

JOINED = 10_000_000
"""As many tuples are joined to bound the atoms that are only planned, where that takes a join."""

# Makes the one-row parameter table of an instance's constants.
Constants = Callable[[Instance], TableName | None]

Variables = tuple[tuple[str, str], ...]


# ---- how many atoms a helper can have, counted before any is made ------------------------------------


@dataclass(frozen=True)
class HelperSize:
    """A bound on the atoms of a helper predicate."""

    atoms: int
    names: tuple[str, ...]  # what the rule calls the variables of the predicate
    free: tuple[str, ...]  # those of the rule's variables that no closed literal of the definition joins


def most_atoms(
    engine: QueryEngine,
    layout: Layout,  # knows the predicates of the definition
    name: str,  # of the helper predicate, or of that of its witnesses, as are `variables`
    variables: tuple[tuple[str, str], ...],
    helper: Helper,
    constants: Constants,
    enough: int,  # a bound that is not above it is not improved
    joined: int | None = None,  # what joins more tuples, as far as domain sizes tell, is not counted
) -> HelperSize:
    """Bound the atoms of a helper predicate by the domains of its variables and by what its definition joins."""
    hidden = any(info.example_column for info in layout.predicates.values())
    nowhere = TableName(*layout.scratch, "")
    types = tuple(kind for _, kind in variables)
    # Every tuple has an atom here, so that no query reads its table.
    stand_in = PredicateInfo(name, types, True, nowhere, nowhere, example_column=hidden)
    known = replace(layout, predicates={**layout.predicates, name: stand_in})
    head = Literal(name, tuple(Variable(n) for n, _ in variables))
    below = dict((*helper.variables, *helper.definition.variables))
    called = dict(zip(below, (n.replace("$", "") for n in helper.called), strict=True))
    size: int | None = None
    free: tuple[str, ...] = ()
    for clause in (
        Clause(variables, (head,)),
        Clause(tuple(below.items()), (head, *map(_negated, helper.definition.conjunction))),
    ):
        instance = in_given_order(clause, known.type_of, known.example_type)
        planned = bind(instance.shape, known)
        if size is None:
            size = domain_bound(planned)
        if size <= enough:
            break
        bound = enumerated(planned.with_parameters(constants(instance)))[0]
        if joined is not None and not bound.cheap and domain_bound(planned) > joined:
            continue
        free = tuple(called[list(below)[slot.index]] for slot in bound.free)
        try:
            rows = engine.fetch(bound.query, step=f"count the atoms of {name}").column("n").to_pylist()
        except OverflowEngineError:
            continue
        size = min(size, sum(int(n or 0) for n in rows))
    assert size is not None, "there is a first clause"
    return HelperSize(size, tuple(called[n] for n, _ in variables), free)


def _beyond_all(made: int, more: int, limit: int) -> tuple[str, str]:
    """Return what more atoms than the limit on all of them exceed, and what to do about it."""
    beside = f" beside {counted(made, 'atom')}" if made else ""
    return (
        f"{memory_of(more)}{beside}, more than the limit of {limit:,} on all atoms",
        f"narrow a scope, load fewer examples, {greater_limit(made + more)}",
    )


def _too_many(size: HelperSize, limit: int, subject: str, beyond: tuple[str, str] | None = None) -> str:
    """Return the message about more helper atoms than a limit; `beyond` is what they exceed otherwise, and the remedy."""
    excess, remedy = beyond or (f"more than the limit of {limit:,}", f"narrow a scope, or raise {Parameter('limit')}")
    each = f"one for each ({', '.join(size.names)})" if size.names else "one for each example"
    return (
        f"{subject} needs up to {counted(size.atoms, 'helper atom')}, {each}, {excess}: "
        f"inside it, {unjoined(size.free, remedy)}"
    )


def _negated(part: Literal | EqualityLiteral) -> Literal | EqualityLiteral:
    """Return a literal with the other sign."""
    return replace(part, positive=not part.positive)


# ---- helpers -----------------------------------------------------------------------------------------


class HelperTables:
    """Adds helper predicates to `layout`, definitions before uses; `tables` and `views` are what it created."""

    def __init__(
        self,
        engine: QueryEngine,
        layout: Layout,
        prefix: str,  # of the names of tables
        constants: Constants,
        *,
        limit: int | None = None,  # most atoms of a helper, beside the layout's limit on all atoms
        planned: bool = False,  # views in place of tables of atoms, which nothing lists; then there is no limit
    ) -> None:
        self.engine, self.layout = engine, layout
        self.tables, self.views = list[TableName](), list[TableName]()
        self._prefix, self._constants, self._limit, self._planned = prefix, constants, limit, planned
        self._next = 1 + sum(p.atom_count for p in layout.predicates.values())

    def add(self, helper: Helper, place: str) -> tuple[Clause, ...]:
        """Create a helper and return its defining hard clauses, none if known or closed; `place` names its rule in errors."""
        if helper.name in self.layout.predicates:
            return ()
        definition, clauses = helper.definition, list[Clause]()
        opened = [p for p in definition.conjunction if isinstance(p, Literal) and self._open(p)]
        if len(opened) > 1:
            definition = self._add_witnesses(helper, opened, clauses, place)
        most = self._most_atoms(helper.name, helper.variables, helper, f"{place}: its quantifier")
        if not opened:
            self._create_closed(helper, most)
            return ()
        self._create(helper.name, helper.variables, helper.definition, most)
        head = tuple(Variable(name) for name, _ in helper.variables)
        clauses.append(Clause(helper.variables, (Literal(helper.name, head, False), definition)))
        below = (*helper.variables, *definition.variables)
        clauses.append(Clause(below, (Literal(helper.name, head), *map(_negated, definition.conjunction))))
        return tuple(clauses)

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Forget and drop what a context that fails has created."""
        layout, number, tables, views = self.layout, self._next, len(self.tables), len(self.views)
        try:
            yield
        except BaseException:
            self._drop(tables, views)
            self.layout, self._next = layout, number
            raise

    def close(self) -> None:
        """Drop what was created."""
        self._drop(0, 0)

    def _drop(self, tables: int, views: int) -> None:
        """Drop all but the first tables and views."""
        for name in self.tables[tables:]:
            self.engine.drop_table(name, step="drop scratch tables")
        for name in self.views[views:]:
            self.engine.drop_view(name, step="drop scratch tables")
        del self.tables[tables:], self.views[views:]

    def _most_atoms(self, name: str, variables: Variables, helper: Helper, subject: str) -> int:
        """Return a bound on the atoms of a helper, or of its witnesses; refuse more than the limit."""
        made = self._next - 1
        room = max(self.layout.atom_limit - made, 0)
        limit = room if self._limit is None else min(self._limit, room)
        enough, joined = (0, JOINED) if self._planned else (limit, None)
        size = most_atoms(self.engine, self.layout, name, variables, helper, self._constants, enough, joined)
        if size.atoms > limit and not self._planned:
            beyond = _beyond_all(made, size.atoms, self.layout.atom_limit) if size.atoms > room else None
            raise GroundingLimitError(_too_many(size, limit, subject, beyond))
        return size.atoms

    def _open(self, literal: Literal) -> bool:
        return self.layout.predicates[literal.predicate].open

    def _add_witnesses(
        self, helper: Helper, open_literals: Sequence[Literal], clauses: list[Clause], place: str
    ) -> ExistsLiteral:
        """Create the predicate of a helper's witnesses; return the definition over it."""
        definition = helper.definition
        name, variables, everything = witness_definition(helper)
        head = tuple(Variable(n) for n, _ in variables)
        most = self._most_atoms(name, variables, helper, f"{place}: its quantifier, for its witnesses,")
        self._create(name, variables, everything, most)
        clauses.extend(Clause(variables, (Literal(name, head, False), literal)) for literal in open_literals)
        clauses.append(Clause(variables, (Literal(name, head), *map(_negated, definition.conjunction))))
        return ExistsLiteral(definition.variables, (Literal(name, head),))

    def _create(self, name: str, variables: Variables, definition: ExistsLiteral, most: int) -> None:
        """Create the tables of a helper: an atom for each value of its variables for which its definition can be true."""
        catalog, schema = self.layout.scratch
        number = len(self.tables) + len(self.views)
        facts = TableName(catalog, schema, f"{self._prefix}_facts_{number}")
        atoms = TableName(catalog, schema, f"{self._prefix}_atoms_{number}")
        query, hidden, full = self._rows(variables, definition)
        self.tables.append(facts)
        self._list(atoms, query, f"the atoms of {name}")
        none = {f"a{i}": pa.array([], pa.int32()) for i in range(len(variables))}
        if hidden:
            none["example"] = pa.array([], pa.int32())
        none |= {"truth": pa.array([], pa.bool_()), "given": pa.array([], pa.bool_())}
        self.engine.create_table(facts, pa.table(none), step=f"create {name}")
        count = most
        if not self._planned:
            count = self._count(atoms)
            self._next += count
        types = tuple(kind for _, kind in variables)
        info = PredicateInfo(name, types, True, facts, atoms, example_column=hidden, full_scope=full, atom_count=count)
        self.layout = replace(self.layout, predicates={**self.layout.predicates, name: info})

    def _create_closed(self, helper: Helper, most: int) -> None:
        """Create the facts of a helper that the evidence decides: the values of its variables for which its definition is true."""
        catalog, schema = self.layout.scratch
        facts = TableName(catalog, schema, f"{self._prefix}_facts_{len(self.tables) + len(self.views)}")
        query, hidden = self._facts(helper)
        self._list(facts, query, f"the facts of {helper.name}")
        rows = most if self._planned else self._count(facts)
        types = tuple(kind for _, kind in helper.variables)
        info = PredicateInfo(helper.name, types, False, facts, example_column=hidden, rows=rows)
        self.layout = replace(self.layout, predicates={**self.layout.predicates, helper.name: info})

    def _list(self, rows: TableName, query: exp.Select, what: str) -> None:
        """Create a table of rows, or a view where they are only planned."""
        if self._planned:
            self.views.append(rows)
            self.engine.create_view(rows, query, step=f"plan {what}")
        else:
            self.tables.append(rows)
            self.engine.create_table(rows, query, step=f"create {what}")

    def _facts(self, helper: Helper) -> tuple[exp.Select, bool]:
        """Plan the facts of a helper, and tell whether they have a hidden example column."""
        instance, bound, slots, names = bind_definition(self.layout, helper.variables, helper.definition)
        # A constant example among the slots is no column: facts are told apart by their arguments.
        witnesses = Conjunction.of(instance.shape.exists[0], slots[: len(names)])
        true = holding(bound, witnesses, OBSERVED, parameters=self._constants(instance), prefix="t")
        shown = [named(column(f"x{i}", "t"), name) for i, name in enumerate(names)]
        query = exp.select(*(shown or [named(column("one", "t"), "one")])).from_(subquery(true, "t"))
        return query, bound.hidden is not None

    def _count(self, rows: TableName) -> int:
        size = exp.select(named(exp.Count(this=exp.Star()), "n")).from_(table(rows))
        return int(self.engine.fetch(size, step="count helper atoms").column(0)[0].as_py())

    def _rows(self, variables: Variables, definition: ExistsLiteral) -> tuple[exp.Select, bool, bool]:
        """Plan the rows of an atom table with observed truth; tell if it has an example column, and if it has all tuples."""
        instance, bound, slots, names = bind_definition(self.layout, variables, definition)
        group = instance.shape.exists[0]
        parameters = self._constants(instance)
        witnesses = Conjunction.of(group, slots)
        literals, equal = narrowing(bound, slots, group)
        mentioned = {slot for x in literals for _, slot in bound.columns(x)}
        possible = Conjunction(slots, literals, equal, [slot for slot in witnesses.inside if slot in mentioned])
        rows = holding(bound, possible, POSSIBLE, parameters=parameters, prefix="r")
        truth = holding(bound, witnesses, OBSERVED, parameters=parameters, prefix="t")
        place = next((i for i, slot in enumerate(slots) if bound.is_example(slot)), None)
        query = self._numbered(rows, truth, names, place, len(slots))
        return query, bound.hidden is not None, not (literals or equal)

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


def bind_definition(
    layout: Layout, variables: Variables, definition: ExistsLiteral
) -> tuple[Instance, BoundShape, list[Slot], list[str]]:
    """Bind a definition: return its clause, bound shape, the slots that identify an atom, and columns of the first of these."""
    instance = in_given_order(Clause(variables, (definition,)), layout.type_of, layout.example_type)
    bound = bind(instance.shape, layout)
    slots = [Slot(False, i) for i in range(len(variables))]
    names = [f"a{i}" for i in range(len(variables))]
    # The example is part of what identifies an atom where it is none of the variables.
    if bound.hidden is not None:
        slots.append(bound.hidden)
        names.append("example")
    if not any(map(bound.is_example, slots)):
        # The example may be a constant: its column is no argument, but the atoms belong to it.
        constant = (Slot(True, i) for i in range(len(instance.shape.parameters)))
        slots += [slot for slot in constant if bound.is_example(slot)][:1]
    return instance, bound, slots, names


def witness_definition(helper: Helper) -> tuple[str, Variables, ExistsLiteral]:
    """Return name, variables and definition of the predicate of a helper's witnesses."""
    definition = helper.definition
    variables = (*helper.variables, *definition.variables)
    return f"{helper.name} witness", variables, ExistsLiteral((), definition.conjunction)


def narrowing(
    bound: BoundShape, slots: Sequence[Slot], group: ShapeExists
) -> tuple[list[ShapeLiteral], list[ShapeEquality]]:
    """Return the parts of a definition that limit, in any world, the values of `slots` for which it can be true."""

    def variables(part: ShapeLiteral | ShapeEquality) -> set[Slot]:
        found = (part.left, part.right) if isinstance(part, ShapeEquality) else [s for _, s in bound.columns(part)]
        return {slot for slot in found if not slot.parameter}

    known = {slot for slot in slots if not slot.parameter}
    # Literals that do not hold for every tuple, as far as shared variables tie them to `slots`; then what else has no
    # other variables, and so narrows what they join.
    positive = [x for x in group.literals if x.positive and not (bound.info(x).open and bound.info(x).full_scope)]
    joined: list[ShapeLiteral] = []
    while tied := [x for x in positive if x not in joined and variables(x) & known]:
        joined += tied
        known |= {slot for x in tied for slot in variables(x)}
    joined += [x for x in group.literals if not (x.positive or bound.info(x).open) and variables(x) <= known]
    return joined, [x for x in group.equalities if variables(x) <= known]
