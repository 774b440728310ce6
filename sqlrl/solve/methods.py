"""The method for each component of a weighted network: the cheapest one that is exact for it, and why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sqlrl.errors import InputError, NumericError, Parameter, Phrase
from sqlrl.ground.network import BoolArray, IntArray
from sqlrl.progress import staged
from sqlrl.solve.cpsat import solve_cpsat
from sqlrl.solve.cut import attractive, pairwise_atoms, persistent, solve_cut
from sqlrl.solve.elimination import bounded_part, solve_elimination
from sqlrl.solve.local_search.walksat import solve_walksat
from sqlrl.solve.presolve import presolve, recognise_blocks
from sqlrl.solve.relaxation import LinearSolver
from sqlrl.solve.restriction import Values, component_labels, restrict, select, select_each
from sqlrl.solve.result import MethodChoice, Solution, UnsolvedError
from sqlrl.solve.rounding import require, solve_relaxation
from sqlrl.solve.weighted import FREE, WeightedNetwork

Method = Literal["auto", "elimination", "cut", "lp", "cpsat", "walksat"]

WorldMethod = Literal["auto", "full", "cutting-plane", "elimination", "cut", "lp", "cpsat", "walksat"]
"""What finds a most probable world in a database: "auto" takes "cutting-plane" or "full" by what it would ground, "full" grounds
everything and goes on as `Method` "auto"; the others ground everything, too."""

LARGE = 20_000
"""A component with more rows than this gets PDLP in place of GLOP for its linear relaxation."""


START_FLIPS, MOST_START_FLIPS = 20, 100_000
"""Flips for each atom, and at most, of the local search for a world from which CP-SAT starts, or which is the answer where no proof is
asked for. Components of a few dozen atoms come by the thousand in training, where more flips would take longer than the proof; a
large one comes hundreds of times, and a separation that takes longer finds no better weights."""


@dataclass(frozen=True, eq=False)
class Options:
    """What solvers are asked for."""

    method: Method = "auto"
    deterministic_limit: float | None = None  # CP-SAT's deterministic time for each component, roughly seconds
    seed: int = 0  # of CP-SAT and of local search
    # Worlds of the whole network, shape (n,) or (k, n): local search and CP-SAT start from the best of them unless a better one is known.
    start: BoolArray | None = None
    # Whether CP-SAT goes on with components whose relaxation proves nothing; else their world is the relaxation's, rounded and improved by local
    # search, with a gap, and CP-SAT is asked only where that finds no world at all.
    prove: bool = True


def check_effort(deterministic_limit: object, seed: object) -> None:
    """Refuse a limit or a seed that CP-SAT would not take."""
    real = isinstance(deterministic_limit, int | float | np.number) and not isinstance(deterministic_limit, bool)
    if deterministic_limit is not None and not (real and 0 < deterministic_limit < np.inf):  # type: ignore[operator]
        raise InputError(
            f"{Parameter('deterministic_limit', deterministic_limit)} must be a positive number of seconds, or {Phrase('None')} for no limit."
        )
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed < 2**31:  # type: ignore[operator]
        raise InputError(f"{Parameter('random_state', seed)} must be a whole number from 0 to {2**31 - 1:,}.")


class Chooser:
    """Solves a weighted network component by component, and keeps what was chosen and proved."""

    def __init__(self, weighted: WeightedNetwork, options: Options) -> None:
        self.weighted, self.options = weighted, options
        self.world: BoolArray = np.zeros(len(weighted.atoms), dtype=np.bool_)
        self.rounding = weighted.rounding  # the part of the gap that comes from rounding
        self.excess = np.zeros(len(weighted.atoms))  # the rest of it, at the first atom of each component
        self.scale = np.inf  # the smallest factor between costs and integers; infinite if none were made
        self.choices: list[MethodChoice] = []
        self._since = time.perf_counter()

    @property
    def gap(self) -> float:
        """No world is better by more than this."""
        return self.rounding + float(self.excess.sum())

    def run(self) -> None:
        """Solve everything; errors are those of the solvers, and an InputError if a method cannot treat a component."""
        whole = self._reduce(self.weighted, presolve(self.weighted), "presolve", "hard units and outweighed atoms")
        method = self.options.method
        if len(whole.atoms) == 0:
            return
        whole = recognise_blocks(whole)
        if method == "auto":
            self._by_structure(whole, fresh=True)
        elif method == "cut":
            self._solve(whole, self._cut_only(whole), "cut", "asked for")
        elif method == "elimination":
            self._eliminate_all(whole)
        elif method == "lp":
            self._each(whole, lambda part: require(solve_relaxation(part, solver=self._linear(part))[0], part), "lp")
        elif method == "cpsat":
            self._each(whole, self._cpsat, "cpsat")
        else:
            self._solve(whole, self._walk(whole), "walksat", "asked for")

    # ---- what is fixed, what is solved -------------------------------------------------------------------

    def _place(self, part: WeightedNetwork) -> IntArray:
        return np.searchsorted(self.weighted.atoms, part.atoms)

    def _choose(self, method: str, components: int, part: WeightedNetwork, atoms: int, reason: str) -> None:
        now = time.perf_counter()
        self.choices.append(MethodChoice(method, components, atoms, len(part.cost), reason, now - self._since))
        self._since = now

    def _reduce(
        self, part: WeightedNetwork, reduced: tuple[Values, WeightedNetwork], method: str, reason: str
    ) -> WeightedNetwork:
        # Take over the values of fixed atoms; what is left keeps its own account of rounding.
        value, left = reduced
        fixed = value != FREE
        self.world[self._place(part)[fixed]] = value[fixed] == 1
        self.rounding += left.rounding - part.rounding
        if fixed.any():
            self._choose(method, 0, part, int(fixed.sum()), reason)
        return left

    def _solve(self, part: WeightedNetwork, solution: Solution, method: str, reason: str, components: int = 1) -> None:
        place = self._place(part)
        self.world[place] = solution.world
        self.rounding += solution.rounding
        if not solution.optimal:
            self.excess[place[0]] = solution.gap - solution.rounding
        self.scale = min(self.scale, solution.scale)
        self._choose(method, components, part, len(part.atoms), reason)

    def _each(self, part: WeightedNetwork, solver: Callable[[WeightedNetwork], Solution], method: str) -> None:
        count, label = component_labels(part)
        for _, one in staged("components", select_each(part, label, count), count):
            self._solve(one, solver(one), method, "asked for")

    # ---- auto ----------------------------------------------------------------------------------------------

    def _by_structure(self, part: WeightedNetwork, *, fresh: bool) -> None:
        count, label = component_labels(part)
        rest = np.ones(len(part.atoms), dtype=np.bool_)
        pairs = pairwise_atoms(part, label, count)
        if pairs.any():
            rest[pairs] = ~self._cut(select(part, pairs))
        rest[rest] = ~self._eliminate(select(part, rest))
        pairs &= rest
        if fresh and pairs.any():
            rest &= ~pairs
            self._persist(select(part, pairs))
        hard_part = select(part, rest)
        count, label = component_labels(hard_part)
        for _, one in staged("components", select_each(hard_part, label, count), count):
            self._hardest(one)

    def _cut(self, part: WeightedNetwork) -> BoolArray:
        # Solve the attractive components of a pairwise part; returns their atoms.
        atoms = attractive(part)
        chosen = select(part, atoms)
        if len(chosen.atoms):
            try:
                solution = solve_cut(chosen)
            except NumericError:
                # Elimination needs no integers; what it cannot treat meets CP-SAT, which names the weights.
                return np.zeros(len(part.atoms), dtype=np.bool_)
            self._solve(chosen, solution, "cut", "pairwise and attractive", component_labels(chosen)[0])
        return atoms

    def _persist(self, part: WeightedNetwork) -> None:
        # Fix what is certain of pairs that repel each other, and look at the structure of what is left once more.
        try:
            value, _, rounding = persistent(part)
        except NumericError:
            self._by_structure(part, fresh=False)
            return
        self.rounding += rounding
        left = self._reduce(part, (value, restrict(part, value)), "persistency", "pairwise: some best world agrees")
        left = self._reduce(left, presolve(left), "presolve", "after persistency")
        if len(left.atoms):
            self._by_structure(left, fresh=False)

    def _hardest(self, part: WeightedNetwork) -> None:
        # One component that no structure helps with: linear relaxation, then CP-SAT from the best world known.
        rounded, relaxed = solve_relaxation(part, solver=self._linear(part))
        if rounded is not None and rounded.optimal:
            self._solve(part, rounded, "lp", "the linear relaxation proves its rounded world")
            return
        start = self._improved(part, [*([] if rounded is None else [rounded.world]), *self._known(part)])
        if not self.options.prove and start is not None and part.score(start) > -np.inf:
            gap = max(relaxed.bound - part.score(start), 0.0) + relaxed.rounding
            self._solve(
                part, Solution(start, gap, relaxed.rounding), "lp", "the linear relaxation, rounded and improved"
            )
            return
        solution = self._cpsat(part, start=start, bound=relaxed.bound)
        reason = f"{len(relaxed.fractional)} atoms of the linear relaxation are fractional"
        self._solve(part, solution, "cpsat", reason)

    def _improved(self, part: WeightedNetwork, starts: list[BoolArray]) -> BoolArray | None:
        # The best of some worlds, and what local search makes of it; from anywhere if there is none to start from.
        best = max(starts, key=part.score, default=None)
        found = [world for world in (best, self._walked(part, best)) if world is not None]
        return max(found, key=part.score, default=None)

    def _walked(self, part: WeightedNetwork, start: BoolArray | None) -> BoolArray | None:
        # A world by local search; none if that finds none.
        flips = min(START_FLIPS * len(part.atoms), MOST_START_FLIPS)
        try:
            return solve_walksat(part, flips=flips, seed=self.options.seed, start=start).world
        except UnsolvedError:
            return None

    # ---- single methods --------------------------------------------------------------------------------------

    def _linear(self, part: WeightedNetwork) -> LinearSolver:
        if not self.options.prove and len(part.block_exact) == 0 and int(np.diff(part.indptr).max(initial=0)) <= 2:
            return "flow"
        return "pdlp" if len(part.cost) > LARGE else "glop"

    def _cpsat(self, part: WeightedNetwork, *, start: BoolArray | None = None, bound: float = np.inf) -> Solution:
        options, known = self.options, self._known(part)
        if start is not None:
            known.append(start)
        start = max(known, key=part.score, default=None)
        return solve_cpsat(
            part, start=start, bound=bound, seed=options.seed, deterministic_limit=options.deterministic_limit
        )

    def _known(self, part: WeightedNetwork) -> list[BoolArray]:
        return [] if self.options.start is None else list(np.atleast_2d(self.options.start)[:, part.atoms])

    def _cut_only(self, part: WeightedNetwork) -> Solution:
        count, label = component_labels(part)
        pairs = pairwise_atoms(part, label, count)
        atoms = pairs.copy()
        atoms[pairs] = attractive(select(part, pairs))
        if not atoms.all():
            raise InputError(
                f"a minimum cut needs pairwise attractive ground clauses, but {int((~atoms).sum())} of {len(atoms)} atoms "
                f"are in components with others: use {Parameter('method', 'auto')} or 'cpsat'"
            )
        return solve_cut(part)

    def _eliminate(self, part: WeightedNetwork) -> BoolArray:
        # Solve the components within the bound on tables; returns their atoms.
        atoms, chosen, order = bounded_part(part)
        if len(chosen.atoms):
            components, solution = component_labels(chosen)[0], solve_elimination(chosen, order=order)
            self._solve(chosen, solution, "elimination", "small treewidth", components)
        return atoms

    def _eliminate_all(self, part: WeightedNetwork) -> None:
        done = self._eliminate(part)
        if not done.all():
            raise InputError(
                f"elimination would need tables beyond its bound for components with {int((~done).sum())} of the "
                f"{len(done)} atoms that presolve leaves: use {Parameter('method', 'auto')} or 'cpsat'"
            )

    def _walk(self, part: WeightedNetwork) -> Solution:
        return solve_walksat(part, seed=self.options.seed, start=max(self._known(part), key=part.score, default=None))
