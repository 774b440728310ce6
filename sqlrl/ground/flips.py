"""How n of each clause changes if one query atom alone flips, for all atoms at once, by one query a shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sqlrl.engine.nodes import column, conjunction, subquery
from sqlrl.errors import CountOverflowError
from sqlrl.ground.completion import Definition, completed_world, definitions
from sqlrl.ground.counts import check_enumerated, overflow_named, rule_place
from sqlrl.ground.helpers import held
from sqlrl.ground.network import IntArray
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.ground.rows import INT64_MAX
from sqlrl.plan import flips as plan
from sqlrl.plan.sources import OBSERVED, World, argument_columns, table
from sqlrl.progress import staged


def flip_differences(extent: Extent, world: World = OBSERVED) -> pa.Table:
    r"""Return for each clause and query atom n after the flip of that atom alone minus n before, touching only what it changes.

    Helper atoms, which no atom table shows, follow the atom that flips; blocks do not hold it back. An atom without a label is
    false in the observed world; helper atoms that the world lists are ignored.

    Columns `clause`, `atom`, `delta` (int64), ascending by clause, then atom; `atom` is the id in the atom table. Pairs that
    have no row have a difference of 0. A CountOverflowError (a difference does not fit into 64 bits, or what it adds up not
    into 128) and a GroundingLimitError (more groundings than the limit would be enumerated) name the clause.

    Examples
    --------
    Anna and her friend Bob smoke, Bob's friend Chris does not, which violates one grounding:

    >>> flip_differences(Extent(sample_program(PEOPLE, ["Smokes"], FRIENDS))).to_pydict()
    {'clause': [0], 'atom': [3], 'delta': [1]}
    """
    program, none = extent.program, np.zeros(0, np.int64)
    found = [(none, none, none)]
    with completed_world(program, world) as complete, _helper_flips(program, complete) as helpers:
        for use in staged("counting what flips change", program.shapes.values()):
            if not use.bound.opened:
                continue
            check_enumerated(extent, use, plan.enumerated_by_flips(use.bound, extent.examples, helpers=helpers))
            query = plan.flip_differences(use.bound, complete, extent.examples, helpers=helpers)
            found.append(_run(program, use, query))
    clause, atom, violated = map(np.concatenate, zip(*found, strict=True))
    return _added(program, clause, atom, -program.signs()[clause] * violated)


@contextmanager
def _helper_flips(program: Program, world: World) -> Iterator[plan.Helpers]:
    """Show how helper atoms change if a query atom flips, a table for each helper predicate, while the context is open."""
    found: dict[str, plan.HelperFlips] = {}
    with ExitStack() as stack:
        for definition in definitions(program):
            name, query, roots = _helper(program, definition, world, found)
            found[name] = plan.HelperFlips(stack.enter_context(program.shown(query)), roots)
        yield found


def _helper(
    program: Program, definition: Definition, world: World, known: plan.Helpers
) -> tuple[str, exp.Select, frozenset[str]]:
    """Plan how the atoms of a helper change: those that it has, with their arguments, and the atom that flips."""
    name, variables, body = definition
    info = program.layout.predicates[name]
    assert info.atoms is not None
    instance, bound, slots, names = held(program.layout, variables, body)
    parameters = program.constants.single_row(instance)
    changed = plan.helper_flips(bound, slots, world, parameters=parameters, helpers=known)
    # A constant example is no argument: it stands in the example's column.
    columns = [*names, "example"][: len(slots)]
    on = conjunction(exp.EQ(this=column(f"x{i}", "t"), expression=column(c, "a")) for i, c in enumerate(columns))
    query = exp.select(column("atom", "t"), *(column(c, "a") for c in argument_columns(info)), column("change", "t"))
    query = query.from_(table(info.atoms, "a")).join(subquery(changed, "t"), on=on or exp.true())
    return name, query, plan.roots_of(instance.shape.exists[0].literals, program.layout, known)


def _run(program: Program, use: ShapeUse, query: exp.Select) -> tuple[IntArray, IntArray, IntArray]:
    """Run the query of a shape and return clauses, atoms, and how many more groundings are violated."""
    with overflow_named(program, use):
        data = program.engine.fetch(query, step=f"flip the atoms of {use.shape}")
    counts = data.column("n").combine_chunks()
    large = pc.greater(pc.abs(counts), pa.scalar(Decimal(INT64_MAX), counts.type))
    if pc.any(large).as_py():
        row = pc.index(large, True).as_py()
        clause = use.clauses[0] if use.parameters is None else data.column("clause")[row].as_py()
        raise _overflow(program, clause, int(counts[row].as_py()))
    n, atom = counts.cast(pa.int64()).to_numpy(), data.column("atom").to_numpy()
    if use.parameters is not None:
        return data.column("clause").to_numpy(), atom, n
    times = len(use.clauses)
    return np.repeat(np.array(use.clauses, dtype=np.int64), len(n)), np.tile(atom, times), np.tile(n, times)


def _added(program: Program, clause: IntArray, atom: IntArray, change: IntArray) -> pa.Table:
    """Add up the rows of a clause and atom, which come from several shapes of one formula, in key order."""
    order = np.lexsort((atom, clause))
    clause, atom, change = clause[order], atom[order], change[order]
    first = np.flatnonzero(np.r_[True, (clause[1:] != clause[:-1]) | (atom[1:] != atom[:-1])][: len(clause)])
    if len(first) < len(clause):
        total = np.add.reduceat(change, first)
        exact = np.add.reduceat(change.astype(np.float64), first)
        for i in np.flatnonzero(np.abs(exact) > INT64_MAX / 2).tolist():
            n = sum(change[first[i] : first[i + 1] if i + 1 < len(first) else None].tolist())
            if abs(n) > INT64_MAX:
                raise _overflow(program, int(clause[first[i]]), n)
        clause, atom, change = clause[first], atom[first], total
    kept = change != 0
    return pa.table({"clause": clause[kept], "atom": atom[kept], "delta": change[kept]})


def _overflow(program: Program, clause: int, n: int) -> CountOverflowError:
    place = rule_place(program, program.feature_of[clause])
    return CountOverflowError(
        f"the flip of an atom changes n of {place} by {abs(n):,}, which does not fit into 64 bits"
    )
