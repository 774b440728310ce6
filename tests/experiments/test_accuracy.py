"""How well a model infers one predicate from all others: by hand, and by sums over all worlds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from accuracy import CLIP, accuracy
from relations import Relations

import sqlrl

DECLARED = "P(thing)\nQ(thing)\n"


def things(p: str, q: str) -> Relations:
    """Return facts of P and Q about things, each a letter."""
    return Relations(None, {"P": ["thing"], "Q": ["thing"]}, {"one": {"P": [(x,) for x in p], "Q": [(x,) for x in q]}})


def test_scores_are_those_of_the_probabilities_of_a_rule() -> None:
    """`0 P(x)` makes each atom as probable as not, a rule of great weight clips what it gets wrong."""
    data = things("ab", "bcd")
    found = accuracy(sqlrl.parse_mln(f"{DECLARED}0 P(x)"), data, "P")
    assert (found.cll, found.auc) == (pytest.approx(math.log(0.5)), pytest.approx(0.5))
    assert (found.atoms, found.true, found.sampled) == (4, 2, 0)
    found = accuracy(sqlrl.parse_mln(f"{DECLARED}100 P(x) <=> Q(x)"), data, "P")
    # Of a, b, c and d only b is as the rule says.
    assert found.cll == pytest.approx((3 * math.log(CLIP) + math.log(1 - CLIP)) / 4)
    assert found.auc == pytest.approx((1 / 3 + 2 / 4) / 2)


def test_what_is_clipped_for_the_likelihood_is_ranked_as_it_is() -> None:
    """All probabilities are below the least one that is clipped to, and the true atom's is the greatest."""
    found = accuracy(sqlrl.parse_mln(f"{DECLARED}-30 P(x)\n-5 Q(x) ^ P(x)"), things("a", "bcd"), "P")
    assert found.auc == 1.0
    assert found.cll == pytest.approx((math.log(CLIP) + 3 * math.log(1 - CLIP)) / 4)


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_those_of_all_worlds(seed: int) -> None:
    """Atoms of the unknown predicate depend on each other, and labels play no part."""
    random = np.random.default_rng(seed)
    people = "abc"
    knows = {pair for pair in product(people, repeat=2) if random.random() < 0.5} | {(x, x) for x in people}
    likes = {x for x in people if random.random() < 0.5} | {"b"}
    weights = random.normal(size=3)
    relations = Relations(
        None,
        {"L": ["person"], "K": ["person", "person"]},
        {"one": {"L": [(x,) for x in sorted(likes)], "K": sorted(knows)}},
    )
    rules = ("L(x)", "K(x, y) ^ L(x) => L(y)", "K(x, y) => L(x)")
    lines = [f"{weight!r} {rule}" for weight, rule in zip(weights.tolist(), rules, strict=True)]
    found = accuracy(sqlrl.parse_mln("\n".join(["L(person)", "K(person, person)", *lines])), relations, "L")
    total, share = 0.0, dict.fromkeys(people, 0.0)
    for world in product([False, True], repeat=3):
        true = dict(zip(people, world, strict=True))
        pairs = list(product(people, repeat=2))
        satisfied = (
            sum(true.values()),
            sum((x, y) not in knows or not true[x] or true[y] for x, y in pairs),
            sum((x, y) not in knows or true[x] for x, y in pairs),
        )
        mass = math.exp(float(np.dot(weights, satisfied)))
        total += mass
        for x in people:
            share[x] += mass * true[x]
    chance = {x: share[x] / total for x in people}
    assert found.cll == pytest.approx(np.mean([math.log(chance[x] if x in likes else 1 - chance[x]) for x in people]))
    above = [[y for y in people if chance[y] >= chance[x]] for x in sorted(likes)]
    assert found.auc == pytest.approx(np.mean([sum(y in likes for y in each) / len(each) for each in above]))


def test_a_predicate_without_a_true_atom_has_no_area_and_one_without_an_atom_no_likelihood() -> None:
    found = accuracy(sqlrl.parse_mln(f"{DECLARED}{math.log(3)} P(x)"), things("", "ab"), "P")
    assert found.cll == pytest.approx(math.log(1 / 4))
    assert math.isnan(found.auc)
    assert (found.atoms, found.true) == (2, 0)
    empty = Relations(None, {"P": ["thing"], "R": ["other"]}, {"one": {"P": [("a",)], "R": []}})
    found = accuracy(sqlrl.parse_mln("P(thing)\nR(other)\n1 P(x)\n1 R(x)"), empty, "R")
    assert math.isnan(found.cll)
    assert math.isnan(found.auc)
    assert found.atoms == 0
