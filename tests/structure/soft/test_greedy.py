"""Greedy local search against the same search with another optimiser and numerical integration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from sqlrl.errors import InputError
from sqlrl.learn.soft.atom_hinges import atom_hinges
from sqlrl.learn.soft.pseudo_likelihood import SoftPseudoLikelihood
from sqlrl.learn.soft.sample_hinges import hinge_network
from sqlrl.structure.soft.greedy import GreedySearch, greedy_rules

ATOMS = 4


def random_rules(seed, count=5):
    rng = np.random.default_rng(seed)
    rows = []
    for rule in range(count):
        for atom in range(ATOMS):
            if rng.random() < 0.6:
                sign = rng.choice([-1.0, 1.0])
                rows.append(
                    (rule, {atom: sign}, float(rng.choice([0.0, 0.5, 1.0]) if sign < 0 else rng.choice([0.0, -0.3])), 1)
                )
    return rows, rng.choice([0.0, 0.25, 1.0], ATOMS)


def cost(hinges, y):
    return sum(v * max(0.0, a * y + b) ** 2 for v, a, b in hinges)


def score(rows, truth, rules, prior):
    """The penalised pseudo-log-likelihood of some rules, integrated numerically and maximised by another library."""

    def loss(w):
        weight = dict(zip(rules, w, strict=True))
        total = prior / 2 * float(np.dot(w, w))
        for atom in range(ATOMS):
            mine = [(weight[r], c[atom], b) for r, c, b, _ in rows if r in weight and atom in c]
            total += cost(mine, truth[atom])
            total += np.log(quad(lambda y, mine=mine: np.exp(-cost(mine, y)), 0, 1, epsabs=1e-12, points=[0.3, 0.5])[0])
        return total

    if not rules:
        return 0.0, np.zeros(0)
    found = minimize(
        loss,
        np.full(len(rules), 0.1),
        bounds=[(0, None)] * len(rules),
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    return -found.fun, found.x


@pytest.mark.parametrize("seed", [2, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1))])
def test_the_search_is_the_greedy_one(seed):
    rows, truth = random_rules(seed)
    hinges = atom_hinges(hinge_network(rows, atoms=ATOMS, rules=5, squared=range(5)), truth)
    found = greedy_rules(hinges, SoftPseudoLikelihood(strength=0.3, tolerance=1e-9), GreedySearch(most=3, least=1e-4))
    chosen, best = [], 0.0
    for _ in range(3):
        left = [r for r in range(5) if r not in chosen and any(r == row[0] for row in rows)]
        tried = {r: score(rows, truth, [*chosen, r], 0.3) for r in left}
        top = max(tried, key=lambda r: tried[r][0])
        if tried[top][0] - best <= 1e-4 * abs(best) or tried[top][1][-1] < 1e-6:
            break
        best = tried[top][0]
        chosen.append(top)
    assert found.start == pytest.approx(0.0, abs=1e-12)
    assert found.scores.tolist() == pytest.approx(
        [score(rows, truth, chosen[: i + 1], 0.3)[0] for i in range(len(chosen))], abs=1e-6
    )
    # Rules that raise the score alike may come in another order.
    assert len(found.rules) == len(chosen)
    assert (np.diff([found.start, *found.scores]) > 0).all()


def test_the_best_pair_is_no_worse_than_what_is_found():
    rows, truth = random_rules(11)
    hinges = atom_hinges(hinge_network(rows, atoms=ATOMS, rules=5, squared=range(5)), truth)
    found = greedy_rules(hinges, SoftPseudoLikelihood(strength=0.3, tolerance=1e-9), GreedySearch(most=2, least=0.0))
    best = max(score(rows, truth, list(pair), 0.3)[0] for n in (1, 2) for pair in itertools.combinations(range(5), n))
    assert found.scores[-1] <= best + 1e-6


def test_rules_that_add_nothing_are_not_added():
    # The second rule is the first one again, the third speaks against the labels.
    rows = [(0, {0: -1.0}, 1.0, 1), (1, {0: -1.0}, 1.0, 1), (2, {0: 1.0}, 0.0, 1)]
    hinges = atom_hinges(hinge_network(rows, atoms=1, rules=3, squared=range(3)), np.array([1.0]))
    found = greedy_rules(hinges, SoftPseudoLikelihood(strength=0.001), GreedySearch(least=0.5))
    assert found.rules.tolist() == [0]
    assert found.evaluated == 3 + 2


def test_the_number_of_rules_is_limited():
    rows = [(i, {i: -1.0}, 1.0, 1) for i in range(4)]
    hinges = atom_hinges(hinge_network(rows, atoms=4, rules=4, squared=range(4)), np.ones(4))
    seen = []
    found = greedy_rules(hinges, SoftPseudoLikelihood(), GreedySearch(most=2, least=0.0), report=seen.append)
    assert len(found.rules) == 2
    assert [len(each.rules) for each in seen] == [1, 2]


@pytest.mark.parametrize("options", [{"most": 0}, {"least": -1.0}, {"least": float("nan")}])
def test_wrong_limits_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        GreedySearch(**options)
