"""What atoms see of a network, against the network's own distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlrl.errors import InputError
from sqlrl.learn.soft.atom_hinges import AtomHinges, atom_hinges
from sqlrl.learn.soft.sample_hinges import hinge_network
from sqlrl.training.labels import Names
from tests.effort import draws
from tests.learn.soft.oracles import random_network, random_truth

seeds = st.integers(0, 10**6)


def values(hinges: AtomHinges, row: int, y: float) -> np.ndarray:
    """The sum of each rule's hinges in a row."""
    total = np.zeros(len(hinges.squared))
    for k in range(hinges.pointer[row], hinges.pointer[row + 1]):
        found = max(0.0, hinges.a[k] * y + hinges.b[k])
        total[hinges.rule[k]] += hinges.multiplicity[k] * (found**2 if hinges.squared[hinges.rule[k]] else found)
    return total


@settings(max_examples=draws(60))
@given(seeds, st.booleans())
def test_rows_differ_as_states_do(seed: int, piecewise: bool) -> None:
    """Summed over rows, what hinges add when atoms move one by one is what distances of the network add."""
    network, truth = random_network(seed), random_truth(seed)
    hinges = atom_hinges(network, truth, piecewise=piecewise)
    for y in (0.0, 0.3, 1.0):
        wanted = np.zeros(len(network.base))
        for atom in range(len(truth)):
            moved = truth.copy()
            moved[atom] = y
            wanted += network.incompatibility(moved) - network.incompatibility(truth)
        found = sum((hinges.count[i] * values(hinges, i, y) for i in range(len(hinges.count))), np.zeros(4))
        assert found - hinges.observed == pytest.approx(wanted, abs=1e-10)
    starts = hinges.pointer[:-1]
    if piecewise:
        owners = [set(hinges.rule[a:b].tolist()) for a, b in zip(starts, hinges.pointer[1:], strict=True)]
        assert all(len(each) == 1 for each in owners)
        assert hinges.rule[starts].tolist() == sorted(hinges.rule[starts].tolist())
    else:
        assert hinges.count.sum() == len(truth) == hinges.atoms
    inside = np.repeat(np.arange(len(starts)), np.diff(hinges.pointer))
    assert (hinges.point >= hinges.lower[inside]).all()
    assert (hinges.point <= hinges.upper[inside]).all()
    assert (np.diff(hinges.point)[np.diff(inside) == 0] >= 0).all()


def test_hinges_come_sorted_however_many_there_are() -> None:
    """300 hinges of three atoms in a random order, of which many begin at the same point and some are equal."""
    random = np.random.default_rng(4)
    listed = [
        (int(random.integers(3)), {int(random.integers(3)): float(random.choice([-1.0, 1.0, 2.0]))}, float(random.choice([-0.5, 0.0, 0.25, random.normal()])), 1)
        for _ in range(300)
    ]  # fmt: skip
    network, truth = hinge_network(listed, atoms=3), np.array([0.1, 0.7, 1.0])
    hinges = atom_hinges(network, truth)
    for row in range(3):
        part = slice(hinges.pointer[row], hinges.pointer[row + 1])
        keys = list(zip(hinges.point[part], hinges.rule[part], hinges.a[part], hinges.b[part], strict=True))
        assert keys == sorted(set(keys))
        alive = [h for h in listed if row in h[1] and max(h[2], h[1][row] + h[2]) > 0]
        assert hinges.multiplicity[part].sum() == len(alive)


def test_atoms_that_see_the_same_are_one_row() -> None:
    """Three atoms in one rule with the same neighbour's truth, and one of another."""
    listed = [(0, {i: -1.0, 9: 1.0}, 0.0, 1) for i in range(4)]
    truth = np.array([0.0, 0.5, 1.0, 0.25, *[np.nan] * 5, 1.0])
    hinges = atom_hinges(hinge_network([*listed, (0, {3: -1.0}, 0.5, 2)]), truth)
    assert sorted(hinges.count.tolist()) == [1, 1, 3]
    assert hinges.observed.tolist() == [2 * (1.0 + 0.5 + 0.0 + 0.75) + 2 * 0.25]
    assert hinges.labelled == hinges.atoms == 5


@pytest.mark.parametrize(
    ("hard", "label", "bounds"),
    [
        ([({0: 1.0}, -0.75)], 0.5, (0.0, 0.75)),
        ([({0: -2.0}, 0.5), ({0: 1.0}, -0.5)], 0.5, (0.25, 0.5)),
        ([({0: 1.0, 1: 1.0}, -1.0)], 0.75, (0.0, 0.75)),  # the other's label is 0.25
        ([({0: -1.0, 1: 1.0}, 0.0)], 0.75, (0.25, 1.0)),
        ([({0: 1.0}, -0.5)], 0.5 + 9e-7, (0.0, 0.5)),  # outside by less than what rounding may make
        ([({0: 1.0}, -0.5)], 0.5 + 2e-6, "outside"),
        ([({0: -1.0}, 0.5)], 0.4, "outside"),
        ([({0: 1.0}, -0.5), ({0: -1.0}, 0.5)], 0.5, "narrow"),
        ([({0: 1.0}, -0.5), ({0: -1.0}, 0.5 - 5e-10)], 0.5, "narrow"),
        ([({0: 1.0}, -0.5), ({0: -1.0}, 0.5 - 2e-9)], 0.5, (0.5 - 2e-9, 0.5)),
    ],
)
def test_hard_rules_bound_truths(
    hard: list[tuple[dict[int, float], float]], label: float, bounds: tuple[float, float] | str
) -> None:
    listed = [(0, {0: -1.0}, 1.0, 1), (0, {1: 1.0}, 0.0, 1)] + [(1, terms, b, 1) for terms, b in hard]
    hinges = atom_hinges(hinge_network(listed, hard=[1]), np.array([label, 0.25]))
    if isinstance(bounds, str):
        assert (hinges.outside, hinges.narrow) == ((1, 0) if bounds == "outside" else (0, 1))
        assert (hinges.labelled, hinges.atoms) == (2, 1)
        assert hinges.observed.tolist() == [0.25, 0.0]
    else:
        row = int(np.flatnonzero(hinges.a[hinges.pointer[:-1]] < 0)[0])
        assert (hinges.lower[row], hinges.upper[row]) == pytest.approx(bounds, abs=1e-15)
        assert hinges.observed[0] == pytest.approx(1 - min(label, bounds[1]) + 0.25)


def test_a_hard_equality_leaves_no_choice() -> None:
    listed = [(0, {0: -1.0}, 1.0, 1), (0, {2: -1.0}, 1.0, 1), (1, {0: 1.0, 1: 1.0}, -1.0, 1)]
    network = hinge_network(listed, hard=[1], equal=[1])
    hinges = atom_hinges(network, np.array([0.25, 0.75, 0.5]))
    assert (hinges.narrow, hinges.outside, hinges.atoms) == (2, 0, 1)
    hinges = atom_hinges(network, np.array([0.25, 0.25, 0.5]))
    assert (hinges.narrow, hinges.outside, hinges.atoms) == (0, 2, 1)


@settings(max_examples=draws(30))
@given(seeds, st.lists(st.integers(0, 3), unique=True, min_size=1))
def test_a_part_of_the_rules_is_as_a_network_of_them(seed: int, rules: list[int]) -> None:
    network, truth = random_network(seed), random_truth(seed)
    found = atom_hinges(network, truth).of_rules(np.array(rules))
    kept = [r for r in range(len(network.constants)) if network.rule[r] in rules]
    listed = [
        (
            rules.index(int(network.rule[r])),
            dict(zip(network.columns[(p := slice(network.pointer[r], network.pointer[r + 1]))].tolist(), network.coefficients[p].tolist(), strict=True)),
            float(network.constants[r]),
            int(network.multiplicity[r]),
        )
        for r in kept
    ]  # fmt: skip
    kinds = {name: [i for i, r in enumerate(rules) if getattr(network, name)[r]] for name in ("squared", "equal")}
    wanted = atom_hinges(hinge_network(listed, atoms=len(truth), rules=len(rules), **kinds), truth)

    def rows(hinges: AtomHinges) -> list[tuple[object, ...]]:
        each = zip(
            hinges.rule.tolist(), hinges.a.tolist(), hinges.b.tolist(), hinges.multiplicity.tolist(), strict=True
        )
        every = list(each)
        parts = [sorted(every[a:b]) for a, b in zip(hinges.pointer[:-1], hinges.pointer[1:], strict=True)]
        return sorted((repr(part), count) for part, count in zip(parts, hinges.count.tolist(), strict=True))

    assert rows(found) == rows(wanted)
    assert found.observed == pytest.approx(wanted.observed, abs=1e-12)
    assert found.support.tolist() == wanted.support.tolist()
    assert found.ground.tolist() == wanted.ground.tolist()


PAIR = [(0, {0: 1.0, 1: -1.0}, 0.0, 1), (1, {1: 1.0, 2: -1.0}, 0.0, 1)]


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ([np.nan] * 3, "none of 3 query atoms has a label"),
        ([0.5, 1.2, 0.0], r"the label of atom 1 is 1\.2: a truth is a number from 0 to 1"),
        ([0.5, -0.1, np.inf], r"the label of atom 1 is -0\.1 and 1 more are wrong"),
        ([0.5, 0.5], r"there are \(2,\) truths for 3 atoms"),
        (
            [0.5, 0.5, np.nan],
            r"1 hinge joins atoms with a label and atoms without one, the first of rule clause 1 with atom 2",
        ),
        ([0.5, np.nan, 0.5], "2 hinges join atoms"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(truth: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        atom_hinges(hinge_network(PAIR), np.array(truth))


def test_names_stand_in_messages() -> None:
    names = Names(clause=["first", "second"].__getitem__, atom=["P(a)", "P(b)", "P(c)"].__getitem__)
    with pytest.raises(InputError, match=r"rule second with P\(c\)"):
        atom_hinges(hinge_network(PAIR), np.array([0.5, 0.5, np.nan]), names=names)


def test_labels_that_hard_rules_forbid_are_no_data() -> None:
    network = hinge_network([(0, {0: 1.0}, 0.0, 1), (1, {0: 1.0}, -0.5, 1)], hard=[1])
    with pytest.raises(InputError, match="hard rules forbid the labels of 1 and leave 0 no choice"):
        atom_hinges(network, np.array([1.0]))


def test_atoms_without_a_label_may_count_as_0() -> None:
    network, truth = hinge_network(PAIR), np.array([0.5, 0.75, np.nan])
    found = atom_hinges(network, truth, unlabelled="zero")
    wanted = atom_hinges(network, np.array([0.5, 0.75, 0.0]))
    assert found.labelled == 2
    assert found.observed.tolist() == [0.0, 0.75]
    # The third atom's own row is not there: max(0, 0.75 - y) of rule 1.
    assert wanted.observed.tolist() == [0.0, 1.5]
    assert atom_hinges(replace(network, constants=network.constants - 9.0), truth, unlabelled="zero").a.tolist() == []
