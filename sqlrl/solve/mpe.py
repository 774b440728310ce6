"""The most probable world of a ground network: every component by the cheapest method that is exact for it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, Network
from sqlrl.progress import at_stage
from sqlrl.solve.counts import narrow_sum, open_counts, soft_weights, violation_cost, weighted_score
from sqlrl.solve.cutting_plane_worlds import solve_network
from sqlrl.solve.forest import ForestProgram, compile_forest
from sqlrl.solve.methods import Method, Options
from sqlrl.solve.pairwise import PairwiseWorld, best_of_pairs
from sqlrl.solve.presolve import keep_rows
from sqlrl.solve.restriction import UnsatisfiableError, select
from sqlrl.solve.result import MethodChoice, MPEResult, SolverReport, status_of
from sqlrl.solve.single_atoms import all_alone, decided_alone
from sqlrl.solve.structure import Structure, compile_network, sides_of
from sqlrl.solve.tied_forest import compile_tied
from sqlrl.solve.weighted import EPSILON, atom_terms, weigh

if TYPE_CHECKING:
    from sqlrl.solve.conflict import Describe


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """A network compiled for `mpe`, for any weights."""

    structure: Structure
    forest: ForestProgram  # the components that elimination solves
    tied: bool = False  # some ground clauses stand in tied tables, and are no rows of the structure

    def listed(self) -> CompiledNetwork:
        """Return the same with all ground clauses row by row, for what looks at them."""
        return _compile_rows(self.structure.network) if self.tied else self


def compile_program(network: Network) -> CompiledNetwork:
    """Compile a network once, to solve it with many weight vectors."""
    tied = compile_tied(network)
    return _compile_rows(network) if tied is None else CompiledNetwork(tied.structure, tied.program, tied=True)


def _compile_rows(network: Network) -> CompiledNetwork:
    structure = compile_network(network)
    return CompiledNetwork(structure, compile_forest(structure))


def _forest_slack(forest: ForestProgram, soft: FloatArray, extra: FloatArray) -> float:
    # Float sums of k terms are off by at most k * epsilon * (sum of absolute terms); k: one term per state and pair.
    size = np.diff(forest.component_start)
    k = (
        8
        + int(size.max(initial=0))
        + max(int(np.diff(matrix.indptr).max(initial=0)) for matrix in (forest.unary, forest.pairs))
    )
    magnitude = np.bincount(forest.unary.indices, weights=np.abs(forest.unary.data), minlength=len(soft))
    atom = forest.arrays.state_atom
    alone = float(magnitude @ np.abs(soft)) + float(np.abs(extra[atom[atom >= 0]]).sum())
    return EPSILON * k * (alone + forest.pair_magnitude(np.abs(soft)))


def _check_finite(values: FloatArray) -> None:
    if not np.all(np.isfinite(values)):
        raise NumericError("weights are so large that their sums overflow: scale them down")


def _checked_world(network: Network, world: npt.ArrayLike) -> BoolArray:
    found = np.asarray(world)
    if found.ndim not in (1, 2) or found.shape[-1:] != network.atoms.shape or found.dtype != np.bool_:
        raise InputError(
            f"start must be a Boolean array of shape {network.atoms.shape}, one value for each atom, not an array of "
            f"{found.dtype} of shape {found.shape}"
        )
    return found


class _Scores(TypedDict):
    objective: float
    constant: float
    decided: float
    open_cost: float | None
    constant_cost: float | None


def _scores(
    network: Network, soft: FloatArray, extra: FloatArray, world: BoolArray, *, augmented: bool = False
) -> _Scores:
    # What a report says of the score of a world, by field. A loss is no weight of the model: with one there is no cost.
    part = open_counts(network, world)
    base, number = narrow_sum(network.base, part)
    cost = None if augmented else violation_cost(network, soft, number, extra, world)
    return {
        "objective": weighted_score(soft, number, extra, world),
        "constant": weighted_score(soft, base, extra, np.zeros_like(world)),
        "decided": weighted_score(soft, part, extra, world),
        "open_cost": None if cost is None else cost.open,
        "constant_cost": None if cost is None else cost.constant,
    }


def scored(network: Network, weights: npt.ArrayLike, result: MPEResult) -> MPEResult:
    """Return the result of another solver with the exact scores of its world."""
    scores = _scores(network, soft_weights(network, weights), atom_terms(network), result.world)
    return MPEResult(result.world, replace(result.report, **scores))


class _Run:
    # One call of mpe: collects the world, what is proved, and the choices.

    def __init__(self, network: Network, weights: npt.ArrayLike, loss: npt.ArrayLike | None) -> None:
        self.network = network
        self.soft, self.extra = soft_weights(network, weights), atom_terms(network, loss)
        self.augmented = loss is not None
        self.world: BoolArray = np.zeros(len(network.atoms), dtype=np.bool_)
        self.gap = self.precision = self.magnitude = 0.0
        self.scale = np.inf
        self.choices: list[MethodChoice] = []

    def decide_single(self) -> None:
        """Solve a network whose atoms all stand alone, as elimination does."""
        start = time.perf_counter()
        alone = decided_alone(self.network, self.soft, self.extra)
        _check_finite(np.array([alone.magnitude]))
        self.world = alone.world
        n = len(self.world)
        self._eliminated(EPSILON * (9 + alone.longest) * alone.terms, alone.magnitude, (n, n, 0), start)

    def cut_pairs(self, found: PairwiseWorld, start: float) -> None:
        """Take over the best world of a network of pairs that all attract each other."""
        weighted, solution = found.weighted, found.solution
        self.world = solution.world
        self.gap = self.precision = weighted.rounding + solution.rounding
        self.magnitude = float(np.abs(weighted.linear).sum() + np.abs(weighted.cost).sum())
        self.scale = solution.scale
        n, rows, seconds = len(weighted.atoms), len(weighted.cost), time.perf_counter() - start
        self.choices.append(MethodChoice("cut", found.components, n, rows, "pairwise and attractive", seconds))

    def eliminate_forests(self, structure: Structure, forest: ForestProgram) -> None:
        """Solve trees of blocks at Viterbi speed, compiled once for all weights; learners have the same path."""
        start = time.perf_counter()
        unary, pair = forest.weigh(self.soft, self.extra)
        _check_finite(unary)
        _check_finite(pair)
        stuck = forest.solve(unary, pair, self.world)
        if stuck >= 0:
            variables = structure.variables
            raise UnsatisfiableError(int(variables.atom[variables.start[stuck + 1] - 1]))
        sizes = len(forest.component_start) - 1, int((forest.arrays.state_atom >= 0).sum()), forest.rows
        magnitude = float(np.abs(unary).sum() + (np.abs(pair) * forest.entry_uses).sum())
        self._eliminated(_forest_slack(forest, self.soft, self.extra), magnitude, sizes, start)

    def _eliminated(self, slack: float, magnitude: float, sizes: tuple[int, int, int], start: float) -> None:
        # Take down what elimination leaves open, and how many components, atoms and rows it solved.
        self.gap, self.precision = self.gap + slack, self.precision + slack
        self.magnitude += magnitude
        seconds = time.perf_counter() - start
        self.choices.append(MethodChoice("elimination", *sizes, "trees of blocks and atoms", seconds))

    def solve(
        self,
        structure: Structure,
        weights: npt.ArrayLike,
        loss: npt.ArrayLike | None,
        atoms: BoolArray,
        options: Options,
    ) -> None:
        """Solve the components of some atoms."""
        weighted = weigh(replace(structure.network, rows=structure.rows), weights, loss=loss)
        if np.any(structure.row_component < 0):
            # Rows that blocks satisfy join no components, so that one of them may lie half inside.
            weighted = keep_rows(weighted, np.diff(sides_of(weighted, structure.variables).row_start) > 0)
        part = select(weighted, atoms)
        found = solve_network(part, options)
        self.world[part.atoms] = found.world
        self.gap += found.gap + weighted.rounding
        self.precision += found.rounding + weighted.rounding
        self.magnitude += float(np.abs(part.linear).sum() + np.abs(part.cost[~part.hard]).sum())
        self.scale = min(self.scale, found.scale)
        self.choices += found.choices

    def result(self, compiling: float, solving: float) -> MPEResult:
        """Return the world with its report."""
        network, start = self.network, time.perf_counter()
        scores = _scores(network, self.soft, self.extra, self.world, augmented=self.augmented)
        known = [x for x in (*scores.values(), self.gap, self.precision) if x is not None]
        _check_finite(np.array(known))
        report = SolverReport(
            status=status_of(self.gap <= self.precision, self.precision, self.magnitude),
            gap=self.gap,
            precision=self.precision,
            magnitude=self.magnitude,
            scale=self.scale if np.isfinite(self.scale) else 1.0,
            seconds={"compile": compiling, "solve": solving, "score": time.perf_counter() - start},
            choices=tuple(self.choices),
            **scores,
        )
        return MPEResult(self.world, report)


@at_stage("most probable world")
@np.errstate(over="ignore", invalid="ignore")  # what overflows is looked for and refused
def mpe(
    network: Network | CompiledNetwork,
    weights: npt.ArrayLike,
    *,
    method: Method = "auto",
    loss: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    deterministic_limit: float | None = None,
    seed: int = 0,
    prove: bool = True,
    describe: Describe | None = None,
) -> MPEResult:
    """Return the most probable world, which maximises the sum of w_i n_i plus soft evidence (and `loss`), under all hard clauses.

    "auto" solves large networks in rounds where these leave out most ground clauses (`solve.cutting_plane_worlds`), and takes the cheapest method that is
    exact for each component; other names use one method for all that presolve leaves. `start`, shape (n,) or (k, n), are worlds that need
    not keep the hard clauses; `describe` has words for a ground clause, (local clause, signed local atoms), for errors about conflicts.
    """
    if method not in get_args(Method):
        raise InputError(f"unknown method {method!r}: choose {', '.join(map(repr, get_args(Method)))}")
    begun = time.perf_counter()
    # Among several best worlds trees take the one with the lowest states (false before true, none before the members of a block, members by atom
    # id), so that an atom that nothing touches is false. Other methods take any, the same for the same seed.
    by_trees = method in ("auto", "elimination")
    if by_trees and isinstance(network, Network) and all_alone(network):
        run = _Run(network, weights, loss)
        run.decide_single()
        return run.result(0.0, time.perf_counter() - begun)
    if method == "auto" and isinstance(network, Network):
        run = _Run(network, weights, loss)
        pairs = best_of_pairs(network, run.soft, run.extra)
        if pairs is not None:
            run.cut_pairs(pairs, begun)
            return run.result(0.0, time.perf_counter() - begun)
    program = network if isinstance(network, CompiledNetwork) else compile_program(network)
    program = program if by_trees else program.listed()
    compiled = time.perf_counter()
    structure = program.structure
    run = _Run(structure.network, weights, loss)
    others = ~(structure.forest & by_trees)[structure.component[structure.variables.of_atom]]
    try:
        if by_trees and len(program.forest.variable):
            run.eliminate_forests(structure, program.forest)
        if others.any():
            known = None if start is None else _checked_world(structure.network, start)
            options = Options(method, deterministic_limit, seed, start=known, prove=prove)
            run.solve(structure, weights, loss, others, options)
    except UnsatisfiableError as error:
        from sqlrl.solve.conflict import conflict_of

        raise conflict_of(structure, error.atom, describe=describe, seed=seed) from None
    return run.result(compiled - begun, time.perf_counter() - compiled)
