"""Marginal probabilities of a ground network: exact where components allow it, sampled elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError, NumericError, Parameter
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network
from sqlrl.progress import Stage, staged
from sqlrl.solve.counts import soft_weights
from sqlrl.solve.elimination import bounded_part, sum_product
from sqlrl.solve.enumeration import ALL_STEPS, MOST_ATOMS, STEPS, enumerate_worlds
from sqlrl.solve.forest_sums import partition_of
from sqlrl.solve.presolve import recognise_blocks
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, restrict, select, select_each
from sqlrl.solve.result import MethodChoice
from sqlrl.solve.sampling.belief import METHODS, MarginalResult
from sqlrl.solve.sampling.chains import Effort, SampleBatch, SampleSink
from sqlrl.solve.sampling.diagnostics import SampleEstimate
from sqlrl.solve.sampling.gibbs import is_gibbs, sample_gibbs
from sqlrl.solve.sampling.mcsat import sample_mcsat
from sqlrl.solve.sampling.propagation import propagate
from sqlrl.solve.sampling.slices import STIFF
from sqlrl.solve.tied_forest import compile_tied
from sqlrl.solve.treewidth.order import COMPONENT_CELLS, Order
from sqlrl.solve.weighted import FREE, WeightedNetwork, atom_terms, weigh

if TYPE_CHECKING:
    from sqlrl.solve.conflict import Describe

Method = Literal["auto", "exact", "gibbs", "mcsat"]

LARGE_CELLS, LARGE_BUCKET = 2**25, 2**21
"""Cells of the tables of all components beyond the bounds of the others, and of one table: some seconds and 300 MB at the most."""


def logistic(weighted: WeightedNetwork) -> FloatArray:
    """Return the exact probability of each atom of a network without rows (Huynh 2011, section 3.2.2)."""
    found = np.empty(len(weighted.atoms))
    inside = weighted.block >= 0
    alone = weighted.linear[~inside]
    small = np.exp(-np.abs(alone))
    found[~inside] = np.where(alone >= 0, 1.0, small) / (1.0 + small)
    block, linear = weighted.block[inside], weighted.linear[inside]
    top = np.where(weighted.block_exact, -np.inf, 0.0)
    np.maximum.at(top, block, linear)
    weight = np.exp(linear - top[block])
    none = np.zeros(len(top))
    none[~weighted.block_exact] = np.exp(-top[~weighted.block_exact])
    total = none + np.bincount(block, weights=weight, minlength=len(top))
    found[inside] = weight / total[block]
    return found


def _eliminate(weighted: WeightedNetwork, order: Order) -> FloatArray:
    return sum_product(weighted, order=order)[0]


def _linked(weighted: WeightedNetwork, label: IntArray, count: int) -> BoolArray:
    # Atoms of components that have rows.
    linked = np.zeros(count, dtype=np.bool_)
    linked[label[np.abs(weighted.literals) - 1]] = True
    return np.asarray(linked[label], dtype=np.bool_)


def _stiff(weighted: WeightedNetwork, label: IntArray, count: int) -> BoolArray:
    # Atoms of components with rows that a chain of single flips may not get past.
    stiff = np.zeros(count, dtype=np.bool_)
    rows = np.flatnonzero(np.abs(weighted.cost) >= STIFF)
    stiff[label[np.abs(weighted.literals[weighted.indptr[rows]]) - 1]] = True
    return np.asarray(stiff[label], dtype=np.bool_)


class _Run:
    # The numbers of all atoms, filled in method by method.

    def __init__(self, weighted: WeightedNetwork, effort: Effort, sink: SampleSink | None) -> None:
        self.weighted, self.effort, self.sink = weighted, effort, sink
        n = len(weighted.atoms)
        self.probability, self.error = np.full(n, np.nan), np.zeros(n)
        self.rhat, self.ess = np.ones(n), np.full(n, np.inf)
        self.code = np.zeros(n, dtype=np.int8)
        self.choices: list[MethodChoice] = []
        self._since = time.perf_counter()
        self.value = propagate(weighted)
        fixed = np.flatnonzero(self.value != FREE)
        self.at = np.flatnonzero(self.value == FREE)
        self.left = recognise_blocks(restrict(weighted, self.value) if len(fixed) else weighted)
        if len(fixed):
            self.probability[fixed] = self.value[fixed]
            self._done("fixed", fixed, 0, 0, "hard clauses and blocks leave one value")
        self.count, self.label = component_labels(self.left)

    def _done(self, method: str, atoms: IntArray, components: int, rows: int, reason: str) -> None:
        now = time.perf_counter()
        self.code[atoms] = METHODS.index(method)
        self.choices.append(MethodChoice(method, components, len(atoms), rows, reason, now - self._since))
        self._since = now

    def part(self, inside: BoolArray) -> tuple[WeightedNetwork, IntArray, int]:
        """Whole components of what is left, their atoms in the network, and how many they are."""
        part = self.left if inside.all() else select(self.left, inside)
        return part, self.at[inside], len(np.unique(self.label[inside]))

    def exactly(
        self, method: str, inside: BoolArray, solve: Callable[[WeightedNetwork], FloatArray], reason: str
    ) -> None:
        """Take over exact probabilities of some components."""
        if inside.any():
            part, atoms, components = self.part(inside)
            with Stage(f"exact probabilities by {method}"):
                self.probability[atoms] = solve(part)
            self._done(method, atoms, components, len(part.cost), reason)

    def sample(self, method: Literal["gibbs", "mcsat"], inside: BoolArray, reason: str) -> None:
        """Take over sampled probabilities of some components."""
        if not inside.any():
            return
        part, atoms, components = self.part(inside)
        if method == "gibbs" and not is_gibbs(part):
            raise InputError(
                f"{int(part.hard.sum())} hard ground clauses keep worlds apart that Gibbs sampling could not pass "
                f"between: use {Parameter('method', 'mcsat')} or 'auto'"
            )
        sampler = sample_gibbs if method == "gibbs" else sample_mcsat
        found: SampleEstimate = sampler(part, self.effort, write=self._writer(atoms) if self.sink else None)
        self.probability[atoms], self.error[atoms] = found.mean, found.error
        self.rhat[atoms], self.ess[atoms] = found.rhat, found.ess
        if found.draws < self.effort.samples or found.chains < self.effort.chains:
            self.effort = replace(
                self.effort, samples=found.draws, chains=found.chains, burn_in=found.burned, stopped=True
            )
        self._done(method, atoms, components, len(part.cost), reason)

    def _writer(self, atoms: IntArray) -> Callable[[SampleBatch], None]:
        known, sink = self.value == 1, self.sink

        def write(batch: SampleBatch) -> None:
            """Hand a batch on with the values of all atoms."""
            worlds = np.repeat(known[None, :], len(batch.worlds), axis=0)
            worlds[:, atoms] = batch.worlds
            mean = known.astype(np.float64)
            mean[atoms] = batch.mean
            assert sink is not None
            sink.write(replace(batch, worlds=worlds, mean=mean))

        return write

    def _bounded(self, linked: BoolArray) -> Iterator[tuple[BoolArray, Order]]:
        """Yield the atoms of the components that elimination can hold, with its order; few components may be larger."""
        small = bounded_part(self.part(linked)[0])
        inside, wide = linked.copy(), linked.copy()
        inside[linked], wide[linked] = small.atoms, ~small.atoms
        yield inside, small.order
        most = LARGE_CELLS // max(len(np.unique(self.label[wide])), 1)
        if not wide.any() or most <= COMPONENT_CELLS:
            return
        large = bounded_part(self.part(wide)[0], bucket_cells=LARGE_BUCKET, component_cells=most)
        inside = wide.copy()
        inside[wide] = large.atoms
        yield inside, large.order

    def _enumerated(self, too_wide: BoolArray) -> tuple[BoolArray, FloatArray]:
        """Return the atoms of components whose worlds hard rows leave few enough to meet, and their probabilities."""
        part, _, _ = self.part(too_wide)
        done, found = np.zeros(len(self.at), dtype=np.bool_), np.empty(len(self.at))
        place, left = np.flatnonzero(too_wide), ALL_STEPS
        count, label = component_labels(part)
        for inside, one in staged("enumerating worlds", select_each(part, label, count), count):
            if not one.hard.any():
                continue
            values = enumerate_worlds(one, min(STEPS, left))
            left -= STEPS if values is None and len(one.atoms) <= MOST_ATOMS else 0 if values is None else values.steps
            if values is not None:
                done[place[inside]] = True
                found[place[inside]] = values.probability
            if left <= 0:
                break
        return done, found[done]

    def run(self, method: Method) -> None:
        """Find all probabilities, component by component."""
        everything = np.ones(len(self.at), dtype=np.bool_)
        if method in ("gibbs", "mcsat"):
            self.sample("gibbs" if method == "gibbs" else "mcsat", everything, "asked for")
            return
        linked = _linked(self.left, self.label, self.count)
        bounded = list(self._bounded(linked))
        wide = linked & ~np.any([inside for inside, _ in bounded], axis=0)
        enumerated, known = self._enumerated(wide)
        wide &= ~enumerated
        if method == "exact" and wide.any():
            raise InputError(
                f"exact marginals need tables beyond the bound for {len(np.unique(self.label[wide]))} of {self.count} "
                f"components, with {int(wide.sum())} atoms: use {Parameter('method', 'auto')} or 'mcsat'"
            )
        stiff = _stiff(self.left, self.label, self.count)
        if self.sink:
            # Joint samples need all atoms in one chain, also those whose probability is known exactly.
            hard = "hard or nearly hard clauses" if stiff.any() else "no clause is nearly hard"
            self.sample("mcsat" if stiff.any() else "gibbs", everything, f"samples were asked for; {hard}")
            self.error[self.at[~wide]], self.rhat[self.at[~wide]], self.ess[self.at[~wide]] = 0.0, 1.0, np.inf
        else:
            self.sample("mcsat", wide & stiff, "tables beyond the bound; hard or nearly hard clauses")
            self.sample("gibbs", wide & ~stiff, "tables beyond the bound; no clause is nearly hard")
        self.exactly("enumeration", enumerated, lambda _: known, "hard clauses leave few worlds")
        self.exactly("logistic", ~linked, logistic, "no ground clause of two or more literals")
        for inside, order in bounded:
            solve = partial(_eliminate, order=order)
            self.exactly("elimination", inside, solve, "tables within the bound")

    def result(self, seconds: float) -> MarginalResult:
        """Return what was found."""
        return MarginalResult(
            self.probability, self.error, self.rhat, self.ess, self.code, tuple(self.choices), self.effort, seconds
        )


def _tied(network: Network, weights: npt.ArrayLike, effort: Effort, begun: float) -> MarginalResult | None:
    """Return exact probabilities where all components are forests over tied tables, so that no ground clause is listed; None elsewhere."""
    compiled = None if len(network.hard_units) else compile_tied(network)
    if compiled is None or not compiled.summable:
        return None
    soft, program, n = soft_weights(network, weights), compiled.program, len(network.atoms)
    partition = partition_of(program, n)
    score = np.concatenate([(program.unary @ soft)[partition.state] + atom_terms(network), program.pairs @ soft])
    if not np.isfinite(score).all():
        raise NumericError("weights are so large that their sums overflow: scale them down")
    with Stage("exact probabilities by elimination"):
        probability = np.minimum(partition.expectations(score)[1][:n], 1.0)
    joined = np.diff(program.component_start) > 1
    mine = joined[partition.component]
    code = np.where(mine, METHODS.index("elimination"), METHODS.index("logistic")).astype(np.int8)
    seconds = time.perf_counter() - begun
    parts = (
        ("logistic", ~joined, ~mine, 0, "no ground clause of two or more literals"),
        ("elimination", joined, mine, program.rows, "tables within the bound"),
    )
    choices = tuple(
        MethodChoice(name, int(components.sum()), int(atoms.sum()), rows, reason, seconds if rows else 0.0)
        for name, components, atoms, rows, reason in parts
        if components.any()
    )
    none, all_ = np.zeros(n), np.full(n, np.inf)
    return MarginalResult(probability, none, np.ones(n), all_, code, choices, effort, seconds)


def check_time_limit(seconds: object) -> None:
    """Refuse a time limit that is none."""
    if seconds is None:
        return
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.number)) or not 0 < seconds < np.inf:
        raise InputError(f"{Parameter('time_limit', seconds)} must be a positive number of seconds")


def marginals(
    source: Network | WeightedNetwork,
    weights: npt.ArrayLike | None = None,
    *,
    method: Method = "auto",
    samples: int = 1000,
    burn_in: int = 100,
    chains: int = 4,
    seed: int = 0,
    threads: int = 1,
    time_limit: float | None = None,
    sink: SampleSink | None = None,
    describe: Describe | None = None,
) -> MarginalResult:
    """Return the probability that each atom is true, with Monte Carlo errors, diagnostics, and warnings where it cannot be trusted.

    "auto" is exact where logistic form, elimination or enumeration allows it, and samples the other components: by Gibbs sampling, or by
    MC-SAT where clauses are hard or nearly so; "exact" refuses what it would have to sample. Under `time_limit` (seconds of wall time) the
    same seed may give other numbers. `sink` gets sampled worlds of all atoms together, so that then all are sampled.
    """
    begun = time.perf_counter()
    if method not in get_args(Method):
        raise InputError(f"unknown method {method!r}: choose {', '.join(map(repr, get_args(Method)))}")
    check_time_limit(time_limit)
    until = None if time_limit is None else begun + time_limit
    effort = Effort(samples, burn_in, chains, seed, threads, until)
    if isinstance(source, Network) == (weights is None):
        raise InputError("a network needs weights, and a weighted one has them already")
    try:
        if isinstance(source, Network) and method in ("auto", "exact") and sink is None:
            found = _tied(source, np.asarray(weights), effort, begun)
            if found is not None:
                return found
        weighted = source if isinstance(source, WeightedNetwork) else weigh(source, np.asarray(weights))
        run = _Run(weighted, effort, sink)
        run.run(method)
    except UnsatisfiableError as error:
        if isinstance(source, WeightedNetwork):
            raise
        from sqlrl.solve.conflict import conflict_of
        from sqlrl.solve.structure import compile_network

        raise conflict_of(compile_network(source), error.atom, describe=describe, seed=seed) from None
    return run.result(time.perf_counter() - begun)
