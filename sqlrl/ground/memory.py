"""How much memory a ground network will take, counted by joins before any of it is grounded, and what to do where that is too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlrl.engine.nodes import integer, named, star_count, subquery
from sqlrl.errors import MemoryLimitError, Parameter, SqlrlError
from sqlrl.ground.counts import check_limit, enumerations, rule_place, shape_words
from sqlrl.ground.program import Extent, Program, ShapeUse
from sqlrl.ground.rows import Budget
from sqlrl.logic.shapes import Shape
from sqlrl.plan.grounding import GroundingQuery, ground, open_literals
from sqlrl.wording import both_in_bytes, counted, in_bytes

ENTRY_BYTES = 285
"""What an atom or a literal of a network takes at the worst moment of grounding and solving it, where ground clauses or blocks join
atoms: 283 measured for minimum cuts, 180 for trees, 195 for blocks, the atom's row in the database included."""

SINGLE_BYTES = 85
"""The same where each atom stands alone: 83 measured."""

FOUND_BYTES = 45
"""What is kept of an atom of windows that are done: its id, its example and what was found of it, twice while windows are put together."""

COUNTED = 10**9
"""So many ground clauses of a shape are counted exactly at the most, where what their joins enumerate would be too many."""

QUICKLY = 10**8
"""So many stream by in a few seconds, so that the error can say how many there are."""


def entry_bytes(program: Program) -> int:
    """Return what an atom or a literal of the networks of a program takes."""
    # Learners keep what they sum beside the network: 246 measured of likelihoods and of soft learners, where each atom stands alone.
    joined = program.layout.training or program.blocks or any(open_width(use) > 1 for use in program.shapes.values())
    return ENTRY_BYTES if joined else SINGLE_BYTES


def most_entries(program: Program) -> int:
    """Return how many atoms and literals a network of a program may have."""
    return program.engine.memory.arrays // entry_bytes(program)


@dataclass(frozen=True)
class ShapeSize:
    """How many ground clauses a shape has at the most, and how many literals they have together; `clause` has the most, if that is known."""

    use: ShapeUse
    clauses: int
    literals: int
    clause: int | None = None


def network_sizes(
    extent: Extent, *, most: int = 0, merged: Mapping[Shape, GroundingQuery] | None = None
) -> list[ShapeSize]:
    """Return the sizes of shapes, largest first: by domains if these give at most `most` literals, else by joins.

    Of shapes in `merged` the rows of a query are all that there is.
    """
    program, merged = extent.program, merged or {}
    # Nothing is enumerated, and nothing counted where the sizes of domains say enough.
    found = []
    for use in program.shapes.values():
        if use.bound.is_open:
            clauses = extent.domain_bound(use)
            if use.shape in merged:
                clauses = min(clauses, _most_merged(program, use, clauses))
            found.append(ShapeSize(use, clauses, clauses * open_width(use)))
    if sum(size.literals for size in found) > most:
        found = [
            _merged(extent, size, merged[size.use.shape]) if size.use.shape in merged else _joined(extent, size.use)
            for size in found
        ]
    return sorted(found, key=lambda size: -size.literals)


def check_memory(extent: Extent, atoms: int, merged: Mapping[Shape, GroundingQuery] | None = None) -> int:
    """Return about how many bytes a network will take, or raise a MemoryLimitError before anything is grounded; `merged` as in `network_sizes`."""
    program, merged = extent.program, merged or {}
    each, most = entry_bytes(program), most_entries(program)
    if atoms > most:
        # Nothing has to be counted for that.
        raise refusal(program, atoms, atoms * each)
    sizes = network_sizes(extent, most=max(most - atoms, 0), merged=merged)
    # Joins enumerate too much: count ground clauses as they are, without a row leaving the database, if not too many.
    if atoms + sum(size.literals for size in sizes) > most:
        found = (size if size.use.shape in merged else _exact(extent, size, most) for size in sizes)
        sizes = sorted(found, key=lambda size: -size.literals)
    entries = atoms + sum(size.literals for size in sizes)
    if entries > most:
        # What the caller's own limit refuses is said first: that error names the variables that nothing joins.
        for size in sizes:
            if size.use.shape not in merged:
                check_limit(extent, size.use)
        raise refusal(program, atoms, entries * each, sizes[0] if sizes else None)
    return entries * each


def memory_budget(program: Program, atoms: int = 0) -> Budget:
    """Return the budget of a network that may be as large as memory allows: more is a MemoryLimitError, whatever counts said."""
    # What takes more was met on the way: nobody knows how much all of it would take.
    return Budget(most_entries(program), lambda: refusal(program, atoms, None))


def check_found(program: Program, examples: int) -> int:
    """Return how many atoms and literals fit beside the results of `examples` examples; none is a MemoryLimitError."""
    each, found = entry_bytes(program), _found_atoms(program, examples)
    left = (program.engine.memory.arrays - found * FOUND_BYTES) // each
    if left < 1:
        raise refusal(program, found, found * FOUND_BYTES)
    return left


def leave_to_window(program: Program, entries: int | None, examples: int) -> None:
    """Leave memory to a window of so many atoms and literals (None: as many as there may be), and to the results of `examples` examples."""
    most = program.engine.memory.arrays
    if entries is not None:
        most = min(most, entries * entry_bytes(program) + _found_atoms(program, examples) * FOUND_BYTES)
    program.engine.leave(most)


def _found_atoms(program: Program, examples: int) -> int:
    """Return about how many query atoms so many examples have."""
    layout = program.layout
    return layout.query_atoms * examples // max(layout.example_count, 1)


def refusal(program: Program, atoms: int, size: int | None, largest: ShapeSize | None = None) -> SqlrlError:
    """Return the error that a network of some atoms takes too much memory, about `size` if that is known, with the shape that has the most ground clauses."""
    memory = program.engine.memory
    place = ""
    if largest is not None and largest.clause is not None and largest.literals > atoms:
        where = rule_place(program, program.feature_of[largest.clause])
        place = f"{where} has {counted(largest.clauses, 'ground clause')} ({shape_words(program, largest.use)}), which with "
    what = "a memory limit" if memory.given else "the available memory"
    # Twice as much is the next thing to try where nobody knows.
    needed = 2 * memory.arrays if size is None else size
    enough = memory.enough(needed) // 10**9
    if size is None:
        takes = f"and their ground clauses take more than the {in_bytes(memory.arrays)}"
    else:
        would, may = both_in_bytes(size, memory.arrays)
        takes = f"would take about {would}, more than the {may}"
    rounds = (
        f", predict with {Parameter('method', 'cutting-plane', 'predict({})')}, which grounds only what is needed"
        if place
        else ""
    )
    return MemoryLimitError(
        f"{place}{counted(atoms, 'query atom')} {takes} that {what} of "
        f"{in_bytes(memory.limit)} leaves to them: pass fewer {Parameter('examples')}, give a predicate that is predicted a scope{rounds}, or allow more, "
        f"{Parameter('memory_limit', f'{enough}GB', 'connect({})')}."
    )


def open_width(use: ShapeUse) -> int:
    """Return how many open literals a ground clause of a shape has, witnesses of a quantifier counted once."""
    bound = use.bound
    groups = sum(any(bound.info(x).open for x in group.literals) for group in bound.shape.exists)
    # Witnesses are several, so that their atoms never stand alone.
    return len(open_literals(bound)) + 2 * groups


def _most_merged(program: Program, use: ShapeUse, most: int) -> int:
    """Return how many rows a query at the most has that merges the ground clauses of a shape with one open literal; `most` if values differ."""
    bound = use.bound
    if any(bound.info(x).valued for x in bound.shape.literals):
        return most
    [literal] = open_literals(bound)
    return bound.info(literal).atom_count * program.clauses_of(use)


def _merged(extent: Extent, size: ShapeSize, plan: GroundingQuery) -> ShapeSize:
    """Count the rows of a query that merges the ground clauses of a shape, of which none is listed but by the database."""
    query = exp.select(named(star_count(), "n")).from_(subquery(plan.query, "g"))
    found = extent.program.engine.fetch(query, step=f"count the merged ground clauses of {size.use.shape}")
    rows = int(found.column(0)[0].as_py()) * (1 if plan.has_clause else max(len(size.use.clauses), 1))
    return ShapeSize(size.use, rows, rows * open_width(size.use))


def _joined(extent: Extent, use: ShapeUse) -> ShapeSize:
    """Count what the joins of a shape enumerate."""
    first, *witnesses = enumerations(extent, use)
    sizes = [n for _, n in first]
    rows = sum(sizes)
    # Of each quantifier there are two counts, of which the second is of the literals in ground clauses.
    more = sum(n for found in witnesses[1::2] for _, n in found)
    clause = first[sizes.index(max(sizes))][0] if sizes else None
    return ShapeSize(use, rows, rows * len(open_literals(use.bound)) + more, clause)


def _exact(extent: Extent, size: ShapeSize, most: int) -> ShapeSize:
    """Count the ground clauses of a shape, where all are of one length; if they stream by, up to one more than there may be."""
    use, program = size.use, extent.program
    plan = ground(use.bound, extent.examples) if size.clauses <= COUNTED else None
    width = len(open_literals(use.bound))
    if plan is None or plan.list_signs or not width:
        return size
    times = max(len(use.clauses), 1)
    rows: exp.Select = exp.select(integer(1)).from_(subquery(plan.query, "g"))
    if not plan.has_multiplicity and size.clauses > QUICKLY:
        rows = rows.limit(most // (width * times) + 1)
    query = exp.select(named(star_count(), "n")).from_(subquery(rows, "n"))
    found = int(program.engine.fetch(query, step=f"count the ground clauses of {use.shape}").column(0)[0].as_py())
    if found * width * times > most and rows.args.get("limit"):
        return size
    return ShapeSize(use, found * times, found * width * times, size.clause)
