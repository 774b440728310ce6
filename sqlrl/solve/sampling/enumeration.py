"""Uniform draws of a whole component of a slice, by counting its worlds in a depth-first search."""

from __future__ import annotations

from sqlrl.kernels import inner
from sqlrl.solve.occurrences import Int32Array
from sqlrl.solve.randomness import Stream, below
from sqlrl.solve.sampling.chains import ChainState, Records, toggle
from sqlrl.solve.sampling.slices import Slice, set_true, true_atom

STEPS, STEPS_EACH = 500, 50
"""A search gives up after so many steps, and so many more for each variable."""

STEPS_BACK = 100
"""It gives up earlier where it goes back too slowly: so many steps after its first world for each variable that it has gone back to since,
and `STEPS` more. Below variables that hold nothing, such as most of a large transitive relation, worlds double with each."""


@inner
def _file_rows(state: ChainState, cut: Slice, variables: int, rows: int) -> None:
    # The rows of a component as lists, by the last variable that they need.
    for i in range(variables):
        cut.last[i] = -1
        variable = cut.order[i]
        if variable >= 0:
            cut.position[variable] = i
            continue
        block = state.block[-variable - 1]
        for p in range(block.first, block.end):
            cut.position[state.member[p]] = i
    for i in range(rows):
        row, need = state.row[cut.rows[i]], 0
        for p in range(row.first, row.end):
            k = abs(state.literals[p]) - 1
            if not state.atom[k].frozen:
                need = max(need, cut.position[k])
        cut.following[i] = cut.last[need]
        cut.last[need] = i


@inner
def _next_state(state: ChainState, variable: int, tried: Int32Array, depth: int) -> bool:
    # Give the variable at this depth its next state; if there is none, the first one and False.
    if variable >= 0:
        tried[depth] += 1
        if tried[depth] > 1:  # false, true, false
            toggle(state, variable)
        return bool(tried[depth] <= 2)
    block = state.block[-variable - 1]
    if tried[depth] == 0 and not block.exact:
        tried[depth] = 1
        set_true(state, variable, -1)
        return True
    first = 0 if block.exact else 1
    while tried[depth] - first < block.end - block.first:
        k = state.member[block.first + tried[depth] - first]
        tried[depth] += 1
        if not state.atom[k].frozen:
            set_true(state, variable, k)
            return True
    set_true(state, variable, -1)
    return False


@inner
def _hold(row: Records, rows: Int32Array, following: Int32Array, first: int) -> bool:
    # Whether the rows of a list hold.
    i = first
    while i >= 0:
        if row[rows[i]].count == 0:
            return False
        i = following[i]
    return True


@inner
def draw_component(state: ChainState, cut: Slice, variables: int, rows: int, random: Stream) -> bool:
    """Draw the component that `gather` found uniformly from its worlds; False, and the world as before, if they are too many to count."""
    _file_rows(state, cut, variables, rows)
    for i in range(variables):
        cut.before[i] = true_atom(state, cut.order[i])
        set_true(state, cut.order[i], -1)
    # Kernels that are called at each step take few arrays: passing all of a slice costs more than the step.
    tried = cut.tried
    found, steps, depth, back, before = 0, 0, 0, variables, 0
    # Whether the search gives up is independent of the world.
    most = budget = STEPS + STEPS_EACH * variables
    tried[0] = 0
    while depth >= 0 and steps < budget:
        if found > 0 and depth < back:
            back = depth
            budget = min(most, before + STEPS + STEPS_BACK * (variables - back))
        if depth == variables:
            if found == 0:
                before = steps
            found += 1
            # Each of the worlds met so far is kept with the same chance.
            if below(random, found) == 0:
                for i in range(variables):
                    cut.drawn[i] = true_atom(state, cut.order[i])
            depth -= 1
            continue
        steps += 1
        if not _next_state(state, cut.order[depth], tried, depth):
            depth -= 1
        elif _hold(state.row, cut.rows, cut.following, cut.last[depth]):
            depth += 1
            if depth < variables:
                tried[depth] = 0
    done = depth < 0
    for i in range(variables):
        set_true(state, cut.order[i], cut.drawn[i] if done else cut.before[i])
    return done
