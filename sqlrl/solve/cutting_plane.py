"""Cutting plane inference: only the ground clauses that some best world so far does not meet are ever grounded.

Riedel, "Improving the accuracy and efficiency of MAP inference for Markov logic" (UAI 2008), Algorithm 1.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sqlrl.distinct import distinct
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, NetworkRows, ragged_ranges
from sqlrl.solve.conflict import conflict_of
from sqlrl.solve.counts import counts, open_counts, soft_weights, violation_cost, weighted_score
from sqlrl.solve.cutting_plane_worlds import SHARE, NetworkEstimate, Rounds
from sqlrl.solve.mpe import mpe
from sqlrl.solve.network_updates import BestWorld
from sqlrl.solve.other_worlds import Other
from sqlrl.solve.restriction import UnsatisfiableError, select, with_components
from sqlrl.solve.result import MethodChoice, MPEResult, SolverReport, status_of
from sqlrl.solve.structure import compile_network, pointers
from sqlrl.solve.weighted import weigh
from sqlrl.wording import counted


class ClauseOracle(Protocol):
    """A network of n atoms and m clauses that stays where it is."""

    def start(self) -> Network:
        """Return it without ground clauses of two literals or more, but for those of complete clauses."""
        ...

    @property
    def complete(self) -> BoolArray:
        """The clauses all of whose ground clauses `start` returns, shape (m,); no round has to ask for them."""
        ...

    def unsatisfied(self, world: BoolArray, wanted: npt.NDArray[np.int8], since: BoolArray | None = None) -> Network:
        """Return it with the rows of incomplete clauses that a world violates (`wanted` 1) or satisfies (-1), distinct, at full multiplicity; it may lack those that the world `since` violates or satisfies as well."""
        ...

    def among(self, chosen: BoolArray, wanted: npt.NDArray[np.int8]) -> Network:
        """Return it with ground clauses of two literals whose atoms are all chosen, as `unsatisfied`; met or not."""
        ...

    def check_counts(self, asked: BoolArray) -> None:
        """Refuse, before any work, clauses that `counts` would refuse in every world."""
        ...

    def counts(self, world: BoolArray, asked: BoolArray) -> npt.NDArray[np.object_]:
        """Return the exact n of the clauses asked for (shape (m,)) in a world, shape (m,); 0 for others."""
        ...

    def describe(self, clause: int, literals: Sequence[int]) -> str:
        """Return a ground clause (local clause, signed local atoms) as text."""
        ...

    def open_counts(self) -> npt.NDArray[np.object_]:
        """Return `Network.open` of the whole network, shape (m,), which takes as long as full grounding."""
        ...

    @property
    def large(self) -> bool:
        """Whether there are so many atoms that counting `sizes` is work to be avoided."""
        ...

    @property
    def bounds(self) -> Mapping[Hashable, int]:
        """Bounds on `sizes` that take no time."""

    @property
    def known_sizes(self) -> Mapping[Hashable, int]:
        """The `sizes`, or `bounds` where they are too much work and were not counted."""
        ...

    @property
    def sizes(self) -> Mapping[Hashable, int]:
        """At most so many ground clauses of two literals or more there are, by group of shapes that some formula has together."""
        ...

    def unmet(
        self, world: BoolArray, wanted: npt.NDArray[np.int8], most: Mapping[Hashable, int]
    ) -> Mapping[Hashable, int]:
        """Return how many ground clauses `unsatisfied` would return of each group; more than `most` are as good as one more."""
        ...


# ---- whether it is worth it --------------------------------------------------------------------------


def estimate(oracle: ClauseOracle, weights: npt.ArrayLike) -> NetworkEstimate:
    """Count, without grounding it, what decides how a network is best grounded; weights and errors as for `cutting_planes`."""
    for sizes in (oracle.bounds,) if oracle.large else (oracle.bounds, oracle.sizes):
        known = NetworkEstimate(sizes, sizes)
        if known.small:
            return known
    network = oracle.start()
    soft = soft_weights(network, weights)
    first = mpe(network, soft, describe=oracle.describe)
    most = {shape: int(SHARE * size) for shape, size in sizes.items()}
    unmet = oracle.unmet(first.world, wanted_truth(network, soft), most)
    # Of a world that meets all of them it does not matter how many there are, which takes as long to count as what it does not meet.
    return NetworkEstimate(oracle.sizes if any(unmet.values()) else sizes, unmet)


# ---- rounds ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cutting:
    """What cutting planes found: the network as far as it was grounded, and its best world."""

    # The ground clauses of one literal and those that some round returned. Its `base` is such that `solve.counts.counts` is exact in the
    # world of the result, and there alone; not for clauses of weight 0.
    network: Network
    # The report is over the whole network; its `choices` begin with the rounds, then have those of all components solved in them.
    result: MPEResult
    rounds: int  # how many returned new ground clauses


def cutting_planes(
    oracle: ClauseOracle, weights: npt.ArrayLike, *, deterministic_limit: float | None = None, seed: int = 0
) -> Cutting:
    """Return the most probable world of a network grounded only as far as needed; limit and errors are those of `mpe`, in every round."""
    begun = time.perf_counter()
    network = oracle.start()
    run = _Run(oracle, network, weights, BestWorld(len(network.atoms)), deterministic_limit, seed)
    oracle.check_counts(run.asked)
    run.grounding = time.perf_counter() - begun
    try:
        run.solve(np.ones(len(network.atoms), dtype=np.bool_))
    except UnsatisfiableError as error:
        structure = compile_network(run.network)
        raise conflict_of(structure, error.atom, describe=oracle.describe, seed=seed) from None
    return run.result(begun)


def flipped_by_rounds(
    oracle: ClauseOracle,
    network: Network,
    weights: npt.ArrayLike,
    world: BoolArray,
    atom: int,
    *,
    max_rounds: int | None = None,
    deterministic_limit: float | None = None,
    seed: int = 0,
) -> Other:
    """Return the best world in which one atom is flipped, grounding what it needs beyond `network`; incomplete if `max_rounds` are too few."""
    forced = np.array([[-1, -(atom + 1) if world[atom] else atom + 1]])
    held = replace(network, hard_units=np.concatenate([network.hard_units, forced]))
    # `network` is what cutting planes grounded until `world` was the best one, so that only the component of the atom is solved.
    run = _Run(oracle, held, weights, BestWorld(len(world), world), deterministic_limit, seed)
    changed = np.zeros(len(world), dtype=np.bool_)
    changed[atom] = True
    try:
        complete = run.solve(changed, max_rounds=max_rounds)
    except UnsatisfiableError:
        return Other(world, np.inf, 0.0)
    other = run.best.world
    free = weigh(replace(run.network, hard_units=network.hard_units), run.soft)
    inside = with_components(free, changed | (other != world))
    part = select(free, inside)
    behind = part.score(world[inside]) - part.score(other[inside])
    gap = free.rounding + run.best.rounding + float(run.best.excess.sum())
    return Other(other, behind, gap, complete)


class _Run(Rounds):
    # Rounds over a network that the oracle grounds, and where the time went.

    def __init__(
        self,
        oracle: ClauseOracle,
        network: Network,
        weights: npt.ArrayLike,
        best: BestWorld,
        limit: float | None,
        seed: int,
    ) -> None:
        self.soft = soft_weights(network, weights)
        super().__init__(weigh(network, self.soft), best, limit, seed)
        self.oracle, self.network = oracle, network
        self.wanted = wanted_truth(network, self.soft)
        self.grounding = 0.0
        self._solved = network
        self._before: BoolArray | None = None  # the world that was asked about last

    @property
    def asked(self) -> BoolArray:
        """The clauses whose ground clauses fail where they are not there: their counts are the oracle's."""
        return np.asarray((self.wanted < 0) & ~self.oracle.complete, dtype=np.bool_)

    def _more(self) -> BoolArray:
        begun, self._solved = time.perf_counter(), self.network
        world = self.best.world
        # What the world before did not meet is there already.
        self.network, changed = add_rows(self.network, self.oracle.unsatisfied(world, self.wanted, self._before))
        self._before = world
        if not self.best.proved:
            pairs = self.oracle.among(self._undecided(), self.wanted)
            self.network, more = add_rows(self.network, pairs)
            changed |= more
        if changed.any():
            self.weighted = weigh(self.network, self.soft)
        self.grounding += time.perf_counter() - begun
        return changed

    def _undo(self) -> None:
        self.network = self._solved

    def result(self, since: float) -> Cutting:
        """Return the world with its counts and score in the whole network."""
        best, weighted, begun = self.best, self.weighted, time.perf_counter()
        world, solving = best.world, begun - since - self.grounding
        # Ground clauses that are not there hold, as `base` has it, but for those of negative cost: they fail.
        asked = self.asked
        supposed = counts(self.network, world)
        exact = np.where(asked, self.oracle.counts(world, asked), supposed)
        network = replace(self.network, base=exact - open_counts(self.network, world).astype(object))
        atoms, rows = len(network.atoms), len(network.row_clause)
        reason = f"{rows:,} of at most {sum(self.oracle.known_sizes.values()):,} ground clauses in {counted(self.count, 'round')}"
        choice = MethodChoice("cutting plane", 0, atoms, rows, reason, self.grounding)
        # What was not grounded earns in this world the most that it can, so that no world gains by it: the gap is one of the whole network.
        precision = best.rounding + weighted.rounding
        magnitude = float(np.abs(weighted.linear).sum() + np.abs(weighted.cost[~weighted.hard]).sum())
        cost = violation_cost(self.network, self.soft, exact, network.prior, world, supposed=supposed)
        report = SolverReport(
            status=status_of(best.proved, precision, magnitude),
            objective=weighted_score(self.soft, exact, network.prior, world),
            # That of the start: `network.base` has what fails in this world.
            constant=weighted_score(self.soft, self.network.base, network.prior, np.zeros_like(world)),
            gap=precision + float(best.excess.sum()),
            precision=precision,
            magnitude=magnitude,
            scale=best.scale if np.isfinite(best.scale) else 1.0,
            seconds={"ground": self.grounding, "solve": solving, "score": time.perf_counter() - begun},
            choices=(choice, *best.choices),
            decided=weighted_score(self.soft, exact - self.network.base, network.prior, world),
            open_cost=cost.open,
            constant_cost=cost.constant,
        )
        return Cutting(network, MPEResult(world, report), self.count)


def recounted(oracle: ClauseOracle, cutting: Cutting) -> Network:
    """Return the network that rounds grounded, with `open` of the whole and a `base` that makes all counts exact in the world of the result."""
    network, world = cutting.network, cutting.result.world
    exact = oracle.counts(world, np.ones(len(network.clauses), dtype=np.bool_))
    return replace(network, base=network.base + exact - counts(network, world), open=oracle.open_counts())


def wanted_truth(network: Network, soft: FloatArray) -> npt.NDArray[np.int8]:
    """Return what the ground clauses of each clause ought to do: 1 hold, -1 fail, 0 nothing (weight 0)."""
    return np.where(network.hard, 1, np.sign(soft * network.sign)).astype(np.int8)


def add_rows(network: Network, grounded: Network) -> tuple[Network, BoolArray]:
    """Return `network` with the rows of `grounded`, or itself if that changes nothing, and the atoms of the rows that are new or grew."""
    changed = np.zeros(len(network.atoms), dtype=np.bool_)
    size = len(network.row_clause)
    clause = np.concatenate([network.row_clause, grounded.row_clause])
    length = np.concatenate([np.diff(network.indptr), np.diff(grounded.indptr)])
    literals = np.concatenate([network.literals, grounded.literals])
    start = pointers(length)
    label = _labels(clause, length, literals, start)
    place = np.full(int(label.max(initial=-1)) + 1, -1, dtype=np.int64)
    place[label[:size]] = np.arange(size)
    old = place[label[size:]]
    new = size + np.flatnonzero(old < 0)
    # What only some of the shapes of a formula returned, pairs of chosen atoms, may lack groundings of others.
    grew = np.flatnonzero(old >= 0)
    grew = grew[grounded.multiplicity[grew] > network.multiplicity[old[grew]]]
    if len(new) + len(grew) == 0:
        return network, changed
    multiplicity = np.concatenate([network.multiplicity, grounded.multiplicity])
    multiplicity[old[grew]] = grounded.multiplicity[grew]
    touched = np.concatenate([new, old[grew]])
    changed[np.abs(literals[ragged_ranges(start[touched], length[touched])]) - 1] = True
    rows = np.concatenate([np.arange(size, dtype=np.int64), new])
    rows = rows[np.argsort(clause[rows], kind="stable")]
    more = np.zeros(len(network.clauses), dtype=np.int64)
    np.add.at(more, grounded.row_clause[new - size], grounded.multiplicity[new - size])
    larger = replace(
        network,
        open=network.open + more.astype(object),
        rows=NetworkRows(
            pointers(length[rows]),
            literals[ragged_ranges(start[rows], length[rows])],
            clause[rows],
            multiplicity[rows],
        ),
    )
    return larger, changed


def _labels(clause: IntArray, length: IntArray, literals: IntArray, start: IntArray) -> IntArray:
    # Number rows so that those of equal clause and literals have the same number.
    label = np.zeros(len(clause), dtype=np.int64)
    groups = 0
    for size in np.unique(length).tolist():
        rows = np.flatnonzero(length == size)
        different = distinct([clause[rows], *(literals[start[rows] + place] for place in range(size))])
        label[rows] = groups + different.inverse
        groups += len(different)
    return label
