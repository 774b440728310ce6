"""Hinges of soft rules against the enumeration of all groundings."""

from __future__ import annotations

import numpy as np
import pytest

from sqlrl.engine.memory import PROCESS, WORKING, Memory
from sqlrl.errors import GroundingLimitError, InfeasibleError, MemoryLimitError, ModelError
from sqlrl.ground.hinges import ground_hinges
from sqlrl.ground.memory import SINGLE_BYTES
from sqlrl.ground.program import Extent
from sqlrl.logic.psl_files import parse_psl
from tests.ground.soft_worlds import Data, World, enumerated, hard, penalty, random_world

RULES = """
1: C(A, B) & P(A, B) -> Q(B) ^2
2: V(A, B) & P(A, B) -> P(B, A)
3: V(A, B) & !D(A) & P(A, B) & A != B -> R(A, B) ^2
0.5: !P(A, B) ^2
0.7: P(A, B)
0.2: Q(A)
1.5: R(A, B) & R(B, C) -> R(A, C)
1: P(A, B) & P(B, C) & A != C -> P(A, C) ^2
0.3: Q(A) & Q(B) & (A % B) -> P(A, B)
0.4: Q(A) & Q(B) -> R(A, B) ^2
0.6: C(A, 'b') & R(A, 'b') -> Q('b')
0.6: C(A, 'c') & R(A, 'c') -> Q('c')
0.9: V(A, B) -> Q(A)
1.1: V(A, B) & C(B, A) -> P('a', A)
1: P(A, B) & P(A, B) -> Q(A)
1: V(A, B) & V(B, C) & Q(A) -> V(A, C) ^2
1: C(A, B) -> D(A)
2: V(A, B) & D(A) -> C(A, B) ^2
1: Q(A) | P(A, B) ^2
1: !Q(A) | R(A, A)
P(A, B) -> R(A, B) .
1: P(A, B) + P(B, A) <= 1 ^2
2: R(A, B) = R(B, A)
1: R(A, +B) = 1 ^2
3: P(A, +B) / |B| <= Q(A) {B: C(A, B) & !D(B)}
1: P(+A, +B) + V(+C, +D) <= 2 * |A| - |D| ^2
0.5: 2 * V(A, B) - Q(A) >= 0.3
P(A, B) <= V(A, B) .
1: R(A, 'b') + (A != 'b') >= 1
1: 2 * R(+A, B) + V(B, 'a') >= @Max[|A|, 1] {A: C(A, B) | A == B | D(A)}
""".strip().splitlines()


def network_of(world, model, *, observed_bodies=False, learning=False, **options):
    soft = world.program(model, observed_bodies=observed_bodies)
    return soft, ground_hinges(soft, Extent(soft.program, **options), learning=learning)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 6))])
def test_hinges_are_those_of_the_enumeration(seed):
    world = random_world(seed)
    rng = np.random.default_rng(seed)
    firm = [text for text in RULES if text.endswith(".")]
    for text in ["\n".join(text for text in RULES if text not in firm), *firm]:
        model = parse_psl(text)
        found = enumerated(world, model)
        known = [c for i, (a, c) in found if model.rules[i].hard and not any(a.values())]
        if any(c > 1e-6 for c in known):
            with pytest.raises(InfeasibleError, match="hard rules by itself"):
                network_of(world, model)
            continue
        soft, network = network_of(world, model)
        for y in (rng.random(len(network.atoms)), np.zeros(len(network.atoms)), np.ones(len(network.atoms))):
            truth = dict(zip(network.atoms.tolist(), y.tolist(), strict=True))
            expected = penalty(model, found, truth)
            soften = np.where(network.hard, 0.0, network.incompatibility(y))
            assert soften == pytest.approx(expected, abs=1e-9), text
        entries = zip(network.rule, network.pointer, network.pointer[1:], network.constants, strict=False)
        mine = set()
        for rule, start, end, constant in entries:
            if network.hard[rule]:
                atoms = network.atoms[network.columns[start:end]].tolist()
                pairs = sorted(zip(atoms, network.coefficients[start:end].round(9).tolist(), strict=True))
                mine.add((int(rule), tuple(pairs), round(float(constant), 9)))
        assert mine == hard(model, found), text
        soft.close()


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_bodies_may_read_what_is_observed_alone(seed):
    world = random_world(seed)
    model = parse_psl("\n".join(text for text in RULES[:20] if not text.endswith(".")))
    found = enumerated(world, model, observed_bodies=True)
    _, network = network_of(world, model, observed_bodies=True)
    y = np.random.default_rng(seed).random(len(network.atoms))
    truth = dict(zip(network.atoms.tolist(), y.tolist(), strict=True))
    assert network.incompatibility(y) == pytest.approx(penalty(model, found, truth), abs=1e-9)


@pytest.mark.parametrize("observed_bodies", [False, True])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_learning_grounds_the_same_hinges_inward(seed, *, observed_bodies):
    world = random_world(seed)
    model = parse_psl("\n".join(text for text in RULES if not text.endswith(".")))
    _, whole = network_of(world, model, observed_bodies=observed_bodies)
    _, inward = network_of(world, model, observed_bodies=observed_bodies, learning=True)
    for name in ("atoms", "pointer", "columns", "coefficients", "constants", "multiplicity", "rule", "hard"):
        assert getattr(inward, name).tolist() == getattr(whole, name).tolist(), name


def test_learning_refuses_hard_rules_that_the_data_violate():
    world = World(("a", "b"), {"C": Data(2, {("a", "b"): 1.0}), "Q": Data(1, {}, (("a",),))})
    # Both rules have one shape, and only the hard one is about an atom that is not listed.
    model = parse_psl("1: C(A, B) -> Q(A)\nC(A, B) -> Q(B) .")
    for learning in (False, True):
        with pytest.raises(InfeasibleError, match="hard rules by itself"):
            network_of(world, model, learning=learning)


def grid(n):
    """Return a world in which everybody knows everybody, and few are asked about."""
    names = tuple(f"n{i}" for i in range(n))
    atoms = tuple((x,) for x in names[:3])
    return World(names, {"Q": Data(1, {}, atoms), "C": Data(2, {(x, y): 1.0 for x in names for y in names})})


def test_learning_is_limited_by_what_is_about_atoms():
    model = parse_psl("1: C(A, B) & C(B, D) -> Q(A)")
    # Of 8,000 groundings 1,200 are about one of three atoms.
    _, network = network_of(grid(20), model, learning=True, limit=1200)
    assert network.multiplicity.tolist() == [400] * 3
    with pytest.raises(GroundingLimitError, match=r"C\(A, B\) v !C\(B, D\) v Q\(A\) leaves more .*limit of 1,199"):
        network_of(grid(20), model, learning=True, limit=1199)


def test_memory_is_estimated_by_what_is_about_atoms():
    soft = grid(20).program(parse_psl("1: C(A, B) & C(B, D) -> Q(A)"))
    soft.engine.limit(Memory(PROCESS + WORKING + 10 * SINGLE_BYTES))
    assert len(ground_hinges(soft, Extent(soft.program), learning=True).rule) == 3
    soft.engine.limit(Memory(PROCESS + WORKING + 5 * SINGLE_BYTES))
    with pytest.raises(MemoryLimitError, match="3 query atoms would take about"):
        ground_hinges(soft, Extent(soft.program), learning=True)


def test_the_arrays_are_in_canonical_order():
    world = random_world(3)
    model = parse_psl("\n".join(RULES[:16] + RULES[20:25]))
    _, network = network_of(world, model)
    assert (np.diff(network.rule) >= 0).all()
    assert (np.diff(network.pointer) >= 1).all()
    assert (network.coefficients != 0).all()
    inside = np.ones(len(network.columns), bool)
    inside[network.pointer[:-1]] = False
    assert (np.diff(network.columns)[inside[1:]] > 0).all()
    _, again = network_of(world, model)
    for name in ("pointer", "columns", "coefficients", "constants", "multiplicity", "rule"):
        assert getattr(network, name).tobytes() == getattr(again, name).tobytes()


def test_groundings_with_the_same_atoms_are_one_hinge():
    names = tuple("abcd")
    pairs = {(x, y): 1.0 for x in names for y in names}
    world = World(names, {"C": Data(2, pairs), "Q": Data(1, {}, tuple((x,) for x in names))})
    _, network = network_of(world, parse_psl("1: C(A, B) & C(B, D) -> Q(A)"))
    assert network.multiplicity.tolist() == [16] * 4


def test_constants_that_the_data_lack_have_no_groundings():
    world = World(("a", "b"), {"C": Data(2, {("a", "b"): 1.0}), "Q": Data(1, {}, (("a",), ("b",)))})
    _, network = network_of(
        world, parse_psl("1: C(A, 'zz') -> Q(A)\n1: C('a', B) -> Q(B)\n1: Q(+A) <= 1 {A: C(A, 'zz')}")
    )
    assert network.rule.tolist() == [1]


def test_a_limit_refuses_a_rule_before_it_is_grounded():
    names = tuple(f"n{i}" for i in range(30))
    everyone = tuple((x,) for x in names)
    world = World(names, {"Q": Data(1, {}, everyone), "C": Data(2, {(x, y): 1.0 for x in names for y in names})})
    with pytest.raises(GroundingLimitError, match="limit of 100"):
        network_of(world, parse_psl("1: C(A, B) & Q(A) -> Q(B)"), limit=100)


def test_a_division_by_an_empty_sum_is_refused_with_the_rule():
    world = World(("a", "b"), {"C": Data(2, {}), "P": Data(2, {}, (("a", "b"),))})
    with pytest.raises(ModelError, match=r"division by zero.*\|B\| = 0"):
        network_of(world, parse_psl("1: P(A, +B) <= 1 / |B| {B: C(A, B)}"))


def test_hard_rules_that_the_data_violate_are_named():
    world = World(("a", "b"), {"C": Data(2, {("a", "b"): 1.0}), "Q": Data(1, {("b",): 0.25}, (("a",),), valued=True)})
    with pytest.raises(InfeasibleError, match=r"C\(A, B\) -> Q\(B\) \. \(in 1 grounding, by 0\.75 at most\)"):
        network_of(world, parse_psl("C(A, B) -> Q(B) ."))


def test_variables_of_two_types_are_refused():
    world = random_world(0)
    model = parse_psl("1: C(A, B) -> Q(A)")
    engine = __import__("sqlrl.engine.connection", fromlist=["connect"]).connect(":memory:", threads=1)
    layout = world.layout(engine)
    from dataclasses import replace

    from sqlrl.ground.soft_program import SoftProgram

    mixed = replace(
        layout, predicates={**layout.predicates, "C": replace(layout.predicates["C"], types=("other", "name"))}
    )
    with pytest.raises(ModelError, match="A"):
        SoftProgram(engine, mixed, model)
