"""Why hard clauses cannot all hold: a minimal conflicting set of ground clauses of one component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ortools.sat.python import cp_model

from sqlrl.errors import InfeasibleError, Parameter
from sqlrl.ground.network import BLOCK
from sqlrl.solve.components import Component, block_members, row_literals, split
from sqlrl.solve.cpsat import add_blocks, add_booleans, add_or, local_references, new_solver, run_solver
from sqlrl.solve.result import UnsolvedError
from sqlrl.solve.structure import Structure
from sqlrl.wording import counted

Describe = Callable[[int, Sequence[int]], str]

SHOWN = 20


class ConflictingClausesError(InfeasibleError):
    """Hard clauses cannot all hold: a minimal set of ground clauses that, with the blocks, has no world."""

    def __init__(
        self, message: str, conflict: list[tuple[int, list[int]]], blocks: list[tuple[list[int], bool]]
    ) -> None:
        # Of each ground clause the local clause (-1: a given atom of the same block is true) and the signed local atoms. Blocks are those over atoms
        # of the conflict, with True if exactly one atom is true, or False if at most one.
        self.conflict, self.blocks = conflict, blocks
        super().__init__(message)


def _solve(model: cp_model.CpModel, assumptions: list[int], seed: int) -> list[int] | None:
    # None if the assumptions can hold, else those that suffice for a conflict.
    proto: Any = model.proto
    proto.assumptions.clear()
    proto.assumptions.extend(assumptions)
    solver = new_solver(seed, None)
    status = run_solver(solver, model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    core = set(solver.sufficient_assumptions_for_infeasibility())
    return [a for a in assumptions if a in core]


def conflicting_set(structure: Structure, component: Component, *, seed: int = 0) -> list[tuple[int, list[int]]]:
    """Return a minimal set of hard ground clauses, each a local clause with its literals, that has no world in which blocks hold."""
    network, clause = structure.network, structure.rows.clause
    rows = component.rows[network.hard[clause[component.rows]]]
    units = network.hard_units[component.hard_units].tolist()
    ground = list(zip(clause[rows].tolist(), row_literals(structure, rows), strict=True))
    ground += [(i, [literal]) for i, literal in units]
    model = cp_model.CpModel()
    references = local_references(component)
    k = len(component.atoms)
    add_booleans(model.proto, k + len(ground))
    add_blocks(model.proto, structure, component, references)
    for z, (_, literals) in enumerate(ground, k):
        add_or(model.proto, [references[x] for x in literals], only_if=[z])
    # A first core, from which clauses are then deleted one by one as long as the others have no world.
    core = _solve(model, list(range(k, k + len(ground))), seed)
    # Then what said that there is no world was no proof.
    if core is None:
        raise UnsolvedError(
            f"a solver found no world for a component of {counted(k, 'atom')}, but its hard clauses can all hold: its numbers are not "
            f"exact; choose another method, as {Parameter('method', 'cpsat')}"
        )
    needed: list[int] = []
    while core:
        candidate, rest = core[-1], core[:-1]
        smaller = _solve(model, needed + rest, seed)
        if smaller is None:
            needed.append(candidate)
            core = rest
        else:
            core = [a for a in rest if a in set(smaller)]
    return [ground[z - k] for z in sorted(needed)]


def conflict_of(
    structure: Structure, atom: int, *, describe: Describe | None = None, seed: int = 0
) -> ConflictingClausesError:
    """Return the error about the component of a local atom, which has no world; `describe` as in `conflict_error`."""
    number = structure.component[structure.variables.of_atom[[atom]]]
    return conflict_error(structure, next(split(structure, number)), describe=describe, seed=seed)


def conflict_error(
    structure: Structure, component: Component, *, describe: Describe | None = None, seed: int = 0
) -> ConflictingClausesError:
    """Return the error about a component without a world; `describe` has words for ground clauses, and for a block with `BLOCK` as the clause."""
    network = structure.network
    conflict = conflicting_set(structure, component, seed=seed)

    def ids(clause: int, literals: Sequence[int]) -> str:
        """Return a ground clause as text, with numbers in place of names."""
        if clause == BLOCK:
            return f"atoms {', '.join(str(network.atoms[x - 1]) for x in literals)}"
        words = " v ".join(f"{'' if x > 0 else '!'}atom {network.atoms[abs(x) - 1]}" for x in literals)
        return f"{words} ({f'clause {network.clauses[clause]}' if clause >= 0 else 'given atom of the same block'})"

    touched = {abs(x) - 1 for _, literals in conflict for x in literals}
    blocks = [b for b in block_members(structure, component) if touched.intersection(b[0])]
    lines = [f"  {(describe or ids)(clause, literals)}" for clause, literals in conflict[:SHOWN]]
    if len(conflict) > SHOWN:
        lines.append(f"  and {len(conflict) - SHOWN} more")
    for members, exact in blocks[:SHOWN]:
        shown = (describe or ids)(BLOCK, [x + 1 for x in members[:SHOWN]])
        dots = ", ..." if len(members) > SHOWN else ""
        lines.append(f"  block: {'exactly' if exact else 'at most'} one of {shown}{dots} is true")
    return ConflictingClausesError(
        f"hard clauses cannot all hold: these {len(conflict)} ground clauses conflict, and any one fewer would not; "
        "correct the evidence, or give one of the clauses a weight\n" + "\n".join(lines),
        conflict,
        blocks,
    )
