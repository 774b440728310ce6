"""The most probable world of a ground network: every component by the cheapest method that is exact for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError, NumericError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.solve.components import Component, split
from sqlrl.solve.counts import counts, soft_weights, weighed_score
from sqlrl.solve.forest import ForestProgram, compile_forest
from sqlrl.solve.result import MPEResult, SolverReport, Status
from sqlrl.solve.structure import Structure, compile_network

if TYPE_CHECKING:
    from sqlrl.solve.conflict import Describe

Method = Literal["auto", "elimination", "cpsat"]

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Program:
    """A network compiled for `mpe`, for any weights.

    Parameters
    ----------
    structure : Structure
        Variables, reduced rows and components.
    forest : ForestProgram
        The components that elimination solves.
    """

    structure: Structure
    forest: ForestProgram


def compile_program(network: Network) -> Program:
    """Compile a network once, to solve it with many weight vectors.

    Examples
    --------
    >>> from sqlrl.solve.sample import chains
    >>> compile_program(chains(2, length=4, states=3)).structure.forest.tolist()
    [True, True]
    """
    structure = compile_network(network)
    return Program(structure, compile_forest(structure))


@dataclass(frozen=True, eq=False)
class _Weighed:
    # The parts of the objective: weights of soft clauses, and what each atom adds besides clauses.
    soft: FloatArray
    extra: FloatArray


def _weighed(network: Network, weights: npt.ArrayLike, loss: npt.ArrayLike | None) -> _Weighed:
    soft = soft_weights(network, weights)
    extra = network.prior.astype(np.float64)
    if loss is not None:
        given = np.asarray(loss, dtype=np.float64)
        if given.shape != extra.shape:
            raise NumericError(f"{len(extra)} atoms need as many losses, but the array has shape {given.shape}")
        extra = extra + given
    wrong = np.flatnonzero(~np.isfinite(extra))
    if len(wrong):
        raise NumericError(
            f"soft evidence and loss of atom {network.atoms[wrong[0]]} add up to {extra[wrong[0]]}: give a finite "
            "number, or load certain evidence as a fact"
        )
    return _Weighed(soft, extra)


def _forest_slack(forest: ForestProgram, weighed: _Weighed) -> float:
    # Float sums of k terms are off by at most k * epsilon * (sum of absolute terms); k: one term per state and pair.
    size = np.diff(forest.component_start)
    k = (
        8
        + int(size.max(initial=0))
        + max(int(np.diff(matrix.indptr).max(initial=0)) for matrix in (forest.unary, forest.pairs))
    )
    magnitude = np.zeros(len(weighed.soft))
    for matrix in (forest.unary, forest.pairs):
        magnitude += np.bincount(matrix.indices, weights=np.abs(matrix.data), minlength=len(magnitude))
    atom = forest.arrays.state_atom
    extra = float(np.abs(weighed.extra[atom[atom >= 0]]).sum())
    return EPSILON * k * (float(magnitude @ np.abs(weighed.soft)) + extra)


def _check_finite(theta: FloatArray) -> None:
    if not np.all(np.isfinite(theta)):
        raise NumericError("weights are so large that their sums overflow: scale them down")


class _Run:
    # One call of mpe: collects worlds, gaps and times of the components.

    def __init__(self, program: Program, weighed: _Weighed, describe: Describe | None, seed: int) -> None:
        self.structure, self.forest, self.weighed = program.structure, program.forest, weighed
        self.describe, self.seed = describe, seed
        self.world: BoolArray = np.zeros(len(self.structure.network.atoms), dtype=np.bool_)
        self.proved, self.gap, self.precision, self.scale = True, 0.0, 0.0, np.inf
        self.components: dict[str, int] = {}

    def infeasible(self, component: Component) -> Exception:
        from sqlrl.solve.conflict import conflict_error

        return conflict_error(self.structure, component, describe=self.describe, seed=self.seed)

    def eliminate(self) -> None:
        unary, pair = self.forest.weigh(self.weighed.soft, self.weighed.extra)
        _check_finite(unary)
        _check_finite(pair)
        stuck = self.forest.solve(unary, pair, self.world)
        if stuck >= 0:
            raise self.infeasible(next(split(self.structure, self.structure.component[stuck : stuck + 1])))
        slack = _forest_slack(self.forest, self.weighed)
        self.gap += slack
        self.precision += slack
        self.components["elimination"] = len(self.forest.component_start) - 1

    def cpsat(self, wanted: IntArray, deterministic_limit: float | None) -> None:
        from sqlrl.solve.cpsat import solve_component

        network, soft = self.structure.network, self.weighed.soft
        linear = np.asarray(network.units @ soft, dtype=np.float64) + self.weighed.extra
        _check_finite(linear)
        size = np.asarray(abs(network.units) @ np.abs(soft), dtype=np.float64) + np.abs(self.weighed.extra)
        noise = EPSILON * (np.diff(network.units.indptr) + 2) * size
        for component in split(self.structure, self._without_idle(wanted, size)):
            solution = solve_component(
                self.structure,
                component,
                soft,
                linear,
                noise,
                seed=self.seed,
                deterministic_limit=deterministic_limit,
            )
            if solution is None:
                raise self.infeasible(component)
            self.world[component.atoms] = solution.truth
            self.proved &= solution.proved
            self.gap += solution.gap
            self.precision += solution.lost
            self.scale = min(self.scale, solution.scale)
        self.components["cpsat"] = len(wanted)

    def _without_idle(self, wanted: IntArray, size: FloatArray) -> IntArray:
        # A component that nothing speaks for takes its lowest state, as elimination would choose.
        network, variables = self.structure.network, self.structure.variables
        atom_component = self.structure.component[variables.of_atom]
        busy = np.zeros(len(self.structure.forest), dtype=np.bool_)
        busy[self.structure.row_component[self.structure.row_component >= 0]] = True
        busy[atom_component[size > 0]] = True
        busy[atom_component[np.abs(network.hard_units[:, 1]) - 1]] = True
        first = variables.atom[variables.start[:-1]]
        self.world[first[variables.exact & ~busy[self.structure.component]]] = True
        return wanted[busy[wanted]]

    def result(self, seconds: Mapping[str, float]) -> MPEResult:
        network, weighed = self.structure.network, self.weighed
        objective = weighed_score(weighed.soft, counts(network, self.world), weighed.extra, self.world)
        constant = weighed_score(weighed.soft, network.base, weighed.extra, np.zeros_like(self.world))
        _check_finite(np.array([objective, constant, self.gap, self.precision]))
        report = SolverReport(
            status=Status.OPTIMAL if self.proved else Status.FEASIBLE,
            objective=objective,
            constant=constant,
            gap=self.gap,
            precision=self.precision,
            scale=self.scale if np.isfinite(self.scale) else 1.0,
            seconds=seconds,
            components=self.components,
        )
        return MPEResult(self.world, report)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is looked for and refused
def mpe(
    network: Network | Program,
    weights: npt.ArrayLike,
    *,
    method: Method = "auto",
    loss: npt.ArrayLike | None = None,
    deterministic_limit: float | None = None,
    seed: int = 0,
    describe: Describe | None = None,
) -> MPEResult:
    """The most probable world: the one that maximises sum of w_i n_i plus soft evidence, under all hard clauses.

    Parameters
    ----------
    network : Network or Program
        The ground network, or what `compile_program` made of it, which saves the compilation.
    weights : float array, shape (m,)
        The weights (log-odds); entries of hard clauses are ignored.
    method : {"auto", "elimination", "cpsat"}
        "auto": forests by max-sum elimination, other components by CP-SAT. "elimination" refuses other components,
        "cpsat" solves all by CP-SAT.
    loss : float array, shape (n,), optional
        Added for each true atom (loss-augmented inference).
    deterministic_limit : float, optional
        CP-SAT's deterministic time for each component, roughly seconds. With it the result may be only FEASIBLE.
    seed : int
        CP-SAT's random seed, 0 to 2**31 - 1.
    describe : callable, optional
        Words for a ground clause, for the error about conflicting hard clauses: (local clause, signed local atoms).

    Returns
    -------
    MPEResult
        World, status, objective, bound, gap, times.

    Raises
    ------
    ConflictError
        An `InfeasibleError`: hard clauses cannot all hold.
    NumericError
        Weights that are not finite, or too far apart for CP-SAT's integers.
    InputError
        An unknown method, or "elimination" for a component that is no forest.
    UnsolvedError
        CP-SAT met its limit before any world.

    Notes
    -----
    OPTIMAL means: no world is better by more than `report.precision`. Among several best worlds elimination takes the
    one with the lowest states (false before true, none before the members of a block, members by atom id); CP-SAT
    takes any, the same for the same seed. So an atom that no clause or soft evidence touches is false, and an
    exactly-one block of such atoms has its first atom true (with "auto" and "elimination").

    Examples
    --------
    >>> from sqlrl.solve.sample import network
    >>> friends = network(2, [(0, [-1, 2]), (0, [1, -2]), (1, [1]), (2, [-2])])
    >>> result = mpe(friends, [2.0, 1.5, 0.5])
    >>> result.world.tolist(), result.objective, result.status.value
    ([True, True], 5.5, 'optimal')
    """
    if method not in ("auto", "elimination", "cpsat"):
        raise InputError(f"unknown method {method!r}: choose 'auto', 'elimination' or 'cpsat'")
    clock = [time.perf_counter()]
    stages: list[str] = []

    def done(stage: str) -> None:
        stages.append(stage)
        clock.append(time.perf_counter())

    program = network if isinstance(network, Program) else compile_program(network)
    done("compile")
    structure = program.structure
    run = _Run(program, _weighed(structure.network, weights, loss), describe, seed)
    others = np.flatnonzero(~structure.forest)
    if method == "elimination" and len(others):
        atoms = int(np.isin(structure.component[structure.variables.of_atom], others).sum())
        raise InputError(
            f"elimination needs forests of pairwise ground clauses, but {len(others)} of {len(structure.forest)} "
            f"components (with {atoms} atoms) are not: use method='auto' or 'cpsat'"
        )
    if method != "cpsat" and len(program.forest.variable):
        run.eliminate()
        done("elimination")
    wanted = np.arange(len(structure.forest), dtype=np.int64) if method == "cpsat" else others
    if len(wanted):
        run.cpsat(wanted, deterministic_limit)
        done("cpsat")
    seconds = {stage: after - before for stage, (before, after) in zip(stages, pairwise(clock), strict=True)}
    return run.result(seconds)
