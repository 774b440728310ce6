"""Densities by numerical integration and networks at random, to hold learners of soft weights against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sqlrl.ground.hinge_network import HingeNetwork
from sqlrl.learn.soft.sample_hinges import Hinge, hinge_network

Floats = npt.NDArray[np.float64]

SLOPES = st.one_of(st.sampled_from([1.0, -1.0, 2.0, -0.5]), st.floats(0.01, 3), st.floats(-3, -0.01))
CONSTANTS = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5]), st.floats(-2, 2))
WEIGHTS = st.one_of(st.just(0.0), st.floats(-8, 6).map(lambda power: 10.0**power), st.sampled_from([1e6, 1.0]))


Function = Callable[[Floats], Floats]

NODES, SHARES = np.polynomial.legendre.leggauss(16)


def bottom(f: Function, lower: float, upper: float) -> float:
    """Where a convex function is least, by thirds."""
    for _ in range(100):
        a, b = lower + (upper - lower) / 3, upper - (upper - lower) / 3
        left, right = f(np.array([a, b]))
        lower, upper = (lower, b) if left <= right else (a, upper)
    return (lower + upper) / 2


def integrals(
    f: Function,
    factors: Iterable[Function],
    lower: float = 0.0,
    upper: float = 1.0,
    points: Iterable[float] = (),
) -> tuple[float, list[float]]:
    """Log Z of exp(-f) for a convex f, and the mean of each factor, by Gauss' rule; `points` are where f is not smooth."""
    # Stretches grow away from where f may be least, or begin to rise, so that it changes little in those that matter.
    centres = np.clip([lower, upper, bottom(f, lower, upper), *points], lower, upper)
    steps = 10.0 ** (-np.arange(40) / 3)
    cuts = np.unique(np.clip([centres, *(centres + x for x in steps), *(centres - x for x in steps)], lower, upper))
    half = np.diff(cuts)[:, None] / 2
    y = (cuts[:-1, None] + half * (1 + NODES)).ravel()
    energy = f(y)
    least = energy.min()
    share = (half * SHARES).ravel() * np.exp(least - energy)
    z = share.sum()
    log_z = np.log(z) - least
    if energy.max() < 0.5:  # where z is near the length, what it is below that has more digits
        log_z = np.log1p(((half * SHARES).ravel() @ np.expm1(-energy)) / (upper - lower)) + np.log(upper - lower)
    return float(log_z), [float(share @ factor(y) / z) for factor in factors]


def atom_log_density(network: HingeNetwork, weights: Floats, truth: Floats, atom: int) -> float:
    """The log-density of an atom's label given the others, by what the network says of expressions; no hard rule is heeded."""
    at = network.columns == atom
    hinge = np.repeat(np.arange(len(network.constants)), np.diff(network.pointer))[at]
    rest = truth.copy()
    rest[atom] = 0.0
    slope, constant, rule = network.coefficients[at], network.expressions(rest)[hinge], network.rule[hinge]
    times = (np.where(network.hard, 0.0, weights)[rule] * network.multiplicity[hinge])[:, None]

    def energy(y: Floats) -> Floats:
        found = slope[:, None] * y + constant[:, None]
        found = np.where(network.equal[rule][:, None], np.abs(found), np.maximum(found, 0))
        return np.asarray((times * np.where(network.squared[rule][:, None], found**2, found)).sum(axis=0))

    log_z, _ = integrals(energy, (), points=(-constant / slope).tolist())
    return -float(energy(truth[atom : atom + 1])[0]) - log_z


def log_pseudo_likelihood(network: HingeNetwork, weights: Floats, truth: Floats) -> float:
    """The sum over atoms, all of which have a label."""
    return sum(atom_log_density(network, weights, truth, atom) for atom in range(len(truth)))


def only(network: HingeNetwork, rule: int) -> HingeNetwork:
    """The network with one of its rules, whose others are there without hinges."""
    kept = np.flatnonzero(network.rule == rule)
    length = np.diff(network.pointer)[kept]
    place = np.concatenate([np.arange(network.pointer[r], network.pointer[r + 1]) for r in kept] or [np.zeros(0, int)])
    return replace(
        network,
        pointer=np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
        columns=network.columns[place],
        coefficients=network.coefficients[place],
        constants=network.constants[kept],
        multiplicity=network.multiplicity[kept],
        rule=network.rule[kept],
    )


def random_network(seed: int, *, atoms: int = 5, rules: int = 4, hinges: int = 14, hard: int = 0) -> HingeNetwork:
    """Rules of all kinds over a few atoms each, some of their hinges twice."""
    random = np.random.default_rng(seed)
    ground: list[Hinge] = []
    for _ in range(hinges):
        members = random.choice(atoms, size=random.integers(1, min(4, atoms + 1)), replace=False)
        signs = random.choice([-1.0, 1.0, 0.5, -2.0], size=len(members))
        constant = float(random.choice([0.0, 1.0, -1.0, 0.5, random.normal()]))
        each = {int(i): float(a) for i, a in zip(members, signs, strict=True)}
        ground.append((int(random.integers(rules)), each, constant, int(random.integers(1, 4))))
    kinds = random.random((2, rules)) < 0.4
    squared, equal = ({int(r) for r in np.flatnonzero(kind)} for kind in kinds)
    return hinge_network(ground, atoms=atoms, rules=rules + hard, squared=squared, equal=equal)


def random_truth(seed: int, atoms: int = 5) -> Floats:
    """Labels, a half of them 0 or 1."""
    random = np.random.default_rng([seed, 1])
    return np.where(random.random(atoms) < 0.5, random.integers(0, 2, atoms), random.random(atoms))
