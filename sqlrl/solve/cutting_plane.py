"""Cutting plane inference: only the ground clauses that some best world so far does not meet are ever grounded.

Riedel, "Improving the accuracy and efficiency of MAP inference for Markov logic" (UAI 2008), Algorithm 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sqlrl.ground.network import BoolArray, IntArray, Network
from sqlrl.solve.counts import counts, open_counts, soft_weights, weighted_score
from sqlrl.solve.mpe import mpe
from sqlrl.solve.presolve import presolve
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.result import Choice, MPEResult, UnsolvedError
from sqlrl.solve.structure import pointers, ragged_ranges
from sqlrl.solve.weighted import FREE, weigh
from sqlrl.wording import counted

PATIENCE = 0.1
"""Deterministic seconds that CP-SAT may spend on a component in a round, as long as rounds ground more."""


class ClauseOracle(Protocol):
    """A network of n atoms and m clauses that stays where it is."""

    def start(self) -> Network:
        """Return it without ground clauses of two literals or more."""
        ...

    def unsatisfied(self, world: BoolArray, wanted: npt.NDArray[np.int8]) -> Network:
        """Return it with the ground clauses of two literals or more that a world of shape (n,) does not meet.

        `wanted`, of shape (m,), is 1 for the clause's ground clauses that are violated, -1 for those that are satisfied, 0 for
        none. The rows are distinct (no clause has the same literals twice) and have their full multiplicities.
        """
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

    def opened(self) -> npt.NDArray[np.object_]:
        """Return `Network.open` of the whole network, shape (m,), which takes as long as full grounding."""
        ...

    @property
    def size(self) -> int:
        """At most so many ground clauses of two literals or more there are."""
        ...


@dataclass(frozen=True, eq=False)
class Cutting:
    """What cutting planes found.

    `network` has the ground clauses of one literal and those that some round returned. Its `base` is such that
    `solve.counts.counts` is exact in the world of the result, and there alone; not for clauses of weight 0. The report of
    `result` is over the whole network: `choices` begins with the rounds, then has those of the last one. `rounds` is how many
    of them returned new ground clauses.
    """

    network: Network
    result: MPEResult
    rounds: int


def cutting_planes(
    oracle: ClauseOracle, weights: npt.ArrayLike, *, deterministic_limit: float | None = None, seed: int = 0
) -> Cutting:
    r"""The most probable world of a network that is grounded no further than needed.

    `weights`, in log-odds, has shape (m,); entries of hard clauses are ignored, clauses of weight 0 never grounded. The limit,
    the seed and the errors are those of `solve.mpe.mpe`, in every round.

    Notes
    -----
    In the last world every ground clause that was not grounded earns the most that it can: those of positive cost hold,
    those of negative cost fail. So no world gains on it by them, and the gap of the last round is one of the whole network.

    Examples
    --------
    >>> from sqlrl.ground.oracle import ProgramOracle
    >>> program = sample_program(PEOPLE + "\n2 Smokes(Anna)\n-0.25 Smokes(x)", ["Smokes"], FRIENDS)
    >>> found = cutting_planes(ProgramOracle(Extent(program)), program.weights())
    >>> found.result.world.tolist(), found.result.objective, found.result.status.value, found.rounds
    ([True, True, True], 10.25, 'optimal', 2)
    """
    run = _Run(oracle, weights, deterministic_limit, seed)
    run.solve()
    return run.result()


class _Run:
    # One call of cutting_planes: the network so far, its best world, and where the time went.

    def __init__(self, oracle: ClauseOracle, weights: npt.ArrayLike, limit: float | None, seed: int) -> None:
        self.begun = time.perf_counter()
        self.oracle, self.limit, self.seed = oracle, limit, seed
        self.network = network = oracle.start()
        self.soft = soft_weights(network, weights)
        self.wanted = np.where(network.hard, 1, np.sign(self.soft * network.sign)).astype(np.int8)
        oracle.check_counts(self.wanted < 0)
        self.grounding, self.rounds = time.perf_counter() - self.begun, 0
        self.last: MPEResult | None = None

    def solve(self) -> None:
        """Ground and solve in turn until the best world meets all that is not grounded."""
        # A partial network can be far harder than the whole: without this limit the third round of `tuffy/cse`, whose cliques
        # lack members, had not ended after 190 s; the whole network takes 0.5 s. So a round is worth little time, and once
        # CP-SAT needs more, the pairs among the atoms that presolve leaves are grounded too.
        patience = PATIENCE if self.limit is None else min(PATIENCE, self.limit)
        limit: float | None = patience
        pairs = False
        while True:
            self.last = result = self._best(limit)
            proved = result.gap <= result.report.precision
            pairs = pairs or not proved
            if self._ground(result.world, pairs=pairs):
                limit, self.rounds = patience, self.rounds + 1
            elif proved or limit == self.limit:
                return
            else:
                limit = self.limit

    def _best(self, limit: float | None) -> MPEResult:
        start = None if self.last is None else self.last.world
        try:
            return mpe(
                self.network, self.soft, start=start, deterministic_limit=limit, seed=self.seed, describe=self.oracle.describe
            )  # fmt: skip
        except UnsolvedError:
            if limit == self.limit:
                raise
            return self._best(self.limit)

    def _ground(self, world: BoolArray, *, pairs: bool) -> bool:
        # Add what the world does not meet; False if that is all there.
        begun, size = time.perf_counter(), len(self.network.row_clause)
        self.network = add_rows(self.network, self.oracle.unsatisfied(world, self.wanted))
        if pairs:
            self.network = add_rows(self.network, self.oracle.among(self._undecided(), self.wanted))
        self.grounding += time.perf_counter() - begun
        return len(self.network.row_clause) > size

    def _undecided(self) -> BoolArray:
        try:
            value, _ = presolve(weigh(self.network, self.soft))
        except UnsatisfiableError:  # the next round says which hard clauses cannot all hold
            return np.zeros(len(self.network.atoms), dtype=np.bool_)
        return np.asarray(value == FREE, dtype=np.bool_)

    def result(self) -> Cutting:
        """Return the world with its counts and score in the whole network."""
        assert self.last is not None
        world, report, begun = self.last.world, self.last.report, time.perf_counter()
        solving = begun - self.begun - self.grounding
        # Ground clauses that are not there hold, as `base` has it, but for those of negative cost: they fail.
        asked = self.wanted < 0
        exact = np.where(asked, self.oracle.counts(world, asked), counts(self.network, world))
        network = replace(self.network, base=exact - open_counts(self.network, world).astype(object))
        atoms, rows = len(network.atoms), len(network.row_clause)
        reason = f"{rows:,} of at most {self.oracle.size:,} ground clauses in {counted(self.rounds, 'round')}"
        choice = Choice("cutting plane", 0, atoms, rows, reason, self.grounding)
        none = np.zeros_like(world)
        report = replace(
            report,
            objective=weighted_score(self.soft, exact, network.prior, world),
            constant=weighted_score(self.soft, network.base, network.prior, none),
            seconds={"ground": self.grounding, "solve": solving, "score": time.perf_counter() - begun},
            choices=(choice, *report.choices),
        )
        return Cutting(network, MPEResult(world, report), self.rounds)


def recounted(oracle: ClauseOracle, found: Cutting) -> Network:
    """Return the network that rounds grounded, with the counts of the whole.

    `open` is that of the whole network, and `base` such that `solve.counts.counts` is exact in the world of the result for all
    clauses, also those of weight 0.

    Examples
    --------
    >>> from sqlrl.ground.oracle import ProgramOracle
    >>> program = sample_program(PEOPLE, ["Smokes"], FRIENDS)
    >>> oracle = ProgramOracle(Extent(program))
    >>> found = cutting_planes(oracle, [0.0])
    >>> found.network.open.tolist(), recounted(oracle, found).open.tolist()
    ([0], [2])
    """
    network, world = found.network, found.result.world
    exact = oracle.counts(world, np.ones(len(network.clauses), dtype=np.bool_))
    return replace(network, base=network.base + exact - counts(network, world), open=oracle.opened())


def add_rows(network: Network, found: Network) -> Network:
    """Add the rows of one network to another of the same atoms and clauses; a row that it has is not added again.

    Returns the very network if all are there already.

    Examples
    --------
    >>> old, new = network(3, [(0, [1, 2])], clauses=2), network(3, [(0, [1, 2]), (0, [1, -3]), (1, [1, 2])])
    >>> larger = add_rows(old, new)
    >>> larger.row_clause.tolist(), larger.literals.tolist(), add_rows(larger, new) is larger
    ([0, 0, 1], [1, 2, 1, -3, 1, 2], True)
    """
    size = len(network.row_clause)
    clause = np.concatenate([network.row_clause, found.row_clause])
    length = np.concatenate([np.diff(network.indptr), np.diff(found.indptr)])
    literals = np.concatenate([network.literals, found.literals])
    start = pointers(length)
    label = _labels(clause, length, literals, start)
    known = np.zeros(int(label.max(initial=-1)) + 1, dtype=np.bool_)
    known[label[:size]] = True
    new = size + np.flatnonzero(~known[label[size:]])
    if len(new) == 0:
        return network
    rows = np.concatenate([np.arange(size, dtype=np.int64), new])
    rows = rows[np.argsort(clause[rows], kind="stable")]
    return replace(
        network,
        indptr=pointers(length[rows]),
        literals=literals[ragged_ranges(start[rows], length[rows])],
        row_clause=clause[rows],
        multiplicity=np.concatenate([network.multiplicity, found.multiplicity])[rows],
    )


def _labels(clause: IntArray, length: IntArray, literals: IntArray, start: IntArray) -> IntArray:
    # Number rows so that those of equal clause and literals have the same number.
    label = np.zeros(len(clause), dtype=np.int64)
    groups = 0
    for size in np.unique(length).tolist():
        rows = np.flatnonzero(length == size)
        _, key = np.unique(clause[rows], return_inverse=True)
        for place in range(size):
            column = literals[start[rows] + place]
            low = int(column.min())
            _, key = np.unique(key * (int(column.max()) - low + 1) + (column - low), return_inverse=True)
        label[rows] = groups + key
        groups += int(key.max(initial=-1)) + 1
    return label
