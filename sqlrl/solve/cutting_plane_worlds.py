"""Best worlds in rounds: only the ground clauses that some best world so far does not meet are solved.

A world meets a ground clause that earns in it the most that it can: one of positive cost holds, one of negative cost fails. What is left out
and met by the best world of the rest makes no other world better, so that a proof for the rest is one for the whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sqlrl.ground.network import BoolArray
from sqlrl.progress import Stage
from sqlrl.solve.methods import Chooser, Options
from sqlrl.solve.network_updates import BestWorld
from sqlrl.solve.presolve import keep_rows, presolve
from sqlrl.solve.restriction import UnsatisfiableError
from sqlrl.solve.result import MethodChoice, UnsolvedError
from sqlrl.solve.weighted import FREE, WeightedNetwork
from sqlrl.wording import counted

PATIENCE = 0.1
"""Deterministic seconds that CP-SAT may spend on a component in a round, as long as rounds bring more."""

# ---- whether it is worth it --------------------------------------------------------------------------

SMALL = 20_000
"""So many ground clauses of a shape are taken at once: rounds cost some milliseconds each, too."""

SHARE = 0.25
"""A shape of whose ground clauses the first world does not meet more than this share is taken as a whole: rounds would come
to most of them, and solve what they have so far each time."""


@dataclass(frozen=True)
class NetworkEstimate:
    """What is known of a network before its best world: ground clauses of two literals or more, for each shape (or clause)."""

    sizes: Mapping[Hashable, int]  # how many there are at the most
    # How many of them the first world does not meet, the best one of ground clauses of one literal alone.
    unmet: Mapping[Hashable, int]

    @property
    def whole(self) -> frozenset[Hashable]:
        """The shapes that are better taken as a whole."""
        return frozenset(x for x, size in self.sizes.items() if size <= SMALL or self.unmet[x] > SHARE * size)

    @property
    def small(self) -> bool:
        """Whether there is little to leave out."""
        return sum(self.sizes.values()) <= SMALL * len(self.sizes)

    @property
    def partial(self) -> bool:
        """Whether rounds are worth it: they would leave out more than half of the ground clauses."""
        if self.small:
            return False
        left = sum(size - self.unmet[x] for x, size in self.sizes.items() if x not in self.whole)
        return 2 * left > sum(self.sizes.values())

    def scaled(self, factor: float) -> NetworkEstimate:
        """Return the estimate of a network so many times as large, of which this one is a sample."""
        sizes, unmet = ({x: int(factor * n) for x, n in counts.items()} for counts in (self.sizes, self.unmet))
        return NetworkEstimate(sizes, unmet)


# ---- rounds ------------------------------------------------------------------------------------------


class Rounds:
    """Solves what there is of a network, and adds what the best world does not meet, in turn; a subclass adds ground clauses in `_more`."""

    def __init__(self, weighted: WeightedNetwork, best: BestWorld, limit: float | None, seed: int) -> None:
        # `weighted` is what there is so far, over all n atoms; `limit` is CP-SAT's deterministic time for each component.
        self.weighted, self.best, self.limit, self.seed = weighted, best, limit, seed
        self.count = 0  # rounds that brought more

    def _more(self) -> BoolArray:
        """Add what the best world does not meet; return the atoms of what was added, shape (n,)."""
        raise NotImplementedError

    def _undo(self) -> None:
        """Take back what was added last."""

    def solve(self, changed: BoolArray, *, max_rounds: int | None = None, prove: bool = True) -> bool:
        """Solve from the atoms that changed until the best world meets all that is left out; False if that takes more than `max_rounds`."""
        # A partial network can be far harder than the whole: without this limit the third round of `tuffy/cse`, whose cliques
        # lack members, had not ended after 190 s; the whole network takes 0.5 s. So a round is worth little time, and once
        # CP-SAT needs more, the pairs among the atoms that presolve leaves are added too.
        patience = PATIENCE if self.limit is None else min(PATIENCE, self.limit)
        options = quick = Options(deterministic_limit=patience, seed=self.seed, prove=False)
        with Stage("rounds of cutting planes") as stage:
            while True:
                self._best(changed, options)
                changed = self._more()
                if changed.any():
                    if self.count == max_rounds:
                        # The world is then the best one of a network that lacks what it does not meet.
                        self._undo()
                        return False
                    options, self.count = quick, self.count + 1
                    stage.advance(note=f"{len(self.weighted.cost):,} ground clauses")
                # Without `prove` nothing is proved that the linear relaxation does not prove.
                elif self.best.proved or options.prove or not prove:
                    return True
                else:
                    changed = self.best.unproved(self.weighted)
                    options = replace(quick, deterministic_limit=self.limit, prove=True)

    def _best(self, changed: BoolArray, options: Options) -> None:
        try:
            self.best.solve(self.weighted, changed, options)
        except UnsolvedError:
            if options.deterministic_limit == self.limit:
                raise
            self._best(changed, replace(options, deterministic_limit=self.limit))

    def _undecided(self) -> BoolArray:
        # The atoms that presolve leaves of the components without a proof.
        value, _ = presolve(self.weighted)
        return np.asarray((value == FREE) & self.best.unproved(self.weighted), dtype=np.bool_)


# ---- ground clauses that are there -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solved:
    """The best world of a weighted network, shape (n,), and what `sqlrl.solve.methods.Chooser` says of it."""

    world: BoolArray
    gap: float
    rounding: float
    scale: float
    choices: tuple[MethodChoice, ...]


def solve_network(weighted: WeightedNetwork, options: Options) -> Solved:
    """Solve a network, in rounds if no method is asked for and they leave out most ground clauses; errors are those of `Chooser.run`."""
    if options.method == "auto" and len(weighted.cost) > SMALL:
        kept = _kept_at_first(weighted, options)
        if kept is not None:
            return _in_rounds(weighted, kept, options)
    chooser = Chooser(weighted, options)
    chooser.run()
    return Solved(chooser.world, chooser.gap, chooser.rounding, chooser.scale, tuple(chooser.choices))


def _kept_at_first(weighted: WeightedNetwork, options: Options) -> BoolArray | None:
    """Return which rows to begin with, shape (r,); None if rounds are not worth it."""
    length = np.diff(weighted.indptr)
    short = length == 1
    clause = np.where(short, -1, weighted.clause - min(int(weighted.clause.min()), 0))
    sizes = np.bincount(clause[~short], minlength=1)
    if sizes.max() <= SMALL:
        return None
    first = Chooser(keep_rows(weighted, short), replace(options, start=None))
    first.run()
    unmet = np.bincount(clause[~short & _unmet(weighted, first.world)], minlength=len(sizes))
    groups = np.flatnonzero(sizes).tolist()
    known = NetworkEstimate({i: int(sizes[i]) for i in groups}, {i: int(unmet[i]) for i in groups})
    if not known.partial:
        return None
    whole = np.zeros(len(sizes), dtype=np.bool_)
    whole[[i for i in groups if i in known.whole]] = True
    return np.asarray(short | whole[clause], dtype=np.bool_)


def _unmet(weighted: WeightedNetwork, world: BoolArray) -> BoolArray:
    """Return the rows that earn in a world less than they can, shape (r,)."""
    return np.asarray(weighted.violated(world) == (weighted.cost > 0), dtype=np.bool_)


def _in_rounds(weighted: WeightedNetwork, first_rows: BoolArray, options: Options) -> Solved:
    """Solve a network from some of its rows on."""
    # BestWorld has worlds of all atoms, whose numbers it takes for their places.
    places = np.arange(len(weighted.atoms), dtype=np.int64)
    known = None if options.start is None else np.atleast_2d(options.start)[:, weighted.atoms]
    run = _Resident(replace(weighted, atoms=places, constant=0.0, rounding=0.0), first_rows, options, known)
    try:
        run.solve(np.ones(len(places), dtype=np.bool_), prove=options.prove)
    except UnsatisfiableError as error:
        raise UnsatisfiableError(int(weighted.atoms[error.atom])) from None
    best, rows = run.best, int(run.kept.sum())
    rounding = weighted.rounding + best.rounding
    reason = f"{rows:,} of {len(weighted.cost):,} ground clauses in {counted(run.count, 'round')}"
    choices = (MethodChoice("cutting plane", 0, len(places), rows, reason, 0.0), *best.choices)
    return Solved(best.world, rounding + float(best.excess.sum()), rounding, best.scale, choices)


class _Resident(Rounds):
    # Rounds over rows that are all in memory, of which `kept`, shape (r,), are solved.

    def __init__(self, whole: WeightedNetwork, kept: BoolArray, options: Options, known: BoolArray | None) -> None:
        best = BestWorld(len(whole.atoms), known=known)
        super().__init__(keep_rows(whole, kept), best, options.deterministic_limit, options.seed)
        self.whole, self.kept = whole, kept
        self._pair = np.diff(whole.indptr) == 2

    def _more(self) -> BoolArray:
        new = _unmet(self.whole, self.best.world)
        if not self.best.proved:
            undecided = self._undecided()
            inside = np.logical_and.reduceat(undecided[np.abs(self.whole.literals) - 1], self.whole.indptr[:-1])
            new |= inside & self._pair
        new &= ~self.kept
        changed = np.zeros(len(self.whole.atoms), dtype=np.bool_)
        if new.any():
            changed[np.abs(keep_rows(self.whole, new).literals) - 1] = True
            self.kept = self.kept | new
            self.weighted = keep_rows(self.whole, self.kept)
        return changed
