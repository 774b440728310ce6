"""The bins of self-diagnosis: how often ground clauses are crucial for atoms whose truth is known, for it or against it.

While a chain draws the query atoms of a target, each ground clause C with an atom X lies in one of four bins with respect to X. Let v be the
truth of X in the data, and sigma whether X is positive in C:

    [applies; good]          the other literals of C are false, and sigma = v
    [applies; bad]           the other literals of C are false, and sigma != v
    [does not apply; good]   another literal of C is true, and sigma != v
    [does not apply; bad]    another literal of C is true, and sigma = v

A network lacks the ground clauses that the evidence satisfies, all of which lie in the two last bins. So the two first are found here, and
how many pairs (C, X) with sigma = v and sigma != v the network has; who knows how many there are in all has the two last by subtraction.

The published algorithm tallies at the moment at which X is drawn. Here a whole state is tallied after each sweep: whether the other literals
are false does not depend on X, and a chain that has forgotten its start is in its stationary distribution before, at and after each draw, so
that the expectation is the same. One pass over the rows then serves all atoms, and any sampler will do: MC-SAT where hard clauses
or nearly hard ones hold fast a chain that flips one atom at a time.

Notes
-----
Source: Mihalkova & Mooney, "Transfer learning with Markov logic networks" (2006), section 3.1. Theirs are clauses with one target; ours
besides:

- A conjunction is one formula, true if all its literals are; its row in the network is the negation. It applies where its other literals
  are true, as only then X decides, and sigma is the sign of X in the formula: "good" where it is true only if X = v. Where it does not apply it is
  false whatever X is; that it would be "good" without its other literals (sigma = v) is the fault that the bin [does not apply; bad] counts.
- A formula that is several disjoint clauses under one id is tallied clause by clause: X may be in a good and in a bad pair at once.
- Bins say of which value of X the formula approves, not how much: they heed no weight. Where a weight is negative the formula
  lowers the probability of the truth in its good bin.
- Of a block all members are drawn at once, and each counts as drawn. Others are what they are in the state of the chain, also
  members of the same block: `!X v !Y` over a block applies to X where Y is true.
- Hard clauses have bins as well. Helper atoms have none: they are functions of others, and stand among the others. What a formula says
  through a helper atom is in the bins of the clauses that define it.
- Ground clauses with one literal are not among the rows: `unit_bins`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from sqlrl.errors import InputError
from sqlrl.ground.network import BoolArray, FloatArray, IntArray, Network, ragged_ranges
from sqlrl.kernels import inner, kernel
from sqlrl.progress import Stage
from sqlrl.solve.enumeration import enumerate_worlds
from sqlrl.solve.marginal import marginals
from sqlrl.solve.restriction import UnsatisfiableError, component_labels, select, select_each
from sqlrl.solve.sampling.chains import SLICE, Effort, SampleBatch
from sqlrl.solve.sampling.diagnostics import SampleEstimate, estimate, start_moments
from sqlrl.solve.sampling.slices import STIFF
from sqlrl.solve.structure import compile_network, grouped, pointers, variables_of
from sqlrl.solve.weighted import WeightedNetwork, weigh

Int8Array = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint64]
Counts = npt.NDArray[np.object_]

Method = Literal["gibbs", "mcsat"]
METHODS: tuple[Method, Method] = ("gibbs", "mcsat")

INT64_MAX = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of the ground clauses with two or more literals, for each clause of a network; arrays have shape (m,)."""

    # Mean number, over rounds, of pairs (ground clause, atom) in [applies; good], and in [applies; bad].
    good: FloatArray
    bad: FloatArray
    # Monte Carlo standard errors: 0 where exact, infinite where there were too few rounds to tell. The other two bins have the same ones,
    # since pairs only move between bins of one sign.
    good_error: FloatArray
    bad_error: FloatArray
    rhat: FloatArray  # split R-hat, of the worse of the two: above 1.01 chains disagree; 1 where exact
    exact: BoolArray  # clauses of which all is enumerated and nothing sampled
    same: Counts  # pairs with sigma = v, in [applies; good] or [does not apply; bad]
    opposite: Counts  # pairs with sigma != v, in [applies; bad] or [does not apply; good]
    effort: Effort


class _Pairs(NamedTuple):
    # Rows whose pairs are tallied, ascending by clause; of each literal 1 if its sign in the formula is the truth of its atom, -1 if it is
    # not, 0 if the atom is not tallied; of each row how many literals are of either kind, and the multiplicity.
    indptr: IntArray
    literals: IntArray
    kind: Int8Array
    clause: IntArray
    times: IntArray
    same: IntArray
    opposite: IntArray


def _sum_per_clause(clause: IntArray, counts: IntArray, times: IntArray, m: int) -> Counts:
    # Exact sums of counts * times, shape (m,).
    largest = int(times.max(initial=0)) * int(counts.max(initial=0)) * len(counts)
    fits = largest <= INT64_MAX
    total = np.zeros(m, dtype=np.int64) if fits else np.full(m, 0, dtype=object)
    np.add.at(total, clause, counts * times if fits else counts.astype(object) * times.astype(object))
    return total.astype(object)


def _pairs(network: Network, truth: BoolArray, tallied: BoolArray) -> _Pairs:
    # The rows with pairs that are tallied.
    atom, length = np.abs(network.literals) - 1, np.diff(network.indptr)
    conjunction = np.repeat(network.sign[network.row_clause] < 0, length)
    right = ((network.literals > 0) != conjunction) == truth[atom]
    kind = np.where(tallied[atom], np.where(right, 1, -1), 0).astype(np.int8)
    row = np.repeat(np.arange(len(length)), length)
    same, opposite = (np.bincount(row[kind == each], minlength=len(length)) for each in (1, -1))
    every = _Pairs(network.indptr, network.literals, kind, network.row_clause, network.multiplicity, same, opposite)
    return _taken(every, np.flatnonzero(same + opposite))


def _sizes(pairs: _Pairs, m: int) -> FloatArray:
    # How many pairs each clause has with sigma = v and sigma != v, shape (2, m).
    times = pairs.times.astype(np.float64)  # products with it may not fit into 64 bits
    each = [np.bincount(pairs.clause, weights=times * kind, minlength=m) for kind in (pairs.same, pairs.opposite)]
    return np.stack(each).astype(np.float64)


def _taken(pairs: _Pairs, rows: IntArray) -> _Pairs:
    # Some rows, ascending.
    length = np.diff(pairs.indptr)[rows]
    place = ragged_ranges(pairs.indptr[rows], length)
    return _Pairs(
        pointers(length),
        pairs.literals[place],
        pairs.kind[place],
        pairs.clause[rows],
        pairs.times[rows],
        pairs.same[rows],
        pairs.opposite[rows],
    )


def _mask(network: Network, truth: BoolArray, labelled: BoolArray | None) -> BoolArray:
    # The atoms that are tallied.
    for name, values in (("truth", truth), ("labelled", labelled)):
        if values is not None and (values.shape != network.atoms.shape or values.dtype != np.bool_):
            raise InputError(
                f"{name} has shape {values.shape} and type {values.dtype}: give a truth value for each of {len(network.atoms)} atoms"
            )
    return ~network.helper if labelled is None else labelled & ~network.helper


@inner
def _applied(world: BoolArray, pairs: _Pairs, j: int) -> tuple[float, float]:
    # The pairs of a row in [applies; good] and in [applies; bad]: with no true literal each, with one that of its atom.
    at = -1
    for p in range(pairs.indptr[j], pairs.indptr[j + 1]):
        literal = pairs.literals[p]
        if world[abs(literal) - 1] == (literal > 0):
            if at >= 0:
                return 0.0, 0.0
            at = p
    times = float(pairs.times[j])
    if at < 0:
        return times * pairs.same[j], times * pairs.opposite[j]
    kind = pairs.kind[at]
    return (times if kind > 0 else 0.0), (times if kind < 0 else 0.0)


# ---- many worlds at once -----------------------------------------------------------------------------

_ONE, _ZERO = np.uint64(1), np.uint64(0)

PLANES = 192
"""Bits of a count of pairs: multiplicities have 63 of them, and there are no 2**128 rows."""


@inner
def _packed(worlds: BoolArray, first: int, bits: Words) -> Any:
    # The values of each atom in up to 64 worlds as bits, and a word with a bit for each of these worlds.
    count = min(64, len(worlds) - first)
    for k in range(len(bits)):
        bits[k] = _ZERO
    every = _ZERO
    for s in range(count):
        every |= _ONE << np.uint64(s)
        world = worlds[first + s]
        for k in range(len(bits)):
            bits[k] |= np.uint64(world[k]) << np.uint64(s)
    return every


@inner
def _add(planes: Words, mask: Any, times: int) -> int:
    # Add a number to the counts of the worlds of a mask; returns how many planes have been touched. Bit b of all 64 counts is plane b.
    b, top = 0, 0
    while times > 0:
        if times & 1:
            carry, at = mask, b
            while carry != _ZERO:
                planes[at], carry = planes[at] ^ carry, planes[at] & carry
                at += 1
            top = max(top, at)
        times >>= 1
        b += 1
    return top


@inner
def _take(planes: Words, top: int, every: Any, size: float, sums: FloatArray) -> None:
    # Add to `sums` the shares, of `size`, that the counts of all worlds are, and their squares; the planes are 0 then.
    s = _ZERO
    while every >> s != _ZERO:
        count, worth = 0.0, 1.0
        for b in range(top):
            if (planes[b] >> s) & _ONE != _ZERO:
                count += worth
            worth *= 2.0
        share = count / size
        sums[0] += share
        sums[1] += share * share
        s += _ONE
        if s == np.uint64(64):
            break
    for b in range(top):
        planes[b] = _ZERO


@kernel
def _tally(
    worlds: Annotated[BoolArray, 2],
    pairs: _Pairs,
    size: Annotated[FloatArray, 2],
    total: Annotated[FloatArray, 2],
    square: Annotated[FloatArray, 2],
) -> None:
    # Add up, over worlds, which shares of the pairs of a clause with sigma = v and sigma != v apply, and their squares; all (2, m).
    # 64 worlds are read at once, each a bit of a word: one by one takes twice as long as drawing them.
    rows, bits = len(pairs.clause), np.empty(worlds.shape[1], dtype=np.uint64)
    good, bad, sums = np.zeros(PLANES, dtype=np.uint64), np.zeros(PLANES, dtype=np.uint64), np.empty(2)
    for first in range(0, len(worlds), 64):
        every = _packed(worlds, first, bits)
        j = 0
        while j < rows:
            i, good_top, bad_top = pairs.clause[j], 0, 0
            while j < rows and pairs.clause[j] == i:
                some, several = _ZERO, _ZERO
                for p in range(pairs.indptr[j], pairs.indptr[j + 1]):
                    literal = pairs.literals[p]
                    true = bits[abs(literal) - 1] if literal > 0 else ~bits[abs(literal) - 1]
                    several |= some & true
                    some |= true
                few = every & ~several
                if few != _ZERO:
                    for p in range(pairs.indptr[j], pairs.indptr[j + 1]):
                        literal = pairs.literals[p]
                        true = bits[abs(literal) - 1] if literal > 0 else ~bits[abs(literal) - 1]
                        others_false = few & (true | ~some)
                        if pairs.kind[p] > 0:
                            good_top = max(good_top, _add(good, others_false, pairs.times[j]))
                        elif pairs.kind[p] < 0:
                            bad_top = max(bad_top, _add(bad, others_false, pairs.times[j]))
                j += 1
            for which in range(2):
                top = bad_top if which else good_top
                if top > 0:
                    sums[0] = sums[1] = 0.0
                    _take(bad if which else good, top, every, size[which, i], sums)
                    total[which, i] += sums[0]
                    square[which, i] += sums[1]


# ---- components whose worlds are few -----------------------------------------------------------------


class _Parts(NamedTuple):
    # Components as the kernel walks through their worlds: their variables, with the atom that each state makes true (-1 for none), the
    # rows of the weighted network, and those whose pairs are tallied.
    variable_start: IntArray
    variable: IntArray
    state_start: IntArray
    state_atom: IntArray
    row_start: IntArray
    row: IntArray
    pair_start: IntArray
    pair: IntArray


class _Scores(NamedTuple):
    linear: FloatArray
    indptr: IntArray
    literals: IntArray
    cost: FloatArray


@inner
def _score(world: BoolArray, scores: _Scores, parts: _Parts, c: int) -> float:
    # What a component scores in a world, minus infinity if a hard row does not hold.
    found = 0.0
    for i in range(parts.variable_start[c], parts.variable_start[c + 1]):
        u = parts.variable[i]
        for s in range(parts.state_start[u], parts.state_start[u + 1]):
            k = parts.state_atom[s]
            if k >= 0 and world[k]:
                found += scores.linear[k]
    for i in range(parts.row_start[c], parts.row_start[c + 1]):
        j = parts.row[i]
        violated = True
        for p in range(scores.indptr[j], scores.indptr[j + 1]):
            if world[abs(scores.literals[p]) - 1] == (scores.literals[p] > 0):
                violated = False
                break
        if violated:
            found -= scores.cost[j]
    return found


@inner
def _next_world(world: BoolArray, state: IntArray, parts: _Parts, c: int) -> bool:
    # Count up the states of the variables of a component; False, and the first world, after the last one.
    for i in range(parts.variable_start[c], parts.variable_start[c + 1]):
        u = parts.variable[i]
        if parts.state_atom[state[u]] >= 0:
            world[parts.state_atom[state[u]]] = False
        state[u] += 1
        carried = state[u] == parts.state_start[u + 1]
        if carried:
            state[u] = parts.state_start[u]
        if parts.state_atom[state[u]] >= 0:
            world[parts.state_atom[state[u]]] = True
        if not carried:
            return True
    return False


@kernel
def _expect(
    chosen: IntArray,
    parts: _Parts,
    scores: _Scores,
    pairs: _Pairs,
    world: BoolArray,
    state: IntArray,
    good: FloatArray,
    bad: FloatArray,
) -> int:
    # Add the expected pairs of some components, whose variables are in their first states; returns one without a world, else -1.
    for c in chosen:
        top, total = -np.inf, 0.0
        more = True
        while more:
            score = _score(world, scores, parts, c)
            if score > top:
                total = total * np.exp(top - score) + 1.0
                top = score
            elif score > -np.inf:
                total += np.exp(score - top)
            more = _next_world(world, state, parts, c)
        if total == 0.0:
            return int(c)
        more = True
        while more:
            p = np.exp(_score(world, scores, parts, c) - top) / total
            if p > 0.0:
                for i in range(parts.pair_start[c], parts.pair_start[c + 1]):
                    j = parts.pair[i]
                    more_good, more_bad = _applied(world, pairs, j)
                    good[pairs.clause[j]] += p * more_good
                    bad[pairs.clause[j]] += p * more_bad
            more = _next_world(world, state, parts, c)
    return -1


@dataclass(frozen=True, eq=False)
class _Division:
    # A network and its components: those of all its rows, also of rows without a weight, since bins are joint.

    weighted: WeightedNetwork
    pairs: _Pairs
    count: int
    label: IntArray
    parts: _Parts
    worlds: FloatArray  # binary logarithm of how many each component has
    size: IntArray  # atoms and literals of each component


def _divide(network: Network, weighted: WeightedNetwork, pairs: _Pairs) -> _Division:
    count, label = component_labels(network)
    variables = variables_of(network)
    first = variables.atom[variables.start[1:] - 1] if len(variables.exact) else variables.atom
    of_variable = label[first]

    def rows_of(indptr: IntArray, literals: IntArray) -> tuple[IntArray, IntArray]:
        """Return the rows of each component."""
        return grouped(label[np.abs(literals[indptr[:-1]]) - 1] if len(literals) else literals, count)

    parts = _Parts(
        *grouped(of_variable, count),
        variables.start,
        variables.atom,
        *rows_of(weighted.indptr, weighted.literals),
        *rows_of(pairs.indptr, pairs.literals),
    )
    worlds = np.bincount(of_variable, weights=np.log2(variables.size), minlength=count).astype(np.float64)
    size = np.bincount(label[np.abs(network.literals) - 1], minlength=count) + np.bincount(label, minlength=count)
    return _Division(weighted, pairs, count, label, parts, worlds, size)


def _enumerated(part: _Division, chosen: IntArray, good: FloatArray, bad: FloatArray) -> None:
    # Add the expected pairs of some components. If one has no world, that is an UnsatisfiableError.
    weighted, parts = part.weighted, part.parts
    scores = _Scores(weighted.linear, weighted.indptr, weighted.literals, weighted.cost)
    world, state = np.zeros(len(weighted.atoms), dtype=np.bool_), parts.state_start[:-1].copy()
    first = parts.state_atom[state]
    world[first[first >= 0]] = True
    # Ctrl-C is heeded between calls.
    work = np.cumsum(2.0 ** part.worlds[chosen] * part.size[chosen])
    with Stage("enumerating worlds", len(chosen)) as stage:
        for some in np.split(chosen, np.flatnonzero(np.diff(work // SLICE)) + 1):
            stuck = _expect(some, parts, scores, part.pairs, world, state, good, bad)
            if stuck >= 0:
                _refuse(select(weighted, part.label == stuck))
            stage.advance(len(some))


def _refuse(part: WeightedNetwork) -> NoReturn:
    # Raise the UnsatisfiableError of a component without a world, which soft clauses may have joined from several.
    count, label = component_labels(part)
    for _, one in select_each(part, label, count):
        enumerate_worlds(one)
    raise UnsatisfiableError(int(part.atoms[0]))


# ---- components that are sampled ---------------------------------------------------------------------


def _stiff(part: _Division) -> BoolArray:
    # Components with rows, hard or nearly so, that may hold single flips fast, as marginals tell them.
    weighted, stiff = part.weighted, np.zeros(part.count, dtype=np.bool_)
    rows = np.flatnonzero(np.abs(weighted.cost) >= STIFF)
    stiff[part.label[np.abs(weighted.literals[weighted.indptr[rows]]) - 1]] = True
    return stiff


class _Tally:
    # A sink of samples that keeps sums alone.

    def __init__(self, pairs: _Pairs, size: FloatArray, effort: Effort) -> None:
        self._pairs, self._size, self.drawn = pairs, size, 0
        self._moments = start_moments(2 * size.shape[1], effort.chains, effort.samples, effort.burn_in)

    def write(self, batch: SampleBatch) -> None:
        """Add up a batch of one chain; it lies inside one batch of the sums."""
        moments, shape = self._moments, self._size.shape
        at = int(np.searchsorted(moments.bounds, batch.first, side="right")) - 1
        half = min(1, 2 * at // (len(moments.bounds) - 1))
        total, square = moments.total[batch.chain, at], moments.square[batch.chain, half]
        _tally(batch.worlds, self._pairs, self._size, total.reshape(shape), square.reshape(shape))
        self.drawn += len(batch.worlds)

    def shares(self) -> SampleEstimate:
        """Return the shares that apply, of (2, clauses) as one axis."""
        moments = self._moments
        if self.drawn != moments.total.shape[0] * moments.draws:
            raise AssertionError(f"{self.drawn} worlds were drawn of {moments.total.shape[0]} x {moments.draws}")
        return estimate(moments)


def _sampled(
    part: _Division, chosen: BoolArray, method: Method, effort: Effort
) -> tuple[IntArray, FloatArray, SampleEstimate]:
    # Of the components with some atoms: the clauses with pairs there, how many, (2, clauses), and the shares of them that apply.
    number = np.cumsum(chosen) - 1
    inside = np.flatnonzero(chosen[np.abs(part.pairs.literals[part.pairs.indptr[:-1]]) - 1])
    pairs = _taken(part.pairs, inside)
    clauses, place = np.unique(pairs.clause, return_inverse=True)
    moved = np.sign(pairs.literals) * (number[np.abs(pairs.literals) - 1] + 1)
    pairs = pairs._replace(literals=moved, clause=place.astype(np.int64))
    size = _sizes(pairs, len(clauses))
    weighted, tally = select(part.weighted, chosen), _Tally(pairs, size, effort)
    found = marginals(
        weighted,
        method=method,
        samples=effort.samples,
        burn_in=effort.burn_in,
        chains=effort.chains,
        seed=effort.seed,
        threads=effort.threads,
        sink=tally,
    )
    if tally.drawn:
        return clauses, size, tally.shares()
    # Hard clauses leave one world: there was nothing to draw.
    total, square = np.zeros((2, *size.shape))
    _tally((found.probability == 1.0)[None, :], pairs, size, total, square)
    none, one = np.zeros(size.size), np.ones(size.size)
    return clauses, size, SampleEstimate(total.ravel(), none, one, np.full(size.size, np.inf), 0, 0, 0)


# ---- what is asked for -------------------------------------------------------------------------------


def applied_bins(
    network: Network,
    weights: npt.ArrayLike,
    truth: BoolArray,
    *,
    labelled: BoolArray | None = None,
    effort: Effort | None = None,
    most_worlds: int | None = None,
) -> Bins:
    """Return the bins of all ground clauses with two or more literals for chains under `weights`; all atoms of `truth` are labelled by default."""
    tallied = _mask(network, truth, labelled)
    plan, m = effort or Effort(), len(network.clauses)
    weighted = weigh(network, weights)
    pairs = _pairs(network, truth, tallied)
    part = _divide(network, weighted, pairs)
    asked = np.diff(part.parts.pair_start) > 0
    # Components of no more worlds are enumerated, so that their bins are exact: by default as many as sampling would draw, which costs as much.
    # 0 samples all components.
    most = plan.chains * plan.samples if most_worlds is None else most_worlds
    few = asked & (part.worlds <= np.log2(most) + 1e-9) if most > 0 else np.zeros_like(asked)
    good, bad, error = np.zeros(m), np.zeros(m), np.zeros((2, m))
    rhat, exact = np.ones(m), np.ones(m, dtype=np.bool_)
    try:
        if few.any():
            _enumerated(part, np.flatnonzero(few), good, bad)
        wide, stiff = asked & ~few, _stiff(part)
        for components, method in ((wide & ~stiff, METHODS[0]), (wide & stiff, METHODS[1])):
            if not components.any():
                continue
            own = replace(plan, seed=2 * plan.seed + METHODS.index(method))
            clauses, size, shares = _sampled(part, components[part.label], method, own)
            # The error of a share is at least one over the effective sample size of the slowest clause, so that, where chains agree, some
            # hundred rounds tell on which side of 10 % it is.
            mean, doubt = shares.mean.reshape(size.shape), shares.error.reshape(size.shape)
            good[clauses] += size[0] * mean[0]
            bad[clauses] += size[1] * mean[1]
            with np.errstate(invalid="ignore"):  # no pair, and no error known
                doubt = np.where(size > 0, size * doubt, 0.0)
            # Components are independent, and so are the chains of both methods, whose seeds differ.
            error[:, clauses] = np.hypot(error[:, clauses], doubt)
            worse = np.where(size > 0, shares.rhat.reshape(size.shape), 1.0).max(axis=0)
            rhat[clauses] = np.maximum(rhat[clauses], worse)
            exact[clauses] &= not shares.error.any()
    except UnsatisfiableError as conflict:
        from sqlrl.solve.conflict import conflict_of

        raise conflict_of(compile_network(network), conflict.atom, seed=plan.seed) from None
    return Bins(
        good,
        bad,
        error[0],
        error[1],
        rhat,
        exact,
        _sum_per_clause(pairs.clause, pairs.same, pairs.times, m),
        _sum_per_clause(pairs.clause, pairs.opposite, pairs.times, m),
        plan,
    )


@dataclass(frozen=True, eq=False)
class UnitBins:
    """The pairs of ground clauses with one literal, which always apply; arrays have shape (m,)."""

    # Right where `exact`. Elsewhere the network has forgotten ground clauses `A` and `!A` of one clause, which cancel in how a count changes with
    # an atom, and both are too small by the same number.
    good: Counts
    bad: Counts
    exact: BoolArray
    # That number where all atoms are labelled, since one of `A` and `!A` is as the data say and the other is not.
    cancelled: Counts


def unit_bins(network: Network, truth: BoolArray, *, labelled: BoolArray | None = None) -> UnitBins:
    """Return the bins of ground clauses with one literal, and for which clauses they are exact; labels are as for `applied_bins`."""
    tallied = _mask(network, truth, labelled)
    units, m = network.units.tocoo(), len(network.clauses)
    atom, clause, size = units.row, units.col.astype(np.int64), np.abs(units.data)
    right = (units.data > 0) == truth[atom]

    def total(mask: BoolArray | None = None) -> Counts:
        """Add up some entries."""
        chosen = slice(None) if mask is None else mask
        return _sum_per_clause(clause[chosen], np.ones_like(size[chosen]), size[chosen], m)

    one = np.ones(len(network.row_clause), dtype=np.int64)
    longer = _sum_per_clause(network.row_clause, one, network.multiplicity, m)
    # `A` and `!A` can cancel only where a clause has literals of the target with both signs, of whose atoms some are given or outside its scope
    # (`R(x, y) ^ T(x) => T(y)`), or where a formula is several clauses under one id (`T(x) <=> Q(x, y)`).
    hidden = network.open - total() - longer
    exact = np.array(hidden == 0, dtype=np.bool_)
    return UnitBins(total(right & tallied[atom]), total(~right & tallied[atom]), exact, hidden // 2)
